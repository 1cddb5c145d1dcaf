//! Heliograph as a Cloudflare Worker: wiring only.
//!
//! | Module | What |
//! |---|---|
//! | [`entry`] | the Worker: `fetch` and `scheduled` |
//! | [`environment`] | settings and secrets from bindings, the check at start |
//! | [`runtime`] | what the core's handlers ask for |
//! | [`errand`] | what the Worker and the objects ask of each other |
//! | [`object`] | the one Durable Object class, `Actor`, whose name is `kind/name` |
//! | [`space`], [`work`], [`listeners`] | inside an object: operations, what it does by itself, its streams |
//! | [`sockets`] | WebSockets in the Worker |
//! | [`sqlite`] | ordered bytes to bytes on the object's SQLite database |
//! | [`web`] | requests to others |
//! | [`kv_documents`] | published documents in Workers KV |
//! | [`shell`], [`clock`], [`hex`] | requests and responses; time and randomness; bytes as text |
//!
//! `guard.mjs` beside this crate is the Worker's main module: it bounds every request in time, because a panic inside
//! wasm leaves its request without an answer. Feature `probe` adds routes for tests of the runtime itself; no bundle
//! that is deployed has it.

// Elsewhere the package is empty, so that the whole workspace can be checked and opened in an editor.
#![cfg(target_arch = "wasm32")]

mod clock;
mod entry;
mod environment;
mod errand;
mod hex;
mod kv_documents;
mod kv_segments;
mod listeners;
mod object;
#[cfg(feature = "probe")]
mod probe;
mod runtime;
mod shell;
mod sockets;
mod space;
mod sqlite;
mod web;
mod work;
