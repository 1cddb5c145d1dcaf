//! `cargo xtask compare`: the benchmark beside other servers.
//!
//! Programs that are not installed are unpacked from Debian's packages into `target/peers`; nothing is installed. Where
//! there is no `apt-get`, the table names what is missing. Comparisons with itself and of the Worker need none of them.

use std::path::{Path, PathBuf};

use crate::project::{cargo, root};
use crate::run::{Result, notice, run};
use crate::{debian, edge};

/// A program, and the packages that it comes from with the libraries that a small system lacks.
const PEERS: [(&str, &[&str]); 4] = [
    ("redis-server", &["redis-server", "redis-tools", "libjemalloc2", "liblzf1"]),
    ("nginx", &["nginx"]),
    ("wrk", &["wrk", "libluajit-5.1-2"]),
    ("pgbench", &["postgresql-15", "postgresql-client-15", "libpq5"]),
];

pub fn compare(args: &[&str]) -> Result<()> {
    let peers = root().join("target/peers");
    let beside = if args.contains(&"--edge") {
        edge::build::ensure(edge::build::Bundle::Worker)?;
        "xtask"
    } else {
        "heliograph"
    };
    if !args.contains(&"--edge") && !args.contains(&"--grown") {
        find_or_unpack(&peers);
    }
    run("build", cargo().args(["build", "--locked", "--release", "--package", beside]))?;
    let bench = ["bench", "--locked", "--package", "heliograph-tests", "--bench", "bench", "--", "--compare"];
    run("compare", cargo().env("HELIOGRAPH_PEERS", &peers).args(bench).args(args))
}

fn find_or_unpack(peers: &Path) {
    for (program, packages) in PEERS {
        if !is_there(program, peers)
            && let Err(error) = debian::unpack(packages, peers)
        {
            notice(&format!("{program} takes no part: {error}"));
        }
    }
}

/// Whether a program is installed or was unpacked. PostgreSQL's are outside of `PATH` on Debian.
fn is_there(program: &str, peers: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/sbin".into());
    folders.extend(["usr/bin", "usr/sbin"].map(|folder| peers.join(folder)));
    for root in [Path::new("/"), peers] {
        let versions = std::fs::read_dir(root.join("usr/lib/postgresql")).into_iter().flatten().flatten();
        folders.extend(versions.map(|version| version.path().join("bin")));
    }
    folders.iter().any(|folder| folder.join(program).exists())
}
