//! The endpoints for reports in which people tell the outcome of a forecast.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reports::{DropReport, FORECAST_PATTERN, ForecastId, KeptReport, Reports, TakeReport};
use super::routes::date;
use crate::country::routes::input;
use crate::{Error, Result, world};
use engine::http::{COUNTRY_PATTERN, Cx, Param, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/sentinel/report_miss", handler!(report))
        .sentinel()
        .accepts::<ReportRequest>()
        .creates::<ReportBody>()
        .summary("Report what came of a forecast, such as a shutdown that it missed."),
    Route::get("/v1/admin/forecast/reports", handler!(reports))
        .admin()
        .extension()
        .params(&[Param::optional("limit", "Most entries of the answer: default 50, at most 1000.").count(50, 1_000)])
        .returns::<ReportsBody>()
        .summary("Reports of outcomes, newest first."),
    Route::delete("/v1/admin/forecast/reports/{number}", handler!(drop_report))
        .admin()
        .extension()
        .returns::<DroppedBody>()
        .summary("Take back a report of an outcome that was wrong."),
];

/// Longest text and longest address of a report, in characters.
const MOST_TEXT: usize = 4_000;
const MOST_URL: usize = 2_000;
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ReportRequest {
    /// ISO 3166-1 alpha-2.
    #[schemars(required, regex(pattern = COUNTRY_PATTERN))]
    country_code: Option<String>,
    /// In words.
    #[schemars(required, length(min = 1, max = MOST_TEXT))]
    what_happened: Option<String>,
    /// `sentinel-<number>`, the number, or the date on which the forecast was made.
    #[schemars(regex(pattern = FORECAST_PATTERN))]
    forecast_id: Option<String>,
    #[schemars(length(max = MOST_URL), regex(pattern = r"^(https?://\S*)?$"))]
    source_url: Option<String>,
    /// `event` or `no_event`: the outcome of the seven days after the forecast. Together with `forecast_id` it resolves
    /// the forecast.
    #[schemars(regex(pattern = "^(event|no_event)$"))]
    outcome: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportBody {
    /// Begins with the brand.
    schema: String,
    ok: bool,
    queue_id: u64,
    review_sla_hours: u32,
    /// The forecast that the report resolves; null when the report is only kept for review.
    resolves: Option<String>,
}

fn url(text: Option<String>) -> Result<Option<String>> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let is_web = text.starts_with("https://") || text.starts_with("http://");
    if is_web && text.chars().count() <= MOST_URL && !text.contains(char::is_whitespace) {
        return Ok(Some(text));
    }
    Err(Error::bad_request(format!("`source_url` must be a web address of at most {MOST_URL} characters.")))
}

async fn report(cx: Cx) -> Result<Response> {
    let ReportRequest { country_code, what_happened, forecast_id, source_url, outcome } = cx.json()?;
    let country = input::country(input::required("country_code", &country_code)?)?
        .map_err(|code| Error::not_found(format!("{code} is not an ISO 3166-1 country code.")))?;
    let what = input::required("what_happened", &what_happened)?.to_owned();
    if what.chars().count() > MOST_TEXT {
        return Err(Error::bad_request(format!("`what_happened` takes at most {MOST_TEXT} characters.")));
    }
    let outcome = match outcome.as_deref() {
        None => None,
        Some("event") => Some(true),
        Some("no_event") => Some(false),
        Some(_) => return Err(Error::bad_request("`outcome` must be event or no_event.")),
    };
    let forecast = match forecast_id.filter(|text| !text.trim().is_empty()) {
        None => None,
        Some(text) => {
            let read = ForecastId::parse(&text, country.code).filter(|id| id.country == country.code);
            let refuse = || Error::bad_request("`forecast_id` must name a forecast of `country_code`.");
            Some(read.ok_or_else(refuse)?)
        }
    };
    let source_url = url(source_url)?;
    let resolves = forecast.as_ref().filter(|_| outcome.is_some()).map(|id| format!("sentinel-{}", id.number()));
    let report = TakeReport { country: country.code.to_owned(), what, source_url, forecast, outcome };
    let queue_id = runtime::call(&*cx.rt, world::actor().name, &report).await?;
    Response::created(&ReportBody {
        schema: cx.settings().schema("sentinel-miss-report/v1"),
        ok: true,
        queue_id,
        review_sla_hours: cx.settings().report_review_hours,
        resolves,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
struct ReportRow {
    queue_id: u64,
    at: String,
    country: String,
    what_happened: String,
    source_url: Option<String>,
    forecast_id: Option<String>,
    eval_date: Option<String>,
    /// `event` or `no_event`.
    outcome: Option<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportsBody {
    count: usize,
    reports: Vec<ReportRow>,
}

/// The outcome in answers.
pub(super) fn outcome(happened: bool) -> &'static str {
    if happened { "event" } else { "no_event" }
}

async fn reports(cx: Cx) -> Result<Response> {
    let asked = Reports { limit: cx.count("limit", 50, 1_000)? };
    let rows = runtime::query(&*cx.rt, world::actor().name, &asked).await?;
    let row = |(queue_id, row): (u64, KeptReport)| ReportRow {
        queue_id,
        at: row.at.to_string(),
        country: row.country,
        what_happened: row.what,
        source_url: row.source_url,
        eval_date: row.forecast.as_ref().and_then(|id| i32::try_from(id.day).ok()).map(date),
        forecast_id: row.forecast.map(|id| format!("sentinel-{}", id.number())),
        outcome: row.outcome.map(outcome),
    };
    Response::uncached(&ReportsBody { count: rows.len(), reports: rows.into_iter().map(row).collect() })
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DroppedBody {
    ok: bool,
    queue_id: u64,
}

async fn drop_report(cx: Cx) -> Result<Response> {
    let number = cx.path("number")?.parse().map_err(|_| Error::not_found("There is no such report."))?;
    runtime::call(&*cx.rt, world::actor().name, &DropReport { number }).await?;
    Response::uncached(&DroppedBody { ok: true, queue_id: number })
}
