//! Endpoints that answer from measurements.
//!
//! | Module | What |
//! |---|---|
//! | `answer` | a question about subjects, and what every answer to it says |
//! | `detect` | is a target blocked in a country |
//! | `accessibility` | can a domain or service be reached, by country and everywhere |
//! | `data` | the index, the overview and the data of a country |
//! | `domain`, `history` | a domain in all countries, now and by day |
//! | `leads` | the platform and the incident that an answer leads on to |
//! | `sources` | every source with its state |
//! | `classify` | classifying raw documents |
//! | `admin` | removing a source, computing verdicts again |
//! | `health` | whether the deployment works |
//! | `input` | reading countries, targets and times |

mod accessibility;
mod admin;
pub(crate) mod answer;
mod classify;
mod data;
mod detect;
mod domain;
mod health;
mod history;
pub(crate) mod input;
pub(crate) mod leads;
mod sources;

pub(crate) use accessibility::AT_ONCE;
pub(super) use accessibility::summary_body;
pub use admin::SweepBody;
pub use classify::{ClassifyResult, classify_one};
pub(super) use data::isps_body;
pub(crate) use data::measured;

use crate::aggregation::history::{BY, SINCE_DAY, UNTIL_DAY};
use crate::analytics::FORMAT;
use engine::http::{Limit, Param, Route, handler};

const AS_OF: Param = Param::optional(
    "as_of",
    "ISO 8601 time: what is known today about the world up to then. A day stands for its end.",
)
.known_time();
const EXPLAIN: Param =
    Param::optional("explain", "`true` adds rules, weights, votes and witnesses.").boolean().default("false");

pub const ROUTES: &[Route] = &[
    Route::post("/hydra/v1/detect", handler!(detect::detect))
        .key()
        .accepts::<detect::DetectRequest>()
        .returns::<detect::DetectBody>()
        .summary("Is a domain or service blocked in a country?"),
    Route::post("/hydra/v1/detect/batch", handler!(detect::batch))
        .key()
        .accepts::<detect::BatchRequest>()
        .returns::<detect::BatchBody>()
        .summary("Detection for up to 50 targets."),
    Route::get("/hydra/v1/health", handler!(health::health))
        .returns::<health::HealthBody>()
        .summary("The same as `/health`."),
    Route::get("/health", handler!(health::health))
        .returns::<health::HealthBody>()
        .summary("Whether the service and its storage are well, and its version. Always 200 while it answers."),
    Route::get("/v1/accessibility/check", handler!(accessibility::check))
        .limit(Limit::Accessibility)
        .params(&[
            Param::required("domain", "A domain, URL or service name.").such_as("telegram.org"),
            Param::required("country", "Code of a country, ISO 3166-1 alpha-2.").country(),
            AS_OF,
            EXPLAIN,
        ])
        .returns::<accessibility::CheckBody>()
        .summary("Can a domain or service be reached in a country?"),
    Route::post("/v1/accessibility/batch", handler!(accessibility::batch))
        .limit(Limit::Accessibility)
        .accepts::<accessibility::BatchRequest>()
        .returns::<accessibility::BatchBody>()
        .summary("Accessibility of up to 50 domains."),
    Route::get("/v1/accessibility/country/{country}/summary", handler!(accessibility::summary))
        .limit(Limit::Accessibility)
        .params(&[FORMAT, AS_OF])
        .returns::<accessibility::SummaryBody>()
        .summary("What is measured as blocked and accessible in a country."),
    Route::get("/v1/accessibility/service/{service}", handler!(accessibility::service))
        .limit(Limit::Accessibility)
        .params(&[FORMAT, AS_OF])
        .returns::<accessibility::ServiceBody>()
        .summary("Where a service is blocked."),
    Route::get("/data/censorship-index.json", handler!(data::index_json))
        .late()
        .params(&[AS_OF])
        .returns::<crate::world::IndexBody>()
        .summary("The censorship index: the measured countries with their scores, most censored first."),
    Route::get("/data/censorship-index.csv", handler!(data::index_csv))
        .answers(&["text/csv"])
        .late()
        .params(&[AS_OF])
        .summary("The censorship index as CSV: a row for each measured country."),
    Route::get("/v1/censorship-index", handler!(data::overview))
        .late()
        .params(&[FORMAT, AS_OF])
        .returns::<crate::world::OverviewBody>()
        .summary("All countries at a glance."),
    Route::get("/v1/censorship-index/{code}", handler!(data::country_overview))
        .late()
        .params(&[AS_OF])
        .returns::<super::documents::CountryOverview>()
        .summary("One country at a glance."),
    Route::get("/data/country/{code}", handler!(data::country))
        .late()
        .limit(Limit::Data)
        .params(&[AS_OF])
        .returns::<super::documents::CountryBody>()
        .summary("A country: its score, and what is measured as blocked there."),
    Route::get("/data/country/{code}/isps", handler!(data::isps))
        .late()
        .limit(Limit::Data)
        .params(&[FORMAT, AS_OF])
        .returns::<data::IspsBody>()
        .summary("Networks of a country by the share of blocked measurements."),
    Route::get("/data/domain/{domain}", handler!(domain::domain))
        .limit(Limit::Data)
        .params(&[FORMAT, AS_OF, EXPLAIN])
        .returns::<domain::DomainBody>()
        .summary("Where a domain or service is blocked, by network."),
    Route::get("/data/domain/{domain}/history", handler!(history::history))
        .limit(Limit::Data)
        .params(&[
            Param::optional("days", "Days of the history, up to now: default 30, at most 365.").count(30, 365),
            SINCE_DAY,
            UNTIL_DAY,
            Param::optional("country", "Only this country. A range of more than 366 days needs it.").country(),
            BY,
            FORMAT,
            AS_OF,
        ])
        .returns_either::<history::HistoryBody, crate::aggregation::history::NetworkHistoryBody>()
        .summary("Blocking of a domain or service by day."),
    Route::get("/data/methodology", handler!(data::methodology))
        .late()
        .returns::<crate::world::Methodology>()
        .summary("How answers are computed, with every number that the code uses."),
    Route::get("/data/sources", handler!(sources::sources))
        .late()
        .extension()
        .returns::<sources::SourcesBody>()
        .summary("Every source: licence, freshness, counts, the last import and its errors."),
    Route::post("/v1/measurement/classify", handler!(classify::classify))
        .max_body(4 << 20)
        .accepts::<classify::ClassifyRequest>()
        .returns::<classify::ClassifyBody>()
        .summary("Classify up to 50 raw OONI documents."),
    Route::delete("/v1/admin/sources/{name}", handler!(admin::drop_source))
        .admin()
        .extension()
        .returns::<admin::SweepBody>()
        .summary("Remove everything that came from one source, in the background."),
    Route::get("/v1/admin/sources/{name}", handler!(admin::dropped))
        .admin()
        .extension()
        .returns::<admin::SweepBody>()
        .summary("How far the removal of a source has come."),
    Route::post("/v1/admin/verdicts/recompute", handler!(admin::recompute))
        .admin()
        .extension()
        .bodiless()
        .returns::<admin::SweepBody>()
        .summary("Compute every verdict again after a change of the rules, in the background."),
    Route::get("/v1/admin/verdicts/recompute", handler!(admin::recomputed))
        .admin()
        .extension()
        .returns::<admin::SweepBody>()
        .summary("How far the last recomputation has come, and what it changed."),
];
