//! Rankings and profiles over all countries, computed from the verdicts that countries already have.
//!
//! | Module | What |
//! |---|---|
//! | `facts` | the facts about a country that rankings need, computed by the country |
//! | `store` | sending them to the world, and the rows that the world keeps |
//! | `reports` | making JSON and CSV from facts; documents |
//! | `statistics`, `coblocking` | which countries block the same domains |
//! | `measurement`, `quality`, `platforms`, `isps`, `topics`, `tools` | the bodies of the reports |
//! | `dumps` | monthly files |
//! | `tabular` | CSV and validators for tables that are not reports |
//! | `rank` | the rank on a country's page |
//! | `routes` | the endpoints |
//! | `constants` | every number of the analytics |

mod coblocking;
pub mod constants;
mod dumps;
mod facts;
mod isps;
mod measurement;
mod platforms;
mod quality;
pub mod rank;
mod reports;
mod routes;
mod statistics;
mod store;
pub mod tabular;
mod tools;
mod topics;

pub use dumps::{FAMILIES as DUMPS, FILE_PATTERN};
pub(crate) use isps::number as network_number;
pub use reports::{FAMILIES, NOTHING};
pub use store::{
    CategoriesChanged, CategoriesOf, DropCategories, ENTRIES, SetCategories, SetPlatforms, tell, tell_nothing,
};
pub use topics::{TOPICS, topic};

use reports::{Answer, CamelAnswer};

use ::facts::starter::categories::CODE_PATTERN;
use engine::http::{Limit, Param, Route, handler};

const AS_OF: Param = Param::optional(
    "as_of",
    "ISO 8601 time: what is known today about the world up to then. A day stands for its end.",
)
.known_time();
pub(crate) const FORMAT: Param =
    Param::optional("format", "`csv` gives the table of the answer as CSV; default `json`.")
        .one_of(&["json", "csv"])
        .default("json");
const COUNTRY: Param = Param::optional("country", "Code of a country, ISO 3166-1 alpha-2.").country();

pub const ROUTES: &[Route] = &[
    Route::get("/v1/measurement/summary", handler!(routes::summary))
        .late()
        .params(&[FORMAT, AS_OF])
        .returns::<Answer<measurement::SummaryBody>>()
        .summary("The global state in one call."),
    Route::get("/v1/measurement/intent-profile", handler!(routes::intent_profile))
        .late()
        .params(&[COUNTRY, FORMAT, AS_OF])
        .returns::<Answer<measurement::IntentBody>>()
        .summary("What kinds of sites countries block."),
    Route::get("/v1/measurement/category-leaders", handler!(routes::category_leaders))
        .late()
        .params(&[
            Param::required("category", "A content category code such as NEWS.").like(CODE_PATTERN).such_as("NEWS"),
            FORMAT,
            AS_OF,
        ])
        .returns::<Answer<measurement::LeadersBody>>()
        .summary("Countries by nationally blocked domains of a category."),
    Route::get("/v1/measurement/co-blocking", handler!(routes::co_blocking))
        .late()
        .params(&[FORMAT, AS_OF])
        .returns::<Answer<measurement::CoBlockingBody>>()
        .summary("Pairs of countries that block the same domains, with the overlap that chance leads to."),
    Route::get("/v1/measurement/most-blocked-domains", handler!(routes::most_blocked))
        .late()
        .params(&[
            Param::optional("category", "Only domains of this category.").like(CODE_PATTERN).such_as("NEWS"),
            FORMAT,
            AS_OF,
        ])
        .returns::<Answer<measurement::MostBlockedBody>>()
        .summary("Domains by the number of countries that block them."),
    Route::get("/v1/measurement/network-depth", handler!(routes::network_depth))
        .late()
        .params(&[COUNTRY, FORMAT, AS_OF])
        .returns::<Answer<quality::DepthBody>>()
        .summary("Measured networks by country."),
    Route::get("/v1/measurement/quality", handler!(routes::quality))
        .late()
        .params(&[FORMAT, AS_OF])
        .returns::<Answer<quality::QualityBody>>()
        .summary("How far the data of each country can be trusted."),
    Route::get("/v1/measurement/techniques", handler!(routes::techniques))
        .late()
        .params(&[COUNTRY, Param::optional("country_code", "The same as `country`.").country(), FORMAT, AS_OF])
        .returns::<Answer<measurement::TechniquesBody>>()
        .summary("Shares of blocking techniques."),
    Route::get("/v1/measurement/by-region", handler!(routes::by_region))
        .late()
        .params(&[
            Param::optional("level", "`continent` (default) or `subregion`.")
                .one_of(&["continent", "subregion"])
                .default("continent"),
            FORMAT,
            AS_OF,
        ])
        .returns::<Answer<measurement::RegionsBody>>()
        .summary("Blocking by region of the world."),
    Route::get("/v1/measurement/info", handler!(routes::info))
        .returns::<routes::InfoBody>()
        .summary("Definitions, numbers and caveats of this group."),
    Route::get("/v1/platforms/scores", handler!(routes::platform_scores))
        .late()
        .params(&[FORMAT, AS_OF])
        .returns::<CamelAnswer<platforms::ScoresBody>>()
        .summary("Platforms by global risk."),
    Route::get("/v1/platform/{platform}/risk", handler!(routes::platform_risk))
        .late()
        .params(&[FORMAT, AS_OF])
        .returns::<CamelAnswer<platforms::RiskBody>>()
        .summary("Where a platform is blocked."),
    Route::get("/v1/platform/{platform}/risk/{country}", handler!(routes::platform_country))
        .late()
        .params(&[AS_OF])
        .returns::<CamelAnswer<platforms::CountryRiskBody>>()
        .summary("The risk of a platform in a country."),
    Route::get("/v1/platforms/country/{country}", handler!(routes::platforms_of_country))
        .late()
        .params(&[FORMAT, AS_OF])
        .returns::<CamelAnswer<platforms::CountryBody>>()
        .summary("Platforms by risk in a country."),
    Route::get("/v1/isp/index", handler!(routes::isp_index))
        .late()
        .params(&[Param::required("country", "Code of a country, ISO 3166-1 alpha-2.").country(), FORMAT, AS_OF])
        .returns::<CamelAnswer<isps::IspIndex>>()
        .summary("Networks of a country by how much they block, those that block most first."),
    Route::get("/v1/isp/{asn}/profile", handler!(routes::isp_profile))
        .late()
        .params(&[FORMAT, AS_OF])
        .returns::<CamelAnswer<isps::IspProfile>>()
        .summary("What a network blocks and by which methods, and its rank in its country."),
    Route::get("/v1/isp/worst", handler!(routes::isp_worst))
        .late()
        .params(&[
            Param::optional("limit", "Most entries of the answer: default 20, at most 500.")
                .count(reports::WORST_DEFAULT, routes::WORST_MOST),
            FORMAT,
            AS_OF,
        ])
        .returns::<CamelAnswer<isps::WorstBody>>()
        .summary("Networks of the world by how much they block, those that block most first."),
    Route::get("/v1/isp/compare", handler!(routes::isp_compare))
        .late()
        .params(&[
            Param::required("asns", "2 to 10 networks, comma-separated, with or without `AS`.")
                .like("^([Aa][Ss])?[0-9]{1,9}(,([Aa][Ss])?[0-9]{1,9}){1,9}$")
                .such_as("AS64500,AS64501"),
            FORMAT,
            AS_OF,
        ])
        .returns::<CamelAnswer<isps::Comparison>>()
        .summary("Two to ten networks side by side: what each blocks and how."),
    Route::get("/v1/topic-censorship-index", handler!(routes::topic_index))
        .late()
        .params(&[
            Param::required("topic", "A topic such as news or lgbtq, or a category code.")
                .like(topics::PATTERN)
                .such_as("news"),
            FORMAT,
            AS_OF,
        ])
        .returns::<CamelAnswer<topics::TopicBody>>()
        .summary("The index over the sites of one topic."),
    Route::get("/data/dumps", handler!(dumps::list))
        .limit(Limit::Data)
        .extension()
        .params(&[COUNTRY])
        .returns::<dumps::DumpsBody>()
        .summary("Countries with monthly aggregates, or the files of one."),
    Route::get("/data/dumps/{file}", handler!(dumps::file))
        .answers(&["text/csv", "application/x-ndjson", "text/plain", "application/json"])
        .limit(Limit::Data)
        .extension()
        .summary("Aggregates of a country and month as CSV or JSON lines, its checksum, or the codebook."),
    Route::get("/v1/vpn-accessibility", handler!(routes::vpn_accessibility))
        .late()
        .params(&[
            Param::optional("country", "Only tests that ran in this country.").country(),
            Param::optional("provider", "Only this provider or tool.").one_of(&tools::NAMES).such_as("tor"),
            FORMAT,
            AS_OF,
        ])
        .returns::<tools::ToolsBody>()
        .summary("Reachability of circumvention tools and VPNs."),
];
