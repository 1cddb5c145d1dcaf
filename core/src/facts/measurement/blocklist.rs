//! Block lists: plain hosts, AutoProxy rules, CSV with a `domain` column.
//!
//! Only what names a whole domain becomes an entry. Rules about URLs, elements of pages, ports, keywords, wildcards,
//! top-level domains, patterns and exceptions are counted `not_a_domain` (decision kinds-of-lists). A CSV may say in a
//! column since when each is listed.

use std::io::BufRead;

use csv::{ByteRecord, ReaderBuilder};

use super::domain::{TargetKey, host_of};
use super::input::{Input, Line, strip_bom};
use super::rows::Rows;
use super::types::{ImportCounts, ImportError, Rejection};
use crate::Timestamp;

const NOT_A_DOMAIN: Rejection = Rejection::Unsupported("not_a_domain");

/// Nobody can have listed it yet.
const DATE_AHEAD: Rejection = Rejection::Unusable("date_ahead");

/// Takes a domain with the date that its row gives it, and answers whether the domain was new.
type Sink<'s> = &'s mut dyn FnMut(TargetKey, Option<Timestamp>) -> bool;

/// Reads one list. No date that `sink` is given is after `now`.
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
        // The first line with content tells the layout.
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

/// A list as far as it was read.
struct List<'s> {
    now: Timestamp,
    sink: Sink<'s>,
    counts: ImportCounts,
}

impl List<'_> {
    /// Counts what an entry came to: a domain, nothing (a comment), or why not.
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

    /// A line of a plain list. One of a hosts file may have several names behind its address, and each is an entry.
    fn line(&mut self, line: &str) {
        match hosts(line) {
            Some(names) => names.for_each(|name| self.take(domain(name), None)),
            None => self.take(plain(line), None),
        }
    }

    /// The rows behind a header. A reason in quotes may go on over several lines.
    fn table(mut self, input: Input<'_>, columns: &Columns) -> Result<ImportCounts, ImportError> {
        let mut rows = Rows::of(input, columns.separator);
        let mut record = ByteRecord::new();
        while rows.next(&mut record, &mut self.counts)? {
            let text = |at: usize| record.get(at).map(|field| std::str::from_utf8(field).map(str::trim));
            // A date that cannot be read is not guessed: the entry is as old as its list.
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

/// How a list is written.
enum Layout {
    Plain,
    AutoProxy,
    Csv(Columns),
}

/// Where a CSV has what counts.
struct Columns {
    domain: usize,
    date: Option<usize>,
    separator: u8,
}

/// Whether a first line says how the rest is to be read.
pub fn is_header(line: &[u8]) -> bool {
    std::str::from_utf8(strip_bom(line)).is_ok_and(|line| !matches!(Layout::detect(line.trim()), Layout::Plain))
}

/// Whether a line could be an entry of a plain list.
pub fn is_entry(line: &str) -> bool {
    hosts(line).is_some() || matches!(plain(line), Ok(Some(_))) || line.starts_with("||")
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

/// The names of a line of a hosts file that leads them nowhere; `None` for any other line.
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
    // Rules without the line that names their grammar.
    if line.starts_with("||") || is_about_elements(line) {
        return autoproxy(line);
    }
    domain(line.split('#').next().unwrap_or("").trim())
}

/// Whether a rule of Adblock's grammar hides or changes parts of a page: `example.org##.banner`, `example.org#@#div`.
fn is_about_elements(line: &str) -> bool {
    line.match_indices('#').any(|(at, _)| {
        let behind = line.get(at + 1..).unwrap_or("").trim_start_matches(['@', '?', '$', '%']);
        // A note is set off by a space.
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
    // `|http://...` is a URL prefix and a bare text a keyword of URLs; `.example.org` means the domain.
    if line.starts_with('|') {
        return Err(NOT_A_DOMAIN);
    }
    domain(line.strip_prefix('.').filter(|rest| rest.contains('.')).unwrap_or(line))
}

/// Last labels of names that are none of the open Internet.
const LOCAL: [&str; 6] = ["local", "localdomain", "localhost", "lan", "internal", "arpa"];

/// A whole domain, or `not_a_domain`.
fn domain(entry: &str) -> Result<Option<TargetKey>, Rejection> {
    let (scheme, after_scheme) = entry.split_once("://").unwrap_or(("", entry));
    let (authority, path) = after_scheme.split_once('/').unwrap_or((after_scheme, ""));
    // With `@`: an exception, an address of mail, or the user of a URL, whose block is that of no whole site.
    if !path.is_empty() || entry.contains(['*', '?', '%', '=', '|', '^', ' ', '\\', '@', '#']) {
        return Err(NOT_A_DOMAIN);
    }
    // One port is not the site, unless it is the one that the scheme means anyway.
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
    // A leading dot before one label is a top-level domain (`.ua`); before more it is the domain with its subdomains.
    TargetKey::from_host(host.trim_start_matches('.')).map(Some).map_err(|_| NOT_A_DOMAIN)
}
