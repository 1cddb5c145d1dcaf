//! `/data/country/{code}/history`: the score of a country and its number of incidents, by day. It adds to the history
//! of a domain, and has the same scores as `threat-level`.

use schemars::JsonSchema;
use serde::Serialize;

use super::days::{KEPT, ReadRecentScores, RecentScores};
use super::level;
use crate::analytics::tabular::{self, Tabular};
use crate::country::routes::input;
use crate::country::strictest;
use crate::incidents::{self, Filter, Incident, Select};
use crate::{Result, Timestamp};
use engine::http::{Cx, Response};
use engine::runtime;
use engine::time::DAY;
use facts::starter::Country;

/// Days in the answer to a request that states no number.
pub(super) const DEFAULT_DAYS: u32 = 30;
/// Incidents that are counted, at most; the newest come first.
const INCIDENTS: u32 = 200;

const TABLE: Tabular =
    Tabular { name: "country-history", list: "timeline", inner: None, columns: &["date", "score", "incidents"] };

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CountryScoreDay")]
struct Day {
    date: String,
    /// 0-1 at the end of the day; for today the present score. Null where too little was measured, or nothing is known
    /// of the day.
    score: Option<f64>,
    /// Incidents that were going on at some time of the day.
    incidents: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CountryHistoryBody {
    country: String,
    country_name: String,
    period: String,
    days: u32,
    generated: String,
    /// 0-1, as on the page of the country.
    score: Option<f64>,
    /// Why there is no score; null where there is one.
    reason: Option<String>,
    /// `rising`, `stable` or `falling`.
    trend: &'static str,
    /// Change of the mean score of seven days against the seven before, 0-1; null when they cannot be compared.
    trend_delta: Option<f64>,
    /// Newest first.
    timeline: Vec<Day>,
    license: String,
}

fn share(score: u32) -> f64 {
    f64::from(score) / 100.0
}

pub async fn history(cx: Cx) -> Result<Response> {
    let country = input::path_country(&cx, "code")?;
    let days = cx.count("days", DEFAULT_DAYS, KEPT)?;
    // The table is made from the same page as the JSON answer.
    let json = cx.kept_as(&format!("{}?days={days}", cx.request.path), page(&cx, country, days)).await?;
    tabular::send(&cx, &TABLE, country.code, json)
}

async fn page(cx: &Cx, country: &'static Country, days: u32) -> Result<Response> {
    let RecentScores { summary, days: scores, trend_delta } =
        runtime::query(&*cx.rt, country.code, &ReadRecentScores).await?;
    let now = cx.now();
    let midnight = Timestamp(now.day() * DAY);
    let filter = Filter {
        country: Some(country.code.to_owned()),
        since: Some(midnight.plus(-i64::from(days - 1) * DAY)),
        until: Some(now),
        ..Filter::default()
    };
    let select = Select { filter, offset: 0, limit: INCIDENTS };
    let found = runtime::query(&*cx.rt, incidents::actor().name, &select).await?.incidents;
    let went_on = |incident: &&Incident, day: Timestamp| {
        incident.start() < day.plus(DAY) && incident.end().is_none_or(|end| end >= day)
    };
    let timeline = (0..days).zip(scores.iter().rev()).map(|(back, score)| {
        let day = midnight.plus(-i64::from(back) * DAY);
        let incidents = found.iter().filter(|incident| went_on(incident, day)).count();
        Day { date: day.to_date_text(), score: score.map(share), incidents }
    });
    let body = CountryHistoryBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        period: format!("{days} days"),
        days,
        generated: tabular::generated(cx, None).to_string(),
        score: summary.index.score.map(share),
        reason: summary.index.reason.clone(),
        trend: level::trend(trend_delta),
        trend_delta,
        timeline: timeline.collect(),
        license: strictest(&summary.sources),
    };
    Response::json(&body)
}
