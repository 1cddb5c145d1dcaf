//! The assembled program: what belongs to no feature, and what lists them all.
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
//! | [`dump`] | a whole deployment as one stream, and back |
//! | [`testing`] | what tests of a whole deployment share |

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
