//! The operator's work on stored data: removing a source, computing verdicts again (decisions licence-and-removal and
//! dumps-and-recompute).

use std::time::Duration;

use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{COUNTRY, HALF_BLOCKED, INSIDE, SITE, blocked_site};
use serde_json::{Value, json};

use crate::detect::research;
use crate::{Suite, cases};

cases![
    a_removed_source_is_gone_from_every_answer_and_lists_stay,
    verdicts_are_computed_again_and_the_changes_are_told,
    an_index_of_the_past_knows_what_was_just_imported,
    only_the_operator_sweeps_and_only_what_there_is,
];

fn answer(client: &Client, country: &str) -> Value {
    let body = json!({ "country": country, "target": SITE, "includeISPs": true, "as_of": INSIDE });
    research(client).post("/hydra/v1/detect", &body).expect(200)
}

/// Waits for the work that a request started.
fn finished(admin: &Client, path: &str) -> Value {
    let mut body = Value::Null;
    for _ in 0..120 {
        body = admin.get(path).expect(200);
        assert!(body["countriesDone"].as_u64() <= body["countries"].as_u64(), "{body}");
        if body["complete"] == true {
            return body;
        }
        admin.wait(Duration::from_millis(250));
    }
    panic!("never complete: {body}");
}

/// Decision licence-and-removal: `drop-source` removes one source exactly.
fn a_removed_source_is_gone_from_every_answer_and_lists_stay(suite: &Suite) {
    let target = suite.fresh(&[]);
    let (client, admin) = (target.client(), target.client().admin());
    data::send(&admin, "ooni-observations", "", blocked_site().as_bytes());
    let list = format!("?country={COUNTRY}&list_kind=official&date=2024-01-01");
    data::send(&admin, "blocklist", &list, SITE.as_bytes());
    assert_eq!(answer(&client, COUNTRY)["basis"], "measured");
    admin.send("DELETE", "/v1/admin/sources/ooni", None, b"").expect(200);
    let done = finished(&admin, "/v1/admin/sources/ooni");
    assert!(done["handled"].as_u64().is_some_and(|handled| handled >= 128), "{done}");
    let listed = answer(&client, COUNTRY);
    assert_eq!((&listed["basis"], &listed["status"]), (&json!("known_list"), &json!("blocked")), "{listed}");
    assert_eq!((&listed["isps"], &listed["evidenceCount"]), (&json!([]), &json!(0)), "{listed}");
    let other = answer(&client, HALF_BLOCKED);
    assert_eq!((&other["basis"], &other["sources"]), (&json!("unmeasured"), &json!([])), "{other}");
    let index = client.get(&format!("/data/censorship-index.json?as_of={INSIDE}")).expect(200);
    assert_eq!(index["metadata"]["totalMeasurements"], 0, "{index}");
    assert_eq!(index["metadata"]["insufficientData"], 0, "{index}");
    // Removed rows are new when they are imported again.
    let again = data::send(&admin, "ooni-observations", "", blocked_site().as_bytes());
    assert_eq!((again.accepted, again.duplicate), (128, 0), "{again:?}");
    assert_eq!(answer(&client, COUNTRY)["basis"], "measured");
}

/// Decision dumps-and-recompute: `verdicts recompute` after a change of the rules, with a list of changed answers.
fn verdicts_are_computed_again_and_the_changes_are_told(suite: &Suite) {
    let target = suite.fresh(&[]);
    let (client, admin) = (target.client(), target.client().admin());
    data::send(&admin, "ooni-observations", "", blocked_site().as_bytes());
    let before = answer(&client, COUNTRY);
    let started = admin.send("POST", "/v1/admin/verdicts/recompute", None, b"").expect(200);
    assert!(started["countries"].as_u64().is_some_and(|count| count >= 2), "{started}");
    let done = finished(&admin, "/v1/admin/verdicts/recompute");
    assert!(done["handled"].as_u64().is_some_and(|handled| handled >= 2), "{done}");
    assert!(done["changes"].is_array() && done["changed"].is_u64(), "{done}");
    assert_eq!(answer(&client, COUNTRY), before, "the same rules say the same");
}

/// Decision answers-about-a-time: `as_of` bypasses documents, so it does not wait for one to be published.
fn an_index_of_the_past_knows_what_was_just_imported(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    data::send(&client.admin(), "ooni-observations", "", blocked_site().as_bytes());
    let index = client.get(&format!("/data/censorship-index.json?as_of={INSIDE}")).expect(200);
    assert_eq!(index["metadata"]["insufficientData"], 2, "{index}");
    let overview = client.get(&format!("/v1/censorship-index?as_of={INSIDE}")).expect(200);
    let measured = overview["countries"].as_array().unwrap().iter().filter(|row| row["ooni"].is_object()).count();
    assert_eq!(measured, 2, "{}", overview["summary"]);
}

fn only_the_operator_sweeps_and_only_what_there_is(suite: &Suite) {
    let client = suite.client();
    for (method, path) in [
        ("DELETE", "/v1/admin/sources/ooni"),
        ("GET", "/v1/admin/sources/ooni"),
        ("POST", "/v1/admin/verdicts/recompute"),
        ("GET", "/v1/admin/verdicts/recompute"),
    ] {
        assert_eq!(client.send(method, path, None, b"").status, 401, "{method} {path}");
    }
    let admin = client.admin();
    admin.send("DELETE", "/v1/admin/sources/rumours", None, b"").expect_error(404, "NOT_FOUND");
    admin.send("DELETE", "/v1/admin/sources/fingerprints", None, b"").expect_error(400, "BAD_REQUEST");
}
