//! Classifies one raw OONI document as accessible, blocked, down or unknown (decision classify-one-document).
//!
//! The importer uses the same judgement for its votes, so the class of a document and its vote cannot disagree.

use serde_json::Value;

use super::constants::LABEL_PREVALENCE;
use super::down_or_blocked::SITE_DOWN;
use super::evaluate::{Evaluated, Vote};
use super::posterior::{Calibration, log10_odds};
use super::rules::{Class, RuleId};
use super::technique::Technique;
use crate::measurement::fingerprints::Fingerprints;
use crate::measurement::ooni_document::{self, Document};
use crate::measurement::outcome::Outcome;
use crate::measurement::types::Rejection;
use crate::measurement::web_connectivity;

/// The class of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Label {
    Accessible,
    Blocked,
    /// The site itself fails.
    Down,
    Unknown,
}

impl Label {
    pub const fn as_str(self) -> &'static str {
        match self {
            Label::Accessible => "accessible",
            Label::Blocked => "blocked",
            Label::Down => "down",
            Label::Unknown => "unknown",
        }
    }

    /// The three-state status: `down` is `unknown` there (decision classify-one-document).
    pub const fn status(self) -> &'static str {
        match self {
            Label::Down => "unknown",
            other => other.as_str(),
        }
    }
}

/// The answer about one document.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    pub label: Label,
    /// The deciding rule of each host or role, the measured one first.
    pub rules: Vec<RuleId>,
    /// Calibrated probability that the document shows blocking. For rules of low weight it is under 0.5 even with the
    /// label `blocked`; that is also why those rules never vote.
    pub probability: f64,
    /// The technique of a blocked document.
    pub technique: Option<Technique>,
    /// Layer of interference that did not keep the site from working: `dns` or `tls`.
    pub interference: Option<&'static str>,
    /// Why the document is neither accessible nor blocked.
    pub reason: Option<&'static str>,
}

impl Classification {
    /// The wire name of the technique.
    pub fn method(&self) -> Option<&'static str> {
        self.technique.map(Technique::method)
    }
}

/// Classifies the bytes of one document. The error says why they are not a measurement that can be classified.
pub fn classify(document: &[u8], fingerprints: &Fingerprints) -> Result<Classification, Rejection> {
    classify_document(&Document::read(document)?, fingerprints)
}

/// The same from parsed JSON.
pub fn classify_value(document: Value, fingerprints: &Fingerprints) -> Result<Classification, Rejection> {
    classify_document(&Document::from_value(document)?, fingerprints)
}

fn classify_document(document: &Document, fingerprints: &Fingerprints) -> Result<Classification, Rejection> {
    let mut interference = None;
    let found: Vec<Evaluated> = if document.test_name == "web_connectivity" && document.test_keys.is_object() {
        let verdict = web_connectivity::judge(document, fingerprints)?;
        interference = verdict.hosts.iter().find_map(|host| host.interference);
        verdict.hosts.iter().map(|host| Outcome::Judged(host.judgement).evaluate()).collect()
    } else {
        let contributions = ooni_document::contributions(document, fingerprints)?;
        let mut roles: Vec<Evaluated> = contributions.iter().map(|found| found.outcome.evaluate()).collect();
        // A role that works decides, even beside roles that say nothing. So the clear roles go last.
        roles.sort_by_key(|role| role.rule.rule().class == Class::Clear);
        roles
    };
    Ok(decide(&found, interference))
}

/// One blocked host or role makes the document blocked, and one that is down makes it down. The document is accessible
/// only if the end of the chain is clear and nothing failed that needs a control (decision controls-from-peers).
fn decide(found: &[Evaluated], interference: Option<&'static str>) -> Classification {
    let class = |evaluated: &Evaluated| evaluated.rule.rule().class;
    let usable = |evaluated: &&Evaluated| evaluated.vote != Vote::NeedsControl;
    let strongest = found
        .iter()
        .filter(usable)
        .filter(|evaluated| class(evaluated) == Class::Blocked)
        .max_by(|a, b| a.log10_lr().total_cmp(&b.log10_lr()));
    let down = found.iter().find(|evaluated| class(evaluated) == Class::Down);
    let last = found.iter().find(|evaluated| evaluated.vote == Vote::NeedsControl).or(found.last());
    let clear = last.filter(|evaluated| class(evaluated) == Class::Clear);
    let (label, decisive) = match (strongest, down, clear) {
        (Some(blocked), ..) => (Label::Blocked, Some(blocked)),
        (None, Some(down), _) => (Label::Down, Some(down)),
        (None, None, Some(clear)) => (Label::Accessible, Some(clear)),
        (None, None, None) => (Label::Unknown, last),
    };
    let evidence = match label {
        Label::Blocked | Label::Accessible => decisive.map_or(0.0, Evaluated::log10_lr),
        Label::Down | Label::Unknown => 0.0,
    };
    Classification {
        label,
        rules: found.iter().map(|evaluated| evaluated.rule).collect(),
        probability: Calibration::cold_start().probability(log10_odds(LABEL_PREVALENCE) + evidence),
        technique: decisive.filter(|_| label == Label::Blocked).and_then(|evaluated| evaluated.technique),
        interference: interference.filter(|_| label == Label::Accessible),
        reason: decisive.and_then(|evaluated| reason(evaluated.rule, label)),
    }
}

/// The stable reason for `down` or `unknown`.
fn reason(rule: RuleId, label: Label) -> Option<&'static str> {
    match (label, rule) {
        (Label::Blocked | Label::Accessible, _) => None,
        (_, RuleId::HttpSiteFault) => Some("site_fault"),
        (Label::Down, _) => Some(SITE_DOWN),
        (_, RuleId::HttpChallenge) => Some("server_side_challenge"),
        (_, RuleId::LocalFault) => Some("probe_fault"),
        (_, RuleId::InstrumentFault) => Some("instrument_fault"),
        (_, RuleId::NoEvidence) => Some("nothing_measured"),
        (_, RuleId::DnsUnmatched) => Some("answer_unmatched"),
        (_, RuleId::HttpDiffUnchecked) => Some("page_unchecked"),
        _ => Some("no_control"),
    }
}
