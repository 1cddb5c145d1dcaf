//! Every number of the classifier, with a name, so that the methodology endpoint can print them. Numbers without a
//! source are our choice.

crate::analytics::constants::constants! {
    /// Days that a reported event labels, at most.
    LONGEST_DAYS: u32 = 60;
    /// Labelled days with features that training needs.
    LEAST_POSITIVES: u32 = 30;
    /// Labelled days in the hold-out that serving needs.
    LEAST_HELD_OUT: u32 = 10;
    /// Share of the days, the newest, on which a model is judged before it is served.
    HELD_OUT_SHARE: f64 = 0.33;
    /// Penalty of the fit on standardised features.
    RIDGE: f64 = 10.0;
    /// Quiet days in the hold-out that a country needs for a threshold of its own.
    LEAST_QUIET_DAYS: u32 = 15;
    /// Share of a country's quiet days that may pass its threshold, at most.
    QUIET_ALARMS: f64 = 0.05;
    /// Days between two trainings of a served classifier.
    RETRAIN_DAYS: i64 = 7;
    /// Features that are named beside a probability, at most.
    TOP_FEATURES: u32 = 5;
}
