//! The synthetic control agrees with SciPy and pysyncon, and its cost is bounded.

use serde_json::Value;

use super::synthetic::{Unit, control, descend, p_value, weights};
use engine::testing::Dice;

const VECTORS: &str = include_str!("../../../../tests/vectors/synthetic/vectors.json");

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn unit(value: &Value) -> Unit {
    Unit { before: numbers(&value["before"]), after: numbers(&value["after"]) }
}

/// The vectors come from `tests/vectors/synthetic/make.py`: scipy.optimize.nnls 1.17.1, compared there with pysyncon
/// 1.7.0.
#[test]
fn weights_effects_and_p_values_are_those_of_scipy() {
    let recorded: Value = serde_json::from_str(VECTORS).unwrap();
    let cases = recorded["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let donors: Vec<Unit> = case["donors"].as_array().unwrap().iter().map(unit).collect();
        let donors: Vec<&Unit> = donors.iter().collect();
        let found = control(&unit(case), &donors);
        for (ours, theirs) in found.weights.iter().zip(numbers(&case["weights"])) {
            assert!((ours - theirs).abs() < 1e-5, "{name}: {ours} {theirs}");
        }
        for (ours, theirs) in found.weights.iter().zip(numbers(&case["pysyncon_weights"])) {
            assert!((ours - theirs).abs() < 2e-3, "{name}: {ours} {theirs}");
        }
        let near = |ours: f64, member: &str| {
            let theirs = case[member].as_f64().unwrap();
            assert!((ours - theirs).abs() < 1e-6, "{name} {member}: {ours} {theirs}");
        };
        near(found.before_error, "before_error");
        near(found.effect(), "effect");
        near(p_value(&found, &donors).unwrap(), "p_value");
    }
}

#[test]
fn weights_are_shares_whatever_the_donors_are() {
    let flat = [0.0; 14];
    let ramp: Vec<f64> = (0..14).map(f64::from).collect();
    let same: Vec<f64> = ramp.clone();
    let cases: [(&[f64], Vec<&[f64]>); 5] = [
        (&ramp, vec![&flat]),
        (&ramp, vec![&flat, &flat, &flat]),
        (&flat, vec![&ramp, &same]),
        (&ramp, vec![&flat, &ramp, &same]),
        (&[], vec![&[], &[]]),
    ];
    for (treated, donors) in cases {
        let found = weights(treated, &donors);
        assert_eq!(found.len(), donors.len());
        assert!(found.iter().all(|weight| (0.0..=1.0 + 1e-12).contains(weight)), "{found:?}");
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{found:?}");
    }
    // Two equal donors get half each, since the weights are unique.
    let found = weights(&ramp, &[&flat, &ramp, &same]);
    assert!((found[1] - 0.5).abs() < 1e-6 && (found[2] - 0.5).abs() < 1e-6, "{found:?}");
    assert_eq!(weights(&ramp, &[]), Vec::<f64>::new());
}

#[test]
fn one_donor_gives_no_p_value() {
    let unit = Unit { before: vec![0.1; 14], after: vec![0.2; 7] };
    let found = control(&unit, &[&unit]);
    assert_eq!((found.effect(), p_value(&found, &[&unit])), (0.0, None));
}

/// The number of steps bounds the cost of a request. It stays small for shares as they are measured, for donors that
/// are nearly the same, and for donors that are nearly mixtures of two others.
#[test]
fn weights_take_few_steps_whatever_the_donors_are() {
    let mut dice = Dice(7);
    let mut random = || dice.share();
    let mut worst = 0;
    for (level, spread) in [(0.05, 0.02), (0.05, 1e-4), (0.5, 0.5), (0.0, 0.05), (0.3, 1e-7)] {
        for _ in 0..40 {
            let mut donors: Vec<Vec<f64>> =
                (0..20).map(|_| (0..14).map(|_| level + spread * random()).collect()).collect();
            for at in 2..20 {
                if spread == 0.5 {
                    let mixed: Vec<f64> = (0..14)
                        .map(|day| (donors[at - 1][day] + donors[at - 2][day]) / 2.0 + 1e-5 * random())
                        .collect();
                    donors[at] = mixed;
                }
            }
            let treated: Vec<f64> = (0..14).map(|_| level + spread * (random() - 0.5)).collect();
            let donors: Vec<&[f64]> = donors.iter().map(Vec::as_slice).collect();
            let (weights, steps) = descend(&treated, &donors);
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            worst = worst.max(steps);
        }
    }
    eprintln!("at most {worst} steps");
    assert!(worst < 10_000, "{worst}");
}
