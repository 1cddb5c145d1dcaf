//! Where each job stands: rows of the world actor.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::actor::{Kind, Operation, Query, Turn, View};
use crate::kv::{Direction, Row, Table};
use crate::{Result, Timestamp};

const FETCHES: Table<(String,), FetchRow> = Table::new(53);

/// Where a job stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchRow {
    /// Where the window begins that is asked for next.
    pub cursor: Timestamp,
    /// Rows of the window that are read already.
    pub offset: u64,
    /// No request before.
    pub next: Timestamp,
    /// Failures in a row.
    pub failures: u32,
    /// The last failure, and when it was.
    pub error: Option<(Timestamp, String)>,
    /// The last answer that was imported.
    pub success: Option<Timestamp>,
}
impl Row for FetchRow {}

/// Moves a job on. When it stands elsewhere by now, another step was faster, and this one changes nothing.
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

/// Every job that ever made a step.
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
