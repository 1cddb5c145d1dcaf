//! Reads IODA: answers of `outages/events` in both forms and of `outages/alerts`, and the table of investigated
//! outages, whose times and scopes people typed (decision import-counts).
//!
//! An outage is not censorship. Nothing here says that somebody wanted it, unless an investigation found a government
//! behind it. (Counting raw outages as censorship made 94 % of one month's incidents wrong.)

use std::collections::BTreeMap;
use std::io::BufRead;

use csv::ByteRecord;
use serde_json::Value;

use super::report::{Rows, asns, hashed_id, own_id, text};
use super::{Cause, Event, EventKind, Scope, place};
use crate::Timestamp;
use crate::measurement::ImportError;
use crate::measurement::input::strip_bom;
use crate::measurement::json::{documents, number_of, seconds_of, text_of, whole};
use crate::measurement::rows::{Header, Rows as Csv};
use crate::measurement::types::Rejection;
use crate::source::Source;
use engine::moment::moment;

type Row = Result<(Vec<Event>, u32), Rejection>;

/// Reads a stream, plain or gzip. The first byte shows whether it is JSON or the table.
pub fn read(reader: &mut dyn BufRead, limit: u64, rows: &mut Rows<'_>) -> Result<(), ImportError> {
    let text = whole(reader, limit)?;
    match strip_bom(&text).trim_ascii_start().first() {
        Some(b'{' | b'[') => answers(&text, rows),
        _ => table(&text, rows),
    }
}

fn answers(text: &[u8], rows: &mut Rows<'_>) -> Result<(), ImportError> {
    for document in documents(&mut { text }, u64::MAX)? {
        match document {
            None => rows.reject(Rejection::Refused("bad_json")),
            Some(document) => answer(&document, rows),
        }
    }
    Ok(())
}

/// One answer with its envelope, or the content of one.
fn answer(document: &Value, rows: &mut Rows<'_>) {
    if document.get("error").is_some_and(|error| !error.is_null() && error.as_str() != Some("")) {
        return rows.reject(Rejection::Refused("source_error"));
    }
    match document.get("data").unwrap_or(document) {
        Value::Array(items) => items.iter().for_each(|item| match item {
            // Some calls answer with one array for each entity.
            Value::Array(inner) => inner.iter().for_each(|item| entry(item, rows)),
            item => entry(item, rows),
        }),
        item => entry(item, rows),
    }
}

fn entry(item: &Value, rows: &mut Rows<'_>) {
    if item.get("level").is_some() && item.get("time").is_some() {
        let alert = Alert::read(item, rows.country).map(|alert| (vec![alert.event(rows)], 0));
        rows.take(alert);
    } else if item.get("location").is_some() && item.get("start").is_some() {
        let row = codf(item, rows);
        rows.take(row);
    } else if item.get("from").is_some() && item.get("entity").is_some() && item.get("values").is_none() {
        let row = ioda(item, rows);
        rows.take(row);
    } else if item.get("values").is_some() || item.get("scores").is_some() {
        rows.reject(Rejection::Unsupported("not_an_event"));
    } else {
        rows.reject(Rejection::Refused("not_an_event"));
    }
}

/// The subject of an outage.
struct Entity {
    country: String,
    scope: Scope,
    asns: Vec<u32>,
    areas: Vec<String>,
    /// `country/IR`.
    name: String,
}

impl Entity {
    /// Networks and regions belong to the country in their attributes, else to the country of the import.
    fn new(kind: &str, code: &str, name: &str, named: &str, fallback: Option<&str>) -> Result<Entity, Rejection> {
        let country = match kind {
            "country" => place::country(code).ok_or(Rejection::Refused("unknown_country"))?,
            _ if !named.is_empty() => place::country(named).ok_or(Rejection::Refused("unknown_country"))?,
            // A network within a country. Its `geoasn` code is `<asn>-<country>`.
            _ => code
                .rsplit_once('-')
                .and_then(|(_, tail)| place::country(tail))
                .or_else(|| fallback.and_then(place::country))
                .ok_or(Rejection::Unusable("no_country"))?,
        };
        let network = kind.contains("asn");
        Ok(Entity {
            country: country.to_owned(),
            scope: match kind {
                "country" => Scope::National,
                _ if network => Scope::Network,
                _ => Scope::Regional,
            },
            asns: if network { asns(code.split('-').take(1)) } else { Vec::new() },
            areas: if kind == "country" || network { Vec::new() } else { text(name).into_iter().collect() },
            name: format!("{kind}/{code}"),
        })
    }

    fn of(value: &Value, fallback: Option<&str>) -> Result<Entity, Rejection> {
        let entity = value.get("entity").unwrap_or(&Value::Null);
        let attributes = entity.get("attrs").unwrap_or(&Value::Null);
        let named = text_of(attributes, "country_code");
        Entity::new(text_of(entity, "type"), text_of(entity, "code"), text_of(entity, "name"), named, fallback)
    }

    fn event(self, rows: &Rows<'_>, datasource: &str, start: Timestamp, end: Option<Timestamp>) -> Event {
        Event {
            source: rows.source,
            id: hashed_id(&[&self.name, datasource, &start.seconds().to_string()]),
            url: Some(format!("https://ioda.inetintel.cc.gatech.edu/{}", self.name)).filter(|url| url.is_ascii()),
            country: self.country,
            kind: EventKind::Outage,
            scope: self.scope,
            cause: Cause::Unknown,
            start,
            end,
            // The outage has no end if the source has not seen it yet.
            heard: end.is_none().then_some(start),
            days_only: false,
            asns: self.asns,
            services: Vec::new(),
            areas: self.areas,
            occasion: None,
            score: None,
        }
    }
}

/// Reads `format=codf`: location, start, duration. If an outage goes on at the end of the time that was asked for, its
/// duration reaches to that end and `overlaps_window` is true. Such an outage has no end yet. `status` is 0 in every
/// answer and says nothing.
fn codf(item: &Value, rows: &Rows<'_>) -> Row {
    let (kind, code) = text_of(item, "location").split_once('/').ok_or(Rejection::Refused("bad_location"))?;
    let entity = Entity::new(kind, code, text_of(item, "location_name"), "", rows.country)?;
    let start = seconds_of(item, "start").ok_or(Rejection::Refused("bad_time"))?;
    let goes_on = item.get("overlaps_window").and_then(Value::as_bool).unwrap_or(false);
    let until = seconds_if_any(item, "duration")?.map(|seconds| Timestamp::from_seconds(start + seconds));
    let source = format!("{}{}", text_of(item, "datasource"), text_of(item, "method"));
    let end = until.filter(|_| !goes_on);
    let mut event = entity.event(rows, &source, Timestamp::from_seconds(start), end);
    event.heard = until.filter(|_| goes_on).or(event.heard);
    event.score = number_of(item, "fraction").filter(|share| (0.0..=1.0).contains(share));
    Ok((vec![event], 0))
}

/// Seconds that may be missing, but must be in range.
fn seconds_if_any(item: &Value, name: &str) -> Result<Option<i64>, Rejection> {
    match item.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => seconds_of(item, name).map(Some).ok_or(Rejection::Refused("bad_time")),
    }
}

/// Reads `format=ioda`: entity, from, until.
fn ioda(item: &Value, rows: &Rows<'_>) -> Row {
    let entity = Entity::of(item, rows.country)?;
    let start = seconds_of(item, "from").ok_or(Rejection::Refused("bad_time"))?;
    let end = seconds_if_any(item, "until")?.map(Timestamp::from_seconds);
    Ok((vec![entity.event(rows, text_of(item, "datasource"), Timestamp::from_seconds(start), end)], 0))
}

/// One alert: a series left its normal level, or returned to it.
struct Alert {
    entity: Entity,
    datasource: String,
    time: Timestamp,
    normal: bool,
    /// The part of the usual volume that is lost, 0 to 1.
    lost: Option<f64>,
}

impl Alert {
    fn read(item: &Value, fallback: Option<&str>) -> Result<Alert, Rejection> {
        let entity = Entity::of(item, fallback)?;
        let time = seconds_of(item, "time").ok_or(Rejection::Refused("bad_time"))?;
        let level = text_of(item, "level");
        if !matches!(level, "normal" | "warning" | "critical") {
            return Err(Rejection::Refused("bad_level"));
        }
        let usual = number_of(item, "historyValue").filter(|usual| *usual > 0.0);
        let lost = usual.and_then(|usual| Some(1.0 - number_of(item, "value")? / usual));
        Ok(Alert {
            entity,
            datasource: text_of(item, "datasource").to_owned(),
            time: Timestamp::from_seconds(time),
            normal: level == "normal",
            lost: lost.map(|lost| lost.clamp(0.0, 1.0)),
        })
    }
}

/// Prefixes of the ids of alerts, which are stored as they came: below the normal level, or back at it. The series and
/// the second follow.
const AMISS: &str = "alert-";
const NORMAL: &str = "normal-";

impl Alert {
    fn event(self, rows: &Rows<'_>) -> Event {
        let kind = if self.normal { NORMAL } else { AMISS };
        let series = hashed_id(&[&self.entity.name, &self.datasource]);
        let id = format!("{kind}{series}-{}", self.time.seconds());
        let end = self.normal.then_some(self.time);
        let score = self.lost.filter(|_| !self.normal).map(|lost| (lost * 1e4).round() / 1e4);
        Event { id, score, ..self.entity.event(rows, &self.datasource, self.time, end) }
    }
}

/// The series of an event, if the event is an alert.
fn series(event: &Event) -> Option<&str> {
    let rest = event.id.strip_prefix(AMISS).or_else(|| event.id.strip_prefix(NORMAL));
    rest.filter(|_| event.source == Source::Ioda)?.split_once('-').map(|(series, _)| series)
}

/// The events, with outages in place of alerts. An outage reaches from the first alert of a series to the next normal
/// one. The order of the alerts, and the number of answers they came in, do not matter (decision order-of-data).
pub fn joined(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    let mut found: Vec<Event> = Vec::new();
    let mut alerts: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for event in events {
        match series(&event) {
            Some(series) => alerts.entry(series.to_owned()).or_default().push(event),
            None => found.push(event),
        }
    }
    for (_, mut alerts) in alerts {
        alerts.sort_by_key(|alert| (alert.start, alert.end));
        let mut open: Option<Event> = None;
        for alert in alerts {
            match (&mut open, alert.end) {
                (None, None) => open = Some(alert),
                (None, Some(_)) => {}
                (Some(outage), None) => outage.heard = Some(alert.start),
                (Some(outage), end) => {
                    (outage.end, outage.heard) = (end, None);
                    found.extend(open.take());
                }
            }
        }
        found.extend(open);
    }
    found
}

/// Reads the table of investigated outages.
fn table(bytes: &[u8], rows: &mut Rows<'_>) -> Result<(), ImportError> {
    let mut plain = bytes;
    let mut csv = Csv::open(&mut plain, u64::MAX)?;
    let mut record = ByteRecord::new();
    if !csv.next(&mut record, &mut rows.counts)? {
        return Ok(());
    }
    let header = Header::new(&record);
    let missing: Vec<&'static str> = ["begin time", "country"].into_iter().filter(|name| !header.has(name)).collect();
    if !missing.is_empty() {
        return Err(ImportError::MissingColumns(missing));
    }
    while csv.next(&mut record, &mut rows.counts)? {
        let row = investigated(rows, &|name| header.get(&record, name));
        rows.take(row);
    }
    Ok(())
}

fn investigated<'r>(rows: &Rows<'_>, get: &dyn Fn(&str) -> &'r str) -> Row {
    let country = place::country(get("country")).ok_or(Rejection::Refused("unknown_country"))?;
    let start = moment(get("begin time")).ok_or(Rejection::Refused("bad_time"))?;
    let end = match text(get("end time")) {
        None => None,
        Some(written) => Some(moment(&written).ok_or(Rejection::Refused("bad_time"))?),
    };
    let granularity = get("scope (based on granularity at which the outage appears in ioda)");
    let inside = granularity.split_once('(').map_or("", |(_, rest)| rest.trim_end().trim_end_matches(')'));
    let scope = match granularity.trim_start() {
        kind if kind.starts_with("Region") => Scope::Regional,
        kind if kind.starts_with("AS") => Scope::Network,
        _ => Scope::National,
    };
    let networks = if scope == Scope::Network { inside } else { "" };
    let cause = match get("cause") {
        "Government-Ordered" | "Exams" => Cause::Ordered,
        other if text(other).is_none() => Cause::Unknown,
        _ => Cause::Accident,
    };
    let event = Event {
        source: rows.source,
        id: own_id(get("id")).unwrap_or_else(|| hashed_id(&[country, get("begin time"), granularity])),
        country: country.to_owned(),
        kind: if cause == Cause::Ordered { EventKind::Shutdown } else { EventKind::Outage },
        scope,
        cause,
        start,
        end,
        heard: None,
        days_only: false,
        asns: asns(networks.split([',', ';']).chain(get("as").split([',', ';']))),
        services: Vec::new(),
        areas: if scope == Scope::Regional { text(inside).into_iter().collect() } else { Vec::new() },
        occasion: text(get("cause")),
        score: None,
        // The addresses in the table lead to a site that only its authors can open.
        url: None,
    };
    Ok((vec![event], 0))
}
