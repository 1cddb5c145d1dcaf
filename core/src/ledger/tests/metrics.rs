//! Numbers for the operator (ruling ledger 35).

use serde_json::json;

use super::{Party, World, hours};
use crate::actor::{ActorId, Kind, Query, View};
use crate::kv::{MemoryStore, Overlay, Store};
use crate::ledger::book::Books;
use crate::ledger::metrics::{self, Metrics, ReadMetrics};
use crate::ledger::rows::WALLETS;
use crate::runtime::Runtime;

impl World {
    /// The numbers after so many looks at the wallets of a store.
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
        ReadMetrics.run(&View::new(&actor, store, self.rt.now(), settings)).unwrap()
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
fn ruling_35_a_wallet_that_is_not_what_its_last_event_says_is_found_within_a_round() {
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
        // It stays known until a whole round found nothing.
        assert_eq!(world.checked(&mut store, 2).off, 1);
    }
}
