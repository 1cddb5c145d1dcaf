//! Answers on their way.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use heliograph_core::engine::runtime::ByteStream;
use hyper::body::{Body, Frame, SizeHint};

use super::marks::Turn;
use crate::queue::Held;

/// Bytes that are handed to the HTTP library at a time. It copies them into a buffer that stays as large as it ever was
/// while the connection lives, so a large answer goes in pieces, each once the one before is sent.
const PIECE: usize = 16 * 1024;

/// What an answer carries.
pub enum Content {
    Whole(Bytes),
    Pieces(ByteStream),
}

/// An answer on its way.
pub struct Answer {
    content: Content,
    /// What is left of a piece of a stream.
    rest: Bytes,
    /// Whether pieces wait for each other; over HTTP/2 each stream has a window of its own.
    paced: bool,
    turn: Turn,
    /// Of a large answer: its place among what clients have not taken yet.
    _held: Option<Held>,
}

impl Answer {
    pub fn new(content: Content, paced: bool, turn: Turn, held: Option<Held>) -> Answer {
        Answer { content, rest: Bytes::new(), paced, turn, _held: held }
    }

    /// Bytes after which an answer counts among those that clients have not taken yet.
    pub fn is_large(content: &Content) -> Option<usize> {
        match content {
            Content::Whole(bytes) if bytes.len() > 4 * PIECE => Some(bytes.len()),
            _ => None,
        }
    }

    fn piece(bytes: &mut Bytes) -> Bytes {
        bytes.split_to(bytes.len().min(PIECE))
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if this.paced && this.turn.0.is_unsent(cx.waker()) {
            return Poll::Pending;
        }
        let piece = match &mut this.content {
            Content::Whole(bytes) if bytes.is_empty() => return Poll::Ready(None),
            Content::Whole(bytes) => Answer::piece(bytes),
            Content::Pieces(stream) => {
                if this.rest.is_empty() {
                    match stream.as_mut().poll_next(cx) {
                        Poll::Ready(Some(bytes)) => this.rest = bytes,
                        Poll::Ready(None) => return Poll::Ready(None),
                        Poll::Pending => return Poll::Pending,
                    }
                }
                Answer::piece(&mut this.rest)
            }
        };
        // The last piece of an answer of known length needs no room behind it.
        let more = matches!(&this.content, Content::Pieces(_)) || !this.is_end_stream();
        if this.paced && more {
            this.turn.0.handed_over();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
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
