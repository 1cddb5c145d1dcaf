//! Open files: every stream holds a descriptor (decision ten-thousand-listeners).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::{Server, data, post};

/// A server under limits that a shell sets, and the number of streams that it says it has room for.
fn start(limits: &str, data: &Path) -> (Server, usize) {
    let program = env!("CARGO_BIN_EXE_heliograph");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limits}; exec \"$0\" \"$@\""), program, "serve", "--listen", "127.0.0.1:0"]);
    // All streams are of one agent.
    command.env("HELIOGRAPH_STREAMS_PER_AGENT", "10000");
    command.arg("--data").arg(data).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = said.by_ref().map(Result::unwrap).find(|line| line.contains(" open files: ")).unwrap();
    // Everything that the server writes later must be read.
    std::thread::spawn(move || said.for_each(drop));
    let room = line.split_once("room for ").unwrap().1.strip_suffix(" connections").unwrap().parse().unwrap();
    (Server::of(child), room)
}

/// Opens `count` streams of one agent at once; every one must be answered.
fn listen(server: &Server, count: usize) {
    let (status, agent) = post(&format!("{}/v1/agent/register", server.base), ("x-a", "b"), &json!({}));
    assert_eq!(status, 201);
    let key = agent["api_key"].as_str().unwrap();
    let host = server.base.strip_prefix("http://").unwrap();
    let open = |number: usize| {
        let mut socket = TcpStream::connect(host).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        write!(socket, "GET /v1/agent/receive/sse HTTP/1.1\r\nhost: {host}\r\nx-agent-key: {key}\r\n\r\n").unwrap();
        let mut head = [0; 12];
        socket.read_exact(&mut head).unwrap_or_else(|error| panic!("stream {number}: {error}"));
        assert_eq!(&head, b"HTTP/1.1 200", "stream {number}");
        socket
    };
    let streams: Vec<_> = (1..=count).map(open).collect();
    assert_eq!(streams.len(), count);
}

/// Decision ten-thousand-listeners.
#[test]
fn a_low_soft_limit_is_raised_and_bounds_no_streams() {
    let (_folder, path) = data("soft-limit");
    let (server, room) = start("ulimit -Sn 200", &path);
    assert!(room >= 400, "{room}");
    listen(&server, 300);
}

/// Decision ten-thousand-listeners.
#[test]
fn as_many_streams_fit_as_the_server_says() {
    let (_folder, path) = data("hard-limit");
    let (server, room) = start("ulimit -n 200", &path);
    assert!((100..200).contains(&room), "{room}");
    listen(&server, room);
}
