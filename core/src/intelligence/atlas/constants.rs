//! Every number of the score and of networks at risk, named, so that the methodology endpoint can print them. Numbers
//! without a source are our choice.

crate::intelligence::analytics::constants::constants! {
    /// Most points of what began in the last year.
    SCORE_BASE_RATE: f64 = 50.0;
    /// Incidents a year that give 63% of these points: 1 - 1/e.
    SCORE_BASE_SCALE: f64 = 20.0;
    /// Most points of the forecast for seven days.
    SCORE_FORECAST_7D: f64 = 20.0;
    /// Most points of the mean weekly risk of the next 30 days.
    SCORE_FORECAST_30D: f64 = 10.0;
    /// Most points of an unusual last day.
    SCORE_ANOMALY: f64 = 10.0;
    /// Most points of incidents that went on within the last 24 hours.
    SCORE_DENSITY: f64 = 10.0;
    /// So many of them give all points.
    SCORE_FULL_DENSITY: f64 = 5.0;
    /// Points are whole multiples of this, so that they add up without rounding in any order.
    SCORE_STEP: f64 = 0.25;
    /// Grades A to E end below these scores (A below 20, B 40, C 60, D 80, F above).
    GRADE_STEP: f64 = 20.0;

    /// Verdicts on nationally blocked targets from which a network's exposure is stated.
    EXPOSURE_LEAST: u32 = 3;
    /// Verdicts of the country's mean that a network's own are mixed with.
    EXPOSURE_PRIOR: f64 = 4.0;
    /// Networks of a country that are listed, the most exposed first.
    EXPOSURE_LISTED: u32 = 100;
    /// Blocked targets that two neighbours share at least.
    NEIGHBOUR_SHARED: u32 = 2;
    /// Shared of those that either blocks, at least.
    NEIGHBOUR_JACCARD: f64 = 0.5;
    /// Neighbours that are named.
    NEIGHBOURS: u32 = 3;
    /// Networks of an answer unless the reader asks for another number.
    NETWORKS_DEFAULT: u32 = 50;
    /// The most.
    NETWORKS_MOST: u32 = 500;

    /// Years of shutdowns of the structural count.
    STRUCTURAL_YEARS: i64 = 5;
    /// Weight of a shutdown of the last seven days in it (events in 5 years + 2 x events in 7 days).
    STRUCTURAL_WEEK_WEIGHT: u32 = 2;
}
