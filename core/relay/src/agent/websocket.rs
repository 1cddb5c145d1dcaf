//! `GET /v1/agent/receive/ws`, without I/O (decision websocket-receive).
//!
//! A shell that gets an upgrade request on [`PATH`] accepts it and then calls [`open`]: at once when the request has
//! `X-Agent-Key`, otherwise with the first text frame, which must come within [`FIRST_FRAME`]. The key is never in the
//! URL. An error closes the connection with [`REFUSED`] (or [`TRY_LATER`] while storage is closed); there is no 429.
//! After that the stream is one of the agent's [`Hub`](super::stream::Hub), and every line of a page is one text frame.
//! No frame marks a message as read, and later frames of the client are ignored.

use std::time::Duration;

use serde::Deserialize;

use super::stream::{CONNECT_PATIENCE, Framing, OpenStream, StreamEnd, cursor};
use super::{Authorize, KEY_KIND};
use crate::agent::usage::Usage;
use crate::{Error, ErrorCode, Result};
use engine::runtime::{self, Runtime};

pub const PATH: &str = "/v1/agent/receive/ws";
/// The time within which the first frame must come.
pub const FIRST_FRAME: Duration = Duration::from_secs(5);
/// Longest first frame in bytes.
pub const MAX_FIRST_FRAME: usize = 4 * 1024;
/// Close code for a missing or wrong key (RFC 6455 7.4.1: policy violation).
pub const REFUSED: u16 = 1008;
/// Close code of a server that shuts down (RFC 6455, 7.4.1).
pub const AWAY: u16 = 1001;
/// Close code while the service cannot answer (try again later, IANA registry).
pub const TRY_LATER: u16 = 1013;

#[derive(Deserialize)]
struct FirstFrame {
    api_key: String,
    /// A timestamp, or the id of the last frame that the client has.
    since: Option<String>,
}

/// The close code that answers an error of [`open`].
pub fn close_code(error: &Error) -> u16 {
    match error.code {
        ErrorCode::Unauthorized | ErrorCode::BadRequest => REFUSED,
        _ => TRY_LATER,
    }
}

/// The close code of a stream that ended, and the reason in words.
pub fn end_code(end: StreamEnd) -> (u16, &'static str) {
    match end {
        StreamEnd::Time => (TRY_LATER, "the stream ended; connect again"),
        StreamEnd::Key => (REFUSED, "the key is not valid any more"),
        StreamEnd::Displaced => (REFUSED, "the agent opened more streams than it may have"),
        StreamEnd::Stopping => (AWAY, "the server is stopping"),
    }
}

/// Checks the caller and the place to start from: from the `X-Agent-Key` header and the query `since`, or from the
/// first frame.
pub async fn open(
    rt: &dyn Runtime,
    header: Option<&str>,
    since: Option<&str>,
    first_frame: Option<&str>,
) -> Result<OpenStream> {
    let frame: Option<FirstFrame> = match (header, first_frame) {
        (None, Some(text)) if text.len() <= MAX_FIRST_FRAME => {
            let read = serde_json::from_str(text);
            Some(read.map_err(|_| Error::bad_request("The first frame must be {\"api_key\": ..., \"since\": ...}."))?)
        }
        _ => None,
    };
    let refuse = || Error::unauthorized("The agent key is missing or not valid.");
    let given = header.or(frame.as_ref().map(|frame| frame.api_key.as_str())).ok_or_else(refuse)?;
    let environment = rt.environment();
    let key = environment.secrets.parse_key(&environment.settings.brand, KEY_KIND, given).ok_or_else(refuse)?;
    let authorize = Authorize { secret_hash: key.secret_hash() };
    let attempt = || runtime::query(rt, key.actor(), &authorize);
    let caller =
        runtime::retry_unavailable(rt, CONNECT_PATIENCE, attempt).await?.ok_or_else(refuse)?.admitted(false)?;
    Usage::of(environment).seen(&caller.actor, rt.now());
    let since = since.or(frame.as_ref().and_then(|frame| frame.since.as_deref()));
    Ok(OpenStream {
        agent: caller.actor,
        version: caller.epoch,
        after: since.and_then(cursor),
        from: None,
        framing: Framing::WebSocket,
    })
}
