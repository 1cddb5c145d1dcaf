//! Trains a model in steps that each fit into one run of a Worker, and keeps the results between them. Nothing of a new
//! model is served before the last step.

use serde::{Deserialize, Serialize};

use super::conformal::Conformal;
use super::features::features;
use super::history::History;
use super::logistic::Logistic;
use super::metrics::{Confusion, Scored, figures};
use super::model::{HeldOut, Model, poisson};
use super::panel::{Horizon, Knowledge, countries, label, question, train};
use crate::Timestamp;
use engine::kv::Row;

/// Days without a start anywhere after which a history counts as late. Somewhere in the world something starts almost
/// every day.
pub const FRESH_DAYS: i32 = 14;
/// Days of the hold-out on which a first model is judged.
const HOLD_OUT: i32 = 365;
/// Days that the served model has not seen, which are needed before a new model of the same delay is trained.
const LEAST_UNSEEN: i32 = 60;
const TOO_LITTLE: &str = "too little history to learn from";

/// How many days late a history is on a day.
pub fn delay(history: &History, today: i32) -> i32 {
    let late = history.newest().map_or(0, |newest| today - newest);
    if late <= FRESH_DAYS { 0 } else { late }
}

/// The training of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Training {
    pub number: u32,
    pub began: Timestamp,
    /// Identity of the history at the beginning. When the history changes, a new course is needed.
    pub of: u64,
    until: i32,
    delay: i32,
    /// The first and the last day on which the candidate is judged.
    from: i32,
    to: i32,
    /// Trained on the days before these.
    candidate: Option<Logistic>,
    judged: Option<(HeldOut, Conformal, Confusion)>,
    /// Trained on all days, in the order of [`Horizon::ALL`].
    horizons: Vec<Logistic>,
    rows: u64,
    positives: u64,
}
impl Row for Training {}

impl Training {
    /// Plans a course. A first model, and one with another delay than the served model, is judged on the last year.
    /// Otherwise the candidate is compared with the served model on days that neither has seen: it learns from the
    /// earlier half of the new days, and is judged on the later half.
    ///
    /// # Errors
    ///
    /// A sentence that says why there is nothing to learn.
    pub fn begin(history: &History, now: Timestamp, number: u32, served: Option<&Model>) -> Result<Training, String> {
        let today = i32::try_from(now.day()).unwrap_or(i32::MAX);
        let until = history.newest().ok_or("there is no history")?;
        let (delay, to) = (delay(history, today), until - Horizon::WEEK.days);
        let from = match served.filter(|served| (served.delay - delay).abs() <= FRESH_DAYS) {
            None => to - HOLD_OUT + 1,
            Some(served) if to - served.until < LEAST_UNSEEN => {
                return Err(format!("the history is hardly newer than that of {}", served.version()));
            }
            Some(served) => served.until + (to - served.until) / 2,
        };
        Ok(Training {
            number,
            began: now,
            of: identity(history),
            until,
            delay,
            from,
            to,
            candidate: None,
            judged: None,
            horizons: Vec::new(),
            rows: 0,
            positives: 0,
        })
    }

    /// Does the next step. After the last one it returns the model, which may be served.
    ///
    /// # Errors
    ///
    /// A sentence that says why the model may not be served.
    pub fn step(&mut self, history: &History, served: Option<&Model>) -> Result<Option<Model>, String> {
        let knowledge = Knowledge::Days(self.delay);
        let Some(candidate) = &self.candidate else {
            let (candidate, _) = train(history, self.from - 1, Horizon::WEEK, knowledge).ok_or(TOO_LITTLE)?;
            self.candidate = Some(candidate);
            return Ok(None);
        };
        let Some((held_out, sets, alerts)) = &self.judged else {
            let judged = hold_out(history, (self.from, self.to), knowledge, candidate, served);
            let (new, (name, old)) = judged.0.candidate.brier.zip(judged.0.rival()).ok_or(TOO_LITTLE)?;
            if new >= old {
                return Err(format!("on the hold-out its Brier score is {new:.6}, no better than {old:.6} of {name}"));
            }
            self.judged = Some(judged);
            return Ok(None);
        };
        if let Some(horizon) = Horizon::ALL.get(self.horizons.len()) {
            let (model, sample) = train(history, self.until, *horizon, knowledge).ok_or(TOO_LITTLE)?;
            if *horizon == Horizon::WEEK {
                (self.rows, self.positives) = (sample.total() as u64, sample.positives() as u64);
            }
            self.horizons.push(model);
            if self.horizons.len() < Horizon::ALL.len() {
                return Ok(None);
            }
        }
        Ok(Some(Model {
            number: self.number,
            trained: self.began,
            until: self.until,
            delay: self.delay,
            starts: history.total() as u64,
            rows: self.rows,
            positives: self.positives,
            horizons: self.horizons.clone(),
            held_out: held_out.clone(),
            sets: sets.clone(),
            alerts: Some(*alerts),
        }))
    }
}

/// States by how much a model is better than the served one on days that neither has seen.
///
/// # Errors
///
/// A sentence that says why it is not better.
pub fn compare(history: &History, model: &Model, served: Option<&Model>) -> Result<String, String> {
    let seen = served.map_or(model.until, |served| served.until.max(model.until));
    let to = history.newest().unwrap_or(seen) - Horizon::WEEK.days;
    if to - seen < LEAST_UNSEEN {
        return Err(format!("there are not {LEAST_UNSEEN} days yet that neither has seen"));
    }
    let week = model.horizons.get(1).ok_or(TOO_LITTLE)?;
    let (held_out, ..) = hold_out(history, (seen + 1, to), model.knowledge(), week, served);
    let (new, (name, old)) = held_out.candidate.brier.zip(held_out.rival()).ok_or(TOO_LITTLE)?;
    if new >= old {
        return Err(format!("on days that neither has seen its Brier score is {new:.6}, no better than {old:.6}"));
    }
    Ok(format!("Promoted: on days that neither has seen its Brier score is {new:.6}, that of {name} {old:.6}."))
}

/// Identifies the data to learn from. It changes when starts or reports are added.
pub fn identity(history: &History) -> u64 {
    history.total() as u64 + ((history.reports().count() as u64) << 32)
}

/// Judges a candidate on the days `from` to `to`, which it has not seen.
fn hold_out(
    history: &History,
    (from, to): (i32, i32),
    knowledge: Knowledge,
    candidate: &Logistic,
    served: Option<&Model>,
) -> (HeldOut, Conformal, Confusion) {
    let served = served.and_then(|served| served.horizons.get(1));
    let (mut ours, mut quiet, mut theirs, mut rates) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (day, country) in (from..=to).flat_map(|day| countries().map(move |country| (day, country))) {
        let asked = question(country, day, Horizon::WEEK, knowledge);
        let row = features(history, asked);
        let happened = label(history, country, day, Horizon::WEEK);
        let outcome = |probability: f64| Scored { probability, happened };
        ours.push(outcome(candidate.probability(&row)));
        rates.push(outcome(poisson(history, asked)));
        theirs.extend(served.map(|served| outcome(served.probability(&row))));
        if history.starts(country, day - 29, day) == 0.0 {
            quiet.extend(ours.last().copied());
        }
    }
    let held_out = HeldOut {
        from,
        to,
        candidate: figures(&ours),
        hard: figures(&quiet),
        served: served.map(|_| figures(&theirs)),
        country_rate: figures(&rates),
    };
    let alerts = Confusion::of(&ours);
    (held_out, Conformal::new(ours), alerts)
}

/// Trains a model in one go, where nothing limits how long that takes.
///
/// # Errors
///
/// A sentence that says why the model may not be served.
pub fn learn(history: &History, now: Timestamp, number: u32, served: Option<&Model>) -> Result<Model, String> {
    let mut course = Training::begin(history, now, number, served)?;
    loop {
        if let Some(model) = course.step(history, served)? {
            return Ok(model);
        }
    }
}
