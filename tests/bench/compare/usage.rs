//! What the system knows of a server: CPU, bytes written, and whether it folds. Linux only.

/// What a server used so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Seconds of CPU.
    cpu: f64,
    /// Bytes given to the disk.
    written: f64,
}

impl Usage {
    /// Of a process and its children, also those that ended.
    pub fn of(process: u32) -> Option<Usage> {
        let own = one(process)?;
        let children = std::fs::read_dir("/proc").ok()?.flatten();
        let children = children.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let children =
            children.filter(|child| stat(*child).and_then(|fields| fields.get(1)?.parse().ok()) == Some(process));
        Some(
            children
                .filter_map(one)
                .fold(own, |sum, child| Usage { cpu: sum.cpu + child.cpu, written: sum.written + child.written }),
        )
    }

    /// CPU in microseconds and bytes written since `before`, of each of so many operations.
    pub fn since(self, before: Usage, operations: f64) -> (f64, f64) {
        ((self.cpu - before.cpu) * 1e6 / operations, (self.written - before.written) / operations)
    }
}

/// The fields after the name, which may contain anything (proc(5)).
fn stat(process: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// Of a process and of its children that ended, which the kernel adds to it.
fn one(process: u32) -> Option<Usage> {
    let fields = stat(process)?;
    // User and system time of the process and of those children, in hundredths of a second.
    let ticks: f64 = fields.get(11..15)?.iter().filter_map(|field| field.parse::<f64>().ok()).sum();
    let io = std::fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    let written = io.lines().find_map(|line| line.strip_prefix("write_bytes:"))?.trim().parse().ok()?;
    Some(Usage { cpu: ticks / 100.0, written })
}

/// Tells whether a server is putting its journal into its tree: whether the thread that does it runs, or waits for the
/// disk. `None` if there is no such thread.
pub fn folding(process: u32) -> Option<impl Fn() -> bool> {
    let mut threads = std::fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let is_fold = |entry: &std::fs::DirEntry| {
        std::fs::read_to_string(entry.path().join("comm")).is_ok_and(|name| name.trim() == "fold")
    };
    let stat = threads.find(is_fold)?.path().join("stat");
    Some(move || {
        let text = std::fs::read_to_string(&stat).unwrap_or_default();
        text.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['R', 'D']))
    })
}
