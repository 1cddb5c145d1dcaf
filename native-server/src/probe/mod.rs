//! `heliograph probe`: a small measuring client for the probe network.
//!
//! | Module | What |
//! |---|---|
//! | [`dns`] | asks one resolver one question |
//! | [`measure`] | measures one site: names, connections, TLS, HTTP, block pages |
//! | [`state`] | identity and waiting submissions on disk |
//! | [`session`] | consent, registration, cycles, submission |
//!
//! The probe measures one site at a time, with blocking calls and a time limit on each, because it needs no speed and
//! should be simple. It reads only the beginning of one page of a site, follows at most one redirect and sends no
//! cookies. It never measures without consent, or on a host that its operator calls metered.

pub mod dns;
pub mod measure;
pub mod session;
pub mod state;

pub use measure::{Finding, Measurer};
pub use session::{Session, Settings};
