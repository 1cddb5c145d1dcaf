//! Class-wise adaptive conformal inference (Gibbs and Candes 2021, once per class).
//!
//! A forecast becomes a set: `event`, `quiet`, both or neither. A class is in the set when its probability is not among
//! the lowest of what cases of that class had before. Which share counts as lowest is alpha, and alpha moves with every
//! miss, so the share of misses of each class stays near the target whatever changes. One pooled alpha would keep its
//! promise by being right about quiet weeks alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metrics::Outcome;

/// Share of a class that the sets may miss.
pub const TARGET_MISS: f64 = 0.1;
/// How far one day's misses move alpha.
pub const GAMMA: f64 = 0.02;
/// Least cases of a class before its sets mean anything.
pub const LEAST_CASES: usize = 30;

/// Most scores of a class that are kept: quantiles are told to a thousandth.
const MOST_SCORES: usize = 2_000;

/// The state of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Share of earlier cases whose probability counts as too low.
    pub alpha: f64,
    /// Probabilities that earlier cases of the class gave their own class, ascending.
    pub scores: Vec<f64>,
    /// Cases that were judged, and those that the set had missed.
    pub judged: u64,
    pub missed: u64,
}

impl Class {
    /// From probabilities that earlier cases gave their own class, in any order.
    pub fn new(mut scores: Vec<f64>) -> Class {
        scores.sort_unstable_by(f64::total_cmp);
        let scores = thinned(scores);
        Class { alpha: TARGET_MISS, scores, judged: 0, missed: 0 }
    }

    /// Least probability of the class with which it is in the set. Alpha at or under 0 takes everything in, at or over
    /// 1 nothing.
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

    /// Takes newer cases in place of the earlier ones; alpha stays.
    pub fn renew(&mut self, mut scores: Vec<f64>) {
        scores.sort_unstable_by(f64::total_cmp);
        self.scores = thinned(scores);
    }

    /// Learns how many cases of the class ended (on one day) and how many of them their sets had missed.
    pub fn learn(&mut self, cases: u64, missed: u64) {
        if cases > 0 {
            self.alpha += GAMMA * (TARGET_MISS - missed as f64 / cases as f64);
            self.judged += cases;
            self.missed += missed;
        }
    }

    /// Share of judged cases that their sets held.
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

/// What a set says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    pub event: bool,
    pub quiet: bool,
}

impl Set {
    /// Its members by name.
    pub fn names(self) -> Vec<&'static str> {
        [("event", self.event), ("quiet", self.quiet)]
            .into_iter()
            .filter_map(|(name, in_it)| in_it.then_some(name))
            .collect()
    }
}

impl Conformal {
    /// From earlier forecasts and what came of them.
    pub fn new(outcomes: impl IntoIterator<Item = Outcome>) -> Conformal {
        let (event, quiet) = scores(outcomes);
        Conformal { event: Class::new(event), quiet: Class::new(quiet) }
    }

    /// Takes newer forecasts in place of the earlier ones; the alphas stay.
    pub fn renew(&mut self, outcomes: impl IntoIterator<Item = Outcome>) {
        let (event, quiet) = scores(outcomes);
        self.event.renew(event);
        self.quiet.renew(quiet);
    }

    /// Goes on where the sets of an earlier model stood: its alphas, and what was judged of them. The promise is about
    /// what was served, whoever made it.
    pub fn go_on(&mut self, earlier: &Conformal) {
        for (class, before) in [(&mut self.event, &earlier.event), (&mut self.quiet, &earlier.quiet)] {
            (class.alpha, class.judged, class.missed) = (before.alpha, before.judged, before.missed);
        }
    }

    /// The set of a forecast.
    pub fn set(&self, probability: f64) -> Set {
        Set { event: self.event.holds(probability), quiet: self.quiet.holds(1.0 - probability) }
    }

    /// Learns what came of the forecasts of one day.
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

/// As many of sorted scores as are kept, evenly taken.
fn thinned(sorted: Vec<f64>) -> Vec<f64> {
    let every = sorted.len().div_ceil(MOST_SCORES).max(1);
    sorted.into_iter().skip(every / 2).step_by(every).collect()
}

/// What forecasts of either class gave their own class.
fn scores(outcomes: impl IntoIterator<Item = Outcome>) -> (Vec<f64>, Vec<f64>) {
    let (mut event, mut quiet) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome.happened {
            true => event.push(outcome.probability),
            false => quiet.push(1.0 - outcome.probability),
        }
    }
    (event, quiet)
}

/// Coverage per class beside the size of the sets: either alone can be had for nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// 1 - the share that may be missed.
    pub target: f64,
    /// Share of weeks with an event whose set held `event`.
    pub event: Option<f64>,
    /// Share of weeks without one whose set held `quiet`.
    pub quiet: Option<f64>,
    /// Alpha of each class at the end.
    pub alpha_event: f64,
    pub alpha_quiet: f64,
    /// Countries a day whose set holds both classes, `event` alone, and neither.
    pub both_per_day: f64,
    pub event_only_per_day: f64,
    pub empty_per_day: f64,
    /// Mean number of classes in a set.
    pub mean_set_size: f64,
}
