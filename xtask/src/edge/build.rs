//! `cargo xtask edge build`: the bundle that is deployed and tested, in `build/`.
//!
//! The same steps as the build command of `wrangler.toml`, with every tool taken from a package registry. A build from
//! unchanged inputs is skipped. `--no-opt`: wasm-opt makes the bundle 4 % smaller as gzip for 100 MB of tools.

use std::path::PathBuf;
use std::process::Command;

use crate::edge::size;
use crate::project::{fingerprint, forget, read, root, write};
use crate::run::{Result, tool};
use crate::tools;

/// The modules of the bundle; the first is the main one.
pub const MODULES: [&str; 3] = ["guard.mjs", "index.js", "index_bg.wasm"];

/// What is bundled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bundle {
    /// What is deployed.
    Worker,
    /// The same with routes that test the runtime itself.
    Probe,
}

impl Bundle {
    fn name(self) -> &'static str {
        match self {
            Bundle::Worker => "build",
            Bundle::Probe => "build-probe",
        }
    }

    /// The profile of `Cargo.toml` that it is compiled with.
    fn profile(self) -> &'static str {
        match self {
            Bundle::Worker => "edge",
            Bundle::Probe => "probe",
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

/// Builds unless the bundle was made from the present inputs.
pub fn ensure(bundle: Bundle) -> Result<()> {
    let inputs = inputs()?;
    let stamp = bundle.folder().join("inputs");
    let complete = MODULES.iter().all(|module| bundle.folder().join(module).exists());
    if complete && std::fs::read_to_string(&stamp).is_ok_and(|built| built == inputs) {
        return Ok(());
    }
    // A build that is interrupted leaves modules of either state: without a stamp they count as none.
    forget(&stamp)?;
    tools::wasm_target()?;
    let mut command = Command::new(tools::worker_build()?);
    command
        .args(["--profile", bundle.profile(), "--no-opt", "--out-dir", &format!("../{}", bundle.name())])
        .current_dir(root().join("edge-worker"))
        .env("WASM_BINDGEN_BIN", tools::wasm_bindgen()?)
        .env("ESBUILD_BIN", tools::esbuild()?);
    if bundle == Bundle::Probe {
        command.args(["--", "--features", "probe"]);
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
