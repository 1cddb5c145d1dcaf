//! How a server begins and ends under a service manager: what it tells, the socket that it is given, and the streams
//! and requests that are open when it stops.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::operating::{hang_up, line, logged, with_config};
use super::{Server, data, get, good, heliograph, post};

fn next(socket: &UnixDatagram) -> String {
    let mut bytes = [0; 4096];
    let length = socket.recv(&mut bytes).unwrap();
    String::from_utf8(bytes[..length].to_vec()).unwrap()
}

/// The next message that is not about the watchdog, and how many of those came before.
fn told(socket: &UnixDatagram) -> (String, usize) {
    let mut beats = 0;
    loop {
        match next(socket) {
            beat if beat.trim() == "WATCHDOG=1" => beats += 1,
            message => return (message, beats),
        }
    }
}

/// Decision service-manager.
#[test]
fn the_service_manager_hears_of_start_reload_watchdog_and_stop() {
    let (folder, path, config) = with_config("notify", "");
    let at = folder.file("notify");
    let socket = UnixDatagram::bind(&at).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut command = heliograph(&path);
    command.arg("--config").arg(&config).args(["--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", &at).env("WATCHDOG_USEC", "100000").stdout(Stdio::piped()).stderr(Stdio::null());
    let server = Server::of(command.spawn().unwrap());
    let (message, _) = told(&socket);
    assert_eq!(message.trim(), "READY=1");
    assert_eq!(next(&socket).trim(), "WATCHDOG=1");
    hang_up(&server);
    let (message, _) = told(&socket);
    assert!(message.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{message}");
    assert_eq!(told(&socket).0.trim(), "READY=1");
    std::fs::write(&config, "streams = none\n").unwrap();
    hang_up(&server);
    assert!(told(&socket).0.starts_with("RELOADING=1\n"));
    assert_eq!(told(&socket).0.trim(), "READY=1", "a mistake in the file does not end the service");
    let stopping = std::thread::spawn(move || server.stop());
    assert_eq!(told(&socket).0.trim(), "STOPPING=1");
    stopping.join().unwrap();
}

/// A server that is given this socket as systemd gives it: as descriptor 3, named by variables.
fn activated(path: &Path, socket: &TcpListener) -> Server {
    let script = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" --data \"$1\" serve";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_heliograph")]).arg(path);
    command.env("HELIOGRAPH_FIRST_PARTY_SERVICES", "false");
    command.stdin(OwnedFd::from(socket.try_clone().unwrap())).stdout(Stdio::piped()).stderr(Stdio::null());
    Server::of(command.spawn().unwrap())
}

/// What a process has computed so far, where the system tells it.
fn computed(server: &Server) -> Option<Duration> {
    let told = std::fs::read_to_string(format!("/proc/{}/stat", server.child.id())).ok()?;
    // The name of the program is in parentheses; the times are the 12th and 13th word behind it, in hundredths of a
    // second.
    let words: Vec<&str> = told.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| words.get(at)?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks(11)? + ticks(12)?)))
}

/// Ends a server as `systemctl restart` does; returns what it computed from there to its end.
fn ended(mut server: Server) -> Option<Duration> {
    let before = computed(&server);
    let told = Command::new("kill").args(["-TERM", &server.child.id().to_string()]).status().unwrap();
    assert!(told.success());
    server.rest.read_to_string(&mut String::new()).unwrap();
    // It has ended, and is known to the system until somebody waits for it.
    let after = computed(&server);
    assert!(server.child.wait().unwrap().success());
    Some(after?.saturating_sub(before?))
}

/// Clients wait while nobody accepts: for what the old process computes from the signal to its end, and the new one from
/// its beginning until it listens. On a machine with nothing else to do that is under 2 s (decision service-manager). The
/// time that passes says little on a busy machine, so the time that is computed is judged, and for the other only that
/// nobody waits five times as long. Beyond it counts that no client is refused, and that whoever waits is answered by the
/// next process.
#[test]
fn a_new_process_takes_over_on_the_open_socket_and_no_client_is_refused() {
    const MOST: Duration = Duration::from_secs(2);
    const PATIENCE: Duration = Duration::from_secs(10);
    let (_folder, path) = data("takeover");
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let mut running = activated(&path, &socket);
    assert_eq!(running.base, format!("http://{address}"));
    let stop = Arc::new(AtomicBool::new(false));
    let asking = std::thread::spawn({
        let stop = stop.clone();
        move || {
            let (mut answered, mut longest) = (0, Duration::ZERO);
            while !stop.load(Ordering::SeqCst) {
                let began = Instant::now();
                let mut client = TcpStream::connect(address).unwrap();
                client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                client.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
                let mut answer = String::new();
                client.read_to_string(&mut answer).unwrap();
                assert!(answer.starts_with("HTTP/1.1 200 "), "{answer:?}");
                (answered, longest) = (answered + 1, longest.max(began.elapsed()));
            }
            (answered, longest)
        }
    });
    let (_, agent) = post(&format!("{}/v1/agent/register", running.base), ("x-a", "b"), &json!({}));
    let key = agent["api_key"].as_str().unwrap();
    for _ in 0..3 {
        // The journal has something to fold.
        for _ in 0..50 {
            let body = json!({ "to": agent["did"], "message": "x".repeat(1_000) });
            assert_eq!(post(&format!("{}/v1/agent/send", running.base), ("x-agent-key", key), &body).0, 201);
        }
        let closing = ended(running);
        // Nobody accepts now. This client is in the queue of the socket, and the next process answers it.
        let mut waiting = TcpStream::connect(address).unwrap();
        waiting.write_all(b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        running = activated(&path, &socket);
        if let (Some(closing), Some(starting)) = (closing, computed(&running)) {
            println!("computed {} ms to close and {} ms to start", closing.as_millis(), starting.as_millis());
            assert!(closing + starting < MOST, "{closing:?} to close, {starting:?} to start");
        }
        let mut answer = String::new();
        waiting.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer:?}");
    }
    let did = agent["did"].as_str().unwrap();
    assert_eq!(get(&format!("{}/v1/agent/identity/{did}", running.base), ("x-a", "b")).0, 200);
    stop.store(true, Ordering::SeqCst);
    let (answered, longest) = asking.join().unwrap();
    println!("{answered} requests, the longest took {} ms", longest.as_millis());
    assert!(answered > 3 && longest < PATIENCE, "{answered} were answered, one after {longest:?}");
}

fn open(server: &Server, head: &str) -> BufReader<TcpStream> {
    let mut socket = TcpStream::connect(server.base.strip_prefix("http://").unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket.write_all(head.as_bytes()).unwrap();
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    while !line.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "{line}");
    }
    reader
}

#[test]
fn a_stop_sends_streams_to_connect_again_and_waits_for_no_slow_request() {
    let (_folder, path, config) = with_config("drain", "stop_seconds = 1\n");
    let (server, lines) = logged(&path, &config);
    let (_, agent) = post(&format!("{}/v1/agent/register", server.base), ("x-a", "b"), &json!({}));
    let key = agent["api_key"].as_str().unwrap();
    let mut events =
        open(&server, &format!("GET /v1/agent/receive/sse HTTP/1.1\r\nhost: x\r\nx-agent-key: {key}\r\n\r\n"));
    let upgrade = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let mut frames =
        open(&server, &format!("GET /v1/agent/receive/ws HTTP/1.1\r\nhost: x\r\nx-agent-key: {key}\r\n{upgrade}\r\n"));
    // A request whose body does not come.
    let mut slow = TcpStream::connect(server.base.strip_prefix("http://").unwrap()).unwrap();
    write!(
        slow,
        "POST /v1/agent/register HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{{"
    )
    .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.stop(), "");
    let mut said = String::new();
    let _ = events.read_to_string(&mut said);
    assert!(said.contains("event: reconnect\ndata: {}\n\n"), "{said}");
    let mut close = Vec::new();
    let _ = frames.read_to_end(&mut close);
    // A frame of the kind Close with its code, 1001.
    let code = 1001u16.to_be_bytes();
    assert!(close.windows(4).any(|bytes| bytes[0] == 0x88 && bytes[2..] == code), "{close:?}");
    line(&lines, "stopped with requests still open after 1 s");
    line(&lines, "the data file is closed after ");
}

/// Whoever starts it may stop it as soon as it says where it listens.
#[test]
fn a_server_that_is_stopped_as_soon_as_it_listens_closes_its_file() {
    let (_folder, path) = data("stopped-at-once");
    for _ in 0..20 {
        // Fails when the signal ends the process.
        Server::start(&path).stop();
    }
    assert!(good(&path, &["db", "check"]).contains("sound"));
}
