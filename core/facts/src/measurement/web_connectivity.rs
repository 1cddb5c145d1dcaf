//! Judges a raw web_connectivity document: one rule for each host of its redirect chain.
//!
//! The layers are judged in their order: name, connection, handshake, request. Only connections to addresses from the
//! system's resolver count as access. What the probe reached through an encrypted resolver of its own only shows that
//! the site is up. "Both fail" means down only for an address that the control resolved itself. A failing hop of a
//! redirect votes for its own host, and the control's page is its control (decision controls-from-peers).

use super::domain::{TargetKey, host_of, normal_host};
use super::failure::Failure;
use super::fingerprints::Fingerprints;
use super::ooni_document::Document;
use super::outcome::{Judgement, Outcome};
use super::types::{Contribution, Rejection};
use super::web_document::{Connect, Request, WebDocument, url_port};
use crate::verdict::down_or_blocked::{Rules, by_control};
use crate::verdict::rules::{Class, RuleId};
use crate::verdict::technique::Technique;
use engine::bogon::is_bogon;

/// The verdict on one host of the chain.
#[derive(Debug, Clone)]
pub struct HostVerdict {
    pub target: TargetKey,
    pub judgement: Judgement,
    /// The layer of an interference that did not keep the site from working.
    pub interference: Option<&'static str>,
    host: String,
}

/// The verdict on a document; the host of the URL comes first.
#[derive(Debug, Clone)]
pub struct WebVerdict {
    pub hosts: Vec<HostVerdict>,
}

impl WebVerdict {
    /// The contributions to the votes. Hosts with the same key (with and without `www.`) join, and the stronger rule
    /// wins.
    pub fn contributions(&self) -> Vec<Contribution> {
        let mut out: Vec<Contribution> = Vec::with_capacity(self.hosts.len());
        for host in &self.hosts {
            match out.iter_mut().find(|known| known.target == host.target) {
                Some(known) => {
                    if let Outcome::Judged(present) = known.outcome
                        && weight(host.judgement.rule) > weight(present.rule)
                    {
                        known.outcome = Outcome::Judged(host.judgement);
                    }
                }
                None => {
                    out.push(Contribution { target: host.target.clone(), outcome: Outcome::Judged(host.judgement) })
                }
            }
        }
        out
    }
}

/// Blocked is stronger than down, down than clear, clear than masked; within a class the ratio decides.
fn weight(rule: RuleId) -> (u8, i64) {
    let rule = rule.rule();
    let class = match rule.class {
        Class::Blocked => 3,
        Class::Down => 2,
        Class::Clear => 1,
        Class::Masked => 0,
    };
    (class, (rule.log10_lr * 100.0) as i64)
}

/// Judges a document of the test.
pub fn judge(document: &Document, fingerprints: &Fingerprints) -> Result<WebVerdict, Rejection> {
    let url = document.url();
    let host = normal_host(host_of(url)).map_err(|error| Rejection::Unusable(error.reason()))?.into_owned();
    let web = WebDocument::read(url, host, &document.test_keys);
    let judge = Judge { web: &web, fingerprints, country: document.country };
    let mut hosts = Vec::new();
    for (index, (host, url)) in chain(&web).into_iter().enumerate() {
        // The URL's host is known to be a domain. A hop to an address has no key and is left out.
        let Ok(target) = TargetKey::from_host(&host) else { continue };
        let (judgement, interference) = Host { judge: &judge, host: &host, url, first: index == 0 }.verdict();
        hosts.push(HostVerdict { target, judgement, interference, host });
    }
    blame_plain_redirects(&web, &mut hosts);
    Ok(WebVerdict { hosts })
}

/// The hosts of the redirect chain, with the first URL of each.
fn chain<'w>(web: &'w WebDocument<'_>) -> Vec<(String, &'w str)> {
    let mut hosts: Vec<(String, &'w str)> = vec![(web.host.clone(), web.url)];
    let mut add = |host: &str, url: &'w str| {
        if !hosts.iter().any(|(known, _)| known == host) {
            hosts.push((host.to_owned(), url));
        }
    };
    for request in &web.requests {
        add(&request.host, request.url);
        if request.is_redirect()
            && let Some(location) = request.location.as_deref()
            && (location.contains("://") || location.starts_with("//"))
            && let Ok(host) = normal_host(host_of(location))
        {
            add(&host, location);
        }
    }
    hosts
}

/// Moves a wrong page at the end of a chain to the host of the first plain HTTP redirect. Whoever answered that request
/// put the page there, so that host is blocked, and the host of the page is not.
fn blame_plain_redirects(web: &WebDocument<'_>, hosts: &mut Vec<HostVerdict>) {
    let page = |rule: RuleId| matches!(rule, RuleId::HttpDiff | RuleId::HttpFingerprint | RuleId::Http451);
    let Some(plain) = web.requests.iter().find(|request| !request.https && request.is_redirect()) else { return };
    let Some(culprit) = hosts.iter().position(|host| host.host == plain.host) else { return };
    let Some(at) = hosts.iter().rposition(|host| page(host.judgement.rule)).filter(|at| *at > culprit) else { return };
    let moved = hosts.remove(at).judgement;
    if let Some(host) = hosts.get_mut(culprit)
        && weight(moved.rule) > weight(host.judgement.rule)
    {
        host.judgement = moved;
    }
}

struct Judge<'w, 'a> {
    web: &'w WebDocument<'a>,
    fingerprints: &'w Fingerprints,
    country: [u8; 2],
}

/// How the addresses from the resolver compare with the control's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressComparison {
    Same,
    /// None is among the control's addresses or networks.
    Foreign,
    /// They cannot be compared.
    Unknown,
}

struct Host<'j, 'w, 'a> {
    judge: &'j Judge<'w, 'a>,
    host: &'j str,
    /// The first URL of this host in the chain.
    url: &'j str,
    /// True for the host of the measured URL, whose endpoints the control tested one by one.
    first: bool,
}

fn rule(rule: RuleId) -> Judgement {
    Judgement { rule, technique: None }
}

fn with(rule: RuleId, technique: Technique) -> Judgement {
    Judgement { rule, technique: Some(technique) }
}

impl<'a> Host<'_, '_, 'a> {
    fn web(&self) -> &WebDocument<'a> {
        self.judge.web
    }

    fn https(&self) -> bool {
        self.url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
    }

    fn verdict(&self) -> (Judgement, Option<&'static str>) {
        let addresses = self.system_addresses();
        if let Some(judgement) = self.name(&addresses) {
            return (judgement, None);
        }
        let answer = self.answer(&addresses);
        let ips: Vec<&str> = addresses.iter().map(|(ip, _)| *ip).collect();
        if !ips.is_empty() && !ips.iter().any(|ip| self.reachable(ip)) {
            // All addresses are IPv6, in a session where no IPv6 worked, so nothing that follows is about the site
            // (decision ipv6-and-probe-faults).
            return (rule(RuleId::LocalFault), None);
        }
        if let Some(judgement) = self.connection(&ips, answer) {
            return (judgement, None);
        }
        if self.https()
            && let Some(judgement) = self.handshake(&ips, answer)
        {
            return (judgement, None);
        }
        let judgement = self.request(&ips, answer);
        let clear = judgement.rule.rule().class == Class::Clear;
        let interference = match answer {
            AddressComparison::Foreign if clear => Some("dns"),
            _ if clear && !self.https() => {
                self.handshake(&ips, answer).filter(|tls| tls.rule.rule().class == Class::Blocked).map(|_| "tls")
            }
            _ => None,
        };
        (judgement, interference)
    }

    /// The addresses that the system's resolver gave for the host.
    fn system_addresses(&self) -> Vec<(&'a str, u32)> {
        let mut out: Vec<(&'a str, u32)> = Vec::new();
        for lookup in self.web().user_lookups(self.host) {
            for address in &lookup.addresses {
                if !out.iter().any(|(known, _)| *known == address.0) {
                    out.push(*address);
                }
            }
        }
        out
    }

    /// Whether the control resolved the name. For later hops the control's page decides (decision controls-from-peers).
    fn name_control(&self) -> Option<bool> {
        let control = &self.web().control;
        if !control.usable {
            return None;
        }
        if self.first { control.dns } else { control.http }
    }

    fn page_control(&self) -> Option<bool> {
        Some(&self.web().control).filter(|control| control.usable).and_then(|control| control.http)
    }

    /// The verdict on name resolution, if this layer decides.
    fn name(&self, addresses: &[(&'a str, u32)]) -> Option<Judgement> {
        if addresses.is_empty() {
            return self.no_address();
        }
        let proven = self.proven(addresses);
        let known = |answer: &str| self.judge.fingerprints.confirms_answer(answer, self.judge.country);
        let aliases = || self.web().user_lookups(self.host).flat_map(|lookup| &lookup.aliases);
        if !proven && (addresses.iter().any(|(ip, _)| known(ip)) || aliases().any(|name| known(name))) {
            return Some(rule(RuleId::DnsFingerprint));
        }
        if proven {
            return None;
        }
        let control = &self.web().control;
        let seen_by_control = self.first && addresses.iter().any(|(ip, _)| control.addresses.contains(ip));
        // Addresses that cannot be reached here do not count if others can.
        let mut usable = addresses.iter().filter(|(ip, _)| self.reachable(ip)).peekable();
        let bogons = match usable.peek() {
            Some(_) => usable.all(|(ip, _)| is_bogon(ip)),
            None => addresses.iter().all(|(ip, _)| is_bogon(ip)),
        };
        if bogons {
            return Some(match self.name_control() {
                _ if seen_by_control => rule(RuleId::DnsBogonBoth),
                Some(true) => rule(RuleId::DnsBogon),
                Some(false) if control.no_such_name => rule(RuleId::DnsInvented),
                _ => with(RuleId::DnsFailureNoControl, Technique::DnsInjectionBogon),
            });
        }
        let invented = self.first && control.usable && control.no_such_name;
        invented.then(|| rule(RuleId::DnsInvented))
    }

    /// The system's resolver gave no address: the lookup failed, or there was none.
    fn no_address(&self) -> Option<Judgement> {
        let mut failure = None;
        let mut any = false;
        for lookup in self.web().user_lookups(self.host) {
            any = true;
            failure = failure.or(lookup.failure);
        }
        if !any {
            return None;
        }
        // Without a failure and without an address, the name has no address.
        let failure = failure.unwrap_or(Failure::NoAnswer);
        if failure == Failure::Local {
            return Some(rule(RuleId::LocalFault));
        }
        let technique = dns_technique(failure);
        Some(by_control(self.name_control(), Rules::DNS, technique))
    }

    /// True if a certificate for the host was valid on one of the addresses.
    fn proven(&self, addresses: &[(&'a str, u32)]) -> bool {
        let ours = |ip: &str| ip.is_empty() || addresses.iter().any(|(known, _)| *known == ip);
        let web = self.web();
        web.handshakes.iter().any(|tls| tls.host == self.host && tls.failure.is_none() && ours(tls.ip))
            || web
                .requests
                .iter()
                .any(|request| request.https && request.host == self.host && request.status > 0 && ours(request.ip))
    }

    /// Compares the addresses with the control's, first by address, then by network.
    fn answer(&self, addresses: &[(&'a str, u32)]) -> AddressComparison {
        let control = &self.web().control;
        if !self.first || !control.usable || control.addresses.is_empty() || addresses.is_empty() {
            return AddressComparison::Unknown;
        }
        if addresses.iter().any(|(ip, _)| control.addresses.contains(ip)) {
            return AddressComparison::Same;
        }
        let theirs: Vec<u32> = control.addresses.iter().map(|ip| control.asn(ip)).collect();
        let ours = addresses.iter().map(|(ip, asn)| if *asn == 0 { control.asn(ip) } else { *asn });
        let ours: Vec<u32> = ours.collect();
        if ours.iter().any(|asn| *asn != 0 && theirs.contains(asn)) {
            AddressComparison::Same
        } else if ours.contains(&0) || theirs.contains(&0) {
            AddressComparison::Unknown
        } else {
            AddressComparison::Foreign
        }
    }

    /// True for an address of a family that works in this session (decision ipv6-and-probe-faults).
    fn reachable(&self, ip: &str) -> bool {
        self.web().ipv6_works || !ip.contains(':')
    }

    /// True for an attempt at an address of the system's resolver, over a family that works in this session.
    fn counts(&self, entry: &Connect<'a>, ips: &[&str]) -> bool {
        let address = if ips.is_empty() { self.first } else { ips.contains(&entry.ip) };
        address && self.reachable(entry.ip)
    }

    /// The verdict on connecting, if this layer decides.
    fn connection(&self, ips: &[&str], answer: AddressComparison) -> Option<Judgement> {
        let port = url_port(self.url);
        let web = self.web();
        let tried: Vec<&Connect<'a>> =
            web.connects.iter().filter(|tcp| tcp.port == port && self.counts(tcp, ips)).collect();
        if tried.is_empty() || tried.iter().any(|tcp| tcp.failure.is_none()) || self.answered_anyhow(ips) {
            return None;
        }
        let real = tried.iter().filter_map(|tcp| tcp.failure.filter(|failure| *failure != Failure::Local));
        let Some(failure) = real.into_iter().next() else {
            return Some(rule(RuleId::LocalFault));
        };
        let technique = tcp_technique(failure);
        if answer == AddressComparison::Foreign {
            return Some(rule(RuleId::DnsForeignDead));
        }
        let each = tried.iter().map(|tcp| self.endpoint_control(tcp, web.control.tcp(tcp.ip, port)));
        let control = any_works(each);
        Some(by_control(control, Rules::TCP, technique))
    }

    /// True if a request was answered: old documents list failed attempts that a later one made up for.
    fn answered_anyhow(&self, ips: &[&str]) -> bool {
        self.own_requests(ips).any(|request| request.status > 0 && request.failure.is_none())
    }

    /// Whether an endpoint works for the control: by its own result for an address that it resolved, else by its page.
    fn endpoint_control(&self, entry: &Connect<'a>, result: Option<bool>) -> Option<bool> {
        let control = &self.web().control;
        if !control.usable {
            return None;
        }
        let own = control.addresses.is_empty() || control.addresses.contains(&entry.ip);
        match result.filter(|_| self.first) {
            Some(true) => Some(true),
            Some(false) if own => Some(false),
            _ => control.http,
        }
    }

    /// The verdict on the handshake, if this layer decides.
    fn handshake(&self, ips: &[&str], answer: AddressComparison) -> Option<Judgement> {
        let web = self.web();
        let mine = |tls: &&Connect<'a>| tls.host == self.host && (tls.ip.is_empty() || self.counts(tls, ips));
        let tried: Vec<&Connect<'a>> = web.handshakes.iter().filter(mine).collect();
        if tried.is_empty() || tried.iter().any(|tls| tls.failure.is_none()) {
            return None;
        }
        let first = tried.iter().find_map(|tls| tls.failure.filter(|failure| *failure != Failure::Local));
        let Some(failure) = first else {
            return Some(rule(RuleId::LocalFault));
        };
        if answer == AddressComparison::Foreign && failure == Failure::Certificate {
            return Some(rule(RuleId::TlsForeignCertificate));
        }
        let each = tried.iter().map(|tls| self.endpoint_control(tls, web.control.tls(tls.ip, tls.port)));
        let control = any_works(each);
        if answer == AddressComparison::Foreign && control != Some(true) {
            return Some(rule(RuleId::DnsForeignDead));
        }
        Some(tls_judgement(failure, control))
    }

    fn own_requests(&self, ips: &[&str]) -> impl Iterator<Item = &Request<'a>> {
        let ours = move |request: &&Request<'a>| {
            request.host == self.host
                && self.reachable(request.ip)
                && (request.ip.is_empty() || ips.is_empty() || ips.contains(&request.ip))
        };
        self.web().requests.iter().filter(ours)
    }

    /// The verdict on the HTTP requests.
    fn request(&self, ips: &[&str], answer: AddressComparison) -> Judgement {
        let requests: Vec<&Request<'a>> = self.own_requests(ips).collect();
        let fine = |request: &&&Request<'a>| request.failure.is_none() && request.status > 0;
        if let Some(page) = requests.iter().rev().filter(fine).find(|request| !request.is_redirect()) {
            return if page.https { rule(RuleId::TlsValid) } else { self.page(page, answer) };
        }
        if let Some((failure, request)) =
            requests.iter().rev().find_map(|request| request.failure.map(|failure| (failure, request)))
        {
            return self.failed_request(failure, request.status);
        }
        if let Some(redirect) = requests.iter().rev().find(fine) {
            return self.redirect(redirect);
        }
        let addresses: Vec<(&str, u32)> = self.system_addresses();
        match self.web().http_failure {
            Some(failure) if self.first && self.web().requests.is_empty() && !addresses.is_empty() => {
                self.failed_request(failure, 0)
            }
            _ if self.https() && self.proven(&addresses) => rule(RuleId::TlsValid),
            _ if answer == AddressComparison::Foreign => rule(RuleId::DnsUnmatched),
            _ if self.web().connects.iter().any(|tcp| ips.contains(&tcp.ip) && tcp.failure.is_none()) => {
                rule(RuleId::TcpOk)
            }
            _ => rule(RuleId::NoEvidence),
        }
    }

    fn failed_request(&self, failure: Failure, status: u64) -> Judgement {
        let control = self.page_control();
        match failure {
            Failure::SiteFault if control == Some(false) => rule(RuleId::HttpBothFail),
            Failure::SiteFault => rule(RuleId::HttpSiteFault),
            Failure::Local => rule(RuleId::LocalFault),
            Failure::Nxdomain | Failure::NoAnswer | Failure::DnsServer | Failure::DnsBogon => {
                by_control(self.name_control(), Rules::DNS, dns_technique(failure))
            }
            Failure::Certificate | Failure::Handshake => tls_judgement(failure, control),
            Failure::Timeout if status > 0 && control == Some(true) => rule(RuleId::HttpThrottled),
            _ => by_control(control, Rules::HTTP, http_technique(failure)),
        }
    }

    /// The verdict on a host that only redirected. Over TLS it was the site; over plain HTTP, the end of the chain must
    /// be the control's page.
    fn redirect(&self, redirect: &Request<'a>) -> Judgement {
        if redirect.https {
            return rule(RuleId::TlsValid);
        }
        let found = self.judge.fingerprints.page("", &|name| redirect.header(name), self.judge.country);
        let to = redirect.location.as_deref().unwrap_or_default();
        let guarded = redirect.guarded(to);
        if found.confirms(guarded, false) {
            return with(RuleId::HttpFingerprint, Technique::HttpRedirect);
        }
        let control = self.page_control() == Some(true);
        let compared = self.web().comparison;
        let target = host_of(to);
        if target.is_empty() || same_site(&target.to_ascii_lowercase(), self.host) {
            let same = control && self.same_page(false);
            return rule(if same { RuleId::HttpSame } else { RuleId::HttpAnswered });
        }
        // The redirect leads to another site. If the control did not get that page, somebody sent the user away.
        match [compared.length, compared.title] {
            _ if !control => rule(RuleId::HttpAnswered),
            pair if pair.contains(&Some(true)) => rule(RuleId::HttpSame),
            _ if guarded.said => rule(RuleId::HttpChallenge),
            [Some(false), Some(false)] => with(RuleId::HttpDiff, Technique::HttpRedirect),
            _ => rule(RuleId::HttpAnswered),
        }
    }

    /// The client's comparisons of a page: length, title, headers. If a plain redirect led to a host of another site,
    /// its headers prove nothing, because block pages on servers of their own share the common headers.
    fn compared(&self, truncated: bool) -> [Option<bool>; 3] {
        let compared = self.web().comparison;
        let headers = compared.headers.filter(|_| self.first || same_site(self.host, &self.web().host));
        [compared.length.filter(|_| !truncated), compared.title, headers]
    }

    /// True if the page is the control's by length, title or headers.
    fn same_page(&self, truncated: bool) -> bool {
        self.web().comparison.status != Some(false) && self.compared(truncated).contains(&Some(true))
    }

    /// True if the page is surely the control's: more comparisons agree than differ. Then words in it prove nothing.
    fn own_page(&self, truncated: bool) -> bool {
        let count = |wanted| self.compared(truncated).into_iter().filter(|one| *one == Some(wanted)).count();
        self.web().comparison.status != Some(false) && count(true) > count(false)
    }

    /// The verdict on a page over plain HTTP.
    fn page(&self, page: &Request<'a>, answer: AddressComparison) -> Judgement {
        let body = page.body();
        let found = self.judge.fingerprints.page(&body, &|name| page.header(name), self.judge.country);
        let guarded = page.guarded(&body);
        let control = &self.web().control;
        let controlled = self.page_control() == Some(true);
        if found.confirms(guarded, controlled && self.own_page(page.truncated)) {
            return rule(RuleId::HttpFingerprint);
        }
        if !controlled {
            return rule(RuleId::HttpAnswered);
        }
        let compared = self.web().comparison;
        let status = compared.status.or(Some(page.status == control.status));
        let unavailable = page.status == 451 && control.status != 451;
        if !unavailable && self.same_page(page.truncated) {
            return rule(RuleId::HttpSame);
        }
        if found.false_positive
            || page.is_challenge(guarded, compared.headers)
            || guarded.delivered && found.confirmed.is_some()
        {
            return rule(RuleId::HttpChallenge);
        }
        if unavailable {
            return rule(RuleId::Http451);
        }
        let [length, title, headers] = self.compared(page.truncated);
        let differing = [status, length, title, headers].into_iter().filter(|one| *one == Some(false)).count();
        match (differing, answer) {
            (0, AddressComparison::Foreign) => rule(RuleId::DnsUnmatched),
            (0, _) => rule(RuleId::HttpAnswered),
            // One comparison differs and none agrees, so too little is known.
            (1, _) => rule(RuleId::HttpDiffUnchecked),
            _ => rule(RuleId::HttpDiff),
        }
    }
}

/// True if two hosts share a label of more than three letters, like the same name under another domain.
fn same_site(a: &str, b: &str) -> bool {
    a.split('.').any(|label| label.len() > 3 && b.split('.').any(|other| other == label))
}

/// Whether one of several endpoints works for the control; `None` if the control tested none of them.
fn any_works(results: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    results.flatten().reduce(|a, b| a || b)
}

fn tls_judgement(failure: Failure, control: Option<bool>) -> Judgement {
    let (works, technique) = match failure {
        Failure::Certificate => (RuleId::TlsCertificate, Technique::TlsMitm),
        Failure::Reset => (RuleId::TlsReset, Technique::TlsReset),
        Failure::Timeout => (RuleId::TlsOther, Technique::TlsTimeout),
        Failure::Eof => (RuleId::TlsOther, Technique::TlsEof),
        _ => (RuleId::TlsOther, Technique::Tls),
    };
    by_control(control, Rules::tls(works), technique)
}

fn dns_technique(failure: Failure) -> Technique {
    match failure {
        Failure::Nxdomain => Technique::DnsNxdomain,
        Failure::NoAnswer => Technique::DnsNoAnswer,
        Failure::DnsServer | Failure::Refused => Technique::DnsRefused,
        Failure::Timeout => Technique::DnsTimeout,
        Failure::DnsBogon => Technique::DnsInjectionBogon,
        _ => Technique::Dns,
    }
}

fn tcp_technique(failure: Failure) -> Technique {
    match failure {
        Failure::Timeout => Technique::TcpTimeout,
        Failure::Reset => Technique::TcpReset,
        Failure::Refused => Technique::TcpRefused,
        _ => Technique::Tcp,
    }
}

fn http_technique(failure: Failure) -> Technique {
    match failure {
        Failure::Timeout => Technique::HttpTimeout,
        Failure::Reset => Technique::HttpReset,
        Failure::Eof => Technique::HttpEof,
        _ => Technique::Http,
    }
}
