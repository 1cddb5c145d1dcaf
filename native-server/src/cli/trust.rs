//! How commands reach servers with TLS, and what they say when they do not.

use std::io::ErrorKind;

use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::log;

/// The file of the authorities that commands trust in place of those that browsers trust, as curl and others have it:
/// for servers with an authority of their own.
const AUTHORITIES: &str = "SSL_CERT_FILE";

/// What commands trust.
pub fn tls() -> TlsConfig {
    let roots = match std::env::var(AUTHORITIES) {
        Ok(path) if !path.is_empty() => match authorities(&path) {
            Ok(roots) => roots,
            Err(error) => {
                log::warning!("{AUTHORITIES} {path} counts for nothing: {error}");
                RootCerts::WebPki
            }
        },
        _ => RootCerts::WebPki,
    };
    TlsConfig::builder().root_certs(roots).build()
}

fn authorities(path: &str) -> Result<RootCerts, String> {
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    let found: Vec<_> = parse_pem(&text).filter_map(certificate).collect();
    match found.is_empty() {
        true => Err("there is no certificate in it".to_owned()),
        false => Ok(found.into()),
    }
}

/// Why no answer came, with the next step where it is known.
pub fn explained(error: &ureq::Error) -> String {
    let step = match error {
        ureq::Error::Io(io) if io.kind() == ErrorKind::ConnectionRefused => {
            "no server listens there; see whether it runs, and the address that its log or `listen` names"
        }
        ureq::Error::HostNotFound => "no such name is known; see how the address is written",
        _ if error.to_string().contains("UnknownIssuer") => {
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
        let folder = crate::testing::folder("authorities");
        let path = folder.file("roots.pem");
        std::fs::write(&path, "nothing\n").unwrap();
        assert!(authorities(path.to_str().unwrap()).unwrap_err().contains("no certificate"));
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(&path, made.cert.pem()).unwrap();
        assert!(matches!(authorities(path.to_str().unwrap()).unwrap(), RootCerts::Specific(found) if found.len() == 1));
    }
}
