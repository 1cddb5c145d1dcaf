//! Numbers for the operator (decision ledger-for-clients).

use serde_json::json;

use super::{Party, World, hours, refused, with};
use crate::book::Books;
use crate::metrics::{self, Metrics, ReadMetrics};
use crate::rows::WALLETS;
use engine::actor::{ActorId, Kind, Query, View};
use engine::kv::{MemoryStore, Overlay, Store};
use engine::runtime::Runtime;

impl World {
    /// The numbers after `times` checks of the wallets of a store.
    fn checked(&self, store: &mut MemoryStore, times: usize) -> Metrics {
        for _ in 0..times {
            let mut overlay = Overlay::new(store);
            let mut books = Books::open(&mut overlay, self.rt.now(), "svc").unwrap();
            metrics::check(&mut books).unwrap();
            books.close().unwrap();
            let batch = overlay.into_batch();
            store.apply(batch).unwrap();
        }
        let (actor, settings) = (ActorId::sole(Kind::Ledger), &self.rt.environment().settings);
        ReadMetrics.run(&View::new(&crate::testing::PROGRAM, &actor, store, self.rt.now(), settings)).unwrap()
    }
}

fn tamper(store: &mut MemoryStore, party: &Party, by: u64) {
    let mut overlay = Overlay::new(store);
    let mut wallet = WALLETS.get(&overlay, &(party.name(),)).unwrap().unwrap();
    wallet.balance += by;
    WALLETS.put(&mut overlay, &(party.name(),), &wallet).unwrap();
    let batch = overlay.into_batch();
    store.apply(batch).unwrap();
}

#[test]
fn a_wallet_that_is_not_what_its_last_event_says_is_found_within_a_round() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000_000), world.party(2));
    for number in 0..150 {
        let did = format!("did:svc:w{number}");
        assert_eq!(world.send("POST", "/v1/pay/wallet", None, &json!({ "did": did })).0, 200);
    }
    world.pay(&a, &b, 10).unwrap();
    world.open(&a, &b, 7, hours(1)).unwrap();
    world.pay(&a, &b, 100_000_000).unwrap_err();
    let mut store = world.store();
    let sound = world.checked(&mut store, 9);
    assert_eq!((sound.off, sound.imbalance(), sound.locked_imbalance()), (0, 0, 0));
    assert_eq!((sound.supply, sound.balance, sound.locked, sound.open), (1_000_000, 999_993, 7, 7));
    assert_eq!(sound.wallets, 152);
    for party in [&a, &b] {
        let mut store = store.clone();
        tamper(&mut store, party, 1);
        assert_eq!(world.checked(&mut store, 3).off, 1, "152 wallets, 64 at a time");
        // The wrong wallet stays counted until a whole round found none.
        assert_eq!(world.checked(&mut store, 2).off, 1);
    }
}

/// Decision ledger-for-clients: every refusal is counted once, and a request that was not verified causes no write.
#[test]
fn refusals_of_every_class_are_counted_once() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let at = |seconds: i64| world.rt.now().plus(seconds * 1_000_000).to_millis_text();
    let pay = |changes| world.act(&a, "credit-transfer", with(&world.transfer_of(&a, &b, 1), changes));
    refused(pay(json!({ "issued_at": at(-900), "expires_at": at(-600) })), "envelope_expired");
    refused(pay(json!({ "issued_at": at(600), "expires_at": at(900) })), "envelope_not_yet_valid");
    refused(pay(json!({ "expires_at": at(7_200) })), "envelope_window_too_long");
    refused(world.accept(&a, "nothing"), "receipt_not_found");
    refused(world.pay(&a, &b, 2_000), "insufficient_balance");
    refused(world.admin("grant", json!({ "did": a.did(), "amount_micro": 0 })), "admin_invalid_body");
    let stranger = crate::client::Signer::new("svc", crypto::Secret::new([77; 32]));
    refused(
        world.admin_by(&stranger, "0011", "grant", json!({ "did": a.did(), "amount_micro": 1 })),
        "admin_key_not_found",
    );
    assert_eq!(world.send("POST", "/v1/pay/wallet", None, &json!({ "did": null })).1["reason"], "invalid_did");
    let listing = world.list(&b, "work", 1);
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    let writes = [
        world.pay(&a, &b, 1),
        world.open(&a, &b, 1, hours(1)).map(Into::into),
        world.hire(&a, &listing),
        world.accept(&a, "nothing"),
        world.claim(&b, &a, "nothing", hours(1), true).map(Into::into),
        world.act(&b, "pay-faucet", json!({ "did": b.did() })),
    ];
    let stopped = writes.len();
    writes.into_iter().for_each(|write| refused(write, "system_frozen"));
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    let (status, numbers) = world.send("GET", "/v1/admin/ledger/metrics", Some("operator"), &json!(null));
    assert_eq!(status, 200, "{numbers}");
    assert_eq!(numbers["refusals"], json!({ "insufficient_balance": 1 }));
    let expected = json!({ "envelope_expired": 1, "envelope_not_yet_valid": 1, "envelope_window_too_long": 1,
        "receipt_not_found": 1, "admin_invalid_body": 1, "admin_key_not_found": 1, "invalid_did": 1,
        "system_frozen": stopped });
    assert_eq!(numbers["refusals_before_ledger"], expected);
}
