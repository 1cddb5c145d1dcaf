//! Deliveries to peers: rows and operations of the agent that sends.
//!
//! As webhooks ([`crate::relay::webhook`]) do, an agent has one delivery to each peer under way at a time, marked by a lease, and
//! a timer that asks again when nothing came of it. A delivery is tried at once, then as [`SCHEDULE`] says, then every 32
//! minutes until the peer took it or refused it for good, or [`super::PATIENCE`] is over. What became of it is kept for a
//! day for its sender to see, of the last [`MAX_ENDED`].

use serde::{Deserialize, Serialize};

use super::wire::DeliveryId;
use super::{PATIENCE, PeerId};
use crate::crypto::encoding::encode_hex;
use crate::engine::actor::{Kind, Operation, Query, Turn, View};
use crate::engine::kv::{Direction, Row, Table};
use crate::engine::time::DAY;
use crate::relay::agent::{consent, record};
use crate::relay::directory::Did;
use crate::relay::webhook::{LEASE, SCHEDULE};
use crate::{Error, ErrorCode, Result, Timestamp};

/// What stands before the slash in the keys of wishes for these requests ([`Turn::reach_out`]); those of webhooks are
/// hexadecimal.
pub const LANE: &str = "relay/";
/// Deliveries of one agent that wait; our choice.
const MAX_WAITING: u32 = 1_000;
/// Bytes of the deliveries of one agent that wait; our choice.
const MAX_BYTES: u64 = 16 << 20;
/// Deliveries that came to an end which are kept; our choice.
const MAX_ENDED: u32 = 5_000;
/// Deliveries of a registration that ended which one turn drops.
const SWEEP: usize = 100;

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    Waiting,
    /// The recipient's relay took it.
    Delivered(Timestamp),
    /// The recipient's relay will never take it, or is no peer any more.
    Refused(Timestamp),
    /// It was not taken in time.
    Expired(Timestamp),
}

/// A message on its way to a peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub peer: PeerId,
    pub to: Did,
    /// The address of the peer when the message was given.
    pub destination: String,
    /// The body of the request, the same at every attempt; empty once it came to an end.
    #[serde(with = "crate::engine::kv::bytes")]
    pub body: Vec<u8>,
    pub made: Timestamp,
    /// When it is tried next.
    pub due: Timestamp,
    pub attempts: u32,
    /// What the peer answered last.
    pub status: Option<u16>,
    pub state: State,
}
impl Row for Delivery {}

/// Sums over the deliveries of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sums {
    waiting: u32,
    bytes: u64,
    ended: u32,
    /// What was given until then belongs to a registration that ended, and goes.
    dropped: Option<Timestamp>,
}
impl Row for Sums {}

/// The delivery under way to a peer, and when it counts as lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Lane {
    busy: Option<(DeliveryId, Timestamp)>,
}
impl Row for Lane {}

const DELIVERIES: Table<(DeliveryId,), Delivery> = Table::new(112);
const BY_DUE: Table<(PeerId, Timestamp, DeliveryId), ()> = Table::new(113);
const LANES: Table<(PeerId,), Lane> = Table::new(114);
const ENDED: Table<(Timestamp, DeliveryId), ()> = Table::new(115);
const SUMS: Table<(), Sums> = Table::new(116);

fn timer(peer: &PeerId) -> String {
    format!("{LANE}{}", encode_hex(peer))
}

/// Takes up the delivery to a peer that is due, when none is under way.
fn go_on(turn: &mut Turn<'_>, peer: PeerId) -> Result<()> {
    let lane = LANES.get(turn, &(peer,))?;
    let busy = lane.and_then(|lane| lane.busy).filter(|(_, until)| *until > turn.now);
    let key = timer(&peer);
    if let Some((_, until)) = busy {
        return tend_at(turn, &key, peer, until);
    }
    let dropped = SUMS.get(turn, &())?.and_then(|sums| sums.dropped);
    for ((_, due, id), ()) in BY_DUE.scan(turn, &BY_DUE.prefix(&(peer,)), Direction::Ascending, SWEEP)? {
        let Some(delivery) = DELIVERIES.get(turn, &(id,))? else { continue };
        if dropped.is_some_and(|dropped| delivery.made <= dropped) {
            BY_DUE.delete(turn, &(peer, due, id));
            DELIVERIES.delete(turn, &(id,));
            free(turn, &delivery)?;
            continue;
        }
        if due > turn.now {
            LANES.put(turn, &(peer,), &Lane { busy: None })?;
            return tend_at(turn, &key, peer, due);
        }
        let until = turn.now.plus(LEASE);
        LANES.put(turn, &(peer,), &Lane { busy: Some((id, until)) })?;
        turn.reach_out(key.clone());
        return tend_at(turn, &key, peer, until);
    }
    if BY_DUE.first(turn, &BY_DUE.prefix(&(peer,)))?.is_some() {
        return tend_at(turn, &key, peer, turn.now.plus(1));
    }
    LANES.delete(turn, &(peer,));
    turn.cancel(&key)
}

fn tend_at(turn: &mut Turn<'_>, key: &str, peer: PeerId, due: Timestamp) -> Result<()> {
    turn.schedule(key, due, &Tend { peer })
}

/// Takes a delivery out of the sums over what waits.
fn free(turn: &mut Turn<'_>, delivery: &Delivery) -> Result<()> {
    let mut sums = SUMS.get(turn, &())?.unwrap_or_default();
    sums.waiting = sums.waiting.saturating_sub(1);
    sums.bytes = sums.bytes.saturating_sub(delivery.body.len() as u64);
    Ok(SUMS.put(turn, &(), &sums)?)
}

/// What waits of a registration that ends is not sent. Its rows go by timer, some at a time.
pub fn ended(turn: &mut Turn<'_>) -> Result<()> {
    let lanes = LANES.scan(turn, &LANES.range(), Direction::Ascending, super::MAX_PEERS * 2)?;
    if lanes.is_empty() {
        return Ok(());
    }
    let mut sums = SUMS.get(turn, &())?.unwrap_or_default();
    sums.dropped = Some(turn.now);
    SUMS.put(turn, &(), &sums)?;
    for ((peer,), _) in lanes {
        LANES.put(turn, &(peer,), &Lane { busy: None })?;
        tend_at(turn, &timer(&peer), peer, turn.now)?;
    }
    Ok(())
}

/// Gives a message for a peer. The same one again changes nothing, unless it came to nothing before.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Queue {
    pub id: DeliveryId,
    pub peer: PeerId,
    pub to: Did,
    pub destination: String,
    #[serde(with = "crate::engine::kv::bytes")]
    pub body: Vec<u8>,
}

impl Operation for Queue {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "relay_queue";
    type Reply = Delivery;

    fn run(self, turn: &mut Turn<'_>) -> Result<Delivery> {
        record::active(turn)?.ok_or_else(record::gone)?;
        // Whoever is written to may answer.
        consent::Wrote { to: self.to }.run(turn)?;
        let mut sums = SUMS.get(turn, &())?.unwrap_or_default();
        if let Some(known) = DELIVERIES.get(turn, &(self.id,))? {
            let (State::Refused(at) | State::Expired(at)) = known.state else {
                return Ok(Delivery { body: Vec::new(), ..known });
            };
            // Somebody tries once more.
            ENDED.delete(turn, &(at, self.id));
            sums.ended = sums.ended.saturating_sub(1);
        }
        sums.waiting += 1;
        sums.bytes += self.body.len() as u64;
        if sums.waiting > MAX_WAITING || sums.bytes > MAX_BYTES {
            let message = "Too many messages of this agent wait for other relays; retry later.";
            return Err(Error::new(ErrorCode::Unavailable, message).retry_after(60));
        }
        SUMS.put(turn, &(), &sums)?;
        let Queue { id, peer, to, destination, body } = self;
        let (made, due) = (turn.now, turn.now);
        let mut delivery =
            Delivery { peer, to, destination, body, made, due, attempts: 0, status: None, state: State::Waiting };
        DELIVERIES.put(turn, &(id,), &delivery)?;
        BY_DUE.put(turn, &(peer, due, id), &())?;
        go_on(turn, peer)?;
        delivery.body.clear();
        Ok(delivery)
    }
}

/// Takes up what is due for a peer, also what was under way too long.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tend {
    peer: PeerId,
}

impl Operation for Tend {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "relay_tend";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        go_on(turn, self.peer)
    }
}

/// The delivery under way to a peer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Next {
    pub peer: PeerId,
}

/// A delivery as it is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub id: DeliveryId,
    #[serde(with = "crate::engine::kv::bytes")]
    pub body: Vec<u8>,
    /// When the attempt counts as lost.
    pub until: Timestamp,
}

impl Query for Next {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "relay_next";
    type Reply = Option<Job>;

    fn run(self, view: &View<'_>) -> Result<Option<Job>> {
        let busy = LANES.get(view, &(self.peer,))?.and_then(|lane| lane.busy);
        let Some((id, until)) = busy else { return Ok(None) };
        let delivery = DELIVERIES.get(view, &(id,))?;
        Ok(delivery.map(|delivery| Job { id, body: delivery.body, until }))
    }
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The peer answered so.
    Status(u16),
    /// It did not answer in time, or no connection was made.
    Failed,
    /// It is no peer any more.
    NoPeer,
}

impl Outcome {
    /// Whether nothing else can come of it. A peer that does not know us may soon, as after a change of keys; what it
    /// says of the message itself it will say again.
    const fn is_refusal(self) -> bool {
        matches!(self, Outcome::NoPeer | Outcome::Status(400 | 403 | 404 | 405 | 409 | 410 | 413 | 415))
    }
}

/// Records an attempt, and takes up the next delivery.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    pub peer: PeerId,
    pub id: DeliveryId,
    pub began: Timestamp,
    pub outcome: Outcome,
}

impl Operation for Record {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "relay_record";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let busy = LANES.get(turn, &(self.peer,))?.and_then(|lane| lane.busy);
        // One that comes after its lease, while another attempt is under way, changes nothing: that one has its own.
        if busy.is_none_or(|(id, until)| id != self.id || self.began.plus(LEASE) < until) {
            return Ok(());
        }
        LANES.put(turn, &(self.peer,), &Lane { busy: None })?;
        let Some(mut delivery) = DELIVERIES.get(turn, &(self.id,))? else { return go_on(turn, self.peer) };
        BY_DUE.delete(turn, &(self.peer, delivery.due, self.id));
        delivery.attempts = delivery.attempts.saturating_add(1);
        if let Outcome::Status(status) = self.outcome {
            delivery.status = Some(status);
        }
        let wait = usize::try_from(delivery.attempts - 1).ok().and_then(|at| SCHEDULE.get(at).or(SCHEDULE.last()));
        let next = self.began.plus(wait.copied().unwrap_or(DAY));
        delivery.state = match self.outcome {
            Outcome::Status(200..=299) => State::Delivered(turn.now),
            outcome if outcome.is_refusal() => State::Refused(turn.now),
            _ if next >= delivery.made.plus(PATIENCE) => State::Expired(turn.now),
            _ => State::Waiting,
        };
        if delivery.state == State::Waiting {
            delivery.due = next;
            BY_DUE.put(turn, &(self.peer, next, self.id), &())?;
        } else {
            self.end(turn, &mut delivery)?;
        }
        DELIVERIES.put(turn, &(self.id,), &delivery)?;
        go_on(turn, self.peer)
    }
}

impl Record {
    /// Keeps how it ended, in place of the oldest that ended.
    fn end(&self, turn: &mut Turn<'_>, delivery: &mut Delivery) -> Result<()> {
        free(turn, delivery)?;
        delivery.body.clear();
        ENDED.put(turn, &(turn.now, self.id), &())?;
        let mut sums = SUMS.get(turn, &())?.unwrap_or_default();
        sums.ended += 1;
        for ((at, old), ()) in ENDED.scan(turn, &ENDED.range(), Direction::Ascending, 4)? {
            if turn.now.since(at) > DAY || sums.ended > MAX_ENDED {
                ENDED.delete(turn, &(at, old));
                DELIVERIES.delete(turn, &(old,));
                sums.ended = sums.ended.saturating_sub(1);
            }
        }
        Ok(SUMS.put(turn, &(), &sums)?)
    }
}

/// A delivery, without its body.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadDelivery {
    pub id: DeliveryId,
}

impl Query for ReadDelivery {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "relay_delivery";
    type Reply = Option<Delivery>;

    fn run(self, view: &View<'_>) -> Result<Option<Delivery>> {
        Ok(DELIVERIES.get(view, &(self.id,))?.map(|delivery| Delivery { body: Vec::new(), ..delivery }))
    }
}
