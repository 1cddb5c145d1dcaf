//! Heliograph as a native server on one data file: it connects `heliograph-core` to sockets, a file and a clock.
//!
//! | Module | What |
//! |---|---|
//! | [`store`] | the redb file: rows of actors, timers, documents; backup; injected faults |
//! | [`writer`] | the one thread that writes: group commit, effects, timers, recovery from faults |
//! | `rotation` | makes a new master key, and moves sealed values under it |
//! | [`runtime`] | the core's `Runtime` on top of `store` and `writer` |
//! | `fetch` | requests to other hosts, and the task that fetches from sources |
//! | `outgoing` | the task that makes the requests that actors ask for |
//! | [`pool`] | the threads that compute, apart from those that accept and answer |
//! | `budgets`, `queue` | how much of the machine clients may hold |
//! | `metrics` | what the server counts of itself, for `/metrics` |
//! | `census` | counts in the background what actors hold, for `/metrics` |
//! | `places` | how many requests to other hosts are in progress at once |
//! | [`streams`] | receive streams: one task per listening agent |
//! | `maintenance` | what the data file holds, and copies of it |
//! | `scrub` | reads the whole file once a day and compares it with its checksums |
//! | [`serve`] | the HTTP shell: from a request to the core's router and back |
//! | `host` | the host that a request names |
//! | `proxies` | warnings for the operator about proxies |
//! | `coding` | compresses answers |
//! | `connection` | below `serve`: accepts connections, and ends those whose client stalls |
//! | [`websocket`] | the WebSocket part of `serve` |
//! | [`server`] | starts and stops all of it |
//! | [`config`] | settings from flags, environment, file and defaults |
//! | `current` | a value that an operator changes while requests use it |
//! | `redirect` | the listener that sends clients to the address with TLS |
//! | `reload` | puts other settings in force while the server runs |
//! | `supervisor` | what a service manager hands over and is told |
//! | `tls` | certificates: files of the operator, or an authority by ACME |
//! | `trace` | which request an event belongs to |
//! | `trust` | which certificates commands take from the servers that they ask |
//! | `log` | lines for the operator on standard error |
//! | `files` | what operators are told when a file cannot be read or written |
//! | `owner` | whom new files belong to |
//! | [`keyfile`] | master keys and operator key beside the data file |
//! | [`clock`] | time and randomness of the operating system |
//! | [`testing`] | temporary folders |
//! | `evaluate` | how well the classifier agrees with labels |
//! | `world` | simulated worlds for judging the method of verdicts |
//! | [`probe`] | a measuring client for the probe network |
//! | [`cli`] | the command line |
#![forbid(unsafe_code)]

mod budgets;
mod census;
pub mod cli;
pub mod clock;
mod coding;
pub mod config;
mod connection;
pub mod current;
mod evaluate;
mod fetch;
mod files;
mod host;
pub mod keyfile;
mod log;
mod maintenance;
mod metrics;
mod outgoing;
mod owner;
mod places;
pub mod pool;
pub mod probe;
mod proxies;
mod queue;
mod redirect;
mod reload;
mod rotation;
pub mod runtime;
mod scrub;
pub mod serve;
pub mod server;
pub mod store;
pub mod streams;
mod supervisor;
#[doc(hidden)]
pub mod testing;
mod tls;
mod trace;
mod trust;
pub mod websocket;
mod world;
pub mod writer;
