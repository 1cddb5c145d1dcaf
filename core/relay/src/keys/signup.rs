//! `POST /api-keys/signup`: a free research key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CreateAccount, KEY_KIND, LABEL_PURPOSE, Tier};
use crate::agent::custody;
use crate::{Error, Result};
use engine::actor::{ActorId, Kind};
use engine::http::{Cx, Limit, Response, Route, handler};
use engine::runtime;
use engine::secrets::Secrets;

pub const ROUTES: &[Route] = &[Route::post("/api-keys/signup", handler!(signup))
    .limit(Limit::Signup)
    .accepts::<SignupRequest>()
    .creates::<SignupResponse>()
    .summary("Get a free research key. It is shown once.")];

/// Most bytes of a mail address (RFC 5321).
const MAX_EMAIL: usize = 254;
/// What a mail address looks like: something, `@`, and a host with a dot.
const EMAIL_PATTERN: &str = "^[^@]+@[^.]*[.]";
/// Most characters of the label of a key, and of what else a request says.
pub const MAX_LABEL: usize = 500;

/// A request for a key.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SignupRequest {
    /// The mail address at which the holder can be reached.
    #[schemars(length(max = MAX_EMAIL), regex(pattern = EMAIL_PATTERN))]
    pub email: String,
    #[schemars(length(max = MAX_LABEL))]
    pub name: Option<String>,
    #[schemars(length(max = MAX_LABEL))]
    pub use_case: Option<String>,
    #[schemars(length(max = MAX_LABEL))]
    pub organization: Option<String>,
}

/// The new key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SignupResponse {
    /// Shown once; cannot be retrieved later.
    pub api_key: String,
    pub tier: Tier,
    pub rate_limit_per_minute: u32,
    pub burst: u32,
    /// ISO 8601.
    pub created_at: String,
}

async fn signup(cx: Cx) -> Result<Response> {
    let request: SignupRequest = cx.json()?;
    let plausible = request.email.len() <= MAX_EMAIL
        && request.email.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.'));
    if !plausible {
        return Err(Error::bad_request("`email` must be an address such as name@example.org."));
    }
    for (field, text) in
        [("name", &request.name), ("use_case", &request.use_case), ("organization", &request.organization)]
    {
        if text.as_ref().is_some_and(|text| text.chars().count() > MAX_LABEL) {
            return Err(Error::bad_request(format!("`{field}` must be at most {MAX_LABEL} characters.")));
        }
    }
    Response::created(&create(&*cx.rt, Tier::Research, &request.email).await?)
}

/// The owner for which the label of a key is sealed.
fn owner(account: &str) -> String {
    ActorId::new(Kind::Account, account).to_string()
}

/// The label of a key, as its holder wrote it.
pub fn shown_label(rt: &dyn runtime::Runtime, account: &str, stored: &str) -> Result<String> {
    custody::open_text(rt, &owner(account), LABEL_PURPOSE, stored)
}

/// Makes a key of a tier.
pub async fn create(rt: &dyn runtime::Runtime, tier: Tier, label: &str) -> Result<SignupResponse> {
    let environment = rt.environment();
    let actor = Secrets::new_actor(rt.random());
    let key = environment.secrets.new_key(&environment.settings.brand, KEY_KIND, &actor, rt.random())?;
    // An empty label contains nothing that needs sealing.
    let label = match label {
        "" => String::new(),
        label => custody::seal_text(rt, &owner(&actor), LABEL_PURPOSE, label)?,
    };
    let account = CreateAccount { secret_hash: key.secret_hash(), tier, label };
    let created = runtime::call(rt, actor, &account).await?;
    let rate = tier.rate();
    Ok(SignupResponse {
        api_key: key.expose().to_owned(),
        tier,
        rate_limit_per_minute: rate.minutely(),
        burst: rate.burst,
        created_at: created.to_string(),
    })
}
