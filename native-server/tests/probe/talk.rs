//! A probe and its server: consent, registration, signatures, and submissions while the server is away.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use heliograph::probe::session::{Sent, consent_text};
use heliograph::probe::{Session, Settings};
use heliograph_core::crypto::encoding::encode_hex;
use heliograph_core::crypto::hash::hmac_sha256;
use serde_json::{Value, json};

use crate::loopback::{DnsAnswer, dns};
use crate::measurer;

const TOKEN: &str = "pt-00112233445566ff-secret";

/// A request that the server got.
struct Got {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Got {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A server that answers submissions with these statuses in turn, and then with 200.
fn server(statuses: &'static [u16]) -> (String, Receiver<Got>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut statuses = statuses.iter();
        for socket in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(socket);
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) < 3 {
                    break;
                }
                lines.push(line.trim().to_owned());
            }
            let Some(line) = lines.first().cloned() else { continue };
            let header = |line: &String| {
                let (name, value) = line.split_once(':').unwrap();
                (name.to_ascii_lowercase(), value.trim().to_owned())
            };
            let headers: Vec<(String, String)> = lines[1..].iter().map(header).collect();
            let mut got = Got { line, headers, body: Vec::new() };
            got.body = vec![0; got.header("content-length").parse().unwrap_or(0)];
            reader.read_exact(&mut got.body).unwrap();
            let (status, body) = match () {
                () if got.line.contains("/v1/community/register") => {
                    (201, json!({ "nodeId": "cp-00112233445566ff", "nodeToken": TOKEN }).to_string())
                }
                () if got.line.contains("/v1/probe/results") => {
                    (statuses.next().copied().unwrap_or(200), json!({ "ok": true }).to_string())
                }
                // Too few sites for a list.
                () => (200, json!({ "global": [], "country_domains": [] }).to_string()),
            };
            let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\n");
            let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            drop(reader.get_mut().write_all(answer.as_bytes()));
            drop(tell.send(got));
        }
    });
    (address, told)
}

fn settings(server: &str, folder: &std::path::Path) -> Settings {
    Settings {
        server: server.to_owned(),
        folder: folder.to_owned(),
        country: "NO".to_owned(),
        city: None,
        asn: Some(64_500),
        brand: "svc".to_owned(),
        consent: true,
        metered: false,
        allow_metered: false,
        interval: Duration::from_secs(900),
        sites_per_cycle: 3,
        pause: Duration::from_millis(1),
    }
}

fn begin(settings: Settings) -> Result<Session, String> {
    let nobody = || dns(|_| DnsAnswer::Nxdomain);
    Session::begin(settings, measurer(nobody(), nobody()))
}

fn next(told: &Receiver<Got>, path: &str) -> Got {
    loop {
        let got = told.recv_timeout(Duration::from_secs(20)).expect("the server was asked");
        if got.line.contains(path) {
            return got;
        }
    }
}

#[test]
fn nothing_leaves_the_host_without_consent_or_on_a_metered_host_or_in_the_clear() {
    let (address, told) = server(&[]);
    let folder = tempfile::TempDir::new().unwrap();
    let plain = settings(&address, folder.path());
    for refused in [
        Settings { consent: false, ..plain.clone() },
        Settings { metered: true, ..plain.clone() },
        Settings { server: "http://198.51.100.1".to_owned(), ..plain.clone() },
        Settings { interval: Duration::from_secs(60), ..plain.clone() },
        Settings { sites_per_cycle: 101, ..plain.clone() },
    ] {
        assert!(begin(refused.clone()).is_err(), "{refused:?}");
    }
    assert!(told.try_recv().is_err());
    assert!(begin(Settings { metered: true, allow_metered: true, ..plain.clone() }).is_ok());
    // A probe that consented once is not asked again.
    assert!(begin(Settings { consent: false, ..plain }).is_ok());
    let text = consent_text("https://example.org", "IR");
    assert!(text.contains("ADVISORY") && !consent_text("https://example.org", "NO").contains("ADVISORY"));
}

/// A waiting submission is sent again under its id, with a member that says since when it waited, and a new signature.
#[test]
fn what_the_server_did_not_take_waits_on_disk_and_is_sent_again_signed() {
    let (address, told) = server(&[503]);
    let folder = tempfile::TempDir::new().unwrap();
    let mut session = begin(settings(&address, folder.path())).unwrap();
    let registered = next(&told, "/v1/community/register").json();
    assert_eq!((&registered["country"], &registered["asn"]), (&json!("NO"), &json!(64_500)));
    assert_eq!(session.cycle().unwrap(), Sent::Waits);
    let first = next(&told, "/v1/probe/results").json();
    let rows = first["results"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row["errorType"] == "dns_failure" && row["isBlocked"] == false), "{first}");
    // Another process uses the same identity.
    let mut session = begin(settings(&address, folder.path())).unwrap();
    assert_eq!(session.node(), "cp-00112233445566ff");
    assert_eq!(session.cycle().unwrap(), Sent::Taken);
    let again = next(&told, "/v1/probe/results");
    let tag = encode_hex(&hmac_sha256(TOKEN.as_bytes(), &again.body));
    assert_eq!(again.header("x-svc-signature"), format!("sha256={tag}"));
    assert_eq!(again.header("authorization"), format!("Bearer {TOKEN}"));
    let again = again.json();
    assert_eq!((&again["submissionId"], &again["results"]), (&first["submissionId"], &first["results"]));
    assert!(again["_cached_at"].is_number());
    let fresh = next(&told, "/v1/probe/results").json();
    assert_ne!(fresh["submissionId"], first["submissionId"]);
    assert!(fresh.get("_cached_at").is_none());
    assert_eq!(std::fs::read_dir(folder.path().join("waiting")).unwrap().count(), 0);
}

#[test]
fn what_the_server_refuses_for_good_is_not_kept() {
    let (address, told) = server(&[401]);
    let folder = tempfile::TempDir::new().unwrap();
    let mut session = begin(settings(&address, folder.path())).unwrap();
    assert_eq!(session.cycle().unwrap(), Sent::Refused(401));
    drop(next(&told, "/v1/probe/results"));
    assert_eq!(std::fs::read_dir(folder.path().join("waiting")).unwrap().count(), 0);
}
