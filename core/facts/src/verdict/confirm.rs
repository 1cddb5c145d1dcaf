//! Confirms the measurements of volunteers' probes: they may vote only when independent probes of the same network, or
//! another source of measurements, agree (decision probes-confirm-probes).
//!
//! Anybody can register a probe, so no single one decides anything. Statements are compared only within one network,
//! one target and one span of six hours, because the truth may differ elsewhere. Each probe has a weight between 0 and
//! 1: a fresh probe has none, later its weight follows how often it was right. All probes behind one block of addresses
//! are one voter. A side is confirmed when it has two voters, a weight of 1 and three quarters of all weight. So two
//! liars of three leave the network undecided, and a fifth of liars changes nothing.

use std::collections::BTreeMap;

use super::constants::{
    PROBE_FLOOR_TRUST, PROBE_FULL_TRUST, PROBE_MAJORITY, PROBE_REFERENCE_VOTERS, PROBE_VOTERS, PROBE_WEIGHT,
};

/// The statement of one probe about one target on one network in one span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Say {
    /// The block of addresses it measures from.
    pub block: u64,
    /// 0-1; see [`weight`].
    pub weight: f64,
    /// At least half of its measurements failed in the manner of a block.
    pub failed: bool,
}

/// Share of the comparisons in which a probe agreed, by the rule of succession: 0.5 before the first comparison.
pub fn trust(agreed: u32, disagreed: u32) -> f64 {
    (f64::from(agreed) + 1.0) / (f64::from(agreed) + f64::from(disagreed) + 2.0)
}

/// The weight of a probe that is no longer fresh: 0 at a trust of 0.25 or less, 0.5 where nothing is known, 1 from
/// 0.75.
pub fn weight(trust: f64) -> f64 {
    ((trust - PROBE_FLOOR_TRUST) / (PROBE_FULL_TRUST - PROBE_FLOOR_TRUST)).clamp(0.0, 1.0)
}

/// The number of voters and their weight on each side.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sides {
    failed: (usize, f64),
    clear: (usize, f64),
}

impl Sides {
    /// `other` is the statement of another source of measurements. It counts as one voter of full weight.
    fn of<'a>(says: impl Iterator<Item = &'a Say>, other: Option<bool>) -> Sides {
        let mut voters: BTreeMap<(bool, u64), f64> = BTreeMap::new();
        for say in says.filter(|say| say.weight > 0.0) {
            let known = voters.entry((say.failed, say.block)).or_default();
            *known = known.max(say.weight);
        }
        let mut sides = Sides::default();
        for ((failed, _), weight) in voters {
            sides.add(failed, weight);
        }
        if let Some(failed) = other {
            sides.add(failed, 1.0);
        }
        sides
    }

    fn add(&mut self, failed: bool, weight: f64) {
        let side = if failed { &mut self.failed } else { &mut self.clear };
        *side = (side.0 + 1, side.1 + weight);
    }

    /// The side with enough voters and weight, if one has them.
    fn winner(&self, voters: usize) -> Option<bool> {
        let all = self.failed.1 + self.clear.1;
        let wins = |side: (usize, f64)| side.0 >= voters && side.1 >= PROBE_WEIGHT && side.1 >= PROBE_MAJORITY * all;
        if wins(self.failed) { Some(true) } else { wins(self.clear).then_some(false) }
    }
}

/// The confirmed statement: `true` when the target fails, `false` when it works, `None` when neither is confirmed.
pub fn confirmed(says: &[Say], other: Option<bool>) -> Option<bool> {
    Sides::of(says.iter(), other).winner(PROBE_VOTERS)
}

/// The statement that a probe is compared with: that of all probes outside of its own block, if another source is among
/// them or they are at least three. Two strangers are not enough: they would punish the one honest probe on a network
/// that censors.
pub fn reference(says: &[Say], own: &Say, other: Option<bool>) -> Option<bool> {
    let others = || says.iter().filter(|say| say.block != own.block);
    let sides = Sides::of(others(), other);
    match other {
        // Where probes outvote the other source, no probe is judged.
        Some(other) => sides.winner(1).filter(|winner| *winner == other),
        None => sides.winner(PROBE_REFERENCE_VOTERS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(block: u64, weight: f64, failed: bool) -> Say {
        Say { block, weight, failed }
    }

    #[test]
    fn nobody_confirms_itself_and_probes_of_one_block_are_one() {
        assert_eq!(confirmed(&[say(1, 1.0, true)], None), None);
        let crowd: Vec<Say> = (0..200).map(|_| say(1, 1.0, true)).collect();
        assert_eq!(confirmed(&crowd, None), None);
        assert_eq!(confirmed(&[say(1, 1.0, true), say(2, 1.0, true)], None), Some(true));
        assert_eq!(confirmed(&[say(1, 1.0, true)], Some(true)), Some(true));
        assert_eq!(confirmed(&[say(1, 1.0, true)], Some(false)), None);
    }

    /// Decision probes-confirm-probes: 2 of 3 nodes on one network lying, and 200 fresh ones.
    #[test]
    fn two_liars_of_three_decide_nothing_and_fresh_ones_have_no_weight() {
        let says = [say(1, 0.5, true), say(2, 0.5, true), say(3, 0.5, false)];
        assert_eq!(confirmed(&says, None), None);
        let mut says: Vec<Say> = (10..210).map(|block| say(block, 0.0, true)).collect();
        assert_eq!(confirmed(&says, None), None);
        says.extend([say(1, 0.5, false), say(2, 0.5, false)]);
        assert_eq!(confirmed(&says, None), Some(false));
    }

    /// Decision probes-confirm-probes: the only honest probe is not punished by two liars.
    #[test]
    fn two_strangers_are_no_measure_but_three_or_another_source_are() {
        let honest = say(1, 0.5, true);
        let liars = [honest, say(2, 1.0, false), say(3, 1.0, false)];
        assert_eq!(reference(&liars, &honest, None), None);
        assert_eq!(reference(&[honest], &honest, None), None);
        let three = [honest, say(2, 0.5, false), say(3, 0.5, false), say(4, 0.5, false)];
        assert_eq!(reference(&three, &honest, None), Some(false));
        assert_eq!(reference(&[honest], &honest, Some(true)), Some(true));
        // Two probes of weight 1 contradict the other source, so nobody is judged.
        assert_eq!(reference(&liars, &honest, Some(true)), None);
    }

    #[test]
    fn weight_follows_what_was_right() {
        assert!((trust(0, 0) - 0.5).abs() < 1e-9 && (weight(0.5) - 0.5).abs() < 1e-9);
        assert!(weight(trust(0, 5)) < 1e-9 && weight(trust(20, 1)) > 0.999);
    }
}
