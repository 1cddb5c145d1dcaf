//! Reads outage annotations of Cloudflare Radar: the answer of `annotations/outages`, or only its annotations.

use std::io::BufRead;

use serde_json::Value;

use super::report::{Rows, address, asns, hashed_id, own_id, text, texts};
use super::{Cause, Event, EventKind, Scope, place};
use crate::Timestamp;
use crate::measurement::ImportError;
use crate::measurement::json::{documents, text_of};
use crate::measurement::types::Rejection;

/// Reads a stream, plain or gzip.
pub fn read(reader: &mut dyn BufRead, limit: u64, rows: &mut Rows<'_>) -> Result<(), ImportError> {
    for document in documents(reader, limit)? {
        match document {
            None => rows.reject(Rejection::Refused("bad_json")),
            Some(document) => answer(&document, rows),
        }
    }
    Ok(())
}

fn answer(document: &Value, rows: &mut Rows<'_>) {
    if document.get("success") == Some(&Value::Bool(false)) {
        return rows.reject(Rejection::Refused("source_error"));
    }
    let inside = document.get("result").unwrap_or(document);
    match inside.get("annotations").unwrap_or(inside) {
        Value::Array(annotations) => {
            for annotation in annotations {
                let row = annotated(annotation, rows);
                rows.take(row);
            }
        }
        annotation => {
            let row = annotated(annotation, rows);
            rows.take(row);
        }
    }
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// One annotation becomes an event in each of its locations.
fn annotated(value: &Value, rows: &Rows<'_>) -> Result<(Vec<Event>, u32), Rejection> {
    if !value.is_object() {
        return Err(Rejection::Refused("not_an_event"));
    }
    if !matches!(text_of(value, "eventType"), "OUTAGE" | "") {
        return Err(Rejection::Unsupported("not_an_outage"));
    }
    let start = Timestamp::parse(text_of(value, "startDate")).ok_or(Rejection::Refused("bad_time"))?;
    let end = match text_of(value, "endDate") {
        "" => None,
        written => Some(Timestamp::parse(written).ok_or(Rejection::Refused("bad_time"))?),
    };
    let mut countries = Vec::new();
    for code in list(value, "locations").filter_map(Value::as_str) {
        countries.push(place::country(code).ok_or(Rejection::Refused("unknown_country"))?);
    }
    countries.sort_unstable();
    countries.dedup();
    let outage = value.get("outage").unwrap_or(&Value::Null);
    let written = text_of(outage, "outageCause");
    let cause = match written {
        "GOVERNMENT_DIRECTED" => Cause::Ordered,
        "" | "UNKNOWN" => Cause::Unknown,
        _ => Cause::Accident,
    };
    let event = |country: &str| Event {
        source: rows.source,
        id: own_id(text_of(value, "id")).unwrap_or_else(|| hashed_id(&[country, text_of(value, "startDate"), written])),
        country: country.to_owned(),
        kind: if cause == Cause::Ordered { EventKind::Shutdown } else { EventKind::Outage },
        scope: match text_of(outage, "outageType") {
            "NATIONWIDE" => Scope::National,
            "NETWORK" => Scope::Network,
            _ => Scope::Regional,
        },
        cause,
        start,
        end,
        // The annotation has no end while the outage lasts.
        heard: end.is_none().then_some(start),
        days_only: false,
        asns: networks(value, country),
        services: Vec::new(),
        areas: texts(text_of(value, "scope")),
        occasion: text(written),
        score: None,
        url: address(text_of(value, "linkedUrl")),
    };
    Ok((countries.into_iter().map(event).collect(), 0))
}

/// The networks of a country. A network without a country in the annotation counts for each of the annotation's
/// countries.
fn networks(value: &Value, country: &str) -> Vec<u32> {
    let number =
        |value: &Value| value.as_u64().map_or_else(|| value.as_str().unwrap_or("").to_owned(), |n| n.to_string());
    let detailed: Vec<(String, String)> = list(value, "asnsDetails")
        .map(|detail| {
            let place = detail.get("locations").map_or("", |place| text_of(place, "code"));
            (detail.get("asn").map(number).unwrap_or_default(), place.to_owned())
        })
        .collect();
    let elsewhere =
        |asn: &String| detailed.iter().any(|(known, place)| known == asn && !place.is_empty() && place != country);
    let named: Vec<String> = list(value, "asns").map(number).filter(|asn| !elsewhere(asn)).collect();
    asns(named.iter().map(String::as_str))
}
