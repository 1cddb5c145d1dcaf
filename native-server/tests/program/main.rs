//! The program as a user runs it.
#![allow(clippy::unwrap_used, clippy::panic)]

#[cfg(unix)]
mod commands;
#[cfg(unix)]
mod descriptors;
#[cfg(unix)]
mod files;
mod imports;
mod incidents;
#[cfg(unix)]
mod life;
#[cfg(unix)]
mod logs;
#[cfg(unix)]
mod operating;
#[cfg(unix)]
mod outside;
#[cfg(unix)]
mod paths;
#[cfg(unix)]
mod settings;
#[cfg(unix)]
mod storage;
#[cfg(unix)]
mod tls;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use heliograph::keyfile;
use heliograph::testing::{Folder, folder};
use heliograph_core::crypto::Secret;
use heliograph_core::crypto::sealing::MasterKey;
use heliograph_core::engine::actor::{ActorId, Kind};
use serde_json::{Value, json};

fn heliograph(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heliograph"));
    // With services of its own, the deployment would have one more agent than the tests count.
    command.env("HELIOGRAPH_FIRST_PARTY_SERVICES", "false");
    command.arg("--data").arg(data).env_remove("HELIOGRAPH_ADMIN_KEY").stdin(Stdio::null());
    command
}

fn run(data: &Path, arguments: &[&str]) -> Output {
    heliograph(data).args(arguments).output().unwrap()
}

/// Standard output of a command that must succeed.
fn good(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a command that must fail.
fn bad(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    assert!(!output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

struct Server {
    child: Child,
    base: String,
    rest: BufReader<std::process::ChildStdout>,
}

impl Server {
    fn start(data: &Path) -> Server {
        Server::start_with(data, &[])
    }

    fn start_with(data: &Path, arguments: &[&str]) -> Server {
        let mut command = heliograph(data);
        let child = command
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Server::of(child)
    }

    /// Reads the address of a server process, once it says that it listens.
    fn of(mut child: Child) -> Server {
        let mut rest = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        rest.read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Server { child, base, rest }
    }

    /// Stops the server with SIGTERM; returns what else it wrote to standard output.
    fn stop(mut self) -> String {
        let killed = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status().unwrap();
        assert!(killed.success());
        let mut rest = String::new();
        self.rest.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success());
        rest
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn get(url: &str, header: (&str, &str)) -> (u16, Value) {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    answer(agent.get(url).header(header.0, header.1).call().unwrap())
}

fn post(url: &str, header: (&str, &str), body: &Value) -> (u16, Value) {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let request = agent.post(url).header(header.0, header.1).header("content-type", "application/json");
    answer(request.send(body.to_string()).unwrap())
}

fn answer(mut response: ureq::http::Response<ureq::Body>) -> (u16, Value) {
    let text = response.body_mut().read_to_string().unwrap();
    (response.status().as_u16(), serde_json::from_str(&text).unwrap_or_default())
}

fn data(name: &str) -> (Folder, std::path::PathBuf) {
    let folder = folder(name);
    let path = folder.file("d.redb");
    (folder, path)
}

/// Decision one-ready-line.
#[test]
fn standard_output_has_the_ready_line_and_nothing_else() {
    let (_folder, path) = data("ready");
    let server = Server::start(&path);
    assert_eq!(get(&format!("{}/healthz", server.base), ("x-a", "b")).0, 200);
    let (status, body) = get(&format!("{}/readyz", server.base), ("x-a", "b"));
    assert_eq!((status, body["status"].as_str()), (200, Some("ready")));
    assert_eq!(server.stop(), "");
}

/// Decision commands-on-servers.
#[test]
fn a_second_process_is_told_to_use_to() {
    let (_folder, path) = data("second");
    let server = Server::start(&path);
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["keys", "list"], &["db", "info"], &["db", "check"]] {
        let error = bad(&path, arguments);
        assert!(error.contains("in use by another process") && error.contains("--to"), "{error}");
    }
    let made = good(&path, &["keys", "create", "--tier", "bench", "--label", "mine", "--to", &server.base]);
    assert!(made.starts_with("svc_key_"), "{made}");
    let listed = good(&path, &["keys", "list", "--to", &server.base]);
    assert!(listed.contains("\tbench\tactive\t") && listed.contains("\tmine"), "{listed}");
    let info: Value = serde_json::from_str(&good(&path, &["db", "info", "--json", "--to", &server.base])).unwrap();
    assert_eq!(info["actors"]["account"], 1);
    assert_eq!(info["brand"], "svc");
    let error = bad(&path, &["keys", "list", "--to", &server.base, "--admin-key", "wrong-key-wrong-key"]);
    assert!(error.contains("operator key was refused"), "{error}");
}

#[test]
fn keys_made_on_the_file_work_at_the_server_until_they_are_revoked() {
    let (_folder, path) = data("keys");
    let key = good(&path, &["keys", "create", "--tier", "enterprise"]).trim().to_owned();
    let server = Server::start(&path);
    let listed = good(&path, &["keys", "list", "--to", &server.base]);
    assert_eq!(listed.lines().count(), 1);
    assert!(listed.contains("\tenterprise\tactive\t"));
    // The whole key names its account, so that a leaked key can be revoked as it was found.
    good(&path, &["keys", "revoke", &key, "--to", &server.base]);
    assert_eq!(server.stop(), "");
    assert!(good(&path, &["keys", "list"]).contains("\trevoked\t"));
    let error = bad(&path, &["keys", "revoke", "nobody"]);
    assert!(error.contains("NOT_FOUND"), "{error}");
    assert!(good(&path, &["db", "check"]).contains("sound"));
}

/// Decision commands-on-servers.
#[test]
fn a_running_server_is_backed_up_and_the_copy_starts_with_its_key() {
    let (folder, path) = data("backup");
    let server = Server::start(&path);
    let to = ["--to", server.base.as_str()];
    for n in 0..3 {
        good(&path, &["keys", "create", "--tier", "research", "--label", &n.to_string(), to[0], to[1]]);
    }
    let copy = folder.file("copy.redb");
    let made = run(&path, &["db", "backup", copy.to_str().unwrap(), to[0], to[1]]);
    let told = String::from_utf8(made.stderr).unwrap();
    assert!(made.status.success(), "{told}");
    // Decision master-key-file: the copy alone restores nothing.
    assert!(told.contains("two files") && told.contains(keyfile::path_for(&copy).to_str().unwrap()), "{told}");
    let error = bad(&path, &["db", "backup", copy.to_str().unwrap(), to[0], to[1]]);
    assert!(error.contains("cannot write"), "{error}");
    assert_eq!(server.stop(), "");
    // The copy is refused without its key file; with it everything is there.
    let error = bad(&copy, &["keys", "list"]);
    assert!(error.contains("missing"), "{error}");
    std::fs::copy(keyfile::path_for(&path), keyfile::path_for(&copy)).unwrap();
    assert_eq!(good(&copy, &["keys", "list"]), good(&path, &["keys", "list"]));
    assert!(good(&copy, &["db", "check"]).contains("sound"));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

/// Decision master-key-file.
#[test]
fn another_key_file_or_brand_is_refused() {
    let (folder, path) = data("wrong-key");
    good(&path, &["keys", "create", "--tier", "research"]);
    let error = bad(&path, &["serve", "--listen", "127.0.0.1:0", "--brand", "other"]);
    assert!(error.contains("brand"), "{error}");
    let other = folder.file("other.redb");
    good(&other, &["keys", "create", "--tier", "research"]);
    std::fs::copy(keyfile::path_for(&other), keyfile::path_for(&path)).unwrap();
    let error = bad(&path, &["serve", "--listen", "127.0.0.1:0"]);
    assert!(error.contains("master key does not belong"), "{error}");
}

#[test]
fn after_a_kill_everything_acknowledged_is_there() {
    let (_folder, path) = data("kill");
    let mut accounts = 0;
    for _ in 0..3 {
        let mut server = Server::start(&path);
        for _ in 0..2 {
            good(&path, &["keys", "create", "--tier", "research", "--to", &server.base]);
            accounts += 1;
        }
        server.kill();
    }
    assert_eq!(good(&path, &["keys", "list"]).lines().count(), accounts);
}

#[test]
fn a_stopped_server_leaves_a_file_that_needs_no_repair() {
    let (_folder, path) = data("clean");
    let server = Server::start(&path);
    good(&path, &["keys", "create", "--tier", "research", "--to", &server.base]);
    server.stop();
    let listed = run(&path, &["keys", "list"]);
    let told = String::from_utf8(listed.stderr).unwrap();
    assert!(listed.status.success() && !told.contains("not closed cleanly"), "{told}");
    // After a server was killed, the next command on its file says so.
    let mut server = Server::start(&path);
    good(&path, &["keys", "create", "--tier", "research", "--to", &server.base]);
    server.kill();
    let told = String::from_utf8(run(&path, &["keys", "list"]).stderr).unwrap();
    assert!(told.contains("not closed cleanly"), "{told}");
}

#[test]
fn commands_that_need_data_do_not_make_any() {
    let (folder, path) = data("nothing");
    for arguments in [&["keys", "list"][..], &["db", "info"], &["db", "check"]] {
        assert!(bad(&path, arguments).contains("there is no data file"));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(good(&path, &["config", "--set", "brand=acme"]).contains("brand = \"acme\"  # from flag"));
}

/// An agent whose keys the server holds.
struct Agent {
    did: String,
    key: String,
}

impl Server {
    fn register(&self) -> Agent {
        let (status, made) = post(&format!("{}/v1/agent/register", self.base), ("x-a", "b"), &json!({}));
        assert_eq!(status, 201, "{made}");
        Agent { did: made["did"].as_str().unwrap().into(), key: made["api_key"].as_str().unwrap().into() }
    }

    fn send(&self, from: &Agent, to: &Agent, text: &str) {
        let body = json!({ "to": to.did, "message": text });
        let (status, sent) = post(&format!("{}/v1/agent/send", self.base), ("x-agent-key", &from.key), &body);
        assert_eq!(status, 201, "{sent}");
    }

    fn texts(&self, agent: &Agent) -> Vec<String> {
        let (status, page) = get(&format!("{}/v1/agent/receive", self.base), ("x-agent-key", &agent.key));
        assert_eq!(status, 200, "{page}");
        page["messages"].as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap().to_owned()).collect()
    }

    /// What `db info` says of sealed values: all of them, those under earlier keys, and whether values are being moved.
    fn sealed(&self, path: &Path) -> (u64, u64, bool) {
        let keys = keyfile::load_or_create(path, false).unwrap();
        let (status, info) = get(&format!("{}/v1/admin/db", self.base), ("x-admin-key", &keys.admin_key));
        assert_eq!(status, 200, "{info}");
        sealed(&info)
    }

    fn until_moved(&self, path: &Path) -> u64 {
        let started = std::time::Instant::now();
        loop {
            let (all, earlier, moving) = self.sealed(path);
            if !moving {
                assert_eq!(earlier, 0);
                return all;
            }
            assert!(started.elapsed().as_secs() < 120, "{earlier} of {all} are not moved");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn sealed(info: &Value) -> (u64, u64, bool) {
    let number = |name: &str| info[name].as_u64().unwrap();
    (number("sealed_values"), number("sealed_under_earlier_keys"), info["resealing"].as_bool().unwrap())
}

fn sealed_in_file(path: &Path) -> (u64, u64, bool) {
    sealed(&serde_json::from_str(&good(path, &["db", "info", "--json"])).unwrap())
}

/// How many rows of these agents name the current master key, and how many an earlier one. It counts them independently
/// of the code under test.
fn rows_by_key(path: &Path, agents: &[&Agent]) -> (usize, usize) {
    use heliograph_core::engine::kv::{Direction, Range};
    let ring = keyfile::load_or_create(path, false).unwrap();
    let store = heliograph::store::Store::open(heliograph::store::Options::new(path)).unwrap();
    let (mut current, mut earlier) = (0, 0);
    let ids: Vec<_> =
        std::iter::once(&ring.master).chain(&ring.earlier).map(|key| MasterKey::new(Secret::new(*key)).id()).collect();
    for agent in agents {
        let id = heliograph_core::crypto::encoding::parse_did("svc", &agent.did).unwrap();
        let actor = ActorId::new(Kind::Agent, heliograph_core::crypto::encoding::actor_id(&id));
        let rows = store.read_actor(&actor, |rows| Ok(rows.scan(&Range::all(), Direction::Ascending, usize::MAX)?));
        for (_, value) in rows.unwrap() {
            let names = |id: &[u8; 8]| value.windows(8).any(|window| window == id);
            current += usize::from(names(&ids[0]));
            earlier += usize::from(ids[1..].iter().any(names));
        }
    }
    (current, earlier)
}

/// Decision master-key-file.
#[test]
fn a_running_server_gets_a_new_master_key_and_everything_goes_on() {
    use heliograph_core::crypto::client::{Client, Meta, Options, Peer};
    use heliograph_core::crypto::encoding::{decode_base64, decode_base64_array};
    let (folder, path) = data("rotate");
    let server = Server::start(&path);
    let api_key = good(&path, &["keys", "create", "--tier", "research", "--to", &server.base]).trim().to_owned();
    let (ada, bob) = (server.register(), server.register());
    let mut client = Client::new("svc", [1; 32], Options::default());
    let own = post(&format!("{}/v1/agent/register", server.base), ("x-a", "b"), &client.key_body(None, 1));
    let own = Agent { did: client.did.clone(), key: own.1["api_key"].as_str().unwrap().to_owned() };
    let mut encrypted = |base: &str, text: &str| {
        let peer = get(&format!("{base}/v1/agent/identity/{}", bob.did), ("x-a", "b")).1;
        let key = |name: &str| decode_base64_array("key", peer[name].as_str().unwrap()).unwrap();
        let peer = Peer {
            did: bob.did.clone(),
            signing_key: key("signing_public_key"),
            encryption_key: key("encryption_public_key"),
            kem_key: Some(decode_base64("k", peer["mlkem_public_key"].as_str().unwrap()).unwrap()),
        };
        let posted = client.send(&peer, "2026-01-01T00:00:00.000Z", text, Meta::default()).unwrap();
        let body = serde_json::to_value(posted).unwrap();
        assert_eq!(post(&format!("{base}/v1/agent/send/encrypted"), ("x-agent-key", &own.key), &body).0, 201);
    };
    encrypted(&server.base, "one");
    server.send(&ada, &bob, "two");
    assert_eq!(server.texts(&bob), ["one", "two"]);
    assert_eq!(server.sealed(&path), (3, 0, false));
    let before = folder.file("before.key");
    std::fs::copy(keyfile::path_for(&path), &before).unwrap();

    let rotated = run(&path, &["keys", "rotate-master", "--to", &server.base]);
    let told = String::from_utf8(rotated.stderr).unwrap();
    assert!(rotated.status.success() && told.contains("stay in the key file"), "{told}");
    assert!(String::from_utf8(rotated.stdout).unwrap().ends_with(", 1 earlier\n"));
    assert_eq!(server.until_moved(&path), 3);
    // The same server continues with old sessions, old keys and new agents.
    let eve = server.register();
    encrypted(&server.base, "three");
    server.send(&eve, &bob, "four");
    assert_eq!(server.texts(&bob), ["one", "two", "three", "four"]);
    server.stop();
    assert_eq!(rows_by_key(&path, &[&ada, &bob, &eve, &own]), (4, 0));

    let server = Server::start(&path);
    assert_eq!(server.texts(&bob), ["one", "two", "three", "four"]);
    encrypted(&server.base, "five");
    server.send(&ada, &bob, "six");
    assert_eq!(server.texts(&bob).len(), 6);
    let question = json!({ "country": "IR", "target": "telegram.org" });
    assert_eq!(post(&format!("{}/hydra/v1/detect", server.base), ("x-api-key", &api_key), &question).0, 200);
    server.stop();
    // On a file without a server the command runs until it is done.
    let told = String::from_utf8(run(&path, &["keys", "rotate-master"]).stderr).unwrap();
    assert!(told.contains("all 4 sealed values are under the current master key"), "{told}");
    assert_eq!(rows_by_key(&path, &[&ada, &bob, &eve, &own]), (4, 0));
    assert_eq!(Server::start(&path).texts(&bob).len(), 6);
    // A key file from before the rotation is refused for data from after it.
    std::fs::copy(&before, keyfile::path_for(&path)).unwrap();
    let error = bad(&path, &["serve", "--listen", "127.0.0.1:0"]);
    assert!(error.contains("master key does not belong"), "{error}");
}

/// Decision master-key-file.
#[test]
fn a_kill_in_the_middle_of_resealing_loses_nothing_and_the_next_start_goes_on() {
    const AGENTS: u64 = 200;
    let (_folder, path) = data("rotate-kill");
    let mut server = Server::start(&path);
    let agents: Vec<Agent> = (0..AGENTS).map(|_| server.register()).collect();
    let (first, last) = (&agents[0], &agents[agents.len() - 1]);
    server.send(first, last, "before");
    let mut hit = false;
    for _ in 0..10 {
        let admin_key = keyfile::load_or_create(&path, false).unwrap().admin_key;
        let rotated = post(&format!("{}/v1/admin/master-key", server.base), ("x-admin-key", &admin_key), &json!({}));
        assert_eq!(rotated.0, 201, "{}", rotated.1);
        while server.sealed(&path).1 == AGENTS {}
        server.kill();
        let (all, earlier, moving) = sealed_in_file(&path);
        assert_eq!((all, moving), (AGENTS, false));
        hit |= 0 < earlier && earlier < all;
        server = Server::start(&path);
        // While values are under two different keys, all of them open.
        server.send(last, first, "between");
        assert_eq!(server.texts(last), ["before"]);
        if hit {
            break;
        }
        server.until_moved(&path);
    }
    assert!(hit, "no kill fell between the first value and the last");
    assert_eq!(server.until_moved(&path), AGENTS);
    for agent in &agents {
        server.send(agent, last, "after");
    }
    assert_eq!(server.texts(last).len(), 50);
    server.kill();
    let all: Vec<&Agent> = agents.iter().collect();
    assert_eq!(rows_by_key(&path, &all), (agents.len(), 0));
}
