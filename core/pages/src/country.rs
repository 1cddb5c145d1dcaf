//! A country: its score with what it rests on, what is blocked, incidents, forecast, networks.

use askama::Template;
use engine::http::{Cx, encoded};
use engine::{Error, Result, Timestamp};
use facts::starter::Country;

use crate::answer::{self, Answer, web_address};
use crate::incident::Line;
use crate::page::{Frame, Page};
use crate::range::{Moment, Range, Then};
use crate::words::Words;

/// Days before the last measurement that are counted by category.
const CATEGORY_DAYS: i64 = 30;
/// Networks and incidents that are shown.
const NETWORKS: usize = 20;
const INCIDENTS: u64 = 20;

#[derive(Template)]
#[template(path = "country.html")]
struct CountryPage {
    frame: Frame,
    w: Words,
    code: String,
    name: String,
    then: Then,
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
    /// Platforms with a verdict, the blocked ones first, and those that nothing is known of.
    platforms: Vec<Platform>,
    unknown: Vec<Platform>,
    scores: Vec<Score>,
    /// Incidents by the year of their beginning, newest first.
    years: Vec<(String, Vec<Line>)>,
    incidents_shown: String,
    /// The forecast, on a page about now.
    forecast: Option<Forecast>,
    networks: Vec<Network>,
    /// The day that the networks are of, where it is not the page's own.
    networks_when: String,
    license: String,
}

struct Platform {
    slug: String,
    label: String,
    word: String,
    status: String,
}

/// A day in the table of the chart.
struct Score {
    date: String,
    score: String,
    incidents: u64,
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

/// What a page asks the program's routes.
struct Asked {
    moment: Option<Moment>,
    country: Answer<'static>,
    summary: Answer<'static>,
    networks: Answer<'static>,
    platforms: Answer<'static>,
    incidents: Answer<'static>,
    range: Range,
    counted: Answer<'static>,
    /// The scores of the last days, the forecast and how forecasts did: on a page about now.
    history: Answer<'static>,
    forecast: Option<(Answer<'static>, Answer<'static>)>,
}

async fn asked(cx: &Cx, code: &str) -> Result<Asked> {
    let moment = Moment::of(cx)?;
    let past = moment.as_ref().map(Moment::route).unwrap_or_default();
    let country = answer::ask(cx, &format!("/data/country/{code}"), &past).await?;
    let summary = answer::ask_if_any(cx, &format!("/v1/accessibility/country/{code}/summary"), &past).await?;
    let last = Timestamp::parse(country.text("/data/lastChecked"));
    // Where nobody measured lately, the networks are those of the last measurement.
    let of_networks = match (&moment, last) {
        (None, Some(last)) if country.has("staleSince") => format!("as_of={last}"),
        _ => past.clone(),
    };
    let networks = answer::ask_if_any(cx, &format!("/data/country/{code}/isps"), &of_networks).await?;
    let platforms = answer::ask_if_any(cx, &format!("/v1/platforms/country/{code}"), &past).await?;
    let incidents = answer::ask(cx, "/data/incidents", &format!("country={code}&limit={INCIDENTS}&{past}")).await?;
    let range = Range::last(CATEGORY_DAYS, last.unwrap_or(cx.now()));
    let wanted = format!("probe_cc={code}&axis_x=category_code&{}", range.query());
    let counted = answer::ask_if_any(cx, "/api/v1/aggregation", &wanted).await?;
    let (mut history, mut forecast) = (Answer::default(), None);
    if moment.is_none() {
        history = answer::ask_if_any(cx, &format!("/data/country/{code}/history"), "days=60").await?;
        let risk = answer::ask_if_any(cx, &format!("/v1/forecast/{code}/7day"), "").await?;
        forecast = Some((risk, answer::ask_if_any(cx, "/v1/atlas/prediction-track-record", "").await?));
    }
    Ok(Asked { moment, country, summary, networks, platforms, incidents, range, counted, history, forecast })
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let code = known(cx.path("code")?)?;
    let asked = asked(cx, code).await?;
    let then = Then::new(asked.moment.as_ref(), w);
    let named = [("country", code.into())];
    let feed = format!("/data/incidents/feed.atom?country={code}");
    let frame = Frame::new(cx, w, format!("/country/{code}{}", then.link), w.with("country.title", &named))
        .unlisted(asked.moment.is_some())
        .feed(w.with("feed.country", &named), feed);
    let data = asked.country.part("data");
    let (unknown, platforms) = platforms(&asked.platforms, w).into_iter().partition(|one| one.status == "unknown");
    let incidents = asked.incidents.list("incidents");
    let scores: Vec<Score> = asked.history.list("timeline").iter().rev().map(|row| score(row, w)).collect();
    let computed = asked.moment.is_some();
    let page = CountryPage {
        frame,
        w,
        code: code.to_owned(),
        name: w.country(code),
        history_alt: w.described(w.with("country.history_alt", &named), !scores.is_empty()),
        score: data.has("score").then(|| data.count("score")),
        interval: data.interval(),
        grade: data.text("grade").to_owned(),
        level: if data.has("level") { w.value("level", data.text("level")) } else { String::new() },
        reason: answer::for_visitors(&asked.country.said(w.0, "reason")),
        components: data.list("components").iter().map(|part| component(part, w)).collect(),
        measurements: asked.summary.count("measurements"),
        networks_known: data.count("networks"),
        last: w.day(data.text("lastChecked")),
        blocked: asked.summary.list("topBlocked").iter().map(|row| blocked(row, w)).collect(),
        listed: data.list("listedBlocked").iter().map(|row| listed(row, w)).collect(),
        categories: categories(&asked.counted, w),
        categories_when: w.with(
            "country.categories_when",
            &[("from", w.day(&asked.range.first()).into()), ("to", w.day(&asked.range.last_day()).into())],
        ),
        platforms,
        unknown,
        scores,
        incidents_shown: w.shown(incidents.len() as u64, asked.incidents.count("total")),
        years: years(&incidents, &then, w),
        forecast: asked.forecast.as_ref().map(|(risk, record)| forecast(risk, record, w)),
        networks_when: match asked.networks.text("as_of") {
            day if !day.is_empty() && !computed => w.with("check.as_of", &[("day", w.day(day).into())]),
            _ => String::new(),
        },
        networks: asked.networks.list("isps").iter().take(NETWORKS).map(|row| network(row, w)).collect(),
        license: asked.country.text("effectiveLicense").to_owned(),
        then,
    };
    Ok(Page::of(&page)?.computed(computed))
}

/// A site that measurements say is blocked: its name, the share of blocked votes, and how.
fn blocked(row: &Answer, w: Words) -> (String, String, String) {
    let rate = w.percent(row.number("blockRate").unwrap_or_default());
    (row.text("domain").to_owned(), rate, w.way(row.text("method")))
}

/// The platforms, blocked ones first. One that only a list says is blocked is marked so.
fn platforms(answer: &Answer, w: Words) -> Vec<Platform> {
    let one = |row: &Answer| {
        let (status, word) = (row.text("status"), w.value("status", row.text("status")));
        Platform {
            slug: row.text("platform").to_owned(),
            label: row.text("label").to_owned(),
            word: match row.text("basis") {
                "known_list" => format!("{word} ({})", w.t("country.by_list")),
                _ => word,
            },
            status: status.to_owned(),
        }
    };
    let mut all: Vec<Platform> = answer.list("platforms").iter().map(one).collect();
    all.sort_by_key(|one| one.status != "blocked");
    all
}

fn score(row: &Answer, w: Words) -> Score {
    Score {
        date: w.day(row.text("date")),
        score: row.number("score").map_or_else(|| "–".to_owned(), |score| format!("{score:.0}")),
        incidents: row.count("incidents"),
    }
}

/// Incidents by the year of their beginning, as the route orders them.
fn years(incidents: &[Answer], then: &Then, w: Words) -> Vec<(String, Vec<Line>)> {
    let mut years: Vec<(String, Vec<Line>)> = Vec::new();
    for incident in incidents {
        let year = incident.text("startTime").get(..4).unwrap_or_default();
        match years.last_mut() {
            Some((last, lines)) if last == year => lines.push(Line::new(incident, then, w)),
            _ => years.push((year.to_owned(), vec![Line::new(incident, then, w)])),
        }
    }
    years
}

fn forecast(forecast: &Answer, record: &Answer, w: Words) -> Forecast {
    let risk = forecast.number("/summary/risk_7day");
    let until = forecast.text("history_until");
    Forecast {
        risk: risk.map(|risk| w.with("country.risk", &[("risk", w.percent(risk).into())])).unwrap_or_default(),
        model: forecast.text("model_version").to_owned(),
        caveats: forecast.all_said(w.0, "caveats"),
        record: record.said(w.0, "interpretation"),
        history_until: match until {
            "" => String::new(),
            until => w.with("country.history_until", &[("day", w.day(until).into())]),
        },
    }
}

fn network(row: &Answer, w: Words) -> Network {
    let asn = row.text("asn");
    Network {
        asn: asn.to_owned(),
        // A network whose name nobody imported is called by its number.
        name: Some(row.text("name")).filter(|name| *name != asn).unwrap_or_default().to_owned(),
        measurements: row.count("measurements"),
        rate: w.percent(row.number("block_rate").unwrap_or_default()),
    }
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
