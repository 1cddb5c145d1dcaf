//! Raw OONI measurement documents: one JSON object on each line, or JSON arrays of them.

use std::io::BufRead;

use serde_json::Value;
use serde_json::value::RawValue;

use super::domain::TargetKey;
use super::fingerprints::Fingerprints;
use super::input::each_line;
use super::instrument::Client;
use super::json;
use super::ooni_fastpath::asn;
use super::ooni_observations::country;
use super::types::{
    Contribution, Form, ImportCounts, ImportError, Parsed, Rejection, Witness, document_identity, identity, vote_key,
};
use super::{services, web_connectivity};
use crate::Timestamp;

/// Reads a stream of documents; `sink` gets every usable one. `limit` bounds the inflated bytes.
pub fn import(
    reader: &mut dyn BufRead,
    limit: u64,
    fingerprints: &Fingerprints,
    sink: &mut dyn FnMut(Parsed),
) -> Result<ImportCounts, ImportError> {
    each_line(reader, limit, &mut |counts, line| {
        // In an array over several lines, brackets and commas stand around the documents.
        let text = line.trim_ascii();
        let text = text.strip_suffix(b",").unwrap_or(text);
        if matches!(text, b"" | b"[" | b"]") {
            return;
        }
        if !text.starts_with(b"[") {
            return counts.take(parse(text, fingerprints), sink);
        }
        let mut each = |text: &[u8]| {
            let documents: Vec<&RawValue> = serde_json::from_slice(text).ok()?;
            documents.iter().for_each(|raw| counts.take(parse(raw.get().as_bytes(), fingerprints), sink));
            Some(())
        };
        if each(text).or_else(|| each(&json::mended(text))).is_none() {
            counts.reject(Rejection::Refused("bad_json"));
        }
    })
}

/// The common part of a document, and its `test_keys`.
pub struct Document {
    pub test_name: String,
    report_id: String,
    input: Value,
    pub country: [u8; 2],
    asn: u32,
    resolver_asn: u32,
    platform: String,
    test_version: String,
    engine_version: String,
    software_name: String,
    software_version: String,
    pub time: Timestamp,
    uid: String,
    /// Null if the document has none. Callers check that it is an object.
    pub test_keys: Value,
}

impl Document {
    /// Reads a document. It is refused if it is not JSON or lacks the fields that every measurement has.
    pub fn read(bytes: &[u8]) -> Result<Document, Rejection> {
        Document::from_value(json::parse(bytes).ok_or(Rejection::Refused("bad_json"))?)
    }

    /// The same from parsed JSON.
    pub fn from_value(mut value: Value) -> Result<Document, Rejection> {
        if !value.is_object() {
            return Err(Rejection::Refused("not_an_object"));
        }
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or("").trim().to_owned();
        let test_name = text("test_name");
        if test_name.is_empty() {
            return Err(Rejection::Refused("no_test_name"));
        }
        let start = Some(text("measurement_start_time")).filter(|time| !time.is_empty());
        let time = Timestamp::parse(&start.unwrap_or_else(|| text("test_start_time")));
        let annotation = |name: &str| value.get("annotations").and_then(|a| a.get(name)).and_then(Value::as_str);
        let asn_at = |name: &str| value.get(name).map_or(0, asn);
        let mut document = Document {
            report_id: text("report_id"),
            input: value.get("input").cloned().unwrap_or(Value::Null),
            country: country(&text("probe_cc")).unwrap_or(*b"ZZ"),
            asn: asn_at("probe_asn"),
            resolver_asn: asn_at("resolver_asn"),
            platform: annotation("platform").unwrap_or("").to_owned(),
            test_version: text("test_version"),
            engine_version: annotation("engine_version").unwrap_or("").to_owned(),
            software_name: text("software_name"),
            software_version: text("software_version"),
            time: time.ok_or(Rejection::Refused("bad_time"))?,
            uid: text("measurement_uid"),
            test_keys: Value::Null,
            test_name,
        };
        if let Some(keys) = value.get_mut("test_keys") {
            document.test_keys = keys.take();
        }
        Ok(document)
    }

    /// The measured URL, the first one if there are several.
    pub fn url(&self) -> &str {
        match &self.input {
            Value::String(url) => url,
            Value::Array(list) => list.first().and_then(Value::as_str).unwrap_or(""),
            _ => "",
        }
    }

    /// The client that made the document.
    pub fn client(&self) -> Client<'_> {
        Client {
            test_version: &self.test_version,
            engine_version: &self.engine_version,
            software_name: &self.software_name,
            software_version: &self.software_version,
        }
    }

    fn input_text(&self) -> String {
        match &self.input {
            Value::Null => String::new(),
            Value::String(url) => url.clone(),
            other => other.to_string(),
        }
    }
}

/// Parses and judges one document.
pub fn parse(bytes: &[u8], fingerprints: &Fingerprints) -> Result<Parsed, Rejection> {
    let document = Document::read(bytes)?;
    let contributions = contributions(&document, fingerprints)?;
    if &document.country == b"ZZ" {
        return Err(Rejection::Unusable("country_withheld"));
    }
    let input = document.input_text();
    let primary = primary(&document, &contributions);
    Ok(Parsed {
        country: document.country,
        asn: Some(document.asn).filter(|asn| *asn != 0),
        time: document.time,
        identity: match document.report_id.as_str() {
            "" => document_identity(bytes),
            report => identity(document.test_name.as_bytes(), report.as_bytes(), input.as_bytes(), document.time),
        },
        form: Form::Raw,
        vote_key: vote_key(document.resolver_asn, document.platform.as_bytes(), document.software_version.as_bytes()),
        row_hash: crc32fast::hash(bytes),
        contributions,
        primary: Some(primary),
        witness: if document.uid.is_empty() {
            Witness::Report { report_id: document.report_id, input: Some(input).filter(|input| !input.is_empty()) }
        } else {
            Witness::Uid(document.uid)
        },
    })
}

/// The contribution about the target that the document set out to measure, else the first contribution.
fn primary(document: &Document, contributions: &[Contribution]) -> usize {
    let target = match services::service_of(&document.test_name) {
        Some(service) => Some(services::main_series(service, &document.test_name, document.url())),
        None => TargetKey::from_url(document.url()).ok(),
    };
    contributions.iter().position(|contribution| Some(&contribution.target) == target.as_ref()).unwrap_or(0)
}

/// The statements of a document about each of its targets.
pub fn contributions(document: &Document, fingerprints: &Fingerprints) -> Result<Vec<Contribution>, Rejection> {
    let supported = document.test_name == "web_connectivity" || services::is_supported(&document.test_name);
    if !supported {
        return Err(Rejection::Unsupported("unsupported_test"));
    }
    if !document.test_keys.is_object() {
        return Err(Rejection::Unusable("no_test_keys"));
    }
    let found = if document.test_name == "web_connectivity" {
        web_connectivity::judge(document, fingerprints)?.contributions()
    } else {
        services::judge(document)
    };
    if found.is_empty() { Err(Rejection::Unusable("nothing_measured")) } else { Ok(found) }
}
