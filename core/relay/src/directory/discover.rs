//! `GET /v1/agent/discover`: the search for agents (decision agent-search-order).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::Serialize;

use super::search::{self, FindAgents, MatchPlace, Sought};
use super::{Did, fold};
use crate::agent::wire;
use crate::{Error, Result};
use crypto::encoding::encode_base64;
use engine::actor;
use engine::http::{Cx, Param, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[Route::get("/v1/agent/discover", handler!(discover))
    .params(&[
        Param::optional("query", "The beginning of a name, of a word of a name, or of a DID; case does not count."),
        Param::optional("capability", "One of the agent's capabilities; case does not count."),
        Param::optional("limit", "Most agents in the answer, 1 to 100, default 20.").count(LIMIT.0, LIMIT.1),
        Param::optional("cursor", "The `cursor` of the earlier page.").like("^[A-Za-z0-9_-]+$"),
    ])
    .returns::<Discovered>()
    .summary("Find agents, best match first: exact, by beginning, by word; then by trust; then by age.")];

/// Agents in one answer: the default, and the most.
const LIMIT: (u32, u32) = (20, 100);

/// One page of agents.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Discovered {
    pub agents: Vec<DiscoveredAgent>,
    pub count: usize,
    /// The `cursor` of the next page; null on the last page. A page may be short and still have a cursor.
    pub cursor: Option<String>,
}

/// An agent as the search shows it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiscoveredAgent {
    pub did: String,
    pub name: Option<String>,
    pub capabilities: Vec<String>,
    /// Base64, Ed25519.
    pub signing_public_key: String,
    /// Base64, X25519.
    pub encryption_public_key: String,
    /// Always `active`: other agents are not found.
    pub status: &'static str,
    pub created_at: String,
}

fn write(place: &MatchPlace) -> Result<String> {
    Ok(URL_SAFE_NO_PAD.encode(actor::encode(place)?))
}

fn read(text: &str) -> Result<MatchPlace> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    bytes
        .and_then(|bytes| actor::decode(&bytes).ok())
        .ok_or_else(|| Error::bad_request("`cursor` must be the `cursor` of an earlier answer."))
}

/// What a text asks for: a DID when it begins like a DID of this service, otherwise a name.
fn sought(brand: &str, text: Option<&str>) -> Sought {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Sought::Everybody };
    let start = format!("did:{brand}:");
    match text.get(..start.len()) {
        Some(found) if fold(found) == start => Sought::Did(text.get(start.len()..).unwrap_or_default().to_owned()),
        _ => Sought::Name(text.to_owned()),
    }
}

async fn discover(cx: Cx) -> Result<Response> {
    let find = FindAgents {
        sought: sought(&cx.settings().brand, cx.query("query")?.as_deref()),
        capability: cx.query("capability")?,
        limit: cx.count("limit", LIMIT.0, LIMIT.1)? as usize,
        after: cx.query("cursor")?.map(|text| read(&text)).transpose()?,
    };
    let found = runtime::query(&*cx.rt, search::shard(&Did::default()), &find).await?;
    let agent = |(did, listed): (Did, search::ListedAgent)| DiscoveredAgent {
        did: wire::did_text(cx.settings(), &did),
        name: listed.name,
        capabilities: listed.capabilities,
        signing_public_key: encode_base64(&listed.signing),
        encryption_public_key: encode_base64(&listed.encryption),
        status: "active",
        created_at: listed.registered.to_string(),
    };
    let agents: Vec<DiscoveredAgent> = found.agents.into_iter().map(agent).collect();
    let cursor = found.next.as_ref().map(write).transpose()?;
    Response::json(&Discovered { count: agents.len(), agents, cursor })
}
