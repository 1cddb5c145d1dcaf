//! The operator's routes and the health checks. They are extensions of the API (decisions commands-on-servers and
//! listed-extensions).
//!
//! Keys are managed in the same way on both runtimes. Only the native server can inspect and copy its data file. On the
//! edge the platform keeps the data, with a point-in-time recovery of its own, and those routes answer 404.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::crypto::encoding::{encode_hex, parse_actor_id};
use crate::engine::deployment::{self, Keys, ListedKey, WhoAmI};
use crate::engine::http::{Body, Cx, Param, Response, Route, handler};
use crate::engine::runtime::{self, FileInfo, Maintenance, Scrub};
use crate::relay::agent;
use crate::relay::agent::reseal::{Progress, reseal};
use crate::relay::keys::{RevokeAccount, SignupResponse, Tier};
use crate::{Error, ErrorCode, Result};

pub const ROUTES: &[Route] = &[
    Route::get("/healthz", handler!(healthz)).extension().returns::<Health>().summary("Check that the process runs."),
    Route::get("/readyz", handler!(readyz))
        .extension()
        .effectful()
        .returns::<Health>()
        .summary("Check that a write becomes durable right now; 503 if not."),
    Route::get("/v1/admin/keys", handler!(list_keys))
        .admin()
        .extension()
        .params(&[
            Param::optional("after", "The `next` of the page before."),
            Param::optional("limit", "Keys per page, at most 1,000; default 100."),
        ])
        .returns::<KeyPage>()
        .summary("List API keys, without their secrets."),
    Route::post("/v1/admin/keys", handler!(create_key))
        .admin()
        .extension()
        .accepts::<NewKey>()
        .creates::<SignupResponse>()
        .summary("Make an API key of any tier. It is shown once."),
    Route::delete("/v1/admin/keys/{account}", handler!(revoke_key))
        .admin()
        .extension()
        .returns::<Revoked>()
        .summary("End an API key at once."),
    Route::post("/v1/admin/master-key", handler!(rotate_master))
        .admin()
        .extension()
        .bodiless()
        .creates::<MasterKeys>()
        .summary("Make a new master key and reseal all values under it, in the background; native only."),
    Route::post("/v1/admin/agents/{did}/reseal", handler!(reseal_agent))
        .admin()
        .extension()
        .bodiless()
        .returns::<Resealed>()
        .summary("Reseal the values of one agent under the current master key."),
    Route::get("/v1/admin/db", handler!(db_info))
        .admin()
        .extension()
        .returns::<DbInfo>()
        .summary("Describe the data file; native only."),
    Route::get("/v1/admin/db/backup", handler!(db_backup))
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
pub struct Health {
    /// `ok` or `ready`.
    pub status: &'static str,
}

async fn healthz(_cx: Cx) -> Result<Response> {
    Response::json(&Health { status: "ok" })
}

async fn readyz(cx: Cx) -> Result<Response> {
    cx.rt.probe().await?;
    Response::json(&Health { status: "ready" })
}

/// A listed API key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct KeyEntry {
    /// Identifies the key, for revoking it.
    pub account: String,
    pub tier: String,
    /// The label that was given with the key.
    pub label: String,
    /// ISO 8601.
    pub created_at: String,
    pub revoked: bool,
}

impl KeyEntry {
    fn of(cx: &Cx, key: ListedKey) -> Result<KeyEntry> {
        Ok(KeyEntry {
            label: crate::relay::keys::shown_label(&*cx.rt, &key.account, &key.label)?,
            account: key.account,
            tier: key.tier,
            created_at: key.created.to_string(),
            revoked: key.revoked,
        })
    }
}

/// One page of keys.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct KeyPage {
    pub keys: Vec<KeyEntry>,
    /// The limit in force: the one asked for, at most 1,000.
    pub limit: u32,
    /// Give it as `after` to get the next page; null on the last one.
    pub next: Option<String>,
}

async fn list_keys(cx: Cx) -> Result<Response> {
    let limit = cx.count("limit", 100, 1_000)?;
    let query = Keys { after: cx.query("after")?, limit };
    let keys = runtime::query(&*cx.rt, deployment::actor().name, &query).await?;
    let next = keys.last().filter(|_| keys.len() == limit as usize).map(|key| key.account.clone());
    let keys = keys.into_iter().map(|key| KeyEntry::of(&cx, key)).collect::<Result<_>>()?;
    Response::json(&KeyPage { keys, limit, next })
}

/// The key to make.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct NewKey {
    pub tier: Tier,
    /// A label for the list of keys; at most 500 characters.
    #[serde(default)]
    pub label: String,
}

async fn create_key(cx: Cx) -> Result<Response> {
    let wanted: NewKey = cx.json()?;
    if wanted.tier == Tier::Demo {
        return Err(Error::bad_request("`tier` must not be `demo`: the demo key comes from the setting `demo_key`."));
    }
    if wanted.label.chars().count() > 500 {
        return Err(Error::bad_request("`label` must be at most 500 characters."));
    }
    Response::created(&crate::relay::keys::create(&*cx.rt, wanted.tier, &wanted.label).await?)
}

/// A revoked key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Revoked {
    pub account: String,
    pub revoked: bool,
}

/// Accepts the account or the whole key, so that a leaked key can be revoked as it was found.
async fn revoke_key(cx: Cx) -> Result<Response> {
    let environment = cx.rt.environment();
    let given = cx.path("account")?;
    let key = environment.secrets.parse_key(&environment.settings.brand, crate::relay::keys::KEY_KIND, given);
    let account = key.map_or(Cow::Borrowed(given), |key| Cow::Owned(key.actor().to_owned())).into_owned();
    if parse_actor_id(&account).is_none() {
        return Err(Error::not_found("There is no such key."));
    }
    runtime::call(&*cx.rt, account.clone(), &RevokeAccount).await?;
    Response::json(&Revoked { account, revoked: true })
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

/// The result of resealing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Resealed {
    pub resealed: u64,
    /// Values that none of the master keys opens; they stay as they are.
    pub unopened: u64,
    /// False if values are left; then ask again.
    pub complete: bool,
}

/// Pages of an agent's values that one request moves, so that it ends in time on the edge.
const RESEAL_PAGES: usize = 20;

async fn reseal_agent(cx: Cx) -> Result<Response> {
    let actor = agent::wire::known_actor(cx.settings(), cx.path("did")?)?;
    let Progress { resealed, unopened, complete } = reseal(&*cx.rt, &actor, RESEAL_PAGES).await?;
    Response::json(&Resealed { resealed, unopened, complete })
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
