//! A trained model: what it was trained on, its forecasts, and their reasons in words.

use serde::{Deserialize, Serialize};

use super::conformal::Conformal;
use super::features::{FEATURES, Family, FeatureQuestion, exam_years, features, rate};
use super::history::{Drift, History};
use super::logistic::{Logistic, sigmoid};
use super::metrics::{Confusion, Figures};
use super::panel::{Horizon, Knowledge};
use crate::Timestamp;
use engine::kv::{Row, StoreError, appended};
use engine::time::DAY;
use facts::sentence::Sentence;

/// The name that stands before the number of every version.
pub const NAME: &str = "hazard-logistic";
/// Quantile of the normal distribution for a 90% interval.
const Z: f64 = 1.645;
/// Days of a forecast: day 0 to 7.
pub const DAYS: i32 = 8;
/// Least contribution of a family to the log odds that is called a driver.
const LEAST_DRIVER: f64 = 0.15;

/// Figures of the candidate, the served model and the rate of each country on days that the candidate had not seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// First and last day, since the epoch; both belong to the time.
    pub from: i32,
    pub to: i32,
    pub candidate: Figures,
    /// Figures of the candidate on rows without a start in the 30 days before.
    pub hard: Figures,
    /// The served model on the same rows; `None` when there was none.
    pub served: Option<Figures>,
    pub country_rate: Figures,
}

impl HeldOut {
    /// The rival that the candidate must beat, with its Brier score: the served model, or else base rates. Base rates
    /// count as the best constant, although nobody could have known it in advance.
    pub fn rival(&self) -> Option<(&'static str, f64)> {
        match &self.served {
            Some(served) => Some(("the served model", served.brier?)),
            None => {
                let share = self.candidate.base_rate?;
                Some(("base rates", share * (1.0 - share)))
            }
        }
    }

    /// If the rate of each country did better than the candidate: the Brier scores of both. A model is served
    /// nevertheless when it beats what is served, and it says so.
    pub fn better_rate(&self) -> Option<(f64, f64)> {
        self.country_rate.brier.zip(self.candidate.brier).filter(|(rate, candidate)| rate < candidate)
    }
}

/// A model that was promoted to be served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub number: u32,
    pub trained: Timestamp,
    /// The newest start that it was trained on, in days since the epoch.
    pub until: i32,
    /// Days from the newest start to the day of training. The model was trained to forecast with a history that is this
    /// late.
    pub delay: i32,
    pub starts: u64,
    pub rows: u64,
    pub positives: u64,
    /// In the order of [`Horizon::ALL`].
    pub horizons: Vec<Logistic>,
    pub held_out: HeldOut,
    pub sets: Conformal,
    /// Alerts on the hold-out; `None` in rows of version 1.
    pub alerts: Option<Confusion>,
}
impl Row for Model {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        appended(version, 1, bytes, &[0])
    }
}

impl Model {
    /// The value of `model_version` in answers.
    pub fn version(&self) -> String {
        format!("{NAME}/{}", self.number)
    }

    /// Whether the model gives a weight to any feature of a family.
    pub fn learned(&self, family: Family) -> bool {
        let week = self.horizons.get(1).map(|week| week.weights.as_slice()).unwrap_or_default();
        FEATURES.iter().zip(week).any(|((_, of), weight)| *of == family && *weight != 0.0)
    }

    /// How late its history is taken to be.
    pub fn knowledge(&self) -> Knowledge {
        Knowledge::Days(self.delay)
    }
}

/// The risk from the rate of the country alone.
pub fn poisson(history: &History, asked: FeatureQuestion) -> f64 {
    1.0 - (-rate(history, asked) * f64::from(asked.to - asked.from + 1)).exp()
}

/// The risk for a horizon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HorizonRisk {
    pub probability: f64,
    /// 90% interval of the fit. It covers the uncertainty of the coefficients, not what the model cannot know.
    pub low: f64,
    pub high: f64,
    /// For each feature, in the order of [`FEATURES`]: its part of the log odds, compared with its mean.
    pub contributions: Vec<f64>,
}

/// The risk of one day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DayRisk {
    /// One-day hazard (decision hazard-and-week-risk).
    pub risk: f64,
    pub contributions: Vec<f64>,
    /// Whether earlier years had shutdowns for exams around this day.
    pub exams: bool,
}

/// The forecast for a country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    pub at: Timestamp,
    /// Day 0 in days since the epoch, and the last day up to which starts were known.
    pub today: i32,
    pub known: i32,
    pub number: u32,
    /// Day 0 to 7.
    pub days: Vec<DayRisk>,
    /// In the order of [`Horizon::ALL`].
    pub horizons: Vec<HorizonRisk>,
    /// Families that raise the risk, the greatest first, described in words.
    pub drivers: Vec<(Family, String)>,
    /// What was known in addition to the starts.
    pub calendar: KnownElections,
    pub drift: Option<Drift>,
    /// The same descriptions as sentences. Absent in rows of versions 1 and 2.
    said: Vec<Sentence>,
}

impl Forecast {
    /// The descriptions of what raises the risk, the greatest first.
    pub fn reasons(&self) -> impl Iterator<Item = Sentence> {
        let said = |at: usize| self.said.get(at).cloned();
        self.drivers
            .iter()
            .enumerate()
            .map(move |(at, (_, words))| said(at).unwrap_or_else(|| Sentence::written(words)))
    }
}

impl Row for Forecast {
    const VERSION: u8 = 3;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        match version {
            1 => appended(version, 1, bytes, &[0; 5]),
            _ => appended(version, 2, bytes, &[0]),
        }
    }
}

/// What was known about elections when a forecast was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownElections {
    /// Whether any election is known, in any country and at any time.
    pub known: bool,
    /// Whether the model learned the effect of elections from earlier ones.
    pub learned: bool,
    /// The next election in the country within 30 days.
    pub next: Option<i32>,
}

impl Forecast {
    /// The risk for a horizon, by its index in [`Horizon::ALL`].
    pub fn risk(&self, at: usize) -> f64 {
        self.horizons.get(at).map_or(0.0, |risk| risk.probability)
    }

    /// The greatest one-day hazard, and its day.
    pub fn max_risk(&self) -> (f64, usize) {
        let days = self.days.iter().map(|day| day.risk).enumerate();
        days.fold((0.0, 0), |(most, on), (day, risk)| if risk > most { (risk, day) } else { (most, on) })
    }
}

/// The forecast for a country, given by its index in `Country::all`.
pub fn forecast(model: &Model, history: &History, country: usize, now: Timestamp) -> Forecast {
    let today = i32::try_from(now.day()).unwrap_or(i32::MAX);
    let known = model.knowledge().on(today);
    let ask = |from: i32, to: i32| FeatureQuestion { country, at: today, known, from: today + from, to: today + to };
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
    let horizons: Vec<HorizonRisk> = Horizon::ALL
        .iter()
        .zip(&model.horizons)
        .map(|(horizon, model)| {
            let row = features(history, ask(1, horizon.days));
            let (odds, error) = (model.log_odds(&row), model.error(&row));
            HorizonRisk {
                probability: sigmoid(odds),
                low: sigmoid(odds - Z * error),
                high: sigmoid(odds + Z * error),
                contributions: model.contributions(&row),
            }
        })
        .scan((0.0_f64, 0.0_f64, 0.0_f64), |least, mut risk| {
            // A longer horizon contains the shorter ones, but each is learned separately, so a greater risk is carried
            // over.
            *least = (least.0.max(risk.probability), least.1.max(risk.low), least.2.max(risk.high));
            (risk.probability, risk.low, risk.high) = *least;
            Some(risk)
        })
        .collect();
    let found = horizons.get(1).map(|week| drivers(history, &week.contributions, ask(1, 7))).unwrap_or_default();
    let drivers = found.iter().map(|(family, said)| (*family, said.english())).collect();
    let said = found.into_iter().map(|(_, said)| said).collect();
    let calendar = KnownElections {
        known: history.any_election(),
        learned: model.learned(Family::Elections),
        next: history.election(country, today, today + 30),
    };
    let (days, drift) = (days.collect(), history.drift(country, today));
    Forecast { at: now, today, known, number: model.number, days, horizons, drivers, calendar, drift, said }
}

/// The families that raise a risk, the greatest first.
fn drivers(history: &History, contributions: &[f64], asked: FeatureQuestion) -> Vec<(Family, Sentence)> {
    let sum = |family: Family| -> f64 {
        FEATURES.iter().zip(contributions).filter(|((_, of), _)| *of == family).map(|(_, value)| value).sum()
    };
    let mut found: Vec<(Family, f64)> = Family::ALL.into_iter().map(|family| (family, sum(family))).collect();
    found.retain(|(_, weight)| *weight >= LEAST_DRIVER);
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.into_iter().filter_map(|(family, _)| Some((family, words(history, family, asked)?))).collect()
}

/// A day since the epoch, as sentences have it.
pub(super) fn date(day: i32) -> String {
    Timestamp(i64::from(day) * DAY).to_date_text()
}

/// A sentence about a family; `None` when there is nothing to say.
fn words(history: &History, family: Family, asked: FeatureQuestion) -> Option<Sentence> {
    let FeatureQuestion { country, known, .. } = asked;
    let month = history.starts(country, known - 29, known);
    // Readers count days from today, but the model counts them from the last known day. Where these differ, dates say
    // which one is meant (decision what-numbers-mean).
    let is_late = known < asked.at;
    let table = date(history.newest().map_or(known, |newest| newest.min(known)));
    let days = |count: i32| match is_late {
        true => {
            let span = Sentence::new("driver.days.until").with("from", date(known - count + 1));
            span.with("to", date(known)).with("table", &table)
        }
        // Days are 0 or more.
        false => Sentence::new("driver.days").with("days", count.unsigned_abs()),
    };
    let began = |code, starts: f64, count| Sentence::new(code).with("starts", starts).with("days", days(count));
    Some(match family {
        Family::Recent if month > 0.0 => began("driver.recent", month, 30),
        Family::Recent => {
            let last = date(known - history.since(country, known)?);
            Sentence::new("driver.last").with("day", last).with("table", Some(&table).filter(|_| is_late))
        }
        Family::LongRun => Sentence::new("driver.long_run").with("per_year", rate(history, asked) * 365.0),
        Family::Exams => match exam_years(history, asked) {
            0 => began("driver.exams", history.exams(country, known - 20, known), 21),
            years => Sentence::new("driver.exam_years").with("years", years),
        },
        Family::National => began("driver.national", history.national(country, known - 364, known), 365),
        Family::Elections => {
            let election = history.election(country, asked.from - 14, asked.to + 30)?;
            Sentence::new("driver.election").with("day", date(election))
        }
        Family::Measured => {
            let Drift { blocked, volume } = history.drift(country, asked.at)?;
            Sentence::new("driver.measured").with("points", blocked * 100.0).with("times", volume.exp())
        }
    })
}
