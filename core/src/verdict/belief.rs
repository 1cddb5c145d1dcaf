//! How likely a block is in force on each network of a country: a hidden Markov filter over the votes about one target.
//!
//! A network is free, blocks, blocks in some hours of the week (then it does so right now or pauses), or blocks in part: some
//! sessions of every hour. Between votes a block may begin (the likelier, the more the other networks block), end, pause and go
//! on; each vote then says more or less about it, by how often sessions fail in each of these states. Why this method and these
//! numbers: `docs/decisions/verdicts.md`.

use super::constants::{
    BLOCK_BEGINS, BLOCK_ENDS, BLOCK_SPREADS, FAILS_BLOCKED, FAILS_IN_PART, FREE_LEAST, FREE_MOST, IN_HOURS, IN_PART,
    PAUSE_HOURS, SPELL_HOURS,
};
use super::posterior::log10_odds;
use super::window::{HourVote, by_day};

/// The votes of a network, oldest first, each with how likely it would be blocked where nobody blocks.
#[derive(Debug, Clone, Copy)]
pub struct Track<'a> {
    pub votes: &'a [HourVote],
    pub free: &'a [f64],
}

/// Probabilities of the states in which a block is in force on a network, each 0-1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Belief {
    /// All sessions at all hours.
    pub always: f64,
    /// Some sessions at all hours.
    pub in_part: f64,
    /// In some hours of the week, and now.
    pub now: f64,
    /// In some hours of the week, not now.
    pub paused: f64,
}

/// What the probabilities rest on: rates that were chosen by the tables of simulated worlds.
pub const CALIBRATION: &str = "simulated_worlds";

/// What is believed of a pair of country and site without any vote: the share of time that a block is in force.
pub const RATE: f64 = BLOCK_BEGINS / (BLOCK_BEGINS + BLOCK_ENDS);

/// Share of the time that a block which keeps hours blocks.
const SPELLS: f64 = SPELL_HOURS / (SPELL_HOURS + PAUSE_HOURS);

impl Belief {
    /// In the usual parts.
    pub fn of(total: f64) -> Belief {
        let (in_part, in_hours) = (total * IN_PART, total * IN_HOURS);
        Belief {
            always: total - in_part - in_hours,
            in_part,
            now: in_hours * SPELLS,
            paused: in_hours * (1.0 - SPELLS),
        }
    }

    /// Probability that a block is in force, whatever hours it keeps.
    pub fn blocked(&self) -> f64 {
        self.always + self.in_part + self.in_hours()
    }

    /// Probability of a block that keeps hours.
    pub fn in_hours(&self) -> f64 {
        self.now + self.paused
    }

    /// When a block may have begun with the probabilities of `new`.
    fn with(self, new: Belief) -> Belief {
        let free = 1.0 - self.blocked();
        Belief {
            always: self.always + free * new.always,
            in_part: self.in_part + free * new.in_part,
            now: self.now + free * new.now,
            paused: self.paused + free * new.paused,
        }
    }

    /// After so many hours without a vote.
    pub fn waited(self, hours: i64) -> Belief {
        let days = hours as f64 / 24.0;
        let before = self.blocked();
        let total = RATE + (before - RATE) * (-(BLOCK_BEGINS + BLOCK_ENDS) * days).exp();
        // What goes on keeps its hours.
        let on = (before * (-BLOCK_ENDS * days).exp()).min(total);
        let kept = if before > 0.0 { on / before } else { 0.0 };
        let in_hours = self.in_hours() * kept;
        let spell = if self.in_hours() > 0.0 { self.now / self.in_hours() } else { SPELLS };
        let spell = SPELLS + (spell - SPELLS) * (-(1.0 / SPELL_HOURS + 1.0 / PAUSE_HOURS) * hours as f64).exp();
        let new = Belief::of(total - on);
        Belief {
            always: self.always * kept + new.always,
            in_part: self.in_part * kept + new.in_part,
            now: in_hours * spell + new.now,
            paused: in_hours * (1.0 - spell) + new.paused,
        }
    }

    /// After a vote that counts so much (0-1), and would be blocked with the probability `free` where nobody blocks.
    fn after(self, blocked: bool, free: f64, weight: f64) -> Belief {
        let free = free.clamp(FREE_LEAST, FREE_MOST);
        let likely = |fails: f64| {
            let fails = 1.0 - (1.0 - fails) * (1.0 - free);
            if blocked { fails } else { 1.0 - fails }.powf(weight)
        };
        let (none, blocks) = (likely(0.0), likely(FAILS_BLOCKED));
        let after = Belief {
            always: self.always * blocks,
            in_part: self.in_part * likely(FAILS_IN_PART),
            now: self.now * blocks,
            paused: self.paused * none,
        };
        let all = (1.0 - self.blocked()) * none + after.blocked();
        Belief {
            always: after.always / all,
            in_part: after.in_part / all,
            now: after.now / all,
            paused: after.paused / all,
        }
    }
}

/// What a vote did to a belief.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Hours since the epoch.
    pub hour: i64,
    pub blocked: bool,
    /// How likely it would be blocked where nobody blocks.
    pub free: f64,
    /// log10 of the factor by which it changed the odds of a block.
    pub log10_weight: f64,
    /// The belief after it.
    pub belief: Belief,
}

/// A network on its way through time.
struct Walk<'a> {
    track: Track<'a>,
    /// How much each vote counts: a day has no more than its share.
    weights: Vec<f64>,
    next: usize,
    belief: Belief,
    /// Hour of `belief`.
    hour: i64,
    /// How many of the other networks were believed to block when it last voted, 0-1.
    others: f64,
}

impl<'a> Walk<'a> {
    fn begin(track: Track<'a>, hour: i64) -> Walk<'a> {
        let weights = by_day(track.votes).flat_map(|(scale, votes)| votes.iter().map(move |_| scale)).collect();
        Walk { track, weights, next: 0, belief: Belief::of(RATE), hour, others: RATE }
    }

    fn next_hour(&self) -> Option<i64> {
        self.track.votes.get(self.next).map(|vote| vote.hour)
    }

    /// Takes the votes of an hour, while so many of the other networks are believed to block.
    fn take(&mut self, hour: i64, others: f64, mut note: impl FnMut(Step)) {
        // What began on others since its last vote may have begun here; what it did not follow then, it need not now.
        let begun = BLOCK_SPREADS * (others - self.others).max(0.0);
        self.belief = self.belief.waited(hour - self.hour).with(Belief::of(begun));
        (self.hour, self.others) = (hour, others);
        while let Some(vote) = self.track.votes.get(self.next).filter(|vote| vote.hour == hour) {
            let free = self.track.free.get(self.next).copied().unwrap_or(FREE_LEAST);
            let weight = self.weights.get(self.next).copied().unwrap_or(1.0);
            let before = self.belief.blocked();
            self.belief = self.belief.after(vote.blocked, free, weight);
            let log10_weight = log10_odds(self.belief.blocked()) - log10_odds(before);
            note(Step { hour, blocked: vote.blocked, free, log10_weight, belief: self.belief });
            self.next += 1;
        }
    }
}

/// What is believed of each network at the end of an hour, from its votes up to then. Time alone moves a belief only towards
/// [`RATE`]. Independent of the order of the networks.
pub fn beliefs(tracks: &[Track<'_>], hour: i64) -> Vec<Belief> {
    traced(tracks, hour, |_, _| {})
}

/// The same, with every step of each network (by its place) on the way.
pub fn traced(tracks: &[Track<'_>], hour: i64, mut note: impl FnMut(usize, Step)) -> Vec<Belief> {
    let first = tracks.iter().filter_map(|track| track.votes.first()).map(|vote| vote.hour).min().unwrap_or(hour);
    let mut walks: Vec<Walk<'_>> = tracks.iter().map(|track| Walk::begin(*track, first)).collect();
    let others = walks.len().saturating_sub(1).max(1) as f64;
    while let Some(next) = walks.iter().filter_map(Walk::next_hour).min().filter(|next| *next <= hour) {
        // As all were before this hour.
        let sum: f64 = walks.iter().map(|walk| walk.belief.blocked()).sum();
        for (place, walk) in walks.iter_mut().enumerate().filter(|(_, walk)| walk.next_hour() == Some(next)) {
            let rest = (sum - walk.belief.blocked()).max(0.0);
            walk.take(next, rest / others, |step| note(place, step));
        }
    }
    walks.into_iter().map(|walk| walk.belief.waited(hour - walk.hour)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn votes(list: &[(i64, bool)]) -> Vec<HourVote> {
        let vote = |(hour, blocked): &(i64, bool)| HourVote {
            hour: *hour,
            vote_key: 0,
            blocked: *blocked,
            log10_lr: 0.0,
            measurements: 1,
            techniques: Default::default(),
            rules: Default::default(),
        };
        list.iter().map(vote).collect()
    }

    fn believed(list: &[(i64, bool)], free: f64, at: i64) -> f64 {
        let votes = votes(list);
        beliefs(&[Track { votes: &votes, free: &vec![free; votes.len()] }], at)[0].blocked()
    }

    #[test]
    fn time_alone_moves_a_belief_only_towards_the_rate() {
        for list in [vec![(0, true), (8, true), (16, true)], vec![(0, false), (8, false), (16, false)]] {
            let mut before = believed(&list, 0.03, 16);
            for day in 1..60 {
                let now = believed(&list, 0.03, 16 + 24 * day);
                assert!((now - RATE).abs() <= (before - RATE).abs() + 1e-12, "day {day}: {before} to {now}");
                before = now;
            }
        }
    }

    #[test]
    fn a_failure_says_little_where_much_fails_anyhow() {
        let failures = [(0, true), (6, true), (12, true)];
        assert!(believed(&failures, 0.03, 12) > 0.95);
        assert!(believed(&failures, 0.9, 12) < 0.2);
    }

    #[test]
    fn a_block_on_the_other_networks_makes_one_here_likelier_and_their_order_does_not_matter() {
        let (blocked, here) = (votes(&[(0, true), (6, true), (12, true)]), votes(&[(20, true)]));
        let (a, b) = (Track { votes: &blocked, free: &[0.03; 3] }, Track { votes: &here, free: &[0.03] });
        let [with, alone] = [beliefs(&[a, b], 24)[1], beliefs(&[b], 24)[0]].map(|belief| belief.blocked());
        assert!(with > alone + 0.1, "{with} {alone}");
        assert_eq!(beliefs(&[a, b], 24)[1], beliefs(&[b, a], 24)[0]);
    }

    /// A chatty probe is no crowd.
    #[test]
    fn a_day_counts_as_eight_votes_at_most() {
        let many: Vec<(i64, bool)> = (0..200).map(|n| (n / 10, n % 3 == 0)).collect();
        let few: Vec<(i64, bool)> = (0..200).step_by(25).map(|n| (n / 10, n % 3 == 0)).collect();
        let far = |p: f64| (p / (1.0 - p)).ln().abs();
        assert!(far(believed(&many, 0.3, 24)) < 4.0 * far(believed(&few, 0.3, 24)) + 4.0);
    }
}
