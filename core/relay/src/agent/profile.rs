//! The agent's own view of itself: `GET` and `PATCH /v1/agent/profile`, `DELETE /v1/agent/deactivate`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::deactivate::Deactivate;
use super::identity::Identity;
use super::record::{Credentials, OwnProfile, ReadProfile, RegistrationPlace, Update};
use super::register::{MAX_CAPABILITIES, MAX_CAPABILITY, check_capabilities, check_metadata};
use super::usage::{self, Since, UsageRow};
use super::waiting::ReadRegistration;
use super::{record, wire};
use crate::Result;
use crate::above::Bookkeeping;
use crate::agent::authentication::Calling;
use crate::directory;
use crate::unwritten::Pending;
use engine::http::{Cx, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/agent/profile", handler!(read))
        .agent()
        .waiting()
        .returns::<Profile>()
        .summary("The calling agent's own profile."),
    Route::patch("/v1/agent/profile", handler!(change))
        .agent()
        .accepts::<ProfileChange>()
        .returns::<Profile>()
        .summary("Change name, capabilities, metadata or presence."),
    Route::delete("/v1/agent/deactivate", handler!(deactivate))
        .agent()
        .returns::<Deactivated>()
        .summary("End the calling agent for good."),
];

/// An agent's own profile.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentProfile")]
pub struct Profile {
    #[serde(flatten)]
    pub identity: Identity,
    pub client_side: bool,
    /// Last authenticated request.
    pub last_seen: Option<String>,
    /// Messages sent; those with a sealed sender are not counted.
    pub message_count: u64,
    /// Whether others may see when the agent last sent a heartbeat.
    pub presence: bool,
    pub username: Option<String>,
    /// One-time prekeys that wait to be given away.
    pub one_time_prekeys_remaining: u32,
    /// True when the agent has used one-time prekeys and fewer than 10 are left: upload more.
    pub one_time_prekeys_low: bool,
    /// True while another registration holds the DID, until this one signs something or proves its keys.
    pub waiting: bool,
}

/// The members to change; absent members stay as they are.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ProfileChange {
    /// Up to 128 characters, unique; case does not count.
    #[schemars(length(min = 1, max = directory::MAX_NAME))]
    pub name: Option<String>,
    /// Up to 32.
    #[schemars(length(max = MAX_CAPABILITIES), inner(length(min = 1, max = MAX_CAPABILITY)))]
    pub capabilities: Option<Vec<String>>,
    /// An object of at most 4 KB of JSON.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub metadata: Option<Box<RawValue>>,
    /// False hides heartbeats from others.
    pub presence: Option<bool>,
}

/// An agent that was ended.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentDeactivated")]
pub struct Deactivated {
    pub did: String,
    pub status: &'static str,
    pub deactivated: bool,
    pub deactivated_at: String,
    /// The balance of the agent's wallet. An admin can reactivate the wallet.
    pub balance_micro: u64,
}

fn profile(caller: &Credentials, own: OwnProfile, pending: &Pending<Since>) -> Result<Response> {
    let waiting = caller.place != RegistrationPlace::Stands;
    // The counters under the DID belong to the registration that holds it.
    let usage = if waiting { UsageRow::default() } else { own.usage.with(pending) };
    Response::json(&Profile {
        identity: Identity::try_from(own.public)?,
        client_side: caller.client_side,
        last_seen: usage.last_seen.map(|seen| seen.to_string()),
        message_count: usage.messages,
        presence: own.presence,
        username: own.username,
        one_time_prekeys_remaining: own.stock.waiting,
        one_time_prekeys_low: own.stock.is_low(),
        waiting,
    })
}

/// The profile of `caller`. A registration that waits has only the data that it registered.
pub(super) async fn of(cx: &Cx, caller: &Credentials) -> Result<Response> {
    let actor = caller.actor.as_str();
    let pending = usage::pending(&*cx.rt, actor);
    let own = match caller.place {
        RegistrationPlace::Stands => runtime::query(&*cx.rt, actor, &ReadProfile).await?,
        _ => {
            let read = ReadRegistration { version: caller.keys.version };
            runtime::query(&*cx.rt, actor, &read).await?.map(OwnProfile::waiting)
        }
    };
    profile(caller, own.ok_or_else(wire::unknown_agent)?, &pending)
}

async fn read(cx: Cx) -> Result<Response> {
    of(&cx, cx.caller.agent()?).await
}

async fn change(cx: Cx) -> Result<Response> {
    let change: ProfileChange = cx.json()?;
    let actor = cx.caller.agent()?.actor.clone();
    if let Some(capabilities) = &change.capabilities {
        check_capabilities(capabilities)?;
    }
    let metadata = check_metadata(change.metadata.as_deref())?;
    let mut reserved = None;
    if let Some(name) = &change.name {
        directory::check_name(name)?;
        (Bookkeeping::of(cx.rt.environment().program).check_name)(cx.settings(), name)?;
        reserved = Some(directory::reserve(&*cx.rt, name.clone(), record::did_of(&actor)?).await?);
    }
    let update = Update { name: change.name, capabilities: change.capabilities, metadata, presence: change.presence };
    let pending = usage::pending(&*cx.rt, &actor);
    let own = directory::settled(&*cx.rt, reserved, runtime::call(&*cx.rt, actor, &update).await).await?;
    profile(cx.caller.agent()?, own, &pending)
}

async fn deactivate(cx: Cx) -> Result<Response> {
    let caller = cx.caller.agent()?;
    let ended = runtime::call(&*cx.rt, caller.actor.clone(), &Deactivate).await?;
    let version = caller.keys.version;
    let account = super::rotate::heard_by_ledger(&*cx.rt, &caller.did, version, false).await?;
    Response::json(&Deactivated {
        did: caller.did.clone(),
        status: "inactive",
        deactivated: true,
        deactivated_at: ended.to_string(),
        balance_micro: account.wallet.map_or(0, |(balance, _)| balance),
    })
}
