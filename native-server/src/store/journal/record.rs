//! The bytes of a journal's header and records.

use heliograph_core::engine::kv::{Batch, Change};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::super::recent::ChangedRows;

/// Header and records begin at multiples of this. A disk writes a sector whole or not at all.
pub const SECTOR: usize = 512;

const MARK: &[u8; 16] = b"heliograph rows\n";
pub const FORMAT: u32 = 1;

/// Tells data files apart. A journal belongs to one of them.
pub type FileId = [u8; 16];

/// The first sector of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub file: FileId,
    pub generation: u64,
    /// Number of the first commit.
    pub first: u64,
}

/// The sum at the start of a chain is that of the header.
pub type Sum = u128;

impl Header {
    pub fn encode(&self) -> [u8; SECTOR] {
        let mut bytes = [0; SECTOR];
        let parts: [&[u8]; 5] =
            [MARK, &FORMAT.to_le_bytes(), &self.file, &self.generation.to_le_bytes(), &self.first.to_le_bytes()];
        let text = parts.concat();
        bytes.iter_mut().zip(&text).for_each(|(to, from)| *to = *from);
        let sum = xxh3_64(&text).to_le_bytes();
        bytes.iter_mut().skip(text.len()).zip(sum).for_each(|(to, from)| *to = from);
        bytes
    }

    /// `None` for anything else than a whole header of this format.
    pub fn decode(mut bytes: &[u8]) -> Option<Header> {
        let all = bytes;
        let mark: [u8; 16] = take(&mut bytes)?;
        let format = u32::from_le_bytes(take(&mut bytes)?);
        let file = take(&mut bytes)?;
        let [generation, first] = [take(&mut bytes)?, take(&mut bytes)?].map(u64::from_le_bytes);
        let text = all.get(..all.len() - bytes.len())?;
        let whole = u64::from_le_bytes(take(&mut bytes)?) == xxh3_64(text);
        (mark == *MARK && format == FORMAT && whole).then_some(Header { file, generation, first })
    }

    /// The number of the format that a header names, also of another one.
    pub fn format_of(mut bytes: &[u8]) -> Option<u32> {
        let mark: [u8; 16] = take(&mut bytes)?;
        let format = u32::from_le_bytes(take(&mut bytes)?);
        (mark == *MARK).then_some(format)
    }

    /// Where the chain of sums begins.
    pub fn sum(&self) -> Sum {
        xxh3_128(&self.encode())
    }
}

/// What stands before the rows of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHead {
    /// Bytes of the rows.
    pub length: u32,
    pub generation: u64,
    pub commit: u64,
    /// The last commit that was durable when this was written.
    pub durable: u64,
    /// Sums of the record before, and of this one.
    pub before: Sum,
    pub sum: Sum,
}

/// Bytes of [`RecordHead`].
pub const HEAD: usize = 4 + 3 * 8 + 2 * 16;

impl RecordHead {
    fn unsummed(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD);
        bytes.extend(self.length.to_le_bytes());
        [self.generation, self.commit, self.durable].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(self.before.to_le_bytes());
        bytes
    }

    pub fn decode(mut bytes: &[u8]) -> Option<RecordHead> {
        let length = u32::from_le_bytes(take(&mut bytes)?);
        let [generation, commit, durable] =
            [take(&mut bytes)?, take(&mut bytes)?, take(&mut bytes)?].map(u64::from_le_bytes);
        let [before, sum] = [take(&mut bytes)?, take(&mut bytes)?].map(Sum::from_le_bytes);
        Some(RecordHead { length, generation, commit, durable, before, sum })
    }

    /// Whether these are the rows that were written under this head.
    pub fn is_whole(&self, rows: &[u8]) -> bool {
        rows.len() == self.length as usize && self.sum == sum_of(&self.unsummed(), rows)
    }

    /// Bytes of the whole record, with its padding.
    pub fn size(&self) -> usize {
        (HEAD + self.length as usize).next_multiple_of(SECTOR)
    }
}

fn sum_of(head: &[u8], rows: &[u8]) -> Sum {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    hasher.update(head);
    hasher.update(rows);
    hasher.digest128()
}

/// A record with its padding, and its sum. `None` if the rows are more than a record can hold.
pub fn encode(
    generation: u64,
    (commit, durable): (u64, u64),
    before: Sum,
    changed: &ChangedRows,
) -> Option<(Vec<u8>, Sum)> {
    let rows = encode_rows(changed)?;
    let length = u32::try_from(rows.len()).ok()?;
    let head = RecordHead { length, generation, commit, durable, before, sum: 0 };
    let mut bytes = head.unsummed();
    let sum = sum_of(&bytes, &rows);
    bytes.extend(sum.to_le_bytes());
    bytes.extend(rows);
    bytes.resize(head.size(), 0);
    Some((bytes, sum))
}

/// Stands in the place of a length for a row that was removed.
const REMOVED: u32 = u32::MAX;

fn encode_rows(changed: &ChangedRows) -> Option<Vec<u8>> {
    let space = |(space, batch): (&Vec<u8>, &Batch)| 8 + space.len() + 8 * batch.len() + batch.bytes();
    let mut bytes = Vec::with_capacity(4 + changed.iter().map(space).sum::<usize>());
    let short = |bytes: &mut Vec<u8>, text: &[u8]| {
        bytes.extend(u16::try_from(text.len()).ok()?.to_le_bytes());
        bytes.extend(text);
        Some(())
    };
    bytes.extend(u32::try_from(changed.len()).ok()?.to_le_bytes());
    for (space, batch) in changed {
        short(&mut bytes, space)?;
        bytes.extend(u32::try_from(batch.len()).ok()?.to_le_bytes());
        for (key, change) in batch.iter() {
            short(&mut bytes, key)?;
            match change {
                Change::Put(value) => {
                    let length = u32::try_from(value.len()).ok().filter(|length| *length != REMOVED)?;
                    bytes.extend(length.to_le_bytes());
                    bytes.extend(value);
                }
                Change::Delete => bytes.extend(REMOVED.to_le_bytes()),
            }
        }
    }
    Some(bytes)
}

/// The rows of a record; `None` if the bytes are something else.
pub fn decode_rows(mut bytes: &[u8]) -> Option<ChangedRows> {
    let number = |bytes: &mut &[u8]| Some(u32::from_le_bytes(take(bytes)?));
    let short = |bytes: &mut &[u8]| {
        let length = u16::from_le_bytes(take(bytes)?);
        Some(bytes.split_off(..usize::from(length))?.to_vec())
    };
    let mut changed = ChangedRows::new();
    for _ in 0..number(&mut bytes)? {
        let space = short(&mut bytes)?;
        let mut batch = Batch::default();
        for _ in 0..number(&mut bytes)? {
            let key = short(&mut bytes)?;
            match number(&mut bytes)? {
                REMOVED => batch.delete(key),
                length => batch.put(key, bytes.split_off(..length as usize)?.to_vec()),
            }
        }
        changed.insert(space, batch);
    }
    bytes.is_empty().then_some(changed)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    bytes.split_off(..N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> ChangedRows {
        let mut batch = Batch::default();
        batch.put(Vec::new(), Vec::new());
        batch.delete(vec![0xff]);
        batch.put(b"a".to_vec(), vec![7; 3_000]);
        ChangedRows::from([(b"space".to_vec(), batch), (Vec::new(), Batch::default())])
    }

    #[test]
    fn a_header_comes_out_as_it_went_in_and_no_other_bytes_are_one() {
        let header = Header { file: [9; 16], generation: 3, first: 77 };
        let bytes = header.encode();
        assert_eq!(Header::decode(&bytes), Some(header));
        for at in 0..60 {
            let mut other = bytes;
            other[at] ^= 1;
            assert_eq!(Header::decode(&other), None, "byte {at}");
        }
        assert_eq!(Header::decode(&bytes[..50]), None);
        assert_eq!(Header::decode(&[0; SECTOR]), None);
    }

    #[test]
    fn a_record_comes_out_as_it_went_in_and_every_flipped_bit_of_it_is_noticed() {
        let (bytes, sum) = encode(4, (10, 9), 5, &rows()).unwrap();
        assert_eq!(bytes.len() % SECTOR, 0);
        let head = RecordHead::decode(&bytes).unwrap();
        assert_eq!((head.generation, head.commit, head.durable, head.before, head.sum), (4, 10, 9, 5, sum));
        let whole = |bytes: &[u8]| {
            let head = RecordHead::decode(bytes)?;
            let rows = bytes.get(HEAD..HEAD + head.length as usize).filter(|rows| head.is_whole(rows))?;
            decode_rows(rows)
        };
        assert_eq!(whole(&bytes), Some(rows()));
        for bit in 0..8 * (HEAD + head.length as usize) {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(whole(&other), None, "bit {bit}");
        }
        for cut in 0..head.length as usize {
            assert_eq!(decode_rows(&bytes[HEAD..HEAD + cut]), None);
        }
    }
}
