//! No money is made or lost: random operations are compared with [`crate::model`] (decision money-model).
//!
//! `cargo xtask sim ledger` is the long form; `HELIOGRAPH_LEDGER_SEED=7` replays one seed. The test on redb is beside
//! its store.

use crate::model::{Model, walk_seeds};
use engine::kv::{Batch, Direction, MemoryStore, Range, Read, Store};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A new store that takes over only the rows of the one before.
fn reopened(store: MemoryStore) -> MemoryStore {
    let (mut new, mut batch) = (MemoryStore::default(), Batch::default());
    let rows = store.scan(&Range::all(), Direction::Ascending, usize::MAX).unwrap();
    rows.into_iter().for_each(|(key, value)| batch.put(key, value));
    new.apply(batch).unwrap();
    new
}

/// The store is built anew only at every 50th crash, because each time copies all rows.
fn model(seed: u64) -> Model<MemoryStore> {
    let mut crashes = 0;
    Model::new(seed, MemoryStore::default(), move |store| {
        crashes += 1;
        if crashes % 50 == 0 { reopened(store) } else { store }
    })
}

/// Steps of one seed: about a year of the model's time, with few enough rows for a quick audit.
const EACH: u64 = 10_000;

#[test]
fn money_is_conserved_over_random_operations_crashes_and_jumps_of_the_clock() {
    let steps = number("HELIOGRAPH_LEDGER_STEPS").unwrap_or(100_000);
    let seeds = match number("HELIOGRAPH_LEDGER_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..steps.div_ceil(EACH),
    };
    let refused = walk_seeds(seeds, steps.min(EACH), Model::ALL, model);
    // A walk that never reaches a limit shows nothing.
    for reason in [
        "insufficient_balance",
        "daily_cap_exceeded",
        "per_tx_cap_exceeded",
        "recipient_not_allowed",
        "recipient_invalid_did",
        "nonce_seen",
        "already_claimed",
        "escrow_not_open",
        "claim_pending",
        "capability_inactive",
        "sender_frozen",
        "system_frozen",
        "amount_out_of_range",
        "receipt_not_pending",
        "envelope_expired",
        "reverify",
    ] {
        assert!(steps < 100_000 || refused.contains_key(reason), "{reason} never came up: {refused:?}");
    }
}

#[test]
fn e13_e14_ten_thousand_random_steps_of_escrows_conserve_money_and_what_is_locked_is_what_is_open() {
    let refused = walk_seeds(0..2, 5_000, Model::ESCROWS, model);
    assert!(refused.contains_key("escrow_not_open") && refused.contains_key("insufficient_balance"), "{refused:?}");
}
