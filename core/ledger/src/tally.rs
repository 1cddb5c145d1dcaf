//! Counts of each agent's past, and of the whole market. A counter changes in the operation that changes what it
//! counts, so it is current at every read.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::book::{Books, key, plus};
use super::rows::{Micro, Name};
use crate::{Result, Timestamp};
use engine::kv::{Row, Table};

/// The past of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTally {
    pub provided: SideCounts,
    pub requested: SideCounts,
    pub rating_sum: u64,
    pub rating_count: u64,
    pub listings: u64,
    pub active_listings: u64,
    pub first_listed: Option<Timestamp>,
    pub last_listed: Option<Timestamp>,
}
impl Row for AgentTally {}

/// Counts of the hires on one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideCounts {
    pub hires: u64,
    pub completed: u64,
    pub disputed: u64,
    pub expired: u64,
    /// Sum of the prices of completed hires.
    pub value: Micro,
}

impl SideCounts {
    /// Number of hires that are neither completed, disputed nor expired.
    pub fn in_flight(&self) -> u64 {
        self.hires.saturating_sub(self.completed + self.disputed + self.expired)
    }

    /// Share of completed hires among those that ended, 0 to 1; 1 when none has ended.
    pub fn completion_rate(&self) -> f64 {
        match self.completed + self.disputed + self.expired {
            0 => 1.0,
            ended => self.completed as f64 / ended as f64,
        }
    }
}

/// The market as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Market {
    pub listings: u64,
    pub active_listings: u64,
    /// Agents that have listed something.
    pub providers: u64,
    pub hires: SideCounts,
}

pub const TALLIES: Table<(Name,), AgentTally> = Table::new(49);

pub fn of(books: &Books<'_>, name: &str) -> Result<AgentTally> {
    Ok(TALLIES.get(books.space, &key(name))?.unwrap_or_default())
}

/// Changes the past of an agent.
pub fn change(books: &mut Books<'_>, name: &str, change: impl FnOnce(&mut AgentTally)) -> Result<AgentTally> {
    let mut tally = of(books, name)?;
    change(&mut tally);
    TALLIES.put(books.space, &key(name), &tally)?;
    Ok(tally)
}

/// Most entries of a [`Top`].
const PLACES: usize = 100;

/// The entries with the highest counts, highest first (decision offer-index). Counts only grow, so an entry joins them
/// only by a change of its own count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Top<T>(pub Vec<(u64, T)>);
impl<T: Serialize + DeserializeOwned> Row for Top<T> {}

impl<T: PartialEq> Top<T> {
    /// Adds a new count. Returns whether it is among the highest.
    fn raise(&mut self, who: T, count: u64) -> bool {
        let Top(all) = self;
        all.retain(|(_, other)| *other != who);
        let place = all.partition_point(|(other, _)| *other >= count);
        all.insert(place, (count, who));
        all.truncate(PLACES);
        place < PLACES
    }
}

/// Puts a count that grew in its place among the highest.
pub fn rank<T>(books: &mut Books<'_>, table: &Table<(), Top<T>>, who: T, count: u64) -> Result<()>
where
    T: PartialEq + Serialize + DeserializeOwned,
{
    let mut top = table.get(books.space, &())?.unwrap_or(Top(Vec::new()));
    if count > 0 && top.raise(who, count) {
        table.put(books.space, &(), &top)?;
    }
    Ok(())
}

/// How a hire ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Completed(Micro),
    Disputed,
    Expired,
}

impl SideCounts {
    pub fn end(&mut self, ending: Ending) {
        match ending {
            Ending::Completed(price) => {
                self.completed += 1;
                self.value = plus_capped(self.value, price);
            }
            Ending::Disputed => self.disputed += 1,
            Ending::Expired => self.expired += 1,
        }
    }
}

/// Adds two sums. The same credit is spent many times, so these sums are not bounded by the supply; they stop at the
/// largest number that JavaScript counts exactly.
fn plus_capped(a: Micro, b: Micro) -> Micro {
    plus(a, b).unwrap_or(super::book::MAX_SUPPLY)
}

/// The mean rating with two decimals; `None` when nobody rated.
pub fn rating(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| (sum as f64 / count as f64 * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn x1_hires_in_flight_are_in_no_rate_and_without_an_end_the_rate_is_one() {
        assert_eq!(SideCounts::default().completion_rate(), 1.0);
        let side = SideCounts { hires: 15, completed: 10, ..SideCounts::default() };
        assert_eq!((side.completion_rate(), side.in_flight()), (1.0, 5));
        let side = SideCounts { hires: 4, completed: 1, disputed: 1, expired: 2, value: 0 };
        assert_eq!((side.completion_rate(), side.in_flight()), (0.25, 0));
        assert_eq!((rating(0, 0), rating(14, 3)), (None, Some(4.67)));
    }

    /// Decision offer-index: the table has the hundred highest counts, in whatever order counts grow.
    #[test]
    fn the_top_table_is_that_of_all_counts() {
        let (mut top, mut counts) = (Top(Vec::new()), vec![0_u64; 300]);
        let mut state = 5_u32;
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let who = (state >> 8) as usize % counts.len();
            counts[who] += u64::from(state >> 28);
            if counts[who] > 0 {
                top.raise(who, counts[who]);
            }
            assert!(top.0.len() <= PLACES && top.0.is_sorted_by_key(|(count, _)| std::cmp::Reverse(*count)));
        }
        assert!(top.0.iter().all(|(count, who)| counts[*who] == *count));
        counts.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(top.0.iter().map(|(count, _)| *count).collect::<Vec<_>>(), counts[..PLACES]);
    }
}
