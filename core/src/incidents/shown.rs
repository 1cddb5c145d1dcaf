//! All shown incidents as filters need them, in a form that costs little to look through.
//!
//! A page of a list needs every incident that a filter lets through, since it says how many there are. Reading all lines
//! takes tens of milliseconds at 20,000 incidents; looking through these takes less than one. They are made once per
//! change ([`crate::actor::Memo::list`]), and take about 60 bytes each.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::model::{IncidentType, Severity, Status};
use super::query::{Filter, lines};
use super::tables::{CLOCK, Clock, IdKey, Line};
use crate::actor::{View, encode};
use crate::{Result, Timestamp};

/// One incident, but for its words.
#[derive(Debug, Clone)]
pub struct Brief {
    pub start: Timestamp,
    pub end: Option<Timestamp>,
    pub country: [u8; 2],
    year: u16,
    sequence: u32,
    pub kind: IncidentType,
    pub severity: Severity,
    pub status: Status,
    pub citable: bool,
    /// How many.
    pub sources: u8,
    /// Where its words are among all.
    words: Range<u32>,
}

impl Brief {
    pub fn new(start: Timestamp, line: &Line) -> Brief {
        Brief {
            start,
            end: line.end,
            country: [0; 2],
            year: 0,
            sequence: 0,
            kind: line.kind,
            severity: line.severity,
            status: line.status,
            citable: line.citable,
            sources: u8::try_from(line.sources.len()).unwrap_or(u8::MAX),
            words: 0..0,
        }
    }

    /// Where the incident is stored.
    pub fn key(&self) -> IdKey {
        (String::from_utf8_lossy(&self.country).into_owned(), u32::from(self.year), self.sequence)
    }
}

/// A subject or a topic of an incident.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Subject(String),
    Topic(String),
}

/// All shown incidents, newest beginning first.
#[derive(Debug, Default)]
pub struct Shown {
    briefs: Vec<Brief>,
    /// Numbers of the words of each, one after the other.
    words: Vec<u32>,
    /// Sorted; the number of a word is its place.
    known: Vec<Word>,
}

impl Shown {
    /// Those of the last change.
    pub fn now(view: &View<'_>) -> Result<Arc<Shown>> {
        let changed = CLOCK.get(view, &())?.map(|Clock(at)| at);
        match view.memo() {
            Some(memo) => memo.list("shown incidents", encode(&changed)?, || Shown::read(view)),
            None => Shown::read(view).map(Arc::new),
        }
    }

    fn read(view: &View<'_>) -> Result<Shown> {
        let mut shown = Shown::default();
        let mut known: BTreeMap<Word, u32> = BTreeMap::new();
        let place = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        lines(view, None, |(country, year, sequence), (start, line)| {
            let from = place(shown.words.len());
            let mut brief = Brief::new(start, &line);
            let subjects = line.subjects.into_iter().map(Word::Subject);
            for word in subjects.chain(line.topics.into_iter().map(Word::Topic)) {
                let next = place(known.len());
                shown.words.push(*known.entry(word).or_insert(next));
            }
            brief.country.iter_mut().zip(country.bytes()).for_each(|(to, from)| *to = from);
            brief.year = u16::try_from(year).unwrap_or_default();
            brief.sequence = sequence;
            brief.words = from..place(shown.words.len());
            shown.briefs.push(brief);
            Ok(true)
        })?;
        // From the order of their coming to that of the alphabet.
        let mut places = vec![0; known.len()];
        for (place_now, (word, came)) in known.into_iter().enumerate() {
            places.get_mut(came as usize).into_iter().for_each(|to| *to = place(place_now));
            shown.known.push(word);
        }
        shown.words.iter_mut().for_each(|word| *word = places.get(*word as usize).copied().unwrap_or(u32::MAX));
        Ok(shown)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.briefs.len()
    }

    /// All of them.
    pub fn briefs(&self) -> impl Iterator<Item = &Brief> {
        self.briefs.iter()
    }

    /// Different domains, sorted.
    pub fn domains(&self) -> impl Iterator<Item = &String> {
        self.known.iter().filter_map(|word| match word {
            Word::Subject(subject) if subject.contains('.') => Some(subject),
            _ => None,
        })
    }

    /// A page of those that a filter lets through, newest beginning first, and how many there are.
    pub fn select(&self, filter: &Filter, offset: usize, limit: usize) -> (Vec<&Brief>, u64) {
        let country = filter.country.as_deref().map(str::as_bytes);
        let subject = filter.subject.as_ref().map(|subject| self.marked([Word::Subject(subject.clone())]));
        let topical = filter.topics.as_ref().map(|codes| {
            let codes = codes.iter().cloned().map(Word::Topic);
            self.marked(codes.chain(filter.listed.iter().cloned().map(Word::Subject)))
        });
        let has = |brief: &Brief, marked: &Option<Vec<bool>>| {
            marked.as_ref().is_none_or(|marked| {
                let words = self.words.get(brief.words.start as usize..brief.words.end as usize).unwrap_or_default();
                words.iter().any(|word| marked.get(*word as usize) == Some(&true))
            })
        };
        let holds = |brief: &Brief| {
            country.is_none_or(|country| country == brief.country)
                && filter.admits(brief)
                && has(brief, &subject)
                && has(brief, &topical)
        };
        let (mut page, mut found) = (Vec::new(), 0_usize);
        for brief in self.briefs.iter().filter(|brief| holds(brief)) {
            if found >= offset && page.len() < limit {
                page.push(brief);
            }
            found += 1;
        }
        (page, found as u64)
    }

    /// Whether each known word is one of these.
    fn marked(&self, words: impl IntoIterator<Item = Word>) -> Vec<bool> {
        let mut marked = vec![false; self.known.len()];
        for at in words.into_iter().filter_map(|word| self.known.binary_search(&word).ok()) {
            marked.get_mut(at).into_iter().for_each(|mark| *mark = true);
        }
        marked
    }
}
