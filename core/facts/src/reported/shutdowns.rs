//! Reads shutdown tables with the columns of Access Now's STOP data set.
//!
//! The table gives only days. It may name several countries in one cell (`Laos; Myanmar`), write one country in several
//! ways, repeat an event that goes on every year under another `count_year`, and end a few rows before they begin
//! (decision import-counts).

use std::io::BufRead;

use csv::ByteRecord;

use super::report::{CAUSE_ENDS, Rows, UNTIL_THE_NEWEST, address, hashed_id, prose, service, services, text, texts};
use super::{Cause, Event, EventKind, Scope, UNNAMED, place};
use crate::Timestamp;
use crate::measurement::ImportError;
use crate::measurement::rows::{Header, Rows as Csv};
use crate::measurement::types::Rejection;
use engine::time::DAY;

const REQUIRED: [&str; 2] = ["start_date", "country"];

/// Columns that stand for one service each.
const AFFECTED: [(&str, &str); 5] = [
    ("facebook_affected", "facebook"),
    ("twitter_affected", "twitter"),
    ("whatsapp_affected", "whatsapp"),
    ("instagram_affected", "instagram"),
    ("telegram_affected", "telegram"),
];

/// Reads a stream, plain or gzip.
pub fn read(reader: &mut dyn BufRead, limit: u64, rows: &mut Rows<'_>) -> Result<(), ImportError> {
    let mut csv = Csv::open(reader, limit)?;
    let mut record = ByteRecord::new();
    if !csv.next(&mut record, &mut rows.counts)? {
        return Ok(());
    }
    let header = Header::new(&record);
    let missing: Vec<&'static str> = REQUIRED.into_iter().filter(|name| !header.has(name)).collect();
    if !missing.is_empty() {
        return Err(ImportError::MissingColumns(missing));
    }
    let mut newest = Timestamp::MIN;
    while csv.next(&mut record, &mut rows.counts)? {
        let get = |name: &str| header.get(&record, name);
        let dates = ["start_date", "end_date"].map(|name| Timestamp::parse(get(name)));
        // A date in the future is an announcement, so it is not counted as seen.
        newest = dates.into_iter().flatten().filter(|date| *date <= rows.now).fold(newest, Timestamp::max);
        let events = row(rows, &get);
        rows.take(events);
    }
    rows.cover(newest);
    Ok(())
}

/// The time until which a row without an end reports that its event went on. The table appears once a year and repeats
/// events that go on, so a row covers the whole year that it is counted under. A table of a year that is not over ends
/// with its newest date.
fn heard(status: &str, year: u32, now: Timestamp) -> Option<Timestamp> {
    let covered =
        Timestamp::parse(&format!("{:04}-01-01", year.saturating_add(1))).filter(|end| year > 0 && *end <= now);
    status.eq_ignore_ascii_case("ongoing").then(|| covered.unwrap_or(UNTIL_THE_NEWEST))
}

fn row<'r>(rows: &Rows<'_>, get: &dyn Fn(&str) -> &'r str) -> Result<(Vec<Event>, u32), Rejection> {
    let countries = place::countries(get("country"))?;
    let start = match get("start_date") {
        "" => return Err(Rejection::Unusable("no_start")),
        text => Timestamp::parse(text).ok_or(Rejection::Refused("bad_time"))?,
    };
    // The last day counts as a whole.
    let end = match get("end_date") {
        "" => None,
        text => Some(Timestamp::parse(text).ok_or(Rejection::Refused("bad_time"))?),
    };
    if end.is_some_and(|end| end < start) {
        return Err(Rejection::Unusable("end_before_start"));
    }
    let (kind, scope) = (kind(get), scope(get));
    let year: u32 = get("count_year").parse().unwrap_or(0);
    let heard = heard(get("shutdown_status"), year, rows.now).filter(|heard| end.is_none() && *heard > start);
    // The table of another year may write the same area in other words.
    let area = match place::beyond_the_country(get("area_name")) {
        Some(beyond) => format!("nationwide {beyond}"),
        None => place::plain(get("area_name")),
    };
    let event = |country: &str| Event {
        source: rows.source,
        id: hashed_id(&[country, get("start_date"), &area, get("shutdown_type"), get("shutdown_extent")]),
        country: country.to_owned(),
        kind,
        scope,
        cause: cause(get("ordered_by")),
        start,
        end: end.map(|end| end.plus(DAY)),
        heard,
        days_only: true,
        asns: Vec::new(),
        services: affected(get),
        areas: texts(get("area_name")),
        occasion: occasion(get),
        score: None,
        url: address(get("an_link")).or_else(|| address(get("info_source_link"))),
    };
    Ok((countries.into_iter().map(event).collect(), year))
}

fn kind<'r>(get: &dyn Fn(&str) -> &'r str) -> EventKind {
    let (kind, extent) = (get("shutdown_type"), get("shutdown_extent"));
    match (extent.contains("Full network"), kind.contains("Shutdown")) {
        (true, true) => EventKind::Shutdown,
        (_, false) if kind.contains("Throttle") => EventKind::Throttling,
        (false, _) if extent.contains("Service") => EventKind::Block,
        _ => EventKind::Shutdown,
    }
}

/// The table grades by cities and states. Only its words for the area show that a whole country was meant.
fn scope<'r>(get: &dyn Fn(&str) -> &'r str) -> Scope {
    let area = get("area_name");
    let wide = get("geo_scope").contains("more than one state");
    if place::beyond_the_country(area).is_some() || (wide && area.trim().is_empty()) {
        Scope::National
    } else {
        Scope::Regional
    }
}

/// The cause in the table's vocabulary, followed by the event in its own words: `Political instability: Coup by the
/// military`.
fn occasion<'r>(get: &dyn Fn(&str) -> &'r str) -> Option<String> {
    let cause = text(get("actual_cause")).filter(|cause| !cause.eq_ignore_ascii_case("other"));
    let words: Vec<&str> = get("event").split_whitespace().collect();
    match (cause, prose(&words.join(" "))) {
        (Some(cause), Some(event)) => Some(format!("{cause}{CAUSE_ENDS}{event}")),
        (cause, event) => event.or(cause).or_else(|| text(get("actual_cause"))),
    }
}

fn cause(ordered_by: &str) -> Cause {
    match ordered_by {
        "" | "Unknown" | "Non-government" => Cause::Unknown,
        _ => Cause::Ordered,
    }
}

fn affected<'r>(get: &dyn Fn(&str) -> &'r str) -> Vec<String> {
    let named = AFFECTED.into_iter().filter(|(column, _)| get(column).eq_ignore_ascii_case("yes"));
    let mut found: Vec<String> = named.filter_map(|(_, name)| service(name)).collect();
    found.extend(services(get("other_affected")));
    if found.is_empty() && get("shutdown_extent") == "Service-based" {
        found.push(UNNAMED.to_owned());
    }
    found.sort();
    found.dedup();
    found
}
