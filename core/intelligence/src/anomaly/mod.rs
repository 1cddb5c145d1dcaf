//! Finds unusual days of countries and domains whose blocking changed (decision features-dates-retries).
//!
//! | Module | What |
//! |---|---|
//! | `counts` | measurements of a country counted by day |
//! | `features` | the twelve features of a day |
//! | `dbscan` | density-based clustering |
//! | `page` | whether a country's last day is unusual |
//! | `digest` | what a country sends to the world every day |
//! | `store` | the digests that the world keeps |
//! | `drift` | domains whose blocking changed most within a week |
//! | `constants` | every number |

pub mod constants;
mod counts;
pub mod dbscan;
mod digest;
mod drift;
mod features;
mod page;
mod store;

pub use counts::{ResultCounts, begins, blocks, counted, nothing_left};
pub use features::FEATURES;
pub use store::{Anomalies, Exposed, NetworksOf, all_days, days_of};

use crate::Result;
use crate::country::routes::input;
use engine::actor::{Entry, Kind, operation, query};
use engine::documents::Family;
use engine::http::{Cx, Limit, Response, Route, handler};

/// Prefixes of the documents.
const PAGE: &str = "v1/anomaly/dbscan/";
const DRIFT: &str = "v1/anomaly/domain-drift";

const MAX_AGE: u32 = 60;

pub const FAMILIES: &[Family] = &[
    Family { prefix: PAGE, owner: Kind::Country, max_age: MAX_AGE, render: page::render },
    Family { prefix: DRIFT, owner: Kind::World, max_age: MAX_AGE, render: store::render_drift },
];

pub const ENTRIES: &[Entry] = &[
    operation::<digest::MakeDigest>(),
    operation::<store::SetDigest>(),
    operation::<store::PublishDrift>(),
    query::<Anomalies>(),
    query::<NetworksOf>(),
];

pub const ROUTES: &[Route] = &[
    Route::get("/v1/anomaly/dbscan/{country}", handler!(dbscan_page))
        .limit(Limit::Data)
        .returns::<page::DbscanBody>()
        .summary("Whether the last day of a country is unlike the days before it."),
    Route::get("/v1/anomaly/domain-drift/leaderboard", handler!(leaderboard))
        .limit(Limit::Data)
        .returns::<drift::DriftBody>()
        .summary("Domains whose blocking over countries changed most within a week."),
];

async fn dbscan_page(cx: Cx) -> Result<Response> {
    let country = input::path_country(&cx, "country")?;
    cx.document(&[PAGE, country.code].concat()).await
}

async fn leaderboard(cx: Cx) -> Result<Response> {
    cx.document(DRIFT).await
}
