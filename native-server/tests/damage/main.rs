//! Files that are damaged: every answer afterwards is right or a 503, and the scrub names what was hit.
#![allow(clippy::unwrap_used, clippy::panic)]

mod flips;
mod place;
mod upgrade;
mod world;
