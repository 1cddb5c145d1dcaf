//! JSON streams as sources hand them out: one document over many lines, or one a line.

use std::io::{BufRead, Read};

use serde_json::Value;

use super::input::{Input, strip_bom};
use super::types::ImportError;

/// All bytes of a stream, plain or gzip; `limit` bounds them after inflation.
pub fn whole(reader: &mut dyn BufRead, limit: u64) -> Result<Vec<u8>, ImportError> {
    let mut input = Input::open(reader, limit)?;
    let mut text = Vec::new();
    match input.read_to_end(&mut text) {
        Ok(_) => Ok(text),
        Err(error) => Err(input.error(&error)),
    }
}

/// Every document of a stream, plain or gzip; `None` for a line that is no JSON.
pub fn documents(reader: &mut dyn BufRead, limit: u64) -> Result<Vec<Option<Value>>, ImportError> {
    let text = whole(reader, limit)?;
    let text = strip_bom(&text).trim_ascii();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if let Ok(whole) = serde_json::from_slice(text) {
        return Ok(vec![Some(whole)]);
    }
    // What begins like a document over several lines is one that is damaged; else each line stands for itself.
    if is_spread(text.split(|byte| *byte == b'\n').next().unwrap_or_default()) {
        return Ok(vec![None]);
    }
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    Ok(lines.map(|line| serde_json::from_slice(line).ok()).collect())
}

/// Whether a first line is JSON.
pub fn begins(line: &[u8]) -> bool {
    matches!(strip_bom(line).trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Whether a first line begins a document that goes on over further lines.
pub fn is_spread(line: &[u8]) -> bool {
    let line = strip_bom(line).trim_ascii();
    line.starts_with(b"{") && !line.ends_with(b"}") || line.starts_with(b"[") && !line.ends_with(b"]")
}

/// The text of a member; empty when it is none.
pub fn text_of<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).map_or("", str::trim)
}

/// A number, or a text that is one.
pub fn number_of(value: &Value, name: &str) -> Option<f64> {
    let value = value.get(name)?;
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|number| number.is_finite())
}

/// A moment in whole seconds since 1970, as a number or a text.
pub fn seconds_of(value: &Value, name: &str) -> Option<i64> {
    number_of(value, name).filter(|seconds| (0.0..=253_402_300_799.0).contains(seconds)).map(|seconds| seconds as i64)
}
