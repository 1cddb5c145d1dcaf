//! Shutdowns around earlier elections, from the events that sources reported.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::model::{DateCertainty, Election};
use super::store;
use crate::Result;
use crate::forecast::history::start;
use crate::world::EventHistory;
use engine::actor::{Kind, Query, View};
use engine::time::Date;

/// Days before and after an election that count as around it.
pub const AROUND: i32 = 7;
/// Starts in a year that show that a table is kept systematically. Before such a year, quiet weeks tell nothing.
const SYSTEMATIC: usize = 30;
/// Weight of the share of all countries in a country's own share, as a number of elections. Our choice.
const PRIOR_ELECTIONS: f64 = 2.0;
/// Elections of all countries that a share needs, at least.
const LEAST_POOLED: usize = 10;

/// Past elections of a country within the time that the events cover, and the shutdowns that began around them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// Days of the elections since the epoch, each once.
    pub days: Vec<i32>,
    /// Elections with a shutdown around them.
    pub with: u32,
    /// Shutdowns around them.
    pub starts: u32,
}

/// All elections, and the shutdowns around the past ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElectionHistory {
    /// By date.
    pub elections: Vec<Election>,
    /// The days that reported shutdowns cover, in days since the epoch; `None` without any.
    pub covered: Option<(i32, i32)>,
    /// By country code; only countries with a past election in that time.
    pub patterns: BTreeMap<String, Pattern>,
}

impl ElectionHistory {
    pub fn pattern(&self, country: &str) -> &Pattern {
        const NOTHING: &Pattern = &Pattern { days: Vec::new(), with: 0, starts: 0 };
        self.patterns.get(country).unwrap_or(NOTHING)
    }

    /// The share of a country's elections with a shutdown around them, mixed with the share of all countries; `None`
    /// while too few past elections are known.
    pub fn share(&self, country: &str) -> Option<f64> {
        let elections: usize = self.patterns.values().map(|pattern| pattern.days.len()).sum();
        let with: u32 = self.patterns.values().map(|pattern| pattern.with).sum();
        if elections < LEAST_POOLED {
            return None;
        }
        let pooled = f64::from(with) / elections as f64;
        let own = self.pattern(country);
        Some((f64::from(own.with) + PRIOR_ELECTIONS * pooled) / (own.days.len() as f64 + PRIOR_ELECTIONS))
    }
}

/// The days that the events cover: from the first year with enough starts, or else from the first start, to the last
/// start.
fn covered(starts: &BTreeSet<(i32, String, u32)>) -> Option<(i32, i32)> {
    let year = |day: i32| Date::from_days(i64::from(day)).year;
    let days: Vec<i32> = starts.iter().map(|(day, ..)| *day).collect();
    let (first, last) = (*days.first()?, *days.last()?);
    let full = days.chunk_by(|a, b| year(*a) == year(*b)).find(|of| of.len() >= SYSTEMATIC);
    let begin = full.and_then(|of| of.first()).and_then(|day| Date::new(year(*day), 1, 1));
    Some((begin.and_then(|date| i32::try_from(date.days()).ok()).unwrap_or(first), last))
}

/// Counts the shutdowns around elections that were held, each election day once.
fn patterns(
    elections: &[Election],
    starts: &BTreeSet<(i32, String, u32)>,
    (first, last): (i32, i32),
) -> BTreeMap<String, Pattern> {
    let held = elections
        .iter()
        .filter(|election| !matches!(election.status, DateCertainty::Cancelled | DateCertainty::Expected));
    let days: BTreeSet<(String, i32)> =
        held.filter_map(|election| Some((election.country.clone(), election.when.day()?))).collect();
    let mut found: BTreeMap<String, Pattern> = BTreeMap::new();
    for (country, day) in days {
        if day - AROUND < first || day + AROUND > last {
            continue;
        }
        let around = (day - AROUND, String::new(), 0)..(day + AROUND + 1, String::new(), 0);
        let began = starts.range(around).filter(|(_, of, _)| *of == country).count();
        let pattern = found.entry(country).or_default();
        pattern.days.push(day);
        pattern.with += u32::from(began > 0);
        pattern.starts += u32::try_from(began).unwrap_or(u32::MAX);
    }
    found
}

/// Asks for all elections, and the shutdowns around the past ones.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadCalendar;

impl Query for ReadCalendar {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "election_calendar";
    type Reply = ElectionHistory;

    fn run(self, view: &View<'_>) -> Result<ElectionHistory> {
        let elections = store::all(view)?;
        let today = i32::try_from(view.now.day()).unwrap_or(i32::MAX);
        let marks = EventHistory { country: None }.run(view)?;
        // Starts on one day at one place of a country are one start (decision forecast-panel). A shutdown that is only
        // announced has not happened.
        let starts: BTreeSet<(i32, String, u32)> = marks
            .into_iter()
            .filter_map(|(country, source, mark)| {
                let start = start(source, &mark).filter(|start| start.day <= today)?;
                Some((start.day, country, start.place))
            })
            .collect();
        let covered = covered(&starts);
        let patterns = covered.map(|covered| patterns(&elections, &starts, covered)).unwrap_or_default();
        Ok(ElectionHistory { elections, covered, patterns })
    }
}
