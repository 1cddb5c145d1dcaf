//! `/health` and `/hydra/v1/health`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::risk::AnyScore;
use crate::{ErrorCode, Result, world};
use engine::http::{Cx, Response};
use engine::runtime;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DetectionHealth")]
pub struct HealthBody {
    status: &'static str,
    version: &'static str,
    /// Names this deployment in texts that are signed for it.
    deployment_id: String,
    time: String,
    checks: Checks,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Checks {
    /// `ok`; `unavailable` if storage does not answer; `failing` if it takes no writes; `damaged` if parts of what is
    /// stored are damaged.
    database: &'static str,
    /// `ok`, or why writes fail, in the words of the system.
    writes: String,
    /// Pages of the data file that are known to be damaged.
    damaged_pages: u64,
    /// `ok`, or `empty` before the first import.
    ingest: &'static str,
    /// The rule list in force.
    model: String,
}

/// Always 200 while the process answers, because probes and monitors depend on it.
pub async fn health(cx: Cx) -> Result<Response> {
    let measured = runtime::query(&*cx.rt, world::actor().name, &AnyScore).await;
    let storage = cx.rt.storage();
    let (status, database) = match (&measured, &storage.failing, storage.damaged_pages) {
        (Err(error), ..) if error.code == ErrorCode::Damaged => ("degraded", "damaged"),
        (Err(_), ..) => ("degraded", "unavailable"),
        (Ok(_), Some(_), _) => ("degraded", "failing"),
        (Ok(_), None, 1..) => ("degraded", "damaged"),
        (Ok(_), None, 0) => ("ok", "ok"),
    };
    let ingest = if measured.is_ok_and(|measured| measured) { "ok" } else { "empty" };
    Response::json(&HealthBody {
        status,
        version: env!("CARGO_PKG_VERSION"),
        deployment_id: cx.rt.environment().deployment.clone(),
        time: cx.now().to_string(),
        checks: Checks {
            database,
            writes: storage.failing.unwrap_or_else(|| "ok".to_owned()),
            damaged_pages: storage.damaged_pages,
            ingest,
            model: format!("rules {}", crate::country::RULES_VERSION),
        },
    })
}
