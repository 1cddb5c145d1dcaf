//! Actions of operators on the ledger. Four routes take bodies that an admin key signed. Only the operator of the
//! deployment sets these keys (decision operator-keys).

use crate::routes::pay_route;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::act::{self, did, refused, schema};
use super::envelopes::{CapAction, DirectedBody, FreezeAction, FreezeAllAction, GrantAction};
use super::payments::{WalletBody, wallet_body};
use crate::ACTOR;
use crate::admin::{Action, Direct, Directed, FindKey, ReadKeys, SetAdminKey, keyid};
use crate::escrow::Stand;
use crate::json::Members;
use crate::reason::{Reason, Ruled, ensure};
use crate::rows::{Micro, Role, Signed};
use crate::{Error, Result, Timestamp};
use crypto::encoding::{base64_pattern, decode_base64, decode_base64_array, encode_base64};
use crypto::signing;
use engine::http::{Auth, Cx, Limit, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    pay_route(Route::post("/v1/pay/admin/grant", handler!(grant)), Auth::SignedAdmin, Limit::PayWrite)
        .accepts::<DirectedBody<GrantAction>>()
        .returns::<AdminAnswer>()
        .summary("New credit for a wallet, signed by an admin key."),
    pay_route(Route::post("/v1/pay/admin/freeze", handler!(freeze)), Auth::SignedAdmin, Limit::PayWrite)
        .accepts::<DirectedBody<FreezeAction>>()
        .returns::<AdminAnswer>()
        .summary("Keep a wallet from paying, or let it pay again; signed by an admin key."),
    pay_route(Route::post("/v1/pay/admin/cap", handler!(cap)), Auth::SignedAdmin, Limit::PayWrite)
        .accepts::<DirectedBody<CapAction>>()
        .returns::<AdminAnswer>()
        .summary("Change the caps or the allowlist of a wallet, signed by an admin key."),
    pay_route(Route::post("/v1/pay/admin/freeze_all", handler!(freeze_all)), Auth::SignedAdmin, Limit::PayWrite)
        .accepts::<DirectedBody<FreezeAllAction>>()
        .returns::<AdminAnswer>()
        .summary("Stop or start every outflow, signed by an admin key."),
    Route::get("/v1/admin/ledger/keys", handler!(list_keys))
        .admin()
        .extension()
        .returns::<KeyList>()
        .summary("Keys that sign admin actions of the ledger."),
    Route::post("/v1/admin/ledger/keys", handler!(set_key))
        .admin()
        .extension()
        .accepts::<NewKey>()
        .returns::<KeyEntry>()
        .summary("Add a key that signs admin actions of the ledger, or end one."),
];

/// Reads an action, checks its signature, and has the ledger do it.
async fn directed(cx: &Cx, members: Option<Members>, word: &str) -> Ruled<(String, Directed)> {
    let decided = decide(cx, members, word).await;
    act::counted(cx, decided)
}

async fn decide(cx: &Cx, members: Option<Members>, word: &str) -> Ruled<(String, Directed)> {
    let mut members = members.ok_or(Reason::AdminInvalidBody)?;
    let keyid = act::beside(&mut members, "keyid").ok_or(Reason::AdminInvalidBody)?;
    let signature = act::beside(&mut members, "signature_base64").ok_or(Reason::AdminInvalidBody)?;
    let canonical = act::canonical(&mut members, "body").ok_or(Reason::AdminInvalidBody)?;
    let action = Action::read(&cx.settings().brand, &canonical).ok_or(Reason::AdminInvalidBody)?;
    // A signed body is good for one action on one deployment (decision operator-keys).
    let here = action.action == word && action.audience == cx.rt.environment().deployment;
    ensure(here, Reason::AdminInvalidBody)?;
    let find = FindKey { keyid: keyid.clone() };
    let key = runtime::query(&*cx.rt, ACTOR, &find).await?.ok_or(Reason::AdminKeyNotFound)?;
    let signature = decode_base64("signature", &signature).map_err(|_| Reason::AdminSignatureInvalid)?;
    ensure(signing::verify(&key, &canonical, &signature), Reason::AdminSignatureInvalid)?;
    let direct = Direct { keyid: keyid.clone(), signed: Signed { canonical, signature, key } };
    match runtime::call(&*cx.rt, ACTOR, &direct).await? {
        Directed::Refused(reason) => Err(reason.into()),
        directed => Ok((keyid, directed)),
    }
}

/// The forced end of an escrow, for the routes of escrows.
pub async fn escrow(cx: &Cx, members: Option<Members>, word: &str) -> Ruled<Stand> {
    match directed(cx, members, word).await? {
        (_, Directed::Escrow(stand)) => Ok(*stand),
        _ => Err(Error::internal("a forced end of an escrow became something else").into()),
    }
}

#[derive(Default, Serialize, JsonSchema)]
pub struct AdminAnswer {
    schema: String,
    ok: bool,
    action: String,
    keyid: String,
    /// `admin:<keyid>`
    actor: String,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    did: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_balance_micro: Option<Micro>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wallet: Option<WalletBody>,
    /// The DIDs that the wallet may pay; absent if it may pay all.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowlist: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_frozen: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    faucet_disabled: Option<bool>,
}

async fn action(cx: &Cx, word: &str) -> Result<Response> {
    let (keyid, directed) = match directed(cx, act::members(cx), word).await {
        Ok(directed) => directed,
        Err(refusal) => return refused(cx, refusal),
    };
    let answer = AdminAnswer {
        schema: schema(cx, "admin-result"),
        ok: true,
        action: word.to_owned(),
        actor: format!("admin:{keyid}"),
        keyid,
        ..AdminAnswer::default()
    };
    Response::json(&match directed {
        Directed::Wallet { name, wallet, spent, at } => AdminAnswer {
            at: at.to_micros_text(),
            did: Some(did(cx, &name)),
            new_balance_micro: Some(wallet.balance),
            allowlist: wallet.allowlist.as_ref().map(|list| list.iter().map(|name| did(cx, name)).collect()),
            wallet: Some(wallet_body(cx, &name, &wallet, spent)),
            ..answer
        },
        Directed::System { frozen, faucet_disabled, at } => AdminAnswer {
            at: at.to_micros_text(),
            system_frozen: Some(frozen),
            faucet_disabled: Some(faucet_disabled),
            ..answer
        },
        Directed::Escrow(_) | Directed::Refused(_) => return Err(Error::internal("an action became something else")),
    })
}

async fn grant(cx: Cx) -> Result<Response> {
    action(&cx, "grant").await
}

async fn freeze(cx: Cx) -> Result<Response> {
    action(&cx, "freeze").await
}

async fn cap(cx: Cx) -> Result<Response> {
    action(&cx, "cap").await
}

async fn freeze_all(cx: Cx) -> Result<Response> {
    action(&cx, "freeze_all").await
}

/// A key to add, or to end.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "NewLedgerKey")]
pub struct NewKey {
    /// Base64, Ed25519, 32 bytes.
    #[schemars(regex(pattern = base64_pattern(32)))]
    public_key: String,
    /// `all`, `grant`, `freeze` (also all outflows and escrows) or `cap`.
    #[schemars(regex(pattern = "^(all|grant|freeze|cap)$"))]
    role: String,
    /// False ends the key; true is the default.
    active: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerKeyEntry")]
pub struct KeyEntry {
    keyid: String,
    public_key: String,
    role: &'static str,
    active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct KeyList {
    keys: Vec<KeyEntry>,
    /// The `audience` of actions.
    deployment: String,
}

async fn list_keys(cx: Cx) -> Result<Response> {
    let rows = runtime::query(&*cx.rt, ACTOR, &ReadKeys).await?;
    let entry = |(keyid, key): (String, crate::rows::AdminKey)| KeyEntry {
        keyid,
        public_key: encode_base64(&key.key),
        role: key.role.as_str(),
        active: key.active,
        since: Some(Timestamp::to_micros_text(key.since)),
    };
    let keys = rows.into_iter().map(entry).collect();
    Response::json(&KeyList { keys, deployment: cx.rt.environment().deployment.clone() })
}

async fn set_key(cx: Cx) -> Result<Response> {
    let given: NewKey = cx.json()?;
    let key = decode_base64_array("public_key", &given.public_key)?;
    signing::validate_signing_key("public_key", &key)?;
    let role =
        Role::parse(&given.role).ok_or_else(|| Error::bad_request("`role` must be all, grant, freeze or cap."))?;
    let active = given.active.unwrap_or(true);
    runtime::call(&*cx.rt, ACTOR, &SetAdminKey { key, role, active }).await?;
    let entry = KeyEntry { keyid: keyid(&key), public_key: given.public_key, role: role.as_str(), active, since: None };
    Response::json(&entry)
}
