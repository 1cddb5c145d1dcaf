//! The features of a forecast. Each one is a function of the starts up to the last known day, and of the requested
//! dates, so nothing from the future can enter.

use serde::{Deserialize, Serialize};

use super::history::{HALF_LIVES, History};

/// Number of features.
pub const WIDTH: usize = 19;
/// Days since the last start that are counted, at most. A country without any start gets this value.
const LONGEST: f64 = 2000.0;
/// Days of the region's rate that are mixed into a country's own rate.
const PRIOR_DAYS: f64 = 90.0;
/// Days that a rate is computed over, at least.
const LEAST_DAYS: f64 = 60.0;
/// Earlier years that are searched for exams, and the days by which exam dates may have moved.
const EXAM_YEARS: i32 = 3;
const EXAM_SLACK: i32 = 10;

/// A question about the days `from` to `to` in a country, with the knowledge of an earlier day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureQuestion {
    /// Index in `Country::all`.
    pub country: usize,
    /// The day on which it is asked, in days since the epoch. Measurements and calendars are known up to it.
    pub at: i32,
    /// The last day up to which starts are known.
    pub known: i32,
    pub from: i32,
    pub to: i32,
}

/// A family of features, whose contribution has one name and one description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Family {
    Recent,
    LongRun,
    Exams,
    National,
    Elections,
    Measured,
}

impl Family {
    pub const ALL: [Family; 6] =
        [Family::Recent, Family::LongRun, Family::Exams, Family::National, Family::Elections, Family::Measured];

    /// The name in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Recent => "recent_shutdowns",
            Family::LongRun => "long_run_rate",
            Family::Exams => "exam_season",
            Family::National => "national_shutdowns",
            Family::Elections => "election",
            Family::Measured => "measured_drift",
        }
    }
}

/// Names in answers, and families, in the order of [`features`]. New features go to the end: a stored model uses the
/// first ones by position, and its forecasts stay the same.
pub const FEATURES: [(&str, Family); WIDTH] = [
    ("starts_7d", Family::Recent),
    ("starts_30d", Family::Recent),
    ("starts_90d", Family::Recent),
    ("days_since_last", Family::Recent),
    ("rate_shrunk_to_region", Family::LongRun),
    ("recent_rate_30d", Family::Recent),
    ("recent_rate_150d", Family::Recent),
    ("exam_years", Family::Exams),
    ("national_365d", Family::National),
    ("national_90d", Family::National),
    ("exams_7d", Family::Exams),
    ("exams_21d", Family::Exams),
    ("weeks_of_8", Family::Recent),
    ("election_near", Family::Elections),
    ("election_30d", Family::Elections),
    ("after_election", Family::Elections),
    ("blocked_share_change_7d", Family::Measured),
    ("volume_to_28d_median", Family::Measured),
    ("starts_365d", Family::Recent),
];

/// Days before and after an election that are near it, and the days after it that form a feature of their own.
const ELECTION_NEAR: i32 = 2;
const AFTER_ELECTION: i32 = 14;

/// Earlier years with a start because of exams around the requested dates.
pub fn exam_years(history: &History, asked: FeatureQuestion) -> u32 {
    let mut years = 0;
    for back in 1..=EXAM_YEARS {
        // 365.2425 days, rounded to whole days.
        let shift = (f64::from(back) * 365.2425).round() as i32;
        let to = (asked.to - shift + EXAM_SLACK).min(asked.known);
        years += u32::from(history.exams(asked.country, asked.from - shift - EXAM_SLACK, to) > 0.0);
    }
    years
}

/// Starts per day in the long run: the country's own rate, mixed with that of its region.
pub fn rate(history: &History, asked: FeatureQuestion) -> f64 {
    let observed = f64::from(asked.known - history.begins() + 1).max(LEAST_DAYS);
    let region = history.region(asked.country, asked.known) / observed;
    (history.ever(asked.country, asked.known) + PRIOR_DAYS * region) / (observed + PRIOR_DAYS)
}

/// The features of a question.
pub fn features(history: &History, asked: FeatureQuestion) -> [f64; WIDTH] {
    #[cfg(test)]
    super::work::row();
    let FeatureQuestion { country, known, .. } = asked;
    let starts = |days: i32| history.starts(country, known - days + 1, known).ln_1p();
    let national = |days: i32| history.national(country, known - days + 1, known).ln_1p();
    let rate = rate(history, asked);
    let recent = history.recent(country, known);
    // A recent rate is shrunk towards the long-run rate, so that a quiet country does not count as safe.
    let shrunk = |value: f64, half_life: f64| (value + rate * half_life / std::f64::consts::LN_2).ln();
    let [month, season] = [0, 1]
        .map(|at| shrunk(recent.get(at).copied().unwrap_or_default(), HALF_LIVES.get(at).copied().unwrap_or_default()));
    let week = |back: i32| history.starts(country, known - 7 * back - 6, known - 7 * back) > 0.0;
    let weeks: u8 = (0..8).map(|back| u8::from(week(back))).sum();
    let election = |from: i32, to: i32| f64::from(u8::from(history.election(country, from, to).is_some()));
    // Without measurements the change is taken to be 0.
    let drift = history.drift(country, asked.at).unwrap_or_default();
    let since = history.since(country, known).map_or(LONGEST, |days| f64::from(days).min(LONGEST));
    [
        starts(7),
        starts(30),
        starts(90),
        since.ln_1p(),
        rate.ln(),
        month,
        season,
        f64::from(exam_years(history, asked)).ln_1p(),
        national(365),
        national(90),
        history.exams(country, known - 6, known).ln_1p(),
        history.exams(country, known - 20, known).ln_1p(),
        f64::from(weeks),
        election(asked.from - ELECTION_NEAR, asked.to + ELECTION_NEAR),
        election(asked.from, asked.to + 30),
        election(asked.from - AFTER_ELECTION, asked.from - 1),
        drift.blocked,
        drift.volume,
        starts(365),
    ]
}
