//! How likely a block is in force on each network of a country: a hidden Markov filter over the votes about one target.
//!
//! A network is free, blocks always, or blocks in some hours of the week. Between votes a block may begin (the likelier, the
//! more the other networks block) or end; each vote then says more or less about it, by how often sessions fail in each of
//! the three states. Why this method and these numbers: `docs/decisions/verdicts.md`.

use super::constants::BLOCKED_HOURS;
use super::national::weight_by;
use super::network::Status;
use super::window::{Ageing, HourVote, by_day, hour_after};
use crate::Timestamp;

// Numbers without a source are our choice, by the tables of simulated worlds.

/// Votes beyond so many say nothing more; the newest count.
pub const MOST_VOTES: usize = 400;
/// A network or country is blocked at this probability of a block ...
pub const BLOCKED_PROBABILITY: f64 = 0.5;
/// ... accessible at this one or below ...
pub const ACCESSIBLE_PROBABILITY: f64 = 0.2;
/// ... a network with so many clear votes.
pub const CLEAR_VOTES: usize = 3;
/// A country is blocked only where the networks with a verdict have this share of the weight of those with votes.
pub const NATIONAL_COVERAGE: f64 = 0.3;

/// Probability a day that a block begins on a network.
pub const BLOCK_BEGINS: f64 = 0.004;
/// ... more, times the mean probability of a block on the other networks: blocks come on many networks at once.
pub const BLOCK_SPREADS: f64 = 0.5;
/// Probability a day that a block ends.
pub const BLOCK_ENDS: f64 = 0.08;
/// Share of blocks that keep hours of the week.
pub const IN_HOURS: f64 = 0.1;
/// Share of sessions that fail under a block.
pub const FAILS_BLOCKED: f64 = 0.92;
/// ... under one that keeps hours, over all hours.
pub const FAILS_IN_HOURS: f64 = 0.40;
/// Sessions fail where nobody blocks at least this often ...
pub const FREE_LEAST: f64 = 0.02;
/// ... and at most this often.
pub const FREE_MOST: f64 = 0.98;
/// A site counts as failing by itself at most this often: where more fails in the median of other countries, it may be
/// blocked there too.
pub const SITE_MOST: f64 = 0.3;
/// Sessions on a network at other sites count less by half after so many hours.
pub const NETWORK_HALF_LIFE: i64 = 6;
/// What a network usually fails at other sites counts up to this share: more may be blocks.
pub const NETWORK_USUAL_MOST: f64 = 0.1;
/// A network's own usual share stands for so many of its sessions.
pub const NETWORK_USUAL_WEIGHT: f64 = 5.0;

/// The votes of a network, oldest first, each with how likely it would be blocked where nobody blocks.
#[derive(Debug, Clone, Copy)]
pub struct Track<'a> {
    pub votes: &'a [HourVote],
    pub free: &'a [f64],
}

/// Probabilities of the two states in which a network blocks, each 0-1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Belief {
    /// At all hours.
    pub always: f64,
    /// In some hours of the week.
    pub in_hours: f64,
}

/// What is believed of a pair of country and site without any vote: the share of time that a block is in force.
pub const RATE: f64 = BLOCK_BEGINS / (BLOCK_BEGINS + BLOCK_ENDS);

impl Belief {
    /// In the usual parts.
    pub fn of(total: f64) -> Belief {
        Belief { always: total * (1.0 - IN_HOURS), in_hours: total * IN_HOURS }
    }

    /// Probability that a block is in force, whatever hours it keeps.
    pub fn blocked(&self) -> f64 {
        self.always + self.in_hours
    }

    /// After so many hours without a vote, in which a block begins with this probability a day.
    fn later(self, hours: i64, begins: f64) -> Belief {
        let days = hours as f64 / 24.0;
        let (before, rate) = (self.blocked(), begins + BLOCK_ENDS);
        let at_last = begins / rate;
        let total = at_last + (before - at_last) * (-rate * days).exp();
        // What goes on keeps its hours.
        let on = (before * (-BLOCK_ENDS * days).exp()).min(total);
        let kept = if before > 0.0 { on / before } else { 0.0 };
        let new = Belief::of(total - on);
        Belief { always: self.always * kept + new.always, in_hours: self.in_hours * kept + new.in_hours }
    }

    /// After a vote that counts so much (0-1), and would be blocked with the probability `free` where nobody blocks.
    fn after(self, blocked: bool, free: f64, weight: f64) -> Belief {
        let free = free.clamp(FREE_LEAST, FREE_MOST);
        let fails = |share: f64| 1.0 - (1.0 - share) * (1.0 - free);
        let likely = |fails: f64| if blocked { fails } else { 1.0 - fails }.powf(weight);
        let none = (1.0 - self.blocked()) * likely(free);
        let always = self.always * likely(fails(FAILS_BLOCKED));
        let in_hours = self.in_hours * likely(fails(FAILS_IN_HOURS));
        let all = none + always + in_hours;
        Belief { always: always / all, in_hours: in_hours / all }
    }
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
}

impl<'a> Walk<'a> {
    fn begin(track: Track<'a>, hour: i64) -> Walk<'a> {
        let weights = by_day(track.votes).flat_map(|(scale, votes)| votes.iter().map(move |_| scale)).collect();
        Walk { track, weights, next: 0, belief: Belief::of(RATE), hour }
    }

    fn next_hour(&self) -> Option<i64> {
        self.track.votes.get(self.next).map(|vote| vote.hour)
    }

    /// Takes the votes of an hour, while so many of the other networks are believed to block.
    fn take(&mut self, hour: i64, others: f64) {
        self.belief = self.belief.later(hour - self.hour, BLOCK_BEGINS + BLOCK_SPREADS * others);
        self.hour = hour;
        while let Some(vote) = self.track.votes.get(self.next).filter(|vote| vote.hour == hour) {
            let free = self.track.free.get(self.next).copied().unwrap_or(FREE_LEAST);
            let weight = self.weights.get(self.next).copied().unwrap_or(1.0);
            self.belief = self.belief.after(vote.blocked, free, weight);
            self.next += 1;
        }
    }
}

/// What is believed of each network at the end of an hour, from its votes up to then. Time alone moves a belief only towards
/// [`RATE`]. Independent of the order of the networks.
pub fn beliefs(tracks: &[Track<'_>], hour: i64) -> Vec<Belief> {
    let first = tracks.iter().filter_map(|track| track.votes.first()).map(|vote| vote.hour).min().unwrap_or(hour);
    let mut walks: Vec<Walk<'_>> = tracks.iter().map(|track| Walk::begin(*track, first)).collect();
    let others = walks.len().saturating_sub(1).max(1) as f64;
    while let Some(next) = walks.iter().filter_map(Walk::next_hour).min().filter(|next| *next <= hour) {
        // As all were before this hour.
        let sum: f64 = walks.iter().map(|walk| walk.belief.blocked()).sum();
        for walk in walks.iter_mut().filter(|walk| walk.next_hour() == Some(next)) {
            let rest = (sum - walk.belief.blocked()).max(0.0);
            walk.take(next, rest / others);
        }
    }
    walks.into_iter().map(|walk| walk.belief.later(hour - walk.hour, BLOCK_BEGINS)).collect()
}

/// The votes that count at a moment: those within the age limit, the newest of them. `votes` is sorted by hour.
pub fn counting(votes: &[HourVote], now: Timestamp, ageing: Ageing) -> &[HourVote] {
    let end = votes.partition_point(|vote| vote.hour <= now.hour());
    let past = votes.get(..end).unwrap_or_default();
    let oldest = past.partition_point(|vote| vote.hour < hour_after(now, ageing.limit));
    past.get(oldest.max(past.len().saturating_sub(MOST_VOTES))..).unwrap_or_default()
}

/// The status of a network that is believed to block so likely after these votes.
pub fn status(votes: &[HourVote], p_blocked: f64) -> Status {
    let mut hours: Vec<i64> = votes.iter().filter(|vote| vote.blocked).map(|vote| vote.hour).collect();
    let clear = votes.len() - hours.len();
    hours.dedup();
    match p_blocked {
        p if p >= BLOCKED_PROBABILITY && hours.len() >= BLOCKED_HOURS => Status::Blocked,
        p if p <= ACCESSIBLE_PROBABILITY && clear >= CLEAR_VOTES => Status::Accessible,
        _ => Status::Unknown,
    }
}

/// A network of a country with votes about a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Voice {
    /// IPv4 addresses, where a table has them.
    pub addresses: Option<u64>,
    /// Not a network but the country as seen from outside.
    pub remote: bool,
    pub status: Status,
    pub p_blocked: f64,
}

impl Voice {
    fn weight(&self) -> f64 {
        weight_by(self.addresses, self.remote)
    }
}

/// Status and probability of a block in a country: that those of the networks with a verdict which block reach the lines of a
/// national block, as if each blocked by itself. Unknown and 0 without a verdict.
pub fn country(voices: &[Voice]) -> (Status, f64) {
    let decided: Vec<Voice> = voices.iter().copied().filter(|voice| voice.status != Status::Unknown).collect();
    let weight = |voices: &[Voice]| voices.iter().map(Voice::weight).sum::<f64>();
    let (heard, total) = (weight(voices), weight(&decided));
    if decided.is_empty() || total <= 0.0 {
        return (Status::Unknown, 0.0);
    }
    let p = reached(&decided, total);
    let blocks = decided.iter().any(|voice| voice.status == Status::Blocked);
    let status = match p {
        p if p <= ACCESSIBLE_PROBABILITY => Status::Accessible,
        p if p >= BLOCKED_PROBABILITY && blocks && total >= NATIONAL_COVERAGE * heard => Status::Blocked,
        _ => Status::Unknown,
    };
    (status, p)
}

/// The probability that the networks which block reach the lines of a national block: half of the weight, or a quarter on
/// several networks. Shares of weight are added up in steps of about a thousandth, exactly where all networks weigh the
/// same.
fn reached(members: &[Voice], total: f64) -> f64 {
    // A multiple of four times the networks, so that quarters and equal parts are whole numbers of steps.
    let steps = 4 * members.len() * 256_usize.div_ceil(members.len());
    let (half, quarter) = (steps / 2, steps / 4);
    // By networks that block (none, one, more) and their share in steps, from a half on all the same.
    let mut chances = vec![[0.0_f64; 3]; half + 1];
    if let Some(first) = chances.first_mut() {
        first[0] = 1.0;
    }
    for member in members {
        let p = member.p_blocked;
        let step = (member.weight() / total * steps as f64).round() as usize;
        let mut next = vec![[0.0_f64; 3]; half + 1];
        for (at, row) in chances.iter().enumerate() {
            for (networks, chance) in row.iter().enumerate().filter(|(_, chance)| **chance > 0.0) {
                let more = if member.remote { networks } else { (networks + 1).min(2) };
                if let Some(free) = next.get_mut(at).and_then(|row| row.get_mut(networks)) {
                    *free += chance * (1.0 - p);
                }
                if let Some(blocks) = next.get_mut((at + step).min(half)).and_then(|row| row.get_mut(more)) {
                    *blocks += chance * p;
                }
            }
        }
        chances = next;
    }
    let mut reached = 0.0;
    for (at, [none, one, more]) in chances.into_iter().enumerate() {
        match at {
            at if at >= half => reached += none + one + more,
            at if at >= quarter => reached += more,
            _ => {}
        }
    }
    reached.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voice(addresses: u64, p_blocked: f64) -> Voice {
        let status = if p_blocked >= 0.5 { Status::Blocked } else { Status::Accessible };
        Voice { addresses: Some(addresses), remote: false, status, p_blocked }
    }

    /// By all subsets.
    fn exactly(voices: &[Voice]) -> f64 {
        let total: f64 = voices.iter().map(Voice::weight).sum();
        let subsets = 0..1_u32 << voices.len();
        subsets
            .map(|subset| {
                let (mut chance, mut weight) = (1.0, 0.0);
                for (place, voice) in voices.iter().enumerate() {
                    let blocks = subset >> place & 1 == 1;
                    chance *= if blocks { voice.p_blocked } else { 1.0 - voice.p_blocked };
                    weight += if blocks { voice.weight() } else { 0.0 };
                }
                let share = weight / total + 1e-9;
                if share >= 0.5 || (share >= 0.25 && subset.count_ones() >= 2) { chance } else { 0.0 }
            })
            .sum()
    }

    #[test]
    fn a_country_is_as_likely_blocked_as_all_ways_to_reach_the_lines_together() {
        let equal: Vec<Voice> = [0.9, 0.1, 0.05, 0.8, 0.1, 0.02, 0.3].map(|p| voice(1_000, p)).into();
        let unequal = [voice(1_000_000, 0.7), voice(90_000, 0.2), voice(40_000, 0.9), voice(300, 0.1)];
        for voices in [&equal[..], &equal[..4], &equal[..2], &equal[..1], &unequal] {
            let (_, p) = country(voices);
            assert!((p - exactly(voices)).abs() < 2e-3, "{p} {}", exactly(voices));
        }
        assert_eq!(country(&[]), (Status::Unknown, 0.0));
    }

    #[test]
    fn two_failures_on_a_small_network_before_the_others_have_a_verdict_block_no_country() {
        let unknown = Voice { status: Status::Unknown, ..voice(1_000_000, 0.3) };
        assert_eq!(country(&[voice(256, 0.9), unknown]).0, Status::Unknown);
        assert_eq!(country(&[voice(1_000_000, 0.9), unknown]).0, Status::Blocked);
    }

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
