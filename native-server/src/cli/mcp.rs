//! `heliograph mcp`: the Model Context Protocol over standard input and output, for clients that start a program. Each
//! message, one a line, is sent to the `/mcp` of a running server, and its answer is written as one line. So there is one
//! implementation, and the server may be anywhere (decision mcp-over-standard-input).
//!
//! Nothing but messages may come out of standard output.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use heliograph_core::crypto::encoding::encode_base64;
use serde_json::{Value, json};

use super::client;

/// Requests that are under way at once; further ones wait in standard input.
const AT_ONCE: usize = 8;
/// Most bytes of a line and of an answer; the server takes 1 MiB.
const MOST: u64 = 4 << 20;
/// How long one answer is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// Codes of JSON-RPC.
const INTERNAL_ERROR: i32 = -32_603;
const INVALID_REQUEST: i32 = -32_600;

const PROTOCOL_VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// The server, and what is known of the client.
struct Bridge {
    address: String,
    agent: ureq::Agent,
    /// Names and values of headers with keys.
    keys: Vec<(&'static str, String)>,
    /// The version that a handshake agreed on.
    agreed: Mutex<Option<String>>,
    /// Ids, as JSON, of requests whose answers the client no longer wants.
    cancelled: Mutex<BTreeSet<String>>,
}

pub fn run(url: &str) -> Result<(), String> {
    let bridge = Arc::new(Bridge::to(url)?);
    let (sender, receiver) = sync_channel::<Vec<u8>>(0);
    let receiver = Arc::new(Mutex::new(receiver));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            let (bridge, receiver) = (bridge.clone(), receiver.clone());
            scope.spawn(move || work(&bridge, &receiver));
        }
        let mut input = BufReader::new(std::io::stdin().lock());
        let end = loop {
            match line(&mut input) {
                Ok(Some(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
                Ok(Some(line)) => {
                    if bridge.notes(&line) && sender.send(line).is_err() {
                        break Ok(());
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        // What is under way is answered before the program ends.
        drop(sender);
        end
    })
}

/// One line of at most [`MOST`] bytes; `None` at the end.
fn line(input: &mut impl BufRead) -> Result<Option<Vec<u8>>, String> {
    let mut line = Vec::new();
    let read = input.by_ref().take(MOST).read_until(b'\n', &mut line);
    match read.map_err(|error| format!("cannot read standard input: {error}"))? {
        0 => Ok(None),
        bytes if bytes as u64 == MOST && !line.ends_with(b"\n") => Err(format!("a message has more than {MOST} bytes")),
        _ => Ok(Some(line)),
    }
}

fn work(bridge: &Bridge, lines: &Mutex<Receiver<Vec<u8>>>) {
    loop {
        let next = locked(lines).recv();
        let Ok(line) = next else { return };
        if let Some(answer) = bridge.answer(&line) {
            let mut output = std::io::stdout().lock();
            // The client may have gone away; the next line says so at the other end.
            let _ = writeln!(output, "{answer}").and_then(|()| output.flush());
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bridge {
    fn to(url: &str) -> Result<Bridge, String> {
        let base = client::address("--url", url)?;
        let address = if base.ends_with("/mcp") { base } else { format!("{base}/mcp") };
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(PATIENCE))
            .tls_config(crate::trust::tls()?)
            .build()
            .new_agent();
        let key = |header, variable: &str| std::env::var(variable).ok().map(|key| (header, key.trim().to_owned()));
        let keys = [key("x-agent-key", "HELIOGRAPH_AGENT_KEY"), key("x-api-key", "HELIOGRAPH_API_KEY")];
        let keys = keys.into_iter().flatten().filter(|(_, key)| !key.is_empty()).collect();
        Ok(Bridge { address, agent, keys, agreed: Mutex::default(), cancelled: Mutex::default() })
    }

    /// Takes note of what the client cancels. Whether the line must be sent on.
    fn notes(&self, line: &[u8]) -> bool {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return true };
        if message.get("method").and_then(Value::as_str) != Some("notifications/cancelled") {
            return true;
        }
        if let Some(id) = message.pointer("/params/requestId") {
            locked(&self.cancelled).insert(id.to_string());
        }
        false
    }

    /// The line to write for a line that was read; `None` where nothing is to be said.
    fn answer(&self, line: &[u8]) -> Option<String> {
        let message: Value = serde_json::from_slice(line).unwrap_or_default();
        let id = message.get("id").filter(|id| id.is_string() || id.is_number());
        let answered = self.sent(line, &message).unwrap_or_else(Some);
        if id.is_some_and(|id| locked(&self.cancelled).remove(&id.to_string())) {
            return None;
        }
        let mut answer = answered?;
        if let Some(version) = answer.pointer("/result/protocolVersion").and_then(Value::as_str) {
            *locked(&self.agreed) = Some(version.to_owned());
        }
        if answer.get("id").is_none()
            && let Some(id) = id
        {
            answer["id"] = id.clone();
        }
        Some(answer.to_string())
    }

    /// What the server says to a message. An error is an answer that says what went wrong on the way.
    fn sent(&self, line: &[u8], message: &Value) -> Result<Option<Value>, Value> {
        let mut request = http::Request::post(&self.address)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in self.headers(message) {
            request = request.header(name, value);
        }
        let request = request.body(line).map_err(|error| failed(INVALID_REQUEST, error.to_string(), None))?;
        let unreached = |error: ureq::Error| failed(INTERNAL_ERROR, format!("{}: {error}", self.address), None);
        let mut response = self.agent.run(request).map_err(unreached)?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MOST).read_to_vec().map_err(unreached)?;
        if status == 202 {
            return Ok(None);
        }
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        if answer.get("jsonrpc").is_some() {
            return Ok(Some(answer));
        }
        // A refusal in the words of the interface, or of somebody on the way.
        let text = |name: &str| answer.get(name).and_then(Value::as_str);
        let said = format!("{} answered {status}: {}", self.address, text("message").unwrap_or("no message"));
        Err(failed(INTERNAL_ERROR, said, text("error")))
    }

    /// Headers repeat what the body says, so that whoever is in between need not read it.
    fn headers(&self, message: &Value) -> Vec<(&'static str, String)> {
        let mut headers = self.keys.clone();
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
        let Some(version) = text(PROTOCOL_VERSION) else {
            headers.extend(locked(&self.agreed).clone().map(|version| ("mcp-protocol-version", version)));
            return headers;
        };
        headers.push(("mcp-protocol-version", plain(version)));
        let method = text("/method").unwrap_or_default();
        headers.push(("mcp-method", plain(method)));
        let name = if method == "resources/read" { text("/params/uri") } else { text("/params/name") };
        headers.extend(name.map(|name| ("mcp-name", plain(name))));
        headers
    }
}

/// A text as the value of a header: in base64 where it could not stand there, or could be taken for base64.
fn plain(text: &str) -> String {
    let visible = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) && text.trim() == text;
    match visible && !(text.starts_with("=?base64?") && text.ends_with("?=")) {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", encode_base64(text.as_bytes())),
    }
}

fn failed(code: i32, message: String, error: Option<&str>) -> Value {
    let mut failure = json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message } });
    if let Some(error) = error {
        failure["error"]["data"] = json!({ "error": error });
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_stand_in_a_header_is_sent_in_base64() {
        for (text, header) in [
            ("check", "check"),
            ("http://127.0.0.1:8787/data/methodology", "http://127.0.0.1:8787/data/methodology"),
            ("Hello, \u{4e16}\u{754c}", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(plain(text), header);
        }
    }

    #[test]
    fn a_line_ends_and_an_endless_one_is_refused() {
        let mut input = BufReader::new(&b"{}\n{\"a\":1}"[..]);
        assert_eq!(line(&mut input).unwrap().as_deref(), Some(&b"{}\n"[..]));
        assert_eq!(line(&mut input).unwrap().as_deref(), Some(&b"{\"a\":1}"[..]));
        assert_eq!(line(&mut input).unwrap(), None);
        let endless = std::io::repeat(b'x');
        assert!(line(&mut BufReader::new(endless)).unwrap_err().contains("more than"));
    }
}
