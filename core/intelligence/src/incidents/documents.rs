//! The documents that many clients read: the first page of the list, the counts and the feeds.

use schemars::JsonSchema;
use serde::Serialize;

use super::body::IncidentBody;
use super::query::{Listed, ReadListing, Select};
use super::stats::stats;
use super::{feeds, search, written};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, Turn, View};
use engine::documents::{Family, Rendered};
use engine::time::SECOND;
use facts::licence;

pub const LIST: &str = "data/incidents";
pub const STATS: &str = "data/incidents/stats";
pub const RSS: &str = "data/incidents/feed.rss";
pub const ATOM: &str = "data/incidents/feed.atom";

/// Seconds for which a reader may treat these documents as fresh.
pub const MAX_AGE: u32 = 60;

/// Rows of a page unless the request states another number.
pub const DEFAULT_LIMIT: u32 = 50;

pub const FAMILIES: &[Family] = &[
    family(LIST, |view, _| {
        let first = Select::default();
        let found = ReadListing(first.clone()).run(view)?;
        Ok(Rendered::json_text(list(&first, &found, view.now)?))
    }),
    family(STATS, |view, _| Rendered::json(&stats(view)?)),
    family(RSS, |view, _| feeds::latest(view, feeds::FeedFormat::Rss)),
    family(ATOM, |view, _| feeds::latest(view, feeds::FeedFormat::Atom)),
    family(search::KEY, |view, _| search::render(view)),
];

const fn family(prefix: &'static str, render: fn(&View<'_>, &str) -> Result<Rendered>) -> Family {
    Family { prefix, owner: Kind::Incidents, max_age: MAX_AGE, render }
}

/// Makes every document anew.
pub(super) fn changed(turn: &mut Turn<'_>) -> Result<()> {
    [LIST, STATS, RSS, ATOM].into_iter().try_for_each(|key| turn.publish(key))?;
    search::changed(turn)
}

/// The time stated in an answer: the beginning of the present period, or the time of the newest change if that is
/// later. So answers with the same content within a period are equal to the byte and keep their tag.
pub(super) fn generated(now: Timestamp, changed: Option<Timestamp>) -> Timestamp {
    let period = Timestamp(now.0 - now.0.rem_euclid(i64::from(MAX_AGE) * SECOND));
    changed.map_or(period, |changed| changed.max(period))
}

/// `YYYY.MM.DD` of the newest change.
pub(super) fn dataset_version(changed: Option<Timestamp>, now: Timestamp) -> String {
    changed.unwrap_or(now).to_date_text().replace('-', ".")
}

/// `GET /data/incidents`
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "IncidentList")]
pub struct ListBody {
    pub incidents: Vec<IncidentBody>,
    /// Number of all matching incidents.
    pub total: u64,
    /// Rows in this page.
    pub count: usize,
    pub limit: u32,
    pub offset: u64,
    /// Null on the last page.
    pub next_offset: Option<u64>,
    /// `YYYY.MM.DD` of the newest change.
    pub dataset_version: String,
    pub generated_at_utc: String,
    /// Strictest licence of the rows.
    pub license: String,
    /// The asked time; absent in answers about now.
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
}

/// A page of incidents as they were at a moment, of all that pass the filter, with the time of the last change.
pub fn past(
    asked: &Select,
    incidents: Vec<IncidentBody>,
    of: (u64, Option<Timestamp>),
    at: Timestamp,
    now: Timestamp,
) -> ListBody {
    let count = incidents.len();
    let license = licence::effective(incidents.iter().map(|body| body.license.as_str()));
    ListBody { incidents, as_of: Some(at.to_string()), ..ListBody::page(asked, count, of, license, now) }
}

impl ListBody {
    /// A page without its incidents. `of` says how many pass the filter, and when any changed last.
    fn page(asked: &Select, count: usize, of: (u64, Option<Timestamp>), license: String, now: Timestamp) -> ListBody {
        let ((total, changed), end) = (of, asked.offset.saturating_add(count as u64));
        ListBody {
            incidents: Vec::new(),
            total,
            count,
            limit: asked.limit,
            offset: asked.offset,
            next_offset: (end < total && count > 0).then_some(end),
            dataset_version: dataset_version(changed, now),
            generated_at_utc: now.to_string(),
            license,
            as_of: None,
        }
    }
}

/// The JSON of a [`ListBody`].
pub fn list(asked: &Select, found: &Listed, now: Timestamp) -> Result<Vec<u8>> {
    let incidents = &found.incidents;
    let license = licence::effective(incidents.licences.iter().map(String::as_str));
    let page = ListBody::page(asked, incidents.count, (found.total, found.changed), license, now);
    written::fill(&page, "incidents", (incidents.count > 0).then_some([&incidents.json]))
}
