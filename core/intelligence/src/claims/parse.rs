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
    let (mentions, listed) = (places::mentions(&words), subjects::listed(listed));
    let taken = marks(words.len(), mentions.iter().map(|mention| (mention.at, mention.length)));
    let named = subjects::named(&words, &listed, taken);
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

/// Which words names stand on: marked once, so that a sentence of many names is not searched for each word.
pub fn marks(length: usize, names: impl Iterator<Item = (usize, usize)>) -> impl Fn(usize) -> bool {
    let mut marks = vec![false; length];
    names.for_each(|(at, length)| marks.iter_mut().skip(at).take(length).for_each(|mark| *mark = true));
    move |at| marks.get(at).copied().unwrap_or(false)
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
    fn part(&self, ranges: &[Range<usize>]) -> Part<'a> {
        let words = ranges.iter().flat_map(|range| self.words.get(range.clone()).unwrap_or_default());
        let mut words: Vec<Word<'a>> = words.cloned().collect();
        let mentions = places::mentions(&words);
        let chosen = places::chosen(&mentions, &words);
        let countries = chosen.iter().filter_map(|mention| Country::by_code(mention.code));
        let countries = each_once(countries, |a, b| a.code == b.code);
        let places = || mentions.iter().map(|mention| (mention.at, mention.length));
        let named = subjects::named(&words, self.listed, marks(words.len(), places()));
        let name = marks(words.len(), places().chain(named.iter().map(|named| (named.at, named.length))));
        // "All social media except WhatsApp": nothing is said of that one.
        let excepted = |named: &Named| Reader::of(&words).fits(named.at, "networks.excepted");
        let services: Vec<Named> = named.iter().filter(|named| !excepted(named)).cloned().collect();
        for named in &services {
            words.iter_mut().skip(named.at).take(named.length).for_each(|word| word.service = true);
        }
        let text = Reader::of(&words);
        let mut topics = subjects::topics(text, &services);
        if !self.internet && topics == [Topic::Internet] && !text.has("internet|mobile|connectivity") {
            topics.clear();
        }
        let internet = if topics.is_empty() { self.internet } else { part::about_internet(&topics) };
        let known = |at: usize| name(at) || text.fits(at, "subjects.general") || text.fits(at, "clauses.known");
        let areas = countries.iter().flat_map(|country| {
            let named = places::areas(&chosen, country.code).into_iter();
            named.chain(places::capital(&words, country.code)).map(|area| (country.code, area))
        });
        let spoken = when::when(&words, self.now, self.year);
        let counted = |at: usize| spoken.later.as_ref().is_some_and(|(range, _)| range.contains(&at));
        let alone = |at: usize| known(at) || counted(at) || text.of_list(at, "clauses.between_names");
        let mut said = stance::read(text, internet).filter(|said| !said.bad || !clauses::are_others(text));
        // "In every African country except Ghana": of all places that are named it is not so.
        let excepted = |mention: &Mention| text.fits(mention.at, "places.excepted");
        if let Some(said) = said.as_mut().filter(|_| !chosen.is_empty() && chosen.iter().all(excepted)) {
            said.stance.negated = !said.stance.negated;
        }
        let reading = Reading {
            networks: networks::named(text, &name),
            candidates: networks::candidates(text, &name),
            areas: areas.collect(),
            nationwide: places::is_nationwide(&words, &chosen),
            unread: spoken.unread,
            topics,
            countries: countries.clone(),
            ..Reading::default()
        };
        let (elliptic, names_alone) = (clauses::elliptic(text, known), (0..words.len()).all(alone));
        let later = spoken.later.as_ref().map(|(_, later)| *later);
        Part { said, elliptic, names_alone, days: spoken.days, later, reading, words }
    }

    /// Its clauses: pieces that say nothing of their own belong to the one before.
    fn clauses(&self) -> Vec<Clause> {
        let (mut found, mut contrasts): (Vec<Clause>, Vec<Clause>) = (Vec::new(), Vec::new());
        // Whether something between was left out.
        let mut apart = false;
        // Reading costs most: each piece is read once, and what stands before it when that has grown.
        let mut before: Option<(Part<'a>, Link)> = None;
        let text = Reader::of(self.words);
        // "The ban began in May and ended in June": the word for what ended.
        let measure = |ranges: &[Range<usize>]| {
            ranges.iter().find_map(|range| Some(range.start + text.part(range.clone()).find("measure")?))
        };
        for piece in clauses::pieces(text) {
            let part = self.part(std::slice::from_ref(&piece.range));
            if before.is_none() {
                before = found.last().map(|(ranges, link)| (self.part(ranges), *link));
            }
            if let Some(range) = self.contrast(before.as_ref().map(|(before, _)| before), (&piece, &part)) {
                contrasts.push((vec![range], Link::Unlike));
                apart = true;
                continue;
            }
            let (Some((last, _)), Some((known, link))) = (found.last_mut(), &before) else {
                // "Like Nigeria in 2021, ..."
                if piece.link != Link::Aside || piece.range.end == self.words.len() {
                    found.push((vec![piece.range], piece.link));
                }
                continue;
            };
            if piece.link == Link::Aside || piece.link == Link::Despite && !known.has_verb() {
                apart = true;
                continue;
            }
            if self.begins(known, *link, (&piece, &part)) {
                found.push((vec![piece.range], piece.link));
            } else if let Some(at) =
                measure(last).filter(|_| text.part(piece.range.clone()).matches(0, "parse.ended").is_some())
            {
                found.push((vec![at..at + 1, piece.range], piece.link));
            } else if let Some(range) = last.last_mut().filter(|_| !apart) {
                // With the words between, unless something was said beside.
                range.end = piece.range.end;
            } else {
                last.push(piece.range);
            }
            (apart, before) = (false, None);
        }
        found.extend(contrasts);
        found
    }

    /// What a piece sets against what the clause around it names: "Nigeria, not Ghana, banned it".
    fn contrast(&self, before: Option<&Part<'_>>, (piece, part): (&clauses::Piece, &Part<'_>)) -> Option<Range<usize>> {
        let verbless = |before: &Part<'_>| !before.has_verb();
        let not = part.text().is(0, "not");
        let interrupts = not && part.elliptic == Some(true) && before.is_some_and(verbless);
        let from = piece.range.start + usize::from(not);
        // "Telegram, unlike WhatsApp, was blocked"
        let is = match piece.link {
            Link::Contrast => true,
            Link::Unlike => before.is_some_and(|before| before.names() && verbless(before)),
            link => matches!(link, Link::And | Link::But) && interrupts,
        };
        (is && part.names()).then_some(from..piece.range.end)
    }

    fn begins(&self, before: &Part<'_>, link: Link, (piece, part): (&clauses::Piece, &Part<'_>)) -> bool {
        let leaves_verb = part.leaves_verb(piece.link).is_some();
        let both = before.has_verb() && part.has_verb();
        let is_but = Reader::of(self.words).was(piece.range.start, 1, "but|yet|however");
        // "It is not blocked, it is only slow."
        let said = |part: &Part<'_>| part.said.map(|said| (said.stance.kind, said.stance.negated));
        let goes_on = part.text().is(0, "it|they") && said(part) != said(before);
        let dated = before.is_timed() || before.text().has("was|were|had");
        let places = |part: &Part<'_>| !part.reading.countries.is_empty();
        let pair = |part: &Part<'_>| places(part) && !part.reading.topics.is_empty();
        match piece.link {
            Link::And | Link::But if part.is_what_remains(piece.link) && !part.is_timed() => before.denies(),
            // "Cut Facebook on 4 May, then Twitter on 5 May", and not "all but Twitter on 5 May".
            Link::But if part.is_what_remains(piece.link) => before.has_verb() && before.is_timed(),
            // "It was not blocked, only slowed."
            Link::And | Link::But if part.begins_with_only() && part.has_verb() && before.denies() => true,
            Link::But if before.is_denial() && part.has_verb() && is_but => true,
            Link::Unlike => before.has_verb() && !part.reading.countries.is_empty(),
            Link::Despite | Link::Contrast => true,
            Link::But => before.has_verb() && (part.has_verb() || leaves_verb),
            Link::And if both && (dated && part.is_of_now() || goes_on) => true,
            Link::And | Link::Aside => match link {
                Link::Unlike => part.has_verb(),
                Link::Despite => before.has_verb() && leaves_verb || part.has_verb(),
                _ if leaves_verb && part.elliptic.is_none() => {
                    let verb = before.has_verb() || before.leaves_verb(link).is_some();
                    let like = before.is_timed() && (!places(part) || places(before));
                    verb && before.shares(part) && (like || pair(part) && pair(before))
                }
                _ => both && before.shares(part) || before.has_verb() && leaves_verb,
            },
        }
    }

    fn readings(&self) -> Vec<Reading> {
        let mut parts: Vec<(Link, Part<'a>)> =
            self.clauses().into_iter().map(|(ranges, link)| (link, self.part(&ranges))).collect();
        if !parts.iter().any(|(_, part)| part.said.is_some()) {
            let whole = 0..self.words.len();
            parts = vec![(Link::And, self.part(std::slice::from_ref(&whole)))];
        }
        self.leave_out_what_is_beside(&mut parts);
        let mut drafts: Vec<Draft> = Vec::new();
        let verb = |part: &Part<'_>| part.said.filter(stance::Said::has_verb);
        let mut answer: Option<stance::Said> = None;
        for (link, part) in &parts {
            let last = answer.or_else(|| parts.iter().find_map(|(_, part)| verb(part)));
            if let (Some(negates), Some(repeated)) = (part.leaves_verb(*link), last) {
                self.repeat(&mut drafts, (*link, part), (negates, repeated.bare));
                continue;
            }
            answer = verb(part).or(answer);
            let draft = self.draft(*link, part, part.said.map(|said| said.stance));
            // "The ban, imposed in June 2020, is still in force" speaks of two times.
            let goes_on = || part.denies_an_end() && part.text().has("has|have|hasn't|haven't|never");
            let still = (part.text().says("part.still") || goes_on())
                && draft.days.iter().all(|when| when.span == Span::During);
            let dated = still && draft.days.iter().any(|when| when.end() < self.now);
            drafts.push(draft.clone());
            if dated {
                let reading = Reading { past: false, present: true, ..draft.reading.clone() };
                drafts.push(Draft { reading, days: Vec::new(), later: None, now: true, ..draft });
            }
        }
        let now = parts.iter().any(|(_, part)| part.text().has("is|are|remains|now|still"));
        part::complete(drafts, now, Date::from_days(self.now.day()))
    }

    /// Reads a part that repeats what another one says, negated or not.
    fn repeat(&self, drafts: &mut Vec<Draft>, (link, part): (Link, &Part<'a>), (negates, repeated): (bool, Stance)) {
        // "..., but not Telkom": of a name that nobody knows nothing is said.
        if part.names_somebody_else() {
            return;
        }
        let negated = repeated.negated != negates;
        let over = negated && part.text().has("longer|anymore|more");
        let stance =
            Some(Stance { negated, over, kind: part::kind_of(repeated.kind, &part.reading.topics), ..repeated });
        // "threatened to block it, but did not"; "Blocked? Not any longer." Unlike "was blocked in May and still is".
        let answers = |draft: &Draft| {
            let was = !draft.days.is_empty() || draft.reading.past && part.is_of_now();
            let other = draft.reading.mood == Mood::Fact && (part.is_timed() || part.is_of_now() && was);
            !other && !part.names_a_subject()
        };
        match drafts.last_mut().filter(|draft| answers(draft)) {
            Some(draft) => (draft.reading.stance, draft.reading.mood) = (stance, Mood::Fact),
            None => drafts.push(self.draft(link, part, stance)),
        }
    }

    /// Concessions about the same place, and how people get around a block, are no claims of their own.
    fn leave_out_what_is_beside(&self, parts: &mut Vec<(Link, Part<'a>)>) {
        let claimed = || parts.iter().filter(|(link, part)| *link != Link::Despite && part.said.is_some());
        let main: Vec<&'static str> =
            claimed().flat_map(|(_, part)| part.reading.countries.iter().map(|country| country.code)).collect();
        let (others, several) = (claimed().next().is_some(), parts.len() > 1);
        let mobile = several && parts.first().is_some_and(|(_, part)| part.text().has("mobile|cellular"));
        // "The government denied it, but it was blocked."
        let denied = parts.get(1).is_some_and(|(link, part)| *link == Link::But && part.has_verb());
        if denied && parts.first().is_some_and(|(_, part)| part.is_denial()) {
            parts.remove(0);
        }
        let mut place: Vec<&'static Country> = Vec::new();
        parts.retain(|(link, part)| {
            let elsewhere = part.reading.countries.iter().any(|country| !main.contains(&country.code));
            let conceded = *link == Link::Despite && others && (!elsewhere || main.is_empty());
            let around = several && *link == Link::But && part.text().has("vpn|vpns|proxy|proxies");
            // "Mobile internet was cut, but fixed lines worked": of those nothing is known.
            let beside = conceded || around || mobile && part.text().says("parse.fixed_lines");
            if beside {
                place.extend(&part.reading.countries);
            }
            !beside
        });
        if main.is_empty()
            && let Some((_, first)) = parts.first_mut()
            && first.reading.countries.is_empty()
        {
            first.reading.countries = place;
        }
    }

    fn draft(&self, link: Link, part: &Part<'_>, mut stance: Option<Stance>) -> Draft {
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
        let depends = link == Link::Unlike || part.leaves_verb(link).is_some() && !now;
        let since = part.text().is(0, "since|after");
        Draft { link, reading: self.reading(part, stance), days, later: part.later, now, depends, since }
    }

    fn reading(&self, part: &Part<'_>, stance: Option<Stance>) -> Reading {
        let (said, text) = (part.said, part.text());
        // A headline: "Iraq to lift ban on Telegram".
        let subject = places::mentions(&part.words).into_iter().find(|mention| mention.at == 0);
        let over = stance.is_some_and(|stance| stance.over);
        let detailed = stance.filter(|_| part.has_verb() || !part.begins_with_only());
        Reading {
            when: part.days.first().copied(),
            stance,
            mood: match subject.is_some_and(|found| text.is(found.length, "to")) {
                true => Mood::Ahead,
                false => clauses::mood(text, said.is_some_and(|said| said.works), said.is_some_and(|said| said.bad)),
            },
            past: text.has("was|were|had|did|lasted") || text.says("stance.was_done"),
            // "Lifted the ban", "came back": an end as something that happened, unlike "is accessible again".
            ends: over && text.says("stance.ended"),
            // What "has been restored" is over since some time.
            present: text.says("parse.present") || part.is_of_now() && !over,
            beyond: detailed.map(|stance| beyond::beyond(&part.words, &part.days, stance)).unwrap_or_default(),
            hearsay: text.says("aside.said_to"),
            ..part.reading.clone()
        }
    }
}
