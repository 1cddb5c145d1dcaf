//! Capabilities: what an agent says it can do. Tasks name them, and other agents search for them.
//!
//! The agent's rows decide. [`crate::directory::capabilities`] is the search over all agents and follows by
//! effects: at once for a registration, at most once a minute for counts (decision counts-in-memory). The directory's
//! search for agents knows registered capabilities as well as those of the profile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::mailbox::Local;
use super::register::{MAX_CAPABILITIES, MAX_CAPABILITY};
use super::{custody, listing, record, wire};
use crate::agent::authentication::Calling;
use crate::directory::capabilities::{
    self as index, CapabilityCounts, CapabilityHit, FindCapabilities, ListedCapability,
};
use crate::directory::{Did, fold, likeness, search};
use crate::{Error, Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::kv::{Direction, Read, Row, Table};
use engine::runtime;
use engine::time::MINUTE;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/capabilities", handler!(register))
        .agent()
        .accepts::<CapabilityRequest>()
        .creates::<CapabilityInfo>()
        .summary("Register a capability. The same name again replaces the earlier registration (200)."),
    Route::get("/v1/agent/capabilities", handler!(list))
        .agent()
        .returns::<CapabilityList>()
        .summary("The caller's own capabilities, the oldest first."),
    Route::get("/v1/agent/capabilities/search", handler!(find))
        .params(&[
            Param::optional("q", "The beginnings of words in names and descriptions."),
            Param::optional("query", "The same as `q`."),
            Param::optional("name", "Exactly this name; case does not count."),
            Param::optional("limit", "Most entries of the answer: 1 to 100, default 50.").count(50, 100),
        ])
        .returns::<CapabilityResults>()
        .summary("Capabilities of active agents: best match first, then by trust, rating and age."),
    Route::delete("/v1/agent/capabilities/{id}", handler!(remove))
        .agent()
        .returns::<Removed>()
        .summary("Remove a capability."),
];

/// Most characters of a description; our choice.
const MAX_DESCRIPTION: usize = 1_024;
/// Most characters of a version; our choice.
const MAX_VERSION: usize = 64;
/// Most bytes of one schema; our choice.
const MAX_SCHEMA: usize = 8 * 1024;
/// The version of a capability that was registered without one.
const VERSION: &str = "1.0.0";
/// The directory hears of counts at most once per this time, in microseconds.
const INTERVAL: i64 = MINUTE;
/// Key of the timer that tells the directory.
const TELL: &str = "capabilities";

pub const ENTRIES: &[Entry] =
    &[operation::<Register>(), operation::<RemoveCapability>(), operation::<TellCounts>(), query::<ReadOwn>()];

/// A registered capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    pub name: String,
    pub description: Option<String>,
    pub version: String,
    /// JSON objects as text, exactly as they were given; so is `output_schema`.
    pub input_schema: Option<String>,
    pub output_schema: Option<String>,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub counts: CapabilityCounts,
    /// Rank and counts as the directory last heard them; absent while the directory still has to hear of this
    /// capability.
    pub told: Option<(u8, CapabilityCounts)>,
}
impl Row for Capability {}

const CAPABILITIES: Table<(Local,), Capability> = Table::new(56);
/// By [`likeness::key`]; rows from before that function existed are by [`fold`].
const NAMES: Table<(String,), Local> = Table::new(57);

/// The capability of this name.
fn named(view: &(impl Read + ?Sized), name: &str) -> Result<Option<Local>> {
    match NAMES.get(view, &(likeness::key(name),))? {
        None => Ok(NAMES.get(view, &(fold(name),))?),
        found => Ok(found),
    }
}

fn forget_name(turn: &mut Turn<'_>, name: &str) {
    NAMES.delete(turn, &(likeness::key(name),));
    NAMES.delete(turn, &(fold(name),));
}

fn all(view: &(impl Read + ?Sized)) -> Result<Vec<(Local, Capability)>> {
    let rows = CAPABILITIES.scan(view, &CAPABILITIES.range(), Direction::Ascending, MAX_CAPABILITIES)?;
    Ok(rows.into_iter().map(|((local,), capability)| (local, capability)).collect())
}

/// Tells the directory about new capabilities, changed counts and a changed rank. Returns the names of all
/// capabilities, for the search for agents.
pub(super) fn tell(turn: &mut Turn<'_>, rank: u8) -> Result<Vec<String>> {
    let did = record::did_of(&turn.actor().name)?;
    let mut names = Vec::new();
    for (local, mut capability) in all(turn)? {
        names.push(capability.name.clone());
        let told = Some((rank, capability.counts));
        if capability.told == told {
            continue;
        }
        capability.told = told;
        CAPABILITIES.put(turn, &(local,), &capability)?;
        let Capability { name, description, version, created, counts, .. } = capability;
        let listed = ListedCapability { name, description, version, rank, since: created, counts };
        turn.send(search::shard(&did), &index::ListCapability { did, local, listed })?;
    }
    Ok(names)
}

/// Counts a task for the capability of this name, or a rating of such a task. Names that are not registered are not
/// counted.
pub(super) fn count(turn: &mut Turn<'_>, name: &str, rating: Option<u8>) -> Result<()> {
    let Some(local) = named(turn, name)? else { return Ok(()) };
    let Some(mut capability) = CAPABILITIES.get(turn, &(local,))? else { return Ok(()) };
    match rating {
        Some(rating) => capability.counts.rate(rating),
        None => capability.counts.invocations += 1,
    }
    CAPABILITIES.put(turn, &(local,), &capability)?;
    match turn.scheduled(TELL)? {
        Some(_) => Ok(()),
        None => turn.schedule(TELL, turn.now.plus(INTERVAL), &TellCounts),
    }
}

/// Removes all capabilities. Called when a registration ends or gives way to another.
pub(super) fn ended(turn: &mut Turn<'_>) -> Result<()> {
    for (local, capability) in all(turn)? {
        take_back(turn, local, &capability)?;
    }
    turn.cancel(TELL)
}

/// Removes all capabilities from the search while the agent is suspended; [`tell`] puts them back.
pub(super) fn hide(turn: &mut Turn<'_>) -> Result<()> {
    let did = record::did_of(&turn.actor().name)?;
    for (local, capability) in all(turn)? {
        CAPABILITIES.put(turn, &(local,), &Capability { told: None, ..capability })?;
        turn.send(search::shard(&did), &index::UnlistCapability { did, local })?;
    }
    Ok(())
}

fn take_back(turn: &mut Turn<'_>, local: Local, capability: &Capability) -> Result<()> {
    CAPABILITIES.delete(turn, &(local,));
    forget_name(turn, &capability.name);
    let did = record::did_of(&turn.actor().name)?;
    turn.send(search::shard(&did), &index::UnlistCapability { did, local })
}

/// Tells the directory of changed counts, up to a minute after the change.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TellCounts;

impl Operation for TellCounts {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "tell_capabilities";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        match record::active(turn)? {
            Some(agent) => listing::changed(turn, &agent),
            None => Ok(()),
        }
    }
}

/// Registers a capability, or replaces the one of that name. A replaced one keeps its id, counts and creation time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Register {
    /// The id of the capability, when it is new.
    pub local: Local,
    pub name: String,
    pub description: Option<String>,
    pub version: String,
    pub input_schema: Option<String>,
    pub output_schema: Option<String>,
}

impl Operation for Register {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "register_capability";
    type Reply = (Local, Capability);

    fn run(self, turn: &mut Turn<'_>) -> Result<(Local, Capability)> {
        let agent = record::active(turn)?.ok_or_else(record::gone)?;
        let key = (likeness::key(&self.name),);
        let known = named(turn, &self.name)?;
        if known.is_none() && all(turn)?.len() >= MAX_CAPABILITIES {
            return Err(Error::conflict("An agent has at most 32 capabilities; remove one first."));
        }
        let local = known.unwrap_or(self.local);
        let before = CAPABILITIES.get(turn, &(local,))?;
        if let Some(before) = &before {
            forget_name(turn, &before.name);
        }
        let capability = Capability {
            name: self.name,
            description: self.description,
            version: self.version,
            input_schema: self.input_schema,
            output_schema: self.output_schema,
            created: before.as_ref().map_or(turn.now, |before| before.created),
            updated: turn.now,
            counts: before.map(|before| before.counts).unwrap_or_default(),
            told: None,
        };
        NAMES.put(turn, &key, &local)?;
        CAPABILITIES.put(turn, &(local,), &capability)?;
        listing::changed(turn, &agent)?;
        Ok((local, capability))
    }
}

/// Removes a capability. 404 when there is none of this id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoveCapability {
    pub local: Local,
}

impl Operation for RemoveCapability {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "remove_capability";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let agent = record::active(turn)?.ok_or_else(record::gone)?;
        let capability = CAPABILITIES.get(turn, &(self.local,))?.ok_or_else(unknown)?;
        take_back(turn, self.local, &capability)?;
        listing::changed(turn, &agent)
    }
}

/// The agent's capabilities.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadOwn;

impl Query for ReadOwn {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "capabilities";
    type Reply = Vec<(Local, Capability)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        all(view)
    }
}

fn unknown() -> Error {
    Error::not_found("There is no such capability.")
}

/// A capability to register.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CapabilityRequest {
    /// 1 to 128 characters. Names that differ only by case are one capability of an agent.
    #[schemars(length(min = 1, max = 128))]
    pub name: String,
    /// Up to 1024 characters.
    #[schemars(length(max = MAX_DESCRIPTION))]
    pub description: Option<String>,
    /// Up to 64 characters; `1.0.0` when absent.
    #[schemars(length(max = MAX_VERSION))]
    pub version: Option<String>,
    /// A JSON object of up to 8 KB, returned exactly as given.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub input_schema: Option<Box<RawValue>>,
    /// A JSON object of up to 8 KB, returned exactly as given.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub output_schema: Option<Box<RawValue>>,
}

/// A capability.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Capability")]
pub struct CapabilityInfo {
    pub id: String,
    /// DID of the agent.
    pub did: String,
    pub name: String,
    pub description: Option<String>,
    pub version: String,
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub input_schema: Option<Box<RawValue>>,
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub output_schema: Option<Box<RawValue>>,
    /// Tasks that named this capability.
    pub invocations: u64,
    /// Mean of the ratings of these tasks, 1 to 5; null while there is none.
    pub avg_rating: Option<f64>,
    pub ratings: u64,
    pub created_at: String,
    pub updated_at: String,
}

/// An agent's capabilities.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CapabilityList {
    pub capabilities: Vec<CapabilityInfo>,
    pub count: usize,
}

/// A capability that was found. Counts may be a minute old.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CapabilityResult {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub version: String,
    pub invocations: u64,
    pub avg_rating: Option<f64>,
    pub ratings: u64,
    pub agent: CapabilityHolder,
}

/// The agent that has the capability.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CapabilityHolder {
    pub did: String,
    pub name: Option<String>,
}

/// The capabilities that were found. The list is there twice, since some clients read one name and some the other.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CapabilityResults {
    pub results: Vec<CapabilityResult>,
    /// The same as `results`.
    pub capabilities: Vec<CapabilityResult>,
    pub count: usize,
}

/// A capability that was removed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CapabilityRemoved")]
pub struct Removed {
    pub id: String,
    pub deleted: bool,
}

fn schema(name: &str, value: Option<&RawValue>) -> Result<Option<String>> {
    let Some(text) = value.map(RawValue::get) else { return Ok(None) };
    let valid = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok();
    match valid && text.len() <= MAX_SCHEMA {
        true => Ok(Some(text.to_owned())),
        false => Err(Error::bad_request(format!("`{name}` must be an object of at most {MAX_SCHEMA} bytes of JSON."))),
    }
}

fn raw(text: Option<String>) -> Result<Option<Box<RawValue>>> {
    text.map(RawValue::from_string).transpose().map_err(Error::internal)
}

fn info(cx: &Cx, local: &Local, capability: Capability) -> Result<CapabilityInfo> {
    let caller = cx.caller.agent()?;
    Ok(CapabilityInfo {
        id: wire::message_id(&caller.actor, local),
        did: caller.did.clone(),
        name: capability.name,
        description: capability.description,
        version: capability.version,
        input_schema: raw(capability.input_schema)?,
        output_schema: raw(capability.output_schema)?,
        invocations: capability.counts.invocations,
        avg_rating: capability.counts.mean(),
        ratings: capability.counts.ratings,
        created_at: capability.created.to_string(),
        updated_at: capability.updated.to_string(),
    })
}

/// Checks the name of a capability, as tasks and registrations give it, and trims it.
pub(super) fn check_name(field: &str, name: &str) -> Result<String> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > MAX_CAPABILITY {
        return Err(Error::bad_request(format!("`{field}` must be 1 to 128 characters.")));
    }
    likeness::check(field, name)?;
    Ok(name.to_owned())
}

async fn register(cx: Cx) -> Result<Response> {
    let request: CapabilityRequest = cx.json()?;
    let name = check_name("name", &request.name)?;
    let version = request.version.unwrap_or_else(|| VERSION.to_owned());
    if version.trim().is_empty() || version.chars().count() > MAX_VERSION {
        return Err(Error::bad_request("`version` must be 1 to 64 characters."));
    }
    if request.description.as_ref().is_some_and(|text| text.chars().count() > MAX_DESCRIPTION) {
        return Err(Error::bad_request("`description` must be at most 1024 characters."));
    }
    let register = Register {
        local: custody::local(&*cx.rt),
        name,
        description: request.description,
        version,
        input_schema: schema("input_schema", request.input_schema.as_deref())?,
        output_schema: schema("output_schema", request.output_schema.as_deref())?,
    };
    let (local, capability) = runtime::call(&*cx.rt, cx.caller.agent()?.actor.as_str(), &register).await?;
    let info = info(&cx, &local, capability)?;
    if local == register.local { Response::created(&info) } else { Response::json(&info) }
}

async fn list(cx: Cx) -> Result<Response> {
    let mut own = runtime::query(&*cx.rt, cx.caller.agent()?.actor.as_str(), &ReadOwn).await?;
    own.sort_by_key(|(local, capability)| (capability.created, *local));
    let shown = own.into_iter().map(|(local, capability)| info(&cx, &local, capability));
    let capabilities: Vec<CapabilityInfo> = shown.collect::<Result<_>>()?;
    Response::json(&CapabilityList { count: capabilities.len(), capabilities })
}

async fn find(cx: Cx) -> Result<Response> {
    let text = cx.query("q")?.or(cx.query("query")?).filter(|text| !text.trim().is_empty());
    let find = FindCapabilities { text, name: cx.query("name")?, limit: cx.count("limit", 50, 100)? };
    let found = runtime::query(&*cx.rt, search::shard(&Did::default()), &find).await?;
    let shown = |CapabilityHit { did, agent_name, local, listed }: CapabilityHit| CapabilityResult {
        id: wire::message_id(&crypto::encoding::actor_id(&did), &local),
        name: listed.name,
        description: listed.description,
        version: listed.version,
        invocations: listed.counts.invocations,
        avg_rating: listed.counts.mean(),
        ratings: listed.counts.ratings,
        agent: CapabilityHolder { did: wire::did_text(cx.settings(), &did), name: agent_name },
    };
    let results: Vec<CapabilityResult> = found.into_iter().map(shown).collect();
    Response::json(&CapabilityResults { count: results.len(), capabilities: results.clone(), results })
}

async fn remove(cx: Cx) -> Result<Response> {
    let id = cx.path("id")?.to_owned();
    let caller = cx.caller.agent()?;
    let own = wire::parse_message_id(&id).filter(|(actor, _)| *actor == caller.actor);
    let (actor, local) = own.ok_or_else(unknown)?;
    runtime::call(&*cx.rt, actor, &RemoveCapability { local }).await?;
    Response::json(&Removed { id, deleted: true })
}
