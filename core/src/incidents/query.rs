//! Reading incidents.

use serde::{Deserialize, Serialize};

use super::model::{EvidenceRow, Incident, ReadableId};
use super::tables::{BY_COUNTRY, BY_HASH, BY_START, BY_UPDATED, EVIDENCE, INCIDENTS, IdRow, VERSIONS, key};
use crate::actor::{Kind, Query, View};
use crate::kv::Direction;
use crate::{Result, Timestamp};

/// The incident of either id, in its newest version; that of the one it was merged into when `follow`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Find {
    pub id: String,
    pub follow: bool,
}

impl Query for Find {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "find";
    type Reply = Option<Incident>;

    fn run(self, view: &View<'_>) -> Result<Option<Incident>> {
        let Some(id) = resolve(view, &self.id)? else { return Ok(None) };
        let mut found = INCIDENTS.get(view, &key(&id))?;
        // A chain of merges is as long as the number of times that later data joined events.
        for _ in 0..16 {
            match found.as_ref().and_then(|incident| incident.merged_into.as_ref()).filter(|_| self.follow) {
                Some(into) => found = INCIDENTS.get(view, &key(into))?,
                None => break,
            }
        }
        Ok(found)
    }
}

/// The id that a text means.
fn resolve(view: &View<'_>, text: &str) -> Result<Option<ReadableId>> {
    if let Some(id) = ReadableId::parse(text) {
        return Ok(Some(id));
    }
    Ok(BY_HASH.get(view, &(text.trim().to_ascii_lowercase(),))?.map(|IdRow(id)| id))
}

/// A past version of an incident.
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

/// All shown incidents that began before `at`, newest beginning first, of one country or of all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct All {
    pub country: Option<String>,
}

impl Query for All {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "all";
    type Reply = Vec<Incident>;

    fn run(self, view: &View<'_>) -> Result<Vec<Incident>> {
        shown(view, self.country.as_deref())
    }
}

/// Shown incidents, newest beginning first.
pub(super) fn shown(view: &View<'_>, country: Option<&str>) -> Result<Vec<Incident>> {
    let mut keys = Vec::new();
    match country {
        Some(country) => {
            let range = BY_COUNTRY.prefix(&(country.to_owned(),));
            BY_COUNTRY.visit(view, range, Direction::Descending, |(country, _, year, sequence), ()| {
                keys.push((country, year, sequence));
                Ok(true)
            })?;
        }
        None => BY_START.visit(view, BY_START.range(), Direction::Descending, |(_, country, year, sequence), ()| {
            keys.push((country, year, sequence));
            Ok(true)
        })?,
    }
    let found: Result<Vec<Option<Incident>>> =
        keys.iter().map(|key| INCIDENTS.get(view, key).map_err(Into::into)).collect();
    Ok(found?.into_iter().flatten().collect())
}

/// Incidents changed after a time, oldest change first; withdrawn and merged ones too.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Changes {
    pub since: Timestamp,
    pub limit: u32,
}

/// A page of changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    pub incidents: Vec<Incident>,
    /// Ask again from here: the newest change of the page, or `since` when nothing changed.
    pub next: Timestamp,
    pub more: bool,
}

impl Query for Changes {
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
        let mut incidents = Vec::with_capacity(keys.len());
        for ((_, country, year, sequence), ()) in keys {
            incidents.extend(INCIDENTS.get(view, &(country, year, sequence))?);
        }
        Ok(Changed { incidents, next, more })
    }
}

/// Rows of evidence by their ids, in that order; unknown ones are left out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EvidenceOf {
    pub ids: Vec<String>,
}

impl Query for EvidenceOf {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "evidence_of";
    type Reply = Vec<EvidenceRow>;

    fn run(self, view: &View<'_>) -> Result<Vec<EvidenceRow>> {
        let mut rows = Vec::with_capacity(self.ids.len());
        for id in self.ids {
            rows.extend(EVIDENCE.get(view, &(id,))?);
        }
        Ok(rows)
    }
}
