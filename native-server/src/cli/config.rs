//! `heliograph config`: shows settings, also those of a running server, and checks a file of them.

use std::path::Path;

use heliograph_core::app::settings::{SettingSource, SettingsInForce};

use super::args::{Common, ConfigCommand};
use super::client::Client;
use crate::config::{self, Config};
use crate::{log, server};

pub fn run(common: &Common, command: Option<&ConfigCommand>) -> Result<(), String> {
    match command {
        None => {
            let listing = match &common.to {
                Some(_) => of_server(common)?,
                None => common.config()?.listing(),
            };
            write_out!("{listing}");
            Ok(())
        }
        Some(ConfigCommand::Init) => {
            write_out!("{}", config::template());
            Ok(())
        }
        Some(ConfigCommand::Check { file }) => check(file),
    }
}

/// The settings that a running server has in force, in the format that `--config` reads.
fn of_server(common: &Common) -> Result<String, String> {
    let found: SettingsInForce = Client::open(common, false)?.get("/v1/admin/settings")?;
    let lines = found.settings.iter().map(|setting| {
        let source = match setting.source {
            SettingSource::Default => "default",
            SettingSource::Set => "the server's file, environment or flags",
            SettingSource::Place => "where the server runs",
        };
        config::listed(&setting.name, &setting.value, setting.secret, &setting.doc, source)
    });
    Ok(format!("# Heliograph {}\n{}", found.version, lines.collect::<String>()))
}

/// Tells every mistake at once; the files that settings name are read too.
fn check(file: &Path) -> Result<(), String> {
    let mut found = config::mistakes(file)?;
    if found.is_empty() {
        let config = Config::load(Some(file), |_| None, &[])?;
        found.extend(server::mistakes(&config.settings));
    }
    for told in config::strange_variables(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())) {
        log::warning!("{told}");
    }
    if found.is_empty() {
        say!("{} is right", file.display());
        return Ok(());
    }
    for told in &found {
        eprintln!("{told}");
    }
    Err(format!("{} has {} to mend", file.display(), if found.len() == 1 { "a mistake" } else { "mistakes" }))
}
