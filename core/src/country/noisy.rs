//! Verdicts again after networks failed more or less at other sites: how often they do is part of what a failure says.

use serde::{Deserialize, Serialize};

use super::tables::TARGETS;
use super::{changes, days, refresh};
use crate::Result;
use crate::actor::{Kind, Operation, Turn};
use crate::change::constants::BLOCK_DAYS;
use crate::change::series::block_of;
use crate::kv::{Direction, Row, Table};
use crate::time::SECOND;

/// Publish intervals between a change and the judging: the data of an import come in many pieces. Shorter than those of
/// [`super::past`], which rests on what is judged here.
const INTERVALS: i64 = 2;
/// How often the judging waits anew because something changed meanwhile.
const MOST_WAITS: u8 = 30;
/// Targets looked at in one operation.
const AT_ONCE: usize = 400;
const TIMER: &str = "noise";

/// What changed since failures were last looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Noisy {
    /// The first day whose counts are others.
    from: u32,
    /// Something changed since the judging was put off.
    again: bool,
    waited: u8,
}
impl Row for Noisy {}

const NOISY: Table<(), Noisy> = Table::new(136);

/// Networks failed more or less on a day than was known.
pub(super) fn changed(turn: &mut Turn<'_>, day: u32) -> Result<()> {
    let known = NOISY.get(turn, &())?;
    let now = match known {
        Some(known) => Noisy { from: known.from.min(day), again: true, ..known },
        None => Noisy { from: day, again: false, waited: 0 },
    };
    if known != Some(now) {
        NOISY.put(turn, &(), &now)?;
    }
    if known.is_none() { wait(turn) } else { Ok(()) }
}

fn wait(turn: &mut Turn<'_>) -> Result<()> {
    let due = turn.now.plus(INTERVALS * i64::from(turn.settings.publish_interval) * SECOND);
    turn.schedule(TIMER, due, &JudgeFailing { from: None, after: None })
}

/// Has the targets judged again that failed on the changed days or since.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JudgeFailing {
    /// The first changed day and the last target that was looked at; `None` before the first.
    from: Option<u32>,
    after: Option<String>,
}

impl Operation for JudgeFailing {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "judge_failing";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let from = match (self.from, NOISY.get(turn, &())?) {
            (Some(from), _) => from,
            (None, None) => return Ok(()),
            (None, Some(noisy)) if noisy.again && noisy.waited < MOST_WAITS => {
                NOISY.put(turn, &(), &Noisy { again: false, waited: noisy.waited + 1, ..noisy })?;
                return wait(turn);
            }
            (None, Some(noisy)) => {
                NOISY.delete(turn, &());
                noisy.from
            }
        };
        let block = block_of(from);
        let range = match self.after {
            Some(after) => TARGETS.after(TARGETS.range(), &(after,)),
            None => TARGETS.range(),
        };
        let rows = TARGETS.scan(turn, &range, Direction::Ascending, AT_ONCE)?;
        let last = rows.last().filter(|_| rows.len() == AT_ONCE).map(|((target,), _)| target.clone());
        for ((target,), row) in rows {
            if row.last_day >= from && changes::failed_since(turn, &target, block)? {
                // What is usual on a network is that of the whole block.
                days::queue(turn, &target, block.saturating_mul(BLOCK_DAYS))?;
            }
        }
        refresh::soon(turn)?;
        match last {
            Some(after) => {
                let now = turn.now;
                turn.schedule(TIMER, now, &JudgeFailing { from: Some(from), after: Some(after) })
            }
            // Something may have changed while it went on.
            None if NOISY.contains(turn, &())? => wait(turn),
            None => Ok(()),
        }
    }
}
