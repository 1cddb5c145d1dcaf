//! The heads of messages: in `UNREAD` until a message is marked as read, then in `READ`.

use super::{Head, READ, UNREAD};
use crate::{Result, Timestamp};
use engine::kv::{Direction, Read};

/// The head of a message.
pub(super) fn get(view: &(impl Read + ?Sized), stamp: Timestamp) -> Result<Option<Head>> {
    match UNREAD.get(view, &(stamp,))? {
        Some(head) => Ok(Some(head)),
        None => Ok(READ.get(view, &(stamp,))?),
    }
}

/// Unread heads from `start` on and before `end`, at most `limit`.
pub(super) fn unread(
    view: &(impl Read + ?Sized),
    start: Timestamp,
    end: Timestamp,
    limit: usize,
) -> Result<Vec<(Timestamp, Head)>> {
    let rows = UNREAD.scan(view, &UNREAD.between(&(start,), &(end,)), Direction::Ascending, limit)?;
    Ok(rows.into_iter().map(|((stamp,), head)| (stamp, head)).collect())
}

/// All heads from `start` on and before `end`, in order, at most `limit`.
pub(super) fn all(
    view: &(impl Read + ?Sized),
    start: Timestamp,
    end: Timestamp,
    limit: usize,
) -> Result<Vec<(Timestamp, Head)>> {
    let read = READ.scan(view, &READ.between(&(start,), &(end,)), Direction::Ascending, limit)?;
    let mut found: Vec<_> = read.into_iter().map(|((stamp,), head)| (stamp, head)).collect();
    let end = found.last().filter(|_| found.len() == limit).map_or(end, |(stamp, _)| *stamp);
    let unread = unread(view, start, end, limit)?;
    if !unread.is_empty() {
        found.extend(unread);
        found.sort_unstable_by_key(|(stamp, _)| *stamp);
        found.truncate(limit);
    }
    Ok(found)
}
