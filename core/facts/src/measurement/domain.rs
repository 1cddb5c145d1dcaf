//! Target keys: the normal form of a domain, a URL or a service name (decision keys-and-roles).
//!
//! A domain key is the host in lower case and in A-label form, without a trailing dot and without one leading `www.`.
//! There is no fallback to a parent domain. A service has several roles, each with its own key: `service/role` for a
//! role without a host name (`telegram/pool`), and the plain domain for any other (`web.telegram.org`).

use std::borrow::Cow;
use std::fmt;

/// Longest accepted host, in bytes of its A-label form (RFC 1035 2.3.4 without the root label).
pub const MAX_HOST: usize = 253;
const MAX_LABEL: usize = 63;

/// The key of one measured series: a domain (`example.org`) or a service role (`telegram/pool`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetKey(String);

/// The reason why a text names no target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DomainError {
    Empty,
    /// An IP address is not a domain.
    IpLiteral,
    /// One label only, such as `localhost`.
    SingleLabel,
    TooLong,
    /// A character or label that no host name can have.
    Invalid,
}

impl DomainError {
    /// Stable reason for import counts.
    pub const fn reason(self) -> &'static str {
        match self {
            DomainError::Empty => "no_target",
            DomainError::IpLiteral => "ip_literal",
            DomainError::SingleLabel => "single_label",
            DomainError::TooLong => "host_too_long",
            DomainError::Invalid => "invalid_host",
        }
    }
}

impl fmt::Display for DomainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DomainError::Empty => "no domain given",
            DomainError::IpLiteral => "an IP address is not a domain",
            DomainError::SingleLabel => "a domain has at least two labels, such as example.org",
            DomainError::TooLong => "a domain has at most 253 characters, and each label at most 63",
            DomainError::Invalid => "not a domain name",
        })
    }
}

impl std::error::Error for DomainError {}

impl TargetKey {
    /// Key of a bare host name.
    pub fn from_host(host: &str) -> Result<TargetKey, DomainError> {
        normal_host(host).map(|host| TargetKey(strip_www(&host).to_owned()))
    }

    /// Key of a URL or of a bare host, with or without scheme, port, path and user part.
    pub fn from_url(url: &str) -> Result<TargetKey, DomainError> {
        TargetKey::from_host(host_of(url))
    }

    /// Key of a service role.
    pub fn service(service: Service, role: &str) -> TargetKey {
        TargetKey(format!("{}/{role}", service.name()))
    }

    /// Takes a key that this type has written before (storage).
    pub fn from_stored(key: impl Into<String>) -> TargetKey {
        TargetKey(key.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The role after the slash; `None` for a domain.
    pub fn role(&self) -> Option<&str> {
        self.0.split_once('/').map(|(_, role)| role)
    }
}

impl fmt::Display for TargetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A service that has tests of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    FacebookMessenger,
    Openvpn,
    Psiphon,
    Riseupvpn,
    Signal,
    Telegram,
    Tor,
    Whatsapp,
}

impl Service {
    pub const ALL: &'static [Service] = &[
        Service::FacebookMessenger,
        Service::Openvpn,
        Service::Psiphon,
        Service::Riseupvpn,
        Service::Signal,
        Service::Telegram,
        Service::Tor,
        Service::Whatsapp,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Service::FacebookMessenger => "facebook_messenger",
            Service::Openvpn => "openvpn",
            Service::Psiphon => "psiphon",
            Service::Riseupvpn => "riseupvpn",
            Service::Signal => "signal",
            Service::Telegram => "telegram",
            Service::Tor => "tor",
            Service::Whatsapp => "whatsapp",
        }
    }

    /// By name, in upper or lower case. `messenger` and `facebook-messenger` also mean Facebook Messenger.
    pub fn from_name(name: &str) -> Option<Service> {
        let name = name.trim().to_ascii_lowercase().replace('-', "_");
        match name.as_str() {
            "messenger" => Some(Service::FacebookMessenger),
            _ => Service::ALL.iter().copied().find(|service| service.name() == name),
        }
    }

    /// Verdicts on messaging services age faster (decision age-limit).
    pub const fn is_messaging(self) -> bool {
        matches!(self, Service::FacebookMessenger | Service::Signal | Service::Telegram | Service::Whatsapp)
    }

    /// The roles without a host name that tests of the service report, as written after the slash; the main role comes
    /// first. The platform table of [`crate::starter`] says which roles and hosts make up a platform, and which
    /// of them decide.
    pub const fn endpoint_roles(self) -> &'static [&'static str] {
        match self {
            Service::FacebookMessenger => &["endpoints"],
            // One role for each provider whose endpoints the test has. All other providers share the first role.
            Service::Openvpn => &["endpoints", "riseup", "oonivpn"],
            Service::Psiphon => &["bootstrap"],
            Service::Riseupvpn => &["gateways", "api"],
            Service::Signal => &["backend"],
            Service::Telegram => &["pool"],
            Service::Tor => &["bootstrap", "or_port", "directory", "obfs4", "snowflake"],
            Service::Whatsapp => &["pool", "registration"],
        }
    }

    /// The key of a source without roles, which gives one score for the whole test.
    pub fn main_key(self) -> TargetKey {
        TargetKey::service(self, self.endpoint_roles().first().copied().unwrap_or("bootstrap"))
    }
}

/// The target that a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Domain(TargetKey),
    Service(Service),
}

impl Target {
    /// Reads a domain, a URL, a service name or a service role (`telegram/pool`).
    pub fn parse(text: &str) -> Result<Target, DomainError> {
        let text = text.trim();
        if let Some(service) = Service::from_name(text) {
            return Ok(Target::Service(service));
        }
        if let Some((name, role)) = text.split_once('/')
            && let Some(service) = Service::from_name(name)
            && let Some(role) = service.endpoint_roles().iter().find(|known| known.eq_ignore_ascii_case(role))
        {
            return Ok(Target::Domain(TargetKey::service(service, role)));
        }
        TargetKey::from_url(text).map(Target::Domain)
    }
}

/// The host part of a URL, or the text itself if it is a host. Borrowed, not normalised; IPv6 keeps its brackets.
pub fn host_of(url: &str) -> &str {
    let url = url.trim();
    let rest = match url.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => rest,
        _ => url.strip_prefix("//").unwrap_or(url),
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or("");
    let host_port = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host_port.starts_with('[') {
        return host_port.split_inclusive(']').next().unwrap_or(host_port);
    }
    match host_port.split_once(':') {
        // Several colons without brackets are an IPv6 address, which the caller refuses.
        Some((_, port)) if port.contains(':') => host_port,
        Some((host, _)) => host,
        None => host_port,
    }
}

/// The port of a URL: the explicit one, else that of the scheme; `None` if the URL has neither.
pub fn port_of(url: &str) -> Option<u16> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or("");
    let host_port = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let after_host = match host_port.strip_prefix('[') {
        Some(v6) => v6.split_once(']').map_or("", |(_, rest)| rest),
        None => host_port.find(':').map_or("", |at| host_port.get(at..).unwrap_or("")),
    };
    match after_host.strip_prefix(':') {
        Some(port) if !port.is_empty() => port.parse().ok(),
        _ if scheme.eq_ignore_ascii_case("https") => Some(443),
        _ if scheme.eq_ignore_ascii_case("http") => Some(80),
        _ => None,
    }
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

/// True for an IPv4 or IPv6 address, with or without brackets.
pub fn is_ip_literal(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.parse::<std::net::IpAddr>().is_ok()
}

fn strip_www(host: &str) -> &str {
    match host.strip_prefix("www.") {
        Some(rest) if rest.contains('.') => rest,
        _ => host,
    }
}

/// Lower-case A-label form without a trailing dot; `www.` stays.
pub fn normal_host(host: &str) -> Result<Cow<'_, str>, DomainError> {
    let host = host.trim();
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.is_empty() {
        return Err(DomainError::Empty);
    }
    // This check comes before IDNA, whose cost grows with the input. An A-label form is at least a quarter of its UTF-8
    // in length.
    if host.len() > 4 * MAX_HOST {
        return Err(DomainError::TooLong);
    }
    if is_ip_literal(host) {
        return Err(DomainError::IpLiteral);
    }
    let plain = host.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'_'));
    let ascii = if plain && !host.contains("xn--") {
        Cow::Borrowed(host)
    } else {
        let mapped = idna::domain_to_ascii(host).map_err(|_| DomainError::Invalid)?;
        Cow::Owned(mapped.strip_suffix('.').map_or(mapped.clone(), str::to_owned))
    };
    check_labels(&ascii)?;
    Ok(ascii)
}

fn check_labels(host: &str) -> Result<(), DomainError> {
    if host.len() > MAX_HOST {
        return Err(DomainError::TooLong);
    }
    let mut labels = 0;
    let mut last = "";
    for label in host.split('.') {
        labels += 1;
        last = label;
        if label.len() > MAX_LABEL {
            return Err(DomainError::TooLong);
        }
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
        let edge = label.starts_with('-') || label.ends_with('-');
        if label.is_empty() || edge || !label.bytes().all(allowed) {
            return Err(DomainError::Invalid);
        }
    }
    // `1.2.3.256` and `0x7f.1` are wrong addresses, not names: no top-level domain is numeric.
    if last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x") {
        return Err(if labels == 4 { DomainError::IpLiteral } else { DomainError::Invalid });
    }
    if labels < 2 {
        return Err(DomainError::SingleLabel);
    }
    Ok(())
}
