//! What a part of a sentence says by itself, and what it leaves to others.

use super::clauses::{self, Link};
use super::later::Later;
use super::lexicon::Words;
use super::networks::Network;
use super::places::Area;
use super::stance::{self, Kind};
use super::subjects::Topic;
use super::when::{Unread, When};
use super::words::Word;
use crate::facts::starter::Country;

/// A part of a sentence, read by itself.
pub struct Part<'a> {
    pub words: Vec<Word<'a>>,
    pub said: Option<stance::Reading>,
    pub countries: Vec<&'static Country>,
    pub areas: Vec<(&'static str, Area)>,
    /// It is said of a country as a whole.
    pub nationwide: bool,
    pub topics: Vec<Topic>,
    pub networks: Vec<Network>,
    pub candidates: Vec<String>,
    /// Of a list each.
    pub days: Vec<When>,
    pub later: Option<Later>,
    pub unread: Option<Unread>,
    /// It leaves its verb to another clause; whether it negates that.
    pub elliptic: Option<bool>,
    /// It has names and dates, and no more.
    pub names_alone: bool,
}

impl Part<'_> {
    pub fn has_verb(&self) -> bool {
        self.said.is_some_and(|said| said.has_verb())
    }

    /// Whether it says when it was so.
    pub fn is_timed(&self) -> bool {
        !self.days.is_empty() || self.later.is_some()
    }

    /// Whether both name a time, a place or a service of their own.
    pub fn shares(&self, other: &Part<'_>) -> bool {
        self.is_timed() && other.is_timed()
            || !self.countries.is_empty() && !other.countries.is_empty()
            || !self.topics.is_empty() && !other.topics.is_empty()
            || !self.networks.is_empty() && !other.networks.is_empty()
    }

    /// Whether it leaves its verb to another clause, and then whether it negates that.
    pub fn leaves_verb(&self, link: Link) -> Option<bool> {
        let names = self.names();
        let first = self.words.first().map_or("", |word| word.lower.as_str());
        match self.elliptic {
            _ if self.has_verb() => None,
            Some(negated) => Some(negated),
            // "... but not in the north of Finland", "..., but also in Sweden".
            None if link == Link::But && self.has_own(names) && matches!(first, "not" | "nor" | "neither") => {
                Some(true)
            }
            None if link == Link::But && names && self.said.is_none() && matches!(first, "in" | "also") => Some(false),
            None if self.is_what_remains(link) => Some(false),
            // "blocked Facebook on 4 February and Twitter on 5 February", "then Twitter on 5 February".
            None if matches!(link, Link::And | Link::But)
                && self.names_alone
                && self.names_a_subject()
                && (self.is_timed() || self.is_pair()) =>
            {
                Some(false)
            }
            None => None,
        }
    }

    /// Whether it is only a name, which a denial before it leaves out: "did not block WhatsApp, only Telegram", "but
    /// Telegram".
    pub fn is_what_remains(&self, link: Link) -> bool {
        let first = self.words.first().map_or("", |word| word.lower.as_str());
        let but = link == Link::But && self.elliptic.is_none() && !matches!(first, "in" | "also");
        (self.begins_with_only() || but) && self.names_alone && self.names_a_subject()
    }

    pub fn begins_with_only(&self) -> bool {
        self.words.first().is_some_and(|word| matches!(word.lower.as_str(), "only" | "just" | "merely" | "simply"))
    }

    /// Whether it denies that something is blocked.
    pub fn denies(&self) -> bool {
        self.said.is_some_and(|said| said.bad && said.stance.negated && !said.bare.negated)
    }

    /// Whether it denies that something ended.
    fn denies_an_end(&self) -> bool {
        self.said.is_some_and(|said| said.bare.over && !said.stance.negated)
    }

    /// Whether what it names is all that it says: "but not on 6 May", and unlike "but not the phones in May".
    pub fn has_own(&self, names: bool) -> bool {
        names && (self.names_a_subject() || self.names_alone)
    }

    /// Whether it begins with what stands for the things named before.
    pub fn goes_on(&self) -> bool {
        self.words.first().is_some_and(|word| matches!(word.lower.as_str(), "it" | "they"))
    }

    /// The kind of what it leaves to another clause, said of its own topics.
    pub fn kind_of(&self, kind: Kind) -> Kind {
        kind_of(kind, &self.topics)
    }

    pub fn says_as(&self, other: &Part<'_>) -> bool {
        let said = |part: &Part<'_>| part.said.map(|said| (said.stance.kind, said.stance.negated));
        said(self) == said(other)
    }

    /// Whether it names a time, a place, a service or a network of its own.
    pub fn names(&self) -> bool {
        self.is_timed() || self.names_a_subject()
    }

    /// Whether it names a service and a place: "and Twitter in Nigeria".
    pub fn is_pair(&self) -> bool {
        !self.topics.is_empty() && !self.countries.is_empty()
    }

    /// Whether it only says that something is untrue: "the government denied it".
    pub fn is_denial(&self) -> bool {
        self.said.is_some() && !self.has_verb() && !self.names()
    }

    /// Whether both say of something of their own when it was so.
    pub fn dates_like(&self, before: &Part<'_>) -> bool {
        before.is_timed() && (self.countries.is_empty() || !before.countries.is_empty())
    }

    /// Whether all that it names is unknown.
    pub fn names_somebody_else(&self) -> bool {
        let name = |word: &Word<'_>| word.is_capital() && !clauses::is_elliptic(word);
        let shouted = self.words.iter().all(Word::is_capital);
        !self.names() && !shouted && self.words.iter().any(name)
    }

    pub fn names_a_subject(&self) -> bool {
        !self.countries.is_empty() || !self.topics.is_empty() || !self.networks.is_empty()
    }

    /// Whether it goes on with how it is now: "and remains blocked", "and it has never lifted the ban".
    pub fn is_of_now(&self) -> bool {
        let lower = |at: usize| self.words.get(at).map_or("", |word| word.lower.as_str());
        // "Never to return"
        if lower(0) == "never" && lower(1) == "to" {
            return true;
        }
        let mut words = self.words.iter().map(|word| word.lower.as_str());
        let first = words.find(|word| !BEFORE_THE_VERB.contains(word));
        // "The site never came back"
        first.is_some_and(|word| OF_NOW.contains(&word) || word == "never" && self.denies_an_end())
    }

    /// Whether what it dates is said to go on: "is still", "remains".
    pub fn goes_on_now(&self) -> bool {
        let lower = |at: usize| self.words.get(at).map_or("", |word| word.lower.as_str());
        // "Has never come back", "has not been lifted"
        let perfect = self.has_word(&["has", "have", "hasn't", "haven't", "never"]);
        perfect && self.denies_an_end()
            || (0..self.words.len()).any(|at| match lower(at) {
                "is" | "are" | "has" | "have" => lower(at + 1) == "still",
                "still" => matches!(lower(at + 1), "is" | "are" | "remains" | "does" | "do"),
                "remains" | "remain" | "stays" => true,
                // "and never restored it", "and still does"
                "never" => matches!(
                    lower(at + 1),
                    "restored" | "lifted" | "unbanned" | "unblocked" | "reversed" | "ended" | "came" | "returned"
                ),
                // "up to now", "to this day"
                "to" => lower(at + 1) == "date" || matches!((lower(at + 1), lower(at + 2)), ("this", "day")),
                "now" => at.checked_sub(1).is_some_and(|before| matches!(lower(before), "to" | "until" | "till")),
                _ => false,
            })
    }

    /// Whether it speaks of what was.
    pub fn is_dated(&self) -> bool {
        self.is_timed() || self.has_word(&["was", "were", "had"])
    }

    pub fn has_word(&self, list: &[&str]) -> bool {
        self.words.iter().any(|word| list.contains(&word.lower.as_str()))
    }
}

/// A kind that is said of one thing, as it is of others: a service is blocked, connectivity shut down.
pub fn kind_of(kind: Kind, topics: &[Topic]) -> Kind {
    match kind {
        Kind::Throttling => kind,
        _ if topics.is_empty() => kind,
        _ if about_internet(topics) => Kind::Shutdown,
        _ => Kind::Block,
    }
}

/// Whether connectivity as a whole is named first, or nothing is.
pub fn about_internet(topics: &[Topic]) -> bool {
    topics.first().is_none_or(|topic| *topic == Topic::Internet)
}

/// Verbs of the present that go on about the same thing, and words before them.
static OF_NOW: Words = Words::of("part of now");
static BEFORE_THE_VERB: Words = Words::of("part before the verb");
