//! The mailbox of one agent.
//!
//! A message's key is its stamp: the time it was accepted, or one microsecond after the mailbox's last stamp if that is
//! later, so stamps are distinct and increase (ruling foundation-relay 15). The stamp orders messages, is the
//! `timestamp` clients echo as `since`, and is the cursor of streams. It never shows in a message's id, which would
//! tell a sender how much the recipient gets (ruling foundation-relay 6).
//!
//! | Table | What |
//! |---|---|
//! | `HEADS`, `BODIES` | what filters look at; what is delivered |
//! | `UNREAD`, `UNREAD_FROM`, `THREADS` | indexes (ruling foundation-relay 10) |
//! | `LOCALS` | local part of the id to stamp; also remembers exact repeats (ruling foundation-relay 16) |
//! | `ENDS` | per-minute buckets of expiry (ruling foundation-relay 17) |
//! | `SENDERS`, `COUNTERS` | use of the quota, unread counts |
//! | `SESSIONS`, `SESSION_DAYS` | sealed sessions of senders with keys of their own (ruling foundation-relay 3) |
//! | `BEGINNINGS` | how sessions began that no message was opened of yet |

mod append;
mod count;
mod marks;
mod page;
mod purge;
mod sessions;

use serde::{Deserialize, Serialize};

use crate::actor::{Entry, Turn, operation, query};
use crate::crypto::hash;
use crate::directory::Did;
use crate::kv::{Read, Row, Table};
use crate::time::{DAY, MINUTE};
use crate::{Result, Timestamp};

pub use append::{Append, Appended, append_error};
pub use count::{Unread, UnreadCount};
pub use marks::{Delete, MAX_MARKS, Mark, MarkRead};
pub use page::{Budget, Filter, Item, Page, ReadPage, page};
pub use purge::Purge;
pub(super) use sessions::SESSIONS;
pub use sessions::{
    DropSessions, KnownSession, ReadSessions, SessionKey, StoreSessions, StoredSession, key as session_key,
};

/// Local part of a message id: 96 bits.
pub type Local = [u8; 12];

/// How long the id of a message is given again to an exact repeat, in microseconds (ruling foundation-relay 16).
pub const REPEATS: i64 = DAY;

/// What the memory of an id counts against the quota, in bytes: its rows in `LOCALS` and `ENDS`. Part of what a message
/// counts, and all that stays of it until no repeat is expected any more; else whoever sends messages that end at once
/// could fill a mailbox without limit.
const REMEMBERED: u64 = 128;

/// What filters and marks look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub local: Local,
    pub from: Did,
    pub expires: Timestamp,
    pub read_at: Option<Timestamp>,
    /// What counts against the quota: bytes of the texts and of the ciphertext.
    pub size: u64,
    pub content_type: Option<String>,
    pub message_type: Option<String>,
    pub thread_id: Option<String>,
    pub reply_to: Option<String>,
}
impl Row for Head {}

/// What is delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    pub ciphertext: Vec<u8>,
    pub nonce: [u8; 24],
    /// 64 bytes of Ed25519 or 32 of HMAC.
    pub signature: Vec<u8>,
    /// The exact text, or nothing when the sender gave none.
    pub envelope: Option<String>,
    /// The sender's public keys at the time of sending (spec relay 5.5).
    pub sender_signing: [u8; 32],
    pub sender_encryption: [u8; 32],
}
impl Row for Body {}

/// Where an id points. Outlives its message until no repeat of it is expected any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    stamp: Timestamp,
    expires: Timestamp,
}
impl Row for Place {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Ending {
    local: Local,
    /// Whose share the memory of the id counts against.
    from: Did,
}
impl Row for Ending {}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sender {
    messages: u64,
    bytes: u64,
    unread: u64,
}
impl Row for Sender {}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counters {
    last: Timestamp,
    messages: u64,
    bytes: u64,
    unread: u64,
}
impl Row for Counters {}

type Thread = [u8; 16];

const HEADS: Table<(Timestamp,), Head> = Table::new(32);
const BODIES: Table<(Timestamp,), Body> = Table::new(33);
const UNREAD: Table<(Timestamp,), ()> = Table::new(34);
const UNREAD_FROM: Table<(Did, Timestamp), ()> = Table::new(35);
const THREADS: Table<(Thread, Timestamp), ()> = Table::new(36);
const LOCALS: Table<(Local,), Place> = Table::new(37);
const ENDS: Table<(Timestamp, Timestamp), Ending> = Table::new(38);
const SENDERS: Table<(Did,), Sender> = Table::new(39);
const COUNTERS: Table<(), Counters> = Table::new(40);

pub const ENTRIES: &[Entry] = &[
    operation::<Append>(),
    operation::<MarkRead>(),
    operation::<Delete>(),
    operation::<Purge>(),
    operation::<StoreSessions>(),
    operation::<DropSessions>(),
    query::<Page>(),
    query::<UnreadCount>(),
    query::<ReadSessions>(),
];

/// Threads may have names of any length; their index has keys of one.
fn thread_key(thread_id: &str) -> Thread {
    let digest = hash::sha256(thread_id.as_bytes());
    let mut key = Thread::default();
    key.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    key
}

/// The minute at whose end everything that ends within it is purged.
fn bucket(end: Timestamp) -> Timestamp {
    Timestamp(end.0.saturating_add(MINUTE - 1).div_euclid(MINUTE).saturating_mul(MINUTE))
}

/// The message of an id, while it is there and has not expired.
fn find(view: &(impl Read + ?Sized), local: &Local, now: Timestamp) -> Result<Option<(Timestamp, Head)>> {
    let Some(place) = LOCALS.get(view, &(*local,))? else { return Ok(None) };
    let head = HEADS.get(view, &(place.stamp,))?.filter(|head| head.local == *local && head.expires > now);
    Ok(head.map(|head| (place.stamp, head)))
}

/// Counts a message as read in every index. The head itself is the caller's to write.
fn leave_unread(turn: &mut Turn<'_>, stamp: Timestamp, from: Did) -> Result<()> {
    UNREAD.delete(turn, &(stamp,));
    UNREAD_FROM.delete(turn, &(from, stamp));
    let mut counters = COUNTERS.get(turn, &())?.unwrap_or_default();
    counters.unread = counters.unread.saturating_sub(1);
    COUNTERS.put(turn, &(), &counters)?;
    if let Some(mut sender) = SENDERS.get(turn, &(from,))? {
        sender.unread = sender.unread.saturating_sub(1);
        SENDERS.put(turn, &(from,), &sender)?;
    }
    Ok(())
}

/// Takes a message out of the mailbox. Its id stays known for repeats, until [`forget`].
fn remove(turn: &mut Turn<'_>, stamp: Timestamp, head: &Head) -> Result<()> {
    if head.read_at.is_none() {
        leave_unread(turn, stamp, head.from)?;
    }
    if let Some(thread_id) = &head.thread_id {
        THREADS.delete(turn, &(thread_key(thread_id), stamp));
    }
    HEADS.delete(turn, &(stamp,));
    BODIES.delete(turn, &(stamp,));
    free(turn, head.from, 1, head.size.saturating_sub(REMEMBERED))
}

/// Forgets the id of a message that is gone: the same message would be a new one now.
fn forget(turn: &mut Turn<'_>, local: &Local, from: Did) -> Result<()> {
    LOCALS.delete(turn, &(*local,));
    free(turn, from, 0, REMEMBERED)
}

/// Gives room back to the mailbox and to the sender's share of it.
fn free(turn: &mut Turn<'_>, from: Did, messages: u64, bytes: u64) -> Result<()> {
    let mut counters = COUNTERS.get(turn, &())?.unwrap_or_default();
    counters.messages = counters.messages.saturating_sub(messages);
    counters.bytes = counters.bytes.saturating_sub(bytes);
    COUNTERS.put(turn, &(), &counters)?;
    if let Some(mut sender) = SENDERS.get(turn, &(from,))? {
        sender.messages = sender.messages.saturating_sub(messages);
        sender.bytes = sender.bytes.saturating_sub(bytes);
        match (sender.messages, sender.bytes) {
            (0, 0) => SENDERS.delete(turn, &(from,)),
            _ => SENDERS.put(turn, &(from,), &sender)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
