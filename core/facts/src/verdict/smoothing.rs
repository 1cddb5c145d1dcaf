//! How likely a block was in force at each vote, by all votes including the later ones: the backward half of the filter
//! in [`belief`] (Rabiner, "A tutorial on hidden Markov models", Proceedings of the IEEE 77, 1989, section III.A).

use std::ops::RangeInclusive;

use super::belief::{self, Ballot, Belief, Step, Track, Wait};
use super::constants::ACCESSIBLE_PROBABILITY;

/// The votes of one network, each with the belief after it and the evidence of later votes.
pub struct Course<'a> {
    track: Track<'a>,
    steps: Vec<Step>,
    /// For each vote: the evidence of the votes after it.
    later: Vec<Later>,
}

/// The course of each network.
pub fn courses<'a>(tracks: &[Track<'a>]) -> Vec<Course<'a>> {
    let mut steps: Vec<Vec<Step>> = tracks.iter().map(|track| Vec::with_capacity(track.len())).collect();
    let last = tracks.iter().filter_map(|track| track.last()).map(|ballot| ballot.hour).max().unwrap_or(0);
    belief::traced(tracks, last, |place, step| {
        if let Some(steps) = steps.get_mut(place) {
            steps.push(step);
        }
    });
    tracks.iter().zip(steps).map(|(track, steps)| Course::of(track, steps)).collect()
}

impl<'a> Course<'a> {
    fn of(track: Track<'a>, steps: Vec<Step>) -> Course<'a> {
        let mut course = Course { track, steps, later: Vec::new() };
        let mut later = Later::NOTHING;
        let mut all = Vec::with_capacity(course.steps.len());
        for place in (0..course.steps.len()).rev() {
            all.push(later);
            later = course.back(place, later);
        }
        all.reverse();
        course.later = all;
        course
    }

    /// From the evidence after a vote to the evidence after the vote before it.
    fn back(&self, place: usize, later: Later) -> Later {
        let (Some(ballot), Some(step)) = (self.track.get(place), self.steps.get(place)) else { return later };
        let later = later.after(ballot);
        match place.checked_sub(1).and_then(|before| self.steps.get(before)) {
            Some(before) if before.hour < step.hour => later.before(step.hour - before.hour, step.spreads),
            _ => later,
        }
    }

    /// Probability of a block, 0-1, right after a vote, by the votes up to then.
    pub fn filtered(&self, place: usize) -> f64 {
        self.steps.get(place).map_or(0.0, |step| step.belief.blocked())
    }

    /// Probability of a block, 0-1, at a vote, by all votes.
    pub fn smoothed(&self, place: usize) -> f64 {
        match (self.steps.get(place), self.later.get(place)) {
            (Some(step), Some(later)) => later.blocked(&step.belief),
            _ => 0.0,
        }
    }

    /// The range of votes over which a block lasted, given that it was in force at `place`. The range ends where the
    /// network is more likely free by all votes.
    pub fn around(&self, place: usize) -> RangeInclusive<usize> {
        (self.first_before(place).unwrap_or(place))..=(self.last_after(place).unwrap_or(place))
    }

    fn first_before(&self, place: usize) -> Option<usize> {
        let mut later = Later { free: 0.0, ..*self.later.get(place)? };
        let mut first = place;
        while let Some(before) = first.checked_sub(1) {
            later = self.back(first, later);
            if later.blocked(&self.steps.get(before)?.belief) <= ACCESSIBLE_PROBABILITY {
                break;
            }
            first = before;
        }
        Some(first)
    }

    fn last_after(&self, place: usize) -> Option<usize> {
        let step = self.steps.get(place)?;
        let (mut belief, mut hour) = (step.belief.given_a_block(), step.hour);
        let mut last = place;
        while let (Some(ballot), Some(step)) = (self.track.get(last + 1), self.steps.get(last + 1)) {
            belief = belief.waited(step.hour - hour).with(Belief::of(step.spreads)).after(ballot);
            hour = step.hour;
            if self.later.get(last + 1)?.blocked(&belief) <= ACCESSIBLE_PROBABILITY {
                break;
            }
            last += 1;
        }
        Some(last)
    }
}

/// How likely the later votes are, given the state of a network now; up to a common factor.
#[derive(Clone, Copy)]
struct Later {
    free: f64,
    always: f64,
    in_part: f64,
    now: f64,
    paused: f64,
}

impl Later {
    const NOTHING: Later = Later { free: 1.0, always: 1.0, in_part: 1.0, now: 1.0, paused: 1.0 };

    /// How likely the later votes are under a belief.
    fn of(&self, belief: &Belief) -> f64 {
        (1.0 - belief.blocked()) * self.free + self.under(belief)
    }

    /// Probability of a block, by a belief and the later votes.
    fn blocked(&self, belief: &Belief) -> f64 {
        (self.under(belief) / self.of(belief)).clamp(0.0, 1.0)
    }

    /// The part of [`Later::of`] that lies under a block.
    fn under(&self, belief: &Belief) -> f64 {
        belief.always * self.always
            + belief.in_part * self.in_part
            + belief.now * self.now
            + belief.paused * self.paused
    }

    /// Adds the vote that comes before these later votes.
    fn after(self, ballot: &Ballot) -> Later {
        let [none, always, in_part] = ballot.likely();
        let Later { free, always: a, in_part: p, now, paused } = self;
        let most = (free * none).max(a * always).max(p * in_part).max(now * always).max(paused * none);
        Later {
            free: free * none / most,
            always: a * always / most,
            in_part: p * in_part / most,
            now: now * always / most,
            paused: paused * none / most,
        }
    }

    /// The evidence before a time without a vote, at whose end a block may have spread from other networks.
    fn before(self, hours: i64, spreads: f64) -> Later {
        let wait = Wait::of(hours);
        let new = Belief::of(spreads);
        let from = |state: Belief| self.of(&state.through(&wait).with(new));
        let none = Belief::of(0.0);
        Later {
            free: from(none),
            always: from(Belief { always: 1.0, ..none }),
            in_part: from(Belief { in_part: 1.0, ..none }),
            now: from(Belief { now: 1.0, ..none }),
            paused: from(Belief { paused: 1.0, ..none }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ballots(votes: impl IntoIterator<Item = (i64, bool)>) -> Vec<Ballot> {
        votes.into_iter().map(|(hour, blocked)| Ballot { hour, blocked, weight: 1.0, free: 0.05 }).collect()
    }

    #[test]
    fn the_last_vote_has_nothing_to_learn_from() {
        let votes = ballots((0..20).map(|n| (n * 6, n % 3 == 0)));
        let course = courses(&[&votes]).remove(0);
        assert!((course.filtered(19) - course.smoothed(19)).abs() < 1e-12 && course.filtered(19) > 0.0);
        assert!(courses(&[]).is_empty() && courses(&[&[]])[0].smoothed(0) == 0.0);
    }

    #[test]
    fn the_first_failure_of_a_block_belongs_to_it_and_a_lone_one_does_not() {
        let votes = ballots((0..60).map(|n| (n * 6, n == 5 || (20..40).contains(&n))));
        let course = courses(&[&votes]).remove(0);
        assert!(course.smoothed(5) < 0.2, "{}", course.smoothed(5));
        assert!(course.filtered(20) < 0.5 && course.smoothed(20) > 0.9, "{}", course.smoothed(20));
        for inside in [20, 30, 39] {
            assert_eq!(course.around(inside), 20..=39);
        }
    }

    /// Sums all paths through the hidden states, one by one.
    #[test]
    fn it_is_what_the_sum_over_all_ways_through_the_states_gives() {
        let votes = ballots([(0, false), (5, true), (5, false), (30, true), (100, true)]);
        let states = [0, 1, 2, 3, 4].map(|state| {
            let one = |at| f64::from(u8::from(state == at));
            Belief { always: one(1), in_part: one(2), now: one(3), paused: one(4) }
        });
        let parts = |belief: Belief| [1.0 - belief.blocked(), belief.always, belief.in_part, belief.now, belief.paused];
        let likely = |ballot: &Ballot, state: usize| {
            let [none, always, in_part] = ballot.likely();
            [none, always, in_part, always, none][state]
        };
        let (mut all, mut blocked) = (0.0, [0.0; 5]);
        for way in 0..5_usize.pow(5) {
            let state = |place: usize| way / 5_usize.pow(place as u32) % 5;
            let mut chance = parts(Belief::of(belief::RATE))[state(0)];
            for (place, ballot) in votes.iter().enumerate() {
                if let Some(before) = place.checked_sub(1) {
                    let hours = ballot.hour - votes[before].hour;
                    chance *= parts(states[state(before)].waited(hours))[state(place)];
                }
                chance *= likely(ballot, state(place));
            }
            all += chance;
            for (_, blocked) in blocked.iter_mut().enumerate().filter(|(place, _)| state(*place) > 0) {
                *blocked += chance;
            }
        }
        let course = courses(&[&votes]).remove(0);
        for (place, blocked) in blocked.into_iter().enumerate() {
            assert!((course.smoothed(place) - blocked / all).abs() < 1e-9, "{place}: {}", blocked / all);
        }
    }
}
