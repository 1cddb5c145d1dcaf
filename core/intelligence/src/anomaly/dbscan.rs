//! Density-based clustering (Ester, Kriegel, Sander and Xu 1996), and the distance of a point from the dense ones.

/// Features of a day (decision features-dates-retries).
pub const WIDTH: usize = 12;

/// A point with every feature in standard deviations from its mean.
pub type Point = [f64; WIDTH];

/// The clusters of some points.
#[derive(Debug, Clone, PartialEq)]
pub struct Clusters {
    /// Number of the cluster of each point, from 0 in the order of points; `None` for noise.
    pub labels: Vec<Option<usize>>,
    /// Whether each point has `min_samples` points within `eps`, counting itself.
    pub cores: Vec<bool>,
    /// How many clusters there are.
    pub count: usize,
}

/// Converts features into standard deviations from their means over these points. A constant feature becomes 0.
pub fn standardise(points: &[Point]) -> Vec<Point> {
    let n = points.len().max(1) as f64;
    let mut means = [0.0; WIDTH];
    let mut squares = [0.0; WIDTH];
    for point in points {
        means.iter_mut().zip(point).for_each(|(sum, value)| *sum += value / n);
    }
    for point in points {
        let parts = squares.iter_mut().zip(&means).zip(point);
        parts.for_each(|((sum, mean), value)| *sum += (value - mean) * (value - mean) / n);
    }
    let scale = |point: &Point| {
        let mut scaled = [0.0; WIDTH];
        for (((to, value), mean), square) in scaled.iter_mut().zip(point).zip(&means).zip(&squares) {
            *to = if *square > 1e-18 { (value - mean) / square.sqrt() } else { 0.0 };
        }
        scaled
    };
    points.iter().map(scale).collect()
}

/// Euclidean distance.
pub fn distance(a: &Point, b: &Point) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Clusters points. Cores within `eps` of each other form one cluster; any other point joins the first cluster that
/// reaches it.
pub fn cluster(points: &[Point], eps: f64, min_samples: usize) -> Clusters {
    let near: Vec<Vec<usize>> = points
        .iter()
        .map(|a| points.iter().enumerate().filter(|(_, b)| distance(a, b) <= eps).map(|(at, _)| at).collect())
        .collect();
    let cores: Vec<bool> = near.iter().map(|near| near.len() >= min_samples).collect();
    let mut labels: Vec<Option<usize>> = vec![None; points.len()];
    let mut count = 0;
    for start in 0..points.len() {
        if cores.get(start) != Some(&true) || labels.get(start).is_some_and(Option::is_some) {
            continue;
        }
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            let Some(label) = labels.get_mut(at).filter(|label| label.is_none()) else { continue };
            *label = Some(count);
            if cores.get(at) == Some(&true) {
                open.extend(near.get(at).into_iter().flatten());
            }
        }
        count += 1;
    }
    Clusters { labels, cores, count }
}

/// The median, over all points, of the distance at which a point has `min_samples` points around it, counting itself.
/// `None` with fewer points than that.
pub fn core_distance(points: &[Point], min_samples: usize) -> Option<f64> {
    let at = |a: &Point| {
        let mut distances: Vec<f64> = points.iter().map(|b| distance(a, b)).collect();
        distances.sort_unstable_by(f64::total_cmp);
        distances.get(min_samples.saturating_sub(1)).copied()
    };
    crate::forecast::metrics::median(points.iter().filter_map(at).collect())
}

/// The distance of each point to the nearest core other than itself; `None` when there is none.
pub fn reach(points: &[Point], clusters: &Clusters) -> Vec<Option<f64>> {
    let others = |own: usize| {
        let cores = points.iter().zip(&clusters.cores).enumerate();
        cores.filter(move |(at, (_, core))| *at != own && **core).map(|(_, (point, _))| point)
    };
    let nearest = |(own, point)| others(own).map(|core| distance(point, core)).min_by(f64::total_cmp);
    points.iter().enumerate().map(nearest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// Made with scikit-learn by `tests/vectors/dbscan/make.py`.
    const RECORDED: &str = include_str!("../../../../tests/vectors/dbscan/vectors.json");

    fn points(case: &Value) -> Vec<Point> {
        let numbers =
            |row: &Value| -> Vec<f64> { row.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect() };
        case.as_array().unwrap().iter().map(|row| numbers(row).try_into().unwrap()).collect()
    }

    /// The results equal those of a well-known statistics package.
    #[test]
    fn clusters_and_cores_are_those_of_scikit_learn() {
        let recorded: Value = serde_json::from_str(RECORDED).unwrap();
        let cases = recorded["cases"].as_array().unwrap();
        assert!(cases.len() >= 5);
        for case in cases {
            let name = &case["name"];
            let scaled = standardise(&points(&case["points"]));
            for (own, theirs) in scaled.iter().zip(points(&case["standardised"])) {
                assert!(own.iter().zip(theirs).all(|(a, b)| (a - b).abs() < 1e-9), "{name}");
            }
            let (eps, least) = (case["eps"].as_f64().unwrap(), case["min_samples"].as_u64().unwrap() as usize);
            let found = cluster(&scaled, eps, least);
            let cores: Vec<usize> = (0..scaled.len()).filter(|at| found.cores[*at]).collect();
            assert_eq!(serde_json::json!(cores), case["cores"], "{name}");
            let labels: Vec<i64> = found.labels.iter().map(|label| label.map_or(-1, |label| label as i64)).collect();
            assert_eq!(serde_json::json!(labels), case["labels"], "{name}");
            let k = core_distance(&scaled, least).unwrap();
            assert!((k - case["median_core_distance"].as_f64().unwrap()).abs() < 1e-9, "{name}");
            let theirs = case["nearest_other_core"].as_array().unwrap();
            for (own, theirs) in reach(&scaled, &found).into_iter().zip(theirs) {
                match (own, theirs.as_f64()) {
                    (Some(own), Some(theirs)) => assert!((own - theirs).abs() < 1e-9, "{name}"),
                    (own, theirs) => assert_eq!(own, theirs, "{name}"),
                }
            }
        }
    }

    #[test]
    fn nothing_and_a_constant_make_no_numbers_that_are_none() {
        assert_eq!(standardise(&[]), Vec::<Point>::new());
        assert_eq!(core_distance(&[], 5), None);
        let alike = standardise(&[[3.0; WIDTH]; 6]);
        assert_eq!(alike, vec![[0.0; WIDTH]; 6]);
        let found = cluster(&alike, 0.5, 5);
        assert_eq!((found.count, found.labels.iter().all(Option::is_some)), (1, true));
        let few = cluster(&alike[..3], 0.5, 5);
        assert_eq!((few.count, reach(&alike[..3], &few)), (0, vec![None; 3]));
    }
}
