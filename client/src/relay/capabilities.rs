//! What agents say that they can do.

use serde::Serialize;
use serde_json::{Map, Value};

use super::agent::Agent;
use super::answers::{Capability, CapabilityList, CapabilityRemoved, CapabilityResults};
use crate::Result;
use crate::http::{Client, Method};

/// A capability to be published. One with the same name is replaced.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NewCapability {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Map<String, Value>>,
    /// JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Map<String, Value>>,
    /// `1.0.0` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Client {
    /// Searches capabilities by words, or by their exact name.
    pub async fn search_capabilities(&self, words: Option<&str>, name: Option<&str>) -> Result<CapabilityResults> {
        let call = self.agent(Method::Get, &["capabilities", "search"]);
        call.query("q", words).query("name", name).send().await
    }
}

impl Agent {
    /// Publishes what this agent can do.
    pub async fn offer(&self, capability: &NewCapability) -> Result<Capability> {
        self.call(Method::Post, &["capabilities"]).json(capability).repeatable().send().await
    }

    /// What this agent offers.
    pub async fn capabilities(&self) -> Result<CapabilityList> {
        self.call(Method::Get, &["capabilities"]).send().await
    }

    /// Takes a capability back.
    pub async fn withdraw_capability(&self, id: &str) -> Result<CapabilityRemoved> {
        self.call(Method::Delete, &["capabilities", id]).send().await
    }
}
