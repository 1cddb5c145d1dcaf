//! Commands for users: they ask a server, at any address, by the client library.
//!
//! | Module | What |
//! |---|---|
//! | `agent` | registers, sends and listens |
//! | `ask` | from flags and profile to a connection |
//! | `counts` | counts of measurements |
//! | `data` | checks, countries, claims |
//! | `output` | tables, JSON, CSV |
//! | `pay` | wallets, payments, offers, hires |
//! | `profile` | named servers and the keys of their agents |
//! | `transport` | how requests are made |
//! | `watch` | incidents and checks as they change |

mod agent;
mod ask;
mod counts;
mod data;
mod output;
mod pay;
mod profile;
mod transport;
mod watch;

pub use agent::run as agent;
pub use counts::aggregate;
pub use data::{check, claim, country};
pub use output::clean;
pub use pay::run as pay;
pub use profile::run as profile;
pub use watch::run as watch;
