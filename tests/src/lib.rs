//! What the tests share: servers under test and a client that speaks to each of them the same way.
//!
//! | Module | What |
//! |---|---|
//! | [`target`] | the three runtimes a conformance test runs on |
//! | [`client`] | one request, one answer; JSON helpers; event streams |
//! | [`process`] | starting and ending a server that we own |
//! | [`relay`] | agents of the relay, with and without their own keys |
//! | [`simulation`] | a whole deployment in one thread, from a seed |

pub mod client;
pub mod process;
pub mod relay;
pub mod simulation;
pub mod target;
