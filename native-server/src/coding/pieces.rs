//! A body that comes in pieces, compressed on its way.
//!
//! What the sender wrote is readable for the client when the sender pauses, and at the latest after [`PART`] bytes. So
//! a reader sees progress, and no more than a part of the body is in memory.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use heliograph_core::engine::http::Coding;
use heliograph_core::engine::runtime::ByteStream;

use super::encoder::Encoder;

/// Bytes of the body after which what they became is sent.
const PART: usize = 32 * 1024;

pub struct Pieces {
    body: ByteStream,
    /// `None` once the body has ended.
    encoder: Option<Encoder>,
    /// The rest of a piece of the body.
    rest: Bytes,
    /// Bytes that the encoder took since it was last flushed.
    unsent: usize,
}

impl Pieces {
    pub fn new(coding: Coding, body: ByteStream) -> Pieces {
        Pieces { body, encoder: Some(Encoder::of_length(coding, 0)), rest: Bytes::new(), unsent: 0 }
    }
}

impl Stream for Pieces {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = &mut *self;
        loop {
            let Some(encoder) = &mut this.encoder else { return Poll::Ready(None) };
            let mut pauses = false;
            if this.rest.is_empty() {
                match this.body.as_mut().poll_next(cx) {
                    Poll::Ready(Some(piece)) => this.rest = piece,
                    Poll::Ready(None) => {
                        let last = this.encoder.take().map(Encoder::finish).filter(|last| !last.is_empty());
                        return Poll::Ready(last.map(Bytes::from));
                    }
                    Poll::Pending if this.unsent == 0 => return Poll::Pending,
                    Poll::Pending => pauses = true,
                }
            }
            let part = this.rest.split_to(this.rest.len().min(PART - this.unsent));
            encoder.write(&part);
            this.unsent += part.len();
            if pauses || this.unsent == PART {
                encoder.flush();
                this.unsent = 0;
                let ready = encoder.take();
                if !ready.is_empty() {
                    return Poll::Ready(Some(ready.into()));
                }
                // The body has the waker already.
                if pauses {
                    return Poll::Pending;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use futures_util::{FutureExt, StreamExt, stream};
    use tokio::sync::mpsc;

    use super::super::tests::decoded;
    use super::*;

    /// What a client can read of a body that has not ended.
    fn readable(coding: Coding, bytes: &[u8]) -> Vec<u8> {
        let (mut body, mut piece) = (Vec::new(), [0; 64]);
        let mut reader: Box<dyn Read> = match coding {
            Coding::Brotli => Box::new(brotli::Decompressor::new(bytes, 4_096)),
            Coding::Gzip => Box::new(flate2::read::GzDecoder::new(bytes)),
        };
        // An error says that the body goes on.
        while let Ok(length @ 1..) = reader.read(&mut piece) {
            body.extend_from_slice(&piece[..length]);
        }
        body
    }

    #[test]
    fn a_reader_sees_what_was_written_while_the_writer_pauses() {
        for coding in [Coding::Brotli, Coding::Gzip] {
            let (writer, mut body) = mpsc::unbounded_channel::<Bytes>();
            let mut pieces = Pieces::new(coding, Box::pin(stream::poll_fn(move |cx| body.poll_recv(cx))));
            let mut sent = Vec::new();
            for row in 0..5 {
                writer.send(format!("row {row}\n").into()).unwrap();
                let piece = pieces.next().now_or_never().unwrap().unwrap();
                sent.extend_from_slice(&piece);
                assert!(pieces.next().now_or_never().is_none(), "nothing more is there");
                let seen = String::from_utf8(readable(coding, &sent)).unwrap();
                assert!(seen.ends_with(&format!("row {row}\n")), "{coding:?}: {seen:?}");
            }
            drop(writer);
            sent.extend(pieces.next().now_or_never().unwrap().unwrap());
            assert!(pieces.next().now_or_never().unwrap().is_none());
            assert_eq!(decoded(coding, &sent), b"row 0\nrow 1\nrow 2\nrow 3\nrow 4\n");
        }
    }

    #[test]
    fn a_long_body_is_sent_while_it_comes_and_arrives_whole() {
        for coding in [Coding::Brotli, Coding::Gzip] {
            let rows: Vec<Bytes> =
                (0..20_000).map(|row| Bytes::from(format!("{row},{}\n", row * 7_919 % 1_000))).collect();
            let whole = rows.concat();
            // Pieces of one row, and one that is longer than a part.
            for body in [rows, vec![whole.clone().into()]] {
                let pieces = Pieces::new(coding, Box::pin(stream::iter(body)));
                let sent: Vec<Bytes> = pieces.collect().now_or_never().unwrap();
                assert!(sent.len() > whole.len() / PART, "{}", sent.len());
                assert!(sent.iter().all(|piece| piece.len() <= 2 * PART));
                assert_eq!(decoded(coding, &sent.concat()), whole);
            }
        }
    }
}
