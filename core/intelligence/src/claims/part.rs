//! What a part of a sentence says by itself, and what it leaves to others: it is about the same place, service and
//! time.

use super::*;

#[derive(Clone)]
pub struct Part<'a> {
    pub link: Link,
    pub words: Vec<Word<'a>>,
    pub said: Option<ClauseStance>,
    /// Of a list each makes a reading.
    pub days: Vec<When>,
    /// Where it names none: how long it was after those of the clause before.
    pub later: Option<Later>,
    /// It leaves its verb to another clause; whether it negates that.
    pub elliptic: Option<bool>,
    /// It has names and dates, and no more.
    pub names_alone: bool,
    pub reading: Reading,
    /// It goes on with how it is now.
    pub now: bool,
    /// It leaves its verb, and so the time, to another clause.
    pub depends: bool,
}

impl Part<'_> {
    pub fn text(&self) -> Reader<'_> {
        Reader::of(&self.words)
    }

    /// What it says by more than a negation.
    pub fn verb(&self) -> Option<ClauseStance> {
        self.said.filter(ClauseStance::has_verb)
    }

    pub fn has_verb(&self) -> bool {
        self.verb().is_some()
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
    fn shares(&self, other: &Part<'_>) -> bool {
        self.own().into_iter().zip(other.own()).any(|(own, other)| own && other)
    }

    fn names(&self) -> bool {
        self.own().contains(&true)
    }

    pub fn names_a_subject(&self) -> bool {
        self.own().into_iter().skip(1).any(|own| own)
    }

    /// Whether it leaves its verb to another clause, and then whether it negates that.
    pub fn leaves_verb(&self) -> Option<bool> {
        let link = self.link;
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
        let positive = also || listed || self.is_what_remains();
        self.elliptic.or(if not { Some(true) } else { positive.then_some(false) })
    }

    /// Whether it is only a name, which a denial before it leaves out: "did not block WhatsApp, only Telegram".
    fn is_what_remains(&self) -> bool {
        let but = self.link == Link::But && self.elliptic.is_none() && !self.text().is(0, "in|also");
        (self.begins_with_only() || but) && self.names_alone && self.names_a_subject()
    }

    pub fn begins_with_only(&self) -> bool {
        self.text().is(0, "only|just|merely|simply")
    }

    fn denies(&self) -> bool {
        self.said.is_some_and(|said| said.bad && said.stance.negated && !said.bare.negated)
    }

    /// Where what it sets against the clause around it begins: "Nigeria, not Ghana, banned it".
    pub fn contrasted(&self, before: Option<&Part<'_>>) -> Option<usize> {
        let not = self.text().is(0, "not");
        let verbless = before.is_some_and(|before| !before.has_verb());
        let is = match self.link {
            Link::Contrast => true,
            // "Telegram, unlike WhatsApp, was blocked"
            Link::Unlike => verbless && before.is_some_and(Part::names),
            Link::And | Link::But => not && self.elliptic == Some(true) && verbless,
            Link::Despite | Link::Aside => false,
        };
        (is && self.names()).then_some(usize::from(not))
    }

    /// Whether the next part is a clause of its own; `but` tells that such a word leads to it.
    pub fn is_followed_by(&self, part: &Part<'_>, but: bool) -> bool {
        let leaves_verb = part.leaves_verb().is_some();
        let both = self.has_verb() && part.has_verb();
        // "It is not blocked, it is only slow."
        let said = |part: &Part<'_>| part.said.map(|said| (said.stance.kind, said.stance.negated));
        let goes_on = part.text().is(0, "it|they") && said(part) != said(self);
        let dated = self.is_timed() || self.text().has("was|were|had");
        let places = |part: &Part<'_>| !part.reading.countries.is_empty();
        let pair = |part: &Part<'_>| places(part) && !part.reading.topics.is_empty();
        match part.link {
            Link::And | Link::But if part.is_what_remains() && !part.is_timed() => self.denies(),
            // "Cut Facebook on 4 May, then Twitter on 5 May", and not "all but Twitter on 5 May".
            Link::But if part.is_what_remains() => self.has_verb() && self.is_timed(),
            // "It was not blocked, only slowed."
            Link::And | Link::But if part.begins_with_only() && part.has_verb() && self.denies() => true,
            Link::But if self.is_denial() && part.has_verb() && but => true,
            Link::Unlike => self.has_verb() && places(part),
            Link::Despite | Link::Contrast => true,
            Link::But => self.has_verb() && (part.has_verb() || leaves_verb),
            Link::And if both && (dated && part.is_of_now() || goes_on) => true,
            Link::And | Link::Aside => match self.link {
                Link::Unlike => part.has_verb(),
                Link::Despite => self.has_verb() && leaves_verb || part.has_verb(),
                _ if leaves_verb && part.elliptic.is_none() => {
                    let verb = self.has_verb() || self.leaves_verb().is_some();
                    let like = self.is_timed() && (!places(part) || places(self));
                    verb && self.shares(part) && (like || pair(part) && pair(self))
                }
                _ => both && self.shares(part) || self.has_verb() && leaves_verb,
            },
        }
    }

    pub fn denies_an_end(&self) -> bool {
        self.said.is_some_and(|said| said.bare.over && !said.stance.negated)
    }

    /// Whether it only says that something is untrue: "the government denied it".
    fn is_denial(&self) -> bool {
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

/// Concessions about the same place, and how people get around a block, are no claims of their own.
pub fn leave_out_what_is_beside(parts: &mut Vec<Part<'_>>) {
    let claimed = || parts.iter().filter(|part| part.link != Link::Despite && part.said.is_some());
    let main: Vec<&'static str> =
        claimed().flat_map(|part| part.reading.countries.iter().map(|country| country.code)).collect();
    let (others, several) = (claimed().next().is_some(), parts.len() > 1);
    let mobile = several && parts.first().is_some_and(|part| part.text().has("mobile|cellular"));
    // "The government denied it, but it was blocked."
    let denied = parts.get(1).is_some_and(|part| part.link == Link::But && part.has_verb());
    if denied && parts.first().is_some_and(Part::is_denial) {
        parts.remove(0);
    }
    let mut place: Vec<&'static Country> = Vec::new();
    parts.retain(|part| {
        let elsewhere = part.reading.countries.iter().any(|country| !main.contains(&country.code));
        let conceded = part.link == Link::Despite && others && (!elsewhere || main.is_empty());
        let around = several && part.link == Link::But && part.text().has("vpn|vpns|proxy|proxies");
        // "Mobile internet was cut, but fixed lines worked": of those nothing is known.
        let beside = conceded || around || mobile && part.text().says("parse.fixed_lines");
        place.extend(part.reading.countries.iter().filter(|_| beside));
        !beside
    });
    let first = parts.first_mut().filter(|first| main.is_empty() && first.reading.countries.is_empty());
    if let Some(first) = first {
        first.reading.countries = place;
    }
}

impl Part<'_> {
    /// Takes what it does not say itself from the nearest clause that does, those before it first.
    fn complete(&mut self, given: &[Part<'_>], at: usize, (now, today): (bool, Date)) {
        let nearest = |has: &dyn Fn(&Part<'_>) -> bool| {
            let before = given.get(..at).unwrap_or_default().iter().rev();
            before.chain(given.get(at + 1..).unwrap_or_default()).find(|part| has(part))
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
            self.days = match other.text().is(0, "since|after") {
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
        let Part { reading, days, .. } = self;
        let none = days.is_empty().then_some(None);
        days.into_iter().map(Some).chain(none).map(move |when| Reading { when, ..reading.clone() })
    }
}

fn count_on(parts: &mut [Part<'_>]) {
    let mut last: Option<When> = None;
    let mut blocked = false;
    for part in parts.iter_mut() {
        // "The court ruled on 8 October, and it was back the next day": a day says more than how long it was, unless
        // it is that of the block.
        let told = last.is_some_and(|base| base.is_one_day() || base.span != Span::During);
        if told && part.days.is_empty() && (part.later.is_some() || !blocked) {
            part.reading.beyond.retain(|detail| !matches!(detail, Beyond::HowLong(_)));
        }
        blocked = part.reading.stance.is_some_and(|stance| !stance.negated);
        if let Some(later) = part.later.filter(|_| part.days.is_empty()) {
            let days = last.and_then(|base| later.behind(base));
            let missing = days.is_none() && later.counted;
            part.reading.unread = part.reading.unread.or(missing.then_some(when::NO_SUCH_DATE));
            part.days.extend(days);
        }
        last = part.days.last().copied().or(last);
    }
}

/// "Down since 13 January, it was restored on 18 January": what went on since then went on until the end that is told.
fn end_what_is_over(parts: &mut [Part<'_>]) {
    for at in 1..parts.len() {
        let Some([before, ending]) = parts.get_mut(at - 1..=at) else { continue };
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
pub fn complete(mut parts: Vec<Part<'_>>, now: bool, today: Date) -> Vec<Reading> {
    count_on(&mut parts);
    end_what_is_over(&mut parts);
    let given = parts.clone();
    for (at, part) in parts.iter_mut().enumerate() {
        part.complete(&given, at, (now, today));
    }
    // What is unlike comes after what is claimed.
    let (unlike, claimed): (Vec<Part<'_>>, Vec<Part<'_>>) =
        parts.into_iter().partition(|part| part.link == Link::Unlike);
    each_once(claimed.into_iter().chain(unlike).flat_map(Part::readings), PartialEq::eq)
}
