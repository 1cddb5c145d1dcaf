//! Every word of a claim is in a slot, in the table of harmless words, or left over. What is left over may change what the
//! claim says, so nobody has checked the claim as a whole while something is.
//!
//! A slot is filled by what reads it: where (`places`), what (`subjects`), by whom (`networks`), when (`when`), how and
//! whether (`senses`). Details (`beyond`) fill their words only where the data bear them out.

use super::beyond::Beyond;
use super::clauses::{self, Link};
use super::dates::Reader;
use super::hours::hours;
use super::lexicon::Words;
use super::networks;
use super::parse::{Reading, Sentence};
use super::places::Mention;
use super::relative::{quantity, unit, weekday};
use super::senses::{self, Sense};
use super::shares::is_network;
use super::subjects::{self, Named};
use super::when::{self, Span, When};
use super::words::{Pause, Word};

/// A word of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Spoken {
    pub text: String,
    lower: String,
    joined: bool,
    pause: Pause,
    /// It is in no slot and not harmless.
    pub left: bool,
}

static HARMLESS: Words = Words::of("slots harmless");
static AUTHORS: Words = Words::of("slots authors");
static EXCEPTIONS: Words = Words::of("slots exceptions");
static REPORTERS: Words = Words::of("slots reporters");
static REPORTS: Words = Words::of("aside reports");
static AUDIENCE: Words = Words::of("slots audience");
/// Words of details, which their detail fills where it is borne out.
static OF_LENGTH: Words = Words::of("slots length");
static OF_SHARES: Words = Words::of("slots shares");
static OF_METHODS: Words = Words::of("slots methods");
static OF_REACH: Words = Words::of("slots reach");
static OF_OCCASIONS: Words = Words::of("slots occasions");

/// Words before a left-over one that belong to it: "at weekends", "killed 50 people".
const LEADS: [&str; 12] =
    ["at", "on", "for", "by", "with", "during", "because", "after", "before", "over", "since", "than"];
/// Words before those for whom it is so.
const WHOM: [&str; 4] = ["for", "within", "inside", "among"];
/// What is of a country without being there.
const OF_AN_ORIGIN: [&str; 11] =
    ["app", "platform", "company", "users", "owned", "social", "network", "messenger", "site", "service", "search"];
/// What has a number that is part of its name.
const NUMBERED: [&str; 11] =
    ["law", "act", "decree", "article", "section", "order", "resolution", "no", "channel", "radio", "tv"];
/// Most harmless words inside of what is left over.
const MOST_BETWEEN: usize = 3;

/// The words of a claim, with what is left over of them.
pub fn spoken(sentence: &Sentence<'_>, mentions: &[Mention], named: &[Named], readings: &[Reading]) -> Vec<Spoken> {
    let words = sentence.words;
    let holds = |from: usize, length: usize, at: usize| (from..from + length).contains(&at);
    let taken = |at: usize| {
        mentions.iter().any(|mention| holds(mention.at, mention.length, at))
            || named.iter().any(|named| holds(named.at, named.length, at))
    };
    let mut slots = Slots { reader: Reader { words, shouting: false }, filled: vec![false; words.len()] };
    slots.asides(named);
    let compared = slots.filled.clone();
    for named in named {
        slots.fill(named.at, named.length);
    }
    let of_a_service =
        readings.iter().flat_map(|reading| &reading.topics).any(|topic| *topic != subjects::Topic::Internet);
    // "Blocked on mobile networks" is less than blocked.
    let lines = |at: usize| of_a_service && slots.reader.is(at, &["mobile", "cellular", "phone"]);
    let general: Vec<(usize, usize)> = subjects::general(words).into_iter().filter(|(at, _)| !lines(*at)).collect();
    for (at, length) in general.into_iter().chain(networks::spans(words, taken)) {
        slots.fill(at, length);
    }
    slots.times(&when::spans(words, sentence.now, sentence.year), readings);
    slots.senses();
    slots.harmless(readings, of_a_service);
    slots.names();
    slots.audience();
    slots.places(mentions, readings, &compared);
    let one = |(word, filled): (&Word<'_>, &bool)| Spoken {
        text: word.text.to_owned(),
        lower: word.lower.clone(),
        joined: word.joined,
        pause: word.pause,
        left: !filled,
    };
    words.iter().zip(&slots.filled).map(one).collect()
}

struct Slots<'a> {
    reader: Reader<'a>,
    filled: Vec<bool>,
}

impl Slots<'_> {
    fn fill(&mut self, at: usize, length: usize) {
        self.filled.iter_mut().skip(at).take(length).for_each(|filled| *filled = true);
    }

    fn is_filled(&self, at: usize) -> bool {
        self.filled.get(at).copied().unwrap_or(false)
    }

    /// Countries that the readings are of, and where a service or its people come from. Others are left over, whatever they
    /// are part of the name of, unless the claim compares with them.
    fn places(&mut self, mentions: &[Mention], readings: &[Reading], compared: &[bool]) {
        for mention in mentions {
            let checked = readings.iter().flat_map(|reading| &reading.countries).any(|c| c.code == mention.code);
            let of = mention.at + mention.length;
            let origin = mention.is_adjective() && (of..of + 3).any(|at| self.reader.is(at, &OF_AN_ORIGIN));
            let beside = compared.get(mention.at).copied().unwrap_or(false);
            let known = checked || origin || beside;
            self.filled.iter_mut().skip(mention.at).take(mention.length).for_each(|filled| *filled = known);
        }
    }

    /// Times that the readings are of.
    fn times(&mut self, times: &[(std::ops::Range<usize>, Vec<When>)], readings: &[Reading]) {
        let holds = |a: &When, b: &When| a.first <= b.first && b.last <= a.last;
        // "Of June 2021 ... lifted seven months later": the first is what the second is counted from.
        let counted = times.iter().any(|(_, days)| days.is_empty());
        let alone = times.iter().all(|(_, days)| days.is_empty());
        for (range, days) in times.iter().filter(|_| !alone) {
            let checked = |days: &When| {
                let mut all = readings.iter().filter_map(|reading| reading.when);
                all.any(|when| holds(&when, days) || holds(days, &when))
            };
            let now = range.len() == 1 && self.reader.is(range.start, &["now", "currently", "today"]);
            if !days.iter().all(checked) && !now && !counted {
                continue;
            }
            self.fill(range.start, range.len());
            // "Throughout 2021", "for all of May": looked at as a whole.
            if days.iter().any(|when| when.span == Span::Throughout) {
                for at in range.start.saturating_sub(4)..range.start {
                    if self.reader.is(at, &["throughout", "all", "whole", "entire", "through"]) {
                        self.fill(at, 1);
                    }
                }
            }
            // "Wednesday, 15 November": compared with the date where that was read.
            let beside = (range.start.saturating_sub(2)..range.start).chain(range.end..range.end + 2);
            for at in beside {
                let other = matches!(self.reader.before(at, 1), "since" | "until" | "till" | "from" | "by");
                if self.reader.read(at, weekday).is_some() && !other {
                    self.fill(at, 1);
                }
            }
        }
    }

    fn senses(&mut self) {
        /// Beside these a denial says how many or why.
        const TELLING: [&str; 14] = [
            "nothing",
            "all",
            "every",
            "each",
            "few",
            "power",
            "government",
            "only",
            "news",
            "warning",
            "explanation",
            "notice",
            "reason",
            "order",
        ];
        for (at, length, sense) in senses::spans(self.reader.words) {
            // "At work" is a place.
            let place = self.reader.is(at, &["work"]) && self.reader.before(at, 1) == "at";
            let telling = place || sense == Sense::Aside && (at..at + length).any(|at| self.reader.is(at, &TELLING));
            if !telling {
                self.fill(at, length);
            }
        }
    }

    fn harmless(&mut self, readings: &[Reading], of_a_service: bool) {
        let over = readings.iter().any(|reading| reading.stance.is_some_and(|stance| stance.over || stance.negated));
        let denied = readings.iter().any(|reading| reading.stance.is_some_and(|stance| stance.negated && !stance.over));
        let excepted = denied && self.reader.words.iter().any(|word| word.lower == "except");
        for (at, word) in self.reader.words.iter().enumerate() {
            let again = over && word.lower == "again";
            let lines = of_a_service && matches!(word.lower.as_str(), "mobile" | "cellular");
            // Who orders it changes nothing; for whom it was so does.
            let whom = (1..=3).any(|back| WHOM.contains(&self.reader.before(at, back)));
            let author = AUTHORS.contains(&word.lower.as_str()) && !whom;
            // "Did not block it, only slowed it"; "everywhere in Africa except Kenya".
            let but = denied && word.lower == "only" && word.pause == Pause::Comma;
            let exception = excepted && EXCEPTIONS.contains(&word.lower.as_str());
            let report = REPORTS.contains(&word.lower.as_str());
            if again || author || but || exception || report || HARMLESS.contains(&word.lower.as_str()) && !lines {
                self.fill(at, 1);
            }
        }
        for at in 0..self.reader.words.len() {
            // Technologies by name; "around 12 May", which the tolerance covers; "several users reported".
            let known = self.reader.is(at, &["2g", "3g", "4g", "5g", "lte"]);
            let near = self.reader.is(at, &["around", "about"]) && self.reader.written(at + 1).is_some();
            let said = self.reader.is(at, &["several", "some", "many", "multiple"])
                && self
                    .reader
                    .is(at + 1, &["users", "people", "residents", "journalists", "outlets", "media", "sources"])
                && self.reader.is(at + 2, &REPORTS);
            if known || near || said {
                self.fill(at, if said { 2 } else { 1 });
            }
        }
    }

    /// "Like Senegal in 2023, ...": whom a claim compares with is not checked, and changes nothing. "..., which was founded in
    /// 2013, ...": nor does what is said of a service, unless it is that it was blocked.
    fn asides(&mut self, named: &[Named]) {
        for piece in clauses::pieces(self.reader.words) {
            let (start, words) = (piece.range.start, self.reader.words.get(piece.range.clone()).unwrap_or_default());
            let relative = matches!(self.reader.before(start, 1), "which" | "who" | "whose");
            let of_a_service = named.iter().any(|named| named.at + named.length + 1 == start);
            let tells = |(.., sense): &(usize, usize, Sense)| !matches!(sense, Sense::Aside | Sense::Good);
            let beside = !relative || of_a_service && !senses::spans(words).iter().any(tells);
            if piece.link == Link::Aside && beside {
                self.fill(start.saturating_sub(1), piece.range.len() + 1);
            }
        }
    }

    /// Names of those who order and of those who report, and names with numbers.
    fn names(&mut self) {
        let reader = self.reader;
        let capital = |at: usize| reader.word(at).is_some_and(Word::is_capital);
        let inner = |at: usize| capital(at) || reader.is(at, &["of", "and", "the", "for", "de"]);
        let mut at = 0;
        while at < reader.words.len() {
            if !capital(at) {
                at += 1;
                continue;
            }
            let near = |at: usize| reader.word(at).is_some_and(|word| word.pause == Pause::None && !word.joined);
            let mut end = (at + 1..).find(|at| !(inner(*at) && near(*at))).unwrap_or(at + 1);
            while end > at + 1 && !capital(end - 1) {
                end -= 1;
            }
            let any = |list: &[&str]| (at..end).any(|at| reader.is(at, list));
            let says =
                reader.is(end, &REPORTS) || reader.is(end + 1, &REPORTS) && reader.is(end, &["has", "have", "also"]);
            let the = usize::from(reader.before(at, 1) == "the");
            let said = reader.is(at.wrapping_sub(1 + the), &REPORTS) || reader.before(at, 2 + the) == "according";
            let sourced = reader.is(at.wrapping_sub(1 + the), &["source", "via", "per", "citing", "rt"]);
            let whom = (1..=2).any(|back| WHOM.contains(&reader.before(at, back)));
            if any(&AUTHORS) && !whom || any(&REPORTERS) || says || said || sourced {
                self.fill(at, end - at);
            }
            at = end;
        }
        for at in 0..reader.words.len() {
            let law =
                reader.is(at, &NUMBERED) && reader.word(at).is_some_and(|word| word.lower != "no" || word.is_capital());
            let number =
                |at: usize| reader.word(at).is_some_and(|word| word.text.bytes().all(|byte| byte.is_ascii_digit()));
            if law && number(at + 1) {
                let length = 2 + usize::from(reader.joined(at + 2) && number(at + 2));
                self.fill(at, length);
            }
            // "TV5", "G20", "COVID-19".
            let mixed = reader.word(at).is_some_and(|word| {
                word.text.chars().next().is_some_and(char::is_uppercase)
                    && word.text.bytes().any(|b| b.is_ascii_digit())
            });
            if mixed && !self.is_filled(at) {
                self.fill(at, 1);
            }
        }
    }

    /// "With 900 million users", "used by millions of people": how large a service or a country is.
    fn audience(&mut self) {
        let reader = self.reader;
        for at in 0..reader.words.len() {
            let led = reader.is(at, &["with", "has", "boasts", "counts", "home"])
                || reader.is(at, &["by"]) && reader.before(at, 1) == "used"
                || reader.is(at, &["of"]) && matches!(reader.before(at, 1), "country" | "nation" | "city");
            let end = (at + 1..at + 8).find(|at| reader.is(*at, &AUDIENCE));
            let (true, Some(end)) = (led, end) else { continue };
            let near = (at + 1..=end).all(|at| reader.word(at).is_some_and(|word| word.pause == Pause::None));
            let counted =
                (at + 1..end).any(|at| quantity(&reader, at).is_some() || reader.is(at, &["millions", "billions"]));
            let sized = (at + 1..end).all(|at| {
                quantity(&reader, at).is_some()
                    || reader
                        .is(at, &["million", "billion", "millions", "billions", "thousand", "some", "over", "about"])
                    || reader
                        .is(at, &["more", "than", "nearly", "almost", "its", "around", "active", "monthly", "daily"])
                    || self.is_filled(at)
            });
            if near && counted && sized {
                self.fill(at, end + 1 - at);
            }
        }
    }
}

/// What is left over of a claim, as its words have it: behind what details fill that were borne out, and names of networks
/// that only measurements know.
pub fn left_over<'s>(spoken: &'s [Spoken], told: &[Beyond], networks: &[String]) -> Vec<String> {
    let word = |word: &'s Spoken| Word {
        text: &word.text,
        lower: word.lower.clone(),
        joined: word.joined,
        pause: word.pause,
        aside: false,
    };
    let words: Vec<Word<'_>> = spoken.iter().map(word).collect();
    let reader = Reader { words: &words, shouting: false };
    let filled: Vec<bool> = (0..spoken.len()).map(|at| told.iter().any(|detail| fills(*detail, &reader, at))).collect();
    let left: Vec<bool> = spoken
        .iter()
        .zip(&filled)
        .map(|(word, filled)| word.left && !filled && !networks.contains(&word.lower))
        .collect();
    let is_left = |at: usize| left.get(at).copied().unwrap_or(false);
    let (mut phrases, mut at) = (Vec::new(), 0);
    while at < spoken.len() {
        if !is_left(at) {
            at += 1;
            continue;
        }
        let mut end = at + 1;
        loop {
            let next = (end..spoken.len().min(end + MOST_BETWEEN)).find(|next| is_left(*next));
            let apart = |to: usize| (end..=to).any(|at| spoken.get(at).is_some_and(|word| word.pause != Pause::None));
            match next {
                Some(next) if !apart(next) => end = next + 1,
                _ => break,
            }
        }
        let led = at.checked_sub(1).and_then(|before| spoken.get(before)).is_some_and(|word| {
            LEADS.contains(&word.lower.as_str()) && spoken.get(at).is_some_and(|first| first.pause == Pause::None)
        });
        let run = spoken.get(at - usize::from(led)..end).unwrap_or_default();
        phrases.push(run.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "));
        at = end;
    }
    phrases
}

/// Whether a word is of a detail.
fn fills(detail: Beyond, reader: &Reader<'_>, at: usize) -> bool {
    let is = |list: &[&str]| reader.is(at, list);
    let number = || quantity(reader, at).is_some();
    match detail {
        Beyond::Beginning => is(&["began", "begun", "started", "beginning", "starting", "begins", "starts"]),
        Beyond::HowLong(_) => {
            let counted =
                (1..=2).any(|on| unit(reader.lower(at + on)).is_some() || reader.is(at + on, &["hours", "hour"]));
            let named = unit(reader.lower(at)).is_some() || is(&["hour", "hours", "minute", "minutes"]);
            is(&OF_LENGTH) || named || number() && counted
        }
        Beyond::HowMany(_) => {
            let counted = (1..=4).any(|on| is_network(reader.lower(at + on)));
            is(&OF_SHARES) || number() && counted
        }
        Beyond::Hours(_) => {
            let from = at.saturating_sub(5);
            let covers = |first: usize| hours(reader, first).is_some_and(|(length, _)| first + length > at);
            let only = is(&["only"]) && (1..=3).any(|on| hours(reader, at + on).is_some());
            only || is(&["every", "each", "during"]) || (from..=at).any(covers)
        }
        Beyond::Method(_) => is(&OF_METHODS),
        Beyond::Nationwide => is(&OF_REACH),
        Beyond::Occasion => is(&OF_OCCASIONS),
    }
}
