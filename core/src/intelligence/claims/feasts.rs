//! Days that have a name: those of the calendar are read, and those that move or differ by country are told as unreadable.

use super::dates::Reader;
use super::lexicon::Words;

/// Feasts of one day everywhere, as they are split into words.
const FIXED: [(&str, i64, i64); 10] = [
    ("christmas eve", 12, 24),
    ("christmas day", 12, 25),
    ("christmas", 12, 25),
    ("xmas", 12, 25),
    ("boxing day", 12, 26),
    ("new year eve", 12, 31),
    ("new year day", 1, 1),
    ("new year", 1, 1),
    ("halloween", 10, 31),
    ("valentine day", 2, 14),
];

/// Feasts that move, or are another day in each country.
static MOVING: Words = Words::of("feasts moving");

/// What happened on such a day, and is told by another date.
const HAPPENED: [&str; 10] =
    ["attack", "attacks", "bombing", "bombings", "massacre", "shooting", "killings", "explosions", "uprising", "riots"];

/// Words between "on" and "day" that name no feast: "on the same day".
static NO_FEASTS: Words = Words::of("feasts no feasts");

/// "On its founding day", "on election day": the word before "day", where it is no number.
fn is_of_a_day(reader: &Reader<'_>, at: usize) -> bool {
    let led = (1..=4).any(|back| reader.before(at, back) == "on" && !reader.joined(at + 1));
    let plain = reader.word(at + 1).is_some_and(|word| word.pause == super::words::Pause::None);
    let counted = reader.ordinal(at).is_some() || super::relative::quantity(reader, at).is_some();
    let weekday = reader.word(at).and_then(super::relative::weekday).is_some();
    led && plain && reader.is(at + 1, &["day"]) && !counted && !weekday && !reader.is(at, &NO_FEASTS)
}

/// "Black Friday", "Palm Sunday": a name before a day of the week, and not the beginning of a sentence.
fn is_of_a_weekday(reader: &Reader<'_>, at: usize) -> bool {
    let capital = |at: usize| reader.word(at).is_some_and(super::words::Word::is_capital);
    let weekday = reader.word(at + 1).and_then(super::relative::weekday).is_some();
    at > 0 && weekday && capital(at) && capital(at + 1) && !reader.shouting && !reader.is(at, &NO_FEASTS)
}

/// The number of words of a phrase, where a sentence has it at a place with a capital letter.
fn length_of(reader: &Reader<'_>, at: usize, phrase: &str) -> Option<usize> {
    let words = phrase.split(' ');
    let length = words.clone().count();
    let capital = reader.shouting || reader.word(at).is_some_and(super::words::Word::is_capital);
    (capital && words.enumerate().all(|(on, word)| reader.lower(at + on) == word)).then_some(length)
}

/// A feast of one day at a place: its number of words, month and day.
pub fn fixed(reader: &Reader<'_>, at: usize) -> Option<(usize, i64, i64)> {
    if at.checked_sub(1).is_some_and(|before| moving(reader, before)) {
        return None;
    }
    FIXED.iter().find_map(|(phrase, month, day)| Some((length_of(reader, at, phrase)?, *month, *day)))
}

/// Whether a feast begins at a place whose day is not known.
pub fn moving(reader: &Reader<'_>, at: usize) -> bool {
    // "Mashujaa Day": of a country.
    let capital = |at: usize| reader.word(at).is_some_and(super::words::Word::is_capital);
    let day = (capital(at) && capital(at + 1) && reader.is(at + 1, &["day"]) && !reader.shouting).then_some(2);
    let day = day.or((is_of_a_day(reader, at) || is_of_a_weekday(reader, at)).then_some(2));
    let Some(length) = MOVING.iter().find_map(|phrase| length_of(reader, at, phrase)).or(day) else { return false };
    let event = (at + length..at + length + 3).any(|at| reader.is(at, &HAPPENED));
    !event && !reader.is(at + length, &["network", "airways", "square", "island"])
}
