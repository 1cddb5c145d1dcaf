//! Counters of the last day and hour (decision offer-index).

use std::collections::BTreeMap;

use super::{World, hours, minutes, text};
use crate::book::minute;
use engine::runtime::Runtime;
use engine::time::{DAY, HOUR};

/// The events of each minute, counted beside the ledger.
#[derive(Default)]
struct Happened {
    transfers: Vec<u32>,
    hires: Vec<u32>,
    /// The minute in which each agent's money last moved.
    active: BTreeMap<String, u32>,
}

#[test]
fn counts_of_a_day_and_an_hour_are_those_of_the_minutes_that_lie_in_them() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000_000_000), world.party(2));
    // This agent has money and does nothing with it.
    world.rich(3, 1_000);
    let listing = world.list(&b, "work", 1_000);
    let now = || minute(world.rt.now());
    let mut happened = Happened::default();
    let mut state = 11_u32;
    for step in 0..220 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if (state >> 16).is_multiple_of(3) {
            let hired = world.hire(&a, &listing).unwrap();
            let receipt = world.claim(&b, &a, &text(&hired, "escrow_id"), hours(1), true).unwrap();
            world.accept(&a, &receipt).unwrap();
            happened.hires.push(now());
        } else {
            world.pay(&a, &b, 1).unwrap();
            happened.transfers.push(now());
        }
        happened.active.extend([(a.name(), now()), (b.name(), now())]);
        if step % 5 == 0 {
            let within = |times: &[u32], span: i64| {
                let first = minute(world.rt.now().plus(-span)) + 1;
                times.iter().filter(|at| **at >= first).count() as u64
            };
            let stats = world.get("/v1/pay/stats");
            let last: Vec<u32> = happened.active.values().copied().collect();
            assert_eq!(stats["wallets"]["active_24h"], within(&last, DAY), "step {step}");
            assert_eq!(stats["hires"]["last_24h"], within(&happened.hires, DAY), "step {step}");
            assert_eq!(stats["hires"]["last_1h"], within(&happened.hires, HOUR), "step {step}");
            assert_eq!(stats["value_settled"]["last_24h_micro"], 1_000 * within(&happened.hires, DAY), "step {step}");
            assert_eq!(stats["value_settled"]["total_micro"], 1_000 * happened.hires.len() as u64);
            let health = world.get("/v1/pay/health");
            assert_eq!(health["counts"]["transfers_settled_24h"], within(&happened.transfers, DAY), "step {step}");
        }
        world.wait(minutes(u64::from(state >> 8) % 24));
    }
    assert!(happened.hires.len() > 40 && happened.transfers.len() > 100);
}
