//! Accepts connections, and ends those whose client stalls.
//!
//! A connection waits `client_seconds` for a whole request head, for the first request and for every later one, and as
//! long for room to send more of an answer. Then it is closed. While a request is worked on, or a stream has nothing to
//! send, the client need not do anything, and the connection stays. (`serve` limits bodies; a WebSocket has its own
//! time limits.)
//!
//! Requests read no clock and set no timer: each leaves two marks on its connection. A look at the marks every third of
//! that time finds connections on which nothing happened. So a stalled client is disconnected after one to one and a
//! third times `client_seconds`.
//!
//! The budgets limit the number of connections. A client beyond the limit gets an answer that says so, and is
//! disconnected.
//!
//! | Module | What |
//! |---|---|
//! | `answer` | the body of an answer while it is sent |
//! | `heads` | counts request heads of which only a part has arrived |
//! | `marks` | marks of what happens on a connection |
//! | `refusal` | gives refusals of the HTTP library an error body |

mod answer;
mod heads;
mod marks;
mod refusal;

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use heliograph_core::Error;
use heliograph_core::engine::settings::Settings;
use http::{StatusCode, Version};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, Sleep};

use crate::budgets::{Budgets, Charge};
use crate::current::Current;
use crate::log;
use crate::queue::Queue;
use crate::tls::Tls;
use answer::Answer;
pub use answer::Content;
use heads::Heads;
use marks::{LOOKS, Marks, Turn, Watch};
use refusal::{Socket, Wire};

/// Bytes that the system accepts for a client beyond those in transit. Without this limit a client that reads nothing
/// could make the system keep megabytes.
const UNSENT: u32 = 64 * 1024;
/// Most bytes of one head over HTTP/2. A connection may have one half head besides its complete ones.
const HTTP2_HEAD: u32 = 16 * 1024;
/// Clients at once that are told that there is no room, and the time for each.
const TURNED_AWAY: usize = 64;
const TURNING_AWAY: Duration = Duration::from_secs(2);
/// How long a client that has just connected has for its first request when the server stops. It was accepted, so no
/// other process answers it, and a connection that closes in its face is no answer.
const FIRST_REQUEST: Duration = Duration::from_millis(500);
/// Pause after the system had no descriptor or memory for a connection.
const PAUSE: Duration = Duration::from_millis(50);
/// The shortage is logged once in this time.
const QUIET: Duration = Duration::from_secs(60 * 60);

/// The limits of connections.
pub struct Limits {
    /// How long a client may keep a connection waiting.
    pub patience: Duration,
    pub head_bytes: u32,
    pub http2_streams: u32,
    pub http2_window: u32,
    pub budgets: Budgets,
    /// Data that clients have not read yet.
    pub queue: Arc<Queue>,
}

impl Limits {
    pub fn new(settings: &Settings, budgets: Budgets, queue: Arc<Queue>) -> Limits {
        Limits {
            patience: Duration::from_secs(settings.client_seconds.into()),
            head_bytes: settings.head_bytes,
            http2_streams: settings.http2_streams,
            http2_window: settings.http2_window_bytes,
            budgets,
            queue,
        }
    }
}

/// The limits of the connections of a listener, as the settings say that are in force.
pub struct Door {
    descriptors: u64,
    limits: Current<Arc<Limits>>,
}

impl Door {
    /// With at most `descriptors` connections; `queue` has the data that clients have not read yet.
    pub fn new(settings: &Settings, descriptors: u64, queue: Arc<Queue>) -> Door {
        let limits = Limits::new(settings, Budgets::new(settings, descriptors), queue);
        Door { descriptors, limits: Current::new(Arc::new(limits)) }
    }

    pub fn limits(&self) -> &Arc<Limits> {
        self.limits.get()
    }

    /// Connections to come have the limits of these settings. What is held now counts as before.
    pub fn adjust(&self, settings: &Settings) {
        let running = self.limits();
        let budgets = running.budgets.with(settings, self.descriptors);
        self.limits.replace(Arc::new(Limits::new(settings, budgets, running.queue.clone())));
    }
}

tokio::task_local! {
    /// Set while a request is answered: notifying it ends the connection.
    static CUT: Arc<Notify>;
}

/// A handle that ends the connection whose request is being answered, when it is notified.
pub fn cut() -> Arc<Notify> {
    CUT.try_with(Arc::clone).unwrap_or_default()
}

/// Answers requests until `shutdown` ends, then lets open ones finish. This future ends when the last connection has
/// been accepted; the future that it returns ends with the last connection.
pub async fn accept<F, R>(
    (listener, tls): (TcpListener, Option<Arc<Tls>>),
    limits: impl Fn() -> Arc<Limits>,
    answer: F,
    shutdown: impl Future<Output = ()>,
) -> impl Future<Output = ()>
where
    F: Fn(IpAddr, http::Request<Incoming>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = http::Response<Content>> + Send + 'static,
{
    let (stop, stopping) = watch::channel(());
    let mut shutdown = pin!(shutdown);
    let mut entrance = Entrance { listener, quiet_until: None };
    let leaving = Arc::new(Semaphore::new(TURNED_AWAY));
    loop {
        let (socket, peer) = tokio::select! {
            accepted = entrance.next() => accepted,
            () = &mut shutdown => break,
        };
        let limits = limits();
        let address = limits.budgets.address(peer.ip());
        match limits.budgets.connections.take(address, 1) {
            Some(place) => {
                prepare(&socket);
                let talk = Talk { peer: peer.ip(), limits, answer: answer.clone(), stopping: stopping.clone(), place };
                match tls.clone() {
                    None => tokio::spawn(talk.on(socket)),
                    Some(tls) => tokio::spawn(talk.secured(tls, socket)),
                };
            }
            // With more such clients, they are disconnected without an answer.
            None => drop(leaving.clone().try_acquire_owned().map(|leave| tokio::spawn(turn_away(socket, leave)))),
        }
    }
    drop((entrance, stopping));
    // It fails when nobody is connected.
    let _ = stop.send(());
    async move { stop.closed().await }
}

fn prepare(socket: &TcpStream) {
    // Without this, small answers wait until earlier ones are acknowledged.
    let _ = socket.set_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(socket).set_tcp_notsent_lowat(UNSENT);
}

/// The listener that accepts connections.
struct Entrance {
    listener: TcpListener,
    quiet_until: Option<Instant>,
}

impl Entrance {
    /// The next connection. While the system has no descriptor for it, open connections continue.
    async fn next(&mut self) -> (TcpStream, SocketAddr) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        loop {
            let error = match self.listener.accept().await {
                Ok(accepted) => return accepted,
                // The client disconnected before it was accepted.
                Err(error) if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) => {
                    continue;
                }
                Err(error) => error,
            };
            if self.quiet_until.is_none_or(|until| until <= Instant::now()) {
                self.quiet_until = Some(Instant::now() + QUIET);
                log::warning!("no more connections can be accepted for now, those that are open go on: {error}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Tells a client that there is no room for it, and reads what it sent, so that it sees the answer.
async fn turn_away<P>(mut socket: TcpStream, _leave: P) {
    let telling = async {
        socket.write_all(&refusal::whole(Error::busy("The server has as many connections open as it may."))).await?;
        socket.shutdown().await?;
        let mut scratch = [0; 4 * 1024];
        while socket.read(&mut scratch).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = tokio::time::timeout(TURNING_AWAY, telling).await;
}

/// What a connection begins with.
struct Talk<F> {
    peer: IpAddr,
    limits: Arc<Limits>,
    answer: F,
    stopping: watch::Receiver<()>,
    place: Charge,
}

impl<F, R> Talk<F>
where
    F: Fn(IpAddr, http::Request<Incoming>) -> R + Send + Sync + 'static,
    R: Future<Output = http::Response<Content>> + Send + 'static,
{
    /// Answers requests after the handshake, for which a client has as long as for a head.
    async fn secured(self, tls: Arc<Tls>, socket: TcpStream) {
        match tokio::time::timeout(self.limits.patience, tls.accept(socket)).await {
            Ok(Ok(Some(stream))) => Box::pin(self.on(stream)).await,
            Ok(Ok(None)) => {}
            Ok(Err(error)) => log::debug!("{}: no TLS: {error}", self.peer),
            Err(_) => log::debug!("{}: the handshake of TLS took too long", self.peer),
        }
    }

    async fn on(self, socket: impl Wire) {
        let Talk { peer, limits, answer, stopping, place } = self;
        serve(socket, peer, limits, answer, stopping).await;
        drop(place);
    }
}

/// How connections speak HTTP.
fn builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // Most answers are short: copying one behind its head costs less than sending two pieces.
    builder.http1().writev(false).max_buf_size(limits.head_bytes as usize);
    builder
        .http2()
        .max_concurrent_streams(limits.http2_streams)
        .initial_stream_window_size(limits.http2_window)
        .initial_connection_window_size(limits.http2_window)
        .max_send_buf_size(UNSENT as usize)
        .max_header_list_size(limits.head_bytes.min(HTTP2_HEAD));
    builder
}

async fn serve<F, R>(socket: impl Wire, peer: IpAddr, limits: Arc<Limits>, answer: F, mut stopping: watch::Receiver<()>)
where
    F: Fn(IpAddr, http::Request<Incoming>) -> R + Send + Sync + 'static,
    R: Future<Output = http::Response<Content>> + Send + 'static,
{
    let marks = Arc::new(Marks::default());
    let heads = Heads::new(marks.clone(), limits.budgets.heads.clone(), limits.budgets.address(peer));
    let io =
        Marked { socket: TokioIo::new(Socket::new(socket, heads)), stalls: 0, stalled: false, marks: marks.clone() };
    let service = service_fn(|request| {
        let turn = Turn::begin(&marks);
        let paced = request.version() < Version::HTTP_2;
        let answer = CUT.scope(marks.cut().clone(), answer(peer, request));
        let queue = limits.queue.clone();
        async move {
            let answer = answer.await;
            if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
                turn.0.carries_other();
            }
            let held = Answer::is_large(answer.body()).map(|bytes| queue.hold(bytes, turn.0.cut().clone()));
            Ok::<_, Infallible>(answer.map(|content| Answer::new(content, paced, turn, held)))
        }
    });
    let builder = builder(&limits);
    let mut connection = pin!(builder.serve_connection_with_upgrades(io, service));
    let mut looks = tokio::time::interval(limits.patience / LOOKS);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut watch, mut going) = (Watch::default(), true);
    let mut leaving: Option<Pin<Box<Sleep>>> = None;
    loop {
        tokio::select! {
            biased;
            // A connection that ends early, because the client leaves or sends invalid data, is not reported to the
            // operator.
            _ = connection.as_mut() => return,
            () = marks.cut().notified() => return,
            _ = stopping.changed(), if going => {
                going = false;
                let wait = if marks.requests().1 == 0 { FIRST_REQUEST } else { Duration::ZERO };
                leaving = Some(Box::pin(tokio::time::sleep(wait)));
            }
            () = async { if let Some(time) = leaving.as_mut() { time.await } }, if leaving.is_some() => {
                leaving = None;
                connection.as_mut().graceful_shutdown();
            }
            _ = looks.tick() => if watch.look(&marks) { return },
        }
    }
}

/// A socket that marks the times when there is no room to send.
struct Marked<S> {
    socket: TokioIo<Socket<S>>,
    /// Stalls so far.
    stalls: u64,
    stalled: bool,
    marks: Arc<Marks>,
}

impl<S> Marked<S> {
    fn mark<T>(&mut self, sent: Poll<T>) -> Poll<T> {
        if sent.is_pending() != self.stalled {
            self.stalled = sent.is_pending();
            self.stalls += u64::from(self.stalled);
            self.marks.stalled(if self.stalled { self.stalls } else { 0 });
        }
        sent
    }
}

impl<S: Wire> Read for Marked<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }
}

impl<S: Wire> Write for Marked<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.mark(sent)
    }

    /// The HTTP library flushes when it has written everything.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(cx);
        if flushed.is_ready() {
            self.marks.sent();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.mark(sent)
    }
}
