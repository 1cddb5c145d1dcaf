//! The network table: AS number, organisation, country, number of IPv4 addresses. It gives names and weights only; the
//! country of a measurement is the probe's (decision country-of-networks).

use std::io::BufRead;

use super::ooni_observations::number;
use super::rows::for_each_row;
use super::types::{ImportCounts, ImportError, Rejection};

/// One network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    pub asn: u32,
    pub name: String,
    /// Country of registration; `None` when the table has none.
    pub country: Option<[u8; 2]>,
    /// 0 when the table has none.
    pub ipv4_addresses: u64,
}

/// Reads the table; `sink` returns whether the network was new.
pub fn import(
    reader: &mut dyn BufRead,
    limit: u64,
    sink: &mut dyn FnMut(Network) -> bool,
) -> Result<ImportCounts, ImportError> {
    let mut counts = ImportCounts::default();
    for_each_row(reader, limit, &["asn"], &mut counts, &mut |header, row| {
        let asn = number(header.get(row, "asn"));
        if asn == 0 {
            return Err(Rejection::Refused("bad_asn"));
        }
        let first = |names: [&str; 3]| {
            names.into_iter().map(|name| header.get(row, name)).find(|text| !text.is_empty()).unwrap_or("")
        };
        let country = match first(["cc", "country", "country_code"]).as_bytes() {
            [a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() => {
                Some([a.to_ascii_uppercase(), b.to_ascii_uppercase()])
            }
            _ => None,
        };
        let addresses = header.get(row, "ipv4_addresses").split('.').next().and_then(|n| n.parse().ok());
        let name = first(["org", "org_name", "name"]).to_owned();
        Ok(sink(Network { asn, name, country, ipv4_addresses: addresses.unwrap_or(0) }))
    })?;
    Ok(counts)
}
