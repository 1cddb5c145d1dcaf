//! API keys: tiers, sign-up, revocation (decisions invented-names-leave-nothing and api-key-form).
//!
//! A key names its account actor, which holds a SHA-256 of the secret, never the secret.

mod account;
mod signup;

pub use account::{Admit, CreateAccount, ENTRIES, RevokeAccount, is_revoked, label, reseal_label};
pub use signup::{ROUTES, SignupResponse, create, shown_label};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::limits::Rate;

/// What the label of a key is sealed for: people sign up with their mail addresses.
pub const LABEL_PURPOSE: &str = "key-label/1";
/// The kind word in API keys.
pub const KEY_KIND: &str = "key";

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// The shared demo key.
    Demo,
    Research,
    Enterprise,
    /// For measuring: no limit in practice.
    Bench,
}

impl Tier {
    pub const ALL: [Tier; 4] = [Tier::Demo, Tier::Research, Tier::Enterprise, Tier::Bench];

    pub const fn as_str(self) -> &'static str {
        match self {
            Tier::Demo => "demo",
            Tier::Research => "research",
            Tier::Enterprise => "enterprise",
            Tier::Bench => "bench",
        }
    }

    pub fn parse(text: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.as_str() == text)
    }

    /// Requests a key of this tier may make (enterprise and bench are our choice).
    pub const fn rate(self) -> Rate {
        match self {
            Tier::Demo => Rate::per_minute(100).burst(20),
            Tier::Research => Rate::per_minute(1_000).burst(100),
            Tier::Enterprise => Rate::per_minute(10_000).burst(1_000),
            Tier::Bench => Rate::per_minute(60_000_000).burst(1_000_000),
        }
    }

    /// Whether answers may carry the per-network breakdown.
    pub const fn sees_networks(self) -> bool {
        !matches!(self, Tier::Demo)
    }
}
