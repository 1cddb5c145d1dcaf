//! Stored rows, their number, and what happens when storage gets short (decisions transfer-five-rows and ledger-room).

use serde_json::{Value, json};

use super::{Party, SETTINGS, World, hours, minutes, refused, text};
use crate::pay::MAX_FAILURES;
use engine::actor::{ActorId, Kind};
use std::collections::BTreeMap;

impl World {
    /// The same data under another limit.
    fn with_limit(self, bytes: u64) -> World {
        let limit = bytes.to_string();
        let settings = [SETTINGS, &[("ledger_storage_bytes", limit.as_str())]].concat();
        World { rt: self.rt.restarted(&settings), ..self }
    }

    fn storage(&self) -> Value {
        self.get("/v1/pay/health")["storage"].clone()
    }

    fn used(&self) -> u64 {
        self.storage()["bytes_used"].as_u64().unwrap()
    }

    fn make_wallet(&self, did: &str) -> (u16, Value) {
        self.send("POST", "/v1/pay/wallet", None, &json!({ "did": did }))
    }

    fn all_rows(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        self.rt.rows(&ActorId::sole(Kind::Ledger)).into_iter().collect()
    }
}

fn faucet(world: &World, by: &Party) -> Value {
    world.body(by, "pay-faucet", json!({ "did": by.did() }))
}

/// The numbers of rows that are new, changed and gone after `deed`.
fn difference(world: &World, deed: impl FnOnce()) -> (usize, usize, usize) {
    let before = world.all_rows();
    deed();
    let after = world.all_rows();
    let new = after.keys().filter(|key| !before.contains_key(*key)).count();
    let changed = after.iter().filter(|(key, row)| before.get(*key).is_some_and(|before| before != *row)).count();
    (new, changed, before.keys().filter(|key| !after.contains_key(*key)).count())
}

/// Besides the new rows, both wallets, the book and the newest tile of the tree change. Every 64th transfer fills a
/// tile and begins another.
#[test]
fn a_transfer_leaves_at_most_five_rows() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000_000), world.party(2));
    world.pay(&a, &b, 1).unwrap();
    let mut written = 0;
    for _ in 0..200 {
        let (new, changed, gone) = difference(&world, || drop(world.pay(&a, &b, 1).unwrap()));
        assert!((1..=5).contains(&new) && gone == 0, "{new} new, {gone} gone");
        written += new + changed;
    }
    assert!(written <= 200 * 7 + 4, "{written} written");
}

#[test]
fn a_batch_leaves_one_row_and_one_for_each_distinct_recipient() {
    let world = World::new();
    let a = world.rich(1, 1_000_000);
    let recipients: Vec<String> = (0..100).map(|number| format!("did:svc:recipient{number}")).collect();
    recipients.iter().for_each(|did| assert_eq!(world.make_wallet(did).0, 200));
    let items: Vec<Value> =
        (0..1_000).map(|n| json!({ "to_did": recipients[n % 100], "amount_micro": 1 + n })).collect();
    let send = || drop(world.act(&a, "batch-transfer", json!({ "from_did": a.did(), "items": items })).unwrap());
    let (new, _, gone) = difference(&world, send);
    // There are also the entry of the payer, the signed bytes (which are long), and a tile of the tree.
    assert!((101..=105).contains(&new) && gone == 0, "{new} new, {gone} gone");
    assert_eq!(world.money(&a), (1_000_000 - 500_500, 0));
}

#[test]
fn of_a_thousand_refused_transfers_a_day_there_are_rows_and_of_more_only_the_nonce() {
    let world = World::new();
    let (a, b) = (world.rich(1, 5), world.rich(2, 1));
    let bodies: Vec<Value> =
        (0..MAX_FAILURES + 5).map(|_| world.body(&a, "credit-transfer", world.transfer_of(&a, &b, 6))).collect();
    let send = |body: &Value| world.send("POST", "/v1/pay/transfer", None, body).1;
    let kept = bodies.iter().map(send).filter(|answer| {
        assert_eq!(answer["reason"], "insufficient_balance");
        answer["transfer_id"].is_string()
    });
    assert_eq!(kept.count() as u64, MAX_FAILURES);
    let failed = || world.pages(&format!("/v1/pay/history/{}?limit=200", a.did()), "transfers").len() as u64;
    assert_eq!(failed(), MAX_FAILURES);
    // Refusals of another agent are counted apart, and a payment that is possible is made.
    let others =
        world.send("POST", "/v1/pay/transfer", None, &world.body(&b, "credit-transfer", world.transfer_of(&b, &a, 6)));
    assert!(others.1["transfer_id"].is_string());
    let paid = world.pay(&a, &b, 5);
    assert!(paid.is_ok());
    // Nobody can settle a refused envelope once there is enough money.
    world.admin("grant", json!({ "did": a.did(), "amount_micro": 100 })).unwrap();
    refused(world.post("credit-transfer", bodies.last().unwrap()), "nonce_seen");
    refused(world.post("credit-transfer", &bodies[0]), "nonce_seen");
    let rows = world.all_rows().len();
    // Refused batches count with refused transfers.
    let batch = json!({ "from_did": a.did(), "items": [{ "to_did": b.did(), "amount_micro": 1_000 }] });
    let events = world.get("/v1/pay/audit/head")["size"].clone();
    refused(world.act(&a, "batch-transfer", batch), "insufficient_balance");
    assert_eq!(world.get("/v1/pay/audit/head")["size"], events);
    // Nonces are removed half a minute after their envelopes ended. The rows stay, and the next day has a count of its
    // own.
    world.wait(minutes(11));
    assert!(world.all_rows().len() <= rows - 5, "{} rows, {rows} before", world.all_rows().len());
    world.wait(hours(24));
    refused(world.pay(&a, &b, 1_000_000), "insufficient_balance");
    assert_eq!(failed(), MAX_FAILURES + 2);
}

#[test]
fn near_the_limit_new_wallets_and_listings_are_refused_and_money_still_moves() {
    let world = World::new();
    let (a, b, c, d) = (world.rich(1, 1_000_000), world.party(2), world.party(3), world.party(4));
    let listing = world.list(&b, "work", 1_000);
    let held = world.open(&a, &b, 10, hours(2)).unwrap();
    assert_eq!(world.storage()["takes_new"], true);
    let used = world.used();
    let world = world.with_limit(used);
    assert_eq!(world.storage()["takes_new"], false);

    let nobody = "did:svc:nobody-yet";
    let (status, answer) = world.make_wallet(nobody);
    assert_eq!((status, &answer["reason"], &answer["error"]), (503, &json!("storage_full"), &json!("UNAVAILABLE")));
    let claim = faucet(&world, &c);
    refused(world.post("pay-faucet", &claim), "storage_full");
    let offer = world.body(&b, "capability-list", world.listing_of(&b, "more", 5));
    refused(world.post("capability-list", &offer), "storage_full");

    // An existing wallet is found, and an existing offer can change.
    assert_eq!(world.make_wallet(a.did()).1["created"], false);
    world.list(&b, "work", 900);
    // Recipients are paid, even without a wallet.
    world.pay(&a, &b, 5).unwrap();
    world.pay(&a, &d, 7).unwrap();
    world.release(&a, &held).unwrap();
    let escrow = world.open(&a, &b, 20, hours(2)).unwrap();
    world.refund(&a, &escrow).unwrap();
    let listing = json!({ "id": listing["id"], "capability": "work", "did": b.did(), "price_per_call_micro": 900 });
    let hired = world.hire(&a, &listing).unwrap();
    let receipt = world.claim(&b, &a, &text(&hired, "escrow_id"), hours(1), true).unwrap();
    world.accept(&a, &receipt).unwrap();
    assert_eq!((world.money(&b), world.money(&d)), ((915, 0), (7, 0)));

    // Nothing was burnt: with room again, the same envelopes work.
    let world = world.with_limit(used * 100);
    world.post("pay-faucet", &claim).unwrap();
    world.post("capability-list", &offer).unwrap();
    assert_eq!(world.make_wallet(nobody).1["created"], true);
}

#[test]
fn days_left_follow_from_what_was_stored_in_the_last_days() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000_000), world.party(2));
    let none = world.storage();
    assert_eq!((&none["bytes_limit"], &none["days_left"]), (&Value::Null, &Value::Null));
    assert!(text(&none, "days_unknown").contains("ledger_storage_bytes"));
    let limit = 100_000_000;
    let world = world.with_limit(limit);
    let day = |number: u64| {
        for _ in 0..24 {
            (0..number).for_each(|_| drop(world.pay(&a, &b, 1).unwrap()));
            world.wait(hours(1));
        }
    };
    assert!(text(&world.storage(), "days_unknown").contains("less than a day"));
    let before = world.used();
    day(5);
    let (after, storage) = (world.used(), world.storage());
    // The first size was noted before anything was stored.
    let expected = (limit - after) / after;
    let days = storage["days_left"].as_u64().unwrap();
    assert!(days.abs_diff(expected) <= expected / 10, "{days} days, {expected} expected");
    assert_eq!((&storage["days_unknown"], &storage["bytes_limit"]), (&Value::Null, &json!(limit)));
    // With twice as much growth, the days are half as many. After a week no slower day is remembered.
    (0..9).for_each(|_| day(10));
    let expected = (limit - world.used()) / (2 * (after - before));
    let days = world.storage()["days_left"].as_u64().unwrap();
    assert!(days.abs_diff(expected) <= expected / 5, "{days} days, {expected} expected");
}
