//! Answers as tables for people, and as JSON and CSV for programs.
//!
//! Colours and cut lines are for terminals only. What others wrote may hold control characters, which could tell a
//! terminal to do something: in tables they are shown as text.

use std::borrow::Cow;

use console::{Alignment, Term, measure_text_width, pad_str, style, truncate_str};
use serde::Serialize;

use super::super::args::user::Form;
use crate::cli::exit::Failure;

/// Names and values of one answer.
pub type Fields = Vec<(&'static str, String)>;

impl Form {
    /// Writes one answer: its members as they are, or `words` and these fields.
    pub fn one(self, answer: &impl Serialize, words: &str, fields: &Fields) -> Result<(), Failure> {
        if self.json {
            let text = match console::user_attended() {
                true => serde_json::to_string_pretty(answer),
                false => serde_json::to_string(answer),
            };
            say!("{}", text.map_err(|error| error.to_string())?);
            return Ok(());
        }
        if self.csv {
            let (heads, row): (Vec<&str>, Vec<String>) = fields.iter().cloned().unzip();
            return csv_lines(Some(&heads), &[row]);
        }
        if !words.is_empty() {
            say!("{}\n", clean(words));
        }
        let width = fields.iter().map(|(name, _)| measure_text_width(name)).max().unwrap_or_default();
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
            let name = pad_str(name, width, Alignment::Left, None).into_owned();
            say!("{}  {}", style(name).dim(), coloured(&clean(value)));
        }
        Ok(())
    }

    /// Writes a list: one object a line, or rows under these heads. `nothing` says to people that there is none.
    pub fn list<T: Serialize>(
        self,
        items: &[T],
        heads: &[&str],
        nothing: &str,
        row: impl Fn(&T) -> Vec<String>,
    ) -> Result<(), Failure> {
        if self.json {
            for item in items {
                say!("{}", serde_json::to_string(item).map_err(|error| error.to_string())?);
            }
            return Ok(());
        }
        let rows: Vec<Vec<String>> = items.iter().map(row).collect();
        if self.csv {
            return csv_lines(Some(heads), &rows);
        }
        match rows.is_empty() {
            true => say!("{nothing}"),
            false => table(heads, &rows),
        }
        Ok(())
    }

    /// Writes what comes one after the other: a line of JSON, a row of CSV (with names before the first), or `words`.
    pub fn next<T: Serialize>(self, first: bool, item: &T, words: &str, fields: &Fields) -> Result<(), Failure> {
        if self.json {
            say!("{}", serde_json::to_string(item).map_err(|error| error.to_string())?);
            return Ok(());
        }
        if self.csv {
            let (heads, row): (Vec<&str>, Vec<String>) = fields.iter().cloned().unzip();
            return csv_lines(first.then_some(&heads), &[row]);
        }
        say!("{words}");
        Ok(())
    }

    /// A time: to the minute for people, and as it is for programs, which need the zone.
    pub fn time(self, time: &str) -> String {
        if self.is_for_people() { minute(time) } else { time.to_owned() }
    }

    /// Whether the answer is for people.
    pub fn is_for_people(self) -> bool {
        !self.json && !self.csv
    }
}

fn csv_lines(heads: Option<&[&str]>, rows: &[Vec<String>]) -> Result<(), Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let wrong = |error: csv::Error| error.to_string();
    if let Some(heads) = heads {
        writer.write_record(heads.iter().map(|head| head.replace(' ', "_"))).map_err(wrong)?;
    }
    for row in rows {
        writer.write_record(row).map_err(wrong)?;
    }
    let bytes = writer.into_inner().map_err(|error| error.to_string())?;
    write_out!("{}", String::from_utf8_lossy(&bytes));
    Ok(())
}

fn table(heads: &[&str], rows: &[Vec<String>]) {
    let heads: Vec<String> = heads.iter().map(|head| head.to_uppercase()).collect();
    let rows: Vec<Vec<Cow<'_, str>>> = rows.iter().map(|row| row.iter().map(|cell| clean(cell)).collect()).collect();
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let columns: Vec<(usize, Alignment)> = heads
        .iter()
        .enumerate()
        .map(|(column, head)| {
            let width = cells(column).map(|cell| measure_text_width(cell)).max().unwrap_or_default();
            let numbers = cells(column).all(|cell| cell.parse::<f64>().is_ok());
            (width.max(measure_text_width(head)), if numbers { Alignment::Right } else { Alignment::Left })
        })
        .collect();
    let line = |row: &[String]| {
        let cells =
            row.iter().zip(&columns).map(|(cell, (width, side))| pad_str(cell, *width, *side, None).into_owned());
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let term = Term::stdout();
    let fit = |text: String| match (term.is_term(), term.size().1) {
        (true, width) if width >= 20 => truncate_str(&text, usize::from(width), "…").into_owned(),
        _ => text,
    };
    say!("{}", style(fit(line(&heads))).bold());
    for row in &rows {
        let row: Vec<String> = row.iter().map(|cell| coloured(cell)).collect();
        say!("{}", fit(line(&row)));
    }
}

/// A text without control characters, which are written as escapes. Line breaks stay where they are.
pub fn clean(text: &str) -> Cow<'_, str> {
    // The marks that turn the direction of text can make it look like another one.
    let turns = |char: char| matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let bad = |char: char| (char.is_control() && char != '\n') || turns(char);
    match text.contains(bad) {
        false => Cow::Borrowed(text),
        true => text
            .chars()
            .map(|char| if bad(char) { char.escape_default().to_string() } else { char.to_string() })
            .collect::<String>()
            .into(),
    }
}

/// Words that say how something stands, in their colours; on terminals only.
pub fn coloured(text: &str) -> String {
    match text {
        "blocked" | "critical" | "high" | "contradicted" | "frozen" => style(text).red().to_string(),
        "accessible" | "resolved" | "confirmed" | "open" => style(text).green().to_string(),
        "down" | "active" | "suspected" | "medium" | "unconfirmed" => style(text).yellow().to_string(),
        "unknown" => style(text).dim().to_string(),
        other => other.to_owned(),
    }
}

/// Micro-credits as credits.
pub fn credits(micro: i64) -> String {
    let (whole, part) = (micro / heliograph_client::ledger::CREDIT, micro % heliograph_client::ledger::CREDIT);
    let sign = if micro < 0 { "-" } else { "" };
    let text = format!("{sign}{}.{:06}", whole.abs(), part.abs());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A time to the minute, for tables.
pub fn minute(time: &str) -> String {
    match time.get(..16) {
        Some(minute) if time.as_bytes().get(10) == Some(&b'T') => minute.replace('T', " "),
        _ => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_cannot_command_a_terminal() {
        assert_eq!(clean("plain ü\nnext"), "plain ü\nnext");
        assert_eq!(clean("a\u{1b}]0;x\u{7}b\u{202e}c\u{9b}"), "a\\u{1b}]0;x\\u{7}b\\u{202e}c\\u{9b}");
    }

    #[test]
    fn amounts_and_times_are_short() {
        assert_eq!(credits(0), "0");
        assert_eq!(credits(2_500_000), "2.5");
        assert_eq!(credits(-1), "-0.000001");
        assert_eq!(credits(10_000_000), "10");
        assert_eq!(minute("2023-11-15T12:00:00.000Z"), "2023-11-15 12:00");
        assert_eq!(minute("2023-11-15"), "2023-11-15");
    }
}
