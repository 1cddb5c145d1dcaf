//! Damaged files: every answer afterwards is right or a 503, and the scrub names the damaged pages.
//!
//! | Module | What |
//! |---|---|
//! | `flips` | bits and whole pages that change on disk |
//! | `place` | a server in this process |
//! | `upgrade` | files of earlier versions without checksums, and missing checksums |
//! | `world` | data, and questions about them |
#![allow(clippy::unwrap_used, clippy::panic)]

mod flips;
mod place;
mod upgrade;
mod world;
