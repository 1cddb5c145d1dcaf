//! The pinned tools of the Worker, installed from package registries into ignored folders of the checkout.
//!
//! The Cargo registry provides worker-build (see `xtask/worker-build`) and the wasm-bindgen command (a small package of
//! this project over the library, see `xtask/wasm-bindgen`), both in `tools/`. npm provides esbuild and workerd, and
//! separately wrangler and the libraries of `tests/interop`, `tests/mcp`, `tests/clients` and `tests/pages`, all in
//! `node_modules`. No install script runs. The two Rust tools are debug builds: they compile in half the time and make the
//! same bundle.

use std::env::consts::{ARCH, OS};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::debian;
use crate::project::{cargo, copy_folder, fingerprint, forget, read, read_text, root, write};
use crate::run::{Result, is_installed, notice, output, tool};

/// Keep equal to the build command of `wrangler.toml` and to `xtask/worker-build/Cargo.toml`.
pub const WORKER_BUILD: &str = "worker-build@0.8.7";

/// The target for wasm.
pub const WASM: &str = "wasm32-unknown-unknown";

/// Installs the target that the Worker is compiled for. rustup reads it from `rust-toolchain.toml` only when it
/// installs the whole toolchain, so with an existing toolchain the target may be missing.
pub fn wasm_target() -> Result<()> {
    let sysroot = output("rustc", Command::new("rustc").args(["--print", "sysroot"]).current_dir(root()))?;
    let library = format!("lib/rustlib/{WASM}");
    if Path::new(String::from_utf8_lossy(&sysroot).trim()).join(library).exists() {
        return Ok(());
    }
    tool("install the wasm target", Command::new("rustup").args(["target", "add", WASM]).current_dir(root()))
}

/// Compiles the published worker-build without the parts that only its downloads and its second program use (two HTTP
/// clients, three TLS libraries, archives, the headers of OpenSSL). It downloads nothing when it is given the tools,
/// and these parts are three quarters of the code to compile.
pub fn worker_build() -> Result<PathBuf> {
    let binary = root().join("tools/offline/worker-build");
    let inputs = fingerprint(&[root().join("xtask/worker-build")], "")?;
    install("worker-build", &inputs, &binary, || {
        let copy = root().join("target/tools/worker-build");
        copy_folder(&published_source()?, &copy)?;
        let manifest = copy.join("Cargo.toml");
        write(&manifest, without_downloads(&read_text(&manifest)?)?)?;
        // Its own lock file without the packages that are no longer needed; `--locked` would refuse those too.
        tool(
            "build worker-build",
            cargo()
                .args(["build", "--quiet", "--bin", "worker-build", "--target-dir", "target/tools", "--manifest-path"])
                .arg(&manifest)
                .env("CARGO_PROFILE_DEV_DEBUG", "0"),
        )?;
        write(&binary, read(&root().join("target/tools/debug/worker-build"))?)?;
        fs::set_permissions(&binary, Permissions::from_mode(0o755)).map_err(|error| error.to_string())
    })?;
    Ok(binary)
}

/// The manifest of worker-build as a workspace of its own, without the parts that only downloads and `worker-codegen`
/// need.
fn without_downloads(manifest: &str) -> Result<String> {
    /// Tables that are removed. The types of the HTTP client stay, because the code names them.
    const GONE: [&str; 3] =
        ["[dependencies.binary-install]", "[dependencies.worker-codegen]", "[[bin]]\nname = \"worker-codegen\""];
    const CLIENT: &str = "[dependencies.ureq]\nversion = \"3.1\"\n";
    let mut missing: Vec<&str> = GONE.into_iter().chain([CLIENT]).collect();
    let mut kept = Vec::new();
    for table in manifest.split("\n\n") {
        let known = missing.iter().position(|head| table.starts_with(head)).map(|at| missing.swap_remove(at));
        match known {
            Some(CLIENT) => {
                kept.push(format!("{CLIENT}default-features = false\nfeatures = [\"gzip\", \"json\", \"_tls\"]"))
            }
            Some(_) => {}
            None => kept.push(table.to_owned()),
        }
    }
    match missing.as_slice() {
        [] => Ok(kept.join("\n\n") + "\n[workspace]\n"),
        missing => Err(format!("the manifest of {WORKER_BUILD} has no {}: look at it again", missing.join(", "))),
    }
}

/// The folder into which cargo unpacked [`WORKER_BUILD`], beside the packages that it needs.
fn published_source() -> Result<PathBuf> {
    let arguments = ["metadata", "--format-version=1", "--locked", "--manifest-path", "xtask/worker-build/Cargo.toml"];
    let metadata: Value =
        serde_json::from_slice(&output("cargo metadata", cargo().args(arguments))?).map_err(|e| e.to_string())?;
    let packages = metadata.get("packages").and_then(Value::as_array).ok_or("cargo metadata has no packages")?;
    let needed = packages.iter().find(|package| package.get("name").is_some_and(|name| name == "worker-codegen"));
    needed
        .and_then(|package| package.get("manifest_path")?.as_str())
        .and_then(|manifest| Some(Path::new(manifest).parent()?.with_file_name(WORKER_BUILD.replace('@', "-"))))
        .ok_or_else(|| "cargo metadata does not name worker-codegen".into())
}

pub fn wasm_bindgen() -> Result<PathBuf> {
    let binary = root().join("tools/bin/wasm-bindgen");
    let inputs = fingerprint(&[root().join("xtask/wasm-bindgen")], "")?;
    install("wasm-bindgen", &inputs, &binary, || {
        tool(
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

/// Installs the libraries for the agents of `tests/interop`.
pub fn interop() -> Result<PathBuf> {
    npm("tests/interop")
}

/// Installs the clients of `tests/mcp`.
pub fn mcp() -> Result<PathBuf> {
    npm("tests/mcp")
}

/// Installs what drives the browser of `tests/pages`.
pub fn pages() -> Result<PathBuf> {
    npm("tests/pages")
}

/// Installs what generates clients of the interface and compiles them (`tests/clients`): npm packages, Python packages in
/// an environment of their own, and the library of the client in Go. Where Python or Java is missing, the tests of
/// generated clients are skipped.
pub fn clients() -> Result<()> {
    npm("tests/clients")?;
    for (program, argument) in [("python3", "--version"), ("java", "-version")] {
        if !is_installed(program, argument) {
            notice(&format!("{program} is missing: generated clients are not tested"));
            return Ok(());
        }
    }
    let wanted = root().join("tests/clients/requirements.txt");
    let environment = root().join("tools/python");
    install("python", &fingerprint(std::slice::from_ref(&wanted), "")?, &environment, || {
        python_environment(&environment, &wanted)
    })?;
    go_library()
}

/// Installs maturin, which makes the Python package of the client library; returns the program.
pub fn maturin() -> Result<PathBuf> {
    let wanted = root().join("client/python/requirements.txt");
    let environment = root().join("tools/maturin");
    install("maturin", &fingerprint(std::slice::from_ref(&wanted), "")?, &environment, || {
        python_environment(&environment, &wanted)
    })?;
    Ok(environment.join("bin/maturin"))
}

/// Installs what the examples of the client library use besides it.
pub fn client_examples() -> Result<()> {
    npm("client/examples")?;
    let (wanted, packages) =
        (root().join("client/examples/requirements.txt"), root().join("target/client/python_packages"));
    if !is_installed("python3", "--version") {
        return Ok(());
    }
    install("client-examples", &fingerprint(std::slice::from_ref(&wanted), "")?, &packages, || {
        tool(
            "install Python packages",
            Command::new("python3")
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"])
                // What else this Python has is not touched, so it cannot conflict.
                .args(["--no-warn-conflicts", "--target"])
                .arg(&packages)
                .arg("--requirement")
                .arg(&wanted),
        )
    })
}

/// Makes a Python environment with the packages that a file lists.
fn python_environment(environment: &Path, wanted: &Path) -> Result<()> {
    tool("make a Python environment", Command::new("python3").args(["-m", "venv"]).arg(environment))?;
    tool(
        "install Python packages",
        Command::new(environment.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check", "--requirement"])
            .arg(wanted),
    )
}

/// The one library of a generated client in Go, from Debian. Elsewhere Go gets it from its proxy.
fn go_library() -> Result<()> {
    const PACKAGE: &str = "golang-gopkg-validator.v2-dev";
    let folder = root().join("tools/go");
    if !debian::is_here() {
        return Ok(());
    }
    let installed = install("go", PACKAGE, &folder, || {
        debian::unpack(&[PACKAGE], &folder)?;
        let manifest = folder.join("usr/share/gocode/src/gopkg.in/validator.v2/go.mod");
        write(&manifest, "module gopkg.in/validator.v2\n\ngo 1.24\n")
    });
    if let Err(error) = installed {
        notice(&format!("Go asks its proxy for its library: {error}"));
    }
    Ok(())
}

/// Installs once exactly the packages in the lock file of `folder`; returns its `node_modules`.
fn npm(folder: &str) -> Result<PathBuf> {
    let folder = root().join(folder);
    let modules = folder.join("node_modules");
    let lock = fingerprint(&[folder.join("package-lock.json")], "")?;
    install(&format!("npm-{}", name_of(&folder)), &lock, &modules, || {
        tool(
            &format!("npm ci in {}", folder.display()),
            Command::new("npm")
                .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
                // The standard output of `edge serve` must have only the ready line.
                .stdout(std::io::stderr())
                .current_dir(&folder),
        )
    })?;
    Ok(modules)
}

/// Runs `action` unless `result` exists and was made from the same `version`.
pub fn install(name: &str, version: &str, result: &Path, action: impl FnOnce() -> Result<()>) -> Result<()> {
    let stamp = root().join("tools/installed").join(name);
    if result.exists() && std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == version) {
        return Ok(());
    }
    // An interrupted installation must not look like the one before it.
    forget(&stamp)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_manifest_of_worker_build_is_refused_and_not_compiled_half() {
        let table = |name: &str, rest: &str| format!("[dependencies.{name}]\n{rest}");
        let published = [
            "[package]\nname = \"worker-build\"".to_owned(),
            "[[bin]]\nname = \"worker-build\"\npath = \"src/main.rs\"".to_owned(),
            "[[bin]]\nname = \"worker-codegen\"\npath = \"src/bin/worker-codegen.rs\"".to_owned(),
            table("binary-install", "version = \"0.4.1\""),
            table("ureq", "version = \"3.1\"\nfeatures = [\n    \"gzip\",\n    \"native-tls\",\n]"),
            table("worker-codegen", "version = \"0.2.0\"\n"),
        ];
        let without = without_downloads(&published.join("\n\n")).unwrap();
        assert!(!without.contains("codegen") && !without.contains("binary-install") && !without.contains("native-tls"));
        assert!(without.contains("name = \"worker-build\"\npath") && without.ends_with("\n[workspace]\n"), "{without}");
        for gone in 2..published.len() {
            let mut other = published.to_vec();
            other.remove(gone);
            assert!(without_downloads(&other.join("\n\n")).is_err(), "{gone}");
        }
    }
}
