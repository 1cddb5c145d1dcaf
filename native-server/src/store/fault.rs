//! Injects faults between redb and the file, through redb's public trait for backends.

use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};

/// Switches shared by the test and every backend it opens; all off at first.
#[derive(Debug, Default)]
pub struct Faults {
    /// Writes fail while this is set.
    pub writes: AtomicBool,
    /// Syncs fail while this is set.
    pub syncs: AtomicBool,
    /// Fails the sync with this number, counted from 1; 0 means none.
    pub nth_sync: AtomicU64,
    /// Fails the write with this number, counted from 1; 0 means none.
    pub nth_write: AtomicU64,
    /// Opening the file again switches `writes` and `syncs` off.
    pub heal_on_open: AtomicBool,
    /// Number of syncs so far.
    pub sync_count: AtomicU64,
    /// Number of writes so far.
    pub write_count: AtomicU64,
}

impl Faults {
    pub fn set(switch: &AtomicBool, on: bool) {
        switch.store(on, Ordering::SeqCst);
    }

    fn check(switch: &AtomicBool, nth: &AtomicU64, count: &AtomicU64, what: &str) -> io::Result<()> {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        match switch.load(Ordering::SeqCst) || nth.load(Ordering::SeqCst) == number {
            true => Err(io::Error::other(format!("planned failure of a {what}"))),
            false => Ok(()),
        }
    }

    /// A wrapper for [`super::Options::wrap`].
    pub fn wrap(faults: &Arc<Faults>) -> super::WrapBackend {
        let faults = faults.clone();
        Box::new(move |_, inner| {
            if faults.heal_on_open.load(Ordering::SeqCst) {
                Faults::set(&faults.writes, false);
                Faults::set(&faults.syncs, false);
            }
            Box::new(Faulty { inner, faults: faults.clone() })
        })
    }
}

#[derive(Debug)]
struct Faulty {
    inner: FileBackend,
    faults: Arc<Faults>,
}

macro_rules! forward {
    ($inner:tt $(, $name:ident($($arg:ident: $type:ty),*) -> $out:ty)+) => {
        $(fn $name(&self, $($arg: $type),*) -> $out {
            self.$inner.$name($($arg),*)
        })+
    };
}

impl StorageBackend for Faulty {
    fn sync_data(&self) -> io::Result<()> {
        Faults::check(&self.faults.syncs, &self.faults.nth_sync, &self.faults.sync_count, "sync")?;
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        Faults::check(&self.faults.writes, &self.faults.nth_write, &self.faults.write_count, "write")?;
        self.inner.write(offset, data)
    }

    forward! {
        inner,
        len() -> io::Result<u64>,
        read(offset: u64, out: &mut [u8]) -> io::Result<()>,
        set_len(len: u64) -> io::Result<()>,
        close() -> io::Result<()>,
        try_lock_range(start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError>,
        try_lock_shared_range(start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError>,
        lock_range(start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError>,
        lock_shared_range(start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError>,
        unlock_range(start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError>,
        query_lock_range(start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError>
    }
}
