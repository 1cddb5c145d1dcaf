//! Heliograph as a Cloudflare Worker: it connects the core to the platform.
//!
//! | Module | What |
//! |---|---|
//! | [`entry`] | the Worker: `fetch` and `scheduled` |
//! | [`environment`] | settings and secrets from bindings, the check at start |
//! | [`runtime`] | the core's runtime interface on the edge |
//! | [`errand`] | requests between the Worker and the objects |
//! | [`object`] | the one Durable Object class, `Actor`, whose name is `kind/name` |
//! | [`space`], [`work`], [`listeners`] | inside an object: its operations, its own work, its streams |
//! | [`sockets`] | WebSockets in the Worker |
//! | [`sqlite`] | an ordered key-value store on the object's SQLite database |
//! | [`web`] | requests to other hosts |
//! | [`kv_documents`] | published documents in Workers KV |
//! | [`kv_segments`] | sealed segments of the ledger's log in Workers KV |
//! | [`place_cache`] | answers that all isolates of one place share |
//! | [`shell`], [`clock`] | requests and responses; time and randomness |
//! | [`coding`] | which answers the platform compresses |
//! | `test_routes` | routes that test the runtime itself; never in the bundle that is deployed |
//!
//! `guard.mjs` beside this crate is the Worker's main module. It limits the time of every request, because a panic
//! inside wasm leaves its request without an answer. The feature `test-routes` adds routes for tests of the runtime itself;
//! no deployed bundle has it.

// On other targets the package is empty, so that the whole workspace can be checked and opened in an editor.
#![cfg(target_arch = "wasm32")]

mod clock;
mod coding;
mod entry;
mod environment;
mod errand;
mod kv_documents;
mod kv_segments;
mod listeners;
mod object;
mod place_cache;
mod runtime;
mod shell;
mod sockets;
mod space;
mod sqlite;
#[cfg(feature = "test-routes")]
mod test_routes;
mod web;
mod work;
