//! Turns the measurements of one series into votes, and says how long votes count.

use std::collections::{BTreeMap, BTreeSet};

use super::belief::RATE;
use super::constants::{
    AGE_LIMIT, AGE_LIMIT_MESSAGING, HALF_LIFE, HALF_LIFE_MESSAGING, NETWORK_DAY_VOTES, PEER_NETWORKS, PEER_SESSIONS,
    PEER_WINDOW,
};
use super::evaluate::{Evaluated, Vote};
use super::rules::RuleId;
use super::technique::Technique;
use crate::Timestamp;
use crate::change::constants::OUTAGE_HOURS;
use engine::time::HOUR;

/// One merged and judged measurement of a target on a network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Session {
    /// `None` for measurements whose network was withheld. They never vote for a network.
    pub asn: Option<u32>,
    /// Hours since the epoch.
    pub hour: i64,
    pub vote_key: u32,
    pub evaluated: Evaluated,
}

/// The vote of one (network, vote key, hour): blocked when at least half of its measurements say blocked (decision
/// vote-per-hour).
#[derive(Debug, Clone, PartialEq)]
pub struct HourVote {
    /// Hours since the epoch.
    pub hour: i64,
    pub vote_key: u32,
    pub blocked: bool,
    /// Mean log10 likelihood ratio of the measurements on the winning side.
    pub log10_lr: f64,
    /// Measurements that say blocked or clear.
    pub measurements: u32,
    /// Techniques of the blocked measurements, with counts.
    pub techniques: BTreeMap<Technique, u32>,
    /// Rules of the winning side, with counts.
    pub rules: BTreeMap<RuleId, u32>,
}

/// What time does to the votes on a series: age limit and half-life, which differ for messaging services (decision
/// age-limit), and the probability of a block that beliefs move towards (decision rate-of-a-kind).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ageing {
    pub limit: i64,
    pub half_life: i64,
    pub rate: f64,
}

impl Ageing {
    pub const fn of(messaging: bool) -> Ageing {
        if messaging {
            Ageing { limit: AGE_LIMIT_MESSAGING, half_life: HALF_LIFE_MESSAGING, rate: RATE }
        } else {
            Ageing { limit: AGE_LIMIT, half_life: HALF_LIFE, rate: RATE }
        }
    }
}

/// Clear sessions of one target by hour and network: the peers that serve as controls (decision controls-from-peers).
#[derive(Debug, Clone, Default)]
pub struct Peers {
    /// (hour, network, sessions), in the order of their days.
    clear: Vec<(i64, u32, u32)>,
    /// Spans of [`OUTAGE_HOURS`] in which the target worked in other countries, within the time window of peers.
    /// Numbered since the epoch.
    spans: BTreeSet<i64>,
}

fn day_of(hour: i64) -> i64 {
    hour.div_euclid(24)
}

impl Peers {
    /// Collects the clear sessions of all networks of a target.
    pub fn collect<'a>(sessions: impl IntoIterator<Item = &'a Session>) -> Peers {
        let clear = sessions.into_iter().filter(|session| session.evaluated.vote == Vote::Clear);
        let mut clear: Vec<(i64, u32, u32)> =
            clear.filter_map(|session| Some((session.hour, session.asn?, 1))).collect();
        // The sessions mostly come sorted by day, and a stable sort is fast on those.
        clear.sort_by_key(|(hour, ..)| day_of(*hour));
        Peers { clear, spans: BTreeSet::new() }
    }

    /// Adds clear sessions of a network in an hour.
    pub fn add(&mut self, asn: u32, hour: i64, sessions: u32) {
        let at = self.clear.partition_point(|(known, ..)| day_of(*known) <= day_of(hour));
        self.clear.insert(at, (hour, asn, sessions));
    }

    /// Records that the target worked in other countries around this hour. Two numbers from the reserved end of the
    /// range stand for the networks there.
    pub fn add_abroad(&mut self, hour: i64) {
        self.add(u32::MAX, hour, PEER_SESSIONS as u32);
        self.add(u32::MAX - 1, hour, 1);
    }

    /// Records that failures in the span which begins at this hour have a control in other countries.
    pub fn add_span(&mut self, hour: i64) {
        self.spans.insert(hour.div_euclid(OUTAGE_HOURS));
    }

    /// The vote of a session. A failure without its own control takes its peers as one (decision controls-from-peers).
    pub fn vote(&self, session: &Session) -> Vote {
        let needs_peers = session.evaluated.vote == Vote::NeedsControl;
        let has_peers =
            || self.spans.contains(&session.hour.div_euclid(OUTAGE_HOURS)) || self.succeed(session.asn, session.hour);
        session.evaluated.with_peers(needs_peers && has_peers())
    }

    /// True when the target worked on other networks within 24 hours before or after this hour.
    pub fn succeed(&self, asn: Option<u32>, hour: i64) -> bool {
        let reach = PEER_WINDOW / HOUR;
        let (first, last) = (hour.saturating_sub(reach), hour.saturating_add(reach));
        let mut other: Option<u32> = None;
        let (mut sessions, mut several) = (0_usize, false);
        let start = self.clear.partition_point(|(hour, ..)| day_of(*hour) < day_of(first));
        let near = self.clear.iter().skip(start).take_while(|(hour, ..)| day_of(*hour) <= day_of(last));
        for &(hour, network, count) in near {
            if Some(network) == asn || hour < first || hour > last {
                continue;
            }
            sessions += count as usize;
            several |= other.is_some_and(|other| other != network);
            other = Some(network);
            if sessions >= PEER_SESSIONS && several {
                return true;
            }
        }
        false
    }
}

// `succeed` only tells one network from several, which is enough for a limit of 2 networks.
const _: () = assert!(PEER_NETWORKS == 2);

/// The votes of one network, oldest first. Masked and down sessions do not vote. Independent of the order of `sessions`
/// (decision order-of-data).
pub fn votes(sessions: &[Session], peers: &Peers) -> Vec<HourVote> {
    let mut sessions = sessions.to_vec();
    sessions.sort_unstable_by_key(order);
    groups(&sessions).filter_map(|group| hour_vote(group, peers)).collect()
}

/// Votes are sorted by hour, then by vote key.
fn order(session: &Session) -> (i64, u32) {
    (session.hour, session.vote_key)
}

fn groups(sessions: &[Session]) -> impl Iterator<Item = &[Session]> {
    sessions.chunk_by(|a, b| order(a) == order(b))
}

/// The vote of the sessions of one hour and vote key; `None` when none of them says blocked or clear.
fn hour_vote(group: &[Session], peers: &Peers) -> Option<HourVote> {
    let side = |session: &Session| match peers.vote(session) {
        Vote::Blocked => Some(true),
        Vote::Clear => Some(false),
        Vote::Masked | Vote::Down | Vote::NeedsControl => None,
    };
    let sides = || group.iter().filter_map(|session| Some((side(session)?, &session.evaluated)));
    let (all, lost) = sides().fold((0_u32, 0_u32), |(all, lost), (blocked, _)| (all + 1, lost + u32::from(blocked)));
    let first = group.first().filter(|_| all > 0)?;
    let blocked = 2 * lost >= all;
    let mut vote = HourVote {
        hour: first.hour,
        vote_key: first.vote_key,
        blocked,
        log10_lr: 0.0,
        measurements: all,
        techniques: BTreeMap::new(),
        rules: BTreeMap::new(),
    };
    for (side, evaluated) in sides() {
        if let (true, Some(technique)) = (side, evaluated.technique) {
            *vote.techniques.entry(technique).or_default() += 1;
        }
        if side == blocked {
            *vote.rules.entry(evaluated.rule).or_default() += 1;
        }
    }
    // The sum goes over a sorted map, so that rounding does not depend on the order of arrival.
    let (sum, count) = vote.rules.iter().fold((0.0, 0.0), |(sum, count), (rule, n)| {
        (sum + rule.rule().log10_lr * f64::from(*n), count + f64::from(*n))
    });
    vote.log10_lr = if count > 0.0 { sum / count } else { 0.0 };
    Some(vote)
}

/// The first hour that begins at or after `now - age`.
pub(super) fn hour_after(now: Timestamp, age: i64) -> i64 {
    let start = now.0.saturating_sub(age);
    start.div_euclid(HOUR) + i64::from(start.rem_euclid(HOUR) != 0)
}

/// Weighted counts of blocked and clear votes. Each network-day is scaled down to 8 votes (decision vote-per-hour), and
/// each vote loses half of its weight per half-life.
pub fn weighted(votes: &[HourVote], now: Timestamp, ageing: Ageing) -> (f64, f64) {
    let mut totals = (0.0, 0.0);
    for (scale, votes) in by_day(votes) {
        for vote in votes {
            let weight = scale * decay(vote.hour, now, ageing);
            if vote.blocked { totals.0 += weight } else { totals.1 += weight }
        }
    }
    totals
}

/// The votes of each day, with the factor that scales them down to the daily cap (decision vote-per-hour). `votes` is
/// sorted by hour.
pub fn by_day(votes: &[HourVote]) -> impl Iterator<Item = (f64, &[HourVote])> {
    let days = votes.chunk_by(|a, b| day_of(a.hour) == day_of(b.hour));
    days.map(|votes| (day_scale(u32::try_from(votes.len()).unwrap_or(u32::MAX)), votes))
}

/// The factor that scales a network-day of so many votes down to the daily cap.
pub fn day_scale(votes: u32) -> f64 {
    (NETWORK_DAY_VOTES / f64::from(votes.max(1))).min(1.0)
}

fn decay(hour: i64, now: Timestamp, ageing: Ageing) -> f64 {
    let age = now.hour().saturating_sub(hour).max(0) as f64;
    0.5f64.powf(age / (ageing.half_life as f64 / HOUR as f64))
}
