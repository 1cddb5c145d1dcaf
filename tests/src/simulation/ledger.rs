//! Agents pay each other and change their keys while faults happen. In every case no money is created or lost, a
//! payment that was answered with 200 is settled once, and an envelope sent after the answer to a rotation moves money
//! only under the new key (decision signer-key-table).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heliograph_core::crypto::{Secret, signing};
use heliograph_core::engine::http::Response;
use heliograph_core::engine::runtime::Runtime;
use heliograph_core::ledger::client::Signer;
use heliograph_core::relay::agent::proof;
use heliograph_core::relay::agent::rotate::signed_text;
use http::Method;
use serde_json::{Value, json};

use super::{DEPLOYMENT, Requests, Simulation, Storage, body, request};

/// What happened in a run, so that one in which nothing happens cannot pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct Happened {
    pub settled: u64,
    pub repeated: u64,
    pub rotated: u64,
    /// Payments under a key that was replaced.
    pub stale: u64,
}

const AGENTS: usize = 4;
const STEPS: usize = 1_000;
const GRANT: u64 = 10_000_000;

/// The purpose of a request.
#[derive(Debug, Clone)]
enum Tag {
    Register(usize),
    Claim(usize),
    /// `stale`: true if the request was sent after the answer to a rotation away from its key.
    Pay {
        from: usize,
        stale: bool,
    },
    /// A payment under a key that was replaced.
    Old(usize),
    Rotate(usize),
}

/// A payment that is sent until its outcome is known.
#[derive(Debug, Clone)]
struct Payment {
    body: Value,
    nonce: String,
    generation: u64,
}

/// A rotation in progress: the body, the new key, and whether the previous key signed it.
#[derive(Debug, Clone)]
struct Change {
    body: Value,
    seed: [u8; 32],
    proved: bool,
}

struct Agent {
    did: String,
    api_key: Option<String>,
    signer: Signer,
    /// Number of answered rotations.
    generation: u64,
    funded: bool,
    /// An unsigned rotation was answered, so nothing can move this money any more.
    lost: bool,
    payment: Option<Payment>,
    change: Option<Change>,
    /// An envelope under a key that was replaced.
    old: Option<Payment>,
    settled: BTreeSet<String>,
    busy: BTreeSet<&'static str>,
}

struct World {
    simulation: Arc<Simulation>,
    requests: Requests<Tag>,
    agents: Vec<Agent>,
    numbers: u64,
    happened: Happened,
}

impl World {
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn seed(&mut self) -> [u8; 32] {
        let mut seed = [0x1e; 32];
        seed[..8].copy_from_slice(&self.simulation.below(u64::MAX).to_be_bytes());
        seed[8..16].copy_from_slice(&self.number().to_be_bytes());
        seed
    }

    /// Sends a request, unless one of the same kind of this agent is in progress.
    fn start(&mut self, at: usize, kind: &'static str, tag: Tag, path: &str, body: &Value) {
        if self.agents[at].busy.insert(kind) {
            let request = request(Method::POST, path, self.agents[at].api_key.as_deref(), body);
            self.requests.push(tag, self.simulation.request(request));
        }
    }

    fn register(&mut self, at: usize) {
        let key = self.agents[at].signer.public_key();
        let body = json!({ "signing_public_key": key, "encryption_public_key": key });
        self.start(at, "register", Tag::Register(at), "/v1/agent/register", &body);
    }

    fn claim(&mut self, at: usize) {
        let members = json!({ "did": self.agents[at].did, "nonce": format!("claim-{}", self.number()) });
        let body = self.agents[at].signer.signed("pay-faucet", self.simulation.now(), members);
        self.start(at, "claim", Tag::Claim(at), "/v1/pay/faucet", &body);
    }

    fn payment(&mut self, from: usize) -> Payment {
        let (to, amount) = (self.simulation.below(AGENTS as u64) as usize, 1 + self.simulation.below(4_000_000));
        let nonce = format!("payment-{}", self.number());
        let agent = &self.agents[from];
        let members =
            json!({ "from_did": agent.did, "to_did": self.agents[to].did, "amount_micro": amount, "nonce": nonce });
        let body = agent.signer.signed("credit-transfer", self.simulation.now(), members);
        Payment { body, nonce, generation: agent.generation }
    }

    fn pay(&mut self, from: usize) {
        if self.agents[from].payment.is_none() {
            self.agents[from].payment = Some(self.payment(from));
        } else {
            self.happened.repeated += 1;
        }
        let agent = &self.agents[from];
        let Some(payment) = agent.payment.clone() else { return };
        let stale = agent.lost || payment.generation < agent.generation;
        self.start(from, "pay", Tag::Pay { from, stale }, "/v1/pay/transfer", &payment.body);
    }

    /// A holder of the replaced key tries to use it.
    fn pay_with_old_key(&mut self, from: usize) {
        if let Some(old) = self.agents[from].old.take() {
            self.happened.stale += 1;
            self.start(from, "old", Tag::Old(from), "/v1/pay/transfer", &old.body);
        }
    }

    fn rotate(&mut self, at: usize) {
        if self.agents[at].change.is_none() {
            let (seed, number) = (self.seed(), self.number());
            let (now, proved) = (self.simulation.now().to_millis_text(), self.simulation.chance(85));
            let agent = &self.agents[at];
            let public = signing::signing_public_key(&Secret::new(seed));
            let key = STANDARD.encode(public);
            let mut body = json!({ "signing_public_key": key, "encryption_public_key": key });
            if proved {
                let nonce = format!("rotation-{number:016}");
                let keys = proof::Keys { signing: &public, encryption: &public, mlkem: None };
                let text = signed_text("svc", DEPLOYMENT, &agent.did, keys, &now, &nonce);
                let signature = signing::sign(&agent.signer.seed, text.as_bytes());
                body["rotation_signature"] = json!(STANDARD.encode(signature));
                body["rotation_nonce"] = json!(nonce);
                body["rotation_issued_at"] = json!(now);
            }
            self.agents[at].change = Some(Change { body, seed, proved });
        }
        let Some(change) = self.agents[at].change.clone() else { return };
        self.start(at, "rotate", Tag::Rotate(at), "/v1/agent/rotate-keys", &change.body);
    }

    fn answered(&mut self, tag: Tag, response: &Response) {
        let status = response.status.as_u16();
        let answer: Value = serde_json::from_slice(&body(response)).unwrap();
        assert!(status < 500 || status == 503, "{tag:?}: {status} {answer} {:?}", response.cause);
        let reason = answer["reason"].as_str().unwrap_or_default().to_owned();
        match tag {
            Tag::Register(at) => {
                self.agents[at].busy.remove("register");
                match status {
                    201 => self.agents[at].api_key = Some(answer["api_key"].as_str().unwrap().to_owned()),
                    // The agent was registered and the answer was lost, so it takes no further part.
                    409 => {}
                    _ => assert_eq!(status, 503, "{answer}"),
                }
            }
            Tag::Claim(at) => {
                self.agents[at].busy.remove("claim");
                self.agents[at].funded |= status == 200 || reason == "already_claimed";
            }
            Tag::Pay { from, stale } => self.paid(from, stale, status, &reason, &answer),
            Tag::Old(from) => {
                self.agents[from].busy.remove("old");
                assert!(status != 200, "a key that was replaced moved money: {answer}");
            }
            Tag::Rotate(at) => {
                self.agents[at].busy.remove("rotate");
                if status == 200 {
                    self.rotated(at, answer["wallet_frozen"] == json!(true));
                } else {
                    assert!(status == 503 || status == 409, "{answer}");
                }
            }
        }
    }

    fn paid(&mut self, from: usize, stale: bool, status: u16, reason: &str, answer: &Value) {
        assert!(!(stale && status == 200), "a key that was replaced moved money: {answer}");
        let agent = &mut self.agents[from];
        agent.busy.remove("pay");
        let Some(payment) = agent.payment.clone() else { return };
        match status {
            200 => {
                self.happened.settled += 1;
                agent.settled.insert(payment.nonce);
                agent.payment = None;
            }
            503 => {}
            // The payment was settled or refused before an answer that was lost, or never arrived: the history will
            // show it.
            _ => {
                assert!(
                    [
                        "nonce_seen",
                        "invalid_signature",
                        "insufficient_balance",
                        "sender_frozen",
                        "sender_not_found",
                        "recipient_invalid_did",
                        "sender_pubkey_not_found"
                    ]
                    .contains(&reason),
                    "{answer}"
                );
                agent.payment = None;
            }
        }
    }

    fn rotated(&mut self, at: usize, frozen: bool) {
        self.happened.rotated += 1;
        let old = self.payment(at);
        let agent = &mut self.agents[at];
        let Some(change) = agent.change.take() else { return };
        // An unsigned rotation names no other key for the DID. If the present key has signed nothing, no wallet is
        // frozen, and that key still moves money.
        if !change.proved && !frozen {
            return;
        }
        agent.generation += 1;
        agent.old = Some(old);
        match change.proved {
            true => agent.signer.seed = Secret::new(change.seed),
            // The previous key still speaks for the DID, and its money is frozen.
            false => agent.lost = true,
        }
    }

    /// The process dies: clients see broken connections and will repeat what was not acknowledged.
    fn crash(&mut self) {
        self.requests.drop_all();
        self.simulation.crash();
        self.agents.iter_mut().for_each(|agent| agent.busy.clear());
    }

    fn step(&mut self) {
        let at = self.simulation.below(AGENTS as u64) as usize;
        let (known, funded, lost) = (self.agents[at].api_key.is_some(), self.agents[at].funded, self.agents[at].lost);
        match self.simulation.below(100) {
            0 => self.crash(),
            1..=10 => self.simulation.turn(),
            11..=14 if !known => self.register(at),
            11..=14 if !funded && !lost => self.claim(at),
            15..=30 if funded => self.pay(at),
            31..=32 if known && !lost => self.rotate(at),
            33..=34 if known => self.pay_with_old_key(at),
            _ => {
                if let Some((tag, response)) = self.requests.step(&self.simulation) {
                    self.answered(tag, &response);
                }
            }
        }
    }

    /// Runs one request to its end.
    fn get(&mut self, path: &str) -> (u16, Value) {
        let mut alone = Requests::default();
        alone.push((), self.simulation.request(request(Method::GET, path, None, &Value::Null)));
        loop {
            if let Some(((), response)) = alone.step(&self.simulation) {
                return (response.status.as_u16(), serde_json::from_slice(&body(&response)).unwrap());
            }
        }
    }

    /// Transfers that an agent sent, by nonce: the state of each, and how often it is listed.
    fn history(&mut self, at: usize) -> BTreeMap<String, (String, u64)> {
        let (did, mut found, mut cursor) = (self.agents[at].did.clone(), BTreeMap::new(), String::new());
        loop {
            let (status, page) = self.get(&format!("/v1/pay/history/{did}?limit=200{cursor}"));
            assert_eq!(status, 200, "{page}");
            for row in page["transfers"].as_array().unwrap().iter().filter(|row| row["from_did"] == json!(did)) {
                let text = |name: &str| row[name].as_str().unwrap().to_owned();
                let entry: &mut (String, u64) = found.entry(text("nonce")).or_default();
                *entry = (text("status"), entry.1 + 1);
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&before={next}"),
                None => return found,
            }
        }
    }
}

/// Runs the scenario of a seed.
///
/// # Panics
/// When a promise is broken.
pub fn run(storage: Box<dyn Storage>, seed: u64) -> Happened {
    let settings = [("agent_per_second", "1000000"), ("agent_burst", "1000000"), ("pay_writes_per_minute", "0")];
    let mut world = World {
        simulation: Simulation::new(storage, seed, &settings),
        requests: Requests::default(),
        agents: Vec::new(),
        numbers: 0,
        happened: Happened::default(),
    };
    for _ in 0..AGENTS {
        let signer = Signer::new("svc", Secret::new(world.seed()));
        world.agents.push(Agent {
            did: signer.did.clone(),
            api_key: None,
            signer,
            generation: 0,
            funded: false,
            lost: false,
            payment: None,
            change: None,
            old: None,
            settled: BTreeSet::new(),
            busy: BTreeSet::new(),
        });
    }
    for _ in 0..STEPS {
        world.step();
    }
    world.crash();
    world.simulation.settle(Duration::from_secs(3_600));
    let (mut sum, mut wallets) = (0, 0);
    for at in 0..AGENTS {
        let (status, wallet) = world.get(&format!("/v1/pay/wallet/{}", world.agents[at].did.clone()));
        if status == 200 {
            sum += wallet["balance_micro"].as_u64().unwrap();
            wallets += 1;
        }
        let history = world.history(at);
        assert!(history.values().all(|(_, times)| *times == 1), "a transfer is listed twice");
        for nonce in &world.agents[at].settled {
            let found = history.get(nonce).map(|(status, _)| status.as_str());
            assert_eq!(found, Some("settled"), "an acknowledged payment is gone");
        }
        if world.agents[at].lost && world.agents[at].funded {
            assert_eq!(wallet["frozen"], json!(true), "an unproved rotation left the wallet open");
        }
    }
    // A grant may have been made without an answer to the agent.
    let granted = world.agents.iter().filter(|agent| agent.funded).count() as u64;
    assert!(sum % GRANT == 0 && (granted..=wallets).contains(&(sum / GRANT)), "{sum} of {granted} grants");
    world.happened
}

/// Prints what happened on average.
///
/// # Panics
/// When so little happened in many runs that they say nothing.
pub fn enough(runs: &[Happened]) {
    let mean = |of: fn(&Happened) -> u64| runs.iter().map(of).sum::<u64>() as f64 / runs.len() as f64;
    let [settled, repeated, rotated, stale] =
        [mean(|run| run.settled), mean(|run| run.repeated), mean(|run| run.rotated), mean(|run| run.stale)];
    println!(
        "{} seeds; each settled {settled:.1} payments, repeated {repeated:.1}, rotated {rotated:.1} times, tried {stale:.1} old keys",
        runs.len()
    );
    assert!(runs.len() < 20 || (settled >= 5.0 && repeated >= 2.0 && rotated >= 1.0 && stale >= 0.5));
}
