//! Why a failure counts as a site that is down, and not as a block. Three things can show it:
//!
//! | Shown by | Where |
//! |---|---|
//! | the control: a server elsewhere asks for the site in the same minute, and fails too | [`by_control`] |
//! | the client's own comparison with its control, where the source has no more than that | [`by_comparison`] |
//! | the other countries: in the same hours the site failed in most of those where it usually works | [`down_in_others`] |
//!
//! Each gives a rule of class [`Down`](super::rules::Class::Down), whose measurements vote neither for a block nor
//! against one. An answer that stays unknown because of them says [`SITE_DOWN`]. A failure that nothing can be compared
//! with waits for peers ([`super::window::Peers`]).

use super::network::Status;
use super::rules::RuleId;
use super::technique::Technique;
use crate::change::constants::{OUTAGE_EDGE_SHARE, OUTAGE_SHARE};
use crate::measurement::outcome::{EndpointSet, Judgement, flag};

/// The reason of an answer that is unknown because the site itself fails.
pub const SITE_DOWN: &str = "site_down";

/// What a client states that found a block by its own comparison.
pub(super) const ANALYSIS_BLOCKED: u32 =
    flag::ANALYSIS_DNS | flag::ANALYSIS_TCP | flag::ANALYSIS_HTTP_DIFF | flag::ANALYSIS_HTTP_FAILURE;

/// The rules of one kind of failure, by what a control says about it.
#[derive(Clone, Copy)]
pub struct Rules {
    /// The control worked: blocked.
    pub works: RuleId,
    /// The control failed too: down.
    pub fails: RuleId,
    /// There is no control: only peers can tell.
    pub silent: RuleId,
}

impl Rules {
    pub const DNS: Rules =
        Rules { works: RuleId::DnsFailure, fails: RuleId::DnsBothFail, silent: RuleId::DnsFailureNoControl };
    pub const TCP: Rules =
        Rules { works: RuleId::TcpFailure, fails: RuleId::TcpBothFail, silent: RuleId::TcpFailureNoControl };
    pub const HTTP: Rules =
        Rules { works: RuleId::HttpFailure, fails: RuleId::HttpBothFail, silent: RuleId::HttpFailureNoControl };

    /// Handshakes that fail in different ways are different rules where the control's works.
    pub const fn tls(works: RuleId) -> Rules {
        Rules { works, fails: RuleId::TlsBothFail, silent: RuleId::TlsFailureNoControl }
    }
}

/// Judges a failure by the control: it works, it fails too, or it says nothing.
pub fn by_control(control: Option<bool>, rules: Rules, technique: Technique) -> Judgement {
    match control {
        Some(true) => Judgement { rule: rules.works, technique: Some(technique) },
        Some(false) => Judgement { rule: rules.fails, technique: None },
        None => Judgement { rule: rules.silent, technique: Some(technique) },
    }
}

/// Judges a failure by the client's own comparison: it reports a block, it blames the site, or it is absent.
pub fn by_comparison(set: &EndpointSet, works: RuleId, silent: RuleId, technique: Technique) -> Judgement {
    let control = match (set.has(ANALYSIS_BLOCKED), set.has(flag::ANALYSIS_CLEAR)) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    by_control(control, Rules { works, fails: RuleId::AnalysisDown, silent }, technique)
}

/// Whether a site was down in a span of hours, by median shares of failures in the other countries. `usual` leaves out
/// what fails there all the time, and `beside` is the same of the spans before and after. An outage begins and ends
/// within a span, so at its edges a smaller share of `all` failures is enough.
pub fn down_in_others(usual: f64, all: f64, beside: impl IntoIterator<Item = f64>) -> bool {
    let fails = |share: f64| share >= OUTAGE_SHARE;
    fails(usual) || all >= OUTAGE_EDGE_SHARE && beside.into_iter().any(fails)
}

/// [`SITE_DOWN`] for an unknown answer with measurements that found the site down.
pub fn reason(status: Status, down: u32) -> Option<&'static str> {
    (status == Status::Unknown && down > 0).then_some(SITE_DOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Vote;
    use crate::verdict::evaluate::vote_of;

    #[test]
    fn a_failure_that_the_control_shares_is_no_block() {
        for (control, vote) in [(Some(true), Vote::Blocked), (Some(false), Vote::Down), (None, Vote::NeedsControl)] {
            assert_eq!(vote_of(by_control(control, Rules::TCP, Technique::TcpTimeout).rule), vote, "{control:?}");
        }
        assert_eq!(by_control(Some(false), Rules::TCP, Technique::TcpTimeout).technique, None, "nothing interferes");
    }

    #[test]
    fn the_edges_of_an_outage_need_fewer_failures_than_its_middle() {
        assert!(down_in_others(OUTAGE_SHARE, 0.0, []));
        assert!(!down_in_others(0.0, OUTAGE_EDGE_SHARE, [0.0, 0.0]), "nothing fails beside it");
        assert!(down_in_others(0.0, OUTAGE_EDGE_SHARE, [0.0, OUTAGE_SHARE]));
        assert!(!down_in_others(0.0, 0.0, [OUTAGE_SHARE, OUTAGE_SHARE]), "it works here");
    }

    #[test]
    fn only_an_unknown_answer_is_explained_by_a_site_that_is_down() {
        assert_eq!(reason(Status::Unknown, 3), Some("site_down"));
        assert_eq!(reason(Status::Unknown, 0), None);
        assert_eq!(reason(Status::Blocked, 3), None);
    }
}
