//! When blocking began and ended in this country. A timer turns stored measurements into reports to
//! [`crate::incidents`], a bounded piece at a time.
//!
//! | Step | From | To |
//! |---|---|---|
//! | `blocks` | measurements of a target, in blocks of 30 days from the first changed day on | `BLOCKS` |
//! | `subjects` | blocks of a subject's series | `FOUND` |
//! | `compared` | what other countries measured when a block seems to begin | `COMPARED`, `ELSEWHERE` |
//! | `silences` | counts of measurements by network and hour | `SILENCES`, once the world has answered |
//! | `reports` | what was found, silences, events that other sources report | numbered events, sent when they changed |
//!
//! | Module | What |
//! |---|---|
//! | `tables` | what is stored |
//! | `down_elsewhere` | spans in which a target was down in other countries |
//! | `draft`, `lasting` | making an incident's draft; how long reported incidents last |
//!
//! Everything before the numbers depends only on what is stored, not on the order in which it came (decision
//! order-of-data).

mod blocks;
mod compared;
pub(super) mod down_elsewhere;
mod draft;
mod lasting;
mod reports;
mod silences;
mod tables;
#[cfg(test)]
mod tests;

pub use compared::{CountFailures, FailingElsewhere, SetFailing};
pub(super) use draft::{signal_type, witness};
pub use silences::SetElsewhere;
pub(super) use silences::last_heard;
pub(crate) use silences::networks_heard;
pub(super) use silences::{VolumeChanges, forget, heard, heard_from, heard_until};
#[cfg(test)]
pub(super) use tables::FOUND as FOUND_ROWS;
pub(super) use tables::{Days, FAILED, VOLUMES, Volumes};

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use self::tables::{BLOCKS, CONTROL, ChangeWork, DIRTY, FOUND, SUBJECTS, WORK};
use super::evidence::{self, Surroundings};
use super::noise::is_failure;
use super::tables::{EVENTS, TARGETS};
use crate::{Result, Timestamp, anomaly};
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::Direction;
use engine::time::{DAY, HOUR, SECOND};
use facts::change::constants::BLOCK_DAYS;
use facts::change::episodes::{OtherCountries, episodes};
use facts::change::merge::{self, Series};
use facts::change::series::bounds;
use facts::starter::Platform;
use facts::subject::{Role, Subject, is_messaging};
use facts::tracked::Tracked;
use facts::verdict::window::Ageing;

/// Blocks computed in one operation.
const BLOCKS_AT_ONCE: usize = 60;
/// Targets or subjects handled in one operation.
const AT_ONCE: usize = 30;
/// Rows that one operation changes before it leaves the rest to the next.
const ROWS_AT_ONCE: usize = 400;
/// Targets marked in one operation.
const SPREAD_AT_ONCE: usize = 400;
/// Changes are looked for once in so many publish intervals, because the data of an import come in many pieces.
const INTERVALS: i64 = 6;
const TIMER: &str = "changes";

/// Runs [`FindChanges`] some intervals from now, unless it is scheduled earlier.
pub(super) fn soon(turn: &mut Turn<'_>) -> Result<()> {
    let due = turn.now.plus(INTERVALS * i64::from(turn.settings.publish_interval) * SECOND);
    at(turn, due)
}

fn at(turn: &mut Turn<'_>, due: Timestamp) -> Result<()> {
    match turn.scheduled(TIMER)? {
        Some(waiting) if waiting <= due => Ok(()),
        _ => turn.schedule(TIMER, due, &FindChanges),
    }
}

/// Marks a target whose measurements changed on these days, or what they are compared with. The caller runs [`soon`].
pub(super) fn measured(turn: &mut Turn<'_>, target: &str, (first, last): (u32, u32)) -> Result<()> {
    let key = (target.to_owned(),);
    let days = match DIRTY.get(turn, &key)? {
        Some(known) => Days { first: known.first.min(first), last: known.last.max(last) },
        None => Days { first, last },
    };
    Ok(DIRTY.put(turn, &key, &days)?)
}

/// Like [`measured`], after networks failed more or less at other sites, which is part of what a failure says. Also
/// runs [`soon`].
pub(super) fn failed_anew(turn: &mut Turn<'_>, target: &str, days: (u32, u32)) -> Result<()> {
    measured(turn, target, days)?;
    soon(turn)
}

/// Marks the subject of a target: its events must be checked again, though its measurements stay the same.
pub(super) fn touched(turn: &mut Turn<'_>, target: &str) -> Result<()> {
    let subject = subject_of(target, &super::listed(turn)?);
    SUBJECTS.put(turn, &(subject,), &())?;
    soon(turn)
}

/// Whether a target has a blocked vote in this block or a later one; where that is not computed yet, whether a
/// measurement failed.
pub(super) fn failed_since(view: &View<'_>, target: &str, block: u32) -> Result<bool> {
    let mut failed = false;
    if DIRTY.contains(view, &(target.to_owned(),))? {
        let first = Timestamp(i64::from(block.saturating_mul(BLOCK_DAYS)) * DAY);
        let measured = evidence::read(view, target, first, view.now.plus(DAY))?;
        failed = measured.iter().any(|seen| is_failure(seen.session.evaluated.vote));
    }
    if failed {
        return Ok(true);
    }
    let range = BLOCKS.between(&(target.to_owned(), block), &(target.to_owned(), u32::MAX));
    BLOCKS.visit(view, range, Direction::Ascending, |_, block| {
        // Hours are kept only if a vote is blocked.
        failed = block.spans.iter().any(|span| !span.hours.is_empty());
        Ok(!failed)
    })?;
    Ok(failed)
}

/// Events of another source were added, changed or removed.
pub(super) fn touched_events(turn: &mut Turn<'_>) -> Result<()> {
    combine_again(turn)?;
    soon(turn)
}

fn combine_again(turn: &mut Turn<'_>) -> Result<()> {
    let work = WORK.get(turn, &())?.unwrap_or_default();
    Ok(WORK.put(turn, &(), &ChangeWork { combine: true, ..work })?)
}

/// Names or weights of networks changed.
pub(super) fn reweigh(turn: &mut Turn<'_>) -> Result<()> {
    let work = WORK.get(turn, &())?.unwrap_or_default();
    WORK.put(turn, &(), &ChangeWork { combine: true, weights: work.weights + 1, ..work })?;
    soon(turn)
}

/// The country has no measurements any more. What was reported stays known, so that no number is given twice.
pub(super) fn nothing_left(turn: &mut Turn<'_>) -> Result<()> {
    for (key, _) in CONTROL.scan(turn, &CONTROL.range(), Direction::Ascending, SPREAD_AT_ONCE)? {
        CONTROL.delete(turn, &key);
    }
    Ok(())
}

/// Marks every series to be computed again, because the rules or the control sites changed.
pub(super) fn all_again(turn: &mut Turn<'_>) -> Result<()> {
    nothing_left(turn)?;
    let now = turn.now;
    turn.schedule("changes_spread", now, &Spread { block: None, after: None })
}

/// Checks again what an earlier version found and reported. It took reports to stand for longer, and did not ask
/// whether anybody saw a beginning.
pub(crate) fn begin(turn: &mut Turn<'_>) -> Result<()> {
    if EVENTS.first(turn, &EVENTS.range())?.is_some() {
        touched_events(turn)?;
    }
    match TARGETS.first(turn, &TARGETS.range())? {
        Some(_) => all_again(turn),
        None => Ok(()),
    }
}

/// The subject that a target belongs to (decision incident-grades: rows of telegram.org join telegram).
pub(super) fn subject_of(target: &str, listed: &[Tracked]) -> String {
    match (Platform::by_key(target), target.split_once('/')) {
        (Some((platform, _)), _) => platform.slug.to_owned(),
        (None, Some((service, _))) => service.to_owned(),
        (None, None) => {
            let owner = listed.iter().find(|platform| platform.has(target));
            owner.map_or_else(|| target.to_owned(), |platform| platform.slug.clone())
        }
    }
}

/// The series of a subject; `None` for a domain that a listed platform has taken over.
fn roles(subject: &str, listed: &[Tracked]) -> Option<Vec<Role>> {
    if let Some(platform) = listed.iter().find(|platform| platform.slug == subject) {
        return Some(platform.roles.clone());
    }
    if listed.iter().any(|platform| platform.has(subject)) {
        return None;
    }
    Some(Subject::parse(subject).unwrap_or_else(|_| Subject::series(subject)).roles)
}

/// Platforms were added or removed, so what was found about their hosts belongs to other subjects now.
pub(super) fn regroup<'a>(turn: &mut Turn<'_>, platforms: impl Iterator<Item = &'a Tracked>) -> Result<()> {
    for platform in platforms {
        for host in platform.domains() {
            if TARGETS.contains(turn, &(host.to_owned(),))? {
                SUBJECTS.put(turn, &(host.to_owned(),), &())?;
                SUBJECTS.put(turn, &(platform.slug.clone(),), &())?;
            }
        }
    }
    // Reported events are grouped by platforms too.
    combine_again(turn)?;
    soon(turn)
}

/// The timer that marks the targets of a block.
fn spread_timer(block: u32) -> String {
    format!("changes_spread/{block}")
}

/// Marks every target as changed, in one block or in all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Spread {
    pub block: Option<u32>,
    pub after: Option<String>,
}

impl Operation for Spread {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "spread_changes";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut range = TARGETS.range();
        if let Some(after) = &self.after {
            range.start = TARGETS.prefix(&(after.clone(),)).end.unwrap_or_default();
        }
        let rows = TARGETS.scan(turn, &range, Direction::Ascending, SPREAD_AT_ONCE)?;
        for ((target,), row) in &rows {
            let days = match self.block {
                Some(block) => {
                    let (first, end) = bounds(block);
                    let day = |at: crate::Timestamp| u32::try_from(at.day()).unwrap_or(0);
                    (day(first).max(row.first_day), (day(end).saturating_sub(1)).min(row.last_day))
                }
                None => (row.first_day, row.last_day),
            };
            if days.0 <= days.1 {
                measured(turn, target, days)?;
            }
        }
        soon(turn)?;
        if rows.len() == SPREAD_AT_ONCE {
            let after = rows.last().map(|((target,), _)| target.clone());
            let now = turn.now;
            let timer = self.block.map_or("changes_spread".to_owned(), spread_timer);
            turn.schedule(&timer, now, &Spread { block: self.block, after })?;
        }
        Ok(())
    }
}

/// Looks for changes in what is marked and reports them. Goes on by timer until nothing is marked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FindChanges;

impl Operation for FindChanges {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "find_changes";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let now = turn.now;
        if !series(turn)? || !subjects(turn)? || !silences::run(turn)? {
            return at(turn, now);
        }
        let mut work = WORK.get(turn, &())?.unwrap_or_default();
        if work.combine || work.look_again.is_some_and(|due| due <= now) {
            let (done, look_again) = reports::run(turn)?;
            // Read again, because numbers were given.
            work = WORK.get(turn, &())?.unwrap_or_default();
            work = ChangeWork { combine: !done, look_again, ..work };
            WORK.put(turn, &(), &work)?;
            if !done {
                return at(turn, now);
            }
        }
        match [work.look_again, work.listen].into_iter().flatten().min() {
            Some(due) => at(turn, due),
            None => Ok(()),
        }
    }
}

/// Brings the blocks of marked targets up to date. Returns true if none is marked any more.
fn series(turn: &mut Turn<'_>) -> Result<bool> {
    // Blocks from before there were counts by day are computed once more.
    let measured = TARGETS.first(turn, &TARGETS.range())?.is_some();
    if measured && anomaly::begins(turn)? && BLOCKS.first(turn, &BLOCKS.range())?.is_some() {
        let now = turn.now;
        for block in anomaly::blocks(now) {
            turn.schedule(&spread_timer(block), now, &Spread { block: Some(block), after: None })?;
        }
    }
    let marked = DIRTY.scan(turn, &DIRTY.range(), Direction::Ascending, AT_ONCE + 1)?;
    let more = marked.len() > AT_ONCE;
    let controls = super::evidence::control_sites(turn)?;
    let listed = super::listed(turn)?;
    // Only the noise of these surroundings is used. It is kept from one target to the next.
    let surroundings = Surroundings::new(turn, turn.now, Default::default())?;
    let mut room = BLOCKS_AT_ONCE;
    let mut news = compared::ChangedBlocks::default();
    let mut done = !more;
    for (key, days) in marked.into_iter().take(AT_ONCE) {
        if room == 0 {
            done = false;
            break;
        }
        if controls.contains(&key.0) {
            blocks::control_changed(turn, days)?;
        }
        match blocks::recompute(turn, &key.0, days, &surroundings, (&mut room, &mut news))? {
            Some(rest) => DIRTY.put(turn, &key, &rest)?,
            None => {
                DIRTY.delete(turn, &key);
                SUBJECTS.put(turn, &(subject_of(&key.0, &listed),), &())?;
            }
        }
    }
    news.send(turn)?;
    Ok(done && DIRTY.first(turn, &DIRTY.range())?.is_none())
}

/// Merges the series of marked subjects. Returns true if none is marked any more.
fn subjects(turn: &mut Turn<'_>) -> Result<bool> {
    let marked = SUBJECTS.scan(turn, &SUBJECTS.range(), Direction::Ascending, AT_ONCE + 1)?;
    let more = marked.len() > AT_ONCE;
    let listed = super::listed(turn)?;
    let mut changed = 0;
    let mut done = !more;
    let mut news = compared::ChangedBlocks::default();
    for ((subject,), ()) in marked.into_iter().take(AT_ONCE) {
        if changed >= ROWS_AT_ONCE {
            done = false;
            break;
        }
        SUBJECTS.delete(turn, &(subject.clone(),));
        // What was found about a host that a platform has taken over is handled together with the platform.
        let Some(roles) = roles(&subject, &listed) else { continue };
        let before = changed;
        changed += find(turn, &subject, &roles, &mut news)?;
        // Also if nothing changed, because what was measured long ago may have become too old.
        if changed > before || FOUND.first(turn, &FOUND.prefix(&(subject,)))?.is_some() {
            combine_again(turn)?;
        }
    }
    news.send(turn)?;
    Ok(done)
}

/// Writes what is found about a subject and, under their own names, about those of its series that it can do without.
/// Returns how many rows changed. Questions to the world are added to `news`.
fn find(turn: &mut Turn<'_>, subject: &str, roles: &[Role], news: &mut compared::ChangedBlocks) -> Result<usize> {
    let mut series = Vec::new();
    let mut known = BTreeMap::new();
    let names: BTreeSet<&str> = std::iter::once(subject).chain(roles.iter().map(|role| role.key.as_str())).collect();
    for name in names {
        known.extend(FOUND.scan(turn, &FOUND.prefix(&(name.to_owned(),)), Direction::Ascending, usize::MAX)?);
    }
    for role in roles {
        let blocks = blocks::load(turn, &role.key)?;
        let limit = Ageing::of(is_messaging(&role.key)).limit / HOUR;
        compared::ask(turn, &role.key, &episodes(&blocks, OtherCountries::LeftOut, limit), news)?;
        if !blocks.is_empty() {
            series.push(Series::new(role.key.clone(), role.essential, blocks, limit));
        }
    }
    let mut changed = 0;
    for (name, found) in merge::events(subject, &series) {
        let key = (name, found.start);
        if known.remove(&key).as_ref() != Some(&found) {
            FOUND.put(turn, &key, &found)?;
            changed += 1;
        }
    }
    for key in known.into_keys() {
        FOUND.delete(turn, &key);
        changed += 1;
    }
    Ok(changed)
}
