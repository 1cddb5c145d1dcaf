//! The statement of one measurement about one target: the outcome, its merge laws and the 24-byte entry that is stored.
//!
//! Rows of observations of one measurement come in any order and chunk, so each row adds a set of facts
//! ([`EndpointSet`]) that merges by union. A raw web_connectivity document or a fastpath row is judged at once
//! ([`Judgement`]). Decisions that need the whole session (the half rule of decision half-of-a-pool, the IPv6 mask of
//! decision ipv6-and-probe-faults) are made in [`Outcome::evaluate`], never for a single row.

use super::types::Form;
use crate::verdict::evaluate::{self, Evaluated};
use crate::verdict::rules::RuleId;
use crate::verdict::technique::Technique;

/// Number of bits in a map of endpoints.
pub const ENDPOINT_BITS: u32 = 12;
const ENDPOINT_MASK: u16 = (1 << ENDPOINT_BITS) - 1;

/// Flags of an [`EndpointSet`]. IPv4 and an unknown family share the flags of the layers; IPv6 has its own.
pub mod flag {
    pub const DNS_OK: u32 = 1 << 0;
    pub const DNS_NXDOMAIN: u32 = 1 << 1;
    /// The name exists without an address.
    pub const DNS_NO_ANSWER: u32 = 1 << 2;
    /// SERVFAIL, REFUSED or a misbehaving server.
    pub const DNS_REFUSED: u32 = 1 << 3;
    pub const DNS_TIMEOUT: u32 = 1 << 4;
    pub const DNS_OTHER: u32 = 1 << 5;
    /// The answer holds a private or reserved address.
    pub const DNS_BOGON: u32 = 1 << 6;
    /// The answer is the address of a block page known for this country.
    pub const DNS_FINGERPRINT: u32 = 1 << 7;
    pub const TCP_TIMEOUT: u32 = 1 << 8;
    pub const TCP_RESET: u32 = 1 << 9;
    pub const TCP_REFUSED: u32 = 1 << 10;
    pub const TCP_OTHER: u32 = 1 << 11;
    pub const TLS_OK: u32 = 1 << 12;
    pub const TLS_TIMEOUT: u32 = 1 << 13;
    pub const TLS_RESET: u32 = 1 << 14;
    pub const TLS_EOF: u32 = 1 << 15;
    pub const TLS_CERTIFICATE: u32 = 1 << 16;
    pub const TLS_OTHER: u32 = 1 << 17;
    pub const HTTP_TIMEOUT: u32 = 1 << 18;
    pub const HTTP_RESET: u32 = 1 << 19;
    pub const HTTP_EOF: u32 = 1 << 20;
    pub const HTTP_OTHER: u32 = 1 << 21;
    /// One connection over IPv6 succeeded, so IPv6 failures of the session count.
    pub const V6_OK: u32 = 1 << 22;
    pub const V6_TCP_FAILED: u32 = 1 << 23;
    pub const V6_TLS_FAILED: u32 = 1 << 24;
    /// A failure of the probe's own network or host was seen and left out.
    pub const LOCAL_FAULT: u32 = 1 << 25;
    /// The client's own comparison with its control: nothing blocked.
    pub const ANALYSIS_CLEAR: u32 = 1 << 26;
    pub const ANALYSIS_DNS: u32 = 1 << 27;
    pub const ANALYSIS_TCP: u32 = 1 << 28;
    pub const ANALYSIS_HTTP_DIFF: u32 = 1 << 29;
    pub const ANALYSIS_HTTP_FAILURE: u32 = 1 << 30;
    /// The target is a pool of equal endpoints: the half rule decides.
    pub const POOL: u32 = 1 << 31;
}

/// Facts about the endpoints of one target in one measurement. Merge is union, field by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndpointSet {
    /// Endpoints where connecting worked (TCP, and TLS if it was tried). Each endpoint is one of 12 bits.
    pub connect_ok: u16,
    /// Endpoints where TCP or TLS failed.
    pub connect_failed: u16,
    /// Endpoints (or URLs) that answered over HTTP.
    pub http_ok: u16,
    /// Endpoints (or URLs) where HTTP failed, whatever the layer.
    pub http_failed: u16,
    /// See [`flag`].
    pub flags: u32,
}

impl EndpointSet {
    /// True when any of `mask` is set.
    pub const fn has(&self, mask: u32) -> bool {
        self.flags & mask != 0
    }

    /// Union.
    pub const fn merge(self, other: EndpointSet) -> EndpointSet {
        EndpointSet {
            connect_ok: self.connect_ok | other.connect_ok,
            connect_failed: self.connect_failed | other.connect_failed,
            http_ok: self.http_ok | other.http_ok,
            http_failed: self.http_failed | other.http_failed,
            flags: self.flags | other.flags,
        }
    }
}

/// The result of judging a whole document or row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Judgement {
    pub rule: RuleId,
    pub technique: Option<Technique>,
}

/// The statement of one measurement about one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Endpoints(EndpointSet),
    Judged(Judgement),
}

/// Bytes of a packed [`Outcome`].
pub const OUTCOME_LEN: usize = 11;
/// Bytes of a packed [`Entry`].
pub const ENTRY_LEN: usize = 24;
/// Index of the byte with primary mark, form and hour.
const MARK_AT: usize = 12;

const TAG_ENDPOINTS: u8 = 0;
const TAG_JUDGED: u8 = 1;

impl Outcome {
    /// Merges two outcomes of the same measurement, target and form. Facts unite. Of two judgements (two documents with
    /// one identity) the greater one stays. A judgement outranks facts. This is the join of a semilattice, so order
    /// never matters.
    pub fn merge(self, other: Outcome) -> Outcome {
        match (self, other) {
            (Outcome::Endpoints(a), Outcome::Endpoints(b)) => Outcome::Endpoints(a.merge(b)),
            (Outcome::Judged(a), Outcome::Judged(b)) => Outcome::Judged(a.max(b)),
            (judged @ Outcome::Judged(_), _) | (_, judged @ Outcome::Judged(_)) => judged,
        }
    }

    /// Judges the merged state: the winning rule and the vote it gives.
    pub fn evaluate(&self) -> Evaluated {
        match self {
            Outcome::Endpoints(set) => evaluate::endpoints(set),
            Outcome::Judged(judgement) => evaluate::judged(*judgement),
        }
    }

    /// Packs an outcome into 11 bytes: four 12-bit maps, 32 flags and a tag; or rule, technique, zeros and the tag.
    pub fn encode(&self) -> [u8; OUTCOME_LEN] {
        match self {
            Outcome::Endpoints(set) => {
                let [a, b, c] = pack_pair(set.connect_ok, set.connect_failed);
                let [d, e, f] = pack_pair(set.http_ok, set.http_failed);
                let [g, h, i, j] = set.flags.to_be_bytes();
                [a, b, c, d, e, f, g, h, i, j, TAG_ENDPOINTS]
            }
            Outcome::Judged(judgement) => {
                let technique = judgement.technique.map_or(0, Technique::code);
                [judgement.rule.code(), technique, 0, 0, 0, 0, 0, 0, 0, 0, TAG_JUDGED]
            }
        }
    }

    /// Undoes [`Outcome::encode`]; `None` for a tag, rule or technique that this version does not know.
    pub fn decode(bytes: &[u8; OUTCOME_LEN]) -> Option<Outcome> {
        let [a, b, c, d, e, f, g, h, i, j, tag] = *bytes;
        match tag {
            TAG_ENDPOINTS => {
                let (connect_ok, connect_failed) = unpack_pair([a, b, c]);
                let (http_ok, http_failed) = unpack_pair([d, e, f]);
                let flags = u32::from_be_bytes([g, h, i, j]);
                Some(Outcome::Endpoints(EndpointSet { connect_ok, connect_failed, http_ok, http_failed, flags }))
            }
            TAG_JUDGED => {
                let technique = if b == 0 { None } else { Some(Technique::from_code(b)?) };
                Some(Outcome::Judged(Judgement { rule: RuleId::from_code(a)?, technique }))
            }
            _ => None,
        }
    }
}

fn pack_pair(a: u16, b: u16) -> [u8; 3] {
    let both = (u32::from(a & ENDPOINT_MASK) << ENDPOINT_BITS) | u32::from(b & ENDPOINT_MASK);
    let [_, x, y, z] = both.to_be_bytes();
    [x, y, z]
}

fn unpack_pair([x, y, z]: [u8; 3]) -> (u16, u16) {
    let both = u32::from_be_bytes([0, x, y, z]);
    // Both halves are 12 bits wide, so the casts lose nothing.
    ((both >> ENDPOINT_BITS) as u16, (both & u32::from(ENDPOINT_MASK)) as u16)
}

/// The endpoint bit of a host or address and port that has no fixed bit.
pub fn hashed_bit(endpoint: &[u8], port: u16) -> u16 {
    let mut hash = crc32fast::Hasher::new();
    hash.update(endpoint);
    hash.update(&port.to_be_bytes());
    1 << (hash.finalize() % ENDPOINT_BITS)
}

/// The stored form of one measurement in one (target, network, day) cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub identity: [u8; 8],
    pub form: Form,
    /// Hour of the UTC day, 0-23.
    pub hour: u8,
    pub vote_key: u32,
    /// The measurement is counted here, because this is the target that it set out to measure. It counts once among the
    /// measurements of the country and of the network.
    pub primary: bool,
    pub outcome: Outcome,
}

impl Entry {
    /// Merges two entries of one identity. The richer form wins as a whole; entries of equal forms merge their
    /// outcomes.
    pub fn merge(self, other: Entry) -> Entry {
        let primary = self.primary || other.primary;
        match self.form.cmp(&other.form) {
            std::cmp::Ordering::Greater => Entry { primary, ..self },
            std::cmp::Ordering::Less => Entry { primary, ..other },
            std::cmp::Ordering::Equal => Entry {
                identity: self.identity,
                form: self.form,
                hour: self.hour.max(other.hour),
                vote_key: self.vote_key.max(other.vote_key),
                primary,
                outcome: self.outcome.merge(other.outcome),
            },
        }
    }

    /// Layout: identity 8, vote key 4, primary (1 bit), form (2 bits) and hour (5 bits) 1, outcome 11.
    pub fn encode(&self) -> [u8; ENTRY_LEN] {
        let mut out = [0; ENTRY_LEN];
        let parts = self
            .identity
            .into_iter()
            .chain(self.vote_key.to_be_bytes())
            .chain([(u8::from(self.primary) << 7) | ((self.form as u8) << 5) | (self.hour & 0x1f)])
            .chain(self.outcome.encode());
        for (to, from) in out.iter_mut().zip(parts) {
            *to = from;
        }
        out
    }

    /// The number of encoded entries that are [`Entry::primary`].
    pub fn primaries(entries: &[u8]) -> u64 {
        let marked = |entry: &&[u8]| entry.get(MARK_AT).is_some_and(|byte| byte >> 7 == 1);
        entries.chunks_exact(ENTRY_LEN).filter(marked).count() as u64
    }

    /// Undoes [`Entry::encode`]; `None` for bytes that this version did not write.
    pub fn decode(bytes: &[u8; ENTRY_LEN]) -> Option<Entry> {
        let (identity, rest) = bytes.split_first_chunk::<8>()?;
        let (vote_key, rest) = rest.split_first_chunk::<4>()?;
        let (form_hour, rest) = rest.split_first()?;
        let outcome: &[u8; OUTCOME_LEN] = rest.try_into().ok()?;
        let hour = form_hour & 0x1f;
        if hour > 23 {
            return None;
        }
        Some(Entry {
            identity: *identity,
            form: Form::from_code((form_hour >> 5) & 0b11)?,
            hour,
            vote_key: u32::from_be_bytes(*vote_key),
            primary: form_hour >> 7 == 1,
            outcome: Outcome::decode(outcome)?,
        })
    }
}
