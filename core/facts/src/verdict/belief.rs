//! How likely each network of a country blocks a target: a hidden Markov filter over the votes about that target.
//!
//! A network has one of four states: it is free, it blocks always, it blocks in some hours of the week (and then either
//! blocks now or pauses), or it blocks some sessions of every hour. Between votes a block may begin, end, pause or go
//! on; it begins more easily when more of the other networks block. Each vote then changes the probabilities by how
//! often sessions fail in each state. `docs/decisions/verdicts.md` explains the method and its numbers.

use super::constants::{
    AGE_LIMIT, BLOCK_BEGINS, BLOCK_ENDS, BLOCK_SPREADS, FAILS_BLOCKED, FAILS_IN_PART, FREE_LEAST, FREE_MOST, IN_HOURS,
    IN_PART, PAUSE_HOURS, SPELL_HOURS,
};
use super::posterior::log10_odds;
use engine::time::HOUR;
use std::sync::LazyLock;

/// The votes of a network in one hour that say the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ballot {
    /// Hours since the epoch.
    pub hour: i64,
    pub blocked: bool,
    /// The number of votes that it counts as: the votes of one day share a limited weight.
    pub weight: f64,
    /// Probability of a blocked vote where nobody blocks, 0-1.
    pub free: f64,
}

/// The votes of a network, oldest first.
pub type Track<'a> = &'a [Ballot];

/// The probability of each state in which a block is in force on a network, each 0-1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Belief {
    /// All sessions at all hours.
    pub always: f64,
    /// Some sessions at all hours.
    pub in_part: f64,
    /// In some hours of the week, and it blocks now.
    pub now: f64,
    /// In some hours of the week, and it pauses now.
    pub paused: f64,
}

/// The source of the rates behind the probabilities: they were chosen by tables of simulated worlds.
pub const CALIBRATION: &str = "simulated_worlds";

/// The belief about a network without any vote: the share of time in which a block is in force.
pub const RATE: f64 = BLOCK_BEGINS / (BLOCK_BEGINS + BLOCK_ENDS);

/// Share of the time in which a block that keeps hours blocks.
const SPELLS: f64 = SPELL_HOURS / (SPELL_HOURS + PAUSE_HOURS);

impl Belief {
    /// Divides a probability of a block into the states, by their usual shares.
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

    /// The belief after a block may have begun, with the probabilities of `new`.
    pub(super) fn with(self, new: Belief) -> Belief {
        let free = 1.0 - self.blocked();
        Belief {
            always: self.always + free * new.always,
            in_part: self.in_part + free * new.in_part,
            now: self.now + free * new.now,
            paused: self.paused + free * new.paused,
        }
    }

    /// The belief after so many hours without a vote, which move it towards [`RATE`].
    pub fn waited(self, hours: i64) -> Belief {
        self.through(&Wait::of(hours))
    }

    /// The belief after so many hours that move it towards another rate, 0-1 (decision rate-of-a-kind).
    pub fn waited_towards(self, rate: f64, hours: i64) -> Belief {
        if rate == RATE { self.waited(hours) } else { self.through(&Wait::towards(rate, hours)) }
    }

    /// The belief after a time without a vote. Linear in the probabilities of the states.
    pub(super) fn through(self, wait: &Wait) -> Belief {
        let before = self.blocked();
        let total = wait.rate + (before - wait.rate) * wait.unlike_the_rate;
        // A block that goes on keeps its hours.
        let on = (before * wait.goes_on).min(total);
        let kept = if before > 0.0 { on / before } else { 0.0 };
        let in_hours = self.in_hours() * kept;
        let spell = if self.in_hours() > 0.0 { self.now / self.in_hours() } else { SPELLS };
        let spell = SPELLS + (spell - SPELLS) * wait.same_spell;
        let new = Belief::of(total - on);
        Belief {
            always: self.always * kept + new.always,
            in_part: self.in_part * kept + new.in_part,
            now: in_hours * spell + new.now,
            paused: in_hours * (1.0 - spell) + new.paused,
        }
    }

    /// The same belief, given that a block is in force.
    pub(super) fn given_a_block(self) -> Belief {
        let all = self.blocked();
        Belief {
            always: self.always / all,
            in_part: self.in_part / all,
            now: self.now / all,
            paused: self.paused / all,
        }
    }

    /// The belief after a vote.
    pub(super) fn after(self, ballot: &Ballot) -> Belief {
        let [none, always, in_part] = ballot.likely();
        let after = Belief {
            always: self.always * always,
            in_part: self.in_part * in_part,
            now: self.now * always,
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

/// The effect of a time without a vote.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    /// The belief after a very long time.
    rate: f64,
    /// The share of the distance to the rate that is left.
    unlike_the_rate: f64,
    /// Probability that a block was in force all the time.
    goes_on: f64,
    /// The share of the knowledge about spell or pause that is left.
    same_spell: f64,
}

/// The waits of up to [`HEARD`] hours: nearly all that are ever asked for.
static WAITS: LazyLock<Vec<Wait>> = LazyLock::new(|| (0..=HEARD).map(|hours| Wait::towards(RATE, hours)).collect());

impl Wait {
    pub(super) fn of(hours: i64) -> Wait {
        let known = usize::try_from(hours).ok().and_then(|hours| WAITS.get(hours)).copied();
        known.unwrap_or_else(|| Wait::towards(RATE, hours))
    }

    /// Blocks begin and end faster or slower than at [`RATE`], so that the distance to the rate shrinks as fast.
    fn towards(rate: f64, hours: i64) -> Wait {
        let days = hours as f64 / 24.0;
        let begins_or_ends = BLOCK_BEGINS + BLOCK_ENDS;
        Wait {
            rate,
            unlike_the_rate: (-begins_or_ends * days).exp(),
            goes_on: (-begins_or_ends * (1.0 - rate) * days).exp(),
            same_spell: (-(1.0 / SPELL_HOURS + 1.0 / PAUSE_HOURS) * hours as f64).exp(),
        }
    }
}

impl Ballot {
    /// Probability of this vote in three cases: nobody blocks (or the block pauses), a block, a block in part.
    pub(super) fn likely(&self) -> [f64; 3] {
        let free = self.free.clamp(FREE_LEAST, FREE_MOST);
        [0.0, FAILS_BLOCKED, FAILS_IN_PART].map(|fails: f64| {
            let fails = 1.0 - (1.0 - fails) * (1.0 - free);
            let likely = if self.blocked { fails } else { 1.0 - fails };
            // Most votes weigh 1, and this is asked for every vote.
            if self.weight == 1.0 { likely } else { likely.powf(self.weight) }
        })
    }
}

/// Hours without a vote after which a network no longer counts for the other networks of its country: the age limit of
/// verdicts.
const HEARD: i64 = AGE_LIMIT / HOUR;

/// The effect of one vote on a belief.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Hours since the epoch.
    pub hour: i64,
    pub blocked: bool,
    /// Probability of a blocked vote where nobody blocks.
    pub free: f64,
    /// Probability that a block spread from the other networks just before the vote.
    pub spreads: f64,
    /// Probability of a block just before the vote.
    pub before: f64,
    /// The belief after the vote.
    pub belief: Belief,
}

impl Step {
    /// log10 of the factor by which the vote changed the odds of a block.
    pub fn log10_weight(&self) -> f64 {
        log10_odds(self.belief.blocked()) - log10_odds(self.before)
    }
}

/// The belief about one network while its votes are read in order of time.
struct Walk {
    /// Votes that were read.
    read: usize,
    belief: Belief,
    /// Hour of `belief`.
    hour: i64,
    /// The sum of the beliefs about the other networks when this one last voted.
    others: f64,
}

impl Walk {
    /// True when the belief is at most [`HEARD`] hours old at this hour: a silent network no longer counts.
    fn is_heard(&self, hour: i64) -> bool {
        hour - self.hour <= HEARD
    }

    /// Reads the votes of an hour. `spreads` is the probability that a block came from the other networks just before.
    fn take(&mut self, track: Track<'_>, hour: i64, spreads: f64, mut note: impl FnMut(Step)) {
        self.belief = self.belief.waited(hour - self.hour).with(Belief::of(spreads));
        self.hour = hour;
        let mut spreads = spreads;
        while let Some(ballot) = track.get(self.read).filter(|ballot| ballot.hour == hour) {
            let before = self.belief.blocked();
            self.belief = self.belief.after(ballot);
            let Ballot { hour, blocked, free, .. } = *ballot;
            note(Step { hour, blocked, free, spreads, before, belief: self.belief });
            spreads = 0.0;
            self.read += 1;
        }
    }
}

/// The filter over the votes of a country's networks. It keeps what it has read, so that the beliefs at many hours cost
/// one reading when each hour only adds votes.
#[derive(Default)]
pub struct Filter {
    tracks: Vec<Vec<Ballot>>,
    walks: Vec<Walk>,
    /// Hour of the first vote.
    first: i64,
    /// The hour up to which votes were read.
    hour: i64,
}

impl Filter {
    /// The belief about each network at the end of an hour, from its votes up to then. `note` gets each step that was
    /// not read before, with the place of its network in `tracks`. The beliefs are those of a new filter, whatever was
    /// asked before.
    pub fn beliefs(&mut self, tracks: Vec<Vec<Ballot>>, hour: i64, mut note: impl FnMut(usize, Step)) -> Vec<Belief> {
        let first = tracks.iter().filter_map(|track| track.first()).map(|ballot| ballot.hour).min().unwrap_or(hour);
        if !self.goes_on(&tracks, first, hour) {
            let others = tracks.len().saturating_sub(1) as f64 * RATE;
            let walk = |_: &Vec<Ballot>| Walk { read: 0, belief: Belief::of(RATE), hour: first, others };
            *self = Filter { walks: tracks.iter().map(walk).collect(), first, ..Filter::default() };
        }
        self.tracks = tracks;
        self.hour = hour;
        while let Some(next) = self.next_hour().filter(|next| *next <= hour) {
            self.take(next, &mut note);
        }
        self.walks.iter().map(|walk| walk.belief.waited(hour - walk.hour)).collect()
    }

    /// Whether all that was read is as it was, and nothing came before it.
    fn goes_on(&self, tracks: &[Vec<Ballot>], first: i64, hour: i64) -> bool {
        let same = |((walk, old), new): ((&Walk, &Vec<Ballot>), &Vec<Ballot>)| {
            old.get(..walk.read) == new.get(..walk.read) && new.get(walk.read).is_none_or(|next| next.hour > self.hour)
        };
        (self.walks.len(), self.first) == (tracks.len(), first)
            && self.hour <= hour
            && self.walks.iter().zip(&self.tracks).zip(tracks).all(same)
    }

    fn next_hour(&self) -> Option<i64> {
        let next = |(walk, track): (&Walk, &Vec<Ballot>)| track.get(walk.read).map(|ballot| ballot.hour);
        self.walks.iter().zip(&self.tracks).filter_map(next).min()
    }

    /// Reads the votes of an hour on all networks.
    fn take(&mut self, next: i64, note: &mut impl FnMut(usize, Step)) {
        // The beliefs before this hour, so that the order of the networks does not matter.
        let sum: f64 = self.walks.iter().map(|walk| walk.belief.blocked()).sum();
        let heard = self.walks.iter().filter(|walk| walk.is_heard(next)).count();
        let votes = |walk: &Walk, track: &[Ballot]| track.get(walk.read).is_some_and(|ballot| ballot.hour == next);
        let all = self.walks.iter_mut().zip(&self.tracks).enumerate();
        for (place, (walk, track)) in all.filter(|(_, (walk, track))| votes(walk, track)) {
            let rest = (sum - walk.belief.blocked()).max(0.0);
            let others = heard.saturating_sub(usize::from(walk.is_heard(next))).max(1) as f64;
            // A block that began on the others since the last vote here may have spread here. An older one counted at
            // that vote.
            let spreads = BLOCK_SPREADS * ((rest - walk.others) / others).clamp(0.0, 1.0);
            walk.others = rest;
            walk.take(track, next, spreads, |step| note(place, step));
        }
    }
}

/// The belief about each network at the end of an hour, from its votes up to then. Time alone moves a belief only
/// towards [`RATE`]. Independent of the order of the networks.
pub fn beliefs(tracks: &[Track<'_>], hour: i64) -> Vec<Belief> {
    traced(tracks, hour, |_, _| {})
}

/// The same, and reports each step of each network (by its place in `tracks`) on the way.
pub fn traced(tracks: &[Track<'_>], hour: i64, note: impl FnMut(usize, Step)) -> Vec<Belief> {
    Filter::default().beliefs(tracks.iter().map(|track| track.to_vec()).collect(), hour, note)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn votes(list: &[(i64, bool)], free: f64) -> Vec<Ballot> {
        list.iter().map(|(hour, blocked)| Ballot { hour: *hour, blocked: *blocked, weight: 1.0, free }).collect()
    }

    fn believed(list: &[(i64, bool)], free: f64, at: i64) -> f64 {
        beliefs(&[&votes(list, free)], at)[0].blocked()
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
    fn time_moves_a_belief_to_the_rate_that_it_is_given() {
        for rate in [RATE, 2.0 * RATE, 8.0 * RATE] {
            for start in [0.0, 0.3, 1.0] {
                let mut before = start;
                for days in 1..200 {
                    let now = Belief::of(start).waited_towards(rate, 24 * days);
                    assert!(
                        (now.blocked() - rate).abs() <= (before - rate).abs() + 1e-12,
                        "{rate} from {start}, day {days}"
                    );
                    assert!([now.always, now.in_part, now.now, now.paused].iter().all(|part| *part >= 0.0));
                    before = now.blocked();
                }
                assert!((before - rate).abs() < 1e-6);
            }
        }
        let [usual, same] = [Belief::of(0.9).waited(100), Belief::of(0.9).waited_towards(RATE + 1e-15, 100)];
        assert!((usual.always - same.always).abs() < 1e-12 && (usual.now - same.now).abs() < 1e-12);
    }

    #[test]
    fn a_failure_says_little_where_much_fails_anyhow() {
        let failures = [(0, true), (6, true), (12, true)];
        assert!(believed(&failures, 0.03, 12) > 0.95);
        assert!(believed(&failures, 0.9, 12) < 0.2);
    }

    #[test]
    fn a_block_on_the_other_networks_makes_one_here_likelier_and_their_order_does_not_matter() {
        let (a, b) = (votes(&[(0, true), (6, true), (12, true)], 0.03), votes(&[(20, true)], 0.03));
        let [with, alone] = [beliefs(&[&a, &b], 24)[1], beliefs(&[&b], 24)[0]].map(|belief| belief.blocked());
        assert!(with > alone + 0.1, "{with} {alone}");
        assert_eq!(beliefs(&[&a, &b], 24)[1], beliefs(&[&b, &a], 24)[0]);
    }

    #[test]
    fn a_filter_that_goes_on_believes_what_a_new_one_does() {
        let all: Vec<Vec<Ballot>> = (1..4_i64)
            .map(|n| votes(&(0..100).map(|k| (k * (5 + n), (k / 7 + n) % 3 == 0)).collect::<Vec<_>>(), 0.05))
            .collect();
        let within = |first: i64, last: i64| -> Vec<Vec<Ballot>> {
            let inside = |ballot: &&Ballot| (first..=last).contains(&ballot.hour);
            all.iter().map(|track| track.iter().filter(inside).copied().collect()).collect()
        };
        let mut filter = Filter::default();
        // The first votes drop out from hour 240 on, and the last two moments go back.
        for hour in (0..600).step_by(12).chain([300, 100]) {
            let tracks = within(hour - 240, hour);
            let mut steps = 0;
            let beliefs = filter.beliefs(tracks.clone(), hour, |_, _| steps += 1);
            assert_eq!(beliefs, Filter::default().beliefs(tracks.clone(), hour, |_, _| {}), "hour {hour}");
            let votes: usize = tracks.iter().map(Vec::len).sum();
            assert!(steps < votes || hour == 0 || hour >= 240 || hour == 100, "hour {hour} read {steps} of {votes}");
        }
        // A vote that comes late is read, and one whose weight changed is read again.
        let mut tracks = within(0, 48);
        filter.beliefs(tracks.clone(), 48, |_, _| {});
        let late = Ballot { weight: 0.5, ..tracks[0][2] };
        tracks[0].insert(3, late);
        assert_eq!(filter.beliefs(tracks.clone(), 48, |_, _| {}), Filter::default().beliefs(tracks, 48, |_, _| {}));
    }

    /// A silent network has no effect on the others, whatever was believed about it. A network that votes again is
    /// followed as before.
    #[test]
    fn a_network_that_fell_silent_neither_spreads_a_block_nor_dilutes_one() {
        let day = |days: i64| days * 24;
        let block = votes(&[(day(100), true), (day(100) + 6, true), (day(100) + 12, true)], 0.03);
        let here = votes(&[(day(90), false), (day(100) + 20, true)], 0.03);
        let silent = votes(&[(0, true), (6, true), (12, true)], 0.03);
        let at = day(101);
        let two = beliefs(&[&block, &here], at)[1].blocked();
        let three = beliefs(&[&block, &here, &silent], at)[1].blocked();
        assert!((two - three).abs() < 0.02, "{two} {three}");
    }
}
