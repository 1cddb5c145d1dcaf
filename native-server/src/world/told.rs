//! Writes the sessions of a world as rows of the observation table, and its networks as a network table.

use std::fmt::Write;

use heliograph_core::Timestamp;
use heliograph_core::engine::time::HOUR;
use heliograph_core::facts::starter::Country;

use super::made::{Session, World};

/// Columns of [`rows`]: a part of the columns of the real table.
pub const HEADER: &str = "report_id,input,test_name,measurement_uid,probe_cc,probe_asn,measurement_start_time,hostname,ip,\
port,resolver_asn,platform,software_version,dns_engine,dns_failure,dns_answer,tcp_success,tcp_failure,tls_success,\
tls_failure,tls_is_certificate_valid,http_failure\n";

/// The first of the network numbers that are kept for private use (RFC 6996).
const FIRST_ASN: u32 = 4_200_000_000;

/// A network's number.
pub fn asn(country: usize, network: usize) -> u32 {
    FIRST_ASN + u32::try_from(country * 100 + network).unwrap_or(0)
}

/// The real country code that stands for a country of the world.
pub fn code(country: usize) -> &'static str {
    Country::all().get(country).map_or("ZZ", |country| country.code)
}

/// A host name that cannot exist (RFC 6761).
pub fn site(number: usize) -> String {
    format!("site-{number}.example")
}

pub fn networks(world: &World) -> String {
    let mut out = "asn,name,country,ipv4_addresses\n".to_owned();
    for (country, networks) in world.addresses.iter().enumerate() {
        for (network, addresses) in networks.iter().enumerate() {
            let asn = asn(country, network);
            let _ = writeln!(out, "{asn},Network {asn},{},{addresses}", code(country));
        }
    }
    out
}

/// Appends the rows of a session. `number` is unique for each session.
pub fn rows(out: &mut String, session: &Session, number: usize, start: Timestamp) {
    let time = start.plus(i64::try_from(session.hour).unwrap_or(0) * HOUR).to_string();
    let (date, clock) = (time.get(..10).unwrap_or_default(), time.get(11..13).unwrap_or_default());
    let (minute, second) = (number % 60, number / 60 % 60);
    let compact: String = date.chars().filter(char::is_ascii_digit).collect();
    let (country, asn) = (code(session.country), asn(session.country, session.network));
    for (place, failed) in session.failed.iter().enumerate() {
        let host = site(place);
        let tls = if *failed { "0,connection_reset," } else { "1,,1" };
        let _ = writeln!(
            out,
            "{compact}T{clock}{minute:02}{second:02}Z_webconnectivity_{country}_{asn}_n1_{number:016},https://{host}/,\
             web_connectivity,{compact}{clock}{minute:02}{second:02}.{number:09}{place:03}_{country}_webconnectivity_{asn:016x},\
             {country},{asn},{date} {clock}:{minute:02}:{second:02}+00:00,{host},93.184.216.34,443,{asn},android,3.18.1,system,,\
             93.184.216.34,1,,{tls},",
        );
    }
}
