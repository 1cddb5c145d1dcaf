//! `/data/country/{code}/history`: the score of a country and its number of incidents, by day. It adds to the history
//! of a domain, and has the same scores as `threat-level`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::days::{KEPT, ReadRecentScores, RecentScores};
use super::level;
use crate::aggregation::history::{self as by_network, HistoryAbout};
use crate::aggregation::{HourRange, VoteCounts};
use crate::analytics::tabular::{self, Tabular};
use crate::country::routes::input;
use crate::country::strictest;
use crate::incidents::{self, Filter, Incident, Select};
use crate::{Result, Timestamp};
use engine::http::{Cx, Response};
use engine::runtime;
use engine::time::DAY;
use facts::sentence::Sentences;
use facts::starter::Country;

/// Days in the answer to a request that states no number.
pub(super) const DEFAULT_DAYS: u32 = 30;
/// Incidents that are read at a time.
const INCIDENTS: u32 = 200;

const TABLE: Tabular =
    Tabular { name: "country-history", list: "timeline", inner: None, columns: &["date", "score", "incidents"] };

const RANGE_TABLE: Tabular =
    Tabular { columns: &["date", "score", "incidents", "measurements", "votes", "blocked"], ..TABLE };

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CountryScoreDay")]
struct Day {
    date: String,
    /// 0-1 at the end of the day; for today the present score. Null where too little was measured, or nothing is known
    /// of the day.
    score: Option<f64>,
    /// Incidents that were going on at some time of the day.
    incidents: usize,
    /// With `since` or `until`: measurements of the day, those among them that vote, and those that vote blocked.
    #[serde(flatten)]
    counts: Option<DayCounts>,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct DayCounts {
    measurements: u64,
    votes: u64,
    blocked: u64,
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
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    sentences: Sentences,
}

fn share(score: u32) -> f64 {
    f64::from(score) / 100.0
}

pub async fn history(cx: Cx) -> Result<Response> {
    let country = input::path_country(&cx, "code")?;
    if by_network::is_by_network(&cx)? {
        return by_network::by_network(&cx, HistoryAbout { country: Some(country), ..HistoryAbout::default() }).await;
    }
    // The table is made from the same page as the JSON answer.
    let path = cx.request.path.clone();
    let today = cx.now().day();
    match by_network::days_asked(&cx)? {
        None => {
            let days = cx.count("days", DEFAULT_DAYS, KEPT)?;
            let json = cx.kept_as(&format!("{path}?days={days}"), page(&cx, country, (today, days), None)).await?;
            tabular::send(&cx, &TABLE, country.code, json)
        }
        Some(range) => {
            let last = (range.end / 24 - 1).min(today);
            let days = u32::try_from((last + 1 - range.from / 24).max(0)).unwrap_or(u32::MAX);
            let name = format!("{path}?since={}&until={}", range.from, range.end);
            let counted = async {
                let counts = counts(&cx, country, range).await?;
                page(&cx, country, (last, days), Some(counts)).await
            };
            let json = cx.kept_as(&name, counted).await?;
            tabular::send(&cx, &RANGE_TABLE, country.code, json)
        }
    }
}

/// The counts of each day of a range with measurements, by day since the epoch.
async fn counts(cx: &Cx, country: &'static Country, range: HourRange) -> Result<BTreeMap<i64, DayCounts>> {
    let counted = by_network::by_day(cx, country, range).await?;
    let counts = |(day, counts): (i64, VoteCounts)| {
        let blocked = counts.confirmed + counts.anomaly;
        (day, DayCounts { measurements: counts.sum(), votes: blocked + counts.ok, blocked })
    };
    Ok(counted.into_iter().map(counts).collect())
}

/// The incidents of a country that were going on at some time from `since` to `until`.
async fn incidents(cx: &Cx, country: &Country, since: Timestamp, until: Timestamp) -> Result<Vec<Incident>> {
    let country = Some(country.code.to_owned());
    let filter = Filter { country, since: Some(since), until: Some(until), ..Filter::default() };
    let mut select = Select { filter, offset: 0, limit: INCIDENTS };
    let mut found = Vec::new();
    loop {
        let page = runtime::query(&*cx.rt, incidents::actor().name, &select).await?;
        select.offset += page.incidents.len() as u64;
        let done = page.incidents.is_empty() || select.offset >= page.total;
        found.extend(page.incidents);
        if done {
            return Ok(found);
        }
    }
}

/// The page of so many days up to one, which is today or earlier.
async fn page(
    cx: &Cx,
    country: &'static Country,
    (last, days): (i64, u32),
    counts: Option<BTreeMap<i64, DayCounts>>,
) -> Result<Response> {
    let RecentScores { summary, days: scores, trend_delta } =
        runtime::query(&*cx.rt, country.code, &ReadRecentScores).await?;
    let now = cx.now();
    let ago = usize::try_from(now.day() - last).unwrap_or(usize::MAX);
    let midnight = Timestamp(last * DAY);
    let since = midnight.plus(-(i64::from(days) - 1) * DAY);
    let found = incidents(cx, country, since, now.min(Timestamp(midnight.0 + DAY - 1))).await?;
    let went_on = |incident: &&Incident, day: Timestamp| {
        incident.start() < day.plus(DAY) && incident.end().is_none_or(|end| end >= day)
    };
    let score = |back: u32| scores.iter().rev().nth(ago.saturating_add(back as usize)).copied().flatten();
    let nothing = DayCounts { measurements: 0, votes: 0, blocked: 0 };
    let timeline = (0..days).map(|back| {
        let day = midnight.plus(-i64::from(back) * DAY);
        let incidents = found.iter().filter(|incident| went_on(incident, day)).count();
        let counts = counts.as_ref().map(|counts| counts.get(&day.day()).copied().unwrap_or(nothing));
        Day { date: day.to_date_text(), score: score(back).map(share), incidents, counts }
    });
    let body = CountryHistoryBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        period: format!("{days} days"),
        days,
        generated: tabular::generated(cx, None).to_string(),
        score: summary.index.score.map(share),
        sentences: Sentences::new().with("reason", summary.index.why()),
        reason: summary.index.reason.clone(),
        trend: level::trend(trend_delta),
        trend_delta,
        timeline: timeline.collect(),
        license: strictest(&summary.sources),
    };
    Response::json(&body)
}
