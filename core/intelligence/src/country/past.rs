//! The scores of days before the server knew this country, when a history is imported. They are computed by timer, some
//! targets at a time, from one read of each series over all of these days. Scores of days that the server saw are kept
//! as they were then ([`risk::days`]).

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::answer::{self, State};
use super::evidence::{Controls, Failing, Surroundings};
use super::shutdowns;
use super::tables::{CATALOGUE, TARGETS};
use super::timeline::{Timeline, reach};
use crate::risk;
use crate::world::index::{self, IndexLists, IndexSite, IndexSums};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::{Direction, Read, Row, Table};
use engine::number::round;
use engine::time::{DAY, SECOND};
use facts::subject::is_messaging;
use facts::verdict::window::Ageing;

/// Days before the present day that have a score. With the present day they are the thirty days of a history.
const DAYS: u32 = 29;
/// Targets judged in one operation, on each of the days. It bounds how long the operation holds the writer.
const AT_ONCE: usize = 20;
/// Targets checked in one operation. Some were not measured in that time.
const LOOKED_AT_ONCE: usize = 400;
/// Publish intervals between a change and the judging, because the data of an import come in many pieces. If scores are
/// known already, the judging waits longer, since one late measurement has all targets judged again.
const INTERVALS: i64 = 6;
const INTERVALS_AGAIN: i64 = 60;
/// How often the first judging is put off because something changed meanwhile. Later than that, it would be done again
/// anyway.
const MOST_WAITS: u8 = (INTERVALS_AGAIN / INTERVALS) as u8;
const TIMER: &str = "past_days";

/// The score at the end of a day, 0-100; `None` if there was too little data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score(pub Option<u32>);
impl Row for Score {}

/// The progress of the judging.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Work {
    first: u32,
    /// The last target that was checked.
    after: Option<String>,
    /// One for each day, from the first on.
    tallies: Vec<IndexSums>,
}
impl Row for Work {}

/// By day since the epoch.
const SCORES: Table<(u32,), Score> = Table::derived(67);
/// Present while nothing that the scores rest on has changed since they were computed, or since the judging that waits
/// or is under way began.
const CURRENT: Table<(), ()> = Table::derived(68);
const WORK: Table<(), Work> = Table::derived(69);

/// The scores that are known, by day since the epoch.
pub fn scores(view: &impl Read) -> Result<BTreeMap<u32, Score>> {
    let rows = SCORES.scan(view, &SCORES.range(), Direction::Ascending, 2 * DAYS as usize)?;
    Ok(rows.into_iter().map(|((day,), score)| (day, score)).collect())
}

/// The days of the last thirty that the server did not see; `None` if it saw all.
fn unseen(view: &View<'_>) -> Result<Option<Range<u32>>> {
    let today = u32::try_from(view.now.day()).unwrap_or(0);
    let first = today.saturating_sub(DAYS);
    Ok(risk::days::first(view)?.filter(|seen| first < *seen).map(|seen| first..seen))
}

/// The first day whose measurements still count on `day`.
fn counting(day: u32, ageing: Ageing) -> u32 {
    (day + 1).saturating_sub(u32::try_from(ageing.limit / DAY).unwrap_or(0))
}

/// Notes that something changed that the scores of any day rest on.
pub(super) fn changed(turn: &mut Turn<'_>) -> Result<()> {
    CURRENT.delete(turn, &());
    look(turn)
}

/// Notes that the index is about other sites now. Known scores rest on the old sites, and so does half of a judging
/// that is under way; neither can be compared with the score of today.
pub(super) fn sites_changed(turn: &mut Turn<'_>) -> Result<()> {
    clear(turn)?;
    WORK.delete(turn, &());
    risk::days::sites_changed(turn)?;
    changed(turn)
}

/// Like [`changed`], for the days of a target from `day` on. The caller runs [`look`].
pub(super) fn changed_from(turn: &mut Turn<'_>, day: u32) -> Result<()> {
    if risk::days::first(&turn.view())?.is_none_or(|seen| day < seen) {
        CURRENT.delete(turn, &());
    }
    Ok(())
}

/// Schedules the judging of days that the server did not see, if something changed that their scores rest on.
pub(super) fn look(turn: &mut Turn<'_>) -> Result<()> {
    if unseen(&turn.view())?.is_none() || turn.scheduled(TIMER)?.is_some() || CURRENT.contains(turn, &())? {
        return Ok(());
    }
    match SCORES.first(turn, &SCORES.range())? {
        Some(_) => after(turn, INTERVALS_AGAIN, JudgePastDays { waited: MOST_WAITS }),
        None => after(turn, INTERVALS, JudgePastDays { waited: 0 }),
    }
}

fn after(turn: &mut Turn<'_>, intervals: i64, judge: JudgePastDays) -> Result<()> {
    let due = turn.now.plus(intervals * i64::from(turn.settings.publish_interval) * SECOND);
    turn.schedule(TIMER, due, &judge)
}

/// A source was removed, so what the server saw is forgotten too (decision licence-and-removal).
pub(super) fn forget(turn: &mut Turn<'_>) -> Result<()> {
    clear(turn)?;
    CURRENT.delete(turn, &());
    WORK.delete(turn, &());
    turn.cancel(TIMER)
}

fn clear(turn: &mut Turn<'_>) -> Result<()> {
    for (key, _) in SCORES.scan(turn, &SCORES.range(), Direction::Ascending, 2 * DAYS as usize)? {
        SCORES.delete(turn, &key);
    }
    Ok(())
}

/// Judges some targets on all days. After the last target, writes the scores.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JudgePastDays {
    waited: u8,
}

impl Operation for JudgePastDays {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "judge_past_days";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let work = match WORK.get(turn, &())? {
            Some(work) => Some(work),
            // More data are coming, for minutes if the import is large. What is judged now would be judged again.
            None if self.waited < MOST_WAITS && !CURRENT.contains(turn, &())? => {
                CURRENT.put(turn, &(), &())?;
                return after(turn, INTERVALS, JudgePastDays { waited: self.waited + 1 });
            }
            None => begin(turn)?,
        };
        let Some(mut work) = work else { return Ok(()) };
        if some(&turn.view(), &mut work)? {
            WORK.put(turn, &(), &work)?;
            let now = turn.now;
            return turn.schedule(TIMER, now, &self);
        }
        finish(turn, work)?;
        look(turn)
    }
}

fn begin(turn: &mut Turn<'_>) -> Result<Option<Work>> {
    let Some(days) = unseen(&turn.view())? else { return Ok(None) };
    CURRENT.put(turn, &(), &())?;
    Ok(Some(Work { first: days.start, after: None, tallies: vec![IndexSums::default(); days.len()] }))
}

/// What all targets of one operation are judged with.
struct JudgingInputs<'a> {
    surroundings: Surroundings,
    lists: IndexLists<'a>,
    /// Failing control sites by network, for each day from the first on.
    control: Vec<Failing>,
}

/// Adds some targets. Returns true if more are left.
fn some(view: &View<'_>, work: &mut Work) -> Result<bool> {
    let catalogue = CATALOGUE.get(view, &())?.unwrap_or_default();
    let last = work.first + u32::try_from(work.tallies.len()).unwrap_or(0);
    let controls = Controls::between(view, Timestamp::end_of_day(work.first), view.now)?;
    let with = JudgingInputs {
        surroundings: Surroundings::new(view, view.now, controls.failing(view.now))?,
        lists: IndexLists::new(&catalogue.global, &catalogue.political),
        control: (work.first..last).map(|day| controls.failing(Timestamp::end_of_day(day))).collect(),
    };
    let range = match work.after.take() {
        Some(after) => TARGETS.after(TARGETS.range(), &(after,)),
        None => TARGETS.range(),
    };
    let rows = TARGETS.scan(view, &range, Direction::Ascending, LOOKED_AT_ONCE)?;
    let all = rows.len();
    let (mut looked, mut judged) = (0, 0);
    for ((target,), row) in rows {
        if judged == AT_ONCE {
            break;
        }
        looked += 1;
        let oldest = counting(work.first, Ageing::of(is_messaging(&target)));
        // The index is only about domains.
        if !target.contains('/') && row.first_day < last && row.last_day >= oldest {
            judged += 1;
            add(view, &target, &with, work)?;
        }
        work.after = Some(target);
    }
    Ok(looked < all || all == LOOKED_AT_ONCE)
}

/// Adds a target to the tally of each day on which its measurements count.
fn add(view: &View<'_>, target: &String, with: &JudgingInputs<'_>, work: &mut Work) -> Result<()> {
    let ageing = Ageing::of(is_messaging(target));
    let from = Timestamp(i64::from(work.first) * DAY).plus(-reach(ageing));
    let mut timeline = Timeline::read(view, target, from, &with.surroundings)?;
    for ((day, tally), control) in (work.first..).zip(&mut work.tallies).zip(&with.control) {
        let window = timeline.days.range(counting(day, ageing)..=day);
        let Some(counted) = window.map(|(_, of)| of.counted).reduce(|sum, day| sum + day) else { continue };
        let verdict = timeline.verdict(day, control);
        let state = State::from(verdict.status);
        // A target that a list decides is not measured.
        if state == State::Unknown
            && answer::is_listed(view, target, Timestamp::end_of_day(day), &with.surroundings.listed)?
        {
            continue;
        }
        let blocked_weight = round(verdict.blocked_weight);
        tally.add(&IndexSite { target, state, is_measured: true, counted, blocked_weight }, &with.lists);
    }
    Ok(())
}

fn finish(turn: &mut Turn<'_>, work: Work) -> Result<()> {
    clear(turn)?;
    WORK.delete(turn, &());
    let catalogue = CATALOGUE.get(turn, &())?.unwrap_or_default();
    let lists = IndexLists::new(&catalogue.global, &catalogue.political);
    for (day, tally) in (work.first..).zip(&work.tallies) {
        let load = shutdowns::load(&turn.view(), Timestamp::end_of_day(day))?;
        // Networks matter for the grade, not for the score.
        SCORES.put(turn, &(day,), &Score(index::of(tally, &lists, 0, load).score))?;
    }
    Ok(())
}
