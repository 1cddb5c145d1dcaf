//! What the data say to a claim: the five verdicts (decision claims-contradicted).

use schemars::JsonSchema;
use serde::Serialize;

use super::findings::{DOUBTFUL, Findings};
use super::stance::{Kind, Stance};
use crate::intelligence::country::State;

/// The five verdicts, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Confirmed,
    Likely,
    Unconfirmed,
    InsufficientData,
    NoData,
}

impl Verdict {
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Likely => "likely",
            Verdict::Unconfirmed => "unconfirmed",
            Verdict::InsufficientData => "insufficient_data",
            Verdict::NoData => "no_data",
        }
    }
}

/// A block decided by measurements confirms a claim at this confidence and on at least [`CONFIRMING_NETWORKS`]; below
/// it makes the claim likely. Our choice.
const CONFIRMING: f64 = 0.8;
pub const CONFIRMING_NETWORKS: u32 = 2;
/// `confidence` of a claim that only a list or a suspected incident supports never exceeds this (decision
/// confidence-of-status).
const UNMEASURED: f64 = 0.6;

/// The answer to a claim about one topic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// How sure the verdict is, 0 to 1; 0 without data.
    pub confidence: f64,
    /// The data decide the opposite.
    pub contradicted: bool,
    pub why: Why,
}

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Incident,
    Blocked,
    /// Interference was measured, but not of the claimed kind.
    OtherKind,
    Listed,
    Suspected,
    /// Measured or recorded with less confidence than decides anything.
    Doubtful,
    /// Lost connectivity that nobody is known to have ordered.
    Unordered,
    /// Not as long as claimed, or from another day on.
    Shorter,
    /// Rows of a table were counted.
    Counted,
    /// One blocked day among clear ones.
    Sporadic,
    /// Blocked before the claimed days, and not measured on them.
    Before,
    /// In other parts of the country.
    Elsewhere,
    Accessible,
    /// Blocked on some networks, accessible for most.
    Partly,
    Ended,
    /// It was over once, and nothing tells that it is so today.
    Outdated,
    /// The network that the claim names was measured too little, or not at all.
    OtherNetworks,
    TooLittle,
    Nothing,
}

/// Judges a claim by what was found.
pub fn judge(stance: Stance, findings: &Findings) -> Judgement {
    let answer = |verdict, confidence, contradicted, why| Judgement { verdict, confidence, contradicted, why };
    if findings.is_empty() {
        return answer(Verdict::NoData, 0.0, false, Why::Nothing);
    }
    let interference = interference(stance, findings);
    // What is over now must be seen now.
    let old = findings.incident.is_some() && !findings.goes_on;
    if stance.over && findings.outdated && (findings.over || interference.is_none() || old) {
        return answer(Verdict::InsufficientData, 0.0, false, Why::Outdated);
    }
    match (stance.negated, interference) {
        (false, Some((verdict, confidence, why))) => {
            answer(verdict, confidence, why == Why::Shorter && findings.misdated, why)
        }
        // Over means that it had been there, and is not any more.
        (true, _) if stance.over && findings.over && !findings.is_still_blocked() => {
            let confidence = findings.incident.unwrap_or(findings.confidence);
            let blocked = findings.state == State::Blocked && !findings.dated_end;
            let verdict = match confidence < DOUBTFUL || blocked {
                _ if findings.late || findings.early => Verdict::Unconfirmed,
                true => Verdict::Likely,
                false => Verdict::Confirmed,
            };
            answer(verdict, confidence, findings.early, Why::Ended)
        }
        // It was, and a list that no measurement bears out says that it still is.
        (true, Some(_)) if stance.over && findings.over && !findings.measured => {
            answer(Verdict::Unconfirmed, findings.confidence, false, Why::Listed)
        }
        (true, Some((Verdict::Confirmed, confidence, why))) => {
            answer(Verdict::Unconfirmed, confidence, !(stance.over && findings.soon_over), why)
        }
        (true, Some((_, confidence, Why::Sporadic))) => answer(Verdict::Likely, confidence, false, Why::Sporadic),
        (true, Some((_, confidence, Why::Doubtful))) => answer(Verdict::Unconfirmed, confidence, false, Why::Doubtful),
        (true, Some((_, _, why))) => {
            let decided = findings.measured && findings.covers && why == Why::Blocked;
            answer(Verdict::Unconfirmed, 0.0, decided, why)
        }
        (negated, None) => unsupported(negated, findings),
    }
}

/// Judges a claim where nothing supports that there was interference.
fn unsupported(negated: bool, findings: &Findings) -> Judgement {
    let answer = |verdict, confidence, contradicted, why| Judgement { verdict, confidence, contradicted, why };
    match negated {
        // An incident that is over says nothing of now but that it is over.
        false if let Some(gone) = findings.gone => {
            let decided = gone >= DOUBTFUL || findings.is_decided();
            answer(Verdict::Unconfirmed, gone.max(findings.confidence), decided, Why::Ended)
        }
        true if findings.gone.is_some() && findings.state == State::Unknown => {
            answer(Verdict::InsufficientData, 0.0, false, Why::Outdated)
        }
        // Most of the country reaches it, and some networks block it: neither claim is simply right.
        _ if findings.state == State::Accessible && findings.networks_blocked > 0 => {
            let verdict = if negated { Verdict::Likely } else { Verdict::Unconfirmed };
            answer(verdict, findings.confidence, false, Why::Partly)
        }
        _ if findings.state == State::Accessible && findings.is_doubtful() => {
            let verdict = if negated { Verdict::Likely } else { Verdict::Unconfirmed };
            answer(verdict, findings.confidence, false, Why::Doubtful)
        }
        _ if findings.state == State::Accessible => {
            let verdict = if negated { Verdict::Confirmed } else { Verdict::Unconfirmed };
            answer(verdict, findings.confidence, !negated, Why::Accessible)
        }
        _ if findings.elsewhere_only => answer(Verdict::InsufficientData, 0.0, false, Why::OtherNetworks),
        _ if findings.before => answer(Verdict::InsufficientData, 0.0, false, Why::Before),
        _ if findings.elsewhere => answer(Verdict::Unconfirmed, 0.0, false, Why::Elsewhere),
        _ => answer(Verdict::InsufficientData, 0.0, false, Why::TooLittle),
    }
}

/// What supports that there was interference.
fn interference(stance: Stance, findings: &Findings) -> Option<(Verdict, f64, Why)> {
    let likely = |confidence: f64, why| Some((Verdict::Likely, confidence.min(UNMEASURED), why));
    let measured = if stance.kind == Kind::Throttling { findings.throttled } else { !findings.only_throttled };
    let kind_fits = stance.any_kind || measured;
    let other_kind = |confidence: f64| Some((Verdict::Unconfirmed, confidence.min(UNMEASURED), Why::OtherKind));
    if let Some(confidence) = findings.deciding_incident() {
        return match (findings.unordered && stance.deliberate, findings.covers) {
            (_, false) if findings.lapsed => Some((Verdict::Unconfirmed, confidence, Why::Ended)),
            (true, _) => likely(confidence, Why::Unordered),
            (false, false) => Some((Verdict::Unconfirmed, confidence, Why::Shorter)),
            (false, true) if confidence < DOUBTFUL => likely(confidence, Why::Doubtful),
            (false, true) => Some((Verdict::Confirmed, confidence, Why::Incident)),
        };
    }
    let doubtful = findings.is_doubtful();
    if findings.state == State::Blocked
        && findings.measured
        && !findings.before
        && !(doubtful && findings.suspected.is_some())
    {
        let networks = if findings.one_network { 1 } else { CONFIRMING_NETWORKS };
        let enough = findings.networks_blocked >= networks && !findings.several;
        let sure = findings.confidence >= CONFIRMING && enough;
        return match (kind_fits, sure && findings.covers) {
            (false, _) => other_kind(findings.confidence),
            (true, _) if doubtful => Some((Verdict::Unconfirmed, findings.confidence, Why::Doubtful)),
            // That it is over is said of one time, whatever was before.
            (true, _) if findings.is_sporadic() && !stance.over => {
                Some((Verdict::Unconfirmed, findings.confidence, Why::Sporadic))
            }
            (true, true) => Some((Verdict::Confirmed, findings.confidence, Why::Blocked)),
            (true, false) if !findings.covers => Some((Verdict::Unconfirmed, findings.confidence, Why::Shorter)),
            (true, false) => Some((Verdict::Likely, findings.confidence, Why::Blocked)),
        };
    }
    // That it was slowed speaks neither for a block nor against that it can be reached.
    if let Some(confidence) = findings.other_kind.filter(|_| !stance.negated || findings.state != State::Accessible) {
        return other_kind(confidence);
    }
    // What most networks show outranks what one source saw on one.
    if let Some(confidence) = findings.suspected.filter(|_| findings.state != State::Accessible) {
        return likely(confidence, Why::Suspected);
    }
    if findings.state == State::Blocked && !findings.before && !findings.measured {
        return likely(findings.confidence, Why::Listed);
    }
    None
}

/// Which of several judgements stands for all: a claim is as strong as its weakest part.
pub fn together(parts: &[Judgement]) -> Option<usize> {
    let contradicted = parts.iter().position(|part| part.contradicted);
    contradicted.or_else(|| (0..parts.len()).rev().max_by_key(|at| parts.get(*at).map(|part| part.verdict)))
}

#[cfg(test)]
mod tests {
    use super::super::findings::NOTHING;
    use super::*;

    const BLOCKED: Findings = Findings {
        state: State::Blocked,
        confidence: 0.95,
        measured: true,
        networks_blocked: 3,
        evidence: 80,
        measurements: 80,
        blocked_days: 9,
        ..NOTHING
    };
    const ACCESSIBLE: Findings = Findings {
        state: State::Accessible,
        confidence: 0.97,
        measured: true,
        evidence: 40,
        measurements: 40,
        ..NOTHING
    };

    fn claim(kind: Kind, negated: bool) -> Stance {
        Stance { kind, negated, over: false, deliberate: true, never: false, any_kind: false }
    }

    fn verdict(stance: Stance, findings: &Findings) -> (Verdict, bool) {
        let judgement = judge(stance, findings);
        (judgement.verdict, judgement.contradicted)
    }

    /// Decision claims-contradicted: no verdict is called "false"; what a decided verdict contradicts is unconfirmed
    /// and says so.
    #[test]
    fn contradicted_negated_and_undecided_claims() {
        let (blocked, not_blocked) = (claim(Kind::Block, false), claim(Kind::Block, true));
        assert_eq!(verdict(blocked, &BLOCKED), (Verdict::Confirmed, false));
        assert_eq!(verdict(not_blocked, &BLOCKED), (Verdict::Unconfirmed, true));
        assert_eq!(verdict(blocked, &ACCESSIBLE), (Verdict::Unconfirmed, true));
        assert_eq!(verdict(not_blocked, &ACCESSIBLE), (Verdict::Confirmed, false));
        let few = Findings { evidence: 2, measurements: 2, ..NOTHING };
        assert_eq!(verdict(blocked, &few), (Verdict::InsufficientData, false));
        assert_eq!(verdict(not_blocked, &few), (Verdict::InsufficientData, false));
        assert_eq!(verdict(blocked, &NOTHING), (Verdict::NoData, false));
        assert_eq!(judge(not_blocked, &NOTHING).confidence, 0.0);
    }

    #[test]
    fn what_is_less_than_measured_on_two_networks_makes_a_claim_likely() {
        let blocked = claim(Kind::Block, false);
        for findings in [
            Findings { networks_blocked: 1, ..BLOCKED },
            Findings { confidence: 0.7, ..BLOCKED },
            Findings { state: State::Blocked, confidence: 0.6, ..NOTHING },
            Findings { suspected: Some(0.9), ..NOTHING },
        ] {
            let judgement = judge(blocked, &findings);
            assert_eq!(judgement.verdict, Verdict::Likely, "{findings:?}");
            assert!(!judgement.contradicted && judgement.confidence > 0.0);
        }
        let listed = Findings { state: State::Blocked, confidence: 0.6, ..NOTHING };
        assert_eq!(verdict(claim(Kind::Block, true), &listed), (Verdict::Unconfirmed, false), "a list decides nothing");
    }

    #[test]
    fn an_incident_confirms_and_its_end_confirms_that_it_is_over() {
        let incident = Findings { incident: Some(0.85), ..NOTHING };
        assert_eq!(verdict(claim(Kind::Shutdown, false), &incident), (Verdict::Confirmed, false));
        assert_eq!(verdict(claim(Kind::Shutdown, true), &incident), (Verdict::Unconfirmed, true));
        let over = Stance { over: true, ..claim(Kind::Block, true) };
        let ended = Findings { incident: Some(0.85), over: true, ..ACCESSIBLE };
        assert_eq!(verdict(over, &ended), (Verdict::Confirmed, false));
        assert_eq!(verdict(over, &Findings { incident: Some(0.85), ..BLOCKED }), (Verdict::Unconfirmed, true));
        let listed = Findings { incident: Some(0.85), over: true, measured: false, ..BLOCKED };
        assert_eq!(verdict(over, &listed), (Verdict::Unconfirmed, false), "a list decides nothing");
    }

    /// Sources differ by a day or so; an end some days later is near enough to be likely, and soon after no
    /// contradiction.
    #[test]
    fn an_end_some_days_after_the_claimed_one_is_likely_and_no_contradiction() {
        let over = Stance { over: true, ..claim(Kind::Shutdown, true) };
        let late = Findings { incident: Some(0.85), over: true, late: true, ..NOTHING };
        assert_eq!(verdict(over, &late), (Verdict::Unconfirmed, false));
        let later = Findings { incident: Some(0.85), soon_over: true, ..NOTHING };
        assert_eq!(verdict(over, &later), (Verdict::Unconfirmed, false));
    }

    /// An incident of which only its last report is known, long ago, says nothing of today; one that goes on does.
    #[test]
    fn an_old_incident_without_an_end_does_not_contradict_that_it_is_over_now() {
        let over = Stance { over: true, ..claim(Kind::Block, true) };
        let old = Findings { incident: Some(0.85), outdated: true, ..NOTHING };
        assert_eq!(verdict(over, &old), (Verdict::InsufficientData, false));
        assert_eq!(judge(over, &old).why, Why::Outdated);
        assert_eq!(verdict(over, &Findings { goes_on: true, ..old }), (Verdict::Unconfirmed, true));
    }

    #[test]
    fn a_block_on_a_few_networks_makes_neither_claim_simply_right() {
        let partly = Findings { networks_blocked: 1, ..ACCESSIBLE };
        assert_eq!(verdict(claim(Kind::Block, false), &partly), (Verdict::Unconfirmed, false));
        assert_eq!(verdict(claim(Kind::Block, true), &partly), (Verdict::Likely, false));
    }

    #[test]
    fn a_block_is_not_the_throttling_that_was_claimed() {
        let slow = claim(Kind::Throttling, false);
        assert_eq!(judge(slow, &BLOCKED).why, Why::OtherKind);
        assert_eq!(verdict(slow, &Findings { throttled: true, ..BLOCKED }), (Verdict::Confirmed, false));
        let other = Findings { other_kind: Some(0.9), ..NOTHING };
        assert_eq!(judge(slow, &other).why, Why::OtherKind);
        assert_eq!(verdict(slow, &Findings { incident: Some(0.9), ..other }), (Verdict::Confirmed, false));
        let blocked = claim(Kind::Block, false);
        assert_eq!(verdict(blocked, &other), (Verdict::Unconfirmed, false), "slowed, and not blocked");
        let slowed = Findings { throttled: true, only_throttled: true, ..BLOCKED };
        assert_eq!(judge(blocked, &slowed).why, Why::OtherKind);
        assert_eq!(verdict(Stance { any_kind: true, ..blocked }, &slowed), (Verdict::Confirmed, false));
        let reachable = Findings { other_kind: Some(0.9), ..ACCESSIBLE };
        assert_eq!(judge(blocked, &reachable).why, Why::OtherKind);
        assert_eq!(verdict(claim(Kind::Block, true), &reachable), (Verdict::Confirmed, false));
    }

    #[test]
    fn one_network_is_judged_by_itself() {
        let blocked = claim(Kind::Block, false);
        let one = Findings { one_network: true, networks_blocked: 1, ..BLOCKED };
        assert_eq!(verdict(blocked, &one), (Verdict::Confirmed, false));
        assert_eq!(verdict(blocked, &Findings { one_network: true, ..ACCESSIBLE }), (Verdict::Unconfirmed, true));
        let none = Findings { one_network: true, elsewhere_only: true, ..NOTHING };
        assert_eq!(judge(blocked, &none).why, Why::OtherNetworks);
        assert_eq!(verdict(claim(Kind::Block, true), &none), (Verdict::InsufficientData, false));
    }

    #[test]
    fn what_is_over_now_must_be_seen_now() {
        let over = Stance { over: true, ..claim(Kind::Block, true) };
        let ended = Findings { incident: Some(0.85), over: true, outdated: true, ..NOTHING };
        assert_eq!(judge(over, &ended).why, Why::Outdated);
        assert_eq!(verdict(over, &ended), (Verdict::InsufficientData, false));
        let lasting = Findings { over: false, goes_on: true, ..ended };
        assert_eq!(verdict(over, &lasting), (Verdict::Unconfirmed, true), "it goes on");
        assert_eq!(verdict(over, &Findings { outdated: false, ..ended }), (Verdict::Confirmed, false));
    }

    #[test]
    fn lost_connectivity_supports_an_order_and_proves_none() {
        let outage = Findings { incident: Some(0.9), unordered: true, ..NOTHING };
        let cut = claim(Kind::Shutdown, false);
        assert_eq!(verdict(cut, &outage), (Verdict::Likely, false));
        assert_eq!(verdict(Stance { deliberate: false, ..cut }, &outage), (Verdict::Confirmed, false));
        assert_eq!(verdict(claim(Kind::Shutdown, true), &outage), (Verdict::Unconfirmed, false));
    }

    #[test]
    fn what_lasted_shorter_than_claimed_or_was_elsewhere_confirms_nothing() {
        let blocked = claim(Kind::Block, false);
        let shorter = Findings { incident: Some(0.9), covers: false, ..NOTHING };
        assert_eq!(verdict(blocked, &shorter), (Verdict::Unconfirmed, false));
        let misdated = Findings { misdated: true, ..shorter.clone() };
        assert_eq!(verdict(blocked, &misdated), (Verdict::Unconfirmed, true));
        assert_eq!(verdict(claim(Kind::Block, true), &shorter), (Verdict::Unconfirmed, false));
        assert_eq!(verdict(blocked, &Findings { covers: false, ..BLOCKED }), (Verdict::Unconfirmed, false));
        let elsewhere = Findings { elsewhere: true, ..NOTHING };
        assert_eq!(verdict(blocked, &elsewhere), (Verdict::Unconfirmed, false));
        let before = Findings { before: true, ..BLOCKED };
        assert_eq!(verdict(blocked, &before), (Verdict::InsufficientData, false));
        assert_eq!(verdict(claim(Kind::Block, true), &before), (Verdict::InsufficientData, false));
    }

    #[test]
    fn one_blocked_day_among_clear_ones_does_not_speak_for_a_month() {
        let sporadic = Findings { blocked_days: 1, decided_days: 20, ..BLOCKED };
        assert_eq!(verdict(claim(Kind::Block, false), &sporadic), (Verdict::Unconfirmed, false));
        assert_eq!(verdict(claim(Kind::Block, true), &sporadic), (Verdict::Likely, false));
        assert_eq!(verdict(claim(Kind::Block, false), &Findings { decided_days: 1, ..sporadic }).0, Verdict::Confirmed);
        let over = Stance { over: true, ..claim(Kind::Block, true) };
        assert_eq!(verdict(over, &sporadic), (Verdict::Unconfirmed, true), "blocked now");
    }

    /// Decision claims-contradicted: only what is decided confirms or contradicts.
    #[test]
    fn what_is_doubtful_neither_confirms_nor_contradicts() {
        let (blocked, not_blocked) = (claim(Kind::Block, false), claim(Kind::Block, true));
        let doubtful = Findings { confidence: 0.3, ..BLOCKED };
        assert_eq!(verdict(blocked, &doubtful), (Verdict::Unconfirmed, false));
        assert_eq!(verdict(not_blocked, &doubtful), (Verdict::Unconfirmed, false));
        assert_eq!(judge(not_blocked, &doubtful).why, Why::Doubtful);
        assert_eq!(verdict(blocked, &Findings { suspected: Some(0.4), ..doubtful }), (Verdict::Likely, false));
        let incident = Findings { incident: Some(0.3), ..NOTHING };
        assert_eq!(verdict(blocked, &incident), (Verdict::Likely, false));
        assert_eq!(verdict(not_blocked, &incident), (Verdict::Unconfirmed, false));
        assert_eq!(verdict(blocked, &Findings { incident: Some(0.3), ..BLOCKED }), (Verdict::Confirmed, false));
        assert_eq!(verdict(not_blocked, &Findings { incident: Some(0.3), ..ACCESSIBLE }), (Verdict::Confirmed, false));
        let open = Findings { confidence: 0.4, ..ACCESSIBLE };
        assert_eq!(verdict(blocked, &open), (Verdict::Unconfirmed, false));
        assert_eq!(verdict(not_blocked, &open), (Verdict::Likely, false));
    }

    #[test]
    fn an_incident_that_is_over_says_nothing_of_now_but_that_it_is_over() {
        let (blocked, not_blocked) = (claim(Kind::Block, false), claim(Kind::Block, true));
        let gone = Findings { gone: Some(0.9), ..NOTHING };
        assert_eq!(verdict(blocked, &gone), (Verdict::Unconfirmed, true));
        assert_eq!(judge(blocked, &gone).why, Why::Ended);
        assert_eq!(verdict(not_blocked, &gone), (Verdict::InsufficientData, false));
        assert_eq!(verdict(blocked, &Findings { gone: Some(0.9), ..ACCESSIBLE }), (Verdict::Unconfirmed, true));
        assert_eq!(verdict(not_blocked, &Findings { gone: Some(0.9), ..ACCESSIBLE }), (Verdict::Confirmed, false));
        assert_eq!(verdict(blocked, &Findings { gone: Some(0.9), ..BLOCKED }), (Verdict::Confirmed, false));
        let open = Findings { of_now: true, incident: Some(0.9), ..ACCESSIBLE };
        assert_eq!(verdict(blocked, &open), (Verdict::Unconfirmed, true), "the verdict of now decides");
        assert_eq!(verdict(not_blocked, &open), (Verdict::Confirmed, false));
        assert_eq!(verdict(blocked, &Findings { networks_blocked: 1, ..open }), (Verdict::Confirmed, false));
        // What is said to go on since some day is as it is now.
        let lapsed = Findings { incident: Some(0.9), lapsed: true, covers: false, ..NOTHING };
        assert_eq!(verdict(blocked, &lapsed), (Verdict::Unconfirmed, false));
        let open = Findings { incident: Some(0.9), lapsed: true, covers: false, ..ACCESSIBLE };
        assert_eq!(verdict(blocked, &open), (Verdict::Unconfirmed, true));
        let again = Findings { incident: Some(0.9), lapsed: true, covers: false, ..BLOCKED };
        assert_eq!(verdict(blocked, &again), (Verdict::Unconfirmed, false));
    }

    #[test]
    fn a_failure_after_a_recorded_end_does_not_contradict_that_end() {
        let over = Stance { over: true, ..claim(Kind::Block, true) };
        let ended = Findings { incident: Some(0.9), over: true, ..BLOCKED };
        assert_eq!(verdict(over, &ended), (Verdict::Unconfirmed, true), "a verdict of now decides");
        let dated = Findings { dated_end: true, ..ended };
        assert_eq!(verdict(over, &dated), (Verdict::Unconfirmed, true), "seen on several networks long after it");
        assert_eq!(verdict(over, &Findings { networks_blocked: 1, ..dated }), (Verdict::Confirmed, false));
        assert_eq!(verdict(over, &Findings { confidence: 0.2, ..dated }), (Verdict::Confirmed, false));
        assert_eq!(verdict(over, &Findings { settling: true, ..dated }), (Verdict::Confirmed, false));
        assert_eq!(verdict(over, &Findings { confidence: 0.2, ..ended }), (Verdict::Likely, false));
    }

    #[test]
    fn several_topics_are_as_strong_as_the_weakest() {
        let part = |findings: &Findings| judge(claim(Kind::Block, false), findings);
        let parts = [part(&BLOCKED), part(&NOTHING)];
        assert_eq!(together(&parts), Some(1));
        let parts = [part(&BLOCKED), part(&ACCESSIBLE), part(&NOTHING)];
        assert_eq!(together(&parts), Some(1), "what is contradicted");
        assert_eq!(together(&[]), None);
    }
}
