//! The positions of blocks and their checksums in the file, and the head of the file.
//!
//! The storage engine sees a file of blocks of 4,096 bytes, numbered from 0. On disk, a block of checksums precedes
//! every 512 blocks. A file of an earlier version without checksums keeps its blocks where they are; their checksums
//! follow them, and blocks that are added later are laid out as in a new file.
//!
//! ```text
//! new file:      head, sums, sums, 512 blocks, sums, 512 blocks, ...
//! earlier file:  head, blocks as they were, their sums, sums, 512 blocks, ...
//! ```
//!
//! Block 0 is the head. It has the engine's own header and the data of this module, in two copies. Each copy is in one
//! sector of 512 bytes and has a checksum, so that a torn write or a flipped bit destroys only one copy. The first
//! bytes differ from those of the engine, so that an earlier program refuses the file instead of misreading it.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a block.
pub const BLOCK: u64 = 4096;
/// Checksums in a checksum block, 8 bytes each.
pub const SUMS: u64 = 512;
/// Bytes of the engine's header.
pub const ENGINE: usize = 320;
/// Bytes of one copy of the head.
pub const SECTOR: usize = 512;
/// Position of the second copy in the block.
pub const SECOND: usize = 2048;

/// The first bytes of a file that the engine wrote itself.
pub const ENGINE_MAGIC: [u8; 9] = *b"redb\x1a\x0a\xa9\x0d\x0a";
/// The first bytes of a file with this layout. The last byte is the version of the layout.
const MAGIC: [u8; 9] = *b"helio\x1a\x0d\x0a\x01";

const BEFORE: usize = ENGINE;
const SHORTER: usize = BEFORE + 8;
const SCRUBBED: usize = SHORTER + 8;
const FLAGS: usize = SCRUBBED + 8;
const SYNCED: usize = FLAGS + 8;
const CHECK: usize = SECTOR - 8;
const CONVERTING: u8 = 1;
const NAMED: u8 = 2;

/// Whether the first bytes of a file are those of a data file.
pub fn is_begun(block: &[u8]) -> bool {
    block.starts_with(&MAGIC) || block.starts_with(&ENGINE_MAGIC)
}

/// Why the first block is that of no data file which this program can read, with the next step.
pub fn strange(block: &[u8]) -> String {
    let (version, mark) = MAGIC.split_last().unwrap_or((&0, &[]));
    match block.strip_prefix(mark).and_then(<[u8]>::first) {
        Some(found) if found != version => format!(
            "its layout is number {found}, and this version knows {version}: a later version wrote it, or it is damaged. \
             Start it with that version, or put a backup in its place"
        ),
        Some(_) => "both copies of its head are damaged; put a backup in its place, with `heliograph db restore FILE \
                    --replace`"
            .to_owned(),
        None => {
            "it is no data file of this program, or both copies of its head are damaged. Name the right file, or put \
                 a backup in its place"
                .to_owned()
        }
    }
}

/// The layout of a file whose first `before` blocks are in front of all checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub before: u64,
}

impl Layout {
    /// Blocks on disk before the first group.
    fn front(self) -> u64 {
        self.before + self.before.div_ceil(SUMS)
    }

    /// The position of a block, in blocks.
    pub fn place(self, block: u64) -> u64 {
        match block.checked_sub(self.before) {
            None => block,
            Some(later) => self.front() + later / SUMS * (SUMS + 1) + 1 + later % SUMS,
        }
    }

    /// The checksum block that has the checksum of this block, and the checksum's number in it.
    pub fn sum(self, block: u64) -> (u64, usize) {
        let (first, number) = match block.checked_sub(self.before) {
            None => (self.before + block / SUMS, block % SUMS),
            Some(later) => (self.front() + later / SUMS * (SUMS + 1), later % SUMS),
        };
        (first, number as usize)
    }

    /// How many blocks from this one on are adjacent on disk.
    pub fn run(self, block: u64) -> u64 {
        match block.checked_sub(self.before) {
            None => self.before - block,
            Some(later) => SUMS - later % SUMS,
        }
    }

    /// Blocks on disk of a file with so many blocks.
    pub fn on_disk(self, blocks: u64) -> u64 {
        match blocks.saturating_sub(self.before) {
            0 => self.front(),
            later => self.front() + later.div_ceil(SUMS) + later,
        }
    }

    /// The reverse of [`Layout::on_disk`]; a file that ends before the first group has `shorter` blocks.
    pub fn blocks(self, on_disk: u64, shorter: u64) -> u64 {
        match on_disk.checked_sub(self.front()) {
            None | Some(0) => shorter.min(self.before),
            Some(later) => self.before + later / (SUMS + 1) * SUMS + (later % (SUMS + 1)).saturating_sub(1),
        }
    }
}

/// The content of block 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The engine's header, with the engine's own first bytes.
    pub engine: [u8; ENGINE],
    pub before: u64,
    /// Number of blocks of the file when it is less than `before`.
    pub shorter: u64,
    /// When everything was last compared with its checksums, in microseconds since 1970; 0 for never.
    pub scrubbed: i64,
    /// The number of the last commit whose sync is known to have succeeded. If something in it is wrong, that is damage
    /// and not a commit that a crash interrupted.
    pub synced: u64,
    /// True while old blocks may have no checksum.
    pub converting: bool,
    /// True if the engine has finished making the file: it writes its first bytes last.
    pub named: bool,
}

impl Head {
    pub fn new() -> Head {
        Head { engine: [0; ENGINE], before: 1, shorter: 1, scrubbed: 0, synced: 0, converting: false, named: false }
    }

    fn sector(&self) -> [u8; SECTOR] {
        let mut sector = [0; SECTOR];
        sector[..ENGINE].copy_from_slice(&self.engine);
        sector[..MAGIC.len()].copy_from_slice(&MAGIC);
        sector[BEFORE..SHORTER].copy_from_slice(&self.before.to_le_bytes());
        sector[SHORTER..SCRUBBED].copy_from_slice(&self.shorter.to_le_bytes());
        sector[SCRUBBED..FLAGS].copy_from_slice(&self.scrubbed.to_le_bytes());
        sector[FLAGS] = if self.converting { CONVERTING } else { 0 } | if self.named { NAMED } else { 0 };
        sector[SYNCED..SYNCED + 8].copy_from_slice(&self.synced.to_le_bytes());
        let check = xxh3_64(&sector[..CHECK]);
        sector[CHECK..].copy_from_slice(&check.to_le_bytes());
        sector
    }

    /// Encodes block 0.
    pub fn block(&self) -> Vec<u8> {
        let (sector, mut block) = (self.sector(), vec![0; BLOCK as usize]);
        block[..SECTOR].copy_from_slice(&sector);
        block[SECOND..SECOND + SECTOR].copy_from_slice(&sector);
        block
    }

    fn of_sector(sector: &[u8]) -> Option<Head> {
        let word = |at: usize| Some(u64::from_le_bytes(sector.get(at..at + 8)?.try_into().ok()?));
        if sector.get(..MAGIC.len())? != MAGIC || word(CHECK)? != xxh3_64(sector.get(..CHECK)?) {
            return None;
        }
        let flags = *sector.get(FLAGS)?;
        let named = flags & NAMED != 0;
        let mut engine: [u8; ENGINE] = sector.get(..ENGINE)?.try_into().ok()?;
        engine[..MAGIC.len()].copy_from_slice(if named { &ENGINE_MAGIC } else { &[0; 9] });
        Some(Head {
            engine,
            before: word(BEFORE)?.max(1),
            shorter: word(SHORTER)?,
            scrubbed: word(SCRUBBED)? as i64,
            synced: word(SYNCED)?,
            converting: flags & CONVERTING != 0,
            named,
        })
    }

    /// Decodes block 0: the head, and whether both copies of it are sound.
    pub fn of_block(block: &[u8]) -> Option<(Head, bool)> {
        let first = block.get(..SECTOR).and_then(Head::of_sector);
        let second = block.get(SECOND..SECOND + SECTOR).and_then(Head::of_sector);
        match (first, second) {
            // If a write was torn between the copies, the first one counts.
            (Some(first), second) => Some((first, second.is_some())),
            (None, Some(second)) => Some((second, false)),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_and_every_checksum_has_a_place_of_its_own() {
        for before in [1, 2, 511, 512, 513, 1_300] {
            let layout = Layout { before };
            let blocks = before + 3 * SUMS + 7;
            let mut places = std::collections::HashSet::new();
            let mut sums = std::collections::HashSet::new();
            for block in 0..blocks {
                assert!(places.insert(layout.place(block)));
                assert!(sums.insert(layout.sum(block)));
                assert!(layout.place(block) < layout.on_disk(blocks));
                assert!(layout.sum(block).0 < layout.on_disk(block + 1));
                for next in 1..layout.run(block) {
                    assert_eq!(layout.place(block + next), layout.place(block) + next);
                }
            }
            assert!(sums.iter().all(|(block, _)| !places.contains(block)));
            for count in before..blocks {
                assert_eq!(layout.blocks(layout.on_disk(count), before), count, "{before} {count}");
            }
            assert_eq!(layout.blocks(layout.on_disk(0), 0), 0);
        }
    }

    #[test]
    fn a_head_survives_a_flip_in_either_copy() {
        let mut engine = [7; ENGINE];
        engine[..9].copy_from_slice(&ENGINE_MAGIC);
        let head = Head { engine, before: 77, shorter: 70, scrubbed: -5, synced: 9, converting: true, named: true };
        let block = head.block();
        assert_eq!(Head::of_block(&block), Some((head.clone(), true)));
        for at in 0..SECTOR {
            for copy in [0, SECOND] {
                let mut flipped = block.clone();
                flipped[copy + at] ^= 1 << (at % 8);
                assert_eq!(Head::of_block(&flipped), Some((head.clone(), false)));
            }
            let mut both = block.clone();
            both[at] ^= 1;
            both[SECOND + at] ^= 2;
            assert_eq!(Head::of_block(&both), None);
        }
        assert!(!block.starts_with(&ENGINE_MAGIC), "an earlier program must refuse it");
    }
}
