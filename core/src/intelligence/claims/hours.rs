//! At what hours and on which days of the week a claim says that it was so, against the schedule of an incident.

use super::dates::Reader;
use super::length::is_of_each_day;
use super::reach::Fit;
use super::relative::{weekday, weekdays};
use super::words::Pause;
use crate::intelligence::incidents;

/// Hours of a day, from the first to the one after the last; the last lies on the next day where it is no later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    from: i32,
    to: i32,
}

/// When it is said to have been so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hours {
    /// "Around the clock".
    All,
    /// "At night", "from 18:00 to 22:00": in local time, unless it says UTC.
    Of(Span, Zone),
    Weekends,
    Weekdays,
    /// "Nightly reports", "every November": no hours that can be compared.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    Local,
    Utc,
}

/// Parts of the day as most people mean them. Our choice.
const PARTS: [(&str, i32, i32); 18] = [
    ("night", 19, 6),
    ("nights", 19, 6),
    ("nightly", 19, 6),
    ("nighttime", 19, 6),
    ("overnight", 19, 6),
    ("midnight", 23, 1),
    ("dawn", 4, 7),
    ("morning", 5, 12),
    ("mornings", 5, 12),
    ("noon", 11, 13),
    ("midday", 11, 13),
    ("afternoon", 12, 18),
    ("afternoons", 12, 18),
    ("dusk", 17, 20),
    ("evening", 17, 23),
    ("evenings", 17, 23),
    ("daytime", 7, 19),
    ("lunchtime", 11, 14),
];

impl Hours {
    /// What the schedule of an incident says to it; a country that keeps several clocks tells nothing of local hours.
    pub fn fit(self, schedule: Option<&str>, country: &str) -> Fit {
        let Some(schedule) = schedule else { return Fit::Untold };
        let kept = |fits: bool| if fits { Fit::Agrees } else { Fit::Opposed };
        let weekdays = schedule.starts_with("weekdays");
        match self {
            Hours::All => Fit::Opposed,
            Hours::Weekends if weekdays => Fit::Opposed,
            Hours::Weekdays => kept(weekdays),
            Hours::Weekends | Hours::Other => Fit::Untold,
            Hours::Of(claimed, zone) => {
                let by = if zone == Zone::Utc { Some(0) } else { incidents::offset(country) };
                match (by, Span::read(schedule)) {
                    (Some(by), Some(kept_hours)) => kept(claimed.overlaps(kept_hours, by)),
                    _ => Fit::Untold,
                }
            }
        }
    }
}

impl Span {
    /// The hours of "weekdays 04-14 UTC".
    fn read(schedule: &str) -> Option<Span> {
        let (from, to) = schedule.strip_suffix(" UTC")?.rsplit(' ').next()?.split_once('-')?;
        Some(Span { from: from.parse().ok()?, to: to.parse().ok()? })
    }

    /// Its minutes in half-hour steps of a day.
    fn steps(self, by: i32) -> impl Iterator<Item = i32> {
        let length = (self.to - self.from).rem_euclid(24);
        let (first, count) = (self.from * 2 + by / 30, if length == 0 { 1 } else { length * 2 });
        (first..first + count).map(|step| step.rem_euclid(48))
    }

    /// Whether some time of it lies in other hours, which are those of UTC; `by` is what local time is ahead.
    fn overlaps(self, utc: Span, by: i32) -> bool {
        self.steps(0).any(|step| utc.steps(by).any(|other| other == step))
    }
}

/// The hours that words at a place say, with how many words they are.
pub fn hours(reader: &Reader<'_>, at: usize) -> Option<(usize, Hours)> {
    if let Some(length) = all_hours(reader, at) {
        return Some((length, Hours::All));
    }
    let plain = reader.word(at).is_some_and(|word| !word.is_capital() || reader.shouting);
    match reader.lower(at) {
        "weekend" | "weekends" => return Some((1, Hours::Weekends)),
        "weekday" | "weekdays" | "workdays" => return Some((1, Hours::Weekdays)),
        _ if let Some(day) = reader.read(at, weekdays) => {
            return Some((1, if day < 5 { Hours::Other } else { Hours::Weekends }));
        }
        "office" | "working" | "business" | "school" if reader.is(at + 1, &["hours"]) => {
            return Some((2, Hours::Of(Span { from: 7, to: 18 }, Zone::Local)));
        }
        _ => {}
    }
    clock(reader, at).or_else(|| part(reader, at)).or_else(|| {
        let each = reader.is(at, &["every", "each"])
            && (reader.is(at + 1, &SPANS) || reader.month(at + 1).is_some() || reader.read(at + 1, weekday).is_some());
        let daily = reader.is(at, &["hour", "hours"]) && is_of_each_day(reader, at + 1);
        let other = plain && reader.is(at, &OTHER);
        (each || daily || other).then_some((if each || daily { 2 } else { 1 }, Hours::Other))
    })
}

/// What "every" makes a time that comes back.
const SPANS: [&str; 7] = ["hour", "day", "week", "month", "year", "single", "few"];
/// Where they are part of a name they begin with a capital.
const OTHER: [&str; 5] = ["daily", "hourly", "intermittently", "sporadically", "repeatedly"];

/// "Around the clock", "24 hours a day".
fn all_hours(reader: &Reader<'_>, at: usize) -> Option<usize> {
    let next = |list: &[&str]| reader.is(at + 1, list);
    let found = [
        (3, reader.is(at, &["around", "round"]) && next(&["the"]) && reader.is(at + 2, &["clock"])),
        (2, reader.is(at, &["24"]) && next(&["7"])),
        (4, reader.is(at, &["24"]) && next(&["hours"]) && is_of_each_day(reader, at + 2)),
        (3, reader.is(at, &["day"]) && next(&["and"]) && reader.is(at + 2, &["night"])),
        (3, reader.is(at, &["at"]) && next(&["all"]) && reader.is(at + 2, &["hours", "times"])),
        (1, reader.is(at, &["constantly", "continuously", "nonstop", "permanently"])),
    ];
    found.into_iter().find(|(_, is)| *is).map(|(length, _)| length)
}

/// "At night", "in the evenings", "every morning"; and no "last night", which is a date.
fn part(reader: &Reader<'_>, at: usize) -> Option<(usize, Hours)> {
    let (_, from, to) = PARTS.iter().find(|(name, ..)| *name == reader.lower(at))?;
    let plain = reader.word(at).is_some_and(|word| !word.is_capital()) || reader.shouting;
    let several = reader.lower(at).ends_with('s') || matches!(reader.lower(at), "nightly" | "overnight");
    let the = usize::from(reader.before(at, 1) == "the");
    let led = matches!(reader.before(at, 1 + the), "at" | "every" | "each" | "during" | "by" | "after" | "until")
        || the == 1 && reader.before(at, 2) == "in";
    // "On the evening of 3 June" is of one day, whose hours no schedule tells.
    let dated = reader.is(at + 1, &["of"]);
    (plain && (several || led) && !dated).then_some((1, Hours::Of(Span { from: *from, to: *to }, Zone::Local)))
}

/// "At 18:00", "6pm", "from 18 to 22 o'clock", "04:00-14:00 UTC".
fn clock(reader: &Reader<'_>, at: usize) -> Option<(usize, Hours)> {
    let (length, from) = time(reader, at)?;
    let mut end = at + length;
    let link = reader.is(end, &["to", "and", "until", "till"]) || reader.joined(end);
    let second = end + usize::from(!reader.joined(end));
    let named = |at: usize| match reader.lower(at) {
        "midnight" => Some((1, 0)),
        "noon" | "midday" => Some((1, 12)),
        _ => None,
    };
    let to = link.then(|| time(reader, second).or_else(|| named(second))).flatten();
    if let Some((more, _)) = to {
        end = second + more;
    }
    let utc = reader.is(end, &["utc", "gmt"]);
    let zone = if utc { Zone::Utc } else { Zone::Local };
    let span = Span { from, to: to.map_or((from + 1) % 24, |(_, to)| to) };
    Some((end + usize::from(utc) - at, Hours::Of(span, zone)))
}

/// A time of the day, its hour.
fn time(reader: &Reader<'_>, at: usize) -> Option<(usize, i32)> {
    let lower = |at: usize| reader.lower(at);
    let figure = |text: &str, most: i32| text.parse::<i32>().ok().filter(|figure| text.len() <= 2 && *figure <= most);
    let hour = |text: &str| figure(text, 24).map(|hour| hour % 24);
    let parts = |text: &str, by: char| {
        text.split_once(by).and_then(|(h, m)| hour(h).filter(|_| m.len() == 2 && figure(m, 59).is_some()))
    };
    let half = |hour: i32, evening: bool| if evening { hour % 12 + 12 } else { hour % 12 };
    let end = |ending: &str| lower(at).strip_suffix(ending).and_then(hour);
    if let Some(hour) = end("am").map(|hour| half(hour, false)).or_else(|| end("pm").map(|hour| half(hour, true))) {
        return Some((1, hour));
    }
    if let Some(found) = parts(lower(at), 'h').or_else(|| end("h")) {
        return Some((1, found));
    }
    if let Some(found) = parts(lower(at), '.').filter(|_| reader.before(at, 1) == "at") {
        return Some((1, found));
    }
    let found = hour(lower(at))?;
    let colon = reader.word(at + 1).is_some_and(|next| next.pause == Pause::Colon && next.text.len() == 2);
    let minutes = usize::from(colon && figure(lower(at + 1), 59).is_some());
    let behind = at + 1 + minutes;
    match lower(behind) {
        "am" | "a.m" => Some((2 + minutes, half(found, false))),
        "pm" | "p.m" => Some((2 + minutes, half(found, true))),
        "o'clock" | "hrs" => Some((2 + minutes, found)),
        "utc" | "gmt" => Some((1 + minutes, found)),
        _ => (minutes == 1).then_some((2, found)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    #[test]
    fn claimed_hours_are_compared_with_a_schedule() {
        let kept = Some("weekdays 04-14 UTC");
        for (text, country, fit) in [
            ("blocked at night", "KE", Fit::Opposed),
            ("blocked in the evenings", "KE", Fit::Opposed),
            ("blocked every morning", "KE", Fit::Agrees),
            ("blocked from 7:00 to 17:00", "KE", Fit::Agrees),
            ("blocked from 6pm to 10pm", "KE", Fit::Opposed),
            ("blocked from 6pm to midnight", "KE", Fit::Opposed),
            ("blocked from 9am until noon", "KE", Fit::Agrees),
            ("blocked from 04:00 to 06:00 UTC", "RU", Fit::Agrees),
            ("blocked from 15:00 to 20:00 UTC", "RU", Fit::Opposed),
            ("blocked at night", "RU", Fit::Untold),
            ("blocked only at weekends", "KE", Fit::Opposed),
            ("blocked on weekdays", "KE", Fit::Agrees),
            ("blocked on Saturdays", "KE", Fit::Opposed),
            ("blocked around the clock", "KE", Fit::Opposed),
            ("blocked 24/7", "KE", Fit::Opposed),
            ("blocked during office hours", "KE", Fit::Agrees),
        ] {
            let words = split(text);
            let reader = Reader { words: &words, shouting: false };
            let found = (0..words.len()).find_map(|at| hours(&reader, at)).unwrap_or_else(|| panic!("{text}")).1;
            assert_eq!(found.fit(kept, country), fit, "{text}");
            assert_eq!(found.fit(None, country), Fit::Untold, "{text}");
        }
        for text in ["last night", "on the evening of 3 June", "the Daily Nation", "40 networks", "in 2023"] {
            let words = split(text);
            let reader = Reader { words: &words, shouting: false };
            assert_eq!((0..words.len()).find_map(|at| hours(&reader, at)), None, "{text}");
        }
    }
}
