//! `cargo xtask check`: everything that can be checked without running tests.

use crate::project::{cargo, read_text, root};
use crate::run::{Result, run, step};
use crate::tools::{self, WASM};
use crate::{advisories, edge, licences, packages, yanked};

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
        "clippy, Worker, core and client as wasm",
        cargo()
            .args(["clippy", "--quiet", "--locked", "--package", "heliograph-edge"])
            .args(["--package", "heliograph-client", "--package", "heliograph-client-js", "--target", WASM])
            .args(["--", "-D", "warnings"]),
    )?;
    let (packages, policy) = (packages::packages()?, read_text(&root().join("deny.toml"))?);
    step("licences", || licences::licences(&packages, &policy))?;
    let ignored: Vec<&str> = licences::list(&policy, "ignore")?.into_iter().collect();
    step("advisories", || advisories::check(&packages, &ignored))?;
    step("yanked versions", || yanked::check(&packages))?;
    step("wrangler.toml", edge::wrangler_toml::check)
}
