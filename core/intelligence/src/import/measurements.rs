//! Imports measurements: parses them, groups them and folds them by country.

use std::collections::BTreeSet;
use std::io::{self, BufRead};

use futures_util::StreamExt;

use super::group::{Groups, Sorted, text};
use super::runs::{self, Merge};
use super::{CountryResult, ImportKind, Importer, Options, Summary};
use crate::country::{Fold, FoldPreview, FoldReport};
use crate::{Error, ErrorCode, Result, Timestamp};
use engine::runtime::{self, Runtime};
use engine::time::DAY;
use facts::measurement::types::{CLOCK_AHEAD, Rejection};
use facts::measurement::{
    Fingerprints, ImportCounts, ImportError, Parsed, censored_planet, ooni_document, ooni_fastpath, ooni_observations,
};
use facts::source::Source;

/// Whether this kind consists of measurements.
pub(super) fn is_kind(kind: ImportKind) -> bool {
    use ImportKind::{CensoredPlanet, OoniFastpath, OoniMeasurements, OoniObservations};
    matches!(kind, OoniMeasurements | OoniObservations | OoniFastpath | CensoredPlanet)
}

/// How many countries are folded at a time, and how many folds of one country are under way at a time.
#[derive(Clone, Copy)]
pub(super) struct Width {
    countries: usize,
    folds: usize,
}

/// Few at a time, because each country may be an object of the edge runtime.
pub(super) const NARROW: Width = Width { countries: 6, folds: 1 };
/// So many that there is enough work for each commit, since the answers come only when a commit is done.
pub(super) const WIDE: Width = Width { countries: 12, folds: 6 };

/// How far ahead of our time the clock of a probe may be.
const AHEAD: i64 = DAY;
/// 1 January 2012, in seconds since the epoch. No source measured before.
const EARLIEST: Timestamp = Timestamp::from_seconds(1_325_376_000);

/// Counts of measurements that could be read but cannot be used, by reason.
#[derive(Default)]
struct UnusableCounts {
    elsewhere: u64,
    unknown: u64,
    ahead: u64,
    behind: u64,
}

/// Measurements of some chunks of an import that are stored together, so that rows which a country keeps by target or
/// by network are written once for all of them.
#[derive(Default)]
pub struct Batch {
    counts: ImportCounts,
    groups: Groups,
}

impl Batch {
    /// The number of measurements, including rows that are about no target.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether no line was read.
    pub fn is_empty(&self) -> bool {
        self.counts == ImportCounts::default()
    }

    /// Adds another part of the same import.
    pub fn join(&mut self, other: Batch) {
        self.counts.add(&other.counts);
        self.groups.join(other.groups);
    }

    /// Sorts the batch for storing. If storing fails, the result can be stored again.
    pub fn ready(self) -> Ready {
        Ready { counts: self.counts, sorted: self.groups.sorted() }
    }
}

/// A [`Batch`] in the order in which it is stored.
pub struct Ready {
    counts: ImportCounts,
    sorted: Sorted,
}

impl Ready {
    /// Writes a sorted run, to be merged with other runs of the same import ([`Importer::store_runs`]).
    pub fn write(self, kind: ImportKind, runs: &mut RunCounts, out: &mut impl io::Write) -> io::Result<()> {
        runs::write(&self.sorted, source(kind), out)?;
        runs.0.add(&self.counts());
        Ok(())
    }

    fn counts(&self) -> ImportCounts {
        let mut counts = self.counts.clone();
        counts.move_to_duplicate(self.sorted.repeats);
        counts
    }
}

/// Counts of the rows that were written into sorted runs.
#[derive(Default)]
pub struct RunCounts(ImportCounts);

fn source(kind: ImportKind) -> Source {
    kind.source().unwrap_or(Source::Ooni)
}

pub(super) fn parse(
    kind: ImportKind,
    reader: &mut dyn BufRead,
    limit: u64,
    fingerprints: &Fingerprints,
    options: &Options,
    now: Timestamp,
) -> Result<Batch> {
    let only = options.country.as_deref();
    let mut groups = Groups::default();
    let mut left = UnusableCounts::default();
    let mut sink = |parsed: Parsed| {
        if facts::starter::Country::by_code(parsed.country_code()).is_none() {
            left.unknown += 1;
        } else if only.is_some_and(|only| only != parsed.country_code()) {
            left.elsewhere += 1;
        } else if parsed.time > now.plus(AHEAD) {
            left.ahead += 1;
        } else if parsed.time < EARLIEST {
            left.behind += 1;
        } else {
            groups.add(parsed);
        }
    };
    let counts = match kind {
        ImportKind::OoniMeasurements => ooni_document::import(reader, limit, fingerprints, &mut sink),
        ImportKind::OoniObservations => ooni_observations::import(reader, limit, fingerprints, &mut sink),
        ImportKind::CensoredPlanet => censored_planet::import(reader, limit, fingerprints, &mut sink),
        _ => ooni_fastpath::import(reader, limit, &mut sink),
    };
    let mut counts = counts.map_err(refuse)?;
    counts.take_back(left.elsewhere, Rejection::Unusable("other_country"));
    counts.take_back(left.unknown, Rejection::Refused("unknown_country"));
    // A probe whose clock is wrong cannot tell the hour of its measurements.
    counts.take_back(left.ahead, CLOCK_AHEAD);
    counts.take_back(left.behind, Rejection::Unusable("clock_behind"));
    Ok(Batch { counts, groups })
}

/// The error for a chunk that cannot be read at all.
pub(crate) fn refuse(error: ImportError) -> Error {
    match error {
        ImportError::TooLarge(_) => Error::new(crate::ErrorCode::PayloadTooLarge, error.to_string()),
        _ => Error::bad_request(format!("The data cannot be read: {error}.")),
    }
}

pub(super) async fn fold(rt: &dyn Runtime, importer: &Importer, ready: &Ready, width: Width) -> Result<Summary> {
    let mut summary = Summary::new(importer);
    let mut counts = ready.counts();
    let work = ready.sorted.countries().map(|code| one(rt, importer, &ready.sorted, code, width.folds));
    let mut results = futures_util::stream::iter(work).buffer_unordered(width.countries);
    let mut removed = None;
    while let Some((country, result, repeats)) = results.next().await {
        counts.move_to_duplicate(repeats);
        match result {
            Ok(result) => {
                summary.complete &= result.error.is_none();
                summary.countries.insert(country, result);
            }
            Err(error) => removed = Some(error),
        }
    }
    summary.counts = counts;
    removed.map_or(Ok(summary), Err)
}

/// Folds the part of one country and stops at its first failure. A failure is reported in the result, so that other
/// countries go on. Only the removal of the source ends the whole import.
async fn one(
    rt: &dyn Runtime,
    importer: &Importer,
    sorted: &Sorted,
    code: [u8; 2],
    at_once: usize,
) -> (String, Result<CountryResult>, u64) {
    let country = text(code);
    let folds = sorted.folds(code, source(importer.kind), importer.epoch);
    let mut result = CountryResult::default();
    let mut repeats = 0;
    let work = folds.into_iter().map(|fold| send(rt, &country, fold, importer.options.dry_run));
    let mut reports = futures_util::stream::iter(work).buffered(at_once);
    while let Some(report) = reports.next().await {
        match report {
            Ok(report) => {
                result.count(&report);
                repeats += report.repeats;
            }
            Err(error) if error.code == ErrorCode::Conflict => {
                drop(reports);
                return (country, Err(error), repeats);
            }
            Err(error) => {
                result.fail(&error);
                break;
            }
        }
    }
    drop(reports);
    (country, Ok(result), repeats)
}

/// Folds sorted runs in their common order. Failures are handled as in [`fold`].
pub(super) async fn fold_runs<R: io::Read>(
    rt: &dyn Runtime,
    importer: &Importer,
    counts: &RunCounts,
    mut merge: Merge<R>,
) -> Result<Summary> {
    let mut summary = Summary::new(importer);
    let mut counts = counts.0.clone();
    let mut failed: BTreeSet<[u8; 2]> = BTreeSet::new();
    let mut under_way = futures_util::stream::FuturesUnordered::new();
    loop {
        while under_way.len() < RUN_FOLDS
            && let Some((code, fold)) = merge.next_fold().map_err(Error::internal)?
        {
            if !failed.contains(&code) {
                under_way.push(async move { (code, send(rt, &text(code), fold, importer.options.dry_run).await) });
            }
        }
        let Some((code, report)) = under_way.next().await else { break };
        let result = summary.countries.entry(text(code)).or_default();
        match report {
            Ok(report) => {
                result.count(&report);
                counts.move_to_duplicate(report.repeats);
            }
            Err(error) if error.code == ErrorCode::Conflict => return Err(error),
            Err(error) => {
                result.fail(&error);
                failed.insert(code);
            }
        }
    }
    counts.move_to_duplicate(merge.repeats);
    summary.complete = failed.is_empty();
    summary.counts = counts;
    Ok(summary)
}

/// Folds of merged runs that are under way at a time.
const RUN_FOLDS: usize = 12;

impl CountryResult {
    fn count(&mut self, report: &FoldReport) {
        self.new += report.new;
        self.known += report.known;
    }

    fn fail(&mut self, error: &Error) {
        self.error = Some(format!("{}: {}", error.code.as_str(), error.message));
    }
}

/// Sends a fold until all of its cells are folded.
async fn send(rt: &dyn Runtime, country: &str, mut fold: Fold, dry_run: bool) -> Result<FoldReport> {
    if dry_run {
        return runtime::query(rt, country, &FoldPreview(fold)).await;
    }
    let mut all = FoldReport::default();
    loop {
        let report = runtime::call(rt, country, &fold).await?;
        all.add(&report);
        if report.cells >= fold.cells.len() {
            return Ok(all);
        }
        if report.cells == 0 {
            return Err(Error::internal("a fold that folds nothing"));
        }
        fold.cells.drain(..report.cells);
    }
}
