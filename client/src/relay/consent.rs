//! Who may write to an agent.

use serde_json::json;

use super::agent::Agent;
use super::answers::{ConsentEntry, ConsentInfo, ConsentList, ConsentRemoved, StrangersDropped};
use crate::Result;
use crate::http::Method;

/// A list of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// They may write.
    Allowed,
    /// They may not write.
    Blocked,
}

impl List {
    const fn as_str(self) -> &'static str {
        match self {
            List::Allowed => "allowed",
            List::Blocked => "blocked",
        }
    }
}

impl Agent {
    /// Who may write to this agent.
    pub async fn consent(&self) -> Result<ConsentInfo> {
        self.call(Method::Get, &["consent"]).send().await
    }

    /// Says who may write to this agent: `everyone`, `known` or `listed`.
    pub async fn accept_from(&self, whom: &str) -> Result<ConsentInfo> {
        self.call(Method::Patch, &["consent"]).json(&json!({ "accept_from": whom })).repeatable().send().await
    }

    /// Puts an agent on a list, and takes it off the other one.
    pub async fn list_agent(&self, list: List, did: &str) -> Result<ConsentEntry> {
        self.call(Method::Put, &["consent", list.as_str(), did]).repeatable().send().await
    }

    /// Takes an agent off a list.
    pub async fn unlist_agent(&self, list: List, did: &str) -> Result<ConsentRemoved> {
        self.call(Method::Delete, &["consent", list.as_str(), did]).send().await
    }

    /// The agents on a list, after this DID.
    pub async fn listed_agents(&self, list: List, after: Option<&str>) -> Result<ConsentList> {
        self.call(Method::Get, &["consent", list.as_str()]).query("after", after).send().await
    }

    /// Drops the unread messages of strangers.
    pub async fn drop_strangers(&self) -> Result<StrangersDropped> {
        self.call(Method::Delete, &["consent", "strangers", "unread"]).send().await
    }
}
