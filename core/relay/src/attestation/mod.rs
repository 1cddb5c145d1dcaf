//! Attestations: signed statements of agents about the network, votes of other agents on them, and the consensus from
//! both (decisions ids-lead-to-actors and anchored-weight).
//!
//! | Module | What |
//! |---|---|
//! | [`displaced`] | attestations and votes of a registration that gave way to another |
//! | [`record`] | the rows, and the operations that change them |
//! | [`query`] | pages, one attestation, consensus |
//! | [`routes`] | the endpoints |
//!
//! They are in 16 actors: those without a country in the first, the others by hash of the country. An id names its
//! shard, so one attestation is one read. A question without a country goes to all 16.
//!
//! An attestation about a domain in a country is told to the country's actor. The country shows it beside its
//! measurements and settles it by them (`country::attested`).

pub mod displaced;
pub mod query;
pub mod record;
pub mod routes;

use serde::{Deserialize, Serialize};

use crate::agent::mailbox::Local;
use crate::directory::Did;
use crate::{Error, Timestamp};
use crypto::encoding::{actor_id, parse_actor_id};
use crypto::hash::sha256;
use engine::actor::{Entry, operation, query as entry};
use engine::kv::{self, Row, StoreError};
use engine::time::DAY;

/// Number of shards.
pub const SHARDS: u8 = 16;
/// Most attestations of one agent per day and shard.
pub const PER_DAY: usize = 200;
/// The longest life of an attestation, which is also the default, in microseconds.
pub const MAX_LIFE: i64 = 365 * DAY;
/// Most votes on one attestation.
pub const MAX_VOTES: u32 = 10_000;
/// Most bytes of `claim_data`.
pub const MAX_DATA: usize = 16 * 1024;

pub const ENTRIES: &[Entry] = &[
    operation::<record::Attest>(),
    operation::<record::CastVote>(),
    operation::<record::ExpireAttestations>(),
    operation::<displaced::Displace>(),
    entry::<query::FindAttestations>(),
    entry::<query::ReadAttestation>(),
    entry::<query::Agreements>(),
];

/// The beginning of every shard's name; the last byte is its number.
const NAME: [u8; 15] = *b"attestations\0\0\0";

fn name(number: u8) -> String {
    let mut bytes = [number; 16];
    bytes.iter_mut().zip(NAME).for_each(|(to, from)| *to = from);
    actor_id(&bytes)
}

/// The shard of a country (code in upper case); attestations without a country have a shard of their own.
pub fn shard(country: Option<&str>) -> String {
    let hash = |country: &str| sha256(country.as_bytes()).first().copied().unwrap_or_default();
    name(country.map_or(0, |country| 1 + hash(country) % (SHARDS - 1)))
}

/// The names of all shards.
pub fn shards() -> impl Iterator<Item = String> {
    (0..SHARDS).map(name)
}

/// Whether an actor with this name is a shard. Requests may invent ids, and no other actor may be called for them.
pub fn is_shard(actor: &str) -> bool {
    parse_actor_id(actor).is_some_and(|bytes| bytes.starts_with(&NAME) && bytes.last().is_some_and(|n| *n < SHARDS))
}

/// The answer for an unknown id, and for an attestation that has expired.
pub fn unknown() -> Error {
    Error::not_found("There is no such attestation.")
}

/// The part of an attestation about a domain that measurements can settle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurable {
    /// The series that it is about.
    pub series: String,
    pub blocked: bool,
}

/// An attestation as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attestation {
    pub author: Did,
    /// The author's name at the time of the attestation.
    pub name: Option<String>,
    pub claim_type: String,
    /// JSON object as text, exactly as it was sent.
    pub claim_data: String,
    /// The timestamp exactly as it was sent, since it is part of the signed text.
    pub timestamp: String,
    /// Ed25519 over claim type, data and timestamp; `None` when the author keeps its own keys and sent no signature.
    #[serde(with = "engine::kv::bytes::option")]
    pub signature: Option<Vec<u8>>,
    /// The key that verifies the signature.
    pub signing_key: [u8; 32],
    /// Country code in upper case.
    pub country: Option<String>,
    pub domain: Option<String>,
    /// 0 to 1.
    pub confidence: f64,
    pub measurable: Option<Measurable>,
    /// The author's anchored vote at the time of the attestation, 0 to 1.
    pub weight: f64,
    pub created: Timestamp,
    pub expires: Timestamp,
    pub votes: Votes,
    /// Whether it is of a registration that gave way to another of the same DID, so that it has no weight.
    pub displaced: bool,
}

impl Row for Attestation {
    const VERSION: u8 = 2;

    /// Version 1 ended before `displaced`.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        kv::appended(version, 1, bytes, &[0])
    }
}

/// Votes of other agents on an attestation, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Votes {
    pub corroborations: u32,
    pub refutations: u32,
    /// Sums of the voters' anchored votes at the time of voting.
    pub corroborated: f64,
    pub refuted: f64,
}

impl Attestation {
    /// The anchored votes for it: the author's, times its confidence, and those of the agents that corroborated.
    pub fn support(&self) -> f64 {
        self.weight * self.confidence + self.votes.corroborated
    }

    /// Mean of the share of anchored votes for it, under the uniform prior (Jøsang and Ismail, The Beta Reputation
    /// System, 2002). It is 0.5 until an agent with anchored weight has said something.
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
    #[serde(with = "engine::kv::bytes")]
    pub signature: Vec<u8>,
    pub signing_key: [u8; 32],
    pub comment: Option<String>,
    pub at: Timestamp,
    /// The voter's anchored vote at that time.
    pub weight: f64,
    /// Whether it is of a registration that gave way to another of the same DID, so that it does not count.
    pub displaced: bool,
}

impl Row for Vote {
    const VERSION: u8 = 2;

    /// Version 1 ended before `displaced`.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        kv::appended(version, 1, bytes, &[0])
    }
}

/// The word for a vote, which is part of the signed text.
pub const fn vote_word(corroborates: bool) -> &'static str {
    if corroborates { "corroborate" } else { "refute" }
}

/// A page of attestations with their ids.
pub type AttestationPage = Vec<(Local, Attestation)>;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use facts::starter::Country;

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
