//! The verdict of a country on one target: the networks by their weight, then the lists.

use std::collections::BTreeMap;

use super::constants::{
    ACCESSIBLE_PROBABILITY, BLOCKED_PROBABILITY, KNOWN_LIST_AGE, KNOWN_LIST_CONFIDENCE, MIN_ADDRESSES,
    NATIONAL_COVERAGE, NATIONAL_NETWORK_SHARE, NATIONAL_NETWORKS, REMOTE_WEIGHT,
};
use super::network::{NetworkVerdict, Status};
use super::reach::{Voice, reached};
use super::technique::Technique;
use crate::Timestamp;

/// How far a block reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    National,
    Several,
    Single,
}

impl Scope {
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::National => "national",
            Scope::Several => "several",
            Scope::Single => "single",
        }
    }
}

/// One network of the country.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    pub asn: u32,
    /// IPv4 addresses by the network table; `None` when the operator imported no table.
    pub addresses: Option<u64>,
    /// True for the country as seen from outside, by sources that name no network. It has half the weight of the
    /// smallest network and never counts as a network (decision country-of-networks).
    pub remote: bool,
    pub verdict: &'a NetworkVerdict,
}

/// The measured answer for a country.
#[derive(Debug, Clone, PartialEq)]
pub struct CountryVerdict {
    pub status: Status,
    /// Reach of the block; `None` unless at least one network is blocked.
    pub scope: Option<Scope>,
    /// Share of weight of the blocked networks, 0-1.
    pub blocked_weight: f64,
    /// Probability that the networks which block are enough for a national block ([`reached`]).
    pub p_blocked: f64,
    /// Probability that `status` is right, 0 for unknown.
    pub confidence: f64,
    pub evidence_strength: f64,
    pub networks_blocked: u32,
    /// Networks with a verdict.
    pub networks_tested: u32,
    /// Networks with any vote.
    pub networks_seen: u32,
    pub intermittent: bool,
    /// Measurements inside the age limit.
    pub evidence_count: u32,
    /// Techniques of the blocked networks, most frequent first, each at the deepest level seen.
    pub techniques: Vec<Technique>,
}

/// Combines the networks of a country (decisions weight-of-networks and one-probability).
///
/// The weight is divided among the networks that had a verdict when the newest vote of any network came, so only new
/// evidence can make a country blocked. A country is blocked or accessible only while at least one network still has
/// that status.
pub fn verdict(members: &[Member<'_>]) -> CountryVerdict {
    let with = |status: Status| -> Vec<&Member<'_>> {
        members.iter().filter(|member| member.verdict.status == status).collect()
    };
    let (blocked, accessible) = (with(Status::Blocked), with(Status::Accessible));
    let decided: Vec<&Member<'_>> = blocked.iter().chain(&accessible).copied().collect();
    let heard: Vec<&Member<'_>> = members.iter().filter(|member| member.verdict.then.is_some()).collect();
    let speaks = |member: &&&Member<'_>| member.verdict.then != Some(Status::Unknown);
    let speaking: Vec<&Member<'_>> = heard.iter().filter(speaks).copied().collect();
    // If no network has a verdict, the beliefs about all networks with votes decide.
    let p_blocked = reached(&voices(if speaking.is_empty() { &heard } else { &speaking }));
    let covers = weight_of(&speaking) >= NATIONAL_COVERAGE * weight_of(&heard);
    let (status, carriers) = match p_blocked {
        p if p >= BLOCKED_PROBABILITY && covers && !blocked.is_empty() => (Status::Blocked, &blocked),
        p if p <= ACCESSIBLE_PROBABILITY && !accessible.is_empty() => (Status::Accessible, &accessible),
        _ => (Status::Unknown, &decided),
    };
    let networks = |members: &[&Member<'_>]| members.iter().filter(|member| !member.remote).count();
    let total = weight_of(&decided);
    CountryVerdict {
        status,
        scope: scope(networks(&blocked), networks(&decided)),
        blocked_weight: if total > 0.0 { weight_of(&blocked) / total } else { 0.0 },
        p_blocked,
        confidence: super::network::confidence(status, p_blocked),
        evidence_strength: mean(carriers, |verdict| verdict.evidence_strength),
        networks_blocked: count(networks(&blocked)),
        networks_tested: count(networks(&decided)),
        networks_seen: count(members.iter().filter(|member| !member.remote && member.verdict.votes > 0).count()),
        intermittent: blocked.iter().any(|member| member.verdict.intermittent),
        evidence_count: members.iter().fold(0_u32, |sum, member| sum.saturating_add(member.verdict.measurements)),
        techniques: techniques(blocked.iter().map(|member| &member.verdict.techniques)),
    }
}

fn voices(members: &[&Member<'_>]) -> Vec<Voice> {
    let voice = |member: &&Member<'_>| Voice {
        weight: weight(member),
        remote: member.remote,
        p_blocked: member.verdict.p_blocked,
    };
    members.iter().map(voice).collect()
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The weight of a network with so many IPv4 addresses: their square root, but at least that of 256. So all networks
/// weigh the same without a table (decision weight-of-networks).
pub fn network_weight(addresses: Option<u64>) -> f64 {
    (addresses.unwrap_or(0).max(MIN_ADDRESSES) as f64).sqrt()
}

/// The view from outside weighs half of the smallest network.
fn weight(member: &Member<'_>) -> f64 {
    if member.remote { REMOTE_WEIGHT * network_weight(None) } else { network_weight(member.addresses) }
}

fn weight_of(members: &[&Member<'_>]) -> f64 {
    members.iter().map(|member| weight(member)).sum()
}

fn mean(members: &[&Member<'_>], value: impl Fn(&NetworkVerdict) -> f64) -> f64 {
    let total = weight_of(members);
    if total <= 0.0 {
        return 0.0;
    }
    members.iter().map(|member| weight(member) * value(member.verdict)).sum::<f64>() / total
}

fn scope(blocked: usize, decided: usize) -> Option<Scope> {
    match blocked {
        0 => None,
        _ if decided >= NATIONAL_NETWORKS && blocked as f64 >= NATIONAL_NETWORK_SHARE * decided as f64 => {
            Some(Scope::National)
        }
        1 => Some(Scope::Single),
        _ => Some(Scope::Several),
    }
}

/// Techniques by frequency. If a technique is the parent of another one that was seen, its count goes to its most
/// frequent child: the answer names the deepest level that the evidence supports.
pub fn techniques<'a>(counts: impl Iterator<Item = &'a BTreeMap<Technique, u32>>) -> Vec<Technique> {
    let mut total: BTreeMap<Technique, u32> = BTreeMap::new();
    for (technique, count) in counts.flatten() {
        *total.entry(*technique).or_default() += count;
    }
    let parents: Vec<Technique> = total
        .keys()
        .copied()
        .filter(|parent| total.keys().any(|child| child != parent && child.is_within(parent.as_str())))
        .collect();
    for parent in parents {
        let Some(count) = total.remove(&parent) else { continue };
        let child = total
            .iter()
            .filter(|(child, _)| child.is_within(parent.as_str()))
            .max_by_key(|(child, n)| (**n, std::cmp::Reverse(**child)))
            .map(|(child, _)| *child);
        if let Some(child) = child {
            *total.entry(child).or_default() += count;
        }
    }
    let mut out: Vec<(Technique, u32)> = total.into_iter().collect();
    out.sort_by_key(|(technique, n)| (std::cmp::Reverse(*n), *technique));
    out.into_iter().map(|(technique, _)| technique).collect()
}

/// The origin of a list (decision kinds-of-lists).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    Official,
    Court,
    Leak,
    /// A dated fact of the starter data.
    Documented,
    /// Lists for routing around blocks; they never set a status.
    Community,
}

/// A list entry for the target in the country.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListEntry {
    pub kind: ListKind,
    pub date: Timestamp,
}

impl ListEntry {
    /// True if the entry may set a status where measurements do not decide (decision kinds-of-lists).
    pub fn speaks(&self, now: Timestamp) -> bool {
        self.kind != ListKind::Community && (0..=KNOWN_LIST_AGE).contains(&now.since(self.date))
    }
}

/// The basis of an answer (`basis` on the wire).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Basis {
    Measured,
    KnownList,
    Unmeasured,
}

impl Basis {
    pub const fn as_str(self) -> &'static str {
        match self {
            Basis::Measured => "measured",
            Basis::KnownList => "known_list",
            Basis::Unmeasured => "unmeasured",
        }
    }
}

/// The final answer, with the lists taken into account.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NationalAnswer {
    pub status: Status,
    pub basis: Basis,
    pub confidence: f64,
    pub evidence_count: u32,
    /// True if any list names the target, of whatever kind and age.
    pub listed: bool,
    /// The newest counted measurement, else the date of the list, else the time of the answer (decision
    /// counts-and-basis).
    pub last_checked: Timestamp,
}

/// A decided measurement wins. If measurements do not decide, a list decides that is young and not a community's.
/// Without either the answer is unknown (decisions counts-and-basis and kinds-of-lists). `measurements` counts those
/// inside the age limit, with or without a vote, and `last_measured` is the newest of them.
pub fn answer(
    measured: &CountryVerdict,
    measurements: u32,
    last_measured: Option<Timestamp>,
    lists: &[ListEntry],
    now: Timestamp,
) -> NationalAnswer {
    let listed = !lists.is_empty();
    let list = lists.iter().filter(|entry| entry.speaks(now)).map(|entry| entry.date).max();
    match (measured.status, list) {
        (Status::Unknown, Some(date)) => NationalAnswer {
            status: Status::Blocked,
            basis: Basis::KnownList,
            confidence: KNOWN_LIST_CONFIDENCE,
            evidence_count: 0,
            listed,
            last_checked: date,
        },
        (Status::Unknown, None) => NationalAnswer {
            status: Status::Unknown,
            basis: if measurements > 0 { Basis::Measured } else { Basis::Unmeasured },
            confidence: 0.0,
            evidence_count: measurements,
            listed,
            last_checked: last_measured.unwrap_or(now),
        },
        (status, _) => NationalAnswer {
            status,
            basis: Basis::Measured,
            confidence: measured.confidence,
            evidence_count: measurements,
            listed,
            last_checked: last_measured.unwrap_or(now),
        },
    }
}
