//! The hours that a block keeps, found in the votes of its networks and put into words.

use std::collections::BTreeMap;
use std::fmt;

use super::constants::{
    SCHEDULE_BROKEN, SCHEDULE_DAY, SCHEDULE_HOURS, SCHEDULE_OUTSIDE, SCHEDULE_SHARE, SCHEDULE_VOTES, SCHEDULE_WEEKEND,
};
use super::series::HourCount;

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    blocked: u32,
    clear: u32,
}

impl Slot {
    fn add(&mut self, other: Slot) {
        self.blocked += other.blocked;
        self.clear += other.clear;
    }

    fn votes(&self) -> u32 {
        self.blocked + self.clear
    }

    fn share(&self) -> f64 {
        f64::from(self.blocked) / f64::from(self.votes().max(1))
    }
}

/// Saturday and Sunday are 5 and 6: the epoch was a Thursday.
fn weekday(hour: i64) -> i64 {
    (hour.div_euclid(24) + 3).rem_euclid(7)
}

/// The days of a week and hours of a day that a block keeps. Its words are "weekdays 04-14 UTC", "daily 21-04 UTC" or
/// "weekdays", with "except AS12455, AS37061" behind them for networks that were blocked at other times too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// `weekdays` or `daily`; `None` if nothing is said of days.
    pub days: Option<&'static str>,
    /// The first hour, 0-23, and the one after the last, in UTC. It may go over midnight.
    pub hours: Option<(u8, u8)>,
    /// Networks that were blocked at other times too, by AS number.
    pub except: Vec<u32>,
}

impl fmt::Display for Schedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.hours.map(|(from, to)| format!("{from:02}-{to:02} UTC"));
        let kept: Vec<&str> = self.days.into_iter().chain(hours.as_deref()).collect();
        out.write_str(&kept.join(" "))?;
        let except: Vec<String> = self.except.iter().map(|asn| format!("AS{asn}")).collect();
        if except.is_empty() { Ok(()) } else { write!(out, "{EXCEPT}{}", except.join(", ")) }
    }
}

const EXCEPT: &str = " except ";

impl Schedule {
    /// The schedule in its words; `None` where they have another form.
    pub fn parse(words: &str) -> Option<Schedule> {
        let (kept, except) = words.split_once(EXCEPT).unwrap_or((words, ""));
        let except = except.split(", ").filter(|name| !name.is_empty());
        let except: Option<Vec<u32>> = except.map(|name| name.strip_prefix("AS")?.parse().ok()).collect();
        let (days, hours) = match kept.split_once(' ') {
            Some(("weekdays", hours)) => (Some("weekdays"), hours),
            Some(("daily", hours)) => (Some("daily"), hours),
            None if kept == "weekdays" => (Some("weekdays"), ""),
            _ => (None, kept),
        };
        let hour = |text: &str| text.parse::<u8>().ok().filter(|hour| text.len() == 2 && *hour <= 24);
        let hours = match hours {
            "" => None,
            hours => {
                let (from, to) = hours.strip_suffix(" UTC")?.split_once('-')?;
                Some((hour(from)?, hour(to)?))
            }
        };
        let says = days.is_some() || hours.is_some();
        says.then_some(Schedule { days, hours, except: except? })
    }

    fn contains(&self, hour: i64) -> bool {
        let of_day = hour.rem_euclid(24);
        let within = self.hours.is_none_or(|(from, to)| {
            (of_day - i64::from(from)).rem_euclid(24) < (i64::from(to) - i64::from(from)).rem_euclid(24)
        });
        within && (self.days != Some("weekdays") || weekday(hour) < 5)
    }

    /// Whether a network was blocked at other times too.
    fn is_broken(&self, hours: &[HourCount]) -> bool {
        let mut outside = Slot::default();
        for count in hours.iter().filter(|count| !self.contains(count.hour)) {
            outside.add(Slot { blocked: count.blocked, clear: count.clear });
        }
        outside.blocked >= SCHEDULE_BROKEN && outside.share() > SCHEDULE_OUTSIDE
    }
}

/// The schedule of a block, of the votes of each blocked network during the block; `None` if the block keeps none, or if
/// half of the networks do not keep it.
pub fn kept(networks: &BTreeMap<u32, Vec<HourCount>>) -> Option<Schedule> {
    let together = |chosen: &dyn Fn(&[HourCount]) -> bool| {
        found(&networks.values().filter(|hours| chosen(hours)).flatten().copied().collect::<Vec<_>>())
    };
    // A network that is blocked at all hours hides what the others keep. Where no network has enough votes to show a
    // schedule, all of them together may.
    let shows = |hours: &[HourCount]| found(hours).is_some();
    let any = networks.values().any(|hours| shows(hours));
    let shown = together(&|hours| !any || shows(hours))?;
    let mut schedule = together(&|hours| !shown.is_broken(hours)).unwrap_or(shown);
    let broken = networks.iter().filter(|(_, hours)| schedule.is_broken(hours));
    schedule.except = broken.map(|(asn, _)| *asn).collect();
    (schedule.except.len() * 2 < networks.len()).then_some(schedule)
}

/// The days and hours that votes keep, of whatever network.
fn found(hours: &[HourCount]) -> Option<Schedule> {
    if !comes_back(hours) {
        return None;
    }
    let mut day = [Slot::default(); 24];
    let (mut week, mut weekend) = (Slot::default(), Slot::default());
    for count in hours {
        let slot = Slot { blocked: count.blocked, clear: count.clear };
        if let Some(total) = usize::try_from(count.hour.rem_euclid(24)).ok().and_then(|hour| day.get_mut(hour)) {
            total.add(slot);
        }
        if weekday(count.hour) >= 5 { weekend.add(slot) } else { week.add(slot) }
    }
    // A block of few hours a day has few blocked votes on any day, so weekends are compared with weekdays.
    let fewer = weekend.share() <= SCHEDULE_OUTSIDE.min(SCHEDULE_WEEKEND * week.share());
    let weekdays = weekend.votes() >= SCHEDULE_VOTES && fewer && week.blocked > 0;
    if weekdays {
        // Only weekdays count for the hours of a block that keeps to weekdays.
        day = [Slot::default(); 24];
        for count in hours.iter().filter(|count| weekday(count.hour) < 5) {
            if let Some(total) = usize::try_from(count.hour.rem_euclid(24)).ok().and_then(|hour| day.get_mut(hour)) {
                total.add(Slot { blocked: count.blocked, clear: count.clear });
            }
        }
    }
    let days = Some(if weekdays { "weekdays" } else { "daily" });
    let hours = span(&day);
    (weekdays || hours.is_some()).then(|| Schedule { days, hours, except: Vec::new() })
}

/// True if the blocked votes are of several days: one day makes no schedule.
fn comes_back(hours: &[HourCount]) -> bool {
    let mut days: BTreeMap<i64, u32> = BTreeMap::new();
    for count in hours {
        *days.entry(count.hour.div_euclid(24)).or_default() += count.blocked;
    }
    let (all, most) = (days.values().sum::<u32>(), days.values().max().copied().unwrap_or(0));
    f64::from(most) <= SCHEDULE_DAY * f64::from(all) && all > 0
}

/// The shortest run of hours that holds nearly all blocked votes, if few votes outside of it are blocked: its first
/// hour and the one after it, of the day. It may go over midnight.
fn span(day: &[Slot; 24]) -> Option<(u8, u8)> {
    let blocked: u32 = day.iter().map(|slot| slot.blocked).sum();
    if blocked < SCHEDULE_VOTES {
        return None;
    }
    for length in 1..=SCHEDULE_HOURS {
        let run = |first: usize| day.iter().cycle().skip(first).take(length);
        let best = (0..24)
            .max_by_key(|first| (run(*first).map(|slot| slot.blocked).sum::<u32>(), std::cmp::Reverse(*first)))?;
        let inside: u32 = run(best).map(|slot| slot.blocked).sum();
        if f64::from(inside) < SCHEDULE_SHARE * f64::from(blocked) {
            continue;
        }
        let (best, length) = widen(day, best, length);
        let mut outside = Slot::default();
        day.iter().cycle().skip(best + length).take(24 - length).for_each(|slot| outside.add(*slot));
        let clear = outside.votes() >= SCHEDULE_VOTES && outside.share() <= SCHEDULE_OUTSIDE;
        let hour = |of_day: usize| u8::try_from(of_day % 24).ok();
        return clear.then_some((hour(best)?, hour(best + length)?));
    }
    None
}

/// Adds the hours at both ends in which at least half of the votes are blocked.
fn widen(day: &[Slot; 24], mut first: usize, mut length: usize) -> (usize, usize) {
    let mostly = |hour: usize| day.get(hour % 24).is_some_and(|slot| slot.blocked > 0 && slot.share() >= 0.5);
    while length < 24 && mostly(first + length) {
        length += 1;
    }
    while length < 24 && mostly(first + 23) {
        first = (first + 23) % 24;
        length += 1;
    }
    (first, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(blocked: impl Fn(i64) -> bool) -> Vec<HourCount> {
        // 19,716 days after the epoch is Monday 2023-12-25.
        let start = 19_716 * 24;
        (start..start + 14 * 24)
            .map(|hour| HourCount {
                hour,
                blocked: u32::from(blocked(hour)),
                clear: u32::from(!blocked(hour)),
                fails: 0,
            })
            .collect()
    }

    fn words(hours: Vec<HourCount>) -> Option<String> {
        kept(&BTreeMap::from([(1, hours)])).map(|schedule| schedule.to_string())
    }

    #[test]
    fn hours_and_days_that_a_block_keeps_are_named_and_others_are_not() {
        let office = |hour: i64| weekday(hour) < 5 && (4..14).contains(&hour.rem_euclid(24));
        assert_eq!(words(hours(office)).as_deref(), Some("weekdays 04-14 UTC"));
        let night = |hour: i64| !(4..21).contains(&hour.rem_euclid(24));
        assert_eq!(words(hours(night)).as_deref(), Some("daily 21-04 UTC"));
        assert_eq!(words(hours(|hour| weekday(hour) < 5)).as_deref(), Some("weekdays"));
        let evening = |hour: i64| (18..22).contains(&hour.rem_euclid(24));
        assert_eq!(words(hours(evening)).as_deref(), Some("daily 18-22 UTC"), "as often at weekends");
        let once = |hour: i64| (19_719 * 24 + 9..19_719 * 24 + 14).contains(&hour);
        assert_eq!(words(hours(once)), None, "one Thursday");
        assert_eq!(words(hours(|hour| once(hour) || hour % 70 == 0)), None, "with noise");
        assert_eq!(words(hours(|_| true)), None);
        assert_eq!(words(hours(|hour| hour % 3 == 0)), None, "a third of every hour keeps no hours");
        assert_eq!(words(hours(office)[..6].to_vec()), None, "too few votes to tell");
    }

    #[test]
    fn a_network_that_is_blocked_at_other_times_too_is_an_exception_and_does_not_hide_what_the_others_keep() {
        let office = |hour: i64| weekday(hour) < 5 && (4..14).contains(&hour.rem_euclid(24));
        let of = |networks: &[Vec<HourCount>]| kept(&(1..).zip(networks.iter().cloned()).collect());
        let words = |networks: &[Vec<HourCount>]| of(networks).map(|schedule| schedule.to_string());
        let (office, always, morning) = (hours(office), hours(|_| true), hours(office)[4..8].to_vec());
        let three = [office.clone(), always.clone(), office.clone()];
        assert_eq!(words(&three).as_deref(), Some("weekdays 04-14 UTC except AS2"));
        assert_eq!(words(&[office.clone(), morning.clone()]).as_deref(), Some("weekdays 04-14 UTC"), "few votes");
        assert_eq!(words(&[office.clone(), always.clone()]), None, "half of them do not keep it");
        let five = [vec![always; 2], vec![office; 2], vec![morning]].concat();
        assert_eq!(words(&five).as_deref(), Some("weekdays 04-14 UTC except AS1, AS2"));
        // Three networks with a vote every few hours show together what none of them shows alone.
        let night = hours(|hour| !(4..21).contains(&hour.rem_euclid(24)));
        let every = |n: usize| night.iter().skip(n).step_by(13).copied().collect::<Vec<_>>();
        assert!((0..3).all(|n| words(&[every(n)]).is_none()));
        assert_eq!(words(&[every(0), every(4), every(8)]).as_deref(), Some("daily 21-04 UTC"));
    }

    #[test]
    fn words_of_a_schedule_are_read_as_they_were_written_and_other_words_are_not() {
        for words in [
            "weekdays 04-14 UTC",
            "daily 21-04 UTC",
            "04-14 UTC",
            "weekdays",
            "weekdays except AS1",
            "daily 21-04 UTC except AS1, AS22",
        ] {
            assert_eq!(Schedule::parse(words).map(|schedule| schedule.to_string()).as_deref(), Some(words));
        }
        let others =
            ["", "daily", "in the mornings", "weekdays 04-x UTC", "4-14 UTC", "04-25 UTC", "weekdays except 1"];
        for words in others {
            assert_eq!(Schedule::parse(words), None, "{words}");
        }
    }
}
