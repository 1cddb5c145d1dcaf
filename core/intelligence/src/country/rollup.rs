//! Rolls the measurements of a day up to counts once the day is over 400 days old (decision rollup-after-400-days).
//!
//! A rolled-up cell is one row per (target, day, network, source). It has the number of measurements that each rule
//! decided, by hour and vote key, because a verdict at any past time needs its distinct hours and its votes (decisions
//! two-blocked-hours, answers-about-a-time and vote-per-hour). So no answer about any time changes. The 24-byte entry
//! of each measurement is removed, and with it what a changed rule could judge again; the hashes of its source rows are
//! removed too. Of identities 4 bytes stay. A measurement that comes again is therefore known, in whatever form, and
//! counts as a repeat. One that never came before is folded as usual and joins the row later.
//!
//! Cells do not change any more once they are rolled up, so all rows of a measurement must have come by then. The timer
//! waits until nothing old was folded for [`QUIET`].

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::evidence::{self, JudgedMeasurement};
use super::packed::{self, BLOCK_DAYS, CellKey, Cells, PartKey};
use super::tables::{ENTRIES, ROLLED, RULES_VERSION, TARGETS};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::{Direction, Row};
use engine::time::DAY;
use facts::measurement::outcome::Judgement;
use facts::measurement::{ENTRY_LEN, Entry};
use facts::verdict::window::Session;
use facts::verdict::{RuleId, Technique, evaluate};

/// Age, in microseconds, from which whole days are rolled up (decision rollup-after-400-days).
pub const ROLL_UP_AFTER: i64 = 400 * DAY;
/// How long nothing old may have been folded before a rollup. Our choice: an import that breaks off and is sent again
/// within a week ends as if it had never broken off.
const QUIET: i64 = 7 * DAY;
/// Time between sweeps over all targets.
const PERIOD: i64 = DAY;

/// Bounds of one step, so that it holds the writer only briefly: targets and cells checked, measurements rolled up.
const TARGETS_AT_ONCE: usize = 200;
const CELLS_AT_ONCE: usize = 100;
const MEASUREMENTS_AT_ONCE: usize = 20_000;

/// Bytes of a known measurement: its hour, then the first bytes of its identity.
const KNOWN_LEN: usize = 5;
/// Bytes of an identity that stay.
pub const PREFIX_LEN: usize = 4;

const TIMER: &str = "roll_up";

/// The first bytes of an identity.
pub type Prefix = [u8; PREFIX_LEN];

/// Measurements of one hour and vote key that one rule decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Count {
    hour: u8,
    vote_key: u32,
    rule: u8,
    /// 0 for none.
    technique: u8,
    measurements: u32,
    /// Measurements among them that are counted at this target.
    primary: u32,
}

/// A cell after its rollup.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledCell {
    /// The oldest version of the rules that judged a part of the cell.
    rules_version: u32,
    /// Sorted; one for each combination of the first four members.
    counts: Vec<Count>,
    /// Hours and first bytes of identities, sorted.
    #[serde(with = "engine::kv::bytes")]
    known: Vec<u8>,
}
impl Row for RolledCell {}

/// The part of an identity that stays.
pub fn prefix(identity: &[u8; 8]) -> Prefix {
    let [a, b, c, d, ..] = *identity;
    [a, b, c, d]
}

impl RolledCell {
    /// First bytes of the identities that are rolled up in this cell.
    pub fn known(&self) -> HashSet<Prefix> {
        self.known.chunks_exact(KNOWN_LEN).filter_map(|record| record.last_chunk().copied()).collect()
    }

    /// The number of measurements.
    pub fn measurements(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(count.measurements)).sum()
    }

    fn add(&mut self, entries: &[Entry]) {
        let was = if self.counts.is_empty() { RULES_VERSION } else { self.rules_version };
        self.rules_version = was.min(RULES_VERSION);
        let mut counts: BTreeMap<(u8, u32, u8, u8), (u32, u32)> = BTreeMap::new();
        for known in &self.counts {
            let key = (known.hour, known.vote_key, known.rule, known.technique);
            counts.insert(key, (known.measurements, known.primary));
        }
        let mut known: Vec<[u8; KNOWN_LEN]> =
            self.known.chunks_exact(KNOWN_LEN).filter_map(|record| record.try_into().ok()).collect();
        for entry in entries {
            let judged = entry.outcome.evaluate();
            let technique = judged.technique.map_or(0, Technique::code);
            let count = counts.entry((entry.hour, entry.vote_key, judged.rule.code(), technique)).or_default();
            *count = (count.0.saturating_add(1), count.1.saturating_add(u32::from(entry.primary)));
            let [a, b, c, d] = prefix(&entry.identity);
            known.push([entry.hour, a, b, c, d]);
        }
        known.sort_unstable();
        self.known = known.concat();
        let counts = counts.into_iter();
        self.counts = counts
            .map(|((hour, vote_key, rule, technique), (measurements, primary))| Count {
                hour,
                vote_key,
                rule,
                technique,
                measurements,
                primary,
            })
            .collect();
    }

    /// Restores the measurements as far as a verdict needs them. Which identity of an hour belongs to which of its
    /// measurements is not known any more, and nothing needs it.
    pub fn seen(&self, day: u32, asn: u32, source: u8, out: &mut Vec<JudgedMeasurement>) {
        let mut known = self.known.chunks_exact(KNOWN_LEN);
        for count in &self.counts {
            let Some(rule) = RuleId::from_code(count.rule) else { continue };
            let technique = Technique::from_code(count.technique);
            let session = Session {
                asn: (asn != 0).then_some(asn),
                hour: i64::from(day) * 24 + i64::from(count.hour),
                vote_key: count.vote_key,
                evaluated: evaluate::judged(Judgement { rule, technique }),
            };
            for number in 0..count.measurements {
                let identity: Prefix = known.next().and_then(|record| record.last_chunk().copied()).unwrap_or_default();
                let identity = evidence::identity(identity, day, asn);
                out.push(JudgedMeasurement { identity, source, day, primary: number < count.primary, session });
            }
        }
    }
}

/// The first day that is too young to be rolled up.
pub fn first_young_day(now: Timestamp) -> u32 {
    u32::try_from(now.plus(-ROLL_UP_AFTER).day()).unwrap_or(0)
}

/// Makes sure that measurements of these days are rolled up in time, old ones after imports have come to rest.
pub(super) fn plan(turn: &mut Turn<'_>, oldest_day: u32) -> Result<()> {
    let due = turn.now.plus(QUIET);
    let waiting = turn.scheduled(TIMER)?;
    let old = oldest_day < first_young_day(turn.now);
    // Do not schedule again at every fold: a row each time would cost more than the few hours are worth.
    let late = waiting.is_none_or(|waiting| old && waiting < due.plus(-DAY / 4));
    if late { turn.schedule(TIMER, due, &RollUp { reached: None }) } else { Ok(()) }
}

/// Rolls up the next cells, and goes on by timer until all are checked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RollUp {
    /// Target and day from which on there may be more.
    pub reached: Option<(String, u32)>,
}

impl Operation for RollUp {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "roll_up";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let end = first_young_day(turn.now);
        let mut range = TARGETS.range();
        if let Some((target, _)) = &self.reached {
            range.start = TARGETS.prefix(&(target.clone(),)).start;
        }
        let targets = TARGETS.scan(turn, &range, Direction::Ascending, TARGETS_AT_ONCE)?;
        let mut step = Step::default();
        for ((target,), row) in &targets {
            let from = match &self.reached {
                Some((reached, day)) if reached == target => *day,
                _ => 0,
            };
            let days = from..end;
            if row.first_day < end
                && let Some(day) = step.target(turn, target, days)?
            {
                let now = turn.now;
                return turn.schedule(TIMER, now, &RollUp { reached: Some((target.clone(), day)) });
            }
        }
        let now = turn.now;
        match targets.last() {
            Some(((target,), _)) if targets.len() == TARGETS_AT_ONCE => {
                turn.schedule(TIMER, now, &RollUp { reached: Some((target.clone(), u32::MAX)) })
            }
            None if self.reached.is_none() => Ok(()),
            _ => turn.schedule(TIMER, now.plus(PERIOD), &RollUp { reached: None }),
        }
    }
}

/// The work of one step.
#[derive(Default)]
struct Step {
    cells: usize,
    measurements: usize,
}

impl Step {
    fn is_full(&self) -> bool {
        self.cells >= CELLS_AT_ONCE || self.measurements >= MEASUREMENTS_AT_ONCE
    }

    /// Rolls up the cells of a target. Returns the day to go on from if there are more than a step may do.
    fn target(&mut self, turn: &mut Turn<'_>, target: &str, days: Range<u32>) -> Result<Option<u32>> {
        let (from, end) = (days.start / BLOCK_DAYS, days.end.div_ceil(BLOCK_DAYS));
        let mut range = ENTRIES.between(&(target.to_owned(), from), &(target.to_owned(), end));
        while let Some((key, cells)) = ENTRIES.first(turn, &range)? {
            let (_, block, source, day, part) = key;
            if part > 0 {
                // A day in parts may not fit into one row, so it stays.
                range.start = ENTRIES.prefix(&(target.to_owned(), block, source, day)).end.unwrap_or_default();
                continue;
            }
            range.start = ENTRIES.prefix(&key).end.unwrap_or_default();
            if let Some(left) = self.row(turn, &key, &cells, days.end)? {
                packed::shrink(&ENTRIES, turn, &key, left)?;
                // The rest of the block may be stored in another layout now.
                range.start = ENTRIES.prefix(&(target.to_owned(), block, source)).start;
            }
            if self.is_full() {
                // Another source may have earlier days.
                return Ok(Some(block.saturating_mul(BLOCK_DAYS)));
            }
        }
        Ok(None)
    }

    /// Rolls up the cells of a row before `end`. Returns what is left of the row if any cell was rolled up.
    fn row(&mut self, turn: &mut Turn<'_>, key: &PartKey, cells: &Cells, end: u32) -> Result<Option<Vec<u8>>> {
        let (mut left, mut less) = (Vec::new(), false);
        for kept in cells.walk(key.1) {
            let kept = kept?;
            let decode = |bytes: &[u8]| <&[u8; ENTRY_LEN]>::try_from(bytes).ok().and_then(Entry::decode);
            let old = kept.day < end && !self.is_full();
            // Entries of a later version cannot be judged here, so they stay.
            let entries: Option<Vec<Entry>> =
                old.then(|| kept.entries.chunks_exact(ENTRY_LEN).map(decode).collect()).flatten();
            let Some(entries) = entries else {
                kept.write(&mut left);
                continue;
            };
            let cell: CellKey = (key.0.clone(), kept.day, kept.asn, key.2);
            let mut row = ROLLED.get(turn, &cell)?.unwrap_or_default();
            row.add(&entries);
            ROLLED.put(turn, &cell, &row)?;
            self.cells += 1;
            self.measurements += entries.len();
            less = true;
        }
        Ok(less.then_some(left))
    }
}
