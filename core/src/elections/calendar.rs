//! The calendar inside the binary: coming elections whose date the law fixes or an authority announced.

use std::sync::OnceLock;

use super::model::Election;
use super::read::read;
use crate::Timestamp;

pub(crate) const TEXT: &str = include_str!("../starter/elections.csv");

/// All rows, in the order of dates. They are read as imported calendars are.
pub fn all() -> &'static [Election] {
    static ALL: OnceLock<Vec<Election>> = OnceLock::new();
    ALL.get_or_init(|| {
        let lines: Vec<&str> = TEXT.lines().filter(|line| !line.starts_with('#')).collect();
        let text = lines.join("\n");
        // A test holds that every row is read.
        let (mut rows, _) = read(&mut text.as_bytes(), u64::MAX, None, Timestamp::MAX).unwrap_or_default();
        rows.sort_unstable();
        rows
    })
}
