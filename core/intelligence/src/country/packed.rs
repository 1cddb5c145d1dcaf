//! How cells are stored: sorted sets of fixed-width records, many cells to a row.
//!
//! A cell has all about one (target, day, network, source): entries of measurements and hashes of source rows. Most
//! cells hold one measurement, so a row for each would cost more than its contents. The cells of a target and source in
//! a block of [`BLOCK_DAYS`] days therefore share a row, ordered by day and network. A block over [`BLOCK_BYTES`] is
//! stored as one row per day, so that one more measurement writes little. A day over [`DAY_BYTES`] is stored as 16 rows
//! by the first four bits of each record. An empty row in the place of the whole marks such a split.
//!
//! The layout depends only on the sets, never on the order in which they came. Sets grow; when they shrink, [`shrink`]
//! restores the layout of what is left.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use engine::kv::{Direction, Range, Read, Row, StoreError, Table, Write, beginning, for_each};
use facts::measurement::ENTRY_LEN;

/// Bytes of the hash of a source row.
pub const HASH_LEN: usize = 4;

/// Days of a block, counted from the epoch.
pub const BLOCK_DAYS: u32 = 32;
/// Size of a block, in bytes, over which it is stored in days.
pub const BLOCK_BYTES: usize = 64_000;
/// Size of a day, in bytes, over which it is stored in 16 parts. It is far under the row limit of 1.9 MB, so that one
/// part may still grow.
pub const DAY_BYTES: usize = 960_000;

/// In a key, stands for all days of the block or for the whole day.
const WHOLE: u8 = 0;
/// First day of a block, and first part of a day.
const FIRST: u8 = 1;
const PARTS: u8 = 16;

/// Key of a cell: target, day since the epoch, network (0 = withheld), source.
pub type CellKey = (String, u32, u32, u8);
/// Key of a row of cells: target, block, source, day of the block from 1 on, part of the day from 1 on.
pub type PartKey = (String, u32, u8, u8, u8);

/// Bytes of a [`PartKey`] after its target.
const KEY_TAIL: usize = 7;

/// Cells of one row, one after the other, ordered by day and network. Each is: a byte with the day of the block and
/// [`SINGLE`]; the network, the number of entries and the number of hashes, as varints (a cell with one of each leaves
/// both numbers out); the entries sorted by identity; the hashes sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cells(#[serde(with = "engine::kv::bytes")] Vec<u8>);

impl Row for Cells {
    const VERSION: u8 = 2;
}

/// In the byte with the day of the block: one entry and one hash follow.
const SINGLE: u8 = 0x20;

impl Cells {
    /// Whether the row only marks that the cells are stored in smaller rows.
    pub fn is_mark(&self) -> bool {
        self.0.is_empty()
    }

    /// The cells of this row, which is of this block.
    pub fn walk(&self, block: u32) -> Walk<'_> {
        Walk { block, rest: &self.0 }
    }
}

/// A cell in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredCell<'a> {
    pub day: u32,
    pub asn: u32,
    pub entries: &'a [u8],
    pub rows: &'a [u8],
}

impl StoredCell<'_> {
    pub fn place(&self) -> (u32, u32) {
        (self.day, self.asn)
    }

    /// Appends the cell to the others of its block. An empty cell is not written.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (entries, rows) = (self.entries.len() / ENTRY_LEN, self.rows.len() / HASH_LEN);
        let day = (self.day % BLOCK_DAYS) as u8;
        match (entries, rows) {
            (0, 0) => return,
            (1, 1) => {
                out.push(day | SINGLE);
                write_number(out, self.asn as usize);
            }
            _ => {
                out.push(day);
                write_number(out, self.asn as usize);
                write_number(out, entries);
                write_number(out, rows);
            }
        }
        out.extend_from_slice(self.entries);
        out.extend_from_slice(self.rows);
    }

    fn read<'a>(bytes: &mut &'a [u8], block: u32) -> Option<StoredCell<'a>> {
        let (head, rest) = bytes.split_first()?;
        *bytes = rest;
        let asn = u32::try_from(read_number(bytes)?).ok()?;
        let (entries, rows) = match head & SINGLE {
            0 => (read_number(bytes)?, read_number(bytes)?),
            _ => (1, 1),
        };
        let (entries, rest) = bytes.split_at_checked(entries.checked_mul(ENTRY_LEN)?)?;
        let (rows, rest) = rest.split_at_checked(rows.checked_mul(HASH_LEN)?)?;
        *bytes = rest;
        let day = block.checked_mul(BLOCK_DAYS)?.checked_add(u32::from(head & (SINGLE - 1)))?;
        Some(StoredCell { day, asn, entries, rows })
    }
}

/// Writes a varint: seven bits to a byte, the low ones first.
pub(super) fn write_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a varint of at most 35 bits.
pub(super) fn read_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0u64;
    for shift in [0, 7, 14, 21, 28] {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if *byte < 0x80 {
            return usize::try_from(number).ok();
        }
    }
    None
}

/// The cells of a row in order. Ends after the first unreadable cell.
#[derive(Default)]
pub struct Walk<'a> {
    block: u32,
    rest: &'a [u8],
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<StoredCell<'a>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let read = StoredCell::read(&mut self.rest, self.block);
        if read.is_none() {
            self.rest = &[];
        }
        Some(read.ok_or_else(corrupt))
    }
}

#[cold]
fn corrupt() -> StoreError {
    StoreError::Corrupt("a row of packed cells is unreadable".into())
}

/// Table of packed rows.
pub type PackedTable = Table<PartKey, Cells>;

/// The cells of a target and source that are stored together: those of a day or of a block.
pub struct Loaded {
    block: u32,
    /// `None` for the whole block.
    day: Option<u32>,
    cells: Cells,
}

impl Loaded {
    /// Whether the cells of this day are among the loaded ones.
    pub fn speaks_of(&self, day: u32) -> bool {
        day / BLOCK_DAYS == self.block && self.day.is_none_or(|only| only == day)
    }

    pub fn walk(&self) -> Walk<'_> {
        self.cells.walk(self.block)
    }

    /// Size of all cells, in bytes.
    pub fn bytes(&self) -> usize {
        self.cells.0.len()
    }

    /// The rows to store if these cells replace the loaded ones.
    pub fn rows(&self, target: &str, source: u8, cells: Vec<u8>) -> Result<Vec<(PartKey, Cells)>, StoreError> {
        let key = |day, part| (target.to_owned(), self.block, source, day, part);
        let mut rows = Vec::new();
        let days = match self.day {
            Some(day) => vec![(number_of(day), cells)],
            None if cells.len() <= BLOCK_BYTES => return Ok(vec![(key(WHOLE, WHOLE), Cells(cells))]),
            None => {
                rows.push((key(WHOLE, WHOLE), Cells::default()));
                in_days(self.block, &Cells(cells))?
            }
        };
        for (day, cells) in days {
            if cells.len() <= DAY_BYTES {
                rows.push((key(day, WHOLE), Cells(cells)));
                continue;
            }
            rows.push((key(day, WHOLE), Cells::default()));
            for (part, cells) in (FIRST..).zip(in_parts(self.block, &Cells(cells))?) {
                if !cells.is_empty() {
                    rows.push((key(day, part), Cells(cells)));
                }
            }
        }
        Ok(rows)
    }
}

/// The number that stands for a day of a block in a key.
fn number_of(day: u32) -> u8 {
    FIRST + (day % BLOCK_DAYS) as u8
}

/// Loads the cells of a day of a target and source, and those of other days in the same row.
pub fn load(
    table: &PackedTable,
    view: &(impl Read + ?Sized),
    (target, source): (&str, u8),
    day: u32,
) -> Result<Loaded, StoreError> {
    let block = day / BLOCK_DAYS;
    let key = |day, part| (target.to_owned(), block, source, day, part);
    let loaded = |day: Option<u32>, cells: Option<Cells>| Loaded { block, day, cells: cells.unwrap_or_default() };
    match table.get(view, &key(WHOLE, WHOLE))? {
        Some(mark) if mark.is_mark() => {}
        cells => return Ok(loaded(None, cells)),
    }
    let number = number_of(day);
    match table.get(view, &key(number, WHOLE))? {
        Some(mark) if mark.is_mark() => {}
        cells => return Ok(loaded(Some(day), cells)),
    }
    let parts = table.prefix(&(target.to_owned(), block, source, number));
    let parts = table.scan(view, &parts, Direction::Ascending, usize::from(PARTS) + 1)?;
    Ok(loaded(Some(day), Some(joined(block, parts.iter().map(|(_, cells)| cells))?)))
}

fn in_days(block: u32, cells: &Cells) -> Result<Vec<(u8, Vec<u8>)>, StoreError> {
    let mut days: Vec<(u8, Vec<u8>)> = Vec::new();
    for kept in cells.walk(block) {
        let kept = kept?;
        let number = number_of(kept.day);
        match days.last_mut() {
            Some((day, out)) if *day == number => kept.write(out),
            _ => {
                let mut out = Vec::new();
                kept.write(&mut out);
                days.push((number, out));
            }
        }
    }
    Ok(days)
}

fn in_parts(block: u32, cells: &Cells) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut parts: Vec<Vec<u8>> = vec![Vec::new(); usize::from(PARTS)];
    for kept in cells.walk(block) {
        let kept = kept?;
        // Entries and hashes are sorted, so the records of a part stand together.
        let (mut entries, mut rows) = (kept.entries, kept.rows);
        for (nibble, out) in (0..).zip(&mut parts) {
            let entries = take_nibble(&mut entries, ENTRY_LEN, nibble);
            let rows = take_nibble(&mut rows, HASH_LEN, nibble);
            StoredCell { entries, rows, ..kept }.write(out);
        }
    }
    Ok(parts)
}

/// Takes the records whose first four bits are these off the front.
fn take_nibble<'a>(records: &mut &'a [u8], width: usize, nibble: u8) -> &'a [u8] {
    let of_nibble = |record: &&[u8]| record.first().is_some_and(|byte| byte >> 4 == nibble);
    let count = records.chunks_exact(width).take_while(of_nibble).count();
    let (taken, rest) = records.split_at_checked(count * width).unwrap_or((records, &[]));
    *records = rest;
    taken
}

/// Joins the cells of rows, which come in the order of their keys, so that each cell occurs once.
fn joined<'a>(block: u32, rows: impl Iterator<Item = &'a Cells>) -> Result<Cells, StoreError> {
    let mut cells: BTreeMap<(u32, u32), (Vec<u8>, Vec<u8>)> = BTreeMap::new();
    for row in rows {
        for kept in row.walk(block) {
            let kept = kept?;
            let (entries, rows) = cells.entry(kept.place()).or_default();
            entries.extend_from_slice(kept.entries);
            rows.extend_from_slice(kept.rows);
        }
    }
    let mut out = Vec::new();
    for ((day, asn), (entries, rows)) in &cells {
        StoredCell { day: *day, asn: *asn, entries, rows }.write(&mut out);
    }
    Ok(Cells(out))
}

/// Block, source, day and part of a key.
fn tail(key: &[u8]) -> Result<(u32, u8, u8, u8), StoreError> {
    let [b0, b1, b2, b3, source, day, part] = *key.last_chunk::<KEY_TAIL>().ok_or_else(corrupt)?;
    Ok((u32::from_be_bytes([b0, b1, b2, b3]), source, day, part))
}

/// The cells in a stored value, without a copy.
fn stored(value: &[u8], block: u32) -> Result<Walk<'_>, StoreError> {
    let rest = beginning::<Cells, &[u8]>(value).ok_or_else(corrupt)?;
    Ok(Walk { block, rest })
}

/// Rows read at a time. A verdict needs two blocks of one source at most.
const PAGE: usize = 3;

/// Visits the cells of a target of the days `first` to `last` (both included): day, network, source, entries. They are
/// ordered by day within a source; a cell may come in several pieces. Nothing is copied.
pub fn visit_days(
    table: &PackedTable,
    view: &(impl Read + ?Sized),
    target: &str,
    (first, last): (u32, u32),
    mut visit: impl FnMut(u32, u32, u8, &[u8]),
) -> Result<(), StoreError> {
    let mut each = |value: &[u8], (block, source): (u32, u8)| {
        for kept in stored(value, block)? {
            let kept = kept?;
            if (first..=last).contains(&kept.day) {
                visit(kept.day, kept.asn, source, kept.entries);
            }
        }
        Ok(())
    };
    let name = || target.to_owned();
    let mut rest = table.between(&(name(), first / BLOCK_DAYS), &(name(), last / BLOCK_DAYS + 1));
    loop {
        let mut in_days = None;
        view.visit(&rest, Direction::Ascending, PAGE, &mut |key, value| {
            let (block, source, ..) = tail(key)?;
            if stored(value, block)?.rest.is_empty() {
                in_days = Some((block, source));
                return Ok(false);
            }
            each(value, (block, source)).map(|()| true)
        })?;
        let Some((block, source)) = in_days else { return Ok(()) };
        // The block is stored in days, so read only the days that are asked for.
        let start = block.saturating_mul(BLOCK_DAYS);
        let number = |day: u32| FIRST + day.saturating_sub(start).min(BLOCK_DAYS) as u8;
        let (from, end) = (number(first), number(last.saturating_add(1)));
        let days = table.between(&(name(), block, source, from), &(name(), block, source, end));
        for_each(view, days, Direction::Ascending, |_, value| each(value, (block, source)).map(|()| true))?;
        rest.start = table.prefix(&(name(), block, source)).end.unwrap_or_default();
    }
}

/// The days of a block on which a target was measured, one bit each.
fn days_of(table: &PackedTable, view: &(impl Read + ?Sized), target: &str, block: u32) -> Result<u32, StoreError> {
    let mut days = 0;
    for_each(view, table.prefix(&(target.to_owned(), block)), Direction::Ascending, |key, value| {
        match tail(key)?.2.checked_sub(FIRST) {
            Some(day) => days |= 1_u32.checked_shl(day.into()).unwrap_or(0),
            None => {
                for kept in stored(value, block)? {
                    days |= 1 << (kept?.day % BLOCK_DAYS);
                }
            }
        }
        Ok(true)
    })?;
    Ok(days)
}

/// The first day, from `from` on, on which a target was measured.
pub fn first_day(
    table: &PackedTable,
    view: &(impl Read + ?Sized),
    target: &str,
    from: u32,
) -> Result<Option<u32>, StoreError> {
    let mut block = from / BLOCK_DAYS;
    loop {
        let range = table.between(&(target.to_owned(), block), &(target.to_owned(), u32::MAX));
        let Some(((_, found, ..), _)) = table.first(view, &range)? else { return Ok(None) };
        let mut days = days_of(table, view, target, found)?;
        if found == from / BLOCK_DAYS {
            days &= u32::MAX << (from % BLOCK_DAYS);
        }
        if days != 0 {
            return Ok(Some(found.saturating_mul(BLOCK_DAYS).saturating_add(days.trailing_zeros())));
        }
        block = found + 1;
    }
}

/// The last day before `end` on which a target was measured.
pub fn last_day(
    table: &PackedTable,
    view: &(impl Read + ?Sized),
    target: &str,
    end: u32,
) -> Result<Option<u32>, StoreError> {
    let mut blocks = end.div_ceil(BLOCK_DAYS);
    loop {
        let range = table.between(&(target.to_owned(), 0_u32), &(target.to_owned(), blocks));
        let Some(((_, found, ..), _)) = table.last(view, &range)? else { return Ok(None) };
        let mut days = days_of(table, view, target, found)?;
        if found == end / BLOCK_DAYS {
            days &= !(u32::MAX << (end % BLOCK_DAYS));
        }
        if let Some(day) = days.checked_ilog2() {
            return Ok(Some(found.saturating_mul(BLOCK_DAYS).saturating_add(day)));
        }
        blocks = found;
    }
}

/// Stores what is left of a row after cells were removed, in the layout that fits what is left of its block.
pub fn shrink(
    table: &PackedTable,
    space: &mut (impl Write + ?Sized),
    key: &PartKey,
    left: Vec<u8>,
) -> Result<(), StoreError> {
    match left.is_empty() {
        true => table.delete(space, key),
        false => table.put(space, key, &Cells(left))?,
    }
    let (target, block, source, day, part) = key.clone();
    if part != WHOLE {
        let parts = table.prefix(&(target.clone(), block, source, day));
        gather(table, space, parts, DAY_BYTES, &(target.clone(), block, source, day, WHOLE))?;
    }
    if day != WHOLE {
        let days = table.prefix(&(target.clone(), block, source));
        gather(table, space, days, BLOCK_BYTES, &(target, block, source, WHOLE, WHOLE))?;
    }
    Ok(())
}

/// Puts the cells of some rows into one row if they fit.
fn gather(
    table: &PackedTable,
    space: &mut (impl Write + ?Sized),
    range: Range,
    most: usize,
    into: &PartKey,
) -> Result<(), StoreError> {
    let (mut rest, mut rows, mut bytes) = (range, Vec::new(), 0);
    while let Some((key, cells)) = table.first(space, &rest)? {
        bytes += cells.0.len();
        // A cell in parts takes more bytes than in one piece, but never four times as many.
        if bytes > 4 * most {
            return Ok(());
        }
        rest = table.after(rest, &key);
        rows.push((key, cells));
    }
    let all = joined(into.1, rows.iter().map(|(_, cells)| cells))?;
    if all.0.len() > most {
        return Ok(());
    }
    rows.iter().for_each(|(key, _)| table.delete(space, key));
    if all.is_mark() { Ok(()) } else { table.put(space, into, &all) }
}

/// Joins two sorted sets of records, which are ordered by their first `key` bytes. `join` unites two records with the
/// same key. Returns the union and the number of records of `more` whose key was already in `known`.
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
mod tests;
