//! The twelve features of a country's day (decision features-dates-retries).

use std::collections::BTreeMap;
use std::ops::Range;

use super::constants::{CHANGE_DAYS, LEAST_MEDIAN_DAYS, LEAST_RESULTS, MEDIAN_DAYS, WINDOW_DAYS};
use super::counts::{CountryResults, Counts};
use super::dbscan::{Point, WIDTH};
use crate::forecast::metrics::median;

/// Names in answers, in the order of [`features`].
pub const FEATURES: [&str; WIDTH] = [
    "anomaly_share",
    "confirmed_share",
    "failure_share",
    "dns_share",
    "tcp_share",
    "tls_share",
    "http_share",
    "log_volume",
    "volume_ratio_28d",
    "networks",
    "domains",
    "change_7d",
];

/// The share of blocked results over some days; `None` when there are too few results.
fn share(days: &BTreeMap<u32, CountryResults>, span: Range<u32>) -> Option<f64> {
    let mut sum = (0, 0);
    for (_, row) in days.range(span) {
        sum = (sum.0 + u64::from(row.counts.blocked), sum.1 + u64::from(row.counts.results));
    }
    (sum.1 >= u64::from(LEAST_RESULTS)).then(|| sum.0 as f64 / sum.1 as f64)
}

/// The features of a day; `None` where there are too few measurements on that day or before it.
pub fn features(days: &BTreeMap<u32, CountryResults>, day: u32) -> Option<Point> {
    let row = days.get(&day)?;
    let counts: &Counts = &row.counts;
    if counts.results < LEAST_RESULTS {
        return None;
    }
    let volumes: Vec<f64> = days
        .range(day.saturating_sub(MEDIAN_DAYS)..day)
        .map(|(_, row)| f64::from(row.counts.measurements))
        .filter(|volume| *volume > 0.0)
        .collect();
    if volumes.len() < LEAST_MEDIAN_DAYS as usize {
        return None;
    }
    let week = day + 1 - CHANGE_DAYS.min(day)..day + 1;
    let before = week.start.saturating_sub(CHANGE_DAYS)..week.start;
    let change = share(days, week)? - share(days, before)?;
    let [dns, tcp, tls, http] = counts.layers.map(|blocked| counts.share(blocked));
    let volume = f64::from(counts.measurements);
    Some([
        counts.share(counts.blocked),
        counts.share(counts.confirmed),
        counts.share(counts.failed),
        dns,
        tcp,
        tls,
        http,
        volume.ln_1p(),
        volume / median(volumes)?,
        f64::from(row.networks),
        f64::from(row.targets),
        change,
    ])
}

/// The days of a window that have features, oldest first. `last` is the newest complete day.
pub fn window(days: &BTreeMap<u32, CountryResults>, last: u32) -> Vec<(u32, Point)> {
    let first = last.saturating_sub(WINDOW_DAYS - 1);
    (first..=last).filter_map(|day| Some((day, features(days, day)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(measurements: u32, blocked: u32) -> CountryResults {
        let counts = Counts {
            measurements,
            results: 2 * measurements,
            blocked,
            clear: 2 * measurements - blocked,
            confirmed: blocked / 2,
            failed: 0,
            layers: [blocked, 0, 0, 0],
        };
        CountryResults { counts, targets: 5, networks: 3 }
    }

    /// The twelve features, computed by hand (decision features-dates-retries).
    #[test]
    fn the_twelve_features_of_a_day_by_hand() {
        let mut days: BTreeMap<u32, CountryResults> = (100..140).map(|day| (day, row(50, 10))).collect();
        days.insert(139, row(25, 20));
        let point = features(&days, 139).unwrap();
        let named: BTreeMap<&str, f64> = FEATURES.into_iter().zip(point).collect();
        assert_eq!(named.len(), 12);
        assert_eq!((named["anomaly_share"], named["confirmed_share"], named["failure_share"]), (0.4, 0.2, 0.0));
        assert_eq!(
            (named["dns_share"], named["tcp_share"], named["tls_share"], named["http_share"]),
            (0.4, 0.0, 0.0, 0.0)
        );
        assert_eq!((named["log_volume"], named["volume_ratio_28d"]), (26f64.ln(), 0.5));
        assert_eq!((named["networks"], named["domains"]), (3.0, 5.0));
        // (6 x 10 + 20) of (6 x 100 + 50), against a tenth.
        assert!((named["change_7d"] - (80.0 / 650.0 - 0.1)).abs() < 1e-12);
    }

    #[test]
    fn a_day_with_too_little_on_it_or_before_it_has_no_features() {
        let days: BTreeMap<u32, CountryResults> = (100..140).map(|day| (day, row(50, 10))).collect();
        assert_eq!(features(&days, 99), None);
        assert_eq!(features(&days, 100), None, "nothing to compare with");
        assert_eq!(features(&days, 106), None, "six earlier days");
        assert!(features(&days, 107).is_some());
        let mut thin = days.clone();
        thin.insert(139, row(4, 0));
        assert_eq!(features(&thin, 139), None);
        assert_eq!(window(&thin, 139).len(), 32);
        assert_eq!(features(&BTreeMap::from([(3, row(50, 1))]), 3), None, "the first days of all");
    }
}
