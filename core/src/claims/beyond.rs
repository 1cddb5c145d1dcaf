//! What a claim says beyond what is checked: on how many networks it was so, at what hours, for how long.

use super::causes::{causes, is_event, is_occasion};
use super::length::{Length, duration, is_of_each_day};
use super::method::{self, Methods};
use super::relative::{quantity, unit, weekday};
use super::shares::{Share, is_network, share};
use super::stance::{Kind, Stance};
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
    /// "Around the clock": a schedule speaks against it.
    AllHours,
    /// "Nationwide", "across Kenya": verdicts of networks may tell it.
    Nationwide,
    /// "For an entire month": incidents with a beginning and an end may tell it.
    HowLong(Length),
    /// "By DNS poisoning": what was measured tells it.
    Method(Methods),
    /// "Calls on WhatsApp".
    Feature,
    /// "Civil servants", "in schools".
    Whom,
    /// "Down worldwide, including Kenya".
    Elsewhere,
    /// "During the 2023 floods", of which the year alone is known.
    Event,
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
            Beyond::Nationwide => "that it was so in the whole country",
            Beyond::Hours | Beyond::AllHours => "at what hours or on what days of the week",
            Beyond::HowLong(_) => "for how long",
            Beyond::Method(_) => "by which method",
            Beyond::Whom => "for whom, where or on what devices",
            Beyond::Elsewhere => "that it was so in other countries",
            Beyond::Event => "at what event",
            Beyond::Feature => "what of the service",
            Beyond::Rank => "which one it was of several",
            Beyond::Cause => "what caused it",
            Beyond::Partly => "how much of it",
            Beyond::Beginning => "that it began then",
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

/// The details of a clause that says these days and this stance.
pub fn beyond(words: &[Word<'_>], days: &[When], stance: Stance) -> Vec<Beyond> {
    let words: Vec<Word<'_>> = words.iter().filter(|word| !word.aside).cloned().collect();
    let reader = Reader { words: &words, shouting: false };
    let any = |wanted: Detail<'_>| (0..words.len()).any(|at| wanted(&reader, at));
    if stance.negated && !stance.over {
        let some = any(&is_of_some).then_some(Beyond::Partly);
        let mut found: Vec<Beyond> = some.or(any(&is_whom).then_some(Beyond::Whom)).into_iter().collect();
        // "Not blocked nationwide", unlike "accessible nationwide".
        if found.is_empty() && any(&|reader, at| reader.is(at, &NOT)) {
            let whole = |share: &Share| matches!(share, Share::All | Share::Most);
            found.extend((0..words.len()).find_map(|at| share(&words, at)).filter(whole).map(Beyond::HowMany));
            found.extend(any(&is_nationwide).then_some(Beyond::Nationwide));
        }
        return found;
    }
    let spanned = days.iter().any(|when| matches!(when.span, Span::Range));
    let during = days.iter().all(|when| when.span == Span::During) && !days.is_empty();
    let causes = causes(&reader);
    let of_a_service = stance.kind != Kind::Shutdown;
    // An event in a month or on a day is told by that date.
    let vague = days.iter().all(|when| when.named > 31);
    let shares = (0..words.len()).find_map(|at| share(&words, at)).map(Beyond::HowMany);
    let length = (0..words.len()).find_map(|at| duration(&words, at)).filter(|_| !spanned).map(Beyond::HowLong);
    let details: [(Detail<'_>, Beyond); 11] = [
        (&is_exclusive, Beyond::Only),
        (&is_often, Beyond::HowOften),
        (&is_at_hours, Beyond::Hours),
        (&is_feature, Beyond::Feature),
        (&|reader, at| is_whom(reader, at) || of_a_service && is_on_lines(reader, at), Beyond::Whom),
        (&|reader, at| reader.is(at, &["worldwide", "globally", "including"]), Beyond::Elsewhere),
        (&is_rank, Beyond::Rank),
        (&|_, at| causes.contains(&at), Beyond::Cause),
        (&|reader, at| reader.is(at, &PARTLY) || shares.is_none() && is_of_a_part(reader, at), Beyond::Partly),
        (&|reader, at| vague && is_event(reader, at), Beyond::Event),
        (&|reader, at| is_since_another_weekday(reader, at, days), Beyond::Hours),
    ];
    let mut found: Vec<Beyond> = shares.into_iter().collect();
    found.extend(details.iter().take(3).filter(|(wanted, _)| any(wanted)).map(|(_, beyond)| *beyond));
    found.extend(length);
    found.extend(details.iter().skip(3).filter(|(wanted, _)| any(wanted)).map(|(_, beyond)| *beyond));
    found.extend(method::methods(&reader).map(Beyond::Method));
    let begun = found.is_empty() && during && !stance.over && any(&begins);
    found.extend(any(&is_at_all_hours).then_some(Beyond::AllHours));
    found.extend(any(&is_nationwide).then_some(Beyond::Nationwide));
    found.extend(begun.then_some(Beyond::Beginning));
    found
}

const NOT: [&str; 8] = ["not", "wasn't", "isn't", "weren't", "aren't", "didn't", "hasn't", "never"];
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
        || is_at_all_hours(reader, at)
        || reader.is(at, &["hour", "hours"]) && is_of_each_day(reader, at + 1)
        || is_clock(reader, at)
}

/// "Around the clock", "24 hours a day".
fn is_at_all_hours(reader: &Reader<'_>, at: usize) -> bool {
    let next = |list: &[&str]| reader.is(at + 1, list);
    reader.is(at, &["around", "round"]) && next(&["the"]) && reader.is(at + 2, &["clock"])
        || reader.is(at, &["24"]) && (next(&["7"]) || next(&["hours"]) && is_of_each_day(reader, at + 2))
        || reader.is(at, &["day"]) && next(&["and"]) && reader.is(at + 2, &["night"])
        || reader.is(at, &["at"]) && next(&["all"]) && reader.is(at + 2, &["hours", "times"])
        || reader.is(at, &["constantly", "continuously", "nonstop"])
}

/// "Nationwide", "across Kenya", "the entire country"; and no "national exams".
fn is_nationwide(reader: &Reader<'_>, at: usize) -> bool {
    let place = |at: usize| reader.is(at, &["country", "nation"]) || reader.word(at).is_some_and(Word::is_capital);
    let over = reader.is(at, &["across", "throughout"])
        || reader.is(at, &["all"]) && reader.is(at + 1, &["over"])
        || reader.is(at, &["whole", "entire", "everywhere"]);
    let behind = (at + 1..at + 4).find(|at| !reader.is(*at, &["of", "in", "over", "the", "whole", "entire", "all"]));
    let scale = ["shutdown", "blackout", "block", "ban", "outage", "internet", "scale", "level", "scope"];
    // "During nationwide protests", "protests across Kenya"
    if is_occasion(reader, at + 1) || at.checked_sub(1).is_some_and(|before| is_occasion(reader, before)) {
        return false;
    }
    reader.is(at, &["nationwide", "countrywide"])
        || reader.is(at, &["national"]) && reader.is(at + 1, &scale)
        || over && behind.is_some_and(place)
}

/// "Most of Kenya", "parts of the country".
fn is_of_a_part(reader: &Reader<'_>, at: usize) -> bool {
    let of = reader.is(at, &["most", "much", "half", "part", "parts", "some"]) && reader.is(at + 1, &["of"]);
    let the = usize::from(reader.is(at + 2, &["the"]));
    of && (reader.is(at + 2 + the, &["country", "nation"]) || reader.word(at + 2 + the).is_some_and(Word::is_capital))
}

/// "WhatsApp calls", and no calls for anything; "the premium version".
fn is_feature(reader: &Reader<'_>, at: usize) -> bool {
    reader.is(at, &["premium", "version", "versions"])
        || reader.is(at, &["calls", "calling", "voip"]) && !reader.is(at + 1, &["on", "for", "it", "to"])
}

/// "Civil servants", "in schools", "on government devices": some of the people, or some places of a country.
fn is_whom(reader: &Reader<'_>, at: usize) -> bool {
    let plain = reader.word(at).is_some_and(|word| word.pause == Pause::None) || at == 0;
    let by = reader.before(at, 1) == "by" || reader.before(at, 2) == "by";
    let place = (1..=4).any(|back| matches!(reader.before(at, back), "in" | "at" | "on" | "for"));
    let under = reader.is(at, &["under", "over"]) && reader.joined(at + 1);
    let exams = reader.is(at + 1, &["exam", "exams", "examinations"]);
    let known = plain && !by && reader.is(at, &GROUPS) || place && !exams && reader.is(at, &INSTITUTIONS);
    under || known || is_at_work(reader, at) || is_for_some(reader, at)
}

/// "On mobile networks": a service on some lines, and not the lines themselves.
fn is_on_lines(reader: &Reader<'_>, at: usize) -> bool {
    let lines = reader.is(at + 2, &["networks", "data", "internet", "broadband", "lines"]);
    reader.is(at, &["on", "over", "via"]) && reader.is(at + 1, &["mobile", "cellular", "fixed"]) && lines
}

/// "At work", "in cafes", "on military bases", "for police officers": of one kind, and not all of a country.
fn is_at_work(reader: &Reader<'_>, at: usize) -> bool {
    const ALONE: [&str; 4] = ["work", "home", "school", "church"];
    let plain = |at: usize| {
        let word = reader.word(at).filter(|word| word.pause == Pause::None && !word.joined);
        word.is_some_and(|word| word.text.starts_with(char::is_lowercase))
    };
    let several = |at: usize| {
        let name = reader.lower(at);
        let plural = name.len() > 3 && name.ends_with('s') && !["ss", "us", "is"].iter().any(|end| name.ends_with(end));
        let time = unit(name).is_some() || ["hours", "minutes", "seconds", "weekends"].contains(&name);
        plural && !time && !is_network(name) && !is_occasion(reader, at) && ends(reader, at + 1)
    };
    let lead = reader.is(at, &["in", "at", "on"]);
    let kind = plain(at + 1) && !reader.is(at + 1, &COUNTED) && quantity(reader, at + 1).is_none();
    let one = several(at + 1) && (lead || !reader.is(at + 1, &ALL));
    let two = kind && plain(at + 2) && several(at + 2) && (lead || !reader.is(at + 2, &ALL));
    let alone = reader.is(at, &["at"]) && reader.is(at + 1, &ALONE);
    plain(at + 1) && (alone || (lead || reader.is(at, &["for"])) && (one || two))
}

/// "For the army", "within the Kenyan army": of some, where neither an occasion nor a time is named.
fn is_for_some(reader: &Reader<'_>, at: usize) -> bool {
    let lead = reader.is(at, &["for", "within", "inside", "among"])
        && reader.is(at + 1, &["the", "its", "their", "all", "most"]);
    let near = |at: usize| reader.word(at).is_some_and(|word| word.pause == Pause::None);
    let end = (at + 2..at + 5).take_while(|at| near(*at) && !ends(reader, *at)).last();
    lead && end.is_some_and(|end| {
        let time = |at: usize| {
            unit(reader.lower(at)).is_some() || reader.month(at).is_some() || weekday_at(reader, at).is_some()
        };
        let told = |at: usize| reader.is(at, &ALL) || time(at) || is_occasion(reader, at);
        let noun = reader.word(end).is_some_and(|word| word.text.starts_with(char::is_lowercase));
        noun && ends(reader, end + 1) && !(at + 2..=end).any(told)
    })
}

/// Words before a plural that tell how many, or that it names what is meant already.
const COUNTED: [&str; 18] = [
    "all",
    "some",
    "most",
    "many",
    "several",
    "both",
    "other",
    "various",
    "multiple",
    "different",
    "few",
    "the",
    "its",
    "their",
    "these",
    "those",
    "social",
    "mobile",
];
/// Who and what is all of a country, or no part of it.
const ALL: [&str; 20] = [
    "people",
    "public",
    "population",
    "country",
    "nation",
    "users",
    "citizens",
    "internet",
    "time",
    "moment",
    "first",
    "rest",
    "duration",
    "world",
    "borders",
    "customers",
    "subscribers",
    "residents",
    "reasons",
    "purposes",
];

/// Whether a phrase ends before a place.
fn ends(reader: &Reader<'_>, at: usize) -> bool {
    const BEHIND: [&str; 14] =
        ["in", "on", "at", "by", "and", "since", "from", "during", "until", "for", "was", "is", "were", "of"];
    reader.word(at).is_none_or(|word| word.pause != Pause::None || BEHIND.contains(&word.lower.as_str()))
}

fn weekday_at(reader: &Reader<'_>, at: usize) -> Option<i64> {
    reader.word(at).and_then(weekday)
}

/// "In November 2023, since Monday": a day of the week that no day of the claim is.
fn is_since_another_weekday(reader: &Reader<'_>, at: usize, days: &[When]) -> bool {
    let lead = reader.is(at, &["since", "until", "till", "from", "by"]);
    let meant = days.iter().filter(|when| when.is_one_day() || when.span != Span::During);
    let named: Vec<i64> = meant.flat_map(|when| [when.first.weekday(), when.last.weekday()]).collect();
    lead && weekday_at(reader, at + 1).is_some_and(|day| !named.contains(&day))
}

/// Some of the people of a country.
const GROUPS: [&str; 18] = [
    "servants",
    "officials",
    "employees",
    "soldiers",
    "troops",
    "students",
    "pupils",
    "children",
    "kids",
    "minors",
    "teenagers",
    "teens",
    "teachers",
    "lawmakers",
    "inmates",
    "prisoners",
    "foreigners",
    "tourists",
];
/// Places and devices that are not all of a country.
const INSTITUTIONS: [&str; 21] = [
    "office",
    "phone",
    "computer",
    "computers",
    "workplace",
    "devices",
    "phones",
    "school",
    "schools",
    "parliament",
    "university",
    "universities",
    "campus",
    "campuses",
    "offices",
    "prisons",
    "hospitals",
    "libraries",
    "iphone",
    "iphones",
    "android",
];

fn is_rank(reader: &Reader<'_>, at: usize) -> bool {
    let of = reader.is(at + 1, &["country", "nation", "government", "state", "democracy"]);
    // "Ghana followed Senegal in blocking it"
    let after = reader.is(at, &["followed", "follows", "following", "joined", "joins"])
        && reader.word(at + 1).is_some_and(Word::is_capital);
    let after = after && reader.is(at + 2, &["in", "into"]);
    after
        || reader.is(at, &["longest", "largest", "biggest", "worst", "strictest"])
        || of && (reader.is(at, &NTH) || reader.is(at, &["first", "last", "latest"]))
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
    let beside = reader.is(at, &["apart", "aside"]) && reader.is(at + 1, &["from"]);
    (only || beside || nothing_but || the_only || alone || just) && !way
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

    fn said(text: &str) -> Vec<Beyond> {
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
            ("two of four telcos blocked it", Beyond::HowMany(Share::Count { least: 2, most: 2 })),
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
            ("it was down worldwide", Beyond::Elsewhere),
            ("a cable cut disrupted it", Beyond::Cause),
            ("it was blocked because of elections in May 2023", Beyond::Cause),
            ("it was blocked over protests in May 2023", Beyond::Cause),
            ("a court ordered the blocking of it", Beyond::Cause),
            ("it was cut for school exams in May 2023", Beyond::Cause),
            ("it was cut after an earthquake in May 2023", Beyond::Cause),
            ("a coup led to the shutdown in May 2023", Beyond::Cause),
            ("it was cut by a power outage in May 2023", Beyond::Cause),
            ("it was blocked to stop the spread of news", Beyond::Cause),
            ("it was blocked because it spread news", Beyond::Cause),
            ("it was blocked during the 2023 floods", Beyond::Event),
            ("it was blocked after the election of 2023", Beyond::Event),
            ("civil servants are banned from using it", Beyond::Whom),
            ("it is banned on government devices", Beyond::Whom),
            ("under-16s are banned from it", Beyond::Whom),
            ("it was blocked at work in May 2023", Beyond::Whom),
            ("it was blocked for the army in May 2023", Beyond::Whom),
            ("it was blocked in cafes in May 2023", Beyond::Whom),
            ("it was blocked in May 2023, since Monday", Beyond::Hours),
            ("it was blocked on two networks", Beyond::HowMany(Share::Count { least: 2, most: 2 })),
            ("10 Kenyan networks blocked it", Beyond::HowMany(Share::Count { least: 10, most: 10 })),
            ("at least ten networks block it", Beyond::HowMany(Share::Count { least: 10, most: u32::MAX })),
            ("More than twenty ISPs block it", Beyond::HowMany(Share::Count { least: 21, most: u32::MAX })),
            ("Fewer than three networks block it", Beyond::HowMany(Share::Count { least: 0, most: 2 })),
            ("Up to fifteen networks block it", Beyond::HowMany(Share::Count { least: 8, most: 15 })),
            ("99 percent of networks block it", Beyond::HowMany(Share::Other)),
            ("apart from X, it blocks Signal", Beyond::Only),
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
            assert_eq!(said(text).first(), Some(&expected), "{text}");
        }
        for text in [
            "it was blocked in May 2023",
            "it can be reached only with a VPN",
            "not only Kenya blocked it",
            "the Daily Nation was blocked in May 2023",
            "it was blocked for 3 days from 5 to 8 May 2023",
            "it was blocked during exams in May 2023",
            "it was blocked after it deleted a post in May 2023",
            "Telegram only works with a VPN",
            "you can only use it through a VPN",
            "the only way is Tor",
            "on 15 November Kenyan networks blocked it",
            "one activist's network",
            "it was blocked for the public in May 2023",
            "it was blocked for the past week",
            "it was blocked for the first time in 3 years",
            "it has been blocked since Monday",
            "they just blocked Signal",
        ] {
            assert_eq!(said(text), [], "{text}");
        }
    }
}
