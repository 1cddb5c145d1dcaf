//! What measurements, lists and incidents say about a claim.

use super::check::{Findings, Judgement, judge};
use super::parse::Claim;
use super::stance::Stance;
use super::subjects::Topic;
use super::when::When;
use crate::country::{Detect, Detection, Heard, History, State, Subject};
use crate::incidents::{self, Filter, INTERNET, Incident, Select, Status};
use crate::runtime::{self, Runtime};
use crate::time::DAY;
use crate::{Error, Result, Timestamp};

/// Days of a period that are looked at one by one, its last ones; of a longer one the rest is left to the incidents.
const MOST_DAYS: u32 = 400;
/// A claim that something is over is looked at so long after the day that it names, in microseconds: an end shows when
/// the blocked votes have left the window of a verdict (ruling intelligence 1).
const AFTERWARDS: i64 = 4 * DAY;
/// Most incidents that an answer lists.
pub const MOST_INCIDENTS: u32 = 10;

/// What was found about one topic.
pub struct Found {
    pub topic: Topic,
    /// The verdict that speaks for the period, with the time it is of.
    pub detection: Option<(Timestamp, Detection)>,
    /// Those of the period, newest beginning first.
    pub incidents: Vec<Incident>,
    pub judgement: Judgement,
}

/// The instants between which a claim is checked.
#[derive(Debug, Clone, Copy)]
pub struct Period {
    pub from: Timestamp,
    pub to: Timestamp,
    /// The time whose verdict speaks for it.
    at: Timestamp,
}

impl Period {
    pub fn of(claim: &Claim, now: Timestamp) -> Period {
        let over = claim.stance.is_some_and(|stance| stance.over);
        match claim.when {
            Some(When { .. }) if claim.when.is_some_and(|when| when.start() > now) => {
                Period { from: now, to: now, at: now }
            }
            Some(when) => {
                let to = when.end().plus(-1).min(now);
                let at = if over { when.end().plus(AFTERWARDS).min(now) } else { to };
                Period { from: when.start(), to, at }
            }
            // What is over began at some time; what was, without saying when, may have been within the year.
            None if over || claim.past => Period { from: now.plus(-365 * DAY), to: now, at: now },
            None => Period { from: now.plus(-DAY), to: now, at: now },
        }
    }

    fn days(&self) -> u32 {
        let days = self.to.day() - self.from.day() + 1;
        u32::try_from(days).unwrap_or(1).clamp(1, MOST_DAYS)
    }
}

/// Finds what there is about one topic and judges it.
pub async fn find(rt: &dyn Runtime, country: &str, topic: Topic, stance: Stance, period: Period) -> Result<Found> {
    let filter = Filter {
        country: Some(country.to_owned()),
        subject: Some(topic.name().to_owned()),
        since: Some(period.from),
        until: Some(period.to),
        ..Filter::default()
    };
    let select = Select { filter, offset: 0, limit: MOST_INCIDENTS };
    let incidents = runtime::query(rt, incidents::actor().name, &select).await?.incidents;
    let (mut findings, detection) = match &topic {
        Topic::Subject(subject) => measured(rt, country, subject, stance, period).await?,
        Topic::Internet => (connectivity(rt, country, period).await?, None),
    };
    let surest = |suspected: bool| {
        let of_kind = incidents.iter().filter(|incident| (incident.status() == Status::Suspected) == suspected);
        of_kind.map(Incident::confidence).reduce(f64::max)
    };
    findings.incident = surest(false);
    findings.suspected = surest(true);
    findings.throttled |= incidents.iter().any(|incident| incident.draft.methods.iter().any(|m| m == "throttling"));
    let ended = |incident: &Incident| incident.end().is_some_and(|end| end <= period.at);
    findings.over = (findings.incident.is_some() && incidents.iter().all(ended)) || findings.over;
    let judgement = judge(stance, &findings);
    Ok(Found { topic, detection, incidents, judgement })
}

type Measured = (Findings, Option<(Timestamp, Detection)>);

async fn measured(
    rt: &dyn Runtime,
    country: &str,
    subject: &Subject,
    stance: Stance,
    period: Period,
) -> Result<Measured> {
    let history = History { subject: subject.clone(), days: period.days(), at: Some(period.to) };
    let days = runtime::query(rt, country.to_owned(), &history).await?;
    let blocked = days.iter().filter(|day| day.status == State::Blocked);
    let last_blocked = blocked.clone().map(|day| Timestamp((i64::from(day.day) + 1) * DAY - 1)).max();
    let at = match last_blocked {
        Some(day) if !stance.over => day.min(period.to),
        _ => period.at,
    };
    let mut detection = detect(rt, country, subject, at).await?;
    let mut at = at;
    if detection.state == State::Unknown && !stance.over {
        // A day in the middle of the period may be decided where its end is not.
        let decided = days.iter().rev().find(|day| day.status != State::Unknown);
        if let Some(day) = decided {
            at = Timestamp((i64::from(day.day) + 1) * DAY - 1).min(period.to);
            detection = detect(rt, country, subject, at).await?;
        }
    }
    let blocked_days = u32::try_from(blocked.count()).unwrap_or(u32::MAX);
    let findings = Findings {
        state: detection.state,
        confidence: detection.confidence,
        measured: detection.basis == "measured",
        networks_blocked: detection.networks_blocked,
        evidence: detection.evidence_count,
        measurements: days.iter().map(|day| day.measurements).sum(),
        blocked_days,
        throttled: detection.methods.iter().any(|method| method == "throttling"),
        incident: None,
        suspected: None,
        over: blocked_days > 0 && detection.state == State::Accessible,
    };
    Ok((findings, Some((at, detection))))
}

async fn detect(rt: &dyn Runtime, country: &str, subject: &Subject, at: Timestamp) -> Result<Detection> {
    let question = Detect { subjects: vec![subject.clone()], at: Some(at), explain: true, brief: true };
    let answer = runtime::query(rt, country.to_owned(), &question).await?.pop();
    answer.ok_or_else(|| Error::internal("no answer to one question"))
}

/// Connectivity as a whole: measurements that arrived say that something was online, and not where or for whom.
async fn connectivity(rt: &dyn Runtime, country: &str, period: Period) -> Result<Findings> {
    let heard = runtime::query(rt, country.to_owned(), &Heard { at: period.to }).await?;
    let measurements = u32::try_from(heard).unwrap_or(u32::MAX);
    Ok(Findings {
        state: State::Unknown,
        confidence: 0.0,
        measured: false,
        networks_blocked: 0,
        evidence: measurements,
        measurements,
        blocked_days: 0,
        throttled: false,
        incident: None,
        suspected: None,
        over: false,
    })
}

/// The name of a topic for people.
pub fn label(topic: &Topic) -> String {
    match topic.name() {
        INTERNET => "Internet access".to_owned(),
        name => incidents::label(name),
    }
}
