//! Batches: many transfers under one signature, all or none (decisions batch-one-event and batch-contract).

use heliograph_tests::client::{Answer, Client};
use heliograph_tests::ledger::{Operator, Party, nonce, path_of, refused};
use heliograph_tests::relay::text;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_batch_settles_all_and_each_transfer_is_readable,
    a_batch_settles_all_or_nothing_and_says_which_item_failed,
    a_batch_id_is_its_nonce,
    items_are_checked_like_an_envelope,
    the_largest_batch_fits_and_one_more_item_does_not,
    a_batch_pays_agents_without_wallets_and_nobody_else,
    the_items_of_a_batch_page_out_exactly_once,
    t5_a_batch_counts_against_the_cap_of_the_day,
];

fn item(to: &str, micro: u64) -> Value {
    json!({ "to_did": to, "amount_micro": micro })
}

fn send(from: &Party, items: Vec<Value>) -> Answer {
    from.act("batch-transfer", json!({ "from_did": from.did(), "items": items }))
}

/// Checks a refusal and the item that it names.
#[track_caller]
fn refused_at(answer: &Answer, status: u16, reason: &str, index: Option<u64>) {
    refused(answer, status, reason);
    let body = answer.json();
    assert_eq!(body.get("failed_index").map(|index| index.as_u64().unwrap()), index, "{body}");
    assert_eq!(text(&body, "status"), "failed");
}

fn a_batch_settles_all_and_each_transfer_is_readable(suite: &Suite) {
    let client = suite.client();
    let (a, b, c) = (Party::funded(&client), Party::new(&client), Party::new(&client));
    let mut third = item(b.did(), 3);
    third["memo"] = json!("drei \"\u{1}\"");
    let items = vec![item(b.did(), 1), item(c.did(), 2), third];
    let receipt = send(&a, items).expect(200);
    assert_eq!((text(&receipt, "status"), &receipt["total_micro"]), ("settled", &json!(6)));
    assert_eq!(receipt["sender_new_balance_micro"], 9_999_994);
    assert_eq!((a.money(), b.money(), c.money()), ((9_999_994, 0), (4, 0), (2, 0)));
    let transfers = receipt["transfers"].as_array().unwrap();
    let expected = [(b.did(), 1, 9_999_999, 1), (c.did(), 2, 9_999_997, 2), (b.did(), 3, 9_999_994, 4)];
    for (index, (to, amount, sender, recipient)) in expected.into_iter().enumerate() {
        assert_eq!(transfers[index]["index"], index);
        let id = text(&transfers[index], "transfer_id");
        let read = client.get(&format!("/v1/pay/transfer/{id}")).expect(200);
        let row = &read["transfer"];
        assert_eq!((text(row, "from_did"), text(row, "to_did"), &row["amount_micro"]), (a.did(), to, &json!(amount)));
        assert_eq!((text(row, "status"), text(row, "id")), ("settled", id));
        assert_eq!((&row["envelope_hash"], &row["nonce"]), (&receipt["envelope_hash"], &receipt["batch_id"]));
        assert_eq!((&row["batch"]["id"], &row["batch"]["index"]), (&receipt["id"], &json!(index)));
        assert_eq!(read["sender_new_balance_micro"], sender);
        assert_eq!(read["recipient_new_balance_micro"], recipient);
    }
    let memo = |n: usize| {
        let id = text(&transfers[n], "transfer_id");
        client.get(&format!("/v1/pay/transfer/{id}")).expect(200)["transfer"]["memo"].clone()
    };
    assert_eq!((memo(0), memo(2)), (Value::Null, json!("drei \"\u{1}\"")));
    assert_eq!(transfers.len(), 3);
    // Neither the batch itself nor a number beyond its last transfer is a transfer.
    let last = text(&transfers[2], "transfer_id");
    for id in [text(&receipt, "id").to_owned(), format!("{}{:04x}", &last[..32], 4)] {
        assert_eq!(client.get(&format!("/v1/pay/transfer/{id}")).status, 404, "{id}");
    }
    let ids = |party: &Party| {
        let history = client.get(&format!("/v1/pay/history/{}", party.did())).expect(200);
        history["transfers"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect::<Vec<_>>()
    };
    let id = |n: usize| transfers[n]["transfer_id"].clone();
    assert_eq!((ids(&a), ids(&b), ids(&c)), (vec![id(2), id(1), id(0)], vec![id(2), id(0)], vec![id(1)]));
}

fn a_batch_settles_all_or_nothing_and_says_which_item_failed(suite: &Suite) {
    let client = suite.client();
    let operator = Operator::new(&client, "all");
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    let at = |items: Vec<Value>, status: u16, reason: &str, index: Option<u64>| {
        refused_at(&send(&a, items), status, reason, index);
        assert_eq!((a.money(), b.money()), ((10_000_000, 0), (10_000_000, 0)));
    };
    let good = || item(b.did(), 1);
    at(vec![good(), item(b.did(), 0)], 400, "amount_out_of_range", Some(1));
    let most = 1_000_000_000_000_000;
    at(vec![item(b.did(), most + 1)], 400, "amount_out_of_range", Some(0));
    at(vec![item(b.did(), most), good()], 400, "amount_out_of_range", Some(1));
    at(vec![good(), good(), item(a.did(), 1)], 400, "recipient_invalid_did", Some(2));
    at(vec![good(), item("nonsense", 1)], 400, "recipient_invalid_did", Some(1));
    let mut odd = good();
    odd["owner"] = json!("x");
    at(vec![good(), good(), odd], 400, "invalid_envelope", Some(2));
    at(vec![good(), json!({ "to_did": b.did() }), good()], 400, "invalid_envelope", Some(1));
    at(vec![item(b.did(), 9_000_000), item(b.did(), 1_000_000), good()], 402, "insufficient_balance", Some(2));
    let cap = |members: Value| {
        let mut all = json!({ "did": a.did() });
        all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        operator.act("cap", all).expect(200);
    };
    cap(json!({ "per_tx_cap_micro": 5 }));
    at(vec![item(b.did(), 5), item(b.did(), 6)], 400, "per_tx_cap_exceeded", Some(1));
    cap(json!({ "daily_cap_micro": 9 }));
    at(vec![item(b.did(), 5), item(b.did(), 4), good()], 429, "daily_cap_exceeded", Some(2));
    let c = Party::new(&client);
    cap(json!({ "allowlist": [b.did()] }));
    at(vec![good(), item(c.did(), 1)], 403, "recipient_not_allowed", Some(1));
    operator.act("freeze", json!({ "did": a.did(), "frozen": true })).expect(200);
    at(vec![good()], 403, "sender_frozen", None);
    operator.act("freeze", json!({ "did": a.did(), "frozen": false })).expect(200);
    refused_at(&send(&c, vec![good()]), 404, "sender_not_found", None);
    send(&a, vec![item(b.did(), 5), item(b.did(), 4)]).expect(200);
    assert_eq!((a.money(), b.money()), ((9_999_991, 0), (10_000_009, 0)));
}

fn a_batch_id_is_its_nonce(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    let id = nonce();
    let send = |from: &Party, to: &Party, micro: u64| {
        from.act("batch-transfer", json!({ "from_did": from.did(), "batch_id": id, "items": [item(to.did(), micro)] }))
    };
    let body = a.body("batch-transfer", json!({ "from_did": a.did(), "batch_id": id, "items": [item(b.did(), 1)] }));
    let threads: Vec<_> = (0..20)
        .map(|_| {
            let (client, body) = (client.clone(), body.clone());
            std::thread::spawn(move || client.post(path_of("batch-transfer"), &body))
        })
        .collect();
    let answers: Vec<Answer> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    answers.iter().filter(|answer| answer.status != 200).for_each(|answer| refused(answer, 409, "nonce_seen"));
    assert_eq!(b.money(), (10_000_001, 0));
    refused_at(&send(&a, &b, 2), 409, "nonce_seen", None);
    // The batch id belongs to the sender, and only to batches.
    send(&b, &a, 1).expect(200);
    let mut transfer = a.transfer(b.did(), 1);
    transfer["nonce"] = json!(id);
    a.act("credit-transfer", transfer).expect(200);
    // The id of a refused batch is used up too.
    let id = nonce();
    let again = |micro: u64| {
        a.act("batch-transfer", json!({ "from_did": a.did(), "batch_id": id, "items": [item(b.did(), micro)] }))
    };
    refused_at(&again(90_000_000), 402, "insufficient_balance", Some(0));
    refused_at(&again(1), 409, "nonce_seen", None);
}

fn items_are_checked_like_an_envelope(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    let with = |item: Value| a.act("batch-transfer", json!({ "from_did": a.did(), "items": [item] }));
    let good = item(b.did(), 1);
    for (name, value) in [
        ("amount_micro", json!("1")),
        ("amount_micro", json!(1.5)),
        ("amount_micro", Value::Null),
        ("to_did", json!(1)),
        ("to_did", json!("x".repeat(129))),
        ("memo", json!("x".repeat(281))),
        ("memo", json!(5)),
        ("nonce", json!("of-an-item")),
    ] {
        let mut wrong = good.clone();
        wrong[name] = value;
        refused(&with(wrong), 400, "invalid_envelope");
    }
    refused(&with(json!("x")), 400, "invalid_envelope");
    refused(&with(Value::Null), 400, "invalid_envelope");
    for items in [json!([]), json!({}), Value::Null, json!("x")] {
        refused(&a.act("batch-transfer", json!({ "from_did": a.did(), "items": items })), 400, "invalid_envelope");
    }
    let members = json!({ "from_did": a.did(), "items": [good], "nonce": nonce() });
    refused(&a.act("batch-transfer", members), 400, "invalid_envelope");
    // A null member counts as absent, since existing clients send nulls.
    let mut null = good.clone();
    null["memo"] = Value::Null;
    null["owner"] = Value::Null;
    with(null).expect(200);
    let mut memo = good.clone();
    memo["memo"] = json!("x".repeat(280));
    with(memo).expect(200);
    // Neither route accepts the other's envelope.
    let transfer = a.body("credit-transfer", a.transfer(b.did(), 1));
    refused(&client.post(path_of("batch-transfer"), &transfer), 400, "invalid_envelope");
    let batch = a.body("batch-transfer", json!({ "from_did": a.did(), "items": [good] }));
    refused(&client.post(path_of("credit-transfer"), &batch), 400, "invalid_envelope");
    let mut forged = batch.clone();
    forged["envelope"]["items"][0]["amount_micro"] = json!(2);
    refused(&client.post(path_of("batch-transfer"), &forged), 400, "invalid_signature");
}

fn the_largest_batch_fits_and_one_more_item_does_not(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    // Every character takes six bytes in the signed text.
    let memo = "\u{1}".repeat(280);
    let full = json!({ "to_did": b.did(), "amount_micro": 1, "memo": memo });
    let members = |count: usize| json!({ "from_did": a.did(), "items": vec![full.clone(); count] });
    let body = a.body("batch-transfer", members(1_000));
    let bytes = body.to_string().len();
    assert!((1_700_000..4_000_000).contains(&bytes), "{bytes}");
    let receipt = client.post(path_of("batch-transfer"), &body).expect(200);
    assert_eq!((a.money(), b.money()), ((9_999_000, 0), (10_001_000, 0)));
    let transfers = receipt["transfers"].as_array().unwrap();
    assert_eq!(transfers.len(), 1_000);
    let id = text(&transfers[999], "transfer_id");
    assert_eq!(client.get(&format!("/v1/pay/transfer/{id}")).expect(200)["transfer"]["memo"], memo);
    let proof = client.get(&format!("/v1/pay/audit/proof/{id}")).expect(200);
    assert_eq!(proof["event"]["signed"]["form"]["items"].as_array().unwrap().len(), 1_000);
    refused(&a.act("batch-transfer", members(1_001)), 400, "invalid_envelope");
    let huge = json!({ "envelope": {}, "signature": "x".repeat(4 << 20) });
    assert_eq!(client.post(path_of("batch-transfer"), &huge).status, 413);
    assert_eq!(client.post(path_of("credit-transfer"), &body).status, 413);
}

fn a_batch_pays_agents_without_wallets_and_nobody_else(suite: &Suite) {
    let client = suite.client();
    let a = Party::funded(&client);
    let parties: Vec<Party> = (0..5).map(|_| Party::new(&client)).collect();
    let void = format!("did:svc:void{}", nonce());
    let mut items: Vec<Value> = parties.iter().map(|party| item(party.did(), 2)).collect();
    items.push(item(&void, 1));
    refused_at(&send(&a, items.clone()), 400, "recipient_invalid_did", Some(5));
    let wallet = |did: &str| client.get(&format!("/v1/pay/wallet/{did}")).status;
    assert_eq!((wallet(parties[0].did()), wallet(&void)), (404, 404));
    items.pop();
    send(&a, items).expect(200);
    assert!(parties.iter().all(|party| party.money() == (2, 0)));
}

/// All rows of a list, page by page.
fn pages(client: &Client, path: &str, list: &str, limit: usize) -> Vec<Value> {
    let (mut rows, mut query) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{path}?limit={limit}{query}")).expect(200);
        let found = page[list].as_array().unwrap();
        assert!(found.len() <= limit);
        rows.extend(found.iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => query = format!("&before={next}"),
            None => return rows,
        }
    }
}

fn the_items_of_a_batch_page_out_exactly_once(suite: &Suite) {
    let client = suite.client();
    let (a, b, c) = (Party::funded(&client), Party::funded(&client), Party::funded(&client));
    let mut ids = Vec::new();
    for count in [1, 334, 2, 663] {
        let items: Vec<Value> =
            (0..count).map(|n| item(if n % 3 == 0 { c.did() } else { b.did() }, 1 + n as u64)).collect();
        let receipt = send(&a, items).expect(200);
        ids.extend(receipt["transfers"].as_array().unwrap().iter().map(|row| row["transfer_id"].clone()));
    }
    ids.reverse();
    assert_eq!(ids.len(), 1_000);
    for limit in [7, 200] {
        let sent = pages(&client, &format!("/v1/pay/history/{}", a.did()), "transfers", limit);
        assert_eq!(sent.iter().map(|row| row["id"].clone()).collect::<Vec<_>>(), ids);
        let lines = pages(&client, &format!("/v1/pay/statement/{}", a.did()), "lines", limit);
        assert_eq!(lines.iter().map(|row| row["id"].clone()).take(1_000).collect::<Vec<_>>(), ids);
        let mut received = Vec::new();
        for party in [&b, &c] {
            let rows = pages(&client, &format!("/v1/pay/history/{}", party.did()), "transfers", limit);
            assert!(rows.iter().all(|row| row["to_did"] == party.did()));
            received.extend(rows.into_iter().map(|row| row["id"].clone()));
        }
        assert_eq!(received.len(), 1_000);
        assert!(ids.iter().all(|id| received.contains(id)));
    }
}

fn t5_a_batch_counts_against_the_cap_of_the_day(suite: &Suite) {
    let client = suite.client();
    let operator = Operator::new(&client, "cap");
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    operator.act("cap", json!({ "did": a.did(), "daily_cap_micro": 100 })).expect(200);
    send(&a, vec![item(b.did(), 30), item(b.did(), 30)]).expect(200);
    refused(&a.pay(b.did(), 41), 429, "daily_cap_exceeded");
    refused_at(&send(&a, vec![item(b.did(), 30), item(b.did(), 11)]), 429, "daily_cap_exceeded", Some(1));
    a.pay(b.did(), 40).expect(200);
    let wallet = client.get(&format!("/v1/pay/wallet/{}", a.did())).expect(200);
    assert_eq!(wallet["wallet"]["spent_24h_micro"], 100);
}
