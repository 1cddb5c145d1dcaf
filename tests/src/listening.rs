//! Many agents that listen at once and write to each other, in one light process.
//!
//! Each listener behaves like the TypeScript SDK: it reads until the answer ends, waits half a second, and asks again
//! with the id of the last event, on the same connection if that is still open. Every message carries its number in its
//! nonce, so that it is recognised on arrival without parsing the JSON.

mod connection;
mod socket;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::relay::base64;
use crate::simulation::Dice;
use connection::Events;
pub use connection::{Connection, Event};
pub use socket::WebSocket;

/// Pause of existing clients before they connect again after a normal end.
pub const PAUSE: Duration = Duration::from_millis(500);
/// Bytes of ciphertext (decision fair-benches).
const CIPHERTEXT: usize = 1_024;
/// Connections for the clients' requests other than listening.
const ERRAND_CONNECTIONS: usize = 32;
/// Time between two heartbeats of a client.
const HEARTBEAT: Duration = Duration::from_secs(60);

/// The requests of agents that listen and write.
pub trait ListeningRequests {
    /// The request that opens an agent's stream after the last event that it saw.
    fn listen(&self, agent: usize, last_id: Option<&str>) -> Vec<u8>;
    /// The request that sends a [`letter`].
    fn send(&self, from: usize, to: usize, letter: serde_json::Value) -> Vec<u8>;
    /// The request of an agent that marks a message as read, or sends a heartbeat.
    fn errand(&self, agent: usize, message: Option<&str>) -> Vec<u8>;
}

/// Registered agents of a relay, as (DID, key).
pub struct Relay {
    pub host: String,
    pub agents: Vec<(String, String)>,
}

impl ListeningRequests for Relay {
    fn listen(&self, agent: usize, last_id: Option<&str>) -> Vec<u8> {
        let mut headers = vec![("x-agent-key", self.agents[agent].1.as_str())];
        headers.extend(last_id.map(|id| ("last-event-id", id)));
        request(&self.host, "GET", "/v1/agent/receive/sse", &headers, None)
    }

    fn send(&self, from: usize, to: usize, mut letter: serde_json::Value) -> Vec<u8> {
        letter["to"] = self.agents[to].0.as_str().into();
        let headers = [("x-agent-key", self.agents[from].1.as_str())];
        request(&self.host, "POST", "/v1/agent/send/encrypted", &headers, Some(&letter.to_string()))
    }

    fn errand(&self, agent: usize, message: Option<&str>) -> Vec<u8> {
        let headers = [("x-agent-key", self.agents[agent].1.as_str())];
        let path = message.map(|id| format!("/v1/agent/messages/{id}/read"));
        request(&self.host, "POST", path.as_deref().unwrap_or("/v1/agent/ping"), &headers, Some("{}"))
    }
}

/// A request as bytes.
pub fn request(host: &str, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = body {
        text.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
    }
    format!("{text}\r\n{}", body.unwrap_or_default()).into_bytes()
}

/// Registers `count` agents whose keys the service holds, a few at once.
pub async fn register(host: &str, count: usize) -> Vec<(String, String)> {
    let (agents, left) = (Rc::new(RefCell::new(Vec::new())), Rc::new(Cell::new(count)));
    let worker = || {
        let (agents, left, host) = (agents.clone(), left.clone(), host.to_owned());
        async move {
            let mut connection = Connection::default();
            while let Some(rest) = left.get().checked_sub(1) {
                left.set(rest);
                let asked = request(&host, "POST", "/v1/agent/register", &[], Some("{}"));
                let (status, body) = connection.ask(&host, &asked).await.unwrap();
                assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
                let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
                let text = |name: &str| body[name].as_str().unwrap().to_owned();
                agents.borrow_mut().push((text("did"), text("api_key")));
            }
        }
    };
    futures_util::future::join_all((0..ERRAND_CONNECTIONS).map(|_| worker())).await;
    agents.take()
}

/// The body of `POST /v1/agent/send/encrypted` without `to`. The number is in the nonce and in the signature, of 24 and
/// 64 bytes; decimal digits are also base64.
pub fn letter(number: usize) -> serde_json::Value {
    let (nonce, signature) = (format!("{number:032}"), format!("{number:085}A=="));
    json!({ "ciphertext": base64(&[0xa5; CIPHERTEXT]), "nonce": nonce, "signature": signature })
}

/// The state of one message.
#[derive(Debug, Clone, Copy)]
struct Message {
    to: usize,
    accepted: Option<Instant>,
    /// Time of the first arrival, and when the stream that brought it was requested.
    arrived: Option<(Instant, Instant)>,
    arrivals: u32,
}

/// The outcome of all messages sent so far.
#[derive(Debug, Default, Clone)]
pub struct Account {
    /// Messages that were answered with 201.
    pub accepted: usize,
    pub lost: usize,
    /// Messages that arrived more than once, at the wrong agent, or out of order.
    pub doubled: usize,
    pub strayed: usize,
    /// Microseconds from the 201 to the arrival, ascending. If the recipient paused between two streams, the time
    /// counts from its next request.
    pub latencies: Vec<u32>,
    /// The same, always from the 201.
    pub with_pauses: Vec<u32>,
}

impl Account {
    /// The value below which that share of `sorted` is, in milliseconds.
    pub fn percentile(sorted: &[u32], share: f64) -> f64 {
        let at = (sorted.len().saturating_sub(1) as f64 * share) as usize;
        sorted.get(at).map_or(f64::NAN, |micros| f64::from(*micros) / 1_000.0)
    }
}

/// An errand of a listener: the agent, and the message to mark; `None` for a heartbeat.
type Errand = (usize, Option<String>);

/// All listeners of a run. They run on one thread; dropping this ends them.
pub struct Crowd {
    state: Rc<State>,
    agents: usize,
    tasks: JoinSet<()>,
}

struct State {
    host: String,
    place: Box<dyn ListeningRequests>,
    messages: RefCell<Vec<Message>>,
    open: Cell<usize>,
    ended: Cell<u64>,
    strayed: Cell<usize>,
    /// True if listeners mark the messages they got and send a heartbeat every minute.
    errands: Cell<bool>,
    errand: UnboundedSender<Errand>,
    answered_errands: Cell<u64>,
}

impl Crowd {
    /// Runs inside a `LocalSet`. Listeners connect evenly over `ramp`.
    pub fn start(host: &str, agents: usize, place: Box<dyn ListeningRequests>, ramp: Duration) -> Crowd {
        let (errand, mut errands) = unbounded_channel::<Errand>();
        let state = Rc::new(State {
            host: host.to_owned(),
            place,
            messages: RefCell::default(),
            open: Cell::default(),
            ended: Cell::default(),
            strayed: Cell::default(),
            errands: Cell::default(),
            errand,
            answered_errands: Cell::default(),
        });
        let mut tasks = JoinSet::new();
        let begin = Instant::now();
        for agent in 0..agents {
            let first = begin + ramp.mul_f64(agent as f64 / agents as f64);
            tasks.spawn_local(listen(state.clone(), agent, first));
        }
        let helpers: Vec<_> = (0..ERRAND_CONNECTIONS).map(|_| unbounded_channel::<Errand>()).collect();
        let (to_helpers, from_crowd): (Vec<_>, Vec<_>) = helpers.into_iter().unzip();
        for mut queue in from_crowd {
            let state = state.clone();
            tasks.spawn_local(async move {
                let mut connection = Connection::default();
                while let Some((agent, message)) = queue.recv().await {
                    let asked = state.place.errand(agent, message.as_deref());
                    let (status, body) = connection.ask(&state.host, &asked).await.unwrap();
                    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
                    state.answered_errands.set(state.answered_errands.get() + 1);
                }
            });
        }
        tasks.spawn_local(async move {
            while let Some(errand) = errands.recv().await {
                let _ = to_helpers[errand.0 % to_helpers.len()].send(errand);
            }
        });
        Crowd { state, agents, tasks }
    }

    /// Streams that are open now.
    pub fn open(&self) -> usize {
        self.state.open.get()
    }

    /// Streams that ended so far.
    pub fn ended(&self) -> u64 {
        self.state.ended.get()
    }

    pub fn run_errands(&self, yes: bool) {
        self.state.errands.set(yes);
    }

    pub fn answered_errands(&self) -> u64 {
        self.state.answered_errands.get()
    }

    /// Waits until `count` streams are open at once.
    pub async fn wait_open(&self, count: usize, longest: Duration) {
        let end = Instant::now() + longest;
        while self.open() < count {
            assert!(Instant::now() < end, "{} of {count} streams are open", self.open());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends `rate` messages a second for `window`, from and to random agents, over so many connections. Each
    /// connection keeps its schedule, even when an answer is late.
    pub async fn write(&self, rate: usize, window: Duration, connections: usize, seed: u64) {
        let count = (rate as f64 * window.as_secs_f64()) as usize;
        let mut dice = Dice::new(seed);
        let mut draw = || (dice.draw() >> 11) as usize % self.agents;
        let pairs: Vec<(usize, usize)> = (0..count).map(|_| (draw(), draw())).collect();
        self.write_pairs(&pairs, rate, connections).await;
    }

    /// Sends one message for each pair (from, to), at this rate.
    pub async fn write_pairs(&self, pairs: &[(usize, usize)], rate: usize, connections: usize) {
        let first = self.state.messages.borrow().len();
        let new = pairs.iter().map(|(_, to)| Message { to: *to, accepted: None, arrived: None, arrivals: 0 });
        self.state.messages.borrow_mut().extend(new);
        let begin = Instant::now();
        let writers = (0..connections).map(|writer| async move {
            let mut connection = Connection::default();
            for (at, (from, to)) in pairs.iter().enumerate().skip(writer).step_by(connections) {
                let number = first + at;
                tokio::time::sleep_until(begin + Duration::from_secs_f64(at as f64 / rate as f64)).await;
                let asked = self.state.place.send(*from, *to, letter(number));
                let (status, body) = connection.ask(&self.state.host, &asked).await.unwrap();
                assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
                self.state.messages.borrow_mut()[number].accepted = Some(Instant::now());
            }
        });
        futures_util::future::join_all(writers).await;
    }

    /// Waits until every accepted message arrived, or `longest` passed.
    pub async fn settle(&self, longest: Duration) {
        let end = Instant::now() + longest;
        let waiting = || self.state.messages.borrow().iter().any(|message| message.arrivals == 0);
        while waiting() && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Number of messages written so far: the start of the next [`Crowd::account`].
    pub fn written(&self) -> usize {
        self.state.messages.borrow().len()
    }

    /// The outcome of the messages from this number on.
    pub fn account(&mut self, from: usize) -> Account {
        // No task ends by itself, so one that ended has failed.
        while let Some(ended) = self.tasks.try_join_next() {
            ended.unwrap();
        }
        let mut account = Account { strayed: self.state.strayed.get(), ..Account::default() };
        for message in &self.state.messages.borrow()[from..] {
            account.accepted += usize::from(message.accepted.is_some());
            account.doubled += usize::from(message.arrivals > 1);
            account.lost += usize::from(message.arrivals == 0);
            let (Some(accepted), Some((arrived, asked))) = (message.accepted, message.arrived) else { continue };
            let since = |start: Instant| arrived.saturating_duration_since(start).as_micros() as u32;
            account.latencies.push(since(accepted.max(asked)));
            account.with_pauses.push(since(accepted));
        }
        account.latencies.sort_unstable();
        account.with_pauses.sort_unstable();
        account
    }
}

/// Runs one listening client for ever.
async fn listen(state: Rc<State>, agent: usize, first: Instant) {
    let mut connection = Connection::default();
    let mut last_id: Option<String> = None;
    let mut said: Option<Instant> = None;
    tokio::time::sleep_until(first).await;
    loop {
        let asked = Instant::now();
        if state.errands.get() && said.is_none_or(|said| said.elapsed() >= HEARTBEAT) {
            said = Some(asked);
            let _ = state.errand.send((agent, None));
        }
        let request = state.place.listen(agent, last_id.as_deref());
        let mut events = Events::default();
        let mut answer = connection.start(&state.host, &request).await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.head);
        state.open.set(state.open.get() + 1);
        while let Some(bytes) = answer.next().await.expect("a stream broke") {
            let now = Instant::now();
            for event in events.add(&bytes) {
                arrived(&state, agent, &event, (now, asked));
                // A position that is not later than the previous one: a doubled message, or one out of order.
                let later = place(&event.cursor) > last_id.as_deref().and_then(place);
                state.strayed.set(state.strayed.get() + usize::from(!later));
                last_id = Some(event.cursor);
            }
        }
        state.open.set(state.open.get() - 1);
        state.ended.set(state.ended.get() + 1);
        // One in four reconnects on a new connection, as through a proxy that keeps none.
        if agent.is_multiple_of(4) {
            connection = Connection::default();
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn place(cursor: &str) -> Option<i64> {
    cursor.parse().ok()
}

fn arrived(state: &State, agent: usize, event: &Event, times: (Instant, Instant)) {
    let mut messages = state.messages.borrow_mut();
    match messages.get_mut(event.number).filter(|message| message.to == agent) {
        Some(message) => {
            message.arrived.get_or_insert(times);
            message.arrivals += 1;
        }
        None => state.strayed.set(state.strayed.get() + 1),
    }
    if state.errands.get() {
        let _ = state.errand.send((agent, Some(event.message.clone())));
    }
}
