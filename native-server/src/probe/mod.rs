//! `heliograph probe`: a small measuring client for the probe network.
//!
//! | Module | What |
//! |---|---|
//! | [`dns`] | one question to one resolver |
//! | [`measure`] | one site: names, connections, TLS, HTTP, block pages |
//! | [`state`] | identity and what waits to be sent, on disk |
//! | [`session`] | consent, registration, cycles, submission |
//!
//! It measures one site at a time, with blocking calls and a time limit on each: a probe should be slow and plain. It
//! asks no site for more than the beginning of one page, follows one redirect at most, sends no cookies, and never
//! measures without consent, nor on a host that its operator calls metered.

pub mod dns;
pub mod measure;
pub mod session;
pub mod state;

pub use measure::{Finding, Measurer};
pub use session::{Session, Settings};
