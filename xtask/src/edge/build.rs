//! `cargo xtask edge build`: the bundle that is deployed and tested, in `build/`.
//!
//! The same steps as the build command of `wrangler.toml`, with every tool taken from a package registry. A build from
//! unchanged inputs is skipped.

use std::path::PathBuf;
use std::process::Command;

use crate::edge::size;
use crate::project::{fingerprint, read, root, write};
use crate::run::{Result, run};
use crate::tools;

/// The modules of the bundle; the first is the main one.
pub const MODULES: [&str; 3] = ["guard.mjs", "index.js", "index_bg.wasm"];

pub fn folder() -> PathBuf {
    root().join("build")
}

/// Builds when needed and prints the size.
pub fn build() -> Result<()> {
    if ensure()? { Ok(()) } else { size::size() }
}

/// Builds and prints the size unless the bundle was made from the present inputs; says whether it was built. Fails, and
/// leaves the bundle unmarked, above the size limit.
pub fn ensure() -> Result<bool> {
    let inputs = inputs()?;
    let stamp = folder().join("inputs");
    let complete = MODULES.iter().all(|module| folder().join(module).exists());
    if complete && std::fs::read_to_string(&stamp).is_ok_and(|built| built == inputs) {
        return Ok(false);
    }
    run(
        "bundle",
        Command::new(tools::worker_build()?)
            .args(["--profile", "edge", "--out-dir", "../build"])
            .current_dir(root().join("edge-worker"))
            .env("WASM_BINDGEN_BIN", tools::wasm_bindgen()?)
            .env("WASM_OPT_BIN", tools::wasm_opt()?)
            .env("ESBUILD_BIN", tools::esbuild()?),
    )?;
    write(&folder().join("guard.mjs"), read(&root().join("edge-worker/guard.mjs"))?)?;
    size::size()?;
    write(&stamp, inputs)?;
    Ok(true)
}

fn inputs() -> Result<String> {
    let paths = [
        "Cargo.lock",
        "Cargo.toml",
        "rust-toolchain.toml",
        "core",
        "edge-worker/Cargo.toml",
        "edge-worker/guard.mjs",
        "edge-worker/src",
        "edge-worker/tools/package-lock.json",
        "xtask/src/tools.rs",
        "xtask/wasm-bindgen",
    ];
    fingerprint(&paths.map(|path| root().join(path)), &std::env::var("RUSTFLAGS").unwrap_or_default())
}
