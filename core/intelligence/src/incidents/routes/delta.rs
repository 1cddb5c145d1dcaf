//! `GET /data/incidents/delta`

use schemars::JsonSchema;
use serde::Serialize;

use crate::incidents::actor;
use crate::incidents::body::IncidentBody;
use crate::incidents::documents::{dataset_version, generated};
use crate::incidents::query::{LastChange, ReadChanges};
use crate::incidents::written::{self, MANNER, Written};
use crate::{Error, Result, Timestamp};
use engine::http::{Cx, Response};
use engine::runtime;
use facts::licence;

/// Rows of an answer, both the default and the maximum. `has_more` says whether more rows wait. Our choice: as many as
/// on a page of the list, so that the answer for one reader does not hold up others.
pub(super) const MAX_ROWS: u32 = 200;

/// An incident that changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedBody {
    #[serde(flatten)]
    pub incident: IncidentBody,
    /// `created`, `updated`, `merged` (see `mergedInto`) or `retracted` (see `retracted`).
    pub change: &'static str,
}

/// Incidents changed after `since`, oldest change first. Each is listed once, in its present state.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeltaBody {
    /// The same as in the request.
    pub since: String,
    pub count: usize,
    pub incidents: Vec<ChangedBody>,
    /// Use this value in the next request. So nothing is missed and nothing comes twice (decision incident-ids).
    pub next_since: String,
    pub has_more: bool,
    pub dataset_version: String,
    pub generated_at_utc: String,
    pub license: String,
}

pub async fn delta(cx: Cx) -> Result<Response> {
    let since = cx.time("since")?.ok_or_else(|| Error::bad_request("Query parameter `since` is required."))?;
    let limit = cx.count("limit", MAX_ROWS, MAX_ROWS)?;
    let changed = runtime::query(&*cx.rt, actor().name, &LastChange).await?;
    let at = generated(cx.now(), changed);
    cx.kept_by(&("delta", MANNER, changed, at, since, limit), 0, page(&cx, since, limit, at)).await
}

async fn page(cx: &Cx, since: Timestamp, limit: u32, at: Timestamp) -> Result<Response> {
    let found = runtime::query(&*cx.rt, actor().name, &ReadChanges { since, limit }).await?;
    let newest = found.incidents.last().map(|incident| incident.updated);
    let change = |incident: &Written| match (incident.merged, incident.retracted) {
        (true, _) => "merged",
        (false, true) => "retracted",
        (false, false) if incident.created > since => "created",
        (false, false) => "updated",
    };
    let body = DeltaBody {
        since: since.to_micros_text(),
        count: found.incidents.len(),
        next_since: found.next.to_micros_text(),
        has_more: found.more,
        dataset_version: dataset_version(newest, at),
        generated_at_utc: at.to_string(),
        license: licence::effective(found.incidents.iter().map(|incident| incident.licence())),
        incidents: Vec::new(),
    };
    let rows = found.incidents.iter();
    let rows = rows.map(|incident| [written::open(incident.json()), ",\"change\":\"", change(incident), "\"}"]);
    Ok(Response::json_text(written::fill(&body, "incidents", rows)?))
}
