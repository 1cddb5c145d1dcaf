//! The pieces of an export, made one after the other while the client takes them.

use std::collections::VecDeque;

use bytes::Bytes;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{ExportStats, Finish, PATIENCE, Parts};
use crate::agent::authentication::Calling;
use crate::agent::mailbox::Local;
use crate::agent::memberships::{Membership, ReadMemberships};
use crate::agent::record::{self, ReadPublic};
use crate::agent::wire;
use crate::attestation::{self, query::AttestationFilter};
use crate::channel::ChannelId;
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::actor_id;
use engine::http::Cx;
use engine::runtime;

/// A part that is being sent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ExportPart {
    Head,
    Messages(Option<String>),
    Channels,
    /// The role, and the time before which the tasks of the next page were created.
    Tasks(&'static str, Option<String>),
    Attestations(VecDeque<String>, Option<Timestamp>),
    Capabilities,
    /// Namespaces still to come, and the last key that was sent of the first of them.
    Memory(Option<VecDeque<String>>, Option<String>),
    Trust,
    Tail,
}

/// The member of the statistics that counts the items of a list.
type Count = fn(&mut ExportStats) -> &mut Option<u64>;

/// An export under way.
pub(super) struct Export {
    cx: Cx,
    local: Local,
    began: Timestamp,
    parts: VecDeque<ExportPart>,
    /// Whether the list under way has been started.
    continued: bool,
    stats: ExportStats,
}

/// A page of an answer that the export is made of.
#[derive(Deserialize)]
struct Page {
    #[serde(alias = "messages", alias = "tasks", alias = "capabilities", alias = "namespaces", alias = "keys")]
    items: Vec<Box<RawValue>>,
    #[serde(default)]
    has_more: bool,
    #[serde(default)]
    next_since: Option<String>,
}

/// The members of an item that tell where to go on after it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ItemPlace {
    id: String,
    created_at: String,
    namespace: String,
    key: String,
}

/// A channel as its member sees it.
#[derive(Serialize)]
struct Channel {
    id: String,
    name: String,
    description: Option<String>,
    topic: Option<String>,
    private: bool,
    creator: String,
    created_at: String,
    joined_at: String,
}

/// The beginning of every export.
#[derive(Serialize)]
struct Head {
    export_id: String,
    relay: String,
    exported_at: String,
    identity: Box<RawValue>,
}

fn raw(bytes: &Bytes) -> Result<Box<RawValue>> {
    serde_json::from_slice(bytes).map_err(Error::internal)
}

fn place(item: &RawValue) -> Result<ItemPlace> {
    serde_json::from_str(item.get()).map_err(Error::internal)
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

impl Export {
    pub(super) fn new(cx: Cx, local: Local, began: Timestamp, parts: Parts) -> Export {
        let mut queue = VecDeque::from([ExportPart::Head, ExportPart::Capabilities]);
        if parts.messages {
            queue.push_back(ExportPart::Messages(None));
        }
        if parts.channels {
            queue.push_back(ExportPart::Channels);
        }
        if parts.tasks {
            queue.push_back(ExportPart::Tasks("assignee", None));
        }
        if parts.attestations {
            queue.push_back(ExportPart::Attestations(attestation::shards().collect(), None));
        }
        if parts.memory {
            queue.push_back(ExportPart::Memory(None, None));
        }
        if parts.trust {
            queue.push_back(ExportPart::Trust);
        }
        queue.push_back(ExportPart::Tail);
        Export { cx, local, began, parts: queue, continued: false, stats: ExportStats::default() }
    }

    /// The next piece. When a page cannot be read, the stream ends before the JSON object is complete.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        let part = self.parts.pop_front()?;
        let this = &*self;
        let made = runtime::retry_unavailable(&*this.cx.rt, PATIENCE, || this.piece(part.clone())).await;
        let ExportPiece { text, rest, list_ends, stats } = match made {
            Ok(made) => made,
            Err(_) => {
                self.parts.clear();
                return None;
            }
        };
        self.stats = stats;
        self.continued = !list_ends;
        if let Some(rest) = rest {
            self.parts.push_front(rest);
        }
        Some(text.into())
    }

    /// Checks again before each piece: the agent may have been suspended or erased since the export began.
    async fn still_there(&self, actor: &str) -> Result<()> {
        let public = runtime::query(&*self.cx.rt, actor, &ReadPublic).await?;
        public.filter(|public| public.active).map(|_| ()).ok_or_else(record::gone)
    }

    async fn piece(&self, part: ExportPart) -> Result<ExportPiece> {
        let actor = self.cx.caller.agent()?.actor.as_str();
        self.still_there(actor).await?;
        match part {
            ExportPart::Head => {
                let identity = raw(&self.cx.ask("/v1/agent/profile", "").await?)?;
                let head = Head {
                    export_id: wire::message_id(actor, &self.local),
                    relay: self.cx.settings().base_url(),
                    exported_at: self.began.to_string(),
                    identity,
                };
                let mut text = serde_json::to_string(&head).map_err(Error::internal)?;
                text.pop();
                Ok(ExportPiece { text, rest: None, list_ends: true, stats: self.stats.clone() })
            }
            ExportPart::Messages(since) => self.messages(since).await,
            ExportPart::Channels => self.channels(actor).await,
            ExportPart::Tasks(role, before) => self.tasks(role, before).await,
            ExportPart::Attestations(shards, before) => self.attestations(actor, shards, before).await,
            ExportPart::Capabilities => {
                let page = self.page("/v1/agent/capabilities", "").await?;
                self.list("capabilities", page.items, None, |stats| &mut stats.capabilities)
            }
            ExportPart::Memory(namespaces, after) => self.memory(namespaces, after).await,
            ExportPart::Trust => {
                let did = &self.cx.caller.agent()?.did;
                let trust = raw(&self.cx.ask(&format!("/v1/agent/trust/{did}"), "").await?)?;
                let text = format!(",\"trust\":{}", trust.get());
                Ok(ExportPiece { text, rest: None, list_ends: true, stats: self.stats.clone() })
            }
            ExportPart::Tail => {
                let finish = Finish { began: self.began, local: self.local, stats: self.stats.clone() };
                runtime::call(&*self.cx.rt, actor, &finish).await?;
                let text = serde_json::to_string(&self.stats).map_err(Error::internal)?;
                let text = format!(",\"stats\":{text}}}");
                Ok(ExportPiece { text, rest: None, list_ends: true, stats: self.stats.clone() })
            }
        }
    }

    async fn page(&self, path: &str, query: &str) -> Result<Page> {
        serde_json::from_slice(&self.cx.ask(path, query).await?).map_err(Error::internal)
    }

    /// The text of some items of a list. The list opens before its first items and closes when nothing is left.
    fn list(
        &self,
        name: &str,
        items: Vec<Box<RawValue>>,
        rest: Option<ExportPart>,
        count: Count,
    ) -> Result<ExportPiece> {
        let mut text = if self.continued { String::new() } else { format!(",\"{name}\":[") };
        let mut stats = self.stats.clone();
        let before = count(&mut stats).unwrap_or_default();
        for (number, item) in items.iter().enumerate() {
            if number > 0 || (self.continued && before > 0) {
                text.push(',');
            }
            text.push_str(item.get());
        }
        *count(&mut stats) = Some(before + items.len() as u64);
        let list_ends = rest.is_none();
        if list_ends {
            text.push(']');
        }
        Ok(ExportPiece { text, rest, list_ends, stats })
    }

    /// Messages as the agent reads them: decrypted when the service holds its keys, otherwise as they were sent.
    async fn messages(&self, since: Option<String>) -> Result<ExportPiece> {
        let held = self.cx.caller.agent()?.keys.sealed.is_some();
        let path = if held { "/v1/agent/receive" } else { "/v1/agent/receive/raw" };
        let since = since.map(|since| format!("&since={since}")).unwrap_or_default();
        let page = self.page(path, &format!("unread=false&limit=100{since}")).await?;
        let rest = page.next_since.filter(|_| page.has_more).map(|since| ExportPart::Messages(Some(since)));
        self.list("messages", page.items, rest, |stats| &mut stats.messages)
    }

    async fn channels(&self, actor: &str) -> Result<ExportPiece> {
        let own = record::did_of(actor)?;
        let all = runtime::query(&*self.cx.rt, actor, &ReadMemberships).await?;
        let settings = self.cx.settings();
        let shown = |(id, Membership { about, joined }): (ChannelId, Membership)| {
            let creator = wire::did_text(settings, &about.creator);
            let channel = Channel {
                id: actor_id(&id),
                name: about.name,
                description: about.description,
                topic: about.topic,
                private: about.private,
                creator,
                created_at: about.created.to_string(),
                joined_at: joined.to_string(),
            };
            serde_json::value::to_raw_value(&channel).map_err(Error::internal)
        };
        let made = all.iter().filter(|(_, membership)| membership.about.creator == own).cloned();
        let made = made.map(shown).collect::<Result<Vec<_>>>()?;
        let memberships = all.into_iter().map(shown).collect::<Result<Vec<_>>>()?;
        let first = self.list("channels", made, None, |stats| &mut stats.channels)?;
        let second = self.list("memberships", memberships, None, |stats| &mut stats.memberships)?;
        let stats = ExportStats { channels: first.stats.channels, ..second.stats };
        Ok(ExportPiece { text: first.text + &second.text, stats, ..second })
    }

    /// Tasks that others asked of this agent, with input and output. Then the tasks that it asked of others; these are
    /// stored with the others, so they look as in the agent's list.
    async fn tasks(&self, role: &'static str, before: Option<String>) -> Result<ExportPiece> {
        let before = before.map(|before| format!("&before={before}")).unwrap_or_default();
        let page = self.page("/v1/agent/tasks", &format!("role={role}&limit=25{before}")).await?;
        let last = page.items.last().map(|item| place(item)).transpose()?;
        let mut items = Vec::new();
        for item in page.items {
            let id = place(&item)?.id;
            match role {
                "assignee" => match self.cx.ask(&format!("/v1/agent/tasks/{id}"), "").await {
                    Ok(whole) => items.push(raw(&whole)?),
                    // The task was deleted since the list was read.
                    Err(error) if error.code == ErrorCode::NotFound => {}
                    Err(error) => return Err(error),
                },
                _ => items.push(item),
            }
        }
        let rest = match last.filter(|_| page.has_more) {
            Some(last) => Some(ExportPart::Tasks(role, Some(last.created_at))),
            None if role == "assignee" => Some(ExportPart::Tasks("requester", None)),
            None => None,
        };
        self.list("tasks", items, rest, |stats| &mut stats.tasks)
    }

    async fn attestations(
        &self,
        actor: &str,
        mut shards: VecDeque<String>,
        before: Option<Timestamp>,
    ) -> Result<ExportPiece> {
        let Some(shard) = shards.front() else {
            return self.list("attestations", Vec::new(), None, |stats| &mut stats.attestations);
        };
        let wanted = AttestationFilter { agent: Some(record::did_of(actor)?), before, ..AttestationFilter::default() };
        let (items, next) = attestation::routes::shown(&self.cx, shard, wanted).await?;
        if next.is_none() {
            shards.pop_front();
        }
        let rest = (!shards.is_empty()).then_some(ExportPart::Attestations(shards, next));
        self.list("attestations", items, rest, |stats| &mut stats.attestations)
    }

    /// Reads one namespace after the other, one value at a time: a value can be 1 MiB.
    async fn memory(&self, namespaces: Option<VecDeque<String>>, after: Option<String>) -> Result<ExportPiece> {
        let mut namespaces = match namespaces {
            Some(namespaces) => namespaces,
            None => {
                let page = self.page("/v1/agent/memory", "").await?;
                page.items.iter().map(|item| Ok(place(item)?.namespace)).collect::<Result<_>>()?
            }
        };
        let count: Count = |stats| &mut stats.memory_entries;
        let Some(namespace) = namespaces.front().map(|name| encoded(name)) else {
            return self.list("memory", Vec::new(), None, count);
        };
        let query = after.map(|after| format!("&after={}", encoded(&after))).unwrap_or_default();
        let page = self.page(&format!("/v1/agent/memory/{namespace}"), &format!("limit=1{query}")).await?;
        let Some(key) = page.items.first().map(|item| place(item)).transpose()?.map(|place| place.key) else {
            namespaces.pop_front();
            return self.list("memory", Vec::new(), Some(ExportPart::Memory(Some(namespaces), None)), count);
        };
        let items = match self.cx.ask(&format!("/v1/agent/memory/{namespace}/{}", encoded(&key)), "").await {
            Ok(value) => vec![raw(&value)?],
            Err(error) if error.code == ErrorCode::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        self.list("memory", items, Some(ExportPart::Memory(Some(namespaces), Some(key))), count)
    }
}

/// A piece of the export, and how to go on.
struct ExportPiece {
    text: String,
    rest: Option<ExportPart>,
    list_ends: bool,
    stats: ExportStats,
}
