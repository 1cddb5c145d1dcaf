//! Compiles the program for operators. Neither the folder nor the time of a build leaves anything in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::time;
use crate::project::{cargo, root, write};
use crate::run::{Result, output, run, tool};

/// How the program is compiled.
#[derive(Debug, PartialEq, Eq)]
pub struct Build<'a> {
    pub profile: &'a str,
    /// `None` for this machine's own.
    pub target: Option<&'a str>,
}

impl Build<'_> {
    /// Builds the program of the checkout; returns its place.
    pub fn here(&self) -> Result<PathBuf> {
        self.of(&root(), &root().join("target"))
    }

    /// Builds it once more, from a copy of the sources in another folder and with nothing that was compiled before.
    pub fn elsewhere(&self) -> Result<PathBuf> {
        let folder = root().join("target/twice");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
        }
        let (sources, list, archive) = (folder.join("sources"), folder.join("list"), folder.join("sources.tar"));
        fs::create_dir_all(&sources).map_err(|error| format!("cannot create {}: {error}", sources.display()))?;
        write(&list, output("git ls-files", Command::new("git").args(["ls-files", "-z"]).current_dir(root()))?)?;
        let mut pack = Command::new("tar");
        pack.args(["--create", "--null", "--files-from"]).arg(&list).arg("--file").arg(&archive);
        tool("tar", pack.current_dir(root()))?;
        tool("tar", Command::new("tar").arg("--extract").arg("--file").arg(&archive).arg("--directory").arg(&sources))?;
        self.of(&sources, &folder.join("target"))
    }

    fn of(&self, sources: &Path, results: &Path) -> Result<PathBuf> {
        let mut folder = results.to_owned();
        let mut build = cargo();
        build.current_dir(sources).args(["build", "--locked", "--package", "heliograph", "--profile", self.profile]);
        build.arg("--target-dir").arg(results);
        if let Some(target) = self.target {
            buildable(target)?;
            build.args(["--target", target]);
            build.envs(tools_for(target).iter().filter(|(name, _)| std::env::var_os(name).is_none()).copied());
            folder.push(target);
        }
        // A build script that asks for the time gets that of the commit.
        build.env("SOURCE_DATE_EPOCH", time()?);
        // What is compiled in parts is split otherwise when a part was there before.
        build.env("CARGO_INCREMENTAL", "0");
        let (rust, c) = flags(sources, results);
        build.env("RUSTFLAGS", rust).env("CFLAGS", c);
        run("build", &mut build)?;
        Ok(folder.join(if self.profile == "dev" { "debug" } else { self.profile }).join("heliograph"))
    }
}

/// Flags for Rust and for C. Messages of panics and assertions name files; the place of the checkout is nobody's business,
/// and differs from machine to machine. The last name that fits counts.
fn flags(sources: &Path, results: &Path) -> (String, String) {
    let given = |name: &str| std::env::var(name).unwrap_or_default();
    let (mut rust, mut c) = (given("RUSTFLAGS"), given("CFLAGS"));
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let places = [(home.as_deref(), "/cargo"), (Some(sources), "/heliograph"), (Some(results), "/heliograph/target")];
    for (place, name) in places {
        let Some(place) = place else { continue };
        rust.push_str(&format!(" --remap-path-prefix={}={name}", place.display()));
        c.push_str(&format!(" -ffile-prefix-map={}={name}", place.display()));
    }
    (rust.trim().to_owned(), c.trim().to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_cannot_be_built_is_refused_with_what_is_missing() {
        assert!(buildable("nowhere-unknown-none").unwrap_err().contains("rustc knows no target"));
        // A target that nobody has the library of here: it has none in rustup.
        let told = buildable("aarch64-unknown-hermit").unwrap_err();
        assert!(told.contains("rustup target add aarch64-unknown-hermit"), "{told}");
    }

    /// A small workspace in two folders, compiled as the program is: with a macro, a build script whose file is compiled
    /// in, and messages that name files.
    #[test]
    fn programs_that_are_compiled_in_two_folders_are_the_same_bytes() {
        let top = std::env::temp_dir().join(format!("heliograph-folders-{}", std::process::id()));
        let files = [
            (
                "Cargo.toml",
                "[workspace]\nresolver = \"3\"\nmembers = [\"main\", \"part\"]\n[profile.dev]\ndebug = false\n",
            ),
            ("part/Cargo.toml", "[package]\nname = \"part\"\nversion = \"1.0.0\"\nedition = \"2024\"\n"),
            (
                "part/build.rs",
                "fn main() { let to = std::env::var(\"OUT_DIR\").unwrap(); \
              std::fs::write(to + \"/made.rs\", \"pub fn made(n: u8) -> u8 { [1u8, 2][n as usize] }\").unwrap(); }\n",
            ),
            (
                "part/src/lib.rs",
                "include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));\npub fn place() -> &'static str { file!() }\n",
            ),
            (
                "main/Cargo.toml",
                "[package]\nname = \"main\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
              [dependencies]\npart = { path = \"../part\" }\n",
            ),
            (
                "main/src/main.rs",
                "fn main() { println!(\"{} {}\", part::place(), part::made(std::env::args().count() as u8)); }\n",
            ),
        ];
        let once = |name: &str| {
            let (sources, results) = (top.join(name), top.join(name).join("results"));
            for (file, text) in files {
                write(&sources.join(file), text).unwrap();
            }
            let (rust, _) = flags(&sources, &results);
            let mut build = cargo();
            build.current_dir(&sources).args(["build", "--quiet", "--offline", "--target-dir"]).arg(&results);
            output("build", build.env("RUSTFLAGS", rust).env("CARGO_INCREMENTAL", "0")).unwrap();
            crate::project::read(&results.join("debug/main")).unwrap()
        };
        let (one, other) = (once("one"), once("a-longer-name-of-a-folder"));
        fs::remove_dir_all(&top).unwrap();
        assert!(one == other, "the folder is in the program");
    }
}
