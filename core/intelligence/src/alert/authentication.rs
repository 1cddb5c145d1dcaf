//! Callers who report outcomes: the check of their key, and their budget.

use super::secret;
use crate::{Error, Result};
use crypto::api_key::is_key;
use engine::http::{Admitted, Caller, Request, Response, within};
use engine::limits::{Rate, Tier};
use engine::runtime::Runtime;
use engine::settings::Settings;

/// `X-Sentinel-Admin-Key` against the key for outcome reports and the operator's, or a subscriber key: the secret of an
/// alert subscription.
pub async fn admit(rt: &dyn Runtime, request: &Request) -> Result<Admitted, Box<Response>> {
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
            let known = secret::subscriber(rt, given).await;
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
