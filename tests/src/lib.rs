//! Shared code of the tests: servers under test, and a client that talks to each of them in the same way.
//!
//! | Module | What |
//! |---|---|
//! | [`target`] | the three runtimes a conformance test runs on |
//! | [`client`] | one request, one answer; JSON helpers; event streams |
//! | [`data`] | real data beside the checkout, and imports of it |
//! | [`described`] | whether an answer is one that the OpenAPI document declares |
//! | [`floods`] | clients that try to exhaust a server, and other clients meanwhile |
//! | [`ledger`] | parties of the credit ledger |
//! | [`limited`] | processes with little memory |
//! | [`listening`] | many agents that listen at once |
//! | [`peer`] | another relay that a test plays, honest or not |
//! | [`process`] | starting and ending a server process |
//! | [`questions`] | every public endpoint with typical requests, for measurements under load |
//! | [`races`] | an owner and attackers who want one DID at the same moment |
//! | [`recorded`] | requests and answers, kept as examples for the OpenAPI document |
//! | [`relay`] | agents of the relay, with and without their own keys |
//! | [`sentences`] | the texts of answers, and the codes beside them |
//! | [`simulation`] | a whole deployment in one thread, from a seed |
//! | [`source`] | a server on loopback from which a deployment fetches |
//! | [`synthetic`] | made-up measurements in real formats |
//! | [`xml`] | a strict reader of feeds |

pub mod client;
pub mod data;
pub mod described;
pub mod floods;
pub mod ledger;
pub mod limited;
pub mod listening;
pub mod peer;
pub mod process;
pub mod questions;
pub mod races;
pub mod recorded;
pub mod relay;
pub mod sentences;
pub mod simulation;
pub mod source;
pub mod synthetic;
pub mod target;
pub mod xml;
