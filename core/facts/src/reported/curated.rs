//! Reads outages that an operator writes down, in a format of our own: CSV with a header, or JSON lines with the same
//! names.
//!
//! | Column | What |
//! |---|---|
//! | `country` | ISO code or name; several by `;` |
//! | `kind` | `outage`, `shutdown`, `throttling` or `block` |
//! | `start` | ISO 8601; a bare date means that only the day is known |
//! | `end` | ISO 8601, empty while the event goes on; a bare date is the last day, to its end |
//! | `id` | optional; without it, rows differ by country, kind, scope, start and the three lists |
//! | `scope` | `network`, `regional` or `national` (default) |
//! | `cause` | `ordered`, `accident` or `unknown` (default) |
//! | `asns`, `services`, `areas` | lists separated by `;`, in JSON also arrays |
//! | `occasion` | in words |
//! | `score` | 0 to 1 |
//! | `url` | https |
//! | `revision` | a whole number; of one id, the row with the highest number stays |

use std::collections::BTreeSet;
use std::io::BufRead;

use csv::ByteRecord;
use serde_json::Value;

use super::report::{Rows, address, asns, hashed_id, own_id, services, text, texts};
use super::{Cause, Event, EventKind, Scope, place};
use crate::Timestamp;
use crate::measurement::ImportError;
use crate::measurement::input::strip_bom;
use crate::measurement::json::{documents, whole};
use crate::measurement::rows::{Header, Rows as Csv};
use crate::measurement::types::Rejection;
use engine::moment::{is_day, last_moment};
use engine::time::SECOND;

const REQUIRED: [&str; 3] = ["country", "kind", "start"];

/// Reads a stream, plain or gzip.
pub fn read(reader: &mut dyn BufRead, limit: u64, rows: &mut Rows<'_>) -> Result<(), ImportError> {
    let bytes = whole(reader, limit)?;
    match strip_bom(&bytes).trim_ascii_start().first() {
        Some(b'{' | b'[') => lines(&bytes, rows),
        _ => table(&bytes, rows),
    }
}

fn lines(bytes: &[u8], rows: &mut Rows<'_>) -> Result<(), ImportError> {
    for document in documents(&mut { bytes }, u64::MAX)? {
        let items = match document {
            None => {
                rows.reject(Rejection::Refused("bad_json"));
                continue;
            }
            Some(Value::Array(items)) => items,
            Some(item) => vec![item],
        };
        for item in items {
            let row = row(rows, &|name| cell(item.get(name).unwrap_or(&Value::Null)));
            rows.take(row);
        }
    }
    Ok(())
}

/// A JSON value as a cell of the CSV would hold it.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.trim().to_owned(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(";"),
        other => other.to_string(),
    }
}

fn table(bytes: &[u8], rows: &mut Rows<'_>) -> Result<(), ImportError> {
    let mut plain = bytes;
    let mut csv = Csv::open(&mut plain, u64::MAX)?;
    let mut record = ByteRecord::new();
    if !csv.next(&mut record, &mut rows.counts)? {
        return Ok(());
    }
    let header = Header::new(&record);
    let missing: Vec<&'static str> = REQUIRED.into_iter().filter(|name| !header.has(name)).collect();
    if !missing.is_empty() {
        return Err(ImportError::MissingColumns(missing));
    }
    while csv.next(&mut record, &mut rows.counts)? {
        let row = row(rows, &|name| header.get(&record, name).to_owned());
        rows.take(row);
    }
    Ok(())
}

fn kind(word: &str) -> Result<EventKind, Rejection> {
    match word.to_ascii_lowercase().as_str() {
        "outage" => Ok(EventKind::Outage),
        "shutdown" => Ok(EventKind::Shutdown),
        "throttling" => Ok(EventKind::Throttling),
        "block" => Ok(EventKind::Block),
        _ => Err(Rejection::Refused("bad_kind")),
    }
}

fn scope(word: &str) -> Result<Scope, Rejection> {
    match word.to_ascii_lowercase().as_str() {
        "" | "national" => Ok(Scope::National),
        "regional" => Ok(Scope::Regional),
        "network" => Ok(Scope::Network),
        _ => Err(Rejection::Refused("bad_scope")),
    }
}

fn cause(word: &str) -> Result<Cause, Rejection> {
    match word.to_ascii_lowercase().as_str() {
        "" | "unknown" => Ok(Cause::Unknown),
        "ordered" => Ok(Cause::Ordered),
        "accident" => Ok(Cause::Accident),
        _ => Err(Rejection::Refused("bad_cause")),
    }
}

fn row(rows: &Rows<'_>, get: &dyn Fn(&str) -> String) -> Result<(Vec<Event>, u32), Rejection> {
    let named = get("country");
    let countries = place::countries(if named.is_empty() { rows.country.unwrap_or("") } else { &named })?;
    let (kind, scope, cause) = (kind(&get("kind"))?, scope(&get("scope"))?, cause(&get("cause"))?);
    let (first, last) = (get("start"), get("end"));
    let start = Timestamp::parse(&first).ok_or(Rejection::Refused("bad_time"))?;
    let end = match last.as_str() {
        "" => None,
        written => Some(last_moment(written).ok_or(Rejection::Refused("bad_time"))?),
    };
    if end.is_some_and(|end| end < start) {
        return Err(Rejection::Unusable("end_before_start"));
    }
    let days_only = is_day(&first);
    // If only days are known, an event ends with the first second after its last day.
    let end = end.map(|end| if days_only { end.plus(SECOND) } else { end });
    let score = match get("score").as_str() {
        "" => None,
        text => Some(text.parse().ok().filter(|s| (0.0..=1.0).contains(s)).ok_or(Rejection::Refused("bad_score"))?),
    };
    let (areas, named_services) = (texts(&get("areas")), services(&get("services")));
    let (networks, id) = (asns(get("asns").split([';', ','])), own_id(&get("id")));
    let hashed = |country: &str| {
        // The hash covers the parsed values, so that another order of a list, or another way to write it, makes no
        // other event.
        let places: BTreeSet<String> = areas.iter().map(|area| area.to_lowercase()).collect();
        let listed = format!("{networks:?} {named_services:?} {places:?}");
        hashed_id(&[country, &format!("{kind:?} {scope:?}"), &start.to_string(), &listed])
    };
    let event = |country: &str| Event {
        source: rows.source,
        id: id.clone().unwrap_or_else(|| hashed(country)),
        country: country.to_owned(),
        kind,
        scope,
        cause,
        start,
        end,
        heard: end.is_none().then_some(start),
        days_only,
        asns: networks.clone(),
        services: named_services.clone(),
        areas: areas.clone(),
        occasion: text(&get("occasion")),
        score,
        url: address(&get("url")),
    };
    Ok((countries.into_iter().map(event).collect(), get("revision").parse().unwrap_or(0)))
}
