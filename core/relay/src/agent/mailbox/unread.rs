//! The unread messages of each sender. The stamps of the newest ones are in the sender's own row, which every send
//! changes anyway; the others are in blocks of [`BLOCK`].

use serde::{Deserialize, Serialize};

use super::{SENDERS, Sender, UNREAD_FROM};
use crate::directory::Did;
use crate::{Result, Timestamp};
use engine::kv::{Direction, Range, Read, Row, StoreError, Write};

/// Stamps of a block, at most.
const BLOCK: usize = 16;

/// Further stamps of a block, ascending; the first one is in its key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnreadBlock(Vec<Timestamp>);

impl UnreadBlock {
    /// All stamps of a block that begins with `first`.
    pub fn stamps(self, first: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::once(first).chain(self.0)
    }
}

impl Row for UnreadBlock {
    const VERSION: u8 = 2;

    /// In version 1 each message had a row.
    fn upgrade(version: u8, bytes: &[u8]) -> std::result::Result<Self, StoreError> {
        match (version, bytes) {
            (1, []) => Ok(UnreadBlock::default()),
            _ => Err(StoreError::Corrupt(format!("a block of unread messages has no version {version}"))),
        }
    }
}

/// Adds the newest message.
pub(super) fn add(space: &mut impl Write, from: Did, sender: &mut Sender, stamp: Timestamp) -> Result<()> {
    sender.unread += 1;
    sender.newest.push(stamp);
    if sender.newest.len() >= BLOCK {
        put(space, from, std::mem::take(&mut sender.newest))?;
    }
    Ok(())
}

fn put(space: &mut impl Write, from: Did, mut stamps: Vec<Timestamp>) -> Result<()> {
    if stamps.is_empty() {
        return Ok(());
    }
    let first = stamps.remove(0);
    Ok(UNREAD_FROM.put(space, &(from, first), &UnreadBlock(stamps))?)
}

/// Takes a message out.
pub(super) fn remove(space: &mut impl Write, from: Did, sender: &mut Sender, stamp: Timestamp) -> Result<()> {
    sender.unread = sender.unread.saturating_sub(1);
    if let Some(at) = sender.newest.iter().position(|known| *known == stamp) {
        sender.newest.remove(at);
        return Ok(());
    }
    let Some((first, mut stamps)) = block_at(space, from, stamp)? else { return Ok(()) };
    let Some(at) = stamps.iter().position(|known| *known == stamp) else { return Ok(()) };
    stamps.remove(at);
    if at == 0 {
        UNREAD_FROM.delete(space, &(from, first));
    }
    put(space, from, stamps)
}

/// The last block that begins at `stamp` or before: its first stamp, and all of them.
fn block_at(view: &(impl Read + ?Sized), from: Did, stamp: Timestamp) -> Result<Option<(Timestamp, Vec<Timestamp>)>> {
    let range = Range { end: UNREAD_FROM.prefix(&(from, stamp)).end, ..UNREAD_FROM.prefix(&(from,)) };
    let block = UNREAD_FROM.last(view, &range)?;
    Ok(block.map(|((_, first), block)| (first, block.stamps(first).collect())))
}

/// Stamps of the unread messages of a sender from `start` on and before `end`, ascending, at most `limit`.
pub(super) fn scan(
    view: &(impl Read + ?Sized),
    from: Did,
    (start, end): (Timestamp, Timestamp),
    limit: usize,
) -> Result<Vec<Timestamp>> {
    let mut found: Vec<Timestamp> = Vec::new();
    let takes = |stamp: &Timestamp| (start..end).contains(stamp);
    let first = block_at(view, from, start)?;
    let after = first.as_ref().map_or(start, |(first, _)| first.plus(1));
    found.extend(first.into_iter().flat_map(|(_, stamps)| stamps).filter(takes));
    UNREAD_FROM.visit(
        view,
        UNREAD_FROM.between(&(from, after), &(from, end)),
        Direction::Ascending,
        |(_, first), block| {
            found.extend(block.stamps(first).filter(takes));
            Ok(found.len() < limit)
        },
    )?;
    if found.len() < limit {
        let newest = SENDERS.get(view, &(from,))?.unwrap_or_default().newest;
        found.extend(newest.into_iter().filter(takes));
    }
    found.truncate(limit);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::kv::{MemoryStore, Overlay, Store};
    use engine::testing::Dice;

    /// Random arrivals and readings, over rows of which the first are from before there were blocks.
    #[test]
    fn unread_messages_of_a_sender_are_found_in_every_span_whatever_was_read_before() {
        let from = [7; 16];
        for seed in 0..20 {
            let mut dice = Dice(seed);
            let mut rows = MemoryStore::default();
            let (mut known, mut next): (Vec<Timestamp>, i64) = (Vec::new(), 1);
            let mut most = 0;
            for step in 0..400 {
                let mut space = Overlay::new(&rows);
                let mut sender = SENDERS.get(&space, &(from,)).unwrap().unwrap_or_default();
                match known.is_empty() || dice.below(5) < 3 {
                    true if step < 20 => {
                        UNREAD_FROM.put(&mut space, &(from, Timestamp(next)), &UnreadBlock::default()).unwrap();
                        sender.unread += 1;
                        known.push(Timestamp(next));
                    }
                    true => {
                        add(&mut space, from, &mut sender, Timestamp(next)).unwrap();
                        known.push(Timestamp(next));
                    }
                    false => {
                        let stamp = known.remove(dice.below(known.len() as u64) as usize);
                        remove(&mut space, from, &mut sender, stamp).unwrap();
                    }
                }
                next += 1 + dice.below(3) as i64;
                SENDERS.put(&mut space, &(from,), &sender).unwrap();
                assert_eq!(sender.unread, known.len() as u64);
                let span = (Timestamp(dice.below(next as u64) as i64), Timestamp(dice.below(next as u64 + 9) as i64));
                let limit = 1 + dice.below(40) as usize;
                let within = known.iter().filter(|stamp| (span.0..span.1).contains(*stamp)).take(limit);
                assert_eq!(
                    scan(&space, from, span, limit).unwrap(),
                    within.copied().collect::<Vec<_>>(),
                    "{seed} {step}"
                );
                most =
                    most.max(UNREAD_FROM.scan(&space, &UNREAD_FROM.range(), Direction::Ascending, 999).unwrap().len());
                let batch = space.into_batch();
                rows.apply(batch).unwrap();
            }
            assert!(most > 3, "the newest stamps become blocks");
        }
    }
}
