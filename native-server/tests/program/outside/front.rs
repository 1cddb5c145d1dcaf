//! Behind nginx and Caddy, with the configurations that the documents show.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;

use super::super::Server;
use super::super::operating::{line, logged, with_config};
use super::super::tls::{certificate, connect, head, streams_work, trusting};
use super::{Running, free_port, program};

const DOCUMENT: &str = include_str!("../../../../docs/proxies.md");

/// The configuration that the document shows for this proxy.
fn shown(language: &str) -> String {
    let begin = format!("```{language}\n");
    let text = DOCUMENT.split_once(&begin).unwrap_or_else(|| panic!("no {language}")).1;
    text.split_once("```").unwrap().0.to_owned()
}

fn replace(text: &str, pairs: &[(&str, String)]) -> String {
    let mut text = text.to_owned();
    for (from, to) in pairs {
        assert!(text.contains(from), "{from} is not in {text}");
        text = text.replace(from, to);
    }
    text
}

/// The proxy in front: streams pass, clients are told apart, and the operator's page of figures is not for everybody.
fn works(port: u16, root: &CertificateDer<'static>, lines: &std::sync::mpsc::Receiver<String>) {
    let at = format!("127.0.0.1:{port}");
    let config = trusting(root, &[b"http/1.1"]);
    let began = Instant::now();
    while connect(&at, "localhost", config.clone()).is_err() {
        assert!(began.elapsed() < Duration::from_secs(60), "the proxy does not begin");
        std::thread::sleep(Duration::from_millis(50));
    }
    let open = || connect(&at, "localhost", config.clone()).unwrap();
    streams_work(open);
    let ask = |path: &str, more: &str| {
        head(open(), &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{more}connection: close\r\n\r\n")).0
    };
    assert!(ask("/metrics", "").starts_with("HTTP/1.1 404 "));
    // What a client says of itself in the headers of proxies counts for nothing.
    assert!(ask("/data/sources", "x-forwarded-for: 192.0.2.7\r\nforwarded: for=192.0.2.8\r\n").contains(" 200 "));
    let told = line(lines, "GET /data/sources 200");
    assert!(!told.contains("192.0.2.8"), "{told}");
    let traced = ask("/healthz", "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n");
    assert!(traced.to_lowercase().contains("traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-"), "{traced}");
}

/// A server, a certificate, and a folder for the proxy.
struct Place {
    folder: heliograph::testing::Folder,
    server: Server,
    lines: std::sync::mpsc::Receiver<String>,
    root: CertificateDer<'static>,
    files: [PathBuf; 2],
    port: u16,
}

impl Place {
    fn new(name: &str) -> Place {
        let (folder, path, config) = with_config(name, "access_log = true\n");
        let (server, lines) = logged(&path, &config);
        let files = [folder.file("c.pem"), folder.file("k.pem")];
        let root = certificate("localhost", &files[0], &files[1]);
        Place { folder, server, lines, root, files, port: free_port() }
    }

    fn backend(&self) -> String {
        self.server.base.strip_prefix("http://").unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.file(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn shown_path(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn nginx_in_front_passes_streams_and_names_the_client() {
    let Some(nginx) = program("nginx", &["nginx"]) else { return };
    let place = Place::new("nginx");
    let site = replace(
        &shown("nginx"),
        &[
            ("listen 443 ssl;", format!("listen 127.0.0.1:{} ssl;", place.port)),
            ("/etc/letsencrypt/live/heliograph.example.org/fullchain.pem", shown_path(&place.files[0])),
            ("/etc/letsencrypt/live/heliograph.example.org/privkey.pem", shown_path(&place.files[1])),
            ("heliograph.example.org", "localhost".to_owned()),
            ("127.0.0.1:8787", place.backend()),
        ],
    );
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {};\n", shown_path(&place.folder.file(name))))
        .concat();
    let text = format!(
        "daemon off; master_process off; pid {}; error_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{site}}}\n",
        shown_path(&place.folder.file("nginx.pid"))
    );
    let file = place.write("nginx.conf", &text);
    let _running = Running::start(Command::new(nginx).arg("-c").arg(file).arg("-p").arg(place.folder.path()));
    works(place.port, &place.root, &place.lines);
    place.server.stop();
}

#[test]
fn caddy_in_front_passes_streams_and_names_the_client() {
    let Some(caddy) = program("caddy", &["caddy"]) else { return };
    let place = Place::new("caddy");
    let own = format!(
        "https://localhost:{} {{\n    bind 127.0.0.1\n    tls {} {}",
        place.port,
        shown_path(&place.files[0]),
        shown_path(&place.files[1])
    );
    let site = replace(&shown("caddy"), &[("heliograph.example.org {", own), ("127.0.0.1:8787", place.backend())]);
    let text = format!("{{\n    admin off\n    auto_https off\n}}\n{site}");
    let file = place.write("Caddyfile", &text);
    let mut command = Command::new(caddy);
    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(file);
    command.env("HOME", place.folder.path()).env("XDG_DATA_HOME", place.folder.path());
    let _running = Running::start(command.env("XDG_CONFIG_HOME", place.folder.path()));
    works(place.port, &place.root, &place.lines);
    place.server.stop();
}
