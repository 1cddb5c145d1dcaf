//! Actions that operators sign (decisions freeze-stops-clocks, money-supply-bound and operator-keys).

use heliograph_tests::ledger::{Operator, Party, Signer, nonce, refused};
use heliograph_tests::relay::{base64, text};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    keys_come_from_the_operator_of_the_deployment_alone,
    a_grant_makes_the_wallet_and_is_done_once,
    every_way_to_be_refused,
    roles_do_what_they_are_for,
    no_more_money_than_can_be_counted,
    keys_of_the_settings_sign_without_being_added,
    without_an_audience_two_servers_both_settle_one_envelope,
    an_operator_brings_an_agent_back_with_its_wallet,
    a_suspended_agent_neither_pays_nor_offers_until_it_is_restored,
    metrics_say_whether_the_books_balance_and_what_was_refused,
    newer_clients_release_and_refund_with_their_own_members,
];

fn keys_come_from_the_operator_of_the_deployment_alone(suite: &Suite) {
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

fn keys_of_the_settings_sign_without_being_added(suite: &Suite) {
    let signer = Signer::new("svc", heliograph_core::crypto::Secret::new(heliograph_tests::relay::seed()));
    let keys = format!("{}:grant", signer.public_key());
    let target = suite.fresh(&[("ledger_admin_keys", &keys)]);
    let client = target.client();
    let health = target.until(|| {
        let health = client.get("/v1/pay/health").expect(200);
        (health["counts"]["active_admin_keys"] == 1).then_some(health)
    });
    let keyid = text(&json!({ "keyid": health["admin_key_fingerprints"][0] }), "keyid").to_owned();
    let deployment = text(&health, "deployment").to_owned();
    let operator = Operator { signer, keyid, deployment, client: client.clone() };
    let a = Party::new(&client);
    operator.act("grant", json!({ "did": a.did(), "amount_micro": 5 })).expect(200);
    let freeze = operator.act("freeze", json!({ "did": a.did(), "frozen": true }));
    refused(&freeze, 403, "admin_role_not_authorized");
}

fn without_an_audience_two_servers_both_settle_one_envelope(suite: &Suite) {
    let (one, other) = (suite.fresh(&[]), suite.fresh(&[]));
    let clients = [one.client(), other.client()];
    let sdk = heliograph_core::crypto::client::Client::new("svc", heliograph_tests::relay::seed(), Default::default());
    let signer = Signer::new("svc", sdk.keys.signing.clone());
    let (mut deployments, mut recipient) = (Vec::new(), None);
    for client in &clients {
        client.post("/v1/agent/register", &sdk.key_body(None, 1)).expect(201);
        let faucet = signer.signed("pay-faucet", client.now(), json!({ "did": signer.did, "nonce": nonce() }));
        client.post("/v1/pay/faucet", &faucet).expect(200);
        deployments.push(text(&client.get("/v1/pay/health").expect(200), "deployment").to_owned());
        let to = recipient.get_or_insert_with(|| format!("did:svc:{}", nonce())).clone();
        client.post("/v1/pay/wallet", &json!({ "did": to })).expect(200);
    }
    let to = recipient.unwrap();
    let pay = |audience: Option<&str>| {
        let members =
            json!({ "from_did": signer.did, "to_did": to, "amount_micro": 1, "nonce": nonce(), "aud": audience });
        signer.signed("credit-transfer", clients[0].now(), members)
    };
    let free = pay(None);
    for client in &clients {
        client.post("/v1/pay/transfer", &free).expect(200);
    }
    let bound = pay(Some(&deployments[0]));
    clients[0].post("/v1/pay/transfer", &bound).expect(200);
    // In memory every deployment draws the same id, because its randomness begins with one seed.
    if deployments[0] != deployments[1] {
        refused(&clients[1].post("/v1/pay/transfer", &bound), 400, "invalid_envelope");
    }
}

fn an_operator_brings_an_agent_back_with_its_wallet(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let early = a.body("credit-transfer", a.transfer(b.did(), 1));
    let ended = a.agent.client.delete("/v1/agent/deactivate").expect(200);
    assert_eq!(ended["balance_micro"], 10_000_000);
    refused(&a.pay(b.did(), 1), 404, "sender_pubkey_not_found");
    b.client.admin().post(&format!("/v1/admin/agents/{}/restore", a.did()), &json!({})).expect(200);
    client.until(|| (a.pay(b.did(), 1).status == 200).then_some(()));
    assert_eq!((a.money(), b.money()), ((9_999_999, 0), (1, 0)));
    client.post("/v1/pay/transfer", &early).expect(200);
}

/// Only keys of active agents count.
fn a_suspended_agent_neither_pays_nor_offers_until_it_is_restored(suite: &Suite) {
    let client = suite.client();
    let (a, b, poor) = (Party::funded(&client), Party::funded(&client), Party::new(&client));
    let listed =
        a.act("capability-list", a.listing(&format!("sus{}.test", heliograph_tests::relay::unique()), 5)).expect(200);
    let slug = text(&listed["capability"], "capability").to_owned();
    let order = |party: &Party, what: &str| {
        client.admin().post(&format!("/v1/admin/agents/{}/{what}", party.did()), &json!({})).expect(200)
    };
    [&a, &poor].into_iter().for_each(|party| drop(order(party, "suspend")));
    refused(&a.pay(b.did(), 1), 404, "sender_pubkey_not_found");
    refused(&b.act("hire-request", b.hire(&listed["capability"])), 409, "capability_inactive");
    refused(&b.pay(poor.did(), 1), 400, "recipient_invalid_did");
    let found = client.get(&format!("/v1/pay/capability/search?capability={slug}")).expect(200);
    assert_eq!(found["capabilities"], json!([]), "{found}");
    // Its money stays, and others may still pay into its wallet.
    b.pay(a.did(), 1).expect(200);
    [&a, &poor].into_iter().for_each(|party| drop(order(party, "restore")));
    client.until(|| (a.pay(b.did(), 2).status == 200).then_some(()));
    client.until(|| (b.pay(poor.did(), 1).status == 200).then_some(()));
    assert_eq!(a.money(), (9_999_999, 0));
}

fn metrics_say_whether_the_books_balance_and_what_was_refused(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    a.pay(b.did(), 10).expect(200);
    a.open(b.did(), 7);
    refused(&a.pay(b.did(), 20_000_000), 402, "insufficient_balance");
    let mut forged = a.body("credit-transfer", a.transfer(b.did(), 1));
    forged["envelope"]["amount_micro"] = json!(2);
    refused(&client.post("/v1/pay/transfer", &forged), 400, "invalid_signature");
    client.get("/v1/admin/ledger/metrics").expect_error(401, "UNAUTHORIZED");
    let admin = client.admin();
    let metrics = admin.get("/v1/admin/ledger/metrics").expect(200);
    assert_eq!((&metrics["supply_micro"], &metrics["locked_micro"]), (&json!(20_000_000), &json!(7)));
    assert_eq!((&metrics["balance_micro"], &metrics["wallets"]), (&json!(20_000_000 - 7), &json!(2)));
    assert_eq!((&metrics["imbalance_micro"], &metrics["locked_imbalance_micro"]), (&json!(0), &json!(0)));
    assert_eq!(metrics["refusals"], json!({ "insufficient_balance": 1 }));
    assert_eq!(metrics["oldest_unswept_seconds"], 0.0);
    if suite.kind != heliograph_tests::target::Kind::Edge {
        // On the edge each isolate counts for itself.
        assert_eq!(metrics["refusals_before_ledger"], json!({ "invalid_signature": 1 }));
    }
    let text = admin.get("/v1/admin/ledger/metrics?format=prometheus");
    assert!(text.header("content-type").unwrap().starts_with("text/plain"), "{:?}", text.headers);
    for line in [
        "heliograph_ledger_supply_micro 20000000",
        "heliograph_ledger_imbalance_micro 0",
        "heliograph_ledger_refusals_total{reason=\"insufficient_balance\"} 1",
    ] {
        assert!(text.text().lines().any(|found| found == line), "{line} in {}", text.text());
    }
    admin.get("/v1/admin/ledger/metrics?format=xml").expect_error(400, "BAD_REQUEST");
}

fn newer_clients_release_and_refund_with_their_own_members(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let send = |schema: &str, members: Value| {
        let body = a.signer.signed(schema, client.now(), members);
        client.post(heliograph_tests::ledger::path_of(schema), &body)
    };
    let newer = |escrow: &str| json!({ "escrow_id": escrow, "actor_did": a.did(), "nonce": nonce() });
    let (first, second) = (a.open(b.did(), 3), a.open(b.did(), 4));
    // Each set of members must be complete, and a mixture is refused.
    for change in [
        json!({ "signer_did": a.did() }),
        json!({ "action_nonce": nonce() }),
        json!({ "actor_did": null, "signer_did": a.did() }),
        json!({ "nonce": null, "action_nonce": nonce() }),
        json!({ "nonce": null }),
    ] {
        let mut members = newer(&first);
        members.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        refused(&send("escrow-release", members), 400, "invalid_envelope");
    }
    assert_eq!(send("escrow-release", newer(&first)).expect(200)["state"], "released");
    let mut refund = newer(&second);
    refund["reason"] = json!("not needed");
    assert_eq!(send("escrow-refund", refund).expect(200)["state"], "refunded");
    assert_eq!((a.money(), b.money()), ((10_000_000 - 3, 0), (3, 0)));
    // Their other differing envelopes are refused in one way, and their other paths do not exist.
    let listing = json!({ "did": a.did(), "capability": "echo.lite", "name": "Echo", "description": "", "price_micro": 5,
        "unit": "call", "sla_deadline_hours": 1, "active": true, "tags": ["a"], "nonce": nonce() });
    refused(&send("capability-list", listing), 400, "invalid_envelope");
    let hire = json!({ "did": a.did(), "capability_id": first, "input": "x", "nonce": nonce() });
    refused(&send("hire-request", hire), 400, "invalid_envelope");
    let mut explicit = a.transfer(b.did(), 1);
    explicit["memo"] = Value::Null;
    a.act("credit-transfer", explicit).expect(200);
    for path in ["/v1/pay/x402/quote", "/v1/pay/test/wallet/create", "/v1/pay/webhooks"] {
        assert_eq!(client.post(path, &json!({})).status, 404, "{path}");
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
    try_with(json!({ "issued_at": at(20), "valid_until_ts": at(10) }), 400, "admin_expired");
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
    refused(&operator.act("cap", json!({ "did": nobody, "daily_cap_micro": 1 })), 404, "wallet_not_found");
    // Whole milliseconds since 1970 are also accepted as a time.
    let millis = now.plus(60 * 1_000_000).0 / 1_000;
    for times in
        [json!({ "valid_until_ts": millis }), json!({ "valid_until_ts": millis, "issued_at": millis - 60_000 })]
    {
        let mut members = json!({ "action": "grant", "did": a.did(), "amount_micro": 1 });
        members.as_object_mut().unwrap().extend(times.as_object().unwrap().clone());
        client.post("/v1/pay/admin/grant", &operator.body(members)).expect(200);
    }
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

fn no_more_money_than_can_be_counted(suite: &Suite) {
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
