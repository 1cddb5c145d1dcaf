//! How long an incident lasted that only reports tell of: until its source last spoke of it, and not longer.

use super::super::listed;
use super::roles;
use super::tables::BLOCKS;
use crate::incidents::stands;
use crate::{Result, Timestamp};
use engine::actor::View;
use engine::kv::Direction;
use facts::change::combine::{Combined, INTERNET};
use facts::change::constants::MERGE_GAP;
use facts::change::series::{Block, block_of_hour};
use facts::reported::Event;
use facts::verdict::constants::CLEAR_VOTES;

/// Whether an event is taken to go on, because its source said so lately.
fn goes_on(event: &Event, now: Timestamp) -> bool {
    match event.last(now) {
        (last, true) => last > now,
        (last, false) => event.heard.is_some() && now.since(last) < stands(event.source),
    }
}

/// When an event without an end will be over because time passes.
pub fn stands_until(event: &Event, now: Timestamp) -> Option<Timestamp> {
    let (last, ended) = event.last(now);
    (!ended && goes_on(event, now)).then(|| last.plus(stands(event.source)))
}

/// How long an incident lasted, according to all of its reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lasting {
    /// The last moment that is known.
    pub last: Timestamp,
    /// Whether it ended then. An end that is announced may lie ahead.
    pub ended: bool,
    pub goes_on: bool,
}

impl Lasting {
    pub fn of(one: &Combined<'_>, now: Timestamp) -> Lasting {
        let open: Vec<&Event> = one.events.iter().copied().filter(|event| is_open(event, &one.events, now)).collect();
        let last = one.events.iter().map(|event| event.last(now).0).max().unwrap_or_default();
        Lasting {
            last,
            ended: open.is_empty(),
            goes_on: if open.is_empty() { last > now } else { open.iter().any(|event| goes_on(event, now)) },
        }
    }
}

/// Whether no source names an end of an event: neither its own source nor a report of the same extent that is about a
/// later time.
fn is_open(event: &Event, all: &[&Event], now: Timestamp) -> bool {
    let (last, ended) = event.last(now);
    let closes = |other: &&Event| {
        let (end, ends) = other.last(now);
        let as_much = other.scope >= event.scope && event.services.iter().all(|name| other.services.contains(name));
        ends && end >= last && as_much
    };
    !ended && !all.iter().any(closes)
}

/// Whether measurements may show that an incident is over while only reports say that it goes on. Nothing tells when
/// such measurements come.
pub fn may_be_cleared(one: &Combined<'_>, now: Timestamp) -> bool {
    let stands_yet = |event: &&Event| stands_until(event, now).is_some();
    one.subject != INTERNET && one.measured.is_empty() && one.events.iter().any(stands_yet)
}

/// Whether the services that reports name were measured clear since then, for as long as it takes to end a measured
/// block. Later measurements count more than what was said before them. About lost connectivity, no measurement says as
/// much.
pub fn is_clear_since(view: &View<'_>, one: &Combined<'_>, since: Timestamp) -> Result<bool> {
    if !may_be_cleared(one, view.now) {
        return Ok(false);
    }
    let listed = listed(view)?;
    for name in &one.named {
        let Some(roles) = roles(name, &listed) else { return Ok(false) };
        let mut essential = roles.iter().filter(|role| role.essential).peekable();
        if essential.peek().is_none() {
            return Ok(false);
        }
        for role in essential {
            if !is_series_clear(view, &role.key, since.hour())? {
                return Ok(false);
            }
        }
    }
    Ok(!one.named.is_empty())
}

fn is_series_clear(view: &View<'_>, target: &str, since: i64) -> Result<bool> {
    let first = block_of_hour(since);
    let range = BLOCKS.between(&(target.to_owned(), first), &(target.to_owned(), u32::MAX));
    let (mut clear, mut blocked, mut newest) = (0, 0, since);
    for (_, block) in BLOCKS.scan(view, &range, Direction::Ascending, usize::MAX)? {
        for (hour, votes) in votes_after(&block, since) {
            clear += votes.0;
            blocked += votes.1;
            newest = newest.max(if votes.0 > 0 { hour } else { since });
        }
    }
    Ok(clear as usize >= CLEAR_VOTES && clear > blocked && newest - since >= MERGE_GAP)
}

/// Clear and blocked votes of all networks of a block after an hour. Votes of a day without hours count at its last
/// hour.
fn votes_after(block: &Block, since: i64) -> impl Iterator<Item = (i64, (u32, u32))> {
    let hours = block.spans.iter().flat_map(|span| &span.hours).map(|count| (count.hour, (count.clear, count.blocked)));
    let days = block.spans.iter().filter(|span| span.hours.is_empty()).flat_map(|span| &span.days);
    let days = days
        .map(|count| (i64::from(count.day) * 24 + 23, (count.votes - count.blocked.min(count.votes), count.blocked)));
    hours.chain(days).filter(move |(hour, _)| *hour > since)
}
