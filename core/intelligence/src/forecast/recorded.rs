//! The estimators give the same results as well-known packages on the same data (`tests/vectors/estimators`).

use serde::Deserialize;

use super::conformal::{Class, Conformal, GAMMA, TARGET_MISS};
use super::isotonic;
use super::logistic::{Sample, fit};
use super::metrics::{Scored, figures};

#[derive(Deserialize)]
struct File {
    logistic: Vec<Fitted>,
    rows: Vec<Vec<f64>>,
    labels: Vec<u8>,
    weights: Vec<f64>,
    isotonic: Steps,
    figures: RecordedFigures,
    conformal: Sets,
    adaptive: Adaptive,
}

#[derive(Deserialize)]
struct Fitted {
    ridge: f64,
    intercept: f64,
    weights: Vec<f64>,
    probabilities: Vec<f64>,
    errors: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Steps {
    scores: Vec<f64>,
    outcomes: Vec<f64>,
    weights: Vec<f64>,
    at: Vec<f64>,
    values: Vec<f64>,
}

#[derive(Deserialize)]
struct RecordedFigures {
    probabilities: Vec<f64>,
    labels: Vec<u8>,
    auc: f64,
    average_precision: f64,
    brier: f64,
}

#[derive(Deserialize)]
struct Sets {
    calibration: Vec<f64>,
    classes: Vec<u8>,
    probabilities: Vec<f64>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    alpha: f64,
    class: u8,
    in_set: Vec<bool>,
}

#[derive(Deserialize)]
struct Adaptive {
    target: f64,
    gamma: f64,
    misses: Vec<u64>,
    alpha: Vec<f64>,
}

fn file() -> File {
    serde_json::from_str(include_str!("../../../../tests/vectors/estimators/estimators.json")).unwrap()
}

fn close(ours: f64, theirs: f64, within: f64) {
    assert!((ours - theirs).abs() <= within, "{ours} {theirs}");
}

/// The fit equals scikit-learn's `LogisticRegression` with three penalties; the standard errors equal those of
/// statsmodels' generalised linear model.
#[test]
fn a_fit_is_that_of_scikit_learn_and_its_errors_those_of_statsmodels() {
    let file = file();
    let mut sample = Sample::new(3);
    for ((row, label), weight) in file.rows.iter().zip(&file.labels).zip(&file.weights) {
        sample.push(row, *label == 1, *weight);
    }
    assert!(file.logistic.iter().any(|case| case.errors.is_some()));
    for case in file.logistic {
        let fitted = fit(&sample, case.ridge).unwrap();
        close(fitted.intercept, case.intercept, 1e-8);
        fitted.weights.iter().zip(&case.weights).for_each(|(ours, theirs)| close(*ours, *theirs, 1e-8));
        for (row, theirs) in file.rows.iter().zip(&case.probabilities) {
            close(fitted.probability(row), *theirs, 1e-8);
        }
        for (row, theirs) in file.rows.iter().zip(case.errors.iter().flatten()) {
            close(fitted.error(row), *theirs, 1e-6);
        }
    }
}

/// A constant feature changes no other: a fit with such features equals the fit without them.
#[test]
fn features_without_spread_change_nothing() {
    let file = file();
    let (mut narrow, mut wide) = (Sample::new(3), Sample::new(5));
    for (row, label) in file.rows.iter().zip(&file.labels) {
        narrow.push(row, *label == 1, 1.0);
        wide.push(&[7.0, row[0], row[1], 0.0, row[2]], *label == 1, 1.0);
    }
    let (narrow, wide) = (fit(&narrow, 2.0).unwrap(), fit(&wide, 2.0).unwrap());
    assert_eq!(wide.weights, [0.0, narrow.weights[0], narrow.weights[1], 0.0, narrow.weights[2]]);
    for row in &file.rows {
        let more = [7.0, row[0], row[1], 0.0, row[2]];
        assert_eq!(narrow.probability(row), wide.probability(&more));
        close(narrow.error(row), wide.error(&more), 1e-12);
    }
}

#[test]
fn isotonic_regression_is_that_of_scikit_learn() {
    let Steps { scores, outcomes, weights, at, values } = file().isotonic;
    let fitted = isotonic::fit(scores.into_iter().zip(outcomes).zip(weights).map(|((x, y), w)| (x, y, w)));
    assert!(values.iter().any(|value| *value > 0.0 && *value < 1.0));
    at.iter().zip(values).for_each(|(score, theirs)| close(fitted.value(*score), theirs, 1e-12));
}

#[test]
fn areas_and_scores_are_those_of_scikit_learn() {
    let told = file().figures;
    let outcome = |(probability, label): (&f64, &u8)| Scored { probability: *probability, happened: *label == 1 };
    let found = figures(&told.probabilities.iter().zip(&told.labels).map(outcome).collect::<Vec<_>>());
    close(found.auc.unwrap(), told.auc, 1e-12);
    close(found.average_precision.unwrap(), told.average_precision, 1e-12);
    close(found.brier.unwrap(), told.brier, 1e-12);
}

/// The sets equal those of crepes' class-conditional conformal classifier, which say by probability and alpha which
/// class is in the set.
#[test]
fn sets_are_those_of_a_class_conditional_conformal_classifier() {
    let sets = file().conformal;
    let outcomes = sets.calibration.iter().zip(&sets.classes).map(|(own, class)| {
        // The probability that each case gave to its own class.
        let probability = if *class == 1 { *own } else { 1.0 - own };
        Scored { probability, happened: *class == 1 }
    });
    let fitted = Conformal::new(outcomes);
    for case in &sets.cases {
        let mut class: Class = if case.class == 1 { fitted.event.clone() } else { fitted.quiet.clone() };
        class.alpha = case.alpha;
        let ours: Vec<bool> = sets.probabilities.iter().map(|probability| class.holds(*probability)).collect();
        assert_eq!(ours, case.in_set, "alpha {} of class {}", case.alpha, case.class);
    }
}

/// Alpha moves after each hit and miss as in MAPIE's adaptive conformal inference.
#[test]
fn alpha_moves_as_in_adaptive_conformal_inference() {
    let Adaptive { target, gamma, misses, alpha } = file().adaptive;
    assert_eq!((target, gamma), (TARGET_MISS, GAMMA));
    let mut class = Class::new(Vec::new());
    for (missed, theirs) in misses.iter().zip(alpha) {
        class.learn(1, *missed);
        close(class.alpha, theirs, 1e-12);
    }
    assert_eq!((class.judged, class.missed), (misses.len() as u64, misses.iter().sum()));
}
