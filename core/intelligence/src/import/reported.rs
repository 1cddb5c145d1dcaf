//! Imports reported events and counts by day, and sends them to the countries they are about.

use std::collections::BTreeMap;

use futures_util::StreamExt;

use super::{CountryResult, Importer, Summary};
use crate::country::{
    AddDayCounts, AddEvents, COUNTS_AT_ONCE, DayCountsPreview, EVENTS_AT_ONCE, EventsPreview, EventsReport,
};
use crate::{ErrorCode, Result};
use engine::actor::Operation;
use engine::runtime::{self, BoxFuture, Runtime};
use facts::measurement::ImportCounts;
use facts::measurement::ooni_aggregation::DayRow;
use facts::measurement::types::Rejection;
use facts::reported::Reported;
use facts::source::Source;

/// Countries to which parts are sent at a time.
const AT_ONCE: usize = 6;

/// The answer of a country to one part.
struct AddedCounts {
    new: u64,
    known: u64,
    /// Rows that were already known.
    repeats: u64,
}

pub(super) async fn store_events(
    rt: &dyn Runtime,
    importer: &Importer,
    source: Source,
    mut counts: ImportCounts,
    events: Vec<Reported>,
) -> Result<Summary> {
    let mut countries: BTreeMap<String, Vec<Reported>> = BTreeMap::new();
    let mut elsewhere = 0;
    for told in events {
        match &importer.options.country {
            Some(only) if *only != told.event.country => elsewhere += u64::from(told.leads),
            _ => countries.entry(told.event.country.clone()).or_default().push(told),
        }
    }
    counts.take_back(elsewhere, Rejection::Unusable("other_country"));
    let parts = countries.into_iter().flat_map(|(country, events)| {
        let cut =
            |events: &[Reported]| AddEvents { source: source.code(), events: events.to_vec(), epoch: importer.epoch };
        let parts: Vec<AddEvents> = events.chunks(EVENTS_AT_ONCE).map(cut).collect();
        parts.into_iter().map(move |part| (country.clone(), part))
    });
    let dry_run = importer.options.dry_run;
    let send = |country: String, add: AddEvents| -> BoxFuture<'_, Result<AddedCounts>> {
        Box::pin(async move {
            let EventsReport { new, replaced, known, repeats } = match dry_run {
                true => runtime::query(rt, country, &EventsPreview(add)).await?,
                false => runtime::call(rt, country, &add).await?,
            };
            Ok(AddedCounts { new, known: replaced + known, repeats })
        })
    };
    spread(importer, counts, parts.collect(), &send).await
}

pub(super) async fn store_counts(
    rt: &dyn Runtime,
    importer: &Importer,
    counts: ImportCounts,
    rows: Vec<DayRow>,
) -> Result<Summary> {
    let mut countries: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for row in rows {
        countries.entry(row.country).or_default().push((row.day, row.part, row.counts));
    }
    let parts = countries.into_iter().flat_map(|(country, days)| {
        let cut = |days: &[_]| AddDayCounts { days: days.to_vec(), epoch: importer.epoch };
        let parts: Vec<AddDayCounts> = days.chunks(COUNTS_AT_ONCE).map(cut).collect();
        parts.into_iter().map(move |part| (country.clone(), part))
    });
    let dry_run = importer.options.dry_run;
    let send = |country: String, add: AddDayCounts| -> BoxFuture<'_, Result<AddedCounts>> {
        Box::pin(async move {
            let days = add.days.len() as u64;
            let known = match dry_run {
                true => runtime::query(rt, country, &DayCountsPreview(add)).await?,
                false => runtime::call(rt, country, &add).await?,
            };
            Ok(AddedCounts { new: days - known.min(days), known, repeats: known })
        })
    };
    spread(importer, counts, parts.collect(), &send).await
}

/// Sends the parts to some countries at a time. A failure is reported with its country, and the others go on. Only the
/// removal of the source ends the whole import.
async fn spread<'r, O: Operation>(
    importer: &Importer,
    mut counts: ImportCounts,
    parts: Vec<(String, O)>,
    send: &impl Fn(String, O) -> BoxFuture<'r, Result<AddedCounts>>,
) -> Result<Summary> {
    let mut summary = Summary::new(importer);
    let work = parts.into_iter().map(|(country, part)| {
        let sent = send(country.clone(), part);
        async move { (country, sent.await) }
    });
    let mut answers = futures_util::stream::iter(work).buffered(AT_ONCE);
    while let Some((country, told)) = answers.next().await {
        let result: &mut CountryResult = summary.countries.entry(country).or_default();
        match told {
            Ok(told) => {
                result.new += told.new;
                result.known += told.known;
                counts.move_to_duplicate(told.repeats);
            }
            Err(error) if error.code == ErrorCode::Conflict => return Err(error),
            Err(error) => {
                result.error = Some(format!("{}: {}", error.code.as_str(), error.message));
                summary.complete = false;
            }
        }
    }
    summary.counts = counts;
    Ok(summary)
}
