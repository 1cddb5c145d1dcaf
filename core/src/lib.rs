//! All logic of Heliograph: censorship intelligence and the agent relay.
//!
//! The crate has no runtime, no clock, no randomness and no I/O of its own: `native-server` and `edge-worker` bring
//! those and stay thin. Layout, from the seam with storage up to the endpoints:
//!
//! | Module | What |
//! |---|---|
//! | [`kv`] | the ordered key-value seam, its codec, typed tables, overlay, memory backend, conformance functions |
//! | [`actor`] | actors: operations, effects, outbox, timers; run identically by every runtime |
//! | [`documents`] | published, cacheable bodies |
//! | [`runtime`] | what a request handler needs from outside |
//! | [`http`] | the route table, the router, authentication, limits, OpenAPI |
//! | [`admin`] | the operator's routes and the health checks |
//! | [`keys`] | API keys, tiers, sign-up |
//! | [`agent`] | the relay: identity, messages, streams, pins |
//! | [`directory`] | names of agents |
//! | [`relay`] | federation: messages from and to other relays |
//! | [`crypto`] | wire formats of messages, sealing at rest, signatures |
//! | [`ledger`] | credit: wallets, transfers, escrow |
//! | [`measurement`] | formats of measurement sources and their importers |
//! | [`verdict`] | rules, votes, verdicts: from observations to blocked / accessible / unknown |
//! | [`country`], [`world`] | the actors that hold measurements, and the endpoints that answer from them |
//! | [`analytics`] | rankings and profiles over all countries |
//! | [`anomaly`], [`classifier`], [`atlas`] | days unlike others, what they look like, scores and networks at risk |
//! | [`event`] | outages, shutdowns and blocks that others report |
//! | [`fetch`] | asking sources with a public interface, off by default |
//! | [`alert`] | who hears of incidents by webhook |
//! | [`incidents`] | what happened, from when to when, and how we know |
//! | [`outlook`] | threat levels, scores, and what may come |
//! | [`probe`] | the probe network: nodes, their submissions, what they found |
//! | [`reference`](mod@reference) | imported reference data: fingerprints, categories, networks |
//! | [`import`](mod@import) | streams of any supported kind, to the actors that keep them |
//! | [`order`] | sorting and gathering without a copy of the algorithm per type |
//! | [`licence`] | which of several licences an answer stands under |
//! | [`starter`] | the dated facts that ship inside the binary |
#![forbid(unsafe_code)]

pub mod actor;
pub mod admin;
pub mod agent;
pub mod alert;
pub mod analytics;
pub mod anomaly;
pub mod apart;
pub mod atlas;
pub mod attestation;
pub mod change;
pub mod channel;
pub mod claims;
pub mod classifier;
pub mod country;
pub mod crypto;
pub mod deployment;
pub mod directory;
pub mod documents;
pub mod elections;
pub mod error;
pub mod event;
pub mod fetch;
pub mod forecast;
pub mod http;
pub mod import;
pub mod incidents;
pub mod keys;
pub mod kv;
pub mod ledger;
pub mod licence;
pub mod limits;
pub mod measurement;
pub mod moving;
pub mod order;
pub mod outlook;
pub mod probe;
pub mod reference;
pub mod relay;
pub mod rfc4180;
pub mod roster;
pub mod runtime;
pub mod secrets;
pub mod sentinel;
pub mod settings;
pub mod starter;
#[cfg(any(test, feature = "conformance"))]
pub mod testing;
pub mod time;
pub mod verdict;
pub mod webhook;
pub mod world;

pub use error::{Error, ErrorCode, Result};
pub use time::Timestamp;
