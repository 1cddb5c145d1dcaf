//! One write transaction: operations, the delivery of their effects, due work, and the table of due times.

use std::any::Any;
use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use heliograph_core::app::PROGRAM;
use heliograph_core::engine::actor::host::{self, Due, Finished, Space, Work};
use heliograph_core::engine::actor::{ActorId, Call, Delivery, Receipt};
use heliograph_core::engine::documents::Document;
use heliograph_core::engine::kv::Read;
use heliograph_core::engine::settings::Settings;
use heliograph_core::engine::time::{MINUTE, SECOND};
use heliograph_core::{Error, Result, Timestamp, engine::actor};
use tokio::sync::oneshot;

use super::base::Base;
use super::queue::Job;
use crate::clock;
use crate::log;
use crate::store::{ChangedRows, Fault, Frozen};

/// Most deliveries that one operation may cause inside its own commit; the rest is due work of later commits.
const CASCADE: usize = 64;

/// An answer that waits for the commit.
pub(super) enum PendingReply {
    Performed { call: Call, reply: oneshot::Sender<Result<Vec<u8>>>, result: Result<Vec<u8>> },
    WriteChecked(oneshot::Sender<Result<()>>),
    Freeze(oneshot::Sender<Result<Frozen>>),
    Settled(oneshot::Sender<Result<()>>),
}

impl PendingReply {
    /// Sends an answer that is complete.
    pub(super) fn send(self) {
        match self {
            PendingReply::Performed { reply, result, .. } => drop(reply.send(result)),
            PendingReply::WriteChecked(reply) => drop(reply.send(Ok(()))),
            // Only the tree can answer these.
            PendingReply::Freeze(_) | PendingReply::Settled(_) => {}
        }
    }

    /// Whether everything so far must be in the tree before this is answered.
    pub(super) fn wants_the_tree(&self) -> bool {
        matches!(self, PendingReply::Freeze(_) | PendingReply::Settled(_))
    }

    /// Turns the answer back into its job, after a commit that failed.
    pub(super) fn into_job(self) -> Job {
        match self {
            PendingReply::Performed { call, reply, .. } => Job::Perform { call, reply },
            PendingReply::WriteChecked(reply) => Job::WriteCheck(reply),
            PendingReply::Freeze(reply) => Job::Freeze(reply),
            PendingReply::Settled(reply) => Job::Settle(reply),
        }
    }
}

/// The work that is left to do after the commit.
#[derive(Default)]
pub(super) struct AfterCommit {
    pub published: Vec<Document>,
    pub wakes: HashSet<ActorId>,
    pub outgoing: Vec<(ActorId, String)>,
    /// Full keys of changed rows, when a backup asked for them.
    pub changed: Vec<Vec<u8>>,
    pub next_due: Option<Timestamp>,
}

/// Seeds for operations, drawn from the system many at a time.
#[derive(Default)]
pub(super) struct Seeds(Vec<[u8; 32]>);

impl Seeds {
    fn next(&mut self) -> Result<[u8; 32], Fault> {
        if self.0.is_empty() {
            let mut fresh = vec![[0; 32]; 64];
            getrandom::fill(fresh.as_flattened_mut())
                .map_err(|error| Fault::Engine(format!("no randomness: {error}")))?;
            self.0 = fresh;
        }
        self.0.pop().ok_or_else(|| Fault::Engine("no randomness".into()))
    }
}

/// Actors whose due work failed and is still due.
#[derive(Default)]
pub(super) struct Penalties {
    /// Number of failures in a row, and the time before which the actor is not tried again.
    by: HashMap<ActorId, (u32, Timestamp)>,
    /// Actors whose due work is in the present transaction.
    worked: Vec<ActorId>,
}

impl Penalties {
    fn holds(&self, actor: &ActorId, now: Timestamp) -> bool {
        self.by.get(actor).is_some_and(|(_, until)| *until > now)
    }

    fn put_off(&mut self, actor: &ActorId, now: Timestamp) {
        let failures = self.by.get(actor).map_or(0, |(failures, _)| *failures).saturating_add(1);
        let wait = (SECOND << failures.min(6).saturating_sub(1)).min(MINUTE);
        self.by.insert(actor.clone(), (failures, now.plus(wait)));
        log::error!("{actor} waits {} s after {failures} failures of its due work", wait / SECOND);
    }

    pub(super) fn begin(&mut self) {
        self.worked.clear();
    }

    /// A transaction met damage: puts off the actors whose due work was in it. True if there were any.
    pub(super) fn blame(&mut self) -> bool {
        let now = clock::now();
        let worked = std::mem::take(&mut self.worked);
        worked.iter().for_each(|actor| self.put_off(actor, now));
        !worked.is_empty()
    }
}

pub(super) struct Commit<'t> {
    base: Base<'t>,
    settings: &'t Settings,
    seeds: &'t mut Seeds,
    /// The next due times of the actors that this transaction touched.
    dues: HashMap<ActorId, Option<Timestamp>>,
    done: AfterCommit,
    bytes: usize,
    written: bool,
}

impl<'t> Commit<'t> {
    pub(super) fn open(base: Base<'t>, settings: &'t Settings, seeds: &'t mut Seeds) -> Self {
        Commit { base, settings, seeds, dues: HashMap::new(), done: AfterCommit::default(), bytes: 0, written: false }
    }

    /// Bytes of rows changed so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn job(&mut self, job: Job, answers: &mut Vec<PendingReply>) -> Result<(), Fault> {
        match job {
            // If nobody waits any more, the job is still done, because nobody was told that it would not be.
            Job::Perform { call, reply } => {
                let performed = self.perform(&call);
                let fault = performed.as_ref().err().cloned();
                let result = performed.unwrap_or_else(|fault| Err(fault.into()));
                answers.push(PendingReply::Performed { call, reply, result });
                return fault.map_or(Ok(()), Err);
            }
            Job::WriteCheck(reply) => {
                answers.push(PendingReply::WriteChecked(reply));
                self.base.write_check(clock::now())?;
                self.written = true;
            }
            Job::Freeze(reply) => answers.push(PendingReply::Freeze(reply)),
            Job::Settle(reply) => answers.push(PendingReply::Settled(reply)),
        }
        Ok(())
    }

    fn perform(&mut self, call: &Call) -> Result<Result<Vec<u8>>, Fault> {
        let result = self.run(&call.actor, |space| host::perform(space, call))?;
        if result.is_ok() && self.is_due(&call.actor) {
            self.cascade(&call.actor)?;
        }
        Ok(result)
    }

    /// Runs one step of an actor and applies its batch. A panic inside becomes an internal error: the overlay with its
    /// changes is dropped, and nothing else has seen them.
    fn run<T>(&mut self, actor: &ActorId, step: impl FnOnce(&Space<'_>) -> Finished<T>) -> Result<Result<T>, Fault> {
        let seed = self.seeds.next()?;
        let outcome = self.read(actor, |rows| {
            let space = Space { program: &PROGRAM, actor, rows, now: clock::now(), seed, settings: self.settings };
            catch_unwind(AssertUnwindSafe(|| step(&space)))
        });
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(panic) => {
                let cause = format!("panic in an operation of {actor}: {}", panic_text(&*panic));
                return Ok(Err(Error::internal(cause)));
            }
        };
        if !outcome.batch.is_empty() {
            self.written = true;
            self.bytes += outcome.batch.bytes();
            self.base.change(actor, outcome.batch)?;
        }
        match outcome.due {
            Due::Unchanged => {}
            Due::At(due) => drop(self.dues.insert(actor.clone(), Some(due))),
            Due::Never => drop(self.dues.insert(actor.clone(), None)),
        }
        self.done.outgoing.extend(outcome.outgoing.into_iter().map(|key| (actor.clone(), key)));
        if outcome.wake {
            self.done.wakes.insert(actor.clone());
        }
        Ok(outcome.reply)
    }

    /// Reads the rows of an actor, including the changes of the steps so far.
    fn read<T>(&self, actor: &ActorId, body: impl FnOnce(&dyn Read) -> T) -> T {
        self.base.read(actor, body)
    }

    /// True if an actor that this transaction touched has work that is due now.
    fn is_due(&self, actor: &ActorId) -> bool {
        !self.settings.closed && matches!(self.dues.get(actor), Some(Some(due)) if *due <= clock::now())
    }

    fn work_of(&self, actor: &ActorId) -> Result<Vec<Work>> {
        self.read(actor, |rows| host::due_work(actor, rows, clock::now()))
    }

    /// Delivers the messages that an operation caused, and those that their reception causes, within this transaction.
    fn cascade(&mut self, first: &ActorId) -> Result<(), Fault> {
        let mut left = CASCADE;
        let mut sources = VecDeque::from([first.clone()]);
        while let Some(source) = sources.pop_front() {
            // A source that cannot be read is left to its due time, when the failure is counted.
            let Ok(work) = self.work_of(&source) else { continue };
            let mut progress = false;
            for work in work {
                let Work::Deliver(delivery) = work else { continue };
                if left == 0 {
                    return Ok(());
                }
                left -= 1;
                progress |= self.deliver(&delivery)?.is_ok();
                let target = delivery.call.actor;
                if self.is_due(&target) && !sources.contains(&target) {
                    sources.push_back(target);
                }
            }
            if progress && self.is_due(&source) && !sources.contains(&source) {
                sources.push_back(source);
            }
        }
        Ok(())
    }

    /// Applies a message at its target and settles it at its source.
    fn deliver(&mut self, delivery: &Delivery) -> Result<Result<()>, Fault> {
        let target = &delivery.call.actor;
        let receipt = self.run(target, |space| host::receive(space, delivery))?;
        let receipt = receipt.unwrap_or_else(Receipt::Retry);
        if let Receipt::Retry(error) = &receipt {
            log::warning!("{} to {target} is tried again later: {error}", delivery.call.name);
        }
        self.run(&delivery.source, |space| host::settle(space, target, delivery.sequence, &receipt))
    }

    /// Does the work of the actor that is due first. False when none is due.
    pub(super) fn due_work(&mut self, penalties: &mut Penalties, until: Instant) -> Result<bool, Fault> {
        if self.settings.closed {
            return Ok(false);
        }
        self.flush(penalties)?;
        let now = clock::now();
        let Some((due, name)) = self.base.earliest()? else { return Ok(false) };
        if due > now {
            return Ok(false);
        }
        let Some(actor) = ActorId::parse(&name) else {
            // The server never wrote such a name. Without this the row would be found again and again.
            self.base.remove_timer(due.0, &name)?;
            self.written = true;
            return Ok(true);
        };
        if penalties.holds(&actor, now) {
            let next = self.next_of(&actor).unwrap_or(Some(now));
            self.dues.insert(actor, next);
            return Ok(true);
        }
        penalties.worked.push(actor.clone());
        let (failure, complete) = self.work_off(&actor, until)?;
        let Some(error) = failure else {
            penalties.by.remove(&actor);
            return Ok(true);
        };
        // A timer that failed has put itself off. If the work is due again at once, its actor is put off for a while.
        let next = self.next_of(&actor).unwrap_or(Some(now));
        if complete && next.is_some_and(|next| next <= now) {
            penalties.put_off(&actor, now);
        }
        log::error!("due work of {actor} failed: {error}");
        self.dues.insert(actor, next);
        Ok(true)
    }

    fn next_of(&self, actor: &ActorId) -> Result<Option<Timestamp>> {
        self.read(actor, |rows| host::next_due(rows))
    }

    /// Does the due work of an actor until the time is up. Returns the last failure, and whether everything was tried.
    fn work_off(&mut self, actor: &ActorId, until: Instant) -> Result<(Option<Error>, bool), Fault> {
        let work = match self.work_of(actor) {
            Ok(work) => work,
            Err(error) => return Ok((Some(error), true)),
        };
        let mut failure = None;
        if work.is_empty() {
            // The table of due times was too early; correct it from the actor's rows.
            match self.next_of(actor) {
                Ok(next) => drop(self.dues.insert(actor.clone(), next)),
                Err(error) => failure = Some(error),
            }
        }
        let mut left = work.len();
        for piece in work {
            left -= 1;
            if let Err(error) = self.piece(actor, piece)? {
                failure = Some(error);
            }
            if Instant::now() >= until {
                break;
            }
        }
        Ok((failure, left == 0))
    }

    fn piece(&mut self, actor: &ActorId, piece: Work) -> Result<Result<()>, Fault> {
        match piece {
            Work::Timer(key) => {
                let fired = self.run(actor, |space| host::fire(space, &key))?;
                Ok(fired.map_err(|error| {
                    let cause = format!("timer {key}: {error}");
                    error.cause(cause)
                }))
            }
            Work::Deliver(delivery) => self.deliver(&delivery),
            Work::Publish(key) => {
                let document = match self.run(actor, |space| host::publish(space, &key))? {
                    Ok(document) => document,
                    Err(error) => return Ok(Err(error)),
                };
                let Some(document) = document else { return Ok(Ok(())) };
                let bytes = match actor::encode(&document) {
                    Ok(bytes) => bytes,
                    Err(error) => return Ok(Err(error)),
                };
                self.base.put_document(&key, bytes)?;
                self.done.published.push(document);
                Ok(Ok(()))
            }
        }
    }

    /// Writes the due times of the actors touched so far.
    fn flush(&mut self, penalties: &Penalties) -> Result<(), Fault> {
        for (actor, next) in std::mem::take(&mut self.dues) {
            let next = match penalties.by.get(&actor) {
                Some((_, until)) => next.map(|next| next.max(*until)),
                None => next,
            };
            let name = actor.to_string();
            self.written |= self.base.set_due(&name, next.map(|next| next.0))?;
        }
        Ok(())
    }

    /// Ends the steps. The second part is true if there is anything to commit; the third has the changes where they are
    /// not in a transaction.
    pub(super) fn finish(mut self, penalties: &Penalties) -> Result<(AfterCommit, bool, ChangedRows), Fault> {
        self.flush(penalties)?;
        // A closed deployment leaves due work to the next start.
        let earliest = match self.base.earliest() {
            // The due work is unknown, but that is no reason to lose the changes of clients.
            Err(Fault::Damaged(_)) => None,
            earliest => earliest?,
        };
        self.done.next_due = earliest.map(|(due, _)| due).filter(|_| !self.settings.closed);
        let (changes, keys) = self.base.finish()?;
        self.done.changed = keys;
        Ok((self.done, self.written, changes))
    }
}

/// The message of a panic.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text,
        (None, None) => "unknown",
    }
}
