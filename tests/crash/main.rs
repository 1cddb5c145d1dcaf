//! Kills the real server under load with kill -9, again and again on one data file. Everything that a client was told
//! must be there: messages once, in order, under the id of the answer; registrations; read marks. A message whose
//! answer was lost is sent again unchanged, and must not be doubled.
//!
//! The modules `prekeys` and `webhooks` do the same for one-time prekeys and webhooks.
//!
//! `HELIOGRAPH_CRASH_ROUNDS` sets the number of rounds (50); `HELIOGRAPH_CRASH_SEED` repeats the times of the kills of
//! a run.

mod prekeys;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use heliograph_tests::client::{Answer, Client};
use heliograph_tests::process::{self, Server};
use heliograph_tests::relay::{Agent, base64, letter, text};
use heliograph_tests::simulation::Dice;
use serde_json::{Value, json};

const SENDERS: usize = 4;
const READERS: usize = 2;
/// Every so many rounds the whole mailboxes are compared; in other rounds only what came since the last comparison.
const FULL: u64 = 25;

const SETTINGS: &[(&str, &str)] = &[
    ("admin_key", "crash-test-admin-key"),
    ("agent_per_second", "1000000"),
    ("agent_burst", "1000000"),
    ("registrations_per_hour", "100000000"),
    ("mailbox_messages", "10000000"),
];

/// An agent, independent of the present address of its server.
#[derive(Clone)]
struct Identity {
    did: String,
    api_key: String,
}

impl Identity {
    fn register(client: &Client) -> Identity {
        let agent = Agent::server_side(client);
        Identity { did: agent.did, api_key: agent.api_key }
    }

    fn agent(&self, client: &Client) -> Agent {
        let (did, api_key) = (self.did.clone(), self.api_key.clone());
        Agent { client: client.agent(&api_key), did, api_key, registration: Value::Null }
    }
}

/// The letters of one sender to one reader.
#[derive(Default)]
struct Line {
    /// Acknowledged letters in order: id and ciphertext.
    acknowledged: Vec<(String, String)>,
    /// A letter that was posted but not answered; it is sent again, unchanged, before anything else.
    pending: Option<Value>,
    /// The id under which the pending letter was found in the mailbox after a restart.
    stored: Option<String>,
}

/// What one reader was told, and how far its mailbox has been compared.
#[derive(Default)]
struct Mailbox {
    read: BTreeSet<String>,
    seen: Option<String>,
    /// Number of compared letters of each sender.
    compared: BTreeMap<usize, usize>,
}

struct Run {
    senders: Vec<Identity>,
    readers: Vec<Identity>,
    lines: BTreeMap<(usize, usize), Mutex<Line>>,
    mailboxes: Vec<Mutex<Mailbox>>,
    registered: Mutex<Vec<Identity>>,
    numbers: Mutex<u64>,
}

fn post(client: &Client, path: &str, body: &Value) -> Option<Answer> {
    let answer = client.try_send("POST", path, Some("application/json"), body.to_string().as_bytes()).ok()?;
    // A dying server may cut an answer short; then nothing was promised.
    serde_json::from_slice::<Value>(&answer.body).ok()?;
    Some(answer)
}

impl Run {
    fn new(client: &Client) -> Run {
        let agents = |count: usize| (0..count).map(|_| Identity::register(client)).collect::<Vec<_>>();
        let pairs = (0..SENDERS).flat_map(|sender| (0..READERS).map(move |reader| (sender, reader)));
        Run {
            senders: agents(SENDERS),
            readers: agents(READERS),
            lines: pairs.map(|pair| (pair, Mutex::default())).collect(),
            mailboxes: (0..READERS).map(|_| Mutex::default()).collect(),
            registered: Mutex::default(),
            numbers: Mutex::new(0),
        }
    }

    fn new_letter(&self, reader: usize) -> Value {
        let mut number = self.numbers.lock().unwrap();
        *number += 1;
        let mut body = letter(&self.readers[reader].did, "");
        body["ciphertext"] = json!(base64(&[number.to_be_bytes().as_slice(), &[0; 200]].concat()));
        body
    }

    /// Sends until the server is gone.
    fn send(&self, client: &Client, sender: usize) {
        let agent = self.senders[sender].agent(client);
        for reader in (0..READERS).cycle() {
            let mut line = self.lines[&(sender, reader)].lock().unwrap();
            let body = line.pending.take().unwrap_or_else(|| self.new_letter(reader));
            line.pending = Some(body.clone());
            let Some(answer) = post(&agent.client, "/v1/agent/send/encrypted", &body) else { return };
            let sent = answer.expect(201);
            let id = text(&sent, "id").to_owned();
            if let Some(stored) = line.stored.take() {
                assert_eq!(id, stored, "a repeat must be answered with the first id");
            }
            line.acknowledged.push((id, text(&body, "ciphertext").to_owned()));
            line.pending = None;
        }
    }

    fn register(&self, client: &Client) {
        while let Some(answer) = post(client, "/v1/agent/register", &json!({})) {
            let body = answer.expect(201);
            let identity = Identity { did: text(&body, "did").to_owned(), api_key: text(&body, "api_key").to_owned() };
            self.registered.lock().unwrap().push(identity);
        }
    }

    fn read(&self, client: &Client, reader: usize) {
        let agent = self.readers[reader].agent(client);
        loop {
            let Ok(page) = agent.client.try_send("GET", "/v1/agent/receive/raw?limit=5", None, b"") else { return };
            let Ok(page) = serde_json::from_slice::<Value>(&page.body) else { return };
            let ids: Vec<String> =
                page["messages"].as_array().unwrap().iter().map(|item| text(item, "id").to_owned()).collect();
            let mut mailbox = self.mailboxes[reader].lock().unwrap();
            for id in &ids {
                assert!(!mailbox.read.contains(id), "{id} was read and is unread again");
            }
            let body = json!({ "message_ids": ids });
            let Some(answer) = post(&agent.client, "/v1/agent/messages/read-batch", &body) else { return };
            assert_eq!(answer.expect(200)["updated"], ids.len());
            mailbox.read.extend(ids);
        }
    }

    /// Lets everybody work until the server is killed after `life`.
    fn work(&self, server: Server, life: Duration) {
        let client = Client::http(&server.base);
        std::thread::scope(|scope| {
            for sender in 0..SENDERS {
                let client = &client;
                scope.spawn(move || self.send(client, sender));
            }
            for reader in 0..READERS {
                let client = &client;
                scope.spawn(move || self.read(client, reader));
            }
            scope.spawn(|| self.register(&client));
            std::thread::sleep(life);
            server.kill();
        });
    }

    fn check_registrations(&self, client: &Client, from: usize) {
        for identity in &self.registered.lock().unwrap()[from..] {
            let agent = identity.agent(client);
            assert_eq!(agent.client.get("/v1/agent/profile").expect(200)["did"], json!(identity.did));
        }
    }

    /// Compares a mailbox, as a whole or since the last time, with what its senders and its reader were told.
    fn check_mailbox(&self, client: &Client, reader: usize, all: bool) {
        let agent = self.readers[reader].agent(client);
        let mut mailbox = self.mailboxes[reader].lock().unwrap();
        if all {
            mailbox.seen = None;
            mailbox.compared.clear();
        }
        let mut items: Vec<Value> = Vec::new();
        loop {
            let since = items.last().map(|item| text(item, "timestamp").to_owned()).or_else(|| mailbox.seen.clone());
            let since = since.map_or(String::new(), |since| format!("&since={since}"));
            let page = agent.client.get(&format!("/v1/agent/receive/raw?unread=false&limit=100{since}")).expect(200);
            items.extend(page["messages"].as_array().unwrap().iter().cloned());
            if page["has_more"] == false {
                break;
            }
        }
        let ids: BTreeSet<&str> = items.iter().map(|item| text(item, "id")).collect();
        assert_eq!(ids.len(), items.len(), "a message is there twice");
        for sender in 0..SENDERS {
            let mut line = self.lines[&(sender, reader)].lock().unwrap();
            let compared = mailbox.compared.entry(sender).or_default();
            let arrived: Vec<(String, String)> = items
                .iter()
                .filter(|item| item["from"] == json!(self.senders[sender].did))
                .map(|item| (text(item, "id").to_owned(), text(item, "ciphertext").to_owned()))
                .collect();
            let expected = line.acknowledged.get(*compared..).unwrap_or_default();
            let pending = line.pending.as_ref().map(|body| text(body, "ciphertext"));
            let count = expected.len();
            let (told, rest) = arrived.split_at(expected.len().min(arrived.len()));
            assert_eq!(told, expected, "sender {sender} was told otherwise");
            *compared += count;
            match rest {
                [] => {}
                // The letter was stored, but the answer was lost: the next acknowledgement will be for this letter.
                [(id, ciphertext)] if Some(ciphertext.as_str()) == pending => {
                    *compared += 1;
                    line.stored = Some(id.clone());
                }
                more => panic!("sender {sender} was never told of {more:?}"),
            }
        }
        for id in agent.items("/v1/agent/receive/raw?limit=100").iter().map(|item| text(item, "id")) {
            assert!(!mailbox.read.contains(id), "{id} was read and is unread again");
        }
        if let Some(last) = items.last() {
            mailbox.seen = Some(text(last, "timestamp").to_owned());
        }
    }
}

fn start(data: &Path) -> Server {
    process::native(data, SETTINGS)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let rounds = number("HELIOGRAPH_CRASH_ROUNDS").unwrap_or(50);
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
    let seed = number("HELIOGRAPH_CRASH_SEED").unwrap_or_else(clock);
    eprintln!("HELIOGRAPH_CRASH_SEED={seed}");
    let mut dice = Dice::new(seed);
    let dir = tempfile::TempDir::new().unwrap();
    let data = dir.path().join("crash.redb");
    let started = Instant::now();
    let mut server = start(&data);
    let run = Run::new(&Client::http(&server.base));
    let mut checked = 0;
    for round in 1..=rounds {
        let life = Duration::from_millis(20 + dice.below(480));
        run.work(server, life);
        server = start(&data);
        let client = Client::http(&server.base);
        let all = round % FULL == 0 || round == rounds;
        run.check_registrations(&client, if all { 0 } else { checked });
        checked = run.registered.lock().unwrap().len();
        for reader in 0..READERS {
            run.check_mailbox(&client, reader, all);
        }
    }
    let sent: usize = run.lines.values().map(|line| line.lock().unwrap().acknowledged.len()).sum();
    let read: usize = run.mailboxes.iter().map(|mailbox| mailbox.lock().unwrap().read.len()).sum();
    eprintln!("{rounds} kills, {sent} messages, {read} read marks, {checked} registrations, {:?}", started.elapsed());
    assert!(sent as u64 > rounds && read > 0 && checked > 0, "too little happened to prove anything");
    server.stop();
}
