//! Checksums of blocks. The blocks of the file that hold them are kept in memory.

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use redb::StorageBackend;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::layout::{BLOCK, Layout, SUMS};

/// Least number of checksum blocks in memory.
const LEAST: usize = 16;

/// Seed for the checksum of a mended page, that is a page that was changed in place to match a damaged page below it.
const MENDED: u64 = 0x4d45_4e44_4544_0000;

/// The checksum of a block at its position; never 0, which means that there is none.
pub fn checksum(block: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, block).max(1)
}

/// The checksum of a block that was mended.
pub fn checksum_of_mended(block: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, block ^ MENDED).max(1)
}

#[derive(Debug)]
struct CachedSums {
    sums: Vec<u64>,
    /// Checksums of this block that the file does not have yet.
    changed: Range<usize>,
    used: u64,
}

/// Checksums by the block that holds them. Changed ones are written to the file when it is synced.
#[derive(Debug)]
pub struct Sums {
    /// Most blocks in memory.
    most: usize,
    kept: HashMap<u64, CachedSums>,
    /// Positions of the blocks that changed.
    changed: Vec<u64>,
    clock: u64,
}

impl Sums {
    /// Keeps blocks in so much memory.
    pub fn of_bytes(bytes: usize) -> Sums {
        let most = (bytes / BLOCK as usize).max(LEAST);
        Sums { most, kept: HashMap::new(), changed: Vec::new(), clock: 0 }
    }

    /// The checksum of a block; 0 when there is none.
    pub fn get(&mut self, file: &dyn StorageBackend, layout: Layout, block: u64) -> io::Result<u64> {
        let (place, number) = layout.sum(block);
        Ok(self.load(file, place)?.sums[number])
    }

    pub fn set(&mut self, file: &dyn StorageBackend, layout: Layout, block: u64, sum: u64) -> io::Result<()> {
        let (place, number) = layout.sum(block);
        let kept = self.load(file, place)?;
        kept.sums[number] = sum;
        let first = kept.changed.is_empty();
        kept.changed = match first {
            true => number..number + 1,
            false => kept.changed.start.min(number)..kept.changed.end.max(number + 1),
        };
        if first {
            self.changed.push(place);
        }
        Ok(())
    }

    fn load(&mut self, file: &dyn StorageBackend, place: u64) -> io::Result<&mut CachedSums> {
        self.clock += 1;
        let clock = self.clock;
        if !self.kept.contains_key(&place) {
            if self.kept.len() >= self.most {
                self.make_room(file)?;
            }
            let mut bytes = vec![0; BLOCK as usize];
            file.read(place * BLOCK, &mut bytes)?;
            let words = bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
            self.kept.insert(place, CachedSums { sums: words.collect(), changed: 0..0, used: clock });
        }
        let kept = self.kept.get_mut(&place).ok_or(io::ErrorKind::NotFound)?;
        kept.used = clock;
        Ok(kept)
    }

    /// Removes from memory the quarter that was not used for longest.
    fn make_room(&mut self, file: &dyn StorageBackend) -> io::Result<()> {
        self.flush(file)?;
        let mut used: Vec<u64> = self.kept.values().map(|kept| kept.used).collect();
        used.sort_unstable();
        let oldest = used.get(self.most / 4).copied().unwrap_or_default();
        self.kept.retain(|_, kept| kept.used > oldest);
        Ok(())
    }

    /// Writes the changed checksums, without a sync.
    pub fn flush(&mut self, file: &dyn StorageBackend) -> io::Result<()> {
        while let Some(place) = self.changed.last() {
            let Some(kept) = self.kept.get_mut(place) else {
                self.changed.pop();
                continue;
            };
            let bytes: Vec<u8> = kept.sums[kept.changed.clone()].iter().flat_map(|sum| sum.to_le_bytes()).collect();
            file.write(place * BLOCK + kept.changed.start as u64 * 8, &bytes)?;
            kept.changed = 0..0;
            self.changed.pop();
        }
        Ok(())
    }

    /// Forgets the checksums beyond the end of a file that became shorter.
    pub fn cut(&mut self, on_disk: u64) {
        self.kept.retain(|place, _| *place < on_disk);
    }
}

const _: () = assert!(SUMS * 8 == BLOCK);
