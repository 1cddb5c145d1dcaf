//! One measurement gives one vote in every form: as a document, as rows of observations, as a scored row of the table,
//! and as a row of the list of the API.
//!
//! A form that lacks what decides gives no vote, but never another vote. The cases of this are named below: another page
//! (only the document has it, and scores say whether its words are known), and a site that is down for everybody (scores
//! call it fine).

mod block_pages;
mod services;

use serde_json::{Value, json};

use crate::measurement::fingerprints::Fingerprints;
use crate::measurement::made::{ADDRESS, Head, SITE, read, scores};
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
