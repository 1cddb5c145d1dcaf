//! The receiving half of a WebSocket client: unmasked, unfragmented text frames of the service.

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
    /// Connects as the agent with this API key.
    pub async fn open(host: &str, key: &str) -> Result<WebSocket> {
        let mut connection = Connection::default();
        let headers = [
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            // The example key of RFC 6455 1.3: the client does not check that the answer belongs to it.
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("x-agent-key", key),
        ];
        let request = super::request(host, "GET", "/v1/agent/receive/ws", &headers, None);
        let answer = connection.start(host, &request).await?;
        assert_eq!(answer.status, 101, "{}", answer.head);
        Ok(WebSocket { connection })
    }

    /// The next message. Dropping the future after a message has begun to arrive loses the position in the stream.
    pub async fn next(&mut self) -> Result<Event> {
        loop {
            let head = self.connection.take(2).await?;
            let length = match head[1] {
                short @ 0..=125 => usize::from(short),
                126 => {
                    let bytes = self.connection.take(2).await?;
                    usize::from(u16::from_be_bytes([bytes[0], bytes[1]]))
                }
                // Tests send no longer messages, and the service masks nothing.
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
