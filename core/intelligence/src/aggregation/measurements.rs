//! `GET /data/measurements`

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::page::{MeasurementPage, MeasurementRow, PagePlace, rule_name};
use super::question::{HourRange, networks};
use crate::analytics::tabular::{MAX_AGE, Tabular, as_csv, wants_csv};
use crate::country::routes::input;
use crate::{Error, Result, Timestamp, reference};
use engine::http::{Cx, Response};
use engine::runtime;
use engine::time::HOUR;
use facts::licence;
use facts::source::Source;

/// Rows of a page: the default and the maximum.
pub const DEFAULT_ROWS: u32 = 500;
pub const MOST_ROWS: u32 = 5_000;

/// What the rows are.
const METHOD: &str = "One row is one measurement of the target, with the rule that decided it and its vote. Of days more \
    than 400 days ago only counts are kept: one row is then all measurements of an hour, network, source, rule and vote. \
    `counted` is 1 where the target is the one that the measurement set out to measure; sums of `counted` are the counts \
    of /api/v1/aggregation.";

/// A measurement, or some old ones of the same hour, network, source, rule and vote.
#[derive(Debug, Serialize, JsonSchema)]
struct Measurement {
    /// The beginning of the hour.
    time: String,
    /// A domain, or a role such as `telegram/pool`.
    target: String,
    /// `AS` and the number; null if the network is withheld.
    asn: Option<String>,
    source: &'static str,
    /// The stable name of the rule that decided it.
    rule: &'static str,
    /// `blocked`, `clear`, `down` (the target itself failed), or `none` (it says nothing).
    vote: String,
    /// The dotted name of what was seen; null if the rule shows none.
    technique: Option<String>,
    measurements: u32,
    /// Measurements among them that are counted at this target, and at no other.
    counted: u32,
    /// The page of the measurement at its source; null where none is kept.
    link: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct MeasurementsBody {
    country: String,
    target: String,
    since: String,
    until: String,
    /// Oldest first; of a service one role after the other.
    measurements: Vec<Measurement>,
    /// Requests the next page; null on the last page. A page may have no rows and yet not be the last one.
    next_cursor: Option<String>,
    has_more: bool,
    method: &'static str,
    license: String,
}

const TABLE: Tabular = Tabular {
    name: "measurements",
    list: "measurements",
    inner: None,
    columns: &["time", "target", "asn", "source", "rule", "vote", "technique", "measurements", "counted", "link"],
};

/// What the text of a place looks like.
pub const CURSOR_PATTERN: &str = "^[0-9]{1,10}[.][0-9]{1,10}([.][0-9]{1,10}([.][0-9]{1,10}){4}[.][0-9]{1,20})?$";

/// The text of a place.
fn cursor((series, day, row): &PagePlace) -> String {
    match row {
        None => format!("{series}.{day}"),
        Some((hour, asn, source, rule, vote, identity)) => {
            format!("{series}.{day}.{hour}.{asn}.{source}.{rule}.{vote}.{identity}")
        }
    }
}

fn parse(text: &str) -> Option<PagePlace> {
    let parts: Vec<u64> = text.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    let small = |part: u64| u8::try_from(part).ok();
    let number = |part: u64| u32::try_from(part).ok();
    match *parts.as_slice() {
        [series, day] => Some((number(series)?, number(day)?, None)),
        [series, day, hour, asn, source, rule, vote, identity] => {
            let hour = i64::from(number(hour)?);
            let row = (hour, number(asn)?, small(source)?, small(rule)?, small(vote)?, identity);
            Some((number(series)?, number(day)?, Some(row)))
        }
        _ => None,
    }
}

pub async fn measurements(cx: Cx) -> Result<Response> {
    let country = input::known(&cx.required("country")?)?;
    let range = HourRange::read_open(&cx)?;
    let wrong = || Error::bad_request("Query parameter `cursor` must be the `next_cursor` of the page before.");
    let csv = wants_csv(&cx)?;
    let place = cx.query("cursor")?.map(|text| parse(&text).ok_or_else(wrong)).transpose()?;
    let (networks, limit) = (networks(&cx, "asn")?, cx.count("limit", DEFAULT_ROWS, MOST_ROWS)?);
    let subject = reference::subject(&*cx.rt, &cx.required("target")?).await?;
    let series: Vec<String> = subject.roles.iter().map(|role| role.key.clone()).collect();
    let asked = MeasurementPage { series: series.clone(), from: range.from, end: range.end, networks, place, limit };
    let (rows, next) = runtime::query(&*cx.rt, country.code, &asked).await?;
    let sources: BTreeSet<u8> = rows.iter().map(|row| row.source).collect();
    let sources = sources.into_iter().filter_map(Source::from_code);
    let licences: Vec<&str> = sources.map(|source| source.licence_under(cx.settings())).collect();
    let next_cursor = next.as_ref().map(cursor);
    let body = MeasurementsBody {
        country: country.code.to_owned(),
        target: subject.name,
        since: range.since().to_string(),
        until: range.until().to_string(),
        measurements: rows.into_iter().filter_map(|row| measurement(row, &series)).collect(),
        has_more: next_cursor.is_some(),
        next_cursor,
        method: METHOD,
        license: licence::effective(licences),
    };
    let mut response = Response::json(&body)?;
    if csv {
        response = as_csv(&TABLE, &format!("{}-{}", body.country, body.target), &response)?;
    }
    if let Some(next) = &body.next_cursor {
        cx.lead_on(&mut response, next);
    }
    cx.tagged(response, MAX_AGE)
}

fn measurement(row: MeasurementRow, series: &[String]) -> Option<Measurement> {
    Some(Measurement {
        time: Timestamp(row.hour * HOUR).to_string(),
        target: series.get(row.series as usize)?.clone(),
        asn: (row.asn != 0).then(|| format!("AS{}", row.asn)),
        source: Source::from_code(row.source)?.id(),
        rule: rule_name(row.rule)?,
        vote: row.vote,
        technique: row.technique,
        measurements: row.measurements,
        counted: row.counted,
        link: row.link,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_as_written_and_nothing_else_is_one() {
        for place in [(0, 19_000, None), (3, 0, Some((472_000, 33_771, 1, 27, 3, u64::MAX)))] {
            assert_eq!(parse(&cursor(&place)), Some(place));
        }
        for text in ["", "x", "1", "1.2.3", "1.2.3.4.5.6.7", "1.2.3.4.256.6.7.8", "-1.2", "1.2.3.4.5.6.7.8.9", "1..2"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
