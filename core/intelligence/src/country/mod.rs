//! Countries. One actor per ISO code holds the measurements of its country and answers from them.
//!
//! | Module | What |
//! |---|---|
//! | `tables`, `packed` | what is stored |
//! | `fold` | storing measurements, idempotent in any order |
//! | `lists`, `listed` | block lists about the country; what they say is blocked |
//! | `noise`, `noisy` | how often sessions fail where nobody blocks; new verdicts when that changed |
//! | `kinds` | how much of each kind of site is blocked, towards which beliefs move |
//! | `votes` | from entries to the votes and verdicts of networks |
//! | `judged` | the measurements of a series with their votes, in blocks of days |
//! | `evidence`, `timeline` | a judged series at any time, and at the end of each of many days |
//! | `answer`, `explain` | the answer to a question, and its explanation |
//! | `course` | the verdicts on a series at many moments |
//! | `refresh` | new verdicts after a change, by timer; effects to [`crate::world`] |
//! | `changes` | when blocking began and ended: incidents, by timer |
//! | `active` | the active incidents of the country |
//! | `days` | the measured days of each series, for the world |
//! | `past` | scores of days before the server knew the country, by timer |
//! | `probed` | measurements of probes: which of them count, and the trust in each probe |
//! | `attested` | what agents attest, beside the measurements |
//! | `rollup` | turning old measurements into counts |
//! | `instrument` | failures that follow a software version |
//! | `distinct` | counting measurements |
//! | `witnesses` | the measurements behind an incident, page by page |
//! | `dump` | monthly aggregates |
//! | `drop` | removing a source |
//! | `events` | outages, shutdowns and blocks that other sources report |
//! | `shutdowns` | how much of the last year the country was switched off |
//! | `day_counts` | counts of days that a source summed up itself |
//! | `inbox` | messages of the world and the reference actor |
//! | `summary`, `documents` | the country as a whole |
//! | `routes` | the endpoints |

mod active;
pub(crate) mod answer;
pub(crate) mod attested;
pub(crate) mod changes;
mod course;
mod day_counts;
mod days;
mod distinct;
pub(crate) mod documents;
mod drop;
mod dump;
mod events;
mod evidence;
mod explain;
mod fold;
mod inbox;
mod instrument;
pub(crate) mod judged;
mod kinds;
mod listed;
mod lists;
mod noise;
mod noisy;
mod packed;
pub(crate) mod past;
pub(crate) mod probed;
mod refresh;
mod rollup;
pub(crate) mod routes;
mod shutdowns;
mod summary;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod timeline;
mod votes;
mod witnesses;

pub use active::{Active, SetActive, ShowActive, active_at};
pub use answer::{Detect, Detection, Listing, MAX_SUBJECTS, NetworkAnswer, RoleAnswer, State};
pub use attested::AttestationEvidence;
pub use changes::{CountFailures, FailingElsewhere, SetElsewhere, SetFailing};
pub(crate) use changes::{begin, networks_heard};
pub use course::{MomentVerdict, ReadCourse};
pub use day_counts::{AddDayCounts, COUNTS_AT_ONCE, DayCountRows, DayCountsPreview};
pub use days::{MeasuredDays, SeriesDays, TellAllDays};
pub use documents::FAMILIES;
pub use drop::{DropLists, DropSource};
pub use dump::{Dump, DumpPage, DumpRow, dump_span};
pub(crate) use events::ordered_days;
pub use events::{AddEvents, EVENTS_AT_ONCE, Events, EventsPreview, EventsReport};
pub(crate) use evidence::hours;
pub(crate) use explain::uncounted;
pub use explain::{Explanation, ExplanationBody, sentence};
pub(crate) use fold::needs_peers;
pub use fold::{Cell, Fold, FoldPreview, FoldReport, MAX_COST};
pub use inbox::{RateElsewhere, SetCatalogue, SetNetworks, SetOutside, SetRatesElsewhere};
pub use instrument::InstrumentFault;
pub use listed::{ListedBlock, ListedBlocks, ListedHere};
pub use lists::{AddListed, ListedPreview};
pub(crate) use packed::BLOCK_DAYS;
pub use refresh::Recompute;
pub use rollup::{Prefix, prefix};
pub use routes::{ClassifyResult, ROUTES, SweepBody, classify_one};
pub use shutdowns::SetShutdownTable;
pub use summary::{CountMeasurements, HistoryDay, LastHeard, ReadMeasuredDays, ReadSummary, Verdicts, strictest};
pub(crate) use summary::{first_days, latest, listed, summary, verdicts_and_summary};
pub(crate) use tables::LISTS_EPOCH;
pub use tables::{Catalogue, MAX_WITNESSES, Peers, RULES_VERSION, WitnessRow, Witnesses};
pub use witnesses::{CountWitnesses, WitnessPage, WitnessPlace};

use engine::actor::{Entry, operation, query};

pub const ENTRIES: &[Entry] = &[
    operation::<Fold>(),
    operation::<AddListed>(),
    operation::<AddEvents>(),
    operation::<AddDayCounts>(),
    operation::<refresh::Refresh>(),
    operation::<refresh::Requeue>(),
    operation::<Recompute>(),
    operation::<changes::FindChanges>(),
    operation::<changes::Spread>(),
    operation::<SetElsewhere>(),
    operation::<CountFailures>(),
    operation::<SetFailing>(),
    operation::<rollup::RollUp>(),
    operation::<DropSource>(),
    operation::<DropLists>(),
    operation::<SetNetworks>(),
    operation::<SetCatalogue>(),
    operation::<SetOutside>(),
    operation::<inbox::SetPriors>(),
    operation::<SetRatesElsewhere>(),
    operation::<SetShutdownTable>(),
    operation::<SetActive>(),
    operation::<ShowActive>(),
    operation::<TellAllDays>(),
    operation::<past::JudgePastDays>(),
    operation::<noisy::JudgeFailing>(),
    operation::<attested::SetAttested>(),
    operation::<attested::EndAttestations>(),
    operation::<probed::AddProbed>(),
    operation::<probed::SetProbe>(),
    operation::<probed::CompareProbes>(),
    operation::<probed::JudgeAgain>(),
    query::<FoldPreview>(),
    query::<ListedPreview>(),
    query::<EventsPreview>(),
    query::<Events>(),
    query::<DayCountsPreview>(),
    query::<DayCountRows>(),
    query::<Detect>().keeping(answer::remembered),
    query::<ReadCourse>(),
    query::<ReadSummary>(),
    query::<ListedHere>(),
    query::<Verdicts>(),
    query::<ReadMeasuredDays>(),
    query::<CountMeasurements>(),
    query::<LastHeard>(),
    query::<WitnessPage>(),
    query::<CountWitnesses>(),
    query::<Dump>(),
];
