//! Read marks and deletion.

use serde::{Deserialize, Serialize};

use super::{COUNTERS, Local, READ, count_today, find, leave_unread, remove};
use crate::agent::record;
use crate::directory::Did;
use crate::{Error, Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};

/// Most messages marked at once.
pub const MAX_MARKS: usize = 100;

/// Marks messages of this mailbox as read. Ids that are unknown, deleted or expired are skipped.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MarkRead {
    pub locals: Vec<Local>,
}

/// One mark: when the message was read, and whether it was marked already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub read_at: Timestamp,
    pub already: bool,
}

impl Operation for MarkRead {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "mark_read";
    /// One entry for each id, in order; `None` for an id that was skipped.
    type Reply = Vec<Option<Mark>>;

    fn run(self, turn: &mut Turn<'_>) -> Result<Vec<Option<Mark>>> {
        if self.locals.len() > MAX_MARKS {
            return Err(Error::bad_request("At most 100 messages can be marked at once."));
        }
        self.locals.iter().map(|local| mark(turn, local)).collect()
    }
}

fn mark(turn: &mut Turn<'_>, local: &Local) -> Result<Option<Mark>> {
    let Some((stamp, mut message)) = find(turn, local, turn.now)? else { return Ok(None) };
    if let Some(read_at) = message.head.read_at {
        return Ok(Some(Mark { read_at, already: true }));
    }
    leave_unread(turn, stamp, message.head.from)?;
    let mut counters = COUNTERS.get(turn, &())?.unwrap_or_default();
    count_today(turn, &mut counters, 0, 1)?;
    COUNTERS.put(turn, &(), &counters)?;
    message.head.read_at = Some(turn.now);
    READ.put(turn, &(stamp,), &message)?;
    Ok(Some(Mark { read_at: turn.now, already: false }))
}

/// Deletes a message on behalf of its recipient or its sender. 404 for everybody else (decision foreign-is-404).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Delete {
    pub local: Local,
    pub by: Did,
}

impl Operation for Delete {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "delete";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let unknown = || Error::not_found("There is no such message.");
        let (stamp, message) = find(turn, &self.local, turn.now)?.ok_or_else(unknown)?;
        if message.head.from != self.by && record::did_of(&turn.actor().name)? != self.by {
            return Err(unknown());
        }
        remove(turn, stamp, &message)
    }
}
