//! Settings from flags, environment, file and defaults, in this order of precedence.

mod template;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use heliograph_core::engine::settings::Settings;

use crate::files::Tried;

pub use template::template;

/// Where the value of a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Default,
    File,
    Environment,
    Flag,
    /// Raised because the server listens on an address that other machines can reach.
    Public,
}

impl Source {
    pub const fn as_str(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::File => "file",
            Source::Environment => "environment",
            Source::Flag => "flag",
            Source::Public => "public address",
        }
    }
}

/// Settings, with the source of each value.
#[derive(Debug, Clone)]
pub struct Config {
    pub settings: Settings,
    sources: BTreeMap<&'static str, Source>,
}

/// The environment variable of a setting.
pub fn variable(name: &str) -> String {
    format!("HELIOGRAPH_{}", name.to_ascii_uppercase())
}

impl Config {
    /// Loads the settings. `flags` are pairs of name and value; `environment` looks up a variable.
    pub fn load(
        file: Option<&Path>,
        environment: impl Fn(&str) -> Option<String>,
        flags: &[(String, String)],
    ) -> Result<Config, String> {
        let mut config = Config::read(file, environment, flags)?;
        let listen = config.settings.listen.clone();
        config.open_to_the_world(&listen);
        Ok(config)
    }

    /// The same for a server that runs already and listens on `running`, whatever the settings say now.
    pub fn load_again(
        file: Option<&Path>,
        environment: impl Fn(&str) -> Option<String>,
        flags: &[(String, String)],
        running: &str,
    ) -> Result<Config, String> {
        let mut config = Config::read(file, environment, flags)?;
        config.open_to_the_world(running);
        Ok(config)
    }

    fn read(
        file: Option<&Path>,
        environment: impl Fn(&str) -> Option<String>,
        flags: &[(String, String)],
    ) -> Result<Config, String> {
        let mut config = Config { settings: Settings::default(), sources: BTreeMap::new() };
        if let Some(path) = file {
            let text = std::fs::read_to_string(path).map_err(|error| Tried::Read.cannot(path, &error))?;
            let refuse = |(number, error)| format!("{}, line {number}: {error}. {FORM}", path.display());
            for (number, name, value) in parse_file(&text).map_err(refuse)? {
                config.set(&name, &value, Source::File).map_err(|error| refuse((number, error)))?;
            }
        }
        for setting in Settings::ALL {
            let variable = variable(setting.name);
            if let Some(value) = environment(&variable) {
                config
                    .set(setting.name, &value, Source::Environment)
                    .map_err(|error| format!("{variable}: {error}"))?;
            }
        }
        for (name, value) in flags {
            config.set(name, value, Source::Flag)?;
        }
        Ok(config)
    }

    fn set(&mut self, name: &str, value: &str, source: Source) -> Result<(), String> {
        let setting = Settings::ALL.iter().find(|setting| setting.name == name).ok_or_else(|| unknown(name))?;
        self.settings.set(name, value)?;
        self.sources.insert(setting.name, source);
        Ok(())
    }

    /// Sets the figures for a public server when other machines can reach this address. Values that the operator set stay,
    /// even if they are the default.
    fn open_to_the_world(&mut self, listen: &str) {
        if is_loopback(listen) {
            return;
        }
        let before = self.settings.clone();
        self.settings.open_to_the_world();
        for setting in Settings::ALL {
            if before.get(setting.name) != self.settings.get(setting.name) {
                self.sources.insert(setting.name, Source::Public);
            }
        }
    }

    pub fn source(&self, name: &str) -> Source {
        self.sources.get(name).copied().unwrap_or(Source::Default)
    }

    /// Every setting with value, source and meaning, in the format that `--config` reads.
    pub fn listing(&self) -> String {
        let all = Settings::ALL.iter().map(|setting| {
            let value = self.settings.get(setting.name).unwrap_or_default();
            listed(setting.name, &value, setting.secret, setting.doc.trim(), self.source(setting.name).as_str())
        });
        all.collect()
    }
}

/// A setting in a listing: its meaning, its value if it is no secret, and where that comes from.
pub fn listed(name: &str, value: &str, secret: bool, doc: &str, source: &str) -> String {
    let value = if secret { format!("# {name} {value}") } else { format!("{name} = {}", quoted(value)) };
    format!("# {doc}\n{value}  # from {source}\n")
}

/// A value as it stands in a settings file.
fn quoted(value: &str) -> String {
    match value.parse::<u64>().is_ok() || value == "true" || value == "false" {
        true => value.to_owned(),
        false => format!("{value:?}"),
    }
}

/// Variables of this program that are no settings.
const VARIABLES: [&str; 7] = ["DATA", "CONFIG", "URL", "PROFILE", "AGENT_KEY", "API_KEY", "PROBE_METERED"];

/// Variables that tests and builds of this program read.
const DEVELOPMENT: [&str; 6] = ["TEST_", "UPDATE_", "SIM_", "BENCH_", "BUILD_", "PEERS"];

/// What is wrong with the variables of these names: each that begins as the program's do and is none of them.
pub fn strange_variables(names: impl Iterator<Item = String>) -> Vec<String> {
    let strange = |name: String| {
        let rest = name.strip_prefix("HELIOGRAPH_")?;
        let known = Settings::ALL.iter().any(|setting| variable(setting.name) == name)
            || VARIABLES.contains(&rest)
            || DEVELOPMENT.iter().any(|start| rest.starts_with(start));
        (!known).then(|| format!("the variable {name} has no effect: {}", unknown(&rest.to_ascii_lowercase())))
    };
    let mut told: Vec<String> = names.filter_map(strange).collect();
    told.sort();
    told
}

/// Everything that is wrong with a settings file, each with its line. The error is that it cannot be read.
pub fn mistakes(path: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| Tried::Read.cannot(path, &error))?;
    let mut settings = Settings::default();
    let mut found = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (number, line) in text.lines().enumerate().map(|(number, line)| (number + 1, line)) {
        let mut tell = |error: String| found.push(format!("line {number}: {error}"));
        let (name, value) = match parse_line(line) {
            Ok(Some(pair)) => pair,
            Ok(None) => continue,
            Err(error) => {
                tell(error);
                continue;
            }
        };
        if let Some(first) = seen.get(&name) {
            tell(format!("`{name}` was set in line {first} already"));
            continue;
        }
        seen.insert(name.clone(), number);
        let known = Settings::ALL.iter().any(|setting| setting.name == name);
        // Set on its own, so that one mistake is not told of every line behind it.
        let mut next = settings.clone();
        match if known { next.set(&name, &value) } else { Err(unknown(&name)) } {
            Ok(()) => settings = next,
            Err(error) => tell(error),
        }
    }
    Ok(found)
}

/// The settings that name an address to listen on.
const LISTENERS: [&str; 3] = ["listen", "metrics_listen", "redirect_listen"];

/// What is wrong when two settings name the same address.
pub fn same_address(settings: &Settings) -> Option<String> {
    let mut seen: Vec<(&str, SocketAddr)> = Vec::new();
    for name in LISTENERS {
        let Some(address) = settings.get(name).and_then(|value| value.parse::<SocketAddr>().ok()) else { continue };
        if let Some((first, _)) = seen.iter().find(|(_, other)| overlap(*other, address)) {
            return Some(format!("{first} and {name} both take {address}; give {name} a port of its own"));
        }
        seen.push((name, address));
    }
    None
}

/// Whether one socket alone can have these addresses. Port 0 takes a free one, and `[::]` has the addresses of IPv4, too.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let all = |some: SocketAddr, of: SocketAddr| some.ip().is_unspecified() && (some.is_ipv6() || of.is_ipv4());
    one.port() == other.port() && one.port() != 0 && (one.ip() == other.ip() || all(one, other) || all(other, one))
}

/// True if an address such as `127.0.0.1:8787` can only be reached from this machine.
pub fn is_loopback(listen: &str) -> bool {
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// What a settings file is, for errors.
const FORM: &str = "The file is TOML: one `name = value` a line, text in quotes";

/// Names that differ from a setting's by more than a third of their letters are no misspelling of it.
const ALIKE: f64 = 0.66;

fn unknown(name: &str) -> String {
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(known, &name.to_ascii_lowercase());
    let names = Settings::ALL.iter().map(|setting| (likeness(setting.name), setting.name));
    match names.max_by(|one, other| one.0.total_cmp(&other.0)) {
        Some((likeness, known)) if likeness >= ALIKE => {
            format!("there is no setting named `{name}`; the nearest is `{known}`")
        }
        _ => format!("there is no setting named `{name}`; `heliograph config` lists them"),
    }
}

/// A line of a file: its number, name and value.
type Line = (usize, String, String);

/// Parses lines `name = value`: the part of TOML that flat settings need, with comments, quoted strings, bare numbers
/// and booleans. An error comes with the number of its line, and quotes no value, since that may be a secret.
fn parse_file(text: &str) -> Result<Vec<Line>, (usize, String)> {
    let mut found: Vec<(usize, String, String)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let Some((name, value)) = parse_line(line).map_err(|error| (number, error))? else { continue };
        if let Some((first, ..)) = found.iter().find(|(_, known, _)| *known == name) {
            return Err((number, format!("`{name}` was set in line {first} already")));
        }
        found.push((number, name, value));
    }
    Ok(found)
}

/// Name and value of a line; `None` of a comment or an empty one.
fn parse_line(line: &str) -> Result<Option<(String, String)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    if line.starts_with('[') {
        return Err("a table begins here, but settings are in none".to_owned());
    }
    let Some((name, rest)) = line.split_once('=') else {
        return Err("there is no `=` between a name and a value".to_owned());
    };
    let name = name.trim();
    match value(rest.trim()) {
        Some(value) => Ok(Some((name.to_owned(), value))),
        None => Err(format!("the value of `{name}` must be a text in quotes, a whole number, `true` or `false`")),
    }
}

fn value(text: &str) -> Option<String> {
    let comment = |rest: &str| {
        let rest = rest.trim();
        rest.is_empty() || rest.starts_with('#')
    };
    if let Some(rest) = text.strip_prefix('\'') {
        let (value, rest) = rest.split_once('\'')?;
        return comment(rest).then(|| value.to_owned());
    }
    if let Some(rest) = text.strip_prefix('"') {
        let mut value = String::new();
        let mut chars = rest.chars();
        loop {
            match chars.next()? {
                '"' => return comment(chars.as_str()).then_some(value),
                '\\' => value.push(match chars.next()? {
                    escaped @ ('"' | '\\') => escaped,
                    't' => '\t',
                    _ => return None,
                }),
                other => value.push(other),
            }
        }
    }
    let bare = text.split('#').next().unwrap_or_default().trim().replace('_', "");
    let plain = bare == "true" || bare == "false" || bare.parse::<u64>().is_ok();
    plain.then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn flags_win_over_environment_over_file_over_default() {
        let folder = crate::testing::folder("config");
        let path = folder.file("h.toml");
        std::fs::write(&path, "brand = \"file\"\n# c\nagent_burst = 1_000 # c\naccess_log = true\nlisten='[::1]:1'\n")
            .unwrap();
        let environment = |name: &str| match name {
            "HELIOGRAPH_BRAND" => Some("environment".to_owned()),
            "HELIOGRAPH_AGENT_BURST" => Some("2000".to_owned()),
            _ => None,
        };
        let config = Config::load(Some(&path), environment, &flags(&[("brand", "flag")])).unwrap();
        let seen = |name: &str| (config.settings.get(name).unwrap(), config.source(name));
        assert_eq!(seen("brand"), ("flag".into(), Source::Flag));
        assert_eq!(seen("agent_burst"), ("2000".into(), Source::Environment));
        assert_eq!(seen("access_log"), ("true".into(), Source::File));
        assert_eq!(seen("listen"), ("[::1]:1".into(), Source::File));
        assert_eq!(seen("stream_seconds"), ("30".into(), Source::Default));
    }

    #[test]
    fn what_config_prints_can_be_read_back() {
        let config =
            Config::load(None, |_| None, &flags(&[("demo_key", "a \"b\" \\ #"), ("agent_burst", "7")])).unwrap();
        let folder = crate::testing::folder("config-listing");
        let path = folder.file("h.toml");
        std::fs::write(&path, config.listing()).unwrap();
        let again = Config::load(Some(&path), |_| None, &[]).unwrap();
        assert_eq!(again.settings, config.settings);
    }

    #[test]
    fn listening_beyond_this_machine_puts_public_limits_in_force_but_keeps_chosen_ones() {
        let again = |listen: &str, running: &str| {
            let config = Config::load_again(None, |_| None, &flags(&[("listen", listen)]), running).unwrap();
            config.settings.data_per_minute
        };
        assert_eq!((again("127.0.0.1:1", "0.0.0.0:80"), again("0.0.0.0:80", "127.0.0.1:1")), (120, 0));
        let config =
            Config::load(None, |_| None, &flags(&[("listen", "0.0.0.0:80"), ("signups_per_day", "1000")])).unwrap();
        assert_eq!((config.settings.data_per_minute, config.source("data_per_minute")), (120, Source::Public));
        assert_eq!(config.settings.signups_per_day, 1_000);
        for local in ["127.0.0.1:0", "localhost:8787", "[::1]:80"] {
            let config = Config::load(None, |_| None, &flags(&[("listen", local)])).unwrap();
            assert_eq!(config.settings.data_per_minute, 0, "{local}");
        }
    }

    #[test]
    fn a_variable_that_is_no_setting_is_told_with_the_nearest_one() {
        let names =
            ["HELIOGRAPH_LISTN", "HELIOGRAPH_LISTEN", "HELIOGRAPH_DATA", "PATH", "HELIOGRAPH_TEST_LOG", "HELIOGRAPH_X"];
        let told = strange_variables(names.into_iter().map(str::to_owned));
        assert_eq!(
            told,
            [
                "the variable HELIOGRAPH_LISTN has no effect: there is no setting named `listn`; the nearest is \
                 `listen`",
                "the variable HELIOGRAPH_X has no effect: there is no setting named `x`; `heliograph config` lists \
                 them",
            ]
        );
    }

    #[test]
    fn all_mistakes_of_a_file_are_told_at_once() {
        let folder = crate::testing::folder("config-mistakes");
        let path = folder.file("h.toml");
        std::fs::write(
            &path,
            "brand = svc2\nlisten = \"a\"\nlisten = \"b\"\nagent_brust = 7\nstreams = 0\nbrand = \"x\"\n",
        )
        .unwrap();
        assert_eq!(
            mistakes(&path).unwrap(),
            [
                "line 1: the value of `brand` must be a text in quotes, a whole number, `true` or `false`",
                "line 2: listen must be an address with a port, such as 127.0.0.1:8787, not \"a\"",
                "line 3: `listen` was set in line 2 already",
                "line 4: there is no setting named `agent_brust`; the nearest is `agent_burst`",
                "line 5: streams must be at least 1",
                "line 6: brand must be 2 to 16 of a-z and 0-9, beginning with a letter",
            ]
        );
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let folder = crate::testing::folder("config-errors");
        let path = folder.file("h.toml");
        for (text, part) in [
            ("brand = svc2", "line 1: the value of `brand` must be a text in quotes"),
            ("\nnonsense = 1", "line 2: there is no setting named `nonsense`; `heliograph config` lists them"),
            ("# c\nagent_brust = 7", "line 2: there is no setting named `agent_brust`; the nearest is `agent_burst`"),
            ("Access-Log = true", "the nearest is `access_log`"),
            ("[server]", "line 1: a table begins here"),
            ("brand", "line 1: there is no `=`"),
            ("brand = \"open", "line 1: the value of `brand`"),
            ("agent_burst = -1", "line 1: the value of `agent_burst`"),
            ("agent_burst = \"-1\"", "line 1: agent_burst must be a whole number from 0 to 4294967295"),
            ("brand = \"a1\"\nbrand = \"b2\"", "line 2: `brand` was set in line 1 already"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Config::load(Some(&path), |_| None, &[]).unwrap_err();
            assert!(error.contains(part) && error.ends_with(FORM), "{text}: {error}");
            assert!(error.starts_with(&format!("{}, line ", path.display())), "{text}: {error}");
        }
        // What stands without quotes where a secret belongs is not repeated on the screen.
        std::fs::write(&path, "admin_key = hunter2").unwrap();
        assert!(!Config::load(Some(&path), |_| None, &[]).unwrap_err().contains("hunter2"));
        let error = Config::load(None, |_| Some("Bad!".into()), &[]).unwrap_err();
        assert!(error.starts_with("HELIOGRAPH_BRAND"), "{error}");
    }
}
