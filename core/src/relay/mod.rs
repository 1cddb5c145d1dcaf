//! The agent relay: who an agent is, what it sends, and whom it works with.
//!
//! | Module | What |
//! |---|---|
//! | [`above`] | what the relay needs of the features above it |
//! | [`agent`] | identity, messages, streams, pins |
//! | [`attestation`] | what agents say that they saw |
//! | [`channel`] | channels of many agents |
//! | [`directory`] | names of agents |
//! | [`federation`] | messages from and to other relays |
//! | [`keys`] | API keys, tiers, sign-up |
//! | [`webhook`] | who hears of messages by webhook |

pub mod above;
pub mod agent;
pub mod attestation;
pub mod channel;
pub mod directory;
pub mod federation;
pub mod keys;
pub mod webhook;
