//! Every number of the score and of networks at risk, named, so that the methodology endpoint can print them. Numbers
//! without a source are our choice.

crate::analytics::constants::constants! {
    /// Points for the incidents that began in the last year, at most.
    SCORE_BASE_RATE: f64 = 50.0;
    /// Incidents a year that give 63% of these points: 1 - 1/e.
    SCORE_BASE_SCALE: f64 = 20.0;
    /// Points for the forecast of the next seven days, at most.
    SCORE_FORECAST_7D: f64 = 20.0;
    /// Points for the mean weekly risk of the next 30 days, at most.
    SCORE_FORECAST_30D: f64 = 10.0;
    /// Points for an unusual last day, at most.
    SCORE_ANOMALY: f64 = 10.0;
    /// Points for incidents that went on within the last 24 hours, at most.
    SCORE_DENSITY: f64 = 10.0;
    /// Number of such incidents that gives all points.
    SCORE_FULL_DENSITY: f64 = 5.0;
    /// Points are whole multiples of this, so that their sum is exact in any order.
    SCORE_STEP: f64 = 0.25;
    /// Grades A to E end below these scores (A below 20, B 40, C 60, D 80, F above).
    GRADE_STEP: f64 = 20.0;

    /// Verdicts on nationally blocked targets that a network needs for its exposure to be stated.
    EXPOSURE_LEAST: u32 = 3;
    /// Weight of the mean of the country's networks in a network's exposure, as a number of verdicts.
    EXPOSURE_PRIOR: f64 = 4.0;
    /// Networks of a country that are listed, at most; the most exposed come first.
    EXPOSURE_LISTED: u32 = 100;
    /// Blocked targets that two neighbours must have in common, at least.
    NEIGHBOUR_SHARED: u32 = 2;
    /// Jaccard index of the blocked targets of two neighbours, at least.
    NEIGHBOUR_JACCARD: f64 = 0.5;
    /// Neighbours that are named for a network, at most.
    NEIGHBOURS: u32 = 3;
    /// Networks in an answer unless the request states another number.
    NETWORKS_DEFAULT: u32 = 50;
    /// Networks in an answer, at most.
    NETWORKS_MOST: u32 = 500;

    /// Years of shutdowns that the structural count covers.
    STRUCTURAL_YEARS: i64 = 5;
    /// Weight in that count of a shutdown in the last seven days (events in 5 years + 2 x events in 7 days).
    STRUCTURAL_WEEK_WEIGHT: u32 = 2;
}
