//! Invites into a channel. The channel stores and decides them; the invited agent has a copy, which follows by effects.

use serde::{Deserialize, Serialize};

use super::id_of;
use super::record::{self, Admission, SWEEP, SweepChannel, take_off};
use crate::agent::consent::Wrote;
use crate::agent::mailbox::Local;
use crate::agent::memberships::{Invited, Settled};
use crate::directory::Did;
use crate::{Error, Result, Timestamp};
use crypto::encoding::actor_id;
use crypto::sealing::{self, KeyId};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Read, Row, Table};
use engine::time::{DAY, HOUR};

/// The purpose for which the text of an invite is sealed, under the master key and for the channel. The text is stored
/// here and at the invited agent.
pub const PURPOSE: &str = "invite/1";
/// How long an invite is kept after its end, in microseconds, so that a late answer is told what happened.
pub const REMEMBERED: i64 = 30 * DAY;
/// Most invites of one channel that are kept; our choice.
const MAX_INVITES: u64 = 10_000;

/// The state of an invite. A pending one is expired after its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum InviteStatus {
    Pending,
    Accepted,
    Declined,
    /// Only at the invited agent: the channel has ended, so the invite is deleted.
    Withdrawn,
}

impl InviteStatus {
    /// The word for the state in answers at this time.
    pub fn as_str(self, expires: Timestamp, now: Timestamp) -> &'static str {
        match self {
            InviteStatus::Pending if expires <= now => "expired",
            InviteStatus::Pending => "pending",
            InviteStatus::Accepted => "accepted",
            InviteStatus::Declined => "declined",
            InviteStatus::Withdrawn => "withdrawn",
        }
    }
}

/// An invite as the channel stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredInvite {
    pub inviter: Did,
    pub inviter_name: Option<String>,
    pub invitee: Did,
    /// Sealed for [`PURPOSE`]; a text from before texts were sealed is plain.
    pub message: Option<String>,
    pub created: Timestamp,
    pub expires: Timestamp,
    pub status: InviteStatus,
}
impl Row for StoredInvite {}

const INVITES: Table<(Local,), StoredInvite> = Table::new(21);
const INVITED: Table<(Did, Local), ()> = Table::new(22);
/// By the time at which they are deleted.
const ENDS: Table<(Timestamp, Local), ()> = Table::new(23);

/// The pending invite of an agent.
pub(super) fn pending(view: &(impl Read + ?Sized), did: &Did, now: Timestamp) -> Result<Option<(Local, StoredInvite)>> {
    let own = INVITED.prefix(&(*did,));
    // An agent has at most one, since a new invite is made only when none is pending.
    for ((_, local), ()) in INVITED.scan(view, &own, Direction::Ascending, MAX_OF_ONE)? {
        let invite = INVITES.get(view, &(local,))?;
        if let Some(invite) = invite.filter(|invite| invite.status == InviteStatus::Pending && invite.expires > now) {
            return Ok(Some((local, invite)));
        }
    }
    Ok(None)
}

/// Most kept invites of one agent into one channel; an agent that declined so often is not invited again so soon.
const MAX_OF_ONE: usize = 16;

/// Reads texts of invites that are not under the master key `current`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TextsBehind {
    pub current: KeyId,
    pub limit: u32,
}

impl Query for TextsBehind {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "invite_texts_behind";
    type Reply = Vec<(Local, String)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let mut found = Vec::new();
        INVITES.visit(view, INVITES.range(), Direction::Ascending, |(local,), invite| {
            let behind = |text: &String| sealing::text_key_id(text) != Some(self.current);
            found.extend(invite.message.filter(behind).map(|text| (local, text)));
            Ok(found.len() < self.limit as usize)
        })?;
        Ok(found)
    }
}

/// Counts texts of invites: all, and those that are not under the master key `current`.
pub(super) fn count_texts(view: &View<'_>, current: KeyId) -> Result<(u64, u64)> {
    let (mut all, mut earlier) = (0, 0);
    INVITES.visit(view, INVITES.range(), Direction::Ascending, |_, invite| {
        if let Some(text) = invite.message {
            all += 1;
            earlier += u64::from(sealing::text_key_id(&text) != Some(current));
        }
        Ok(true)
    })?;
    Ok((all, earlier))
}

/// Replaces texts that still hold what was read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResealTexts {
    /// The id of the invite, the text that was read, and the new text.
    pub values: Vec<(Local, String, String)>,
}

impl Operation for ResealTexts {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "reseal_invites";
    /// How many texts were replaced.
    type Reply = u32;

    fn run(self, turn: &mut Turn<'_>) -> Result<u32> {
        let mut replaced = 0;
        for (local, old, new) in self.values {
            let found = INVITES.get(turn, &(local,))?.filter(|invite| invite.message.as_ref() == Some(&old));
            if let Some(invite) = found {
                INVITES.put(turn, &(local,), &StoredInvite { message: Some(new), ..invite })?;
                replaced += 1;
            }
        }
        Ok(replaced)
    }
}

/// Settles an invite and tells the invited agent.
pub(super) fn settle(turn: &mut Turn<'_>, local: Local, invite: StoredInvite, status: InviteStatus) -> Result<()> {
    let settled = Settled { channel: id_of(&turn.actor().name)?, local, status };
    turn.send(actor_id(&invite.invitee), &settled)?;
    if status == InviteStatus::Accepted {
        // An agent knows the agents that accepted its invites.
        turn.send(actor_id(&invite.inviter), &Wrote { to: invite.invitee })?;
    }
    Ok(INVITES.put(turn, &(local,), &StoredInvite { status, ..invite })?)
}

/// Invites an agent. When it has a pending invite, the reply is that one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Invite {
    /// The id of a new invite, made by the handler.
    pub local: Local,
    pub inviter: Did,
    pub inviter_name: Option<String>,
    pub invitee: Did,
    pub message: Option<String>,
    pub hours: u32,
}

/// The pending invite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub local: Local,
    pub channel_name: String,
    pub invite: StoredInvite,
}

impl Operation for Invite {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "invite";
    type Reply = Waiting;

    fn run(self, turn: &mut Turn<'_>) -> Result<Waiting> {
        let channel = record::channel(turn)?;
        record::member(turn, &channel, &self.inviter, turn.now)?;
        let about = channel.about;
        if record::role(turn, &self.invitee)?.is_some() {
            return Err(Error::conflict("This agent is a member already."));
        }
        if let Some((local, invite)) = pending(turn, &self.invitee, turn.now)? {
            return Ok(Waiting { local, channel_name: about.name, invite });
        }
        let mut counts = record::counts(turn)?;
        let own = INVITED.prefix(&(self.invitee,));
        let earlier = INVITED.scan(turn, &own, Direction::Ascending, MAX_OF_ONE)?.len();
        if counts.invites >= MAX_INVITES || earlier >= MAX_OF_ONE {
            return Err(Error::conflict("There are too many invites from the last weeks; retry later."));
        }
        let (local, created) = (self.local, turn.now);
        let expires = created.plus(i64::from(self.hours).saturating_mul(HOUR));
        let invite = StoredInvite {
            inviter: self.inviter,
            inviter_name: self.inviter_name,
            invitee: self.invitee,
            message: self.message,
            created,
            expires,
            status: InviteStatus::Pending,
        };
        INVITES.put(turn, &(local,), &invite)?;
        INVITED.put(turn, &(invite.invitee, local), &())?;
        let end = expires.plus(REMEMBERED);
        ENDS.put(turn, &(end, local), &())?;
        if turn.scheduled(SWEEP)?.is_none_or(|due| due > end) {
            turn.schedule(SWEEP, end, &SweepChannel)?;
        }
        counts.invites += 1;
        record::COUNTS.put(turn, &(), &counts)?;
        let channel = id_of(&turn.actor().name)?;
        let tell = Invited { channel, local, channel_name: about.name.clone(), invite: invite.clone() };
        turn.send_or(actor_id(&invite.invitee), &tell, &TakeBack { local })?;
        Ok(Waiting { local, channel_name: about.name, invite })
    }
}

/// The answer for an invite that does not exist or is for another agent.
pub fn unknown_invite() -> Error {
    Error::not_found("There is no such invite.")
}

/// The invited agent answers an invite.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Respond {
    pub local: Local,
    pub did: Did,
    pub accept: bool,
}

impl Operation for Respond {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "respond";
    /// The result of joining, for an accepted invite.
    type Reply = Option<Admission>;

    fn run(self, turn: &mut Turn<'_>) -> Result<Option<Admission>> {
        let found = INVITES.get(turn, &(self.local,))?.filter(|invite| invite.invitee == self.did);
        let invite = found.ok_or_else(unknown_invite)?;
        let channel = record::channel(turn).map_err(|_| unknown_invite())?;
        let wanted = if self.accept { InviteStatus::Accepted } else { InviteStatus::Declined };
        // A repeated answer is no error while it still holds.
        if invite.status == wanted {
            return match record::role(turn, &self.did)? {
                Some(role) if self.accept => Ok(Some(Admission { role, already: true })),
                None if self.accept => Err(Error::conflict("This invite was used; the agent has left since.")),
                _ => Ok(None),
            };
        }
        if invite.status != InviteStatus::Pending {
            return Err(Error::conflict("This invite was answered before."));
        }
        if invite.expires <= turn.now {
            return Err(Error::conflict("This invite has expired."));
        }
        let admission = self.accept.then(|| record::join(turn, &channel, self.did)).transpose()?;
        settle(turn, self.local, invite, wanted)?;
        Ok(admission)
    }
}

/// The invited agent accepts no more invites, or is gone, so the invite is deleted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TakeBack {
    pub local: Local,
}

impl Operation for TakeBack {
    const ACTOR: Kind = Kind::Channel;
    const NAME: &'static str = "take_back";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(invite) = INVITES.get(turn, &(self.local,))? else { return Ok(()) };
        forget(turn, self.local, &invite);
        uncount(turn, 1)
    }
}

fn forget(turn: &mut Turn<'_>, local: Local, invite: &StoredInvite) {
    INVITES.delete(turn, &(local,));
    INVITED.delete(turn, &(invite.invitee, local));
    ENDS.delete(turn, &(invite.expires.plus(REMEMBERED), local));
}

fn uncount(turn: &mut Turn<'_>, many: u64) -> Result<()> {
    if let Some(mut counts) = record::COUNTS.get(turn, &())? {
        counts.invites = counts.invites.saturating_sub(many);
        record::COUNTS.put(turn, &(), &counts)?;
    }
    Ok(())
}

/// Deletes invites that ended long ago. Returns when the next one is due.
pub(super) fn drop_old(turn: &mut Turn<'_>, limit: usize) -> Result<Option<Timestamp>> {
    let due = ENDS.between(&(), &(turn.now.plus(1),));
    let mut dropped = 0;
    for ((end, local), ()) in ENDS.scan(turn, &due, Direction::Ascending, limit)? {
        match INVITES.get(turn, &(local,))? {
            Some(invite) => forget(turn, local, &invite),
            None => ENDS.delete(turn, &(end, local)),
        }
        dropped += 1;
    }
    uncount(turn, dropped)?;
    Ok(ENDS.first(turn, &ENDS.range())?.map(|((end, _), ())| end))
}

/// Deletes invites of a channel that has ended, and withdraws the pending ones. True when there may be more.
pub(super) fn drop_all(turn: &mut Turn<'_>, limit: usize) -> Result<bool> {
    let (rows, more) = take_off(turn, &INVITES, limit)?;
    let channel = id_of(&turn.actor().name)?;
    for ((local,), invite) in rows {
        forget(turn, local, &invite);
        if invite.status == InviteStatus::Pending {
            turn.send(actor_id(&invite.invitee), &Settled { channel, local, status: InviteStatus::Withdrawn })?;
        }
    }
    Ok(more)
}
