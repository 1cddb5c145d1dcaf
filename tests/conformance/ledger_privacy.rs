//! Which texts are shown to whom (decision ledger-texts-for-parties).

use std::time::Duration;

use heliograph_tests::client::Client;
use heliograph_tests::ledger::Party;
use heliograph_tests::relay::{base64, text};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    lists_show_texts_only_in_rows_of_whoever_proves_to_be_a_party,
    by_id_and_in_a_providers_work_everything_stands_for_existing_clients,
    where_reads_are_for_parties_nobody_else_sees_texts,
    a_proof_for_another_deployment_proves_nothing,
    a_batch_shows_no_hash_over_memos_of_its_other_transfers,
    whoever_is_to_be_paid_by_an_escrow_sees_its_texts_in_the_audit_log,
];

/// A client that proves to be a party.
fn proving(party: &Party, changes: Value) -> Client {
    let now = party.client.now();
    let mut members = json!({ "did": party.did(), "nonce": "proof-nonce",
        "expires_at": now.plus_duration(Duration::from_secs(55)).to_millis_text() });
    members.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let body = party.signer.signed("pay-history-read", now, members);
    party.client.with("x-svc-proof", &base64(body.to_string().as_bytes()))
}

/// Every kind of text between two parties, each with its own word: paths by id, paths of lists, and the provider's
/// work.
fn talk(a: &Party, b: &Party) -> (Vec<String>, Vec<String>, String) {
    let mut transfer = a.transfer(b.did(), 1);
    transfer["memo"] = json!("word-memo");
    let transfer = a.act("credit-transfer", transfer).expect(200);
    let mut escrow = a.escrow(b.did(), 2, Duration::from_secs(7_200));
    escrow["memo"] = json!("word-escrow");
    let escrow = a.act("escrow-open", escrow).expect(200);
    let listed = b.act("capability-list", b.listing("echo.lite", 10)).expect(200);
    let mut hire = a.hire(&listed["capability"]);
    hire["input_json"] = json!("word-input");
    let hired = a.act("hire-request", hire).expect(200);
    let mut claim = b.claim(a.did(), Some(text(&hired, "escrow_id")));
    claim["summary"] = json!("word-summary");
    let claimed = b.act("work-claim", claim).expect(200);
    let dispute = json!({ "receipt_id": claimed["receipt_id"], "signer_did": a.did(), "action": "dispute",
        "dispute_reason": "word-dispute", "feedback": "word-feedback" });
    a.act("work-acceptance", dispute).expect(200);
    let by_id = vec![
        format!("/v1/pay/transfer/{}", text(&transfer, "transfer_id")),
        format!("/v1/pay/escrow/{}", text(&escrow, "escrow_id")),
        format!("/v1/pay/hire/{}", text(&hired, "hire_id")),
        format!("/v1/pay/receipt/{}", text(&claimed, "receipt_id")),
    ];
    let mut lists = vec![format!("/v1/pay/receipt/escrow/{}", text(&hired, "escrow_id"))];
    for party in [a, b] {
        let did = party.did();
        lists.push(format!("/v1/pay/history/{did}"));
        lists.push(format!("/v1/pay/escrow/history/{did}"));
        lists.push(format!("/v1/pay/receipt/did/{did}"));
    }
    lists.push(format!("/v1/pay/hire/outgoing/{}", a.did()));
    (by_id, lists, format!("/v1/pay/hire/incoming/{}", b.did()))
}

fn has_texts(client: &Client, path: &str) -> bool {
    let answer = client.get(path);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text().contains("word-")
}

fn lists_show_texts_only_in_rows_of_whoever_proves_to_be_a_party(suite: &Suite) {
    let client = suite.client();
    let (a, b, c) = (Party::funded(&client), Party::funded(&client), Party::funded(&client));
    let (_, lists, _) = talk(&a, &b);
    for path in &lists {
        assert!(!has_texts(&client, path), "{path}");
        assert!(!has_texts(&proving(&c, json!({})), path), "{path}");
        for party in [&a, &b] {
            assert!(has_texts(&proving(party, json!({})), path), "{path}");
        }
    }
    // In somebody else's list, a proof shows only the prover's own rows.
    let mut other = c.transfer(b.did(), 1);
    other["memo"] = json!("between-c-and-b");
    c.act("credit-transfer", other).expect(200);
    let history = proving(&a, json!({})).get(&format!("/v1/pay/history/{}", b.did()));
    assert!(history.text().contains("word-memo") && !history.text().contains("between-c-and-b"), "{}", history.text());
    assert!(!client.get("/v1/pay/stats").text().contains("word-"));
}

fn by_id_and_in_a_providers_work_everything_stands_for_existing_clients(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    let (by_id, _, incoming) = talk(&a, &b);
    for path in by_id.iter().chain([&incoming]) {
        assert!(has_texts(&client, path), "{path}");
    }
}

fn where_reads_are_for_parties_nobody_else_sees_texts(suite: &Suite) {
    let target = suite.fresh(&[("ledger_reads", "parties")]);
    let client = target.client();
    let (a, b, c) = (Party::funded(&client), Party::funded(&client), Party::funded(&client));
    let (by_id, lists, incoming) = talk(&a, &b);
    for path in by_id.iter().chain(&lists).chain([&incoming]) {
        for stranger in [client.clone(), proving(&c, json!({}))] {
            assert!(!has_texts(&stranger, path), "{path}");
        }
        for party in [&a, &b] {
            assert!(has_texts(&proving(party, json!({})), path), "{path}");
        }
    }
    // Hashes and signatures that would confirm a guess are hidden too.
    let row = |client: &Client, path: &str| {
        let body = client.get(path).expect(200);
        ["transfer", "escrow", "receipt"].iter().find_map(|name| body.get(name).cloned()).unwrap()
    };
    let over = [
        "envelope_hash",
        "signature",
        "open_envelope_hash",
        "open_signature",
        "work_hash",
        "claim_envelope_hash",
        "claim_signature",
        "acceptance_envelope_hash",
        "acceptance_signature",
    ];
    for path in by_id.iter().filter(|path| !path.contains("/hire/")) {
        let (hidden, shown) = (row(&client, path), row(&proving(&a, json!({})), path));
        let there: Vec<&str> = over.into_iter().filter(|name| shown[name].is_string()).collect();
        assert!(there.len() >= 2 && there.iter().all(|name| hidden[name].is_null()), "{hidden} {shown}");
    }
    let plain = a.pay(b.did(), 1).expect(200);
    let path = format!("/v1/pay/transfer/{}", text(&plain, "transfer_id"));
    assert_eq!(row(&client, &path)["envelope_hash"], plain["envelope_hash"]);
}

fn a_proof_for_another_deployment_proves_nothing(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    talk(&a, &b);
    let path = format!("/v1/pay/history/{}", a.did());
    let here = client.get("/v1/pay/health").expect(200)["deployment"].clone();
    assert!(has_texts(&proving(&a, json!({ "aud": here })), &path));
    assert!(!has_texts(&proving(&a, json!({ "aud": "elsewhere" })), &path));
}

fn a_batch_shows_no_hash_over_memos_of_its_other_transfers(suite: &Suite) {
    let target = suite.fresh(&[("ledger_reads", "parties")]);
    let client = target.client();
    let (a, b, c) = (Party::funded(&client), Party::new(&client), Party::new(&client));
    let send = |memo: Value| {
        let items =
            json!([{ "to_did": b.did(), "amount_micro": 1, "memo": memo }, { "to_did": c.did(), "amount_micro": 2 }]);
        a.act("batch-transfer", json!({ "from_did": a.did(), "items": items })).expect(200)
    };
    let over = |client: &Client, batch: &Value| {
        let path = format!("/v1/pay/transfer/{}", text(&batch["transfers"][1], "transfer_id"));
        let row = client.get(&path).expect(200)["transfer"].clone();
        (row["envelope_hash"].is_string(), row["signature"].is_string())
    };
    let told = send(json!("word-memo"));
    for reader in [client.clone(), proving(&c, json!({})), proving(&b, json!({}))] {
        assert_eq!(over(&reader, &told), (false, false));
    }
    assert_eq!(over(&proving(&a, json!({})), &told), (true, true), "who wrote them");
    assert_eq!(over(&client, &send(Value::Null)), (true, true), "where nothing is hidden");
}

fn whoever_is_to_be_paid_by_an_escrow_sees_its_texts_in_the_audit_log(suite: &Suite) {
    let client = suite.client();
    let (a, b, c) = (Party::funded(&client), Party::new(&client), Party::new(&client));
    let mut escrow = a.escrow(b.did(), 2, Duration::from_secs(7_200));
    escrow["memo"] = json!("word-escrow");
    let escrow = a.act("escrow-open", escrow).expect(200);
    let path = format!("/v1/pay/audit/proof/{}", text(&escrow, "escrow_id"));
    for (party, shown) in [(&a, true), (&b, true), (&c, false)] {
        assert_eq!(has_texts(&proving(party, json!({})), &path), shown, "{}", party.did());
    }
}
