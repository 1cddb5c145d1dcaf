//! Statements: every change of a wallet's money, with the amounts after it (decision ledger-for-clients).

use heliograph_tests::client::Client;
use heliograph_tests::ledger::{Operator, Party, nonce};
use heliograph_tests::relay::{base64, encode, text};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_statement_has_every_change_with_the_balance_it_left,
    texts_are_in_a_statement_only_for_a_party,
    a_statement_pages_out_exactly_once,
    a_statement_of_nobody_is_empty,
];

fn lines(client: &Client, party: &Party, query: &str) -> Vec<Value> {
    let statement = client.get(&format!("/v1/pay/statement/{}{query}", party.did())).expect(200);
    assert_eq!((text(&statement, "schema"), text(&statement, "did")), ("svc-pay-statement/v1", party.did()));
    statement["lines"].as_array().unwrap().clone()
}

fn kinds(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| text(line, "kind")).collect()
}

/// Every line leads from the balance of the line before to its own, and the first one shows the present wallet.
#[track_caller]
fn adds_up(lines: &[Value], money: (u64, u64)) {
    let number = |line: &Value, name: &str| line[name].as_i64().unwrap();
    let (mut balance, mut locked) = (0, 0);
    for line in lines.iter().rev() {
        balance += number(line, "amount_micro");
        locked += number(line, "locked_change_micro");
        assert_eq!((number(line, "balance_micro"), number(line, "locked_micro")), (balance, locked), "{line}");
    }
    assert_eq!((balance as u64, locked as u64), money);
    assert!(lines.windows(2).all(|pair| text(&pair[0], "at") > text(&pair[1], "at")));
}

fn a_statement_has_every_change_with_the_balance_it_left(suite: &Suite) {
    let client = suite.client();
    let operator = Operator::new(&client, "all");
    let (a, b) = (Party::funded(&client), Party::new(&client));
    operator.act("grant", json!({ "did": a.did(), "amount_micro": 1_000 })).expect(200);
    a.pay(b.did(), 10).expect(200);
    let refusal = a.pay(b.did(), 90_000_000);
    assert_eq!(refusal.status, 402);
    let items = json!([{ "to_did": b.did(), "amount_micro": 1 }, { "to_did": b.did(), "amount_micro": 2 }]);
    a.act("batch-transfer", json!({ "from_did": a.did(), "items": items })).expect(200);
    let released = a.open(b.did(), 100);
    a.close("escrow-release", &released).expect(200);
    let refunded = a.open(b.did(), 200);
    a.close("escrow-refund", &refunded).expect(200);
    let slug = format!("s{}", nonce());
    let listing = b.act("capability-list", b.listing(&slug, 300)).expect(200)["capability"].clone();
    a.act("hire-request", a.hire(&listing)).expect(200);
    b.pay(a.did(), 7).expect(200);
    operator.act("cap", json!({ "did": a.did(), "daily_cap_micro": 1_000_000 })).expect(200);

    let of_a = lines(&client, &a, "?limit=200");
    assert_eq!(
        kinds(&of_a),
        [
            "transfer",
            "hire",
            "escrow_refund",
            "escrow_open",
            "escrow_release",
            "escrow_open",
            "batch",
            "batch",
            "transfer",
            "grant",
            "faucet"
        ]
    );
    adds_up(&of_a, a.money());
    assert_eq!(a.money(), (10_000_000 + 1_000 - 10 - 3 - 100 - 300 + 7, 300));
    let of_b = lines(&client, &b, "?limit=200");
    assert_eq!(kinds(&of_b), ["transfer", "escrow_release", "batch", "batch", "transfer"]);
    adds_up(&of_b, b.money());
    let line = |n: usize| &of_a[n];
    assert_eq!((&line(2)["id"], &line(2)["amount_micro"]), (&json!(refunded), &json!(200)));
    assert_eq!((&line(5)["id"], &line(5)["locked_change_micro"]), (&json!(released), &json!(100)));
    for n in [0, 1, 2, 3, 4, 5, 6, 7, 8] {
        assert_eq!(line(n)["counterparty_did"], b.did(), "{}", line(n));
    }
    assert_eq!((text(line(9), "actor"), &line(9)["id"]), (format!("admin:{}", operator.keyid).as_str(), &Value::Null));
    assert_eq!(text(line(10), "actor"), a.did());
    // Each line is in the log, at its stated position.
    for found in &of_a {
        let event = client.get(&format!("/v1/pay/audit/proof/{}", found["seq"])).expect(200);
        assert_eq!(event["event"]["kind"], found["kind"]);
    }
}

fn texts_are_in_a_statement_only_for_a_party(suite: &Suite) {
    let client = suite.client();
    let (a, b, c) = (Party::funded(&client), Party::new(&client), Party::new(&client));
    let mut transfer = a.transfer(b.did(), 1);
    transfer["memo"] = json!("of a transfer");
    a.act("credit-transfer", transfer).expect(200);
    let item = |to: &Party, memo: &str| json!({ "to_did": to.did(), "amount_micro": 1, "memo": memo });
    let items = json!([item(&b, "of a batch"), item(&c, "for another")]);
    a.act("batch-transfer", json!({ "from_did": a.did(), "items": items })).expect(200);
    let escrow = a.open(b.did(), 5);
    let refund = json!({ "escrow_id": escrow, "signer_did": a.did(), "reason": "of a refund" });
    a.act("escrow-refund", refund).expect(200);
    let memos = |client: &Client, party: &Party| {
        let lines = lines(client, party, "");
        lines.iter().filter_map(|line| line["memo"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    for party in [&a, &b, &c] {
        assert_eq!(memos(&client, party), Vec::<String>::new());
    }
    let proving = |party: &Party| {
        let now = client.now();
        let members =
            json!({ "did": party.did(), "nonce": nonce(), "expires_at": now.plus(60_000_000).to_millis_text() });
        let proof = party.signer.signed("pay-history-read", now, members);
        client.with("x-svc-proof", &base64(proof.to_string().as_bytes()))
    };
    assert_eq!(memos(&proving(&a), &a), ["of a refund", "for another", "of a batch", "of a transfer"]);
    assert_eq!(memos(&proving(&b), &b), ["of a batch", "of a transfer"]);
    // In another party's statement a reader sees the texts of the lines in which it is the other side.
    assert_eq!(memos(&proving(&b), &a), ["of a refund", "of a batch", "of a transfer"]);
    assert_eq!(memos(&proving(&c), &a), ["for another"]);
    assert_eq!(memos(&proving(&c), &b), Vec::<String>::new());
}

fn a_statement_pages_out_exactly_once(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::funded(&client));
    for n in 0..12 {
        a.pay(b.did(), 1 + n).expect(200);
        let items = json!([{ "to_did": b.did(), "amount_micro": 1 }, { "to_did": b.did(), "amount_micro": 1 }]);
        a.act("batch-transfer", json!({ "from_did": a.did(), "items": items })).expect(200);
    }
    let whole = lines(&client, &a, "?limit=200");
    assert_eq!(whole.len(), 37);
    for limit in [1, 2, 5, 36, 37] {
        let (mut rows, mut query) = (Vec::new(), String::new());
        loop {
            let page = client.get(&format!("/v1/pay/statement/{}?limit={limit}{query}", a.did())).expect(200);
            rows.extend(page["lines"].as_array().unwrap().iter().cloned());
            match page["next_cursor"].as_str() {
                // The characters of a cursor need no escapes.
                Some(next) => {
                    assert!(next.bytes().all(|c| c.is_ascii_digit() || b"T:.-Z".contains(&c)), "{next}");
                    query = format!("&before={next}");
                }
                None => break,
            }
        }
        assert_eq!(rows, whole, "pages of {limit}");
    }
    adds_up(&whole, a.money());
}

fn a_statement_of_nobody_is_empty(suite: &Suite) {
    let client = suite.client();
    for did in ["did:svc:nobody", "undefined", &encode("did:svc:nobody")] {
        let statement = client.get(&format!("/v1/pay/statement/{did}")).expect(200);
        assert_eq!((&statement["lines"], &statement["next_cursor"]), (&json!([]), &Value::Null));
    }
    for query in ["limit=x", "before=x"] {
        assert_eq!(client.get(&format!("/v1/pay/statement/did:svc:nobody?{query}")).status, 400);
    }
}
