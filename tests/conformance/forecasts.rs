//! Forecasts of shutdowns.

use std::time::Duration;

use heliograph_core::engine::time::DAY;
use heliograph_core::facts::reported;
use heliograph_core::facts::source::Source;
use heliograph_core::facts::starter::Country;
use heliograph_core::intelligence::forecast::history::{Beside, History, start};
use heliograph_core::intelligence::forecast::learning::learn;
use heliograph_core::intelligence::forecast::model::{Forecast, Model, forecast};
use heliograph_core::{Timestamp, intelligence::world};
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::target::Kind;
use serde_json::{Value, json};

use crate::detect::research;
use crate::{Suite, cases};

cases![
    without_history_base_rates_are_served_and_say_so,
    a_history_that_nothing_has_learned_from_is_not_called_none,
    an_answer_about_many_countries_is_put_together_once,
    a_learned_forecast_has_the_members_that_clients_read,
    high_risk_selects_on_the_greater_of_both_risks,
    a_batch_answers_each_country_or_says_why_not,
    horizons_have_intervals_and_rise,
    every_runtime_tells_the_numbers_of_this_process_to_a_billionth,
    answers_carry_validators_and_their_tables,
    issue_3_what_named_base_rates_names_the_learned_model,
    an_operator_calibrates_and_promotes_only_what_is_better,
    every_promotion_is_in_the_changelog_and_nothing_is_promoted_without_news,
    forecasts_refuse_bad_input_by_name,
];

/// A country with times of many starts, of which the present is one; a country with few starts; and quiet countries.
const OFTEN: &str = "SE";
const SELDOM: &str = "NO";

/// Starts of five years up to the day before `now`.
pub fn table(now: Timestamp) -> String {
    let day = |back: i64| now.plus(-back * DAY).to_date_text();
    let mut out =
        "start_date,end_date,country,area_name,geo_scope,shutdown_type,shutdown_extent,actual_cause\n".to_owned();
    for back in 1..5 * 365i64 {
        // A pattern that a plain rate of the country cannot show: a month and a half of unrest, then four and a half
        // months of quiet. The days between starts have no common step with the training days; otherwise a one-day
        // forecast would see all starts or none.
        if (back / 45) % 4 == 0 && [1, 3, 5, 8, 10].contains(&(back % 11)) {
            out += &format!("{},{},Sweden,Lund,,Shutdown,Full network,Protests\n", day(back), day(back));
        }
        if back % 100 == 40 {
            out += &format!("{},{},Norway,Oslo,,Shutdown,Full network,Exam cheating\n", day(back), day(back));
        }
    }
    out
}

/// Imports a table, waits until the world has all of it, and learns a model.
pub fn learn_from(client: &Client, table: &str) {
    let admin = client.admin();
    data::import(&admin, "shutdowns", "", table.as_bytes());
    let told = || {
        let body = client.get("/data/sources").expect(200);
        let rows = body["sources"].as_array().unwrap().iter().find(|row| row["id"] == "access-now").cloned();
        rows.is_some_and(|row| row["rows"] == table.lines().count() - 1)
    };
    for _ in 0..100 {
        if told() {
            let answer = admin.send("POST", "/v1/admin/forecast/train", None, b"").expect(200);
            assert!(answer["served"].is_string(), "{answer}");
            return;
        }
        client.wait(std::time::Duration::from_millis(200));
    }
    panic!("the world was not told of the table");
}

pub fn with_history(client: &Client) {
    learn_from(client, &table(client.now()));
}

pub fn learned(suite: &Suite) -> Client {
    suite.prepared("forecasts", with_history)
}

fn probability(value: &Value) -> f64 {
    let value = value.as_f64().unwrap();
    assert!((0.0..=1.0).contains(&value), "{value}");
    value
}

/// Without a shutdown history only base rates are served, and answers say so.
fn without_history_base_rates_are_served_and_say_so(suite: &Suite) {
    let client = suite.client();
    let body = client.get("/v1/forecast/fi/7day").expect(200);
    assert_eq!((&body["country"], &body["model_version"]), (&json!("FI"), &json!("base-rate/1")), "{body}");
    assert!(body["caveats"][0].as_str().unwrap().contains("no shutdown history"), "{body}");
    assert_eq!((&body["confidence"], &body["aci_alpha"]), (&json!(0.0), &Value::Null), "{body}");
    assert_eq!(body["forecast"].as_array().unwrap().len(), 8, "{body}");
    let horizons = client.get("/v1/forecast/fi/multi-horizon").expect(200)["horizons"].clone();
    assert_eq!(horizons["7d"]["probability"], body["summary"]["risk_7day"], "{horizons} {body}");
    assert_eq!(horizons["1d"]["probability"], body["forecast"][1]["risk"], "{horizons} {body}");
    let high = client.get("/v1/forecast/high-risk").expect(200);
    assert_eq!((&high["high_risk_countries"], &high["countries"]), (&json!([]), &json!([])), "{high}");
    assert_eq!(client.get("/v1/atlas/changelog").expect(200)["entries"], json!([]));
    client.admin().send("POST", "/v1/admin/forecast/train", None, b"").expect_error(400, "BAD_REQUEST");
}

/// Between an import and the first learning, and with a table that is too small to learn from, the answer gives another
/// reason.
fn a_history_that_nothing_has_learned_from_is_not_called_none(suite: &Suite) {
    let target = suite.fresh(&[]);
    let (client, admin) = (target.client(), target.client().admin());
    let whole = table(client.now());
    let answers = || {
        let paths = ["/v1/forecast/SE/7day", "/v1/elections/SE/briefing", "/v1/shutdown-risk/SE"];
        paths.map(|path| client.get(path).expect(200).to_string())
    };
    let small: String = whole.lines().take(6).map(|line| format!("{line}\n")).collect();
    data::import(&admin, "shutdowns", "", small.as_bytes());
    client.until(|| answers().iter().all(|text| text.contains("too small to learn from")).then_some(()));
    let message = admin.send("POST", "/v1/admin/forecast/train", None, b"").expect(400)["message"].to_string();
    assert!(message.contains("too small to learn from"), "{message}");
    data::import(&admin, "shutdowns", "", whole.as_bytes());
    // On a slow machine the scheduled learning may come before the first look.
    let is_true =
        |text: &String| text.contains("no model has learned from it yet") || text.contains("hazard-logistic/");
    let told = client.until(|| Some(answers()).filter(|texts| texts.iter().all(is_true)));
    assert!(suite.kind != Kind::Memory || told.iter().all(|text| text.contains("yet")), "{told:?}");
    assert!(told.iter().all(|text| !text.contains("no shutdown history")), "{told:?}");
}

/// Answers from many rows, such as a batch of many countries, are made once per publish interval.
fn an_answer_about_many_countries_is_put_together_once(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "3600")]);
    let client = target.client();
    let ask = |path: &str, countries: &Value| {
        let answer = client.post(path, &json!({ "countries": countries }));
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{:?}", answer.headers);
        client.wait(Duration::from_millis(20));
        answer.expect(200)
    };
    let many = json!(["FI", "no", "FI"]);
    // An hour may end between two questions, but not every time.
    let batch = client.until(|| {
        let first = ask("/v1/forecast/batch", &many);
        (first == ask("/v1/forecast/batch", &many)).then_some(first)
    });
    let codes: Vec<&Value> = batch["results"].as_array().unwrap().iter().map(|of| &of["country"]).collect();
    assert_eq!((codes, &batch["count"]), (vec![&json!("FI"), &json!("NO")], &json!(2)), "{batch}");
    client.until(|| {
        let single = client.get("/v1/forecast/FI/7day").expect(200);
        (ask("/v1/forecast/batch", &many)["results"][0] == single).then_some(())
    });
    client.until(|| {
        let single = client.get("/v1/sentinel/current_risk/no").expect(200);
        (ask("/v1/sentinel/current_risk/batch", &many)["data"]["countries"][1] == single).then_some(())
    });
    // Answers that repeat words of the caller are not kept.
    let odd = json!(["FI", "nowhere"]);
    let twice = ["/v1/forecast/batch"; 2].map(|path| ask(path, &odd));
    assert_ne!(twice[0]["generated_at"], twice[1]["generated_at"], "{twice:?}");
    assert_eq!(twice[0]["errors"][0]["country"], "nowhere", "{twice:?}");
}

fn a_learned_forecast_has_the_members_that_clients_read(suite: &Suite) {
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

fn high_risk_selects_on_the_greater_of_both_risks(suite: &Suite) {
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
    let rollback = |reason: &str| client.admin().post("/v1/admin/forecast/rollback", &json!({ "reason": reason }));
    rollback("a test").expect_error(404, "NOT_FOUND");
    for reason in ["", " ", &"a".repeat(1_001)] {
        rollback(reason).expect_error(400, "BAD_REQUEST");
    }
    assert_eq!(client.get("/v1/atlas/changelog?limit=200&kind=score").expect(200)["entries"], json!([]));
}

/// The model that this process learns from the table of a given day.
fn computed(at: Timestamp) -> (Model, History) {
    let text = table(at);
    let mut reader = text.as_bytes();
    let (_, told) = reported::read(Source::AccessNow, &mut reader, 1 << 20, None, at).unwrap();
    let marks = told.iter().map(|told| (told.event.country.clone(), world::EventMark::of(&told.event)));
    let source = Source::AccessNow.code();
    let starts: Vec<_> = marks.filter_map(|(country, mark)| Some((country, start(source, &mark)?))).collect();
    let beside = Beside { listed_until: starts.iter().map(|(_, start)| start.day).max(), ..Beside::default() };
    let history = History::new(starts, at.day() as i32).unwrap().with(beside);
    (learn(&history, at, 1, None).unwrap(), history)
}

/// Both runtimes return the same numbers to 1e-9. This process computes them natively, without a server.
fn every_runtime_tells_the_numbers_of_this_process_to_a_billionth(suite: &Suite) {
    let client = learned(suite);
    let close = |theirs: &Value, ours: f64| {
        let theirs = theirs.as_f64().unwrap_or_else(|| panic!("{theirs} is no number"));
        assert!((theirs - ours).abs() <= 1.5e-9, "{theirs} {ours}");
    };
    let trained = client.get("/v1/atlas/changelog?limit=200").expect(200)["entries"][0].clone();
    let at = Timestamp::parse(trained["trained_at"].as_str().unwrap()).unwrap();
    let (model, history) = computed(at);
    let (figures, metrics) = (&model.held_out.candidate, &trained["metrics"]);
    for (name, ours) in [("auc", figures.auc), ("brier", figures.brier), ("ece", figures.ece)] {
        close(&metrics[name], ours.unwrap());
    }
    for code in [OFTEN, SELDOM, "NZ"] {
        let place = Country::all().iter().position(|country| country.code == code).unwrap();
        let body = client.get(&format!("/v1/forecast/{code}/7day")).expect(200);
        // If midnight came between, the forecast was made on another day.
        let made = Timestamp::parse(body["generated_at"].as_str().unwrap()).unwrap();
        let ours: Forecast = forecast(&model, &history, place, made);
        for (theirs, day) in body["forecast"].as_array().unwrap().iter().zip(&ours.days) {
            close(&theirs["risk"], day.risk);
        }
        close(&body["summary"]["risk_7day"], ours.risk(1));
        let horizons = client.get(&format!("/v1/forecast/{code}/multi-horizon")).expect(200)["horizons"].clone();
        for (name, risk) in ["1d", "7d", "30d"].into_iter().zip(&ours.horizons) {
            close(&horizons[name]["probability"], risk.probability);
            close(&horizons[name]["interval_90"][0], risk.low);
            close(&horizons[name]["interval_90"][1], risk.high);
        }
    }
}

fn answers_carry_validators_and_their_tables(suite: &Suite) {
    let client = learned(suite);
    for (path, rows) in [(format!("/v1/forecast/{OFTEN}/7day"), 8), ("/v1/forecast/high-risk?threshold=0.2".into(), 1)]
    {
        let first = client.get(&path);
        let tag = first.header("etag").unwrap().to_owned();
        // A new period may have begun between the two requests.
        let again = client.with("if-none-match", &tag).get(&path);
        assert!(again.status == 304 || again.header("etag") != Some(&tag), "{path} {}", again.status);
        let mark = if path.contains('?') { '&' } else { '?' };
        let csv = client.get(&format!("{path}{mark}format=csv"));
        assert!(csv.header("content-type").unwrap().starts_with("text/csv"), "{:?}", csv.headers);
        assert!(csv.text().lines().count() > rows, "{}", csv.text());
        client.get(&format!("{path}{mark}format=xml")).expect_error(400, "BAD_REQUEST");
    }
    let horizons = client.get(&format!("/v1/forecast/{OFTEN}/multi-horizon"));
    assert!(horizons.header("etag").is_some());
    let body = horizons.expect(200);
    assert!(body["interpretation"].as_str().is_some_and(|text| text.starts_with("Sweden: ")), "{body}");
    assert!(body["honest_caveats"].as_array().is_some_and(|caveats| !caveats.is_empty()), "{body}");
}

/// The learned forecasts replace the base rates as the source, but keep the shapes of answers.
fn issue_3_what_named_base_rates_names_the_learned_model(suite: &Suite) {
    let key = research(&learned(suite));
    let info = key.get("/hydra/v1/model/info").expect(200);
    let version = info["version"].as_str().unwrap();
    assert!(version.starts_with("hazard-logistic/") && info["trainedAt"].is_string(), "{info}");
    assert!(info["trainingSamples"].as_u64().is_some_and(|rows| rows > 1_000), "{info}");
    assert!(info["metrics"]["rocAuc"].is_number() && info["metrics"]["hardBrierSkill"].is_number(), "{info}");
    assert_eq!((&info["metrics"]["locoMedianF1"], &info["countries"]), (&Value::Null, &json!(242)), "{info}");
    for path in ["threat-level/SE", "scores"] {
        assert_eq!(key.get(&format!("/hydra/v1/{path}")).expect(200)["modelVersion"], version, "{path}");
    }
    let target = key.post("/hydra/v1/predict", &json!({ "country": OFTEN, "target": "example.com" })).expect(200);
    assert_eq!(target["modelVersion"], "base-rate/1", "{target}");
    assert!(target["caveats"].as_array().unwrap().iter().any(|caveat| caveat.as_str().unwrap().contains("as a whole")));
    let method = key.get("/data/methodology").expect(200)["methodology"]["model"]["forecast"].clone();
    assert!(method["type"].is_string() && method["validationNote"].is_string(), "{method}");
}

fn an_operator_calibrates_and_promotes_only_what_is_better(suite: &Suite) {
    let client = learned(suite);
    let admin = client.admin();
    let told = admin.send("POST", "/v1/admin/forecast/calibrate", None, b"").expect(200);
    assert!(told["served"].as_str().unwrap().starts_with("hazard-logistic/"), "{told}");
    admin.post("/v1/admin/forecast/promote", &json!({ "number": 999 })).expect_error(404, "NOT_FOUND");
    client.post("/v1/admin/forecast/promote", &json!({ "number": 1 })).expect_error(401, "UNAUTHORIZED");
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
