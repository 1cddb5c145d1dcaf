//! Every number of the anomaly detectors, named, so that the methodology endpoint can print them. Numbers without a
//! source are our choice.

crate::analytics::constants::constants! {
    /// Days of counts that a country keeps for the detectors: the window, the earlier days that its features need, and
    /// some spare days.
    KEPT_DAYS: u32 = 120;

    /// Days in the window whose density is looked at.
    WINDOW_DAYS: u32 = 45;
    /// Days that a day's volume is compared with (decision features-dates-retries).
    MEDIAN_DAYS: u32 = 28;
    /// Days of each of the two spans whose anomaly share is compared (decision features-dates-retries).
    CHANGE_DAYS: u32 = 7;
    /// Results that a day needs to have features.
    LEAST_RESULTS: u32 = 10;
    /// Earlier days with measurements that are needed to compare a day's volume.
    LEAST_MEDIAN_DAYS: u32 = 7;
    /// Days with features that a window needs. With fewer there would be fewer points than features, and no density.
    LEAST_DAYS: u32 = 20;
    /// Days that must be near a day, itself included, to make it a core (`min_samples`).
    MIN_SAMPLES: u32 = 5;
    /// `eps` is this factor times the median core distance: the distance at which a day has `MIN_SAMPLES` days around
    /// it.
    EPS_FACTOR: f64 = 1.5;
    /// Least `eps`, in standard deviations: days that differ by less count as alike.
    EPS_LEAST: f64 = 0.5;
    /// Days that each of the two labels needs for an AUC to be stated.
    AUC_LEAST_DAYS: u32 = 3;

    /// Days in a week of the drift of domains.
    WEEK_DAYS: u32 = 7;
    /// Votes in four weeks that a domain needs to be ranked (10 measurements in 28 days).
    DRIFT_LEAST_VOTES: u32 = 10;
    /// Votes on a domain that a country needs in each of two weeks for the weeks to be compared.
    DRIFT_COUNTRY_VOTES: u32 = 3;
    /// Share of blocked votes in a week from which on a country counts as blocking a domain.
    DRIFT_BLOCKED_SHARE: f64 = 0.5;
    /// Domains on the leaderboard, at most.
    DRIFT_LISTED: u32 = 100;
    /// Domains of a country that the leaderboard considers, those with the most votes first.
    DRIFT_DOMAINS: u32 = 3_000;
}
