//! The verdict of a country on one target: networks by weight, then lists.

use std::collections::BTreeMap;

use super::constants::{
    KNOWN_LIST_AGE, KNOWN_LIST_CONFIDENCE, MIN_ADDRESSES, NATIONAL_NETWORK_SHARE, NATIONAL_NETWORKS, NATIONAL_SHARE,
    REMOTE_WEIGHT, SEVERAL_NETWORKS, SEVERAL_SHARE,
};
use super::network::{NetworkVerdict, Status};
use super::technique::Technique;
use crate::time::HOUR;
use crate::{Timestamp, order};

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
    /// Not a network but the country as seen from outside, by sources that name no network: half the weight of the
    /// smallest network, and never counted as one (ruling intelligence 32).
    pub remote: bool,
    pub verdict: &'a NetworkVerdict,
}

/// The measured answer for a country.
#[derive(Debug, Clone, PartialEq)]
pub struct CountryVerdict {
    pub status: Status,
    /// Reach of the block; `None` unless some network is blocked.
    pub scope: Option<Scope>,
    /// Share of weight of the blocked networks, 0-1.
    pub blocked_weight: f64,
    /// Calibrated probability of blocking, by weight: of the surest blocked networks that make the country blocked, else of
    /// the accessible ones.
    pub p_blocked: f64,
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
    /// Newest vote, hours since the epoch.
    pub last_vote: Option<i64>,
    /// Techniques of the blocked networks, most frequent first, each at the deepest level seen.
    pub techniques: Vec<Technique>,
}

/// Combines the networks of a country (ruling intelligence 7).
pub fn verdict(members: &[Member<'_>]) -> CountryVerdict {
    let decided: Vec<&Member<'_>> = members.iter().filter(|member| member.verdict.status != Status::Unknown).collect();
    let blocked: Vec<&Member<'_>> =
        decided.iter().copied().filter(|member| member.verdict.status == Status::Blocked).collect();
    let total = weight_of(&decided);
    let share = if total > 0.0 { weight_of(&blocked) / total } else { 0.0 };
    let networks = |members: &[&Member<'_>]| members.iter().filter(|member| !member.remote).count();
    let status = match decided.is_empty() {
        true => Status::Unknown,
        false if reaches(share, networks(&blocked)) => Status::Blocked,
        false => Status::Accessible,
    };
    let carriers = match status {
        Status::Blocked => surest(&blocked, total),
        _ => decided.iter().filter(|member| member.verdict.status == status).copied().collect(),
    };
    let p_blocked = mean(&carriers, |verdict| verdict.p_blocked);
    // With no network behind it, a view from outside is half as sure. Where the networks that were measured too little to
    // decide would turn a block, it is as sure as the others have weight.
    let seen: Vec<&Member<'_>> = members.iter().filter(|member| member.verdict.votes > 0).collect();
    let all = weight_of(&seen);
    let holds = status != Status::Blocked || reaches(weight_of(&blocked) / all, networks(&blocked));
    let from = if networks(&carriers) > 0 { 1.0 } else { REMOTE_WEIGHT };
    let sure = if holds { from } else { from * total / all };
    CountryVerdict {
        status,
        scope: scope(networks(&blocked), networks(&decided)),
        blocked_weight: share,
        p_blocked,
        confidence: sure * super::network::confidence(status, p_blocked),
        evidence_strength: mean(&carriers, |verdict| verdict.evidence_strength),
        networks_blocked: count(networks(&blocked)),
        networks_tested: count(networks(&decided)),
        networks_seen: count(members.iter().filter(|member| !member.remote && member.verdict.votes > 0).count()),
        intermittent: blocked.iter().any(|member| member.verdict.intermittent),
        evidence_count: members.iter().fold(0_u32, |sum, member| sum.saturating_add(member.verdict.measurements)),
        last_vote: members.iter().filter_map(|member| member.verdict.last_vote).max(),
        techniques: techniques(blocked.iter().map(|member| &member.verdict.techniques)),
    }
}

/// The blocked networks that are surest, as many as make the country blocked: a doubtful one beside them takes nothing from
/// that.
fn surest<'m, 'v>(blocked: &[&'m Member<'v>], total: f64) -> Vec<&'m Member<'v>> {
    let mut ordered = blocked.to_vec();
    order::sort_by(&mut ordered, |a, b| {
        b.verdict.p_blocked.total_cmp(&a.verdict.p_blocked).then(b.addresses.cmp(&a.addresses)).then(a.asn.cmp(&b.asn))
    });
    let mut enough = Vec::new();
    for member in ordered {
        enough.push(member);
        if reaches(weight_of(&enough) / total, enough.iter().filter(|member| !member.remote).count()) {
            break;
        }
    }
    enough
}

impl CountryVerdict {
    /// The time of the newest evidence behind a block, when that is an hour or more before `at`: since then nothing but
    /// time has passed ([`is_block_of`]).
    pub fn blocked_since_evidence(&self, at: Timestamp) -> Option<Timestamp> {
        let hour = self.last_vote.filter(|hour| self.status == Status::Blocked && *hour < at.hour())?;
        Some(Timestamp((hour + 1) * HOUR - 1))
    }

    /// The verdict of evidence that is not enough to decide any more.
    pub fn undecided(self) -> CountryVerdict {
        CountryVerdict { status: Status::Unknown, confidence: 0.0, ..self }
    }
}

/// Whether a block of today is one of the networks that had a verdict when the newest evidence came.
///
/// Clean networks lose their verdict once their votes pass the age limit (ruling intelligence 12), and the weight is spread
/// over those that are left (ruling intelligence 7), so time alone would make blocks: of one network among many, once it
/// is the last one. Against the networks of that moment, the share of those that still block can only fall.
pub fn is_block_of(then: &[Member<'_>], now: &[Member<'_>]) -> bool {
    let decided: Vec<&Member<'_>> = then.iter().filter(|member| member.verdict.status != Status::Unknown).collect();
    let blocks = |member: &&Member<'_>| member.verdict.status == Status::Blocked;
    let still = |member: &&Member<'_>| {
        now.iter().filter(blocks).any(|now| (now.asn, now.remote) == (member.asn, member.remote))
    };
    let blocked: Vec<&Member<'_>> = decided.iter().copied().filter(|member| blocks(member) && still(member)).collect();
    let total = weight_of(&decided);
    let networks = blocked.iter().filter(|member| !member.remote).count();
    total > 0.0 && reaches(weight_of(&blocked) / total, networks)
}

/// Whether so many networks with this share of weight block a country (ruling intelligence 7).
fn reaches(share: f64, networks: usize) -> bool {
    share >= NATIONAL_SHARE || (share >= SEVERAL_SHARE && networks >= SEVERAL_NETWORKS)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Square root of the addresses, at least of 256; so all weigh the same without a table. What is seen from outside weighs half
/// of the smallest network.
pub(super) fn weight_by(addresses: Option<u64>, remote: bool) -> f64 {
    let network = (addresses.unwrap_or(0).max(MIN_ADDRESSES) as f64).sqrt();
    if remote { REMOTE_WEIGHT * (MIN_ADDRESSES as f64).sqrt() } else { network }
}

fn weight(member: &Member<'_>) -> f64 {
    weight_by(member.addresses, member.remote)
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

/// Techniques by frequency. A technique that is only the parent of another seen one adds its count to the most frequent
/// child: the deepest level that the evidence supports is named.
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
    order::sort_by_key(&mut out, |(technique, n)| (std::cmp::Reverse(*n), *technique));
    out.into_iter().map(|(technique, _)| technique).collect()
}

/// Who stands behind a list (ruling intelligence 28).
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
    /// Whether it sets a status at a time where measurements do not decide (ruling intelligence 28).
    pub fn speaks(&self, now: Timestamp) -> bool {
        self.kind != ListKind::Community && (0..=KNOWN_LIST_AGE).contains(&now.since(self.date))
    }
}

/// On what an answer rests (`basis` on the wire).
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

/// The final answer after lists.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    pub status: Status,
    pub basis: Basis,
    pub confidence: f64,
    pub evidence_count: u32,
    /// Named by any list, of whatever kind and age.
    pub listed: bool,
    /// Newest counted measurement; the list's date; the time of the answer (ruling intelligence 27).
    pub last_checked: Timestamp,
}

/// A decided measurement wins; an undecided one yields to a list that is young and not a community's; without either the
/// answer is unknown (rulings intelligence 27 and 28). `measurements` counts those inside the age limit, with or without
/// a vote, and `last_measured` is the newest of them.
pub fn answer(
    measured: &CountryVerdict,
    measurements: u32,
    last_measured: Option<Timestamp>,
    lists: &[ListEntry],
    now: Timestamp,
) -> Answer {
    let listed = !lists.is_empty();
    let list = lists.iter().filter(|entry| entry.speaks(now)).map(|entry| entry.date).max();
    match (measured.status, list) {
        (Status::Unknown, Some(date)) => Answer {
            status: Status::Blocked,
            basis: Basis::KnownList,
            confidence: KNOWN_LIST_CONFIDENCE,
            evidence_count: 0,
            listed,
            last_checked: date,
        },
        (Status::Unknown, None) => Answer {
            status: Status::Unknown,
            basis: if measurements > 0 { Basis::Measured } else { Basis::Unmeasured },
            confidence: 0.0,
            evidence_count: measurements,
            listed,
            last_checked: last_measured.unwrap_or(now),
        },
        (status, _) => Answer {
            status,
            basis: Basis::Measured,
            confidence: measured.confidence,
            evidence_count: measurements,
            listed,
            last_checked: last_measured.unwrap_or(now),
        },
    }
}
