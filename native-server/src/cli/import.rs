//! `heliograph import`: files go, chunk by chunk, into the data file in this process or to the operator's import route of a
//! server.
//!
//! Importing twice changes nothing, so a chunk whose fate is unknown is simply sent again, and an import that broke off
//! is run again (ruling foundation-relay 22).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use heliograph_core::Timestamp;
use heliograph_core::import::{Chunker, ImportKind, Importer, ListKind, MAX_CHUNK, Options, Summary};
use heliograph_core::runtime::Runtime;
use http::Method;
use indicatif::{ProgressBar, ProgressStyle};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use tokio::task::JoinSet;

use super::args::{Common, Import};
use super::client::Client;

/// Bytes of one chunk sent to a server; its route reads four times as many, which leaves room for a long last line.
const PIECE: usize = MAX_CHUNK / 4;
/// Chunks under way at one time in this process: one is read while others are parsed and stored.
const IN_FLIGHT: usize = 3;
/// How often a chunk is sent before the import gives up, with growing pauses between.
const ATTEMPTS: u32 = 6;

/// The whole import, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Report {
    files: usize,
    /// Files that could not be opened or read to their end.
    unreadable: BTreeMap<String, String>,
    #[serde(flatten)]
    summary: Summary,
}

pub fn run(common: &Common, import: &Import) -> Result<(), String> {
    let client = Client::open(common, !import.dry_run)?;
    let kind = ImportKind::parse(&import.kind).ok_or("no such kind")?;
    let empty = Summary { kind: import.kind.clone(), dry_run: import.dry_run, complete: true, ..Summary::default() };
    let mut report = Report { files: import.files.len(), unreadable: BTreeMap::new(), summary: empty };
    let mut doors = Doors { client: &client, import, kind, importer: None };
    for file in &import.files {
        match one_file(&mut doors, file, &mut report.summary) {
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
    match report.summary.lines() - report.summary.refused {
        0 => Err("nothing could be read".to_owned()),
        _ => Ok(()),
    }
}

enum Failure {
    Unreadable(String),
    Refused(String),
}

fn unreadable(error: std::io::Error) -> Failure {
    Failure::Unreadable(error.to_string())
}

/// The ways in: this process or a server.
struct Doors<'a> {
    client: &'a Client,
    import: &'a Import,
    kind: ImportKind,
    /// Of this process: it has the fingerprints, which are fetched once; with the list that it enters.
    importer: Option<(Option<String>, Arc<Importer>)>,
}

impl Doors<'_> {
    fn importer(&mut self, rt: &dyn Runtime, list: Option<String>) -> Result<Arc<Importer>, String> {
        if let Some((known, importer)) = &self.importer
            && *known == list
        {
            return Ok(importer.clone());
        }
        let (runtime, _) = self.client.deployment().ok_or("this needs the data file")?;
        let options = options(self.import, list.clone())?;
        let importer =
            runtime.block_on(Importer::new(rt, self.kind, options)).map_err(|error| error.into_details().message)?;
        let importer = Arc::new(importer);
        self.importer = Some((list, importer.clone()));
        Ok(importer)
    }
}

fn options(import: &Import, list: Option<String>) -> Result<Options, String> {
    let date = match &import.date {
        None => None,
        Some(text) => Some(Timestamp::parse(text).ok_or_else(|| format!("--date takes a date, not {text:?}"))?),
    };
    let list_kind = import.list_kind.as_deref().and_then(ListKind::parse);
    Ok(Options { country: import.country.clone(), list, list_kind, date, dry_run: import.dry_run })
}

fn one_file(doors: &mut Doors<'_>, file: &Path, total: &mut Summary) -> Result<(), Failure> {
    let source = File::open(file).map_err(unreadable)?;
    let bar = bar(source.metadata().map_or(0, |meta| meta.len()), file);
    let mut reader = BufReader::with_capacity(64 << 10, bar.wrap_read(source));
    let list = (doors.kind == ImportKind::TestList).then(|| list_of(file)).flatten();
    let size = if doors.client.deployment().is_some() { MAX_CHUNK } else { PIECE };
    let mut chunks = Chunker::new(&mut reader, doors.kind.has_header(), size).map_err(unreadable)?;
    let mut done = |summary: Summary| {
        total.add(&summary);
        bar.set_message(format!("{} accepted, {} refused", total.accepted, total.refused));
    };
    if let Some((runtime, rt)) = doors.client.deployment() {
        let importer = doors.importer(&*rt, list).map_err(Failure::Refused)?;
        runtime.block_on(here(&rt, &importer, &mut chunks, &mut done))?;
    } else {
        there(doors, list.as_deref(), &mut chunks, &mut done)?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// Imports chunks in this process, some at a time: their order changes nothing.
async fn here(
    rt: &Arc<dyn Runtime>,
    importer: &Arc<Importer>,
    chunks: &mut Chunker<'_>,
    done: &mut impl FnMut(Summary),
) -> Result<(), Failure> {
    let mut work: JoinSet<Result<Summary, String>> = JoinSet::new();
    loop {
        while work.len() < IN_FLIGHT {
            let Some(chunk) = chunks.next_chunk().map_err(unreadable)? else { break };
            let (rt, importer) = (rt.clone(), importer.clone());
            work.spawn(async move { store(&*rt, &importer, &chunk).await });
        }
        match work.join_next().await {
            None => return Ok(()),
            Some(Ok(summary)) => done(summary.map_err(Failure::Refused)?),
            Some(Err(error)) => return Err(Failure::Refused(error.to_string())),
        }
    }
}

/// Stores a chunk; what failed is tried again, counted as it was the first time.
async fn store(rt: &dyn Runtime, importer: &Importer, chunk: &[u8]) -> Result<Summary, String> {
    let mut summary = importer.chunk(rt, chunk).await.map_err(|error| error.into_details().message)?;
    for attempt in 1..ATTEMPTS {
        let failed = failed(&summary);
        if failed.is_empty() {
            break;
        }
        tokio::time::sleep(delay(attempt)).await;
        let mut again = importer.chunk(rt, chunk).await.map_err(|error| error.into_details().message)?;
        for code in failed {
            if let Some(result) = again.countries.remove(&code) {
                summary.countries.insert(code, result);
            }
        }
    }
    settled(summary)
}

/// Sends chunks to a server, one after the other.
fn there(
    doors: &Doors<'_>,
    list: Option<&str>,
    chunks: &mut Chunker<'_>,
    done: &mut impl FnMut(Summary),
) -> Result<(), Failure> {
    let Doors { client, import, .. } = doors;
    let path_of = |country: Option<&str>| path(import, list, country);
    while let Some(chunk) = chunks.next_chunk().map_err(unreadable)? {
        let chunk = bytes::Bytes::from(chunk);
        let mut summary = send(client, &path_of(import.country.as_deref()), &chunk).map_err(Failure::Refused)?;
        for attempt in 1..ATTEMPTS {
            let failed = failed(&summary);
            if failed.is_empty() {
                break;
            }
            std::thread::sleep(delay(attempt));
            for code in failed {
                let mut again = send(client, &path_of(Some(&code)), &chunk).map_err(Failure::Refused)?;
                // The lines were counted the first time.
                if let Some(result) = again.countries.remove(&code) {
                    summary.countries.insert(code, result);
                }
            }
        }
        done(settled(summary).map_err(Failure::Refused)?);
    }
    Ok(())
}

fn failed(summary: &Summary) -> Vec<String> {
    summary.countries.iter().filter(|(_, result)| result.error.is_some()).map(|(code, _)| code.clone()).collect()
}

/// The summary of a chunk when every part of it was stored.
fn settled(mut summary: Summary) -> Result<Summary, String> {
    let causes: Vec<String> = summary
        .countries
        .iter()
        .filter_map(|(code, result)| result.error.as_ref().map(|error| format!("{code}: {error}")))
        .collect();
    summary.complete = causes.is_empty();
    if causes.is_empty() { Ok(summary) } else { Err(format!("not everything was stored ({})", causes.join("; "))) }
}

/// Sends a chunk until it is answered, for as long as that makes sense.
fn send(client: &Client, path: &str, chunk: &bytes::Bytes) -> Result<Summary, String> {
    let mut attempt = 1;
    loop {
        let error = match client.request(Method::POST, path, chunk.clone()) {
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
        std::thread::sleep(delay(attempt));
        attempt += 1;
    }
}

fn delay(attempt: u32) -> Duration {
    Duration::from_millis(250) * 2u32.pow(attempt.min(6))
}

fn path(import: &Import, list: Option<&str>, country: Option<&str>) -> String {
    let mut path = format!("/v1/admin/import/{}", import.kind);
    let parameters = [
        ("country", country),
        ("list", list),
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

fn print(report: &Report, json: bool) -> Result<(), String> {
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
    if summary.dry_run {
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
    fn a_chunk_is_settled_when_no_country_failed() {
        let text = r#"{"kind":"asn","dry_run":false,"accepted":2,"duplicate":1,"unsupported":0,"unusable":0,"refused":3,
            "reasons":{"bad":3},"countries":{"IR":{"new":2,"known":1},"KE":{"new":0,"known":0,"error":"full"}},
            "complete":false}"#;
        let mut summary: Summary = serde_json::from_str(text).unwrap();
        assert_eq!(failed(&summary), ["KE"]);
        assert!(settled(summary.clone()).unwrap_err().contains("KE: full"));
        summary.countries.remove("KE");
        assert!(settled(summary).unwrap().complete);
    }
}
