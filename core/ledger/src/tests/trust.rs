//! The trust that paid escrows give to their recipients (decision anchored-weight).

use std::time::Duration;

use serde_json::json;

use super::{Party, World, hours, text};

impl World {
    fn endorse(&self, of: &Party, level: &str) {
        let path = format!("/v1/admin/agents/{}/endorse", of.did());
        let (status, body) = self.send("POST", &path, Some("operator"), &json!({ "level": level }));
        assert_eq!(status, 200, "{body}");
    }

    /// Anchored weight, and how many escrows it counts.
    fn trusted(&self, of: &Party) -> (f64, u64) {
        let trust = self.get(&format!("/v1/agent/trust/{}", of.did()));
        (trust["anchored_weight"].as_f64().unwrap(), trust["activity"]["escrows_settled"].as_u64().unwrap())
    }

    fn settle(&self, from: &Party, to: &Party) {
        let escrow = self.open(from, to, 1_000, hours(1)).unwrap();
        self.release(from, &escrow).unwrap();
    }
}

#[test]
fn escrows_count_from_payers_with_weight_of_their_own_and_from_no_others() {
    let world = World::new();
    let (payer, provider) = (world.rich(1, 1_000_000), world.rich(2, 1_000_000));
    let sybil = world.party(3);
    world.settle(&payer, &provider);
    assert_eq!(world.trusted(&provider), (0.0, 0), "anybody can pay");

    world.endorse(&payer, "high");
    world.settle(&payer, &provider);
    // A vote of weight 10 is 10/13, and the first escrow earns half of it.
    assert_eq!(world.trusted(&provider), (0.3846, 1));
    let listing = world.list(&provider, "work", 1_000);
    let hired = world.hire(&payer, &listing).unwrap();
    let receipt = world.claim(&provider, &payer, &text(&hired, "escrow_id"), hours(1), true).unwrap();
    world.accept(&payer, &receipt).unwrap();
    assert_eq!(world.trusted(&provider), (0.5769, 2), "the second earns half as much");
    assert_eq!(world.trusted(&payer), (10.0, 0), "paying makes nobody trusted");

    // Weight from escrows is not lent on. Otherwise one trusted payer could start a ring of agents that lift each
    // other.
    world.settle(&provider, &sybil);
    assert_eq!(world.trusted(&sybil), (0.0, 0));
    for _ in 0..40 {
        world.settle(&payer, &provider);
    }
    let trust = world.get(&format!("/v1/agent/trust/{}", provider.did()));
    assert_eq!(trust["trust_level"], "low", "one payer alone lifts nobody: {trust}");
    assert!(!trust["notes"].to_string().contains("no credit ledger"), "{trust}");
}

#[test]
fn what_a_payer_did_not_pay_out_itself_says_nothing_of_the_recipient() {
    let world = World::new();
    let (payer, provider) = (world.rich(1, 1_000_000), world.party(2));
    world.endorse(&payer, "high");
    let escrow = world.open(&payer, &provider, 1_000, hours(1)).unwrap();
    world.refund(&payer, &escrow).unwrap();
    let claimed = world.open(&payer, &provider, 1_000, hours(6)).unwrap();
    world.claim(&provider, &payer, &claimed, hours(1), true).unwrap();
    world.wait(Duration::from_secs(2 * 3_600));
    let seen = world.get(&format!("/v1/pay/escrow/{claimed}"));
    assert_eq!(seen.pointer("/escrow/state").or(seen.get("state")), Some(&json!("released")), "{seen}");
    assert_eq!(world.trusted(&provider), (0.0, 0));

    // The operator withdraws its endorsement, and with it the payer's weight.
    let path = format!("/v1/admin/agents/{}/endorse", payer.did());
    world.send("POST", &path, Some("operator"), &json!({ "level": null }));
    world.settle(&payer, &provider);
    assert_eq!(world.trusted(&provider), (0.0, 0));
}
