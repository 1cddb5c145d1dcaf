//! `heliograph db`: inspects, checks and copies the data file.

use std::path::Path;

use bytes::Bytes;
use heliograph_core::app::admin::{DbInfo, Scrubbed};
use heliograph_core::engine::runtime::{Damage, Scrub};
use http::Method;

use super::args::{Common, DbCommand};
use super::client::Client;
use crate::keyfile;
use crate::store::{self, OpenError, Options, Store, scrub};

pub fn run(common: &Common, command: &DbCommand) -> Result<(), String> {
    match command {
        DbCommand::Info { json } => info(&Client::open_looking(common)?, *json),
        DbCommand::Check => check(common),
        DbCommand::Backup { file } => backup(common, file),
        DbCommand::Compact => compact(common),
        DbCommand::Restore { file, check, replace } => super::restore::run(common, file, (*check, *replace)),
        DbCommand::DropSource { name, json } => super::sweep::drop_source(common, name, *json),
    }
}

fn info(client: &Client, json: bool) -> Result<(), String> {
    let info: DbInfo = client.get("/v1/admin/db")?;
    if json {
        say!("{}", serde_json::to_string_pretty(&info).map_err(|error| error.to_string())?);
        return Ok(());
    }
    let file = &info.file;
    say!("deployment      {} (brand {}, created {})", info.deployment, info.brand, info.created_at);
    say!("size            {} bytes", file.bytes);
    for (kind, count) in &file.actors {
        say!("actors          {count} {kind}");
    }
    say!("documents       {}", file.documents);
    let state = if file.resealing { " (being moved under the current one)" } else { "" };
    say!("sealed values   {}, {} under earlier master keys{state}", file.sealed_values, file.sealed_under_earlier_keys);
    say!("outbox          {} waiting, {} given up", file.outbox_waiting, file.outbox_parked);
    say!("oldest message  {}", file.outbox_oldest.as_deref().unwrap_or("none"));
    say!("next due        {}", file.next_due.as_deref().unwrap_or("nothing"));
    let converting = if file.converting { " (older pages are still being given checksums)" } else { "" };
    say!("checked         {}{converting}", file.scrubbed_at.as_deref().unwrap_or("never"));
    say!("damaged pages   {} known", file.damaged_pages);
    Ok(())
}

/// Reads everything and compares it with its checksums. On a file that no server uses, it changes nothing.
fn check(common: &Common) -> Result<(), String> {
    match &common.to {
        Some(url) => check_there(common, url),
        None => check_here(common),
    }
}

fn check_there(common: &Common, url: &str) -> Result<(), String> {
    let client = Client::open(common, false)?;
    let done: Scrubbed = client.request(Method::POST, "/v1/admin/scrub", Bytes::new())?.read()?;
    match done.supported {
        true => say!("{}", verdict(url, &done.found)?),
        false => say!("{url}: {}", done.note.unwrap_or_default()),
    }
    Ok(())
}

fn check_here(common: &Common) -> Result<(), String> {
    let next = "put a backup in its place, with `heliograph db restore FILE --replace`";
    say!("{}", check_file(&common.data, next)?);
    Ok(())
}

/// Reads a whole file that no server uses, without changing it, and says that it is sound. The error says what is
/// damaged, and what comes next where nothing of it can be read.
pub fn check_file(data: &Path, next: &str) -> Result<String, String> {
    let options = Options { must_exist: true, looking: true, ..Options::new(data) };
    let store = Store::open(options).map_err(|error| match error {
        OpenError::Damaged(path, cause) => {
            format!("{} is so damaged that nothing in it can be found ({cause}): {next}", path.display())
        }
        error => error.to_string(),
    })?;
    let found = scrub(&store, &|_| {}).map_err(|error| error.into_details().message.into_owned())?;
    let name = data.display().to_string();
    if found.damaged == 0 {
        let unclean = store.was_unclean();
        match store.check() {
            Ok(true) => {}
            Ok(false) => {
                return Err(format!("{name} is damaged: what the storage engine keeps about its pages is wrong"));
            }
            Err(cause) => return Err(format!("{name} is damaged: {cause}")),
        }
        if unclean {
            eprintln!("{name} was not closed cleanly; the next start repairs that by itself");
        }
    }
    verdict(&name, &found)
}

fn verdict(name: &str, found: &Scrub) -> Result<String, String> {
    if found.converting {
        eprintln!("{name} has pages without checksums, from an earlier version; a server that runs on it adds them");
    }
    if found.damaged == 0 {
        return Ok(format!("{name} is sound ({} pages, {} rows)", found.pages, found.rows));
    }
    found.damage.iter().for_each(|damage| eprintln!("{}", told(damage)));
    Err(format!(
        "{name} is damaged in {} places; requests for these get 503 DAMAGED; a backup from before still has them",
        found.damaged
    ))
}

/// Describes one damaged page.
fn told(damage: &Damage) -> String {
    let mut text =
        format!("damaged: page {} (byte {}): {} of {}", damage.page, damage.offset, damage.kind, damage.table);
    if !damage.actors.is_empty() {
        text.push_str(&format!(", {}", damage.actors.join(" to ")));
    }
    let bound = |key: &Option<String>, none: &str| key.as_ref().map_or(none.to_owned(), |key| format!("\"{key}\""));
    text.push_str(&format!(", keys above {}", bound(&damage.after, "all others")));
    text.push_str(&format!(" up to {}", bound(&damage.up_to, "the last")));
    text
}

fn compact(common: &Common) -> Result<(), String> {
    if common.to.is_some() {
        return Err("the file of a running server cannot be compacted: stop the server, then run this command on the \
                    file, with --data"
            .to_owned());
    }
    let done = store::compact(&common.data)?;
    say!("{}: {} bytes before, {} now, {} of them rows", common.data.display(), done.before, done.after, done.rows);
    Ok(())
}

fn backup(common: &Common, file: &Path) -> Result<(), String> {
    let client = Client::open(common, false)?;
    let bytes = client.download("/v1/admin/db/backup", file)?;
    say!("{} ({bytes} bytes)", file.display());
    let keys = match &common.to {
        Some(_) => "the key file beside the server's data file".to_owned(),
        None => keyfile::path_for(&common.data).display().to_string(),
    };
    eprintln!("restoring needs two files: this copy and {keys}, as {}", keyfile::path_for(file).display());
    Ok(())
}
