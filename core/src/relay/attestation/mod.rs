//! Attestations: signed statements of agents about the network, votes of others on them, and what both come to
//! (decisions ids-lead-to-actors and anchored-weight).
//!
//! | Module | What |
//! |---|---|
//! | [`displaced`] | what a registration wrote that gave way to another |
//! | [`record`] | rows, and the operations that change them |
//! | [`query`] | pages, one attestation, consensus |
//! | [`routes`] | the endpoints |
//!
//! They live in 16 actors: those without a country in the first, the others by hash of the country. An id names its
//! shard, so one attestation is one read; a question without a country is asked of all 16.
//!
//! An attestation about a domain in a country is told to the country, which shows it beside its measurements and
//! settles it by them (`country::attested`).

pub mod displaced;
pub mod query;
pub mod record;
pub mod routes;

use serde::{Deserialize, Serialize};

use crate::crypto::encoding::{actor_id, parse_actor_id};
use crate::crypto::hash::sha256;
use crate::engine::actor::{Entry, operation, query as entry};
use crate::engine::kv::{self, Row, StoreError};
use crate::engine::time::DAY;
use crate::relay::agent::mailbox::Local;
use crate::relay::directory::Did;
use crate::{Error, Timestamp};

/// Shards.
pub const SHARDS: u8 = 16;
/// Attestations that an agent makes per day and shard, at most.
pub const PER_DAY: usize = 200;
/// Longest life of an attestation, and the usual one, in microseconds.
pub const MAX_LIFE: i64 = 365 * DAY;
/// Votes on one attestation, at most.
pub const MAX_VOTES: u32 = 10_000;
/// Most bytes of `claim_data`.
pub const MAX_DATA: usize = 16 * 1024;

pub const ENTRIES: &[Entry] = &[
    operation::<record::Attest>(),
    operation::<record::CastVote>(),
    operation::<record::Expire>(),
    operation::<displaced::Displace>(),
    entry::<query::Find>(),
    entry::<query::Look>(),
    entry::<query::Agreements>(),
];

/// Beginning of every shard's name; its number is the last byte.
const NAME: [u8; 15] = *b"attestations\0\0\0";

fn name(number: u8) -> String {
    let mut bytes = [number; 16];
    bytes.iter_mut().zip(NAME).for_each(|(to, from)| *to = from);
    actor_id(&bytes)
}

/// The actor for a country, upper case; no country has its own.
pub fn shard(country: Option<&str>) -> String {
    let hash = |country: &str| sha256(country.as_bytes()).first().copied().unwrap_or_default();
    name(country.map_or(0, |country| 1 + hash(country) % (SHARDS - 1)))
}

/// Every shard.
pub fn shards() -> impl Iterator<Item = String> {
    (0..SHARDS).map(name)
}

/// Whether an actor of this name is a shard: no other is called, whatever ids requests invent.
pub fn is_shard(actor: &str) -> bool {
    parse_actor_id(actor).is_some_and(|bytes| bytes.starts_with(&NAME) && bytes.last().is_some_and(|n| *n < SHARDS))
}

/// The answer for an id that nobody issued, and for an attestation that is over.
pub fn unknown() -> Error {
    Error::not_found("There is no such attestation.")
}

/// What an attestation says of a domain, as far as it can be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurable {
    /// The series it is about.
    pub series: String,
    pub blocked: bool,
}

/// An attestation as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attestation {
    pub author: Did,
    /// The author's name at that time.
    pub name: Option<String>,
    pub claim_type: String,
    /// The JSON text of an object exactly as it was sent.
    pub claim_data: String,
    /// As it was sent, for it is part of what is signed.
    pub timestamp: String,
    /// Ed25519 over claim type, data and timestamp; `None` when it came without one and its author holds the key.
    #[serde(with = "crate::engine::kv::bytes::option")]
    pub signature: Option<Vec<u8>>,
    /// The key it was checked with.
    pub signing_key: [u8; 32],
    /// Upper case.
    pub country: Option<String>,
    pub domain: Option<String>,
    /// 0-1.
    pub confidence: f64,
    pub measurable: Option<Measurable>,
    /// The author's anchored vote at that time, 0-1.
    pub weight: f64,
    pub created: Timestamp,
    pub expires: Timestamp,
    pub votes: Votes,
    /// It is of a registration that gave way to another of the same DID, and counts nothing.
    pub displaced: bool,
}

impl Row for Attestation {
    const VERSION: u8 = 2;

    /// Version 1 ended before `displaced`.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        kv::appended(version, 1, bytes, &[0])
    }
}

/// What others say of an attestation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Votes {
    pub corroborations: u32,
    pub refutations: u32,
    /// Their anchored votes at the time of voting, summed.
    pub corroborated: f64,
    pub refuted: f64,
}

impl Attestation {
    /// Anchored votes behind it: its author's by confidence, and of those who corroborate.
    pub fn support(&self) -> f64 {
        self.weight * self.confidence + self.votes.corroborated
    }

    /// Mean of the share of anchored votes behind it under the uniform prior (Jøsang and Ismail, The Beta Reputation
    /// System, 2002): 0.5 as long as nobody with anchored weight has said anything.
    pub fn consensus(&self) -> f64 {
        (1.0 + self.support()) / (2.0 + self.support() + self.votes.refuted)
    }
}

/// One agent's vote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vote {
    pub name: Option<String>,
    pub corroborates: bool,
    /// Ed25519 over id and vote.
    #[serde(with = "crate::engine::kv::bytes")]
    pub signature: Vec<u8>,
    pub signing_key: [u8; 32],
    pub comment: Option<String>,
    pub at: Timestamp,
    /// Its anchored vote at that time.
    pub weight: f64,
    /// It is of a registration that gave way to another of the same DID, and counts nothing.
    pub displaced: bool,
}

impl Row for Vote {
    const VERSION: u8 = 2;

    /// Version 1 ended before `displaced`.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        kv::appended(version, 1, bytes, &[0])
    }
}

/// The word for a vote; part of what is signed.
pub const fn vote_word(corroborates: bool) -> &'static str {
    if corroborates { "corroborate" } else { "refute" }
}

/// A page of attestations with their ids.
pub type Page = Vec<(Local, Attestation)>;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::facts::starter::Country;

    /// Decision anchored-weight.
    #[test]
    fn sixteen_shards_by_country_and_one_for_none() {
        let all: BTreeSet<String> = shards().collect();
        assert_eq!(all.len(), 16);
        let used: BTreeSet<String> = Country::all().iter().map(|country| shard(Some(country.code))).collect();
        assert_eq!(used.len(), 15);
        assert!(used.is_subset(&all) && !used.contains(&shard(None)) && all.contains(&shard(None)));
        assert!(all.iter().all(|name| is_shard(name)));
        assert_eq!(shard(Some("KE")), shard(Some("KE")));
    }

    /// Decision ids-lead-to-actors.
    #[test]
    fn names_of_shards_are_pinned_and_no_other_actor_is_called() {
        assert_eq!(name(0), "YXR0ZXN0YXRpb25zAAAAAA");
        assert_eq!(name(15), "YXR0ZXN0YXRpb25zAAAADw");
        for other in [actor_id(&[1; 16]), name(16), String::new()] {
            assert!(!is_shard(&other), "{other}");
        }
    }
}
