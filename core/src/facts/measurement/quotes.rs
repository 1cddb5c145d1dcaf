//! Where the records of a CSV end, also where a quote was opened and never closed.
//!
//! A field in quotes may go on over line ends. One whose quote is missing would swallow everything up to the next quote,
//! which opens another field and closes nothing: there something else than a separator or a line end follows. So a quote
//! that does not close rightly on a later line is an open one, and its record ends with the line it stands in.

/// What a line is to the record that it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// The record ends here.
    Here,
    /// Inside of quotes: it may go on.
    Later,
    /// The quote that goes on from an earlier line does not close: it was left open there.
    Open,
}

/// Follows the quotes of one record over its lines.
#[derive(Debug, Clone, Copy)]
pub struct Quotes {
    separator: u8,
    inside: bool,
}

impl Quotes {
    /// Before a record whose fields this byte separates.
    pub const fn new(separator: u8) -> Quotes {
        Quotes { separator, inside: false }
    }

    /// Takes the next line of the record, with or without its end.
    pub fn line(&mut self, line: &[u8]) -> Ends {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Most lines have none.
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

    /// What follows the next quote that opens a field: one that stands at its begin.
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

/// The separator of a first line: of comma, semicolon and tab the most frequent one.
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
