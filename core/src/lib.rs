//! All logic of Heliograph: censorship intelligence and the agent relay.
//!
//! The crate has no runtime, no clock, no randomness and no I/O of its own: `native-server` and `edge-worker` bring
//! those and stay thin. Each layer is a package that depends only on the layers
//! below it, which come earlier in this table (`tests/tree/layers.rs` has the list):
//!
//! | Layer | What |
//! |---|---|
//! | [`crypto`] | wire formats of messages, sealing at rest, signatures; also what a client needs |
//! | [`engine`] | what every feature stands on: storage, actors, documents, HTTP, settings |
//! | [`facts`] | facts about censorship as pure functions: formats, rules, verdicts, change points |
//! | [`relay`] | the agent relay: identity, messages, channels, federation, keys |
//! | [`ledger`] | credit: wallets, transfers, escrow, a marketplace |
//! | [`intelligence`] | what is blocked where, since when, how we know, what may come; never the ledger |
//! | [`pages`] | pages for people |
//! | [`app`] | the assembled program: what belongs to no feature, and what lists them all |
#![forbid(unsafe_code)]

pub mod app;

pub use {crypto, engine, facts, intelligence, ledger, pages, relay};

pub use engine::error::{Error, ErrorCode, Result};
pub use engine::time::Timestamp;
