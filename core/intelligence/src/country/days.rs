//! The measured days of a series, packed. The world keeps them for every series, so the history of a site needs one
//! read. Asking every country would judge all of their measurements again.

use serde::{Deserialize, Serialize};

use super::answer::State;
use super::distinct::Distinct;
use super::evidence::Surroundings;
use super::packed::{read_number, write_number};
use super::refresh;
use super::summary::HistoryDay;
use super::tables::{QUEUE, Since, TARGETS};
use super::timeline;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::Row;
use engine::time::DAY;

/// Days that are kept: as many as a question about history may ask for, and the present day.
pub const KEPT: u32 = 366;

/// Measured days, oldest first. Each day is a sequence of numbers: days since the one before together with the state;
/// measurements together with a flag; and, unless the flag is set, votes and blocked votes. The flag says that every
/// measurement votes and none says blocked; then a day takes two bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredDays(#[serde(with = "engine::kv::bytes")] Vec<u8>);
impl Row for MeasuredDays {}

const STATES: [State; 3] = [State::Unknown, State::Accessible, State::Blocked];

impl FromIterator<HistoryDay> for MeasuredDays {
    fn from_iter<I: IntoIterator<Item = HistoryDay>>(days: I) -> MeasuredDays {
        let (mut bytes, mut before) = (Vec::new(), 0);
        for day in days {
            let state = STATES.iter().position(|state| *state == day.status).unwrap_or_default();
            write_number(&mut bytes, (day.day.saturating_sub(before) as usize) << 2 | state);
            before = day.day;
            let plain = day.blocked == 0 && day.votes == day.measurements;
            write_number(&mut bytes, (day.measurements as usize) << 1 | usize::from(plain));
            if !plain {
                write_number(&mut bytes, day.votes as usize);
                write_number(&mut bytes, day.blocked as usize);
            }
        }
        MeasuredDays(bytes)
    }
}

impl MeasuredDays {
    pub fn iter(&self) -> impl Iterator<Item = HistoryDay> {
        let (mut rest, mut before) = (self.0.as_slice(), 0_u32);
        std::iter::from_fn(move || {
            let mut next = || Some(u32::try_from(read_number(&mut rest)?).unwrap_or(u32::MAX));
            let (head, counts) = (next()?, next()?);
            let measurements = counts >> 1;
            let (votes, blocked) = if counts & 1 == 1 { (measurements, 0) } else { (next()?, next()?) };
            before = before.saturating_add(head >> 2);
            let status = STATES.get(head as usize & 3).copied().unwrap_or(State::Unknown);
            Some(HistoryDay { day: before, measurements, blocked, votes, status })
        })
    }

    /// These days before `from`, followed by the later days, which replace what was known. Days that are too old for
    /// any question are dropped.
    pub fn amended(&self, from: u32, later: &MeasuredDays) -> MeasuredDays {
        let newest = later.iter().chain(self.iter()).map(|day| day.day).max().unwrap_or_default();
        let oldest = newest.saturating_sub(KEPT);
        self.iter().filter(|day| day.day < from && day.day >= oldest).chain(later.iter()).collect()
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The day of a subject with one role.
impl From<timeline::SeriesDay> for HistoryDay {
    fn from(day: timeline::SeriesDay) -> HistoryDay {
        let mut distinct = Distinct::default();
        day.of.identities.iter().for_each(|identity| distinct.insert(*identity));
        HistoryDay {
            day: day.day,
            measurements: u32::try_from(distinct.len()).unwrap_or(u32::MAX),
            blocked: day.of.blocked,
            votes: day.of.votes,
            status: day.verdict.status.into(),
        }
    }
}

/// All measured days of a series from `from` on; all of its days if that is 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesDays {
    pub target: String,
    pub from: u32,
    pub days: MeasuredDays,
}

/// The days of a series from `since` on; `None` if it was not measured on any of them.
pub(super) fn since(
    view: &View<'_>,
    target: &str,
    since: u32,
    surroundings: &Surroundings,
) -> Result<Option<SeriesDays>> {
    let Some(row) = TARGETS.get(view, &(target.to_owned(),))?.filter(|row| row.last_day >= since) else {
        return Ok(None);
    };
    let today = u32::try_from(surroundings.at.day()).unwrap_or(0);
    let oldest = (today + 1).saturating_sub(KEPT);
    let first = since.max(oldest);
    let days = timeline::days(view, target, Timestamp(i64::from(first) * DAY), surroundings)?;
    let from = if since <= row.first_day.max(oldest) { 0 } else { since };
    let days = days.into_iter().map(HistoryDay::from).collect();
    Ok(Some(SeriesDays { target: target.to_owned(), from, days }))
}

/// Queues a series to be judged again, because its days from `from` on may have changed; [`u32::MAX`] if none has.
pub(super) fn queue(turn: &mut Turn<'_>, target: &str, from: u32) -> Result<()> {
    let key = (target.to_owned(),);
    match QUEUE.get(turn, &key)? {
        Some(Since(known)) if known <= from => Ok(()),
        _ => Ok(QUEUE.put(turn, &key, &Since(from))?),
    }
}

/// Queues a target that a list names or names no longer. Where the target is measured, the list may decide what the
/// measurements do not. Returns whether it is measured.
pub(super) fn queue_listed(turn: &mut Turn<'_>, target: &str) -> Result<bool> {
    let is_measured = TARGETS.contains(turn, &(target.to_owned(),))?;
    if is_measured {
        queue(turn, target, u32::MAX)?;
    }
    Ok(is_measured)
}

/// The world knows no earlier days of these targets, as in a store of an earlier version.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TellAllDays {
    pub targets: Vec<String>,
}

impl Operation for TellAllDays {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "tell_all_days";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for target in &self.targets {
            queue(turn, target, 0)?;
        }
        refresh::soon(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: u32, [measurements, votes, blocked]: [u32; 3], status: State) -> HistoryDay {
        HistoryDay { day, measurements, blocked, votes, status }
    }

    #[test]
    fn days_come_out_as_they_went_in_and_most_take_two_bytes() {
        let days = [
            day(20_400, [3, 3, 0], State::Accessible),
            day(20_401, [63, 63, 0], State::Unknown),
            day(20_432, [5, 5, 0], State::Accessible),
            day(20_433, [9, 7, 6], State::Blocked),
            day(20_465, [4_000_000, 0, 0], State::Unknown),
        ];
        let packed: MeasuredDays = days.iter().cloned().collect();
        assert_eq!(packed.iter().collect::<Vec<_>>(), days);
        assert_eq!(packed.as_bytes().len(), 4 + 2 + 2 + 4 + 8);
        assert_eq!(MeasuredDays::default().iter().count(), 0);
        for cut in 0..packed.as_bytes().len() {
            let part = MeasuredDays(packed.as_bytes()[..cut].to_vec());
            let read: Vec<HistoryDay> = part.iter().collect();
            assert!(read.len() < days.len() && days.starts_with(&read), "{cut}");
        }
    }

    #[test]
    fn later_days_take_the_place_of_those_they_speak_of_and_old_ones_go() {
        let plain = |n: u32| day(n, [2, 2, 0], State::Accessible);
        let known: MeasuredDays = [plain(10), plain(300), plain(301), plain(302)].into_iter().collect();
        let told: MeasuredDays = [day(301, [4, 4, 4], State::Blocked), plain(303)].into_iter().collect();
        let expected = [plain(10), plain(300), day(301, [4, 4, 4], State::Blocked), plain(303)];
        assert_eq!(known.amended(301, &told).iter().collect::<Vec<_>>(), expected);
        assert_eq!(known.amended(0, &told), told);
        assert_eq!(known.amended(301, &MeasuredDays::default()).iter().count(), 2, "what is gone is gone");
        let year_later: MeasuredDays = [plain(10 + KEPT + 1)].into_iter().collect();
        assert_eq!(known.amended(500, &year_later).iter().map(|day| day.day).collect::<Vec<_>>(), [300, 301, 302, 377]);
    }
}
