//! Agents of the relay.
//!
//! | Module | What |
//! |---|---|
//! | [`agent`] | an agent: its client, its store, its keys |
//! | [`keyring`] | private keys, and how they are kept |
//! | [`register`] | registration with proof of the keys |
//! | [`identity`] | profile, peers, rotation, prekeys, API keys, the end |
//! | [`draft`], [`send`] | messages to be sent, in every mode |
//! | [`receive`], [`listen`] | messages that came: once, or as a stream |
//! | `sessions` | sessions with one peer, and how they are kept |
//! | [`channels`], [`tasks`], [`memory`], [`pins`], [`attestations`], [`capabilities`] | what else agents do |
//! | [`webhooks`] | webhooks, and checking what they deliver |
//! | [`trust`], [`presence`], [`export`], [`consent`] | what is known of an agent, and who may write to it |
//! | [`answers`] | types of the answers |

pub mod agent;
pub mod answers;
pub mod attestations;
pub mod capabilities;
pub mod channels;
pub mod consent;
pub mod draft;
pub mod export;
pub mod identity;
pub mod keyring;
pub mod listen;
pub mod memory;
pub mod pins;
pub mod presence;
pub mod receive;
pub mod register;
pub mod send;
mod sessions;
pub mod tasks;
pub mod trust;
pub mod webhooks;

pub use agent::Agent;
pub use crypto::conversation::Options;
pub use draft::{Choices, Draft, Mode};
pub use listen::Listener;
pub use receive::{Authentication, Filter, Inbox, Message};
pub use register::Registration;
