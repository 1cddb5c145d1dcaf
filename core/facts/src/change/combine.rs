//! Combines measured events, silences and reports of others into the incidents of one country. The result depends only
//! on the sets, not on their order (decision order-of-data).
//!
//! - If a block was there when its site was first measured, nobody knows when it began. All such blocks that one source
//!   saw are one incident with a list of sites and platforms, if they end together: which of them was measured first is
//!   no act of a censor.
//! - A measured event of a platform stands alone. Events of single domains are one incident with several domains if
//!   they begin within 24 hours of the first, use the same method, are mostly on the same networks, and end together: a
//!   censor's list comes into force at once and is lifted at once. "Mostly" is a Jaccard index of one half and not
//!   equality, because chance decides which domain is measured on which network. All are compared with the earliest
//!   one, so that a chain of ever later blocks does not become one incident.
//! - Lost connectivity (silences, outages, shutdowns, slowdowns of everything) in the whole country is one incident
//!   while its parts overlap. Gaps of up to 6 hours count as overlap, because sources see the ends at different times.
//!   Reports about areas and single networks join a national incident that spans them; alone they are incidents of
//!   their area or network.
//! - A report that services were blocked or slowed corroborates the measured events of those services that it overlaps.
//!   The services without a measured event become an incident of their own, because a measured service says nothing
//!   about the others. A block is never lost connectivity, even if the report names no service. A service that was
//!   slowed first and blocked later had two different incidents.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::constants::{EVENT_HOURS, EVENT_SLACK, MERGE_GAP, SILENT_GAP, SIMILAR_END, SIMILAR_HOURS, SIMILAR_NETWORKS};
use super::merge::BlockingEvent;
use super::series::techniques;
use crate::reported::{Event, EventKind, Scope, UNNAMED};
use crate::starter::Platform;
use crate::tracked::Tracked;
use crate::verdict::national;
use engine::kv::Row;

/// The subject of lost connectivity.
pub const INTERNET: &str = "internet";

/// A measured event.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredEvent {
    /// Platform slug, service or domain.
    pub subject: String,
    pub found: BlockingEvent,
}

/// A collapse of the volume of measurements (decision silence-of-measurements).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Silence {
    /// First silent hour and the one after the last, hours since the epoch.
    pub start: i64,
    pub end: i64,
    /// True if measurements came back.
    pub over: bool,
    /// The hour after the silent hours that are improbable enough to show the silence.
    pub seen: i64,
    /// Networks that fell silent, and the number of networks that measurements were expected from.
    pub networks: Vec<u32>,
    pub networks_expected: u32,
    /// The share of weight of the silent networks, 0 to 1.
    pub weight: f64,
    pub expected: f64,
    pub observed: u64,
    pub sources: BTreeSet<u8>,
}
impl Row for Silence {}

/// One incident, by its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Combined<'a> {
    pub subject: String,
    pub measured: Vec<&'a MeasuredEvent>,
    pub silences: Vec<&'a Silence>,
    pub events: Vec<&'a Event>,
    /// If nothing was measured: the subjects of the services that the incident is about. Its reports may name others
    /// too.
    pub named: BTreeSet<String>,
}

impl Combined<'_> {
    fn new(subject: &str) -> Combined<'_> {
        Combined {
            subject: subject.to_owned(),
            measured: Vec::new(),
            silences: Vec::new(),
            events: Vec::new(),
            named: BTreeSet::new(),
        }
    }

    /// True if the incident was there when it was first measured.
    pub fn is_start_unknown(&self) -> bool {
        let first = self.measured.iter().map(|measured| measured.found.start).min();
        self.measured.iter().any(|measured| Some(measured.found.start) == first && measured.found.start_unknown)
    }

    /// If all of several measured events were there when first measured: each event as an incident of its own.
    /// Otherwise empty.
    pub fn listed(&self) -> Vec<Combined<'_>> {
        if self.measured.len() < 2 || self.measured.iter().any(|measured| !measured.found.start_unknown) {
            return Vec::new();
        }
        let alone = self.measured.iter().map(|one| Combined { measured: vec![*one], ..Combined::new(&one.subject) });
        alone.collect()
    }

    /// First and last hour, hours since the epoch.
    pub fn hours(&self) -> (i64, i64) {
        let measured = self.measured.iter().map(|measured| (measured.found.start, measured.found.end));
        let silences = self.silences.iter().map(|silence| (silence.start, silence.end));
        let all = || measured.clone().chain(silences.clone());
        // Measurements give the time. Reports give it only where nothing was measured.
        let events = self.events.iter().map(|event| interval(event)).filter(|_| all().next().is_none());
        let both = all().chain(events);
        both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default()
    }

    /// The subjects of the incident. At one time there is only one incident about each subject.
    pub fn subjects(&self) -> BTreeSet<String> {
        // The series of each event count too, because a block of one series that comes before the block of its platform
        // is the beginning of the same incident.
        let measured = self.measured.iter().flat_map(|of| std::iter::once(&of.subject).chain(&of.found.targets));
        let mut subjects: BTreeSet<String> = measured.chain(&self.named).cloned().collect();
        if self.subject != INTERNET || is_national(self) {
            subjects.insert(self.subject.clone());
            return subjects;
        }
        // Other areas and networks can have other incidents at the same time.
        for event in &self.events {
            let areas = event.areas.iter().map(String::as_str).chain(event.areas.is_empty().then_some(""));
            match event.scope {
                Scope::Network => subjects.extend(event.asns.iter().map(|asn| format!("{INTERNET}/AS{asn}"))),
                _ => subjects.extend(areas.map(|area| format!("{INTERNET}/{area}"))),
            }
        }
        subjects
    }
}

/// The hours of an event. An event without an end lasts a day. A block of services lasts until its source last reported
/// it; lost connectivity does not, because its return is often not reported and it would then join everything that
/// follows for years.
fn interval(event: &Event) -> (i64, i64) {
    let start = event.start.hour();
    let heard = event.heard.filter(|_| !is_connectivity(event)).map_or(start, |heard| heard.hour());
    (start, event.end.map_or_else(|| heard.max(start + EVENT_HOURS), |end| end.hour()).max(start))
}

fn overlap(a: (i64, i64), b: (i64, i64)) -> bool {
    a.0 <= b.1 + EVENT_SLACK && b.0 <= a.1 + EVENT_SLACK
}

/// True if an event is about connectivity itself.
fn is_connectivity(event: &Event) -> bool {
    match event.kind {
        EventKind::Outage | EventKind::Shutdown => true,
        EventKind::Throttling => event.services.is_empty(),
        EventKind::Block => false,
    }
}

/// The incidents, in the order of their beginning; `listed` are the platforms of target lists.
pub fn combine<'a>(
    measured: &'a [MeasuredEvent],
    silences: &'a [Silence],
    events: &'a [Event],
    listed: &'a [Tracked],
) -> Vec<Combined<'a>> {
    let (unseen, seen) = unseen(measured, events, listed);
    let mut all = similar(seen);
    all.extend(lists(unseen, listed));
    let reported = about_services(&mut all, events.iter().filter(|event| !is_connectivity(event)).collect(), listed);
    all.extend(reported);
    all.extend(connectivity(silences, events.iter().filter(|event| is_connectivity(event)).collect()));
    all.sort_by(|a, b| a.hours().cmp(&b.hours()).then_with(|| a.subject.cmp(&b.subject)));
    all
}

fn main_technique(found: &BlockingEvent) -> Option<&'static str> {
    let counts: Vec<_> = found.networks.iter().map(|network| techniques(&network.techniques)).collect();
    national::techniques(counts.iter()).first().map(|technique| technique.method())
}

fn asns(found: &BlockingEvent) -> BTreeSet<u32> {
    found.networks.iter().map(|network| network.asn).collect()
}

/// True if a report may be about the same act as an incident of services. A slowdown that began more than [`MERGE_GAP`]
/// hours before the measured block is another act. If nothing was measured, reports of slowdowns and reports of blocks
/// stay apart.
fn same_deed(one: &Combined<'_>, event: &Event) -> bool {
    let slowed = event.kind == EventKind::Throttling;
    let Some(first) = one.measured.iter().map(|measured| measured.found.start).min() else {
        return one.events.iter().all(|known| (known.kind == EventKind::Throttling) == slowed);
    };
    // Tests see a slow service as a failing one.
    !slowed || event.start.hour() + MERGE_GAP >= first
}

fn alike(a: &BTreeSet<u32>, b: &BTreeSet<u32>) -> bool {
    let (both, either) = (a.intersection(b).count(), a.union(b).count());
    both as f64 >= SIMILAR_NETWORKS * either as f64
}

/// True if one event ended well before the other. An event that goes on has no end that could differ.
fn ends_apart(a: &BlockingEvent, b: &BlockingEvent) -> bool {
    let (first, last) = if a.end <= b.end { (a, b) } else { (b, a) };
    last.start > first.end + EVENT_SLACK || first.resolved.is_some() && last.end - first.end > SIMILAR_END
}

/// True if one source saw the event on one network. Such an event is only suspected, and joining a list must not change
/// that.
pub fn is_narrow(found: &BlockingEvent) -> bool {
    found.networks.len() <= 1 && found.sources.len() <= 1
}

/// True if two events of a list end together, or both go on. An event that nobody measures any more does not go on with
/// one that is measured.
fn ends_with(a: &BlockingEvent, b: &BlockingEvent) -> bool {
    let (first, last) = if a.end <= b.end { (a, b) } else { (b, a) };
    let over = first.resolved.is_some() || last.last_vote - first.last_vote > SILENT_GAP;
    !over || last.end - first.end <= SIMILAR_END
}

/// Divides the events: first those that were there when first measured and that no report names, then all others.
fn unseen<'a>(
    measured: &'a [MeasuredEvent],
    events: &'a [Event],
    listed: &'a [Tracked],
) -> (Vec<&'a MeasuredEvent>, Vec<&'a MeasuredEvent>) {
    let mut reported: BTreeMap<&str, Vec<(i64, i64)>> = BTreeMap::new();
    for event in events.iter().filter(|event| !is_connectivity(event)) {
        for name in &event.services {
            reported.entry(service(name, listed)).or_default().push(interval(event));
        }
    }
    let is_reported = |one: &MeasuredEvent| {
        let hours = reported.get(one.subject.as_str()).into_iter().flatten();
        hours.into_iter().any(|hours| overlap(*hours, (one.found.start, one.found.end)))
    };
    measured.iter().partition(|one| one.found.start_unknown && !is_reported(one))
}

/// Puts the events that were there when first measured into lists, by source. The source of an event is the first one,
/// if several saw it.
fn lists<'a>(mut measured: Vec<&'a MeasuredEvent>, listed: &[Tracked]) -> Vec<Combined<'a>> {
    measured.sort_by(|a, b| (a.found.start, &a.subject).cmp(&(b.found.start, &b.subject)));
    let of = |found: &BlockingEvent| (found.sources.first().copied(), is_narrow(found));
    let mut lists: Vec<(&BlockingEvent, Combined<'a>)> = Vec::new();
    for one in measured {
        let same = |first: &BlockingEvent| of(first) == of(&one.found) && ends_with(first, &one.found);
        match lists.iter_mut().find(|(first, _)| same(first)) {
            Some((_, list)) => {
                // A platform names the list if there is one, because it says more than a domain.
                if is_platform(&one.subject, listed) && !is_platform(&list.subject, listed) {
                    list.subject.clone_from(&one.subject);
                }
                list.measured.push(one);
            }
            None => lists.push((&one.found, Combined { measured: vec![one], ..Combined::new(&one.subject) })),
        }
    }
    lists.into_iter().map(|(_, list)| list).collect()
}

/// Platforms stay alone; similar single domains come together.
fn similar(mut order: Vec<&MeasuredEvent>) -> Vec<Combined<'_>> {
    let is_domain =
        |measured: &&MeasuredEvent| Platform::by_slug(&measured.subject).is_none() && measured.subject.contains('.');
    order.sort_by(|a, b| (a.found.start, &a.subject).cmp(&(b.found.start, &b.subject)));
    let mut all: Vec<Combined<'_>> = Vec::new();
    // Leaders that may still take others: the index in `all`, the event, its method and its networks.
    let mut leaders: Vec<(usize, &BlockingEvent, Option<&'static str>, BTreeSet<u32>)> = Vec::new();
    for one in order {
        let (method, networks) = (main_technique(&one.found), asns(&one.found));
        leaders.retain(|(_, first, ..)| one.found.start - first.start <= SIMILAR_HOURS);
        let leader = leaders.iter().filter(|_| is_domain(&one)).find(|(_, first, led_by, of)| {
            *led_by == method && method.is_some() && alike(of, &networks) && !ends_apart(first, &one.found)
        });
        if let Some(leader) = leader.and_then(|(index, ..)| all.get_mut(*index)) {
            leader.measured.push(one);
            continue;
        }
        if is_domain(&one) {
            leaders.push((all.len(), &one.found, method, networks));
        }
        all.push(Combined { measured: vec![one], ..Combined::new(&one.subject) });
    }
    all
}

/// The subject of a service that a source names: a platform of the project, else one of a target list, else the name
/// itself.
fn service<'n>(name: &'n str, listed: &'n [Tracked]) -> &'n str {
    match Platform::by_slug(name).or_else(|| Platform::by_domain(name)) {
        Some(platform) => platform.slug,
        None => tracked(name, listed).map_or(name, |platform| &platform.slug),
    }
}

/// The platform of a target list that a slug or a host means.
pub fn tracked<'n>(name: &str, listed: &'n [Tracked]) -> Option<&'n Tracked> {
    listed.iter().find(|platform| platform.slug == name || platform.has(name))
}

/// True if a subject is a platform, of the project or of a target list.
pub fn is_platform(subject: &str, listed: &[Tracked]) -> bool {
    Platform::by_slug(subject).is_some() || listed.iter().any(|platform| platform.slug == subject)
}

/// Adds each report to the measured events of the services it names. The services that are left become incidents of
/// their own.
fn about_services<'a>(
    all: &mut [Combined<'a>],
    mut events: Vec<&'a Event>,
    listed: &'a [Tracked],
) -> Vec<Combined<'a>> {
    sort(&mut events);
    let mut rest: Vec<Combined<'a>> = Vec::new();
    for event in events {
        let mut services: BTreeSet<&str> = event.services.iter().map(|name| service(name, listed)).collect();
        if services.is_empty() {
            services.insert(UNNAMED);
        }
        let hours = interval(event);
        let mut left = services.clone();
        for one in all.iter_mut() {
            let named = one.measured.iter().map(|measured| measured.subject.as_str());
            let named: Vec<&str> = named.filter(|subject| services.contains(subject)).collect();
            let of_these = |asn: &u32| one.measured.iter().any(|m| m.found.networks.iter().any(|n| n.asn == *asn));
            let where_ = event.scope != Scope::Network || event.asns.is_empty() || event.asns.iter().any(of_these);
            if !named.is_empty() && where_ && overlap(one.hours(), hours) && same_deed(one, event) {
                left.retain(|subject| !named.contains(subject));
                one.events.push(event);
            }
        }
        for one in rest.iter_mut().filter(|one| overlap(one.hours(), hours) && same_deed(one, event)) {
            let before = left.len();
            left.retain(|subject| !one.named.contains(*subject));
            if left.len() < before {
                one.events.push(event);
            }
        }
        // A platform names the incident if there is one, because it says more than a domain.
        let lead = left.iter().find(|subject| is_platform(subject, listed)).or_else(|| left.first());
        if let Some(lead) = lead {
            let named = left.iter().map(|subject| (*subject).to_owned()).collect();
            rest.push(Combined { events: vec![event], named, ..Combined::new(lead) });
        }
    }
    rest
}

fn sort(events: &mut [&Event]) {
    events.sort_by(|a, b| (interval(a), a.source.code(), &a.id).cmp(&(interval(b), b.source.code(), &b.id)));
}

/// An incident and the hours that its parts cover.
type Reach<'a> = (Combined<'a>, (i64, i64));

/// The incidents of lost connectivity. National parts that overlap are one. Other reports join a national incident that
/// spans them, else each other.
fn connectivity<'a>(silences: &'a [Silence], mut events: Vec<&'a Event>) -> Vec<Combined<'a>> {
    sort(&mut events);
    let (narrow, wide): (Vec<&Event>, Vec<&Event>) =
        events.into_iter().partition(|event| event.scope == Scope::Network);
    let (national, regional): (Vec<&Event>, Vec<&Event>) =
        wide.into_iter().partition(|event| event.scope == Scope::National);
    let alone = |hours: (i64, i64)| (Combined::new(INTERNET), hours);
    let mut parts: Vec<Reach<'a>> = Vec::with_capacity(silences.len() + national.len());
    for silence in silences {
        let (one, hours) = alone((silence.start, silence.end));
        parts.push((Combined { silences: vec![silence], ..one }, hours));
    }
    for event in national {
        let (one, hours) = alone(interval(event));
        parts.push((Combined { events: vec![event], ..one }, hours));
    }
    parts.sort_by_key(|(_, hours)| *hours);
    let mut wide: Vec<Reach<'a>> = Vec::new();
    for (part, hours) in parts {
        match wide.last_mut() {
            Some((one, reach)) if overlap(*reach, hours) => {
                one.silences.extend(part.silences);
                one.events.extend(part.events);
                reach.1 = reach.1.max(hours.1);
            }
            _ => wide.push((part, hours)),
        }
    }
    let areas = areas(&mut wide, regional);
    wide.extend(areas);
    single_networks(wide, narrow)
}

/// Adds reports about areas to the national incident that spans them; the others become incidents by area. A report
/// that begins before a national incident or goes on after it has its own cause. It must not join several national
/// incidents into one.
fn areas<'a>(national: &mut [Reach<'a>], regional: Vec<&'a Event>) -> Vec<Reach<'a>> {
    let (mut all, mut open): (Vec<Reach<'a>>, Vec<Reach<'a>>) = (Vec::new(), Vec::new());
    for event in regional {
        let hours = interval(event);
        // The report gives whole days only, so its times are less exact.
        let slack = if event.days_only { EVENT_HOURS } else { EVENT_SLACK };
        let spans = |(_, reach): &&mut Reach<'a>| reach.0 - slack <= hours.0 && hours.1 <= reach.1 + slack;
        if let Some((one, _)) = national.iter_mut().find(spans) {
            one.events.push(event);
            continue;
        }
        let (mut joined, mut reach) = (Combined::new(INTERNET), hours);
        for (one, of) in std::mem::take(&mut open) {
            if overlap(of, hours) && one.events.iter().any(|known| share_area(known, event)) {
                joined.events.extend(one.events);
                reach = (reach.0.min(of.0), reach.1.max(of.1));
            } else if of.1 + EVENT_SLACK < hours.0 {
                // No later report can overlap it.
                all.push((one, of));
            } else {
                open.push((one, of));
            }
        }
        joined.events.push(event);
        open.push((joined, reach));
    }
    all.extend(open);
    all
}

/// True if two reports name the same area, or neither names any.
fn share_area(a: &Event, b: &Event) -> bool {
    a.areas.iter().any(|area| b.areas.contains(area)) || (a.areas.is_empty() && b.areas.is_empty())
}

/// True if the incident is about the country as a whole.
pub fn is_national(one: &Combined<'_>) -> bool {
    !one.silences.is_empty() || one.events.iter().any(|event| event.scope == Scope::National)
}

/// Adds reports about single networks to the national incident in which they begin; the others become incidents by
/// network.
fn single_networks<'a>(mut wide: Vec<Reach<'a>>, narrow: Vec<&'a Event>) -> Vec<Combined<'a>> {
    let mut alone: BTreeMap<Vec<u32>, Vec<Reach<'a>>> = BTreeMap::new();
    for event in narrow {
        let hours = interval(event);
        let spans = |(one, reach): &&mut Reach<'a>| is_national(one) && reach.0 <= hours.0 && hours.0 <= reach.1;
        if let Some((one, _)) = wide.iter_mut().find(spans) {
            one.events.push(event);
            continue;
        }
        let mut asns = event.asns.clone();
        asns.sort_unstable();
        let known = alone.entry(asns).or_default();
        match known.iter_mut().find(|(_, reach)| overlap(*reach, hours)) {
            Some((one, reach)) => {
                one.events.push(event);
                *reach = (reach.0.min(hours.0), reach.1.max(hours.1));
            }
            None => known.push((Combined { events: vec![event], ..Combined::new(INTERNET) }, hours)),
        }
    }
    let alone = alone.into_values().flatten();
    wide.into_iter().chain(alone).map(|(one, _)| one).collect()
}
