//! Community nodes: registration, tokens, lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::board::{self, Foremost, ReadLatestNodes};
use super::query::{Check, FindNode};
use super::record::{self, ClaimNode, Node, NodeKey, OperateNode, Register};
use super::{ID, NodePage, bytes_of, named, shard_of};
use crate::country::probed::ProbeStanding;
use crate::{Error, Result, Timestamp};
use crypto::encoding::encode_hex;
use crypto::hash::sha256;
use engine::http::{Admitted, Auth, Caller, Cx, Limit, Param, Request, Response, Route, handler, public_budget};
use engine::runtime::{self, Runtime};
use engine::time::{DAY, HOUR};
use facts::starter;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/community/register", handler!(register))
        .limit(Limit::Probes)
        .accepts::<NewNode>()
        .creates::<RegisteredNode>()
        .summary("Register a probe node. Its token is shown once."),
    Route::post("/v1/probe/community/register", handler!(register))
        .limit(Limit::Probes)
        .accepts::<NewNode>()
        .creates::<RegisteredNode>()
        .summary("Register a probe node, as `/v1/community/register`: small clients call it here."),
    Route::post("/v1/community/validate-token", handler!(validate))
        .signed(Auth::Token)
        .accepts::<NodeToken>()
        .returns::<ValidatedToken>()
        .summary("Whether a token is that of a node; with a handle, its owner claims it."),
    Route::get("/v1/community/nodes", handler!(nodes))
        .params(&[Param::optional("limit", "Nodes, at most 500; default 50.").count(50, MAX_LIST)])
        .returns::<NodeList>()
        .summary("Community nodes that submitted in the last 30 days, latest first."),
    Route::get("/v1/community/nodes/{nodeId}", handler!(node))
        .returns::<OneNode>()
        .summary("One community node: where it is, what it measured, and how often other nodes agreed."),
    Route::get("/v1/community/leaderboard", handler!(leaderboard))
        .params(&[Param::optional("limit", "Nodes, at most 500; default 50.").count(50, MAX_LIST)])
        .returns::<Contributors>()
        .summary("Nodes by what they contributed."),
    Route::patch("/v1/admin/probes/{nodeId}", handler!(operate))
        .admin()
        .extension()
        .accepts::<NodeChange>()
        .returns::<OneNode>()
        .summary("Vouch for a node of the operator's own, suspend one, or say which network it is in."),
];

/// How long a node is on lists after its last submission.
const LISTED: i64 = 30 * DAY;
/// Nodes per list, at most.
const MAX_LIST: u32 = 500;

/// Most characters of what a node says of itself.
const MAX_WORDS: usize = 64;

/// Registration of a node. Every member is optional.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NewNode {
    /// ISO 3166 alpha-2; `XX` or absent when unknown.
    pub country: Option<String>,
    #[schemars(length(max = MAX_WORDS))]
    pub city: Option<String>,
    #[schemars(length(max = MAX_WORDS))]
    pub version: Option<String>,
    #[schemars(length(max = MAX_WORDS))]
    pub label: Option<String>,
    /// Number of the network that the node is in, such as 33771. Without it the measurements of the node count for no
    /// network. Where the platform knows which network the request comes from, it uses that one instead.
    pub asn: Option<u32>,
}

/// The registered node. The id and the token come under the names that both kinds of client expect.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredNode {
    /// Also as `node_id`.
    pub node_id: String,
    /// Shown once; not recoverable.
    pub node_token: String,
    /// The same as `nodeId`.
    #[serde(rename = "node_id")]
    #[schemars(skip)]
    pub node_id_too: String,
    /// The same as `nodeToken`.
    pub token: String,
    pub country: String,
    pub city: Option<String>,
    pub asn: Option<u32>,
    /// ISO 8601.
    pub registered_at: String,
    pub submit_url: String,
    pub targets_url: String,
}

/// A short text from a stranger, without control characters; `None` when nothing is left.
fn plain(field: &str, text: Option<String>) -> Result<Option<String>> {
    let Some(text) = text else { return Ok(None) };
    if text.chars().count() > MAX_WORDS {
        return Err(Error::bad_request(format!("`{field}` must be at most {MAX_WORDS} characters.")));
    }
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// A country code in upper case. It is `XX` for a missing code and for one that is not on the list.
pub fn country(code: Option<&str>) -> String {
    let upper = code.unwrap_or("XX").trim().to_ascii_uppercase();
    starter::Country::by_code(&upper).map_or("XX", |known| known.code).to_owned()
}

/// The token of a node: a prefix that names the node, and a random secret.
fn token_of(key: &NodeKey, secret: &[u8; 32]) -> String {
    format!("pt-{}-{}", encode_hex(key), encode_hex(secret))
}

/// The node that a token belongs to.
pub fn node_of(token: &str) -> Option<NodeKey> {
    let (key, _) = token.strip_prefix("pt-")?.split_once('-')?;
    bytes_of(&format!("{ID}{key}"))
}

async fn register(cx: Cx) -> Result<Response> {
    let request: NewNode = cx.json()?;
    let random = cx.rt.random();
    let key: NodeKey = *random.first_chunk().ok_or_else(|| Error::internal("no random bytes"))?;
    let token = token_of(&key, &cx.rt.random());
    let node = Register {
        key,
        token_hash: sha256(token.as_bytes()),
        country: country(request.country.as_deref()),
        city: plain("city", request.city)?,
        version: plain("version", request.version)?,
        label: plain("label", request.label)?,
        asn: cx.request.network.or(request.asn).filter(|asn| *asn != 0),
    };
    let registered = runtime::call(&*cx.rt, record::shard(&key), &node).await?;
    let (id, base) = (named(ID, &key), cx.settings().base_url());
    Response::created(&RegisteredNode {
        node_id: id.clone(),
        node_token: token.clone(),
        node_id_too: id,
        token,
        country: node.country,
        city: node.city,
        asn: node.asn,
        registered_at: registered.to_string(),
        submit_url: format!("{base}/v1/probe/results"),
        targets_url: format!("{base}/v1/probe/domains"),
    })
}

/// The answer to a wrong token or a wrong signature.
pub fn refused() -> Error {
    Error::unauthorized("The node token or the signature is not valid.")
}

/// Checks the token of a node before the body of the request is read. The answer is 401 when it is missing or wrong.
pub async fn admit(rt: &dyn Runtime, route: &Route, request: &Request) -> Result<Admitted, Box<Response>> {
    check(rt, request).await.map_err(|error| Box::new(Response::error(error)))?;
    Ok(Admitted::new(Caller::Public, public_budget(rt, route, request)?))
}

async fn check(rt: &dyn Runtime, request: &Request) -> Result<()> {
    let token =
        request.bearer().ok_or_else(|| Error::unauthorized("This route needs Authorization: Bearer <token>."))?;
    let key = node_of(token).ok_or_else(refused)?;
    let check = Check { key, token_hash: sha256(token.as_bytes()) };
    runtime::query(rt, record::shard(&key), &check).await?.map(|_| ()).ok_or_else(refused)
}

/// A node and its token. The token may also come as `Authorization: Bearer`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeToken {
    #[schemars(length(min = 1))]
    pub node_id: Option<String>,
    pub node_token: Option<String>,
    /// Together with a valid token, the name under which the node is claimed: 2 to 32 letters, digits, `-`, `_` and
    /// `.`. An empty text removes the claim. If absent, the claim stays as it is.
    #[schemars(regex(pattern = "^([A-Za-z0-9._-]{2,32})?$"))]
    pub handle: Option<String>,
}

/// For a wrong token only the id is returned.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidatedToken {
    pub valid: bool,
    pub node_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registered_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
}

/// Checks the name under which a node is to be claimed. An empty text means no name.
fn handle(text: String) -> Result<Option<String>> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match text.len() {
        0 => Ok(None),
        2..=32 if text.chars().all(plain) => Ok(Some(text)),
        _ => Err(Error::bad_request("`handle` must be 2 to 32 letters, digits, `-`, `_` and `.`.")),
    }
}

async fn validate(cx: Cx) -> Result<Response> {
    let request: NodeToken = cx.json()?;
    let token = request.node_token.as_deref().filter(|token| !token.is_empty()).or(cx.request.bearer());
    let (Some(id), Some(token)) = (request.node_id.as_deref().filter(|id| !id.is_empty()), token) else {
        return Err(Error::bad_request("`nodeId` and `nodeToken` are required."));
    };
    let claimed = request.handle.map(handle).transpose()?;
    let token_hash = sha256(token.as_bytes());
    let found = match (node_of(token).filter(|key| bytes_of(id).as_ref() == Some(key)), claimed) {
        (Some(key), None) => runtime::query(&*cx.rt, record::shard(&key), &Check { key, token_hash }).await?,
        (Some(key), Some(handle)) => {
            runtime::call(&*cx.rt, record::shard(&key), &ClaimNode { key, token_hash, handle }).await?
        }
        (None, _) => None,
    };
    let node = found.as_ref();
    Response::json(&ValidatedToken {
        valid: node.is_some(),
        node_id: id.to_owned(),
        country: node.map(|node| node.country.clone()),
        status: node.map(|node| status(node, cx.now())),
        registered_at: node.map(|node| node.registered.to_string()),
        last_seen: node.and_then(|node| node.last_seen).map(|seen| seen.to_string()),
        claimed_by: node.and_then(|node| node.claimed_by.clone()),
    })
}

/// `active` for 2 hours after the last submission, `degraded` for a day, then `inactive`. `suspended` if the operator
/// said so.
pub fn status(node: &Node, now: Timestamp) -> &'static str {
    match node.last_seen.map(|seen| now.since(seen)) {
        _ if node.is_suspended() => "suspended",
        Some(age) if age <= 2 * HOUR => "active",
        Some(age) if age <= DAY => "degraded",
        _ => "inactive",
    }
}

/// When the node last submitted: only the day where the exact time could harm the person who runs it (decision
/// addresses-discarded).
pub fn last_seen(node: &Node) -> Option<String> {
    let seen = node.last_seen?;
    Some(if node.is_shielded() { seen.to_date_text() } else { seen.to_string() })
}

/// The city of a node, where public pages may show it (decision addresses-discarded).
pub fn city(node: &Node) -> Option<String> {
    node.city.clone().filter(|_| !node.is_shielded())
}

/// The name of a node, where public pages may show it: the one its owner claimed, or else its label.
fn called(node: &Node) -> Option<String> {
    node.claimed_by.clone().or_else(|| node.label.clone()).filter(|_| !node.is_shielded())
}

/// `operator` for a node that the operator vouches for.
pub fn kind(node: &Node) -> &'static str {
    if node.standing == ProbeStanding::Vouched { "operator" } else { "community" }
}

/// Rounds to three decimal places.
pub fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// A node in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedNode {
    /// In some countries each page shows a node under a different name.
    pub id: String,
    pub country: String,
    pub city: Option<String>,
    /// 0-1: how often other nodes agreed with it.
    pub trust_score: f64,
    pub total_probes: u64,
    /// Blocked measurements that other nodes confirm.
    pub blocked_confirmed: u64,
    pub last_seen: Option<String>,
    pub status: &'static str,
    /// `community` or `operator`.
    pub node_type: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct NodeList {
    pub total: usize,
    pub nodes: Vec<ListedNode>,
}

async fn nodes(cx: Cx) -> Result<Response> {
    let latest = ReadLatestNodes { since: cx.now().plus(-LISTED), limit: cx.count("limit", 50, MAX_LIST)? };
    let (total, nodes) = runtime::query(&*cx.rt, board::actor().name, &latest).await?;
    let listed = |(key, node): &(NodeKey, Node)| ListedNode {
        id: node.shown(key, NodePage::Nodes),
        country: node.country.clone(),
        city: city(node),
        trust_score: rounded(node.trust),
        total_probes: node.total,
        blocked_confirmed: node.confirmed,
        last_seen: last_seen(node),
        status: status(node, cx.now()),
        node_type: kind(node),
    };
    Response::json(&NodeList { total, nodes: nodes.iter().map(listed).collect() })
}

/// One node. Its token and its address are never shown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NodeDetail {
    pub node_id: String,
    pub country: String,
    pub city: Option<String>,
    pub status: &'static str,
    pub node_type: &'static str,
    pub version: Option<String>,
    pub label: Option<String>,
    pub asn: Option<u32>,
    /// ISO 8601.
    pub registered_at: String,
    pub last_seen: Option<String>,
    pub total_probes: u64,
    pub blocked_reported: u64,
    pub blocked_confirmed: u64,
    /// 0-1.
    pub trust_score: f64,
    /// Comparisons with other nodes: how often it agreed, and how often it did not.
    pub agreed: u64,
    pub disagreed: u64,
    /// The handle under which its owner claimed it. Handles are not checked: anybody may use any handle.
    pub claimed_by: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct OneNode {
    pub node: NodeDetail,
}

fn detail(id: &str, node: &Node, now: Timestamp) -> OneNode {
    let shielded = node.is_shielded();
    let registered = if shielded { node.registered.to_date_text() } else { node.registered.to_string() };
    OneNode {
        node: NodeDetail {
            node_id: id.to_owned(),
            country: node.country.clone(),
            city: city(node),
            status: status(node, now),
            node_type: kind(node),
            version: node.version.clone().filter(|_| !shielded),
            label: node.label.clone().filter(|_| !shielded),
            asn: node.asn.filter(|_| !shielded),
            registered_at: registered,
            last_seen: last_seen(node),
            total_probes: node.total,
            blocked_reported: node.blocked,
            blocked_confirmed: node.confirmed,
            trust_score: rounded(node.trust),
            agreed: node.agreed,
            disagreed: node.disagreed,
            claimed_by: node.claimed_by.clone().filter(|_| !shielded),
        },
    }
}

fn unknown() -> Error {
    Error::not_found("There is no such node.")
}

async fn node(cx: Cx) -> Result<Response> {
    let id = cx.path("nodeId")?;
    let shard = shard_of(id).ok_or_else(unknown)?;
    let (_, node) = runtime::query(&*cx.rt, shard, &FindNode { id: id.to_owned() }).await?.ok_or_else(unknown)?;
    Response::json(&detail(id, &node, cx.now()))
}

/// A contributor.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Contributor {
    pub rank: usize,
    pub node_id: String,
    pub display_name: String,
    pub country: String,
    pub total_probes: u64,
    pub blocked_confirmed: u64,
    pub trust_score: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Contributors {
    pub leaderboard: Vec<Contributor>,
}

async fn leaderboard(cx: Cx) -> Result<Response> {
    let foremost = Foremost { limit: cx.count("limit", 50, MAX_LIST)? };
    let found = runtime::query(&*cx.rt, board::actor().name, &foremost).await?;
    let ranked = |(rank, (key, node)): (usize, &(NodeKey, Node))| {
        let id = node.shown(key, NodePage::Board);
        Contributor {
            rank,
            display_name: called(node).unwrap_or_else(|| id.clone()),
            node_id: id,
            country: node.country.clone(),
            total_probes: node.total,
            blocked_confirmed: node.confirmed,
            trust_score: rounded(node.trust),
        }
    };
    Response::json(&Contributors { leaderboard: (1..).zip(&found).map(ranked).collect() })
}

/// Changes that the operator makes to a node. Absent members stay as they are.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NodeChange {
    /// `normal`, `vouched` (its measurements count in full at once) or `suspended` (none of its measurements count, not
    /// even earlier ones).
    #[schemars(extend("enum" = ["normal", "vouched", "suspended", null]))]
    pub standing: Option<String>,
    /// Number of its network.
    pub asn: Option<u32>,
}

async fn operate(cx: Cx) -> Result<Response> {
    let request: NodeChange = cx.json()?;
    let standing = match request.standing.as_deref() {
        None => None,
        Some("normal") => Some(ProbeStanding::Normal),
        Some("vouched") => Some(ProbeStanding::Vouched),
        Some("suspended") => Some(ProbeStanding::Suspended),
        Some(_) => return Err(Error::bad_request("`standing` must be normal, vouched or suspended.")),
    };
    let id = cx.path("nodeId")?;
    let shard = shard_of(id).ok_or_else(unknown)?;
    let (key, _) =
        runtime::query(&*cx.rt, shard.as_str(), &FindNode { id: id.to_owned() }).await?.ok_or_else(unknown)?;
    let operate = OperateNode { key, standing, asn: request.asn.filter(|asn| *asn != 0) };
    let node = runtime::call(&*cx.rt, shard, &operate).await?;
    Response::json(&detail(&named(ID, &key), &node, cx.now()))
}
