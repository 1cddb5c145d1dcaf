//! The file under the storage engine, with a checksum for every block.
//!
//! The engine has checksums of its own, but compares them only when it repairs a file. Here every page is compared when
//! it is read. So a flipped bit, a missing row, or a wrong page high up in a tree shows at once, for the cost of one
//! checksum. A damaged page is given to the engine as a page whose every use is an error ([`poison`]); an error of the
//! file itself would stop the engine altogether.
//!
//! While the engine repairs a file that was not closed cleanly, it looks at pages without using them. A damaged page is
//! then given as one that holds nothing ([`marker`]), whose checksum the pages above it may name ([`mend`]). Otherwise
//! one flipped bit and one crash would together cost the whole file.
//!
//! A crash may write a page without its checksum, or the checksum without the page. Such a page belongs to a commit
//! that was never answered, because both are written before one sync. Either nothing refers to the page, or the engine
//! goes back to the commit before it when it finds it.
//!
//! | Module | What |
//! |---|---|
//! | `layout` | positions of blocks and checksums, and the head of the file |
//! | `mend` | mends a damaged file that was not closed cleanly |
//! | `sums` | checksums of blocks |
//! | `tree` | reads the engine's trees directly from the file |

mod layout;
mod mend;
mod sums;
mod tree;

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{BackendError, StorageBackend};

use crate::log;

pub use layout::BLOCK;
use layout::{ENGINE, ENGINE_MAGIC, Head, Layout};
pub use mend::mend;
use sums::{Sums, checksum, checksum_of_mended};
pub use tree::{Bad, Reading, Walk, WalkResult, current_roots};

/// The file, as the engine sees it.
#[derive(Debug)]
pub struct Pages {
    file: Box<dyn StorageBackend>,
    path: PathBuf,
    /// False until the engine asks for the length, which it does after it has locked the file. The head is read then.
    ready: AtomicBool,
    /// Held while a block and its checksum change, so that a reader outside of the engine sees both changes or none.
    writing: Mutex<()>,
    head: Mutex<Head>,
    /// The engine's header as of the last sync.
    durable: Mutex<Option<[u8; ENGINE]>>,
    sums: Mutex<Sums>,
    before: AtomicU64,
    blocks: AtomicU64,
    converting: AtomicBool,
    /// The file was not closed by whoever wrote to it last.
    was_open: AtomicBool,
    /// True while the engine repairs the file.
    repairing: AtomicBool,
    /// Damaged pages that were found: first block and number of blocks.
    damaged: Mutex<BTreeMap<u64, u64>>,
    damaged_count: AtomicU64,
}

/// The result of comparing a page with its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Sound,
    /// Sound, and changed in place to match a damaged page below it.
    Mended,
    /// Written before the file had checksums.
    Unknown,
    Damaged,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pages {
    /// `sums` is the memory for checksums, in bytes.
    pub fn new(file: Box<dyn StorageBackend>, path: PathBuf, sums: usize) -> Arc<Pages> {
        Arc::new(Pages {
            file,
            path,
            ready: AtomicBool::new(false),
            writing: Mutex::new(()),
            head: Mutex::new(Head::new()),
            durable: Mutex::new(None),
            sums: Mutex::new(Sums::of_bytes(sums)),
            before: AtomicU64::new(1),
            blocks: AtomicU64::new(0),
            converting: AtomicBool::new(false),
            was_open: AtomicBool::new(false),
            repairing: AtomicBool::new(false),
            damaged: Mutex::new(BTreeMap::new()),
            damaged_count: AtomicU64::new(0),
        })
    }

    fn layout(&self) -> Layout {
        Layout { before: self.before.load(Ordering::Acquire) }
    }

    /// Reads the head; begins to convert a file without checksums.
    fn prepare(&self) -> io::Result<()> {
        let length = self.file.len()?;
        if length == 0 {
            return Ok(());
        }
        let on_disk = length / BLOCK;
        let mut block = vec![0; BLOCK.min(length) as usize];
        self.file.read(0, &mut block)?;
        if on_disk == 0 && layout::is_begun(&block) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match Head::of_block(&block) {
            // The making of the file was interrupted before anything was in it.
            Some((head, _)) if !head.named => return self.file.set_len(0),
            Some((mut head, sound)) => {
                self.was_open.store(tree::was_open(&head.engine), Ordering::Release);
                tree::trust_synced(&mut head.engine, head.synced);
                self.adopt(head, on_disk);
                if !sound {
                    log::error!("one copy of the head of {} is damaged; using the other", self.path.display());
                    self.write_head(&locked(&self.head))?;
                }
            }
            None if block.starts_with(&ENGINE_MAGIC) => self.begin_to_convert(&block, on_disk)?,
            None => return Err(io::Error::new(io::ErrorKind::InvalidData, layout::strange(&block))),
        }
        *locked(&self.durable) = Some(locked(&self.head).engine);
        Ok(())
    }

    fn adopt(&self, head: Head, on_disk: u64) {
        self.before.store(head.before, Ordering::Release);
        self.blocks.store(self.layout().blocks(on_disk, head.shorter), Ordering::Release);
        self.converting.store(head.converting, Ordering::Release);
        *locked(&self.head) = head;
    }

    /// Makes room for the checksums durable before the head says that it exists.
    fn begin_to_convert(&self, block: &[u8], on_disk: u64) -> io::Result<()> {
        let mut engine = [0; ENGINE];
        engine.copy_from_slice(&block[..ENGINE]);
        // An earlier attempt may already have made the room.
        let stated = tree::blocks_stated(&engine).filter(|stated| Layout { before: *stated }.on_disk(0) == on_disk);
        let before = stated.unwrap_or(on_disk);
        self.file.set_len(before * BLOCK)?;
        self.file.set_len(Layout { before }.on_disk(before) * BLOCK)?;
        self.file.sync_data()?;
        let head = Head { engine, before, shorter: before, scrubbed: 0, synced: 0, converting: true, named: true };
        self.write_head(&head)?;
        self.file.sync_data()?;
        self.adopt(head, Layout { before }.on_disk(before));
        Ok(())
    }

    fn write_head(&self, head: &Head) -> io::Result<()> {
        self.file.write(0, &head.block())
    }

    /// Blocks of the file, as the engine counts them.
    pub fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Acquire)
    }

    pub fn was_open(&self) -> bool {
        self.was_open.load(Ordering::Acquire)
    }

    pub fn is_converting(&self) -> bool {
        self.converting.load(Ordering::Acquire)
    }

    pub fn scrubbed(&self) -> i64 {
        locked(&self.head).scrubbed
    }

    /// Records when everything was compared; written with the next commit.
    pub fn set_scrubbed(&self, micros: i64) {
        locked(&self.head).scrubbed = micros;
    }

    /// Says that the engine begins or ends to repair the file.
    pub fn set_repairing(&self, repairing: bool) {
        self.repairing.store(repairing, Ordering::Release);
    }

    /// Number of damaged pages that were found and not overwritten since.
    pub fn damaged(&self) -> u64 {
        self.damaged_count.load(Ordering::Acquire)
    }

    /// The engine's header as of the last sync. A snapshot that is taken before reading it keeps the pages below it.
    pub fn durable(&self) -> Option<[u8; ENGINE]> {
        *locked(&self.durable)
    }

    /// Notes a damaged page, and logs it once.
    pub fn note(&self, block: u64, blocks: u64) {
        let mut damaged = locked(&self.damaged);
        if damaged.insert(block, blocks).is_none() {
            self.damaged_count.store(damaged.len() as u64, Ordering::Release);
            let offset = self.offset(block);
            log::error!(
                "{} is damaged: page {block}, at byte {offset}, is not what was written; requests for it get \
                 503 DAMAGED, and `heliograph db check` names the rows on it",
                self.path.display()
            );
        }
    }

    /// Pages that are overwritten are no longer damaged.
    fn forget(&self, block: u64, blocks: u64) {
        if self.damaged() == 0 {
            return;
        }
        let mut damaged = locked(&self.damaged);
        damaged.retain(|start, count| *start >= block + blocks || start + *count <= block);
        self.damaged_count.store(damaged.len() as u64, Ordering::Release);
    }

    fn is_known_damaged(&self, block: u64, blocks: u64) -> bool {
        self.damaged() > 0
            && locked(&self.damaged)
                .range(..block + blocks)
                .next_back()
                .is_some_and(|(start, count)| start + count > block)
    }

    /// Reads blocks as they are on disk, and compares them with their checksums.
    pub fn read_page(&self, block: u64, out: &mut [u8]) -> io::Result<Verdict> {
        let layout = self.layout();
        let count = out.len() as u64 / BLOCK;
        if block + count > self.blocks() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (mut at, mut left) = (block, &mut *out);
        while !left.is_empty() {
            let run = layout.run(at).min(left.len() as u64 / BLOCK);
            let (part, rest) = left.split_at_mut((run * BLOCK) as usize);
            match self.file.read(layout.place(at) * BLOCK, part) {
                // An unreadable sector of the disk is treated like any other damage.
                Err(error) if is_unreadable(&error) => return Ok(Verdict::Damaged),
                done => done?,
            }
            (at, left) = (at + run, rest);
        }
        let mut whole = Verdict::Sound;
        for (at, bytes) in (block..).zip(out.chunks_exact(BLOCK as usize)) {
            let found = checksum(at, bytes);
            let stated = locked(&self.sums).get(&*self.file, layout, at)?;
            whole = match stated {
                stated if stated == found => whole,
                0 if self.is_converting() => Verdict::Unknown,
                0 => return Ok(Verdict::Damaged),
                stated if stated == checksum_of_mended(at, bytes) => Verdict::Mended,
                _ => return Ok(Verdict::Damaged),
            };
        }
        Ok(whole)
    }

    /// Like [`Pages::read_page`], while a writer may be active: a page that looks damaged is read again while nothing
    /// is written.
    pub fn read_page_beside_writer(&self, block: u64, out: &mut [u8]) -> io::Result<Verdict> {
        match self.read_page(block, out)? {
            Verdict::Damaged => {
                let _alone = locked(&self.writing);
                self.read_page(block, out)
            }
            sound => Ok(sound),
        }
    }

    fn write_blocks(&self, block: u64, data: &[u8], sum: fn(u64, &[u8]) -> u64) -> io::Result<()> {
        let layout = self.layout();
        let _alone = locked(&self.writing);
        let (mut at, mut left) = (block, data);
        while !left.is_empty() {
            let run = layout.run(at).min(left.len() as u64 / BLOCK);
            let (part, rest) = left.split_at((run * BLOCK) as usize);
            self.file.write(layout.place(at) * BLOCK, part)?;
            (at, left) = (at + run, rest);
        }
        let mut sums = locked(&self.sums);
        for (at, bytes) in (block..).zip(data.chunks_exact(BLOCK as usize)) {
            sums.set(&*self.file, layout, at, sum(at, bytes))?;
        }
        drop(sums);
        self.forget(block, data.len() as u64 / BLOCK);
        Ok(())
    }

    /// Gives checksums to old blocks that have none, except to known damaged ones; returns how many got one. It must be
    /// short, because a commit may wait for it.
    pub fn convert(&self, block: u64, count: u64) -> io::Result<u64> {
        let layout = self.layout();
        let _alone = locked(&self.writing);
        let (mut bytes, mut done) = (vec![0; BLOCK as usize], 0);
        for at in block.max(1)..(block + count).min(layout.before).min(self.blocks()) {
            let mut sums = locked(&self.sums);
            if sums.get(&*self.file, layout, at)? != 0 || self.is_known_damaged(at, 1) {
                continue;
            }
            self.file.read(layout.place(at) * BLOCK, &mut bytes)?;
            sums.set(&*self.file, layout, at, checksum(at, &bytes))?;
            done += 1;
        }
        Ok(done)
    }

    /// From here on a missing checksum counts as damage.
    pub fn end_conversion(&self) -> io::Result<()> {
        locked(&self.sums).flush(&*self.file)?;
        self.file.sync_data()?;
        let mut head = locked(&self.head);
        head.converting = false;
        self.write_head(&head)?;
        drop(head);
        self.file.sync_data()?;
        self.converting.store(false, Ordering::Release);
        Ok(())
    }

    /// Position of a block in the file, in bytes.
    pub fn offset(&self, block: u64) -> u64 {
        self.layout().place(block) * BLOCK
    }

    /// Number of blocks that were in the file before it had checksums.
    pub fn before(&self) -> u64 {
        self.before.load(Ordering::Acquire)
    }

    fn give(&self, block: u64, out: &mut [u8]) -> io::Result<()> {
        let count = out.len() as u64 / BLOCK;
        let known = self.is_known_damaged(block, count);
        if !known && self.read_page(block, out)? != Verdict::Damaged {
            return Ok(());
        }
        match self.repairing.load(Ordering::Acquire) {
            true => marker(out),
            false => {
                self.note(block, count);
                poison(out);
            }
        }
        Ok(())
    }
}

fn is_unreadable(error: &io::Error) -> bool {
    /// `EIO` of Linux and of the other Unix systems.
    const EIO: i32 = 5;
    cfg!(unix) && error.raw_os_error() == Some(EIO)
}

/// Makes a page whose every use is an error: a branch with one key of 8 zeros and two children whose page numbers are
/// invalid. Read as a leaf, it has one pair that is too large to be merged with another page.
fn poison(page: &mut [u8]) {
    page.fill(0);
    page[..56].fill(0xff);
    page[..4].copy_from_slice(&[tree::BRANCH, 0, 1, 0]);
    page[56..60].copy_from_slice(&68_u32.to_le_bytes());
}

/// Makes a leaf with a single empty pair, for the engine's repair.
fn marker(page: &mut [u8]) {
    page.fill(0);
    page[..12].copy_from_slice(&[tree::LEAF, 0, 1, 0, 12, 0, 0, 0, 12, 0, 0, 0]);
}

fn misplaced() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the engine reads and writes whole pages")
}

fn whole_blocks(offset: u64, len: usize) -> io::Result<u64> {
    match offset > 0 && offset.is_multiple_of(BLOCK) && len > 0 && (len as u64).is_multiple_of(BLOCK) {
        true => Ok(offset / BLOCK),
        false => Err(misplaced()),
    }
}

/// The engine owns its backend; this lets others use the same file.
#[derive(Debug)]
pub struct Shared(pub Arc<Pages>);

impl StorageBackend for Shared {
    fn len(&self) -> io::Result<u64> {
        let pages = &self.0;
        if !pages.ready.load(Ordering::Acquire) {
            pages.prepare()?;
            pages.ready.store(true, Ordering::Release);
        }
        Ok(pages.blocks() * BLOCK)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset == 0 {
            let head = locked(&self.0.head);
            out.copy_from_slice(head.engine.get(..out.len()).ok_or_else(misplaced)?);
            return Ok(());
        }
        self.0.give(whole_blocks(offset, out.len())?, out)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset > 0 {
            return self.0.write_blocks(whole_blocks(offset, data.len())?, data, checksum);
        }
        let mut head = locked(&self.0.head);
        head.engine = data.try_into().map_err(|_| misplaced())?;
        head.named = data.starts_with(&ENGINE_MAGIC);
        self.0.write_head(&head)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let (pages, blocks) = (&self.0, len / BLOCK);
        let layout = pages.layout();
        let mut head = locked(&pages.head);
        if blocks.min(layout.before) != head.shorter {
            head.shorter = blocks.min(layout.before);
            // A new file gets its head when the engine writes its own.
            if head.named {
                pages.write_head(&head)?;
            }
        }
        drop(head);
        let on_disk = layout.on_disk(blocks);
        if blocks < pages.blocks() {
            locked(&pages.sums).cut(on_disk);
            pages.forget(blocks, u64::MAX / 2);
        }
        pages.file.set_len(on_disk * BLOCK)?;
        pages.blocks.store(blocks, Ordering::Release);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut head = locked(&self.0.head);
        locked(&self.0.sums).flush(&*self.0.file)?;
        self.0.file.sync_data()?;
        *locked(&self.0.durable) = Some(head.engine);
        // This write is not synced. The next answer comes from a process that may be killed, and the write survives
        // that; only a power failure can lose it.
        if let Some(id) = tree::current_id(&head.engine).filter(|id| *id != head.synced) {
            head.synced = id;
            self.0.write_head(&head)?;
        }
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.0.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.query_lock_range(start, end)
    }
}
