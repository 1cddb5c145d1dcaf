//! The rows a forecast is learned from and judged by: one per country and day, the label being a start in the days that
//! follow (ruling intelligence 18).

use super::features::{FEATURES, Family, Question, features};
use super::history::{History, in_panel};
use super::logistic::{self, Logistic, Sample};
use crate::starter::Country;
use crate::time::Date;

/// The days after the day of a forecast that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// On the wire.
    pub name: &'static str,
    pub days: i32,
}

impl Horizon {
    pub const DAY: Horizon = Horizon { name: "1d", days: 1 };
    pub const WEEK: Horizon = Horizon { name: "7d", days: 7 };
    pub const MONTH: Horizon = Horizon { name: "30d", days: 30 };
    pub const ALL: [Horizon; 3] = [Horizon::DAY, Horizon::WEEK, Horizon::MONTH];
}

/// How fresh the history is when a forecast is made. A model is trained with the delay that it is served with: figures
/// of a history that is always up to date say nothing of one that is not (ruling intelligence 19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// Everything up to this many days before the day of the forecast.
    Days(i32),
    /// What was known on 1 January of the same year.
    Frozen,
}

impl Knowledge {
    /// The last day that is known on a day.
    pub fn on(self, day: i32) -> i32 {
        match self {
            Knowledge::Days(days) => day - days,
            Knowledge::Frozen => first_of_year(year_of(day)) - 1,
        }
    }

    /// Days after the begin of systematic reports before there is something to learn from.
    fn warm_up(self) -> i32 {
        match self {
            Knowledge::Days(days) => days + 60,
            Knowledge::Frozen => 365,
        }
    }
}

/// The year of a day.
pub fn year_of(day: i32) -> i64 {
    Date::from_days(i64::from(day)).year
}

/// 1 January of a year.
pub fn first_of_year(year: i64) -> i32 {
    let days = Date::new(year, 1, 1).map_or(0, |date| date.days());
    i32::try_from(days).unwrap_or(i32::MAX)
}

/// Days between two rows of one country that are learned from: labels of weeks that overlap hold little news.
const STRIDE: usize = 3;
/// Penalty of the fit, for rows [`STRIDE`] days apart.
const RIDGE: f64 = 300.0;
/// That of exams. Few countries have exam shutdowns, and a season is the same story many rows long; with the other penalty,
/// a year without them (2020) makes a model worse than none in quiet weeks. Chosen with that year seen.
const EXAM_RIDGE: f64 = 5_000.0;
/// Least positive rows (each with a start in its days) that a model is learned from. Few are enough, because [`RIDGE`]
/// keeps what they do not show at the base rate; below that a model would be the story of a handful of events.
const LEAST_POSITIVES: f64 = 30.0;

/// Countries of the panel by their place in `Country::all`.
pub fn countries() -> impl Iterator<Item = usize> {
    Country::all().iter().enumerate().filter(|(_, country)| in_panel(country)).map(|(at, _)| at)
}

/// Whether something starts in the days that follow a day; of a week, what people reported goes before what is listed.
pub fn label(history: &History, country: usize, day: i32, horizon: Horizon) -> bool {
    if horizon == Horizon::WEEK
        && let Some(reported) = history.reported(country, day)
    {
        return reported;
    }
    history.starts(country, day + 1, day + horizon.days) > 0.0
}

/// What is asked on a day.
pub fn question(country: usize, day: i32, horizon: Horizon, knowledge: Knowledge) -> Question {
    Question { country, at: day, known: knowledge.on(day), from: day + 1, to: day + horizon.days }
}

/// The rows whose labels were known at the end of `until`.
pub fn sample(history: &History, until: i32, horizon: Horizon, knowledge: Knowledge) -> Sample {
    let mut sample = Sample::new(super::features::WIDTH);
    let first = history.begins() + knowledge.warm_up();
    for day in (first..=until - horizon.days).step_by(STRIDE) {
        // Countries of a region without any start yet look the same: they are one row that counts for all of them.
        let mut alike: Vec<(usize, usize, f64)> = Vec::new();
        for country in countries() {
            let positive = label(history, country, day, horizon);
            if positive || history.ever(country, knowledge.on(day)) > 0.0 {
                let asked = question(country, day, horizon, knowledge);
                sample.push(&features(history, asked), positive, 1.0);
                continue;
            }
            let region = history.region_index(country);
            match alike.iter_mut().find(|(known, ..)| *known == region) {
                Some((.., count)) => *count += 1.0,
                None => alike.push((region, country, 1.0)),
            }
        }
        for (_, country, count) in alike {
            let asked = question(country, day, horizon, knowledge);
            sample.push(&features(history, asked), false, count);
        }
    }
    // What people reported of days in between.
    let between = |day: i32| day >= first && day <= until - horizon.days && (day - first) % STRIDE as i32 != 0;
    for (country, day) in history.reports().filter(|(_, day)| horizon == Horizon::WEEK && between(*day)) {
        let positive = label(history, country, day, horizon);
        sample.push(&features(history, question(country, day, horizon, knowledge)), positive, 1.0);
    }
    sample
}

/// Fits a model to everything that was known at the end of `until`; `None` when that is too little.
pub fn train(history: &History, until: i32, horizon: Horizon, knowledge: Knowledge) -> Option<(Logistic, Sample)> {
    let sample = sample(history, until, horizon, knowledge);
    if sample.positives() < LEAST_POSITIVES {
        return None;
    }
    let penalties = FEATURES.map(|(_, family)| if family == Family::Exams { EXAM_RIDGE } else { RIDGE });
    Some((logistic::fit_each(&sample, &penalties)?, sample))
}
