//! Which certificates commands take from the servers that they ask.

use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Names a file with the certificates to trust, in PEM, in place of Mozilla's list: for a server inside of an
/// organisation, or one whose certificate vouches for itself.
const VARIABLE: &str = "HELIOGRAPH_CA_FILE";

/// How the certificate of a server is checked.
pub fn tls() -> Result<TlsConfig, String> {
    let roots = match std::env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
        None => RootCerts::WebPki,
        Some(file) => {
            let refuse = |reason: &str| format!("{VARIABLE} {}: {reason}", file.display());
            let pem = std::fs::read(&file).map_err(|error| refuse(&error.to_string()))?;
            let found = certificates(&pem).map_err(|reason| refuse(&reason))?;
            RootCerts::new_with_certs(&found)
        }
    };
    Ok(TlsConfig::builder().root_certs(roots).build())
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| error.to_string())? {
            found.push(certificate);
        }
    }
    if found.is_empty() { Err("there is no certificate in it".to_owned()) } else { Ok(found) }
}

/// What helps after a failure of TLS; empty after another one.
pub fn tip(failure: &str) -> String {
    if failure.contains("UnknownIssuer") || failure.contains("CaUsedAsEndEntity") {
        return format!("\n\n  tip: {VARIABLE} names a file with the certificate of an authority of your own, in PEM");
    }
    String::new()
}
