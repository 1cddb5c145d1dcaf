//! `cargo xtask edge build`: makes the bundle that is deployed and tested, in `build/`.
//!
//! It takes the same steps as the build command of `wrangler.toml`, with every tool from a package registry. A build
//! from unchanged inputs is skipped. It uses `--no-opt`, because wasm-opt makes the gzip of the bundle only 4 %
//! smaller, for 100 MB of tools.

use std::path::PathBuf;
use std::process::Command;

use crate::edge::size;
use crate::project::{fingerprint, forget, read, root, write};
use crate::run::{Result, tool};
use crate::tools;

/// The modules of the bundle; the first is the main one.
pub const MODULES: [&str; 3] = ["guard.mjs", "index.js", "index_bg.wasm"];

/// The kind of bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bundle {
    /// The bundle that is deployed.
    Worker,
    /// The same bundle, with routes that test the runtime itself.
    TestRoutes,
}

impl Bundle {
    fn name(self) -> &'static str {
        match self {
            Bundle::Worker => "build",
            Bundle::TestRoutes => "build-test-routes",
        }
    }

    /// The profile of `Cargo.toml` for compiling it.
    fn profile(self) -> &'static str {
        match self {
            Bundle::Worker => "edge",
            Bundle::TestRoutes => "test-routes",
        }
    }

    pub fn folder(self) -> PathBuf {
        root().join(self.name())
    }
}

/// Builds when needed and prints the size. Fails above the limit.
pub fn build() -> Result<()> {
    ensure(Bundle::Worker)?;
    size::size()
}

/// Builds the bundle, unless it was made from the present inputs.
pub fn ensure(bundle: Bundle) -> Result<()> {
    let inputs = inputs()?;
    let stamp = bundle.folder().join("inputs");
    let complete = MODULES.iter().all(|module| bundle.folder().join(module).exists());
    if complete && std::fs::read_to_string(&stamp).is_ok_and(|built| built == inputs) {
        return Ok(());
    }
    // An interrupted build may leave modules of both states. Without a stamp, they count as missing.
    forget(&stamp)?;
    tools::wasm_target()?;
    let mut command = Command::new(tools::worker_build()?);
    command
        .args(["--profile", bundle.profile(), "--no-opt", "--out-dir", &format!("../{}", bundle.name())])
        .current_dir(root().join("edge-worker"))
        .env("WASM_BINDGEN_BIN", tools::wasm_bindgen()?)
        .env("ESBUILD_BIN", tools::esbuild()?);
    if bundle == Bundle::TestRoutes {
        command.args(["--", "--features", "test-routes"]);
    }
    tool(bundle.name(), &mut command)?;
    write(&bundle.folder().join("guard.mjs"), read(&root().join("edge-worker/guard.mjs"))?)?;
    write(&stamp, inputs)
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
        "xtask/worker-build",
    ];
    fingerprint(&paths.map(|path| root().join(path)), &std::env::var("RUSTFLAGS").unwrap_or_default())
}
