//! JSON streams of the sources: one document over many lines, or one document on each line.

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

/// Reads one document. Invalid characters are replaced, so they damage only the string in which they occur.
pub fn parse(text: &[u8]) -> Option<Value> {
    serde_json::from_slice(text).ok().or_else(|| serde_json::from_slice(&mended(text)).ok())
}

/// Repairs JSON text: replaces what no string may hold, which is invalid UTF-8, control characters, broken escapes and
/// halves of surrogate pairs.
pub fn mended(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    let mut inside = false;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '\\' || c.is_ascii_control()) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let taken = match from.as_bytes() {
            [b'"', ..] => {
                inside = !inside;
                out.push('"');
                1
            }
            [b'\\', b'u', ..] if inside => escape(from, &mut out),
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] if inside => {
                out.push_str(from.get(..2).unwrap_or_default());
                2
            }
            // Such a byte is neither part of an escape nor white space between members.
            [b'\\' | ..b' ', ..] if inside => {
                out.push(char::REPLACEMENT_CHARACTER);
                1
            }
            _ => {
                out.push_str(from.get(..1).unwrap_or_default());
                1
            }
        };
        rest = from.get(taken..).unwrap_or_default();
    }
    out.push_str(rest);
    out.into_bytes()
}

/// Copies a numeric escape with its second half, or writes the replacement character. Returns how many bytes it read.
fn escape(from: &str, out: &mut String) -> usize {
    let number = |at: usize| {
        from.get(at..at + 6).filter(|text| text.starts_with("\\u")).and_then(|text| {
            u32::from_str_radix(text.get(2..)?, 16)
                .ok()
                .filter(|_| text.bytes().skip(2).all(|byte| byte.is_ascii_hexdigit()))
        })
    };
    let length = match (number(0), number(6)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
        (Some(0xd800..=0xdfff), _) => {
            out.push(char::REPLACEMENT_CHARACTER);
            return 6;
        }
        (Some(_), _) => 6,
        (None, _) => {
            out.push(char::REPLACEMENT_CHARACTER);
            return 1;
        }
    };
    out.push_str(from.get(..length).unwrap_or_default());
    length
}

/// Every document of a stream, plain or gzip; `None` for a line that is not JSON.
pub fn documents(reader: &mut dyn BufRead, limit: u64) -> Result<Vec<Option<Value>>, ImportError> {
    let text = whole(reader, limit)?;
    let text = strip_bom(&text).trim_ascii();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(whole) = parse(text) {
        return Ok(vec![Some(whole)]);
    }
    // A text that begins like a document over several lines is one damaged document. Otherwise each line is a document.
    if is_spread(text.split(|byte| *byte == b'\n').next().unwrap_or_default()) {
        return Ok(vec![None]);
    }
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    Ok(lines.map(parse).collect())
}

/// True if a first line is JSON.
pub fn begins(line: &[u8]) -> bool {
    matches!(strip_bom(line).trim_ascii_start().first(), Some(b'{' | b'['))
}

/// True if a first line begins a document that continues on further lines.
pub fn is_spread(line: &[u8]) -> bool {
    let line = strip_bom(line).trim_ascii();
    line.starts_with(b"{") && !line.ends_with(b"}") || line.starts_with(b"[") && !line.ends_with(b"]")
}

/// The text of a member; empty if the member is not text.
pub fn text_of<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).map_or("", str::trim)
}

/// A number, or a text that holds one.
pub fn number_of(value: &Value, name: &str) -> Option<f64> {
    let value = value.get(name)?;
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|number| number.is_finite())
}

/// A moment in whole seconds since 1970, as a number or a text.
pub fn seconds_of(value: &Value, name: &str) -> Option<i64> {
    number_of(value, name).filter(|seconds| (0.0..=253_402_300_799.0).contains(seconds)).map(|seconds| seconds as i64)
}
