//! The facts of one network attempt, in a form that observation rows and raw documents share.

use super::failure::Failure;
use super::outcome::{EndpointSet, flag, hashed_bit};
use engine::bogon::is_bogon;

/// Result of one step: not tried, worked, failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Step {
    #[default]
    NotTried,
    Ok,
    Failed(Failure),
}

impl Step {
    /// Reads a success flag and a failure text. The text decides; without either the step was not tried (decision
    /// ipv6-and-probe-faults).
    pub fn from_columns(success: bool, failure: &str) -> Step {
        match (Failure::parse(failure), success) {
            (Some(failure), _) => Step::Failed(failure),
            (None, true) => Step::Ok,
            (None, false) => Step::NotTried,
        }
    }
}

/// One attempt to reach one endpoint, as far as the source describes it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attempt<'a> {
    /// Empty when the step had no address (a request by name).
    pub ip: &'a str,
    pub port: u16,
    /// The name that TLS asked for, where one address may serve several endpoints of a pool; empty elsewhere.
    pub name: &'a str,
    /// Distinguishes requests without an address from each other.
    pub url: &'a str,
    pub dns: Step,
    /// The address in the answer; empty when there is none.
    pub dns_answer: &'a str,
    /// The answer is the address of a block page known for this country.
    pub dns_fingerprint: bool,
    pub tcp: Step,
    pub tls: Step,
    pub http: Step,
    /// The endpoint's own bit, for pools with a fixed list of endpoints.
    pub bit: Option<u16>,
}

impl Attempt<'_> {
    /// The facts of this attempt.
    pub fn facts(&self) -> EndpointSet {
        let mut set = EndpointSet::default();
        self.dns_facts(&mut set);
        if self.ip.contains(':') {
            self.v6_facts(&mut set);
        } else {
            self.connect_facts(&mut set);
        }
        self.http_facts(&mut set);
        set
    }

    fn bit_of(&self, name: &str) -> u16 {
        let name = if self.tls == Step::NotTried || self.name.is_empty() { name } else { self.name };
        self.bit.unwrap_or_else(|| hashed_bit(name.as_bytes(), self.port))
    }

    fn dns_facts(&self, set: &mut EndpointSet) {
        match self.dns {
            Step::NotTried => {}
            Step::Ok => set.flags |= flag::DNS_OK,
            Step::Failed(failure) => {
                set.flags |= match failure {
                    Failure::Nxdomain => flag::DNS_NXDOMAIN,
                    Failure::NoAnswer => flag::DNS_NO_ANSWER,
                    Failure::DnsServer | Failure::Refused => flag::DNS_REFUSED,
                    Failure::Timeout => flag::DNS_TIMEOUT,
                    Failure::DnsBogon => flag::DNS_BOGON,
                    Failure::Local => flag::LOCAL_FAULT,
                    _ => flag::DNS_OTHER,
                }
            }
        }
        if !self.dns_answer.is_empty() && is_bogon(self.dns_answer) {
            set.flags |= flag::DNS_BOGON;
        }
        if self.dns_fingerprint {
            set.flags |= flag::DNS_FINGERPRINT;
        }
    }

    fn connect_facts(&self, set: &mut EndpointSet) {
        let mut ok = self.tcp == Step::Ok;
        let mut failed = false;
        if let Step::Failed(failure) = self.tcp {
            match failure {
                Failure::Local => set.flags |= flag::LOCAL_FAULT,
                _ => failed = true,
            }
            set.flags |= match failure {
                Failure::Timeout => flag::TCP_TIMEOUT,
                Failure::Reset => flag::TCP_RESET,
                Failure::Refused => flag::TCP_REFUSED,
                Failure::Local => 0,
                _ => flag::TCP_OTHER,
            };
        }
        match self.tls {
            Step::NotTried => {}
            Step::Ok => {
                set.flags |= flag::TLS_OK;
                ok = true;
            }
            // A fault of the probe ended the handshake, so the connection before it shows nothing.
            Step::Failed(Failure::Local) => {
                ok = false;
                set.flags |= flag::LOCAL_FAULT;
            }
            Step::Failed(failure) => {
                failed = true;
                ok = false;
                set.flags |= tls_flag(failure);
            }
        }
        if ok || failed {
            let bit = self.bit_of(self.ip);
            set.connect_ok |= if ok { bit } else { 0 };
            set.connect_failed |= if failed { bit } else { 0 };
        }
    }

    fn v6_facts(&self, set: &mut EndpointSet) {
        match self.tcp {
            Step::NotTried => {}
            Step::Ok => set.flags |= flag::V6_OK,
            Step::Failed(_) => set.flags |= flag::V6_TCP_FAILED,
        }
        match self.tls {
            Step::NotTried => {}
            Step::Ok => set.flags |= flag::V6_OK | flag::TLS_OK,
            Step::Failed(Failure::Local) => set.flags |= flag::LOCAL_FAULT,
            Step::Failed(failure) => set.flags |= flag::V6_TLS_FAILED | tls_flag(failure),
        }
    }

    fn http_facts(&self, set: &mut EndpointSet) {
        let bit = match (self.http, self.bit, self.url) {
            (Step::NotTried, ..) => return,
            (_, Some(bit), _) => bit,
            (_, None, "") => self.bit_of(self.ip),
            (_, None, url) => hashed_bit(url.as_bytes(), 0),
        };
        match self.http {
            Step::NotTried => {}
            Step::Ok => set.http_ok |= bit,
            Step::Failed(Failure::Local | Failure::SiteFault) => set.flags |= flag::LOCAL_FAULT,
            Step::Failed(failure) => {
                set.http_failed |= bit;
                set.flags |= match failure {
                    Failure::Timeout => flag::HTTP_TIMEOUT,
                    Failure::Reset => flag::HTTP_RESET,
                    Failure::Eof => flag::HTTP_EOF,
                    // The attempt failed before the HTTP request.
                    Failure::Certificate | Failure::Handshake => tls_flag(failure),
                    _ => flag::HTTP_OTHER,
                };
            }
        }
    }
}

fn tls_flag(failure: Failure) -> u32 {
    match failure {
        Failure::Timeout => flag::TLS_TIMEOUT,
        Failure::Reset => flag::TLS_RESET,
        Failure::Eof => flag::TLS_EOF,
        Failure::Certificate => flag::TLS_CERTIFICATE,
        _ => flag::TLS_OTHER,
    }
}

/// The data centres that Telegram's clients and its test connect to (core.telegram.org, "Data centres"; ports 80, 443).
const TELEGRAM_POOL: [&str; 6] =
    ["149.154.175.50", "149.154.167.51", "149.154.175.100", "149.154.167.91", "149.154.171.5", "95.161.76.100"];

/// The fixed endpoint bit of a Telegram data centre address: two bits for each address, the lower one for port 80.
pub fn telegram_bit(ip: &str, port: u16) -> Option<u16> {
    let index = TELEGRAM_POOL.iter().position(|known| *known == ip)?;
    match port {
        80 => Some(1 << (2 * index)),
        443 => Some(1 << (2 * index + 1)),
        _ => None,
    }
}
