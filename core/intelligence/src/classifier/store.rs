//! The classifier that is served, kept by the world.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::constants::RETRAIN_DAYS;
use super::train::{Learned, days, labelled, learn};
use crate::anomaly::dbscan::Point;
use crate::anomaly::{all_days, days_of};
use crate::world::EventHistory;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Row, Table};
use engine::time::{DAY, SECOND};

/// The name that stands before the number of every version.
pub const NAME: &str = "measured-days-logistic";
const TIMER: &str = "classifier";
/// Publish intervals between a change and the next attempt to train.
const INTERVALS: i64 = 60;

/// The model that was last trained, and the result of the last attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassifierState {
    /// Number of the version; 0 before the first.
    pub number: u32,
    pub trained: Timestamp,
    pub served: Option<Learned>,
    /// Country codes. [`Learned::own`] refers to them by index.
    pub countries: Vec<String>,
    pub tried: Timestamp,
    /// Why no newer model is served; empty when there is no such reason.
    pub said: String,
}
impl Row for ClassifierState {}

impl ClassifierState {
    pub fn version(&self) -> Option<String> {
        self.served.as_ref().map(|_| format!("{NAME}/{}", self.number))
    }

    /// The threshold that applies to a country.
    pub fn threshold(&self, country: &str) -> Option<f64> {
        let served = self.served.as_ref()?;
        let at = self.countries.iter().position(|known| known == country);
        let own = served.own.iter().find(|(of, _)| Some(*of) == at).map(|(_, threshold)| *threshold);
        Some(own.unwrap_or(served.threshold))
    }
}

/// A version that began to be served, or the end of a served version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassifierChange {
    pub at: Timestamp,
    /// The number of the version.
    pub number: u32,
    /// The accepted model. `None` when serving ended because the data it was trained on was removed.
    pub learned: Option<Learned>,
}
impl Row for ClassifierChange {}

/// Changes that are kept, at most.
const KEPT_CHANGES: u32 = 50;

// In the world actor.
const STATE: Table<(), ClassifierState> = Table::new(58);
/// By number of the change, from 1.
const CHANGES: Table<(u32,), ClassifierChange> = Table::new(120);

fn note(turn: &mut Turn<'_>, number: u32, learned: Option<Learned>) -> Result<()> {
    let last = CHANGES.scan(turn, &CHANGES.range(), Direction::Descending, 1)?;
    let next = last.first().map_or(1, |((last,), _)| last + 1);
    CHANGES.put(turn, &(next,), &ClassifierChange { at: turn.now, number, learned })?;
    if let Some(oldest) = next.checked_sub(KEPT_CHANGES) {
        CHANGES.delete(turn, &(oldest,));
    }
    Ok(())
}

/// Schedules an attempt to train after days or labels changed: soon, or later if the served model is still young.
pub fn soon(turn: &mut Turn<'_>) -> Result<()> {
    let state = STATE.get(turn, &())?.unwrap_or_default();
    let soon = turn.now.plus(INTERVALS * i64::from(turn.settings.publish_interval) * SECOND);
    let due = match state.served {
        Some(_) => soon.max(state.tried.plus(RETRAIN_DAYS * DAY)),
        None => soon,
    };
    match turn.scheduled(TIMER)? {
        Some(waiting) if waiting <= due => Ok(()),
        _ => turn.schedule(TIMER, due, &Learn),
    }
}

/// Trains a model on the days of all countries. The served model stays when the new one may not be served.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Learn;

impl Operation for Learn {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "learn_classifier";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let view = turn.view();
        let known = all_days(&view)?;
        let countries: Vec<String> = known.iter().map(|(country, _)| country.clone()).collect();
        let marks = EventHistory { country: None }.run(&view)?;
        let mut labels: BTreeSet<(String, u32)> = BTreeSet::new();
        for (country, source, mark) in marks {
            labels.extend(labelled(source, &mark).into_iter().flatten().map(|day| (country.clone(), day)));
        }
        let rows = days(known.iter().map(|(country, days)| (country.as_str(), days.days.as_slice())), &labels);
        let mut state = STATE.get(turn, &())?.unwrap_or_default();
        state.tried = turn.now;
        match learn(&rows) {
            Ok(mut learned) => {
                learned.logistic.covariance = Vec::new();
                let number = state.number + 1;
                note(turn, number, Some(learned.clone()))?;
                state = ClassifierState {
                    number,
                    trained: turn.now,
                    served: Some(learned),
                    countries,
                    tried: turn.now,
                    said: String::new(),
                };
            }
            Err(said) => {
                // The data that the served model was trained on may have been removed.
                if (known.is_empty() || labels.is_empty()) && state.served.take().is_some() {
                    note(turn, state.number, None)?;
                }
                // A version number is never used twice, so it must be kept. Without one there is nothing to keep.
                if known.is_empty() && state.number == 0 {
                    STATE.delete(turn, &());
                    return Ok(());
                }
                state.said = said;
            }
        }
        Ok(STATE.put(turn, &(), &state)?)
    }
}

/// Asks for the classifier, and for the last day of a country if one is named.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadClassifier {
    pub country: Option<String>,
}

/// The answer to [`ReadClassifier`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServedClassifier {
    pub state: ClassifierState,
    /// The newest day with features, and the licence of its measurements.
    pub last: Option<(u32, Point, String)>,
}

impl Query for ReadClassifier {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "classifier";
    type Reply = ServedClassifier;

    fn run(self, view: &View<'_>) -> Result<ServedClassifier> {
        let days = self.country.map(|country| days_of(view, &country)).transpose()?.flatten();
        let last = days.and_then(|days| days.days.last().map(|(day, point)| (*day, *point, days.license.clone())));
        Ok(ServedClassifier { state: STATE.get(view, &())?.unwrap_or_default(), last })
    }
}

/// Asks for every change of the served classifier that is kept, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadClassifierChanges;

impl Query for ReadClassifierChanges {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "classifier_changes";
    type Reply = Vec<ClassifierChange>;

    fn run(self, view: &View<'_>) -> Result<Vec<ClassifierChange>> {
        let rows = CHANGES.scan(view, &CHANGES.range(), Direction::Descending, KEPT_CHANGES as usize)?;
        let mut found: Vec<ClassifierChange> = rows.into_iter().map(|(_, change)| change).collect();
        // The served model may have been accepted before changes were kept.
        if let Some(state) = STATE.get(view, &())?.filter(|state| found.is_empty() && state.served.is_some()) {
            found.push(ClassifierChange { at: state.trained, number: state.number, learned: state.served });
        }
        Ok(found)
    }
}

/// The names of the features with the numbers that belong to them.
pub fn named(values: impl IntoIterator<Item = f64>) -> std::collections::BTreeMap<&'static str, f64> {
    crate::anomaly::FEATURES.into_iter().zip(values).map(|(name, value)| (name, engine::number::round(value))).collect()
}
