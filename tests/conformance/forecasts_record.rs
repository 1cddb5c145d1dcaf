//! Comparison of forecasts with outcomes: reports, accuracy, calibration, the track record.

use std::time::Duration;

use heliograph_core::engine::time::DAY;
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::target::{ADMIN_KEY, Kind};
use serde_json::{Value, json};

use crate::forecasts::{learn_from, table};
use crate::{Suite, cases};

cases![
    without_a_model_nothing_is_claimed,
    reports_need_a_key_and_ten_an_hour_are_taken_of_each,
    a_report_resolves_a_forecast_until_it_is_taken_back,
    reports_refuse_bad_input_by_name,
    later_events_resolve_forecasts_with_lead_times,
    a_better_model_replaces_the_served_one_and_a_rollback_brings_it_back,
];

const REPORT: &str = "/v1/sentinel/report_miss";
/// The key for outcome reports, besides the operator's key.
const KEY: &str = "sentinel_key_of_the_suite";

fn with_history(client: &Client) {
    learn_from(client, &table(client.now()));
}

fn reporter(client: &Client) -> Client {
    client.with("x-sentinel-admin-key", ADMIN_KEY)
}

fn without_a_model_nothing_is_claimed(suite: &Suite) {
    let client = suite.client();
    let body = client.get("/v1/sentinel/accuracy").expect(200);
    assert_eq!((&body["degraded"], &body["training_holdout"]), (&json!(true), &Value::Null), "{body}");
    assert!(body["degradation_reason"].as_str().unwrap().contains("base rates"), "{body}");
    let rolling = &body["prod_rolling"];
    assert_eq!((&rolling["n_evaluated"], &rolling["precision"]), (&json!(0), &Value::Null), "{body}");
    assert_eq!(rolling["confusion"]["total"], 0, "{body}");
    assert!(rolling["per_country"].is_object() && body["notes"].is_string() && body["methodology_url"].is_string());
    let history = client.get("/v1/sentinel/calibration/history").expect(200);
    assert_eq!((&history["n"], &history["history"]), (&json!(0), &json!([])), "{history}");
    let track = client.get("/v1/atlas/prediction-track-record").expect(200);
    assert_eq!((&track["n_predictions"], &track["predictions"]), (&json!(0), &json!([])), "{track}");
    assert_eq!(track["median_lead_time_days"], Value::Null, "{track}");
    assert!(!track["honest_caveats"].as_array().unwrap().is_empty(), "{track}");
}

/// Reports need an admin key or a subscriber key, which is the secret of an alert subscription.
fn reports_need_a_key_and_ten_an_hour_are_taken_of_each(suite: &Suite) {
    let target = suite.fresh(&[("sentinel_admin_key", KEY)]);
    let client = target.client();
    let body = json!({ "country_code": "SE", "what_happened": "mobile data was off in Lund" });
    client.post(REPORT, &body).expect_error(401, "UNAUTHORIZED");
    client.admin().post(REPORT, &body).expect_error(401, "UNAUTHORIZED");
    client.with("x-sentinel-admin-key", "guess").post(REPORT, &body).expect_error(401, "UNAUTHORIZED");
    client.with("x-svc-subscriber-key", "whsec_1").post(REPORT, &body).expect_error(401, "UNAUTHORIZED");
    let own = client.with("x-sentinel-admin-key", KEY);
    for number in 1..=10 {
        let told = own.post(REPORT, &body).expect(201);
        assert_eq!((&told["ok"], &told["queue_id"]), (&json!(true), &json!(number)), "{told}");
        assert_eq!(told["schema"], "svc-sentinel-miss-report/v1", "{told}");
        assert!(told["review_sla_hours"].is_u64() && told["resolves"].is_null(), "{told}");
    }
    let refused = own.post(REPORT, &body);
    refused.expect_error(429, "RATE_LIMITED");
    assert!(refused.header("retry-after").is_some(), "{:?}", refused.headers);
    reporter(&client).post(REPORT, &body).expect(201);
    let key = crate::detect::research(&client);
    let made = key.post("/api/alerts/subscribe", &json!({ "webhook_url": "https://hooks.example.org/a" })).expect(201);
    let subscriber = client.with("x-svc-subscriber-key", made["hmac_secret"].as_str().unwrap());
    for number in 12..=21 {
        assert_eq!(subscriber.post(REPORT, &body).expect(201)["queue_id"], number);
    }
    subscriber.post(REPORT, &body).expect_error(429, "RATE_LIMITED");
    reporter(&client).post(REPORT, &body).expect(201);
    key.delete(&format!("/api/alerts/subscriptions/{}", made["id"].as_str().unwrap())).expect(200);
    subscriber.post(REPORT, &body).expect_error(401, "UNAUTHORIZED");
    let rows = client.admin().get("/v1/admin/forecast/reports?limit=3").expect(200);
    assert_eq!((&rows["count"], &rows["reports"][0]["queue_id"]), (&json!(3), &json!(22)), "{rows}");
    assert_eq!(rows["reports"][0]["what_happened"], body["what_happened"], "{rows}");
    if suite.kind == Kind::Memory {
        client.wait(Duration::from_secs(3_601));
        own.post(REPORT, &body).expect(201);
    }
    client.get("/v1/admin/forecast/reports").expect_error(401, "UNAUTHORIZED");
}

fn evaluated(client: &Client) -> Value {
    // Answers are kept for a publish interval.
    client.wait(Duration::from_millis(1_100));
    client.get("/v1/sentinel/accuracy").expect(200)
}

fn a_report_resolves_a_forecast_until_it_is_taken_back(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    with_history(&client);
    let before = evaluated(&client);
    assert_eq!(before["prod_rolling"]["n_evaluated"], 0, "no week is over: {before}");
    assert_eq!(before["prod_rolling"]["n_issued"], 242, "{before}");
    let holdout = &before["training_holdout"];
    assert!(holdout["roc_auc"].is_number() && holdout["samples"].is_u64(), "{before}");
    assert_eq!(holdout["split_loco"], json!({ "f1_median": null, "n_countries_evaluated": 0 }), "{before}");
    let date = client.get("/v1/forecast/NZ/7day").expect(200)["forecast"][0]["date"].as_str().unwrap().to_owned();
    let report = json!({
        "country_code": "nz", "what_happened": "All was cut.", "outcome": "event",
        "forecast_id": format!("NZ-{date}"), "source_url": "https://example.org/cut",
    });
    let told = reporter(&client).post(REPORT, &report).expect(201);
    let id = told["resolves"].as_str().unwrap().to_owned();
    let missed = evaluated(&client);
    let rolling = &missed["prod_rolling"];
    assert_eq!((&rolling["n_evaluated"], &rolling["n_reported"]), (&json!(1), &json!(1)), "{missed}");
    assert_eq!((&rolling["confusion"]["false_negative"], &rolling["recall"]), (&json!(1), &json!(0.0)), "{missed}");
    assert_eq!(rolling["per_country"]["NZ"]["n"], 1, "{missed}");
    assert_eq!((&missed["degraded"], &rolling["precision"]), (&json!(true), &Value::Null), "one says little: {missed}");
    let track = client.get("/v1/atlas/prediction-track-record").expect(200);
    let row = track["predictions"].as_array().unwrap().iter().find(|row| row["country"] == "NZ").unwrap();
    assert_eq!((&row["outcome"], row["eval_date"].as_str()), (&json!("event"), Some(&*date)), "{track}");
    assert_eq!(format!("sentinel-{}", row["forecast_id"]), id, "{track}");
    // A second report about the same forecast, by its number.
    let report =
        json!({ "country_code": "NZ", "what_happened": "It was a rumour.", "outcome": "no_event", "forecast_id": id });
    let told = reporter(&client).post(REPORT, &report).expect(201);
    assert_eq!(evaluated(&client)["prod_rolling"]["confusion"]["true_negative"], 1);
    let path = format!("/v1/admin/forecast/reports/{}", told["queue_id"]);
    client.delete(&path).expect_error(401, "UNAUTHORIZED");
    client.admin().delete(&path).expect(200);
    assert_eq!(evaluated(&client)["prod_rolling"]["confusion"]["false_negative"], 1, "the first one holds again");
    client.admin().delete(&path).expect_error(404, "NOT_FOUND");
}

fn reports_refuse_bad_input_by_name(suite: &Suite) {
    let target = suite.fresh(&[("reports_per_hour", "100")]);
    let reporter = reporter(&target.client());
    let good = || json!({ "country_code": "SE", "what_happened": "x" });
    let with = |name: &str, value: Value| {
        let mut body = good();
        body[name] = value;
        reporter.post(REPORT, &body)
    };
    with("country_code", Value::Null).expect_error(400, "BAD_REQUEST");
    with("country_code", json!("SWE")).expect_error(400, "BAD_REQUEST");
    with("country_code", json!("QQ")).expect_error(404, "NOT_FOUND");
    with("what_happened", json!("  ")).expect_error(400, "BAD_REQUEST");
    with("what_happened", json!("x".repeat(4_001))).expect_error(400, "BAD_REQUEST");
    with("outcome", json!("maybe")).expect_error(400, "BAD_REQUEST");
    with("source_url", json!("javascript:alert(1)")).expect_error(400, "BAD_REQUEST");
    with("forecast_id", json!("yesterday")).expect_error(400, "BAD_REQUEST");
    with("forecast_id", json!("2020-01-01")).expect_error(404, "NOT_FOUND");
    with("what_happened", json!("x".repeat(4_000))).expect(201);
    let client = target.client();
    client.get("/v1/sentinel/accuracy?window_days=0").expect_error(400, "BAD_REQUEST");
    assert_eq!(client.get("/v1/sentinel/accuracy?window_days=9999").expect(200)["window_days"], 365);
}

/// Later events resolve forecasts; the figures compare stored forecasts with stored outcomes. Runs only where a test
/// can let time pass.
fn later_events_resolve_forecasts_with_lead_times(suite: &Suite) {
    if suite.kind != Kind::Memory {
        return;
    }
    let target = suite.fresh(&[]);
    let client = target.client();
    let began = client.now();
    let row = |back: i64| {
        let day = began.plus(-back * DAY).to_date_text();
        format!("{day},{day},Denmark,Aarhus,,Shutdown,Full network,Protests\n")
    };
    // Denmark has a shutdown every other day, so its risk of a week is close to 1; the other countries stay the same.
    let often: String = (1..5 * 365).step_by(2).map(row).collect();
    let header = table(began).lines().next().unwrap().to_owned();
    let others: String = (1..5 * 365i64)
        .filter(|back| back % 9 == 1 || back % 50 < 2)
        .map(|back| row(back).replace("Denmark,Aarhus", "Sweden,Lund"))
        .collect();
    let past = format!("{header}\n{others}{often}");
    learn_from(&client, &past);
    client.wait(Duration::from_secs(20 * 86_400));
    let before = client.get("/v1/sentinel/accuracy").expect(200);
    assert_eq!(before["prod_rolling"]["n_evaluated"], 0, "nobody knows yet: {before}");
    assert!(before["prod_rolling"]["n_issued"].as_u64().unwrap() > 18 * 242, "{before}");
    // One start on the tenth day, and the last known one on the nineteenth.
    let later = format!("{past}{}{}", row(-10), row(-19));
    data::import(&client.admin(), "shutdowns", "", later.as_bytes());
    client.wait(Duration::from_secs(600));
    client.admin().send("POST", "/v1/admin/forecast/calibrate", None, b"").expect(200);
    let body = client.get("/v1/sentinel/accuracy").expect(200);
    let rolling = &body["prod_rolling"];
    assert_eq!((&body["degraded"], &rolling["n_reported"]), (&json!(false), &json!(0)), "{body}");
    assert!(rolling["n_evaluated"].as_u64().is_some_and(|n| n > 10 * 242), "{body}");
    assert!(rolling["brier_score"].is_number() && rolling["country_rate_brier"].is_number(), "{body}");
    let denmark = &rolling["per_country"]["DK"];
    assert!(denmark["true_positive"].as_u64().is_some_and(|n| n >= 7), "{denmark}");
    assert!(denmark["false_positive"].as_u64().is_some_and(|n| n >= 1), "{denmark}");
    let track = client.get("/v1/atlas/prediction-track-record?limit=500").expect(200);
    let of_start = |row: &&Value| row["country"] == "DK" && row["outcome"] == "event";
    let hit = track["predictions"].as_array().unwrap().iter().find(of_start).unwrap();
    assert_eq!((&hit["threshold"], &hit["lead_time_days"]), (&json!(0.5), &json!(7)), "alerts every day: {hit}");
    assert_eq!((&track["n_starts"], &track["n_starts_with_alert"]), (&json!(2), &json!(2)), "{track}");
    assert_eq!(track["baselines"][0]["name"], "country_rate", "{track}");
    let history = client.get("/v1/sentinel/calibration/history").expect(200);
    let days = history["history"].as_array().unwrap();
    assert!(days.len() >= 10 && days.is_sorted_by(|a, b| a["date"].as_str() > b["date"].as_str()), "{history}");
    assert!(days[0]["empirical_coverage"].is_number() && days[0]["n_holdout"].as_u64() >= Some(7), "{history}");
    let forecast = client.get("/v1/forecast/DK/7day").expect(200);
    assert!(forecast["aci"]["quiet"]["n_observations"].as_u64().is_some_and(|n| n > 2_000), "{forecast}");
    let csv = client.get("/v1/sentinel/calibration/history?format=csv");
    assert_eq!(csv.text().lines().count(), days.len() + 1, "{}", csv.text());
}

/// A new model is promoted only if it beats the served one. Each promotion is in the changelog, and the old model is
/// kept for rollback. Runs only where a test can let time pass.
fn a_better_model_replaces_the_served_one_and_a_rollback_brings_it_back(suite: &Suite) {
    if suite.kind != Kind::Memory {
        return;
    }
    let target = suite.fresh(&[]);
    let client = target.client();
    let admin = client.admin();
    let began = client.now();
    let past = table(began);
    learn_from(&client, &past);
    client.wait(Duration::from_secs(40 * 86_400));
    // As the history grew old, models for late histories were learned; the new model must beat the one that is served.
    let served = || client.get("/v1/forecast/NO/7day").expect(200)["model_version"].clone();
    let old = served();
    // A new pattern: a country where shutdowns were for exams now has one every day.
    let day = |ahead: i64| began.plus(ahead * DAY).to_date_text();
    let row = |ahead: i64| format!("{},{},Norway,Oslo,,Shutdown,Full network,Protests\n", day(ahead), day(ahead));
    let news: String = (1..39).map(row).collect();
    data::import(&admin, "shutdowns", "", format!("{past}{news}").as_bytes());
    // By schedule, learning begins a minute after new data came.
    client.wait(Duration::from_secs(600));
    let new = served();
    assert_ne!(new, old, "{}", client.get("/v1/atlas/changelog").text());
    let changelog = || client.get("/v1/atlas/changelog?kind=forecast&limit=200").expect(200)["entries"].clone();
    let promoted = changelog();
    let changes = promoted.as_array().unwrap().len();
    assert_eq!((&promoted[0]["version"], &promoted[1]["version"]), (&new, &old), "{promoted}");
    let metrics = &promoted[0]["metrics"];
    assert!(metrics["brier"].as_f64() < metrics["served_brier"].as_f64(), "{promoted}");
    assert!(promoted[0]["change"].as_str().unwrap().contains("that of the served model"), "{promoted}");
    let told = admin.post("/v1/admin/forecast/rollback", &json!({ "reason": "a test" })).expect(200);
    assert_eq!((&told["served"], &told["before"]), (&old, &new), "{told}");
    assert_eq!(served(), old);
    let rolled = changelog()[0].clone();
    assert_eq!((&rolled["version"], &rolled["change"]), (&old, &json!("a test")), "{rolled}");
    assert!(rolled["notes"].as_str().unwrap().contains(&format!("from {}", new.as_str().unwrap())), "{rolled}");
    // Promoting the old model by hand needs days that neither has seen, and there are none.
    let number_of = |model: &Value| model.as_str().unwrap().rsplit('/').next().unwrap().parse::<u32>().unwrap();
    let number = number_of(&new);
    admin.post("/v1/admin/forecast/promote", &json!({ "number": number })).expect_error(409, "CONFLICT");
    assert_eq!((served(), changelog().as_array().unwrap().len()), (old.clone(), changes + 1));
    // Two months later there are such days. Learning by schedule begins only a minute after the import.
    client.wait(Duration::from_secs(70 * 86_400));
    let news: String = (1..109).map(row).collect();
    data::import(&admin, "shutdowns", "", format!("{past}{news}").as_bytes());
    if served() != old {
        let back = json!({ "number": number_of(&old), "reason": "a test" });
        admin.post("/v1/admin/forecast/rollback", &back).expect(200);
    }
    let told = admin.post("/v1/admin/forecast/promote", &json!({ "number": number })).expect(200);
    assert_eq!((&told["served"], &told["before"]), (&new, &old), "{told}");
    assert!(changelog()[0]["change"].as_str().unwrap().starts_with("Promoted: on days that neither"), "{told}");
}
