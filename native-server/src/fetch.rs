//! Requests of this server to other hosts, and the task that fetches from sources.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use heliograph_core::engine::apart;
use heliograph_core::engine::runtime::Runtime;
use heliograph_core::engine::web::Incoming;
use heliograph_core::engine::web::Networks;
use heliograph_core::engine::web::Outgoing;
use heliograph_core::facts::measurement::domain::host_of;
use heliograph_core::intelligence::fetch::{self};
use heliograph_core::{Error, ErrorCode, Result};
use http::{Method, Request, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::Builder;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio_rustls::TlsConnector;

use crate::clock;
use crate::log;
use crate::probe::Measurer;
use crate::runtime::Native;
use crate::trace::{self, Trace};

/// Pause when nothing is due, or after a failure of this deployment itself.
const IDLE: Duration = Duration::from_secs(30);
/// How long one address of a host may take to connect when the host has several.
const CONNECT: Duration = Duration::from_secs(5);
/// Most bytes of an answer's head.
const MAX_HEAD: usize = 64 * 1024;

/// Finds the addresses of a host.
trait Resolver {
    fn resolve(&self, host: &str, port: u16) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;
}

/// The resolver of the machine.
struct System;

impl Resolver for System {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, port)).await?.collect())
    }
}

/// Ends a task when its waiter is dropped.
struct Ends(AbortHandle);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How the message of every failure begins.
const FAILED: &str = "The request failed: ";

fn failed(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Unavailable, format!("{FAILED}{error}."))
}

/// Makes one request. It takes no thread while it waits, so that thousands of receivers may be slow at once.
pub async fn send(outgoing: &Outgoing) -> Result<Incoming> {
    let answer = send_by(&System, outgoing).await;
    // What is sent is a delivery. Whoever asks for something tells of a failure in words of its own.
    if let (Err(error), true) = (&answer, outgoing.body.is_some()) {
        // No more of the address: what stands behind the host may be a secret of the receiver.
        FAILURES.tell(clock::now().seconds(), host_of(&outgoing.url), &error.message);
    }
    answer
}

/// Tells of failed requests, so that the operator sees why an alert does not arrive. There may be thousands in a second
/// and whoever has a key chooses the receivers, so there is a line for one of them in [`Failures::PAUSE`] seconds.
struct Failures {
    /// When the last line was written, in seconds since 1970.
    last: AtomicI64,
    /// Failures since then.
    more: AtomicU64,
}

static FAILURES: Failures = Failures { last: AtomicI64::new(0), more: AtomicU64::new(0) };

impl Failures {
    const PAUSE: i64 = 10;

    fn tell(&self, now: i64, host: &str, why: &str) {
        if let Some(more) = self.due(now) {
            let others = if more == 0 { String::new() } else { format!("; {more} others failed before it") };
            let why = why.trim_start_matches(FAILED).trim_end_matches('.');
            log::info!("a request to {host} failed: {why}{others}");
        }
    }

    /// How many failures were not told before this one; `None` when it is too soon for another line.
    fn due(&self, now: i64) -> Option<u64> {
        let last = self.last.load(Ordering::Relaxed);
        let due = now.saturating_sub(last) >= Failures::PAUSE;
        if due && self.last.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return Some(self.more.swap(0, Ordering::Relaxed));
        }
        self.more.fetch_add(1, Ordering::Relaxed);
        None
    }
}

async fn send_by(resolver: &(impl Resolver + Sync), outgoing: &Outgoing) -> Result<Incoming> {
    let answered = tokio::time::timeout(outgoing.timeout, exchange(resolver, outgoing)).await;
    answered.unwrap_or_else(|_| Err(failed("it took too long")))
}

async fn exchange(resolver: &(impl Resolver + Sync), outgoing: &Outgoing) -> Result<Incoming> {
    let uri: Uri = outgoing.url.parse().map_err(failed)?;
    let secure = uri.scheme_str() == Some("https");
    let host = uri.host().ok_or_else(|| failed("the address has no host"))?;
    // IPv6 addresses are in brackets.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let stream = connect(resolver, host, port, &outgoing.beyond).await?;
    let _ = stream.set_nodelay(true);
    if !secure {
        return ask(stream, outgoing, &uri).await;
    }
    let name = ServerName::try_from(host.to_owned()).map_err(failed)?;
    ask(TlsConnector::from(TLS.clone()).connect(name, stream).await.map_err(failed)?, outgoing, &uri).await
}

/// Trusts the certificate authorities that browsers trust.
static TLS: LazyLock<Arc<ClientConfig>> = LazyLock::new(|| Measurer::trusting(Measurer::public_roots()));

/// Connects to an address of the open Internet, or of the networks that are allowed besides. The name is resolved once,
/// each of its addresses is checked, and the connection goes to a checked address. So no name leads to an internal
/// host, even if it answered otherwise a moment ago.
async fn connect(resolver: &(impl Resolver + Sync), host: &str, port: u16, beyond: &Networks) -> Result<TcpStream> {
    let mut addresses = resolver.resolve(host, port).await.map_err(failed)?;
    addresses.retain(|address| beyond.reach(address.ip()));
    let mut last = failed("the name has no address that may be reached");
    for address in addresses {
        match tokio::time::timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = failed(error),
            Err(_) => last = failed("no connection in time"),
        }
    }
    Err(last)
}

/// Sends the request on a connection, which ends with it; follows no redirect.
async fn ask<S>(stream: S, outgoing: &Outgoing, uri: &Uri) -> Result<Incoming>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let connecting = Builder::new().max_buf_size(MAX_HEAD).handshake(TokioIo::new(stream));
    let (mut sender, connection) = connecting.await.map_err(failed)?;
    // An error of the connection also shows as an error of the request.
    let _connection = Ends(tokio::spawn(async move { drop(connection.await) }).abort_handle());
    let response = sender.send_request(request(outgoing, uri)?).await.map_err(failed)?;
    let status = response.status().as_u16();
    let asked = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let asked = asked.and_then(|asked| heliograph_core::engine::web::retry_after(asked, clock::now()));
    let mut body = Vec::new();
    if outgoing.max_bytes > 0 {
        let mut pieces = response.into_body();
        while let Some(piece) = pieces.frame().await {
            let Ok(piece) = piece.map_err(failed)?.into_data() else { continue };
            if body.len() + piece.len() > outgoing.max_bytes {
                return Err(failed(format!("the answer is over {} bytes", outgoing.max_bytes)));
            }
            body.extend_from_slice(&piece);
        }
    }
    Ok(Incoming { status, retry_after: asked, body: body.into() })
}

fn request(outgoing: &Outgoing, uri: &Uri) -> Result<Request<Full<Bytes>>> {
    let query = uri.query().map_or(String::new(), |query| format!("?{query}"));
    let path = format!("{}{query}", uri.path());
    let method = if outgoing.body.is_some() { Method::POST } else { Method::GET };
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, authority);
    request = request.header(header::ACCEPT, "*/*").header(header::CONNECTION, "close");
    for (name, value) in &outgoing.headers {
        request = request.header(name, value);
    }
    // The receiver can name this request when it tells of it; what the log says of it has the same id.
    let trace = trace::current().map_or_else(Trace::new, Trace::child);
    log::debug!("asking {authority} as request {}", trace.request());
    request = request.header(trace::HEADER, trace.text());
    request.body(Full::new(outgoing.body.clone().unwrap_or_default())).map_err(failed)
}

/// Fetches what the operator switched on, one request at a time, for as long as the server runs.
pub async fn run(native: Arc<Native>) {
    let mut changed = native.changed.subscribe();
    loop {
        let settings = &native.environment().settings;
        if fetch::jobs(settings).is_empty() {
            // It ends with the server.
            if changed.changed().await.is_err() {
                return;
            }
            continue;
        }
        let pause = Duration::from_secs(u64::from(settings.fetch_pause_seconds));
        let runtime = native.clone();
        let step = Box::pin(async move { fetch::step(&*runtime).await });
        let wait = match apart::by_ourselves(native.clone(), step).await.flatten() {
            Ok(step) => {
                if let Some(warning) = step.warning {
                    log::warning!("fetching {warning}");
                }
                if step.made { pause } else { IDLE }
            }
            Err(error) => {
                log::warning!("fetching goes on later: {}", error.message);
                IDLE
            }
        };
        // Other settings may name other sources.
        let _ = tokio::time::timeout(wait, changed.changed()).await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use heliograph_core::engine::runtime;
    use heliograph_core::engine::settings::Settings;
    use heliograph_core::intelligence::fetch::{FetchRow, FetchRows};
    use heliograph_core::intelligence::world::{self, SourceState};

    use super::*;
    use crate::server::Deployment;
    use crate::store::Options;
    use crate::testing::folder;

    /// Serves the answers of a list one after the other, and sends what was asked; the last answer repeats.
    fn source(answers: Vec<String>) -> (String, std::sync::mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut answers = answers.into_iter().peekable();
            let mut last = String::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                    head.push(byte[0]);
                }
                last = answers.next().unwrap_or(last);
                if stream.write_all(last.as_bytes()).is_err()
                    || tell.send(String::from_utf8_lossy(&head).into()).is_err()
                {
                    return;
                }
            }
        });
        (base, asked)
    }

    fn answer(status: &str, headers: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}connection: close\r\n\r\n{body}", body.len())
    }

    const COUNTS: &str = r#"{"v":0,"result":[{"anomaly_count":1,"confirmed_count":0,"failure_count":0,"ok_count":9,
        "measurement_count":10,"measurement_start_day":"2024-05-01","probe_cc":"TR"}]}"#;

    #[test]
    fn failures_that_come_in_numbers_are_told_once_in_a_while() {
        let failures = Failures { last: AtomicI64::new(0), more: AtomicU64::new(0) };
        assert_eq!(failures.due(1_000), Some(0));
        assert_eq!([failures.due(1_000), failures.due(1_009)], [None, None]);
        assert_eq!(failures.due(1_010), Some(2));
        assert_eq!([failures.due(1_011), failures.due(1_020)], [None, Some(1)]);
    }

    /// Decision traces-of-requests.
    #[tokio::test]
    async fn a_request_that_a_request_makes_is_a_part_of_its_trace() {
        let mut headers = http::HeaderMap::new();
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let parent = format!("00-{id}-00f067aa0ba902b7-01");
        headers.insert(trace::HEADER, parent.parse().unwrap());
        let asked = Trace::of(&headers);
        let (uri, url, timeout) = (Uri::from_static("http://a.example/"), String::new(), Duration::from_secs(1));
        let outgoing =
            Outgoing { url, headers: Vec::new(), body: None, timeout, max_bytes: 0, beyond: Networks::all() };
        let header = |request: Request<_>| request.headers()[trace::HEADER].to_str().unwrap().to_owned();
        let inside = trace::within(asked, async { header(request(&outgoing, &uri).unwrap()) }).await;
        assert!(inside.starts_with(&format!("00-{id}-")) && !inside.contains(&asked.span_id()), "{inside}");
        assert!(!header(request(&outgoing, &uri).unwrap()).contains(id));
    }

    fn settings(base: &str, jobs: &str) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in [
            ("fetch_ooni_url", base),
            ("fetch_ioda_url", base),
            ("fetch_private", "true"),
            ("fetch_since", "2024-05-01"),
        ] {
            settings.set(name, value).unwrap();
        }
        // The server's own task is off; the test makes the steps.
        settings.fetch_sources = jobs.to_owned();
        settings.fetch_pause_seconds = 86_400;
        settings
    }

    async fn row(native: &Native, job: &str) -> FetchRow {
        let rows = runtime::query(native, world::actor().name, &FetchRows).await.unwrap();
        rows.get(job).cloned().unwrap_or_default()
    }

    async fn until(native: &Native, job: &str, done: impl Fn(&FetchRow) -> bool) -> FetchRow {
        for _ in 0..200 {
            let row = row(native, job).await;
            if done(&row) {
                return row;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{job} stays at {:?}", row(native, job).await);
    }

    /// Runs the server's own task against this answer until its first request of a job.
    async fn first(job: &str, response: String) -> (FetchRow, String) {
        let folder = folder("fetch");
        let (base, asked) = source(vec![response]);
        let deployment = Deployment::open(settings(&base, job), Options::new(folder.file("data.redb"))).await.unwrap();
        let row = until(deployment.native(), job, |row| *row != FetchRow::default()).await;
        let head = asked.recv_timeout(Duration::from_secs(5)).unwrap();
        deployment.close().await;
        (row, head)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_answer_moves_the_window_on_and_a_restart_resumes_there() {
        let folder = folder("fetch");
        let (base, asked) = source(vec![answer("200 OK", "", COUNTS)]);
        let open = || Deployment::open(settings(&base, "ooni-aggregation"), Options::new(folder.file("data.redb")));
        let deployment = open().await.unwrap();
        let first = until(deployment.native(), "ooni-aggregation", |row| row.cursor.0 > 0).await;
        assert_eq!((first.cursor.to_date_text().as_str(), first.failures), ("2024-05-08", 0));
        let (rows, imports) = runtime::query(&**deployment.native(), world::actor().name, &SourceState).await.unwrap();
        assert_eq!(imports["ooni-aggregation"].counts.accepted, 1);
        assert!(rows.get("ooni-aggregation").is_none_or(|row| row.rows == 1));
        deployment.close().await;
        let head = asked.recv_timeout(Duration::from_secs(5)).unwrap();
        assert!(head.contains("since=2024-05-01&until=2024-05-08"), "{head}");
        assert!(head.to_ascii_lowercase().contains("user-agent: heliograph/"), "{head}");

        let deployment = open().await.unwrap();
        until(deployment.native(), "ooni-aggregation", |row| row.cursor > first.cursor).await;
        let head = asked.recv_timeout(Duration::from_secs(5)).unwrap();
        assert!(head.contains("since=2024-05-08&until=2024-05-15"), "{head}");
        deployment.close().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_full_page_is_followed_by_the_next_one_also_after_a_restart() {
        let folder = folder("fetch");
        let page = |numbers: std::ops::Range<u32>| {
            let event = |number| {
                format!(
                    r#"{{"location":"country/SY","start":{},"duration":60,"datasource":"bgp"}}"#,
                    1_714_000_000 + number
                )
            };
            let events: Vec<String> = numbers.map(event).collect();
            answer("200 OK", "", &format!(r#"{{"type":"outages.events","error":null,"data":[{}]}}"#, events.join(",")))
        };
        let (base, asked) = source(vec![page(0..1_000), page(1_000..1_002)]);
        let open = || Deployment::open(settings(&base, "ioda"), Options::new(folder.file("data.redb")));
        let asked = || asked.recv_timeout(Duration::from_secs(5)).unwrap();
        let deployment = open().await.unwrap();
        let full = until(deployment.native(), "ioda", |row| row.offset > 0).await;
        assert_eq!((full.offset, full.cursor.to_date_text().as_str()), (1_000, "2024-05-01"));
        deployment.close().await;
        assert!(asked().contains("limit=1000&page=0&from=1713916800&until=1714608000"));

        let deployment = open().await.unwrap();
        let last = until(deployment.native(), "ioda", |row| row.offset == 0).await;
        assert_eq!((last.cursor.to_date_text().as_str(), last.failures), ("2024-05-02", 0));
        assert!(asked().contains("limit=1000&page=1&from=1713916800&until=1714608000"));
        let (rows, _) = runtime::query(&**deployment.native(), world::actor().name, &SourceState).await.unwrap();
        assert_eq!(rows["ioda"].rows, 1_002);
        deployment.close().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_source_that_is_busy_is_left_alone_for_as_long_as_it_asks() {
        let (row, _) = first("ioda", answer("429 Too Many Requests", "retry-after: 7200\r\n", "slow down")).await;
        let (at, error) = row.error.clone().unwrap();
        assert_eq!((error.as_str(), row.failures, row.next.since(at)), ("status 429", 1, 7_200_000_000));
        assert_eq!(row.cursor.to_date_text(), "2024-05-01", "nothing is skipped");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn failures_and_damaged_answers_are_asked_for_again_later() {
        let cut = COUNTS.get(..COUNTS.len() / 2).unwrap();
        for (response, expected) in [
            (answer("503 Service Unavailable", "", ""), "status 503"),
            (answer("200 OK", "", cut), "bad_json"),
            (answer("200 OK", "", r#"{"error":"internal"}"#), "source_error"),
            (answer("302 Found", "location: http://127.0.0.1:1/\r\n", ""), "status 302"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{".to_owned(), "The request failed"),
        ] {
            let (row, _) = first("ooni-aggregation", response).await;
            let (at, error) = row.error.clone().unwrap();
            assert!(error.starts_with(expected), "{error} for {expected}");
            assert!(row.next.since(at) >= 60_000_000 && row.failures == 1, "{row:?}");
            assert_eq!(row.cursor.to_date_text(), "2024-05-01", "nothing is skipped");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn measurements_of_a_list_are_read_by_their_scores() {
        let list = r#"{"metadata":{"count":-1},"results":[{"anomaly":true,"confirmed":false,"failure":false,
            "input":"https://news.example/","measurement_start_time":"2024-05-01T00:10:00Z","measurement_uid":"u1",
            "probe_asn":"AS9121","probe_cc":"TR","report_id":"r1","scores":{"blocking_general":1.0},
            "test_name":"web_connectivity"},{"anomaly":false,"confirmed":false,"failure":true,"input":null,
            "measurement_start_time":"2024-05-01T00:10:00Z","measurement_uid":"u2","probe_asn":"AS9121",
            "probe_cc":"TR","report_id":"r2","scores":{},"test_name":"telegram"}]}"#;
        let (row, head) = first("ooni-measurements", answer("200 OK", "", list)).await;
        assert!(head.contains("limit=1000&offset=0&since=2024-05-01T00:00:00&until=2024-05-01T01:00:00"), "{head}");
        assert_eq!((row.failures, row.offset, row.error.clone()), (0, 0, None), "{row:?}");
    }

    /// A resolver of an attacker: each answer is the next of a list, the last repeats.
    #[derive(Debug, Clone)]
    struct Rebinding {
        answers: Vec<Vec<SocketAddr>>,
        asked: Arc<std::sync::atomic::AtomicUsize>,
    }

    impl Resolver for Rebinding {
        async fn resolve(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
            let asked = self.asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Ok(self.answers[asked.min(self.answers.len() - 1)].clone())
        }
    }

    /// DNS rebinding: a name has an allowed address when it is checked, and an internal one when the connection is
    /// made.
    #[tokio::test]
    async fn a_connection_goes_to_an_address_that_was_checked_whatever_the_name_says_later() {
        let (base, good) = source(vec![answer("200 OK", "", "")]);
        let port: u16 = base.rsplit(':').next().unwrap().parse().unwrap();
        // The same port at an address that is not allowed.
        let inside = TcpListener::bind(("127.0.0.2", port)).unwrap();
        inside.set_nonblocking(true).unwrap();
        let (allowed, denied) = (SocketAddr::from(([127, 0, 0, 1], port)), SocketAddr::from(([127, 0, 0, 2], port)));
        let beyond = Networks::parse("127.0.0.1/32").unwrap();
        let timeout = Duration::from_secs(2);
        let url = format!("http://rebinding.example:{port}/");
        let outgoing = Outgoing { url, headers: Vec::new(), body: None, timeout, max_bytes: 0, beyond };
        let resolver = |answers: &[&[SocketAddr]]| Rebinding {
            answers: answers.iter().map(|answer| answer.to_vec()).collect(),
            asked: Arc::default(),
        };
        let asked = |resolver: &Rebinding| resolver.asked.load(std::sync::atomic::Ordering::SeqCst);
        let changing = resolver(&[&[allowed], &[denied]]);
        assert_eq!(send_by(&changing, &outgoing).await.unwrap().status, 200);
        assert_eq!(asked(&changing), 1, "what was checked is what is connected to");
        assert!(send_by(&changing, &outgoing).await.is_err(), "the next request checks anew");
        // Every address of an answer is checked, not only the first.
        assert_eq!(send_by(&resolver(&[&[denied, allowed]]), &outgoing).await.unwrap().status, 200);
        assert!(send_by(&resolver(&[&[denied, denied]]), &outgoing).await.is_err());
        (0..2).for_each(|_| drop(good.recv_timeout(Duration::from_secs(5)).unwrap()));
        assert!(good.try_recv().is_err());
        assert!(inside.accept().is_err(), "nothing went inside");
    }

    /// A receiver that sends a byte now and then must not hold the exchange longer than its time limit.
    #[tokio::test]
    async fn an_answer_that_drips_ends_with_the_time_of_the_exchange() {
        for (max_bytes, head) in
            [(0, "HTTP/1.1 200 OK\r\nx: "), (1_000, "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n")]
        {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/", listener.local_addr().unwrap());
            std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut written = stream.write_all(head.as_bytes());
                while written.is_ok() {
                    std::thread::sleep(Duration::from_millis(50));
                    written = stream.write_all(b"x");
                }
            });
            let timeout = Duration::from_millis(600);
            let outgoing =
                Outgoing { url, headers: Vec::new(), body: None, timeout, max_bytes, beyond: Networks::all() };
            let began = std::time::Instant::now();
            assert!(send(&outgoing).await.is_err());
            assert!(began.elapsed() < 4 * timeout, "{:?}", began.elapsed());
        }
    }

    #[tokio::test]
    async fn names_that_lead_inside_are_refused_after_they_are_resolved() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let outgoing = |beyond| Outgoing {
            url: format!("http://localhost:{port}/"),
            headers: Vec::new(),
            body: None,
            timeout: Duration::from_millis(500),
            max_bytes: 10,
            beyond,
        };
        assert!(send(&outgoing(Networks::default())).await.is_err());
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "no connection was made");
        let (base, _asked) = source(vec![answer("200 OK", "", "more than ten bytes")]);
        let large = send(&Outgoing { url: base, ..outgoing(Networks::all()) }).await.unwrap_err();
        assert!(large.message.contains("over 10 bytes"), "{large:?}");
    }

    /// One slow or dead receiver must not delay another. Waiting takes no thread.
    #[tokio::test]
    async fn a_thousand_receivers_that_never_answer_leave_one_that_does_its_moment() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let silent_url = format!("http://{}/", silent.local_addr().unwrap());
        let outgoing = |url: String| Outgoing {
            url,
            headers: Vec::new(),
            body: Some(Bytes::from_static(b"{}")),
            timeout: Duration::from_secs(30),
            max_bytes: 0,
            beyond: Networks::all(),
        };
        // The kernel accepts some of the connections and leaves the others waiting: neither gets an answer.
        let waiting: Vec<_> = (0..1_000)
            .map(|_| {
                let request = outgoing(silent_url.clone());
                Ends(tokio::spawn(async move { drop(send(&request).await) }).abort_handle())
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let (base, asked) = source(vec![answer("204 No Content", "", "")]);
        let began = std::time::Instant::now();
        assert_eq!(send(&outgoing(format!("{base}?a=b#c"))).await.unwrap().status, 204);
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        let head = asked.recv_timeout(Duration::from_secs(5)).unwrap();
        assert!(head.starts_with("POST /?a=b HTTP/1.1\r\n") && head.contains("content-length: 2\r\n"), "{head}");
        drop(waiting);
    }
}
