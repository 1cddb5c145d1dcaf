//! Agents write to each other while faults happen. In every case a message that was answered with 201 is in the mailbox
//! once, in the order of sending, under the id of the answer, and a read mark that was answered stays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heliograph_core::crypto::client::{Client, Options};
use heliograph_core::engine::http::{Request, Response};
use http::Method;
use serde_json::{Value, json};

use super::{Dice, Requests, Simulation, Storage, body, request};

/// What happened in a run, so that one in which nothing happens cannot pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct Happened {
    pub acknowledged: u64,
    pub repeated: u64,
    pub crashes: u64,
}

const AGENTS: usize = 4;
const STEPS: usize = 1_500;

/// The purpose of a request.
#[derive(Debug, Clone)]
enum Tag {
    Register(usize),
    Send { from: usize, to: usize },
    Receive(usize),
    Read { agent: usize, ids: Vec<String> },
}

/// One message as its sender knows it.
#[derive(Debug, Clone)]
struct Letter {
    body: Value,
    text: String,
    lives_long: bool,
}

#[derive(Default)]
struct Agent {
    did: Option<String>,
    api_key: String,
    /// The message in progress to each peer; sent again, unchanged, until it is acknowledged.
    outgoing: BTreeMap<usize, Letter>,
    /// Acknowledged messages in order, per peer: id and text.
    acknowledged: BTreeMap<usize, Vec<(String, String)>>,
    /// Messages whose read mark was acknowledged.
    read: BTreeSet<String>,
    busy: BTreeSet<usize>,
    registering: bool,
    receiving: bool,
}

struct World {
    simulation: Arc<Simulation>,
    requests: Requests<Tag>,
    agents: Vec<Agent>,
    letters: u64,
    happened: Happened,
}

impl World {
    fn start(&mut self, tag: Tag, request: Request) {
        let task = self.simulation.request(request);
        self.requests.push(tag, task);
    }

    fn register(&mut self, agent: usize) {
        self.agents[agent].registering = true;
        let seed = self.simulation.below(u64::MAX).to_be_bytes();
        let mut full = [7; 32];
        full[..8].copy_from_slice(&seed);
        let body = Client::new("svc", full, Options::default()).key_body(None, 1);
        self.start(Tag::Register(agent), request(Method::POST, "/v1/agent/register", None, &body));
    }

    fn send(&mut self, from: usize, to: usize) {
        let Some(did) = self.agents[to].did.clone() else { return };
        self.letters += 1;
        let number = self.letters;
        let lives_long = !self.simulation.chance(10);
        let mut dice = Dice::new(number);
        let text = STANDARD.encode(number.to_be_bytes());
        let letter = Letter {
            body: json!({
                "to": did,
                "ciphertext": text,
                "nonce": STANDARD.encode(&dice.bytes()[..24]),
                "signature": STANDARD.encode([dice.bytes(), dice.bytes()].concat()),
                "envelope": format!("{{\"n\":{number}}}"),
                "ttl": if lives_long { 604_800 } else { 60 },
            }),
            text,
            lives_long,
        };
        self.agents[from].outgoing.insert(to, letter);
        self.post(from, to);
    }

    fn post(&mut self, from: usize, to: usize) {
        let agent = &mut self.agents[from];
        let Some(letter) = agent.outgoing.get(&to) else { return };
        agent.busy.insert(to);
        let request = request(Method::POST, "/v1/agent/send/encrypted", Some(&agent.api_key), &letter.body);
        self.start(Tag::Send { from, to }, request);
    }

    fn receive(&mut self, agent: usize) {
        self.agents[agent].receiving = true;
        let key = self.agents[agent].api_key.clone();
        let limit = 1 + self.simulation.below(5);
        let request = request(Method::GET, &format!("/v1/agent/receive/raw?limit={limit}"), Some(&key), &Value::Null);
        self.start(Tag::Receive(agent), request);
    }

    fn answered(&mut self, tag: Tag, response: &Response) {
        let status = response.status.as_u16();
        let answer: Value = serde_json::from_slice(&body(response)).unwrap();
        assert!(status < 500 || status == 503, "{tag:?}: {status} {answer} {:?}", response.cause);
        match tag {
            Tag::Register(at) => {
                let agent = &mut self.agents[at];
                agent.registering = false;
                if status == 201 {
                    agent.did = Some(answer["did"].as_str().unwrap().to_owned());
                    agent.api_key = answer["api_key"].as_str().unwrap().to_owned();
                }
            }
            Tag::Send { from, to } => {
                self.agents[from].busy.remove(&to);
                if status == 201 {
                    self.happened.acknowledged += 1;
                    let agent = &mut self.agents[from];
                    let letter = agent.outgoing.remove(&to).unwrap();
                    if letter.lives_long {
                        let id = answer["id"].as_str().unwrap().to_owned();
                        agent.acknowledged.entry(to).or_default().push((id, letter.text));
                    }
                } else {
                    assert_eq!(status, 503, "{answer}");
                }
            }
            Tag::Receive(at) => {
                self.agents[at].receiving = false;
                if status == 200 {
                    let items = answer["messages"].as_array().unwrap();
                    let ids: Vec<String> = items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
                    for id in &ids {
                        assert!(!self.agents[at].read.contains(id), "{id} was read and is unread again");
                    }
                    if !ids.is_empty() && self.simulation.chance(70) {
                        let key = self.agents[at].api_key.clone();
                        let path = "/v1/agent/messages/read-batch";
                        let request = request(Method::POST, path, Some(&key), &json!({ "message_ids": ids }));
                        self.start(Tag::Read { agent: at, ids }, request);
                    }
                }
            }
            Tag::Read { agent, ids } => {
                if status == 200 {
                    self.agents[agent].read.extend(ids);
                }
            }
        }
    }

    /// The process dies: clients see broken connections and will repeat what was not acknowledged.
    fn crash(&mut self) {
        self.happened.crashes += 1;
        self.requests.drop_all();
        self.simulation.crash();
        for agent in &mut self.agents {
            agent.busy.clear();
            agent.registering = false;
            agent.receiving = false;
        }
    }

    fn step(&mut self) {
        let at = self.simulation.below(AGENTS as u64) as usize;
        match self.simulation.below(100) {
            0 => self.crash(),
            1..=10 => self.simulation.turn(),
            11..=14 if self.agents[at].did.is_none() && !self.agents[at].registering => self.register(at),
            15..=30 if self.agents[at].did.is_some() => {
                let to = self.simulation.below(AGENTS as u64) as usize;
                if !self.agents[at].outgoing.contains_key(&to) {
                    self.send(at, to);
                } else if !self.agents[at].busy.contains(&to) {
                    self.happened.repeated += 1;
                    self.post(at, to);
                }
            }
            31..=36 if self.agents[at].did.is_some() && !self.agents[at].receiving => self.receive(at),
            _ => {
                if let Some((tag, response)) = self.requests.step(&self.simulation) {
                    self.answered(tag, &response);
                }
            }
        }
    }

    /// Runs one request to its end.
    fn finish(&mut self, request: Request) -> Value {
        let mut alone = Requests::default();
        alone.push((), self.simulation.request(request));
        loop {
            if let Some(((), response)) = alone.step(&self.simulation) {
                assert_eq!(response.status, 200, "{:?}", body(&response));
                return serde_json::from_slice(&body(&response)).unwrap();
            }
        }
    }

    /// Every message of a mailbox, page by page.
    fn mailbox(&mut self, agent: usize, unread: bool) -> Vec<Value> {
        let key = self.agents[agent].api_key.clone();
        let mut all: Vec<Value> = Vec::new();
        loop {
            let since = all.last().map_or(String::new(), |item| {
                format!("&since={}", item["timestamp"].as_str().unwrap().replace('+', "%2B"))
            });
            let query = format!("limit=7&unread={unread}{since}");
            let page =
                self.finish(request(Method::GET, &format!("/v1/agent/receive/raw?{query}"), Some(&key), &Value::Null));
            all.extend(page["messages"].as_array().unwrap().iter().cloned());
            if page["has_more"] == json!(false) {
                return all;
            }
        }
    }
}

/// Runs the scenario of a seed.
///
/// # Panics
/// When a promise is broken.
pub fn run(storage: Box<dyn Storage>, seed: u64) -> Happened {
    let settings = [("agent_per_second", "1000000"), ("agent_burst", "1000000")];
    let agents = (0..AGENTS).map(|_| Agent::default()).collect();
    let mut world = World {
        simulation: Simulation::new(storage, seed, &settings),
        requests: Requests::default(),
        agents,
        letters: 0,
        happened: Happened::default(),
    };
    for _ in 0..STEPS {
        world.step();
    }
    world.crash();
    world.simulation.settle(Duration::from_secs(3_600));
    for to in 0..AGENTS {
        if world.agents[to].did.is_none() {
            continue;
        }
        let all = world.mailbox(to, false);
        let ids: BTreeSet<&str> = all.iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), all.len(), "a message is in the mailbox twice");
        let stamps: Vec<&str> = all.iter().map(|item| item["timestamp"].as_str().unwrap()).collect();
        assert!(stamps.windows(2).all(|pair| pair[0] < pair[1]), "timestamps must increase: {stamps:?}");
        for from in 0..AGENTS {
            let Some(did) = world.agents[from].did.clone() else { continue };
            let arrived: Vec<(String, String)> = all
                .iter()
                .filter(|item| item["from"] == json!(did))
                .map(|item| (item["id"].as_str().unwrap().into(), item["ciphertext"].as_str().unwrap().into()))
                .collect();
            let sent = world.agents[from].acknowledged.get(&to).cloned().unwrap_or_default();
            let pending = world.agents[from].outgoing.get(&to).map(|letter| letter.text.clone());
            let certain: Vec<_> = arrived.iter().filter(|(_, text)| Some(text) != pending.as_ref()).cloned().collect();
            assert_eq!(certain, sent, "from {from} to {to}");
        }
        let unread: BTreeSet<String> =
            world.mailbox(to, true).iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
        assert!(unread.is_disjoint(&world.agents[to].read), "an acknowledged read mark was lost");
    }
    world.happened
}

/// Prints what happened on average.
///
/// # Panics
/// When so little happened in many runs that they say nothing.
pub fn enough(runs: &[Happened]) {
    let mean = |of: fn(&Happened) -> u64| runs.iter().map(of).sum::<u64>() / runs.len() as u64;
    let all = Happened {
        acknowledged: mean(|run| run.acknowledged),
        repeated: mean(|run| run.repeated),
        crashes: mean(|run| run.crashes),
    };
    println!("{} seeds, each on average: {all:?}", runs.len());
    assert!(runs.len() < 20 || (all.acknowledged >= 20 && all.repeated >= 2 && all.crashes >= 5));
}
