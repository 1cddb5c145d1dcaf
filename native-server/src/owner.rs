//! Whom new files belong to. Operators run commands as root on files of the user of the service, and a file that takes
//! the place of such a file must be that user's again, or the service could not open it.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(unix)]
use crate::files;

/// Gives a file of root the owner of `place`, whose place it will take, or of the folder where there is no such file.
/// Files of other users stay theirs, since only root may give files away.
#[cfg(unix)]
pub fn hand_over(file: &File, place: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let model = std::fs::metadata(place).or_else(|_| std::fs::metadata(files::folder(place)))?;
    let made = file.metadata()?;
    match made.uid() == 0 && (model.uid(), model.gid()) != (made.uid(), made.gid()) {
        true => fchown(file, Some(model.uid()), Some(model.gid())),
        false => Ok(()),
    }
}

#[cfg(not(unix))]
pub fn hand_over(_file: &File, _place: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt, chown};

    use super::*;
    use crate::testing::folder;

    #[test]
    fn what_root_writes_anew_belongs_to_whom_it_belonged_before() {
        let folder = folder("owner");
        let (place, made) = (folder.file("data.redb"), folder.file("draft"));
        let file = File::create(&made).unwrap();
        if file.metadata().unwrap().uid() != 0 {
            println!("skipped: only root may give files away");
            return;
        }
        let owner = || std::fs::metadata(&made).map(|made| (made.uid(), made.gid())).unwrap();
        hand_over(&file, &place).unwrap();
        assert_eq!(owner().0, 0, "the folder is root's");
        chown(place.parent().unwrap(), Some(64_001), Some(64_002)).unwrap();
        hand_over(&file, &place).unwrap();
        assert_eq!(owner(), (64_001, 64_002));
        std::fs::write(&place, "").unwrap();
        chown(&place, Some(64_003), Some(64_004)).unwrap();
        hand_over(&file, &place).unwrap();
        assert_eq!(owner(), (64_001, 64_002), "no longer root's");
        let file = File::create(folder.file("other")).unwrap();
        hand_over(&file, &place).unwrap();
        let other = file.metadata().unwrap();
        assert_eq!((other.uid(), other.gid()), (64_003, 64_004));
    }
}
