//! The log of events for auditors: signed heads, proofs, export (decision ledger-log).

use crate::routes::pay_route;
use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::act::{self, did, refused, schema};
use super::proof::Reader;
use crate::ACTOR;
use crate::auditor::head_bytes;
use crate::book::{DID_PATTERN, name_of};
use crate::form::Hidden;
use crate::log::{Balances, Compare, Export, Exported, Prove, ReadHead, Which};
use crate::merkle::leaf_hash;
use crate::reason::Reason;
use crate::rows::{Micro, Name, parse_id};
use crate::segment::open::ask;
use crate::{Error, Result};
use crypto::encoding::{encode_base64, encode_hex};
use crypto::signing;
use engine::http::{Auth, Cx, Limit, Param, Response, Route, handler, is_operator};
use engine::runtime;
use relay::federation::key;

/// Most events, or wallets, on a page.
const MAX_PAGE: u32 = 1_000;

pub const ROUTES: &[Route] = &[
    pay_route(Route::get("/v1/pay/audit/head", handler!(head)), Auth::None, Limit::PayRead)
        .extension()
        .returns::<Head>()
        .summary("The size of the log of events and the root of its Merkle tree, signed by the deployment."),
    pay_route(Route::get("/v1/pay/audit/proof/{id}", handler!(prove)), Auth::None, Limit::PayRead)
        .extension()
        .params(&[Param::optional("size", "Size of the log that the proof is for; the present size when left out.")
            .at_least(1)])
        .returns::<EventProof>()
        .summary("The proof that an event is in the log, by the id of a transfer or an escrow, or by its place."),
    pay_route(Route::get("/v1/pay/audit/consistency", handler!(consistency)), Auth::None, Limit::PayRead)
        .extension()
        .params(&[
            Param::required("from", "An earlier size of the log, at least 1.").at_least(1),
            Param::optional("to", "A later size; the present size when left out.").at_least(1),
        ])
        .returns::<Consistency>()
        .summary("The proof that the log begins with an earlier log."),
    pay_route(Route::get("/v1/pay/audit/log", handler!(export)), Auth::None, Limit::PayRead)
        .extension()
        .params(&[
            Param::optional("from", "The first event, by its place; default 0.").at_least(0).default("0"),
            Param::optional("limit", "Events per page, at most 1,000; default 100.").rows("100"),
        ])
        .returns::<Log>()
        .summary("Events in order, with free texts as salted hashes. The operator sees the texts too."),
    pay_route(Route::get("/v1/pay/audit/balances", handler!(balances)), Auth::None, Limit::PayRead)
        .extension()
        .params(&[
            Param::optional("after", "The DID after which to begin.").like(DID_PATTERN),
            Param::optional("limit", "Wallets per page, at most 1,000; default 100.").rows("100"),
        ])
        .returns::<BalanceList>()
        .summary("All wallets with the size of the log that led to these balances."),
];

/// A signed tree head.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LogHead")]
pub struct Head {
    schema: String,
    deployment: String,
    /// Number of events.
    size: u64,
    /// Merkle tree hash of RFC 9162, hexadecimal.
    root: String,
    time: String,
    /// Base64, Ed25519: the deployment's own key, that of /v1/relay/info.
    key: String,
    /// Base64, Ed25519 over the canonical form of the members above it, without `key`.
    signature: String,
}

async fn head(cx: Cx) -> Result<Response> {
    let (size, root) = runtime::query(&*cx.rt, ACTOR, &ReadHead).await?;
    // A HEAD request may not write, so it makes no key.
    if cx.request.method == Method::HEAD {
        return Response::json(&Value::Null);
    }
    let own = key::own(&*cx.rt, false).await?;
    let (schema, deployment) = (schema(&cx, "audit-head"), cx.rt.environment().deployment.clone());
    let (root, time) = (encode_hex(&root), cx.now().to_micros_text());
    let bytes = head_bytes(&schema, &deployment, size, &root, &time);
    let signature = signing::sign(&own.open(&*cx.rt)?, &bytes);
    key::passing_by(&*cx.rt, &own).await;
    let (key, signature) = (encode_base64(&own.public), encode_base64(&signature));
    Ok(Response::json(&Head { schema, deployment, size, root, time, key, signature })?
        .with("cache-control", "no-store"))
}

/// A text that the log shows as a hash.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerText")]
pub struct Text {
    /// Its place in `signed.form`: names and places in lists, with `/` between them. `../hash` and `../signature` are
    /// beside it.
    path: String,
    /// 32 bytes in hexadecimal. The log has the SHA-256 of these bytes and the text.
    salt: String,
    text: String,
}

fn texts(hidden: Vec<Hidden>) -> Vec<Text> {
    let text = |hidden: Hidden| Text { path: hidden.path, salt: encode_hex(&hidden.salt), text: hidden.text };
    hidden.into_iter().map(text).collect()
}

/// An event of the log.
#[derive(Serialize, JsonSchema)]
pub struct LogEntry {
    /// Hexadecimal: SHA-256 of a zero byte and the canonical form of `event`.
    leaf: String,
    /// `seq`, `time`, `kind`, `actor`, `changes` by DID, and, where there are, `id`, `reason`, `signed`, `details`.
    event: Value,
    /// The rows that existing readers of audit logs look for: new wallets and new credit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    audit: Vec<AuditRow>,
    /// Only for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<Vec<Text>>,
}

/// A part of an event, in the words that clients read.
#[derive(Serialize, JsonSchema)]
pub struct AuditRow {
    /// `create_wallet` or `credit_grant`.
    action: &'static str,
    /// `system:create`, `system:auto_create_on_receive`, `system:faucet` or `admin:<keyid>`.
    actor: String,
    /// The DID of the wallet.
    did: String,
}

/// The rows of an event. They are not in its leaf: the event's own kind, actor and changes say the same.
fn audit_rows(event: &Value) -> Vec<AuditRow> {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let (kind, by) = (text(event, "kind"), text(event, "actor"));
    let granted = match kind.as_str() {
        "faucet" => Some("system:faucet".to_owned()),
        "grant" => Some(by.clone()),
        _ => None,
    };
    let mut rows = Vec::new();
    for change in event["changes"].as_array().into_iter().flatten() {
        let did = text(change, "did");
        if change["created"] == true {
            let actor = if kind == "wallet_create" { by.clone() } else { "system:auto_create_on_receive".to_owned() };
            rows.push(AuditRow { action: "create_wallet", actor, did: did.clone() });
        }
        if let Some(actor) = granted.clone() {
            rows.push(AuditRow { action: "credit_grant", actor, did });
        }
    }
    rows
}

impl LogEntry {
    fn new(exported: Exported, revealed: bool) -> Result<LogEntry> {
        let event: Value = serde_json::from_str(&exported.form).map_err(Error::internal)?;
        Ok(LogEntry {
            leaf: encode_hex(&leaf_hash(exported.form.as_bytes())),
            audit: audit_rows(&event),
            event,
            texts: revealed.then(|| texts(exported.hidden)),
        })
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EventProof")]
pub struct EventProof {
    schema: String,
    seq: u64,
    size: u64,
    leaf: String,
    /// Hexadecimal, from the leaf to the root (RFC 9162, 2.1.3).
    path: Vec<String>,
    event: Value,
    /// Only for the operator, and for a reader that proves to be a party.
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<Vec<Text>>,
}

/// A size or a place in the query.
fn number(cx: &Cx, name: &str) -> Result<Option<u64>> {
    let Some(text) = cx.query(name)? else { return Ok(None) };
    let number =
        text.parse().map_err(|_| Error::bad_request(format!("Query parameter `{name}` must be a whole number.")));
    number.map(Some)
}

async fn prove(cx: Cx) -> Result<Response> {
    let size = number(&cx, "size")?;
    let asked = cx.path("id")?;
    let which = match (parse_id(asked), asked.parse()) {
        (Some(id), _) => Which::Id(id),
        (None, Ok(seq)) => Which::Seq(seq),
        (None, Err(_)) => return refused(&cx, Reason::TransferNotFound.into()),
    };
    let Some(found) = ask(&*cx.rt, Prove { which, size }).await? else {
        if let Some(size) = size {
            let (total, _) = runtime::query(&*cx.rt, ACTOR, &ReadHead).await?;
            if !(1..=total).contains(&size) {
                return Err(Error::bad_request(format!("Query parameter `size` must be from 1 to {total}.")));
            }
        }
        return refused(&cx, Reason::TransferNotFound.into());
    };
    let revealed =
        is_operator(&*cx.rt, &cx.request) || Reader::of(&cx).await?.is_one_of(found.parties.iter().map(String::as_str));
    Response::json(&EventProof {
        schema: schema(&cx, "audit-proof"),
        seq: found.seq,
        size: found.size,
        leaf: encode_hex(&found.leaf),
        path: found.path.iter().map(|hash| encode_hex(hash)).collect(),
        event: serde_json::from_str(&found.form).map_err(Error::internal)?,
        texts: revealed.then(|| texts(found.hidden)),
    })
}

#[derive(Serialize, JsonSchema)]
pub struct Consistency {
    schema: String,
    from: u64,
    to: u64,
    /// Hexadecimal (RFC 9162, 2.1.4).
    path: Vec<String>,
}

async fn consistency(cx: Cx) -> Result<Response> {
    let from = number(&cx, "from")?.ok_or_else(|| Error::bad_request("Query parameter `from` is missing."))?;
    let compare = Compare { from, to: number(&cx, "to")? };
    let Some((to, path)) = runtime::query(&*cx.rt, ACTOR, &compare).await? else {
        return Err(Error::bad_request("`from` must be at least 1, and `to` between `from` and the log's size."));
    };
    let path = path.iter().map(|hash| encode_hex(hash)).collect();
    Response::json(&Consistency { schema: schema(&cx, "audit-consistency"), from, to, path })
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LogPage")]
pub struct Log {
    schema: String,
    /// Number of events in the whole log.
    size: u64,
    events: Vec<LogEntry>,
    /// The `from` of the next page; null at the end.
    next: Option<u64>,
}

async fn export(cx: Cx) -> Result<Response> {
    let (from, limit) = (number(&cx, "from")?.unwrap_or_default(), act::page_size(&cx, 100, MAX_PAGE)?);
    let (size, page) = ask(&*cx.rt, Export { from, limit }).await?;
    let revealed = is_operator(&*cx.rt, &cx.request);
    let end = from.saturating_add(page.len() as u64);
    let events = page.into_iter().map(|exported| LogEntry::new(exported, revealed)).collect::<Result<_>>()?;
    let next = (end < size).then_some(end);
    Response::json(&Log { schema: schema(&cx, "audit-log"), size, events, next })
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WalletBalance")]
pub struct Balance {
    did: String,
    balance_micro: Micro,
    locked_micro: Micro,
}

#[derive(Serialize, JsonSchema)]
pub struct BalanceList {
    schema: String,
    /// Number of events that led to these balances.
    size: u64,
    wallets: Vec<Balance>,
    /// The `after` of the next page; null at the end.
    next: Option<String>,
}

async fn balances(cx: Cx) -> Result<Response> {
    let limit = act::page_size(&cx, 100, MAX_PAGE)?;
    let after = match cx.query("after")? {
        None => None,
        Some(given) => match name_of(&cx.settings().brand, &given) {
            Some(name) => Some(name.to_owned()),
            None => return refused(&cx, Reason::InvalidDid.into()),
        },
    };
    let (size, rows) = runtime::query(&*cx.rt, ACTOR, &Balances { after, limit }).await?;
    let balance = |(name, balance_micro, locked_micro): (Name, Micro, Micro)| {
        let did = did(&cx, &name);
        Balance { did, balance_micro, locked_micro }
    };
    let wallets: Vec<Balance> = rows.into_iter().map(balance).collect();
    let full = wallets.len() == limit as usize;
    let next = wallets.last().filter(|_| full).map(|wallet| wallet.did.clone());
    Response::json(&BalanceList { schema: schema(&cx, "audit-balances"), size, wallets, next })
}
