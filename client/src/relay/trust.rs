//! How far the service trusts agents.

use super::agent::Agent;
use super::answers::{AgentTrust, Analytics, Leaderboard};
use crate::Result;
use crate::http::{Client, Method};

impl Client {
    /// The trust in an agent, with what it rests on.
    pub async fn trust(&self, did: &str) -> Result<AgentTrust> {
        self.agent(Method::Get, &["trust", did]).send().await
    }

    /// Agents by trust, of this level or a higher one.
    pub async fn leaderboard(&self, min_level: Option<&str>, limit: u32) -> Result<Leaderboard> {
        let call = self.agent(Method::Get, &["trust", "leaderboard"]).query("min_level", min_level);
        call.query("limit", Some(limit)).send().await
    }
}

impl Agent {
    /// What this agent did in a period: `1d`, `7d`, `30d` or `all`.
    pub async fn analytics(&self, period: &str) -> Result<Analytics> {
        self.call(Method::Get, &["analytics"]).query("period", Some(period)).send().await
    }
}
