//! The probe network: nodes that volunteers and the operator run, their submissions, and how these are counted
//! (decisions probes-confirm-probes and addresses-discarded).
//!
//! | Module | What |
//! |---|---|
//! | `wire` | the rows that probes send, and how they are read |
//! | `record` | rows of a shard, and the operations that change them |
//! | `query` | the questions that a shard answers |
//! | `board` | the actor that knows all nodes, for lists and pages about the network |
//! | `community` | registration, tokens, lists of nodes |
//! | `results` | submissions, and the sites to measure |
//! | `status` | the network, its numbers, domains |
//!
//! Nodes live in eight shards. The id of a node names its shard, so a submission is one operation on one actor. The
//! shard takes the readings, counts them and sends them to the country, where they are kept with all other measurements
//! (`probed` in [`crate::country`] decides which of them count).
//!
//! The address of a node is not stored. The shard stores a hash of the block that the address is in, made with a key of
//! the deployment. A token is also stored as a hash. In countries where measuring can harm the person who does it, each
//! public page shows a node under a different name, and without its city.

pub mod board;
pub mod community;
pub mod query;
pub mod record;
pub mod results;
pub mod status;
pub mod wire;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crypto::encoding::{decode_hex_array, encode_hex};
use crypto::hash::{sha256, sha256_first8};
use engine::actor::{Entry, operation, query as entry};
use engine::secrets::Secrets;

pub use record::{SetTrust, TakeComparisons};

pub const ENTRIES: &[Entry] = &[
    operation::<record::Register>(),
    operation::<record::Submit>(),
    operation::<record::SetTrust>(),
    operation::<record::OperateNode>(),
    operation::<record::ClaimNode>(),
    operation::<record::SweepReadings>(),
    operation::<board::Touch>(),
    operation::<board::Tell>(),
    operation::<board::Turned>(),
    entry::<query::FindNode>(),
    entry::<query::Check>(),
    entry::<board::ReadLatestNodes>(),
    entry::<board::Foremost>(),
    entry::<query::DomainNow>(),
    entry::<query::DomainDays>(),
];

/// Number of shards that hold nodes.
pub const SHARDS: u8 = 8;
/// Rows of one submission, at most.
pub const MAX_ROWS: usize = 100;
/// What ids and aliases of nodes look like.
pub const NODE_PATTERN: &str = "^(cp|pn)-[0-9a-f]{16}$";
/// Rows that a node may submit on a day: more than its normal cycle can bring.
pub const ROWS_PER_DAY: u32 = 20_000;
/// Domains that a node may report on, at most.
pub const DOMAINS_PER_NODE: u32 = 1_000;
/// Prefix of every node id; 16 hexadecimal digits follow.
const ID: &str = "cp-";
/// Prefix of the names under which public pages in some countries show nodes.
const ALIAS: &str = "pn-";

/// Countries where measuring can harm the person who does it (from the advisory of the clients).
pub const ADVISORY: [&str; 11] = ["CN", "IR", "KP", "TM", "ER", "RU", "SA", "CU", "SY", "MM", "BY"];

/// The actor names of the shards that hold nodes.
pub fn shards() -> impl Iterator<Item = String> {
    (0..SHARDS).map(|number| number.to_string())
}

fn shard_of_bytes(bytes: &[u8; 8]) -> String {
    let [first, ..] = bytes;
    (first % SHARDS).to_string()
}

/// The node id or alias with these random bytes.
fn named(prefix: &str, bytes: &[u8; 8]) -> String {
    format!("{prefix}{}", encode_hex(bytes))
}

/// The bytes of a node id or alias.
fn bytes_of(text: &str) -> Option<[u8; 8]> {
    let hex = text.strip_prefix(ID).or_else(|| text.strip_prefix(ALIAS))?;
    decode_hex_array("node id", hex).ok()
}

/// The shard that a node id or an alias names; `None` for any other text.
pub fn shard_of(id: &str) -> Option<String> {
    bytes_of(id).as_ref().map(shard_of_bytes)
}

/// The key under which a node's measurements vote. It does not depend on the software that the node runs, and it never
/// equals a vote key that [`crate::country`] itself uses.
pub fn vote_key(id: &str) -> u32 {
    let [a, b, c, d, ..] = sha256(id.as_bytes());
    u32::from_be_bytes([a | 1, b, c, d])
}

/// The value that is stored in place of an address: a hash of its block (a /24 of IPv4 or a /48 of IPv6) under a key of
/// the deployment (decision faucet-addresses).
pub fn block(secrets: &Secrets, client: Option<IpAddr>) -> u64 {
    let text = match client.map(|client| client.to_canonical()) {
        Some(IpAddr::V4(v4)) => {
            let [a, b, c, _] = v4.octets();
            format!("probe block {a}.{b}.{c}")
        }
        Some(IpAddr::V6(v6)) => {
            let [a, b, c, ..] = v6.segments();
            format!("probe block {a:x}:{b:x}:{c:x}")
        }
        None => "probe block unknown".to_owned(),
    };
    let hash = secrets.address_hashes(&text).into_iter().next().unwrap_or_default();
    u64::from_be_bytes(sha256_first8(&hash))
}

/// Public pages that show nodes. Where the country of a node asks for it, each of them shows the node under a different
/// name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodePage {
    Nodes = 0,
    Board = 1,
    Network = 2,
    Domain = 3,
}

#[cfg(test)]
mod tests;
