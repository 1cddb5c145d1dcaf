//! Reads the settings of `edge serve` from `wrangler.toml`, so that the deployed and the tested Worker have the same
//! ones. It understands only the few forms that the file uses (`key = "value"` at the top and under `[vars]`).

use crate::project::{read_text, root};
use crate::run::Result;
use crate::tools;

pub struct WranglerToml {
    pub compatibility_date: String,
    /// The `[vars]` table.
    pub variables: Vec<(String, String)>,
}

pub fn load() -> Result<WranglerToml> {
    parse(&read_text(&root().join("wrangler.toml"))?)
}

/// Checks that the build command installs the worker-build that the tests use.
pub fn check() -> Result<()> {
    let text = read_text(&root().join("wrangler.toml"))?;
    parse(&text)?;
    let ours = read_text(&root().join("xtask/worker-build/Cargo.toml"))?;
    let named = tools::WORKER_BUILD.replace('@', " = \"=") + "\"";
    if text.contains(&format!(" {} ", tools::WORKER_BUILD)) && ours.contains(&named) {
        Ok(())
    } else {
        Err(format!("wrangler.toml and xtask/worker-build do not both name {}", tools::WORKER_BUILD))
    }
}

fn parse(text: &str) -> Result<WranglerToml> {
    let mut section = "";
    let mut compatibility_date = None;
    let mut variables = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        }
        let Some((key, value)) = line.split_once(" = ") else { continue };
        let Some(value) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) else { continue };
        match (section, key) {
            ("", "compatibility_date") => compatibility_date = Some(value.to_owned()),
            ("[vars]", _) => variables.push((key.to_owned(), value.to_owned())),
            _ => {}
        }
    }
    let compatibility_date = compatibility_date.ok_or("wrangler.toml has no compatibility_date")?;
    Ok(WranglerToml { compatibility_date, variables })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_and_variables_are_read_and_other_tables_are_not() {
        let text =
            "name = \"x\"\ncompatibility_date = \"2026-04-01\"\n[[kv_namespaces]]\nid = \"no\"\n[vars]\nA = \"b\"\n";
        let parsed = parse(text).unwrap();
        assert_eq!(parsed.compatibility_date, "2026-04-01");
        assert_eq!(parsed.variables, [("A".to_owned(), "b".to_owned())]);
    }

    #[test]
    fn the_repository_s_own_file_is_understood() {
        check().unwrap();
        assert!(!load().unwrap().variables.is_empty());
    }
}
