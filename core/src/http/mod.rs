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
    crate::admin::ROUTES,
    crate::moving::ROUTES,
    crate::keys::ROUTES,
    crate::agent::register::ROUTES,
    crate::agent::identity::ROUTES,
    crate::agent::profile::ROUTES,
    crate::agent::proof::ROUTES,
    crate::agent::rotate::ROUTES,
    crate::agent::api_key::ROUTES,
    crate::agent::prekeys::ROUTES,
    crate::agent::username::ROUTES,
    crate::agent::did_document::ROUTES,
    crate::directory::discover::ROUTES,
    crate::agent::send::ROUTES,
    crate::agent::receive::ROUTES,
    crate::agent::messages::ROUTES,
    crate::agent::verify::ROUTES,
    crate::agent::pins::ROUTES,
    crate::agent::consent::ROUTES,
    crate::agent::memory::ROUTES,
    crate::agent::presence::ROUTES,
    crate::agent::capabilities::ROUTES,
    crate::agent::tasks::routes::ROUTES,
    crate::agent::broadcasts::ROUTES,
    crate::agent::trust::routes::ROUTES,
    crate::agent::analytics::ROUTES,
    crate::agent::export::ROUTES,
    crate::agent::moderation::ROUTES,
    crate::directory::stats::ROUTES,
    crate::webhook::ROUTES,
    crate::alert::ROUTES,
    crate::relay::info::ROUTES,
    crate::relay::route::ROUTES,
    crate::relay::deliver::ROUTES,
    crate::relay::operate::ROUTES,
    crate::channel::routes::ROUTES,
    crate::attestation::routes::ROUTES,
    crate::probe::community::ROUTES,
    crate::probe::results::ROUTES,
    crate::probe::status::ROUTES,
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
    crate::country::ROUTES,
    crate::analytics::ROUTES,
    crate::incidents::ROUTES,
    crate::claims::ROUTES,
    crate::outlook::ROUTES,
    crate::forecast::ROUTES,
    crate::elections::ROUTES,
    crate::sentinel::ROUTES,
    crate::anomaly::ROUTES,
    crate::classifier::ROUTES,
    crate::atlas::ROUTES,
    crate::incidents::topics::ROUTES,
    crate::forecast::CHANGELOG_ROUTES,
    crate::forecast::RECORD_ROUTES,
    crate::forecast::REPORTING_ROUTES,
    crate::import::ROUTES,
    openapi::ROUTES,
];

/// All routes in one sequence.
pub fn routes() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().flat_map(|list| list.iter())
}
