//! One measurement gives one vote in every form: as a document, as rows of observations, as a scored row of the table,
//! and as a row of the list of the API.
//!
//! A form that lacks what decides gives no vote, but never another vote. The cases of this are named below: another page
//! (only the document has it, and scores say whether its words are known), and a site that is down for everybody (scores
//! call it fine).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::measurement::fingerprints::{Fingerprints, Pattern, Place, Scope};
use crate::measurement::made::{ADDRESS, Head, SITE, page, read, scores, signal, signal_rows};
use crate::verdict::evaluate::Vote;

/// One measurement in every form.
struct Forms {
    what: String,
    document: String,
    observations: String,
    fastpath: String,
    listed: String,
}

impl Forms {
    fn votes(&self, form: &str) -> Vec<(String, Vote)> {
        self.votes_with(form, &Fingerprints::default())
    }

    fn votes_with(&self, form: &str, fingerprints: &Fingerprints) -> Vec<(String, Vote)> {
        let text = match form {
            "document" => &self.document,
            "observations" => &self.observations,
            "fastpath" => &self.fastpath,
            _ => &self.listed,
        };
        let found = read(form, text, fingerprints);
        found.into_iter().map(|(target, evaluated)| (target, evaluated.vote)).collect()
    }

    /// Checks that every series of a form gets the document's vote, except for what `says_less` allows, and that each
    /// form says something about the first series.
    fn hold(&self, targets: &[&str], says_less: impl Fn(&str, Vote) -> bool) {
        self.hold_with(&Fingerprints::default(), targets, says_less);
    }

    fn hold_with(&self, fingerprints: &Fingerprints, targets: &[&str], says_less: impl Fn(&str, Vote) -> bool) {
        let document = self.votes_with("document", fingerprints);
        let of = |votes: &[(String, Vote)], target: &str| {
            votes.iter().find(|(known, _)| known == target).map(|(_, vote)| *vote)
        };
        for form in ["observations", "fastpath", "listed"] {
            let votes = self.votes_with(form, fingerprints);
            for target in targets {
                let expected =
                    of(&document, target).unwrap_or_else(|| panic!("{}: {target} in {document:?}", self.what));
                match of(&votes, target) {
                    None => assert_ne!(*target, targets[0], "{}: {form} says nothing: {votes:?}", self.what),
                    Some(vote) => {
                        assert!(
                            vote == expected || says_less(form, vote),
                            "{}: {form} {target}: {vote:?}, not {expected:?}",
                            self.what
                        );
                    }
                }
            }
        }
    }
}

/// The stage at which the way to a site ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Works,
    Dns,
    Tcp,
    Tls,
    Http,
}

fn text(text: impl Into<String>) -> String {
    text.into()
}

/// A measurement of a site over HTTPS or HTTP that ends with this failure at this stage. The control works or fails
/// too.
fn of_site(https: bool, stage: Stage, failure: &'static str, control_works: bool) -> Forms {
    let (scheme, port) = if https { ("https", 443) } else { ("http", 80) };
    let input: &'static str = if https { "https://news.example/" } else { "http://news.example/" };
    let head = Head::new("web_connectivity", Some(input));
    let at = |wanted: Stage| (stage == wanted).then_some(failure);
    let endpoint = format!("{ADDRESS}:{port}");
    let reached = |wanted: &[Stage]| !wanted.contains(&stage);
    let answers =
        if stage == Stage::Dns { json!(null) } else { json!([{ "answer_type": "A", "ipv4": ADDRESS, "asn": 64_496 }]) };
    let control = |wanted: Stage| if control_works || stage != wanted { Value::Null } else { json!(failure) };
    let page_fails = !control_works && stage != Stage::Works;
    let mut keys = json!({
        "queries": [{ "engine": "getaddrinfo", "hostname": SITE, "query_type": "A", "failure": at(Stage::Dns), "answers": answers }],
        "tcp_connect": [], "tls_handshakes": [], "requests": [],
        "control": {
            "dns": { "failure": control(Stage::Dns), "addrs": if control(Stage::Dns).is_null() { json!([ADDRESS]) } else { json!([]) } },
            "tcp_connect": { &endpoint: { "status": control(Stage::Tcp).is_null(), "failure": control(Stage::Tcp) } },
            "tls_handshake": { &endpoint: { "status": control(Stage::Tls).is_null(), "failure": control(Stage::Tls) } },
            "http_request": { "failure": if page_fails { json!(failure) } else { Value::Null }, "status_code": if page_fails { 0 } else { 200 } },
            "ip_info": { ADDRESS: { "asn": 64_496 } },
        },
        "control_failure": null, "http_experiment_failure": (stage != Stage::Works).then_some(failure),
        "title_match": (stage == Stage::Works).then_some(true), "body_length_match": (stage == Stage::Works).then_some(true),
        "headers_match": (stage == Stage::Works).then_some(true), "status_code_match": (stage == Stage::Works).then_some(true),
    });
    let mut connection = vec![("hostname", text(SITE)), ("dns_engine", text("getaddrinfo"))];
    match stage {
        Stage::Dns => connection.push(("dns_failure", text(failure))),
        _ => connection.extend([("dns_answer", text(ADDRESS)), ("ip", text(ADDRESS)), ("port", port.to_string())]),
    }
    if reached(&[Stage::Dns]) {
        let tcp = at(Stage::Tcp);
        keys["tcp_connect"] =
            json!([{ "ip": ADDRESS, "port": port, "status": { "success": tcp.is_none(), "failure": tcp } }]);
        connection.push(("tcp_success", text(if tcp.is_none() { "1" } else { "0" })));
        connection.push(("tcp_failure", text(tcp.unwrap_or(""))));
    }
    if reached(&[Stage::Dns, Stage::Tcp]) && https {
        let tls = at(Stage::Tls);
        keys["tls_handshakes"] =
            json!([{ "server_name": SITE, "address": endpoint, "failure": tls, "no_tls_verify": false }]);
        connection.push(("tls_success", text(if tls.is_none() { "1" } else { "0" })));
        connection.push(("tls_failure", text(tls.unwrap_or(""))));
    }
    let kind = match (control_works, stage) {
        (_, Stage::Works) | (false, _) => None,
        (true, Stage::Dns) => Some("dns"),
        (true, Stage::Tcp) => Some("tcp_ip"),
        (true, _) => Some("http-failure"),
    };
    let word = kind.unwrap_or("false");
    connection.push(("probe_analysis", text(word)));
    let mut rows = vec![connection];
    if reached(&[Stage::Dns, Stage::Tcp, Stage::Tls]) {
        let http = at(Stage::Http);
        let code = if http.is_none() { 200 } else { 0 };
        keys["requests"] = json!([{ "request": { "url": input, "method": "GET" }, "response": { "code": code, "headers": {}, "body": "x" },
            "failure": http, "address": endpoint }]);
        rows.push(vec![
            ("hostname", text(SITE)),
            ("http_request_url", text(input)),
            ("http_failure", text(http.unwrap_or(""))),
            ("probe_analysis", text(word)),
        ]);
    }
    keys["blocking"] = kind.map_or(json!(false), |kind| json!(kind));
    keys["accessible"] = json!(stage == Stage::Works);
    let analysis = kind.map_or(json!({}), |kind| json!({ "analysis": { "blocking_type": kind } }));
    let scored = scores(if kind.is_some() { 1.0 } else { 0.0 }, analysis);
    Forms {
        what: format!("{scheme} {stage:?} {failure} control {control_works}"),
        document: head.document(&keys),
        observations: head.observations(&rows),
        fastpath: head.fastpath(&scored, kind.is_some(), false, kind.unwrap_or("")),
        listed: head.listed(&scored, kind.is_some(), false, false).to_string(),
    }
}

#[test]
fn one_measurement_of_a_site_gives_one_vote_in_every_form() {
    let mut blocked = 0;
    for https in [true, false] {
        for (stage, failures) in [
            (Stage::Works, &[""][..]),
            (
                Stage::Dns,
                &[
                    "dns_nxdomain_error",
                    "dns_no_answer",
                    "dns_server_misbehaving",
                    "generic_timeout_error",
                    "dns_refused_error",
                ],
            ),
            (Stage::Tcp, &["generic_timeout_error", "connection_refused", "connection_reset"]),
            (
                Stage::Tls,
                &[
                    "connection_reset",
                    "generic_timeout_error",
                    "eof_error",
                    "ssl_unknown_authority",
                    "ssl_failed_handshake",
                ],
            ),
            (Stage::Http, &["generic_timeout_error", "connection_reset", "eof_error"]),
        ] {
            for failure in failures.iter().filter(|_| https || stage != Stage::Tls) {
                let forms = of_site(https, stage, failure, true);
                forms.hold(&[SITE], |_, _| false);
                blocked += usize::from(forms.votes("document")[0].1 == Vote::Blocked);
                if stage != Stage::Works {
                    // The site is down for everybody. Scores have no word for that and call it fine.
                    let down = of_site(https, stage, failure, false);
                    assert_eq!(down.votes("document")[0].1, Vote::Down, "{}", down.what);
                    down.hold(&[SITE], |form, vote| form != "observations" && vote == Vote::Clear);
                }
            }
        }
    }
    assert!(blocked >= 25, "{blocked}");
}

/// The words of the made up block page, and the address that a forged answer names.
const BLOCK_PAGE: &str = "This site was blocked by order of the court";
const FORGED: &str = "192.0.2.55";

/// Where the mark of a block page is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mark {
    Body,
    Header,
    Answer,
}

/// The made up fingerprint, and its scope as scores name it.
fn fingerprint(scope: &str, mark: Mark) -> Fingerprints {
    let known = match scope {
        "nat" => Scope::National,
        "isp" => Scope::Isp,
        "inst" => Scope::Institution,
        "fp" => Scope::FalsePositive,
        _ => Scope::Other,
    };
    let mut set = Fingerprints::default();
    let page = Pattern::Contains(BLOCK_PAGE.to_owned());
    match mark {
        Mark::Body => set.add_page("made up", known, Place::Body, page, &[*b"NO"]),
        Mark::Header => set.add_page("made up", known, Place::Header("x-why".to_owned()), page, &[*b"NO"]),
        Mark::Answer => set.add_answer("made up", known, FORGED, &[*b"NO"]),
    }
    set
}

/// A measurement of a site over HTTP that got a block page instead, whose body stands in the document in this way.
fn of_block_page(scope: &str, mark: Mark, body: &Value) -> Forms {
    let head = Head::new("web_connectivity", Some("http://news.example/"));
    let (header, kind) = match mark {
        Mark::Body => ("nothing", "http-diff"),
        Mark::Header => (BLOCK_PAGE, "http-diff"),
        Mark::Answer => ("nothing", "dns"),
    };
    let mut keys = page(&json!({ "code": 200, "headers": { "X-Why": header }, "body": body }), [Some(false); 4]);
    (keys["blocking"], keys["accessible"]) = (json!(kind), json!(false));
    let address = if mark == Mark::Answer { FORGED } else { ADDRESS };
    if mark == Mark::Answer {
        keys["queries"][0]["answers"] = json!([{ "answer_type": "A", "ipv4": FORGED, "asn": 64_497 }]);
        keys["tcp_connect"][0]["ip"] = json!(FORGED);
        keys["requests"][0]["address"] = json!(format!("{FORGED}:80"));
    }
    let connection = vec![
        ("hostname", text(SITE)),
        ("dns_engine", text("getaddrinfo")),
        ("dns_answer", text(address)),
        ("ip", text(address)),
        ("port", text("80")),
        ("tcp_success", text("1")),
        ("probe_analysis", text(kind)),
    ];
    let request = vec![
        ("hostname", text(SITE)),
        ("http_request_url", text("http://news.example/")),
        ("probe_analysis", text(kind)),
    ];
    let place = match mark {
        Mark::Body => "body",
        Mark::Header => "header.x-why",
        Mark::Answer => "dns",
    };
    let confirmed = scope != "fp";
    let found = json!([{ "name": "made up", "scope": scope, "location_found": place, "expected_countries": ["NO"] }]);
    let more = match confirmed {
        true => json!({ "analysis": { "blocking_type": kind }, "fingerprints": found, "confirmed": true }),
        false => json!({ "analysis": { "blocking_type": kind } }),
    };
    let scored = scores(1.0, more);
    Forms {
        what: format!("block page {scope} {mark:?} {body}"),
        document: head.document(&keys),
        observations: head.observations(&[connection, request]),
        fastpath: head.fastpath(&scored, true, confirmed, kind),
        listed: head.listed(&scored, true, confirmed, false).to_string(),
    }
}

#[test]
fn one_block_page_with_known_words_gives_one_vote_in_every_form() {
    let words = format!("<html><title>Notice</title>{BLOCK_PAGE}</html>");
    let packed = STANDARD.encode(words.as_bytes());
    let bodies = [json!(words), json!({ "format": "base64", "data": packed })];
    for body in &bodies {
        for mark in [Mark::Body, Mark::Header, Mark::Answer] {
            for scope in ["nat", "isp", "vbw"] {
                let (forms, known) = (of_block_page(scope, mark, body), fingerprint(scope, mark));
                for form in ["document", "fastpath", "listed"] {
                    assert_eq!(forms.votes_with(form, &known)[0].1, Vote::Blocked, "{}: {form}", forms.what);
                }
                // Rows of observations have answers, and no pages.
                let pageless = mark != Mark::Answer;
                forms.hold_with(&known, &[SITE], |form, vote| {
                    pageless && form == "observations" && vote == Vote::Masked
                });
            }
        }
        // What proves nothing gives no form another vote: the page is the site's own or an institution's, and scores
        // have no page to look at.
        let own = of_block_page("fp", Mark::Body, body);
        let known = fingerprint("fp", Mark::Body);
        assert_ne!(own.votes_with("document", &known)[0].1, Vote::Blocked, "{}", own.what);
        own.hold_with(&known, &[SITE], |_, vote| vote == Vote::Masked);
        let filter = of_block_page("inst", Mark::Body, body);
        filter.hold_with(&fingerprint("inst", Mark::Body), &[SITE], |_, vote| vote == Vote::Masked);
    }
}

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
