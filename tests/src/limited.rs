//! Runs processes with little memory.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A memory limit for one process.
pub enum Limit {
    /// A control group of its own.
    Group(PathBuf),
    /// A limit on the address space, in bytes.
    AddressSpace(u64),
}

impl Limit {
    /// A limit of `bytes`. It uses a control group if the machine permits it, otherwise a limit on the address space,
    /// beyond what the program reserves while it is idle.
    pub fn new(bytes: u64, idle_reservation: impl FnOnce() -> u64) -> Limit {
        match group(bytes) {
            Some(path) => Limit::Group(path),
            None => Limit::AddressSpace(bytes + idle_reservation()),
        }
    }

    pub fn words(&self) -> &'static str {
        match self {
            Limit::Group(_) => "a control group's memory limit",
            Limit::AddressSpace(_) => "a limit on the address space",
        }
    }

    /// A command that runs a program under the limit.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        let limit = match self {
            Limit::Group(path) => format!("echo $$ > '{}/cgroup.procs'", path.display()),
            Limit::AddressSpace(bytes) => format!("ulimit -v {}", bytes / 1024),
        };
        command.args(["-c", &format!("{limit} && exec \"$0\" \"$@\"")]).arg(program);
        command
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        if let Limit::Group(path) = self {
            // The group is empty once its process has ended, which may take a moment.
            for _ in 0..100 {
                if std::fs::remove_dir(&*path).is_ok() {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    }
}

/// Makes a new control group, of version 1 or 2.
fn group(bytes: u64) -> Option<PathBuf> {
    let name = format!("heliograph-test-{}", std::process::id());
    for (root, limit) in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")] {
        let path = Path::new(root).join(&name);
        if !Path::new(root).join("cgroup.procs").exists() || std::fs::create_dir(&path).is_err() {
            continue;
        }
        if path.join(limit).exists() && std::fs::write(path.join(limit), bytes.to_string()).is_ok() {
            return Some(path);
        }
        let _ = std::fs::remove_dir(&path);
    }
    None
}

/// A figure of `/proc/<id>/status`, such as `VmRSS`, in bytes; Linux only.
pub fn memory(process: u32, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    line.trim().split(' ').next()?.parse::<u64>().ok().map(|kib| kib << 10)
}
