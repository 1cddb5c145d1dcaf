//! One-time prekeys under kill -9: none is ever given twice, even if an upload is repeated after its answer was lost.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use heliograph_tests::client::Client;
use heliograph_tests::process::{self, Server};
use heliograph_tests::relay::{Agent, base64};
use heliograph_tests::simulation::Dice;
use serde_json::{Value, json};

use super::{Identity, number, post};

const FETCHERS: usize = 6;
const SETTINGS: &[(&str, &str)] =
    &[("agent_per_second", "1000000"), ("agent_burst", "1000000"), ("prekeys_per_hour", "0")];

/// Twenty prekeys that no earlier upload had.
fn upload(first: &mut u64) -> Value {
    let key = |id: u64| {
        let mut key = [0x5a; 32];
        key[..8].copy_from_slice(&id.to_be_bytes());
        json!({ "id": id, "public_key": base64(&key) })
    };
    let prekeys: Vec<Value> = (*first..*first + 20).map(key).collect();
    *first += 20;
    json!({ "prekeys": prekeys })
}

struct Run {
    owner: Identity,
    /// Given keys, and how often each was given.
    given: Mutex<BTreeMap<String, u32>>,
    /// The upload that was not answered, and the first number of the next upload.
    uploads: Mutex<(Option<Value>, u64)>,
}

impl Run {
    fn fetch(&self, client: &Client) {
        let path = format!("/v1/agent/prekeys/{}", self.owner.did);
        while let Ok(answer) = client.try_send("GET", &path, None, b"") {
            let Ok(bundle) = serde_json::from_slice::<Value>(&answer.body) else { return };
            assert_eq!(answer.status, 200, "{bundle}");
            if !bundle["one_time_prekey"].is_null() {
                *self.given.lock().unwrap().entry(bundle["one_time_prekey"].to_string()).or_default() += 1;
            }
        }
    }

    fn upload(&self, client: &Client) {
        let agent: Agent = self.owner.agent(client);
        let mut uploads = self.uploads.lock().unwrap();
        loop {
            let (pending, first) = &mut *uploads;
            let body = pending.take().unwrap_or_else(|| upload(first));
            *pending = Some(body.clone());
            let Some(answer) = post(&agent.client, "/v1/agent/prekeys", &body) else { return };
            // When the store is full, wait for the fetchers and try the same again.
            match answer.status {
                200 => *pending = None,
                409 => std::thread::sleep(Duration::from_millis(2)),
                other => panic!("{other} {}", answer.text()),
            }
        }
    }

    fn work(&self, server: Server, life: Duration) {
        let client = Client::http(&server.base);
        std::thread::scope(|scope| {
            for _ in 0..FETCHERS {
                scope.spawn(|| self.fetch(&client));
            }
            scope.spawn(|| self.upload(&client));
            std::thread::sleep(life);
            server.kill();
        });
    }
}

#[test]
fn no_prekey_is_given_twice_when_the_server_is_killed() {
    let rounds = number("HELIOGRAPH_CRASH_ROUNDS").unwrap_or(50).div_ceil(2);
    let mut dice = Dice::new(number("HELIOGRAPH_CRASH_SEED").unwrap_or(21));
    let dir = tempfile::TempDir::new().unwrap();
    let data = dir.path().join("prekeys.redb");
    let mut server = process::native(&data, SETTINGS);
    let owner = Identity::register(&Client::http(&server.base));
    let run = Run { owner, given: Mutex::default(), uploads: Mutex::new((None, 1)) };
    for _ in 0..rounds {
        run.work(server, Duration::from_millis(20 + dice.below(280)));
        server = process::native(&data, SETTINGS);
    }
    let given = run.given.lock().unwrap();
    let twice: Vec<&String> = given.iter().filter(|(_, times)| **times > 1).map(|(key, _)| key).collect();
    assert!(twice.is_empty(), "{twice:?}");
    eprintln!("{rounds} kills, {} prekeys given once each", given.len());
    assert!(given.len() as u64 > rounds, "too little happened to prove anything");
    server.stop();
}
