//! Appends a message: the operation that decides every send.

use serde::{Deserialize, Serialize};

use super::shares::{Amount, Class, Rooms, Share};
use super::{
    BESIDE, Body, COUNTERS, Counters, Local, MESSAGES, Message, MessageHead, MessageRow, SENDERS, Sender, THREADS,
    UNREAD, count_today, forget, purge, remove, sessions, stored, thread_key, unread,
};
use crate::agent::consent::{self, Wrote};
use crate::agent::continuity;
use crate::agent::pins::Prints;
use crate::agent::record::{self, Agent};
use crate::agent::standing::Standing;
use crate::agent::waiting::Sign;
use crate::directory::Did;
use crate::{Error, ErrorCode, Result, Timestamp, webhook};
use engine::actor::{Kind, Operation, Turn};
use engine::time::SECOND;

/// Seconds after which a sender may try again when the mailbox was full.
const FULL_RETRY: u32 = 60;
/// Bytes that a message counts beyond its own: keys, stamps, index rows, and [`super::REMEMBERED`].
const OVERHEAD: u64 = 256;

/// Appends a message to the recipient's mailbox, or finds that it is already there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Append {
    /// Made by the sender's handler: the same for an exact repeat, and different for every other message.
    pub local: Local,
    pub from: Did,
    pub body: Body,
    pub content_type: Option<String>,
    pub message_type: Option<String>,
    pub thread_id: Option<String>,
    pub reply_to: Option<String>,
    /// Seconds.
    pub ttl: u32,
    /// The version of the recipient's keys that the server encrypted to; `None` when the sender encrypted.
    pub expected_version: Option<u64>,
    /// Whether the envelope carries the ML-KEM ciphertext of a session.
    pub opens_session: bool,
    pub origin: Origin,
    /// The version of the sender's keys that this message proved to be its own.
    pub proves: Option<u64>,
    /// The answer to [`Appended::Ask`], when the recipient asked.
    pub asked: Option<RecipientFacts>,
    /// True when this relay has no peers, so the owner of the recipient's DID cannot be at one.
    pub alone: bool,
}

/// Facts that take more reads, so they are looked up only when they can matter: that the recipient's owner is at no
/// peer, and the keys that the sender pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecipientFacts {
    /// The keys of the recipient that the sender pinned.
    pub pinned: Option<Prints>,
}

/// What is known about a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The sender showed before that it holds its signing key (decision signed-registrations).
    Proved,
    /// The sender has an API key here and no more.
    Unproved,
    /// Another relay speaks for the sender. The sender has no actor here, and shares the room of silent senders.
    Elsewhere,
}

impl Origin {
    /// The origin of an agent that has an API key here.
    pub fn of(standing: Standing) -> Origin {
        if standing.has_signed() { Origin::Proved } else { Origin::Unproved }
    }
}

/// The outcome of [`Append`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Appended {
    Stored {
        stamp: Timestamp,
        expires: Timestamp,
        /// The recipient has other keys than before, and the sender must be told.
        key_changed: bool,
    },
    /// The same message was accepted before, at `stamp`.
    Repeated { stamp: Timestamp, expires: Timestamp, key_changed: bool },
    /// The recipient has other keys now, so the handler must encrypt again (decision one-deciding-operation).
    KeysChanged,
    /// The handler must look up [`RecipientFacts`] first: the recipient proved nothing, or its keys have changed.
    Ask,
}

/// The answer when the recipient does not exist, no longer exists, or refuses the sender.
pub fn append_error() -> Error {
    Error::not_found("There is no such recipient.")
}

impl Append {
    /// The head of the message, before its expiry is known.
    fn head(&self) -> MessageHead {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let bytes = self.body.ciphertext.len()
            + self.body.signature.len()
            + text(&self.body.envelope)
            + [&self.content_type, &self.message_type, &self.thread_id, &self.reply_to].map(text).iter().sum::<usize>();
        MessageHead {
            local: self.local,
            from: self.from,
            expires: Timestamp::MAX,
            read_at: None,
            size: bytes as u64 + OVERHEAD,
            content_type: self.content_type.clone(),
            message_type: self.message_type.clone(),
            thread_id: self.thread_id.clone(),
            reply_to: self.reply_to.clone(),
            kept: false,
        }
    }

    /// The answer when the id is taken: the same message is still visible, or repeats of it are expected. Otherwise
    /// the id is freed.
    fn repeat(&self, turn: &mut Turn<'_>) -> Result<Option<Appended>> {
        let Some(MessageRow { stamp, expires, .. }) = MESSAGES.get(turn, &(self.local,))? else { return Ok(None) };
        let expected = MessageRow::repeats_end(stamp) > turn.now;
        let found = if expected { None } else { stored::get(turn, stamp)? };
        if expected || (found.is_some() && expires > turn.now) {
            return Ok(Some(Appended::Repeated { stamp, expires, key_changed: self.tell(turn)? }));
        }
        match found {
            Some(message) => remove(turn, stamp, &message)?,
            None => forget(turn, &self.local, stamp, self.from)?,
        }
        Ok(None)
    }

    /// The sender's class to the owner now.
    fn class(&self, turn: &Turn<'_>, recipient: &Agent, keys: Prints) -> Result<Class> {
        if consent::knows(turn, turn.actor(), recipient, self.from, Some(keys))? {
            return Ok(Class::Known);
        }
        Ok(if self.origin == Origin::Proved { Class::Stranger } else { Class::Silent })
    }

    /// Finds room for the message, notes in its head whether that is kept room, and adds it to the counters. Refuses
    /// the message when there is no room. The caller stores what this returns.
    fn occupy(&self, turn: &mut Turn<'_>, head: &mut MessageHead, class: Class) -> Result<(Counters, Sender)> {
        let refuse = |message: &'static str| Error::new(ErrorCode::MailboxFull, message).retry_after(FULL_RETRY);
        let mut counters = COUNTERS.get(turn, &())?.unwrap_or_default();
        let known = SENDERS.get(turn, &(self.from,))?;
        if known.is_none() {
            self.introduce(turn)?;
        }
        let mut sender = known.unwrap_or_default();
        // The sender's earlier messages now count in its present class.
        let share = counters.shares.of(sender.class);
        *share = share.less(sender.share());
        let share = counters.shares.of(class);
        *share = share.plus(sender.share());
        sender.class = class;

        let (rooms, more) = (Rooms::of(turn.settings), Amount::new(1, head.size));
        rooms.check_sender(sender.held.plus(more), self.opens_session).map_err(refuse)?;
        let all = Amount::new(counters.messages, counters.bytes);
        head.kept = rooms.admit(all, counters.shares, class, more, self.opens_session).map_err(refuse)?;
        let share = Share { held: more, kept: if head.kept { more } else { Amount::default() } };
        (sender.held, sender.kept) = (sender.held.plus(share.held), sender.kept.plus(share.kept));
        let all = counters.shares.of(class);
        *all = all.plus(share);
        counters.messages += 1;
        counters.bytes += head.size;
        counters.unread += 1;
        Ok((counters, sender))
    }

    /// Whether to tell the sender that the recipient has other keys now.
    fn tell(&self, turn: &mut Turn<'_>) -> Result<bool> {
        match self.origin {
            Origin::Elsewhere => Ok(false),
            Origin::Proved | Origin::Unproved => continuity::tell(turn, self.from, self.local),
        }
    }

    /// Lets the sender remember that it wrote to this agent, so it knows this agent now (decision who-may-write).
    fn introduce(&self, turn: &mut Turn<'_>) -> Result<()> {
        let to = record::did_of(&turn.actor().name)?;
        if to == self.from || self.origin == Origin::Elsewhere {
            return Ok(());
        }
        turn.send(crypto::encoding::actor_id(&self.from), &Wrote { to })
    }
}

impl Operation for Append {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "append";
    type Reply = Appended;

    fn run(self, turn: &mut Turn<'_>) -> Result<Appended> {
        let recipient = record::active(turn)?.ok_or_else(append_error)?;
        // A repeat of an accepted message stays accepted, whatever the recipient has set since
        // (decision message-repeats).
        if let Some(repeat) = self.repeat(turn)? {
            return Ok(repeat);
        }
        let keys = Prints::of(&self.body.sender_signing, &self.body.sender_encryption);
        if !consent::admits(turn, turn.actor(), &recipient, self.from, Some(keys))? {
            return Err(append_error());
        }
        match &self.asked {
            Some(asked) => continuity::check(turn, &recipient, asked.pinned.as_ref())?,
            None if self.origin != Origin::Elsewhere && continuity::matters(turn, &recipient, self.alone)? => {
                return Ok(Appended::Ask);
            }
            None => {}
        }
        if self.expected_version.is_some_and(|version| version != recipient.keys.version) {
            return Ok(Appended::KeysChanged);
        }
        let key_changed = self.tell(turn)?;
        let mut head = self.head();
        let class = self.class(turn, &recipient, keys)?;
        let (mut counters, mut sender) = self.occupy(turn, &mut head, class)?;
        let stamp = turn.now.max(counters.last.plus(1));
        counters.last = stamp;
        count_today(turn, &mut counters, 1, 0)?;
        COUNTERS.put(turn, &(), &counters)?;
        unread::add(turn, self.from, &mut sender, stamp)?;
        SENDERS.put(turn, &(self.from,), &sender)?;

        let expires = stamp.plus(i64::from(self.ttl) * SECOND);
        head.expires = expires;
        if self.opens_session && recipient.keys.sealed.is_some() {
            sessions::begin(turn, self.from, stamp, &self.body)?;
        }
        if let Some(thread_id) = &self.thread_id {
            THREADS.put(turn, &(thread_key(thread_id), stamp), &())?;
        }
        let (beside, apart) = if head.size <= BESIDE { (Some(self.body), None) } else { (None, Some(self.body)) };
        UNREAD.put(turn, &(stamp,), &Message { head, body: beside })?;
        MESSAGES.put(turn, &(self.local,), &MessageRow { stamp, expires, body: apart })?;
        purge::note(turn, stamp, expires)?;
        webhook::enqueue(turn, webhook::Subject::Message { local: self.local, stamp })?;
        if let Some(version) = self.proves {
            turn.send(crypto::encoding::actor_id(&self.from), &Sign { version })?;
        }
        turn.wake();
        Ok(Appended::Stored { stamp, expires, key_changed })
    }
}
