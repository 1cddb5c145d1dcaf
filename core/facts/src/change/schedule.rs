//! Puts the hours that a block keeps into words.

use std::collections::BTreeMap;

use super::constants::{
    SCHEDULE_DAY, SCHEDULE_HOURS, SCHEDULE_OUTSIDE, SCHEDULE_SHARE, SCHEDULE_VOTES, SCHEDULE_WEEKEND,
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

/// The hours of the day in UTC and the days of the week of blocked votes ("weekdays 04-14 UTC"); `None` if the block
/// keeps no hours. `hours` are those of the blocked networks during the block.
pub fn words(hours: &[HourCount]) -> Option<String> {
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
    let days = if weekdays { "weekdays" } else { "daily" };
    match span(&day) {
        Some((first, length)) => Some(format!("{days} {first:02}-{:02} UTC", (first + length) % 24)),
        None if weekdays => Some("weekdays".to_owned()),
        None => None,
    }
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
/// hour and its length. It may go over midnight.
fn span(day: &[Slot; 24]) -> Option<(usize, usize)> {
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
        return clear.then_some((best, length));
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

    #[test]
    fn hours_and_days_that_a_block_keeps_are_named_and_others_are_not() {
        let office = |hour: i64| weekday(hour) < 5 && (4..14).contains(&hour.rem_euclid(24));
        assert_eq!(words(&hours(office)).as_deref(), Some("weekdays 04-14 UTC"));
        let night = |hour: i64| !(4..21).contains(&hour.rem_euclid(24));
        assert_eq!(words(&hours(night)).as_deref(), Some("daily 21-04 UTC"));
        assert_eq!(words(&hours(|hour| weekday(hour) < 5)).as_deref(), Some("weekdays"));
        let evening = |hour: i64| (18..22).contains(&hour.rem_euclid(24));
        assert_eq!(words(&hours(evening)).as_deref(), Some("daily 18-22 UTC"), "as often at weekends");
        let once = |hour: i64| (19_719 * 24 + 9..19_719 * 24 + 14).contains(&hour);
        assert_eq!(words(&hours(once)), None, "one Thursday");
        assert_eq!(words(&hours(|hour| once(hour) || hour % 70 == 0)), None, "with noise");
        assert_eq!(words(&hours(|_| true)), None);
        assert_eq!(words(&hours(|hour| hour % 3 == 0)), None, "a third of every hour keeps no hours");
        assert_eq!(words(&hours(office)[..6]), None, "too few votes to tell");
    }
}
