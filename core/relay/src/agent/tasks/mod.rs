//! Tasks: work that one agent asks of another (decisions one-deciding-operation and task-moves).
//!
//! | Module | What |
//! |---|---|
//! | [`store`] | tasks at their assignee, which decides them; timers |
//! | [`sent`] | the requester's rows about its tasks, which follow by effects |
//! | [`boxed`] | input and output: boxes, made and opened here when the service holds the keys |
//! | [`routes`] | the endpoints |
//!
//! The id of a task leads to its assignee (decision ids-lead-to-actors). The requester's side makes the local part, so
//! a task that is delivered twice is one task.

pub mod boxed;
pub mod routes;
pub mod sent;
pub mod store;

use serde::{Deserialize, Serialize};

use super::mailbox::Local;
use super::record;
use crate::directory::Did;
use crate::{Error, Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Turn, operation, query};
use engine::kv::Row;
use engine::time::DAY;

pub const ENTRIES: &[Entry] = &[
    operation::<store::PutTask>(),
    operation::<store::Patch>(),
    operation::<store::SweepTasks>(),
    operation::<EndTasks>(),
    query::<store::ReadFullTask>(),
    query::<store::ReadTasks>(),
    operation::<sent::Note>(),
    operation::<sent::ForgetTask>(),
];

/// How long a settled task is kept, in microseconds; our choice.
pub const REMEMBERED: i64 = 30 * DAY;

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskStatus {
    Pending,
    Accepted,
    InProgress,
    Completed,
    Failed,
    Cancelled,
}

impl TaskStatus {
    const ALL: [TaskStatus; 6] = [
        TaskStatus::Pending,
        TaskStatus::Accepted,
        TaskStatus::InProgress,
        TaskStatus::Completed,
        TaskStatus::Failed,
        TaskStatus::Cancelled,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            TaskStatus::Pending => "pending",
            TaskStatus::Accepted => "accepted",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Completed => "completed",
            TaskStatus::Failed => "failed",
            TaskStatus::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Result<TaskStatus> {
        let found = TaskStatus::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| {
            Error::bad_request("`status` must be pending, accepted, in_progress, completed, failed or cancelled.")
        })
    }

    /// Whether no other state follows.
    pub const fn is_final(self) -> bool {
        matches!(self, TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled)
    }

    /// Whether a task may move from this state to `next` (decision task-moves).
    const fn leads_to(self, next: TaskStatus) -> bool {
        use TaskStatus::{Accepted, Cancelled, Completed, Failed, InProgress, Pending};
        matches!(
            (self, next),
            (Pending, Accepted | Completed | Failed | Cancelled)
                | (Accepted, InProgress | Completed | Failed | Cancelled)
                | (InProgress, Completed | Failed | Cancelled)
        )
    }
}

/// How much the task matters to the requester. The service does nothing with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Priority {
    Low,
    Normal,
    High,
    Urgent,
}

impl Priority {
    pub const fn as_str(self) -> &'static str {
        match self {
            Priority::Low => "low",
            Priority::Normal => "normal",
            Priority::High => "high",
            Priority::Urgent => "urgent",
        }
    }

    /// Parses a priority. `medium` is one client's word for `normal`.
    pub fn parse(text: Option<&str>) -> Result<Priority> {
        match text {
            None | Some("normal" | "medium") => Ok(Priority::Normal),
            Some("low") => Ok(Priority::Low),
            Some("high") => Ok(Priority::High),
            Some("urgent") => Ok(Priority::Urgent),
            Some(_) => Err(Error::bad_request("`priority` must be low, normal, high or urgent.")),
        }
    }
}

/// A task without its input and output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskHead {
    /// The requester.
    pub from: Did,
    /// The assignee.
    pub to: Did,
    pub capability: Option<String>,
    pub priority: Priority,
    pub status: TaskStatus,
    /// When it was created; distinct and increasing at one assignee.
    pub created: Timestamp,
    pub updated: Timestamp,
    pub expires: Option<Timestamp>,
    /// 1 to 5.
    pub rating: Option<u8>,
    pub rating_comment: Option<String>,
    /// The requester's broadcast that the task is part of.
    pub broadcast: Option<Local>,
    /// Bytes that count against the room at the assignee.
    pub size: u64,
}
impl Row for TaskHead {}

impl TaskHead {
    /// The task at time `now`: a task that was not settled in time has failed, even before the timer has run.
    pub fn at(mut self, now: Timestamp) -> TaskHead {
        if let Some(end) = self.expires.filter(|end| *end <= now && !self.status.is_final()) {
            self.status = TaskStatus::Failed;
            self.updated = end;
        }
        self
    }

    /// The part that `caller` has in this task; 404 for a stranger (decision foreign-is-404).
    fn part(&self, caller: &Did) -> Result<TaskRoles> {
        let part = TaskRoles { requester: self.from == *caller, assignee: self.to == *caller };
        if part.requester || part.assignee { Ok(part) } else { Err(unknown_task()) }
    }
}

/// The part of a participant. One agent may be both requester and assignee.
#[derive(Debug, Clone, Copy)]
struct TaskRoles {
    requester: bool,
    assignee: bool,
}

/// Whether this participant may make this move: 403 for the wrong participant, 409 for a move that does not exist
/// (decisions foreign-is-404 and task-moves).
fn check_move(from: TaskStatus, to: TaskStatus, part: TaskRoles) -> Result<()> {
    let (may, who) = match to {
        TaskStatus::Cancelled => (part.requester, "Only the requester can cancel a task."),
        _ => (part.assignee, "Only the assignee can do this to a task; the requester can cancel it."),
    };
    if !may {
        return Err(Error::new(crate::ErrorCode::Forbidden, who));
    }
    if !from.leads_to(to) {
        return Err(Error::conflict(format!("A task that is {} cannot become {}.", from.as_str(), to.as_str())));
    }
    Ok(())
}

/// The answer for a task that does not exist or belongs to other agents.
pub fn unknown_task() -> Error {
    Error::not_found("There is no such task.")
}

/// Key of the timer that goes on with the work of [`ended`].
pub(super) const ENDING: &str = "end_tasks";

/// Ends the agent's tasks and broadcasts. Called when a registration ends or gives way to another. Tasks that it was
/// asked to do fail, and everything is deleted: one batch at once, and the rest by timer.
pub(super) fn ended(turn: &mut Turn<'_>) -> Result<()> {
    // Tasks that come in a burst get stamps a little ahead of the clock.
    let before = store::latest(turn)?.max(turn.now);
    EndTasks { before }.run(turn)
}

/// One batch of the work of [`ended`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EndTasks {
    /// Rows from after this time belong to the next registration.
    pub before: Timestamp,
}

impl Operation for EndTasks {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "end_tasks";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        // Without a next registration everything is deleted.
        let before = record::active(turn)?.map_or(Timestamp(i64::MAX), |_| self.before);
        let more = [store::end(turn, before)?, sent::end(turn, before)?, super::broadcasts::end(turn, before)?]
            .contains(&true);
        if more { turn.schedule(ENDING, turn.now, &self) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    /// Decision task-moves: every pair of states by every participant, compared with the table.
    #[test]
    fn no_move_but_those_of_the_table() {
        let table: &[(&str, &[&str])] = &[
            ("pending", &["accepted", "completed", "failed", "cancelled"]),
            ("accepted", &["in_progress", "completed", "failed", "cancelled"]),
            ("in_progress", &["completed", "failed", "cancelled"]),
        ];
        let (requester, assignee) =
            (TaskRoles { requester: true, assignee: false }, TaskRoles { requester: false, assignee: true });
        for from in TaskStatus::ALL {
            let moves = table.iter().find(|(name, _)| *name == from.as_str()).map_or(&[][..], |(_, moves)| moves);
            for to in TaskStatus::ALL {
                let (mine, others) =
                    if to == TaskStatus::Cancelled { (requester, assignee) } else { (assignee, requester) };
                let code = |part| check_move(from, to, part).map_err(|error| error.code);
                assert_eq!(code(others), Err(ErrorCode::Forbidden), "{from:?} to {to:?}");
                let wanted = if moves.contains(&to.as_str()) { Ok(()) } else { Err(ErrorCode::Conflict) };
                assert_eq!(code(mine), wanted, "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn conflict_37_medium_is_normal_and_normal_is_the_default() {
        for (text, priority) in [
            (None, Some("normal")),
            (Some("medium"), Some("normal")),
            (Some("normal"), Some("normal")),
            (Some("low"), Some("low")),
            (Some("high"), Some("high")),
            (Some("urgent"), Some("urgent")),
            (Some("Urgent"), None),
            (Some(""), None),
        ] {
            assert_eq!(Priority::parse(text).ok().map(Priority::as_str), priority, "{text:?}");
        }
    }
}
