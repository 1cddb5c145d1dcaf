//! Class-wise adaptive conformal inference (Gibbs and Candes 2021, once per class).
//!
//! It turns a forecast into a set: `event`, `quiet`, both or neither. A class is in the set unless its probability is
//! among the lowest that earlier cases of this class had. Alpha is the share that counts as lowest. Alpha moves with
//! every miss, so the share of misses in each class stays near the target whatever changes. A single alpha for both
//! classes would reach the target by being right about quiet weeks alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metrics::Scored;

/// Share of the cases of a class that their sets may miss.
pub const TARGET_MISS: f64 = 0.1;
/// How far the misses of one day move alpha.
pub const GAMMA: f64 = 0.02;
/// Cases that a class needs before its sets mean anything.
pub const LEAST_CASES: usize = 30;

/// Scores of a class that are kept, at most. With this many, quantiles are exact to a thousandth.
const MOST_SCORES: usize = 2_000;

/// The state of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Share of earlier cases whose probability counts as too low.
    pub alpha: f64,
    /// The probability of the class in each of its earlier cases, ascending.
    pub scores: Vec<f64>,
    /// Cases that were judged, and cases whose set did not contain the class.
    pub judged: u64,
    pub missed: u64,
}

impl Class {
    /// A class with the probabilities that its earlier cases gave to it, in any order.
    pub fn new(mut scores: Vec<f64>) -> Class {
        scores.sort_unstable_by(f64::total_cmp);
        let scores = thinned(scores);
        Class { alpha: TARGET_MISS, scores, judged: 0, missed: 0 }
    }

    /// The least probability with which the class is in the set. With an alpha of 0 or less it is always in the set,
    /// with one of 1 or more never.
    pub fn threshold(&self) -> f64 {
        if self.alpha <= 0.0 || self.scores.len() < LEAST_CASES {
            return 0.0;
        }
        if self.alpha >= 1.0 {
            return f64::INFINITY;
        }
        let rank = (self.alpha * (self.scores.len() + 1) as f64).floor() as usize;
        rank.checked_sub(1).and_then(|at| self.scores.get(at)).copied().unwrap_or(0.0)
    }

    /// Whether the class is in the set of a forecast that gives it this probability.
    pub fn holds(&self, probability: f64) -> bool {
        probability >= self.threshold()
    }

    /// Replaces the earlier cases with newer ones; alpha stays.
    pub fn renew(&mut self, mut scores: Vec<f64>) {
        scores.sort_unstable_by(f64::total_cmp);
        self.scores = thinned(scores);
    }

    /// Learns from the cases of the class that ended on one day: how many there were, and how many of them their sets
    /// missed.
    pub fn learn(&mut self, cases: u64, missed: u64) {
        if cases > 0 {
            self.alpha += GAMMA * (TARGET_MISS - missed as f64 / cases as f64);
            self.judged += cases;
            self.missed += missed;
        }
    }

    /// Share of judged cases whose set contained the class.
    pub fn coverage(&self) -> Option<f64> {
        (self.judged > 0).then(|| 1.0 - self.missed as f64 / self.judged as f64)
    }
}

/// Both classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conformal {
    pub event: Class,
    pub quiet: Class,
}

/// The classes in the set of a forecast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    pub event: bool,
    pub quiet: bool,
}

impl Set {
    /// The names of the classes in the set.
    pub fn names(self) -> Vec<&'static str> {
        [("event", self.event), ("quiet", self.quiet)]
            .into_iter()
            .filter_map(|(name, in_it)| in_it.then_some(name))
            .collect()
    }
}

impl Conformal {
    /// Starts from earlier forecasts and their outcomes.
    pub fn new(outcomes: impl IntoIterator<Item = Scored>) -> Conformal {
        let (event, quiet) = scores(outcomes);
        Conformal { event: Class::new(event), quiet: Class::new(quiet) }
    }

    /// Replaces the earlier forecasts with newer ones; the alphas stay.
    pub fn renew(&mut self, outcomes: impl IntoIterator<Item = Scored>) {
        let (event, quiet) = scores(outcomes);
        self.event.renew(event);
        self.quiet.renew(quiet);
    }

    /// Continues the sets of an earlier model with its alphas and its counts. The target is about everything that was
    /// served, whichever model made it.
    pub fn go_on(&mut self, earlier: &Conformal) {
        for (class, before) in [(&mut self.event, &earlier.event), (&mut self.quiet, &earlier.quiet)] {
            (class.alpha, class.judged, class.missed) = (before.alpha, before.judged, before.missed);
        }
    }

    /// The set of a forecast.
    pub fn set(&self, probability: f64) -> Set {
        Set { event: self.event.holds(probability), quiet: self.quiet.holds(1.0 - probability) }
    }

    /// Learns from the outcomes of the forecasts of one day.
    pub fn learn(&mut self, day: impl IntoIterator<Item = (Set, bool)>) {
        let (mut events, mut quiets) = ((0, 0), (0, 0));
        for (set, happened) in day {
            let (count, held) = if happened { (&mut events, set.event) } else { (&mut quiets, set.quiet) };
            count.0 += 1;
            count.1 += u64::from(!held);
        }
        self.event.learn(events.0, events.1);
        self.quiet.learn(quiets.0, quiets.1);
    }
}

/// At most [`MOST_SCORES`] of sorted scores, evenly spaced.
fn thinned(sorted: Vec<f64>) -> Vec<f64> {
    let every = sorted.len().div_ceil(MOST_SCORES).max(1);
    sorted.into_iter().skip(every / 2).step_by(every).collect()
}

/// The probabilities that forecasts gave to the class of their outcome, by class.
fn scores(outcomes: impl IntoIterator<Item = Scored>) -> (Vec<f64>, Vec<f64>) {
    let (mut event, mut quiet) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome.happened {
            true => event.push(outcome.probability),
            false => quiet.push(1.0 - outcome.probability),
        }
    }
    (event, quiet)
}

/// Coverage of each class, and the size of the sets. Either figure alone can be made perfect easily.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConformalCoverage")]
pub struct Coverage {
    /// 1 - the share that the sets may miss.
    pub target: f64,
    /// Share of the weeks with an event whose set contained `event`.
    pub event: Option<f64>,
    /// Share of the weeks without an event whose set contained `quiet`.
    pub quiet: Option<f64>,
    /// Alpha of each class at the end.
    pub alpha_event: f64,
    pub alpha_quiet: f64,
    /// Countries per day whose set contains both classes, `event` alone, and neither.
    pub both_per_day: f64,
    pub event_only_per_day: f64,
    pub empty_per_day: f64,
    /// Mean number of classes in a set.
    pub mean_set_size: f64,
}
