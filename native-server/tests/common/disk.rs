//! A disk that loses its power at a chosen write or sync, and the files that may then be found on it.

use std::collections::HashMap;
use std::io;
use std::ops::Bound;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use heliograph::store::WrapBackend;
use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};

const SECTOR: usize = 512;

#[derive(Debug, Clone)]
enum Change {
    Length(u64),
    Write(u64, Vec<u8>),
}

#[derive(Debug, Default)]
struct Content {
    durable: Vec<u8>,
    /// Since the last sync.
    pending: Vec<Change>,
}

/// What of the writes since the last sync is found after the power came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurvivingWrites {
    Nothing,
    All,
    /// All but the last write, and the first sector of that one.
    Head,
    /// All but the last write, and about half of the sectors of that one.
    Half,
}

pub const FOUND: [SurvivingWrites; 4] =
    [SurvivingWrites::Nothing, SurvivingWrites::All, SurvivingWrites::Head, SurvivingWrites::Half];

#[derive(Debug, Default)]
pub struct Disk {
    files: Mutex<HashMap<u64, Content>>,
    steps: AtomicU64,
    /// The number of the step at which the power goes; 0 for never.
    ends_at: AtomicU64,
    dead: AtomicBool,
    /// Syncs say that they are done, and do nothing.
    lies: AtomicBool,
}

impl Disk {
    pub fn lies(&self, on: bool) {
        self.lies.store(on, Ordering::SeqCst);
    }

    /// The power goes `steps` writes and syncs from now.
    pub fn dies_after(&self, steps: u64) {
        self.ends_at.store(self.steps.load(Ordering::SeqCst) + steps, Ordering::SeqCst);
    }

    /// The power goes now.
    pub fn dies(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    pub fn wrap(disk: &Arc<Disk>) -> WrapBackend {
        let disk = disk.clone();
        Box::new(move |path, inner| {
            let file = std::fs::metadata(path).unwrap().ino();
            let durable = std::fs::read(path).unwrap();
            disk.files.lock().unwrap().entry(file).or_insert(Content { durable, pending: Vec::new() });
            Box::new(Recorded { inner, file, disk: disk.clone() })
        })
    }

    /// Copies the files of `from` to `to` as they are found.
    pub fn copy(&self, from: &Path, to: &Path, found: SurvivingWrites) {
        let files = self.files.lock().unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            // A file that was just renamed is there under its other name too.
            let Ok(metadata) = entry.metadata() else { continue };
            match files.get(&metadata.ino()) {
                Some(content) => std::fs::write(target, content.found(found)).unwrap(),
                None => drop(std::fs::copy(entry.path(), target)),
            }
        }
    }

    /// An error once the power is gone. `last` says whether this is the step at which it goes.
    fn step(&self) -> io::Result<bool> {
        if self.is_dead() {
            return Err(io::Error::other("no power"));
        }
        let number = self.steps.fetch_add(1, Ordering::SeqCst) + 1;
        let last = number == self.ends_at.load(Ordering::SeqCst);
        if last {
            self.dead.store(true, Ordering::SeqCst);
        }
        Ok(last)
    }
}

impl Content {
    fn found(&self, found: SurvivingWrites) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        let mut apply = |change: &Change, sectors: usize| match change {
            Change::Length(length) => bytes.resize(usize::try_from(*length).unwrap(), 0),
            Change::Write(offset, data) => {
                let (start, length) =
                    (usize::try_from(*offset).unwrap(), data.len().min(sectors.saturating_mul(SECTOR)));
                if bytes.len() < start + length {
                    bytes.resize(start + length, 0);
                }
                bytes[start..start + length].copy_from_slice(&data[..length]);
            }
        };
        let sectors = |change: &Change| match change {
            Change::Length(_) => 0,
            Change::Write(_, data) => data.len().div_ceil(SECTOR),
        };
        let (last, before) = match (found, self.pending.split_last()) {
            (SurvivingWrites::Nothing, _) | (_, None) => return bytes,
            (_, Some(parts)) => parts,
        };
        before.iter().for_each(|change| apply(change, usize::MAX));
        match found {
            SurvivingWrites::Head => apply(last, 1),
            SurvivingWrites::Half => apply(last, sectors(last) / 2),
            _ => apply(last, usize::MAX),
        }
        bytes
    }
}

#[derive(Debug)]
struct Recorded {
    inner: FileBackend,
    file: u64,
    disk: Arc<Disk>,
}

impl Recorded {
    fn note(&self, change: Change) {
        self.disk.files.lock().unwrap().entry(self.file).or_default().pending.push(change);
    }
}

impl StorageBackend for Recorded {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let last = self.disk.step()?;
        self.note(Change::Length(len));
        if last { Err(io::Error::other("no power")) } else { self.inner.set_len(len) }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let last = self.disk.step()?;
        self.note(Change::Write(offset, data.to_vec()));
        if last { Err(io::Error::other("no power")) } else { self.inner.write(offset, data) }
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.disk.step()? {
            return Err(io::Error::other("no power"));
        }
        if self.disk.lies.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut files = self.disk.files.lock().unwrap();
        let content = files.entry(self.file).or_default();
        content.durable = content.found(SurvivingWrites::All);
        content.pending.clear();
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
