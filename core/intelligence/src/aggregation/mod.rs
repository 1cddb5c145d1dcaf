//! Counts of measurements over any range of time, by two axes, in the shape of OONI's aggregation endpoint; and single
//! measurements of a target.
//!
//! | Module | What |
//! |---|---|
//! | `question` | reading the parameters, with every limit that can be checked at once |
//! | `axis`, `grain` | what rows stand for, and their spans of time |
//! | `count` | counting in a country, some blocks of days at a time |
//! | `gather` | asking the countries and adding up |
//! | `answer` | JSON, CSV and errors |
//! | `history` | histories by network and day |
//! | `page`, `measurements` | single measurements of a target, page by page |

mod answer;
mod axis;
mod count;
mod gather;
mod grain;
pub(crate) mod history;
mod measurements;
mod page;
mod question;
#[cfg(test)]
mod tests;

pub(crate) use count::VoteCounts;
pub(crate) use question::HourRange;

use crate::analytics::FORMAT;
use engine::actor::{Entry, query};
use engine::http::{COUNTRY_PATTERN, Limit, NETWORK, Param, Route, handler};
use facts::starter::categories::CODE_PATTERN;

pub const ENTRIES: &[Entry] =
    &[query::<count::CountVotes>(), query::<count::MeasuredSeries>(), query::<page::MeasurementPage>()];

/// Entries of a list, at most.
const MOST: u32 = question::MAX_LIST as u32;

const SINCE: Param =
    Param::optional("since", "A day or a full hour, included; without it half a year ago.").known_time();
const UNTIL: Param = Param::optional("until", "A day or a full hour, not included; without it now.").known_time();

pub const ROUTES: &[Route] = &[
    Route::get("/api/v1/aggregation", handler!(answer::aggregation))
        .limit(Limit::Data)
        .extension()
        .dressed(answer::dress)
        .params(&[
            Param::optional(
                "probe_cc",
                "Countries: ISO 3166-1 alpha-2, at most 20 with commas. This or `domain` is required.",
            )
            .several(COUNTRY_PATTERN, MOST)
            .such_as("KE,UG"),
            Param::optional("domain", "Domains or services, at most 20 with commas.").such_as("telegram.org"),
            Param::optional("probe_asn", "Networks such as `AS33771`, at most 20 with commas.")
                .several(NETWORK, MOST)
                .such_as("AS33771"),
            Param::optional("category_code", "Categories of the test lists such as `NEWS`, at most 20 with commas.")
                .several(CODE_PATTERN, MOST)
                .such_as("NEWS,HUMR"),
            Param::optional(
                "test_name",
                "`web_connectivity`, `facebook_messenger`, `signal`, `telegram`, `whatsapp`, with commas.",
            )
            .several_of(&count::TestName::NAMES, MOST)
            .such_as("web_connectivity"),
            SINCE,
            UNTIL,
            Param::optional(
                "time_grain",
                "`hour` (up to 7 days), `day`, `week` (over 7 days), `month` (over 30 days), `year` (over 365 days), or \
                 `auto`, the finest of those that fit.",
            )
            .one_of(&["auto", "hour", "day", "week", "month", "year"])
            .default("auto"),
            Param::optional("axis_x", "A row for each of its values. Without axes there is one row.")
                .one_of(&axis::Axis::NAMES),
            Param::optional("axis_y", "Another one: a row for each pair of values.").one_of(&axis::Axis::NAMES),
            Param::optional("format", "The form of the answer.").one_of(&["JSON", "CSV"]).default("JSON"),
            Param::optional("download", "`true`: a browser saves the answer as a file.").boolean().default("false"),
        ])
        .returns::<answer::AggregationBody>()
        .summary("Counts of measurements by their votes, in the shape of OONI's aggregation endpoint."),
    Route::get("/data/measurements", handler!(measurements::measurements))
        .limit(Limit::Data)
        .extension()
        .params(&[
            Param::required("country", "Code of a country, ISO 3166-1 alpha-2.").country(),
            Param::required("target", "A domain, URL, service or role.").such_as("telegram.org"),
            Param::optional("asn", "Networks such as `AS33771`, at most 20 with commas.")
                .several(NETWORK, MOST)
                .such_as("AS33771"),
            Param::optional("since", "A day or a full hour, included.").known_time(),
            Param::optional("until", "A day or a full hour, not included.").known_time(),
            Param::optional("limit", "Rows of a page, at most 5,000.")
                .count(measurements::DEFAULT_ROWS, measurements::MOST_ROWS),
            Param::optional("cursor", "`next_cursor` of the page before.").like(measurements::CURSOR_PATTERN),
            FORMAT,
        ])
        .returns::<measurements::MeasurementsBody>()
        .summary("Every measurement of a target in a country: hour, network, rule and vote, oldest first."),
    Route::get("/data/network/{asn}/history", handler!(history::network))
        .limit(Limit::Data)
        .extension()
        .params(&[
            Param::optional("country", "Only this country.").country(),
            Param::optional("days", "The last days, at most 365.").count(30, 365),
            history::SINCE_DAY,
            history::UNTIL_DAY,
            FORMAT,
        ])
        .returns::<history::NetworkHistoryBody>()
        .summary("Measurements and blocked votes of a network by day."),
];
