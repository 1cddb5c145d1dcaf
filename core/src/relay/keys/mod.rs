//! API keys: tiers, sign-up, revocation (decisions invented-names-leave-nothing and api-key-form).
//!
//! A key names its account actor, which holds a SHA-256 of the secret, never the secret.

mod account;
mod signup;

pub use account::{Admit, CreateAccount, ENTRIES, RevokeAccount, is_revoked, label, reseal_label};
pub use signup::{ROUTES, SignupResponse, create, shown_label};

pub use crate::engine::limits::Tier;

/// What the label of a key is sealed for: people sign up with their mail addresses.
pub const LABEL_PURPOSE: &str = "key-label/1";
/// The kind word in API keys.
pub const KEY_KIND: &str = "key";
