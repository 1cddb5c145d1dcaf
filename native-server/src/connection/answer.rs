//! The body of an answer while it is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use heliograph_core::engine::runtime::ByteStream;
use hyper::body::{Body, Frame, SizeHint};

use super::marks::Turn;
use crate::queue::HeldBytes;

/// Bytes that are handed to the HTTP library at a time. The library copies them into a buffer that never shrinks while
/// the connection lives. So a large answer is sent in pieces, each once the piece before is sent.
const PIECE: usize = 16 * 1024;

/// The content of an answer.
pub enum Content {
    Whole(Bytes),
    Pieces(ByteStream),
}

/// An answer that is being sent.
pub struct Answer {
    content: Content,
    /// The rest of a piece of a stream.
    rest: Bytes,
    /// True if pieces wait for each other; over HTTP/2 each stream has a window of its own.
    paced: bool,
    turn: Turn,
    /// For a large answer, its place in the queue of data that clients have not read.
    _held: Option<HeldBytes>,
}

impl Answer {
    pub fn new(content: Content, paced: bool, turn: Turn, held: Option<HeldBytes>) -> Answer {
        Answer { content, rest: Bytes::new(), paced, turn, _held: held }
    }

    /// The length of an answer that is large enough to count among the data that clients have not read.
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
        // Nothing waits behind the last piece of an answer with a known length.
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
            // The cast is safe: lengths have at most 64 bits.
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Pieces(_) => SizeHint::default(),
        }
    }
}
