//! A Worker under test and the few lines of HTTP and WebSocket that its tests need.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running `xtask edge serve` with the test routes, ended with the value.
pub struct Worker {
    child: Child,
    pub address: String,
    pub cron: String,
    state: PathBuf,
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Worker {
    /// Starts on a fresh state folder named after the test.
    pub fn start(test: &str) -> Worker {
        let state = std::env::temp_dir().join(format!("heliograph-worker-{test}-{}", std::process::id()));
        Worker::start_on(state)
    }

    fn start_on(state: PathBuf) -> Worker {
        let mut child = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["edge", "serve", "--listen", "127.0.0.1:0", "--state"])
            .arg(&state)
            .env("HELIOGRAPH_TEST_ROUTES", "1")
            .env("HELIOGRAPH_REQUEST_LIMIT_MS", "1500")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let cron = log.find_map(|line| Some(line.split_once("'http://")?.1.split_once('/')?.0.to_owned())).unwrap();
        std::thread::spawn(move || log.for_each(|line| eprintln!("{line}")));
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let address = ready.trim().strip_prefix("listening on http://").unwrap().to_owned();
        Worker { child, address, cron, state }
    }

    /// Ends it with SIGTERM, as a supervisor would, and starts it again on the same state.
    pub fn restart(mut self) -> Worker {
        self.terminate();
        Worker::start_on(std::mem::take(&mut self.state))
    }

    fn terminate(&mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }

    pub fn get(&self, path: &str) -> Answer {
        request(&self.address, "GET", path, "")
    }

    pub fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        request(&self.address, method, path, body)
    }

    /// An open response whose body is read line by line.
    pub fn stream(&self, path: &str) -> impl Iterator<Item = String> + use<> {
        let mut stream = connect(&self.address);
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).unwrap();
        BufReader::new(stream).lines().map_while(Result::ok)
    }

    pub fn socket(&self, path: &str) -> Socket {
        let mut stream = connect(&self.address);
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n",
            self.address
        )
        .unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 101"), "{line}");
        while line.trim() != "" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        Socket(reader)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.state.as_os_str().is_empty() {
            return;
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.state);
    }
}

/// The client's side of a WebSocket; text messages below 126 bytes only.
pub struct Socket(BufReader<TcpStream>);

impl Socket {
    pub fn send(&mut self, text: &str) {
        let mut frame = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
        frame.extend(text.as_bytes());
        self.0.get_mut().write_all(&frame).unwrap();
    }

    pub fn receive(&mut self) -> String {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        assert_eq!(head[0], 0x81, "not a text message");
        let mut text = vec![0; usize::from(head[1])];
        self.0.read_exact(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }
}

pub fn request(address: &str, method: &str, path: &str, body: &str) -> Answer {
    let mut stream = connect(address);
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}
