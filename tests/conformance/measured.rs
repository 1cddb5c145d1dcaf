//! Results from the deployment's own measurements, end to end: attribution, drift in the review queue, the classifier
//! in the changelog. Every runtime must compute the same numbers.

use std::time::Duration;

use heliograph_core::Timestamp;
use heliograph_core::engine::time::{DAY, HOUR};
use heliograph_core::facts::starter::basket;
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{HEADER, Session, SiteResult, observation};
use heliograph_tests::target::{Kind, Target};
use serde_json::{Value, json};

use crate::analytics::wait;
use crate::forecasts;
use crate::{Suite, cases};

cases![
    attribution_compares_what_this_deployment_measured,
    the_queue_weighs_the_drift_and_volume_that_are_measured,
    the_changelog_tells_of_the_classifier_as_of_the_forecast,
    every_runtime_makes_the_same_numbers_of_the_same_measurements,
];

/// A country with reported shutdowns every other day, which show in the measurements.
const SHUT: &str = "PL";
/// A country where one of three networks has reset everything for five days, without any report.
const STRUCK: &str = "CZ";
const SINCE: i64 = 5;
/// Countries that are free and had no shutdown.
const DONORS: [&str; 6] = ["FI", "DK", "IS", "EE", "LV", "LT"];
/// A score needs at least 20 sites and 200 sessions.
const SITES: usize = 20;
/// The first network may reset. At the others the sites work; otherwise a reset could not be told from a site that is
/// down.
const NETWORKS: u32 = 3;

/// Number of measured days of a country.
fn days(country: &str) -> i64 {
    if country == SHUT { 90 } else { 45 }
}

/// True if the first network resets a site `back` days ago: now and then everywhere, often on days of a shutdown, and
/// always since the event.
fn reset(country: &str, place: usize, site: usize, back: i64) -> bool {
    let noise = back % 3 == 0 && (back as usize * 7 + place * 3) % SITES == site;
    let shut = country == SHUT && back % 2 == 0 && site < 6 + back as usize % 3;
    let struck = country == STRUCK && back <= SINCE;
    noise || shut || struck
}

fn countries() -> impl Iterator<Item = &'static str> {
    [SHUT, STRUCK].into_iter().chain(DONORS)
}

/// One session a day for each site on each network.
fn measurements(today: Timestamp) -> String {
    let (mut out, mut number) = (HEADER.to_owned(), 0);
    for (place, country) in countries().enumerate() {
        for back in 1..=days(country) {
            for (site, of) in basket::all().iter().take(SITES).enumerate() {
                let at = today.plus(-back * DAY + (site as i64 % 24) * HOUR).to_string();
                let time = format!("{} {}", &at[..10], &at[11..19]);
                for network in 0..NETWORKS {
                    number += 1;
                    let is_reset = network == 0 && reset(country, place, site, back);
                    let seen = if is_reset { SiteResult::TlsReset } else { SiteResult::Works };
                    let asn = 64_500 + network;
                    observation(&mut out, &Session { country, asn, host: of.domain, time: &time, number, seen });
                }
            }
        }
    }
    out
}

/// Imports the measurements first, and the reports when all measurements are counted, so that learning always sees the
/// same data. All days are counted from the day on which this begins.
fn fill(client: &Client) {
    let today = client.now().plus(-client.now().0.rem_euclid(DAY));
    measure(client, today);
    learn(client, today);
}

fn measure(client: &Client, today: Timestamp) {
    data::import(&client.admin(), "ooni-observations", "", measurements(today).as_bytes());
    let yesterday = today.plus(-DAY).to_date_text();
    for country in countries() {
        let counted = |body: &Value| {
            let of = &body["features"];
            body["date"] == json!(yesterday)
                && of["domains"] == json!(SITES as f64)
                && of["networks"] == json!(f64::from(NETWORKS))
        };
        let body = wait(client, &format!("/v1/anomaly/dbscan/{country}"), counted);
        assert!(body["n_days"].as_u64() >= Some(37), "{body}");
    }
    let all = countries().count();
    wait(client, "/v1/anomaly/domain-drift/leaderboard", |body| body["n_countries"] == json!(all));
}

fn learn(client: &Client, today: Timestamp) {
    let mut table = forecasts::table(today);
    for back in (2..=days(SHUT)).step_by(2) {
        let day = today.plus(-back * DAY).to_date_text();
        table += &format!("{day},{day},Poland,Gdansk,,Shutdown,Full network,Protests\n");
    }
    forecasts::learn_from(client, &table);
    wait(client, &format!("/v1/classifier/score/{SHUT}"), |body| body["available"] == json!(true));
    let free = |body: &Value| body["n_donors_eligible"] == json!(DONORS.len());
    wait(client, &attribution(today, SINCE), free);
}

fn attribution(today: Timestamp, back: i64) -> String {
    let day = today.plus(-back * DAY).to_date_text();
    format!("/v1/sentinel/attribute?country={STRUCK}&date={day}")
}

/// The day on which a deployment was filled: the day after the last measured one.
fn filled_on(client: &Client) -> Timestamp {
    let body = client.get(&format!("/v1/anomaly/dbscan/{STRUCK}")).expect(200);
    Timestamp::parse(body["date"].as_str().unwrap()).unwrap().plus(DAY)
}

/// Lets time pass until `then`.
fn go(client: &Client, then: Timestamp) {
    client.wait(Duration::from_micros(u64::try_from(then.since(client.now())).unwrap_or(0)));
}

fn filled(suite: &Suite) -> Client {
    suite.prepared("measured", fill)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A third of all sessions is reset since that day; before it and elsewhere it is one in 180.
fn attribution_compares_what_this_deployment_measured(suite: &Suite) {
    let client = filled(suite);
    let today = filled_on(&client);
    let body = client.get(&attribution(today, SINCE)).expect(200);
    assert_eq!((&body["n_pre"], &body["n_post"]), (&json!(14), &json!(SINCE)), "{body}");
    assert_eq!((&body["n_donors_used"], &body["n_donors_eligible"]), (&json!(6), &json!(6)), "{body}");
    assert_eq!((&body["low_confidence"], &body["low_confidence_reason"]), (&json!(false), &Value::Null), "{body}");
    assert!((number(&body["causal_effect"]) - 1.0 / 3.0).abs() < 0.02, "{body}");
    // With six donors no p-value is below 1/7.
    assert_eq!((&body["p_value"], &body["evidence_class"]), (&json!(0.1429), &json!("not_significant")), "{body}");
    assert!(number(&body["pre_rmse"]) <= 0.05, "{body}");
    let caveats = body["honest_caveats"].to_string();
    assert!(caveats.contains("results that say blocked") && caveats.contains("Only 5 days"), "{body}");
    let weights = body["donor_weights"].as_object().unwrap();
    assert!(weights.keys().all(|code| DONORS.contains(&code.as_str())), "{body}");
    assert!((weights.values().map(number).sum::<f64>() - 1.0).abs() < 1e-3, "{body}");
    // A week earlier nothing happened there, and a country with shutdowns is no donor.
    let quiet = client.get(&attribution(today, SINCE + 10)).expect(200);
    assert!(number(&quiet["causal_effect"]).abs() < 0.05 && quiet["n_post"] == json!(7), "{quiet}");
}

/// Impact is the product of uncertainty, volume and drift, each of which is known where there are measurements.
fn the_queue_weighs_the_drift_and_volume_that_are_measured(suite: &Suite) {
    let client = filled(suite);
    let queue = |query: &str| client.get(&format!("/v1/sentinel/active-learning-queue?{query}")).expect(200);
    let body = queue("limit=200");
    let all = countries().count();
    let coverage = json!({ "n_drift_countries": all, "n_volume_countries": all });
    assert_eq!(body["factor_coverage"], coverage, "{}", body["note"]);
    let of = |country: &str| queue(&format!("country={country}"))["items"][0].clone();
    let (struck, shut, calm, unmeasured) = (of(STRUCK), of(SHUT), of("FI"), of("NZ"));
    // Five of seven days with a third of all sessions are 0.23 more than the week before; 0.2 already counts in full.
    assert_eq!(struck["drift_factor"], json!(1.0), "{struck}");
    assert!(struck["reasoning"].as_array().unwrap().contains(&json!("recent_drift")), "{struck}");
    assert!(number(&calm["drift_factor"]) < 0.3, "{calm}");
    assert_eq!((&unmeasured["drift_factor"], &unmeasured["volume_factor"]), (&json!(0.1), &json!(0.1)));
    // All countries have equally many measurements within the age limit.
    assert_eq!(shut["volume_factor"], json!(1.0), "{shut}");
    assert!(shut["reasoning"].as_array().unwrap().contains(&json!("high_volume_country")), "{shut}");
    assert_eq!((&struck["volume_factor"], &calm["volume_factor"]), (&json!(1.0), &json!(1.0)), "{struck}");
    // With equal uncertainty, the country with drift comes first.
    let place = |country: &str| {
        let items = body["items"].as_array().unwrap();
        items.iter().position(|item| item["country"] == json!(country)).unwrap_or(usize::MAX)
    };
    assert!(place(STRUCK) < place("FI") && place("FI") < place("NZ"), "{body}");
}

/// Interface 2, "Model changelog response": it lists models of every kind.
fn the_changelog_tells_of_the_classifier_as_of_the_forecast(suite: &Suite) {
    let client = filled(suite);
    let info = client.get("/v1/classifier/info").expect(200);
    let body = client.get("/v1/atlas/changelog?kind=classifier").expect(200);
    let entry = &body["entries"][0];
    assert_eq!((&entry["version"], &entry["trained_at"]), (&info["version"], &info["trained_at"]), "{body}");
    assert_eq!((&entry["model"], &entry["kind"]), (&info["model"], &json!("classifier")), "{body}");
    for name in ["auc", "brier", "brier_skill", "f1"] {
        assert!((number(&entry["metrics"][name]) - number(&info["metrics"][name])).abs() <= 5.1e-5, "{name}: {body}");
    }
    assert_eq!(entry["top_features"], info["weights"], "{body}");
    assert!(entry["honest_caveats"].as_array().is_some_and(|caveats| caveats.len() >= 3), "{body}");
    assert!(entry["change"].as_str().unwrap().starts_with("Accepted"), "{body}");
    let all = client.get("/v1/atlas/changelog").expect(200);
    // Entries are in the order of the actions. A forecast is promoted a moment after its training, so only times of one
    // kind are compared.
    for kind in ["forecast", "classifier"] {
        let entries = all["entries"].as_array().unwrap().iter().filter(|of| of["kind"] == json!(kind));
        let times: Vec<&str> = entries.map(|of| of["trained_at"].as_str().unwrap()).collect();
        assert!(!times.is_empty() && times.is_sorted_by(|a, b| a >= b), "{kind}: {all}");
    }
    let model = client.get("/v1/atlas/changelog?model=hazard-logistic").expect(200);
    assert!(model["entries"].as_array().unwrap().iter().all(|of| of["kind"] == json!("forecast")), "{model}");
}

/// The place where two answers differ in a number by more than a billionth, or in their members; `None` if there is
/// none. Texts are not compared, because they contain times.
fn difference(at: &str, ours: &Value, theirs: &Value) -> Option<String> {
    let told = || Some(format!("{at}: {ours} {theirs}"));
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => {
            let same = (a.as_f64()? - b.as_f64()?).abs() <= 1e-9;
            if same { None } else { told() }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(place, (a, b))| difference(&format!("{at}/{place}"), a, b))
        }
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            // These members state the duration, and how often it was published.
            let own = ["computed_in_ms", "generation"];
            let compared = a.iter().zip(b.values()).filter(|((name, _), _)| !own.contains(&name.as_str()));
            compared.into_iter().find_map(|((name, a), b)| difference(&format!("{at}/{name}"), a, b))
        }
        (Value::String(_), Value::String(_)) => None,
        (a, b) if a == b => None,
        _ => told(),
    }
}

/// Both runtimes return the same numbers to 1e-9. The other one is the core on its memory store in this process, filled
/// with the same data at the same time.
fn every_runtime_makes_the_same_numbers_of_the_same_measurements(suite: &Suite) {
    let client = filled(suite);
    let target = Target::start(Kind::Memory, &[]);
    let reference = target.client();
    let (today, log) = (filled_on(&client), client.get("/v1/atlas/changelog?kind=forecast").expect(200));
    let first = log["entries"].as_array().unwrap().last().unwrap();
    let learned = Timestamp::parse(first["trained_at"].as_str().unwrap()).unwrap();
    // The same data on the same days, also if midnight was in between.
    go(&reference, learned.plus(-HOUR).max(today));
    measure(&reference, today);
    go(&reference, learned);
    learn(&reference, today);
    let mut paths = vec![attribution(today, SINCE)];
    for country in [SHUT, STRUCK, "FI", "NZ"] {
        for path in [
            "classifier/score/CC",
            "anomaly/dbscan/CC",
            "atlas/score-v2/CC",
            "atlas/topics/CC",
            "forecast/CC/7day",
            "forecast/CC/multi-horizon",
            "sentinel/current_risk/CC",
            "shutdown-risk/CC",
            "elections/CC/briefing",
        ] {
            paths.push(format!("/v1/{}", path.replace("CC", country)));
        }
    }
    for path in [
        "classifier/info",
        "classifier/corroborate/info",
        "anomaly/domain-drift/leaderboard",
        "atlas/score-v2",
        "atlas/topics",
        "atlas/topics/info",
        // Each kind by itself: the order of two kinds depends on which was done later, and that is not compared.
        "atlas/changelog?kind=forecast",
        "atlas/changelog?kind=classifier",
        "atlas/prediction-track-record",
        "forecast/asn-gnn?limit=500",
        "forecast/asn-gnn/info",
        "forecast/high-risk?threshold=0",
        "sentinel/active-learning-queue?limit=200",
        "sentinel/global_heatmap",
        "sentinel/accuracy",
        "sentinel/calibration/history",
    ] {
        paths.push(format!("/v1/{path}"));
    }
    for path in paths {
        let mut last = None;
        // Results that depend on incidents follow a little later. Topics are counted again with the search index, a
        // quarter of a second later for each incident over a hundred.
        for _ in 0..120 {
            go(&reference, client.now());
            let (ours, theirs) = (reference.get(&path).expect(200), client.get(&path).expect(200));
            last = difference(&path, &ours, &theirs);
            if last.is_none() {
                break;
            }
            client.wait(Duration::from_millis(500));
        }
        assert_eq!(last, None, "another number than in this process");
    }
}
