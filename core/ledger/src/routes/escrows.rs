//! Escrows, by their sender or by an admin.

use crate::routes::pay_route;
use schemars::JsonSchema;
use serde::Serialize;

use super::act::{self, Act, did, path_name, refused, schema};
use super::admin;
use super::envelopes::{
    DirectedBody, EscrowOpenEnvelope, EscrowRefundAction, EscrowRefundEnvelope, EscrowReleaseAction,
    EscrowReleaseEnvelope, SignedBody,
};
use super::proof::{Reader, Texts};
use crate::ACTOR;
use crate::envelope::{Content, Envelope};
use crate::escrow::Stand;
use crate::json::Members;
use crate::reads::{EscrowHistory, ReadEscrow, Side};
use crate::reason::{Reason, Ruled};
use crate::rows::{Escrow, EscrowState, Id, Micro, id_text, parse_id};
use crate::submit::SubmissionResult;
use crate::sweep::Sweep;
use crate::{Error, Result, Timestamp};
use crypto::encoding::{encode_base64, encode_hex};
use engine::http::{Auth, Cx, Limit, Param, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    pay_route(Route::post("/v1/pay/escrow/open", handler!(open)), Auth::Signed, Limit::PayWrite)
        .accepts::<SignedBody<EscrowOpenEnvelope>>()
        .returns::<EscrowOpened>()
        .summary("Set money aside for a registered agent until a deadline, at most 7 days."),
    pay_route(Route::post("/v1/pay/escrow/release", handler!(release)), Auth::SignedOrAdmin, Limit::PayWrite)
        .accepts_either::<SignedBody<EscrowReleaseEnvelope>, DirectedBody<EscrowReleaseAction>>()
        .returns::<Ended>()
        .summary("Pay an escrow out; by its sender, or an admin."),
    pay_route(Route::post("/v1/pay/escrow/refund", handler!(refund)), Auth::SignedOrAdmin, Limit::PayWrite)
        .accepts_either::<SignedBody<EscrowRefundEnvelope>, DirectedBody<EscrowRefundAction>>()
        .returns::<Ended>()
        .summary("Take an escrow back; by its sender before the deadline, or an admin."),
    pay_route(Route::get("/v1/pay/escrow/{id}", handler!(read)), Auth::None, Limit::PayRead)
        .returns::<EscrowAnswer>()
        .summary("An escrow as it is now."),
    pay_route(Route::get("/v1/pay/escrow/history/{did}", handler!(history)), Auth::None, Limit::PayRead)
        .params(&[
            Param::optional("limit", "Rows per page, at most 200; default 20.").rows("20"),
            Param::optional("before", "The `next_cursor` of the page before: only older rows.").date(),
            Param::optional("role", "`from`, `to` or `any`, the default.")
                .one_of(&["from", "to", "any"])
                .default("any"),
        ])
        .returns::<EscrowHistoryAnswer>()
        .summary("Escrows of a DID, newest first."),
    pay_route(Route::post("/v1/pay/escrow/sweep", handler!(sweep)), Auth::None, Limit::PayWrite)
        .bodiless()
        .returns::<SweptAnswer>()
        .summary("End escrows whose time is over. This also happens by itself."),
];

#[derive(Serialize, JsonSchema)]
pub struct EscrowBody {
    id: String,
    nonce: String,
    from_did: String,
    to_did: String,
    amount_micro: Micro,
    /// Null in lists unless the reader proved to be a party.
    memo: Option<String>,
    /// `open`, `released`, `refunded` or `expired`
    state: &'static str,
    reason: Option<String>,
    /// Null, like every hash and signature over a text, where the text is hidden even from readers by id.
    open_signature: Option<String>,
    open_envelope_hash: Option<String>,
    release_signature: Option<String>,
    refund_signature: Option<String>,
    /// The actor that ended it: a DID, `admin:<keyid>` or a word of the system.
    refund_actor: Option<String>,
    issued_at: Option<String>,
    expires_at: Option<String>,
    deadline_at: String,
    opened_at: String,
    released_at: Option<String>,
    refunded_at: Option<String>,
    expired_at: Option<String>,
    schema_version: u8,
}

/// The actor that ended an escrow, on the wire.
fn actor(cx: &Cx, escrow: &Escrow) -> Option<String> {
    let actor = &escrow.closed.as_ref()?.actor;
    Some(if *actor == escrow.from { did(cx, actor) } else { actor.clone() })
}

fn body(cx: &Cx, id: &Id, escrow: &Escrow, texts: Texts<'_>) -> EscrowBody {
    let parties = [escrow.from.as_str(), escrow.to.as_str()];
    let shown = texts.are_shown(parties);
    let closed = escrow.closed.as_ref();
    let at = |state: EscrowState| closed.filter(|_| escrow.state == state).map(|closed| closed.at.to_micros_text());
    let signature = |state: EscrowState| {
        let signed = closed.filter(|_| escrow.state == state)?.signed.as_ref()?;
        texts.over(parties, escrow.reason.is_some(), encode_base64(&signed.signature))
    };
    let opened = Envelope::read(&cx.settings().brand, &escrow.open.canonical);
    // The escrow of a hire was opened by the hire request, which has the input.
    let asked = opened.as_ref().is_some_and(|envelope| match &envelope.content {
        Content::Hire(hire) => hire.input.is_some(),
        _ => false,
    });
    let over = |value: String| texts.over(parties, asked || escrow.memo.is_some(), value);
    let common = opened.map(|envelope| envelope.common);
    EscrowBody {
        id: id_text(id),
        nonce: escrow.nonce.clone(),
        from_did: did(cx, &escrow.from),
        to_did: did(cx, &escrow.to),
        amount_micro: escrow.amount,
        memo: escrow.memo.clone().filter(|_| shown),
        state: escrow.state.as_str(),
        reason: escrow.reason.clone().filter(|_| shown),
        open_signature: over(encode_base64(&escrow.open.signature)),
        open_envelope_hash: over(encode_hex(&escrow.open.hash())),
        release_signature: signature(EscrowState::Released),
        refund_signature: signature(EscrowState::Refunded),
        refund_actor: actor(cx, escrow),
        issued_at: common.as_ref().map(|common| common.issued_at.clone()),
        expires_at: common.map(|common| common.expires_at),
        // The deadline of a hire counts from its creation; other deadlines were signed to the millisecond.
        deadline_at: match escrow.hire {
            Some(_) => escrow.deadline.to_micros_text(),
            None => escrow.deadline.to_millis_text(),
        },
        opened_at: escrow.opened.to_micros_text(),
        released_at: at(EscrowState::Released),
        refunded_at: at(EscrowState::Refunded),
        expired_at: at(EscrowState::Expired),
        schema_version: 1,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EscrowOpened")]
pub struct EscrowOpened {
    ok: bool,
    schema: String,
    escrow_id: String,
    envelope_hash: String,
    opened_at: String,
    /// `open`
    state: &'static str,
    from_did: String,
    to_did: String,
    amount_micro: Micro,
    deadline_at: String,
    sender_new_balance_micro: Micro,
    /// In micro-credits.
    sender_locked_credits: Micro,
    escrow: EscrowBody,
}

/// Reads an envelope of a fitting kind from a body.
fn envelope(cx: &Cx, members: Option<Members>, fits: impl Fn(&Content) -> bool) -> Ruled<Act> {
    members.and_then(|members| Act::read(cx, members, fits)).ok_or(Reason::InvalidEnvelope.into())
}

/// Lets the ledger decide about an escrow.
async fn decide(cx: &Cx, act: Act) -> Ruled<Stand> {
    match act.submit(cx, None).await? {
        Ok(SubmissionResult::Escrow(stand)) => Ok(*stand),
        Ok(_) => Err(Error::internal("an escrow became something else").into()),
        Err((reason, _)) => Err(reason.into()),
    }
}

async fn opened(cx: &Cx) -> Ruled<Stand> {
    let act = envelope(cx, act::members(cx), |content| matches!(content, Content::Open(_)))?;
    decide(cx, act).await
}

async fn open(cx: Cx) -> Result<Response> {
    let stand = match opened(&cx).await {
        Ok(stand) => stand,
        Err(refusal) => return refused(&cx, refusal),
    };
    let escrow = body(&cx, &stand.id, &stand.escrow, Texts::Signed);
    Response::json(&EscrowOpened {
        ok: true,
        schema: schema(&cx, "escrow-receipt"),
        escrow_id: escrow.id.clone(),
        envelope_hash: encode_hex(&stand.escrow.open.hash()),
        opened_at: escrow.opened_at.clone(),
        state: escrow.state,
        from_did: escrow.from_did.clone(),
        to_did: escrow.to_did.clone(),
        amount_micro: escrow.amount_micro,
        deadline_at: escrow.deadline_at.clone(),
        sender_new_balance_micro: stand.sender_balance,
        sender_locked_credits: stand.sender_locked,
        escrow,
    })
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EscrowEnded")]
pub struct Ended {
    ok: bool,
    schema: String,
    escrow_id: String,
    actor: Option<String>,
    /// `released` or `refunded`
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    released_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refunded_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recipient_new_balance_micro: Option<Micro>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender_new_balance_micro: Option<Micro>,
    /// In micro-credits.
    sender_locked_credits: Micro,
    escrow: EscrowBody,
}

async fn ended(cx: &Cx, release: bool) -> Ruled<Stand> {
    let members = act::members(cx);
    if members.as_ref().is_some_and(|members| members.contains_key("keyid")) {
        let word = if release { "escrow_release" } else { "escrow_refund" };
        return admin::escrow(cx, members, word).await;
    }
    let fits = |content: &Content| matches!(content, Content::Close(close) if close.release == release);
    let act = envelope(cx, members, fits)?;
    decide(cx, act).await
}

async fn end(cx: &Cx, release: bool) -> Result<Response> {
    let stand = match ended(cx, release).await {
        Ok(stand) => stand,
        Err(refusal) => return refused(cx, refusal),
    };
    let escrow = body(cx, &stand.id, &stand.escrow, Texts::Signed);
    Response::json(&Ended {
        ok: true,
        schema: schema(cx, "escrow-receipt"),
        escrow_id: escrow.id.clone(),
        actor: escrow.refund_actor.clone(),
        state: escrow.state,
        released_at: escrow.released_at.clone(),
        refunded_at: escrow.refunded_at.clone(),
        recipient_new_balance_micro: release.then_some(stand.recipient_balance),
        sender_new_balance_micro: (!release).then_some(stand.sender_balance),
        sender_locked_credits: stand.sender_locked,
        escrow,
    })
}

async fn release(cx: Cx) -> Result<Response> {
    end(&cx, true).await
}

async fn refund(cx: Cx) -> Result<Response> {
    end(&cx, false).await
}

#[derive(Serialize, JsonSchema)]
pub struct EscrowAnswer {
    schema: String,
    escrow: EscrowBody,
}

async fn read(cx: Cx) -> Result<Response> {
    let unknown = || refused(&cx, Reason::EscrowNotFound.into());
    let Some(id) = parse_id(cx.path("id")?) else { return unknown() };
    let Some(escrow) = runtime::query(&*cx.rt, ACTOR, &ReadEscrow { id }).await? else { return unknown() };
    let escrow = body(&cx, &id, &escrow, Texts::Open(&Reader::of(&cx).await?));
    Response::json(&EscrowAnswer { schema: schema(&cx, "escrow"), escrow })
}

#[derive(Serialize, JsonSchema)]
pub struct EscrowHistoryAnswer {
    schema: String,
    did: String,
    escrows: Vec<EscrowBody>,
    /// The `before` of the next page; null at the end.
    next_cursor: Option<String>,
}

async fn history(cx: Cx) -> Result<Response> {
    let (limit, before) = (act::page_size(&cx, 20, 200)?, cx.time("before")?);
    let side = match cx.query("role")?.as_deref() {
        None | Some("any") => Side::Any,
        Some("from") => Side::From,
        Some("to") => Side::To,
        Some(_) => return Err(Error::bad_request("Query parameter `role` must be from, to or any.")),
    };
    let asked = cx.path("did")?.to_owned();
    let (mut escrows, mut next) = (Vec::new(), None);
    if let Some(name) = path_name(&cx)? {
        let reader = Reader::of(&cx).await?;
        let page = runtime::query(&*cx.rt, ACTOR, &EscrowHistory { name, side, before, limit }).await?;
        escrows = page.rows.iter().map(|(id, escrow)| body(&cx, id, escrow, Texts::Listed(&reader))).collect();
        next = page.next.map(Timestamp::to_micros_text);
    }
    let schema = schema(&cx, "escrow-history");
    Response::json(&EscrowHistoryAnswer { schema, did: asked, escrows, next_cursor: next })
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SweptEscrows")]
pub struct SweptAnswer {
    ok: bool,
    schema: String,
    /// The system is frozen, so nothing was done.
    system_frozen: bool,
    expired: u64,
    /// More is due; it goes on by itself.
    more: bool,
    swept_at: String,
}

async fn sweep(cx: Cx) -> Result<Response> {
    let swept = runtime::call(&*cx.rt, ACTOR, &Sweep).await?;
    Response::json(&SweptAnswer {
        ok: true,
        schema: schema(&cx, "escrow-sweep"),
        system_frozen: swept.frozen,
        expired: swept.escrows_expired,
        more: swept.more,
        swept_at: cx.now().to_micros_text(),
    })
}
