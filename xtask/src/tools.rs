//! The pinned tools of the Worker, installed from the package registries into ignored folders of the checkout.
//!
//! From the Cargo registry into `tools/`: worker-build, and the wasm-bindgen command (a small package of ours over the
//! library, see `xtask/wasm-bindgen`). From npm into `node_modules`: esbuild, workerd, and apart from them
//! wrangler. No install script runs. Debug builds of the two Rust tools: they compile in half the time and the bundle
//! they produce is the same.

use std::env::consts::{ARCH, OS};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::project::{cargo, fingerprint, root, write};
use crate::run::{Result, run};

/// Keep equal to the build command of `wrangler.toml`.
pub const WORKER_BUILD: &str = "worker-build@0.8.7";

pub fn worker_build() -> Result<PathBuf> {
    let binary = root().join("tools/bin/worker-build");
    install("worker-build", WORKER_BUILD, &binary, || {
        run(
            "install worker-build",
            cargo()
                .args(["install", "--quiet", "--debug", WORKER_BUILD, "--locked", "--root", "tools"])
                .env("CARGO_PROFILE_DEV_DEBUG", "0"),
        )
        .map_err(|error| format!("{error}; its TLS library needs OpenSSL's headers (libssl-dev) and pkg-config"))
    })?;
    Ok(binary)
}

pub fn wasm_bindgen() -> Result<PathBuf> {
    let binary = root().join("tools/bin/wasm-bindgen");
    let inputs = fingerprint(&[root().join("xtask/wasm-bindgen")], "")?;
    install("wasm-bindgen", &inputs, &binary, || {
        run(
            "install wasm-bindgen",
            cargo()
                .args(["install", "--quiet", "--path", "xtask/wasm-bindgen", "--locked", "--root", "tools", "--force"])
                .args(["--target-dir", "target/tools"]),
        )
    })?;
    Ok(binary)
}

pub fn esbuild() -> Result<PathBuf> {
    Ok(npm("edge-worker/tools")?.join(format!("@esbuild/{}-{}/bin/esbuild", npm_os(), npm_arch("x64"))))
}

pub fn workerd() -> Result<PathBuf> {
    Ok(npm("edge-worker/tools")?.join(format!("@cloudflare/workerd-{}-{}/bin/workerd", npm_os(), npm_arch("64"))))
}

pub fn wrangler() -> Result<PathBuf> {
    Ok(npm("edge-worker/deploy-check")?.join("wrangler/bin/wrangler.js"))
}

/// Installs exactly what the lock file of `folder` names, once; returns its `node_modules`.
fn npm(folder: &str) -> Result<PathBuf> {
    let folder = root().join(folder);
    let modules = folder.join("node_modules");
    let lock = fingerprint(&[folder.join("package-lock.json")], "")?;
    install(&format!("npm-{}", name_of(&folder)), &lock, &modules, || {
        run(
            &format!("npm ci in {}", folder.display()),
            Command::new("npm")
                .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
                // Standard output of `edge serve` carries the ready line and nothing else.
                .stdout(std::io::stderr())
                .current_dir(&folder),
        )
    })?;
    Ok(modules)
}

/// Runs `action` unless `result` exists and was made from the same `version`.
fn install(name: &str, version: &str, result: &Path, action: impl FnOnce() -> Result<()>) -> Result<()> {
    let stamp = root().join("tools/installed").join(name);
    if result.exists() && std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == version) {
        return Ok(());
    }
    action()?;
    write(&stamp, version)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn npm_os() -> &'static str {
    if OS == "macos" { "darwin" } else { OS }
}

fn npm_arch(x86_64: &'static str) -> &'static str {
    if ARCH == "x86_64" { x86_64 } else { "arm64" }
}
