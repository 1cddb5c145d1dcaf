//! Why an authority gives no certificate, in words for an operator: the cause and the next step.

use std::fmt::Display;
use std::io::Error;
use std::path::Path;

use rustls_acme::acme::{AcmeError, Auth, Challenge, ChallengeType, Identifier, Problem};
use rustls_acme::{EventError, OrderError};

use crate::files::Tried;

/// The cause and the next step. `directory` is the address of the authority, `folder` that of what it gave before.
pub fn why(trouble: &EventError<Error, Error>, directory: &str, folder: &Path) -> String {
    match trouble {
        EventError::CertCacheLoad(error) | EventError::AccountCacheLoad(error) => Tried::Read.cannot(folder, error),
        EventError::CertCacheStore(error) | EventError::AccountCacheStore(error) => Tried::Write.cannot(folder, error),
        EventError::CachedCertParse(error) => format!(
            "the certificate of the last start cannot be read ({error}); move {} away, and the authority gives a new one",
            folder.display()
        ),
        EventError::NewCertParse(error) => format!(
            "what {directory} gave is no certificate with its key ({error}); see whether acme_directory is the address \
             of an authority's directory"
        ),
        EventError::Order(trouble) => of_order(trouble, directory),
    }
}

fn of_order(trouble: &OrderError, directory: &str) -> String {
    match trouble {
        OrderError::Acme(AcmeError::HttpRequest(error)) => unanswered(directory, error),
        OrderError::Acme(AcmeError::Json(_) | AcmeError::MissingHeader(_)) => format!(
            "what answers at {directory} is no authority; acme_directory must be the address of its directory, as its \
             documents have it"
        ),
        OrderError::Acme(AcmeError::NoTlsAlpn01Challenge) => format!(
            "{directory} does not look by a connection with TLS (TLS-ALPN-01), which is the only way here; name another \
             authority in acme_directory"
        ),
        OrderError::BadAuth(auth) => unproved(auth, directory),
        OrderError::TooManyAttemptsAuth(name) => format!(
            "{directory} did not say in time whether {name} leads here; if that repeats, see what it says of its state"
        ),
        OrderError::BadOrder(order) => refused(directory, order.error.as_ref()),
        OrderError::ProcessingTimeout(_) => {
            format!("{directory} takes long to make the certificate; if that repeats, see what it says of its state")
        }
        error => format!("{directory} and this server did not come to a certificate: {error}"),
    }
}

fn unanswered(directory: &str, error: &impl Display) -> String {
    format!(
        "{directory} gave no answer that helps ({error}); see whether acme_directory is right, whether this machine may \
         connect to it, and whether acme_roots names the certificates that an authority of your own is trusted by"
    )
}

fn refused(directory: &str, problem: Option<&Problem>) -> String {
    format!("{directory} refused the order{}; see whether acme_domains has names that you own", told(problem))
}

/// The authority looked, and did not find this server under its name.
fn unproved(auth: &Auth, directory: &str) -> String {
    let Identifier::Dns(name) = &auth.identifier;
    let is_ours = |challenge: &&Challenge| challenge.typ == ChallengeType::TlsAlpn01;
    let problem = auth.challenges.iter().filter(is_ours).find_map(|challenge| challenge.error.as_ref());
    format!(
        "{directory} did not find this server at {name}, port 443{}; let the name lead to this machine, open the port, and \
         let nothing in front of this server end TLS",
        told(problem)
    )
}

/// What the authority says itself.
fn told(problem: Option<&Problem>) -> String {
    let detail = problem.and_then(|problem| problem.detail.as_deref().or(problem.typ.as_deref()));
    detail.map(|detail| format!(" (\"{detail}\")")).unwrap_or_default()
}
