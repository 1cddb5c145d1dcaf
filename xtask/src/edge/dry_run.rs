//! `cargo xtask edge dry-run`: wrangler packages the Worker as for a deployment, offline and without an account.

use std::process::Command;

use crate::edge::build;
use crate::project::root;
use crate::run::{Result, run};
use crate::tools;

pub fn dry_run() -> Result<()> {
    build::build()?;
    // Not in `build`: a second run would find the module of the first there.
    let mut command = Command::new("node");
    command.arg(tools::wrangler()?).args(["deploy", "--dry-run", "--outdir", "target/deploy"]).current_dir(root());
    // wrangler runs the build command of wrangler.toml itself: give it the tools that are already here. `cargo xtask check`
    // holds its worker-build to the version of ours, which compiles for minutes.
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
