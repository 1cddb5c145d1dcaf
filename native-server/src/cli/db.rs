//! `heliograph db`.

use std::path::Path;

use heliograph_core::admin::DbInfo;

use super::args::{Common, DbCommand};
use super::client::Client;
use crate::keyfile;
use crate::store::{Options, Store};

pub fn run(common: &Common, command: &DbCommand) -> Result<(), String> {
    match command {
        DbCommand::Info { json } => info(&Client::open(common, false)?, *json),
        DbCommand::Check => check(common),
        DbCommand::Backup { file } => backup(common, file),
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
    Ok(())
}

fn check(common: &Common) -> Result<(), String> {
    if common.to.is_some() {
        return Err("a check needs the file for itself: stop the server, then check without --to; or take a backup \
                    with --to and check that"
            .to_owned());
    }
    let options = Options { must_exist: true, ..Options::new(&common.data) };
    let store = Store::open(options).map_err(|error| error.to_string())?;
    match store.check()? {
        true => say!("{} is sound", common.data.display()),
        false => return Err(format!("{} was damaged; what could be read has been repaired", common.data.display())),
    }
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
