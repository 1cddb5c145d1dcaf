//! The simulation: whole requests over the real core with faults, from a seed.
//!
//! `HELIOGRAPH_SIM_SEEDS=10000 cargo test -p heliograph-tests --test simulation` runs more seeds than the default of
//! 200; `HELIOGRAPH_SIM_SEED=17` replays one. A failure names its seed. The native server runs the same scenarios on its
//! journal (`native-server/tests/simulation.rs`).

use heliograph_tests::simulation::{Memory, for_seeds, ledger, messages};

const SEEDS: u64 = 200;

#[test]
fn no_acknowledged_message_is_lost_doubled_or_reordered_whatever_the_weather() {
    messages::enough(&for_seeds(SEEDS, |seed| messages::run(Box::new(Memory), seed)));
}

#[test]
fn after_the_answer_to_a_rotation_the_key_before_it_moves_no_money() {
    ledger::enough(&for_seeds(SEEDS, |seed| ledger::run(Box::new(Memory), seed)));
}
