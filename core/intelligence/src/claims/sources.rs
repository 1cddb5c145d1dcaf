//! What is asked about a claim: measurements, lists and incidents of its service by all names that it has, in its
//! country and period.

use super::*;
use crate::country::{Detect, HistoryDay, ReadMeasuredDays};
use crate::incidents::{Filter, ReadableId, Select};

/// A claim about now looks for incidents that ended so lately: that they ended is known of now. Our choice.
const LATELY: i64 = 7 * DAY;
const MOST_INCIDENTS: u32 = 10;
/// Of so many of the days that an incident and a claim have in common, measurements must say the opposite: a report
/// speaks of the others by itself. Our choice.
const SHARE: f64 = 0.5;
const MOST_DAYS: i64 = 400;
/// So many blocked platforms make a block of social media likely, when they are half of those decided. Our choice.
const BLOCKED: usize = 2;
/// So many decided platforms of which none is blocked speak against one. Our choice.
const CLEAR: usize = 3;

/// The incidents of a claim; for one about now those too of which it is known that they ended lately.
pub async fn lately(claim: &Claimed<'_>) -> Result<Vec<Incident>> {
    let period = claim.period;
    let now = period.since.filter(|_| period.is_now);
    let longer = Period { since: now.map_or(period.since, |_| Some(period.to.plus(-LATELY))), ..period };
    let mut found = incidents_of(claim, longer).await?;
    let began = |end: Timestamp| now.is_none_or(|since| end >= since);
    found.retain(|incident| !incident.is_end_unknown() || incident.end().is_none_or(began));
    Ok(found)
}

/// Incidents of a service by all its names; those of social media are of it as a whole, or of two platforms or more.
pub async fn incidents_of(claim: &Claimed<'_>, period: Period) -> Result<Vec<Incident>> {
    let platforms = &lexicon::list("subjects.social").items;
    let social = claim.topic.name() == SOCIAL_MEDIA;
    let mut names = claim.topic.names();
    if social {
        names.extend(["social_media", "social media services"].iter().chain(platforms).map(|name| (*name).to_owned()));
    }
    let mut found: Vec<Incident> = Vec::new();
    for name in names {
        let (country, subject) = (Some(claim.country.code.to_owned()), Some(name));
        let filter = Filter { country, subject, since: period.since, until: Some(period.to), ..Filter::default() };
        let select = Select { filter, offset: 0, limit: MOST_INCIDENTS };
        found.extend(runtime::query(claim.rt, incidents::actor().name, &select).await?.incidents);
    }
    found = each_once(found, |a, b| a.id == b.id);
    if social {
        found.retain(|incident| {
            let names = || incident.draft.services.iter().chain([&incident.draft.subject]);
            let several = platforms.iter().filter(|platform| names().any(|name| name == *platform)).count() > 1;
            several || names().any(|name| name.starts_with("social"))
        });
        found.sort_by_key(|incident| std::cmp::Reverse(incident.start()));
    }
    Ok(found)
}

/// Incidents that others report, and of whose time measurements, which are of a moment, say the opposite.
pub async fn outweighed(claim: &Claimed<'_>, incidents: &[Incident]) -> Result<Vec<ReadableId>> {
    let (mut found, period) = (Vec::new(), claim.period);
    let Topic::Subject(subject) = claim.topic else { return Ok(found) };
    for incident in incidents.iter().filter(|incident| incident.is_reported_alone() && !subject.roles.is_empty()) {
        let from = incident.start().max(period.from);
        let to = incident.end().unwrap_or(period.to).min(period.to);
        if from <= to && are_clear(claim, subject, (from.day(), to.day())).await? {
            found.push(incident.id.clone());
        }
    }
    Ok(found)
}

/// Whether enough days of a time were measured, and all of those clear.
async fn are_clear(claim: &Claimed<'_>, subject: &Subject, (from, to): (i64, i64)) -> Result<bool> {
    // To the end of the last day: what was measured on it is as much of that day as the report.
    let at = Timestamp(to.saturating_add(1).saturating_mul(DAY)).plus(-1);
    let measured = claim.days(subject, to - from + 1, at).await?;
    let told = |wanted: State| measured.iter().filter(|day| day.votes > 0 && day.status == wanted).count();
    let clear = told(State::Accessible);
    // Days of a year and a bit need no more digits than a double has.
    Ok(told(State::Blocked) == 0 && clear > 0 && clear as f64 >= SHARE * (to - from + 1).clamp(1, MOST_DAYS) as f64)
}

/// What measurements of each platform say of social media as a whole, where no incident does.
pub async fn platforms(claim: &Claimed<'_>) -> Result<(Findings, BlockedOfDecided)> {
    let mut found = Vec::new();
    for subject in lexicon::list("subjects.social").items.iter().filter_map(|name| Subject::parse(name).ok()) {
        found.push(measured(claim, &subject).await?.0);
    }
    Ok(together(&found))
}

pub fn together(found: &[Findings]) -> (Findings, BlockedOfDecided) {
    let of = |wanted| found.iter().filter(move |one| one.measured && !one.before && one.state == Some(wanted));
    let blocked = of(State::Blocked).count();
    let decided = blocked + of(State::Accessible).count();
    let state = match () {
        () if blocked >= BLOCKED && blocked * 2 >= decided => Some(State::Blocked),
        () if blocked == 0 && decided >= CLEAR => Some(State::Accessible),
        () => None,
    };
    let blocking = || of(State::Blocked);
    let findings = Findings {
        state,
        confidence: state.and_then(|state| of(state).map(|one| one.confidence).reduce(f64::min)).unwrap_or(0.0),
        measured: state.is_some(),
        several: true,
        evidence: found.iter().map(|one| one.evidence).sum(),
        measurements: found.iter().map(|one| one.measurements).sum(),
        shorter: blocking().any(|one| one.shorter),
        throttled: blocking().any(|one| one.throttled),
        only_throttled: state == Some(State::Blocked) && blocking().all(|one| one.only_throttled),
        over: of(State::Accessible).filter(|one| one.over).count() >= BLOCKED,
        ..Findings::default()
    };
    (findings, BlockedOfDecided { blocked, decided })
}

pub type TimedFindings = (Findings, Option<DatedDetection>);

pub async fn measured(claim: &Claimed<'_>, subject: &Subject) -> Result<TimedFindings> {
    let (period, over) = (claim.period, claim.stance.over);
    let days = claim.history(subject).await?;
    // The verdict of a day looks back; a claim about days needs a vote of these days.
    let when = claim.reading.when;
    let is_blocked = |day: &&HistoryDay| day.status == State::Blocked && (when.is_none() || day.blocked > 0);
    let last_blocked = days.iter().filter(is_blocked).map(|day| Timestamp::end_of_day(day.day)).max();
    let mut at = match last_blocked {
        Some(day) if !over && !period.at_end => day.min(period.to),
        _ => period.at,
    };
    let mut detection = claim.detect(subject, at, true).await?;
    // A day in the middle of the period may be decided where its end is not.
    let known = days.iter().rev().find(|day| day.status != State::Unknown);
    if let Some(day) = known.filter(|_| detection.state == State::Unknown && !over) {
        at = Timestamp::end_of_day(day.day).min(period.to);
        detection = claim.detect(subject, at, true).await?;
    }
    let number = |is: &dyn Fn(&&HistoryDay) -> bool| u32::try_from(days.iter().filter(is).count()).unwrap_or(u32::MAX);
    let (blocked_days, decided_days) = (number(&is_blocked), number(&|day| day.status != State::Unknown));
    let measured = detection.basis == "measured";
    let (throttled, only_throttled) = bearing::throttling(&detection.methods);
    let findings = Findings {
        state: check::decided(detection.state),
        confidence: detection.confidence,
        measured,
        networks_blocked: detection.networks_blocked,
        evidence: detection.evidence_count,
        measurements: days.iter().map(|day| day.measurements).sum(),
        blocked_days,
        // A day or the present is what its verdict says; only in a longer time one day may be an exception.
        decided_days: if when.is_some_and(When::is_one_day) { 0 } else { decided_days },
        before: when.is_some() && measured && detection.state == State::Blocked && blocked_days == 0,
        shorter: when.is_some_and(When::is_lasting) && blocked_days.saturating_mul(2) < decided_days,
        throttled,
        only_throttled,
        over: blocked_days > 0 && detection.state == State::Accessible,
        ..Findings::default()
    };
    Ok((findings, Some((at, detection))))
}

impl Claimed<'_> {
    /// So many days up to a time.
    async fn days(&self, subject: &Subject, days: i64, at: Timestamp) -> Result<Vec<HistoryDay>> {
        let days = u32::try_from(days.clamp(1, MOST_DAYS)).unwrap_or(1);
        let history = ReadMeasuredDays { subject: subject.clone(), days, at: Some(at) };
        runtime::query(self.rt, self.country.code.to_owned(), &history).await
    }

    /// The days of the claimed period.
    async fn history(&self, subject: &Subject) -> Result<Vec<HistoryDay>> {
        let Period { from, to, .. } = self.period;
        self.days(subject, to.day() - from.day() + 1, to).await
    }

    /// How many measurements of any kind arrived in a time.
    pub async fn heard(&self, from: Timestamp, at: Timestamp) -> Result<u64> {
        runtime::query(self.rt, self.country.code.to_owned(), &CountMeasurements { from: Some(from), at }).await
    }

    /// The verdict at a time; with those of its networks unless it is to be brief.
    pub async fn detect(&self, subject: &Subject, at: Timestamp, brief: bool) -> Result<Detection> {
        let question = Detect { subjects: vec![subject.clone()], at: Some(at), explain: true, brief };
        let answer = runtime::query(self.rt, self.country.code.to_owned(), &question).await?.pop();
        answer.ok_or_else(|| Error::internal("no answer to one question"))
    }
}

/// Connectivity as a whole: measurements that arrived say that something was online, and not where or for whom.
pub async fn connectivity(claim: &Claimed<'_>) -> Result<Findings> {
    let measurements = u32::try_from(claim.heard(claim.period.from, claim.period.to).await?).unwrap_or(u32::MAX);
    Ok(Findings { evidence: measurements, measurements, ..Findings::default() })
}

/// Days of a period whose verdicts are looked at, the last ones first. Our choice: each costs a look at all
/// measurements.
const MOST_LOOKS: usize = 8;

/// Verdicts that are searched for a name which no table of ours has.
const LOOKS_FOR_NAMES: usize = 2;

/// The verdicts of a service and all its networks at some time.
pub type DatedDetection = (Timestamp, Detection);

/// A network that a claim is about, as the data know it.
#[derive(Debug, Clone)]
pub struct OnNetwork {
    pub network: Network,
    /// Its numbers; an operator may have several, and none is known where nobody measured it.
    pub asns: Vec<u32>,
    pub answer: Option<NetworkAnswer>,
}

impl OnNetwork {
    fn new(network: Network, seen: &[DatedDetection], incidents: &[Incident]) -> OnNetwork {
        let known: Vec<(u32, Option<&str>)> = named(seen, incidents).collect();
        let same = known.iter().filter(|(asn, name)| network.is(*asn, *name));
        let mut asns: Vec<u32> = network.asn.into_iter().chain(same.map(|(asn, _)| *asn)).collect();
        asns.sort_unstable();
        asns.dedup();
        let name = known.iter().find(|(asn, _)| asns.contains(asn)).and_then(|(_, name)| (*name).map(str::to_owned));
        let network = Network { name: network.name.clone().or(name), ..network };
        OnNetwork { network, asns, answer: None }
    }

    /// With its number where it has one only.
    pub fn known(&self) -> Network {
        Network { asn: self.asn(), ..self.network.clone() }
    }

    pub fn asn(&self) -> Option<u32> {
        match self.asns.as_slice() {
            [one] => Some(*one),
            _ => self.answer.as_ref().map(|answer| answer.asn).or(self.network.asn),
        }
    }

    /// Whether an incident names it, and saw it blocked in a period.
    pub fn is_of(&self, incident: &Incident, period: Period) -> bool {
        incident.draft.networks.iter().any(|network| {
            let same = self.asns.contains(&network.asn) || self.network.is(network.asn, network.name.as_deref());
            let begun = network.first.is_none_or(|first| first <= period.to);
            let seen = network.last.is_none_or(|last| period.since.is_none_or(|since| last >= since));
            same && begun && seen
        })
    }
}

/// Networks that were measured or reported, with their names.
fn named<'n>(seen: &'n [DatedDetection], incidents: &'n [Incident]) -> impl Iterator<Item = (u32, Option<&'n str>)> {
    let measured = seen.iter().flat_map(|(_, detection)| &detection.networks);
    let reported = incidents.iter().flat_map(|incident| &incident.draft.networks);
    let measured = measured.map(|answer| (answer.asn, answer.name.as_deref()));
    measured.chain(reported.map(|network| (network.asn, network.name.as_deref())))
}

/// Verdicts of a topic and its networks in a period, those of its end first; nothing of connectivity as a whole.
pub async fn survey(claim: &Claimed<'_>) -> Result<Vec<DatedDetection>> {
    let (reading, mut seen) = (claim.reading, Vec::new());
    let names = !reading.networks.is_empty() || !reading.candidates.is_empty();
    let Topic::Subject(subject) = claim.topic else { return Ok(seen) };
    if subject.roles.is_empty() || !names {
        return Ok(seen);
    }
    for at in times(claim, subject).await? {
        // A capital letter makes no network: what the newest verdicts do not know by that name is none.
        if seen.len() == LOOKS_FOR_NAMES && reading.networks.is_empty() && resolve(reading, &seen, &[]).is_empty() {
            break;
        }
        seen.push((at, claim.detect(subject, at, false).await?));
    }
    Ok(seen)
}

/// The times to look at: the one that speaks for the period, and ends of days on which something was blocked.
async fn times(claim: &Claimed<'_>, subject: &Subject) -> Result<Vec<Timestamp>> {
    let (days, period) = (claim.history(subject).await?, claim.period);
    let mut times = vec![period.at];
    let (blocked, clear): (Vec<_>, Vec<_>) = days.iter().rev().partition(|day| day.blocked > 0);
    // Of many days some, over all of the period.
    let step = blocked.len().div_ceil(MOST_LOOKS).max(1);
    let chosen = blocked.into_iter().step_by(step).chain(clear.into_iter().filter(|day| day.votes > 0).take(1));
    let ends = chosen.map(|day| Timestamp::end_of_day(day.day).min(period.to));
    times.extend(ends.filter(|_| !claim.stance.over && !period.at_end));
    times.dedup();
    Ok(times)
}

/// The networks that a claim is about: those that it names, else those that it calls as only measurements do.
pub fn resolve(reading: &Reading, seen: &[DatedDetection], incidents: &[Incident]) -> Vec<OnNetwork> {
    let mut networks = reading.networks.clone();
    if networks.is_empty() && !reading.candidates.is_empty() {
        for name in named(seen, incidents).filter_map(|(_, name)| name) {
            let network = Network { asn: None, name: networks::called(name), country: None };
            let meant = network.name.as_ref().is_some_and(|name| reading.candidates.contains(name));
            if meant && !networks.contains(&network) {
                networks.push(network);
            }
        }
    }
    networks.into_iter().map(|network| OnNetwork::new(network, seen, incidents)).collect()
}

/// The verdict of a network for a period: that of its last blocked day, else of its end; and the answer that it is in.
pub fn on_network(on: &mut OnNetwork, seen: &[DatedDetection], claim: &Claimed<'_>) -> TimedFindings {
    let when = claim.reading.when;
    let at_end = claim.stance.over || claim.period.at_end;
    let fresh = |answer: &NetworkAnswer| when.is_none_or(|when| at_end || answer.last_checked >= when.start());
    let of = |detection: &Detection| {
        let own = detection.networks.iter().filter(|answer| on.asns.contains(&answer.asn) && fresh(answer));
        own.max_by_key(|answer| (answer.state != State::Unknown, answer.votes)).cloned()
    };
    let found: Vec<(&DatedDetection, NetworkAnswer)> =
        seen.iter().filter_map(|seen| Some((seen, of(&seen.1)?))).take(if at_end { 1 } else { seen.len() }).collect();
    let state = |wanted: State| found.iter().find(|(_, answer)| answer.state == wanted);
    let elsewhere = seen.iter().any(|(_, detection)| detection.evidence_count > 0 || detection.state != State::Unknown);
    let none = Findings { one_network: true, elsewhere_only: elsewhere, ..Findings::default() };
    let one = state(State::Blocked).or_else(|| state(State::Accessible)).or(found.first()).cloned();
    let Some((at, answer)) = one else { return (none, seen.first().cloned()) };
    let count = |wanted: State| found.iter().filter(|(_, answer)| answer.state == wanted).count();
    let throttled = answer.method.as_deref() == Some("throttling");
    let findings = Findings {
        state: check::decided(answer.state),
        confidence: answer.confidence,
        measured: true,
        elsewhere_only: answer.state == State::Unknown && elsewhere,
        networks_blocked: u32::from(answer.state == State::Blocked),
        evidence: answer.votes,
        measurements: answer.measurements,
        shorter: when.is_some_and(When::is_lasting) && count(State::Blocked) < count(State::Accessible),
        throttled,
        only_throttled: throttled,
        ..none
    };
    on.answer = Some(answer);
    (findings, Some(at.clone()))
}
