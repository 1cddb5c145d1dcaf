//! HTTP without a framework: requests in, responses out, one table of routes.
//!
//! [`ROUTES`] is the single source of routing, authentication, limits, schemas and the OpenAPI document. To add an
//! endpoint: write an `async fn(Cx) -> Result<Response>` beside its resource, and one [`Route`] in that module's
//! `ROUTES`.

mod auth;
mod computing;
mod document;
mod extract;
mod message;
pub mod openapi;
mod proxy;
mod route;
mod router;

pub(crate) use auth::budget_headers;
pub use auth::{Admitted, Caller, is_operator};
pub use computing::Computes;
pub use document::{Ready, revalidated};
pub use extract::{Cx, known_time};
pub use message::{Body, Request, Response};
pub use proxy::{Origin, Proxies, Unheard, neighbourhood};
pub(crate) use route::handler;
pub use route::{Auth, BodyKind, Handler, Limit, Param, Route, SchemaOf};
pub use router::{Matched, Preflight, admit, answer, answer_admitted, preflight, refusal, serve, too_large};

/// Every route, by resource.
pub const ROUTES: &[&[Route]] = &[
    crate::app::admin::ROUTES,
    crate::app::dump::ROUTES,
    crate::relay::keys::ROUTES,
    crate::relay::agent::register::ROUTES,
    crate::relay::agent::identity::ROUTES,
    crate::relay::agent::profile::ROUTES,
    crate::relay::agent::proof::ROUTES,
    crate::relay::agent::rotate::ROUTES,
    crate::relay::agent::api_key::ROUTES,
    crate::relay::agent::prekeys::ROUTES,
    crate::relay::agent::username::ROUTES,
    crate::relay::agent::did_document::ROUTES,
    crate::relay::directory::discover::ROUTES,
    crate::relay::agent::send::ROUTES,
    crate::relay::agent::receive::ROUTES,
    crate::relay::agent::messages::ROUTES,
    crate::relay::agent::verify::ROUTES,
    crate::relay::agent::pins::ROUTES,
    crate::relay::agent::consent::ROUTES,
    crate::relay::agent::memory::ROUTES,
    crate::relay::agent::presence::ROUTES,
    crate::relay::agent::capabilities::ROUTES,
    crate::relay::agent::tasks::routes::ROUTES,
    crate::relay::agent::broadcasts::ROUTES,
    crate::relay::agent::trust::routes::ROUTES,
    crate::relay::agent::analytics::ROUTES,
    crate::relay::agent::export::ROUTES,
    crate::relay::agent::moderation::ROUTES,
    crate::relay::directory::stats::ROUTES,
    crate::relay::webhook::ROUTES,
    crate::intelligence::alert::ROUTES,
    crate::relay::federation::info::ROUTES,
    crate::relay::federation::route::ROUTES,
    crate::relay::federation::deliver::ROUTES,
    crate::relay::federation::operate::ROUTES,
    crate::relay::channel::routes::ROUTES,
    crate::relay::attestation::routes::ROUTES,
    crate::intelligence::probe::community::ROUTES,
    crate::intelligence::probe::results::ROUTES,
    crate::intelligence::probe::status::ROUTES,
    crate::ledger::routes::info::ROUTES,
    crate::ledger::routes::payments::ROUTES,
    crate::ledger::routes::batch::ROUTES,
    crate::ledger::routes::statement::ROUTES,
    crate::ledger::routes::audit::ROUTES,
    crate::ledger::routes::escrows::ROUTES,
    crate::ledger::routes::receipts::ROUTES,
    crate::ledger::routes::market::ROUTES,
    crate::ledger::routes::stats::ROUTES,
    crate::ledger::routes::admin::ROUTES,
    crate::ledger::notify::routes::ROUTES,
    crate::ledger::provider::session::ROUTES,
    crate::ledger::routes::metrics::ROUTES,
    crate::intelligence::country::ROUTES,
    crate::intelligence::analytics::ROUTES,
    crate::intelligence::incidents::ROUTES,
    crate::intelligence::claims::ROUTES,
    crate::intelligence::risk::ROUTES,
    crate::intelligence::forecast::ROUTES,
    crate::intelligence::elections::ROUTES,
    crate::intelligence::sentinel::ROUTES,
    crate::intelligence::anomaly::ROUTES,
    crate::intelligence::classifier::ROUTES,
    crate::intelligence::atlas::ROUTES,
    crate::intelligence::incidents::topics::ROUTES,
    crate::intelligence::forecast::CHANGELOG_ROUTES,
    crate::intelligence::forecast::RECORD_ROUTES,
    crate::intelligence::forecast::REPORTING_ROUTES,
    crate::intelligence::import::ROUTES,
    openapi::ROUTES,
];

/// All routes in one sequence.
pub fn routes() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().flat_map(|list| list.iter())
}
