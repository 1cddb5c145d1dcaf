//! Trains models on the world actor in a course of steps. Each step is an operation of its own, so that none is too
//! long for a Worker. The steps follow each other by timer, or as fast as an operator's request asks for them. The
//! served model stays until the last step.

use serde::{Deserialize, Serialize};

use super::history::History;
use super::known::{history, learnable};
use super::learning::{Training, identity};
use super::model::Model;
use super::store::{ServingChange, State, issue, promote};
use crate::Result;
use engine::actor::{Kind, Operation, Turn};
use engine::kv::Table;
use engine::time::SECOND;

const COURSE: Table<(), Training> = Table::new(49);
const TIMER: &str = "forecast_step";

/// Begins a course, in place of a running one.
pub(super) fn begin(turn: &mut Turn<'_>, state: &mut State, history: &History, served: Option<&Model>) -> Result<()> {
    (state.tried, state.starts) = (turn.now, identity(history));
    match Training::begin(history, turn.now, state.numbers + 1, served) {
        Err(reason) => {
            state.said = format!("Not promoted: {reason}.");
            end(turn)
        }
        Ok(course) => {
            COURSE.put(turn, &(), &course)?;
            later(turn)
        }
    }
}

/// Schedules the next step, in case no request asks for it before.
fn later(turn: &mut Turn<'_>) -> Result<()> {
    let due = turn.now.plus(2 * SECOND);
    turn.schedule(TIMER, due, &Step)
}

/// Ends the running course.
pub(super) fn end(turn: &mut Turn<'_>) -> Result<()> {
    COURSE.delete(turn, &());
    turn.cancel(TIMER)
}

/// Begins a course at the request of an operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Begin;

impl Operation for Begin {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_begin";
    /// Number of the served model.
    type Reply = u32;

    fn run(self, turn: &mut Turn<'_>) -> Result<u32> {
        let mut state = State::of(turn)?;
        let history = learnable(turn)?;
        let served = state.model(turn)?;
        begin(turn, &mut state, &history, served.as_ref())?;
        state.put(turn)?;
        super::store::daily(turn)?;
        Ok(state.served)
    }
}

/// Does the next step of the course. Returns the result when no step is left.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Step;

impl Operation for Step {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_step";
    type Reply = Option<ServingChange>;

    fn run(self, turn: &mut Turn<'_>) -> Result<Option<ServingChange>> {
        let mut state = State::of(turn)?;
        let before = state.served;
        let told = |state: State| Ok(Some(ServingChange { served: state.served, before, said: state.said }));
        let Some(mut course) = COURSE.get(turn, &())? else { return told(state) };
        let Some(history) = history(&turn.view())? else {
            end(turn)?;
            return told(state);
        };
        let served = state.model(turn)?;
        if course.of != identity(&history) {
            // The data to learn from has changed meanwhile.
            begin(turn, &mut state, &history, served.as_ref())?;
            state.put(turn)?;
            return Ok(None);
        }
        match course.step(&history, served.as_ref()) {
            Ok(None) => {
                COURSE.put(turn, &(), &course)?;
                later(turn)?;
                return Ok(None);
            }
            Err(reason) => state.said = format!("Not promoted: {reason}."),
            Ok(Some(model)) => {
                state.numbers = model.number;
                state.said = praise(&model);
                promote(turn, &mut state, model)?;
                issue(turn, &state, &history)?;
            }
        }
        end(turn)?;
        state.put(turn)?;
        told(state)
    }
}

/// The reason why a model is promoted.
fn praise(model: &Model) -> String {
    let new = model.held_out.candidate.brier.unwrap_or_default();
    let (name, old) = model.held_out.rival().unwrap_or_default();
    format!("Promoted: on the hold-out its Brier score is {new:.6}, that of {name} {old:.6}.")
}
