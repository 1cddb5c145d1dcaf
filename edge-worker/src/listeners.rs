//! Open streams of one agent's object: server-sent events and hibernating WebSockets.
//!
//! The core's [`Hub`] decides what each stream gets and in which order; this module moves the bytes. A commit wakes the
//! hub without data, and every stream then continues after its own cursor (decisions wake-without-data and
//! stream-lifetimes). While only WebSockets are open, the platform may put the object to sleep. Each socket carries its
//! cursor as an attachment, from which the hub is built again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::Stream;
use heliograph_core::crypto::encoding::{decode_base64, encode_base64};
use heliograph_core::engine::actor::{View, decode, encode};
use heliograph_core::engine::runtime::ByteStream;
use heliograph_core::relay::agent::stream::{Emission, Hub, OpenStream, StreamId};
use heliograph_core::relay::agent::websocket::{TRY_LATER, end_code};
use heliograph_core::{Result, Timestamp};
use serde::{Deserialize, Serialize};
use worker::{WebSocket, WebSocketPair, WebSocketRequestResponsePair};

use crate::clock;
use crate::space::Space;

/// Pause between two pages on one socket, in microseconds. The platform buffers the bytes for a socket and does not say
/// how many, so a long backlog must not be written at once.
const PAGE_PAUSE: i64 = 50_000;

/// One socket gets at most as many bytes as so many pages before it is closed, for the same reason. Its client connects
/// again and continues where it was; for a client that doesn't read, the platform buffers no more than that.
const SOCKET_PAGES: u64 = 32;

/// Pause before rows that could not be read are tried again, or before the next look at a client that does not read.
const RETRY: i64 = 1_000_000;

#[derive(Default)]
pub struct Listeners {
    hub: Hub,
    sinks: BTreeMap<StreamId, Sink>,
    restored: bool,
    /// When the running timer looks at the hub again.
    timer: Option<Timestamp>,
}

enum Sink {
    Events(Rc<RefCell<Slot>>),
    Socket {
        socket: WebSocket,
        kept: SocketAttachment,
        /// When the socket may get the next page.
        ready: Timestamp,
        /// Bytes that the socket was sent.
        sent: u64,
    },
}

/// The attachment of a socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SocketAttachment {
    opened: Timestamp,
    /// Tells sockets apart.
    number: u64,
    open: OpenStream,
}

impl SocketAttachment {
    fn attach(&self, socket: &WebSocket) -> Result<()> {
        socket.serialize_attachment(encode_base64(&encode(self)?)).map_err(heliograph_core::Error::internal)
    }

    fn of(socket: &WebSocket) -> Option<SocketAttachment> {
        let text: String = socket.deserialize_attachment().ok()??;
        decode(&decode_base64("attachment", &text).ok()?).ok()
    }
}

/// The slot between the hub and a client: one page, and the last words.
#[derive(Default)]
struct Slot {
    page: Option<Bytes>,
    last: Option<Bytes>,
    ended: bool,
    reader: Option<Waker>,
}

impl Slot {
    fn put(&mut self, emission: Emission) {
        match emission {
            Emission::Page(bytes) => self.page = Some(bytes),
            Emission::Last(bytes, _) => {
                self.last = Some(bytes).filter(|bytes| !bytes.is_empty());
                self.ended = true;
            }
        }
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    fn take(&mut self) -> Option<Bytes> {
        self.page.take().or_else(|| self.last.take())
    }
}

impl Space {
    /// Opens a stream of server-sent events.
    pub fn events(self: &Rc<Self>, open: OpenStream) -> ByteStream {
        let slot = Rc::new(RefCell::new(Slot::default()));
        let id = self.listen(open, clock::now(), |_| Sink::Events(slot.clone()));
        Box::pin(Events { space: Rc::downgrade(self), id, slot })
    }

    /// Accepts a WebSocket and returns the client's end.
    pub fn socket(self: &Rc<Self>, open: OpenStream) -> worker::Result<WebSocket> {
        let pair = WebSocketPair::new()?;
        self.state.accept_web_socket(&pair.server);
        // Answered by the platform, without waking a sleeping object.
        self.state.set_websocket_auto_response(&WebSocketRequestResponsePair::new("ping", "pong")?);
        let [a, b, c, d, e, f, g, h, ..] = clock::random();
        let opened = clock::now();
        let kept =
            SocketAttachment { opened, number: u64::from_be_bytes([a, b, c, d, e, f, g, h]), open: open.clone() };
        kept.attach(&pair.server).map_err(|error| worker::Error::RustError(error.to_string()))?;
        // The new socket is already among those of the state, so a hub that is built again finds it there.
        let restored = self.restore();
        if !restored {
            self.listen(open, opened, |_| Sink::Socket { socket: pair.server, kept, ready: Timestamp(0), sent: 0 });
        }
        Ok(pair.client)
    }

    fn listen(self: &Rc<Self>, open: OpenStream, now: Timestamp, sink: impl FnOnce(StreamId) -> Sink) -> StreamId {
        self.restore();
        let id = {
            let mut listeners = self.listeners.borrow_mut();
            let id = listeners.hub.open(open, now);
            let sink = sink(id);
            listeners.sinks.insert(id, sink);
            id
        };
        self.turn_streams();
        id
    }

    /// Builds the hub from the sockets that outlived the previous instance; true if it did so now.
    fn restore(self: &Rc<Self>) -> bool {
        let mut listeners = self.listeners.borrow_mut();
        if std::mem::replace(&mut listeners.restored, true) {
            return false;
        }
        let sockets = self.state.get_websockets();
        let mut sockets: Vec<(SocketAttachment, WebSocket)> =
            sockets.into_iter().filter_map(|socket| Some((SocketAttachment::of(&socket)?, socket))).collect();
        sockets.sort_by_key(|(kept, _)| (kept.opened, kept.number));
        for (kept, socket) in sockets {
            let id = listeners.hub.open(kept.open.clone(), kept.opened);
            listeners.sinks.insert(id, Sink::Socket { socket, kept, ready: Timestamp(0), sent: 0 });
        }
        drop(listeners);
        self.turn_streams();
        true
    }

    /// Forgets a socket whose client left.
    pub fn socket_closed(self: &Rc<Self>, socket: &WebSocket) {
        let Some(gone) = SocketAttachment::of(socket) else { return };
        let mut listeners = self.listeners.borrow_mut();
        let same = |sink: &Sink| matches!(sink, Sink::Socket { kept, .. } if kept.number == gone.number);
        let id = listeners.sinks.iter().find(|(_, sink)| same(sink)).map(|(id, _)| *id);
        if let Some(id) = id {
            listeners.sinks.remove(&id);
            listeners.hub.close(id);
        }
    }

    /// Lets every stream continue, and sets a timer for the next time that this is due without a wake-up.
    pub fn turn_streams(self: &Rc<Self>) {
        // Sockets of a sleeping object must be told of this commit too.
        if !self.listeners.borrow().restored {
            self.restore();
            return;
        }
        let now = clock::now();
        let mut listeners = self.listeners.borrow_mut();
        if listeners.hub.is_empty() {
            return;
        }
        let next = self.with_view(|view| listeners.turn(view, now)).unwrap_or_else(|error| {
            worker::console_error!("{}: cannot read for its streams: {error}", self.actor());
            Some(now.plus(RETRY))
        });
        let Some(next) = next else { return };
        if listeners.timer.is_some_and(|timer| timer <= next) {
            return;
        }
        listeners.timer = Some(next);
        let space = self.clone();
        worker::wasm_bindgen_futures::spawn_local(async move {
            clock::sleep(clock::now().until(next)).await;
            let current = space.listeners.borrow().timer == Some(next);
            // A timer that was replaced by an earlier one has nothing to do.
            if current {
                space.listeners.borrow_mut().timer = None;
                space.turn_streams();
            }
        });
    }
}

impl Listeners {
    /// Hands out pages until no stream takes more. Returns when to call again.
    fn turn(&mut self, view: &View<'_>, now: Timestamp) -> Result<Option<Timestamp>> {
        loop {
            let Listeners { hub, sinks, .. } = self;
            let mut emitted = Vec::new();
            let mut stalled: Option<Timestamp> = None;
            let mut ready = |id: StreamId| match sinks.get(&id) {
                Some(Sink::Events(slot)) => slot.borrow().page.is_none(),
                Some(Sink::Socket { ready, .. }) if *ready > now => {
                    stalled = Some(stalled.map_or(*ready, |at| at.min(*ready)));
                    false
                }
                Some(Sink::Socket { .. }) => true,
                None => false,
            };
            let next = hub.turn(view, &mut ready, &mut |id, emission| emitted.push((id, emission)))?;
            let mut paged = false;
            for (id, emission) in emitted {
                paged |= matches!(emission, Emission::Page(_));
                self.hand_over(id, emission, view);
            }
            if !paged {
                // If a page waits for its reader, there is no need to come back at once: the reader calls again.
                let next = next.map(|next| if next <= now { now.plus(RETRY) } else { next });
                return Ok([next, stalled].into_iter().flatten().min());
            }
        }
    }

    fn hand_over(&mut self, id: StreamId, emission: Emission, view: &View<'_>) {
        let end = match &emission {
            Emission::Page(_) => None,
            Emission::Last(_, end) => Some(*end),
        };
        match self.sinks.get_mut(&id) {
            Some(Sink::Events(slot)) => slot.borrow_mut().put(emission),
            Some(Sink::Socket { socket, kept, ready, sent }) => {
                let gone = send(socket, &emission).is_err();
                *ready = view.now.plus(PAGE_PAUSE);
                *sent += emission.size();
                if let Some(open) = self.hub.state(id) {
                    kept.open = open.clone();
                }
                if let Some(end) = end {
                    let (code, reason) = end_code(end);
                    let _ = socket.close(Some(code), Some(reason));
                } else if gone || kept.attach(socket).is_err() || *sent > SOCKET_PAGES * view.settings.stream_bytes {
                    let _ = socket.close(Some(TRY_LATER), Some("connect again to continue where this ended"));
                    self.hub.close(id);
                    self.sinks.remove(&id);
                }
            }
            None => {}
        }
        if end.is_some() {
            self.sinks.remove(&id);
        }
    }
}

/// Sends one text frame for each line.
fn send(socket: &WebSocket, emission: &Emission) -> worker::Result<()> {
    let (Emission::Page(bytes) | Emission::Last(bytes, _)) = emission;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| std::str::from_utf8(line).ok()).try_for_each(|line| socket.send_with_str(line))
}

/// The client's side of a stream of server-sent events.
struct Events {
    space: Weak<Space>,
    id: StreamId,
    slot: Rc<RefCell<Slot>>,
}

impl Stream for Events {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let taken = self.slot.borrow_mut().take();
        if let Some(bytes) = taken {
            return Poll::Ready(Some(bytes));
        }
        // The previous page has been taken, so there is room for the next one.
        if !self.slot.borrow().ended
            && let Some(space) = self.space.upgrade()
        {
            space.turn_streams();
        }
        let mut slot = self.slot.borrow_mut();
        match slot.take() {
            Some(bytes) => Poll::Ready(Some(bytes)),
            None if slot.ended => Poll::Ready(None),
            None => {
                slot.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if let Some(space) = self.space.upgrade() {
            let mut listeners = space.listeners.borrow_mut();
            listeners.hub.close(self.id);
            listeners.sinks.remove(&self.id);
        }
    }
}
