//! `Idempotency-Key` (decision ledger-idempotency).

use heliograph_tests::client::Answer;
use heliograph_tests::ledger::{Party, nonce, path_of, refused};
use heliograph_tests::relay::text;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_repeat_under_its_key_gets_the_first_answer_and_settles_once,
    another_envelope_under_a_used_key_is_422_and_takes_nothing,
    a_key_counts_per_route_and_signer,
    a_final_refusal_is_given_again_and_a_bad_signature_is_not_remembered,
    what_may_pass_is_not_remembered,
    every_signed_route_takes_a_key,
    a_key_that_cannot_be_read_is_400,
];

fn send(party: &Party, schema: &str, body: &Value, key: &str) -> Answer {
    party.client.with("idempotency-key", key).post(path_of(schema), body)
}

fn a_repeat_under_its_key_gets_the_first_answer_and_settles_once(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let (body, key) = (a.body("credit-transfer", a.transfer(b.did(), 100)), nonce());
    let first = send(&a, "credit-transfer", &body, &key).expect(200);
    a.pay(b.did(), 50).expect(200);
    let again = send(&a, "credit-transfer", &body, &key).expect(200);
    assert_eq!(again, first, "with the balances of then");
    assert_eq!(again["sender_new_balance_micro"], 10_000_000 - 100);
    assert_eq!((a.money(), b.money()), ((10_000_000 - 150, 0), (150, 0)));
    // Without the key a repeat is `nonce_seen`.
    refused(&client.post("/v1/pay/transfer", &body), 409, "nonce_seen");
    refused(&send(&a, "credit-transfer", &body, &nonce()), 409, "nonce_seen");
}

fn another_envelope_under_a_used_key_is_422_and_takes_nothing(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let key = nonce();
    let pay = |micro: u64| a.body("credit-transfer", a.transfer(b.did(), micro));
    let first = pay(1);
    send(&a, "credit-transfer", &first, &key).expect(200);
    let other = pay(2);
    refused(&send(&a, "credit-transfer", &other, &key), 422, "idempotency_conflict");
    refused(&send(&a, "credit-transfer", &pay(3), &key), 422, "idempotency_conflict");
    assert_eq!(b.money(), (1, 0));
    // Nobody who saw the refused envelope can settle it.
    refused(&client.post("/v1/pay/transfer", &other), 409, "nonce_seen");
    send(&a, "credit-transfer", &first, &key).expect(200);
}

fn a_key_counts_per_route_and_signer(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    let key = nonce();
    send(&a, "credit-transfer", &a.body("credit-transfer", a.transfer(b.did(), 1)), &key).expect(200);
    send(&b, "credit-transfer", &b.body("credit-transfer", b.transfer(a.did(), 2)), &key).expect(200);
    let escrow = a.escrow(b.did(), 3, std::time::Duration::from_secs(3_600));
    send(&a, "escrow-open", &a.body("escrow-open", escrow), &key).expect(200);
    assert_eq!((a.money(), b.money()), ((10_000_000 - 1 + 2 - 3, 3), (10_000_000 + 1 - 2, 0)));
}

fn a_final_refusal_is_given_again_and_a_bad_signature_is_not_remembered(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let (body, key) = (a.body("credit-transfer", a.transfer(b.did(), 10_000_001)), nonce());
    let mut forged = body.clone();
    forged["envelope"]["amount_micro"] = json!(1);
    refused(&send(&a, "credit-transfer", &forged, &key), 400, "invalid_signature");
    let first = send(&a, "credit-transfer", &body, &key);
    refused(&first, 402, "insufficient_balance");
    let again = send(&a, "credit-transfer", &body, &key);
    assert_eq!((again.status, again.json()), (first.status, first.json()));
}

fn what_may_pass_is_not_remembered(suite: &Suite) {
    let target = suite.fresh(&[("pay_writes_per_minute", "60")]);
    let client = target.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let mut limited = None;
    for _ in 0..400 {
        let (body, key) = (a.body("credit-transfer", a.transfer(b.did(), 1)), nonce());
        if send(&a, "credit-transfer", &body, &key).status == 429 {
            limited = Some((body, key));
            break;
        }
    }
    let (body, key) = limited.expect("a write a second");
    let admin = heliograph_tests::ledger::Operator::new(&client, "freeze");
    admin.act("freeze_all", json!({ "frozen": true })).expect(200);
    refused(&send(&a, "credit-transfer", &body, &key), 503, "system_frozen");
    admin.act("freeze_all", json!({ "frozen": false })).expect(200);
    client.wait(std::time::Duration::from_secs(2));
    send(&a, "credit-transfer", &body, &key).expect(200);
}

fn every_signed_route_takes_a_key(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::new(&client), Party::funded(&client));
    let twice = |party: &Party, schema: &str, members: Value| {
        let (body, key) = (party.body(schema, members), nonce());
        let first = send(party, schema, &body, &key).expect(200);
        assert_eq!(send(party, schema, &body, &key).expect(200), first, "{schema}");
        first
    };
    twice(&a, "pay-faucet", json!({ "did": a.did() }));
    assert_eq!(a.money(), (10_000_000, 0));
    let listed = twice(&b, "capability-list", b.listing("echo.lite", 10));
    let hired = twice(&a, "hire-request", a.hire(&listed["capability"]));
    assert_eq!(a.money(), (10_000_000 - 10, 10));
    let claimed = twice(&b, "work-claim", b.claim(a.did(), Some(text(&hired, "escrow_id"))));
    let accept = json!({ "receipt_id": claimed["receipt_id"], "signer_did": a.did(), "action": "accept" });
    twice(&a, "work-acceptance", accept);
    for schema in ["escrow-release", "escrow-refund"] {
        let escrow = a.open(b.did(), 7);
        twice(&a, schema, json!({ "escrow_id": escrow, "signer_did": a.did() }));
    }
    let items = json!([{ "to_did": b.did(), "amount_micro": 3 }]);
    twice(&a, "batch-transfer", json!({ "from_did": a.did(), "items": items }));
    assert_eq!((a.money(), b.money()), ((10_000_000 - 20, 0), (10_000_020, 0)));
}

fn a_key_that_cannot_be_read_is_400(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let body = a.body("credit-transfer", a.transfer(b.did(), 1));
    for key in ["", &"k".repeat(129)] {
        let answer = send(&a, "credit-transfer", &body, key);
        assert_eq!((answer.status, &answer.json()["error"]), (400, &json!("BAD_REQUEST")), "{}", answer.text());
    }
    assert_eq!(a.money(), (10_000_000, 0));
    send(&a, "credit-transfer", &body, &"k".repeat(128)).expect(200);
}
