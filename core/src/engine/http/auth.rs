//! Who is calling, and whether they may call now.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use subtle::ConstantTimeEq;

use super::{Auth, Limit, Request, Response, Route};
use crate::engine::limits::{Admission, Rate};
use crate::engine::runtime::{self, Environment, Runtime};
use crate::engine::settings::Settings;
use crate::engine::time::SECOND;
use crate::relay::agent::keyed::{self, Keyed};
use crate::relay::agent::record::{Credentials, Place};
use crate::relay::keys::{Admit, Tier};
use crate::{Error, Result, Timestamp};

/// The authenticated caller of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    Public,
    /// Holder of an API key, or of the shared demo key (`account` is empty then).
    Key {
        account: String,
        tier: Tier,
    },
    Agent(Box<Credentials>),
    Admin,
}

impl Caller {
    /// The calling agent; only routes with [`Auth::Agent`] have one.
    pub fn agent(&self) -> Result<&Credentials> {
        match self {
            Caller::Agent(credentials) => Ok(credentials),
            _ => Err(Error::internal("a route without agent key asked for the agent")),
        }
    }
}

/// A request that may go on: who calls, and the state of the budget it drew on.
pub struct Admitted {
    pub(super) caller: Caller,
    pub(super) budget: Option<Admission>,
    /// The agent key that the caller showed.
    key: Option<Shown>,
}

/// An agent key that was right.
#[derive(Debug, Clone, Copy)]
struct Shown {
    secret_hash: [u8; 32],
    checked: Timestamp,
}

impl Admitted {
    fn new(caller: Caller, budget: Option<Admission>) -> Admitted {
        Admitted { caller, budget, key: None }
    }

    fn agent(caller: Credentials, key: Shown, budget: Option<Admission>) -> Admitted {
        Admitted { caller: Caller::Agent(Box::new(caller)), budget, key: Some(key) }
    }

    /// The runtime for the request: its own agent does nothing for it once the key has ended.
    pub(super) fn runtime(&self, rt: &Arc<dyn Runtime>) -> Arc<dyn Runtime> {
        match (&self.caller, self.key) {
            (Caller::Agent(agent), Some(key)) => Keyed::over(rt.clone(), &agent.actor, key.secret_hash),
            _ => rt.clone(),
        }
    }
}

/// Longest a patient request waits for its budget (decision patient-sends).
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a check of an agent key holds for what the request asks of others, which do not look at the key.
const CHECK_HOLDS: i64 = SECOND;

/// Checks an agent key again whose check is no longer fresh, because the body or the budget took its time.
pub(super) async fn still(
    rt: &dyn Runtime,
    route: &Route,
    request: &Request,
    admitted: Admitted,
) -> Result<Admitted, Box<Response>> {
    if admitted.key.is_none_or(|key| rt.now().since(key.checked) <= CHECK_HOLDS) {
        return Ok(admitted);
    }
    match credentials(rt, request, Duration::ZERO, route.waiting).await {
        Ok((caller, key)) => Ok(Admitted::agent(caller, key, admitted.budget)),
        Err(error) => Err(Box::new(Response::error(error))),
    }
}

pub(super) async fn admit(rt: &dyn Runtime, route: &Route, request: &Request) -> Result<Admitted, Box<Response>> {
    let refuse = |error: Error| Box::new(Response::error(error));
    match route.auth {
        Auth::None | Auth::Signed | Auth::SignedOrAdmin | Auth::SignedAdmin | Auth::Token => {
            Ok(Admitted::new(Caller::Public, public_budget(rt, route, request)?))
        }
        Auth::Probe => {
            crate::intelligence::probe::community::admit(rt, request).await.map_err(refuse)?;
            Ok(Admitted::new(Caller::Public, public_budget(rt, route, request)?))
        }
        Auth::Admin => {
            admin(rt, request).map_err(refuse)?;
            Ok(Admitted::new(Caller::Admin, None))
        }
        Auth::Sentinel => Box::pin(sentinel(rt, request)).await,
        // Boxed, so that a public route does not carry their state around.
        Auth::Key => Box::pin(api_key(rt, request)).await,
        Auth::Agent => Box::pin(agent(rt, route, request)).await,
    }
}

fn equal(given: &str, expected: &str) -> bool {
    !expected.is_empty() && bool::from(given.as_bytes().ct_eq(expected.as_bytes()))
}

/// Whether the operator asks, on a route that anybody may ask.
pub fn is_operator(rt: &dyn Runtime, request: &Request) -> bool {
    admin(rt, request).is_ok()
}

/// `X-Admin-Key` against the operator's key, in constant time.
fn admin(rt: &dyn Runtime, request: &Request) -> Result<()> {
    let expected = &rt.environment().secrets.admin_key;
    match request.header("x-admin-key") {
        Some(given) if equal(given, expected) => Ok(()),
        Some(_) => Err(Error::unauthorized("The admin key is not valid.")),
        None => Err(Error::unauthorized("This route needs the header X-Admin-Key.")),
    }
}

/// `X-Sentinel-Admin-Key` against the key for outcome reports and the operator's, or a subscriber key: the secret of an
/// alert subscription.
async fn sentinel(rt: &dyn Runtime, request: &Request) -> Result<Admitted, Box<Response>> {
    let environment = rt.environment();
    let refuse = |message: &'static str| Box::new(Response::error(Error::unauthorized(message)));
    let (whose, caller) = match request.header("x-sentinel-admin-key") {
        Some(given) if equal(given, &environment.secrets.admin_key) => ("operator".to_owned(), Caller::Admin),
        Some(given) if equal(given, &environment.settings.sentinel_admin_key) => ("sentinel".to_owned(), Caller::Admin),
        Some(_) => return Err(refuse("The key for outcome reports is not valid.")),
        None => {
            let given = subscriber_key(&environment.settings, request)
                .ok_or_else(|| refuse("This route needs the header X-Sentinel-Admin-Key or the subscriber key."))?;
            let known = crate::intelligence::alert::secret::subscriber(rt, given).await;
            let account = known
                .map_err(|error| Box::new(Response::error(error)))?
                .ok_or_else(|| refuse("The subscriber key is not valid."))?;
            (account.clone(), Caller::Key { account, tier: Tier::Research })
        }
    };
    let rate = Rate::per(environment.settings.reports_per_hour, 60);
    let budget = environment.buckets.take(&format!("reports of {whose}"), rate, rt.now());
    Ok(Admitted::new(caller, within(budget)?))
}

/// The subscriber key of a request, in the brand's or the extra prefix.
fn subscriber_key<'a>(settings: &Settings, request: &'a Request) -> Option<&'a str> {
    let mut prefixes = [&settings.brand, &settings.extra_header_prefix].into_iter().filter(|prefix| !prefix.is_empty());
    prefixes.find_map(|prefix| request.header(&format!("x-{}-subscriber-key", prefix.to_ascii_lowercase())))
}

/// Refuses when the budget is spent, with the headers that say so.
pub(super) fn within(budget: Admission) -> Result<Option<Admission>, Box<Response>> {
    if budget.allowed {
        return Ok(Some(budget));
    }
    Err(over_budget(spent(&budget), &budget))
}

fn spent(budget: &Admission) -> Error {
    Error::new(crate::ErrorCode::RateLimited, "Too many requests; wait, then retry with backoff.")
        .retry_after(budget.retry_after())
}

fn over_budget(error: Error, budget: &Admission) -> Box<Response> {
    let mut response = Response::error(error);
    budget_headers(&mut response, budget);
    Box::new(response)
}

const BUDGET: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

/// Says how a budget stands.
pub(crate) fn budget_headers(response: &mut Response, budget: &Admission) {
    let values = [i64::from(budget.limit), i64::from(budget.remaining), budget.reset];
    for (name, value) in BUDGET.into_iter().zip(values) {
        response.headers.insert(name, HeaderValue::from(value));
    }
}

/// Whether the handler said how a narrower budget stands, which it found spent.
pub(super) fn has_budget_headers(response: &Response) -> bool {
    BUDGET.iter().any(|name| response.headers.contains_key(name))
}

/// The client's address as a bucket name; IPv6 by its /64 (decision faucet-addresses).
pub(super) fn address(client: Option<IpAddr>) -> String {
    match client.map(super::proxy::neighbourhood) {
        Some(address) => address.to_string(),
        None => "unknown".to_owned(),
    }
}

/// The settings for this request. A server that listens on loopback is generous, since only its own machine asks; what
/// a proxy on that machine passes on comes from the world (decision faucet-addresses). Also a word for the name of the
/// bucket.
pub(super) fn figures<'a>(environment: &'a Environment, request: &Request) -> (&'a Settings, &'static str) {
    match request.forwarded {
        true => (&environment.proxied, "for"),
        false => (&environment.settings, "of"),
    }
}

fn public_budget(rt: &dyn Runtime, route: &Route, request: &Request) -> Result<Option<Admission>, Box<Response>> {
    let (settings, whose) = figures(rt.environment(), request);
    let (name, rate) = match route.limit {
        Limit::Accessibility => ("accessibility", Rate::per_minute(settings.accessibility_per_minute)),
        Limit::Data => ("data", Rate::per_minute(settings.data_per_minute)),
        Limit::Forecast => ("forecast", Rate::per_minute(settings.forecast_per_minute)),
        Limit::Incidents => ("incidents", Rate::per_minute(settings.incidents_per_minute)),
        Limit::Registration => ("registration", Rate::per(settings.registrations_per_hour, 60)),
        Limit::Disputes => ("disputes", Rate::per(settings.disputes_per_hour, 60)),
        Limit::Probes => ("probes", Rate::per(settings.probes_per_hour, 60)),
        Limit::Signup => ("signup", Rate::per(settings.signups_per_day, 24 * 60)),
        Limit::PayRead => ("pay reads", Rate::per_minute(settings.pay_reads_per_minute)),
        Limit::PayWrite => ("pay writes", Rate::per_minute(settings.pay_writes_per_address)),
        Limit::None | Limit::Key | Limit::Agent | Limit::AgentPatient | Limit::Reports => return Ok(None),
    };
    if rate.amount == 0 {
        return Ok(None);
    }
    within(rt.environment().buckets.take(&format!("{name} {whose} {}", address(request.client)), rate, rt.now()))
}

async fn api_key(rt: &dyn Runtime, request: &Request) -> Result<Admitted, Box<Response>> {
    let refuse = |message: &'static str| Box::new(Response::error(Error::unauthorized(message)));
    let environment = rt.environment();
    let given = request.header("x-api-key").ok_or_else(|| refuse("This route needs the header X-API-Key."))?;
    // Keys that the operator sets have any form, so they are compared before the form is checked (decision
    // api-key-form).
    if equal(given, &environment.secrets.admin_key) {
        return Ok(Admitted::new(Caller::Admin, None));
    }
    if equal(given, &environment.settings.demo_key) {
        let budget =
            environment.buckets.take(&format!("demo {}", address(request.client)), Tier::Demo.rate(), rt.now());
        let caller = Caller::Key { account: String::new(), tier: Tier::Demo };
        return Ok(Admitted::new(caller, within(budget)?));
    }
    let key = environment
        .secrets
        .parse_key(&environment.settings.brand, crate::relay::keys::KEY_KIND, given)
        .ok_or_else(|| refuse("The API key is not valid."))?;
    let admit = Admit { secret_hash: key.secret_hash() };
    let tier = runtime::query(rt, key.actor(), &admit)
        .await
        .map_err(|error| Box::new(Response::error(error)))?
        .ok_or_else(|| refuse("The API key is not valid."))?;
    let budget = environment.buckets.take(&format!("key {}", key.actor()), tier.rate(), rt.now());
    Ok(Admitted::new(Caller::Key { account: key.actor().to_owned(), tier }, within(budget)?))
}

/// The agent whose valid key the request carries, if it holds its DID.
pub(super) async fn recognized(rt: &dyn Runtime, request: &Request) -> Result<Option<Credentials>> {
    Ok(registration(rt, request).await?.filter(|caller| caller.place == Place::Stands))
}

/// The registration whose valid key the request carries, whether it holds its DID or waits for it.
pub(super) async fn registration(rt: &dyn Runtime, request: &Request) -> Result<Option<Credentials>> {
    let environment = rt.environment();
    let parse =
        |given| environment.secrets.parse_key(&environment.settings.brand, crate::relay::agent::KEY_KIND, given);
    let Some(key) = request.header("x-agent-key").and_then(parse) else { return Ok(None) };
    let authorize = crate::relay::agent::Authorize { secret_hash: key.secret_hash() };
    runtime::query(rt, key.actor(), &authorize).await
}

/// The agent whose key a request carries: 401 without a valid one, and 409 for one that waits for its DID, unless
/// `waiting` allows that. `patience` is how long to wait for storage.
async fn credentials(
    rt: &dyn Runtime,
    request: &Request,
    patience: Duration,
    waiting: bool,
) -> Result<(Credentials, Shown)> {
    let environment = rt.environment();
    let given =
        request.header("x-agent-key").ok_or_else(|| Error::unauthorized("This route needs the header X-Agent-Key."))?;
    let invalid = keyed::ended;
    let key = environment
        .secrets
        .parse_key(&environment.settings.brand, crate::relay::agent::KEY_KIND, given)
        .ok_or_else(invalid)?;
    let secret_hash = key.secret_hash();
    let authorize = crate::relay::agent::Authorize { secret_hash };
    let found = runtime::retry_unavailable(rt, patience, || runtime::query(rt, key.actor(), &authorize)).await?;
    let credentials = found.ok_or_else(invalid)?.admitted(waiting)?;
    if credentials.place == Place::Stands {
        environment.usage.seen(key.actor(), rt.now());
    }
    Ok((credentials, Shown { secret_hash, checked: rt.now() }))
}

/// Takes a request out of an agent's budget.
fn agent_budget(rt: &dyn Runtime, actor: &str) -> Admission {
    let settings = &rt.environment().settings;
    let rate = Rate::per_minute(settings.agent_per_second.saturating_mul(60)).burst(settings.agent_burst);
    rt.environment().buckets.take(&format!("agent {actor}"), rate, rt.now())
}

/// The calling agent of a route that is public unless something of the caller's own is asked for; it draws on the
/// agent's budget then.
pub(super) async fn sign_in(rt: &dyn Runtime, request: &Request) -> Result<Credentials> {
    let (credentials, _) = credentials(rt, request, Duration::ZERO, false).await?;
    let budget = agent_budget(rt, &credentials.actor);
    if budget.allowed { Ok(credentials) } else { Err(spent(&budget)) }
}

async fn agent(rt: &dyn Runtime, route: &Route, request: &Request) -> Result<Admitted, Box<Response>> {
    // A stream holds its client while storage is closed, since that would come back every half second (decision
    // stream-lifetimes).
    let patience = if route.streams() { crate::relay::agent::stream::CONNECT_PATIENCE } else { Duration::ZERO };
    let (caller, key) =
        credentials(rt, request, patience, route.waiting).await.map_err(|error| Box::new(Response::error(error)))?;
    let actor = caller.actor.clone();
    let mut budget = match route.limit {
        Limit::None => return Ok(Admitted::agent(caller, key, None)),
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
            let error = Error::new(crate::ErrorCode::Unavailable, "The agent sends faster than its budget; retry.")
                .retry_after(1);
            return Err(over_budget(error, &budget));
        }
    }
    Ok(Admitted::agent(caller, key, within(budget)?))
}
