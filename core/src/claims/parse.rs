//! A claim in its parts.

use std::ops::Range;

use super::aside;
use super::clauses::{self, Link, Mood, Piece, mood};
use super::complete::{Draft, complete};
use super::networks::{self, Network};
use super::places::{self, Area, Mention};
use super::stance::{self, Stance};
use super::subjects::{Listed, Topic, named, topics};
use super::when::{Span, When, only_year, when};
use super::words::{Word, split};
use crate::Timestamp;
use crate::reference::Tracked;
use crate::starter::Country;

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
    /// It names a date that the calendar does not have, or that cannot be read.
    pub unread: bool,
    pub stance: Option<Stance>,
    pub mood: Mood,
    /// It speaks of the past without saying when.
    pub past: bool,
    /// It says how things are now.
    pub present: bool,
    /// Networks that it is said of; of the country as a whole when there are none.
    pub networks: Vec<Network>,
    /// Words that may name a network which measurements know.
    pub candidates: Vec<String>,
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
    let mut words = split(text);
    let (mentions, listed) = (places::mentions(&words), Listed::new(listed));
    let named = named(&words, &listed, |at| is_taken(&mentions, at));
    aside::mark(&mut words, &named);
    let mut all = topics(&words, &listed, |at| is_taken(&mentions, at));
    let sentence =
        Sentence { words: &words, now, listed: &listed, internet: about_internet(&all), year: only_year(&words) };
    let readings = sentence.readings();
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
    }
}

/// The days that a statement is made of, from the first to the last where it is made of several.
fn said_when(main: &Reading, readings: &[Reading]) -> Option<When> {
    let same = |other: &&Reading| **other == Reading { when: other.when, ..main.clone() };
    let all = || readings.iter().filter(same).filter_map(|reading| reading.when);
    let (first, last) = (all().map(|when| when.first).min()?, all().map(|when| when.last).max()?);
    let span = main.when.map_or(Span::During, |when| when.span);
    Some(When { first, last, span })
}

/// Whether a word is part of the name of a place.
fn is_taken(mentions: &[Mention], at: usize) -> bool {
    mentions.iter().any(|mention| (mention.at..mention.at + mention.length).contains(&at))
}

fn about_internet(topics: &[Topic]) -> bool {
    topics.first().is_none_or(|topic| *topic == Topic::Internet)
}

/// Words of a clause, which pieces that are said beside may interrupt.
struct Clause {
    ranges: Vec<Range<usize>>,
    link: Link,
}

/// A part of a sentence, read by itself.
struct Part<'a> {
    words: Vec<Word<'a>>,
    said: Option<stance::Reading>,
    countries: Vec<&'static Country>,
    areas: Vec<(&'static str, Area)>,
    topics: Vec<Topic>,
    networks: Vec<Network>,
    candidates: Vec<String>,
    /// Of a list each.
    days: Vec<When>,
    unread: bool,
    /// It leaves its verb to another clause; whether it negates that.
    elliptic: Option<bool>,
}

impl Part<'_> {
    fn has_verb(&self) -> bool {
        self.said.is_some_and(|said| said.has_verb())
    }

    /// Whether both name a time, a place or a service of their own.
    fn shares(&self, other: &Part<'_>) -> bool {
        !self.days.is_empty() && !other.days.is_empty()
            || !self.countries.is_empty() && !other.countries.is_empty()
            || !self.topics.is_empty() && !other.topics.is_empty()
            || !self.networks.is_empty() && !other.networks.is_empty()
    }

    /// Whether it leaves its verb to another clause, and then whether it negates that.
    fn leaves_verb(&self, link: Link) -> Option<bool> {
        let names = self.names();
        let first = self.words.first().map_or("", |word| word.lower.as_str());
        match self.elliptic {
            _ if self.has_verb() => None,
            Some(negated) => Some(negated),
            // "... but not in the north of Finland", "..., but also in Sweden".
            None if link == Link::But && names && matches!(first, "not" | "nor" | "neither") => Some(true),
            None if link == Link::But && names && self.said.is_none() && matches!(first, "in" | "also") => Some(false),
            None => None,
        }
    }

    /// Whether it begins with what stands for the things named before.
    fn goes_on(&self) -> bool {
        self.words.first().is_some_and(|word| matches!(word.lower.as_str(), "it" | "they"))
    }

    fn says_as(&self, other: &Part<'_>) -> bool {
        let said = |part: &Part<'_>| part.said.map(|said| (said.stance.kind, said.stance.negated));
        said(self) == said(other)
    }

    /// Whether it names a place, a service or a network of its own.
    fn names(&self) -> bool {
        !self.countries.is_empty() || !self.topics.is_empty() || !self.networks.is_empty()
    }

    fn has_word(&self, list: &[&str]) -> bool {
        self.words.iter().any(|word| list.contains(&word.lower.as_str()))
    }
}

struct Sentence<'a> {
    words: &'a [Word<'a>],
    now: Timestamp,
    listed: &'a Listed<'a>,
    internet: bool,
    /// That of all its dates.
    year: Option<i64>,
}

impl<'a> Sentence<'a> {
    fn part(&self, ranges: &[Range<usize>]) -> Part<'a> {
        let words: Vec<Word<'a>> =
            ranges.iter().flat_map(|range| self.words.get(range.clone()).unwrap_or_default()).cloned().collect();
        let mentions = places::mentions(&words);
        let chosen = places::chosen(&mentions, &words);
        let mut countries: Vec<&'static Country> = Vec::new();
        for country in chosen.iter().filter_map(|mention| Country::by_code(mention.code)) {
            if !countries.iter().any(|known| known.code == country.code) {
                countries.push(country);
            }
        }
        let taken = |at: usize| is_taken(&mentions, at);
        let services = named(&words, self.listed, taken);
        let service = |at: usize| services.iter().any(|named| (named.at..named.at + named.length).contains(&at));
        let mut topics = topics(&words, self.listed, taken);
        let names_it =
            || words.iter().any(|word| matches!(word.lower.as_str(), "internet" | "mobile" | "connectivity"));
        if !self.internet && topics == [Topic::Internet] && !names_it() {
            topics.clear();
        }
        let internet = if topics.is_empty() { self.internet } else { about_internet(&topics) };
        let dated = |word: &Word<'_>| word.text.starts_with(|letter: char| letter.is_ascii_digit());
        let known = |at: usize| taken(at) || words.get(at).is_some_and(|word| word.is_capital() || dated(word));
        let areas = countries
            .iter()
            .flat_map(|country| places::areas(&chosen, country.code).into_iter().map(|area| (country.code, area)));
        let spoken = when(&words, self.now, self.year);
        Part {
            said: stance::read(&words, internet),
            networks: networks::named(&words, |at| taken(at) || service(at)),
            candidates: networks::candidates(&words, |at| taken(at) || service(at)),
            areas: areas.collect(),
            countries,
            topics,
            days: spoken.days,
            unread: spoken.unread,
            elliptic: clauses::elliptic(&words, known),
            words,
        }
    }

    /// Its clauses: pieces that say nothing of their own belong to the one before.
    fn clauses(&self) -> Vec<Clause> {
        let mut found: Vec<Clause> = Vec::new();
        for piece in clauses::pieces(self.words) {
            let aside = piece.link == Link::Aside;
            let Some(last) = found.last_mut() else {
                found.push(Clause { ranges: vec![piece.range], link: piece.link });
                continue;
            };
            let before = self.part(&last.ranges);
            if aside || piece.link == Link::Despite && !before.has_verb() {
                continue;
            }
            if self.begins(&before, last.link, &piece) {
                found.push(Clause { ranges: vec![piece.range], link: piece.link });
            } else {
                // With the words between, unless something was said beside.
                let to = piece.range.end;
                match last.ranges.last_mut() {
                    Some(range) if self.borders(range.end, piece.range.start) => range.end = to,
                    _ => last.ranges.push(piece.range),
                }
            }
        }
        found
    }

    /// Whether nothing but a linking word stands between two places.
    fn borders(&self, from: usize, to: usize) -> bool {
        to <= from + 3
    }

    /// Whether a piece is a clause of its own.
    fn begins(&self, before: &Part<'_>, link: Link, piece: &Piece) -> bool {
        let part = self.part(std::slice::from_ref(&piece.range));
        let leaves_verb = part.leaves_verb(piece.link).is_some();
        match piece.link {
            Link::Unlike => before.has_verb() && !part.countries.is_empty(),
            Link::Despite => true,
            Link::But => before.has_verb() && (part.has_verb() || leaves_verb),
            // "It is not blocked, it is only slow."
            Link::And if before.has_verb() && part.has_verb() && part.goes_on() && !part.says_as(before) => true,
            Link::And | Link::Aside => match link {
                Link::Unlike => part.has_verb(),
                Link::Despite => before.has_verb() && (part.has_verb() || leaves_verb) || part.has_verb(),
                _ => before.has_verb() && (part.has_verb() && before.shares(&part) || leaves_verb),
            },
        }
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
                let negated = repeated.bare.negated != negates;
                let over = negated && part.has_word(&["longer", "anymore", "more"]);
                let stance = Stance { negated, over, ..repeated.bare };
                let own = part.names();
                // "threatened to block it, but did not"; "Blocked? Not any longer."
                match readings.last_mut().filter(|_| !own) {
                    Some(draft) => (draft.reading.stance, draft.reading.mood) = (Some(stance), Mood::Fact),
                    None => readings.push(self.draft(*link, part, Some(stance))),
                }
                continue;
            }
            answer = part.said.filter(stance::Reading::has_verb).or(answer);
            readings.push(self.draft(*link, part, part.said.map(|said| said.stance)));
        }
        let now = parts.iter().any(|(_, part)| part.has_word(&["is", "are", "remains", "now", "still"]));
        complete(readings, now)
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
        let mut place: Vec<&'static Country> = Vec::new();
        parts.retain(|(link, part)| {
            let elsewhere = part.countries.iter().any(|country| !main.contains(&country.code));
            let conceded = *link == Link::Despite && others && (!elsewhere || main.is_empty());
            let around = several && *link == Link::But && part.has_word(&["vpn", "vpns", "proxy", "proxies"]);
            if conceded || around {
                place.extend(&part.countries);
            }
            !(conceded || around)
        });
        if main.is_empty()
            && let Some((_, first)) = parts.first_mut()
            && first.countries.is_empty()
        {
            first.countries = place;
        }
    }

    fn draft(&self, link: Link, part: &Part<'_>, stance: Option<Stance>) -> Draft {
        Draft { link, reading: self.reading(part, stance), days: part.days.clone() }
    }

    fn reading(&self, part: &Part<'_>, stance: Option<Stance>) -> Reading {
        let said = part.said;
        let mut mood = mood(&part.words, said.is_some_and(|s| s.works), said.is_some_and(|s| s.bad));
        // A headline: "Iraq to lift ban on Telegram".
        let subject = places::mentions(&part.words).into_iter().find(|mention| mention.at == 0);
        if subject.is_some_and(|found| part.words.get(found.length).is_some_and(|word| word.lower == "to")) {
            mood = Mood::Ahead;
        }
        Reading {
            countries: part.countries.clone(),
            areas: part.areas.clone(),
            nationwide: part.has_word(&NATIONWIDE) || part.has_word(&["country"]) && part.has_word(&WHOLE),
            topics: part.topics.clone(),
            when: part.days.first().copied(),
            unread: part.unread,
            stance,
            mood,
            past: part.has_word(&["was", "were", "had", "did"]),
            present: part.has_word(&PRESENT),
            networks: part.networks.clone(),
            candidates: part.candidates.clone(),
        }
    }
}

/// Words of how it is now.
const PRESENT: [&str; 12] =
    ["is", "are", "isn't", "aren't", "now", "again", "longer", "anymore", "currently", "remains", "today", "works"];
const NATIONWIDE: [&str; 4] = ["nationwide", "countrywide", "nation", "national"];
const WHOLE: [&str; 4] = ["whole", "entire", "across", "throughout"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::starter;

    /// Issue: at least 60 claims written by hand, each with the parse that a careful reader would make.
    #[test]
    fn hand_written_claims_are_read_as_a_careful_reader_would() {
        let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
        let text = include_str!("expected.tsv");
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).skip(1);
        assert_eq!(starter::rows::<5>(text).count(), lines.count(), "a row has not five columns");
        let mut count = 0;
        for [claim, country, topic, when, stance] in starter::rows::<5>(text) {
            let read = parse(claim, now, &[]);
            let some = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
            let found = [
                some(read.country.map_or("", |country| country.code)),
                some(&read.topics.iter().map(Topic::name).collect::<Vec<_>>().join(" ")),
                read.when.map_or("-".to_owned(), |when| match when.is_one_day() {
                    true => when.first.to_string(),
                    false => format!("{}/{}", when.first, when.last),
                }),
                read.stance.map_or("-".to_owned(), |stance| {
                    format!("{}{}", if stance.negated { "not " } else { "" }, stance.kind.as_str())
                }),
            ];
            assert_eq!(found.join(" | "), [country, topic, when, stance].join(" | "), "{claim}");
            count += 1;
        }
        assert!(count >= 60, "{count}");
    }

    /// What each clause says: countries, topics, and "not" where it denies interference.
    fn read(text: &str) -> Vec<String> {
        let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
        let one = |reading: &Reading| {
            let countries: Vec<&str> = reading.countries.iter().map(|country| country.code).collect();
            let topics: Vec<&str> = reading.topics.iter().map(Topic::name).collect();
            let not = if reading.stance.is_some_and(|stance| stance.negated) { "not " } else { "" };
            format!("{not}{} {}", countries.join("+"), topics.join("+"))
        };
        parse(text, now, &[]).readings.iter().map(one).collect()
    }

    #[test]
    fn each_clause_is_read_for_itself() {
        for (text, expected) in [
            ("dw.com is blocked in Belarus and Russia", vec!["BY+RU dw.com"]),
            ("dw.com is blocked in Belarus but not in Armenia", vec!["BY dw.com", "not AM dw.com"]),
            ("dw.com was blocked in Belarus but not in Armenia in May 2024", vec!["BY dw.com", "not AM dw.com"]),
            ("dw.com works in Armenia, but it is filtered in Belarus", vec!["not AM dw.com", "BY dw.com"]),
            ("Unlike Cuba, Mexico does not filter Signal", vec!["not MX signal", "CU signal"]),
            ("While Egypt blocks Medium, Tunisia does not", vec!["EG medium", "not TN medium"]),
            ("Medium and Signal don't open in Egypt, but Reddit does", vec!["EG medium+signal", "not EG reddit"]),
            ("Neither Ghana nor Togo blocks TikTok", vec!["not GH+TG tiktok"]),
            ("Despite the order, Signal still works in Egypt", vec!["not EG signal"]),
            ("Signal still works in Egypt although it is banned", vec!["not EG signal"]),
            ("Reddit, which was banned in 2019, was unblocked in Indonesia", vec!["not ID reddit"]),
            ("X is blocked in Iran, although people use VPNs", vec!["IR twitter"]),
            (
                "Mali cut the internet on 1 May 2024 and restored it on 3 May 2024",
                vec!["ML internet", "not ML internet"],
            ),
            ("Uganda blocked TikTok and slowed Signal", vec!["UG tiktok", "UG signal"]),
            ("Kenya vowed to block Signal in 2024, but did not.", vec!["not KE signal"]),
            ("Signal is not blocked in Ghana. It is blocked in Iran.", vec!["not GH signal", "IR signal"]),
            ("The Chinese app TikTok is banned in India", vec!["IN tiktok"]),
            ("dw.com is blocked in Belarus but also in Cuba", vec!["BY dw.com", "CU dw.com"]),
            ("Not only Belarus but also Cuba blocks dw.com", vec!["BY+CU dw.com"]),
            ("Signal was blocked in Egypt in May 2024, then restored", vec!["EG signal", "not EG signal"]),
            ("In Iran, WhatsApp is blocked; in Russia, Signal is.", vec!["IR whatsapp", "RU signal"]),
            ("Ghana blocked TikTok, the regulator said on Monday", vec!["GH tiktok"]),
            ("TikTok is blocked in Ghana. Nobody knows why.", vec!["GH tiktok"]),
            ("Signal is not blocked in Mali, it is only slow", vec!["not ML signal", "ML signal"]),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    /// Each date of a list is a statement of its own; a date that cannot be is told from none.
    #[test]
    fn each_date_is_read_with_the_clause_that_names_it() {
        let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
        for (text, expected) in [
            ("Kenya blocked Signal in 2023 and again in 2022", "2023-01-01/2023-12-31 2022-01-01/2022-12-31"),
            ("Kenya blocked Signal in May 2022 and May 2023", "2022-05-01/2022-05-31 2023-05-01/2023-05-31"),
            ("Signal was blocked in Kenya on 6 and 15 May 2023", "2023-05-06/2023-05-06 2023-05-15/2023-05-15"),
            ("Brazil blocked X in August 2024 and in August 2023", "2024-08-01/2024-08-31 2023-08-01/2023-08-31"),
            ("Signal was blocked in Kenya between May 2022 and May 2023", "2022-05-01/2023-05-31"),
            ("Signal was blocked in Kenya on 31 February 2023", "unread"),
            ("Signal was blocked in Kenya in 2023/24", "unread"),
            ("On 31 June 2022 Gabon cut the internet", "unread"),
            ("Signal was blocked in Kenya in 24/7 fashion", "-"),
        ] {
            let one = |reading: &Reading| match reading.when {
                _ if reading.unread => "unread".to_owned(),
                Some(when) => format!("{}/{}", when.first, when.last),
                None => "-".to_owned(),
            };
            let found: Vec<String> = parse(text, now, &[]).readings.iter().map(one).collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }

    /// The networks of each clause, and whether it says that the service works there.
    #[test]
    fn networks_are_read_with_the_clause_that_names_them() {
        let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
        for (text, expected) in [
            ("Signal is blocked on AS30844 in Kenya", vec!["KE AS30844"]),
            ("Safaricom (AS33771) blocks Signal", vec!["KE AS33771 (Safaricom)"]),
            ("Signal is blocked on Safaricom in Kenya", vec!["KE Safaricom"]),
            ("Signal is blocked on Safaricom but not on Airtel in Kenya", vec!["KE Safaricom", "not KE Airtel"]),
            ("Signal was cut off on Safaricom but works on Airtel in Kenya", vec!["KE Safaricom", "not KE Airtel"]),
            ("Rostelecom and MTS block Signal", vec!["RU Rostelecom+MTS"]),
            ("In Iran, MTN Irancell throttles Instagram", vec!["IR MTN Irancell"]),
            ("On AS4134 (China Telecom) dw.com is blocked in China", vec!["CN AS4134 (China Telecom)"]),
            ("TTNET users in Turkey can reach Discord", vec!["not TR TTNET"]),
            (
                "Safaricom blocked Signal on 8 May 2024 and restored it on 9 May 2024",
                vec!["KE Safaricom", "not KE Safaricom"],
            ),
            ("Signal is blocked on Example Net in Kenya", vec!["KE Example Net"]),
            ("Safaricom says that Signal is blocked in Kenya", vec!["KE "]),
            ("Signal is blocked on Android in Kenya", vec!["KE "]),
        ] {
            let one = |reading: &Reading| {
                let not = if reading.stance.is_some_and(|stance| stance.negated) { "not " } else { "" };
                let networks: Vec<String> = reading.networks.iter().map(Network::label).collect();
                format!("{not}{} {}", reading.countries.first().map_or("", |country| country.code), networks.join("+"))
            };
            let found: Vec<String> = parse(text, now, &[]).readings.iter().map(one).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
