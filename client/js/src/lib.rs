//! The client library for JavaScript. `package/index.d.ts` has the types and documents each call.
//!
//! | Module | What |
//! |---|---|
//! | `agent` | agents: messages, memory, other routes |
//! | `client` | a deployment: opening and registering agents, open data |
//! | `convert` | values and errors between the two languages |
//! | `ledger` | wallets, the market, proofs |
//! | `store` | stores that are written in JavaScript |
#![cfg(target_arch = "wasm32")]

mod agent;
mod client;
mod convert;
mod ledger;
mod store;
