//! Every number of the anomaly detectors, named, so that the methodology endpoint can print them. Numbers without a
//! source are our choice.

crate::intelligence::analytics::constants::constants! {
    /// Days of counts that a country keeps for the detectors: the window, what its features look back, and some to
    /// spare.
    KEPT_DAYS: u32 = 120;

    /// Days that the density of a country's days is looked at over.
    WINDOW_DAYS: u32 = 45;
    /// Days that a day's volume is compared with (decision features-dates-retries).
    MEDIAN_DAYS: u32 = 28;
    /// Days of each of the two spans whose anomaly share is compared (decision features-dates-retries).
    CHANGE_DAYS: u32 = 7;
    /// A day has features from so many results.
    LEAST_RESULTS: u32 = 10;
    /// A day's volume is compared from so many earlier days with measurements.
    LEAST_MEDIAN_DAYS: u32 = 7;
    /// Days with features below which the window says nothing: fewer points than features and no density.
    LEAST_DAYS: u32 = 20;
    /// Days, itself included, that make a day a core of the usual (`min_samples`).
    MIN_SAMPLES: u32 = 5;
    /// `eps` is so many times the median distance of a day to the day that would make it a core.
    EPS_FACTOR: f64 = 1.5;
    /// Least `eps`, in standard deviations: days that hardly differ are alike.
    EPS_LEAST: f64 = 0.5;
    /// Days of either label that an AUC is stated from.
    AUC_LEAST_DAYS: u32 = 3;

    /// Days of a week of the drift of domains.
    WEEK_DAYS: u32 = 7;
    /// A domain is ranked from so many votes in four weeks (10 measurements in 28 days).
    DRIFT_LEAST_VOTES: u32 = 10;
    /// A country is compared between two weeks from so many votes on a domain in each.
    DRIFT_COUNTRY_VOTES: u32 = 3;
    /// A country blocks a domain in a week from this share of blocked votes.
    DRIFT_BLOCKED_SHARE: f64 = 0.5;
    /// Domains that the leaderboard names.
    DRIFT_LISTED: u32 = 100;
    /// Domains of a country that the leaderboard looks at, those with the most votes first.
    DRIFT_DOMAINS: u32 = 3_000;
}
