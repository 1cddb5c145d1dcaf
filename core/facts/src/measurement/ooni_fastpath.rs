//! Scored measurements as JSON lines: rows of OONI's `fastpath` table, and rows of the list of its API, with or without
//! the envelope of the answer.
//!
//! The list lacks some columns of the table; their content is also inside of the scores. The verdict is in `scores` and
//! in the flags; the column `blocking_general` is always 0 and is not read.

use std::borrow::Cow;
use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::domain::{Service, TargetKey};
use super::input::each_line;
use super::instrument::{Client, Standing};
use super::json;
use super::ooni_observations::{country, number};
use super::ooni_scores::{Scores, SeriesJudgements};
use super::outcome::Outcome;
use super::services::service_of;
use super::types::{Contribution, Form, ImportCounts, ImportError, Parsed, Rejection, Witness, identity, vote_key};
use crate::Timestamp;

/// Reads a stream of rows; `sink` gets every usable one. `limit` bounds the inflated bytes.
pub fn import(reader: &mut dyn BufRead, limit: u64, sink: &mut dyn FnMut(Parsed)) -> Result<ImportCounts, ImportError> {
    each_line(reader, limit, &mut |counts, line| match line.trim_ascii() {
        b"" => {}
        text => match serde_json::from_slice::<ApiAnswer<'_>>(text) {
            Ok(ApiAnswer { results }) => results.iter().for_each(|row| counts.take(parse(row.get().as_bytes()), sink)),
            Err(_) => counts.take(parse(text), sink),
        },
    })
}

/// An answer of the API on one line.
#[derive(Deserialize)]
struct ApiAnswer<'a> {
    #[serde(borrow)]
    results: Vec<&'a RawValue>,
}

/// The fields that are read. They may be numbers, strings or null.
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
    /// The name of `msm_failure` in the list of the API.
    #[serde(default)]
    failure: Value,
    #[serde(default)]
    domain: Value,
    #[serde(default)]
    blocking_type: Value,
    #[serde(default)]
    platform: Value,
    #[serde(default)]
    test_version: Value,
    #[serde(default)]
    engine_version: Value,
    #[serde(default)]
    software_name: Value,
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

/// Reads an AS number: an integer, a float, "123", "AS123" or "123.0". 0 if it is withheld or absent.
pub fn asn(value: &Value) -> u32 {
    match value {
        Value::Number(n) => {
            n.as_u64().or_else(|| n.as_f64().map(|f| f as u64)).and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
        }
        _ => number(text(value)),
    }
}

fn parse(line: &[u8]) -> Result<Parsed, Rejection> {
    let mended;
    let row: Row<'_> = match serde_json::from_slice(line) {
        Ok(row) => row,
        Err(_) => {
            mended = json::mended(line);
            serde_json::from_slice(&mended).map_err(|_| Rejection::Refused("bad_json"))?
        }
    };
    let test = match row.test_name.as_ref() {
        "" => return Err(Rejection::Refused("no_test_name")),
        "web_connectivity" => None,
        name => Some(service_of(name).ok_or(Rejection::Unsupported("unsupported_test"))?),
    };
    if flag(&row.msm_failure) || flag(&row.failure) {
        return Err(MEASUREMENT_FAILED);
    }
    let time = Timestamp::parse(text(&row.measurement_start_time)).ok_or(Rejection::Refused("bad_time"))?;
    let country = country(text(&row.probe_cc))?;
    let (report_id, input, uid) = (text(&row.report_id), text(&row.input), text(&row.measurement_uid));
    if report_id.is_empty() && uid.is_empty() {
        return Err(Rejection::Unusable("no_report_id"));
    }
    let found = judge(&row, test, input, (time, country))?;
    let contribution = |(target, judgement)| Contribution { target, outcome: Outcome::Judged(judgement) };
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
        contributions: found.into_iter().map(contribution).collect(),
        primary: Some(0),
        witness: if uid.is_empty() {
            Witness::Report { report_id: report_id.to_owned(), input: (!input.is_empty()).then(|| input.to_owned()) }
        } else {
            Witness::Uid(uid.to_owned())
        },
    })
}

/// The judgements of a row about its targets. The target that it set out to measure comes first.
fn judge(
    row: &Row<'_>,
    test: Option<Service>,
    input: &str,
    at: (Timestamp, [u8; 2]),
) -> Result<SeriesJudgements, Rejection> {
    let (time, country) = at;
    let all = match &row.scores {
        // Some exports hold the scores as a string of JSON.
        Value::String(json) => Cow::Owned(serde_json::from_str::<Value>(json).unwrap_or_default()),
        scores => Cow::Borrowed(scores),
    };
    if all.get("accuracy").and_then(Value::as_f64) == Some(0.0) {
        return Err(MEASUREMENT_FAILED);
    }
    let score = match all.get("blocking_general").and_then(Value::as_f64) {
        Some(score) => score,
        None if flag(&row.anomaly) => 1.0,
        None => return Err(Rejection::Unusable("no_scores")),
    };
    let inside = all.get("analysis").and_then(|analysis| analysis.get("blocking_type")).and_then(Value::as_str);
    let kind = Some(text(&row.blocking_type)).filter(|kind| !kind.is_empty()).or(inside).unwrap_or("");
    let confirmed = flag(&row.confirmed) || all.get("confirmed").and_then(Value::as_bool) == Some(true);
    let scores = Scores { all: &all, score, confirmed, kind, country };
    let Some(service) = test else {
        let host = if input.is_empty() { text(&row.domain) } else { input };
        let target = TargetKey::from_url(host).map_err(|error| Rejection::Unusable(error.reason()))?;
        return Ok(vec![(target, scores.web())]);
    };
    let client = Client {
        test_version: text(&row.test_version),
        engine_version: text(&row.engine_version),
        software_name: text(&row.software_name),
        software_version: text(&row.software_version),
    };
    // Rows of the API name no versions. Since [`MARKED`] the API marks the sessions of broken versions as failed.
    let sound = match client.standing(service, time) {
        Standing::Unknown => time >= MARKED,
        standing => standing == Standing::Sound,
    };
    let mut found = scores.service(service, &row.test_name, input, sound);
    for (target, judgement) in &mut found {
        if let Some(Outcome::Judged(fault)) = client.fault(service, target, time) {
            *judgement = fault;
        }
    }
    Ok(found)
}

/// 1 July 2024, since when OONI marks sessions of broken clients as failed.
const MARKED: Timestamp = Timestamp::from_seconds(1_719_792_000);

/// OONI found that the measurement is of no use.
const MEASUREMENT_FAILED: Rejection = Rejection::Unusable("measurement_failed");
