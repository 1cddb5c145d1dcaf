//! Cuts a stream into chunks that can each be read without the others.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::MAX_CHUNK;
use crate::Error;
use facts::measurement::json;
use facts::measurement::quotes::{Ends, Quotes, separator_of};

/// Longest line that is kept whole. Longer lines are cut off after this, and the importer refuses them.
const MAX_LINE: usize = (4 << 20) + 1;

enum Source<'a> {
    Plain(&'a mut (dyn BufRead + Send)),
    Gzip(Box<BufReader<MultiGzDecoder<&'a mut (dyn BufRead + Send)>>>),
}

/// How streams of a kind are cut.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// Whether line ends inside quotes belong to the record.
    pub quotes: bool,
    /// Whether a first record, not counting blank and comment lines, is a header that every chunk needs.
    pub is_header: fn(&[u8]) -> bool,
    /// Whether a first line begins a document of many lines, which becomes one chunk.
    pub is_whole: fn(&[u8]) -> bool,
}

/// Cuts at line ends; in CSV only outside of quotes. Each chunk after the first repeats the header line. A damaged
/// stream ends at the damage, but the whole records before it are still given out.
pub struct Chunker<'a> {
    source: Source<'a>,
    header: Vec<u8>,
    cut: Cut,
    size: usize,
    first: bool,
    /// Whether a chunk was given out.
    given: bool,
    /// Set when the stream was damaged, so that nothing more is read. The cause is kept until it is reported.
    damaged: bool,
    damage: Option<io::Error>,
    /// A record that did not fit into the last chunk.
    waiting: Vec<u8>,
    /// Lines that were read after an open quote, in reverse order.
    behind: Vec<Vec<u8>>,
    /// The separator of a CSV, as its first line shows it.
    separator: Option<u8>,
    /// The last line that was given out, if it has no line end.
    last: Vec<u8>,
}

/// Bytes of one document of many lines, at most.
const MAX_DOCUMENT: usize = 32 << 20;

/// Bytes of blank and comment lines before a header that are read, at most.
const MAX_PREAMBLE: usize = 64 << 10;

impl<'a> Chunker<'a> {
    /// A chunk may exceed `size` by one record. It exceeds [`MAX_CHUNK`] only when it consists of a single record.
    pub fn new(reader: &'a mut (dyn BufRead + Send), cut: Cut, size: usize) -> io::Result<Self> {
        let gzip = reader.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let source = if gzip {
            Source::Gzip(Box::new(BufReader::with_capacity(64 << 10, MultiGzDecoder::new(reader))))
        } else {
            Source::Plain(reader)
        };
        Ok(Chunker {
            source,
            header: Vec::new(),
            cut,
            size: size.max(1),
            first: true,
            given: false,
            damaged: false,
            damage: None,
            waiting: Vec::new(),
            behind: Vec::new(),
            separator: None,
            last: Vec::new(),
        })
    }

    fn reader(&mut self) -> &mut dyn BufRead {
        match &mut self.source {
            Source::Plain(reader) => *reader,
            Source::Gzip(reader) => reader.as_mut(),
        }
    }

    /// Appends one record (a line, or a CSV record with line ends inside quotes); `false` at the end.
    fn record(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let start = out.len();
        let mut quotes: Option<Quotes> = None;
        let mut lines: Vec<usize> = Vec::new();
        loop {
            let from = out.len();
            if !self.line(out)? {
                if lines.len() > 1 {
                    self.put_back(&lines, out);
                }
                return Ok(out.len() > start);
            }
            if !self.cut.quotes {
                return Ok(true);
            }
            let line = out.get(from..).unwrap_or_default();
            let quotes = quotes.get_or_insert_with(|| {
                let separator = *self.separator.get_or_insert_with(|| separator_of(line));
                Quotes::new(separator)
            });
            let ends = quotes.line(line);
            if ends == Ends::Here {
                return Ok(true);
            }
            lines.push(from);
            if ends == Ends::Open || out.len() - start > MAX_LINE {
                self.put_back(&lines, out);
                return Ok(true);
            }
        }
    }

    /// After an open quote only its own line is lost. The lines behind it are put back as records of their own.
    fn put_back(&mut self, lines: &[usize], out: &mut Vec<u8>) {
        for from in lines.iter().skip(1).rev() {
            self.behind.push(out.split_off(*from));
        }
    }

    /// Appends one line with its end. The part beyond the limit is dropped, so that memory stays bounded.
    fn line(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        if let Some(line) = self.behind.pop() {
            out.extend_from_slice(&line);
            return Ok(true);
        }
        let mut taken = 0;
        loop {
            let buffer = match self.reader().fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                return Ok(taken > 0);
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(buffer.len(), |at| at + 1);
            let room = MAX_LINE.saturating_sub(taken).min(length);
            out.extend_from_slice(buffer.get(..room).unwrap_or_default());
            taken += length;
            if end.is_some() && room < length {
                out.push(b'\n');
            }
            self.reader().consume(length);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// Appends one whole record. Returns `false` at the end. Damage is kept for later, and half a record is dropped.
    fn whole_record(&mut self, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        if self.damaged {
            return false;
        }
        match self.record(out) {
            Ok(more) => more,
            Err(error) => {
                out.truncate(start);
                self.damaged = true;
                self.damage = Some(error);
                false
            }
        }
    }

    /// Reads up to the first record with content, and keeps it if it is a header. Returns the number of bytes at the
    /// beginning of the chunk that belong to no entry.
    fn begin(&mut self, chunk: &mut Vec<u8>) -> usize {
        loop {
            let start = chunk.len();
            if !self.whole_record(chunk) {
                return 0;
            }
            let record = chunk.get(start..).unwrap_or_default().trim_ascii();
            let nothing = record.is_empty() || (record.starts_with(b"#") && chunk.len() <= MAX_PREAMBLE);
            if !nothing {
                if !(self.cut.is_header)(record) {
                    return 0;
                }
                self.header = chunk.get(start..).unwrap_or_default().to_vec();
                return chunk.len();
            }
            if record.is_empty() {
                chunk.truncate(start);
            }
        }
    }

    /// Reads the rest of a document that has begun. Half a document is useless, so damage is an error at once.
    fn whole(&mut self, mut chunk: Vec<u8>) -> io::Result<Vec<u8>> {
        self.cut.quotes = false;
        while self.whole_record(&mut chunk) {
            if chunk.len() > MAX_DOCUMENT {
                self.damaged = true;
                return Err(io::Error::other(format!("a document is at most {MAX_DOCUMENT} bytes")));
            }
        }
        self.damage.take().map_or(Ok(chunk), Err)
    }

    /// Whether the stream ended within a record: its last line has no end, and is not a whole document or has fewer
    /// fields than the header.
    pub fn is_cut_off(&self) -> bool {
        let last = self.last.trim_ascii();
        if last.is_empty() {
            return false;
        }
        if json::begins(last) {
            return json::parse(last.strip_suffix(b",").unwrap_or(last)).is_none();
        }
        let Some(separator) = self.separator.filter(|_| !self.header.is_empty()) else { return false };
        let mut quotes = Quotes::new(separator);
        let fields = |line: &[u8]| line.iter().filter(|byte| **byte == separator).count();
        quotes.line(last) == Ends::Later || fields(last) < fields(self.header.trim_ascii())
    }

    /// Whether the stream contained anything. An answer without rows does, an empty file does not.
    pub fn has_given(&self) -> bool {
        self.given
    }

    /// The next chunk; `None` at the end. A damaged stream gives its whole records first, then the error.
    pub fn next_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let chunk = self.cut_next()?;
        self.given |= chunk.is_some();
        if let Some(chunk) = chunk.as_deref() {
            let from = chunk.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.last = chunk.get(from..).unwrap_or_default().to_vec();
        }
        Ok(chunk)
    }

    fn cut_next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut chunk = Vec::with_capacity(self.size.min(32 << 20) + 4096);
        let first = std::mem::take(&mut self.first);
        let head = if first {
            self.begin(&mut chunk)
        } else {
            chunk.extend_from_slice(&self.header);
            chunk.len()
        };
        if first && (self.cut.is_whole)(chunk.trim_ascii()) {
            return self.whole(chunk).map(Some);
        }
        chunk.append(&mut self.waiting);
        while chunk.len() < self.size.max(head + 1) {
            let start = chunk.len();
            if !self.whole_record(&mut chunk) {
                break;
            }
            if start > head && chunk.len() > MAX_CHUNK {
                self.waiting = chunk.split_off(start);
                break;
            }
        }
        if chunk.len() > head || (first && head > 0) {
            return Ok(Some(chunk));
        }
        self.damage.take().map_or(Ok(None), Err)
    }
}

/// Inflates a gzip body, or returns a plain one. More than `limit` bytes are refused.
pub fn inflate(body: &[u8], limit: usize) -> crate::Result<std::borrow::Cow<'_, [u8]>> {
    let too_large =
        || Error::new(crate::ErrorCode::PayloadTooLarge, format!("A chunk is at most {limit} bytes after inflation."));
    if !body.starts_with(&[0x1f, 0x8b]) {
        return if body.len() > limit { Err(too_large()) } else { Ok(body.into()) };
    }
    let mut out = Vec::new();
    MultiGzDecoder::new(body).take(limit as u64 + 1).read_to_end(&mut out).map_err(bad_request)?;
    if out.len() > limit { Err(too_large()) } else { Ok(out.into()) }
}

/// A stream that cannot be read is a fault of the sender.
pub fn bad_request(error: io::Error) -> Error {
    Error::bad_request(format!("The data cannot be read: {error}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(text: &str, csv: bool, size: usize) -> Vec<String> {
        let mut reader = text.as_bytes();
        let cut = Cut { quotes: csv, is_header: if csv { |_| true } else { |_| false }, is_whole: |line| line == b"{" };
        let mut chunker = Chunker::new(&mut reader, cut, size).unwrap();
        std::iter::from_fn(|| chunker.next_chunk().unwrap()).map(|chunk| String::from_utf8(chunk).unwrap()).collect()
    }

    #[test]
    fn lines_are_never_cut_and_nothing_is_lost() {
        let text = "one\ntwo\nthree\nfour";
        for size in 1..30 {
            assert_eq!(chunks(text, false, size).concat(), text, "{size}");
        }
        assert_eq!(chunks(text, false, 5), ["one\ntwo\n", "three\n", "four"]);
        assert!(chunks("", false, 5).is_empty());
    }

    #[test]
    fn every_csv_chunk_begins_with_the_header_and_quoted_line_ends_do_not_cut() {
        let text = "a,b\n1,\"x\ny\"\n2,z\n";
        assert_eq!(chunks(text, true, 1), ["a,b\n1,\"x\ny\"\n", "a,b\n2,z\n"]);
        assert_eq!(chunks(text, true, 1000), [text]);
        assert_eq!(chunks("a,b\n", true, 9), ["a,b\n"]);
        assert!(chunks("", true, 9).is_empty());
        // Blank lines and comments may stand before the header.
        assert_eq!(chunks("\n\r\n# c\na,b\n1,x\n2,z\n", true, 1), ["# c\na,b\n1,x\n", "a,b\n2,z\n"]);
    }

    #[test]
    fn a_document_over_many_lines_is_one_chunk() {
        let text = "{\n \"a\": [1,\n2],\n\"b\": 3\n}\n";
        assert_eq!(chunks(text, false, 1), [text]);
        assert_eq!(chunks(&format!("\n{text}"), false, 1).concat().trim(), text.trim());
    }

    #[test]
    fn a_long_record_gets_a_chunk_of_its_own() {
        let long = format!("{}\n", "x".repeat(MAX_CHUNK - 6));
        let text = format!("a,b\n1,y\n{long}2,z\n");
        let found = chunks(&text, true, MAX_CHUNK / 4);
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|chunk| chunk.len() <= MAX_CHUNK && chunk.starts_with("a,b\n")));
        assert_eq!((found[0].as_str(), found[2].as_str()), ("a,b\n1,y\n", "a,b\n2,z\n"));
        let plain = chunks(&format!("first\n{long}two\n"), false, MAX_CHUNK / 4);
        assert_eq!((plain.len(), plain[0].as_str(), plain[2].as_str()), (3, "first\n", "two\n"));
    }

    #[test]
    fn lines_before_the_damage_of_a_gzip_stream_are_given_out() {
        use std::io::Write;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut state = 7u32;
        for number in 0..2_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            writeln!(gzip, "{number},{state}").unwrap();
        }
        let whole = gzip.finish().unwrap();
        let mut cut_off = whole.get(..whole.len() / 2).unwrap();
        let mut chunker =
            Chunker::new(&mut cut_off, Cut { quotes: true, is_header: |_| false, is_whole: |_| false }, 1 << 20)
                .unwrap();
        let chunk = String::from_utf8(chunker.next_chunk().unwrap().unwrap()).unwrap();
        assert!(chunk.ends_with('\n') && chunk.lines().count() > 500, "{}", chunk.lines().count());
        assert!(chunk.lines().enumerate().all(|(at, line)| line.starts_with(&format!("{at},"))));
        assert!(chunker.next_chunk().is_err());
        assert!(chunker.next_chunk().unwrap().is_none());
    }

    #[test]
    fn a_gzip_stream_is_inflated_and_a_bomb_is_refused() {
        use std::io::Write;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(&vec![b'a'; 5 << 20]).unwrap();
        let bomb = gzip.finish().unwrap();
        assert!(bomb.len() < 10_000);
        assert_eq!(inflate(&bomb, 4 << 20).unwrap_err().code, crate::ErrorCode::PayloadTooLarge);
        assert_eq!(inflate(&bomb, 5 << 20).unwrap().len(), 5 << 20);
        let mut reader = bomb.as_slice();
        let cut = Cut { quotes: false, is_header: |_| false, is_whole: |_| false };
        let mut chunker = Chunker::new(&mut reader, cut, 1 << 20).unwrap();
        assert_eq!(chunker.next_chunk().unwrap().unwrap().len(), MAX_LINE);
        assert!(inflate(b"plain", 5).is_ok() && inflate(b"plain!", 5).is_err());
    }
}
