//! Reads calendars of elections: CSV with a header.
//!
//! | Column | What |
//! |---|---|
//! | `country` | ISO code or name |
//! | `date` | the day, or the month or year where only these are known: `2027-04-25`, `2027-04`, `2027` |
//! | `type` | `presidential`, `parliamentary`, `regional`, `referendum` or `local` |
//! | `source` | how the date is known: a rule or term, who announced it, or an address; behind `In doubt: ` the doubt; required |
//! | `title` | optional |
//! | `status` | `fixed_by_law`, `announced` (default), `expected`, `held` or `cancelled` |
//!
//! Two published tables are read in their own layouts ([`super::tables`]).

use std::collections::BTreeSet;
use std::io::BufRead;

use csv::ByteRecord;

use super::model::{DateCertainty, Election, ElectionDate, ElectionType, Precision};
use super::tables;
use crate::Timestamp;
use facts::measurement::rows::{Header, for_each_row_of};
use facts::measurement::types::Rejection;
use facts::measurement::{ImportCounts, ImportError};
use facts::reported::place;

const REQUIRED: [&str; 4] = ["country", "date", "type", "source"];
pub const MAX_TITLE: usize = 120;
const MAX_SOURCE: usize = 300;
/// Years that a calendar may cover: no table of shutdowns begins earlier, and no law fixes days farther ahead.
const EARLIEST: i64 = 1995;
const AHEAD: i64 = 20;
/// Rejected rows of one chunk whose line number is stated with the reason.
const NAMED: usize = 20;

/// Reads a calendar, plain or gzip. `country` is used for rows that name none; `now` limits how far ahead a date may
/// be. The reasons of the first rejected rows state the line.
pub fn read(
    reader: &mut dyn BufRead,
    limit: u64,
    country: Option<&str>,
    now: Timestamp,
) -> Result<(Vec<Election>, ImportCounts), ImportError> {
    let mut counts = ImportCounts::default();
    let (mut found, mut bad) = (BTreeSet::new(), Vec::new());
    let latest = engine::time::Date::from_days(now.day()).year.saturating_add(AHEAD);
    let layouts: [&[&'static str]; 3] = [&REQUIRED, &tables::REIGN, &tables::IFES];
    for_each_row_of(reader, limit, &layouts, &mut counts, &mut |header, row| {
        let get = |name: &str| header.get(row, name);
        let election = match header {
            header if REQUIRED.iter().all(|name| header.has(name)) => election(header, row, country),
            header if header.has("elec_year") => tables::reign(&get),
            _ => tables::ifes(&get, now.day()),
        };
        let election = election.and_then(|election| bounded(election, country, latest));
        if let (Err(rejection), Some(position)) = (&election, row.position())
            && bad.len() < NAMED
        {
            bad.push((position.line(), *rejection));
        }
        Ok(found.insert(election?))
    })?;
    for (line, rejection) in bad {
        counts.name_line(line, rejection);
    }
    Ok((found.into_iter().collect(), counts))
}

/// Refuses what no layout may contain: dates out of range and other countries.
fn bounded(election: Election, country: Option<&str>, latest: i64) -> Result<Election, Rejection> {
    if !(EARLIEST..=latest).contains(&election.when.year()) {
        return Err(Rejection::Unusable("date_out_of_range"));
    }
    if country.is_some_and(|only| only != election.country) {
        return Err(Rejection::Unusable("other_country"));
    }
    Ok(election)
}

fn election(header: &Header, row: &ByteRecord, country: Option<&str>) -> Result<Election, Rejection> {
    let get = |name: &str| header.get(row, name);
    let named = Some(get("country")).filter(|name| !name.is_empty()).or(country).unwrap_or_default();
    let country = place::country(named).ok_or(Rejection::Refused("unknown_country"))?;
    let when = ElectionDate::parse(get("date")).ok_or(Rejection::Refused("bad_date"))?;
    let kind = ElectionType::parse(get("type")).ok_or(Rejection::Refused("bad_type"))?;
    let status = match get("status") {
        "" => DateCertainty::Announced,
        text => DateCertainty::parse(text).ok_or(Rejection::Refused("bad_status"))?,
    };
    if status == DateCertainty::Held && when.precision() != Precision::Day {
        return Err(Rejection::Unusable("held_without_a_day"));
    }
    let plain = |text: &str, most: usize| text.chars().count() <= most && !text.chars().any(char::is_control);
    let source = get("source");
    if source.is_empty() {
        return Err(Rejection::Unusable("no_source"));
    }
    let title = match get("title") {
        "" => format!("{} election", capital(kind.as_str())),
        title => title.to_owned(),
    };
    if !plain(source, MAX_SOURCE) || !plain(&title, MAX_TITLE) {
        return Err(Rejection::Refused("bad_text"));
    }
    Ok(Election { when, country: country.to_owned(), kind, title, status, source: source.to_owned() })
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
