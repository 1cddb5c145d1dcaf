//! The scores of the days before the server knew this country: of a history that was imported. By timer, some targets at a
//! time, from one read of each series over all of these days; days that the server saw are kept as it saw them
//! ([`outlook::days`]).

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::answer::State;
use super::evidence::{self, Surroundings};
use super::subject::is_messaging;
use super::tables::{CATALOGUE, RULES_VERSION, TARGETS};
use super::timeline::Timeline;
use super::{changes, shutdowns};
use crate::actor::{Kind, Operation, Turn, View, encode};
use crate::crypto::hash::sha256_of;
use crate::kv::{Direction, Read, Row, Table};
use crate::outlook;
use crate::time::{DAY, SECOND};
use crate::verdict::window::Ageing;
use crate::world::index::{self, Lists, Site, Tally};
use crate::{Result, Timestamp};

/// Days before the present one that have a score: with it the thirty of a history (interface 4.1).
const DAYS: u32 = 29;
/// Targets judged in one operation, on each of the days: bounds how long it holds the writer.
const AT_ONCE: usize = 20;
/// Targets looked at in one operation; some were not measured in that time.
const LOOKED_AT_ONCE: usize = 400;
/// Publish intervals between a change and the judging: the data of an import come in many pieces.
const INTERVALS: i64 = 6;
const TIMER: &str = "past_days";

/// The score at the end of a day, 0-100; `None` when there was too little data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score(pub Option<u32>);
impl Row for Score {}

/// A hash of what scores rest on, to see when they must be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Basis([u8; 32]);
impl Row for Basis {}

/// How far the judging has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Work {
    basis: Basis,
    first: u32,
    /// The last target that was looked at.
    after: Option<String>,
    /// Of the days from the first on.
    tallies: Vec<Tally>,
}
impl Row for Work {}

/// By day since the epoch.
const SCORES: Table<(u32,), Score> = Table::new(67);
const MADE_OF: Table<(), Basis> = Table::new(68);
const WORK: Table<(), Work> = Table::new(69);

/// The scores that are known, by day since the epoch.
pub fn scores(view: &impl Read) -> Result<BTreeMap<u32, Score>> {
    let rows = SCORES.scan(view, &SCORES.range(), Direction::Ascending, 2 * DAYS as usize)?;
    Ok(rows.into_iter().map(|((day,), score)| (day, score)).collect())
}

/// Days of the last thirty that the server did not see; `None` when it saw all.
fn unseen(view: &View<'_>) -> Result<Option<Range<u32>>> {
    let today = u32::try_from(view.now.day()).unwrap_or(0);
    let first = today.saturating_sub(DAYS);
    Ok(outlook::days::first(view)?.filter(|seen| first < *seen).map(|seen| first..seen))
}

fn end_of(day: u32) -> Timestamp {
    Timestamp((i64::from(day) + 1) * DAY - 1)
}

/// The first day whose measurements count on a day.
fn counting(day: u32, ageing: Ageing) -> u32 {
    (day + 1).saturating_sub(u32::try_from(ageing.limit / DAY).unwrap_or(0))
}

fn basis(view: &View<'_>, days: &Range<u32>) -> Result<Basis> {
    let last = end_of(days.end.saturating_sub(1));
    let heard = changes::heard_from(view, counting(days.end.saturating_sub(DAYS), Ageing::of(false)), last)?;
    let catalogue = CATALOGUE.get(view, &())?.unwrap_or_default();
    let load = shutdowns::load(view, last)?.ok();
    let sites = (catalogue.global, catalogue.political, evidence::control_sites(view)?);
    Ok(Basis(sha256_of(&[&encode(&(RULES_VERSION, days.end, heard, load, sites))?])))
}

/// Has the days judged that the server did not see, when something that their scores rest on is new.
pub(super) fn look(turn: &mut Turn<'_>) -> Result<()> {
    let Some(days) = unseen(&turn.view())? else { return Ok(()) };
    if turn.scheduled(TIMER)?.is_some() || MADE_OF.get(turn, &())? == Some(basis(&turn.view(), &days)?) {
        return Ok(());
    }
    let due = turn.now.plus(INTERVALS * i64::from(turn.settings.publish_interval) * SECOND);
    turn.schedule(TIMER, due, &JudgePastDays)
}

/// A source was removed, and what the server saw is forgotten with it (ruling intelligence 35).
pub(super) fn forget(turn: &mut Turn<'_>) -> Result<()> {
    for (key, _) in SCORES.scan(turn, &SCORES.range(), Direction::Ascending, 2 * DAYS as usize)? {
        SCORES.delete(turn, &key);
    }
    MADE_OF.delete(turn, &());
    WORK.delete(turn, &());
    turn.cancel(TIMER)
}

/// Judges some targets on all days, and writes the scores after the last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JudgePastDays;

impl Operation for JudgePastDays {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "judge_past_days";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let work = match WORK.get(turn, &())? {
            Some(work) => Some(work),
            None => begin(&turn.view())?,
        };
        let Some(mut work) = work else { return Ok(()) };
        if some(&turn.view(), &mut work)? {
            WORK.put(turn, &(), &work)?;
            let now = turn.now;
            return turn.schedule(TIMER, now, &JudgePastDays);
        }
        finish(turn, work)?;
        look(turn)
    }
}

fn begin(view: &View<'_>) -> Result<Option<Work>> {
    let Some(days) = unseen(view)? else { return Ok(None) };
    let tallies = vec![Tally::default(); days.len()];
    Ok(Some(Work { basis: basis(view, &days)?, first: days.start, after: None, tallies }))
}

/// Adds some targets; true when more are left.
fn some(view: &View<'_>, work: &mut Work) -> Result<bool> {
    let surroundings = Surroundings::at(view, view.now)?;
    let catalogue = CATALOGUE.get(view, &())?.unwrap_or_default();
    let lists = Lists::new(&catalogue.global, &catalogue.political);
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
        let last = work.first + u32::try_from(work.tallies.len()).unwrap_or(0);
        let oldest = counting(work.first, Ageing::of(is_messaging(&target)));
        // The index is about domains.
        if !target.contains('/') && row.first_day < last && row.last_day >= oldest {
            judged += 1;
            add(view, &target, oldest, &surroundings, &lists, work)?;
        }
        work.after = Some(target);
    }
    Ok(looked < all || all == LOOKED_AT_ONCE)
}

/// Adds a target to the tally of each day on which measurements of it count.
fn add(
    view: &View<'_>,
    target: &String,
    oldest: u32,
    surroundings: &Surroundings,
    lists: &Lists<'_>,
    work: &mut Work,
) -> Result<()> {
    let ageing = Ageing::of(is_messaging(target));
    let timeline = Timeline::read(view, target, Timestamp((i64::from(oldest) - 1) * DAY), surroundings)?;
    for (day, tally) in (work.first..).zip(&mut work.tallies) {
        let window = || timeline.days.range(counting(day, ageing)..=day).map(|(_, of)| of);
        if window().next().is_none() {
            continue;
        }
        let verdict = timeline.verdict(day);
        let site = Site {
            target,
            state: State::from(verdict.status),
            is_measured: true,
            counted: window().map(|of| of.counted).sum(),
            blocked_weight: super::round(verdict.blocked_weight),
        };
        tally.add(&site, lists);
    }
    Ok(())
}

fn finish(turn: &mut Turn<'_>, work: Work) -> Result<()> {
    forget(turn)?;
    let catalogue = CATALOGUE.get(turn, &())?.unwrap_or_default();
    let lists = Lists::new(&catalogue.global, &catalogue.political);
    for (day, tally) in (work.first..).zip(&work.tallies) {
        let load = shutdowns::load(&turn.view(), end_of(day))?;
        // Networks make the grade, not the score.
        SCORES.put(turn, &(day,), &Score(index::of(tally, &lists, 0, load).score))?;
    }
    MADE_OF.put(turn, &(), &work.basis).map_err(Into::into)
}
