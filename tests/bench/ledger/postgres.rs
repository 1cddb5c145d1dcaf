//! PostgreSQL on the same disk and core, if it is installed: `pgbench`, TPC-B, durable.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::machine;

/// Branches of TPC-B: 2,000,000 accounts.
const SCALE: &str = "20";

/// The rate, or the reason why it was not measured.
pub type Measured = Result<f64, String>;

/// Finds a program, also in the folders where Debian puts it outside of `PATH`.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    folders.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// PostgreSQL refuses to run as root; Debian has a user for it.
fn as_user(command: Command, folder: &Path) -> Command {
    if !is_root() {
        return command;
    }
    let mut other = Command::new("runuser");
    other.args(["-u", "postgres", "--"]).arg(command.get_program()).args(command.get_args()).current_dir(folder);
    other
}

/// Makes a folder that belongs to that user.
fn hand_over(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir(folder)?;
    if is_root() {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.parent().unwrap(), open)?;
        Command::new("chown").arg("postgres").arg(folder).status()?;
    }
    Ok(())
}

fn run(folder: &Path, what: &str, command: Command) -> Result<String, String> {
    let output = as_user(command, folder).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{what}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(format!("{what}: {}", String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default())),
    }
}

/// Transactions per second with `clients`, with the server on its core.
pub fn measure(folder: &Path, cores: &machine::Cores, clients: usize, seconds: u64) -> Measured {
    let missing = |name: &str| program(name).ok_or_else(|| format!("{name} is not installed"));
    let [initdb, pg_ctl, pgbench] = ["initdb", "pg_ctl", "pgbench"].map(missing);
    let (initdb, pg_ctl, pgbench) = (initdb?, pg_ctl?, pgbench?);
    let folder = folder.join("postgres");
    hand_over(&folder).map_err(|error| error.to_string())?;
    let data = folder.join("data");
    let mut command = Command::new(initdb);
    command.args(["-A", "trust", "-U", "postgres", "-D"]).arg(&data);
    run(&folder, "initdb", command)?;
    let options = format!("-c listen_addresses= -c unix_socket_directories={} -c fsync=on", folder.display());
    let mut command = cores.server(&pg_ctl);
    // Its output must not be waited for, because the server keeps it open.
    command.args(["-w", "-s", "-l"]).arg(folder.join("log")).args(["-o", &options, "-D"]).arg(&data).arg("start");
    run(&folder, "pg_ctl", command)?;
    let bench = |args: &[&str]| {
        let mut command = Command::new(&pgbench);
        command.args(args).args(["-U", "postgres", "-h"]).arg(&folder).arg("postgres");
        run(&folder, "pgbench", command)
    };
    let (clients, seconds) = (clients.to_string(), seconds.to_string());
    let measured = bench(&["-i", "-q", "-s", SCALE])
        .and_then(|_| bench(&["-c", &clients, "-j", "1", "-T", &seconds, "-M", "prepared"]))
        .and_then(|text| rate(&text).ok_or_else(|| format!("pgbench said no rate: {text}")));
    let mut stop = Command::new(pg_ctl);
    stop.args(["-w", "-s", "-m", "fast", "-D"]).arg(&data).arg("stop");
    run(&folder, "pg_ctl stop", stop).and(measured)
}

/// Parses the number in `tps = 6701.1 (...)`.
fn rate(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("tps = "))?.split(' ').next()?.parse().ok()
}
