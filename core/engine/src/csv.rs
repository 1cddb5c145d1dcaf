//! CSV as RFC 4180 has it: what every table is written with. Tables are streamed row by row, and the `csv` crate's writer
//! keeps a buffer of its own between rows.

use std::borrow::Cow;

/// A text that a spreadsheet would run as a formula, with an apostrophe in front; any other as it is.
pub fn harmless(text: &str) -> Cow<'_, str> {
    // Full-width forms too: where they are typed, spreadsheets read them as the plain ones.
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    if formula { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// A field, quoted where section 2 wants it.
pub fn field(text: &str) -> Cow<'_, str> {
    match text.contains(['"', ',', '\r', '\n']) {
        true => Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))),
        false => Cow::Borrowed(text),
    }
}

/// Adds a record with its line end.
pub fn record<T: AsRef<str>>(out: &mut Vec<u8>, fields: impl IntoIterator<Item = T>) {
    for (at, text) in fields.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(field(text.as_ref()).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_quotes_and_line_ends_are_read_back_as_written() {
        let fields = ["plain", "", "a, b", "say \"no\"", "two\nlines", "\r", "1.5"];
        let mut line = Vec::new();
        record(&mut line, fields);
        assert!(line.starts_with(b"plain,,\"a, b\",") && line.ends_with(b",1.5\r\n"));
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_slice());
        assert_eq!(reader.records().next().unwrap().unwrap().iter().collect::<Vec<_>>(), fields);
    }

    #[test]
    fn nothing_that_begins_like_a_formula_stays_one() {
        for text in ["=1+1", "+1", "-x", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠A"] {
            assert_eq!(harmless(text), format!("'{text}"));
        }
        for text in ["", "a", "1", "a=b", "'=1"] {
            assert_eq!(harmless(text), text);
        }
    }
}
