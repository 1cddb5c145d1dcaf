//! Measurements made up for tests, in every form in which sources offer them.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use crate::measurement::fingerprints::Fingerprints;
use crate::measurement::types::Parsed;
use crate::measurement::{ooni_document, ooni_fastpath, ooni_observations};
use crate::verdict::evaluate::{Evaluated, Vote};

/// A limit that no test reaches.
const LIMIT: u64 = 1 << 32;

/// The parts that the forms of one measurement share.
#[derive(Debug, Clone)]
pub struct Head {
    pub test: &'static str,
    pub input: Option<&'static str>,
    pub time: &'static str,
    pub country: &'static str,
    pub test_version: &'static str,
    pub engine_version: &'static str,
    pub software: (&'static str, &'static str),
}

impl Head {
    pub fn new(test: &'static str, input: Option<&'static str>) -> Head {
        let software = ("ooniprobe-android", "5.1.0");
        let (test_version, engine_version) = ("0.5.28", "3.24.0");
        Head { test, input, time: "2026-11-25 06:00:00", country: "NO", test_version, engine_version, software }
    }

    /// The raw document.
    pub fn document(&self, keys: &Value) -> String {
        json!({
            "test_name": self.test, "input": self.input, "measurement_start_time": self.time, "probe_cc": self.country,
            "probe_asn": "AS64500", "report_id": "20261125T060000Z_x", "data_format_version": "0.2.0",
            "test_version": self.test_version, "software_name": self.software.0, "software_version": self.software.1,
            "annotations": { "platform": "android", "engine_version": self.engine_version }, "test_keys": keys,
        })
        .to_string()
    }

    /// A row of the fastpath table.
    pub fn fastpath(&self, scores: &Value, anomaly: bool, confirmed: bool, blocking_type: &str) -> String {
        let flag = |flag| if flag { "t" } else { "f" };
        json!({
            "test_name": self.test, "input": self.input.unwrap_or(""), "measurement_start_time": self.time,
            "probe_cc": self.country, "probe_asn": "64500", "report_id": "20261125T060000Z_x",
            "measurement_uid": "20261125060000.1_NO_x", "scores": scores, "anomaly": flag(anomaly),
            "confirmed": flag(confirmed), "msm_failure": "f", "blocking_type": blocking_type, "blocking_general": "0",
            "test_version": self.test_version, "engine_version": self.engine_version, "software_name": self.software.0,
            "software_version": self.software.1, "platform": "android",
        })
        .to_string()
    }

    /// A row of the list of the API: no versions, and no columns for content of the scores.
    pub fn listed(&self, scores: &Value, anomaly: bool, confirmed: bool, failure: bool) -> Value {
        json!({
            "test_name": self.test, "input": self.input, "measurement_start_time": self.time.replace(' ', "T") + "Z",
            "probe_cc": self.country, "probe_asn": "AS64500", "report_id": "20261125T060000Z_x",
            "measurement_uid": "20261125060000.1_NO_x", "scores": scores, "anomaly": anomaly, "confirmed": confirmed,
            "failure": failure, "measurement_url": "https://api.ooni.example/api/v1/raw_measurement?x=1",
        })
    }

    /// Rows of the observation table. Each is a list of columns in addition to those of the head.
    pub fn observations(&self, rows: &[Vec<(&str, String)>]) -> String {
        let columns = [
            "hostname",
            "ip",
            "port",
            "dns_engine",
            "dns_failure",
            "dns_answer",
            "tcp_success",
            "tcp_failure",
            "tls_success",
            "tls_failure",
            "tls_server_name",
            "http_request_url",
            "http_failure",
            "probe_analysis",
        ];
        let head = [
            ("test_name", self.test),
            ("input", self.input.unwrap_or("")),
            ("measurement_start_time", self.time),
            ("probe_cc", self.country),
            ("probe_asn", "64500"),
            ("report_id", "20261125T060000Z_x"),
            ("test_version", self.test_version),
            ("engine_version", self.engine_version),
            ("software_name", self.software.0),
            ("software_version", self.software.1),
        ];
        let names = head.iter().map(|(name, _)| *name).chain(columns).collect::<Vec<_>>().join(",");
        let mut text = format!("{names}\n");
        for row in rows {
            assert!(row.iter().all(|(name, _)| columns.contains(name)), "{row:?}");
            let value = |name: &str| row.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
            let cells: Vec<&str> = head.iter().map(|(_, value)| *value).chain(columns.map(value)).collect();
            text.push_str(&cells.join(","));
            text.push('\n');
        }
        text
    }
}

/// The judgements of a text in one of the forms, by series.
pub fn read(form: &str, text: &str, fingerprints: &Fingerprints) -> Vec<(String, Evaluated)> {
    let mut found: Vec<Parsed> = Vec::new();
    let mut sink = |parsed: Parsed| found.push(parsed);
    let mut bytes = text.as_bytes();
    match form {
        "document" => ooni_document::import(&mut bytes, LIMIT, fingerprints, &mut sink),
        "observations" => ooni_observations::import(&mut bytes, LIMIT, fingerprints, &mut sink),
        _ => ooni_fastpath::import(&mut bytes, LIMIT, &mut sink),
    }
    .unwrap();
    let mut merged: Vec<(String, crate::measurement::Outcome)> = Vec::new();
    for contribution in found.into_iter().flat_map(|parsed| parsed.contributions) {
        let target = contribution.target.as_str().to_owned();
        match merged.iter_mut().find(|(known, _)| *known == target) {
            Some((_, outcome)) => *outcome = outcome.merge(contribution.outcome),
            None => merged.push((target, contribution.outcome)),
        }
    }
    merged.into_iter().map(|(target, outcome)| (target, outcome.evaluate())).collect()
}

/// The judgement about one series; `None` if the form says nothing about it.
pub fn about(form: &str, text: &str, target: &str) -> Option<Evaluated> {
    let found = read(form, text, &Fingerprints::default());
    found.into_iter().find(|(known, _)| known == target).map(|(_, evaluated)| evaluated)
}

/// The vote of [`about`].
pub fn vote(form: &str, text: &str, target: &str) -> Option<Vote> {
    about(form, text, target).map(|evaluated| evaluated.vote)
}

/// The scores that every row has.
pub fn scores(general: f64, more: Value) -> Value {
    let mut scores = json!({
        "blocking_general": general, "blocking_global": 0.0, "blocking_country": 0.0, "blocking_isp": 0.0,
        "blocking_local": 0.0,
    });
    if let (Some(scores), Value::Object(more)) = (scores.as_object_mut(), more) {
        scores.extend(more);
    }
    scores
}

pub const SITE: &str = "news.example";
pub const ADDRESS: &str = "93.184.216.34";

/// Test keys of a plain HTTP page that came over a good connection. `response` is `{code, headers, body}`; `compared`
/// holds the client's comparisons of title, length, headers and status.
pub fn page(response: &Value, compared: [Option<bool>; 4]) -> Value {
    let [title, length, headers, status] = compared;
    json!({
        "queries": [{ "engine": "getaddrinfo", "hostname": SITE, "query_type": "A", "failure": null,
                      "answers": [{ "answer_type": "A", "ipv4": ADDRESS, "asn": 64_496 }] }],
        "tcp_connect": [{ "ip": ADDRESS, "port": 80, "status": { "success": true, "failure": null } }],
        "requests": [{ "request": { "url": format!("http://{SITE}/"), "method": "GET" }, "response": response,
                       "failure": null, "address": format!("{ADDRESS}:80") }],
        "control": {
            "dns": { "failure": null, "addrs": [ADDRESS] },
            "tcp_connect": { format!("{ADDRESS}:80"): { "status": true, "failure": null } },
            "http_request": { "status_code": 200, "failure": null, "body_length": 1000, "title": "News" },
            "ip_info": { ADDRESS: { "asn": 64_496 } },
        },
        "control_failure": null, "title_match": title, "body_length_match": length, "headers_match": headers,
        "status_code_match": status,
    })
}

/// Test keys of Signal whose handshakes end with this failure; `None` works.
pub fn signal(failure: Option<&str>, shown: usize) -> Value {
    let hosts = ["chat.signal.org", "storage.signal.org", "cdn.signal.org", "sfu.voip.signal.org"];
    let hosts = &hosts[..shown];
    let address = "13.248.212.111";
    let handshakes: Vec<Value> = hosts
        .iter()
        .map(|host| json!({ "server_name": host, "address": format!("{address}:443"), "failure": failure, "no_tls_verify": false }))
        .collect();
    let requests: Vec<Value> = hosts
        .iter()
        .map(|host| json!({ "request": { "url": format!("https://{host}/") }, "response": { "code": 404 }, "failure": failure }))
        .collect();
    let queries: Vec<Value> = hosts
        .iter()
        .map(|host| {
            json!({ "engine": "system", "hostname": host, "query_type": "A", "failure": null,
                            "answers": [{ "answer_type": "A", "ipv4": address }] })
        })
        .collect();
    json!({
        "queries": queries, "tcp_connect": [{ "ip": address, "port": 443, "status": { "success": true, "failure": null } }],
        "tls_handshakes": handshakes, "requests": requests,
        "signal_backend_status": if failure.is_some() { "blocked" } else { "ok" }, "signal_backend_failure": failure,
    })
}

/// The same measurement as rows of the observation table.
pub fn signal_rows(failure: Option<&str>, shown: usize) -> Vec<Vec<(&'static str, String)>> {
    let hosts = ["chat.signal.org", "storage.signal.org", "cdn.signal.org", "sfu.voip.signal.org"];
    let text = |text: &str| text.to_owned();
    let rows = hosts[..shown].iter().flat_map(|host| {
        let connection = vec![
            ("hostname", text(host)),
            ("ip", text("13.248.212.111")),
            ("port", text("443")),
            ("dns_engine", text("system")),
            ("dns_answer", text("13.248.212.111")),
            ("tcp_success", text("1")),
            ("tls_server_name", text(host)),
            ("tls_success", text(if failure.is_none() { "1" } else { "0" })),
            ("tls_failure", text(failure.unwrap_or(""))),
        ];
        let request = vec![
            ("hostname", text(host)),
            ("http_request_url", format!("https://{host}/")),
            ("http_failure", text(failure.unwrap_or(""))),
        ];
        [connection, request]
    });
    rows.collect()
}
