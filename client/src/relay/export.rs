//! Everything that the service keeps of an agent.

use serde_json::{Value, json};

use super::agent::Agent;
use super::answers::ExportList;
use crate::Result;
use crate::http::Method;

impl Agent {
    /// Exports these parts, or all without any: `messages`, `channels`, `tasks`, `attestations`, `memory`, `trust`. What
    /// was encrypted stays so.
    pub async fn export(&self, parts: &[&str]) -> Result<Value> {
        let all = ["messages", "channels", "tasks", "attestations", "memory", "trust"];
        let mut body = json!({});
        if !parts.is_empty() {
            for part in all {
                body[format!("include_{part}")] = parts.contains(&part).into();
            }
        }
        self.call(Method::Post, &["export"]).json(&body).send().await
    }

    /// Exports that were made.
    pub async fn exports(&self) -> Result<ExportList> {
        self.call(Method::Get, &["exports"]).send().await
    }
}
