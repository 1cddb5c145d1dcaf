//! Deliveries to peers: rows and operations of the agent that sends.
//!
//! As with webhooks ([`crate::webhook`]), an agent has one delivery to each peer under way at a time, marked by
//! a lease. A timer makes a new attempt when the outcome was not recorded. A delivery is tried at once, then after the
//! waits of [`SCHEDULE`], then every 32 minutes until the peer accepts it or refuses it for good, or
//! [`super::PATIENCE`] is over. The outcome is kept for a day so that the sender can see it, for the last [`MAX_ENDED`]
//! deliveries.

use serde::{Deserialize, Serialize};

use super::wire::DeliveryId;
use super::{PATIENCE, PeerId};
use crate::agent::{consent, record};
use crate::directory::Did;
use crate::webhook::{Attempt, LEASE, SCHEDULE};
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::encode_hex;
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Row, Table};
use engine::time::DAY;

/// The part before the slash in the keys of these outgoing requests ([`Turn::reach_out`]); keys of webhooks are
/// hexadecimal.
pub const LANE: &str = "relay/";
/// Most deliveries of one agent that wait; our choice.
const MAX_WAITING: u32 = 1_000;
/// Most bytes of the deliveries of one agent that wait; our choice.
const MAX_BYTES: u64 = 16 << 20;
/// Most ended deliveries that are kept; our choice.
const MAX_ENDED: u32 = 5_000;
/// Deliveries of an ended registration that one turn drops.
const SWEEP: usize = 100;

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryState {
    Waiting,
    /// The recipient's relay accepted it.
    Delivered(Timestamp),
    /// The recipient's relay will never accept it, or is no longer a peer.
    Refused(Timestamp),
    /// It was not accepted in time.
    Expired(Timestamp),
}

/// A message on its way to a peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub peer: PeerId,
    pub to: Did,
    /// The address of the peer when the message was queued.
    pub destination: String,
    /// The body of the request, the same at every attempt; empty after the delivery ended.
    #[serde(with = "engine::kv::bytes")]
    pub body: Vec<u8>,
    pub made: Timestamp,
    /// When the next attempt is due.
    pub due: Timestamp,
    pub attempts: u32,
    /// The last status that the peer answered.
    pub status: Option<u16>,
    pub state: DeliveryState,
}
impl Row for Delivery {}

/// Sums over the deliveries of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sums {
    waiting: u32,
    bytes: u64,
    ended: u32,
    /// Deliveries that were queued until this time belong to a registration that ended, and are dropped.
    dropped: Option<Timestamp>,
}
impl Row for Sums {}

/// The delivery under way to a peer, and when its lease ends.
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

/// Takes up the delivery to a peer that is due, if none is under way.
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

/// Subtracts a delivery from the sums of those that wait.
fn free(turn: &mut Turn<'_>, delivery: &Delivery) -> Result<()> {
    let mut sums = SUMS.get(turn, &())?.unwrap_or_default();
    sums.waiting = sums.waiting.saturating_sub(1);
    sums.bytes = sums.bytes.saturating_sub(delivery.body.len() as u64);
    Ok(SUMS.put(turn, &(), &sums)?)
}

/// Drops the deliveries that wait, since the registration ends. Their rows are deleted by timer, a batch at a time.
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

/// Queues a message for a peer. A repeat changes nothing, unless the earlier delivery was refused or expired.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Queue {
    pub id: DeliveryId,
    pub peer: PeerId,
    pub to: Did,
    pub destination: String,
    #[serde(with = "engine::kv::bytes")]
    pub body: Vec<u8>,
}

impl Operation for Queue {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "relay_queue";
    type Reply = Delivery;

    fn run(self, turn: &mut Turn<'_>) -> Result<Delivery> {
        record::active(turn)?.ok_or_else(record::gone)?;
        // An agent that is written to may answer.
        consent::Wrote { to: self.to }.run(turn)?;
        let mut sums = SUMS.get(turn, &())?.unwrap_or_default();
        if let Some(known) = DELIVERIES.get(turn, &(self.id,))? {
            let (DeliveryState::Refused(at) | DeliveryState::Expired(at)) = known.state else {
                return Ok(Delivery { body: Vec::new(), ..known });
            };
            // The sender tries once more.
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
        let mut delivery = Delivery {
            peer,
            to,
            destination,
            body,
            made,
            due,
            attempts: 0,
            status: None,
            state: DeliveryState::Waiting,
        };
        DELIVERIES.put(turn, &(id,), &delivery)?;
        BY_DUE.put(turn, &(peer, due, id), &())?;
        go_on(turn, peer)?;
        delivery.body.clear();
        Ok(delivery)
    }
}

/// Takes up the delivery to a peer that is due, also one whose lease is over.
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

/// Reads the delivery under way to a peer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Next {
    pub peer: PeerId,
}

/// The data for one attempt of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub id: DeliveryId,
    #[serde(with = "engine::kv::bytes")]
    pub body: Vec<u8>,
    /// When the lease ends.
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

/// Whether another attempt would end in the same way. A peer that does not know this relay's key may know it soon, as
/// after a change of keys. But its answer about the message itself will stay the same.
const fn is_refusal(attempt: Attempt) -> bool {
    matches!(attempt, Attempt::Gone | Attempt::Status(400 | 403 | 404 | 405 | 409 | 410 | 413 | 415))
}

/// Records an attempt, and takes up the next delivery.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    pub peer: PeerId,
    pub id: DeliveryId,
    pub began: Timestamp,
    pub outcome: Attempt,
}

impl Operation for Record {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "relay_record";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let busy = LANES.get(turn, &(self.peer,))?.and_then(|lane| lane.busy);
        // A record that comes after its lease, while another attempt is under way, changes nothing: that attempt has
        // its own record.
        if busy.is_none_or(|(id, until)| id != self.id || self.began.plus(LEASE) < until) {
            return Ok(());
        }
        LANES.put(turn, &(self.peer,), &Lane { busy: None })?;
        let Some(mut delivery) = DELIVERIES.get(turn, &(self.id,))? else { return go_on(turn, self.peer) };
        BY_DUE.delete(turn, &(self.peer, delivery.due, self.id));
        delivery.attempts = delivery.attempts.saturating_add(1);
        if let Attempt::Status(status) = self.outcome {
            delivery.status = Some(status);
        }
        let wait = usize::try_from(delivery.attempts - 1).ok().and_then(|at| SCHEDULE.get(at).or(SCHEDULE.last()));
        let next = self.began.plus(wait.copied().unwrap_or(DAY));
        delivery.state = match self.outcome {
            Attempt::Status(200..=299) => DeliveryState::Delivered(turn.now),
            outcome if is_refusal(outcome) => DeliveryState::Refused(turn.now),
            _ if next >= delivery.made.plus(PATIENCE) => DeliveryState::Expired(turn.now),
            _ => DeliveryState::Waiting,
        };
        if delivery.state == DeliveryState::Waiting {
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
    /// Keeps the outcome, and deletes outcomes that are too old or too many.
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

/// Reads a delivery, without its body.
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
