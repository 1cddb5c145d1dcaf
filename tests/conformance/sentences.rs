//! Sentences with a code. Every answer of every case of this suite is checked by the client as well
//! (`heliograph_tests::sentences`).

use std::collections::BTreeSet;

use heliograph_core::facts::sentence::table;
use heliograph_tests::questions::{QUESTIONS, WordValues};
use heliograph_tests::sentences::{check, of};
use serde_json::{Value, json};

use crate::incidents::{create, site, telegram, with_three};
use crate::{Suite, analytics, cases};

cases![
    the_table_has_every_code_with_its_template_and_types,
    every_public_answer_says_what_its_sentences_say,
    answers_about_measurements_say_what_their_sentences_say,
    a_title_of_an_operator_has_no_code,
    reasons_for_claims_have_codes,
];

fn the_table_has_every_code_with_its_template_and_types(suite: &Suite) {
    let answer = suite.client().get("/data/sentences");
    let body = answer.expect(200);
    assert!(answer.header("etag").is_some());
    let rows = body["sentences"].as_array().unwrap();
    assert_eq!(body["count"], rows.len(), "{}", body["count"]);
    let found: Vec<(&str, &str)> =
        rows.iter().map(|row| (row["code"].as_str().unwrap(), row["english"].as_str().unwrap())).collect();
    assert_eq!(found, table::all());
    let types: BTreeSet<&str> =
        body["types"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    let parameters = rows.iter().filter_map(|row| row.get("parameters")).flat_map(|all| all.as_array().unwrap());
    for parameter in parameters {
        assert!(types.contains(parameter["type"].as_str().unwrap()), "{parameter}");
    }
    let days = rows.iter().find(|row| row["code"] == "driver.days").unwrap();
    assert_eq!(days["parameters"], json!([{ "name": "days", "type": "number" }]));
}

/// Values for the words of the questions, from a deployment with three incidents.
fn words(incidents: &Value) -> WordValues {
    let incidents = incidents["incidents"].as_array().unwrap();
    let ids = incidents.iter().map(|incident| incident["readableId"].as_str().unwrap().to_owned()).collect();
    let some = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<String>>();
    WordValues::from([
        ("country", some(&["KE", "NO"])),
        ("site", some(&["telegram.org", "nytimes.com"])),
        ("platform", some(&["telegram"])),
        ("time", some(&["2023-11-15T12:00:00Z"])),
        ("cursor", some(&["2020-01-01T00:00:00Z"])),
        ("late_cursor", some(&["2030-01-01T00:00:00Z"])),
        ("place", some(&["Kenya"])),
        ("month", some(&["November"])),
        ("year", some(&["2023"])),
        ("day", some(&["15"])),
        ("status", some(&["resolved"])),
        ("severity", some(&["high"])),
        ("topic", some(&["communication"])),
        ("category", some(&["NEWS"])),
        ("region", some(&["Africa"])),
        ("limit", some(&["5"])),
        ("offset", some(&["0"])),
        ("number", some(&["1"])),
        ("occasion", some(&["exams"])),
        ("asn", some(&["33771", "12455"])),
        ("provider", some(&["tor"])),
        ("evidence", some(&["none"])),
        ("incident", ids),
    ])
}

fn every_public_answer_says_what_its_sentences_say(suite: &Suite) {
    let client = suite.client();
    with_three(&client);
    let known = words(&client.get("/data/incidents").expect(200));
    let mut codes = BTreeSet::new();
    for question in QUESTIONS {
        for request in question.requests(&known).into_iter().take(2) {
            let answer = match request.body.is_empty() {
                true => client.key("svc_demo").get(&request.path),
                false => client.key("svc_demo").post(&request.path, &serde_json::from_str(&request.body).unwrap()),
            };
            let is_json = answer.header("content-type") == Some("application/json");
            if answer.status == 200 && is_json && !request.path.starts_with("/data/sentences") {
                codes.extend(check(&answer.json()));
            }
        }
    }
    for code in ["incident.title", "incident.summary", "check.unmeasured", "forecast.base_rates", "score.unknown"] {
        assert!(codes.contains(code), "{code} is in none of {codes:?}");
    }
}

fn answers_about_measurements_say_what_their_sentences_say(suite: &Suite) {
    let client = analytics::prepared(suite);
    let mut codes = BTreeSet::new();
    for path in [
        "/v1/accessibility/check?domain=first-news.example&country=NO&explain=true",
        "/v1/accessibility/check?domain=paintings.example&country=NO&explain=true",
        "/data/domain/first-news.example?explain=true",
        "/v1/measurement/intent-profile",
        "/v1/isp/index?country=NO",
        "/data/country/NO",
    ] {
        codes.extend(check(&client.get(&analytics::at(path)).expect(200)));
    }
    for code in ["check.blocked", "check.accessible", "check.networks", "report.tested_only", "index.too_little"] {
        assert!(codes.contains(code), "{code} is in none of {codes:?}");
    }
}

fn a_title_of_an_operator_has_no_code(suite: &Suite) {
    let client = suite.client();
    let mut written = telegram();
    written["title"] = json!("Written by hand");
    let body = create(&client, &written);
    assert_eq!(body["title"], "Written by hand");
    assert_eq!(of(&body, "/title"), &Value::Null, "{body}");
    assert_eq!(of(&body, "/summary")["code"], "incident.summary", "{body}");
    let body = create(&client, &site("IR", "nytimes.com", "2025-03-01"));
    let title = json!({
        "what": { "code": "what.subjects", "parameters": { "subjects": ["nytimes.com"] } },
        "deed": "blocked", "tense": "now", "country": "IR", "areas": null, "number_of_areas": 0,
    });
    let said = json!({ "text": "/title", "code": "incident.title", "parameters": title });
    assert_eq!(of(&body, "/title"), &said, "{body}");
    assert_eq!(body["title"], "nytimes.com blocked in Iran");
    check(&body);
}

fn reasons_for_claims_have_codes(suite: &Suite) {
    let client = suite.client();
    with_three(&client);
    let ask = |claim: &str| {
        let body = client.post("/verify-claim", &json!({ "claim": claim, "explain": true })).expect(200);
        let codes = check(&body);
        assert!(of(&body, "/reason")["code"].is_string(), "{body}");
        codes
    };
    let codes = ask("Kenya blocked Telegram on 15 November 2023");
    assert!(codes.contains(&"incident.summary".to_owned()), "{codes:?}");
    assert!(ask("The weather is nice").contains(&"claim.missing.country".to_owned()));
    assert!(ask("Telegram will be blocked in Kenya tomorrow").iter().any(|code| code.starts_with("claim.")));
}
