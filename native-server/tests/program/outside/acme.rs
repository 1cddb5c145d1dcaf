//! A certificate by ACME from Pebble, the small authority for tests (decision tls-of-its-own).

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use heliograph::testing::Folder;
use hickory_proto::op::{Message, MessageType};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{RData, Record};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::super::operating::{line, logged_at, with_config};
use super::super::tls::{certificate, connect, head, trusting};
use super::{Running, free_port, program};

/// A resolver that knows this machine alone, until the tests end.
fn resolver() -> u16 {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok((read, from)) = socket.recv_from(&mut buffer) {
            let mut message = Message::from_vec(&buffer[..read]).unwrap();
            let query = message.queries[0].clone();
            message.metadata.message_type = MessageType::Response;
            if query.query_type() == hickory_proto::rr::RecordType::A {
                let here = RData::A(A(std::net::Ipv4Addr::LOCALHOST));
                message.answers.push(Record::from_rdata(query.name().clone(), 60, here));
            }
            socket.send_to(&message.to_vec().unwrap(), from).unwrap();
        }
    });
    port
}

/// What Pebble signs with, which it makes anew at each start.
fn root(port: u16, own: &Path) -> Option<CertificateDer<'static>> {
    let own = CertificateDer::from_pem_file(own).unwrap();
    let stream = connect(&format!("127.0.0.1:{port}"), "localhost", trusting(&own, &[])).ok()?;
    let (told, mut rest) = head(stream, "GET /roots/0 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    let mut text = String::new();
    let _ = std::io::Read::read_to_string(&mut rest, &mut text);
    let begin = text.find("-----BEGIN").unwrap();
    Some(CertificateDer::from_pem_slice(&text.as_bytes()[begin..]).unwrap())
}

fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Pebble, the port that it listens on, and what it signs with. It looks for servers at port `here`.
fn pebble(folder: &Folder, here: u16) -> Option<(Running, u16, CertificateDer<'static>)> {
    let pebble = program("pebble", &["pebble"])?;
    let (own, key) = (folder.file("pebble.pem"), folder.file("pebble.key"));
    certificate("localhost", &own, &key);
    let (port, management) = (free_port(), free_port());
    let settings = serde_json::json!({ "pebble": {
        "listenAddress": format!("127.0.0.1:{port}"),
        "managementListenAddress": format!("127.0.0.1:{management}"),
        "certificate": own, "privateKey": key, "httpPort": 5002, "tlsPort": here,
        "ocspResponderURL": "", "externalAccountBindingRequired": false,
    }});
    std::fs::write(folder.file("pebble.json"), settings.to_string()).unwrap();
    let mut command = Command::new(pebble);
    command.arg("-config").arg(folder.file("pebble.json")).args(["-dnsserver", &format!("127.0.0.1:{}", resolver())]);
    command.env("PEBBLE_VA_NOSLEEP", "1").env("PEBBLE_WFE_NONCEREJECT", "0");
    let authority = Running::start(&mut command);
    let root = wait("Pebble to answer", || root(management, &own));
    Some((authority, port, root))
}

/// Settings for a certificate of the authority at this port.
fn asking(folder: &Folder, port: u16) -> String {
    format!(
        "acme_domains = \"heliograph.test\"\nacme_contact = \"mailto:operator@heliograph.test\"\n\
         acme_directory = \"https://localhost:{port}/dir\"\nacme_roots = {:?}\n",
        folder.file("pebble.pem")
    )
}

#[test]
fn an_authority_gives_a_certificate_and_the_next_start_has_it_at_once() {
    let (folder, path, config) = with_config("acme", "");
    let here = free_port();
    let Some((authority, port, root)) = pebble(&folder, here) else { return };
    std::fs::write(&config, asking(&folder, port)).unwrap();
    let at = format!("127.0.0.1:{here}");
    let (server, lines) = logged_at(&path, &config, &at);
    line(&lines, "the authority gave a certificate");
    let ask = || {
        let stream = connect(&at, "heliograph.test", trusting(&root, &[b"http/1.1"])).unwrap();
        head(stream, "GET /healthz HTTP/1.1\r\nhost: heliograph.test\r\nconnection: close\r\n\r\n").0
    };
    assert!(ask().starts_with("HTTP/1.1 200 "));
    server.stop();
    drop(authority);
    let kept = std::fs::metadata(format!("{}.acme", path.display())).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&kept.permissions());
    assert_eq!(mode & 0o777, 0o700);
    // The authority is away, and the certificate of before serves.
    let (server, lines) = logged_at(&path, &config, &at);
    line(&lines, "the certificate of the last start is in use");
    assert!(ask().starts_with("HTTP/1.1 200 "));
    server.stop();
}

/// What goes wrong with an authority is told with its cause and the next step, and names what the operator set.
#[test]
fn an_authority_that_gives_nothing_is_told_with_the_next_step() {
    let (folder, path, config) = with_config("acme-trouble", "");
    let Some((_authority, port, _)) = pebble(&folder, free_port()) else { return };
    let nobody = free_port();
    let good = asking(&folder, port);
    let tried = [
        (good.clone(), "did not find this server at heliograph.test, port 443 (\""),
        (asking(&folder, nobody), "Connection refused"),
        (good.replace("/dir\"", "/nowhere\""), "see whether acme_directory is right"),
    ];
    for (text, expected) in tried {
        std::fs::write(&config, text).unwrap();
        let (server, lines) = logged_at(&path, &config, &format!("127.0.0.1:{}", free_port()));
        let said = line(&lines, "no certificate yet, the next try follows by itself: https://localhost:");
        assert!(said.contains(expected), "{said}");
        server.stop();
        std::fs::remove_dir_all(format!("{}.acme", path.display())).unwrap();
    }
}
