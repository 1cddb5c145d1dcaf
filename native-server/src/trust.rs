//! Which certificates commands take from the servers that they ask, and what they say when no answer comes.

use std::io::ErrorKind;
use std::path::Path;

use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::files::Tried;

/// Names a file with the certificates to trust, in PEM, in place of those that browsers trust; curl and others read it
/// too. It is for a server inside of an organisation, or one whose certificate vouches for itself.
const VARIABLE: &str = "SSL_CERT_FILE";

/// How the certificate of a server is checked.
pub fn tls() -> Result<TlsConfig, String> {
    let roots = match std::env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
        None => RootCerts::WebPki,
        Some(file) => {
            let path = Path::new(&file);
            let pem =
                std::fs::read(path).map_err(|error| format!("{VARIABLE}: {}", Tried::Read.cannot(path, &error)))?;
            let found = certificates(&pem).map_err(|reason| format!("{VARIABLE} {}: {reason}", path.display()))?;
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
    match found.is_empty() {
        true => Err("there is no certificate in it; name a file with `-----BEGIN CERTIFICATE-----`".to_owned()),
        false => Ok(found),
    }
}

/// Parts of errors of TLS, and the next step after each.
const STEPS: [(&str, &str); 4] = [
    (
        "CaUsedAsEndEntity",
        "the certificate of the server is that of an authority, which a server cannot have for itself, and no list of \
         authorities mends that. Give the server another one: signed by that authority, or made with `openssl req -x509 \
         -addext basicConstraints=critical,CA:FALSE`, which SSL_CERT_FILE names here then",
    ),
    ("UnknownIssuer", "its authority is none that browsers trust; SSL_CERT_FILE names the file of another authority"),
    (
        "certificate not valid for name",
        "the address must have a name that the certificate has, or the server a certificate with the name in the address",
    ),
    ("InvalidContentType", "the server does not speak TLS there; try http:// in place of https://"),
];

/// Why no answer came, with the next step where it is known.
pub fn explained(error: &ureq::Error) -> String {
    let text = plain_names(&error.to_string());
    let step = match error {
        ureq::Error::Io(io) if io.kind() == ErrorKind::ConnectionRefused => {
            Some("no server listens there; see whether it runs, and the address that its log or `listen` names")
        }
        ureq::Error::HostNotFound => Some("no such name is known; see how the address is written"),
        _ => STEPS.iter().find(|(part, _)| text.contains(part)).map(|(_, step)| *step),
    };
    step.map_or_else(|| text.clone(), |step| format!("{text}: {step}"))
}

/// Names of a certificate as people write them: they come as `DnsName("a.example")` and `IpAddress(10.0.0.1)`.
fn plain_names(text: &str) -> String {
    let mut text = text.to_owned();
    for (before, after) in [("DnsName(\"", "\")"), ("IpAddress(", ")")] {
        while let Some((head, tail)) = text.split_once(before) {
            let Some((name, rest)) = tail.split_once(after) else { break };
            text = format!("{head}{name}{rest}");
        }
    }
    text
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
        let authority = ureq::Error::Io(std::io::Error::other("Other(OtherError(CaUsedAsEndEntity))"));
        assert!(explained(&authority).contains("basicConstraints=critical,CA:FALSE"));
        let names = "not valid; certificate is only valid for DnsName(\"a.example\") or IpAddress(10.0.0.1)";
        assert_eq!(plain_names(names), "not valid; certificate is only valid for a.example or 10.0.0.1");
        let broken = "IpAddress(10 and DnsName(\"a";
        assert_eq!(plain_names(broken), broken);
        let wrong = rustls::CertificateError::NotValidForNameContext {
            expected: rustls::pki_types::ServerName::try_from("b.example").unwrap(),
            presented: vec!["DnsName(\"a.example\")".to_owned()],
        };
        let wrong = explained(&ureq::Error::Rustls(rustls::Error::InvalidCertificate(wrong)));
        assert!(wrong.contains("only valid for a.example: the address must have a name"), "{wrong}");
        assert_eq!(explained(&ureq::Error::TooManyRedirects), ureq::Error::TooManyRedirects.to_string());
    }

    #[test]
    fn a_file_without_certificates_is_no_authority() {
        assert!(certificates(b"nothing\n").unwrap_err().contains("no certificate"));
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        assert_eq!(certificates(made.cert.pem().as_bytes()).unwrap().len(), 1);
    }
}
