//! The starts of all countries, in a form that quickly answers how many there were until a day.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::world::EventMark;
use facts::reported::{Cause, EventKind, Scope};
use facts::source::Source;
use facts::starter::Country;

/// Codes without inhabitants who could be cut off, and one that is no ISO code. They get forecasts, but models do not
/// learn from them. Without them 242 codes remain (decision forecast-panel).
const OUTSIDE: [&str; 8] = ["AQ", "BV", "GS", "HM", "IO", "TF", "UM", "XK"];
/// Days of the grid before the first year of systematic reports, so that features which look back count their starts.
const BEFORE: i32 = 730;
/// Starts in a year that show that a table is kept systematically.
const SYSTEMATIC: usize = 30;
/// Days for which the last measured day of a country stands in for later days.
const FRESHNESS: u32 = 3;
/// Half-lives in days of the two recent rates.
pub const HALF_LIVES: [f64; 2] = [30.0, 150.0];

/// An event that forecasts learn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Start {
    /// Days since the epoch.
    pub day: i32,
    /// Identifies the areas. Starts of one country, day and place are one start (decision forecast-panel).
    pub place: u32,
    /// Connectivity was cut because of exams.
    pub exams: bool,
    /// The whole country was affected.
    pub national: bool,
}

/// The start that a mark reports, if models may learn from it: shutdowns, throttling and blocks from a shutdown table,
/// and those that an operator recorded as ordered. Raw outages are no labels.
pub fn start(source: u8, mark: &EventMark) -> Option<Start> {
    let listed = source == Source::AccessNow.code();
    let written = source == Source::Outages.code() && mark.cause == Cause::Ordered;
    if !(listed || written) || mark.kind == EventKind::Outage {
        return None;
    }
    let day = i32::try_from(mark.start).ok()?;
    Some(Start { day, place: mark.place, exams: mark.exams, national: mark.scope == Scope::National })
}

/// Measurements of a country at the end of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredDay {
    /// Days since the epoch.
    pub day: u32,
    /// Share of the measurements within the age limit that vote blocked, in ten-thousandths.
    pub blocked: u16,
    /// Number of measurements in the seven days before.
    pub week: u32,
}

/// Data that forecasts use in addition to the starts. Countries are given by code.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Days since the epoch of elections that are more than local, past and future.
    pub elections: Vec<(String, i32)>,
    /// Oldest first.
    pub measured: Vec<(String, Vec<MeasuredDay>)>,
    /// Reports of people: country, day, and whether something began in the seven days after it.
    pub reported: Vec<(String, i32, bool)>,
    /// The newest start of a table that is kept systematically, if there is one. Starts that an operator recorded later
    /// do not make the history complete.
    pub listed_until: Option<i32>,
}

/// Recent change of a country's measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Change of the share of blocked votes within a week, -1 to 1.
    pub blocked: f64,
    /// Natural logarithm of the volume of a week divided by its median over four weeks.
    pub volume: f64,
}

/// The starts of one country.
#[derive(Debug, Clone, Default)]
struct Series {
    /// Number of starts up to and including each day of the grid; empty if there are none.
    starts: Vec<u32>,
    exams: Vec<u32>,
    national: Vec<u32>,
    /// The day of the last start, for each day.
    last: Vec<Option<i32>>,
    /// Number of starts for each day, where the weight of a start halves after each half-life.
    recent: [Vec<f64>; 2],
}

/// The starts of all countries on a grid of days.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// First day of the grid, and the first of systematic reports.
    first: i32,
    begins: i32,
    days: usize,
    countries: Vec<Series>,
    /// For each country, the index of its region.
    region_of: Vec<usize>,
    /// For each region: the number of starts up to and including each day, and its codes that models learn from.
    regions: Vec<(Vec<u32>, u32)>,
    /// The newest start, and the number of starts.
    newest: Option<i32>,
    total: usize,
    /// For each country: days of elections, ascending, and measurements, oldest first.
    elections: Vec<Vec<i32>>,
    measured: Vec<Vec<MeasuredDay>>,
    /// By country and day.
    reported: BTreeMap<(usize, i32), bool>,
}

/// The index of a country code in `Country::all`.
fn index(code: &str) -> Option<usize> {
    Country::all().binary_search_by(|country| country.code.cmp(code)).ok()
}

/// Whether a code is one of the 242 of the panel.
pub fn in_panel(country: &Country) -> bool {
    !OUTSIDE.contains(&country.code)
}

impl History {
    /// Builds the history from starts by country code, with a grid that ends at `until`. `None` while no year has
    /// enough starts.
    pub fn new(starts: impl IntoIterator<Item = (String, Start)>, until: i32) -> Option<History> {
        let all = Country::all();
        let mut of: Vec<BTreeSet<Start>> = vec![BTreeSet::new(); all.len()];
        for (code, start) in starts {
            if let Some(of) = index(&code).and_then(|at| of.get_mut(at)) {
                of.insert(start);
            }
        }
        let mut regions: Vec<u16> = all.iter().map(|country| country.subregion.m49).collect();
        regions.sort_unstable();
        regions.dedup();
        let region_of =
            all.iter().map(|country| regions.binary_search(&country.subregion.m49).unwrap_or_default()).collect();
        let begins = begin(&of)?;
        let first = begins - BEFORE;
        let days = usize::try_from(until - first + 1).ok()?;
        let mut history = History {
            first,
            begins,
            days,
            countries: Vec::new(),
            region_of,
            regions: vec![(vec![0; days], 0); regions.len()],
            newest: of.iter().flatten().map(|start| start.day).filter(|day| *day <= until).max(),
            total: of.iter().map(BTreeSet::len).sum(),
            elections: vec![Vec::new(); all.len()],
            measured: vec![Vec::new(); all.len()],
            reported: BTreeMap::new(),
        };
        for (at, (country, starts)) in all.iter().zip(&of).enumerate() {
            let series = history.series(starts);
            let region = history.region_of.get(at).and_then(|region| history.regions.get_mut(*region));
            if let Some((counts, codes)) = region {
                *codes += u32::from(in_panel(country));
                for (sum, count) in counts.iter_mut().zip(&series.starts) {
                    *sum += count;
                }
            }
            history.countries.push(series);
        }
        Some(history)
    }

    /// The same history with data in addition to the starts.
    pub fn with(mut self, beside: Beside) -> History {
        for (code, day) in beside.elections {
            if let Some(days) = index(&code).and_then(|at| self.elections.get_mut(at)) {
                days.push(day);
            }
        }
        self.elections.iter_mut().for_each(|days| days.sort_unstable());
        for (code, days) in beside.measured {
            if let Some(of) = index(&code).and_then(|at| self.measured.get_mut(at)) {
                *of = days;
            }
        }
        self.newest = beside.listed_until.filter(|until| *until <= self.end()).or(self.newest);
        let reported = beside.reported.into_iter();
        self.reported.extend(reported.filter_map(|(code, day, event)| Some(((index(&code)?, day), event))));
        self
    }

    fn series(&self, starts: &BTreeSet<Start>) -> Series {
        if !starts.iter().any(|start| self.place(start.day).is_some()) {
            return Series::default();
        }
        let mut per_day = vec![[0u32; 3]; self.days];
        for start in starts {
            if let Some(day) = self.place(start.day).and_then(|at| per_day.get_mut(at)) {
                let counted = [true, start.exams, start.national].map(u32::from);
                day.iter_mut().zip(counted).for_each(|(sum, one)| *sum += one);
            }
        }
        let mut series = Series::default();
        let (mut sums, mut last, mut recent) = ([0; 3], None, [0.0; 2]);
        let keep = HALF_LIVES.map(|days| 0.5f64.powf(1.0 / days));
        for (day, counts) in (self.first..).zip(&per_day) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            let [starts, exams, national] = sums;
            let here = counts.first().copied().unwrap_or_default();
            last = if here > 0 { Some(day) } else { last };
            for (value, keep) in recent.iter_mut().zip(keep) {
                *value = *value * keep + f64::from(here);
            }
            series.starts.push(starts);
            series.exams.push(exams);
            series.national.push(national);
            series.last.push(last);
            series.recent.iter_mut().zip(recent).for_each(|(days, value)| days.push(value));
        }
        series
    }

    /// The index of a day in the grid.
    fn place(&self, day: i32) -> Option<usize> {
        usize::try_from(day - self.first).ok().filter(|at| *at < self.days)
    }

    /// A count up to and including a day. It is 0 before the grid, and keeps its last value after the grid.
    fn until(&self, counts: &[u32], day: i32) -> f64 {
        let at = (day - self.first).min(i32::try_from(self.days).unwrap_or(i32::MAX) - 1);
        usize::try_from(at).ok().and_then(|at| counts.get(at)).copied().map_or(0.0, f64::from)
    }

    fn within(&self, counts: &[u32], from: i32, to: i32) -> f64 {
        if to < from { 0.0 } else { self.until(counts, to) - self.until(counts, from - 1) }
    }

    fn of(&self, country: usize) -> &Series {
        const NOTHING: &Series = &Series {
            starts: Vec::new(),
            exams: Vec::new(),
            national: Vec::new(),
            last: Vec::new(),
            recent: [Vec::new(), Vec::new()],
        };
        self.countries.get(country).unwrap_or(NOTHING)
    }

    /// Starts on the days `from` to `to`, both included.
    pub fn starts(&self, country: usize, from: i32, to: i32) -> f64 {
        self.within(&self.of(country).starts, from, to)
    }

    /// Like [`History::starts`], but only starts because of exams.
    pub fn exams(&self, country: usize, from: i32, to: i32) -> f64 {
        self.within(&self.of(country).exams, from, to)
    }

    /// Like [`History::starts`], but only starts that affected the whole country.
    pub fn national(&self, country: usize, from: i32, to: i32) -> f64 {
        self.within(&self.of(country).national, from, to)
    }

    /// All starts up to and including a day.
    pub fn ever(&self, country: usize, day: i32) -> f64 {
        self.until(&self.of(country).starts, day)
    }

    /// Starts per country of its region up to and including a day. Its own starts are left out, and one is added.
    pub fn region(&self, country: usize, day: i32) -> f64 {
        let region = self.region_of.get(country).and_then(|region| self.regions.get(*region));
        region.map_or(0.0, |(counts, codes)| {
            (self.until(counts, day) - self.ever(country, day) + 1.0) / f64::from((*codes).max(1))
        })
    }

    /// Days from the last start to a day; `None` when there was none.
    pub fn since(&self, country: usize, day: i32) -> Option<i32> {
        let last = &self.of(country).last;
        let at = self.place(day.min(self.end()))?;
        last.get(at).copied().flatten().map(|last| day - last)
    }

    /// Starts up to a day, where the weight of a start halves after every half-life of [`HALF_LIVES`].
    pub fn recent(&self, country: usize, day: i32) -> [f64; 2] {
        let at = self.place(day);
        let series = self.of(country);
        [0, 1].map(|which| {
            let values = series.recent.get(which).zip(at);
            values.and_then(|(values, at)| values.get(at)).copied().unwrap_or_default()
        })
    }

    /// The first election on the days `from` to `to`, both included.
    pub fn election(&self, country: usize, from: i32, to: i32) -> Option<i32> {
        let days = self.elections.get(country)?;
        days.get(days.partition_point(|day| *day < from)).copied().filter(|day| *day <= to)
    }

    /// Whether any election is known.
    pub fn any_election(&self) -> bool {
        self.elections.iter().any(|days| !days.is_empty())
    }

    /// Change of the measurements in the four weeks up to a day; `None` where some of the time was not measured.
    pub fn drift(&self, country: usize, day: i32) -> Option<Drift> {
        let days = self.measured.get(country)?;
        let at = |day: i32| {
            let day = u32::try_from(day).ok()?;
            let next = days.partition_point(|of| of.day <= day);
            days.get(next.checked_sub(1)?).filter(|of| day - of.day <= FRESHNESS)
        };
        let (now, before) = (at(day)?, at(day - 7)?);
        let weeks: Option<Vec<f64>> = (0..28).map(|back| at(day - back).map(|of| f64::from(of.week))).collect();
        let usual = super::metrics::median(weeks?)?;
        let share = |of: &MeasuredDay| f64::from(of.blocked) / 10_000.0;
        let volume = ((f64::from(now.week) + 1.0) / (usual + 1.0)).ln();
        Some(Drift { blocked: share(now) - share(before), volume })
    }

    /// Whether people reported a start in the seven days after a day; `None` without a report.
    pub fn reported(&self, country: usize, day: i32) -> Option<bool> {
        self.reported.get(&(country, day)).copied()
    }

    /// The country and the day of every report.
    pub fn reports(&self) -> impl Iterator<Item = (usize, i32)> {
        self.reported.keys().copied()
    }

    /// The index of the region of a country.
    pub fn region_index(&self, country: usize) -> usize {
        self.region_of.get(country).copied().unwrap_or_default()
    }

    /// The first day of systematic reports.
    pub fn begins(&self) -> i32 {
        self.begins
    }

    /// The last day of the grid.
    pub fn end(&self) -> i32 {
        self.first + i32::try_from(self.days).unwrap_or(i32::MAX) - 1
    }

    /// The newest start. The history counts as complete up to it.
    pub fn newest(&self) -> Option<i32> {
        self.newest
    }

    /// Number of starts, each counted once.
    pub fn total(&self) -> usize {
        self.total
    }
}

/// The first day of the first year with enough starts.
fn begin(of: &[BTreeSet<Start>]) -> Option<i32> {
    let year = |day: i32| engine::time::Date::from_days(i64::from(day)).year;
    let mut years: Vec<i64> = of.iter().flatten().map(|start| year(start.day)).collect();
    years.sort_unstable();
    let first = years.chunk_by(|a, b| a == b).find(|starts| starts.len() >= SYSTEMATIC)?.first()?;
    engine::time::Date::new(*first, 1, 1).and_then(|date| i32::try_from(date.days()).ok())
}
