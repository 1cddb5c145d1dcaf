//! The folder with the state of `edge serve`: the databases of the objects, the KV store, and two secrets.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::run::Result;

/// Secrets of a local server. A deployment sets them with `wrangler secret put`.
const SECRETS: [(&str, &str); 2] = [("HELIOGRAPH_MASTER_KEY", "master.key"), ("HELIOGRAPH_ADMIN_KEY", "admin.key")];

pub struct State {
    folder: PathBuf,
    temporary: bool,
}

impl State {
    /// Opens or creates `folder`; without one, a temporary folder that is removed at the end.
    pub fn open(folder: Option<&str>) -> Result<Self> {
        let temporary = folder.is_none();
        let folder = folder.map_or_else(temporary_folder, PathBuf::from);
        for part in ["actors", "kv", "run"] {
            let path = folder.join(part);
            fs::create_dir_all(&path).map_err(|error| format!("cannot create {}: {error}", path.display()))?;
        }
        let folder = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(State { folder, temporary })
    }

    pub fn path(&self, part: &str) -> PathBuf {
        self.folder.join(part)
    }

    /// Secrets for which `is_set` is false. They are read from the folder, and made there at the first start with mode
    /// 0600.
    pub fn secrets(&self, is_set: impl Fn(&str) -> bool) -> Result<Vec<(String, String)>> {
        let missing = SECRETS.iter().filter(|(name, _)| !is_set(name));
        missing.map(|(name, file)| Ok(((*name).to_owned(), secret(&self.folder.join(file))?))).collect()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if self.temporary {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn temporary_folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("heliograph-edge-{}-{number}", std::process::id()))
}

fn secret(path: &Path) -> Result<String> {
    let failed = |error: std::io::Error| format!("secret {}: {error}", path.display());
    if let Ok(text) = fs::read_to_string(path) {
        return Ok(text.trim().to_owned());
    }
    let mut bytes = [0; 32];
    fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)).map_err(failed)?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn secrets_are_made_once_and_readable_only_by_the_owner() {
        let state = State::open(None).unwrap();
        let first = state.secrets(|_| false).unwrap();
        assert_eq!(first, state.secrets(|_| false).unwrap());
        assert_eq!(first.len(), 2);
        let mode = fs::metadata(state.path("master.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(
            state
                .secrets(|name| name == "HELIOGRAPH_MASTER_KEY")
                .unwrap()
                .iter()
                .all(|(name, _)| name != "HELIOGRAPH_MASTER_KEY")
        );
    }
}
