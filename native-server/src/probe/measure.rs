//! Measures one site: its name by two resolvers, a connection, TLS with its name, and the beginning of its page.
//!
//! Each failure has the name that the probe network uses. Some failures are deliberately not called blocked: a site
//! that no resolver finds, and a site that answers 403.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use heliograph_core::facts::starter::signatures::{self, Location, PatternType, Signature};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme, StreamOwned,
    WantsVerifier,
};
use serde_json::{Value, json};

use super::dns::{self, DnsFailure};

/// Bytes of a page that are read.
const PAGE: usize = 10_000;
/// Addresses of a name that are tried.
const ADDRESSES: usize = 2;
/// A neutral name for a second handshake, which shows whether the name of the site is blocked.
const NEUTRAL: &str = "example.com";

/// The result for one site.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Finding {
    pub success: bool,
    pub blocked: bool,
    /// The block type in the vocabulary of the probe network.
    pub block_type: Option<&'static str>,
    pub error_type: Option<&'static str>,
    pub error_detail: Option<String>,
    /// From 0 to 1.
    pub confidence: f64,
    pub status: Option<u16>,
    /// Duration of the whole measurement.
    pub latency: Duration,
    pub address: Option<Ipv4Addr>,
    pub entity: Option<&'static str>,
    pub sni_blocked: Option<bool>,
    pub dns_poisoned: Option<bool>,
}

impl Finding {
    fn failed(error_type: &'static str, detail: impl Into<String>) -> Finding {
        Finding { error_type: Some(error_type), error_detail: Some(detail.into()), ..Finding::default() }
    }

    fn blocked(mut self, block_type: &'static str, confidence: f64) -> Finding {
        (self.success, self.blocked, self.block_type, self.confidence) = (false, true, Some(block_type), confidence);
        self
    }

    /// The result as a row of a submission. `at` is ISO 8601.
    pub fn row(&self, site: &Site, at: &str) -> Value {
        json!({
            "targetUrl": site.url, "domain": site.domain, "category": site.category, "success": self.success,
            "latencyMs": u64::try_from(self.latency.as_millis()).unwrap_or(u64::MAX), "httpStatus": self.status,
            "errorType": self.error_type, "errorDetail": self.error_detail, "isBlocked": self.blocked,
            "blockType": self.block_type, "confidence": self.confidence,
            "dnsResolved": self.address.map(|address| address.to_string()), "blockingEntity": self.entity,
            "sniBlocked": self.sni_blocked, "dnsPoisoned": self.dns_poisoned, "timestamp": at,
        })
    }
}

/// A site to measure.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Site {
    pub url: String,
    pub domain: String,
    pub category: String,
}

/// The parts of a URL.
struct SiteUrl {
    https: bool,
    host: String,
    port: u16,
    path: String,
}

fn place(url: &str) -> Option<SiteUrl> {
    let uri: http::Uri = url.parse().ok()?;
    let https = match uri.scheme_str()? {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    let port = uri.port_u16().unwrap_or(if https { 443 } else { 80 });
    let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    Some(SiteUrl { https, host: uri.host()?.to_ascii_lowercase(), port, path })
}

/// True if two hosts belong to one site, judged by their last two labels.
fn related(a: &str, b: &str) -> bool {
    let tail = |host: &str| host.rsplit('.').take(2).map(str::to_owned).collect::<Vec<_>>();
    tail(a) == tail(b)
}

/// How a step over the network failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    Refused,
    Reset,
    Timeout,
    /// The other side closed the connection.
    Closed,
    Certificate,
    /// A fault of this host or its network.
    Local,
}

fn broken(error: &std::io::Error) -> Broken {
    match error.kind() {
        ErrorKind::ConnectionRefused => Broken::Refused,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => Broken::Reset,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Broken::Timeout,
        ErrorKind::UnexpectedEof => Broken::Closed,
        // rustls found a fault of the other side.
        ErrorKind::InvalidData => match error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::InvalidCertificate(_)) => Broken::Certificate,
            _ => Broken::Closed,
        },
        _ => Broken::Local,
    }
}

/// The beginning of an answer.
struct Page {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Page {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The operator of the block page, if one of the project's signatures matches.
    fn entity(&self) -> Option<&'static str> {
        let fits = |signature: &&'static Signature| {
            let text = match signature.location {
                Location::Body => Some(self.body.as_str()),
                Location::Header(name) => self.header(name),
                Location::Dns => None,
            };
            text.is_some_and(|text| match signature.pattern_type {
                PatternType::Contains => text.contains(signature.pattern),
                PatternType::Prefix => text.starts_with(signature.pattern),
                PatternType::Full => text == signature.pattern,
                // Only a server compares patterns; it has the whole set of signatures.
                PatternType::Regexp => false,
            })
        };
        signatures::all().iter().find(fits).map(|signature| signature.entity)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    // The provider's own protocol versions are always valid.
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(rustls::DEFAULT_VERSIONS);
    builder.unwrap_or_else(|_| ClientConfig::builder())
}

pub struct Measurer {
    /// The resolver that users of this network have.
    pub local: SocketAddr,
    /// A resolver outside of the network.
    pub public: SocketAddr,
    /// Time limit of each step.
    pub limit: Duration,
    trusting: Arc<ClientConfig>,
    careless: Arc<ClientConfig>,
}

impl Measurer {
    /// Makes a measurer that checks certificates against these roots.
    pub fn new(local: SocketAddr, public: SocketAddr, limit: Duration, roots: RootCertStore) -> Measurer {
        let any = Arc::new(AnyCertificate(provider()));
        let careless = builder().dangerous().with_custom_certificate_verifier(any).with_no_client_auth();
        Measurer { local, public, limit, trusting: Measurer::trusting(roots), careless: Arc::new(careless) }
    }

    /// A TLS client configuration that accepts certificates of these roots.
    pub fn trusting(roots: RootCertStore) -> Arc<ClientConfig> {
        Arc::new(builder().with_root_certificates(roots).with_no_client_auth())
    }

    /// The certificate authorities that browsers trust.
    pub fn public_roots() -> RootCertStore {
        RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
    }

    /// Measures one site.
    pub fn measure(&self, site: &Site) -> Finding {
        let begin = Instant::now();
        let finding = match place(&site.url) {
            Some(place) => self.site(&place),
            None => Finding::failed("url_error", "not an http or https address"),
        };
        Finding { latency: begin.elapsed(), ..finding }
    }

    fn site(&self, place: &SiteUrl) -> Finding {
        let (local, public) = (self.resolve(self.local, place), self.resolve(self.public, place));
        let (addresses, public) = match (local, public) {
            (Ok(local), public) => (local, public.unwrap_or_default()),
            (Err(failure), Ok(_)) => return lost_name(failure),
            (Err(DnsFailure::Timeout), Err(_)) => return Finding::failed("dns_timeout", "no resolver answers"),
            (Err(_), Err(_)) => return Finding::failed("dns_failure", "no resolver knows the name"),
        };
        let found = self.reach(place, &addresses);
        // Different addresses are common. The answer was forged only if these addresses fail and those of the other
        // resolver work.
        let differ = !public.is_empty() && !addresses.iter().any(|address| public.contains(address));
        let poisoned = differ && !found.success && self.reach(place, &public).success;
        let found = Finding { dns_poisoned: Some(poisoned), ..found };
        if poisoned { found.blocked("dns-poisoned", 0.9) } else { found }
    }

    fn resolve(&self, resolver: SocketAddr, place: &SiteUrl) -> Result<Vec<Ipv4Addr>, DnsFailure> {
        match place.host.parse() {
            Ok(address) => Ok(vec![address]),
            Err(_) => dns::ask(resolver, &place.host, self.limit),
        }
    }

    /// Tries the first addresses in turn until one works.
    fn reach(&self, place: &SiteUrl, addresses: &[Ipv4Addr]) -> Finding {
        let mut last = Finding::failed("dns_failure", "no address");
        for address in addresses.iter().take(ADDRESSES) {
            last = Finding { address: Some(*address), ..self.ask(place, *address) };
            if last.success {
                break;
            }
        }
        last
    }

    fn connect(&self, address: Ipv4Addr, port: u16) -> Result<TcpStream, Broken> {
        let socket = TcpStream::connect_timeout(&(address, port).into(), self.limit).map_err(|error| broken(&error))?;
        let set = |done: std::io::Result<()>| done.map_err(|error| broken(&error));
        set(socket.set_read_timeout(Some(self.limit)))?;
        set(socket.set_write_timeout(Some(self.limit)))?;
        Ok(socket)
    }

    /// Connects and completes a TLS handshake under this name.
    fn secure(
        &self,
        config: &Arc<ClientConfig>,
        name: &str,
        address: Ipv4Addr,
        port: u16,
    ) -> Result<StreamOwned<ClientConnection, TcpStream>, Broken> {
        let mut socket = self.connect(address, port)?;
        let name = ServerName::try_from(name.to_owned()).map_err(|_| Broken::Local)?;
        let mut tls = ClientConnection::new(config.clone(), name).map_err(|_| Broken::Local)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut socket).map_err(|error| broken(&error))?;
        }
        Ok(StreamOwned::new(tls, socket))
    }

    fn ask(&self, place: &SiteUrl, address: Ipv4Addr) -> Finding {
        let page = match place.https {
            false => match self.connect(address, place.port) {
                Ok(mut socket) => self.page(&mut socket, place).map_err(lost_page),
                Err(failure) => Err(lost_connection(failure)),
            },
            true => {
                // Connects once without TLS, so that a failure below TLS gets its own name.
                if let Err(failure) = self.connect(address, place.port) {
                    return lost_connection(failure);
                }
                match self.secure(&self.trusting, &place.host, address, place.port) {
                    Ok(mut stream) => self.page(&mut stream, place).map_err(lost_page),
                    Err(failure) => Err(self.lost_handshake(failure, place, address)),
                }
            }
        };
        match page {
            Ok(page) => self.judge(place, &page),
            Err(finding) => finding,
        }
    }

    fn page(&self, stream: &mut (impl Read + Write), place: &SiteUrl) -> Result<Page, Broken> {
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\nConnection: close\r\n\r\n",
            place.path, place.host
        );
        stream.write_all(request.as_bytes()).map_err(|error| broken(&error))?;
        let (mut bytes, mut buffer) = (Vec::new(), [0; 2048]);
        let end = Instant::now() + self.limit * 2;
        while bytes.len() < PAGE && Instant::now() < end {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => bytes.extend_from_slice(buffer.get(..read).unwrap_or_default()),
                // The bytes so far are enough to judge.
                Err(_) if complete(&bytes) => break,
                Err(error) => return Err(broken(&error)),
            }
        }
        parse(&bytes).ok_or(Broken::Closed)
    }

    /// Judges a page.
    fn judge(&self, place: &SiteUrl, page: &Page) -> Finding {
        let found = Finding { status: Some(page.status), success: page.status < 400, ..Finding::default() };
        let found = Finding { confidence: 0.95, ..found };
        match page.status {
            451 => {
                let found = Finding { error_type: Some("http_legal_block"), entity: page.entity(), ..found };
                return found.blocked("http-451", 0.95);
            }
            // A 403 alone is no block: the site itself may refuse the visitor.
            403 => return Finding { error_type: Some("http_forbidden"), ..found },
            300..=399 => return self.redirected(place, page, found),
            400.. => return Finding { error_type: Some("http_error"), ..found },
            _ => {}
        }
        // A page over a valid certificate is the site's own.
        match page.entity().filter(|_| !place.https) {
            Some(entity) => Finding { entity: Some(entity), ..found }.blocked("blockpage", 0.9),
            None => found,
        }
    }

    /// Judges a redirect to another site. It is followed once, to see whether it leads to a block page.
    fn redirected(&self, from: &SiteUrl, page: &Page, found: Finding) -> Finding {
        let to = page.header("location").and_then(place);
        let Some(to) = to.filter(|to| !related(&to.host, &from.host)) else { return found };
        let by_address = || {
            let addresses = self.resolve(self.local, &to).ok()?;
            let mut socket = self.connect(*addresses.first()?, to.port).ok()?;
            if to.https {
                let mut stream = self.secure(&self.careless, &to.host, *addresses.first()?, to.port).ok()?;
                return self.page(&mut stream, &to).ok()?.entity();
            }
            self.page(&mut socket, &to).ok()?.entity()
        };
        match page.entity().or_else(by_address) {
            Some(entity) => Finding { entity: Some(entity), ..found }.blocked("http-redirect", 0.85),
            None => Finding { error_detail: Some(format!("leads to {}", to.host)), ..found },
        }
    }

    /// Judges a failed handshake. When another name works at the same address, the name is blocked.
    fn lost_handshake(&self, failure: Broken, place: &SiteUrl, address: Ipv4Addr) -> Finding {
        let (block_type, confidence) = match failure {
            Broken::Certificate => {
                let found = Finding::failed("ssl_error", "the certificate is not one for this site");
                return found.blocked("tls-cert-invalid", 0.75);
            }
            Broken::Local | Broken::Refused => return Finding::failed("ssl_error", "no handshake"),
            Broken::Timeout => ("tls-timeout", 0.6),
            Broken::Reset | Broken::Closed => ("tls-reset", 0.8),
        };
        let found = Finding::failed("ssl_error", format!("the handshake failed: {failure:?}"));
        match self.secure(&self.careless, NEUTRAL, address, place.port) {
            Ok(_) => Finding { sni_blocked: Some(true), ..found }.blocked("sni-filtering", 0.85),
            Err(_) => Finding { sni_blocked: Some(false), ..found }.blocked(block_type, confidence),
        }
    }
}

/// Judges a failure of only the local resolver.
fn lost_name(failure: DnsFailure) -> Finding {
    let (error, block_type, confidence) = match failure {
        DnsFailure::Timeout => ("dns_timeout", "dns-timeout", 0.7),
        DnsFailure::Local => return Finding::failed("dns_failure", "the resolver cannot be asked"),
        DnsFailure::Nxdomain | DnsFailure::NoAnswer | DnsFailure::Refused => ("dns_failure", "dns-nxdomain", 0.9),
    };
    Finding::failed(error, format!("only the local resolver fails: {failure:?}")).blocked(block_type, confidence)
}

fn lost_connection(failure: Broken) -> Finding {
    let (error, block_type, confidence) = match failure {
        Broken::Refused => ("connection_refused", "tcp-refused", 0.85),
        Broken::Reset | Broken::Closed => ("connection_reset", "tcp-reset", 0.9),
        Broken::Timeout => ("timeout", "tcp-timeout", 0.6),
        Broken::Certificate | Broken::Local => return Finding::failed("unknown", "the own network fails"),
    };
    Finding::failed(error, "no connection").blocked(block_type, confidence)
}

fn lost_page(failure: Broken) -> Finding {
    let (error, block_type, confidence) = match failure {
        Broken::Reset | Broken::Closed => ("connection_reset", "http-reset", 0.8),
        Broken::Timeout => ("timeout", "http-timeout", 0.6),
        _ => return Finding::failed("http_error", "no answer that can be read"),
    };
    Finding::failed(error, "no page after the connection").blocked(block_type, confidence)
}

fn complete(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|four| four == b"\r\n\r\n")
}

fn parse(bytes: &[u8]) -> Option<Page> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned())).collect();
    Some(Page { status, headers, body: body.to_owned() })
}

/// Accepts any certificate. It is used only where the certificate does not matter: to see whether another name gets
/// through, and to read the block page that a redirect leads to.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
