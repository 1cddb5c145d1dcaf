//! Connections with TLS: certificates of the operator, HTTP/2, streams, and the way from plain HTTP (decision
//! tls-of-its-own).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::operating::{hang_up, line, logged, text_of, with_config};
use super::{Server, heliograph};

/// A certificate for `localhost` that vouches for itself, as files. Returns the certificate.
pub fn certificate(name: &str, certificate: &Path, key: &Path) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    std::fs::write(certificate, made.cert.pem()).unwrap();
    std::fs::write(key, made.key_pair.serialize_pem()).unwrap();
    made.cert.der().clone()
}

pub fn trusting(root: &CertificateDer<'static>, protocols: &[&[u8]]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Arc::new(config)
}

pub type Stream = StreamOwned<ClientConnection, TcpStream>;

/// A connection to this address whose certificate must be of this name. The error is that of the handshake.
pub fn connect(address: &str, name: &'static str, config: Arc<ClientConfig>) -> std::io::Result<Stream> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut connection = ClientConnection::new(config, ServerName::try_from(name).unwrap()).unwrap();
    while connection.is_handshaking() {
        connection.complete_io(&mut socket)?;
    }
    Ok(StreamOwned::new(connection, socket))
}

/// Sends a head and reads the head of the answer.
pub fn head<S: Read + Write>(mut stream: S, text: &str) -> (String, BufReader<S>) {
    stream.write_all(text.as_bytes()).unwrap();
    stream.flush().unwrap();
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    (head, reader)
}

fn until(reader: &mut impl BufRead, what: &str) {
    let mut said = String::new();
    while !said.contains(what) {
        assert_ne!(reader.read_line(&mut said).unwrap(), 0, "{said}");
    }
}

pub const UPGRADE: &str = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                           sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// Registers an agent, opens a stream of events and a WebSocket, and sends a message that both must bring.
pub fn streams_work<S: Read + Write>(open: impl Fn() -> S) {
    let ask = |method: &str, path: &str, key: &str, body: &str| -> serde_json::Value {
        let (told, mut rest) = head(
            open(),
            &format!(
                "{method} {path} HTTP/1.1\r\nhost: localhost\r\nx-agent-key: {key}\r\nconnection: close\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ),
        );
        assert!(told.starts_with("HTTP/1.1 201 "), "{told}");
        let mut text = String::new();
        let _ = rest.read_to_string(&mut text);
        // A proxy may send the body in chunks.
        let json = &text[text.find('{').unwrap()..=text.rfind('}').unwrap()];
        serde_json::from_str(json).unwrap()
    };
    let [agent, sender] = std::array::from_fn(|_| ask("POST", "/v1/agent/register", "", "{}"));
    let (did, key) = (agent["did"].as_str().unwrap(), agent["api_key"].as_str().unwrap());
    let path = "/v1/agent/receive";
    let (told, mut events) =
        head(open(), &format!("GET {path}/sse HTTP/1.1\r\nhost: localhost\r\nx-agent-key: {key}\r\n\r\n"));
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    let (told, mut frames) =
        head(open(), &format!("GET {path}/ws HTTP/1.1\r\nhost: localhost\r\nx-agent-key: {key}\r\n{UPGRADE}\r\n"));
    assert!(told.starts_with("HTTP/1.1 101 "), "{told}");
    let body = serde_json::json!({ "to": did, "message": "through the tunnel" }).to_string();
    ask("POST", "/v1/agent/send", sender["api_key"].as_str().unwrap(), &body);
    until(&mut events, "event: message");
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("\"event\":\"message\"") {
        let mut piece = [0; 512];
        let read = frames.read(&mut piece).unwrap();
        assert_ne!(read, 0, "{seen:?}");
        seen.extend_from_slice(&piece[..read]);
    }
}

fn get_over_http2(address: &str, config: Arc<ClientConfig>) -> (u16, http::Version) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let socket = tokio::net::TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = tokio_rustls::TlsConnector::from(config).connect(name, socket).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
        let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (mut sender, connection) = shaken.unwrap();
        tokio::spawn(connection);
        let request = http::Request::get("https://localhost/healthz").body(Empty::<bytes::Bytes>::new()).unwrap();
        let answer = sender.send_request(request).await.unwrap();
        let told = (answer.status().as_u16(), answer.version());
        answer.into_body().collect().await.unwrap();
        told
    })
}

fn address(server: &Server) -> String {
    server.base.strip_prefix("https://").unwrap().to_owned()
}

#[test]
fn a_server_with_a_certificate_speaks_both_versions_and_takes_a_new_certificate_while_it_runs() {
    let (folder, path, config) = with_config("tls", "");
    let (file, key) = (folder.file("c.pem"), folder.file("k.pem"));
    let first = certificate("localhost", &file, &key);
    let settings = format!(
        "tls_certificate = {file:?}\ntls_key = {key:?}\npublic_url = \"https://localhost\"\nredirect_listen = \"127.0.0.1:0\"\n\
         metrics_listen = \"127.0.0.1:0\"\n"
    );
    std::fs::write(&config, &settings).unwrap();
    let (server, lines) = logged(&path, &config);
    let figures =
        line(&lines, "metrics_listen: http://").split_once("metrics_listen: ").unwrap().1.to_owned() + "/metrics";
    let ends = text_of(&figures, None).2;
    let ends = ends.lines().find_map(|line| line.strip_prefix("heliograph_tls_certificate_ends_timestamp_seconds "));
    assert!(ends.unwrap().parse::<f64>().unwrap() > 1.7e9);
    let plain = line(&lines, "redirect_listen: http://").split_once("redirect_listen: http://").unwrap().1.to_owned();
    let at = address(&server);
    let one = trusting(&first, &[b"http/1.1"]);
    streams_work(|| connect(&at, "localhost", one.clone()).unwrap());
    assert_eq!(get_over_http2(&at, trusting(&first, &[b"h2", b"http/1.1"])), (200, http::Version::HTTP_2));
    // Plain HTTP gets no answer of the service there.
    let mut socket = TcpStream::connect(&at).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "{answer:?}");
    let (told, _) = head(TcpStream::connect(&plain).unwrap(), "GET /v1/x?y=z HTTP/1.1\r\nhost: evil.example\r\n\r\n");
    assert!(
        told.starts_with("HTTP/1.1 308 ") && told.contains("\r\nlocation: https://localhost/v1/x?y=z\r\n"),
        "{told}"
    );
    // The files have another certificate.
    let second = certificate("localhost", &file, &key);
    assert!(connect(&at, "localhost", trusting(&second, &[])).is_err(), "not read yet");
    hang_up(&server);
    line(&lines, "settings read again");
    assert!(connect(&at, "localhost", trusting(&second, &[])).is_ok());
    assert!(connect(&at, "localhost", trusting(&first, &[])).is_err());
    // A key of another certificate changes nothing.
    certificate("localhost", &folder.file("other.pem"), &key);
    hang_up(&server);
    let told = line(&lines, "the settings stay as they are");
    assert!(told.contains("tls_key ") && told.contains("it is not the key of "), "{told}");
    assert!(connect(&at, "localhost", trusting(&second, &[])).is_ok());
    std::fs::write(&file, "no certificate").unwrap();
    hang_up(&server);
    let told = line(&lines, "the settings stay as they are");
    assert!(told.contains("tls_certificate ") && told.contains("there is no certificate in it"), "{told}");
    assert!(connect(&at, "localhost", trusting(&second, &[])).is_ok());
    server.stop();
}

/// A server inside of an organisation: its certificate is of nobody whom Mozilla lists.
#[test]
fn commands_take_the_certificate_of_an_own_authority_when_they_are_given_it() {
    let (folder, path, config) = with_config("tls-commands", "");
    let (file, key) = (folder.file("c.pem"), folder.file("k.pem"));
    certificate("127.0.0.1", &file, &key);
    let settings = format!("tls_certificate = {file:?}\ntls_key = {key:?}\npublic_url = \"https://127.0.0.1\"\n");
    std::fs::write(&config, settings).unwrap();
    let (server, _lines) = logged(&path, &config);
    let says = |arguments: &[&str], trusted: &Path| {
        let mut command = heliograph(&path);
        command.args(arguments).env("HELIOGRAPH_URL", &server.base).env("SSL_CERT_FILE", trusted);
        let output = command.env("XDG_CONFIG_HOME", folder.path().join("config")).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let good = |arguments: &[&str]| {
        let (code, said, error) = says(arguments, &file);
        assert_eq!((code, error.as_str()), (0, ""), "{arguments:?}");
        said
    };
    let (code, said, error) = says(&["check", "youtube.com", "CN"], Path::new(""));
    assert!(code == 3 && said.is_empty() && error.contains("SSL_CERT_FILE names the file"), "{code} {error}");
    let (code, _, error) = says(&["check", "youtube.com", "CN"], &key);
    assert!(code == 2 && error.contains("k.pem: there is no certificate in it"), "{code} {error}");
    assert!(good(&["check", "youtube.com", "CN"]).contains("blocked"));
    good(&["agent", "register"]);
    let own: serde_json::Value = serde_json::from_str(&good(&["profile", "show", "--json"])).unwrap();
    good(&["agent", "send", own["did"].as_str().unwrap(), "over TLS"]);
    assert!(good(&["agent", "listen", "--count", "1"]).contains("over TLS"));
    // The commands of operators do as well.
    assert!(says(&["keys", "list", "--to", &server.base], Path::new("")).2.contains("SSL_CERT_FILE names the file"));
    good(&["keys", "list", "--to", &server.base]);
    server.stop();
}

/// An authority of one's own, which no browser trusts.
#[test]
fn a_command_trusts_the_authority_that_a_variable_names_and_says_what_to_do_where_it_does_not() {
    let (folder, path, config) = with_config("tls-command", "");
    let (file, key) = (folder.file("c.pem"), folder.file("k.pem"));
    certificate("localhost", &file, &key);
    std::fs::write(&config, format!("tls_certificate = {file:?}\ntls_key = {key:?}\n")).unwrap();
    let (server, _lines) = logged(&path, &config);
    let to = format!("https://localhost:{}", address(&server).rsplit_once(':').unwrap().1);
    let ask = |authorities: Option<&Path>, to: &str| {
        let mut command = heliograph(&path);
        command.args(["db", "info", "--to", to]).env_remove("SSL_CERT_FILE");
        authorities.map(|file| command.env("SSL_CERT_FILE", file));
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(ask(Some(&file), &to), (true, String::new()));
    let (done, told) = ask(None, &to);
    assert!(!done && told.contains("SSL_CERT_FILE names the file of another authority"), "{told}");
    let (done, told) = ask(Some(&key), &to);
    assert!(!done && told.contains("k.pem: there is no certificate in it"), "{told}");
    server.stop();
    let (done, told) = ask(Some(&file), &to);
    assert!(!done && told.contains("no server listens there"), "{told}");
}
