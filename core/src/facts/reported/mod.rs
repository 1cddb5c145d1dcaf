//! Events that others report: outages, shutdowns, blocks with a beginning and mostly an end.
//!
//! They are no measurements: they corroborate incidents found by measuring, become incidents of their own, and are the
//! history that forecasts learn from. Each has an identity within its source, so importing it again changes nothing and
//! a later version of it replaces the earlier one.

//!
//! | Module | Format |
//! |---|---|
//! | [`shutdowns`] | shutdown tables with the columns of Access Now's STOP data set, CSV |
//! | [`ioda`] | IODA answers (events in both forms, alerts) and its table of investigated outages |
//! | [`radar`] | outage annotations of Cloudflare Radar |
//! | [`findings`] | incidents that OONI publishes, JSON |
//! | [`curated`] | outages that an operator writes down, CSV or JSON lines |
//! | [`place`], [`moment`] | countries and dates as such sources write them |
//! | [`report`] | what all parsers share: counting rows, identities, bounds |

pub mod curated;
pub mod findings;
pub mod ioda;
pub mod place;
pub mod radar;
pub mod report;
#[cfg(test)]
mod several_tests;
pub mod shutdowns;
#[cfg(test)]
mod tests;

pub use report::{AHEAD, Reported, Rows};

use std::io::BufRead;

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::engine::kv::Row;
use crate::engine::time::{DAY, SECOND};
use crate::facts::measurement::{ImportCounts, ImportError};
use crate::facts::source::Source;

/// Reads a stream of one source of events. `country` stands in where a row names none; `now` bounds what may begin.
pub fn read(
    source: Source,
    reader: &mut dyn BufRead,
    limit: u64,
    country: Option<&str>,
    now: Timestamp,
) -> Result<(ImportCounts, Vec<Reported>), ImportError> {
    let mut rows = Rows::new(source, country, now);
    match source {
        Source::AccessNow => shutdowns::read(reader, limit, &mut rows)?,
        Source::Ioda => ioda::read(reader, limit, &mut rows)?,
        Source::Radar => radar::read(reader, limit, &mut rows)?,
        Source::OoniIncidents => findings::read(reader, limit, &mut rows)?,
        _ => curated::read(reader, limit, &mut rows)?,
    }
    Ok(rows.finish())
}

/// Stands among the services of an event for those whose names the source does not tell.
pub const UNNAMED: &str = "unnamed services";

/// What happened, as the source says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EventKind {
    /// Connectivity was lost or reduced; nobody says by whose will.
    Outage,
    /// Connectivity was switched off on purpose.
    Shutdown,
    /// Connectivity was slowed on purpose.
    Throttling,
    /// Named services were blocked.
    Block,
}

/// How much of the country.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// One or more networks.
    Network,
    /// One or more areas.
    Regional,
    National,
}

/// Who or what caused it, as far as the source says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cause {
    Unknown,
    /// A government or an authority ordered it.
    Ordered,
    /// Power, cable, weather, a mistake, an attack: anything nobody ordered to keep people offline.
    Accident,
}

/// One event in one country. A source's row about several countries becomes several events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub source: Source,
    /// The source's own id, else the first 16 hex digits of SHA-256 over what identifies the row; unique in the source
    /// and country.
    pub id: String,
    /// ISO 3166 alpha-2.
    pub country: String,
    pub kind: EventKind,
    pub scope: Scope,
    pub cause: Cause,
    pub start: Timestamp,
    /// `None` when it goes on or the source does not say.
    pub end: Option<Timestamp>,
    /// Of an event without an end: up to when the source said that it went on; `None` when it never said so. Where a
    /// later report names an end, it stays and says nothing.
    pub heard: Option<Timestamp>,
    /// Whether the source gives only days: `start` is then midnight UTC of the first day, `end` and `heard` that after the
    /// last. Who gives the end by the second all the same has it a second later.
    pub days_only: bool,
    /// Networks that the source names.
    pub asns: Vec<u32>,
    /// Services that the source names: platform slugs, domains, other names in lower case.
    pub services: Vec<String>,
    /// Areas as the source names them.
    pub areas: Vec<String>,
    /// The source's word for the cause or occasion (an election, an exam, a protest) in its own vocabulary, then what else it
    /// says of it.
    pub occasion: Option<String>,
    /// How sure or how strong, 0 to 1, where the source grades it.
    pub score: Option<f64>,
    /// https, about this event.
    pub url: Option<String>,
}
impl Row for Event {}

impl Event {
    /// The last moment that the source speaks of, and whether it ended then. Without an end it is known to go on until
    /// then, and to have begun where nobody ever said that it goes on. No source speaks of what is to come but for an end or
    /// a beginning that it announces.
    pub fn last(&self, now: Timestamp) -> (Timestamp, bool) {
        // The end of a day belongs to that day.
        let last = |at: Timestamp| if self.days_only { at.plus(-SECOND) } else { at };
        match (self.end, self.heard) {
            (Some(end), _) => (last(end), true),
            // Who gives days may know by the second when somebody last said so.
            (None, Some(heard)) => {
                let heard = if heard.0.rem_euclid(DAY) == 0 { last(heard) } else { heard };
                (heard.min(now).max(self.start), false)
            }
            (None, None) => (self.start, false),
        }
    }
}
