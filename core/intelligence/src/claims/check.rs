//! What the data say to a claim: the five verdicts (decision claims-contradicted), on each part and on the whole.

use schemars::JsonSchema;
use serde::Serialize;

use super::*;
use facts::sentence::Sentence as Said;

/// The five verdicts, the strongest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ClaimVerdict")]
pub enum Verdict {
    Confirmed,
    Likely,
    Unconfirmed,
    #[default]
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
/// Where so many days of a period were decided, one blocked day does not speak for it. Our choice.
const CLEAR_DAYS: u32 = 3;
/// What is less sure than this decides nothing: the opposite is as probable.
pub const DOUBTFUL: f64 = 0.5;
/// Most phrases that are named as not checked. Our choice.
const MOST_UNCHECKED: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// How sure the verdict is, 0 to 1; 0 without data.
    pub confidence: f64,
    pub contradicted: bool,
    pub why: Why,
}

impl Judgement {
    const fn of(verdict: Verdict, confidence: f64, why: Why) -> Judgement {
        Judgement { verdict, confidence, contradicted: false, why }
    }

    pub const fn against(self, contradicted: bool) -> Judgement {
        Judgement { contradicted, ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Incident,
    Blocked,
    OtherKind,
    Listed,
    Suspected,
    /// Measured or recorded with less confidence than decides anything.
    Doubtful,
    /// Lost connectivity that nobody is known to have ordered.
    Unordered,
    Shorter,
    Counted,
    Sporadic,
    Before,
    Elsewhere,
    Accessible,
    Partly,
    Ended,
    /// It was over once, and nothing tells that it is so today.
    Outdated,
    OtherNetworks,
    TooLittle,
    Nothing,
}

/// What measurements, lists and incidents say about one topic in one country and period.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// The verdict that speaks for the period: on its last blocked day, else at its end.
    pub state: Option<State>,
    pub confidence: f64,
    /// Decided by measurements, and not by a list.
    pub measured: bool,
    pub networks_blocked: u32,
    /// Measurements that the verdict rests on, and of all days of the period.
    pub evidence: u32,
    pub measurements: u32,
    /// Days of the period with a verdict of blocked, and with any.
    pub blocked_days: u32,
    pub decided_days: u32,
    /// Blocked by votes from before the claimed days alone.
    pub before: bool,
    /// What is known does not last as long as the claim says, or begins or ends at another time.
    pub shorter: bool,
    pub misdated: bool,
    /// The incident is lost connectivity that nobody is known to have ordered.
    pub unordered: bool,
    /// Incidents are known, but of other parts of the country than the claim speaks of.
    pub elsewhere: bool,
    /// Whether throttling is among the methods that were measured, and whether it is all of them.
    pub throttled: bool,
    pub only_throttled: bool,
    /// All this is of several services, which are not all that the claim speaks of.
    pub several: bool,
    /// All this is of the one network that the claim names, of which nothing is decided while other networks are known.
    pub one_network: bool,
    pub elsewhere_only: bool,
    /// The claim is about the present, and nothing is measured that is new enough to say how it is.
    pub outdated: bool,
    /// Confidence of the surest incident that is of another kind than the claimed one; of the surest of the period that
    /// is more than suspected; and of the surest suspected one.
    pub other_kind: Option<f64>,
    pub incident: Option<f64>,
    pub suspected: Option<f64>,
    /// That incident had ended by the time that the claim calls it over.
    pub over: bool,
    /// ... later than the days of the claim, and by more than sources differ; or before the end that the claim dates.
    pub late: bool,
    pub early: bool,
    /// It went on beyond the time that is looked at, and for no more than a few days.
    pub soon_over: bool,
    /// The claim says that it goes on since then, and its end is on record.
    pub lapsed: bool,
    /// An incident is known that goes on, or was lately said to.
    pub goes_on: bool,
    /// The claim dates an end, which incidents record: what failed after it is another matter.
    pub dated_end: bool,
    /// ... so lately that blocked votes from before it still count.
    pub settling: bool,
    /// The claim is about now, and the verdict is of now.
    pub of_now: bool,
    /// ... and confidence of the surest incident that ended lately.
    pub gone: Option<f64>,
}

pub fn decided(state: State) -> Option<State> {
    Some(state).filter(|state| *state != State::Unknown)
}

impl Findings {
    /// Whether anything at all speaks about the period.
    pub fn is_empty(&self) -> bool {
        let incidents = [self.incident, self.suspected, self.other_kind, self.gone];
        let elsewhere = self.elsewhere || self.elsewhere_only || self.before;
        let measured = self.evidence > 0 || self.measurements > 0 || self.state.is_some();
        !elsewhere && !measured && incidents.iter().all(Option::is_none)
    }

    /// Measured, and not to be relied on.
    fn is_doubtful(&self) -> bool {
        self.measured && self.confidence < DOUBTFUL
    }

    /// Decided by measurements that can be relied on.
    fn is_decided(&self) -> bool {
        self.measured && self.state.is_some() && self.confidence >= DOUBTFUL && !self.before
    }

    fn is(&self, state: State) -> bool {
        self.state == Some(state)
    }

    /// Confidence of the incident, where no verdict decides in its place.
    fn deciding_incident(&self) -> Option<f64> {
        // What goes on since then must be so now, and of that a verdict of now tells more than an incident that is
        // over.
        let outdone = |confidence: f64| self.is_decided() && (confidence < DOUBTFUL || self.lapsed && self.shorter);
        // Where nothing blocks it now, an incident that nobody saw end is no more than what was.
        let now = self.of_now && self.is_decided() && self.is(State::Accessible) && self.networks_blocked == 0;
        self.incident.filter(|confidence| !now && !outdone(*confidence))
    }

    /// Whether it is blocked at the time when it is said to be over.
    fn is_still_blocked(&self) -> bool {
        let lone = self.settling || self.networks_blocked < CONFIRMING_NETWORKS;
        let outdone = self.measured && (self.is_doubtful() || self.dated_end && lone);
        self.is(State::Blocked) && !(outdone && self.incident.is_some())
    }

    /// One blocked day among several that were clear.
    const fn is_sporadic(&self) -> bool {
        self.blocked_days == 1 && self.decided_days >= CLEAR_DAYS
    }
}

pub fn judge(stance: Stance, findings: &Findings) -> Judgement {
    if findings.is_empty() {
        return Judgement::of(Verdict::NoData, 0.0, Why::Nothing);
    }
    let interference = interference(stance, findings);
    // What is over now must be seen now.
    let old = findings.incident.is_some() && !findings.goes_on;
    if stance.over && findings.outdated && (findings.over || interference.is_none() || old) {
        return Judgement::of(Verdict::InsufficientData, 0.0, Why::Outdated);
    }
    let unconfirmed = |confidence, why| Judgement::of(Verdict::Unconfirmed, confidence, why);
    match (stance.negated, interference) {
        (false, Some(found)) => found.against(found.why == Why::Shorter && findings.misdated),
        // Over means that it had been there, and is not any more.
        (true, _) if stance.over && findings.over && !findings.is_still_blocked() => {
            let confidence = findings.incident.unwrap_or(findings.confidence);
            let blocked = findings.is(State::Blocked) && !findings.dated_end;
            let verdict = match confidence < DOUBTFUL || blocked {
                _ if findings.late || findings.early => Verdict::Unconfirmed,
                true => Verdict::Likely,
                false => Verdict::Confirmed,
            };
            Judgement::of(verdict, confidence, Why::Ended).against(findings.early)
        }
        // It was, and a list that no measurement bears out says that it still is.
        (true, Some(_)) if stance.over && findings.over && !findings.measured => {
            unconfirmed(findings.confidence, Why::Listed)
        }
        (true, Some(found)) if found.verdict == Verdict::Confirmed => {
            unconfirmed(found.confidence, found.why).against(!(stance.over && findings.soon_over))
        }
        (true, Some(found)) if found.why == Why::Sporadic => Judgement { verdict: Verdict::Likely, ..found },
        (true, Some(found)) if found.why == Why::Doubtful => unconfirmed(found.confidence, found.why),
        (true, Some(found)) => {
            let decided = findings.measured && !findings.shorter && found.why == Why::Blocked;
            unconfirmed(0.0, found.why).against(decided)
        }
        (negated, None) => unsupported(negated, findings),
    }
}

fn unsupported(negated: bool, findings: &Findings) -> Judgement {
    let insufficient = |why| Judgement::of(Verdict::InsufficientData, 0.0, why);
    let accessible = |negated_is, why| {
        let verdict = if negated { negated_is } else { Verdict::Unconfirmed };
        Judgement::of(verdict, findings.confidence, why)
    };
    match findings.gone {
        // An incident that is over says nothing of now but that it is over.
        Some(gone) if !negated => Judgement::of(Verdict::Unconfirmed, gone.max(findings.confidence), Why::Ended)
            .against(gone >= DOUBTFUL || findings.is_decided()),
        Some(_) if findings.state.is_none() => insufficient(Why::Outdated),
        // Most of the country reaches it, and some networks block it: neither claim is simply right.
        _ if findings.is(State::Accessible) && findings.networks_blocked > 0 => {
            accessible(Verdict::Likely, Why::Partly)
        }
        _ if findings.is(State::Accessible) && findings.is_doubtful() => accessible(Verdict::Likely, Why::Doubtful),
        _ if findings.is(State::Accessible) => accessible(Verdict::Confirmed, Why::Accessible).against(!negated),
        _ if findings.elsewhere_only => insufficient(Why::OtherNetworks),
        _ if findings.before => insufficient(Why::Before),
        _ if findings.elsewhere => Judgement::of(Verdict::Unconfirmed, 0.0, Why::Elsewhere),
        _ => insufficient(Why::TooLittle),
    }
}

fn interference(stance: Stance, findings: &Findings) -> Option<Judgement> {
    let some = |verdict, confidence: f64, why| Some(Judgement::of(verdict, confidence, why));
    let likely = |confidence: f64, why| some(Verdict::Likely, confidence.min(UNMEASURED), why);
    let other_kind = |confidence: f64| some(Verdict::Unconfirmed, confidence.min(UNMEASURED), Why::OtherKind);
    if let Some(confidence) = findings.deciding_incident() {
        return match findings.shorter {
            true if findings.lapsed => some(Verdict::Unconfirmed, confidence, Why::Ended),
            _ if findings.unordered && stance.deliberate => likely(confidence, Why::Unordered),
            true => some(Verdict::Unconfirmed, confidence, Why::Shorter),
            false if confidence < DOUBTFUL => likely(confidence, Why::Doubtful),
            false => some(Verdict::Confirmed, confidence, Why::Incident),
        };
    }
    let (doubtful, confidence) = (findings.is_doubtful(), findings.confidence);
    let blocked = findings.is(State::Blocked) && !findings.before;
    if blocked && findings.measured && !(doubtful && findings.suspected.is_some()) {
        let measured = if stance.kind == Kind::Throttling { findings.throttled } else { !findings.only_throttled };
        let networks = if findings.one_network { 1 } else { CONFIRMING_NETWORKS };
        let sure = confidence >= CONFIRMING && findings.networks_blocked >= networks && !findings.several;
        return match () {
            () if !(stance.any_kind || measured) => other_kind(confidence),
            () if doubtful => some(Verdict::Unconfirmed, confidence, Why::Doubtful),
            // That it is over is said of one time, whatever was before.
            () if findings.is_sporadic() && !stance.over => some(Verdict::Unconfirmed, confidence, Why::Sporadic),
            () if findings.shorter => some(Verdict::Unconfirmed, confidence, Why::Shorter),
            () => some(if sure { Verdict::Confirmed } else { Verdict::Likely }, confidence, Why::Blocked),
        };
    }
    let reachable = findings.is(State::Accessible);
    // That it was slowed speaks neither for a block nor against that it can be reached.
    if let Some(confidence) = findings.other_kind.filter(|_| !(stance.negated && reachable)) {
        return other_kind(confidence);
    }
    // What most networks show outranks what one source saw on one.
    if let Some(confidence) = findings.suspected.filter(|_| !reachable) {
        return likely(confidence, Why::Suspected);
    }
    (blocked && !findings.measured).then(|| likely(confidence, Why::Listed))?
}

/// Which of several judgements stands for all: a claim is as strong as its weakest part.
pub fn together(parts: &[Judgement]) -> Option<usize> {
    let contradicted = parts.iter().position(|part| part.contradicted);
    contradicted.or_else(|| (0..parts.len()).rev().max_by_key(|at| parts.get(*at).map(|part| part.verdict)))
}

/// The verdict on what was checked of a claim, where something of it was not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ClaimCore")]
pub struct Core {
    pub verdict: Verdict,
    /// How sure that verdict is, 0 to 1; 0 without data.
    pub confidence: f64,
}

/// What the data say to a claim as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conclusion {
    pub verdict: Verdict,
    pub confidence: f64,
    pub contradicted: bool,
    pub deciding: usize,
    /// What of the claim nobody checked, in its words where they stand together.
    pub unchecked: Vec<String>,
    pub core: Option<Core>,
}

/// Concludes from the parts; `None` without any.
pub fn conclude(claim: &Claim, found: &[CheckedClaim<'_>]) -> Option<Conclusion> {
    let weakest = |part: fn(&CheckedClaim<'_>) -> Judgement| {
        let parts: Vec<Judgement> = found.iter().map(part).collect();
        together(&parts).and_then(|at| Some((at, *parts.get(at)?)))
    };
    let (deciding, part) = weakest(|found| found.judgement)?;
    // Who says that it works everywhere says no more than that it works.
    let whole = found.iter().any(|found| found.claim.stance.denies()).then_some(Beyond::Nationwide);
    let told: Vec<Beyond> = found.iter().flat_map(|found| &found.told).copied().chain(whole).collect();
    let names = found.iter().filter_map(|found| found.network.as_ref()?.network.name.as_deref());
    let networks: Vec<String> = names.flat_map(|name| name.split(' ').map(str::to_lowercase)).collect();
    let mut unchecked = slots::left_over(claim, &[], &told, &networks);
    // Where only words are left that fill no slot of theirs, the details that nothing tells.
    if unchecked.is_empty() {
        let untold = found.iter().flat_map(|found| &found.untold);
        unchecked = each_once(untold.map(|detail| Said::new(detail.code()).english()), PartialEq::eq);
    }
    // "It was not blocked in schools": a denial of less than all of it is not contradicted by the whole.
    let partly = !unchecked.is_empty() && found.get(deciding)?.claim.stance.denies();
    let (_, core) = weakest(|found| found.core)?;
    Some(Conclusion { deciding, ..Conclusion::of(part.against(part.contradicted && !partly), core, unchecked) })
}

/// Concludes from what a table says to a count; the words that count are checked with it.
pub fn counted(claim: &Claim, count: &Counting, part: Judgement) -> Conclusion {
    Conclusion::of(part, part, slots::left_over(claim, &count.words, &[], &[]))
}

impl Conclusion {
    fn of(part: Judgement, core: Judgement, mut unchecked: Vec<String>) -> Conclusion {
        unchecked.truncate(MOST_UNCHECKED);
        let partly = !unchecked.is_empty() && !part.contradicted;
        let capped = partly && part.verdict <= Verdict::Unconfirmed;
        Conclusion {
            verdict: if capped { Verdict::Unconfirmed } else { part.verdict },
            confidence: if capped { 0.0 } else { round(part.confidence) },
            contradicted: part.contradicted,
            deciding: 0,
            core: partly.then(|| Core { verdict: core.verdict, confidence: round(core.confidence) }),
            unchecked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::starter;

    trait Field {
        fn from(text: &str) -> Self;
    }

    macro_rules! fields {
        ($($kind:ty: $read:expr;)*) => {
            $(impl Field for $kind {
                fn from(text: &str) -> $kind {
                    $read(text)
                }
            })*
        };
    }

    fields! {
        bool: |text: &str| text == "true";
        u32: |text: &str| text.parse().unwrap();
        f64: |text: &str| text.parse().unwrap();
        Option<f64>: |text: &str| text.parse().ok();
        Option<State>: |text: &str| Some(if text == "blocked" { State::Blocked } else { State::Accessible });
    }

    macro_rules! set {
        ($found:ident, $field:ident, $value:ident, $($name:ident)*) => {
            match $field {
                $(stringify!($name) => $found.$name = Field::from($value),)*
                other => panic!("{other}"),
            }
        };
    }

    fn findings(text: &str) -> Findings {
        let mut found = Findings::default();
        for field in text.split(' ').filter(|field| !field.is_empty()) {
            let (field, value) = field.split_once('=').unwrap_or((field, "true"));
            set!(found, field, value, state confidence measured networks_blocked evidence measurements blocked_days decided_days
                before shorter misdated unordered elsewhere throttled only_throttled one_network elsewhere_only outdated
                other_kind incident suspected over late soon_over lapsed goes_on dated_end settling of_now gone);
        }
        found
    }

    /// Decision claims-contradicted: no verdict is called "false"; what a decided verdict contradicts is unconfirmed
    /// and says so.
    #[test]
    fn findings_make_the_verdicts_of_the_table() {
        let mut count = 0;
        for [claim, found, expected, why] in starter::rows::<4>(include_str!("judgements.tsv")) {
            let has = |word: &str| claim.split(' ').any(|part| part == word);
            let kinds = [("throttling", Kind::Throttling), ("shutdown", Kind::Shutdown), ("block", Kind::Block)];
            let kind = kinds.into_iter().find(|(name, _)| has(name)).unwrap().1;
            let (over, any_kind) = (has("over"), has("any"));
            let negated = over || has("not");
            let stance = Stance { kind, negated, over, deliberate: !has("undeliberate"), never: false, any_kind };
            let judgement = judge(stance, &findings(found));
            let contradicted = if judgement.contradicted { " contradicted" } else { "" };
            let said = format!("{}{contradicted}", judgement.verdict.as_str());
            assert_eq!(said, expected, "{claim}: {found}");
            assert!(why == "-" || format!("{:?}", judgement.why) == why, "{claim}: {found}: {:?}", judgement.why);
            let sure = judgement.confidence > 0.0;
            assert!(sure || judgement.verdict > Verdict::Likely, "{claim}: {found}");
            assert!(!sure || judgement.verdict < Verdict::InsufficientData, "{claim}: {found}");
            count += 1;
        }
        assert!(count > 70);
    }

    #[test]
    fn several_topics_are_as_strong_as_the_weakest() {
        let of = |verdict| Judgement::of(verdict, 0.9, Why::Blocked);
        let (confirmed, none) = (of(Verdict::Confirmed), of(Verdict::NoData));
        assert_eq!(together(&[confirmed, none]), Some(1));
        assert_eq!(
            together(&[confirmed, of(Verdict::Unconfirmed).against(true), none]),
            Some(1),
            "what is contradicted"
        );
        assert_eq!(together(&[]), None);
    }
}
