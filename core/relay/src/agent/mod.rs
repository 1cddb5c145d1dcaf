//! The agent relay: identities, messages between them, streams, pins.
//!
//! | Module | What |
//! |---|---|
//! | [`record`], [`create`] | the agent's own row, and the operations that change it; registering |
//! | [`deactivate`] | what ends when an agent is deactivated |
//! | [`authentication`], [`keyed`] | the check of an agent key, and of the same key in each later step of a request |
//! | [`mailbox`] | messages: append, page, read marks, expiry, sessions |
//! | [`stream`] | live delivery without I/O; [`websocket`] opens it for WebSockets |
//! | [`rotate`], [`access`], [`api_key`] | generations of keys; the API keys that open the agent |
//! | [`prekeys`], [`username`], [`did_document`] | prekeys, usernames and DID documents |
//! | [`listing`] | the agent's entry in the directory's search |
//! | [`standing`], [`waiting`], [`proof`], [`nonces`] | several registrations of one DID, and proofs of keys |
//! | [`register`], [`identity`], [`profile`], [`send`], [`receive`], [`messages`], [`verify`], [`pins`] | the endpoints |
//! | [`consent`] | who may write to the agent |
//! | [`continuity`] | whether the agent's keys follow from the keys that senders pinned |
//! | [`idempotency`] | requests that must be done only once |
//! | [`poll`] | requests that wait for a message |
//! | [`memberships`] | the agent's rows about its channels and invites ([`crate::channel`] decides) |
//! | [`capabilities`], [`tasks`], [`broadcasts`] | what an agent offers; work that agents ask of each other |
//! | [`memory`], [`presence`] | values that an agent stores here; its heartbeat |
//! | [`custody`], [`decrypt`] | private keys that the server holds, sealed; opening messages with them |
//! | [`reseal`](mod@reseal) | sealing values again under the current master key after a rotation |
//! | [`trust`] | how much other agents can trust an agent, from its past |
//! | [`usage`], [`activity`], [`stats`] | counters that decide nothing; [`analytics`] shows them |
//! | [`moderation`] | what an operator can do to an agent |
//! | [`export`] | everything that is stored for an agent |
//! | [`wire`], [`texts`] | message ids and raw messages; texts that holders of keys sign |
//!
//! Table numbers: 16 to 23 [`record`], 24 to 31 [`pins`], 32 to 47 [`mailbox`], 48 to 51 [`prekeys`], 52, 53, 134 and
//! 135 [`memberships`], 56 and 57 [`capabilities`], 59 to 68 [`tasks`], 69 to 71 [`broadcasts`], 72 to 77 [`memory`],
//! 79 [`presence`], 80 to 84 [`crate::webhook`], 88 and 109 [`trust`], 92 [`stats`], 93 [`activity`], 94
//! [`export`], 95 [`moderation`], 96 to 99 [`consent`], 100 and 104 [`rotate`], 101 [`access`], 102 [`username`], 103
//! [`listing`], 106 to 108 `ledger::notify`, 112 to 116 [`crate::federation`], 130, 131 and 133
//! [`waiting`], 132 [`nonces`], 140 to 143 [`continuity`], 150 to 153 [`idempotency`].
//!
//! An agent's actor is named by [`crypto::encoding::actor_id`] of the 16 bytes in its DID.

pub mod access;
pub mod activity;
pub mod analytics;
pub mod api_key;
pub mod authentication;
pub mod broadcasts;
pub mod capabilities;
pub mod consent;
pub mod continuity;
pub mod create;
pub mod custody;
pub mod deactivate;
pub mod decrypt;
pub mod did_document;
pub mod export;
pub mod idempotency;
pub mod identity;
pub mod keyed;
pub mod listing;
pub mod mailbox;
pub mod memberships;
pub mod memory;
pub mod messages;
pub mod moderation;
pub mod nonces;
pub mod pins;
pub mod poll;
pub mod prekeys;
pub mod presence;
pub mod profile;
pub mod proof;
pub mod receive;
pub mod record;
pub mod register;
pub mod reseal;
pub mod rotate;
pub mod send;
pub mod standing;
pub mod stats;
pub mod stream;
pub mod tasks;
pub mod texts;
pub mod trust;
pub mod usage;
pub mod username;
pub mod verify;
pub mod waiting;
pub mod websocket;
pub mod wire;

#[cfg(test)]
mod tests;

pub use record::{Authorize, Credentials};

/// The kind word in agent keys.
pub const KEY_KIND: &str = "agent";
