//! Asks one resolver one question over UDP (RFC 1035). The crate hickory-proto encodes and decodes the messages.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};

/// The reason why there is no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsFailure {
    /// The name does not exist.
    Nxdomain,
    /// The name exists, without an IPv4 address.
    NoAnswer,
    /// The resolver refuses or fails.
    Refused,
    Timeout,
    /// The question could not be asked.
    Local,
}

/// Asks a resolver for the IPv4 addresses of a name, in order. Within the time limit the question is sent twice, since
/// datagrams get lost.
pub fn ask(resolver: SocketAddr, name: &str, limit: Duration) -> Result<Vec<Ipv4Addr>, DnsFailure> {
    let mut last = DnsFailure::Timeout;
    for _ in 0..2 {
        match once(resolver, name, limit / 2) {
            Err(DnsFailure::Timeout) => last = DnsFailure::Timeout,
            decided => return decided,
        }
    }
    Err(last)
}

fn once(resolver: SocketAddr, name: &str, limit: Duration) -> Result<Vec<Ipv4Addr>, DnsFailure> {
    let local = |_| DnsFailure::Local;
    let unnamed = |_| DnsFailure::Local;
    let mut question = Message::query();
    question.metadata.recursion_desired = true;
    let name = Name::from_ascii(format!("{}.", name.trim_end_matches('.'))).map_err(unnamed)?;
    question.add_query(Query::query(name, RecordType::A));
    let bytes = question.to_vec().map_err(unnamed)?;
    let any: IpAddr = if resolver.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { IpAddr::from([0_u16; 8]) };
    let socket = UdpSocket::bind((any, 0)).map_err(local)?;
    socket.connect(resolver).map_err(local)?;
    socket.send(&bytes).map_err(local)?;
    let end = Instant::now() + limit;
    let mut buffer = [0; 4096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(DnsFailure::Timeout);
        }
        socket.set_read_timeout(Some(left)).map_err(local)?;
        let read = match socket.recv(&mut buffer) {
            Ok(read) => read,
            Err(error) => match error.kind() {
                ErrorKind::ConnectionRefused => return Err(DnsFailure::Refused),
                _ => return Err(DnsFailure::Timeout),
            },
        };
        let Ok(answer) = Message::from_vec(buffer.get(..read).unwrap_or_default()) else { continue };
        // An answer from somebody else, or to another question, is ignored.
        if answer.metadata.id == question.metadata.id && answer.queries == question.queries {
            return addresses(&answer);
        }
    }
}

fn addresses(answer: &Message) -> Result<Vec<Ipv4Addr>, DnsFailure> {
    let found = answer.answers.iter().filter_map(|record| match &record.data {
        RData::A(address) => Some(address.0),
        _ => None,
    });
    let found: Vec<Ipv4Addr> = found.collect();
    match answer.metadata.response_code {
        ResponseCode::NoError if found.is_empty() => Err(DnsFailure::NoAnswer),
        ResponseCode::NoError => Ok(found),
        ResponseCode::NXDomain => Err(DnsFailure::Nxdomain),
        _ => Err(DnsFailure::Refused),
    }
}
