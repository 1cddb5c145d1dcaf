//! Appending to a journal, and reading one.

use std::io;

use redb::StorageBackend;

use super::super::recent::ChangedRows;
use super::record::{self, FORMAT, HEAD, Header, RecordHead, SECTOR, Sum};

/// Bytes that are read at a time, and by which a journal grows.
const CHUNK: usize = 1 << 20;

/// A journal that is open for appending.
#[derive(Debug)]
pub struct Journal {
    file: Box<dyn StorageBackend>,
    generation: u64,
    /// Where the next record begins.
    end: u64,
    /// Number of the last commit in it, or of the one before its first.
    last: u64,
    before: Sum,
    /// Bytes that were filled with zeros.
    filled: u64,
}

impl Journal {
    /// Fills a new file with zeros, so that appends change neither its length nor where it lies on the disk.
    pub fn fill(file: &dyn StorageBackend, bytes: u64) -> io::Result<()> {
        file.set_len(bytes)?;
        zeros(file, 0, bytes)?;
        file.sync_data()
    }

    /// Begins a journal in a file that is filled, or that was one before. Durable when it returns.
    pub fn begin(file: Box<dyn StorageBackend>, header: Header) -> io::Result<Journal> {
        file.write(0, &header.encode())?;
        file.sync_data()?;
        let filled = file.len()?;
        let Header { generation, first, .. } = header;
        Ok(Journal { file, generation, end: SECTOR as u64, last: first - 1, before: header.sum(), filled })
    }

    /// Appends a commit; durable when it returns. After an error nothing more may be appended.
    pub fn append(&mut self, changed: &ChangedRows) -> io::Result<()> {
        let commit = self.last + 1;
        let (bytes, sum) = record::encode(self.generation, (commit, self.last), self.before, changed)
            .ok_or_else(|| io::Error::other("a commit is too large for the journal"))?;
        let end = self.end + bytes.len() as u64;
        if end > self.filled {
            // Each time twice as much, so that this is seldom.
            let more = (2 * self.filled).max(end).next_multiple_of(CHUNK as u64);
            self.file.set_len(more)?;
            zeros(&*self.file, self.filled, more)?;
            self.filled = more;
        }
        self.file.write(self.end, &bytes)?;
        self.file.sync_data()?;
        (self.end, self.last, self.before) = (end, commit, sum);
        Ok(())
    }
}

/// Bytes of zeros that are written at a time. Linux keeps what was written at once in one piece, and a later change of
/// some bytes makes all of the piece count as changed.
const PAGE: usize = 4_096;

/// Writes zeros from one place to another.
fn zeros(file: &dyn StorageBackend, from: u64, to: u64) -> io::Result<()> {
    for at in (from..to).step_by(PAGE) {
        let part = usize::try_from(to - at).unwrap_or(PAGE).min(PAGE);
        file.write(at, [0; PAGE].get(..part).unwrap_or_default())?;
    }
    Ok(())
}

/// Why a journal cannot be read.
#[derive(Debug)]
pub enum JournalError {
    Io(io::Error),
    /// A commit that was durable is not there as it was written: its number, and the byte where it should begin.
    Damaged {
        commit: u64,
        at: u64,
    },
}

impl From<io::Error> for JournalError {
    fn from(error: io::Error) -> JournalError {
        JournalError::Io(error)
    }
}

/// Commits with their numbers.
pub type Commits = Vec<(u64, ChangedRows)>;

/// Reads a journal behind its header, up to its end or to the commit before `until`, the first one of the generation after
/// it.
pub fn read(file: &dyn StorageBackend, header: &Header, until: Option<u64>) -> Result<Commits, JournalError> {
    let length = file.len()?;
    let mut commits = Commits::new();
    let (mut at, mut before) = (SECTOR as u64, header.sum());
    for commit in header.first.. {
        if until.is_some_and(|until| commit >= until) {
            break;
        }
        let found = record_at(file, length, at)?
            .filter(|(head, _)| (head.generation, head.commit, head.before) == (header.generation, commit, before));
        let Some((head, rows)) = found else {
            let later = until.is_some() || is_later(file, length, header, (at, commit))?;
            if later {
                return Err(JournalError::Damaged { commit, at });
            }
            break;
        };
        let rows = record::decode_rows(&rows).ok_or(JournalError::Damaged { commit, at })?;
        commits.push((commit, rows));
        (at, before) = (at + head.size() as u64, head.sum);
    }
    Ok(commits)
}

/// How a journal begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    Whole(Header),
    /// The program ended while it began this journal, so nothing was ever durable in it.
    Nothing,
    /// It has another format than this program writes, or is damaged there.
    OtherFormat(u32),
    /// Its header is not there as it was written.
    Damaged,
    /// Its end is missing: journals are made and grow by whole megabytes.
    CutAt(u64),
}

/// How the journal of a generation begins.
pub fn beginning(file: &dyn StorageBackend, generation: u64) -> io::Result<Beginning> {
    let length = file.len()?;
    if length < SECTOR as u64 {
        return Ok(Beginning::Nothing);
    }
    let mut bytes = [0; SECTOR];
    file.read(0, &mut bytes)?;
    let header = Header::decode(&bytes);
    if let Some(header) = header.filter(|header| header.generation == generation) {
        return Ok(if length % CHUNK as u64 == 0 { Beginning::Whole(header) } else { Beginning::CutAt(length) });
    }
    // A new file has zeros there, and one that is used again the header of an earlier generation.
    let unused = header.is_some() || bytes == [0; SECTOR];
    let records = record_at(file, length, SECTOR as u64)?.is_some_and(|(head, _)| head.generation == generation);
    Ok(match Header::format_of(&bytes).filter(|format| *format != FORMAT) {
        Some(format) => Beginning::OtherFormat(format),
        None if unused && !records => Beginning::Nothing,
        None => Beginning::Damaged,
    })
}

/// The record that begins at a place, if it is whole.
fn record_at(file: &dyn StorageBackend, length: u64, at: u64) -> io::Result<Option<(RecordHead, Vec<u8>)>> {
    let mut bytes = [0; HEAD];
    if at + HEAD as u64 > length {
        return Ok(None);
    }
    file.read(at, &mut bytes)?;
    let head = RecordHead::decode(&bytes).filter(|head| head.commit > 0 && at + head.size() as u64 <= length);
    let Some(head) = head else { return Ok(None) };
    let mut rows = vec![0; head.length as usize];
    file.read(at + HEAD as u64, &mut rows)?;
    Ok(head.is_whole(&rows).then_some((head, rows)))
}

/// Whether a whole record of this generation stands behind a place, and says that the commit that should be there was
/// durable before it.
fn is_later(file: &dyn StorageBackend, length: u64, header: &Header, (at, commit): (u64, u64)) -> io::Result<bool> {
    let mut chunk = vec![0; CHUNK];
    let mut from = at + SECTOR as u64;
    while from + SECTOR as u64 <= length {
        let part = usize::try_from(length - from).unwrap_or(CHUNK).min(CHUNK);
        let part = part - part % SECTOR;
        let bytes = chunk.get_mut(..part).unwrap_or_default();
        file.read(from, bytes)?;
        for (place, sector) in (from..).step_by(SECTOR).zip(bytes.chunks_exact(SECTOR)) {
            let is_one = |head: RecordHead| {
                head.generation == header.generation && head.commit > commit && head.durable >= commit
            };
            if RecordHead::decode(sector).is_some_and(is_one) && record_at(file, length, place)?.is_some() {
                return Ok(true);
            }
        }
        from += part as u64;
    }
    Ok(false)
}
