//! `heliograph classify`: judges single OONI documents by the rules and fingerprints of a deployment.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use heliograph_core::facts::measurement::Fingerprints;
use heliograph_core::facts::measurement::input::MAX_LINE;
use heliograph_core::intelligence::country::classify_one;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::args::{Classify, Common};
use super::client::Client;
use crate::files::Tried;
use crate::testing::Folder;

/// Most documents and bytes in one request. The route reads 50 documents and 4 MiB.
const DOCUMENTS: usize = 50;
const BYTES: usize = 3 << 20;
/// Most bytes of a file with documents over several lines, after decompression: it is read as a whole.
const MAX_SPREAD: u64 = 64 << 20;

pub fn run(common: &Common, classify: &Classify) -> Result<(), String> {
    let (client, _folder) = open(common)?;
    let mut results = Results { json: classify.json, count: 0 };
    for file in &classify.files {
        if let Err(error) = one_file(&client, file, &mut results) {
            eprintln!("error: {}: {error}", file.display());
        }
    }
    results.end()
}

/// The deployment that judges the documents. Without data, the built-in rules judge, and no data file is left behind:
/// the folder is removed with its value.
pub(super) fn open(common: &Common) -> Result<(Client, Option<Folder>), String> {
    let mut place = common.clone();
    let without = common.to.is_none() && !common.data.exists();
    let folder = without.then(|| Folder::new("classify")).transpose().map_err(|error| error.to_string())?;
    if let Some(folder) = &folder {
        place.data = folder.file("empty.redb");
    }
    Ok((Client::open(&place, folder.is_some())?, folder))
}

/// Results are printed as soon as they are known, because a file may hold millions.
struct Results {
    json: bool,
    count: u64,
}

impl Results {
    fn push(&mut self, result: &Value) -> Result<(), String> {
        match (self.json, self.count) {
            (false, _) => line(result),
            (true, count) => {
                let text = serde_json::to_string_pretty(result).map_err(|error| error.to_string())?;
                write_out!("{}{text}", if count == 0 { "[\n" } else { ",\n" });
            }
        }
        self.count += 1;
        Ok(())
    }

    fn end(self) -> Result<(), String> {
        match (self.json, self.count) {
            (true, 0) => say!("[]"),
            (true, _) => say!("\n]"),
            (false, _) => {}
        }
        if self.count == 0 { Err("nothing could be read".to_owned()) } else { Ok(()) }
    }
}

/// Prints label, rules and origin of one result.
fn line(result: &Value) {
    let text = |name: &str| result.get(name).and_then(Value::as_str).unwrap_or_default();
    let rules = result.get("rules").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let rules: Vec<&str> = rules.iter().filter_map(Value::as_str).collect();
    let number = result.get("number").and_then(Value::as_u64).unwrap_or_default();
    say!("{}\t{}\t{}:{number}\t{}", text("label"), rules.join(","), text("file"), text("scenario"));
}

/// Classifies the documents of one file in batches. A line that is no document is `unknown` with the reason. A part
/// that cannot be read ends the file, after everything before it.
fn one_file(client: &Client, file: &Path, results: &mut Results) -> Result<(), String> {
    let why = |error: std::io::Error| Tried::Read.why(file, &error);
    let mut documents = Documents::open(file).map_err(why)?;
    let mut batch = Batch::default();
    let mut number = 0;
    let end = loop {
        let document = match documents.next() {
            Ok(None) => break Ok(()),
            Err(error) => break Err(why(error)),
            Ok(Some(document)) => document,
        };
        number += 1;
        let (document, scenario) = match document {
            Some(document) => unwrap(document),
            None => (Value::Null, None),
        };
        let name = json!({ "file": file.display().to_string(), "number": number, "scenario": scenario });
        batch.add(client, document, name, &mut |result| results.push(result))?;
    };
    batch.send(client, &mut |result| results.push(result))?;
    end
}

/// Unwraps a document from a collection of samples, which stores it together with its name.
fn unwrap(mut document: Value) -> (Value, Option<Value>) {
    let wrapped = document.get("scenario").is_some() && document.get("measurement").is_some_and(Value::is_object);
    match document.get_mut("measurement").filter(|_| wrapped).map(Value::take) {
        Some(inner) => (inner, document.get("scenario").cloned()),
        None => (document, None),
    }
}

/// Takes one result, together with its name.
type Sink<'a> = &'a mut dyn FnMut(&Value) -> Result<(), String>;

/// Documents that wait for the next request.
#[derive(Default)]
pub(super) struct Batch {
    documents: Vec<Value>,
    names: Vec<Value>,
    bytes: usize,
}

impl Batch {
    /// Adds a document, and the members that are added to its result.
    pub fn add(&mut self, client: &Client, document: Value, name: Value, sink: Sink<'_>) -> Result<(), String> {
        if !document.is_object() {
            self.send(client, sink)?;
            let nothing = classify_one(document, &Fingerprints::default());
            return sink(&named(serde_json::to_value(nothing).map_err(|error| error.to_string())?, name));
        }
        self.bytes += document.to_string().len();
        self.documents.push(document);
        self.names.push(name);
        if self.documents.len() == DOCUMENTS || self.bytes >= BYTES { self.send(client, sink) } else { Ok(()) }
    }

    /// Sends the waiting documents to be judged.
    pub fn send(&mut self, client: &Client, sink: Sink<'_>) -> Result<(), String> {
        self.bytes = 0;
        if self.documents.is_empty() {
            return Ok(());
        }
        let request = json!({ "measurements": std::mem::take(&mut self.documents) });
        let mut answer: Value = client.post("/v1/measurement/classify", &request)?;
        let found = answer.get_mut("results").map(Value::take).ok_or("the answer has no results")?;
        let Value::Array(found) = found else { return Err("the answer has no list of results".to_owned()) };
        let mut names = std::mem::take(&mut self.names).into_iter();
        found.into_iter().zip(&mut names).try_for_each(|(result, name)| sink(&named(result, name)))
    }
}

/// Adds the origin to a result.
fn named(mut result: Value, name: Value) -> Value {
    if let (Some(result), Value::Object(name)) = (result.as_object_mut(), name) {
        result.extend(name.into_iter().filter(|(_, value)| !value.is_null()));
    }
    result
}

/// The documents of a file: one a line, arrays of them, or JSON over several lines.
pub(super) enum Documents {
    /// A file of lines; further documents of an array wait here.
    Lines { lines: Lines, waiting: VecDeque<Value> },
    /// A whole file that does not have one document a line.
    Whole(VecDeque<Value>, Option<std::io::Error>),
}

impl Documents {
    pub fn open(file: &Path) -> std::io::Result<Documents> {
        let mut lines = Lines::open(file)?;
        // Only a text that continues in the next line shows that documents take several lines.
        let spread = loop {
            match lines.next()? {
                Some(Some(line)) if line.is_empty() => {}
                Some(Some(line)) => {
                    let first = serde_json::from_slice::<IgnoredAny>(&line);
                    break first.is_err_and(|error| error.is_eof());
                }
                _ => break false,
            }
        };
        if !spread {
            return Ok(Documents::Lines { lines: Lines::open(file)?, waiting: VecDeque::new() });
        }
        let mut text = Vec::new();
        source(file)?.take(MAX_SPREAD).read_to_end(&mut text)?;
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        let mut found = VecDeque::new();
        for value in serde_json::Deserializer::from_slice(text).into_iter::<Value>() {
            match value {
                Ok(Value::Array(list)) => found.extend(list),
                Ok(value) => found.push_back(value),
                Err(error) => return Ok(Documents::Whole(found, Some(error.into()))),
            }
        }
        Ok(Documents::Whole(found, None))
    }

    /// The next document; an inner `None` is a line that is not JSON.
    pub fn next(&mut self) -> std::io::Result<Option<Option<Value>>> {
        match self {
            Documents::Whole(found, error) => match (found.pop_front(), error.take()) {
                (Some(value), kept) => {
                    *error = kept;
                    Ok(Some(Some(value)))
                }
                (None, Some(error)) => Err(error),
                (None, None) => Ok(None),
            },
            Documents::Lines { lines, waiting } => loop {
                if let Some(value) = waiting.pop_front() {
                    return Ok(Some(Some(value)));
                }
                match lines.next()? {
                    None => return Ok(None),
                    Some(None) => return Ok(Some(None)),
                    Some(Some(line)) if line.is_empty() => {}
                    Some(Some(line)) => match serde_json::from_slice(&line) {
                        Ok(Value::Array(list)) => waiting.extend(list),
                        Ok(value) => return Ok(Some(Some(value))),
                        Err(_) => return Ok(Some(None)),
                    },
                }
            },
        }
    }
}

/// Lines of a file, plain or gzip, without their line ends; none longer than the importer reads.
pub(super) struct Lines {
    reader: Box<dyn BufRead>,
    first: bool,
}

impl Lines {
    fn open(file: &Path) -> std::io::Result<Lines> {
        Ok(Lines { reader: source(file)?, first: true })
    }

    /// The next line; an inner `None` is a line that is too long.
    fn next(&mut self) -> std::io::Result<Option<Option<Vec<u8>>>> {
        let mut line = Vec::new();
        let most = MAX_LINE as u64 + 1;
        if (&mut self.reader).take(most).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.len() > MAX_LINE {
            while line.last() != Some(&b'\n') && !line.is_empty() {
                line.clear();
                (&mut self.reader).take(most).read_until(b'\n', &mut line)?;
            }
            return Ok(Some(None));
        }
        let text =
            if std::mem::take(&mut self.first) { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line) } else { &line };
        Ok(Some(Some(text.trim_ascii().to_vec())))
    }
}

/// Opens a file, and decompresses it when it is gzip.
fn source(file: &Path) -> std::io::Result<Box<dyn BufRead>> {
    let mut reader = BufReader::new(File::open(file)?);
    let gzip = reader.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(if gzip { Box::new(BufReader::new(MultiGzDecoder::new(reader))) } else { Box::new(reader) })
}
