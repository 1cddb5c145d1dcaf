//! Messages as they are stored: in `UNREAD` until a message is marked as read, then in `READ`.

use super::{Body, MESSAGES, Message, READ, UNREAD};
use crate::{Result, Timestamp};
use engine::kv::{Direction, Read};

/// The message with a stamp, with its body if that stands beside its head.
pub(super) fn get(view: &(impl Read + ?Sized), stamp: Timestamp) -> Result<Option<Message>> {
    match UNREAD.get(view, &(stamp,))? {
        Some(message) => Ok(Some(message)),
        None => Ok(READ.get(view, &(stamp,))?),
    }
}

/// The body of a message, wherever it stands.
pub(super) fn body(view: &(impl Read + ?Sized), message: &mut Message) -> Result<Option<Body>> {
    match message.body.take() {
        Some(body) => Ok(Some(body)),
        None => Ok(MESSAGES.get(view, &(message.head.local,))?.and_then(|stored| stored.body)),
    }
}

/// Unread messages from `start` on and before `end`, at most `limit`.
pub(super) fn unread(
    view: &(impl Read + ?Sized),
    start: Timestamp,
    end: Timestamp,
    limit: usize,
) -> Result<Vec<(Timestamp, Message)>> {
    let rows = UNREAD.scan(view, &UNREAD.between(&(start,), &(end,)), Direction::Ascending, limit)?;
    Ok(rows.into_iter().map(|((stamp,), message)| (stamp, message)).collect())
}

/// All messages from `start` on and before `end`, in order, at most `limit`.
pub(super) fn all(
    view: &(impl Read + ?Sized),
    start: Timestamp,
    end: Timestamp,
    limit: usize,
) -> Result<Vec<(Timestamp, Message)>> {
    let read = READ.scan(view, &READ.between(&(start,), &(end,)), Direction::Ascending, limit)?;
    let mut found: Vec<_> = read.into_iter().map(|((stamp,), message)| (stamp, message)).collect();
    let end = found.last().filter(|_| found.len() == limit).map_or(end, |(stamp, _)| *stamp);
    let unread = unread(view, start, end, limit)?;
    if !unread.is_empty() {
        found.extend(unread);
        found.sort_unstable_by_key(|(stamp, _)| *stamp);
        found.truncate(limit);
    }
    Ok(found)
}
