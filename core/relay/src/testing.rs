//! A whole deployment in memory: the [`Runtime`] of tests.
//!
//! Nothing here waits. Effects are delivered before a call is answered. Only sleeping and [`TestRuntime::advance`] move
//! the clock, and they run everything that falls due on the way. Time begins at a fixed instant and randomness at a
//! fixed seed, so every run is the same.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::Stream;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::agent::stream::{Emission, Hub, OpenStream, StreamId};
use crate::{Error, Result, Timestamp};
use crypto::Secret;
use crypto::sealing::{KeyRing, MasterKey};
use engine::actor::host::{self, Finished, Space, Work};
use engine::actor::{ActorId, Call, Delivery, Kind, Memo, View};
use engine::deployment;
use engine::http::Ready;
use engine::kv::{Batch, MemoryStore, Store};
use engine::program::Program;
use engine::runtime::{self, Archive, BoxFuture, ByteStream, Environment, Runtime, SharedAnswers};
use engine::secrets::Secrets;
use engine::settings::Settings;
use engine::testing::START;
use engine::web::Incoming;
use engine::web::Outgoing;

/// The relay and what is below it.
pub static PROGRAM: Program = Program::new(&[&engine::layer::LAYER, &crate::layer::LAYER]);

/// The deployment in memory.
pub struct TestRuntime {
    environment: Environment,
    /// Each number draws other random bytes, so it is another deployment.
    number: u64,
    state: Mutex<State>,
    own: Weak<TestRuntime>,
    memo: Memo,
    web: Mutex<Option<Arc<Web>>>,
    archive: Mutex<BTreeMap<String, Vec<u8>>>,
    place: OnceLock<Arc<Place>>,
}

/// Answers that several deployments share. A key names a period, so none has to be forgotten.
#[derive(Default)]
pub struct Place(Mutex<BTreeMap<Vec<u8>, Bytes>>);

impl Place {
    fn answers(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of answers.
    pub fn len(&self) -> usize {
        self.answers().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces every answer by bytes that are none.
    pub fn spoil(&self) {
        self.answers().values_mut().for_each(|answer| *answer = Bytes::from_static(b"\xff"));
    }
}

impl SharedAnswers for Place {
    fn get<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Option<Bytes>> {
        Box::pin(std::future::ready(self.answers().get(key).cloned()))
    }

    fn put<'a>(&'a self, key: &'a [u8], answer: Vec<u8>, _seconds: u32) -> BoxFuture<'a, ()> {
        self.answers().insert(key.to_vec(), answer.into());
        Box::pin(std::future::ready(()))
    }
}

/// Answers the requests of a deployment to other hosts.
pub type Web = dyn Fn(&Outgoing) -> Result<Incoming> + Send + Sync;

struct State {
    program: &'static Program,
    now: Timestamp,
    random: ChaCha20Rng,
    spaces: BTreeMap<ActorId, MemoryStore>,
    documents: BTreeMap<String, Arc<Ready>>,
    hubs: BTreeMap<String, Listeners>,
    closed: bool,
    /// The actors and operations that handlers called since [`TestRuntime::calls`] was last read.
    calls: Vec<(ActorId, String)>,
    /// Operations, timers and documents of actors since [`TestRuntime::deeds`] was last read.
    deeds: Vec<(ActorId, String)>,
    /// Requests to other hosts that actors asked for.
    outgoing: VecDeque<(ActorId, String)>,
}

/// The state that a deployment begins with.
struct InitialState {
    now: Timestamp,
    spaces: BTreeMap<ActorId, MemoryStore>,
    documents: BTreeMap<String, Arc<Ready>>,
}

impl Default for InitialState {
    fn default() -> Self {
        InitialState { now: START, spaces: BTreeMap::new(), documents: BTreeMap::new() }
    }
}

/// The streams of one agent, with the pieces that each stream has not taken yet.
#[derive(Default)]
struct Listeners {
    hub: Hub,
    waiting: BTreeMap<StreamId, VecDeque<Emission>>,
}

impl TestRuntime {
    /// A fresh deployment with these settings.
    ///
    /// # Panics
    /// When a setting does not exist or cannot have its value.
    pub fn start(program: &'static Program, settings: &[(&str, &str)]) -> Arc<TestRuntime> {
        TestRuntime::start_on(program, InitialState::default(), settings, false, 0)
    }

    /// A deployment that shares replies which may be late, and that has an archive, like the isolates of a Worker.
    pub fn start_sharing(program: &'static Program, settings: &[(&str, &str)]) -> Arc<TestRuntime> {
        TestRuntime::start_on(program, InitialState::default(), settings, true, 0)
    }

    /// A fresh deployment for each number, because each number draws other random bytes. Number 0 is
    /// [`TestRuntime::start`].
    pub fn start_as(program: &'static Program, number: u64, settings: &[(&str, &str)]) -> Arc<TestRuntime> {
        TestRuntime::start_on(program, InitialState::default(), settings, false, number)
    }

    fn start_on(
        program: &'static Program,
        stored: InitialState,
        settings: &[(&str, &str)],
        shares_reads: bool,
        number: u64,
    ) -> Arc<TestRuntime> {
        let mut values = Settings::default();
        // First-party services would disturb tests that did not ask for them.
        values.first_party_services = false;
        for (name, value) in settings {
            values.set(name, value).unwrap_or_else(|error| panic!("{error}"));
        }
        values.archives_segments = shares_reads;
        let ring = KeyRing::new(MasterKey::new(Secret::new([42; 32])), Vec::new());
        let secrets = Secrets::new(ring, values.admin_key.clone());
        let start = deployment::Start { brand: values.brand.clone(), key_checks: secrets.key_checks() };
        let mut seed = [7; 32];
        seed.iter_mut().zip(number.to_le_bytes()).for_each(|(seed, byte)| *seed ^= byte);
        let mut state = State {
            program,
            now: stored.now,
            random: ChaCha20Rng::from_seed(seed),
            spaces: stored.spaces,
            documents: stored.documents,
            hubs: BTreeMap::new(),
            closed: false,
            calls: Vec::new(),
            deeds: Vec::new(),
            outgoing: VecDeque::new(),
        };
        let call = Call::operation(deployment::actor().name, &start).unwrap();
        let reply = state.call(&values, &call).unwrap();
        let identity: deployment::Identity = engine::actor::decode(&reply).unwrap();
        let mut environment = Environment::new(program, values, secrets, identity.id);
        environment.shares_reads = shares_reads;
        Arc::new_cyclic(|own| TestRuntime {
            environment,
            number,
            state: Mutex::new(state),
            own: own.clone(),
            memo: Memo::default(),
            web: Mutex::default(),
            archive: Mutex::default(),
            place: OnceLock::new(),
        })
    }

    /// From now on answers that may be late are shared with the other deployments of this place.
    pub fn share_answers(&self, place: &Arc<Place>) {
        let _ = self.place.set(place.clone());
    }

    /// From now on `web` answers the requests to other hosts. Without it they fail.
    pub fn connect(&self, web: Box<Web>) {
        *self.web.lock().unwrap_or_else(PoisonError::into_inner) = Some(web.into());
    }

    /// The content of the archive, by name.
    pub fn archived(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.archive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new process on the stored data of this one, with other settings.
    ///
    /// # Panics
    /// When a setting does not exist, or the deployment refuses to start.
    pub fn restarted(&self, settings: &[(&str, &str)]) -> Arc<TestRuntime> {
        let mut state = self.state();
        let stored = InitialState {
            now: state.now,
            spaces: std::mem::take(&mut state.spaces),
            documents: std::mem::take(&mut state.documents),
        };
        TestRuntime::start_on(self.environment.program, stored, settings, false, self.number)
    }

    /// Moves the clock, and runs everything that falls due on the way, at its time.
    pub fn advance(&self, duration: Duration) {
        let mut state = self.state();
        let end = state.now.plus_duration(duration);
        state.run_until(&self.environment.settings, end);
    }

    /// Makes the requests to other hosts that actors asked for, one after the other.
    pub async fn reach_out(&self) {
        loop {
            let Some((actor, key)) = self.state().outgoing.pop_front() else { return };
            // An error is ignored, because the actor asks again by a timer.
            let Some(own) = self.own.upgrade() else { return };
            let _ = runtime::reach_out(own, &actor, &key).await;
        }
    }

    /// Takes the requests to other hosts that actors asked for, so that a test can make them.
    pub fn wishes(&self) -> Vec<(ActorId, String)> {
        self.state().outgoing.drain(..).collect()
    }

    /// Drops the requests that actors asked for, as a crash after the commit does.
    pub fn lose_outgoing(&self) -> usize {
        self.wishes().len()
    }

    /// While storage is closed, it answers nothing.
    pub fn close(&self, closed: bool) {
        self.state().closed = closed;
    }

    /// The kept answers of all actors.
    pub fn memo(&self) -> &Memo {
        &self.memo
    }

    /// Every stored value of an actor, for tests that search for values which must not be there.
    pub fn rows(&self, actor: &ActorId) -> Vec<(Vec<u8>, Vec<u8>)> {
        use engine::kv::{Direction, Range, Read};
        let state = self.state();
        let rows = state.spaces.get(actor).map(|space| space.scan(&Range::all(), Direction::Ascending, usize::MAX));
        rows.transpose().unwrap().unwrap_or_default()
    }

    /// Changes rows of an actor by hand, for example to rows that an earlier version wrote.
    pub fn edit(&self, actor: &ActorId, batch: Batch) {
        self.state().spaces.entry(actor.clone()).or_default().apply(batch).unwrap();
    }

    /// The operations and queries of handlers since the last look.
    pub fn calls(&self) -> Vec<(ActorId, String)> {
        std::mem::take(&mut self.state().calls)
    }

    /// What actors did since the last look: names of operations, `timer <key>`, `publish <document>`.
    pub fn deeds(&self) -> Vec<(ActorId, String)> {
        std::mem::take(&mut self.state().deeds)
    }

    /// Actors that have rows.
    pub fn actors(&self) -> Vec<ActorId> {
        self.state().spaces.iter().filter(|(_, space)| !space.is_empty()).map(|(actor, _)| actor.clone()).collect()
    }
}

impl State {
    fn check(&self) -> Result<()> {
        if self.closed { Err(Error::unavailable("storage is closed")) } else { Ok(()) }
    }

    /// Runs `run` on an actor's rows and applies its outcome.
    fn step<T>(
        &mut self,
        settings: &Settings,
        actor: &ActorId,
        run: impl FnOnce(&Space<'_>) -> Finished<T>,
    ) -> Result<T> {
        let mut seed = [0; 32];
        self.random.fill_bytes(&mut seed);
        let empty = MemoryStore::default();
        let rows = self.spaces.get(actor).unwrap_or(&empty);
        let outcome = run(&Space { program: self.program, actor, rows, now: self.now, seed, settings });
        // As on the edge, an actor that was only read leaves nothing behind.
        if !outcome.batch.is_empty() {
            self.spaces.entry(actor.clone()).or_default().apply(outcome.batch)?;
        }
        self.outgoing.extend(outcome.outgoing.into_iter().map(|key| (actor.clone(), key)));
        outcome.reply
    }

    fn call(&mut self, settings: &Settings, call: &Call) -> Result<Vec<u8>> {
        self.deeds.push((call.actor.clone(), call.name.clone()));
        let reply = self.step(settings, &call.actor, |space| host::perform(space, call));
        self.work_off(settings, call.actor.clone());
        reply
    }

    /// Runs everything that is due now on this actor and on the actors that it reaches.
    fn work_off(&mut self, settings: &Settings, first: ActorId) {
        let mut actors = VecDeque::from([first]);
        while let Some(actor) = actors.pop_front() {
            while let Some(rows) = self.spaces.get(&actor).filter(|_| !settings.closed) {
                let work = host::due_work(&actor, rows, self.now).unwrap();
                if work.is_empty() {
                    break;
                }
                for piece in work {
                    match piece {
                        // The batch of a failed timer puts it back.
                        Work::Timer(key) => {
                            self.deeds.push((actor.clone(), format!("timer {key}")));
                            let _ = self.step(settings, &actor, |space| host::fire(space, &key));
                        }
                        Work::Deliver(delivery) => actors.push_back(self.deliver(settings, &actor, &delivery)),
                        Work::Publish(key) => {
                            self.deeds.push((actor.clone(), format!("publish {key}")));
                            if let Ok(Some(document)) = self.step(settings, &actor, |space| host::publish(space, &key))
                            {
                                self.documents.insert(key, Arc::new(document.into()));
                            }
                        }
                    }
                }
            }
        }
    }

    fn deliver(&mut self, settings: &Settings, source: &ActorId, delivery: &Delivery) -> ActorId {
        let target = delivery.call.actor.clone();
        self.deeds.push((target.clone(), delivery.call.name.clone()));
        let receipt = self.step(settings, &target, |space| host::receive(space, delivery)).unwrap();
        self.step(settings, source, |space| host::settle(space, &target, delivery.sequence, &receipt)).unwrap();
        target
    }

    fn run_until(&mut self, settings: &Settings, end: Timestamp) {
        // A closed deployment lets time pass, but everything that is due waits.
        loop {
            if settings.closed {
                break;
            }
            let due = self.spaces.iter().filter_map(|(actor, rows)| Some((host::next_due(rows).ok()??, actor.clone())));
            let Some((due, actor)) = due.min().filter(|(due, _)| *due <= end) else { break };
            self.now = self.now.max(due);
            self.work_off(settings, actor);
        }
        self.now = self.now.max(end);
    }

    /// Lets the streams of an agent read on, then takes the next piece of one of them.
    fn next(&mut self, settings: &Settings, agent: &str, id: StreamId) -> Option<Emission> {
        let actor = ActorId::new(Kind::Agent, agent);
        let empty = MemoryStore::default();
        let rows = self.spaces.get(&actor).unwrap_or(&empty);
        let view = View::new(self.program, &actor, rows, self.now, settings);
        let listeners = self.hubs.get_mut(agent)?;
        let waiting = std::cell::RefCell::new(&mut listeners.waiting);
        let mut ready = |id| waiting.borrow().get(&id).is_some_and(VecDeque::is_empty);
        let mut emit = |id, emission| waiting.borrow_mut().entry(id).or_default().push_back(emission);
        listeners.hub.turn(&view, &mut ready, &mut emit).unwrap();
        listeners.waiting.get_mut(&id)?.pop_front()
    }
}

/// One open stream.
struct TestStream {
    runtime: Arc<TestRuntime>,
    agent: String,
    id: StreamId,
    ended: bool,
}

impl Stream for TestStream {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let next = self.runtime.state().next(&self.runtime.environment.settings, &self.agent, self.id);
        match next {
            Some(Emission::Page(bytes)) => Poll::Ready(Some(bytes)),
            Some(Emission::Last(bytes, _)) => {
                self.ended = true;
                Poll::Ready((!bytes.is_empty()).then_some(bytes))
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for TestStream {
    fn drop(&mut self) {
        let mut state = self.runtime.state();
        if let Some(listeners) = state.hubs.get_mut(&self.agent) {
            listeners.hub.close(self.id);
            listeners.waiting.remove(&self.id);
        }
    }
}

impl Archive for TestRuntime {
    fn put<'a>(&'a self, name: &'a str, body: Vec<u8>) -> BoxFuture<'a, Result<()>> {
        self.archived().insert(name.to_owned(), body);
        Box::pin(std::future::ready(Ok(())))
    }

    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>>> {
        Box::pin(std::future::ready(Ok(self.archived().get(name).cloned())))
    }
}

impl Runtime for TestRuntime {
    fn shared_answers(&self) -> Option<&dyn SharedAnswers> {
        self.place.get().map(|place| &**place as &dyn SharedAnswers)
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Vec<u8>>> {
        let mut state = self.state();
        state.calls.push((call.actor.clone(), call.name.clone()));
        let reply = state.check().and_then(|()| state.call(&self.environment.settings, &call));
        Box::pin(std::future::ready(reply))
    }

    fn query(&self, call: Call) -> BoxFuture<'_, Result<Vec<u8>>> {
        let mut state = self.state();
        state.calls.push((call.actor.clone(), call.name.clone()));
        let empty = MemoryStore::default();
        let rows = state.spaces.get(&call.actor).unwrap_or(&empty);
        let view = View::new(self.environment.program, &call.actor, rows, state.now, &self.environment.settings)
            .remembering(&self.memo);
        let reply = state.check().and_then(|()| host::answer(&view, &call));
        Box::pin(std::future::ready(reply))
    }

    fn remembered(&self, call: &Call) -> Option<Vec<u8>> {
        let state = self.state();
        let empty = MemoryStore::default();
        let rows = state.spaces.get(&call.actor).unwrap_or(&empty);
        let view = View::new(self.environment.program, &call.actor, rows, state.now, &self.environment.settings)
            .remembering(&self.memo);
        host::remembered(&view, call)
    }

    fn document<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Arc<Ready>>>> {
        Box::pin(std::future::ready(Ok(self.state().documents.get(key).cloned())))
    }

    fn stream(&self, open: OpenStream) -> BoxFuture<'_, Result<ByteStream>> {
        let mut state = self.state();
        let result = state.check().map(|()| {
            let (now, agent) = (state.now, open.agent.clone());
            let listeners = state.hubs.entry(agent.clone()).or_default();
            let id = listeners.hub.open(open, now);
            listeners.waiting.insert(id, VecDeque::new());
            let runtime = self.own.upgrade().unwrap();
            Box::pin(TestStream { runtime, agent, id, ended: false }) as ByteStream
        });
        Box::pin(std::future::ready(result))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        self.advance(duration);
        Box::pin(std::future::ready(()))
    }

    fn fetch(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<Incoming>> {
        // The lock is not held during the answer, which may take long.
        let web = self.web.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let answer = web.as_ref().map_or_else(|| Err(engine::web::no_way_out()), |web| web(&outgoing));
        Box::pin(std::future::ready(answer))
    }

    fn archive(&self) -> Option<&dyn Archive> {
        self.environment.settings.archives_segments.then_some(self)
    }

    fn now(&self) -> Timestamp {
        self.state().now
    }

    fn random(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.state().random.fill_bytes(&mut bytes);
        bytes
    }

    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn write_check(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(std::future::ready(self.state().check()))
    }
}
