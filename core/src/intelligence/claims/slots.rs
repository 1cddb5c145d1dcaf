//! Every word of a claim is in a slot, in the table of harmless words, or left over. What is left over may change what the
//! claim says, so nobody has checked the claim as a whole while something is.
//!
//! A slot is filled by what reads it: where (`places`), what (`subjects`), by whom (`networks`), when (`when`), how and
//! whether (`stance`). Details (`beyond`) fill their words only where the data bear them out.

use super::beyond::Beyond;
use super::clauses::{self, Link};
use super::dates::in_figures;
use super::hours::hours;
use super::networks;
use super::parse::{Claim, Reading, Sentence};
use super::places::Mention;
use super::relative::{quantity, unit, weekday};
use super::stance::{self, Sense};
use super::subjects::{self, Named, Topic};
use super::when::{self, Span, When};
use super::words::{Pause, Reader, Word, split};

/// Most harmless words inside of what is left over.
const MOST_BETWEEN: usize = 3;

/// Which words of a claim are left over: in no slot, and not harmless.
pub fn left(sentence: &Sentence<'_>, mentions: &[Mention], named: &[Named], readings: &[Reading]) -> Vec<bool> {
    let words = sentence.words;
    let holds = |from: usize, length: usize, at: usize| (from..from + length).contains(&at);
    let taken = |at: usize| {
        mentions.iter().any(|mention| holds(mention.at, mention.length, at))
            || named.iter().any(|named| holds(named.at, named.length, at))
    };
    let topics = || readings.iter().flat_map(|reading| &reading.topics);
    // "Blocked on mobile networks" is less than blocked.
    let of_a_service = topics().any(|topic| *topic != Topic::Internet);
    let mut slots = Slots { text: Reader::of(words), filled: vec![false; words.len()], of_a_service };
    slots.asides(named);
    let compared = slots.filled.clone();
    for named in named {
        slots.fill(named.at, named.length);
    }
    let mut general = subjects::general(slots.text);
    general.retain(|(at, _)| !(of_a_service && slots.text.is(*at, "mobile|cellular|phone")));
    for (at, length) in general.into_iter().chain(networks::spans(slots.text, taken)) {
        slots.fill(at, length);
    }
    slots.times(&when::spans(words, sentence.now, sentence.year), readings);
    slots.senses();
    slots.harmless(readings);
    slots.names();
    slots.places(mentions, readings, &compared);
    slots.filled.iter().map(|filled| !filled).collect()
}

struct Slots<'a> {
    text: Reader<'a>,
    filled: Vec<bool>,
    of_a_service: bool,
}

impl Slots<'_> {
    fn set(&mut self, at: usize, length: usize, to: bool) {
        self.filled.iter_mut().skip(at).take(length).for_each(|filled| *filled = to);
    }

    fn fill(&mut self, at: usize, length: usize) {
        self.set(at, length, true);
    }

    /// Countries that the readings are of, and where a service or its people come from. Others are left over, whatever they
    /// are part of the name of, unless the claim compares with them.
    fn places(&mut self, mentions: &[Mention], readings: &[Reading], compared: &[bool]) {
        for mention in mentions {
            let checked = readings.iter().flat_map(|reading| &reading.countries).any(|c| c.code == mention.code);
            let of = mention.at + mention.length;
            let origin = mention.is_adjective() && (of..of + 3).any(|at| self.text.of_list(at, "slots.of_an_origin"));
            let beside = compared.get(mention.at).copied().unwrap_or(false);
            self.set(mention.at, mention.length, checked || origin || beside);
        }
    }

    /// Times that the readings are of.
    fn times(&mut self, times: &[(std::ops::Range<usize>, Vec<When>)], readings: &[Reading]) {
        let holds = |a: &When, b: &When| a.first <= b.first && b.last <= a.last;
        // "Of June 2021 ... lifted seven months later": the first is what the second is counted from.
        let counted = times.iter().any(|(_, days)| days.is_empty());
        let alone = times.iter().all(|(_, days)| days.is_empty());
        let text = self.text;
        for (range, days) in times.iter().filter(|_| !alone) {
            let checked = |days: &When| {
                let mut all = readings.iter().filter_map(|reading| reading.when);
                all.any(|when| holds(&when, days) || holds(days, &when))
            };
            let now = range.len() == 1 && text.is(range.start, "now|currently|today");
            if !days.iter().all(checked) && !now && !counted {
                continue;
            }
            self.fill(range.start, range.len());
            // "Throughout 2021", "for all of May": looked at as a whole.
            if days.iter().any(|when| when.span == Span::Throughout) {
                let before = range.start.saturating_sub(4)..range.start;
                before.filter(|at| text.is(*at, "throughout|all|whole|entire|through")).for_each(|at| self.fill(at, 1));
            }
            // "Wednesday, 15 November": compared with the date where that was read.
            let beside = (range.start.saturating_sub(2)..range.start).chain(range.end..range.end + 2);
            let day = |at: &usize| text.read(*at, weekday).is_some() && !text.was(*at, 1, "since|until|till|from|by");
            beside.filter(day).for_each(|at| self.fill(at, 1));
        }
    }

    fn senses(&mut self) {
        let text = self.text;
        for (at, length, sense) in stance::spans(text.words) {
            // "At work" is a place; beside some words a denial says how many or why.
            let place = text.is(at, "work") && text.was(at, 1, "at");
            let telling = sense == Sense::Aside && (at..at + length).any(|at| text.of_list(at, "slots.telling"));
            if !(place || telling) {
                self.fill(at, length);
            }
        }
    }

    /// Whether somebody is named behind "for", for whom it is so.
    fn is_whom(&self, at: usize, most: usize) -> bool {
        (1..=most).any(|back| self.text.was(at, back, "for|within|inside|among"))
    }

    fn harmless(&mut self, readings: &[Reading]) {
        let text = self.text;
        let over = readings.iter().any(|reading| reading.stance.is_some_and(|stance| stance.over || stance.negated));
        let denied = readings.iter().any(|reading| reading.stance.is_some_and(|stance| stance.negated && !stance.over));
        let excepted = denied && text.has("except");
        for at in 0..text.words.len() {
            let of = |list: &str| text.of_list(at, list);
            let lines = self.of_a_service && text.is(at, "mobile|cellular");
            let filled = over && text.is(at, "again")
                // Who orders it changes nothing; for whom it was so does.
                || of("slots.authors") && !self.is_whom(at, 3)
                // "Did not block it, only slowed it"; "everywhere in Africa except Kenya".
                || denied && text.is(at, "only") && text.pause(at) == Pause::Comma
                || excepted && of("slots.exceptions")
                || of("aside.reports")
                || of("slots.harmless") && !lines;
            let length = text.matches(at, "slots.phrases").unwrap_or(usize::from(filled));
            self.fill(at, length);
        }
    }

    /// "Like Senegal in 2023, ...": whom a claim compares with is not checked, and changes nothing. "..., which was founded in
    /// 2013, ...": nor does what is said of a service, unless it is that it was blocked.
    fn asides(&mut self, named: &[Named]) {
        let text = self.text;
        for piece in clauses::pieces(text).into_iter().filter(|piece| piece.link == Link::Aside) {
            let start = piece.range.start;
            let relative = text.was(start, 1, "which|who|whose");
            let of_a_service = named.iter().any(|named| named.at + named.length + 1 == start);
            let tells = |(.., sense): &(usize, usize, Sense)| !matches!(sense, Sense::Aside | Sense::Good);
            let said = stance::spans(text.part(piece.range.clone()).words);
            if !relative || of_a_service && !said.iter().any(tells) {
                self.fill(start.saturating_sub(1), piece.range.len() + 1);
            }
        }
    }

    /// Names of those who order and of those who report, and names with numbers.
    fn names(&mut self) {
        let text = self.text;
        let mut at = 0;
        while at < text.words.len() {
            let near = |at: usize| !text.ends(at) && !text.joined(at);
            let inner = |at: usize| near(at) && (text.capital(at) || text.is(at, "of|and|the|for|de"));
            let to = (at + 1..).find(|at| !inner(*at)).unwrap_or(at + 1);
            let end = (at + 1..=to).rev().find(|end| text.capital(end - 1)).unwrap_or(at + 1);
            let before = at - usize::from(text.was(at, 1, "the"));
            let any = |list: &str| (at..end).any(|at| text.of_list(at, list));
            let known = text.capital(at)
                && (any("slots.authors") && !self.is_whom(at, 2)
                    || any("slots.reporters")
                    || text.fits(end, "slots.says")
                    || text.fits(before, "slots.sourced"));
            if known {
                self.fill(at, end - at);
            }
            at = if text.capital(at) { end } else { at + 1 };
        }
        for (at, word) in text.words.iter().enumerate() {
            let number =
                |at: usize| text.word(at).is_some_and(|word| word.text.bytes().all(|byte| byte.is_ascii_digit()));
            if word.is_of("slots.numbered") && (word.lower != "no" || word.is_capital()) && number(at + 1) {
                self.fill(at, 2 + usize::from(text.joined(at + 2) && number(at + 2)));
            }
            // "TV5", "G20", "COVID-19".
            if word.is_capital() && word.text.bytes().any(|byte| byte.is_ascii_digit()) {
                self.fill(at, 1);
            }
        }
    }
}

/// What is left over of a claim, as its words have it: behind what details fill that were borne out, and names of networks
/// that only measurements know.
pub fn left_over(claim: &Claim, counted: &[usize], told: &[Beyond], networks: &[String]) -> Vec<String> {
    let words = in_figures(split(&claim.text));
    let text = Reader::of(&words);
    let fills = |at: usize| counted.contains(&at) || told.iter().any(|detail| fills(*detail, text, at));
    let is_left = |(at, word): (usize, &Word<'_>)| {
        claim.left.get(at).copied().unwrap_or(false) && !networks.contains(&word.lower) && !fills(at)
    };
    let left: Vec<bool> = words.iter().enumerate().map(is_left).collect();
    let is_left = |at: usize| left.get(at).copied().unwrap_or(false);
    let (mut phrases, mut at) = (Vec::new(), 0);
    while at < words.len() {
        if !is_left(at) {
            at += 1;
            continue;
        }
        let mut end = at + 1;
        while let Some(next) = (end..end + MOST_BETWEEN).find(|next| is_left(*next)) {
            if (end..=next).any(|at| text.ends(at)) {
                break;
            }
            end = next + 1;
        }
        // Words that belong to what is behind them: "at weekends".
        let led = at > 0 && text.of_list(at - 1, "slots.leads") && !text.ends(at);
        let run = text.part(at - usize::from(led)..end).words;
        phrases.push(run.iter().map(|word| word.text).collect::<Vec<_>>().join(" "));
        at = end;
    }
    phrases
}

/// Whether a word is of a detail.
fn fills(detail: Beyond, text: Reader<'_>, at: usize) -> bool {
    let of = |list: &str| text.of_list(at, list);
    let number = |most: usize, counted: &dyn Fn(usize) -> bool| {
        quantity(text, at).is_some() && (1..=most).any(|on| counted(at + on))
    };
    match detail {
        Beyond::Beginning => text.is(at, "began|begun|started|beginning|starting|begins|starts"),
        Beyond::HowLong(_) => {
            let hours = |at: usize| text.is(at, "hours|hour") || unit(text.lower(at)).is_some();
            of("slots.length") || hours(at) || text.is(at, "minute|minutes") || number(2, &hours)
        }
        Beyond::HowMany(_) => of("slots.shares") || number(4, &|at| text.of_list(at, "shares.networks")),
        Beyond::Hours(_) => {
            let covers = |first: usize| hours(text, first).is_some_and(|(length, _)| first + length > at);
            let only = text.is(at, "only") && (1..=3).any(|on| hours(text, at + on).is_some());
            only || text.is(at, "every|each|during") || (at.saturating_sub(5)..=at).any(covers)
        }
        Beyond::Method(_) => of("slots.methods"),
        Beyond::Nationwide => of("slots.reach"),
        Beyond::Occasion(_) => of("slots.occasions"),
    }
}
