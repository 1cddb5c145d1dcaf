//! How likely is a block, given eight votes a day? `cargo run -p heliograph-core --example verdict_from_votes`

use heliograph_core::facts::verdict::belief::{Ballot, beliefs};

fn main() {
    // Two days of sessions that work, then half a day of sessions that fail. Hours are those since the epoch.
    let vote = |hour: i64| Ballot { hour, blocked: hour >= 48, weight: 1.0, free: 0.03 };
    let votes: Vec<Ballot> = (0..60).step_by(3).map(vote).collect();
    for day in [1, 2, 3, 10, 30] {
        // A network on its own; with more of them, a block on one makes blocks on the others likelier.
        let before: Vec<Ballot> = votes.iter().copied().filter(|vote| vote.hour <= day * 24).collect();
        let p = beliefs(&[&before], day * 24).first().map_or(0.0, |belief| belief.blocked());
        println!("after {day} days: {p:.3}");
    }
}
