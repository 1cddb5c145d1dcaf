//! Which incidents bear on a claim: of the place that it names, and for as long as it says.

use super::*;
use crate::incidents::{IncidentType, Status};
use facts::reported::place;

/// A claim of a whole span is confirmed by incidents that fill this share of it. Our choice.
const WHOLE: f64 = 0.75;
/// Sources date by days: beginnings and ends may lie so far apart, in microseconds. Our choice.
pub const SLACK: i64 = DAY;
/// A claimed beginning or end lies less than so many days from the recorded one.
const NEAR: i64 = 2;

#[derive(Debug, Clone, PartialEq)]
pub struct Bearing {
    pub fitting: Vec<Incident>,
    /// The surest one that is more than suspected, and the surest suspected one.
    pub surest: Option<Incident>,
    pub suspected: Option<Incident>,
    /// Whether they last as long as the claim says; opposed where they begin or end at another time.
    pub lasts: Fit,
    pub elsewhere: bool,
    /// The surest of another kind than the claimed one: slowed, and not blocked.
    pub other_kind: Option<Incident>,
}

/// Whether nobody is known to have ordered the loss of connectivity that an incident is.
pub fn is_unordered(incident: &Incident) -> bool {
    incident.kind() == IncidentType::Disruption
}

/// Whether throttling is among these methods, and whether it is the only one.
pub fn throttling(methods: &[String]) -> (bool, bool) {
    let is = |method: &String| method == "throttling";
    (methods.iter().any(is), !methods.is_empty() && methods.iter().all(is))
}

/// Sorts out what bears on a claim, of the incidents that `named` lets through.
pub fn of(incidents: &[Incident], claim: &Claimed<'_>, named: impl Fn(&Incident) -> bool) -> Bearing {
    let Claimed { country, reading, stance, period, .. } = *claim;
    let areas = reading.areas.iter().filter(|(code, _)| *code == country.code);
    let areas: Vec<Area> = areas.map(|(_, area)| *area).collect();
    let fits = |one: &&Incident| named(one) && fits(&one.draft.areas, &areas, reading.nationwide);
    let fitting: Vec<&Incident> = incidents.iter().filter(fits).collect();
    let (of_kind, others): (Vec<_>, Vec<_>) = fitting.iter().copied().partition(|one| {
        let (throttled, only) = throttling(&one.draft.methods);
        stance.any_kind || if stance.kind == Kind::Throttling { throttled } else { !only }
    });
    let known = |one: &Incident| one.status() != Status::Suspected;
    let ordered = |one: &Incident| !is_unordered(one);
    let lasting = |one: &Incident| lasts(&[one], reading.when, stance, period) == Fit::Agrees;
    // Of a claim of all times the newest that can be relied on.
    let newest = period.since.is_none() && reading.when.is_none() && !stance.over;
    let surest = |among: &[&Incident], is: &dyn Fn(&Incident) -> bool| {
        let among = || among.iter().copied().filter(|one| is(one));
        let sure = among().filter(|one| newest && one.confidence() >= DOUBTFUL).max_by_key(|one| one.start());
        let best = || among().reduce(|best, next| if next.confidence() > best.confidence() { next } else { best });
        sure.or_else(best).cloned()
    };
    // What proves the claim goes before what only supports it.
    let ranks: [&dyn Fn(&Incident) -> bool; 3] =
        [&|one| known(one) && ordered(one) && lasting(one), &|one| known(one) && ordered(one), &known];
    let deciding = ranks.iter().find_map(|rank| surest(&of_kind, rank));
    let all: Vec<&Incident> = of_kind.iter().copied().filter(|one| known(one)).collect();
    Bearing {
        lasts: lasts(&all, reading.when, stance, period),
        surest: deciding,
        suspected: surest(&of_kind, &|one| !known(one)),
        elsewhere: fitting.len() < incidents.len(),
        other_kind: surest(&others, &known),
        fitting: fitting.into_iter().cloned().collect(),
    }
}

/// Whether an incident of these areas, or of the whole country when there are none, is of the place that is claimed.
pub fn fits(areas: &[String], claimed: &[Area], nationwide: bool) -> bool {
    // "National Capital Territory" is an area; "National except the North" is not.
    if areas.is_empty() || areas.iter().any(|area| place::beyond_the_country(area).is_some()) {
        return true;
    }
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let holds =
        |whole: &[String], part: &[String]| !part.is_empty() && whole.windows(part.len()).any(|some| some == part);
    let named = |name: &str| {
        let name = words(name);
        areas.iter().map(|area| words(area)).any(|area| holds(&area, &name) || holds(&name, &area))
    };
    if claimed.is_empty() {
        return !nationwide;
    }
    claimed.iter().any(|area| named(area.name) || area.region.is_some_and(named))
}

/// Whether incidents last as long as the claim says; for a claim that there was none, whether they speak against it.
fn lasts(incidents: &[&Incident], when: Option<When>, stance: Stance, period: Period) -> Fit {
    let Some(when) = when else { return Fit::Agrees };
    let until = |incident: &Incident| incident.end().unwrap_or(period.to).max(incident.start());
    let begins = |incident: &&Incident| begins(incident, when) == Fit::Agrees;
    let begun = |incidents: &[&Incident]| incidents.iter().all(|incident| self::begins(incident, when) != Fit::Untold);
    // An end at midnight is that of the day before.
    let (first, last) = (when.last.days() - when.closing + 1, when.last.days());
    let is_last = |end: Timestamp| end.day() + NEAR > first && end.plus(-1).day() < last + NEAR;
    let ends = |incident: &&Incident| incident.end().is_some_and(is_last);
    // Who knows only when it was last said to go on does not know its end.
    let ended = incidents.iter().all(|incident| incident.known_end().is_some());
    match (when.span, stance.negated) {
        (Span::During | Span::By | Span::Between, _) | (Span::Before | Span::After, false) => Fit::Agrees,
        (Span::Until, false) => Fit::of(incidents.iter().any(ends), ended),
        (Span::Since, false) => {
            let goes_on = |incident: &&Incident| incident.end().is_none_or(|end| end >= period.to);
            let going: Vec<&Incident> = incidents.iter().copied().filter(|incident| goes_on(incident)).collect();
            Fit::of(going.iter().any(begins), !going.is_empty() && begun(&going))
        }
        (Span::Range, false) => {
            // Of several, the first begins and the last ends it, and they fill most of it.
            let several = incidents.iter().any(begins) && incidents.iter().any(ends);
            Fit::of(several && share(incidents, period, until) >= WHOLE, ended && begun(incidents))
        }
        (Span::Throughout, false) => Fit::of(share(incidents, period, until) >= WHOLE, ended),
        (Span::After | Span::Before, true) => Fit::of(share(incidents, period, until) >= WHOLE, false),
        // One that only touches the end of a span does not contradict that it was free.
        _ => {
            let (from, to) = (period.from.plus(SLACK), period.to.plus(-SLACK));
            Fit::of(incidents.iter().any(|incident| until(incident) > from && incident.start() < to), false)
        }
    }
}

/// Whether an incident began near the days that a claim gives; one that was there at first began at any time before.
pub fn begins(incident: &Incident, when: When) -> Fit {
    let (first, day) = (when.first.days(), incident.start().day());
    let last = if matches!(when.span, Span::During) { when.last.days() } else { first + when.named - 1 };
    match (incident.is_start_unknown(), day + NEAR > first && day < last + NEAR) {
        (true, _) if day + NEAR > first => Fit::Untold,
        (false, true) => Fit::Agrees,
        _ => Fit::Opposed,
    }
}

/// Days that an incident took, up to now where it goes on; unless its beginning or end is unknown.
pub fn took(incident: &Incident, now: Timestamp) -> Option<f64> {
    let until = incident.end().unwrap_or(now).0;
    let known = !incident.is_end_unknown() && !incident.is_start_unknown();
    known.then_some((until - incident.start().0).max(0) as f64 / DAY as f64)
}

/// Whether an incident is of a whole country and names no networks.
pub fn is_of_all_networks(incident: &Incident) -> bool {
    let areas = &incident.draft.areas;
    incident.draft.networks.is_empty() && areas.iter().all(|area| place::beyond_the_country(area).is_some())
}

fn share(incidents: &[&Incident], period: Period, until: impl Fn(&Incident) -> Timestamp) -> f64 {
    let (from, to) = (period.from.0, period.to.0);
    let mut spans: Vec<(i64, i64)> = incidents
        .iter()
        .map(|incident| ((incident.start().0 - SLACK).max(from), (until(incident).0 + SLACK).min(to)))
        .filter(|(start, end)| start < end)
        .collect();
    spans.sort_unstable();
    let (mut filled, mut reached) = (0, from);
    for (start, end) in spans {
        filled += (end - start.max(reached)).max(0);
        reached = reached.max(end);
    }
    // Shares of microseconds need no more digits than a double has.
    filled as f64 / (to - from).max(1) as f64
}
