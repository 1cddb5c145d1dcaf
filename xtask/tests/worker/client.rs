//! A Worker under test, and the little HTTP and WebSocket code that its tests need.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running `xtask edge serve`; dropping it ends the process.
pub struct Worker {
    child: Child,
    pub address: String,
    pub cron: String,
    state: PathBuf,
    settings: Vec<(&'static str, &'static str)>,
}

/// Settings of every Worker under test.
const SETTINGS: [(&str, &str); 2] = [("HELIOGRAPH_REQUEST_LIMIT_MS", "4000"), ("HELIOGRAPH_EFFECT_WAIT_MS", "1000")];

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Worker {
    /// Starts the bundle with the routes for tests on a new state folder named after the test.
    pub fn start(test: &str) -> Worker {
        Worker::with(test, &[])
    }

    /// The same with further settings.
    pub fn with(test: &str, settings: &[(&'static str, &'static str)]) -> Worker {
        let state = std::env::temp_dir().join(format!("heliograph-worker-{test}-{}", std::process::id()));
        Worker::start_on(state, settings.to_vec())
    }

    fn start_on(state: PathBuf, settings: Vec<(&'static str, &'static str)>) -> Worker {
        let mut child = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["edge", "serve", "--test-routes", "--listen", "127.0.0.1:0", "--state"])
            .arg(&state)
            .envs(SETTINGS.into_iter().chain(settings.iter().copied()))
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
        Worker { child, address, cron, state, settings }
    }

    /// Stops it with SIGTERM, as a supervisor would, and starts it again on the same state.
    pub fn restart(mut self) -> Worker {
        self.terminate();
        Worker::start_on(std::mem::take(&mut self.state), std::mem::take(&mut self.settings))
    }

    fn terminate(&mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }

    pub fn get(&self, path: &str) -> Answer {
        request(&self.address, "GET", path, "")
    }

    /// A POST with a JSON body and the agent's key.
    pub fn post(&self, path: &str, key: &str, body: &str) -> Answer {
        let head = format!("Content-Type: application/json\r\nX-Agent-Key: {key}\r\n");
        request_with(&self.address, "POST", path, &head, body)
    }

    /// An open response whose body is read line by line.
    pub fn stream(&self, path: &str, key: &str) -> impl Iterator<Item = String> + use<> {
        let mut stream = connect(&self.address);
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nX-Agent-Key: {key}\r\n\r\n", self.address).unwrap();
        BufReader::new(stream).lines().map_while(Result::ok)
    }

    /// A WebSocket, with the agent's key as a header unless it is empty.
    pub fn socket(&self, path: &str, key: &str) -> Socket {
        let key = if key.is_empty() { String::new() } else { format!("X-Agent-Key: {key}\r\n") };
        let mut stream = connect(&self.address);
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n{key}\r\n",
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

/// The client's side of a WebSocket.
pub struct Socket(BufReader<TcpStream>);

impl Socket {
    /// A text message of at most 65,535 bytes.
    pub fn send(&mut self, text: &str) {
        let mut frame = vec![0x81];
        match u8::try_from(text.len()) {
            Ok(length) if length < 126 => frame.push(0x80 | length),
            _ => {
                frame.push(0x80 | 126);
                frame.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.0.get_mut().write_all(&frame).unwrap();
    }

    /// The next text message.
    pub fn receive(&mut self) -> String {
        let (opcode, body) = self.frame();
        assert_eq!(opcode, 1, "not a text message: {body:?}");
        String::from_utf8(body).unwrap()
    }

    /// The code of the next close frame.
    pub fn closed(&mut self) -> u16 {
        let (opcode, body) = self.frame();
        assert_eq!(opcode, 8, "not a close frame: {}", String::from_utf8_lossy(&body));
        u16::from_be_bytes([body[0], body[1]])
    }

    fn frame(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.0.read_exact(&mut length).unwrap();
                usize::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.0.read_exact(&mut length).unwrap();
                usize::try_from(u64::from_be_bytes(length)).unwrap()
            }
            short => usize::from(short),
        };
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        (head[0] & 0x0F, body)
    }
}

pub fn request(address: &str, method: &str, path: &str, body: &str) -> Answer {
    request_with(address, method, path, "", body)
}

fn request_with(address: &str, method: &str, path: &str, head: &str, body: &str) -> Answer {
    let mut stream = connect(address);
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{head}Content-Length: {length}\r\n\r\n{body}"
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
