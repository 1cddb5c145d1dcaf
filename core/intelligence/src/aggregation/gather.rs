//! Asking the countries for counts, page by page, and adding them up.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};

use super::axis::{Axis, AxisValue};
use super::count::{
    CountBy, CountPlace, CountVotes, Group, MeasuredSeries, SERIES_AT_ONCE, TestName, VoteCounts, days,
};
use super::question::{AggregationQuestion, too_broad};
use crate::analytics::CategoriesOf;
use crate::country::routes::AT_ONCE;
use crate::world::{self, SurveyOf};
use crate::{Error, Result};
use engine::http::Cx;
use engine::runtime;
use facts::subject::is_role;

/// Measurements that an answer may read, at most.
pub const MAX_MEASUREMENTS: u64 = 2_000_000;
/// Rows of an answer, at most.
pub const MAX_ROWS: usize = 50_000;

/// Rows by their values on the axes, in the order of the axes.
pub type CountRows = BTreeMap<Vec<AxisValue>, VoteCounts>;

/// All that was counted.
#[derive(Debug, Default)]
pub struct Gathered {
    pub rows: CountRows,
    /// Measurements that were read.
    pub read: u64,
    /// Codes of the sources of what was counted.
    pub sources: BTreeSet<u8>,
}

/// A country with the series that are to be counted in it.
struct Place {
    code: String,
    series: Vec<String>,
}

/// Counts what a question asks for.
pub async fn gather(cx: &Cx, question: &AggregationQuestion) -> Result<Gathered> {
    let codes = codes(cx, question).await?;
    let work = codes.into_iter().map(|code| async move { measured(cx, question, code).await });
    let found: Vec<Result<(Place, u64)>> = stream::iter(work).buffered(AT_ONCE).collect().await;
    let found = found.into_iter().collect::<Result<Vec<_>>>()?;
    let expected: u64 = found.iter().map(|(_, expected)| expected).sum();
    if expected > MAX_MEASUREMENTS {
        return Err(too_broad(format!(
            "This is about {expected} measurements, and an answer reads at most {MAX_MEASUREMENTS}. Name domains or \
             countries, or ask for a shorter range."
        )));
    }
    let categories = categories(cx, question, found.iter().flat_map(|(place, _)| &place.series)).await?;
    let work = found.into_iter().map(|(place, _)| counted(cx, question, &categories, place));
    let mut counted = Box::pin(stream::iter(work).buffered(AT_ONCE));
    let mut gathered = Gathered::default();
    while let Some(more) = counted.next().await {
        let Gathered { rows, read, sources } = more?;
        gathered.read += read;
        gathered.sources.extend(sources);
        add(&mut gathered.rows, rows)?;
    }
    Ok(gathered)
}

/// The countries of a question: those that it names, or all that measured one of its series.
async fn codes(cx: &Cx, question: &AggregationQuestion) -> Result<Vec<String>> {
    if !question.countries.is_empty() {
        return Ok(question.countries.iter().map(|country| country.code.to_owned()).collect());
    }
    let survey = SurveyOf { targets: question.series.clone() };
    let seen = runtime::query(&*cx.rt, world::actor().name, &survey).await?.seen;
    let codes: BTreeSet<String> = seen.into_iter().map(|glance| glance.country).collect();
    Ok(codes.into_iter().collect())
}

/// The series that a question is about in a country, with about how many measurements they have in its range.
async fn measured(cx: &Cx, question: &AggregationQuestion, code: String) -> Result<(Place, u64)> {
    let (first, end) = days(question.range.from, question.range.end);
    let of = (!question.series.is_empty()).then(|| question.series.clone());
    let mut asked = MeasuredSeries { of, first, last: end.saturating_sub(1), after: None };
    let (mut series, mut expected) = (Vec::new(), 0);
    loop {
        let (page, more) = runtime::query(&*cx.rt, code.clone(), &asked).await?;
        asked.after = page.last().map(|(name, _)| name.clone());
        for (name, measurements) in page {
            if is_of(&question.tests, &name) {
                expected += measurements;
                series.push(name);
            }
        }
        if !more {
            return Ok((Place { code, series }, expected));
        }
    }
}

/// Whether one of these tests counts its measurements at a series.
fn is_of(tests: &[TestName], series: &str) -> bool {
    tests.is_empty() || TestName::of_series(series).is_some_and(|test| tests.contains(&test))
}

/// The categories of domains that lists have, if the question needs them.
async fn categories(
    cx: &Cx,
    question: &AggregationQuestion,
    series: impl Iterator<Item = &String>,
) -> Result<BTreeMap<String, String>> {
    if question.categories.is_empty() && !question.by(Axis::Category) {
        return Ok(BTreeMap::new());
    }
    let domains: BTreeSet<&String> = series.filter(|series| !is_role(series)).collect();
    let domains: Vec<String> = domains.into_iter().cloned().collect();
    let mut known = BTreeMap::new();
    for part in domains.chunks(5_000) {
        let asked = CategoriesOf { domains: part.to_vec() };
        let found = runtime::query(&*cx.rt, world::actor().name, &asked).await?;
        known.extend(part.iter().zip(found).filter_map(|(domain, code)| Some((domain.clone(), code?))));
    }
    Ok(known)
}

/// The counts of one country.
async fn counted(
    cx: &Cx,
    question: &AggregationQuestion,
    categories: &BTreeMap<String, String>,
    Place { code, mut series }: Place,
) -> Result<Gathered> {
    if !question.categories.is_empty() {
        series.retain(|name| categories.get(name).is_some_and(|code| question.categories.contains(code)));
    }
    let mut gathered = Gathered::default();
    for part in series.chunks(SERIES_AT_ONCE) {
        let mut place: Option<CountPlace> = None;
        loop {
            let asked = CountVotes {
                series: part.to_vec(),
                from: question.range.from,
                end: question.range.end,
                networks: question.networks.clone(),
                tests: question.tests.clone(),
                by: by(question),
                place,
            };
            let page = runtime::query(&*cx.rt, code.clone(), &asked).await?;
            gathered.read += page.read;
            gathered.sources.extend(page.sources);
            for (group, counts) in page.groups {
                let name = part.get(group.series as usize).ok_or_else(|| Error::internal("a group of no series"))?;
                let value = |axis: &Axis| value(*axis, &group, &code, name, categories);
                let key: Vec<AxisValue> = question.axes.iter().map(value).collect();
                gathered.rows.entry(key).or_default().add(&counts);
            }
            within(gathered.rows.len())?;
            match page.next {
                Some(next) => place = Some(next),
                None => break,
            }
        }
    }
    Ok(gathered)
}

/// What a country counts by, so that the axes of a question can be told.
fn by(question: &AggregationQuestion) -> CountBy {
    CountBy {
        grain: question.by(Axis::Day).then_some(question.grain),
        network: question.by(Axis::Network),
        series: question.by(Axis::Domain) || question.by(Axis::Category),
        blocking: question.by(Axis::BlockingType),
        test: question.by(Axis::TestName),
    }
}

fn value(axis: Axis, group: &Group, code: &str, series: &str, categories: &BTreeMap<String, String>) -> AxisValue {
    match axis {
        Axis::Day => AxisValue::Begin(group.begin),
        Axis::Country => AxisValue::Text(code.to_owned()),
        Axis::Network => AxisValue::Number(group.asn),
        Axis::Domain => AxisValue::Text(series.to_owned()),
        Axis::Category => AxisValue::Text(categories.get(series).cloned().unwrap_or_default()),
        Axis::BlockingType => AxisValue::Blocking(group.blocking),
        Axis::TestName => AxisValue::Text(group.test.map_or("", TestName::as_str).to_owned()),
    }
}

fn within(rows: usize) -> Result<()> {
    match rows > MAX_ROWS {
        true => Err(too_broad(format!(
            "The answer has more than {MAX_ROWS} rows. Ask for a shorter range, a coarser grain or fewer axes."
        ))),
        false => Ok(()),
    }
}

fn add(rows: &mut CountRows, more: CountRows) -> Result<()> {
    for (key, counts) in more {
        rows.entry(key).or_default().add(&counts);
    }
    within(rows.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_countries_add_up_and_too_many_are_refused() {
        let counts = |ok| VoteCounts { ok, ..VoteCounts::default() };
        let row = |n: u32, ok| (vec![AxisValue::Number(n)], counts(ok));
        let mut rows = CountRows::from([row(1, 2), row(3, 4)]);
        add(&mut rows, CountRows::from([row(3, 10), row(2, 1)])).unwrap();
        assert_eq!(rows, CountRows::from([row(1, 2), row(2, 1), row(3, 14)]));
        let most = u32::try_from(MAX_ROWS).unwrap();
        let error = add(&mut rows, (0..=most).map(|n| row(n, 1)).collect()).unwrap_err();
        assert_eq!(error.code, engine::ErrorCode::TooBroad);
    }
}
