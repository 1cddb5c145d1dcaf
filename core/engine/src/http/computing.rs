//! Which answers must be computed, and how much of that a client may ask for.
//!
//! What computes runs apart ([`crate::apart`]) and draws on a budget of its own per client address, once for each answer.
//! What is kept does neither. Every route stands on one list of the program; a question to an actor says itself whether it
//! computes ([`crate::actor::Query::computes`]).

use std::net::IpAddr;
use std::sync::Arc;

use super::budget::{self, within};
use super::caller::{self, Admitted};
use super::{Body, Caller, Limit, Request, Response, Route};
use crate::Result;
use crate::apart::{self, Asker};
use crate::limits::{Admission, Rate};
use crate::runtime::{BoxFuture, Runtime};

/// Whether answering a route computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Computes {
    Never,
    /// When it is about the past, or nothing is kept of it.
    Sometimes,
    Always,
}

/// Who asks, as far as shares of computing go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Who {
    client: Option<IpAddr>,
    /// Questions per minute; 0 means no limit.
    rate: u32,
    /// A word for the name of the budget, as in [`budget::figures`].
    whose: &'static str,
    operator: bool,
    /// Whether the route has no other budget, so that the answer says how this one stands.
    told: bool,
}

impl Who {
    pub fn new(rt: &dyn Runtime, request: &Request, admitted: &Admitted, route: &Route, computes: Computes) -> Who {
        let told = admitted.budget.is_none();
        // Whoever audits the ledger reads all of its log, out of the budget of its reads.
        if computes == Computes::Never || route.limit == Limit::PayRead {
            return Who { client: request.client, rate: 0, whose: "of", operator: false, told };
        }
        let (settings, whose) = budget::figures(rt.environment(), request);
        let operator = matches!(admitted.caller, Caller::Admin) || caller::is_operator(rt, request);
        Who { client: request.client, rate: settings.computing_per_minute, whose, operator, told }
    }

    /// Takes an answer that computes out of the client's budget. The operator has none.
    fn budget(&self, rt: &dyn Runtime, address: &str) -> Result<Option<Admission>, Box<Response>> {
        if self.operator || self.rate == 0 {
            return Ok(None);
        }
        let name = format!("computing {} {address}", self.whose);
        within(rt.environment().buckets.take(&name, Rate::per_minute(self.rate), rt.now()))
    }
}

/// The answer of a handler. It runs where the request was accepted until it wants to compute, then apart.
pub(super) async fn answer(
    rt: &Arc<dyn Runtime>,
    computes: Computes,
    who: Who,
    mut handler: BoxFuture<'static, Result<Response>>,
) -> Response {
    if computes != Computes::Always {
        if let Some(result) = apart::until_room(&mut handler).await {
            return result.unwrap_or_else(Response::error);
        }
        debug_assert!(computes != Computes::Never, "a route computes that is listed as one that never does");
    }
    Box::pin(go_apart(rt, who, handler)).await
}

async fn go_apart(rt: &Arc<dyn Runtime>, who: Who, handler: BoxFuture<'static, Result<Response>>) -> Response {
    let address = budget::address(who.client);
    let budget = match who.budget(&**rt, &address) {
        Ok(budget) => budget,
        Err(refusal) => return *refusal,
    };
    let asker = Asker::new(if who.operator { "operator" } else { &address });
    let result = apart::run(&**rt, &asker, handler).await;
    let mut response = result.and_then(|result| result).unwrap_or_else(Response::error);
    if let Body::Stream(pieces) = response.body {
        response.body = Body::Stream(apart::stream(rt.clone(), &asker, pieces));
    }
    if let Some(budget) = budget.filter(|_| who.told && !budget::has_budget_headers(&response)) {
        budget::budget_headers(&mut response, &budget);
    }
    response
}
