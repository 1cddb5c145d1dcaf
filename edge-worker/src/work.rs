//! The work that an actor does by itself: timers, messages to other actors, documents to publish, usage to write.
//!
//! One task at a time works in an object. It does at most [`host::MAX_WORK`] pieces, never two for one target or one
//! document at once, and sets the alarm for the rest. A request waits until every effect of its operation was tried
//! once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use futures_channel::oneshot;
use futures_util::future::{self, Either};
use futures_util::stream::{FuturesUnordered, StreamExt};
use heliograph_core::app::PROGRAM;
use heliograph_core::engine::actor::{ActorId, Delivery, decode, host};
use heliograph_core::engine::documents::{self, Document};
use heliograph_core::engine::kv::{Batch, Direction, Range, Read};
use heliograph_core::engine::runtime::BoxFuture;
use heliograph_core::engine::time::SECOND;
use heliograph_core::relay::agent::usage;
use heliograph_core::relay::agent::usage::Usage;
use heliograph_core::{Error, Result, Timestamp, engine::runtime};

use crate::kv_documents::Documents;
use crate::runtime::EdgeRuntime;
use crate::space::Space;
use crate::{clock, environment, errand};

/// How long after its due time the alarm does work that should have been done at once, in microseconds.
pub const STAND_IN: i64 = 2 * SECOND;

/// How often the alarm of an object checks whether a closed deployment is open again, in microseconds.
pub const CLOSED: i64 = 60 * SECOND;

/// Longest time that an alarm handler waits for its work.
const ALARM_PATIENCE: Duration = Duration::from_secs(20);

/// Pieces of work in progress at a time.
const PARALLEL: usize = 24;

/// Most timers that fire in one event. Each is limited in rows, but hundreds of them could use up the 30 s of CPU that
/// an event has, and no clock runs meanwhile. The alarm comes again for the rest.
const TIMERS: usize = 40;

/// Table of documents that are committed here and may not be in KV yet. Its number is below 16, like all tables of the
/// machinery; the core's own tables end at 11.
const UNSTORED: u8 = 12;

/// Usage is written at most once a minute (decision counts-in-memory).
const USAGE_PERIOD: i64 = 60 * SECOND;

#[derive(Default)]
pub struct Work {
    running: Cell<bool>,
    /// Pieces of work in progress, by name.
    busy: RefCell<BTreeSet<String>>,
    waiters: RefCell<Vec<Waiter>>,
    /// Tells the running task that there is more work.
    poke: RefCell<Option<oneshot::Sender<()>>>,
    /// When documents that could not be stored are tried again, and how often they failed so far.
    retry: Cell<Option<(Timestamp, u32)>>,
    usage: Cell<Option<Timestamp>>,
    /// Requests to other hosts since the present event of the platform began.
    reached: Cell<u32>,
    /// Open connections to other hosts.
    open: Cell<u32>,
}

/// Connections to other hosts that the platform opens for one object at a time; further ones wait until one ends. The
/// same limit is kept here, so that an object behaves the same without the platform.
const CONNECTIONS: u32 = 6;
/// Pause between two looks of a request that waits for a connection.
const LOOK: Duration = Duration::from_millis(20);

/// One of an object's connections; free again when it is dropped.
pub struct Connection(Rc<Space>);

impl Connection {
    pub async fn open(space: &Rc<Space>) -> Connection {
        while space.work.open.get() >= CONNECTIONS {
            clock::sleep(LOOK).await;
        }
        space.work.open.set(space.work.open.get() + 1);
        Connection(space.clone())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let open = &self.0.work.open;
        open.set(open.get().saturating_sub(1));
    }
}

/// Most requests to other hosts after one event: the platform makes no more than 50 on its smallest plan. For the rest,
/// the timer of their lease asks again.
const REQUESTS_PER_EVENT: u32 = 40;

/// A caller that waits until these pieces were tried.
struct Waiter {
    pieces: BTreeSet<String>,
    done: oneshot::Sender<()>,
}

impl Work {
    /// A request or an alarm came, so its requests to other hosts are counted from 0.
    pub fn event_began(&self) {
        self.reached.set(0);
    }

    /// When the usage of this agent is due to be written.
    pub fn usage_due(&self) -> Option<Timestamp> {
        self.usage.get()
    }
}

fn name(work: &host::Work) -> String {
    match work {
        host::Work::Timer(key) => format!("timer {key}"),
        host::Work::Deliver(delivery) => format!("deliver {}", delivery.call.actor),
        host::Work::Publish(key) => format!("publish {key}"),
    }
}

/// Starts what is due now and waits until it was tried, at most `effect_wait_ms`.
pub async fn first_attempt(space: &Rc<Space>) {
    let wait = environment::settings(&space.env).map_or(0, |settings| settings.effect_wait_ms);
    attempt(space, Duration::from_millis(wait.into())).await;
}

/// Does the alarm's work. It never fails: work that could not be done stays due, and the alarm is set for it.
pub async fn alarm(space: &Rc<Space>) {
    if is_closed(space) {
        return space.rearm();
    }
    let now = clock::now();
    if space.work.usage.get().is_some_and(|due| due <= now) {
        space.work.usage.set(None);
        flush_usage(space).await;
    }
    attempt(space, ALARM_PATIENCE).await;
    space.rearm();
}

async fn attempt(space: &Rc<Space>, patience: Duration) {
    let due = due(space);
    if due.is_empty() && !documents_due(space) {
        return;
    }
    let (done, tried) = oneshot::channel();
    space.work.waiters.borrow_mut().push(Waiter { pieces: due.iter().map(name).collect(), done });
    start(space);
    // Both outcomes are fine, because the work continues in the background.
    let _ = future::select(tried, Box::pin(clock::sleep(patience))).await;
}

/// Makes sure that a task does the due work.
pub fn start(space: &Rc<Space>) {
    if let Some(poke) = space.work.poke.borrow_mut().take() {
        let _ = poke.send(());
    }
    if space.work.running.replace(true) {
        return;
    }
    let worker = space.clone();
    space.state.wait_until(async move {
        drive(&worker).await;
        worker.work.running.set(false);
        worker.work.waiters.borrow_mut().clear();
        worker.rearm();
    });
}

fn due(space: &Space) -> Vec<host::Work> {
    if is_closed(space) {
        return Vec::new();
    }
    host::due_work(space.actor(), space.rows(), clock::now()).unwrap_or_else(|error| {
        worker::console_error!("{}: cannot read what is due: {error}", space.actor());
        Vec::new()
    })
}

type Piece = BoxFuture<'static, String>;

async fn drive(space: &Rc<Space>) {
    let mut running: FuturesUnordered<Piece> = FuturesUnordered::new();
    let (mut budget, mut timers) = (host::MAX_WORK, TIMERS);
    loop {
        let (poke, poked) = oneshot::channel();
        *space.work.poke.borrow_mut() = Some(poke);
        let fired = take_up(space, &mut running, &mut budget, &mut timers);
        release_waiters(space);
        if fired && budget > 0 {
            continue;
        }
        if running.is_empty() {
            return;
        }
        if let Either::Left((Some(finished), _)) = future::select(running.next(), poked).await {
            space.work.busy.borrow_mut().remove(&finished);
        }
    }
}

/// Fires timers and starts pieces that take time. True if a timer was fired.
fn take_up(space: &Rc<Space>, running: &mut FuturesUnordered<Piece>, budget: &mut usize, timers: &mut usize) -> bool {
    let mut fired = false;
    for work in due(space) {
        let name = name(&work);
        if *budget == 0 || running.len() >= PARALLEL {
            break;
        }
        let is_timer = matches!(work, host::Work::Timer(_));
        if space.work.busy.borrow().contains(&name) || (is_timer && *timers == 0) {
            continue;
        }
        *budget -= 1;
        match work {
            host::Work::Timer(key) => {
                fired = true;
                *timers -= 1;
                fire(space, &key);
            }
            host::Work::Deliver(delivery) => begin(space, running, name, deliver(space.clone(), delivery)),
            host::Work::Publish(key) => match commit_document(space, &key) {
                Ok(Some(document)) => begin(space, running, name, store(space.clone(), document)),
                Ok(None) => {}
                Err(error) => worker::console_error!("{}: cannot publish {key}: {error}", space.actor()),
            },
        }
    }
    if documents_due(space) {
        for key in unstored(space, PARALLEL).unwrap_or_default() {
            let name = format!("publish {key}");
            if *budget > 0 && !space.work.busy.borrow().contains(&name) {
                *budget -= 1;
                begin(space, running, name, store_again(space.clone(), key));
            }
        }
    }
    fired
}

fn begin(
    space: &Space,
    running: &mut FuturesUnordered<Piece>,
    name: String,
    piece: impl Future<Output = ()> + 'static,
) {
    space.work.busy.borrow_mut().insert(name.clone());
    running.push(Box::pin(async move {
        piece.await;
        name
    }));
}

/// Releases the callers whose pieces are done or put off.
fn release_waiters(space: &Space) {
    let mut left: BTreeSet<String> = due(space).iter().map(name).collect();
    left.extend(space.work.busy.borrow().iter().cloned());
    let mut waiters = space.work.waiters.borrow_mut();
    let (waiting, ready): (Vec<_>, Vec<_>) = waiters.drain(..).partition(|waiter| !waiter.pieces.is_disjoint(&left));
    *waiters = waiting;
    for Waiter { done, .. } in ready {
        let _ = done.send(());
    }
}

fn fire(space: &Rc<Space>, key: &str) {
    let failed = match space.step(|rows| host::fire(rows, key)) {
        Ok((Ok(()), _)) => return,
        Ok((Err(error), _)) | Err(error) => error,
    };
    worker::console_error!("{}: timer {key}: {failed}", space.actor());
}

async fn deliver(space: Rc<Space>, delivery: Delivery) {
    let target: ActorId = delivery.call.actor.clone();
    let receipt = match target == *space.actor() {
        true => space.receive(&delivery),
        false => errand::deliver(&space.env, &delivery).await,
    };
    let settled = space.step(|rows| host::settle(rows, &target, delivery.sequence, &receipt));
    if let Err(error) | Ok((Err(error), _)) = settled {
        worker::console_error!("{}: cannot settle a message to {target}: {error}", space.actor());
    }
}

/// The key of the row that remembers a document until it is in KV.
fn marker(key: &str) -> Vec<u8> {
    [&[UNSTORED], key.as_bytes()].concat()
}

/// Renders a changed document and commits that it was published, with the note that KV does not have it yet.
fn commit_document(space: &Rc<Space>, key: &str) -> Result<Option<Document>> {
    let (document, _) = space.step(|rows| {
        let mut outcome = host::publish(rows, key);
        if let Ok(Some(_)) = &outcome.reply {
            outcome.batch.put(marker(key), Vec::new());
        }
        outcome
    })?;
    document
}

async fn store(space: Rc<Space>, document: Document) {
    let stored = match Documents::new(&space.env) {
        Ok(documents) => documents.put(&document).await,
        Err(error) => Err(error),
    };
    let noted = stored.and_then(|()| {
        let mut batch = Batch::default();
        batch.delete(marker(&document.key));
        space.commit(&batch)
    });
    match noted {
        Ok(()) => space.work.retry.set(None),
        Err(error) => {
            worker::console_error!("{}: cannot store document {}: {error}", space.actor(), document.key);
            let failures = space.work.retry.get().map_or(0, |(_, failures)| failures) + 1;
            let wait = SECOND << failures.min(9);
            space.work.retry.set(Some((clock::now().plus(wait), failures)));
            space.arm(clock::now().plus(wait));
        }
    }
}

async fn store_again(space: Rc<Space>, key: String) {
    let rendered =
        documents::render_call(&PROGRAM, &key).and_then(|call| space.answer(&call)).and_then(|bytes| decode(&bytes));
    match rendered {
        Ok(document) => store(space, document).await,
        Err(error) => {
            worker::console_error!("{}: cannot render document {key}: {error}", space.actor());
            space.work.retry.set(Some((clock::now().plus(600 * SECOND), 9)));
        }
    }
}

/// Documents that KV may not have, including those in progress.
fn unstored(space: &Space, limit: usize) -> Result<Vec<String>> {
    let rows = space.rows().scan(&Range::prefix(&[UNSTORED]), Direction::Ascending, limit)?;
    let key = |(key, _): (Vec<u8>, _)| key.get(1..).and_then(|key| String::from_utf8(key.to_vec()).ok());
    Ok(rows.into_iter().filter_map(key).collect())
}

/// True if the deployment is closed for changes: due work waits until it is open again.
pub fn is_closed(space: &Space) -> bool {
    environment::settings(&space.env).is_ok_and(|settings| settings.closed)
}

fn documents_due(space: &Space) -> bool {
    !is_closed(space) && matches!(next_document(space), Ok(Some(due)) if due <= clock::now())
}

/// When a document that KV may not have is due to be stored again.
pub fn next_document(space: &Space) -> Result<Option<Timestamp>> {
    let busy = space.work.busy.borrow();
    let idle = unstored(space, PARALLEL)?.into_iter().any(|key| !busy.contains(&format!("publish {key}")));
    Ok(idle.then(|| space.work.retry.get().map_or(clock::now(), |(at, _)| at)))
}

/// Makes a request of this actor in the background. If anything fails, the actor's own timer asks again.
pub fn reach_out(space: &Rc<Space>, key: String) {
    let reached = space.work.reached.get();
    if reached >= REQUESTS_PER_EVENT {
        return;
    }
    space.work.reached.set(reached + 1);
    let home = space.clone();
    space.state.wait_until(async move {
        let made = match runtime::asks_a_stranger(&PROGRAM, &key) {
            true => errand::reach(&home.env, home.actor(), &key).await,
            false => reach_out_here(&home, &key).await,
        };
        if let Err(error) = made {
            worker::console_error!("{}: a delivery is tried again later: {error}", home.actor());
        }
    });
}

async fn reach_out_here(home: &Rc<Space>, key: &str) -> Result<()> {
    let environment = environment::started(&home.env).await?;
    let runtime = EdgeRuntime::shared(home.env.clone(), environment, Some(home.clone()));
    runtime::reach_out(runtime, home.actor(), key).await
}

/// Notes that this agent was active; the usage is written within a minute.
pub fn usage_changed(space: &Space) {
    if space.work.usage.get().is_some() {
        return;
    }
    if environment::present().is_some_and(|environment| Usage::of(&environment).is_pending(&space.actor().name)) {
        let due = clock::now().plus(USAGE_PERIOD);
        space.work.usage.set(Some(due));
        space.arm(due);
    }
}

thread_local! {
    /// When this isolate last wrote the usage of all its agents.
    static FLUSHED: Cell<Timestamp> = const { Cell::new(Timestamp(0)) };
}

async fn flush_usage(space: &Rc<Space>) {
    let Some(environment) = environment::present() else { return };
    let now = clock::now();
    if now.since(FLUSHED.get()) < USAGE_PERIOD {
        usage_changed(space);
        return;
    }
    FLUSHED.set(now);
    let runtime = EdgeRuntime::shared(space.env.clone(), environment, Some(space.clone()));
    if let Err(error) = usage::flush(&*runtime).await {
        worker::console_error!("{}: cannot write usage: {error}", space.actor());
        usage_changed(space);
    }
}

/// Writes the usage that this isolate has counted.
pub async fn flush_isolate(env: &worker::Env) -> Result<()> {
    let Some(environment) = environment::present() else { return Ok(()) };
    FLUSHED.set(clock::now());
    let runtime = EdgeRuntime::shared(env.clone(), environment, None);
    usage::flush(&*runtime).await.map_err(|error: Error| error)
}
