//! Claims of work, acceptance and dispute.

use crate::routes::pay_route;
use schemars::JsonSchema;
use serde::Serialize;

use super::act::{self, Act, did, path_name, refused, schema};
use super::envelopes::{AcceptanceEnvelope, ClaimEnvelope, SignedBody};
use super::market;
use super::proof::{Reader, Texts};
use crate::ACTOR;
use crate::book::name_of;
use crate::envelope::{Acceptance, Content};
use crate::idempotency::MAX_KEY;
use crate::market::{ReadReceipt, ReceiptFilter, ReceiptsOf};
use crate::reads::{ReadEscrow, Side};
use crate::reason::{Reason, Ruled, ensure};
use crate::receipt::{Receipt, ReceiptState};
use crate::rows::{Id, Micro, id_text, parse_id};
use crate::submit::{Prepare, SubmissionResult};
use crate::sweep::Sweep;
use crate::{Error, Result, Timestamp};
use crypto::encoding::{encode_base64, encode_hex};
use engine::http::{Auth, Cx, Limit, Param, Response, Route, handler};
use engine::runtime;

const PAGE: &[Param] = &[
    Param::optional("limit", "Rows per page, at most 200; default 50.").rows("50"),
    Param::optional("before", "The `next_cursor` of the page before: only older rows.").date(),
];

pub const ROUTES: &[Route] = &[
    pay_route(Route::post("/v1/pay/receipt/claim", handler!(claim)), Auth::Signed, Limit::PayWrite)
        .accepts::<SignedBody<ClaimEnvelope>>()
        .returns::<Claimed>()
        .summary("Claim that work is done, by its provider. An escrow has one claim at a time."),
    pay_route(Route::post("/v1/pay/receipt/accept", handler!(accept)), Auth::Signed, Limit::PayWrite)
        .accepts::<SignedBody<AcceptanceEnvelope>>()
        .returns::<Accepted>()
        .summary("Accept claimed work, which pays its escrow, or dispute it."),
    pay_route(Route::get("/v1/pay/receipt/{id}", handler!(read)), Auth::None, Limit::PayRead)
        .returns::<ReceiptAnswer>()
        .summary("A receipt as it is now."),
    pay_route(Route::get("/v1/pay/receipt/escrow/{escrow_id}", handler!(of_escrow)), Auth::None, Limit::PayRead)
        .params(PAGE)
        .returns::<ReceiptsAnswer>()
        .summary("Receipts of an escrow, newest first."),
    pay_route(Route::get("/v1/pay/receipt/did/{did}", handler!(of_did)), Auth::None, Limit::PayRead)
        .params(&[
            Param::optional("role", "`from` (as requester), `to` (as provider) or `any`, the default.")
                .one_of(&["from", "to", "any"])
                .default("any"),
            Param::optional("limit", "Rows per page, at most 200; default 50.").rows("50"),
            Param::optional("before", "The `next_cursor` of the page before: only older rows.").date(),
        ])
        .returns::<ReceiptsAnswer>()
        .summary("Receipts of a DID, newest first."),
    pay_route(Route::post("/v1/pay/receipt/sweep", handler!(sweep)), Auth::None, Limit::PayWrite)
        .bodiless()
        .returns::<SweptAnswer>()
        .summary("Accept or end receipts whose time is over. This also happens by itself."),
];

#[derive(Serialize, JsonSchema)]
pub struct ReceiptBody {
    id: String,
    escrow_id: Option<String>,
    task_id: String,
    /// The requester.
    from_did: String,
    /// The provider.
    to_did: String,
    nonce: String,
    /// Null, like every hash and signature over a text, where the text is hidden even from readers by id.
    work_hash: Option<String>,
    /// This and the other texts are null in lists unless the reader proved to be a party.
    summary: Option<String>,
    /// `pending_acceptance`, `accepted`, `disputed` or `expired`
    state: &'static str,
    acceptance_deadline_at: String,
    /// 1 or 0.
    auto_accept_on_timeout: u8,
    /// Amount of the escrow.
    amount_micro: Option<Micro>,
    claimed_at: String,
    accepted_at: Option<String>,
    disputed_at: Option<String>,
    expired_at: Option<String>,
    /// 1 or 0.
    escrow_released: u8,
    escrow_release_error: Option<&'static str>,
    rating: Option<u8>,
    feedback: Option<String>,
    dispute_reason: Option<String>,
    actor: Option<String>,
    claim_signature: Option<String>,
    claim_envelope_hash: Option<String>,
    acceptance_signature: Option<String>,
    acceptance_envelope_hash: Option<String>,
}

fn body(cx: &Cx, id: &Id, receipt: &Receipt, texts: Texts<'_>) -> ReceiptBody {
    let parties = [receipt.from.as_str(), receipt.to.as_str()];
    let shown = texts.are_shown(parties);
    let claim = |value: String| texts.over(parties, receipt.summary.is_some(), value);
    let answer = receipt.answer.as_ref();
    let at = |state: ReceiptState| answer.filter(|_| receipt.state == state).map(|answer| answer.at.to_micros_text());
    let text = |text: Option<&String>| text.filter(|_| shown).cloned();
    let signed = answer.and_then(|answer| answer.signed.as_ref());
    let said = answer.is_some_and(|answer| answer.feedback.is_some() || answer.dispute_reason.is_some());
    let said = |value: String| texts.over(parties, said, value);
    let actor = answer.map(|answer| match answer.signed {
        Some(_) => did(cx, &answer.actor),
        None => answer.actor.clone(),
    });
    ReceiptBody {
        id: id_text(id),
        escrow_id: receipt.escrow.as_ref().map(id_text),
        task_id: receipt.task.clone(),
        from_did: did(cx, &receipt.from),
        to_did: did(cx, &receipt.to),
        nonce: receipt.nonce.clone(),
        work_hash: claim(encode_hex(&receipt.work_hash)),
        summary: text(receipt.summary.as_ref()),
        state: receipt.state.as_str(),
        acceptance_deadline_at: receipt.deadline.to_millis_text(),
        auto_accept_on_timeout: u8::from(receipt.auto_accept),
        amount_micro: receipt.amount,
        claimed_at: receipt.claimed.to_micros_text(),
        accepted_at: at(ReceiptState::Accepted),
        disputed_at: at(ReceiptState::Disputed),
        expired_at: at(ReceiptState::Expired),
        escrow_released: u8::from(receipt.released),
        escrow_release_error: receipt.release_error.map(Reason::as_str),
        rating: answer.and_then(|answer| answer.rating),
        feedback: text(answer.and_then(|answer| answer.feedback.as_ref())),
        dispute_reason: text(answer.and_then(|answer| answer.dispute_reason.as_ref())),
        actor,
        claim_signature: claim(encode_base64(&receipt.claim.signature)),
        claim_envelope_hash: claim(encode_hex(&receipt.claim.hash())),
        acceptance_signature: signed.and_then(|signed| said(encode_base64(&signed.signature))),
        acceptance_envelope_hash: signed.and_then(|signed| said(encode_hex(&signed.hash()))),
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReceiptClaimed")]
pub struct Claimed {
    ok: bool,
    schema: String,
    receipt_id: String,
    escrow_id: Option<String>,
    /// `pending_acceptance`
    state: &'static str,
    acceptance_deadline_at: String,
    auto_accept_on_timeout: bool,
    claimed_at: String,
    envelope_hash: String,
    receipt: ReceiptBody,
}

async fn claim(cx: Cx) -> Result<Response> {
    match market::decided(&cx, |content| matches!(content, Content::Claim(_))).await {
        Ok(SubmissionResult::Receipt(id, row)) => {
            let receipt = body(&cx, &id, &row, Texts::Signed);
            Response::json(&Claimed {
                ok: true,
                schema: schema(&cx, "receipt-claim"),
                receipt_id: receipt.id.clone(),
                escrow_id: receipt.escrow_id.clone(),
                state: receipt.state,
                acceptance_deadline_at: receipt.acceptance_deadline_at.clone(),
                auto_accept_on_timeout: row.auto_accept,
                claimed_at: receipt.claimed_at.clone(),
                envelope_hash: encode_hex(&row.claim.hash()),
                receipt,
            })
        }
        Ok(_) => Err(Error::internal("a claim became something else")),
        Err(refusal) => refused(&cx, refusal),
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReceiptAccepted")]
pub struct Accepted {
    ok: bool,
    schema: String,
    receipt_id: String,
    /// `accepted` or `disputed`
    state: &'static str,
    at: Option<String>,
    escrow_released: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    escrow_release_error: Option<&'static str>,
    receipt: ReceiptBody,
}

async fn may_answer(cx: &Cx, acceptance: &Acceptance) -> Ruled<()> {
    let frozen = runtime::query(&*cx.rt, ACTOR, &Prepare { names: Vec::new() }).await?.frozen;
    ensure(!frozen, Reason::SystemFrozen)?;
    let id = parse_id(&acceptance.receipt).ok_or(Reason::ReceiptNotFound)?;
    let receipt = runtime::query(&*cx.rt, ACTOR, &ReadReceipt { id }).await?.ok_or(Reason::ReceiptNotFound)?;
    ensure(receipt.state == ReceiptState::Pending, Reason::ReceiptNotPending)?;
    let signer = name_of(&cx.settings().brand, &acceptance.signer);
    ensure(signer == Some(receipt.from.as_str()), Reason::ReceiptSignerNotAuthorized)
}

/// Lets the ledger decide about an acceptance. The receipt is checked before the signature.
async fn accepted(cx: &Cx) -> Ruled<(Id, Receipt)> {
    let fits = |content: &Content| matches!(content, Content::Acceptance(_));
    let act = act::members(cx).and_then(|members| Act::read(cx, members, fits)).ok_or(Reason::InvalidEnvelope)?;
    let Content::Acceptance(acceptance) = &act.envelope.content else { return Err(Reason::InvalidEnvelope.into()) };
    // With an `Idempotency-Key` it may be a repeat, which is known only after the signature was verified.
    if cx.idempotency_key(MAX_KEY)?.is_none() {
        let may = may_answer(cx, acceptance).await;
        act::counted(cx, may)?;
    }
    match act.submit(cx, None).await? {
        Ok(SubmissionResult::Receipt(id, receipt)) => Ok((id, *receipt)),
        Ok(_) => Err(Error::internal("an acceptance became something else").into()),
        Err((reason, _)) => Err(reason.into()),
    }
}

async fn accept(cx: Cx) -> Result<Response> {
    let (id, row) = match accepted(&cx).await {
        Ok(found) => found,
        Err(refusal) => return refused(&cx, refusal),
    };
    let receipt = body(&cx, &id, &row, Texts::Signed);
    Response::json(&Accepted {
        ok: true,
        schema: schema(&cx, "receipt-acceptance"),
        receipt_id: receipt.id.clone(),
        state: receipt.state,
        at: row.answer.as_ref().map(|answer| answer.at.to_micros_text()),
        escrow_released: row.released,
        escrow_release_error: receipt.escrow_release_error,
        receipt,
    })
}

#[derive(Serialize, JsonSchema)]
pub struct ReceiptAnswer {
    schema: String,
    receipt: ReceiptBody,
}

async fn read(cx: Cx) -> Result<Response> {
    let unknown = || refused(&cx, Reason::ReceiptNotFound.into());
    let Some(id) = parse_id(cx.path("id")?) else { return unknown() };
    let Some(receipt) = runtime::query(&*cx.rt, ACTOR, &ReadReceipt { id }).await? else { return unknown() };
    let receipt = body(&cx, &id, &receipt, Texts::Open(&Reader::of(&cx).await?));
    Response::json(&ReceiptAnswer { schema: schema(&cx, "work-receipt"), receipt })
}

#[derive(Serialize, JsonSchema)]
pub struct ReceiptsAnswer {
    schema: String,
    receipts: Vec<ReceiptBody>,
    /// The `before` of the next page; null at the end.
    next_cursor: Option<String>,
}

async fn list(cx: &Cx, whose: Option<ReceiptFilter>) -> Result<Response> {
    let (limit, before) = (act::page_size(cx, 50, 200)?, cx.time("before")?);
    let (mut receipts, mut next) = (Vec::new(), None);
    if let Some(whose) = whose {
        let reader = Reader::of(cx).await?;
        let page = runtime::query(&*cx.rt, ACTOR, &ReceiptsOf { whose, before, limit }).await?;
        receipts = page.rows.iter().map(|(id, receipt)| body(cx, id, receipt, Texts::Listed(&reader))).collect();
        next = page.next.map(Timestamp::to_micros_text);
    }
    Response::json(&ReceiptsAnswer { schema: schema(cx, "receipt-list"), receipts, next_cursor: next })
}

async fn of_escrow(cx: Cx) -> Result<Response> {
    let unknown = || refused(&cx, Reason::EscrowNotFound.into());
    let Some(id) = parse_id(cx.path("escrow_id")?) else { return unknown() };
    if runtime::query(&*cx.rt, ACTOR, &ReadEscrow { id }).await?.is_none() {
        return unknown();
    }
    list(&cx, Some(ReceiptFilter::Escrow(id))).await
}

async fn of_did(cx: Cx) -> Result<Response> {
    let side = match cx.query("role")?.as_deref() {
        None | Some("any") => Side::Any,
        Some("from") => Side::From,
        Some("to") => Side::To,
        Some(_) => return Err(Error::bad_request("Query parameter `role` must be from, to or any.")),
    };
    let whose = path_name(&cx)?.map(|name| ReceiptFilter::Name(name, side));
    list(&cx, whose).await
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SweptReceipts")]
pub struct SweptAnswer {
    ok: bool,
    schema: String,
    /// The system is frozen, so nothing was done.
    system_frozen: bool,
    accepted: u64,
    expired: u64,
    released: u64,
    release_errors: u64,
    /// More is due; it goes on by itself.
    more: bool,
    swept_at: String,
}

async fn sweep(cx: Cx) -> Result<Response> {
    let swept = runtime::call(&*cx.rt, ACTOR, &Sweep).await?;
    Response::json(&SweptAnswer {
        ok: true,
        schema: schema(&cx, "receipt-sweep"),
        system_frozen: swept.frozen,
        accepted: swept.accepted,
        expired: swept.expired,
        released: swept.released,
        release_errors: swept.unreleased,
        more: swept.more,
        swept_at: cx.now().to_micros_text(),
    })
}
