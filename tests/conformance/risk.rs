//! The part of detection that looks ahead: predict, threat level, scores, model.

use std::time::Duration;

use heliograph_core::engine::time::{DAY, HOUR, Timestamp};
use heliograph_core::facts::starter::basket;
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{HEADER, Session, SiteResult, observation};
use serde_json::{Value, json};

use crate::detect::research;
use crate::{Suite, cases};

cases![
    all_four_need_a_key,
    a_measured_country_has_a_threat_level_that_clients_read,
    a_history_has_thirty_days_and_only_when_asked_for,
    a_history_that_is_imported_has_the_scores_of_the_pages_of_its_days,
    a_country_without_data_has_no_score_confidence_0_and_a_reason,
    scores_hold_only_scored_countries_worst_first,
    scores_are_always_a_list,
    a_prediction_is_a_base_rate_with_low_confidence_and_its_reason,
    horizons_are_kept_within_1_and_30_days,
    the_model_says_that_nothing_is_trained,
    bad_input_is_refused_by_name,
];

const CLEAN: &str = "SE";
const CENSORED: &str = "NO";
/// A country with sessions of one site: too few for a score.
const THIN: &str = "FI";

/// Sessions of each site, one per hour, on four networks.
const SESSIONS: u32 = 24;

/// Two measured countries, one with many blocks, and a third with hardly any data.
fn with_scores(client: &Client) {
    let mut text = HEADER.to_owned();
    let now = client.now();
    let mut number = 0;
    for (country, sites, blocked) in [(CENSORED, 30, 20), (CLEAN, 30, 0), (THIN, 1, 0)] {
        for (at, site) in basket::all().iter().take(sites).enumerate() {
            for session in 0..SESSIONS {
                number += 1;
                let time = now.plus(-(i64::from(session) + 1) * HOUR).to_string();
                let time = format!("{} {}", &time[..10], &time[11..19]);
                // Half of the networks block; the other half is the control.
                let network = session % 4;
                let seen = if at < blocked && network < 2 { SiteResult::TlsReset } else { SiteResult::Works };
                let asn = 64_500 + network;
                observation(&mut text, &Session { country, asn, host: site.domain, time: &time, number, seen });
            }
        }
    }
    data::import(&client.admin(), "ooni-observations", "", text.as_bytes());
    let key = research(client);
    let scored = || scores(&key, "?minConfidence=0").as_array().unwrap().len() == 2;
    for _ in 0..100 {
        if scored() {
            return;
        }
        client.wait(Duration::from_millis(200));
    }
    panic!("no scores after the import");
}

fn scores(client: &Client, query: &str) -> Value {
    client.get(&format!("/hydra/v1/scores{query}")).expect(200)["scores"].take()
}

fn measured(suite: &Suite) -> Client {
    research(&suite.prepared("scores", with_scores))
}

fn threat(client: &Client, rest: &str) -> Value {
    client.get(&format!("/hydra/v1/threat-level/{rest}")).expect(200)
}

fn predict(client: &Client, body: &Value) -> Value {
    client.post("/hydra/v1/predict", body).expect(200)
}

fn all_four_need_a_key(suite: &Suite) {
    let client = suite.client();
    for path in ["threat-level/NO", "scores", "model/info"] {
        client.get(&format!("/hydra/v1/{path}")).expect_error(401, "UNAUTHORIZED");
        client.key("svc_nobody").get(&format!("/hydra/v1/{path}")).expect_error(401, "UNAUTHORIZED");
    }
    client.post("/hydra/v1/predict", &json!({ "country": "NO" })).expect_error(401, "UNAUTHORIZED");
}

fn a_measured_country_has_a_threat_level_that_clients_read(suite: &Suite) {
    let client = measured(suite);
    let body = threat(&client, "no");
    assert_eq!((&body["country"], &body["countryName"]), (&json!("NO"), &json!("Norway")), "{body}");
    let score = body["score"].as_f64().unwrap();
    let index = client.get("/data/country/NO").expect(200);
    assert_eq!(index["score"].as_f64(), Some(score), "one score for both: {body}");
    assert!(score > 0.2, "{body}");
    assert!((0.0..=1.0).contains(&body["confidence"].as_f64().unwrap()) && body["confidence"] != 0.0, "{body}");
    assert_eq!(body["trend"], "stable", "a day tells no trend: {body}");
    assert_eq!(body["topMethods"][0], "tls-reset", "{body}");
    let advice: Vec<&str> = body["recommendations"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
    assert!(advice.iter().any(|sentence| sentence.contains("VPN")), "{body}");
    assert!(body["activeIncidents"].is_u64() && body["lastUpdated"].is_string(), "{body}");
    let clean = threat(&client, CLEAN);
    assert_eq!((&clean["level"], &clean["topMethods"]), (&json!("minimal"), &json!([])), "{clean}");
    assert!(!clean["recommendations"].as_array().unwrap().is_empty(), "{clean}");
}

fn a_history_has_thirty_days_and_only_when_asked_for(suite: &Suite) {
    let client = measured(suite);
    assert!(threat(&client, "NO").get("history").is_none());
    let body = threat(&client, "NO?includeHistory=true");
    let history = body["history"].as_array().unwrap();
    assert_eq!(history.len(), 30, "{body}");
    let dates: Vec<&str> = history.iter().map(|day| day["date"].as_str().unwrap()).collect();
    assert!(dates.is_sorted() && dates.windows(2).all(|pair| pair[0] != pair[1]), "{dates:?}");
    assert_eq!(history[29]["score"], body["score"], "{body}");
    // Nothing was measured that day, and no score is invented.
    assert!(history[0]["score"].is_null(), "{body}");
}

/// A history of thirty days, also of a server that has just begun with imported measurements.
fn a_history_that_is_imported_has_the_scores_of_the_pages_of_its_days(suite: &Suite) {
    const BEFORE: i64 = 5;
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = research(&target.client());
    let mut text = HEADER.to_owned();
    let midnight = client.now().day() * DAY;
    let mut number = 0;
    for back in 1..=BEFORE {
        for (at, site) in basket::all().iter().take(30).enumerate() {
            for session in 0..8u32 {
                number += 1;
                let time = Timestamp(midnight - back * DAY + i64::from(session) * HOUR).to_string();
                let time = format!("{} {}", &time[..10], &time[11..19]);
                let network = session % 4;
                // Each day more sites are blocked.
                let seen =
                    if at as i64 + 4 * back < 20 && network < 2 { SiteResult::TlsReset } else { SiteResult::Works };
                let asn = 64_500 + network;
                observation(
                    &mut text,
                    &Session { country: CENSORED, asn, host: site.domain, time: &time, number, seen },
                );
            }
        }
    }
    data::import(&client.admin(), "ooni-observations", "", text.as_bytes());
    // On the first two days there were too few measurements to call a site accessible.
    let known = |body: &Value| {
        let days = body["history"].as_array().unwrap();
        days.iter().filter(|day| day["score"].is_number()).count() as i64
    };
    let path = format!("/hydra/v1/threat-level/{CENSORED}?includeHistory=true");
    let body = crate::analytics::wait(&client, &path, |body| known(body) >= BEFORE - 1);
    for day in body["history"].as_array().unwrap().iter().take(29) {
        let date = day["date"].as_str().unwrap();
        let page = client.get(&format!("/data/country/{CENSORED}?as_of={date}T23:59:59Z")).expect(200);
        assert_eq!(page["score"], day["score"], "{date}: {body}");
    }
    // The same days as open data, newest first, and as a table.
    let open = client.get(&format!("/data/country/{CENSORED}/history?days=31")).expect(200);
    let timeline = open["timeline"].as_array().unwrap();
    assert_eq!((timeline.len(), &open["score"]), (31, &body["score"]), "{open}");
    for (day, told) in timeline.iter().zip(body["history"].as_array().unwrap().iter().rev()) {
        assert_eq!((&day["date"], &day["score"]), (&told["date"], &told["score"]), "{open}");
        assert!(day["incidents"].is_u64(), "{open}");
    }
    let table = client.get(&format!("/data/country/{CENSORED}/history?format=csv"));
    let table = table.text();
    let first = format!("{},{}", timeline[0]["date"].as_str().unwrap(), timeline[0]["score"]);
    assert!(table.starts_with("date,score,incidents") && table.contains(&first), "{table}");
    client.get(&format!("/data/country/{CENSORED}/history?days=0")).expect_error(400, "BAD_REQUEST");
}

fn a_country_without_data_has_no_score_confidence_0_and_a_reason(suite: &Suite) {
    let client = measured(suite);
    for country in ["DK", THIN] {
        let body = threat(&client, country);
        assert_eq!((&body["score"], &body["level"]), (&Value::Null, &json!("unknown")), "{body}");
        assert_eq!(body["confidence"], 0.0, "{body}");
        assert!(body["reason"].as_str().is_some_and(|reason| reason.contains("too little data")), "{body}");
    }
    assert_eq!(predict(&client, &json!({ "country": "DK" }))["confidence"], 0.0);
    client.post("/hydra/v1/predict", &json!({ "country": "ZZ" })).expect_error(404, "NOT_FOUND");
}

fn scores_hold_only_scored_countries_worst_first(suite: &Suite) {
    let client = measured(suite);
    let body = client.get("/hydra/v1/scores?minConfidence=0").expect(200);
    let rows = body["scores"].as_array().unwrap();
    let countries: Vec<&str> = rows.iter().map(|row| row["country"].as_str().unwrap()).collect();
    assert_eq!(countries, [CENSORED, CLEAN], "{body}");
    assert_eq!((&body["count"], &body["insufficientData"]), (&json!(2), &json!(1)), "{body}");
    for (rank, row) in rows.iter().enumerate() {
        assert!((0.0..=1.0).contains(&row["score"].as_f64().unwrap()), "{row}");
        assert_eq!((&row["samples"], &row["rank"]), (&json!(30 * SESSIONS), &json!(rank + 1)), "{row}");
        assert!(row["lastUpdated"].as_str().unwrap().len() >= 10, "{row}");
    }
    // A confidence equal to the requested minimum is enough.
    let certain = rows[0]["confidence"].as_f64().unwrap();
    let at = |least: f64| scores(&client, &format!("?minConfidence={least}"));
    assert!(at(certain).as_array().unwrap().iter().any(|row| row["country"] == CENSORED));
    if certain < 1.0 {
        assert!(!at(certain + 0.000_1).as_array().unwrap().iter().any(|row| row["country"] == CENSORED));
    }
    assert_eq!(scores(&client, "?limit=1").as_array().unwrap().len(), 1);
}

/// The score adapter fails if the list is missing.
fn scores_are_always_a_list(suite: &Suite) {
    let client = research(&suite.client());
    let body = client.get("/hydra/v1/scores").expect(200);
    assert_eq!((&body["scores"], &body["minConfidence"]), (&json!([]), &json!(0.5)), "{body}");
}

fn a_prediction_is_a_base_rate_with_low_confidence_and_its_reason(suite: &Suite) {
    let client = measured(suite);
    let target = basket::all()[0].domain;
    let body = predict(&client, &json!({ "country": "no", "target": format!("https://www.{target}/") }));
    assert_eq!((&body["country"], &body["normalizedTarget"]), (&json!("NO"), &json!(target)), "{body}");
    assert_eq!((&body["horizon"], &body["modelVersion"]), (&json!(7), &json!("base-rate/1")), "{body}");
    assert_eq!(body["currentStatus"], "blocked", "{body}");
    let confidence = body["confidence"].as_f64().unwrap();
    assert!(confidence > 0.0 && confidence <= 0.3, "{body}");
    assert!(body["caveats"][0].as_str().unwrap().contains("base rate"), "{body}");
    assert_eq!(body["factors"][0]["name"], "base_rate", "{body}");
    for factor in body["factors"].as_array().unwrap() {
        assert!(factor["weight"].is_number() && factor["description"].is_string(), "{body}");
        assert!(["up", "down"].contains(&factor["direction"].as_str().unwrap()), "{body}");
    }
    let daily = body["daily"].as_array().unwrap();
    assert_eq!(daily.len(), 7, "{body}");
    assert_eq!(daily[6]["cumulative"], body["probability"], "{body}");
    assert!(["low", "watch", "elevated", "high"].contains(&body["riskLevel"].as_str().unwrap()), "{body}");
    let whole = predict(&client, &json!({ "country": "NO" }));
    assert_eq!((&whole["target"], &whole["currentStatus"]), (&Value::Null, &Value::Null), "{whole}");
}

fn horizons_are_kept_within_1_and_30_days(suite: &Suite) {
    let client = research(&suite.client());
    for (asked, days) in [(-3.0, 1), (0.0, 1), (1.0, 1), (2.6, 3), (30.0, 30), (31.0, 30), (1e300, 30)] {
        let body = predict(&client, &json!({ "country": "NO", "horizon": asked }));
        assert_eq!((&body["horizon"], body["daily"].as_array().unwrap().len()), (&json!(days), days), "{body}");
    }
}

/// Missing parts are named, and the answer is 200.
fn the_model_says_that_nothing_is_trained(suite: &Suite) {
    let client = measured(suite);
    let body = client.get("/hydra/v1/model/info").expect(200);
    assert_eq!((&body["version"], &body["trainedAt"]), (&json!("base-rate/1"), &Value::Null), "{body}");
    assert_eq!((&body["countries"], &body["sources"]), (&json!(3), &json!(["ooni"])), "{body}");
    for metric in ["locoMedianF1", "stratifiedF1", "rocAuc", "brier"] {
        assert_eq!(body["metrics"].get(metric), Some(&Value::Null), "{body}");
    }
    assert!(body["caveats"].as_array().is_some_and(|caveats| !caveats.is_empty()), "{body}");
    assert!(body["servedSince"].is_string() && body["algorithm"].is_string(), "{body}");
}

fn bad_input_is_refused_by_name(suite: &Suite) {
    let client = research(&suite.client());
    client.get("/hydra/v1/threat-level/QQ").expect_error(404, "NOT_FOUND");
    client.get("/hydra/v1/threat-level/NOR").expect_error(400, "BAD_REQUEST");
    client.get("/hydra/v1/threat-level/NO?includeHistory=maybe").expect_error(400, "BAD_REQUEST");
    for query in
        ["minConfidence=x", "minConfidence=1.1", "minConfidence=-0.1", "minConfidence=NaN", "limit=0", "limit=x"]
    {
        client.get(&format!("/hydra/v1/scores?{query}")).expect_error(400, "BAD_REQUEST");
    }
    for body in [
        json!({}),
        json!({ "country": "" }),
        json!({ "country": "Norway" }),
        json!({ "country": 5 }),
        json!({ "country": "NO", "horizon": "week" }),
        json!({ "country": "NO", "target": "no domain at all" }),
    ] {
        client.post("/hydra/v1/predict", &body).expect_error(400, "BAD_REQUEST");
    }
    // Detection answers `unknown`; for a code that is no country there is no probability.
    let nowhere = json!({ "country": "QQ", "target": "example.org" });
    client.post("/hydra/v1/predict", &nowhere).expect_error(404, "NOT_FOUND");
}
