//! From the merged outcome of one measurement to its rule and vote.

use super::constants::{BLOCKED_AT, CLEAR_AT};
use super::down_or_blocked::{ANALYSIS_BLOCKED, by_comparison};
use super::rules::{Class, RuleId};
use super::technique::Technique;
use crate::measurement::outcome::{EndpointSet, Judgement, flag};

/// The statement of one measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vote {
    Blocked,
    Clear,
    /// Says nothing about blocking.
    Masked,
    /// The site itself fails.
    Down,
    /// Blocked if the same target works on other networks ([`Evaluated::with_peers`]), otherwise masked.
    NeedsControl,
}

/// A judged measurement: the deciding rule, the technique it shows, the vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evaluated {
    pub rule: RuleId,
    pub technique: Option<Technique>,
    pub vote: Vote,
}

impl Evaluated {
    /// log10 likelihood ratio of the rule.
    pub fn log10_lr(&self) -> f64 {
        self.rule.rule().log10_lr
    }

    /// The vote once it is known whether the target works on other networks (decision controls-from-peers).
    pub fn with_peers(&self, peers_succeed: bool) -> Vote {
        match (self.vote, peers_succeed) {
            (Vote::NeedsControl, true) => Vote::Blocked,
            (Vote::NeedsControl, false) => Vote::Masked,
            (vote, _) => vote,
        }
    }
}

/// The vote of a rule by its ratio (decision one-rule-one-vote).
pub fn vote_of(rule: RuleId) -> Vote {
    let rule = rule.rule();
    match rule.class {
        Class::Down => Vote::Down,
        Class::Masked => Vote::Masked,
        _ if rule.log10_lr >= BLOCKED_AT && rule.needs_control => Vote::NeedsControl,
        _ if rule.log10_lr >= BLOCKED_AT => Vote::Blocked,
        _ if rule.log10_lr <= CLEAR_AT => Vote::Clear,
        _ => Vote::Masked,
    }
}

/// The rule and vote of a document or row that is judged already.
pub fn judged(judgement: Judgement) -> Evaluated {
    let technique = judgement.technique.or(judgement.rule.rule().technique);
    Evaluated { rule: judgement.rule, technique, vote: vote_of(judgement.rule) }
}

fn decide(rule: RuleId, technique: Option<Technique>) -> Evaluated {
    judged(Judgement { rule, technique })
}

/// Judges the merged facts about the endpoints of one target.
pub fn endpoints(set: &EndpointSet) -> Evaluated {
    if set.has(flag::POOL) { pool(set) } else { host(set) }
}

const LOST_DNS: u32 =
    flag::DNS_NXDOMAIN | flag::DNS_NO_ANSWER | flag::DNS_REFUSED | flag::DNS_TIMEOUT | flag::DNS_OTHER;
const LOST_TLS: u32 = flag::TLS_TIMEOUT | flag::TLS_RESET | flag::TLS_EOF | flag::TLS_CERTIFICATE | flag::TLS_OTHER;
const LOST_HTTP: u32 = flag::HTTP_TIMEOUT | flag::HTTP_RESET | flag::HTTP_EOF | flag::HTTP_OTHER;
const LOST_TCP: u32 = flag::TCP_TIMEOUT | flag::TCP_RESET | flag::TCP_REFUSED | flag::TCP_OTHER;

/// Half rule (decision half-of-a-pool): at least half of the seen endpoints failed. An endpoint that answered on a
/// retry did not fail.
fn half_failed(ok: u16, failed: u16) -> bool {
    let seen = (ok | failed).count_ones();
    seen > 0 && 2 * (failed & !ok).count_ones() >= seen
}

/// The half rule for connections. If a handshake failed and none worked, an endpoint that failed counts as failed even
/// if it also connected.
fn connect_lost(set: &EndpointSet) -> bool {
    let below = if set.has(LOST_TLS) && !set.has(flag::TLS_OK) { set.connect_failed } else { 0 };
    half_failed(set.connect_ok & !below, set.connect_failed)
}

fn pool(set: &EndpointSet) -> Evaluated {
    let connect_lost = connect_lost(set);
    // These endpoints are known by name, so without an address nothing else was tried.
    if set.has(LOST_DNS) && !set.has(flag::DNS_OK) && set.http_ok == 0 && set.connect_ok == 0 {
        return decide(RuleId::DnsFailureNoControl, Some(dns_technique(set)));
    }
    if half_failed(set.http_ok, set.http_failed) {
        return if connect_lost || set.has(LOST_TLS) && !set.has(flag::TLS_OK | LOST_HTTP) {
            pool_unconnected(set)
        } else {
            decide(RuleId::HttpTimeoutPool, Some(http_technique(set)))
        };
    }
    if set.http_ok != 0 {
        return decide(RuleId::PoolOk, None);
    }
    if connect_lost {
        return pool_unconnected(set);
    }
    match (set.connect_ok != 0, set.has(flag::LOCAL_FAULT)) {
        (true, _) => decide(RuleId::TcpOk, None),
        (false, true) => decide(RuleId::LocalFault, None),
        (false, false) => decide(RuleId::NoEvidence, None),
    }
}

/// The rule of a pool that cannot be connected to, by the layer that failed. A wrong certificate is not an ordinary
/// network failure, so its rule needs no peers.
fn pool_unconnected(set: &EndpointSet) -> Evaluated {
    if set.has(LOST_TCP) || !set.has(LOST_TLS) {
        decide(RuleId::PoolTcpFailure, Some(tcp_technique(set)))
    } else if set.has(flag::TLS_CERTIFICATE) {
        decide(RuleId::TlsIntercepted, None)
    } else {
        decide(RuleId::TlsFailureNoControl, Some(tls_technique(set)))
    }
}

/// The rule of a failure: `works` if the client's control worked, `silent` if nothing is known of a control.
fn failure(set: &EndpointSet, works: RuleId, silent: RuleId, technique: Technique) -> Evaluated {
    judged(by_comparison(set, works, silent, technique))
}

fn host(set: &EndpointSet) -> Evaluated {
    if set.has(flag::DNS_FINGERPRINT) && !set.has(flag::TLS_OK) {
        return decide(RuleId::DnsFingerprint, None);
    }
    let http_lost = half_failed(set.http_ok, set.http_failed);
    let connect_lost = connect_lost(set);
    if set.http_ok != 0 && !http_lost {
        return answered(set);
    }
    if set.has(LOST_DNS) && !set.has(flag::DNS_OK) {
        return failure(set, RuleId::DnsFailure, RuleId::DnsFailureNoControl, dns_technique(set));
    }
    if set.has(flag::DNS_BOGON) && !set.has(flag::TLS_OK) {
        return failure(set, RuleId::DnsBogon, RuleId::NoControl, Technique::DnsInjectionBogon);
    }
    if connect_lost && set.has(LOST_TLS) {
        let with = if set.has(flag::TLS_RESET) { RuleId::TlsReset } else { RuleId::TlsOther };
        return failure(set, with, RuleId::TlsFailureNoControl, tls_technique(set));
    }
    if connect_lost {
        return failure(set, RuleId::TcpFailure, RuleId::TcpFailureNoControl, tcp_technique(set));
    }
    if http_lost && set.has(LOST_TLS) && !set.has(flag::TLS_OK | LOST_HTTP) {
        return failure(set, RuleId::TlsOther, RuleId::TlsFailureNoControl, tls_technique(set));
    }
    if http_lost {
        return failure(set, RuleId::HttpFailure, RuleId::HttpFailureNoControl, http_technique(set));
    }
    connected_only(set)
}

/// HTTP worked. Over TLS that proves the site; a plain page needs the client's comparison.
fn answered(set: &EndpointSet) -> Evaluated {
    if set.has(flag::TLS_OK) {
        decide(RuleId::TlsValid, None)
    } else if set.has(flag::ANALYSIS_HTTP_DIFF) {
        decide(RuleId::HttpDiffUnchecked, None)
    } else if set.has(flag::ANALYSIS_DNS) {
        decide(RuleId::DnsUnmatched, None)
    } else if set.has(flag::ANALYSIS_CLEAR) {
        decide(RuleId::HttpAnalysisClear, None)
    } else {
        decide(RuleId::HttpAnswered, None)
    }
}

/// There was no HTTP and no majority of failures. TLS, TCP, IPv6 or the client's own statement are left to decide.
fn connected_only(set: &EndpointSet) -> Evaluated {
    if set.has(flag::TLS_OK) {
        return decide(RuleId::TlsValid, None);
    }
    // If only IPv6 failed and none of it works, the client's `tcp_ip` means IPv6 (decision ipv6-and-probe-faults). If
    // connections work, `tcp_ip` means nothing.
    let v6_dead = set.has(flag::V6_TCP_FAILED | flag::V6_TLS_FAILED) && !set.has(flag::V6_OK);
    let claims = if v6_dead || set.connect_ok != 0 { ANALYSIS_BLOCKED & !flag::ANALYSIS_TCP } else { ANALYSIS_BLOCKED };
    if set.has(claims) && !set.has(flag::ANALYSIS_HTTP_DIFF) {
        return decide(RuleId::AnalysisBlocked, Some(analysis_technique(set)));
    }
    if set.connect_ok != 0 {
        return decide(RuleId::TcpOk, None);
    }
    // IPv6 counts only in a session where IPv6 works at all (decision ipv6-and-probe-faults).
    if set.has(flag::V6_OK) && set.has(flag::V6_TLS_FAILED) {
        return failure(set, RuleId::TlsOther, RuleId::TlsFailureNoControl, Technique::Tls);
    }
    if set.has(flag::V6_OK) && !set.has(flag::V6_TCP_FAILED) {
        return decide(RuleId::TcpOk, None);
    }
    if set.has(flag::LOCAL_FAULT | flag::V6_TCP_FAILED | flag::V6_TLS_FAILED) {
        return decide(RuleId::LocalFault, None);
    }
    decide(RuleId::NoEvidence, None)
}

/// The technique of the failures in a session: the first entry of `kinds` that was seen.
fn first_of(set: &EndpointSet, kinds: &[(u32, Technique)], otherwise: Technique) -> Technique {
    kinds.iter().find(|(mask, _)| set.has(*mask)).map_or(otherwise, |(_, technique)| *technique)
}

fn dns_technique(set: &EndpointSet) -> Technique {
    let kinds = [
        (flag::DNS_NXDOMAIN, Technique::DnsNxdomain),
        (flag::DNS_NO_ANSWER, Technique::DnsNoAnswer),
        (flag::DNS_REFUSED, Technique::DnsRefused),
        (flag::DNS_TIMEOUT, Technique::DnsTimeout),
    ];
    first_of(set, &kinds, Technique::Dns)
}

fn tcp_technique(set: &EndpointSet) -> Technique {
    let kinds = [
        (flag::TCP_TIMEOUT, Technique::TcpTimeout),
        (flag::TCP_RESET, Technique::TcpReset),
        (flag::TCP_REFUSED, Technique::TcpRefused),
    ];
    first_of(set, &kinds, Technique::Tcp)
}

fn tls_technique(set: &EndpointSet) -> Technique {
    let kinds = [
        (flag::TLS_RESET, Technique::TlsReset),
        (flag::TLS_TIMEOUT, Technique::TlsTimeout),
        (flag::TLS_EOF, Technique::TlsEof),
        (flag::TLS_CERTIFICATE, Technique::TlsMitm),
    ];
    first_of(set, &kinds, Technique::Tls)
}

fn http_technique(set: &EndpointSet) -> Technique {
    let kinds = [
        (flag::HTTP_TIMEOUT, Technique::HttpTimeout),
        (flag::HTTP_RESET, Technique::HttpReset),
        (flag::HTTP_EOF, Technique::HttpEof),
    ];
    first_of(set, &kinds, Technique::Http)
}

fn analysis_technique(set: &EndpointSet) -> Technique {
    let kinds = [
        (flag::ANALYSIS_DNS, Technique::Dns),
        (flag::ANALYSIS_TCP, Technique::Tcp),
        (flag::ANALYSIS_HTTP_DIFF, Technique::HttpBlockpage),
    ];
    first_of(set, &kinds, Technique::Http)
}
