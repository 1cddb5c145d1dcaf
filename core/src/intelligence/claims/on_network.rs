//! What measurements say of one network: it may be clean where most of its country is blocked, and blocked where most is
//! not.

use super::findings::Findings;
use super::gather::{Period, detect};
use super::networks::{Network, called};
use super::parse::Reading;
use super::stance::Stance;
use super::subjects::Topic;
use crate::engine::runtime::{self, Runtime};
use crate::facts::subject::Subject;
use crate::intelligence::country::{Detection, History, NetworkAnswer, State};
use crate::intelligence::incidents::Incident;
use crate::{Result, Timestamp};

/// Days of a period whose verdicts are looked at, the last ones first. Our choice: each costs a look at all measurements
/// of the service.
const MOST_DAYS: usize = 8;

/// Verdicts that are searched for a name which no table of ours has.
const LOOKS_FOR_NAMES: usize = 2;

/// The verdicts of a service and all its networks at some time.
pub type Seen = (Timestamp, Detection);

/// A network that a claim is about, as the data know it.
#[derive(Debug, Clone)]
pub struct OnNetwork {
    pub network: Network,
    /// Its numbers; an operator may have several, and none is known where nobody measured it.
    pub asns: Vec<u32>,
    /// Its verdict that speaks for the period.
    pub answer: Option<NetworkAnswer>,
}

impl OnNetwork {
    fn new(network: Network, seen: &[Seen], incidents: &[Incident]) -> OnNetwork {
        let measured = answers(seen).map(|answer| (answer.asn, answer.name.as_deref()));
        let reported = incidents.iter().flat_map(|incident| &incident.draft.networks);
        let known: Vec<(u32, Option<&str>)> =
            measured.chain(reported.map(|network| (network.asn, network.name.as_deref()))).collect();
        let same = known.iter().filter(|(asn, name)| network.is(*asn, *name));
        let mut asns: Vec<u32> = network.asn.into_iter().chain(same.map(|(asn, _)| *asn)).collect();
        asns.sort_unstable();
        asns.dedup();
        let mut network = network;
        if network.name.is_none() {
            let own = known.iter().find(|(asn, _)| asns.contains(asn));
            network.name = own.and_then(|(_, name)| (*name).map(str::to_owned));
        }
        OnNetwork { network, asns, answer: None }
    }

    /// For people; with its number where it has one only.
    pub fn label(&self) -> String {
        let asn = self.asn();
        Network { asn, ..self.network.clone() }.label()
    }

    pub fn asn(&self) -> Option<u32> {
        match self.asns.as_slice() {
            [one] => Some(*one),
            _ => self.answer.as_ref().map(|answer| answer.asn).or(self.network.asn),
        }
    }

    /// Whether an incident names it, and saw it blocked in a period.
    pub fn is_of(&self, incident: &Incident, period: Period) -> bool {
        let within = |first: Option<Timestamp>, last: Option<Timestamp>| {
            first.is_none_or(|first| first <= period.to)
                && last.is_none_or(|last| period.since.is_none_or(|since| last >= since))
        };
        incident.draft.networks.iter().any(|network| {
            let same = self.asns.contains(&network.asn) || self.network.is(network.asn, network.name.as_deref());
            same && within(network.first, network.last)
        })
    }
}

fn answers(seen: &[Seen]) -> impl Iterator<Item = &NetworkAnswer> {
    seen.iter().flat_map(|(_, detection)| &detection.networks)
}

/// Verdicts of a topic and its networks in a period, those of its end first; nothing of connectivity as a whole.
pub async fn survey(
    rt: &dyn Runtime,
    country: &str,
    topic: &Topic,
    (reading, stance): (&Reading, Stance),
    period: Period,
) -> Result<Vec<Seen>> {
    let Topic::Subject(subject) = topic else { return Ok(Vec::new()) };
    let unmeasured = subject.roles.is_empty();
    if unmeasured || reading.networks.is_empty() && reading.candidates.is_empty() {
        return Ok(Vec::new());
    }
    let mut seen = Vec::new();
    for at in times(rt, country, subject, stance, period).await? {
        // A capital letter makes no network: what the newest verdicts do not know by that name is none.
        if seen.len() == LOOKS_FOR_NAMES && reading.networks.is_empty() && resolve(reading, &seen, &[]).is_empty() {
            break;
        }
        seen.push((at, detect(rt, country, subject, at, false).await?));
    }
    Ok(seen)
}

/// The times to look at: the one that speaks for the period, and ends of days on which something was blocked.
async fn times(
    rt: &dyn Runtime,
    country: &str,
    subject: &Subject,
    stance: Stance,
    period: Period,
) -> Result<Vec<Timestamp>> {
    let history = History { subject: subject.clone(), days: period.days(), at: Some(period.to) };
    let days = runtime::query(rt, country.to_owned(), &history).await?;
    let mut times = vec![period.at];
    let (blocked, clear): (Vec<_>, Vec<_>) = days.iter().rev().partition(|day| day.blocked > 0);
    // Of many days some, over all of the period.
    let step = blocked.len().div_ceil(MOST_DAYS).max(1);
    let chosen = blocked.into_iter().step_by(step).chain(clear.into_iter().filter(|day| day.votes > 0).take(1));
    let ends = chosen.map(|day| Timestamp::end_of_day(day.day).min(period.to));
    times.extend(ends.filter(|_| !stance.over && !period.at_end));
    times.dedup();
    Ok(times)
}

/// The networks that a claim is about: those that it names, else those that it calls as only measurements do.
pub fn resolve(reading: &Reading, seen: &[Seen], incidents: &[Incident]) -> Vec<OnNetwork> {
    let mut networks = reading.networks.clone();
    if networks.is_empty() && !reading.candidates.is_empty() {
        let reported = incidents.iter().flat_map(|incident| &incident.draft.networks);
        let names = answers(seen).filter_map(|answer| answer.name.as_deref());
        for name in names.chain(reported.filter_map(|network| network.name.as_deref())) {
            let network = Network { asn: None, name: called(name), country: None };
            let meant = network.name.as_ref().is_some_and(|name| reading.candidates.contains(name));
            if meant && !networks.contains(&network) {
                networks.push(network);
            }
        }
    }
    networks.into_iter().map(|network| OnNetwork::new(network, seen, incidents)).collect()
}

/// The verdict of a network that speaks for a period: that of its last blocked day, else of its end. With the answer
/// about the service that it stands in.
pub fn findings(
    on: &mut OnNetwork,
    seen: &[Seen],
    (reading, stance): (&Reading, Stance),
    period: Period,
) -> (Findings, Option<Seen>) {
    let at_end = stance.over || period.at_end;
    let fresh = |answer: &NetworkAnswer| reading.when.is_none_or(|when| at_end || answer.last_checked >= when.start());
    let of = |detection: &Detection| {
        let own = detection.networks.iter().filter(|answer| on.asns.contains(&answer.asn) && fresh(answer));
        own.max_by_key(|answer| (answer.state != State::Unknown, answer.votes)).cloned()
    };
    let found: Vec<(&Seen, NetworkAnswer)> =
        seen.iter().filter_map(|seen| Some((seen, of(&seen.1)?))).take(if at_end { 1 } else { seen.len() }).collect();
    let state = |wanted: State| found.iter().find(|(_, answer)| answer.state == wanted);
    let elsewhere = seen.iter().any(|(_, detection)| detection.evidence_count > 0 || detection.state != State::Unknown);
    let one = state(State::Blocked).or_else(|| state(State::Accessible)).or(found.first()).cloned();
    let Some((seen, answer)) = one else {
        return (
            Findings { one_network: true, elsewhere_only: elsewhere, ..Findings::default() },
            seen.first().cloned(),
        );
    };
    let count = |wanted: State| found.iter().filter(|(_, answer)| answer.state == wanted).count();
    let findings = Findings {
        state: answer.state,
        confidence: answer.confidence,
        measured: true,
        one_network: true,
        elsewhere_only: answer.state == State::Unknown && elsewhere,
        networks_blocked: u32::from(answer.state == State::Blocked),
        evidence: answer.votes,
        measurements: answer.measurements,
        covers: !lasting(reading) || count(State::Blocked) >= count(State::Accessible),
        throttled: answer.method.as_deref() == Some("throttling"),
        only_throttled: answer.method.as_deref() == Some("throttling"),
        ..Findings::default()
    };
    on.answer = Some(answer);
    (findings, Some(seen.clone()))
}

fn lasting(reading: &Reading) -> bool {
    reading.when.is_some_and(super::when::When::is_lasting)
}
