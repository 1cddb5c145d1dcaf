//! The endpoints of tasks, with every spelling of the members that some client reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::boxed::{self, BoxOpener, Boxed, Content, ContentMembers};
use super::store::{FullTask, Patch, PutTask, ReadFullTask, ReadTasks};
use super::{Priority, TaskHead, TaskStatus, unknown_task};
use crate::agent::authentication::Calling;
use crate::agent::mailbox::Local;
use crate::agent::record::{self, Credentials, ReadPublic};
use crate::agent::register::MAX_CAPABILITY;
use crate::agent::send::{ATTEMPTS, local_of};
use crate::agent::trust::ReadTrust;
use crate::agent::{capabilities, consent, continuity, idempotency, wire};
use crate::federation::find::check_here;
use crate::{Error, Result};
use crypto::encoding::{BASE64_PATTERN, DID_PATTERN, actor_id, base64_pattern, encode_base64};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/tasks", handler!(create))
        .agent()
        .accepts::<TaskRequest>()
        .creates::<TaskMade>()
        .summary("Ask an agent to do something. `Idempotency-Key` makes a repeat safe."),
    Route::get("/v1/agent/tasks", handler!(list))
        .agent()
        .params(&[
            Param::optional("role", "`assignee` (default): tasks asked of the caller; `requester`: tasks it asked.")
                .one_of(&["assignee", "requester"])
                .default("assignee"),
            Param::optional("status", "Only tasks in this state.").one_of(&[
                "pending",
                "accepted",
                "in_progress",
                "completed",
                "failed",
                "cancelled",
            ]),
            Param::optional("capability", "Only tasks for this capability; case does not count."),
            Param::optional(
                "before",
                "Only tasks created before this time; the `created_at` of the last task gives the next page.",
            )
            .date(),
            Param::optional("limit", "Most entries of the answer: 1 to 100, default 50.").count(50, 100),
        ])
        .returns::<TaskList>()
        .summary("The caller's tasks, newest first, without input and output."),
    Route::get("/v1/agent/tasks/{id}", handler!(read))
        .agent()
        .returns::<TaskDetail>()
        .summary("One task with input and output, for its two participants."),
    Route::patch("/v1/agent/tasks/{id}", handler!(change))
        .agent()
        .accepts::<TaskChange>()
        .returns::<TaskUpdated>()
        .summary("Move a task on, hand in its output, or rate it."),
];

/// What a priority may be.
pub const PRIORITY: &str = "^(low|normal|medium|high|urgent)$";
/// Most seconds until a task must be settled: 30 days; our choice.
pub const MAX_EXPIRES: i64 = 30 * 86_400;
/// Most characters of a comment to a rating; our choice.
const MAX_COMMENT: usize = 1_024;

/// A new task. Its input is a box that the caller made (`encrypted_input`, `input_nonce`), or plain JSON (`input`) that
/// the service encrypts, for agents whose keys it holds.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TaskRequest {
    /// DID of the assignee.
    #[schemars(regex(pattern = DID_PATTERN))]
    pub to: String,
    #[schemars(length(min = 1, max = MAX_CAPABILITY))]
    pub capability: Option<String>,
    /// Any JSON; a text that is not JSON is taken as a JSON string.
    #[schemars(with = "Option<serde_json::Value>")]
    pub input: Option<Box<RawValue>>,
    /// Base64 of a NaCl box of JSON text for the assignee.
    #[schemars(length(min = 1), regex(pattern = BASE64_PATTERN))]
    pub encrypted_input: Option<String>,
    /// Base64 of 24 bytes.
    #[schemars(regex(pattern = base64_pattern(24)))]
    pub input_nonce: Option<String>,
    /// Base64 of an Ed25519 signature over the JSON text; not checked here.
    pub input_signature: Option<String>,
    /// `low`, `normal` (default; `medium` is the same), `high` or `urgent`.
    #[schemars(regex(pattern = PRIORITY))]
    pub priority: Option<String>,
    /// Seconds after which the task fails unless it is settled, 1 to 2592000.
    #[schemars(range(min = 1, max = MAX_EXPIRES))]
    pub expires_in: Option<i64>,
}

/// A change of a task.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TaskChange {
    /// `accepted`, `in_progress`, `completed` or `failed` by the assignee, `cancelled` by the requester.
    #[schemars(regex(pattern = "^(pending|accepted|in_progress|completed|failed|cancelled)$"))]
    pub status: Option<String>,
    /// Any JSON, with `completed` or `failed`; the service encrypts and signs it for agents whose keys it holds.
    #[schemars(with = "Option<serde_json::Value>")]
    pub output: Option<Box<RawValue>>,
    /// The same as `output`.
    #[schemars(with = "Option<serde_json::Value>")]
    pub result: Option<Box<RawValue>>,
    /// Base64 of a NaCl box of JSON text for the requester.
    #[schemars(length(min = 1), regex(pattern = BASE64_PATTERN))]
    pub encrypted_output: Option<String>,
    /// Base64 of 24 bytes.
    #[schemars(regex(pattern = base64_pattern(24)))]
    pub output_nonce: Option<String>,
    /// Base64 of an Ed25519 signature over the JSON text; not checked here.
    pub output_signature: Option<String>,
    /// 1 to 5, once, by the requester of a completed or failed task.
    #[schemars(range(min = 1, max = 5))]
    pub rating: Option<i64>,
    /// Up to 1024 characters, with `rating`.
    #[schemars(length(max = MAX_COMMENT))]
    pub rating_comment: Option<String>,
}

/// A task.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Task")]
pub struct TaskInfo {
    pub id: String,
    /// DID of the requester.
    pub from: String,
    /// DID of the assignee.
    pub to: String,
    /// The same as `from`.
    pub from_did: String,
    /// The same as `to`.
    pub to_did: String,
    pub capability: Option<String>,
    /// The same as `capability`.
    pub title: Option<String>,
    /// `pending`, `accepted`, `in_progress`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    /// `low`, `normal`, `high` or `urgent`.
    pub priority: &'static str,
    /// ISO 8601, six fractional digits.
    pub created_at: String,
    pub updated_at: String,
    pub expires_at: Option<String>,
    pub rating: Option<u8>,
    pub rating_comment: Option<String>,
    /// The broadcast that the task is part of.
    pub broadcast_id: Option<String>,
}

/// Tasks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskList {
    pub tasks: Vec<TaskInfo>,
    pub count: usize,
    /// `assignee` or `requester`.
    pub role: &'static str,
    pub has_more: bool,
}

/// A task with input and output. The plain forms are for agents whose keys the service holds, and null for others.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskDetail {
    #[serde(flatten)]
    pub task: TaskInfo,
    pub encrypted_input: Option<String>,
    pub input_nonce: Option<String>,
    pub input_signature: Option<String>,
    /// Base64 of the X25519 key that the requester had when it made the input.
    pub input_sender_encryption_key: Option<String>,
    #[schemars(with = "Option<serde_json::Value>")]
    pub input: Option<Box<RawValue>>,
    pub encrypted_output: Option<String>,
    pub output_nonce: Option<String>,
    /// Ed25519 over the JSON text of the output.
    pub output_signature: Option<String>,
    /// Base64 of the X25519 key that the assignee had when it made the output.
    pub output_sender_encryption_key: Option<String>,
    #[schemars(with = "Option<serde_json::Value>")]
    pub output: Option<Box<RawValue>>,
    /// The same as `output`.
    #[schemars(with = "Option<serde_json::Value>")]
    pub result: Option<Box<RawValue>>,
    /// Whether the assignee signed exactly this output; null when the output is not decrypted here or not signed.
    pub output_signature_valid: Option<bool>,
}

/// A changed task.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskUpdated {
    pub updated: bool,
    #[serde(flatten)]
    pub task: TaskInfo,
}

/// A new task.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskMade {
    #[serde(flatten)]
    pub task: TaskInfo,
    /// As in the answer of `POST /v1/agent/send`, about the assignee's keys.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub key_changed: bool,
}

fn info(cx: &Cx, local: &Local, head: TaskHead) -> TaskInfo {
    let (from, to) = (wire::did_text(cx.settings(), &head.from), wire::did_text(cx.settings(), &head.to));
    let broadcast_id = head.broadcast.map(|broadcast| wire::message_id(&actor_id(&head.from), &broadcast));
    TaskInfo {
        id: wire::message_id(&actor_id(&head.to), local),
        from_did: from.clone(),
        to_did: to.clone(),
        from,
        to,
        title: head.capability.clone(),
        capability: head.capability,
        status: head.status.as_str(),
        priority: head.priority.as_str(),
        created_at: wire::stamp_text(head.created),
        updated_at: wire::stamp_text(head.updated),
        expires_at: head.expires.map(wire::stamp_text),
        rating: head.rating,
        rating_comment: head.rating_comment,
        broadcast_id,
    }
}

/// The checked `expires_in` of a request.
pub fn expires_in(seconds: Option<i64>) -> Result<Option<u32>> {
    let Some(seconds) = seconds else { return Ok(None) };
    match u32::try_from(seconds) {
        Ok(seconds) if (1..=MAX_EXPIRES).contains(&i64::from(seconds)) => Ok(Some(seconds)),
        _ => Err(Error::bad_request("`expires_in` must be from 1 to 2592000 seconds.")),
    }
}

/// The local part of a new id at `to`. The same request with the same `Idempotency-Key` gets the same one.
pub async fn new_local(cx: &Cx, caller: &Credentials, what: &str, to: &str) -> Result<Local> {
    idempotency::local(cx, |key| local_of(&[what.as_bytes(), caller.did.as_bytes(), to.as_bytes(), key])).await
}

async fn create(cx: Cx) -> Result<Response> {
    let request: TaskRequest = cx.json()?;
    let caller = cx.caller.agent()?;
    let given = ContentMembers {
        name: "input",
        plain: request.input.as_deref(),
        ciphertext: request.encrypted_input.as_deref(),
        nonce: request.input_nonce.as_deref(),
        signature: request.input_signature.as_deref(),
    };
    let content = given.check(caller)?;
    let capability = request.capability.as_deref().map(|name| capabilities::check_name("capability", name));
    let mut put = PutTask {
        local: Local::default(),
        from: record::did_of(&caller.actor)?,
        capability: capability.transpose()?,
        priority: Priority::parse(request.priority.as_deref())?,
        expires_in: expires_in(request.expires_in)?,
        broadcast: None,
        input: None,
        expected_version: None,
    };
    let keys = if let Content::Plain(_) = content { Some(boxed::held(&cx, caller)?) } else { None };
    let actor = wire::known_actor(cx.settings(), &request.to)?;
    check_here(&*cx.rt, &actor, &caller.actor).await?;
    put.local = new_local(&cx, caller, "task", &request.to).await?;
    for _ in 0..ATTEMPTS {
        let peer = consent::peer(&cx, &actor).await?;
        continuity::check_pin(&cx, &actor).await?;
        put.input = match (&content, &keys) {
            (Content::Plain(text), Some(keys)) => {
                put.expected_version = Some(peer.version);
                Some(boxed::seal(&cx, caller, keys, &peer.encryption, text, false)?)
            }
            (Content::Boxed(boxed), _) => Some(Boxed { reader_encryption: Some(peer.encryption), ..boxed.clone() }),
            _ => None,
        };
        if let Some((head, key_changed)) = runtime::call(&*cx.rt, actor.as_str(), &put).await? {
            return Response::created(&TaskMade { task: info(&cx, &put.local, head), key_changed });
        }
    }
    Err(Error::unavailable("the assignee kept changing its keys"))
}

async fn list(cx: Cx) -> Result<Response> {
    let role = match cx.query("role")?.as_deref() {
        None | Some("assignee") => "assignee",
        Some("requester") => "requester",
        Some(_) => return Err(Error::bad_request("`role` must be assignee or requester.")),
    };
    let limit = cx.count("limit", 50, 100)?;
    let list = ReadTasks {
        requested: role == "requester",
        status: cx.query("status")?.as_deref().map(TaskStatus::parse).transpose()?,
        capability: cx.query("capability")?,
        before: cx.time("before")?,
        limit,
    };
    let mut found = runtime::query(&*cx.rt, cx.caller.agent()?.actor.as_str(), &list).await?;
    let has_more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let tasks: Vec<TaskInfo> = found.into_iter().map(|(local, head)| info(&cx, &local, head)).collect();
    Response::json(&TaskList { count: tasks.len(), tasks, role, has_more })
}

/// The assignee's actor and the local part of the id in the path.
fn task_id(cx: &Cx) -> Result<(String, Local)> {
    wire::parse_message_id(cx.path("id")?).ok_or_else(unknown_task)
}

async fn read(cx: Cx) -> Result<Response> {
    let (actor, local) = task_id(&cx)?;
    let caller = cx.caller.agent()?;
    let did = record::did_of(&caller.actor)?;
    let FullTask { head, input, output } = runtime::query(&*cx.rt, actor, &ReadFullTask { local, caller: did }).await?;
    let opener = BoxOpener::of(&cx, caller).await?;
    let opened_input = input.as_ref().and_then(|boxed| opener.open(boxed, head.from == did));
    let opened = output.as_ref().and_then(|boxed| opener.open(boxed, head.to == did));
    let (plain, output_signature_valid) = opened.map_or((None, None), |opened| (Some(opened.json), opened.genuine));
    let text =
        |boxed: &Option<Boxed>, part: fn(&Boxed) -> Option<&[u8]>| boxed.as_ref().and_then(part).map(encode_base64);
    Response::json(&TaskDetail {
        task: info(&cx, &local, head),
        encrypted_input: text(&input, |boxed| Some(&boxed.ciphertext)),
        input_nonce: text(&input, |boxed| Some(&boxed.nonce)),
        input_signature: text(&input, |boxed| boxed.signature.as_deref()),
        input_sender_encryption_key: text(&input, |boxed| Some(&boxed.author_encryption)),
        input: opened_input.map(|opened| opened.json),
        encrypted_output: text(&output, |boxed| Some(&boxed.ciphertext)),
        output_nonce: text(&output, |boxed| Some(&boxed.nonce)),
        output_signature: text(&output, |boxed| boxed.signature.as_deref()),
        output_sender_encryption_key: text(&output, |boxed| Some(&boxed.author_encryption)),
        output: plain.clone(),
        result: plain,
        output_signature_valid,
    })
}

/// The checked rating and comment of a change.
fn rating(request: &TaskChange) -> Result<Option<u8>> {
    if request.rating_comment.as_ref().is_some_and(|text| text.chars().count() > MAX_COMMENT) {
        return Err(Error::bad_request("`rating_comment` must be at most 1024 characters."));
    }
    match (request.rating, &request.rating_comment) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Error::bad_request("`rating_comment` needs `rating`.")),
        (Some(rating @ 1..=5), _) => Ok(u8::try_from(rating).ok()),
        (Some(_), _) => Err(Error::bad_request("`rating` must be from 1 to 5.")),
    }
}

async fn change(cx: Cx) -> Result<Response> {
    let request: TaskChange = cx.json()?;
    let (actor, local) = task_id(&cx)?;
    let caller = cx.caller.agent()?;
    let did = record::did_of(&caller.actor)?;
    let status = request.status.as_deref().map(TaskStatus::parse).transpose()?;
    let rating = rating(&request)?;
    let given = ContentMembers {
        name: "output",
        plain: request.output.as_deref().or(request.result.as_deref()),
        ciphertext: request.encrypted_output.as_deref(),
        nonce: request.output_nonce.as_deref(),
        signature: request.output_signature.as_deref(),
    };
    let content = given.check(caller)?;
    let nothing = matches!(content, Content::Nothing);
    if status.is_none() && rating.is_none() && nothing {
        return Err(Error::bad_request("Give `status`, `rating` or both."));
    }
    if !nothing && !matches!(status, Some(TaskStatus::Completed | TaskStatus::Failed)) {
        return Err(Error::bad_request("An output needs the status completed or failed."));
    }
    let mut output = None;
    if !nothing {
        // Read first, so that a stranger learns nothing and the box is made for the right reader.
        let FullTask { head, .. } =
            runtime::query(&*cx.rt, actor.as_str(), &ReadFullTask { local, caller: did }).await?;
        let requester = actor_id(&head.from);
        let reader = runtime::query(&*cx.rt, requester.as_str(), &ReadPublic).await?.ok_or_else(unknown_task)?;
        continuity::check_pin(&cx, &requester).await?;
        output = match content {
            Content::Plain(text) => {
                let keys = boxed::held(&cx, caller)?;
                Some(boxed::seal(&cx, caller, &keys, &reader.encryption, &text, true)?)
            }
            Content::Boxed(boxed) => Some(Boxed { reader_encryption: Some(reader.encryption), ..boxed }),
            Content::Nothing => None,
        };
    }
    let anchored = match rating {
        None => 0.0,
        Some(_) => runtime::query(&*cx.rt, caller.actor.as_str(), &ReadTrust)
            .await?
            .map_or(0.0, |known| known.standing.anchored()),
    };
    let rating_comment = request.rating_comment;
    let patch = Patch { local, caller: did, status, output, rating, rating_comment, anchored };
    let head = runtime::call(&*cx.rt, actor.as_str(), &patch).await?;
    Response::json(&TaskUpdated { updated: true, task: info(&cx, &local, head) })
}
