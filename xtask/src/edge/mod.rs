//! Tasks for the Worker.
//!
//! | Module | What |
//! |---|---|
//! | [`build`] | makes the bundle |
//! | [`dry_run`] | packages the Worker as for a deployment |
//! | [`plain`] | runs the smallest Worker, to compare with |
//! | [`serve`] | runs the bundle under workerd |
//! | [`size`] | size of the bundle |
//! | [`start`] | time until the first answer |
//! | [`state`] | the folder with the state of `edge serve` |
//! | [`steps`] | CPU and memory of the Worker's events |
//! | [`workerd`] | configuration and process of workerd |
//! | [`wrangler_toml`] | settings from `wrangler.toml` |

pub mod build;
pub mod dry_run;
pub mod plain;
pub mod serve;
pub mod size;
pub mod start;
pub mod state;
pub mod steps;
pub mod workerd;
pub mod wrangler_toml;
