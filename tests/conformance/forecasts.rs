//! Forecasts of shutdowns (interface 4.3, spec intelligence 5.1 to 5.3, 10.9 and 11).

use heliograph_core::time::DAY;
use heliograph_tests::client::Client;
use heliograph_tests::data;
use serde_json::{Value, json};

use crate::detect::research;
use crate::{Suite, cases};

cases![
    without_history_base_rates_are_served_and_say_so,
    ruling_17_a_learned_forecast_has_the_members_that_clients_read,
    ruling_17_high_risk_selects_on_the_greater_of_both_risks,
    a_batch_answers_each_country_or_says_why_not,
    horizons_have_intervals_and_rise,
    every_promotion_is_in_the_changelog_and_nothing_is_promoted_without_news,
    forecasts_refuse_bad_input_by_name,
];

/// A country with times of many starts, of which the present is one, a country with a few starts, and quiet ones.
const OFTEN: &str = "SE";
const SELDOM: &str = "NO";

/// Starts of five years up to yesterday.
fn table(client: &Client) -> String {
    let day = |back: i64| client.now().plus(-back * DAY).to_date_text();
    let mut out =
        "start_date,end_date,country,area_name,geo_scope,shutdown_type,shutdown_extent,actual_cause\n".to_owned();
    for back in 1..5 * 365i64 {
        // What a plain rate of the country cannot know: a month and a half of unrest, then four and a half of quiet.
        if (back / 45) % 4 == 0 && back % 3 == 1 {
            out += &format!("{},{},Sweden,Lund,,Shutdown,Full network,Protests\n", day(back), day(back));
        }
        if back % 100 == 40 {
            out += &format!("{},{},Norway,Oslo,,Shutdown,Full network,Exam cheating\n", day(back), day(back));
        }
    }
    out
}

fn with_history(client: &Client) {
    let admin = client.admin();
    data::import(&admin, "shutdowns", "", table(client).as_bytes());
    // Countries tell the world what they were given; a try to learn before that finds no history, or less of it.
    for _ in 0..100 {
        let answer = admin.send("POST", "/v1/admin/forecast/train", None, b"");
        if answer.status == 200 && answer.json()["served"].is_string() {
            return;
        }
        client.wait(std::time::Duration::from_millis(200));
    }
    panic!("nothing was learned");
}

fn learned(suite: &Suite) -> Client {
    suite.prepared("forecasts", with_history)
}

fn probability(value: &Value) -> f64 {
    let value = value.as_f64().unwrap();
    assert!((0.0..=1.0).contains(&value), "{value}");
    value
}

/// Issue: with no shutdown history the model serves nothing but base rates and says so.
fn without_history_base_rates_are_served_and_say_so(suite: &Suite) {
    let client = suite.client();
    let body = client.get("/v1/forecast/fi/7day").expect(200);
    assert_eq!((&body["country"], &body["model_version"]), (&json!("FI"), &json!("base-rate/1")), "{body}");
    assert!(body["caveats"][0].as_str().unwrap().contains("no shutdown history"), "{body}");
    assert_eq!((&body["confidence"], &body["aci_alpha"]), (&json!(0.0), &Value::Null), "{body}");
    assert_eq!(body["forecast"].as_array().unwrap().len(), 8, "{body}");
    let high = client.get("/v1/forecast/high-risk").expect(200);
    assert_eq!((&high["high_risk_countries"], &high["countries"]), (&json!([]), &json!([])), "{high}");
    assert_eq!(client.get("/v1/atlas/changelog").expect(200)["entries"], json!([]));
    client.admin().send("POST", "/v1/admin/forecast/train", None, b"").expect_error(400, "BAD_REQUEST");
}

fn ruling_17_a_learned_forecast_has_the_members_that_clients_read(suite: &Suite) {
    let client = learned(suite);
    let body = client.get(&format!("/v1/forecast/{OFTEN}/7day")).expect(200);
    assert_eq!((&body["country"], &body["country_name"]), (&json!("SE"), &json!("Sweden")), "{body}");
    assert!(body["model_version"].as_str().unwrap().starts_with("hazard-logistic/"), "{body}");
    let days = body["forecast"].as_array().unwrap();
    assert_eq!(days.len(), 8, "{body}");
    let (mut before, mut most) = (0.0, 0.0f64);
    for (at, day) in days.iter().enumerate() {
        assert_eq!((&day["day"], day["date"].as_str().unwrap().len()), (&json!(at), 10), "{body}");
        assert!(day["drivers"].is_array(), "{body}");
        most = most.max(probability(&day["risk"]));
        let cumulative = probability(&day["cumulative"]);
        assert!(cumulative >= before, "{body}");
        before = cumulative;
    }
    let summary = &body["summary"];
    assert!((probability(&summary["max_risk"]) - most).abs() < 1e-9, "{body}");
    assert!(summary["key_drivers"].as_array().is_some_and(|drivers| !drivers.is_empty()), "{body}");
    assert!(probability(&summary["avg_risk"]) <= most && probability(&body["confidence"]) > 0.0, "{body}");
    assert_eq!(body["aci_alpha"], body["aci"]["alpha"], "{body}");
    assert_eq!(body["aci"]["target_coverage"], json!(0.9), "{body}");
    assert_eq!(body["top_features_per_day"].as_array().unwrap().len(), 8, "{body}");
    assert!(body["license"].is_string() && body["generated_at"].is_string(), "{body}");
    let risk = |code: &str| {
        let body = client.get(&format!("/v1/forecast/{code}/7day")).expect(200);
        probability(&body["summary"]["risk_7day"])
    };
    assert!(risk(OFTEN) > risk(SELDOM) && risk(SELDOM) > risk("NZ"));
    let key = research(&client);
    let predicted = key.post("/hydra/v1/predict", &json!({ "country": OFTEN })).expect(200);
    assert_eq!(predicted["modelVersion"], body["model_version"], "{predicted}");
    assert_eq!(predicted["daily"][0]["risk"], days[1]["risk"], "{predicted}");
}

fn ruling_17_high_risk_selects_on_the_greater_of_both_risks(suite: &Suite) {
    let client = learned(suite);
    let body = client.get("/v1/forecast/high-risk?threshold=0.2").expect(200);
    assert_eq!(body["high_risk_countries"], body["countries"], "{body}");
    assert_eq!((&body["threshold"], &body["countries"][0]["country"]), (&json!(0.2), &json!(OFTEN)), "{body}");
    let rows = body["countries"].as_array().unwrap();
    assert_eq!(body["count"], json!(rows.len()), "{body}");
    let most = |row: &Value| probability(&row["max_risk"]).max(probability(&row["risk_7day"]));
    assert!(rows.iter().all(|row| most(row) >= 0.2 && row["drivers"].is_array()), "{body}");
    assert!(rows.is_sorted_by(|a, b| most(a) >= most(b)), "{body}");
}

fn a_batch_answers_each_country_or_says_why_not(suite: &Suite) {
    let client = learned(suite);
    let body = client.post("/v1/forecast/batch", &json!({ "countries": ["se", "QQ", "NZ"] })).expect(200);
    assert_eq!((&body["count"], body["results"].as_array().unwrap().len()), (&json!(2), 2), "{body}");
    assert_eq!(
        (&body["errors"][0]["country"], &body["errors"][0]["error"]),
        (&json!("QQ"), &json!("NOT_FOUND")),
        "{body}"
    );
}

fn horizons_have_intervals_and_rise(suite: &Suite) {
    let client = learned(suite);
    let body = client.get(&format!("/v1/forecast/{SELDOM}/multi-horizon")).expect(200);
    let mut before = 0.0;
    for name in ["1d", "7d", "30d"] {
        let of = &body["horizons"][name];
        let risk = probability(&of["probability"]);
        assert!(probability(&of["interval_90"][0]) <= risk && risk <= probability(&of["interval_90"][1]), "{body}");
        assert!(of["top_features"].as_array().is_some_and(|top| top.len() == 5), "{body}");
        assert!(risk >= before, "{body}");
        before = risk;
    }
}

fn every_promotion_is_in_the_changelog_and_nothing_is_promoted_without_news(suite: &Suite) {
    let client = learned(suite);
    let before = client.get("/v1/atlas/changelog?limit=200").expect(200);
    let entry = &before["entries"][0];
    assert_eq!((&entry["model"], &entry["kind"]), (&json!("hazard-logistic"), &json!("forecast")), "{before}");
    assert!(entry["honest_caveats"].as_array().is_some_and(|caveats| !caveats.is_empty()), "{before}");
    assert!(entry["metrics"]["hard_brier_skill"].is_number() && entry["metrics"]["auc"].is_number(), "{before}");
    let told = client.admin().send("POST", "/v1/admin/forecast/train", None, b"").expect(200);
    assert_eq!(told["served"], told["before"], "{told}");
    assert!(told["message"].as_str().unwrap().starts_with("Not promoted"), "{told}");
    client.admin().post("/v1/admin/forecast/rollback", &json!({ "reason": "a test" })).expect_error(404, "NOT_FOUND");
    assert_eq!(client.get("/v1/atlas/changelog?limit=200&kind=score").expect(200)["entries"], json!([]));
}

fn forecasts_refuse_bad_input_by_name(suite: &Suite) {
    let client = suite.client();
    client.get("/v1/forecast/QQ/7day").expect_error(404, "NOT_FOUND");
    client.get("/v1/forecast/SWE/7day").expect_error(400, "BAD_REQUEST");
    client.get("/v1/forecast/high-risk?threshold=2").expect_error(400, "BAD_REQUEST");
    client.post("/v1/forecast/batch", &json!({})).expect_error(400, "BAD_REQUEST");
    client.post("/v1/forecast/batch", &json!({ "countries": vec!["SE"; 51] })).expect_error(400, "BAD_REQUEST");
    client.post("/v1/admin/forecast/train", &json!({})).expect_error(401, "UNAUTHORIZED");
}
