//! `cargo xtask dist`: what operators get, in `target/dist`: the program, a package for Debian, an image for containers,
//! the list of what is in it, and checksums. The same sources and tools give the same bytes (decision
//! packages-for-operators).

mod boot;
mod build;
mod image;

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::project::{cargo, read, read_text, root, write};
use crate::run::{Result, notice, output, tool};
use build::Build;

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

/// What to build.
#[derive(Debug, PartialEq, Eq)]
struct Options<'a> {
    build: Build<'a>,
    /// A program that is built already.
    program: Option<&'a str>,
    /// Whether everything is made a second time, from another folder, and compared.
    twice: bool,
    /// Whether the package is tried in a Debian that is booted.
    boot: bool,
}

fn options<'a>(given: &[&'a str]) -> Result<Options<'a>> {
    let build = Build { profile: "release", target: None };
    let has = |flag: &str| given.contains(&flag);
    let mut options = Options { build, program: None, twice: has("--twice"), boot: has("--boot") };
    let left: Vec<&str> = given.iter().copied().filter(|word| !["--twice", "--boot"].contains(word)).collect();
    for pair in left.chunks(2) {
        match pair {
            ["--profile", name] => options.build.profile = name,
            ["--target", triple] => options.build.target = Some(triple),
            ["--program", file] => options.program = Some(file),
            other => {
                let takes = "--profile NAME, --target TRIPLE, --program FILE, --twice and --boot";
                return Err(format!("dist takes {takes}, not {}", other.join(" ")));
            }
        }
    }
    match options.program {
        Some(_) if options.twice => Err("--twice builds the program by itself, so it takes no --program".to_owned()),
        _ => Ok(options),
    }
}

pub fn dist(given: &[&str]) -> Result<()> {
    let Options { build, program, twice, boot } = options(given)?;
    let processor = build.target.map_or(std::env::consts::ARCH, |target| target.split('-').next().unwrap_or(target));
    let made = match program {
        Some(program) => pack(Path::new(program), processor)?,
        None => pack(&build.here()?, processor)?,
    };
    if twice {
        let first = sums()?;
        pack(&build.elsewhere()?, processor)?;
        same(&first, &sums()?)?;
    }
    if !boot {
        return Ok(());
    }
    let package = made.iter().find(|name| name.ends_with(".deb")).ok_or("there is no package to boot with")?;
    boot::boot(&root().join("target/boot"), &root().join("target/dist").join(package))
}

fn sums() -> Result<String> {
    read_text(&root().join("target/dist/SHA256SUMS"))
}

/// Compares the checksums of two builds.
fn same(first: &str, second: &str) -> Result<()> {
    if first != second {
        return Err(format!("the two builds differ. The first gave\n{first}and the second\n{second}"));
    }
    eprintln!("--- both builds gave the same bytes:\n{first}");
    Ok(())
}

/// Makes everything of a program that is built for a processor; returns the names of the files.
fn pack(built: &Path, processor: &str) -> Result<Vec<String>> {
    let dist = root().join("target/dist");
    // What an earlier version left would get into the checksums.
    if dist.exists() {
        fs::remove_dir_all(&dist).map_err(|error| format!("cannot remove {}: {error}", dist.display()))?;
    }
    let program = dist.join("heliograph");
    let bytes = read(built)?;
    executable(&program, &bytes)?;
    let time = time()?;
    write(&dist.join("heliograph.spdx.json"), format!("{:#}\n", contents(&time)?))?;
    let mut made = vec!["heliograph".to_owned(), "heliograph.spdx.json".to_owned()];
    let made_for = Made { dist: &dist, program: &program, architecture: architecture(processor), time: &time };
    match package(&made_for, glibc(&bytes)) {
        Ok(name) => made.push(name),
        Err(error) => notice(&format!("no package for Debian: {error}")),
    }
    let needs = glibc(&bytes).filter(|_| !runs_here(made_for.architecture));
    let imaged = match needs {
        Some(_) => Err("it loads libraries of another processor, which are not here; take a target of musl".to_owned()),
        None => image::image(&made_for),
    };
    match imaged {
        Ok(name) => made.push(name),
        Err(error) => notice(&format!("no image for containers: {error}")),
    }
    let sums = output("sha256sum", Command::new("sha256sum").args(&made).current_dir(&dist))?;
    write(&dist.join("SHA256SUMS"), sums)?;
    eprintln!("--- {}: {}, SHA256SUMS", dist.display(), made.join(", "));
    Ok(made)
}

fn executable(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    write(path, content)?;
    fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(|error| format!("{}: {error}", path.display()))
}

/// What packages are made of.
struct Made<'a> {
    dist: &'a Path,
    program: &'a Path,
    architecture: &'a str,
    /// Seconds since 1970 that all files in a package have, as text.
    time: &'a str,
}

/// The name that Debian and containers have for a processor.
fn architecture(processor: &str) -> &str {
    match processor {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The time of the last commit, or what `SOURCE_DATE_EPOCH` says (reproducible-builds.org).
fn time() -> Result<String> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(given);
    }
    let log = output("git log", Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()))?;
    Ok(String::from_utf8_lossy(&log).trim().to_owned())
}

/// Makes the package; returns the name of its file.
fn package(made: &Made<'_>, glibc: Option<(u32, u32)>) -> Result<String> {
    let Made { dist, program, architecture, time } = made;
    let version = env!("CARGO_PKG_VERSION");
    let tree = dist.join("tree");
    let guide = read_text(&root().join("docs/operate.md"))?;
    let mut units = guide.split("```ini\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    let missing = || "docs/operate.md shows no unit".to_owned();
    let (service, socket) = (units.next().ok_or_else(missing)?, units.next().ok_or_else(missing)?);
    executable(&tree.join("usr/bin/heliograph"), read(program)?)?;
    write(&tree.join("lib/systemd/system/heliograph.service"), installed(service)?)?;
    write(&tree.join("lib/systemd/system/heliograph.socket"), socket)?;
    // It has what `config init` writes, which a test of the server demands.
    write(&tree.join("etc/heliograph/heliograph.toml"), read(&root().join("docs/heliograph.toml"))?)?;
    write(&tree.join("usr/share/doc/heliograph/copyright"), read(&root().join("LICENSE"))?)?;
    documents(&tree.join("usr/share/doc/heliograph"))?;
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
    // Whatever the builder's umask is.
    tool("chmod", Command::new("chmod").args(["--recursive", "u+rwX,go+rX,go-w"]).arg(&tree))?;
    let name = format!("heliograph_{version}_{architecture}.deb");
    let mut build = Command::new("dpkg-deb");
    // The defaults of the compression are others on other systems.
    build.env("SOURCE_DATE_EPOCH", time).args(["--build", "--root-owner-group", "-Zxz", "-z6", "tree", &name]);
    tool("dpkg-deb", build.current_dir(dist))?;
    fs::remove_dir_all(&tree).map_err(|error| error.to_string())?;
    Ok(name)
}

/// Whether programs of this architecture run on this machine.
fn runs_here(architecture: &str) -> bool {
    architecture == self::architecture(std::env::consts::ARCH)
}

/// The pages for operators, and what Prometheus and Grafana take.
fn documents(to: &Path) -> Result<()> {
    let docs = root().join("docs");
    for folder in ["", "monitoring"] {
        let entries = fs::read_dir(docs.join(folder)).map_err(|error| format!("{}: {error}", docs.display()))?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()) {
            let name = path.file_name().ok_or("a page has no name")?;
            write(&to.join(folder).join(name), read(&path)?)?;
        }
    }
    Ok(())
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
fn contents(time: &str) -> Result<Value> {
    let stamp = ["--utc", "+%Y-%m-%dT%H:%M:%SZ", "--date"];
    let created = output("date", Command::new("date").args(stamp).arg(format!("@{time}")))?;
    let created = String::from_utf8_lossy(&created).trim().to_owned();
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
        "creationInfo": { "created": created, "creators": ["Tool: cargo-xtask-dist"] },
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
    fn the_words_after_dist_say_what_is_built() {
        let own = Build { profile: "release", target: None };
        assert_eq!(options(&[]).unwrap(), Options { build: own, program: None, twice: false, boot: false });
        let given =
            options(&["--target", "x86_64-unknown-linux-musl", "--boot", "--profile", "dev", "--twice"]).unwrap();
        let build = Build { profile: "dev", target: Some("x86_64-unknown-linux-musl") };
        assert_eq!(given, Options { build, program: None, twice: true, boot: true });
        assert!(options(&["--static"]).unwrap_err().contains("not --static"));
        assert!(options(&["--program", "x", "--twice"]).is_err());
    }

    #[test]
    fn two_builds_that_differ_are_told() {
        assert!(same("1  a\n2  b\n", "1  a\n2  b\n").is_ok());
        let told = same("1  a\n2  b\n", "1  a\n3  b\n").unwrap_err();
        assert!(told.contains("2  b") && told.contains("3  b"), "{told}");
        assert!(same("1  a\n2  b\n", "1  a\n").is_err());
    }

    /// Packages what stands for the program.
    #[test]
    fn the_same_bytes_come_out_twice() {
        if !crate::run::is_installed("dpkg-deb", "--version") || !crate::run::is_installed("tar", "--version") {
            println!("skipped: dpkg-deb or tar is not here");
            return;
        }
        let folder = std::env::temp_dir().join(format!("heliograph-dist-{}", std::process::id()));
        let program = folder.join("program");
        executable(&program, "#!/bin/sh\n").unwrap();
        let once = |name: &str| {
            let dist = folder.join(name);
            fs::create_dir_all(&dist).unwrap();
            let made = Made {
                dist: &dist,
                program: &program,
                architecture: architecture(std::env::consts::ARCH),
                time: "1767225600",
            };
            let names = [package(&made, Some((2, 36))).unwrap(), image::image(&made).unwrap()];
            names.map(|name| (read(&dist.join(&name)).unwrap(), name))
        };
        let first = once("first");
        // Times of files are in seconds.
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        let second = once("second");
        fs::remove_dir_all(&folder).unwrap();
        for ((one, name), (other, _)) in first.iter().zip(&second) {
            assert!(one == other, "{name} differs from build to build");
        }
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
