//! `GET /v1/elections/upcoming`, `/calendar` and `/{country}/briefing`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::calendar as shipped;
use super::history::{AROUND, ElectionHistory, ReadCalendar};
use super::model::{DateCertainty, Election, Precision};
use crate::country::routes::input;
use crate::incidents::{self, Beginnings};
use crate::risk::{RISKS, ReadScores, word};
use crate::sentinel::served::{self, Everywhere, Ranked, Week};
use crate::{Error, Result, Timestamp, world};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::number::round;
use engine::runtime;
use engine::time::DAY;
use facts::licence;
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;
use facts::starter;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/elections/upcoming", handler!(upcoming))
        .params(
            &[Param::optional("days", "Days from today, default 90, at most 3,660.").count(DEFAULT_DAYS, MOST_DAYS)],
        )
        .returns::<UpcomingBody>()
        .summary("Coming elections, those in countries with the highest shutdown risk first."),
    Route::get("/v1/elections/calendar", handler!(calendar))
        .params(&[Param::optional("year", "Only elections of this year.").integer(1_000, 9_999).such_as("2027")])
        .returns::<CalendarBody>()
        .summary("All elections that are known, by date, with the present shutdown risk."),
    Route::get("/v1/elections/{country}/briefing", handler!(briefing))
        .returns::<BriefingBody>()
        .summary("Coming elections of a country, what happened around earlier ones, and the forecast."),
];

const DEFAULT_DAYS: u32 = 90;
const MOST_DAYS: u32 = 3_660;
/// Days that a briefing looks ahead.
const BRIEFING_DAYS: i32 = 180;
/// Days before a national election from which on it is close, and very close.
const CLOSE: i32 = 90;
const VERY_CLOSE: i32 = 30;
/// Days ahead that a forecast covers.
const FORECAST_DAYS: i32 = 7;
/// Share of elections with a shutdown around them from which on a coming election is a reason for care.
const NOTABLE_SHARE: f64 = 0.25;
/// The least severe tier in briefings. Tiers of the index reach 5 (conflict C12, decision index-with-little-data).
const MOST_TIER: u8 = 4;
/// The most severe tiers that are a reason for care.
const SEVERE_TIERS: std::ops::RangeInclusive<u8> = 1..=2;

/// The facts behind an answer about elections.
struct Facts {
    known: ElectionHistory,
    /// By country code; only countries with a score.
    tiers: BTreeMap<String, u8>,
    today: i32,
}

impl Facts {
    async fn gather(cx: &Cx) -> Result<Facts> {
        let known = runtime::query(&*cx.rt, world::actor().name, &ReadCalendar).await?;
        let scores = runtime::query(&*cx.rt, world::actor().name, &ReadScores).await?;
        let tier = |score: u32| world::index::level(score).1.min(MOST_TIER);
        let tiers = scores.into_iter().filter_map(|(country, score)| Some((country, tier(score.score?))));
        let today = i32::try_from(cx.now().day()).unwrap_or(i32::MAX);
        Ok(Facts { known, tiers: tiers.into_iter().collect(), today })
    }

    /// 1 to 4, lower is more severe; 0 without a score (decision index-with-little-data).
    fn tier(&self, country: &str) -> u8 {
        self.tiers.get(country).copied().unwrap_or(0)
    }

    /// Whether the whole day, month or year is over.
    fn is_past(&self, election: &Election) -> bool {
        election.when.last < self.today
    }

    /// Elections that may take place in the next `days` days, by date.
    fn coming(&self, days: i32) -> impl Iterator<Item = &Election> {
        let until = self.today.saturating_add(days);
        self.known.elections.iter().filter(move |election| {
            !self.is_past(election) && election.when.first <= until && election.status != DateCertainty::Cancelled
        })
    }

    /// `critical` for a national election in a country where shutdowns began around earlier elections.
    fn importance(&self, election: &Election) -> &'static str {
        let shut = election.kind.is_national() && self.known.pattern(&election.country).with > 0;
        if shut { "critical" } else { election.kind.importance() }
    }

    fn days_until(&self, election: &Election) -> Option<i32> {
        election.when.day().map(|day| day - self.today)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ElectionBody {
    country: String,
    country_name: String,
    title: String,
    /// `presidential`, `parliamentary`, `regional`, `referendum` or `local`.
    r#type: &'static str,
    /// `2027-04-25`, or `2027-04` or `2027` where only the month or year is known.
    date: String,
    /// `day`, `month` or `year`.
    date_precision: &'static str,
    /// `fixed_by_law`, `announced`, `expected`, `held` or `cancelled`.
    status: &'static str,
    /// How the date is known.
    source: String,
    /// What speaks against the date; null where nothing is known.
    doubt: Option<String>,
    /// Negative for past elections; null where the day is not known.
    days_until: Option<i32>,
    /// `low`, `medium`, `high`, or `critical` where shutdowns began around earlier elections.
    importance: &'static str,
    /// 1 to 4, lower is more severe; 0 without a score of the index.
    risk_tier: u8,
    /// `high`, `elevated`, `watch` or `low`; `unknown` without a forecast.
    risk_level: &'static str,
    /// The greater of the greatest one-day risk and the risk of the next seven days; null without a forecast.
    forecast_risk: Option<f64>,
    forecast_risk_day: Option<i32>,
    /// Whether the election lies within the seven days that the forecast covers.
    forecast_covers: bool,
    key_drivers: Vec<Sentence>,
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpcomingBody {
    days: u32,
    count: usize,
    generated_at: String,
    /// Elections in the countries with the highest risk first, then by date.
    elections: Vec<ElectionBody>,
    model_version: Option<String>,
    caveats: Vec<Sentence>,
    license: String,
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CalendarRow {
    #[serde(flatten)]
    election: ElectionBody,
    past: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CalendarBody {
    count: usize,
    year: Option<i64>,
    generated_at: String,
    /// By date.
    elections: Vec<CalendarRow>,
    model_version: Option<String>,
    caveats: Vec<Sentence>,
    license: String,
    sentences: Sentences,
}

fn row(facts: &Facts, election: &Election, forecast: Option<&Ranked>) -> ElectionBody {
    let coming = !facts.is_past(election) && election.status != DateCertainty::Cancelled;
    let forecast = forecast.filter(|_| coming);
    let key_drivers = forecast.map(Ranked::drivers).unwrap_or_default();
    let (days_until, (source, doubt)) = (facts.days_until(election), election.known());
    ElectionBody {
        country: election.country.clone(),
        country_name: world::name(&election.country),
        title: election.title.clone(),
        r#type: election.kind.as_str(),
        date: election.when.text(),
        date_precision: election.when.precision().as_str(),
        status: election.status.as_str(),
        source: source.to_owned(),
        doubt: doubt.map(str::to_owned),
        days_until,
        importance: facts.importance(election),
        risk_tier: facts.tier(&election.country),
        risk_level: forecast.map_or("unknown", |forecast| word(&RISKS, forecast.most())),
        forecast_risk: forecast.map(Ranked::most),
        forecast_risk_day: forecast.map(|forecast| forecast.max_risk_day),
        forecast_covers: forecast.is_some() && days_until.is_some_and(|days| (0..=FORECAST_DAYS).contains(&days)),
        sentences: Sentences::new().with("keyDrivers", &key_drivers),
        key_drivers,
    }
}

/// The forecasts by country code, and their caveats.
fn overlay(all: &Everywhere) -> (BTreeMap<&str, &Ranked>, Vec<Sentence>) {
    let mut caveats = all.caveats();
    caveats.push(shipped::AGE);
    // A count of days.
    caveats.push(Sentence::new("election.horizon").with("days", FORECAST_DAYS.unsigned_abs()));
    (all.countries.iter().map(|row| (row.country.as_str(), row)).collect(), caveats)
}

fn license(cx: &Cx, facts: &Facts, forecast: Option<&str>) -> String {
    let events = facts.known.covered.map(|_| Source::AccessNow.licence_under(cx.settings()));
    licence::effective([starter::LICENCE].into_iter().chain(forecast).chain(events))
}

async fn upcoming(cx: Cx) -> Result<Response> {
    cx.kept(upcoming_page(&cx)).await
}

async fn upcoming_page(cx: &Cx) -> Result<Response> {
    let days = cx.count("days", DEFAULT_DAYS, MOST_DAYS)?;
    let facts = Facts::gather(cx).await?;
    let all = served::everywhere(cx).await?;
    let (forecasts, caveats) = overlay(&all);
    let coming = facts.coming(i32::try_from(days).unwrap_or(i32::MAX));
    let mut elections: Vec<ElectionBody> =
        coming.map(|election| row(&facts, election, forecasts.get(election.country.as_str()).copied())).collect();
    // The elections are in the order of dates, and this sort keeps that order among equal risks.
    let risk = |row: &ElectionBody| row.forecast_risk.unwrap_or(-1.0);
    elections.sort_by(|a, b| risk(b).total_cmp(&risk(a)));
    let mut said = Sentences::new();
    Response::json(&UpcomingBody {
        days,
        count: elections.len(),
        generated_at: cx.now().to_string(),
        elections,
        license: license(cx, &facts, all.model_version.as_ref().map(|_| all.license.as_str())),
        model_version: all.model_version,
        caveats: said.add("caveats", caveats),
        sentences: said,
    })
}

async fn calendar(cx: Cx) -> Result<Response> {
    cx.kept(calendar_page(&cx)).await
}

async fn calendar_page(cx: &Cx) -> Result<Response> {
    let year = match cx.query("year")? {
        None => None,
        Some(text) => {
            let year = Some(text.as_str()).filter(|text| text.len() == 4).and_then(|text| text.parse::<u16>().ok());
            let wrong = || Error::bad_request("Query parameter `year` must be a year, such as 2027.");
            Some(i64::from(year.ok_or_else(wrong)?))
        }
    };
    let facts = Facts::gather(cx).await?;
    let all = served::everywhere(cx).await?;
    let (forecasts, caveats) = overlay(&all);
    let asked = facts.known.elections.iter().filter(|election| year.is_none_or(|year| election.when.year() == year));
    let elections: Vec<CalendarRow> = asked
        .map(|election| CalendarRow {
            election: row(&facts, election, forecasts.get(election.country.as_str()).copied()),
            past: facts.is_past(election),
        })
        .collect();
    let mut said = Sentences::new();
    Response::json(&CalendarBody {
        count: elections.len(),
        year,
        generated_at: cx.now().to_string(),
        elections,
        license: license(cx, &facts, all.model_version.as_ref().map(|_| all.license.as_str())),
        model_version: all.model_version,
        caveats: said.add("caveats", caveats),
        sentences: said,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
struct AssessmentBody {
    /// `critical`, `elevated` or `normal`.
    level: &'static str,
    /// In words.
    factors: Vec<Sentence>,
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ComingBody {
    title: String,
    r#type: &'static str,
    date: String,
    date_precision: &'static str,
    status: &'static str,
    source: String,
    /// What speaks against the date; null where nothing is known.
    doubt: Option<String>,
    days_until: Option<i32>,
    importance: &'static str,
}

/// The shutdowns around the country's elections in the time that reported shutdowns cover.
#[derive(Debug, Serialize, JsonSchema)]
struct PatternBody {
    past_elections: usize,
    /// Incidents that may be cited as censorship and began within `window_days` of an election.
    incidents_around_elections: usize,
    avg_incidents_per_election: f64,
    /// In words; `unknown` without a past election in that time.
    historical_risk: Sentence,
    /// Shutdowns that sources reported around elections, and elections with such a shutdown.
    shutdowns_around_elections: u32,
    elections_with_shutdown: u32,
    /// Share of elections with a shutdown, mixed with that of all countries; null while too few elections are known.
    shrunk_share: Option<f64>,
    /// Days before and after an election.
    window_days: i32,
    /// The days that reported shutdowns cover; null without any.
    covered_from: Option<String>,
    covered_until: Option<String>,
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ForecastSummaryBody {
    max_risk: f64,
    max_risk_day: i32,
    avg_risk: f64,
    risk_7day: f64,
    key_drivers: Vec<Sentence>,
    model_version: String,
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BriefingBody {
    country: String,
    country_name: String,
    /// 1 to 4, lower is more severe; 0 without a score of the index.
    risk_tier: u8,
    risk_assessment: AssessmentBody,
    /// Elections of the next 180 days, by date.
    upcoming_elections: Vec<ComingBody>,
    historical_pattern: PatternBody,
    /// Made from base rates while no model is served; `model_version` says which.
    forecast_summary: ForecastSummaryBody,
    caveats: Vec<Sentence>,
    generated_at: String,
    license: String,
    sentences: Sentences,
}

fn date(day: i32) -> String {
    Timestamp(i64::from(day) * DAY).to_date_text()
}

fn pattern(facts: &Facts, country: &str, beginnings: &[Timestamp]) -> PatternBody {
    let own = facts.known.pattern(country);
    let elections = own.days.len();
    let around = |start: &&Timestamp| {
        let start = i32::try_from(start.day()).unwrap_or(i32::MAX);
        own.days.iter().any(|day| (day - start).abs() <= AROUND)
    };
    let incidents = beginnings.iter().filter(around).count();
    let historical_risk = match elections {
        0 => Sentence::new("election.pattern.unknown"),
        _ => Sentence::new("election.pattern").with("with", own.with).with("elections", elections),
    };
    PatternBody {
        past_elections: elections,
        incidents_around_elections: incidents,
        avg_incidents_per_election: round(incidents as f64 / elections.max(1) as f64),
        sentences: Sentences::new().with("historical_risk", &historical_risk),
        historical_risk,
        shutdowns_around_elections: own.starts,
        elections_with_shutdown: own.with,
        shrunk_share: facts.known.share(country).map(round),
        window_days: AROUND,
        covered_from: facts.known.covered.map(|(first, _)| date(first)),
        covered_until: facts.known.covered.map(|(_, last)| date(last)),
    }
}

/// Says how much care a country needs, and why. Base rates never raise the level; only a learned forecast does.
fn assess(facts: &Facts, country: &str, week: &Week, pattern: &PatternBody) -> AssessmentBody {
    let risk = week.summary.max_risk.max(week.summary.risk_7day);
    let mut factors = Vec::new();
    // 0 is normal, 1 elevated, 2 critical.
    let mut level = 0;
    if week.is_learned() {
        factors.push(Sentence::new("election.forecast").with("risk", week.summary.risk_7day));
        level = level.max(u8::from(risk >= 0.3) + u8::from(risk >= served::THRESHOLD));
    }
    let share = pattern.shrunk_share.unwrap_or(0.0);
    let tier = facts.tier(country);
    let severe = SEVERE_TIERS.contains(&tier);
    for election in facts.coming(BRIEFING_DAYS).filter(|election| election.country == country) {
        let coming = Sentence::new("election.coming").with("title", &election.title);
        // A coming election is 0 or more days ahead.
        let days = facts.days_until(election).map(i32::unsigned_abs);
        factors.push(coming.with("date", election.when.text()).with("days", days));
        let within = |days: i32| facts.days_until(election).is_some_and(|until| until <= days);
        if !election.kind.is_national() {
            continue;
        }
        if within(VERY_CLOSE) && pattern.elections_with_shutdown > 0 {
            level = 2;
        }
        if within(CLOSE) && (severe || pattern.elections_with_shutdown > 0 || share >= NOTABLE_SHARE) {
            level = level.max(1);
        }
    }
    if pattern.past_elections > 0 {
        let known = Sentence::new("election.reported").with("pattern", pattern.historical_risk.clone());
        factors.push(known);
    }
    if severe {
        factors.push(Sentence::new("election.tier").with("tier", tier).with("of", MOST_TIER));
    }
    let level = match level {
        0 => "normal",
        1 => "elevated",
        _ => "critical",
    };
    AssessmentBody { level, sentences: Sentences::new().with("factors", &factors), factors }
}

/// Statements about what is not known, and why.
fn gaps(facts: &Facts, country: &str, week: &Week, pattern: &PatternBody) -> Vec<Sentence> {
    let mut gaps = Vec::new();
    if facts.known.covered.is_none() {
        gaps.push(Sentence::new("election.no_history"));
    } else if pattern.past_elections == 0 {
        gaps.push(Sentence::new("election.no_past"));
    }
    if !facts.known.elections.iter().any(|election| election.country == country && !facts.is_past(election)) {
        gaps.push(Sentence::new("election.no_coming"));
    }
    if facts.tier(country) == 0 {
        gaps.push(Sentence::new("election.no_tier"));
    }
    let vague = facts.known.elections.iter().find(|election| {
        election.country == country && !facts.is_past(election) && election.when.precision() != Precision::Day
    });
    if let Some(election) = vague {
        let vague = Sentence::new("election.vague").with("title", &election.title);
        gaps.push(vague.with("date", election.when.text()));
    }
    if facts.coming(BRIEFING_DAYS).any(|election| election.country == country && shipped::all().contains(election)) {
        gaps.push(shipped::AGE);
    }
    gaps.extend(week.caveats());
    gaps
}

async fn briefing(cx: Cx) -> Result<Response> {
    cx.kept(briefing_page(&cx)).await
}

async fn briefing_page(cx: &Cx) -> Result<Response> {
    let country = input::path_country(cx, "country")?;
    let facts = Facts::gather(cx).await?;
    let week = served::week(cx, country.code).await?;
    let asked = Beginnings { country: country.code.to_owned() };
    let beginnings = runtime::query(&*cx.rt, incidents::actor().name, &asked).await?;
    let pattern = pattern(&facts, country.code, &beginnings);
    let coming = facts.coming(BRIEFING_DAYS).filter(|election| election.country == country.code);
    let coming = coming.map(|election| (election, election.known())).map(|(election, (source, doubt))| ComingBody {
        title: election.title.clone(),
        r#type: election.kind.as_str(),
        date: election.when.text(),
        date_precision: election.when.precision().as_str(),
        status: election.status.as_str(),
        source: source.to_owned(),
        doubt: doubt.map(str::to_owned),
        days_until: facts.days_until(election),
        importance: facts.importance(election),
    });
    let mut said = Sentences::new();
    Response::json(&BriefingBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        risk_tier: facts.tier(country.code),
        risk_assessment: assess(&facts, country.code, &week, &pattern),
        upcoming_elections: coming.collect(),
        caveats: said.add("caveats", gaps(&facts, country.code, &week, &pattern)),
        historical_pattern: pattern,
        license: license(cx, &facts, Some(&week.license)),
        forecast_summary: ForecastSummaryBody {
            max_risk: week.summary.max_risk,
            max_risk_day: week.summary.max_risk_day,
            avg_risk: week.summary.avg_risk,
            risk_7day: week.summary.risk_7day,
            sentences: Sentences::new().with("key_drivers", week.summary.drivers().as_slice()),
            key_drivers: week.summary.drivers(),
            model_version: week.model_version,
        },
        generated_at: cx.now().to_string(),
        sentences: said,
    })
}
