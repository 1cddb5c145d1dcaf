//! The channel's own rows, and the operations that change its members.

use serde::{Deserialize, Serialize};

use super::invites::{self, InviteStatus};
use super::{ChannelAbout, ChannelActivity, Role, id_of, listing, posts, unknown_channel};
use crate::agent::memberships::{AddMembership, ForgetMembership};
use crate::directory::Did;
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::actor_id;
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Read, Row, Table};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Channel {
    pub about: ChannelAbout,
    /// The key of its posts, sealed under a master key. When this row is deleted, the posts cannot be opened any more.
    #[serde(with = "engine::kv::bytes")]
    pub key: Vec<u8>,
}
impl Row for Channel {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChannelCounts {
    pub activity: ChannelActivity,
    /// Bytes of its posts.
    pub bytes: u64,
    /// Number of invites that are stored.
    pub invites: u64,
    /// When the list of public channels last heard of the channel.
    pub told: Timestamp,
}
impl Row for ChannelCounts {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Member {
    role: Role,
    joined: Timestamp,
}
impl Row for Member {}

pub(super) const CHANNEL: Table<(), Channel> = Table::new(16);
pub(super) const COUNTS: Table<(), ChannelCounts> = Table::new(17);
const MEMBERS: Table<(Did,), Member> = Table::new(18);
/// For a DID whose registration gave way to another: the time until which posts are of the earlier registration.
pub(super) const DISPLACED: Table<(Did,), Timestamp> = Table::new(130);
/// Members by the time they joined.
const SENIORITY: Table<(Timestamp, Did), ()> = Table::new(19);

/// Key of the timer that deletes old rows.
pub(super) const SWEEP: &str = "sweep";

pub(super) fn channel(view: &(impl Read + ?Sized)) -> Result<Channel> {
    CHANNEL.get(view, &())?.ok_or_else(unknown_channel)
}

pub(super) fn counts(view: &(impl Read + ?Sized)) -> Result<ChannelCounts> {
    COUNTS.get(view, &())?.ok_or_else(unknown_channel)
}

/// Stores counts, and tells the list of public channels when it is time.
pub(super) fn put_counts(turn: &mut Turn<'_>, about: &ChannelAbout, mut counts: ChannelCounts) -> Result<()> {
    listing::changed(turn, about, &mut counts)?;
    Ok(COUNTS.put(turn, &(), &counts)?)
}

pub(super) fn role(view: &(impl Read + ?Sized), did: &Did) -> Result<Option<Role>> {
    Ok(MEMBERS.get(view, &(*did,))?.map(|member| member.role))
}

/// The role of a member. An agent that is no member gets 403 when the channel is public or the agent is invited, and
/// otherwise 404 (decision foreign-is-404).
pub(super) fn member(view: &(impl Read + ?Sized), channel: &Channel, did: &Did, now: Timestamp) -> Result<Role> {
    match role(view, did)? {
        Some(role) => Ok(role),
        None if !channel.about.private || invites::pending(view, did, now)?.is_some() => {
            Err(Error::new(ErrorCode::Forbidden, "Only members may do this: join the channel first."))
        }
        None => Err(unknown_channel()),
    }
}

/// Makes a channel with its creator as owner.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CreateChannel {
    /// Its `created` is set here.
    pub about: ChannelAbout,
    /// The channel's key, sealed.
    pub key: Vec<u8>,
}

impl Operation for CreateChannel {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "create";
    /// The channel as it was made.
    type Reply = (ChannelAbout, ChannelActivity);

    fn run(self, turn: &mut Turn<'_>) -> Result<(ChannelAbout, ChannelActivity)> {
        if CHANNEL.contains(turn, &())? {
            return Err(Error::conflict("There is a channel with this id already."));
        }
        let channel = Channel { about: ChannelAbout { created: turn.now, ..self.about }, key: self.key };
        CHANNEL.put(turn, &(), &channel)?;
        let activity = ChannelActivity { members: 0, posts: 0, last: turn.now };
        let counts = ChannelCounts { activity, bytes: 0, invites: 0, told: Timestamp::MIN };
        admit(turn, &channel, counts, channel.about.creator, Role::Owner)?;
        let activity = self::counts(turn)?.activity;
        Ok((channel.about, activity))
    }
}

/// Adds a member. The agent leaves again when it has no room for another channel, or is gone.
fn admit(turn: &mut Turn<'_>, channel: &Channel, mut counts: ChannelCounts, did: Did, role: Role) -> Result<()> {
    if counts.activity.members >= u64::from(turn.settings.channel_members) {
        return Err(Error::conflict("This channel has the largest number of members that is allowed."));
    }
    let joined = turn.now;
    MEMBERS.put(turn, &(did,), &Member { role, joined })?;
    SENIORITY.put(turn, &(joined, did), &())?;
    counts.activity.members += 1;
    put_counts(turn, &channel.about, counts)?;
    let tell = AddMembership { channel: id_of(&turn.actor().name)?, about: channel.about.clone(), joined };
    turn.send_or(actor_id(&did), &tell, &Leave { did, joined: Some(joined), displaced: None })
}

/// The result of joining.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    pub role: Role,
    /// Whether the agent was a member before.
    pub already: bool,
}

/// Adds an agent that may join by itself, if it is not a member already.
pub(super) fn join(turn: &mut Turn<'_>, channel: &Channel, did: Did) -> Result<Admission> {
    if let Some(role) = role(turn, &did)? {
        return Ok(Admission { role, already: true });
    }
    let counts = counts(turn)?;
    admit(turn, channel, counts, did, Role::Member)?;
    Ok(Admission { role: Role::Member, already: false })
}

/// Joins a public channel, or a private one with a pending invite. Joining twice is no error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Join {
    pub did: Did,
}

impl Operation for Join {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "join";
    type Reply = Admission;

    fn run(self, turn: &mut Turn<'_>) -> Result<Admission> {
        let channel = channel(turn)?;
        let invite = invites::pending(turn, &self.did, turn.now)?;
        if channel.about.private && invite.is_none() && role(turn, &self.did)?.is_none() {
            return Err(unknown_channel());
        }
        let admission = join(turn, &channel, self.did)?;
        if let Some((local, invite)) = invite {
            invites::settle(turn, local, invite, InviteStatus::Accepted)?;
        }
        Ok(admission)
    }
}

/// Removes a member. The longest member follows an owner; a channel without members ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Leave {
    pub did: Did,
    /// Only the membership that began at this time; the agent itself has ended it already.
    pub joined: Option<Timestamp>,
    /// Posts until this time are of a registration that gave way to another of the same DID.
    pub displaced: Option<Timestamp>,
}

impl Operation for Leave {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "leave_channel";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let channel = channel(turn)?;
        if let Some(until) = self.displaced {
            // Posts that come in a burst get stamps a little ahead of the clock.
            let until = until.max(counts(turn)?.activity.last);
            DISPLACED.put(turn, &(self.did,), &until)?;
        }
        let found = MEMBERS.get(turn, &(self.did,))?;
        let Some(leaving) = found.filter(|member| self.joined.is_none_or(|joined| joined == member.joined)) else {
            return match self.joined {
                Some(_) => Ok(()),
                None => member(turn, &channel, &self.did, turn.now).map(|_| ()),
            };
        };
        MEMBERS.delete(turn, &(self.did,));
        SENIORITY.delete(turn, &(leaving.joined, self.did));
        if self.joined.is_none() {
            let left = ForgetMembership { channel: id_of(&turn.actor().name)?, joined: leaving.joined };
            turn.send(actor_id(&self.did), &left)?;
        }
        let Some(((joined, heir), ())) = SENIORITY.first(turn, &SENIORITY.range())? else { return end(turn, &channel) };
        if leaving.role == Role::Owner {
            MEMBERS.put(turn, &(heir,), &Member { role: Role::Owner, joined })?;
        }
        let mut counts = counts(turn)?;
        counts.activity.members = counts.activity.members.saturating_sub(1);
        put_counts(turn, &channel.about, counts)
    }
}

/// Ends the channel for everybody at once; its rows are deleted by timer.
fn end(turn: &mut Turn<'_>, channel: &Channel) -> Result<()> {
    CHANNEL.delete(turn, &());
    COUNTS.delete(turn, &());
    listing::ended(turn, &channel.about)?;
    turn.schedule(SWEEP, turn.now, &SweepChannel)
}

/// Rows of one kind that a run of the sweep deletes.
const BATCH: usize = 100;

/// Deletes the rows of a channel that has ended, or old invites of one that has not.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SweepChannel;

impl Operation for SweepChannel {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "sweep";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let next = match CHANNEL.get(turn, &())? {
            Some(_) => invites::drop_old(turn, BATCH)?,
            None => {
                let more = posts::drop_oldest(turn, BATCH)? | invites::drop_all(turn, BATCH)?;
                more.then_some(turn.now)
            }
        };
        match next {
            Some(due) => turn.schedule(SWEEP, due.max(turn.now), &SweepChannel),
            None => Ok(()),
        }
    }
}

/// A channel as one of its members sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberView {
    pub about: ChannelAbout,
    pub activity: ChannelActivity,
    pub role: Role,
    /// The channel's key, sealed.
    pub key: Vec<u8>,
}

/// Reads a channel for a member. Other agents get the answers of decision foreign-is-404.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadChannel {
    pub did: Did,
}

impl Query for ReadChannel {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "look";
    type Reply = MemberView;

    fn run(self, view: &View<'_>) -> Result<MemberView> {
        let channel = channel(view)?;
        let role = member(view, &channel, &self.did, view.now)?;
        Ok(MemberView { activity: counts(view)?.activity, about: channel.about, role, key: channel.key })
    }
}

/// Deletes at most `limit` rows from the beginning of a table. Returns them, and whether there may be more.
pub(super) fn take_off<K: engine::kv::Key, V: Row>(
    turn: &mut Turn<'_>,
    table: &Table<K, V>,
    limit: usize,
) -> Result<(Vec<(K, V)>, bool)> {
    let rows = table.scan(turn, &table.range(), Direction::Ascending, limit)?;
    rows.iter().for_each(|(key, _)| table.delete(turn, key));
    let more = rows.len() == limit;
    Ok((rows, more))
}
