//! Addresses of charts and of the map.

use std::collections::{BTreeMap, BTreeSet};

use engine::documents;
use engine::http::{Cx, Response};
use engine::{Error, Result};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};

use crate::answer;
use crate::chart::days::{self, Day};
use crate::chart::grid::{self, Row};
use crate::chart::line::{self, Point};
use crate::chart::map;
use crate::check::{NetworkDay, by_day, by_network};
use crate::country::known;
use crate::range::{Moment, Range};

/// An image has a style of its own and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
/// Seconds for which any cache may keep an image.
const FRESH: u32 = 300;
/// Networks of a grid: those with most measurements.
pub const NETWORKS: usize = 15;

/// An SVG image, with validators.
pub fn svg(cx: &Cx, image: String) -> Response {
    let etag = documents::etag(image.as_bytes());
    let response = Response::new(StatusCode::OK, "image/svg+xml; charset=utf-8", image.into_bytes());
    cx.revalidated(response.with(CONTENT_SECURITY_POLICY, POLICY), &etag, FRESH)
}

/// The name of a file without `.svg`.
pub fn name(cx: &Cx) -> Result<&str> {
    let file = cx.path("file")?;
    file.strip_suffix(".svg").ok_or_else(|| Error::not_found("Images have names that end in `.svg`."))
}

pub async fn world(cx: Cx) -> Result<Response> {
    let moment = Moment::of(&cx)?;
    let past = moment.as_ref().map(Moment::route).unwrap_or_default();
    let index = answer::ask(&cx, "/data/censorship-index.json", &past).await?;
    let rows = index.list("countries");
    let scores = rows.iter().filter_map(|row| Some((row.text("code").to_owned(), row.number("score")?)));
    let scores: BTreeMap<String, f64> = scores.collect();
    let map = svg(&cx, map::map(&scores));
    // What is asked of the past is computed anew each time.
    Ok(if moment.is_some() { map.with(CACHE_CONTROL, "no-store") } else { map })
}

/// The measurements of a site that an image is about.
async fn measured(cx: &Cx) -> Result<(Range, Vec<NetworkDay>)> {
    let (country, range) = (known(cx.path("country")?)?, Range::of(cx, cx.now())?);
    let rows = by_network(cx, name(cx)?, country, &range).await?;
    Ok((range, rows))
}

/// The share of blocked votes on each day.
pub async fn days(cx: Cx) -> Result<Response> {
    let (range, rows) = measured(&cx).await?;
    let sums = by_day(&rows);
    let share = |date: &String| sums.get(date.as_str()).and_then(|(_, votes, blocked)| share(*votes, *blocked));
    let all: Vec<Day> = range.dates().into_iter().map(|date| Day { share: share(&date), date }).collect();
    Ok(svg(&cx, days::chart(&all)))
}

fn share(votes: u64, blocked: u64) -> Option<f64> {
    (votes > 0).then(|| blocked as f64 / votes as f64)
}

/// The networks with most measurements, by days.
pub async fn networks(cx: Cx) -> Result<Response> {
    let (range, rows) = measured(&cx).await?;
    let mut sizes: BTreeMap<&str, u64> = BTreeMap::new();
    rows.iter().for_each(|row| *sizes.entry(&row.asn).or_default() += row.measurements);
    let mut largest: Vec<(&str, u64)> = sizes.into_iter().collect();
    largest.sort_by_key(|(asn, size)| (std::cmp::Reverse(*size), *asn));
    largest.truncate(NETWORKS);
    let kept: BTreeSet<&str> = largest.iter().map(|(asn, _)| *asn).collect();
    let cells: BTreeMap<(&str, &str), Option<f64>> = rows
        .iter()
        .filter(|row| kept.contains(row.asn.as_str()))
        .map(|row| ((row.asn.as_str(), row.date.as_str()), share(row.votes, row.blocked)))
        .collect();
    let dates = range.dates();
    let row = |(asn, _): &(&str, u64)| Row {
        name: if asn.is_empty() { "-".to_owned() } else { (*asn).to_owned() },
        shares: dates.iter().map(|date| cells.get(&(*asn, date.as_str())).copied().flatten()).collect(),
    };
    let all: Vec<Row> = largest.iter().map(row).collect();
    Ok(svg(&cx, grid::chart(&dates, &all)))
}

/// The score of a country over the last 60 days.
pub async fn score(cx: Cx) -> Result<Response> {
    let code = known(name(&cx)?)?;
    let history = answer::ask_if_any(&cx, &format!("/data/country/{code}/history"), "days=60").await?;
    let rows = history.list("timeline");
    let known: BTreeMap<&str, &answer::Answer> = rows.iter().map(|row| (row.text("date"), row)).collect();
    let range = Range::last(60, cx.now());
    let point = |date: String| {
        let row = known.get(date.as_str());
        Point {
            score: row.and_then(|row| row.number("score")),
            incidents: row.map_or(0, |row| row.count("incidents")),
            date,
        }
    };
    let points: Vec<Point> = range.dates().into_iter().map(point).collect();
    Ok(svg(&cx, line::chart(&points)).with(CACHE_CONTROL, "public, max-age=300"))
}
