//! Real data beside the checkout, and functions that import it.
//!
//! The files are third-party data that is not part of the project: `../shared/data` beside the checkout, or the folder
//! that `HELIOGRAPH_TEST_DATA` names. A test whose file is absent says so and ends.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use heliograph_core::engine::testing::real_data;
use heliograph_core::facts::measurement::ImportCounts;

use crate::client::Client;

/// Bytes of a chunk, safely below the endpoint's 4 MiB (decision repeatable-import-chunks).
pub const CHUNK: usize = 3 << 20;

pub use heliograph_core::engine::testing::real_data_folder as folder;

/// A decompressed file of the real data. `None`, with a message, on a machine without it.
pub fn real(path: &str) -> Option<Vec<u8>> {
    let bytes = real_data(path)?;
    Some(if path.ends_with(".gz") { inflate(&bytes) } else { bytes })
}

pub fn inflate(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Records of a text: lines, or with `csv` rows whose quoted fields may contain line ends.
pub fn records(text: &[u8], csv: bool) -> Vec<&[u8]> {
    let mut records = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' if csv => quoted = !quoted,
            b'\n' if !quoted => {
                records.push(&text[start..=at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if start < text.len() {
        records.push(&text[start..]);
    }
    records
}

/// Splits a text into chunks that can be read by themselves; `size` returns the target size of each. With `csv` each
/// begins with the header.
pub fn chunks(text: &[u8], csv: bool, mut size: impl FnMut() -> usize) -> Vec<Vec<u8>> {
    let mut records = records(text, csv).into_iter();
    let header = if csv { records.next().unwrap_or_default() } else { b"" };
    let mut chunks = Vec::new();
    let (mut chunk, mut limit) = (header.to_vec(), size());
    for record in records {
        if chunk.len() > header.len() && chunk.len() + record.len() > limit {
            chunks.push(std::mem::replace(&mut chunk, header.to_vec()));
            limit = size();
        }
        chunk.extend_from_slice(record);
    }
    if chunk.len() > header.len() || chunks.is_empty() {
        chunks.push(chunk);
    }
    chunks
}

/// True if files of this kind begin with a line of column names.
pub fn has_header(kind: &str) -> bool {
    matches!(kind, "ooni-observations" | "test-list" | "fingerprints" | "asn" | "targets" | "elections")
}

/// Sends one body to the import endpoint of `kind`; `query` begins with `?` or is empty.
#[track_caller]
pub fn send(admin: &Client, kind: &str, query: &str, body: &[u8]) -> ImportCounts {
    let answer = admin.send("POST", &format!("/v1/admin/import/{kind}{query}"), Some("application/octet-stream"), body);
    let body = answer.expect(200);
    for (country, result) in body["countries"].as_object().unwrap_or_else(|| panic!("no countries in {body}")) {
        assert!(result["error"].is_null(), "{country}: {result}");
    }
    serde_json::from_value(body).unwrap()
}

/// Imports a whole file in chunks.
#[track_caller]
pub fn import(admin: &Client, kind: &str, query: &str, text: &[u8]) -> ImportCounts {
    let mut sum = ImportCounts::default();
    for chunk in chunks(text, has_header(kind), || CHUNK) {
        sum.add(&send(admin, kind, query, &chunk));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_keep_every_record_once_and_repeat_the_header() {
        let text = b"a,b\n1,\"x\ny\"\n2,z\n3,w";
        let all = chunks(text, true, || 1);
        assert_eq!(all, [b"a,b\n1,\"x\ny\"\n".to_vec(), b"a,b\n2,z\n".to_vec(), b"a,b\n3,w".to_vec()]);
        assert_eq!(chunks(text, true, || 1000), [text.to_vec()]);
        assert_eq!(chunks(b"one\ntwo", false, || 4).concat(), b"one\ntwo");
        assert_eq!(inflate(&gzip(text)), text);
    }
}
