//! A settings file with every setting as a comment, for an operator to begin with.

use heliograph_core::engine::settings::{Setting, Settings};

use super::quoted;

/// Columns of the file.
const WIDTH: usize = 100;

/// The file that `heliograph config init` prints. It changes nothing until a line loses its mark.
pub fn template() -> String {
    let mut text = String::new();
    for paragraph in [
        "Settings of Heliograph. The file is TOML: one `name = value` a line, texts in quotes.",
        "Each line below shows a default; take away the mark before a line and change its value. Variables such as \
         HELIOGRAPH_LISTEN weigh more than this file, and flags such as --set listen=... more than those.",
        "`heliograph config check FILE` tells whether a file is right; `heliograph --config FILE config` shows every \
         value in force. SIGHUP has a running server read the file again.",
    ] {
        comment(&mut text, paragraph);
    }
    let mut world = Settings::default();
    world.open_to_the_world();
    for setting in Settings::ALL {
        text.push('\n');
        comment(&mut text, setting.doc.trim());
        comment(&mut text, &form(setting, &world));
        text.push_str(&format!("# {} = {}\n", setting.name, quoted(setting.default)));
    }
    text
}

/// What kind of value a setting takes, and a default that is another one on a public address.
fn form(setting: &Setting, world: &Settings) -> String {
    let secret = if setting.secret { "; a secret" } else { "" };
    match world.get(setting.name) {
        Some(public) if !setting.secret && public != setting.default => {
            format!("({}; {public} on an address that other machines reach{secret})", setting.takes)
        }
        _ => format!("({}{secret})", setting.takes),
    }
}

fn comment(text: &mut String, paragraph: &str) {
    let mut line = String::from("#");
    for word in paragraph.split_whitespace() {
        if line.len() > 1 && line.len() + 1 + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line.truncate(1);
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::{Config, mistakes};
    use super::*;

    /// Packages take the file from there, without a program that runs on the machine of the builder.
    #[test]
    fn the_committed_file_is_what_config_init_writes() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/heliograph.toml");
        if std::env::var_os("HELIOGRAPH_UPDATE_GOLDEN").is_some() {
            std::fs::write(file, template()).unwrap();
        }
        assert!(
            std::fs::read_to_string(file).unwrap_or_default() == template(),
            "docs/heliograph.toml is old; make it anew with HELIOGRAPH_UPDATE_GOLDEN=1"
        );
    }

    #[test]
    fn a_new_file_changes_nothing_and_each_line_of_it_can_be_put_in_force() {
        let folder = crate::testing::folder("config-template");
        let path = folder.file("h.toml");
        let text = template();
        assert!(text.lines().all(|line| line.len() <= 160), "{text}");
        std::fs::write(&path, &text).unwrap();
        assert_eq!(Config::load(Some(&path), |_| None, &[]).unwrap().settings, Settings::default());
        let bare: String = text
            .lines()
            .filter_map(|line| line.strip_prefix("# "))
            .filter(|line| Settings::ALL.iter().any(|setting| line.starts_with(&format!("{} = ", setting.name))))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(bare.lines().count(), Settings::ALL.len());
        std::fs::write(&path, bare).unwrap();
        assert_eq!(mistakes(&path).unwrap(), Vec::<String>::new());
        assert!(
            text.contains("\n# (a whole number from 0 to 4294967295; 120 on an address that other machines reach)\n")
        );
    }
}
