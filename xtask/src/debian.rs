//! Packages of Debian, unpacked into a folder. Nothing is installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{Result, is_installed, tool};

/// Whether there is what downloads and unpacks packages.
pub fn is_here() -> bool {
    ["apt-get", "dpkg-deb"].into_iter().all(|program| is_installed(program, "--version"))
}

/// Unpacks packages into a folder, as Debian would install them at `/`.
pub fn unpack(packages: &[&str], folder: &Path) -> Result<()> {
    let downloads = folder.join("packages");
    fs::create_dir_all(&downloads).map_err(|error| error.to_string())?;
    tool(
        "apt-get download",
        Command::new("apt-get").args(["download", "--quiet"]).args(packages).current_dir(&downloads),
    )?;
    let files = fs::read_dir(&downloads).map_err(|error| error.to_string())?;
    for file in files.flatten() {
        tool("unpack", Command::new("dpkg-deb").arg("--extract").arg(file.path()).arg(folder))?;
    }
    Ok(())
}
