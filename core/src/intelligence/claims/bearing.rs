//! Which incidents bear on a claim: of the place that it names, and for as long as it says.

use super::findings::DOUBTFUL;
use super::gather::Period;
use super::parse::Reading;
use super::places::Area;
use super::reach::Fit;
use super::stance::{Kind, Stance};
use super::when::{Span, When};
use crate::Timestamp;
use crate::engine::time::DAY;
use crate::facts::reported::place;
use crate::intelligence::incidents::{Incident, IncidentType, Status};

/// A claim of a whole span is confirmed by incidents that fill this share of it. Our choice.
const WHOLE: f64 = 0.75;
/// Sources date by days: beginnings and ends may lie so far apart, in microseconds. Our choice.
pub const SLACK: i64 = DAY;
/// A claimed beginning or end lies less than so many days from the recorded one.
const NEAR: i64 = 2;

/// Incidents, by their place in the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bearing {
    /// Those of the place that the claim names.
    pub fitting: Vec<usize>,
    /// The surest one that is more than suspected, and the surest suspected one.
    pub surest: Option<usize>,
    pub suspected: Option<usize>,
    /// The surest is lost connectivity that nobody is known to have ordered.
    pub unordered: bool,
    /// They last as long as the claim says.
    pub covers: bool,
    /// ... or begin or end at another time than it says.
    pub misdated: bool,
    /// There are some of other places.
    pub elsewhere: bool,
    /// The surest of another kind than the claimed one: slowed, and not blocked.
    pub other_kind: Option<usize>,
}

/// Whether throttling is among these methods, and whether it is the only one.
pub fn throttling(methods: &[String]) -> (bool, bool) {
    let is = |method: &String| method == "throttling";
    (methods.iter().any(is), !methods.is_empty() && methods.iter().all(is))
}

/// Whether an incident is of the kind that is claimed.
fn is_of_kind(incident: &Incident, stance: Stance) -> bool {
    let (throttled, only) = throttling(&incident.draft.methods);
    stance.any_kind || if stance.kind == Kind::Throttling { throttled } else { !only }
}

/// Sorts out what bears on a claim.
/// Of those that `named` lets through: incidents of the network that the claim names, when it names one.
pub fn of(
    incidents: &[Incident],
    country: &str,
    claim: (&Reading, Stance),
    period: Period,
    named: impl Fn(&Incident) -> bool,
) -> Bearing {
    let (reading, stance) = claim;
    let areas: Vec<Area> = reading.areas.iter().filter(|(code, _)| *code == country).map(|(_, area)| *area).collect();
    let fits = |incident: &Incident| named(incident) && fits(&incident.draft.areas, &areas, reading.nationwide);
    let fitting: Vec<usize> =
        incidents.iter().enumerate().filter(|(_, incident)| fits(incident)).map(|(at, _)| at).collect();
    let is = |at: usize, wanted: &dyn Fn(&Incident) -> bool| incidents.get(at).is_some_and(wanted);
    let known = |at: &usize| is(*at, &|incident| incident.status() != Status::Suspected);
    let ordered = |at: &usize| is(*at, &|incident| incident.kind() != IncidentType::Disruption);
    // Of a claim of all times the newest that can be relied on.
    let newest = period.since.is_none() && reading.when.is_none() && !stance.over;
    let sure = |at: &usize| is(*at, &|incident| incident.confidence() >= DOUBTFUL);
    let surest = |among: Vec<usize>| {
        if let Some(first) = among
            .iter()
            .copied()
            .filter(sure)
            .filter(|_| newest)
            .max_by_key(|at| incidents.get(*at).map(Incident::start))
        {
            return Some(first);
        }
        // Of equal ones the first: the newest.
        among.into_iter().reduce(|best, next| match (incidents.get(best), incidents.get(next)) {
            (Some(a), Some(b)) if b.confidence() > a.confidence() => next,
            _ => best,
        })
    };
    let kind = |at: &usize| is(*at, &|incident| is_of_kind(incident, stance));
    let (of_kind, others): (Vec<usize>, Vec<usize>) = fitting.iter().copied().partition(kind);
    let among = |wanted: &dyn Fn(&usize) -> bool| of_kind.iter().copied().filter(wanted).collect::<Vec<usize>>();
    let lasting = |at: &usize| lasts(&one(incidents, *at), reading.when, stance, period) == Fit::Agrees;
    // What proves the claim goes before what only supports it.
    let ranks: [&dyn Fn(&usize) -> bool; 3] =
        [&|at| known(at) && ordered(at) && lasting(at), &|at| known(at) && ordered(at), &known];
    let deciding = ranks.iter().find_map(|rank| surest(among(rank)));
    let all: Vec<&Incident> = among(&known).into_iter().filter_map(|at| incidents.get(at)).collect();
    let lasts = lasts(&all, reading.when, stance, period);
    Bearing {
        unordered: deciding.is_some_and(|at| !ordered(&at)),
        covers: lasts == Fit::Agrees,
        misdated: lasts == Fit::Opposed,
        surest: deciding,
        suspected: surest(among(&|at| !known(at))),
        elsewhere: fitting.len() < incidents.len(),
        other_kind: surest(others.into_iter().filter(known).collect()),
        fitting,
    }
}

fn one(incidents: &[Incident], at: usize) -> Vec<&Incident> {
    incidents.get(at).into_iter().collect()
}

/// Whether an incident of these areas, or of the whole country when there are none, is of the place that is claimed.
fn fits(areas: &[String], claimed: &[Area], nationwide: bool) -> bool {
    let lower = |text: &str| text.to_lowercase();
    // "National Capital Territory" is an area; "National except the North" is not.
    if areas.is_empty() || areas.iter().any(|area| place::beyond_the_country(area).is_some()) {
        return true;
    }
    let holds = |whole: &str, part: &str| {
        let whole: Vec<&str> = whole.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let part: Vec<&str> = part.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        !part.is_empty() && whole.windows(part.len()).any(|words| words == part)
    };
    let named = |name: &str| {
        let name = lower(name);
        areas.iter().any(|area| holds(&lower(area), &name) || holds(&name, &lower(area)))
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
    let fit = |fits: bool| if fits { Fit::Agrees } else { Fit::Untold };
    let told = |fits: bool, known: bool| match (fits, known) {
        (true, _) => Fit::Agrees,
        (false, true) => Fit::Opposed,
        (false, false) => Fit::Untold,
    };
    let begins = |incident: &&Incident| begins(incident, when) == Fit::Agrees;
    let begun = |incidents: &[&Incident]| incidents.iter().all(|incident| self::begins(incident, when) != Fit::Untold);
    let ends = |incident: &&Incident| incident.end().is_some_and(|end| is_last(end, when));
    // Who knows only when it was last said to go on does not know its end.
    let ended = incidents.iter().all(|incident| incident.known_end().is_some());
    match (when.span, stance.negated) {
        (Span::During | Span::By | Span::Between, _) | (Span::Before | Span::After, false) => Fit::Agrees,
        // "Blocked until 24 November": it ended then.
        (Span::Until, false) => told(incidents.iter().any(ends), ended),
        (Span::Since, false) => {
            let goes_on = |incident: &&Incident| incident.end().is_none_or(|end| end >= period.to);
            let going: Vec<&Incident> = incidents.iter().copied().filter(|incident| goes_on(incident)).collect();
            told(going.iter().any(begins), !going.is_empty() && begun(&going))
        }
        (Span::Range, false) => {
            // Of several, the first begins and the last ends it, and they fill most of it.
            let several = incidents.iter().any(begins) && incidents.iter().any(ends);
            told(several && share(incidents, period, until) >= WHOLE, ended && begun(incidents))
        }
        (Span::Throughout, false) => told(share(incidents, period, until) >= WHOLE, ended),
        (Span::After | Span::Before, true) => fit(share(incidents, period, until) >= WHOLE),
        // One that only touches the end of a span does not contradict that it was free.
        _ => fit(incidents
            .iter()
            .any(|incident| until(incident) > period.from.plus(SLACK) && incident.start() < period.to.plus(-SLACK))),
    }
}

/// Whether an incident began on the days that a claim gives for its beginning, or near them. One that was there when it was
/// first measured began at any time before: that tells only against a later beginning.
pub fn begins(incident: &Incident, when: When) -> Fit {
    let (first, day) = (when.first.days(), incident.start().day());
    let last = if matches!(when.span, Span::During) { when.last.days() } else { first + when.named - 1 };
    match (incident.is_start_unknown(), day + NEAR > first && day < last + NEAR) {
        (true, _) if day + NEAR > first => Fit::Untold,
        (false, true) => Fit::Agrees,
        _ => Fit::Opposed,
    }
}

/// Whether an end lies on the days that a claim gives for it, or near them. An end at midnight is that of the day before.
fn is_last(end: Timestamp, when: When) -> bool {
    let (last, day) = (when.last.days(), end.plus(-1).day());
    end.day() + NEAR > last - when.closing + 1 && day < last + NEAR
}

/// Days that an incident took, up to now where it goes on; nobody knows of one that was only said to go on at some time, or
/// that was there when it was first measured.
pub fn took(incident: &Incident, now: Timestamp) -> Option<f64> {
    let until = incident.end().unwrap_or(now).0;
    // Microseconds of centuries need no more digits than a double has.
    let known = !incident.is_end_unknown() && !incident.is_start_unknown();
    known.then_some((until - incident.start().0).max(0) as f64 / DAY as f64)
}

/// Whether an incident is of a whole country and names no networks.
pub fn is_of_all_networks(incident: &Incident) -> bool {
    let areas = &incident.draft.areas;
    incident.draft.networks.is_empty() && areas.iter().all(|area| place::beyond_the_country(area).is_some())
}

/// The share of a period that incidents fill.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incidents_of_other_areas_do_not_fit() {
        let area = |name| Area { name, region: None };
        let of = |areas: &[&str], claimed: &[Area], nationwide: bool| {
            fits(&areas.iter().map(|area| (*area).to_owned()).collect::<Vec<_>>(), claimed, nationwide)
        };
        assert!(of(&[], &[area("Delhi")], false), "a national one is everywhere");
        assert!(of(&["Jammu and Kashmir"], &[area("Kashmir")], false));
        assert!(of(&["Jammu and Kashmir"], &[Area { name: "Srinagar", region: Some("Kashmir") }], false));
        assert!(!of(&["Manipur"], &[area("Delhi")], false));
        assert!(!of(&["Elele area", "Mandera County"], &[], true), "nationwide");
        assert!(of(&["Mandera County"], &[], false));
        assert!(!of(&["National Capital Territory"], &[area("Mumbai")], false));
        assert!(!of(&["National Capital Territory of Delhi"], &[], true), "one territory is no nation");
        assert!(of(&["National Capital Territory of Delhi"], &[area("Delhi")], false));
        for whole in ["National", "Nationwide", "National except the North", "Entire country"] {
            assert!(of(&[whole], &[area("Mumbai")], true), "{whole}");
        }
    }
}
