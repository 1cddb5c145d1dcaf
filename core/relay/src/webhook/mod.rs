//! Webhooks: requests that tell a user's own server what happened.
//!
//! The queue is rows of the actor that the webhook belongs to. An operation that changes the actor also writes, in the
//! same batch, the deliveries that it causes ([`enqueue`]). So no event is lost, and the cause of an event never waits
//! for a receiver. A webhook has one delivery under way at a time. Taking it up writes a lease. Only when the lease is
//! durable, the runtime makes the request ([`attempt`]) and records its outcome ([`Record`]), which takes up the next
//! delivery. When that never happens, because a process died or a request was lost, a timer ends the lease, and the
//! delivery is made again under its id: at least once. So a slow or dead receiver delays only itself, however many
//! there are.
//!
//! A delivery is tried at once and then 2, 4, 8, 16 and 32 minutes after the attempt before it was due, the last at +62
//! minutes (decision features-dates-retries), whatever `Retry-After` says. Any status from 200 to 299 is a success.
//! Only the head of an answer is read, and no redirect is followed. A receiver that answers 410, or that failed
//! [`MAX_FAILURES`] attempts in a row over at least [`PATIENCE`], gets no more deliveries. At most [`MAX_WAITING`]
//! deliveries of a webhook wait; further events are not delivered to it.
//!
//! | Module | What |
//! |---|---|
//! | `queue` | the rows, and the operations that change them, for actors of any kind |
//! | `attempt` | the record of an attempt |
//! | `send` | one attempt: payload, signatures, the request |
//! | [`routes`] | webhooks of agents; those of keys are in `intelligence::alert` |
//!
//! Table numbers: 80 to 84, in every actor that has webhooks.

mod attempt;
mod queue;
pub mod routes;
mod send;

use std::time::Duration;

use engine::time::{DAY, MINUTE, SECOND};

pub use attempt::{Attempt, Record};
pub use queue::{
    Add, ENTRIES, Hook, Id, ReadLog, ReadWebhooks, RemoveWebhook, Replay, RotateSecret, Subject, Tried, all, deliver,
    ended, enqueue, enqueue_as, log, put, read, remove, replay, reseal, reseal_url, resume, rotate, sealed,
};
pub use routes::{DeliveryAttempt, DeliveryList, ROUTES, Replayed, RotatedSecret, attempts, short};
pub use send::permitted;
pub use send::{Job, Next, PURPOSE, SECRET, URL_PURPOSE, address, attempt, owner, post, seal_url, unsealed};

/// Waits before the attempts after the first, in microseconds, counted from when the attempt before was due.
pub const SCHEDULE: [i64; 5] = [2 * MINUTE, 4 * MINUTE, 8 * MINUTE, 16 * MINUTE, 32 * MINUTE];
/// Limit for a whole exchange with a receiver.
pub const TIMEOUT: Duration = Duration::from_secs(15);
/// How long an attempt may take from the moment it was taken up, in microseconds. It may wait for its turn
/// ([`LATEST`]), then 10 s for a place among the requests under way. Then the exchange takes up to [`TIMEOUT`], and the
/// outcome must be recorded.
pub(crate) const LEASE: i64 = MINUTE;
/// How long after it was taken up an attempt may begin, in microseconds.
pub const LATEST: i64 = 30 * SECOND;
/// Most deliveries of one webhook that wait.
pub const MAX_WAITING: u32 = 10_000;
/// Most webhooks of one actor; our choice. Each one adds a few rows for every event.
pub const MAX_WEBHOOKS: usize = 10;
/// Failed attempts in a row that switch a webhook off, if the first of them was at least [`PATIENCE`] ago.
pub const MAX_FAILURES: u32 = 20;
/// How long a receiver may fail, in microseconds.
pub const PATIENCE: i64 = DAY;
/// How long the secret before a rotation still signs too, in microseconds; our choice.
pub const OVERLAP: i64 = DAY;
/// Attempts that the log of a webhook keeps.
pub const MAX_LOG: usize = 50;
