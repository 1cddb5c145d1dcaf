//! The one thread that writes.
//!
//! The thread empties the queues and runs each operation on the open transaction, so that each sees the ones before it.
//! Then it commits once, durably, and answers all. Due work of the actors (timers, outbox, documents) is bulk work that
//! is found in the timers table. Nothing about it is only in memory, so a kill at any moment loses nothing.
//!
//! While clients are served, follow-up work (due work, and the outcome of deliveries) takes no longer in a commit than
//! the rest of it, and then rests for as long as it took ([`pace`]). So alerts to ten thousand receivers make the
//! commit of a client at most about twice as long.
//!
//! After a failed write or sync redb answers nothing reliably. So the thread refuses its batch, drops the database,
//! opens the file again, and resumes writing only after a write check. A commit that meets a damaged page is dropped;
//! its operations are then done one by one, and only those that need the page are refused.
//!
//! | Module | What |
//! |---|---|
//! | `base` | where a commit goes: into the tree, or into the journal |
//! | `commit` | one commit |
//! | `pace` | how much time follow-up work gets |
//! | `queue` | the three queues to the writer |
//! | `timers` | the first timers of the deployment |

mod base;
mod commit;
mod pace;
mod queue;
mod timers;

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use heliograph_core::engine::actor::{ActorId, Call, Kind, Operation};
use heliograph_core::engine::documents::Document;
use heliograph_core::engine::settings::Settings;
use heliograph_core::relay::agent::reseal::Reseal;
use heliograph_core::relay::webhook::Record;
use heliograph_core::{Error, Result, Timestamp};
use tokio::sync::oneshot;

use crate::clock;
use crate::current::Current;
use crate::log;
use crate::store::{Changed, ChangedRows, Fault, Front, Frozen, Store};
use base::Base;
use commit::{AfterCommit, Commit, Penalties, PendingReply};
use pace::Pace;
use queue::{Job, Queues, Rank};
use timers::Timers;

/// Most interactive operations in one commit.
const MAX_OPERATIONS: usize = 1_024;
/// Most bytes of changed rows by interactive operations in one commit.
const MAX_BYTES: usize = 8 << 20;
/// Longest time that operations of clients run in one commit.
const MAX_TIME: Duration = Duration::from_millis(50);
/// Longest time that bulk work and follow-up work run in one commit (decision bounded-commits).
const BULK_TIME: Duration = Duration::from_millis(5);
/// The same when nobody waits: longer commits mean fewer of them, and less time for committing.
const BULK_TIME_ALONE: Duration = Duration::from_millis(200);
/// Shortest and longest wait between attempts to open the file again, or to write again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(2);
/// Longest rest of follow-up work after it met damage.
const LAST_REST: Duration = Duration::from_secs(60);

/// Receives the writer's news for the rest of the server. Called on the writer thread, so it must be quick.
pub trait Listener: Send + Sync {
    /// These documents are durable now.
    fn published(&self, documents: Vec<Document>);
    /// Rows of this actor changed that its streams read.
    fn wake(&self, actor: &ActorId);
    /// An actor asks for a request to another host.
    fn reach_out(&self, actor: ActorId, key: String);
    /// The file was opened again: data that is kept in memory may be older than the file.
    fn reopened(&self);
}

/// The handle for calls to the writer thread.
pub struct Writer {
    queues: Arc<Queues>,
    changed: Arc<Changed>,
}

/// Stops the thread on request, after the queues are empty.
pub struct WriterThread {
    queues: Arc<Queues>,
    handle: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread. Commits go through the journal of `front` if there is one; `alone` as in
    /// [`Options`](crate::store::Options::alone).
    pub fn spawn(
        store: Arc<Store>,
        settings: Arc<Current<Settings>>,
        listener: Arc<dyn Listener>,
        (front, alone): (Option<Front>, bool),
    ) -> std::io::Result<(Writer, WriterThread)> {
        let queues = Arc::new(Queues::default());
        let changed = Arc::new(Changed::default());
        let thread = Thread {
            store,
            settings,
            listener,
            queues: queues.clone(),
            front,
            timers: Timers::default(),
            alone,
            changed: changed.clone(),
            next_due: Some(Timestamp::MIN),
            penalties: Penalties::default(),
            rests_until: None,
            rest: Duration::ZERO,
            seeds: commit::Seeds::default(),
            pace: Pace::default(),
            runtime: tokio::runtime::Handle::try_current().ok(),
            crowd: false,
        };
        let handle = std::thread::Builder::new().name("writer".into()).spawn(move || thread.run())?;
        Ok((Writer { queues: queues.clone(), changed }, WriterThread { queues, handle: Some(handle) }))
    }

    /// Runs an operation; durable when this returns.
    pub async fn call(&self, call: Call) -> Result<Vec<u8>> {
        let rank = rank(&call);
        let (reply, answer) = oneshot::channel();
        self.queues.push(Job::Perform { call, reply }, rank);
        answer.await.unwrap_or_else(|_| Err(undecided()))
    }

    /// Commits one row durably.
    pub async fn write_check(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.queues.push(Job::WriteCheck(reply), Rank::Interactive);
        answer.await.unwrap_or_else(|_| Err(undecided()))
    }

    /// A snapshot taken between two commits, with the keys changed since the last call.
    pub async fn freeze(&self) -> Result<Frozen> {
        let (reply, answer) = oneshot::channel();
        self.queues.push(Job::Freeze(reply), Rank::Interactive);
        answer.await.unwrap_or_else(|_| Err(undecided()))
    }

    /// Waits until the tree has every commit so far.
    pub async fn settle(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.queues.push(Job::Settle(reply), Rank::Interactive);
        answer.await.unwrap_or_else(|_| Err(undecided()))
    }

    /// How much work waits for a commit, by who waits for it.
    pub fn waiting(&self) -> [(&'static str, usize); 3] {
        self.queues.waiting()
    }

    pub fn changed(&self) -> &Arc<Changed> {
        &self.changed
    }
}

impl WriterThread {
    /// Finishes the queued jobs and ends the thread.
    pub fn stop(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        self.queues.close();
        if let Some(handle) = self.handle.take()
            && handle.join().is_err()
        {
            log::error!("the writer thread ended in a panic");
        }
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Rolling up measurements and re-sealing are bulk work, and the outcome of a delivery is follow-up work. Everything
/// that a person or an agent waits for is interactive.
fn rank(call: &Call) -> Rank {
    match call.actor.kind {
        Kind::Country | Kind::World | Kind::Reference => Rank::Bulk,
        Kind::Agent | Kind::Channel | Kind::Relay | Kind::Account if call.name == Reseal::NAME => Rank::Bulk,
        Kind::Agent | Kind::Account if call.name == Record::NAME => Rank::Follows,
        _ => Rank::Interactive,
    }
}

/// The writer dropped a job in a fault: the job may or may not be durable.
fn undecided() -> Error {
    Error::unavailable("the writer gave up on this operation")
}

struct Thread {
    store: Arc<Store>,
    settings: Arc<Current<Settings>>,
    listener: Arc<dyn Listener>,
    queues: Arc<Queues>,
    /// `None` where commits go straight into the tree.
    front: Option<Front>,
    /// Known only where a journal stands in front of the tree.
    timers: Timers,
    alone: bool,
    changed: Arc<Changed>,
    /// The earliest due time of any actor. Only this thread sleeps until it.
    next_due: Option<Timestamp>,
    penalties: Penalties,
    /// The end of the rest of due work that met damage, and the length of that rest.
    rests_until: Option<Instant>,
    rest: Duration,
    seeds: commit::Seeds,
    pace: Pace,
    /// The runtime that serves clients.
    runtime: Option<tokio::runtime::Handle>,
    /// True if the last commit had several operations: more are on their way.
    crowd: bool,
}

impl Thread {
    fn run(mut self) {
        loop {
            let rest = self.pace.rest(Instant::now());
            // At the end of a rest everything is looked at again, because work that came during the rest woke nobody.
            let timeout = match rest.is_zero() {
                true => self.next_due.map(|due| clock::now().until(due)),
                false => Some(rest),
            };
            let folds = self.front.as_ref().and_then(Front::rests_in);
            let timeout = [timeout, folds].into_iter().flatten().min();
            let next = self.queues.next(MAX_OPERATIONS, timeout, !rest.is_zero(), self.crowd);
            if next.finished {
                return self.front.map_or((), Front::end);
            }
            self.front.iter_mut().for_each(Front::rest);
            self.crowd = next.interactive.len() > 1;
            // A panic here is a fault of redb or of this file. Panics of operations are caught one by one.
            let turn = catch_unwind(AssertUnwindSafe(|| self.commit(next.interactive)));
            let fault = match turn {
                Ok(Ok(())) => continue,
                Ok(Err(fault)) => fault,
                Err(panic) => Fault::Engine(format!("panic: {}", commit::panic_text(&*panic))),
            };
            self.recover(&fault);
        }
    }

    /// Makes one commit. On a fault the whole batch has been refused, and the transaction is gone.
    fn commit(&mut self, mut jobs: VecDeque<Job>) -> Result<(), Fault> {
        let mut answers = Vec::with_capacity(jobs.len());
        match self.transact(&mut jobs, &mut answers, true) {
            Ok(done) => self.follow_up(done, answers, jobs),
            Err(Fault::Damaged(_)) => {
                self.blame();
                answers
                    .into_iter()
                    .map(PendingReply::into_job)
                    .chain(jobs)
                    .try_for_each(|job| self.commit_alone(job))?;
            }
            Err(fault) => return Err(self.refuse(fault, answers.into_iter().map(PendingReply::into_job).chain(jobs))),
        }
        Ok(())
    }

    /// Makes a commit of one job. The job is refused when it needs damaged data.
    fn commit_alone(&mut self, job: Job) -> Result<(), Fault> {
        let (mut jobs, mut answers) = (VecDeque::from([job]), Vec::new());
        match self.transact(&mut jobs, &mut answers, false) {
            Ok(done) => self.follow_up(done, answers, jobs),
            Err(Fault::Damaged(cause)) => {
                let error = Error::damaged(cause);
                answers.into_iter().map(PendingReply::into_job).chain(jobs).for_each(|job| job.refuse(error.clone()));
            }
            Err(fault) => return Err(self.refuse(fault, answers.into_iter().map(PendingReply::into_job).chain(jobs))),
        }
        Ok(())
    }

    fn refuse(&self, fault: Fault, jobs: impl Iterator<Item = Job>) -> Fault {
        self.store.counts().failed.add(1);
        self.tell(&fault);
        let error = self.store.condition().refusal();
        jobs.for_each(|job| job.refuse(error.clone()));
        fault
    }

    /// Notes why writes fail, and logs the reason when it is new.
    fn tell(&self, fault: &Fault) {
        if *fault == Fault::Earlier && self.store.condition().failing().is_some() {
            return;
        }
        if self.store.condition().fails(fault.public_reason()) {
            log::error!(
                "{} takes no writes: {}; the server opens it again until it does",
                self.store.path().display(),
                fault.reason()
            );
        }
    }

    /// A commit met damage, so follow-up work rests for a while, and longer each time if it was in that commit.
    /// Otherwise it would make every commit of clients fail.
    fn blame(&mut self) {
        if self.penalties.blame() || self.rests_until.is_some() {
            self.rest = (self.rest * 2).clamp(Duration::from_secs(1), LAST_REST);
        }
        let rest = self.rest.max(Duration::from_secs(1));
        self.rests_until = Some(Instant::now() + rest);
        self.next_due = Some(clock::now().plus(i64::try_from(rest.as_micros()).unwrap_or(i64::MAX)));
    }

    /// Does what is left to do when a commit is durable.
    fn follow_up(&mut self, done: AfterCommit, answers: Vec<PendingReply>, jobs: VecDeque<Job>) {
        self.next_due = done.next_due;
        self.changed.record(done.changed);
        let freezes = self.answer(answers);
        if !jobs.is_empty() {
            self.queues.put_back(jobs);
        }
        if !done.published.is_empty() {
            self.listener.published(done.published);
        }
        done.outgoing.into_iter().for_each(|(actor, key)| self.listener.reach_out(actor, key));
        done.wakes.iter().for_each(|actor| self.listener.wake(actor));
        freezes.into_iter().for_each(|pending| self.settle(pending));
    }

    /// Answers a request that wants everything so far in the tree.
    fn settle(&mut self, pending: PendingReply) {
        // What a backup will copy again is what changed up to here.
        let keys = match &pending {
            PendingReply::Freeze(_) => self.changed.take(),
            _ => BTreeSet::new(),
        };
        let store = self.store.clone();
        let answer = move |whole: bool| match pending {
            PendingReply::Freeze(reply) => drop(reply.send(store.freeze(whole, keys))),
            PendingReply::Settled(reply) => drop(reply.send(store.settled(whole))),
            _ => {}
        };
        match &mut self.front {
            None => answer(true),
            Some(front) => {
                // Whoever is not answered learns that the writer gave up. The log has the reason since the store began to
                // fail, and this is asked every few seconds.
                if let Err(fault) = front.fold(Box::new(answer))
                    && self.store.condition().failing().is_none()
                {
                    log::error!("the tree does not get what is in the journal: {}", fault.reason());
                }
            }
        }
    }

    /// Sends the answers that are complete, and returns those that want everything in the tree. Several answers are sent from
    /// inside the runtime: sent from here, each would wake a thread that serves clients, and on a busy core take turns
    /// with it.
    fn answer(&self, answers: Vec<PendingReply>) -> Vec<PendingReply> {
        let (freezes, known): (Vec<_>, Vec<_>) = answers.into_iter().partition(PendingReply::wants_the_tree);
        match &self.runtime {
            Some(runtime) if known.len() > 1 => {
                runtime.spawn(async move { known.into_iter().for_each(PendingReply::send) });
            }
            _ => known.into_iter().for_each(PendingReply::send),
        }
        freezes
    }

    /// Makes one commit; with `fill` it also does bulk and follow-up work.
    fn transact(
        &mut self,
        jobs: &mut VecDeque<Job>,
        answers: &mut Vec<PendingReply>,
        fill: bool,
    ) -> Result<AfterCommit, Fault> {
        let (started, served) = (Instant::now(), !jobs.is_empty());
        self.penalties.begin();
        let CommitResult { done, written, followed, .. } = match self.front {
            Some(_) => self.journal(jobs, answers, fill)?,
            None => self.write_tree(jobs, answers, fill)?,
        };
        if written {
            let ended = Instant::now();
            self.store.counts().commits.took(ended.duration_since(started));
            self.pace.committed(started, ended, served, followed);
        }
        self.store.counts().answered.add(answers.len() as u64);
        if followed {
            (self.rests_until, self.rest) = (None, Duration::ZERO);
        }
        Ok(done)
    }

    /// Makes a commit in the tree.
    fn write_tree(
        &mut self,
        jobs: &mut VecDeque<Job>,
        answers: &mut Vec<PendingReply>,
        fill: bool,
    ) -> Result<CommitResult, Fault> {
        let transaction = self.store.begin_write().map_err(|fault| match fault {
            // This is no page that a request needs: the engine itself cannot go on.
            Fault::Damaged(cause) => Fault::Engine(cause),
            other => other,
        })?;
        let store = self.store.clone();
        let base = Base::tree(&transaction, store.path(), self.changed.is_recording())?;
        let made = self.steps(base, jobs, answers, fill)?;
        match made.written {
            true => transaction.commit().map_err(Fault::of)?,
            false => transaction.abort().map_err(Fault::of)?,
        }
        Ok(made)
    }

    /// Makes a commit in the journal.
    fn journal(
        &mut self,
        jobs: &mut VecDeque<Job>,
        answers: &mut Vec<PendingReply>,
        fill: bool,
    ) -> Result<CommitResult, Fault> {
        let store = self.store.clone();
        let view = store.view().map_err(|_| Fault::Earlier)?;
        // After a fault they would know changes that are gone.
        let mut timers = std::mem::take(&mut self.timers);
        let base = Base::journal(view, store.path(), &mut timers, self.changed.is_recording());
        let mut made = self.steps(base, jobs, answers, fill)?;
        if let Some(front) = self.front.as_mut().filter(|_| made.written) {
            front.commit(std::mem::take(&mut made.changes))?;
        }
        self.timers = timers;
        Ok(made)
    }

    /// The steps of a commit: the operations of clients, then bulk and follow-up work.
    fn steps(
        &mut self,
        base: Base<'_>,
        jobs: &mut VecDeque<Job>,
        answers: &mut Vec<PendingReply>,
        fill: bool,
    ) -> Result<CommitResult, Fault> {
        let mut commit = Commit::open(base, self.settings.get(), &mut self.seeds);
        let started = Instant::now();
        while let Some(job) = jobs.pop_front() {
            commit.job(job, answers)?;
            if commit.bytes() > MAX_BYTES || started.elapsed() > MAX_TIME {
                break;
            }
        }
        let rests = self.rests_until.is_some_and(|until| Instant::now() < until);
        let followed = match fill {
            true => gaps(&mut commit, &self.queues, &mut self.penalties, answers, &self.pace, (self.alone, rests))?,
            false => false,
        };
        let (done, written, changes) = commit.finish(&self.penalties)?;
        Ok(CommitResult { done, written, changes, followed })
    }

    /// Opens the file again, and returns when a write has succeeded or the server stops.
    fn recover(&mut self, fault: &Fault) {
        self.tell(fault);
        let mut pause = Duration::ZERO;
        // After a fault of the journal the tree is as good as before, and one that takes no fold is opened again there.
        let of_tree = self.front.as_ref().is_none_or(Front::is_sound);
        loop {
            if of_tree {
                while let Err(error) = self.store.reopen_tree() {
                    pause = longer(pause);
                    self.tell(&Fault::System(error.reason()));
                    if self.refuse_for(pause) {
                        return;
                    }
                }
                // From here on reads are served, but writes only after the write check.
                self.listener.reopened();
            }
            if self.refuse_for(pause) {
                return;
            }
            let healed = self.front.as_mut().map_or(Ok(()), Front::heal);
            match healed.and_then(|()| self.write_check()) {
                // Writing works; the write check does not ask whether this row can be written.
                Ok(()) | Err(Fault::Damaged(_)) => break,
                Err(fault) => self.tell(&fault),
            }
            pause = longer(pause);
        }
        self.store.condition().recovers();
        self.next_due = Some(Timestamp::MIN);
        log::info!("{} takes writes again", self.store.path().display());
    }

    fn write_check(&mut self) -> Result<(), Fault> {
        let (reply, _answer) = oneshot::channel();
        self.transact(&mut VecDeque::from([Job::WriteCheck(reply)]), &mut Vec::new(), false).map(|_| ())
    }

    /// Answers 503 to all jobs for this long; true when the server stops.
    fn refuse_for(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        loop {
            for job in self.queues.drain() {
                job.refuse(self.store.condition().refusal());
            }
            if self.queues.is_closing() {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let next = self.queues.next(0, Some(left), false, false);
            debug_assert!(next.interactive.is_empty());
        }
    }
}

/// What became of a commit.
struct CommitResult {
    done: AfterCommit,
    /// Whether anything changed.
    written: bool,
    /// What changed, where that is in no transaction.
    changes: ChangedRows,
    /// Whether any follow-up work was done.
    followed: bool,
}

/// Fills a commit with bulk jobs, and with follow-up work unless that rests. True if any follow-up work was done.
fn gaps(
    commit: &mut Commit<'_>,
    queues: &Queues,
    penalties: &mut Penalties,
    answers: &mut Vec<PendingReply>,
    pace: &Pace,
    (alone, resting): (bool, bool),
) -> Result<bool, Fault> {
    let began = Instant::now();
    let until = began + if alone { BULK_TIME_ALONE } else { BULK_TIME };
    let rests = resting || !pace.rest(began).is_zero() && !queues.is_closing();
    let follow_until = if alone { until } else { began + pace.slice(began) };
    let (mut followed, mut more) = (false, true);
    while more && Instant::now() < until {
        let bulk = queues.pop_bulk();
        more = bulk.is_some();
        // Due work and jobs take turns, so that neither starves the other. For a command alone, due work waits for the
        // last job: before that, its chunks would cause the same due work again and again.
        let now = Instant::now();
        if !rests && now < follow_until && (bulk.is_none() || !alone) {
            let job = queues.pop_follows();
            let worked = commit.due_work(penalties, follow_until.min(now + BULK_TIME))?;
            (more, followed) = (more || worked || job.is_some(), followed || worked || job.is_some());
            job.map_or(Ok(()), |job| commit.job(job, answers))?;
        }
        bulk.map_or(Ok(()), |job| commit.job(job, answers))?;
    }
    Ok(followed)
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE)
}
