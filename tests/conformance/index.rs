//! The censorship index.

use heliograph_core::engine::time::DAY;
use heliograph_tests::client::{Answer, Client};
use heliograph_tests::data;
use heliograph_tests::synthetic::INSIDE;
use serde_json::{Value, json};

use crate::analytics::{recent, wait};
use crate::detect::with_blocked_site;
use crate::{Suite, cases};

cases![
    the_index_has_the_members_that_readers_know,
    the_index_is_cached_by_its_tag,
    the_csv_is_a_download_with_the_named_columns,
    json_and_csv_name_the_same_countries,
    shutdowns_enter_the_index_with_a_table_and_leave_with_it,
    countries_with_too_little_data_are_left_out_and_counted,
    known_lists_never_enter_the_index,
    licences_stand_beside_the_index,
    the_index_of_a_past_time_is_computed_and_echoes_it,
    index_v1_has_summary_and_countries_by_code,
    index_v1_of_a_country_has_what_clients_format,
    index_v1_of_no_country_is_404,
];

/// Checks `ETag`, `Cache-Control`, 304 and HEAD of a document.
pub fn check_caching(client: &Client, path: &str, content_type: &str) {
    // Answers state their minute, so the following must end before the next minute.
    let left = 60 - client.now().seconds().rem_euclid(60);
    if left <= 5 {
        client.wait(std::time::Duration::from_secs(left.unsigned_abs() + 1));
    }
    let answer = client.get(path);
    assert_eq!(answer.status, 200, "{path}");
    assert!(answer.header("content-type").unwrap().starts_with(content_type), "{path}");
    let tag = answer.header("etag").unwrap_or_else(|| panic!("{path} has no ETag"));
    // The tag is weak if the body says when it was made, because that alone makes no different answer.
    let opaque = tag.trim_start_matches("W/");
    assert!(opaque.starts_with('"') && opaque.ends_with('"') && opaque.len() > 2, "{path}: {tag} is no tag");
    assert!(answer.header("cache-control").is_some_and(|value| value.contains("max-age")), "{path}");
    let tags = [tag.to_owned(), opaque.to_owned(), format!("W/{opaque}"), format!("\"x\", {tag}"), "*".to_owned()];
    for sent in tags {
        let again = client.with("if-none-match", &sent).get(path);
        assert_eq!((again.status, again.body.len()), (304, 0), "{path} with {sent}");
        assert_eq!(again.header("etag"), Some(tag), "{path}");
        assert!(again.header("cache-control").is_some(), "{path}");
    }
    let other = client.with("if-none-match", "\"another\"").get(path);
    assert_eq!(other.status, 200, "{path}");
    // The document may have been published between the two requests; only a weak tag ignores that.
    match tag.starts_with("W/") {
        true => assert_eq!(unmade(&other), unmade(&answer), "{path}"),
        false => assert_eq!(other.body, answer.body, "{path}"),
    }
    let head = client.send("HEAD", path, None, b"");
    assert_eq!((head.status, head.body.len(), head.header("etag")), (200, 0, Some(tag)), "{path}");
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
}

/// The body without the members that say when it was made.
fn unmade(answer: &Answer) -> Value {
    let mut body: Value = serde_json::from_slice(&answer.body).unwrap();
    let members = body.as_object_mut().unwrap();
    for name in ["checkedAt", "generated", "generated_at", "generatedAt", "generated_at_utc", "generation"] {
        members.remove(name);
    }
    body
}

fn index(client: &Client) -> Value {
    client.get("/data/censorship-index.json").expect(200)
}

fn check_index(body: &Value) {
    assert!(body["name"].is_string(), "{body}");
    for name in ["totalCountries", "liveMeasurements", "historicalMeasurements", "totalMeasurements"] {
        assert!(body["metadata"][name].is_u64(), "{name}: {body}");
    }
    for level in ["severe", "high", "medium", "low", "free"] {
        assert!(body["summary"][format!("{level}Count")].is_u64(), "{level}: {body}");
    }
    let countries = body["countries"].as_array().unwrap();
    let mut last = f64::INFINITY;
    for (at, country) in countries.iter().enumerate() {
        assert_eq!(country["rank"], at + 1, "{country}");
        let code = country["code"].as_str().unwrap();
        assert!(code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase()), "{country}");
        let name = country["country"].as_str().unwrap();
        assert!(name.len() > 2, "the display name, not the code: {country}");
        let score = country["score"].as_u64().unwrap_or_else(|| panic!("an integer: {country}"));
        assert!(score <= 100 && score as f64 <= last, "worst first: {country}");
        last = score as f64;
        let level = match score {
            0..20 => "free",
            20..40 => "low",
            40..60 => "medium",
            60..80 => "high",
            _ => "severe",
        };
        assert_eq!(country["level"], level, "{country}");
        assert!(country["samples"].is_u64(), "{country}");
        assert!(country["blocked"].as_array().unwrap().iter().all(Value::is_string), "{country}");
        if let Some(interval) = country.get("confidenceInterval").filter(|value| !value.is_null()) {
            let (low, high) = (interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap());
            assert!(low <= score as f64 && score as f64 <= high, "{country}");
        }
    }
    let levels: u64 = ["severe", "high", "medium", "low", "free"]
        .iter()
        .map(|level| body["summary"][format!("{level}Count")].as_u64().unwrap())
        .sum();
    assert_eq!(levels, countries.len() as u64, "{body}");
}

fn the_index_has_the_members_that_readers_know(suite: &Suite) {
    check_index(&index(&suite.client()));
    check_index(&index(&suite.prepared("site", with_blocked_site)));
}

fn the_index_is_cached_by_its_tag(suite: &Suite) {
    check_caching(&suite.client(), "/data/censorship-index.json", "application/json");
    check_caching(&suite.client(), "/data/censorship-index.csv", "text/csv");
    check_caching(&suite.client(), "/v1/censorship-index", "application/json");
}

fn the_csv_is_a_download_with_the_named_columns(suite: &Suite) {
    let answer = suite.client().get("/data/censorship-index.csv");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"censorship-index.csv\""));
    let header = answer.text().lines().next().unwrap();
    let expected = "rank,country,code,score,level,samples,block_rate,risk_tier,anomaly_rate,confirmed_rate,blocked,last_updated,\
         interval_low,interval_high,grade,license,effective_license";
    assert_eq!(header, expected);
}

fn json_and_csv_name_the_same_countries(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let csv = client.get("/data/censorship-index.csv");
    assert_eq!(csv.text().lines().count() - 1, index(&client)["countries"].as_array().unwrap().len());
}

/// Rows of a shutdown table: country, first and last day before now, area.
fn shutdowns(client: &Client, rows: &[(&str, i64, i64, &str)]) -> String {
    let day = |back: i64| client.now().plus(-back * DAY).to_date_text();
    let mut out = "start_date,end_date,country,area_name,geo_scope,shutdown_type,shutdown_extent\n".to_owned();
    for (country, first, last, area) in rows {
        out += &format!("{},{},{country},{area},,Shutdown,Full network\n", day(*first), day(*last));
    }
    out
}

/// Decision index-with-little-data: a missing shutdown table does not mean zero shutdowns, but a table without a row
/// about a country does.
fn shutdowns_enter_the_index_with_a_table_and_leave_with_it(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1"), ("source_licences", "access-now=LicenseRef-agreed")]);
    let client = target.client();
    data::import(&client.admin(), "ooni-observations", "", recent(client.now()).as_bytes());
    let load = |body: &Value| body["data"]["components"][3].clone();
    let page = wait(&client, "/data/country/NO", |body| body["data"]["score"].is_u64());
    assert_eq!(load(&page)["missing"], "no shutdown table is imported", "{page}");
    data::import(&client.admin(), "shutdowns", "", shutdowns(&client, &[("Sweden", 30, 20, "nationwide")]).as_bytes());
    let zero = wait(&client, "/data/country/NO", |body| load(body)["value"] == 0.0);
    data::import(&client.admin(), "shutdowns", "", shutdowns(&client, &[("Norway", 200, 1, "nationwide")]).as_bytes());
    let page = wait(&client, "/data/country/NO", |body| load(body)["value"].as_f64().is_some_and(|value| value > 0.5));
    let score = |page: &Value| page["data"]["score"].as_u64().unwrap();
    assert!(score(&page) > score(&zero), "{page}");
    let index = wait(&client, "/data/censorship-index.json", |body| body["countries"][0]["score"] == score(&page));
    check_index(&index);
    assert_eq!(index["missingComponents"], serde_json::json!([]), "{index}");
    assert!(index["sourceLicenses"].to_string().contains("access-now"), "{index}");
    // The licence that the operator set for the table is in force, and is the strictest of all.
    let agreed = json!({ "source": "access-now", "license": "LicenseRef-agreed" });
    for path in ["/data/censorship-index.json", "/v1/censorship-index", "/data/country/NO", "/v1/censorship-index/NO"] {
        let body = client.get(path).expect(200);
        assert!(body["sourceLicenses"].as_array().unwrap().contains(&agreed), "{path}: {body}");
        assert_eq!(body["effectiveLicense"], "LicenseRef-agreed", "{path}: {body}");
    }
    // The CSV has the same interval and grade as the JSON.
    let row = &index["countries"][0];
    let csv = client.get("/data/censorship-index.csv");
    let end = format!(
        ",{},{},{},https://creativecommons.org/licenses/by/4.0/,LicenseRef-agreed",
        row["confidenceInterval"][0],
        row["confidenceInterval"][1],
        row["grade"].as_str().unwrap()
    );
    let line = csv.text().lines().nth(1).unwrap();
    assert!(line.starts_with(&format!("1,Norway,NO,{},", score(&page))) && line.ends_with(&end), "{line} {end}");
    assert_eq!(client.admin().send("DELETE", "/v1/admin/sources/access-now", None, b"").status / 100, 2);
    wait(&client, "/data/country/NO", |body| load(body)["missing"].is_string());
}

fn countries_with_too_little_data_are_left_out_and_counted(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let path = format!("/data/censorship-index.json?as_of={INSIDE}");
    let body = client.get(&path).expect(200);
    check_index(&body);
    // 64 sessions on one domain are below the minimum of 200 sessions on 20 domains.
    let countries = body["countries"].as_array().unwrap();
    assert!(countries.iter().all(|country| country["code"] != "NO"), "{body}");
    assert!(body["metadata"]["insufficientData"].as_u64().is_some_and(|count| count >= 1), "{body}");
}

fn known_lists_never_enter_the_index(suite: &Suite) {
    // A new deployment has documented blocks of several countries and no measurement.
    let body = index(&suite.client());
    assert_eq!(body["countries"], serde_json::json!([]), "{body}");
    assert_eq!(body["metadata"]["totalMeasurements"], 0, "{body}");
}

fn licences_stand_beside_the_index(suite: &Suite) {
    let body = index(&suite.client());
    let license = body.get("license").or(body.pointer("/metadata/license")).and_then(Value::as_str);
    let cc_by =
        |name: &str| name.contains("CC BY 4.0") || name.contains("CC-BY-4.0") || name.contains("licenses/by/4.0");
    assert!(license.is_some_and(cc_by), "{body}");
    let text = index(&suite.prepared("site", with_blocked_site)).to_string();
    assert!(text.contains("sourceLicenses") && text.contains("effectiveLicense"), "{text}");
}

fn the_index_of_a_past_time_is_computed_and_echoes_it(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    for path in ["/data/censorship-index.json", "/v1/censorship-index", "/v1/censorship-index/NO"] {
        let body = client.get(&format!("{path}?as_of={INSIDE}")).expect(200);
        assert!(body.to_string().contains("\"as_of\""), "{path}: {body}");
        client.get(&format!("{path}?as_of=soon")).expect_error(400, "BAD_REQUEST");
    }
}

fn index_v1_has_summary_and_countries_by_code(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    for path in ["/v1/censorship-index".to_owned(), format!("/v1/censorship-index?as_of={INSIDE}")] {
        let body = client.get(&path).expect(200);
        assert!(body["timestamp"].is_string(), "{body}");
        for name in ["fullOutage", "partialOutage", "degraded", "normal", "unknown"] {
            assert!(body["summary"][name].is_u64(), "{name}: {body}");
        }
        for country in body["countries"].as_array().unwrap() {
            assert_eq!(country["country"].as_str().unwrap().len(), 2, "the code here (conflict C14): {country}");
            assert!(country["name"].is_string() && country["status"].is_string(), "{country}");
            if let Some(ooni) = country.get("ooni").filter(|value| !value.is_null()) {
                check_ooni(ooni);
            }
        }
    }
}

/// Members that clients format without checking that they exist.
fn check_ooni(ooni: &Value) {
    assert!(ooni["measurementCount"].is_u64(), "{ooni}");
    assert!((0.0..=1.0).contains(&ooni["anomalyRate"].as_f64().unwrap()), "{ooni}");
    if let Some(services) = ooni.get("affectedServices") {
        assert!(services.as_array().unwrap().iter().all(Value::is_string), "{ooni}");
    }
}

fn index_v1_of_a_country_has_what_clients_format(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let as_of = format!("?as_of={INSIDE}");
    for (code, query) in [("NO", ""), ("no", as_of.as_str()), ("NO", as_of.as_str()), ("SE", "")] {
        let body = client.get(&format!("/v1/censorship-index/{code}{query}")).expect(200);
        assert_eq!(body["country"], code.to_uppercase());
        assert!(body["name"].is_string() && body["status"].is_string(), "{body}");
        if let Some(ooni) = body.get("ooni").filter(|value| !value.is_null()) {
            check_ooni(ooni);
            assert!(ooni["status"].is_string() && ooni["lastUpdated"].is_string(), "{body}");
            assert!((0.0..=1.0).contains(&ooni["confirmedRate"].as_f64().unwrap()), "{body}");
            assert!(ooni["affectedServices"].is_array(), "{body}");
        }
        assert!(body.get("activeIncidents").is_none_or(Value::is_array), "{body}");
        if !query.is_empty() {
            assert_eq!(body["ooni"]["measurementCount"], 64, "{body}");
            assert_eq!(body["ooni"]["anomalyRate"], 0.25, "{body}");
        }
    }
}

fn index_v1_of_no_country_is_404(suite: &Suite) {
    for code in ["ZZ", "qq"] {
        suite.client().get(&format!("/v1/censorship-index/{code}")).expect_error(404, "NOT_FOUND");
    }
    for code in ["N", "NOR", "N1", "12"] {
        suite.client().get(&format!("/v1/censorship-index/{code}")).expect_error(400, "BAD_REQUEST");
    }
}
