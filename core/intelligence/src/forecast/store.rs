//! Models, forecasts and the record of served forecasts. The world keeps them, because it has the history of all
//! countries.

use serde::{Deserialize, Serialize};

use super::conformal::{Class, Set};
use super::history::History;
use super::known::{NO_HISTORY, ReadStarts, day, history, learnable, unlearned};
use super::learning::{FRESH_DAYS, compare, delay, identity};
use super::model::{Forecast, Model, forecast};
use super::panel::{Horizon, label};
use super::reports::{DropReport, Reports, TakeReport};
use super::track::{Calibrations, Track};
use super::training::{self, Begin, Step};
use crate::{Error, ErrorCode, Result, Timestamp, world};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Direction, Read, Row, StoreError, Table, appended};
use engine::time::{DAY, MINUTE};
use facts::sentence::Sentence;
use facts::starter::Country;

pub const ENTRIES: &[Entry] = &[
    operation::<Daily>(),
    operation::<Begin>(),
    operation::<Step>(),
    operation::<Rollback>(),
    operation::<Promote>(),
    operation::<TakeReport>(),
    operation::<DropReport>(),
    query::<Forecasts>(),
    query::<Models>(),
    query::<ServedModel>(),
    query::<ReadStarts>(),
    query::<Track>(),
    query::<Calibrations>(),
    query::<Reports>(),
];

/// By number.
const MODELS: Table<(u32,), Model> = Table::new(41);
/// By number of the change, from 1.
const CHANGES: Table<(u32,), ModelChange> = Table::new(42);
const STATE: Table<(), State> = Table::new(43);
/// By country code.
const FORECASTS: Table<(String,), Forecast> = Table::new(44);
/// By day since the epoch: the forecasts that were made on that day. They never change afterwards.
pub(super) const ISSUED: Table<(u32,), Issued> = Table::new(45);
/// By day since the epoch: the results of the sets of that day's forecasts, once they are judged.
pub(super) const CALIBRATION: Table<(u32,), Calibrated> = Table::new(48);

/// Models that are kept for a rollback, at most.
const KEPT_MODELS: usize = 10;
/// Days of issued forecasts that are kept, at most.
const KEPT_DAYS: u32 = 3 * 366;
/// Time between two attempts to train, in microseconds.
const RETRAIN: i64 = 7 * DAY;
const TIMER: &str = "forecast";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// Number of the served model, 0 for none.
    pub served: u32,
    /// The last number that a model got.
    pub numbers: u32,
    changes: u32,
    /// When training was last tried, the identity of the history then, and the result in a sentence.
    pub tried: Timestamp,
    pub starts: u64,
    pub said: String,
    /// The last day whose issued forecasts were judged.
    judged: u32,
    /// Set when data that models learned from was removed. Absent in rows of version 1.
    forgotten: bool,
}
impl Row for State {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        appended(version, 1, bytes, &[0])
    }
}

impl State {
    pub fn of(view: &(impl Read + ?Sized)) -> Result<State> {
        Ok(STATE.get(view, &())?.unwrap_or_default())
    }

    pub fn put(&self, turn: &mut Turn<'_>) -> Result<()> {
        Ok(STATE.put(turn, &(), self)?)
    }

    /// Why no model is served, in a sentence. Older rows always give the reason that there is no history, so it is
    /// checked anew.
    fn why_none(self, view: &View<'_>) -> Result<String> {
        match Sentence::of_text(&self.said) {
            _ if self.said.is_empty() => Ok(unlearned(view)?.english()),
            Some(said) if said.code == NO_HISTORY => Ok(unlearned(view)?.english()),
            _ => Ok(self.said),
        }
    }

    /// The served model.
    pub fn model(&self, view: &(impl Read + ?Sized)) -> Result<Option<Model>> {
        Ok(MODELS.get(view, &(self.served,))?)
    }
}

/// The results of the sets of one day's forecasts for a class, and the state of the class afterwards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassDay {
    pub cases: u64,
    pub missed: u64,
    pub alpha: f64,
    /// The least probability with which the class is in a set.
    pub threshold: f64,
}

/// A judged day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    pub event: ClassDay,
    pub quiet: ClassDay,
}
impl Row for Calibrated {}

/// The seven-day risks that were served on a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Issued {
    pub number: u32,
    /// By index in the list of countries.
    pub risks: Vec<f64>,
    /// Sets by the same index, as `event` + 2 x `quiet`.
    sets: Vec<u8>,
}
impl Row for Issued {}

/// The kind of a change of the served model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModelAction {
    Promoted,
    RolledBack,
    /// The history that it learned from, or a part of it, was removed.
    Withdrawn,
}

/// A change of the served model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelChange {
    pub at: Timestamp,
    pub action: ModelAction,
    /// The model that is served from then on, and the one before; 0 for none.
    pub number: u32,
    pub before: u32,
    pub reason: String,
}
impl Row for ModelChange {}

/// Schedules new forecasts soon, since the history changed.
pub fn soon(turn: &mut Turn<'_>) -> Result<()> {
    let due = turn.now.plus(MINUTE);
    match turn.scheduled(TIMER)? {
        Some(at) if at <= due => Ok(()),
        _ => turn.schedule(TIMER, due, &Daily),
    }
}

/// Makes sure that forecasts are made every day.
pub(super) fn daily(turn: &mut Turn<'_>) -> Result<()> {
    if turn.scheduled(TIMER)?.is_none() {
        let next = turn.now.plus(DAY);
        turn.schedule(TIMER, next, &Daily)?;
    }
    Ok(())
}

/// Notes that data which models may rest on was removed: no model is served any more, and a new one is learned from the
/// rest.
pub fn forgotten(turn: &mut Turn<'_>) -> Result<()> {
    let mut state = State::of(turn)?;
    if !state.forgotten {
        state.forgotten = true;
        state.put(turn)?;
    }
    soon(turn)
}

/// Makes today's forecasts, and begins to train when there is something new to learn from. It runs every day.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Daily;

impl Operation for Daily {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_daily";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut state = State::of(turn)?;
        let history = history(&turn.view())?;
        if state.forgotten || history.is_none() {
            withdraw(turn, &mut state, history.is_some())?;
        }
        let Some(history) = history else { return state.put(turn) };
        let served = state.model(turn)?;
        let changed = state.starts != identity(&history);
        let late =
            served.as_ref().is_some_and(|model| (model.delay - delay(&history, day(turn.now))).abs() > FRESH_DAYS);
        if changed || ((served.is_none() || late) && turn.now.since(state.tried) >= RETRAIN) {
            training::begin(turn, &mut state, &history, served.as_ref())?;
        }
        judge(turn, &mut state, &history)?;
        issue(turn, &state, &history)?;
        state.put(turn)?;
        // Half past midnight, when the previous day is over everywhere but in the far west.
        let next = Timestamp((turn.now.day() + 1) * DAY).plus(30 * MINUTE);
        turn.schedule(TIMER, next, &Daily)
    }
}

/// Removes all models, since the history that they learned from, or a part of it, was removed.
fn withdraw(turn: &mut Turn<'_>, state: &mut State, is_left: bool) -> Result<()> {
    for (key, _) in FORECASTS.scan(turn, &FORECASTS.range(), Direction::Ascending, usize::MAX)? {
        FORECASTS.delete(turn, &key);
    }
    for (key, _) in MODELS.scan(turn, &MODELS.range(), Direction::Ascending, usize::MAX)? {
        MODELS.delete(turn, &key);
    }
    training::end(turn)?;
    if state.served != 0 {
        let reason = match is_left {
            true => Sentence::new("forecast.change.part_removed"),
            false => Sentence::new("forecast.change.history_gone"),
        };
        change(turn, state, ModelAction::Withdrawn, 0, reason.english())?;
    }
    (state.starts, state.forgotten) = (0, false);
    state.said = String::new();
    Ok(())
}

fn change(turn: &mut Turn<'_>, state: &mut State, action: ModelAction, number: u32, reason: String) -> Result<()> {
    state.changes += 1;
    let row = ModelChange { at: turn.now, action, number, before: state.served, reason };
    state.served = number;
    turn.publish(world::METHODOLOGY)?;
    Ok(CHANGES.put(turn, &(state.changes,), &row)?)
}

/// Serves a model in place of the served one.
fn serve(turn: &mut Turn<'_>, state: &mut State, mut model: Model, action: ModelAction, reason: String) -> Result<()> {
    if let Some(before) = state.model(turn)? {
        model.sets.go_on(&before.sets);
    }
    MODELS.put(turn, &(model.number,), &model)?;
    change(turn, state, action, model.number, reason)
}

/// Serves a newly trained model, and forgets the oldest of the kept models.
pub(super) fn promote(turn: &mut Turn<'_>, state: &mut State, model: Model) -> Result<()> {
    let reason = state.said.clone();
    serve(turn, state, model, ModelAction::Promoted, reason)?;
    let old = MODELS.scan(turn, &MODELS.range(), Direction::Descending, usize::MAX)?;
    for (key, _) in old.into_iter().skip(KEPT_MODELS) {
        MODELS.delete(turn, &key);
    }
    Ok(())
}

/// Judges the issued forecasts whose week is over and whose outcome is known.
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
        let before =
            (model.sets.event.judged, model.sets.event.missed, model.sets.quiet.judged, model.sets.quiet.missed);
        model.sets.learn(sets);
        let of = |class: &Class, judged: u64, missed: u64| ClassDay {
            cases: class.judged - judged,
            missed: class.missed - missed,
            alpha: class.alpha,
            threshold: class.threshold(),
        };
        let (event, quiet) = (of(&model.sets.event, before.0, before.1), of(&model.sets.quiet, before.2, before.3));
        CALIBRATION.put(turn, &(day,), &Calibrated { event, quiet })?;
        state.judged = day;
    }
    let old = CALIBRATION.between(&(0u32,), &(over.saturating_sub(KEPT_DAYS),));
    for (key, _) in CALIBRATION.scan(turn, &old, Direction::Ascending, usize::MAX)? {
        CALIBRATION.delete(turn, &key);
    }
    Ok(MODELS.put(turn, &(model.number,), &model)?)
}

/// Makes today's forecasts with the served model.
pub(super) fn issue(turn: &mut Turn<'_>, state: &State, history: &History) -> Result<()> {
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
    // The first forecasts of a day are never replaced, because they were served.
    if ISSUED.get(turn, &(today,))?.is_none() {
        ISSUED.put(turn, &(today,), &issued)?;
    }
    let old = ISSUED.between(&(0u32,), &(today.saturating_sub(KEPT_DAYS),));
    for (key, _) in ISSUED.scan(turn, &old, Direction::Ascending, usize::MAX)? {
        ISSUED.delete(turn, &key);
    }
    Ok(())
}

/// The result of a training, a promotion or a rollback, for the operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServingChange {
    /// The model that is served now; 0 for none.
    pub served: u32,
    pub before: u32,
    pub said: String,
}

/// Serves a kept model, if it is better than the served one on days that neither has seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Promote {
    pub number: u32,
}

impl Operation for Promote {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_promote";
    type Reply = ServingChange;

    fn run(self, turn: &mut Turn<'_>) -> Result<ServingChange> {
        let mut state = State::of(turn)?;
        let before = state.served;
        let model = MODELS.get(turn, &(self.number,))?.filter(|_| self.number != before);
        let model = model.ok_or_else(|| Error::not_found("No other model with this number is kept."))?;
        let history = learnable(turn)?;
        let served = state.model(turn)?;
        let refuse = |reason: String| Error::new(ErrorCode::Conflict, format!("Not promoted: {reason}."));
        state.said = compare(&history, &model, served.as_ref()).map_err(refuse)?;
        let said = state.said.clone();
        serve(turn, &mut state, model, ModelAction::Promoted, said)?;
        issue(turn, &state, &history)?;
        state.put(turn)?;
        Ok(ServingChange { served: state.served, before, said: state.said })
    }
}

/// Serves an earlier model again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rollback {
    /// The number of the model; `None` means the one before the served one.
    pub number: Option<u32>,
    pub reason: String,
}

impl Operation for Rollback {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_rollback";
    type Reply = ServingChange;

    fn run(self, turn: &mut Turn<'_>) -> Result<ServingChange> {
        let mut state = State::of(turn)?;
        let before = state.served;
        let kept = MODELS.scan(turn, &MODELS.range(), Direction::Descending, usize::MAX)?;
        let mut models = kept.into_iter().map(|(_, model)| model);
        let model = match self.number {
            Some(number) => models.find(|kept| kept.number == number && number != before),
            None => models.find(|kept| kept.number < before),
        };
        let model = model.ok_or_else(|| Error::not_found("No such earlier model is kept any more."))?;
        let number = model.number;
        serve(turn, &mut state, model, ModelAction::RolledBack, self.reason)?;
        state.said = format!("Rolled back from model {before} to model {number}.");
        if let Some(history) = history(&turn.view())? {
            issue(turn, &state, &history)?;
        }
        state.put(turn)?;
        Ok(ServingChange { served: number, before, said: state.said })
    }
}

/// Asks for the forecasts that are served.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Forecasts {
    /// Country codes; `None` for all countries.
    pub countries: Option<Vec<String>>,
}

/// The answer to [`Forecasts`] while a model is served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Served {
    pub model: Model,
    /// By country code.
    pub forecasts: Vec<(String, Forecast)>,
}

impl Query for Forecasts {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecasts";
    type Reply = Option<Served>;

    fn run(self, view: &View<'_>) -> Result<Option<Served>> {
        let Some(mut model) = State::of(view)?.model(view)? else { return Ok(None) };
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
        // Readers need the figures of the model, not its covariances.
        model.horizons.iter_mut().for_each(|horizon| horizon.covariance = Vec::new());
        Ok(Some(Served { model, forecasts }))
    }
}

/// Asks for the served model, without members that nobody reads, the time since when it is served, and the last result
/// of a training.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServedModel;

impl Query for ServedModel {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_served";
    type Reply = (Option<(Model, Timestamp)>, String);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let state = State::of(view)?;
        let Some(mut model) = state.model(view)? else { return Ok((None, state.why_none(view)?)) };
        model.horizons.iter_mut().for_each(|horizon| horizon.covariance = Vec::new());
        (model.sets.event.scores, model.sets.quiet.scores) = (Vec::new(), Vec::new());
        let since = CHANGES.get(view, &(state.changes,))?.map_or(model.trained, |change| change.at);
        Ok((Some((model, since)), state.said))
    }
}

/// Asks for the models that are kept, and for every change of the served model, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Models;

impl Query for Models {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_models";
    /// The number of the served model, the last result of a training, the models, and the changes.
    type Reply = (u32, String, Vec<Model>, Vec<ModelChange>);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let state = State::of(view)?;
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
