//! Removing a source, some rows at a time by timer: in the end everything is as if it had never been imported
//! (ruling intelligence 35).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::fold::needs_peers;
use super::packed::{CellKey, Records};
use super::refresh;
use super::rollup::DayRow;
use super::tables::{
    AGEING, ENTRIES, EPOCHS, GIVEN, LISTED, LISTS, LISTS_EPOCH, META, NETWORKS, OUTSIDE, PEERS_CHANGED, PRIORS, QUEUE,
    ROLLED, SOURCES, SUMMARY, TARGETS, VERDICTS, WITNESSES,
};
use super::{Source, changes, day_counts, documents, events};
use crate::actor::{Kind, Operation, Turn};
use crate::incidents;
use crate::kv::{Direction, Key, Read, Row, Table};
use crate::world::{self, Forget, ForgetGiven, Swept, Task, Unlisted};
use crate::{Result, outlook};

/// Rows of entries looked at in one step. Each may delete up to a handful of rows, so that a step stays under what an
/// operation may change.
const ROWS_AT_ONCE: usize = 60;
/// Changes after which a step ends early.
const MAX_CHANGES: usize = 350;
/// List entries removed in one step.
const LISTED_AT_ONCE: usize = 400;

/// Removes the measurements, events and counts of a source.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropSource {
    pub source: u8,
    /// By earlier steps.
    pub removed: u64,
    /// The number of this removal: what an import began before it stores is refused from here on.
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
            turn.send(world::actor().name, &Forget { country: country.clone(), targets: gone, country_too: false })?;
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
            outlook::days::forget(turn)?;
            if SOURCES.first(turn, &SOURCES.range())?.is_none() {
                META.delete(turn, &());
                changes::nothing_left(turn)?;
                SUMMARY.delete(turn, &());
                let forget = Forget { country: country.clone(), targets: BTreeSet::new(), country_too: true };
                turn.send(world::actor().name, &forget)?;
                for family in [documents::COUNTRY, documents::OVERVIEW] {
                    turn.publish(&format!("{family}{country}"))?;
                }
            }
            changes::soon(turn)?;
            refresh::soon(turn)?;
        }
        if let Some(source) = Source::from_code(self.source) {
            let forget = incidents::Forget { country, source: source.id().to_owned(), after: None };
            turn.send(incidents::actor().name, &forget)?;
        }
        let task = Task::DropSource(self.source);
        let swept = Swept { task, handled: removed, changed: 0, changes: Vec::new() };
        turn.send(world::actor().name, &swept)
    }
}

/// What one step removed.
#[derive(Default)]
struct Step {
    removed: u64,
    changes: usize,
    targets: BTreeMap<String, u64>,
    networks: BTreeMap<u32, (u64, u8)>,
}

impl Step {
    /// Removes the next cells of a source; true when none is left.
    fn run(&mut self, turn: &mut Turn<'_>, source: u8) -> Result<bool> {
        let entries = |records: &Records| records.measurements() as u64;
        Ok(self.table(turn, source, &ENTRIES, |key| &key.3, |key| (key.0, key.1, key.2, key.3), entries)?
            && self.table(turn, source, &ROLLED, |key| &key.3, |key| key, DayRow::measurements)?)
    }

    fn table<K: Key + Clone, V: Row>(
        &mut self,
        turn: &mut Turn<'_>,
        source: u8,
        table: &Table<K, V>,
        source_of: impl Fn(&K) -> &u8,
        cell_of: impl Fn(K) -> CellKey,
        measurements: impl Fn(&V) -> u64,
    ) -> Result<bool> {
        let mut range = table.range();
        loop {
            let rows = table.scan(turn, &range, Direction::Ascending, ROWS_AT_ONCE)?;
            let last = rows.last().map(|(key, _)| key.clone());
            for (key, row) in rows {
                if *source_of(&key) == source {
                    table.delete(turn, &key);
                    self.cell(turn, cell_of(key), measurements(&row))?;
                }
                if self.changes >= MAX_CHANGES {
                    return Ok(false);
                }
            }
            match last {
                // Rows of other sources stay and are passed over.
                Some(last) => range.start = table.prefix(&last).end.unwrap_or_default(),
                None => return Ok(true),
            }
        }
    }

    fn cell(&mut self, turn: &mut Turn<'_>, cell: CellKey, entries: u64) -> Result<()> {
        let (target, day, asn, source) = cell.clone();
        self.changes += 9;
        // Source rows that say nothing of any target.
        if target.is_empty() {
            return Ok(());
        }
        WITNESSES.delete(turn, &cell);
        OUTSIDE.delete(turn, &(target.clone(), day));
        if needs_peers(&target) {
            PEERS_CHANGED.put(turn, &(target.clone(), day), &())?;
        }
        QUEUE.put(turn, &(target.clone(),), &())?;
        changes::measured(turn, &target, (day, day))?;
        changes::forget(turn, (day, asn, source))?;
        self.removed += entries;
        *self.targets.entry(target).or_default() += entries;
        self.networks.entry(asn).or_insert((0, source)).0 += entries;
        Ok(())
    }

    /// Corrects the rows that sum up what was removed; the targets of which nothing is left.
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
                    if let Some(due) = VERDICTS.get(turn, &key)?.and_then(|verdict| verdict.due) {
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
    let (entries, rolled) = (ENTRIES.prefix(target), ROLLED.prefix(target));
    let first =
        [ENTRIES.first(view, &entries)?.map(|(key, _)| key.1), ROLLED.first(view, &rolled)?.map(|(key, _)| key.1)];
    let last = [ENTRIES.last(view, &entries)?.map(|(key, _)| key.1), ROLLED.last(view, &rolled)?.map(|(key, _)| key.1)];
    Ok(first.into_iter().flatten().min().zip(last.into_iter().flatten().max()))
}

/// Removes every block list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropLists {
    /// By earlier steps.
    pub removed: u64,
    /// The number of this removal, as of [`DropSource`].
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
            if TARGETS.contains(turn, &(domain.clone(),))? {
                QUEUE.put(turn, &(domain.clone(),), &())?;
            }
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
        for (key, _) in LISTS.scan(turn, &LISTS.range(), Direction::Ascending, 16)? {
            LISTS.delete(turn, &key);
        }
        if TARGETS.first(turn, &TARGETS.range())?.is_some() {
            refresh::soon(turn)?;
        }
        let swept = Swept { task: Task::DropLists, handled: removed, changed: 0, changes: Vec::new() };
        turn.send(world::actor().name, &swept)
    }
}
