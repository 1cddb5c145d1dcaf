//! What a clause leaves to the others: it is about the same place, service and time.

use super::clauses::{Link, Mood};
use super::later::Later;
use super::parse::Reading;
use super::part::kind_of;
use super::stance::Stance;
use super::when::{Span, Unread, When};
use crate::engine::time::Date;

/// A reading that may lack what other clauses say.
#[derive(Clone)]
pub struct Draft {
    pub link: Link,
    pub reading: Reading,
    /// Of a list each makes a reading.
    pub days: Vec<When>,
    /// Where it names none: how long it was after those of the clause before.
    pub later: Option<Later>,
    /// It goes on with how it is now.
    pub now: bool,
    /// It leaves its verb, and so the time, to another clause.
    pub depends: bool,
    /// What follows is later: "since the shutdown in January".
    pub since: bool,
}

impl Draft {
    /// Takes what it does not say itself from the nearest clause that does, those before it first.
    fn complete(&mut self, given: &[Draft], at: usize, (now, today): (bool, Date)) {
        let nearest = |has: &dyn Fn(&Draft) -> bool| {
            let before = given.get(..at).unwrap_or_default().iter().rev();
            before.chain(given.get(at + 1..).unwrap_or_default()).find(|draft| has(draft))
        };
        let reading = &mut self.reading;
        if reading.countries.is_empty()
            && let Some(other) = nearest(&|other| !other.reading.countries.is_empty())
        {
            (reading.countries, reading.areas) = (other.reading.countries.clone(), other.reading.areas.clone());
        }
        let bare = given.get(at).is_some_and(|own| own.reading.countries.is_empty() && own.reading.topics.is_empty());
        let about = nearest(&|other| !other.reading.topics.is_empty());
        // What goes on about the same thing is said of the same networks.
        if bare
            && reading.networks.is_empty()
            && let Some(other) = about
        {
            reading.networks = other.reading.networks.clone();
        }
        if reading.topics.is_empty()
            && let Some(other) = about
        {
            reading.topics = other.reading.topics.clone();
        }
        // "It was blocked in 2024 and is accessible" speaks of now.
        if self.days.is_empty()
            && (self.depends || !(now || self.now))
            && let Some(other) = nearest(&|other| !other.days.is_empty())
        {
            let since =
                |when: &When| When { span: Span::Since, named: 1, ..When::new(when.last, today.max(when.last)) };
            self.days = match other.since {
                true => other.days.iter().map(since).collect(),
                false => other.days.clone(),
            };
        }
        // "Was not blocked, only slowed": both of what was.
        if self.depends
            && self.days.is_empty()
            && let Some(before) = at.checked_sub(1).and_then(|at| given.get(at))
        {
            reading.past |= before.reading.past && !reading.present;
        }
        let main = nearest(&|other| other.reading.stance.is_some()).and_then(|other| other.reading.stance);
        if self.link == Link::Unlike
            && let Some(main) = main
        {
            let kind = kind_of(main.kind, &reading.topics);
            reading.stance = Some(Stance { negated: !main.negated, over: false, kind, ..main });
            reading.mood = Mood::Fact;
        }
        reading.complete_by_network();
    }

    /// One reading for each of its days.
    fn readings(self) -> impl Iterator<Item = Reading> {
        let Draft { reading, days, .. } = self;
        let times: Vec<Option<When>> = if days.is_empty() { vec![None] } else { days.into_iter().map(Some).collect() };
        times.into_iter().map(move |when| Reading { when, ..reading.clone() })
    }
}

/// Days that are counted from those of the clause before.
fn count_on(drafts: &mut [Draft]) {
    let mut last: Option<When> = None;
    for draft in drafts.iter_mut() {
        if let Some(later) = draft.later.filter(|_| draft.days.is_empty()) {
            let days = last.and_then(|base| later.behind(base));
            let missing = days.is_none() && later.counted;
            draft.reading.unread = draft.reading.unread.or(missing.then_some(Unread::NoSuchDate));
            draft.days.extend(days);
        }
        last = draft.days.last().copied().or(last);
    }
}

/// "Down since 13 January, it was restored on 18 January": what went on since then went on until the end that is told.
fn end_what_is_over(drafts: &mut [Draft]) {
    let ends: Vec<Option<When>> = drafts
        .iter()
        .map(|draft| draft.days.first().copied().filter(|_| draft.reading.stance.is_some_and(|stance| stance.over)))
        .collect();
    for (at, draft) in drafts.iter_mut().enumerate() {
        let next = ends.get(at + 1).copied().flatten();
        if let ([since], Some(end)) = (draft.days.as_mut_slice(), next)
            && since.span == Span::Since
            && since.first <= end.first
        {
            *since =
                When { span: Span::Range, named: since.named, closing: end.named, ..When::new(since.first, end.last) };
        }
    }
}

/// What a clause does not say itself it takes from the one before, or from the next.
/// `now` tells that one of them speaks of the present.
pub fn complete(mut drafts: Vec<Draft>, now: bool, today: Date) -> Vec<Reading> {
    count_on(&mut drafts);
    end_what_is_over(&mut drafts);
    let given = drafts.clone();
    for (at, draft) in drafts.iter_mut().enumerate() {
        draft.complete(&given, at, (now, today));
    }
    // What is unlike comes after what is claimed.
    let (unlike, claimed): (Vec<Draft>, Vec<Draft>) = drafts.into_iter().partition(|draft| draft.link == Link::Unlike);
    let mut all: Vec<Reading> = Vec::new();
    for reading in claimed.into_iter().chain(unlike).flat_map(Draft::readings) {
        if !all.contains(&reading) {
            all.push(reading);
        }
    }
    all
}
