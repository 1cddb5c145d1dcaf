//! A claim in its parts.

use std::ops::Range;

use super::aside;
use super::beyond::{Beyond, beyond};
use super::causes::{self, Occasions};
use super::clauses::{self, Link, Mood, Piece, mood};
use super::complete::{Draft, complete};
use super::counts::{Counting, counting};
use super::lexicon::Words;
use super::measures;
use super::networks::{self, Network};
use super::objects;
use super::part::{Part, about_internet};
use super::places::{self, Area, Mention};
use super::slots::{self, Spoken};
use super::stance::{self, Stance};
use super::subjects::{self, Listed, Topic, named, topics};
use super::when::{Span, Unread, When, only_year, when};
use super::words::{Word, split};
use super::years;
use crate::Timestamp;
use crate::engine::time::Date;
use crate::facts::starter::Country;
use crate::intelligence::reference::Tracked;

/// What a sentence claims.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub country: Option<&'static Country>,
    /// Other countries that it names.
    pub others: Vec<&'static str>,
    /// In the order of the sentence.
    pub topics: Vec<Topic>,
    /// Of the first clause, as is the stance.
    pub when: Option<When>,
    /// `None` when nothing in it speaks of blocking or reachability.
    pub stance: Option<Stance>,
    /// What its clauses say.
    pub readings: Vec<Reading>,
    /// Its words, with what is left over of them.
    pub spoken: Vec<Spoken>,
    /// What it counts or compares.
    pub count: Option<Counting>,
}

/// What one clause says.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub countries: Vec<&'static Country>,
    /// Parts of a country that it names.
    pub areas: Vec<(&'static str, Area)>,
    /// It is said of a country as a whole.
    pub nationwide: bool,
    pub topics: Vec<Topic>,
    pub when: Option<When>,
    /// Why a date that it names cannot be.
    pub unread: Option<Unread>,
    pub stance: Option<Stance>,
    pub mood: Mood,
    /// It speaks of the past without saying when.
    pub past: bool,
    /// It says how things are now.
    pub present: bool,
    /// It tells when something ended, and not only that it is over.
    pub ends: bool,
    /// Networks that it is said of; of the country as a whole when there are none.
    pub networks: Vec<Network>,
    /// Words that may name a network which measurements know.
    pub candidates: Vec<String>,
    /// Its details, which are compared with the record.
    pub beyond: Vec<Beyond>,
    /// For what occasions, and during which, it says so.
    pub occasions: Occasions,
    /// It is told as something that is said.
    pub hearsay: bool,
}

impl Reading {
    /// What a network tells when nothing else does: its country, and that it carries the internet.
    pub fn complete_by_network(&mut self) {
        if self.countries.is_empty() {
            let home = self.networks.iter().find_map(|network| network.country);
            self.countries = home.and_then(Country::by_code).into_iter().collect();
        }
        if self.topics.is_empty() && self.stance.is_some() && !self.networks.is_empty() {
            self.topics.push(Topic::Internet);
        }
    }
}

/// Reads a claim as somebody says it at `now`, where target lists name these platforms beside the project's own.
pub fn parse(text: &str, now: Timestamp, listed: &[Tracked]) -> Claim {
    let mut words = years::in_figures(split(text));
    let (mentions, listed) = (places::mentions(&words), Listed::new(listed));
    let named = named(&words, &listed, |at| is_taken(&mentions, at));
    aside::mark(&mut words, &named);
    let mut all = topics(&words, &listed, |at| is_taken(&mentions, at));
    let sentence =
        Sentence { words: &words, now, listed: &listed, internet: about_internet(&all), year: only_year(&words) };
    let readings = sentence.readings();
    let spoken = slots::spoken(&sentence, &mentions, &named, &readings);
    let count = counting(&words, &mentions, &readings);
    let main = readings.iter().find(|reading| reading.stance.is_some()).or(readings.first());
    let country = main.and_then(|main| main.countries.first().copied()).or_else(|| places::choose(&mentions));
    let mut others: Vec<&'static str> = mentions.iter().map(|mention| mention.code).collect();
    others.retain(|code| country.is_some_and(|country| country.code != *code));
    others.dedup();
    for topic in readings.iter().flat_map(|reading| &reading.topics) {
        if !all.contains(topic) {
            all.push(topic.clone());
        }
    }
    Claim {
        country,
        others,
        topics: all,
        when: main.and_then(|main| said_when(main, &readings)),
        stance: main.and_then(|main| main.stance),
        readings,
        spoken,
        count,
    }
}

/// The days that a statement is made of, from the first to the last where it is made of several.
fn said_when(main: &Reading, readings: &[Reading]) -> Option<When> {
    let same = |other: &&Reading| **other == Reading { when: other.when, ..main.clone() };
    let all = || readings.iter().filter(same).filter_map(|reading| reading.when);
    let (first, last) = (all().map(|when| when.first).min()?, all().map(|when| when.last).max()?);
    let span = main.when.map_or(Span::During, |when| when.span);
    Some(When { span, ..When::new(first, last) })
}

/// Whether a word is part of the name of a place.
fn is_taken(mentions: &[Mention], at: usize) -> bool {
    mentions.iter().any(|mention| (mention.at..mention.at + mention.length).contains(&at))
}

/// Which words names stand on: looked up for each word, so that a sentence of many names is not searched for each.
fn marked(words: &[Word<'_>], names: impl Iterator<Item = (usize, usize)>) -> Vec<bool> {
    let mut marks = vec![false; words.len()];
    for (at, length) in names {
        marks.iter_mut().skip(at).take(length).for_each(|mark| *mark = true);
    }
    marks
}

/// Words of a clause, which pieces that are said beside may interrupt.
struct Clause {
    ranges: Vec<Range<usize>>,
    link: Link,
}

/// A claim before it is read.
pub struct Sentence<'a> {
    pub words: &'a [Word<'a>],
    pub now: Timestamp,
    listed: &'a Listed<'a>,
    internet: bool,
    /// That of all its dates.
    pub year: Option<i64>,
}

/// The countries of these mentions, each once.
fn countries_of(mentions: &[places::Mention]) -> Vec<&'static Country> {
    let mut countries: Vec<&'static Country> = Vec::new();
    for country in mentions.iter().filter_map(|mention| Country::by_code(mention.code)) {
        if !countries.iter().any(|known| known.code == country.code) {
            countries.push(country);
        }
    }
    countries
}

/// "In every African country except Ghana": of all places that are named it is not so.
fn is_of_exceptions(words: &[Word<'_>], mentions: &[places::Mention]) -> bool {
    let excepted = |mention: &places::Mention| {
        let leads = |at: &usize| words.get(*at).is_some_and(|word| matches!(word.lower.as_str(), "the" | "in"));
        networks::is_excepted(words, mention.at.checked_sub(1).filter(leads).unwrap_or(mention.at))
    };
    !mentions.is_empty() && mentions.iter().all(excepted)
}

impl<'a> Sentence<'a> {
    fn part(&self, ranges: &[Range<usize>]) -> Part<'a> {
        let words: Vec<Word<'a>> =
            ranges.iter().flat_map(|range| self.words.get(range.clone()).unwrap_or_default()).cloned().collect();
        let mentions = places::mentions(&words);
        let chosen = places::chosen(&mentions, &words);
        let countries = countries_of(&chosen);
        let places = marked(&words, mentions.iter().map(|mention| (mention.at, mention.length)));
        let place = |at: usize| places.get(at).copied().unwrap_or(false);
        // "All social media except WhatsApp": nothing is said of that one.
        let all = named(&words, self.listed, place);
        let excepted = all.iter().filter(|named| networks::is_excepted(&words, named.at));
        let excepted = marked(&words, excepted.map(|named| (named.at, named.length)));
        let taken = |at: usize| place(at) || excepted.get(at).copied().unwrap_or(false);
        let services = named(&words, self.listed, taken);
        let serving = marked(&words, services.iter().map(|named| (named.at, named.length)));
        let service = |at: usize| serving.get(at).copied().unwrap_or(false);
        let mut topics = topics(&words, self.listed, taken);
        let names_it =
            || words.iter().any(|word| matches!(word.lower.as_str(), "internet" | "mobile" | "connectivity"));
        if !self.internet && topics == [Topic::Internet] && !names_it() {
            topics.clear();
        }
        let internet = if topics.is_empty() { self.internet } else { about_internet(&topics) };
        let dated = |word: &Word<'_>| word.text.starts_with(|letter: char| letter.is_ascii_digit());
        let known = |at: usize| {
            let name = |word: &Word<'_>| word.is_capital() || dated(word);
            taken(at) || service(at) || subjects::is_general(&words, at) || words.get(at).is_some_and(name)
        };
        let areas = countries.iter().flat_map(|country| {
            let named = places::areas(&chosen, country.code).into_iter();
            named.chain(places::capital(&words, country.code)).map(|area| (country.code, area))
        });
        let spoken = when(&words, self.now, self.year);
        let links =
            |word: &Word<'_>| matches!(word.lower.as_str(), "and" | "to" | "till" | "between" | "early" | "late");
        let counted = |at: usize| spoken.later.as_ref().is_some_and(|(range, _)| range.contains(&at));
        let mut said = stance::read(&words, internet).filter(|said| !said.bad || !objects::are_others(&words, service));
        if let Some(said) = said.as_mut().filter(|_| is_of_exceptions(&words, &chosen)) {
            said.stance.negated = !said.stance.negated;
        }
        Part {
            said,
            networks: networks::named(&words, |at| taken(at) || service(at)),
            candidates: networks::candidates(&words, |at| taken(at) || service(at)),
            areas: areas.collect(),
            nationwide: places::is_nationwide(&words, &chosen),
            countries,
            topics,
            days: spoken.days,
            later: spoken.later.as_ref().map(|(_, later)| *later),
            unread: spoken.unread,
            elliptic: clauses::elliptic(&words, known),
            names_alone: words
                .iter()
                .enumerate()
                .all(|(at, word)| known(at) || counted(at) || clauses::is_elliptic(word) || links(word)),
            words,
        }
    }

    /// Its clauses: pieces that say nothing of their own belong to the one before.
    fn clauses(&self) -> Vec<Clause> {
        let mut found: Vec<Clause> = Vec::new();
        let mut contrasts: Vec<Clause> = Vec::new();
        // Whether something between was left out.
        let mut apart = false;
        // Reading costs most: each piece is read once, and what stands before it when that has grown.
        let mut before: Option<(Part<'a>, Link)> = None;
        for piece in clauses::pieces(self.words) {
            let part = self.part(std::slice::from_ref(&piece.range));
            if before.is_none() {
                before = found.last().map(|last: &Clause| (self.part(&last.ranges), last.link));
            }
            if let Some(range) = self.contrast(before.as_ref().map(|(before, _)| before), (&piece, &part)) {
                contrasts.push(Clause { ranges: vec![range], link: Link::Unlike });
                apart = true;
                continue;
            }
            let (Some(last), Some((known, link))) = (found.last_mut(), &before) else {
                // "Like Nigeria in 2021, ..."
                if piece.link == Link::Aside && piece.range.end < self.words.len() {
                    continue;
                }
                found.push(Clause { ranges: vec![piece.range], link: piece.link });
                continue;
            };
            if piece.link == Link::Aside || piece.link == Link::Despite && !known.has_verb() {
                apart = true;
                continue;
            }
            if self.begins(known, *link, (&piece, &part)) {
                found.push(Clause { ranges: vec![piece.range], link: piece.link });
            } else if let Some(measure) = self.measure_that_ends(&last.ranges, &piece) {
                found.push(Clause { ranges: vec![measure, piece.range], link: piece.link });
            } else {
                // With the words between, unless something was said beside.
                let to = piece.range.end;
                match last.ranges.last_mut() {
                    Some(range) if !apart => range.end = to,
                    _ => last.ranges.push(piece.range),
                }
            }
            (apart, before) = (false, None);
        }
        found.extend(contrasts);
        found
    }

    /// What a piece sets against what the clause around it names: "Nigeria, not Ghana, banned it".
    fn contrast(&self, before: Option<&Part<'_>>, (piece, part): (&Piece, &Part<'_>)) -> Option<Range<usize>> {
        let not = part.words.first().is_some_and(|word| word.lower == "not");
        let interrupts = not && part.elliptic == Some(true) && before.is_some_and(|before| !before.has_verb());
        let from = piece.range.start + usize::from(not);
        // "Telegram, unlike WhatsApp, was blocked"
        let unlike = piece.link == Link::Unlike && before.is_some_and(|before| before.names() && !before.has_verb());
        let is = piece.link == Link::Contrast || unlike || matches!(piece.link, Link::And | Link::But) && interrupts;
        (is && part.names()).then_some(from..piece.range.end)
    }

    /// "The ban began in May and ended in June": the word for what ended.
    fn measure_that_ends(&self, before: &[Range<usize>], piece: &Piece) -> Option<Range<usize>> {
        let lower = |at: usize| self.words.get(at).map_or("", |word| word.lower.as_str());
        let verb = piece.range.clone().find(|at| !matches!(lower(*at), "then" | "it" | "finally" | "only"))?;
        if !matches!(lower(verb), "ended" | "ends" | "expired" | "stopped" | "ceased" | "finished") {
            return None;
        }
        let measure = before.iter().find_map(|range| {
            let words = self.words.get(range.clone()).unwrap_or_default();
            Some(range.start + measures::measure(words)?)
        })?;
        Some(measure..measure + 1)
    }

    /// Whether a piece is a clause of its own.
    fn begins(&self, before: &Part<'_>, link: Link, (piece, part): (&Piece, &Part<'_>)) -> bool {
        let leaves_verb = part.leaves_verb(piece.link).is_some();
        match piece.link {
            Link::And | Link::But if part.is_what_remains(piece.link) && !part.is_timed() => before.denies(),
            // "Cut Facebook on 4 May, then Twitter on 5 May", and not "all but Twitter on 5 May".
            Link::But if part.is_what_remains(piece.link) => before.has_verb() && before.is_timed(),
            // "It was not blocked, only slowed."
            Link::And | Link::But if part.begins_with_only() && part.has_verb() && before.denies() => true,
            Link::But if before.is_denial() && part.has_verb() && self.is_but(piece) => true,
            Link::Unlike => before.has_verb() && !part.countries.is_empty(),
            Link::Despite | Link::Contrast => true,
            Link::But => before.has_verb() && (part.has_verb() || leaves_verb),
            Link::And if before.has_verb() && part.has_verb() && before.is_dated() && part.is_of_now() => true,
            // "It is not blocked, it is only slow."
            Link::And if before.has_verb() && part.has_verb() && part.goes_on() && !part.says_as(before) => true,
            Link::And | Link::Aside => match link {
                Link::Unlike => part.has_verb(),
                Link::Despite => before.has_verb() && (part.has_verb() || leaves_verb) || part.has_verb(),
                _ if leaves_verb && part.elliptic.is_none() => {
                    let verb = before.has_verb() || before.leaves_verb(link).is_some();
                    verb && before.shares(part) && (part.dates_like(before) || part.is_pair() && before.is_pair())
                }
                _ => before.has_verb() && (part.has_verb() && before.shares(part) || leaves_verb),
            },
        }
    }

    fn is_but(&self, piece: &Piece) -> bool {
        let before = piece.range.start.checked_sub(1).and_then(|at| self.words.get(at));
        before.is_some_and(|word| matches!(word.lower.as_str(), "but" | "yet" | "however"))
    }

    fn readings(&self) -> Vec<Reading> {
        let clauses = self.clauses();
        let mut parts: Vec<(Link, Part<'a>)> =
            clauses.iter().map(|clause| (clause.link, self.part(&clause.ranges))).collect();
        if !parts.iter().any(|(_, part)| part.said.is_some()) {
            let whole = 0..self.words.len();
            parts = vec![(Link::And, self.part(std::slice::from_ref(&whole)))];
        }
        self.leave_out_what_is_beside(&mut parts);
        let mut readings: Vec<Draft> = Vec::new();
        let mut answer: Option<stance::Reading> = None;
        for (link, part) in &parts {
            let last =
                answer.or_else(|| parts.iter().find_map(|(_, part)| part.said.filter(stance::Reading::has_verb)));
            if let (Some(negates), Some(repeated)) = (part.leaves_verb(*link), last) {
                // "..., but not Telkom": of a name that nobody knows nothing is said.
                if part.names_somebody_else() {
                    continue;
                }
                let negated = repeated.bare.negated != negates;
                let over = negated && part.has_word(&["longer", "anymore", "more"]);
                let stance = Stance { negated, over, kind: part.kind_of(repeated.bare.kind), ..repeated.bare };
                // "threatened to block it, but did not"; "Blocked? Not any longer." Unlike "was blocked in May and still is".
                let own = part.names_a_subject() || part.is_timed() || part.is_of_now();
                let answers = |draft: &Draft| {
                    let was = !draft.days.is_empty() || draft.reading.past && part.is_of_now();
                    let other = draft.reading.mood == Mood::Fact && own && (part.is_timed() || was);
                    !other && !part.names_a_subject()
                };
                match readings.last_mut().filter(|draft| answers(draft)) {
                    Some(draft) => (draft.reading.stance, draft.reading.mood) = (Some(stance), Mood::Fact),
                    None => readings.push(self.draft(*link, part, Some(stance))),
                }
                continue;
            }
            answer = part.said.filter(stance::Reading::has_verb).or(answer);
            let draft = self.draft(*link, part, part.said.map(|said| said.stance));
            // "The ban, imposed in June 2020, is still in force" speaks of two times.
            let still = part.goes_on_now() && draft.days.iter().all(|when| when.span == Span::During);
            let dated = still && draft.days.iter().any(|when| when.end() < self.now);
            readings.push(draft.clone());
            if dated {
                let reading = Reading { past: false, present: true, ..draft.reading.clone() };
                readings.push(Draft { reading, days: Vec::new(), later: None, now: true, ..draft });
            }
        }
        let now = parts.iter().any(|(_, part)| part.has_word(&["is", "are", "remains", "now", "still"]));
        complete(readings, now, Date::from_days(self.now.day()))
    }

    /// Concessions about the same place, and how people get around a block, are no claims of their own.
    fn leave_out_what_is_beside(&self, parts: &mut Vec<(Link, Part<'a>)>) {
        let main: Vec<&'static str> = parts
            .iter()
            .filter(|(link, part)| *link != Link::Despite && part.said.is_some())
            .flat_map(|(_, part)| part.countries.iter().map(|country| country.code))
            .collect();
        let others = parts.iter().any(|(link, part)| *link != Link::Despite && part.said.is_some());
        let several = parts.len() > 1;
        let mobile = parts.first().is_some_and(|(_, part)| part.has_word(&["mobile", "cellular"]));
        // "The government denied it, but it was blocked."
        let denied = several && parts.get(1).is_some_and(|(link, part)| *link == Link::But && part.has_verb());
        if denied && parts.first().is_some_and(|(_, part)| part.is_denial()) {
            parts.remove(0);
        }
        let mut place: Vec<&'static Country> = Vec::new();
        parts.retain(|(link, part)| {
            let elsewhere = part.countries.iter().any(|country| !main.contains(&country.code));
            let conceded = *link == Link::Despite && others && (!elsewhere || main.is_empty());
            let around = several && *link == Link::But && part.has_word(&["vpn", "vpns", "proxy", "proxies"]);
            // "Mobile internet was cut, but fixed lines worked": of those nothing is known.
            let fixed =
                several && mobile && part.has_word(&["fixed", "landlines", "landline", "wifi", "fibre", "fiber"]);
            if conceded || around || fixed {
                place.extend(&part.countries);
            }
            !(conceded || around || fixed)
        });
        if main.is_empty()
            && let Some((_, first)) = parts.first_mut()
            && first.countries.is_empty()
        {
            first.countries = place;
        }
    }

    fn draft(&self, link: Link, part: &Part<'_>, mut stance: Option<Stance>) -> Draft {
        let mut days = part.days.clone();
        // "Did not cut the internet until 13 January" says that it did on that day.
        if part.said.is_some_and(|said| said.bad && !said.stance.over)
            && let (Some(Stance { negated, .. }), [until]) = (&mut stance, days.as_mut_slice())
            && *negated
            && until.span == Span::Until
        {
            (*negated, *until) = (false, When::new(until.last.plus(1 - until.named), until.last));
        }
        // "It has not been blocked since November" says nothing of November.
        if stance.is_some_and(|stance| stance.negated && !stance.over)
            && let [since] = days.as_mut_slice()
            && since.span == Span::Since
            && since.first.plus(since.named) < since.last
        {
            *since = When { first: since.first.plus(since.named - 1), named: 1, ..*since };
        }
        // "Has yet to unblock it": so it is blocked now, whatever the time that is named.
        let yet = part.words.windows(2).any(|two| two.iter().map(|word| word.lower.as_str()).eq(["yet", "to"]));
        if yet && stance.is_some_and(|stance| !stance.negated) {
            days.clear();
        }
        let now = part.is_of_now() || yet;
        let depends = link == Link::Unlike || part.leaves_verb(link).is_some() && !now;
        let since = part.words.first().is_some_and(|word| matches!(word.lower.as_str(), "since" | "after"));
        Draft { link, reading: self.reading(part, stance), days, later: part.later, now, depends, since }
    }

    fn reading(&self, part: &Part<'_>, stance: Option<Stance>) -> Reading {
        let (said, occasions) = (part.said, causes::occasions(&part.words));
        let mut mood = mood(&part.words, said.is_some_and(|s| s.works), said.is_some_and(|s| s.bad));
        // A headline: "Iraq to lift ban on Telegram".
        let subject = places::mentions(&part.words).into_iter().find(|mention| mention.at == 0);
        if subject.is_some_and(|found| part.words.get(found.length).is_some_and(|word| word.lower == "to")) {
            mood = Mood::Ahead;
        }
        Reading {
            countries: part.countries.clone(),
            areas: part.areas.clone(),
            nationwide: part.nationwide,
            topics: part.topics.clone(),
            when: part.days.first().copied(),
            unread: part.unread,
            stance,
            mood,
            past: part.has_word(&["was", "were", "had", "did", "lasted"]) || stance::was_done(&part.words),
            ends: stance.is_some_and(|stance| stance.over) && stance::tells_an_end(&part.words),
            // What "has been restored" is over since some time.
            present: part.has_word(&PRESENT)
                || part.has_word(&["yet"])
                || part.is_of_now() && !stance.is_some_and(|stance| stance.over),
            networks: part.networks.clone(),
            candidates: part.candidates.clone(),
            beyond: stance
                .filter(|_| part.has_verb() || !part.begins_with_only())
                .map(|stance| beyond(&part.words, &part.days, occasions, stance))
                .unwrap_or_default(),
            occasions,
            hearsay: aside::is_hearsay(&part.words),
        }
    }
}

/// Words of how it is now.
static PRESENT: Words = Words::of("parse present");
