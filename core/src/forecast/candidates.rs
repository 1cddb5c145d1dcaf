//! Forecasts of the last days for reviewers, with what is known of each by now.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::history::start;
use super::panel::Horizon;
use super::store::{Forecasts, ISSUED};
use crate::actor::{Kind, Query, View};
use crate::kv::Direction;
use crate::outlook::Scores;
use crate::starter::Country;
use crate::world::EventHistory;
use crate::{Result, order};

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
    /// The number of the forecast: its day, and the two letters of the country. It never depends on a list.
    pub fn number(&self) -> u32 {
        let letters = self.country.bytes().take(2).map(|byte| u32::from(byte.saturating_sub(b'A')).min(25));
        letters.fold(self.day, |number, letter| number.wrapping_mul(26).wrapping_add(letter))
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

impl Query for Candidates {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_candidates";
    type Reply = Reviewed;

    fn run(self, view: &View<'_>) -> Result<Reviewed> {
        let Some(served) = (Forecasts { countries: None }).run(view)? else { return Ok(Reviewed::default()) };
        let current: BTreeMap<&str, f64> =
            order::gather(served.forecasts.iter().map(|(code, forecast)| (code.as_str(), forecast.risk(1))));
        let today = u32::try_from(view.now.day()).unwrap_or(0);
        let marks = EventHistory { country: None }.run(view)?;
        let mut starts: BTreeSet<(String, i32)> = BTreeSet::new();
        let mut newest = None;
        for (country, source, mark) in marks {
            let Some(start) = start(source, &mark).filter(|start| i64::from(start.day) <= view.now.day()) else {
                continue;
            };
            newest = newest.max(Some(start.day));
            starts.insert((country, start.day));
        }
        let happened = |country: &str, day: i32| {
            let week = (country.to_owned(), day + 1)..=(country.to_owned(), day + Horizon::WEEK.days);
            let began = starts.range(week).next().is_some();
            // A start is known at once; that there was none, when later starts are known.
            let over = newest.is_some_and(|newest| day + Horizon::WEEK.days <= newest);
            (began || over).then_some(began)
        };
        let range = ISSUED.between(&(today.saturating_sub(self.days) + 1,), &(today + 1,));
        let mut candidates = Vec::new();
        for ((day,), issued) in ISSUED.scan(view, &range, Direction::Descending, usize::MAX)? {
            for (country, probability) in Country::all().iter().zip(issued.risks) {
                let wanted = self.country.as_deref().is_none_or(|code| code == country.code);
                let Some(current) = current.get(country.code).copied().filter(|_| wanted) else { continue };
                let happened = happened(country.code, i32::try_from(day).unwrap_or(i32::MAX));
                candidates.push(Candidate { country: country.code.to_owned(), day, probability, current, happened });
            }
        }
        let volumes = Scores.run(view)?.into_iter().map(|(country, score)| (country, score.samples));
        Ok(Reviewed {
            candidates,
            volumes: order::gather(volumes.filter(|(_, samples)| *samples > 0)),
            drifts: BTreeMap::new(),
            model: Some(served.model.version()),
        })
    }
}
