//! The Worker: bundling, size, running it under workerd, packaging for deployment.

pub mod build;
pub mod dry_run;
pub mod serve;
pub mod size;
pub mod start;
pub mod state;
pub mod steps;
pub mod workerd;
pub mod wrangler_toml;
