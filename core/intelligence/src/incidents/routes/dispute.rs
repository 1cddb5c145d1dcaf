//! Disputing an incident, and the operator's list of disputes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{LINK_PATTERN, MAX_LINK, line, link, prose};
use crate::incidents::actor;
use crate::incidents::disputes::{Dispute, Disputes, File, Resolve};
use crate::{Error, Result, Timestamp};
use engine::http::{Cx, LINE, PROSE, Response};
use engine::runtime;

/// Most characters of how somebody can be reached, and of a note.
const MAX_CONTACT: usize = 200;
const MAX_NOTE: usize = 1_000;

/// An objection to an incident.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["reason"]))]
pub struct NewDispute {
    /// 10 to 4,000 characters.
    #[schemars(length(min = 10, max = 4000))]
    pub reason: String,
    /// https address of what the objection rests on.
    #[schemars(length(max = MAX_LINK), regex(pattern = LINK_PATTERN))]
    pub evidence_url: Option<String>,
    /// How operators can reach you, if you like; at most 200 characters. Nobody else sees it.
    #[schemars(length(max = MAX_CONTACT), regex(pattern = LINE))]
    pub contact: Option<String>,
}

/// Confirms that the dispute was received.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DisputeReceived")]
pub struct Received {
    pub dispute_id: String,
    /// The readable id of the disputed incident, and its version.
    pub incident_id: String,
    pub version: u32,
    /// `received`
    pub status: &'static str,
}

pub async fn file(cx: Cx) -> Result<Response> {
    let wanted: NewDispute = cx.json()?;
    let reason = prose("reason", Some(&wanted.reason), 4_000)?.unwrap_or_default();
    if reason.chars().count() < 10 {
        return Err(Error::bad_request("`reason` must say in at least 10 characters what is wrong."));
    }
    let file = File {
        incident: cx.path("id")?.to_owned(),
        reason,
        evidence_url: link("evidence_url", wanted.evidence_url)?,
        contact: line("contact", wanted.contact.as_deref(), MAX_CONTACT)?,
    };
    let dispute = runtime::call(&*cx.rt, actor().name, &file).await?;
    Response::created(&Received {
        dispute_id: dispute.id,
        incident_id: dispute.incident.to_string(),
        version: dispute.version,
        status: "received",
    })
}

/// A dispute as operators see it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DisputeBody {
    pub id: String,
    pub incident_id: String,
    pub version: u32,
    pub created_at: String,
    pub reason: String,
    pub evidence_url: Option<String>,
    pub contact: Option<String>,
    /// `open`, `accepted` or `rejected`.
    pub status: String,
    pub resolved_at: Option<String>,
    /// Id of the operator's key.
    pub resolved_by: Option<String>,
    pub note: Option<String>,
}

impl From<Dispute> for DisputeBody {
    fn from(dispute: Dispute) -> Self {
        let resolution = dispute.resolution;
        let status = match resolution.as_ref().map(|resolution| resolution.accepted) {
            None => "open",
            Some(true) => "accepted",
            Some(false) => "rejected",
        };
        DisputeBody {
            id: dispute.id,
            incident_id: dispute.incident.to_string(),
            version: dispute.version,
            created_at: dispute.at.to_micros_text(),
            reason: dispute.reason,
            evidence_url: dispute.evidence_url,
            contact: dispute.contact,
            status: status.to_owned(),
            resolved_at: resolution.as_ref().map(|resolution| resolution.at.to_string()),
            resolved_by: resolution.as_ref().map(|resolution| resolution.by.clone()),
            note: resolution.and_then(|resolution| resolution.note),
        }
    }
}

/// One page of disputes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DisputePage {
    /// Oldest first.
    pub disputes: Vec<DisputeBody>,
    /// Give it as `after` to get the next page; null on the last page.
    pub next: Option<String>,
}

/// What ids of disputes look like, in any case.
pub const DISPUTE_ID: &str = "^[0-9A-Fa-f]{16}$";

/// What `next` looks like: the time and the id of a dispute.
pub const PLACE_PATTERN: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[^ ]* .*$";

pub async fn list(cx: Cx) -> Result<Response> {
    let resolved = match cx.query("status")?.as_deref() {
        None | Some("open") => false,
        Some("resolved") => true,
        Some(_) => return Err(Error::bad_request("`status` must be open or resolved.")),
    };
    let limit = cx.count("limit", 100, 1_000)?;
    let wrong = || Error::bad_request("`after` must be the `next` of the page before.");
    let after = match cx.query("after")? {
        None => None,
        Some(text) => {
            let (at, id) = text.split_once(' ').ok_or_else(wrong)?;
            Some((Timestamp::parse(at).ok_or_else(wrong)?, id.to_owned()))
        }
    };
    let found = runtime::query(&*cx.rt, actor().name, &Disputes { resolved, after, limit }).await?;
    let full = found.len() == limit as usize;
    let next = found.last().filter(|_| full).map(|last| format!("{} {}", last.at.to_micros_text(), last.id));
    Response::json(&DisputePage { disputes: found.into_iter().map(DisputeBody::from).collect(), next })
}

/// The decision about a dispute.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// `accepted` or `rejected`. Accepting does not change the incident; amend or retract it in addition.
    pub outcome: Ruling,
    /// At most 1,000 characters.
    #[serde(default)]
    #[schemars(length(max = MAX_NOTE), regex(pattern = PROSE))]
    pub note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    Accepted,
    Rejected,
}

pub async fn resolve(cx: Cx) -> Result<Response> {
    let decision: Decision = cx.json()?;
    let resolve = Resolve {
        id: cx.path("id")?.to_ascii_lowercase(),
        by: cx.rt.environment().secrets.admin_key_id(),
        accepted: decision.outcome == Ruling::Accepted,
        note: prose("note", decision.note.as_deref(), MAX_NOTE)?,
    };
    let dispute = runtime::call(&*cx.rt, actor().name, &resolve).await?;
    Response::json(&DisputeBody::from(dispute))
}
