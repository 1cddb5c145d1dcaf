//! Reads messages in order (decision mailbox-pages).
//!
//! A reader walks the narrowest index that fits its filter, and at most [`MAX_SCAN`] rows of it. The other conditions
//! are checked on the head of each message, and large bodies are loaded only for messages that match.

use serde::{Deserialize, Serialize};

use super::{
    Body, COUNTERS, Counters, Local, Message, MessageHead, SENDERS, THREADS, find, stored, thread_key, unread,
};
use crate::directory::Did;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::Direction;

/// Most index rows that a call walks.
pub const MAX_SCAN: usize = 10_000;
/// Index rows that are read at a time.
const CHUNK: usize = 128;
/// The assumed number of messages in a thread, for the comparison with indexes whose size is known.
const THREAD_GUESS: u64 = 256;

/// Which messages to read. An absent condition holds for all messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Only messages with a later stamp.
    pub after: Option<Timestamp>,
    pub from: Option<Did>,
    pub thread_id: Option<String>,
    /// A message without a content type counts as `text/plain`.
    pub content_type: Option<String>,
    /// A message without a message type counts as `text`.
    pub message_type: Option<String>,
    pub unread: bool,
}

impl Filter {
    fn takes(&self, head: &MessageHead, now: Timestamp) -> bool {
        let equal = |wanted: &Option<String>, given: &Option<String>, default: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == given.as_deref().unwrap_or(default))
        };
        head.expires > now
            && (!self.unread || head.read_at.is_none())
            && self.from.is_none_or(|from| from == head.from)
            && self.thread_id.as_ref().is_none_or(|thread| head.thread_id.as_ref() == Some(thread))
            && equal(&self.content_type, &head.content_type, "text/plain")
            && equal(&self.message_type, &head.message_type, "text")
    }
}

/// How much to read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    pub messages: usize,
    /// Bytes after which no further message is taken; the first message is taken whatever its size.
    pub bytes: u64,
}

/// A message as it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailboxItem {
    pub stamp: Timestamp,
    pub head: MessageHead,
    pub body: Body,
}

/// Messages in ascending order of their stamps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPage {
    pub items: Vec<MailboxItem>,
    /// Whether there may be more after `reached`.
    pub has_more: bool,
    /// Everything up to this stamp was looked at; the next page starts after it.
    pub reached: Option<Timestamp>,
    /// The stamp of the last message that ever came; later messages have later stamps.
    pub newest: Timestamp,
}

impl ReadPage {
    /// A page without messages.
    pub fn empty(reached: Option<Timestamp>, newest: Timestamp) -> ReadPage {
        ReadPage { items: Vec::new(), has_more: false, reached, newest }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    All,
    Unread,
    UnreadFrom(Did),
    Thread([u8; 16]),
}

/// The index with the fewest rows to walk.
fn narrowest(view: &View<'_>, filter: &Filter, counters: &Counters) -> Result<Index> {
    let mut best = (counters.messages, Index::All);
    let mut weigh = |rows: u64, index: Index| {
        if rows < best.0 || best.1 == Index::All {
            best = (rows, index);
        }
    };
    if let Some(thread_id) = &filter.thread_id {
        weigh(THREAD_GUESS, Index::Thread(thread_key(thread_id)));
    }
    if filter.unread {
        weigh(counters.unread, Index::Unread);
        if let Some(from) = filter.from {
            let unread = SENDERS.get(view, &(from,))?.unwrap_or_default().unread;
            weigh(unread, Index::UnreadFrom(from));
        }
    }
    Ok(best.1)
}

/// The next stamps of an index after `after`, with the messages when the index holds them.
fn chunk(
    view: &View<'_>,
    index: Index,
    after: Option<Timestamp>,
    limit: usize,
) -> Result<Vec<(Timestamp, Option<Message>)>> {
    let start = after.map_or(Timestamp(i64::MIN), |after| after.plus(1));
    let end = Timestamp(i64::MAX);
    let ascending = Direction::Ascending;
    let known = |(stamp, message)| (stamp, Some(message));
    Ok(match index {
        Index::All => stored::all(view, start, end, limit)?.into_iter().map(known).collect(),
        Index::Unread => stored::unread(view, start, end, limit)?.into_iter().map(known).collect(),
        Index::UnreadFrom(from) => {
            unread::scan(view, from, (start, end), limit)?.into_iter().map(|stamp| (stamp, None)).collect()
        }
        Index::Thread(thread) => {
            let rows = THREADS.scan(view, &THREADS.between(&(thread, start), &(thread, end)), ascending, limit)?;
            rows.into_iter().map(|((_, stamp), ())| (stamp, None)).collect()
        }
    })
}

/// Reads a page.
pub fn page(view: &View<'_>, filter: &Filter, budget: Budget) -> Result<ReadPage> {
    let counters = COUNTERS.get(view, &())?.unwrap_or_default();
    let index = narrowest(view, filter, &counters)?;
    let mut found = ReadPage::empty(filter.after, counters.last);
    let (mut bytes, mut walked) = (0u64, 0usize);
    // Most pages are small, so the first step reads only as many rows as were asked for, and one more.
    let mut step = budget.messages.saturating_add(1).min(CHUNK);
    loop {
        let rows = chunk(view, index, found.reached, step)?;
        let ended = rows.len() < step;
        for (stamp, message) in rows {
            walked += 1;
            let message = match message {
                Some(message) => Some(message),
                None => stored::get(view, stamp)?,
            };
            if let Some(message) = message.filter(|message| filter.takes(&message.head, view.now)) {
                let full = found.items.len() >= budget.messages;
                if full || (!found.items.is_empty() && bytes + message.head.size > budget.bytes) {
                    found.has_more = true;
                    return Ok(found);
                }
                if let Some(item) = stored::item(view, stamp, message)? {
                    bytes += item.head.size;
                    found.items.push(item);
                }
            }
            found.reached = Some(stamp);
            if walked >= MAX_SCAN {
                found.has_more = true;
                return Ok(found);
            }
        }
        if ended {
            return Ok(found);
        }
        step = CHUNK;
    }
}

/// [`page`] as a query.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Page {
    pub filter: Filter,
    pub budget: Budget,
}

impl Query for Page {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "page";
    type Reply = ReadPage;

    fn run(self, view: &View<'_>) -> Result<ReadPage> {
        page(view, &self.filter, self.budget)
    }
}

/// Reads one message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadMessage {
    pub local: Local,
}

impl Query for ReadMessage {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "message";
    /// `None` if it is not there, or has expired.
    type Reply = Option<MailboxItem>;

    fn run(self, view: &View<'_>) -> Result<Option<MailboxItem>> {
        let Some((stamp, message)) = find(view, &self.local, view.now)? else { return Ok(None) };
        stored::item(view, stamp, message)
    }
}
