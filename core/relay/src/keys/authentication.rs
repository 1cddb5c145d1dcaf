//! Callers with an API key: the check of `X-API-Key`, and the budget of its tier.

use super::account::Admit;
use super::{KEY_KIND, Tier};
use crate::Error;
use crate::Result;
use crypto::api_key::is_key;
use engine::http::{Admitted, Caller, Request, Response, address, within};
use engine::runtime::{self, Runtime};

/// Admits the holder of an API key, of the shared demo key or of the operator's.
pub async fn admit(rt: &dyn Runtime, request: &Request) -> Result<Admitted, Box<Response>> {
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
