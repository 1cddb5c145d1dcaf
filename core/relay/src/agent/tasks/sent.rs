//! The requester's rows about the tasks that it asked of others. They follow by effects what the assignees decide
//! (decision one-deciding-operation).

use serde::{Deserialize, Serialize};

use super::TaskHead;
use crate::agent::activity::{self, ActivityCounts};
use crate::agent::mailbox::Local;
use crate::agent::{broadcasts, consent, record};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::{Desc, Direction, Range, Table};

/// The creation time of a task, which gives its place in [`SENT`].
const PLACES: Table<(Local,), Timestamp> = Table::new(67);
/// Newest first.
pub(super) const SENT: Table<(Desc<Timestamp>, Local), TaskHead> = Table::new(68);
/// Most tasks in a requester's list. The oldest are deleted first; at their assignees they stay as they are.
const MAX_SENT: u64 = 10_000;
const COUNT: Table<(), u64> = Table::new(59);
/// Rows that are deleted in one step when the agent ends.
const BATCH: usize = 60;

/// A task is new, or has changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Note {
    pub local: Local,
    pub head: TaskHead,
}

impl Operation for Note {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "note_task";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Note { local, head } = self;
        // A task of an earlier registration does not belong to the present one.
        let agent = record::lasting(turn)?.filter(|agent| agent.created <= head.created);
        let Some(agent) = agent else { return Ok(()) };
        consent::wrote(turn, &agent, head.to)?;
        if let Some(broadcast) = head.broadcast {
            broadcasts::note(turn, broadcast, &head)?;
        }
        if PLACES.get(turn, &(local,))?.is_none() {
            let count = COUNT.get(turn, &())?.unwrap_or_default() + 1;
            COUNT.put(turn, &(), &count)?;
            PLACES.put(turn, &(local,), &head.created)?;
            activity::count(turn, &ActivityCounts { tasks_created: 1, ..ActivityCounts::default() })?;
        }
        SENT.put(turn, &(Desc(head.created), local), &head)?;
        if COUNT.get(turn, &())?.unwrap_or_default() > MAX_SENT
            && let Some(((_, oldest), _)) = SENT.last(turn, &SENT.range())?
        {
            ForgetTask { local: oldest }.run(turn)?;
        }
        Ok(())
    }
}

/// The assignee has deleted a task that was settled long ago.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForgetTask {
    pub local: Local,
}

impl Operation for ForgetTask {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "forget_task";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(created) = PLACES.get(turn, &(self.local,))? else { return Ok(()) };
        PLACES.delete(turn, &(self.local,));
        SENT.delete(turn, &(Desc(created), self.local));
        let count = COUNT.get(turn, &())?.unwrap_or_default().saturating_sub(1);
        Ok(COUNT.put(turn, &(), &count)?)
    }
}

/// Deletes rows from before a time, a batch at a time; true when there may be more.
pub(super) fn end(turn: &mut Turn<'_>, before: Timestamp) -> Result<bool> {
    let range = Range { start: SENT.prefix(&(Desc(before),)).start, ..SENT.range() };
    let rows = SENT.scan(turn, &range, Direction::Ascending, BATCH)?;
    let more = rows.len() == BATCH;
    for ((_, local), _) in rows {
        ForgetTask { local }.run(turn)?;
    }
    Ok(more)
}
