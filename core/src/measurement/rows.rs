//! Rows of CSV files with a header: bounded, and named by column.

use std::io::BufRead;

use csv::ByteRecord;

use super::input::{Input, MAX_LINE};
use super::types::{ImportCounts, ImportError, Rejection};

/// The rows of one stream.
pub struct Rows<'a> {
    csv: csv::Reader<RowGuard<'a>>,
}

impl<'a> Rows<'a> {
    /// Opens a stream, plain or gzip; `limit` bounds the inflated bytes.
    pub fn open(reader: &'a mut dyn BufRead, limit: u64) -> Result<Rows<'a>, ImportError> {
        Rows::separated(reader, limit, b',')
    }

    fn separated(reader: &'a mut dyn BufRead, limit: u64, separator: u8) -> Result<Rows<'a>, ImportError> {
        Ok(Rows::of(Input::open(reader, limit)?, separator))
    }

    /// The rows of what is left of a stream.
    pub fn of(input: Input<'a>, separator: u8) -> Rows<'a> {
        let guard = RowGuard { input, since_row: 0, too_long: false };
        let mut csv = csv::ReaderBuilder::new();
        Rows { csv: csv.has_headers(false).flexible(true).delimiter(separator).from_reader(guard) }
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

/// Hands every row of a small reference table to `take`, which answers whether it was new, and counts the fates.
pub fn for_each_row(
    reader: &mut dyn BufRead,
    limit: u64,
    required: &[&'static str],
    counts: &mut ImportCounts,
    take: &mut dyn FnMut(&Header, &ByteRecord) -> Result<bool, Rejection>,
) -> Result<(), ImportError> {
    for_each_separated(reader, limit, b',', required, counts, take)
}

/// [`for_each_row`] of a table whose columns another character separates.
pub fn for_each_separated(
    reader: &mut dyn BufRead,
    limit: u64,
    separator: u8,
    required: &[&'static str],
    counts: &mut ImportCounts,
    take: &mut dyn FnMut(&Header, &ByteRecord) -> Result<bool, Rejection>,
) -> Result<(), ImportError> {
    let mut rows = Rows::separated(reader, limit, separator)?;
    let mut record = ByteRecord::new();
    if !rows.next(&mut record, counts)? {
        return Ok(());
    }
    let header = Header::new(&record);
    let missing: Vec<&'static str> = required.iter().copied().filter(|name| !header.has(name)).collect();
    if !missing.is_empty() {
        return Err(ImportError::MissingColumns(missing));
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

/// Reads one record. A row that outgrows [`MAX_LINE`] (an open quote swallows all that follows) ends the stream.
fn read(
    csv: &mut csv::Reader<RowGuard<'_>>,
    record: &mut ByteRecord,
    counts: &mut ImportCounts,
) -> Result<bool, ImportError> {
    csv.get_mut().since_row = 0;
    match csv.read_byte_record(record) {
        Ok(more) => Ok(more),
        Err(_) if csv.get_ref().too_long => {
            counts.reject(Rejection::Refused("row_too_long"));
            Ok(false)
        }
        Err(error) => match error.into_kind() {
            csv::ErrorKind::Io(error) => Err(csv.get_ref().input.error(&error)),
            _ => Err(ImportError::Read("damaged CSV".into())),
        },
    }
}

/// Bounds the memory of one row.
struct RowGuard<'a> {
    input: Input<'a>,
    since_row: usize,
    too_long: bool,
}

impl std::io::Read for RowGuard<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.input.read(out)?;
        self.since_row += n;
        if self.since_row > MAX_LINE + out.len() {
            self.too_long = true;
            return Err(std::io::Error::other("row too long"));
        }
        Ok(n)
    }
}

/// Names of columns to their positions.
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
