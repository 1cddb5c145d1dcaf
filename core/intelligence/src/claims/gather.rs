//! What measurements, lists and incidents say about a claim.

use super::*;
use crate::country::routes::answer::SubjectQuestion;
use crate::country::routes::leads::{self, Answered, Leads};

/// A claim that something is over is looked at so long after the day that it names, in microseconds: an end shows when
/// enough clear votes have followed (decision one-probability).
const AFTERWARDS: i64 = 4 * DAY;
/// ... and incidents so long before it: what is over may have ended some days ago. Our choice.
const JUST_ENDED: i64 = 7 * DAY;
/// An end that lies no further behind the time that is looked at contradicts nothing. Our choice.
const SOON: i64 = 3 * DAY;

/// One statement about one topic in one country.
#[derive(Clone, Copy)]
pub struct Claimed<'c> {
    pub rt: &'c dyn Runtime,
    pub country: &'static Country,
    pub topic: &'c Topic,
    pub reading: &'c Reading,
    pub stance: Stance,
    pub period: Period,
    pub now: Timestamp,
}

/// What was found about it.
pub struct CheckedClaim<'c> {
    pub claim: Claimed<'c>,
    /// The network that it is about, when it is about one.
    pub network: Option<OnNetwork>,
    /// The verdict that speaks for the period, with the time it is of.
    pub detection: Option<DatedDetection>,
    /// Those of the period, newest beginning first.
    pub incidents: Vec<Incident>,
    /// Which of them bear on the claim, and how.
    pub bearing: Bearing,
    /// Where nothing is known of the period: the newest incident before it.
    pub earlier: Option<Incident>,
    /// Where nothing is known of now: what the answer of a check leads on to.
    pub leads: Leads,
    pub decided_days: u32,
    /// Where the verdict rests on platforms of social media.
    pub platforms: Option<BlockedOfDecided>,
    pub judgement: Judgement,
    /// The same without the details that nothing tells.
    pub core: Judgement,
    /// Details that the data bear out, and those for which the judgement is no surer than [`Verdict::Unconfirmed`].
    pub told: Vec<Beyond>,
    pub untold: Vec<Beyond>,
    /// What the claim says beyond what the data tell, or against it: for the reason.
    pub beyond: Option<Beyond>,
    /// Where the claim says on how many networks: of those that are decided.
    pub networks: Option<BlockedOfDecided>,
}

impl CheckedClaim<'_> {
    /// The incidents of an answer: of the period, and of the network when the claim is about one.
    pub fn shown(&self) -> impl Iterator<Item = &Incident> {
        if self.network.is_none() { self.incidents.iter() } else { self.bearing.fitting.iter() }
    }
}

/// How many of those that are decided are blocked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockedOfDecided {
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
    fn of(reading: &Reading, stance: Stance, now: Timestamp) -> Period {
        let Some(when) = reading.when else {
            // What is over began at some time; what was, without saying when, may have been at any.
            let any = stance.over || reading.past || stance.never;
            let from = now.plus(if any { -365 * DAY } else { -DAY });
            let is_now = !any && reading.present;
            return Period { from, to: now, at: now, since: (!any).then_some(from), at_end: is_now, is_now };
        };
        let to = when.end().plus(-1).min(now);
        let at = if stance.over { when.end().plus(AFTERWARDS).min(now) } else { to };
        // What is so by a day is so on that day.
        let by = when.span == Span::By;
        let from = if by { when.end().plus(-DAY).min(to) } else { when.start() };
        let since = if stance.over { from.plus(-JUST_ENDED) } else { from };
        let at_end = by || matches!(when.span, Span::Since | Span::Throughout);
        Period { from, to, at, since: Some(since), at_end, is_now: false }
    }
}

/// Finds what there is about one topic in one country and judges it; for each network that the claim names by itself.
pub async fn find<'c>(
    rt: &'c dyn Runtime,
    country: &'static Country,
    topic: &'c Topic,
    (reading, stance): (&'c Reading, Stance),
    now: Timestamp,
) -> Result<Vec<CheckedClaim<'c>>> {
    let claim = Claimed { rt, country, topic, reading, stance, period: Period::of(reading, stance, now), now };
    let incidents = sources::lately(&claim).await?;
    let seen = sources::survey(&claim).await?;
    let mut found = Vec::new();
    for mut network in sources::resolve(reading, &seen, &incidents) {
        let measured = sources::on_network(&mut network, &seen, &claim);
        found.push(claim.judged(incidents.clone(), measured, Some(network)).await?);
    }
    if !found.is_empty() {
        return Ok(found);
    }
    if topic.name() == SOCIAL_MEDIA && incidents.is_empty() {
        let (findings, platforms) = sources::platforms(&claim).await?;
        let judged = claim.judged(incidents, (findings, None), None).await?;
        return Ok(vec![CheckedClaim { platforms: (platforms.decided > 0).then_some(platforms), ..judged }]);
    }
    let measured = match topic {
        Topic::Subject(subject) if subject.roles.is_empty() => (Findings::default(), None),
        Topic::Subject(subject) => sources::measured(&claim, subject).await?,
        Topic::Internet => (sources::connectivity(&claim).await?, None),
    };
    Ok(vec![claim.judged(incidents, measured, None).await?])
}

impl<'c> Claimed<'c> {
    async fn judged(
        self,
        incidents: Vec<Incident>,
        (mut findings, detection): TimedFindings,
        network: Option<OnNetwork>,
    ) -> Result<CheckedClaim<'c>> {
        let named = |one: &Incident| network.as_ref().is_none_or(|network| network.is_of(one, self.period));
        // That it is over is seen by measurements anyway, and of one network a day of the country says nothing.
        let weighed = findings.measured && !self.stance.over && network.is_none();
        let outweighed = sources::outweighed(&self, if weighed { &incidents } else { &[] }).await?;
        let counts = |one: &Incident| named(one) && !self.is_gone(one) && !outweighed.contains(&one.id);
        let mut bearing = bearing::of(&incidents, &self, counts);
        self.weigh_incidents(&mut findings, &bearing);
        let gone = bearing::of(&incidents, &self, |one| named(one) && self.is_gone(one));
        self.weigh_now(&mut findings, gone.surest.as_ref(), detection.as_ref());
        if network.is_some() {
            // Incidents of other networks tell nothing of this one.
            findings.elsewhere_only |= findings.elsewhere && findings.state.is_none();
            findings.elsewhere = false;
            self.weigh_national(&mut findings, &incidents, &mut bearing);
        }
        findings.outdated = self.is_outdated(&findings, detection.as_ref()).await?;
        let judgement = judge(self.stance, &findings);
        let mut found = CheckedClaim {
            claim: self,
            network,
            detection,
            incidents,
            bearing,
            earlier: None,
            leads: Leads::default(),
            decided_days: findings.decided_days,
            platforms: None,
            judgement,
            core: judgement,
            told: Vec::new(),
            untold: Vec::new(),
            beyond: None,
            networks: None,
        };
        found.count_networks().await?;
        found.compare();
        if found.judgement.why == Why::Nothing && self.reading.when.is_none() {
            found.leads = self.leads().await?;
        }
        if found.judgement.why == Why::Nothing && found.leads.latest_incident.is_none() {
            let before = Period { since: None, to: self.period.from, ..self.period };
            found.earlier = sources::incidents_of(&self, before).await?.into_iter().max_by_key(Incident::start);
        }
        Ok(found)
    }

    /// What a check of the subject leads on to.
    async fn leads(&self) -> Result<Leads> {
        let Topic::Subject(subject) = self.topic else { return Ok(Leads::default()) };
        let question = SubjectQuestion::new(self.country.code, None, false)?;
        let asked = [Answered { subject, state: State::Unknown, also: self.topic.names() }];
        Ok(leads::of(self.rt, &question, &asked).await?.pop().unwrap_or_default())
    }

    fn weigh_incidents(&self, findings: &mut Findings, bearing: &Bearing) {
        let (when, period) = (self.reading.when, self.period);
        let confidence = |one: &Option<Incident>| one.as_ref().map(Incident::confidence);
        findings.incident = confidence(&bearing.surest);
        findings.suspected = confidence(&bearing.suspected);
        findings.other_kind = confidence(&bearing.other_kind);
        findings.unordered = bearing.surest.as_ref().is_some_and(bearing::is_unordered);
        let known = findings.incident.is_some();
        findings.elsewhere = bearing.elsewhere && !known && findings.suspected.is_none();
        if known {
            (findings.shorter, findings.misdated) = (bearing.lasts != Fit::Agrees, bearing.lasts == Fit::Opposed);
        }
        let fitting = || bearing.fitting.iter();
        let during = when.filter(|when| when.span == Span::During);
        // Who knows only when it was last said to go on does not know that it ended.
        let over = known && fitting().all(|one| one.known_end().is_some_and(|end| end <= period.at));
        let ended_by = |at: Timestamp| fitting().all(|one| one.end().is_some_and(|end| end <= at));
        findings.over |= over;
        findings.soon_over = known && ended_by(period.at.plus(SOON));
        findings.dated_end =
            over && when.is_some_and(|when| matches!(when.span, Span::During | Span::By | Span::Until));
        findings.settling = fitting().any(|one| one.end().is_some_and(|end| end.plus(AFTERWARDS) > period.at));
        findings.lapsed = findings.over && when.is_some_and(|when| when.span == Span::Since);
        findings.goes_on = !ended_by(period.at.plus(-JUST_ENDED));
        // "Lifted on 20 January": it was lifted a week before. What is over on a day may have ended before.
        let before = |when: When| fitting().all(|one| one.end().is_some_and(|end| end.day() < when.first.days() - 1));
        findings.early = self.reading.ends && !bearing.fitting.is_empty() && during.is_some_and(before);
        let late = |when: When| fitting().any(|one| one.end().is_some_and(|end| end > when.end().plus(bearing::SLACK)));
        findings.late = during.is_some_and(late);
    }

    /// Whether a claim about now comes after the end of an incident.
    fn is_gone(&self, incident: &Incident) -> bool {
        let ended = incident.known_end().is_some_and(|end| end <= self.now);
        self.period.is_now && !self.stance.over && ended
    }

    /// Whether the claim names no time and says how it is.
    fn is_of_now(&self) -> bool {
        self.reading.when.is_none() && self.reading.present && !self.reading.past
    }

    /// Adds what is known of now. The verdict of an earlier day says no more of it than that an incident is over.
    fn weigh_now(&self, findings: &mut Findings, gone: Option<&Incident>, seen: Option<&DatedDetection>) {
        findings.gone = gone.map(Incident::confidence);
        findings.elsewhere &= gone.is_none();
        let earlier = seen.is_some_and(|(at, _)| *at < self.period.to);
        findings.of_now = self.is_of_now() && seen.is_some() && !earlier;
        if gone.is_some() && findings.measured && earlier {
            (findings.state, findings.measured) = (None, false);
        }
    }

    /// A shutdown of the whole country, whose source names no networks, supports a claim about one of them.
    fn weigh_national(&self, findings: &mut Findings, incidents: &[Incident], bearing: &mut Bearing) {
        if bearing.surest.is_some() || bearing.suspected.is_some() || findings.state.is_some() {
            return;
        }
        let of_all = |incident: &Incident| bearing::is_of_all_networks(incident) && !self.is_gone(incident);
        if let Some(one) = bearing::of(incidents, self, of_all).surest {
            findings.suspected = Some(one.confidence());
            bearing.fitting.push(one.clone());
            bearing.suspected = Some(one);
        }
    }

    /// Whether the claim says how it is now, and nothing is measured that is as new as a present verdict needs.
    async fn is_outdated(&self, findings: &Findings, seen: Option<&DatedDetection>) -> Result<bool> {
        let until_now = self.reading.when.is_some_and(|when| when.end() > self.now && when.span != Span::During);
        if !self.stance.over || !(until_now || self.is_of_now()) {
            return Ok(false);
        }
        match (self.topic, seen) {
            (Topic::Internet, _) => Ok(self.heard(self.now.plus(-JUST_ENDED), self.now).await? == 0),
            (_, Some((_, detection))) => Ok(detection.evidence_count == 0 || findings.state.is_none()),
            (_, None) => Ok(true),
        }
    }
}
