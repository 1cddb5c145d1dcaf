//! Makes the draft of an incident from its parts (decision incident-grades).

use std::collections::{BTreeMap, BTreeSet};

use super::super::tables::{NETWORKS, NetworkRow, WitnessRow};
use super::super::witnesses;
use super::lasting::{self, Lasting};
use crate::incidents::{AffectedNetwork, Draft, EvidenceRow, IncidentType, MAX_EVIDENCE, Severity, Status, Unknown};
use crate::{Result, Timestamp};
use engine::actor::View;
use engine::number::round;
use engine::time::{DAY, HOUR};
use facts::change::combine::{Combined, INTERNET, MeasuredEvent, is_narrow, is_national, is_platform, tracked};
use facts::change::constants::{
    CONFIDENCE_NETWORKS, CONFIDENCE_SINGLE, CRITICAL_WEIGHT, HIGH_NETWORKS, HIGH_WEIGHT, MEDIUM_NETWORKS,
};
use facts::change::merge::Affected;
use facts::change::series::techniques;
use facts::licence;
use facts::reported::{Cause, Event, EventKind, Scope, UNNAMED};
use facts::source::Source;
use facts::starter::Platform;
use facts::subject::is_role;
use facts::tracked::Tracked;
use facts::verdict::constants::CLEAR_VOTES;
use facts::verdict::national;
use facts::verdict::technique::Technique;
use facts::verdict::window::Ageing;

/// Probability given to a report that its source does not grade. Our choice.
const REPORT_PROBABILITY: f64 = 0.9;
/// A method is named if it has at least this share of the blocked votes. Our choice: a network that drops connections
/// now and then has other failures too.
const METHOD_SHARE: f64 = 0.05;
/// Platforms that are not media. A block of media (messaging, social networks, news) is high (decision
/// incident-grades).
const NOT_MEDIA: [&str; 2] = ["tor", "wikipedia"];

/// The kind of evidence rows that are measurements.
pub const MEASUREMENT: &str = "measurement";

fn at_hour(hour: i64) -> Timestamp {
    Timestamp(hour.saturating_mul(HOUR))
}

/// Whether a measured event is over: it was measured for 96 h without a blocked vote, or it is too old to be called
/// blocked (decision age-limit).
pub fn is_over(measured: &MeasuredEvent, now: Timestamp) -> bool {
    measured.found.resolved.is_some() || now > stands_until(measured)
}

/// Until when a measured block is called blocked without another vote.
fn stands_until(measured: &MeasuredEvent) -> Timestamp {
    let messaging = measured.found.targets.iter().any(|target| facts::subject::is_messaging(target));
    at_hour(measured.found.last_vote).plus(Ageing::of(messaging).limit)
}

/// When a part of the incident will be over because time passes; `None` if none will.
pub fn over_by_itself(one: &Combined<'_>, now: Timestamp) -> Option<Timestamp> {
    let measured =
        one.measured.iter().filter(|measured| !is_over(measured, now)).map(|measured| stands_until(measured));
    let told = one.events.iter().filter(|_| one.measured.is_empty());
    measured.map(|last| last.plus(1)).chain(told.filter_map(|event| lasting::stands_until(event, now))).min()
}

/// The draft of an incident.
pub fn draft(view: &View<'_>, one: &Combined<'_>) -> Result<Draft> {
    let measured = !one.measured.is_empty();
    let sources = sources(one);
    let networks = networks(view, one)?;
    let listed = super::super::listed(view)?;
    let (tested, weight, severity) = grade(view, one, &networks, &listed)?;
    let Times { start, end, unknown, goes_on } = times(view, one)?;
    let votes: u64 = one.measured.iter().map(|measured| measured.found.votes).sum();
    let blocked: u64 = one.measured.iter().map(|measured| measured.found.blocked).sum();
    let (evidence, evidence_total) = evidence(view, one)?;
    let ids = sources.iter().map(|source| source.id().to_owned());
    Ok(Draft {
        subject: one.subject.clone(),
        kind: kind(one),
        severity,
        status: status(one, goes_on, sources.len(), networks.len()),
        confidence: round(confidence(one, sources.len(), networks.len())),
        start,
        end,
        services: services(one, &listed),
        domains: domains(one),
        networks_tested: tested,
        weight: round(weight),
        methods: methods(one),
        areas: areas(one),
        occasion: occasion(one),
        pattern: (measured && one.measured.iter().any(|m| m.found.intermittent)).then(|| "intermittent".to_owned()),
        schedule: schedule(one),
        sources: ids.collect::<BTreeSet<String>>().into_iter().collect(),
        measurements: one.measured.iter().map(|measured| measured.found.measurements).sum(),
        anomaly_rate: round(if votes == 0 { 0.0 } else { blocked as f64 / votes as f64 }),
        networks,
        evidence,
        evidence_ids: Vec::new(),
        evidence_total,
        licence: licence::effective(sources.iter().map(|source| source.licence_under(view.settings))),
        unknown,
        declared: one.measured.iter().map(|measured| at_hour(measured.found.declared)).min(),
        resolved: resolved(one),
    })
}

/// When the last measured part had been measured clear for long enough; `None` while any part has not.
fn resolved(one: &Combined<'_>) -> Option<Timestamp> {
    let hours: Option<Vec<i64>> = one.measured.iter().map(|measured| measured.found.resolved).collect();
    hours?.into_iter().max().map(at_hour)
}

/// The schedule of hours, if all measured parts keep the same.
fn schedule(one: &Combined<'_>) -> Option<String> {
    let mut schedules = one.measured.iter().map(|measured| &measured.found.schedule);
    let first = schedules.next()?;
    first.clone().filter(|_| schedules.all(|other| other == first))
}

/// The affected areas; none if all of the country is affected. Sources describe a whole country in many words
/// ("nationwide"). Of these words, only exceptions say anything.
fn areas(one: &Combined<'_>) -> Vec<String> {
    let all = is_national(one);
    let says = |area: &&String| !all || area.to_ascii_lowercase().contains("except");
    collect(one.events.iter().flat_map(|event| &event.areas).filter(says))
}

/// The first occasion that says anything.
fn occasion(one: &Combined<'_>) -> Option<String> {
    let says = |word: &&String| !["other", "unknown"].contains(&word.to_ascii_lowercase().as_str());
    one.events.iter().filter_map(|event| event.occasion.as_ref()).find(says).cloned()
}

fn collect<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<String> {
    texts.cloned().collect::<BTreeSet<String>>().into_iter().collect()
}

fn sources(one: &Combined<'_>) -> Vec<Source> {
    let codes = one.measured.iter().flat_map(|measured| &measured.found.sources);
    let codes = codes.chain(one.silences.iter().flat_map(|silence| &silence.sources)).copied();
    let codes: BTreeSet<u8> = codes.chain(one.events.iter().map(|event| event.source.code())).collect();
    codes.into_iter().filter_map(Source::from_code).collect()
}

fn is_ordered(event: &Event) -> bool {
    match event.kind {
        EventKind::Outage => event.cause == Cause::Ordered,
        EventKind::Shutdown | EventKind::Throttling | EventKind::Block => event.cause != Cause::Accident,
    }
}

/// A block is censorship. Lost connectivity is a disruption if no source says that it was ordered, censorship if all
/// say so, and mixed if some sources only saw it.
fn kind(one: &Combined<'_>) -> IncidentType {
    if one.subject != INTERNET {
        return IncidentType::Censorship;
    }
    let ordered = one.events.iter().filter(|event| is_ordered(event)).count();
    match (ordered, one.events.len() - ordered + one.silences.len()) {
        (0, _) => IncidentType::Disruption,
        (_, 0) => IncidentType::Censorship,
        _ => IncidentType::Mixed,
    }
}

/// The number of tested networks, their affected share and the severity. In a list of blocks that were there when they
/// were first measured, each block has a share and a severity of its own, and the greatest counts: a network that
/// blocks one need not block all.
fn grade(
    view: &View<'_>,
    one: &Combined<'_>,
    networks: &[AffectedNetwork],
    listed: &[Tracked],
) -> Result<(u32, f64, Severity)> {
    let (tested, share) = weight(view, one)?;
    let mut greatest: Option<(f64, Severity)> = None;
    for each in one.listed() {
        let share = weight(view, &each)?.1;
        let severity = severity(&each, share, &self::networks(view, &each)?, listed);
        greatest = Some(greatest.map_or((share, severity), |known| (known.0.max(share), known.1.max(severity))));
    }
    let (share, severity) = greatest.unwrap_or_else(|| (share, severity(one, share, networks, listed)));
    Ok((tested, share, severity))
}

fn severity(one: &Combined<'_>, weight: f64, networks: &[AffectedNetwork], listed: &[Tracked]) -> Severity {
    if one.subject == INTERNET {
        return connectivity_severity(one);
    }
    if one.measured.is_empty() {
        // Only reports tell of this block, so their scope stands for its weight.
        let platform = one.named.iter().any(|subject| is_platform(subject, listed));
        let wide = one.events.iter().map(|event| event.scope).max();
        return match (platform, wide) {
            (true, Some(Scope::National)) => Severity::Critical,
            (true, Some(Scope::Regional)) => Severity::High,
            (true, _) | (false, Some(Scope::National)) => Severity::Medium,
            _ => Severity::Low,
        };
    }
    let platform = is_platform(&one.subject, listed) && one.measured.iter().any(|measured| measured.found.essential);
    // A target list does not say what its platforms are for.
    let media = Platform::by_slug(&one.subject).is_some_and(|platform| !NOT_MEDIA.contains(&platform.slug));
    match platform {
        true if weight >= CRITICAL_WEIGHT => Severity::Critical,
        true if media && (networks.len() >= HIGH_NETWORKS || weight >= HIGH_WEIGHT) => Severity::High,
        true => Severity::Medium,
        false if networks.len() >= MEDIUM_NETWORKS => Severity::Medium,
        false => Severity::Low,
    }
}

fn connectivity_severity(one: &Combined<'_>) -> Severity {
    let scope =
        |ordered: bool| one.events.iter().filter(|event| is_ordered(event) == ordered).map(|event| event.scope).max();
    let seen = if one.silences.is_empty() { scope(false) } else { Some(Scope::National) };
    // Connectivity that is slow is not cut off.
    match (scope(true), seen, only_slowed(one)) {
        (Some(Scope::National), _, false) | (Some(_), Some(Scope::National), false) => Severity::Critical,
        (Some(Scope::National), ..) | (Some(_), Some(Scope::National), _) => Severity::High,
        (Some(Scope::Regional), _, false) | (None, Some(Scope::National), _) => Severity::High,
        (Some(Scope::Regional), ..) => Severity::Medium,
        (Some(Scope::Network), _, false) | (None, Some(Scope::Regional), _) => Severity::Medium,
        (Some(Scope::Network), ..) | (None, ..) => Severity::Low,
    }
}

/// Whether all sources say that it was slowed, and none that it was cut off.
fn only_slowed(one: &Combined<'_>) -> bool {
    let slowed = |event: &&Event| event.kind == EventKind::Throttling;
    one.measured.is_empty() && one.silences.is_empty() && one.events.iter().all(slowed) && !one.events.is_empty()
}

/// An incident is suspected if it has one source and one network, or if it is a silence that no source reports
/// (decisions silence-of-measurements and incident-grades).
fn status(one: &Combined<'_>, goes_on: bool, sources: usize, networks: usize) -> Status {
    // In a list of blocks, each may be on one network, even if the networks differ.
    let one_each = !one.listed().is_empty() && one.measured.iter().all(|measured| is_narrow(&measured.found));
    let narrow = one.events.iter().all(|event| event.scope == Scope::Network) && (networks <= 1 || one_each);
    let silence_alone = one.events.is_empty() && !one.silences.is_empty();
    let single = sources <= 1 && one.silences.is_empty() && narrow;
    match goes_on {
        _ if silence_alone || single => Status::Suspected,
        false => Status::Resolved,
        true => Status::Active,
    }
}

fn confidence(one: &Combined<'_>, sources: usize, networks: usize) -> f64 {
    let measured = one.measured.iter().map(|measured| measured.found.probability());
    let reported = one.events.iter().map(|event| event.score.unwrap_or(REPORT_PROBABILITY));
    let silent = one.silences.iter().map(|_| REPORT_PROBABILITY);
    let largest = measured.chain(reported).chain(silent).fold(0.0_f64, f64::max).clamp(0.0, 1.0);
    let several = networks >= 2 || one.events.iter().any(|event| event.scope != Scope::Network);
    largest
        * match (sources, several) {
            (2.., _) => 1.0,
            (_, true) => CONFIDENCE_NETWORKS,
            (_, false) => CONFIDENCE_SINGLE,
        }
}

/// When an incident began and ended.
struct Times {
    start: Timestamp,
    end: Option<Timestamp>,
    unknown: Unknown,
    goes_on: bool,
}

/// Beginning and end. They come from measurements, and from reports only if nothing was measured.
fn times(view: &View<'_>, one: &Combined<'_>) -> Result<Times> {
    let (first, last) = one.hours();
    let measured = |over: bool, unknown: Unknown| Times {
        start: at_hour(first),
        end: over.then(|| at_hour(last)),
        unknown,
        goes_on: !over,
    };
    if !one.measured.is_empty() {
        let over = one.measured.iter().all(|measured| is_over(measured, view.now));
        // It is over because nobody measures it any more. Then the last blocked vote is not its end.
        let end = over && one.measured.iter().any(|measured| measured.found.resolved.is_none());
        return Ok(measured(over, Unknown { end, start: one.is_start_unknown() }));
    }
    if !one.silences.is_empty() {
        return Ok(measured(one.silences.iter().all(|silence| silence.over), Unknown::NOTHING));
    }
    let start = one.events.iter().map(|event| event.start).min().unwrap_or(at_hour(first));
    let lasting = Lasting::of(one, view.now);
    let goes_on = lasting.goes_on && !lasting::is_clear_since(view, one, lasting.last)?;
    let unknown = Unknown { end: !lasting.ended, ..Unknown::NOTHING };
    Ok(Times { start, end: Some(lasting.last), unknown, goes_on })
}

/// The names from reports: all that they name for lost connectivity; otherwise what the incident is about, if nothing
/// was measured.
fn reported_services<'a>(one: &'a Combined<'a>) -> Vec<&'a String> {
    match (one.subject == INTERNET, one.measured.is_empty()) {
        (true, _) => one.events.iter().flat_map(|event| &event.services).collect(),
        (false, true) => one.named.iter().filter(|name| *name != UNNAMED).collect(),
        (false, false) => Vec::new(),
    }
}

fn services(one: &Combined<'_>, listed: &[Tracked]) -> Vec<String> {
    let reported = reported_services(one).into_iter().filter_map(|name| {
        match Platform::by_slug(name).or_else(|| Platform::by_domain(name)) {
            Some(platform) => Some(platform.slug.to_owned()),
            None => tracked(name, listed).map(|platform| platform.slug.clone()).or_else(|| {
                // A name without a domain is as the source writes it.
                (one.subject != INTERNET && !name.contains('.')).then(|| name.clone())
            }),
        }
    });
    let measured = one.measured.iter().map(|measured| &measured.subject);
    let measured = measured.filter(|subject| is_platform(subject, listed)).cloned();
    reported.chain(measured).collect::<BTreeSet<_>>().into_iter().collect()
}

fn domains(one: &Combined<'_>) -> Vec<String> {
    let named = reported_services(one).into_iter();
    let measured = one.measured.iter().flat_map(|measured| &measured.found.targets);
    collect(named.filter(|name| name.contains('.')).chain(measured.filter(|target| !is_role(target))))
}

fn methods(one: &Combined<'_>) -> Vec<String> {
    let mut counts: BTreeMap<Technique, u32> = BTreeMap::new();
    for network in one.measured.iter().flat_map(|measured| &measured.found.networks) {
        for (technique, count) in techniques(&network.techniques) {
            let known = counts.entry(technique).or_default();
            *known = known.saturating_add(count);
        }
    }
    let of = |method: &str| -> u64 {
        counts.iter().filter(|(technique, _)| technique.method() == method).map(|(_, count)| u64::from(*count)).sum()
    };
    let all: u64 = counts.values().map(|count| u64::from(*count)).sum();
    let mut methods: Vec<String> = Vec::new();
    for technique in national::techniques(std::iter::once(&counts)) {
        let method = technique.method();
        if of(method) as f64 >= METHOD_SHARE * all as f64 && !methods.iter().any(|known| known == method) {
            methods.push(method.to_owned());
        }
    }
    if methods.is_empty() && only_slowed(one) {
        methods.push(Technique::Throttling.method().to_owned());
    }
    methods
}

fn row(view: &View<'_>, asn: u32) -> Result<NetworkRow> {
    Ok(NETWORKS.get(view, &(asn,))?.unwrap_or_default())
}

fn networks(view: &View<'_>, one: &Combined<'_>) -> Result<Vec<AffectedNetwork>> {
    let mut networks: BTreeMap<u32, AffectedNetwork> = BTreeMap::new();
    for part in one.measured.iter().flat_map(|measured| &measured.found.networks) {
        let network = networks.entry(part.asn).or_insert_with(|| AffectedNetwork {
            asn: part.asn,
            name: None,
            first: Some(at_hour(part.first)),
            last: Some(at_hour(part.last)),
            blocked: 0,
            votes: 0,
        });
        network.first = network.first.min(Some(at_hour(part.first)));
        network.last = network.last.max(Some(at_hour(part.last)));
        network.blocked = network.blocked.saturating_add(part.blocked);
        network.votes = network.votes.saturating_add(part.votes);
    }
    let silent = one.silences.iter().flat_map(|silence| &silence.networks);
    // If the reports are about the whole country, the networks that one of them names are not all networks.
    let named = one.events.iter().filter(|_| one.measured.is_empty() && !is_national(one));
    for asn in silent.chain(named.flat_map(|event| &event.asns)) {
        let nothing = AffectedNetwork { asn: *asn, name: None, first: None, last: None, blocked: 0, votes: 0 };
        networks.entry(*asn).or_insert(nothing);
    }
    for network in networks.values_mut() {
        network.name = row(view, network.asn)?.name;
    }
    Ok(networks.into_values().collect())
}

/// The number of networks that are affected or have enough votes, and the affected share of their weight (decision
/// weight-of-networks).
fn weight(view: &View<'_>, one: &Combined<'_>) -> Result<(u32, f64)> {
    if one.measured.is_empty() {
        let silence = one.silences.iter().max_by(|a, b| a.weight.total_cmp(&b.weight));
        return Ok(silence.map_or((0, 0.0), |silence| (silence.networks_expected, silence.weight)));
    }
    let mut votes: BTreeMap<u32, u32> = BTreeMap::new();
    let mut affected = BTreeSet::new();
    for measured in &one.measured {
        for (asn, count) in &measured.found.tested {
            let known = votes.entry(*asn).or_default();
            *known = known.saturating_add(*count);
        }
        affected.extend(measured.found.networks.iter().map(|network| network.asn));
    }
    let (mut all, mut blocked, mut tested) = (0.0, 0.0, 0);
    for (asn, votes) in &votes {
        if affected.contains(asn) || *votes as usize >= CLEAR_VOTES {
            let weight = national::network_weight(row(view, *asn)?.addresses);
            tested += 1;
            all += weight;
            blocked += if affected.contains(asn) { weight } else { 0.0 };
        }
    }
    Ok((tested, if all > 0.0 { blocked / all } else { 0.0 }))
}

/// The word of evidence for a technique.
pub fn signal_type(technique: Option<Technique>) -> &'static str {
    match technique {
        None => "interference",
        Some(technique) => match (technique.layer(), technique.method()) {
            ("dns", _) => "dns-blocking",
            (_, "blockpage" | "http-451" | "http-redirect") => "http-blocking-blockpage",
            (_, "tcp-reset" | "tls-reset" | "sni-filtering") => "http-blocking-tcp-reset",
            (_, "tcp-timeout" | "tls-timeout" | "http-timeout") => "http-blocking-timeout",
            _ => "block",
        },
    }
}

/// The evidence rows that are kept, oldest first, and the number of all.
fn evidence(view: &View<'_>, one: &Combined<'_>) -> Result<(Vec<EvidenceRow>, u64)> {
    let mut rows: Vec<EvidenceRow> = one.events.iter().map(|event| reported(view, event)).collect();
    // Each blocked vote counts once, however many series are blocked on its network. One test may vote on several
    // series, and no event rests on more measurements than there were.
    let blocked = one.measured.iter().map(|measured| {
        let votes: u64 = measured.found.networks.iter().map(|network| u64::from(network.blocked)).sum();
        votes.min(measured.found.measurements)
    });
    let total = (rows.len() as u64).saturating_add(blocked.sum());
    let parts: Vec<(&str, &Affected)> = one
        .measured
        .iter()
        .flat_map(|measured| &measured.found.networks)
        .flat_map(|network| network.targets.iter().map(move |target| (target.as_str(), network)))
        .collect();
    // Every network and series gets the same share of the room.
    let share = (MAX_EVIDENCE.saturating_sub(rows.len()) / parts.len().max(1)).max(1);
    for (target, network) in parts {
        rows.extend(witnesses(view, target, network, share)?);
    }
    rows.sort_by(|a, b| (a.observed_at, &a.id).cmp(&(b.observed_at, &b.id)));
    rows.dedup_by(|a, b| a.id == b.id);
    rows.truncate(MAX_EVIDENCE);
    let kept = rows.len() as u64;
    Ok((rows, total.max(kept)))
}

fn reported(view: &View<'_>, event: &Event) -> EvidenceRow {
    let kind = match event.kind {
        EventKind::Outage => "outage",
        EventKind::Shutdown | EventKind::Throttling => "shutdown",
        EventKind::Block => "block",
    };
    EvidenceRow {
        id: EvidenceRow::id_of(event.source.id(), &event.id, &event.country),
        source: event.source.id().to_owned(),
        kind: kind.to_owned(),
        signal_type: Some(if event.kind == EventKind::Block { "block" } else { "outage" }.to_owned()),
        source_ref: event.id.clone(),
        permalink: event.url.clone(),
        source_url: event.source.url().map(str::to_owned),
        observed_at: event.start,
        retrieved_at: None,
        confidence: round(event.score.unwrap_or(REPORT_PROBABILITY).clamp(0.0, 1.0)),
        domain: None,
        asn: event.asns.first().copied().filter(|_| event.asns.len() == 1),
        licence: event.source.licence_under(view.settings).to_owned(),
    }
}

/// Days after a chosen one that are looked at too, where nothing says blocked on that day: a block may spare the weekend.
const DAYS_AFTER: u32 = 3;

/// At most `room` blocked measurements of one network and series, spread over time.
fn witnesses(view: &View<'_>, target: &str, network: &Affected, room: usize) -> Result<Vec<EvidenceRow>> {
    let day = |hour: i64| u32::try_from(hour.div_euclid(24)).unwrap_or(0);
    let (first, last) = (day(network.first), day(network.last));
    let mut days = BTreeSet::new();
    let span = last.saturating_sub(first);
    for step in 0..room {
        // The first day, the last day, and days evenly between. More steps than days do no harm.
        let part = u64::from(span) * step as u64 / room.saturating_sub(1).max(1) as u64;
        days.insert(first.saturating_add(u32::try_from(part).unwrap_or(0)));
    }
    let (mut rows, mut looked) = (Vec::new(), BTreeSet::new());
    for chosen in days {
        for day in chosen..=chosen.saturating_add(DAYS_AFTER).min(last) {
            if !looked.insert(day) {
                break;
            }
            let found = witnesses::blocked_on(view, target, (day, network.asn))?;
            let found = found.iter().filter_map(|(source, one, by)| {
                let row = witness(view, target, (day, network.asn), *source, one)?;
                let signal_type = Some(signal_type(*by).to_owned());
                Some(EvidenceRow { signal_type, confidence: round(network.probability), ..row })
            });
            let before = rows.len();
            rows.extend(found);
            if rows.len() > before {
                break;
            }
        }
    }
    rows.truncate(room);
    Ok(rows)
}

/// A measurement of a series on a day and network as an evidence row, without confidence and signal; `None` if it
/// cannot be looked up.
pub fn witness(
    view: &View<'_>,
    target: &str,
    (day, asn): (u32, u32),
    source: Source,
    witness: &WitnessRow,
) -> Option<EvidenceRow> {
    let (reference, permalink) = witness.link()?;
    Some(EvidenceRow {
        id: EvidenceRow::id_of(source.id(), &reference, target),
        source: source.id().to_owned(),
        kind: MEASUREMENT.to_owned(),
        signal_type: None,
        observed_at: time_of(&reference).unwrap_or(Timestamp(i64::from(day) * DAY)),
        source_ref: reference,
        permalink: Some(permalink),
        source_url: source.url().map(str::to_owned),
        retrieved_at: None,
        confidence: 0.0,
        domain: (!is_role(target)).then(|| target.to_owned()),
        asn: Some(asn),
        licence: source.licence_under(view.settings).to_owned(),
    })
}

/// The time in a measurement uid (`20231108115901.123456_KE_...`) or report id (`20231108T115901Z_...`).
fn time_of(reference: &str) -> Option<Timestamp> {
    let digits: String = reference.chars().filter(char::is_ascii_digit).take(14).collect();
    let part = |range: std::ops::Range<usize>| digits.get(range);
    let head = reference.get(..8)?;
    if !head.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (date, time) = (
        format!("{}-{}-{}", part(0..4)?, part(4..6)?, part(6..8)?),
        format!("{}:{}:{}", part(8..10)?, part(10..12)?, part(12..14)?),
    );
    Timestamp::parse(&format!("{date}T{time}Z"))
}
