//! The verdict of one network on one target at a given time.

use std::collections::{BTreeMap, BTreeSet};

use super::belief::{Ballot, Belief, Filter, Step};
use super::constants::{
    ACCESSIBLE_PROBABILITY, BLOCKED_HOURS, BLOCKED_PROBABILITY, CLEAR_VOTES, DEFAULT_DOWN_RATE, DOWN_RATE_COUNTRIES,
    DOWN_RATE_STEP, EVERYWHERE_MOST, EVERYWHERE_SHARE, EVIDENCE_HALF, INSTRUMENT_NETWORKS, INSTRUMENT_OTHERS_SHARE,
    INSTRUMENT_SESSIONS, INSTRUMENT_SHARE, MOST_VOTES, PRIOR_STRENGTH, SITE_MOST,
};
use super::posterior::Beta;
use super::technique::Technique;
use super::window::{Ageing, HourVote, by_day, hour_after, weighted};
use crate::Timestamp;
use engine::time::HOUR;

/// The three states of every answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Blocked,
    Accessible,
    Unknown,
}

impl Status {
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Blocked => "blocked",
            Status::Accessible => "accessible",
            Status::Unknown => "unknown",
        }
    }
}

/// The verdict of one network.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkVerdict {
    pub status: Status,
    /// The status when the newest vote of any network came; `None` when no vote of this network counted at that time.
    pub then: Option<Status>,
    /// The block is more likely one in some hours of the week, or one in part, than a permanent one.
    pub intermittent: bool,
    /// Probability that a block is in force, whatever hours it keeps: now, and when the newest vote of any network
    /// came.
    pub p_blocked: f64,
    pub p_blocked_then: f64,
    /// Probability that `status` is right; 0 for unknown (decision confidence-of-status).
    pub confidence: f64,
    /// 0-1, grows with the votes (decision confidence-of-status).
    pub evidence_strength: f64,
    /// Weighted blocked and clear votes ([`NetworkVerdict::posterior`]).
    pub weights: (f64, f64),
    /// Votes within the age limit, the blocked ones among them, and the distinct hours with a blocked vote.
    pub votes: u32,
    pub blocked_votes: u32,
    pub blocked_hours: u32,
    /// Measurements behind the votes.
    pub measurements: u32,
    /// Blocked measurements by technique.
    pub techniques: BTreeMap<Technique, u32>,
}

/// A network with votes about a target.
#[derive(Debug, Clone, Copy)]
pub struct NetworkVotes<'a> {
    pub asn: u32,
    /// Oldest first. Reaches back twice the age limit or more, as far as there are votes.
    pub votes: &'a [HourVote],
    /// The network fails at too many control sites to decide anything (decision failing-elsewhere).
    pub broken: bool,
}

/// Rounds a rate of failures elsewhere to whole steps of [`DOWN_RATE_STEP`]. A rate below the first step is 0.
pub fn stepped(rate: f64) -> f64 {
    let steps = rate / DOWN_RATE_STEP + 1e-9;
    if steps < 1.0 { 0.0 } else { steps.round() * DOWN_RATE_STEP }
}

/// The votes that count at a moment: the newest [`MOST_VOTES`] within the age limit. `votes` is sorted by hour.
pub fn counting(votes: &[HourVote], now: Timestamp, ageing: Ageing) -> &[HourVote] {
    let end = votes.partition_point(|vote| vote.hour <= now.hour());
    let past = votes.get(..end).unwrap_or_default();
    let oldest = past.partition_point(|vote| vote.hour < hour_after(now, ageing.limit));
    past.get(oldest.max(past.len().saturating_sub(MOST_VOTES))..).unwrap_or_default()
}

/// The hour of the newest vote of any network up to a moment.
pub fn newest(heard: &[NetworkVotes<'_>], now: Timestamp) -> Option<i64> {
    let last = |heard: &NetworkVotes<'_>| {
        let end = heard.votes.partition_point(|vote| vote.hour <= now.hour());
        Some(heard.votes.get(end.checked_sub(1)?)?.hour)
    };
    heard.iter().filter_map(last).max()
}

/// Judges the networks of a country together, because a block on one makes blocks on the others likelier. `free` gives
/// the probability that a session on a network fails in an hour where nobody blocks the target.
///
/// The votes are those that counted when the newest one came. After that only time moves the beliefs. So votes that
/// pass the age limit can take a verdict away, but cannot make one.
pub fn verdicts(
    heard: &[NetworkVotes<'_>],
    now: Timestamp,
    ageing: Ageing,
    free: &dyn Fn(u32, i64) -> f64,
) -> Vec<NetworkVerdict> {
    filtered(&mut Filter::default(), heard, (now, ageing), free, |_, _| {})
}

/// The same by a filter that goes on from the moment before, and reports the effect of each vote that the filter reads.
pub fn filtered(
    filter: &mut Filter,
    heard: &[NetworkVotes<'_>],
    (now, ageing): (Timestamp, Ageing),
    free: &dyn Fn(u32, i64) -> f64,
    note: impl FnMut(usize, Step),
) -> Vec<NetworkVerdict> {
    let hour = newest(heard, now).unwrap_or(now.hour());
    let then = Timestamp(hour * HOUR);
    let votes: Vec<&[HourVote]> = heard.iter().map(|heard| counting(heard.votes, then, ageing)).collect();
    // A clear vote means the same, whatever the rate of failures where nobody blocks.
    let rate = |asn: u32, vote: &HourVote| if vote.blocked { free(asn, vote.hour) } else { 0.0 };
    let ballot = |asn: u32, weight: f64, vote: &HourVote| Ballot {
        hour: vote.hour,
        blocked: vote.blocked,
        weight,
        free: rate(asn, vote),
    };
    let tracks = heard.iter().zip(&votes).map(|(heard, votes)| {
        let days = by_day(votes);
        days.flat_map(|(scale, votes)| votes.iter().map(move |vote| ballot(heard.asn, scale, vote))).collect()
    });
    let beliefs = filter.beliefs(tracks.collect(), hour, note);
    let judge = |((heard, votes), belief): ((&NetworkVotes<'_>, &&[HourVote]), Belief)| {
        let then = if heard.broken { Status::Unknown } else { status(votes, belief.blocked()) };
        let then = Some(then).filter(|_| !votes.is_empty());
        let since = now.hour() - hour;
        let verdict = verdict(
            heard,
            counting(heard.votes, now, ageing),
            belief.waited_towards(ageing.rate, since),
            (now, ageing),
        );
        NetworkVerdict { then, p_blocked_then: belief.blocked(), ..verdict }
    };
    heard.iter().zip(&votes).zip(beliefs).map(judge).collect()
}

/// The status of a network with these votes and this probability of a block.
fn status(votes: &[HourVote], p_blocked: f64) -> Status {
    let clear = votes.iter().filter(|vote| !vote.blocked).count();
    match p_blocked {
        p if p >= BLOCKED_PROBABILITY && blocked_hours(votes).len() >= BLOCKED_HOURS => Status::Blocked,
        p if p <= ACCESSIBLE_PROBABILITY && clear >= CLEAR_VOTES => Status::Accessible,
        _ => Status::Unknown,
    }
}

/// Distinct hours with a blocked vote.
fn blocked_hours(votes: &[HourVote]) -> Vec<i64> {
    let mut hours: Vec<i64> = votes.iter().filter(|vote| vote.blocked).map(|vote| vote.hour).collect();
    hours.dedup();
    hours
}

fn verdict(
    heard: &NetworkVotes<'_>,
    votes: &[HourVote],
    belief: Belief,
    (now, ageing): (Timestamp, Ageing),
) -> NetworkVerdict {
    let p_blocked = belief.blocked();
    let status = if heard.broken { Status::Unknown } else { status(votes, p_blocked) };
    let weights = weighted(votes, now, ageing);
    let mut techniques = BTreeMap::new();
    for (technique, count) in votes.iter().filter(|vote| vote.blocked).flat_map(|vote| &vote.techniques) {
        *techniques.entry(*technique).or_default() += count;
    }
    NetworkVerdict {
        status,
        then: None,
        intermittent: status == Status::Blocked && belief.in_hours() + belief.in_part > belief.always,
        p_blocked,
        p_blocked_then: p_blocked,
        confidence: confidence(status, p_blocked),
        evidence_strength: evidence_strength(weights.0 + weights.1),
        weights,
        votes: count(votes.len()),
        blocked_votes: count(votes.iter().filter(|vote| vote.blocked).count()),
        blocked_hours: count(blocked_hours(votes).len()),
        measurements: votes.iter().fold(0_u32, |sum, vote| sum.saturating_add(vote.measurements)),
        techniques,
    }
}

impl NetworkVerdict {
    /// Posterior of the blocked share of votes, given the rate at which the target fails where it is not blocked
    /// ([`down_rate`]) and the share of control sites that fail on this network. Computed only where it is shown,
    /// because the two rates must be looked up and most answers do not show it.
    pub fn posterior(&self, down_rate: f64, control_failures: Option<f64>) -> Beta {
        let (blocked, clear) = self.weights;
        Beta::prior(down_rate.max(control_failures.unwrap_or(0.0)), PRIOR_STRENGTH).after(blocked, clear)
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Confidence in a status, from the probability of a block (decisions confidence-of-status and counts-and-basis).
pub fn confidence(status: Status, p_blocked: f64) -> f64 {
    match status {
        Status::Blocked => p_blocked,
        Status::Accessible => 1.0 - p_blocked,
        Status::Unknown => 0.0,
    }
}

/// 0 without votes, one half at [`EVIDENCE_HALF`] votes, and close to 1 with many.
pub fn evidence_strength(votes: f64) -> f64 {
    votes / (votes + EVIDENCE_HALF)
}

/// The rate at which a target fails where nobody blocks it: the median of its failure rates in other countries when at
/// least five have one, else 0.03 (decision failing-elsewhere).
pub fn down_rate(other_countries: &[f64]) -> f64 {
    let mut rates: Vec<f64> = other_countries.iter().copied().filter(|rate| rate.is_finite()).collect();
    if rates.len() < DOWN_RATE_COUNTRIES {
        return DEFAULT_DOWN_RATE;
    }
    rates.sort_by(f64::total_cmp);
    let middle = rates.len() / 2;
    let at = |index: usize| rates.get(index).copied().unwrap_or(DEFAULT_DOWN_RATE);
    if rates.len() % 2 == 1 { at(middle) } else { 0.5 * (at(middle.wrapping_sub(1)) + at(middle)) }
}

/// The rates of the other countries, in order. It sorts and copies nothing, because it is asked for every country and
/// target.
struct Others<'a> {
    sorted: &'a [f64],
    /// The place of a country's own rate, which is left out.
    own: usize,
}

impl<'a> Others<'a> {
    /// `sorted` holds all rates, and `own` is one of them. `None` if the others are too few.
    fn of(sorted: &'a [f64], own: f64) -> Option<Others<'a>> {
        let own = sorted.partition_point(|rate| rate.total_cmp(&own).is_lt());
        Some(Others { sorted, own }).filter(|others| others.count() >= DOWN_RATE_COUNTRIES)
    }

    fn count(&self) -> usize {
        self.sorted.len().saturating_sub(1)
    }

    fn at(&self, index: usize) -> Option<f64> {
        self.sorted.get(index + usize::from(index >= self.own)).copied()
    }
}

/// [`down_rate`] of all rates but one. `sorted` holds all rates, and `own` is one of them.
pub fn down_rate_but(sorted: &[f64], own: f64) -> f64 {
    let Some(others) = Others::of(sorted, own) else {
        return DEFAULT_DOWN_RATE;
    };
    let middle = others.count() / 2;
    let at = |index: usize| others.at(index).unwrap_or(DEFAULT_DOWN_RATE);
    if others.count() % 2 == 1 { at(middle) } else { 0.5 * (at(middle.wrapping_sub(1)) + at(middle)) }
}

/// The rate that a target reaches in [`EVERYWHERE_SHARE`] of the countries but one. `sorted` holds all rates, and `own`
/// is one of them. 0 with too few others.
pub fn everywhere_but(sorted: &[f64], own: f64) -> f64 {
    let lowest = |others: Others<'_>| others.at(((1.0 - EVERYWHERE_SHARE) * others.count() as f64) as usize);
    Others::of(sorted, own).and_then(lowest).unwrap_or_default()
}

/// The highest rate at which a site is taken to fail where nobody blocks it: [`SITE_MOST`], and more only where it fails
/// as often everywhere ([`everywhere_but`]).
fn site_most(everywhere: f64) -> f64 {
    everywhere.clamp(SITE_MOST, EVERYWHERE_MOST)
}

/// The rate at which a site is taken to fail where nobody blocks it, in whole steps: the median of other countries
/// ([`down_rate`]) up to [`site_most`].
pub fn site_rate(median: f64, everywhere: f64) -> f64 {
    stepped(median.clamp(0.0, site_most(everywhere)))
}

/// The probability, 0-1, that a session fails where nobody blocks, from the rates at which the site fails in other
/// countries and the network at other sites. Both contain the failures that are usual everywhere, so the higher one
/// counts and not their sum.
pub fn fails_anyhow(site: f64, network: f64) -> f64 {
    site.max(network)
}

/// Sessions of one software version in one place, that is a network in a span of [`INSTRUMENT_SPAN`] hours. Only
/// sessions of one place are compared. So a block that begins between two versions, or keeps office hours, is not taken
/// for a fault of either version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionCount {
    /// Platform and version, as [`software_of`](crate::measurement::types::software_of) gives them.
    pub version: u32,
    pub asn: u32,
    /// Hours since the epoch, divided by [`INSTRUMENT_SPAN`].
    pub span: i64,
    pub failed: u32,
    pub sessions: u32,
}

/// The versions whose failures come from the software and not from the network: nearly all of their sessions fail on at
/// least three networks, while other versions work there at the same time. The failures of these versions must be left
/// out.
pub fn instrument_faults(counts: &[VersionCount]) -> Vec<u32> {
    let mut versions: Vec<u32> = counts.iter().map(|count| count.version).collect();
    versions.sort_unstable();
    versions.dedup();
    versions.retain(|version| is_instrument_fault(*version, counts));
    versions
}

fn is_instrument_fault(version: u32, counts: &[VersionCount]) -> bool {
    let place = |count: &VersionCount| (count.asn, count.span);
    let places = |mine: bool| {
        let counts = counts.iter().filter(move |count| (count.version == version) == mine && count.sessions > 0);
        counts.map(place).collect::<BTreeSet<_>>()
    };
    let (mine, others) = (places(true), places(false));
    let shared = |count: &&VersionCount| mine.contains(&place(count)) && others.contains(&place(count));
    let (mut failing, mut own, mut rest) = (BTreeMap::<u32, (f64, f64)>::new(), (0.0, 0.0), (0.0, 0.0));
    for count in counts.iter().filter(shared) {
        let (failed, sessions) = (f64::from(count.failed), f64::from(count.sessions));
        let sum = |sum: &mut (f64, f64)| *sum = (sum.0 + failed, sum.1 + sessions);
        if count.version == version {
            sum(&mut own);
            sum(failing.entry(count.asn).or_default());
        } else {
            sum(&mut rest);
        }
    }
    let fails = |(failed, sessions): &(f64, f64)| *failed >= INSTRUMENT_SHARE * sessions;
    failing.values().filter(|network| fails(network)).count() >= INSTRUMENT_NETWORKS
        && own.1 >= INSTRUMENT_SESSIONS as f64
        && rest.1 >= INSTRUMENT_SESSIONS as f64
        && fails(&own)
        && rest.0 <= INSTRUMENT_OTHERS_SHARE * rest.1
}
