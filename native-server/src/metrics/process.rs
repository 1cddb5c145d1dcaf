//! What the system says of the process, under the names that every client library of Prometheus uses.

/// The figures of a process; absent where the system has no such files.
#[derive(Debug, Default, PartialEq)]
pub struct Process {
    pub cpu_seconds: Option<f64>,
    pub resident_bytes: Option<f64>,
    pub virtual_bytes: Option<f64>,
    pub open_fds: Option<f64>,
    pub max_fds: Option<f64>,
    pub threads: Option<f64>,
    pub start_seconds: Option<f64>,
}

/// Ticks of the clock that counts CPU time: a fixed part of the kernel's interface, whatever its own clock is.
const TICKS: f64 = 100.0;

impl Process {
    pub fn of_self() -> Process {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let fds = std::fs::read_dir("/proc/self/fd").map(|files| files.count().saturating_sub(1) as f64).ok();
        let mut process = parsed(&read("/proc/self/stat"), &read("/proc/self/status"), &read("/proc/stat"));
        process.open_fds = fds;
        process.max_fds = rlimit::Resource::NOFILE.get_soft().ok().map(|limit| limit as f64);
        process
    }
}

fn parsed(stat: &str, status: &str, system: &str) -> Process {
    // The name of the program, in brackets, may hold anything.
    let fields: Vec<f64> = stat
        .rsplit_once(')')
        .map_or("", |(_, rest)| rest)
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(f64::NAN))
        .collect();
    // proc(5) counts from 1 and calls the state, the first field here, the third.
    let field = |number: usize| fields.get(number - 3).copied().filter(|value| value.is_finite());
    let line = |text: &str, name: &str| -> Option<f64> {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    let kilobytes = |name: &str| line(status, name).map(|value| value * 1_024.0);
    Process {
        cpu_seconds: field(14).zip(field(15)).map(|(user, system)| (user + system) / TICKS),
        resident_bytes: kilobytes("VmRSS:"),
        virtual_bytes: kilobytes("VmSize:"),
        threads: field(20),
        start_seconds: field(22).zip(line(system, "btime ")).map(|(after, boot)| boot + after / TICKS),
        ..Process::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_a_strange_name_is_read_right() {
        let stat =
            "71 (a) b (c) S 1 71 71 0 -1 4194560 5 0 0 0 250 50 0 0 20 0 9 0 12000 99 7 18446744073709551615 1 1";
        let status = "Name:\ta) b (c\nVmSize:\t    2048 kB\nVmRSS:\t     512 kB\n";
        let found = parsed(stat, status, "cpu  1 2 3\nbtime 1700000000\n");
        let expected = Process {
            cpu_seconds: Some(3.0),
            resident_bytes: Some(524_288.0),
            virtual_bytes: Some(2_097_152.0),
            threads: Some(9.0),
            start_seconds: Some(1_700_000_120.0),
            ..Process::default()
        };
        assert_eq!(found, expected);
        assert_eq!(parsed("", "", ""), Process::default());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_figures() {
        let own = Process::of_self();
        assert!(own.resident_bytes.unwrap() > 1e6 && own.open_fds.unwrap() >= 3.0 && own.threads.unwrap() >= 1.0);
        assert!(own.max_fds.unwrap() >= own.open_fds.unwrap() && own.start_seconds.unwrap() > 1.6e9, "{own:?}");
    }
}
