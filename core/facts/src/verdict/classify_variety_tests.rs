//! Made-up documents of cases outside of the scenarios: guards of sites, networks without IPv6, names that lead to
//! block pages, portals, documents with members of the wrong kind.

use serde_json::{Value, json};

use super::classify::{Classification, Label, classify_value};
use super::rules::RuleId;
use crate::measurement::fingerprints::Fingerprints;

const SITE: &str = "news.example";
const V4: &str = "93.184.216.34";
const V6: &str = "2a00:1450:4001:80b::200e";

/// A document about the site with these `test_keys`.
fn document(scheme: &str, keys: Value) -> Value {
    json!({
        "test_name": "web_connectivity", "report_id": "r", "probe_cc": "NO", "probe_asn": "AS64500",
        "measurement_start_time": "2026-01-02 03:04:05", "input": format!("{scheme}://{SITE}/"), "test_keys": keys,
    })
}

fn lookup(addresses: &[&str], failure: Option<&str>) -> Value {
    let member = |ip: &str| if ip.contains(':') { "ipv6" } else { "ipv4" };
    let answers: Vec<Value> = addresses.iter().map(|ip| json!({ member(ip): ip, "asn": 64_496 })).collect();
    json!({ "hostname": SITE, "engine": "getaddrinfo", "query_type": "A", "failure": failure, "answers": answers })
}

fn connect(ip: &str, port: u16, failure: Option<&str>) -> Value {
    json!({ "ip": ip, "port": port, "status": { "success": failure.is_none(), "failure": failure } })
}

fn request(scheme: &str, failure: Option<&str>, status: u64, headers: Value) -> Value {
    json!({
        "failure": failure,
        "request": { "url": format!("{scheme}://{SITE}/") },
        "response": { "code": status, "headers": headers, "body": "<html>no</html>" },
    })
}

/// A control that reaches the site on its address.
fn control(ip: &str, port: u16) -> Value {
    let endpoint = if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") };
    let works = json!({ endpoint: { "status": true, "failure": null } });
    json!({
        "dns": { "failure": null, "addrs": [ip] }, "tcp_connect": works, "tls_handshake": works,
        "http_request": { "failure": null, "status_code": 200 }, "ip_info": { ip: { "asn": 64_496 } },
    })
}

fn classify(document: Value) -> Classification {
    classify_value(document, &Fingerprints::default()).unwrap()
}

/// A page that differs from the control's over plain HTTP, with this status and these headers.
fn other_page(status: u64, headers: Value) -> Classification {
    classify(document(
        "http",
        json!({
            "queries": [lookup(&[V4], None)], "tcp_connect": [connect(V4, 80, None)],
            "requests": [request("http", None, status, headers)], "control": control(V4, 80),
            "status_code_match": false, "headers_match": false, "title_match": false, "body_length_match": false,
        }),
    ))
}

#[test]
fn a_guard_that_answers_in_the_sites_place_is_no_block() {
    let guards = [
        (403, json!({ "Server": "cloudflare", "CF-RAY": "1" })),
        (403, json!({ "Server": "CloudFront", "X-Amz-Cf-Id": "x" })),
        (403, json!({ "Server": "AkamaiGHost" })),
        (403, json!({ "Server": "nginx", "Via": "1.1 varnish" })),
        (403, json!({ "X-DataDome": "protected" })),
        (405, json!({ "x-amzn-waf-action": "captcha" })),
        (403, json!({ "server": "Vercel" })),
        (429, json!({ "Server": "nginx" })),
        (503, json!({})),
    ];
    for (status, headers) in guards {
        let found = other_page(status, headers.clone());
        assert_eq!(
            (found.label, found.reason),
            (Label::Unknown, Some("server_side_challenge")),
            "{status} {headers}: {found:?}"
        );
    }
    for (status, headers) in [(403, json!({ "Server": "squid" })), (200, json!({ "Server": "cloudflare" }))] {
        assert_eq!(other_page(status, headers.clone()).label, Label::Blocked, "{status} {headers}");
    }
}

/// Decision ipv6-and-probe-faults: IPv6 proves nothing in a session without one IPv6 success, in raw documents as in
/// rows.
#[test]
fn a_session_whose_ipv6_is_dead_says_nothing_of_a_site_with_ipv6_only() {
    for failure in ["generic_timeout_error", "network_unreachable", "connection_refused"] {
        let mut request = request("https", Some(failure), 0, json!({}));
        request["address"] = json!(format!("[{V6}]:443"));
        for requests in [json!([request]), json!([])] {
            let found = classify(document(
                "https",
                json!({
                    "queries": [lookup(&[V6], None)], "tcp_connect": [connect(V6, 443, Some(failure))],
                    "requests": requests, "control": control(V6, 443), "http_experiment_failure": failure,
                }),
            ));
            assert_eq!((found.label, found.rules), (Label::Unknown, vec![RuleId::LocalFault]), "{failure}");
        }
    }
    // With one success IPv6 works, and its failures count.
    let found = classify(document(
        "https",
        json!({
            "queries": [lookup(&[V6], None)],
            "tcp_connect": [connect(V6, 443, Some("generic_timeout_error")), connect("2a00::1", 443, None)],
            "requests": [], "control": control(V6, 443),
        }),
    ));
    assert_eq!((found.label, found.rules), (Label::Blocked, vec![RuleId::TcpFailure]));
}

/// Decision ipv6-and-probe-faults: beside a private IPv4 address, a real address of a family that does not work changes
/// nothing.
#[test]
fn a_hijacked_ipv4_answer_is_told_by_its_address_whatever_ipv6_says() {
    for addresses in [vec!["10.10.34.35"], vec!["10.10.34.35", V6], vec!["::1"], vec!["100.64.1.1"], vec!["0.0.0.0"]] {
        let found = classify(document(
            "https",
            json!({
                "queries": [lookup(&addresses, None)],
                "tcp_connect": [connect("10.10.34.35", 443, Some("connection_refused")),
                                connect(V6, 443, Some("network_unreachable"))],
                "requests": [], "control": control(V4, 443),
            }),
        ));
        assert_eq!((found.label, found.rules), (Label::Blocked, vec![RuleId::DnsBogon]), "{addresses:?}");
    }
}

#[test]
fn an_alias_that_is_a_block_page_server_confirms_in_its_country() {
    let table = "name,scope,location_found,pattern_type,pattern,expected_countries\n\
                 made_up,prov,dns,full,Blocked.Provider.example,NO\nbad,isp,dns,full,not a name,NO\n";
    let mut set = Fingerprints::default();
    let counts = set.import(&mut table.as_bytes(), 1 << 20).unwrap();
    assert_eq!((counts.accepted, counts.refused, counts.reasons["bad_address"]), (1, 1, 1));
    let mut answer = lookup(&["203.0.113.9"], None);
    answer["answers"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "answer_type": "CNAME", "hostname": "blocked.provider.example." }));
    let mut poisoned = document(
        "https",
        json!({ "queries": [answer], "tcp_connect": [], "requests": [], "control": control(V4, 443) }),
    );
    let found = classify_value(poisoned.clone(), &set).unwrap();
    assert_eq!((found.label, found.rules), (Label::Blocked, vec![RuleId::DnsFingerprint]));
    poisoned["probe_cc"] = json!("SE");
    assert_ne!(classify_value(poisoned, &set).unwrap().rules, [RuleId::DnsFingerprint], "another country");
}

#[test]
fn without_a_control_failures_convict_nobody_and_only_a_certificate_clears() {
    for missing in [Value::Null, json!({})] {
        let failing = json!({
            "queries": [lookup(&[], Some("dns_nxdomain_error"))], "tcp_connect": [], "requests": [],
            "control": missing, "control_failure": "generic_timeout_error",
        });
        assert_eq!(classify(document("https", failing)).reason, Some("no_control"));
        let plain = json!({
            "queries": [lookup(&[V4], None)], "tcp_connect": [connect(V4, 80, None)],
            "requests": [request("http", None, 200, json!({}))], "control": missing,
            "control_failure": "connection_refused",
        });
        assert_eq!(classify(document("http", plain)).label, Label::Unknown);
    }
}

#[test]
fn members_of_the_wrong_kind_are_read_as_absent() {
    let odd = [
        json!({}),
        json!({ "queries": null, "tcp_connect": null, "requests": null, "tls_handshakes": null, "control": null }),
        json!({ "queries": { "a": 1 }, "tcp_connect": "x", "requests": [1, null, "a", { "request": [] }],
                "control": [1, 2], "tls_handshakes": [[]], "control_failure": 5 }),
        json!({ "queries": [{ "hostname": 5, "answers": "x" }], "control": { "dns": [], "tcp_connect": [],
                "http_request": 3, "ip_info": "x" } }),
    ];
    for keys in odd {
        let found = classify(document("https", keys.clone()));
        assert_eq!((found.label, found.rules), (Label::Unknown, vec![RuleId::NoEvidence]), "{keys}");
    }
}

fn service(test: &str, keys: Value) -> Classification {
    let document = json!({
        "test_name": test, "report_id": "r", "probe_cc": "NO", "probe_asn": "AS64500",
        "measurement_start_time": "2026-01-02 03:04:05", "input": null, "test_keys": keys,
    });
    classify(document)
}

/// Decision controls-from-peers: the test of a service has no control, so a failing role alone is no block. Decision
/// keys-and-roles: a service whose pool fails is not accessible because its web site works.
#[test]
fn and_29_a_service_with_a_lost_role_is_unknown_and_never_accessible() {
    let ips = ["149.154.175.50", "149.154.167.51", "149.154.175.100", "149.154.167.91"];
    let telegram = |lost: usize, web: &str| {
        let connects: Vec<Value> = ips.iter().map(|ip| connect(ip, 80, None)).collect();
        let request = |(at, ip): (usize, &&str)| {
            let failure = (at < lost).then_some("generic_timeout_error");
            json!({ "failure": failure, "request": { "url": format!("http://{ip}/") } })
        };
        let requests: Vec<Value> = ips.iter().enumerate().map(request).collect();
        service("telegram", json!({ "tcp_connect": connects, "requests": requests, "telegram_web_status": web }))
    };
    assert_eq!(telegram(0, "ok").label, Label::Accessible);
    assert_eq!(telegram(1, "ok").label, Label::Accessible, "under half of the pool");
    for found in [telegram(2, "ok"), telegram(4, "ok"), telegram(0, "blocked")] {
        assert_eq!((found.label, found.reason), (Label::Unknown, Some("no_control")), "{found:?}");
    }
    let whatsapp = |pool: &str| {
        let keys = json!({ "registration_server_status": "ok", "whatsapp_endpoints_status": pool, "whatsapp_web_status": "ok" });
        service("whatsapp", keys).label
    };
    assert_eq!((whatsapp("ok"), whatsapp("blocked")), (Label::Accessible, Label::Unknown));
}

/// Old Signal clients pin a certificate authority that the service has left. That is their fault in every document.
#[test]
fn a_pinned_authority_that_the_service_has_left_is_the_clients_fault() {
    for failure in ["ssl_invalid_certificate", "ssl_unknown_authority"] {
        let keys = json!({ "signal_backend_status": "blocked", "signal_backend_failure": failure });
        let found = service("signal", keys);
        assert_eq!((found.label, found.reason), (Label::Unknown, Some("instrument_fault")), "{found:?}");
    }
    let keys = json!({ "signal_backend_status": "blocked", "signal_backend_failure": "connection_reset" });
    assert_eq!(service("signal", keys).reason, Some("no_control"));
}
