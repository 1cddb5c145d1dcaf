//! Which certificates commands take from the servers that they ask, and what they say when no answer comes.

use std::io::ErrorKind;

use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Names a file with the certificates to trust, in PEM, in place of those that browsers trust; curl and others read it
/// too. It is for a server inside of an organisation, or one whose certificate vouches for itself.
const VARIABLE: &str = "SSL_CERT_FILE";

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

/// Why no answer came, with the next step where it is known.
pub fn explained(error: &ureq::Error) -> String {
    let step = match error {
        ureq::Error::Io(io) if io.kind() == ErrorKind::ConnectionRefused => {
            "no server listens there; see whether it runs, and the address that its log or `listen` names"
        }
        ureq::Error::HostNotFound => "no such name is known; see how the address is written",
        _ if ["UnknownIssuer", "CaUsedAsEndEntity"].iter().any(|known| error.to_string().contains(known)) => {
            "its authority is none that browsers trust; SSL_CERT_FILE names the file of another authority"
        }
        _ if error.to_string().contains("InvalidContentType") => {
            "the server does not speak TLS there; try http:// in place of https://"
        }
        _ => return error.to_string(),
    };
    format!("{error}: {step}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_to_do_next() {
        let refused = ureq::Error::Io(ErrorKind::ConnectionRefused.into());
        assert!(explained(&refused).contains("see whether it runs"));
        let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        assert!(explained(&ureq::Error::Rustls(unknown)).contains("SSL_CERT_FILE"));
        let plain = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        assert!(explained(&ureq::Error::Rustls(plain)).contains("http://"));
        assert_eq!(explained(&ureq::Error::TooManyRedirects), ureq::Error::TooManyRedirects.to_string());
    }

    #[test]
    fn a_file_without_certificates_is_no_authority() {
        assert!(certificates(b"nothing\n").unwrap_err().contains("no certificate"));
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        assert_eq!(certificates(made.cert.pem().as_bytes()).unwrap().len(), 1);
    }
}
