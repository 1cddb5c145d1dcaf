//! At what hours and on which days of the week a claim says that it was so, against the schedule of an incident.

use super::*;

/// Hours of a day, from the first to the one after the last; the last lies on the next day where it is no later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    from: i64,
    to: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hours {
    All,
    /// "At night", "from 18:00 to 22:00": in local time, unless it says UTC, as the second tells.
    Of(Clock, bool),
    Weekends,
    Weekdays,
    /// "Nightly reports", "every November": no hours that can be compared.
    Other,
}

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
            Hours::Of(claimed, utc) => {
                let by = if utc { Some(0) } else { incidents::offset(country).map(i64::from) };
                match (by, Clock::read(schedule)) {
                    (Some(by), Some(kept_hours)) => kept(claimed.overlaps(kept_hours, by)),
                    _ => Fit::Untold,
                }
            }
        }
    }
}

impl Clock {
    fn read(schedule: &str) -> Option<Clock> {
        let (from, to) = schedule.strip_suffix(" UTC")?.rsplit(' ').next()?.split_once('-')?;
        Some(Clock { from: from.parse().ok()?, to: to.parse().ok()? })
    }

    /// Its minutes in half-hour steps of a day.
    fn steps(self, by: i64) -> impl Iterator<Item = i64> {
        let length = (self.to - self.from).rem_euclid(24);
        let (first, count) = (self.from * 2 + by / 30, if length == 0 { 1 } else { length * 2 });
        (first..first + count).map(|step| step.rem_euclid(48))
    }

    /// Whether some time of it lies in other hours, which are those of UTC; `by` is what local time is ahead.
    fn overlaps(self, utc: Clock, by: i64) -> bool {
        self.steps(0).any(|step| utc.steps(by).any(|other| other == step))
    }
}

const LISTS: [(&str, Hours); 5] = [
    ("hours.all", Hours::All),
    ("hours.weekends", Hours::Weekends),
    ("hours.weekdays", Hours::Weekdays),
    ("hours.one_day", Hours::Other),
    ("hours.office", Hours::Of(Clock { from: 7, to: 18 }, false)),
];

/// The hours that words at a place say, with how many words they are.
pub fn hours(text: Reader<'_>, at: usize) -> Option<(usize, Hours)> {
    let of = |(list, hours): &(&str, Hours)| Some((text.matches(at, list)?, *hours));
    // Where they are part of a name they begin with a capital.
    let plain = || (!text.capital(at) || text.shouting).then(|| text.matches(at, "hours.often"))?;
    let other = || text.matches(at, "hours.each").or_else(plain).map(|length| (length, Hours::Other));
    LISTS.iter().find_map(of).or_else(|| clock(text, at)).or_else(|| part(text, at)).or_else(other)
}

/// "At night", "in the evenings", "every morning": as most people mean them; and no "last night", which is a date.
fn part(text: Reader<'_>, at: usize) -> Option<(usize, Hours)> {
    let (from, to) = dates::span("hours.parts", text.lower(at))?;
    let plain = !text.capital(at) || text.shouting;
    (plain && text.fits(at, "hours.of_each_day")).then_some((1, Hours::Of(Clock { from, to }, false)))
}

/// "At 18:00", "6pm", "from 18 to 22 o'clock", "04:00-14:00 UTC".
fn clock(text: Reader<'_>, at: usize) -> Option<(usize, Hours)> {
    let (length, from) = time(text, at)?;
    let mut end = at + length;
    let link = text.is(end, "to|and|until|till") || text.joined(end);
    let second = end + usize::from(!text.joined(end));
    let named = || lexicon::value("hours.named", text.lower(second)).and_then(|hour| Some((1, hour.parse().ok()?)));
    let to = link.then(|| time(text, second).or_else(named)).flatten();
    if let Some((more, _)) = to {
        end = second + more;
    }
    let utc = text.is(end, "utc|gmt");
    let span = Clock { from, to: to.map_or((from + 1) % 24, |(_, to)| to) };
    Some((end + usize::from(utc) - at, Hours::Of(span, utc)))
}

fn time(text: Reader<'_>, at: usize) -> Option<(usize, i64)> {
    let lower = text.lower(at);
    let figure = |text: &str, most: i64| text.parse::<i64>().ok().filter(|figure| text.len() <= 2 && *figure <= most);
    let hour = |text: &str| figure(text, 24).map(|hour| hour % 24);
    let parts =
        |by: char| lower.split_once(by).and_then(|(h, m)| hour(h).filter(|_| m.len() == 2 && figure(m, 59).is_some()));
    let half = |hour: i64, evening: i64| hour % 12 + evening;
    let end = |ending: &str| lower.strip_suffix(ending).and_then(hour);
    let dotted = || parts('.').filter(|_| text.was(at, 1, "at"));
    let half_day = end("am").map(|hour| half(hour, 0)).or_else(|| end("pm").map(|hour| half(hour, 12)));
    if let Some(hour) = half_day.or_else(|| parts('h')).or_else(|| end("h")).or_else(dotted) {
        return Some((1, hour));
    }
    let found = hour(lower)?;
    let minutes = text.pause(at + 1) == Pause::Colon && text.lower(at + 1).len() == 2;
    let minutes = usize::from(minutes && figure(text.lower(at + 1), 59).is_some());
    match text.lower(at + 1 + minutes) {
        "am" | "a.m" => Some((2 + minutes, half(found, 0))),
        "pm" | "p.m" => Some((2 + minutes, half(found, 12))),
        "o'clock" | "hrs" => Some((2 + minutes, found)),
        "utc" | "gmt" => Some((1 + minutes, found)),
        _ => (minutes == 1).then_some((2, found)),
    }
}
