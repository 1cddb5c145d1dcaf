//! The agent relay.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::actor::{Kind, Query, View};

pub mod stream;

pub const ENTRIES: &[crate::actor::Entry] = &[crate::actor::query::<Authorize>()];

/// The kind word in agent keys.
pub const KEY_KIND: &str = "agent";

/// Checks an agent's key against its stored hash; the DID when it is right and the agent active.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Authorize {
    pub secret_hash: [u8; 32],
}

impl Query for Authorize {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "authorize";
    type Reply = Option<String>;

    fn run(self, _view: &View<'_>) -> Result<Option<String>> {
        Ok(None)
    }
}
