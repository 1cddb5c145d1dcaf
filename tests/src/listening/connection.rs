//! As much of HTTP/1.1 over a plain socket as the servers under test need.

use std::io::{Error, ErrorKind, Result};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Most bytes of one read.
const READ: usize = 4 * 1024;

/// A connection that is opened when it is needed, and kept as long as the server keeps it.
#[derive(Debug, Default)]
pub struct Connection {
    socket: Option<TcpStream>,
    buffer: BytesMut,
}

/// How the end of an answer is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemainingBody {
    Length(usize),
    /// The line with the size of the next chunk.
    Size,
    Chunk(usize),
    /// The line end after a chunk, and after the last one.
    Gap {
        last: bool,
    },
    Done,
}

/// An answer whose head was read.
pub struct OpenAnswer<'a> {
    connection: &'a mut Connection,
    pub status: u16,
    pub head: String,
    rest: RemainingBody,
    close: bool,
}

impl Connection {
    /// Sends a request and reads the head of its answer. If the server has closed a kept connection meanwhile, a new
    /// one replaces it.
    pub async fn start(&mut self, host: &str, request: &[u8]) -> Result<OpenAnswer<'_>> {
        let head = match self.socket.is_some() {
            true => match self.exchange(host, request).await {
                Ok(head) => head,
                Err(_) => {
                    self.socket = None;
                    self.exchange(host, request).await?
                }
            },
            false => self.exchange(host, request).await?,
        };
        let field = |name: &str| {
            let lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
            lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
        };
        let status = head.get(9..12).and_then(|text| text.parse().ok()).ok_or(ErrorKind::InvalidData)?;
        let chunked = field("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
        let length = field("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        let rest = if chunked { RemainingBody::Size } else { RemainingBody::Length(length) };
        let close = field("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        Ok(OpenAnswer { status, rest, close, head, connection: self })
    }

    async fn exchange(&mut self, host: &str, request: &[u8]) -> Result<String> {
        if self.socket.is_none() {
            let socket = TcpStream::connect(host).await?;
            socket.set_nodelay(true)?;
            self.socket = Some(socket);
            self.buffer.clear();
        }
        let socket = self.socket.as_mut().ok_or(ErrorKind::NotConnected)?;
        socket.write_all(request).await?;
        loop {
            if let Some(end) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let head = self.buffer.split_to(end + 4);
                return String::from_utf8(head.to_vec()).map_err(|_| ErrorKind::InvalidData.into());
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<()> {
        self.buffer.reserve(READ);
        let socket = self.socket.as_mut().ok_or(ErrorKind::NotConnected)?;
        match socket.read_buf(&mut self.buffer).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Waits until `count` bytes have arrived, and returns them.
    pub(super) async fn take(&mut self, count: usize) -> Result<Bytes> {
        while self.buffer.len() < count {
            self.fill().await?;
        }
        Ok(self.buffer.split_to(count).freeze())
    }

    /// The bytes that have arrived: at least one, at most `most`.
    async fn some(&mut self, most: usize) -> Result<Bytes> {
        if self.buffer.is_empty() {
            self.fill().await?;
        }
        let count = most.min(self.buffer.len());
        Ok(self.buffer.split_to(count).freeze())
    }

    /// Status and whole body of an answer.
    pub async fn ask(&mut self, host: &str, request: &[u8]) -> Result<(u16, Vec<u8>)> {
        let mut answer = self.start(host, request).await?;
        let mut body = Vec::new();
        while let Some(piece) = answer.next().await? {
            body.extend_from_slice(&piece);
        }
        Ok((answer.status, body))
    }
}

impl OpenAnswer<'_> {
    /// The next piece of the body; `None` at its proper end.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        let result = self.advance().await;
        if result.is_err() || (self.rest == RemainingBody::Done && self.close) {
            self.connection.socket = None;
        }
        result
    }

    async fn advance(&mut self) -> Result<Option<Bytes>> {
        loop {
            match self.rest {
                RemainingBody::Length(0) | RemainingBody::Done => {
                    self.rest = RemainingBody::Done;
                    return Ok(None);
                }
                RemainingBody::Length(left) => {
                    let piece = self.connection.some(left).await?;
                    self.rest = RemainingBody::Length(left - piece.len());
                    return Ok(Some(piece));
                }
                RemainingBody::Size => {
                    let size = self.size().await?;
                    self.rest = if size == 0 { RemainingBody::Gap { last: true } } else { RemainingBody::Chunk(size) };
                }
                RemainingBody::Chunk(0) => self.rest = RemainingBody::Gap { last: false },
                RemainingBody::Chunk(left) => {
                    let piece = self.connection.some(left).await?;
                    self.rest = RemainingBody::Chunk(left - piece.len());
                    return Ok(Some(piece));
                }
                RemainingBody::Gap { last } => {
                    self.connection.take(2).await?;
                    self.rest = if last { RemainingBody::Done } else { RemainingBody::Size };
                }
            }
        }
    }

    async fn size(&mut self) -> Result<usize> {
        let line = loop {
            let buffer = &mut self.connection.buffer;
            if let Some(end) = buffer.windows(2).position(|bytes| bytes == b"\r\n") {
                let line = buffer.split_to(end);
                buffer.advance(2);
                break line;
            }
            self.connection.fill().await?;
        };
        let text = std::str::from_utf8(&line).map_err(|_| ErrorKind::InvalidData)?;
        usize::from_str_radix(text.trim(), 16).map_err(|error| Error::new(ErrorKind::InvalidData, error))
    }
}

/// A message that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The number of the message, from its nonce.
    pub number: usize,
    /// Id of the event, from which a client continues.
    pub cursor: String,
    /// Id of the message.
    pub message: String,
}

/// A stream of server-sent events, as far as it has arrived.
#[derive(Debug, Default)]
pub struct Events {
    text: Vec<u8>,
}

impl Events {
    /// Returns the messages that these bytes complete. Other events are skipped.
    pub fn add(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.text.extend_from_slice(bytes);
        let mut found = Vec::new();
        let mut start = 0;
        while let Some(length) = self.text[start..].windows(2).position(|bytes| bytes == b"\n\n") {
            let text = std::str::from_utf8(&self.text[start..start + length]).unwrap();
            found.extend(event(text));
            start += length + 2;
        }
        self.text.drain(..start);
        found
    }
}

fn event(text: &str) -> Option<Event> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    field("event: message")?;
    Some(message(field("data: ")?, field("id: ")?))
}

/// Reads the JSON of a raw message.
pub(super) fn message(data: &str, cursor: &str) -> Event {
    let number = member(data, "nonce").and_then(|nonce| nonce.parse().ok());
    Event {
        number: number.unwrap_or_else(|| panic!("no number in {data}")),
        cursor: cursor.to_owned(),
        message: member(data, "id").unwrap_or_default().to_owned(),
    }
}

/// A member of a JSON text without spaces, whose value needs no escapes.
fn member<'a>(data: &'a str, name: &str) -> Option<&'a str> {
    let start = data.split_once(&format!("\"{name}\":\""))?.1;
    start.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_wherever_the_pieces_end() {
        let text = "event: message\ndata: {\"id\":\"m1\",\"nonce\":\"0007\"}\nid: 12\n\nevent: reconnect\ndata: {}\n\n\
                    event: message\ndata: {\"thread_id\":\"t\",\"nonce\":\"0008\",\"id\":\"m2\"}\nid: 13\n\n";
        let event = |number, cursor: &str, message: &str| Event {
            number,
            cursor: cursor.to_owned(),
            message: message.to_owned(),
        };
        let expected = [event(7, "12", "m1"), event(8, "13", "m2")];
        for at in 0..text.len() {
            let mut events = Events::default();
            let (first, second) = text.as_bytes().split_at(at);
            let found = [events.add(first), events.add(second)].concat();
            assert_eq!(found, expected, "{at}");
        }
    }
}
