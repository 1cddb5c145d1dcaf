//! Events that others report: outages, shutdowns and blocks, with a beginning and mostly an end.
//!
//! They are not measurements. They corroborate measured incidents, become incidents of their own, and are the history
//! that forecasts learn from. Each has an identity within its source. So importing it again changes nothing, and a
//! later version replaces the earlier one.
//!
//! | Module | Format |
//! |---|---|
//! | [`shutdowns`] | shutdown tables with the columns of Access Now's STOP data set, CSV |
//! | [`ioda`] | IODA answers (events in both forms, alerts) and its table of investigated outages |
//! | [`radar`] | outage annotations of Cloudflare Radar |
//! | [`findings`] | incidents that OONI publishes, JSON |
//! | [`curated`] | outages that an operator writes down, CSV or JSON lines |
//! | [`place`] | countries as such sources write them |
//! | [`report`] | the common part of all parsers: counting rows, identities, limits |

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
use crate::measurement::{ImportCounts, ImportError};
use crate::source::Source;
use engine::kv::Row;
use engine::time::{DAY, SECOND};

/// Reads a stream of one source of events. `country` is used where a row names none. `now` limits how far ahead events
/// may begin.
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

/// Entry in the services of an event for services that the source does not name.
pub const UNNAMED: &str = "unnamed services";

/// The kind of an event, as the source reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EventKind {
    /// Connectivity was lost or reduced; no cause is claimed.
    Outage,
    /// Connectivity was switched off on purpose.
    Shutdown,
    /// Connectivity was slowed on purpose.
    Throttling,
    /// Named services were blocked.
    Block,
}

/// The part of the country that an event covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// One or more networks.
    Network,
    /// One or more areas.
    Regional,
    National,
}

/// The cause of an event, as far as the source says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cause {
    Unknown,
    /// A government or an authority ordered it.
    Ordered,
    /// Power, cable, weather, a mistake, an attack: any cause that nobody ordered to keep people offline.
    Accident,
}

/// One event in one country. A source's row about several countries becomes several events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub source: Source,
    /// The source's own id, else the first 16 hex digits of SHA-256 over the identifying values of the row. Unique
    /// within the source and country.
    pub id: String,
    /// ISO 3166 alpha-2.
    pub country: String,
    pub kind: EventKind,
    pub scope: Scope,
    pub cause: Cause,
    pub start: Timestamp,
    /// `None` if the event goes on or the source does not name an end.
    pub end: Option<Timestamp>,
    /// The time until which the source reported that an event without an end went on; `None` if it never reported that.
    /// If a later report names an end, this value stays but has no meaning.
    pub heard: Option<Timestamp>,
    /// True if the source gives only days. Then `start` is midnight UTC of the first day, and `end` and `heard` are the
    /// midnight after the last day. An end that a source gives by the second is stored one second later.
    pub days_only: bool,
    /// Networks that the source names.
    pub asns: Vec<u32>,
    /// Services that the source names: platform slugs, domains, other names in lower case.
    pub services: Vec<String>,
    /// Areas as the source names them.
    pub areas: Vec<String>,
    /// The cause or occasion (an election, an exam, a protest) in the source's vocabulary, followed by its other words
    /// about it.
    pub occasion: Option<String>,
    /// How sure or how strong the event is, 0 to 1, if the source grades it.
    pub score: Option<f64>,
    /// An https address about this event.
    pub url: Option<String>,
}
impl Row for Event {}

impl Event {
    /// The last moment that the source reports about, and whether the event ended then. An event without an end went on
    /// until this moment at least; if the source never said so, the moment is its start. Only an announced end or start
    /// may be in the future.
    pub fn last(&self, now: Timestamp) -> (Timestamp, bool) {
        // An end at midnight belongs to the day before.
        let last = |at: Timestamp| if self.days_only { at.plus(-SECOND) } else { at };
        match (self.end, self.heard) {
            (Some(end), _) => (last(end), true),
            // A source that gives days may still report by the second when the event was last confirmed.
            (None, Some(heard)) => {
                let heard = if heard.0.rem_euclid(DAY) == 0 { last(heard) } else { heard };
                (heard.min(now).max(self.start), false)
            }
            (None, None) => (self.start, false),
        }
    }
}
