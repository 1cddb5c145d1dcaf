//! A sentence as words, and what a reader asks at a place of it.

use super::*;

/// One word, number or domain of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'a> {
    /// As written, without a possessive ending.
    pub text: &'a str,
    pub lower: String,
    /// Whether a hyphen, a dash or a slash stands between this word and the one before.
    pub joined: bool,
    /// What else stands there.
    pub pause: Pause,
    /// Part of the name of a service of which nothing is claimed: who reports it, or a means to get around a block.
    pub aside: bool,
    /// Part of a name, and of what.
    pub name: Option<Name>,
    /// Nothing in the whole text is in lower case: capitals tell nothing.
    pub shouted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    Place,
    Service,
    /// A service of which nothing is said: "except WhatsApp".
    Excepted,
}

/// Marks the words of a name, of which the first and the number are given.
pub fn mark(words: &mut [Word<'_>], (at, length): (usize, usize), name: Name) {
    words.iter_mut().skip(at).take(length).for_each(|word| word.name = Some(name));
}

/// Punctuation between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pause {
    None,
    /// A comma or the end of a bracket: parts of a sentence.
    Comma,
    /// The same, where a bracket begins.
    Bracket,
    /// The same, with what was announced behind it.
    Colon,
    /// The end of a sentence, or a semicolon.
    Stop,
}

impl Word<'_> {
    pub fn is_capital(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_uppercase)
    }

    pub fn is_figure(&self) -> bool {
        self.text.starts_with(|letter: char| letter.is_ascii_digit())
    }

    /// Whether it is one of some words, which `|` divides.
    pub fn is(&self, list: &str) -> bool {
        list.split('|').any(|word| word == self.lower)
    }

    pub fn is_of(&self, list: &str) -> bool {
        lexicon::list(list).has(&self.lower)
    }
}

/// Words with what is asked at a place of them; there is nothing before the first and behind the last.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub words: &'a [Word<'a>],
}

impl<'a> Reader<'a> {
    pub const fn of(words: &'a [Word<'a>]) -> Reader<'a> {
        Reader { words }
    }

    pub fn word(&self, at: usize) -> Option<&'a Word<'a>> {
        self.words.get(at)
    }

    pub fn lower(&self, at: usize) -> &'a str {
        self.word(at).map_or("", |word| word.lower.as_str())
    }

    /// Whether one of some words stands at a place; an empty one is none at all.
    pub fn is(&self, at: usize, list: &str) -> bool {
        list.split('|').any(|word| word == self.lower(at))
    }

    pub fn was(&self, at: usize, back: usize, list: &str) -> bool {
        at.checked_sub(back).is_some_and(|at| self.is(at, list))
    }

    pub fn of_list(&self, at: usize, list: &str) -> bool {
        self.word(at).is_some_and(|word| word.is_of(list))
    }

    /// What a pattern of the lexicon takes at a place.
    pub fn take(&self, at: usize, list: &str) -> Option<PatternMatch> {
        lexicon::list(list).take(*self, at)
    }

    /// How many words that is.
    pub fn matches(&self, at: usize, list: &str) -> Option<usize> {
        self.take(at, list).map(|taken| taken.length)
    }

    pub fn fits(&self, at: usize, list: &str) -> bool {
        self.matches(at, list).is_some()
    }

    pub fn find(&self, list: &str) -> Option<usize> {
        (0..=self.words.len()).find(|at| self.fits(*at, list))
    }

    pub fn says(&self, list: &str) -> bool {
        self.find(list).is_some()
    }

    pub fn has(&self, list: &str) -> bool {
        self.words.iter().any(|word| word.is(list))
    }

    pub fn joined(&self, at: usize) -> bool {
        self.word(at).is_some_and(|word| word.joined)
    }

    /// What stands before a place; behind the last word the end does.
    pub fn pause(&self, at: usize) -> Pause {
        self.word(at).map_or(Pause::Stop, |word| word.pause)
    }

    /// Whether a part of the sentence ends before a place.
    pub fn ends(&self, at: usize) -> bool {
        self.pause(at) != Pause::None
    }

    pub fn capital(&self, at: usize) -> bool {
        self.word(at).is_some_and(Word::is_capital)
    }

    pub fn read<T>(&self, at: usize, read: impl Fn(&Word<'_>) -> Option<T>) -> Option<T> {
        self.word(at).and_then(read)
    }

    /// Some of its words as they are written.
    pub fn quote(&self, range: Range<usize>) -> String {
        self.part(range).words.iter().map(|word| word.text).collect::<Vec<_>>().join(" ")
    }

    pub fn part(&self, range: Range<usize>) -> Reader<'a> {
        let to = range.end.min(self.words.len());
        Reader { words: self.words.get(range.start.min(to)..to).unwrap_or_default() }
    }
}

/// A full stop after so few letters may be that of an abbreviation.
const ABBREVIATED: usize = 3;

/// Letters, digits and what holds a domain name together are words; everything else separates them.
pub fn split(text: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let (mut start, mut joined, mut pause) = (None, false, Pause::None);
    let (mut full_stop, mut flag, shouted) = (false, false, !text.chars().any(char::is_lowercase));
    // What stands behind the text ends its last word.
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        let of_flag = is_flag_letter(letter);
        let hyphen = letter == '-' && start.is_some_and(|from| is_inside(text, from, at));
        let inside = of_flag || hyphen || letter.is_alphanumeric() || matches!(letter, '.' | '\'' | '’');
        // A flag is a word of its own, with nothing between it and others.
        if let Some(from) = start.take_if(|_| !inside || of_flag != flag) {
            let whole = text.get(from..at).unwrap_or_default();
            let raw = if is_short_year(whole) { whole } else { whole.trim_matches(['.', '\'', '’']) };
            let raw = ["'s", "’s"].iter().find_map(|ending| raw.strip_suffix(ending)).unwrap_or(raw);
            if !raw.is_empty() {
                let ended = full_stop && begins_sentence(whole, raw);
                let lower = raw.to_lowercase().replace('’', "'");
                let lower = lower.strip_prefix("un-").map_or(lower.clone(), |rest| format!("un{rest}"));
                let pause = if ended { Pause::Stop } else { pause };
                words.push(Word { text: raw, lower, joined, pause, aside: false, name: None, shouted });
                full_stop = whole.ends_with('.') && raw.len() > ABBREVIATED && !raw.contains('.');
            }
            (joined, pause) = (false, Pause::None);
        }
        flag = of_flag;
        if inside {
            start.get_or_insert(at);
            continue;
        }
        pause = pause.max(match letter {
            ',' | ')' => Pause::Comma,
            '(' => Pause::Bracket,
            ':' => Pause::Colon,
            ';' | '?' | '!' => Pause::Stop,
            _ => Pause::None,
        });
        joined |= matches!(letter, '-' | '–' | '—' | '/');
    }
    words
}

/// Whether a hyphen belongs to a word that began before it: to a host name, or to "un-blocked", unlike "UN-backed".
fn is_inside(text: &str, from: usize, at: usize) -> bool {
    let (begun, rest) = (text.get(from..at).unwrap_or_default(), text.get(at..).unwrap_or_default());
    let of_host = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '.');
    let host = rest.find(|letter| !of_host(letter)).and_then(|end| rest.get(..end)).unwrap_or(rest);
    let goes_on = rest.chars().nth(1).is_some_and(|after| after.is_alphanumeric() || after == '-');
    goes_on && (is_host(format!("{begun}{host}").trim_end_matches('.')) || matches!(begun, "un" | "Un"))
}

/// "in Iran. Telegram", "2. Kenya": behind a full stop, which "Nov. 8" and "Dr. Who" have none of.
fn begins_sentence(whole: &str, raw: &str) -> bool {
    let figure = whole.strip_suffix('.').filter(|figure| figure.len() < 3);
    let counts = figure.is_some_and(|figure| figure.bytes().all(|byte| byte.is_ascii_digit()));
    counts || raw.chars().next().is_some_and(char::is_uppercase)
}

/// A letter of which two make the flag of a country.
fn is_flag_letter(letter: char) -> bool {
    ('\u{1F1E6}'..='\u{1F1FF}').contains(&letter)
}

/// The code of the country whose flag a word is; of several flags the first.
pub fn flag(text: &str) -> Option<String> {
    let letter = |letter: char| is_flag_letter(letter).then(|| u32::from(letter) - 0x1F1E6 + u32::from('A'));
    let code: String = text.chars().take(2).filter_map(letter).filter_map(char::from_u32).collect();
    (code.len() == 2).then_some(code)
}

/// "'23": the apostrophe says that it is a year.
fn is_short_year(text: &str) -> bool {
    let digits = text.strip_prefix(['\'', '’']);
    digits.is_some_and(|digits| digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether labels can be a host name, of which the last has letters or their ASCII form.
pub fn is_host(text: &str) -> bool {
    let Some((host, top)) = text.rsplit_once('.') else { return false };
    let ascii_form = top.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--"));
    !host.is_empty() && (ascii_form || top.len() >= 2 && top.chars().all(char::is_alphabetic))
}

/// A verb or name without its ending: ban, bans, banned and banning are one. Not a linguist's stem.
pub fn stem(word: &str) -> String {
    let long = |ending: &str| word.strip_suffix(ending).filter(|rest| rest.len() > 1);
    let mut base = if let Some(rest) = long("ies").or_else(|| long("ied")) {
        format!("{rest}y")
    } else if let Some(rest) = long("ing").or_else(|| long("ed")) {
        let mut ends = rest.chars().rev();
        let doubled = ends.next().zip(ends.next()).is_some_and(|(a, b)| a == b && !matches!(a, 'l' | 's' | 'z'));
        rest.get(..rest.len() - usize::from(doubled)).unwrap_or(rest).to_owned()
    } else if let Some(rest) = long("es").filter(|rest| ["s", "x", "z", "ch", "sh"].iter().any(|e| rest.ends_with(e))) {
        rest.to_owned()
    } else {
        long("s").filter(|rest| !rest.ends_with(['s', 'u', 'i'])).unwrap_or(word).to_owned()
    };
    if base.len() > 3 && base.ends_with('e') {
        base.pop();
    }
    // "used" is not "us".
    if base.len() < 3 && base.len() < word.len() { format!("{base}e") } else { base }
}

/// A list of phrases, each with a meaning, found in sentences: of several that begin at a word the longest wins.
pub struct Phrases<T> {
    phrases: Vec<(Vec<String>, T)>,
}

impl<T: Copy> Phrases<T> {
    pub fn new(phrases: impl IntoIterator<Item = (String, T)>) -> Self {
        let as_words = |phrase: &str| split(phrase).into_iter().map(|word| word.lower).collect::<Vec<String>>();
        let mut phrases: Vec<(Vec<String>, T)> =
            phrases.into_iter().map(|(phrase, meaning)| (as_words(&phrase), meaning)).collect();
        phrases.retain(|(words, _)| !words.is_empty());
        phrases.sort_by(|(a, _), (b, _)| a.first().cmp(&b.first()).then(b.len().cmp(&a.len())));
        Phrases { phrases }
    }

    /// The longest phrase that begins at `at`: its number of words and its meaning.
    pub fn at(&self, words: &[Word<'_>], at: usize) -> Option<(usize, T)> {
        let rest = words.get(at..)?;
        let first = Some(&rest.first()?.lower);
        let from = self.phrases.partition_point(|(phrase, _)| phrase.first() < first);
        let mut same = self.phrases.iter().skip(from).take_while(|(phrase, _)| phrase.first() == first);
        let fits = |phrase: &[String]| phrase.iter().zip(rest).filter(|(word, found)| **word == found.lower).count();
        let (phrase, meaning) = same.find(|(phrase, _)| fits(phrase) == phrase.len())?;
        Some((phrase.len(), *meaning))
    }

    /// Every phrase in the sentence with the place of its first word and its length; none overlap.
    pub fn all(&self, words: &[Word<'_>]) -> Vec<(usize, usize, T)> {
        let (mut found, mut at) = (Vec::new(), 0);
        while at < words.len() {
            let phrase = self.at(words, at);
            found.extend(phrase.map(|(length, meaning)| (at, length, meaning)));
            at += phrase.map_or(1, |(length, _)| length);
        }
        found
    }
}
