//! API keys: tiers, sign-up, revocation (decisions invented-names-leave-nothing and api-key-form).
//!
//! A key names its account actor, which holds only a SHA-256 of the secret.
//!
//! | Module | What |
//! |---|---|
//! | `account` | the actor of a key |
//! | [`admin`] | the operator's routes about keys |
//! | [`authentication`] | callers with a key |
//! | `signup` | the endpoint that gives out keys |

mod account;
pub mod admin;
pub mod authentication;
mod signup;

pub use account::{Admit, CreateAccount, ENTRIES, RevokeAccount, is_revoked, label, reseal_label};
pub use signup::{ROUTES, SignupResponse, create, shown_label};

pub use engine::limits::Tier;

/// The purpose for which the label of a key is sealed. It is sealed because people sign up with their mail addresses.
pub const LABEL_PURPOSE: &str = "key-label/1";
/// The kind word in API keys.
pub const KEY_KIND: &str = "key";
