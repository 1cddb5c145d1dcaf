//! `cargo xtask edge dry-run`: has wrangler package the Worker as for a deployment, offline and without an account.

use std::process::Command;

use crate::edge::build;
use crate::project::root;
use crate::run::{Result, run};
use crate::tools;

pub fn dry_run() -> Result<()> {
    build::build()?;
    // The output is not in `build`, because a second run would find the module of the first run there.
    let mut command = Command::new("node");
    command.arg(tools::wrangler()?).args(["deploy", "--dry-run", "--outdir", "target/deploy"]).current_dir(root());
    // wrangler runs the build command of wrangler.toml itself, so it gets the tools that are already here. `cargo xtask
    // check` compares the worker-build of that command with the project's version, which takes minutes to compile.
    command
        .env("WORKER_BUILD_BIN", tools::worker_build()?)
        .env("WASM_BINDGEN_BIN", tools::wasm_bindgen()?)
        .env("ESBUILD_BIN", tools::esbuild()?);
    for (name, value) in [
        ("WRANGLER_SEND_METRICS", "false"),
        ("WRANGLER_SEND_ERROR_REPORTS", "false"),
        ("WRANGLER_HIDE_BANNER", "true"),
        ("CLOUDFLARE_CF_FETCH_ENABLED", "false"),
        ("CI", "1"),
    ] {
        command.env(name, value);
    }
    run("wrangler deploy --dry-run", &mut command)
}
