//! What is fetched: addresses of the windows, and answers in the form that an import reads.

use serde_json::Value;

use super::FetchRow;
use crate::Timestamp;
use crate::settings::Settings;
use crate::time::{DAY, HOUR};

/// Rows asked for at a time, where a source cuts its answers.
const PAGE: u64 = 1_000;
/// How far back a job begins that never ran.
const FIRST_DAYS: i64 = 7;
/// How much is asked for again each time: sources count late.
const AGAIN: i64 = 2 * DAY;
/// How far before its window a question to IODA begins. It makes events of the alerts inside the question alone, so an
/// outage is one event with its own beginning only when that is inside.
const LOOK_BACK: i64 = 7 * DAY;

/// One thing that is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Counts by country and day.
    OoniAggregation,
    /// The list of measurements with their scores, as rows of the fastpath.
    OoniMeasurements,
    /// Outage events of countries.
    Ioda,
}

impl Job {
    pub const ALL: [Job; 3] = [Job::OoniAggregation, Job::OoniMeasurements, Job::Ioda];

    /// The name in the setting `fetch_sources`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Job::OoniAggregation => "ooni-aggregation",
            Job::OoniMeasurements => "ooni-measurements",
            Job::Ioda => "ioda",
        }
    }

    pub fn parse(text: &str) -> Option<Job> {
        Job::ALL.into_iter().find(|job| job.as_str() == text)
    }

    /// How much new time one request asks for, microseconds.
    const fn window(self) -> i64 {
        match self {
            Job::OoniAggregation => 7 * DAY,
            Job::OoniMeasurements => HOUR,
            Job::Ioda => DAY,
        }
    }

    /// Whether answers come in pages of [`PAGE`] rows.
    const fn is_paged(self) -> bool {
        matches!(self, Job::OoniMeasurements | Job::Ioda)
    }

    /// Where a job begins that never ran: the setting `fetch_since`, else some days ago.
    pub fn first(self, now: Timestamp, settings: &Settings) -> Timestamp {
        let day = |time: Timestamp| Timestamp(time.0 - time.0.rem_euclid(DAY));
        Timestamp::parse(&settings.fetch_since).map_or_else(|| day(now.plus(-FIRST_DAYS * DAY)), day)
    }

    /// The end of the window at the cursor: of the time that is over in whole days or hours, however little. `None` when
    /// nothing is.
    fn end(self, row: &FetchRow, now: Timestamp) -> Option<Timestamp> {
        let grain = if self == Job::OoniAggregation { DAY } else { HOUR };
        let over = Timestamp(now.0 - now.0.rem_euclid(grain));
        (row.cursor < over).then(|| row.cursor.plus(self.window()).min(over))
    }

    /// The address of the next request; `None` when everything up to now was asked for.
    pub fn url(self, row: &FetchRow, now: Timestamp, settings: &Settings) -> Option<String> {
        let end = self.end(row, now)?;
        let ooni = settings.fetch_ooni_url.trim_end_matches('/');
        let second = |time: Timestamp| time.to_millis_text().chars().take(19).collect::<String>();
        Some(match self {
            Job::OoniAggregation => format!(
                "{ooni}/api/v1/aggregation?axis_x=measurement_start_day&axis_y=probe_cc&time_grain=day&since={}&until={}",
                row.cursor.to_date_text(),
                end.to_date_text()
            ),
            Job::OoniMeasurements => format!(
                "{ooni}/api/v1/measurements?order_by=measurement_start_time&order=asc&limit={PAGE}&offset={}&since={}&until={}",
                row.offset,
                second(row.cursor),
                second(end)
            ),
            Job::Ioda => format!(
                "{}/outages/events?format=codf&entityType=country&limit={PAGE}&page={}&from={}&until={}",
                settings.fetch_ioda_url.trim_end_matches('/'),
                row.offset / PAGE,
                row.cursor.plus(-LOOK_BACK).seconds(),
                end.seconds()
            ),
        })
    }

    /// Where a job stands after `rows` rows came.
    pub fn advance(self, row: &FetchRow, rows: u64, now: Timestamp) -> FetchRow {
        let done = FetchRow { failures: 0, next: now, success: Some(now), ..row.clone() };
        if self.is_paged() && rows >= PAGE {
            return FetchRow { offset: row.offset + PAGE, ..done };
        }
        let cursor = self.end(row, now).unwrap_or(row.cursor);
        FetchRow { cursor, offset: 0, ..done }
    }

    /// Where the next round begins: what came late is asked for again.
    pub fn again(row: &FetchRow) -> Timestamp {
        row.cursor.plus(-AGAIN)
    }

    /// An answer as the import of its kind reads it; the error says what is wrong with it.
    pub fn body(self, answer: &[u8]) -> Result<Vec<u8>, String> {
        if self != Job::OoniMeasurements {
            return Ok(answer.to_vec());
        }
        let answer: Value = serde_json::from_slice(answer).map_err(|_| "bad_json".to_owned())?;
        let results = answer.get("results").and_then(Value::as_array).ok_or_else(|| "source_error".to_owned())?;
        let mut lines = Vec::new();
        for result in results {
            let mut row = result.clone();
            if let Some(row) = row.as_object_mut() {
                // The list calls a failed measurement so.
                let failed = row.remove("failure").unwrap_or(Value::Bool(false));
                row.insert("msm_failure".to_owned(), failed);
            }
            lines.extend(row.to_string().into_bytes());
            lines.push(b'\n');
        }
        Ok(lines)
    }
}
