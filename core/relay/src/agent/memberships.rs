//! The agent's rows about its channels and invites. They follow by effects what the channels decide
//! (decision one-deciding-operation). `GET /v1/agent/invites` and `channels?mine=true` read them.

use serde::{Deserialize, Serialize};

use super::activity::{self, ActivityCounts};
use super::mailbox::Local;
use super::record;
use super::standing::Standing;
use crate::channel::invites::{InviteStatus, REMEMBERED, StoredInvite};
use crate::channel::record::Leave;
use crate::channel::{ChannelAbout, ChannelId};
use crate::{Error, Result, Timestamp};
use crypto::encoding::actor_id;
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Direction, Row, Table};

pub const ENTRIES: &[Entry] = &[
    operation::<AddMembership>(),
    operation::<ForgetMembership>(),
    operation::<Invited>(),
    operation::<Settled>(),
    operation::<LeaveMore>(),
    operation::<DropInvites>(),
    query::<ReadMemberships>(),
    query::<HasRoom>(),
    query::<ReadInvites>(),
];

/// A channel that the agent is a member of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    pub about: ChannelAbout,
    pub joined: Timestamp,
}
impl Row for Membership {}

/// An invite that the agent got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedInvite {
    pub channel_name: String,
    pub invite: StoredInvite,
}
impl Row for ReceivedInvite {}

const MEMBERSHIPS: Table<(ChannelId,), Membership> = Table::new(52);
const INVITES: Table<(ChannelId, Local), ReceivedInvite> = Table::new(53);
/// Channels that an unproved registration has left. Its posts there are marked when another registration takes its
/// place.
const FORMER: Table<(ChannelId,), ()> = Table::new(134);
const FORMER_COUNT: Table<(), u64> = Table::new(135);

/// Most channels that an unproved registration may leave; our choice. None may be forgotten: the posts there would look
/// like those of a registration that takes its place.
const MAX_FORMER: u64 = 10_000;
/// Most invites that an agent keeps; our choice.
pub const MAX_INVITES: usize = 1_000;
/// Most pending invites from one agent, so that no single agent fills the invites of another.
const MAX_OF_ONE: usize = 100;
/// Memberships and invites that end in one step when an agent ends; more end by timer.
const BATCH: usize = 64;

/// The texts of invites, as they are stored.
pub(super) fn texts(view: &(impl engine::kv::Read + ?Sized)) -> Result<Vec<((ChannelId, Local), String)>> {
    let rows = INVITES.scan(view, &INVITES.range(), Direction::Ascending, MAX_INVITES)?;
    Ok(rows.into_iter().filter_map(|(key, received)| Some((key, received.invite.message?))).collect())
}

/// Replaces the text of an invite if it is still `old`; true when it was.
pub(super) fn reseal(turn: &mut Turn<'_>, channel: ChannelId, local: Local, old: &str, new: &str) -> Result<bool> {
    let found = INVITES.get(turn, &(channel, local))?;
    let Some(mut received) = found.filter(|received| received.invite.message.as_deref() == Some(old)) else {
        return Ok(false);
    };
    received.invite.message = Some(new.to_owned());
    INVITES.put(turn, &(channel, local), &received)?;
    Ok(true)
}

/// Refuses one more channel with 409 when the agent is in `limit` channels, or has left too many while it was unproved.
fn room(view: &(impl engine::kv::Read + ?Sized), limit: u32) -> Result<()> {
    let limit = limit as usize;
    if MEMBERSHIPS.scan(view, &MEMBERSHIPS.range(), Direction::Ascending, limit)?.len() >= limit {
        return Err(Error::conflict("This agent is in the largest number of channels that is allowed."));
    }
    if FORMER_COUNT.get(view, &())?.unwrap_or(0) >= MAX_FORMER && may_give_way(view)? {
        let message =
            "This agent has left too many channels to join more before it proves its keys: POST /v1/agent/prove.";
        return Err(Error::conflict(message));
    }
    Ok(())
}

/// Whether another registration of the DID may take the place of this one.
fn may_give_way(view: &(impl engine::kv::Read + ?Sized)) -> Result<bool> {
    Ok(record::AGENT.get(view, &())?.is_some_and(|agent| agent.standing < Standing::Proved))
}

/// Deletes the membership of a channel that the agent left.
fn forget(turn: &mut Turn<'_>, channel: ChannelId, displaced: bool) -> Result<()> {
    MEMBERSHIPS.delete(turn, &(channel,));
    if displaced || !may_give_way(turn)? || FORMER.contains(turn, &(channel,))? {
        return Ok(());
    }
    FORMER.put(turn, &(channel,), &())?;
    let count = FORMER_COUNT.get(turn, &())?.unwrap_or(0);
    Ok(FORMER_COUNT.put(turn, &(), &(count + 1))?)
}

/// Asks whether the agent may join one more channel. 409 when not.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HasRoom;

impl Query for HasRoom {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "has_room";
    type Reply = ();

    fn run(self, view: &View<'_>) -> Result<()> {
        room(view, view.settings.channels_per_agent)
    }
}

/// A channel has taken the agent in. The agent refuses when it has no room or is gone; the channel then removes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddMembership {
    pub channel: ChannelId,
    pub about: ChannelAbout,
    pub joined: Timestamp,
}

impl Operation for AddMembership {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "joined_channel";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        record::active(turn)?.ok_or_else(super::wire::unknown_agent)?;
        room(turn, turn.settings.channels_per_agent)?;
        if !MEMBERSHIPS.contains(turn, &(self.channel,))? {
            activity::count(turn, &ActivityCounts { channels_joined: 1, ..ActivityCounts::default() })?;
        }
        Ok(MEMBERSHIPS.put(turn, &(self.channel,), &Membership { about: self.about, joined: self.joined })?)
    }
}

/// The agent is no longer in a channel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForgetMembership {
    pub channel: ChannelId,
    pub joined: Timestamp,
}

impl Operation for ForgetMembership {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "left_channel";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        match MEMBERSHIPS.get(turn, &(self.channel,))? {
            Some(membership) if membership.joined == self.joined => forget(turn, self.channel, false),
            _ => Ok(()),
        }
    }
}

/// Key of the timer that goes on leaving channels.
pub(super) const LEAVING: &str = "leave_channels";
/// Key of the timer that deletes old invites.
const INVITES_TIMER: &str = "invites";

/// A channel invites the agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Invited {
    pub channel: ChannelId,
    pub local: Local,
    pub channel_name: String,
    pub invite: StoredInvite,
}

impl Operation for Invited {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "invited";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let agent = record::active(turn)?.ok_or_else(super::wire::unknown_agent)?;
        if !super::consent::admits(turn, turn.actor(), &agent, self.invite.inviter, None)? {
            return Err(super::wire::unknown_agent());
        }
        let Invited { channel, local, channel_name, invite } = self;
        let all = INVITES.scan(turn, &INVITES.range(), Direction::Ascending, MAX_INVITES)?;
        let waits = |other: &StoredInvite| other.status == InviteStatus::Pending && other.expires > turn.now;
        let same = all.iter().filter(|(_, other)| other.invite.inviter == invite.inviter && waits(&other.invite));
        if all.len() >= MAX_INVITES || same.count() >= MAX_OF_ONE {
            return Err(Error::conflict("This agent has too many invites."));
        }
        let end = invite.expires.plus(REMEMBERED);
        INVITES.put(turn, &(channel, local), &ReceivedInvite { channel_name, invite })?;
        if turn.scheduled(INVITES_TIMER)?.is_none_or(|due| due > end) {
            turn.schedule(INVITES_TIMER, end, &DropInvites)?;
        }
        Ok(())
    }
}

/// An invite was answered, or its channel has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Settled {
    pub channel: ChannelId,
    pub local: Local,
    pub status: InviteStatus,
}

impl Operation for Settled {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "settled_invite";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = (self.channel, self.local);
        let Some(mut received) = INVITES.get(turn, &key)? else { return Ok(()) };
        received.invite.status = self.status;
        match self.status {
            InviteStatus::Withdrawn => INVITES.delete(turn, &key),
            _ => INVITES.put(turn, &key, &received)?,
        }
        Ok(())
    }
}

/// Deletes invites that ended long ago.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropInvites;

impl Operation for DropInvites {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "drop_invites";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut next: Option<Timestamp> = None;
        for (key, received) in INVITES.scan(turn, &INVITES.range(), Direction::Ascending, MAX_INVITES)? {
            let end = received.invite.expires.plus(REMEMBERED);
            if end <= turn.now {
                INVITES.delete(turn, &key);
            } else {
                next = Some(next.map_or(end, |next| next.min(end)));
            }
        }
        match next {
            Some(end) => turn.schedule(INVITES_TIMER, end, &DropInvites),
            None => Ok(()),
        }
    }
}

/// Makes the agent leave all channels, and deletes its invites. Called when a registration ends or gives way to
/// another.
///
/// `displaced` is set when the registration gave way to another of the same DID: posts until that time are its posts.
pub(super) fn ended(turn: &mut Turn<'_>, displaced: Option<Timestamp>) -> Result<()> {
    leave(turn, turn.now, displaced)
}

fn leave(turn: &mut Turn<'_>, before: Timestamp, displaced: Option<Timestamp>) -> Result<()> {
    let mut leaving = Vec::new();
    MEMBERSHIPS.visit(turn, MEMBERSHIPS.range(), Direction::Ascending, |(channel,), membership| {
        if membership.joined <= before {
            leaving.push((channel, membership.joined));
        }
        Ok(leaving.len() < BATCH)
    })?;
    // A displaced registration also has posts in channels that it left before.
    let former = match displaced {
        Some(_) => FORMER.scan(turn, &FORMER.range(), Direction::Ascending, BATCH)?,
        None => Vec::new(),
    };
    let mut invites = Vec::new();
    INVITES.visit(turn, INVITES.range(), Direction::Ascending, |key, received| {
        if received.invite.created <= before {
            invites.push(key);
        }
        Ok(invites.len() < BATCH)
    })?;
    let did = record::did_of(&turn.actor().name)?;
    let more = [leaving.len(), former.len(), invites.len()].contains(&BATCH);
    for (channel, joined) in leaving {
        forget(turn, channel, displaced.is_some())?;
        turn.send(actor_id(&channel), &Leave { did, joined: Some(joined), displaced })?;
    }
    for ((channel,), ()) in former {
        FORMER.delete(turn, &(channel,));
        // The agent is no member there any more, so the channel only marks the posts.
        turn.send(actor_id(&channel), &Leave { did, joined: Some(before), displaced })?;
    }
    invites.iter().for_each(|key| INVITES.delete(turn, key));
    match more {
        true => turn.schedule(LEAVING, turn.now, &LeaveMore { before, displaced }),
        false => Ok(()),
    }
}

/// Goes on with the work of [`ended`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LeaveMore {
    pub before: Timestamp,
    pub displaced: Option<Timestamp>,
}

impl Operation for LeaveMore {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "leave_more_channels";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        leave(turn, self.before, self.displaced)
    }
}

/// The channels that the agent is a member of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadMemberships;

impl Query for ReadMemberships {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "memberships";
    type Reply = Vec<(ChannelId, Membership)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let limit = view.settings.channels_per_agent as usize;
        let rows = MEMBERSHIPS.scan(view, &MEMBERSHIPS.range(), Direction::Ascending, limit)?;
        Ok(rows.into_iter().map(|((channel,), membership)| (channel, membership)).collect())
    }
}

/// The invites that the agent received.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadInvites;

impl Query for ReadInvites {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "invites";
    type Reply = Vec<((ChannelId, Local), ReceivedInvite)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        Ok(INVITES.scan(view, &INVITES.range(), Direction::Ascending, MAX_INVITES)?)
    }
}
