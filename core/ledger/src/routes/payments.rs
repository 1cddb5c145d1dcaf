//! Wallets, transfers, their history, and the faucet.

use crate::routes::pay_route;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::act::{self, Act, did, failed, path_name, refused, schema};
use super::dress_transfer;
use super::envelopes::{FaucetEnvelope, SignedBody, TransferEnvelope};
use super::proof::{Reader, Texts};
use crate::ACTOR;
use crate::book::{DID_PATTERN, name_of};
use crate::envelope::{Content, MAX_DID};
use crate::keys::{OpenWallet, OpenedWallet, ReadWallet, WalletView};
use crate::pay::{Claimant, GRANT};
use crate::reads::{History, ReadTransfer};
use crate::reason::Reason;
use crate::reason::RefusalCounts;
use crate::rows::{Id, Micro, Payment, Settlement, id_text, parse_id};
use crate::segment::open::ask;
use crate::submit::{RefusalFacts, SubmissionResult};
use crate::{Error, Result};
use crypto::encoding::{encode_base64, encode_hex};
use engine::http::{Auth, Cx, Limit, Param, Response, Route, handler};
use engine::runtime;

/// Parameters of lists.
pub const PAGE: &[Param] = &[
    Param::optional("limit", "Rows per page, at most 200; default 20.").rows("20"),
    Param::optional("before", "The `next_cursor` of the page before: only older rows.").date(),
];

pub const ROUTES: &[Route] = &[
    pay_route(Route::post("/v1/pay/wallet", handler!(make_wallet)), Auth::None, Limit::Registration)
        .accepts::<NewWallet>()
        .returns::<WalletAnswer>()
        .summary("Make a wallet with the default caps; an existing wallet stays as it is."),
    pay_route(Route::get("/v1/pay/wallet/{did}", handler!(wallet)), Auth::None, Limit::PayRead)
        .returns::<WalletAnswer>()
        .summary("A wallet. All amounts are whole micro-credits, also in members whose names say credits."),
    pay_route(Route::post("/v1/pay/transfer", handler!(transfer)), Auth::Signed, Limit::PayWrite)
        .dressed(dress_transfer)
        .accepts::<SignedBody<TransferEnvelope>>()
        .returns::<Receipt>()
        .summary("Settle a signed transfer."),
    pay_route(Route::get("/v1/pay/transfer/{id}", handler!(read_transfer)), Auth::None, Limit::PayRead)
        .returns::<TransferAnswer>()
        .summary("A transfer, settled or refused."),
    pay_route(Route::get("/v1/pay/history/{did}", handler!(history)), Auth::None, Limit::PayRead)
        .params(PAGE)
        .returns::<HistoryAnswer>()
        .summary("Transfers from and to a DID, newest first. Memos are shown to a reader that proves to be a party."),
    pay_route(Route::post("/v1/pay/faucet", handler!(faucet)), Auth::Signed, Limit::PayWrite)
        .accepts::<SignedBody<FaucetEnvelope>>()
        .returns::<Granted>()
        .summary("Ten credits, once per DID."),
];

/// The DID that the wallet is for.
#[derive(Deserialize, JsonSchema)]
pub struct NewWallet {
    #[allow(dead_code)]
    #[schemars(length(max = MAX_DID), regex(pattern = DID_PATTERN))]
    did: String,
}

/// A wallet, with its members in every spelling that clients read.
#[derive(Serialize, JsonSchema)]
pub struct WalletBody {
    did: String,
    /// In micro-credits, like all amounts.
    balance_credits: Micro,
    locked_credits: Micro,
    daily_cap_credits: Micro,
    per_tx_cap_credits: Micro,
    balance_micro: Micro,
    locked_micro: Micro,
    daily_cap_micro: Micro,
    per_tx_cap_micro: Micro,
    /// The sum that left the wallet in the last 24 hours.
    spent_24h_micro: Micro,
    /// 1 or 0.
    frozen: u8,
    owner_did: Option<String>,
    created_at: String,
    updated_at: String,
}

#[derive(Serialize, JsonSchema)]
pub struct WalletAnswer {
    schema: String,
    ok: bool,
    /// This request made the wallet.
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<bool>,
    did: String,
    balance_micro: Micro,
    locked_micro: Micro,
    daily_cap_micro: Micro,
    per_tx_cap_micro: Micro,
    frozen: bool,
    wallet: WalletBody,
}

/// The wallet's JSON.
pub fn wallet_body(cx: &Cx, name: &str, wallet: &crate::rows::Wallet, spent: Micro) -> WalletBody {
    WalletBody {
        did: did(cx, name),
        balance_credits: wallet.balance,
        locked_credits: wallet.locked,
        daily_cap_credits: wallet.daily_cap,
        per_tx_cap_credits: wallet.per_tx_cap,
        balance_micro: wallet.balance,
        locked_micro: wallet.locked,
        daily_cap_micro: wallet.daily_cap,
        per_tx_cap_micro: wallet.per_tx_cap,
        spent_24h_micro: spent,
        frozen: u8::from(wallet.frozen),
        owner_did: None,
        created_at: wallet.created.to_micros_text(),
        updated_at: wallet.updated.to_micros_text(),
    }
}

fn wallet_answer(cx: &Cx, name: &str, view: &WalletView, created: Option<bool>) -> Result<Response> {
    let WalletView { wallet, spent, .. } = view;
    Response::json(&WalletAnswer {
        schema: schema(cx, "wallet"),
        ok: true,
        created,
        did: did(cx, name),
        balance_micro: wallet.balance,
        locked_micro: wallet.locked,
        daily_cap_micro: wallet.daily_cap,
        per_tx_cap_micro: wallet.per_tx_cap,
        frozen: wallet.frozen,
        wallet: wallet_body(cx, name, wallet, *spent),
    })
}

async fn make_wallet(cx: Cx) -> Result<Response> {
    let asked: serde_json::Map<String, Value> = cx.json()?;
    let did = asked.get("did").and_then(Value::as_str);
    let Some(name) = did.and_then(|did| name_of(&cx.settings().brand, did)) else {
        RefusalCounts::of(cx.rt.environment()).count(Reason::InvalidDid);
        return refused(&cx, Reason::InvalidDid.into());
    };
    let registered = act::known(&cx, name, None).await?.is_some_and(|row| row.active);
    let open = OpenWallet { name: name.to_owned(), registered };
    let created = match runtime::call(&*cx.rt, ACTOR, &open).await? {
        OpenedWallet::Refused(reason) => return refused(&cx, reason.into()),
        opened => opened == OpenedWallet::Now,
    };
    match runtime::query(&*cx.rt, ACTOR, &ReadWallet { name: name.to_owned() }).await? {
        Some(view) => wallet_answer(&cx, name, &view, Some(created)),
        None => Err(Error::internal("a wallet that was just made is not there")),
    }
}

async fn wallet(cx: Cx) -> Result<Response> {
    let unknown = || refused(&cx, Reason::WalletNotFound.into());
    let Some(name) = path_name(&cx)? else { return unknown() };
    match runtime::query(&*cx.rt, ACTOR, &ReadWallet { name: name.clone() }).await? {
        Some(view) => wallet_answer(&cx, &name, &view, None),
        None => unknown(),
    }
}

/// The answer to a settled transfer.
#[derive(Serialize, JsonSchema)]
pub struct Receipt {
    schema: String,
    ok: bool,
    /// `settled`
    status: &'static str,
    transfer_id: String,
    envelope_hash: String,
    settled_at: String,
    sender_new_balance_micro: Micro,
    recipient_new_balance_micro: Micro,
    /// The row of the transfer, which some clients read.
    transfer: TransferBody,
}

/// A transfer as a row of the ledger.
#[derive(Serialize, JsonSchema)]
pub struct TransferBody {
    pub id: String,
    from_did: String,
    to_did: String,
    amount_micro: i64,
    nonce: String,
    /// Null in lists unless the reader proved to be a party.
    memo: Option<String>,
    /// `settled` or `failed`
    status: &'static str,
    reason: Option<&'static str>,
    /// Null, like the signature, where a memo is hidden even from readers by id.
    envelope_hash: Option<String>,
    signature: Option<String>,
    issued_at: String,
    expires_at: String,
    submitted_at: String,
    settled_at: Option<String>,
    /// For a transfer of a batch: the batch that it was signed and settled with. Its nonce is then the id of the batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<BatchPlace>,
}

/// A place in a batch.
#[derive(Serialize, JsonSchema)]
pub struct BatchPlace {
    id: String,
    /// From 0.
    index: u16,
}

fn body(cx: &Cx, id: &Id, payment: Payment, texts: Texts<'_>) -> TransferBody {
    let at = payment.at.to_micros_text();
    let (status, reason, settled_at) = match payment.outcome {
        Settlement::Settled { .. } => ("settled", None, Some(at.clone())),
        Settlement::Failed(reason) => ("failed", Some(reason.as_str()), None),
    };
    let party = |did: &str| name_of(&cx.settings().brand, did).unwrap_or_default().to_owned();
    let (from, to) = (party(&payment.from), party(&payment.to));
    let shown = texts.are_shown([&from, &to]);
    // A recipient in a batch knows one text, and could guess the others.
    let readers = if payment.batch.is_some() { [&*from, &*from] } else { [&*from, &*to] };
    let over = |value: String| texts.over(readers, payment.has_text, value);
    let (envelope_hash, signature) = (over(encode_hex(&payment.hash)), over(encode_base64(&payment.signature)));
    TransferBody {
        id: id_text(id),
        from_did: payment.from,
        to_did: payment.to,
        amount_micro: payment.amount,
        nonce: payment.nonce,
        memo: payment.memo.filter(|_| shown),
        status,
        reason,
        envelope_hash,
        signature,
        issued_at: payment.issued_at,
        expires_at: payment.expires_at,
        submitted_at: at,
        settled_at,
        batch: payment.batch.map(|(batch, index)| BatchPlace { id: id_text(&batch), index }),
    }
}

async fn transfer(cx: Cx) -> Result<Response> {
    let read = act::members(&cx)
        .and_then(|members| Act::read(&cx, members, |content| matches!(content, Content::Transfer(_))));
    let Some(act) = read else { return failed(&cx, "receipt", Reason::InvalidEnvelope, RefusalFacts::default(), None) };
    let hash = act.hash;
    match act.submit(&cx, None).await {
        Ok(Ok(SubmissionResult::Transfer(id, row))) => {
            let Settlement::Settled { sender, recipient } = row.outcome else {
                return Err(Error::internal("a refused transfer was called done"));
            };
            Response::json(&Receipt {
                schema: schema(&cx, "receipt"),
                ok: true,
                status: "settled",
                transfer_id: id_text(&id),
                envelope_hash: encode_hex(&hash),
                settled_at: row.at.to_micros_text(),
                sender_new_balance_micro: sender,
                recipient_new_balance_micro: recipient,
                transfer: body(&cx, &id, *row, Texts::Signed),
            })
        }
        Ok(Ok(_)) => Err(Error::internal("a transfer became something else")),
        Ok(Err((reason, kept))) => failed(&cx, "receipt", reason, kept, Some(&hash)),
        Err(refusal) => failed(&cx, "receipt", refusal, RefusalFacts::default(), Some(&hash)),
    }
}

#[derive(Serialize, JsonSchema)]
pub struct TransferAnswer {
    schema: String,
    ok: bool,
    status: &'static str,
    transfer_id: String,
    envelope_hash: Option<String>,
    settled_at: Option<String>,
    sender_new_balance_micro: Option<Micro>,
    recipient_new_balance_micro: Option<Micro>,
    transfer: TransferBody,
}

async fn read_transfer(cx: Cx) -> Result<Response> {
    let unknown = || refused(&cx, Reason::TransferNotFound.into());
    let Some(id) = parse_id(cx.path("id")?) else { return unknown() };
    let Some(row) = ask(&*cx.rt, ReadTransfer { id }).await? else { return unknown() };
    let reader = Reader::of(&cx).await?;
    let (sender, recipient) = match row.outcome {
        Settlement::Settled { sender, recipient } => (Some(sender), Some(recipient)),
        Settlement::Failed(_) => (None, None),
    };
    let transfer = body(&cx, &id, row, Texts::Open(&reader));
    Response::json(&TransferAnswer {
        schema: schema(&cx, "transfer"),
        ok: true,
        status: transfer.status,
        transfer_id: transfer.id.clone(),
        envelope_hash: transfer.envelope_hash.clone(),
        settled_at: transfer.settled_at.clone(),
        sender_new_balance_micro: sender,
        recipient_new_balance_micro: recipient,
        transfer,
    })
}

#[derive(Serialize, JsonSchema)]
pub struct HistoryAnswer {
    schema: String,
    did: String,
    transfers: Vec<TransferBody>,
    /// The `before` of the next page; null at the end.
    next_cursor: Option<String>,
}

async fn history(cx: Cx) -> Result<Response> {
    let (limit, before) = (act::page_size(&cx, 20, 200)?, cx.time("before")?);
    let asked = cx.path("did")?.to_owned();
    let (mut transfers, mut next) = (Vec::new(), None);
    if let Some(name) = path_name(&cx)? {
        let reader = Reader::of(&cx).await?;
        let page = ask(&*cx.rt, History { name, before, limit, texts: reader.is_known() }).await?;
        let body = |(id, payment)| body(&cx, &id, payment, Texts::Listed(&reader));
        transfers = page.rows.into_iter().map(body).collect();
        next = page.next.map(crate::Timestamp::to_micros_text);
    }
    Response::json(&HistoryAnswer { schema: schema(&cx, "history"), did: asked, transfers, next_cursor: next })
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CreditGranted")]
pub struct Granted {
    ok: bool,
    schema: String,
    did: String,
    amount_micro: Micro,
    new_balance_micro: Micro,
    claimed_at: String,
}

/// The client's address as the faucet counts it: hashes under the names of today and yesterday (decision
/// faucet-addresses).
fn claimant(cx: &Cx) -> Claimant {
    let figures = cx.figures();
    let (per_address, per_day) = (figures.faucet_per_address, figures.faucet_daily_total);
    let today = cx.now().day();
    let hashes = |day: i64| cx.rt.environment().secrets.address_hashes(&format!("faucet/{day}/{}", cx.address()));
    let addresses = match cx.request.client {
        Some(_) => [hashes(today), hashes(today - 1)].concat(),
        None => Vec::new(),
    };
    Claimant { addresses, per_address, per_day }
}

async fn faucet(cx: Cx) -> Result<Response> {
    let read =
        act::members(&cx).and_then(|members| Act::read(&cx, members, |content| matches!(content, Content::Faucet(_))));
    let Some(act) = read else { return refused(&cx, Reason::InvalidEnvelope.into()) };
    let did = act.envelope.signer().to_owned();
    match act.submit(&cx, Some(claimant(&cx))).await {
        Ok(Ok(SubmissionResult::Grant { balance, at })) => Response::json(&Granted {
            ok: true,
            schema: schema(&cx, "faucet"),
            did,
            amount_micro: GRANT,
            new_balance_micro: balance,
            claimed_at: at.to_micros_text(),
        }),
        Ok(Ok(_)) => Err(Error::internal("a claim became something else")),
        Ok(Err((reason, _))) => refused(&cx, reason.into()),
        Err(refusal) => refused(&cx, refusal),
    }
}
