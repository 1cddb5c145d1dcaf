//! Details of a claim that the record may bear out or speak against: on how many networks it was so, at what hours, for how
//! long. Any other detail is left over, for nothing tells it.

use super::*;

/// For what occasions a claim says that it was so, or during which: kinds of elections, exams, protests, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occasions(u8);

impl Occasions {
    pub fn of<'w>(words: impl Iterator<Item = &'w str>) -> Occasions {
        let kind = |word: &str| {
            let word = word.to_lowercase();
            lexicon::place("occasions", |names| names.split('/').any(|name| name == word)).map_or(0, |kind| 1 << kind)
        };
        Occasions(words.fold(0, |kinds, word| kinds | kind(word)))
    }

    /// Whether the occasion that a source gives is all that is said.
    pub fn are(self, told: &str) -> bool {
        self.0 != 0 && Occasions::of(told.split(|letter: char| !letter.is_alphabetic())).0 & self.0 == self.0
    }
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
    pub const fn as_str(&self) -> &'static str {
        self.texts().0
    }

    /// The end of "the data do not tell", and the list of words that say it.
    pub const fn texts(&self) -> (&'static str, &'static str) {
        match self {
            Beyond::HowMany(_) => ("on how many networks or services", "slots.shares"),
            Beyond::Nationwide => ("that it was so in the whole country", "slots.reach"),
            Beyond::Hours(_) => ("at what hours or on what days of the week", "slots.hours"),
            Beyond::HowLong(_) => ("for how long", "slots.length"),
            Beyond::Method(_) => ("by which method", "slots.methods"),
            Beyond::Occasion(_) => ("for what reason or at what event", "slots.occasions"),
            Beyond::Beginning => ("when it began or ended", "slots.beginning"),
        }
    }
}

/// The details of a clause that says these days and stance.
pub fn beyond(words: &[Word<'_>], days: &[When], stance: Stance) -> Vec<Beyond> {
    let occasions = Occasions::of(words.iter().map(|word| word.lower.as_str()));
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
    // "Lifted after three weeks": so long it was.
    let after = |at: usize| text.is(at, "after").then(|| number_of(text, at + 1)).flatten();
    let over = places().find_map(after).filter(|_| stance.over && days.is_empty());
    let found = [
        share.map(Beyond::HowMany),
        places().find_map(|at| hours(text, at)).map(|(_, hours)| Beyond::Hours(hours)),
        places().find_map(|at| duration(text, at)).or(over).map(Beyond::HowLong),
        methods(text).map(Beyond::Method),
        nationwide,
        (occasions != Occasions::default()).then_some(Beyond::Occasion(occasions)),
        begun.then_some(Beyond::Beginning),
    ];
    found.into_iter().flatten().collect()
}

/// Parts of names that say at what a method works.
const TOLD: &str = "dns/tcp/tls/sni/http/ip_/blockpage/redirect/451";

/// Methods of which the lexicon says what names one ("methods.dns"), what is a part of the names that measurements give it,
/// and of the names of others that do not speak against it. One bit each, in the order of its list.
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
        let open = |name| lexicon::value("methods.open", name).is_none_or(|open| held(measured, open));
        held(measured, TOLD) && self.each().any(|name| !is_held(measured, name) && !open(name))
    }
}

fn is_held(measured: &[&str], method: &str) -> bool {
    lexicon::value("methods.parts", method).is_some_and(|parts| held(measured, parts))
}

fn held(measured: &[&str], parts: &str) -> bool {
    measured.iter().any(|name| parts.split('/').any(|part| name.contains(part)))
}

/// The methods that a clause names, when it names any.
pub fn methods(text: Reader<'_>) -> Option<Methods> {
    let named = |at: usize, name: &str| {
        // "http://example.com" is an address; "not by DNS" names none that is claimed.
        let address = text.joined(at + 1) && text.pause(at + 1) == Pause::Colon;
        !address && text.fits(at, &format!("methods.{name}")) && !text.fits(at, "methods.denied")
    };
    let says = |name: &str| (0..text.words.len()).any(|at| named(at, name));
    let said = (0..).zip(&lexicon::list("methods").items).filter(|(_, name)| says(name));
    // Beside another method the last ones, of which measurements have no name, say no more than that one.
    let bits = said.fold(0, |bits, (bit, name)| if bits != 0 && *name == "other" { bits } else { bits | 1 << bit });
    (bits != 0).then_some(Methods(bits))
}

/// Of how many networks it is said.
#[derive(Debug, Clone, Copy, PartialEq)]
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

/// Patterns, and the share that each says.
const HOW_MANY: [(&str, Share); 6] = [
    ("shares.of_a_kind", Share::OfAKind),
    ("shares.of_all", Share::All),
    ("shares.of_most", Share::Most),
    ("shares.of_some", Share::Some),
    ("shares.of_one", Share::One),
    ("shares.of_others", Share::Other),
];

/// Networks that must be decided before they speak for all. Our choice.
pub const ENOUGH: usize = 3;

impl Share {
    /// Whether it is so of networks of which so many are decided and so many of those blocked.
    pub fn holds(self, Counted { blocked, decided }: Counted) -> bool {
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
    pub fn is_opposed(self, Counted { blocked, decided }: Counted) -> bool {
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
    match (text.before(at, 2), text.before(at, 1)) {
        ("at", "least") => (2, number, f64::INFINITY),
        ("more", "than") => (2, number + 1.0, f64::INFINITY),
        (_, "over") => (1, number + 1.0, f64::INFINITY),
        ("fewer" | "less", "than") => (2, 0.0, number - 1.0),
        (_, "under") => (1, 0.0, number - 1.0),
        // Who says "up to fifteen" means that it was nearly so many.
        ("up", "to") => (2, number / 2.0, number),
        _ if text.of_list(at.wrapping_sub(1), "numbers.about") => (1, number * 0.75, number * 1.25),
        _ => (0, number, number),
    }
}

/// Of a larger number "of networks", and not "of twenty networks", nobody speaks but in percent.
const MOST_WITHOUT_ALL: i64 = 12;

/// "Two of four operators", "10 Kenyan networks", "99 percent of networks": a number at a place, of networks.
fn counted(text: Reader<'_>, at: usize) -> Option<Share> {
    let (length, number) = quantity(text, at)?;
    if text.is(at, "a|an|few|several|couple") || text.read(at, dates::year).is_some() {
        return None;
    }
    let (_, least, most) = bounds(text, at, number as f64);
    let is = |list: &str| text.fits(at + length, list);
    match number {
        _ if is("shares.percent") => Some(Share::Other),
        1 if is("shares.of") || is("shares.counted") && !text.was(at, 1, "least|than") => Some(Share::One),
        _ if is("shares.of") && number > MOST_WITHOUT_ALL && !is("shares.of_so_many") => Some(Share::Other),
        _ => (is("shares.of") || is("shares.counted")).then_some(Share::Count(least, most)),
    }
}

/// "All Kenyan ISPs", "on a single network".
pub fn share(text: Reader<'_>, at: usize) -> Option<Share> {
    if let Some(share) = counted(text, at) {
        return Some(share);
    }
    let (_, share) = *HOW_MANY.iter().find(|(list, _)| text.fits(at, list))?;
    Some(if text.has("except|but|excluding|save|apart") { Share::Other } else { share })
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
/// Who counts months or years rounds to half of one.
const ROUNDED: f64 = 0.5;

/// Most days of what is called short-lived. Our choice.
const SHORT: f64 = 3.0;

impl Length {
    fn of(count: f64, days: f64, about: bool) -> Length {
        let rounded = if days >= 30.0 { days * ROUNDED } else { 0.0 };
        let share = if about { count * days * ABOUT_SHARE } else { 0.0 };
        // Of hours nobody is two days off.
        let slack = if days < 1.0 { BOUND_SLACK } else { SLACK };
        let off = slack.max(rounded).max(share);
        Length { least: count * days - off, most: count * days + off }
    }

    fn whole(days: f64) -> Length {
        let off = if days >= 30.0 { 2.0 * SLACK } else { SLACK };
        Length { least: days - off, most: days + off }
    }

    pub fn holds(self, days: f64) -> bool {
        days >= self.least && days <= self.most
    }
}

/// Days of a unit of time; hours are parts of one.
fn days(name: &str) -> Option<f64> {
    let parts: Option<f64> = lexicon::value("units.parts", name).and_then(|parts| parts.parse().ok());
    parts.map(|parts| 1.0 / parts).or(unit(name).map(|days| days as f64))
}

/// A length that begins at a place.
pub fn duration(text: Reader<'_>, at: usize) -> Option<Length> {
    if text.is(at, "entire|whole|full") || text.is(at, "all") && !text.lower(at + 1).ends_with('s') {
        return days(text.lower(at + 1)).map(Length::whole);
    }
    if text.fits(at, "length.short") {
        return Some(Length { least: 0.0, most: SHORT });
    }
    // "A week-long blackout", "a monthlong one"
    if text.fits(at, "length.long") {
        return days(text.lower(at).trim_end_matches("long")).map(|days| Length::of(1.0, days, false));
    }
    if text.fits(at, "length.endless") {
        return Some(Length { least: f64::INFINITY, most: f64::INFINITY });
    }
    if !text.is(at, "for|lasted|lasting|lasts") {
        let (length, count) = quantity(text, at)?;
        if text.is(at + length + 1, "without|offline") {
            return number_of(text, at);
        }
        let about = at > 0 && text.of_list(at - 1, "length.about");
        let days = days(text.lower(at + 1)).filter(|_| text.joined(at + 1));
        return days.map(|days| Length::of(count as f64, days, about));
    }
    let filler = |at: usize| text.of_list(at, "length.fillers") || text.is(at, "to") && text.was(at, 1, "up");
    let from = (at + 1..).find(|at| !filler(*at)).unwrap_or(at);
    let (between, length) = (text.part(at + 1..from), number_of(text, from)?);
    // What is a bound is not rounded.
    let bound = (length.least + length.most) / 2.0;
    Some(if between.has("less|under|fewer|up") {
        Length { least: 0.0, most: bound + BOUND_SLACK }
    } else if between.has("more|over|least") {
        Length { least: bound - BOUND_SLACK, most: f64::INFINITY }
    } else if between.says("length.about") {
        let off = (bound * ABOUT_SHARE).max(length.most - bound);
        Length { least: bound - off, most: bound + off }
    } else {
        length
    })
}

pub fn number_of(text: Reader<'_>, at: usize) -> Option<Length> {
    // Without a number: more than one, and fewer than make the next larger unit.
    if let Some(most) = lexicon::value("length.plurals", text.lower(at)).and_then(|most| most.parse().ok()) {
        return days(text.lower(at)).map(|one| Length { least: one * 1.5, most });
    }
    let (mut length, count) = quantity(text, at)?;
    length += usize::from(text.is(at + length, "single|mere|whole|full|entire"));
    // "Four hours a day" are hours of the day, and no length.
    if text.fits(at + length + 1, "length.each_day") {
        return None;
    }
    let one = days(text.lower(at + length))?;
    let all = one * count as f64;
    // "An hour", "a few hours": where it took days, it took longer.
    let most = if one < 1.0 { 1.0 } else { all * 2.5 };
    Some(match text.part(at..at + length).has("few|several|couple") {
        true => Length { least: all * 0.5, most },
        false => Length::of(count as f64, one, false),
    })
}
