//! The jobs that fetch: the addresses of their requests, and their answers in the form that an import reads.

use serde_json::Value;

use super::FetchRow;
use crate::Timestamp;
use engine::settings::Settings;
use engine::time::{DAY, HOUR};
use facts::measurement::json;

/// Rows per request where a source cuts its answers into pages.
const PAGE: u64 = 1_000;
/// How far back a job begins that has never run.
const FIRST_DAYS: i64 = 7;
/// How much time is requested again in each round, since sources get some measurements late.
const AGAIN: i64 = 2 * DAY;
/// How far before its window a request to IODA begins. IODA makes events only from the alerts within the requested
/// time, so an outage is one event with its true beginning only when that beginning is inside.
const LOOK_BACK: i64 = 7 * DAY;

/// A kind of data that is fetched.
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

    /// The name of the job in the setting `fetch_sources`.
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

    /// How much new time one request covers, in microseconds.
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

    /// Where a job begins that has never run: at the setting `fetch_since`, or else some days ago.
    pub fn first(self, now: Timestamp, settings: &Settings) -> Timestamp {
        let day = |time: Timestamp| Timestamp(time.0 - time.0.rem_euclid(DAY));
        Timestamp::parse(&settings.fetch_since).map_or_else(|| day(now.plus(-FIRST_DAYS * DAY)), day)
    }

    /// The end of the window at the cursor, or the cursor itself when no whole day or hour has passed.
    pub fn until(self, row: &FetchRow, now: Timestamp) -> Timestamp {
        self.end(row, now).unwrap_or(row.cursor)
    }

    /// The end of the window at the cursor. It covers only whole days or hours that have passed; `None` when there are
    /// none.
    fn end(self, row: &FetchRow, now: Timestamp) -> Option<Timestamp> {
        let grain = if self == Job::OoniAggregation { DAY } else { HOUR };
        let over = Timestamp(now.0 - now.0.rem_euclid(grain));
        (row.cursor < over).then(|| row.cursor.plus(self.window()).min(over))
    }

    /// The address of the next request; `None` when everything up to now was requested.
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
                "{ooni}/api/v1/measurements?order_by=measurement_start_time&order=asc&limit={PAGE}&{}&since={}&until={}",
                row.page.clone().unwrap_or_else(|| format!("offset={}", row.offset)),
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

    /// The position of a job after an answer of `rows` rows, given what the answer says about the next page.
    pub fn advance(self, row: &FetchRow, rows: u64, next: &Next, now: Timestamp) -> FetchRow {
        let mut done = FetchRow { failures: 0, next: now, success: Some(now), ..row.clone() };
        match next {
            // A link to the same page, or one in an answer without rows, is not followed.
            Next::Page(page) if rows > 0 && row.page.as_ref() != Some(page) => {
                return FetchRow { offset: row.offset + rows, page: Some(page.clone()), ..done };
            }
            Next::Unsaid if self.is_paged() && rows >= PAGE => {
                return FetchRow { offset: row.offset + PAGE, ..done };
            }
            _ => {}
        }
        let until = self.until(row, now);
        done.read_through(row.cursor, until);
        FetchRow { cursor: until, offset: 0, page: None, ..done }
    }

    /// Where the next round begins, so that data which came late is requested again.
    pub fn again(row: &FetchRow) -> Timestamp {
        row.cursor.plus(-AGAIN)
    }

    /// An answer in the form that its import reads, and what it says about the next page. The error is a code for the
    /// fault of the answer.
    pub fn body(self, answer: &[u8]) -> Result<(Vec<u8>, Next), String> {
        if self != Job::OoniMeasurements {
            return Ok((answer.to_vec(), Next::Unsaid));
        }
        let answer: Value = json::parse(answer).ok_or("bad_json")?;
        let results = answer.get("results").and_then(Value::as_array).ok_or("source_error")?;
        let next = match answer.get("metadata").and_then(|metadata| metadata.get("next_url")) {
            None => Next::Unsaid,
            Some(Value::String(url)) => page(url).map_or(Next::Unsaid, Next::Page),
            Some(_) => Next::End,
        };
        let mut lines = Vec::new();
        for result in results {
            lines.extend(result.to_string().into_bytes());
            lines.push(b'\n');
        }
        Ok((lines, next))
    }
}

/// What an answer says about the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// It says nothing. Behind a full page there is another one.
    Unsaid,
    /// There is no next page.
    End,
    /// The part of an address that requests the next page.
    Page(String),
}

/// The page that an address of the source requests: by a mark to continue at or, in the older form, by an offset. The
/// rest of the address is ignored, since requests go only where the settings say.
fn page(url: &str) -> Option<String> {
    let query = url.split_once('?').map_or("", |(_, query)| query.split('#').next().unwrap_or(""));
    let value = |wanted: &str| query.split('&').find_map(|pair| pair.strip_prefix(wanted)?.strip_prefix('='));
    let plain = |text: &&str| {
        let byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'%');
        (1..=MAX_MARK).contains(&text.len()) && text.bytes().all(byte)
    };
    let offset = || value("offset").filter(|text| text.parse::<u64>().is_ok_and(|offset| offset > 0));
    match value("cont").filter(plain) {
        Some(mark) => Some(format!("cont={mark}")),
        None => Some(format!("offset={}", offset()?)),
    }
}

/// Bytes of a page's mark, at most.
const MAX_MARK: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use facts::measurement::{Fingerprints, ooni_document, ooni_fastpath};

    fn time(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn only_time_that_is_over_is_asked_for_and_a_round_begins_two_days_back() {
        let (settings, now) = (Settings::default(), time("2024-05-01T05:30:00Z"));
        let row = FetchRow { cursor: time("2024-05-01T00:00:00Z"), ..FetchRow::default() };
        assert_eq!(Job::OoniAggregation.url(&row, now, &settings), None, "the day goes on");
        let list = Job::OoniMeasurements.url(&row, now, &settings).unwrap();
        assert!(list.ends_with("since=2024-05-01T00:00:00&until=2024-05-01T01:00:00"), "{list}");
        let outages = Job::Ioda.url(&row, now, &settings).unwrap();
        let (from, until) = (time("2024-04-24T00:00:00Z").seconds(), time("2024-05-01T05:00:00Z").seconds());
        assert!(outages.ends_with(&format!("page=0&from={from}&until={until}")), "{outages}");
        let done = Job::Ioda.advance(&row, 3, &Next::Unsaid, now);
        assert_eq!((done.cursor, done.success), (time("2024-05-01T05:00:00Z"), Some(now)));
        assert_eq!(Job::Ioda.url(&done, now, &settings), None);
        assert_eq!(Job::again(&done), time("2024-04-29T05:00:00Z"));
        let first = Job::OoniAggregation.first(now, &settings);
        assert_eq!(first, time("2024-04-24T00:00:00Z"), "a week ago");
    }

    /// One measurement may arrive in several forms (decision identity-of-measurements).
    #[test]
    fn a_listed_measurement_is_that_of_its_document() {
        let members = r#""input":null,"probe_cc":"TR","probe_asn":"AS9121","test_name":"telegram","report_id":"r1""#;
        let listed = format!(
            r#"{{"metadata":{{}},"results":[{{{members},"measurement_start_time":"2024-05-01T00:10:07Z","anomaly":true,
            "confirmed":false,"failure":false,"scores":{{"blocking_general":1.0}},"measurement_uid":"u"}}]}}"#
        );
        let document = format!(
            r#"{{{members},"measurement_start_time":"2024-05-01 00:10:07","data_format_version":"0.2.0",
            "test_keys":{{"telegram_tcp_blocking":true,"telegram_http_blocking":true,"telegram_web_status":"ok"}}}}"#
        )
        .replace('\n', "");
        let mut found = Vec::new();
        let mut sink = |parsed: facts::measurement::Parsed| found.push((parsed.identity, parsed.time));
        let (lines, _) = Job::OoniMeasurements.body(listed.as_bytes()).unwrap();
        ooni_fastpath::import(&mut lines.as_slice(), u64::MAX, &mut sink).unwrap();
        let set = Fingerprints::default();
        ooni_document::import(&mut document.as_bytes(), u64::MAX, &set, &mut sink).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], found[1]);
        assert_eq!(Job::OoniMeasurements.body(b"<html>").unwrap_err(), "bad_json");
        assert_eq!(Job::OoniMeasurements.body(b"{}").unwrap_err(), "source_error");
    }
}
