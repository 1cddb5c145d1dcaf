//! What an operator has in hand while the server runs: its log, SIGHUP, its metrics, and the errors of its settings.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use heliograph::testing::Folder;
use heliograph_core::Timestamp;
use serde_json::json;

use super::outside::program;
use super::{Server, bad, data, good, heliograph, post};

const ADMIN_KEY: &str = "operator-key-of-this-test";

/// A server with this settings file, and the lines of its log as they come.
pub fn logged(data: &Path, config: &Path) -> (Server, Receiver<String>) {
    logged_at(data, config, "127.0.0.1:0")
}

/// The same on this address.
pub fn logged_at(data: &Path, config: &Path, listen: &str) -> (Server, Receiver<String>) {
    let mut command = heliograph(data);
    command.arg("--config").arg(config).args(["--listen", listen]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(child.stderr.take().unwrap()).lines();
    let (tell, lines) = channel();
    std::thread::spawn(move || said.map_while(Result::ok).try_for_each(|line| tell.send(line)));
    (Server::of(child), lines)
}

/// The next line that contains `what`; those before it are looked at as well.
pub fn line(lines: &Receiver<String>, what: &str) -> String {
    loop {
        let line = lines.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("no line says {what:?}"));
        let (time, rest) = line.split_once(' ').unwrap();
        let parsed = Timestamp::parse(time).unwrap_or_else(|| panic!("{line:?} begins with no time"));
        assert_eq!(parsed.to_millis_text(), time, "{line}");
        let level = rest.split(' ').next().unwrap();
        assert!(["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].contains(&level), "{line}");
        if line.contains(what) {
            return rest.to_owned();
        }
    }
}

pub fn hang_up(server: &Server) {
    let told = Command::new("kill").args(["-HUP", &server.child.id().to_string()]).status().unwrap();
    assert!(told.success());
}

pub fn text_of(url: &str, key: Option<&str>) -> (u16, Option<String>, String) {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let mut request = agent.get(url);
    if let Some(key) = key {
        request = request.header("x-admin-key", key);
    }
    let mut response = request.call().unwrap();
    let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
    (response.status().as_u16(), kind, response.body_mut().read_to_string().unwrap())
}

pub fn with_config(name: &str, text: &str) -> (Folder, PathBuf, PathBuf) {
    let (folder, path) = data(name);
    let config = folder.file("heliograph.toml");
    std::fs::write(&config, text).unwrap();
    (folder, path, config)
}

/// Decision hangup-reloads.
#[test]
fn a_hangup_reads_the_settings_again_and_ends_nothing() {
    let (_folder, path, config) = with_config("hangup", "access_log = false\n");
    let (server, lines) = logged(&path, &config);
    let health = |server: &Server| assert_eq!(text_of(&format!("{}/healthz", server.base), None).0, 200);
    line(&lines, "open files: ");
    health(&server);
    std::fs::write(&config, "access_log = true\nagent_burst = 7\n").unwrap();
    hang_up(&server);
    let told = line(&lines, "settings read again");
    let expected = "changed: agent_burst from \"200\" to \"7\", access_log from \"false\" to \"true\"";
    assert_eq!(told, format!("INFO heliograph::reload settings read again; {expected}"));
    std::fs::write(&config, "access_log = true\nagent_burst = 7\ncache_bytes = 1\n").unwrap();
    hang_up(&server);
    assert!(line(&lines, "next start").starts_with("WARN ") && !line_has(&lines, "GET /healthz"), "not asked yet");
    health(&server);
    let told = line(&lines, "GET /healthz");
    let (before, after) = told.split_once(" 127.0.0.1 GET /healthz 200 ").unwrap();
    assert!(before.starts_with("INFO heliograph::serve request=") && after.ends_with(" us"), "{told}");
    // A file that cannot be read changes nothing.
    std::fs::write(&config, "log_level = error\n").unwrap();
    hang_up(&server);
    let told = line(&lines, "the settings stay as they are");
    assert!(told.starts_with("ERROR ") && told.contains("line 1"), "{told}");
    std::fs::write(&config, "log_level = \"error\"\naccess_log = true\n").unwrap();
    hang_up(&server);
    // The level is in force before the line that would say so.
    health(&server);
    hang_up(&server);
    health(&server);
    assert!(!line_has(&lines, "settings read again"));
    assert_eq!(server.stop(), "");
}

/// Whether one of the lines so far contains `what`.
fn line_has(lines: &Receiver<String>, what: &str) -> bool {
    lines.try_iter().any(|line| line.contains(what))
}

#[test]
fn a_mistake_in_the_settings_is_named_with_its_line_and_the_nearest_name() {
    let (_folder, path, config) = with_config("mistake", "# settings\nacess_log = true\n");
    let told = bad(&path, &["serve", "--config", config.to_str().unwrap()]);
    let expected = format!(
        "error: {}, line 2: there is no setting named `acess_log`; the nearest is `access_log`. The file is TOML: one \
         `name = value` a line, text in quotes\n",
        config.display()
    );
    assert_eq!(told, expected);
    assert!(good(&path, &["config"]).contains("\nlog_level = \"info\"  # from default\n"));
}

/// Decision metrics-of-a-process.
#[test]
fn metrics_count_what_happened_and_take_the_operators_key_or_a_listener_of_their_own() {
    let text = format!("admin_key = \"{ADMIN_KEY}\"\nmetrics_listen = \"127.0.0.1:0\"\nconnections = 500\n");
    let (_folder, path, config) = with_config("metrics", &text);
    let (server, lines) = logged(&path, &config);
    let told = line(&lines, "metrics_listen: http://");
    let own = told.split_once("metrics_listen: ").unwrap().1.to_owned() + "/metrics";
    for _ in 0..3 {
        assert_eq!(post(&format!("{}/v1/agent/register", server.base), ("x-a", "b"), &json!({})).0, 201);
        assert!(text_of(&format!("{}/v1/agent/identity/did:svc:secretname", server.base), None).0 >= 400);
    }
    assert_eq!(text_of(&format!("{}/nowhere", server.base), None).0, 404);
    let asked = format!("{}/metrics", server.base);
    assert_eq!(text_of(&asked, None).0, 401);
    assert_eq!(text_of(&asked, Some("another-key")).0, 401);
    let (status, kind, text) = text_of(&asked, Some(ADMIN_KEY));
    assert_eq!((status, kind.as_deref()), (200, Some("text/plain; version=0.0.4; charset=utf-8")));
    let value = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is missing in {text}")).parse().unwrap()
    };
    assert_eq!(value(r#"heliograph_http_requests_total{method="POST",route="/v1/agent/register",code="201"}"#), 3.0);
    assert_eq!(value(r#"heliograph_http_requests_total{method="",route="",code="404"}"#), 1.0);
    assert_eq!(value(r#"heliograph_http_requests_total{method="GET",route="/metrics",code="401"}"#), 2.0);
    let times = r#"{method="POST",route="/v1/agent/register""#;
    assert_eq!(value(&format!(r#"heliograph_http_request_seconds_bucket{times},le="+Inf"}}"#)), 3.0);
    assert_eq!(value(&format!("heliograph_http_request_seconds_count{times}}}")), 3.0);
    assert!(value(&format!("heliograph_http_request_seconds_sum{times}}}")) > 0.0);
    assert_eq!(value(r#"heliograph_budget_limit{budget="connections"}"#), 500.0);
    assert_eq!(value(r#"heliograph_budget_refusals_total{budget="connections"}"#), 0.0);
    assert!(value("heliograph_commits_total") >= 3.0 && value("heliograph_operations_total") >= 3.0);
    assert_eq!(value("heliograph_storage_failing"), 0.0);
    assert!(value("heliograph_data_file_bytes") > 0.0);
    assert_eq!(value(r#"heliograph_log_lines_total{level="error"}"#), 0.0);
    assert_eq!(value(&format!("heliograph_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))), 1.0);
    if cfg!(target_os = "linux") {
        assert!(value("process_resident_memory_bytes") > 1e6 && value("process_open_fds") > 3.0);
    }
    assert!(!text.contains("secretname") && !text.contains(ADMIN_KEY));
    // The listener of their own asks for no key, and answers nothing else.
    let (status, kind, open) = text_of(&own, None);
    assert_eq!((status, kind.as_deref()), (200, Some("text/plain; version=0.0.4; charset=utf-8")));
    assert!(open.contains("heliograph_commits_total "));
    for other in ["/", "/healthz", "/v1/admin/db"] {
        let (status, _, body) = text_of(&own.replace("/metrics", other), Some(ADMIN_KEY));
        assert!(status == 404 && body.contains("NO_ROUTE"), "{other}: {status} {body}");
    }
    read_by_prometheus(&text);
}

/// Decision metrics-of-a-process.
#[test]
fn what_actors_hold_is_counted_in_the_background() {
    let (_folder, path, config) = with_config("census", &format!("admin_key = \"{ADMIN_KEY}\"\n"));
    let (server, _lines) = logged(&path, &config);
    let agents: Vec<_> =
        (0..2).map(|_| post(&format!("{}/v1/agent/register", server.base), ("x-a", "b"), &json!({})).1).collect();
    let key = agents[0]["api_key"].as_str().unwrap();
    for _ in 0..3 {
        let body = json!({ "to": agents[1]["did"], "message": "x".repeat(1_000) });
        assert_eq!(post(&format!("{}/v1/agent/send", server.base), ("x-agent-key", key), &body).0, 201);
    }
    assert_eq!(server.stop(), "");
    // A new process counts at its start, and everything is in the data file by then.
    let (server, _lines) = logged(&path, &config);
    let text = loop {
        let (_, _, text) = text_of(&format!("{}/metrics", server.base), Some(ADMIN_KEY));
        if text.contains("\nheliograph_counted_timestamp_seconds ") {
            break text;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let value = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is missing in {text}")).parse().unwrap()
    };
    assert_eq!((value("heliograph_mailbox_messages"), value("heliograph_mailbox_unread")), (3.0, 3.0));
    let bytes = value("heliograph_mailbox_bytes");
    assert!(bytes > 3_000.0 && value("heliograph_mailbox_largest_bytes") == bytes, "{bytes}");
    assert_eq!(value("heliograph_actors{kind=\"agent\"}"), 2.0);
    for name in ["waiting", "largest", "parked"] {
        value(&format!("heliograph_outbox_{name}{{kind=\"agent\"}}"));
    }
    assert_eq!((value("heliograph_webhooks"), value("heliograph_deliveries_waiting")), (0.0, 0.0));
    let free = value("heliograph_data_file_free_bytes");
    assert!(free > 0.0 && free < value("heliograph_data_file_bytes"), "{free}");
    read_by_prometheus(&text);
}

/// Has Prometheus' own tool read the text, which has rules for names too.
fn read_by_prometheus(text: &str) {
    let Some(promtool) = program("promtool", &["prometheus"]) else { return };
    let mut checking = Command::new(promtool);
    checking.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut reader = checking.spawn().unwrap();
    reader.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let read = reader.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&read.stdout).into_owned() + &String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success(), "{told}");
}
