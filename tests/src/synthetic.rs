//! Made-up measurements for tests: the formats are real, the sites and networks are not.
//!
//! Sites end in `.example` (RFC 6761), AS numbers are reserved for documentation (RFC 5398), and the planted client
//! addresses are from RFC 5737, so that nothing here can be taken for a finding.

use std::fmt::Write;

use serde_json::{Value, json};

/// Addresses of people that a source may contain and no answer may show (decision addresses-discarded).
pub const PLANTED: [&str; 3] = ["203.0.113.77", "198.51.100.153", "2001:db8:dead:beef::77"];

/// What one row of the observation table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteResult {
    /// TCP, TLS and HTTP worked.
    Works,
    /// TCP connected, the TLS handshake was reset.
    TlsReset,
    /// The resolver answered that the name does not exist.
    NxDomain,
}

/// Columns of the CSV below: a part of the columns of the real table.
pub const HEADER: &str = "report_id,input,test_name,measurement_uid,probe_cc,probe_asn,measurement_start_time,hostname,ip,\
port,resolver_ip,resolver_asn,platform,software_version,dns_engine,dns_failure,dns_answer,tcp_success,tcp_failure,\
tls_success,tls_failure,tls_is_certificate_valid,http_request_url,http_failure,probe_analysis\n";

/// One session at a site.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    pub country: &'a str,
    pub asn: u32,
    pub host: &'a str,
    /// `YYYY-MM-DD HH:MM:SS`, UTC.
    pub time: &'a str,
    /// Tells sessions of the same network and second apart.
    pub number: usize,
    pub seen: SiteResult,
}

/// Appends the row of a session.
pub fn observation(out: &mut String, session: &Session<'_>) {
    let Session { country, asn, host, time, number, seen } = *session;
    let compact: String = time.chars().filter(char::is_ascii_digit).collect();
    let (day, clock) = compact.split_at(8);
    let ip = "93.184.216.34";
    let (dns_failure, answer, tcp, tls, tls_failure, valid) = match seen {
        SiteResult::Works => ("", ip, "1.0", "1", "", "1.0"),
        SiteResult::TlsReset => ("", ip, "1.0", "0", "connection_reset", ""),
        SiteResult::NxDomain => ("dns_nxdomain_error", "", "", "", "", ""),
    };
    let endpoint = if answer.is_empty() { "," } else { "93.184.216.34,443.0" };
    let planted = PLANTED[1];
    writeln!(
        out,
        "{day}T{clock}Z_webconnectivity_{country}_{asn}_n1_{number:016},https://{host}/,web_connectivity,\
         {compact}.{number:06}_{country}_webconnectivity_{asn:016x},{country},{asn},{time}+00:00,{host},{endpoint},{planted},{asn},\
         android,3.18.1,system,{dns_failure},{answer},{tcp},,{tls},{tls_failure},{valid},,,ok",
    )
    .unwrap();
}

/// Number of rows of [`blocked_site`].
pub const ROWS: u64 = 128;
/// Country, site and networks of [`blocked_site`].
pub const COUNTRY: &str = "NO";
/// A second country, where half of the networks reset the site.
pub const HALF_BLOCKED: &str = "FI";
pub const SITE: &str = "daily-news.example";
pub const BLOCKING: u32 = 64_500;
pub const CLEAN: [u32; 3] = [64_501, 64_502, 64_503];
/// A time inside the data, after at least two days of it.
pub const INSIDE: &str = "2024-03-12T12:00:00Z";
/// The first moment of the data, and one before it.
pub const BEFORE: &str = "2024-03-01T00:00:00Z";

/// Four days of one site on the same four networks of two countries. In [`COUNTRY`] the site is reset on one of them,
/// in [`HALF_BLOCKED`] on two.
pub fn blocked_site() -> String {
    let mut out = HEADER.to_owned();
    let mut number = 0;
    let hours = (9..=12).flat_map(|day| [1, 5, 9, 11].map(|hour| (day, hour)));
    for (day, hour) in hours {
        for country in [COUNTRY, HALF_BLOCKED] {
            for asn in [BLOCKING, CLEAN[0], CLEAN[1], CLEAN[2]] {
                let reset = asn == BLOCKING || (country == HALF_BLOCKED && asn == CLEAN[0]);
                let seen = if reset { SiteResult::TlsReset } else { SiteResult::Works };
                number += 1;
                let time = format!("2024-03-{day:02} {hour:02}:{:02}:{:02}", number % 60, number % 53);
                observation(&mut out, &Session { country, asn, host: SITE, time: &time, number, seen });
            }
        }
    }
    out
}

/// What a raw document shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// Everything worked, with a valid certificate and a control that agrees.
    Works,
    /// The probe's resolver answers a false NXDOMAIN, while the control resolves and fetches.
    DnsBlocked,
    /// Probe and control fail in the same way.
    Down,
}

/// A raw web_connectivity document, with planted client addresses wherever the format has room for one.
pub fn document(shows: Shows, host: &str, country: &str, asn: u32, time: &str) -> Value {
    let url = format!("https://{host}/");
    let ip = "93.184.216.34";
    let nxdomain = "dns_nxdomain_error";
    let works = shows == Shows::Works;
    let control_works = shows != Shows::Down;
    let query = json!({
        "engine": "system", "hostname": host, "query_type": "A", "t": 0.1, "transaction_id": 1,
        "failure": if works { Value::Null } else { json!(nxdomain) },
        "answers": if works { json!([{ "answer_type": "A", "ipv4": ip, "ttl": null }]) } else { Value::Null },
    });
    let tcp = json!({ "ip": ip, "port": 443, "t": 0.2, "transaction_id": 1,
        "status": { "success": true, "failure": null, "blocked": false } });
    let tls = json!({ "address": format!("{ip}:443"), "server_name": host, "failure": null, "no_tls_verify": false,
        "t": 0.3, "transaction_id": 1, "tls_version": "TLSv1.3", "peer_certificates": [] });
    let request = json!({ "failure": null, "t": 0.4, "transaction_id": 1,
        "request": { "url": url, "method": "GET", "headers": {}, "x_transport": "tcp" },
        "response": { "code": 200, "headers": { "Content-Type": "text/html" }, "body_is_truncated": false,
            "body": "<html><head><title>Daily news</title></head><body>Nothing happened.</body></html>" } });
    let control = json!({
        "dns": { "failure": if control_works { Value::Null } else { json!(nxdomain) },
            "addrs": if control_works { json!([ip]) } else { json!([]) } },
        "tcp_connect": if control_works { json!({ format!("{ip}:443"): { "status": true, "failure": null } }) } else { json!({}) },
        "tls_handshake": if control_works {
            json!({ format!("{ip}:443"): { "server_name": host, "status": true, "failure": null } })
        } else { json!({}) },
        "http_request": if control_works {
            json!({ "body_length": 82, "failure": null, "title": "Daily news", "headers": {}, "status_code": 200 })
        } else {
            json!({ "body_length": -1, "failure": nxdomain, "title": "", "headers": {}, "status_code": -1 })
        },
    });
    json!({
        "annotations": { "platform": "linux", "network_type": "wifi", "client_address": PLANTED[0] },
        "data_format_version": "0.2.0", "input": url, "options": [],
        "measurement_start_time": time, "test_start_time": time,
        "probe_asn": format!("AS{asn}"), "probe_cc": country, "probe_ip": PLANTED[0],
        "resolver_asn": format!("AS{asn}"), "resolver_ip": PLANTED[1], "resolver_network_name": "",
        "report_id": format!("{}_webconnectivity_{country}_{asn}_n1_{:016}", time.replace([' ', ':', '-'], ""), host.len()),
        "software_name": "ooniprobe-cli", "software_version": "3.18.1",
        "test_name": "web_connectivity", "test_version": "0.5.24", "test_runtime": 1.5,
        "test_keys": {
            "client_resolver": PLANTED[2], "x_client_addr": PLANTED[0], "retries": null, "agent": "redirect",
            "queries": [query], "tcp_connect": if works { json!([tcp]) } else { json!([]) },
            "tls_handshakes": if works { json!([tls]) } else { json!([]) },
            "requests": if works { json!([request]) } else { json!([]) },
            "network_events": [], "control": control, "control_failure": null,
            "dns_experiment_failure": if works { Value::Null } else { json!(nxdomain) },
            "dns_consistency": if shows == Shows::DnsBlocked { "inconsistent" } else { "consistent" },
            "http_experiment_failure": if works { Value::Null } else { json!(nxdomain) },
            "accessible": works, "blocking": if shows == Shows::DnsBlocked { json!("dns") } else { json!(false) },
        },
    })
}
