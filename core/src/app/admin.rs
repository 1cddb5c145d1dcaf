//! The operator's routes and the health checks. They are extensions of the API (decisions commands-on-servers and
//! listed-extensions).
//!
//! Only the native server can inspect and copy its data file. On the
//! edge the platform keeps the data, with a point-in-time recovery of its own, and those routes answer 404.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::crypto::encoding::encode_hex;
use crate::engine::deployment::{self, WhoAmI};
use crate::engine::http::{Body, Cx, METRICS_TEXT, Response, Route, handler};
use crate::engine::runtime::{self, FileInfo, Maintenance, Scrub};
use crate::{Error, ErrorCode, Result};

pub const ROUTES: &[Route] = &[
    Route::get("/healthz", handler!(healthz)).extension().returns::<Health>().summary("Check that the process runs."),
    Route::get("/readyz", handler!(readyz))
        .extension()
        .effectful()
        .returns::<Health>()
        .summary("Check that a write becomes durable right now; 503 if not."),
    Route::get("/metrics", handler!(metrics))
        .admin()
        .extension()
        .answers(&["text/plain"])
        .summary("What the process counts, in the text format of Prometheus; native only."),
    Route::post("/v1/admin/master-key", handler!(rotate_master))
        .admin()
        .extension()
        .bodiless()
        .creates::<MasterKeys>()
        .summary("Make a new master key and reseal all values under it, in the background; native only."),
    Route::get("/v1/admin/db", handler!(db_info))
        .admin()
        .extension()
        .returns::<DbInfo>()
        .summary("Describe the data file; native only."),
    Route::get("/v1/admin/db/backup", handler!(db_backup))
        .answers(&["application/octet-stream"])
        .admin()
        .extension()
        .effectful()
        .summary("Get a consistent copy of the data file, without the key file; native only."),
    Route::post("/v1/admin/scrub", handler!(scrub))
        .admin()
        .extension()
        .bodiless()
        .returns::<Scrubbed>()
        .summary("Read all data and compare it with its checksums; on the edge the platform does this itself."),
];

/// The answer of a health check.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProcessHealth")]
pub struct Health {
    /// `ok` or `ready`.
    pub status: &'static str,
}

async fn healthz(_cx: Cx) -> Result<Response> {
    Response::json(&Health { status: "ok" })
}

async fn readyz(cx: Cx) -> Result<Response> {
    cx.rt.write_check().await?;
    Response::json(&Health { status: "ready" })
}

/// What the process counts (decision metrics-of-a-process).
async fn metrics(cx: Cx) -> Result<Response> {
    let Some(text) = cx.rt.metrics().await? else {
        let message = "This deployment is no one process that could count: its platform counts requests, errors and \
                       times, and shows them to its operator.";
        return Err(Error::new(ErrorCode::NotFound, message));
    };
    let response = Response::new(http::StatusCode::OK, METRICS_TEXT, text);
    Ok(response.with("cache-control", "no-store"))
}

/// The master keys after a rotation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MasterKeys {
    /// Identifies the current key; 16 hexadecimal digits.
    pub key_id: String,
    /// Number of earlier keys. They are kept for ever, for the API keys and address hashes made under them.
    pub earlier_keys: u64,
}

async fn rotate_master(cx: Cx) -> Result<Response> {
    let Some(maintenance) = cx.rt.maintenance() else {
        let message = "The master keys of this deployment are secrets of its platform: set HELIOGRAPH_MASTER_KEY and \
                       HELIOGRAPH_MASTER_KEYS_EARLIER there.";
        return Err(Error::new(ErrorCode::NotFound, message));
    };
    maintenance.rotate_master().await?;
    let ring = cx.rt.environment().secrets.sealing();
    Response::created(&MasterKeys {
        key_id: encode_hex(&ring.current().id()),
        earlier_keys: u64::try_from(ring.earlier()).map_err(Error::internal)?,
    })
}

/// The deployment and its data file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DbInfo {
    pub deployment: String,
    pub brand: String,
    /// ISO 8601.
    pub created_at: String,
    #[serde(flatten)]
    pub file: FileInfo,
}

fn maintenance(cx: &Cx) -> Result<&dyn Maintenance> {
    cx.rt.maintenance().ok_or_else(|| {
        let message = "This deployment has no data file: its platform keeps the data and offers ways to copy it.";
        Error::new(ErrorCode::NotFound, message)
    })
}

async fn db_info(cx: Cx) -> Result<Response> {
    let file = maintenance(&cx)?.info().await?;
    let identity = runtime::query(&*cx.rt, deployment::actor().name, &WhoAmI).await?;
    let identity = identity.ok_or_else(|| Error::internal("the running deployment has no identity"))?;
    let (brand, created_at) = (identity.brand, identity.created.to_string());
    Response::json(&DbInfo { deployment: identity.id, brand, created_at, file })
}

/// The result of a scrub.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StorageScrubbed")]
pub struct Scrubbed {
    /// False if the platform keeps the data and checks it itself; then only `note` has a meaning.
    pub supported: bool,
    /// The reason if it is not supported.
    pub note: Option<String>,
    #[serde(flatten)]
    pub found: Scrub,
}

async fn scrub(cx: Cx) -> Result<Response> {
    let Some(maintenance) = cx.rt.maintenance() else {
        let note = "The platform keeps the data of this deployment and checks it with checksums of its own.";
        return Response::json(&Scrubbed { supported: false, note: Some(note.into()), found: Scrub::default() });
    };
    Response::json(&Scrubbed { supported: true, note: None, found: maintenance.scrub().await? })
}

async fn db_backup(cx: Cx) -> Result<Response> {
    let copy = maintenance(&cx)?.backup().await?;
    let mut response = Response::new(http::StatusCode::OK, "application/octet-stream", "");
    response.set("content-disposition", "attachment; filename=\"heliograph.redb\"");
    // A copy that breaks off must not look complete.
    response.set("content-length", &copy.bytes.to_string());
    response.body = Body::Stream(copy.stream);
    Ok(response)
}
