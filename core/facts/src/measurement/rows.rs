//! Rows of CSV files with a header: limited in size, and read by the names of columns.

use std::io::BufRead;

use csv::ByteRecord;

use super::input::{Input, Line, MAX_LINE};
use super::quotes::{Ends, Quotes};
use super::types::{ImportCounts, ImportError, Rejection};

/// The rows of one stream.
pub struct Rows<'a> {
    csv: csv::Reader<Records<'a>>,
}

impl<'a> Rows<'a> {
    /// Opens a stream, plain or gzip; `limit` bounds the inflated bytes.
    pub fn open(reader: &'a mut dyn BufRead, limit: u64) -> Result<Rows<'a>, ImportError> {
        Rows::separated(reader, limit, b',')
    }

    fn separated(reader: &'a mut dyn BufRead, limit: u64, separator: u8) -> Result<Rows<'a>, ImportError> {
        Ok(Rows::of(Input::open(reader, limit)?, separator))
    }

    /// The rows of the rest of a stream.
    pub fn of(input: Input<'a>, separator: u8) -> Rows<'a> {
        let records = Records::new(input, separator);
        let mut csv = csv::ReaderBuilder::new();
        Rows { csv: csv.has_headers(false).flexible(true).delimiter(separator).from_reader(records) }
    }

    /// Reads the next row that is not blank; `false` at the end.
    pub fn next(&mut self, record: &mut ByteRecord, counts: &mut ImportCounts) -> Result<bool, ImportError> {
        while read(&mut self.csv, record, counts)? {
            if record.len() > 1 || record.get(0).is_some_and(|field| !field.is_empty()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Hands every row of a small reference table to `take`, which returns whether the row was new, and counts the results.
pub fn for_each_row(
    reader: &mut dyn BufRead,
    limit: u64,
    required: &[&'static str],
    counts: &mut ImportCounts,
    take: &mut dyn FnMut(&Header, &ByteRecord) -> Result<bool, Rejection>,
) -> Result<(), ImportError> {
    for_each_separated(reader, limit, b',', required, counts, take)
}

/// [`for_each_row`] of a table in one of several layouts. If the table fits none, the error names the columns of the
/// first.
pub fn for_each_row_of(
    reader: &mut dyn BufRead,
    limit: u64,
    layouts: &[&[&'static str]],
    counts: &mut ImportCounts,
    take: &mut dyn FnMut(&Header, &ByteRecord) -> Result<bool, Rejection>,
) -> Result<(), ImportError> {
    rows_of(reader, limit, b',', layouts, counts, take)
}

/// [`for_each_row`] of a table with another separator.
pub fn for_each_separated(
    reader: &mut dyn BufRead,
    limit: u64,
    separator: u8,
    required: &[&'static str],
    counts: &mut ImportCounts,
    take: &mut dyn FnMut(&Header, &ByteRecord) -> Result<bool, Rejection>,
) -> Result<(), ImportError> {
    rows_of(reader, limit, separator, &[required], counts, take)
}

fn rows_of(
    reader: &mut dyn BufRead,
    limit: u64,
    separator: u8,
    layouts: &[&[&'static str]],
    counts: &mut ImportCounts,
    take: &mut dyn FnMut(&Header, &ByteRecord) -> Result<bool, Rejection>,
) -> Result<(), ImportError> {
    let mut rows = Rows::separated(reader, limit, separator)?;
    let mut record = ByteRecord::new();
    if !rows.next(&mut record, counts)? {
        return Ok(());
    }
    let header = Header::new(&record);
    let missing = |layout: &&[&'static str]| -> Vec<&'static str> {
        layout.iter().copied().filter(|name| !header.has(name)).collect()
    };
    if !layouts.iter().any(|layout| missing(layout).is_empty()) {
        return Err(ImportError::MissingColumns(layouts.first().map(missing).unwrap_or_default()));
    }
    while rows.next(&mut record, counts)? {
        match take(&header, &record) {
            Ok(true) => counts.accepted += 1,
            Ok(false) => counts.duplicate += 1,
            Err(rejection) => counts.reject(rejection),
        }
    }
    Ok(())
}

/// Reads one record, and counts the rows before it that were left out.
fn read(
    csv: &mut csv::Reader<Records<'_>>,
    record: &mut ByteRecord,
    counts: &mut ImportCounts,
) -> Result<bool, ImportError> {
    let found = csv.read_byte_record(record);
    let left_out = std::mem::take(&mut csv.get_mut().left_out);
    left_out.into_iter().for_each(|rejection| counts.reject(rejection));
    match found {
        Ok(more) => Ok(more),
        Err(error) => match csv.get_mut().failed.take() {
            Some(error) => Err(error),
            None => Err(ImportError::Read(error.to_string())),
        },
    }
}

/// A stream of whole records. A quote that is left open in one record does not damage the records after it.
struct Records<'a> {
    input: Input<'a>,
    separator: u8,
    /// Bytes of whole records, and how many of them were given to the reader.
    ready: Vec<u8>,
    given: usize,
    line: Vec<u8>,
    /// Lines that were read after an open quote; the next one is last.
    behind: Vec<Vec<u8>>,
    left_out: Vec<Rejection>,
    failed: Option<ImportError>,
}

impl<'a> Records<'a> {
    fn new(input: Input<'a>, separator: u8) -> Records<'a> {
        Records {
            input,
            separator,
            ready: Vec::new(),
            given: 0,
            line: Vec::new(),
            behind: Vec::new(),
            left_out: Vec::new(),
            failed: None,
        }
    }

    /// Appends the next line with its end to `ready` and returns where it begins; `None` at the end of the stream.
    fn line(&mut self) -> Result<Option<usize>, ImportError> {
        loop {
            let from = self.ready.len();
            if let Some(line) = self.behind.pop() {
                self.ready.extend_from_slice(&line);
                return Ok(Some(from));
            }
            match self.input.next_line(&mut self.line)? {
                Line::End => return Ok(None),
                Line::TooLong => {
                    self.left_out.push(Rejection::Refused("row_too_long"));
                    // An empty line keeps the line numbers right.
                    self.ready.push(b'\n');
                }
                Line::Read => {
                    self.ready.extend_from_slice(&self.line);
                    self.ready.push(b'\n');
                    return Ok(Some(from));
                }
            }
        }
    }

    /// Makes some records ready; none at the end of the stream.
    fn fill(&mut self) {
        self.ready.clear();
        self.given = 0;
        while self.ready.len() < AHEAD && self.failed.is_none() {
            match self.record() {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => self.failed = Some(error),
            }
        }
    }

    /// Appends the next record to `ready`; `false` at the end of the stream.
    fn record(&mut self) -> Result<bool, ImportError> {
        let start = self.ready.len();
        let mut quotes = Quotes::new(self.separator);
        let mut lines: Vec<usize> = Vec::new();
        loop {
            let (from, ends) = match self.line()? {
                Some(from) => (Some(from), quotes.line(self.ready.get(from..).unwrap_or_default())),
                None if lines.is_empty() => return Ok(self.ready.len() > start),
                None => (None, Ends::Open),
            };
            if ends == Ends::Here {
                return Ok(true);
            }
            lines.extend(from);
            if ends == Ends::Open || self.ready.len() - start > MAX_LINE {
                self.cut(&lines);
                return Ok(true);
            }
        }
    }

    /// Leaves out the first of these lines, in which a quote was left open. The other lines are read again.
    fn cut(&mut self, lines: &[usize]) {
        let first = lines.first().copied().unwrap_or_default();
        for from in lines.iter().skip(1).rev() {
            self.behind.push(self.ready.split_off(*from));
        }
        self.ready.truncate(first);
        self.ready.push(b'\n');
        self.left_out.push(OPEN_QUOTE);
    }
}

/// Number of bytes of records that are made ready at once.
const AHEAD: usize = 32 << 10;

/// A quote was opened in the row and never closed.
pub const OPEN_QUOTE: Rejection = Rejection::Refused("open_quote");

impl std::io::Read for Records<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.given == self.ready.len() && self.failed.is_none() {
            self.fill();
        }
        // Records that were whole before the stream failed are handed out first.
        if self.given == self.ready.len() && self.failed.is_some() {
            return Err(std::io::Error::other("the stream failed"));
        }
        let left = self.ready.get(self.given..).unwrap_or_default();
        let n = left.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..n), left.get(..n)) {
            to.copy_from_slice(from);
        }
        self.given += n;
        Ok(n)
    }
}

/// The positions of columns by name.
pub struct Header {
    names: Vec<String>,
}

impl Header {
    /// Reads a header row.
    pub fn new(row: &ByteRecord) -> Header {
        let name = |bytes: &[u8]| String::from_utf8_lossy(super::input::strip_bom(bytes)).trim().to_ascii_lowercase();
        Header { names: row.iter().map(name).collect() }
    }

    /// True when the column exists.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// The trimmed text of a column; empty when absent or not UTF-8.
    pub fn get<'r>(&self, row: &'r ByteRecord, name: &str) -> &'r str {
        let index = self.names.iter().position(|known| known == name);
        let bytes = index.and_then(|index| row.get(index)).unwrap_or_default();
        std::str::from_utf8(bytes).map_or("", str::trim)
    }
}
