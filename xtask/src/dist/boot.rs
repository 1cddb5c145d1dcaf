//! `cargo xtask dist --boot`: installs the package in a small Debian that systemd-nspawn boots, and does there what
//! `docs/operate.md` says. Needs root, mmdebstrap and systemd-nspawn; there is no network inside.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::executable;
use crate::project::{read, read_text, write};
use crate::run::{Result, is_installed, run, within};

/// How long the whole run may take; it hangs when nothing is heard of it by then.
const LIMIT: Duration = Duration::from_secs(30 * 60);

const SCRIPT: &str = include_str!("first-hour.sh");

const UNIT: &str = "\
[Unit]
Description=The first hour
After=multi-user.target

[Service]
Type=oneshot
ExecStart=/root/first-hour.sh

[Install]
WantedBy=default.target
";

/// What the script uses, and Debian's smallest system has not: an authority for certificates and Prometheus among them.
const PACKAGES: &str =
    "--include=systemd,systemd-sysv,dbus,passwd,procps,curl,openssl,ca-certificates,python3,pebble,prometheus";

/// Boots the root with this package in it; the error has what the script told.
pub fn boot(folder: &Path, package: &Path) -> Result<()> {
    for (program, from) in [("mmdebstrap", "mmdebstrap"), ("systemd-nspawn", "systemd-container")] {
        if !is_installed(program, "--version") {
            return Err(format!("{program} is not here: apt-get install {from}"));
        }
    }
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let (base, root, made_with) = (folder.join("root.tar"), folder.join("root"), folder.join("root.packages"));
    if read_text(&made_with).unwrap_or_default() != PACKAGES {
        run("root", Command::new("mmdebstrap").args(["--variant=minbase", PACKAGES, "bookworm"]).arg(&base))?;
        write(&made_with, PACKAGES)?;
    }
    if root.exists() {
        fs::remove_dir_all(&root).map_err(|error| format!("cannot remove {}: {error}", root.display()))?;
    }
    fs::create_dir_all(&root).map_err(|error| error.to_string())?;
    let mut unpack = Command::new("tar");
    unpack.arg("--extract").arg("--file").arg(&base).arg("--directory").arg(&root).arg("--exclude=./dev/*");
    run("unpack", &mut unpack)?;
    let name = package.file_name().ok_or("the package has no name")?;
    write(&root.join("root").join(name), read(package)?)?;
    write(&root.join("root/operate.md"), read(&crate::project::root().join("docs/operate.md"))?)?;
    executable(&root.join("root/first-hour.sh"), SCRIPT)?;
    write(&root.join("etc/systemd/system/first-hour.service"), UNIT)?;
    let wanted = root.join("etc/systemd/system/default.target.wants");
    fs::create_dir_all(&wanted).map_err(|error| error.to_string())?;
    std::os::unix::fs::symlink("../first-hour.service", wanted.join("first-hour.service"))
        .map_err(|error| error.to_string())?;
    let mut booting = Command::new("systemd-nspawn");
    booting.args(["--boot", "--register=no", "--keep-unit", "--private-network", "--console=pipe", "--directory"]);
    // It ends by switching itself off, whatever the script found.
    let ended = within(booting.arg(&root), LIMIT);
    let told = read_text(&root.join("root/told")).unwrap_or_default();
    eprintln!("{told}");
    match told.lines().last() {
        Some("passed") => Ok(()),
        Some(_) => Err("the first hour failed; what it told is above".to_owned()),
        None => Err(format!("the root did not boot: {}", ended.err().unwrap_or_else(|| "it told nothing".to_owned()))),
    }
}
