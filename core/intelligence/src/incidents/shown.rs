//! All shown incidents in a form that filters can search quickly.
//!
//! A page of a list states how many incidents pass its filter, so every incident must be checked. Reading all rows
//! takes tens of milliseconds at 20,000 incidents; searching this form takes less than one. It is made once per change
//! ([`engine::actor::Memo::list`]).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::model::{IncidentType, Severity, Status};
use super::query::{Filter, lines};
use super::tables::{CLOCK, Clock, IdKey, Line};
use crate::{Result, Timestamp};
use engine::actor::{View, encode};

/// The values that filters check, apart from country, times and words. Few different combinations occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Traits {
    pub kind: IncidentType,
    pub severity: Severity,
    pub status: Status,
    pub citable: bool,
    /// Number of sources.
    pub sources: u8,
}

impl Traits {
    pub fn of(line: &Line) -> Traits {
        Traits {
            kind: line.kind,
            severity: line.severity,
            status: line.status,
            citable: line.citable,
            sources: u8::try_from(line.sources.len()).unwrap_or(u8::MAX),
        }
    }
}

/// The time of an incident, and its id.
#[derive(Debug, Clone)]
pub struct Brief {
    pub start: Timestamp,
    pub end: Option<Timestamp>,
    pub status: Status,
    pub start_unknown: bool,
    country: [u8; 2],
    year: u16,
    sequence: u32,
}

impl Brief {
    /// The key under which the incident is stored.
    pub fn key(&self) -> IdKey {
        (text(self.country), u32::from(self.year), self.sequence)
    }
}

/// A country code as text.
fn text(country: [u8; 2]) -> String {
    String::from_utf8_lossy(&country).into_owned()
}

/// A subject or a topic of an incident.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Subject(String),
    Topic(String),
}

/// All shown incidents, the one that began last first. The position in this order is the place of an incident.
#[derive(Debug, Default)]
pub struct ShownIncidents {
    briefs: Vec<Brief>,
    /// For each incident, its index in `traits`. A filter checks each of the traits once, and then two bytes per
    /// incident.
    which: Vec<u16>,
    traits: Vec<Traits>,
    /// The places of the incidents of each country, and of those with each word.
    by_country: BTreeMap<[u8; 2], Vec<u32>>,
    by_word: BTreeMap<Word, Vec<u32>>,
}

impl ShownIncidents {
    /// The shown incidents as of the last change.
    pub fn now(view: &View<'_>) -> Result<Arc<ShownIncidents>> {
        let changed = CLOCK.get(view, &())?.map(|Clock(at)| at);
        match view.memo() {
            Some(memo) => memo.list("shown incidents", encode(&changed)?, || ShownIncidents::read(view)),
            None => ShownIncidents::read(view).map(Arc::new),
        }
    }

    fn read(view: &View<'_>) -> Result<ShownIncidents> {
        let mut shown = ShownIncidents::default();
        let mut numbers: BTreeMap<Traits, u16> = BTreeMap::new();
        lines(view, None, |key, (start, line)| {
            shown.add(&mut numbers, key, start, line);
            Ok(true)
        })?;
        shown.by_country.values_mut().chain(shown.by_word.values_mut()).for_each(Vec::shrink_to_fit);
        Ok(shown)
    }

    /// Adds an incident. It must not have begun later than any added before.
    fn add(&mut self, numbers: &mut BTreeMap<Traits, u16>, key: IdKey, start: Timestamp, line: Line) {
        let traits = Traits::of(&line);
        let next = u16::try_from(self.traits.len()).unwrap_or(u16::MAX);
        let which = *numbers.entry(traits).or_insert(next);
        if which == next {
            self.traits.push(traits);
        }
        let place = u32::try_from(self.briefs.len()).unwrap_or(u32::MAX);
        let subjects = line.subjects.into_iter().map(Word::Subject);
        for word in subjects.chain(line.topics.into_iter().map(Word::Topic)) {
            let places = self.by_word.entry(word).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
        let (code, year, sequence) = key;
        let mut country = [0; 2];
        country.iter_mut().zip(code.bytes()).for_each(|(to, from)| *to = from);
        self.by_country.entry(country).or_default().push(place);
        let year = u16::try_from(year).unwrap_or_default();
        let (end, status, start_unknown) = (line.end, line.status, line.start_unknown);
        self.briefs.push(Brief { start, end, status, start_unknown, country, year, sequence });
        self.which.push(which);
    }

    /// Number of shown incidents.
    pub fn len(&self) -> usize {
        self.briefs.len()
    }

    fn at(&self, place: u32) -> Option<&Brief> {
        self.briefs.get(place as usize)
    }

    /// The incidents of each country.
    pub fn by_country(&self) -> impl Iterator<Item = (String, impl Iterator<Item = &Brief>)> {
        self.by_country
            .iter()
            .map(|(country, places)| (text(*country), places.iter().filter_map(|place| self.at(*place))))
    }

    /// The different domains, sorted.
    pub fn domains(&self) -> impl Iterator<Item = &String> {
        self.by_word.keys().filter_map(|word| match word {
            Word::Subject(subject) if subject.contains('.') => Some(subject),
            _ => None,
        })
    }

    /// A page of the incidents that pass a filter, the one that began last first, and the number of all that pass.
    pub fn select(&self, filter: &Filter, offset: usize, limit: usize) -> (Vec<&Brief>, u64) {
        let begun = self.begun(filter);
        let Some(places) = self.named(filter) else { return self.page(filter, begun, offset, limit) };
        let bound = |bound: u32| places.partition_point(|place| *place < bound);
        let places = places.get(bound(begun.start)..bound(begun.end)).unwrap_or_default();
        self.page(filter, places.iter().copied(), offset, limit)
    }

    /// The places of the incidents that began within the filter's time.
    fn begun(&self, filter: &Filter) -> Range<u32> {
        let bound = |from: usize, before: &dyn Fn(&Brief) -> bool| {
            let rest = self.briefs.get(from..).unwrap_or_default();
            from + rest.partition_point(before)
        };
        let after = filter.until.map_or(0, |until| bound(0, &|brief| brief.start > until));
        let end = filter.begun_since.map_or(self.len(), |since| bound(after, &|brief| brief.start >= since));
        let place = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        place(after)..place(end)
    }

    /// The places of the incidents with the filter's country, subject and topics; `None` if it has none of these
    /// conditions.
    fn named(&self, filter: &Filter) -> Option<Cow<'_, [u32]>> {
        let with = |word: &Word| self.by_word.get(word).map_or(&[][..], Vec::as_slice);
        let country = filter.country.as_deref().map(|country| {
            let code = <[u8; 2]>::try_from(country.as_bytes()).ok();
            Cow::Borrowed(code.and_then(|code| self.by_country.get(&code)).map_or(&[][..], Vec::as_slice))
        });
        let subject = filter.subject.clone().map(|subject| Cow::Borrowed(with(&Word::Subject(subject))));
        let topical = filter.topics.as_ref().map(|codes| {
            let codes = codes.iter().cloned().map(Word::Topic);
            let mut marked = vec![false; self.len()];
            for word in codes.chain(filter.listed.iter().cloned().map(Word::Subject)) {
                for place in with(&word) {
                    marked.get_mut(*place as usize).into_iter().for_each(|mark| *mark = true);
                }
            }
            Cow::Owned((0..).zip(marked).filter_map(|(place, marked)| marked.then_some(place)).collect())
        });
        [country, subject, topical].into_iter().flatten().reduce(both)
    }

    /// A page of the incidents at these places that pass a filter, and the number of all that pass.
    fn page(
        &self,
        filter: &Filter,
        places: impl ExactSizeIterator<Item = u32>,
        offset: usize,
        limit: usize,
    ) -> (Vec<&Brief>, u64) {
        let admitted: Vec<bool> = self.traits.iter().map(|traits| filter.admits_traits(traits)).collect();
        if filter.since.is_none() && admitted.iter().all(|admitted| *admitted) {
            let total = places.len() as u64;
            return (places.skip(offset).take(limit).filter_map(|place| self.at(place)).collect(), total);
        }
        let holds = |place: &u32| {
            let which = self.which.get(*place as usize).copied().unwrap_or(u16::MAX);
            admitted.get(usize::from(which)) == Some(&true)
                && (filter.since.is_none()
                    || self.at(*place).is_some_and(|brief| filter.admits_times(brief.start, brief.end)))
        };
        let (mut page, mut found) = (Vec::new(), 0_usize);
        for place in places.filter(holds) {
            if found >= offset && page.len() < limit {
                page.extend(self.at(place));
            }
            found += 1;
        }
        (page, found as u64)
    }
}

/// The common entries of two sorted lists, sorted.
fn both<'a>(a: Cow<'a, [u32]>, b: Cow<'a, [u32]>) -> Cow<'a, [u32]> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    Cow::Owned(short.iter().copied().filter(|place| long.binary_search(place).is_ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve incidents, of which two begin at each time.
    fn known() -> Vec<(IdKey, Timestamp, Line)> {
        let line = |n: u32| Line {
            end: n.is_multiple_of(4).then_some(Timestamp(i64::from(n))),
            updated: Timestamp(0),
            kind: IncidentType::Censorship,
            severity: if n.is_multiple_of(2) { Severity::Low } else { Severity::High },
            status: if n.is_multiple_of(5) { Status::Suspected } else { Status::Active },
            citable: true,
            subjects: [(2, "a.example"), (3, "telegram")]
                .iter()
                .filter(|(every, _)| n.is_multiple_of(*every))
                .map(|(_, subject)| (*subject).to_owned())
                .collect(),
            topics: if n.is_multiple_of(3) { vec!["COMT".to_owned()] } else { Vec::new() },
            sources: vec![String::new(); n as usize % 3],
            evidence: Vec::new(),
            linked: false,
            licence: String::new(),
            start_unknown: false,
        };
        let country = |n: u32| if n.is_multiple_of(3) { "KE" } else { "IR" };
        (0..12).rev().map(|n| ((country(n).to_owned(), 2025, n), Timestamp(i64::from(n / 2)), line(n))).collect()
    }

    fn shown() -> ShownIncidents {
        let (mut shown, mut numbers) = (ShownIncidents::default(), BTreeMap::new());
        known().into_iter().for_each(|(key, start, line)| shown.add(&mut numbers, key, start, line));
        shown
    }

    /// Compares every page with what the filter says of each incident.
    fn check(shown: &ShownIncidents, filter: &Filter) {
        let of_country = |key: &IdKey| filter.country.as_ref().is_none_or(|country| *country == key.0);
        let expected: Vec<u32> = known()
            .iter()
            .filter(|(key, start, line)| of_country(key) && filter.holds(*start, line))
            .map(|((.., sequence), ..)| *sequence)
            .collect();
        for (offset, limit) in [(0, 100), (1, 2), (3, 0), (100, 1)] {
            let (page, total) = shown.select(filter, offset, limit);
            let page: Vec<u32> = page.into_iter().map(|brief| brief.key().2).collect();
            let wanted: Vec<u32> = expected.iter().copied().skip(offset).take(limit).collect();
            assert_eq!((page, total), (wanted, expected.len() as u64), "{filter:?}");
        }
    }

    #[test]
    fn country_and_times_let_through_what_looking_at_each_would() {
        let shown = shown();
        let times = [None, Some(-1), Some(0), Some(2), Some(5), Some(6)].map(|time| time.map(Timestamp));
        for country in [None, Some("KE"), Some("IR"), Some("SE"), Some("KENYA")] {
            for (until, begun_since) in times.iter().flat_map(|until| times.map(|since| (*until, since))) {
                for (severity, since) in
                    [None, Some(Severity::High)].into_iter().flat_map(|least| times.map(|since| (least, since)))
                {
                    let country = country.map(str::to_owned);
                    check(&shown, &Filter { country, until, begun_since, since, severity, ..Filter::default() });
                }
            }
        }
    }

    #[test]
    fn words_and_traits_let_through_what_looking_at_each_would() {
        let shown = shown();
        let words = [None, Some("a.example"), Some("telegram"), Some("b.example")];
        let listed = [Vec::new(), vec!["a.example".to_owned()]];
        for (subject, listed) in words.iter().flat_map(|word| listed.iter().map(move |listed| (word, listed))) {
            for topics in [None, Some(vec!["COMT".to_owned()]), Some(vec!["NEWS".to_owned()])] {
                for (country, min_sources) in [(None, 0), (Some("IR".to_owned()), 1), (Some("KE".to_owned()), 2)] {
                    let filter = Filter {
                        country,
                        min_sources,
                        subject: subject.map(str::to_owned),
                        listed: listed.clone(),
                        topics: topics.clone(),
                        until: Some(Timestamp(4)),
                        ..Filter::default()
                    };
                    check(&shown, &filter);
                    check(&shown, &Filter { status: Some(vec![Status::Active]), ..filter });
                }
            }
        }
    }

    #[test]
    fn incidents_of_a_country_and_domains_are_all_there() {
        let shown = shown();
        let counts: Vec<(String, usize)> =
            shown.by_country().map(|(country, briefs)| (country, briefs.count())).collect();
        assert_eq!(counts, [("IR".to_owned(), 8), ("KE".to_owned(), 4)]);
        assert_eq!(shown.domains().collect::<Vec<_>>(), ["a.example"]);
    }
}
