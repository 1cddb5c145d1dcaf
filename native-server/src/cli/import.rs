//! `heliograph import`: puts files, chunk by chunk, into the data file in this process or sends them to the import
//! route of a server.
//!
//! Importing twice changes nothing. So a chunk without an answer is sent again, and an interrupted import is run again
//! (decision repeatable-import-chunks).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use heliograph_core::engine::runtime::Runtime;
use heliograph_core::facts::measurement::ImportCounts;
use heliograph_core::intelligence::import::{
    Batch, Chunker, ImportKind, Importer, ListKind, Looks, MAX_CHUNK, Options, Ready, Summary, looks,
};
use heliograph_core::{ErrorCode, Timestamp};
use http::Method;
use indicatif::{ProgressBar, ProgressStyle};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use tokio::task::{JoinHandle, JoinSet};

use super::args::{Common, Import};
use super::client::Client;
use super::spill::Spill;
use crate::files::Tried;

/// Bytes of one chunk sent to a server. The route reads four times as many, which leaves room for a long last line.
const PIECE: usize = MAX_CHUNK / 4;
/// Chunks in progress at one time in this process: one is read while others are parsed and stored.
const IN_FLIGHT: usize = 3;
/// Measurements in one sorted run; two runs in memory take some 60 MB.
const BATCH: usize = 400_000;
/// Most runs that are merged at once. They take some 2 GB of disk, and an interrupted import loses at most this much.
const RUNS: usize = 40;
/// Attempts to send a chunk before the import gives up, with growing pauses between.
const ATTEMPTS: u32 = 6;

/// The output of `--json` for the whole import.
#[derive(Debug, Serialize)]
struct Report {
    files: usize,
    /// Files that could not be opened, or not be read to their end.
    unreadable: BTreeMap<String, String>,
    #[serde(flatten)]
    summary: Summary,
}

pub fn run(common: &Common, import: &Import) -> Result<(), String> {
    let client = Client::open(common, !import.dry_run)?;
    let kind = ImportKind::parse(&import.kind).ok_or("no such kind")?;
    let empty = Summary { kind: import.kind.clone(), dry_run: import.dry_run, complete: true, ..Summary::default() };
    let mut report = Report { files: import.files.len(), unreadable: BTreeMap::new(), summary: empty };
    let mut read = false;
    let mut doors = Doors { client: &client, import, data: &common.data, kind, importer: None };
    for file in &import.files {
        match one_file(&mut doors, file, &mut report.summary) {
            Ok(held) => read |= held,
            Err(failure @ (Failure::Io(_) | Failure::Unreadable(_))) => {
                let error = failure.told(file);
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
    let counts = &report.summary.counts;
    // An answer in the right format but without rows is a success: a job that asks every hour must not fail over it.
    let without_rows = read && counts.lines() == 0;
    let anything = without_rows || counts.lines() > counts.refused;
    match report.unreadable.len() {
        _ if !anything => Err("nothing could be read".to_owned()),
        0 => Ok(()),
        1 => Err("one file could not be read, or not to its end".to_owned()),
        some => Err(format!("{some} files could not be read, or not to their end")),
    }
}

enum Failure {
    Io(std::io::Error),
    Unreadable(String),
    Refused(String),
}

impl Failure {
    /// The reason, where the file is named already.
    fn told(self, file: &Path) -> String {
        match self {
            Failure::Io(error) => Tried::Read.why(file, &error),
            Failure::Unreadable(error) | Failure::Refused(error) => error,
        }
    }
}

/// A chunk in another format is an error of the file; any other refusal may succeed later.
fn refused(code: ErrorCode, message: String) -> Failure {
    match code {
        ErrorCode::BadRequest | ErrorCode::PayloadTooLarge => Failure::Unreadable(message),
        _ => Failure::Refused(message),
    }
}

/// The two ways to import: in this process or at a server.
struct Doors<'a> {
    client: &'a Client,
    import: &'a Import,
    data: &'a Path,
    kind: ImportKind,
    /// The importer of this process, with the name of the list. It holds the fingerprints, which are read once.
    importer: Option<(Option<String>, Arc<Importer>)>,
}

impl Doors<'_> {
    fn importer(&mut self, rt: &dyn Runtime, list: Option<String>) -> Result<Arc<Importer>, Failure> {
        if let Some((known, importer)) = &self.importer
            && *known == list
        {
            return Ok(importer.clone());
        }
        let (runtime, _) =
            self.client.deployment().ok_or_else(|| Failure::Refused("this needs the data file".to_owned()))?;
        let options = options(self.import, list.clone()).map_err(Failure::Unreadable)?;
        let importer = runtime
            .block_on(Importer::new(rt, self.kind, options))
            .map_err(|error| refused(error.code, error.into_details().message.into_owned()))?;
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
    Ok(Options { country: import.country.clone(), list, list_kind, date, dry_run: import.dry_run, epoch: None })
}

/// Imports a file; true if it held anything.
fn one_file(doors: &mut Doors<'_>, file: &Path, total: &mut Summary) -> Result<bool, Failure> {
    let source = File::open(file).map_err(Failure::Io)?;
    let bar = bar(source.metadata().map_or(0, |meta| meta.len()), file);
    let mut reader = BufReader::with_capacity(64 << 10, bar.wrap_read(source));
    let list =
        matches!(doors.kind, ImportKind::TestList | ImportKind::Fingerprints).then(|| list_of(doors.import, file));
    let size = if doors.client.deployment().is_some() { MAX_CHUNK } else { PIECE };
    let mut chunks = Chunker::new(&mut reader, doors.kind.cut(), size).map_err(Failure::Io)?;
    let mut of_file = ImportCounts::default();
    let mut done = |summary: Summary| {
        of_file.add(&summary.counts);
        total.add(&summary);
        bar.set_message(format!("{} accepted, {} refused", total.counts.accepted, total.counts.refused));
    };
    if let Some((runtime, rt)) = doors.client.deployment() {
        let importer = doors.importer(&*rt, list)?;
        runtime.block_on(here(&rt, &importer, (doors.kind, doors.data), &mut chunks, &mut done))?;
    } else {
        there(doors, list.as_deref(), &mut chunks, &mut done)?;
    }
    bar.finish_and_clear();
    match chunks.is_cut_off() {
        true => Err(Failure::Unreadable("it ends in the middle of a record: what came before was read".to_owned())),
        false => other_kind(doors.kind, file, &of_file).map_or(Ok(chunks.has_given()), Err),
    }
}

/// The failure for a file of which nothing could be used and that looks like another kind. A plain list has no format
/// by which it could be told: without a single domain it is none.
fn other_kind(kind: ImportKind, file: &Path, counts: &ImportCounts) -> Option<Failure> {
    if counts.lines() == 0 || counts.accepted + counts.duplicate > 0 {
        return None;
    }
    let mut reader = BufReader::new(File::open(file).ok()?);
    let head = Chunker::new(&mut reader, kind.cut(), LOOKED_AT).ok()?.next_chunk().ok()??;
    let words = match looks(&head).words(kind) {
        words if words.is_empty() && kind == ImportKind::Blocklist => {
            "none of its lines names a whole domain".to_owned()
        }
        words => words,
    };
    (!words.is_empty()).then(|| Failure::Unreadable(format!("it has no usable row for `{}`: {words}", kind.as_str())))
}

/// After a command that was not understood: says what kind the first file of an import looks like. People leave the kind
/// out, or guess its name.
pub fn hint(arguments: impl Iterator<Item = std::ffi::OsString>) {
    let mut words = arguments.skip_while(|word| word != "import").skip(1);
    let Some((file, kind)) = words.find_map(|word| kind_of(Path::new(&word)).map(|kind| (word, kind))) else { return };
    let (file, kind) = (file.display(), kind.as_str());
    eprintln!("\n  tip: {file} looks like `{kind}`: heliograph import {kind} {file}");
}

/// The kind that a file looks like.
fn kind_of(file: &Path) -> Option<ImportKind> {
    if !file.is_file() {
        return None;
    }
    let mut reader = BufReader::new(File::open(file).ok()?);
    // Any kind will do: what is looked at begins with the first record.
    let cut = ImportKind::OoniMeasurements.cut();
    let head = Chunker::new(&mut reader, cut, LOOKED_AT).ok()?.next_chunk().ok()??;
    match looks(&head) {
        Looks::Like(kind) | Looks::Perhaps(kind) => Some(kind),
        Looks::Page | Looks::NoText(_) | Looks::Prose | Looks::Unknown => None,
    }
}

/// Bytes of a file that are used to find its kind.
const LOOKED_AT: usize = 64 << 10;

/// A part of a file that can be stored by itself.
enum Piece {
    Chunk(Vec<u8>),
    Ready(Box<Ready>),
    Runs(Spill),
}

/// The result of handling a chunk.
enum Handled {
    Stored(Box<Summary>),
    /// Measurements, which are stored together with those of other chunks.
    Gathered(Batch),
}

/// Imports chunks in this process, several at a time, because their order changes nothing. Measurements are gathered.
/// If there are more than a batch, they are written to sorted runs, which are stored together.
async fn here(
    rt: &Arc<dyn Runtime>,
    importer: &Arc<Importer>,
    (kind, data): (ImportKind, &Path),
    chunks: &mut Chunker<'_>,
    done: &mut impl FnMut(Summary),
) -> Result<(), Failure> {
    let mut handling: JoinSet<Result<Handled, Failure>> = JoinSet::new();
    let mut writing: Option<Writing> = None;
    let (mut batch, mut damage, mut ended) = (Batch::default(), None, false);
    loop {
        while !ended && handling.len() < IN_FLIGHT {
            match chunks.next_chunk() {
                Ok(Some(chunk)) => {
                    let (rt, importer) = (rt.clone(), importer.clone());
                    handling.spawn(async move { handle(&*rt, &importer, chunk).await });
                }
                Ok(None) => ended = true,
                Err(error) => (ended, damage) = (true, Some(Failure::Io(error))),
            }
        }
        match handling.join_next().await {
            Some(Ok(Ok(Handled::Stored(summary)))) => done(*summary),
            Some(Ok(Ok(Handled::Gathered(more)))) => batch.join(more),
            // Everything before the failure is stored and counted.
            Some(Ok(Err(failure))) => (ended, damage) = (true, damage.or(Some(failure))),
            Some(Err(error)) => return Err(Failure::Refused(error.to_string())),
            None => {}
        }
        let last = ended && handling.is_empty();
        if !last && batch.len() >= BATCH {
            let mut spill = written(writing.take(), data).await?;
            if spill.len() >= RUNS {
                done(store(&**rt, importer, &Piece::Runs(spill)).await?);
                spill = written(None, data).await?;
            }
            writing = Some(write(spill, kind, std::mem::take(&mut batch)));
        }
        if last {
            let piece = match writing {
                None if batch.is_empty() => None,
                None => Some(Piece::Ready(Box::new(batch.ready()))),
                Some(_) => {
                    let spill = written(writing, data).await?;
                    Some(Piece::Runs(written(Some(write(spill, kind, batch)), data).await?))
                }
            };
            if let Some(piece) = piece {
                done(store(&**rt, importer, &piece).await?);
            }
            return damage.map_or(Ok(()), Err);
        }
    }
}

/// A run that is sorted and written while the next one is read.
type Writing = JoinHandle<std::io::Result<Spill>>;

fn write(mut spill: Spill, kind: ImportKind, batch: Batch) -> Writing {
    tokio::task::spawn_blocking(move || spill.write(kind, batch.ready()).map(|()| spill))
}

/// The runs when all are written; new ones if there were none.
async fn written(writing: Option<Writing>, data: &Path) -> Result<Spill, Failure> {
    let spill = match writing {
        Some(writing) => writing.await.map_err(|error| Failure::Refused(error.to_string()))?,
        None => Spill::beside(data),
    };
    spill.map_err(|error| Failure::Refused(format!("what was read cannot be kept: {error}")))
}

async fn handle(rt: &dyn Runtime, importer: &Importer, chunk: Vec<u8>) -> Result<Handled, Failure> {
    match importer.gathers() {
        true => importer.read(rt, &chunk).await.map(Handled::Gathered).map_err(failure),
        false => Ok(Handled::Stored(Box::new(store(rt, importer, &Piece::Chunk(chunk)).await?))),
    }
}

fn failure(error: heliograph_core::Error) -> Failure {
    refused(error.code, error.into_details().message.into_owned())
}

async fn attempt(rt: &dyn Runtime, importer: &Importer, piece: &Piece) -> Result<Summary, Failure> {
    let summary = match piece {
        Piece::Chunk(chunk) => importer.chunk(rt, chunk).await,
        Piece::Ready(ready) => importer.store(rt, ready).await,
        Piece::Runs(runs) => importer.store_runs(rt, &runs.counts, runs.runs()).await,
    };
    summary.map_err(failure)
}

/// Stores a piece. Parts that failed are tried again, but counted only once.
async fn store(rt: &dyn Runtime, importer: &Importer, piece: &Piece) -> Result<Summary, Failure> {
    let mut summary = attempt(rt, importer, piece).await?;
    for number in 1..ATTEMPTS {
        let failed = failed(&summary);
        if failed.is_empty() {
            break;
        }
        tokio::time::sleep(delay(number)).await;
        let mut again = attempt(rt, importer, piece).await?;
        for code in failed {
            if let Some(result) = again.countries.remove(&code) {
                summary.countries.insert(code, result);
            }
        }
    }
    settled(summary).map_err(Failure::Refused)
}

/// Sends chunks to a server, one after the other.
fn there(
    doors: &Doors<'_>,
    list: Option<&str>,
    chunks: &mut Chunker<'_>,
    done: &mut impl FnMut(Summary),
) -> Result<(), Failure> {
    let Doors { client, import, .. } = doors;
    let mut epoch: Option<u64> = None;
    while let Some(chunk) = chunks.next_chunk().map_err(Failure::Io)? {
        if chunk.len() > MAX_CHUNK {
            // One line that is too long for any route.
            let reasons = BTreeMap::from([("row_too_long".to_owned(), 1)]);
            let counts = ImportCounts { refused: 1, reasons, ..ImportCounts::default() };
            done(Summary { counts, complete: true, epoch: epoch.unwrap_or_default(), ..Summary::default() });
            continue;
        }
        let chunk = bytes::Bytes::from(chunk);
        let path_of = |country: Option<&str>| path(import, list, country, epoch);
        let mut summary = send(client, &path_of(import.country.as_deref()), &chunk)?;
        for attempt in 1..ATTEMPTS {
            let failed = failed(&summary);
            if failed.is_empty() {
                break;
            }
            std::thread::sleep(delay(attempt));
            for code in failed {
                let mut again = send(client, &path_of(Some(&code)), &chunk)?;
                // The lines were counted at the first attempt.
                if let Some(result) = again.countries.remove(&code) {
                    summary.countries.insert(code, result);
                }
            }
        }
        epoch = Some(summary.epoch);
        done(settled(summary).map_err(Failure::Refused)?);
    }
    Ok(())
}

fn failed(summary: &Summary) -> Vec<String> {
    summary.countries.iter().filter(|(_, result)| result.error.is_some()).map(|(code, _)| code.clone()).collect()
}

/// The summary of a chunk if every part of it was stored.
fn settled(mut summary: Summary) -> Result<Summary, String> {
    let causes: Vec<String> = summary
        .countries
        .iter()
        .filter_map(|(code, result)| result.error.as_ref().map(|error| format!("{code}: {error}")))
        .collect();
    summary.complete = causes.is_empty();
    if causes.is_empty() { Ok(summary) } else { Err(format!("not everything was stored ({})", causes.join("; "))) }
}

/// Sends a chunk until it is answered, as long as trying again makes sense.
fn send(client: &Client, path: &str, chunk: &bytes::Bytes) -> Result<Summary, Failure> {
    let mut attempt = 1;
    loop {
        let error = match client.request(Method::POST, path, chunk.clone()) {
            Ok(answer) if matches!(answer.status, 400 | 413) => {
                return answer.read().map_err(Failure::Unreadable);
            }
            Ok(answer) if answer.status < 500 && answer.status != 429 => {
                return answer.read().map_err(Failure::Refused);
            }
            Ok(answer) => match answer.read::<Summary>() {
                Ok(summary) => return Ok(summary),
                Err(error) => error,
            },
            Err(error) => error,
        };
        if attempt == ATTEMPTS {
            return Err(Failure::Refused(error));
        }
        std::thread::sleep(delay(attempt));
        attempt += 1;
    }
}

fn delay(attempt: u32) -> Duration {
    Duration::from_millis(250) * 2u32.pow(attempt.min(6))
}

fn path(import: &Import, list: Option<&str>, country: Option<&str>, epoch: Option<u64>) -> String {
    let epoch = epoch.map(|epoch| epoch.to_string());
    let mut path = format!("/v1/admin/import/{}", import.kind);
    let parameters = [
        ("country", country),
        ("list", list),
        ("list_kind", import.list_kind.as_deref()),
        ("date", import.date.as_deref()),
        ("epoch", epoch.as_deref()),
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

/// The name of a list: the given one, otherwise the name of its file (`ir.csv`, `global.csv`, `aams.csv`,
/// `false_positive_signatures.json`). Only a list of the name `global` becomes the global list, which the index uses.
fn list_of(import: &Import, file: &Path) -> String {
    let stem = file.file_name().and_then(|name| name.to_str()).and_then(|name| name.split('.').next()).unwrap_or("");
    let stem = stem.to_ascii_lowercase();
    let code = stem.len() == 2 && stem.bytes().all(|byte| byte.is_ascii_alphabetic());
    match (&import.list, &import.country) {
        (Some(list), _) => list.clone(),
        (None, Some(country)) if !code && stem != "global" => country.clone(),
        _ => stem,
    }
}

fn bar(bytes: u64, file: &Path) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    let style = "{prefix} {wide_bar} {bytes}/{total_bytes} {eta} {msg}";
    // The template is constant. If it were wrong, the import would work with the plain style.
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    bar.with_prefix(name)
}

fn print(report: &Report, json: bool) -> Result<(), String> {
    if json {
        say!("{}", serde_json::to_string_pretty(report).map_err(|error| error.to_string())?);
        return Ok(());
    }
    let summary = &report.summary;
    let counts = [
        ("accepted", summary.counts.accepted),
        ("duplicate", summary.counts.duplicate),
        ("unsupported", summary.counts.unsupported),
        ("unusable", summary.counts.unusable),
        ("refused", summary.counts.refused),
    ];
    for (name, count) in counts {
        say!("{name:<12}{count:>12}");
    }
    for (reason, count) in &summary.counts.reasons {
        say!("  {count:>10}  {reason}");
    }
    say!("countries   {:>12}", summary.countries.len());
    if summary.dry_run {
        say!("nothing was stored (--dry-run)");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_lists_are_named_by_their_file() {
        let import = |country: Option<&str>, list: Option<&str>| Import {
            kind: "test-list".to_owned(),
            files: Vec::new(),
            country: country.map(str::to_owned),
            list: list.map(str::to_owned),
            list_kind: None,
            date: None,
            json: false,
            dry_run: false,
        };
        let list = |name: &str| list_of(&import(None, None), Path::new(name));
        assert_eq!(list("lists/IR.csv"), "ir");
        assert_eq!(list("global.csv.gz"), "global");
        assert_eq!(list("lists/aams.csv"), "aams", "never the global list");
        assert_eq!(list("false_positive_signatures.json"), "false_positive_signatures");
        assert_eq!(list_of(&import(Some("IT"), None), Path::new("aams.csv")), "IT");
        assert_eq!(list_of(&import(Some("IT"), Some("global")), Path::new("aams.csv")), "global");
    }

    #[test]
    fn a_file_of_no_kind_fails_and_is_told_as_what_it_looks_like() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let readme =
            file("README.md", b"# A tool\n\nThis program says what is blocked.\nRead the pages in docs first.\n");
        let image = file("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\n");
        let code = file("code.rs", b"fn main() {\n    work();\n}\n");
        let nothing_usable = ImportCounts { unsupported: 3, ..ImportCounts::default() };
        let said = |kind: ImportKind, path: &Path| match other_kind(kind, path, &nothing_usable) {
            Some(Failure::Unreadable(said)) => said,
            _ => String::new(),
        };
        for kind in ImportKind::ALL {
            assert!(said(kind, &readme).ends_with("it looks like a text for people"), "{}", kind.as_str());
            assert!(said(kind, &image).ends_with("it looks like an image"), "{}", kind.as_str());
        }
        assert!(said(ImportKind::Blocklist, &code).ends_with("none of its lines names a whole domain"));
        // Measurements of tests that are not read, and a list with an entry, are what they should be.
        let documents = file("x.jsonl", b"{\"test_name\":\"ndt\",\"test_keys\":{}}\n");
        assert_eq!(said(ImportKind::OoniMeasurements, &documents), "");
        let used = ImportCounts { accepted: 1, unsupported: 9, ..ImportCounts::default() };
        assert!(other_kind(ImportKind::Blocklist, &code, &used).is_none());
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
