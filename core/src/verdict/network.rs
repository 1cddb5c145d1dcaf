//! The verdict of one network on one target at a time T.

use std::collections::{BTreeMap, BTreeSet};

use super::constants::{
    ACCESSIBLE_VOTES, BLOCKED_HOURS, BLOCKED_SHARE, BLOCKED_TIMES, BROKEN_NETWORK_SHARE, DEFAULT_DOWN_RATE,
    DOWN_RATE_COUNTRIES, DOWN_RATE_STEP, EVIDENCE_HALF, INSTRUMENT_NETWORKS, INSTRUMENT_OTHERS_SHARE,
    INSTRUMENT_SESSIONS, INSTRUMENT_SHARE, INTERMITTENT_CLEAR_SHARE, LABEL_PREVALENCE, PRIOR_STRENGTH,
};
use super::posterior::{Beta, Calibration, log10_odds};
use super::technique::Technique;
use super::window::{Ageing, HourVote, by_day, weighted, window};
use crate::{Timestamp, order};

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
    /// More than 30% clear votes between the first and last blocked one (ruling intelligence 1).
    pub intermittent: bool,
    /// Calibrated probability of blocking; the label corpus' base rate without any vote.
    pub p_blocked: f64,
    /// Probability that `status` is right; 0 for unknown (ruling intelligence 26).
    pub confidence: f64,
    /// 0-1, grows with the votes (ruling intelligence 26).
    pub evidence_strength: f64,
    /// Weighted blocked and clear votes ([`NetworkVerdict::posterior`]).
    pub weights: (f64, f64),
    pub votes: u32,
    pub blocked_votes: u32,
    pub blocked_hours: u32,
    /// Measurements behind the votes of the window.
    pub measurements: u32,
    /// Hours since the epoch of the first and last blocked vote in the window.
    pub first_blocked: Option<i64>,
    pub last_blocked: Option<i64>,
    /// Hour of the newest vote in the window.
    pub last_vote: Option<i64>,
    /// Blocked measurements by technique.
    pub techniques: BTreeMap<Technique, u32>,
}

/// What the verdict of a network needs beside its votes.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    pub ageing: Ageing,
    /// Share of control sites that fail on this network; `None` when none was measured.
    pub control_failures: Option<f64>,
    /// The rate at which the target fails where nobody blocks it ([`down_rate`]).
    pub down_rate: f64,
    pub calibration: Calibration,
}

impl Context {
    /// The share of blocked votes that a clean network shows (ruling intelligence 22).
    fn quiet(&self) -> f64 {
        stepped(self.down_rate).max(self.control_failures.unwrap_or(0.0)).max(DEFAULT_DOWN_RATE)
    }
}

/// A rate of failures elsewhere in whole steps of [`DOWN_RATE_STEP`], the nearest one; none below the first.
pub fn stepped(rate: f64) -> f64 {
    let steps = rate / DOWN_RATE_STEP + 1e-9;
    if steps < 1.0 { 0.0 } else { steps.round() * DOWN_RATE_STEP }
}

/// Whether so many blocked votes of all are more than a clean network shows.
fn is_enough(blocked: usize, all: usize, quiet: f64) -> bool {
    let (blocked, all) = (blocked as f64, all as f64);
    blocked > BLOCKED_TIMES * quiet * all || blocked >= BLOCKED_SHARE * all
}

/// Judges a network by its votes, oldest first.
pub fn verdict(votes: &[HourVote], now: Timestamp, context: &Context) -> NetworkVerdict {
    let votes = window(votes, now, context.ageing);
    let blocked: Vec<&HourVote> = votes.iter().filter(|vote| vote.blocked).collect();
    let mut hours: Vec<i64> = blocked.iter().map(|vote| vote.hour).collect();
    hours.dedup();
    let broken = context.control_failures.is_some_and(|share| share > BROKEN_NETWORK_SHARE);
    let status = match hours.len() {
        _ if broken => Status::Unknown,
        hours if hours >= BLOCKED_HOURS && is_enough(blocked.len(), votes.len(), context.quiet()) => Status::Blocked,
        _ if votes.len() >= ACCESSIBLE_VOTES => Status::Accessible,
        _ => Status::Unknown,
    };
    let p_blocked = probability(votes, status, context);
    let weights = weighted(votes, now, context.ageing);
    let mut techniques = BTreeMap::new();
    for (technique, count) in blocked.iter().flat_map(|vote| &vote.techniques) {
        *techniques.entry(*technique).or_default() += count;
    }
    NetworkVerdict {
        status,
        intermittent: status == Status::Blocked && is_intermittent(votes, &hours),
        p_blocked,
        confidence: confidence(status, p_blocked),
        evidence_strength: evidence_strength(weights.0 + weights.1),
        weights,
        votes: count(votes.len()),
        blocked_votes: count(blocked.len()),
        blocked_hours: count(hours.len()),
        measurements: votes.iter().fold(0_u32, |sum, vote| sum.saturating_add(vote.measurements)),
        first_blocked: hours.first().copied(),
        last_blocked: hours.last().copied(),
        last_vote: votes.last().map(|vote| vote.hour),
        techniques,
    }
}

impl NetworkVerdict {
    /// Posterior of the blocked share of votes, given the rate at which the target fails where it is not blocked
    /// ([`down_rate`]) and the share of control sites that fail on this network. Computed where it is shown: most answers
    /// do not, and what it rests on must be looked up.
    pub fn posterior(&self, down_rate: f64, control_failures: Option<f64>) -> Beta {
        let (blocked, clear) = self.weights;
        Beta::prior(down_rate.max(control_failures.unwrap_or(0.0)), PRIOR_STRENGTH).after(blocked, clear)
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Confidence of a status from the probability of blocking (rulings intelligence 26 and 27).
pub fn confidence(status: Status, p_blocked: f64) -> f64 {
    match status {
        Status::Blocked => p_blocked,
        Status::Accessible => 1.0 - p_blocked,
        Status::Unknown => 0.0,
    }
}

/// 0 without votes, one half at [`EVIDENCE_HALF`], towards 1.
pub fn evidence_strength(votes: f64) -> f64 {
    votes / (votes + EVIDENCE_HALF)
}

/// Share of clear votes strictly between the first and last blocked hour.
fn is_intermittent(votes: &[HourVote], hours: &[i64]) -> bool {
    let (Some(first), Some(last)) = (hours.first(), hours.last()) else { return false };
    let between: Vec<&HourVote> = votes.iter().filter(|vote| vote.hour >= *first && vote.hour <= *last).collect();
    let clear = between.iter().filter(|vote| !vote.blocked).count();
    clear as f64 > INTERMITTENT_CLEAR_SHARE * between.len() as f64
}

/// Evidence of the window to a calibrated probability. A block may be a schedule, so clear votes do not speak one by one
/// against what the status rule calls blocked (ruling intelligence 1): they say how unlikely so many blocked ones are
/// without a block.
fn probability(votes: &[HourVote], status: Status, context: &Context) -> f64 {
    let counts = |vote: &&HourVote| vote.blocked || status != Status::Blocked;
    let (mut evidence, mut blocked, mut all) = (0.0, 0.0, 0.0);
    for (scale, votes) in by_day(votes) {
        evidence += scale * votes.iter().filter(counts).map(|vote| vote.log10_lr).sum::<f64>();
        blocked += scale * votes.iter().filter(|vote| vote.blocked).count() as f64;
        all += scale * votes.len() as f64;
    }
    if status == Status::Blocked {
        evidence = evidence.min(log10_share_ratio(blocked, all, context.quiet()));
    }
    context.calibration.probability(log10_odds(LABEL_PREVALENCE) + evidence)
}

/// log10 of how much likelier so many blocked votes of all are when their own share is the rule than where the share `quiet`
/// fails: the generalized likelihood ratio of the binomial (Wilks 1938); 0 when they are no more than that.
pub fn log10_share_ratio(blocked: f64, all: f64, quiet: f64) -> f64 {
    let share = if all > 0.0 { blocked / all } else { 0.0 };
    if share <= quiet {
        return 0.0;
    }
    let clear = (all - blocked).max(0.0);
    // Nothing is clear where all are blocked, and 0 ln 0 is 0.
    let of_clear = if clear > 0.0 { clear * ((1.0 - share) / (1.0 - quiet)).log10() } else { 0.0 };
    blocked * (share / quiet).log10() + of_clear
}

/// The rate at which a target fails where nobody blocks it: the median of its failure rates in other countries when at
/// least five have one, else 0.03 (ruling intelligence 22).
pub fn down_rate(other_countries: &[f64]) -> f64 {
    let mut rates: Vec<f64> = other_countries.iter().copied().filter(|rate| rate.is_finite()).collect();
    if rates.len() < DOWN_RATE_COUNTRIES {
        return DEFAULT_DOWN_RATE;
    }
    order::sort_by(&mut rates, f64::total_cmp);
    let middle = rates.len() / 2;
    let at = |index: usize| rates.get(index).copied().unwrap_or(DEFAULT_DOWN_RATE);
    if rates.len() % 2 == 1 { at(middle) } else { 0.5 * (at(middle.wrapping_sub(1)) + at(middle)) }
}

/// [`down_rate`] of all rates but one: `sorted` holds them all, and `own` is one of them. In constant time, since every
/// country asks it of every target.
pub fn down_rate_but(sorted: &[f64], own: f64) -> f64 {
    let left = sorted.len().saturating_sub(1);
    if left < DOWN_RATE_COUNTRIES {
        return DEFAULT_DOWN_RATE;
    }
    let gap = sorted.partition_point(|rate| rate.total_cmp(&own).is_lt());
    let at = |index: usize| sorted.get(index + usize::from(index >= gap)).copied().unwrap_or(DEFAULT_DOWN_RATE);
    let middle = left / 2;
    if left % 2 == 1 { at(middle) } else { 0.5 * (at(middle.wrapping_sub(1)) + at(middle)) }
}

/// Sessions of one software version in one place: a network in a span of [`INSTRUMENT_SPAN`] hours. Only sessions of one
/// place are compared, so a block that begins between two versions, or keeps office hours, is no fault of either.
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

/// The versions whose failures follow the software and not the network: nearly all of their sessions fail on at least
/// three networks while other versions work there at the same time (methods 4.1 step 7). Their failures are to be left
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
        order::gather::<BTreeSet<_>, _>(counts.map(place))
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
