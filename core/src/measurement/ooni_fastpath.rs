//! Rows of the `fastpath` table as JSON lines: one scored measurement each (methods 1.5).
//!
//! The verdict is in `scores` and the flags; the column `blocking_general` is always 0 and is not read
//! (ruling intelligence 31).

use std::borrow::Cow;
use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;

use super::domain::{Service, TargetKey};
use super::input::each_line;
use super::ooni_observations::{country, number};
use super::outcome::{Judgement, Outcome};
use super::services::{main_series, service_of};
use super::types::{Contribution, Form, ImportCounts, ImportError, Parsed, Rejection, Witness, identity, vote_key};
use crate::Timestamp;
use crate::verdict::rules::RuleId;
use crate::verdict::technique::Technique;

/// Score from which OONI calls a measurement anomalous (methods 1.3).
const ANOMALY: f64 = 0.5;

/// Reads a stream of rows; `sink` gets every usable one. `limit` bounds the inflated bytes.
pub fn import(reader: &mut dyn BufRead, limit: u64, sink: &mut dyn FnMut(Parsed)) -> Result<ImportCounts, ImportError> {
    each_line(reader, limit, &mut |counts, line| match line.trim_ascii() {
        b"" => {}
        text => counts.take(parse(text), sink),
    })
}

/// The fields that are read; numbers, strings and nulls alike.
#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow, default)]
    test_name: Cow<'a, str>,
    #[serde(default)]
    report_id: Value,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    measurement_uid: Value,
    #[serde(default)]
    measurement_start_time: Value,
    #[serde(default)]
    probe_cc: Value,
    #[serde(default)]
    probe_asn: Value,
    #[serde(default)]
    scores: Value,
    #[serde(default)]
    anomaly: Value,
    #[serde(default)]
    confirmed: Value,
    #[serde(default)]
    msm_failure: Value,
    #[serde(default)]
    domain: Value,
    #[serde(default)]
    blocking_type: Value,
    #[serde(default)]
    platform: Value,
    #[serde(default)]
    software_version: Value,
}

fn text(value: &Value) -> &str {
    match value.as_str() {
        Some("null" | "None" | "\\N") | None => "",
        Some(text) => text.trim(),
    }
}

fn flag(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::Number(n) => n.as_f64().is_some_and(|n| n != 0.0),
        _ => matches!(text(value), "t" | "true" | "True" | "1" | "1.0"),
    }
}

/// An AS number as integer, float, "123", "AS123" or "123.0"; 0 when withheld or absent.
pub fn asn(value: &Value) -> u32 {
    match value {
        Value::Number(n) => {
            n.as_u64().or_else(|| n.as_f64().map(|f| f as u64)).and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
        }
        _ => number(text(value)),
    }
}

fn parse(line: &[u8]) -> Result<Parsed, Rejection> {
    let row: Row<'_> = serde_json::from_slice(line).map_err(|_| Rejection::Refused("bad_json"))?;
    let test = match row.test_name.as_ref() {
        "" => return Err(Rejection::Refused("no_test_name")),
        "web_connectivity" => None,
        name => Some(service_of(name).ok_or(Rejection::Unsupported("unsupported_test"))?),
    };
    if flag(&row.msm_failure) {
        return Err(Rejection::Unusable("measurement_failed"));
    }
    let time = Timestamp::parse(text(&row.measurement_start_time)).ok_or(Rejection::Refused("bad_time"))?;
    let country = country(text(&row.probe_cc))?;
    let (report_id, input, uid) = (text(&row.report_id), text(&row.input), text(&row.measurement_uid));
    if report_id.is_empty() && uid.is_empty() {
        return Err(Rejection::Unusable("no_report_id"));
    }
    let (target, judgement) = judge(&row, test, input)?;
    Ok(Parsed {
        country,
        asn: Some(asn(&row.probe_asn)).filter(|asn| *asn != 0),
        time,
        identity: match report_id {
            "" => super::types::document_identity(uid.as_bytes()),
            _ => identity(row.test_name.as_bytes(), report_id.as_bytes(), input.as_bytes(), time),
        },
        form: Form::Fastpath,
        vote_key: vote_key(0, text(&row.platform).as_bytes(), text(&row.software_version).as_bytes()),
        row_hash: crc32fast::hash(line),
        contributions: vec![Contribution { target, outcome: Outcome::Judged(judgement) }],
        primary: Some(0),
        witness: if uid.is_empty() {
            Witness::Report { report_id: report_id.to_owned(), input: (!input.is_empty()).then(|| input.to_owned()) }
        } else {
            Witness::Uid(uid.to_owned())
        },
    })
}

/// How a confirmed row was told: by where its fingerprint stood, in an answer of DNS or in a page.
fn fingerprint(scores: &Value) -> Option<Technique> {
    let fingerprints = scores.get("fingerprints")?.as_array()?;
    let places = || fingerprints.iter().filter_map(|one| one.get("location_found")?.as_str());
    let of_pages = places().next().map(|_| Technique::HttpBlockpage);
    if places().any(|place| place == "dns") { Some(Technique::DnsInjectionBlockpage) } else { of_pages }
}

fn judge(row: &Row<'_>, test: Option<Service>, input: &str) -> Result<(TargetKey, Judgement), Rejection> {
    let scores = match &row.scores {
        // Some exports carry the scores as a string of JSON.
        Value::String(json) => Cow::Owned(serde_json::from_str::<Value>(json).unwrap_or_default()),
        scores => Cow::Borrowed(scores),
    };
    let score = match scores.get("blocking_general").and_then(Value::as_f64) {
        Some(score) => score,
        None if flag(&row.anomaly) => 1.0,
        None => return Err(Rejection::Unusable("no_scores")),
    };
    if let Some(service) = test {
        return Ok((main_series(service, &row.test_name, input), judge_service(service, score)));
    }
    let host = if input.is_empty() { text(&row.domain) } else { input };
    let target = TargetKey::from_url(host).map_err(|error| Rejection::Unusable(error.reason()))?;
    let named = match text(&row.blocking_type) {
        "dns" => Some(Technique::Dns),
        "tcp_ip" => Some(Technique::Tcp),
        "http-diff" => Some(Technique::HttpBlockpage),
        "http-failure" => Some(Technique::Http),
        _ => None,
    };
    let confirmed = flag(&row.confirmed);
    let technique = if confirmed { fingerprint(&scores).or(named) } else { named };
    let rule = if confirmed {
        RuleId::FastpathConfirmed
    } else if score < ANOMALY {
        RuleId::FastpathClear
    } else if technique == Some(Technique::HttpBlockpage) {
        RuleId::HttpDiffUnchecked
    } else {
        RuleId::FastpathAnomaly
    };
    let technique = if rule == RuleId::FastpathClear { None } else { technique };
    Ok((target, Judgement { rule, technique }))
}

/// Scores of service tests cover all roles: below the threshold all work; for Telegram, whose score adds one for the web
/// site alone, only a score above 1 must include the pool (methods 1.3).
fn judge_service(service: Service, score: f64) -> Judgement {
    let rule = match service {
        _ if score < ANOMALY => RuleId::FastpathClear,
        Service::Telegram if score <= 1.0 => RuleId::FastpathAmbiguous,
        _ => RuleId::FastpathServiceAnomaly,
    };
    Judgement { rule, technique: None }
}
