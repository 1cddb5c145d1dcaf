//! `cargo xtask check`: what needs no test run.

use crate::edge;
use crate::licences;
use crate::project::cargo;
use crate::run::{Result, run, step};
use crate::tools::{self, WASM};

pub fn check() -> Result<()> {
    run("formatting", cargo().args(["fmt", "--all", "--check"]))?;
    run(
        "clippy, native crates",
        cargo()
            .args(["clippy", "--quiet", "--locked", "--workspace", "--exclude", "heliograph-edge", "--all-targets"])
            .args(["--", "-D", "warnings"]),
    )?;
    tools::wasm_target()?;
    run(
        "clippy, Worker and core as wasm",
        cargo()
            .args(["clippy", "--quiet", "--locked", "--package", "heliograph-edge"])
            .args(["--target", WASM])
            .args(["--", "-D", "warnings"]),
    )?;
    step("licences", licences::licences)?;
    step("wrangler.toml", edge::wrangler_toml::check)
}
