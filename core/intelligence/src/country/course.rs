//! The verdicts on a series at many moments from one read of its measurements. Each verdict is that of a question with
//! `as_of`.

use serde::{Deserialize, Serialize};

use super::State;
use super::evidence::{Controls, Surroundings};
use super::timeline::{Timeline, reach};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use facts::subject::is_messaging;
use facts::verdict::window::Ageing;

/// Asks for the verdicts on a series at some moments, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadCourse {
    pub target: String,
    pub times: Vec<Timestamp>,
}

/// The verdict at a moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MomentVerdict {
    pub status: State,
    /// Probability that a block is in force in the country, 0-1.
    pub p_blocked: f64,
    /// Number and status of every network.
    pub networks: Vec<(u32, State)>,
}

impl Query for ReadCourse {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "course";
    type Reply = Vec<MomentVerdict>;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<Vec<MomentVerdict>> {
        let (Some(first), Some(last)) = (self.times.first(), self.times.last()) else { return Ok(Vec::new()) };
        let controls = Controls::between(view, *first, *last)?;
        let surroundings = Surroundings::new(view, *last, controls.failing(*last))?;
        let from = first.plus(-reach(Ageing::of(is_messaging(&self.target))));
        let mut timeline = Timeline::read(view, &self.target, from, &surroundings)?;
        Ok(self.times.iter().map(|at| timeline.standing(*at, &controls.failing(*at))).collect())
    }
}
