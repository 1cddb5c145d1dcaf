//! The receiving half of a WebSocket client: text frames of the service, unmasked and whole.

use std::io::{ErrorKind, Result};

use super::connection::{Connection, Event, message};

/// An open WebSocket on the receive route.
#[derive(Debug)]
pub struct WebSocket {
    connection: Connection,
}

/// RFC 6455 5.2.
const TEXT: u8 = 0x81;
const PING: u8 = 0x89;

impl WebSocket {
    /// Connects as the agent with this key.
    pub async fn open(host: &str, key: &str) -> Result<WebSocket> {
        let mut connection = Connection::default();
        let headers = [
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            // The example of RFC 6455 1.3: nobody checks here that the answer belongs to it.
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("x-agent-key", key),
        ];
        let request = super::request(host, "GET", "/v1/agent/receive/ws", &headers, None);
        let answer = connection.start(host, &request).await?;
        assert_eq!(answer.status, 101, "{}", answer.head);
        Ok(WebSocket { connection })
    }

    /// The next message. Once it has begun to arrive, dropping the future loses its place.
    pub async fn next(&mut self) -> Result<Event> {
        loop {
            let head = self.connection.take(2).await?;
            let length = match head[1] {
                short @ 0..=125 => usize::from(short),
                126 => {
                    let bytes = self.connection.take(2).await?;
                    usize::from(u16::from_be_bytes([bytes[0], bytes[1]]))
                }
                // Nothing that tests send is that long, and the service masks nothing.
                _ => return Err(ErrorKind::InvalidData.into()),
            };
            let frame = self.connection.take(length).await?;
            match head[0] {
                TEXT => {
                    let text = std::str::from_utf8(&frame).map_err(|_| ErrorKind::InvalidData)?;
                    return Ok(message(text, ""));
                }
                PING => {}
                _ => return Err(ErrorKind::ConnectionAborted.into()),
            }
        }
    }
}
