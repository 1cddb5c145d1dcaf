//! What every feature stands on: storage, actors, documents, HTTP, settings, errors. It knows no feature.
//!
//! | Module | What |
//! |---|---|
//! | [`actor`] | actors: operations, effects, outbox, timers; run identically by every runtime |
//! | [`apart`] | room for questions that compute |
//! | [`bogon`] | addresses that no public host has |
//! | [`csv`] | RFC 4180 |
//! | [`deployment`] | what a deployment is set up with |
//! | [`documents`] | published, cacheable bodies |
//! | [`error`] | errors and their codes |
//! | [`generations`] | values that were asked for lately |
//! | [`http`] | the route table, the router, limits, OpenAPI |
//! | [`kv`] | the ordered key-value seam, its codec, typed tables, overlay, memory backend, conformance functions |
//! | [`layer`] | what the engine itself brings to the program |
//! | [`limits`] | budgets of callers |
//! | [`moment`] | times as others write them |
//! | [`number`] | numbers as answers show them |
//! | [`program`] | what all features bring together, as the engine sees it |
//! | [`roster`] | which actors there are |
//! | [`runtime`] | what a request handler needs from outside |
//! | [`secrets`] | keys and tokens |
//! | [`settings`] | every setting |
//! | [`stream`] | what a runtime is told of a receive stream |
//! | `testing` | what tests share, and the real data |
//! | [`time`] | moments and spans |
//! | [`web`] | what asks other hosts, and what it must not ask |
//! | [`xml`] | text within XML |

pub mod actor;
pub mod apart;
pub mod bogon;
pub mod csv;
pub mod deployment;
pub mod documents;
pub mod error;
pub mod generations;
pub mod http;
pub mod kv;
pub mod layer;
pub mod limits;
pub mod moment;
pub mod number;
pub mod program;
pub mod roster;
pub mod runtime;
pub mod secrets;
pub mod settings;
pub mod stream;
#[cfg(any(test, feature = "conformance"))]
pub mod testing;
pub mod time;
pub mod web;
pub mod xml;

pub use error::{Error, ErrorCode, Result};
pub use time::Timestamp;
