//! The rows on which forecasts are trained and judged: one for each country and day. The label says whether something
//! started in the days that follow (decision forecast-panel).

use schemars::JsonSchema;
use serde::Serialize;

use super::features::{FEATURES, Family, FeatureQuestion, features};
use super::history::{History, in_panel};
use super::logistic::{self, Logistic, Sample};
use engine::time::Date;
use facts::starter::Country;

/// The days after the day of a forecast that the forecast is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// The name in answers.
    pub name: &'static str,
    pub days: i32,
}

impl Horizon {
    pub const DAY: Horizon = Horizon { name: "1d", days: 1 };
    pub const WEEK: Horizon = Horizon { name: "7d", days: 7 };
    pub const MONTH: Horizon = Horizon { name: "30d", days: 30 };
    pub const ALL: [Horizon; 3] = [Horizon::DAY, Horizon::WEEK, Horizon::MONTH];
}

/// How late the history is when a forecast is made. A model is trained with the same delay with which it is served,
/// since figures for a history that is always up to date tell nothing about a late one (decision late-history).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// Everything up to this many days before the day of the forecast.
    Days(i32),
    /// Everything that was known on 1 January of the same year.
    Frozen,
}

impl Knowledge {
    /// The last day up to which starts are known on a day.
    pub fn on(self, day: i32) -> i32 {
        match self {
            Knowledge::Days(days) => day - days,
            Knowledge::Frozen => first_of_year(year_of(day)) - 1,
        }
    }

    /// Days after the beginning of systematic reports from which on there are rows.
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

/// Days between two training rows of one country. Weeks that overlap have nearly the same labels.
const STRIDE: usize = 3;
/// Penalty of the fit, for rows [`STRIDE`] days apart.
const RIDGE: f64 = 300.0;
/// The penalty for exams. Few countries have shutdowns for exams, and one season gives many rows with the same story,
/// so those countries tell little about others. It is the least of the penalties that [`penalties`] finds within a
/// thousandth of the best on the rows before 2019, so no year that the backtest reports was used to choose it.
const EXAM_RIDGE: f64 = 10_000.0;
/// Positive rows (each with a start in its days) that training needs. Few are enough, because [`RIDGE`] keeps the model
/// at the base rate where they show nothing. With fewer rows the model would describe only a handful of events.
const LEAST_POSITIVES: f64 = 30.0;

/// Countries of the panel, by their index in `Country::all`.
pub fn countries() -> impl Iterator<Item = usize> {
    Country::all().iter().enumerate().filter(|(_, country)| in_panel(country)).map(|(at, _)| at)
}

/// Whether something starts in the days that follow a day. For a week, a report of people takes precedence over the
/// table.
pub fn label(history: &History, country: usize, day: i32, horizon: Horizon) -> bool {
    if horizon == Horizon::WEEK
        && let Some(reported) = history.reported(country, day)
    {
        return reported;
    }
    history.starts(country, day + 1, day + horizon.days) > 0.0
}

/// The question that a forecast asks on a day.
pub fn question(country: usize, day: i32, horizon: Horizon, knowledge: Knowledge) -> FeatureQuestion {
    FeatureQuestion { country, at: day, known: knowledge.on(day), from: day + 1, to: day + horizon.days }
}

/// The rows whose labels were known at the end of `until`.
pub fn sample(history: &History, until: i32, horizon: Horizon, knowledge: Knowledge) -> Sample {
    sample_of(history, until, horizon, knowledge, &|_| true)
}

/// The same for some countries only, given by their index in `Country::all`.
pub(super) fn sample_of(
    history: &History,
    until: i32,
    horizon: Horizon,
    knowledge: Knowledge,
    is_in: &dyn Fn(usize) -> bool,
) -> Sample {
    let mut sample = Sample::new(super::features::WIDTH);
    let first = history.begins() + knowledge.warm_up();
    for day in (first..=until - horizon.days).step_by(STRIDE) {
        // Countries of a region without any start so far have the same features. One row stands for all of them.
        let mut alike: Vec<(usize, usize, f64)> = Vec::new();
        for country in countries().filter(|country| is_in(*country)) {
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
    // Reports of people about the days in between.
    let between = |day: i32| day >= first && day <= until - horizon.days && (day - first) % STRIDE as i32 != 0;
    let told = |(country, day): &(usize, i32)| horizon == Horizon::WEEK && between(*day) && is_in(*country);
    for (country, day) in history.reports().filter(told) {
        let positive = label(history, country, day, horizon);
        sample.push(&features(history, question(country, day, horizon, knowledge)), positive, 1.0);
    }
    sample
}

/// Trains a model on everything that was known at the end of `until`; `None` when that is too little.
pub fn train(history: &History, until: i32, horizon: Horizon, knowledge: Knowledge) -> Option<(Logistic, Sample)> {
    let sample = sample(history, until, horizon, knowledge);
    if sample.positives() < LEAST_POSITIVES {
        return None;
    }
    Some((fit(&sample, EXAM_RIDGE)?, sample))
}

fn fit(sample: &Sample, exams: f64) -> Option<Logistic> {
    let penalties = FEATURES.map(|(_, family)| if family == Family::Exams { exams } else { RIDGE });
    logistic::fit_each(sample, &penalties)
}

/// Penalties for exams that are compared.
const PENALTIES: [f64; 6] = [300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0, 100_000.0];
/// Number of groups of countries; each group is left out once.
const FOLDS: usize = 8;

/// The result of a penalty for exams.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Penalty {
    pub exam_penalty: f64,
    /// Brier skill on the countries that were left out.
    pub brier_skill: f64,
    /// Whether models are trained with this penalty.
    pub is_used: bool,
}

/// Compares penalties for exams on the rows before a year. Each eighth of the countries is left out once, and a model
/// of the others is tested on it. Countries are dealt to the groups by their number of starts, so that every group has
/// some with many. Empty when there is too little to learn from.
pub fn penalties(history: &History, before: i64) -> Vec<Penalty> {
    let (until, knowledge) = (first_of_year(before) - 1, Knowledge::Days(0));
    let mut busiest: Vec<usize> = countries().collect();
    busiest.sort_by(|a, b| history.ever(*b, until).total_cmp(&history.ever(*a, until)));
    let mut group = vec![0; Country::all().len()];
    for (at, country) in busiest.into_iter().enumerate() {
        if let Some(group) = group.get_mut(country) {
            *group = at % FOLDS;
        }
    }
    let mut squares = PENALTIES.map(|_| 0.0);
    let (mut rows, mut positives) = (0.0, 0.0);
    for fold in 0..FOLDS {
        let is_out = |country: usize| group.get(country) == Some(&fold);
        let others = sample_of(history, until, Horizon::WEEK, knowledge, &|country| !is_out(country));
        let out = sample_of(history, until, Horizon::WEEK, knowledge, &is_out);
        (rows, positives) = (rows + out.total(), positives + out.positives());
        for (sum, penalty) in squares.iter_mut().zip(PENALTIES) {
            let Some(model) = fit(&others, penalty) else { return Vec::new() };
            *sum += out.squared_error(&model);
        }
    }
    let base = positives / rows;
    let penalty = |(exam_penalty, squares): (f64, f64)| Penalty {
        exam_penalty,
        brier_skill: 1.0 - squares / rows / (base * (1.0 - base)),
        is_used: exam_penalty == EXAM_RIDGE,
    };
    PENALTIES.into_iter().zip(squares).map(penalty).collect()
}
