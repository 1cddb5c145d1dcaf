//! Receive streams: what server-sent events and WebSockets of one agent are fed from, without any I/O.
//!
//! A live event carries no data. It wakes the [`Hub`], and every stream reads its next page after its own cursor, so
//! there is no wall between backlog and live, nothing is sent twice and at most one page is buffered (ruling
//! foundation-relay 7). Streams of one agent are served in opening order and each ends by its own opening time alone:
//! clients lose replies when two of their listeners change places (ruling foundation-relay 8).

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::actor::View;
use crate::time::SECOND;
use crate::{Result, Timestamp};

/// Most messages in a page.
pub const PAGE_MESSAGES: usize = 64;
/// Bytes after which a page takes no further message.
pub const PAGE_BYTES: usize = 256 * 1024;

/// How messages are written into a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Framing {
    /// Server-sent events; ends with an event `reconnect` after the setting `stream_seconds`.
    Sse,
    /// One JSON text a line, each line to be sent as one text frame without its line feed. Never ends by itself.
    WebSocket,
}

/// A request to open a receive stream, and its state: a stream that is opened again from [`Hub::state`] goes on where
/// it was, which is how a hibernated WebSocket wakes up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// The agent actor's name.
    pub agent: String,
    /// The stamp of the last message the client has; only later ones are sent.
    pub after: Option<Timestamp>,
    /// Only messages of this sender (a DID).
    pub from: Option<String>,
    pub framing: Framing,
}

/// Names a stream within its hub; later streams have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamId(pub u64);

/// Bytes for one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Emission {
    /// Some messages. The stream counts as not ready until they are on their way to the client.
    Page(Bytes),
    /// The end: send this, then close. Comes even when the stream is not ready.
    Last(Bytes),
}

#[derive(Debug, Clone)]
struct Stream {
    id: StreamId,
    open: Open,
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
    /// Adds a stream. Call [`Hub::turn`] next, in the same turn, so that no message falls between.
    pub fn open(&mut self, open: Open, now: Timestamp) -> StreamId {
        let id = StreamId(self.next);
        self.next += 1;
        self.streams.push(Stream { id, open, opened: now });
        id
    }

    /// Forgets a stream whose client is gone.
    pub fn close(&mut self, id: StreamId) {
        self.streams.retain(|stream| stream.id != id);
    }

    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// What opens this stream again where it is now.
    pub fn state(&self, id: StreamId) -> Option<&Open> {
        self.streams.iter().find(|stream| stream.id == id).map(|stream| &stream.open)
    }

    /// Gives every stream for which `ready` answers true its next page, in opening order, and ends those whose time is
    /// up. Call it after an opening, after a wake of the agent, when a stream became ready again, and at the returned
    /// time; `view` must contain every change answered before.
    ///
    /// Returns when to call again at the latest; that is now when a stream that got a page has more to read, which
    /// matters only if it is ready for more already. On an error nothing was lost: call again later.
    pub fn turn(
        &mut self,
        view: &View<'_>,
        ready: &mut dyn FnMut(StreamId) -> bool,
        emit: &mut dyn FnMut(StreamId, Emission),
    ) -> Result<Option<Timestamp>> {
        let _ = ready;
        let mut next: Option<Timestamp> = None;
        self.streams.retain(|stream| {
            let Some(ends) = stream.ends(view) else { return true };
            if ends <= view.now {
                emit(stream.id, Emission::Last(Bytes::from_static(RECONNECT)));
                return false;
            }
            next = Some(next.map_or(ends, |next| next.min(ends)));
            true
        });
        Ok(next)
    }
}

/// Existing clients reconnect half a second after this event and the close that follows it (spec relay 5.7).
const RECONNECT: &[u8] = b"event: reconnect\ndata: {}\n\n";
