//! The packages of the workspace, as `Cargo.lock` names them.

use std::collections::BTreeSet;

use serde::Deserialize;

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

/// Every package, including those of the workspace.
pub fn packages() -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let metadata = output("cargo metadata", cargo().args(["metadata", "--format-version=1", "--locked"]))?;
    let metadata: Metadata = serde_json::from_slice(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    Ok(metadata.packages)
}

/// Names of the tests in `tests` folders of the workspace, each once.
pub fn test_programs() -> Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Member>,
    }
    #[derive(Deserialize)]
    struct Member {
        targets: Vec<Target>,
    }
    #[derive(Deserialize)]
    struct Target {
        kind: Vec<String>,
        name: String,
    }
    let metadata = output("cargo metadata", cargo().args(["metadata", "--format-version=1", "--locked", "--no-deps"]))?;
    let metadata: Metadata = serde_json::from_slice(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let targets = metadata.packages.into_iter().flat_map(|member| member.targets);
    Ok(targets.filter(|target| target.kind == ["test"]).map(|target| target.name).collect())
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
