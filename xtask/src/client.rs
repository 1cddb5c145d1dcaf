//! `cargo xtask client`: the packages of the client library for npm and Python, in `target/client`. Tests run against the
//! same npm package, and against a wheel that is not optimised, which takes half of the time.

use std::path::PathBuf;
use std::process::Command;

use crate::project::{cargo, copy_folder, read, root, write};
use crate::run::{Result, is_installed, notice, run, tool};
use crate::tools::{self, WASM};

/// Largest module, in bytes of brotli: what a page loads before its first message (decision javascript-package-size).
const LIMIT: usize = 195_000;

/// Hash functions as loops: what agents hash is short.
const SMALL_HASHES: &str = "target.wasm32-unknown-unknown.rustflags=['--cfg', 'sha2_backend_soft=\"compact\"']";

/// How a wheel is built: for users, or for tests.
#[derive(Clone, Copy)]
pub enum Wheel {
    Released,
    Tested,
}

impl Wheel {
    /// Each in a folder of its own, so that nobody takes one for the other.
    pub fn folder(self) -> PathBuf {
        match self {
            Wheel::Released => folder("python"),
            Wheel::Tested => folder("python-tests"),
        }
    }

    fn profile(self) -> &'static str {
        match self {
            Wheel::Released => "release",
            Wheel::Tested => "dev",
        }
    }
}

fn folder(name: &str) -> PathBuf {
    root().join("target/client").join(name)
}

/// Both packages, and what the examples use besides them.
pub fn client(wheel: Wheel) -> Result<()> {
    js()?;
    python(wheel)?;
    tools::client_examples()
}

/// The npm package, with the size of its module. Fails above the limit.
pub fn js() -> Result<()> {
    tools::wasm_target()?;
    run(
        "client for JavaScript",
        cargo()
            .args(["build", "--quiet", "--locked", "--profile", "client", "--target", WASM, "--config", SMALL_HASHES])
            .args(["--package", "heliograph-client-js"]),
    )?;
    let (package, built) = (folder("js"), root().join(format!("target/{WASM}/client/heliograph_client_js.wasm")));
    tool(
        "wasm-bindgen",
        Command::new(tools::wasm_bindgen()?)
            .arg(&built)
            .args([
                "--target",
                "web",
                "--no-typescript",
                "--remove-name-section",
                "--out-name",
                "heliograph",
                "--out-dir",
            ])
            .arg(&package),
    )?;
    copy_folder(&root().join("client/js/package"), &package)?;
    write(&package.join("README.md"), read(&root().join("client/README.md"))?)?;
    let module = read(&package.join("heliograph_bg.wasm"))?;
    let compressed = brotli(&module)?;
    eprintln!("{:>14} {:>9} bytes {compressed:>9} brotli, limit {LIMIT}", "client", module.len());
    if compressed > LIMIT {
        return Err(format!("the client has {compressed} bytes of brotli, {} above the limit", compressed - LIMIT));
    }
    Ok(())
}

fn brotli(bytes: &[u8]) -> Result<usize> {
    let (mut reader, mut compressed) = (bytes, Vec::new());
    let params = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 24, ..Default::default() };
    brotli::BrotliCompress(&mut reader, &mut compressed, &params).map_err(|error| error.to_string())?;
    Ok(compressed.len())
}

/// The wheel for Python, of version 3.10 and later. Without Python it is left out.
pub fn python(wheel: Wheel) -> Result<()> {
    if !is_installed("python3", "--version") {
        notice("python3 is missing: the client for Python is neither built nor tested");
        return Ok(());
    }
    run(
        "client for Python",
        Command::new(tools::maturin()?)
            .args(["build", "--quiet", "--locked", "--profile", wheel.profile()])
            .args(["--manifest-path", "client/python/Cargo.toml", "--target-dir", "target/client-python", "--out"])
            .arg(wheel.folder())
            .current_dir(root()),
    )
}
