//! A whole deployment in one thread, driven by a seed. Requests interleave at every wait, messages between actors are
//! late, doubled or lost, writes fail or lose their acknowledgement, and the process can die at any moment.
//!
//! It runs the real core; only time, randomness and the network are simulated. Its rows are in memory, or where a
//! [`Storage`] keeps them: the native server runs the same scenarios on its journal and its data file.
//!
//! | Module | What |
//! |---|---|
//! | [`ledger`] | a scenario: agents pay each other |
//! | [`messages`] | a scenario: agents write to each other |

pub mod ledger;
pub mod messages;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use heliograph_core::app::PROGRAM;
use heliograph_core::crypto::Secret;
use heliograph_core::crypto::sealing::{KeyRing, MasterKey};
use heliograph_core::engine::actor::host::{self, Due, Finished, Space, Work};
use heliograph_core::engine::actor::{ActorId, Call, Delivery, Receipt, View};
use heliograph_core::engine::http::Ready;
use heliograph_core::engine::http::{Request, Response};
use heliograph_core::engine::kv::fault::WriteFault;
use heliograph_core::engine::kv::{MemoryStore, Read, Store};
use heliograph_core::engine::runtime::{BoxFuture, ByteStream, Environment, Runtime};
use heliograph_core::engine::secrets::Secrets;
use heliograph_core::engine::settings::Settings;
use heliograph_core::{Error, Result, Timestamp};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Value;

/// The id of the deployment.
pub const DEPLOYMENT: &str = "simulated";

/// A small fast generator (SplitMix64); one per simulation.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed ^ 0x5DEE_CE66_D154_21B5)
    }

    /// 64 random bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.draw() % n.max(1)
    }

    /// A random index into a list of that length.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// Puts items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.index(at + 1));
        }
    }

    /// True with a probability of `percent` percent.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.draw().to_be_bytes());
        }
        bytes
    }
}

/// The probabilities of faults, in percent.
#[derive(Debug, Clone, Copy)]
pub struct Weather {
    /// A request that waits lets others go first.
    pub interleave: u64,
    /// A message between actors is delivered late.
    pub delay: u64,
    /// A delivered message arrives again later.
    pub double: u64,
    /// A receipt is lost on the way back.
    pub lost_receipt: u64,
    /// A write fails.
    pub failed_write: u64,
}

impl Weather {
    /// Draws the weather from the seed, so that runs differ in kind and not only in detail.
    pub fn draw(dice: &mut Dice) -> Weather {
        let mut pick = |options: &[u64]| options[dice.below(options.len() as u64) as usize];
        Weather {
            interleave: pick(&[0, 30, 80]),
            delay: pick(&[0, 20, 90]),
            double: pick(&[0, 10, 40]),
            lost_receipt: pick(&[0, 5, 30]),
            failed_write: pick(&[0, 1, 5]),
        }
    }

    pub fn calm() -> Weather {
        Weather { interleave: 0, delay: 0, double: 0, lost_receipt: 0, failed_write: 0 }
    }
}

/// The rows of one actor.
pub type Rows = Box<dyn Store + Send>;

/// Where the rows of the actors lie.
pub trait Storage: Send {
    /// The rows of an actor that has none yet.
    fn begin(&self, actor: &ActorId) -> Rows;

    /// The process dies, and another one begins with what it finds.
    fn crash(&mut self, rows: BTreeMap<ActorId, Rows>) -> BTreeMap<ActorId, Rows>;
}

/// A memory that outlives the process.
pub struct Memory;

impl Storage for Memory {
    fn begin(&self, _: &ActorId) -> Rows {
        Box::new(MemoryStore::default())
    }

    fn crash(&mut self, rows: BTreeMap<ActorId, Rows>) -> BTreeMap<ActorId, Rows> {
        rows
    }
}

/// Something in transit between actors.
#[derive(Debug, Clone)]
enum Parcel {
    Delivery(Delivery),
    Receipt { source: ActorId, target: ActorId, sequence: u64, receipt: Receipt },
}

struct State {
    dice: Dice,
    weather: Weather,
    now: Timestamp,
    storage: Box<dyn Storage>,
    rows: BTreeMap<ActorId, Rows>,
    due: BTreeMap<ActorId, Timestamp>,
    parcels: Vec<Parcel>,
    documents: BTreeMap<String, Arc<Ready>>,
    woken: BTreeSet<ActorId>,
    /// Actors that are sending. A shell sends its messages once at a time; work that comes meanwhile waits.
    sending: BTreeSet<ActorId>,
}

/// The simulated deployment.
pub struct Simulation {
    state: Mutex<State>,
    environment: Environment,
}

impl Simulation {
    pub fn new(storage: Box<dyn Storage>, seed: u64, settings: &[(&str, &str)]) -> Arc<Simulation> {
        let mut dice = Dice::new(seed);
        let weather = Weather::draw(&mut dice);
        let mut chosen = Settings::default();
        chosen.first_party_services = false;
        for (name, value) in settings {
            chosen.set(name, value).unwrap();
        }
        let ring = KeyRing::new(MasterKey::new(Secret::new(dice.bytes())), Vec::new());
        let state = State {
            dice,
            weather,
            now: Timestamp::from_seconds(1_800_000_000),
            storage,
            rows: BTreeMap::new(),
            due: BTreeMap::new(),
            parcels: Vec::new(),
            documents: BTreeMap::new(),
            woken: BTreeSet::new(),
            sending: BTreeSet::new(),
        };
        Arc::new(Simulation {
            state: Mutex::new(state),
            environment: Environment::new(&PROGRAM, chosen, Secrets::new(ring, String::new()), DEPLOYMENT.to_owned()),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// A random number from the simulation's own generator.
    pub fn below(&self, n: u64) -> u64 {
        self.state().dice.below(n)
    }

    pub fn chance(&self, percent: u64) -> bool {
        self.state().dice.chance(percent)
    }

    /// Starts a request; [`Requests::step`] polls it.
    pub fn request(self: &Arc<Self>, request: Request) -> Pin<Box<dyn Future<Output = Response> + Send>> {
        Box::pin(heliograph_core::engine::http::serve(self.clone(), request))
    }

    /// Moves time on and does one thing that is due or in transit.
    pub fn turn(&self) {
        let mut state = self.state();
        let step = [1_000, 50_000, 2_000_000][state.dice.below(3) as usize];
        state.now = state.now.plus(step);
        if !state.parcels.is_empty() && state.dice.chance(60) {
            let waiting = state.parcels.len() as u64;
            let at = state.dice.below(waiting) as usize;
            let parcel = state.parcels.swap_remove(at);
            state.arrive(parcel, &self.environment.settings);
            return;
        }
        let now = state.now;
        let ready: Vec<ActorId> =
            state.due.iter().filter(|(_, due)| **due <= now).map(|(actor, _)| actor.clone()).collect();
        if !ready.is_empty() {
            let actor = ready[state.dice.below(ready.len() as u64) as usize].clone();
            state.work(&actor, &self.environment.settings);
        }
    }

    /// Does everything that is in transit or due without faults, up to `horizon` from now.
    pub fn settle(&self, horizon: Duration) {
        let settings = &self.environment.settings;
        let mut state = self.state();
        state.weather = Weather::calm();
        let end = state.now.plus_duration(horizon);
        loop {
            while let Some(parcel) = state.parcels.pop() {
                state.arrive(parcel, settings);
            }
            let next = state.due.iter().min_by_key(|(_, due)| **due).map(|(actor, due)| (actor.clone(), *due));
            match next {
                Some((actor, due)) if due <= end => {
                    state.now = state.now.max(due);
                    state.work(&actor, settings);
                }
                _ => break,
            }
        }
        state.now = end;
    }

    /// The process dies: everything that was only in memory is lost.
    pub fn crash(&self) {
        let mut state = self.state();
        state.parcels.clear();
        state.woken.clear();
        // After a restart every actor's next due time is read from its rows.
        let State { storage, rows, due, .. } = &mut *state;
        *rows = storage.crash(std::mem::take(rows));
        for (actor, rows) in rows.iter() {
            match host::next_due(&**rows).unwrap() {
                Some(at) => due.insert(actor.clone(), at),
                None => due.remove(actor),
            };
        }
    }

    /// Actors whose streams were woken since the last call.
    pub fn woken(&self) -> BTreeSet<ActorId> {
        std::mem::take(&mut self.state().woken)
    }
}

impl State {
    /// Runs a step of an actor and applies its outcome; a failed write turns the reply into an error.
    fn on<T>(
        &mut self,
        actor: &ActorId,
        settings: &Settings,
        body: impl FnOnce(&Space<'_>) -> Finished<T>,
    ) -> Result<T> {
        let seed = self.dice.bytes();
        let fault = match (self.dice.chance(self.weather.failed_write), self.dice.chance(50)) {
            (false, _) => None,
            (true, true) => Some(WriteFault::Lost),
            (true, false) => Some(WriteFault::Unacknowledged),
        };
        let rows = self.rows.entry(actor.clone()).or_insert_with(|| self.storage.begin(actor));
        let space = Space { program: &PROGRAM, actor, rows: &**rows, now: self.now, seed, settings };
        let outcome = body(&space);
        if !outcome.batch.is_empty()
            && let Err(error) = match fault {
                None => rows.apply(outcome.batch),
                Some(fault) => fault.apply(&mut **rows, outcome.batch),
            }
        {
            // As when a process reopens its file, due work is read from the rows.
            match host::next_due(&**rows)? {
                Some(at) => self.due.insert(actor.clone(), at),
                None => self.due.remove(actor),
            };
            return Err(error.into());
        }
        match outcome.due {
            Due::Unchanged => {}
            Due::At(at) => {
                self.due.insert(actor.clone(), at);
            }
            Due::Never => {
                self.due.remove(actor);
            }
        }
        if outcome.wake {
            self.woken.insert(actor.clone());
        }
        outcome.reply
    }

    /// Starts everything that is due for an actor now.
    fn dispatch(&mut self, actor: &ActorId, settings: &Settings) {
        let Some(rows) = self.rows.get(actor) else { return };
        let work = host::due_work(actor, &**rows, self.now).unwrap();
        if !self.sending.insert(actor.clone()) {
            return;
        }
        for piece in work {
            match piece {
                Work::Deliver(delivery) => {
                    if self.dice.chance(self.weather.delay) {
                        self.parcels.push(Parcel::Delivery(delivery));
                    } else {
                        self.arrive(Parcel::Delivery(delivery), settings);
                    }
                }
                Work::Publish(key) => {
                    if let Ok(Some(document)) = self.on(actor, settings, |space| host::publish(space, &key)) {
                        self.documents.insert(key, Arc::new(document.into()));
                    }
                }
                Work::Timer(_) => {}
            }
        }
        self.sending.remove(actor);
    }

    fn work(&mut self, actor: &ActorId, settings: &Settings) {
        let Some(rows) = self.rows.get(actor) else { return };
        for piece in host::due_work(actor, &**rows, self.now).unwrap() {
            if let Work::Timer(key) = piece {
                let _ = self.on(actor, settings, |space| host::fire(space, &key));
            }
        }
        self.dispatch(actor, settings);
    }

    fn arrive(&mut self, parcel: Parcel, settings: &Settings) {
        if self.dice.chance(self.weather.double) {
            self.parcels.push(parcel.clone());
        }
        match parcel {
            Parcel::Delivery(delivery) => {
                let target = delivery.call.actor.clone();
                let receipt = match self.on(&target, settings, |space| host::receive(space, &delivery)) {
                    Ok(receipt) => receipt,
                    Err(error) => Receipt::Retry(error),
                };
                self.dispatch(&target, settings);
                let back = Parcel::Receipt { source: delivery.source, target, sequence: delivery.sequence, receipt };
                if self.dice.chance(self.weather.delay) {
                    self.parcels.push(back);
                } else {
                    self.arrive(back, settings);
                }
            }
            Parcel::Receipt { source, target, sequence, receipt } => {
                if self.dice.chance(self.weather.lost_receipt) {
                    return;
                }
                let _ = self.on(&source, settings, |space| host::settle(space, &target, sequence, &receipt));
                self.dispatch(&source, settings);
            }
        }
    }
}

/// Pending for so many polls, then ready.
struct Yield(u64);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<()> {
        match self.0 {
            0 => Poll::Ready(()),
            _ => {
                self.0 -= 1;
                Poll::Pending
            }
        }
    }
}

impl Simulation {
    fn pause(&self) -> Yield {
        let mut state = self.state();
        let Weather { interleave, .. } = state.weather;
        let waits = state.dice.chance(interleave);
        Yield(if waits { 1 + state.dice.below(4) } else { 0 })
    }
}

impl Runtime for Simulation {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Vec<u8>>> {
        Box::pin(async move {
            self.pause().await;
            let reply = {
                let settings = &self.environment.settings;
                let mut state = self.state();
                let reply = state.on(&call.actor, settings, |space| host::perform(space, &call));
                state.dispatch(&call.actor, settings);
                reply
            };
            self.pause().await;
            reply
        })
    }

    fn query(&self, call: Call) -> BoxFuture<'_, Result<Vec<u8>>> {
        Box::pin(async move {
            self.pause().await;
            let state = self.state();
            let empty = MemoryStore::default();
            let rows: &dyn Read = match state.rows.get(&call.actor) {
                Some(rows) => &**rows,
                None => &empty,
            };
            host::answer(&View::new(&PROGRAM, &call.actor, rows, state.now, &self.environment.settings), &call)
        })
    }

    fn document<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Arc<Ready>>>> {
        Box::pin(async move { Ok(self.state().documents.get(key).cloned()) })
    }

    fn stream(&self, _open: heliograph_core::relay::agent::stream::OpenStream) -> BoxFuture<'_, Result<ByteStream>> {
        Box::pin(async { Err(Error::unavailable("streams are simulated through their hub")) })
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let until = self.state().now.plus_duration(duration);
            while self.state().now < until {
                Yield(1).await;
            }
        })
    }

    fn now(&self) -> Timestamp {
        self.state().now
    }

    fn random(&self) -> [u8; 32] {
        self.state().dice.bytes()
    }

    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn write_check(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

/// One request in progress.
type Task = Pin<Box<dyn Future<Output = Response> + Send>>;

/// Requests in progress, polled in a random order.
pub struct Requests<T> {
    tasks: Vec<(T, Task)>,
}

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Requests { tasks: Vec::new() }
    }
}

impl<T> Requests<T> {
    pub fn push(&mut self, tag: T, task: Task) {
        self.tasks.push((tag, task));
    }

    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Polls one request; returns its tag and answer when it is done.
    pub fn step(&mut self, simulation: &Simulation) -> Option<(T, Response)> {
        if self.tasks.is_empty() {
            return None;
        }
        let at = simulation.below(self.tasks.len() as u64) as usize;
        let mut context = Context::from_waker(Waker::noop());
        match self.tasks[at].1.as_mut().poll(&mut context) {
            Poll::Pending => None,
            Poll::Ready(response) => {
                let (tag, _) = self.tasks.swap_remove(at);
                Some((tag, response))
            }
        }
    }

    /// Drops every request, as a crash does; returns their tags, for clients that retry.
    pub fn drop_all(&mut self) -> Vec<T> {
        self.tasks.drain(..).map(|(tag, _)| tag).collect()
    }
}

/// A request of an agent, or of a caller without a key; a null body means no body.
fn request(method: Method, path: &str, key: Option<&str>, body: &Value) -> Request {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        headers.insert("x-agent-key", HeaderValue::from_str(key).unwrap());
    }
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    Request { method, path: path.to_owned(), query: query.to_owned(), headers, body: body.into(), ..Request::default() }
}

/// Runs a scenario for the seed that `HELIOGRAPH_SIM_SEED` names, or else for as many seeds as `HELIOGRAPH_SIM_SEEDS` says,
/// or `usual`. Returns what happened with each.
///
/// # Panics
/// When the scenario does, after its seed was printed.
pub fn for_seeds<H>(usual: u64, scenario: impl Fn(u64) -> H) -> Vec<H> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("HELIOGRAPH_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HELIOGRAPH_SIM_SEEDS").unwrap_or(usual),
    };
    let of = |seed| {
        catch_unwind(AssertUnwindSafe(|| scenario(seed))).unwrap_or_else(|cause| {
            eprintln!("seed {seed} fails; HELIOGRAPH_SIM_SEED={seed} replays it");
            resume_unwind(cause)
        })
    };
    seeds.map(of).collect()
}

/// The bytes of a response that is not a stream.
pub fn body(response: &Response) -> Bytes {
    match &response.body {
        heliograph_core::engine::http::Body::Bytes(bytes) => bytes.clone(),
        heliograph_core::engine::http::Body::Stream(_) => panic!("a stream has no bytes"),
    }
}
