//! The browsers that look at pages: those that are installed, else Debian's, unpacked with the libraries that this machine
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

struct Browser {
    /// The name of its package.
    name: &'static str,
    /// Names it for the tests of pages.
    variable: &'static str,
    /// The program in the folder of its package.
    program: &'static str,
    /// Where it is, once it was looked for. Tests that run beside each other must not unpack it twice.
    found: OnceLock<Option<PathBuf>>,
}

static BROWSERS: [Browser; 2] = [
    Browser { name: "chromium", variable: "CHROMIUM", program: "usr/lib/chromium/chromium", found: OnceLock::new() },
    Browser {
        name: "firefox-esr",
        variable: "FIREFOX",
        program: "usr/lib/firefox-esr/firefox-esr",
        found: OnceLock::new(),
    },
];

/// A browser shows no text without a font.
const FONT: &str = "fonts-dejavu-core";

/// Sets the libraries and fonts of the folder that it is in, and starts the browser. Some packages keep libraries for
/// themselves one folder further down.
const START: &str = r#"#!/bin/sh
here="$(dirname "$(readlink -f "$0")")"
export LD_LIBRARY_PATH="$(find "$here/usr/lib" -maxdepth 3 -name 'lib*.so*' -exec dirname {} + | sort -u | paste -sd:)"
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$here/fonts.conf"
exec "$here/PROGRAM" "$@"
"#;

const FONTS: &str = "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig><dir>FOLDER/usr/share/fonts</dir>\
    <cachedir>FOLDER/cache</cachedir></fontconfig>\n";

/// Lets tests run in the browsers that there are.
pub fn provide(tests: &mut Command) {
    for browser in BROWSERS.iter().filter(|browser| std::env::var_os(browser.variable).is_none()) {
        let complain = |error: &String| notice(&format!("pages are not looked at in {}: {error}", browser.name));
        if let Some(path) = browser.found.get_or_init(|| browser.find().inspect_err(complain).ok()) {
            tests.env(browser.variable, path);
        }
    }
}

impl Browser {
    fn find(&self) -> Result<PathBuf> {
        let installed = Path::new("/usr/bin").join(self.name);
        if installed.exists() {
            return Ok(installed);
        }
        let folder = root().join("tools").join(self.name);
        let (start, text) = (folder.join("start"), START.replace("PROGRAM", self.program));
        tools::install(self.name, &text, &start, || unpack(self.name, &folder, &start, &text))?;
        Ok(start)
    }
}

fn unpack(name: &str, folder: &Path, start: &Path, text: &str) -> Result<()> {
    if !debian::is_here() {
        return Err("it is not installed, and this system has no packages of Debian".into());
    }
    let mut plan = Command::new("apt-get");
    plan.args(["install", "--simulate", "--no-install-recommends", name, FONT]);
    let plan = output("apt-get install --simulate", &mut plan)?;
    let plan = String::from_utf8_lossy(&plan).into_owned();
    let lacking: Vec<&str> =
        plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next()).collect();
    debian::unpack(&lacking, folder)?;
    write(&folder.join("fonts.conf"), FONTS.replace("FOLDER", &folder.display().to_string()))?;
    write(start, text)?;
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
