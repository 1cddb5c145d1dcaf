//! The words that claims are read by: lists with a name, in one table beside the code.
//!
//! An item of a list is a word, a phrase or a pattern. Blanks divide the elements of a pattern, each of which is one
//! word of several (`a/b`): a word, one of a list (`@list`), any form of one (`~list`), one that ends so (`-ing`), none
//! of these (`!a`), two at once (`a&b`), or one of a kind: `A` has a capital letter, `0` is a figure, `#` has digits
//! alone, `N` is a number, `O` an ordinal one, `D` a date, `T` the figure of a day, `Y` of a year, `W` a day of the
//! week, `M` that or a month, `S` a service, `B` what names one whatever its case, `J` joined to the word before, `,`,
//! `.` or `;` behind a comma, a stop or any pause, `:` behind none, and `_` any word.
//!
//! `?` makes an element optional, `*` takes any number of such words, `+` one or more, `!` forbids it there, and `<`
//! asks for it before the place, the nearest word first (`<?` and `<*` as well). `..3` are up to three words, `^` and
//! `$` the beginning and the end, `;` is a pause or the end, and `:` none.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

const TEXT: &str = include_str!("lexicon.tsv");

/// The words, phrases or patterns of one name.
pub struct List {
    pub items: Vec<&'static str>,
    words: BTreeSet<&'static str>,
}

static ALL: LazyLock<BTreeMap<&'static str, List>> = LazyLock::new(|| {
    let one = |[name, items]: [&'static str; 2]| {
        let items: Vec<&'static str> = items.split('|').collect();
        (name, List { words: small_sort::gather(items.iter().flat_map(|item| item.split('/'))), items })
    };
    small_sort::gather(starter::rows::<2>(TEXT).map(one))
});

/// A list of the table; empty where it has none of that name.
pub fn list(name: &str) -> &'static List {
    static NONE: List = List { items: Vec::new(), words: BTreeSet::new() };
    debug_assert!(ALL.contains_key(name), "no list {name}");
    ALL.get(name).unwrap_or(&NONE)
}

/// How many items stand before the first one of a list that is as asked.
pub fn place(name: &str, is: impl Fn(&str) -> bool) -> Option<i64> {
    list(name).items.iter().position(|item| is(item)).and_then(|place| i64::try_from(place).ok())
}

/// What a list says behind a name.
pub fn value(list: &str, name: &str) -> Option<&'static str> {
    self::list(list).items.iter().find_map(|item| item.strip_prefix(name)?.strip_prefix(' '))
}

impl List {
    pub fn has(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// How many words the first pattern takes that fits at a place.
    pub fn matches(&self, text: Reader<'_>, at: usize) -> Option<usize> {
        self.items.iter().find_map(|pattern| fits(pattern, text, at, (at, 1))).map(|end| end - at)
    }
}

/// The place behind a pattern that begins at `start`; its rest stands `at` a place by now, and asks next for the word so far
/// `back` before the start.
fn fits(pattern: &str, text: Reader<'_>, start: usize, (at, back): (usize, usize)) -> Option<usize> {
    let (first, rest) = pattern.split_once(' ').unwrap_or((pattern, ""));
    let on = |more: usize| fits(rest, text, start, (at + more, back));
    let stay = |goes_on: bool| if goes_on { on(0) } else { None };
    match first.split_at_checked(1).unwrap_or_default() {
        ("", _) => Some(at),
        ("^", _) => stay(at == 0),
        ("$", _) => stay(at >= text.words.len()),
        (";", _) => stay(text.ends(at)),
        (":", _) => stay(!text.ends(at)),
        (".", most) => (0..=most.trim_start_matches('.').parse().unwrap_or(0)).find_map(on),
        ("?", of) => is(of, text, at).then(|| on(1)).flatten().or_else(|| on(0)),
        ("*", of) => on(0).or_else(|| is(of, text, at).then(|| fits(pattern, text, start, (at + 1, back)))?),
        ("+", of) => is(of, text, at).then(|| fits(&format!("*{of} {rest}"), text, start, (at + 1, back)))?,
        ("!", of) => stay(!is(of, text, at)),
        ("<", of) => {
            let before = |of: &str| start.checked_sub(back).is_some_and(|at| is(of, text, at));
            let further = |pattern: &str| fits(pattern, text, start, (at, back + 1));
            match of.split_at_checked(1)? {
                ("!", of) => (!before(of)).then(|| further(rest))?,
                ("?", of) => before(of).then(|| further(rest)).flatten().or_else(|| on(0)),
                ("*", of) => on(0).or_else(|| before(of).then(|| further(pattern))?),
                _ => before(of).then(|| further(rest))?,
            }
        }
        _ => is(first, text, at).then(|| on(1))?,
    }
}

/// Whether the word at a place is one of several.
fn is(of: &str, text: Reader<'_>, at: usize) -> bool {
    let Some(word) = text.word(at) else { return false };
    let one = |one: &str| match one.split_at_checked(1).unwrap_or_default() {
        ("@", name) => word.is_of(name),
        ("~", name) => list(name).has(&stem(&word.lower)),
        ("-", ending) => word.lower.ends_with(ending),
        ("A", "") => word.is_capital(),
        ("0", "") => word.is_figure(),
        ("#", "") => word.text.bytes().all(|byte| byte.is_ascii_digit()),
        ("N", "") => quantity(text, at).is_some(),
        ("D", "") => text.written(at).is_some(),
        ("T", "") => dates::day(word).is_some(),
        ("Y", "") => dates::year(word).is_some(),
        ("W", "") => weekday(word).is_some(),
        ("O", "") => text.ordinal(at).is_some(),
        ("M", "") => text.month(at).is_some() || weekday(word).is_some(),
        ("_", "") => true,
        ("S", "") => word.service,
        ("B", "") => brands::named(&word.lower).is_some(),
        ("J", "") => word.joined,
        (";", "") => text.ends(at),
        (",", "") => word.pause == Pause::Comma,
        (".", "") => word.pause == Pause::Stop,
        (":", "") => !text.ends(at),
        ("!", of) => !is(of, text, at),
        _ => word.lower == one,
    };
    of.split('/').any(|all| all.split('&').all(one))
}
