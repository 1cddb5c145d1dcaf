//! Escrows and receipts of the ledger. The core tests whatever needs hours to pass.

use std::time::Duration;

use heliograph_tests::client::Client;
use heliograph_tests::ledger::{Operator, Party, nonce, refused};
use heliograph_tests::relay::text;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    e10_e11_release_pays_a_first_time_provider_once,
    e12_refund_gives_back,
    newer_clients_close_escrows_with_their_own_members,
    e7_e8_e9_an_escrow_needs_a_registered_recipient_a_deadline_and_an_amount,
    e16_an_admin_ends_an_escrow_by_force,
    escrow_lists_have_both_sides_and_no_texts_for_strangers,
    a_claim_is_accepted_and_paid,
    r_claim_checks,
    r_acceptance_checks,
    one_action_nonce_serves_two_acceptances,
    r21_a_dispute_moves_no_money,
    a_receipt_without_escrow_moves_no_money,
    receipts_are_listed_by_escrow_and_did,
    sweeps_are_harmless,
];

const HOUR: Duration = Duration::from_secs(3_600);

fn pair(suite: &Suite) -> (Client, Party, Party) {
    let client = suite.client();
    (client.clone(), Party::funded(&client), Party::new(&client))
}

fn e10_e11_release_pays_a_first_time_provider_once(suite: &Suite) {
    let (client, a, b) = pair(suite);
    let mut members = a.escrow(b.did(), 300, HOUR);
    members["memo"] = json!("for later");
    let opened = a.act("escrow-open", members).expect(200);
    assert_eq!((text(&opened, "schema"), text(&opened, "state")), ("svc-pay-escrow-receipt/v1", "open"));
    assert_eq!(
        (&opened["sender_new_balance_micro"], &opened["sender_locked_credits"]),
        (&json!(9_999_700), &json!(300))
    );
    assert_eq!(opened["escrow"]["id"], opened["escrow_id"]);
    let id = text(&opened, "escrow_id");
    refused(&b.close("escrow-release", id), 403, "escrow_signer_not_authorized");
    let released = a.close("escrow-release", id).expect(200);
    assert_eq!((text(&released, "state"), text(&released, "actor")), ("released", a.did()));
    assert_eq!(
        (&released["recipient_new_balance_micro"], &released["sender_locked_credits"]),
        (&json!(300), &json!(0))
    );
    refused(&a.close("escrow-release", id), 409, "escrow_not_open");
    refused(&a.close("escrow-refund", id), 409, "escrow_not_open");
    let row = &client.get(&format!("/v1/pay/escrow/{id}")).expect(200)["escrow"];
    assert_eq!((text(row, "state"), text(row, "memo"), &row["refunded_at"]), ("released", "for later", &Value::Null));
    assert_eq!(row["released_at"], released["released_at"]);
    assert_eq!((a.money(), b.money()), ((9_999_700, 0), (300, 0)));
}

fn e12_refund_gives_back(suite: &Suite) {
    let (_, a, b) = pair(suite);
    let id = a.open(b.did(), 300);
    let members = json!({ "escrow_id": id, "signer_did": a.did(), "reason": "changed my mind" });
    let refunded = a.act("escrow-refund", members).expect(200);
    assert_eq!((text(&refunded, "state"), text(&refunded["escrow"], "reason")), ("refunded", "changed my mind"));
    assert_eq!((&refunded["sender_new_balance_micro"], a.money()), (&json!(10_000_000), (10_000_000, 0)));
    let unknown = json!({ "escrow_id": "00000000-0000-4000-8000-000000000000", "signer_did": a.did() });
    refused(&a.act("escrow-refund", unknown), 404, "escrow_not_found");
}

fn newer_clients_close_escrows_with_their_own_members(suite: &Suite) {
    let (client, a, b) = pair(suite);
    let id = a.open(b.did(), 300);
    let send = |members: Value| {
        let body = a.signer.signed("escrow-release", client.now(), members);
        client.post("/v1/pay/escrow/release", &body)
    };
    let both = json!({ "escrow_id": id, "actor_did": a.did(), "signer_did": a.did(), "nonce": nonce(), "action_nonce": nonce() });
    refused(&send(both), 400, "invalid_envelope");
    refused(&send(json!({ "escrow_id": id, "actor_did": a.did(), "action_nonce": nonce() })), 400, "invalid_envelope");
    send(json!({ "escrow_id": id, "actor_did": a.did(), "nonce": nonce() })).expect(200);
}

fn e7_e8_e9_an_escrow_needs_a_registered_recipient_a_deadline_and_an_amount(suite: &Suite) {
    let (client, a, b) = pair(suite);
    let try_open = |to: &str, micro: u64, hold: Duration, reason: &str| {
        refused(&a.act("escrow-open", a.escrow(to, micro, hold)), 400, reason);
    };
    try_open(b.did(), 0, HOUR, "amount_out_of_range");
    try_open(a.did(), 1, HOUR, "recipient_invalid_did");
    try_open(b.did(), 1, Duration::ZERO, "escrow_deadline_past");
    try_open(b.did(), 1, 8 * 24 * HOUR, "escrow_deadline_exceeds_max");
    // A wallet is not enough: the recipient must be able to claim.
    let wallet = format!("did:svc:{}", nonce());
    client.post("/v1/pay/wallet", &json!({ "did": wallet })).expect(200);
    try_open(&wallet, 1, HOUR, "recipient_invalid_did");
    refused(&a.act("escrow-open", a.escrow(b.did(), 90_000_000, HOUR)), 402, "insufficient_balance");
    refused(&b.act("escrow-open", b.escrow(a.did(), 1, HOUR)), 404, "sender_not_found");
    let body = a.body("escrow-open", a.escrow(b.did(), 5, HOUR));
    client.post("/v1/pay/escrow/open", &body).expect(200);
    refused(&client.post("/v1/pay/escrow/open", &body), 409, "nonce_seen");
    // Money that is set aside cannot be spent.
    refused(&a.pay(b.did(), 9_999_996), 402, "insufficient_balance");
}

fn e16_an_admin_ends_an_escrow_by_force(suite: &Suite) {
    let (client, a, b) = pair(suite);
    let operator = Operator::new(&client, "freeze");
    let (paid, back) = (a.open(b.did(), 100), a.open(b.did(), 200));
    let forced = operator.act("escrow_release", json!({ "escrow_id": paid })).expect(200);
    assert_eq!(text(&forced, "actor"), format!("admin:{}", operator.keyid));
    operator.act("escrow_refund", json!({ "escrow_id": back, "reason": "by hand" })).expect(200);
    refused(&operator.act("escrow_refund", json!({ "escrow_id": back })), 409, "escrow_not_open");
    assert_eq!((a.money(), b.money()), ((9_999_900, 0), (100, 0)));
    let row = &client.get(&format!("/v1/pay/escrow/{back}")).expect(200)["escrow"];
    assert_eq!(
        (text(row, "refund_actor"), text(row, "reason")),
        (format!("admin:{}", operator.keyid).as_str(), "by hand")
    );
}

fn escrow_lists_have_both_sides_and_no_texts_for_strangers(suite: &Suite) {
    let (client, a, b) = pair(suite);
    let ids: Vec<String> = (1..6)
        .map(|n| {
            let mut members = a.escrow(b.did(), n, HOUR);
            members["memo"] = json!("secret");
            text(&a.act("escrow-open", members).expect(200), "escrow_id").to_owned()
        })
        .collect();
    a.pay(b.did(), 1).expect(200);
    let list = |of: &Party, query: &str| {
        let page = client.get(&format!("/v1/pay/escrow/history/{}?{query}", of.did())).expect(200);
        let rows = page["escrows"].as_array().unwrap().clone();
        assert!(rows.iter().all(|row| row["memo"].is_null()));
        (rows.iter().map(|row| text(row, "id").to_owned()).collect::<Vec<_>>(), page["next_cursor"].clone())
    };
    let newest: Vec<String> = ids.iter().rev().cloned().collect();
    for (of, role) in [(&a, "from"), (&b, "to"), (&a, "any"), (&b, "any")] {
        assert_eq!(list(of, &format!("role={role}")).0, newest);
    }
    assert!(list(&a, "role=to").0.is_empty() && list(&b, "role=from").0.is_empty());
    let (first, cursor) = list(&a, "limit=3");
    let (rest, end) = list(&a, &format!("limit=3&before={}", cursor.as_str().unwrap()));
    assert_eq!(([first, rest].concat(), end), (newest, Value::Null));
}

fn a_claim_is_accepted_and_paid(suite: &Suite) {
    let (client, a, b) = pair(suite);
    let id = a.open(b.did(), 300);
    let claimed = b.act("work-claim", b.claim(a.did(), Some(&id))).expect(200);
    assert_eq!((text(&claimed, "schema"), text(&claimed, "state")), ("svc-pay-receipt-claim/v1", "pending_acceptance"));
    assert_eq!((&claimed["escrow_id"], &claimed["auto_accept_on_timeout"]), (&json!(id), &json!(true)));
    let receipt = text(&claimed, "receipt_id");
    refused(&a.close("escrow-refund", &id), 409, "claim_pending");
    let accept =
        json!({ "receipt_id": receipt, "signer_did": a.did(), "action": "accept", "rating": 4, "feedback": "good" });
    let accepted = a.act("work-acceptance", accept.clone()).expect(200);
    assert_eq!((text(&accepted, "state"), &accepted["escrow_released"]), ("accepted", &json!(true)));
    refused(&a.act("work-acceptance", accept), 409, "receipt_not_pending");
    let row = &client.get(&format!("/v1/pay/receipt/{receipt}")).expect(200)["receipt"];
    assert_eq!((&row["rating"], text(row, "feedback"), text(row, "summary")), (&json!(4), "good", "done"));
    assert_eq!((&row["amount_micro"], &row["escrow_released"], text(row, "actor")), (&json!(300), &json!(1), a.did()));
    let escrow = &client.get(&format!("/v1/pay/escrow/{id}")).expect(200)["escrow"];
    assert_eq!(text(escrow, "refund_actor"), format!("receipt:{receipt}"));
    assert_eq!((a.money(), b.money()), ((9_999_700, 0), (300, 0)));
}

fn r_claim_checks(suite: &Suite) {
    let (client, a, b) = pair(suite);
    let c = Party::new(&client);
    let id = a.open(b.did(), 300);
    let good = b.claim(a.did(), Some(&id));
    let try_with = |by: &Party, changes: Value, status: u16, reason: &str| {
        let mut members = good.clone();
        members["to_did"] = json!(by.did());
        members.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        refused(&by.act("work-claim", members), status, reason);
    };
    let at = |seconds: i64| client.now().plus(seconds * 1_000_000).to_millis_text();
    try_with(&b, json!({ "from_did": "did:svc:nobody" }), 404, "requester_pubkey_not_found");
    try_with(&b, json!({ "acceptance_deadline_at": at(299) }), 400, "acceptance_window_too_short");
    try_with(&b, json!({ "acceptance_deadline_at": at(8 * 86_400) }), 400, "acceptance_window_too_long");
    let past = json!({ "issued_at": at(-1_800), "expires_at": at(600), "acceptance_deadline_at": at(-5) });
    try_with(&b, past, 400, "acceptance_deadline_past");
    try_with(&b, json!({ "work_hash": "xyz" }), 400, "invalid_work_hash");
    try_with(&b, json!({ "escrow_id": "undefined" }), 404, "escrow_not_found");
    try_with(&c, json!({}), 400, "escrow_did_mismatch");
    try_with(&b, json!({ "from_did": c.did() }), 400, "escrow_did_mismatch");
    try_with(&b, json!({ "acceptance_deadline_at": at(2 * 86_400) }), 400, "acceptance_deadline_exceeds_escrow");
    try_with(&b, json!({ "summary": "x".repeat(281) }), 400, "invalid_envelope");
    let ghost = heliograph_tests::ledger::Signer::new(
        "svc",
        heliograph_core::crypto::Secret::new(heliograph_tests::relay::seed()),
    );
    let mut members = good.clone();
    members["to_did"] = json!(ghost.did);
    members["nonce"] = json!(nonce());
    let body = ghost.signed("work-claim", client.now(), members);
    refused(&client.post("/v1/pay/receipt/claim", &body), 404, "provider_pubkey_not_found");
    let mut upper = good.clone();
    upper["work_hash"] = json!("0A".repeat(32));
    let body = b.body("work-claim", upper);
    let claimed = client.post("/v1/pay/receipt/claim", &body).expect(200);
    assert_eq!(claimed["receipt"]["work_hash"], "0a".repeat(32));
    // A repeat is refused as such; decision one-claim-at-a-time: another claim is refused because the escrow has one.
    refused(&client.post("/v1/pay/receipt/claim", &body), 409, "nonce_seen");
    refused(&client.post("/v1/pay/receipt/claim", &b.body("work-claim", good)), 409, "escrow_not_open");
    let alone = b.body("work-claim", b.claim(a.did(), None));
    client.post("/v1/pay/receipt/claim", &alone).expect(200);
    refused(&client.post("/v1/pay/receipt/claim", &alone), 409, "nonce_seen");
}

fn r_acceptance_checks(suite: &Suite) {
    let (client, a, b) = pair(suite);
    let id = a.open(b.did(), 300);
    let receipt = b.act("work-claim", b.claim(a.did(), Some(&id))).expect(200)["receipt_id"].clone();
    let accept = |by: &Party, changes: Value| {
        let mut members = json!({ "receipt_id": receipt, "signer_did": by.did(), "action": "accept" });
        members.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        by.act("work-acceptance", members)
    };
    refused(&accept(&a, json!({ "receipt_id": "undefined" })), 404, "receipt_not_found");
    refused(&accept(&b, json!({})), 403, "receipt_signer_not_authorized");
    for wrong in
        [json!({ "rating": 0 }), json!({ "rating": 6 }), json!({ "action": "reject" }), json!({ "rating": "5" })]
    {
        refused(&accept(&a, wrong), 400, "invalid_envelope");
    }
    refused(&accept(&a, json!({ "action": "dispute" })), 400, "dispute_reason_required");
    refused(&accept(&a, json!({ "action": "dispute", "dispute_reason": " " })), 400, "dispute_reason_required");
    let mut forged =
        a.body("work-acceptance", json!({ "receipt_id": receipt, "signer_did": a.did(), "action": "accept" }));
    forged["envelope"]["rating"] = json!(5);
    refused(&client.post("/v1/pay/receipt/accept", &forged), 400, "invalid_signature");
    accept(&a, json!({})).expect(200);
    // The receipt is checked before the signature.
    refused(&client.post("/v1/pay/receipt/accept", &forged), 409, "receipt_not_pending");
}

fn one_action_nonce_serves_two_acceptances(suite: &Suite) {
    let (_, a, b) = pair(suite);
    for _ in 0..2 {
        let id = a.open(b.did(), 10);
        let receipt = b.act("work-claim", b.claim(a.did(), Some(&id))).expect(200)["receipt_id"].clone();
        let members =
            json!({ "receipt_id": receipt, "signer_did": a.did(), "action": "accept", "action_nonce": "py-a-1" });
        a.act("work-acceptance", members).expect(200);
    }
    assert_eq!(b.money(), (20, 0));
}

fn r21_a_dispute_moves_no_money(suite: &Suite) {
    let (client, a, b) = pair(suite);
    let id = a.open(b.did(), 300);
    let receipt = b.act("work-claim", b.claim(a.did(), Some(&id))).expect(200)["receipt_id"].clone();
    let dispute =
        json!({ "receipt_id": receipt, "signer_did": a.did(), "action": "dispute", "dispute_reason": "wrong" });
    let disputed = a.act("work-acceptance", dispute).expect(200);
    assert_eq!((text(&disputed, "state"), &disputed["escrow_released"]), ("disputed", &json!(false)));
    assert_eq!(a.money(), (9_999_700, 300));
    let escrow = &client.get(&format!("/v1/pay/escrow/{id}")).expect(200)["escrow"];
    assert_eq!(text(escrow, "state"), "open");
    // Decision one-claim-at-a-time.
    refused(&b.act("work-claim", b.claim(a.did(), Some(&id))), 409, "escrow_not_open");
    a.close("escrow-refund", &id).expect(200);
    assert_eq!(a.money(), (10_000_000, 0));
}

fn a_receipt_without_escrow_moves_no_money(suite: &Suite) {
    let (_, a, b) = pair(suite);
    let receipt = b.act("work-claim", b.claim(a.did(), None)).expect(200)["receipt_id"].clone();
    let members = json!({ "receipt_id": receipt, "signer_did": a.did(), "action": "accept" });
    let accepted = a.act("work-acceptance", members).expect(200);
    assert_eq!((&accepted["escrow_released"], accepted.get("escrow_release_error")), (&json!(false), None));
    assert_eq!(a.money(), (10_000_000, 0));
}

fn receipts_are_listed_by_escrow_and_did(suite: &Suite) {
    let (client, a, b) = pair(suite);
    let id = a.open(b.did(), 10);
    let linked = b.act("work-claim", b.claim(a.did(), Some(&id))).expect(200)["receipt_id"].clone();
    let alone = b.act("work-claim", b.claim(a.did(), None)).expect(200)["receipt_id"].clone();
    let list = |path: String| {
        let page = client.get(&format!("/v1/pay/receipt/{path}")).expect(200);
        assert_eq!(text(&page, "schema"), "svc-pay-receipt-list/v1");
        let rows = page["receipts"].as_array().unwrap().clone();
        assert!(rows.iter().all(|row| row["summary"].is_null()));
        rows.iter().map(|row| row["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(list(format!("escrow/{id}")), std::slice::from_ref(&linked));
    let both = [alone, linked];
    for query in ["", "?role=any", "?role=from"] {
        assert_eq!(list(format!("did/{}{query}", a.did())), both);
    }
    assert_eq!(list(format!("did/{}?role=to", b.did())), both);
    assert!(list(format!("did/{}?role=to", a.did())).is_empty());
}

fn sweeps_are_harmless(suite: &Suite) {
    let (client, a, b) = pair(suite);
    let id = a.open(b.did(), 10);
    for path in ["escrow", "receipt"] {
        let swept = client.post(&format!("/v1/pay/{path}/sweep"), &json!({})).expect(200);
        assert_eq!((text(&swept, "schema"), &swept["ok"]), (format!("svc-pay-{path}-sweep/v1").as_str(), &json!(true)));
    }
    assert_eq!(text(&client.get(&format!("/v1/pay/escrow/{id}")).expect(200)["escrow"], "state"), "open");
}
