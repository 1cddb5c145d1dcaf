//! Counts of unread messages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::page::MAX_SCAN;
use super::{COUNTERS, ENDS, Message, SENDERS, bucket, stored};
use crate::directory::Did;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::Direction;

/// Senders that are listed; the messages of further senders are only in the total.
const MAX_SENDERS: usize = 1_000;

/// Counts the unread messages of one sender or of all senders.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UnreadCount {
    pub from: Option<Did>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    pub total: u64,
    /// Senders with unread messages, most first.
    pub by_sender: Vec<(Did, u64)>,
}

/// Unread messages, by sender, that have expired and are still in the counters. These are at most a minute's worth,
/// unless the timer is late.
fn expired(view: &View<'_>) -> Result<BTreeMap<Did, u64>> {
    let until = bucket(view.now).plus(1);
    let (mut found, mut left) = (BTreeMap::new(), MAX_SCAN);
    let range = ENDS.between(&(Timestamp::MIN,), &(until,));
    for ((end, minute), from) in ENDS.scan(view, &range, Direction::Ascending, MAX_SCAN)? {
        let unread = stored::unread(view, from, minute.plus(1), left)?;
        left -= unread.len();
        for (_, Message { head, .. }) in unread {
            // Messages that came in the same minute may expire in different minutes; each is found in its own bucket.
            if bucket(head.expires) == end && head.expires <= view.now {
                *found.entry(head.from).or_insert(0) += 1;
            }
        }
    }
    Ok(found)
}

impl Query for UnreadCount {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "unread_count";
    type Reply = Unread;

    fn run(self, view: &View<'_>) -> Result<Unread> {
        let expired = expired(view)?;
        let less = |from: &Did, unread: u64| unread.saturating_sub(expired.get(from).copied().unwrap_or(0));
        if let Some(from) = self.from {
            let total = less(&from, SENDERS.get(view, &(from,))?.unwrap_or_default().unread);
            let by_sender = if total > 0 { vec![(from, total)] } else { Vec::new() };
            return Ok(Unread { total, by_sender });
        }
        let all = COUNTERS.get(view, &())?.unwrap_or_default().unread;
        let total = all.saturating_sub(expired.values().sum());
        let senders = SENDERS.scan(view, &SENDERS.range(), Direction::Ascending, MAX_SCAN)?;
        let counts = senders.into_iter().map(|((from,), sender)| (from, less(&from, sender.unread)));
        let mut by_sender: Vec<(Did, u64)> = counts.filter(|(_, count)| *count > 0).collect();
        by_sender.sort_by_key(|(from, count)| (std::cmp::Reverse(*count), *from));
        by_sender.truncate(MAX_SENDERS);
        Ok(Unread { total, by_sender })
    }
}
