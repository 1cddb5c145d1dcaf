//! Reads the engine's trees directly from the file, without the engine and its page cache.
//!
//! This is needed to compare everything with its checksums, to name the rows that a damaged page held, and to change
//! the pages above a damaged one. The format is redb's file format 3 (its own design page). The version of the crate is
//! pinned, and the tests of `scrub` read what it writes.

use std::io;
use std::ops::{ControlFlow, Range};
use std::time::Instant;

use xxhash_rust::xxh3::xxh3_128;

use super::layout::{BLOCK, ENGINE};
use super::{Pages, Verdict};

pub const LEAF: u8 = 1;
pub const BRANCH: u8 = 2;
/// Most levels from a root to a leaf, as in the engine.
const DEPTH: usize = 128;
/// Most keys of a page that are named.
const KEYS: usize = 100;
/// Largest order of a page: 2^20 blocks.
const ORDERS: u32 = 20;

const GOD_BYTE: usize = 9;
const PRIMARY: u8 = 1;
const RECOVERY: u8 = 2;
const TWO_PHASE: u8 = 4;
const SLOT: Range<usize> = 64..192;
const SLOT_BYTES: usize = 128;
const SLOT_CHECK: usize = 112;
/// Positions in a slot: whether there is a root, and the root.
const ROOTS: [(usize, usize); 2] = [(1, 8), (2, 40)];
const SLOT_ID: usize = 104;
/// Position of the root in the definition of a table, after its type, its length and the mark that there is a root.
const TABLE_ROOT: usize = 10;

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn u128_at(bytes: &[u8], at: usize) -> Option<u128> {
    Some(u128::from_le_bytes(bytes.get(at..at.checked_add(16)?)?.try_into().ok()?))
}

fn put_sum(bytes: &mut [u8], at: usize, sum: u128) {
    if let Some(place) = bytes.get_mut(at..at + 16) {
        place.copy_from_slice(&sum.to_le_bytes());
    }
}

/// A page as another page refers to it: its number and its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    pub number: u64,
    pub sum: u128,
}

fn reference(bytes: &[u8], at: usize) -> Option<Reference> {
    Some(Reference { number: u64_at(bytes, at)?, sum: u128_at(bytes, at + 8)? })
}

/// The number of blocks that the header states: from the whole regions, the pages of the last region and the pages of a
/// region's own data.
pub fn blocks_stated(engine: &[u8; ENGINE]) -> Option<u64> {
    let word = |at| u32_at(engine, at).map(u64::from);
    let (own, most, full, last) = (word(16)?, word(20)?, word(24)?, word(28)?);
    Some(1 + full * (own + most) + if last > 0 { own + last } else { 0 })
}

/// First block and number of blocks of a page.
fn place(engine: &[u8; ENGINE], number: u64) -> Option<(u64, u64)> {
    let order = u32::try_from(number >> 59).ok().filter(|order| *order <= ORDERS)?;
    let index = number & (0xf_ffff >> order);
    let region = (number >> 20) & 0xf_ffff;
    let (own, most) = (u64::from(u32_at(engine, 16)?), u64::from(u32_at(engine, 20)?));
    Some((1 + region * (own + most) + own + (index << order), 1 << order))
}

/// One of the two states in the header.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    pub number: usize,
    pub id: u64,
    /// The root of the tables, and of the engine's own tables.
    pub roots: [Option<Reference>; 2],
}

impl Slot {
    /// `None` when its checksum is wrong.
    fn read(engine: &[u8; ENGINE], number: usize) -> Option<Slot> {
        let start = SLOT.start + number * SLOT_BYTES;
        let slot = engine.get(start..start + SLOT_BYTES)?;
        if u128_at(slot, SLOT_CHECK)? != xxh3_128(slot.get(..SLOT_CHECK)?) {
            return None;
        }
        let root = |(there, at): (usize, usize)| match slot.get(there) {
            Some(0) | None => None,
            Some(_) => reference(slot, at),
        };
        Some(Slot { number, id: u64_at(slot, SLOT_ID)?, roots: ROOTS.map(root) })
    }

    /// Both states, the newer one first.
    pub fn all(engine: &[u8; ENGINE]) -> Vec<Slot> {
        let mut slots: Vec<Slot> = (0..2).filter_map(|number| Slot::read(engine, number)).collect();
        slots.sort_by_key(|slot| std::cmp::Reverse(slot.id));
        slots
    }

    /// Makes this slot the present state, with these checksums of its roots, of a file that was not closed cleanly.
    pub fn take(&self, engine: &mut [u8; ENGINE], sums: [u128; 2]) {
        let start = SLOT.start + self.number * SLOT_BYTES;
        for ((_, at), (root, sum)) in ROOTS.into_iter().zip(self.roots.iter().zip(sums)) {
            if root.is_some() {
                put_sum(engine, start + at + 8, sum);
            }
        }
        let check = xxh3_128(&engine[start..start + SLOT_CHECK]);
        put_sum(engine, start + SLOT_CHECK, check);
        engine[GOD_BYTE] = (engine[GOD_BYTE] & !(PRIMARY | TWO_PHASE)) | RECOVERY | self.number as u8;
    }
}

/// The number of the present commit.
pub fn current_id(engine: &[u8; ENGINE]) -> Option<u64> {
    Slot::read(engine, usize::from(engine[GOD_BYTE] & PRIMARY)).map(|slot| slot.id)
}

/// Of a file that was not closed cleanly: if the sync of the present commit is known to have succeeded, the engine must
/// not go back to the commit before, even if it finds an error in it. This flag tells it so.
pub fn trust_synced(engine: &mut [u8; ENGINE], synced: u64) {
    if engine[GOD_BYTE] & RECOVERY != 0 && current_id(engine) == Some(synced) {
        engine[GOD_BYTE] |= TWO_PHASE;
    }
}

/// Whether whoever wrote to the file ended without closing it.
pub fn was_open(engine: &[u8; ENGINE]) -> bool {
    engine[GOD_BYTE] & RECOVERY != 0
}

/// The roots of the present state: of the tables, and of the engine's own tables.
pub fn current_roots(engine: &[u8; ENGINE]) -> Option<[Option<Reference>; 2]> {
    Slot::read(engine, usize::from(engine[GOD_BYTE] & PRIMARY)).map(|slot| slot.roots)
}

/// Widths of the keys and of the values of a table, where all have the same width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Widths {
    pub key: Option<usize>,
    pub value: Option<usize>,
}

const TABLES: Widths = Widths { key: None, value: None };

fn leaf_rows(page: &[u8], widths: Widths) -> Option<Vec<(Range<usize>, Range<usize>)>> {
    let count = usize::from(u16::from_le_bytes(page.get(2..4)?.try_into().ok()?));
    let keys_at = 4 + if widths.key.is_none() { 4 * count } else { 0 };
    let start = keys_at + if widths.value.is_none() { 4 * count } else { 0 };
    let end = |width: Option<usize>, table: usize, from: usize, n: usize| match width {
        Some(width) => Some(from + width * (n + 1)),
        None => u32_at(page, table + 4 * n).map(|end| end as usize),
    };
    let values = end(widths.key, 4, start, count.checked_sub(1)?)?;
    let (mut rows, mut key, mut value) = (Vec::with_capacity(count), start, values);
    for n in 0..count {
        let (key_end, value_end) = (end(widths.key, 4, start, n)?, end(widths.value, keys_at, values, n)?);
        if key_end < key || value_end < value || key_end > page.len() || value_end > page.len() {
            return None;
        }
        rows.push((key..key_end, value..value_end));
        (key, value) = (key_end, value_end);
    }
    Some(rows)
}

struct Branch {
    children: Vec<Reference>,
    keys: Vec<Range<usize>>,
}

/// Position of the checksum of a child on a branch.
fn child_sum(child: usize) -> usize {
    8 + 16 * child
}

fn branch(page: &[u8], width: Option<usize>) -> Option<Branch> {
    let count = usize::from(u16::from_le_bytes(page.get(2..4)?.try_into().ok()?));
    let numbers = child_sum(count + 1);
    let ends = numbers + 8 * (count + 1);
    let start = ends + if width.is_none() { 4 * count } else { 0 };
    let child = |n| Some(Reference { number: u64_at(page, numbers + 8 * n)?, sum: u128_at(page, child_sum(n))? });
    let children = (0..=count).map(child).collect::<Option<Vec<_>>>()?;
    let (mut keys, mut from) = (Vec::with_capacity(count), start);
    for n in 0..count {
        let end = match width {
            Some(width) => start + width * (n + 1),
            None => u32_at(page, ends + 4 * n)? as usize,
        };
        if end < from || end > page.len() {
            return None;
        }
        keys.push(from..end);
        from = end;
    }
    (count > 0).then_some(Branch { children, keys })
}

/// The checksum that a reference to this page must state. It covers the part of the page that is in use.
fn page_sum(page: &[u8], widths: Widths) -> Option<u128> {
    let end = match *page.first()? {
        LEAF => leaf_rows(page, widths)?.last()?.1.end,
        BRANCH => branch(page, widths.key)?.keys.last()?.end,
        _ => return None,
    };
    Some(xxh3_128(page.get(..end)?))
}

/// A damaged page and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bad {
    /// First block and number of blocks; `None` when the reference is invalid.
    pub place: Option<(u64, u64)>,
    pub table: String,
    pub kind: &'static str,
    /// The keys of the page are above `after` and not above `up_to`.
    pub after: Option<Vec<u8>>,
    pub up_to: Option<Vec<u8>>,
    /// The keys that can still be read.
    pub keys: Vec<Vec<u8>>,
}

/// The results of a walk.
#[derive(Debug, Default)]
pub struct WalkResult {
    pub blocks: u64,
    pub rows: u64,
    pub bad: Vec<Bad>,
    /// Pages that are what was last written there, but not what the reference expects: the trace of an interrupted
    /// commit.
    pub torn: u64,
    /// Every sound page, if the walk lists them.
    pub sound: Vec<Bad>,
    /// Changed pages by their first block, if the walk mends.
    pub mended: Vec<(u64, Vec<u8>)>,
}

/// The extent of a walk.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Begin after this table and key.
    pub from: Option<(String, Vec<u8>)>,
    /// Stop at this time, after at least one page of rows.
    pub until: Option<Instant>,
    /// Change the pages above damaged ones to match them.
    pub mend: bool,
    /// List sound pages too.
    pub list: bool,
    /// Only count blocks: of the leaves below one branch a single one is read.
    pub count: bool,
}

/// A walk over everything that a state of the file refers to.
pub struct Walk<'a> {
    pages: &'a Pages,
    engine: &'a [u8; ENGINE],
    reading: Reading,
    pub found: WalkResult,
    /// Where to continue, if the walk stopped at its time.
    pub next: Option<(String, Vec<u8>)>,
    /// Whether the page that was visited last is a leaf. All leaves of a tree have the same depth.
    leaf: bool,
}

struct Table<'a> {
    name: &'a str,
    widths: Widths,
}

/// The keys between which a page is.
#[derive(Clone, Copy)]
struct Span<'k> {
    after: Option<&'k [u8]>,
    up_to: Option<&'k [u8]>,
}

type Step = io::Result<ControlFlow<(), u128>>;

impl<'a> Walk<'a> {
    pub fn new(pages: &'a Pages, engine: &'a [u8; ENGINE], reading: Reading) -> Walk<'a> {
        Walk { pages, engine, reading, found: WalkResult::default(), next: None, leaf: false }
    }

    /// Walks over all tables below this root; names of the engine's own tables get the prefix `system `. Returns the
    /// checksum that a reference to the root must state.
    pub fn tables(&mut self, root: Reference, prefix: &str) -> Step {
        let name = format!("{prefix}tables");
        self.visit(root, &Table { name: &name, widths: TABLES }, Span::ALL, 0, Some(prefix))
    }

    /// Walks over the tables that a leaf defines; the result says whether the checksum of one of their roots changed.
    fn definitions(&mut self, page: &mut [u8], prefix: &str) -> io::Result<ControlFlow<(), bool>> {
        let mut changed = false;
        for (key, value) in leaf_rows(page, TABLES).unwrap_or_default() {
            let name = format!("{prefix}{}", String::from_utf8_lossy(&page[key]));
            let definition = &page[value.clone()];
            let Some(root) = root_of_table(definition) else { continue };
            let Some(widths) = widths_of_table(definition) else { continue };
            if self.reading.from.as_ref().is_some_and(|(table, _)| name < *table) {
                continue;
            }
            let sum = match self.visit(root, &Table { name: &name, widths }, Span::ALL, 0, None)? {
                ControlFlow::Continue(sum) => sum,
                ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
            };
            // The starting key belongs to this table, not to the next one.
            if self.reading.from.as_ref().is_some_and(|(table, _)| name == *table) {
                self.reading.from = None;
            }
            if sum != root.sum {
                put_sum(&mut page[value], TABLE_ROOT + 8, sum);
                changed = true;
            }
        }
        Ok(ControlFlow::Continue(changed))
    }

    /// The page of a reference; `None` when it is damaged, which is noted.
    fn sound(&mut self, at: Reference, table: &Table<'_>, span: Span<'_>) -> io::Result<Option<(u64, Vec<u8>)>> {
        let place = place(self.engine, at.number).filter(|(block, count)| block + count <= self.pages.blocks());
        let Some((block, count)) = place else {
            self.found.bad.push(span.bad(None, table, "unknown", Vec::new()));
            return Ok(None);
        };
        let mut page = vec![0; (count * BLOCK) as usize];
        let verdict = self.pages.read_page_beside_writer(block, &mut page)?;
        self.found.blocks += count;
        let stated = page_sum(&page, table.widths) == Some(at.sum);
        let sound = match verdict {
            Verdict::Damaged => false,
            Verdict::Mended => true,
            Verdict::Unknown => stated,
            Verdict::Sound => {
                self.found.torn += u64::from(!stated);
                stated
            }
        };
        if sound && !self.reading.list {
            return Ok(Some((block, page)));
        }
        let (kind, keys) = match page[0] {
            LEAF => ("leaf", leaf_rows(&page, table.widths).unwrap_or_default()),
            BRANCH => ("branch", Vec::new()),
            _ => ("unknown", Vec::new()),
        };
        let keys = keys.into_iter().take(KEYS).map(|(key, _)| page[key].to_vec()).collect();
        let described = span.bad(Some((block, count)), table, kind, keys);
        if sound {
            self.found.sound.push(described);
            return Ok(Some((block, page)));
        }
        self.found.bad.push(described);
        Ok(None)
    }

    fn visit(&mut self, at: Reference, table: &Table<'_>, span: Span<'_>, depth: usize, defines: Option<&str>) -> Step {
        if depth > DEPTH {
            self.found.bad.push(span.bad(place(self.engine, at.number), table, "branch", Vec::new()));
            return Ok(ControlFlow::Continue(at.sum));
        }
        let Some((block, mut page)) = self.sound(at, table, span)? else {
            return Ok(ControlFlow::Continue(marker_sum(table.widths)));
        };
        self.leaf = page[0] != BRANCH;
        if !self.leaf {
            return self.children(block, page, table, span, depth, defines);
        }
        if let Some(prefix) = defines {
            let ControlFlow::Continue(changed) = self.definitions(&mut page, prefix)? else {
                return Ok(ControlFlow::Break(()));
            };
            return Ok(ControlFlow::Continue(self.presented(block, page, table.widths, changed, at.sum)));
        }
        self.found.rows += leaf_rows(&page, table.widths).map_or(0, |rows| rows.len() as u64);
        let up = self.reading.until.is_some_and(|until| Instant::now() >= until);
        if let Some(last) = span.up_to.filter(|_| up) {
            self.next = Some((table.name.to_owned(), last.to_vec()));
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(at.sum))
    }

    fn children(
        &mut self,
        block: u64,
        mut page: Vec<u8>,
        table: &Table<'_>,
        span: Span<'_>,
        depth: usize,
        defines: Option<&str>,
    ) -> Step {
        let Some(Branch { children, keys }) = branch(&page, table.widths.key) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a branch of another format"));
        };
        let before = xxh3_128(&page[..keys.last().map_or(0, |key| key.end)]);
        let keys: Vec<Vec<u8>> = keys.into_iter().map(|key| page[key].to_vec()).collect();
        let (mut changed, mut above_leaves) = (false, false);
        for (number, child) in children.into_iter().enumerate() {
            if above_leaves {
                self.found.blocks += place(self.engine, child.number).map_or(0, |(_, blocks)| blocks);
                continue;
            }
            let after = number.checked_sub(1).and_then(|n| keys.get(n)).map(Vec::as_slice).or(span.after);
            let up_to = keys.get(number).map(Vec::as_slice).or(span.up_to);
            let walked = match (&self.reading.from, up_to) {
                (Some((name, from)), Some(up_to)) if name == table.name => up_to <= from.as_slice(),
                _ => false,
            };
            if walked {
                continue;
            }
            match self.visit(child, table, Span { after, up_to }, depth + 1, defines)? {
                ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
                ControlFlow::Continue(sum) if sum != child.sum => {
                    put_sum(&mut page, child_sum(number), sum);
                    changed = true;
                }
                ControlFlow::Continue(_) => {}
            }
            above_leaves = self.reading.count && self.leaf && defines.is_none();
        }
        self.leaf = false;
        Ok(ControlFlow::Continue(self.presented(block, page, table.widths, changed, before)))
    }

    /// The checksum of a page; notes the page when it is mended.
    fn presented(&mut self, block: u64, page: Vec<u8>, widths: Widths, changed: bool, before: u128) -> u128 {
        if !changed || !self.reading.mend {
            return before;
        }
        let sum = page_sum(&page, widths).unwrap_or(before);
        self.found.mended.push((block, page));
        sum
    }
}

impl Span<'_> {
    const ALL: Span<'static> = Span { after: None, up_to: None };

    fn bad(self, place: Option<(u64, u64)>, table: &Table<'_>, kind: &'static str, keys: Vec<Vec<u8>>) -> Bad {
        let own = |key: Option<&[u8]>| key.map(<[u8]>::to_vec);
        Bad { place, table: table.name.to_owned(), kind, after: own(self.after), up_to: own(self.up_to), keys }
    }
}

/// The checksum of the page that stands for a damaged one while the engine repairs the file.
fn marker_sum(widths: Widths) -> u128 {
    let mut page = vec![0; BLOCK as usize];
    super::marker(&mut page);
    page_sum(&page, widths).unwrap_or_default()
}

fn root_of_table(definition: &[u8]) -> Option<Reference> {
    match definition.get(TABLE_ROOT - 1)? {
        0 => None,
        _ => reference(definition, TABLE_ROOT),
    }
}

fn widths_of_table(definition: &[u8]) -> Option<Widths> {
    let width = |at: usize| match definition.get(at)? {
        0 => Some(None),
        _ => Some(Some(u32_at(definition, at + 1)? as usize)),
    };
    let at = TABLE_ROOT + 32;
    Some(Widths { key: width(at)?, value: width(at + 5)? })
}
