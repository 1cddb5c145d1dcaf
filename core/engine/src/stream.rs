//! What a runtime is told of a receive stream that it opens. The relay says what goes through it.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Most bytes after which a page of a stream takes no further message; the setting `stream_bytes` is at most that.
pub const PAGE_BYTES: u64 = 256 * 1024;

/// How messages are written into a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Framing {
    /// Server-sent events; ends with an event `reconnect` after the setting `stream_seconds`.
    Sse,
    /// One JSON text per line; each line is sent as one text frame without its line feed. Never ends by itself.
    WebSocket,
}

/// A request to open a receive stream, and its state. A stream that is opened again from the state of its hub goes on
/// where it was; a hibernated WebSocket wakes up in this way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenStream {
    /// The agent actor's name.
    pub agent: String,
    /// The epoch of the caller's credentials at the opening. The stream ends when the epoch changes, because the
    /// registration may have passed to another holder, or the API key of the stream has ended.
    pub version: u64,
    /// The stamp of the last message the client has; only later ones are sent.
    pub after: Option<Timestamp>,
    /// Only messages of this sender (a DID).
    pub from: Option<String>,
    pub framing: Framing,
}
