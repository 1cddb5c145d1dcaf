//! Learning on the world actor: a course of steps, each an operation of its own, so that none is too long for a Worker.
//! They follow each other by timer, or as fast as an operator's request asks for them; what is served stays until the last.

use serde::{Deserialize, Serialize};

use super::history::History;
use super::known::{history, learnable};
use super::learning::{Course, identity};
use super::model::Model;
use super::store::{State, Told, issue, promote};
use crate::Result;
use crate::engine::actor::{Kind, Operation, Turn};
use crate::engine::kv::Table;
use crate::engine::time::SECOND;

const COURSE: Table<(), Course> = Table::new(49);
const TIMER: &str = "forecast_step";

/// Begins to learn, in place of what is being learned.
pub(super) fn begin(turn: &mut Turn<'_>, state: &mut State, history: &History, served: Option<&Model>) -> Result<()> {
    (state.tried, state.starts) = (turn.now, identity(history));
    match Course::begin(history, turn.now, state.numbers + 1, served) {
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

/// A while after which the next step is done if nobody asked for it.
fn later(turn: &mut Turn<'_>) -> Result<()> {
    let due = turn.now.plus(2 * SECOND);
    turn.schedule(TIMER, due, &Step)
}

/// Nothing is being learned any more.
pub(super) fn end(turn: &mut Turn<'_>) -> Result<()> {
    COURSE.delete(turn, &());
    turn.cancel(TIMER)
}

/// Begins to learn because an operator says so.
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

/// Does the next step of learning; says what came of it when nothing is left to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Step;

impl Operation for Step {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_step";
    type Reply = Option<Told>;

    fn run(self, turn: &mut Turn<'_>) -> Result<Option<Told>> {
        let mut state = State::of(turn)?;
        let before = state.served;
        let told = |state: State| Ok(Some(Told { served: state.served, before, said: state.said }));
        let Some(mut course) = COURSE.get(turn, &())? else { return told(state) };
        let Some(history) = history(&turn.view())? else {
            end(turn)?;
            return told(state);
        };
        let served = state.model(turn)?;
        if course.of != identity(&history) {
            // What it learned from has changed meanwhile.
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

/// Why a model is promoted.
fn praise(model: &Model) -> String {
    let new = model.held_out.candidate.brier.unwrap_or_default();
    let (name, old) = model.held_out.rival().unwrap_or_default();
    format!("Promoted: on the hold-out its Brier score is {new:.6}, that of {name} {old:.6}.")
}
