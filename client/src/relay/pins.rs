//! Pins: the keys that an agent expects of others.

use serde_json::json;

use super::agent::Agent;
use super::answers::{PinCheck, PinList, PinResponse};
use crate::Result;
use crate::http::Method;

impl Agent {
    /// Pins the present keys of an agent. If they changed since, the pin stays as it is and the answer warns; `accept`
    /// takes the new keys.
    pub async fn pin(&self, did: &str, accept: bool) -> Result<PinResponse> {
        self.forget_peer(did);
        let body = json!({ "did": did, "accept": accept });
        self.call(Method::Post, &["keys", "pin"]).json(&body).repeatable().send().await
    }

    /// The pins of this agent.
    pub async fn pins(&self) -> Result<PinList> {
        self.call(Method::Get, &["keys", "pins"]).send().await
    }

    /// Whether an agent still has the keys that were pinned.
    pub async fn check_pin(&self, did: &str) -> Result<PinCheck> {
        self.call(Method::Get, &["keys", "verify", did]).send().await
    }
}
