//! A country: its score with what it rests on, what is blocked, incidents, forecast, networks.

use askama::Template;
use engine::http::{Cx, encoded, query};
use engine::{Error, Result, Timestamp};
use facts::starter::Country;

use crate::answer::{self, Answer, web_address};
use crate::check::Range;
use crate::incident::Line;
use crate::page::{Frame, Page};
use crate::words::Words;

/// Days before the last measurement that are counted by category.
const CATEGORY_DAYS: i64 = 30;

#[derive(Template)]
#[template(path = "country.html")]
struct CountryPage {
    frame: Frame,
    w: Words,
    code: String,
    name: String,
    as_of: String,
    history_alt: String,
    score: Option<u64>,
    interval: String,
    grade: String,
    level: String,
    reason: String,
    components: Vec<(String, String, String)>,
    measurements: u64,
    networks_known: u64,
    last: String,
    blocked: Vec<(String, String, String)>,
    listed: Vec<Listed>,
    categories: Vec<Category>,
    categories_when: String,
    platforms: Vec<(String, String, String, String)>,
    incidents: Vec<Line>,
    forecast: Forecast,
    networks: Vec<Network>,
    license: String,
}

/// What was measured of a category of sites.
struct Category {
    name: String,
    measurements: u64,
    share: String,
}

struct Listed {
    target: String,
    label: String,
    kind: String,
    date: String,
    source: String,
}

struct Forecast {
    risk: String,
    model: String,
    caveats: Vec<String>,
    history_until: String,
    /// How forecasts did.
    record: String,
}

struct Network {
    asn: String,
    name: String,
    measurements: u64,
    rate: String,
}

/// The code of a country, given in either case.
pub fn known(code: &str) -> Result<&'static str> {
    let country = Country::by_code(code);
    country.map(|country| country.code).ok_or_else(|| Error::not_found(format!("No country has the code `{code}`.")))
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let code = known(cx.path("code")?)?;
    let as_of = cx.query("as_of")?;
    let past = query(&[("as_of", as_of.as_deref())]);
    let country = answer::ask(cx, &format!("/data/country/{code}"), &past).await?;
    let summary = answer::ask_if_any(cx, &format!("/v1/accessibility/country/{code}/summary"), &past).await?;
    let networks = answer::ask_if_any(cx, &format!("/data/country/{code}/isps"), &past).await?;
    let platforms = answer::ask_if_any(cx, &format!("/v1/platforms/country/{code}"), &past).await?;
    let incidents = answer::ask(cx, "/data/incidents", &format!("country={code}&limit=20")).await?;
    let forecast = answer::ask_if_any(cx, &format!("/v1/forecast/{code}/7day"), "").await?;
    let range = Range::last(CATEGORY_DAYS, Timestamp::parse(country.text("/data/lastChecked")).unwrap_or(cx.now()));
    let wanted = format!("probe_cc={code}&axis_x=category_code&{}", range.query());
    let counted = answer::ask_if_any(cx, "/api/v1/aggregation", &wanted).await?;
    let record = answer::ask_if_any(cx, "/v1/atlas/prediction-track-record", "").await?;
    let name = w.country(code);
    let title = w.with("country.title", &[("country", code.into())]);
    let feed =
        (w.with("feed.country", &[("country", code.into())]), format!("/data/incidents/feed.atom?country={code}"));
    let address = if past.is_empty() { format!("/country/{code}") } else { format!("/country/{code}?{past}") };
    let data = country.part("data");
    let page = CountryPage {
        frame: Frame::new(cx, w, address, title.clone()).unlisted(as_of.is_some()).feed(feed.0, feed.1),
        w,
        code: code.to_owned(),
        name,
        as_of: match as_of.as_deref() {
            Some(time) => w.with("check.as_of", &[("day", w.day(time).into())]),
            None => String::new(),
        },
        history_alt: w.with("country.history_alt", &[("country", code.into())]),
        score: data.has("score").then(|| data.count("score")),
        interval: data.interval(),
        grade: data.text("grade").to_owned(),
        level: if data.has("level") { w.value("level", data.text("level")) } else { String::new() },
        reason: country.said(w.0, "reason"),
        components: data.list("components").iter().map(|part| component(part, w)).collect(),
        measurements: summary.count("measurements"),
        networks_known: data.count("networks"),
        last: w.day(data.text("lastChecked")),
        blocked: summary
            .list("topBlocked")
            .iter()
            .map(|row| {
                let rate = w.percent(row.number("blockRate").unwrap_or_default());
                (row.text("domain").to_owned(), rate, row.text("method").to_owned())
            })
            .collect(),
        listed: data.list("listedBlocked").iter().map(|row| listed(row, w)).collect(),
        categories: categories(&counted, w),
        categories_when: w.with(
            "country.categories_when",
            &[("from", w.day(&range.first()).into()), ("to", w.day(&range.last_day()).into())],
        ),
        platforms: platforms
            .list("platforms")
            .iter()
            .map(|row| {
                let text = |name: &str| row.text(name).to_owned();
                (text("platform"), text("label"), w.value("status", row.text("status")), text("status"))
            })
            .collect(),
        incidents: incidents.list("incidents").iter().map(|incident| Line::new(incident, w)).collect(),
        forecast: Forecast {
            risk: match forecast.number("/summary/risk_7day") {
                Some(risk) => w.with("country.risk", &[("risk", w.percent(risk).into())]),
                None => String::new(),
            },
            model: forecast.text("model_version").to_owned(),
            caveats: forecast.all_said(w.0, "caveats"),
            record: record.said(w.0, "interpretation"),
            history_until: match forecast.text("history_until") {
                "" => String::new(),
                until => w.with("country.history_until", &[("day", w.day(until).into())]),
            },
        },
        networks: networks
            .list("isps")
            .iter()
            .take(20)
            .map(|row| Network {
                asn: row.text("asn").to_owned(),
                name: row.text("name").to_owned(),
                measurements: row.count("measurements"),
                rate: w.percent(row.number("block_rate").unwrap_or_default()),
            })
            .collect(),
        license: country.text("effectiveLicense").to_owned(),
    };
    Ok(Page::of(&page)?.computed(as_of.is_some()))
}

fn component(part: &Answer, w: Words) -> (String, String, String) {
    let value = match part.number("value") {
        Some(value) => w.percent(value),
        None => part.said(w.0, "missing"),
    };
    (w.value("component", part.text("name")), value, w.percent(part.number("weight").unwrap_or_default()))
}

/// Categories of sites with votes, the most blocked ones first.
fn categories(counted: &Answer, w: Words) -> Vec<Category> {
    let mut found: Vec<(f64, Category)> = Vec::new();
    for row in counted.list("result") {
        let blocked = row.count("confirmed_count") + row.count("anomaly_count");
        let votes = blocked + row.count("ok_count");
        let code = row.text("category_code");
        if votes > 0 && !code.is_empty() {
            let share = blocked as f64 / votes as f64;
            let name = w.value("category", code);
            found.push((
                share,
                Category { name, measurements: row.count("measurement_count"), share: w.percent(share) },
            ));
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0).then(other.1.measurements.cmp(&one.1.measurements)));
    found.into_iter().map(|(_, category)| category).collect()
}

fn listed(row: &Answer, w: Words) -> Listed {
    Listed {
        target: encoded(row.text("target")),
        label: row.text("label").to_owned(),
        kind: w.value("list", row.text("kind")),
        date: w.day(row.text("date")),
        source: web_address(row.text("source")),
    }
}
