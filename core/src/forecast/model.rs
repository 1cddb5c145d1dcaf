//! A learned model: what it rests on, what it forecasts, and why, in words.

use serde::{Deserialize, Serialize};

use super::conformal::Conformal;
use super::features::{FEATURES, Family, Question, exam_years, features, rate};
use super::history::History;
use super::logistic::{Logistic, sigmoid};
use super::metrics::{Figures, Outcome, figures};
use super::panel::{Horizon, Knowledge, countries, label, question, train};
use crate::kv::Row;
use crate::{Timestamp, order};

/// Of every version, before its number.
pub const NAME: &str = "hazard-logistic";
/// Days without a start anywhere after which a history counts as late. Somewhere in the world something starts almost
/// every day.
pub const FRESH_DAYS: i32 = 14;
/// Days of the hold-out that a first model is judged on.
const HOLD_OUT: i32 = 365;
/// Least days that the served model has not seen, before a new one of the same delay is tried.
const LEAST_UNSEEN: i32 = 60;
/// Quantile of the normal distribution of a 90% interval.
const Z: f64 = 1.645;
/// Entries of a forecast: day 0 to 7 (interface 2).
pub const DAYS: i32 = 8;
/// Least contribution to the log odds that is called a driver.
const LEAST_DRIVER: f64 = 0.15;

/// How the candidate, the served model and a plain country rate did on days that the candidate had not seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// Days since the epoch, both counted.
    pub from: i32,
    pub to: i32,
    pub candidate: Figures,
    /// Of it, without a start in the 30 days before.
    pub hard: Figures,
    /// The served model on the same rows; `None` when there was none.
    pub served: Option<Figures>,
    pub country_rate: Figures,
}

/// A model that was promoted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub number: u32,
    pub trained: Timestamp,
    /// The newest start that it learned from, in days since the epoch.
    pub until: i32,
    /// Days from the newest start to the day of training: it was trained to forecast with a history that late.
    pub delay: i32,
    pub starts: u64,
    pub rows: u64,
    pub positives: u64,
    /// In the order of [`Horizon::ALL`].
    pub horizons: Vec<Logistic>,
    pub held_out: HeldOut,
    pub sets: Conformal,
}
impl Row for Model {}

impl Model {
    /// `model_version` on the wire.
    pub fn version(&self) -> String {
        format!("{NAME}/{}", self.number)
    }

    /// How fresh its history is taken to be.
    pub fn knowledge(&self) -> Knowledge {
        Knowledge::Days(self.delay)
    }
}

/// Days that a history is late on a day.
pub fn delay(history: &History, today: i32) -> i32 {
    let late = history.newest().map_or(0, |newest| today - newest);
    if late <= FRESH_DAYS { 0 } else { late }
}

/// The days that a candidate is judged on: the last year for a first model or another delay. A served model of the same
/// delay is judged on days that neither has seen; the candidate had the earlier half of what is new to learn from.
fn held_out_days(until: i32, delay: i32, served: Option<&Model>) -> Result<(i32, i32), String> {
    let to = until - Horizon::WEEK.days;
    match served.filter(|served| (served.delay - delay).abs() <= FRESH_DAYS) {
        None => Ok((to - HOLD_OUT + 1, to)),
        Some(served) if to - served.until < LEAST_UNSEEN => {
            Err(format!("the history is hardly newer than that of {}", served.version()))
        }
        Some(served) => Ok((served.until + (to - served.until) / 2, to)),
    }
}

/// Judges a candidate that has not seen the days `from` to `to` on them; with what its forecasts came to.
fn hold_out(
    history: &History,
    (from, to): (i32, i32),
    knowledge: Knowledge,
    candidate: &Logistic,
    served: Option<&Model>,
) -> (HeldOut, Vec<Outcome>) {
    let rows = || (from..=to).flat_map(|day| countries().map(move |country| (country, day)));
    let judged = |forecast: &dyn Fn(Question) -> f64| -> Vec<Outcome> {
        let outcome = |(country, day)| Outcome {
            probability: forecast(question(country, day, Horizon::WEEK, knowledge)),
            happened: label(history, country, day, Horizon::WEEK),
        };
        rows().map(outcome).collect()
    };
    let by = |model: &Logistic, asked: Question| model.probability(&features(history, asked));
    let outcomes = judged(&|asked| by(candidate, asked));
    let quiet = rows().zip(&outcomes).filter(|((country, day), _)| history.starts(*country, day - 29, *day) == 0.0);
    let quiet: Vec<Outcome> = quiet.map(|(_, outcome)| *outcome).collect();
    let served = served.and_then(|served| served.horizons.get(1));
    let held_out = HeldOut {
        from,
        to,
        candidate: figures(&outcomes),
        hard: figures(&quiet),
        served: served.map(|old| figures(&judged(&|asked| by(old, asked)))),
        country_rate: figures(&judged(&|asked| poisson(history, asked))),
    };
    (held_out, outcomes)
}

/// Learns a model and says whether it may be served.
///
/// # Errors
///
/// Why it may not, in a sentence.
pub fn learn(history: &History, now: Timestamp, number: u32, served: Option<&Model>) -> Result<Model, String> {
    const TOO_LITTLE: &str = "too little history to learn from";
    let today = i32::try_from(now.day()).unwrap_or(i32::MAX);
    let until = history.newest().ok_or("there is no history")?;
    let delay = delay(history, today);
    let knowledge = Knowledge::Days(delay);
    let days = held_out_days(until, delay, served)?;
    let (candidate, _) = train(history, days.0 - 1, Horizon::WEEK, knowledge).ok_or(TOO_LITTLE)?;
    let (held_out, outcomes) = hold_out(history, days, knowledge, &candidate, served);
    let rival = held_out.served.as_ref().unwrap_or(&held_out.country_rate);
    let (new, old) = held_out.candidate.brier.zip(rival.brier).ok_or(TOO_LITTLE)?;
    if new >= old {
        return Err(format!("on the hold-out its Brier score is {new:.6}, no better than {old:.6}"));
    }
    let mut horizons = Vec::new();
    let (mut rows, mut positives) = (0, 0);
    for horizon in Horizon::ALL {
        let (model, sample) = train(history, until, horizon, knowledge).ok_or(TOO_LITTLE)?;
        if horizon == Horizon::WEEK {
            (rows, positives) = (sample.total() as u64, sample.positives() as u64);
        }
        horizons.push(model);
    }
    let (starts, sets) = (history.total() as u64, Conformal::new(outcomes));
    Ok(Model { number, trained: now, until, delay, starts, rows, positives, horizons, held_out, sets })
}

/// The risk by the rate of the country alone.
fn poisson(history: &History, asked: Question) -> f64 {
    1.0 - (-rate(history, asked) * f64::from(asked.to - asked.from + 1)).exp()
}

/// A horizon's risk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Risk {
    pub probability: f64,
    /// 90% interval of the fit: it holds what the coefficients may be, not what the model does not know.
    pub low: f64,
    pub high: f64,
    /// By feature, in the order of [`FEATURES`]: what it adds to the log odds against its mean.
    pub contributions: Vec<f64>,
}

/// One day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DayRisk {
    /// One-day hazard (ruling intelligence 17).
    pub risk: f64,
    pub contributions: Vec<f64>,
    /// Whether earlier years had exams about then.
    pub exams: bool,
}

/// A country's forecast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    pub at: Timestamp,
    /// Day 0, in days since the epoch, and the last day that was known.
    pub today: i32,
    pub known: i32,
    pub number: u32,
    /// Day 0 to 7.
    pub days: Vec<DayRisk>,
    /// In the order of [`Horizon::ALL`].
    pub horizons: Vec<Risk>,
    /// Families with a part in the risk, the greatest first, in words.
    pub drivers: Vec<(Family, String)>,
}
impl Row for Forecast {}

impl Forecast {
    /// Of a horizon of [`Horizon::ALL`].
    pub fn risk(&self, at: usize) -> f64 {
        self.horizons.get(at).map_or(0.0, |risk| risk.probability)
    }

    /// The greatest one-day hazard and its day.
    pub fn max_risk(&self) -> (f64, usize) {
        let days = self.days.iter().map(|day| day.risk).enumerate();
        days.fold((0.0, 0), |(most, on), (day, risk)| if risk > most { (risk, day) } else { (most, on) })
    }
}

/// The forecast of a country, by its place in `Country::all`.
pub fn forecast(model: &Model, history: &History, country: usize, now: Timestamp) -> Forecast {
    let today = i32::try_from(now.day()).unwrap_or(i32::MAX);
    let known = model.knowledge().on(today);
    let ask = |from: i32, to: i32| Question { country, known, from: today + from, to: today + to };
    let days = (0..DAYS).map(|day| {
        let asked = ask(day, day);
        let row = features(history, asked);
        let hazard = model.horizons.first();
        DayRisk {
            risk: hazard.map_or(0.0, |model| model.probability(&row)),
            contributions: hazard.map(|model| model.contributions(&row)).unwrap_or_default(),
            exams: exam_years(history, asked) > 0,
        }
    });
    let horizons: Vec<Risk> = Horizon::ALL
        .iter()
        .zip(&model.horizons)
        .map(|(horizon, model)| {
            let row = features(history, ask(1, horizon.days));
            let (odds, error) = (model.log_odds(&row), model.error(&row));
            Risk {
                probability: sigmoid(odds),
                low: sigmoid(odds - Z * error),
                high: sigmoid(odds + Z * error),
                contributions: model.contributions(&row),
            }
        })
        .collect();
    let drivers = horizons.get(1).map(|week| drivers(history, &week.contributions, ask(1, 7))).unwrap_or_default();
    Forecast { at: now, today, known, number: model.number, days: days.collect(), horizons, drivers }
}

/// What raises a risk, by family, the greatest first.
fn drivers(history: &History, contributions: &[f64], asked: Question) -> Vec<(Family, String)> {
    let sum = |family: Family| -> f64 {
        FEATURES.iter().zip(contributions).filter(|((_, of), _)| *of == family).map(|(_, value)| value).sum()
    };
    let mut found: Vec<(Family, f64)> = Family::ALL.into_iter().map(|family| (family, sum(family))).collect();
    found.retain(|(_, weight)| *weight >= LEAST_DRIVER);
    order::sort_by(&mut found, |a, b| b.1.total_cmp(&a.1));
    found.into_iter().filter_map(|(family, _)| Some((family, words(history, family, asked)?))).collect()
}

/// A family's state in words; `None` when there is nothing to tell.
fn words(history: &History, family: Family, asked: Question) -> Option<String> {
    let Question { country, known, .. } = asked;
    let month = history.starts(country, known - 29, known);
    Some(match family {
        Family::Recent if month > 0.0 => format!("shutdowns began {month} times in the last 30 known days"),
        Family::Recent => {
            format!("the last known shutdown began {} days before", history.since(country, known)?)
        }
        Family::LongRun => {
            let year = rate(history, asked) * 365.0;
            format!("shutdowns begin here about {year:.1} times a year in the long run, the region considered")
        }
        Family::Exams => match exam_years(history, asked) {
            0 => format!("{} shutdowns for exams in the last 21 known days", history.exams(country, known - 20, known)),
            years => format!("shutdowns for exams at this time of the year in {years} of the last three years"),
        },
        Family::National => {
            let starts = history.national(country, known - 364, known);
            format!("{starts} shutdowns of the whole country in the last known year")
        }
    })
}
