//! The position of each job, in rows of the world actor.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Row, StoreError, Table, appended};

const FETCHES: Table<(String,), FetchRow> = Table::new(53);

/// The position of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchRow {
    /// Where the window begins that is requested next.
    pub cursor: Timestamp,
    /// Rows of the window that were already read.
    pub offset: u64,
    /// Time before which no request is made.
    pub next: Timestamp,
    /// Failures in a row.
    pub failures: u32,
    /// The time and the text of the last failure.
    pub error: Option<(Timestamp, String)>,
    /// Time of the last answer that was imported.
    pub success: Option<Timestamp>,
    /// The page that is requested next, in the form of the source; `None` at the begin of a window.
    pub page: Option<String>,
    /// Windows that were given up after many failures, the latest last.
    pub set_aside: Vec<SetAside>,
}

impl Row for FetchRow {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> std::result::Result<Self, StoreError> {
        appended(version, 1, bytes, &[0, 0])
    }
}

/// A window from which not everything was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    pub from: Timestamp,
    pub until: Timestamp,
    /// When it was given up, and because of which error.
    pub at: Timestamp,
    pub error: String,
}

/// Windows set aside that are remembered, at most.
const REMEMBERED: usize = 50;
/// How often a window is requested before it is set aside.
const TRIES: u32 = 5;
/// Each window set aside since the last success doubles the tries of the next window, up to this many times: then it is
/// rather the source that fails.
const PATIENCE: u32 = 4;

impl FetchRow {
    /// Whether the window from `cursor` to `until` failed often enough to be set aside. Each window set aside since the
    /// last success doubles the number of tries. A window that was set aside before is given up after one failure.
    pub fn is_hopeless(&self, until: Timestamp) -> bool {
        if self.set_aside.iter().any(|window| window.from < until && window.until > self.cursor) {
            return true;
        }
        let since = self.set_aside.iter().rev().take_while(|window| self.success.is_none_or(|at| window.at > at));
        let doubled = u32::try_from(since.count()).unwrap_or(PATIENCE).min(PATIENCE);
        self.failures >= TRIES << doubled
    }

    /// The position after setting aside the window that ends at `until`.
    pub fn without(mut self, until: Timestamp, error: &str, now: Timestamp) -> FetchRow {
        self.set_aside.retain(|window| window.from >= until || window.until <= self.cursor);
        self.set_aside.push(SetAside { from: self.cursor, until, at: now, error: error.to_owned() });
        let over = self.set_aside.len().saturating_sub(REMEMBERED);
        self.set_aside.drain(..over);
        FetchRow { cursor: until, offset: 0, page: None, failures: 0, next: now, ..self }
    }

    /// Forgets windows set aside that were read in the meantime.
    pub fn read_through(&mut self, from: Timestamp, until: Timestamp) {
        self.set_aside.retain(|window| window.from < from || window.until > until);
    }
}

/// Moves a job on. If its position is no longer `before`, another step was faster, and nothing changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NoteFetch {
    pub job: String,
    pub before: FetchRow,
    pub after: FetchRow,
}

impl Operation for NoteFetch {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "note_fetch";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = (self.job,);
        match FETCHES.get(turn, &key)? {
            Some(now) if now != self.before => Ok(()),
            _ => Ok(FETCHES.put(turn, &key, &self.after)?),
        }
    }
}

/// Asks for the positions of all jobs that ever made a step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FetchRows;

impl Query for FetchRows {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "fetch_rows";
    type Reply = BTreeMap<String, FetchRow>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let rows = FETCHES.scan(view, &FETCHES.range(), Direction::Ascending, 100)?;
        Ok(rows.into_iter().map(|((job,), row)| (job, row)).collect())
    }
}
