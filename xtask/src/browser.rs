//! The browser that looks at pages: the one that is installed, else Debian's, unpacked with the libraries that this machine
//! lacks. Nothing is installed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::debian;
use crate::project::{root, write};
use crate::run::{Result, notice, output, run};
use crate::{test, tools};

/// Names the browser for the tests of pages.
const VARIABLE: &str = "CHROMIUM";

/// What the browser is made of. It shows no text without a font.
const PACKAGES: [&str; 2] = ["chromium", "fonts-dejavu-core"];

/// Sets the libraries and fonts of the folder that it is in, and starts the browser. Some packages keep libraries for
/// themselves one folder further down.
const START: &str = r#"#!/bin/sh
here="$(dirname "$(readlink -f "$0")")"
export LD_LIBRARY_PATH="$(find "$here/usr/lib" -maxdepth 3 -name 'lib*.so*' -exec dirname {} + | sort -u | paste -sd:)"
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$here/fonts.conf"
exec "$here/usr/lib/chromium/chromium" "$@"
"#;

const FONTS: &str = "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig><dir>FOLDER/usr/share/fonts</dir>\
    <cachedir>FOLDER/cache</cachedir></fontconfig>\n";

/// The browser, once it was looked for. Tests that run beside each other must not unpack it twice.
static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();

/// Lets tests run in a browser, if there is one.
pub fn provide(tests: &mut Command) {
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    let looked = FOUND.get_or_init(|| {
        find().inspect_err(|error| notice(&format!("pages are not looked at in a browser: {error}"))).ok()
    });
    if let Some(browser) = looked {
        tests.env(VARIABLE, browser);
    }
}

fn find() -> Result<PathBuf> {
    let installed = Path::new("/usr/bin/chromium");
    if installed.exists() {
        return Ok(installed.to_owned());
    }
    let folder = root().join("tools/chromium");
    let start = folder.join("start");
    tools::install("chromium", START, &start, || unpack(&folder, &start))?;
    Ok(start)
}

fn unpack(folder: &Path, start: &Path) -> Result<()> {
    if !debian::is_here() {
        return Err("Chromium is not installed, and this system has no packages of Debian".into());
    }
    let mut plan = Command::new("apt-get");
    plan.args(["install", "--simulate", "--no-install-recommends"]).args(PACKAGES);
    let plan = output("apt-get install --simulate", &mut plan)?;
    let plan = String::from_utf8_lossy(&plan).into_owned();
    let lacking: Vec<&str> =
        plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next()).collect();
    debian::unpack(&lacking, folder)?;
    write(&folder.join("fonts.conf"), FONTS.replace("FOLDER", &folder.display().to_string()))?;
    write(start, START)?;
    fs::set_permissions(start, Permissions::from_mode(0o755)).map_err(|error| error.to_string())
}

/// `cargo xtask pictures FOLDER`: writes a picture of every page into a folder.
pub fn pictures(folder: &str) -> Result<()> {
    tools::pages()?;
    // Of all packages, so that Cargo finds what `cargo xtask test` built.
    let mut tests = test::tests(&["--test", "pages", "browser", "--", "--nocapture"]);
    tests.env("HELIOGRAPH_TEST_TARGETS", "native");
    tests.env("HELIOGRAPH_PICTURES", crate::project::checkout().join(folder));
    provide(&mut tests);
    run("pictures", &mut tests)
}
