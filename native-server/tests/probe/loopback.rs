//! Resolvers and sites on loopback that interfere.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hickory_proto::op::{Message, MessageType, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{RData, Record};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

pub enum DnsAnswer {
    Address(Ipv4Addr),
    Nxdomain,
}

/// A resolver that runs until the tests end.
pub fn dns(answer: impl Fn(&str) -> DnsAnswer + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok((read, from)) = socket.recv_from(&mut buffer) {
            let mut message = Message::from_vec(&buffer[..read]).unwrap();
            let name = message.queries[0].name().clone();
            message.metadata.message_type = MessageType::Response;
            match answer(&name.to_ascii()) {
                DnsAnswer::Address(address) => message.answers.push(Record::from_rdata(name, 60, RData::A(A(address)))),
                DnsAnswer::Nxdomain => message.metadata.response_code = ResponseCode::NXDomain,
            }
            socket.send_to(&message.to_vec().unwrap(), from).unwrap();
        }
    });
    address
}

/// A resolver that never answers.
pub fn silent() -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while socket.recv(&mut buffer).is_ok() {}
    });
    address
}

/// A listener that accepts nothing and has a very short queue.
pub struct Full {
    pub address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
    _listener: tokio::net::TcpListener,
}

pub fn full() -> Full {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let guard = runtime.enter();
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    drop(guard);
    Full { address, _runtime: runtime, _listener: listener }
}

/// How a site treats a connection.
pub enum Manner {
    Page(&'static str),
    Status(&'static str),
    Redirect(String),
    Reset,
    Silence,
    /// Resets handshakes for this name, and accepts others.
    ResetName(&'static str),
    OtherCertificate,
}

pub struct SiteServer {
    pub port: u16,
}

fn config(manner: &Manner) -> Arc<ServerConfig> {
    let (certificate, key): (&[u8], &[u8]) = match manner {
        Manner::OtherCertificate => (include_bytes!("other.der"), include_bytes!("other.key")),
        _ => (include_bytes!("site.der"), include_bytes!("site.key")),
    };
    let chain = vec![CertificateDer::from(certificate.to_vec())];
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.to_vec()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_protocol_versions(rustls::DEFAULT_VERSIONS).unwrap();
    Arc::new(builder.with_no_client_auth().with_single_cert(chain, key).unwrap())
}

/// Closes with bytes unread, which resets the connection.
fn reset(socket: TcpStream) {
    let mut first = [0; 1];
    drop(socket.peek(&mut first));
    drop(socket);
}

fn answer(manner: &Manner) -> String {
    let (status, header, body) = match manner {
        Manner::Page(body) => ("200 OK", String::new(), *body),
        Manner::Status(status) => (*status, String::new(), "no"),
        Manner::Redirect(to) => ("302 Found", format!("Location: {to}\r\n"), ""),
        _ => ("200 OK", String::new(), "through"),
    };
    format!("HTTP/1.1 {status}\r\n{header}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn speak(stream: &mut (impl Read + Write), manner: &Manner) {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(read) => request.extend_from_slice(&buffer[..read]),
        }
    }
    drop(stream.write_all(answer(manner).as_bytes()));
    drop(stream.flush());
}

impl SiteServer {
    /// Serves until the end of the tests.
    pub fn start(https: bool, manner: Manner) -> SiteServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let config = config(&manner);
            for socket in listener.incoming().map_while(Result::ok) {
                serve(socket, https, &manner, &config);
            }
        });
        SiteServer { port }
    }
}

fn serve(socket: TcpStream, https: bool, manner: &Manner, config: &Arc<ServerConfig>) {
    match manner {
        Manner::Reset => return reset(socket),
        Manner::Silence => {
            thread::spawn(move || {
                thread::sleep(Duration::from_secs(20));
                drop(socket);
            });
            return;
        }
        Manner::ResetName(name) => {
            let mut hello = [0; 2048];
            let read = socket.peek(&mut hello).unwrap_or(0);
            if hello[..read].windows(name.len()).any(|part| part == name.as_bytes()) {
                return reset(socket);
            }
        }
        _ => {}
    }
    let mut socket = socket;
    if !https {
        return speak(&mut socket, manner);
    }
    let tls = ServerConnection::new(config.clone()).unwrap();
    let mut stream = StreamOwned::new(tls, socket);
    speak(&mut stream, manner);
    stream.conn.send_close_notify();
    drop(stream.flush());
}
