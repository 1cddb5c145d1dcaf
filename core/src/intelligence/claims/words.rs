//! A sentence as words.

use std::sync::OnceLock;

use crate::engine::small_sort;

/// One word, number or domain of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'a> {
    /// As written, without a possessive ending.
    pub text: &'a str,
    /// The same in lower case.
    pub lower: String,
    /// Whether a hyphen, a dash or a slash stands between this word and the one before.
    pub joined: bool,
    /// What else stands there.
    pub pause: Pause,
    /// Part of the name of a service of which nothing is claimed: who reports it, or a means to get around a block.
    pub aside: bool,
}

/// Punctuation between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pause {
    None,
    /// A comma or a bracket: parts of a sentence.
    Comma,
    /// The same, with what was announced behind it.
    Colon,
    /// The end of a sentence, or a semicolon.
    Stop,
}

impl Word<'_> {
    /// Whether it begins with a capital letter.
    pub fn is_capital(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_uppercase)
    }
}

/// A full stop after so few letters may be that of an abbreviation.
const ABBREVIATED: usize = 3;

/// Letters, digits and what holds a domain name together are words; everything else separates them.
pub fn split(text: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let (mut start, mut joined, mut pause, mut full_stop) = (None, false, Pause::None, false);
    let mut push = |from: usize, to: usize, joined: bool, pause: Pause| {
        let whole = text.get(from..to).unwrap_or_default();
        let raw = if is_short_year(whole) { whole } else { whole.trim_matches(['.', '\'', '’']) };
        let raw = ["'s", "’s"].iter().find_map(|ending| raw.strip_suffix(ending)).unwrap_or(raw);
        if !raw.is_empty() {
            let ended = full_stop && begins_sentence(whole, raw);
            let pause = if ended { Pause::Stop } else { pause };
            let lower = raw.to_lowercase().replace('’', "'");
            let lower = lower.strip_prefix("un-").map_or(lower.clone(), |rest| format!("un{rest}"));
            words.push(Word { text: raw, lower, joined, pause, aside: false });
            full_stop = whole.ends_with('.') && raw.len() > ABBREVIATED && !raw.contains('.');
        }
    };
    let mut flag = false;
    for (at, letter) in text.char_indices() {
        // A flag is a word of two letters of its own, with nothing between it and others.
        let first_of_flag = is_flag_letter(letter) && !flag;
        if (first_of_flag || flag && !is_flag_letter(letter))
            && let Some(from) = start.take()
        {
            push(from, at, joined, pause);
            (joined, pause) = (false, Pause::None);
        }
        flag = is_flag_letter(letter);
        if flag {
            start.get_or_insert(at);
            continue;
        }
        if letter.is_alphanumeric() || matches!(letter, '.' | '\'' | '’') {
            start.get_or_insert(at);
            continue;
        }
        let after = text.get(at + letter.len_utf8()..).and_then(|rest| rest.chars().next());
        // A hyphen inside a host name stays; one between numbers or words separates them.
        let in_host = letter == '-' && start.is_some_and(|from| is_host_part(text, from, at));
        // "Un-blocked" is one word, and "UN-backed" two.
        let prefix = letter == '-' && start.is_some_and(|from| matches!(text.get(from..at), Some("un" | "Un")));
        if (in_host || prefix) && after.is_some_and(|after| after.is_alphanumeric() || after == '-') {
            continue;
        }
        if let Some(from) = start.take() {
            push(from, at, joined, pause);
            (joined, pause) = (false, Pause::None);
        }
        pause = pause.max(match letter {
            ',' | '(' | ')' => Pause::Comma,
            ':' => Pause::Colon,
            ';' | '?' | '!' => Pause::Stop,
            _ => Pause::None,
        });
        joined |= matches!(letter, '-' | '–' | '—' | '/') && letter != ' ';
    }
    if let Some(from) = start {
        push(from, text.len(), joined, pause);
    }
    words
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

/// Whether the run of non-blank characters around `from..to` looks like a host name.
fn is_host_part(text: &str, from: usize, to: usize) -> bool {
    let rest = text.get(to..).unwrap_or_default();
    let end =
        rest.find(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '-' | '.'))).unwrap_or(rest.len());
    let whole = text.get(from..to + end).unwrap_or_default();
    whole.trim_end_matches('.').rsplit_once('.').is_some_and(|(host, top)| !host.is_empty() && is_top_level(top))
}

/// Whether a label can be the last of a host name: letters, or the ASCII form of some.
pub fn is_top_level(label: &str) -> bool {
    let ascii_form = label.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--"));
    ascii_form || (label.len() >= 2 && label.chars().all(char::is_alphabetic))
}

/// A verb or name without its ending: ban, bans, banned and banning are one. Not a linguist's stem, but the same for
/// sentences and phrases.
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
    /// Sorted by first word, longest first.
    phrases: Vec<(Vec<String>, T)>,
}

impl<T: Copy> Phrases<T> {
    pub fn new(phrases: impl IntoIterator<Item = (String, T)>) -> Self {
        let as_words = |phrase: &str| split(phrase).into_iter().map(|word| word.lower).collect::<Vec<String>>();
        let mut phrases: Vec<(Vec<String>, T)> =
            phrases.into_iter().map(|(phrase, meaning)| (as_words(&phrase), meaning)).collect();
        phrases.retain(|(words, _)| !words.is_empty());
        small_sort::sort_by(&mut phrases, |(a, _), (b, _)| a.first().cmp(&b.first()).then(b.len().cmp(&a.len())));
        Phrases { phrases }
    }

    /// The longest phrase that begins at `at`: its number of words and its meaning.
    pub fn at(&self, words: &[Word<'_>], at: usize) -> Option<(usize, T)> {
        let rest = words.get(at..)?;
        let first = &rest.first()?.lower;
        let from = self.phrases.partition_point(|(phrase, _)| phrase.first() < Some(first));
        let mut same = self.phrases.iter().skip(from).take_while(|(phrase, _)| phrase.first() == Some(first));
        same.find(|(phrase, _)| {
            rest.len() >= phrase.len() && phrase.iter().zip(rest).all(|(word, found)| *word == found.lower)
        })
        .map(|(phrase, meaning)| (phrase.len(), *meaning))
    }

    /// Every phrase in the sentence with the place of its first word and its length; none overlap.
    pub fn all(&self, words: &[Word<'_>]) -> Vec<(usize, usize, T)> {
        let (mut found, mut at) = (Vec::new(), 0);
        while at < words.len() {
            match self.at(words, at) {
                Some((length, meaning)) => {
                    found.push((at, length, meaning));
                    at += length;
                }
                None => at += 1,
            }
        }
        found
    }
}

/// Phrases made once, at first use.
pub type Lazy<T> = OnceLock<Phrases<T>>;

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        split(text).into_iter().map(|word| word.text.to_owned()).collect()
    }

    #[test]
    fn words_keep_domains_and_lose_possessives_and_punctuation() {
        assert_eq!(
            texts("Kenya’s regulator (CA) blocked \"x.com\", it's said."),
            ["Kenya", "regulator", "CA", "blocked", "x.com", "it", "said"]
        );
        assert_eq!(texts("https://my-site.co.uk/path isn't up"), ["https", "my-site.co.uk", "path", "isn't", "up"]);
        assert_eq!(
            texts("8-24 November, 2023-11-08; N'Djamena"),
            ["8", "24", "November", "2023", "11", "08", "N'Djamena"]
        );
        assert_eq!(
            texts("xn--e1afmkfd.xn--p1ai, Nov '23, 'quoted'"),
            ["xn--e1afmkfd.xn--p1ai", "Nov", "'23", "quoted"]
        );
        assert_eq!(split("Telegram un-blocked").last().unwrap().lower, "unblocked");
        assert_eq!(texts("UN-backed"), ["UN", "backed"]);
        assert!(split("8–24").last().unwrap().joined && !split("8 24").last().unwrap().joined);
        let pauses = |text: &str| split(text).into_iter().map(|word| word.pause).collect::<Vec<_>>();
        assert_eq!(pauses("on Nov. 8, 2023"), [Pause::None, Pause::None, Pause::None, Pause::Comma]);
        assert_eq!(pauses("in Iran. Not so; no")[2..], [Pause::Stop, Pause::None, Pause::Stop]);
        assert!(split("").is_empty() && split("… — !").is_empty());
    }

    #[test]
    fn forms_of_a_word_have_one_stem_and_other_words_keep_theirs() {
        for (forms, expected) in [
            ("ban bans banned banning", "ban"),
            ("throttle throttles throttled throttling", "throttl"),
            ("deny denies denied denying", "deny"),
            ("switch switches switched switching", "switch"),
            ("use uses used using", "use"),
            ("pull pulls pulled pulling", "pull"),
            ("access", "access"),
            ("us", "us"),
            ("is", "is"),
            ("virus", "virus"),
        ] {
            for form in forms.split(' ') {
                assert_eq!(stem(form), expected, "{form}");
            }
        }
    }
}
