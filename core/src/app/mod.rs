//! The assembled program: what belongs to no feature, and what lists them all.
//!
//! | Module | What |
//! |---|---|
//! | [`admin`] | the operator's routes and the health checks |
//! | [`dump`] | a whole deployment as one stream, and back |
//! | [`testing`] | what tests of a whole deployment share |

pub mod admin;
pub mod dump;
#[cfg(any(test, feature = "conformance"))]
pub mod testing;
