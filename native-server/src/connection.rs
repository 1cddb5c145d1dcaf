//! Connections: accepting them, and ending those whose client stalls.
//!
//! A connection waits `client_seconds` for a whole request head, on its first request and on every later one, and as
//! long for room to send more of an answer. Then it is closed. While a request is worked on, or a stream has nothing to
//! send, its client owes nothing, and the connection stays. (`serve` bounds bodies; a WebSocket keeps its own time.)
//!
//! No clock is read and no timer is set for a request: each leaves two marks on its connection, and a look at the marks
//! every third of that time finds a connection on which nothing happened. So a stalled client is closed after one to
//! one and a third times `client_seconds`.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use bytes::Bytes;
use heliograph_core::runtime::ByteStream;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::refusal::Socket;

/// Looks at a connection in the time that its client has.
const LOOKS: u32 = 3;

/// Answers requests until `shutdown` ends, then lets open ones finish: the future that is returned has accepted its
/// last connection, and ends with the last one.
pub async fn accept<F, R>(
    mut listener: TcpListener,
    patience: Duration,
    answer: F,
    shutdown: impl Future<Output = ()>,
) -> impl Future<Output = ()>
where
    F: Fn(IpAddr, http::Request<Incoming>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = http::Response<Content>> + Send + 'static,
{
    let (stop, stopping) = watch::channel(());
    let mut shutdown = pin!(shutdown);
    loop {
        let (socket, peer) = tokio::select! {
            accepted = Listener::accept(&mut listener) => accepted,
            () = &mut shutdown => break,
        };
        // Without it small answers wait for the acknowledgement of earlier ones.
        let _ = socket.set_nodelay(true);
        tokio::spawn(serve(socket, peer.ip(), patience, answer.clone(), stopping.clone()));
    }
    drop((listener, stopping));
    // Fails when nobody is connected.
    let _ = stop.send(());
    async move { stop.closed().await }
}

async fn serve<F, R>(socket: TcpStream, peer: IpAddr, patience: Duration, answer: F, mut stopping: watch::Receiver<()>)
where
    F: Fn(IpAddr, http::Request<Incoming>) -> R + Send + Sync + 'static,
    R: Future<Output = http::Response<Content>> + Send + 'static,
{
    let marks = Arc::new(Marks::default());
    let io = Marked { socket: TokioIo::new(Socket::from(socket)), stalls: 0, stalled: false, marks: marks.clone() };
    let service = service_fn(|request| {
        let turn = Turn::begin(&marks);
        let answer = answer(peer, request);
        async move { Ok::<_, Infallible>(answer.await.map(|content| Answer { content, _turn: turn })) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // Most answers are short: copying one behind its head costs less than sending two pieces.
    builder.http1().writev(false);
    let mut connection = pin!(builder.serve_connection_with_upgrades(io, service));
    let mut looks = tokio::time::interval(patience / LOOKS);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut watch, mut going) = (Watch::default(), true);
    loop {
        tokio::select! {
            biased;
            // What ends a connection early, a client that leaves or writes nonsense, is not the operator's concern.
            _ = connection.as_mut() => return,
            _ = stopping.changed(), if going => {
                going = false;
                connection.as_mut().graceful_shutdown();
            }
            _ = looks.tick() => if watch.look(&marks) { return },
        }
    }
}

/// What happened on a connection.
#[derive(Default)]
struct Marks {
    /// Requests at work, in the lower half; in the upper half, how many were begun and ended.
    requests: AtomicU64,
    /// The number of the stall, while there is no room to send; else 0.
    stall: AtomicU64,
}

const HALF: u32 = 32;

/// What was seen on a connection, look by look.
#[derive(Default)]
struct Watch {
    requests: u64,
    stall: u64,
    /// Looks that found no request at work and nothing new.
    quiet: u32,
    /// Looks that found the same stall.
    stuck: u32,
}

impl Watch {
    /// Whether the client has stalled for too long.
    fn look(&mut self, marks: &Marks) -> bool {
        let (requests, stall) = (marks.requests.load(Ordering::Relaxed), marks.stall.load(Ordering::Relaxed));
        let waiting = requests << HALF == 0 && requests == self.requests;
        let stuck = stall != 0 && stall == self.stall;
        self.quiet = if waiting { self.quiet + 1 } else { 0 };
        self.stuck = if stuck { self.stuck + 1 } else { 0 };
        (self.requests, self.stall) = (requests, stall);
        // The first look comes at once, and what it finds new is as old as the look before.
        self.quiet > LOOKS || self.stuck > LOOKS
    }
}

/// A request at work, from its head to the end of its answer.
struct Turn(Arc<Marks>);

impl Turn {
    fn begin(marks: &Arc<Marks>) -> Turn {
        marks.requests.fetch_add((1 << HALF) + 1, Ordering::Relaxed);
        Turn(marks.clone())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.requests.fetch_add((1 << HALF) - 1, Ordering::Relaxed);
    }
}

/// What an answer carries.
pub enum Content {
    Whole(Bytes),
    Pieces(ByteStream),
}

/// An answer on its way.
struct Answer {
    content: Content,
    _turn: Turn,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.content {
            Content::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Content::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Content::Pieces(stream) => {
                stream.as_mut().poll_next(cx).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, Content::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            // Lengths fit: addresses have at most 64 bits.
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Pieces(_) => SizeHint::default(),
        }
    }
}

/// A socket that marks when there is no room to send.
struct Marked {
    socket: TokioIo<Socket>,
    /// Stalls so far.
    stalls: u64,
    stalled: bool,
    marks: Arc<Marks>,
}

impl Marked {
    fn mark<T>(&mut self, sent: Poll<T>) -> Poll<T> {
        if sent.is_pending() != self.stalled {
            self.stalled = sent.is_pending();
            self.stalls += u64::from(self.stalled);
            self.marks.stall.store(if self.stalled { self.stalls } else { 0 }, Ordering::Relaxed);
        }
        sent
    }
}

impl Read for Marked {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }
}

impl Write for Marked {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.mark(sent)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether looks find the client stalled, doing something before each.
    fn stalls(looks: u32, mut before: impl FnMut(u32), marks: &Marks) -> bool {
        let mut watch = Watch::default();
        (0..looks).any(|at| {
            before(at);
            watch.look(marks)
        })
    }

    #[test]
    fn a_client_that_asks_nothing_is_found_after_its_time_and_not_before() {
        let marks = Marks::default();
        assert!(!stalls(LOOKS, |_| {}, &marks));
        assert!(stalls(LOOKS + 1, |_| {}, &marks));
    }

    #[test]
    fn a_request_at_work_keeps_its_connection_and_the_time_begins_anew_at_its_end() {
        let marks = Arc::new(Marks::default());
        let mut turn = Some(Turn::begin(&marks));
        assert!(!stalls(100, |_| {}, &marks));
        assert!(!stalls(
            100 + LOOKS,
            |at| if at == 99 {
                turn = None
            },
            &marks
        ));
        assert!(!stalls(100, |_| drop(Turn::begin(&marks)), &marks));
        assert!(stalls(100, |_| {}, &marks));
    }

    #[test]
    fn an_answer_that_nobody_takes_is_found_and_one_that_moves_is_not() {
        let marks = Arc::new(Marks::default());
        let _turn = Turn::begin(&marks);
        let mut number = 0;
        assert!(!stalls(
            100,
            |_| {
                number += 1;
                marks.stall.store(number, Ordering::Relaxed)
            },
            &marks
        ));
        assert!(stalls(100, |_| {}, &marks));
    }
}
