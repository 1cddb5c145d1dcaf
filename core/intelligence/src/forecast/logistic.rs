//! Logistic regression with a ridge penalty, fitted by iteratively reweighted least squares. This is Newton's method on
//! the penalised log likelihood; a step that would make the likelihood worse is halved.
//!
//! The penalty applies to standardised features and not to the intercept. So the mean of the predictions over the
//! training rows equals the share of positive rows.

use serde::{Deserialize, Serialize};

/// Newton steps of a fit, at most. A fit takes about ten.
const MOST_STEPS: usize = 60;
/// Halvings of one step, at most.
const MOST_HALVINGS: usize = 30;
/// Variance from which on a feature is not treated as constant.
const SPREAD: f64 = 1e-12;
/// The fit ends when no coefficient moves by more than this. Its error is then the square of this value.
const SETTLED: f64 = 1e-7;

/// Rows to train on.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    width: usize,
    values: Vec<f64>,
    labels: Vec<(f64, f64)>,
}

impl Sample {
    /// An empty sample of rows with `width` features.
    pub fn new(width: usize) -> Sample {
        Sample { width, ..Sample::default() }
    }

    /// Adds a row. `weight` is the number of rows that it stands for. A row of another width is ignored.
    pub fn push(&mut self, features: &[f64], positive: bool, weight: f64) {
        if features.len() == self.width {
            self.values.extend_from_slice(features);
            self.labels.push((f64::from(u8::from(positive)), weight));
        }
    }

    /// Number of rows, counted by weight.
    pub fn total(&self) -> f64 {
        self.labels.iter().map(|(_, weight)| weight).sum()
    }

    /// Number of positive rows, counted by weight.
    pub fn positives(&self) -> f64 {
        self.labels.iter().map(|(label, weight)| label * weight).sum()
    }

    /// Sum of the squared errors of a model over all rows, counted by weight.
    pub fn squared_error(&self, model: &Logistic) -> f64 {
        self.rows().map(|(x, label, weight)| weight * (model.probability(x) - label).powi(2)).sum()
    }

    /// The same rows with only some of their features.
    fn with_only(&self, features: &[usize]) -> Sample {
        let values = self.rows().flat_map(|(x, ..)| features.iter().filter_map(|at| x.get(*at)).copied()).collect();
        Sample { width: features.len(), values, labels: self.labels.clone() }
    }

    fn rows(&self) -> impl Iterator<Item = (&[f64], f64, f64)> {
        self.values.chunks_exact(self.width.max(1)).zip(&self.labels).map(|(x, (label, weight))| (x, *label, *weight))
    }

    /// Mean and standard deviation of each feature, with a deviation of 1 for constant ones, and the indices of the
    /// features that are not constant.
    fn moments(&self) -> (Vec<Scale>, Vec<usize>) {
        let total = self.total();
        let mut mean = vec![0.0; self.width];
        for (x, _, weight) in self.rows() {
            for (sum, value) in mean.iter_mut().zip(x) {
                *sum += weight * value / total;
            }
        }
        let mut variance = vec![0.0; self.width];
        for (x, _, weight) in self.rows() {
            for ((sum, mean), value) in variance.iter_mut().zip(&mean).zip(x) {
                *sum += weight * (value - mean) * (value - mean) / total;
            }
        }
        let moving =
            variance.iter().enumerate().filter(|(_, variance)| **variance > SPREAD).map(|(at, _)| at).collect();
        let scale = |variance: f64| if variance > SPREAD { variance.sqrt() } else { 1.0 };
        let scales = mean.into_iter().zip(variance).map(|(mean, variance)| Scale { mean, deviation: scale(variance) });
        (scales.collect(), moving)
    }
}

/// How a feature was standardised.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    pub mean: f64,
    pub deviation: f64,
}

impl Scale {
    fn apply(&self, value: f64) -> f64 {
        (value - self.mean) / self.deviation
    }
}

/// A fitted model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Logistic {
    /// Log odds when every feature has its mean.
    pub intercept: f64,
    /// Change of the log odds per standard deviation of each feature.
    pub weights: Vec<f64>,
    pub scales: Vec<Scale>,
    /// Covariance of intercept and weights, row by row: the inverse of the curvature.
    pub covariance: Vec<f64>,
}

impl Logistic {
    /// The same model with constant features added. `moving` are the indices of its own features.
    fn among(self, scales: Vec<Scale>, moving: &[usize]) -> Logistic {
        // Index 0 is the intercept.
        let place = |at: usize| if at == 0 { Some(0) } else { moving.binary_search(&(at - 1)).ok().map(|at| at + 1) };
        let own = moving.len() + 1;
        let cell = |line: usize, column: usize| {
            let at = place(line).zip(place(column)).map(|(line, column)| line * own + column);
            at.and_then(|at| self.covariance.get(at)).copied().unwrap_or_default()
        };
        let width = scales.len() + 1;
        let weight = |at: usize| {
            place(at).and_then(|at| at.checked_sub(1)).and_then(|at| self.weights.get(at)).copied().unwrap_or_default()
        };
        Logistic {
            intercept: self.intercept,
            weights: (1..width).map(weight).collect(),
            covariance: (0..width * width).map(|at| cell(at / width, at % width)).collect(),
            scales,
        }
    }

    /// Standard error of the log odds for a row.
    pub fn error(&self, features: &[f64]) -> f64 {
        let standardised = self.scales.iter().zip(features).map(|(scale, value)| scale.apply(*value));
        let row: Vec<f64> = std::iter::once(1.0).chain(standardised).collect();
        let lines = self.covariance.chunks_exact(row.len()).zip(&row);
        let dot = |line: &[f64]| line.iter().zip(&row).map(|(cell, value)| cell * value).sum::<f64>();
        lines.map(|(line, value)| value * dot(line)).sum::<f64>().max(0.0).sqrt()
    }

    /// The part of each feature in the log odds, compared with the feature's mean.
    pub fn contributions(&self, features: &[f64]) -> Vec<f64> {
        let standardised = self.scales.iter().zip(features).map(|(scale, value)| scale.apply(*value));
        self.weights.iter().zip(standardised).map(|(weight, value)| weight * value).collect()
    }

    /// Log odds for a row.
    pub fn log_odds(&self, features: &[f64]) -> f64 {
        let standardised = self.scales.iter().zip(features).map(|(scale, value)| scale.apply(*value));
        self.intercept + self.weights.iter().zip(standardised).map(|(weight, value)| weight * value).sum::<f64>()
    }

    /// Probability for a row, 0-1.
    pub fn probability(&self, features: &[f64]) -> f64 {
        sigmoid(self.log_odds(features))
    }
}

/// 1 / (1 + exp(-x)).
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Fits a sample with a penalty of `ridge`/2 times the squared standardised coefficients. `None` without both positive
/// and negative rows, or when no step improves the fit. A constant feature gets the weight 0 and costs nothing.
pub fn fit(sample: &Sample, ridge: f64) -> Option<Logistic> {
    fit_each(sample, &vec![ridge; sample.width])
}

/// Like [`fit`], with a penalty for each feature.
pub fn fit_each(sample: &Sample, ridge: &[f64]) -> Option<Logistic> {
    let (scales, moving) = sample.moments();
    if moving.len() == scales.len() {
        return fit_moving(sample, scales, ridge);
    }
    let own = moving.iter().filter_map(|at| scales.get(*at)).copied().collect();
    let ridge: Vec<f64> = moving.iter().filter_map(|at| ridge.get(*at)).copied().collect();
    Some(fit_moving(&sample.with_only(&moving), own, &ridge)?.among(scales, &moving))
}

fn fit_moving(sample: &Sample, scales: Vec<Scale>, ridge: &[f64]) -> Option<Logistic> {
    #[cfg(test)]
    super::work::fit();
    let share = sample.positives() / sample.total();
    if !(share > 0.0 && share < 1.0) {
        return None;
    }
    let mut beta = vec![0.0; sample.width + 1];
    if let Some(intercept) = beta.first_mut() {
        *intercept = (share / (1.0 - share)).ln();
    }
    let mut state = Derivatives::at(sample, &scales, ridge, &beta);
    for _ in 0..MOST_STEPS {
        let step = solve(state.curvature.clone(), state.gradient.clone(), beta.len())?;
        let mut part = 1.0;
        let mut moved = None;
        for _ in 0..MOST_HALVINGS {
            let next: Vec<f64> = beta.iter().zip(&step).map(|(at, step)| at + part * step).collect();
            let reached = Derivatives::at(sample, &scales, ridge, &next);
            if reached.objective >= state.objective - 1e-9 * state.objective.abs() {
                moved = Some((next, reached));
                break;
            }
            part /= 2.0;
        }
        let (next, reached) = moved?;
        (beta, state) = (next, reached);
        if step.iter().all(|step| (part * step).abs() < SETTLED) {
            break;
        }
    }
    let width = beta.len();
    let unit = |at: usize| (0..width).map(|place| f64::from(u8::from(place == at))).collect();
    let lines: Option<Vec<Vec<f64>>> = (0..width).map(|at| solve(state.curvature.clone(), unit(at), width)).collect();
    let (intercept, weights) = beta.split_first()?;
    Some(Logistic { intercept: *intercept, weights: weights.to_vec(), scales, covariance: lines?.concat() })
}

/// The penalised log likelihood at a point, its gradient, and the negative of its second derivatives.
struct Derivatives {
    objective: f64,
    gradient: Vec<f64>,
    curvature: Vec<f64>,
}

impl Derivatives {
    fn at(sample: &Sample, scales: &[Scale], ridge: &[f64], beta: &[f64]) -> Derivatives {
        #[cfg(test)]
        super::work::pass();
        let width = beta.len();
        let mut found = Derivatives { objective: 0.0, gradient: vec![0.0; width], curvature: vec![0.0; width * width] };
        let mut row = vec![1.0; width];
        for (x, label, weight) in sample.rows() {
            for ((place, scale), value) in row.iter_mut().skip(1).zip(scales).zip(x) {
                *place = scale.apply(*value);
            }
            let odds: f64 = row.iter().zip(beta).map(|(x, beta)| x * beta).sum();
            let tail = (-odds.abs()).exp();
            let mean = if odds >= 0.0 { 1.0 / (1.0 + tail) } else { tail / (1.0 + tail) };
            // log(1 + exp(odds)), computed without overflow.
            found.objective += weight * (label * odds - odds.max(0.0) - tail.ln_1p());
            let (slope, curve) = (weight * (label - mean), weight * mean * (1.0 - mean));
            for (line, (sum, a)) in found.curvature.chunks_exact_mut(width).zip(found.gradient.iter_mut().zip(&row)) {
                *sum += slope * a;
                let scaled = curve * a;
                for (cell, b) in line.iter_mut().zip(&row) {
                    *cell += scaled * b;
                }
            }
        }
        // The intercept has no penalty.
        for ((at, beta), ridge) in beta.iter().enumerate().skip(1).zip(ridge) {
            found.objective -= ridge * beta * beta / 2.0;
            if let Some(slope) = found.gradient.get_mut(at) {
                *slope -= ridge * beta;
            }
            if let Some(cell) = found.curvature.get_mut(at * width + at) {
                *cell += ridge;
            }
        }
        found
    }
}

/// Solves a symmetric positive definite system by elimination; `None` for any other system.
fn solve(mut matrix: Vec<f64>, mut right: Vec<f64>, width: usize) -> Option<Vec<f64>> {
    for at in 0..width {
        let (head, tail) = matrix.split_at_mut((at + 1) * width);
        let pivot = head.get(at * width..)?;
        let (known, rest) = right.split_at_mut(at + 1);
        let (diagonal, known) = (*pivot.get(at)?, *known.last()?);
        if diagonal.is_nan() || diagonal <= 1e-12 {
            return None;
        }
        for (line, value) in tail.chunks_exact_mut(width).zip(rest) {
            let factor = *line.get(at)? / diagonal;
            for (cell, pivot) in line.iter_mut().zip(pivot) {
                *cell -= factor * pivot;
            }
            *value -= factor * known;
        }
    }
    let mut found = vec![0.0; width];
    for at in (0..width).rev() {
        let line = matrix.get(at * width..(at + 1) * width)?;
        let settled: f64 = line.iter().zip(&found).skip(at + 1).map(|(cell, found)| cell * found).sum();
        *found.get_mut(at)? = (right.get(at)? - settled) / line.get(at)?;
    }
    Some(found)
}
