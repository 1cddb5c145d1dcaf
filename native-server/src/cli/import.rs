//! `heliograph import`: files go, piece by piece, to the operator's import route, here or at a server.
//!
//! Importing twice changes nothing, so a piece whose fate is unknown is simply sent again, and an import that broke off
//! is run again (ruling foundation-relay 22).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use http::Method;
use indicatif::{ProgressBar, ProgressStyle};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::args::{Common, Import};
use super::chunks::Chunks;
use super::client::Client;

/// Bytes of one piece; the route reads four times as many.
const PIECE: usize = 1 << 20;
/// How often a piece is sent before the import gives up, with growing pauses between.
const ATTEMPTS: u32 = 6;

/// What became of the rows of one country.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct CountryResult {
    #[serde(default)]
    new: u64,
    #[serde(default)]
    known: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// What became of the lines; each is in one of the five counts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Summary {
    accepted: u64,
    duplicate: u64,
    unsupported: u64,
    unusable: u64,
    refused: u64,
    #[serde(default)]
    reasons: BTreeMap<String, u64>,
    #[serde(default)]
    countries: BTreeMap<String, CountryResult>,
}

impl Summary {
    fn add(&mut self, other: Summary) {
        self.accepted += other.accepted;
        self.duplicate += other.duplicate;
        self.unsupported += other.unsupported;
        self.unusable += other.unusable;
        self.refused += other.refused;
        for (reason, count) in other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
        for (code, result) in other.countries {
            self.country(code, result);
        }
    }

    fn country(&mut self, code: String, result: CountryResult) {
        let entry = self.countries.entry(code).or_default();
        entry.new += result.new;
        entry.known += result.known;
        entry.error = result.error.or(entry.error.take());
    }

    fn failed(&self) -> Vec<String> {
        self.countries.iter().filter(|(_, result)| result.error.is_some()).map(|(code, _)| code.clone()).collect()
    }

    /// Lines that were understood, whatever they say.
    fn readable(&self) -> u64 {
        self.accepted + self.duplicate + self.unsupported + self.unusable
    }
}

/// The whole import, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Report<'a> {
    kind: &'a str,
    dry_run: bool,
    files: usize,
    /// Files that could not be opened or read to their end.
    unreadable: BTreeMap<String, String>,
    #[serde(flatten)]
    summary: Summary,
}

pub fn run(common: &Common, import: &Import) -> Result<(), String> {
    let client = Client::open(common, !import.dry_run)?;
    let mut report = Report {
        kind: &import.kind,
        dry_run: import.dry_run,
        files: import.files.len(),
        unreadable: BTreeMap::new(),
        summary: Summary::default(),
    };
    for file in &import.files {
        match one_file(&client, import, file, &mut report.summary) {
            Ok(()) => {}
            Err(Failure::Unreadable(error)) => {
                eprintln!("error: {}: {error}", file.display());
                report.unreadable.insert(file.display().to_string(), error);
            }
            Err(Failure::Refused(error)) => {
                print(&report, import.json)?;
                return Err(format!("{}: {error}; run it again to go on", file.display()));
            }
        }
    }
    print(&report, import.json)?;
    match report.summary.readable() {
        0 => Err("nothing could be read".to_owned()),
        _ => Ok(()),
    }
}

enum Failure {
    Unreadable(String),
    Refused(String),
}

fn one_file(client: &Client, import: &Import, file: &Path, total: &mut Summary) -> Result<(), Failure> {
    let unreadable = |error: std::io::Error| Failure::Unreadable(error.to_string());
    let source = File::open(file).map_err(unreadable)?;
    let bar = bar(source.metadata().map_or(0, |meta| meta.len()), file);
    let mut reader = BufReader::with_capacity(64 << 10, bar.wrap_read(source));
    let gzip = reader.fill_buf().map_err(unreadable)?.starts_with(&[0x1f, 0x8b]);
    let reader: Box<dyn Read> = if gzip { Box::new(MultiGzDecoder::new(reader)) } else { Box::new(reader) };
    let csv = !matches!(import.kind.as_str(), "ooni-measurements" | "ooni-fastpath");
    let mut chunks = Chunks::new(BufReader::with_capacity(64 << 10, reader), csv, PIECE).map_err(unreadable)?;
    let path = path(import, file, import.country.as_deref());
    while let Some(piece) = chunks.next().map_err(unreadable)? {
        let piece = bytes::Bytes::from(piece);
        let mut summary = send(client, &path, &piece).map_err(Failure::Refused)?;
        repeat_failed(client, import, file, &piece, &mut summary).map_err(Failure::Refused)?;
        total.add(summary);
        bar.set_message(format!("{} accepted, {} refused", total.accepted, total.refused));
    }
    bar.finish_and_clear();
    Ok(())
}

/// Sends a piece again for the countries whose part of it failed.
fn repeat_failed(
    client: &Client,
    import: &Import,
    file: &Path,
    piece: &bytes::Bytes,
    summary: &mut Summary,
) -> Result<(), String> {
    for attempt in 1..ATTEMPTS {
        let failed = summary.failed();
        if failed.is_empty() {
            return Ok(());
        }
        pause(attempt);
        for code in failed {
            let mut again = send(client, &path(import, file, Some(&code)), piece)?;
            // The lines were counted the first time.
            if let Some(result) = again.countries.remove(&code) {
                summary.countries.insert(code, result);
            }
        }
    }
    match summary.failed().as_slice() {
        [] => Ok(()),
        failed => Err(format!("the parts of {} were not stored", failed.join(", "))),
    }
}

/// Sends a piece until it is answered, for as long as that makes sense.
fn send(client: &Client, path: &str, piece: &bytes::Bytes) -> Result<Summary, String> {
    let mut attempt = 1;
    loop {
        let error = match client.request(Method::POST, path, piece.clone()) {
            Ok(answer) if answer.status < 500 && answer.status != 429 => return answer.read(),
            Ok(answer) => match answer.read::<Summary>() {
                Ok(summary) => return Ok(summary),
                Err(error) => error,
            },
            Err(error) => error,
        };
        if attempt == ATTEMPTS {
            return Err(error);
        }
        pause(attempt);
        attempt += 1;
    }
}

fn pause(attempt: u32) {
    std::thread::sleep(Duration::from_millis(250) * 2u32.pow(attempt.min(6)));
}

fn path(import: &Import, file: &Path, country: Option<&str>) -> String {
    let mut path = format!("/v1/admin/import/{}", import.kind);
    let list = (import.kind == "test-list").then(|| list_of(file)).flatten();
    let parameters = [
        ("country", country),
        ("list", list.as_deref()),
        ("list_kind", import.list_kind.as_deref()),
        ("date", import.date.as_deref()),
        ("dry_run", import.dry_run.then_some("true")),
    ];
    for (name, value) in parameters {
        if let Some(value) = value {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(&format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
        }
    }
    path
}

/// Test lists are named after their country: `ir.csv`, `global.csv`.
fn list_of(file: &Path) -> Option<String> {
    let stem = file.file_name()?.to_str()?.split('.').next()?.to_ascii_lowercase();
    let code = stem.len() == 2 && stem.bytes().all(|byte| byte.is_ascii_alphabetic());
    (code || stem == "global").then_some(stem)
}

fn bar(bytes: u64, file: &Path) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    let style = "{prefix} {wide_bar} {bytes}/{total_bytes} {eta} {msg}";
    // The template is fixed; with the plain style the import works just as well.
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    bar.with_prefix(name)
}

fn print(report: &Report<'_>, json: bool) -> Result<(), String> {
    if json {
        println!("{}", serde_json::to_string_pretty(report).map_err(|error| error.to_string())?);
        return Ok(());
    }
    let summary = &report.summary;
    let counts = [
        ("accepted", summary.accepted),
        ("duplicate", summary.duplicate),
        ("unsupported", summary.unsupported),
        ("unusable", summary.unusable),
        ("refused", summary.refused),
    ];
    for (name, count) in counts {
        println!("{name:<12}{count:>12}");
    }
    for (reason, count) in &summary.reasons {
        println!("  {count:>10}  {reason}");
    }
    println!("countries   {:>12}", summary.countries.len());
    if report.dry_run {
        println!("nothing was stored (--dry-run)");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_lists_are_named_by_their_file() {
        let list = |name: &str| list_of(Path::new(name));
        assert_eq!(list("lists/IR.csv").as_deref(), Some("ir"));
        assert_eq!(list("global.csv.gz").as_deref(), Some("global"));
        assert_eq!(list("00-LEGEND-category_codes.csv"), None);
    }

    #[test]
    fn counts_and_countries_of_pieces_add_up() {
        let text = r#"{"kind":"asn","dry_run":false,"accepted":2,"duplicate":1,"unsupported":0,"unusable":0,"refused":3,
            "reasons":{"bad":3},"countries":{"IR":{"new":2,"known":1}},"complete":true}"#;
        let mut total = Summary::default();
        for _ in 0..2 {
            total.add(serde_json::from_str(text).unwrap());
        }
        assert_eq!((total.accepted, total.refused, total.readable()), (4, 6, 6));
        assert_eq!((total.reasons["bad"], total.countries["IR"].new), (6, 4));
        assert!(total.failed().is_empty());
    }
}
