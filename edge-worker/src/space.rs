//! One actor in its object: operations run synchronously on its rows, in one turn with their commit.
//!
//! Nothing is awaited from the first read of an operation until its batch, its alarm and the wake-up of its streams are
//! handed to the platform, so operations do not interleave. The platform holds answers back until the batch is durable.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use heliograph_core::app::PROGRAM;
use heliograph_core::engine::actor::host::{self, Due, Finished};
use heliograph_core::engine::actor::{ActorId, Call, Delivery, Memo, Receipt, View};
use heliograph_core::engine::kv::Batch;
use heliograph_core::{Error, Result, Timestamp};
use worker::{Env, State, js_sys};

use crate::listeners::Listeners;
use crate::sqlite::Sqlite;
use crate::work::Work;
use crate::{clock, environment, work};

/// An actor and its object.
pub struct Space {
    pub state: Rc<State>,
    pub env: Env,
    actor: ActorId,
    sqlite: Sqlite,
    /// The time for which the alarm is set, in milliseconds since the Unix epoch.
    armed: Cell<Option<i64>>,
    /// True if the alarm has been compared with the rows since this instance began.
    settled: Cell<bool>,
    pub work: Work,
    pub listeners: RefCell<Listeners>,
    memo: Memo,
}

impl Space {
    pub fn new(state: Rc<State>, env: Env, sqlite: Sqlite, actor: ActorId) -> Rc<Self> {
        Rc::new(Space {
            state,
            env,
            actor,
            sqlite,
            armed: Cell::default(),
            settled: Cell::default(),
            work: Work::default(),
            listeners: RefCell::default(),
            memo: Memo::default(),
        })
    }

    pub fn actor(&self) -> &ActorId {
        &self.actor
    }

    pub fn rows(&self) -> &Sqlite {
        &self.sqlite
    }

    /// Runs an operation and waits at most `effect_wait_ms` for the first delivery of its effects.
    pub async fn perform(self: &Rc<Self>, call: &Call) -> Result<Vec<u8>> {
        let (reply, busy) = self.step(|space| host::perform(space, call))?;
        if busy {
            work::first_attempt(self).await;
        }
        reply
    }

    pub fn answer(&self, call: &Call) -> Result<Vec<u8>> {
        let settings = environment::settings(&self.env)?;
        let view = View::new(&PROGRAM, &self.actor, &self.sqlite, clock::now(), &settings).remembering(&self.memo);
        host::answer(&view, call)
    }

    /// Applies a message from another actor. Its own effects follow in the background: waiting for them could be a
    /// deadlock, since they may need the sender, which waits for this actor.
    pub fn receive(self: &Rc<Self>, delivery: &Delivery) -> Receipt {
        match self.step(|space| host::receive(space, delivery)) {
            Ok((receipt, busy)) => {
                if busy {
                    work::start(self);
                }
                receipt.unwrap_or_else(Receipt::Retry)
            }
            Err(error) => Receipt::Retry(error),
        }
    }

    /// Runs `run` on the rows and commits its changes. The second part of the result is true if something is due at
    /// once; an outer `Err` means that nothing happened.
    pub fn step<T>(self: &Rc<Self>, run: impl FnOnce(&host::Space<'_>) -> Finished<T>) -> Result<(Result<T>, bool)> {
        let settings = environment::settings(&self.env)?;
        let now = clock::now();
        let space = host::Space {
            program: &PROGRAM,
            actor: &self.actor,
            rows: &self.sqlite,
            now,
            seed: clock::random(),
            settings: &settings,
        };
        let outcome = run(&space);
        self.commit(&outcome.batch)?;
        let busy = match outcome.due {
            Due::At(due) => {
                let closed = work::is_closed(self);
                let busy = due <= now && !closed;
                // Work that is due now is done right after this turn. If that fails, the alarm does it.
                self.arm(match (busy, closed) {
                    (true, _) => now.plus(work::STAND_IN),
                    (false, true) => due.max(now.plus(work::CLOSED)),
                    (false, false) => due,
                });
                busy
            }
            Due::Unchanged | Due::Never => false,
        };
        if outcome.wake {
            self.turn_streams();
        }
        outcome.outgoing.into_iter().for_each(|key| work::reach_out(self, key));
        Ok((outcome.reply, busy))
    }

    /// Commits a batch of changes.
    pub fn commit(&self, batch: &Batch) -> Result<()> {
        Ok(self.sqlite.apply(batch)?)
    }

    /// Sets the alarm to `due`, unless it is set to an earlier time. Nothing is awaited: the platform groups the alarm
    /// with the writes of the same turn, so both become durable together (decision timers-and-alarms).
    pub fn arm(&self, due: Timestamp) {
        // Rounded up, so that the work is really due when the alarm fires.
        let at = due.plus(999).millis();
        if self.armed.get().is_some_and(|armed| armed <= at) {
            return;
        }
        let date = js_sys::Date::new(&(at as f64).into());
        match self.state.storage().as_raw().set_alarm(date, js_sys::Object::new()) {
            Ok(_durable) => self.armed.set(Some(at)),
            Err(error) => worker::console_error!("{}: cannot set the alarm: {error:?}", self.actor),
        }
    }

    /// Sets the alarm, also to a later time, to the earliest time at which something is due.
    pub fn rearm(self: &Rc<Self>) {
        let next = match self.next_due() {
            Ok(next) => next,
            Err(error) => {
                worker::console_error!("{}: cannot read what is due: {error}", self.actor);
                Some(clock::now().plus(work::STAND_IN))
            }
        };
        // When nothing is due, an alarm that finds no work costs less than cancelling it.
        if let Some(due) = next
            && self.armed.get() != Some(due.plus(999).millis())
        {
            self.armed.set(None);
            self.arm(due);
        }
    }

    /// The next due time: of a row of the actor, of a document to store again, or of usage to write.
    pub fn next_due(&self) -> Result<Option<Timestamp>> {
        let rows = host::next_due(&self.sqlite)?;
        let documents = work::next_document(self)?;
        let usage = self.work.usage_due();
        let next = [rows, documents, usage].into_iter().flatten().min();
        // While the deployment is closed, nothing is done; the alarm checks once a minute whether it is open again.
        let closed = clock::now().plus(work::CLOSED);
        Ok(if work::is_closed(self) { next.map(|due| due.max(closed)) } else { next })
    }

    /// Notes that the alarm has fired and is no longer set.
    pub fn alarm_fired(&self) {
        self.armed.set(None);
        self.settled.set(true);
    }

    /// Compares the alarm with the rows once in the life of this instance, because the platform drops an alarm whose
    /// handler failed too often.
    pub async fn settle(self: &Rc<Self>) {
        if self.settled.replace(true) {
            return;
        }
        match self.next_due() {
            Ok(Some(due)) => {
                let alarm = self.state.storage().get_alarm().await.ok().flatten();
                if self.armed.get().is_none() {
                    self.armed.set(alarm);
                }
                self.arm(due.max(clock::now()));
            }
            Ok(None) => {}
            Err(error) => worker::console_error!("{}: cannot read what is due: {error}", self.actor),
        }
    }

    /// Reads the present rows.
    pub fn with_view<T>(&self, read: impl FnOnce(&View<'_>) -> Result<T>) -> Result<T> {
        let settings = environment::settings(&self.env).map_err(|error| Error::internal(error.to_string()))?;
        read(&View::new(&PROGRAM, &self.actor, &self.sqlite, clock::now(), &settings))
    }
}
