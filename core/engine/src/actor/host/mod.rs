//! Runs calls against a key space. Pure: a runtime reads rows, applies the batch of the outcome atomically, then does
//! what the outcome names (move messages, wake streams, store a document).

use super::registry;
use super::{ActorId, Call, Delivery, Kind, Receipt, Turn, View, outbox, rows, schema, timers};
use crate::documents::{self, Document};
use crate::kv::{Batch, Read};
use crate::program::Program;
use crate::settings::Settings;
use crate::{Error, Result, Timestamp};

/// Most rows one operation may change (decision bounded-commits).
pub const MAX_ROWS: usize = 1_000;

/// The same for the ledger, whose batches pay up to 1,000 wallets at once.
pub const MAX_LEDGER_ROWS: usize = 4_000;

/// Rows of the machinery itself, on top of [`MAX_ROWS`].
const MACHINERY_ROWS: usize = 64;

/// Most pieces of due work a runtime takes up at once (decision timers-and-alarms).
pub const MAX_WORK: usize = 500;

/// Tables below this number belong to the machinery; see the table numbers in `outbox`, `timers`, `documents`.
const MACHINERY_TABLES: std::ops::Range<u8> = 2..12;

/// Where an operation runs.
pub struct Space<'a> {
    pub program: &'static Program,
    pub actor: &'a ActorId,
    pub rows: &'a dyn Read,
    pub now: Timestamp,
    pub seed: [u8; 32],
    pub settings: &'a Settings,
}

/// When an actor has work of its own next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// As before this outcome.
    Unchanged,
    At(Timestamp),
    Never,
}

/// What a run came to. When `reply` is an error the batch is empty, unless the error itself had to be recorded.
#[derive(Debug)]
pub struct Finished<T = Vec<u8>> {
    pub reply: Result<T>,
    pub batch: Batch,
    /// Streams on this actor should look for more, once the batch is durable.
    pub wake: bool,
    /// Requests to others to make once the batch is durable, by [`crate::runtime::reach_out`]; see
    /// [`Turn::reach_out`].
    pub outgoing: Vec<String>,
    pub due: Due,
}

impl<T> Finished<T> {
    fn nothing(reply: Result<T>) -> Self {
        Finished { reply, batch: Batch::default(), wake: false, outgoing: Vec::new(), due: Due::Unchanged }
    }

    /// The same with another reply.
    fn with<U>(self, reply: Result<U>) -> Finished<U> {
        Finished { reply, batch: self.batch, wake: self.wake, outgoing: self.outgoing, due: self.due }
    }

    fn unchanged(reply: T) -> Self {
        Finished::nothing(Ok(reply))
    }

    fn failed(error: Error) -> Self {
        Finished::nothing(Err(error))
    }
}

/// A piece of due work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Run [`fire`] with this key.
    Timer(String),
    /// Carry to its target, then [`settle`] the receipt here.
    Deliver(Delivery),
    /// Run [`publish`] for this document and store the result.
    Publish(String),
}

/// Runs an operation.
pub fn perform(space: &Space<'_>, call: &Call) -> Finished {
    // What moves a deployment takes rows as they are, of whatever version.
    let mode = match rows::moves(&call.name) {
        true => Mode::Moving,
        false if rows::may_begin(call) => Mode::Beginning,
        false => Mode::Usual,
    };
    run_as(space, mode, |turn| dispatch(call, turn))
}

/// Runs a query; nothing changes.
pub fn answer(view: &View<'_>, call: &Call) -> Result<Vec<u8>> {
    let answer = |view: &View<'_>| registry::ask(call.actor.kind, &call.name, &call.arguments, view);
    if rows::moves(&call.name) { answer(view) } else { schema::shown(view, answer) }
}

/// The reply to a query when it is kept and still the right one, for a runtime whose view remembers. Computes nothing.
pub fn remembered(view: &View<'_>, call: &Call) -> Option<Vec<u8>> {
    let entry = view.program.operations().find(call.actor.kind, &call.name)?;
    entry.kept.and_then(|kept| kept(view, call))
}

/// Applies a message from another actor, once.
pub fn receive(space: &Space<'_>, delivery: &Delivery) -> Finished<Receipt> {
    match outbox::is_applied(&space.rows, delivery) {
        Ok(false) => {}
        Ok(true) => return Finished::unchanged(Receipt::Applied),
        Err(error) => return Finished::unchanged(Receipt::Retry(error)),
    }
    let outcome = run(space, |turn| {
        dispatch(&delivery.call, turn)?;
        outbox::mark_applied(turn, delivery)
    });
    match outcome.reply {
        Ok(()) => outcome.with(Ok(Receipt::Applied)),
        Err(error) if outbox::is_temporary(&error) => Finished::unchanged(Receipt::Retry(error)),
        Err(error) => {
            let recorded = run(space, |turn| outbox::mark_applied(turn, delivery));
            let receipt = match &recorded.reply {
                Ok(()) => Receipt::Rejected(error),
                Err(fault) => Receipt::Retry(fault.clone()),
            };
            recorded.with(Ok(receipt))
        }
    }
}

/// Records at the source what became of a message.
pub fn settle(space: &Space<'_>, target: &ActorId, sequence: u64, receipt: &Receipt) -> Finished<()> {
    run(space, |turn| {
        let follow = outbox::settle(turn, target, sequence, receipt)?;
        match follow {
            // A failing follow-up must not keep the refused message alive for ever.
            Some(call) => nested(turn, &call).or(Ok(())),
            None => Ok(()),
        }
    })
}

/// What this actor has to do at `now`, at most [`MAX_WORK`] pieces.
pub fn due_work(actor: &ActorId, rows: &dyn Read, now: Timestamp) -> Result<Vec<Work>> {
    let mut work: Vec<Work> = timers::due_keys(rows, now, MAX_WORK)?.into_iter().map(Work::Timer).collect();
    work.extend(outbox::due(rows, actor, now, MAX_WORK)?.into_iter().map(Work::Deliver));
    work.extend(documents::due(rows, now, MAX_WORK)?.into_iter().map(Work::Publish));
    work.truncate(MAX_WORK);
    Ok(work)
}

/// Runs the operation of a due timer. A failure puts the timer back, later.
pub fn fire(space: &Space<'_>, key: &str) -> Finished<()> {
    let mut failed = None;
    let outcome = run(space, |turn| match timers::take(turn, key)? {
        Some(timer) => dispatch(&timer.call, turn).map(|_| ()).inspect_err(|error| {
            failed = Some((timer, error.clone()));
        }),
        None => Ok(()),
    });
    match failed {
        Some((timer, error)) => {
            let postponed = run(space, |turn| timers::postpone(turn, key, timer));
            postponed.with(Err(error))
        }
        None => outcome,
    }
}

/// Renders a dirty document. `None` when it is no longer dirty.
pub fn publish(space: &Space<'_>, document: &str) -> Finished<Option<Document>> {
    run(space, |turn| documents::publish(turn, document))
}

/// When the actor has work next; for a runtime that starts.
pub fn next_due(rows: &(impl Read + ?Sized)) -> Result<Option<Timestamp>> {
    let all = [timers::earliest(rows)?, outbox::earliest(rows)?, documents::earliest(rows)?];
    Ok(all.into_iter().flatten().min())
}

fn dispatch(call: &Call, turn: &mut Turn<'_>) -> Result<Vec<u8>> {
    registry::operate(call.actor.kind, &call.name, &call.arguments, turn)
}

/// Runs a follow-up in the same turn.
fn nested(turn: &mut Turn<'_>, call: &Call) -> Result<()> {
    dispatch(call, turn).map(|_| ())
}

/// What a run may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Usual,
    /// Also while the deployment is closed for changes.
    Beginning,
    /// The same, and rows stay of the version that they are of.
    Moving,
}

fn run<T>(space: &Space<'_>, body: impl FnOnce(&mut Turn<'_>) -> Result<T>) -> Finished<T> {
    run_as(space, Mode::Usual, body)
}

fn run_as<T>(space: &Space<'_>, mode: Mode, body: impl FnOnce(&mut Turn<'_>) -> Result<T>) -> Finished<T> {
    let mut turn = Turn::new(space.program, space.actor, space.rows, space.now, space.seed, space.settings);
    let ran = match mode {
        Mode::Moving => body(&mut turn),
        _ => schema::begin(&mut turn).and_then(|found| {
            let value = body(&mut turn)?;
            schema::end(&mut turn, found)?;
            Ok(value)
        }),
    };
    let value = match ran {
        Ok(value) => value,
        Err(error) => return Finished::failed(error),
    };
    if mode == Mode::Usual && space.settings.closed && turn.changes() > 0 {
        return Finished::failed(rows::closed());
    }
    if let Err(error) = turn.revise() {
        return Finished::failed(error);
    }
    let due = match due_after(&turn) {
        Ok(due) => due,
        Err(error) => return Finished::failed(error),
    };
    let (batch, wake, outgoing) = turn.finish();
    let most = if space.actor.kind == Kind::Ledger { MAX_LEDGER_ROWS } else { MAX_ROWS };
    if batch.len() > most + MACHINERY_ROWS {
        return Finished::failed(Error::internal(format!("an operation changed {} rows", batch.len())));
    }
    Finished { reply: Ok(value), batch, wake, outgoing, due }
}

fn due_after(turn: &Turn<'_>) -> Result<Due> {
    if !turn.touched(|table| MACHINERY_TABLES.contains(&table)) {
        return Ok(Due::Unchanged);
    }
    Ok(next_due(turn)?.map_or(Due::Never, Due::At))
}

/// A small actor behaviour for tests of runtimes: a counter that can be told to fail, forward and repeat.
#[cfg(any(test, feature = "conformance"))]
pub mod counter;

#[cfg(test)]
mod tests;
