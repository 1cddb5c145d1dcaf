//! Old events are in sealed segments and give the same answers, also after the deployment was moved (decision
//! ledger-room).

use std::time::Duration;

use heliograph_tests::client::Client;
use heliograph_tests::ledger::{Party, refused};
use heliograph_tests::relay::text;
use heliograph_tests::target::{Kind, Target};
use serde_json::{Value, json};

use crate::dump_and_load::moved;
use crate::ledger_audit::{said, verify};
use crate::{Suite, cases};

cases![sealed_events_answer_as_before_and_move_with_the_deployment];

/// Events of one segment.
const RUN: u64 = 128;
/// A run of events is sealed as soon as it is complete.
const AT_ONCE: &[(&str, &str)] =
    &[("ledger_seal_days", "0"), ("pay_writes_per_minute", "0"), ("pay_reads_seconds", "0")];

/// The number of events, of sealed ones, and of those that only an archive has.
fn counts(client: &Client) -> [u64; 3] {
    let storage = client.get("/v1/pay/health").expect(200)["storage"].clone();
    ["events", "sealed_events", "archived_events"].map(|name| storage[name].as_u64().unwrap())
}

/// Answers that stay the same when the log grows.
fn answers(client: &Client, paths: &[String]) -> Vec<Value> {
    let mut answers = Vec::new();
    for path in paths {
        let mut answer = client.get(path).expect(200);
        let members = answer.as_object_mut().unwrap();
        members.retain(|name, _| !["generated_at", "size", "next", "next_cursor"].contains(&name.as_str()));
        answers.push(answer);
    }
    answers
}

fn sealed_events_answer_as_before_and_move_with_the_deployment(suite: &Suite) {
    let target = suite.fresh(AT_ONCE);
    let client = target.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let members = json!({ "from_did": a.did(), "to_did": b.did(), "amount_micro": 7, "memo": "zuerst",
        "nonce": "the-first-nonce" });
    let first = a.act("credit-transfer", members.clone()).expect(200);
    let items =
        json!([{ "to_did": b.did(), "amount_micro": 1, "memo": "x" }, { "to_did": b.did(), "amount_micro": 2 }]);
    let batch = a.act("batch-transfer", json!({ "from_did": a.did(), "items": items })).expect(200);
    let newest = a.pay(b.did(), 1).expect(200);
    let newest = text(&newest["transfer"], "settled_at");
    while counts(&client)[0] < 100 {
        a.pay(b.did(), 1).expect(200);
    }
    let (id, item) = (text(&first["transfer"], "id"), text(&batch["transfers"][1], "transfer_id"));
    let paths = [
        format!("/v1/pay/transfer/{id}"),
        format!("/v1/pay/transfer/{item}"),
        format!("/v1/pay/history/{}?before={newest}", a.did()),
        format!("/v1/pay/history/{}?before={newest}", b.did()),
        format!("/v1/pay/statement/{}?before={newest}", a.did()),
        "/v1/pay/audit/log?limit=50".to_owned(),
        format!("/v1/pay/audit/proof/{id}?size=100"),
        "/v1/pay/audit/proof/42?size=100".to_owned(),
    ];
    let before = answers(&client, &paths);
    while counts(&client)[0] < RUN + 3 {
        a.pay(b.did(), 1).expect(200);
    }
    let archived = if suite.kind == Kind::Edge { RUN } else { 0 };
    target.until(|| {
        client.wait(Duration::from_millis(500));
        let [_, sealed, elsewhere] = counts(&client);
        (sealed == RUN && elsewhere == archived).then_some(())
    });
    assert_eq!(answers(&client, &paths), before);
    refused(&a.act("credit-transfer", members), 409, "nonce_seen");
    is_sound(&target);

    let kind = if suite.kind == Kind::Memory { Kind::Memory } else { Kind::Native };
    let target = moved(target, kind);
    let client = target.client();
    assert_eq!(counts(&client)[1..], [RUN, 0]);
    assert_eq!(answers(&client, &paths), before);
    is_sound(&target);
}

/// The command recomputes every balance and the root from the exported log. In memory there is no server for it.
fn is_sound(target: &Target) {
    let Some(base) = target.base() else { return };
    let output = verify(&["--url", base]);
    assert!(output.status.success() && said(&output).contains("the log is sound"), "{}", said(&output));
}
