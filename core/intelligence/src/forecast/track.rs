//! Compares forecasts that were served with their outcomes. It uses stored forecasts and outcomes, never training rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::history::History;
use super::known::{day, history};
use super::metrics::{ALERT, Confusion, Figures, Scored, figures};
use super::model::poisson;
use super::panel::{Horizon, Knowledge, countries, label, question};
use super::store::{CALIBRATION, Calibrated, ISSUED, Issued, State};
use crate::Result;
use engine::actor::{Kind, Query, View};
use engine::kv::Direction;
use facts::starter::Country;

/// Asks for the outcomes of the forecasts of the last days.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Track {
    /// Number of days back from now, including today.
    pub window: u32,
    /// Single forecasts that are listed, at most.
    pub listed: u32,
}

/// The answer to [`Track`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tracked {
    /// Forecasts of a country and day that were served in the window, those of them with an outcome, and of these the
    /// ones whose outcome a report decided.
    pub issued: u64,
    pub resolved: u64,
    pub reported: u64,
    /// The last day up to which events are known.
    pub known_until: Option<i32>,
    pub alerts: Confusion,
    /// By code; only countries with a forecast that has an outcome.
    pub by_country: Vec<(String, Confusion)>,
    pub figures: Figures,
    /// Simpler forecasts for the same countries and days.
    pub baselines: Vec<(String, Figures, Confusion)>,
    /// Starts whose day can be judged. For each of them with an alert before: the days between the first alert and the
    /// start.
    pub starts: u64,
    pub leads: Vec<i32>,
    /// Alerts and missed events, newest first.
    pub listed: Vec<JudgedForecast>,
}

/// A forecast that was an alert, or that should have been one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedForecast {
    pub country: String,
    /// The day on which it was made.
    pub day: i32,
    pub probability: f64,
    /// Whether something began in its week; `None` while that is not known.
    pub happened: Option<bool>,
    /// The first start in its week.
    pub start: Option<i32>,
    /// Days from the first alert to that start.
    pub lead: Option<i32>,
}

/// The forecasts of a window, and the history to judge them by.
struct Window<'a> {
    history: &'a History,
    days: BTreeMap<i32, Issued>,
}

impl Window<'_> {
    /// Whether something began in the week of a forecast, from a report, or from the table once the week is over and
    /// known.
    fn outcome(&self, country: usize, day: i32) -> Option<bool> {
        let week_known = self.history.newest().is_some_and(|newest| day + Horizon::WEEK.days <= newest);
        let reported = self.history.reported(country, day);
        reported.or_else(|| week_known.then(|| label(self.history, country, day, Horizon::WEEK)))
    }

    /// The first start in the week of a forecast.
    fn start(&self, country: usize, day: i32) -> Option<i32> {
        (day + 1..=day + Horizon::WEEK.days).find(|day| self.history.starts(country, *day, *day) > 0.0)
    }

    fn is_alert(&self, country: usize, day: i32) -> bool {
        let risk = self.days.get(&day).and_then(|issued| issued.risks.get(country));
        risk.is_some_and(|risk| *risk >= ALERT)
    }

    /// Days between the first alert for a start and the start.
    fn lead(&self, country: usize, start: i32) -> Option<i32> {
        let first = (start - Horizon::WEEK.days..start).find(|day| self.is_alert(country, *day))?;
        Some(start - first)
    }
}

impl Query for Track {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_track";
    type Reply = Tracked;

    fn run(self, view: &View<'_>) -> Result<Tracked> {
        let Some(history) = history(view)? else { return Ok(Tracked::default()) };
        let today = day(view.now);
        let first = today.saturating_sub(i32::try_from(self.window).unwrap_or(i32::MAX)) + 1;
        let range = ISSUED.between(&(u32::try_from(first).unwrap_or(0),), &(u32::try_from(today + 1).unwrap_or(0),));
        let rows = ISSUED.scan(view, &range, Direction::Ascending, usize::MAX)?;
        let days = rows.into_iter().filter_map(|((day,), issued)| Some((i32::try_from(day).ok()?, issued)));
        let window = Window { history: &history, days: days.into_iter().collect() };
        let model = State::of(view)?.model(view)?;
        let delay = model.as_ref().map_or(0, |model| model.delay);
        let constant = model.map_or(0.0, |model| model.positives as f64 / model.rows.max(1) as f64);
        let mut found = Tracked { known_until: history.newest(), ..Tracked::default() };
        let (mut ours, mut rates, mut constants) = (Vec::new(), Vec::new(), Vec::new());
        for country in countries() {
            let code = Country::all().get(country).map(|country| country.code).unwrap_or_default();
            let mut of = Confusion::default();
            for (day, issued) in &window.days {
                let Some(probability) = issued.risks.get(country).copied() else { continue };
                found.issued += 1;
                let happened = window.outcome(country, *day);
                found.note(&window, country, code, *day, probability, happened);
                let Some(happened) = happened else { continue };
                let outcome = |probability| Scored { probability, happened };
                of.add(&outcome(probability));
                ours.push(outcome(probability));
                constants.push(outcome(constant));
                let asked = question(country, *day, Horizon::WEEK, Knowledge::Days(delay));
                rates.push(outcome(poisson(&history, asked)));
                found.reported += u64::from(history.reported(country, *day).is_some());
            }
            found.starts_of(&window, country);
            if of.total > 0 {
                found.by_country.push((code.to_owned(), of));
            }
        }
        found.resolved = ours.len() as u64;
        found.alerts = Confusion::of(&ours);
        found.figures = figures(&ours);
        for (name, outcomes) in [("country_rate", rates), ("constant", constants)] {
            found.baselines.push((name.to_owned(), figures(&outcomes), Confusion::of(&outcomes)));
        }
        found.listed.sort_by(|a, b| b.day.cmp(&a.day).then_with(|| a.country.cmp(&b.country)));
        found.listed.truncate(self.listed as usize);
        Ok(found)
    }
}

impl Tracked {
    /// Lists a forecast if it was an alert or should have been one.
    fn note(
        &mut self,
        window: &Window<'_>,
        country: usize,
        code: &str,
        day: i32,
        probability: f64,
        happened: Option<bool>,
    ) {
        if probability < ALERT && happened != Some(true) {
            return;
        }
        let start = window.start(country, day);
        let lead = start.and_then(|start| window.lead(country, start));
        self.listed.push(JudgedForecast { country: code.to_owned(), day, probability, happened, start, lead });
    }

    /// Counts the starts of a country for which a forecast was served, each day once.
    fn starts_of(&mut self, window: &Window<'_>, country: usize) {
        let newest = window.history.newest();
        let days = window.days.keys().flat_map(|day| day + 1..=day + Horizon::WEEK.days);
        let mut days: Vec<i32> = days.filter(|day| newest.is_some_and(|newest| *day <= newest)).collect();
        days.sort_unstable();
        days.dedup();
        for day in days.into_iter().filter(|day| window.history.starts(country, *day, *day) > 0.0) {
            self.starts += 1;
            self.leads.extend(window.lead(country, day));
        }
    }
}

/// Asks for the results of the sets, by day, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Calibrations {
    pub limit: u32,
}

impl Query for Calibrations {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_calibrations";
    type Reply = Vec<(u32, Calibrated)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let rows = CALIBRATION.scan(view, &CALIBRATION.range(), Direction::Descending, self.limit as usize)?;
        Ok(rows.into_iter().map(|((day,), row)| (day, row)).collect())
    }
}
