//! `cargo xtask dist`: what operators get, in `target/dist`: the program, a package for Debian, an image for containers,
//! the list of what is in it, and checksums. The same sources and tools give the same bytes (decision
//! packages-for-operators).

mod boot;
mod image;

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
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

/// What to build.
#[derive(Debug, PartialEq, Eq)]
struct Options<'a> {
    profile: &'a str,
    /// `None` for this machine's own.
    target: Option<&'a str>,
    /// A program that is built already.
    program: Option<&'a str>,
    /// Whether the package is tried in a Debian that is booted.
    boot: bool,
}

fn options<'a>(given: &[&'a str]) -> Result<Options<'a>> {
    let mut options = Options { profile: "release", target: None, program: None, boot: false };
    let mut left = given.to_vec();
    left.retain(|word| *word != "--boot");
    options.boot = left.len() < given.len();
    for pair in left.chunks(2) {
        match pair {
            ["--profile", name] => options.profile = name,
            ["--target", triple] => options.target = Some(triple),
            ["--program", file] => options.program = Some(file),
            other => {
                let takes = "--profile NAME, --target TRIPLE, --program FILE and --boot";
                return Err(format!("dist takes {takes}, not {}", other.join(" ")));
            }
        }
    }
    Ok(options)
}

/// Refuses a target for which nothing can be built here, with what is missing.
fn buildable(target: &str) -> Result<()> {
    let asked = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    let folder = asked.map_err(|error| format!("cannot start rustc: {error}"))?;
    if !folder.status.success() {
        return Err(format!("rustc knows no target {target}; `rustc --print target-list` has all of them"));
    }
    if !Path::new(String::from_utf8_lossy(&folder.stdout).trim()).is_dir() {
        return Err(format!(
            "the standard library of Rust for {target} is not here: `rustup target add {target}` gets it from \
             static.rust-lang.org. A target of musl or of another processor needs a C compiler and a linker too: \
             Debian's musl-tools, or gcc-aarch64-linux-gnu for ARM64"
        ));
    }
    Ok(())
}

pub fn dist(given: &[&str]) -> Result<()> {
    let Options { profile, target, program, boot } = options(given)?;
    let processor = target.map_or(std::env::consts::ARCH, |target| target.split('-').next().unwrap_or(target));
    let made = match program {
        Some(program) => pack(Path::new(program), processor)?,
        None => pack(&built(profile, target)?, processor)?,
    };
    if !boot {
        return Ok(());
    }
    let package = made.iter().find(|name| name.ends_with(".deb")).ok_or("there is no package to boot with")?;
    boot::boot(&root().join("target/boot"), &root().join("target/dist").join(package))
}

/// The compiler and the linker of a target, where the builders would not find them by themselves. Debian has none for
/// musl on ARM64. The one for the C library of GNU works too, because the program brings its own C library.
fn tools_for(target: &str) -> &'static [(&'static str, &'static str)] {
    match target {
        "aarch64-unknown-linux-musl" if std::env::consts::ARCH != "aarch64" => &[
            ("CC_aarch64_unknown_linux_musl", "aarch64-linux-gnu-gcc"),
            ("AR_aarch64_unknown_linux_musl", "aarch64-linux-gnu-ar"),
            ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "aarch64-linux-gnu-gcc"),
        ],
        _ => &[],
    }
}

/// Builds the program; returns its place.
fn built(profile: &str, target: Option<&str>) -> Result<PathBuf> {
    let mut folder = root().join("target");
    let mut build = cargo();
    build.args(["build", "--locked", "--package", "heliograph", "--profile", profile]);
    if let Some(target) = target {
        buildable(target)?;
        build.args(["--target", target]);
        build.envs(tools_for(target).iter().filter(|(name, _)| std::env::var_os(name).is_none()).copied());
        folder.push(target);
    }
    // Messages of panics name files; the place of the checkout is nobody's business, and differs from machine to machine.
    let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    flags.push_str(&format!(" --remap-path-prefix={}=/heliograph", root().display()));
    if let Some(home) =
        std::env::var_os("CARGO_HOME").or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo").into()))
    {
        flags.push_str(&format!(" --remap-path-prefix={}=/cargo", Path::new(&home).display()));
    }
    build.env("RUSTFLAGS", flags.trim());
    run("build", &mut build)?;
    Ok(folder.join(if profile == "dev" { "debug" } else { profile }).join("heliograph"))
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
    write(&dist.join("heliograph.spdx.json"), format!("{:#}\n", contents()?))?;
    let mut made = vec!["heliograph".to_owned(), "heliograph.spdx.json".to_owned()];
    let made_for = Made { dist: &dist, program: &program, architecture: architecture(processor), time: &time()? };
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
    let settings = settings(program, architecture)?;
    let guide = read_text(&root().join("docs/operate.md"))?;
    let mut units = guide.split("```ini\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    let missing = || "docs/operate.md shows no unit".to_owned();
    let (service, socket) = (units.next().ok_or_else(missing)?, units.next().ok_or_else(missing)?);
    executable(&tree.join("usr/bin/heliograph"), read(program)?)?;
    write(&tree.join("lib/systemd/system/heliograph.service"), installed(service)?)?;
    write(&tree.join("lib/systemd/system/heliograph.socket"), socket)?;
    write(&tree.join("etc/heliograph/heliograph.toml"), settings)?;
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
    let name = format!("heliograph_{version}_{architecture}.deb");
    let mut build = Command::new("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", time);
    tool("dpkg-deb", build.args(["--build", "--root-owner-group", "tree", &name]).current_dir(dist))?;
    fs::remove_dir_all(&tree).map_err(|error| error.to_string())?;
    Ok(name)
}

/// Whether programs of this architecture run on this machine.
fn runs_here(architecture: &str) -> bool {
    architecture == self::architecture(std::env::consts::ARCH)
}

/// The settings file of `config init`. A program for another processor cannot be asked, so the one of this machine is.
fn settings(program: &Path, architecture: &str) -> Result<Vec<u8>> {
    let init = ["config", "init"];
    match runs_here(architecture) {
        true => output("config init", Command::new(program).args(init)),
        false => {
            let mut own = cargo();
            own.args(["run", "--quiet", "--locked", "--package", "heliograph", "--"]).args(init);
            output("config init", &mut own)
        }
    }
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
    fn a_target_that_cannot_be_built_is_refused_with_what_is_missing() {
        assert_eq!(options(&[]).unwrap(), Options { profile: "release", target: None, program: None, boot: false });
        let given = options(&["--target", "x86_64-unknown-linux-musl", "--boot", "--profile", "dev"]).unwrap();
        let expected = Options { profile: "dev", target: Some("x86_64-unknown-linux-musl"), program: None, boot: true };
        assert_eq!(given, expected);
        assert!(options(&["--static"]).unwrap_err().contains("not --static"));
        assert!(buildable("nowhere-unknown-none").unwrap_err().contains("rustc knows no target"));
        // A target that nobody has the library of here: it has none in rustup.
        let told = buildable("aarch64-unknown-hermit").unwrap_err();
        assert!(told.contains("rustup target add aarch64-unknown-hermit"), "{told}");
    }

    /// Packages what stands for the program: a script that prints settings, as `config init` does.
    #[test]
    fn the_same_bytes_come_out_twice() {
        if !crate::run::is_installed("dpkg-deb", "--version") || !crate::run::is_installed("tar", "--version") {
            println!("skipped: dpkg-deb or tar is not here");
            return;
        }
        let folder = std::env::temp_dir().join(format!("heliograph-dist-{}", std::process::id()));
        let program = folder.join("program");
        executable(&program, "#!/bin/sh\necho '# settings'\n").unwrap();
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
