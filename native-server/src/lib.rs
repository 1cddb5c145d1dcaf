//! Heliograph as a native server on one data file: wiring around `heliograph-core`.
//!
//! | Module | What |
//! |---|---|
//! | [`store`] | the redb file: rows of actors, timers, documents; backup; injected faults |
//! | [`writer`] | the one thread that writes: group commit, effects, timers, recovery from faults |
//! | `rotation` | a new master key, and moving what is sealed under it |
//! | [`runtime`] | the core's `Runtime` on top of both |
//! | `fetch` | requests to others, and the task that fetches from sources |
//! | [`pool`] | the threads that compute, apart from those that accept and answer |
//! | `budgets`, `queue` | how much of the machine clients may hold |
//! | `places` | how many requests are under way at once |
//! | [`streams`] | receive streams: one task per listening agent |
//! | `maintenance` | what the data file holds, and copies of it |
//! | `scrub` | reading everything once a day and comparing it with its checksums |
//! | [`serve`] | the HTTP shell: from a request to the core's router and back |
//! | `host` | the host that a request names |
//! | `proxies` | what the operator hears about proxies |
//! | `connection` | below it: accepting connections, and ending those whose client stalls |
//! | [`websocket`] | its WebSocket part |
//! | [`server`] | starting and stopping all of it |
//! | [`config`] | settings from flags, environment, file and defaults |
//! | [`keyfile`] | master keys and operator key beside the data file |
//! | `evaluate` | how well the classifier does on labels |
//! | [`probe`] | a measuring client for the probe network |
//! | [`cli`] | the command line |
#![forbid(unsafe_code)]

mod budgets;
pub mod cli;
pub mod clock;
pub mod config;
mod connection;
mod evaluate;
mod fetch;
mod host;
pub mod keyfile;
mod maintenance;
mod outgoing;
mod places;
pub mod pool;
pub mod probe;
mod proxies;
mod queue;
mod rotation;
pub mod runtime;
mod scrub;
pub mod serve;
pub mod server;
pub mod store;
pub mod streams;
#[doc(hidden)]
pub mod testing;
pub mod websocket;
mod world;
pub mod writer;
