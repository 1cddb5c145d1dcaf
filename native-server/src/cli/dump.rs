//! `heliograph dump` and `heliograph load`: move a whole deployment through a file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use heliograph_core::app::dump::{ActorRows, Check, Checked, DumpPage, FORMAT, Header, Load, Loaded, Next, Totals};
use serde::{Deserialize, Serialize};

use super::args::Common;
use super::client::Client;
use crate::files::{self, Tried};
use crate::keyfile;

/// Most bytes of lines, and most lines, in one request.
const BATCH_BYTES: usize = 1 << 20;
const BATCH_LINES: usize = 32;

/// The last line of a dump.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct End {
    end: Totals,
}

pub fn dump(common: &Common, file: &Path) -> Result<(), String> {
    let client = Client::open_closed(common, false)?;
    let header: Header = client.get("/v1/admin/dump/header")?;
    let refuse = |error: std::io::Error| Tried::Write.cannot(file, &error);
    let target = files::create_new(file).map_err(refuse)?;
    let written = write(&client, &header, &target, &refuse);
    let written = written.and_then(|totals| target.sync_all().map(|()| totals).map_err(refuse));
    if written.is_err() {
        // The caller gets the first error, not one of this removal.
        let _ = std::fs::remove_file(file);
    }
    let totals = written?;
    say!("{} ({} actors, {} rows)", file.display(), totals.actors, totals.rows);
    eprintln!(
        "sealed values stay sealed: loading needs the master keys of this deployment, in its key file or its secrets"
    );
    Ok(())
}

fn write(
    client: &Client,
    header: &Header,
    target: &File,
    refuse: &dyn Fn(std::io::Error) -> String,
) -> Result<Totals, String> {
    let mut out = BufWriter::new(target);
    put(&mut out, header).map_err(refuse)?;
    let mut totals = Totals::default();
    pages(client, |line| {
        totals.count(&line).map_err(|error| error.to_string())?;
        put(&mut out, &line).map_err(refuse)
    })?;
    put(&mut out, &End { end: totals }).map_err(refuse)?;
    out.flush().map_err(refuse)?;
    Ok(totals)
}

fn put(out: &mut impl Write, line: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// Visits every line of a dump of this deployment.
fn pages(client: &Client, mut visit: impl FnMut(ActorRows) -> Result<(), String>) -> Result<(), String> {
    let mut query = String::new();
    loop {
        let page: DumpPage = client.get(&format!("/v1/admin/dump{query}"))?;
        page.lines.into_iter().try_for_each(&mut visit)?;
        let Some(Next { actor, row }) = page.next else { return Ok(()) };
        query = format!("?actor={}", encoded(&actor));
        if let Some(row) = row {
            query.push_str(&format!("&row={}", encoded(&row)));
        }
    }
}

fn encoded(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric();
    text.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// The lines of a dump, with their numbers.
struct Lines {
    reader: BufReader<File>,
    number: u64,
}

impl Lines {
    fn open(file: &Path) -> Result<Lines, String> {
        let opened = files::open(file)?;
        Ok(Lines { reader: BufReader::new(opened), number: 0 })
    }

    /// The next line; `None` at the end of the file.
    fn next(&mut self) -> Result<Option<String>, String> {
        let mut line = String::new();
        self.number += 1;
        let read = self.reader.read_line(&mut line).map_err(|error| format!("line {}: {error}", self.number))?;
        Ok((read > 0).then_some(line))
    }

    fn header(&mut self) -> Result<Header, String> {
        /// Further members that a version may have are ignored.
        #[derive(Deserialize)]
        struct Version {
            heliograph_dump: u32,
        }
        let line = self.next()?.unwrap_or_default();
        let version: Version = serde_json::from_str(&line)
            .map_err(|_| "it is no file that `heliograph dump` wrote; name such a one".to_owned())?;
        if version.heliograph_dump != FORMAT {
            return Err(format!(
                "the dump has version {} of the format; this program knows {FORMAT}",
                version.heliograph_dump
            ));
        }
        serde_json::from_str(&line).map_err(|error| format!("line 1: {error}"))
    }

    /// The next rows, or the totals of the last line.
    fn rows(&mut self) -> Result<Result<(ActorRows, usize), Totals>, String> {
        let line = self.next()?.ok_or("the dump has no last line: it is not complete")?;
        if let Ok(End { end }) = serde_json::from_str(&line) {
            return Ok(Err(end));
        }
        let rows = serde_json::from_str(&line).map_err(|error| format!("line {}: {error}", self.number))?;
        Ok(Ok((rows, line.len())))
    }
}

/// Reads a whole dump and compares it with its last line, before any of it is sent.
fn verify(file: &Path) -> Result<(Header, Totals), String> {
    compared(&mut Lines::open(file)?).map_err(|error| format!("{}: {error}", file.display()))
}

fn compared(lines: &mut Lines) -> Result<(Header, Totals), String> {
    let header = lines.header()?;
    let mut counted = Totals::default();
    loop {
        match lines.rows()? {
            Ok((rows, _)) => counted.count(&rows).map_err(|error| format!("line {}: {error}", lines.number))?,
            Err(end) if end == counted && lines.next()?.is_none() => return Ok((header, end)),
            Err(end) => return Err(format!("the dump says it has {end:?} and has {counted:?}: it is damaged")),
        }
    }
}

pub fn load(common: &Common, file: &Path, replace: bool) -> Result<(), String> {
    let (header, expected) = verify(file)?;
    let keys = keyfile::path_for(&common.data);
    if common.to.is_none() && !keys.exists() {
        return Err(format!("put the key file of that deployment at {} first", keys.display()));
    }
    let client = Client::open_closed(common, true)?;
    let Checked { empty } = client.post("/v1/admin/load/check", &Check { header, replace })?;
    let mut lines = Lines::open(file)?;
    lines.header()?;
    let (mut batch, mut bytes) = (Vec::new(), 0);
    loop {
        let next = lines.rows()?;
        let full = bytes >= BATCH_BYTES || batch.len() >= BATCH_LINES;
        if full || next.is_err() {
            send(&client, std::mem::take(&mut batch))?;
            bytes = 0;
        }
        let Ok((rows, length)) = next else { break };
        bytes += length;
        batch.push(rows);
    }
    let found = count(&client, file)?;
    if found != expected {
        return Err(format!("the dump has {expected:?}, and {found:?} of it are here now; load it again"));
    }
    say!("loaded {} actors, {} rows", found.actors, found.rows);
    if !empty {
        eprintln!("actors that are not in the dump stayed as they were");
    }
    eprintln!("now start the deployment again without the setting `closed`");
    Ok(())
}

fn send(client: &Client, lines: Vec<ActorRows>) -> Result<(), String> {
    if lines.is_empty() {
        return Ok(());
    }
    let (count, rows) = (lines.len() as u64, lines.iter().map(|line| line.rows.len() as u64).sum::<u64>());
    let done: Loaded = client.post("/v1/admin/load", &Load { lines })?;
    if (done.lines, done.rows) != (count, rows) {
        return Err(format!("{} of {rows} rows were taken", done.rows));
    }
    Ok(())
}

/// Counts what this deployment has of the actors of a dump.
fn count(client: &Client, file: &Path) -> Result<Totals, String> {
    let mut lines = Lines::open(file)?;
    lines.header()?;
    let mut loaded = HashSet::new();
    while let Ok((rows, _)) = lines.rows()? {
        loaded.insert(rows.actor);
    }
    // The rows of the list of actors include those that were listed before the load.
    let mut found = Totals::default();
    let mut listed = 0;
    pages(client, |line| {
        if loaded.contains(&line.actor) {
            let mut one = Totals::default();
            one.count(&line).map_err(|error| error.to_string())?;
            match line.actor.as_str() {
                ROSTER => listed += one.rows,
                _ => found.rows += one.rows,
            }
            found.actors += one.actors;
        }
        Ok(())
    })?;
    let mut lines = Lines::open(file)?;
    lines.header()?;
    let mut wanted = Totals::default();
    while let Ok((rows, _)) = lines.rows()? {
        if rows.actor == ROSTER {
            wanted.count(&rows).map_err(|error| error.to_string())?;
        }
    }
    found.rows += listed.min(wanted.rows);
    Ok(found)
}

/// A load may add to the list of actors, because earlier versions did not list all of them.
const ROSTER: &str = "deployment/roster";
