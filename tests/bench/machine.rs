//! Describes the machine, and assigns cores to server and generator.

use std::path::Path;
use std::process::{Command, Stdio};

/// Cores of server and generator.
#[derive(Debug, Clone)]
pub struct Cores {
    /// The list of cores that a server gets from `taskset`; `None` if everything may use every core.
    server: Option<String>,
}

impl Cores {
    /// A command that runs a server on its core.
    pub fn server(&self, program: &Path) -> Command {
        crate::bare::pinned(self.server.as_deref(), program)
    }

    /// Runs `body` while the servers that it starts and this process may use every core; `None` if they always may.
    pub fn shared<T>(&self, body: impl FnOnce(&Cores) -> T) -> Option<T> {
        self.server.as_ref()?;
        assert!(move_generator(&every_core()), "taskset moves this process");
        let measured = body(&Cores { server: Some(every_core()) });
        assert!(move_generator(GENERATOR), "taskset moves this process");
        Some(measured)
    }
}

const GENERATOR: &str = "1";

/// Keeps this process off the server's core, if that is possible.
pub fn pin_generator() -> Cores {
    let enough = std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= 2);
    Cores { server: (enough && move_generator(GENERATOR)).then(|| "0".to_owned()) }
}

/// Lets all threads of this process use those cores; true if that worked.
fn move_generator(cores: &str) -> bool {
    let mut command = Command::new("taskset");
    command.args(["-acp", cores, &std::process::id().to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A command for a program that may use every core, for work that is not measured.
pub fn unpinned(program: &Path) -> Command {
    crate::bare::pinned(has_taskset().then(every_core).as_deref(), program)
}

fn has_taskset() -> bool {
    Command::new("taskset").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// Number of cores of the machine, including those to which this process is not pinned.
fn available_cores() -> usize {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines().filter(|line| line.starts_with("processor")).count().max(1)
}

fn every_core() -> String {
    format!("0-{}", available_cores().saturating_sub(1))
}

/// Lines that describe the machine when everything may use every core.
pub fn describe_shared() -> Vec<String> {
    let mut lines = describe(&Cores { server: None });
    lines.pop();
    lines.push("server and generator share the cores".to_owned());
    lines
}

/// Lines that describe the machine.
pub fn describe(cores: &Cores) -> Vec<String> {
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map_or("unknown", |(_, value)| value.trim()).to_owned()
    };
    let (cpu, memory) = (file("/proc/cpuinfo"), file("/proc/meminfo"));
    let kib: u64 = field(&memory, "MemTotal").split(' ').next().and_then(|kib| kib.parse().ok()).unwrap_or(0);
    let load = file("/proc/loadavg");
    vec![
        format!("{} x {}, {} GiB of memory", available_cores(), field(&cpu, "model name"), kib >> 20),
        format!("kernel {}, data on {}", file("/proc/sys/kernel/osrelease").trim(), file_system()),
        format!(
            "other work on the machine: load average {} at the end of the run",
            load.split(' ').take(3).collect::<Vec<_>>().join(", ")
        ),
        match cores.server.is_some() {
            true => "server on core 0, generator on core 1 (`taskset`)".to_owned(),
            false => "server and generator share the cores (no `taskset`, or one core)".to_owned(),
        },
    ]
}

fn file_system() -> String {
    let output = Command::new("stat").args(["-f", "-c", "%T", env!("CARGO_TARGET_TMPDIR")]).output();
    output.map_or("unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Peak resident memory of a process so far, in bytes; Linux only.
pub fn peak_memory(process: u32) -> Option<u64> {
    memory(process, "VmHWM:")
}

/// Resident memory of a process now, in bytes; Linux only.
pub fn resident_memory(process: u32) -> Option<u64> {
    memory(process, "VmRSS:")
}

/// CPU seconds that all threads of a process have used so far; Linux only.
pub fn cpu_seconds(process: u32) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name is in brackets and may contain anything. User and system time are 12 and 13 fields after it (proc(5)),
    // in hundredths of a second on every platform that has them.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

/// The size of a file.
#[derive(Debug, Clone, Copy)]
pub struct FileSize {
    pub length: u64,
    /// Space on the disk; the length if it is not known.
    pub on_disk: u64,
}

pub fn file_size(path: &std::path::Path) -> FileSize {
    let meta = std::fs::metadata(path).unwrap();
    #[cfg(unix)]
    let on_disk = std::os::unix::fs::MetadataExt::blocks(&meta) * 512;
    #[cfg(not(unix))]
    let on_disk = meta.len();
    FileSize { length: meta.len(), on_disk }
}

fn memory(process: u32, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().split(' ').next()?.parse::<u64>().ok().map(|kib| kib << 10)
}
