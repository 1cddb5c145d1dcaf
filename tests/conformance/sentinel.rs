//! Sentinel (decisions hazard-and-week-risk and features-dates-retries).

use std::fmt::Write as _;

use heliograph_core::engine::time::{DAY, HOUR};
use heliograph_core::facts::starter::basket;
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{HEADER, Session, SiteResult, observation};
use serde_json::{Value, json};

use crate::analytics::wait;
use crate::detect::research;
use crate::{Suite, cases, forecasts};

cases![
    without_a_model_the_risk_is_a_base_rate_that_crashes_no_client,
    a_learned_risk_has_the_trust_block_that_clients_read,
    a_risk_names_an_incident_of_the_country_and_its_evidence,
    a_batch_of_risks_answers_each_country_or_says_why_not,
    the_heatmap_is_sorted_by_the_greater_of_both_risks,
    the_manifest_names_every_endpoint_and_health_says_what_is_served,
    the_queue_has_exactly_the_members_of_the_interface,
    the_queue_is_filtered_and_ranked_as_asked,
    an_attribution_without_donors_has_low_confidence_and_a_reason,
    an_effect_is_found_against_quiet_free_countries,
    sentinel_refuses_bad_input_by_name,
];

const OFTEN: &str = "SE";

fn probability(value: &Value) -> f64 {
    let value = value.as_f64().unwrap();
    assert!((0.0..=1.0).contains(&value), "{value}");
    value
}

/// Members that break a client when they are null or missing.
fn readable(body: &Value) {
    let trust = &body["trust"];
    let [low, high] = [0, 1].map(|at| probability(&trust["interval_90"][at]));
    let p = probability(&trust["probability"]);
    assert!(low <= p && p <= high, "{trust}");
    assert!(trust["top_features"].is_array() && trust["evidence_permalinks"].is_array(), "{body}");
    assert!(body["forecast_summary"]["key_drivers"].is_array(), "{body}");
    assert!(trust["computed_in_ms"].is_number() && trust["model_version"].is_string(), "{body}");
    assert_eq!(body["honest_forecast"]["probability"], trust["probability"], "{body}");
    assert!(
        ["high", "elevated", "elevated_baseline", "low"]
            .contains(&body["honest_forecast"]["risk_band"].as_str().unwrap())
    );
    assert_eq!(body["honest_forecast"]["recommended_threshold"], json!(0.5), "{body}");
    let days = body["forecast_window"].as_array().unwrap();
    assert_eq!(days.len(), 8, "{body}");
    for (at, day) in days.iter().enumerate() {
        assert_eq!((&day["day"], day["date"].as_str().unwrap().len()), (&json!(at), 10), "{body}");
        assert!(day["drivers"].is_array());
        probability(&day["risk"]);
    }
}

fn without_a_model_the_risk_is_a_base_rate_that_crashes_no_client(suite: &Suite) {
    let client = suite.client();
    let body = client.get("/v1/sentinel/current_risk/fi").expect(200);
    readable(&body);
    assert_eq!((&body["country"], &body["model_version"]), (&json!("FI"), &json!("base-rate/1")), "{body}");
    assert_eq!(body["trust"]["interval_90"], json!([0.0, 1.0]), "{body}");
    assert_eq!((&body["trust"]["top_features"], &body["trust"]["conformal_coverage"]), (&json!([]), &Value::Null));
    assert!(body["honest_caveats"].to_string().contains("no shutdown history"), "{body}");
    let heat = client.get("/v1/sentinel/global_heatmap").expect(200);
    assert_eq!((&heat["n"], &heat["countries"]), (&json!(0), &json!([])), "{heat}");
    let queue = client.get("/v1/sentinel/active-learning-queue").expect(200);
    assert_eq!((&queue["count"], &queue["items"], &queue["queue"]), (&json!(0), &json!([]), &json!([])), "{queue}");
    assert!(queue["note"].as_str().unwrap().contains("No model is served"), "{queue}");
    assert_eq!(client.get("/v1/sentinel/health").expect(200)["status"], "base_rates");
    assert_eq!(client.get("/v1/sentinel/manifest.json").expect(200)["stage"], "base_rates");
}

fn a_learned_risk_has_the_trust_block_that_clients_read(suite: &Suite) {
    let client = forecasts::learned(suite);
    let body = client.get(&format!("/v1/sentinel/current_risk/{OFTEN}")).expect(200);
    readable(&body);
    assert!(body["model_version"].as_str().unwrap().starts_with("hazard-logistic/"), "{body}");
    let features = body["trust"]["top_features"].as_array().unwrap();
    assert_eq!(features.len(), 3, "{body}");
    for feature in features {
        let up = feature["contribution"].as_f64().unwrap() >= 0.0;
        assert_eq!(feature["direction"], if up { "up" } else { "down" }, "{feature}");
        assert!(feature["name"].is_string() && feature["note"].is_string(), "{feature}");
    }
    assert_ne!(body["trust"]["interval_90"], json!([0.0, 1.0]), "{body}");
    // The numbers are those of the forecast itself.
    let forecast = client.get(&format!("/v1/forecast/{OFTEN}/7day")).expect(200);
    assert_eq!(body["trust"]["probability"], forecast["summary"]["risk_7day"]);
    assert_eq!(body["forecast_summary"]["max_risk"], forecast["summary"]["max_risk"]);
}

fn a_risk_names_an_incident_of_the_country_and_its_evidence(suite: &Suite) {
    let client = forecasts::learned(suite);
    let named = |body: &Value| body["trust"]["similar_incident"].is_object();
    let body = wait(&client, &format!("/v1/sentinel/current_risk/{OFTEN}"), named);
    let similar = &body["trust"]["similar_incident"];
    let id = similar["readable_id"].as_str().unwrap();
    assert!(id.starts_with(&format!("{OFTEN}-")), "{body}");
    assert!(["semantic", "lookup"].contains(&similar["source"].as_str().unwrap()), "{body}");
    assert!(similar["url"].as_str().unwrap().contains("/data/incidents/"), "{body}");
    let incident = client.get(&format!("/data/incidents/{id}")).expect(200);
    assert_eq!(similar["severity"], incident["severity"], "{body}");
    for link in body["trust"]["evidence_permalinks"].as_array().unwrap() {
        assert!(link["source"].is_string() && link["observed_at"].is_string(), "{link}");
        assert!(link["permalink"].as_str().unwrap().starts_with("https://"), "{link}");
    }
}

fn a_batch_of_risks_answers_each_country_or_says_why_not(suite: &Suite) {
    let client = forecasts::learned(suite);
    let asked = json!({ "countries": [OFTEN, "no", "SE", "ZZ", "x"] });
    let body = client.post("/v1/sentinel/current_risk/batch", &asked).expect(200);
    assert!(body["schema"].is_string() && body["next_tools"].is_array(), "{body}");
    let countries = body["data"]["countries"].as_array().unwrap();
    countries.iter().for_each(readable);
    let codes: Vec<&Value> = countries.iter().map(|row| &row["country"]).collect();
    assert_eq!(codes, ["SE", "NO"], "{body}");
    let errors = body["data"]["errors"].as_array().unwrap();
    let told: Vec<(&Value, &Value)> = errors.iter().map(|row| (&row["country"], &row["error"])).collect();
    assert_eq!(told, [(&json!("ZZ"), &json!("NOT_FOUND")), (&json!("x"), &json!("BAD_REQUEST"))], "{body}");
    for tool in body["next_tools"].as_array().unwrap() {
        assert!(tool["tool"].is_string() && tool["reason"].is_string(), "{tool}");
    }
}

fn the_heatmap_is_sorted_by_the_greater_of_both_risks(suite: &Suite) {
    let client = forecasts::learned(suite);
    let body = client.get("/v1/sentinel/global_heatmap").expect(200);
    let rows = body["countries"].as_array().unwrap();
    assert!(rows.len() >= 240 && body["n"] == rows.len(), "{}", rows.len());
    assert_eq!((&rows[0]["country"], body["eval_date"].as_str().unwrap().len()), (&json!(OFTEN), 10), "{}", rows[0]);
    let risk = |row: &Value| probability(&row["max_risk"]);
    assert!(rows.iter().map(risk).is_sorted_by(|a, b| a >= b));
    for row in rows {
        let above = row["probability"].as_f64().unwrap() >= row["threshold"].as_f64().unwrap();
        assert_eq!(row["above_threshold"], above, "{row}");
        let greater = probability(&row["probability"]).max(probability(&row["max_daily_risk"]));
        assert_eq!(risk(row), greater, "what is sorted by is what is shown: {row}");
        assert!(row["country_name"].is_string() && row["max_risk_day"].is_u64() && row["drivers"].is_array(), "{row}");
    }
    let least = risk(&rows[0]);
    let few = client.get(&format!("/v1/sentinel/global_heatmap?min_risk={least}")).expect(200);
    assert_eq!(few["n"], 1, "{few}");
}

fn the_manifest_names_every_endpoint_and_health_says_what_is_served(suite: &Suite) {
    let client = forecasts::learned(suite);
    let body = client.get("/v1/sentinel/manifest.json").expect(200);
    assert!(body["license"]["data"].is_string() && body["license"]["code"].is_string(), "{body}");
    assert!(body["description"].is_string() && body["reliability_commitment"].is_string(), "{body}");
    let document = client.get("/openapi.json").expect(200);
    let ours = document["paths"].as_object().unwrap().keys().filter(|path| path.starts_with("/v1/sentinel/")).count();
    let endpoints = body["endpoints"].as_array().unwrap();
    assert_eq!(endpoints.len(), ours, "{body}");
    for endpoint in endpoints {
        let schema = endpoint["returns_schema"].as_str().unwrap().split_once('#').unwrap().1;
        assert!(document.pointer(schema).is_some(), "{endpoint}");
        assert!(
            ["method", "path", "summary", "when_to_call"].iter().all(|name| endpoint[*name].is_string()),
            "{endpoint}"
        );
    }
    let tools = body["mcp_tools"].as_array().unwrap();
    let risk = tools.iter().find(|tool| tool["name"] == "sentinel_current_risk").unwrap();
    assert_eq!(risk["params"], json!(["country"]), "{body}");
    let health = client.get("/v1/sentinel/health").expect(200);
    assert_eq!(health["status"], "ok", "{health}");
    assert!(health["model_version"].as_str().unwrap().starts_with("hazard-logistic/"), "{health}");
}

/// The answer has exactly these members.
fn the_queue_has_exactly_the_members_of_the_interface(suite: &Suite) {
    let client = forecasts::learned(suite);
    let answer = client.get("/v1/sentinel/active-learning-queue");
    assert!(answer.header("cache-control").unwrap().contains("max-age=900"), "{:?}", answer.headers);
    let body = answer.expect(200);
    let names = |value: &Value| -> Vec<String> {
        let mut names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names
    };
    let mut top = [
        "schema",
        "generated_at",
        "count",
        "limit",
        "max_age_days",
        "country_filter",
        "rank_by",
        "ranked_by",
        "ranking_formula",
        "method_ref",
        "note",
        "findings_url",
        "factor_coverage",
        "items",
        "queue",
    ];
    top.sort_unstable();
    assert_eq!(names(&body), top);
    assert_eq!(names(&body["factor_coverage"]), ["n_drift_countries", "n_volume_countries"]);
    let mut members = [
        "candidate_id",
        "forecast_id",
        "country",
        "country_name",
        "eval_date",
        "probability",
        "current_probability",
        "threshold",
        "distance_from_threshold",
        "above_threshold",
        "uncertainty_score",
        "volume_factor",
        "drift_factor",
        "impact_score",
        "rank_by",
        "reasoning",
        "resolution_status",
        "feedback_url",
    ];
    members.sort_unstable();
    let items = body["items"].as_array().unwrap();
    assert_eq!((items.len(), &body["count"], &body["limit"]), (50, &json!(50), &json!(50)), "{body}");
    assert_eq!((&body["items"], &body["country_filter"]), (&body["queue"], &Value::Null));
    assert!(body["schema"].as_str().unwrap().ends_with("/v2"), "{}", body["schema"]);
    for item in items {
        assert_eq!(names(item), members);
        let id = format!(
            "{}-{}-{}",
            item["country"].as_str().unwrap(),
            item["eval_date"].as_str().unwrap(),
            item["forecast_id"]
        );
        assert_eq!(item["candidate_id"], id, "{item}");
        assert!(item["forecast_id"].is_u64() && !item["reasoning"].as_array().unwrap().is_empty(), "{item}");
        let [uncertainty, volume, drift, impact] =
            ["uncertainty_score", "volume_factor", "drift_factor", "impact_score"].map(|name| probability(&item[name]));
        assert!((uncertainty * volume * drift - impact).abs() < 2e-4, "{item}");
        let distance = (probability(&item["probability"]) - probability(&item["threshold"])).abs();
        assert!((distance - probability(&item["distance_from_threshold"])).abs() < 2e-4, "{item}");
        assert_eq!(item["feedback_url"], "/v1/sentinel/report_miss", "{item}");
    }
    assert!(items.iter().map(|item| item["impact_score"].as_f64().unwrap()).is_sorted_by(|a, b| a >= b));
}

fn the_queue_is_filtered_and_ranked_as_asked(suite: &Suite) {
    let client = forecasts::learned(suite);
    let ask = |query: &str| client.get(&format!("/v1/sentinel/active-learning-queue{query}")).expect(200);
    let one = ask("?country=se&limit=500&max_age_days=1");
    assert_eq!((&one["country_filter"], &one["limit"], &one["max_age_days"]), (&json!("SE"), &json!(200), &json!(1)));
    let items = one["items"].as_array().unwrap();
    assert_eq!((items.len(), &items[0]["country"]), (1, &json!("SE")), "{one}");
    // Its week is not over, so the outcome is unknown.
    assert_eq!(items[0]["resolution_status"], "not_yet_resolved", "{one}");
    assert_eq!(items[0]["eval_date"], client.now().to_date_text(), "{one}");
    let by = ask("?rank_by=uncertainty&limit=200");
    assert_eq!((&by["rank_by"], &by["ranked_by"]), (&json!("uncertainty"), &json!("uncertainty")));
    let scores: Vec<f64> =
        by["items"].as_array().unwrap().iter().map(|i| i["uncertainty_score"].as_f64().unwrap()).collect();
    assert!(scores.len() == 200 && scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert_eq!(ask("?country=ZZ")["items"], json!([]));
}

const TREATED: &str = "NO";
const DONORS: [&str; 6] = ["SE", "FI", "DK", "IS", "EE", "LV"];
/// Days from the event to now.
const SINCE: i64 = 20;

/// Six free countries, and one where anomalies increase strongly from one day on.
fn with_series(client: &Client) {
    let admin = client.admin();
    let mut text = HEADER.to_owned();
    let mut number = 0;
    for country in DONORS {
        for site in basket::all().iter().take(30) {
            for session in 0..12u32 {
                number += 1;
                let time = client.now().plus(-(i64::from(session) + 1) * HOUR).to_string();
                let time = format!("{} {}", &time[..10], &time[11..19]);
                // Six votes on each of two networks decide a site.
                let asn = 64_500 + session % 2;
                observation(
                    &mut text,
                    &Session { country, asn, host: site.domain, time: &time, number, seen: SiteResult::Works },
                );
            }
        }
    }
    data::import(&admin, "ooni-observations", "", text.as_bytes());
    let mut counts =
        "measurement_start_day,probe_cc,measurement_count,anomaly_count,confirmed_count,failure_count,ok_count\n"
            .to_owned();
    for back in 0..40 {
        let day = client.now().plus(-back * DAY).to_date_text();
        for (at, country) in [TREATED].iter().chain(&DONORS).enumerate() {
            let wave = (back * 7 + at as i64 * 3) % 5;
            let struck = if *country == TREATED && back <= SINCE { 400 } else { 0 };
            let anomalies = 100 + 2 * at as i64 + wave + struck;
            writeln!(counts, "{day},{country},1000,{anomalies},0,0,{}", 1_000 - anomalies).unwrap();
        }
    }
    let found = data::send(&admin, "ooni-aggregation", "", counts.as_bytes());
    assert_eq!(found.accepted, 280, "{found:?}");
    let event = client.now().plus(-SINCE * DAY).to_date_text();
    let elections =
        format!("country,date,type,title,status,source\n{TREATED},{event},presidential,,held,made up for a test\n");
    data::send(&admin, "elections", "", elections.as_bytes());
    let old = client.now().plus(-100 * DAY).to_date_text();
    let table = format!("start_date,end_date,country,area_name,shutdown_type\n{old},{old},Latvia,Riga,Shutdown\n");
    data::import(&admin, "shutdowns", "", table.as_bytes());
    let path = format!("/v1/sentinel/attribute?country={TREATED}&date={event}");
    // Scores and events reach the world a little later.
    let ready =
        |body: &Value| body["n_donors_eligible"] == 5 && !body["low_confidence_reason"].to_string().contains("table");
    wait(client, &path, ready);
}

fn an_attribution_without_donors_has_low_confidence_and_a_reason(suite: &Suite) {
    let client = suite.client();
    let day = client.now().plus(-30 * DAY).to_date_text();
    for country in ["NO", "ZZ"] {
        let body = client.get(&format!("/v1/sentinel/attribute?country={country}&date={day}")).expect(200);
        assert_eq!((&body["country"], &body["date"]), (&json!(country), &json!(day)), "{body}");
        assert_eq!(
            (&body["low_confidence"], &body["evidence_class"]),
            (&json!(true), &json!("insufficient")),
            "{body}"
        );
        assert!(body["low_confidence_reason"].as_str().unwrap().contains("0 of 14 days"), "{body}");
        for name in ["causal_effect", "p_value", "pre_rmse", "treated_post_mean", "synthetic_post_mean"] {
            assert!(body.get(name).is_some_and(Value::is_null), "{name}: {body}");
        }
        assert_eq!((&body["donor_weights"], &body["n_donors_used"]), (&json!({}), &json!(0)), "{body}");
    }
}

/// Donors have index `free` and no shutdown in five years; Latvia has one, so five are left.
fn an_effect_is_found_against_quiet_free_countries(suite: &Suite) {
    let client = suite.prepared("attribution", with_series);
    let event = client.now().plus(-SINCE * DAY).to_date_text();
    let body = client.get(&format!("/v1/sentinel/attribute?country=no&date={event}")).expect(200);
    assert_eq!((&body["n_donors_used"], &body["n_donors_eligible"]), (&json!(5), &json!(5)), "{body}");
    assert_eq!((&body["n_pre"], &body["low_confidence"]), (&json!(14), &json!(false)), "{body}");
    let effect = body["causal_effect"].as_f64().unwrap();
    assert!((effect - 0.4).abs() < 0.02, "{body}");
    let difference = body["treated_post_mean"].as_f64().unwrap() - body["synthetic_post_mean"].as_f64().unwrap();
    assert!((difference - effect).abs() < 2e-4, "{body}");
    // No donor worsens as much: this is the lowest p-value that five donors allow.
    assert_eq!((&body["p_value"], &body["evidence_class"]), (&json!(0.1667), &json!("not_significant")), "{body}");
    let weights = body["donor_weights"].as_object().unwrap();
    assert!(!weights.contains_key("LV") && !weights.is_empty(), "{body}");
    assert!((weights.values().map(|weight| weight.as_f64().unwrap()).sum::<f64>() - 1.0).abs() < 1e-3, "{body}");
    let told = body["interpretation"].as_str().unwrap();
    assert!(told.contains("5 countries like it") && told.ends_with("(p = 0.167)."), "{body}");
    assert!(body["generated_at"].is_string(), "{body}");
    let trigger = &body["candidate_trigger"];
    assert_eq!((&trigger["date"], &trigger["type"]), (&json!(event), &json!("presidential")), "{body}");
    assert_eq!((&trigger["importance"], &trigger["source"]), (&json!("high"), &json!("made up for a test")), "{body}");
    // Before the event nothing happened. A date soon after the event has too few measured days after it.
    let earlier = client.now().plus(-(SINCE + 8) * DAY).to_date_text();
    let quiet = client.get(&format!("/v1/sentinel/attribute?country=NO&date={earlier}")).expect(200);
    assert!(quiet["causal_effect"].as_f64().unwrap().abs() < 0.05, "{quiet}");
    let today = client.now().to_date_text();
    let late = client.get(&format!("/v1/sentinel/attribute?country=NO&date={today}")).expect(200);
    assert_eq!((&late["low_confidence"], &late["causal_effect"]), (&json!(true), &Value::Null), "{late}");
}

fn sentinel_refuses_bad_input_by_name(suite: &Suite) {
    let client = research(&suite.client());
    let bad = [
        "/v1/sentinel/current_risk/KEN",
        "/v1/sentinel/global_heatmap?min_risk=2",
        "/v1/sentinel/global_heatmap?min_risk=x",
        "/v1/sentinel/active-learning-queue?limit=0",
        "/v1/sentinel/active-learning-queue?rank_by=luck",
        "/v1/sentinel/active-learning-queue?country=KEN",
        "/v1/sentinel/attribute?country=KE",
        "/v1/sentinel/attribute?date=2026-01-01",
        "/v1/sentinel/attribute?country=KE&date=soon",
        "/v1/sentinel/attribute?country=KE&date=2999-01-01",
    ];
    for path in bad {
        client.get(path).expect_error(400, "BAD_REQUEST");
    }
    client.get("/v1/sentinel/current_risk/ZZ").expect_error(404, "NOT_FOUND");
    for body in [json!({}), json!({ "countries": [] }), json!({ "countries": vec!["KE"; 51] })] {
        client.post("/v1/sentinel/current_risk/batch", &body).expect_error(400, "BAD_REQUEST");
    }
}
