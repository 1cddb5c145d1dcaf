//! Moving a whole deployment: dump and load, and data of earlier versions (decision schema-versions).

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use heliograph_core::crypto::Secret;
use heliograph_core::crypto::client::Options;
use heliograph_tests::client::Client;
use heliograph_tests::ledger::{Operator, Party};
use heliograph_tests::process::built;
use heliograph_tests::relay::{Agent, SdkAgent, base64, bytes, seed, text};
use heliograph_tests::target::{ADMIN_KEY, Kind, Target};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Suite, cases};

cases![
    a_deployment_moves_with_all_it_has,
    a_dump_is_refused_while_the_deployment_is_open,
    a_closed_deployment_reads_and_does_not_write,
    a_load_is_refused_where_it_would_do_harm,
    rows_of_many_pages_move,
    data_of_an_earlier_version_is_read_and_moves,
];

const CLOSED: &[(&str, &str)] = &[("closed", "true")];
/// These deployments may have a peer on loopback.
const OPEN: &[(&str, &str)] = &[("allow_outbound", "127.0.0.0/8")];

/// Runs a command of the program against a server.
fn command(client: &Client, arguments: &[&str]) -> Output {
    let mut command = Command::new(built("heliograph"));
    command.args(arguments).args(["--to", client.base().unwrap(), "--admin-key", ADMIN_KEY]);
    command.output().unwrap()
}

fn pages(client: &Client) -> Vec<Value> {
    let admin = client.admin();
    let (mut lines, mut query) = (Vec::new(), String::new());
    loop {
        let page = admin.get(&format!("/v1/admin/dump{query}")).expect(200);
        lines.extend(page["lines"].as_array().unwrap().iter().cloned());
        let Some(actor) = page["next"]["actor"].as_str() else { return lines };
        let encode = |text: &str| text.replace('+', "%2B").replace('=', "%3D");
        let row = page["next"]["row"].as_str().map(|row| format!("&row={}", encode(row))).unwrap_or_default();
        query = format!("?actor={actor}{row}");
    }
}

/// A dump: a header and lines. In memory there is no program that makes one.
struct Dump {
    header: Value,
    lines: Vec<Value>,
}

fn dump(client: &Client, folder: &Path) -> Dump {
    if client.base().is_none() {
        let header = client.admin().get("/v1/admin/dump/header").expect(200);
        return Dump { header, lines: pages(client) };
    }
    let file = folder.join("dump.jsonl");
    let done = command(client, &["dump", file.to_str().unwrap()]);
    assert!(done.status.success(), "{done:?}");
    let lines = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(file).unwrap();
    let mut lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.pop().unwrap()["end"].is_object(), "the last line counts");
    Dump { header: lines.remove(0), lines }
}

impl Dump {
    fn totals(&self) -> Value {
        let own = |row: &Value| {
            let key = heliograph_tests::relay::bytes(&row[0]);
            key[0] >= 16
        };
        let rows = self.lines.iter().flat_map(|line| line["rows"].as_array().unwrap()).filter(|row| own(row));
        let actors = self.lines.iter().filter(|line| line["first"] == true);
        json!({ "actors": actors.count(), "rows": rows.count() })
    }

    fn write(&self, folder: &Path) -> PathBuf {
        let file = folder.join("load.jsonl");
        let end = json!({ "end": self.totals() });
        let all = std::iter::once(&self.header).chain(&self.lines).chain([&end]);
        std::fs::write(&file, all.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        file
    }

    fn load(&self, client: &Client, folder: &Path) {
        if client.base().is_none() {
            let admin = client.admin();
            let check = json!({ "header": self.header });
            assert_eq!(admin.post("/v1/admin/load/check", &check).expect(200)["empty"], true);
            for lines in self.lines.chunks(20) {
                admin.post("/v1/admin/load", &json!({ "lines": lines })).expect(200);
            }
            return;
        }
        let done = command(client, &["load", self.write(folder).to_str().unwrap()]);
        assert!(done.status.success(), "{done:?}");
        assert!(String::from_utf8_lossy(&done.stdout).starts_with("loaded "), "{done:?}");
    }
}

/// Moves the data of `source` to a new deployment of this kind.
pub fn moved(source: Target, kind: Kind) -> Target {
    moved_as(source, kind, |_| ())
}

/// The same; `look` sees the dump.
fn moved_as(source: Target, kind: Kind, look: impl FnOnce(&Dump)) -> Target {
    let folder = TempDir::new().unwrap();
    let source = source.restart(CLOSED);
    let dumped = dump(&source.client(), folder.path());
    look(&dumped);
    let target = Target::start(kind, CLOSED);
    dumped.load(&target.client(), folder.path());
    drop(source);
    target.restart(OPEN)
}

/// The deployments of a move in order: two of one kind, or for the edge a data file before and after it.
fn way(kind: Kind) -> &'static [Kind] {
    match kind {
        Kind::Memory => &[Kind::Memory, Kind::Memory],
        Kind::Native => &[Kind::Native, Kind::Native],
        Kind::Edge => &[Kind::Native, Kind::Edge, Kind::Native],
    }
}

/// A new public key.
fn ed25519() -> [u8; 32] {
    heliograph_core::crypto::signing::signing_public_key(&Secret::new(seed()))
}

struct Scene {
    ada: Agent,
    bob: Agent,
    sdk: SdkAgent,
    channel: String,
    task: String,
    key: String,
}

fn scene(client: &Client) -> Scene {
    let ada = Agent::register(client, &json!({ "name": "Ada", "capabilities": ["weave"], "metadata": { "a": 1 } }));
    let bob = Agent::server_side(client);
    let mut sdk = SdkAgent::new(client, Options::default());
    ada.mark_read(&bob.say(&ada.did, "read"));
    bob.say(&ada.did, "unread");
    sdk.say(&ada.did, "from a client with keys of its own");
    let channel = ada.client.post("/v1/agent/channels", &json!({ "name": "moving", "topic": "t" })).expect(201);
    let channel = text(&channel, "id").to_owned();
    bob.client.post(&format!("/v1/agent/channels/{channel}/join"), &json!({})).expect(200);
    let post = json!({ "message": "sealed under the key of the channel" });
    bob.client.post(&format!("/v1/agent/channels/{channel}/messages"), &post).expect(201);
    let task = json!({ "to": bob.did, "capability": "sum", "input": { "a": [1, 2] } });
    let task = text(&ada.client.post("/v1/agent/tasks", &task).expect(201), "id").to_owned();
    ada.client.post("/v1/agent/capabilities", &json!({ "name": "weaving" })).expect(201);
    ada.client.post("/v1/agent/username", &json!({ "username": "ada" })).expect(201);
    let claim = json!({ "claim_type": "blocked", "claim_data": {}, "domain": "example.org", "country": "KE" });
    ada.client.post("/v1/agent/attestations", &claim).expect(201);
    ada.client.send("PUT", "/v1/agent/memory/n/k", Some("application/json"), br#"{"value":{"x":1}}"#).expect(200);
    bob.client.post("/v1/agent/keys/pin", &json!({ "did": ada.did })).expect(200);
    let peer = json!({ "url": "http://127.0.0.1:9", "name": "far", "public_key": base64(&ed25519()) });
    client.admin().post("/v1/admin/peers", &peer).expect(201);
    assert_eq!(bytes(&client.get("/v1/relay/info").expect(200)["relay"]["public_key"]).len(), 32);
    let key = client.admin().post("/v1/admin/keys", &json!({ "tier": "research", "label": "moves" })).expect(201);
    let hook = json!({ "webhook_url": "https://hooks.example.org/a", "country_code": "KE" });
    client.key(text(&key, "api_key")).post("/api/alerts/subscribe", &hook).expect(201);
    let list = "/v1/admin/import/blocklist?country=ET&list_kind=court&date=2025-12-02";
    client.admin().send("POST", list, Some("text/plain"), b"blocked.example.org\n").expect(200);
    let signature = json!({ "fingerprint": "b_nat_tr_order", "pattern": "closed by order" }).to_string() + "\n";
    let list = "/v1/admin/import/fingerprints?list=blockpage_signatures";
    client.admin().send("POST", list, None, signature.as_bytes()).expect(200);
    crate::incidents::with_three(client);
    crate::probes::Node::register(client, &json!({ "country": "NO" }));
    Operator::new(client, "grant").act("grant", json!({ "did": ada.did, "amount_micro": 77 })).expect(200);
    let provider = Party::new(client);
    provider.act("capability-list", provider.listing("moving.test", 5)).expect(200);
    Scene { ada, bob, sdk, channel, task, key: text(&key, "api_key").to_owned() }
}

impl Scene {
    /// The same agents at another address.
    fn at(&self, client: &Client) -> Scene {
        let agent = |agent: &Agent| Agent { client: client.agent(&agent.api_key), ..agent.clone() };
        Scene {
            ada: agent(&self.ada),
            bob: agent(&self.bob),
            sdk: SdkAgent { agent: agent(&self.sdk.agent), sdk: self.sdk.sdk.clone() },
            channel: self.channel.clone(),
            task: self.task.clone(),
            key: self.key.clone(),
        }
    }

    /// The answers of the deployment, without members that every request changes.
    fn answers(&self, client: &Client) -> Vec<(String, Value)> {
        let posts = format!("/v1/agent/channels/{}/messages", self.channel);
        let task = format!("/v1/agent/tasks/{}", self.task);
        let identity = format!("/v1/agent/identity/{}", self.ada.did);
        let trust = format!("/v1/agent/trust/{}", self.ada.did);
        let wallet = format!("/v1/pay/wallet/{}", self.ada.did);
        let found = format!("/v1/agent/discover?query={}", self.ada.did);
        let asked: Vec<(&Client, &str)> = vec![
            (&self.ada.client, "/v1/agent/profile"),
            (&self.ada.client, "/v1/agent/receive?unread=false"),
            (&self.ada.client, "/v1/agent/receive/raw"),
            (&self.ada.client, "/v1/agent/messages/unread-count"),
            (&self.bob.client, "/v1/agent/channels?mine=true"),
            (&self.ada.client, &posts),
            (&self.bob.client, &task),
            (&self.ada.client, "/v1/agent/tasks?role=requester"),
            (&self.ada.client, "/v1/agent/capabilities"),
            (&self.ada.client, "/v1/agent/memory/n/k"),
            (&self.bob.client, "/v1/agent/keys/pins"),
            (client, "/v1/agent/capabilities/search?name=weaving"),
            (client, "/v1/agent/channels?q=moving"),
            (client, "/v1/agent/attestations?country=KE"),
            (client, "/v1/agent/username/ada"),
            (client, &identity),
            (client, &trust),
            (client, &wallet),
            (client, &found),
            (client, "/v1/pay/capability/search?q=moving"),
            (client, "/v1/relay/peers"),
            (client, "/data/incidents/KE-2023-0001"),
            (client, "/v1/agent/attestations/consensus?country=KE"),
        ];
        let mut answers: Vec<(String, Value)> = Vec::new();
        for (caller, path) in asked {
            let mut answer = caller.get(path).expect(200);
            for volatile in ["last_seen", "message_count"] {
                if let Some(object) = answer.as_object_mut() {
                    object.remove(volatile);
                }
            }
            // Links contain the address, which is different.
            if let Some(base) = client.base() {
                answer = serde_json::from_str(&answer.to_string().replace(base, "")).unwrap();
            }
            answers.push((path.to_owned(), answer));
        }
        let subscriptions = client.key(&self.key).get("/api/alerts/subscriptions").expect(200);
        answers.push(("subscriptions".to_owned(), subscriptions));
        let mut alerts = client.get("/api/alerts/stats").expect(200);
        alerts["generation"].take();
        answers.push(("alerts".to_owned(), alerts));
        let keys = client.admin().get("/v1/admin/keys").expect(200);
        answers.push(("keys".to_owned(), keys));
        let relay = client.get("/v1/relay/info").expect(200);
        answers.push((
            "relay".to_owned(),
            json!([relay["deployment_id"], relay["relay"]["public_key"], relay["federation"]]),
        ));
        let detected = client
            .key(&self.key)
            .post("/hydra/v1/detect", &json!({ "country": "ET", "target": "blocked.example.org" }));
        let mut detected = detected.expect(200);
        let said = json!({ "status": detected["status"].take(), "blocked": detected["blocked"].take() });
        answers.push(("detect".to_owned(), said));
        answers
    }
}

/// "Every later issue adds its actors to dump and load, with a test": a new kind of actor fails here until the scene
/// has one and asks about it.
#[track_caller]
fn every_kind_of_actor_moves(dump: &Dump) {
    let kinds = dump.lines.iter().map(|line| text(line, "actor").split_once('/').unwrap().0);
    let kinds: BTreeSet<&str> = kinds.collect();
    let all = heliograph_core::engine::actor::Kind::ALL.map(heliograph_core::engine::actor::Kind::as_str);
    assert_eq!(kinds, BTreeSet::from(all));
}

#[track_caller]
fn settled(client: &Client, scene: &Scene) -> Vec<(String, Value)> {
    for _ in 0..200 {
        let mine = scene.bob.client.get("/v1/agent/channels?mine=true").expect(200);
        let asked = scene.ada.client.get("/v1/agent/tasks?role=requester").expect(200);
        if mine["count"] == 1 && asked["count"] == 1 {
            return scene.answers(client);
        }
        client.wait(Duration::from_millis(50));
    }
    panic!("effects never arrived");
}

/// From native to native, or from native to the edge and back: every stop gives the same answers, and everything
/// continues.
fn a_deployment_moves_with_all_it_has(suite: &Suite) {
    let way = way(suite.kind);
    let mut here = Target::start(way[0], OPEN);
    let first = scene(&here.client());
    let expected = settled(&here.client(), &first);
    for kind in &way[1..] {
        here = moved_as(here, *kind, every_kind_of_actor_moves);
        let client = here.client();
        let scene = first.at(&client);
        for ((path, before), (_, after)) in expected.iter().zip(scene.answers(&client)) {
            assert_eq!(*before, after, "{path} on {}", kind.name());
        }
    }
    let client = here.client();
    let mut scene = first.at(&client);
    scene.bob.say(&scene.ada.did, "after the move");
    scene.sdk.say(&scene.ada.did, "in the session from before");
    let inbox = scene.ada.inbox();
    let said: Vec<&str> = inbox.iter().map(|message| text(message, "content")).collect();
    assert_eq!(said[said.len() - 2..], ["after the move", "in the session from before"]);
    let done = json!({ "status": "completed", "output": 3 });
    scene.bob.client.patch(&format!("/v1/agent/tasks/{}", scene.task), &done).expect(200);
    for _ in 0..200 {
        let asked = scene.ada.client.get("/v1/agent/tasks?role=requester").expect(200);
        if asked["tasks"][0]["status"] == "completed" {
            return;
        }
        client.wait(Duration::from_millis(50));
    }
    panic!("effects do not go on");
}

fn a_dump_is_refused_while_the_deployment_is_open(suite: &Suite) {
    let client = suite.client();
    for path in ["/v1/admin/dump", "/v1/admin/dump/header"] {
        client.admin().get(path).expect_error(409, "CONFLICT");
        client.get(path).expect_error(401, "UNAUTHORIZED");
    }
    client.admin().post("/v1/admin/load", &json!({ "lines": [] })).expect_error(409, "CONFLICT");
}

fn a_closed_deployment_reads_and_does_not_write(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let (ada, bob) = (Agent::server_side(&client), Agent::server_side(&client));
    bob.say(&ada.did, "before");
    let target = target.restart(CLOSED);
    let client = target.client();
    let key = bob.api_key;
    let (ada, bob) = (client.agent(&ada.api_key), client.agent(&key));
    assert_eq!(ada.get("/v1/agent/receive").expect(200)["count"], 1);
    let did = text(&ada.get("/v1/agent/profile").expect(200), "did").to_owned();
    let answer = bob.post("/v1/agent/send", &json!({ "to": did, "message": "x" }));
    answer.expect_error(503, "UNAVAILABLE");
    assert!(answer.header("retry-after").is_some());
    client.post("/v1/agent/register", &json!({})).expect_error(503, "UNAVAILABLE");
    let target = target.restart(&[]);
    let bob = target.client().agent(&key);
    bob.post("/v1/agent/send", &json!({ "to": did, "message": "x" })).expect(201);
}

fn a_load_is_refused_where_it_would_do_harm(suite: &Suite) {
    let target = suite.fresh(CLOSED);
    let admin = target.client().admin();
    let header = admin.get("/v1/admin/dump/header").expect(200);
    assert_eq!(header["heliograph_dump"], 1);
    let check = |header: &Value| admin.post("/v1/admin/load/check", &json!({ "header": header }));
    assert_eq!(check(&header).expect(200)["empty"], true);
    let with = |name: &str, value: Value| {
        let mut changed = header.clone();
        changed[name] = value;
        changed
    };
    check(&with("heliograph_dump", json!(2))).expect_error(400, "BAD_REQUEST");
    check(&with("schema", json!(1_000))).expect_error(409, "CONFLICT");
    check(&with("brand", json!("other"))).expect_error(409, "CONFLICT");
    check(&with("key_check", json!("00".repeat(32)))).expect_error(409, "CONFLICT");
    // A deployment with data is not overwritten without `--replace`.
    let target = target.restart(&[]);
    Agent::server_side(&target.client());
    target.client().wait(Duration::from_millis(500));
    let target = target.restart(CLOSED);
    let admin = target.client().admin();
    admin.post("/v1/admin/load/check", &json!({ "header": header })).expect_error(409, "CONFLICT");
    let check = json!({ "header": header, "replace": true });
    assert_eq!(admin.post("/v1/admin/load/check", &check).expect(200)["empty"], false);
    if target.base().is_some() {
        damaged_files_are_refused_before_anything_is_sent(&target.client(), &header);
    }
}

fn damaged_files_are_refused_before_anything_is_sent(client: &Client, header: &Value) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("bad.jsonl");
    let line = json!({ "actor": "agent/x", "first": true, "rows": [["EA==", "AQ=="]] });
    let end = json!({ "end": { "actors": 1, "rows": 1 } });
    let newer = json!({ "heliograph_dump": 2, "unknown": true });
    for (lines, says) in [
        (vec![header, &line], "not complete"),
        (vec![header, &line, &line, &end], "damaged"),
        (vec![&newer, &end], "version 2"),
        (vec![&line, &end], "no file that `heliograph dump` wrote"),
    ] {
        std::fs::write(&file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        let done = command(client, &["load", file.to_str().unwrap(), "--replace"]);
        assert!(!done.status.success());
        assert!(String::from_utf8_lossy(&done.stderr).contains(says), "{says}: {done:?}");
    }
}

fn rows_of_many_pages_move(suite: &Suite) {
    let target = Target::start(way(suite.kind)[0], &[]);
    let ada = Agent::server_side(&target.client());
    // More rows than a page has, and values that fill a page by themselves.
    for n in 0..500 {
        let path = format!("/v1/agent/memory/many/{n:03}");
        ada.client.send("PUT", &path, Some("application/json"), format!(r#"{{"value":{n}}}"#).as_bytes()).expect(200);
    }
    let large = "x".repeat(700_000);
    for n in 0..4 {
        let body = json!({ "value": large }).to_string();
        let path = format!("/v1/agent/memory/large/{n}");
        ada.client.send("PUT", &path, Some("application/json"), body.as_bytes()).expect(200);
    }
    let target = moved(target, suite.kind);
    let ada = target.client().agent(&ada.api_key);
    assert_eq!(ada.get("/v1/agent/memory/many?limit=1000").expect(200)["count"], 500);
    assert_eq!(ada.get("/v1/agent/memory/many/499").expect(200)["value"], 499);
    assert_eq!(ada.get("/v1/agent/memory/large/3").expect(200)["value"], json!(large));
}

/// A data file from before rows had a version, written by that version of the program, and the agents in it.
pub fn earlier_file() -> (Value, Vec<u8>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/earlier");
    let known: Value = serde_json::from_slice(&std::fs::read(folder.join("schema-1.json")).unwrap()).unwrap();
    let packed = std::fs::File::open(folder.join("schema-1.redb.gz")).unwrap();
    let mut data = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut data).unwrap();
    (known, data)
}

fn data_of_an_earlier_version_is_read_and_moves(suite: &Suite) {
    let (known, data) = earlier_file();
    let (scratch, old) = (TempDir::new().unwrap(), Target::on_file(&data, CLOSED));
    let dumped = dump(&old.client(), scratch.path());
    let target = match suite.kind {
        // Natively the present program opens the file itself.
        Kind::Native => Target::on_file(&data, &[]),
        kind => {
            let target = Target::start(kind, CLOSED);
            dumped.load(&target.client(), scratch.path());
            target.restart(&[])
        }
    };
    let client = target.client();
    let agent = |name: &str| client.agent(text(&known[name], "api_key"));
    let (ada, bob) = (agent("ada"), agent("bob"));
    assert_eq!(ada.get("/v1/agent/profile").expect(200)["name"], "Earlier Ada");
    assert_eq!(bob.get("/v1/agent/memory/notes/one").expect(200)["value"], json!({ "kept": true }));
    let unread = bob.get("/v1/agent/messages/unread-count").expect(200);
    assert!(unread["unread_count"].is_u64());
    for n in 0..2 {
        let said = json!({ "to": known["bob"]["did"], "message": n.to_string() });
        ada.post("/v1/agent/send", &said).expect(201);
    }
    let inbox = bob.get("/v1/agent/receive").expect(200);
    let inbox = inbox["messages"].as_array().unwrap();
    assert_eq!(text(inbox.last().unwrap(), "content"), "1");
    // Each agent counts once, however often it does something from now on.
    ada.patch("/v1/agent/profile", &json!({ "metadata": { "n": 1 } })).expect(200);
    ada.patch("/v1/agent/profile", &json!({ "metadata": { "n": 2 } })).expect(200);
    for _ in 0..200 {
        let stats = client.get("/v1/agent/stats").expect(200);
        if stats["stats"]["total_agents"] == 2 {
            assert_eq!(stats["stats"]["capabilities"], json!(["translate"]));
            return;
        }
        client.wait(Duration::from_millis(50));
    }
    panic!("{}", client.get("/v1/agent/stats").text());
}
