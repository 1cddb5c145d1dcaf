//! Many transfers under one signature (decisions batch-one-event and batch-contract).

use crate::routes::pay_route;
use schemars::JsonSchema;
use serde::Serialize;

use super::act::{self, Act, failed, schema};
use super::dress_transfer;
use super::envelopes::{BatchEnvelope, SignedBody};
use crate::batch::{Settled, item_id};
use crate::envelope::{Content, malformed_item};
use crate::reason::Reason;
use crate::rows::{Micro, id_text};
use crate::submit::{RefusalFacts, SubmissionResult};
use crate::{Error, Result};
use crypto::encoding::encode_hex;
use engine::http::{Auth, Cx, Limit, Response, Route, handler};

/// Largest body, in bytes: 1,000 transfers with memos in which every character is escaped (decision batch-contract).
const MAX_BODY: usize = 4 << 20;

pub const ROUTES: &[Route] = &[pay_route(Route::post("/v1/pay/batch", handler!(batch)), Auth::Signed, Limit::PayWrite)
    .dressed(dress_transfer)
    .extension()
    .max_body(MAX_BODY)
    .accepts::<SignedBody<BatchEnvelope>>()
    .returns::<BatchReceipt>()
    .summary("Settle up to 1,000 transfers under one signature: all of them, or none.")];

/// The answer to a settled batch.
#[derive(Serialize, JsonSchema)]
pub struct BatchReceipt {
    schema: String,
    ok: bool,
    /// `settled`
    status: &'static str,
    batch_id: String,
    /// Id of the whole batch, for the audit log.
    id: String,
    envelope_hash: String,
    settled_at: String,
    total_micro: Micro,
    sender_new_balance_micro: Micro,
    /// In the order of the envelope.
    transfers: Vec<BatchTransfer>,
}

#[derive(Serialize, JsonSchema)]
pub struct BatchTransfer {
    /// From 0.
    index: u16,
    transfer_id: String,
}

async fn batch(cx: Cx) -> Result<Response> {
    let read =
        act::members(&cx).and_then(|members| Act::read(&cx, members, |content| matches!(content, Content::Batch(_))));
    let Some(act) = read else {
        // The sender of a thousand items wants to know which one is wrong (decision batch-contract).
        let item = act::members(&cx).and_then(|members| malformed_item(members.get("envelope")?));
        return failed(
            &cx,
            "batch-receipt",
            Reason::InvalidEnvelope,
            RefusalFacts { item, ..RefusalFacts::default() },
            None,
        );
    };
    let hash = act.hash;
    match act.submit(&cx, None).await {
        Ok(Ok(SubmissionResult::Batch(settled))) => Response::json(&receipt(&cx, &settled)),
        Ok(Ok(_)) => Err(Error::internal("a batch became something else")),
        Ok(Err((reason, kept))) => failed(&cx, "batch-receipt", reason, kept, Some(&hash)),
        Err(refusal) => failed(&cx, "batch-receipt", refusal, RefusalFacts::default(), Some(&hash)),
    }
}

fn receipt(cx: &Cx, settled: &Settled) -> BatchReceipt {
    let transfer = |index| BatchTransfer { index, transfer_id: id_text(&item_id(&settled.id, index)) };
    BatchReceipt {
        schema: schema(cx, "batch-receipt"),
        ok: true,
        status: "settled",
        batch_id: settled.batch_id.clone(),
        id: id_text(&settled.id),
        envelope_hash: encode_hex(&settled.hash),
        settled_at: settled.at.to_micros_text(),
        total_micro: settled.total,
        sender_new_balance_micro: settled.sender,
        transfers: (0..settled.count).map(transfer).collect(),
    }
}
