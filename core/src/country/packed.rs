//! What a cell holds: sorted sets of fixed-width records, packed into rows that stay under the platform's row limit.
//!
//! A cell is one row while it is small, entries and hashes of source rows together: most cells hold one measurement, and
//! a second row would cost more than what is in it. Once a cell outgrows [`SPLIT_BYTES`] it is kept as 16 rows by the
//! first four bits of each record, behind an empty row that says so. Sets only grow, so the layout depends on the sets
//! alone, never on the order of arrival.

use serde::{Deserialize, Serialize};

use crate::kv::{Direction, Read, Row, StoreError, Table, Write, for_each};
use crate::measurement::ENTRY_LEN;

/// Bytes of the hash of a source row.
pub const HASH_LEN: usize = 4;

/// Bytes over which a cell is kept in 16 parts. Far under the row limit of 1.9 MB, so that one part may still grow.
pub const SPLIT_BYTES: usize = 960_000;

/// The whole cell; empty when it is kept in parts.
const WHOLE: u8 = 0;
/// First of the 16 parts.
const FIRST_PART: u8 = 1;
const PARTS: u8 = 16;

/// Key of a cell: target, day since the epoch, network (0 = withheld), source.
pub type CellKey = (String, u32, u32, u8);
/// Key of one row of a cell.
pub type PartKey = (String, u32, u32, u8, u8);

/// Bytes of a [`PartKey`] after its target: day, network, source, part.
const KEY_TAIL: usize = 10;

/// Records of one row. Encoded as runs of bytes: element by element, decoding them would cost more than judging them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Records {
    /// Encoded entries, sorted by identity. First, so that what reads entries alone need not look at the rest.
    #[serde(with = "compact")]
    pub entries: Vec<u8>,
    /// Hashes of the source rows whose first target this is, sorted.
    #[serde(with = "compact")]
    pub rows: Vec<u8>,
}
impl Row for Records {}

impl Records {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.rows.is_empty()
    }

    /// How many measurements.
    pub fn measurements(&self) -> usize {
        self.entries.len() / ENTRY_LEN
    }
}

/// Serde of a `Vec<u8>` as one run of bytes; in postcard the same bytes as element by element.
pub mod compact {
    use serde::{Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }

            fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
                Ok(bytes)
            }
        }
        deserializer.deserialize_byte_buf(Visitor)
    }
}

/// Table of packed rows.
pub type PackedTable = Table<PartKey, Records>;

fn part((target, day, asn, source): &CellKey, part: u8) -> PartKey {
    (target.clone(), *day, *asn, *source, part)
}

/// The records of a cell, in order; empty when there are none.
pub fn load(table: &PackedTable, view: &(impl Read + ?Sized), cell: &CellKey) -> Result<Records, StoreError> {
    match table.get(view, &part(cell, WHOLE))? {
        Some(whole) if whole.is_empty() => {}
        whole => return Ok(whole.unwrap_or_default()),
    }
    let (target, day, asn, source) = cell;
    let range = table.prefix(&(target.clone(), *day, *asn, *source));
    let mut all = Records::default();
    for (_, part) in table.scan(view, &range, Direction::Ascending, usize::from(PARTS) + 1)? {
        all.entries.extend(part.entries);
        all.rows.extend(part.rows);
    }
    Ok(all)
}

/// Visits the rows of a target of the days `first` to `last` (both included): day, network, source, entries. Neither keys
/// nor entries are copied.
pub fn visit_days(
    table: &PackedTable,
    view: &(impl Read + ?Sized),
    target: &str,
    (first, last): (u32, u32),
    mut visit: impl FnMut(u32, u32, u8, &[u8]),
) -> Result<(), StoreError> {
    let range = table.between(&(target.to_owned(), first), &(target.to_owned(), last.saturating_add(1)));
    let corrupt = || StoreError::Corrupt("a row of packed records is unreadable".into());
    for_each(view, range, Direction::Ascending, |key, value| {
        let tail = key.last_chunk::<KEY_TAIL>().ok_or_else(corrupt)?;
        let [d0, d1, d2, d3, a0, a1, a2, a3, source, _] = *tail;
        let (version, row) = value.split_first().ok_or_else(corrupt)?;
        if *version != Records::VERSION {
            return Err(corrupt());
        }
        let (records, _): (&[u8], _) = postcard::take_from_bytes(row).map_err(|_| corrupt())?;
        visit(u32::from_be_bytes([d0, d1, d2, d3]), u32::from_be_bytes([a0, a1, a2, a3]), source, records);
        Ok(true)
    })
}

/// Stores the records of a cell.
pub fn store(
    table: &PackedTable,
    space: &mut (impl Write + ?Sized),
    cell: &CellKey,
    records: &Records,
) -> Result<(), StoreError> {
    if records.entries.len() + records.rows.len() <= SPLIT_BYTES {
        return table.put(space, &part(cell, WHOLE), records);
    }
    table.put(space, &part(cell, WHOLE), &Records::default())?;
    let (entries, rows) = (in_parts(&records.entries, ENTRY_LEN), in_parts(&records.rows, HASH_LEN));
    for (number, (entries, rows)) in (FIRST_PART..).zip(entries.into_iter().zip(rows)) {
        table.put(space, &part(cell, number), &Records { entries, rows })?;
    }
    Ok(())
}

fn in_parts(records: &[u8], width: usize) -> Vec<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = vec![Vec::new(); usize::from(PARTS)];
    for record in records.chunks_exact(width) {
        let nibble = usize::from(record.first().copied().unwrap_or(0) >> 4);
        if let Some(part) = parts.get_mut(nibble) {
            part.extend_from_slice(record);
        }
    }
    parts
}

/// Joins two sorted sets of records whose first `key` bytes order them; `join` unites two records of one key.
/// Returns the union and the number of records of `more` whose key was already in `known`.
pub fn unite(
    known: &[u8],
    more: &[u8],
    width: usize,
    key: usize,
    mut join: impl FnMut(&[u8], &[u8], &mut Vec<u8>),
) -> (Vec<u8>, u64) {
    let (mut out, mut repeats) = (Vec::with_capacity(known.len() + more.len()), 0);
    let (mut left, mut right) = (known.chunks_exact(width).peekable(), more.chunks_exact(width).peekable());
    loop {
        match (left.peek(), right.peek()) {
            (Some(a), Some(b)) => match a.get(..key).cmp(&b.get(..key)) {
                std::cmp::Ordering::Less => out.extend_from_slice(left.next().unwrap_or_default()),
                std::cmp::Ordering::Greater => out.extend_from_slice(right.next().unwrap_or_default()),
                std::cmp::Ordering::Equal => {
                    join(a, b, &mut out);
                    repeats += 1;
                    left.next();
                    right.next();
                }
            },
            (Some(_), None) => out.extend_from_slice(left.next().unwrap_or_default()),
            (None, Some(_)) => out.extend_from_slice(right.next().unwrap_or_default()),
            (None, None) => return (out, repeats),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::{Direction, MemoryStore, Overlay, Store};

    const TABLE: PackedTable = Table::new(16);

    fn records(range: std::ops::Range<u32>) -> Vec<u8> {
        // Spread over all first bytes, as hashes are, and in order.
        let mut numbers: Vec<u32> = range.map(|n| n.wrapping_mul(2_654_435_761)).collect();
        numbers.sort_unstable();
        numbers.into_iter().flat_map(u32::to_be_bytes).collect()
    }

    fn of(rows: Vec<u8>) -> Records {
        Records { entries: Vec::new(), rows }
    }

    #[test]
    fn a_large_set_is_kept_in_parts_under_the_row_limit_whatever_the_steps() {
        let cell: CellKey = ("a".into(), 1, 2, 0);
        let all = records(0..600_000);
        let mut once = MemoryStore::default();
        let mut space = Overlay::new(&once);
        store(&TABLE, &mut space, &cell, &of(all.clone())).unwrap();
        let batch = space.into_batch();
        once.apply(batch).unwrap();

        let mut stepwise = MemoryStore::default();
        for step in [0..100_000, 50_000..600_000] {
            let known = load(&TABLE, &stepwise, &cell).unwrap();
            let (bytes, _) = unite(&known.rows, &records(step), HASH_LEN, HASH_LEN, |a, _, out| out.extend(a));
            let mut space = Overlay::new(&stepwise);
            store(&TABLE, &mut space, &cell, &of(bytes)).unwrap();
            let batch = space.into_batch();
            stepwise.apply(batch).unwrap();
        }
        let rows = |store: &MemoryStore| TABLE.scan(store, &TABLE.range(), Direction::Ascending, 99).unwrap();
        assert_eq!(rows(&once), rows(&stepwise));
        assert_eq!(rows(&once).len(), 17, "16 parts behind the row that says so");
        assert_eq!(load(&TABLE, &once, &cell).unwrap(), of(all));
    }

    #[test]
    fn union_keeps_order_and_counts_repeats() {
        let (out, repeats) = unite(&[1, 3, 5], &[2, 3, 6], 1, 1, |a, _, out| out.extend(a));
        assert_eq!((out, repeats), (vec![1, 2, 3, 5, 6], 1));
    }
}
