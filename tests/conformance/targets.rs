//! Target lists: platforms besides the project's twelve, in every answer about platforms (decisions keys-and-roles,
//! incident-grades and licence-and-removal).

use heliograph_core::engine::time::{HOUR, Timestamp};
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{HEADER, Session, SiteResult, observation};
use serde_json::{Value, json};

use crate::analytics::wait;
use crate::detect::research;
use crate::{Suite, cases};

cases![
    a_target_list_adds_a_platform_to_every_answer_and_its_removal_takes_it_out,
    rows_of_a_target_list_that_say_nothing_are_counted_by_reason,
    the_published_target_list_is_read_whole,
];

const TARGETS: &str = "target_id\tservice\trole\tlabel\n\
    hub.example\thub\t\tThe Hub\n\
    hub/assets\thub\tcdn\t\n";
const HOSTS: &str = "matcher_kind\tmatcher\ttarget_id\ndomain\thub-assets.example\thub/assets\n";

/// Ten days of measurements of the site on three networks, which begin to block it two days ago.
fn measurements(now: Timestamp) -> String {
    let mut out = HEADER.to_owned();
    let mut number = 0;
    for hours in (0..80).rev().map(|n| 3 * n + 1) {
        for asn in [64_500, 64_501, 64_502] {
            number += 1;
            let seen = if hours <= 48 { SiteResult::TlsReset } else { SiteResult::Works };
            let time = now.plus(-hours * HOUR).to_string();
            let time = time.get(..19).unwrap().replace('T', " ");
            observation(&mut out, &Session { country: "NO", asn, host: "hub.example", time: &time, number, seen });
        }
    }
    out
}

fn import(client: &Client, text: &str) {
    let counts = data::import(&client.admin(), "targets", "", text.as_bytes());
    assert_eq!(counts.refused + counts.unusable + counts.unsupported, 0, "{counts:?}");
}

fn slugs(body: &Value) -> Vec<&str> {
    body["platforms"].as_array().unwrap().iter().map(|row| row["platform"].as_str().unwrap()).collect()
}

/// True for exactly one incident, with this title.
fn titled(title: &'static str) -> impl Fn(&Value) -> bool {
    move |body| {
        let list = body["incidents"].as_array().unwrap();
        list.len() == 1 && list[0]["title"] == title
    }
}

fn check_known(client: &Client) {
    let scores = wait(client, "/v1/platforms/scores", |body| {
        body["platforms"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["platform"] == "hub" && row["countriesBlocking"] == 1)
    });
    assert_eq!(scores["count"], 13, "{scores}");
    let risk = wait(client, "/v1/platform/HUB/risk", |body| body["countriesBlocking"] == 1);
    assert_eq!((&risk["platform"], &risk["label"]), (&json!("hub"), &json!("The Hub")), "{risk}");
    assert_eq!(risk["domains"], json!(["hub.example", "hub-assets.example"]), "{risk}");
    assert_eq!((&risk["blockedIn"][0]["country"], &risk["blockedIn"][0]["basis"]), (&json!("NO"), &json!("measured")));
    let here = client.get("/v1/platform/hub/risk/NO").expect(200);
    assert_eq!((&here["status"], &here["label"]), (&json!("blocked"), &json!("The Hub")), "{here}");
    assert_eq!(client.get("/v1/platform/hub/risk/SE").expect(200)["status"], "unknown");
    let country = client.get("/v1/platforms/country/NO").expect(200);
    assert_eq!((&country["count"], &country["platforms"][0]["platform"]), (&json!(13), &json!("hub")), "{country}");
    let past = client.get(&format!("/v1/platforms/scores?as_of={}", client.now())).expect(200);
    assert!(slugs(&past).contains(&"hub"), "{past}");
    let detected = research(client).post("/hydra/v1/detect", &json!({ "country": "NO", "target": "Hub" })).expect(200);
    assert_eq!((&detected["status"], &detected["basis"]), (&json!("blocked"), &json!("measured")), "{detected}");
    let roles: Vec<&str> =
        detected["roles"].as_array().unwrap().iter().filter_map(|role| role["key"].as_str()).collect();
    assert_eq!(roles, ["hub.example", "hub-assets.example"], "{detected}");
    let service = client.get("/v1/accessibility/service/hub").expect(200);
    assert_eq!(service["countries"][0]["country"], "NO", "{service}");
    let incidents = wait(client, "/data/incidents?service=hub", titled("Hub blocked in Norway"));
    let incident = &incidents["incidents"][0];
    assert_eq!(incident["affectedServices"], json!(["hub"]), "{incident}");
    assert_eq!(incident["affectedDomains"], json!(["hub.example"]), "{incident}");
    wait(client, "/data/incidents?country=NO", titled("Hub blocked in Norway"));
    let claim = client.post("/verify-claim", &json!({ "claim": "The Hub is blocked in Norway" })).expect(200);
    assert_eq!((&claim["verdict"], &claim["parsed"]["service"]), (&json!("confirmed"), &json!("hub")), "{claim}");
}

fn a_target_list_adds_a_platform_to_every_answer_and_its_removal_takes_it_out(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    let known = client.get("/v1/platforms/scores").expect(200);
    assert_eq!(known["count"], 12, "{known}");
    import(&client, TARGETS);
    data::import(&client.admin(), "ooni-observations", "", measurements(client.now()).as_bytes());
    import(&client, HOSTS);
    check_known(&client);
    let again = data::import(&client.admin(), "targets", "", TARGETS.as_bytes());
    assert_eq!((again.accepted, again.duplicate), (0, 2), "{again:?}");

    client.admin().delete("/v1/admin/sources/targets").expect(200);
    wait(&client, "/v1/platforms/scores", |body| body["count"] == 12);
    client.get("/v1/platform/hub/risk").expect_error(404, "NOT_FOUND");
    client.get("/v1/platform/hub/risk/NO").expect_error(404, "NOT_FOUND");
    client.get("/v1/accessibility/service/hub").expect_error(404, "NOT_FOUND");
    let ask = json!({ "country": "NO", "target": "hub" });
    research(&client).post("/hydra/v1/detect", &ask).expect_error(400, "BAD_REQUEST");
    wait(&client, "/data/incidents?country=NO", titled("hub.example blocked in Norway"));

    // The reverse order: the measurements come first, then the hosts, then their targets.
    import(&client, HOSTS);
    import(&client, TARGETS);
    check_known(&client);
}

fn rows_of_a_target_list_that_say_nothing_are_counted_by_reason(suite: &Suite) {
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    let text = "target_id\tservice\trole\nhub.example\thub\t\nx.com\ttwitter\t\nalone.example\t\t\nbad.example\tno slug\t\n\
        \thub\t\n";
    let counts = data::import(&admin, "targets", "?dry_run=true", text.as_bytes());
    assert_eq!((counts.accepted, counts.unsupported, counts.refused, counts.lines()), (1, 2, 2, 5), "{counts:?}");
    for reason in ["known_platform", "no_service", "bad_service", "bad_target_id"] {
        assert_eq!(counts.reasons.get(reason), Some(&1), "{reason}: {counts:?}");
    }
    let scores = target.client().get("/v1/platforms/scores").expect(200);
    assert_eq!(scores["count"], 12, "a dry run changes nothing: {scores}");
    let hosts =
        "matcher_kind,matcher,target_id\nip,192.0.2.1,hub/x\npattern,.*,hub/x\ndomain,a b,hub/x\nexact,h.example,\n";
    let counts = data::import(&admin, "targets", "", hosts.as_bytes());
    assert_eq!((counts.accepted, counts.unsupported, counts.unusable, counts.refused), (0, 2, 1, 1), "{counts:?}");
    let bad = admin.send("POST", "/v1/admin/import/targets", Some("text/csv"), b"url,category_code\na.example,NEWS\n");
    bad.expect_error(400, "BAD_REQUEST");
}

fn the_published_target_list_is_read_whole(suite: &Suite) {
    let (Some(targets), Some(hosts)) = (data::real("ooni/targets.tsv"), data::real("ooni/target_hostnames.tsv")) else {
        return;
    };
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    let counts = data::import(&client.admin(), "targets", "", &targets);
    assert_eq!((counts.lines(), counts.refused, counts.unusable), (1_485, 0, 0), "{counts:?}");
    let counts = data::import(&client.admin(), "targets", "", &hosts);
    assert_eq!((counts.lines(), counts.refused, counts.unusable, counts.unsupported), (95, 0, 0, 21), "{counts:?}");
    wait(&client, "/v1/platforms/scores", |body| slugs(body).contains(&"github"));
    let github = client.get("/v1/platform/github/risk").expect(200);
    assert_eq!((&github["label"], &github["domains"][0]), (&json!("Github"), &json!("github.com")), "{github}");
}
