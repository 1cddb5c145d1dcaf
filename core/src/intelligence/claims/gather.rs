//! What measurements, lists and incidents say about a claim.

use super::bearing::{self, Bearing, SLACK};
use super::beyond::Beyond;
use super::check::{Judgement, Verdict, Why, judge};
use super::findings::Findings;
use super::on_network::{self, OnNetwork, Seen};
use super::opposite::{self, Known};
use super::outweighed::outweighed;
use super::parse::Reading;
use super::platforms;
use super::reach::{self, Fit, Reach};
use super::recorded::{incidents_of, lately};
use super::shares::Share;
use super::stance::Stance;
use super::subjects::{SOCIAL_MEDIA, Topic};
use super::when::{Span, When};
use crate::engine::runtime::{self, Runtime};
use crate::engine::time::DAY;
use crate::facts::starter::Country;
use crate::facts::subject::Subject;
use crate::intelligence::country::{Detect, Detection, Heard, History, HistoryDay, State};
use crate::intelligence::incidents::{self, INTERNET, Incident};
use crate::{Error, Result, Timestamp};

/// Days of a period that are looked at one by one, its last ones; of a longer one the rest is left to the incidents.
const MOST_DAYS: u32 = 400;
/// A claim that something is over is looked at so long after the day that it names, in microseconds: an end shows when
/// the blocked votes have left the window of a verdict (decision two-blocked-hours).
const AFTERWARDS: i64 = 4 * DAY;
/// ... and incidents so long before it: what is over may have ended some days ago. Our choice.
const JUST_ENDED: i64 = 7 * DAY;
/// An end that lies no further behind the time that is looked at contradicts nothing. Our choice.
const SOON: i64 = 3 * DAY;
/// What was found about one topic in one country.
pub struct Found {
    pub country: &'static Country,
    pub topic: Topic,
    /// The network that it is about, when it is about one.
    pub network: Option<OnNetwork>,
    pub stance: Stance,
    pub when: Option<When>,
    /// The verdict that speaks for the period, with the time it is of.
    pub detection: Option<Seen>,
    /// Those of the period, newest beginning first.
    pub incidents: Vec<Incident>,
    /// Which of them bear on the claim, and how.
    pub bearing: Bearing,
    /// Where nothing is known of the period: the newest incident before it.
    pub earlier: Option<Incident>,
    pub decided_days: u32,
    /// What the claim says beyond what the data tell, or against it: for the reason.
    pub beyond: Option<Beyond>,
    /// Details that the data bear out.
    pub told: Vec<Beyond>,
    /// ... and those for which the judgement is no surer than [`Verdict::Unconfirmed`].
    pub untold: Vec<Beyond>,
    /// The claim tells of it as something that is said.
    pub hearsay: bool,
    /// Where the claim says on how many networks: of those that are decided.
    pub networks: Option<Counted>,
    /// Where the verdict rests on platforms of social media.
    pub platforms: Option<Counted>,
    pub judgement: Judgement,
    /// The same without the details that nothing tells.
    pub core: Judgement,
}

impl Found {
    /// The incidents of an answer: of the period, and of the network when the claim is about one.
    pub fn shown(&self) -> impl Iterator<Item = &Incident> {
        let all = self.incidents.iter().enumerate();
        let shown = all.filter(|(at, _)| self.network.is_none() || self.bearing.fitting.contains(at));
        shown.map(|(_, incident)| incident)
    }
}

/// The methods by which it was blocked, as an incident and a verdict name them.
pub fn methods<'m>(incident: Option<&'m Incident>, seen: Option<&'m Seen>) -> Vec<&'m str> {
    let measured = seen.into_iter().flat_map(|(_, detection)| &detection.methods);
    let mut methods: Vec<&str> = Vec::new();
    for method in incident.into_iter().flat_map(|incident| &incident.draft.methods).chain(measured) {
        if !methods.contains(&method.as_str()) {
            methods.push(method);
        }
    }
    methods
}

/// How many of those that are decided are blocked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    pub blocked: usize,
    pub decided: usize,
}

/// The instants between which a claim is checked.
#[derive(Debug, Clone, Copy)]
pub struct Period {
    pub from: Timestamp,
    pub to: Timestamp,
    /// The time whose verdict speaks for it.
    pub at: Timestamp,
    /// Since when incidents count; `None` for all there are.
    pub since: Option<Timestamp>,
    /// Whether its verdict is that of its end, whatever was before.
    pub at_end: bool,
    /// Whether it is that of a claim about now.
    pub is_now: bool,
}

impl Period {
    pub fn of(reading: &Reading, stance: Stance, now: Timestamp) -> Period {
        let over = stance.over;
        match reading.when {
            Some(when) => {
                let to = when.end().plus(-1).min(now);
                let at = if over { when.end().plus(AFTERWARDS).min(now) } else { to };
                // What is so by a day is so on that day.
                let by = when.span == Span::By;
                let from = if by { when.end().plus(-DAY).min(to) } else { when.start() };
                let since = if over { from.plus(-JUST_ENDED) } else { from };
                let at_end = by || matches!(when.span, Span::Since | Span::Throughout);
                Period { from, to, at, since: Some(since), at_end, is_now: false }
            }
            // What is over began at some time; what was, without saying when, may have been at any.
            None if over || reading.past || stance.never => {
                Period { from: now.plus(-365 * DAY), to: now, at: now, since: None, at_end: false, is_now: false }
            }
            None => {
                let from = now.plus(-DAY);
                let is_now = reading.present;
                Period { from, to: now, at: now, since: Some(from), at_end: is_now, is_now }
            }
        }
    }

    pub fn days(&self) -> u32 {
        let days = self.to.day() - self.from.day() + 1;
        u32::try_from(days).unwrap_or(1).clamp(1, MOST_DAYS)
    }
}

/// Finds what there is about one topic in one country and judges it; for each network that the claim names by itself.
pub async fn find(
    rt: &dyn Runtime,
    country: &'static Country,
    topic: &Topic,
    (reading, stance): (&Reading, Stance),
    now: Timestamp,
) -> Result<Vec<Found>> {
    let period = Period::of(reading, stance, now);
    let incidents = lately(rt, country.code, topic, period).await?;
    let claim = Claimed { country, topic, reading, stance, period, now };
    let seen = on_network::survey(rt, country.code, topic, (reading, stance), period).await?;
    let networks = on_network::resolve(reading, &seen, &incidents);
    let mut found = Vec::new();
    for mut network in networks {
        let (findings, detection) = on_network::findings(&mut network, &seen, (reading, stance), period);
        found.push(claim.judged(rt, incidents.clone(), (findings, detection), Some(network)).await?);
    }
    if found.is_empty() && topic.name() == SOCIAL_MEDIA && incidents.is_empty() {
        let (findings, platforms) = platforms::findings(rt, country.code, (reading, stance), period).await?;
        let judged = claim.judged(rt, incidents, (findings, None), None).await?;
        found.push(Found { platforms: (platforms.decided > 0).then_some(platforms), ..judged });
    } else if found.is_empty() {
        let measured = match topic {
            Topic::Subject(subject) if subject.roles.is_empty() => (Findings::default(), None),
            Topic::Subject(subject) => measured(rt, country.code, subject, (reading, stance), period).await?,
            Topic::Internet => (connectivity(rt, country.code, period).await?, None),
        };
        found.push(claim.judged(rt, incidents, measured, None).await?);
    }
    Ok(found)
}

/// What a comparison with all details gives.
struct Compared {
    judgement: Judgement,
    core: Judgement,
    told: Vec<Beyond>,
    untold: Vec<Beyond>,
    beyond: Option<Beyond>,
    networks: Option<Counted>,
}

/// One statement about one topic in one country.
struct Claimed<'c> {
    country: &'static Country,
    topic: &'c Topic,
    reading: &'c Reading,
    stance: Stance,
    period: Period,
    now: Timestamp,
}

impl Claimed<'_> {
    /// Weighs incidents and measurements, of one network when it is given.
    async fn judged(
        &self,
        rt: &dyn Runtime,
        incidents: Vec<Incident>,
        (mut findings, detection): Measured,
        network: Option<OnNetwork>,
    ) -> Result<Found> {
        let (country, period) = (self.country.code, self.period);
        let named = |incident: &Incident| network.as_ref().is_none_or(|network| network.is_of(incident, period));
        let claim = (self.reading, self.stance);
        let outweighed = match (self.topic, &network) {
            // That it is over is seen by measurements anyway, and of one network a day of the country says nothing.
            (Topic::Subject(subject), None) if findings.measured && !self.stance.over => {
                outweighed(rt, country, subject, &incidents, period).await?
            }
            _ => Vec::new(),
        };
        let counts = |one: &Incident| named(one) && !self.is_gone(one) && !outweighed.contains(&one.id);
        let mut bearing = bearing::of(&incidents, country, claim, period, counts);
        weigh_incidents(&mut findings, &incidents, &bearing, (self.reading, period));
        let gone = bearing::of(&incidents, country, claim, period, |one| named(one) && self.is_gone(one));
        self.weigh_now(&mut findings, gone.surest.and_then(|at| incidents.get(at)), detection.as_ref());
        if network.is_some() {
            // Incidents of other networks tell nothing of this one.
            findings.elsewhere_only |= findings.elsewhere && findings.state == State::Unknown;
            findings.elsewhere = false;
            self.weigh_national(&mut findings, &incidents, &mut bearing);
        }
        findings.outdated = self.is_outdated(rt, &findings, detection.as_ref()).await?;
        let compared =
            self.compared(rt, &findings, detection.as_ref(), (&incidents, &bearing), network.is_none()).await?;
        let earlier = match compared.judgement.why {
            Why::Nothing => {
                let before = Period { since: None, to: period.from, ..period };
                incidents_of(rt, country, self.topic, before).await?.into_iter().max_by_key(Incident::start)
            }
            _ => None,
        };
        Ok(Found {
            country: self.country,
            topic: self.topic.clone(),
            network,
            stance: self.stance,
            when: self.reading.when,
            detection,
            incidents,
            bearing,
            earlier,
            decided_days: findings.decided_days,
            beyond: compared.beyond,
            told: compared.told,
            untold: compared.untold,
            hearsay: self.reading.hearsay,
            networks: compared.networks,
            platforms: None,
            judgement: compared.judgement,
            core: compared.core,
        })
    }

    /// What the schedule of an incident says to the hours that the claim names.
    fn hours(&self, incident: Option<&Incident>) -> Fit {
        let claimed = self.reading.beyond.iter().find_map(|beyond| match beyond {
            Beyond::Hours(hours) => Some(*hours),
            _ => None,
        });
        let schedule = incident.and_then(|incident| incident.draft.schedule.as_deref());
        claimed.map_or(Fit::Untold, |hours| hours.fit(schedule, self.country.code))
    }

    /// Whether an incident of the claimed place began when the claim says.
    fn begins(&self, incidents: &[Incident], bearing: &Bearing) -> Fit {
        let fitting = bearing.fitting.iter().filter_map(|at| incidents.get(*at));
        let fits: Vec<Fit> = fitting
            .map(|incident| self.reading.when.map_or(Fit::Opposed, |when| bearing::begins(incident, when)))
            .collect();
        match fits.as_slice() {
            _ if fits.contains(&Fit::Agrees) => Fit::Agrees,
            [] => Fit::Untold,
            all if all.contains(&Fit::Untold) => Fit::Untold,
            _ => Fit::Opposed,
        }
    }

    /// The judgement with and without the details that nothing tells, and the networks that the claim counts.
    async fn compared(
        &self,
        rt: &dyn Runtime,
        findings: &Findings,
        seen: Option<&Seen>,
        (incidents, bearing): (&[Incident], &Bearing),
        of_country: bool,
    ) -> Result<Compared> {
        let share = self.reading.beyond.iter().find_map(|beyond| match beyond {
            Beyond::HowMany(share) if of_country => Some(*share),
            _ => None,
        });
        let counted = match share {
            Some(_) => self.counted(rt, seen).await?,
            None => None,
        };
        let surest = bearing.surest.and_then(|at| incidents.get(at));
        let deciding = surest.or(bearing.suspected.and_then(|at| incidents.get(at)));
        let fit = |reach| reach::fit(reach, deciding, seen);
        let nationwide = of_country && self.reading.nationwide && self.reading.beyond.contains(&Beyond::Nationwide);
        let national = if nationwide { fit(Reach::Nationwide) } else { (Fit::Agrees, None) };
        let on_networks = share.map_or((Fit::Untold, None), |share| fit(Reach::Networks(share)));
        let known = Known {
            fitting: bearing.fitting.iter().filter_map(|at| incidents.get(*at)).collect(),
            methods: &methods(surest, seen),
            nationwide: national.0,
            networks: on_networks.0,
            hours: self.hours(deciding),
            begins: self.begins(incidents, bearing),
            now: self.now,
        };
        let (told, untold) = self.sorted(incidents, bearing, (counted, &known));
        let core = self.of_share(judge(self.stance, findings), untold.is_empty(), (share, counted));
        let opposed = self.opposed(core, &known);
        let mut judgement = core;
        // "Not on all networks", where it is so on some.
        let denied = self.stance.negated && !self.stance.over;
        if denied && core.verdict == Verdict::Unconfirmed && untold.iter().any(|beyond| known.opposes(*beyond)) {
            judgement.verdict = Verdict::Likely;
        }
        judgement.contradicted &= !denied || untold.is_empty();
        // No surer than what is known of all that the claim says.
        let capped = opposed.is_none() && !denied && !untold.is_empty() && judgement.verdict < Verdict::Unconfirmed;
        if opposed.is_some() || capped {
            (judgement.verdict, judgement.contradicted) = (Verdict::Unconfirmed, opposed.is_some());
        }
        Ok(Compared {
            core: if opposed.is_some() {
                judgement
            } else {
                Judgement { contradicted: judgement.contradicted, ..core }
            },
            told: told.into_iter().chain(untold.iter().copied().filter(|beyond| known.opposes(*beyond))).collect(),
            untold: if capped { untold.clone() } else { Vec::new() },
            beyond: opposed.or(untold.first().copied().filter(|_| capped || judgement.verdict == Verdict::Likely)),
            networks: counted.or(national.1).or(on_networks.1),
            judgement,
        })
    }

    /// "One network of four" is so, where most of the country can reach it.
    fn of_share(
        &self,
        mut judgement: Judgement,
        told: bool,
        (share, networks): (Option<Share>, Option<Counted>),
    ) -> Judgement {
        let holds = || share.zip(networks).is_some_and(|(share, known)| share.holds(known.blocked, known.decided));
        if judgement.why == Why::Partly && !self.stance.negated && told && holds() {
            judgement.verdict = Verdict::Likely;
        }
        judgement
    }

    /// The details of the claim: what was found bears the first ones out, and not the others.
    fn sorted(
        &self,
        incidents: &[Incident],
        bearing: &Bearing,
        (networks, known): (Option<Counted>, &Known<'_>),
    ) -> (Vec<Beyond>, Vec<Beyond>) {
        let surest = bearing.surest.and_then(|at| incidents.get(at));
        let recorded = surest.map_or(0, |incident| incident.draft.networks.len());
        let occasion = surest.and_then(|incident| incident.draft.occasion.as_deref());
        let told = |beyond: &Beyond| match *beyond {
            Beyond::Beginning => known.begins == Fit::Agrees,
            Beyond::Hours(_) => known.hours == Fit::Agrees,
            Beyond::HowLong(length) => {
                // What is said of the past, and goes on, has no length yet.
                let ended = |incident: &&Incident| incident.end().is_some() || !self.reading.past;
                let took = surest.filter(ended).and_then(|incident| bearing::took(incident, self.now));
                took.is_some_and(|days| length.holds(days))
            }
            Beyond::HowMany(share) => {
                let counts = matches!(share, Share::Count { .. } | Share::Some) && recorded > 0;
                known.networks == Fit::Agrees
                    || counts && share.holds(recorded, recorded)
                    || networks.is_some_and(|networks| share.holds(networks.blocked, networks.decided))
            }
            Beyond::Method(claimed) => claimed.are_among(known.methods),
            Beyond::Nationwide => known.nationwide == Fit::Agrees,
            Beyond::Occasion => occasion.is_some_and(|told| self.reading.occasions.are(told)),
        };
        let (told, mut untold): (Vec<Beyond>, Vec<Beyond>) = self.reading.beyond.iter().copied().partition(told);
        // Lists and verdicts of days do not tell when it began or ended.
        let dated = self.reading.when.is_some_and(|when| matches!(when.span, Span::Since | Span::Range | Span::Until));
        if dated && !self.stance.negated && surest.is_none() && !untold.contains(&Beyond::Beginning) {
            untold.push(Beyond::Beginning);
        }
        (told, untold)
    }

    /// The detail of which the data say the opposite, where they support the rest.
    fn opposed(&self, judgement: Judgement, known: &Known<'_>) -> Option<Beyond> {
        let compared = !self.stance.negated && opposite::is_of_interference(judgement);
        self.reading.beyond.iter().copied().find(|beyond| compared && known.opposes(*beyond))
    }

    /// Whether a claim about now comes after the end of an incident.
    fn is_gone(&self, incident: &Incident) -> bool {
        let ended = incident.known_end().is_some_and(|end| end <= self.now);
        self.period.is_now && !self.stance.over && ended
    }

    /// Adds what is known of now: that an incident is over. The verdict of an earlier day says no more of now than the
    /// incident does.
    fn weigh_now(&self, findings: &mut Findings, gone: Option<&Incident>, seen: Option<&Seen>) {
        findings.gone = gone.map(Incident::confidence);
        findings.elsewhere &= gone.is_none();
        let earlier = seen.is_some_and(|(at, _)| *at < self.period.to);
        let of_now = self.reading.when.is_none() && self.reading.present && !self.reading.past;
        findings.of_now = of_now && seen.is_some() && !earlier;
        if gone.is_some() && findings.measured && earlier {
            (findings.state, findings.measured) = (State::Unknown, false);
        }
    }

    /// The networks that are decided at the time of a verdict.
    async fn counted(&self, rt: &dyn Runtime, seen: Option<&Seen>) -> Result<Option<Counted>> {
        let (Topic::Subject(subject), Some((at, _))) = (self.topic, seen) else { return Ok(None) };
        let networks = detect(rt, self.country.code, subject, *at, false).await?.networks;
        let count = |wanted: State| networks.iter().filter(|network| network.state == wanted).count();
        let blocked = count(State::Blocked);
        let decided = blocked + count(State::Accessible);
        Ok((decided > 0).then_some(Counted { blocked, decided }))
    }

    /// A shutdown of the whole country, whose source names no networks, supports a claim about one of them.
    fn weigh_national(&self, findings: &mut Findings, incidents: &[Incident], bearing: &mut Bearing) {
        if bearing.surest.is_some() || bearing.suspected.is_some() || findings.state != State::Unknown {
            return;
        }
        let claim = (self.reading, self.stance);
        let of_all = |incident: &Incident| bearing::is_of_all_networks(incident) && !self.is_gone(incident);
        let national = bearing::of(incidents, self.country.code, claim, self.period, of_all);
        if let Some(at) = national.surest {
            bearing.suspected = Some(at);
            bearing.fitting.push(at);
            findings.suspected = incidents.get(at).map(Incident::confidence);
        }
    }

    /// Whether the claim says how it is now, and nothing is measured that is as new as a present verdict needs.
    async fn is_outdated(&self, rt: &dyn Runtime, findings: &Findings, seen: Option<&Seen>) -> Result<bool> {
        let until_now = self.reading.when.is_some_and(|when| when.end() > self.now && when.span != Span::During);
        let now = until_now || self.reading.when.is_none() && self.reading.present && !self.reading.past;
        if !(now && self.stance.over) {
            return Ok(false);
        }
        match (self.topic, seen) {
            (Topic::Internet, _) => {
                let since = self.now.plus(-JUST_ENDED);
                let heard = Heard { from: Some(since), at: self.now };
                Ok(runtime::query(rt, self.country.code.to_owned(), &heard).await? == 0)
            }
            (_, Some((_, detection))) => Ok(detection.evidence_count == 0 || findings.state == State::Unknown),
            (_, None) => Ok(true),
        }
    }
}

/// Adds what incidents say.
fn weigh_incidents(
    findings: &mut Findings,
    incidents: &[Incident],
    bearing: &Bearing,
    (reading, period): (&Reading, Period),
) {
    let when = reading.when;
    let confidence = |at: Option<usize>| at.and_then(|at| incidents.get(at)).map(Incident::confidence);
    findings.incident = confidence(bearing.surest);
    findings.suspected = confidence(bearing.suspected);
    findings.other_kind = confidence(bearing.other_kind);
    findings.unordered = bearing.unordered;
    findings.elsewhere = bearing.elsewhere && bearing.surest.is_none() && bearing.suspected.is_none();
    if bearing.surest.is_some() {
        (findings.covers, findings.misdated) = (bearing.covers, bearing.misdated);
    }
    let fitting = || bearing.fitting.iter().filter_map(|at| incidents.get(*at));
    // Who knows only when it was last said to go on does not know that it ended.
    let ended = |incident: &Incident| incident.known_end().is_some_and(|end| end <= period.at);
    let ended_by = |at: Timestamp| move |incident: &Incident| incident.end().is_some_and(|end| end <= at);
    findings.over = (findings.incident.is_some() && fitting().all(ended)) || findings.over;
    findings.soon_over = findings.incident.is_some() && fitting().all(ended_by(period.at.plus(SOON)));
    let ends = when.is_some_and(|when| matches!(when.span, Span::During | Span::By | Span::Until));
    findings.dated_end = findings.incident.is_some() && fitting().all(ended) && ends;
    findings.settling = fitting().any(|one| one.end().is_some_and(|end| end.plus(AFTERWARDS) > period.at));
    findings.lapsed = findings.over && when.is_some_and(|when| when.span == Span::Since);
    findings.goes_on = !fitting().all(ended_by(period.at.plus(-JUST_ENDED)));
    let claimed = when.filter(|when| when.span == Span::During).map(|when| when.end().plus(SLACK));
    // "Lifted on 20 January": it was lifted a week before. What is over on a day may have ended before.
    let before = |incident: &Incident, when: When| {
        incident.end().is_some_and(|end| end.day() < when.first.days() - 1) && matches!(when.span, Span::During)
    };
    findings.early =
        reading.ends && fitting().next().is_some() && when.is_some_and(|when| fitting().all(|one| before(one, when)));
    findings.late = claimed.is_some_and(|by| fitting().any(|incident| incident.end().is_some_and(|end| end > by)));
}

pub type Measured = (Findings, Option<Seen>);

pub async fn measured(
    rt: &dyn Runtime,
    country: &str,
    subject: &Subject,
    (reading, stance): (&Reading, Stance),
    period: Period,
) -> Result<Measured> {
    let history = History { subject: subject.clone(), days: period.days(), at: Some(period.to) };
    let days = runtime::query(rt, country.to_owned(), &history).await?;
    // The verdict of a day looks back; a claim about days needs a vote of these days.
    let dated = reading.when.is_some();
    let is_blocked = |day: &&HistoryDay| day.status == State::Blocked && (!dated || day.blocked > 0);
    let last_blocked = days.iter().filter(is_blocked).map(|day| Timestamp::end_of_day(day.day)).max();
    let mut at = match last_blocked {
        Some(day) if !stance.over && !period.at_end => day.min(period.to),
        _ => period.at,
    };
    let mut detection = detect(rt, country, subject, at, true).await?;
    if detection.state == State::Unknown && !stance.over {
        // A day in the middle of the period may be decided where its end is not.
        let decided = days.iter().rev().find(|day| day.status != State::Unknown);
        if let Some(day) = decided {
            at = Timestamp::end_of_day(day.day).min(period.to);
            detection = detect(rt, country, subject, at, true).await?;
        }
    }
    let count =
        |wanted: &dyn Fn(&&HistoryDay) -> bool| u32::try_from(days.iter().filter(wanted).count()).unwrap_or(u32::MAX);
    let blocked_days = count(&is_blocked);
    let decided_days = count(&|day| day.status != State::Unknown);
    let measured = detection.basis == "measured";
    let lasting = reading.when.is_some_and(When::is_lasting);
    let (throttled, only_throttled) = bearing::throttling(&detection.methods);
    let findings = Findings {
        state: detection.state,
        confidence: detection.confidence,
        measured,
        networks_blocked: detection.networks_blocked,
        evidence: detection.evidence_count,
        measurements: days.iter().map(|day| day.measurements).sum(),
        blocked_days,
        // A day or the present is what its verdict says; only in a longer time one day may be an exception.
        decided_days: if reading.when.is_some_and(When::is_one_day) { 0 } else { decided_days },
        before: dated && measured && detection.state == State::Blocked && blocked_days == 0,
        covers: !lasting || blocked_days.saturating_mul(2) >= decided_days,
        throttled,
        only_throttled,
        over: blocked_days > 0 && detection.state == State::Accessible,
        ..Findings::default()
    };
    Ok((findings, Some((at, detection))))
}

/// The verdict at a time; with those of its networks unless it is to be brief.
pub async fn detect(
    rt: &dyn Runtime,
    country: &str,
    subject: &Subject,
    at: Timestamp,
    brief: bool,
) -> Result<Detection> {
    let question = Detect { subjects: vec![subject.clone()], at: Some(at), explain: true, brief };
    let answer = runtime::query(rt, country.to_owned(), &question).await?.pop();
    answer.ok_or_else(|| Error::internal("no answer to one question"))
}

/// Connectivity as a whole: measurements that arrived say that something was online, and not where or for whom.
async fn connectivity(rt: &dyn Runtime, country: &str, period: Period) -> Result<Findings> {
    let heard = runtime::query(rt, country.to_owned(), &Heard { from: Some(period.from), at: period.to }).await?;
    let measurements = u32::try_from(heard).unwrap_or(u32::MAX);
    Ok(Findings { evidence: measurements, measurements, ..Findings::default() })
}

/// The name of a topic for people.
pub fn label(topic: &Topic) -> String {
    match topic.name() {
        INTERNET => "Internet access".to_owned(),
        name => incidents::label(name),
    }
}
