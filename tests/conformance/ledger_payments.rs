//! Envelopes, wallets, transfers, history, faucet, manifest and health of the ledger.

use std::collections::BTreeSet;

use heliograph_tests::client::{Answer, Client};
use heliograph_tests::ledger::{Operator, Party, nonce, path_of, refused};
use heliograph_tests::relay::{base64, encode, text};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_transfer_moves_exactly_its_amount_and_is_readable_afterwards,
    every_spelling_of_a_wallet_has_the_same_value,
    t1_a_signature_holds_for_every_member_and_no_hint_says_which_failed,
    strange_json_is_an_invalid_envelope,
    only_canonical_base64_is_a_signature,
    paying_the_void_is_refused_and_makes_no_wallet,
    t13_a_frozen_wallet_receives_and_does_not_send,
    t5_t6_t7_caps_and_allowlist,
    t11_a_refused_transfer_is_a_row_that_says_why,
    memos_are_in_lists_only_for_a_party,
    an_envelope_for_another_deployment_is_refused,
    requests_without_a_good_signature_spend_nobodys_budget,
    f6_the_faucet_gives_once,
    paths_take_raw_and_encoded_dids_and_never_fail,
    every_unknown_id_is_404,
    manifest_lists_the_routes_in_their_order,
    health_says_frozen_and_has_counts,
    errors_of_the_machinery_have_a_reason_too,
];

fn wallet(client: &Client, did: &str) -> Answer {
    client.get(&format!("/v1/pay/wallet/{did}"))
}

fn a_transfer_moves_exactly_its_amount_and_is_readable_afterwards(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let mut members = a.transfer(b.did(), 2_500_000);
    members["memo"] = json!("café \"q\" \\ \u{2028}\t\u{1}\u{7f}😀");
    members["owner"] = Value::Null;
    let receipt = a.act("credit-transfer", members).expect(200);
    assert_eq!((text(&receipt, "schema"), text(&receipt, "status")), ("svc-pay-receipt/v1", "settled"));
    assert_eq!(receipt["sender_new_balance_micro"], 7_500_000);
    assert_eq!(receipt["recipient_new_balance_micro"], 2_500_000);
    assert_eq!((a.money(), b.money()), ((7_500_000, 0), (2_500_000, 0)));
    let read = client.get(&format!("/v1/pay/transfer/{}", text(&receipt, "transfer_id"))).expect(200);
    assert_eq!(read["transfer"], receipt["transfer"]);
    assert_eq!(read["transfer"]["memo"], "café \"q\" \\ \u{2028}\t\u{1}\u{7f}😀");
    for name in ["transfer_id", "envelope_hash", "settled_at", "sender_new_balance_micro", "status"] {
        assert_eq!(read[name], receipt[name], "{name}");
    }
    assert_eq!(read["transfer"]["id"], receipt["transfer_id"]);
    for party in [&a, &b] {
        let history = client.get(&format!("/v1/pay/history/{}", party.did())).expect(200);
        assert_eq!(history["transfers"][0]["id"], receipt["transfer_id"]);
        assert_eq!((&history["next_cursor"], text(&history, "schema")), (&Value::Null, "svc-pay-history/v1"));
    }
}

fn every_spelling_of_a_wallet_has_the_same_value(suite: &Suite) {
    let client = suite.client();
    let a = Party::funded(&client);
    a.open(Party::new(&client).did(), 1_000);
    let answer = wallet(&client, a.did()).expect(200);
    for (name, value) in
        [("balance", 9_999_000), ("locked", 1_000), ("daily_cap", 1_000_000_000), ("per_tx_cap", 100_000_000)]
    {
        for found in [
            &answer["wallet"][format!("{name}_credits")],
            &answer["wallet"][format!("{name}_micro")],
            &answer[format!("{name}_micro")],
        ] {
            assert_eq!(*found, value, "{name}");
        }
    }
    assert_eq!((&answer["wallet"]["frozen"], &answer["frozen"]), (&json!(0), &json!(false)));
    let made = client.post("/v1/pay/wallet", &json!({ "did": a.did() })).expect(200);
    assert_eq!((&made["created"], &made["wallet"]), (&json!(false), &answer["wallet"]));
    refused(&client.post("/v1/pay/wallet", &json!({ "did": "did:web:x" })), 400, "invalid_did");
    refused(&wallet(&client, Party::new(&client).did()), 404, "wallet_not_found");
}

fn t1_a_signature_holds_for_every_member_and_no_hint_says_which_failed(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let body = a.body("credit-transfer", a.transfer(b.did(), 5));
    let mut answers = BTreeSet::new();
    let mut try_with = |name: &str, value: Value| {
        let mut changed = body.clone();
        changed["envelope"][name] = value;
        let answer = client.post(path_of("credit-transfer"), &changed);
        refused(&answer, 400, "invalid_signature");
        answers.insert(text(&answer.json(), "message").to_owned());
    };
    try_with("amount_micro", json!(6));
    try_with("to_did", json!(a.did()));
    try_with("nonce", json!("another-nonce-0001"));
    try_with("memo", json!("new"));
    try_with("issued_at", json!("2025-12-31T23:59:59.999Z"));
    try_with("expires_at", json!("2099-01-01T00:00:00.000Z"));
    for signature in ["", "AAAA", &"A".repeat(88), &base64(&[0; 64])] {
        let mut changed = body.clone();
        changed["signature"] = json!(signature);
        let answer = client.post(path_of("credit-transfer"), &changed);
        refused(&answer, 400, "invalid_signature");
        answers.insert(text(&answer.json(), "message").to_owned());
    }
    assert_eq!(answers.len(), 1);
    // None of these refusals used up the nonce.
    client.post(path_of("credit-transfer"), &body).expect(200);
}

fn strange_json_is_an_invalid_envelope(suite: &Suite) {
    let client = suite.client();
    let a = Party::funded(&client);
    let body = a.body("credit-transfer", a.transfer(Party::new(&client).did(), 5)).to_string();
    let send = |body: &str| client.send("POST", "/v1/pay/transfer", Some("application/json"), body.as_bytes());
    let with = |from: &str, to: &str| {
        assert!(body.contains(from));
        body.replacen(from, to, 1)
    };
    for strange in [
        with("\"amount_micro\":5", "\"amount_micro\":5.5"),
        with("\"amount_micro\":5", "\"amount_micro\":\"5\""),
        with("\"amount_micro\":5", "\"amount_micro\":5,\"amount_micro\":5"),
        with("\"amount_micro\":5", "\"amount_micro\":9007199254740993"),
        with("\"amount_micro\":5", "\"amount_micro\":5,\"owner\":\"x\""),
        with("\"amount_micro\":5", "\"amount_micro\":5,\"memo\":\"\\ud800\""),
        with("\"amount_micro\":5", "\"amount_micro\":5,\"memo\":[[[[[[[[[[[[[]]]]]]]]]]]]]"),
        with("svc-credit-transfer/v1", "svc-escrow-open/v1"),
        with("svc-credit-transfer/v1", "acme-credit-transfer/v1"),
        with("\"signature\"", "\"envelope\":{},\"signature\""),
        "{}".to_owned(),
        "[]".to_owned(),
        String::new(),
        "{\"envelope\":{},\"signature\":1}".to_owned(),
        format!("{{\"envelope\":[],\"signature\":\"{}\"}}", "A".repeat(88)),
    ] {
        refused(&send(&strange), 400, "invalid_envelope");
    }
    // A whole number is accepted in any notation, and members beside the two are ignored.
    send(&with("\"amount_micro\":5", "\"amount_micro\":50e-1").replacen('{', "{\"x\":1.5,", 1)).expect(200);
}

fn only_canonical_base64_is_a_signature(suite: &Suite) {
    let client = suite.client();
    let a = Party::funded(&client);
    let body = a.body("credit-transfer", a.transfer(Party::new(&client).did(), 5));
    let good = text(&body, "signature").to_owned();
    let stray = {
        // The last character before the padding has four bits without meaning.
        let mut bytes = good.clone().into_bytes();
        let last = bytes.len() - 3;
        bytes[last] += 1;
        String::from_utf8(bytes).unwrap()
    };
    let plain = good.trim_end_matches('=').to_owned();
    for text in
        [plain, good.replace('=', ""), stray, format!("{good}\n"), format!(" {good}"), good.replace('+', "-") + "="]
    {
        let mut changed = body.clone();
        changed["signature"] = json!(text);
        refused(&client.post("/v1/pay/transfer", &changed), 400, "invalid_signature");
    }
    client.post("/v1/pay/transfer", &body).expect(200);
}

fn paying_the_void_is_refused_and_makes_no_wallet(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let void = format!("did:svc:void{}", nonce());
    refused(&a.pay(&void, 1), 400, "recipient_invalid_did");
    refused(&a.pay(b.did(), 100_000_000), 402, "insufficient_balance");
    for did in [void.as_str(), b.did()] {
        refused(&wallet(&client, did), 404, "wallet_not_found");
    }
    client.post("/v1/pay/wallet", &json!({ "did": void })).expect(200);
    a.pay(&void, 1).expect(200);
    a.pay(b.did(), 1).expect(200);
}

fn t13_a_frozen_wallet_receives_and_does_not_send(suite: &Suite) {
    let client = suite.client();
    let operator = Operator::new(&client, "freeze");
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    let frozen = operator.act("freeze", json!({ "did": a.did(), "frozen": true, "reason": "lost key" })).expect(200);
    assert_eq!((text(&frozen, "schema"), &frozen["wallet"]["frozen"]), ("svc-pay-admin-result/v1", &json!(1)));
    refused(&a.pay(b.did(), 1), 403, "sender_frozen");
    b.pay(a.did(), 1).expect(200);
    operator.act("freeze", json!({ "did": a.did(), "frozen": false })).expect(200);
    a.pay(b.did(), 1).expect(200);
    let c = Party::new(&client);
    client.post("/v1/pay/wallet", &json!({ "did": c.did() })).expect(200);
    operator.act("freeze", json!({ "did": c.did(), "frozen": true })).expect(200);
    refused(&c.act("pay-faucet", json!({ "did": c.did() })), 403, "sender_frozen");
    operator.act("freeze", json!({ "did": c.did(), "frozen": false })).expect(200);
    c.act("pay-faucet", json!({ "did": c.did() })).expect(200);
}

fn t5_t6_t7_caps_and_allowlist(suite: &Suite) {
    let client = suite.client();
    let operator = Operator::new(&client, "cap");
    let (a, b, c) = (Party::funded(&client), Party::funded(&client), Party::new(&client));
    let cap = |members: Value| operator.act("cap", members).expect(200);
    cap(json!({ "did": a.did(), "daily_cap_micro": 100, "per_tx_cap_micro": 60, "allowlist": [b.did()] }));
    refused(&a.pay(b.did(), 61), 400, "per_tx_cap_exceeded");
    refused(&a.pay(c.did(), 1), 403, "recipient_not_allowed");
    a.pay(b.did(), 60).expect(200);
    refused(&a.pay(b.did(), 41), 429, "daily_cap_exceeded");
    a.pay(b.did(), 40).expect(200);
    // A transfer is checked against the daily cap first, an escrow against the cap of one payment.
    refused(&a.pay(b.did(), 61), 429, "daily_cap_exceeded");
    let hour = std::time::Duration::from_secs(3_600);
    refused(&a.act("escrow-open", a.escrow(b.did(), 61, hour)), 400, "per_tx_cap_exceeded");
    refused(&a.act("escrow-open", a.escrow(b.did(), 1, hour)), 429, "daily_cap_exceeded");
    cap(json!({ "did": a.did(), "daily_cap_micro": 1_000, "allowlist": "none" }));
    a.pay(c.did(), 60).expect(200);
}

fn t11_a_refused_transfer_is_a_row_that_says_why(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let answer = a.pay(b.did(), 50_000_000);
    refused(&answer, 402, "insufficient_balance");
    let body = answer.json();
    assert_eq!((text(&body, "schema"), text(&body, "status")), ("svc-pay-receipt/v1", "failed"));
    let id = text(&body, "transfer_id");
    let row = &client.get(&format!("/v1/pay/transfer/{id}")).expect(200)["transfer"];
    assert_eq!((text(row, "status"), text(row, "reason")), ("failed", "insufficient_balance"));
    assert_eq!(row["settled_at"], Value::Null);
    let ids = |party: &Party| {
        let history = client.get(&format!("/v1/pay/history/{}", party.did())).expect(200);
        history["transfers"].as_array().unwrap().iter().map(|row| text(row, "id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((ids(&a), ids(&b).len()), (vec![id.to_owned()], 0));
}

fn memos_are_in_lists_only_for_a_party(suite: &Suite) {
    let client = suite.client();
    let (a, b, c) = (Party::funded(&client), Party::new(&client), Party::new(&client));
    let mut members = a.transfer(b.did(), 1);
    members["memo"] = json!("about us");
    a.act("credit-transfer", members).expect(200);
    let proof = |party: &Party, did: &str, seconds: i64| {
        let now = client.now();
        let members =
            json!({ "did": did, "nonce": nonce(), "expires_at": now.plus(seconds * 1_000_000).to_millis_text() });
        base64(party.signer.signed("pay-history-read", now, members).to_string().as_bytes())
    };
    let memo = |of: &Party, proof: Option<String>| {
        let client = proof.map_or_else(|| client.clone(), |proof| client.with("x-svc-proof", &proof));
        client.get(&format!("/v1/pay/history/{}", of.did())).expect(200)["transfers"][0]["memo"].clone()
    };
    assert_eq!(memo(&a, None), Value::Null);
    for party in [&a, &b] {
        assert_eq!(memo(party, Some(proof(party, party.did(), 60))), "about us");
    }
    for wrong in
        [proof(&c, c.did(), 60), proof(&c, a.did(), 60), proof(&a, a.did(), 61), proof(&a, a.did(), -1), "x".into()]
    {
        assert_eq!(memo(&a, Some(wrong)), Value::Null);
    }
}

fn an_envelope_for_another_deployment_is_refused(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let here = client.get("/v1/pay/health").expect(200)["deployment"].clone();
    let mut members = a.transfer(b.did(), 1);
    members["aud"] = json!("elsewhere");
    refused(&a.act("credit-transfer", members.clone()), 400, "invalid_envelope");
    members["aud"] = here;
    a.act("credit-transfer", members).expect(200);
}

fn requests_without_a_good_signature_spend_nobodys_budget(suite: &Suite) {
    let target = suite.fresh(&[("pay_writes_per_minute", "5")]);
    let client = target.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let mut forged = a.body("credit-transfer", a.transfer(b.did(), 1));
    forged["signature"] = json!(base64(&[7; 64]));
    for _ in 0..10 {
        refused(&client.post("/v1/pay/transfer", &forged), 400, "invalid_signature");
    }
    // The request to the faucet used one.
    for _ in 0..4 {
        a.pay(b.did(), 1).expect(200);
    }
    let body = a.body("credit-transfer", a.transfer(b.did(), 1));
    let over = client.post("/v1/pay/transfer", &body);
    refused(&over, 429, "rate_limited");
    // The headers show the signer's budget.
    assert_eq!((over.header("x-ratelimit-limit"), over.header("x-ratelimit-remaining")), (Some("5"), Some("0")));
    assert!(over.header("x-ratelimit-reset").is_some());
    assert!(over.header("retry-after").unwrap().parse::<u32>().unwrap() <= 60);
    assert_eq!(
        client.get(&format!("/v1/pay/history/{}", a.did())).expect(200)["transfers"].as_array().unwrap().len(),
        4
    );
}

fn f6_the_faucet_gives_once(suite: &Suite) {
    let client = suite.client();
    let a = Party::new(&client);
    let answer = a.act("pay-faucet", json!({ "did": a.did() })).expect(200);
    assert_eq!((&answer["amount_micro"], &answer["new_balance_micro"]), (&json!(10_000_000), &json!(10_000_000)));
    refused(&a.act("pay-faucet", json!({ "did": a.did() })), 409, "already_claimed");
    let b = Party::new(&client);
    assert_eq!(a.money(), (10_000_000, 0));
    let mut amount = json!({ "did": b.did() });
    amount["amount_micro"] = json!(1);
    refused(&b.act("pay-faucet", amount), 400, "invalid_envelope");
}

fn paths_take_raw_and_encoded_dids_and_never_fail(suite: &Suite) {
    let client = suite.client();
    let a = Party::funded(&client);
    a.pay(Party::new(&client).did(), 1).expect(200);
    for path in
        ["wallet", "history", "escrow/history", "receipt/did", "capability/did", "hire/incoming", "hire/outgoing"]
    {
        let get = |did: &str| client.get(&format!("/v1/pay/{path}/{did}"));
        assert_eq!(get(a.did()).expect(200), get(&encode(a.did())).expect(200), "{path}");
        for strange in ["undefined", "did:svc:", "did:web:x", "%00", "%F0%9F%98%80", &"x".repeat(2_000)] {
            assert!(get(strange).status < 500, "{path} {strange}");
        }
        if path != "wallet" {
            get("undefined").expect(200);
        }
    }
}

fn every_unknown_id_is_404(suite: &Suite) {
    let client = suite.client();
    let strange = ["undefined", "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-00000000000G", "x"];
    for (path, reason) in [
        ("transfer", "transfer_not_found"),
        ("escrow", "escrow_not_found"),
        ("receipt", "receipt_not_found"),
        ("receipt/escrow", "escrow_not_found"),
        ("capability", "capability_not_found"),
        ("hire", "hire_not_found"),
    ] {
        for id in strange {
            refused(&client.get(&format!("/v1/pay/{path}/{id}")), 404, reason);
        }
    }
}

fn manifest_lists_the_routes_in_their_order(suite: &Suite) {
    let client = suite.client();
    let answer = client.get("/v1/pay/manifest.json");
    let manifest = answer.expect(200);
    assert!(answer.header("cache-control").unwrap().contains("max-age"));
    assert_eq!(text(&manifest, "schema"), "svc-pay-manifest/v1");
    assert_eq!(text(&manifest, "envelope_schema"), "svc-credit-transfer/v1");
    assert_eq!(manifest["defaults"]["max_amount_micro"], 1_000_000_000_000_000_u64);
    let endpoints = manifest["endpoints"].as_array().unwrap();
    let listed: Vec<_> = endpoints.iter().map(|endpoint| (text(endpoint, "method"), text(endpoint, "path"))).collect();
    assert_eq!(
        listed[..3],
        [("POST", "/v1/pay/wallet"), ("GET", "/v1/pay/wallet/{did}"), ("POST", "/v1/pay/transfer")]
    );
    // The core routes come first, then the project's own. The page of clients for private sessions is no endpoint of
    // the ledger.
    let listed_ones = |path: &str| path.starts_with("/v1/pay/") && path != "/v1/pay/private-session/config";
    let ours = || heliograph_core::app::PROGRAM.routes().filter(|route| listed_ones(route.path));
    let all = ours().count();
    assert_eq!((listed.len(), listed.iter().collect::<BTreeSet<_>>().len()), (all, all));
    let core = |path: &str| ours().any(|route| route.path == path && !route.extension);
    assert_eq!(listed.iter().position(|(_, path)| !core(path)), Some(34));
    assert!(listed.iter().skip(34).all(|(_, path)| !core(path)));
    for (method, path) in listed.into_iter().filter(|(method, _)| *method == "GET") {
        let path = path.replace(['{', '}'], "");
        assert!(client.send(method, &path, None, b"").status < 500, "{path}");
    }
    assert_eq!(manifest["mcp_tools"].as_array().unwrap().len(), 20);
}

fn health_says_frozen_and_has_counts(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    refused(
        &client.post("/v1/pay/admin/grant", &json!({ "keyid": "x", "signature_base64": "", "body": {} })),
        400,
        "admin_invalid_body",
    );
    let empty = client.get("/v1/pay/health").expect(200);
    assert_eq!(empty["counts"], json!({ "wallets": 0, "transfers_settled_24h": 0, "active_admin_keys": 0 }));
    let operator = Operator::new(&client, "freeze");
    let (a, b) = (Party::funded(&client), Party::new(&client));
    a.pay(b.did(), 1).expect(200);
    let health = client.get("/v1/pay/health");
    assert_eq!(
        health.expect(200)["counts"],
        json!({ "wallets": 2, "transfers_settled_24h": 1, "active_admin_keys": 1 })
    );
    assert_eq!(health.json()["admin_key_fingerprints"], json!([operator.keyid]));
    operator.act("freeze_all", json!({ "frozen": true, "faucet_disabled": true })).expect(200);
    assert_eq!(client.get("/v1/pay/health").expect(200)["system_frozen"], true);
    let body = a.body("credit-transfer", a.transfer(b.did(), 1));
    refused(&client.post("/v1/pay/transfer", &body), 503, "system_frozen");
    operator.act("freeze_all", json!({ "frozen": false })).expect(200);
    client.post("/v1/pay/transfer", &body).expect(200);
    refused(&b.act("pay-faucet", json!({ "did": b.did() })), 503, "faucet_disabled");
}

fn errors_of_the_machinery_have_a_reason_too(suite: &Suite) {
    let client = suite.client();
    refused(&client.get("/v1/pay/history/did:svc:x?limit=x"), 400, "bad_request");
    refused(&client.get("/v1/pay/history/did:svc:x?before=soon"), 400, "bad_request");
    refused(&client.post("/v1/pay/wallet", &json!([])), 400, "bad_request");
}
