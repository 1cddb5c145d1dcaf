//! A server on loopback that stands for another host from which a deployment fetches.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use heliograph_core::engine::web::Incoming;
use heliograph_core::engine::web::Outgoing;
use heliograph_core::{Error, ErrorCode, Result};

/// A source that answers as a test says and records its requests, as long as the process lives.
pub struct Source {
    /// `http://127.0.0.1:<port>`
    pub base: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Source {
    /// `answer` gets the path with its query and returns the whole response. Requests are answered in parallel.
    pub fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Source {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (told, answer) = (heard.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let (told, answer) = (told.clone(), answer.clone());
                std::thread::spawn(move || {
                    let request = read(&mut stream);
                    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                    told.lock().unwrap().push(request);
                    // A client that has gone away gets nothing.
                    let _ = stream.write_all(answer(&path).as_bytes());
                });
            }
        });
        Source { base, heard }
    }

    /// All requests so far: heads, each with its body if it has one.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// Reads a request: its head, and a body of the stated length.
fn read(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    let mut request = String::from_utf8_lossy(&head).into_owned();
    let length = request.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    if stream.read_exact(&mut body).is_ok() {
        request.push_str(&String::from_utf8_lossy(&body));
    }
    request
}

/// A response with a body.
pub fn response(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}connection: close\r\n\r\n{body}", body.len())
}

/// Makes a request for a deployment in memory.
pub fn send(outgoing: &Outgoing) -> Result<Incoming> {
    let failed =
        |error: &dyn std::fmt::Display| Error::new(ErrorCode::Unavailable, format!("The request failed: {error}."));
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(outgoing.timeout))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .build();
    let mut request = ureq::http::Request::builder().uri(&outgoing.url);
    for (name, value) in &outgoing.headers {
        request = request.header(name, value);
    }
    let agent = config.new_agent();
    let answered = match &outgoing.body {
        None => agent.run(request.body(()).map_err(|error| failed(&error))?),
        Some(body) => agent.run(request.method("POST").body(body.to_vec()).map_err(|error| failed(&error))?),
    };
    let mut response = answered.map_err(|error| failed(&error))?;
    let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    let status = response.status().as_u16();
    if outgoing.max_bytes == 0 {
        return Ok(Incoming { status, retry_after, body: Vec::new().into() });
    }
    let body = response.body_mut().read_to_vec().map_err(|error| failed(&error))?;
    Ok(Incoming { status, retry_after, body: body.into() })
}
