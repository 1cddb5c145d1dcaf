//! Agents that call: the check of `X-Agent-Key`, and the budget of its agent.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;

use super::keyed::{self, Keyed};
use super::record::{Credentials, RegistrationPlace};
use super::{Authorize, KEY_KIND, reseal};
use crate::agent::usage::Usage;
use crate::{Error, ErrorCode, Result};
use crypto::api_key::ApiKey;
use engine::actor::{ActorId, Kind};
use engine::http::{
    Admitted, Caller, Cx, Gate, Limit, MadeKey, Request, Response, Route, ShownKey, over_budget, spent, within,
};
use engine::limits::{Admission, Rate};
use engine::runtime::{self, BoxFuture, Environment, Runtime};
use engine::time::SECOND;

/// The header with the key.
const HEADER: &str = "x-agent-key";

/// Longest a patient request waits for its budget (decision patient-sends).
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a check of an agent key holds for what the request asks of others, which do not look at the key.
const CHECK_HOLDS: i64 = SECOND;

/// The caller of a route as an agent.
pub trait Calling {
    /// The calling agent; only routes with [`Auth::Agent`](engine::http::Auth::Agent) have one.
    fn agent(&self) -> Result<&Credentials>;
}

impl Calling for Caller {
    fn agent(&self) -> Result<&Credentials> {
        match self {
            Caller::Agent(known) => known.downcast_ref(),
            _ => None,
        }
        .ok_or_else(|| Error::internal("a route without agent key asked for the agent"))
    }
}

/// The agent key in these headers, if it is of the right form and one that was made here.
fn shown(environment: &Environment, headers: &HeaderMap) -> Option<ApiKey> {
    let given = headers.get(HEADER)?.to_str().ok()?;
    environment.secrets.parse_key(&environment.settings.brand, KEY_KIND, given)
}

/// The agent whose valid key the request carries, if it holds its DID.
pub async fn recognized(cx: &Cx) -> Result<Option<Credentials>> {
    Ok(registration(cx).await?.filter(|caller| caller.place == RegistrationPlace::Stands))
}

/// The registration whose valid key the request carries, whether it holds its DID or waits for it.
pub async fn registration(cx: &Cx) -> Result<Option<Credentials>> {
    let Some(key) = shown(cx.rt.environment(), &cx.request.headers) else { return Ok(None) };
    let authorize = Authorize { secret_hash: key.secret_hash() };
    runtime::query(&*cx.rt, key.actor(), &authorize).await
}

/// The agent whose key a request carries: 401 without a valid one, and 409 for one that waits for its DID, unless
/// `waiting` allows that. `patience` is how long to wait for storage.
async fn credentials(
    rt: &dyn Runtime,
    request: &Request,
    patience: Duration,
    waiting: bool,
) -> Result<(Credentials, ShownKey)> {
    let environment = rt.environment();
    if request.header(HEADER).is_none() {
        return Err(Error::unauthorized("This route needs the header X-Agent-Key."));
    }
    let invalid = keyed::ended;
    let made = request.key.clone().or_else(|| Agents.made_key(environment, &request.headers)).ok_or_else(invalid)?;
    let MadeKey { actor, secret_hash } = made;
    let actor = actor.name;
    let authorize = Authorize { secret_hash };
    let found = runtime::retry_unavailable(rt, patience, || runtime::query(rt, actor.as_str(), &authorize)).await?;
    let credentials = found.ok_or_else(invalid)?.admitted(waiting)?;
    if credentials.place == RegistrationPlace::Stands {
        Usage::of(environment).seen(&actor, rt.now());
    }
    Ok((credentials, ShownKey { secret_hash, checked: rt.now() }))
}

/// Takes a request out of an agent's budget.
fn agent_budget(rt: &dyn Runtime, actor: &str) -> Admission {
    let settings = &rt.environment().settings;
    let rate = Rate::per_minute(settings.agent_per_second.saturating_mul(60)).burst(settings.agent_burst);
    rt.environment().buckets.take(&format!("agent {actor}"), rate, rt.now())
}

/// The calling agent of a route that is public unless something of the caller's own is asked for; it draws on the
/// agent's budget then.
pub async fn sign_in(cx: &Cx) -> Result<Credentials> {
    let rt = &*cx.rt;
    let (credentials, _) = credentials(rt, &cx.request, Duration::ZERO, false).await?;
    let budget = agent_budget(rt, &credentials.actor);
    if budget.allowed { Ok(credentials) } else { Err(spent(&budget)) }
}

fn admitted(caller: Credentials, key: ShownKey, budget: Option<Admission>) -> Admitted {
    Admitted { caller: Caller::Agent(Arc::new(caller)), budget, key: Some(key) }
}

/// Admits an agent by its key.
pub async fn admit(rt: &dyn Runtime, route: &Route, request: &Request) -> Result<Admitted, Box<Response>> {
    // A stream holds its client while storage is closed, since that would come back every half second (decision
    // stream-lifetimes).
    let patience = if route.streams() { super::stream::CONNECT_PATIENCE } else { Duration::ZERO };
    let (caller, key) =
        credentials(rt, request, patience, route.waiting).await.map_err(|error| Box::new(Response::error(error)))?;
    let actor = caller.actor.clone();
    let mut budget = match route.limit {
        Limit::None => return Ok(admitted(caller, key, None)),
        _ => agent_budget(rt, &actor),
    };
    if route.limit == Limit::AgentPatient && !budget.allowed {
        // Others wait for the same tokens, so one that comes may be gone again.
        let deadline = rt.now().plus_duration(PATIENCE);
        while !budget.allowed && budget.wait <= rt.now().until(deadline) {
            rt.sleep(budget.wait).await;
            budget = agent_budget(rt, &actor);
        }
        if !budget.allowed {
            let error =
                Error::new(ErrorCode::Unavailable, "The agent sends faster than its budget; retry.").retry_after(1);
            return Err(over_budget(error, &budget));
        }
    }
    Ok(admitted(caller, key, within(budget)?))
}

/// What the relay does for agents that were checked.
pub struct Agents;

impl Gate for Agents {
    fn still<'a>(
        &'a self,
        rt: &'a dyn Runtime,
        route: &'a Route,
        request: &'a Request,
        admitted: &Admitted,
    ) -> Option<BoxFuture<'a, Result<Admitted, Box<Response>>>> {
        let is_old = admitted.key.is_some_and(|key| rt.now().since(key.checked) > CHECK_HOLDS);
        let budget = admitted.budget;
        is_old.then(|| Box::pin(again(rt, route, request, budget)) as BoxFuture<'a, _>)
    }

    /// The request's own agent does nothing for it once the key has ended.
    fn runtime(&self, admitted: &Admitted, rt: &Arc<dyn Runtime>) -> Option<Arc<dyn Runtime>> {
        let (agent, key) = (admitted.caller.agent().ok()?, admitted.key?);
        Some(Keyed::over(rt.clone(), &agent.actor, key.secret_hash))
    }

    fn made_key(&self, environment: &Environment, headers: &HeaderMap) -> Option<MadeKey> {
        let key = shown(environment, headers)?;
        Some(MadeKey { actor: ActorId::new(Kind::Agent, key.actor()), secret_hash: key.secret_hash() })
    }

    fn afterwards(&self, rt: &Arc<dyn Runtime>, caller: &Caller) -> Option<BoxFuture<'static, ()>> {
        let agent = reseal::behind(&**rt, caller)?;
        let rt = rt.clone();
        Some(Box::pin(async move { reseal::passing_by(&*rt, &agent).await }))
    }
}

/// Checks an agent key whose check is no longer fresh.
async fn again(
    rt: &dyn Runtime,
    route: &Route,
    request: &Request,
    budget: Option<Admission>,
) -> Result<Admitted, Box<Response>> {
    match credentials(rt, request, Duration::ZERO, route.waiting).await {
        Ok((caller, key)) => Ok(admitted(caller, key, budget)),
        Err(error) => Err(Box::new(Response::error(error))),
    }
}
