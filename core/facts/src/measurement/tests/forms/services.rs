//! Messengers and tools, whose tests have endpoints and names of their own.

use serde_json::{Value, json};

use super::{Forms, text};
use crate::measurement::made::{Head, scores, signal, signal_rows};
use crate::verdict::evaluate::Vote;

/// Telegram with so many of its twelve endpoints failing, at HTTP or already at TCP. Its web site fails or works.
fn of_telegram(failing: usize, at_tcp: bool, web: Option<&'static str>) -> Forms {
    let addresses =
        ["149.154.175.50", "149.154.167.51", "149.154.175.100", "149.154.167.91", "149.154.171.5", "95.161.76.100"];
    let endpoints: Vec<(&str, u16)> = addresses.iter().flat_map(|ip| [(*ip, 80), (*ip, 443)]).collect();
    let head = Head::new("telegram", None);
    let timeout = |at: usize| (at < failing).then_some("generic_timeout_error");
    let tcp = |at: usize| timeout(at).filter(|_| at_tcp);
    let url = |(ip, port): (&str, u16)| format!("http://{ip}:{port}/");
    let connects: Vec<Value> = endpoints.iter().enumerate()
        .map(|(at, (ip, port))| json!({ "ip": ip, "port": port, "status": { "success": tcp(at).is_none(), "failure": tcp(at) } })).collect();
    let mut requests: Vec<Value> = endpoints.iter().enumerate()
        .map(|(at, endpoint)| json!({ "request": { "url": url(*endpoint) }, "failure": timeout(at), "response": { "code": 501 } })).collect();
    requests.push(
        json!({ "request": { "url": "https://web.telegram.org/" }, "failure": web, "response": { "code": 200 } }),
    );
    let status = if web.is_some() { "blocked" } else { "ok" };
    let keys = json!({
        "tcp_connect": connects, "requests": requests, "telegram_web_status": status, "telegram_web_failure": web,
        "tls_handshakes": [{ "server_name": "web.telegram.org", "address": "149.154.167.99:443", "failure": web }],
    });
    let mut rows: Vec<Vec<(&str, String)>> = Vec::new();
    for (at, (ip, port)) in endpoints.iter().enumerate() {
        let flag = if tcp(at).is_none() { "1" } else { "0" };
        rows.push(vec![
            ("ip", text(*ip)),
            ("port", port.to_string()),
            ("tcp_success", text(flag)),
            ("tcp_failure", text(tcp(at).unwrap_or(""))),
        ]);
        rows.push(vec![
            ("hostname", text(*ip)),
            ("port", port.to_string()),
            ("http_request_url", url((*ip, *port))),
            ("http_failure", text(timeout(at).unwrap_or(""))),
        ]);
    }
    let flag = if web.is_none() { "1" } else { "0" };
    rows.push(vec![
        ("hostname", text("web.telegram.org")),
        ("ip", text("149.154.167.99")),
        ("port", text("443")),
        ("tcp_success", text("1")),
        ("tls_success", text(flag)),
        ("tls_failure", text(web.unwrap_or(""))),
    ]);
    rows.push(vec![
        ("hostname", text("web.telegram.org")),
        ("http_request_url", text("https://web.telegram.org/")),
        ("http_failure", text(web.unwrap_or(""))),
    ]);
    let unreachable = if at_tcp { failing } else { 0 };
    let general = unreachable as f64 / 12.0 + failing as f64 / 12.0 + f64::from(web.is_some());
    let scored = scores(
        general,
        json!({
            "web_failure": web, "accessible_endpoints": 12 - unreachable, "unreachable_endpoints": unreachable,
            "http_success_cnt": 12 - failing, "http_failure_cnt": failing,
        }),
    );
    Forms {
        what: format!("telegram {failing} of 12, at TCP {at_tcp}, web {web:?}"),
        document: head.document(&keys),
        observations: head.observations(&rows),
        fastpath: head.fastpath(&scored, general >= 0.5, false, ""),
        listed: head.listed(&scored, general >= 0.5, false, false).to_string(),
    }
}

#[test]
fn one_measurement_of_telegram_gives_one_vote_in_every_form() {
    for failing in 0..=12 {
        for at_tcp in [false, true] {
            for web in [None, Some("generic_timeout_error"), Some("connection_reset"), Some("ssl_unknown_authority")] {
                of_telegram(failing, at_tcp, web).hold(&["telegram/pool", "web.telegram.org"], |_, _| false);
            }
        }
    }
}

/// Signal with all handshakes ending in this way.
fn of_signal(failure: Option<&'static str>) -> Forms {
    let head = Head::new("signal", None);
    let scored = match failure {
        None => scores(0.0, json!({})),
        Some(failure) => scores(1.0, json!({ "analysis": { "signal_backend_failure": failure } })),
    };
    Forms {
        what: format!("signal {failure:?}"),
        document: head.document(&signal(failure, 3)),
        observations: head.observations(&signal_rows(failure, 3)),
        fastpath: head.fastpath(&scored, failure.is_some(), false, ""),
        listed: head.listed(&scored, failure.is_some(), false, false).to_string(),
    }
}

#[test]
fn one_measurement_of_signal_gives_one_vote_in_every_form() {
    for failure in [
        None,
        Some("ssl_invalid_hostname"),
        Some("ssl_unknown_authority"),
        Some("connection_reset"),
        Some("generic_timeout_error"),
        Some("eof_error"),
        Some("network_unreachable"),
        Some("unknown_failure: runtime error: index out of range"),
    ] {
        of_signal(failure).hold(&["signal/backend"], |_, _| false);
    }
}

/// WhatsApp, with its chat endpoints, its registration and its web site working or failing.
fn of_whatsapp(endpoints: bool, registration: bool, web: bool) -> Forms {
    let head = Head::new("whatsapp", None);
    let failed = |works: bool| (!works).then_some("generic_timeout_error");
    let flag = |works: bool| text(if works { "1" } else { "0" });
    let pool: Vec<String> = (1..=4).map(|n| format!("157.240.20.{n}")).collect();
    let connects: Vec<Value> = pool
        .iter()
        .map(|ip| json!({ "ip": ip, "port": 443, "status": { "success": endpoints, "failure": failed(endpoints) } }))
        .collect();
    let roles = [
        ("v.whatsapp.net", "https://v.whatsapp.net/v2/register", registration),
        ("web.whatsapp.com", "https://web.whatsapp.com/", web),
    ];
    let handshakes: Vec<Value> = roles.iter()
        .map(|(host, _, works)| json!({ "server_name": host, "address": "157.240.20.54:443", "failure": failed(*works) })).collect();
    let requests: Vec<Value> = roles.iter()
        .map(|(_, url, works)| json!({ "request": { "url": url }, "failure": failed(*works), "response": { "code": 200 } })).collect();
    let word = |works: bool| if works { "ok" } else { "blocked" };
    let keys = json!({
        "tcp_connect": connects, "tls_handshakes": handshakes, "requests": requests, "whatsapp_endpoints_status": word(endpoints),
        "registration_server_status": word(registration), "whatsapp_web_status": word(web),
    });
    let mut rows: Vec<Vec<(&str, String)>> = pool
        .iter()
        .map(|ip| {
            vec![
                ("ip", ip.clone()),
                ("port", text("443")),
                ("tcp_success", flag(endpoints)),
                ("tcp_failure", text(failed(endpoints).unwrap_or(""))),
            ]
        })
        .collect();
    for (host, url, works) in roles {
        rows.push(vec![
            ("hostname", text(host)),
            ("ip", text("157.240.20.54")),
            ("port", text("443")),
            ("tcp_success", text("1")),
            ("tls_success", flag(works)),
            ("tls_failure", text(failed(works).unwrap_or(""))),
        ]);
        rows.push(vec![
            ("hostname", text(host)),
            ("http_request_url", text(url)),
            ("http_failure", text(failed(works).unwrap_or(""))),
        ]);
    }
    let scored = match (registration && web, endpoints) {
        (false, _) => scores(1.0, json!({})),
        (true, endpoints) => scores(
            f64::from(!endpoints),
            json!({ "analysis": {
            "registration_server_accessible": true, "whatsapp_web_accessible": true, "whatsapp_endpoints_accessible": endpoints,
        } }),
        ),
    };
    let anomaly = !(endpoints && registration && web);
    Forms {
        what: format!("whatsapp endpoints {endpoints}, registration {registration}, web {web}"),
        document: head.document(&keys),
        observations: head.observations(&rows),
        fastpath: head.fastpath(&scored, anomaly, false, ""),
        listed: head.listed(&scored, anomaly, false, false).to_string(),
    }
}

#[test]
fn one_measurement_of_whatsapp_gives_one_vote_in_every_form() {
    for endpoints in [true, false] {
        for registration in [true, false] {
            for web in [true, false] {
                // If one of the two fails, the scores say nothing about the other.
                let untold = !(registration && web);
                of_whatsapp(endpoints, registration, web)
                    .hold(&["whatsapp/pool", "whatsapp/registration", "web.whatsapp.com"], |form, vote| {
                        untold && form != "observations" && vote == Vote::Masked
                    });
            }
        }
    }
}

/// Messenger with strange answers for so many of its names, and so many failing connections.
fn of_messenger(unnamed: usize, unreached: usize) -> Forms {
    let head = Head::new("facebook_messenger", None);
    let hosts = ["b_api", "b_graph", "edge", "external_cdn", "scontent_cdn", "star"];
    let names = [
        "b-api.facebook.com",
        "b-graph.facebook.com",
        "edge-mqtt.facebook.com",
        "external.xx.fbcdn.net",
        "scontent.xx.fbcdn.net",
        "star.c10r.facebook.com",
    ];
    let mut keys = json!({ "facebook_dns_blocking": unnamed > 0, "facebook_tcp_blocking": unreached > 0, "facebook_stun_dns_consistent": true });
    let mut more = json!({});
    let (mut queries, mut connects, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for (at, host) in hosts.iter().enumerate() {
        let (consistent, tried) = (at >= unnamed, at >= unnamed);
        let failure = (at < unnamed + unreached).then_some("generic_timeout_error");
        let ip = format!("157.240.1.{at}");
        keys[format!("facebook_{host}_dns_consistent")] = json!(consistent);
        keys[format!("facebook_{host}_reachable")] = if tried { json!(failure.is_none()) } else { Value::Null };
        if !consistent {
            more[format!("facebook_{host}_dns_consistent")] = json!(false);
        }
        queries.push(json!({ "engine": "system", "hostname": names[at], "query_type": "A", "failure": null, "answers": [{ "answer_type": "A", "ipv4": ip }] }));
        let mut row = vec![
            ("hostname", text(names[at])),
            ("ip", ip.clone()),
            ("port", text("443")),
            ("dns_engine", text("system")),
            ("dns_answer", ip.clone()),
        ];
        if tried {
            if failure.is_some() {
                more[format!("facebook_{host}_reachable")] = json!(false);
            }
            connects
                .push(json!({ "ip": ip, "port": 443, "status": { "success": failure.is_none(), "failure": failure } }));
            row.extend([
                ("tcp_success", text(if failure.is_none() { "1" } else { "0" })),
                ("tcp_failure", text(failure.unwrap_or(""))),
            ]);
        }
        rows.push(row);
    }
    (keys["queries"], keys["tcp_connect"]) = (json!(queries), json!(connects));
    for (name, set) in [("facebook_dns_blocking", unnamed > 0), ("facebook_tcp_blocking", unreached > 0)] {
        if set {
            more[name] = json!(true);
        }
    }
    let general = more.as_object().unwrap().len() as f64 * 0.5;
    let scored = scores(general, more);
    Forms {
        what: format!("messenger {unnamed} strange names, {unreached} dead"),
        document: head.document(&keys),
        observations: head.observations(&rows),
        fastpath: head.fastpath(&scored, general >= 0.5, false, ""),
        listed: head.listed(&scored, general >= 0.5, false, false).to_string(),
    }
}

#[test]
fn one_measurement_of_messenger_gives_one_vote_in_every_form() {
    for unnamed in 0..=5 {
        for unreached in 0..=(6 - unnamed) {
            of_messenger(unnamed, unreached).hold(&["facebook_messenger/endpoints"], |_, _| false);
        }
    }
}

#[test]
fn one_measurement_of_tools_gives_one_vote_in_every_form_that_lists_them() {
    for (test, works, target, keys, more) in [
        (
            "psiphon",
            true,
            "psiphon/bootstrap",
            json!({ "failure": null, "bootstrap_time": 3.5 }),
            json!({ "accuracy": 1.0 }),
        ),
        (
            "psiphon",
            false,
            "psiphon/bootstrap",
            json!({ "failure": "generic_timeout_error", "bootstrap_time": 0 }),
            json!({ "accuracy": 1.0 }),
        ),
        ("vanilla_tor", true, "tor/bootstrap", json!({ "success": true, "tor_progress": 100 }), json!({})),
        (
            "vanilla_tor",
            false,
            "tor/bootstrap",
            json!({ "success": false, "tor_progress": 10, "error": "timeout-reached" }),
            json!({}),
        ),
        ("torsf", true, "tor/snowflake", json!({ "failure": null, "bootstrap_time": 9.0, "success": true }), json!({})),
        ("torsf", false, "tor/snowflake", json!({ "failure": "generic_timeout_error" }), json!({})),
        ("openvpn", true, "openvpn/endpoints", json!({ "success": true }), json!({})),
        (
            "openvpn",
            false,
            "openvpn/endpoints",
            json!({ "success": false, "failure": "generic_timeout_error" }),
            json!({}),
        ),
    ] {
        let head = Head::new(test, None);
        let scored = scores(f64::from(!works), more);
        let document = crate::measurement::made::vote("document", &head.document(&keys), target);
        assert_eq!(document, Some(if works { Vote::Clear } else { Vote::NeedsControl }), "{test}");
        assert_eq!(
            crate::measurement::made::vote("fastpath", &head.fastpath(&scored, !works, false, ""), target),
            document,
            "{test}"
        );
        assert_eq!(
            crate::measurement::made::vote("listed", &head.listed(&scored, !works, false, false).to_string(), target),
            document,
            "{test}"
        );
    }
    for failing in [None, Some("generic_timeout_error")] {
        let target = |name: &str, protocol: &str| {
            (name.to_owned(), json!({ "failure": failing, "network_events": [], "target_protocol": protocol }))
        };
        let targets: serde_json::Map<String, Value> =
            [target("192.0.2.1:443", "or_port"), target("192.0.2.2:80", "dir_port"), target("abc", "obfs4")]
                .into_iter()
                .collect();
        let head = Head::new("tor", None);
        let scored = scores(f64::from(failing.is_some()), json!({}));
        for role in ["tor/or_port", "tor/directory", "tor/obfs4"] {
            let document =
                crate::measurement::made::vote("document", &head.document(&json!({ "targets": targets })), role);
            assert!(document.is_some());
            let listed = head.listed(&scored, failing.is_some(), false, false).to_string();
            assert_eq!(crate::measurement::made::vote("listed", &listed, role), document, "{role}");
        }
    }
}
