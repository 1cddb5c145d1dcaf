//! The daily shares that attribution compares: how much of a country's measurements on a day says blocked.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::country::DayCountRows;
use crate::forecast::history::start;
use crate::risk::ReadScores;
use crate::world::{EventHistory, index};
use crate::{Result, anomaly};
use engine::actor::{Kind, Query, View};
use facts::source::Source;

/// Measurements that a day needs for a share.
pub const LEAST: u64 = 10;
/// Donors that are considered, at most: those with the most measurements.
pub const MOST_DONORS: usize = 20;
/// Days without a shutdown that a donor needs (decision features-dates-retries: 5 years).
const QUIET_DAYS: i32 = 1_826;

/// Asks for the shares of the days `first` to `last`, both included, that have enough measurements; in days since the
/// epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shares {
    pub first: u32,
    pub last: u32,
}

impl Query for Shares {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "blocked_shares";
    /// Share, 0 to 1, by day.
    type Reply = BTreeMap<u32, f64>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let rows = DayCountRows { first: self.first, last: self.last }.run(view)?;
        let mut days: BTreeMap<u32, (bool, u64, u64)> = BTreeMap::new();
        for (day, part, counts) in rows {
            let whole = part.is_empty();
            let sum = days.entry(day).or_default();
            // A count of the whole day takes precedence over counts of its parts.
            match (whole, sum.0) {
                (true, _) => *sum = (true, counts.anomalies, counts.measurements),
                (false, true) => {}
                (false, false) => *sum = (false, sum.1 + counts.anomalies, sum.2 + counts.measurements),
            }
        }
        let share = |(day, (_, anomalies, all)): (u32, (bool, u64, u64))| {
            (all >= LEAST).then(|| (day, anomalies.min(all) as f64 / all as f64))
        };
        Ok(days.into_iter().filter_map(share).collect())
    }
}

/// Asks for the countries that a synthetic country may be made of: those that the index calls free, without a shutdown
/// in the five years before and on the days that are compared (decision features-dates-retries).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Donors {
    pub country: String,
    /// Days since the epoch.
    pub day: i32,
    /// The first and the last day of the comparison.
    pub first: i32,
    pub last: i32,
}

/// Shares by country and day.
pub type DailyShares = BTreeMap<String, BTreeMap<u32, f64>>;

/// The answer to [`Donors`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DonorList {
    /// Country codes, those with the most measurements first.
    pub codes: Vec<String>,
    /// Whether a shutdown table was imported that shows which countries had none.
    pub table: bool,
    /// For the country and the first [`MOST_DONORS`] of those: the share of results that say blocked on each day of the
    /// comparison with enough measurements.
    pub measured: DailyShares,
    /// The licences of the measurements.
    pub licenses: BTreeSet<String>,
}

impl Donors {
    fn measured(&self, view: &View<'_>, codes: &[String]) -> Result<(DailyShares, BTreeSet<String>)> {
        let share = anomaly::FEATURES.iter().position(|name| *name == "anomaly_share");
        let compared = |day: u32| i32::try_from(day).is_ok_and(|day| (self.first..=self.last).contains(&day));
        let (mut found, mut licenses) = (BTreeMap::new(), BTreeSet::new());
        for country in codes.iter().take(MOST_DONORS).chain([&self.country]) {
            let Some(days) = anomaly::days_of(view, country)? else { continue };
            licenses.insert(days.license);
            let days = days.days.into_iter().filter(|(day, _)| compared(*day));
            let shares = days.filter_map(|(day, features)| Some((day, *features.get(share?)?)));
            found.insert(country.clone(), shares.into_iter().collect());
        }
        Ok((found, licenses))
    }
}

impl Query for Donors {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "attribution_donors";
    type Reply = DonorList;

    fn run(self, view: &View<'_>) -> Result<DonorList> {
        let marks = EventHistory { country: None }.run(view)?;
        let table = marks.iter().any(|(_, source, _)| *source == Source::AccessNow.code());
        let begun = |(country, source, mark): &(String, u8, _)| {
            let day = start(*source, mark)?.day;
            (self.day - QUIET_DAYS..=self.last).contains(&day).then(|| country.clone())
        };
        let shut: BTreeSet<String> = marks.iter().filter_map(begun).collect();
        let mut rows = ReadScores.run(view)?;
        rows.retain(|(country, score)| {
            let free = score.score.is_some_and(|score| index::level(score).0 == "free");
            free && *country != self.country && !shut.contains(country)
        });
        rows.sort_by(|a, b| b.1.samples.cmp(&a.1.samples).then_with(|| a.0.cmp(&b.0)));
        let codes: Vec<String> = rows.into_iter().map(|(country, _)| country).collect();
        let (measured, licenses) = self.measured(view, &codes)?;
        Ok(DonorList { codes, table, measured, licenses })
    }
}
