//! `/health` and `/hydra/v1/health`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::http::{Cx, Response};
use crate::outlook::AnyScore;
use crate::{Result, runtime, world};

#[derive(Debug, Serialize, JsonSchema)]
pub struct HealthBody {
    status: &'static str,
    version: &'static str,
    /// Names this deployment in what is signed for it.
    deployment_id: String,
    time: String,
    checks: Checks,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Checks {
    /// `ok`, or `unavailable` when storage does not answer.
    database: &'static str,
    /// `ok`, or `empty` before the first import.
    ingest: &'static str,
    /// The rule list in force.
    model: String,
}

/// Always 200 while the process answers: probes and monitors gate on it (spec intelligence 2.7).
pub async fn health(cx: Cx) -> Result<Response> {
    let measured = runtime::query(&*cx.rt, world::actor().name, &AnyScore).await;
    let (status, database) = if measured.is_ok() { ("ok", "ok") } else { ("degraded", "unavailable") };
    let ingest = if measured.is_ok_and(|measured| measured) { "ok" } else { "empty" };
    Response::json(&HealthBody {
        status,
        version: env!("CARGO_PKG_VERSION"),
        deployment_id: cx.rt.environment().deployment.clone(),
        time: cx.now().to_string(),
        checks: Checks { database, ingest, model: format!("rules {}", crate::country::RULES_VERSION) },
    })
}
