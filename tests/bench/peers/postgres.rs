//! PostgreSQL on the same disk and core, if it is installed: `pgbench`, TPC-B, durable.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{program, with_libraries};
use crate::machine;

/// Branches of TPC-B: 2,000,000 accounts.
const SCALE: &str = "20";

/// The rate, or the reason why it was not measured.
pub type Measured = Result<f64, String>;

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// PostgreSQL refuses to run as root; Debian has a user for it.
fn as_user(mut command: Command, folder: &Path) -> Command {
    with_libraries(&mut command);
    if !is_root() {
        return command;
    }
    let mut other = Command::new("runuser");
    other.args(["-u", "postgres", "--"]).arg(command.get_program()).args(command.get_args()).current_dir(folder);
    with_libraries(&mut other);
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

/// A running server, which ends with this value.
pub struct Postgres {
    pg_ctl: PathBuf,
    pgbench: PathBuf,
    folder: PathBuf,
}

impl Postgres {
    /// Starts a server on its core, with an empty database.
    pub fn start(folder: &Path, cores: &machine::Cores) -> Result<Postgres, String> {
        let (initdb, pg_ctl, pgbench) = (program("initdb")?, program("pg_ctl")?, program("pgbench")?);
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
        Ok(Postgres { pg_ctl, pgbench, folder })
    }

    /// Process id of the server; those of its clients are its children.
    pub fn id(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    fn bench(&self, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.pgbench);
        command.args(args).args(["-U", "postgres", "-h"]).arg(&self.folder).arg("postgres");
        run(&self.folder, "pgbench", command)
    }

    /// Runs one statement.
    pub fn sql(&self, statement: &str) -> Result<(), String> {
        let mut command = Command::new(program("psql")?);
        command.args(["-q", "-U", "postgres", "-c", statement, "-h"]).arg(&self.folder).arg("postgres");
        run(&self.folder, "psql", command).map(|_| ())
    }

    /// Makes the tables of TPC-B.
    pub fn fill(&self) -> Result<(), String> {
        self.bench(&["-i", "-q", "-s", SCALE]).map(|_| ())
    }

    /// Transactions per second of TPC-B.
    pub fn tpc_b(&self, clients: usize, seconds: u64) -> Measured {
        self.timed(clients, seconds, &[])
    }

    /// Runs a script of pgbench; rows per second if each transaction writes one.
    pub fn script(&self, script: &str, clients: usize, seconds: u64) -> Measured {
        let path = self.folder.join("script.sql");
        std::fs::write(&path, script).map_err(|error| error.to_string())?;
        self.timed(clients, seconds, &["-n", "-f", &path.to_string_lossy()])
    }

    fn timed(&self, clients: usize, seconds: u64, more: &[&str]) -> Measured {
        let (clients, seconds) = (clients.to_string(), seconds.to_string());
        let args = ["-c", &clients, "-j", "1", "-T", &seconds, "-M", "prepared"];
        let text = self.bench(&[&args[..], more].concat())?;
        rate(&text).ok_or_else(|| format!("pgbench said no rate: {text}"))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let mut stop = Command::new(&self.pg_ctl);
        stop.args(["-w", "-s", "-m", "fast", "-D"]).arg(self.folder.join("data")).arg("stop");
        // The folder is removed anyway.
        let _ = run(&self.folder, "pg_ctl stop", stop);
    }
}

/// Transactions per second of TPC-B with `clients`, with the server on its core.
pub fn measure(folder: &Path, cores: &machine::Cores, clients: usize, seconds: u64) -> Measured {
    let server = Postgres::start(folder, cores)?;
    server.fill()?;
    server.tpc_b(clients, seconds)
}

/// Parses the number in `tps = 6701.1 (...)`.
fn rate(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("tps = "))?.split(' ').next()?.parse().ok()
}
