//! What a part of a sentence says by itself, and what it leaves to others: it is about the same place, service and time.

use super::*;

pub struct Part<'a> {
    pub words: Vec<Word<'a>>,
    pub said: Option<stance::Said>,
    pub days: Vec<When>,
    pub later: Option<Later>,
    /// It leaves its verb to another clause; whether it negates that.
    pub elliptic: Option<bool>,
    /// It has names and dates, and no more.
    pub names_alone: bool,
    pub reading: Reading,
}

impl Part<'_> {
    pub fn text(&self) -> Reader<'_> {
        Reader::of(&self.words)
    }

    pub fn has_verb(&self) -> bool {
        self.said.is_some_and(|said| said.has_verb())
    }

    pub fn is_timed(&self) -> bool {
        !self.days.is_empty() || self.later.is_some()
    }

    /// Whether it names a time, a place, a service and a network of its own.
    fn own(&self) -> [bool; 4] {
        let Reading { countries, topics, networks, .. } = &self.reading;
        [self.is_timed(), !countries.is_empty(), !topics.is_empty(), !networks.is_empty()]
    }

    /// Whether both name one of those.
    pub fn shares(&self, other: &Part<'_>) -> bool {
        self.own().into_iter().zip(other.own()).any(|(own, other)| own && other)
    }

    pub fn names(&self) -> bool {
        self.own().contains(&true)
    }

    pub fn names_a_subject(&self) -> bool {
        self.own().into_iter().skip(1).any(|own| own)
    }

    /// Whether it leaves its verb to another clause, and then whether it negates that.
    pub fn leaves_verb(&self, link: Link) -> Option<bool> {
        if self.has_verb() {
            return None;
        }
        let ([timed, place, topic, _], text, subject) = (self.own(), self.text(), self.names_a_subject());
        let but = link == Link::But && self.names();
        // "... but not in the north of Finland", "..., but also in Sweden"; unlike "but not the phones in May".
        let not = but && (subject || self.names_alone) && text.is(0, "not|nor|neither");
        let also = but && self.said.is_none() && text.is(0, "in|also");
        // "blocked Facebook on 4 February and Twitter on 5 February", "then Twitter on 5 February".
        let listed = matches!(link, Link::And | Link::But) && self.names_alone && subject && (timed || place && topic);
        let positive = also || listed || self.is_what_remains(link);
        self.elliptic.or(if not { Some(true) } else { positive.then_some(false) })
    }

    /// Whether it is only a name, which a denial before it leaves out: "did not block WhatsApp, only Telegram".
    pub fn is_what_remains(&self, link: Link) -> bool {
        let but = link == Link::But && self.elliptic.is_none() && !self.text().is(0, "in|also");
        (self.begins_with_only() || but) && self.names_alone && self.names_a_subject()
    }

    pub fn begins_with_only(&self) -> bool {
        self.text().is(0, "only|just|merely|simply")
    }

    pub fn denies(&self) -> bool {
        self.said.is_some_and(|said| said.bad && said.stance.negated && !said.bare.negated)
    }

    pub fn denies_an_end(&self) -> bool {
        self.said.is_some_and(|said| said.bare.over && !said.stance.negated)
    }

    /// Whether it only says that something is untrue: "the government denied it".
    pub fn is_denial(&self) -> bool {
        self.said.is_some() && !self.has_verb() && !self.names()
    }

    /// Whether all that it names is unknown.
    pub fn names_somebody_else(&self) -> bool {
        let name = |word: &Word<'_>| word.is_capital() && !word.is_of("clauses.elliptic");
        let shouted = self.words.iter().all(Word::is_capital);
        !self.names() && !shouted && self.words.iter().any(name)
    }

    /// Whether it goes on with how it is now: "and remains blocked", "and it has never lifted the ban".
    pub fn is_of_now(&self) -> bool {
        self.text().says("part.goes_on") || self.denies_an_end() && self.text().says("part.never")
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
        let bare = reading.countries.is_empty() && reading.topics.is_empty();
        if let Some(other) = nearest(&|other| !other.reading.countries.is_empty())
            && reading.countries.is_empty()
        {
            (reading.countries, reading.areas) = (other.reading.countries.clone(), other.reading.areas.clone());
        }
        if let Some(other) = nearest(&|other| !other.reading.topics.is_empty()) {
            // What goes on about the same thing is said of the same networks.
            if bare && reading.networks.is_empty() {
                reading.networks = other.reading.networks.clone();
            }
            if reading.topics.is_empty() {
                reading.topics = other.reading.topics.clone();
            }
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
        if self.depends && self.days.is_empty() {
            let before = at.checked_sub(1).and_then(|at| given.get(at));
            reading.past |= before.is_some_and(|before| before.reading.past) && !reading.present;
        }
        let main = nearest(&|other| other.reading.stance.is_some()).and_then(|other| other.reading.stance);
        if let Some(main) = main.filter(|_| self.link == Link::Unlike) {
            let kind = kind_of(main.kind, &reading.topics);
            reading.stance = Some(Stance { negated: !main.negated, over: false, kind, ..main });
            reading.mood = Mood::Fact;
        }
        // What a network tells when nothing else does: its country, and that it carries the internet.
        if reading.countries.is_empty() {
            let home = reading.networks.iter().find_map(|network| network.country);
            reading.countries = home.and_then(Country::by_code).into_iter().collect();
        }
        if reading.topics.is_empty() && reading.stance.is_some() && !reading.networks.is_empty() {
            reading.topics.push(Topic::Internet);
        }
    }

    fn readings(self) -> impl Iterator<Item = Reading> {
        let Draft { reading, days, .. } = self;
        let times: Vec<Option<When>> = if days.is_empty() { vec![None] } else { days.into_iter().map(Some).collect() };
        times.into_iter().map(move |when| Reading { when, ..reading.clone() })
    }
}

fn count_on(drafts: &mut [Draft]) {
    let mut last: Option<When> = None;
    for draft in drafts.iter_mut() {
        if let Some(later) = draft.later.filter(|_| draft.days.is_empty()) {
            let days = last.and_then(|base| later.behind(base));
            let missing = days.is_none() && later.counted;
            draft.reading.unread = draft.reading.unread.or(missing.then_some(when::NO_SUCH_DATE));
            draft.days.extend(days);
        }
        last = draft.days.last().copied().or(last);
    }
}

/// "Down since 13 January, it was restored on 18 January": what went on since then went on until the end that is told.
fn end_what_is_over(drafts: &mut [Draft]) {
    for at in 1..drafts.len() {
        let Some([before, ending]) = drafts.get_mut(at - 1..=at) else { continue };
        let over = ending.reading.stance.is_some_and(|stance| stance.over);
        if let ([since], Some(end)) = (before.days.as_mut_slice(), ending.days.first().filter(|_| over))
            && since.span == Span::Since
            && since.first <= end.first
        {
            *since = When::range(*since, *end);
        }
    }
}

/// What a clause does not say it takes from the one before, or the next; `now` tells that one speaks of the present.
pub fn complete(mut drafts: Vec<Draft>, now: bool, today: Date) -> Vec<Reading> {
    count_on(&mut drafts);
    end_what_is_over(&mut drafts);
    let given = drafts.clone();
    for (at, draft) in drafts.iter_mut().enumerate() {
        draft.complete(&given, at, (now, today));
    }
    // What is unlike comes after what is claimed.
    let (unlike, claimed): (Vec<Draft>, Vec<Draft>) = drafts.into_iter().partition(|draft| draft.link == Link::Unlike);
    each_once(claimed.into_iter().chain(unlike).flat_map(Draft::readings), PartialEq::eq)
}
