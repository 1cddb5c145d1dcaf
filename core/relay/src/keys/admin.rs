//! The operator's routes about API keys.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signup::MAX_LABEL;
use super::{KEY_KIND, RevokeAccount, SignupResponse, Tier, create, shown_label};
use crate::{Error, Result};
use crypto::encoding::parse_actor_id;
use engine::deployment::{self, Keys, ListedKey};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/admin/keys", handler!(list_keys))
        .admin()
        .extension()
        .params(&[
            Param::optional("after", "The `next` of the page before."),
            Param::optional("limit", "Keys per page, at most 1,000; default 100.").count(100, 1_000),
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
];

/// A listed API key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApiKeyEntry")]
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
            label: shown_label(&*cx.rt, &key.account, &key.label)?,
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
#[schemars(rename = "NewApiKey")]
pub struct NewKey {
    pub tier: Tier,
    /// A label for the list of keys; at most 500 characters.
    #[serde(default)]
    #[schemars(length(max = MAX_LABEL))]
    pub label: String,
}

async fn create_key(cx: Cx) -> Result<Response> {
    let wanted: NewKey = cx.json()?;
    if wanted.tier == Tier::Demo {
        return Err(Error::bad_request("`tier` must not be `demo`: the demo key comes from the setting `demo_key`."));
    }
    if wanted.label.chars().count() > MAX_LABEL {
        return Err(Error::bad_request(format!("`label` must be at most {MAX_LABEL} characters.")));
    }
    Response::created(&create(&*cx.rt, wanted.tier, &wanted.label).await?)
}

/// A revoked key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApiKeyRevoked")]
pub struct Revoked {
    pub account: String,
    pub revoked: bool,
}

/// Accepts the account or the whole key, so that a leaked key can be revoked as it was found.
async fn revoke_key(cx: Cx) -> Result<Response> {
    let environment = cx.rt.environment();
    let given = cx.path("account")?;
    let key = environment.secrets.parse_key(&environment.settings.brand, KEY_KIND, given);
    let account = key.map_or(Cow::Borrowed(given), |key| Cow::Owned(key.actor().to_owned())).into_owned();
    if parse_actor_id(&account).is_none() {
        return Err(Error::not_found("There is no such key."));
    }
    runtime::call(&*cx.rt, account.clone(), &RevokeAccount).await?;
    Response::json(&Revoked { account, revoked: true })
}
