//! Cutting a stream of records into pieces that can be read each by itself.

use std::io::{self, BufRead};

/// Longest record that is carried whole. What is longer is cut here and refused by the importer, so memory stays bounded
/// (ruling foundation-relay 22).
const MAX_RECORD: usize = 4 << 20;

/// Pieces of whole records: lines, or CSV records, which may have line ends inside quotes. With a header every piece
/// begins with it.
pub struct Chunks<R> {
    reader: R,
    header: Vec<u8>,
    csv: bool,
    size: usize,
    first: bool,
}

impl<R: BufRead> Chunks<R> {
    /// `csv` for kinds whose first line names columns. A piece exceeds `size` by at most one record.
    pub fn new(mut reader: R, csv: bool, size: usize) -> io::Result<Self> {
        let mut header = Vec::new();
        if csv {
            record(&mut reader, true, &mut header)?;
        }
        Ok(Chunks { reader, header, csv, size, first: true })
    }

    /// The next piece; `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut piece = self.header.clone();
        let mut some = false;
        while piece.len() < self.size && record(&mut self.reader, self.csv, &mut piece)? {
            some = true;
        }
        // A file that is nothing but its first line is a piece too: in a list that line may be an entry.
        let alone = std::mem::replace(&mut self.first, false) && !piece.is_empty();
        Ok((some || alone).then_some(piece))
    }
}

/// Appends one record with its line end; false at the end of the stream.
fn record(reader: &mut impl BufRead, csv: bool, out: &mut Vec<u8>) -> io::Result<bool> {
    let start = out.len();
    loop {
        let from = out.len();
        if !line(reader, start, out)? {
            return Ok(out.len() > start);
        }
        let quotes = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'"').count();
        let open = csv && quotes(out.get(start..).unwrap_or_default()) % 2 == 1;
        if !open || out.len() - start > MAX_RECORD || out.len() == from {
            return Ok(true);
        }
    }
}

/// Appends one line; what would make the record longer than allowed is dropped.
fn line(reader: &mut impl BufRead, start: usize, out: &mut Vec<u8>) -> io::Result<bool> {
    let mut some = false;
    loop {
        let bytes = match reader.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            if some && out.last() != Some(&b'\n') {
                out.push(b'\n');
            }
            return Ok(some);
        }
        some = true;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        let room = (start + MAX_RECORD).saturating_sub(out.len());
        out.extend_from_slice(bytes.get(..taken.min(room)).unwrap_or_default());
        reader.consume(taken);
        if end.is_some() {
            if out.last() != Some(&b'\n') {
                out.push(b'\n');
            }
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, csv: bool, size: usize) -> Vec<String> {
        let mut chunks = Chunks::new(text.as_bytes(), csv, size).unwrap();
        std::iter::from_fn(|| chunks.next().unwrap()).map(|piece| String::from_utf8(piece).unwrap()).collect()
    }

    #[test]
    fn lines_are_never_cut() {
        assert_eq!(pieces("aa\nbb\ncc", false, 4), ["aa\nbb\n", "cc\n"]);
        assert_eq!(pieces("", false, 4), Vec::<String>::new());
        assert_eq!(pieces("\n\n", false, 9), ["\n\n"]);
    }

    #[test]
    fn every_csv_piece_has_the_header_and_whole_records() {
        let text = "a,b\n1,\"x\ny\"\n2,\"\"\"\n\"\"\"\n3,z\n";
        assert_eq!(pieces(text, true, 5), ["a,b\n1,\"x\ny\"\n", "a,b\n2,\"\"\"\n\"\"\"\n", "a,b\n3,z\n"]);
        assert_eq!(pieces(text, true, 1 << 20), [text]);
        assert_eq!(pieces("alone", true, 9), ["alone\n"]);
    }

    #[test]
    fn an_endless_line_takes_bounded_memory() {
        let text = format!("{}\nshort\n", "x".repeat(MAX_RECORD * 2));
        let pieces = pieces(&text, false, 1);
        assert_eq!((pieces.len(), pieces[1].as_str()), (2, "short\n"));
        assert!(pieces[0].len() <= MAX_RECORD + 1);
        let quoted = format!("a\n\"{}\n", "x\n".repeat(MAX_RECORD));
        assert!(super::tests::pieces(&quoted, true, 1).iter().all(|piece| piece.len() <= MAX_RECORD + 8));
    }
}
