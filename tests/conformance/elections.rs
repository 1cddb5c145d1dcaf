//! Elections (decisions index-with-little-data and features-dates-retries).

use heliograph_core::engine::time::DAY;
use heliograph_tests::client::Client;
use heliograph_tests::data;
use serde_json::{Value, json};

use crate::{Suite, cases, forecasts};

cases![
    the_calendar_ships_with_sources_status_and_precision,
    a_month_or_a_year_is_never_given_a_day,
    an_imported_calendar_adds_and_replaces_and_its_removal_brings_back_what_ships,
    bad_rows_are_named_with_their_line,
    without_history_a_briefing_says_what_is_missing,
    a_briefing_tells_what_happened_around_past_elections,
    upcoming_elections_come_with_the_forecast_and_the_riskiest_country_first,
    elections_refuse_bad_input_by_name,
];

fn rows(body: &Value) -> &Vec<Value> {
    body["elections"].as_array().unwrap()
}

fn of<'a>(body: &'a Value, country: &str) -> Vec<&'a Value> {
    rows(body).iter().filter(|row| row["country"] == country).collect()
}

fn day(client: &Client, days: i64) -> String {
    client.now().plus(days * DAY).to_date_text()
}

fn the_calendar_ships_with_sources_status_and_precision(suite: &Suite) {
    let body = suite.client().get("/v1/elections/calendar").expect(200);
    assert!(body["count"].as_u64().unwrap() >= 40, "{body}");
    assert_eq!(body["count"], rows(&body).len(), "{body}");
    for row in rows(&body) {
        assert!(row["source"].as_str().unwrap().len() >= 20, "{row}");
        let (date, precision) = (row["date"].as_str().unwrap(), row["datePrecision"].as_str().unwrap());
        assert_eq!(
            date.len(),
            [("day", 10), ("month", 7), ("year", 4)].iter().find(|(name, _)| *name == precision).unwrap().1
        );
        assert!(["fixed_by_law", "announced", "expected"].contains(&row["status"].as_str().unwrap()), "{row}");
        assert!(row["past"].is_boolean() && row["keyDrivers"].is_array() && row["title"].is_string(), "{row}");
        assert!(["low", "medium", "high", "critical"].contains(&row["importance"].as_str().unwrap()), "{row}");
    }
    let doubted: Vec<&Value> = rows(&body).iter().filter(|row| row["doubt"].is_string()).collect();
    assert!(doubted.iter().any(|row| row["country"] == "SS") && doubted.len() < rows(&body).len(), "{doubted:?}");
    assert!(rows(&body).iter().all(|row| !row["source"].as_str().unwrap().contains("In doubt")), "{body}");
    let kenya = &of(&body, "KE")[0];
    assert_eq!((&kenya["date"], &kenya["status"]), (&json!("2027-08-10"), &json!("fixed_by_law")), "{kenya}");
    let year = suite.client().get("/v1/elections/calendar?year=2028").expect(200);
    assert!(!rows(&year).is_empty() && rows(&year).iter().all(|row| row["date"].as_str().unwrap().starts_with("2028")));
}

fn a_month_or_a_year_is_never_given_a_day(suite: &Suite) {
    let body = suite.client().get("/v1/elections/calendar").expect(200);
    let france = &of(&body, "FR")[0];
    assert_eq!((&france["date"], &france["datePrecision"]), (&json!("2027-04"), &json!("month")), "{france}");
    assert_eq!((&france["daysUntil"], &france["forecastCovers"]), (&Value::Null, &json!(false)), "{france}");
    let india = &of(&body, "IN")[0];
    assert_eq!((&india["date"], &india["datePrecision"]), (&json!("2029"), &json!("year")), "{india}");
}

fn an_imported_calendar_adds_and_replaces_and_its_removal_brings_back_what_ships(suite: &Suite) {
    let target = suite.fresh(&[]);
    let (client, admin) = (target.client(), target.client().admin());
    let calendar = || client.get("/v1/elections/calendar").expect(200);
    let ships = calendar();
    let text = "country,date,type,title,status,source\n\
        Kenya,2027-09-07,presidential,General election,announced,\"Made up, for a test\"\n\
        KE,2022-08-09,presidential,General election,held,\"Made up, for a test. In doubt: all of it\"\n";
    let dry = data::send(&admin, "elections", "?dry_run=true", text.as_bytes());
    assert_eq!((dry.accepted, calendar()["count"].clone()), (2, ships["count"].clone()), "{dry:?}");
    let counts = data::send(&admin, "elections", "", text.as_bytes());
    assert_eq!((counts.accepted, counts.duplicate), (2, 0), "{counts:?}");
    let again = data::send(&admin, "elections", "", text.as_bytes());
    assert_eq!((again.accepted, again.duplicate), (0, 2), "{again:?}");
    let dates = |body: &Value| -> Vec<String> {
        of(body, "KE").iter().map(|row| row["date"].as_str().unwrap().to_owned()).collect()
    };
    // An answer is at most one publish interval late.
    let body = crate::analytics::wait(&client, "/v1/elections/calendar", |body| dates(body).len() == 2);
    assert_eq!(dates(&body), ["2022-08-09", "2027-09-07"], "{body}");
    let past = of(&body, "KE")[0];
    assert_eq!((&past["past"], &past["source"]), (&json!(true), &json!("Made up, for a test")), "{body}");
    assert_eq!((&past["doubt"], &of(&body, "KE")[1]["doubt"]), (&json!("all of it"), &Value::Null), "{body}");
    let dropped = admin.delete("/v1/admin/sources/elections").expect(200);
    assert_eq!((&dropped["handled"], &dropped["complete"]), (&json!(2), &json!(true)), "{dropped}");
    crate::analytics::wait(&client, "/v1/elections/calendar", |body| dates(body) == dates(&ships));
}

fn bad_rows_are_named_with_their_line(suite: &Suite) {
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    let text =
        "country,date,type,source\nKE,2027-08-10,presidential,\nKE,soon,presidential,x\nKE,2027,presidential,x\n";
    let counts = data::send(&admin, "elections", "", text.as_bytes());
    assert_eq!((counts.accepted, counts.unusable, counts.refused), (1, 1, 1), "{counts:?}");
    let reasons: Vec<&str> = counts.reasons.keys().map(String::as_str).collect();
    assert_eq!(reasons, ["bad_date (line 3)", "no_source (line 2)"]);
    admin.send("POST", "/v1/admin/import/elections", None, b"country,date\nKE,2027\n").expect_error(400, "BAD_REQUEST");
}

/// A missing shutdown table does not mean zero shutdowns; a country without a score has tier 0.
fn without_history_a_briefing_says_what_is_missing(suite: &Suite) {
    let body = suite.client().get("/v1/elections/ke/briefing").expect(200);
    assert_eq!((&body["country"], &body["countryName"]), (&json!("KE"), &json!("Kenya")), "{body}");
    assert_eq!((&body["riskTier"], &body["riskAssessment"]["level"]), (&json!(0), &json!("normal")), "{body}");
    let pattern = &body["historicalPattern"];
    assert_eq!((&pattern["past_elections"], &pattern["historical_risk"]), (&json!(0), &json!("unknown")), "{body}");
    assert!(pattern["avg_incidents_per_election"].is_number() && pattern["covered_from"].is_null(), "{body}");
    let summary = &body["forecastSummary"];
    assert!(summary["max_risk"].is_number() && summary["avg_risk"].is_number() && summary["max_risk_day"].is_u64());
    assert_eq!((&summary["model_version"], &summary["key_drivers"]), (&json!("base-rate/1"), &json!([])), "{body}");
    let caveats = body["caveats"].to_string();
    assert!(caveats.contains("No shutdown history is imported"), "{body}");
    assert!(body["upcomingElections"].is_array() && body["riskAssessment"]["factors"].is_array(), "{body}");
}

/// A country with a start every few days for weeks, one with few starts, and one with none.
const OFTEN: &str = "SE";
const SELDOM: &str = "NO";
const NEVER: &str = "DK";

fn with_elections(client: &Client) {
    forecasts::with_history(client);
    let mut text = "country,date,type,title,status,source\n".to_owned();
    let mut row = |country: &str, back: i64, status: &str| {
        let date = day(client, -back);
        text += &format!("{country},{date},presidential,Presidential election,{status},\"Made up, for a test\"\n");
    };
    // Elections in times with many starts.
    [200, 380].into_iter().for_each(|back| row(OFTEN, back, "held"));
    // A shutdown began 140 days ago; around the other election there is none within 50 days.
    [140, 90].into_iter().for_each(|back| row(SELDOM, back, "held"));
    [20, 200, 300, 400, 500, 600].into_iter().for_each(|back| row(NEVER, back, "held"));
    // An election that is too recent for the reported data, so nobody knows what happened around it.
    row(OFTEN, 3, "held");
    row(OFTEN, -20, "announced");
    row(NEVER, -20, "announced");
    row(SELDOM, -5, "cancelled");
    text += "NO,2033,parliamentary,,expected,\"Made up, for a test\"\n";
    let counts = data::send(&client.admin(), "elections", "", text.as_bytes());
    assert_eq!(counts.accepted, 15, "{counts:?}");
}

fn prepared(suite: &Suite) -> Client {
    suite.prepared("elections", with_elections)
}

/// The share of a country's elections with a shutdown around them is mixed with that of all countries.
fn a_briefing_tells_what_happened_around_past_elections(suite: &Suite) {
    let client = prepared(suite);
    let briefing = |country: &str| client.get(&format!("/v1/elections/{country}/briefing")).expect(200);
    let told = |body: &Value| {
        let pattern = &body["historicalPattern"];
        (pattern["past_elections"].as_u64().unwrap(), pattern["elections_with_shutdown"].as_u64().unwrap())
    };
    let often = briefing(OFTEN);
    assert_eq!(told(&often), (2, 2), "{often}");
    assert_eq!(often["riskAssessment"]["level"], "critical", "{often}");
    let coming = &often["upcomingElections"][0];
    assert_eq!((&coming["daysUntil"], &coming["importance"]), (&json!(20), &json!("critical")), "{often}");
    assert_eq!((&coming["type"], &coming["date"]), (&json!("presidential"), &json!(day(&client, 20))), "{often}");
    let pattern = &often["historicalPattern"];
    assert_eq!(pattern["historical_risk"], "a shutdown began around 2 of 2 past elections", "{often}");
    assert!(pattern["shutdowns_around_elections"].as_u64().unwrap() >= 2, "{often}");
    // By hand: 3 of 10 elections of all countries; (2 + 2 x 0.3) / (2 + 2).
    assert_eq!(pattern["shrunk_share"], json!(0.65), "{often}");
    assert_eq!((&pattern["window_days"], pattern["covered_until"].is_string()), (&json!(7), true), "{often}");
    let seldom = briefing(SELDOM);
    assert_eq!((told(&seldom), &seldom["historicalPattern"]["shrunk_share"]), ((2, 1), &json!(0.4)), "{seldom}");
    assert_eq!(seldom["upcomingElections"], json!([]), "cancelled: {seldom}");
    let never = briefing(NEVER);
    assert_eq!((told(&never), &never["riskAssessment"]["level"]), ((6, 0), &json!("normal")), "{never}");
    assert!(never["forecastSummary"]["model_version"].as_str().unwrap().starts_with("hazard-logistic/"), "{never}");
}

fn upcoming_elections_come_with_the_forecast_and_the_riskiest_country_first(suite: &Suite) {
    let client = prepared(suite);
    let body = client.get("/v1/elections/upcoming?days=30").expect(200);
    assert_eq!((&body["days"], &body["count"]), (&json!(30), &json!(rows(&body).len())), "{body}");
    let (often, never) = (of(&body, OFTEN)[0], of(&body, NEVER)[0]);
    assert!(often["forecastRisk"].as_f64().unwrap() > never["forecastRisk"].as_f64().unwrap(), "{body}");
    let risks: Vec<f64> = rows(&body).iter().map(|row| row["forecastRisk"].as_f64().unwrap()).collect();
    assert!(risks.is_sorted_by(|a, b| a >= b), "{risks:?}");
    assert!(["high", "elevated", "watch", "low"].contains(&often["riskLevel"].as_str().unwrap()), "{often}");
    assert_eq!((&often["forecastCovers"], &often["daysUntil"]), (&json!(false), &json!(20)), "{often}");
    assert!(often["forecastRiskDay"].is_u64() && !often["keyDrivers"].as_array().unwrap().is_empty(), "{often}");
    assert!(of(&body, SELDOM).is_empty(), "cancelled, or far away: {body}");
    let all = client.get("/v1/elections/upcoming?days=3660").expect(200);
    assert_eq!(of(&all, SELDOM).iter().filter(|row| row["date"] == "2033").count(), 1, "{all}");
    let calendar = client.get("/v1/elections/calendar").expect(200);
    let past: Vec<&Value> = of(&calendar, NEVER).into_iter().filter(|row| row["past"] == true).collect();
    assert_eq!(past.len(), 6, "{calendar}");
    assert!(past.iter().all(|row| row["forecastRisk"].is_null() && row["riskLevel"] == "unknown"), "{calendar}");
}

fn elections_refuse_bad_input_by_name(suite: &Suite) {
    let client = suite.client();
    for days in ["0", "x", "-1"] {
        client.get(&format!("/v1/elections/upcoming?days={days}")).expect_error(400, "BAD_REQUEST");
    }
    for year in ["27", "x", "99999", "+207"] {
        client.get(&format!("/v1/elections/calendar?year={year}")).expect_error(400, "BAD_REQUEST");
    }
    client.get("/v1/elections/ZZ/briefing").expect_error(404, "NOT_FOUND");
    client.get("/v1/elections/KEN/briefing").expect_error(400, "BAD_REQUEST");
}
