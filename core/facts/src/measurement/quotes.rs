//! Finds the ends of the records of a CSV, even if a quote was opened and never closed.
//!
//! A field in quotes may contain line ends. If its closing quote is missing, the next quote belongs to another field:
//! it opens that field, and is not followed by a separator or a line end. So if the first quote on a later line does
//! not close the field properly, the quote before it was left open, and its record ends with its own line.

/// The relation of a line to its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// The record ends here.
    Here,
    /// The line ends inside of quotes, so the record may continue.
    Later,
    /// The quote that continues from an earlier line does not close, so it was left open there.
    Open,
}

/// Follows the quotes of one record over its lines.
#[derive(Debug, Clone, Copy)]
pub struct Quotes {
    separator: u8,
    inside: bool,
}

impl Quotes {
    /// The state before a record whose fields are separated by this byte.
    pub const fn new(separator: u8) -> Quotes {
        Quotes { separator, inside: false }
    }

    /// Reads the next line of the record, with or without its line end.
    pub fn line(&mut self, line: &[u8]) -> Ends {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Most lines have no quotes.
        if !line.contains(&b'"') {
            return if self.inside { Ends::Later } else { Ends::Here };
        }
        let went_on = self.inside;
        let mut first = went_on;
        let mut field_begins = true;
        let mut rest = line;
        loop {
            if !self.inside {
                let Some(from) = self.opening(rest, field_begins) else { return Ends::Here };
                rest = from;
                self.inside = true;
            }
            let Some(at) = rest.iter().position(|byte| *byte == b'"') else { return Ends::Later };
            rest = rest.get(at + 1..).unwrap_or_default();
            match rest.first() {
                Some(b'"') => rest = rest.get(1..).unwrap_or_default(),
                None => {
                    self.inside = false;
                    return Ends::Here;
                }
                Some(byte) => {
                    if first && *byte != self.separator {
                        return Ends::Open;
                    }
                    self.inside = false;
                    first = false;
                    field_begins = false;
                }
            }
        }
    }

    /// The rest of the line after the next quote that opens a field. Such a quote is at the beginning of its field.
    fn opening<'l>(&self, line: &'l [u8], mut begins: bool) -> Option<&'l [u8]> {
        let mut at = 0;
        loop {
            if begins && line.get(at) == Some(&b'"') {
                return line.get(at + 1..);
            }
            at += line.get(at..)?.iter().position(|byte| *byte == self.separator)? + 1;
            begins = true;
        }
    }
}

/// The separator in a first line: the most frequent one of comma, semicolon and tab.
pub fn separator_of(line: &[u8]) -> u8 {
    let count = |wanted: u8| line.iter().filter(|byte| **byte == wanted).count();
    [b'\t', b';', b','].into_iter().max_by_key(|byte| count(*byte)).unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(lines: &[&str]) -> Vec<Ends> {
        let mut quotes = Quotes::new(b',');
        lines.iter().map(|line| quotes.line(line.as_bytes())).collect()
    }

    #[test]
    fn a_quoted_field_goes_on_and_an_open_one_does_not() {
        use Ends::{Here, Later, Open};
        for (lines, expected) in [
            (&["a,b\n"][..], &[Here][..]),
            (&["a,\"b\"\r\n"], &[Here]),
            (&["a,\"b \"\"c\"\" d\",e\n"], &[Here]),
            (&["a,b\"c\n"], &[Here]),
            (&["a,\"b\n", "c\",d\n"], &[Later, Here]),
            (&["a,\"b\n", "\n", "c\"\n"], &[Later, Later, Here]),
            (&["a,\"b\n", "c\",\"d\n", "e\"\n"], &[Later, Later, Here]),
            (&["a,\"b\n", "c,\"d\"\n"], &[Later, Open]),
            (&["a,\"b\n", "\"c\",d\n"], &[Later, Open]),
            (&["a,\"b\n", "c,d\n"], &[Later, Later]),
            (&["a,\"b\"c,d\n"], &[Here]),
            (&["\"\",\"\"\n"], &[Here]),
            (&["a,\"\"\"\n", "b\"\"\"\n"], &[Later, Here]),
        ] {
            assert_eq!(ends(lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn the_separator_is_the_most_frequent_one() {
        for (line, separator) in
            [("a,b,c", b','), ("a;b, or c;d", b';'), ("a\tb", b'\t'), ("one", b','), ("a;b;c,d", b';')]
        {
            assert_eq!(separator_of(line.as_bytes()), separator, "{line}");
        }
    }
}
