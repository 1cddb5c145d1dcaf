//! Block pages, known by their words, their headers or the address of a forged answer.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Forms, text};
use crate::measurement::fingerprints::{Fingerprints, Pattern, Place, Scope};
use crate::measurement::made::{ADDRESS, Head, SITE, page, scores};
use crate::verdict::evaluate::Vote;

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
