//! Disputes: objections of readers to an incident, for operators (decision plain-sentences-and-disputes).

use serde::{Deserialize, Serialize};

use super::model::ReadableId;
use super::query::resolve;
use super::tables::{INCIDENTS, key};
use crate::{Error, Result, Timestamp};
use crypto::encoding::encode_hex;
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Row, Table};

/// Disputes that may wait for an operator, at most. Each takes at most some 7 KB.
pub const MAX_OPEN: u64 = 5_000;

/// One dispute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dispute {
    /// 16 random hexadecimal digits.
    pub id: String,
    pub incident: ReadableId,
    /// The version that was disputed.
    pub version: u32,
    pub at: Timestamp,
    pub reason: String,
    /// https.
    pub evidence_url: Option<String>,
    /// How to reach the author of the dispute, if they wish. Only operators see it.
    pub contact: Option<String>,
    pub resolution: Option<Resolution>,
}
impl Row for Dispute {}

/// The decision of an operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resolution {
    pub at: Timestamp,
    /// Id of the operator's key.
    pub by: String,
    pub accepted: bool,
    pub note: Option<String>,
}

const DISPUTES: Table<(String,), Dispute> = Table::new(26);
/// First the open ones, then the resolved ones; each by time.
const BY_STATE: Table<(bool, Timestamp, String), ()> = Table::new(27);
const OPEN: Table<(), u64> = Table::new(28);

/// Files a dispute.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct File {
    /// Either of the two ids of the incident.
    pub incident: String,
    pub reason: String,
    pub evidence_url: Option<String>,
    pub contact: Option<String>,
}

impl Operation for File {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "file_dispute";
    type Reply = Dispute;

    fn run(self, turn: &mut Turn<'_>) -> Result<Dispute> {
        let unknown = || Error::not_found("There is no such incident.");
        let incident = resolve(&turn.view(), &self.incident)?.ok_or_else(unknown)?;
        let version = INCIDENTS.get(turn, &key(&incident))?.ok_or_else(unknown)?.version;
        let open = OPEN.get(turn, &())?.unwrap_or_default();
        if open >= MAX_OPEN {
            return Err(Error::unavailable("too many disputes are open").retry_after(86_400));
        }
        let id = encode_hex(&turn.random::<8>());
        let dispute = Dispute {
            id: id.clone(),
            incident,
            version,
            at: turn.now,
            reason: self.reason,
            evidence_url: self.evidence_url,
            contact: self.contact,
            resolution: None,
        };
        OPEN.put(turn, &(), &(open + 1))?;
        BY_STATE.put(turn, &(false, dispute.at, id.clone()), &())?;
        DISPUTES.put(turn, &(id,), &dispute)?;
        Ok(dispute)
    }
}

/// Resolves a dispute. A dispute that is resolved already is returned as it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Resolve {
    pub id: String,
    pub by: String,
    pub accepted: bool,
    pub note: Option<String>,
}

impl Operation for Resolve {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "resolve_dispute";
    type Reply = Dispute;

    fn run(self, turn: &mut Turn<'_>) -> Result<Dispute> {
        let found = DISPUTES.get(turn, &(self.id.clone(),))?;
        let mut dispute = found.ok_or_else(|| Error::not_found("There is no such dispute."))?;
        if dispute.resolution.is_some() {
            return Err(Error::conflict("The dispute is resolved already."));
        }
        let Resolve { id, by, accepted, note } = self;
        dispute.resolution = Some(Resolution { at: turn.now, by, accepted, note });
        let open = OPEN.get(turn, &())?.unwrap_or_default();
        OPEN.put(turn, &(), &open.saturating_sub(1))?;
        BY_STATE.delete(turn, &(false, dispute.at, id.clone()));
        BY_STATE.put(turn, &(true, dispute.at, id.clone()), &())?;
        DISPUTES.put(turn, &(id,), &dispute)?;
        Ok(dispute)
    }
}

/// Asks for open or resolved disputes, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Disputes {
    pub resolved: bool,
    /// The last dispute of the previous page.
    pub after: Option<(Timestamp, String)>,
    pub limit: u32,
}

impl Query for Disputes {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "disputes";
    type Reply = Vec<Dispute>;

    fn run(self, view: &View<'_>) -> Result<Vec<Dispute>> {
        let mut range = BY_STATE.prefix(&(self.resolved,));
        if let Some((at, id)) = self.after {
            range.start = BY_STATE.prefix(&(self.resolved, at, id)).end.unwrap_or_default();
        }
        let keys = BY_STATE.scan(view, &range, Direction::Ascending, self.limit as usize)?;
        let mut found = Vec::with_capacity(keys.len());
        for ((_, _, id), ()) in keys {
            found.extend(DISPUTES.get(view, &(id,))?);
        }
        Ok(found)
    }
}
