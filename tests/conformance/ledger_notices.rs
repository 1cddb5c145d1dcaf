//! Notices to parties by webhook and mailbox (decision ledger-for-clients).

use heliograph_tests::ledger::Party;
use heliograph_tests::relay::{Agent, text};
use heliograph_tests::source::Source;
use heliograph_tests::target::Target;
use serde_json::{Value, json};

use crate::relay_webhooks::{Received, heard, ok};
use crate::{Suite, cases};

cases![
    each_event_reaches_the_webhook_of_the_other_party_once,
    what_nobody_asked_for_is_not_told,
    each_transfer_of_a_batch_is_told_to_its_recipient,
    a_mailbox_gets_a_message_of_the_deployments_own_agent_under_the_same_id,
    notices_by_mail_need_known_events_and_an_agent_that_writes,
];

const ALL: [&str; 4] = ["hire.created", "hire.claimed", "receipt.disputed", "transfer.settled"];

fn scene(suite: &Suite) -> (Target, Source) {
    let settings = [("allow_outbound", "127.0.0.0/8"), ("first_party_services", "true")];
    (suite.fresh(&settings), Source::start(ok))
}

fn hook(agent: &Agent, url: &str, events: &[&str]) -> Value {
    agent.client.post("/v1/agent/webhooks", &json!({ "webhook_url": url, "events": events })).expect(201)
}

fn mail(agent: &Agent, events: &[&str]) -> heliograph_tests::client::Answer {
    let body = json!({ "events": events }).to_string();
    agent.client.send("PUT", "/v1/agent/ledger-notices", Some("application/json"), body.as_bytes())
}

fn at<'a>(got: &'a [Received], path: &str) -> Vec<&'a Received> {
    got.iter().filter(|got| got.head.starts_with(&format!("POST {path} "))).collect()
}

fn each_event_reaches_the_webhook_of_the_other_party_once(suite: &Suite) {
    let (target, source) = scene(suite);
    let client = target.client();
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    hook(&a.agent, &format!("{}/a", source.base), &ALL);
    hook(&b.agent, &format!("{}/b", source.base), &ALL);
    let paid = a.pay(b.did(), 5).expect(200);
    let listed = b.act("capability-list", b.listing("echo.lite", 10)).expect(200);
    let hired = a.act("hire-request", a.hire(&listed["capability"])).expect(200);
    let claimed = b.act("work-claim", b.claim(a.did(), Some(text(&hired, "escrow_id")))).expect(200);
    let dispute = json!({ "receipt_id": claimed["receipt_id"], "signer_did": a.did(), "action": "dispute",
        "dispute_reason": "secret words" });
    a.act("work-acceptance", dispute).expect(200);
    let got = heard(&target, &source, 4);
    let (to_a, to_b) = (at(&got, "/a"), at(&got, "/b"));
    assert_eq!((to_a.len(), to_b.len()), (1, 3));
    let event = |of: &[&Received], name: &str| {
        let found = of.iter().find(|got| got.json()["event"] == name).unwrap_or_else(|| panic!("no {name}"));
        assert!(!found.body.contains("secret words"));
        found.json()
    };
    let settled = event(&to_b, "transfer.settled");
    assert_eq!((&settled["transfer"]["id"], &settled["transfer"]["amount_micro"]), (&paid["transfer_id"], &json!(5)));
    let created = event(&to_b, "hire.created");
    assert_eq!((&created["hire"]["id"], &created["hire"]["state"]), (&hired["hire_id"], &json!("requested")));
    let done = event(&to_a, "hire.claimed");
    assert_eq!((&done["receipt"]["id"], &done["receipt"]["hire_id"]), (&claimed["receipt_id"], &hired["hire_id"]));
    let disputed = event(&to_b, "receipt.disputed");
    assert_eq!(
        (&disputed["receipt"]["id"], &disputed["receipt"]["state"]),
        (&claimed["receipt_id"], &json!("disputed"))
    );
    let ids: std::collections::BTreeSet<&str> = got.iter().map(|got| got.header("webhook-id")).collect();
    assert_eq!(ids.len(), 4);
}

fn what_nobody_asked_for_is_not_told(suite: &Suite) {
    let (target, source) = scene(suite);
    let client = target.client();
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    let made = hook(&b.agent, &format!("{}/b", source.base), &["transfer.settled"]);
    hook(&a.agent, &format!("{}/a", source.base), &["message"]);
    let listed = b.act("capability-list", b.listing("echo.lite", 10)).expect(200);
    a.act("hire-request", a.hire(&listed["capability"])).expect(200);
    b.pay(a.did(), 1).expect(200);
    a.pay(b.did(), 7).expect(200);
    let got = heard(&target, &source, 1);
    assert_eq!(got.iter().map(|got| got.json()["event"].clone()).collect::<Vec<_>>(), ["transfer.settled"]);
    // A deleted webhook gets nothing more, and the ledger knows that it is gone.
    b.agent.client.delete(&format!("/v1/agent/webhooks/{}", text(&made, "id"))).expect(200);
    a.pay(b.did(), 8).expect(200);
    target.reach_out();
    assert_eq!(source.heard().len(), 1);
}

fn each_transfer_of_a_batch_is_told_to_its_recipient(suite: &Suite) {
    let (target, source) = scene(suite);
    let client = target.client();
    let (a, b, c) = (Party::funded(&client), Party::new(&client), Party::new(&client));
    hook(&b.agent, &format!("{}/b", source.base), &["transfer.settled"]);
    let item = |to: &Party, micro: u64| json!({ "to_did": to.did(), "amount_micro": micro });
    let items = json!([item(&b, 5), item(&c, 6), item(&b, 7)]);
    let receipt = a.act("batch-transfer", json!({ "from_did": a.did(), "items": items })).expect(200);
    let mut told: Vec<Value> = heard(&target, &source, 2).iter().map(|got| got.json()["transfer"].clone()).collect();
    told.sort_by_key(|transfer| transfer["amount_micro"].as_u64());
    for (transfer, (index, micro)) in told.iter().zip([(0, 5), (2, 7)]) {
        assert_eq!((&transfer["amount_micro"], text(transfer, "to_did")), (&json!(micro), b.did()));
        assert_eq!(transfer["id"], receipt["transfers"][index]["transfer_id"]);
        let read = client.get(&format!("/v1/pay/transfer/{}", text(transfer, "id"))).expect(200);
        assert_eq!(read["transfer"]["settled_at"], transfer["settled_at"]);
    }
}

fn a_mailbox_gets_a_message_of_the_deployments_own_agent_under_the_same_id(suite: &Suite) {
    let (target, source) = scene(suite);
    let client = target.client();
    let provider = target.until(|| {
        let found = client.get("/v1/pay/capability/search?capability=svc.block_check").expect(200);
        found["capabilities"][0]["did"].as_str().map(str::to_owned)
    });
    let (a, bob) = (Party::funded(&client), Agent::server_side(&client));
    hook(&bob, &format!("{}/bob", source.base), &["transfer.settled"]);
    assert_eq!(mail(&bob, &["transfer.settled"]).expect(200)["events"], json!(["transfer.settled"]));
    assert_eq!(bob.client.get("/v1/agent/ledger-notices").expect(200)["known"], json!(ALL));
    a.pay(&bob.did, 9).expect(200);
    let message = target.until(|| bob.items("/v1/agent/receive?unread=false").first().cloned());
    assert_eq!((text(&message, "from"), text(&message, "message_type")), (provider.as_str(), "ledger.event"));
    let told: Value = serde_json::from_str(text(&message, "content")).unwrap();
    assert_eq!((&told["event"], &told["transfer"]["amount_micro"]), (&json!("transfer.settled"), &json!(9)));
    let got = heard(&target, &source, 1);
    assert_eq!((got[0].header("webhook-id"), got[0].json()), (text(&message, "id"), told));
    mail(&bob, &[]).expect(200);
    a.pay(&bob.did, 1).expect(200);
    heard(&target, &source, 2);
    assert_eq!(bob.items("/v1/agent/receive?unread=false").len(), 1);
}

fn notices_by_mail_need_known_events_and_an_agent_that_writes(suite: &Suite) {
    let agent = Agent::server_side(&suite.client());
    mail(&agent, &["message"]).expect_error(400, "BAD_REQUEST");
    mail(&agent, &["hire.created"]).expect_error(409, "CONFLICT");
    assert_eq!(agent.client.get("/v1/agent/ledger-notices").expect(200)["events"], json!([]));
    assert_eq!(suite.client().get("/v1/agent/ledger-notices").status, 401);
}
