//! The questions that the incidents actor answers.

use serde::{Deserialize, Serialize};

use super::documents::DEFAULT_LIMIT;
use super::model::{EvidenceRow, Incident, IncidentType, ReadableId, Severity, Status};
use super::shown::{Brief, ShownIncidents, Traits};
use super::tables::{
    BY_COUNTRY, BY_HASH, BY_START, BY_UPDATED, CLOCK, Clock, EVIDENCE, Evidence, INCIDENTS, IdKey, IdRow, Line,
    VERSIONS, key,
};
use super::written::{self, Joined, Written};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::{Direction, StoreError};

/// Asks for the newest version of the incident with this id, which may be either of its two ids. With `follow` it is
/// the incident that this one was merged into.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FindIncident {
    pub id: String,
    pub follow: bool,
}

impl Query for FindIncident {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "find";
    type Reply = Option<Incident>;

    fn run(self, view: &View<'_>) -> Result<Option<Incident>> {
        let Some(id) = resolve(view, &self.id)? else { return Ok(None) };
        match self.follow {
            true => follow(view, id),
            false => Ok(INCIDENTS.get(view, &key(&id))?),
        }
    }
}

/// The incident that an id leads to through merges. A chain of merges is as long as the number of times that later data
/// or operators merged incidents.
pub(super) fn follow(view: &View<'_>, id: ReadableId) -> Result<Option<Incident>> {
    let mut found = INCIDENTS.get(view, &key(&id))?;
    for _ in 0..16 {
        match found.as_ref().and_then(Incident::merged_into) {
            Some(into) => found = INCIDENTS.get(view, &key(into))?,
            None => break,
        }
    }
    Ok(found)
}

/// The id that a text stands for.
pub(super) fn resolve(view: &View<'_>, text: &str) -> Result<Option<ReadableId>> {
    if let Some(id) = ReadableId::parse(text) {
        return Ok(Some(id));
    }
    Ok(BY_HASH.get(view, &(text.trim().to_ascii_lowercase(),))?.map(|IdRow(id)| id))
}

/// Asks for a past version of an incident.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VersionOf {
    pub id: ReadableId,
    pub version: u32,
}

impl Query for VersionOf {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "version_of";
    type Reply = Option<Incident>;

    fn run(self, view: &View<'_>) -> Result<Option<Incident>> {
        let (country, year, sequence) = key(&self.id);
        Ok(VERSIONS.get(view, &(country, year, sequence, self.version))?)
    }
}

/// Shown incidents, the one that began last first.
pub(super) fn shown(view: &View<'_>, most: usize) -> Result<Vec<Incident>> {
    let mut found = Vec::new();
    lines(view, None, |key, _| {
        found.extend(INCIDENTS.get(view, &key)?);
        Ok(found.len() < most)
    })?;
    Ok(found)
}

/// Visits the shown incidents, the one that began last first, until `visit` returns `false`.
pub(super) fn lines(
    view: &View<'_>,
    country: Option<&str>,
    mut visit: impl FnMut(IdKey, (Timestamp, Line)) -> Result<bool, StoreError>,
) -> Result<()> {
    match country {
        Some(country) => {
            let range = BY_COUNTRY.prefix(&(country.to_owned(),));
            BY_COUNTRY.visit(view, range, Direction::Descending, |(country, start, year, sequence), line| {
                visit((country, year, sequence), (start, line))
            })?;
        }
        None => BY_START.visit(
            view,
            BY_START.range(),
            Direction::Descending,
            |(start, country, year, sequence), line| visit((country, year, sequence), (start, line)),
        )?,
    }
    Ok(())
}

/// Asks when the incidents of a country began that may be cited as censorship, newest first. Incidents with an unknown
/// beginning are left out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Beginnings {
    pub country: String,
}

impl Query for Beginnings {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "beginnings";
    type Reply = Vec<Timestamp>;

    fn run(self, view: &View<'_>) -> Result<Vec<Timestamp>> {
        let mut found = Vec::new();
        lines(view, Some(&self.country), |_, (start, line)| {
            found.extend((line.citable && !line.start_unknown).then_some(start));
            Ok(true)
        })?;
        Ok(found)
    }
}

/// Asks for the time of the last change, so that kept answers can be checked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LastChange;

impl Query for LastChange {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "last_change";
    type Reply = Option<Timestamp>;

    fn run(self, view: &View<'_>) -> Result<Option<Timestamp>> {
        Ok(CLOCK.get(view, &())?.map(|Clock(at)| at))
    }
}

/// Selects incidents. Every condition that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    pub country: Option<String>,
    /// The status is one of these.
    pub status: Option<Vec<Status>>,
    pub kind: Option<IncidentType>,
    /// The severity is at least this one.
    pub severity: Option<Severity>,
    /// One of these category codes applies, by the project's own basket, or a domain is in `listed`.
    pub topics: Option<Vec<String>>,
    /// Domains that imported lists put under one of the codes, sorted.
    pub listed: Vec<String>,
    pub citable: Option<bool>,
    pub min_sources: usize,
    /// A platform slug or a domain.
    pub subject: Option<String>,
    /// It was going on at some time from `since` to `until`.
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// It began at this time or later.
    pub begun_since: Option<Timestamp>,
}

impl Filter {
    /// Whether incidents with these traits pass.
    pub(super) fn admits_traits(&self, traits: &Traits) -> bool {
        self.status.as_ref().is_none_or(|wanted| wanted.contains(&traits.status))
            && self.kind.is_none_or(|kind| traits.kind == kind)
            && self.severity.is_none_or(|severity| traits.severity >= severity)
            && self.citable.is_none_or(|citable| traits.citable == citable)
            && usize::from(traits.sources) >= self.min_sources
    }

    /// Whether incidents with this beginning and end pass.
    pub(super) fn admits_times(&self, start: Timestamp, end: Option<Timestamp>) -> bool {
        self.since.is_none_or(|since| end.is_none_or(|end| end >= since))
            && self.until.is_none_or(|until| start <= until)
            && self.begun_since.is_none_or(|since| start >= since)
    }

    /// Whether an incident passes every condition except the country.
    pub(super) fn holds(&self, start: Timestamp, line: &Line) -> bool {
        self.admits_traits(&Traits::of(line))
            && self.admits_times(start, line.end)
            && self.topics.as_ref().is_none_or(|codes| {
                codes.iter().any(|code| line.topics.contains(code))
                    || line.subjects.iter().any(|subject| self.listed.binary_search(subject).is_ok())
            })
            && self.subject.as_ref().is_none_or(|subject| line.subjects.contains(subject))
    }
}

/// Asks for the different domains of shown incidents, sorted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Domains;

impl Query for Domains {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "domains";
    type Reply = Vec<String>;

    fn run(self, view: &View<'_>) -> Result<Vec<String>> {
        Ok(ShownIncidents::now(view)?.domains().cloned().collect())
    }
}

/// Asks how many incidents are shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Count;

impl Query for Count {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "count";
    type Reply = u64;

    fn run(self, view: &View<'_>) -> Result<u64> {
        Ok(ShownIncidents::now(view)?.len() as u64)
    }
}

/// Asks for a page of the shown incidents that pass a filter, the one that began last first. The default is the first
/// page of all incidents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Select {
    pub filter: Filter,
    pub offset: u64,
    pub limit: u32,
}

impl Default for Select {
    fn default() -> Self {
        Select { filter: Filter::default(), offset: 0, limit: DEFAULT_LIMIT }
    }
}

/// A page of incidents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selected {
    pub incidents: Vec<Incident>,
    /// Number of all incidents that pass the filter.
    pub total: u64,
    /// Time of the last change of any incident.
    pub changed: Option<Timestamp>,
}

impl Query for Select {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "select";
    type Reply = Selected;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<Selected> {
        let (page, total, changed) = self.keys(view)?;
        let mut incidents = Vec::with_capacity(page.len());
        for key in page {
            incidents.extend(INCIDENTS.get(view, &key)?);
        }
        Ok(Selected { incidents, total, changed })
    }
}

impl Select {
    /// The keys of the incidents on the page, the number of incidents in all, and the time of the last change of any
    /// incident.
    fn keys(&self, view: &View<'_>) -> Result<(Vec<IdKey>, u64, Option<Timestamp>)> {
        let changed = CLOCK.get(view, &())?.map(|Clock(at)| at);
        let shown = ShownIncidents::now(view)?;
        let offset = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let (page, total) = shown.select(&self.filter, offset, self.limit as usize);
        Ok((page.into_iter().map(Brief::key).collect(), total, changed))
    }
}

/// Asks for the shown incident about any of these subjects that began last up to a time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LatestAbout {
    pub country: Option<String>,
    /// Platform slugs and domains.
    pub subjects: Vec<String>,
    pub until: Timestamp,
}

impl Query for LatestAbout {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "latest_about";
    type Reply = Option<Incident>;

    fn run(self, view: &View<'_>) -> Result<Option<Incident>> {
        let shown = ShownIncidents::now(view)?;
        let mut filter = Filter { country: self.country, until: Some(self.until), ..Filter::default() };
        let mut found: Vec<Brief> = Vec::new();
        for subject in self.subjects {
            filter.subject = Some(subject);
            found.extend(shown.select(&filter, 0, 1).0.into_iter().cloned());
        }
        let latest = found.into_iter().max_by_key(|brief| (brief.start, brief.key()));
        Ok(latest.map(|brief| INCIDENTS.get(view, &brief.key())).transpose()?.flatten())
    }
}

/// Asks several such questions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LatestAboutEach(pub Vec<LatestAbout>);

impl Query for LatestAboutEach {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "latest_about_each";
    type Reply = Vec<Option<Incident>>;

    fn run(self, view: &View<'_>) -> Result<Vec<Option<Incident>>> {
        self.0.into_iter().map(|asked| asked.run(view)).collect()
    }
}

/// Asks for the same page in the form in which answers contain it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadListing(pub Select);

/// A page of incidents in the form in which answers contain it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// Number of all incidents that pass the filter.
    pub total: u64,
    /// Time of the last change of any incident.
    pub changed: Option<Timestamp>,
    pub incidents: Joined,
}

impl Query for ReadListing {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "listing";
    type Reply = Listed;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<Listed> {
        let (page, total, changed) = self.0.keys(view)?;
        Ok(Listed { incidents: written::join(view, page.into_iter())?, total, changed })
    }
}

/// Asks for the incidents changed after a time, oldest change first, including withdrawn and merged ones.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadChanges {
    pub since: Timestamp,
    pub limit: u32,
}

/// A page of changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    pub incidents: Vec<Written>,
    /// Where the next request begins: the newest change of the page, or `since` when nothing changed.
    pub next: Timestamp,
    pub more: bool,
}

impl Query for ReadChanges {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "changes";
    type Reply = Changed;

    fn run(self, view: &View<'_>) -> Result<Changed> {
        let range = BY_UPDATED.between(&(self.since.plus(1),), &(Timestamp::MAX,));
        let limit = self.limit as usize;
        let mut keys = BY_UPDATED.scan(view, &range, Direction::Ascending, limit.saturating_add(1))?;
        let more = keys.len() > limit;
        keys.truncate(limit);
        let next = keys.last().map_or(self.since, |((updated, ..), ())| *updated);
        let keys = keys.into_iter().map(|((_, country, year, sequence), ())| (country, year, sequence));
        Ok(Changed { incidents: written::read(view, keys)?, next, more })
    }
}

/// Asks for rows of evidence by their ids, in that order. Unknown ids are left out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EvidenceOf {
    pub ids: Vec<String>,
}

impl Query for EvidenceOf {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "evidence_of";
    type Reply = Vec<EvidenceRow>;

    fn run(self, view: &View<'_>) -> Result<Vec<EvidenceRow>> {
        evidence_of(view, &self.ids)
    }
}

pub(super) fn evidence_of(view: &View<'_>, ids: &[String]) -> Result<Vec<EvidenceRow>> {
    let mut rows = Vec::with_capacity(ids.len());
    for id in ids {
        rows.extend(EVIDENCE.get(view, &(id.clone(),))?.map(|evidence| evidence.row));
    }
    Ok(rows)
}

/// Asks for one row of evidence, the incidents whose newest versions name it, and the country for which it was
/// recorded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EvidenceById {
    pub id: String,
}

impl Query for EvidenceById {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "evidence_by_id";
    type Reply = Option<(Evidence, String)>;

    fn run(self, view: &View<'_>) -> Result<Option<(Evidence, String)>> {
        let Some(mut found) = EVIDENCE.get(view, &(self.id.clone(),))? else { return Ok(None) };
        let country = found.incidents.first().map(|id| id.country.clone()).unwrap_or_default();
        let mut naming = Vec::with_capacity(found.incidents.len());
        for id in found.incidents {
            let incident = INCIDENTS.get(view, &key(&id))?;
            naming.extend(incident.filter(|incident| incident.draft.evidence_ids.contains(&self.id)).map(|_| id));
        }
        found.incidents = naming;
        Ok(Some((found, country)))
    }
}

/// Asks for shown incidents in the order of their ids, which never change. So a reader of all pages neither misses an
/// incident nor gets one twice, whatever changes meanwhile.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadIncidents {
    pub filter: Filter,
    pub after: Option<IdKey>,
    /// Rows that one page looks at.
    pub limit: u32,
}

/// A page of incidents in the order of ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageOf {
    pub incidents: Vec<Incident>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<IdKey>,
    /// Time of the last change of any incident.
    pub changed: Option<Timestamp>,
}

impl Query for ReadIncidents {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "page";
    type Reply = PageOf;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<PageOf> {
        let mut range = match &self.filter.country {
            Some(country) => INCIDENTS.prefix(&(country.clone(),)),
            None => INCIDENTS.range(),
        };
        if let Some(after) = &self.after {
            range.start = INCIDENTS.prefix(after).end.unwrap_or_default();
        }
        let rows = INCIDENTS.scan(view, &range, Direction::Ascending, self.limit as usize)?;
        let next = rows.last().filter(|_| rows.len() == self.limit as usize).map(|(key, _)| key.clone());
        let holds =
            |incident: &Incident| incident.is_shown() && self.filter.holds(incident.start(), &Line::new(incident, &[]));
        let incidents = rows.into_iter().map(|(_, incident)| incident).filter(holds).collect();
        Ok(PageOf { incidents, next, changed: CLOCK.get(view, &())?.map(|Clock(at)| at) })
    }
}
