//! Judges targets again after networks failed more or less at other sites. How often they do is part of what a failure
//! says.

use serde::{Deserialize, Serialize};

use super::changes::{self, FAILED};
use super::tables::TARGETS;
use super::{days, refresh};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::{Direction, Row, Table};
use engine::time::SECOND;
use facts::change::constants::BLOCK_DAYS;
use facts::change::series::block_of;

/// Publish intervals between the last change and the judging, because the data of an import come in many pieces. There
/// are fewer than in [`super::past`], which rests on what is judged here.
const INTERVALS: i64 = 2;
/// Most publish intervals between the first change and the judging, whatever else comes.
const MOST_INTERVALS: i64 = 60;
/// Targets checked in one operation.
const AT_ONCE: usize = 200;
const TIMER: &str = "noise";

/// A change that is not judged yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Noisy {
    /// The first day whose counts changed.
    from: u32,
    /// When the first change was noted.
    since: Timestamp,
}
impl Row for Noisy {}

const NOISY: Table<(), Noisy> = Table::derived(136);

/// Notes that networks failed more or less on a day than was known.
pub(super) fn changed(turn: &mut Turn<'_>, day: u32) -> Result<()> {
    let known = NOISY.get(turn, &())?;
    let Noisy { from, since } = known.unwrap_or(Noisy { from: day, since: turn.now });
    let now = Noisy { from: from.min(day), since };
    if known != Some(now) {
        NOISY.put(turn, &(), &now)?;
    }
    let after =
        |time: Timestamp, intervals: i64| time.plus(intervals * i64::from(turn.settings.publish_interval) * SECOND);
    let due = after(turn.now, INTERVALS).min(after(since, MOST_INTERVALS));
    turn.schedule(TIMER, due, &JudgeFailing { after: None })
}

/// Queues the targets that failed on the changed days or since, to be judged again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JudgeFailing {
    /// The last target that was checked.
    after: Option<String>,
}

impl Operation for JudgeFailing {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "judge_failing";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(Noisy { from, .. }) = NOISY.get(turn, &())? else { return Ok(()) };
        let block = block_of(from);
        // If nothing fails, more successes change no share of failures.
        let days = FAILED.between(&(block.saturating_mul(BLOCK_DAYS),), &(u32::MAX,));
        if FAILED.first(turn, &days)?.is_none() {
            NOISY.delete(turn, &());
            return Ok(());
        }
        let range = match self.after {
            Some(after) => TARGETS.after(TARGETS.range(), &(after,)),
            None => TARGETS.range(),
        };
        let rows = TARGETS.scan(turn, &range, Direction::Ascending, AT_ONCE)?;
        let last = rows.last().filter(|_| rows.len() == AT_ONCE).map(|((target,), _)| target.clone());
        for ((target,), row) in rows {
            if row.last_day >= from && changes::failed_since(&turn.view(), &target, block)? {
                // The usual share of a network is that of the whole block of days.
                let first = block.saturating_mul(BLOCK_DAYS);
                days::queue(turn, &target, first)?;
                changes::failed_anew(turn, &target, (first, row.last_day))?;
            }
        }
        refresh::soon(turn)?;
        match last {
            Some(after) => {
                let now = turn.now;
                turn.schedule(TIMER, now, &JudgeFailing { after: Some(after) })
            }
            None => {
                NOISY.delete(turn, &());
                Ok(())
            }
        }
    }
}
