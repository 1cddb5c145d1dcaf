//! Forecasts of the last days for reviewers, with what is known of each by now.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::known::history;
use super::panel::{Horizon, label};
use super::reports::ForecastId;
use super::store::{Forecasts, ISSUED};
use crate::engine::actor::{Kind, Query, View};
use crate::engine::kv::Direction;
use crate::facts::starter::Country;
use crate::intelligence::risk::Scores;
use crate::{Result, engine::small_sort, intelligence::anomaly};

/// Seven-day forecasts that were made in the last days, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Candidates {
    /// Code; all countries without it.
    pub country: Option<String>,
    /// Days back, today counted.
    pub days: u32,
}

/// A forecast as it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    pub country: String,
    /// On which it was made, in days since the epoch.
    pub day: u32,
    pub probability: f64,
    /// By the forecast of today.
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

/// What [`Candidates`] answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reviewed {
    pub candidates: Vec<Candidate>,
    /// By code: measurements inside the age limit.
    pub volumes: BTreeMap<String, u64>,
    /// By code: change of the measured share that is blocked over seven days, -1 to 1, where it is known.
    pub drifts: BTreeMap<String, f64>,
    /// Version of the served model.
    pub model: Option<String>,
}

/// Days after which the last measured day says nothing of now.
const FRESH: u32 = 7;

/// By code: how the share of blocked results of the last measured week differs from that of the week before.
fn drifts(view: &View<'_>, today: u32) -> Result<BTreeMap<String, f64>> {
    let change = anomaly::FEATURES.iter().position(|name| *name == "change_7d");
    let last = anomaly::all_days(view)?.into_iter().filter_map(|(country, days)| {
        let (day, features) = days.days.last()?;
        let change = features.get(change?)?;
        (today.saturating_sub(*day) <= FRESH).then_some((country, *change))
    });
    Ok(small_sort::gather(last))
}

impl Query for Candidates {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_candidates";
    type Reply = Reviewed;

    fn run(self, view: &View<'_>) -> Result<Reviewed> {
        let Some(served) = (Forecasts { countries: None }).run(view)? else { return Ok(Reviewed::default()) };
        let current: BTreeMap<&str, f64> =
            small_sort::gather(served.forecasts.iter().map(|(code, forecast)| (code.as_str(), forecast.risk(1))));
        let today = u32::try_from(view.now.day()).unwrap_or(0);
        let Some(history) = history(view)? else { return Ok(Reviewed::default()) };
        // As reported; else a start is known at once, and that there was none when later starts are known.
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
        let volumes = Scores.run(view)?.into_iter().map(|(country, score)| (country, score.samples));
        Ok(Reviewed {
            candidates,
            volumes: small_sort::gather(volumes.filter(|(_, samples)| *samples > 0)),
            drifts: drifts(view, today)?,
            model: Some(served.model.version()),
        })
    }
}
