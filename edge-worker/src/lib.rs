//! Heliograph as a Cloudflare Worker: wiring only.
//!
//! | Module | What |
//! |---|---|
//! | [`entry`] | the Worker: `fetch` and `scheduled` |
//! | [`object`] | the one Durable Object class, `Actor`, whose name is `kind/name` |
//! | [`sqlite`] | ordered bytes to bytes on the object's SQLite database |
//! | [`kv_documents`] | published documents in Workers KV |
//! | [`probe`] | routes that test the runtime itself; they exist only under the binding `HELIOGRAPH_TEST_ROUTES` |
//!
//! `guard.mjs` beside this crate is the Worker's main module: it bounds every request in time, because a panic inside
//! wasm leaves its request without an answer.

mod entry;
mod kv_documents;
mod object;
mod probe;
mod sqlite;
