//! The words that claims are read by: lists with a name, in one table beside the code.
//!
//! An item of a list is a word, a phrase or a pattern; `=` divides it from what it says. Blanks divide the elements of
//! a pattern, each of which is one word of several (`a/b`): a word, one of a list (`@list`), any form of one (`~list`),
//! one that ends so (`-ing`), none of these (`!a`), two at once (`a&b`), or one of a kind: `A` has a capital letter,
//! `P` has none or stands where all have, `0` is a figure, `#` has digits alone, `X` a capital and a digit, `Y` is the
//! figure of a year, `L` of the name of a place, `S` of a service, `K` of any, `R` of one that reports or helps, `B`
//! what names one whatever its case, `J` joined to the word before, `,`, `.` or `;` behind a comma, a stop or any
//! pause, `:` behind none, and `_` any word.
//!
//! `(list)` is any pattern of a list, and `{list}` keeps what it says: a number that has a name here ([`read`]), or
//! what one of its items says. `?` makes an element optional, `*` takes any number of such words, `!` forbids it there,
//! `&` asks for it and takes nothing, and `<` asks for it before the place, the nearest word first (`<?`, `<*` and `<^`
//! as well). `..3` are up to three words, `^` and `$` the beginning and the end, `;` is a pause or the end, and `:`
//! none.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};

use super::*;

const TEXT: &str = include_str!("lexicon.tsv");

/// The words, phrases or patterns of one name.
#[derive(Default)]
pub struct List {
    pub items: Vec<&'static str>,
    /// What each says.
    says: Vec<&'static str>,
    words: BTreeSet<&'static str>,
    /// The words that its patterns begin with, where all begin with a plain one: most places need no closer look.
    firsts: Option<BTreeSet<&'static str>>,
}

static ALL: LazyLock<BTreeMap<&'static str, List>> =
    LazyLock::new(|| starter::rows::<2>(TEXT).map(|[name, text]| (name, List::of(text))).collect());

/// A list of the table; empty where it has none of that name.
pub fn list(name: &str) -> &'static List {
    static NONE: LazyLock<List> = LazyLock::new(List::default);
    debug_assert!(ALL.contains_key(name), "no list {name}");
    ALL.get(name).unwrap_or(&NONE)
}

/// The lists whose names begin so, with the rest of the name.
pub fn lists(start: &str) -> impl Iterator<Item = (&'static str, &'static List)> {
    ALL.iter().filter_map(move |(name, list)| Some((name.strip_prefix(start)?, list)))
}

/// What a list says of a word.
pub fn says(list: &str, word: &str) -> Option<&'static str> {
    let list = Some(self::list(list)).filter(|list| list.has(word))?;
    list.pairs().find(|(item, _)| *item == word).map(|(_, says)| says)
}

pub fn value<T: FromStr>(list: &str, word: &str) -> Option<T> {
    says(list, word)?.parse().ok()
}

/// What a pattern took at a place.
#[derive(Debug, Clone, Default)]
pub struct PatternMatch {
    pub length: usize,
    /// What the list says of this pattern.
    pub says: &'static str,
    /// What it kept, the last first: the name without the part before its dot, a number, and what is said.
    kept: Vec<(&'static str, i64, &'static str)>,
}

impl PatternMatch {
    pub fn all(&self, name: &str) -> Vec<i64> {
        self.kept.iter().rev().filter(|(kept, ..)| *kept == name).map(|(_, number, _)| *number).collect()
    }

    pub fn number(&self, name: &str) -> Option<i64> {
        self.all(name).first().copied()
    }

    /// Two numbers that were kept as one: of a part of a year, its first and last month.
    pub fn pair(&self, name: &str) -> Option<(i64, i64)> {
        self.kept.iter().find(|(kept, ..)| *kept == name).and_then(|(.., says)| pair(says))
    }
}

pub fn pair(says: &str) -> Option<(i64, i64)> {
    let (first, last) = says.split_once(' ')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// What is said as one of the variants of a type.
pub fn named<T: DeserializeOwned>(says: &str) -> Option<T> {
    let says: StrDeserializer<'_, serde::de::value::Error> = says.into_deserializer();
    T::deserialize(says).ok()
}

impl List {
    pub fn of(text: &'static str) -> List {
        let item = |item: &'static str| item.split_once('=').unwrap_or((item, ""));
        let (items, says): (Vec<_>, Vec<_>) = text.split('|').map(item).unzip();
        let words = || items.iter().flat_map(|item: &&str| item.split('/'));
        let firsts = || items.iter().flat_map(|item| item.split(' ').next().unwrap_or_default().split('/'));
        let plain = |word: &str| word.starts_with(char::is_lowercase) && !word.contains('&');
        let firsts = firsts().all(plain).then(|| firsts().collect());
        List { words: words().collect(), firsts, items, says }
    }

    pub fn has(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// Its items, with what each says.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.items.iter().copied().zip(self.says.iter().copied())
    }

    fn may_fit(&self, text: Reader<'_>, at: usize) -> bool {
        self.firsts.as_ref().is_none_or(|firsts| firsts.contains(text.lower(at)))
    }

    /// What the first pattern takes that fits at a place.
    pub fn take(&self, text: Reader<'_>, at: usize) -> Option<PatternMatch> {
        let one = |(pattern, says)| {
            let taken = Match { text, start: at }.fits(PatternRest { pattern, then: None }, (at, 1))?;
            Some(PatternMatch { length: taken.length - at, says, ..taken })
        };
        self.may_fit(text, at).then(|| self.pairs().find_map(one))?
    }
}

/// What is left of a pattern, and then of the one that it is a part of.
#[derive(Clone, Copy)]
struct PatternRest<'r> {
    pattern: &'static str,
    then: Option<&'r PatternRest<'r>>,
}

/// A text and the place where a pattern begins.
#[derive(Clone, Copy)]
struct Match<'t> {
    text: Reader<'t>,
    start: usize,
}

/// Most patterns in a row that `*` takes. Our choice: each costs a look at what follows.
const MOST_ROUNDS: usize = 40;

/// The place by now, and how far before the start the next word stands that is asked for there.
type Place = (usize, usize);

impl Match<'_> {
    /// Takes the rest of a pattern; the length of what is taken ends at its last place.
    fn fits(&self, rest: PatternRest<'_>, (at, back): Place) -> Option<PatternMatch> {
        #[cfg(test)]
        COMPARED.set(COMPARED.get() + 1);
        let (first, pattern) = rest.pattern.split_once(' ').unwrap_or((rest.pattern, ""));
        let behind = PatternRest { pattern, ..rest };
        let on = |more: usize| self.fits(behind, (at + more, back));
        let only = |goes_on: bool| if goes_on { on(0) } else { None };
        let here = |of: &'static str| self.element(of, PatternRest { pattern: "", then: None }, (at, back)).is_some();
        let (text, mut letters) = (self.text, first.chars());
        match (letters.next(), letters.as_str()) {
            (None, _) => match rest.then {
                Some(then) => self.fits(*then, (at, back)),
                None => Some(PatternMatch { length: at, ..PatternMatch::default() }),
            },
            (Some('^'), _) => only(at == 0),
            (Some('$'), _) => only(at >= text.words.len()),
            (Some(';'), "") => only(text.ends(at)),
            (Some(':'), "") => only(!text.ends(at)),
            (Some('.'), most) => (0..=most.trim_start_matches('.').parse().unwrap_or(0)).find_map(on),
            (Some('?'), of) => self.element(of, behind, (at, back)).or_else(|| on(0)),
            (Some('*'), of) if of.starts_with('(') => self.several(of, behind, (at, back)),
            (Some('*'), of) => (0..).take_while(|more| *more == 0 || is(of, text, at + more - 1)).find_map(on),
            (Some('!'), of) => only(!here(of)),
            (Some('&'), of) => only(here(of)),
            (Some('<'), of) => self.before(of, behind, (at, back)),
            _ => self.element(first, behind, (at, back)),
        }
    }

    /// A word, the patterns of a list, or what is kept, with the rest behind it.
    fn element(&self, of: &'static str, rest: PatternRest<'_>, (at, back): Place) -> Option<PatternMatch> {
        let inside = |open: char, close: char| of.strip_prefix(open).and_then(|of| of.strip_suffix(close));
        if let Some(name) = inside('(', ')') {
            let part = |pattern: &&'static str| self.fits(PatternRest { pattern, then: Some(&rest) }, (at, back));
            let list = list(name);
            return list.may_fit(self.text, at).then(|| list.items.iter().find_map(part))?;
        }
        let Some(name) = inside('{', '}') else {
            return is(of, self.text, at).then(|| self.fits(rest, (at + 1, back)))?;
        };
        let (length, number, says) = read(name, self.text, at)?;
        let mut taken = self.fits(rest, (at + length, back))?;
        taken.kept.push((name.rsplit('.').next().unwrap_or(name), number, says));
        Some(taken)
    }

    /// Patterns of a list, as few as there can be before the rest. What one of them took stays so: a long text must not
    /// be read in many ways.
    fn several(&self, of: &'static str, rest: PatternRest<'_>, (mut at, back): Place) -> Option<PatternMatch> {
        let mut kept = Vec::new();
        for _ in 0..MOST_ROUNDS {
            if let Some(mut taken) = self.fits(rest, (at, back)) {
                taken.kept.extend(kept.into_iter().rev().flatten());
                return Some(taken);
            }
            let one = self.element(of, PatternRest { pattern: "", then: None }, (at, back))?;
            at = one.length;
            kept.push(one.kept);
        }
        None
    }

    /// An element that asks for a word before the place.
    fn before(&self, of: &'static str, behind: PatternRest<'_>, (at, back): Place) -> Option<PatternMatch> {
        let plain = of.trim_start_matches(['!', '?', '*']);
        let is_so = |back: usize| self.start.checked_sub(back).is_some_and(|at| is(plain, self.text, at));
        let (is, further) = (is_so(back), || self.fits(behind, (at, back + 1)));
        let stay = || self.fits(behind, (at, back));
        match of.chars().next()? {
            '^' => (self.start < back).then(stay)?,
            '!' => (!is).then(further)?,
            '?' => is.then(further).flatten().or_else(stay),
            '*' => (back..)
                .take_while(|next| *next == back || is_so(next - 1))
                .find_map(|next| self.fits(behind, (at, next))),
            _ => is.then(further)?,
        }
    }
}

/// What stands at a place that is kept by a name: how many words, their number, and what a list says of them.
fn read(name: &str, text: Reader<'_>, at: usize) -> Option<(usize, i64, &'static str)> {
    let one = |number: Option<i64>| number.map(|number| (1, number, ""));
    match name {
        "day" => one(text.read(at, dates::day)),
        "month" => one(text.month(at)),
        "year" => one(text.year(at)),
        "weekday" => one(text.read(at, dates::weekday)),
        "date" => text.written(at).map(|(length, _)| (length, 0, "")),
        "decade" => one(text.read(at, dates::decade)),
        "minute" => {
            one(text.read(at, |word| dates::digits(&word.lower, 2).filter(|m| *m < 60 && word.lower.len() == 2)))
        }
        "digits" => one(text.read(at, |word| dates::digits(&word.lower, 6))),
        "number" => dates::quantity(text, at).map(|(length, number)| (length, number, "")),
        "figure" => counts::figure(text, at).map(|(length, number)| (length, number, "")),
        "time" => hours::time(text, at).map(|(length, hour)| (length, hour, "")),
        list => {
            let taken = self::list(list).take(text, at)?;
            Some((taken.length, taken.says.parse().unwrap_or(0), taken.says))
        }
    }
}

#[cfg(test)]
thread_local! {
    /// How many elements of patterns this thread has compared with words: what reading costs, told without a clock.
    pub static COMPARED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Whether the word at a place is one of several.
fn is(of: &str, text: Reader<'_>, at: usize) -> bool {
    #[cfg(test)]
    COMPARED.set(COMPARED.get() + 1);
    let Some(word) = text.word(at) else { return false };
    let one = |one: &str| {
        let mut letters = one.chars();
        match (letters.next(), letters.as_str()) {
            (Some('@'), name) => word.is_of(name),
            (Some('~'), name) => list(name).has(&stem(&word.lower)),
            (Some('-'), ending) => word.lower.ends_with(ending),
            (Some('!'), of) => !is(of, text, at),
            (Some('{'), name) => read(name.trim_end_matches('}'), text, at).is_some(),
            (Some('A'), "") => word.is_capital(),
            (Some('P'), "") => !word.is_capital() || word.shouted,
            (Some('0'), "") => word.is_figure(),
            (Some('#'), "") => word.text.bytes().all(|byte| byte.is_ascii_digit()),
            (Some('Y'), "") => dates::year(word).is_some(),
            (Some('_'), "") => true,
            (Some('S'), "") => word.name == Some(Name::Service),
            (Some('L'), "") => word.name == Some(Name::Place),
            (Some('K'), "") => word.name.is_some(),
            (Some('R'), "") => word.aside,
            (Some('B'), "") => brands::named(&word.lower).is_some(),
            (Some('J'), "") => word.joined,
            (Some('X'), "") => word.is_capital() && word.text.bytes().any(|byte| byte.is_ascii_digit()),
            (Some(';'), "") => text.ends(at),
            (Some(','), "") => matches!(word.pause, Pause::Comma | Pause::Bracket),
            (Some('.'), "") => word.pause == Pause::Stop,
            (Some(':'), "") => !text.ends(at),
            _ => word.lower == one,
        }
    };
    of.split('/').any(|all| all.split('&').all(one))
}
