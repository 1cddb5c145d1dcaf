//! A probe's files on disk: its identity, and submissions that wait to be sent.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::Tried;

/// Most submissions that wait; the oldest are dropped first.
const MAX_WAITING: usize = 500;
/// Seconds that a submission waits. The server accepts none that is older than two days.
const MAX_AGE: i64 = 24 * 3600;

/// The identity of a probe at one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub server: String,
    pub node_id: String,
    pub token: String,
    pub country: String,
    /// When the operator consented, ISO 8601.
    pub consented: String,
}

/// The folder of a probe.
pub struct State {
    folder: PathBuf,
}

impl State {
    /// Opens the folder, or makes it.
    pub fn open(folder: &Path) -> Result<State, String> {
        let waiting = folder.join("waiting");
        fs::create_dir_all(&waiting).map_err(|error| Tried::Write.cannot(&waiting, &error))?;
        Ok(State { folder: folder.to_owned() })
    }

    /// The identity, if the probe has registered.
    pub fn identity(&self) -> Result<Option<Identity>, String> {
        let path = self.folder.join("identity.json");
        match fs::read(&path) {
            Ok(bytes) => {
                let read = serde_json::from_slice(&bytes);
                read.map(Some).map_err(|error| format!("{} is damaged: {error}", path.display()))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Tried::Read.cannot(&path, &error)),
        }
    }

    /// Writes the identity; only its owner can read it.
    pub fn remember(&self, identity: &Identity) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(identity).map_err(|error| error.to_string())?;
        self.write(&self.folder.join("identity.json"), &text)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), String> {
        let file = tempfile::NamedTempFile::new_in(&self.folder);
        let written = file.and_then(|mut file| {
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(path).map_err(|error| error.error)
        });
        written.map(|_| ()).map_err(|error| Tried::Write.cannot(path, &error))
    }

    /// Keeps a submission for later. `at` are seconds since the epoch.
    pub fn keep(&self, at: i64, submission: &Value) -> Result<(), String> {
        let id = submission.get("submissionId").and_then(Value::as_str).unwrap_or_default();
        let name = format!("{at:012}-{id}.json");
        let path = self.folder.join("waiting").join(name);
        self.write(&path, submission.to_string().as_bytes())?;
        let waiting = self.waiting()?;
        for (_, old) in waiting.iter().take(waiting.len().saturating_sub(MAX_WAITING)) {
            self.drop(old);
        }
        Ok(())
    }

    /// The waiting submissions, oldest first: the time when each was kept, and its path.
    pub fn waiting(&self) -> Result<Vec<(i64, PathBuf)>, String> {
        let folder = self.folder.join("waiting");
        let entries = fs::read_dir(&folder).map_err(|error| Tried::Read.cannot(&folder, &error))?;
        let mut found: Vec<(i64, PathBuf)> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let at = path.file_name()?.to_str()?.split_once('-')?.0.parse().ok()?;
                Some((at, path))
            })
            .collect();
        found.sort();
        Ok(found)
    }

    /// Reads a kept submission to send it again. `None` when it is too old or damaged; it is then deleted.
    pub fn take(&self, (at, path): &(i64, PathBuf), now: i64) -> Option<Value> {
        let read = fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let young = read.filter(|value| value.is_object() && now - at <= MAX_AGE);
        let Some(mut submission) = young else {
            self.drop(path);
            return None;
        };
        if let Some(members) = submission.as_object_mut() {
            members.insert("_cached_at".to_owned(), (*at).into());
        }
        Some(submission)
    }

    /// Deletes a kept submission.
    pub fn drop(&self, path: &Path) {
        // If the file stays, it is sent again, which changes nothing.
        let _ = fs::remove_file(path);
    }
}
