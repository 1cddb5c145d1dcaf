//! Block lists: plain hosts, AutoProxy rules, CSV with a `domain` column.
//!
//! Only what names a whole domain becomes an entry. Rules about URLs, keywords, wildcards, top-level domains, patterns
//! and exceptions are counted `not_a_domain` (ruling intelligence 28). A CSV may say in a column since when each is listed.

use std::io::BufRead;

use csv::ReaderBuilder;

use super::domain::{TargetKey, host_of};
use super::input::{each_line, strip_bom};
use super::types::{ImportCounts, ImportError, Rejection};
use crate::Timestamp;

const NOT_A_DOMAIN: Rejection = Rejection::Unsupported("not_a_domain");

/// Nobody can have listed it yet.
const DATE_AHEAD: Rejection = Rejection::Unusable("date_ahead");

/// Reads one list; `sink` takes a domain with the date that its row gives it, which is not after `now`, and answers whether
/// the domain was new.
pub fn import(
    reader: &mut dyn BufRead,
    limit: u64,
    now: Timestamp,
    sink: &mut dyn FnMut(TargetKey, Option<Timestamp>) -> bool,
) -> Result<ImportCounts, ImportError> {
    let mut layout = Layout::Unknown;
    each_line(reader, limit, &mut |counts, line| {
        let Ok(text) = std::str::from_utf8(line) else { return counts.reject(Rejection::Refused("not_utf8")) };
        match layout.read(text.trim()) {
            Ok(None) => {}
            Ok(Some((_, Some(since)))) if since > now => counts.reject(DATE_AHEAD),
            Ok(Some((target, since))) if sink(target.clone(), since) => counts.accepted += 1,
            Ok(Some(_)) => counts.duplicate += 1,
            Err(rejection) => counts.reject(rejection),
        }
    })
}

/// The layout, told by the first line with content.
enum Layout {
    Unknown,
    Plain,
    AutoProxy,
    /// The position of the domain column, that of the date if there is one, and what separates columns.
    Csv(usize, Option<usize>, u8),
}

/// Whether a first line says how the rest is to be read.
pub fn is_header(line: &[u8]) -> bool {
    std::str::from_utf8(strip_bom(line)).is_ok_and(|line| !matches!(Layout::detect(line.trim()), Layout::Plain))
}

/// What a column with the entries is called.
const COLUMNS: [&str; 8] = ["domain", "domains", "domain_name", "host", "hostname", "url", "site", "fqdn"];

/// What a column with the day since which an entry is listed is called.
const DATES: [&str; 10] = [
    "date",
    "since",
    "date_blocked",
    "blocked_date",
    "blocked_on",
    "block_date",
    "date_added",
    "listed_on",
    "added",
    "decision_date",
];

impl Layout {
    /// Reads one line: an entry with its date, nothing (comment, header, blank), or why not.
    fn read(&mut self, line: &str) -> Result<Option<(TargetKey, Option<Timestamp>)>, Rejection> {
        if line.is_empty() {
            return Ok(None);
        }
        if let Layout::Unknown = self {
            if is_comment(line) {
                return Ok(None);
            }
            *self = Layout::detect(line);
            if !matches!(self, Layout::Plain) {
                return Ok(None);
            }
        }
        let undated = |target: Option<TargetKey>| target.map(|target| (target, None));
        match self {
            Layout::AutoProxy => autoproxy(line).map(undated),
            Layout::Csv(column, date, separator) => {
                let fields = fields(line, *separator);
                let field = fields.get(*column).ok_or(Rejection::Refused("bad_row"))?;
                // A date that cannot be read is not guessed: the entry is as old as its list.
                let since = date.and_then(|at| fields.get(at)).and_then(|text| Timestamp::parse(text.trim()));
                Ok(plain(field.trim())?.map(|target| (target, since)))
            }
            Layout::Plain | Layout::Unknown => plain(line).map(undated),
        }
    }

    fn detect(line: &str) -> Layout {
        if line.to_ascii_lowercase().starts_with("[autoproxy") || line.starts_with("[Adblock") {
            return Layout::AutoProxy;
        }
        for separator in [b',', b';', b'\t'] {
            let names = fields(line, separator);
            let find = |known: &[&str]| {
                names.iter().position(|name| known.contains(&name.trim().to_ascii_lowercase().as_str()))
            };
            if let Some(column) = find(&COLUMNS) {
                return Layout::Csv(column, find(&DATES), separator);
            }
        }
        Layout::Plain
    }
}

/// The fields of one row.
fn fields(line: &str, separator: u8) -> Vec<String> {
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator).from_reader(line.as_bytes());
    let record = reader.records().next().and_then(Result::ok);
    record.iter().flatten().map(str::to_owned).collect()
}

fn is_comment(line: &str) -> bool {
    line.starts_with(['#', '!', ';']) || line.starts_with("//")
}

/// A line of a plain list: a host, a hosts-file line, or a URL of a whole site.
fn plain(line: &str) -> Result<Option<TargetKey>, Rejection> {
    if is_comment(line) {
        return Ok(None);
    }
    // Rules without the line that names their grammar.
    if line.starts_with("||") {
        return autoproxy(line);
    }
    let entry = line.split('#').next().unwrap_or("").trim();
    let entry = match entry.split_once(char::is_whitespace) {
        Some(("0.0.0.0" | "127.0.0.1" | "::1" | "::", host)) => host.trim(),
        _ => entry,
    };
    domain(entry)
}

/// A rule of the AutoProxy grammar (a subset of Adblock's).
fn autoproxy(line: &str) -> Result<Option<TargetKey>, Rejection> {
    if line.starts_with('!') || line.starts_with('[') {
        return Ok(None);
    }
    if line.starts_with("@@") || line.starts_with('/') || line.contains('$') {
        return Err(NOT_A_DOMAIN);
    }
    if let Some(rule) = line.strip_prefix("||") {
        return domain(rule.trim_end_matches(['^', '/']));
    }
    // `|http://...` is a URL prefix and a bare text a keyword of URLs; `.example.org` means the domain.
    if line.starts_with('|') {
        return Err(NOT_A_DOMAIN);
    }
    domain(line.strip_prefix('.').filter(|rest| rest.contains('.')).unwrap_or(line))
}

/// A whole domain, or `not_a_domain`.
fn domain(entry: &str) -> Result<Option<TargetKey>, Rejection> {
    let after_scheme = entry.split_once("://").map_or(entry, |(_, rest)| rest);
    let path = after_scheme.split_once('/').map_or("", |(_, path)| path);
    if !path.is_empty() || entry.contains(['*', '?', '%', '=', '|', '^', ' ', '\\']) {
        return Err(NOT_A_DOMAIN);
    }
    let host = host_of(entry);
    // A leading dot before one label is a top-level domain (`.ua`); before more it is the domain with its subdomains.
    TargetKey::from_host(host.trim_start_matches('.')).map(Some).map_err(|_| NOT_A_DOMAIN)
}
