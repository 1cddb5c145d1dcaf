//! Removing a source, some rows at a time by timer: in the end everything is as if it had never been imported
//! (ruling intelligence 35).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::fold::needs_peers;
use super::packed::{self, CellKey, PartKey};
use super::refresh;
use super::tables::{
    AGEING, ENTRIES, LISTED, LISTS, META, NETWORKS, OUTSIDE, PEERS_CHANGED, PRIORS, QUEUE, ROW_HASHES, SOURCES,
    SUMMARY, TARGETS, VERDICTS, WITNESSES,
};
use super::{changes, documents};
use crate::Result;
use crate::actor::{Kind, Operation, Turn};
use crate::kv::Direction;
use crate::measurement::ENTRY_LEN;
use crate::world::{self, Forget, Swept, Task, Unlisted};

/// Rows of entries looked at in one step. Each may delete up to a handful of rows, so that a step stays under what an
/// operation may change.
const ROWS_AT_ONCE: usize = 60;
/// Changes after which a step ends early.
const MAX_CHANGES: usize = 350;
/// List entries removed in one step.
const LISTED_AT_ONCE: usize = 400;

/// Removes the measurements of a source.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropSource {
    pub source: u8,
    /// By earlier steps.
    pub removed: u64,
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
        let mut step = Step::default();
        let done = step.run(turn, self.source)?;
        let removed = self.removed + step.removed;
        let gone = step.finish(turn)?;
        if !gone.is_empty() {
            turn.send(world::actor().name, &Forget { country: country.clone(), targets: gone, country_too: false })?;
        }
        if !done {
            let next = DropSource { source: self.source, removed };
            let now = turn.now;
            return turn.schedule(DROP, now, &next);
        }
        let known = SOURCES.get(turn, &(self.source,))?.is_some();
        SOURCES.delete(turn, &(self.source,));
        if known {
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
    networks: BTreeMap<u32, u64>,
}

impl Step {
    /// Removes the next cells of a source; true when none is left.
    fn run(&mut self, turn: &mut Turn<'_>, source: u8) -> Result<bool> {
        let mut range = ENTRIES.range();
        loop {
            let rows = ENTRIES.scan(turn, &range, Direction::Ascending, ROWS_AT_ONCE)?;
            let last = rows.last().map(|(key, _)| key.clone());
            for (key, records) in rows {
                if key.3 == source {
                    self.row(turn, &key, records.0.len() / ENTRY_LEN)?;
                }
                if self.changes >= MAX_CHANGES {
                    return Ok(false);
                }
            }
            match last {
                // Rows of other sources stay and are passed over.
                Some(last) => range.start = ENTRIES.prefix(&last).end.unwrap_or_default(),
                None => return Ok(true),
            }
        }
    }

    fn row(&mut self, turn: &mut Turn<'_>, key: &PartKey, entries: usize) -> Result<()> {
        let (target, day, asn, source, _) = key.clone();
        let entries = entries as u64;
        ENTRIES.delete(turn, key);
        let cell: CellKey = (target.clone(), day, asn, source);
        self.changes += 9 + packed::remove(&ROW_HASHES, turn, &cell)?;
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
        *self.networks.entry(asn).or_default() += entries;
        Ok(())
    }

    /// Corrects the rows that sum up what was removed; the targets of which nothing is left.
    fn finish(self, turn: &mut Turn<'_>) -> Result<BTreeSet<String>> {
        for (asn, removed) in self.networks {
            let Some(mut row) = NETWORKS.get(turn, &(asn,))? else { continue };
            row.entries = row.entries.saturating_sub(removed);
            if row.entries == 0 { NETWORKS.delete(turn, &(asn,)) } else { NETWORKS.put(turn, &(asn,), &row)? }
        }
        let mut gone = BTreeSet::new();
        for (target, removed) in self.targets {
            let key = (target.clone(),);
            let range = ENTRIES.prefix(&key);
            match (ENTRIES.first(turn, &range)?, ENTRIES.last(turn, &range)?, TARGETS.get(turn, &key)?) {
                (Some((first, _)), Some((last, _)), Some(mut row)) => {
                    row.entries = row.entries.saturating_sub(removed);
                    (row.first_day, row.last_day) = (first.1, last.1);
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

/// Removes every block list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropLists {
    /// By earlier steps.
    pub removed: u64,
}

impl Operation for DropLists {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "drop_lists";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
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
            return turn.schedule(DROP_LISTS, now, &DropLists { removed });
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
