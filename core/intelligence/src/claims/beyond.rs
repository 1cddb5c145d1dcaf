//! Details of a claim that the record may bear out or speak against: on how many networks it was so, at what hours, for
//! how long. Any other detail is left over, for nothing tells it.

use serde::Deserialize;

use super::*;

/// For what occasions a claim says that it was so, or during which: kinds of elections, exams, protests, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occasions(u16);

impl Occasions {
    pub fn of(text: Reader<'_>) -> Occasions {
        Occasions(bits(text, "occasions"))
    }

    /// The same of an end: what a block was for does not tell what it ended for.
    const fn of_an_end(self, ended: bool) -> Occasions {
        if ended && self.0 != 0 { Occasions(self.0 | APART) } else { self }
    }

    /// Whether the occasion that a source gives is all that is said. "Before the exams" is not for them.
    pub fn are(self, told: &str) -> bool {
        self.0 != 0 && self.0 & APART == 0 && Occasions::of(Reader::of(&split(told))).0 & self.0 == self.0
    }
}

/// What the lexicon says of an occasion that is named in another way: "after the vote", "instead of the exams".
const APART: u16 = 128;

/// The numbers that a list says of words, each of which is one bit.
fn bits(text: Reader<'_>, list: &str) -> u16 {
    let bit = |at: usize| text.take(at, list).and_then(|taken| taken.says.parse::<u16>().ok());
    (0..text.words.len()).filter_map(bit).fold(0, |bits, bit| bits | bit)
}

/// A detail that is compared with incidents and verdicts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Beyond {
    HowMany(Share),
    Hours(Hours),
    Nationwide,
    HowLong(Length),
    Method(Methods),
    Occasion(Occasions),
    Beginning,
}

impl Beyond {
    /// The code of the sentence that names it.
    pub const fn code(&self) -> &'static str {
        self.texts().0
    }

    /// That code, and the list of words that say it.
    pub const fn texts(&self) -> (&'static str, &'static str) {
        match self {
            Beyond::HowMany(_) => ("claim.detail.shares", "slots.shares"),
            Beyond::Nationwide => ("claim.detail.reach", "slots.reach"),
            Beyond::Hours(_) => ("claim.detail.times", "slots.hours"),
            Beyond::HowLong(_) => ("claim.detail.duration", "slots.length"),
            Beyond::Method(_) => ("claim.detail.methods", "slots.methods"),
            Beyond::Occasion(_) => ("claim.detail.reason", "slots.occasions"),
            Beyond::Beginning => ("claim.detail.dates", "slots.beginning"),
        }
    }
}

/// The details of a clause that says these days and stance.
pub fn beyond(words: &[Word<'_>], days: &[When], stance: Stance) -> Vec<Beyond> {
    let occasions = Occasions::of(Reader::of(words)).of_an_end(stance.over);
    let words: Vec<Word<'_>> = words.iter().filter(|word| !word.aside).cloned().collect();
    let text = Reader::of(&words);
    let places = || 0..words.len();
    // "Nationwide", "across Kenya", "the entire country"; and no "national exams".
    let nationwide = text.says("beyond.nationwide").then_some(Beyond::Nationwide);
    let share = places().find_map(|at| share(text, at));
    // "Not blocked nationwide", unlike "accessible nationwide".
    if stance.denies() {
        let whole = share.filter(|share| matches!(share, Share::All | Share::Most)).map(Beyond::HowMany);
        return whole.into_iter().chain(nationwide).filter(|_| text.says("beyond.not")).collect();
    }
    // "From 5 August": no word but these dates a beginning.
    let during = days.iter().all(|when| when.span == Span::During) && !days.is_empty();
    let begun = during && !stance.over && text.says("beyond.began");
    // "Lifted after three weeks", "shutdown over within hours": so long it was.
    let until = |at: &usize| stance.over || text.fits(*at, "length.ended");
    let dated = stance.over && days.iter().any(|when| when.is_one_day());
    let over = places().filter(until).find_map(|at| until_an_end(text, at, dated));
    let found = [
        share.map(Beyond::HowMany),
        places().find_map(|at| hours(text, at)).map(|(_, hours)| Beyond::Hours(hours)),
        over.or_else(|| places().find_map(|at| duration(text, at))).map(Beyond::HowLong),
        methods(text).map(Beyond::Method),
        nationwide,
        (occasions != Occasions::default()).then_some(Beyond::Occasion(occasions)),
        begun.then_some(Beyond::Beginning),
    ];
    found.into_iter().flatten().collect()
}

/// Parts of names that say at what a method works.
const TOLD: &str = "dns/tcp/tls/sni/http/ip_/blockpage/redirect/451";

/// Methods of which the lexicon says what names one ("methods.named"), what is a part of the names that measurements
/// give it, and of the names of others that do not speak against it. One bit each, in the order of its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Methods(u16);

impl Methods {
    fn each(self) -> impl Iterator<Item = &'static str> {
        let claimed = (0..).zip(&lexicon::list("methods").items).filter(move |(bit, _)| self.0 & 1 << bit != 0);
        claimed.map(|(_, name)| *name)
    }

    pub fn are_among(self, measured: &[&str]) -> bool {
        self.each().all(|name| is_held(measured, name))
    }

    /// Whether those that were measured speak against one of them.
    pub fn are_opposed_by(self, measured: &[&str]) -> bool {
        let open = |name| lexicon::says("methods.open", name).is_none_or(|open| held(measured, open));
        held(measured, TOLD) && self.each().any(|name| !is_held(measured, name) && !open(name))
    }
}

fn is_held(measured: &[&str], method: &str) -> bool {
    lexicon::says("methods.parts", method).is_some_and(|parts| held(measured, parts))
}

fn held(measured: &[&str], parts: &str) -> bool {
    measured.iter().any(|name| parts.split('/').any(|part| name.contains(part)))
}

/// The methods that a clause names, when it names any.
pub fn methods(text: Reader<'_>) -> Option<Methods> {
    let bits = bits(text, "methods.named");
    // Beside another method the last ones, of which measurements have no name, say no more than that one.
    let others = 1 << (lexicon::list("methods").items.len() - 1);
    let bits = if bits == others { bits } else { bits & !others };
    (bits != 0).then_some(Methods(bits))
}

/// Of how many networks it is said.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    All,
    Most,
    Some,
    One,
    /// "All mobile networks", "all three operators": so where all are, and unknown elsewhere.
    OfAKind,
    Count(f64, f64),
    /// Another share, or all but some.
    Other,
}

/// Networks that must be decided before they speak for all. Our choice.
pub const ENOUGH: usize = 3;

impl Share {
    /// Whether it is so of networks of which so many are decided and so many of those blocked.
    pub fn holds(self, BlockedOfDecided { blocked, decided }: BlockedOfDecided) -> bool {
        match self {
            Share::All | Share::OfAKind => decided >= ENOUGH && blocked == decided,
            Share::Most => decided >= ENOUGH && blocked * 2 > decided,
            Share::Some => blocked >= 2,
            Share::One => decided >= ENOUGH && blocked == 1,
            Share::Count(least, most) => (least..=most).contains(&(blocked as f64)),
            Share::Other => false,
        }
    }

    /// Whether so few are blocked of those that are decided, or so many, that it cannot be so.
    pub fn is_opposed(self, BlockedOfDecided { blocked, decided }: BlockedOfDecided) -> bool {
        match self {
            Share::All => blocked < decided,
            Share::Most => decided >= ENOUGH && blocked * 2 <= decided,
            Share::One => blocked > 1,
            // Fewer than are claimed, where as many were measured.
            Share::Count(least, most) => {
                let (blocked, all) = (blocked as f64, decided as f64);
                decided >= ENOUGH && (blocked > most || blocked < least && least <= all)
            }
            _ => false,
        }
    }
}

/// How many words before a number bound it, and what it is then, at least and at most.
pub fn bounds(text: Reader<'_>, at: usize, number: f64) -> (usize, f64, f64) {
    let said = text.take(at, "bounds").and_then(|taken| taken.says.split_once(' '));
    let (back, says) = said.unwrap_or(("0", "just"));
    let (least, most) = match says {
        "least" => (number, f64::INFINITY),
        "more" => (number + 1.0, f64::INFINITY),
        "fewer" => (0.0, number - 1.0),
        // Who says "up to fifteen" means that it was nearly so many.
        "up" => (number / 2.0, number),
        "about" => (number * 0.75, number * 1.25),
        _ => (number, number),
    };
    (back.parse().unwrap_or(0), least, most)
}

/// Of a larger number "of networks", and not "of twenty networks", nobody speaks but in percent.
const MOST_WITHOUT_ALL: i64 = 12;

/// "All Kenyan ISPs", "on a single network", "two of four operators", "99 percent of networks".
pub fn share(text: Reader<'_>, at: usize) -> Option<Share> {
    let taken = text.take(at, "shares")?;
    let number = taken.number("number");
    let (_, least, most) = bounds(text, at, number.unwrap_or(0) as f64);
    match taken.says {
        "of" if number.is_some_and(|number| number > MOST_WITHOUT_ALL) => Some(Share::Other),
        "of" | "count" => Some(Share::Count(least, most)),
        _ if number.is_none() && text.has("except|but|excluding|save|apart") => Some(Share::Other),
        share => lexicon::named(share),
    }
}

/// Days, at least and at most, as a record may have them that bears the claim out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length {
    pub least: f64,
    pub most: f64,
}

const ABOUT_SHARE: f64 = 0.25;
/// Sources date by days: a beginning and an end are off by so many days together.
const SLACK: f64 = 2.0;
/// ... and a bound ("more than a week") by so many.
const BOUND_SLACK: f64 = 1.0;
/// Months and years differ by so much.
const CALENDAR: f64 = 0.5;
/// What is off by more than that, and by no more than this share, neither bears a length out nor speaks against it:
/// "seven months" of 222 days. The same whatever the unit.
const NEAR: f64 = 0.05;

/// Most days of what is called short-lived. Our choice.
const SHORT: f64 = 3.0;

impl Length {
    /// Nothing bears it out or speaks against it.
    const UNKNOWN: Length = Length { least: f64::INFINITY, most: f64::INFINITY };

    fn of(count: f64, days: f64, about: bool) -> Length {
        let share = if about { count * days * ABOUT_SHARE } else { 0.0 };
        let slack = match days {
            // Of hours nobody is two days off.
            _ if days < 1.0 => BOUND_SLACK,
            _ if days >= 30.0 => SLACK + CALENDAR,
            _ => SLACK,
        };
        let off = slack.max(share);
        Length { least: count * days - off, most: count * days + off }
    }

    const fn at_most(days: f64) -> Length {
        Length { least: 0.0, most: days }
    }

    pub fn holds(self, days: f64) -> bool {
        days >= self.least && days <= self.most
    }

    /// Whether so many days are clearly fewer. Of what is said to have no end nobody can tell.
    pub fn is_longer_than(self, days: f64) -> bool {
        self.least.is_finite() && days < self.least * (1.0 - NEAR)
    }

    /// Whether so many days are clearly more.
    pub fn is_shorter_than(self, days: f64) -> bool {
        days > self.most * (1.0 + NEAR)
    }
}

/// Minutes of a day: the lexicon has units of time in minutes.
const MINUTES: f64 = 1440.0;

/// A length that begins at a place.
pub fn duration(text: Reader<'_>, at: usize) -> Option<Length> {
    let taken = text.take(at, "length")?;
    let days = taken.number("unit").map_or(0.0, |minutes| minutes as f64 / MINUTES);
    match taken.says {
        "whole" => Some(Length::of(1.0, days, false)),
        "short" => Some(Length::at_most(SHORT)),
        "endless" => Some(Length::UNKNOWN),
        "without" => number_of(text, at),
        "for" => bounded(text.part(at..at + taken.length), number_of(text, at + taken.length)?),
        // "A week-long blackout", "about a 10-day one".
        _ => {
            let about = at > 0 && text.of_list(at - 1, "length.about");
            Some(Length::of(taken.number("number").unwrap_or(1) as f64, days, about))
        }
    }
}

/// How long it was until an end that is told at a place: "after a week", "two days later", "the same day".
fn until_an_end(text: Reader<'_>, at: usize, dated: bool) -> Option<Length> {
    let taken = text.take(at, "length.end")?;
    let behind = at + taken.length;
    match taken.says {
        "within" => number_of(text, behind).map(|length| Length::at_most(length.most)),
        "after" => bounded(text.part(at..behind), number_of(text, behind)?),
        "later" => number_of(text, at),
        // "Lifted on 8 October, the same day": as something else.
        _ if dated => Some(Length::UNKNOWN),
        _ => {
            let days = taken.number("unit").map_or(1.0, |minutes| minutes as f64 / MINUTES);
            Some(Length::at_most(days + BOUND_SLACK))
        }
    }
}

/// What "more than", "about" and the like make of a length.
fn bounded(before: Reader<'_>, length: Length) -> Option<Length> {
    // What is a bound is not rounded.
    let bound = (length.least + length.most) / 2.0;
    Some(if before.has("less|under|fewer|up") {
        Length::at_most(bound + BOUND_SLACK)
    } else if before.has("more|over|least") {
        Length { least: bound - BOUND_SLACK, most: f64::INFINITY }
    } else if before.says("length.about") {
        let off = (bound * ABOUT_SHARE).max(length.most - bound);
        Length { least: bound - off, most: bound + off }
    } else {
        length
    })
}

/// So many units of time; hours of each day are no length.
fn number_of(text: Reader<'_>, at: usize) -> Option<Length> {
    let taken = text.take(at, "length.number")?;
    let (one, vague) = (taken.number("unit")? as f64 / MINUTES, taken.number("vague"));
    // Without a number: more than one, and fewer than make the next larger unit.
    let Some(count) = vague.or(taken.number("number")) else {
        return Some(Length { least: one * 1.5, most: lexicon::value("length.plurals", text.lower(at))? });
    };
    let all = one * count as f64;
    // "An hour", "a few hours": where it took days, it took longer.
    let most = if one < 1.0 { 1.0 } else { all * 2.5 };
    Some(if vague.is_some() { Length { least: all * 0.5, most } } else { Length::of(count as f64, one, false) })
}
