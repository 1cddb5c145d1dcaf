//! Explains an answer: rules, weights, votes, witnesses and one plain sentence (decision plain-sentences-and-disputes).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{Detection, State};
use super::evidence::{self, JudgedSeries, Network};
use super::instrument::InstrumentFault;
use super::kinds;
use super::tables::{RULES_VERSION, WITNESSES, WitnessRow};
use crate::{Result, Timestamp};
use engine::actor::View;
use engine::kv::Direction;
use engine::number::round;
use engine::time::HOUR;
use facts::sentence::{Sentence, Sentences};
use facts::verdict::belief::{self, CALIBRATION, Step};
use facts::verdict::national;
use facts::verdict::network::Status;

/// Most witnesses of one series in an explanation.
const WITNESS_LIMIT: usize = 12;
/// Most votes of one network in an explanation.
const VOTE_LIMIT: usize = 24;

/// One rule that decided votes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuleUse {
    pub rule: String,
    /// What it means; the code of the sentence is `rule.` and the name.
    pub meaning: String,
    /// log10 of the likelihood ratio.
    pub log10_lr: f64,
    /// Measurements that the rule decided, on the winning side of their votes.
    pub count: u32,
    pub needs_control: bool,
}

/// A measurement that a reader can look up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WitnessLink {
    pub asn: u32,
    pub day: String,
    pub measurement: String,
    pub link: String,
}

/// The part of one network in an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkUse {
    pub asn: u32,
    pub name: Option<String>,
    pub status: State,
    /// Square root of the network's IPv4 addresses, at least of 256 (decision weight-of-networks); 0 without a verdict.
    pub weight: f64,
    pub votes: u32,
    pub blocked_votes: u32,
    pub blocked_hours: u32,
    /// Probability that a block is in force on the network. The votes move it from `prior` to `p_blocked_then`, the
    /// value after the newest vote of any network. From there only time moves it.
    pub p_blocked: f64,
    pub p_blocked_then: f64,
    /// Whether the country has the same status.
    pub carries: bool,
    /// The network's newest votes, oldest first, with what each did.
    pub newest_votes: Vec<VoteUse>,
}

/// What a vote did to the probability of a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VoteUse {
    /// Beginning of the hour of the vote, RFC 3339.
    pub hour: String,
    /// Whether the vote says blocked.
    pub failed: bool,
    /// Probability of a failed vote where nobody blocks; 0 if the vote is clear, because then it makes no difference.
    pub fails_anyhow: f64,
    /// log10 of the factor by which the vote changed the odds of a block.
    pub log10_weight: f64,
    /// Probability of a block after the vote.
    pub p_blocked: f64,
}

/// The part of one series in an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleExplanation {
    pub key: String,
    pub essential: bool,
    pub status: State,
    /// Probability that the country is blocked: that the blocking networks reach the threshold of a national block.
    pub p_blocked: f64,
    /// The kind of site: `platform`, `political` or `other`.
    pub kind: String,
    /// The probability of a block that time without votes moves each network towards: the usual rate, or a higher one
    /// where much of this kind is blocked in the country.
    pub rate: f64,
    pub rules: Vec<RuleUse>,
    pub networks: Vec<NetworkUse>,
    pub witnesses: Vec<WitnessLink>,
    /// Failures that follow a software version and not a network. They are left out.
    pub instrument_fault: Option<InstrumentFault>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    pub rules_version: u32,
    /// Probability of a block on a network before any vote: the share of time that blocks take in the long run.
    pub prior: f64,
    /// The data that the probabilities were calibrated on.
    pub calibration_source: String,
    pub roles: Vec<RoleExplanation>,
    /// What this answer does not know.
    pub not_known: Vec<Sentence>,
}

/// An explanation in an answer, with the codes of its sentences.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Explanation")]
pub struct ExplanationBody {
    #[serde(flatten)]
    pub explanation: Explanation,
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    sentences: Sentences,
}

impl From<Explanation> for ExplanationBody {
    fn from(explanation: Explanation) -> ExplanationBody {
        ExplanationBody { sentences: Sentences::new().with("not_known", &explanation.not_known), explanation }
    }
}

pub(super) fn explain(view: &View<'_>, judged: &[(bool, JudgedSeries)]) -> Result<Explanation> {
    let mut roles = Vec::with_capacity(judged.len());
    let mut not_known = Vec::new();
    for (essential, judged) in judged {
        let explanation = role(view, *essential, judged)?;
        if judged.evidence == 0 {
            not_known.push(Sentence::new("explanation.not_measured").with("target", &judged.key));
        }
        if let Some(InstrumentFault { versions, measurements }) = judged.instrument {
            let fault = Sentence::new("explanation.instrument_fault").with("target", &judged.key);
            not_known.push(fault.with("measurements", measurements).with("versions", versions));
        }
        roles.push(explanation);
    }
    let mut networks =
        judged.iter().flat_map(|(_, judged)| &judged.networks).filter(|network| network.asn != 0).peekable();
    if networks.peek().is_some() && networks.all(|network| network.addresses.is_none()) {
        not_known.push(Sentence::new("explanation.no_weights"));
    }
    Ok(Explanation {
        rules_version: RULES_VERSION,
        prior: round(belief::RATE),
        calibration_source: CALIBRATION.to_owned(),
        roles,
        not_known,
    })
}

fn role(view: &View<'_>, essential: bool, judged: &JudgedSeries) -> Result<RoleExplanation> {
    let rules = evidence::rules(judged).into_iter().map(|(rule, count)| {
        let rule = rule.rule();
        RuleUse {
            rule: rule.name.to_owned(),
            meaning: rule.meaning.to_owned(),
            log10_lr: rule.log10_lr,
            count,
            needs_control: rule.needs_control,
        }
    });
    let mut networks = Vec::new();
    for network in judged.networks.iter().filter(|network| network.asn != 0) {
        let verdict = &network.verdict;
        let weight = national::network_weight(network.addresses);
        networks.push(NetworkUse {
            asn: network.asn,
            name: network.name.as_deref().map(str::to_owned),
            status: verdict.status.into(),
            weight: if verdict.status == Status::Unknown { 0.0 } else { round(weight) },
            votes: verdict.votes,
            blocked_votes: verdict.blocked_votes,
            blocked_hours: verdict.blocked_hours,
            p_blocked: round(verdict.p_blocked),
            p_blocked_then: round(verdict.p_blocked_then),
            carries: verdict.status != Status::Unknown && verdict.status == judged.verdict.status,
            newest_votes: newest_votes(network),
        });
    }
    Ok(RoleExplanation {
        key: judged.key.clone(),
        essential,
        status: judged.verdict.status.into(),
        p_blocked: round(judged.verdict.p_blocked),
        kind: kinds::kind(view, &judged.key)?.as_str().to_owned(),
        rate: round(judged.ageing.rate),
        rules: rules.collect(),
        networks,
        witnesses: witnesses(view, judged)?,
        instrument_fault: judged.instrument,
    })
}

fn newest_votes(network: &Network) -> Vec<VoteUse> {
    let newest = network.steps.len().saturating_sub(VOTE_LIMIT);
    let vote = |step: &Step| VoteUse {
        hour: Timestamp(step.hour * HOUR).to_string(),
        failed: step.blocked,
        fails_anyhow: round(step.free),
        log10_weight: round(step.log10_weight()),
        p_blocked: round(step.belief.blocked()),
    };
    network.steps.iter().skip(newest).map(vote).collect()
}

/// Measurements on the days of blocked votes, the newest of each network first.
fn witnesses(view: &View<'_>, judged: &JudgedSeries) -> Result<Vec<WitnessLink>> {
    let mut found = Vec::new();
    for network in judged.networks.iter().filter(|network| network.asn != 0) {
        let mut days: Vec<u32> = network
            .votes
            .iter()
            .filter(|vote| vote.blocked)
            .filter_map(|vote| u32::try_from(vote.hour.div_euclid(24)).ok())
            .collect();
        days.dedup();
        for day in days.into_iter().rev() {
            found.extend(links(view, &judged.key, day, network.asn)?);
            if found.len() >= WITNESS_LIMIT {
                found.truncate(WITNESS_LIMIT);
                return Ok(found);
            }
        }
    }
    Ok(found)
}

fn links(view: &View<'_>, key: &str, day: u32, asn: u32) -> Result<Vec<WitnessLink>> {
    let rows = WITNESSES.scan(view, &WITNESSES.prefix(&(key.to_owned(), day, asn)), Direction::Ascending, 8)?;
    let date = Timestamp(i64::from(day) * 24 * HOUR).to_date_text();
    let found = rows.iter().flat_map(|(_, row)| &row.0).filter_map(WitnessRow::link);
    Ok(found.map(|(measurement, link)| WitnessLink { asn, day: date.clone(), measurement, link }).collect())
}

/// One plain sentence with numbers (decision plain-sentences-and-disputes). `country` is the code.
pub fn sentence(answer: &Detection, country: &str) -> Sentence {
    let about = |code| Sentence::new(code).with("subject", &answer.name).with("country", country);
    let seen = |code| about(code).with("date", answer.last_checked);
    let measured = |code| seen(code).with("networks", networks(answer));
    match (answer.state, answer.basis.as_str()) {
        (State::Blocked, "known_list") => seen("check.listed"),
        (State::Blocked, _) => {
            measured("check.blocked").with("method", answer.methods.first()).with("intermittent", answer.intermittent)
        }
        (State::Accessible, _) if answer.networks_blocked > 0 => measured("check.mostly_accessible"),
        (State::Accessible, _) => measured("check.accessible"),
        (State::Unknown, _) if answer.reason.is_some() => seen("check.site_down"),
        (State::Unknown, "measured") => seen("check.too_little").with("measurements", answer.evidence_count),
        (State::Unknown, _) if answer.stale_since.is_some() => seen("check.stale").with("list", uncounted(answer)),
        (State::Unknown, _) => about("check.unmeasured").with("list", uncounted(answer)),
    }
}

/// How many networks block; nothing if no network has enough measurements.
fn networks(answer: &Detection) -> Option<Sentence> {
    let networks = Sentence::new("check.networks").with("blocked", answer.networks_blocked);
    let networks = networks.with("tested", answer.networks_tested).with("share", answer.blocked_weight);
    (answer.networks_tested > 0).then(|| networks.with("weighted", answer.weights_known))
}

/// A list that names a subject which is not known to be blocked, and the reason why the list does not decide: its kind
/// or its date. A list that counts would have decided (decision kinds-of-lists).
pub fn uncounted(answer: &Detection) -> Option<Sentence> {
    let newest = |community: bool| {
        let lists = answer.lists.iter().filter(move |list| (list.kind == "community") == community);
        lists.max_by(|a, b| a.date.cmp(&b.date))
    };
    match (newest(false), newest(true)) {
        (Some(list), _) => Some(Sentence::new("check.list.old").with("date", &list.date).with("kind", &list.kind)),
        (None, Some(list)) => Some(Sentence::new("check.list.community").with("date", &list.date)),
        (None, None) => None,
    }
}
