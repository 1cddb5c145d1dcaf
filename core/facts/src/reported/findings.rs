//! Reads incidents that OONI publishes as findings: the answer of `incidents/search`, or only its incidents.
//!
//! People wrote the incidents down after looking at measurements. They give only days. An incident without an end was
//! still going on when its entry was last changed; nothing more is known about its end.

use std::io::BufRead;

use serde_json::Value;

use super::report::{Rows, address, asns, hashed_id, own_id, prose, services};
use super::{Cause, Event, EventKind, Scope, UNNAMED, place};
use crate::Timestamp;
use crate::measurement::ImportError;
use crate::measurement::json::{documents, text_of};
use crate::measurement::types::Rejection;
use engine::time::DAY;

/// Tests that are named after a service.
const TESTS: [(&str, &str); 4] = [
    ("telegram", "telegram"),
    ("whatsapp", "whatsapp"),
    ("signal", "signal"),
    ("facebook_messenger", "facebook messenger"),
];

/// Reads a stream, plain or gzip.
pub fn read(reader: &mut dyn BufRead, limit: u64, rows: &mut Rows<'_>) -> Result<(), ImportError> {
    for document in documents(reader, limit)? {
        let Some(document) = document else {
            rows.reject(Rejection::Refused("bad_json"));
            continue;
        };
        match document.get("incidents").unwrap_or(&document) {
            Value::Array(incidents) => incidents.iter().for_each(|incident| {
                let row = finding(incident, rows);
                rows.take(row);
            }),
            incident => {
                let row = finding(incident, rows);
                rows.take(row);
            }
        }
    }
    Ok(())
}

fn list<'v>(value: &'v Value, name: &str) -> Vec<&'v str> {
    value.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn finding(value: &Value, rows: &Rows<'_>) -> Result<(Vec<Event>, u32), Rejection> {
    if value.get("error").is_some() || value.get("detail").is_some() {
        return Err(Rejection::Refused("source_error"));
    }
    if value.get("start_time").is_none() {
        return Err(Rejection::Refused("not_an_event"));
    }
    if value.get("published").and_then(Value::as_bool) == Some(false) {
        return Err(Rejection::Unusable("unpublished"));
    }
    let time = |name: &str| match text_of(value, name) {
        "" => Ok(None),
        written => Timestamp::parse(written).map(Some).ok_or(Rejection::Refused("bad_time")),
    };
    let start = time("start_time")?.ok_or(Rejection::Unusable("no_start"))?;
    // The last day counts as a whole.
    let end = time("end_time")?;
    if end.is_some_and(|end| end < start) {
        return Err(Rejection::Unusable("end_before_start"));
    }
    let days_only = [Some(start), end].into_iter().flatten().all(|time| time.0.rem_euclid(DAY) == 0);
    let changed = time("update_time")?.or(time("create_time")?);
    let mut countries = Vec::new();
    for code in list(value, "CCs") {
        countries.push(place::country(code).ok_or(Rejection::Refused("unknown_country"))?);
    }
    countries.sort_unstable();
    countries.dedup();
    let networks = value.get("ASNs").and_then(Value::as_array).into_iter().flatten().map(|asn| match asn.as_u64() {
        Some(number) => number.to_string(),
        None => asn.as_str().unwrap_or("").to_owned(),
    });
    let networks: Vec<String> = networks.collect();
    let (tags, slug) = (list(value, "tags").join(";"), text_of(value, "slug"));
    let event = |country: &str| Event {
        source: rows.source,
        id: own_id(text_of(value, "id")).unwrap_or_else(|| hashed_id(&[country, slug, &start.to_string()])),
        country: country.to_owned(),
        kind: if tags.to_lowercase().contains("throttling") { EventKind::Throttling } else { EventKind::Block },
        // The entry names networks that blocked, but does not say that they were all.
        scope: if networks.is_empty() { Scope::National } else { Scope::Network },
        cause: Cause::Unknown,
        start,
        end: end.map(|end| if days_only { end.plus(DAY) } else { end }),
        heard: changed.filter(|changed| end.is_none() && *changed > start),
        days_only,
        asns: asns(networks.iter().map(String::as_str)),
        services: affected(value),
        areas: Vec::new(),
        occasion: prose(text_of(value, "title")),
        score: None,
        url: address(&format!("https://explorer.ooni.org/findings/{slug}")).filter(|_| !slug.is_empty()),
    };
    let version = changed.and_then(|changed| u32::try_from(changed.seconds()).ok()).unwrap_or(0);
    Ok((countries.into_iter().map(event).collect(), version))
}

/// The measured sites, and the services that have tests of their own.
fn affected(value: &Value) -> Vec<String> {
    let mut found = services(&list(value, "domains").join(";"));
    let tests = list(value, "test_names");
    let named = TESTS.iter().filter(|(test, _)| tests.contains(test)).map(|(_, service)| *service);
    found.extend(services(&named.collect::<Vec<_>>().join(";")));
    if found.is_empty() {
        found.push(UNNAMED.to_owned());
    }
    found.sort();
    found.dedup();
    found
}
