//! `heliograph classify`: what single OONI documents show, by the rules and fingerprints of a deployment.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use serde_json::{Value, json};

use super::args::{Classify, Common};
use super::client::Client;
use crate::testing::Folder;

/// Documents and bytes of one request; the route reads 50 documents and 4 MiB.
const DOCUMENTS: usize = 50;
const BYTES: usize = 3 << 20;
/// Most bytes of one file after inflation.
const MAX_FILE: u64 = 1 << 30;

pub fn run(common: &Common, classify: &Classify) -> Result<(), String> {
    // Without any data the documents are judged by the built-in rules, and no data file is left behind.
    let mut place = common.clone();
    let without = common.to.is_none() && !common.data.exists();
    let folder = without.then(|| Folder::new("classify")).transpose().map_err(|error| error.to_string())?;
    if let Some(folder) = &folder {
        place.data = folder.file("empty.redb");
    }
    let client = Client::open(&place, folder.is_some())?;
    let mut results = Vec::new();
    for file in &classify.files {
        let found = one_file(&client, file).map_err(|error| format!("{}: {error}", file.display()))?;
        if !classify.json {
            found.iter().for_each(line);
        }
        results.extend(found);
    }
    if classify.json {
        println!("{}", serde_json::to_string_pretty(&results).map_err(|error| error.to_string())?);
    }
    match results.is_empty() {
        true => Err("nothing could be read".to_owned()),
        false => Ok(()),
    }
}

/// Label, rules and origin of one result.
fn line(result: &Value) {
    let text = |name: &str| result.get(name).and_then(Value::as_str).unwrap_or_default();
    let rules = result.get("rules").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let rules: Vec<&str> = rules.iter().filter_map(Value::as_str).collect();
    let number = result.get("number").and_then(Value::as_u64).unwrap_or_default();
    println!("{}\t{}\t{}:{number}\t{}", text("label"), rules.join(","), text("file"), text("scenario"));
}

fn one_file(client: &Client, file: &Path) -> Result<Vec<Value>, String> {
    let text = read(file).map_err(|error| error.to_string())?;
    let mut results = Vec::new();
    let (mut batch, mut names, mut bytes) = (Vec::new(), Vec::new(), 0);
    let documents = serde_json::Deserializer::from_slice(&text).into_iter::<Value>();
    for (index, document) in documents.enumerate() {
        let document = document.map_err(|error| format!("document {}: {error}", index + 1))?;
        let (document, scenario) = unwrap(document);
        bytes += document.to_string().len();
        batch.push(document);
        names.push(json!({ "file": file.display().to_string(), "number": index + 1, "scenario": scenario }));
        if batch.len() == DOCUMENTS || bytes >= BYTES {
            send(client, &mut batch, &mut names, &mut results)?;
            bytes = 0;
        }
    }
    send(client, &mut batch, &mut names, &mut results)?;
    Ok(results)
}

/// Collections of samples wrap a document together with its name.
fn unwrap(mut document: Value) -> (Value, Option<Value>) {
    let wrapped = document.get("scenario").is_some() && document.get("measurement").is_some_and(Value::is_object);
    match document.get_mut("measurement").filter(|_| wrapped).map(Value::take) {
        Some(inner) => (inner, document.get("scenario").cloned()),
        None => (document, None),
    }
}

fn send(
    client: &Client,
    batch: &mut Vec<Value>,
    names: &mut Vec<Value>,
    results: &mut Vec<Value>,
) -> Result<(), String> {
    if batch.is_empty() {
        return Ok(());
    }
    let request = json!({ "measurements": std::mem::take(batch) });
    let mut answer: Value = client.post("/v1/measurement/classify", &request)?;
    let found = answer.get_mut("results").map(Value::take).ok_or("the answer has no results")?;
    let Value::Array(found) = found else { return Err("the answer has no list of results".to_owned()) };
    for (mut result, name) in found.into_iter().zip(std::mem::take(names)) {
        if let (Some(result), Value::Object(name)) = (result.as_object_mut(), name) {
            result.extend(name.into_iter().filter(|(_, value)| !value.is_null()));
        }
        results.push(result);
    }
    Ok(())
}

fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(MAX_FILE).read_to_end(&mut bytes)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut inflated = Vec::new();
        MultiGzDecoder::new(BufReader::new(&bytes[..])).take(MAX_FILE).read_to_end(&mut inflated)?;
        bytes = inflated;
    }
    Ok(bytes)
}
