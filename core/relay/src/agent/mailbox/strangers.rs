//! Deletes unread messages of strangers when the owner asks for it.

use serde::{Deserialize, Serialize};

use super::{SENDERS, remove, stored, unread};
use crate::agent::{consent, record};
use crate::directory::Did;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::Direction;

/// Messages that one turn deletes; each has up to eight rows.
const BATCH: usize = 100;
/// Senders that one turn looks at.
const MAX_LOOKED: usize = 400;
/// Key of the timer.
const TIMER: &str = "drop_strangers";

/// Deletes the unread messages of senders that the owner does not know, a batch each turn. Their ids stay known for a
/// day, so an exact repeat does not bring a message back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropStrangers {
    /// Messages that came later stay. The present time when absent.
    pub before: Option<Timestamp>,
    /// The last sender that an earlier turn finished.
    pub after: Option<Did>,
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    pub messages: u64,
    /// True when nothing is left for the timer to delete.
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

/// Deletes at most `limit` unread messages of one sender, and returns how many.
fn drop_of(turn: &mut Turn<'_>, from: Did, before: Timestamp, limit: usize) -> Result<usize> {
    let stamps = unread::scan(turn, from, (Timestamp::MIN, before.plus(1)), limit)?;
    for stamp in &stamps {
        if let Some(message) = stored::get(turn, *stamp)? {
            remove(turn, *stamp, &message)?;
        }
    }
    Ok(stamps.len())
}
