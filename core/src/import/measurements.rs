//! Imports of measurements: parse, group, fold by country.

use std::io::BufRead;

use futures_util::StreamExt;

use super::group::Groups;
use super::{CountryResult, ImportKind, Importer, Options, Summary};
use crate::country::{Fold, FoldPreview, Source};
use crate::measurement::types::Rejection;
use crate::measurement::{
    Fingerprints, ImportCounts, ImportError, Parsed, censored_planet, ooni_document, ooni_fastpath, ooni_observations,
};
use crate::runtime::{self, Runtime};
use crate::time::DAY;
use crate::{Error, ErrorCode, Result, Timestamp};

/// Countries whose folds are under way at one time.
const AT_ONCE: usize = 6;
/// How far a probe's clock may be ahead of ours.
const CLOCK_AHEAD: i64 = DAY;
/// 1 January 2012: no source has measured before.
const EARLIEST: Timestamp = Timestamp::from_seconds(1_325_376_000);

/// What a measurement cannot be used for, though it could be read.
#[derive(Default)]
struct Left {
    elsewhere: u64,
    unknown: u64,
    ahead: u64,
    behind: u64,
}

pub(super) struct Chunk {
    counts: ImportCounts,
    groups: Groups,
}

pub(super) fn parse(
    kind: ImportKind,
    reader: &mut dyn BufRead,
    limit: u64,
    fingerprints: &Fingerprints,
    options: &Options,
    now: Timestamp,
) -> Result<Chunk> {
    let only = options.country.as_deref();
    let mut groups = Groups::default();
    let mut left = Left::default();
    let mut sink = |parsed: Parsed| {
        if crate::starter::Country::by_code(parsed.country_code()).is_none() {
            left.unknown += 1;
        } else if only.is_some_and(|only| only != parsed.country_code()) {
            left.elsewhere += 1;
        } else if parsed.time > now.plus(CLOCK_AHEAD) {
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
    // A probe whose clock is wrong says nothing of any hour (methods 4.1 step 1).
    counts.take_back(left.ahead, Rejection::Unusable("clock_ahead"));
    counts.take_back(left.behind, Rejection::Unusable("clock_behind"));
    Ok(Chunk { counts, groups })
}

/// A chunk that cannot be read at all.
pub(super) fn refuse(error: ImportError) -> Error {
    match error {
        ImportError::TooLarge(_) => Error::new(crate::ErrorCode::PayloadTooLarge, error.to_string()),
        _ => Error::bad_request(format!("The data cannot be read: {error}.")),
    }
}

pub(super) async fn fold(rt: &dyn Runtime, importer: &Importer, chunk: Chunk) -> Result<Summary> {
    let Chunk { mut counts, groups } = chunk;
    let mut summary = Summary::new(importer);
    counts.move_to_duplicate(groups.repeats.values().sum());
    let folds = groups.folds(importer.kind.source().unwrap_or(Source::Ooni), importer.epoch).into_iter();
    let work = folds.map(|(country, folds)| one(rt, country, folds, importer.options.dry_run));
    let mut results = futures_util::stream::iter(work).buffer_unordered(AT_ONCE);
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

/// Folds one country's part; stops at its first failure, which is reported, not raised: other countries go on. Only the
/// removal of the source ends the whole import.
async fn one(
    rt: &dyn Runtime,
    country: String,
    folds: Vec<Fold>,
    dry_run: bool,
) -> (String, Result<CountryResult>, u64) {
    let mut result = CountryResult::default();
    let mut repeats = 0;
    for fold in folds {
        let report = if dry_run {
            runtime::query(rt, country.clone(), &FoldPreview(fold)).await
        } else {
            runtime::call(rt, country.clone(), &fold).await
        };
        match report {
            Ok(report) => {
                result.new += report.new;
                result.known += report.known;
                repeats += report.repeats;
            }
            Err(error) if error.code == ErrorCode::Conflict => return (country, Err(error), repeats),
            Err(error) => {
                result.error = Some(format!("{}: {}", error.code.as_str(), error.message));
                break;
            }
        }
    }
    (country, Ok(result), repeats)
}
