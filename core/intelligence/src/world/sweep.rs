//! Work that goes through many countries, some at a time by timer: removing a source (decision licence-and-removal) and
//! computing every verdict again after a change of the rules (decision dumps-and-recompute).

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{COUNTRIES, LISTED, TARGETS, chronicle, documents, exchange};
use crate::country::{DropLists, DropSource, Recompute, State};
use crate::import::removal;
use crate::{Result, Timestamp, risk};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Row, Table};

/// Countries informed in one step.
const AT_ONCE: usize = 20;
/// Most changed answers that a report lists; all are counted.
const LISTED_CHANGES: usize = 500;
/// Rows deleted in one step.
const ROWS_AT_ONCE: usize = 500;

/// The work to do in every country.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Task {
    Recompute,
    /// Removes the measurements of a source, by its code.
    DropSource(u8),
    /// Removes all block lists.
    DropLists,
}

impl Task {
    fn key(self) -> u16 {
        match self {
            Task::Recompute => 0,
            Task::DropLists => 1,
            Task::DropSource(code) => 0x100 | u16::from(code),
        }
    }
}

/// An answer that changed with a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedAnswer {
    pub country: String,
    pub target: String,
    pub before: Option<State>,
    pub after: Option<State>,
}

/// The progress of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepProgress {
    pub started: Timestamp,
    pub countries: u32,
    pub done: u32,
    /// Verdicts computed, or measurements and list entries removed.
    pub handled: u64,
    pub changed: u64,
    pub changes: Vec<ChangedAnswer>,
}
impl Row for SweepProgress {}

const SWEEPS: Table<(u16,), SweepProgress> = Table::derived(22);
/// How often a sweep of each task was started. An import carries the number from its beginning, so that a removal can
/// refuse it.
const EPOCHS: Table<(u16,), u64> = Table::derived(24);
/// Countries that are not informed yet.
const WAITING: Table<(u16, String), ()> = Table::derived(23);

/// Starts a sweep. If one is under way, it goes on and is the answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StartSweep {
    pub task: Task,
    pub countries: BTreeSet<String>,
}

impl Operation for StartSweep {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "start_sweep";
    type Reply = SweepProgress;

    fn run(self, turn: &mut Turn<'_>) -> Result<SweepProgress> {
        let key = self.task.key();
        if let Some(running) = SWEEPS.get(turn, &(key,))?.filter(|sweep| sweep.done < sweep.countries) {
            return Ok(running);
        }
        if matches!(self.task, Task::DropSource(_)) {
            crate::forecast::source_dropped(turn)?;
        }
        let countries = u32::try_from(self.countries.len()).unwrap_or(u32::MAX);
        let sweep = SweepProgress { started: turn.now, countries, ..SweepProgress::default() };
        SWEEPS.put(turn, &(key,), &sweep)?;
        let epoch = EPOCHS.get(turn, &(key,))?.unwrap_or_default();
        EPOCHS.put(turn, &(key,), &(epoch + 1))?;
        for country in self.countries {
            WAITING.put(turn, &(key, country), &())?;
        }
        let now = turn.now;
        turn.schedule("sweep", now, &Continue { task: self.task })?;
        Ok(sweep)
    }
}

/// Informs the next countries.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Continue {
    pub task: Task,
}

impl Operation for Continue {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "continue_sweep";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = self.task.key();
        let epoch = EPOCHS.get(turn, &(key,))?.unwrap_or_default();
        let waiting = WAITING.scan(turn, &WAITING.prefix(&(key,)), Direction::Ascending, AT_ONCE)?;
        for ((_, country), ()) in &waiting {
            WAITING.delete(turn, &(key, country.clone()));
            match self.task {
                Task::Recompute => turn.send(country.clone(), &Recompute)?,
                Task::DropSource(source) => turn.send(country.clone(), &DropSource { source, removed: 0, epoch })?,
                Task::DropLists => turn.send(country.clone(), &DropLists { removed: 0, epoch })?,
            }
        }
        let now = turn.now;
        if waiting.len() == AT_ONCE {
            return turn.schedule("sweep", now, &self);
        }
        // Another sweep may have been started meanwhile.
        match WAITING.first(turn, &WAITING.range())? {
            Some(((0, _), ())) => turn.schedule("sweep", now, &Continue { task: Task::Recompute }),
            Some(((1, _), ())) => turn.schedule("sweep", now, &Continue { task: Task::DropLists }),
            Some(((key, _), ())) => {
                let source = u8::try_from(key & 0xff).unwrap_or(0);
                turn.schedule("sweep", now, &Continue { task: Task::DropSource(source) })
            }
            None => Ok(()),
        }
    }
}

/// A country has done its part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Swept {
    pub task: Task,
    pub handled: u64,
    pub changed: u64,
    pub changes: Vec<ChangedAnswer>,
}

impl Operation for Swept {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "swept";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = (self.task.key(),);
        let mut sweep = SWEEPS.get(turn, &key)?.unwrap_or_default();
        sweep.done += 1;
        sweep.handled += self.handled;
        sweep.changed += self.changed;
        let room = LISTED_CHANGES.saturating_sub(sweep.changes.len());
        sweep.changes.extend(self.changes.into_iter().take(room));
        Ok(SWEEPS.put(turn, &key, &sweep)?)
    }
}

/// How often the data of a task were removed. Fails while they are being removed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceEpoch {
    pub task: Task,
}

impl Query for SourceEpoch {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "source_epoch";
    type Reply = u64;

    fn run(self, view: &View<'_>) -> Result<u64> {
        let key = (self.task.key(),);
        match SWEEPS.get(view, &key)? {
            Some(sweep) if sweep.done < sweep.countries => Err(removal::running()),
            _ => Ok(EPOCHS.get(view, &key)?.unwrap_or_default()),
        }
    }
}

/// The last sweep of a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SweepState {
    pub task: Task,
}

impl Query for SweepState {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "sweep_state";
    type Reply = Option<SweepProgress>;

    fn run(self, view: &View<'_>) -> Result<Option<SweepProgress>> {
        Ok(SWEEPS.get(view, &(self.task.key(),))?)
    }
}

/// A country has no measurements of some targets any more. With `country_too`, it has no measurements at all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForgetTargets {
    pub country: String,
    pub targets: BTreeSet<String>,
    pub country_too: bool,
}

impl Operation for ForgetTargets {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forget";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for target in self.targets {
            TARGETS.delete(turn, &(target.clone(), self.country.clone()));
            chronicle::forget(turn, &target, &self.country);
            exchange::prior_changed(turn, &target)?;
        }
        if self.country_too {
            risk::scores::forget(turn, &self.country);
            COUNTRIES.delete(turn, &(self.country,));
            let summaries = super::summaries(&turn.view())?;
            crate::analytics::rank::tell(turn, &summaries)?;
            for document in [documents::INDEX_JSON, documents::INDEX_CSV, documents::OVERVIEW] {
                turn.publish(document)?;
            }
        }
        Ok(())
    }
}

/// Domains that no list of a country names any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unlisted {
    pub country: String,
    pub domains: BTreeSet<String>,
}

impl Operation for Unlisted {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "unlisted";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for domain in self.domains.into_iter().take(ROWS_AT_ONCE) {
            LISTED.delete(turn, &(domain, self.country.clone()));
        }
        Ok(())
    }
}
