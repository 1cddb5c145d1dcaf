//! `heliograph probe` against servers on loopback that interfere in every way that it recognises, and its requests to a
//! server.
//!
//! `*.der` and `*.key` beside this file are a certificate authority made for these tests, and certificates of
//! `site.test` and `other.test` signed by it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod loopback;
mod talk;

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use heliograph::probe::measure::Site;
use heliograph::probe::{Finding, Measurer};
use loopback::{DnsAnswer, Manner, SiteServer, dns, silent};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// An address where nobody listens.
const NOWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// Time limit of each step.
const PATIENCE: Duration = Duration::from_millis(1_500);

pub fn measurer(local: SocketAddr, public: SocketAddr) -> Measurer {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(include_bytes!("ca.der").to_vec())).unwrap();
    Measurer::new(local, public, PATIENCE, roots)
}

/// A resolver that answers this address for every name.
fn knows(address: Ipv4Addr) -> SocketAddr {
    dns(move |_| DnsAnswer::Address(address))
}

fn denies() -> SocketAddr {
    dns(|_| DnsAnswer::Nxdomain)
}

fn measure(local: SocketAddr, public: SocketAddr, url: &str) -> Finding {
    let site = Site { url: url.to_owned(), domain: "site.test".to_owned(), category: "news".to_owned() };
    measurer(local, public).measure(&site)
}

/// Measures a site that is served in this manner, with two honest resolvers.
fn served(https: bool, manner: Manner) -> Finding {
    let server = SiteServer::start(https, manner);
    let scheme = if https { "https" } else { "http" };
    measure(knows(HERE), knows(HERE), &format!("{scheme}://site.test:{}/", server.port))
}

#[track_caller]
fn is_blocked(finding: &Finding, block_type: &str) {
    assert_eq!((finding.blocked, finding.success, finding.block_type), (true, false, Some(block_type)), "{finding:?}");
    assert!((0.5..=1.0).contains(&finding.confidence), "{finding:?}");
}

#[test]
fn a_site_that_works_is_accessible_over_both() {
    for https in [true, false] {
        let finding = served(https, Manner::Page("<p>hello</p>"));
        assert_eq!((finding.success, finding.blocked, finding.status), (true, false, Some(200)), "{finding:?}");
        assert_eq!((finding.dns_poisoned, finding.address), (Some(false), Some(HERE)), "{finding:?}");
    }
}

#[test]
fn a_resolver_that_lies_is_found_by_the_other_one() {
    let server = SiteServer::start(true, Manner::Page("x"));
    let url = format!("https://site.test:{}/", server.port);
    let finding = measure(knows(NOWHERE), knows(HERE), &url);
    is_blocked(&finding, "dns-poisoned");
    assert_eq!(finding.dns_poisoned, Some(true));
    // Another address that works is no forgery: content networks answer like this.
    let finding = measure(knows(HERE), knows(NOWHERE), &url);
    assert_eq!((finding.success, finding.dns_poisoned), (true, Some(false)), "{finding:?}");
}

#[test]
fn a_resolver_that_denies_or_stays_silent_is_told_from_a_name_that_is_gone() {
    is_blocked(&measure(denies(), knows(HERE), "https://site.test/"), "dns-nxdomain");
    is_blocked(&measure(silent(), knows(HERE), "https://site.test/"), "dns-timeout");
    let gone = measure(denies(), denies(), "https://site.test/");
    assert_eq!((gone.blocked, gone.error_type), (false, Some("dns_failure")), "{gone:?}");
    let offline = measure(silent(), silent(), "https://site.test/");
    assert_eq!((offline.blocked, offline.error_type), (false, Some("dns_timeout")), "{offline:?}");
}

#[test]
fn connections_that_are_refused_or_never_answered_are_told_apart() {
    let closed = std::net::TcpListener::bind((HERE, 0)).unwrap().local_addr().unwrap().port();
    is_blocked(&measure(knows(HERE), knows(HERE), &format!("https://site.test:{closed}/")), "tcp-refused");
    let full = loopback::full();
    let address = full.address;
    let held: Vec<TcpStream> =
        std::iter::from_fn(|| TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok()).take(16).collect();
    assert!(held.len() < 16, "the queue of the listener never fills");
    is_blocked(&measure(knows(HERE), knows(HERE), &format!("https://site.test:{}/", address.port())), "tcp-timeout");
}

#[test]
fn handshakes_that_are_reset_or_starve_are_named_and_the_name_itself_is_tried() {
    is_blocked(&served(true, Manner::Reset), "tls-reset");
    is_blocked(&served(true, Manner::Silence), "tls-timeout");
    let finding = served(true, Manner::ResetName("site.test"));
    is_blocked(&finding, "sni-filtering");
    assert_eq!(finding.sni_blocked, Some(true));
}

#[test]
fn a_certificate_for_another_site_is_recognised() {
    is_blocked(&served(true, Manner::OtherCertificate), "tls-cert-invalid");
}

#[test]
fn pages_that_are_reset_starve_or_refused_by_law_are_named() {
    is_blocked(&served(false, Manner::Reset), "http-reset");
    is_blocked(&served(false, Manner::Silence), "http-timeout");
    for https in [true, false] {
        let finding = served(https, Manner::Status("451 Unavailable For Legal Reasons"));
        is_blocked(&finding, "http-451");
        assert_eq!(finding.status, Some(451));
    }
}

#[test]
fn what_is_forbidden_or_broken_by_the_site_is_not_blocked() {
    for (line, error) in [("403 Forbidden", "http_forbidden"), ("503 Service Unavailable", "http_error")] {
        let finding = served(true, Manner::Status(line));
        assert_eq!((finding.blocked, finding.error_type), (false, Some(error)), "{finding:?}");
    }
}

/// A page that one of the project's signatures matches: the register of the Russian regulator.
const BLOCK_PAGE: &str = "<a href=\"https://eais.rkn.gov.ru/\">the register</a>";

#[test]
fn a_redirect_to_a_block_page_is_recognised_and_one_to_another_site_is_not() {
    let page = SiteServer::start(false, Manner::Page(BLOCK_PAGE));
    let finding = served(false, Manner::Redirect(format!("http://warning.example:{}/", page.port)));
    is_blocked(&finding, "http-redirect");
    assert_eq!(finding.entity, Some("Roskomnadzor"));
    let harmless = SiteServer::start(false, Manner::Page("a new home"));
    let finding = served(false, Manner::Redirect(format!("http://moved.example:{}/", harmless.port)));
    assert_eq!((finding.blocked, finding.success), (false, true), "{finding:?}");
}

#[test]
fn a_block_page_in_place_of_the_site_is_recognised_where_nothing_proves_the_site() {
    let finding = served(false, Manner::Page(BLOCK_PAGE));
    is_blocked(&finding, "blockpage");
    assert_eq!(finding.entity, Some("Roskomnadzor"));
    // Over its own certificate a site may write about the register.
    assert!(served(true, Manner::Page(BLOCK_PAGE)).success);
}
