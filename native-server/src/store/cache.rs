//! How much memory the data file gets, and for what.

use std::path::Path;

use heliograph_core::engine::settings::{LEAST_CACHE, Settings};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

/// What is chosen is one part in so many of the data file, so that there is room for all of its checksums (decision
/// memory-of-the-file).
const FILE_PART: u64 = 32;
/// And at most one part in so many of the memory that the process may use.
const MEMORY_PART: u64 = 8;

/// One part in so many is for rows that were looked up lately.
const KNOWN_PART: usize = 8;
/// One part in so many is for checksums of blocks, which have 8 bytes for a block of 4,096.
const SUMS_PART: usize = 16;

/// The parts of the memory for a data file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Pages of the engine.
    pub pages: usize,
    /// Rows that were looked up lately.
    pub known: usize,
    /// Checksums of blocks.
    pub sums: usize,
}

impl Parts {
    pub fn of(bytes: usize) -> Parts {
        let (known, sums) = (bytes / KNOWN_PART, bytes / SUMS_PART);
        Parts { pages: bytes - known - sums, known, sums }
    }
}

fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The memory for a data file that the settings name, in bytes; `None` where they leave it to the file and the machine.
pub fn set(settings: &Settings) -> Option<usize> {
    (settings.cache_bytes > 0).then(|| in_memory(settings.cache_bytes))
}

/// The memory that suits a data file and the machine, in bytes.
pub fn suited(path: &Path) -> usize {
    in_memory(chosen(std::fs::metadata(path).map_or(0, |file| file.len()), memory))
}

fn chosen(file: u64, memory: impl FnOnce() -> Option<u64>) -> u64 {
    let wanted = file / FILE_PART;
    if wanted <= LEAST_CACHE {
        return LEAST_CACHE;
    }
    let most = memory().map_or(LEAST_CACHE, |memory| memory / MEMORY_PART);
    wanted.min(most).max(LEAST_CACHE)
}

/// Memory that the process may use: that of the machine, or less by its control group. `None` where the system does not say.
fn memory() -> Option<u64> {
    let id = sysinfo::get_current_pid().ok()?;
    let mut system = System::new().ok()?;
    system.refresh_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[id]), false, ProcessRefreshKind::nothing());
    let limit = system.process(id)?.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
    Some(system.total_memory().min(limit)).filter(|memory| *memory > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1 << 30;

    #[test]
    fn a_small_file_has_the_least_memory_and_the_machine_is_not_asked() {
        for file in [0, 1 << 20, GB] {
            assert_eq!(chosen(file, || panic!("asked")), LEAST_CACHE);
        }
    }

    #[test]
    fn a_large_file_has_a_part_of_its_size_within_a_part_of_the_machine() {
        assert_eq!(chosen(32 * GB, || Some(64 * GB)), GB);
        assert_eq!(chosen(32 * GB, || Some(4 * GB)), GB / 2);
        assert_eq!(chosen(32 * GB, || Some(256 << 20)), LEAST_CACHE);
        assert_eq!(chosen(u64::MAX, || None), LEAST_CACHE);
    }

    #[test]
    fn the_parts_are_the_whole() {
        for bytes in [0, 1, LEAST_CACHE as usize, usize::MAX] {
            let Parts { pages, known, sums } = Parts::of(bytes);
            assert_eq!(pages + known + sums, bytes);
        }
    }

    #[test]
    fn the_memory_of_this_machine_is_found() {
        assert!(memory().is_none_or(|memory| memory > 64 << 20));
        #[cfg(target_os = "linux")]
        assert!(memory().is_some());
    }

    #[test]
    fn what_the_operator_sets_is_taken() {
        let mut settings = Settings::default();
        assert_eq!(set(&settings), None);
        settings.cache_bytes = 4_096;
        assert_eq!(set(&settings), Some(4_096));
    }
}
