//! The assembled program: the parts that belong to no single feature.
//!
//! | Module | What |
//! |---|---|
//! | [`program`] | the one list of features |
//! | [`gate`] | who may call which route |
//! | [`computing`] | which routes compute |
//! | [`errands`] | what actors reach out for |
//! | [`ports`] | what lower layers need of higher ones |
//! | [`openapi`] | the document of the interface |
//! | [`admin`] | the operator's routes and the health checks |
//! | [`dump`] | a whole deployment as one stream, and its way back |
//! | [`testing`] | a whole deployment in memory, for tests |

pub mod admin;
mod computing;
pub mod dump;
mod errands;
mod gate;
pub mod openapi;
mod ports;
mod program;
#[cfg(any(test, feature = "conformance"))]
pub mod testing;

#[cfg(test)]
mod tests;

pub use program::PROGRAM;
