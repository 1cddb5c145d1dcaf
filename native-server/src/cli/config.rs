//! `heliograph config`: shows settings, and checks a file of them.

use std::path::Path;

use super::args::{Common, ConfigCommand};
use crate::config::{self, Config};
use crate::{log, server};

pub fn run(common: &Common, command: Option<&ConfigCommand>) -> Result<(), String> {
    match command {
        None => {
            write_out!("{}", common.config()?.listing());
            Ok(())
        }
        Some(ConfigCommand::Init) => {
            write_out!("{}", config::template());
            Ok(())
        }
        Some(ConfigCommand::Check { file }) => check(file),
    }
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
