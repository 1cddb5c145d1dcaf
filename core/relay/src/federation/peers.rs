//! The rows of `relay/main`: the peers, their recent answers, and the pins of DIDs to peers.
//!
//! A pin says at which peer an agent is and with which key. It is weak while only a peer claimed it. It is strong once
//! the agent itself signed something that came from that peer or is meant for it, or the operator set it. A weak pin
//! gives way to a strong one. A strong pin never gives way to a weak one while its peer is still a peer.

use serde::{Deserialize, Serialize};

use super::key::KEY;
use super::tally::Tally;
use super::{MAX_PEERS, PeerId, peer_id};
use crate::agent::record::Public;
use crate::agent::standing::Standing;
use crate::directory::Did;
use crate::unwritten::{Batch, BatchNumber};
use crate::{Error, Result, Timestamp};
use crypto::encoding::did_bytes;
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{self, Direction, Read, Row, StoreError, Table};

/// Most answers that are kept; the one that ends first is dropped first.
const MAX_ANSWERS: u64 = 20_000;
/// Most pinned agents of one peer. For further agents of that peer, only a key that gives the DID counts.
const MAX_PINS: u64 = 100_000;

/// Another relay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The beginning of its addresses, without a slash at the end.
    pub url: String,
    pub name: String,
    /// The Ed25519 key that signs its deliveries.
    pub key: [u8; 32],
    pub added: Timestamp,
    /// When it was removed. Its pins count again when it is added again.
    pub removed: Option<Timestamp>,
    /// Agents that are pinned to it.
    pub agents: u64,
    pub tally: Tally,
    /// The id of its deployment, which proofs of its agents name. Learned from the peer when it shows a proof.
    pub deployment: Option<String>,
    /// The batch of counts that was added to `tally` last.
    pub last_batch: BatchNumber,
}
impl Row for Peer {
    const VERSION: u8 = 3;

    /// Version 1 ended before `deployment`, version 2 before `last_batch`.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        match version {
            1 => kv::appended(version, 1, bytes, &[0, 0]),
            _ => kv::appended(version, 2, bytes, &[0]),
        }
    }
}

/// The peer of an agent, and the agent's key there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerPin {
    pub peer: PeerId,
    /// Ed25519.
    pub signing: [u8; 32],
    /// Whether the agent or the operator confirmed it, not only the peer.
    pub strong: bool,
    pub since: Timestamp,
}
impl Row for PeerPin {}

/// The peers' answer about a DID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PeerAnswer {
    until: Timestamp,
    found: Option<(PeerId, Public)>,
    /// True while the peers are being asked, at most until `until`.
    asking: bool,
    /// Whether several peers have it, with different keys, and nothing tells which of them is right.
    contested: bool,
}
impl Row for PeerAnswer {
    const VERSION: u8 = 3;

    /// Earlier versions did not have proofs. Their answers are dropped, since they held only for minutes.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        if version >= Self::VERSION {
            return Err(StoreError::Corrupt(format!("an answer of peers has no version {version}")));
        }
        // The other members are not read.
        let until = kv::decode_row::<Timestamp>(&[&[Timestamp::VERSION], bytes].concat())?;
        Ok(PeerAnswer { until, found: None, asking: false, contested: false })
    }
}

const PEERS: Table<(PeerId,), Peer> = Table::new(17);
const PINS: Table<(Did,), PeerPin> = Table::new(18);
const ANSWERS: Table<(Did,), PeerAnswer> = Table::new(19);
const ANSWERS_BY_END: Table<(Timestamp, Did), ()> = Table::new(20);
const ANSWERS_COUNT: Table<(), u64> = Table::new(21);

/// Whether a peer may speak of `did` with this key: the key gives the DID, or is the one pinned for it at that peer
/// (decision peer-deliveries).
pub fn is_key_of(did: &Did, signing: &[u8; 32], peer: &PeerId, pin: Option<&PeerPin>) -> bool {
    did_bytes(signing) == *did || pin.is_some_and(|pin| pin.signing == *signing && pin.peer == *peer)
}

fn present(view: &(impl Read + ?Sized), id: &PeerId) -> Result<Option<Peer>> {
    Ok(PEERS.get(view, &(*id,))?.filter(|peer| peer.removed.is_none()))
}

/// The peers, in the order in which they were added.
fn all(view: &(impl Read + ?Sized)) -> Result<Vec<(PeerId, Peer)>> {
    let mut peers = Vec::new();
    PEERS.visit(view, PEERS.range(), Direction::Ascending, |(id,), peer| {
        if peer.removed.is_none() {
            peers.push((id, peer));
        }
        Ok(true)
    })?;
    peers.sort_by_key(|(id, peer)| (peer.added, *id));
    Ok(peers)
}

/// Adds a peer, or changes the name and key of the peer with this address.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PutPeer {
    pub url: String,
    pub name: String,
    pub key: [u8; 32],
}

impl Operation for PutPeer {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "put_peer";
    type Reply = (PeerId, Peer);

    fn run(self, turn: &mut Turn<'_>) -> Result<Self::Reply> {
        let id = peer_id(&self.url);
        let others: Vec<_> = all(turn)?.into_iter().filter(|(other, _)| *other != id).collect();
        if others.len() >= MAX_PEERS {
            return Err(Error::conflict(format!("There are {MAX_PEERS} peers already; remove one first.")));
        }
        if let Some((_, other)) = others.iter().find(|(_, other)| other.key == self.key) {
            return Err(Error::conflict(format!("The peer {} has this key.", other.url)));
        }
        let known = PEERS.get(turn, &(id,))?;
        // Two peers that are added at the same time get distinct times, so that their order is fixed.
        let last = others.last().map_or(turn.now, |(_, last)| turn.now.max(last.added.plus(1)));
        let added = known.as_ref().filter(|peer| peer.removed.is_none()).map_or(last, |peer| peer.added);
        let (agents, tally, last_batch) =
            known.map_or_else(Default::default, |peer| (peer.agents, peer.tally, peer.last_batch));
        // The deployment id is learned again.
        let Self { url, name, key } = self;
        let peer = Peer { url, name, key, added, removed: None, agents, tally, deployment: None, last_batch };
        PEERS.put(turn, &(id,), &peer)?;
        // Answers from before this change hold no longer.
        forget_answers(turn)?;
        Ok((id, peer))
    }
}

/// Drops as many answers as one turn may; the others end by themselves.
fn forget_answers(turn: &mut Turn<'_>) -> Result<()> {
    for ((end, did), ()) in ANSWERS_BY_END.scan(turn, &ANSWERS_BY_END.range(), Direction::Descending, 300)? {
        drop_answer(turn, end, did)?;
    }
    Ok(())
}

fn drop_answer(turn: &mut Turn<'_>, end: Timestamp, did: Did) -> Result<()> {
    ANSWERS.delete(turn, &(did,));
    ANSWERS_BY_END.delete(turn, &(end, did));
    let count = ANSWERS_COUNT.get(turn, &())?.unwrap_or(0);
    Ok(ANSWERS_COUNT.put(turn, &(), &count.saturating_sub(1))?)
}

/// Stores the deployment id that a peer gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Meet {
    pub id: PeerId,
    /// The key of the peer at that time; nothing is stored for a peer with another key by now.
    pub key: [u8; 32],
    pub deployment: String,
}

impl Operation for Meet {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "meet";
    /// Whether it was stored. An id that another peer gave before is refused, since proofs for one deployment must not
    /// work for two.
    type Reply = bool;

    fn run(self, turn: &mut Turn<'_>) -> Result<bool> {
        let peers = all(turn)?;
        let taken = peers.iter().any(|(id, peer)| *id != self.id && peer.deployment.as_ref() == Some(&self.deployment));
        let Some(mut peer) = present(turn, &self.id)?.filter(|peer| !taken && peer.key == self.key) else {
            return Ok(false);
        };
        peer.deployment = Some(self.deployment);
        PEERS.put(turn, &(self.id,), &peer)?;
        Ok(true)
    }
}

/// Removes a peer: it is asked nothing, gets nothing and can deliver nothing any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemovePeer {
    pub id: PeerId,
}

impl Operation for RemovePeer {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "remove_peer";
    /// Whether it was a peer.
    type Reply = bool;

    fn run(self, turn: &mut Turn<'_>) -> Result<bool> {
        let Some(mut peer) = present(turn, &self.id)? else { return Ok(false) };
        peer.removed = Some(turn.now);
        PEERS.put(turn, &(self.id,), &peer)?;
        forget_answers(turn)?;
        Ok(true)
    }
}

/// Reads the peers, in the order in which they were added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadPeers;

impl Query for ReadPeers {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "peers";
    type Reply = Vec<(PeerId, Peer)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        all(view)
    }
}

/// Reads the peer with this key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PeerOf {
    pub key: [u8; 32],
}

impl Query for PeerOf {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "peer_of";
    type Reply = Option<(PeerId, Peer)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        Ok(all(view)?.into_iter().find(|(_, peer)| peer.key == self.key))
    }
}

/// Reads a peer, and the sealed key that signs deliveries to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Link {
    pub id: PeerId,
}

impl Query for Link {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "link";
    /// `None` when it is not a peer.
    type Reply = Option<(Peer, Option<super::key::OwnKey>)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let Some(peer) = present(view, &self.id)? else { return Ok(None) };
        Ok(Some((peer, KEY.get(view, &())?)))
    }
}

/// Reads what is known of a DID that no agent here has, and the peers to ask.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LookUpDid {
    pub did: Did,
}

/// The result of all peers' answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DidHolder {
    /// No peer has it.
    Nobody,
    At(PeerId, Box<Public>),
    /// Several peers have it, with different keys, and nothing tells which of them is right.
    Contested,
}

impl DidHolder {
    fn of(answer: PeerAnswer) -> DidHolder {
        match answer.found {
            Some((peer, public)) => DidHolder::At(peer, Box::new(public)),
            None if answer.contested => DidHolder::Contested,
            None => DidHolder::Nobody,
        }
    }
}

/// The reply to [`LookUpDid`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DidFacts {
    /// An answer that still holds.
    pub answer: Option<DidHolder>,
    pub peers: Vec<(PeerId, Peer)>,
    pub pin: Option<PeerPin>,
    /// Whether another request is asking the peers now.
    pub asking: bool,
}

impl Query for LookUpDid {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "look";
    type Reply = DidFacts;

    fn run(self, view: &View<'_>) -> Result<DidFacts> {
        let answer = ANSWERS.get(view, &(self.did,))?.filter(|answer| answer.until > view.now);
        let asking = answer.as_ref().is_some_and(|answer| answer.asking);
        let answer = answer.filter(|answer| !answer.asking).map(DidHolder::of);
        Ok(DidFacts { answer, peers: all(view)?, pin: PINS.get(view, &(self.did,))?, asking })
    }
}

/// Reads the pin of a DID.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PinOf {
    pub did: Did,
}

impl Query for PinOf {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "pin_of";
    type Reply = Option<PeerPin>;

    fn run(self, view: &View<'_>) -> Result<Option<PeerPin>> {
        Ok(PINS.get(view, &(self.did,))?)
    }
}

/// Reserves the question about a DID for the caller, until it reports the answers ([`Learn`]).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ask {
    pub did: Did,
    /// When another request may ask, if the caller never reports.
    pub until: Timestamp,
}

impl Operation for Ask {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "ask";
    /// Whether the caller may ask: false while another request asks, or when it was just answered.
    type Reply = bool;

    fn run(self, turn: &mut Turn<'_>) -> Result<bool> {
        if ANSWERS.get(turn, &(self.did,))?.is_some_and(|answer| answer.until > turn.now) {
            return Ok(false);
        }
        keep(turn, self.did, &PeerAnswer { until: self.until, found: None, asking: true, contested: false })?;
        Ok(true)
    }
}

/// Stores the result of the peers' answers, and pins the agent that was found, as [`PutPeerPin`] allows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Learn {
    pub did: Did,
    pub until: Timestamp,
    pub heard: DidHolder,
}

impl Operation for Learn {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "learn";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Learn { did, until, heard } = self;
        let contested = heard == DidHolder::Contested;
        let found = match heard {
            DidHolder::At(peer, public) => Some((peer, *public)),
            DidHolder::Nobody | DidHolder::Contested => None,
        };
        if let Some((peer, public)) = &found {
            // A proof for that very deployment comes from the agent itself.
            let strong = public.standing == Standing::Proved;
            PutPeerPin { did, peer: *peer, signing: public.signing, strong }.run(turn)?;
        }
        keep(turn, did, &PeerAnswer { until, found, asking: false, contested })
    }
}

/// Stores an answer in place of an earlier one. Drops a few answers that are over, and the one that ends next when
/// there are too many.
fn keep(turn: &mut Turn<'_>, did: Did, answer: &PeerAnswer) -> Result<()> {
    if let Some(earlier) = ANSWERS.get(turn, &(did,))? {
        drop_answer(turn, earlier.until, did)?;
    }
    let crowded = ANSWERS_COUNT.get(turn, &())?.unwrap_or(0) >= MAX_ANSWERS;
    for (at, ((end, old), ())) in
        ANSWERS_BY_END.scan(turn, &ANSWERS_BY_END.range(), Direction::Ascending, 4)?.into_iter().enumerate()
    {
        if end <= turn.now || (crowded && at == 0) {
            drop_answer(turn, end, old)?;
        }
    }
    ANSWERS.put(turn, &(did,), answer)?;
    ANSWERS_BY_END.put(turn, &(answer.until, did), &())?;
    let count = ANSWERS_COUNT.get(turn, &())?.unwrap_or(0);
    Ok(ANSWERS_COUNT.put(turn, &(), &(count + 1))?)
}

/// Pins an agent to a peer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PutPeerPin {
    pub did: Did,
    pub peer: PeerId,
    pub signing: [u8; 32],
    pub strong: bool,
}

impl Operation for PutPeerPin {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "put_pin";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(mut peer) = present(turn, &self.peer)? else { return Ok(()) };
        let earlier = PINS.get(turn, &(self.did,))?;
        if let Some(pin) = &earlier {
            // A claim does not move an agent away from a peer that is still a peer.
            let same = pin.peer == self.peer && pin.signing == self.signing && pin.strong == self.strong;
            if same || (!self.strong && present(turn, &pin.peer)?.is_some()) {
                return Ok(());
            }
        }
        let left = earlier.map(|pin| pin.peer).filter(|left| *left != self.peer);
        if left.is_some() || !PINS.contains(turn, &(self.did,))? {
            if peer.agents >= MAX_PINS {
                return Ok(());
            }
            peer.agents += 1;
            PEERS.put(turn, &(self.peer,), &peer)?;
        }
        if let Some(left) = left
            && let Some(mut row) = PEERS.get(turn, &(left,))?
        {
            row.agents = row.agents.saturating_sub(1);
            PEERS.put(turn, &(left,), &row)?;
        }
        // The stored answer about the DID may name another peer.
        if let Some(answer) = ANSWERS.get(turn, &(self.did,))?
            && answer.found.is_none_or(|(peer, _)| peer != self.peer)
        {
            drop_answer(turn, answer.until, self.did)?;
        }
        let pin = PeerPin { peer: self.peer, signing: self.signing, strong: self.strong, since: turn.now };
        Ok(PINS.put(turn, &(self.did,), &pin)?)
    }
}

/// Adds counts to the tallies of peers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Count {
    pub batches: Vec<(PeerId, Batch<Tally>)>,
}

impl Operation for Count {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "count";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for (id, batch) in self.batches {
            if let Some(mut peer) = PEERS.get(turn, &(id,))?
                && batch.is_new_to(&mut peer.last_batch)
            {
                peer.tally = peer.tally.plus(&batch.sum);
                PEERS.put(turn, &(id,), &peer)?;
            }
        }
        Ok(())
    }
}
