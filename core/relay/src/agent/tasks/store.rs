//! Tasks at their assignee, which decides them.

use serde::{Deserialize, Serialize};

use super::boxed::Boxed;
use super::{Priority, REMEMBERED, TaskHead, TaskStatus, check_move, sent, unknown_task};
use crate::agent::activity::{self, ActivityCounts};
use crate::agent::mailbox::Local;
use crate::agent::{capabilities, consent, continuity, record, trust, wire};
use crate::directory::{Did, fold};
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::actor_id;
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Desc, Direction, Read, Row, Table};
use engine::time::SECOND;

/// The tasks of an agent in numbers: all of them, or those of one requester.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Share {
    tasks: u64,
    bytes: u64,
    /// The latest `created`; kept only for all tasks together.
    last: Timestamp,
}
impl Row for Share {}

/// The creation time of a task, which gives its place in [`TASKS`].
const PLACES: Table<(Local,), Timestamp> = Table::new(60);
/// Newest first.
const TASKS: Table<(Desc<Timestamp>, Local), TaskHead> = Table::new(61);
const INPUTS: Table<(Local,), Boxed> = Table::new(62);
const OUTPUTS: Table<(Local,), Boxed> = Table::new(63);
const SHARES: Table<(Did,), Share> = Table::new(64);
const TOTAL: Table<(), Share> = Table::new(65);
/// When the timer changes a task: it fails, or it is deleted.
const DUE: Table<(Timestamp, Local), ()> = Table::new(66);

/// Most tasks at one assignee, and most bytes of them; our choice. One requester may have a tenth of each, as in a
/// mailbox (decision mailbox-pages).
const MAX_TASKS: u64 = 10_000;
const MAX_BYTES: u64 = 256 * 1024 * 1024;
const TENTH: u64 = 10;
/// Bytes that a task counts beyond its input and output, for its rows.
const OVERHEAD: u64 = 512;
/// Tasks that one run of the timer settles or deletes; each is up to a dozen rows.
const BATCH: usize = 30;
/// Key of the timer.
const SWEEP: &str = "tasks";

/// The task of this id.
fn find(view: &(impl Read + ?Sized), local: Local) -> Result<Option<TaskHead>> {
    let Some(created) = PLACES.get(view, &(local,))? else { return Ok(None) };
    Ok(TASKS.get(view, &(Desc(created), local))?)
}

/// When the timer changes the task.
fn due(head: &TaskHead) -> Option<Timestamp> {
    if head.status.is_final() { Some(head.updated.plus(REMEMBERED)) } else { head.expires }
}

/// Stores the changed task in place of `before`, and tells the requester.
fn put(turn: &mut Turn<'_>, local: Local, before: Option<&TaskHead>, head: &TaskHead) -> Result<()> {
    if let Some(due) = before.and_then(due) {
        DUE.delete(turn, &(due, local));
    }
    PLACES.put(turn, &(local,), &head.created)?;
    TASKS.put(turn, &(Desc(head.created), local), head)?;
    if let Some(due) = due(head) {
        DUE.put(turn, &(due, local), &())?;
        if turn.scheduled(SWEEP)?.is_none_or(|scheduled| scheduled > due) {
            turn.schedule(SWEEP, due, &SweepTasks)?;
        }
    }
    let ends = head.status.is_final() && before.is_none_or(|before| !before.status.is_final());
    // A cancelled task says nothing about the assignee, and neither does a task that an agent asked of itself.
    if ends && head.status != TaskStatus::Cancelled && head.from != head.to && record::active(turn)?.is_some() {
        trust::task_ended(turn, head.status == TaskStatus::Completed)?;
    }
    let (from, note) = (head.from, sent::Note { local, head: head.clone() });
    // An actor sends no effects to itself.
    if from == head.to { note.run(turn) } else { turn.send(actor_id(&from), &note) }
}

/// Adds to the numbers of tasks and bytes.
fn count(turn: &mut Turn<'_>, from: Did, tasks: i64, bytes: i64) -> Result<()> {
    let apply = |share: &mut Share| {
        share.tasks = share.tasks.saturating_add_signed(tasks);
        share.bytes = share.bytes.saturating_add_signed(bytes);
    };
    let mut total = TOTAL.get(turn, &())?.unwrap_or_default();
    apply(&mut total);
    TOTAL.put(turn, &(), &total)?;
    let mut share = SHARES.get(turn, &(from,))?.unwrap_or_default();
    apply(&mut share);
    match share.tasks {
        0 => SHARES.delete(turn, &(from,)),
        _ => SHARES.put(turn, &(from,), &share)?,
    }
    Ok(())
}

fn forget(turn: &mut Turn<'_>, local: Local, head: &TaskHead) -> Result<()> {
    PLACES.delete(turn, &(local,));
    TASKS.delete(turn, &(Desc(head.created), local));
    INPUTS.delete(turn, &(local,));
    OUTPUTS.delete(turn, &(local,));
    if let Some(due) = due(head) {
        DUE.delete(turn, &(due, local));
    }
    count(turn, head.from, -1, -i64::try_from(head.size).unwrap_or(i64::MAX))
}

/// A new task, made by the requester's side. A repeat with the same id is the same task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PutTask {
    pub local: Local,
    pub from: Did,
    pub capability: Option<String>,
    pub priority: Priority,
    /// Seconds.
    pub expires_in: Option<u32>,
    pub broadcast: Option<Local>,
    pub input: Option<Boxed>,
    /// The version of the keys that the input is for; any version when absent.
    pub expected_version: Option<u64>,
}

impl Operation for PutTask {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "put_task";
    /// The task, and whether to tell the requester of a change of keys. `None` when the assignee has other keys by now.
    type Reply = Option<(TaskHead, bool)>;

    fn run(self, turn: &mut Turn<'_>) -> Result<Self::Reply> {
        let agent = record::active(turn)?.ok_or_else(wire::unknown_agent)?;
        if let Some(head) = find(turn, self.local)? {
            if head.from != self.from {
                return Err(unknown_task());
            }
            return Ok(Some((head.at(turn.now), self.tell(turn)?)));
        }
        if !consent::admits(turn, turn.actor(), &agent, self.from, None)? {
            return Err(wire::unknown_agent());
        }
        if self.expected_version.is_some_and(|version| version != agent.keys.version) {
            return Ok(None);
        }
        let size = self.input.as_ref().map_or(0, Boxed::size) + OVERHEAD;
        let mut total = TOTAL.get(turn, &())?.unwrap_or_default();
        let share = SHARES.get(turn, &(self.from,))?.unwrap_or_default();
        let full = |share: Share, part: u64| {
            share.tasks >= MAX_TASKS / part || share.bytes.saturating_add(size) > MAX_BYTES / part
        };
        if full(total, 1) || full(share, TENTH) {
            return Err(Error::conflict("The assignee has the largest number of tasks that is allowed; retry later."));
        }
        let created = turn.now.max(total.last.plus(1));
        total.last = created;
        TOTAL.put(turn, &(), &total)?;
        count(turn, self.from, 1, i64::try_from(size).unwrap_or(i64::MAX))?;
        let head = TaskHead {
            from: self.from,
            to: record::did_of(&turn.actor().name)?,
            capability: self.capability.clone(),
            priority: self.priority,
            status: TaskStatus::Pending,
            created,
            updated: created,
            expires: self.expires_in.map(|seconds| created.plus(i64::from(seconds).saturating_mul(SECOND))),
            rating: None,
            rating_comment: None,
            broadcast: self.broadcast,
            size,
        };
        if let Some(input) = &self.input {
            INPUTS.put(turn, &(self.local,), input)?;
        }
        if let Some(capability) = &head.capability {
            capabilities::count(turn, capability, None)?;
        }
        put(turn, self.local, None, &head)?;
        activity::count(turn, &ActivityCounts { tasks_received: 1, ..ActivityCounts::default() })?;
        Ok(Some((head, self.tell(turn)?)))
    }
}

impl PutTask {
    /// Not for a task of a broadcast, whose answer nobody reads.
    fn tell(&self, turn: &mut Turn<'_>) -> Result<bool> {
        if self.broadcast.is_some() { Ok(false) } else { continuity::tell(turn, self.from, self.local) }
    }
}

/// Moves a task, rates it, or does both, in this order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Patch {
    pub local: Local,
    pub caller: Did,
    pub status: Option<TaskStatus>,
    /// Only with `completed` or `failed`.
    pub output: Option<Boxed>,
    /// 1 to 5.
    pub rating: Option<u8>,
    pub rating_comment: Option<String>,
    /// The weight of a rating: the caller's anchored weight now (decision anchored-weight).
    pub anchored: f64,
}

impl Operation for Patch {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "patch_task";
    type Reply = TaskHead;

    fn run(self, turn: &mut Turn<'_>) -> Result<TaskHead> {
        let stored = find(turn, self.local)?.ok_or_else(unknown_task)?;
        let mut head = stored.clone().at(turn.now);
        let part = head.part(&self.caller)?;
        if let Some(status) = self.status {
            check_move(head.status, status, part)?;
            head.status = status;
            if status == TaskStatus::Completed {
                activity::count(turn, &ActivityCounts { tasks_completed: 1, ..ActivityCounts::default() })?;
            }
        }
        if let Some(output) = &self.output {
            OUTPUTS.put(turn, &(self.local,), output)?;
            let bytes = output.size();
            head.size += bytes;
            count(turn, head.from, 0, i64::try_from(bytes).unwrap_or(i64::MAX))?;
        }
        if let Some(rating) = self.rating {
            if !part.requester {
                return Err(Error::new(ErrorCode::Forbidden, "Only the requester can rate a task."));
            }
            if !matches!(head.status, TaskStatus::Completed | TaskStatus::Failed) {
                return Err(Error::conflict("A task can be rated only when it is completed or failed."));
            }
            if head.rating.is_some() {
                return Err(Error::conflict("This task was rated before."));
            }
            head.rating = Some(rating);
            if head.from != head.to {
                trust::rated(turn, rating, self.anchored)?;
            }
            head.rating_comment = self.rating_comment;
            if let Some(capability) = &head.capability {
                capabilities::count(turn, capability, Some(rating))?;
            }
        }
        head.updated = turn.now;
        put(turn, self.local, Some(&stored), &head)?;
        Ok(head)
    }
}

/// Fails tasks that were not settled in time, and deletes those that were settled long ago.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SweepTasks;

impl Operation for SweepTasks {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "sweep_tasks";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let over = DUE.between(&(), &(turn.now.plus(1),));
        for ((due, local), ()) in DUE.scan(turn, &over, Direction::Ascending, BATCH)? {
            DUE.delete(turn, &(due, local));
            let Some(stored) = find(turn, local)? else { continue };
            if stored.status.is_final() {
                forget(turn, local, &stored)?;
                let (to, gone) = (actor_id(&stored.from), sent::ForgetTask { local });
                if stored.from == stored.to { gone.run(turn)? } else { turn.send(to, &gone)? }
            } else {
                let head = stored.clone().at(turn.now);
                put(turn, local, Some(&stored), &head)?;
            }
        }
        match DUE.first(turn, &DUE.range())? {
            Some(((due, _), ())) => turn.schedule(SWEEP, due.max(turn.now), &SweepTasks),
            None => Ok(()),
        }
    }
}

/// The creation time of the latest task.
pub(super) fn latest(view: &(impl Read + ?Sized)) -> Result<Timestamp> {
    Ok(TOTAL.get(view, &())?.unwrap_or_default().last)
}

/// Deletes tasks from before a time, a batch at a time; those that are not settled fail. True when there may be more.
pub(super) fn end(turn: &mut Turn<'_>, before: Timestamp) -> Result<bool> {
    let old = TASKS.prefix(&(Desc(before),)).start;
    let range = engine::kv::Range { start: old, ..TASKS.range() };
    let tasks = TASKS.scan(turn, &range, Direction::Ascending, BATCH)?;
    let more = tasks.len() == BATCH;
    for ((_, local), head) in tasks {
        let mut head = head.at(turn.now);
        if !head.status.is_final() {
            head.status = TaskStatus::Failed;
            head.updated = turn.now;
            if head.from != head.to {
                turn.send(actor_id(&head.from), &sent::Note { local, head: head.clone() })?;
            }
        }
        // The stored row, since its due time leads to the row in `DUE`, which is deleted too.
        if let Some(stored) = find(turn, local)? {
            forget(turn, local, &stored)?;
        }
    }
    Ok(more)
}

/// Reads one task with input and output, for its participants. 404 for other agents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadFullTask {
    pub local: Local,
    pub caller: Did,
}

/// A whole task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullTask {
    pub head: TaskHead,
    pub input: Option<Boxed>,
    pub output: Option<Boxed>,
}

impl Query for ReadFullTask {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "task";
    type Reply = FullTask;

    fn run(self, view: &View<'_>) -> Result<FullTask> {
        let head = find(view, self.local)?.ok_or_else(unknown_task)?.at(view.now);
        head.part(&self.caller)?;
        let input = INPUTS.get(view, &(self.local,))?;
        Ok(FullTask { head, input, output: OUTPUTS.get(view, &(self.local,))? })
    }
}

/// Reads tasks, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadTasks {
    /// True for the tasks that the agent asked of others, false for those that it was asked to do.
    pub requested: bool,
    pub status: Option<TaskStatus>,
    /// The capability; case does not count.
    pub capability: Option<String>,
    /// Only tasks created before this time.
    pub before: Option<Timestamp>,
    pub limit: u32,
}

impl Query for ReadTasks {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "tasks";
    /// May hold one more than `limit`: then there are more.
    type Reply = Vec<(Local, TaskHead)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let table = if self.requested { &sent::SENT } else { &TASKS };
        let mut range = table.range();
        if let Some(before) = self.before {
            range.start = table.prefix(&(Desc(Timestamp(before.0.saturating_sub(1))),)).start;
        }
        let capability = self.capability.as_deref().map(fold);
        let mut found = Vec::new();
        table.visit(view, range, Direction::Ascending, |(_, local), head| {
            let head = head.at(view.now);
            let same = capability.is_none() || capability == head.capability.as_deref().map(fold);
            if same && self.status.is_none_or(|status| status == head.status) {
                found.push((local, head));
            }
            Ok(found.len() <= self.limit as usize)
        })?;
        Ok(found)
    }
}
