//! A block that seems to begin here is compared with the other countries before it is reported. If the target fails in
//! most of them at the same time, it is down, and nobody blocks it. A failure without a control measurement is compared
//! with the same site in other countries: if it works there, that is the control (decision controls-from-peers). The
//! world asks the countries and answers ([`crate::world::Compare`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::fold::needs_peers;
use super::super::{days, refresh};
use super::tables::{BLOCKS, COMPARED, Compared, ELSEWHERE, SpansElsewhere};
use super::{at, blocks, combine_again, down_elsewhere, measured, soon};
use crate::world::{self, Compare, FailingBlocks};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::Direction;
use engine::time::{HOUR, SECOND};
use facts::change::combine::Combined;
use facts::change::constants::BLOCK_DAYS;
use facts::change::episodes::Episode;
use facts::change::series::{Block, Failures, block_of_hour};

type BlockKey = (String, u32);

/// How long to wait for an answer. If a country does not report, what was found here must be reported all the same.
const PATIENCE: i64 = HOUR;

/// What the world should be told about recomputed blocks.
#[derive(Default)]
pub struct ChangedBlocks {
    failing: Vec<(String, u32, Failures)>,
    asked: Vec<(String, u32, bool)>,
}

impl ChangedBlocks {
    /// Adds the failures of a block, as far as it is computed.
    fn report(&mut self, turn: &Turn<'_>, key: &BlockKey) -> Result<()> {
        let (target, number) = key;
        let before = match number.checked_sub(1) {
            Some(before) => BLOCKS.get(turn, &(target.clone(), before))?,
            None => None,
        };
        let spells = BLOCKS.get(turn, key)?.unwrap_or_default().spells;
        let failures = Failures { spells, before: before.map_or((0, 0), |before| before.votes()) };
        self.failing.push((target.clone(), *number, failures));
        Ok(())
    }

    pub fn send(self, turn: &mut Turn<'_>) -> Result<()> {
        let country = turn.actor().name.clone();
        let world = world::actor().name;
        if !self.failing.is_empty() {
            turn.send(world.clone(), &FailingBlocks { country: country.clone(), blocks: self.failing })?;
        }
        if !self.asked.is_empty() {
            turn.send(world, &Compare { country, blocks: self.asked })?;
        }
        Ok(())
    }
}

pub fn row(turn: &Turn<'_>, key: &BlockKey) -> Result<Compared> {
    Ok(COMPARED.get(turn, key)?.unwrap_or_default())
}

fn store(turn: &mut Turn<'_>, key: &BlockKey, row: Compared) -> Result<()> {
    match row == Compared::default() {
        true => COMPARED.delete(turn, key),
        false => COMPARED.put(turn, key, &row)?,
    }
    Ok(())
}

impl Compared {
    fn is_asking(&self) -> bool {
        self.asks.is_some() || self.lacks_control || self.reached
    }

    /// Whether failures of this target are counted for the world in this block.
    pub fn counts(&self, target: &str) -> bool {
        self.counts || needs_peers(target)
    }
}

/// A block was computed and stored. Asks the world if failures lack a control, or stops asking, and reports the
/// failures that the world wants to know.
pub fn note(
    turn: &mut Turn<'_>,
    key: &BlockKey,
    before: Compared,
    (known, block, lacks_control): (Option<&Block>, Option<&Block>, bool),
    news: &mut ChangedBlocks,
) -> Result<()> {
    let (target, number) = key;
    if before.counts(target) && (before.owes || known.map(|known| &known.spells) != block.map(|block| &block.spells)) {
        news.report(turn, key)?;
    }
    if known.map(Block::votes) != block.map(Block::votes) {
        let next = (target.clone(), number.saturating_add(1));
        if row(turn, &next)?.counts(target) && BLOCKS.contains(turn, &next)? {
            news.report(turn, &next)?;
        }
    }
    change(turn, key, before, Compared { owes: false, lacks_control, ..before }, news)
}

/// Asks the world about the blocks of days in which something seems to begin if only measurements of this country
/// count, or stops asking.
pub fn ask(turn: &mut Turn<'_>, target: &str, alone: &[Episode], news: &mut ChangedBlocks) -> Result<()> {
    let rows = COMPARED.scan(turn, &COMPARED.prefix(&(target.to_owned(),)), Direction::Ascending, usize::MAX)?;
    let mut rows: BTreeMap<BlockKey, (Compared, Compared)> = rows
        .into_iter()
        .map(|(key, before)| (key, (before, Compared { asks: None, reached: false, ..before })))
        .collect();
    for episode in alone {
        let [start, declared, last] = [episode.start, episode.declared, episode.last].map(block_of_hour);
        let (_, row) = rows.entry((target.to_owned(), declared)).or_default();
        row.asks = row.asks.max(Some(episode.declared));
        // If the target was down there, the block would seem to begin in the next block of days.
        let beside = [Some(start), (last > declared).then_some(declared.saturating_add(1))];
        for block in beside.into_iter().flatten().filter(|block| *block != declared) {
            rows.entry((target.to_owned(), block)).or_default().1.reached = true;
        }
    }
    for (key, (before, after)) in rows {
        change(turn, &key, before, after, news)?;
    }
    Ok(())
}

/// Stores a changed row. Asks the world if that is new, or once more if a block is first believed later in the block of
/// days.
fn change(
    turn: &mut Turn<'_>,
    key: &BlockKey,
    before: Compared,
    after: Compared,
    news: &mut ChangedBlocks,
) -> Result<()> {
    let mut after = after;
    let (asked, asks) = (before.is_asking(), after.is_asking());
    let more = after.asks > before.asks || after.lacks_control && !before.lacks_control;
    if asks != asked || asks && more {
        news.asked.push((key.0.clone(), key.1, asks));
        after.waits_since = asks.then_some(turn.now);
    }
    if after == before { Ok(()) } else { store(turn, key, after) }
}

/// Until when an event waits for the answers about its beginning; `None` if it has them.
pub fn waits(turn: &Turn<'_>, one: &Combined<'_>) -> Result<Option<Timestamp>> {
    let mut until: Option<Timestamp> = None;
    for found in one.measured.iter().map(|measured| &measured.found) {
        for (target, block) in
            found.targets.iter().flat_map(|of| [found.start, found.declared].map(|at| (of, block_of_hour(at))))
        {
            let since = row(turn, &(target.clone(), block))?.waits_since;
            let due = since.map(|since| since.plus(PATIENCE)).filter(|due| *due > turn.now);
            until = until.max(due);
        }
    }
    Ok(until)
}

/// The world asks the country to count failures of targets in some blocks of days, or to stop.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountFailures {
    /// (target, block of days, whether to count)
    pub blocks: Vec<(String, u32, bool)>,
}

impl Operation for CountFailures {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "count_failures";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut news = ChangedBlocks::default();
        for (target, block, counts) in self.blocks {
            let key = (target, block);
            let row = Compared { counts, owes: counts && blocks::is_waiting(turn, &key)?, ..row(turn, &key)? };
            store(turn, &key, row)?;
            if counts && !row.owes {
                news.report(turn, &key)?;
            }
            if !row.counts(&key.0) {
                // No country asks any more. The world forgets the failures, and the country forgets what it was told.
                if set(turn, &key, 0, SpansElsewhere::default())? {
                    again(turn, &key)?;
                    soon(turn)?;
                }
                news.failing.push((key.0, key.1, Failures::default()));
            }
        }
        news.send(turn)
    }
}

/// Has a block computed again. Only the day in its middle is marked, so that the blocks before and after stay as they
/// are.
fn again(turn: &mut Turn<'_>, (target, block): &BlockKey) -> Result<()> {
    let day = block.saturating_mul(BLOCK_DAYS).saturating_add(BLOCK_DAYS / 2);
    measured(turn, target, (day, day))
}

/// How a target fares in other countries in a block of days.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FailingElsewhere {
    pub target: String,
    pub block: u32,
    /// Share of failures, 0 to 100.
    pub percent: u8,
    /// Spans in which the target was down, one bit each, the first span in the lowest bit.
    pub out: u128,
    /// Spans in which it worked in other countries, among those in which it fails in this country.
    pub works: u128,
    /// Whether this is the answer that the country waits for, made from the reports of all other countries.
    pub answers: bool,
}

/// The world tells the country how a target fares elsewhere.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetFailing {
    pub told: FailingElsewhere,
}

impl Operation for SetFailing {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "set_failing";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let FailingElsewhere { target, block, percent, out, works, answers } = self.told;
        let key = (target, block);
        let row = row(turn, &key)?;
        let works = if row.lacks_control { works } else { 0 };
        // The world may have told the country to stop meanwhile.
        if row.counts(&key.0) && set(turn, &key, percent, SpansElsewhere { out, works })? {
            again(turn, &key)?;
            soon(turn)?;
        }
        if !answers || row.waits_since.is_none() {
            return Ok(());
        }
        store(turn, &key, Compared { waits_since: None, ..row })?;
        combine_again(turn)?;
        // Many answers come one after another, so wait for more.
        let due = turn.now.plus(i64::from(turn.settings.publish_interval) * SECOND);
        at(turn, due)
    }
}

/// Stores how a target fares elsewhere. Returns whether that changed.
fn set(turn: &mut Turn<'_>, key: &BlockKey, percent: u8, spans: SpansElsewhere) -> Result<bool> {
    let Some(row) = BLOCKS.get(turn, key)? else { return Ok(false) };
    let known = down_elsewhere::row(turn, &key.0, key.1)?;
    if (row.elsewhere, known) == (percent, spans) {
        return Ok(false);
    }
    BLOCKS.put(turn, key, &Block { elsewhere: percent, ..row })?;
    if known != spans {
        match spans == SpansElsewhere::default() {
            true => ELSEWHERE.delete(turn, key),
            false => ELSEWHERE.put(turn, key, &spans)?,
        }
        // Judge again its verdicts of these days and later ones.
        days::queue(turn, &key.0, key.1.saturating_mul(BLOCK_DAYS))?;
        refresh::soon(turn)?;
    }
    Ok(true)
}
