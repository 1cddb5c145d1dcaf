//! Incidents: what happened, where, from when to when, and how we know.
//!
//! A country decides from its measurements and from the events of other sources what its incidents are
//! (`country::changes`), and reports each change here. This actor gives incidents ids that are never reused, and keeps
//! every version, the order of changes, and the amendments of operators. The endpoints of incidents read from it.
//!
//! | Module | What |
//! |---|---|
//! | `model`, `unknown` | an incident, and which of its times are unknown |
//! | `tables` | the stored rows |
//! | `record` | reports of countries; ids, versions, order of changes |
//! | `operate`, `disputes` | changes by operators, and objections of readers |
//! | `joined` | incidents that operators merged |
//! | `forget` | removing a source |
//! | `past` | incidents as they were at a moment |
//! | `shown` | all shown incidents in memory, for filters |
//! | `written` | each incident in the form in which answers contain it |
//! | `query` | one incident, pages, changes since a time |
//! | `text`, `schedule` | titles and sentences |
//! | `body` | the members of an incident that clients read |
//! | `documents`, `stats`, `feeds` | the documents that many read: the first page, counts, RSS and Atom |
//! | `search` | similar incidents |
//! | `titles` | suggestions of incidents for what a reader has typed |
//! | `topics` | the topics of incidents |
//! | `counts` | counts by source and by country, for other answers |
//! | `report` | reports in markdown, BibTeX and RIS |
//! | `routes` | the endpoints |

mod body;
mod counts;
mod disputes;
mod documents;
mod feeds;
mod forget;
mod joined;
mod model;
mod operate;
mod past;
mod query;
mod record;
mod report;
mod routes;
mod schedule;
pub mod search;
mod shown;
mod stats;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod titles;
pub mod topics;
mod unknown;
mod written;

pub use body::{IncidentBody, permalink};
pub use counts::{Densities, SourceCounts};
pub use documents::FAMILIES;
pub use forget::ForgetSource;
pub use model::{
    Action, AffectedNetwork, Change, Draft, EVIDENCE_ID, EvidenceRow, INCIDENT_ID, Incident, IncidentType,
    MAX_EVIDENCE, Overrides, ReadableId, Severity, Status, hash_id,
};
pub use past::{Then, stands};
pub use query::{
    Beginnings, Changed, EvidenceOf, Filter, FindIncident, LatestAbout, LatestAboutEach, ReadChanges, Select, Selected,
    VersionOf,
};
pub use record::{MAX_REPORTS, Record, ReportEvent, outage};
pub use routes::{ROUTES, admin, dispute};
pub use schedule::{in_utc as schedule_in_utc, offset};
pub use text::{INTERNET, sentence, title, title_made};
pub use titles::Titled;
pub use unknown::Unknown;

pub use facts::sentence::names::subject as label;

use engine::actor::{ActorId, Entry, Kind, operation, query};

pub const ENTRIES: &[Entry] = &[
    operation::<Record>(),
    operation::<operate::Create>(),
    operation::<operate::OperateIncident>(),
    operation::<ForgetSource>(),
    operation::<search::Learn>(),
    operation::<record::Ended>(),
    operation::<record::OutageFades>(),
    query::<query::Count>(),
    query::<SourceCounts>(),
    query::<Densities>(),
    query::<search::hits::Results>(),
    query::<query::Domains>(),
    query::<query::LastChange>(),
    query::<LatestAbout>(),
    query::<LatestAboutEach>(),
    query::<Beginnings>(),
    operation::<disputes::File>(),
    operation::<disputes::Resolve>(),
    query::<disputes::Disputes>(),
    query::<FindIncident>(),
    query::<Select>(),
    query::<query::ReadListing>(),
    query::<query::ReadIncidents>(),
    query::<query::EvidenceById>(),
    query::<operate::Versions>(),
    query::<ReadChanges>(),
    query::<EvidenceOf>(),
    query::<VersionOf>(),
    query::<search::words::Search>(),
    query::<search::words::ListingOf>(),
    query::<search::words::SelectedOf>(),
    query::<titles::Titled>(),
];

/// The one actor that holds the incidents.
pub fn actor() -> ActorId {
    ActorId::sole(Kind::Incidents)
}
