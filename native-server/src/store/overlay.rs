//! A view of the file that writes nothing to it: what is written stays in memory.
//!
//! The storage engine writes when it opens a file, and more when the file was not closed cleanly. Commands that only
//! read (`db check`, `db info`) must leave the file as it is, and must work where nothing can be written.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};

const BLOCK: u64 = 4096;

/// The file, and what was written over it. Its locks are shared: they exclude a program that writes the file, but no
/// other program that only reads it.
#[derive(Debug)]
pub struct Overlay {
    file: FileBackend,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    /// Whole blocks by number.
    blocks: HashMap<u64, Vec<u8>>,
    len: u64,
    /// So many bytes of the file are still visible; beyond them are zeros.
    shows: u64,
}

impl Overlay {
    /// `file` need only be open for reading.
    pub fn new(file: File) -> io::Result<Overlay> {
        let len = file.metadata()?.len();
        let file = FileBackend::new(file).map_err(io::Error::other)?;
        Ok(Overlay { file, written: Mutex::new(Written { blocks: HashMap::new(), len, shows: len }) })
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present content of a block.
    fn block(&self, written: &Written, number: u64) -> io::Result<Vec<u8>> {
        if let Some(block) = written.blocks.get(&number) {
            return Ok(block.clone());
        }
        let (start, mut block) = (number * BLOCK, vec![0; BLOCK as usize]);
        let there = usize::try_from(written.shows.saturating_sub(start).min(BLOCK)).map_err(io::Error::other)?;
        if let Some(part) = block.get_mut(..there).filter(|part| !part.is_empty()) {
            self.file.read(start, part)?;
        }
        Ok(block)
    }
}

/// Splits a range into pieces that are in one block each: number of the block, position in the block, position in the
/// range, length.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let within = (at % BLOCK) as usize;
        let piece = (BLOCK as usize - within).min(len - done);
        let next = (at / BLOCK, within, done, piece);
        done += piece;
        (piece > 0).then_some(next)
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.lock();
        if offset.saturating_add(out.len() as u64) > written.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (number, within, place, len) in pieces(offset, out.len()) {
            let block = self.block(&written, number)?;
            out[place..place + len].copy_from_slice(&block[within..within + len]);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.lock();
        for (number, within, place, len) in pieces(offset, data.len()) {
            let mut block = self.block(&written, number)?;
            block[within..within + len].copy_from_slice(&data[place..place + len]);
            written.blocks.insert(number, block);
        }
        written.len = written.len.max(offset + data.len() as u64);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.lock();
        if len < written.len {
            // Bytes that are cut off must not come back when the file grows again.
            if !len.is_multiple_of(BLOCK) {
                let mut last = self.block(&written, len / BLOCK)?;
                last[(len % BLOCK) as usize..].fill(0);
                written.blocks.insert(len / BLOCK, last);
            }
            written.blocks.retain(|number, _| number * BLOCK < len);
            written.shows = written.shows.min(len);
        }
        written.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_over_a_file_is_read_back_and_the_file_stays_as_it_is() {
        let folder = crate::testing::folder("overlay");
        let path = folder.file("f");
        let original: Vec<u8> = (0..20_000_u32).map(|n| n as u8).collect();
        std::fs::write(&path, &original).unwrap();
        let overlay = Overlay::new(File::open(&path).unwrap()).unwrap();
        let mut model = original.clone();
        let mut seed = 5_u64;
        for _ in 0..500 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (at, len, what) = ((seed >> 33) as usize % 30_000, (seed >> 20) as usize % 9_000, seed % 10);
            if what == 0 {
                overlay.set_len(at as u64).unwrap();
                model.resize(at, 0);
            } else if what < 4 && at + len <= model.len() {
                overlay.write(at as u64, &vec![what as u8; len]).unwrap();
                model[at..at + len].fill(what as u8);
            } else if at + len <= model.len() {
                let mut out = vec![0; len];
                overlay.read(at as u64, &mut out).unwrap();
                assert!(out == model[at..at + len]);
            } else {
                assert!(overlay.read(at as u64, &mut vec![0; len.max(1)]).is_err());
            }
            assert_eq!(overlay.len().unwrap(), model.len() as u64);
        }
        assert!(std::fs::read(&path).unwrap() == original);
    }
}
