//! Computes the series of a target in blocks of days.

use std::collections::{BTreeMap, BTreeSet};

use super::super::evidence::{self, JudgedMeasurement, Present, Surroundings};
use super::super::fold::needs_peers;
use super::super::noise::{Free, OwnMeasurements, is_failure};
use super::super::tables::{ENTRIES, ROLLED};
use super::super::{instrument, packed};
use super::compared::{self, ChangedBlocks};
use super::tables::{BLOCKS, Broken, COMPARED, CONTROL, DIRTY, Days, ELSEWHERE, SpansElsewhere};
use super::{Spread, down_elsewhere, spread_timer};
use crate::Result;
use crate::anomaly::{self, ResultCounts};
use engine::actor::{Turn, View};
use engine::kv::Direction;
use engine::time::DAY;
use facts::change::constants::BLOCK_DAYS;
use facts::change::series::{Block, Span, block_of, bounds, span};
use facts::verdict::Vote;
use facts::verdict::window::{self, HourVote, Peers, Session};

/// A block with more measurements is as much work as several blocks.
const MEASUREMENTS_OF_A_BLOCK: usize = 2_000;

/// The blocks of a target with their numbers, oldest first.
pub fn load(turn: &Turn<'_>, target: &str) -> Result<Vec<(u32, Block)>> {
    let rows = BLOCKS.scan(turn, &BLOCKS.prefix(&(target.to_owned(),)), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|((_, number), block)| (number, block)).collect())
}

/// Computes the blocks of changed days. Returns the days that are left if there is no room for more. The day before and
/// the day after belong to them, because a success is a control for failures within 24 h (decision
/// controls-from-peers). What the world should be told is added to `news`.
pub fn recompute(
    turn: &mut Turn<'_>,
    target: &str,
    days: Days,
    surroundings: &Surroundings,
    (room, news): (&mut usize, &mut ChangedBlocks),
) -> Result<Option<Days>> {
    let last = block_of(days.last.saturating_add(1));
    let mut block = block_of(days.first.saturating_sub(1));
    loop {
        if *room == 0 {
            let first = block.saturating_mul(BLOCK_DAYS).saturating_add(1);
            return Ok(Some(Days { first, last: days.last.max(first) }));
        }
        let key = (target.to_owned(), block);
        let known = BLOCKS.get(turn, &key)?;
        let compared = compared::row(turn, &key)?;
        let elsewhere = known.as_ref().map_or(0, |known| known.elsewhere);
        let mut tally = ResultCounts::default();
        let computed = compute(turn, &key, elsewhere, surroundings, (room, &mut tally))?;
        let (now, lacks_control) = computed.map_or((None, false), |(now, lacks)| (Some(now), lacks));
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
        compared::note(turn, &key, compared, (known.as_ref(), now.as_ref(), lacks_control), news)?;
        block = match next(turn, target, block + 1)? {
            Some(next) if next <= last => next,
            _ => return Ok(None),
        };
    }
}

/// Whether [`recompute`] will come to a block, because measurements around it changed.
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
    // A block that the world asked about is answered, measured or not.
    let asked = COMPARED.between(&(target.to_owned(), from), &(target.to_owned(), u32::MAX));
    let asked = COMPARED.first(turn, &asked)?.map(|((_, block), _)| block);
    Ok([entry.map(block_of), rolled.map(block_of), row, asked].into_iter().flatten().min())
}

/// Computes one block from its measurements, and whether its failures lack a control if only measurements of this
/// country count. `None` if nothing was measured in it. `elsewhere` is the share of failures in other countries, in
/// percent. What the measurements say is counted by day in `tally`.
fn compute(
    turn: &mut Turn<'_>,
    (target, block): &(String, u32),
    elsewhere: u8,
    surroundings: &Surroundings,
    (room, tally): (&mut usize, &mut ResultCounts),
) -> Result<Option<(Block, bool)>> {
    let (start, end) = bounds(*block);
    let (from, to) = (start.plus(-DAY), end.plus(DAY));
    let all = evidence::read(turn, target, from, to)?;
    *room = room.saturating_sub(1 + all.len() / MEASUREMENTS_OF_A_BLOCK);
    let inside = |hour: i64| (start.hour()..end.hour()).contains(&hour);
    if !all.iter().any(|seen| inside(seen.session.hour)) {
        return Ok(None);
    }
    let mut noise = OwnMeasurements::default();
    // Count before anything is masked, as the counts of networks do.
    if all.iter().any(|seen| is_failure(seen.session.evaluated.vote)) {
        noise.add(&all);
    }
    let unasked = evidence::peers_unasked(turn, target, &all, to)?;
    let peers = evidence::peers_asked(turn, target, &all, unasked.clone())?;
    let mut own = all;
    own.retain(|seen| inside(seen.session.hour));
    // Mask by block, so that a later computation finds the same faults.
    instrument::mask(&mut own);
    let Broken(broken) = control(turn, *block)?;
    let votes = |own: &[JudgedMeasurement], peers: &Peers| networks(own, peers, &broken);
    // Whether to ask the other countries must not depend on their answer.
    let told = down_elsewhere::row(turn, target, *block)? != SpansElsewhere::default();
    let untold = told.then(|| votes(&own, &unasked));
    let lacks_control = !needs_peers(target) && down_elsewhere::lack_control(&own, &unasked);
    let spells = down_elsewhere::spells(&own);
    down_elsewhere::mask(turn, target, &mut own)?;
    for seen in &own {
        tally.note(seen.day, seen.primary, peers.vote(&seen.session), seen.session.evaluated.technique);
    }
    let heard = votes(&own, &peers);
    let blocked: BTreeSet<(u32, i64)> =
        heard.iter().chain(untold.iter().flatten()).flat_map(BlockVotes::blocked).collect();
    if !blocked.is_empty() {
        noise.add_siblings(turn, target, (from, to), &Present::maybe())?;
    }
    let free = Free::of(turn, target, &noise, blocked.into_iter(), surroundings)?;
    let spans = |heard: Vec<BlockVotes>| -> Vec<Span> {
        heard
            .into_iter()
            .map(|BlockVotes { asn, votes, sources }| span(asn, &votes, |hour| free.on_network(asn, hour), sources))
            .collect()
    };
    let (spans, untold) = (spans(heard), untold.map(spans));
    let untold = untold.filter(|untold| *untold != spans);
    Ok(Some((Block { spans, spells, elsewhere, untold }, lacks_control)))
}

/// The part of one network in a block.
struct BlockVotes {
    asn: u32,
    /// Oldest first.
    votes: Vec<HourVote>,
    /// Codes of the sources of blocked measurements.
    sources: BTreeSet<u8>,
}

impl BlockVotes {
    /// The network and hour of each blocked vote.
    fn blocked(&self) -> impl Iterator<Item = (u32, i64)> {
        self.votes.iter().filter(|vote| vote.blocked).map(|vote| (self.asn, vote.hour))
    }
}

/// The networks that were measured in a block and decide something.
fn networks(own: &[JudgedMeasurement], peers: &Peers, broken: &[u32]) -> Vec<BlockVotes> {
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
    let heard = |(asn, (sessions, sources)): (u32, (Vec<Session>, _))| BlockVotes {
        asn,
        votes: window::votes(&sessions, peers),
        sources,
    };
    networks.into_iter().map(heard).filter(|heard| !heard.votes.is_empty()).collect()
}

/// Networks that decide nothing in a block, because too many control sites fail on them (decision failing-elsewhere).
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

/// Measurements of a control site changed. In blocks where other networks are broken now, every target must be computed
/// again.
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
