//! The series of a target, block by block.

use std::collections::{BTreeMap, BTreeSet};

use super::super::evidence::{self, Seen, Surroundings};
use super::super::fold::needs_peers;
use super::super::tables::{ENTRIES, ROLLED};
use super::super::{instrument, packed};
use super::compared::{self, Asks, News};
use super::tables::{BLOCKS, Broken, COMPARED, CONTROL, DIRTY, Days, ELSEWHERE, SpansElsewhere};
use super::{Spread, outages, spread_timer};
use crate::Result;
use crate::actor::{Turn, View};
use crate::anomaly::{self, Tally};
use crate::change::constants::BLOCK_DAYS;
use crate::change::series::{Block, Heard, advance, block_of, bounds, open};
use crate::kv::Direction;
use crate::time::DAY;
use crate::verdict::Vote;
use crate::verdict::window::{self, Peers, Session};

/// A block with more measurements takes the room of several.
const MEASUREMENTS_OF_A_BLOCK: usize = 2_000;

/// The blocks of a target, oldest first.
pub fn load(turn: &Turn<'_>, target: &str) -> Result<Vec<Block>> {
    let rows = BLOCKS.scan(turn, &BLOCKS.prefix(&(target.to_owned(),)), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|(_, block)| block).collect())
}

/// Computes the blocks from the first changed day on, as far as they change; what is left when there is no room for more.
/// A day earlier and later belong to it: a success is a control for failures within 24 h (ruling intelligence 4).
/// What the world should know is added to `news`.
pub fn recompute(
    turn: &mut Turn<'_>,
    target: &str,
    days: Days,
    room: &mut usize,
    news: &mut News,
) -> Result<Option<Days>> {
    let last = block_of(days.last.saturating_add(1));
    let mut block = block_of(days.first.saturating_sub(1));
    let mut differs = false;
    loop {
        if *room == 0 {
            let first = block.saturating_mul(BLOCK_DAYS).saturating_add(1);
            // A block that must only be looked at because the one before it differs is looked at in full.
            return Ok(Some(Days { first, last: days.last.max(first) }));
        }
        let key = (target.to_owned(), block);
        let known = BLOCKS.get(turn, &key)?;
        let before = BLOCKS.last(turn, &BLOCKS.between(&(target.to_owned(), 0_u32), &key))?;
        let compared = compared::row(turn, &key)?;
        let given = Given {
            before: before.map(|(_, row)| row).unwrap_or_default(),
            elsewhere: known.as_ref().map_or(0, |known| known.elsewhere),
        };
        let mut tally = Tally::default();
        let (now, asks) = match compute(turn, target, block, &given, (room, &mut tally))? {
            Some((now, asks)) => (Some(now), asks),
            None => (None, Asks::default()),
        };
        anomaly::counted(turn, target, block, tally)?;
        match &now {
            Some(now) if known.as_ref() != Some(now) => BLOCKS.put(turn, &key, now)?,
            None if known.is_some() => {
                BLOCKS.delete(turn, &key);
                // The world tells of outages only where something is measured.
                ELSEWHERE.delete(turn, &key);
            }
            _ => {}
        }
        compared::note(turn, &key, compared, (known.as_ref(), now.as_ref(), asks), news)?;
        differs = match (&known, &now) {
            (Some(known), Some(now)) => !known.ends_like(now),
            // Nothing was or is in this block: what was before it stands.
            (None, None) => differs,
            _ => true,
        };
        if block >= last && !differs {
            return Ok(None);
        }
        block = match next(turn, target, block + 1)? {
            Some(next) => next,
            None => return Ok(None),
        };
    }
}

/// Whether [`recompute`] comes by a block, since measurements around it changed.
pub fn is_waiting(turn: &Turn<'_>, (target, block): &(String, u32)) -> Result<bool> {
    let days = DIRTY.get(turn, &(target.clone(),))?;
    let blocks = days.map(|days| block_of(days.first.saturating_sub(1))..=block_of(days.last.saturating_add(1)));
    Ok(blocks.is_some_and(|blocks| blocks.contains(block)))
}

/// The next block, from `from` on, that has measurements or a row.
fn next(turn: &Turn<'_>, target: &str, from: u32) -> Result<Option<u32>> {
    let day = from.saturating_mul(BLOCK_DAYS);
    let (start, end) = ((target.to_owned(), day), (target.to_owned(), u32::MAX));
    let rows = BLOCKS.between(&(target.to_owned(), from), &(target.to_owned(), u32::MAX));
    let entry = packed::first_day(&ENTRIES, turn, target, day)?;
    let rolled = ROLLED.first(turn, &ROLLED.between(&start, &end))?.map(|((_, day, ..), _)| day);
    let row = BLOCKS.first(turn, &rows)?.map(|((_, block), _)| block);
    // What the world asked about is answered, measured or not.
    let asked = COMPARED.between(&(target.to_owned(), from), &(target.to_owned(), u32::MAX));
    let asked = COMPARED.first(turn, &asked)?.map(|((_, block), _)| block);
    Ok([entry.map(block_of), rolled.map(block_of), row, asked].into_iter().flatten().min())
}

/// What a block depends on beside its measurements.
struct Given {
    /// The block before, however long.
    before: Block,
    /// Share of failures in other countries, percent.
    elsewhere: u8,
}

/// One block from its measurements and the block before, and whether to ask how the target was elsewhere, since an alarm
/// begins in it or failures lack a control by what was measured here alone; `None` when nothing was measured in it. What they
/// say is counted by day on the way.
fn compute(
    turn: &mut Turn<'_>,
    target: &str,
    block: u32,
    given: &Given,
    (room, tally): (&mut usize, &mut Tally),
) -> Result<Option<(Block, Asks)>> {
    let (start, end) = bounds(block);
    let all = evidence::read(turn, target, start.plus(-DAY), end.plus(DAY))?;
    *room = room.saturating_sub(1 + all.len() / MEASUREMENTS_OF_A_BLOCK);
    let inside = |hour: i64| (start.hour()..end.hour()).contains(&hour);
    if !all.iter().any(|seen| inside(seen.session.hour)) {
        return Ok(None);
    }
    let unasked = evidence::peers_unasked(turn, target, &all, end.plus(DAY))?;
    let peers = evidence::peers_asked(turn, target, &all, unasked.clone())?;
    let heard = heard_before(&all, &peers, start.hour());
    let mut own = all;
    own.retain(|seen| inside(seen.session.hour));
    // By block, so that a later look at it finds the same faults.
    instrument::mask(&mut own);
    let broken = control(turn, block)?;
    let walk = |own: &[Seen], peers: &Peers, before: &Block, elsewhere: u8| {
        advance(before, networks(own, peers, &broken, &heard, before), f64::from(elsewhere) / 100.0)
    };
    // Whether to ask how it is elsewhere must not depend on the answer: not on that about this block where an alarm begins in
    // it, and on none at all where the alarm began in the one before.
    let told = given.elsewhere > 0 || outages::row(turn, target, block)? != SpansElsewhere::default();
    let untold = told.then(|| walk(&own, &unasked, &given.before, 0));
    let alone = given.before.alone.as_ref().map(|_| walk(&own, &unasked, &given.before.without_others(), 0));
    let lacks_control = !needs_peers(target) && outages::lack_control(&own, &unasked);
    let spells = outages::spells(&own);
    outages::mask(turn, target, &mut own)?;
    for seen in &own {
        tally.note(seen.day, seen.primary, peers.vote(&seen.session), seen.session.evaluated.technique);
    }
    let mut spans = walk(&own, &peers, &given.before, given.elsewhere);
    let untold = untold.as_ref().unwrap_or(&spans);
    let alone = alone.as_ref().unwrap_or(untold);
    let asks = Asks::of(untold, alone, start.hour(), lacks_control);
    let is_same = open(alone).eq(open(&spans));
    let alone = (!is_same).then(|| open(alone).map(|(asn, cusum)| (asn, cusum.clone())).collect());
    spans.retain(|span| !span.cusum.is_quiet() || !span.days.is_empty() || !span.ended.is_empty());
    Ok(Some((Block { spans, spells, elsewhere: given.elsewhere, alone }, asks)))
}

/// The networks that were measured in a block, or of which something is under way; `heard` is their last vote before it.
fn networks(
    own: &[Seen],
    peers: &Peers,
    Broken(broken): &Broken,
    heard: &BTreeMap<u32, i64>,
    before: &Block,
) -> Vec<Heard> {
    let mut networks: BTreeMap<u32, (Vec<Session>, BTreeSet<u8>)> = BTreeMap::new();
    for seen in own {
        let session = seen.session;
        let Some(asn) = session.asn.filter(|asn| !broken.contains(asn)) else { continue };
        let network = networks.entry(asn).or_default();
        network.0.push(session);
        if peers.vote(&session) == Vote::Blocked {
            network.1.insert(seen.source);
        }
    }
    for span in before.spans.iter().filter(|span| !span.cusum.is_quiet()) {
        networks.entry(span.asn).or_default();
    }
    for asn in heard.keys().filter(|asn| !broken.contains(asn)) {
        networks.entry(*asn).or_default();
    }
    let networks = networks.into_iter().map(|(asn, (sessions, sources))| {
        let votes = window::votes(&sessions, peers);
        Heard { asn, votes, before: heard.get(&asn).copied(), sources }
    });
    networks.collect()
}

/// The last vote of each network in the day before a block.
fn heard_before(all: &[Seen], peers: &Peers, start: i64) -> BTreeMap<u32, i64> {
    let mut heard: BTreeMap<u32, i64> = BTreeMap::new();
    for session in all.iter().map(|seen| &seen.session).filter(|session| session.hour < start) {
        let votes = matches!(peers.vote(session), Vote::Blocked | Vote::Clear);
        if let Some(asn) = session.asn.filter(|_| votes) {
            let last = heard.entry(asn).or_insert(session.hour);
            *last = session.hour.max(*last);
        }
    }
    heard
}

/// Networks that fail too many control sites in a block to decide anything (ruling intelligence 22).
fn control(turn: &mut Turn<'_>, block: u32) -> Result<Broken> {
    if let Some(known) = CONTROL.get(turn, &(block,))? {
        return Ok(known);
    }
    let broken = broken(&turn.view(), block)?;
    CONTROL.put(turn, &(block,), &broken)?;
    Ok(broken)
}

fn broken(view: &View<'_>, block: u32) -> Result<Broken> {
    Ok(Broken(Surroundings::at(view, bounds(block).1)?.broken()))
}

/// Measurements of a control site changed: where other networks are broken now, every target must be computed again.
pub fn control_changed(turn: &mut Turn<'_>, days: Days) -> Result<()> {
    let known = CONTROL.between(&(block_of(days.first),), &(block_of(days.last).saturating_add(1),));
    for ((block,), before) in CONTROL.scan(turn, &known, Direction::Ascending, usize::MAX)? {
        let now = broken(&turn.view(), block)?;
        if now != before {
            CONTROL.put(turn, &(block,), &now)?;
            let at = turn.now;
            turn.schedule(&spread_timer(block), at, &Spread { block: Some(block), after: None })?;
        }
    }
    Ok(())
}
