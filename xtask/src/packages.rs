//! The packages of the workspace, as `Cargo.lock` names them.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::project::cargo;
use crate::run::{Result, output};

/// The only registry that packages come from.
pub const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[derive(Debug, Clone, Deserialize)]
pub struct Package {
    pub name: String,
    pub version: semver::Version,
    /// An SPDX expression.
    pub license: Option<String>,
    /// `None` for packages of the workspace.
    pub source: Option<String>,
}

/// What `cargo metadata` says.
#[derive(Deserialize)]
struct Metadata<P> {
    packages: Vec<P>,
}

/// Asks Cargo about packages.
fn metadata<P: DeserializeOwned>(more: &[&str]) -> Result<Vec<P>> {
    let mut command = cargo();
    let metadata = output("cargo metadata", command.args(["metadata", "--format-version=1", "--locked"]).args(more))?;
    let metadata: Metadata<P> =
        serde_json::from_slice(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    Ok(metadata.packages)
}

/// Every package, including those of the workspace.
pub fn packages() -> Result<Vec<Package>> {
    metadata(&[])
}

/// Names of the tests in `tests` folders of the workspace, each once; those of this program are left out.
pub fn test_programs() -> Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Member {
        name: String,
        targets: Vec<Target>,
    }
    #[derive(Deserialize)]
    struct Target {
        kind: Vec<String>,
        name: String,
    }
    let members = metadata::<Member>(&["--no-deps"])?.into_iter();
    let others = members.filter(|member| member.name != env!("CARGO_PKG_NAME"));
    let tests = others.flat_map(|member| member.targets).filter(|target| target.kind == ["test"]);
    Ok(tests.map(|target| target.name).collect())
}

/// A package of the registry, for tests.
#[cfg(test)]
pub fn package(name: &str, version: &str) -> Package {
    Package {
        name: name.to_owned(),
        version: version.parse().unwrap(),
        license: None,
        source: Some(REGISTRY.to_owned()),
    }
}
