//! What the help has beyond names of flags: groups of commands, worked examples, exit codes. Manual pages and completions
//! are made of the same.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};

use super::Cli;
use crate::cli::exit::{CODES, NOT_KNOWN, REFUSED, USAGE};

/// Worked examples, one a line; each belongs to the command that it calls. `tests` parses all of them.
const EXAMPLES: &str = include_str!("examples.txt");
/// Most examples of a command that has commands of its own.
const SHORT: usize = 6;

/// The first groups hold the commands that ask a server as a user.
const ASKING: usize = 2;
/// The commands in groups, as `heliograph --help` shows them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Ask a server", &["check", "country", "claim", "aggregate", "watch"]),
    ("Be an agent", &["agent", "pay", "profile"]),
    (
        "Run a server",
        &["serve", "config", "import", "db", "dump", "load", "keys", "peers", "admin", "verdicts", "ledger"],
    ),
    ("Measure and judge", &["probe", "classify", "evaluate", "backtest"]),
    ("Connect", &["mcp", "completions", "man"]),
];

/// Commands that know nothing of a data file, so that its flags would only be in the way.
const WITHOUT_FILE: [&str; 13] = [
    "check",
    "country",
    "claim",
    "aggregate",
    "watch",
    "agent",
    "pay",
    "profile",
    "probe",
    "mcp",
    "completions",
    "man",
    "classify",
];

/// Flags that only the server reads. They are taken everywhere, since a script may begin with them, but shown there only.
const OF_SERVER: [&str; 3] = ["listen", "public_url", "access_log"];

/// The program with all of its help.
pub fn command() -> Command {
    let program = Cli::command();
    let template = template(&program);
    let mut program = described(program, &mut Vec::new()).help_template(template);
    // Flags of the whole program now stand at each command, where they can be hidden.
    program.build();
    program.mut_subcommands(|command| match command.get_name() {
        "serve" => command,
        name if WITHOUT_FILE.contains(&name) => without(command, &|_| true),
        _ => without(command, &|name| OF_SERVER.contains(&name)),
    })
}

/// The commands of a group as lines of the help.
fn template(program: &Command) -> String {
    let mut text = String::from("{about}\n\n{usage-heading} heliograph <COMMAND> [ARGUMENTS]\n\n");
    for (heading, names) in GROUPS {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{heading}:");
        for name in names {
            let about = program.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_default();
            let first = about.split_inclusive(". ").next().unwrap_or_default().trim_end().trim_end_matches('.');
            let _ = writeln!(text, "  {name:<12} {first}");
        }
        text.push('\n');
    }
    text.push_str("`heliograph <COMMAND> --help` shows flags and examples. Without a command the program serves.\nCommands that ask a server take --url, --json and --csv in place of the options below.\n\nGlobal options:\n{options}{after-help}");
    text
}

/// Hides global flags in the help of a command and of those below it.
fn without(command: Command, which: &dyn Fn(&str) -> bool) -> Command {
    let hide = |arg: Arg| if arg.is_global_set() && which(arg.get_id().as_str()) { arg.hide(true) } else { arg };
    command.mut_args(hide).mut_subcommands(|below| without(below, which))
}

/// Adds examples and exit codes to a command and to those below it.
fn described(command: Command, path: &mut Vec<String>) -> Command {
    let text = format!("Examples:\n  {}\n\nExit codes:\n{}", shown(&command, path).join("\n  "), codes(path));
    let command = command.mut_subcommands(|below| {
        path.push(below.get_name().to_owned());
        let below = described(below, path);
        path.pop();
        below
    });
    command.after_help(text)
}

/// The examples that a command shows.
pub fn shown(command: &Command, path: &[String]) -> Vec<&'static str> {
    let all = examples(path);
    if command.has_subcommands() && all.len() > SHORT { spread(&all, path.len()) } else { all }
}

/// The exit codes of a command, one a line; of the program all of them.
pub fn codes(path: &[String]) -> String {
    let group = path.first().and_then(|first| GROUPS.iter().position(|(_, names)| names.contains(&first.as_str())));
    let last = match path.first().map(String::as_str) {
        None | Some("check") => NOT_KNOWN,
        _ if group.is_some_and(|group| group < ASKING) => REFUSED,
        _ => USAGE,
    };
    let lines = CODES.iter().filter(|(code, _)| *code <= last).map(|(code, what)| format!("  {code:<3} {what}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The lines of the file that call this command or one below it.
fn examples(path: &[String]) -> Vec<&'static str> {
    let calls = |line: &&str| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "heliograph").skip(1);
        path.iter().all(|name| words.next() == Some(name))
    };
    EXAMPLES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).filter(calls).collect()
}

/// For a command with others below it: the first example of each of those, while there is room.
fn spread(all: &[&'static str], depth: usize) -> Vec<&'static str> {
    let mut seen: Vec<&str> = Vec::new();
    let first = |line: &&&'static str| {
        let name = line.split_whitespace().skip_while(|word| *word != "heliograph").nth(depth + 1).unwrap_or_default();
        let fresh = !seen.contains(&name);
        seen.push(name);
        fresh
    };
    all.iter().filter(first).take(SHORT).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All commands below, each with its path.
    fn all(command: &Command, path: &[String], to: &mut Vec<(Vec<String>, bool)>) {
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            let path = [path, &[below.get_name().to_owned()]].concat();
            to.push((path.clone(), below.has_subcommands()));
            all(below, &path, to);
        }
    }

    #[test]
    fn every_command_has_an_example_and_every_example_parses() {
        let mut commands = Vec::new();
        all(&command(), &[], &mut commands);
        assert!(commands.len() > 60, "{}", commands.len());
        for (path, _) in &commands {
            assert!(!examples(path).is_empty(), "there is no example of {path:?}");
        }
        for line in examples(&[]) {
            assert!(line.len() <= 96, "it is wider than a help of 100 columns: {line}");
            let words = shlex::split(line).unwrap_or_else(|| panic!("{line}"));
            let words = words.into_iter().skip_while(|word| word != "heliograph");
            let words = words.take_while(|word| !["|", ">", "&&", "||", ";"].contains(&word.as_str()));
            let parsed = command().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.err().unwrap());
        }
    }

    #[test]
    fn every_command_is_in_one_group_and_its_own_flags_come_first() {
        let program = command();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut names: Vec<&str> =
            program.get_subcommands().map(Command::get_name).filter(|name| *name != "help").collect();
        let mut sorted = listed.clone();
        names.sort_unstable();
        sorted.sort_unstable();
        assert_eq!(names, sorted);
        let mut commands = Vec::new();
        all(&program, &[], &mut commands);
        for (path, _) in commands {
            let mut at = program.clone();
            for name in &path {
                at = at.find_subcommand(name).unwrap().clone();
            }
            let help = at.render_long_help().to_string();
            let global = help.find("Global options:").unwrap_or(help.len());
            let own = help.find("\nOptions:").unwrap_or(0);
            assert!(own < global, "{path:?}: {help}");
            assert_eq!(global < help.len(), !WITHOUT_FILE.contains(&path[0].as_str()), "{path:?}");
            assert!(help.contains("Examples:") && help.contains("Exit codes:"), "{path:?}");
            let bare = at.get_arguments().find(|arg| arg.get_help().is_none() && !arg.is_hide_set());
            assert!(bare.is_none(), "{path:?}: {bare:?} has no help");
        }
    }
}
