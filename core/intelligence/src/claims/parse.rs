//! A claim in its parts.

use super::*;

#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub country: Option<&'static Country>,
    pub others: Vec<&'static str>,
    /// In the order of the sentence.
    pub topics: Vec<Topic>,
    /// Of the first clause, as is the stance.
    pub when: Option<When>,
    /// `None` when nothing in it speaks of blocking or reachability.
    pub stance: Option<Stance>,
    pub readings: Vec<Reading>,
    pub text: String,
    /// Which of its words are in no slot and not harmless.
    pub left: Vec<bool>,
    pub count: Option<Counting>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    pub countries: Vec<&'static Country>,
    pub areas: Vec<(&'static str, Area)>,
    pub nationwide: bool,
    pub topics: Vec<Topic>,
    pub when: Option<When>,
    pub unread: Option<&'static str>,
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
    pub beyond: Vec<Beyond>,
    /// It is told as something that is said.
    pub hearsay: bool,
}

/// Reads a claim as somebody says it at `now`, where target lists name these platforms beside the project's own.
pub fn parse(text: &str, now: Timestamp, listed: &[Tracked]) -> Claim {
    let mut words = dates::in_figures(split(text));
    let (mentions, listed) = (places::marked(&mut words), subjects::listed(listed));
    let named = subjects::named(&words, &listed);
    named.iter().for_each(|named| words::mark(&mut words, (named.at, named.length), Name::Service));
    subjects::mark_asides(&mut words, &named);
    let all = subjects::topics(Reader::of(&words), &named);
    let sentence = Sentence {
        words: &words,
        now,
        listed: &listed,
        internet: part::about_internet(&all),
        year: when::only_year(&words),
    };
    let readings = sentence.readings();
    let left = slots::left(&sentence, &mentions, &named, &readings);
    let count = counts::counting(Reader::of(&words), &mentions, &readings);
    let main = readings.iter().find(|reading| reading.stance.is_some()).or(readings.first());
    let country = main.and_then(|main| main.countries.first().copied()).or_else(|| places::choose(&mentions));
    let mut others: Vec<&'static str> = mentions.iter().map(|mention| mention.code).collect();
    others.retain(|code| country.is_some_and(|country| country.code != *code));
    others.dedup();
    let topics = all.into_iter().chain(readings.iter().flat_map(|reading| reading.topics.clone()));
    let topics = each_once(topics, PartialEq::eq);
    Claim {
        country,
        others,
        topics,
        when: main.and_then(|main| said_when(main, &readings)),
        stance: main.and_then(|main| main.stance),
        readings,
        text: text.to_owned(),
        left,
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

/// Words of a clause, which pieces that are said beside may interrupt.
type Clause = (Vec<Range<usize>>, Link);

pub struct Sentence<'a> {
    pub words: &'a [Word<'a>],
    pub now: Timestamp,
    listed: &'a Phrases<&'a Tracked>,
    internet: bool,
    pub year: Option<i64>,
}

impl<'a> Sentence<'a> {
    fn part(&self, ranges: &[Range<usize>], link: Link) -> Part<'a> {
        let words = ranges.iter().flat_map(|range| self.words.get(range.clone()).unwrap_or_default());
        let mut words: Vec<Word<'a>> = words.map(|word| Word { name: None, ..word.clone() }).collect();
        let mentions = places::marked(&mut words);
        let chosen = places::chosen(&mentions, &words);
        let countries = chosen.iter().filter_map(|mention| Country::by_code(mention.code));
        let countries = each_once(countries, |a, b| a.code == b.code);
        let mut services = subjects::named(&words, self.listed);
        services.retain(|named| {
            // "All social media except WhatsApp": nothing is said of that one.
            let excepted = Reader::of(&words).fits(named.at, "networks.excepted");
            let name = if excepted { Name::Excepted } else { Name::Service };
            words::mark(&mut words, (named.at, named.length), name);
            !excepted
        });
        let text = Reader::of(&words);
        let mut topics = subjects::topics(text, &services);
        if !self.internet && topics == [Topic::Internet] && !text.has("internet|mobile|connectivity") {
            topics.clear();
        }
        let internet = if topics.is_empty() { self.internet } else { part::about_internet(&topics) };
        let areas = countries.iter().flat_map(|country| {
            let named = places::areas(&chosen, country.code).into_iter();
            named.chain(places::capital(&words, country.code)).map(|area| (country.code, area))
        });
        let spoken = when::when(&words, self.now, self.year);
        let mut said = stance::read(text, internet).filter(|said| !said.bad || !clauses::are_others(text));
        // "In every African country except Ghana": of all places that are named it is not so.
        let excepted = |mention: &Mention| text.fits(mention.at, "places.excepted");
        if let Some(said) = said.as_mut().filter(|_| !chosen.is_empty() && chosen.iter().all(excepted)) {
            said.stance.negated = !said.stance.negated;
        }
        let mood = match text.says("parse.headline") {
            // A headline: "Iraq to lift ban on Telegram".
            true => Mood::Ahead,
            false => clauses::mood(text, said.is_some_and(|said| said.works), said.is_some_and(|said| said.bad)),
        };
        let reading = Reading {
            networks: networks::named(text),
            candidates: networks::candidates(text),
            areas: areas.collect(),
            nationwide: places::is_nationwide(&words, &chosen),
            when: spoken.days.first().copied(),
            unread: spoken.unread,
            mood,
            topics,
            past: text.has("was|were|had|did|lasted") || text.says("stance.was_done"),
            hearsay: text.says("aside.said_to"),
            countries: countries.clone(),
            ..Reading::default()
        };
        let (elliptic, names_alone) = (clauses::elliptic(text), text.fits(0, "clauses.names_alone"));
        let later = spoken.later.as_ref().map(|(_, later)| *later);
        let days = spoken.days;
        Part { link, words, said, days, later, elliptic, names_alone, reading, now: false, depends: false }
    }

    /// Its clauses: pieces that say nothing of their own belong to the one before.
    fn clauses(&self) -> Vec<Part<'a>> {
        let (mut found, mut contrasts): (Vec<Clause>, Vec<Clause>) = (Vec::new(), Vec::new());
        // Whether something between was left out.
        let mut apart = false;
        // Reading costs most: each piece is read once, and what stands before it when that has grown.
        let mut before: Option<Part<'a>> = None;
        let text = Reader::of(self.words);
        for Piece { range, link } in clauses::pieces(text) {
            let part = self.part(std::slice::from_ref(&range), link);
            if before.is_none() {
                before = found.last().map(|(ranges, link)| self.part(ranges, *link));
            }
            if let Some(from) = part.contrasted(before.as_ref()) {
                let contrast = range.start + from..range.end;
                contrasts.push((vec![contrast], Link::Unlike));
                apart = true;
                continue;
            }
            let (Some((last, _)), Some(known)) = (found.last_mut(), &before) else {
                // "Like Nigeria in 2021, ..."
                if link != Link::Aside || range.end == self.words.len() {
                    found.push((vec![range], link));
                }
                continue;
            };
            if link == Link::Aside || link == Link::Despite && !known.has_verb() {
                apart = true;
                continue;
            }
            // "The ban began in May and ended in June": the word for what ended.
            let measure = |range: &Range<usize>| Some(range.start + text.part(range.clone()).find("measure")?);
            let ended = || part.text().fits(0, "parse.ended").then(|| last.iter().find_map(measure))?;
            if known.is_followed_by(&part, text.was(range.start, 1, "but|yet|however")) {
                found.push((vec![range], link));
            } else if let Some(at) = ended() {
                found.push((vec![at..at + 1, range], link));
            } else if let Some(last) = last.last_mut().filter(|_| !apart) {
                // With the words between, unless something was said beside.
                last.end = range.end;
            } else {
                last.push(range);
            }
            (apart, before) = (false, None);
        }
        found.iter().chain(&contrasts).map(|(ranges, link)| self.part(ranges, *link)).collect()
    }

    fn readings(&self) -> Vec<Reading> {
        let mut parts = self.clauses();
        if !parts.iter().any(|part| part.said.is_some()) {
            parts = vec![self.part(std::slice::from_ref(&(0..self.words.len())), Link::And)];
        }
        part::leave_out_what_is_beside(&mut parts);
        let mut stated: Vec<Part<'a>> = Vec::new();
        let (first, mut answer) = (parts.iter().find_map(Part::verb), None);
        for part in &parts {
            if let (Some(negates), Some(repeated)) = (part.leaves_verb(), answer.or(first)) {
                self.repeat(&mut stated, part, (negates, repeated.bare));
                continue;
            }
            answer = part.verb().or(answer);
            let one = self.stated(part, part.said.map(|said| said.stance));
            // "The ban, imposed in June 2020, is still in force" speaks of two times.
            let goes_on = || part.denies_an_end() && part.text().has("has|have|hasn't|haven't|never");
            let still =
                (part.text().says("part.still") || goes_on()) && one.days.iter().all(|when| when.span == Span::During);
            let dated = still && one.days.iter().any(|when| when.end() < self.now);
            let present = || Reading { past: false, present: true, ..one.reading.clone() };
            let now =
                dated.then(|| Part { reading: present(), days: Vec::new(), later: None, now: true, ..one.clone() });
            stated.extend(std::iter::once(one.clone()).chain(now));
        }
        let now = parts.iter().any(|part| part.text().has("is|are|remains|now|still"));
        part::complete(stated, now, Date::from_days(self.now.day()))
    }

    /// Reads a part that repeats what another one says, negated or not.
    fn repeat(&self, stated: &mut Vec<Part<'a>>, part: &Part<'a>, (negates, repeated): (bool, Stance)) {
        // "..., but not Telkom": of a name that nobody knows nothing is said.
        if part.names_somebody_else() {
            return;
        }
        let negated = repeated.negated != negates;
        let over = negated && part.text().has("longer|anymore|more");
        let kind = part::kind_of(repeated.kind, &part.reading.topics);
        let stance = Some(Stance { negated, over, kind, ..repeated });
        // "threatened to block it, but did not"; "Blocked? Not any longer." Unlike "was blocked in May and still is".
        let answers = |before: &Part<'_>| {
            let was = !before.days.is_empty() || before.reading.past && part.is_of_now();
            let other = before.reading.mood == Mood::Fact && (part.is_timed() || part.is_of_now() && was);
            !other && !part.names_a_subject()
        };
        match stated.last_mut().filter(|before| answers(before)) {
            Some(before) => (before.reading.stance, before.reading.mood) = (stance, Mood::Fact),
            None => stated.push(self.stated(part, stance)),
        }
    }

    /// The part with all that it says where it has this stance.
    fn stated(&self, part: &Part<'a>, mut stance: Option<Stance>) -> Part<'a> {
        let mut days = part.days.clone();
        if let (Some(stance), [when]) = (&mut stance, days.as_mut_slice()) {
            // "Did not cut the internet until 13 January" says that it did on that day.
            let bad = part.said.is_some_and(|said| said.bad && !said.stance.over);
            if bad && stance.negated && when.span == Span::Until {
                (stance.negated, *when) = (false, When::new(when.last.plus(1 - when.named), when.last));
            }
            // "It has not been blocked since November" says nothing of November.
            let named = when.first.plus(when.named);
            if stance.negated && !stance.over && when.span == Span::Since && named < when.last {
                *when = When { first: named.plus(-1), named: 1, ..*when };
            }
        }
        // "Has yet to unblock it": so it is blocked now, whatever the time that is named.
        let yet = part.text().says("parse.yet_to");
        if yet && stance.is_some_and(|stance| !stance.negated) {
            days.clear();
        }
        let now = part.is_of_now() || yet;
        let depends = part.link == Link::Unlike || part.leaves_verb().is_some() && !now;
        let (text, over) = (part.text(), stance.is_some_and(|stance| stance.over));
        let detailed = stance.filter(|_| part.has_verb() || !part.begins_with_only());
        let reading = Reading {
            stance,
            // "Lifted the ban", "came back": an end as something that happened, unlike "is accessible again".
            ends: over && text.says("stance.ended"),
            // What "has been restored" is over since some time.
            present: text.says("parse.present") || part.is_of_now() && !over,
            beyond: detailed.map(|stance| beyond::beyond(&part.words, &part.days, stance)).unwrap_or_default(),
            ..part.reading.clone()
        };
        Part { reading, days, now, depends, ..part.clone() }
    }
}
