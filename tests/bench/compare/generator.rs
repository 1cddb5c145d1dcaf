//! Many requests for one document: by `wrk` if it is there, otherwise by the generator of this bench. Every contender
//! of a run has the same.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tokio::runtime::Runtime;

use super::Sample;
use crate::load::{self, Plan};
use crate::peers;

pub enum Generator {
    Wrk(PathBuf),
    Own,
}

impl Generator {
    pub fn find() -> Generator {
        peers::program("wrk").map_or(Generator::Own, Generator::Wrk)
    }

    pub fn name(&self) -> &'static str {
        match self {
            Generator::Wrk(_) => "`wrk`",
            Generator::Own => "the generator of the bench (`wrk` is not installed)",
        }
    }

    /// Answers per second to GET of a path.
    pub fn get(
        &self,
        runtime: &Runtime,
        (address, path): (&str, &str),
        connections: usize,
        window: Duration,
    ) -> Result<Sample, String> {
        let base = format!("http://{address}");
        match self {
            Generator::Own => {
                let outcome = runtime.block_on(load::run(&base, connections, window, &Plan::get(&base, path, &[]), 1));
                Ok(Sample { rate: outcome.rate, p99: Some(outcome.p99), cpu: None, written: None, folds: None })
            }
            Generator::Wrk(program) => {
                let mut command = Command::new(program);
                peers::with_libraries(&mut command);
                let seconds = format!("{}s", window.as_secs().max(1));
                command.args(["-t", "1", "-c", &connections.to_string(), "-d", &seconds, "--latency"]);
                let output = command.arg(format!("{base}{path}")).output().map_err(|error| format!("wrk: {error}"))?;
                read(&String::from_utf8_lossy(&output.stdout))
            }
        }
    }
}

/// Reads the report of `wrk`.
fn read(report: &str) -> Result<Sample, String> {
    let line = |name: &str| report.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
    if let Some(errors) = line("Non-2xx or 3xx responses:") {
        return Err(format!("wrk got {errors} other answers"));
    }
    let rate = line("Requests/sec:").and_then(|text| text.parse().ok());
    let rate = rate.ok_or_else(|| format!("wrk said no rate: {report}"))?;
    Ok(Sample { rate, p99: line("99%").and_then(micros), cpu: None, written: None, folds: None })
}

/// Parses `987.00us`, `1.23ms` or `1.23s`.
fn micros(text: &str) -> Option<u32> {
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];
    let (number, factor) = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    Some((number.parse::<f64>().ok()? * factor) as u32)
}
