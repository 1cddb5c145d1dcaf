//! Lines for the operator on standard error: one event a line (decision log-lines).
//!
//! A server writes `2026-11-27T18:00:00.123Z WARN heliograph::fetch text`, so that every line says when it was, who must
//! look at it, and which part of the program writes it; while a request is answered, also which one. With the setting
//! `log_format = "json"` the same is an object. A command that ends soon writes the text alone, after `error:` or
//! `warning:`. What is written can change while the server runs ([`begin`]).
//!
//! Only events of this program are written, not those of its libraries: they would show heads and bodies.

use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use heliograph_core::engine::settings::{LOG_LEVELS, Settings};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{self as lines, FmtContext};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Registry, reload};

use crate::clock;
use crate::trace::{self, Trace};

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The text of a command.
    Plain,
    Text,
    Json,
}

static FORM: AtomicU8 = AtomicU8::new(Form::Plain as u8);
/// Lines so far, of the levels that somebody counts.
static LINES: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
static ACCESS: AtomicBool = AtomicBool::new(false);
static LEVELS: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

fn form() -> Form {
    match FORM.load(Ordering::Relaxed) {
        form if form == Form::Text as u8 => Form::Text,
        form if form == Form::Json as u8 => Form::Json,
        _ => Form::Plain,
    }
}

/// Lines of this program of this level and of those before it.
fn targets(level: LevelFilter) -> Targets {
    Targets::new().with_target("heliograph", level)
}

thread_local! {
    /// Whether a panic of this thread is an answer that its caller waits for.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs what may panic on damaged data. The caller says what is wrong in its own words, so nothing is told of the panic.
pub fn expecting_panics<T>(work: impl FnOnce() -> T) -> std::thread::Result<T> {
    EXPECTED.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(false);
    done
}

/// Has lines written, as a command writes them. A second call changes nothing.
pub fn install() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !EXPECTED.get() {
            usual(panic);
        }
    }));
    let (levels, handle) = reload::Layer::new(targets(LevelFilter::INFO));
    let lines = lines::layer().with_writer(std::io::stderr).with_ansi(false).event_format(Line);
    if tracing::subscriber::set_global_default(Registry::default().with(levels).with(lines)).is_ok() {
        let _ = LEVELS.set(handle);
    }
}

/// Begins the log of a server, or goes on with other settings.
pub fn begin(settings: &Settings) {
    let level = match settings.log_level.as_str() {
        "error" => LevelFilter::ERROR,
        "warn" => LevelFilter::WARN,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => LevelFilter::INFO,
    };
    let form = if settings.log_format == "json" { Form::Json } else { Form::Text };
    FORM.store(form as u8, Ordering::Relaxed);
    ACCESS.store(settings.access_log && level >= LevelFilter::INFO, Ordering::Relaxed);
    if let Some(levels) = LEVELS.get() {
        // It fails only when the log is gone.
        let _ = levels.reload(targets(level));
    }
}

/// Whether every request gets a line.
pub fn has_requests() -> bool {
    ACCESS.load(Ordering::Relaxed)
}

/// Lines so far of errors, warnings and news, also those that were not written.
pub fn counts() -> [(&'static str, u64); 3] {
    let counts = LINES.each_ref().map(|lines| lines.load(Ordering::Relaxed));
    std::array::from_fn(|at| (LOG_LEVELS[at], counts[at]))
}

/// Counts a line of the level with this number in [`LOG_LEVELS`].
pub fn count(level: usize) {
    if let Some(lines) = LINES.get(level) {
        lines.fetch_add(1, Ordering::Relaxed);
    }
}

/// A line that somebody must look at now.
macro_rules! error {
    ($($text:tt)*) => {{
        $crate::log::count(0);
        tracing::error!($($text)*);
    }};
}

/// A line that somebody must look at some day.
macro_rules! warning {
    ($($text:tt)*) => {{
        $crate::log::count(1);
        tracing::warn!($($text)*);
    }};
}

/// A line that says how things are.
macro_rules! info {
    ($($text:tt)*) => {{
        $crate::log::count(2);
        tracing::info!($($text)*);
    }};
}

/// A line that helps to find a fault.
macro_rules! debug {
    ($($text:tt)*) => { tracing::debug!($($text)*) };
}

pub(crate) use {debug, error, info, warning};

/// Writes an event as one line.
struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut said = Said::default();
        event.record(&mut said);
        let (level, target) = (*event.metadata().level(), event.metadata().target());
        let time = || clock::now().to_millis_text();
        to.write_str(&match form() {
            Form::Plain => plain(level, &said.message),
            Form::Text => dated(&time(), (level, target), trace::current(), &said.message),
            Form::Json => json(&time(), (level, target), trace::current(), said),
        })
    }
}

/// What an event says.
#[derive(Debug, Default)]
struct Said {
    message: String,
    others: Map<String, Value>,
}

impl Said {
    fn take(&mut self, field: &Field, value: Value) {
        self.others.insert(field.name().to_owned(), value);
    }
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            // Writing into a string cannot fail.
            "message" => drop(write!(self.message, "{value:?}")),
            _ => self.take(field, format!("{value:?}").into()),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            _ => self.take(field, value.into()),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.take(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.take(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.take(field, value.into());
    }
}

fn dated(time: &str, (level, target): (Level, &str), trace: Option<Trace>, text: &str) -> String {
    let mut line = format!("{time} {level} {target} ");
    if let Some(trace) = trace {
        // Writing into a string cannot fail.
        let _ = write!(line, "request={} ", trace.request());
    }
    // A text may quote what others sent, and must not make lines of its own.
    for char in text.chars() {
        match char.is_control() {
            true => line.extend(char.escape_default()),
            false => line.push(char),
        }
    }
    line.push('\n');
    line
}

fn json(time: &str, (level, target): (Level, &str), trace: Option<Trace>, said: Said) -> String {
    let mut line = Map::new();
    line.insert("time".into(), time.into());
    line.insert("level".into(), level.as_str().into());
    line.insert("target".into(), target.into());
    if let Some(trace) = trace {
        line.insert("request".into(), trace.request().into());
        line.insert("trace_id".into(), trace.trace_id().into());
        line.insert("span_id".into(), trace.span_id().into());
    }
    line.insert("message".into(), said.message.into());
    line.extend(said.others);
    format!("{}\n", Value::Object(line))
}

fn plain(level: Level, text: &str) -> String {
    let before = match level {
        Level::ERROR => "error: ",
        Level::WARN => "warning: ",
        _ => "",
    };
    format!("{before}{text}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_its_text_quotes() {
        let (time, text) = ("2026-11-27T18:00:00.123Z", "no\nsuch\tthing\u{1b}[2J: ü");
        let line = dated(time, (Level::WARN, "heliograph::fetch"), None, text);
        assert_eq!(line, "2026-11-27T18:00:00.123Z WARN heliograph::fetch no\\nsuch\\tthing\\u{1b}[2J: ü\n");
        assert_eq!(plain(Level::ERROR, "no"), "error: no\n");
        assert_eq!(plain(Level::INFO, "done"), "done\n");
        let mut said = Said { message: text.to_owned(), ..Said::default() };
        said.others.insert("status".into(), 200.into());
        let line = json(time, (Level::INFO, "heliograph::access"), None, said);
        assert_eq!(line.matches('\n').count(), 1);
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((value["message"].as_str(), value["status"].as_u64()), (Some(text), Some(200)));
        assert_eq!((value["level"].as_str(), value["time"].as_str()), (Some("INFO"), Some(time)));
    }

    /// The settings and the levels here are two lists of the same words.
    #[test]
    fn levels_are_those_of_the_setting() {
        for name in LOG_LEVELS {
            assert_eq!(name.parse::<LevelFilter>().unwrap().to_string(), name);
        }
        assert_eq!(LOG_LEVELS[..3], ["error", "warn", "info"]);
    }
}
