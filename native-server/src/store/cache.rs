//! How much memory the data file gets, and for what.

use std::path::Path;

use heliograph_core::engine::settings::{LEAST_CACHE, Settings};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

/// Least memory that is chosen, in bytes.
const LEAST: usize = LEAST_CACHE as usize;
/// What is chosen is one part in so many of the data file, which has room for all of its checksums (decision
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

/// The memory for a data file, in bytes: what the settings say, or what suits the file and the machine.
pub fn bytes(settings: &Settings, path: &Path) -> usize {
    match settings.cache_bytes {
        0 => suited(std::fs::metadata(path).map_or(0, |file| file.len()), memory),
        bytes => usize::try_from(bytes).unwrap_or(usize::MAX),
    }
}

fn suited(file: u64, memory: impl FnOnce() -> Option<u64>) -> usize {
    let wanted = usize::try_from(file / FILE_PART).unwrap_or(usize::MAX);
    if wanted <= LEAST {
        return LEAST;
    }
    let most = memory().map_or(LEAST, |memory| usize::try_from(memory / MEMORY_PART).unwrap_or(usize::MAX));
    wanted.min(most).max(LEAST)
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
            assert_eq!(suited(file, || panic!("asked")), LEAST);
        }
    }

    #[test]
    fn a_large_file_has_a_part_of_its_size_within_a_part_of_the_machine() {
        assert_eq!(suited(32 * GB, || Some(64 * GB)), GB as usize);
        assert_eq!(suited(32 * GB, || Some(4 * GB)), GB as usize / 2);
        assert_eq!(suited(32 * GB, || Some(256 << 20)), LEAST);
        assert_eq!(suited(u64::MAX, || None), LEAST);
    }

    #[test]
    fn the_parts_are_the_whole() {
        for bytes in [0, 1, LEAST, usize::MAX] {
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
        settings.cache_bytes = 4_096;
        assert_eq!(bytes(&settings, Path::new("/none")), 4_096);
    }
}
