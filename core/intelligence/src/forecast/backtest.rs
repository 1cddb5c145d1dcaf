//! Backtest with a rolling origin by year: a model is trained on what was known before each 1 January and tested on
//! that year (decisions forecast-panel and late-history).

use schemars::JsonSchema;
use serde::Serialize;

use super::conformal::{Conformal, Coverage, Set, TARGET_MISS};
use super::features::{FeatureQuestion, features, rate};
use super::history::History;
use super::isotonic;
use super::metrics::{self, Budget, Figures, Scored, Top, figures};
use super::panel::{Horizon, Knowledge, countries, first_of_year, label, question, train, year_of};
use facts::starter::Country;

/// Days without a start before a forecast that make it a hard case.
const HARD_DAYS: i32 = 30;
/// Shares of the highest forecasts whose calibration is stated.
const TOPS: [f64; 3] = [0.01, 0.05, 0.1];
/// Thresholds of the alert budget.
const THRESHOLDS: [f64; 6] = [0.1, 0.2, 0.3, 0.5, 0.7, 0.9];
/// Rows with a start, and rows without one, that a country needs for an AUC of its own.
const LEAST_OF_A_KIND: u64 = 5;

/// A row of the test.
#[derive(Debug, Clone, Copy)]
struct Tested {
    country: usize,
    day: i32,
    outcome: Scored,
    /// Nothing started in the 30 days before, even if that was not known at the time.
    hard: bool,
    /// Something had started in the country before.
    with_history: bool,
}

/// Figures of one way of forecasting, over all rows and over harder parts of them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    #[serde(flatten)]
    pub all: Figures,
    /// Rows without a start in the 30 days before.
    pub hard: Figures,
    pub without_india: Figures,
    /// Rows of countries with an earlier start.
    pub with_history: Figures,
    /// Median over the countries with at least five rows with a start and five without, and the number of these
    /// countries.
    pub within_country_auc: Option<f64>,
    pub within_countries: usize,
    /// Calibration of the highest forecasts.
    pub top: Vec<Top>,
}

/// The test of one year.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Year {
    pub year: i64,
    #[serde(flatten)]
    pub part: Part,
    pub known_at_1_january: Part,
}

/// A simpler way of forecasting, for comparison.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Baseline {
    pub name: &'static str,
    #[serde(flatten)]
    pub all: Figures,
    pub hard: Figures,
}

/// The whole test.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Backtest {
    pub from: i64,
    pub to: i64,
    pub model: &'static str,
    /// Days of the forecast.
    pub horizon: i32,
    /// Number of codes in the panel.
    pub countries: usize,
    /// First day of systematic reports, the newest start, and the number of starts by country, day and place.
    pub history_from: String,
    pub history_to: String,
    pub starts: usize,
    pub features: Vec<&'static str>,
    /// Figures when every start up to the day of the forecast is known.
    #[serde(flatten)]
    pub part: Part,
    /// Figures when only a table that appears once a year is known: everything up to 31 December.
    pub known_at_1_january: Part,
    /// Coverage of the sets of class-wise adaptive conformal inference.
    pub coverage: Coverage,
    pub alert_budget: Vec<Budget>,
    pub baselines: Vec<Baseline>,
    pub years: Vec<Year>,
    pub notes: Vec<&'static str>,
}

/// Caveats about the figures.
const NOTES: [&str; 4] = [
    "Figures with history up to the day of the forecast are not what a table that comes once a year allows: see \
     known_at_1_january.",
    "Most of the skill is telling countries apart. Within one country, and after 30 quiet days, little is known of when: \
     see within_country_auc and hard.",
    "Elections enter where a calendar was imported into the data file; a table alone has none.",
    "The table tells what was reported. Places without reporters look quiet.",
];

/// Tests the years `from` to `to`. `until` is the last day on which the history is complete.
///
/// # Errors
///
/// A sentence that says what is missing.
pub fn backtest(history: &History, from: i64, to: i64, until: i32) -> Result<Backtest, String> {
    if from > to {
        return Err(format!("the first year, {from}, is after the last year, {to}"));
    }
    let mut fresh: Vec<(i64, Vec<Tested>)> = Vec::new();
    let mut frozen: Vec<(i64, Vec<Tested>)> = Vec::new();
    let before = year(history, from - 1, until, Knowledge::Days(0));
    for tested in from..=to {
        let missing = || format!("too little history before {tested}, or none of that year, to test it");
        fresh.push((tested, year(history, tested, until, Knowledge::Days(0)).ok_or_else(missing)?));
        frozen.push((tested, year(history, tested, until, Knowledge::Frozen).ok_or_else(missing)?));
    }
    let pooled: Vec<Tested> = fresh.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
    let pooled_frozen: Vec<Tested> = frozen.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
    let outcomes: Vec<Scored> = pooled.iter().map(|row| row.outcome).collect();
    let mut days: Vec<i32> = pooled.iter().map(|row| row.day).collect();
    days.sort_unstable();
    days.dedup();
    let years = fresh.iter().zip(&frozen).map(|((year, rows), (_, frozen))| Year {
        year: *year,
        part: part(rows),
        known_at_1_january: part(frozen),
    });
    Ok(Backtest {
        from,
        to,
        model: super::model::NAME,
        horizon: Horizon::WEEK.days,
        countries: countries().count(),
        history_from: date(history.begins()),
        history_to: date(history.newest().unwrap_or(until)),
        starts: history.total(),
        features: super::features::FEATURES.iter().map(|(name, _)| *name).collect(),
        part: part(&pooled),
        known_at_1_january: part(&pooled_frozen),
        coverage: coverage(before.as_deref().unwrap_or_default(), &fresh),
        alert_budget: THRESHOLDS.iter().map(|at| metrics::budget(&outcomes, *at, days.len())).collect(),
        baselines: baselines(history, &fresh),
        years: years.collect(),
        notes: NOTES.to_vec(),
    })
}

fn date(day: i32) -> String {
    crate::Timestamp(i64::from(day) * engine::time::DAY).to_date_text()
}

/// The forecasts of one year by a model trained on the time before; `None` when that time was too short to train one.
fn year(history: &History, year: i64, until: i32, knowledge: Knowledge) -> Option<Vec<Tested>> {
    let first = first_of_year(year);
    let (model, _) = train(history, first - 1, Horizon::WEEK, knowledge)?;
    let rows = test(history, year, until, |asked| model.probability(&features(history, asked)), knowledge);
    (!rows.is_empty()).then_some(rows)
}

fn test(
    history: &History,
    year: i64,
    until: i32,
    forecast: impl Fn(FeatureQuestion) -> f64,
    knowledge: Knowledge,
) -> Vec<Tested> {
    // The labels of the last days are not known.
    let days = first_of_year(year)..first_of_year(year + 1).min(until - Horizon::WEEK.days + 1);
    let rows = days.flat_map(|day| countries().map(move |country| (day, country)));
    rows.map(|(day, country)| Tested {
        country,
        day,
        outcome: Scored {
            probability: forecast(question(country, day, Horizon::WEEK, knowledge)),
            happened: label(history, country, day, Horizon::WEEK),
        },
        hard: history.starts(country, day - HARD_DAYS + 1, day) == 0.0,
        with_history: history.ever(country, day) > 0.0,
    })
    .collect()
}

fn outcomes(rows: &[Tested], pass: impl Fn(&Tested) -> bool) -> Vec<Scored> {
    rows.iter().filter(|row| pass(row)).map(|row| row.outcome).collect()
}

fn part(rows: &[Tested]) -> Part {
    let india = Country::all().iter().position(|country| country.code == "IN");
    let all = outcomes(rows, |_| true);
    let mut by_country = rows.to_vec();
    by_country.sort_by_key(|row| row.country);
    let within: Vec<f64> = by_country
        .chunk_by(|a, b| a.country == b.country)
        .filter_map(|rows| {
            let positives = rows.iter().filter(|row| row.outcome.happened).count() as u64;
            let enough = positives >= LEAST_OF_A_KIND && rows.len() as u64 - positives >= LEAST_OF_A_KIND;
            if enough { figures(&outcomes(rows, |_| true)).auc } else { None }
        })
        .collect();
    Part {
        all: figures(&all),
        hard: figures(&outcomes(rows, |row| row.hard)),
        without_india: figures(&outcomes(rows, |row| Some(row.country) != india)),
        with_history: figures(&outcomes(rows, |row| row.with_history)),
        within_countries: within.len(),
        within_country_auc: metrics::median(within),
        top: TOPS.iter().map(|share| metrics::top(&all, *share)).collect(),
    }
}

/// Runs class-wise conformal inference through the years in the way it would have been served: the sets learn the
/// outcome of a forecast when its week is over, and each year starts with the scores of the year before.
fn coverage(before: &[Tested], years: &[(i64, Vec<Tested>)]) -> Coverage {
    let mut found = Coverage { target: 1.0 - TARGET_MISS, ..Coverage::default() };
    let mut sets = Conformal::new(before.iter().map(|row| row.outcome));
    let (mut days, mut both, mut event_only, mut empty) = (0u32, 0u32, 0u32, 0u32);
    for (_, rows) in years {
        let mut waiting: Vec<Vec<(Set, bool)>> = Vec::new();
        for day in rows.chunk_by(|a, b| a.day == b.day) {
            let today: Vec<(Set, bool)> =
                day.iter().map(|row| (sets.set(row.outcome.probability), row.outcome.happened)).collect();
            let count = |event, quiet| today.iter().filter(|(set, _)| *set == Set { event, quiet }).count() as u32;
            days += 1;
            both += count(true, true);
            event_only += count(true, false);
            empty += count(false, false);
            waiting.push(today);
            if let Some(over) = waiting.len().checked_sub(1 + Horizon::WEEK.days as usize) {
                sets.learn(waiting.get(over).into_iter().flatten().copied());
            }
        }
        let over = waiting.len().saturating_sub(Horizon::WEEK.days as usize);
        waiting.drain(..over);
        waiting.iter().for_each(|day| sets.learn(day.iter().copied()));
        sets.renew(rows.iter().map(|row| row.outcome));
    }
    let (each, all) = (f64::from(days.max(1)), years.iter().map(|(_, rows)| rows.len()).sum::<usize>().max(1) as f64);
    found.event = sets.event.coverage();
    found.quiet = sets.quiet.coverage();
    (found.alpha_event, found.alpha_quiet) = (sets.event.alpha, sets.quiet.alpha);
    found.both_per_day = f64::from(both) / each;
    found.event_only_per_day = f64::from(event_only) / each;
    found.empty_per_day = f64::from(empty) / each;
    found.mean_set_size = 1.0 + (f64::from(both) - f64::from(empty)) / all;
    found
}

type Forecast<'a> = Box<dyn Fn(&Tested) -> f64 + 'a>;

/// Figures of simpler ways of forecasting on the same rows.
fn baselines<'h>(history: &'h History, years: &[(i64, Vec<Tested>)]) -> Vec<Baseline> {
    // Starts of five years plus twice the starts of the last week.
    let structural = move |country: usize, day: i32| {
        history.starts(country, day - 5 * 365 + 1, day) + 2.0 * history.starts(country, day - 6, day)
    };
    let one = |name: &'static str, make: &dyn Fn(i32) -> Forecast<'h>| {
        let mut rows = Vec::new();
        for (year, tested) in years {
            let forecast = make(first_of_year(*year));
            rows.extend(tested.iter().map(|row| {
                let outcome = Scored { probability: forecast(row), ..row.outcome };
                Tested { outcome, ..*row }
            }));
        }
        Baseline { name, all: figures(&outcomes(&rows, |_| true)), hard: figures(&outcomes(&rows, |row| row.hard)) }
    };
    let learned = |first: i32| {
        let days = (history.begins()..first - Horizon::WEEK.days).step_by(7);
        days.flat_map(|day| countries().map(move |country| (country, day)))
    };
    let truth = move |country, day| f64::from(u8::from(label(history, country, day, Horizon::WEEK)));
    vec![
        one("constant", &|first| {
            let (sum, rows) = learned(first).fold((0.0, 0.0), |(s, n), (c, d)| (s + truth(c, d), n + 1.0));
            Box::new(move |_| sum / rows)
        }),
        one("country_rate", &|_| {
            Box::new(|row| {
                let asked = question(row.country, row.day, Horizon::WEEK, Knowledge::Days(0));
                1.0 - (-rate(history, asked) * f64::from(Horizon::WEEK.days)).exp()
            })
        }),
        one("isotonic_of_counts", &|first| {
            let steps = isotonic::fit(learned(first).map(|(c, d)| (structural(c, d), truth(c, d), 1.0)));
            Box::new(move |row| steps.value(structural(row.country, row.day)))
        }),
    ]
}

/// The last day on which a history with this newest start counts as complete. Tables appear once a year.
pub fn complete_until(history: &History, today: i32) -> i32 {
    let newest = history.newest().unwrap_or(today);
    (first_of_year(year_of(newest) + 1) - 1).min(today)
}
