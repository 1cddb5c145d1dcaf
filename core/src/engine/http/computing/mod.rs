//! Which answers must be computed, and how much of that a client may ask for.
//!
//! What computes runs apart ([`crate::engine::apart`]) and draws on a budget of its own per client address, once for each answer.
//! What is kept does neither. Every route stands on one of the lists of [`list`]; whether a question to an actor computes
//! says the question itself ([`crate::engine::actor::Query::computes`]).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use super::auth::{self, Admitted, within};
use super::{Body, Caller, Limit, Request, Response, Route};
use crate::Result;
use crate::engine::apart::{self, Asker};
use crate::engine::limits::{Admission, Rate};
use crate::engine::runtime::{BoxFuture, Runtime};

mod list;

/// Whether answering a route computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Computes {
    Never,
    /// When it is about the past, or nothing is kept of it.
    Sometimes,
    Always,
}

impl Computes {
    /// What the lists say of a route.
    pub fn of(route: &Route) -> Computes {
        // One that is on no list fails a test; until then it may compute.
        let known = table().get(route.path).and_then(|methods| methods.get(route.method.as_str()));
        known.copied().unwrap_or(Computes::Sometimes)
    }
}

fn table() -> &'static BTreeMap<&'static str, BTreeMap<&'static str, Computes>> {
    static TABLE: OnceLock<BTreeMap<&'static str, BTreeMap<&'static str, Computes>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut by_path: BTreeMap<&str, BTreeMap<&str, Computes>> = BTreeMap::new();
        for (computes, routes) in LISTS {
            for (method, path) in routes.iter().filter_map(|route| route.split_once(' ')) {
                by_path.entry(path).or_default().insert(method, computes);
            }
        }
        by_path
    })
}

const LISTS: [(Computes, &[&str]); 3] =
    [(Computes::Always, list::ALWAYS), (Computes::Sometimes, list::SOMETIMES), (Computes::Never, list::NEVER)];

/// Who asks, as far as shares of computing go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Who {
    client: Option<IpAddr>,
    /// Questions per minute; 0 means no limit.
    rate: u32,
    /// A word for the name of the budget, as in [`auth::figures`].
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
        let (settings, whose) = auth::figures(rt.environment(), request);
        let operator = admitted.caller == Caller::Admin || auth::is_operator(rt, request);
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
    let address = auth::address(who.client);
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
    if let Some(budget) = budget.filter(|_| who.told && !auth::has_budget_headers(&response)) {
        auth::budget_headers(&mut response, &budget);
    }
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::engine::http::routes;
    use crate::engine::small_sort;

    /// Whoever adds a route says in `list.rs` whether it computes.
    #[test]
    fn every_route_says_whether_it_computes() {
        let listed: Vec<&str> = LISTS.iter().flat_map(|(_, routes)| routes.iter().copied()).collect();
        let once: BTreeSet<&str> = small_sort::gather(listed.iter().copied());
        assert_eq!(listed.len(), once.len(), "a route is on two lists");
        let routes: Vec<String> = routes().map(|route| format!("{} {}", route.method, route.path)).collect();
        for route in &routes {
            assert!(once.contains(route.as_str()), "{route} is on no list of core/src/engine/http/computing/list.rs");
        }
        for route in once {
            assert!(routes.iter().any(|known| known == route), "{route} is listed and does not exist");
        }
    }

    #[test]
    fn whatever_can_be_asked_about_the_past_may_compute() {
        for route in routes().filter(|route| route.params.iter().any(|param| param.name == "as_of")) {
            assert!(Computes::of(route) != Computes::Never, "{} {}", route.method, route.path);
        }
    }
}
