//! Clients that try to exhaust a server, and other clients that ask it meanwhile. Every load is limited in number, and
//! ends when it is dropped.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::listening::{Connection, request};
use crate::relay::base64;

/// Bytes of a body that an operator's route would accept.
const BODY: usize = 8 << 20;
/// Bytes of a head that is never completed.
const HEAD: usize = 390 * 1024;
/// Bytes of ciphertext in a message to streams that never read.
const CIPHERTEXT: usize = 8 * 1024;
/// Streams of one agent: as many as it may have at once.
pub const STREAMS_PER_AGENT: usize = 30;
/// Pause of a client that was disconnected.
const AGAIN: Duration = Duration::from_millis(100);
/// Pause between two parts that are sent slowly.
const SLOW: Duration = Duration::from_millis(500);

/// A kind of flood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flood {
    /// Bodies of 8 MiB to an operator's route without a key, again and again.
    Bodies,
    /// The same as streams of one HTTP/2 connection.
    BodiesOverHttp2,
    /// Streams that never read, while messages of 8 KB are sent to them.
    DeafStreams,
    /// The first 390 KB of a head, and nothing more.
    HalfHeads,
    /// Connections on which nothing is sent.
    Idle,
    /// Heads that come a byte at a time.
    SlowHeads,
    /// Bodies that come a hundred bytes at a time.
    SlowBodies,
}

impl Flood {
    /// Floods of a hostile client, which a server with little memory must survive.
    pub const HOSTILE: [Flood; 4] = [Flood::Bodies, Flood::BodiesOverHttp2, Flood::DeafStreams, Flood::HalfHeads];
    /// All floods.
    pub const ALL: [Flood; 7] = [
        Flood::Bodies,
        Flood::BodiesOverHttp2,
        Flood::DeafStreams,
        Flood::HalfHeads,
        Flood::Idle,
        Flood::SlowHeads,
        Flood::SlowBodies,
    ];

    /// The number of clients or streams.
    pub fn size(self) -> usize {
        match self {
            Flood::Bodies | Flood::BodiesOverHttp2 => 100,
            Flood::DeafStreams => 3_000,
            Flood::HalfHeads | Flood::SlowHeads | Flood::SlowBodies => 1_000,
            Flood::Idle => 10_000,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Flood::Bodies => "connections with 8 MiB to an operator's route without a key",
            Flood::BodiesOverHttp2 => "the same, streams of one HTTP/2 connection",
            Flood::DeafStreams => "streams that never read, 1,000 messages of 8 KB",
            Flood::HalfHeads => "half heads of 390 KB",
            Flood::Idle => "idle connections",
            Flood::SlowHeads => "heads that come a byte in half a second",
            Flood::SlowBodies => "bodies that come 100 B in half a second",
        }
    }

    /// Starts the flood. `agents` (DID, key) are those whose streams are opened. Runs inside a `LocalSet`; when it
    /// returns, the clients are connected or were refused.
    pub async fn start(self, host: &str, agents: &[(String, String)]) -> Load {
        let mut load = Load { tasks: JoinSet::new(), counts: Rc::default() };
        let counts = &load.counts;
        match self {
            Flood::BodiesOverHttp2 => {
                load.tasks.spawn_local(streams_of_http2(host.to_owned(), self.size(), counts.clone()));
            }
            Flood::DeafStreams => deaf(&mut load, host, agents, self.size()).await,
            _ => (0..self.size()).for_each(|_| {
                load.tasks.spawn_local(self.client(host.to_owned(), counts.clone()));
            }),
        }
        load
    }

    async fn client(self, host: String, counts: Rc<Counts>) {
        let begun = Cell::new(false);
        loop {
            counts.tried.set(counts.tried.get() + 1);
            let _ = self.once(&host, &counts, &begun).await;
            counts.ended.set(counts.ended.get() + 1);
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// One connection, until the server ends it.
    async fn once(self, host: &str, counts: &Counts, begun: &Cell<bool>) -> io::Result<()> {
        let mut socket = TcpStream::connect(host).await?;
        if !begun.replace(true) {
            counts.open.set(counts.open.get() + 1);
        }
        let head = |path: &str, length: usize| {
            let json = "content-type: application/json\r\n";
            format!("POST {path} HTTP/1.1\r\nhost: {host}\r\n{json}content-length: {length}\r\n\r\n")
        };
        match self {
            Flood::Bodies => {
                socket.write_all(head("/v1/admin/import/ooni", BODY).as_bytes()).await?;
                let piece = vec![b' '; 64 * 1024];
                for _ in 0..BODY / piece.len() {
                    socket.write_all(&piece).await?;
                }
            }
            Flood::HalfHeads => {
                socket.write_all(format!("GET / HTTP/1.1\r\nhost: {host}\r\nx-long: ").as_bytes()).await?;
                socket.write_all(&vec![b'x'; HEAD]).await?;
            }
            Flood::SlowHeads => trickle(&mut socket, "GET / HTTP/1.1\r\nx-slow: ", b"x").await?,
            Flood::SlowBodies => trickle(&mut socket, &head("/v1/agent/register", 60_000), &[b' '; 100]).await?,
            Flood::Idle | Flood::BodiesOverHttp2 | Flood::DeafStreams => {}
        }
        let mut rest = [0; 512];
        while socket.read(&mut rest).await? > 0 {}
        Ok(())
    }
}

async fn trickle(socket: &mut TcpStream, first: &str, part: &[u8]) -> io::Result<()> {
    socket.write_all(first.as_bytes()).await?;
    loop {
        tokio::time::sleep(SLOW).await;
        socket.write_all(part).await?;
    }
}

/// The course of a flood.
#[derive(Debug, Default)]
pub struct Counts {
    /// Clients that connected, each counted once.
    pub open: Cell<usize>,
    /// Connections that were tried, and connections that ended.
    pub tried: Cell<usize>,
    pub ended: Cell<usize>,
}

/// A running flood; dropping it ends it.
pub struct Load {
    tasks: JoinSet<()>,
    pub counts: Rc<Counts>,
}

/// Sends bodies as streams of one connection; each is sent again when it is answered.
async fn streams_of_http2(host: String, count: usize, counts: Rc<Counts>) {
    loop {
        let _ = one_http2(&host, count, &counts).await;
        tokio::time::sleep(AGAIN).await;
    }
}

async fn one_http2(host: &str, count: usize, counts: &Counts) -> Result<(), Box<dyn std::error::Error>> {
    let (client, connection) = h2::client::handshake(TcpStream::connect(host).await?).await?;
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let (client, uri) = (client.clone(), format!("http://{host}/v1/admin/import/ooni"));
        tasks.spawn_local(async move {
            loop {
                let request = http::Request::post(&uri).body(()).unwrap();
                let Ok(mut client) = client.clone().ready().await else { return };
                let Ok((answer, mut body)) = client.send_request(request, false) else { return };
                for _ in 0..BODY / (64 * 1024) {
                    if body.send_data(Bytes::from_static(&[b' '; 64 * 1024]), false).is_err() {
                        break;
                    }
                }
                let _ = answer.await;
            }
        });
    }
    counts.open.set(count);
    // The connection carries the data of the streams; when it ends, the tasks end.
    connection.await?;
    Ok(())
}

/// Opens streams that nobody reads, and sends messages to their agents.
async fn deaf(load: &mut Load, host: &str, agents: &[(String, String)], count: usize) {
    let open = |at: usize| {
        let (host, key) = (host.to_owned(), agents[at / STREAMS_PER_AGENT % agents.len()].1.clone());
        async move {
            let socket = TcpSocket::new_v4()?;
            // The buffer is so small that the system keeps nearly nothing for the client.
            socket.set_recv_buffer_size(4 * 1024)?;
            let mut socket = socket.connect(host.parse().map_err(io::Error::other)?).await?;
            let asked = request(&host, "GET", "/v1/agent/receive/sse", &[("x-agent-key", &key)], None);
            socket.write_all(&asked).await?;
            let mut first = [0; 12];
            socket.read_exact(&mut first).await?;
            io::Result::Ok((socket, first.ends_with(b"200")))
        }
    };
    let deaf: Rc<RefCell<Vec<TcpStream>>> = Rc::default();
    for first in (0..count).step_by(100) {
        let opened = futures_util::future::join_all((first..(first + 100).min(count)).map(&open)).await;
        for (socket, heard) in opened.into_iter().flatten() {
            load.counts.open.set(load.counts.open.get() + usize::from(heard));
            deaf.borrow_mut().push(socket);
        }
    }
    let (host, agents, counts) = (host.to_owned(), agents.to_vec(), load.counts.clone());
    load.tasks.spawn_local(async move {
        // Whatever happens to them, the clients are kept until the load ends.
        let _deaf = deaf;
        let mut connection = Connection::default();
        for number in 0..1_000 {
            let (from, to) = (number % agents.len(), (number + 1) % agents.len());
            let letter = letter(&agents[to].0, number);
            let asked = request(
                &host,
                "POST",
                "/v1/agent/send/encrypted",
                &[("x-agent-key", &agents[from].1)],
                Some(&letter.to_string()),
            );
            if connection.ask(&host, &asked).await.is_ok_and(|(status, _)| status == 201) {
                counts.tried.set(counts.tried.get() + 1);
            }
        }
        std::future::pending::<()>().await;
    });
}

fn letter(to: &str, number: usize) -> serde_json::Value {
    let (nonce, signature) = (format!("{number:032}"), format!("{number:085}A=="));
    json!({ "to": to, "ciphertext": base64(&[0xa5; CIPHERTEXT]), "nonce": nonce, "signature": signature })
}

/// The results of the other clients.
#[derive(Debug, Default)]
pub struct OtherClients {
    /// Times of the answers, ascending.
    pub times: Vec<Duration>,
    /// Failures, in words.
    pub failures: Vec<String>,
}

impl OtherClients {
    /// The time within which that share of the answers came.
    pub fn percentile(&self, share: f64) -> Duration {
        let at = (self.times.len().saturating_sub(1) as f64 * share) as usize;
        self.times.get(at).copied().unwrap_or(Duration::MAX)
    }
}

/// Sends requests every few milliseconds for `longest`, like clients that have nothing to do with a flood: first
/// `/health` on a new connection, then a message from one agent to the other on a kept connection.
pub async fn others(host: &str, pair: &[(String, String)], longest: Duration) -> OtherClients {
    let mut seen = OtherClients::default();
    let (end, mut kept, mut number) = (Instant::now() + longest, Connection::default(), 1_000_000);
    while Instant::now() < end {
        number += 1;
        let health = request(host, "GET", "/health", &[], None);
        let letter = letter(&pair[1].0, number).to_string();
        let send = request(host, "POST", "/v1/agent/send/encrypted", &[("x-agent-key", &pair[0].1)], Some(&letter));
        let mut fresh = Connection::default();
        for (what, connection, asked, expected) in [("health", &mut fresh, health, 200), ("send", &mut kept, send, 201)]
        {
            let begun = Instant::now();
            let answer = tokio::time::timeout(Duration::from_secs(20), connection.ask(host, &asked)).await;
            match answer {
                Ok(Ok((status, _))) if status == expected => seen.times.push(begun.elapsed()),
                Ok(Ok((status, body))) => {
                    seen.failures.push(format!("{what}: {status} {}", String::from_utf8_lossy(&body)));
                }
                Ok(Err(error)) => seen.failures.push(format!("{what}: {error}")),
                Err(_) => seen.failures.push(format!("{what}: no answer in 20 s")),
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    seen.times.sort();
    seen
}
