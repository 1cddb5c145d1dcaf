//! What measurements of platforms say of social media as a whole, where no incident does.

use super::findings::Findings;
use super::gather::{Counted, Period, measured};
use super::parse::Reading;
use super::stance::Stance;
use super::subjects::SOCIAL;
use crate::Result;
use crate::engine::runtime::Runtime;
use crate::facts::subject::Subject;
use crate::intelligence::country::State;

/// So many blocked platforms make a block of social media likely, when they are half of those decided. Our choice.
const BLOCKED: usize = 2;
/// So many decided platforms of which none is blocked speak against one. Our choice.
const CLEAR: usize = 3;

/// Looks at each platform as at a service that is named.
pub async fn findings(
    rt: &dyn Runtime,
    country: &str,
    claim: (&Reading, Stance),
    period: Period,
) -> Result<(Findings, Counted)> {
    let mut found = Vec::with_capacity(SOCIAL.len());
    for subject in SOCIAL.iter().filter_map(|name| Subject::parse(name).ok()) {
        found.push(measured(rt, country, &subject, claim, period).await?.0);
    }
    Ok(together(&found))
}

/// What several platforms say together.
fn together(found: &[Findings]) -> (Findings, Counted) {
    let of = |wanted: State| found.iter().filter(move |one| one.measured && !one.before && one.state == wanted);
    let (blocked, clear) = (of(State::Blocked).count(), of(State::Accessible).count());
    let decided = blocked + clear;
    let state = match () {
        () if blocked >= BLOCKED && blocked * 2 >= decided => State::Blocked,
        () if blocked == 0 && decided >= CLEAR => State::Accessible,
        () => State::Unknown,
    };
    let confidence = of(state).map(|one| one.confidence).fold(f64::INFINITY, f64::min);
    let findings = Findings {
        state,
        confidence: if confidence.is_finite() { confidence } else { 0.0 },
        measured: state != State::Unknown,
        several: true,
        evidence: found.iter().map(|one| one.evidence).sum(),
        measurements: found.iter().map(|one| one.measurements).sum(),
        covers: of(State::Blocked).all(|one| one.covers),
        throttled: of(State::Blocked).any(|one| one.throttled),
        only_throttled: state == State::Blocked && of(State::Blocked).all(|one| one.only_throttled),
        over: of(State::Accessible).filter(|one| one.over).count() >= BLOCKED,
        ..Findings::default()
    };
    (findings, Counted { blocked, decided })
}

#[cfg(test)]
mod tests {
    use super::super::check::{Verdict, judge};
    use super::super::stance::Kind;
    use super::*;

    fn verdict(blocked: usize, clear: usize, negated: bool) -> (Verdict, bool) {
        let one = |state| Findings { state, confidence: 0.95, measured: true, evidence: 20, ..Findings::default() };
        let mut found = vec![one(State::Blocked); blocked];
        found.extend(vec![one(State::Accessible); clear]);
        found.push(Findings { evidence: 1, ..Findings::default() });
        let stance =
            Stance { kind: Kind::Block, negated, over: false, deliberate: true, never: false, any_kind: false };
        let judgement = judge(stance, &together(&found).0);
        (judgement.verdict, judgement.contradicted)
    }

    #[test]
    fn platforms_make_a_block_of_social_media_likely_and_never_sure() {
        for (blocked, clear, expected) in [
            (2, 0, (Verdict::Likely, false)),
            (9, 0, (Verdict::Likely, false)),
            (3, 3, (Verdict::Likely, false)),
            (1, 0, (Verdict::InsufficientData, false)),
            (2, 3, (Verdict::InsufficientData, false)),
            (0, 2, (Verdict::InsufficientData, false)),
            (0, 3, (Verdict::Unconfirmed, true)),
        ] {
            assert_eq!(verdict(blocked, clear, false), expected, "{blocked} of {}", blocked + clear);
        }
        assert_eq!(verdict(0, 3, true), (Verdict::Confirmed, false));
        assert_eq!(verdict(4, 2, true), (Verdict::Unconfirmed, true));
    }
}
