//! Connections with TLS: the certificate is in files of the operator, or comes from an authority by ACME (decision
//! tls-of-its-own).

mod trouble;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures_util::StreamExt;
use heliograph_core::Timestamp;
use heliograph_core::engine::settings::Settings;
use heliograph_core::engine::time::SECOND;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_acme::caches::DirCache;
use rustls_acme::{AcmeConfig, AcmeState, EventOk};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::files::Tried;
use crate::{clock, log};

/// Protocols that a client may choose, the best first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// The protocol that an authority asks for to see whether a name leads here (RFC 8737).
const CHALLENGE: &[u8] = b"acme-tls/1";

/// What asks the authority.
struct Authority {
    state: AcmeState<std::io::Error, std::io::Error>,
    /// Its address, and the folder for what it gave.
    directory: String,
    folder: PathBuf,
}

/// How connections are encrypted.
pub struct Tls {
    acceptor: TlsAcceptor,
    /// The certificate of files, which can be read again.
    files: Option<Arc<Shown>>,
    /// What asks the authority, until [`Tls::renew`] takes it.
    authority: Mutex<Option<Authority>>,
    /// Requests to the authority that failed in a row.
    failures: AtomicU64,
}

/// The certificate that connections show.
#[derive(Debug)]
struct Shown(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

impl Tls {
    /// TLS as the settings say; `None` when they say nothing of it. Accounts and certificates of an authority are kept
    /// in a folder beside the data file.
    pub fn of(settings: &Settings, data: &Path) -> Result<Option<Arc<Tls>>, String> {
        match Tls::of_files(settings)? {
            Some(tls) => Ok(Some(tls)),
            None => Tls::of_authority(settings, data),
        }
    }

    /// TLS with the files that the settings name, if they do.
    pub fn of_files(settings: &Settings) -> Result<Option<Arc<Tls>>, String> {
        let (certificate, key) = (&settings.tls_certificate, &settings.tls_key);
        match (certificate.is_empty(), key.is_empty()) {
            (true, true) => return Ok(None),
            (false, false) => {}
            (false, true) => return Err("tls_certificate needs tls_key, the file of its private key".to_owned()),
            (true, false) => return Err("tls_key needs tls_certificate, the file of its certificate".to_owned()),
        }
        if !settings.acme_domains.is_empty() {
            return Err("tls_certificate and acme_domains are two sources of one certificate; set one".to_owned());
        }
        let shown = Arc::new(Shown(RwLock::new(read(settings)?)));
        let acceptor = acceptor(shown.clone(), &PROTOCOLS)?;
        Ok(Some(Arc::new(Tls {
            acceptor,
            files: Some(shown),
            authority: Mutex::default(),
            failures: AtomicU64::new(0),
        })))
    }

    fn of_authority(settings: &Settings, data: &Path) -> Result<Option<Arc<Tls>>, String> {
        let names: Vec<&str> = settings.acme_names().collect();
        if names.is_empty() {
            return Ok(None);
        }
        let folder = folder(data)?;
        let config = AcmeConfig::new_with_client_config(names, Arc::new(trusting(&settings.acme_roots)?))
            .contact(settings.acme_contacts())
            .directory(&settings.acme_directory)
            .cache(DirCache::new(folder.clone()));
        let authority = Authority { state: config.state(), directory: settings.acme_directory.clone(), folder };
        let protocols = [PROTOCOLS.as_slice(), &[CHALLENGE]].concat();
        let acceptor = acceptor(authority.state.resolver(), &protocols)?;
        Ok(Some(Arc::new(Tls {
            acceptor,
            files: None,
            authority: Mutex::new(Some(authority)),
            failures: AtomicU64::new(0),
        })))
    }

    /// Reads the files again. The error is for the operator, and then the certificate stays as it is.
    pub fn read_again(&self, settings: &Settings) -> Result<(), String> {
        if let Some(shown) = &self.files {
            let read = read(settings)?;
            *shown.0.write().unwrap_or_else(PoisonError::into_inner) = read;
        }
        Ok(())
    }

    /// Asks the authority for a certificate, and again before it ends, for as long as the server runs. Does nothing
    /// with a certificate of files.
    pub async fn renew(&self) {
        let authority = self.authority.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Authority { mut state, directory, folder }) = authority else { return };
        while let Some(event) = state.next().await {
            let failed = event.is_err();
            match event {
                Ok(EventOk::DeployedNewCert) => log::info!("the authority gave a certificate, which is in use now"),
                Ok(EventOk::DeployedCachedCert) => log::info!("the certificate of the last start is in use"),
                Ok(event) => log::debug!("certificate: {event:?}"),
                Err(error) => {
                    let why = trouble::why(&error, &directory, &folder);
                    log::warning!("no certificate yet, the next try follows by itself: {why}");
                }
            }
            match failed {
                true => drop(self.failures.fetch_add(1, Ordering::Relaxed)),
                false => self.failures.store(0, Ordering::Relaxed),
            }
        }
    }

    /// Requests to the authority that failed in a row; `None` with a certificate of files.
    pub fn failures(&self) -> Option<u64> {
        self.files.is_none().then(|| self.failures.load(Ordering::Relaxed))
    }

    /// When the certificate of files ends, in seconds since 1970. An authority gives a new one in time.
    pub fn ends(&self) -> Option<i64> {
        let shown = self.files.as_ref()?.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        ends(shown.cert.first()?)
    }

    /// The stream after the handshake; `None` when an authority only looked whether the name leads here.
    pub async fn accept(&self, socket: TcpStream) -> std::io::Result<Option<TlsStream<TcpStream>>> {
        let mut stream = self.acceptor.accept(socket).await?;
        if stream.get_ref().1.alpn_protocol() == Some(CHALLENGE) {
            stream.shutdown().await?;
            return Ok(None);
        }
        Ok(Some(stream))
    }
}

fn acceptor(shown: Arc<dyn ResolvesServerCert>, protocols: &[&[u8]]) -> Result<TlsAcceptor, String> {
    let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| format!("cannot begin TLS: {error}"))?;
    let mut config = builder.with_no_client_auth().with_cert_resolver(shown);
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The certificate and its key.
fn read(settings: &Settings) -> Result<Arc<CertifiedKey>, String> {
    let (certificate, key) = (&settings.tls_certificate, &settings.tls_key);
    let chain = certificates(certificate).map_err(|error| format!("tls_certificate {certificate}: {error}"))?;
    let refuse = |error: &dyn std::fmt::Display| format!("tls_key {key}: {error}");
    let text = contents(key).map_err(|error| refuse(&error))?;
    let private = PrivateKeyDer::from_pem_slice(&text).map_err(|_| refuse(&no_key(&text)))?;
    let certified = CertifiedKey::from_der(chain, private, &provider()).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => refuse(&format!(
            "it is not the key of {certificate}; name the key that this certificate was made with, or the certificate \
             that was made with this key"
        )),
        error => refuse(&format!("{error}; take a key of the kind ECDSA P-256, RSA or Ed25519")),
    })?;
    if let Some(ended) = certified.cert.first().and_then(|first| ends(first)).filter(|ends| *ends < now()) {
        let ended = Timestamp::from_seconds(ended);
        log::warning!(
            "tls_certificate {certificate}: it ended at {ended}, so clients refuse it; put a new one in place"
        );
    }
    Ok(Arc::new(certified))
}

/// When a certificate ends, and what time it is, in seconds since 1970.
fn ends(certificate: &CertificateDer<'_>) -> Option<i64> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    Some(certificate.validity().not_after.timestamp())
}

fn now() -> i64 {
    clock::now().0 / SECOND
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = contents(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(no_certificate(&text)),
    }
}

/// The bytes of a file. The operator may read files that the user of the service may not.
fn contents(path: &str) -> Result<Vec<u8>, String> {
    let path = Path::new(path);
    std::fs::read(path).map_err(|error| Tried::Read.why(path, &error))
}

/// What stands above each part of a file in PEM.
fn is_marked(text: &[u8], mark: &str) -> bool {
    text.windows(mark.len()).any(|part| part == mark.as_bytes())
}

/// Why a file gives no certificate, with the next step.
fn no_certificate(text: &[u8]) -> String {
    let step = if is_marked(text, "-----BEGIN CERTIFICATE-----") {
        "its text is damaged; get the file again"
    } else if is_marked(text, " PRIVATE KEY-----") {
        "it has a private key; the setting tls_key names that, and this one the certificate"
    } else {
        "it must be PEM, with a line `-----BEGIN CERTIFICATE-----`; `openssl x509 -inform der` makes that of the other form"
    };
    format!("there is no certificate in it: {step}")
}

/// Why a file gives no private key, with the next step.
fn no_key(text: &[u8]) -> String {
    let step = if is_marked(text, "ENCRYPTED") {
        "the key is locked with a password, which a service cannot type; `openssl pkey -in OLD -out NEW` writes it without"
    } else if is_marked(text, " PRIVATE KEY-----") {
        "its text is damaged; get the file again"
    } else if is_marked(text, "-----BEGIN CERTIFICATE-----") {
        "it has a certificate; the setting tls_certificate names that, and this one the key"
    } else {
        "it must be PEM, with a line `-----BEGIN PRIVATE KEY-----`; `openssl pkey -inform der` makes that of the other form"
    };
    format!("there is no private key in it: {step}")
}

/// How the authority itself is checked.
fn trusting(roots: &str) -> Result<ClientConfig, String> {
    let mut store = RootCertStore::empty();
    match roots {
        "" => store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        path => {
            let refuse = |error: String| format!("acme_roots {path}: {error}");
            for certificate in certificates(path).map_err(refuse)? {
                store.add(certificate).map_err(|error| refuse(error.to_string()))?;
            }
        }
    }
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| format!("cannot begin TLS: {error}"))?;
    Ok(builder.with_root_certificates(store).with_no_client_auth())
}

/// The folder for accounts and certificates, which only the owner may read.
fn folder(data: &Path) -> Result<PathBuf, String> {
    let mut name = data.as_os_str().to_owned();
    name.push(".acme");
    let path = PathBuf::from(name);
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&path).map_err(|error| Tried::Write.cannot(&path, &error))?;
    Ok(path)
}
