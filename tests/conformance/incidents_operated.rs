//! Changes of incidents by operators: create, amend, restore, merge, retract (decisions incident-ids and
//! plain-sentences-and-disputes).

use serde_json::{Value, json};

use crate::incidents::{check_incident, create, ids, list, readable, site, telegram};
use crate::{Suite, cases};

cases![
    an_operators_amendment_stands_until_it_is_taken_back,
    what_an_operator_wrote_of_a_new_incident_is_what_a_restoration_leads_back_to,
    a_new_incident_has_methods_that_exist_and_the_usual_severity,
    merged_ids_lead_on_and_come_back_when_taken_back,
    withdrawn_incidents_leave_the_list,
    operators_need_their_key_and_a_reason,
    malformed_operator_requests_are_refused_and_change_nothing,
];

fn an_operators_amendment_stands_until_it_is_taken_back(suite: &Suite) {
    let client = suite.client();
    let made = create(&client, &site("DK", "amended.example.org", "2024-02-01"));
    let admin = client.admin();
    let path = format!("/v1/admin/incidents/{}", readable(&made));
    let change = json!({
        "title": "Named by hand", "description": "Two\nlines.", "type": "mixed", "status": "resolved",
        "confidence": 1.0, "start": "2024-01-31", "end": "2024-02-02T12:00:00+02:00", "reason": "press"
    });
    let amended = admin.patch(&path, &change).expect(200);
    check_incident(&amended);
    assert_eq!(amended["title"], "Named by hand");
    assert_eq!(amended["description"], "Two\nlines.");
    assert_eq!((&amended["incidentType"], &amended["status"]), (&json!("mixed"), &json!("resolved")));
    assert_eq!(
        (&amended["startTime"], &amended["endTime"]),
        (&json!("2024-01-31T00:00:00.000Z"), &json!("2024-02-02T10:00:00.000Z"))
    );
    assert_eq!(readable(&amended), "DK-2024-0001", "a beginning in another year renumbers nothing");
    let stale = json!({ "title": "Late", "version": 1, "reason": "x" });
    admin.patch(&path, &stale).expect_error(409, "CONFLICT");
    let back = json!({ "fields": ["title", "status"], "reason": "mistaken" });
    let restored = admin.post(&format!("{path}/restore"), &back).expect(200);
    assert_eq!(
        (&restored["title"], &restored["status"]),
        (&json!("amended.example.org blocked in Denmark"), &json!("resolved")),
        "its end is over: {restored}"
    );
    assert_eq!(restored["incidentType"], "mixed", "the rest stays");
    let whole = admin.post(&format!("{path}/restore"), &json!({ "reason": "all of it" })).expect(200);
    assert_eq!((&whole["incidentType"], &whole["startTime"]), (&made["incidentType"], &made["startTime"]));
    assert_eq!((&made["status"], &whole["status"]), (&json!("active"), &json!("active")), "without an end it goes on");
    let mut ended = site("DK", "ended.example.org", "2024-02-01");
    ended["end"] = json!("2024-02-03");
    assert_eq!(create(&client, &ended)["status"], "resolved");
    // A bare date as end means through the end of that day.
    ended["end"] = json!("2024-02-01");
    let one_day = create(&client, &ended);
    assert_eq!(one_day["endTime"], "2024-02-01T23:59:59.000Z", "{one_day}");
    assert_eq!(one_day["summary"], "ended.example.org was blocked in Denmark, on 1 Feb 2024.");
    let change = json!({ "end": "2024-02-04", "reason": "press" });
    let longer = admin.patch(&format!("/v1/admin/incidents/{}", readable(&one_day)), &change).expect(200);
    assert_eq!(longer["endTime"], "2024-02-04T23:59:59.000Z", "{longer}");
    assert_eq!(longer["summary"], "ended.example.org was blocked in Denmark, from 1 Feb 2024 to 4 Feb 2024.");
    ended["end"] = json!("2199-01-01");
    assert_eq!(create(&client, &ended)["status"], "active");
    assert_eq!(whole["version"], 4);
    let versions = admin.get(&format!("{path}/versions")).expect(200);
    let actions: Vec<_> =
        versions["versions"].as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["restored", "restored", "amended", "created"]);
    for row in versions["versions"].as_array().unwrap() {
        assert!(row["by"].as_str().is_some_and(|by| by.len() == 8) && row["reason"].is_string(), "{row}");
        assert!(!row.to_string().contains(heliograph_tests::target::ADMIN_KEY), "the key's id, not the key");
    }
}

fn what_an_operator_wrote_of_a_new_incident_is_what_a_restoration_leads_back_to(suite: &Suite) {
    let client = suite.client();
    let admin = client.admin();
    let mut new = site("NO", "written.example.org", "2024-02-01");
    new["title"] = json!("As it was made");
    new["description"] = json!("By hand.");
    let made = create(&client, &new);
    let path = format!("/v1/admin/incidents/{}", readable(&made));
    let change = json!({ "title": "Another", "description": "Other words.", "reason": "x" });
    let amended = admin.patch(&path, &change).expect(200);
    assert_eq!((&amended["title"], &amended["version"]), (&json!("Another"), &json!(2)));
    let again = admin.patch(&path, &change).expect(200);
    assert_eq!(again["version"], 2, "nothing changed, so there is no version");
    let restored = admin.post(&format!("{path}/restore"), &json!({ "reason": "back" })).expect(200);
    assert_eq!(
        (&restored["title"], &restored["description"], &restored["version"]),
        (&json!("As it was made"), &json!("By hand."), &json!(3))
    );
    let into = create(&client, &site("NO", "whole.example.org", "2024-02-02"));
    let merge = json!({ "into": readable(&into), "reason": "one cause" });
    for _ in 0..2 {
        admin.post(&format!("{path}/merge"), &merge).expect(200);
    }
    assert_eq!(admin.get(&format!("{path}/versions")).expect(200)["versions"][0]["version"], 4, "merged once");
}

fn a_new_incident_has_methods_that_exist_and_the_usual_severity(suite: &Suite) {
    let client = suite.client();
    let mut magic = site("NO", "magic.example.org", "2024-02-01");
    magic["methods"] = json!(["magic"]);
    let refused = client.admin().post("/v1/admin/incidents", &magic);
    refused.expect_error(400, "BAD_REQUEST");
    assert!(refused.text().contains("dns-poison"));
    magic["methods"] = json!(["TLS-Reset", "tls-reset"]);
    assert_eq!(create(&client, &magic)["blockingMethods"], json!(["tls-reset"]));
    for (areas, severity) in [(json!([]), "critical"), (json!(["Oslo"]), "high")] {
        let mut outage = site("NO", "internet", "2024-02-01");
        outage.as_object_mut().unwrap().remove("severity");
        outage["areas"] = areas;
        assert_eq!(create(&client, &outage)["severity"], severity);
    }
    let path =
        format!("/v1/admin/incidents/{}", readable(&create(&client, &site("NO", "null.example.org", "2024-02-01"))));
    let refused = client.admin().patch(&path, &json!({ "end": null, "reason": "x" }));
    refused.expect_error(400, "BAD_REQUEST");
    assert!(refused.text().contains("ongoing"));
}

fn merged_ids_lead_on_and_come_back_when_taken_back(suite: &Suite) {
    let client = suite.client();
    let admin = client.admin();
    let whole = create(&client, &site("FI", "whole.example.org", "2024-02-01"));
    let part = create(&client, &site("FI", "part.example.org", "2024-02-02"));
    let other = create(&client, &site("EE", "other.example.org", "2024-02-02"));
    let path = format!("/v1/admin/incidents/{}", readable(&part));
    let into = |id: &Value| json!({ "into": id, "reason": "one cause" });
    admin.post(&format!("{path}/merge"), &into(&part["id"])).expect_error(409, "CONFLICT");
    admin.post(&format!("{path}/merge"), &into(&other["id"])).expect_error(409, "CONFLICT");
    admin.post(&format!("{path}/merge"), &into(&json!("FI-1999-0001"))).expect_error(404, "NOT_FOUND");
    let merged = admin.post(&format!("{path}/merge"), &into(&whole["id"])).expect(200);
    assert_eq!(merged["mergedInto"], whole["readableId"]);
    for id in [&part["id"], &part["readableId"]] {
        let led = client.get(&format!("/data/incidents/{}", id.as_str().unwrap())).expect(200);
        assert_eq!((&led["id"], &led["mergedFrom"]), (&whole["id"], &json!([part["readableId"]])));
    }
    let own = client.get(&format!("/data/incidents/{}?version=1", readable(&part))).expect(200);
    assert_eq!(own["id"], part["id"], "a citation is not led on");
    assert_eq!(ids(&list(&client, "?country=FI")), [readable(&whole)]);
    let circle = format!("/v1/admin/incidents/{}/merge", readable(&whole));
    admin.post(&circle, &into(&part["id"])).expect_error(409, "CONFLICT");
    admin.post(&format!("{path}/restore"), &json!({ "fields": ["merge"], "reason": "two after all" })).expect(200);
    assert_eq!(ids(&list(&client, "?country=FI")).len(), 2);
    let alone = client.get(&format!("/data/incidents/{}", readable(&whole))).expect(200);
    assert!(alone.get("mergedFrom").is_none(), "{alone}");
}

fn withdrawn_incidents_leave_the_list(suite: &Suite) {
    let client = suite.client();
    let made = create(&client, &site("IS", "withdrawn.example.org", "2024-02-01"));
    let path = format!("/v1/admin/incidents/{}", readable(&made));
    client.admin().post(&format!("{path}/retract"), &json!({ "reason": "A maintenance window." })).expect(200);
    assert_eq!(list(&client, "?country=IS")["total"], 0);
    let kept = client.get(&format!("/data/incidents/{}", readable(&made))).expect(200);
    assert_eq!((&kept["retracted"], &kept["citable"]), (&json!("A maintenance window."), &json!(false)));
    let next = create(&client, &site("IS", "withdrawn.example.org", "2024-02-01"));
    assert_eq!(readable(&next), "IS-2024-0002", "a number is never used again");
}

fn operators_need_their_key_and_a_reason(suite: &Suite) {
    let client = suite.client();
    let made = create(&client, &site("AD", "guarded.example.org", "2024-02-01"));
    let path = format!("/v1/admin/incidents/{}", readable(&made));
    for client in [client.clone(), client.with("x-admin-key", "wrong"), client.key("svc_demo")] {
        client.post("/v1/admin/incidents", &telegram()).expect_error(401, "UNAUTHORIZED");
        client.patch(&path, &json!({ "title": "x", "reason": "y" })).expect_error(401, "UNAUTHORIZED");
        client.get(&format!("{path}/versions")).expect_error(401, "UNAUTHORIZED");
        for deed in ["merge", "retract", "restore"] {
            client.post(&format!("{path}/{deed}"), &json!({ "reason": "y" })).expect_error(401, "UNAUTHORIZED");
        }
    }
    let admin = client.admin();
    for reason in [Value::Null, json!(""), json!("  ")] {
        admin.post(&format!("{path}/retract"), &json!({ "reason": reason })).expect_error(400, "BAD_REQUEST");
    }
    admin.post(&format!("{path}/retract"), &json!({})).expect_error(400, "BAD_REQUEST");
    for deed in ["merge", "retract", "restore", "versions"] {
        let path = format!("/v1/admin/incidents/AD-1999-0001/{deed}");
        let answer = match deed {
            "versions" => admin.get(&path),
            "merge" => admin.post(&path, &json!({ "reason": "y", "into": "AD-2024-0001" })),
            _ => admin.post(&path, &json!({ "reason": "y" })),
        };
        answer.expect_error(404, "NOT_FOUND");
    }
}

fn malformed_operator_requests_are_refused_and_change_nothing(suite: &Suite) {
    let client = suite.client();
    let admin = client.admin();
    for (name, value) in [
        ("country", json!("KEN")),
        ("country", json!("ZZ")),
        ("subject", json!("")),
        ("subject", json!("not a domain")),
        ("start", json!("")),
        ("start", json!("soon")),
        ("start", json!("1960-01-01")),
        ("end", json!("2023-11-07")),
        ("type", json!("war")),
        ("severity", json!("huge")),
        ("status", json!("draft")),
        ("confidence", json!(1.01)),
        ("confidence", json!(-0.1)),
        ("asns", json!(["AS0"])),
        ("asns", json!(["ASx"])),
        ("title", json!("a".repeat(201))),
        ("title", json!("two\nlines")),
        ("title", json!("bell\u{7}")),
        ("description", json!("a".repeat(4001))),
        ("reason", json!("a".repeat(1001))),
        ("domains", json!(["192.0.2.1"])),
        ("areas", json!(vec!["Lisboa"; 51])),
        ("evidence", json!([{ "source_ref": "y", "observed_at": "2023-11-08" }])),
        ("evidence", json!([{ "source": "ooni", "source_ref": "y" }])),
        ("evidence", json!([{ "source": "ooni", "observed_at": "2023-11-08" }])),
        ("evidence", json!([{ "source": "x", "source_ref": "y", "observed_at": "2023-11-08" }])),
        ("evidence", json!([{ "source": "ooni", "source_ref": "y", "observed_at": "then" }])),
        ("evidence", json!([{ "source": "ooni", "permalink": "http://example.org/", "observed_at": "2023-11-08" }])),
        ("evidence", json!([{ "source": "ooni", "permalink": "https://u@example.org/", "observed_at": "2023-11-08" }])),
        ("evidence", json!([{ "source": "ooni", "permalink": "javascript:alert(1)", "observed_at": "2023-11-08" }])),
        ("evidence", json!(vec![json!({ "source": "ooni", "source_ref": "y", "observed_at": "2023-11-08" }); 51])),
        ("unheard_of", json!(1)),
    ] {
        let mut wanted = telegram();
        wanted["country"] = json!("PT");
        wanted[name] = value;
        let answer = admin.post("/v1/admin/incidents", &wanted);
        assert_eq!(answer.status, 400, "{name}: {}", answer.text());
        answer.expect_error(400, "BAD_REQUEST");
    }
    assert_eq!(list(&client, "?country=PT")["total"], 0);
    let made = create(&client, &site("PT", "x.example.org", "2024-02-01"));
    let path = format!("/v1/admin/incidents/{}", readable(&made));
    for change in [json!({}), json!({ "end": "2024-01-01" }), json!({ "titel": "x" }), json!([])] {
        let mut change = change;
        if change.is_object() {
            change["reason"] = json!("y");
        }
        admin.patch(&path, &change).expect_error(400, "BAD_REQUEST");
    }
    assert_eq!(client.get(&format!("/data/incidents/{}", readable(&made))).expect(200)["version"], 1);
}
