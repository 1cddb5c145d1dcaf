//! Models, forecasts and what was promised when, kept by the world: it has the history of all countries.

use serde::{Deserialize, Serialize};

use super::conformal::Set;
use super::history::{History, Start, start};
use super::metrics::Figures;
use super::model::{self, Forecast, Model, forecast, learn};
use super::panel::{Horizon, label};
use crate::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use crate::kv::{Direction, Row, Table};
use crate::starter::Country;
use crate::time::{DAY, MINUTE};
use crate::world::EventHistory;
use crate::{Error, Result, Timestamp};

pub const ENTRIES: &[Entry] =
    &[operation::<Daily>(), operation::<Train>(), operation::<Rollback>(), query::<Forecasts>(), query::<Models>()];

/// By number.
const MODELS: Table<(u32,), Model> = Table::new(41);
/// By number of the change, from 1.
const CHANGES: Table<(u32,), Change> = Table::new(42);
const STATE: Table<(), State> = Table::new(43);
/// By code.
const FORECASTS: Table<(String,), Forecast> = Table::new(44);
/// By day since the epoch: what was forecast then. Never changed afterwards.
const ISSUED: Table<(u32,), Issued> = Table::new(45);

/// Models that are kept for a rollback.
const KEPT_MODELS: usize = 10;
/// Days of issued forecasts that are kept.
const KEPT_DAYS: u32 = 3 * 366;
/// Days between two tries to learn anew.
const RETRAIN: i64 = 7 * DAY;
const TIMER: &str = "forecast";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct State {
    /// Number of the served model, 0 for none.
    served: u32,
    /// The last number that was given.
    numbers: u32,
    changes: u32,
    /// When learning was last tried, with how many starts, and what came of it.
    tried: Timestamp,
    starts: u64,
    said: String,
    /// The last day whose issued forecasts were judged.
    judged: u32,
}
impl Row for State {}

/// The seven-day risks that were served on a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Issued {
    number: u32,
    /// By place in the list of countries.
    risks: Vec<f64>,
    /// Sets by the same places, as `event` + 2 x `quiet`.
    sets: Vec<u8>,
}
impl Row for Issued {}

/// What happened to the served model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    Promoted,
    RolledBack,
    /// The history it learned from is gone.
    Withdrawn,
}

/// A change of the served model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub at: Timestamp,
    pub action: Action,
    /// The model that is served from then on, and the one before; 0 for none.
    pub number: u32,
    pub before: u32,
    pub reason: String,
}
impl Row for Change {}

/// Something about the history changed: forecasts are made again soon.
pub fn soon(turn: &mut Turn<'_>) -> Result<()> {
    let due = turn.now.plus(MINUTE);
    match turn.scheduled(TIMER)? {
        Some(at) if at <= due => Ok(()),
        _ => turn.schedule(TIMER, due, &Daily),
    }
}

fn starts(view: &View<'_>) -> Result<Vec<(String, Start)>> {
    let marks = EventHistory { country: None }.run(view)?;
    Ok(marks.into_iter().filter_map(|(country, source, mark)| Some((country, start(source, &mark)?))).collect())
}

fn day(now: Timestamp) -> i32 {
    i32::try_from(now.day()).unwrap_or(i32::MAX)
}

fn history(turn: &Turn<'_>) -> Result<Option<History>> {
    let until = day(turn.now);
    // What is announced has not happened.
    let starts = starts(&turn.view())?.into_iter().filter(|(_, start)| start.day <= until);
    Ok(History::new(starts, until))
}

/// Makes today's forecasts, and learns anew when there is something to learn from; comes back every day.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Daily;

impl Operation for Daily {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_daily";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut state = STATE.get(turn, &())?.unwrap_or_default();
        let Some(history) = history(turn)? else { return withdraw(turn, state) };
        let served = MODELS.get(turn, &(state.served,))?;
        let changed = state.starts != history.total() as u64;
        let late = served
            .as_ref()
            .is_some_and(|model| (model.delay - model::delay(&history, day(turn.now))).abs() > model::FRESH_DAYS);
        if changed || ((served.is_none() || late) && turn.now.since(state.tried) >= RETRAIN) {
            train(turn, &mut state, &history, served.as_ref())?;
        }
        judge(turn, &mut state, &history)?;
        issue(turn, &state, &history)?;
        STATE.put(turn, &(), &state)?;
        // Half past midnight, when the day before is over everywhere but in the far west.
        let next = Timestamp((turn.now.day() + 1) * DAY).plus(30 * MINUTE);
        turn.schedule(TIMER, next, &Daily)
    }
}

/// Nothing is left to learn from: nothing is served.
fn withdraw(turn: &mut Turn<'_>, mut state: State) -> Result<()> {
    for (key, _) in FORECASTS.scan(turn, &FORECASTS.range(), Direction::Ascending, usize::MAX)? {
        FORECASTS.delete(turn, &key);
    }
    if state.served != 0 {
        let reason = "The shutdown history it was learned from is not here any more.".to_owned();
        change(turn, &mut state, Action::Withdrawn, 0, reason)?;
    }
    (state.starts, state.said) = (0, "There is no shutdown history.".to_owned());
    Ok(STATE.put(turn, &(), &state)?)
}

fn change(turn: &mut Turn<'_>, state: &mut State, action: Action, number: u32, reason: String) -> Result<()> {
    state.changes += 1;
    let row = Change { at: turn.now, action, number, before: state.served, reason };
    state.served = number;
    Ok(CHANGES.put(turn, &(state.changes,), &row)?)
}

/// Learns a model, and serves it if it is better than what is served.
fn train(turn: &mut Turn<'_>, state: &mut State, history: &History, served: Option<&Model>) -> Result<()> {
    (state.tried, state.starts) = (turn.now, history.total() as u64);
    match learn(history, turn.now, state.numbers + 1, served) {
        Err(reason) => state.said = format!("Not promoted: {reason}."),
        Ok(model) => {
            state.numbers += 1;
            let brier = |figures: &Figures| figures.brier.unwrap_or_default();
            let held = &model.held_out;
            let rival = held
                .served
                .as_ref()
                .map_or(("a plain country rate", &held.country_rate), |old| ("the served model", old));
            state.said = format!(
                "Promoted: on the hold-out its Brier score is {:.6}, that of {} {:.6}.",
                brier(&held.candidate),
                rival.0,
                brier(rival.1)
            );
            MODELS.put(turn, &(model.number,), &model)?;
            change(turn, state, Action::Promoted, model.number, state.said.clone())?;
            let old = MODELS.scan(turn, &MODELS.range(), Direction::Descending, usize::MAX)?;
            for (key, _) in old.into_iter().skip(KEPT_MODELS) {
                MODELS.delete(turn, &key);
            }
        }
    }
    Ok(())
}

/// Learns from issued forecasts whose week is over and known.
fn judge(turn: &mut Turn<'_>, state: &mut State, history: &History) -> Result<()> {
    let Some(mut model) = MODELS.get(turn, &(state.served,))? else { return Ok(()) };
    let over = history.newest().unwrap_or(0) - Horizon::WEEK.days;
    let Ok(over) = u32::try_from(over) else { return Ok(()) };
    let range = ISSUED.between(&(state.judged + 1,), &(over + 1,));
    for ((day,), issued) in ISSUED.scan(turn, &range, Direction::Ascending, usize::MAX)? {
        let today = i32::try_from(day).unwrap_or(i32::MAX);
        let sets = super::panel::countries().filter_map(|country| {
            let bits = issued.sets.get(country)?;
            let set = Set { event: bits & 1 != 0, quiet: bits & 2 != 0 };
            Some((set, label(history, country, today, Horizon::WEEK)))
        });
        model.sets.learn(sets);
        state.judged = day;
    }
    Ok(MODELS.put(turn, &(model.number,), &model)?)
}

/// Today's forecasts by the served model.
fn issue(turn: &mut Turn<'_>, state: &State, history: &History) -> Result<()> {
    let Some(model) = MODELS.get(turn, &(state.served,))? else { return Ok(()) };
    let mut issued = Issued { number: model.number, risks: Vec::new(), sets: Vec::new() };
    for (at, country) in Country::all().iter().enumerate() {
        let forecast = forecast(&model, history, at, turn.now);
        let risk = forecast.risk(1);
        let set = model.sets.set(risk);
        issued.risks.push(risk);
        issued.sets.push(u8::from(set.event) | u8::from(set.quiet) << 1);
        FORECASTS.put(turn, &(country.code.to_owned(),), &forecast)?;
    }
    let Ok(today) = u32::try_from(turn.now.day()) else { return Ok(()) };
    // The first of a day stays: it is what was promised.
    if ISSUED.get(turn, &(today,))?.is_none() {
        ISSUED.put(turn, &(today,), &issued)?;
    }
    let old = ISSUED.between(&(0u32,), &(today.saturating_sub(KEPT_DAYS),));
    for (key, _) in ISSUED.scan(turn, &old, Direction::Ascending, usize::MAX)? {
        ISSUED.delete(turn, &key);
    }
    Ok(())
}

/// What an operator hears of a try to learn, or of a rollback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// The model that is served now; 0 for none.
    pub served: u32,
    pub before: u32,
    pub said: String,
}

/// Learns now. The new model is served only when it is better on a temporal hold-out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Train;

impl Operation for Train {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_train";
    type Reply = Told;

    fn run(self, turn: &mut Turn<'_>) -> Result<Told> {
        let mut state = STATE.get(turn, &())?.unwrap_or_default();
        let history =
            history(turn)?.ok_or_else(|| Error::bad_request("There is no shutdown history to learn from."))?;
        let before = state.served;
        let served = MODELS.get(turn, &(before,))?;
        train(turn, &mut state, &history, served.as_ref())?;
        issue(turn, &state, &history)?;
        STATE.put(turn, &(), &state)?;
        let next = turn.now.plus(DAY);
        if turn.scheduled(TIMER)?.is_none() {
            turn.schedule(TIMER, next, &Daily)?;
        }
        Ok(Told { served: state.served, before, said: state.said })
    }
}

/// Serves an earlier model again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rollback {
    /// Its number; the one before the served one without it.
    pub number: Option<u32>,
    pub reason: String,
}

impl Operation for Rollback {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_rollback";
    type Reply = Told;

    fn run(self, turn: &mut Turn<'_>) -> Result<Told> {
        let mut state = STATE.get(turn, &())?.unwrap_or_default();
        let before = state.served;
        let kept = MODELS.scan(turn, &MODELS.range(), Direction::Descending, usize::MAX)?;
        let mut numbers = kept.into_iter().map(|((number,), _)| number);
        let number = match self.number {
            Some(number) => numbers.find(|kept| *kept == number && number != before),
            None => numbers.find(|kept| *kept < before),
        };
        let number = number.ok_or_else(|| Error::not_found("No such earlier model is kept."))?;
        change(turn, &mut state, Action::RolledBack, number, self.reason)?;
        state.said = format!("Rolled back from model {before} to model {number}.");
        if let Some(history) = history(turn)? {
            issue(turn, &state, &history)?;
        }
        STATE.put(turn, &(), &state)?;
        Ok(Told { served: number, before, said: state.said })
    }
}

/// Forecasts as they are served.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Forecasts {
    /// Codes; all countries without them.
    pub countries: Option<Vec<String>>,
}

/// What [`Forecasts`] answers where a model is served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Served {
    pub model: Model,
    /// By code.
    pub forecasts: Vec<(String, Forecast)>,
}

impl Query for Forecasts {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecasts";
    type Reply = Option<Served>;

    fn run(self, view: &View<'_>) -> Result<Option<Served>> {
        let state = STATE.get(view, &())?.unwrap_or_default();
        let Some(mut model) = MODELS.get(view, &(state.served,))? else { return Ok(None) };
        let forecasts = match self.countries {
            None => {
                let rows = FORECASTS.scan(view, &FORECASTS.range(), Direction::Ascending, usize::MAX)?;
                rows.into_iter().map(|((code,), forecast)| (code, forecast)).collect()
            }
            Some(codes) => {
                let mut found = Vec::new();
                for code in codes {
                    if let Some(forecast) = FORECASTS.get(view, &(code.clone(),))? {
                        found.push((code, forecast));
                    }
                }
                found
            }
        };
        // Readers need its figures, not its insides.
        model.horizons.iter_mut().for_each(|horizon| horizon.covariance = Vec::new());
        Ok(Some(Served { model, forecasts }))
    }
}

/// The models that are kept and every change of the served one, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Models;

impl Query for Models {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_models";
    /// The number of the served model, what was last said of learning, models, changes.
    type Reply = (u32, String, Vec<Model>, Vec<Change>);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let state = STATE.get(view, &())?.unwrap_or_default();
        let models = MODELS.scan(view, &MODELS.range(), Direction::Descending, KEPT_MODELS)?;
        let changes = CHANGES.scan(view, &CHANGES.range(), Direction::Descending, 200)?;
        Ok((
            state.served,
            state.said,
            models.into_iter().map(|(_, model)| model).collect(),
            changes.into_iter().map(|(_, change)| change).collect(),
        ))
    }
}
