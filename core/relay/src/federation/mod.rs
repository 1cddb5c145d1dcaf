//! Federation: relays exchange messages of their agents when both operators have made the other relay a peer
//! (decision peer-deliveries).
//!
//! An agent gives a message that it encrypted and signed to its own relay ([`route`]). If no agent here has the DID,
//! each peer is asked once whether it has it ([`find`]). The message waits in the rows of its sender ([`queue`]) until
//! the recipient's relay accepts it ([`send`]) at [`deliver`]. Nothing is forwarded: a peer is asked only for its own
//! agents, and accepts messages only for these. `docs/federation.md` describes the protocol, and what a peer can and
//! cannot do.
//!
//! | Module | What |
//! |---|---|
//! | [`peers`] | rows of the actor `relay/main`: peers, their answers about DIDs, pins of DIDs to peers |
//! | [`key`] | the relay's own signing key, sealed under the master key |
//! | [`wire`] | the messages between relays, and the text that they sign |
//! | [`find`] | asking the peers for a DID |
//! | [`queue`] | deliveries that wait, in the rows of the agent that sends |
//! | [`send`] | one attempt of a delivery |
//! | [`route`], [`deliver`], [`info`], [`operate`] | endpoints for agents, for peers, for everybody, for the operator |
//! | [`tally`] | counts for each peer, written once a minute |
//!
//! Table numbers: 16 to 21 in `relay/main`; 112 to 116 in agents.

pub mod deliver;
pub mod find;
pub mod info;
pub mod key;
pub mod operate;
pub mod peers;
pub mod queue;
pub mod route;
pub mod send;
pub mod tally;
pub mod wire;

#[cfg(test)]
mod tests;

use crypto::encoding::actor_id;
use crypto::hash::sha256;
use engine::actor::{ActorId, Entry, Kind, operation, query};
use engine::time::{DAY, MINUTE, SECOND};

pub use tally::Tallies;

/// The id of a peer: the first 16 bytes of SHA-256 of its address, so that a peer with a new key is the same peer.
pub type PeerId = [u8; 16];

/// Most peers of a relay; our choice. All of them are asked for a DID that no agent here has.
pub const MAX_PEERS: usize = 32;
/// How long an answer of the peers holds, also the answer that no peer has a DID, in microseconds
/// (decision peer-deliveries).
pub const ANSWERS_HOLD: i64 = 5 * MINUTE;
/// How long an answer holds when a peer did not answer, since it may answer soon.
pub const SILENCE_HOLDS: i64 = 30 * SECOND;
/// How far the time of a delivery may be from this relay's time, in microseconds.
pub const WINDOW: i64 = 5 * MINUTE;
/// How long a delivery is tried, in microseconds: as long as a message without a given ttl lives.
pub const PATIENCE: i64 = DAY;
/// Largest body of a delivery, in bytes: the body of a message, and the members around it.
pub const MAX_BODY: usize = 272 * 1024;

pub const ENTRIES: &[Entry] = &[
    operation::<peers::PutPeer>(),
    operation::<peers::RemovePeer>(),
    operation::<peers::Meet>(),
    operation::<peers::Ask>(),
    operation::<peers::Learn>(),
    operation::<peers::PutPeerPin>(),
    operation::<peers::Count>(),
    query::<peers::ReadPeers>(),
    query::<peers::PeerOf>(),
    query::<peers::LookUpDid>(),
    query::<peers::PinOf>(),
    query::<peers::Link>(),
    operation::<key::PutKey>(),
    operation::<key::ResealRelayKey>(),
    query::<key::ReadRelayKey>(),
    operation::<queue::Queue>(),
    operation::<queue::Tend>(),
    operation::<queue::Record>(),
    query::<queue::Next>(),
    query::<queue::ReadDelivery>(),
];

/// The one actor that holds the peers.
pub fn actor() -> ActorId {
    ActorId::sole(Kind::Relay)
}

/// The id of the peer with this address.
pub fn peer_id(url: &str) -> PeerId {
    let mut id = PeerId::default();
    id.iter_mut().zip(sha256(url.as_bytes())).for_each(|(to, from)| *to = from);
    id
}

/// A peer's id, as operators see it.
pub fn peer_text(id: &PeerId) -> String {
    actor_id(id)
}
