//! The record of an attempt: it counts for or against the receiver, and decides when the next attempt is due.

use serde::{Deserialize, Serialize};

use super::queue::{BY_DUE, DELIVERIES, Delivery, HOOKS, Hook, KEPT, LOGS, Tried, go_on, put};
use super::{Id, LEASE, MAX_FAILURES, MAX_LOG, PATIENCE, SCHEDULE};
use crate::above::Subscriptions;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::Direction;

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Attempt {
    /// The receiver answered with this status.
    Status(u16),
    /// The receiver did not answer in time, or no connection was made.
    Failed,
    /// There is nothing left to deliver, or nobody to deliver it to.
    Gone,
}

/// Records an attempt, and takes up the next delivery.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    pub hook: Id,
    pub delivery: Id,
    pub began: Timestamp,
    /// Milliseconds.
    pub latency: u32,
    pub outcome: Attempt,
}

impl Operation for Record {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "webhook_record";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let (id, key) = (self.hook, (self.hook, self.delivery));
        let Some(mut hook) = HOOKS.get(turn, &(id,))?.filter(|hook| hook.disabled.is_none()) else { return Ok(()) };
        // A record that comes after its lease, while another attempt is under way, changes nothing: that attempt has
        // its own record.
        if hook.busy.is_none_or(|(delivery, until)| delivery != self.delivery || self.began.plus(LEASE) < until) {
            return Ok(());
        }
        hook.busy = None;
        let Some(mut row) = DELIVERIES.get(turn, &key)? else { return go_on(turn, id, hook) };
        BY_DUE.delete(turn, &(id, row.due, self.delivery));
        row.attempts = row.attempts.saturating_add(1);
        let next = self.judge(&mut hook, &row, turn.now);
        match next {
            Some(due) => {
                row.due = due;
                BY_DUE.put(turn, &(id, due, self.delivery), &())?;
                DELIVERIES.put(turn, &key, &row)?;
            }
            None => {
                DELIVERIES.delete(turn, &key);
                hook.waiting = hook.waiting.saturating_sub(1);
            }
        }
        if self.outcome != Attempt::Gone {
            self.log(turn, &row, next)?;
            if turn.actor().kind == Kind::Account {
                (Subscriptions::of(turn.program).tried)(turn, &self, next.is_none())?;
            }
        }
        if hook.disabled.is_some() {
            put(turn, id, &hook)?;
            let given_up = Subscriptions::of(turn.program).given_up;
            return if turn.actor().kind == Kind::Account { given_up(turn, id) } else { Ok(()) };
        }
        go_on(turn, id, hook)
    }
}

impl Record {
    /// Counts the attempt for or against the receiver. Returns when the next attempt is due; `None` when there is none.
    fn judge(&self, hook: &mut Hook, delivery: &Delivery, now: Timestamp) -> Option<Timestamp> {
        match self.outcome {
            Attempt::Gone => return None,
            Attempt::Status(200..=299) => {
                hook.failures = 0;
                hook.failing_since = None;
                return None;
            }
            Attempt::Status(_) | Attempt::Failed => {}
        }
        hook.failures = hook.failures.saturating_add(1);
        let since = *hook.failing_since.get_or_insert(self.began);
        let hopeless = hook.failures >= MAX_FAILURES && now.since(since) >= PATIENCE;
        if self.outcome == Attempt::Status(410) || hopeless {
            hook.disabled = Some(now);
            return None;
        }
        let waits = usize::try_from(delivery.attempts).ok()?.checked_sub(1)?;
        let wait = *SCHEDULE.get(waits)?;
        // Counted from when the attempt was due, so the schedule does not depend on how long attempts take. An attempt
        // so late that the next one would be due already, after an outage or in a long queue, starts from its own time.
        let due = delivery.due.plus(wait);
        Some(if due > now { due } else { self.began.plus(wait) })
    }

    /// Whether the receiver accepted it.
    pub fn is_delivered(&self) -> bool {
        matches!(self.outcome, Attempt::Status(200..=299))
    }

    /// The status that the receiver answered; `None` when it did not answer.
    pub fn status(&self) -> Option<u16> {
        match self.outcome {
            Attempt::Status(status) => Some(status),
            Attempt::Failed | Attempt::Gone => None,
        }
    }

    /// Adds the attempt to the log, and keeps the content when it was the last attempt.
    fn log(&self, turn: &mut Turn<'_>, row: &Delivery, next: Option<Timestamp>) -> Result<()> {
        let mut log = LOGS.get(turn, &(self.hook,))?.unwrap_or_default();
        if log.0.len() >= MAX_LOG {
            log.0.remove(0);
        }
        log.0.push(Tried {
            delivery: self.delivery,
            event: row.subject.event().to_owned(),
            attempt: row.attempts,
            at: self.began,
            latency: self.latency,
            status: self.status(),
            next,
        });
        if next.is_none() {
            KEPT.put(turn, &(self.hook, self.delivery), &row.subject)?;
        }
        for (key, _) in KEPT.scan(turn, &KEPT.prefix(&(self.hook,)), Direction::Ascending, MAX_LOG + 1)? {
            if !log.0.iter().any(|tried| tried.delivery == key.1) {
                KEPT.delete(turn, &key);
            }
        }
        Ok(LOGS.put(turn, &(self.hook,), &log)?)
    }
}
