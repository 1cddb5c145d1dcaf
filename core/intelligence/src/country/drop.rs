//! Removes a source, some rows at a time by timer. In the end everything is as if the source had never been imported
//! (decision licence-and-removal).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::fold::needs_peers;
use super::packed::{self, CellKey, Cells, PartKey};
use super::refresh;
use super::tables::{
    AGEING, ENTRIES, EPOCHS, GIVEN, LISTED, LISTED_SINCE, LISTS, LISTS_EPOCH, META, NETWORKS, OUTSIDE, PEERS_CHANGED,
    PRIORS, QUEUE, ROLLED, SOURCES, SUMMARY, TARGETS, VERDICTS, WITNESSES,
};
use super::{changes, day_counts, days, documents, events, past};
use crate::incidents;
use crate::world::{self, ForgetGiven, ForgetTargets, Swept, Task, Unlisted};
use crate::{Result, anomaly, risk};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::{Direction, Read};
use facts::measurement::ENTRY_LEN;
use facts::source::Source;

/// Rolled-up cells read at a time.
const ROWS_AT_ONCE: usize = 60;
/// Number of changes after which a step ends early.
const MAX_CHANGES: usize = 350;
/// List entries removed in one step.
const LISTED_AT_ONCE: usize = 400;

/// Removes the measurements, events and counts of a source.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropSource {
    pub source: u8,
    /// Number of rows that earlier steps removed.
    pub removed: u64,
    /// The number of this removal. From now on, an import that began before it is refused.
    pub epoch: u64,
}

/// Names of timers.
const DROP: &str = "drop_source";
const DROP_LISTS: &str = "drop_lists";

impl Operation for DropSource {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "drop_source";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let country = turn.actor().name.clone();
        EPOCHS.put(turn, &(self.source,), &self.epoch)?;
        let (reported, last) = events::remove(turn, self.source, LISTED_AT_ONCE)?;
        let (counted, last_day) = match self.source == Source::OoniCounts.code() {
            true => day_counts::remove(turn, LISTED_AT_ONCE)?,
            false => (0, true),
        };
        let mut step = Step::default();
        let done = step.run(turn, self.source)? && last && last_day;
        let removed = self.removed + step.removed + reported + counted;
        let gone = step.finish(turn)?;
        if !gone.is_empty() {
            turn.send(
                world::actor().name,
                &ForgetTargets { country: country.clone(), targets: gone, country_too: false },
            )?;
        }
        if !done {
            let next = DropSource { removed, ..self };
            let now = turn.now;
            return turn.schedule(DROP, now, &next);
        }
        if GIVEN.get(turn, &(self.source,))?.is_some() {
            GIVEN.delete(turn, &(self.source,));
            turn.send(
                world::actor().name,
                &ForgetGiven { country: country.clone(), source: self.source, ids: Vec::new(), all: true },
            )?;
        }
        let known = SOURCES.get(turn, &(self.source,))?.is_some();
        SOURCES.delete(turn, &(self.source,));
        if known {
            risk::days::forget(turn)?;
            past::forget(turn)?;
            if SOURCES.first(turn, &SOURCES.range())?.is_none() {
                META.delete(turn, &());
                changes::nothing_left(turn)?;
                anomaly::nothing_left(turn);
                SUMMARY.delete(turn, &());
                let forget = ForgetTargets { country: country.clone(), targets: BTreeSet::new(), country_too: true };
                turn.send(world::actor().name, &forget)?;
                for family in [documents::COUNTRY, documents::OVERVIEW] {
                    turn.publish(&format!("{family}{country}"))?;
                }
            }
            changes::soon(turn)?;
            refresh::soon(turn)?;
        }
        if let Some(source) = Source::from_code(self.source) {
            let forget = incidents::ForgetSource { country, source: source.id().to_owned(), after: None, found: false };
            turn.send(incidents::actor().name, &forget)?;
        }
        let task = Task::DropSource(self.source);
        let swept = Swept { task, handled: removed, changed: 0, changes: Vec::new() };
        turn.send(world::actor().name, &swept)
    }
}

/// The work of one step.
#[derive(Default)]
struct Step {
    removed: u64,
    /// An upper bound of the rows changed.
    changes: usize,
    /// The day of the cell before.
    last_day: Option<u32>,
    targets: BTreeMap<String, u64>,
    networks: BTreeMap<u32, (u64, u8)>,
}

impl Step {
    /// Removes the next cells of a source. Returns true if none is left.
    fn run(&mut self, turn: &mut Turn<'_>, source: u8) -> Result<bool> {
        Ok(self.entries(turn, source)? && self.rolled(turn, source)?)
    }

    fn entries(&mut self, turn: &mut Turn<'_>, source: u8) -> Result<bool> {
        let mut range = ENTRIES.range();
        while let Some((key, cells)) = ENTRIES.first(turn, &range)? {
            let of_block = ENTRIES.prefix(&(key.0.clone(), key.1, key.2));
            if key.2 != source {
                range.start = of_block.end.unwrap_or_default();
                continue;
            }
            if cells.is_mark() {
                range.start = ENTRIES.prefix(&key).end.unwrap_or_default();
                continue;
            }
            let left = self.row(turn, &key, &cells)?;
            packed::shrink(&ENTRIES, turn, &key, left)?;
            if self.changes >= MAX_CHANGES {
                return Ok(false);
            }
            // The rest of the block may be stored in another layout now.
            range.start = of_block.start;
        }
        Ok(true)
    }

    /// Removes cells of a row as far as a step may. Returns what is left of the row.
    fn row(&mut self, turn: &mut Turn<'_>, key: &PartKey, cells: &Cells) -> Result<Vec<u8>> {
        let mut left = Vec::new();
        for kept in cells.walk(key.1) {
            let kept = kept?;
            if self.changes >= MAX_CHANGES {
                kept.write(&mut left);
                continue;
            }
            let entries = kept.entries.len() / ENTRY_LEN;
            self.cell(turn, (key.0.clone(), kept.day, kept.asn, key.2), entries as u64)?;
        }
        Ok(left)
    }

    fn rolled(&mut self, turn: &mut Turn<'_>, source: u8) -> Result<bool> {
        let mut range = ROLLED.range();
        loop {
            let rows = ROLLED.scan(turn, &range, Direction::Ascending, ROWS_AT_ONCE)?;
            // Rows of other sources stay and are passed over.
            let Some((last, _)) = rows.last() else { return Ok(true) };
            range = ROLLED.after(range, last);
            for (key, row) in rows {
                if key.3 == source {
                    ROLLED.delete(turn, &key);
                    self.cell(turn, key, row.measurements())?;
                }
                if self.changes >= MAX_CHANGES {
                    return Ok(false);
                }
            }
        }
    }

    fn cell(&mut self, turn: &mut Turn<'_>, cell: CellKey, entries: u64) -> Result<()> {
        let (target, day, asn, source) = cell.clone();
        // The changed rows: those of a target, of one of its days, and of the cell.
        let new_target = !self.targets.contains_key(&target);
        let new_day = new_target || self.last_day != Some(day);
        self.last_day = Some(day);
        self.changes += if new_target { 8 } else { 0 } + if new_day { 3 } else { 0 } + 3;
        // Source rows that say nothing about any target.
        if target.is_empty() {
            return Ok(());
        }
        WITNESSES.delete(turn, &cell);
        OUTSIDE.delete(turn, &(target.clone(), day));
        if needs_peers(&target) {
            PEERS_CHANGED.put(turn, &(target.clone(), day), &())?;
        }
        days::queue(turn, &target, day.saturating_sub(1))?;
        changes::measured(turn, &target, (day, day))?;
        changes::forget(turn, (day, source))?;
        self.removed += entries;
        *self.targets.entry(target).or_default() += entries;
        self.networks.entry(asn).or_insert((0, source)).0 += entries;
        Ok(())
    }

    /// Corrects the rows that sum up what was removed. Returns the targets of which nothing is left.
    fn finish(self, turn: &mut Turn<'_>) -> Result<BTreeSet<String>> {
        for (asn, (removed, source)) in self.networks {
            let Some(mut row) = NETWORKS.get(turn, &(asn,))? else { continue };
            row.entries = row.entries.saturating_sub(removed);
            row.firsts.remove(&source);
            if row.entries == 0 { NETWORKS.delete(turn, &(asn,)) } else { NETWORKS.put(turn, &(asn,), &row)? }
        }
        let mut gone = BTreeSet::new();
        for (target, removed) in self.targets {
            let key = (target.clone(),);
            match (days(turn, &key)?, TARGETS.get(turn, &key)?) {
                (Some((first, last)), Some(mut row)) => {
                    row.entries = row.entries.saturating_sub(removed);
                    (row.first_day, row.last_day) = (first, last);
                    TARGETS.put(turn, &key, &row)?;
                }
                _ => {
                    if let Some(due) = VERDICTS.get(turn, &key)?.and_then(|verdict| verdict.due()) {
                        AGEING.delete(turn, &(due, target.clone()));
                    }
                    TARGETS.delete(turn, &key);
                    VERDICTS.delete(turn, &key);
                    PRIORS.delete(turn, &key);
                    QUEUE.delete(turn, &key);
                    gone.insert(target);
                }
            }
        }
        Ok(gone)
    }
}

/// First and last day on which a target is measured.
fn days(view: &impl Read, target: &(String,)) -> Result<Option<(u32, u32)>> {
    let rolled = ROLLED.prefix(target);
    let first = [packed::first_day(&ENTRIES, view, &target.0, 0)?, ROLLED.first(view, &rolled)?.map(|(key, _)| key.1)];
    let last =
        [packed::last_day(&ENTRIES, view, &target.0, u32::MAX)?, ROLLED.last(view, &rolled)?.map(|(key, _)| key.1)];
    Ok(first.into_iter().flatten().min().zip(last.into_iter().flatten().max()))
}

/// Removes every block list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropLists {
    /// Number of entries that earlier steps removed.
    pub removed: u64,
    /// The number of this removal, as in [`DropSource`].
    pub epoch: u64,
}

impl Operation for DropLists {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "drop_lists";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        EPOCHS.put(turn, &(LISTS_EPOCH,), &self.epoch)?;
        let rows = LISTED.scan(turn, &LISTED.range(), Direction::Ascending, LISTED_AT_ONCE)?;
        let mut domains = BTreeSet::new();
        for ((domain, kind), _) in &rows {
            LISTED.delete(turn, &(domain.clone(), *kind));
            LISTED_SINCE.delete(turn, &(domain.clone(), *kind));
            days::queue_listed(turn, domain)?;
            domains.insert(domain.clone());
        }
        let removed = self.removed + rows.len() as u64;
        let country = turn.actor().name.clone();
        if !domains.is_empty() {
            turn.send(world::actor().name, &Unlisted { country, domains })?;
        }
        if rows.len() == LISTED_AT_ONCE {
            let now = turn.now;
            return turn.schedule(DROP_LISTS, now, &DropLists { removed, ..self });
        }
        let lists = LISTS.scan(turn, &LISTS.range(), Direction::Ascending, 16)?;
        lists.iter().for_each(|(key, _)| LISTS.delete(turn, key));
        if !lists.is_empty() {
            let country = turn.actor().name.clone();
            let nothing = ForgetGiven { country, source: LISTS_EPOCH, ids: Vec::new(), all: true };
            turn.send(world::actor().name, &nothing)?;
        }
        if TARGETS.first(turn, &TARGETS.range())?.is_some() {
            refresh::soon(turn)?;
        }
        super::lists::publish(turn)?;
        past::changed(turn)?;
        let swept = Swept { task: Task::DropLists, handled: removed, changed: 0, changes: Vec::new() };
        turn.send(world::actor().name, &swept)
    }
}
