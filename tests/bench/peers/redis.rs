//! Redis with an append-only file that is synced before each answer.

use std::cell::Cell;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Peer, free_port, program};
use crate::load::{Outcome, outcome};
use crate::machine::Cores;

/// Starts a server on its core, with an empty folder.
pub fn start(folder: &Path, cores: &Cores) -> Result<Peer, String> {
    // Debian's `redis-server` is a link to this program, which looks at its name.
    let program = program("redis-server")?;
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let port = free_port();
    let mut command = cores.server(&program);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"]).arg(folder);
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Peer::start(command, format!("127.0.0.1:{port}"))
}

/// A command in the protocol of Redis.
fn command(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", parts.len()).into_bytes();
    for part in parts {
        bytes.extend(format!("${}\r\n", part.len()).bytes());
        bytes.extend_from_slice(part);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// The commands of a run: connection n repeats number n.
pub struct Commands(Vec<Vec<u8>>);

impl Commands {
    /// Appends a body to the stream of each connection.
    pub fn appends(connections: usize, body: &[u8]) -> Commands {
        let append = |n: usize| command(&[b"XADD", format!("mailbox{n}").as_bytes(), b"*", b"body", body]);
        Commands((0..connections).map(append).collect())
    }

    pub fn set(body: &[u8]) -> Commands {
        Commands(vec![command(&[b"SET", b"document", body])])
    }

    pub fn get() -> Commands {
        Commands(vec![command(&[b"GET", b"document"])])
    }
}

/// Drives `connections` connections for `window`; each sends its next command when the last answer is complete.
pub async fn run(address: &str, connections: usize, window: Duration, commands: &Commands) -> Outcome {
    let start = Instant::now();
    let failed = Cell::new(false);
    let clients = (0..connections).map(|number| {
        let command = &commands.0[number % commands.0.len()];
        let failed = &failed;
        async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (mut answer, mut latencies) = (Vec::with_capacity(64 << 10), Vec::with_capacity(1 << 16));
            while start.elapsed() < window {
                let before = Instant::now();
                stream.write_all(command).await.unwrap();
                answer.clear();
                while !is_complete(&answer) {
                    assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "Redis closed");
                }
                failed.set(failed.get() || answer.starts_with(b"-"));
                latencies.push(u32::try_from(before.elapsed().as_micros()).unwrap_or(u32::MAX));
            }
            latencies
        }
    });
    let latencies = futures_util::future::join_all(clients).await.concat();
    assert!(!failed.get(), "Redis refused a command");
    outcome(connections, latencies, start.elapsed().as_secs_f64())
}

/// Whether this is a whole answer: a line, or a length and as many bytes.
fn is_complete(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(2).position(|bytes| bytes == b"\r\n") else { return false };
    match answer.first() {
        Some(b'$') => {
            let length: usize = String::from_utf8_lossy(&answer[1..end]).parse().unwrap_or(0);
            answer.len() >= end + 2 + length + 2
        }
        _ => true,
    }
}
