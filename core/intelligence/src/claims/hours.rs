//! At what hours and on which days of the week a claim says that it was so, against the schedule of an incident.

use facts::change::schedule::Schedule;

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
        let Some(schedule) = schedule.and_then(Schedule::parse) else { return Fit::Untold };
        // Where a network was blocked at other times too, a claim of those times is true of it.
        let opposed = if schedule.except.is_empty() { Fit::Opposed } else { Fit::Untold };
        let kept = |fits: bool| if fits { Fit::Agrees } else { opposed };
        let weekdays = schedule.days == Some("weekdays");
        match self {
            Hours::All => opposed,
            Hours::Weekends if weekdays => opposed,
            Hours::Weekdays => kept(weekdays && schedule.except.is_empty()),
            Hours::Weekends | Hours::Other => Fit::Untold,
            Hours::Of(claimed, utc) => {
                let by = if utc { Some(0) } else { incidents::offset(country).map(i64::from) };
                let fits = by.zip(Clock::kept(&schedule)).map(|(by, hours)| claimed.overlaps(hours, by));
                fits.map_or(Fit::Untold, kept)
            }
        }
    }
}

impl Clock {
    fn kept(schedule: &Schedule) -> Option<Clock> {
        schedule.hours.map(|(from, to)| Clock { from: from.into(), to: to.into() })
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

/// The hours that words at a place say, with how many words they are.
pub fn hours(text: Reader<'_>, at: usize) -> Option<(usize, Hours)> {
    let taken = text.take(at, "hours")?;
    let hours = match taken.says {
        "all" => Hours::All,
        "weekends" => Hours::Weekends,
        "weekdays" => Hours::Weekdays,
        "other" => Hours::Other,
        says => {
            let times = taken.all("time");
            let clock = times.first().map(|from| (*from, times.get(1).copied().unwrap_or((from + 1) % 24)));
            let (from, to) = clock.or(taken.pair("part")).or(lexicon::pair(says))?;
            Hours::Of(Clock { from, to }, taken.number("utc").is_some())
        }
    };
    Some((taken.length, hours))
}

/// An hour at a place, with its number of words: "18:00", "6pm", "6 p.m.", "18h30", "at 18.30".
pub fn time(text: Reader<'_>, at: usize) -> Option<(usize, i64)> {
    let lower = text.lower(at);
    let (hour, ending) = lower.split_at(lower.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(lower.len()));
    let hour = dates::digits(hour, 2).filter(|hour| *hour <= 24)? % 24;
    let minutes =
        ending.strip_prefix(['h', '.']).filter(|rest| rest.len() == 2).and_then(|rest| dates::digits(rest, 2));
    let minutes = minutes.is_some_and(|minutes| minutes < 60);
    let (length, half) = match ending {
        "am" | "pm" | "h" => (1, ending),
        _ if minutes && (ending.starts_with('h') || text.was(at, 1, "at")) => (1, ""),
        "" => text.take(at, "hours.time").map(|taken| (taken.length, taken.says))?,
        _ => return None,
    };
    let hour = match half {
        "am" => hour % 12,
        "pm" => hour % 12 + 12,
        _ => hour,
    };
    Some((length, hour))
}
