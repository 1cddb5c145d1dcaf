//! Years in words: "in twenty twenty-three", "since two thousand and nineteen".

use super::dates::{Reader, YEARS, number};
use super::lexicon::Words;
use super::months;
use super::relative::quantity;
use super::words::Word;

const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
/// Words before a year; what follows others may be a number of anything.
static BEFORE: Words = Words::of("years before");

/// Puts figures in place of years in words, so that whoever reads dates need not know of them.
pub fn in_figures(words: Vec<Word<'_>>) -> Vec<Word<'_>> {
    let reader = Reader { words: &words, shouting: false };
    let (mut told, mut at) = (Vec::with_capacity(words.len()), 0);
    while let Some(word) = words.get(at) {
        let (length, lower) = match year(&reader, at) {
            Some((length, year)) => (length, year.to_string()),
            None => (1, word.lower.clone()),
        };
        told.push(Word { lower, ..word.clone() });
        at += length;
    }
    told
}

fn year(reader: &Reader<'_>, at: usize) -> Option<(usize, i64)> {
    let (length, century) = match reader.lower(at) {
        "nineteen" => (1, 1900),
        "twenty" => (1, 2000),
        "two" if reader.is(at + 1, &["thousand"]) => (2 + usize::from(reader.is(at + 2, &["and"])), 2000),
        _ => return None,
    };
    let before = at.checked_sub(1).and_then(|at| reader.word(at))?;
    let leads = BEFORE.contains(&before.lower.as_str()) || number(before).is_some() || is_month(before);
    let (more, rest) = below_hundred(reader, at + length)?;
    // "In twenty two networks" is of 22.
    let two_parts = length > 1 || rest > 9;
    (leads && two_parts && YEARS.contains(&(century + rest))).then_some((length + more, century + rest))
}

fn is_month(word: &Word<'_>) -> bool {
    months::named(&word.lower).is_some()
}

/// "Nineteen", "twenty", "twenty-three".
fn below_hundred(reader: &Reader<'_>, at: usize) -> Option<(usize, i64)> {
    let small = |at: usize| {
        let word = reader.word(at).filter(|word| word.lower.len() > 2 && number(word).is_none())?;
        quantity(reader, at).filter(|(length, _)| *length == 1 && !matches!(word.lower.as_str(), "few" | "several"))
    };
    let tens = TENS.iter().position(|name| *name == reader.lower(at)).and_then(|place| i64::try_from(place + 2).ok());
    let Some(tens) = tens else { return small(at) };
    let one = small(at + 1).filter(|(_, one)| *one < 10);
    Some(one.map_or((1, tens * 10), |(_, one)| (2, tens * 10 + one)))
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    #[test]
    fn years_in_words_become_figures_and_other_numbers_stay() {
        let told =
            |text: &str| in_figures(split(text)).into_iter().map(|word| word.lower).collect::<Vec<_>>().join(" ");
        for (text, expected) in [
            ("in twenty twenty-three", "in 2023"),
            ("in November twenty twenty three", "in november 2023"),
            ("since two thousand and nineteen", "since 2019"),
            ("in two thousand twenty-one it", "in 2021 it"),
            ("in nineteen ninety-nine", "in 1999"),
            ("from twenty nineteen to twenty twenty", "from 2019 to 2020"),
            ("on 8 May twenty twenty", "on 8 may 2020"),
            ("in twenty two networks", "in twenty two networks"),
            ("in two thousand networks", "in two thousand networks"),
            ("killed two thousand and three", "killed two thousand and three"),
            ("in twenty days", "in twenty days"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }
}
