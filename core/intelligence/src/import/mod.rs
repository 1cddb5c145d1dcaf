//! Imports: sends a stream of any supported kind, chunk by chunk, to the actors that keep its rows.
//!
//! The same functions serve the operator's endpoint (one chunk per request) and the command line (a whole file). They
//! read a self-contained [`chunk`], parse it, [`group`] its measurements by country and cell, and fold them. Memory is
//! bounded by the size of a chunk. A file on the command line is first sorted outside of memory ([`runs`]), so that
//! each row is written once. Everything is idempotent: a chunk that failed half-way is sent again as a whole (decision
//! repeatable-import-chunks).
//!
//! | Module | What |
//! |---|---|
//! | [`chunk`] | cutting a stream into chunks |
//! | [`group`] | gathering measurements by country and cell |
//! | `http` | the operator's endpoint |
//! | `lists` | imports of reference data |
//! | `looks` | recognizing the kind of some data |
//! | `measurements` | imports of measurements |
//! | `removal` | imports and removals of one source exclude each other |
//! | `reported` | imports of reported events and of counts by day |
//! | `runs` | imports larger than memory |

pub mod chunk;
pub mod group;
mod http;
mod lists;
mod looks;
mod measurements;
pub(crate) mod removal;
mod reported;
pub(crate) mod runs;

pub use chunk::{Chunker, Cut};
pub use http::ROUTES;
pub use looks::{Looks, looks};
pub(crate) use measurements::refuse;
pub use measurements::{Batch, Ready, RunCounts};
use runs::Merge;

use std::collections::BTreeMap;
use std::io::BufRead;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::{self, NoteImport};
use crate::{Error, ErrorCode, Result, Timestamp};
use engine::runtime::{self, Runtime};
use facts::measurement::{Fingerprints, ImportCounts, blocklist, json, ooni_aggregation};
use facts::source::Source;

/// Bytes of one chunk after inflation that the endpoint reads, at most (decision repeatable-import-chunks).
pub const MAX_CHUNK: usize = 4 << 20;

/// The kinds of data that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImportKind {
    /// Raw OONI documents, JSON lines.
    OoniMeasurements,
    /// Rows of the OONI observation table, CSV.
    OoniObservations,
    /// Rows of the OONI fastpath table, JSON lines.
    OoniFastpath,
    /// A test list, CSV.
    TestList,
    /// Block page fingerprints, CSV or JSON lines.
    Fingerprints,
    /// A block list of one country.
    Blocklist,
    /// The table of networks, CSV.
    Asn,
    /// Platforms and their hosts, CSV or separated by tabs.
    Targets,
    /// Dates of elections, CSV.
    Elections,
    /// Hyperquack and Satellite lines of Censored Planet, JSON lines.
    CensoredPlanet,
    /// Answers of OONI's aggregation, JSON or CSV.
    OoniAggregation,
    /// A shutdown table with the columns of the table of Access Now.
    Shutdowns,
    /// Answers of IODA, JSON, or its table of investigated outages, CSV.
    Ioda,
    /// Outage annotations of Cloudflare Radar, JSON.
    Radar,
    /// Outages that the operator recorded, CSV or JSON lines.
    Outages,
    /// Incidents that OONI publishes, JSON.
    OoniIncidents,
}

impl ImportKind {
    pub const ALL: [ImportKind; 16] = [
        ImportKind::OoniMeasurements,
        ImportKind::OoniObservations,
        ImportKind::OoniFastpath,
        ImportKind::TestList,
        ImportKind::Fingerprints,
        ImportKind::Blocklist,
        ImportKind::Asn,
        ImportKind::Targets,
        ImportKind::Elections,
        ImportKind::CensoredPlanet,
        ImportKind::OoniAggregation,
        ImportKind::Shutdowns,
        ImportKind::Ioda,
        ImportKind::Radar,
        ImportKind::Outages,
        ImportKind::OoniIncidents,
    ];

    /// The name on the command line and in the path of the endpoint.
    pub const fn as_str(self) -> &'static str {
        match self {
            ImportKind::OoniMeasurements => "ooni-measurements",
            ImportKind::OoniObservations => "ooni-observations",
            ImportKind::OoniFastpath => "ooni-fastpath",
            ImportKind::TestList => "test-list",
            ImportKind::Fingerprints => "fingerprints",
            ImportKind::Blocklist => "blocklist",
            ImportKind::Asn => "asn",
            ImportKind::Targets => "targets",
            ImportKind::Elections => "elections",
            ImportKind::CensoredPlanet => "censored-planet",
            ImportKind::OoniAggregation => "ooni-aggregation",
            ImportKind::Shutdowns => "shutdowns",
            ImportKind::Ioda => "ioda",
            ImportKind::Radar => "radar",
            ImportKind::Outages => "outages",
            ImportKind::OoniIncidents => "ooni-incidents",
        }
    }

    /// The source that the data come from; `None` for reference lists.
    pub const fn source(self) -> Option<Source> {
        match self {
            ImportKind::OoniMeasurements | ImportKind::OoniObservations | ImportKind::OoniFastpath => {
                Some(Source::Ooni)
            }
            ImportKind::CensoredPlanet => Some(Source::CensoredPlanet),
            ImportKind::OoniAggregation => Some(Source::OoniCounts),
            ImportKind::Shutdowns => Some(Source::AccessNow),
            ImportKind::Ioda => Some(Source::Ioda),
            ImportKind::Radar => Some(Source::Radar),
            ImportKind::Outages => Some(Source::Outages),
            ImportKind::OoniIncidents => Some(Source::OoniIncidents),
            ImportKind::TestList
            | ImportKind::Fingerprints
            | ImportKind::Blocklist
            | ImportKind::Asn
            | ImportKind::Targets
            | ImportKind::Elections => None,
        }
    }

    /// The name under which [`world::NoteImport`] keeps the result of the last import.
    pub fn source_id(self) -> &'static str {
        self.source().map_or(self.as_str(), Source::id)
    }

    pub fn parse(text: &str) -> Option<ImportKind> {
        ImportKind::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// How its streams are cut into chunks.
    pub fn cut(self) -> Cut {
        match self {
            ImportKind::OoniMeasurements | ImportKind::OoniFastpath | ImportKind::CensoredPlanet => {
                Cut { quotes: false, is_header: |_| false, is_whole: |_| false }
            }
            // A document of many lines is one record, JSON lines are cut at line ends, and the rest is CSV.
            ImportKind::OoniAggregation
            | ImportKind::Ioda
            | ImportKind::Radar
            | ImportKind::Outages
            | ImportKind::OoniIncidents => {
                Cut { quotes: true, is_header: |line| !json::begins(line), is_whole: json::is_spread }
            }
            ImportKind::Fingerprints => {
                Cut { quotes: true, is_header: |line| !json::begins(line), is_whole: |_| false }
            }
            // Most lists have no header, so their first line is an entry, and no entry may be counted twice.
            ImportKind::Blocklist => Cut { quotes: true, is_header: blocklist::is_header, is_whole: |_| false },
            _ => Cut { quotes: true, is_header: |_| true, is_whole: |_| false },
        }
    }
}

/// Kind of a block list (decision kinds-of-lists). The number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum ListKind {
    /// Lists of others, often made for routing. They are shown as `listed` and never set a status.
    Community = 0,
    Official = 1,
    Court = 2,
    Leak = 3,
}

impl ListKind {
    pub const ALL: [ListKind; 4] = [ListKind::Community, ListKind::Official, ListKind::Court, ListKind::Leak];

    pub const fn as_str(self) -> &'static str {
        match self {
            ListKind::Community => "community",
            ListKind::Official => "official",
            ListKind::Court => "court",
            ListKind::Leak => "leak",
        }
    }

    pub fn parse(text: &str) -> Option<ListKind> {
        ListKind::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    pub fn from_code(code: u8) -> Option<ListKind> {
        ListKind::ALL.into_iter().find(|kind| *kind as u8 == code)
    }

    /// Whether lists of this kind can set the status `known_list` (decision kinds-of-lists).
    pub const fn sets_status(self) -> bool {
        !matches!(self, ListKind::Community)
    }
}

/// The parameters of an import.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// For block lists: the country that the list is about, required. For other kinds: only this country is imported,
    /// and rows of events or counts that name no country belong to it.
    pub country: Option<String>,
    /// For test lists: `global` or the country code that the list is named after; default `global`. For fingerprints as
    /// JSON lines: `blockpage_signatures` or `false_positive_signatures`, required.
    pub list: Option<String>,
    /// For block lists; default community.
    pub list_kind: Option<ListKind>,
    /// For block lists: the date of the list, which must not be in the future; default today.
    pub date: Option<Timestamp>,
    /// Only counts, and changes nothing.
    pub dry_run: bool,
    /// The `epoch` in the answer to an earlier part of the same import. With it this part is refused if the source was
    /// removed since then.
    pub epoch: Option<u64>,
}

/// The result for the rows of one country.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountryResult {
    /// New measurements (counted per target), or list entries.
    pub new: u64,
    /// Measurements that were already known.
    pub known: u64,
    /// Why the part of this country failed. Send it again; rows that were stored do not change.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

/// The answer to an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ImportSummary")]
pub struct Summary {
    pub kind: String,
    pub dry_run: bool,
    #[serde(flatten)]
    pub counts: ImportCounts,
    /// Results by country code.
    pub countries: BTreeMap<String, CountryResult>,
    /// False when the part of a country failed and must be sent again.
    pub complete: bool,
    /// Give this value with further parts of the same import.
    #[serde(default)]
    pub epoch: u64,
}

impl Summary {
    fn new(importer: &Importer) -> Self {
        let (kind, dry_run) = (importer.kind.as_str().to_owned(), importer.options.dry_run);
        Summary { kind, dry_run, complete: true, epoch: importer.epoch, ..Summary::default() }
    }

    /// Adds the summary of another chunk of the same import.
    pub fn add(&mut self, other: &Summary) {
        self.counts.add(&other.counts);
        self.complete &= other.complete;
        self.epoch = other.epoch;
        for (country, result) in &other.countries {
            let known = self.countries.entry(country.clone()).or_default();
            known.new += result.new;
            known.known += result.known;
            known.error = result.error.clone().or(known.error.take());
        }
    }
}

/// The state that all chunks of one import share.
pub struct Importer {
    kind: ImportKind,
    options: Options,
    fingerprints: Fingerprints,
    epoch: u64,
}

impl Importer {
    /// Prepares an import. For measurements it loads the present fingerprints.
    pub async fn new(rt: &dyn Runtime, kind: ImportKind, mut options: Options) -> Result<Self> {
        let fingerprints = match kind {
            ImportKind::OoniMeasurements | ImportKind::OoniObservations | ImportKind::CensoredPlanet => {
                crate::reference::fingerprints(rt).await?
            }
            _ => Fingerprints::default(),
        };
        if let Some(code) = &options.country {
            let country = facts::starter::Country::by_code(code)
                .ok_or_else(|| Error::bad_request(format!("`country` must be an ISO 3166 code, not {code:?}.")))?;
            options.country = Some(country.code.to_owned());
        } else if kind == ImportKind::Blocklist {
            return Err(Error::bad_request("A block list needs `country`."));
        }
        if options.date.is_some_and(|date| date > rt.now()) {
            return Err(Error::bad_request("`date` must not be in the future; it is read as UTC."));
        }
        let epoch = removal::epoch(rt, kind, options.epoch).await?;
        Ok(Importer { kind, options, fingerprints, epoch })
    }

    /// Refuses data that is certainly of another kind, and names that kind. Half of a test list would pass for a block
    /// list.
    fn check(&self, chunk: &[u8]) -> Result<()> {
        let found = looks(chunk);
        match found.contradict(self.kind) {
            true => {
                Err(Error::bad_request(format!("This is not `{}`: {}.", self.kind.as_str(), found.words(self.kind))))
            }
            false => Ok(()),
        }
    }

    /// Adds to the error about a chunk what the data looks like, where that helps.
    fn named<T>(&self, done: Result<T>, chunk: &[u8]) -> Result<T> {
        done.map_err(|error| match looks(chunk).words(self.kind) {
            words if error.code == ErrorCode::BadRequest && !words.is_empty() => {
                Error::bad_request(format!("{} The data may be of another kind: {words}.", error.message))
            }
            _ => error,
        })
    }

    /// Imports one self-contained chunk. An error is about the whole chunk; faults of single lines are counted.
    pub async fn chunk(&self, rt: &dyn Runtime, chunk: &[u8]) -> Result<Summary> {
        let done = match self.check(chunk) {
            Ok(()) => self.named(self.stream(rt, &mut { chunk }, u64::MAX).await, chunk),
            Err(error) => Err(error),
        };
        if !self.options.dry_run {
            self.note(rt, &done).await?;
        }
        done
    }

    /// Whether chunks of this kind can be stored together with others.
    pub fn gathers(&self) -> bool {
        measurements::is_kind(self.kind)
    }

    /// Reads one self-contained chunk of a kind that [`Importer::gathers`], so that it can be stored with others.
    pub async fn read(&self, rt: &dyn Runtime, chunk: &[u8]) -> Result<Batch> {
        let read = self.check(chunk).and_then(|()| {
            let options = &self.options;
            let read = measurements::parse(self.kind, &mut { chunk }, u64::MAX, &self.fingerprints, options, rt.now());
            self.named(read, chunk)
        });
        if let Err(error) = &read
            && !self.options.dry_run
        {
            self.note(rt, &Err(error.clone())).await?;
        }
        read
    }

    /// Stores a batch that was read, in the same way as [`Importer::chunk`] stores a chunk.
    pub async fn store(&self, rt: &dyn Runtime, ready: &Ready) -> Result<Summary> {
        let done = measurements::fold(rt, self, ready, measurements::WIDE).await;
        if !self.options.dry_run {
            self.note(rt, &done).await?;
        }
        done
    }

    /// Stores sorted runs ([`Ready::write`]).
    pub async fn store_runs<R: std::io::Read>(
        &self,
        rt: &dyn Runtime,
        counts: &RunCounts,
        runs: Vec<R>,
    ) -> Result<Summary> {
        let merge = Merge::new(runs, self.epoch).map_err(Error::internal)?;
        let done = measurements::fold_runs(rt, self, counts, merge).await;
        if !self.options.dry_run {
            self.note(rt, &done).await?;
        }
        done
    }

    /// Notes the result for the list of sources (decision dumps-and-recompute).
    async fn note(&self, rt: &dyn Runtime, done: &Result<Summary>) -> Result<()> {
        let (counts, error) = match done {
            Ok(summary) => {
                let failed = summary.countries.iter().find_map(|(code, result)| Some((code, result.error.as_ref()?)));
                (summary.counts.clone(), failed.map(|(code, error)| format!("{code}: {error}")))
            }
            Err(error) => (ImportCounts::default(), Some(error.message.to_string())),
        };
        let (source, kind) = (self.kind.source_id().to_owned(), self.kind.as_str().to_owned());
        runtime::call(rt, world::actor().name, &NoteImport { source, kind, counts, error }).await
    }

    /// Like [`Importer::chunk`], but reads at most `limit` bytes after inflation from a reader.
    async fn stream(&self, rt: &dyn Runtime, mut reader: impl BufRead, limit: u64) -> Result<Summary> {
        match self.kind {
            kind if measurements::is_kind(kind) => {
                let parsed =
                    measurements::parse(self.kind, &mut reader, limit, &self.fingerprints, &self.options, rt.now())?;
                drop(reader);
                measurements::fold(rt, self, &parsed.ready(), measurements::NARROW).await
            }
            ImportKind::OoniAggregation => {
                let country = self.options.country.as_deref();
                let (counts, rows) =
                    ooni_aggregation::read(&mut reader, limit, country, rt.now()).map_err(measurements::refuse)?;
                drop(reader);
                reported::store_counts(rt, self, counts, rows).await
            }
            ImportKind::Shutdowns
            | ImportKind::Ioda
            | ImportKind::Radar
            | ImportKind::Outages
            | ImportKind::OoniIncidents => {
                let (source, country) =
                    (self.kind.source().unwrap_or(Source::Outages), self.options.country.as_deref());
                let (counts, events) = facts::reported::read(source, &mut reader, limit, country, rt.now())
                    .map_err(measurements::refuse)?;
                drop(reader);
                reported::store_events(rt, self, source, counts, events).await
            }
            _ => {
                let parsed = lists::parse(self.kind, &mut reader, limit, &self.options, rt.now())?;
                drop(reader);
                lists::store(rt, self, parsed).await
            }
        }
    }
}

/// Imports a whole stream (plain or gzip) in chunks of about `chunk_bytes`. After each chunk `progress` gets the
/// summary so far.
pub async fn import(
    rt: &dyn Runtime,
    kind: ImportKind,
    options: Options,
    reader: &mut (dyn BufRead + Send),
    chunk_bytes: usize,
    progress: &mut (dyn FnMut(&Summary) + Send),
) -> Result<Summary> {
    let importer = Importer::new(rt, kind, options).await?;
    let mut summary = Summary::new(&importer);
    let mut chunker = Chunker::new(reader, kind.cut(), chunk_bytes).map_err(chunk::bad_request)?;
    while let Some(chunk) = chunker.next_chunk().map_err(chunk::bad_request)? {
        summary.add(&importer.chunk(rt, &chunk).await?);
        progress(&summary);
    }
    Ok(summary)
}
