//! Unusual days, drifting domains, the classifier, scores, topics and networks at risk (decision
//! features-dates-retries).

use std::time::Duration;

use heliograph_core::engine::time::{DAY, HOUR};
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{HEADER, Session, SiteResult, observation};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_first_start_says_everywhere_that_too_little_is_known,
    bad_input_is_refused_by_name,
    the_last_day_is_judged_by_twelve_features,
    domains_whose_blocking_changed_most_lead_the_leaderboard,
    the_classifier_learns_from_reported_events_and_states_figures_of_unseen_days,
    components_add_up_to_the_score_exactly,
    topics_are_what_was_cut_off,
    networks_at_risk_say_that_no_graph_network_stands_behind_them,
    shutdown_risk_says_whether_a_country_is_covered,
    the_methodology_has_the_numbers_of_the_detectors,
    answers_about_countries_are_cached_by_their_tags,
];

/// The country of the data, and a measured country that blocks nothing.
const COUNTRY: &str = "NO";
const CLEAN: &str = "FI";
const FIRST: u32 = 64_500;
const DAYS: i64 = 90;
const NETWORKS: u32 = 7;
const SITES: [&str; 4] = ["first.example", "second.example", "third.example", "moved.example"];

/// True if a network resets a site `back` days ago. Three networks always reset the first sites, one more network
/// resets the last site within the last week, and two more reset everything on days of a shutdown.
fn reset(country: &str, site: usize, network: u32, back: i64) -> bool {
    let shut = back % 2 == 0 && (3..5).contains(&network);
    let blocked = if site < 3 { network < 3 } else { network < 4 && back <= 7 };
    country == COUNTRY && (shut || blocked)
}

/// Ninety days of four sites on seven networks of two countries.
fn fill(client: &Client) {
    let now = client.now();
    let mut out = HEADER.to_owned();
    let mut number = 0;
    for country in [COUNTRY, CLEAN] {
        for back in 1..=DAYS {
            for (site, host) in SITES.into_iter().enumerate() {
                for network in 0..NETWORKS {
                    number += 1;
                    let at = now.plus(-back * DAY - now.0.rem_euclid(DAY) + i64::from(network * 3 + 1) * HOUR);
                    let time = at.to_string().replace('T', " ");
                    let time = format!("{}:{:02}", &time[..16], number % 53);
                    let seen =
                        if reset(country, site, network, back) { SiteResult::TlsReset } else { SiteResult::Works };
                    observation(&mut out, &Session { country, asn: FIRST + network, host, time: &time, number, seen });
                }
            }
        }
    }
    let counts = data::import(&client.admin(), "ooni-observations", "", out.as_bytes());
    assert_eq!(counts.accepted, number as u64, "{counts:?}");
}

fn shutdowns(client: &Client) {
    let day = |back: i64| client.now().plus(-back * DAY).to_date_text();
    let mut out =
        "start_date,end_date,country,area_name,geo_scope,shutdown_type,shutdown_extent,actual_cause\n".to_owned();
    for back in (1..=DAYS).filter(|back| back % 2 == 0) {
        out += &format!("{},{},Norway,Oslo,,Shutdown,Full network,Protests\n", day(back), day(back));
    }
    data::import(&client.admin(), "shutdowns", "", out.as_bytes());
}

fn prepare(client: &Client) {
    shutdowns(client);
    fill(client);
    // Verdicts, days, digests and incidents follow by timers.
    for _ in 0..150 {
        let ready = |path: &str| client.get(path).expect(200)["available"] == json!(true);
        let told =
            |code: &str| ready(&format!("/v1/anomaly/dbscan/{code}")) && ready(&format!("/v1/classifier/score/{code}"));
        // Each country reports by its own timer, and the leaderboard follows by another.
        let leaderboard = client.get("/v1/anomaly/domain-drift/leaderboard").expect(200);
        let ranked: u64 = rows(&leaderboard).iter().filter_map(|row| row["n_measurements"].as_u64()).sum();
        if told(COUNTRY)
            && told(CLEAN)
            && ranked == 28 * u64::from(NETWORKS) * 2 * SITES.len() as u64
            && ready("/v1/forecast/asn-gnn")
            && client.get("/v1/atlas/topics").expect(200)["n_incidents"].as_u64() > Some(0)
        {
            return;
        }
        client.wait(Duration::from_millis(200));
    }
    let state = |path: &str| client.get(path).expect(200).to_string();
    panic!(
        "not ready: {} {} {} {} {}",
        state(&format!("/v1/anomaly/dbscan/{COUNTRY}")),
        state(&format!("/v1/anomaly/dbscan/{CLEAN}")),
        state("/v1/anomaly/domain-drift/leaderboard"),
        state(&format!("/v1/classifier/score/{COUNTRY}")),
        state("/v1/forecast/asn-gnn"),
    );
}

fn filled(suite: &Suite) -> Client {
    suite.prepared("atlas", prepare)
}

/// Checks the members of every answer of this family.
fn check_family(body: &Value) {
    assert!(body["generated_at"].is_string() && body["license"].is_string(), "{body}");
    assert!(body["honest_caveats"].as_array().is_some_and(|caveats| !caveats.is_empty()), "{body}");
    assert!(body["interpretation"].as_str().is_some_and(|text| text.ends_with('.')), "{body}");
    assert!(!body.to_string().contains("NaN"), "{body}");
}

fn probability(value: &Value) -> f64 {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!((0.0..=1.0).contains(&value), "{value}");
    value
}

fn rows(body: &Value) -> &Vec<Value> {
    body["results"].as_array().unwrap_or_else(|| panic!("no results: {body}"))
}

/// Where the data are too thin, the answer says so with the reason; nothing is invented.
fn a_first_start_says_everywhere_that_too_little_is_known(suite: &Suite) {
    let client = suite.client();
    for path in [
        "/v1/anomaly/dbscan/aq",
        "/v1/anomaly/domain-drift/leaderboard",
        "/v1/classifier/score/aq",
        "/v1/classifier/info",
        "/v1/forecast/asn-gnn?country=AQ",
        "/v1/atlas/score-v2/aq",
        "/v1/atlas/topics/aq",
    ] {
        let body = client.get(path).expect(200);
        check_family(&body);
        if path.contains("leaderboard") || path.contains("classifier/info") {
            // The deployment is shared, so other tests may have added measurements.
            continue;
        }
        assert_eq!(body["available"], json!(false), "{path}: {body}");
        assert!(body["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{path}: {body}");
    }
    let dbscan = client.get("/v1/anomaly/dbscan/aq").expect(200);
    for member in ["date", "anomaly_score", "is_anomaly", "block_rate", "eps", "auc_vs_labels"] {
        assert!(dbscan[member].is_null(), "{member}: {dbscan}");
    }
    let score = client.get("/v1/atlas/score-v2/aq").expect(200);
    assert_eq!((&score["score"], &score["grade"], &score["country"]), (&Value::Null, &Value::Null, &json!("AQ")));
    let risk = client.get("/v1/shutdown-risk/aq").expect(200);
    check_family(&risk);
    assert_eq!((&risk["covered"], &risk["country"], &risk["starts_5y"]), (&json!(false), &json!("AQ"), &json!(0)));
}

fn bad_input_is_refused_by_name(suite: &Suite) {
    let client = suite.client();
    for path in
        ["/v1/anomaly/dbscan", "/v1/classifier/score", "/v1/atlas/score-v2", "/v1/atlas/topics", "/v1/shutdown-risk"]
    {
        client.get(&format!("{path}/nor")).expect_error(400, "BAD_REQUEST");
        client.get(&format!("{path}/qq")).expect_error(404, "NOT_FOUND");
    }
    client.get("/v1/atlas/incidents/NO-2024-9999/topic").expect_error(404, "NOT_FOUND");
    client.get("/v1/forecast/asn-gnn?asn=x").expect_error(400, "BAD_REQUEST");
    client.get("/v1/forecast/asn-gnn?country=QQ").expect_error(404, "NOT_FOUND");
    client.get("/v1/forecast/asn-gnn?limit=0").expect_error(400, "BAD_REQUEST");
}

/// Decision features-dates-retries: the twelve features of DBSCAN.
fn the_last_day_is_judged_by_twelve_features(suite: &Suite) {
    let client = filled(suite);
    let body = client.get(&format!("/v1/anomaly/dbscan/{}", COUNTRY.to_lowercase())).expect(200);
    check_family(&body);
    assert_eq!((&body["country"], &body["available"]), (&json!(COUNTRY), &json!(true)), "{body}");
    assert_eq!((&body["window_days"], &body["min_samples"]), (&json!(45), &json!(5)), "{body}");
    let features = body["features"].as_object().unwrap();
    let named: Vec<&str> = features.keys().map(String::as_str).collect();
    let expected = [
        "anomaly_share",
        "change_7d",
        "confirmed_share",
        "dns_share",
        "domains",
        "failure_share",
        "http_share",
        "log_volume",
        "networks",
        "tcp_share",
        "tls_share",
        "volume_ratio_28d",
    ];
    assert_eq!(named, expected, "{body}");
    let yesterday = client.now().plus(-DAY).to_date_text();
    assert_eq!(body["date"].as_str().unwrap(), yesterday, "{body}");
    assert_eq!(body["n_measurements"], json!(28), "{body}");
    // Yesterday three networks reset three sites, and four networks the last site: 13 of 28.
    assert_eq!((&body["block_rate"], &features["tls_share"]), (&json!(0.4643), &json!(0.4643)), "{body}");
    assert_eq!((&features["networks"], &features["domains"]), (&json!(7.0), &json!(4.0)), "{body}");
    assert!(body["is_anomaly"].is_boolean() && body["eps"].as_f64() > Some(0.0), "{body}");
    let score = probability(&body["anomaly_score"]);
    assert_eq!(body["is_anomaly"], json!(score > 0.5), "{body}");
    // Shutdowns were reported on half of the days.
    probability(&body["auc_vs_labels"]);
    let clean = client.get(&format!("/v1/anomaly/dbscan/{CLEAN}")).expect(200);
    assert_eq!((&clean["available"], &clean["block_rate"]), (&json!(true), &json!(0.0)), "{clean}");
    assert_eq!((&clean["is_anomaly"], &clean["auc_vs_labels"]), (&json!(false), &Value::Null), "{clean}");
}

fn domains_whose_blocking_changed_most_lead_the_leaderboard(suite: &Suite) {
    let body = filled(suite).get("/v1/anomaly/domain-drift/leaderboard").expect(200);
    check_family(&body);
    assert_eq!((&body["n_domains"], &body["n_total"]), (&json!(4), &json!(4)), "{body}");
    let first = &rows(&body)[0];
    assert_eq!((&first["domain"], &first["rank"]), (&json!("moved.example"), &json!(1)), "{body}");
    // From 8 of 49 votes to 31 of 49, in one of two countries.
    assert_eq!(first["drift"], json!(0.4694), "{first}");
    assert_eq!(
        (&first["cluster_this_week"], &first["cluster_last_week"]),
        (&json!(COUNTRY), &json!("none")),
        "{first}"
    );
    assert_eq!((&first["n_countries_blocking"], &first["is_new_cluster"]), (&json!(1), &json!(false)), "{first}");
    assert_eq!(first["n_measurements"], json!(28 * 7 * 2), "{first}");
    probability(&first["avg_block_rate"]);
    assert!(body["week_ending"].is_string(), "{body}");
    let drifts: Vec<f64> = rows(&body).iter().map(|row| row["drift"].as_f64().unwrap()).collect();
    assert!(drifts.is_sorted_by(|a, b| a >= b), "{drifts:?}");
}

fn the_classifier_learns_from_reported_events_and_states_figures_of_unseen_days(suite: &Suite) {
    let client = filled(suite);
    let info = client.get("/v1/classifier/info").expect(200);
    check_family(&info);
    assert!(info["version"].as_str().is_some_and(|version| version.starts_with("measured-days-logistic/")), "{info}");
    assert!(info["trained_at"].is_string() && info["features"].as_array().unwrap().len() == 12, "{info}");
    assert!(info["training_samples"].as_u64() > Some(60) && info["training_positives"].as_u64() >= Some(30), "{info}");
    // The held-out days depend on which countries had reported their days before the learning.
    assert!(probability(&info["metrics"]["auc"]) > 0.75, "{info}");
    assert!(info["metrics"]["brier_skill"].as_f64() > Some(0.0), "{info}");
    let score = |code: &str| {
        let body = client.get(&format!("/v1/classifier/score/{code}")).expect(200);
        check_family(&body);
        assert_eq!(body["version"], info["version"], "{body}");
        let (probability, threshold) = (probability(&body["probability"]), probability(&body["threshold"]));
        if (probability - threshold).abs() > 1e-3 {
            assert_eq!(body["label"], json!(i32::from(probability >= threshold)), "{body}");
        }
        assert_eq!(body["features"].as_object().unwrap().len(), 12, "{body}");
        assert_eq!(body["top_features"].as_array().unwrap().len(), 5, "{body}");
        probability
    };
    // A day without failures looks less like a shutdown.
    assert!(score(CLEAN) < score(COUNTRY));
    let corroborate = client.get("/v1/classifier/corroborate/info").expect(200);
    check_family(&corroborate);
    let metrics = &corroborate["metrics"];
    assert!(metrics["n_incidents"].as_u64() >= metrics["n_corroborated"].as_u64(), "{corroborate}");
    assert!(corroborate["rule"].as_str().unwrap().contains("two independent sources"), "{corroborate}");
    assert!(corroborate["sources"].as_array().is_some_and(|sources| !sources.is_empty()), "{corroborate}");
}

/// The components are points that add up to the score; the base rate has at most 50.
fn components_add_up_to_the_score_exactly(suite: &Suite) {
    let client = filled(suite);
    let list = client.get("/v1/atlas/score-v2").expect(200);
    check_family(&list);
    assert_eq!(list["count"], json!(rows(&list).len()), "{list}");
    let scores: Vec<f64> = rows(&list).iter().map(|row| row["score"].as_f64().unwrap()).collect();
    assert!(!scores.is_empty() && scores.is_sorted_by(|a, b| a >= b), "{list}");
    assert_eq!(rows(&list)[0]["country"], json!(COUNTRY), "{list}");
    for row in rows(&list) {
        let code = row["country"].as_str().unwrap();
        let body = client.get(&format!("/v1/atlas/score-v2/{code}")).expect(200);
        check_family(&body);
        let parts = body["components"].as_object().unwrap();
        let named: Vec<&str> = parts.keys().map(String::as_str).collect();
        let expected = ["anomaly", "base_rate", "forecast_30d_avg", "forecast_7d", "incident_density_24h"];
        assert_eq!(named, expected, "{body}");
        let sum: f64 = parts.values().map(|points| points.as_f64().unwrap()).sum();
        assert_eq!(json!(sum), body["score"], "{body}");
        assert!(parts["base_rate"].as_f64() <= Some(50.0) && (0.0..=100.0).contains(&sum), "{body}");
        assert_eq!((&row["score"], &row["grade"]), (&body["score"], &body["grade"]), "{row} {body}");
        match body["grade"].as_str() {
            Some(grade) => assert!(["A", "B", "C", "D", "F"].contains(&grade) && body["reason"].is_null(), "{body}"),
            None => assert!(body["reason"].is_string() && body["missing"] != json!([]), "{body}"),
        }
        assert_eq!((&row["missing"], row["coverage"].as_f64().is_some()), (&body["missing"], true), "{row}");
        assert!(body["interpretation"].is_string() && body["missing"].is_array(), "{body}");
    }
}

fn topics_are_what_was_cut_off(suite: &Suite) {
    let client = filled(suite);
    let all = client.get("/v1/atlas/topics").expect(200);
    check_family(&all);
    let topics = all["topics"].as_array().unwrap();
    assert_eq!(all["n_topics"], json!(topics.len()), "{all}");
    for (at, topic) in topics.iter().enumerate() {
        assert_eq!(topic["topic_id"], json!(at), "{topic}");
        assert!(
            topic["label"].is_string() && topic["top_terms"].is_array() && topic["n_incidents"].is_u64(),
            "{topic}"
        );
    }
    let counted: u64 = topics.iter().map(|topic| topic["n_incidents"].as_u64().unwrap()).sum();
    assert_eq!(json!(counted), all["n_incidents"], "{all}");
    let info = client.get("/v1/atlas/topics/info").expect(200);
    check_family(&info);
    assert!(info["model"].is_string() && info["version"].is_string() && info["trained_at"].is_null(), "{info}");
    assert!(info["coherence"].is_null() || info["coherence"].is_number(), "{info}");
    let body = client.get(&format!("/v1/atlas/topics/{COUNTRY}")).expect(200);
    check_family(&body);
    let shares: f64 = body["topics"].as_array().unwrap().iter().map(|topic| probability(&topic["share"])).sum();
    assert!((shares - 1.0).abs() < 1e-3, "{body}");
    let incidents = client.get(&format!("/data/incidents?country={COUNTRY}&limit=5")).expect(200);
    for incident in incidents["incidents"].as_array().unwrap() {
        for id in [&incident["id"], &incident["readable_id"]] {
            let body = client.get(&format!("/v1/atlas/incidents/{}/topic", id.as_str().unwrap())).expect(200);
            check_family(&body);
            assert_eq!(body["incident_id"], incident["readable_id"], "{body}");
            assert!(probability(&body["probability"]) > 0.0 && body["label"].is_string(), "{body}");
        }
    }
}

fn networks_at_risk_say_that_no_graph_network_stands_behind_them(suite: &Suite) {
    let client = filled(suite);
    let body = client.get("/v1/forecast/asn-gnn").expect(200);
    check_family(&body);
    assert!(body["method"].as_str().unwrap().starts_with("Not a graph neural network"), "{body}");
    assert_eq!(body["horizon_days"], json!(7), "{body}");
    let listed = rows(&body);
    // Networks that reset some sites on every second day may or may not have a verdict on all of them.
    assert!(body["n_returned"] == json!(listed.len()) && (5..=7).contains(&listed.len()), "{body}");
    for row in listed {
        assert_eq!(row["country"], json!(COUNTRY), "{row}");
        let expected = probability(&row["country_risk"]) * probability(&row["exposure"]);
        assert!((probability(&row["risk"]) - expected).abs() < 2e-4, "{row}");
        probability(&row["confidence"]);
        assert!(row["neighbors"].is_array(), "{row}");
    }
    // Five networks block the country's blocked sites, at least now and then; two networks do not.
    let find = |network: u32| listed.iter().find(|row| row["asn"] == json!(FIRST + network));
    let of = |network: u32| find(network).unwrap();
    let exposure = |row: &Value| probability(&row["exposure"]);
    let clean = exposure(of(5));
    assert!((0..5).filter_map(find).all(|row| exposure(row) > clean) && clean == exposure(of(6)), "{body}");
    let neighbours = |network: u32| of(network)["neighbors"].as_array().unwrap().len();
    assert!((2..=4).contains(&neighbours(0)) && neighbours(5) == 0, "{body}");
    let one = client.get(&format!("/v1/forecast/asn-gnn?asn=AS{FIRST}&country={COUNTRY}")).expect(200);
    assert_eq!((one["n_total"].as_u64(), &rows(&one)[0]["asn"]), (Some(1), &json!(FIRST)), "{one}");
    assert_eq!(client.get("/v1/forecast/asn-gnn?limit=2").expect(200)["n_returned"], json!(2));
    let info = client.get("/v1/forecast/asn-gnn/info").expect(200);
    check_family(&info);
    assert_eq!(
        (&info["promoted"], &info["trained_at"], &info["n_nodes"]),
        (&json!(false), &Value::Null, &json!(listed.len())),
        "{info}"
    );
    assert!(info["metrics"]["brier"].is_number() && info["metrics"]["n_pairs"].as_u64() > Some(8), "{info}");
}

fn shutdown_risk_says_whether_a_country_is_covered(suite: &Suite) {
    let client = filled(suite);
    let body = client.get(&format!("/v1/shutdown-risk/{COUNTRY}")).expect(200);
    check_family(&body);
    assert_eq!((&body["country"], body["covered"].is_boolean()), (&json!(COUNTRY), true), "{body}");
    assert_eq!((&body["starts_5y"], &body["starts_365d"]), (&json!(45), &json!(45)), "{body}");
    let week = body["starts_7d"].as_u64().unwrap();
    assert_eq!(body["structural_count"], json!(45 + 2 * week), "{body}");
    assert!(week == 3 && body["last_start"].is_string(), "{body}");
    let covered = body["covered"] == json!(true);
    assert_eq!(body["risk"].as_object().unwrap().len(), if covered { 3 } else { 0 }, "{body}");
    assert_eq!(body["reason"].is_null(), covered, "{body}");
    let other = client.get("/v1/shutdown-risk/se").expect(200);
    assert_eq!(other["starts_5y"], json!(0), "{other}");
}

/// The methodology states the constants of the code.
fn the_methodology_has_the_numbers_of_the_detectors(suite: &Suite) {
    let body = suite.client().get("/data/methodology").expect(200);
    let methodology = &body["methodology"];
    assert_eq!(methodology["anomaly"]["WINDOW_DAYS"], json!(45.0), "{methodology}");
    assert_eq!(methodology["anomaly"]["DRIFT_LEAST_VOTES"], json!(10.0));
    assert_eq!(methodology["dayClassifier"]["LEAST_POSITIVES"], json!(30.0));
    assert_eq!(methodology["atlas"]["SCORE_BASE_RATE"], json!(50.0));
}

fn answers_about_countries_are_cached_by_their_tags(suite: &Suite) {
    let client = filled(suite);
    for path in [format!("/v1/anomaly/dbscan/{COUNTRY}"), "/v1/anomaly/domain-drift/leaderboard".to_owned()] {
        crate::index::check_caching(&client, &path, "application/json");
    }
}
