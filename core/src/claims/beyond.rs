//! What a claim says beyond what is checked: on how many networks it was so, at what hours, for how long.

use super::length::{Length, duration};
use super::relative::quantity;
use super::stance::Stance;
use super::when::{Span, When};
use super::words::{Pause, Word};
use super::{dates::Reader, means};

/// A detail that incidents and verdicts of days do not tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Beyond {
    /// "All Kenyan ISPs", "every provider except Liquid": verdicts of networks may tell it.
    HowMany(Share),
    /// "Only on Safaricom".
    Only,
    /// "Twice", "three times".
    HowOften,
    /// "At night", "on weekends", "around the clock".
    Hours,
    /// "For an entire month": incidents with a beginning and an end may tell it.
    HowLong(Length),
    /// "Calls on WhatsApp".
    Feature,
    /// "The first country to do so".
    Rank,
    /// "A cable cut", "not censorship".
    Cause,
    /// "Partly restored".
    Partly,
    /// "Began on", "was first blocked in": incidents tell it.
    Beginning,
}

impl Beyond {
    /// As the end of "the data do not tell".
    pub const fn as_str(self) -> &'static str {
        match self {
            Beyond::HowMany(_) => "on how many networks or services",
            Beyond::Only => "that it was nowhere else",
            Beyond::HowOften => "how often",
            Beyond::Hours => "at what hours or on what days of the week",
            Beyond::HowLong(_) => "for how long",
            Beyond::Feature => "what of the service",
            Beyond::Rank => "which one it was of several",
            Beyond::Cause => "what caused it",
            Beyond::Partly => "how much of it",
            Beyond::Beginning => "that it began then",
        }
    }
}

const PROVIDERS: [&str; 18] = [
    "isp",
    "isps",
    "operator",
    "operators",
    "provider",
    "providers",
    "network",
    "networks",
    "carrier",
    "carriers",
    "telecoms",
    "telcos",
    "telco",
    "companies",
    "company",
    "services",
    "platforms",
    "regions",
];
/// Of how many networks it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    All,
    Most,
    Some,
    One,
    /// Another share, or all but some.
    Other,
}

const HOW_MANY: [(&str, Share); 14] = [
    ("all", Share::All),
    ("every", Share::All),
    ("each", Share::All),
    ("most", Share::Most),
    ("majority", Share::Most),
    ("some", Share::Some),
    ("several", Share::Some),
    ("multiple", Share::Some),
    ("single", Share::One),
    ("one", Share::One),
    ("few", Share::Other),
    ("half", Share::Other),
    ("both", Share::Other),
    ("many", Share::Other),
];
/// What verdicts of networks count.
const NETWORKS: [&str; 13] = [
    "isp",
    "isps",
    "operator",
    "operators",
    "provider",
    "providers",
    "network",
    "networks",
    "carrier",
    "carriers",
    "telecoms",
    "telcos",
    "telco",
];
/// Networks that must be decided before they speak for all. Our choice.
const ENOUGH: usize = 3;

impl Share {
    /// Whether it is so of networks of which so many are decided and so many of those blocked.
    pub const fn holds(self, blocked: usize, decided: usize) -> bool {
        match self {
            Share::All => decided >= ENOUGH && blocked == decided,
            Share::Most => decided >= ENOUGH && blocked * 2 > decided,
            Share::Some => blocked >= 2,
            Share::One => decided >= ENOUGH && blocked == 1,
            Share::Other => false,
        }
    }
}
const HOURS: [&str; 17] = [
    "weekend",
    "weekends",
    "weekday",
    "weekdays",
    "nightly",
    "overnight",
    "nights",
    "daily",
    "hourly",
    "evenings",
    "mornings",
    "afternoons",
    "intermittently",
    "sporadically",
    "repeatedly",
    "constantly",
    "permanently",
];
const OFTEN: [&str; 8] = ["twice", "thrice", "often", "rarely", "sometimes", "frequently", "regularly", "occasionally"];
/// Where "daily" and the like are part of a name they begin with a capital.
const SPANS: [&str; 8] = ["hour", "hours", "minutes", "day", "week", "month", "year", "night"];

/// Whether words at a place say such a detail.
type Detail<'d> = &'d dyn Fn(&Reader<'_>, usize) -> bool;

/// The first such detail of a clause that says these days and this stance.
pub fn beyond(words: &[Word<'_>], days: &[When], stance: Stance) -> Option<Beyond> {
    let words: Vec<Word<'_>> = words.iter().filter(|word| !word.aside).cloned().collect();
    let reader = Reader { words: &words, shouting: false };
    let any = |wanted: Detail<'_>| (0..words.len()).any(|at| wanted(&reader, at));
    if stance.negated && !stance.over {
        return any(&is_of_some).then_some(Beyond::Partly);
    }
    let spanned = days.iter().any(|when| matches!(when.span, Span::Range));
    let during = days.iter().all(|when| when.span == Span::During) && !days.is_empty();
    if let Some(share) = (0..words.len()).find_map(|at| share(&words, at)) {
        return Some(Beyond::HowMany(share));
    }
    if any(&is_exclusive) {
        return Some(Beyond::Only);
    }
    if any(&is_often) {
        return Some(Beyond::HowOften);
    }
    if any(&is_at_hours) {
        return Some(Beyond::Hours);
    }
    if let Some(length) = (0..words.len()).find_map(|at| duration(&words, at)).filter(|_| !spanned) {
        return Some(Beyond::HowLong(length));
    }
    let details: [(Detail<'_>, Beyond); 4] = [
        (&is_feature, Beyond::Feature),
        (&is_rank, Beyond::Rank),
        (&is_cause, Beyond::Cause),
        (&|reader, at| reader.is(at, &PARTLY), Beyond::Partly),
    ];
    let detail = details.iter().find(|(wanted, _)| any(wanted)).map(|(_, beyond)| *beyond);
    detail.or_else(|| (during && !stance.over && any(&begins)).then_some(Beyond::Beginning))
}

const PARTLY: [&str; 6] = ["partly", "partially", "eased", "eases", "relaxed", "relaxes"];
const NTH: [&str; 4] = ["second", "third", "fourth", "fifth"];

/// "Twice", "three times", "for the second time".
fn is_often(reader: &Reader<'_>, at: usize) -> bool {
    let times = reader.is(at, &["times"]) && at.checked_sub(1).is_some_and(|at| quantity(reader, at).is_some());
    reader.is(at, &OFTEN) || times || reader.is(at, &NTH) && reader.is(at + 1, &["time"])
}

fn is_at_hours(reader: &Reader<'_>, at: usize) -> bool {
    const POINTS: [&str; 6] = ["night", "nights", "noon", "midnight", "dawn", "dusk"];
    let next = |list: &[&str]| reader.is(at + 1, list);
    let plain = reader.word(at).is_some_and(|word| !word.is_capital());
    plain && reader.is(at, &HOURS)
        || reader.is(at, &["at"]) && next(&POINTS)
        || reader.is(at, &["every", "each"]) && (next(&SPANS) || reader.month(at + 1).is_some())
        || reader.is(at, &["around", "round"]) && next(&["the"]) && reader.is(at + 2, &["clock"])
        || reader.is(at, &["24"]) && next(&["7"])
        || is_clock(reader, at)
}

/// "WhatsApp calls", and no calls for anything.
fn is_feature(reader: &Reader<'_>, at: usize) -> bool {
    reader.is(at, &["calls", "calling", "voip"]) && !reader.is(at + 1, &["on", "for", "it", "to"])
}

fn is_rank(reader: &Reader<'_>, at: usize) -> bool {
    let of = reader.is(at + 1, &["country", "nation", "government", "state", "democracy"]);
    reader.is(at, &["longest", "largest", "biggest", "worst", "strictest"])
        || of && (reader.is(at, &NTH) || reader.is(at, &["first", "last", "latest"]))
}

fn is_cause(reader: &Reader<'_>, at: usize) -> bool {
    let next = |list: &[&str]| reader.is(at + 1, list);
    reader.is(at, &["technical", "glitch", "maintenance", "accident", "accidental", "accidentally"])
        || reader.is(at, &["cable", "fibre", "fiber"]) && next(&["cut", "cuts", "fault", "damage"])
        || reader.is(at, &["not", "wasn't", "isn't", "no"]) && next(&["censorship", "deliberate"])
}

fn begins(reader: &Reader<'_>, at: usize) -> bool {
    let first = reader.is(at + 1, &["blocked", "banned", "cut", "restricted", "time"]);
    let was = matches!(reader.before(at, 1), "was" | "were");
    reader.is(at, &["began", "begun", "started"]) || reader.is(at, &["first"]) && (first || was)
}

/// "Some Kenyans could use it", "it was not completely blocked": no block speaks against it.
fn is_of_some(reader: &Reader<'_>, at: usize) -> bool {
    let people = reader.is(at + 1, &PEOPLE) || reader.word(at + 1).is_some_and(Word::is_capital);
    let figure = reader.word(at).is_some_and(|word| word.text.bytes().all(|byte| byte.is_ascii_digit()));
    reader.is(at, &["some", "few", "many", "several", "certain"]) && people
        || figure && reader.is(at + 1, &["of"])
        || reader.is(at, &["completely", "fully", "entirely", "totally", "wholly", "everywhere", "partly", "partially"])
}

/// Those who use a service.
const PEOPLE: [&str; 7] = ["people", "users", "customers", "subscribers", "of", "could", "can"];

/// "All Kenyan ISPs", "on a single network".
fn share(words: &[Word<'_>], at: usize) -> Option<Share> {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let reader = Reader { words, shouting: false };
    // "Two of four operators"
    if lower(at + 1) == "of" && quantity(&reader, at).is_some() && (2..=5).any(|on| NETWORKS.contains(&lower(at + on)))
    {
        return Some(if lower(at) == "one" { Share::One } else { Share::Other });
    }
    let (_, share) = HOW_MANY.iter().find(|(word, _)| *word == lower(at))?;
    let one = *share == Share::One;
    // "One network" is one, "one Nigerian network" too, and "one activist's network" is none.
    let reach = if one { 1 + usize::from(words.get(at + 1).is_some_and(Word::is_capital)) } else { 4 };
    let of = (1..=reach).find(|on| PROVIDERS.contains(&lower(at + on)))?;
    let counted = NETWORKS.contains(&lower(at + of));
    let excepted =
        words.iter().any(|word| matches!(word.lower.as_str(), "except" | "but" | "excluding" | "save" | "apart"));
    (!one || counted).then_some(if counted && !excepted { *share } else { Share::Other })
}

/// "At 18:00", "6pm", "3 a.m.": a time of the day.
fn is_clock(reader: &Reader<'_>, at: usize) -> bool {
    let lower = |at: usize| reader.lower(at);
    let figure = |text: &str, most: u32| text.len() <= 2 && text.parse::<u32>().is_ok_and(|figure| figure <= most);
    let hour = |text: &str| figure(text, 24);
    let parts =
        |text: &str, by: char| text.split_once(by).is_some_and(|(h, m)| hour(h) && m.len() == 2 && figure(m, 59));
    let colon = reader.word(at + 1).is_some_and(|next| next.pause == Pause::Colon && next.text.len() == 2);
    let half = ["am", "pm", "h"].iter().any(|end| lower(at).strip_suffix(end).is_some_and(hour));
    half || parts(lower(at), 'h')
        || reader.before(at, 1) == "at" && parts(lower(at), '.')
        || hour(lower(at)) && colon && figure(lower(at + 1), 59)
        || hour(lower(at)) && reader.is(at + 1, &["am", "pm", "a.m", "p.m", "o'clock"])
}

/// "Only on Safaricom", and neither "not only" nor "only with a VPN".
fn is_exclusive(reader: &Reader<'_>, at: usize) -> bool {
    let before = reader.before(at, 1);
    let only = reader.is(at, &["only", "solely", "exclusively"]) && !matches!(before, "not" | "the" | "didn't");
    let way = (1..=5).any(|on| reader.is(at + on, &means::MEANS));
    let nothing_but = reader.is(at, &["nothing"]) && reader.is(at + 1, &["but", "except"]);
    // "The only app that is blocked"
    let the_only = reader.is(at, &["only"]) && before == "the" && reader.is(at + 1, &THE_ONLY);
    let alone = reader.is(at, &["alone"]) && !matches!(before, "leave" | "left" | "let");
    let just = at == 0 && reader.is(at, &["just"]) && reader.is(at + 2, &["is", "was", "has"]);
    (only || nothing_but || the_only || alone || just) && !way
}

/// What there may be only one of.
const THE_ONLY: [&str; 10] =
    ["app", "service", "site", "website", "platform", "messenger", "network", "country", "one", "isp"];

#[cfg(test)]
mod tests {
    use super::super::stance::Kind;
    use super::super::when::when;
    use super::super::words::split;
    use super::*;
    use crate::Timestamp;

    fn said(text: &str) -> Option<Beyond> {
        let (words, now) = (split(text), Timestamp::parse("2026-11-24T09:00:00Z").unwrap());
        let stance =
            Stance { kind: Kind::Block, negated: false, over: false, deliberate: true, never: false, any_kind: false };
        beyond(&words, &when(&words, now, None).days, stance)
    }

    #[test]
    fn details_that_are_not_checked_are_found() {
        for (text, expected) in [
            ("blocked by all Kenyan ISPs", Beyond::HowMany(Share::All)),
            ("every provider except Liquid blocked it", Beyond::HowMany(Share::Other)),
            ("most networks in Kenya blocked it", Beyond::HowMany(Share::Most)),
            ("it was blocked on one network", Beyond::HowMany(Share::One)),
            ("one Nigerian telco blocked it", Beyond::HowMany(Share::One)),
            ("two of four telcos blocked it", Beyond::HowMany(Share::Other)),
            ("WhatsApp calls were blocked", Beyond::Feature),
            ("all regions were cut off", Beyond::HowMany(Share::Other)),
            ("nothing but Signal is blocked", Beyond::Only),
            ("Signal alone is blocked", Beyond::Only),
            ("just Signal was blocked", Beyond::Only),
            ("the only app that is blocked is Signal", Beyond::Only),
            ("it was blocked at 18:00 on 5 May 2023", Beyond::Hours),
            ("it was blocked at 6pm on 5 May 2023", Beyond::Hours),
            ("it was blocked at 6 p.m. on 5 May 2023", Beyond::Hours),
            ("it was only blocked on Safaricom", Beyond::Only),
            ("it was blocked exclusively in Nairobi", Beyond::Only),
            ("it was blocked on weekends", Beyond::Hours),
            ("it was blocked at night", Beyond::Hours),
            ("it was blocked twice in May 2023", Beyond::HowOften),
            ("the outage was not censorship", Beyond::Cause),
            ("it was blocked for the second time in May 2023", Beyond::HowOften),
            ("the first country to block it", Beyond::Rank),
            ("a cable cut disrupted it", Beyond::Cause),
            ("it is partially blocked", Beyond::Partly),
            ("it was blocked three times in May 2023", Beyond::HowOften),
            ("it was blocked around the clock in May 2023", Beyond::Hours),
            ("it was blocked every day in May 2023", Beyond::Hours),
            ("it was blocked in Kenya each November", Beyond::Hours),
            ("it was cut for two weeks in May 2023", Beyond::HowLong(Length { least: 10.5, most: 17.5 })),
            ("a 10-day shutdown", Beyond::HowLong(Length { least: 7.5, most: 12.5 })),
            ("it was first blocked in May 2023", Beyond::Beginning),
            ("it began to be blocked on 5 May 2023", Beyond::Beginning),
        ] {
            assert_eq!(said(text), Some(expected), "{text}");
        }
        for text in [
            "it was blocked in May 2023",
            "it can be reached only with a VPN",
            "not only Kenya blocked it",
            "the Daily Nation was blocked in May 2023",
            "it was blocked for 3 days from 5 to 8 May 2023",
            "it was blocked for exams in May 2023",
            "it was blocked on two networks",
            "Telegram only works with a VPN",
            "you can only use it through a VPN",
            "the only way is Tor",
            "40 networks: 30 of them in Kenya",
            "one activist's network",
            "they just blocked Signal",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
