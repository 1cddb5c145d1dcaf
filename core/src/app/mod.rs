//! The assembled program: the parts that belong to no single feature.
//!
//! | Module | What |
//! |---|---|
//! | [`program`] | the list of layers |
//! | [`computing`] | which routes compute |
//! | [`openapi`] | the document of the interface |
//! | [`admin`] | the operator's routes and the health checks |
//! | [`settings`] | the settings in force |
//! | [`welcome`] | what clients look for at the root |
//! | [`mcp`] | the Model Context Protocol |
//! | [`dump`] | a whole deployment as one stream, and its way back |

pub mod admin;
mod computing;
pub mod dump;
pub mod mcp;
pub mod openapi;
mod program;
pub mod settings;
pub mod welcome;

#[cfg(test)]
mod tests;

pub use program::PROGRAM;
