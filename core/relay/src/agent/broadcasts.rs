//! Broadcasts: one task for several agents that have a capability. The sender's rows decide. The tasks reach their
//! assignees as effects, under ids made here, and their progress comes back as effects
//! (decision one-deciding-operation).

use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::consent::ReadPeer;
use super::mailbox::Local;
use super::register::MAX_CAPABILITY;
use super::tasks::boxed::{self, Boxed, Content, ContentMembers};
use super::tasks::routes::{MAX_EXPIRES, PRIORITY, expires_in, new_local};
use super::tasks::store::PutTask;
use super::tasks::{Priority, TaskHead, TaskStatus};
use super::trust::Level;
use super::{capabilities, continuity, custody, record, wire};
use crate::agent::authentication::Calling;
use crate::directory::Did;
use crate::directory::search::{self, Sought};
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::{BASE64_PATTERN, actor_id, base64_pattern};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::kv::{Desc, Direction, Range, Read, Row, Table};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/tasks/broadcast", handler!(create))
        .agent()
        .accepts::<BroadcastRequest>()
        .creates::<Broadcasted>()
        .summary("Ask the most trusted agents that have a capability. `Idempotency-Key` makes a repeat safe."),
    Route::get("/v1/agent/tasks/broadcasts", handler!(list))
        .agent()
        .params(&[
            Param::optional("status", "`active` or `completed`.").one_of(&["active", "completed"]),
            Param::optional("limit", "Most entries of the answer: 1 to 100, default 50.").count(50, 100),
        ])
        .returns::<BroadcastList>()
        .summary("The caller's broadcasts, newest first."),
    Route::get("/v1/agent/tasks/broadcasts/{id}", handler!(read))
        .agent()
        .returns::<BroadcastDetail>()
        .summary("One of the caller's broadcasts, with its tasks."),
];

/// Agents that one broadcast reaches: the default, and the most.
const AGENTS: (u32, u32) = (10, 50);
/// Most broadcasts that are kept; the oldest are deleted first. Our choice.
const MAX_BROADCASTS: usize = 1_000;
/// Broadcasts that are deleted in one step when the agent ends; each is up to 52 rows.
const BATCH: usize = 5;

/// A broadcast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broadcast {
    pub capability: String,
    pub priority: Priority,
    pub created: Timestamp,
    pub tasks: u32,
    pub completed: u32,
    pub failed: u32,
    pub cancelled: u32,
}
impl Row for Broadcast {}

impl Broadcast {
    /// Completed when all its tasks are final (decision task-moves), also when it has no task.
    fn status(&self) -> &'static str {
        let settled = u64::from(self.completed) + u64::from(self.failed) + u64::from(self.cancelled);
        if settled >= u64::from(self.tasks) { "completed" } else { "active" }
    }

    fn count(&mut self, status: TaskStatus) {
        match status {
            TaskStatus::Completed => self.completed += 1,
            TaskStatus::Failed => self.failed += 1,
            TaskStatus::Cancelled => self.cancelled += 1,
            TaskStatus::Pending | TaskStatus::Accepted | TaskStatus::InProgress => {}
        }
    }
}

/// One task of a broadcast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub local: Local,
    /// The agent's name when it was asked.
    pub name: Option<String>,
    pub status: TaskStatus,
    pub rating: Option<u8>,
}
impl Row for Task {}

const BROADCASTS: Table<(Local,), Broadcast> = Table::new(69);
const ORDER: Table<(Desc<Timestamp>, Local), ()> = Table::new(70);
const TASKS: Table<(Local, Did), Task> = Table::new(71);

pub const ENTRIES: &[Entry] =
    &[operation::<CreateBroadcast>(), operation::<Refused>(), query::<ReadAll>(), query::<ReadOne>()];

/// Notes a new task of a broadcast, or a change of one.
pub(super) fn note(turn: &mut Turn<'_>, broadcast: Local, head: &TaskHead) -> Result<()> {
    change(turn, broadcast, head.to, head.status, head.rating)
}

fn change(turn: &mut Turn<'_>, local: Local, to: Did, status: TaskStatus, rating: Option<u8>) -> Result<()> {
    let Some(mut task) = TASKS.get(turn, &(local, to))? else { return Ok(()) };
    if !task.status.is_final()
        && let Some(mut broadcast) = BROADCASTS.get(turn, &(local,))?
    {
        broadcast.count(status);
        BROADCASTS.put(turn, &(local,), &broadcast)?;
        task.status = status;
    }
    task.rating = rating;
    Ok(TASKS.put(turn, &(local, to), &task)?)
}

fn forget(turn: &mut Turn<'_>, local: Local, created: Timestamp) -> Result<()> {
    for (key, _) in tasks(turn, local)? {
        TASKS.delete(turn, &(local, key));
    }
    BROADCASTS.delete(turn, &(local,));
    ORDER.delete(turn, &(Desc(created), local));
    Ok(())
}

fn tasks(view: &(impl Read + ?Sized), local: Local) -> Result<Vec<(Did, Task)>> {
    let rows = TASKS.scan(view, &TASKS.prefix(&(local,)), Direction::Ascending, AGENTS.1 as usize)?;
    Ok(rows.into_iter().map(|((_, did), task)| (did, task)).collect())
}

/// Deletes broadcasts of before a time, a batch at a time; true when there may be more.
pub(super) fn end(turn: &mut Turn<'_>, before: Timestamp) -> Result<bool> {
    let range = Range { start: ORDER.prefix(&(Desc(before),)).start, ..ORDER.range() };
    let rows = ORDER.scan(turn, &range, Direction::Ascending, BATCH)?;
    let more = rows.len() == BATCH;
    for ((Desc(created), local), ()) in rows {
        forget(turn, local, created)?;
    }
    Ok(more)
}

/// An agent that a broadcast asks, with its task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Target {
    pub did: Did,
    pub name: Option<String>,
    pub task: Local,
    pub input: Option<Boxed>,
}

/// Sends the tasks to the chosen agents. A repeat with the same id is the same broadcast.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CreateBroadcast {
    pub local: Local,
    pub capability: String,
    pub priority: Priority,
    /// Seconds.
    pub expires_in: Option<u32>,
    pub targets: Vec<Target>,
}

impl Operation for CreateBroadcast {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "create_broadcast";
    type Reply = One;

    fn run(self, turn: &mut Turn<'_>) -> Result<One> {
        record::active(turn)?.ok_or_else(record::gone)?;
        if let Some(broadcast) = BROADCASTS.get(turn, &(self.local,))? {
            return Ok(One { broadcast, tasks: tasks(turn, self.local)? });
        }
        let (local, created) = (self.local, turn.now);
        let broadcast = Broadcast {
            capability: self.capability,
            priority: self.priority,
            created,
            tasks: u32::try_from(self.targets.len()).unwrap_or(u32::MAX),
            completed: 0,
            failed: 0,
            cancelled: 0,
        };
        BROADCASTS.put(turn, &(local,), &broadcast)?;
        ORDER.put(turn, &(Desc(created), local), &())?;
        let from = record::did_of(&turn.actor().name)?;
        for Target { did, name, task, input } in self.targets {
            let row = Task { local: task, name, status: TaskStatus::Pending, rating: None };
            TASKS.put(turn, &(local, did), &row)?;
            let put = PutTask {
                local: task,
                from,
                capability: Some(broadcast.capability.clone()),
                priority: broadcast.priority,
                expires_in: self.expires_in,
                broadcast: Some(local),
                input,
                expected_version: None,
            };
            turn.send_or(actor_id(&did), &put, &Refused { local, did })?;
        }
        let kept = ORDER.scan(turn, &ORDER.range(), Direction::Ascending, MAX_BROADCASTS + 1)?;
        if let Some(((Desc(oldest), gone), ())) = kept.get(MAX_BROADCASTS) {
            forget(turn, *gone, *oldest)?;
        }
        Ok(One { broadcast, tasks: tasks(turn, local)? })
    }
}

/// A chosen agent is gone by now, or takes no more tasks: its task has failed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Refused {
    pub local: Local,
    pub did: Did,
}

impl Operation for Refused {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "refused_broadcast";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        change(turn, self.local, self.did, TaskStatus::Failed, None)
    }
}

/// Broadcasts, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadAll {
    /// Only completed broadcasts, or only active ones; both when `None`.
    pub completed: Option<bool>,
    pub limit: u32,
}

impl Query for ReadAll {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "broadcasts";
    type Reply = Vec<(Local, Broadcast)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let mut found = Vec::new();
        for ((_, local), ()) in ORDER.scan(view, &ORDER.range(), Direction::Ascending, MAX_BROADCASTS)? {
            let Some(broadcast) = BROADCASTS.get(view, &(local,))? else { continue };
            if self.completed.is_none_or(|completed| completed == (broadcast.status() == "completed")) {
                found.push((local, broadcast));
            }
            if found.len() >= self.limit as usize {
                break;
            }
        }
        Ok(found)
    }
}

/// One broadcast with its tasks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadOne {
    pub local: Local,
}

/// A whole broadcast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct One {
    pub broadcast: Broadcast,
    pub tasks: Vec<(Did, Task)>,
}

impl Query for ReadOne {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "broadcast";
    type Reply = One;

    fn run(self, view: &View<'_>) -> Result<One> {
        let broadcast = BROADCASTS.get(view, &(self.local,))?.ok_or_else(unknown)?;
        Ok(One { broadcast, tasks: tasks(view, self.local)? })
    }
}

fn unknown() -> Error {
    Error::not_found("There is no such broadcast.")
}

/// A task for several agents. A plain `input` is encrypted for each of them; an encrypted one is passed on as it is.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct BroadcastRequest {
    #[schemars(length(min = 1, max = MAX_CAPABILITY))]
    pub capability: String,
    /// Any JSON; a text that is not JSON is taken as a JSON string.
    #[schemars(with = "Option<serde_json::Value>")]
    pub input: Option<Box<RawValue>>,
    /// Base64, opaque.
    #[schemars(length(min = 1), regex(pattern = BASE64_PATTERN))]
    pub encrypted_input: Option<String>,
    /// Base64 of 24 bytes.
    #[schemars(regex(pattern = base64_pattern(24)))]
    pub input_nonce: Option<String>,
    /// Base64 of an Ed25519 signature over the plain text; not checked here.
    pub input_signature: Option<String>,
    /// `low`, `normal` (default; `medium` is the same), `high` or `urgent`.
    #[schemars(regex(pattern = PRIORITY))]
    pub priority: Option<String>,
    /// 10 when absent; more than 50 is taken as 50.
    pub max_agents: Option<i64>,
    /// `new` (default), `low`, `medium`, `high` or `verified`.
    #[schemars(regex(pattern = "^(new|low|medium|high|verified)$"))]
    pub min_trust_level: Option<String>,
    /// Seconds after which a task fails unless it is settled, 1 to 2592000.
    #[schemars(range(min = 1, max = MAX_EXPIRES))]
    pub expires_in: Option<i64>,
}

/// A task that a broadcast made.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BroadcastedTask {
    pub task_id: String,
    pub agent_did: String,
}

/// A new broadcast.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TaskBroadcasted")]
pub struct Broadcasted {
    pub broadcast_id: String,
    pub capability: String,
    pub priority: &'static str,
    pub agents_matched: usize,
    pub tasks: Vec<BroadcastedTask>,
}

/// A broadcast and its progress.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Broadcast")]
pub struct BroadcastInfo {
    pub id: String,
    pub capability: String,
    pub priority: &'static str,
    /// `active`, or `completed` when all tasks are completed, failed or cancelled.
    pub status: &'static str,
    pub tasks_created: u32,
    pub tasks_completed: u32,
    pub tasks_failed: u32,
    pub tasks_cancelled: u32,
    pub created_at: String,
}

/// Broadcasts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BroadcastList {
    pub broadcasts: Vec<BroadcastInfo>,
    pub count: usize,
}

/// A task in a broadcast.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BroadcastTask {
    pub task_id: String,
    /// DID of the assignee.
    pub agent: String,
    pub agent_name: Option<String>,
    pub status: &'static str,
    pub rating: Option<u8>,
}

/// A broadcast with its tasks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BroadcastDetail {
    pub broadcast: BroadcastInfo,
    pub tasks: Vec<BroadcastTask>,
}

/// The lowest rank of a trust level.
fn rank(level: Option<&str>) -> Result<u8> {
    let Some(level) = level else { return Ok(0) };
    let found = (0..).zip(Level::ALL).find(|(_, known)| known.as_str() == level);
    let wrong = || Error::bad_request("`min_trust_level` must be new, low, medium, high or verified.");
    found.map(|(rank, _)| rank).ok_or_else(wrong)
}

fn info(actor: &str, local: &Local, broadcast: Broadcast) -> BroadcastInfo {
    BroadcastInfo {
        id: wire::message_id(actor, local),
        status: broadcast.status(),
        capability: broadcast.capability,
        priority: broadcast.priority.as_str(),
        tasks_created: broadcast.tasks,
        tasks_completed: broadcast.completed,
        tasks_failed: broadcast.failed,
        tasks_cancelled: broadcast.cancelled,
        created_at: broadcast.created.to_string(),
    }
}

/// The agents that have the capability and take tasks from the caller, without the caller, the most trusted first.
async fn capable(cx: &Cx, own: Did, capability: &str, least: u8, max: u32) -> Result<Vec<(Did, search::ListedAgent)>> {
    let capability = Some(capability.to_owned());
    let find = search::FindAgents { sought: Sought::Everybody, capability, limit: max as usize + 1, after: None };
    let mut found = runtime::query(&*cx.rt, search::shard(&own), &find).await?.agents;
    found.retain(|(did, listed)| *did != own && listed.rank >= least);
    found.truncate(max as usize);
    let caller = ReadPeer::by(cx)?;
    let asked = found.iter().map(|(did, _)| runtime::query(&*cx.rt, actor_id(did), &caller));
    let peers = join_all(asked).await;
    let mut taking = Vec::new();
    for (agent, peer) in found.into_iter().zip(peers) {
        // An agent that refuses the caller looks like one that does not exist (decision who-may-write).
        taking.extend(peer?.map(|_| agent));
    }
    Ok(taking)
}

async fn create(cx: Cx) -> Result<Response> {
    let request: BroadcastRequest = cx.json()?;
    let caller = cx.caller.agent()?;
    let capability = capabilities::check_name("capability", &request.capability)?;
    let given = ContentMembers {
        name: "input",
        plain: request.input.as_deref(),
        ciphertext: request.encrypted_input.as_deref(),
        nonce: request.input_nonce.as_deref(),
        signature: request.input_signature.as_deref(),
    };
    let content = given.check(caller)?;
    let max = match request.max_agents {
        None => AGENTS.0,
        Some(max) if max < 1 => return Err(Error::bad_request("`max_agents` must be at least 1.")),
        Some(max) => u32::try_from(max).unwrap_or(u32::MAX).min(AGENTS.1),
    };
    let least = rank(request.min_trust_level.as_deref())?;
    let priority = Priority::parse(request.priority.as_deref())?;
    let expires_in = expires_in(request.expires_in)?;
    let keys = if let Content::Plain(_) = content { Some(boxed::held(&cx, caller)?) } else { None };
    let own = record::did_of(&caller.actor)?;
    let mut targets = Vec::new();
    for (did, listed) in capable(&cx, own, &capability, least, max).await? {
        // An agent whose keys are not those that the caller pinned is left out.
        match continuity::check_pin(&cx, &actor_id(&did)).await {
            Err(error) if error.code == ErrorCode::KeyChanged => continue,
            checked => checked?,
        }
        let input = match (&content, &keys) {
            (Content::Plain(text), Some(keys)) => {
                Some(boxed::seal(&cx, caller, keys, &listed.encryption, text, false)?)
            }
            (Content::Boxed(boxed), _) => Some(boxed.clone()),
            _ => None,
        };
        targets.push(Target { did, name: listed.name, task: custody::local(&*cx.rt), input });
    }
    let create = CreateBroadcast {
        local: new_local(&cx, caller, "broadcast", "").await?,
        capability,
        priority,
        expires_in,
        targets,
    };
    let One { broadcast, tasks } = runtime::call(&*cx.rt, caller.actor.as_str(), &create).await?;
    let made = |(did, task): (Did, Task)| BroadcastedTask {
        task_id: wire::message_id(&actor_id(&did), &task.local),
        agent_did: wire::did_text(cx.settings(), &did),
    };
    let tasks: Vec<BroadcastedTask> = tasks.into_iter().map(made).collect();
    Response::created(&Broadcasted {
        broadcast_id: wire::message_id(&caller.actor, &create.local),
        capability: broadcast.capability,
        priority: broadcast.priority.as_str(),
        agents_matched: tasks.len(),
        tasks,
    })
}

async fn list(cx: Cx) -> Result<Response> {
    let completed = match cx.query("status")?.as_deref() {
        None => None,
        Some("active") => Some(false),
        Some("completed") => Some(true),
        Some(_) => return Err(Error::bad_request("`status` must be active or completed.")),
    };
    let actor = cx.caller.agent()?.actor.as_str();
    let ask = ReadAll { completed, limit: cx.count("limit", 50, 100)? };
    let found = runtime::query(&*cx.rt, actor, &ask).await?;
    let broadcasts: Vec<BroadcastInfo> =
        found.into_iter().map(|(local, broadcast)| info(actor, &local, broadcast)).collect();
    Response::json(&BroadcastList { count: broadcasts.len(), broadcasts })
}

async fn read(cx: Cx) -> Result<Response> {
    let caller = cx.caller.agent()?;
    let own = wire::parse_message_id(cx.path("id")?).filter(|(actor, _)| *actor == caller.actor);
    let (actor, local) = own.ok_or_else(unknown)?;
    let One { broadcast, tasks } = runtime::query(&*cx.rt, actor.as_str(), &ReadOne { local }).await?;
    let shown = |(did, task): (Did, Task)| BroadcastTask {
        task_id: wire::message_id(&actor_id(&did), &task.local),
        agent: wire::did_text(cx.settings(), &did),
        agent_name: task.name,
        status: task.status.as_str(),
        rating: task.rating,
    };
    let tasks = tasks.into_iter().map(shown).collect();
    Response::json(&BroadcastDetail { broadcast: info(&actor, &local, broadcast), tasks })
}
