//! Without new votes a belief moves towards the rate of its kind of site in the country (decision rate-of-a-kind).

use serde_json::{Value, json};

use super::{HEADER, Server, rows};
use crate::Timestamp;
use crate::import::{ImportKind, Options};
use engine::time::DAY;

const START: &str = "2025-12-20";

fn site(n: usize) -> String {
    format!("site{n}.example")
}

/// Forty sites on two networks, all measured for half a day; in Italy every second one is blocked, in France none.
fn world() -> Vec<String> {
    let mut parts = Vec::new();
    for n in 0..40 {
        for asn in 1..3 {
            parts.push(rows("IT", asn, &site(n), START, 0..12, n % 2 == 0));
            parts.push(rows("FR", asn, &site(n), START, 0..12, false));
        }
    }
    parts
}

fn import(server: &Server, parts: &[String]) {
    let data = format!("{HEADER}{}", parts.concat());
    server.import(ImportKind::OoniObservations, Options::default(), data.as_bytes());
}

/// The explanation of the first role of an answer.
fn role(server: &Server, country: &str, site: &str, as_of: &str) -> Value {
    let body = json!({ "country": country, "target": site, "as_of": as_of, "explain": true });
    let (_, answer) = server.post("/hydra/v1/detect", &body);
    answer["explanation"]["roles"][0].clone()
}

fn probability(role: &Value) -> f64 {
    role["p_blocked"].as_f64().unwrap_or_else(|| panic!("{role}"))
}

#[test]
fn time_moves_a_site_towards_the_rate_of_its_kind_in_its_country_and_nowhere_else() {
    let server = Server::start();
    import(&server, &world());
    for (country, rate) in [("IT", 0.1905), ("FR", 0.0476)] {
        let newest = Timestamp::parse(START).unwrap().plus(DAY / 2);
        for n in 0..2 {
            let mut before = None;
            for days in 0..25 {
                let role = role(&server, country, &site(n), &newest.plus(days * DAY).to_string());
                assert_eq!((&role["rate"], &role["kind"]), (&json!(rate), &json!("other")), "{country}: {role}");
                let distance = |p: f64| (p - rate).abs();
                let now = probability(&role["networks"][0]);
                assert!(before.is_none_or(|before| distance(now) <= distance(before)), "{country} {n} {days}: {role}");
                before = Some(now);
            }
        }
    }
    // With a month of no votes, a block that is usual in its country is likelier to be still in force.
    let later = |country: &str| probability(&role(&server, country, &site(1), "2025-12-31T00:00:00Z")["networks"][0]);
    assert!(later("IT") > 2.0 * later("FR"), "{} {}", later("IT"), later("FR"));
}

#[test]
fn the_rates_are_the_same_in_whatever_order_and_parts_the_data_come() {
    let answers = |parts: &[&[String]]| {
        let server = Server::start();
        parts.iter().for_each(|part| import(&server, part));
        (0..40)
            .map(|n| {
                let history = server.ok(&format!("/data/domain/{}/history?country=IT&days=60", site(n)));
                (role(&server, "IT", &site(n), "2026-01-01T00:00:00Z"), history)
            })
            .collect::<Vec<_>>()
    };
    let all = world();
    let whole = answers(&[&all]);
    let backwards: Vec<String> = all.iter().rev().cloned().collect();
    assert_eq!(answers(&[&all[100..], &all[..10], &all[10..100]]), whole);
    assert_eq!(answers(&[&backwards[..50], &backwards[50..]]), whole);
}

#[test]
fn sites_of_political_speech_are_a_kind_of_their_own() {
    let server = Server::start();
    import(&server, &world());
    let list: String = (0..40).step_by(2).map(|n| format!("https://{}/,POLR,,2024-01-01,,\n", site(n))).collect();
    let list = format!("url,category_code,category_description,date_added,source,notes\n{list}");
    let (status, body) = server.upload("test-list", list.as_bytes());
    assert_eq!(status, 200, "{body}");
    server.settle();
    let rate = |n: usize| role(&server, "IT", &site(n), "2026-01-01T00:00:00Z");
    let (political, other) = (rate(0), rate(1));
    assert_eq!((&political["kind"], &other["kind"]), (&json!("political"), &json!("other")));
    assert_eq!((&political["rate"], &other["rate"]), (&json!(0.381), &json!(0.0476)));
}
