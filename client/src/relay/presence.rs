//! Who is here, and what the relay says of itself.

use super::agent::Agent;
use super::answers::{PeerList, Pong, Presence, RelayInfo, RelayStats};
use crate::Result;
use crate::http::{Client, Method};

impl Client {
    /// When an agent was last here, if it lets others see that.
    pub async fn presence(&self, did: &str) -> Result<Presence> {
        self.agent(Method::Get, &["ping", did]).send().await
    }

    /// What the relay is and can do.
    pub async fn relay_info(&self) -> Result<RelayInfo> {
        self.call(Method::Get, &["v1", "relay", "info"]).send().await
    }

    /// Other relays that this one knows.
    pub async fn relay_peers(&self) -> Result<PeerList> {
        self.call(Method::Get, &["v1", "relay", "peers"]).send().await
    }

    /// Numbers over all agents.
    pub async fn relay_stats(&self) -> Result<RelayStats> {
        self.agent(Method::Get, &["stats"]).send().await
    }
}

impl Agent {
    /// Says that this agent is here.
    pub async fn ping(&self) -> Result<Pong> {
        self.call(Method::Post, &["ping"]).repeatable().send().await
    }
}
