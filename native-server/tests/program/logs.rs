//! The log: its lines, the request that each belongs to, and what is never in it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use heliograph::keyfile;
use heliograph_core::crypto::encoding::encode_hex;
use serde_json::{Value, json};

use super::operating::{line, logged, with_config};
use super::{Server, get, heliograph, post};

const TRACE_ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// The whole answer to a request with these headers.
fn raw(server: &Server, method: &str, path: &str, headers: &str, body: &str) -> String {
    let mut socket = TcpStream::connect(server.base.strip_prefix("http://").unwrap()).unwrap();
    let length = body.len();
    write!(
        socket,
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    let _ = socket.read_to_string(&mut answer);
    answer
}

fn trace_of(answer: &str) -> Option<&str> {
    answer.lines().find_map(|line| line.strip_prefix("traceparent: "))
}

/// Decision traces-of-requests.
#[test]
fn a_line_has_the_id_of_its_request_and_the_answer_names_the_trace_that_the_client_named() {
    let (_folder, path, config) = with_config("traces", "access_log = true\n");
    let (server, lines) = logged(&path, &config);
    let parent = format!("traceparent: 00-{TRACE_ID}-00f067aa0ba902b7-01\r\n");
    let answer = raw(&server, "GET", "/healthz", &parent, "");
    let told = trace_of(&answer).unwrap().to_owned();
    let mut parts = told.split('-');
    assert_eq!((parts.next(), parts.next()), (Some("00"), Some(TRACE_ID)));
    let span = parts.next().unwrap();
    assert_ne!(span, "00f067aa0ba902b7");
    assert_eq!(parts.next(), Some("01"));
    let logged = line(&lines, "GET /healthz");
    assert!(logged.starts_with(&format!("INFO heliograph::serve request={TRACE_ID}-{span} 127.0.0.1 ")), "{logged}");
    // Nobody asked for a trace, and nothing failed.
    assert_eq!(trace_of(&raw(&server, "GET", "/healthz", "", "")), None);
    let own = line(&lines, "GET /healthz");
    assert!(own.contains(" request=") && !own.contains(TRACE_ID), "{own}");
}

#[test]
fn lines_are_objects_when_the_operator_wants_that() {
    let (_folder, path, config) = with_config("json", "access_log = true\nlog_format = \"json\"\n");
    let mut command = heliograph(&path);
    command.arg("--config").arg(&config).args(["--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = child.stderr.take().unwrap();
    let server = Server::of(child);
    let parent = format!("traceparent: 00-{TRACE_ID}-00f067aa0ba902b7-00\r\n");
    let answer = raw(&server, "GET", "/nowhere", &parent, "");
    server.stop();
    let mut text = String::new();
    said.read_to_string(&mut text).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let asked = lines.iter().find(|line| line["status"] == 404).unwrap();
    assert_eq!((asked["level"].as_str(), asked["target"].as_str()), (Some("INFO"), Some("heliograph::serve")));
    assert_eq!((asked["method"].as_str(), asked["path"].as_str()), (Some("GET"), Some("/nowhere")));
    assert_eq!((asked["client"].as_str(), asked["trace_id"].as_str()), (Some("127.0.0.1"), Some(TRACE_ID)));
    let message = asked["message"].as_str().unwrap();
    assert_eq!(message, format!("127.0.0.1 GET /nowhere 404 {} us", asked["micros"]));
    assert!(trace_of(&answer).unwrap().contains(asked["span_id"].as_str().unwrap()));
    assert!(lines.iter().any(|line| line["message"] == "stopping" && line.get("request").is_none()));
}

/// Keys, bodies and what is sealed go through requests that succeed and that fail, with every line written.
#[test]
fn no_secret_is_in_the_log_at_its_lowest_level() {
    let admin = "canary-operator-key";
    let text = format!("admin_key = \"{admin}\"\nsentinel_admin_key = \"canary-sentinel-key\"\naccess_log = true\n");
    let (_folder, path, config) = with_config("canaries", &(text + "log_level = \"trace\"\nlog_format = \"json\"\n"));
    let mut command = heliograph(&path);
    command.arg("--config").arg(&config).args(["--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = child.stderr.take().unwrap();
    let server = Server::of(child);
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        said.read_to_string(&mut text).unwrap();
        text
    });
    let url = |path: &str| format!("{}{path}", server.base);
    let mut canaries = vec![admin.to_owned(), "canary-sentinel-key".to_owned()];
    let agents: Vec<(String, String)> = (0..2)
        .map(|_| {
            let (status, made) = post(&url("/v1/agent/register"), ("x-a", "b"), &json!({}));
            assert_eq!(status, 201);
            (made["did"].as_str().unwrap().to_owned(), made["api_key"].as_str().unwrap().to_owned())
        })
        .collect();
    canaries.extend(agents.iter().map(|(_, key)| key.clone()));
    let (to, key) = (&agents[1].0, ("x-agent-key", agents[0].1.as_str()));
    let send = |key, message: &str| post(&url("/v1/agent/send"), key, &json!({ "to": to, "message": message })).0;
    assert_eq!(send(key, "canary-message-that-arrives"), 201);
    assert!(send(("x-agent-key", "svc_agent_canary-wrong-key"), "canary-message-that-fails") >= 400);
    assert!(
        post(&url("/v1/agent/send"), key, &json!({ "to": "canary-receiver", "message": "canary-message" })).0 >= 400
    );
    assert_eq!(get(&url("/v1/agent/receive"), ("x-agent-key", agents[1].1.as_str())).0, 200);
    assert_eq!(get(&url("/v1/admin/db"), ("x-admin-key", admin)).0, 200);
    assert_eq!(get(&url("/v1/admin/db"), ("x-admin-key", "canary-wrong-operator-key")).0, 401);
    assert!(get(&url("/v1/agent/receive?key=canary-query"), ("authorization", "Bearer canary-bearer-token")).0 >= 400);
    let broken = "{\"api_key\": \"canary-broken-json\"";
    assert!(raw(&server, "POST", "/v1/agent/send", &format!("x-agent-key: {}\r\n", key.1), broken).contains(" 4"));
    let hook =
        json!({ "url": "https://canary-webhook.invalid/canary-path", "secret": "canary-webhook-secret-0123456789" });
    let _ = post(&url("/v1/agent/webhooks"), key, &hook);
    raw(&server, "GET", "/healthz", "cookie: canary-cookie\r\ntraceparent: canary-trace\r\n", "");
    let keys = keyfile::read(&path).unwrap();
    canaries.push(keys.admin_key.clone());
    let file = std::fs::read_to_string(keyfile::path_for(&path)).unwrap();
    let long = |word: &&str| word.len() > 20;
    let words: Vec<String> = file.split(|c: char| !c.is_ascii_alphanumeric()).filter(long).map(str::to_owned).collect();
    assert!(!words.is_empty(), "the key file has keys");
    canaries.extend(words);
    canaries.push(encode_hex(admin.as_bytes()));
    server.stop();
    let log = reading.join().unwrap();
    assert!(log.lines().filter(|line| line.contains("\"status\":")).count() >= 10, "{log}");
    for canary in canaries {
        assert!(!log.contains(&canary), "{canary} is in {log}");
    }
    assert!(!log.contains("canary"), "{log}");
}
