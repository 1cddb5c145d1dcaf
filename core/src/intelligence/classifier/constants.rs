//! Every number of the classifier, named, so that the methodology endpoint can print them. Numbers without a source are our
//! choice.

crate::intelligence::analytics::constants::constants! {
    /// A reported event without an end, or a long one, labels so many days.
    LONGEST_DAYS: u32 = 60;
    /// Labelled days with features below which nothing is trained.
    LEAST_POSITIVES: u32 = 30;
    /// Labelled days of the hold-out below which nothing is served.
    LEAST_HELD_OUT: u32 = 10;
    /// Part of the days, the newest, that the model is judged on before it is served.
    HELD_OUT_SHARE: f64 = 0.33;
    /// Penalty of the fit on standardised features.
    RIDGE: f64 = 10.0;
    /// Quiet days of a country's own hold-out from which its threshold is its own.
    LEAST_QUIET_DAYS: u32 = 15;
    /// Part of a country's quiet days that its threshold lets through at most.
    QUIET_ALARMS: f64 = 0.05;
    /// Days between two trainings of a served classifier.
    RETRAIN_DAYS: i64 = 7;
    /// Features that are named beside a probability.
    TOP_FEATURES: u32 = 5;
}
