//! Figures that look like a date and are none.

use super::dates::{self, Reader, digits, number};
use super::months;
use super::words::Pause;

/// What has a number with a year that is no date: "law 50/2021".
const NUMBERED: [&str; 10] = ["law", "decree", "act", "order", "no", "number", "resolution", "rule", "case", "article"];

impl Reader<'_> {
    /// Whether a figure is the number of a law or the like.
    pub fn is_numbered(&self, at: usize) -> bool {
        NUMBERED.contains(&self.before(at, 1))
    }

    /// "January 20211": a year with a figure too many.
    pub fn is_overlong_year(&self, at: usize) -> bool {
        let text = self.lower(at);
        let long = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
        long && (text.starts_with("19") || text.starts_with("20"))
    }

    /// How many words at a place are figures that look like a date and are none: `2023/25`, `13/13/2023`, `32 November`,
    /// `1850` after "in".
    pub fn unreadable(&self, at: usize) -> Option<usize> {
        const BEFORE: [&str; 4] = ["in", "since", "until", "during"];
        // "9Nov2023", "Nov.9"
        let letters = self.lower(at).trim_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        if letters.len() < self.lower(at).len() && months::named(letters).is_some() {
            return Some(1);
        }
        if self.is_overlong_year(at) && self.is(at.wrapping_sub(1), &BEFORE) {
            return Some(1);
        }
        let figure = |at: usize| self.read(at, number);
        figure(at).filter(|_| at == 0 || !self.joined(at))?;
        let rest = (at + 1..).take_while(|at| self.joined(*at) && figure(*at).is_some()).count();
        let length = rest + 1;
        if rest > 0 {
            let numbered = self.is_numbered(at);
            return (!numbered && (at..at + length).any(|at| self.read(at, dates::year).is_some())).then_some(length);
        }
        let short = self.read(at, |word| digits(&word.lower, 2)).is_some();
        let month = at.checked_sub(1).is_some_and(|at| self.month(at).is_some()) || self.month(at + 1).is_some();
        let ends = self.word(at + 1).is_none_or(|word| word.pause != Pause::None || word.is_capital());
        let year = self.read(at, |word| digits(&word.lower, 4)).filter(|_| self.lower(at).len() == 4);
        let of_old = year.is_some_and(|year| (1000..2999).contains(&year)) && ends;
        let alone = self.read(at, dates::day).is_none() && short && month;
        (alone || of_old && BEFORE.contains(&self.before(at, 1))).then_some(length)
    }
}
