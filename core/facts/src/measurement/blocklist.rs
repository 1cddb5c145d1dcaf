//! Block lists: plain hosts, AutoProxy rules, CSV with a `domain` column.
//!
//! Only a rule that names a whole domain becomes an entry. Rules about URLs, elements of pages, ports, keywords,
//! wildcards, top-level domains, patterns and exceptions are counted as `not_a_domain` (decision kinds-of-lists). A CSV
//! may have a column with the date since which each domain is listed.

use std::io::BufRead;

use csv::{ByteRecord, ReaderBuilder};

use super::domain::{TargetKey, host_of};
use super::input::{Input, Line, strip_bom};
use super::rows::Rows;
use super::types::{ImportCounts, ImportError, Rejection};
use crate::Timestamp;

const NOT_A_DOMAIN: Rejection = Rejection::Unsupported("not_a_domain");

/// The date is in the future, so it cannot be right.
const DATE_AHEAD: Rejection = Rejection::Unusable("date_ahead");

/// Takes a domain and the date in its row, and returns whether the domain was new.
type Sink<'s> = &'s mut dyn FnMut(TargetKey, Option<Timestamp>) -> bool;

/// Reads one list. Every date that `sink` gets is at `now` or before.
pub fn import(
    reader: &mut dyn BufRead,
    limit: u64,
    now: Timestamp,
    sink: Sink<'_>,
) -> Result<ImportCounts, ImportError> {
    let mut list = List { now, sink, counts: ImportCounts::default() };
    let mut input = Input::open(reader, limit)?;
    let (mut line, mut layout) = (Vec::new(), None);
    loop {
        match input.next_line(&mut line)? {
            Line::End => return Ok(list.counts),
            Line::TooLong => {
                list.counts.reject(Rejection::Refused("row_too_long"));
                continue;
            }
            Line::Read => {}
        }
        let Ok(text) = std::str::from_utf8(strip_bom(&line)).map(str::trim) else {
            list.counts.reject(Rejection::Refused("not_utf8"));
            continue;
        };
        // The first line with content shows the layout.
        match &layout {
            _ if text.is_empty() => {}
            None if is_comment(text) => {}
            None => match Layout::detect(text) {
                Layout::Csv(columns) => return list.table(input, &columns),
                Layout::AutoProxy => layout = Some(Layout::AutoProxy),
                Layout::Plain => {
                    layout = Some(Layout::Plain);
                    list.line(text);
                }
            },
            Some(Layout::AutoProxy) => list.take(autoproxy(text), None),
            Some(_) => list.line(text),
        }
    }
}

/// A list while it is read.
struct List<'s> {
    now: Timestamp,
    sink: Sink<'s>,
    counts: ImportCounts,
}

impl List<'_> {
    /// Counts an entry: a domain, nothing (a comment), or a rejection.
    fn take(&mut self, read: Result<Option<TargetKey>, Rejection>, since: Option<Timestamp>) {
        match read {
            Ok(None) => {}
            Ok(Some(_)) if since.is_some_and(|since| since > self.now) => self.counts.reject(DATE_AHEAD),
            Ok(Some(target)) => match (self.sink)(target, since) {
                true => self.counts.accepted += 1,
                false => self.counts.duplicate += 1,
            },
            Err(rejection) => self.counts.reject(rejection),
        }
    }

    /// Reads a line of a plain list. A line of a hosts file may have several names after its address; each is an entry.
    fn line(&mut self, line: &str) {
        match hosts(line) {
            Some(names) => names.for_each(|name| self.take(domain(name), None)),
            None => self.take(plain(line), None),
        }
    }

    /// Reads the rows after a header. A field in quotes may span several lines.
    fn table(mut self, input: Input<'_>, columns: &Columns) -> Result<ImportCounts, ImportError> {
        let mut rows = Rows::of(input, columns.separator);
        let mut record = ByteRecord::new();
        while rows.next(&mut record, &mut self.counts)? {
            let text = |at: usize| record.get(at).map(|field| std::str::from_utf8(field).map(str::trim));
            // A date that cannot be read is not guessed: the entry then counts as old as its list.
            let since = columns.date.and_then(text).and_then(Result::ok).and_then(Timestamp::parse);
            let read = match text(columns.domain) {
                None => Err(Rejection::Refused("bad_row")),
                Some(Err(_)) => Err(Rejection::Refused("not_utf8")),
                Some(Ok("")) if record.len() == 1 => Ok(None),
                Some(Ok(entry)) => plain(entry),
            };
            self.take(read, since);
        }
        Ok(self.counts)
    }
}

/// The layout of a list.
enum Layout {
    Plain,
    AutoProxy,
    Csv(Columns),
}

/// The columns of a CSV that are used.
struct Columns {
    domain: usize,
    date: Option<usize>,
    separator: u8,
}

/// True if a first line shows the layout of the lines after it.
pub fn is_header(line: &[u8]) -> bool {
    std::str::from_utf8(strip_bom(line)).is_ok_and(|line| !matches!(Layout::detect(line.trim()), Layout::Plain))
}

/// True if a line could be an entry of a plain list.
pub fn is_entry(line: &str) -> bool {
    hosts(line).is_some() || matches!(plain(line), Ok(Some(_))) || line.starts_with("||")
}

/// Names of a column with the entries.
const COLUMNS: [&str; 8] = ["domain", "domains", "domain_name", "host", "hostname", "url", "site", "fqdn"];

/// Names of a column with the date since which an entry is listed.
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
    fn detect(line: &str) -> Layout {
        if line.to_ascii_lowercase().starts_with("[autoproxy") || line.starts_with("[Adblock") {
            return Layout::AutoProxy;
        }
        for separator in [b',', b';', b'\t'] {
            let names = fields(line, separator);
            let find = |known: &[&str]| {
                names.iter().position(|name| known.contains(&name.trim().to_ascii_lowercase().as_str()))
            };
            if let Some(domain) = find(&COLUMNS) {
                return Layout::Csv(Columns { domain, date: find(&DATES), separator });
            }
        }
        Layout::Plain
    }
}

/// The fields of a first line.
fn fields(line: &str, separator: u8) -> Vec<String> {
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator).from_reader(line.as_bytes());
    let record = reader.records().next().and_then(Result::ok);
    record.iter().flatten().map(str::to_owned).collect()
}

fn is_comment(line: &str) -> bool {
    line.starts_with(['#', '!', ';']) || line.starts_with("//")
}

/// The names in a line of a hosts file that gives them a loopback or unspecified address; `None` for any other line.
fn hosts(line: &str) -> Option<impl Iterator<Item = &str>> {
    let mut words = line.split('#').next().unwrap_or("").split_whitespace();
    let address: std::net::IpAddr = words.next()?.parse().ok()?;
    let mut words = words.peekable();
    words.peek().filter(|_| address.is_loopback() || address.is_unspecified())?;
    Some(words)
}

/// An entry of a plain list: a host, or a URL of a whole site.
fn plain(line: &str) -> Result<Option<TargetKey>, Rejection> {
    if is_comment(line) {
        return Ok(None);
    }
    // These rules came without the line that names their grammar.
    if line.starts_with("||") || is_about_elements(line) {
        return autoproxy(line);
    }
    domain(line.split('#').next().unwrap_or("").trim())
}

/// True if a rule of Adblock's grammar hides or changes parts of a page: `example.org##.banner`, `example.org#@#div`.
fn is_about_elements(line: &str) -> bool {
    line.match_indices('#').any(|(at, _)| {
        let behind = line.get(at + 1..).unwrap_or("").trim_start_matches(['@', '?', '$', '%']);
        // A `#` after a space begins a note.
        behind.starts_with('#') && !line.get(..at).is_some_and(|before| before.ends_with(char::is_whitespace))
    })
}

/// A rule of the AutoProxy grammar (a subset of Adblock's).
fn autoproxy(line: &str) -> Result<Option<TargetKey>, Rejection> {
    if line.starts_with('!') || line.starts_with('[') {
        return Ok(None);
    }
    if line.starts_with("@@") || line.starts_with('/') || line.contains(['$', '#']) {
        return Err(NOT_A_DOMAIN);
    }
    if let Some(rule) = line.strip_prefix("||") {
        return domain(rule.trim_end_matches(['^', '/']));
    }
    // `|http://...` is a URL prefix, and a bare word is a keyword of URLs; `.example.org` means the domain.
    if line.starts_with('|') {
        return Err(NOT_A_DOMAIN);
    }
    domain(line.strip_prefix('.').filter(|rest| rest.contains('.')).unwrap_or(line))
}

/// Last labels of names that do not exist on the open Internet.
const LOCAL: [&str; 6] = ["local", "localdomain", "localhost", "lan", "internal", "arpa"];

/// A whole domain, or `not_a_domain`.
fn domain(entry: &str) -> Result<Option<TargetKey>, Rejection> {
    let (scheme, after_scheme) = entry.split_once("://").unwrap_or(("", entry));
    let (authority, path) = after_scheme.split_once('/').unwrap_or((after_scheme, ""));
    // With `@` the entry is an exception, a mail address or a URL with a user. None of them blocks a whole site.
    if !path.is_empty() || entry.contains(['*', '?', '%', '=', '|', '^', ' ', '\\', '@', '#']) {
        return Err(NOT_A_DOMAIN);
    }
    // A single port is not the whole site, unless it is the usual port of the scheme.
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let usual = matches!((scheme, port), (_, None) | ("http", Some("80")) | ("https", Some("443")));
    let host = host_of(entry);
    let local = host
        .trim_end_matches('.')
        .rsplit('.')
        .next()
        .is_some_and(|label| LOCAL.iter().any(|name| label.eq_ignore_ascii_case(name)));
    if !usual || local {
        return Err(NOT_A_DOMAIN);
    }
    // A leading dot before one label means a top-level domain (`.ua`); before several labels, a domain with its
    // subdomains.
    TargetKey::from_host(host.trim_start_matches('.')).map(Some).map_err(|_| NOT_A_DOMAIN)
}
