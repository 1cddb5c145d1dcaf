//! The endpoints where an agent says which ledger events it wants in its mailbox. Webhooks name their events
//! themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EVENTS, Events, ReadNotices, SetNotices};
use crate::provider::ReadOwn;
use crate::{Error, Result};
use engine::http::{Cx, Response, Route, handler};
use engine::runtime;
use relay::agent::authentication::Calling;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/agent/ledger-notices", handler!(read))
        .agent()
        .extension()
        .returns::<NoticesBody>()
        .summary("The ledger events that this deployment's own agent tells the caller by message."),
    Route::put("/v1/agent/ledger-notices", handler!(set))
        .agent()
        .extension()
        .accepts::<WantedNotices>()
        .returns::<NoticesBody>()
        .summary("Have the ledger write to the caller's mailbox; an empty list ends it."),
];

/// What an event is called: one of [`EVENTS`].
pub const EVENT_PATTERN: &str = "^(hire[.]created|hire[.]claimed|receipt[.]disputed|transfer[.]settled)$";

/// The events to tell.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WantedNotices {
    /// Any of `hire.created`, `hire.claimed`, `receipt.disputed` and `transfer.settled`.
    #[schemars(inner(regex(pattern = EVENT_PATTERN)))]
    pub events: Vec<String>,
}

/// The events that are told.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NoticesBody {
    pub events: Vec<&'static str>,
    /// All events that can be told.
    pub known: [&'static str; 4],
}

fn body(events: Events) -> Result<Response> {
    Response::json(&NoticesBody { events: events.words(), known: EVENTS })
}

async fn read(cx: Cx) -> Result<Response> {
    let actor = cx.caller.agent()?.actor.as_str();
    body(runtime::query(&*cx.rt, actor, &ReadNotices).await?)
}

async fn set(cx: Cx) -> Result<Response> {
    let wanted: WantedNotices = cx.json()?;
    if wanted.events.iter().any(|event| !EVENTS.contains(&event.as_str())) {
        return Err(Error::bad_request(format!("`events` must be some of {}.", EVENTS.join(", "))));
    }
    let events = Events::of(wanted.events.iter().map(String::as_str));
    if events != Events::default() && runtime::query(&*cx.rt, crate::ACTOR, &ReadOwn).await?.is_none() {
        return Err(Error::conflict("This deployment has no agent of its own to write messages; use a webhook."));
    }
    let actor = cx.caller.agent()?.actor.as_str();
    runtime::call(&*cx.rt, actor, &SetNotices { events }).await?;
    body(events)
}
