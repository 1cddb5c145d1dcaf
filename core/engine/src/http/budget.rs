//! The budgets of routes and callers that requests draw on, and what an answer says of them. Most 429 are decided here;
//! features with limits of their own answer `ErrorCode::RateLimited` themselves.

use std::net::IpAddr;

use http::{HeaderName, HeaderValue};

use super::{Limit, Request, Response, Route};
use crate::limits::{Admission, Rate};
use crate::runtime::{Environment, Runtime};
use crate::settings::Settings;
use crate::{Error, Result};

/// Refuses when the budget is spent, with the headers that say so.
pub fn within(budget: Admission) -> Result<Option<Admission>, Box<Response>> {
    if budget.allowed {
        return Ok(Some(budget));
    }
    Err(over_budget(spent(&budget), &budget))
}

pub fn spent(budget: &Admission) -> Error {
    Error::new(crate::ErrorCode::RateLimited, "Too many requests; wait, then retry with backoff.")
        .retry_after(budget.retry_after())
}

pub fn over_budget(error: Error, budget: &Admission) -> Box<Response> {
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
pub fn budget_headers(response: &mut Response, budget: &Admission) {
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
pub fn address(client: Option<IpAddr>) -> String {
    match client.map(super::proxy::neighbourhood) {
        Some(address) => address.to_string(),
        None => "unknown".to_owned(),
    }
}

/// The settings for this request. A server that listens on loopback is generous, since only its own machine asks; what
/// a proxy on that machine passes on comes from the world (decision faucet-addresses). Also a word for the name of the
/// bucket.
pub fn figures<'a>(environment: &'a Environment, request: &Request) -> (&'a Settings, &'static str) {
    match request.forwarded {
        true => (&environment.proxied, "for"),
        false => (&environment.settings, "of"),
    }
}

pub fn public_budget(rt: &dyn Runtime, route: &Route, request: &Request) -> Result<Option<Admission>, Box<Response>> {
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
