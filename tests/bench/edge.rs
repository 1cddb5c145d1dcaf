//! Start time and size of the Worker, measured by `xtask` under the real runtime.

use heliograph_tests::process::built;
use serde_json::Value;

/// The report of `xtask edge start`.
#[derive(Debug, Clone)]
pub struct Edge {
    /// Bytes of the bundle as gzip.
    pub gzip: u64,
    /// Milliseconds from starting workerd to the first answer, by round: for this Worker, and for a bare one.
    pub starts: Vec<(f64, f64)>,
}

/// Runs it; the error is a sentence for the report.
pub fn run() -> Result<Edge, String> {
    let mut command = std::process::Command::new(built("xtask"));
    let output = output_of(command.args(["edge", "start"]).stderr(std::process::Stdio::inherit()))?;
    let report: Value = serde_json::from_slice(&output).map_err(|error| format!("xtask edge start: {error}"))?;
    let starts = report["starts_ms"].as_array().ok_or("xtask edge start gives no times")?;
    let times = |pair: &Value| Some((pair["worker"].as_f64()?, pair["bare"].as_f64()?));
    let starts: Option<Vec<_>> = starts.iter().map(times).collect();
    Ok(Edge {
        gzip: report["gzip_bytes"].as_u64().ok_or("xtask edge start gives no size")?,
        starts: starts.filter(|starts| !starts.is_empty()).ok_or("xtask edge start gives no times")?,
    })
}

fn output_of(command: &mut std::process::Command) -> Result<Vec<u8>, String> {
    let output = command.output().map_err(|error| format!("xtask edge start: {error}"))?;
    if output.status.success() { Ok(output.stdout) } else { Err(format!("xtask edge start: {}", output.status)) }
}
