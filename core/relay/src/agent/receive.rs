//! `GET /v1/agent/receive`, `/receive/raw`, `/receive/sse` and `/receive/ws`: receiving messages.

use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::mailbox::{Budget, Filter, MailboxItem, MarkRead, Page, ReadPage};
use super::record::RegistrationPlace;
use super::stream::{CONNECT_PATIENCE, Framing, OpenStream, cursor};
use super::wire::{self, RawMessage};
use super::{decrypt, poll, websocket};
use crate::agent::authentication::Calling;
use crate::{Error, Result, Timestamp};
use crypto::encoding;
use engine::http::{Body, Cx, Limit, Param, Response, Route, handler};
use engine::runtime;

const FILTERS: &[Param] = &[
    Param::optional("since", "Only messages after this time; the `timestamp` of the last one seen.").date(),
    Param::optional("limit", "Most messages in the answer, 1 to 100, default 50.").count(LIMIT.0, LIMIT.1),
    Param::optional("from", "Only messages of the agent with this DID."),
    Param::optional("thread_id", "Only messages of this thread, exactly."),
    Param::optional("content_type", "Only messages with this `content_type`, exactly.").such_as("text/plain"),
    Param::optional("unread", "`false` for read messages too.").boolean().default("true"),
    Param::optional("message_type", "Only messages with this `message_type`, exactly.").such_as("text"),
    Param::optional(
        "wait",
        "Extension: seconds to wait for a message when there is none, at most 25; without it the answer comes at once.",
    )
    .at_least(0)
    .default("0"),
];

pub const ROUTES: &[Route] = &[
    Route::get("/v1/agent/receive", handler!(receive))
        .agent()
        .waiting()
        .params(FILTERS)
        .returns::<Received>()
        .summary(
            "Messages that the service decrypts, oldest first. Marks nothing read, unless the operator set \
             `receive_marks_read`. An agent that keeps its own keys is told to ask `/v1/agent/receive/raw`.",
        ),
    Route::get("/v1/agent/receive/raw", handler!(receive_raw))
        .agent()
        .waiting()
        .params(FILTERS)
        .returns::<RawReceived>()
        .summary("Messages as they were sent, oldest first. Marks nothing read, unless the operator set `receive_marks_read`."),
    Route::get("/v1/agent/receive/sse", handler!(events))
        .answers(&["text/event-stream"])
        .agent()
        .limit(Limit::None)
        .effectful()
        .params(&[
            Param::optional("since", "Only messages after this time; the header `Last-Event-ID` wins over it.").date(),
            Param::optional("from", "Only messages of the agent with this DID."),
        ])
        .summary("Unread messages, then new ones as they arrive, as server-sent events; ends after half a minute."),
    Route::get(websocket::PATH, handler!(no_upgrade))
        .upgrades()
        .effectful()
        .extension()
        .summary(
            "Unread messages, then new ones as they arrive, over a WebSocket. Key by header, or in the first frame: \
             {\"api_key\", \"since\"}.",
        ),
];

/// Messages in one answer: the default, and the most.
const LIMIT: (u32, u32) = (50, 100);
/// Bytes after which a page takes no further message (decision mailbox-pages).
pub(super) const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Decrypted messages.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReceivedMessages")]
pub struct Received {
    #[schemars(with = "Vec<decrypt::OpenedMessage>")]
    pub messages: Vec<Box<RawValue>>,
    pub count: usize,
    /// The limit that was applied: the one asked for, at most 100.
    pub limit: u32,
    pub has_more: bool,
    /// The `since` of the next request, when `has_more`.
    pub next_since: Option<String>,
}

/// Raw messages.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RawReceived {
    pub messages: Vec<RawMessage>,
    pub count: usize,
    /// The limit that was applied: the one asked for, at most 100.
    pub limit: u32,
    pub has_more: bool,
    /// The `since` of the next request, when `has_more`.
    pub next_since: Option<String>,
}

fn limit(cx: &Cx) -> Result<u32> {
    cx.count("limit", LIMIT.0, LIMIT.1)
}

/// Reads the messages that the query asks for, and waits for them when the client wants that.
async fn read(cx: &Cx, limit: u32) -> Result<ReadPage> {
    // A registration that waits has no messages: others see the keys of the registration that holds the DID.
    if cx.caller.agent()?.place != RegistrationPlace::Stands {
        return Ok(ReadPage::empty(None, Timestamp::MIN));
    }
    let from = match cx.query("from")? {
        None => None,
        // A text that is not a DID of this service has sent nothing.
        Some(did) => match encoding::parse_did(&cx.settings().brand, &did) {
            Ok(did) => Some(did),
            Err(_) => return Ok(ReadPage::empty(None, Timestamp::MIN)),
        },
    };
    let filter = Filter {
        after: cx.time("since")?,
        from,
        thread_id: cx.query("thread_id")?,
        content_type: cx.query("content_type")?,
        message_type: cx.query("message_type")?,
        unread: cx.flag("unread")?.unwrap_or(true),
    };
    let budget = Budget { messages: limit as usize, bytes: PAGE_BYTES as u64 * 3 / 4 };
    let wait = cx.offset("wait")?.min(poll::MAX_WAIT);
    let ask = Page { filter, budget };
    let page = runtime::query(&*cx.rt, cx.caller.agent()?.actor.as_str(), &ask).await?;
    if wait == 0 || !page.items.is_empty() || page.has_more {
        return Ok(page);
    }
    poll::wait(cx, &ask, page, wait).await
}

/// Marks delivered messages as read where the operator wants that.
async fn delivered(cx: &Cx, items: &[MailboxItem]) -> Result<()> {
    if !cx.settings().receive_marks_read || items.is_empty() {
        return Ok(());
    }
    let locals = items.iter().map(|item| item.head.local).collect();
    runtime::call(&*cx.rt, cx.caller.agent()?.actor.as_str(), &MarkRead { locals }).await.map(|_| ())
}

async fn receive_raw(cx: Cx) -> Result<Response> {
    let limit = limit(&cx)?;
    let page = read(&cx, limit).await?;
    delivered(&cx, &page.items).await?;
    let caller = cx.caller.agent()?;
    let next_since = page.reached.filter(|_| page.has_more).map(wire::stamp_text);
    let raw = |item| wire::raw_message(cx.settings(), &caller.actor, &caller.did, item);
    let messages: Vec<RawMessage> = page.items.into_iter().map(raw).collect();
    Response::json(&RawReceived { count: messages.len(), messages, limit, has_more: page.has_more, next_since })
}

async fn receive(cx: Cx) -> Result<Response> {
    // Empty texts would look like messages, and an agent that marks them as read would lose their content.
    if cx.caller.agent()?.client_side {
        let message =
            "This agent keeps its own keys, so the service cannot decrypt its messages: ask /v1/agent/receive/raw.";
        return Err(Error::bad_request(message));
    }
    let limit = limit(&cx)?;
    let page = read(&cx, limit).await?;
    let (mut has_more, mut reached) = (page.has_more, page.reached);
    let mut opener = decrypt::MessageOpener::new(&*cx.rt, cx.caller.agent()?, &page.items).await?;
    let (mut messages, mut bytes) = (Vec::new(), 0);
    let mut last = None;
    for item in &page.items {
        let text = serde_json::to_string(&opener.open(item)?).map_err(Error::internal)?;
        // Control characters take six times their size in JSON, so the size is known only now.
        if !messages.is_empty() && bytes + text.len() > PAGE_BYTES {
            (has_more, reached) = (true, last);
            break;
        }
        bytes += text.len();
        last = Some(item.stamp);
        messages.push(RawValue::from_string(text).map_err(Error::internal)?);
    }
    opener.finish().await?;
    delivered(&cx, page.items.get(..messages.len()).unwrap_or_default()).await?;
    let next_since = reached.filter(|_| has_more).map(wire::stamp_text);
    Response::json(&Received { count: messages.len(), messages, limit, has_more, next_since })
}

/// Opens the event stream. A `since` or `Last-Event-ID` that cannot be parsed counts as absent, since an existing
/// client repeats a refused connection every half second for ever (decision stream-lifetimes).
async fn events(cx: Cx) -> Result<Response> {
    let caller = cx.caller.agent()?;
    let last = cx.request.header("last-event-id").and_then(cursor);
    let since = cx.query("since").ok().flatten();
    let open = OpenStream {
        agent: caller.actor.clone(),
        version: caller.epoch,
        after: last.or_else(|| since.as_deref().and_then(cursor)),
        // A sender that cannot be parsed has sent nothing.
        from: cx.query("from").unwrap_or_else(|_| Some(String::new())),
        framing: Framing::Sse,
    };
    let stream = runtime::retry_unavailable(&*cx.rt, CONNECT_PATIENCE, || cx.rt.stream(open.clone())).await?;
    let mut response = Response::new(StatusCode::OK, "text/event-stream", "");
    response.body = Body::Stream(stream);
    response.set("cache-control", "no-store");
    // Reverse proxies that buffer answers would delay events.
    response.set("x-accel-buffering", "no");
    Ok(response)
}

/// The answer to a request without an upgrade. Shells handle upgrade requests before they come here.
async fn no_upgrade(_cx: Cx) -> Result<Response> {
    Err(Error::bad_request("This path is a WebSocket: send an upgrade request."))
}
