//! An incident together with those that operators merged into it. It shows everything that its parts show, until they
//! are separated again.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::model::{Action, AffectedNetwork, Change, Draft, Incident, IncidentType, MAX_EVIDENCE, ReadableId, Status};
use super::query::evidence_of;
use super::record::save;
use super::tables::{INCIDENTS, key};
use super::text::INTERNET;
use super::unknown::Unknown;
use crate::{Result, Timestamp};
use engine::actor::{Turn, View};
use facts::licence;

/// Rows of evidence that an incident with parts keeps, at most: its own and those of eight parts.
const MOST_EVIDENCE: usize = 9 * MAX_EVIDENCE;

/// Combines what is known of an incident alone with what its parts show. Parts that were withdrawn, or that the data
/// merged into another incident, add nothing.
pub(super) fn join(view: &View<'_>, incident: &mut Incident) -> Result<()> {
    let own = incident.own().clone();
    incident.kept = false;
    if incident.parts.is_empty() {
        (incident.draft, incident.alone) = (own, None);
        return Ok(());
    }
    let mut parts = Vec::new();
    for id in &incident.parts {
        let part = INCIDENTS.get(view, &key(id))?;
        parts.extend(part.filter(|part| part.retracted.is_none() && part.merged_into.is_none()));
    }
    let mut parts = parts.iter();
    let mut whole = own.clone();
    if let Some(first) = parts.clone().next().filter(|_| incident.retracted.is_some()) {
        incident.kept = true;
        whole = told(first);
        parts.next();
    }
    let (start, end) = (whole.start, whole.end);
    parts.for_each(|part| add(&mut whole, part));
    order_evidence(view, &mut whole)?;
    if (whole.start, whole.end) != (start, end) || whole.services != own.services {
        // The hours of the day were found in the votes of one incident only.
        whole.schedule = None;
    }
    (incident.draft, incident.alone) = (whole, Some(Box::new(own)));
    Ok(())
}

/// The incident as it is shown, including the operator's changes.
fn told(incident: &Incident) -> Draft {
    Draft {
        kind: incident.kind(),
        severity: incident.severity(),
        status: incident.status(),
        confidence: incident.confidence(),
        start: incident.start(),
        end: incident.end(),
        unknown: Unknown { end: incident.is_end_unknown(), start: incident.is_start_unknown() },
        ..incident.draft.clone()
    }
}

/// The data merged an incident into another one. Merges its parts into that one too.
pub(super) fn hand_over(turn: &mut Turn<'_>, whole: &mut Incident, to: &ReadableId) -> Result<()> {
    let parts = std::mem::take(&mut whole.parts);
    for id in &parts {
        let Some(before) = INCIDENTS.get(turn, &key(id))? else { continue };
        let mut next = before.clone();
        next.overrides.merged_into = Some(to.clone());
        next.change = Change::measured(Action::Merged);
        save(turn, Some(before), next)?;
    }
    match parts.is_empty() {
        true => Ok(()),
        false => rejoin(turn, to, &Change::measured(Action::Amended), |known| known.extend(parts)),
    }
}

/// Edits the list of parts of an incident and combines it anew. Stores a version if anything changed.
pub(super) fn rejoin(
    turn: &mut Turn<'_>,
    whole: &ReadableId,
    change: &Change,
    edit: impl FnOnce(&mut Vec<ReadableId>),
) -> Result<()> {
    let Some(before) = INCIDENTS.get(turn, &key(whole))? else { return Ok(()) };
    let mut next = before.clone();
    edit(&mut next.parts);
    join(&turn.view(), &mut next)?;
    if next == before {
        return Ok(());
    }
    next.change = change.clone();
    save(turn, Some(before), next).map(|_| ())
}

fn add(whole: &mut Draft, part: &Incident) {
    let of = &told(part);
    if of.subject == INTERNET {
        // Where connectivity is lost, nothing else can be reached either.
        INTERNET.clone_into(&mut whole.subject);
    }
    if whole.kind != of.kind {
        whole.kind = IncidentType::Mixed;
    }
    whole.severity = whole.severity.max(of.severity);
    whole.confidence = whole.confidence.max(of.confidence);
    add_dates(whole, of);
    unite(&mut whole.services, &of.services);
    unite(&mut whole.domains, &of.domains);
    unite(&mut whole.sources, &of.sources);
    whole.services.sort();
    whole.domains.sort();
    whole.sources.sort();
    unite(&mut whole.methods, &of.methods);
    match whole.areas.is_empty() || of.areas.is_empty() {
        // One of them affected the whole country.
        true => whole.areas.clear(),
        false => unite(&mut whole.areas, &of.areas),
    }
    whole.networks = networks(&whole.networks, &of.networks);
    let affected = u32::try_from(whole.networks.len()).unwrap_or(u32::MAX);
    // It is not kept which networks were tested. There were at least as many as for either incident.
    whole.networks_tested = match whole.networks_tested.max(of.networks_tested) {
        0 => 0,
        tested => tested.max(affected),
    };
    whole.weight = whole.weight.max(of.weight);
    whole.status = status(whole, of.status);
    if whole.occasion.is_none() {
        whole.occasion.clone_from(&of.occasion);
    }
    if whole.pattern != of.pattern {
        whole.pattern = None;
    }
    let votes = whole.measurements.saturating_add(of.measurements);
    let blocked = whole.anomaly_rate * whole.measurements as f64 + of.anomaly_rate * of.measurements as f64;
    whole.anomaly_rate = if votes == 0 { 0.0 } else { engine::number::round(blocked / votes as f64) };
    whole.measurements = votes;
    let known = of.evidence_ids.iter().filter(|id| whole.evidence_ids.contains(id)).count() as u64;
    whole.evidence_total = whole.evidence_total.saturating_add(of.evidence_total.saturating_sub(known));
    unite(&mut whole.evidence_ids, &of.evidence_ids);
    whole.evidence_ids.truncate(MOST_EVIDENCE);
    whole.licence = licence::effective([whole.licence.as_str(), of.licence.as_str()]);
}

/// From the first beginning to the last end.
fn add_dates(whole: &mut Draft, of: &Draft) {
    whole.unknown.start = match whole.start.cmp(&of.start) {
        Ordering::Less => whole.unknown.start,
        Ordering::Equal => whole.unknown.start || of.unknown.start,
        Ordering::Greater => of.unknown.start,
    };
    whole.start = whole.start.min(of.start);
    let latest = |a: Option<Timestamp>, b: Option<Timestamp>| Some(a?.max(b?));
    let end = latest(whole.end, of.end);
    if end != whole.end {
        whole.unknown.end = of.unknown.end;
    }
    whole.end = end;
    whole.declared = whole.declared.into_iter().chain(of.declared).min();
    whole.resolved = latest(whole.resolved, of.resolved);
}

/// Adds the entries that are missing.
fn unite(list: &mut Vec<String>, more: &[String]) {
    for text in more {
        if !list.contains(text) {
            list.push(text.clone());
        }
    }
}

/// The networks of both lists, by number.
fn networks(a: &[AffectedNetwork], b: &[AffectedNetwork]) -> Vec<AffectedNetwork> {
    let mut found: BTreeMap<u32, AffectedNetwork> = BTreeMap::new();
    for network in a.iter().chain(b) {
        found
            .entry(network.asn)
            .and_modify(|known| {
                known.name = known.name.take().or_else(|| network.name.clone());
                known.first = known.first.into_iter().chain(network.first).min();
                known.last = known.last.max(network.last);
                known.blocked = known.blocked.saturating_add(network.blocked);
                known.votes = known.votes.saturating_add(network.votes);
            })
            .or_insert_with(|| network.clone());
    }
    found.into_values().collect()
}

/// The status of both by decision incident-grades. Two incidents corroborate each other even if each was seen on one
/// network by one source only.
fn status(whole: &Draft, part: Status) -> Status {
    let suspected = whole.status == Status::Suspected && part == Status::Suspected;
    match whole.end {
        _ if suspected && whole.sources.len() <= 1 && whole.networks.len() <= 1 => Status::Suspected,
        Some(_) if whole.status != Status::Active && part != Status::Active => Status::Resolved,
        _ => Status::Active,
    }
}

/// Orders the evidence oldest first, as in a single incident.
fn order_evidence(view: &View<'_>, whole: &mut Draft) -> Result<()> {
    let mut rows = evidence_of(view, &whole.evidence_ids)?;
    rows.sort_by(|a, b| (a.observed_at, &a.id).cmp(&(b.observed_at, &b.id)));
    whole.evidence_ids = rows.into_iter().map(|row| row.id).collect();
    Ok(())
}
