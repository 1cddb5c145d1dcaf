//! What operators sign (spec ledger 14; rulings ledger 7, 19 and 21).

use heliograph_tests::ledger::{Operator, Party, Signer, nonce, refused};
use heliograph_tests::relay::{base64, text};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    ruling_21_keys_come_from_the_operator_of_the_deployment_alone,
    a_grant_makes_the_wallet_and_is_done_once,
    every_way_to_be_refused,
    roles_do_what_they_are_for,
    ruling_19_no_more_money_than_can_be_counted,
];

fn ruling_21_keys_come_from_the_operator_of_the_deployment_alone(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let signer = Signer::new("svc", heliograph_core::crypto::Secret::new(heliograph_tests::relay::seed()));
    let body = json!({ "public_key": signer.public_key(), "role": "all" });
    for client in [client.clone(), client.with("x-admin-key", "wrong")] {
        assert_eq!(client.post("/v1/admin/ledger/keys", &body).status, 401);
    }
    let operator = Operator::new(&client, "all");
    let (a, unknown) =
        (Party::new(&client), Operator { signer, keyid: "0".repeat(16), ..Operator::new(&client, "all") });
    refused(&unknown.act("grant", json!({ "did": a.did(), "amount_micro": 1 })), 401, "admin_key_not_found");
    operator.act("grant", json!({ "did": a.did(), "amount_micro": 1 })).expect(200);
    let mut end = json!({ "public_key": operator.signer.public_key(), "role": "all", "active": false });
    client.admin().post("/v1/admin/ledger/keys", &end).expect(200);
    refused(&operator.act("grant", json!({ "did": a.did(), "amount_micro": 1 })), 401, "admin_key_not_found");
    let keys = client.admin().get("/v1/admin/ledger/keys").expect(200);
    let states: Vec<bool> =
        keys["keys"].as_array().unwrap().iter().map(|key| key["active"].as_bool().unwrap()).collect();
    assert_eq!((states.len(), states.iter().filter(|active| **active).count()), (2, 1));
    for wrong in [json!({ "role": "root" }), json!({ "public_key": base64(&[0; 32]) }), json!({ "public_key": "x" })] {
        end.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        client.admin().post("/v1/admin/ledger/keys", &end).expect_error(400, "BAD_REQUEST");
    }
}

fn a_grant_makes_the_wallet_and_is_done_once(suite: &Suite) {
    let client = suite.client();
    let operator = Operator::new(&client, "grant");
    let a = Party::new(&client);
    let body = operator.body(json!({ "action": "grant", "did": a.did(), "amount_micro": 77, "reason": null }));
    let answer = client.post("/v1/pay/admin/grant", &body).expect(200);
    assert_eq!((text(&answer, "schema"), &answer["new_balance_micro"]), ("svc-pay-admin-result/v1", &json!(77)));
    assert_eq!(text(&answer, "actor"), format!("admin:{}", operator.keyid));
    refused(&client.post("/v1/pay/admin/grant", &body), 409, "admin_nonce_seen");
    assert_eq!(a.money(), (77, 0));
}

fn every_way_to_be_refused(suite: &Suite) {
    let client = suite.client();
    let operator = Operator::new(&client, "all");
    let (a, now) = (Party::new(&client), client.now());
    let at = |seconds: i64| now.plus(seconds * 1_000_000).to_millis_text();
    let try_with = |changes: Value, status: u16, reason: &str| {
        let mut members = json!({ "action": "grant", "did": a.did(), "amount_micro": 1 });
        members.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        refused(&client.post("/v1/pay/admin/grant", &operator.body(members)), status, reason);
    };
    try_with(json!({ "issued_at": at(-300), "valid_until_ts": at(-1) }), 400, "admin_expired");
    try_with(json!({ "valid_until_ts": at(700) }), 400, "admin_window_too_long");
    try_with(json!({ "issued_at": at(-500), "valid_until_ts": at(101) }), 400, "admin_window_too_long");
    for wrong in [
        json!({ "action": "freeze" }),
        json!({ "audience": "another deployment" }),
        json!({ "amount_micro": 0 }),
        json!({ "amount_micro": 1.5 }),
        json!({ "did": "did:web:x" }),
        json!({ "owner": "x" }),
        json!({ "schema": "svc-pay-admin-action/v2" }),
        json!({ "action_nonce": "" }),
    ] {
        try_with(wrong, 400, "admin_invalid_body");
    }
    let mut forged = operator.body(json!({ "action": "grant", "did": a.did(), "amount_micro": 1 }));
    forged["body"]["amount_micro"] = json!(2);
    refused(&client.post("/v1/pay/admin/grant", &forged), 401, "admin_signature_invalid");
    let nobody = format!("did:svc:{}", nonce());
    refused(&operator.act("freeze", json!({ "did": nobody, "frozen": true })), 404, "wallet_not_found");
    refused(&operator.act("cap", json!({ "did": nobody })), 404, "wallet_not_found");
    // Whole milliseconds since 1970 are a time too.
    let millis = now.plus(60 * 1_000_000).0 / 1_000;
    let members = json!({ "action": "grant", "did": a.did(), "amount_micro": 1, "valid_until_ts": millis });
    client.post("/v1/pay/admin/grant", &operator.body(members)).expect(200);
}

fn roles_do_what_they_are_for(suite: &Suite) {
    let client = suite.client();
    let a = Party::funded(&client);
    let members = |action: &str| match action {
        "grant" => json!({ "did": a.did(), "amount_micro": 1 }),
        "freeze" => json!({ "did": a.did(), "frozen": false }),
        _ => json!({ "did": a.did(), "daily_cap_micro": 5 }),
    };
    for role in ["grant", "freeze", "cap", "all"] {
        let operator = Operator::new(&client, role);
        for action in ["grant", "freeze", "cap"] {
            let answer = operator.act(action, members(action));
            match role == action || role == "all" {
                true => drop(answer.expect(200)),
                false => refused(&answer, 403, "admin_role_not_authorized"),
            }
        }
    }
}

fn ruling_19_no_more_money_than_can_be_counted(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let operator = Operator::new(&client, "grant");
    let a = Party::new(&client);
    let grant = |micro: u64| operator.act("grant", json!({ "did": a.did(), "amount_micro": micro }));
    for _ in 0..9 {
        grant(1_000_000_000_000_000).expect(200);
    }
    refused(&grant(7_199_254_740_992), 400, "amount_out_of_range");
    grant(7_199_254_740_991).expect(200);
    refused(&grant(1), 400, "amount_out_of_range");
    assert_eq!(a.money(), (9_007_199_254_740_991, 0));
    let b = Party::new(&client);
    refused(&b.act("pay-faucet", json!({ "did": b.did() })), 400, "amount_out_of_range");
}
