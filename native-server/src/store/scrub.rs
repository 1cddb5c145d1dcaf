//! Reads the whole file and compares it with its checksums, and gives checksums to a file of an earlier version that
//! has none.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heliograph_core::engine::runtime::{Damage, Scrub};
use heliograph_core::{Error, Result};
use redb::ReadableDatabase;

use super::pages::{BLOCK, Bad, Reading, Walk, WalkResult, current_roots};
use super::{Store, actor_of};
use crate::clock;
use crate::log;

/// How long the scrub holds one snapshot.
const SLICE: Duration = Duration::from_millis(100);
/// Most damaged pages that are named.
const NAMED: usize = 1_000;
/// Blocks that get checksums at a time; a commit may wait for them.
const CHUNK: u64 = 64;
/// The engine's own tables may change while they are read, because no snapshot keeps them. So a walk over them that
/// finds damage is repeated, with at most so many walks.
const TRIES: usize = 3;

/// Reads everything. `rest` gets the time that a slice took, and pauses, so that requests of clients come first.
/// Blocks.
pub fn scrub(store: &Store, rest: &dyn Fn(Duration)) -> Result<Scrub> {
    let mut all = WalkResult::default();
    let whole = Pace { slice: SLICE, rest, count: false };
    walk(store, 0, &whole, &mut all)?;
    let mut own = WalkResult::default();
    for _ in 0..TRIES {
        own = WalkResult::default();
        walk(store, 1, &whole, &mut own)?;
        if own.bad.is_empty() {
            break;
        }
    }
    all.blocks += own.blocks;
    all.rows += own.rows;
    all.bad.extend(own.bad);
    let guard = store.lock();
    let opened = guard.as_ref().ok_or_else(|| store.condition.refusal())?;
    all.bad.iter().filter_map(|bad| bad.place).for_each(|(block, count)| opened.pages.note(block, count));
    let ended = clock::now();
    opened.pages.set_scrubbed(ended.0);
    Ok(Scrub {
        pages: all.blocks,
        rows: all.rows,
        converting: opened.pages.is_converting(),
        ended_at: ended.to_string(),
        damaged: all.bad.len() as u64,
        damage: all.bad.iter().take(NAMED).map(|bad| damage(bad, |block| opened.pages.offset(block))).collect(),
    })
}

/// Bytes of the file that hold nothing, about: blocks to which no tree refers. Reads the branches of the trees, a
/// hundredth of the file. `rest` as in [`scrub`]. Blocks.
pub fn free_inside(store: &Store, slice: Duration, rest: &dyn Fn(Duration)) -> Result<u64> {
    let mut used = WalkResult::default();
    for root in [0, 1] {
        walk(store, root, &Pace { slice, rest, count: true }, &mut used)?;
    }
    let guard = store.lock();
    let opened = guard.as_ref().ok_or_else(|| store.condition.refusal())?;
    Ok(opened.pages.blocks().saturating_sub(used.blocks) * BLOCK)
}

/// How a walk goes through the file.
struct Pace<'r> {
    /// How long it holds one snapshot.
    slice: Duration,
    rest: &'r dyn Fn(Duration),
    /// As in [`Reading::count`].
    count: bool,
}

/// Goes through everything below one of the two roots, in slices.
fn walk(store: &Store, root: usize, pace: &Pace<'_>, all: &mut WalkResult) -> Result<()> {
    let mut from = None;
    loop {
        let began = Instant::now();
        let next = {
            let guard = store.lock();
            let opened = guard.as_ref().ok_or_else(|| store.condition.refusal())?;
            // Taken before the header is read: the snapshot keeps the pages below it from being overwritten.
            let _snapshot = opened.database.begin_read().map_err(|error| store.refused(error))?;
            let Some(engine) = opened.pages.durable() else { return Ok(()) };
            let Some(root_page) = current_roots(&engine).and_then(|roots| roots[root]) else { return Ok(()) };
            let until = Some(began + pace.slice);
            let reading = Reading { from: from.take(), until, count: pace.count, ..Reading::default() };
            let mut walk = Walk::new(&opened.pages, &engine, reading);
            let prefix = if root == 0 { "" } else { "system " };
            let step = walk.tables(root_page, prefix).map_err(unreadable)?;
            all.blocks += walk.found.blocks;
            all.rows += walk.found.rows;
            // The pages above the rows are read again in every slice.
            let known = |bad: &Bad, all: &WalkResult| {
                all.bad.iter().any(|other| other.place == bad.place && bad.place.is_some())
            };
            for bad in walk.found.bad {
                if !known(&bad, all) {
                    all.bad.push(bad);
                }
            }
            match step {
                ControlFlow::Continue(_) => return Ok(()),
                ControlFlow::Break(()) => walk.next,
            }
        };
        from = next;
        (pace.rest)(began.elapsed());
    }
}

/// Every page that the tables of the file use, for tests that damage them. Works only while nothing is written.
pub fn pages_in_use(store: &Store) -> Result<Vec<Damage>> {
    let guard = store.lock();
    let opened = guard.as_ref().ok_or_else(|| store.condition.refusal())?;
    let Some(engine) = opened.pages.durable() else { return Ok(Vec::new()) };
    let Some(root) = current_roots(&engine).and_then(|roots| roots[0]) else { return Ok(Vec::new()) };
    let mut walk = Walk::new(&opened.pages, &engine, Reading { list: true, ..Reading::default() });
    let _: ControlFlow<(), _> = walk.tables(root, "").map_err(unreadable)?;
    Ok(walk.found.sound.iter().map(|page| damage(page, |block| opened.pages.offset(block))).collect())
}

fn unreadable(error: io::Error) -> Error {
    Error::storage(&error.to_string())
}

fn damage(bad: &Bad, offset: impl Fn(u64) -> u64) -> Damage {
    let block = bad.place.map_or(0, |(block, _)| block);
    let keys = bad.after.iter().chain(&bad.keys).chain(&bad.up_to);
    let mut actors: Vec<String> = match bad.table == "rows" {
        true => keys.filter_map(|key| actor_of(key)).map(|actor| actor.to_string()).collect(),
        false => Vec::new(),
    };
    actors.dedup();
    let printable = |key: &Vec<u8>| key.escape_ascii().to_string();
    Damage {
        page: block,
        offset: if block == 0 { 0 } else { offset(block) },
        table: bad.table.clone(),
        kind: bad.kind.to_owned(),
        actors,
        after: bad.after.as_ref().map(printable),
        up_to: bad.up_to.as_ref().map(printable),
        keys: bad.keys.iter().map(printable).collect(),
    }
}

/// Gives checksums to the pages of an old file, except to those that a scrub found damaged. Run a scrub before it.
/// Blocks.
pub fn convert(store: &Store, rest: &dyn Fn(Duration)) -> Result<()> {
    let (mut at, mut pages) = (0, None);
    loop {
        let began = Instant::now();
        let guard = store.lock();
        let opened = guard.as_ref().ok_or_else(|| store.condition.refusal())?;
        if !opened.pages.is_converting() {
            return Ok(());
        }
        // A file that was opened again may have lost what was not synced.
        let same = pages.replace(opened.pages.clone()).is_none_or(|before| Arc::ptr_eq(&before, &opened.pages));
        at = if same { at } else { 0 };
        if at >= opened.pages.before() {
            opened.pages.end_conversion().map_err(unreadable)?;
            log::info!("every page of {} has a checksum now", store.path().display());
            return Ok(());
        }
        while at < opened.pages.before() && began.elapsed() < SLICE {
            opened.pages.convert(at, CHUNK).map_err(unreadable)?;
            at += CHUNK;
        }
        drop(guard);
        rest(began.elapsed());
    }
}
