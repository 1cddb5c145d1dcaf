//! Reports of people about forecasts: rows for review, and outcomes that resolve a forecast.

use serde::{Deserialize, Serialize};

use super::store::ISSUED;
use crate::{Error, Result, Timestamp};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Read, Row, Table};
use engine::time::Date;
use facts::starter::Country;

/// By number, from 1.
const REPORTS: Table<(u64,), KeptReport> = Table::new(46);

/// Reports that are kept, at most; the oldest are removed. At ten an hour one key takes a year to reach this.
const MOST: u64 = 100_000;

/// Identifies a forecast by the country and the day on which it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForecastId {
    pub country: String,
    /// Days since the epoch.
    pub day: u32,
}

/// What the text of a forecast looks like, or none: it has a number, or a year.
pub const FORECAST_PATTERN: &str = r"^\s*$|[0-9]{4}";

impl ForecastId {
    /// The number of the forecast, made from the day and the two letters of the country. It does not depend on the list
    /// of countries.
    pub fn number(&self) -> u32 {
        let letters = self.country.bytes().take(2).map(|byte| u32::from(byte.saturating_sub(b'A')).min(25));
        letters.fold(self.day, |number, letter| number.wrapping_mul(26).wrapping_add(letter))
    }

    /// The forecast with this number.
    pub fn of(number: u32) -> ForecastId {
        let letter = |value: u32| char::from(b'A' + (value % 26) as u8);
        ForecastId { country: [letter(number / 26), letter(number)].iter().collect(), day: number / 676 }
    }

    /// Reads a number (also after `sentinel-`) or the date of a forecast of `country`. Other words may stand around it,
    /// joined by `-`, `#` or spaces: `KE-2026-11-20-14061620` is the name of a review candidate.
    pub fn parse(text: &str, country: &str) -> Option<ForecastId> {
        let words: Vec<&str> = text.split(['-', '#', ' ', '_', ':', '/']).filter(|word| !word.is_empty()).collect();
        let number = |word: &str| word.parse::<u32>().ok().filter(|_| word.len() > 4);
        if let Some(number) = words.iter().rev().find_map(|word| number(word)) {
            return Some(ForecastId::of(number));
        }
        let date = words.windows(3).find_map(|parts| match parts {
            [year, month, day] if year.len() == 4 => {
                Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
            }
            _ => None,
        })?;
        Some(ForecastId { country: country.to_owned(), day: u32::try_from(date.days()).ok()? })
    }
}

/// A report as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptReport {
    pub at: Timestamp,
    pub country: String,
    pub what: String,
    pub source_url: Option<String>,
    /// The forecast that it is about.
    pub forecast: Option<ForecastId>,
    /// Whether something began in the seven days after the forecast. Together with the forecast it resolves it.
    pub outcome: Option<bool>,
}
impl Row for KeptReport {}

/// Takes a report. If two reports give an outcome for the same forecast, the later one counts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TakeReport {
    pub country: String,
    pub what: String,
    pub source_url: Option<String>,
    pub forecast: Option<ForecastId>,
    pub outcome: Option<bool>,
}

impl Operation for TakeReport {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_report";
    /// The number of the report.
    type Reply = u64;

    fn run(self, turn: &mut Turn<'_>) -> Result<u64> {
        if let Some(forecast) = &self.forecast {
            let issued = ISSUED.get(turn, &(forecast.day,))?;
            if issued.is_none() || Country::by_code(&forecast.country).is_none() {
                return Err(Error::not_found("No forecast was made for this country on that day."));
            }
        }
        let last = REPORTS.scan(turn, &REPORTS.range(), Direction::Descending, 1)?;
        let number = last.first().map_or(1, |((last,), _)| last + 1);
        let resolves = self.forecast.is_some() && self.outcome.is_some();
        let TakeReport { country, what, source_url, forecast, outcome } = self;
        REPORTS.put(turn, &(number,), &KeptReport { at: turn.now, country, what, source_url, forecast, outcome })?;
        if let Some(oldest) = number.checked_sub(MOST) {
            REPORTS.delete(turn, &(oldest,));
        }
        if resolves {
            super::store::soon(turn)?;
        }
        Ok(number)
    }
}

/// Withdraws a report that was wrong.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropReport {
    pub number: u64,
}

impl Operation for DropReport {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_report_drop";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if REPORTS.get(turn, &(self.number,))?.is_none() {
            return Err(Error::not_found("There is no such report."));
        }
        REPORTS.delete(turn, &(self.number,));
        super::store::soon(turn)
    }
}

/// Asks for reports, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reports {
    pub limit: u32,
}

impl Query for Reports {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_reports";
    type Reply = Vec<(u64, KeptReport)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let rows = REPORTS.scan(view, &REPORTS.range(), Direction::Descending, self.limit as usize)?;
        Ok(rows.into_iter().map(|((number,), row)| (number, row)).collect())
    }
}

/// The outcomes in reports as (country, day of the forecast, whether something began), later ones after earlier ones.
pub fn outcomes(view: &(impl Read + ?Sized)) -> Result<Vec<(String, i32, bool)>> {
    let rows = REPORTS.scan(view, &REPORTS.range(), Direction::Ascending, usize::MAX)?;
    let outcome = |row: KeptReport| {
        let ForecastId { country, day } = row.forecast?;
        Some((country, i32::try_from(day).ok()?, row.outcome?))
    };
    Ok(rows.into_iter().filter_map(|(_, row)| outcome(row)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecasts_have_numbers_that_lead_back_to_them() {
        for (country, day) in [("AD", 0), ("KE", 20_777), ("ZW", 40_000)] {
            let id = ForecastId { country: country.to_owned(), day };
            assert_eq!(ForecastId::of(id.number()), id);
        }
    }

    /// Clients write `sentinel-<forecast_id>`, or the evaluation date and the country when they do not know the id. The
    /// queue names a candidate `<CC>-<eval_date>-<forecast_id>`.
    #[test]
    fn a_forecast_is_named_in_every_way_that_clients_do() {
        let id = ForecastId { country: "KE".to_owned(), day: 20_777 };
        let number = id.number();
        for text in [
            number.to_string(),
            format!("sentinel-{number}"),
            format!("KE-2026-11-20-{number}"),
            "2026-11-20".to_owned(),
            "KE 2026-11-20".to_owned(),
            "KE-2026-11-20#daily".to_owned(),
        ] {
            assert_eq!(ForecastId::parse(&text, "KE"), Some(id.clone()), "{text}");
        }
        for text in ["", "sentinel-", "yesterday", "2026-13-40", "sentinel-12"] {
            assert_eq!(ForecastId::parse(text, "KE"), None, "{text}");
        }
    }
}
