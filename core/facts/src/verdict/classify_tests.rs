//! The table of scenarios (decision scenario-truths), and variants of its families made by editing the documents.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use super::classify::{Label, classify_value};
use super::rules::RuleId;
use crate::measurement::fingerprints::Fingerprints;
use engine::testing::real_data;

fn scenarios() -> Vec<(String, Value)> {
    let Some(file) = real_data("ooni/web_connectivity_scenarios.jsonl.gz") else { return Vec::new() };
    let lines = BufReader::new(flate2::read::MultiGzDecoder::new(&file[..])).lines();
    lines
        .map(|line| {
            let mut value: Value = serde_json::from_str(&line.unwrap()).unwrap();
            (value["scenario"].as_str().unwrap().to_owned(), value["measurement"].take())
        })
        .collect()
}

fn published() -> Fingerprints {
    let mut set = Fingerprints::default();
    for name in ["fingerprints_dns.csv", "fingerprints_http.csv"] {
        if let Some(bytes) = real_data(&format!("ooni/{name}")) {
            set.import(&mut &*bytes, 1 << 24).unwrap();
        }
    }
    set
}

fn truth(name: &str) -> Label {
    match name {
        "successWithHTTPS"
        | "idnaWithoutCensorshipLowercase"
        | "largeFileWithHTTP"
        | "controlFailureWithSuccessfulHTTPSWebsite"
        | "dnsHijackingToProxyWithHTTPURL" => Label::Accessible,
        "badSSLWithExpiredCertificate"
        | "localhostWithHTTP"
        | "redirectWithMoreThanTenRedirectsAndHTTPS"
        | "websiteDownNoAddrs"
        | "redirectWithBrokenLocationForHTTP" => Label::Down,
        "cloudflareCAPTCHAWithHTTP" => Label::Unknown,
        _ => Label::Blocked,
    }
}

#[test]
fn every_scenario_has_its_class() {
    let mut wrong = Vec::new();
    for fingerprints in [Fingerprints::default(), published()] {
        for (name, document) in scenarios() {
            let found = classify_value(document, &fingerprints).unwrap();
            let rules: Vec<&str> = found.rules.iter().map(|rule| rule.rule().name).collect();
            println!(
                "{name}: {:?} {rules:?} p={:.3} {:?} {:?} {:?}",
                found.label,
                found.probability,
                found.method(),
                found.interference,
                found.reason
            );
            if found.label != truth(&name) {
                wrong.push((name, found));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn one(name: &str) -> Option<Value> {
    scenarios().into_iter().find(|(known, _)| known == name).map(|(_, document)| document)
}

fn label(document: Value) -> Label {
    classify_value(document, &Fingerprints::default()).unwrap().label
}

#[test]
fn the_details_that_the_table_names_are_told() {
    let get = |name: &str| one(name).map(|document| classify_value(document, &published()).unwrap());
    let Some(hijack) = get("dnsHijackingToProxyWithHTTPURL") else { return };
    assert_eq!(hijack.interference, Some("dns"));
    assert_eq!(get("redirectWithBrokenLocationForHTTP").unwrap().reason, Some("site_fault"));
    assert_eq!(get("cloudflareCAPTCHAWithHTTP").unwrap().reason, Some("server_side_challenge"));
    assert_eq!(get("throttlingWithHTTPS").unwrap().method(), Some("throttling"));
    let diff = get("httpDiffWithConsistentDNS").unwrap();
    assert_eq!((diff.method(), diff.rules[0]), (Some("blockpage"), RuleId::HttpDiff), "confirmed by no fingerprint");
    let redirect = get("redirectWithConsistentDNSAndThenNXDOMAIN").unwrap();
    assert_eq!(redirect.rules, [RuleId::TlsValid, RuleId::DnsFailure], "the shortener is clear, the hop is blocked");
    assert_eq!(redirect.technique.unwrap().as_str(), "dns.nxdomain");
    let ghost = get("ghostDNSBlockingWithHTTPS").unwrap();
    assert!(ghost.probability < 0.5, "low weight: {}", ghost.probability);
}

/// Makes a plain HTTP document of an HTTPS one: the URL, its requests, and the port of the main endpoints.
fn to_http(mut document: Value) -> Value {
    let url = document["input"].as_str().unwrap().replacen("https://", "http://", 1);
    document["input"] = json!(url);
    let keys = &mut document["test_keys"];
    for request in keys["requests"].as_array_mut().into_iter().flatten() {
        let url = request["request"]["url"].as_str().unwrap().replacen("https://", "http://", 1);
        request["request"]["url"] = json!(url);
        if let Some(address) = request["address"].as_str() {
            request["address"] = json!(address.replace(":443", ":80"));
        }
    }
    let more: Vec<Value> = keys["tcp_connect"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| {
            let mut entry = entry.clone();
            entry["port"] = json!(80);
            entry
        })
        .collect();
    if let Some(list) = keys["tcp_connect"].as_array_mut() {
        list.extend(more);
    }
    let plain: Vec<(String, Value)> = keys["control"]["tcp_connect"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(endpoint, result)| (endpoint.replace(":443", ":80"), result.clone()))
        .collect();
    if let Some(map) = keys["control"]["tcp_connect"].as_object_mut() {
        map.extend(plain);
    }
    document
}

#[test]
fn families_hold_over_plain_http() {
    for (name, expected) in [
        ("dnsBlockingNXDOMAIN", Label::Blocked),
        ("dnsBlockingAndroidDNSCacheNoData", Label::Blocked),
        ("dnsHijackingToLocalhostWithHTTPS", Label::Blocked),
        ("ghostDNSBlockingWithHTTPS", Label::Blocked),
        ("throttlingWithHTTPS", Label::Blocked),
        ("successWithHTTPS", Label::Accessible),
        ("controlFailureWithSuccessfulHTTPSWebsite", Label::Unknown),
        ("redirectWithMoreThanTenRedirectsAndHTTPS", Label::Down),
    ] {
        let Some(document) = one(name) else { return };
        assert_eq!(label(to_http(document)), expected, "{name} over HTTP");
    }
}

/// Makes an HTTPS document of a plain HTTP one whose measurement tried port 443 too.
fn to_https(mut document: Value) -> Value {
    let url = document["input"].as_str().unwrap().replacen("http://", "https://", 1);
    document["input"] = json!(url);
    for request in document["test_keys"]["requests"].as_array_mut().into_iter().flatten() {
        let url = request["request"]["url"].as_str().unwrap().replacen("http://", "https://", 1);
        request["request"]["url"] = json!(url);
        if let Some(address) = request["address"].as_str() {
            request["address"] = json!(address.replace(":80", ":443"));
        }
    }
    document
}

#[test]
fn families_hold_over_https() {
    for (name, expected) in [
        ("cloudflareCAPTCHAWithHTTP", Label::Accessible),
        ("dnsHijackingToProxyWithHTTPURL", Label::Accessible),
        ("largeFileWithHTTP", Label::Accessible),
        ("localhostWithHTTP", Label::Down),
        ("redirectWithBrokenLocationForHTTP", Label::Down),
        ("tcpBlockingConnectionRefusedWithInconsistentDNS", Label::Blocked),
        ("websiteDownNoAddrs", Label::Down),
    ] {
        let Some(document) = one(name) else { return };
        assert_eq!(label(to_https(document)), expected, "{name} over HTTPS");
    }
}

#[test]
fn a_resolver_that_invents_an_answer_and_serves_a_page_there_blocks() {
    let Some(document) = one("ghostDNSBlockingWithHTTPS") else { return };
    let mut document = to_http(document);
    let keys = &mut document["test_keys"];
    for connect in keys["tcp_connect"].as_array_mut().unwrap() {
        connect["status"] = json!({"failure": null, "success": true});
    }
    keys["http_experiment_failure"] = Value::Null;
    keys["requests"] = json!([{"failure": null, "address": "83.224.65.41:80",
        "request": {"url": "http://itsat.info/"},
        "response": {"code": 200, "body": "<title>Access Denied</title>", "headers": {}}}]);
    assert_eq!(label(document), Label::Blocked);
}

#[test]
fn names_that_do_not_exist_for_probe_and_control_are_down() {
    let Some(mut document) = one("websiteDownNoAddrs") else { return };
    for query in document["test_keys"]["queries"].as_array_mut().unwrap() {
        query["failure"] = json!("dns_nxdomain_error");
        query["answers"] = Value::Null;
    }
    document["test_keys"]["control"]["dns"] = json!({"failure": "dns_name_error", "addrs": []});
    assert_eq!(label(document), Label::Down);
}

#[test]
fn certificate_faults_that_the_control_shares_are_down_and_those_it_does_not_are_blocked() {
    for failure in ["ssl_invalid_hostname", "ssl_unknown_authority", "ssl_invalid_certificate"] {
        let Some(mut document) = one("badSSLWithExpiredCertificate") else { return };
        let keys = &mut document["test_keys"];
        keys["tls_handshakes"][0]["failure"] = json!(failure);
        keys["control"]["tls_handshake"]["104.154.89.105:443"]["failure"] = json!(failure);
        keys["http_experiment_failure"] = json!(failure);
        assert_eq!(label(document.clone()), Label::Down, "{failure}");
        let keys = &mut document["test_keys"];
        keys["control"]["tls_handshake"]["104.154.89.105:443"] =
            json!({"server_name": "expired.badssl.com", "status": true, "failure": null});
        keys["control"]["http_request"] = json!({"failure": null, "status_code": 200, "body_length": 10, "title": ""});
        assert_eq!(label(document), Label::Blocked, "{failure}");
    }
}

#[test]
fn tcp_tls_and_http_interference_with_a_working_control_is_blocked_with_its_technique() {
    let edit = |layer: &str, failure: &str| {
        let mut document = one("successWithHTTPS")?;
        let keys = &mut document["test_keys"];
        keys["http_experiment_failure"] = json!(failure);
        keys["blocking"] = Value::Null;
        match layer {
            "tcp" => {
                keys["tcp_connect"][0]["status"] = json!({"failure": failure, "success": false});
                keys["tls_handshakes"] = json!([]);
                keys["requests"] = json!([]);
            }
            "tls" => {
                keys["tls_handshakes"][0]["failure"] = json!(failure);
                keys["requests"] = json!([]);
            }
            _ => {
                keys["requests"][0]["failure"] = json!(failure);
                keys["requests"][0]["response"] = json!({"code": 0, "headers": {}, "body": ""});
            }
        }
        Some(classify_value(document, &Fingerprints::default()).unwrap())
    };
    for (layer, failure, technique) in [
        ("tcp", "generic_timeout_error", "tcp.timeout"),
        ("tcp", "connection_refused", "tcp.refused"),
        ("tls", "connection_reset", "tls.reset"),
        ("tls", "generic_timeout_error", "tls.timeout"),
        ("tls", "eof_error", "tls.eof"),
        ("tls", "ssl_unknown_authority", "tls.mitm"),
        ("http", "connection_reset", "http.reset"),
        ("http", "generic_timeout_error", "http.timeout"),
    ] {
        let Some(found) = edit(layer, failure) else { return };
        assert_eq!(found.label, Label::Blocked, "{layer} {failure}");
        assert_eq!(found.technique.unwrap().as_str(), technique);
        assert!(found.probability > 0.8, "{layer} {failure}: {}", found.probability);
    }
    // A fault of the probe's own network is no block.
    assert_eq!(edit("tcp", "network_unreachable").unwrap().label, Label::Unknown);
}

#[test]
fn an_upper_case_international_name_is_the_same_site() {
    let Some(mut document) = one("idnaWithoutCensorshipLowercase") else { return };
    document["input"] = json!("http://\u{42f}\u{43d}\u{434}\u{435}\u{43a}\u{441}.\u{440}\u{444}/");
    assert_eq!(label(document), Label::Accessible);
}

#[test]
fn a_plain_redirect_to_a_block_page_over_https_is_blocked_and_the_page_is_not() {
    let Some(mut document) = one("httpDiffWithConsistentDNS") else { return };
    let keys = &mut document["test_keys"];
    let page = json!({"failure": null, "request": {"url": "https://notice.authority.test/"},
        "response": {"code": 200, "body": "blocked by order", "headers": {}}});
    let redirect = json!({"failure": null, "address": "93.184.216.34:80", "request": {"url": "http://www.example.com/"},
        "response": {"code": 302, "body": "", "headers": {"Location": "https://notice.authority.test/"}}});
    keys["requests"] = json!([page, redirect]);
    let found = classify_value(document.clone(), &Fingerprints::default()).unwrap();
    assert_eq!((found.label, found.method()), (Label::Blocked, Some("http-redirect")));
    assert_eq!(found.rules, [RuleId::HttpDiff, RuleId::TlsValid]);
    // The control saw the same page at the end, so the site moved.
    for name in ["body_length_match", "title_match"] {
        document["test_keys"][name] = json!(true);
    }
    assert_eq!(label(document), Label::Accessible);
}
