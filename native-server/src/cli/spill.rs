//! The file that holds the sorted runs of an import. It has no name, so that nothing is left of it in any case.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use heliograph_core::intelligence::import::{ImportKind, Ready, RunCounts};

use crate::files;

/// Bytes read of each run at a time.
const BLOCK: usize = 64 << 10;

/// Sorted runs of one import.
pub struct Spill {
    file: Mutex<File>,
    /// The end of each run in the file.
    ends: Vec<u64>,
    pub counts: RunCounts,
}

impl Spill {
    /// Makes the file in the folder of the data file: if there is no room, the import itself would fail too.
    pub fn beside(data: &Path) -> io::Result<Spill> {
        let file = Mutex::new(tempfile::tempfile_in(files::folder(data))?);
        Ok(Spill { file, ends: Vec::new(), counts: RunCounts::default() })
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn write(&mut self, kind: ImportKind, ready: Ready) -> io::Result<()> {
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.ends.last().copied().unwrap_or(0)))?;
        let mut out = BufWriter::with_capacity(BLOCK, &mut *file);
        ready.write(kind, &mut self.counts, &mut out)?;
        out.flush()?;
        drop(out);
        self.ends.push(file.stream_position()?);
        Ok(())
    }

    /// Readers of all runs, each from its beginning.
    pub fn runs(&self) -> Vec<impl Read + '_> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let run = |(at, end): (u64, &u64)| BufReader::with_capacity(BLOCK, Run { file: &self.file, at, end: *end });
        starts.zip(&self.ends).map(run).collect()
    }
}

struct Run<'a> {
    file: &'a Mutex<File>,
    at: u64,
    end: u64,
}

impl Read for Run<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(out.len());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(out.get_mut(..left).unwrap_or_default())?;
        self.at += read as u64;
        Ok(read)
    }
}
