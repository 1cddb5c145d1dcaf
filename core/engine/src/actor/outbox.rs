//! The durable outbox: messages between actors (decision outbox-order).
//!
//! Messages of one (source, target) pair are first in, first out, numbered from 1. The receiver keeps the last number
//! it applied per source and so applies each message once however often it arrives. A target that fails is tried again
//! after 1 s, doubling to 1 h with jitter, and holds up no other target; after 7 days its messages are parked.

use serde::{Deserialize, Serialize};

use super::{ActorId, Call, Operation, Turn, View};
use crate::kv::{Direction, Read, Row, Table, Write};
use crate::time::{DAY, HOUR, SECOND};
use crate::{Error, ErrorCode, Result, Timestamp};

/// Age at which an undeliverable message is parked.
pub const GIVE_UP: i64 = 7 * DAY;

/// Idleness after which a receiver forgets a source: no message that it applied can still be on its way then, and the
/// last attempt may come as long after [`GIVE_UP`] as two attempts are apart.
const FORGET: i64 = GIVE_UP + 2 * HOUR;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Message {
    call: Call,
    on_rejected: Option<Call>,
    sent: Timestamp,
}
impl Row for Message {}

/// State of one target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Lane {
    /// Number of the last message put in.
    last: u64,
    attempts: u32,
    /// When to try next; `None` when nothing waits.
    due: Option<Timestamp>,
}
impl Row for Lane {}

/// Number and time of the last message from a source that was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LastReceived {
    last: u64,
    at: Timestamp,
}
impl Row for LastReceived {}

const MESSAGES: Table<(String, u64), Message> = Table::new(2);
const LANES: Table<(String,), Lane> = Table::new(3);
const BY_DUE: Table<(Timestamp, String), ()> = Table::new(4);
const SEEN: Table<(String,), LastReceived> = Table::new(5);
const PARKED: Table<(String, u64), Message> = Table::new(11);

/// A message ready to be carried to its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub source: ActorId,
    /// Number of the message within (source, target).
    pub sequence: u64,
    pub call: Call,
}

/// What the receiver says of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Receipt {
    /// Applied now or earlier.
    Applied,
    /// Refused for good.
    Rejected(Error),
    /// Try again later.
    Retry(Error),
}

/// Counts for the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxSummary {
    pub waiting: u64,
    pub parked: u64,
    pub oldest: Option<Timestamp>,
}

pub fn summary(view: &View<'_>) -> Result<OutboxSummary> {
    let mut found = OutboxSummary::default();
    MESSAGES.visit(view, MESSAGES.range(), Direction::Ascending, |_, message| {
        found.waiting += 1;
        found.oldest = Some(found.oldest.map_or(message.sent, |oldest: Timestamp| oldest.min(message.sent)));
        Ok(true)
    })?;
    PARKED.visit(view, PARKED.range(), Direction::Ascending, |_, _| {
        found.parked += 1;
        Ok(true)
    })?;
    Ok(found)
}

/// Wait before the next attempt after `attempts` failures, in microseconds: 1 s doubling to 1 h, then 50-100 % of it.
pub(super) fn backoff(turn: &mut Turn<'_>, attempts: u32) -> i64 {
    let full = SECOND.checked_shl(attempts.saturating_sub(1).min(12)).unwrap_or(HOUR).min(HOUR);
    let half = full / 2;
    let draw = i64::from(u32::from_be_bytes(turn.random())) % (half + 1);
    half + draw
}

pub(super) fn enqueue(
    space: &mut (impl Write + ?Sized),
    now: Timestamp,
    call: Call,
    on_rejected: Option<Call>,
) -> Result<()> {
    let target = call.actor.to_string();
    let mut lane = LANES.get(space, &(target.clone(),))?.unwrap_or_default();
    lane.last += 1;
    let message = Message { call, on_rejected, sent: now };
    MESSAGES.put(space, &(target.clone(), lane.last), &message)?;
    if lane.due.is_none() {
        lane.due = Some(now);
        BY_DUE.put(space, &(now, target.clone()), &())?;
    }
    LANES.put(space, &(target,), &lane)?;
    Ok(())
}

/// As [`Turn::send`], for code that has the rows of a turn in hand and not the turn.
pub fn send<O: Operation>(
    space: &mut (impl Write + ?Sized),
    now: Timestamp,
    to: impl Into<String>,
    operation: &O,
) -> Result<()> {
    enqueue(space, now, Call::operation(to, operation)?, None)
}

pub(super) fn earliest(view: &(impl Read + ?Sized)) -> Result<Option<Timestamp>> {
    Ok(BY_DUE.first(view, &BY_DUE.range())?.map(|((due, _), ())| due))
}

/// The head message of every target that is due.
pub(super) fn due(
    view: &(impl Read + ?Sized),
    source: &ActorId,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Delivery>> {
    let lanes = BY_DUE.scan(view, &BY_DUE.between(&(), &(now.plus(1),)), Direction::Ascending, limit)?;
    let mut ready = Vec::with_capacity(lanes.len());
    for ((_, target), ()) in lanes {
        if let Some(((_, sequence), message)) = MESSAGES.first(view, &MESSAGES.prefix(&(target,)))? {
            ready.push(Delivery { source: source.clone(), sequence, call: message.call });
        }
    }
    Ok(ready)
}

/// Whether this delivery was applied before.
pub(super) fn is_applied(view: &impl Read, delivery: &Delivery) -> Result<bool> {
    let seen = SEEN.get(view, &(delivery.source.to_string(),))?;
    Ok(seen.is_some_and(|seen| delivery.sequence <= seen.last))
}

/// Remembers a delivery as final at the receiver, and forgets a few sources that have long been silent.
pub(super) fn mark_applied(turn: &mut Turn<'_>, delivery: &Delivery) -> Result<()> {
    let seen = LastReceived { last: delivery.sequence, at: turn.now };
    SEEN.put(turn, &(delivery.source.to_string(),), &seen)?;
    // Looking at every 64th delivery keeps the cost per message constant and the table bounded by its live sources.
    if turn.random::<1>()[0] < 4 {
        let cut = turn.now.plus(-FORGET);
        for ((source,), seen) in SEEN.scan(turn, &SEEN.range(), Direction::Ascending, 64)? {
            if seen.at < cut {
                SEEN.delete(turn, &(source,));
            }
        }
    }
    Ok(())
}

/// Whether a failure of the receiver's operation may pass by itself.
pub(super) fn is_temporary(error: &Error) -> bool {
    use ErrorCode::{Damaged, Internal, MailboxFull, RateLimited, Unavailable};
    matches!(error.code, Internal | Unavailable | Damaged | MailboxFull | RateLimited)
}

/// Records at the source what became of the head message of a target. Returns the operation to run here when the
/// message was refused for good.
pub(super) fn settle(turn: &mut Turn<'_>, target: &ActorId, sequence: u64, receipt: &Receipt) -> Result<Option<Call>> {
    let target = target.to_string();
    let Some(message) = MESSAGES.get(turn, &(target.clone(), sequence))? else { return Ok(None) };
    let Some(mut lane) = LANES.get(turn, &(target.clone(),))? else { return Ok(None) };
    if let Some(due) = lane.due.take() {
        BY_DUE.delete(turn, &(due, target.clone()));
    }
    let mut follow = None;
    match receipt {
        Receipt::Retry(_) if turn.now.since(message.sent) < GIVE_UP => {
            lane.attempts = lane.attempts.saturating_add(1);
            let wait = backoff(turn, lane.attempts);
            lane.due = Some(turn.now.plus(wait));
        }
        receipt => {
            MESSAGES.delete(turn, &(target.clone(), sequence));
            lane.attempts = 0;
            let more = MESSAGES.first(turn, &MESSAGES.prefix(&(target.clone(),)))?.is_some();
            lane.due = more.then_some(turn.now);
            match receipt {
                Receipt::Applied => {}
                Receipt::Rejected(_) => follow = message.on_rejected,
                Receipt::Retry(_) => PARKED.put(turn, &(target.clone(), sequence), &message)?,
            }
        }
    }
    if let Some(due) = lane.due {
        BY_DUE.put(turn, &(due, target.clone()), &())?;
    }
    LANES.put(turn, &(target,), &lane)?;
    Ok(follow)
}
