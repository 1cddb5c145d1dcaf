//! Lines for the operator on standard error: one event a line.
//!
//! A server writes `2026-11-27T18:00:00.123Z WARN text`, so that every line says when it was and who must look at it. A
//! command that ends soon writes the text alone, after `error:` or `warning:`. Which lines are written can change while
//! the server runs ([`begin`]).

use std::fmt::{Arguments, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use heliograph_core::engine::settings::{LOG_LEVELS, Settings};

use crate::clock;

/// Who must look at a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Somebody, now.
    Error,
    /// Somebody, some day.
    Warn,
    /// Nobody.
    Info,
}

static LEVEL: AtomicU8 = AtomicU8::new(Level::Info as u8);
/// Lines so far, by level.
static LINES: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
static ACCESS: AtomicBool = AtomicBool::new(false);
static DATED: AtomicBool = AtomicBool::new(false);

/// Begins the log of a server, or goes on with other settings.
pub fn begin(settings: &Settings) {
    let level = LOG_LEVELS.iter().position(|name| *name == settings.log_level);
    let level = level.and_then(|level| u8::try_from(level).ok()).unwrap_or(Level::Info as u8);
    LEVEL.store(level, Ordering::Relaxed);
    ACCESS.store(settings.access_log && level >= Level::Info as u8, Ordering::Relaxed);
    DATED.store(true, Ordering::Relaxed);
}

/// Whether every request gets a line.
pub fn has_requests() -> bool {
    ACCESS.load(Ordering::Relaxed)
}

/// Lines so far, by level, also those that were not written.
pub fn counts() -> [(&'static str, u64); 3] {
    let counts = LINES.each_ref().map(|lines| lines.load(Ordering::Relaxed));
    std::array::from_fn(|at| (LOG_LEVELS[at], counts[at]))
}

/// Writes a line, if lines of this level are written.
pub fn write(level: Level, text: Arguments<'_>) {
    if let Some(lines) = LINES.get(level as usize) {
        lines.fetch_add(1, Ordering::Relaxed);
    }
    if level as u8 > LEVEL.load(Ordering::Relaxed) {
        return;
    }
    let line = match DATED.load(Ordering::Relaxed) {
        true => dated(&clock::now().to_millis_text(), level, text),
        false => plain(level, text),
    };
    // Nobody can be told that the log does not take a line.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

fn dated(time: &str, level: Level, text: Arguments<'_>) -> String {
    let level = match level {
        Level::Error => "ERROR",
        Level::Warn => "WARN",
        Level::Info => "INFO",
    };
    let mut line = format!("{time} {level} ");
    // A text may quote what others sent, and must not make lines of its own.
    for char in text.to_string().chars() {
        match char.is_control() {
            true => line.extend(char.escape_default()),
            false => line.push(char),
        }
    }
    line.push('\n');
    line
}

fn plain(level: Level, text: Arguments<'_>) -> String {
    let mut line = String::from(match level {
        Level::Error => "error: ",
        Level::Warn => "warning: ",
        Level::Info => "",
    });
    // Writing into a string cannot fail.
    let _ = writeln!(line, "{text}");
    line
}

/// A line that somebody must look at now.
macro_rules! error {
    ($($text:tt)*) => { $crate::log::write($crate::log::Level::Error, format_args!($($text)*)) };
}

/// A line that somebody must look at some day.
macro_rules! warning {
    ($($text:tt)*) => { $crate::log::write($crate::log::Level::Warn, format_args!($($text)*)) };
}

/// A line that says how things are.
macro_rules! info {
    ($($text:tt)*) => { $crate::log::write($crate::log::Level::Info, format_args!($($text)*)) };
}

pub(crate) use {error, info, warning};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_its_text_quotes() {
        let text = "no\nsuch\tthing\u{1b}[2J: ü";
        let line = dated("2026-11-27T18:00:00.123Z", Level::Warn, format_args!("{text}"));
        assert_eq!(line, "2026-11-27T18:00:00.123Z WARN no\\nsuch\\tthing\\u{1b}[2J: ü\n");
        assert_eq!(plain(Level::Error, format_args!("no")), "error: no\n");
        assert_eq!(plain(Level::Info, format_args!("done")), "done\n");
    }

    /// The settings and the levels here are two lists of the same words.
    #[test]
    fn levels_are_those_of_the_setting() {
        let levels = [Level::Error, Level::Warn, Level::Info];
        assert_eq!(levels.map(|level| level as usize), [0, 1, 2]);
        assert_eq!(LOG_LEVELS, ["error", "warn", "info"]);
    }
}
