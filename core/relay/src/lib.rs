//! The agent relay: identities of agents, their messages and their work for each other.
//!
//! | Module | What |
//! |---|---|
//! | [`above`] | what the relay needs of the features above it |
//! | [`agent`] | identities, messages, streams, pins, tasks |
//! | [`attestation`] | statements of agents about what they measured |
//! | [`channel`] | channels of many agents |
//! | [`directory`] | search for agents by name and capability |
//! | [`federation`] | messages from and to other relays |
//! | [`keys`] | API keys, tiers, sign-up |
//! | `unwritten` | counts that wait in memory until they are written |
//! | `testing` | a deployment in memory, for tests |
//! | [`webhook`] | webhooks that report messages |
//! | [`layer`], `computing` | what the relay brings to the program, and which of its routes compute |

pub mod above;
pub mod agent;
pub mod attestation;
pub mod channel;
mod computing;
pub mod directory;
pub mod federation;
pub mod keys;
pub mod layer;
#[cfg(any(test, feature = "conformance"))]
pub mod testing;
mod unwritten;
pub mod webhook;

use engine::{Error, ErrorCode, Result, Timestamp};
