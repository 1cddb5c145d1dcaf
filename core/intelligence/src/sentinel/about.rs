//! `GET /v1/sentinel/manifest.json` and `/v1/sentinel/health`.

use schemars::JsonSchema;
use serde::Serialize;

use super::served;
use crate::{Result, Timestamp};
use engine::http::{Auth, Cx, Response, Route};
use engine::time::DAY;
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;
use facts::starter;

const GROUP: &str = "/v1/sentinel/";
/// The licence of the code, as an SPDX name.
const CODE: &str = "Apache-2.0";
/// Forecasts are made every day, so older ones are stale.
const STALE: i64 = 2 * DAY;

/// For each endpoint, the occasion to call it.
const WHEN: [(&str, &str); 10] = [
    ("current_risk/{country}", "Before a decision about one country: the risk with its reasons and evidence."),
    ("current_risk/batch", "For several countries at once."),
    ("global_heatmap", "To see where the risk is high now."),
    ("attribute", "After an event: whether more is blocked than before and elsewhere."),
    ("accuracy", "Before relying on a forecast: how the served ones came out."),
    ("calibration/history", "To see whether stated coverage held, day by day."),
    ("active-learning-queue", "To review forecasts where a judgement teaches the most."),
    ("report_miss", "When a forecast was wrong, or to confirm what happened. Needs a key."),
    ("manifest.json", "First: it names everything else."),
    ("health", "To see what is served, and how fresh it is."),
];

#[derive(Debug, Serialize, JsonSchema)]
struct LicenseBody {
    data: String,
    code: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct EndpointBody {
    method: String,
    path: &'static str,
    summary: &'static str,
    when_to_call: &'static str,
    /// Where the schema of the answer can be found.
    returns_schema: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ToolBody {
    name: String,
    /// Names of the parameters, those of the path first.
    params: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ManifestBody {
    /// `base_rates` while no model is served, then `learned`.
    stage: &'static str,
    description: &'static str,
    license: LicenseBody,
    endpoints: Vec<EndpointBody>,
    /// The endpoints that can be read, as tools.
    mcp_tools: Vec<ToolBody>,
    reliability_commitment: &'static str,
}

fn ours(cx: &Cx) -> impl Iterator<Item = &'static Route> {
    cx.rt.environment().program.routes().filter(|route| route.path.starts_with(GROUP) && route.auth != Auth::Admin)
}

fn name(route: &Route) -> &'static str {
    route.path.strip_prefix(GROUP).unwrap_or(route.path)
}

fn endpoint(route: &'static Route) -> EndpointBody {
    let when = WHEN.iter().find(|(path, _)| *path == name(route));
    let method = route.method.as_str();
    EndpointBody {
        method: method.to_owned(),
        path: route.path,
        summary: route.summary,
        when_to_call: when.map_or(route.summary, |(_, when)| when),
        returns_schema: format!("/openapi.json#/paths/{}/{}", route.path.replace('/', "~1"), method.to_lowercase()),
    }
}

fn tool(route: &'static Route) -> ToolBody {
    let parts: Vec<&str> = name(route).split('/').collect();
    let in_path = |part: &&str| part.starts_with('{');
    let named: Vec<String> =
        parts.iter().filter(|part| !in_path(part)).map(|part| part.replace(['-', '.'], "_")).collect();
    let path = parts.iter().filter(|part| in_path(part)).map(|part| part.trim_matches(['{', '}']).to_owned());
    ToolBody {
        name: format!("sentinel_{}", named.join("_")),
        params: path.chain(route.params.iter().map(|param| param.name.to_owned())).collect(),
    }
}

pub async fn manifest(cx: Cx) -> Result<Response> {
    cx.kept(manifest_page(&cx)).await
}

async fn manifest_page(cx: &Cx) -> Result<Response> {
    let all = served::everywhere(cx).await?;
    let readable = |route: &&Route| route.method == http::Method::GET;
    Response::json(&ManifestBody {
        stage: if all.model_version.is_some() { "learned" } else { "base_rates" },
        description: "Daily risk that an internet shutdown begins, by country, with what it rests on and how it came out.",
        license: LicenseBody {
            data: match all.model_version {
                Some(_) => Source::AccessNow.licence_under(cx.settings()).to_owned(),
                None => starter::LICENCE.to_owned(),
            },
            code: CODE,
        },
        endpoints: ours(cx).map(endpoint).collect(),
        mcp_tools: ours(cx).filter(readable).map(tool).collect(),
        reliability_commitment: "Every served forecast is stored before its week and judged after it. Accuracy comes from \
            those alone, weak figures stand beside the strong ones, and an answer whose data are too thin says so.",
    })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SentinelHealth")]
pub struct HealthBody {
    /// `ok`; `stale` when the daily forecast is overdue; `base_rates` without a model.
    status: &'static str,
    model_version: String,
    /// When the forecasts were made.
    forecast_at: String,
    /// The newest event that the forecasts know of; null if there is none.
    history_until: Option<String>,
    /// Countries with a forecast.
    countries: usize,
    caveats: Vec<Sentence>,
    generated_at: String,
    sentences: Sentences,
}

pub async fn health(cx: Cx) -> Result<Response> {
    cx.kept(health_page(&cx)).await
}

async fn health_page(cx: &Cx) -> Result<Response> {
    let all = served::everywhere(cx).await?;
    let code = all.countries.first().map_or("US", |row| row.country.as_str());
    let week = served::week(cx, code).await?;
    let made = Timestamp::parse(&week.generated_at);
    let status = match (week.is_learned(), made.is_some_and(|made| cx.now().since(made) <= STALE)) {
        (false, _) => "base_rates",
        (true, true) => "ok",
        (true, false) => "stale",
    };
    let mut said = Sentences::new();
    Response::json(&HealthBody {
        status,
        model_version: week.model_version,
        forecast_at: week.generated_at,
        history_until: week.history_until,
        countries: all.countries.len(),
        caveats: said.add("caveats", all.caveats()),
        generated_at: cx.now().to_string(),
        sentences: said,
    })
}
