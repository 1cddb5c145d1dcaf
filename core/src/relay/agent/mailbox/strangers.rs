//! Dropping what strangers wrote and nobody read yet.

use serde::{Deserialize, Serialize};

use super::{SENDERS, UNREAD_FROM, heads, remove};
use crate::engine::actor::{Kind, Operation, Turn};
use crate::engine::kv::{Direction, Range};
use crate::relay::agent::{consent, record};
use crate::relay::directory::Did;
use crate::{Result, Timestamp};

/// Messages that one turn drops; each is up to eight rows.
const BATCH: usize = 100;
/// Senders that one turn looks at.
const MAX_LOOKED: usize = 400;
/// Key of the timer.
const TIMER: &str = "drop_strangers";

/// Drops the unread messages of senders that the owner does not know, some a turn. Their ids stay known for a day, so an
/// exact repeat does not bring one back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropStrangers {
    /// What came later stays; now when absent.
    pub before: Option<Timestamp>,
    /// The last sender that an earlier turn was done with.
    pub after: Option<Did>,
}

/// What a turn came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    pub messages: u64,
    /// Nothing is left to be dropped by timer.
    pub complete: bool,
}

impl Operation for DropStrangers {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "drop_strangers";
    type Reply = Dropped;

    fn run(self, turn: &mut Turn<'_>) -> Result<Dropped> {
        let agent = record::active(turn)?.ok_or_else(record::gone)?;
        let before = self.before.unwrap_or(turn.now.max(super::latest(turn)?));
        let range = self.after.map_or_else(|| SENDERS.range(), |after| SENDERS.after(SENDERS.range(), &(after,)));
        let senders = SENDERS.scan(turn, &range, Direction::Ascending, MAX_LOOKED)?;
        let (mut dropped, mut done, all) = (0, self.after, senders.len() < MAX_LOOKED);
        for ((from,), sender) in senders {
            if sender.unread > 0 && !consent::knows(turn, turn.actor(), &agent, from, None)? {
                let left = BATCH - dropped;
                dropped += drop_of(turn, from, before, left)?;
                if dropped >= BATCH {
                    return go_on(turn, before, done, dropped);
                }
            }
            done = Some(from);
        }
        match all {
            true => Ok(Dropped { messages: dropped as u64, complete: true }),
            false => go_on(turn, before, done, dropped),
        }
    }
}

fn go_on(turn: &mut Turn<'_>, before: Timestamp, after: Option<Did>, dropped: usize) -> Result<Dropped> {
    let now = turn.now;
    turn.schedule(TIMER, now, &DropStrangers { before: Some(before), after })?;
    Ok(Dropped { messages: dropped as u64, complete: false })
}

/// Drops at most so many unread messages of one sender: how many.
fn drop_of(turn: &mut Turn<'_>, from: Did, before: Timestamp, limit: usize) -> Result<usize> {
    let own = UNREAD_FROM.prefix(&(from,));
    let range = Range { end: UNREAD_FROM.prefix(&(from, before)).end, ..own };
    let rows = UNREAD_FROM.scan(turn, &range, Direction::Ascending, limit)?;
    for ((_, stamp), ()) in &rows {
        if let Some(head) = heads::get(turn, *stamp)? {
            remove(turn, *stamp, &head)?;
        }
    }
    Ok(rows.len())
}
