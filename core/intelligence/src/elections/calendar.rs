//! The calendar inside the binary: coming elections whose date follows from a rule or a term, or was announced.

use std::sync::OnceLock;

use super::model::Election;
use super::read::read;
use crate::Timestamp;
use facts::sentence::Sentence;

/// A caveat that every answer with these dates states.
pub const AGE: Sentence = Sentence::new("election.calendar");

pub(crate) use facts::starter::ELECTIONS as TEXT;

/// All rows by date. They are read in the same way as imported calendars.
pub fn all() -> &'static [Election] {
    static ALL: OnceLock<Vec<Election>> = OnceLock::new();
    ALL.get_or_init(|| {
        let lines: Vec<&str> = TEXT.lines().filter(|line| !line.starts_with('#')).collect();
        let text = lines.join("\n");
        // A test checks that every row can be read.
        let (mut rows, _) = read(&mut text.as_bytes(), u64::MAX, None, Timestamp::MAX).unwrap_or_default();
        rows.sort_unstable();
        rows
    })
}
