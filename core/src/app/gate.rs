//! Who may call which route: each kind of key is checked by the feature that holds it.

use std::sync::Arc;

use http::HeaderMap;

use crate::engine::actor::ActorId;
use crate::engine::http::{
    Admitted, Auth, Caller, Gate, Request, Response, Route, address, is_key, operator, public_budget, within,
};
use crate::engine::limits::{Rate, Tier};
use crate::engine::runtime::{self, BoxFuture, Environment, Runtime};
use crate::engine::settings::Settings;
use crate::intelligence::{alert, probe};
use crate::relay::agent::{authentication, reseal};
use crate::relay::keys::{Admit, KEY_KIND};
use crate::{Error, Result};

/// The gate of the program.
pub struct Keys;

impl Gate for Keys {
    fn admit<'a>(
        &'a self,
        rt: &'a dyn Runtime,
        route: &'a Route,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Admitted, Box<Response>>> {
        // Boxed one by one, so that a public route does not carry the state of the others around.
        match route.auth {
            Auth::None | Auth::Signed | Auth::SignedOrAdmin | Auth::SignedAdmin | Auth::Token => {
                Box::pin(std::future::ready(public(rt, route, request)))
            }
            Auth::Probe => Box::pin(async move {
                probe::community::admit(rt, request).await.map_err(refused)?;
                public(rt, route, request)
            }),
            Auth::Admin => {
                let admitted = operator(rt, request).map(|()| Admitted::new(Caller::Admin, None));
                Box::pin(std::future::ready(admitted.map_err(refused)))
            }
            Auth::Sentinel => Box::pin(sentinel(rt, request)),
            Auth::Key => Box::pin(api_key(rt, request)),
            Auth::Agent => Box::pin(authentication::admit(rt, route, request)),
        }
    }

    fn still<'a>(
        &'a self,
        rt: &'a dyn Runtime,
        route: &'a Route,
        request: &'a Request,
        admitted: Admitted,
    ) -> BoxFuture<'a, Result<Admitted, Box<Response>>> {
        Box::pin(authentication::still(rt, route, request, admitted))
    }

    fn runtime(&self, admitted: &Admitted, rt: &Arc<dyn Runtime>) -> Arc<dyn Runtime> {
        authentication::runtime(admitted, rt)
    }

    fn home(&self, environment: &Environment, headers: &HeaderMap) -> Option<ActorId> {
        authentication::home(environment, headers)
    }

    fn afterwards(&self, rt: &Arc<dyn Runtime>, caller: &Caller) -> Option<BoxFuture<'static, ()>> {
        let agent = reseal::behind(&**rt, caller)?;
        let rt = rt.clone();
        Some(Box::pin(async move { reseal::passing_by(&*rt, &agent).await }))
    }
}

fn refused(error: Error) -> Box<Response> {
    Box::new(Response::error(error))
}

fn public(rt: &dyn Runtime, route: &Route, request: &Request) -> Result<Admitted, Box<Response>> {
    Ok(Admitted::new(Caller::Public, public_budget(rt, route, request)?))
}

/// `X-Sentinel-Admin-Key` against the key for outcome reports and the operator's, or a subscriber key: the secret of an
/// alert subscription.
async fn sentinel(rt: &dyn Runtime, request: &Request) -> Result<Admitted, Box<Response>> {
    let environment = rt.environment();
    let refuse = |message: &'static str| Box::new(Response::error(Error::unauthorized(message)));
    let (whose, caller) = match request.header("x-sentinel-admin-key") {
        Some(given) if is_key(given, &environment.secrets.admin_key) => ("operator".to_owned(), Caller::Admin),
        Some(given) if is_key(given, &environment.settings.sentinel_admin_key) => {
            ("sentinel".to_owned(), Caller::Admin)
        }
        Some(_) => return Err(refuse("The key for outcome reports is not valid.")),
        None => {
            let given = subscriber_key(&environment.settings, request)
                .ok_or_else(|| refuse("This route needs the header X-Sentinel-Admin-Key or the subscriber key."))?;
            let known = alert::secret::subscriber(rt, given).await;
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

async fn api_key(rt: &dyn Runtime, request: &Request) -> Result<Admitted, Box<Response>> {
    let refuse = |message: &'static str| Box::new(Response::error(Error::unauthorized(message)));
    let environment = rt.environment();
    let given = request.header("x-api-key").ok_or_else(|| refuse("This route needs the header X-API-Key."))?;
    // Keys that the operator sets have any form, so they are compared before the form is checked (decision
    // api-key-form).
    if is_key(given, &environment.secrets.admin_key) {
        return Ok(Admitted::new(Caller::Admin, None));
    }
    if is_key(given, &environment.settings.demo_key) {
        let budget =
            environment.buckets.take(&format!("demo {}", address(request.client)), Tier::Demo.rate(), rt.now());
        let caller = Caller::Key { account: String::new(), tier: Tier::Demo };
        return Ok(Admitted::new(caller, within(budget)?));
    }
    let key = environment
        .secrets
        .parse_key(&environment.settings.brand, KEY_KIND, given)
        .ok_or_else(|| refuse("The API key is not valid."))?;
    let admit = Admit { secret_hash: key.secret_hash() };
    let tier = runtime::query(rt, key.actor(), &admit)
        .await
        .map_err(|error| Box::new(Response::error(error)))?
        .ok_or_else(|| refuse("The API key is not valid."))?;
    let budget = environment.buckets.take(&format!("key {}", key.actor()), tier.rate(), rt.now());
    Ok(Admitted::new(Caller::Key { account: key.actor().to_owned(), tier }, within(budget)?))
}
