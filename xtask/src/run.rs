//! Running other programs and saying what runs.

use std::process::Command;
use std::time::Instant;

/// A task fails with a sentence for people.
pub type Result<T> = std::result::Result<T, String>;

/// Runs `command` to its end with inherited output; fails when it does. Says on stderr what runs and how long it took.
pub fn run(name: &str, command: &mut Command) -> Result<()> {
    eprintln!("--- {name}");
    let start = Instant::now();
    let status = command.status().map_err(|error| format!("{name}: cannot start {}: {error}", program(command)))?;
    if !status.success() {
        return Err(format!("{name} failed ({status})"));
    }
    eprintln!("--- {name}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Runs a tool on the way to something else. What it says goes to stderr: on stdout a server that starts says one line.
pub fn tool(name: &str, command: &mut Command) -> Result<()> {
    run(name, command.stdout(std::io::stderr()))
}

/// Runs `command` and returns what it writes to stdout.
pub fn output(name: &str, command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("{name}: cannot start {}: {error}", program(command)))?;
    if !output.status.success() {
        return Err(format!("{name} failed ({})", output.status));
    }
    Ok(output.stdout)
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}
