//! `GET /data/incidents/{id}`

use schemars::JsonSchema;
use serde::Serialize;

use crate::http::{Cx, Response};
use crate::incidents::actor;
use crate::incidents::body::{IncidentBody, NetworkBody};
use crate::incidents::model::Incident;
use crate::incidents::query::{Find, VersionOf};
use crate::{Error, Result, runtime};

/// Seconds for which a version, which never changes, may be kept.
const VERSION_AGE: u32 = 86_400;

/// One incident with all that is known.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DetailBody {
    #[serde(flatten)]
    pub incident: IncidentBody,
    pub networks: Vec<NetworkBody>,
    pub evidence_ids: Vec<String>,
}

pub async fn detail(cx: Cx) -> Result<Response> {
    let (incident, max_age) = asked(&cx).await?;
    let body = DetailBody {
        networks: incident.draft.networks.iter().map(NetworkBody::from).collect(),
        evidence_ids: incident.draft.evidence_ids.clone(),
        incident: IncidentBody::new(&incident, cx.settings()),
    };
    cx.tagged(Response::json(&body)?, max_age)
}

/// The incident of the path, or its version that the query names; and for how many seconds the answer holds.
pub async fn asked(cx: &Cx) -> Result<(Incident, u32)> {
    let id = cx.path("id")?;
    let Some(version) = cx.query("version")? else { return Ok((find(cx, id, true).await?, 0)) };
    let wrong = || Error::bad_request("Query parameter `version` must be a whole number from 1.");
    let version: u32 = version.parse().ok().filter(|version| *version > 0).ok_or_else(wrong)?;
    // A citation names what it cites: merges are not followed.
    let incident = find(cx, id, false).await?;
    let asked = VersionOf { id: incident.id, version };
    let found = runtime::query(&*cx.rt, actor().name, &asked).await?;
    Ok((found.ok_or_else(|| Error::not_found("There is no such version of this incident."))?, VERSION_AGE))
}

/// The incident of either id.
pub async fn find(cx: &Cx, id: &str, follow: bool) -> Result<Incident> {
    let found = runtime::query(&*cx.rt, actor().name, &Find { id: id.to_owned(), follow }).await?;
    found.ok_or_else(|| Error::not_found("There is no such incident."))
}
