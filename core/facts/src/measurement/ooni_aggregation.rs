//! Answers of OONI's aggregation API: the whole envelope or only its `result`, an object or an array, JSON or CSV. Rows
//! of a day and a country become counts of that day; they never vote.
//!
//! The parts of a row overlap (a failed measurement may be anomalous too): 1,343 of 2,379 recorded rows do not add up.
//! So nothing is derived from differences, and a row is refused only if a part is larger than the whole. One thing
//! changed over the years: whether `anomaly_count` includes the confirmed measurements. The stored count always
//! includes them; the rows of an answer show which way it counts ([`ConfirmedCounting`]).

use std::collections::BTreeMap;
use std::io::BufRead;

use csv::ByteRecord;
use serde_json::Value;

use super::day_counts::DayCounts;
use super::domain::TargetKey;
use super::input::strip_bom;
use super::json::{self, documents, whole};
use super::rows::{Header, Rows};
use super::types::{CLOCK_AHEAD, ImportCounts, ImportError, Rejection};
use crate::Timestamp;
use crate::starter::Country;
use engine::time::DAY;

/// Counts of one day of a country.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayRow {
    pub country: String,
    /// Days since the epoch.
    pub day: u32,
    /// The part of the day that is counted: a test, a domain and a network, in this order with `/` between them. Mostly
    /// empty.
    pub part: String,
    pub counts: DayCounts,
}

/// Reads a stream, plain or gzip. `country` is used where rows name none, as in an answer about one country. Days that
/// begin after `now` are refused.
pub fn read(
    reader: &mut dyn BufRead,
    limit: u64,
    country: Option<&str>,
    now: Timestamp,
) -> Result<(ImportCounts, Vec<DayRow>), ImportError> {
    let bytes = whole(reader, limit)?;
    let mut found = AggregationReader {
        country,
        now,
        counts: ImportCounts::default(),
        days: BTreeMap::new(),
        hourly: false,
        counted: ConfirmedCounting::default(),
    };
    if json::begins(strip_bom(&bytes)) {
        for document in documents(&mut bytes.as_slice(), u64::MAX)? {
            match document {
                None => found.counts.reject(Rejection::Refused("bad_json")),
                Some(document) => found.answer(&document),
            }
        }
    } else {
        found.table(&bytes)?;
    }
    if found.hourly {
        // Then the rows at midnight are counts of an hour too.
        found.counts.take_back(found.counts.accepted, NOT_A_DAY);
        found.days.clear();
    }
    let counted = found.counted;
    let row = |((country, day, part), counts)| {
        let counts = DayCounts { anomalies: counted.anomalies(&counts), ..counts };
        DayRow { country, day, part, counts }
    };
    Ok((found.counts, found.days.into_iter().map(row).collect()))
}

/// Counts of hours cannot be told from repeats of a day, so the API must be asked for days.
const NOT_A_DAY: Rejection = Rejection::Unsupported("not_a_day");

/// The answer while it is read, and what came of it so far.
struct AggregationReader<'a> {
    country: Option<&'a str>,
    now: Timestamp,
    counts: ImportCounts,
    /// True if a row began at another time than midnight.
    hourly: bool,
    days: BTreeMap<(String, u32, String), DayCounts>,
    counted: ConfirmedCounting,
}

/// How an answer counts. Both fields count the rows in which only that way adds up to the whole, with or without the
/// failures.
#[derive(Default)]
struct ConfirmedCounting {
    /// `anomaly_count` includes the confirmed measurements.
    within: u64,
    beside: u64,
}

impl ConfirmedCounting {
    fn hear(&mut self, counts: &DayCounts) {
        let DayCounts { measurements, anomalies, confirmed, failures, ok } = *counts;
        if confirmed == 0 {
            return;
        }
        let whole = |sum: u64| sum == measurements || sum.saturating_add(failures) == measurements;
        let without = anomalies.saturating_add(ok);
        let (within, beside) = (confirmed <= anomalies && whole(without), whole(without.saturating_add(confirmed)));
        // The sum exceeds the whole, so the confirmed measurements would be counted twice.
        let over = without.saturating_add(confirmed) > measurements;
        self.within += u64::from((within || over) && !beside);
        self.beside += u64::from(beside && !within);
    }

    /// The count of anomalies, including the confirmed ones. If the rows do not show how they count, `anomaly_count` is
    /// taken not to include them, as in today's answers.
    fn anomalies(&self, counts: &DayCounts) -> u64 {
        match self.within > self.beside && counts.confirmed <= counts.anomalies {
            true => counts.anomalies,
            false => counts.anomalies.saturating_add(counts.confirmed).min(counts.measurements),
        }
    }
}

impl AggregationReader<'_> {
    fn answer(&mut self, document: &Value) {
        if document.get("error").is_some_and(|error| !error.is_null()) {
            return self.counts.reject(Rejection::Refused("source_error"));
        }
        let result = document.get("result").unwrap_or(document);
        match result {
            Value::Array(rows) => rows.iter().for_each(|row| self.take(&|name| cell(row, name))),
            // The source sent a message in place of counts.
            Value::Object(row) if ["msg", "message", "detail"].iter().any(|name| row.contains_key(*name)) => {
                self.counts.reject(Rejection::Refused("source_error"));
            }
            row => self.take(&|name| cell(row, name)),
        }
    }

    fn table(&mut self, mut bytes: &[u8]) -> Result<(), ImportError> {
        let mut rows = Rows::open(&mut bytes, u64::MAX)?;
        let mut record = ByteRecord::new();
        if !rows.next(&mut record, &mut self.counts)? {
            return Ok(());
        }
        let header = Header::new(&record);
        if !header.has("measurement_count") {
            return Err(ImportError::MissingColumns(vec!["measurement_count"]));
        }
        while rows.next(&mut record, &mut self.counts)? {
            self.take(&|name| header.get(&record, name).to_owned());
        }
        Ok(())
    }

    fn take(&mut self, get: &dyn Fn(&str) -> String) {
        let (key, counts) = match self.row(get) {
            Ok(row) => row,
            Err(rejection) => {
                self.hourly |= rejection == NOT_A_DAY;
                return self.counts.reject(rejection);
            }
        };
        self.counted.hear(&counts);
        match self.days.get(&key).copied() {
            None => {
                self.counts.accepted += 1;
                self.days.insert(key, counts);
            }
            Some(known) => {
                self.counts.duplicate += 1;
                self.days.insert(key, known.max(counts));
            }
        }
    }

    fn row(&self, get: &dyn Fn(&str) -> String) -> Result<((String, u32, String), DayCounts), Rejection> {
        let number = |name: &str| match get(name).as_str() {
            "" => Ok(0),
            text => text.parse::<f64>().ok().filter(|n| (0.0..9e15).contains(n)).map(|n| n as u64).ok_or(()),
        };
        let count = |name: &str| number(name).map_err(|()| Rejection::Refused("bad_count"));
        if get("measurement_count").is_empty() {
            return Err(Rejection::Refused("no_count"));
        }
        let counts = DayCounts {
            measurements: count("measurement_count")?,
            anomalies: count("anomaly_count")?,
            confirmed: count("confirmed_count")?,
            failures: count("failure_count")?,
            ok: count("ok_count")?,
        };
        let parts = [counts.anomalies, counts.confirmed, counts.failures, counts.ok];
        if parts.into_iter().any(|part| part > counts.measurements) {
            return Err(Rejection::Refused("part_over_whole"));
        }
        let named = get("probe_cc");
        let code = if named.is_empty() { self.country.unwrap_or("") } else { named.as_str() };
        let country = match code {
            "" => return Err(Rejection::Unusable("no_country")),
            "ZZ" => return Err(Rejection::Unusable("country_withheld")),
            code => Country::by_code(code).ok_or(Rejection::Refused("unknown_country"))?,
        };
        if self.country.is_some_and(|only| only != country.code) {
            return Err(Rejection::Unusable("other_country"));
        }
        let day = match get("measurement_start_day") {
            text if text.is_empty() => return Err(Rejection::Unusable("no_day")),
            text => Timestamp::parse(&text).ok_or(Rejection::Refused("bad_time"))?,
        };
        if day.0.rem_euclid(DAY) != 0 {
            return Err(NOT_A_DAY);
        }
        if day > self.now {
            return Err(CLOCK_AHEAD);
        }
        let day = day.day();
        let day = u32::try_from(day).map_err(|_| Rejection::Refused("bad_time"))?;
        Ok(((country.code.to_owned(), day, part(get)?), counts))
    }
}

/// The axes other than day and country.
fn part(get: &dyn Fn(&str) -> String) -> Result<String, Rejection> {
    let site = match (get("domain"), get("input")) {
        (domain, input) if domain.is_empty() && input.is_empty() => String::new(),
        (domain, input) => TargetKey::from_url(if domain.is_empty() { &input } else { &domain })
            .map_err(|error| Rejection::Unusable(error.reason()))?
            .as_str()
            .to_owned(),
    };
    let axes = [get("test_name"), get("category_code"), get("blocking_type"), site, get("probe_asn")];
    let known: Vec<String> =
        axes.into_iter().filter(|axis| !axis.is_empty()).map(|axis| axis.chars().take(253).collect()).collect();
    Ok(known.join("/"))
}

fn cell(row: &Value, name: &str) -> String {
    match row.get(name) {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}
