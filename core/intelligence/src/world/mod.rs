//! The actor that sees all countries. It keeps the latest summary of each country and target and the index, and passes
//! on the controls and priors that countries give each other.
//!
//! | Module | What |
//! |---|---|
//! | `chronicle` | the measured days of every series in all countries |
//! | `documents` | the index as JSON and CSV, and the overview |
//! | `elsewhere` | how many measurements other countries had during a silence |
//! | `exchange` | controls and priors that countries give each other |
//! | `failing` | how often a target fails in other countries at the same time |
//! | `imports` | what each source gave: events in short, numbers of rows, its last import |
//! | [`index`] | the censorship index |
//! | `methodology` | how the answers are computed |
//! | `outages` | countries with active incidents |
//! | `shutdowns` | telling countries that a shutdown table is imported |
//! | `survey` | short rows about a site in all countries |
//! | `sweep` | work that goes through many countries |

mod chronicle;
mod documents;
mod elsewhere;
mod exchange;
mod failing;
mod imports;
pub mod index;
mod methodology;
mod outages;
mod shutdowns;
mod survey;
mod sweep;

pub use chronicle::{Chronicle, NoteDays};
pub(crate) use documents::{
    ComponentBody, IndexBody, OoniBody, OverviewBody, SourceLicense, components, effective_license, index_csv,
    index_json, name, ooni, outage_status, overview, source_licenses,
};
pub use documents::{FAMILIES, INDEX_CSV, INDEX_JSON, LICENSE, METHODOLOGY, OVERVIEW};
pub use elsewhere::{AskElsewhere, Elsewhere, VolumeDays};
pub use exchange::{DAYS_AT_ONCE, PeerDays, SendPriors};
pub use failing::{Compare, FailingBlocks};
pub use imports::{
    EventHistory, EventMark, ForgetGiven, ForgetImports, GivenEvents, ImportRow, NoteImport, SourceRows, SourceState,
    SourceTotal,
};
pub use methodology::{Methodology, methodology};
pub use outages::{Outage, SetOutage};
use survey::Latest;
pub use survey::{Glance, SitesBeginning, SurveyOf, Surveyed};
pub use sweep::{
    ChangedAnswer, ForgetTargets, SourceEpoch, StartSweep, SweepProgress, SweepState, Swept, Task, Unlisted,
};

use serde::{Deserialize, Serialize};

use crate::country::State;
use crate::{Result, Timestamp, analytics, forecast, risk};
use engine::actor::{ActorId, Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Direction, Row, Table};
use facts::verdict::constants::{AGE_LIMIT, AGE_LIMIT_MESSAGING};

pub const ENTRIES: &[Entry] = &[
    operation::<Summarize>(),
    operation::<NoteDays>(),
    operation::<ListedIn>(),
    operation::<PeerDays>(),
    operation::<SendPriors>(),
    operation::<VolumeDays>(),
    operation::<FailingBlocks>(),
    operation::<elsewhere::TouchAsked>(),
    operation::<Compare>(),
    operation::<failing::AskToCount>(),
    operation::<failing::AnswerDue>(),
    operation::<failing::TellFailing>(),
    operation::<AskElsewhere>(),
    operation::<elsewhere::AnswerNext>(),
    operation::<StartSweep>(),
    operation::<sweep::Continue>(),
    operation::<Swept>(),
    operation::<ForgetTargets>(),
    operation::<Unlisted>(),
    operation::<shutdowns::TellShutdowns>(),
    operation::<SetOutage>(),
    query::<SweepState>(),
    query::<SourceEpoch>(),
    query::<ReadCountries>(),
    query::<SurveyOf>(),
    query::<SitesBeginning>(),
    query::<Chronicle>(),
    query::<ReadOverview>(),
    operation::<GivenEvents>(),
    operation::<ForgetGiven>(),
    operation::<NoteImport>(),
    operation::<ForgetImports>(),
    operation::<crate::fetch::NoteFetch>(),
    query::<crate::fetch::FetchRows>(),
    query::<EventHistory>(),
    query::<SourceState>(),
];

/// The one world actor.
pub fn actor() -> ActorId {
    ActorId::sole(Kind::World)
}

/// A network in a summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkSummary {
    pub asn: u32,
    pub name: Option<String>,
    pub measurements: u32,
    /// Measurements among them that are counted at this target and at no other.
    pub counted: u32,
    /// Votes in the network's window, and the blocked ones among them. However often one probe measured in an hour,
    /// that is one vote (decision vote-per-hour).
    pub votes: u32,
    pub blocked: u32,
    pub state: State,
}

impl NetworkSummary {
    /// The share of blocked votes, 0 to 1; 0 without votes.
    pub fn block_rate(&self) -> f64 {
        block_rate([self]).map_or(0.0, engine::number::round)
    }

    /// How many of these measurements are behind blocked votes, in proportion to the votes.
    pub fn blocked_part(&self, measurements: u32) -> u32 {
        let part = u64::from(measurements) * u64::from(self.blocked);
        let (votes, half) = (u64::from(self.votes), u64::from(self.votes) / 2);
        (part + half).checked_div(votes).and_then(|part| u32::try_from(part).ok()).unwrap_or(0)
    }
}

/// What a summary says about a network in addition to [`NetworkSummary`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkDetail {
    /// Dotted name; only for a blocking network.
    pub technique: Option<String>,
    #[serde(with = "engine::kv::moment")]
    pub last_checked: Timestamp,
}

/// The latest verdict of a series in a country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetSummary {
    /// Empty in stored rows, because their key has it.
    pub target: String,
    pub state: State,
    #[serde(with = "basis")]
    pub basis: String,
    #[serde(with = "engine::kv::fraction")]
    pub confidence: f64,
    /// Measurements inside the age limit.
    pub evidence: u32,
    /// Measurements among them that are counted here and at no other target. Summed over targets, each measurement
    /// counts once.
    pub counted: u32,
    /// The same for the last seven days.
    pub of_week: u32,
    #[serde(with = "engine::kv::float")]
    pub blocked_weight: f64,
    pub networks_blocked: u32,
    pub networks_tested: u32,
    pub methods: Vec<String>,
    pub technique: Option<String>,
    /// Networks with votes.
    pub networks: Vec<NetworkSummary>,
    #[serde(with = "engine::kv::moment")]
    pub last_checked: Timestamp,
    #[serde(with = "engine::kv::fraction::option")]
    pub failure_rate: Option<f64>,
    pub sources: Vec<String>,
    /// Details of `networks`, in the same order.
    pub details: Vec<NetworkDetail>,
}

/// Stores the basis, which is one of three words, as a number.
mod basis {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use facts::verdict::national::Basis;

    const WORDS: [&str; 3] = [Basis::Measured.as_str(), Basis::KnownList.as_str(), Basis::Unmeasured.as_str()];

    pub fn serialize<S: Serializer>(word: &String, serializer: S) -> Result<S::Ok, S::Error> {
        WORDS.iter().position(|known| known == word).ok_or(word).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        let word: Result<usize, String> = Result::deserialize(deserializer)?;
        Ok(word.map_or_else(|other| other, |at| WORDS.get(at).map_or_else(String::new, |word| (*word).to_owned())))
    }
}

impl TargetSummary {
    /// Splits off the name, because the key of the row has it.
    pub fn split(mut self) -> (String, TargetSummary) {
        (std::mem::take(&mut self.target), self)
    }

    /// The summary of a stored row, with the name from its key.
    pub fn named(self, target: String) -> TargetSummary {
        TargetSummary { target, ..self }
    }

    /// Whether measurements decide that it is blocked.
    pub fn is_measured_block(&self) -> bool {
        self.state == State::Blocked && self.basis == "measured"
    }

    /// Whether measurements decide its state.
    pub fn is_decided(&self) -> bool {
        self.state != State::Unknown && self.basis == "measured"
    }

    /// Networks with their details.
    pub fn detailed(&self) -> impl Iterator<Item = (&NetworkSummary, Option<&NetworkDetail>)> {
        self.networks.iter().enumerate().map(|(at, network)| (network, self.details.get(at)))
    }

    /// The share of blocked votes; 0 without votes.
    pub fn block_rate(&self) -> f64 {
        block_rate(&self.networks).unwrap_or(0.0)
    }
}

/// The share of blocked votes on some networks; `None` without votes.
pub fn block_rate<'a>(networks: impl IntoIterator<Item = &'a NetworkSummary>) -> Option<f64> {
    let (mut votes, mut blocked) = (0_u64, 0_u64);
    for network in networks {
        votes += u64::from(network.votes);
        blocked += u64::from(network.blocked);
    }
    (votes > 0).then(|| blocked as f64 / votes as f64)
}

/// How much a source gave a country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceSummary {
    pub source: String,
    pub licence: String,
    pub measurements: u64,
    pub rows: u64,
    pub last_seen: Timestamp,
}

/// The summary of a country at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountrySummary {
    pub country: String,
    pub at: Timestamp,
    /// Measurements of the last seven days, inside the age limit, and of all time. Each measurement counts once.
    pub week: u64,
    pub recent: u64,
    pub total: u64,
    /// Networks with measurements inside the age limit.
    pub networks: u32,
    pub domains: u32,
    pub domains_blocked: u32,
    pub domains_accessible: u32,
    /// Targets that measurements decide: domains and roles of services.
    pub decided: u32,
    /// The share of blocked votes among all votes that count.
    pub anomaly_rate: f64,
    /// Share of the decided targets that are blocked with a method that only interference shows (a block page, an
    /// injected answer, a forged certificate).
    pub confirmed_rate: f64,
    pub blocked: Vec<String>,
    pub services: Vec<String>,
    pub methods: Vec<String>,
    pub newest: Option<Timestamp>,
    pub index: index::Index,
    pub sources: Vec<SourceSummary>,
}
impl Row for CountrySummary {
    const VERSION: u8 = 2;
}

impl CountrySummary {
    /// When the newest measurement became too old to count; `None` while any counts (decision answers-about-a-time).
    pub fn stale_since(&self) -> Option<Timestamp> {
        stale_since(self.newest, self.recent, self.at)
    }
}

/// Like [`CountrySummary::stale_since`], from the time of the newest measurement and the number of measurements inside
/// the age limit, as of `at`. A measurement that has just come in and is in no verdict yet is not too old.
pub(crate) fn stale_since(newest: Option<Timestamp>, recent: u64, at: Timestamp) -> Option<Timestamp> {
    let newest = newest.filter(|_| recent == 0)?;
    [AGE_LIMIT, AGE_LIMIT_MESSAGING].map(|limit| newest.plus(limit)).into_iter().find(|since| *since <= at)
}

/// By (series, country).
const TARGETS: Table<(String, String), Latest> = Table::derived(16);
const COUNTRIES: Table<(String,), CountrySummary> = Table::new(17);

/// Domains on lists that set a status; the key is (domain, country).
const LISTED: Table<(String, String), ()> = Table::new(21);

/// A country reports domains on one of its lists that sets a status (decision kinds-of-lists).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ListedIn {
    pub country: String,
    /// The domains that the country stored in one operation.
    pub domains: Vec<String>,
}

impl Operation for ListedIn {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "listed_in";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for domain in self.domains {
            LISTED.put(turn, &(domain, self.country.clone()), &())?;
        }
        Ok(())
    }
}

/// A country reports summaries that changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Summarize {
    pub country: String,
    pub targets: Vec<TargetSummary>,
    pub summary: Option<CountrySummary>,
}

impl Operation for Summarize {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "summarize";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for summary in self.targets {
            let row = Latest::from(&summary);
            let key = (summary.target, self.country.clone());
            let before = TARGETS.get(turn, &key)?;
            if before.as_ref().and_then(|before| before.failure_rate) != row.failure_rate {
                exchange::prior_changed(turn, &key.0)?;
            }
            if before.as_ref() != Some(&row) {
                TARGETS.put(turn, &key, &row)?;
            }
            if before.is_none() {
                failing::measures(turn, &key.0)?;
            }
        }
        if let Some(summary) = self.summary {
            risk::scores::note(turn, &summary)?;
            forecast::note(turn, &summary)?;
            let key = (self.country,);
            let before = COUNTRIES.get(turn, &key)?;
            COUNTRIES.put(turn, &key, &summary)?;
            if before.is_none() {
                shutdowns::soon(turn)?;
            }
            if before.and_then(|before| before.index.score) != summary.index.score {
                let summaries = summaries(&turn.view())?;
                analytics::rank::tell(turn, &summaries)?;
            }
            for document in [documents::INDEX_JSON, documents::INDEX_CSV, documents::OVERVIEW, METHODOLOGY] {
                turn.publish(document)?;
            }
        }
        Ok(())
    }
}

/// Countries with measurements.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadCountries;

impl Query for ReadCountries {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "countries";
    type Reply = Vec<String>;

    fn run(self, view: &View<'_>) -> Result<Vec<String>> {
        // Read only the codes, because a summary may name a thousand sites.
        let rows = crate::risk::ReadScores.run(view)?;
        Ok(rows.into_iter().map(|(country, _)| country).collect())
    }
}

/// The latest summaries of all countries.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadOverview;

impl Query for ReadOverview {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "overview";
    type Reply = Vec<CountrySummary>;

    fn run(self, view: &View<'_>) -> Result<Vec<CountrySummary>> {
        summaries(view)
    }
}

fn summaries(view: &View<'_>) -> Result<Vec<CountrySummary>> {
    let rows = COUNTRIES.scan(view, &COUNTRIES.range(), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|(_, summary)| summary).collect())
}
