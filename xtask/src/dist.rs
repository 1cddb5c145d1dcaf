//! `cargo xtask dist`: what operators get, in `target/dist`: the program, a package for Debian, the list of what is in
//! it, and checksums.

use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::project::{cargo, read, read_text, root, write};
use crate::run::{Result, notice, output, run, tool};

/// After the files are there. The service is not started: its settings come first.
const AFTER: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = configure ]; then
    getent passwd heliograph > /dev/null ||
        useradd --system --user-group --home-dir /var/lib/heliograph --no-create-home --shell /usr/sbin/nologin heliograph
    # The settings may have keys.
    chown root:heliograph /etc/heliograph/heliograph.toml
    chmod 0640 /etc/heliograph/heliograph.toml
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
        systemctl try-restart heliograph.service
    fi
    if [ -z \"$2\" ]; then
        echo 'Edit /etc/heliograph/heliograph.toml, then run: systemctl enable --now heliograph'
    fi
fi
";

const BEFORE_REMOVAL: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now heliograph.service heliograph.socket
fi
";

pub fn dist(options: &[&str]) -> Result<()> {
    let profile = match options {
        [] => "release",
        ["--profile", name] => name,
        other => return Err(format!("dist takes --profile NAME, not {}", other.join(" "))),
    };
    run("build", cargo().args(["build", "--locked", "--package", "heliograph", "--profile", profile]))?;
    let folder = if profile == "dev" { "debug" } else { profile };
    let built = root().join("target").join(folder).join("heliograph");
    let dist = root().join("target/dist");
    // What an earlier version left would get into the checksums.
    if dist.exists() {
        fs::remove_dir_all(&dist).map_err(|error| format!("cannot remove {}: {error}", dist.display()))?;
    }
    let program = dist.join("heliograph");
    let bytes = read(&built)?;
    executable(&program, &bytes)?;
    write(&dist.join("heliograph.spdx.json"), format!("{:#}\n", contents()?))?;
    let mut made = vec!["heliograph".to_owned(), "heliograph.spdx.json".to_owned()];
    match package(&dist, &program, glibc(&bytes)) {
        Ok(name) => made.push(name),
        Err(error) => notice(&format!("no package for Debian: {error}")),
    }
    let sums = output("sha256sum", Command::new("sha256sum").args(&made).current_dir(&dist))?;
    write(&dist.join("SHA256SUMS"), sums)?;
    eprintln!("--- {}: {}, SHA256SUMS", dist.display(), made.join(", "));
    Ok(())
}

fn executable(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    write(path, content)?;
    fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(|error| format!("{}: {error}", path.display()))
}

/// Makes the package; returns the name of its file.
fn package(dist: &Path, program: &Path, glibc: Option<(u32, u32)>) -> Result<String> {
    let architecture = match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let version = env!("CARGO_PKG_VERSION");
    let tree = dist.join("tree");
    let settings = output("config init", Command::new(program).args(["config", "init"]))?;
    let guide = read_text(&root().join("docs/operate.md"))?;
    let mut units = guide.split("```ini\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    let missing = || "docs/operate.md shows no unit".to_owned();
    let (service, socket) = (units.next().ok_or_else(missing)?, units.next().ok_or_else(missing)?);
    executable(&tree.join("usr/bin/heliograph"), read(program)?)?;
    write(&tree.join("lib/systemd/system/heliograph.service"), installed(service)?)?;
    write(&tree.join("lib/systemd/system/heliograph.socket"), socket)?;
    write(&tree.join("etc/heliograph/heliograph.toml"), settings)?;
    write(&tree.join("usr/share/doc/heliograph/copyright"), read(&root().join("LICENSE"))?)?;
    write(&tree.join("usr/share/doc/heliograph/operate.md"), &guide)?;
    write(&tree.join("DEBIAN/conffiles"), "/etc/heliograph/heliograph.toml\n")?;
    executable(&tree.join("DEBIAN/postinst"), AFTER)?;
    executable(&tree.join("DEBIAN/prerm"), BEFORE_REMOVAL)?;
    let needs = glibc.map(|(major, minor)| format!("libc6 (>= {major}.{minor}), ")).unwrap_or_default();
    let control = format!(
        "Package: heliograph\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: Heliograph\nSection: net\n\
         Priority: optional\nDepends: {needs}passwd\nDescription: censorship intelligence and an encrypted relay for agents\n \
         One server on one data file. The settings are in /etc/heliograph/heliograph.toml.\n"
    );
    write(&tree.join("DEBIAN/control"), control)?;
    let name = format!("heliograph_{version}_{architecture}.deb");
    let mut build = Command::new("dpkg-deb");
    tool("dpkg-deb", build.args(["--build", "--root-owner-group", "tree", &name]).current_dir(dist))?;
    fs::remove_dir_all(&tree).map_err(|error| error.to_string())?;
    Ok(name)
}

/// The unit of the guide with the places of a package, and with the user that it makes: files keep their owner when
/// backups are put in place by hand.
fn installed(unit: &str) -> Result<String> {
    let mut unit = unit.to_owned();
    for (from, to) in [
        ("/usr/local/bin/heliograph", "/usr/bin/heliograph"),
        ("/etc/heliograph.toml", "/etc/heliograph/heliograph.toml"),
        ("DynamicUser=yes", "User=heliograph"),
    ] {
        if !unit.contains(from) {
            return Err(format!("the unit in docs/operate.md has no {from}"));
        }
        unit = unit.replace(from, to);
    }
    Ok(unit)
}

/// The newest version of the C library that the program asks for; `None` when it asks for none.
fn glibc(program: &[u8]) -> Option<(u32, u32)> {
    const MARK: &[u8] = b"GLIBC_";
    let version = |at: usize| {
        let rest = program.get(at + MARK.len()..)?;
        let end = rest.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
        let mut numbers = std::str::from_utf8(rest.get(..end)?).ok()?.split('.');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    };
    let places = program.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
    places.filter_map(|(at, _)| version(at)).max()
}

/// The packages that the program is made of, in the form of SPDX 2.3.
fn contents() -> Result<Value> {
    let tree = ["tree", "--locked", "--package", "heliograph", "--edges", "normal", "--prefix", "none"];
    let listed = output("cargo tree", cargo().args(tree).args(["--format", "{p}|{l}"]))?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    // A package that was shown before has a mark behind it.
    let lines: BTreeSet<&str> = listed.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let packages: Vec<Value> = lines.into_iter().filter_map(described).collect();
    let all: Vec<&Value> = packages.iter().map(|package| &package["SPDXID"]).collect();
    let name = format!("heliograph-{}", env!("CARGO_PKG_VERSION"));
    Ok(json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": format!("urn:heliograph:{name}"),
        "documentDescribes": all,
        "creationInfo": { "creators": ["Tool: cargo-xtask-dist"] },
        "packages": packages,
    }))
}

/// A line such as `serde v1.0.228|MIT OR Apache-2.0`.
fn described(line: &str) -> Option<Value> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split_whitespace();
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    let own = package.contains('/');
    let source = match own {
        true => "NOASSERTION".to_owned(),
        false => format!("https://crates.io/api/v1/crates/{name}/{version}/download"),
    };
    Some(json!({
        "SPDXID": format!("SPDXRef-{name}-{version}").replace(['_', '+'], "-"),
        "name": name,
        "versionInfo": version,
        "downloadLocation": source,
        "licenseDeclared": licence.replace('/', " OR "),
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": format!("pkg:cargo/{name}@{version}"),
        }],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_the_c_library_counts() {
        assert_eq!(glibc(b"\0GLIBC_2.17\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE\0"), Some((2, 34)));
        assert_eq!(glibc(b"static"), None);
    }

    #[test]
    fn the_unit_of_the_guide_fits_a_package() {
        let guide = read_text(&root().join("docs/operate.md")).unwrap();
        let unit = installed(guide.split("```ini\n").nth(1).unwrap().split_once("```").unwrap().0).unwrap();
        assert!(
            unit.contains("ExecStart=/usr/bin/heliograph serve ") && unit.contains("\nUser=heliograph\n"),
            "{unit}"
        );
        assert!(installed("[Service]\n").is_err());
    }

    #[test]
    fn a_package_is_described_with_its_version_licence_and_source() {
        let package = described("serde v1.0.228|MIT OR Apache-2.0").unwrap();
        assert_eq!((package["name"].as_str(), package["versionInfo"].as_str()), (Some("serde"), Some("1.0.228")));
        assert_eq!(package["externalRefs"][0]["referenceLocator"], "pkg:cargo/serde@1.0.228");
        assert_eq!(
            described("heliograph v0.1.0 (/x/native-server)|Apache-2.0").unwrap()["downloadLocation"],
            "NOASSERTION"
        );
    }
}
