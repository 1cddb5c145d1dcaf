//! Receive streams: the messages for the server-sent events and WebSockets of one agent, without any I/O.
//!
//! A live event carries no data. It wakes the [`Hub`], and every stream reads its next page after its own cursor. So
//! there is no boundary between backlog and live messages, nothing is sent twice, and at most one page is buffered
//! (decision wake-without-data). Streams of one agent are served in opening order, and each ends by its own opening
//! time alone: clients lose replies when two of their listeners change places (decision stream-lifetimes).

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::mailbox::{Budget, Filter, MailboxItem, ReadPage, page};
use super::{record, wire};
use crate::{Error, Result, Timestamp};
use crypto::encoding;
use engine::actor::View;
use engine::time::SECOND;

pub use engine::stream::{Framing, OpenStream, PAGE_BYTES};

/// Most messages on a page.
pub const PAGE_MESSAGES: usize = 64;
/// How long a new connection waits while storage cannot answer, before it gets a 503 (decision stream-lifetimes).
pub const CONNECT_PATIENCE: Duration = Duration::from_secs(20);

/// Parses the place from which a client wants to go on: the id of an event (the stamp in microseconds), or a timestamp.
pub fn cursor(text: &str) -> Option<Timestamp> {
    text.parse().map(Timestamp).ok().or_else(|| Timestamp::parse(text))
}

/// The number of a stream within its hub; later streams have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamId(pub u64);

/// Bytes for one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Emission {
    /// Some messages. The stream counts as not ready until they are on their way to the client.
    Page(Bytes),
    /// The end: send these bytes, then close. May come even when the stream is not ready.
    Last(Bytes, StreamEnd),
}

impl Emission {
    /// How many bytes are sent.
    pub fn size(&self) -> u64 {
        let (Emission::Page(bytes) | Emission::Last(bytes, _)) = self;
        bytes.len() as u64
    }
}

/// Why a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// Its time is over.
    Time,
    /// The key that opened it is no longer valid.
    Key,
    /// The agent opened more streams than it may have, and this was the oldest.
    Displaced,
    /// The server stops, or a new version takes its place.
    Stopping,
}

#[derive(Debug, Clone)]
struct Stream {
    id: StreamId,
    open: OpenStream,
    opened: Timestamp,
}

impl Stream {
    fn ends(&self, view: &View<'_>) -> Option<Timestamp> {
        let life = i64::from(view.settings.stream_seconds) * SECOND;
        (self.open.framing == Framing::Sse).then(|| self.opened.plus(life))
    }
}

/// The streams of one agent, in opening order.
#[derive(Debug, Clone, Default)]
pub struct Hub {
    streams: Vec<Stream>,
    next: u64,
}

impl Hub {
    /// Adds a stream. Call [`Hub::turn`] next, in the same turn, so that no message is missed.
    pub fn open(&mut self, open: OpenStream, now: Timestamp) -> StreamId {
        let id = StreamId(self.next);
        self.next += 1;
        self.streams.push(Stream { id, open, opened: now });
        id
    }

    /// Removes a stream whose client is gone.
    pub fn close(&mut self, id: StreamId) {
        self.streams.retain(|stream| stream.id != id);
    }

    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// The request that opens this stream again where it is now.
    pub fn state(&self, id: StreamId) -> Option<&OpenStream> {
        self.streams.iter().find(|stream| stream.id == id).map(|stream| &stream.open)
    }

    /// Gives every stream for which `ready` returns true its next page, in opening order, and ends streams whose time
    /// is over. Call it after an opening, after a wake of the agent, when a stream becomes ready again, and at the
    /// returned time. `view` must contain every change that was answered before.
    ///
    /// Returns the latest time of the next call. That is now when a stream that got a page has more to read, which
    /// matters only if it is ready for more already. An error loses nothing: call again later.
    pub fn turn(
        &mut self,
        view: &View<'_>,
        ready: &mut dyn FnMut(StreamId) -> bool,
        emit: &mut dyn FnMut(StreamId, Emission),
    ) -> Result<Option<Timestamp>> {
        if self.streams.is_empty() {
            return Ok(None);
        }
        self.make_room(view, emit);
        let version = match record::active(view)? {
            Some(agent) => Some(record::epoch(view, &agent)?),
            None => None,
        };
        let to = wire::did_text(view.settings, &record::did_of(&view.actor().name)?);
        let mut next: Option<Timestamp> = None;
        let mut sooner = |due: Timestamp| next = Some(next.map_or(due, |next| next.min(due)));
        for stream in self.streams.iter_mut().filter(|stream| version == Some(stream.open.version)) {
            if !ready(stream.id) {
                continue;
            }
            let found = stream.read(view)?;
            if found.has_more {
                sooner(view.now);
            }
            if !found.items.is_empty() {
                emit(stream.id, Emission::Page(stream.render(view, &to, found.items)?));
            }
            stream.open.after = found.reached;
        }
        self.streams.retain(|stream| {
            let ends = stream.ends(view);
            let end = match ends {
                _ if version != Some(stream.open.version) => StreamEnd::Key,
                Some(ends) if ends <= view.now => StreamEnd::Time,
                _ => {
                    ends.into_iter().for_each(&mut sooner);
                    return true;
                }
            };
            emit(stream.id, Emission::Last(stream.farewell(), end));
            false
        });
        Ok(next)
    }

    /// Ends every stream, because the server stops.
    pub fn stop(&mut self, emit: &mut dyn FnMut(StreamId, Emission)) {
        for stream in self.streams.drain(..) {
            emit(stream.id, Emission::Last(stream.farewell(), StreamEnd::Stopping));
        }
    }

    /// Ends the oldest streams of an agent that has more than it may. A client that is refused comes back at once. So
    /// the new stream is opened, and an old one, which may be abandoned, ends.
    fn make_room(&mut self, view: &View<'_>, emit: &mut dyn FnMut(StreamId, Emission)) {
        let most = usize::try_from(view.settings.streams_per_agent).unwrap_or(usize::MAX);
        for stream in self.streams.drain(..self.streams.len().saturating_sub(most)) {
            emit(stream.id, Emission::Last(stream.farewell(), StreamEnd::Displaced));
        }
    }
}

impl Stream {
    fn read(&self, view: &View<'_>) -> Result<ReadPage> {
        let from = match &self.open.from {
            None => None,
            Some(did) => match encoding::parse_did(&view.settings.brand, did) {
                Ok(did) => Some(did),
                // A text that is not a DID of this service never sends anything.
                Err(_) => return Ok(ReadPage::empty(self.open.after, Timestamp::MIN)),
            },
        };
        let filter = Filter { after: self.open.after, from, unread: true, ..Filter::default() };
        page(view, &filter, Budget { messages: PAGE_MESSAGES, bytes: view.settings.stream_bytes })
    }

    fn render(&self, view: &View<'_>, to: &str, items: Vec<MailboxItem>) -> Result<Bytes> {
        let mut page = Vec::new();
        for item in items {
            let id = item.stamp.0;
            let raw = wire::raw_message(view.settings, &self.open.agent, to, item);
            match self.open.framing {
                Framing::Sse => {
                    page.extend_from_slice(b"event: message\ndata: ");
                    serde_json::to_writer(&mut page, &raw).map_err(Error::internal)?;
                    page.extend_from_slice(format!("\nid: {id}\n\n").as_bytes());
                }
                Framing::WebSocket => {
                    let frame = Frame { event: "message", id: id.to_string(), data: &raw };
                    serde_json::to_writer(&mut page, &frame).map_err(Error::internal)?;
                    page.push(b'\n');
                }
            }
        }
        Ok(page.into())
    }

    /// The last bytes of a stream.
    fn farewell(&self) -> Bytes {
        match self.open.framing {
            Framing::Sse => Bytes::from_static(RECONNECT),
            Framing::WebSocket => Bytes::new(),
        }
    }
}

/// One WebSocket text frame.
#[derive(Serialize)]
struct Frame<'a> {
    event: &'static str,
    /// The cursor, the same as the id of a server-sent event.
    id: String,
    data: &'a wire::RawMessage,
}

/// Existing clients reconnect half a second after this event and the close that follows it.
pub(super) const RECONNECT: &[u8] = b"event: reconnect\ndata: {}\n\n";
