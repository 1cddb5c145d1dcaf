//! Statements (decision ledger-for-clients).

use crate::routes::pay_route;
use schemars::JsonSchema;
use serde::Serialize;

use super::act::{self, did, path_name, schema};
use super::payments::PAGE;
use super::proof::{Reader, Texts};
use crate::form;
use crate::rows::{Micro, id_text};
use crate::segment::open::ask;
use crate::statement::{Line, ReadStatement};
use crate::{Result, Timestamp};
use engine::http::{Auth, Cx, Limit, Response, Route, handler};

pub const ROUTES: &[Route] =
    &[pay_route(Route::get("/v1/pay/statement/{did}", handler!(statement)), Auth::None, Limit::PayRead)
        .extension()
        .params(PAGE)
        .returns::<StatementAnswer>()
        .summary("Every change of a wallet's money and the balance after it, newest first; texts for proved parties.")];

#[derive(Serialize, JsonSchema)]
pub struct StatementAnswer {
    schema: String,
    did: String,
    lines: Vec<StatementLine>,
    /// The `before` of the next page; null at the end.
    next_cursor: Option<String>,
}

/// One change of the wallet.
#[derive(Serialize, JsonSchema)]
pub struct StatementLine {
    at: String,
    /// Place of its event in the audit log.
    seq: u64,
    /// `transfer`, `batch`, `faucet`, `grant`, `escrow_open`, `hire`, `escrow_release`, `escrow_refund` or
    /// `escrow_expire`
    kind: &'static str,
    /// The transfer or the escrow.
    id: Option<String>,
    counterparty_did: Option<String>,
    /// A DID, `admin:<keyid>`, or a word of the system.
    actor: String,
    /// Change of the balance; `locked_change_micro` is the change of the money in escrows.
    amount_micro: i64,
    locked_change_micro: i64,
    /// Balance after the change; `locked_micro` is the money in escrows after it.
    balance_micro: Micro,
    locked_micro: Micro,
    /// Memo, or the reason for the end of an escrow. Null unless the reader proved to be a party.
    memo: Option<String>,
}

/// The one place where texts are left out.
fn line(cx: &Cx, name: &str, line: Line, reader: &Reader) -> StatementLine {
    let shown = Texts::Listed(reader).are_shown([name, line.other.as_deref().unwrap_or_default()]);
    StatementLine {
        at: line.at.to_micros_text(),
        seq: line.seq,
        kind: line.what.as_str(),
        id: line.id.as_ref().map(id_text),
        counterparty_did: line.other.map(|name| did(cx, &name)),
        actor: form::actor(&cx.settings().brand, &line.actor),
        amount_micro: line.balance,
        locked_change_micro: line.locked,
        balance_micro: line.balance_after,
        locked_micro: line.locked_after,
        memo: line.text.filter(|_| shown),
    }
}

async fn statement(cx: Cx) -> Result<Response> {
    let (limit, before) = (act::page_size(&cx, 20, 200)?, cx.time("before")?);
    let asked = cx.path("did")?.to_owned();
    let (mut lines, mut next) = (Vec::new(), None);
    if let Some(name) = path_name(&cx)? {
        let reader = Reader::of(&cx).await?;
        let question = ReadStatement { name: name.clone(), before, limit, texts: reader.is_known() };
        let (found, older) = ask(&*cx.rt, question).await?;
        lines = found.into_iter().map(|found| line(&cx, &name, found, &reader)).collect();
        next = older.map(Timestamp::to_micros_text);
    }
    Response::json(&StatementAnswer { schema: schema(&cx, "statement"), did: asked, lines, next_cursor: next })
}
