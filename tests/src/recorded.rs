//! Keeps requests and answers of the tests as examples for the OpenAPI document (decision recorded-examples).
//!
//! `HELIOGRAPH_RECORD=<folder>` makes every test write there what it sent and got; the test
//! `examples_are_written_anew` of `tests/described.rs` makes the committed file of them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::client::Answer;
use crate::described;

static FOLDER: LazyLock<Option<PathBuf>> = LazyLock::new(|| std::env::var_os("HELIOGRAPH_RECORD").map(PathBuf::from));

/// Bodies above this size are no examples, in bytes.
const MOST: usize = 64 * 1024;

/// Keeps a request that succeeded, if a folder is named. Requests of one process are in one file.
pub fn keep(method: &str, path: &str, body: &[u8], answer: &Answer) {
    let Some(folder) = &*FOLDER else { return };
    let is_json = answer.header("content-type").is_some_and(|media| media.ends_with("json"));
    if !(200..300).contains(&answer.status) || !is_json || answer.body.len() > MOST {
        return;
    }
    let plain = path.split('?').next().unwrap_or_default();
    let Some(operation) = described::operation(method, plain) else { return };
    // Not JSON lines, nor numbers and depths that this reader refuses.
    let Ok(response) = serde_json::from_slice::<Value>(&answer.body) else { return };
    let line = json!({
        "operation": operation["operationId"],
        "address": path,
        "request": serde_json::from_slice::<Value>(body).ok(),
        "response": response,
    });
    let file = folder.join(format!("{}.jsonl", std::process::id()));
    let mut file = std::fs::File::options().create(true).append(true).open(file).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// A request that was kept, and its answer.
pub struct Kept {
    /// The name of the operation.
    pub operation: String,
    /// Path and query.
    pub address: String,
    pub request: Value,
    pub response: Value,
}

/// All that was kept in a folder.
pub fn all(folder: &Path) -> Vec<Kept> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    let texts: Vec<String> = files.collect();
    // One test sends what this reader takes for a mark of its own.
    let lines = texts.iter().flat_map(|text| text.lines()).filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .map(|mut line| Kept {
            operation: line["operation"].as_str().unwrap().to_owned(),
            address: line["address"].as_str().unwrap().to_owned(),
            request: line["request"].take(),
            response: line["response"].take(),
        })
        .collect()
}
