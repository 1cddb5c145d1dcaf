//! Gives the refusals of the HTTP library an error body.
//!
//! A request that the HTTP library cannot read (a broken request line, a head that is too large) never reaches the
//! router: the library refuses it with an empty body. Every error of this service has the error body, so the connection
//! writes that body in place of the library's answer.

use std::io::{self, IoSlice, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use heliograph_core::Error;
use heliograph_core::engine::http::{self as routes, Body};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::heads::Heads;

/// What a connection runs on.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// Sends the last words of a connection, as far as that is possible without waiting. What the client sent is read,
    /// because the system would discard the last words if bytes of the client stayed unread.
    fn part(&mut self, words: &[u8]);
}

impl Wire for TcpStream {
    fn part(&mut self, words: &[u8]) {
        discard(self);
        let _ = self.try_write(words);
    }
}

impl Wire for TlsStream<TcpStream> {
    fn part(&mut self, words: &[u8]) {
        let (socket, connection) = self.get_mut();
        discard(socket);
        let _ = connection.writer().write_all(words);
        connection.send_close_notify();
        while connection.wants_write() && connection.write_tls(&mut AtOnce(socket)).is_ok_and(|sent| sent > 0) {}
    }
}

fn discard(socket: &TcpStream) {
    let mut scratch = [0; 4 * 1024];
    while socket.try_read(&mut scratch).is_ok_and(|length| length > 0) {}
}

/// Writes what the system takes without waiting.
struct AtOnce<'a>(&'a TcpStream);

impl io::Write for AtOnce<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket that puts the error body into empty refusals of the library, and counts heads that come in parts.
pub struct Socket<S> {
    socket: S,
    refusal: Option<Refusal>,
    heads: Heads,
}

/// An answer that is being sent in place of the library's own.
struct Refusal {
    left: Bytes,
    /// Length of the answer that it replaces.
    replaces: usize,
}

impl<S: Wire> Socket<S> {
    pub fn new(socket: S, heads: Heads) -> Socket<S> {
        Socket { socket, refusal: None, heads }
    }

    /// Tells the client that no more half heads are accepted, as far as that is possible without waiting.
    fn give_up(&mut self) -> io::Error {
        let refusal =
            whole(Error::busy("The server reads as many half requests as it may; send the head in one piece."));
        self.socket.part(&refusal);
        io::ErrorKind::ConnectionAborted.into()
    }

    /// Writes a refusal in place of `bytes` when they are the library's own refusal; `None` when they are anything
    /// else.
    fn refuse(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Option<io::Result<usize>>> {
        if self.refusal.is_none() {
            let Some(left) = in_place_of(bytes) else { return Poll::Ready(None) };
            self.refusal = Some(Refusal { left, replaces: bytes.len() });
        }
        while let Some(Refusal { left, replaces }) = &mut self.refusal {
            if left.is_empty() {
                let replaces = *replaces;
                self.refusal = None;
                return Poll::Ready(Some(Ok(replaces)));
            }
            match ready!(Pin::new(&mut self.socket).poll_write(cx, left)) {
                Ok(0) => return Poll::Ready(Some(Ok(0))),
                Ok(written) => left.advance(written),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
        Poll::Ready(None)
    }
}

impl<S: Wire> AsyncRead for Socket<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.socket).poll_read(cx, buffer) {
            Poll::Ready(read) => read?,
            Poll::Pending => {
                self.heads.waiting();
                return Poll::Pending;
            }
        }
        let arrived = buffer.filled().get(before..).unwrap_or_default();
        let welcome = self.heads.arrived(arrived);
        Poll::Ready(if welcome { Ok(()) } else { Err(self.give_up()) })
    }
}

impl<S: Wire> AsyncWrite for Socket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match ready!(self.refuse(cx, bytes)) {
            Some(refused) => Poll::Ready(refused),
            None => Pin::new(&mut self.socket).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // The library puts an answer at the beginning of a slice.
        match ready!(self.refuse(cx, slices.first().map_or(&[], |slice| slice))) {
            Some(refused) => Poll::Ready(refused),
            None => Pin::new(&mut self.socket).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

/// The answer to send in place of one that the library made by itself: only those are errors with an empty body.
fn in_place_of(answer: &[u8]) -> Option<Bytes> {
    let message = match answer.get(..13)?.strip_prefix(b"HTTP/1.1 ")? {
        b"400 " => "This is not a request that the server can read.",
        b"414 " => "The address of the request is longer than the server reads.",
        b"431 " => "The head of the request is larger than the server reads.",
        _ => return None,
    };
    let head = std::str::from_utf8(answer.strip_suffix(b"\r\n\r\n")?).ok()?;
    let mut own: Vec<&str> = head.split("\r\n").skip(1).collect();
    let stated = own.len();
    own.retain(|line| !line.eq_ignore_ascii_case("content-length: 0"));
    if own.len() == stated {
        return None;
    }
    written(Error::bad_request(message), own.into_iter())
}

/// A refusal that ends its connection, as bytes.
pub fn whole(error: Error) -> Bytes {
    written(error, std::iter::once("connection: close")).unwrap_or_default()
}

/// A refusal with extra header lines, as bytes.
fn written<'a>(error: Error, own: impl Iterator<Item = &'a str>) -> Option<Bytes> {
    let response = routes::refusal(error);
    let Body::Bytes(body) = response.body else { return None };
    let mut text = format!("HTTP/1.1 {}\r\ncontent-length: {}\r\n", response.status, body.len()).into_bytes();
    for (name, value) in &response.headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    for line in own {
        text.extend_from_slice(line.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(&body);
    Some(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_refusal_of_the_library_is_replaced() {
        let empty = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        let text = String::from_utf8(in_place_of(empty).unwrap().to_vec()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{head}");
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{head}");
        assert!(head.ends_with("\r\nconnection: close\r\ndate: x"), "{head}");
        assert!(body.starts_with("{\"error\":\"BAD_REQUEST\",\"message\":\"The head "), "{body}");
        for kept in [
            &b"HTTP/1.1 400 Bad Request\r\ncontent-length: 12\r\n\r\n"[..],
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 12\r\n\r\n{\"error\":1}\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            b"HTTP/1.1 400 ",
            b"data: {}\n\n",
            b"",
        ] {
            assert_eq!(in_place_of(kept), None);
        }
    }
}
