//! The key file `<data>.key`: master keys and the generated operator key (decision master-key-file).
//!
//! ```text
//! # comment lines
//! heliograph-keys 1
//! master 6d0c...  64 hexadecimal digits; the first line seals, further ones only open
//! admin Q7b...
//! ```
//!
//! Only its owner can read it. The server refuses data without its key file: a new key could not open any sealed value.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use heliograph_core::crypto::Secret;
use heliograph_core::crypto::sealing::{KeyRing, MasterKey};

use crate::files::{self, Tried};
use crate::{clock, log, owner};

const FORMAT: &str = "heliograph-keys 1";

const COMMENT: &str = "\
# Keys of a Heliograph deployment. Keep this file with the data file, in every backup, and from everybody else:
# without it the private keys and messages in the data cannot be read, by anyone, ever.
# `master`: the first seals, further ones (after a rotation) only open; keep them, since API keys made under them need
# them for ever. `admin`: the operator key, X-Admin-Key.
";

/// The content of the key file.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyFile {
    /// The key that seals.
    pub master: [u8; 32],
    /// Earlier keys, which still open values.
    pub earlier: Vec<[u8; 32]>,
    pub admin_key: String,
}

impl std::fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyFile({} master keys)", 1 + self.earlier.len())
    }
}

impl KeyFile {
    /// The master keys, ready for use.
    pub fn ring(&self) -> KeyRing {
        let master = |bytes: &[u8; 32]| MasterKey::new(Secret::new(*bytes));
        KeyRing::new(master(&self.master), self.earlier.iter().map(master).collect())
    }
}

/// The path of the key file of a data file.
pub fn path_for(data: &Path) -> PathBuf {
    let mut name = data.as_os_str().to_owned();
    name.push(".key");
    PathBuf::from(name)
}

/// Reads the keys of a data file, also when the data file is elsewhere or missing.
pub fn read(data: &Path) -> Result<KeyFile, String> {
    let path = path_for(data);
    let text = std::fs::read_to_string(&path).map_err(|error| Tried::Read.cannot(&path, &error))?;
    parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads the keys of a data file. Makes them when `fresh`, that is when there is no data yet.
pub fn load_or_create(data: &Path, fresh: bool) -> Result<KeyFile, String> {
    let path = path_for(data);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            warn_if_open(&path);
            if fresh {
                log::warning!(
                    "there is no data in {}, though {} is there: a new deployment begins. If there was one, stop, and put \
                     its data file back",
                    data.display(),
                    path.display()
                );
            }
            parse(&text).map_err(|error| format!("{}: {error}", path.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && fresh => {
            let keys = generate()?;
            write(&path, &keys).map_err(|error| Tried::Write.cannot(&path, &error))?;
            Ok(keys)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(format!(
            "{} is missing, but {} holds data sealed with it; put back the key file that was kept with this data, or name \
             another data file with --data",
            path.display(),
            data.display()
        )),
        Err(error) => Err(Tried::Read.cannot(&path, &error)),
    }
}

fn generate() -> Result<KeyFile, String> {
    Ok(KeyFile {
        master: clock::random()?,
        earlier: Vec::new(),
        admin_key: format!("admin_{}", hex(&clock::random::<32>()?)),
    })
}

/// Puts a new master key before the others in the key file of `data`; durable when this returns. `in_use` are the keys
/// of the running server. If the file already has a newer key, because an earlier rotation stopped at this point, that
/// key is used.
pub fn rotate(data: &Path, in_use: &KeyRing) -> Result<KeyFile, String> {
    let path = path_for(data);
    let mut keys = load_or_create(data, false)?;
    let ring = keys.ring();
    if !ring.contains(in_use) {
        return Err(format!("{} no longer holds the keys in use; restore it before anything else", path.display()));
    }
    if ring.current().id() == in_use.current().id() {
        let before = std::mem::replace(&mut keys.master, clock::random()?);
        keys.earlier.insert(0, before);
    }
    write(&path, &keys).map_err(|error| Tried::Write.cannot(&path, &error))?;
    Ok(keys)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (n, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// Reads the text of a key file.
pub fn parse(text: &str) -> Result<KeyFile, String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    match lines.next() {
        Some(FORMAT) => {}
        Some(other) if other.starts_with("heliograph-keys ") => {
            return Err(format!("format {other:?} is not known to this version"));
        }
        _ => return Err(format!("this is not a key file: its first line is not {FORMAT:?}")),
    }
    let (mut masters, mut admin_key) = (Vec::new(), None);
    for line in lines {
        match line.split_once(' ').map(|(name, value)| (name, value.trim())) {
            Some(("master", value)) => masters.push(unhex(value).ok_or("a master key is not 64 hexadecimal digits")?),
            Some(("admin", value)) if value.len() >= 16 => admin_key = Some(value.to_owned()),
            // The line may contain a secret, so it is not shown.
            _ => return Err("a line is neither `master` nor `admin` with its key".to_owned()),
        }
    }
    let mut masters = masters.into_iter();
    match (masters.next(), admin_key) {
        (Some(master), Some(admin_key)) => Ok(KeyFile { master, earlier: masters.collect(), admin_key }),
        _ => Err("it has no master key or no admin key".to_owned()),
    }
}

/// Writes a new key file with mode 0600. It is durable, and there is never half a file under its name.
pub fn write(path: &Path, keys: &KeyFile) -> std::io::Result<()> {
    let mut text = format!("{COMMENT}# Written {}.\n{FORMAT}\n", clock::now());
    for master in std::iter::once(&keys.master).chain(&keys.earlier) {
        text.push_str(&format!("master {}\n", hex(master)));
    }
    text.push_str(&format!("admin {}\n", keys.admin_key));
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let draft = PathBuf::from(draft);
    match std::fs::remove_file(&draft) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = files::create_new(&draft)?;
    owner::hand_over(&file, path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&draft, path)?;
    sync_folder(path)
}

/// Makes a new name durable: values that are sealed under a key which a power failure removes could never be opened.
#[cfg(unix)]
fn sync_folder(path: &Path) -> std::io::Result<()> {
    std::fs::File::open(files::folder(path))?.sync_all()
}

/// Outside Unix folders cannot be opened; the file system's journal holds the rename.
#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn warn_if_open(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0) {
        log::warning!("{} can be read by other users; run: chmod 600 {0}", path.display());
    }
}

#[cfg(not(unix))]
fn warn_if_open(_path: &Path) {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::folder;

    /// Decision master-key-file.
    #[test]
    fn a_key_file_is_made_once_private_and_read_again() {
        let folder = folder("keyfile");
        let data = folder.file("d.redb");
        let made = load_or_create(&data, true).unwrap();
        assert_eq!(load_or_create(&data, true).unwrap(), made);
        assert_eq!(load_or_create(&data, false).unwrap(), made);
        assert!(made.earlier.is_empty());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(path_for(&data)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    /// Decision master-key-file.
    #[test]
    fn data_without_its_key_file_is_refused() {
        let folder = folder("keyfile-missing");
        let data = folder.file("d.redb");
        let error = load_or_create(&data, false).unwrap_err();
        assert!(error.contains("missing") && error.contains("put back"), "{error}");
        assert!(!path_for(&data).exists());
    }

    #[test]
    fn several_master_keys_are_kept_in_order() {
        let folder = folder("keyfile-rotation");
        let path = folder.file("d.redb.key");
        let keys = KeyFile { master: [1; 32], earlier: vec![[2; 32]], admin_key: "0123456789abcdef".into() };
        write(&path, &keys).unwrap();
        assert_eq!(parse(&std::fs::read_to_string(&path).unwrap()).unwrap(), keys);
    }

    /// Decision master-key-file.
    #[test]
    fn a_rotation_keeps_every_earlier_key_and_the_operators() {
        let folder = folder("keyfile-rotate");
        let data = folder.file("d.redb");
        let first = load_or_create(&data, true).unwrap();
        let second = rotate(&data, &first.ring()).unwrap();
        assert_eq!(second.earlier, [first.master]);
        assert_ne!(second.master, first.master);
        assert_eq!(second.admin_key, first.admin_key);
        assert_eq!(load_or_create(&data, false).unwrap(), second);
        // A server that wrote the file but stopped then uses that key instead of making another.
        assert_eq!(rotate(&data, &first.ring()).unwrap(), second);
        let third = rotate(&data, &second.ring()).unwrap();
        assert_eq!(third.earlier, [second.master, first.master]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(path_for(&data)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        // The rotation refuses a file that was replaced in the meantime.
        write(&path_for(&data), &generate().unwrap()).unwrap();
        let before = std::fs::read_to_string(path_for(&data)).unwrap();
        assert!(rotate(&data, &third.ring()).unwrap_err().contains("restore"));
        assert_eq!(std::fs::read_to_string(path_for(&data)).unwrap(), before);
    }

    #[test]
    fn damaged_files_are_refused_without_showing_their_secrets() {
        let secret = "a1".repeat(31);
        for text in [
            String::new(),
            "heliograph-keys 2\n".into(),
            format!("{FORMAT}\n"),
            format!("{FORMAT}\nmaster {secret}\nadmin 0123456789abcdef\n"),
            format!("{FORMAT}\nmaster {secret}a1\n"),
            format!("{FORMAT}\n{secret}\n"),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(!error.contains(&secret), "{error}");
        }
    }
}
