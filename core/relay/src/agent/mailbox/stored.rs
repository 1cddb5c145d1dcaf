//! Messages as they are stored: in `UNREAD` until a message is marked as read, then in `READ`.

use super::{MESSAGES, MailboxItem, Message, READ, UNREAD};
use crate::{Result, Timestamp};
use engine::kv::{Direction, Read, Table};

/// The message with a stamp, with its body if that stands beside its head.
pub(super) fn get(view: &(impl Read + ?Sized), stamp: Timestamp) -> Result<Option<Message>> {
    match UNREAD.get(view, &(stamp,))? {
        Some(message) => Ok(Some(message)),
        None => Ok(READ.get(view, &(stamp,))?),
    }
}

/// The message with its body, wherever that stands; `None` if it is gone.
pub(super) fn item(view: &(impl Read + ?Sized), stamp: Timestamp, message: Message) -> Result<Option<MailboxItem>> {
    let Message { head, body } = message;
    let body = match body {
        Some(body) => Some(body),
        None => MESSAGES.get(view, &(head.local,))?.and_then(|stored| stored.body),
    };
    Ok(body.map(|body| MailboxItem { stamp, head, body }))
}

/// Rows of a table from `start` on and before `end`, at most `limit`.
fn scan(
    table: &Table<(Timestamp,), Message>,
    view: &(impl Read + ?Sized),
    start: Timestamp,
    end: Timestamp,
    limit: usize,
) -> Result<Vec<(Timestamp, Message)>> {
    let rows = table.scan(view, &table.between(&(start,), &(end,)), Direction::Ascending, limit)?;
    Ok(rows.into_iter().map(|((stamp,), message)| (stamp, message)).collect())
}

/// Unread messages from `start` on and before `end`, at most `limit`.
pub(super) fn unread(
    view: &(impl Read + ?Sized),
    start: Timestamp,
    end: Timestamp,
    limit: usize,
) -> Result<Vec<(Timestamp, Message)>> {
    scan(&UNREAD, view, start, end, limit)
}

/// All messages from `start` on and before `end`, in order, at most `limit`.
pub(super) fn all(
    view: &(impl Read + ?Sized),
    start: Timestamp,
    end: Timestamp,
    limit: usize,
) -> Result<Vec<(Timestamp, Message)>> {
    let mut found = scan(&READ, view, start, end, limit)?;
    let end = found.last().filter(|_| found.len() == limit).map_or(end, |(stamp, _)| *stamp);
    let unread = unread(view, start, end, limit)?;
    if !unread.is_empty() {
        found.extend(unread);
        found.sort_unstable_by_key(|(stamp, _)| *stamp);
        found.truncate(limit);
    }
    Ok(found)
}
