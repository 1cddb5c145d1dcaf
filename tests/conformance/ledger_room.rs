//! How full the store is, and what is refused first when room is short (decision ledger-room).

use heliograph_tests::client::Client;
use heliograph_tests::ledger::{Party, nonce, refused};
use heliograph_tests::relay::text;
use heliograph_tests::target::Kind;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    health_says_how_much_is_stored_and_what_is_not_known,
    near_the_limit_new_wallets_and_listings_are_refused_and_money_still_moves,
];

fn storage(client: &Client) -> Value {
    client.get("/v1/pay/health").expect(200)["storage"].clone()
}

fn health_says_how_much_is_stored_and_what_is_not_known(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    a.pay(b.did(), 1).expect(200);
    let storage = storage(&client);
    let used = storage["bytes_used"].as_u64().unwrap();
    assert!(used > 0);
    let limit = storage["bytes_limit"].as_u64();
    match suite.kind {
        // Nothing says how much memory there is.
        Kind::Memory => assert_eq!(limit, None),
        Kind::Native => assert!(limit.unwrap() > used),
        Kind::Edge => assert_eq!(limit, Some(10_000_000_000)),
    }
    // Growth is not known so early, and is not invented.
    assert_eq!(storage["days_left"], Value::Null);
    let why = if limit.is_some() { "less than a day" } else { "limit" };
    assert!(text(&storage, "days_unknown").contains(why), "{storage}");
    assert!(suite.kind == Kind::Native || storage["takes_new"] == true);
}

fn near_the_limit_new_wallets_and_listings_are_refused_and_money_still_moves(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let [a, b, c, d] = [(); 4].map(|()| Party::new(&client));
    for party in [&a, &b] {
        party.act("pay-faucet", json!({ "did": party.did() })).expect(200);
    }
    b.act("capability-list", b.listing("work.test", 1_000)).expect(200);
    let (held, kept) = (a.open(b.did(), 10), a.open(b.did(), 20));
    let target = target.restart(&[("ledger_storage_bytes", "1")]);
    let client = target.client();
    let [a, b, c, d] = [a, b, c, d].map(|party| Party { client: client.clone(), ..party });
    let full = storage(&client);
    assert_eq!((&full["bytes_limit"], &full["takes_new"]), (&json!(1), &json!(false)));

    let new = format!("did:svc:new{}", nonce());
    refused(&client.post("/v1/pay/wallet", &json!({ "did": new })), 503, "storage_full");
    let claim = c.body("pay-faucet", json!({ "did": c.did() }));
    refused(&client.post("/v1/pay/faucet", &claim), 503, "storage_full");
    let offer = b.body("capability-list", b.listing("more.test", 5));
    refused(&client.post("/v1/pay/capability/list", &offer), 503, "storage_full");
    assert_eq!(client.get(&format!("/v1/pay/wallet/{new}")).status, 404);

    // Existing business continues, and debts are paid.
    assert_eq!(client.post("/v1/pay/wallet", &json!({ "did": a.did() })).expect(200)["created"], false);
    let listing = b.act("capability-list", b.listing("work.test", 900)).expect(200)["capability"].clone();
    a.pay(b.did(), 5).expect(200);
    a.pay(d.did(), 7).expect(200);
    a.close("escrow-release", &held).expect(200);
    a.close("escrow-refund", &kept).expect(200);
    let hired = a.act("hire-request", a.hire(&listing)).expect(200);
    let claimed = b.act("work-claim", b.claim(a.did(), Some(text(&hired, "escrow_id")))).expect(200);
    let accept = json!({ "receipt_id": claimed["receipt_id"], "signer_did": a.did(), "action": "accept" });
    a.act("work-acceptance", accept).expect(200);
    let paid = 5 + 10 + 900;
    assert_eq!((a.money(), b.money()), ((10_000_000 - paid - 7, 0), (10_000_000 + paid, 0)));
    assert_eq!(d.money(), (7, 0));

    // No nonce was used up: with room again the same envelopes succeed.
    let target = target.restart(&[]);
    let client = target.client();
    client.post("/v1/pay/faucet", &claim).expect(200);
    client.post("/v1/pay/capability/list", &offer).expect(200);
}
