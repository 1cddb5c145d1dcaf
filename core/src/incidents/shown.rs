//! All shown incidents as filters need them, in a form that costs little to look through.
//!
//! A page of a list needs every incident that a filter lets through, since it says how many there are. Reading all lines
//! takes tens of milliseconds at 20,000 incidents; looking through these takes less than one. They are made once per
//! change ([`crate::actor::Memo::list`]), and take about 120 bytes each.

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
    /// The same of each country.
    by_country: BTreeMap<[u8; 2], Vec<Brief>>,
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
            shown.by_country.entry(brief.country).or_default().push(brief.clone());
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

    /// Those of the filter's country that began in its time.
    fn begun(&self, filter: &Filter) -> &[Brief] {
        let all = match filter.country.as_deref().map(|country| <[u8; 2]>::try_from(country.as_bytes())) {
            None => self.briefs.as_slice(),
            Some(country) => {
                country.ok().and_then(|country| self.by_country.get(&country)).map_or(&[][..], Vec::as_slice)
            }
        };
        let after = filter.until.map_or(0, |until| all.partition_point(|brief| brief.start > until));
        let end = filter.begun_since.map_or(all.len(), |since| all.partition_point(|brief| brief.start >= since));
        all.get(after..end).unwrap_or_default()
    }

    /// A page of those that a filter lets through, newest beginning first, and how many there are.
    pub fn select(&self, filter: &Filter, offset: usize, limit: usize) -> (Vec<&Brief>, u64) {
        let begun = self.begun(filter);
        if filter.is_plain() {
            return (begun.iter().skip(offset).take(limit).collect(), begun.len() as u64);
        }
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
        let holds = |brief: &Brief| filter.admits(brief) && has(brief, &subject) && has(brief, &topical);
        let (mut page, mut found) = (Vec::new(), 0_usize);
        for brief in begun.iter().filter(|brief| holds(brief)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve, two of them beginning at each time.
    fn shown() -> Shown {
        let mut shown = Shown::default();
        for n in (0..12_u32).rev() {
            let brief = Brief {
                start: Timestamp(i64::from(n / 2)),
                end: (n % 4 == 0).then_some(Timestamp(i64::from(n))),
                country: if n % 3 == 0 { *b"KE" } else { *b"IR" },
                year: 2025,
                sequence: n,
                kind: IncidentType::Censorship,
                severity: if n % 2 == 0 { Severity::Low } else { Severity::High },
                status: Status::Active,
                citable: true,
                sources: 1,
                words: 0..0,
            };
            shown.by_country.entry(brief.country).or_default().push(brief.clone());
            shown.briefs.push(brief);
        }
        shown
    }

    #[test]
    fn country_and_times_of_beginning_let_through_what_looking_at_each_would() {
        let shown = shown();
        let times = [None, Some(-1), Some(0), Some(2), Some(5), Some(6)].map(|time| time.map(Timestamp));
        for country in [None, Some("KE"), Some("IR"), Some("SE"), Some("KENYA")] {
            for (until, begun_since) in times.iter().flat_map(|until| times.map(|since| (*until, since))) {
                for severity in [None, Some(Severity::High)] {
                    let country = country.map(str::to_owned);
                    let filter = Filter { country, until, begun_since, severity, ..Filter::default() };
                    let of_country = |brief: &&Brief| {
                        filter.country.as_ref().is_none_or(|country| country.as_bytes() == brief.country)
                    };
                    let expected: Vec<u32> = shown
                        .briefs()
                        .filter(of_country)
                        .filter(|brief| filter.admits(brief))
                        .map(|brief| brief.sequence)
                        .collect();
                    for (offset, limit) in [(0, 100), (1, 2), (3, 0), (100, 1)] {
                        let (page, total) = shown.select(&filter, offset, limit);
                        let page: Vec<u32> = page.into_iter().map(|brief| brief.sequence).collect();
                        let wanted: Vec<u32> = expected.iter().copied().skip(offset).take(limit).collect();
                        assert_eq!((page, total), (wanted, expected.len() as u64), "{filter:?}");
                    }
                }
            }
        }
    }
}
