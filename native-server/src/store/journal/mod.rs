//! The journal in front of the tree: commits in the order in which they were made, each durable when its record is
//! (decision journal-in-front).
//!
//! A journal is a file beside the data file, `<data file>.journal-<generation>`. All numbers are little-endian.
//!
//! | Part | Bytes | What |
//! |---|---|---|
//! | header | 512 | mark, format, id of the data file, generation, number of the first commit, checksum |
//! | record | a multiple of 512 | length, generation, number of the commit, number of the last commit that was durable before, checksum of the record before, own checksum; then the changed rows |
//! | rest | | zeros, or records of an earlier generation, whose file this was |
//!
//! Invariants:
//! - Nothing is written behind a record before it is durable, and no sector of a durable record is written again.
//! - So only the last record can be torn. A record that cannot be read, with a readable one of the same generation
//!   behind it, is damage; otherwise it is the end.
//! - A later generation cuts the one before it at its own first commit: what a failed append may have left there was
//!   refused, and must not count.
//!
//! | Module | What |
//! |---|---|
//! | `record` | the bytes of header and records |
//! | `file` | appending to a journal, and reading one |
//! | `folder` | the journals beside a data file |

mod file;
mod folder;
mod record;

pub use file::{Beginning, Journal, JournalError, beginning, read};
pub use folder::Folder;
pub use record::{FileId, Header};
