//! Bounded streams: gzip by its magic bytes, a cap on inflated size, lines of bounded length.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::types::{ImportCounts, ImportError, Rejection};

/// Longest accepted line or row, bytes (decision repeatable-import-chunks).
pub const MAX_LINE: usize = 4 << 20;

/// A stream for the importers: gzip is inflated, and reading fails beyond the limit.
pub struct Input<'a> {
    inner: Source<'a>,
    left: u64,
    limit: u64,
    exceeded: bool,
}

enum Source<'a> {
    Plain(&'a mut dyn BufRead),
    Gzip(Box<BufReader<MultiGzDecoder<&'a mut dyn BufRead>>>),
}

impl<'a> Input<'a> {
    /// Opens a stream, plain or gzip; `limit` bounds the inflated bytes.
    pub fn open(reader: &'a mut dyn BufRead, limit: u64) -> Result<Input<'a>, ImportError> {
        let gzip = reader.fill_buf().map_err(|error| ImportError::Read(error.to_string()))?.starts_with(&[0x1f, 0x8b]);
        let inner = if gzip {
            Source::Gzip(Box::new(BufReader::with_capacity(64 << 10, MultiGzDecoder::new(reader))))
        } else {
            Source::Plain(reader)
        };
        Ok(Input { inner, left: limit, limit, exceeded: false })
    }

    fn source(&mut self) -> &mut dyn BufRead {
        match &mut self.inner {
            Source::Plain(reader) => *reader,
            Source::Gzip(reader) => reader.as_mut(),
        }
    }

    /// The reason of a failed read.
    pub fn error(&self, error: &io::Error) -> ImportError {
        if self.exceeded { ImportError::TooLarge(self.limit) } else { ImportError::Read(error.to_string()) }
    }

    /// Reads the next line without its end into `line`.
    pub fn next_line(&mut self, line: &mut Vec<u8>) -> Result<Line, ImportError> {
        line.clear();
        let mut seen = false;
        let mut too_long = false;
        loop {
            let chunk = match self.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.error(&error)),
            };
            if chunk.is_empty() {
                break;
            }
            seen = true;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let take = end.unwrap_or(chunk.len());
            if line.len() + take > MAX_LINE {
                too_long = true;
                line.clear();
            } else if !too_long {
                line.extend_from_slice(chunk.get(..take).unwrap_or_default());
            }
            self.consume(end.map_or(take, |at| at + 1));
            if end.is_some() {
                break;
            }
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(match (seen, too_long) {
            (false, _) => Line::End,
            (true, true) => Line::TooLong,
            (true, false) => Line::Read,
        })
    }
}

/// Hands every line of a stream, plain or gzip, to `each`, without its line end and without a byte order mark. Lines
/// that are too long are counted. `limit` bounds the inflated bytes.
pub fn each_line(
    reader: &mut dyn BufRead,
    limit: u64,
    each: &mut dyn FnMut(&mut ImportCounts, &[u8]),
) -> Result<ImportCounts, ImportError> {
    let mut counts = ImportCounts::default();
    let mut input = Input::open(reader, limit)?;
    let mut line = Vec::new();
    loop {
        match input.next_line(&mut line)? {
            Line::End => return Ok(counts),
            Line::TooLong => counts.reject(Rejection::Refused("row_too_long")),
            Line::Read => each(&mut counts, strip_bom(&line)),
        }
    }
}

/// The result of [`Input::next_line`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    Read,
    /// Longer than [`MAX_LINE`]; skipped, `line` is empty.
    TooLong,
    End,
}

impl Read for Input<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let chunk = self.fill_buf()?;
        let n = chunk.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..n), chunk.get(..n)) {
            to.copy_from_slice(from);
        }
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Input<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            // One more byte tells a stream of exactly the limit from a longer one.
            if self.source().fill_buf()?.is_empty() {
                return Ok(&[]);
            }
            self.exceeded = true;
            return Err(io::Error::other("over the size limit"));
        }
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let chunk = self.source().fill_buf()?;
        let n = chunk.len().min(left);
        Ok(chunk.get(..n).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.left = self.left.saturating_sub(amount as u64);
        self.source().consume(amount);
    }
}

/// Removes the byte order mark that some exports begin with.
pub fn strip_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}
