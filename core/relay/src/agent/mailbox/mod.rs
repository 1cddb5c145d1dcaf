//! The mailbox of one agent.
//!
//! A message's key is its stamp: the time it was accepted, or one microsecond after the mailbox's last stamp if that is
//! later. So stamps are distinct and increase (decision message-stamps). The stamp orders messages, is the `timestamp`
//! that clients send back as `since`, and is the cursor of streams. It never appears in a message's id, since a sender
//! could then see how many messages the recipient gets (decision ids-lead-to-actors).
//!
//! | Module | What |
//! |---|---|
//! | `append` | storing a message, which decides every send |
//! | `shares` | the room that each class of senders may fill |
//! | `page`, `count` | reading messages; counts of unread ones |
//! | `marks` | read marks and deletion |
//! | `purge` | deletion of expired messages, by timer |
//! | `strangers` | deletion of unread messages of strangers |
//! | `sessions` | sealed sessions of agents whose keys the server holds |
//! | `stored` | messages by their stamps |
//! | `unread` | the unread messages of each sender |
//! | `earlier` | rows as schema 3 wrote them |
//!
//! | Table | What |
//! |---|---|
//! | `MESSAGES` | the stamps of ids, also for exact repeats (decision message-repeats); bodies that are large |
//! | `READ`, `UNREAD` | messages in order, each in one of the two; bodies stand here unless they are large |
//! | `UNREAD_FROM`, `THREADS` | indexes (decision mailbox-pages) |
//! | `SENDERS`, `COUNTERS` | use of the quota ([`shares`]), unread counts |
//! | `ENDS`, `GONE` | per-minute buckets of expiry, and of ids to forget (decision timers-and-alarms) |
//! | `SESSIONS`, `SESSION_DAYS` | sealed sessions of senders with keys of their own (decision server-side-sessions) |
//! | `BEGINNINGS` | beginnings of sessions of which no message was opened yet |
//!
//! A send changes four rows (decision rows-of-a-message). The cost of a commit depends on the pages it changes, so the
//! numbers of the tables put rows that change together side by side: the counters follow the newest unread message.

mod append;
mod count;
mod marks;
mod page;
mod purge;
mod sessions;
mod shares;
mod stored;
mod strangers;
mod unread;

use serde::{Deserialize, Serialize};

use super::activity::{self, ActivityCounts};
use crate::directory::Did;
use crate::{Result, Timestamp};
use crypto::hash;
use engine::actor::{Entry, Turn, View, operation, query};
use engine::kv::{self, Read, Row, StoreError, Table};
use engine::time::{DAY, MINUTE};

pub use append::{Append, Appended, Origin, RecipientFacts, append_error};
pub use count::{Unread, UnreadCount};
pub use marks::{Delete, MAX_MARKS, Mark, MarkRead};
pub use page::{Budget, Filter, MailboxItem, Page, ReadMessage, ReadPage, page};
pub use purge::Purge;
pub(super) use sessions::SESSIONS;
pub use sessions::{
    DropSessions, KnownSession, ReadSessions, SessionKey, StoreSessions, StoredSession, key as session_key,
};
use shares::{Amount, Class, Share, Shares};
pub use strangers::DropStrangers;
use unread::UnreadBlock;

/// Local part of a message id: 96 bits.
pub type Local = [u8; 12];

/// How long an exact repeat of a message gets the same id, in microseconds (decision message-repeats).
pub const REPEATS: i64 = DAY;

/// Bytes that the memory of an id counts against the quota: its rows in `MESSAGES` and `GONE`. They are part of the
/// size of a message, and stay after the message is gone until no repeat is expected any more. Otherwise a sender of
/// messages that expire at once could fill a mailbox without limit.
const REMEMBERED: u64 = 128;

/// The part of a message that filters and marks read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageHead {
    pub local: Local,
    pub from: Did,
    pub expires: Timestamp,
    pub read_at: Option<Timestamp>,
    /// Bytes that count against the quota: the texts, the ciphertext and a fixed overhead.
    pub size: u64,
    pub content_type: Option<String>,
    pub message_type: Option<String>,
    pub thread_id: Option<String>,
    pub reply_to: Option<String>,
    /// Whether the message is in the room that is kept for first messages.
    pub kept: bool,
}

/// A message in `UNREAD` or `READ`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Message {
    head: MessageHead,
    /// `None` if it is in `MESSAGES`: the body is larger than [`BESIDE`], or the message is from before version 3.
    body: Option<Body>,
}

impl Row for Message {
    const VERSION: u8 = 3;

    /// Version 1 ended before `kept`, version 2 before `body`.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        let missing: &[u8] = if version == 1 { &[0; 2] } else { &[0; 1] };
        kv::appended(version, version.clamp(1, 2), bytes, missing)
    }
}

/// Largest size of a message whose body stands beside its head. Larger bodies would make it costly to look through
/// heads, and to move a message when it is read.
const BESIDE: u64 = 2_304;

/// The part of a message that is delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    #[serde(with = "engine::kv::bytes")]
    pub ciphertext: Vec<u8>,
    pub nonce: [u8; 24],
    /// 64 bytes of Ed25519 or 32 of HMAC.
    pub signature: Vec<u8>,
    /// The exact text; `None` when the sender gave none.
    pub envelope: Option<String>,
    /// The sender's public keys at the time of sending.
    pub sender_signing: [u8; 32],
    pub sender_encryption: [u8; 32],
}
impl Row for Body {}

/// The stamps of a message under its local id. They stay after it is gone, while a repeat is still expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct MessageRow {
    stamp: Timestamp,
    expires: Timestamp,
    /// `None` if the body stands beside its head, or the message is gone.
    body: Option<Body>,
}
impl Row for MessageRow {}

impl MessageRow {
    /// The time from which no repeat of this message is expected.
    fn repeats_end(stamp: Timestamp) -> Timestamp {
        stamp.plus(REPEATS)
    }
}

/// A message that is gone, by the minute after which no repeat is expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct GoneMessageRow {
    /// The sender, against whose share the memory of the id counts.
    from: Did,
}
impl Row for GoneMessageRow {}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sender {
    held: Amount,
    /// Its unread messages; see [`unread`].
    unread: u64,
    /// The sender's class when its last message came. All its messages count in the share of that class.
    class: Class,
    /// The part of `held` that is in the room kept for first messages.
    kept: Amount,
    /// The stamps of its newest unread messages, ascending.
    newest: Vec<Timestamp>,
}

impl Row for Sender {
    const VERSION: u8 = 4;
    /// Version 1 ended before `class`. Version 2 ended before `kept`, and `class` said only whether the sender was
    /// silent. Version 3 ended before `newest`.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        let missing: &[u8] = match version {
            1 => &[0; 4],
            2 => &[0; 3],
            _ => &[0; 1],
        };
        kv::appended(version, version.clamp(1, 3), bytes, missing)
    }
}

impl Sender {
    fn share(&self) -> Share {
        Share { held: self.held, kept: self.kept }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counters {
    last: Timestamp,
    messages: u64,
    bytes: u64,
    unread: u64,
    /// The day, since 1970, of `received` and `read`; see [`super::activity`].
    day: u32,
    received: u64,
    read: u64,
    /// The room that each class of senders takes.
    shares: Shares,
}

impl Row for Counters {
    const VERSION: u8 = 3;

    /// Version 1 ended before `day`, version 2 before `shares`.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        let missing: &[u8] = if version == 1 { &[0; 15] } else { &[0; 12] };
        kv::appended(version, version.clamp(1, 2), bytes, missing)
    }
}

/// Called for a mailbox from before [`Counters::shares`], where the room of silent senders was a row of its own.
pub(crate) fn begin(turn: &mut Turn<'_>) -> Result<()> {
    let Some(silent) = UNPROVED.get(turn, &())? else { return Ok(()) };
    let mut counters = COUNTERS.get(turn, &())?.unwrap_or_default();
    counters.shares.of(Class::Silent).held = silent;
    COUNTERS.put(turn, &(), &counters)?;
    UNPROVED.delete(turn, &());
    Ok(())
}

/// Counts arrivals and first readings of today. The counts of a day that is over move to a row of their own.
fn count_today(turn: &mut Turn<'_>, counters: &mut Counters, received: u64, read: u64) -> Result<()> {
    let today = activity::day_of(turn.now);
    if counters.day != today {
        activity::add(turn, counters.day.max(1), &counters.today())?;
        (counters.day, counters.received, counters.read) = (today, 0, 0);
    }
    counters.received += received;
    counters.read += read;
    Ok(())
}

/// The latest stamp.
fn latest(view: &(impl Read + ?Sized)) -> Result<Timestamp> {
    Ok(COUNTERS.get(view, &())?.unwrap_or_default().last)
}

impl Counters {
    fn today(&self) -> ActivityCounts {
        ActivityCounts { received: self.received, read: self.read, ..ActivityCounts::default() }
    }
}

/// What a mailbox holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    pub messages: u64,
    /// Those that nobody has read.
    pub unread: u64,
    pub bytes: u64,
}

/// What this mailbox holds, expired messages of the last minute too.
pub fn held(view: &(impl Read + ?Sized)) -> Result<Held> {
    let Counters { messages, unread, bytes, .. } = COUNTERS.get(view, &())?.unwrap_or_default();
    Ok(Held { messages, unread, bytes })
}

/// The last day on which something arrived or was read, and its counts.
pub(super) fn today(view: &(impl Read + ?Sized)) -> Result<(u32, ActivityCounts)> {
    let counters = COUNTERS.get(view, &())?.unwrap_or_default();
    Ok((counters.day, counters.today()))
}

/// Forgets the counts that [`today`] returns.
pub(super) fn forget_today(turn: &mut Turn<'_>) -> Result<()> {
    match COUNTERS.get(turn, &())? {
        Some(counters) if counters.day > 0 => {
            Ok(COUNTERS.put(turn, &(), &Counters { day: 0, received: 0, read: 0, ..counters })?)
        }
        _ => Ok(()),
    }
}

type Thread = [u8; 16];

const MESSAGES: Table<(Local,), MessageRow> = Table::new(32);
const READ: Table<(Timestamp,), Message> = Table::new(33);
const UNREAD: Table<(Timestamp,), Message> = Table::new(34);
const COUNTERS: Table<(), Counters> = Table::new(35);
const UNREAD_FROM: Table<(Did, Timestamp), UnreadBlock> = Table::new(36);
const SENDERS: Table<(Did,), Sender> = Table::new(37);
const THREADS: Table<(Thread, Timestamp), ()> = Table::new(38);
/// Used only before [`begin`].
const UNPROVED: Table<(), Amount> = Table::new(44);
/// By the minute in which messages expire and the minute in which they came: the stamp from which to look.
const ENDS: Table<(Timestamp, Timestamp), Timestamp> = Table::new(39);
const GONE: Table<(Timestamp, Local), GoneMessageRow> = Table::new(40);

pub const ENTRIES: &[Entry] = &[
    operation::<Append>(),
    operation::<MarkRead>(),
    operation::<Delete>(),
    operation::<Purge>(),
    operation::<StoreSessions>(),
    operation::<DropSessions>(),
    operation::<DropStrangers>(),
    query::<Page>(),
    query::<ReadMessage>(),
    query::<UnreadCount>(),
    query::<ReadSessions>(),
];

/// Threads may have names of any length; the keys of their index all have one length.
fn thread_key(thread_id: &str) -> Thread {
    let digest = hash::sha256(thread_id.as_bytes());
    let mut key = Thread::default();
    key.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    key
}

/// The end of the minute that holds a time.
fn bucket(time: Timestamp) -> Timestamp {
    Timestamp(time.0.saturating_add(MINUTE - 1).div_euclid(MINUTE).saturating_mul(MINUTE))
}

/// The message of an id, if it is there and has not expired.
fn find(view: &(impl Read + ?Sized), local: &Local, now: Timestamp) -> Result<Option<(Timestamp, Message)>> {
    let stored = MESSAGES.get(view, &(*local,))?.filter(|stored| stored.expires > now);
    let Some(MessageRow { stamp, .. }) = stored else { return Ok(None) };
    Ok(stored::get(view, stamp)?.map(|message| (stamp, message)))
}

/// The message of an id with this stamp, if it is there and has not expired.
pub fn item(view: &View<'_>, local: &Local, stamp: Timestamp) -> Result<Option<MailboxItem>> {
    match find(view, local, view.now)? {
        Some((found, message)) if found == stamp => stored::item(view, stamp, message),
        _ => Ok(None),
    }
}

/// Removes a message from the unread ones and from their counts.
fn leave_unread(turn: &mut Turn<'_>, stamp: Timestamp, from: Did) -> Result<()> {
    UNREAD.delete(turn, &(stamp,));
    let mut counters = COUNTERS.get(turn, &())?.unwrap_or_default();
    counters.unread = counters.unread.saturating_sub(1);
    COUNTERS.put(turn, &(), &counters)?;
    if let Some(mut sender) = SENDERS.get(turn, &(from,))? {
        unread::remove(turn, from, &mut sender, stamp)?;
        SENDERS.put(turn, &(from,), &sender)?;
    }
    Ok(())
}

/// Removes a message from the mailbox. Its id stays known while repeats are expected, see [`forget`].
fn remove(turn: &mut Turn<'_>, stamp: Timestamp, message: &Message) -> Result<()> {
    let head = &message.head;
    match head.read_at {
        None => leave_unread(turn, stamp, head.from)?,
        Some(_) => READ.delete(turn, &(stamp,)),
    }
    if let Some(thread_id) = &head.thread_id {
        THREADS.delete(turn, &(thread_key(thread_id), stamp));
    }
    let repeats_end = MessageRow::repeats_end(stamp);
    let kept = if repeats_end > turn.now {
        if message.body.is_none() {
            MESSAGES.put(turn, &(head.local,), &MessageRow { stamp, expires: head.expires, body: None })?;
        }
        GONE.put(turn, &(bucket(repeats_end), head.local), &GoneMessageRow { from: head.from })?;
        purge::schedule(turn, bucket(repeats_end))?;
        REMEMBERED
    } else {
        MESSAGES.delete(turn, &(head.local,));
        0
    };
    let gone = Amount::new(1, head.size.saturating_sub(kept));
    // The memory of the id moves to the common room.
    let of_kept = if head.kept { Amount::new(1, head.size) } else { Amount::default() };
    free(turn, head.from, Share { held: gone, kept: of_kept })
}

/// Forgets the id of a message that is gone: a repeat would be a new message from now on.
fn forget(turn: &mut Turn<'_>, local: &Local, stamp: Timestamp, from: Did) -> Result<()> {
    MESSAGES.delete(turn, &(*local,));
    GONE.delete(turn, &(bucket(MessageRow::repeats_end(stamp)), *local));
    free(turn, from, Share { held: Amount::new(0, REMEMBERED), kept: Amount::default() })
}

/// Frees room in the mailbox, and in the shares of the sender and its class.
fn free(turn: &mut Turn<'_>, from: Did, gone: Share) -> Result<()> {
    let mut counters = COUNTERS.get(turn, &())?.unwrap_or_default();
    counters.messages = counters.messages.saturating_sub(gone.held.messages);
    counters.bytes = counters.bytes.saturating_sub(gone.held.bytes);
    if let Some(mut sender) = SENDERS.get(turn, &(from,))? {
        (sender.held, sender.kept) = (sender.held.less(gone.held), sender.kept.less(gone.kept));
        let share = counters.shares.of(sender.class);
        *share = share.less(gone);
        match sender.held == Amount::default() {
            true => SENDERS.delete(turn, &(from,)),
            false => SENDERS.put(turn, &(from,), &sender)?,
        }
    }
    Ok(COUNTERS.put(turn, &(), &counters)?)
}

#[cfg(test)]
pub(in crate::agent) mod earlier;
#[cfg(test)]
mod tests;
