//! Forecasts of the last days for reviewers, with their outcomes where these are known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::known::history;
use super::panel::{Horizon, label};
use super::reports::ForecastId;
use super::store::{Forecasts, ISSUED};
use crate::risk::ReadScores;
use crate::{Result, anomaly};
use engine::actor::{Kind, Query, View};
use engine::kv::Direction;
use facts::starter::Country;

/// Asks for the seven-day forecasts that were made in the last days, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Candidates {
    /// A country code; `None` for all countries.
    pub country: Option<String>,
    /// Number of days back, including today.
    pub days: u32,
}

/// A forecast at the time when it was made, and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    pub country: String,
    /// The day on which it was made, in days since the epoch.
    pub day: u32,
    pub probability: f64,
    /// The probability in today's forecast.
    pub current: f64,
    /// Whether a shutdown began in its week; `None` while that is not known.
    pub happened: Option<bool>,
}

impl Candidate {
    /// The number of the forecast.
    pub fn number(&self) -> u32 {
        ForecastId { country: self.country.clone(), day: self.day }.number()
    }
}

/// The answer to [`Candidates`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reviewed {
    pub candidates: Vec<Candidate>,
    /// Measurements within the age limit, by country code.
    pub volumes: BTreeMap<String, u64>,
    /// Change of the share of blocked results over seven days, -1 to 1, by country code; only where it is known.
    pub drifts: BTreeMap<String, f64>,
    /// Version of the served model.
    pub model: Option<String>,
}

/// Days after which the last measured day is too old to be used.
const FRESH: u32 = 7;

/// By country code: the difference between the shares of blocked results in the last measured week and in the week
/// before.
fn drifts(view: &View<'_>, today: u32) -> Result<BTreeMap<String, f64>> {
    let change = anomaly::FEATURES.iter().position(|name| *name == "change_7d");
    let last = anomaly::all_days(view)?.into_iter().filter_map(|(country, days)| {
        let (day, features) = days.days.last()?;
        let change = features.get(change?)?;
        (today.saturating_sub(*day) <= FRESH).then_some((country, *change))
    });
    Ok(last.into_iter().collect())
}

impl Query for Candidates {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_candidates";
    type Reply = Reviewed;

    fn run(self, view: &View<'_>) -> Result<Reviewed> {
        let Some(served) = (Forecasts { countries: None }).run(view)? else { return Ok(Reviewed::default()) };
        let current: BTreeMap<&str, f64> =
            served.forecasts.iter().map(|(code, forecast)| (code.as_str(), forecast.risk(1))).collect();
        let today = u32::try_from(view.now.day()).unwrap_or(0);
        let Some(history) = history(view)? else { return Ok(Reviewed::default()) };
        // A report decides. Otherwise a known start is an outcome at once, and no start is one only when later starts
        // are known.
        let happened = |country: usize, day: i32| {
            let began = label(&history, country, day, Horizon::WEEK);
            let over = history.newest().is_some_and(|newest| day + Horizon::WEEK.days <= newest);
            history.reported(country, day).or_else(|| (began || over).then_some(began))
        };
        let range = ISSUED.between(&(today.saturating_sub(self.days) + 1,), &(today + 1,));
        let mut candidates = Vec::new();
        for ((day,), issued) in ISSUED.scan(view, &range, Direction::Descending, usize::MAX)? {
            for ((at, country), probability) in Country::all().iter().enumerate().zip(issued.risks) {
                let wanted = self.country.as_deref().is_none_or(|code| code == country.code);
                let Some(current) = current.get(country.code).copied().filter(|_| wanted) else { continue };
                let happened = happened(at, i32::try_from(day).unwrap_or(i32::MAX));
                candidates.push(Candidate { country: country.code.to_owned(), day, probability, current, happened });
            }
        }
        let volumes = ReadScores.run(view)?.into_iter().map(|(country, score)| (country, score.samples));
        Ok(Reviewed {
            candidates,
            volumes: volumes.filter(|(_, samples)| *samples > 0).collect(),
            drifts: drifts(view, today)?,
            model: Some(served.model.version()),
        })
    }
}
