//! The program as a user runs it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use heliograph::keyfile;
use heliograph::testing::{Folder, folder};
use serde_json::Value;

fn heliograph(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heliograph"));
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
        let mut command = heliograph(data);
        let mut child =
            command.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut rest = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        rest.read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Server { child, base, rest }
    }

    /// Ends the server politely; returns what else it wrote to standard output.
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
    let mut response = agent.get(url).header(header.0, header.1).call().unwrap();
    let text = response.body_mut().read_to_string().unwrap();
    (response.status().as_u16(), serde_json::from_str(&text).unwrap_or_default())
}

fn data(name: &str) -> (Folder, std::path::PathBuf) {
    let folder = folder(name);
    let path = folder.file("d.redb");
    (folder, path)
}

#[test]
fn ruling_foundation_relay_36_standard_output_has_the_ready_line_and_nothing_else() {
    let (_folder, path) = data("ready");
    let server = Server::start(&path);
    assert_eq!(get(&format!("{}/healthz", server.base), ("x-a", "b")).0, 200);
    let (status, body) = get(&format!("{}/readyz", server.base), ("x-a", "b"));
    assert_eq!((status, body["status"].as_str()), (200, Some("ready")));
    assert_eq!(server.stop(), "");
}

#[test]
fn ruling_foundation_relay_23_a_second_process_is_told_to_use_to() {
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
    // The whole key names its account, so a leaked key can be revoked as it was found.
    good(&path, &["keys", "revoke", &key, "--to", &server.base]);
    assert_eq!(server.stop(), "");
    assert!(good(&path, &["keys", "list"]).contains("\trevoked\t"));
    let error = bad(&path, &["keys", "revoke", "nobody"]);
    assert!(error.contains("NOT_FOUND"), "{error}");
    assert!(good(&path, &["db", "check"]).contains("sound"));
}

#[test]
fn ruling_foundation_relay_23_a_running_server_is_backed_up_and_the_copy_starts_with_its_key() {
    let (folder, path) = data("backup");
    let server = Server::start(&path);
    let to = ["--to", server.base.as_str()];
    for n in 0..3 {
        good(&path, &["keys", "create", "--tier", "research", "--label", &n.to_string(), to[0], to[1]]);
    }
    let copy = folder.file("copy.redb");
    good(&path, &["db", "backup", copy.to_str().unwrap(), to[0], to[1]]);
    let error = bad(&path, &["db", "backup", copy.to_str().unwrap(), to[0], to[1]]);
    assert!(error.contains("cannot write"), "{error}");
    assert_eq!(server.stop(), "");
    // Without its key file the copy is refused, with it all is there.
    let error = bad(&copy, &["keys", "list"]);
    assert!(error.contains("missing"), "{error}");
    std::fs::copy(keyfile::path_for(&path), keyfile::path_for(&copy)).unwrap();
    assert_eq!(good(&copy, &["keys", "list"]), good(&path, &["keys", "list"]));
    assert!(good(&copy, &["db", "check"]).contains("sound"));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn ruling_foundation_relay_24_another_key_file_or_brand_is_refused() {
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
    // And a killed one says that it does.
    let mut server = Server::start(&path);
    good(&path, &["keys", "create", "--tier", "research", "--to", &server.base]);
    server.kill();
    let told = String::from_utf8(run(&path, &["keys", "list"]).stderr).unwrap();
    assert!(told.contains("not closed cleanly"), "{told}");
}

/// Every line of an import is counted once, and importing twice changes nothing; here and at a server alike.
#[test]
fn importing_twice_changes_nothing_on_the_file_and_at_a_server() {
    let (folder, path) = data("import");
    let list = folder.file("ir.txt");
    std::fs::write(&list, "one.example.org\ntwo.example.org\ntwo.example.org\n\u{0}\n").unwrap();
    let list = list.to_str().unwrap();
    let import = |more: &[&str]| -> Value {
        let fixed = ["import", "blocklist", list, "--country", "IR", "--date", "2026-01-31", "--json"];
        serde_json::from_str(&good(&path, &[&fixed[..], more].concat())).unwrap()
    };
    let first = import(&[]);
    assert_eq!(first["accepted"], 2, "{first}");
    let lines = |report: &Value| -> u64 {
        ["accepted", "duplicate", "unsupported", "unusable", "refused"]
            .iter()
            .map(|n| report[n].as_u64().unwrap())
            .sum()
    };
    let server = Server::start(&path);
    let second = import(&["--to", &server.base]);
    assert_eq!((lines(&second), &second["refused"]), (lines(&first), &first["refused"]), "{second}");
    assert_eq!(second["countries"]["IR"]["new"].as_u64().unwrap_or_default(), 0, "{second}");
    let nothing = run(&path, &["import", "asn", "/dev/null", "--to", &server.base]);
    let told = String::from_utf8(nothing.stderr).unwrap();
    assert!(!nothing.status.success() && told.contains("nothing could be read"), "{told}");
}

#[test]
fn classify_leaves_no_data_behind() {
    let (folder, path) = data("classify");
    let file = folder.file("documents.jsonl");
    std::fs::write(&file, "{\"test_name\":\"ndt\"}\n{\"scenario\":\"s\",\"measurement\":{}}\n").unwrap();
    let results: Value = serde_json::from_str(&good(&path, &["classify", file.to_str().unwrap(), "--json"])).unwrap();
    assert_eq!(results[0]["label"], "unknown");
    assert_eq!((results[1]["scenario"].as_str(), results[1]["number"].as_u64()), (Some("s"), Some(2)));
    assert!(!path.exists());
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
