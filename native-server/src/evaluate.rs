//! How well probabilities and labels agree with what people found: Brier score, calibration error, sensitivity and
//! specificity (decision labels-and-bars). It has no side effects. It is not part of `core`, so that the Worker does
//! not contain it.

use heliograph_core::facts::verdict::posterior::Beta;
use serde::Serialize;

/// Number of bins of equal mass for the calibration error.
const BINS: usize = 10;
/// With fewer labels no bar is evaluated (decision labels-and-bars).
pub const LEAST_LABELS: usize = 200;
/// From this share of abstention on, no bar is met (decision labels-and-bars).
const MOST_ABSTENTION: f64 = 0.2;
/// The goals. The last two are OONI's published figures.
const BRIER: f64 = 0.03;
const ECE: f64 = 0.03;
const SENSITIVITY: f64 = 0.985;
const SPECIFICITY: f64 = 0.998;
/// Probability that a 95% interval misses on one side.
const TAIL: f64 = 0.025;

/// The classifier's answer about one labelled measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassifierAnswer {
    Blocked,
    /// Accessible or down.
    NotBlocked,
    Unknown,
}

/// One labelled measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// The label: true if the site was really blocked.
    pub blocked: bool,
    pub said: ClassifierAnswer,
    /// The classifier's probability of blocking, 0-1.
    pub probability: f64,
}

/// A share with its Clopper-Pearson 95% interval; there is no interval without trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    pub hits: usize,
    pub of: usize,
    pub point: Option<f64>,
    pub low: f64,
    pub high: f64,
}

impl Share {
    /// The interval is exact: its ends are quantiles of Beta distributions (Clopper and Pearson 1934).
    pub fn new(hits: usize, of: usize) -> Share {
        let (k, n) = (hits as f64, of as f64);
        let low = if hits == 0 { 0.0 } else { Beta { a: k, b: n - k + 1.0 }.quantile(TAIL) };
        let high = if hits == of { 1.0 } else { Beta { a: k + 1.0, b: n - k }.quantile(1.0 - TAIL) };
        Share { hits, of, point: (of > 0).then(|| k / n), low, high }
    }
}

/// One line of the reliability table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bin {
    pub cases: usize,
    /// Smallest and greatest probability.
    pub from: f64,
    pub to: f64,
    pub mean_probability: f64,
    /// Share of cases that were really blocked.
    pub observed: f64,
}

/// One bar; `met` is null when there are too few labels to tell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    pub name: &'static str,
    pub goal: f64,
    pub met: Option<bool>,
}

/// All figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    pub labels: usize,
    pub blocked: usize,
    pub brier: Option<f64>,
    /// Compared with always answering the share of blocked cases; null when all labels are alike.
    pub brier_skill: Option<f64>,
    /// Over ten bins of equal mass.
    pub ece: Option<f64>,
    /// Share of blocked cases that were called blocked; an `unknown` counts as a miss.
    pub sensitivity: Share,
    /// Share of the other cases that were not called blocked. Unknown answers are left out; they count as abstention.
    pub specificity: Share,
    /// Share of unknown answers among all cases.
    pub abstention: Share,
    pub reliability: Vec<Bin>,
    pub bars: Vec<Bar>,
    /// `met`, `not met` or `insufficient labels`.
    pub result: &'static str,
}

/// Evaluates cases in any order: they are sorted first, so that not even a rounding depends on it.
pub fn evaluate(cases: &[Case]) -> Evaluation {
    let mut sorted = cases.to_vec();
    sorted.sort_by(|a, b| a.probability.total_cmp(&b.probability).then(a.blocked.cmp(&b.blocked)));
    let cases = sorted.as_slice();
    let n = cases.len();
    let count = |wanted: &dyn Fn(&Case) -> bool| cases.iter().filter(|case| wanted(case)).count();
    let blocked = count(&|case| case.blocked);
    let mean = |sum: f64| (n > 0).then(|| sum / n as f64);
    let brier = mean(cases.iter().map(|case| (case.probability - truth(case)).powi(2)).sum());
    let base = blocked as f64 / n.max(1) as f64;
    let spread = base * (1.0 - base);
    let sensitivity = Share::new(count(&|case| case.blocked && case.said == ClassifierAnswer::Blocked), blocked);
    let clear = count(&|case| !case.blocked && case.said == ClassifierAnswer::NotBlocked);
    let specificity = Share::new(clear, count(&|case| !case.blocked && case.said != ClassifierAnswer::Unknown));
    let abstention = Share::new(count(&|case| case.said == ClassifierAnswer::Unknown), n);
    let reliability = bins(cases);
    let ece = gap(&reliability);
    let decided = abstention.point.is_some_and(|share| share < MOST_ABSTENTION);
    let holds = |name, goal, met: bool| Bar { name, goal, met: (n >= LEAST_LABELS).then_some(met) };
    // An interval above the goal is better than one that includes it. Without a label of the class the bar cannot be
    // decided.
    let share_holds = |name, goal, share: &Share| Bar {
        met: holds(name, goal, decided && share.high >= goal).met.filter(|_| share.of > 0),
        ..holds(name, goal, false)
    };
    let bars = vec![
        holds("brier", BRIER, decided && brier.is_some_and(|brier| brier <= BRIER)),
        holds("ece", ECE, decided && ece.is_some_and(|ece| ece <= ECE)),
        share_holds("sensitivity", SENSITIVITY, &sensitivity),
        share_holds("specificity", SPECIFICITY, &specificity),
    ];
    let result = match bars.iter().map(|bar| bar.met).collect::<Option<Vec<bool>>>() {
        None => "insufficient labels",
        Some(met) if met.iter().all(|met| *met) => "met",
        Some(_) => "not met",
    };
    Evaluation {
        labels: n,
        blocked,
        brier,
        brier_skill: brier.filter(|_| spread > 0.0).map(|brier| 1.0 - brier / spread),
        ece,
        sensitivity,
        specificity,
        abstention,
        reliability,
        bars,
        result,
    }
}

fn truth(case: &Case) -> f64 {
    f64::from(u8::from(case.blocked))
}

/// Mean distance between probability and truth over bins; `None` without cases.
fn gap(bins: &[Bin]) -> Option<f64> {
    let cases: usize = bins.iter().map(|bin| bin.cases).sum();
    let gap = |bin: &Bin| bin.cases as f64 * (bin.mean_probability - bin.observed).abs();
    (cases > 0).then(|| bins.iter().map(gap).sum::<f64>() / cases as f64)
}

/// The calibration error of probabilities in ascending order, each with the truth; `None` for an empty list.
pub fn calibration_error(said: &[(f64, bool)]) -> Option<f64> {
    let case = |(probability, blocked): &(f64, bool)| Case {
        blocked: *blocked,
        said: ClassifierAnswer::Blocked,
        probability: *probability,
    };
    gap(&bins(&said.iter().map(case).collect::<Vec<_>>()))
}

/// Makes ten bins of equal mass from cases sorted by probability. Cases with the same probability share their mean
/// truth, so that their order in the file does not decide their bins.
fn bins(cases: &[Case]) -> Vec<Bin> {
    let mut sorted: Vec<(f64, f64)> = cases.iter().map(|case| (case.probability, truth(case))).collect();
    for tied in sorted.chunk_by_mut(|a, b| a.0 == b.0) {
        let mean = tied.iter().map(|(_, truth)| truth).sum::<f64>() / tied.len() as f64;
        tied.iter_mut().for_each(|(_, truth)| *truth = mean);
    }
    let bound = |bin: usize| bin * sorted.len() / BINS;
    (0..BINS)
        .filter_map(|bin| {
            let cases = sorted.get(bound(bin)..bound(bin + 1))?;
            let (first, last) = (cases.first()?, cases.last()?);
            let mean = |of: fn(&(f64, f64)) -> f64| cases.iter().map(of).sum::<f64>() / cases.len() as f64;
            Some(Bin {
                cases: cases.len(),
                from: first.0,
                to: last.0,
                mean_probability: mean(|case| case.0),
                observed: mean(|case| case.1),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(blocked: bool, said: ClassifierAnswer, probability: f64) -> Case {
        Case { blocked, said, probability }
    }

    /// By hand: (0.1² + 0.2² + 0.6² + 0.3²) / 4 = (0.01 + 0.04 + 0.36 + 0.09) / 4 = 0.125; base 0.5, skill
    /// 1 - 0.125 / 0.25 = 0.5; each case is a bin of its own: (0.1 + 0.2 + 0.6 + 0.3) / 4 = 0.3.
    #[test]
    fn scores_are_those_of_a_sum_by_hand() {
        let cases = [
            case(true, ClassifierAnswer::Blocked, 0.9),
            case(true, ClassifierAnswer::Blocked, 0.8),
            case(false, ClassifierAnswer::Unknown, 0.6),
            case(false, ClassifierAnswer::NotBlocked, 0.3),
        ];
        let found = evaluate(&cases);
        let close = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-12, "{a:?} {b}");
        close(found.brier, 0.125);
        close(found.brier_skill, 0.5);
        close(found.ece, 0.3);
        assert_eq!((found.sensitivity.hits, found.sensitivity.of), (2, 2));
        assert_eq!((found.specificity.hits, found.specificity.of), (1, 1));
        assert_eq!((found.abstention.hits, found.abstention.of), (1, 4));
        assert_eq!(found.result, "insufficient labels");
    }

    /// Published values: 8 of 10 has 0.4439 to 0.9748; 0 of 20 ends at 1 - 0.025^(1/20) = 0.1684; 62 of 63 has 0.9147
    /// to 0.9996.
    #[test]
    fn intervals_are_those_of_clopper_and_pearson() {
        let close = |share: Share, low: f64, high: f64| {
            assert!((share.low - low).abs() < 6e-5 && (share.high - high).abs() < 6e-5, "{share:?}");
        };
        close(Share::new(8, 10), 0.4439, 0.9748);
        close(Share::new(0, 20), 0.0, 1.0 - 0.025f64.powf(0.05));
        close(Share::new(20, 20), 0.025f64.powf(0.05), 1.0);
        close(Share::new(62, 63), 0.9147, 0.9996);
        assert_eq!(Share::new(0, 0).point, None);
        assert_eq!((Share::new(0, 0).low, Share::new(0, 0).high), (0.0, 1.0));
    }

    fn many(blocked_hit: usize, blocked_unknown: usize, clear: usize, wrong: usize) -> Vec<Case> {
        [
            vec![case(true, ClassifierAnswer::Blocked, 0.99); blocked_hit],
            vec![case(true, ClassifierAnswer::Unknown, 0.1); blocked_unknown],
            vec![case(false, ClassifierAnswer::NotBlocked, 0.005); clear],
            vec![case(false, ClassifierAnswer::Blocked, 0.99); wrong],
        ]
        .concat()
    }

    fn bar(found: &Evaluation, name: &str) -> Option<bool> {
        found.bars.iter().find(|bar| bar.name == name).unwrap().met
    }

    /// Decision labels-and-bars: unknown counts as not blocked for sensitivity, and as abstention. A bar is met when
    /// the interval includes the goal and less than a fifth are unknown. With fewer than 200 labels no bar is decided.
    #[test]
    fn bars_stand_inside_the_interval_and_unknown_is_no_way_out() {
        let good = evaluate(&many(50, 0, 150, 0));
        assert_eq!(good.result, "met", "{good:?}");
        assert_eq!(evaluate(&many(50, 0, 149, 0)).result, "insufficient labels");
        let shy = evaluate(&many(40, 10, 150, 0));
        assert_eq!(shy.sensitivity.point, Some(0.8));
        assert_eq!((bar(&shy, "sensitivity"), bar(&shy, "specificity")), (Some(false), Some(true)));
        let wrong = evaluate(&many(50, 0, 140, 10));
        assert_eq!(bar(&wrong, "specificity"), Some(false));
        // One wrong among 200 is inside the interval, as OONI's own corpus is.
        assert_eq!(bar(&evaluate(&many(50, 0, 199, 1)), "specificity"), Some(true));
        // Always right when it answers, and silent for a fifth.
        let mut silent = many(50, 0, 150, 0);
        silent.extend(vec![case(false, ClassifierAnswer::Unknown, 0.08); 50]);
        let silent = evaluate(&silent);
        assert_eq!(silent.abstention.point, Some(0.2));
        assert!(silent.bars.iter().all(|bar| bar.met == Some(false)), "whatever the probabilities were: {silent:?}");
    }

    #[test]
    fn the_order_of_the_file_changes_nothing() {
        let mut cases = many(30, 7, 120, 5);
        let one = evaluate(&cases);
        cases.reverse();
        assert_eq!(evaluate(&cases), one);
        cases.rotate_left(61);
        let other = evaluate(&cases);
        assert_eq!(other.reliability, one.reliability);
        assert_eq!(one.reliability.iter().map(|bin| bin.cases).sum::<usize>(), 162);
    }

    /// By hand: twenty cases of 0.5, of which ten are blocked, are calibrated in any order of the file.
    #[test]
    fn ties_are_not_torn_apart_by_their_truth() {
        let cases: Vec<Case> = (0..20).map(|n| case(n < 10, ClassifierAnswer::Unknown, 0.5)).collect();
        assert!(evaluate(&cases).ece.unwrap() < 1e-12);
        assert_eq!(evaluate(&[]).ece, None);
        assert_eq!(evaluate(&[]).result, "insufficient labels");
    }
}
