//! The `test_keys` of web_connectivity as plain lists, in the same form for all versions that wrote them.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use super::domain::{host_of, normal_host, port_of};
use super::failure::Failure;
use super::guards::{self, Guarded};
use super::page;

/// The resolver that was asked for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolver {
    /// The resolver that users of the network ask.
    System,
    /// A public resolver over plain UDP or TCP, asked in addition to the system's.
    Public,
    /// A public resolver over an encrypted channel. It shows the site's addresses, not those that users get.
    Encrypted,
}

/// One name lookup.
pub struct Lookup<'a> {
    pub host: String,
    pub resolver: Resolver,
    pub failure: Option<Failure>,
    /// Address and AS number (0 if the document has none).
    pub addresses: Vec<(&'a str, u32)>,
    /// The names that the answer points to (CNAME).
    pub aliases: Vec<&'a str>,
}

/// One TCP connection or TLS handshake.
pub struct Connect<'a> {
    /// Empty in old documents.
    pub ip: &'a str,
    /// 0 in old documents.
    pub port: u16,
    /// Server name of a handshake, in normal form.
    pub host: String,
    pub failure: Option<Failure>,
}

/// One HTTP request with its response.
pub struct Request<'a> {
    pub url: &'a str,
    pub host: String,
    pub https: bool,
    /// Address of the server; empty in old documents.
    pub ip: &'a str,
    pub failure: Option<Failure>,
    /// 0 without a response.
    pub status: u64,
    pub truncated: bool,
    pub location: Option<Cow<'a, str>>,
    headers: Vec<(&'a str, Cow<'a, str>)>,
    response: &'a Value,
}

impl<'a> Request<'a> {
    /// True for a redirect with a location.
    pub fn is_redirect(&self) -> bool {
        (300..400).contains(&self.status) && self.location.is_some()
    }

    /// The page, decoded; empty if the document did not keep it.
    pub fn body(&self) -> Cow<'a, str> {
        let body = self.response.get("body").unwrap_or(&Value::Null);
        page::text(body, self.header("content-type")).unwrap_or_default()
    }

    /// A response header, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// Signs of a protection in the answer. `text` is its page, or the location it points to.
    pub fn guarded(&self, text: &str) -> Guarded {
        guards::look(&|name| self.header(name), text)
    }

    /// True if the page comes from the site's own protection or server in place of the site. Such a page says so; or it
    /// is a 4xx error with the headers of the site or from a content network; or the server is overloaded (5xx) or
    /// limits requests (429). Blocks of a network have none of these signs.
    pub fn is_challenge(&self, guarded: Guarded, headers_match: Option<bool>) -> bool {
        guarded.said
            || self.status >= 500
            || self.status == 429
            || (self.status >= 400 && (headers_match == Some(true) || guarded.delivered))
    }
}

/// The view of the test helper, which is the control.
#[derive(Default)]
pub struct Control<'a> {
    /// The helper answered.
    pub usable: bool,
    /// Whether the helper resolved the name; `None` if it did not say.
    pub dns: Option<bool>,
    /// The helper said that the name does not exist or has no address. It did not just fail or stay silent.
    pub no_such_name: bool,
    pub addresses: Vec<&'a str>,
    tcp: HashMap<&'a str, bool>,
    tls: HashMap<&'a str, bool>,
    /// Whether the helper got the page; `None` if it did not say.
    pub http: Option<bool>,
    pub status: u64,
    asns: HashMap<&'a str, u32>,
}

impl<'a> Control<'a> {
    fn read(keys: &'a Value) -> Control<'a> {
        let control = match keys.get("control") {
            Some(control @ Value::Object(map)) if !map.is_empty() => control,
            _ => return Control::default(),
        };
        if failure_at(keys, "control_failure").is_some() {
            return Control::default();
        }
        let mut out = Control { usable: true, ..Control::default() };
        if let Some(dns) = control.get("dns").filter(|dns| dns.is_object()) {
            let all = array(dns, "addrs").filter_map(Value::as_str);
            out.addresses = all.filter(|text| text.parse::<std::net::IpAddr>().is_ok()).collect();
            let failure = failure_at(dns, "failure");
            out.dns = Some(failure.is_none() && !out.addresses.is_empty());
            // No addresses and no failure prove nothing, because helpers have lost addresses on the way.
            out.no_such_name =
                out.addresses.is_empty() && matches!(failure, Some(Failure::Nxdomain | Failure::NoAnswer));
        }
        out.tcp = endpoint_results(control.get("tcp_connect"));
        out.tls = endpoint_results(control.get("tls_handshake"));
        if let Some(http) = control.get("http_request").filter(|http| http.is_object()) {
            out.status = http.get("status_code").and_then(Value::as_u64).unwrap_or(0);
            out.http = Some(failure_at(http, "failure").is_none() && out.status > 0);
        }
        // A helper that got the page has resolved the name, even if its addresses are missing.
        if out.http == Some(true) && out.dns == Some(false) && !out.no_such_name {
            out.dns = None;
        }
        if let Some(info) = control.get("ip_info").and_then(Value::as_object) {
            let asn = |value: &Value| value.get("asn").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
            out.asns = info.iter().map(|(ip, value)| (ip.as_str(), asn(value).unwrap_or(0))).collect();
        }
        out
    }

    /// Whether the helper connected to the endpoint; `None` if it did not try.
    pub fn tcp(&self, ip: &str, port: u16) -> Option<bool> {
        self.tcp.get(endpoint(ip, port).as_str()).copied()
    }

    /// Whether the helper's handshake with the endpoint worked; `None` if it did not try.
    pub fn tls(&self, ip: &str, port: u16) -> Option<bool> {
        self.tls.get(endpoint(ip, port).as_str()).copied()
    }

    /// AS number of an address that the helper looked up; 0 if unknown.
    pub fn asn(&self, ip: &str) -> u32 {
        self.asns.get(ip).copied().unwrap_or(0)
    }
}

fn endpoint(ip: &str, port: u16) -> String {
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}

fn endpoint_results(map: Option<&Value>) -> HashMap<&str, bool> {
    let entries = map.and_then(Value::as_object).into_iter().flatten();
    let works = |value: &Value| {
        failure_at(value, "failure").is_none() && value.get("status").and_then(Value::as_bool) != Some(false)
    };
    entries.map(|(name, value)| (name.as_str(), works(value))).collect()
}

/// The client's own comparison of its page with the control's.
#[derive(Debug, Clone, Copy, Default)]
pub struct Comparison {
    pub status: Option<bool>,
    pub headers: Option<bool>,
    pub title: Option<bool>,
    pub length: Option<bool>,
}

/// One whole measurement.
pub struct WebDocument<'a> {
    pub url: &'a str,
    /// Host of the URL, in normal form but with `www.`.
    pub host: String,
    pub lookups: Vec<Lookup<'a>>,
    pub connects: Vec<Connect<'a>>,
    pub handshakes: Vec<Connect<'a>>,
    /// Oldest first.
    pub requests: Vec<Request<'a>>,
    pub control: Control<'a>,
    pub comparison: Comparison,
    /// The client's result of the whole HTTP step.
    pub http_failure: Option<Failure>,
    /// One connection over IPv6 worked (decision ipv6-and-probe-faults).
    pub ipv6_works: bool,
}

impl<'a> WebDocument<'a> {
    /// Reads `test_keys`; `host` is the normal form of the URL's host.
    pub fn read(url: &'a str, host: String, keys: &'a Value) -> WebDocument<'a> {
        let connects: Vec<Connect<'a>> = array(keys, "tcp_connect").map(tcp_connect).collect();
        let mut requests: Vec<Request<'a>> = array(keys, "requests").filter_map(request).collect();
        requests.reverse();
        let flag = |name: &str| keys.get(name).and_then(Value::as_bool);
        WebDocument {
            url,
            host,
            lookups: array(keys, "queries").filter_map(lookup).collect(),
            ipv6_works: connects.iter().any(|connect| connect.ip.contains(':') && connect.failure.is_none()),
            connects,
            handshakes: array(keys, "tls_handshakes").filter_map(handshake).collect(),
            requests,
            control: Control::read(keys),
            comparison: Comparison {
                status: flag("status_code_match"),
                headers: flag("headers_match"),
                title: flag("title_match"),
                length: flag("body_length_match"),
            },
            http_failure: failure_at(keys, "http_experiment_failure"),
        }
    }

    /// The answers that users get for a host: lookups of the system's resolver, else of a public one over plain UDP or
    /// TCP.
    pub fn user_lookups(&self, host: &str) -> impl Iterator<Item = &Lookup<'a>> {
        let of = |resolver| move |lookup: &&Lookup<'a>| lookup.resolver == resolver && lookup.host == host;
        let resolver =
            if self.lookups.iter().any(|l| of(Resolver::System)(&l)) { Resolver::System } else { Resolver::Public };
        self.lookups.iter().filter(of(resolver))
    }
}

/// The elements of an array member; none if it is null, absent or not an array.
pub fn array<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// A failure member: a string, or `true` in old documents. Null, false and absent mean no failure.
pub fn failure_at(value: &Value, name: &str) -> Option<Failure> {
    match value.get(name) {
        Some(Value::String(text)) => Failure::parse(text),
        Some(Value::Bool(true)) => Some(Failure::Other),
        _ => None,
    }
}

/// A string member; empty if it is anything else.
pub fn text_at<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}

/// A port as number or text.
pub fn port_at(value: &Value) -> u16 {
    let port = value.get("port");
    let number =
        port.and_then(Value::as_u64).or_else(|| port.and_then(Value::as_str).and_then(|text| text.parse().ok()));
    number.and_then(|port| u16::try_from(port).ok()).unwrap_or(0)
}

fn lookup(query: &Value) -> Option<Lookup<'_>> {
    let host = normal_host(text_at(query, "hostname")).ok()?.into_owned();
    if !matches!(text_at(query, "query_type"), "A" | "AAAA" | "ANY" | "") {
        return None;
    }
    let address = |answer| -> Option<(&str, u32)> {
        let ip = ["ipv4", "ipv6"].into_iter().map(|name| text_at(answer, name)).find(|ip| !ip.is_empty())?;
        let asn = answer.get("asn").and_then(Value::as_u64).and_then(|asn| u32::try_from(asn).ok());
        Some((ip, asn.unwrap_or(0)))
    };
    Some(Lookup {
        host,
        resolver: match text_at(query, "engine") {
            "doh" | "dot" | "doh3" => Resolver::Encrypted,
            "udp" | "tcp" => Resolver::Public,
            _ => Resolver::System,
        },
        failure: failure_at(query, "failure"),
        addresses: array(query, "answers").filter_map(address).collect(),
        aliases: array(query, "answers").map(|answer| text_at(answer, "hostname")).filter(|n| !n.is_empty()).collect(),
    })
}

fn tcp_connect(entry: &Value) -> Connect<'_> {
    let status = entry.get("status").unwrap_or(&Value::Null);
    let failure = match failure_at(status, "failure") {
        None if status.get("success").and_then(Value::as_bool) == Some(false) => Some(Failure::Other),
        failure => failure,
    };
    Connect { ip: text_at(entry, "ip"), port: port_at(entry), host: String::new(), failure }
}

fn handshake(entry: &Value) -> Option<Connect<'_>> {
    // A handshake that does not verify the certificate proves nothing.
    if entry.get("no_tls_verify").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let (ip, port) = split_endpoint(text_at(entry, "address"));
    let host = normal_host(text_at(entry, "server_name")).map(|host| host.into_owned()).unwrap_or_default();
    Some(Connect { ip, port, host, failure: failure_at(entry, "failure") })
}

/// `ip:port` with or without brackets.
fn split_endpoint(text: &str) -> (&str, u16) {
    let (ip, port) = text.rsplit_once(':').unwrap_or((text, ""));
    (ip.trim_start_matches('[').trim_end_matches(']'), port.parse().unwrap_or(0))
}

fn request(entry: &Value) -> Option<Request<'_>> {
    let url = text_at(entry.get("request")?, "url");
    let response = entry.get("response").unwrap_or(&Value::Null);
    let headers = page::headers(response);
    let location = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"));
    Some(Request {
        url,
        host: normal_host(host_of(url)).ok()?.into_owned(),
        https: url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://")),
        ip: split_endpoint(text_at(entry, "address")).0,
        failure: failure_at(entry, "failure"),
        status: response.get("code").and_then(Value::as_u64).unwrap_or(0),
        truncated: response.get("body_is_truncated").and_then(Value::as_bool) == Some(true),
        location: location.map(|(_, value)| value.clone()),
        headers,
        response,
    })
}

/// The port of a URL, 80 if it has none.
pub fn url_port(url: &str) -> u16 {
    port_of(url).unwrap_or(80)
}
