//! Rows of change detection in a country actor.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::world::Elsewhere;
use engine::kv::{Row, Table};
use facts::change::combine::Silence;
use facts::change::merge::BlockingEvent;
use facts::change::series::Block;
use facts::change::volume::Day;

/// Days of a target on which measurements changed.
pub const DIRTY: Table<(String,), Days> = Table::derived(40);
/// A target in blocks of 30 days.
pub const BLOCKS: Table<(String, u32), Block> = Table::derived(41);
/// Spans of a block in which a target was down, or worked, in other countries.
pub const ELSEWHERE: Table<(String, u32), SpansElsewhere> = Table::new(56);
/// What the country asked the world about a target in a block, and what the world asked it.
pub const COMPARED: Table<(String, u32), Compared> = Table::derived(123);
/// Networks that decide nothing in a block (decision failing-elsewhere).
pub const CONTROL: Table<(u32,), Broken> = Table::derived(42);
/// Subjects whose series changed.
pub const SUBJECTS: Table<(String,), ()> = Table::derived(43);
/// Events found by measuring, by subject and start (hours since the epoch).
pub const FOUND: Table<(String, i64), BlockingEvent> = Table::derived(44);
/// What was reported, by event number.
pub const REPORTED: Table<(u64,), ReportedEvent> = Table::derived(45);
pub const WORK: Table<(), ChangeWork> = Table::derived(46);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Days {
    pub first: u32,
    pub last: u32,
}
impl Row for Days {}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpansElsewhere {
    /// Spans in which the target failed in most other countries too: one bit each, the first span in the lowest bit.
    pub out: u128,
    /// Spans in which it worked in other countries within a day, while it failed here.
    pub works: u128,
}
impl Row for SpansElsewhere {
    const VERSION: u8 = 2;
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// The country asks how the target fares elsewhere, because a block is first believed in this block of days if only
    /// measurements of this country count. The value is the newest hour of that, since the epoch.
    pub asks: Option<i64>,
    /// The country asks because failures lack a control, so successes in other countries matter.
    pub lacks_control: bool,
    /// The country asks because a block goes beyond these days: it began in them and is first believed later, or it was
    /// first believed before them and goes on.
    pub reached: bool,
    /// Since when the country waits for the answer.
    pub waits_since: Option<Timestamp>,
    /// Another country asks, so this country counts failures for it.
    pub counts: bool,
    /// The country has not reported these failures yet.
    pub owes: bool,
}
impl Row for Compared {}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken(pub Vec<u32>);
impl Row for Broken {}

/// Work that is to be done, and counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeWork {
    /// Whether what was found must be combined and compared with what was reported.
    pub combine: bool,
    /// When to compare again though nothing changes, because counts wait for their day.
    pub look_again: Option<Timestamp>,
    /// Counts changes of names and weights of networks.
    pub weights: u64,
    /// Last event number given.
    pub last_event: u64,
    /// Days around which silences must be looked for.
    pub volumes: Option<Days>,
    /// When silences were last looked for.
    pub searched: Timestamp,
    /// When to check whether the country has fallen silent, because no measurement will tell.
    pub listen: Option<Timestamp>,
}
impl Row for ChangeWork {}

/// An event as it was last reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedEvent {
    pub subjects: BTreeSet<String>,
    /// Hours since the epoch.
    pub start: i64,
    pub end: i64,
    /// Hash of all that the draft was made from.
    pub inputs: u64,
    /// Hash of the draft without its counts.
    pub shape: u64,
    pub at: Timestamp,
    /// Withdrawn or merged. The number may come back with the same event, but never with another one.
    pub gone: bool,
}
impl Row for ReportedEvent {}

/// Measurements by network and hour; the key is day and source.
pub const VOLUMES: Table<(u32, u8), Volumes> = Table::new(47);
/// The failed measurements among them, in the same form.
pub const FAILED: Table<(u32, u8), Volumes> = Table::new(124);
/// Silences, by source and start (hours since the epoch).
pub const SILENCES: Table<(u8, i64), SilenceRow> = Table::derived(48);
/// Days whose volume changed.
pub const VOLUME_DAYS: Table<(u32,), ()> = Table::derived(49);

/// Counts by hour of each network with measurements, ordered by network (0 = withheld). All share one row, because they
/// are always read together and a fold meets most networks of a country on every day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volumes(pub Vec<(u32, Day)>);
impl Row for Volumes {
    const VERSION: u8 = 2;
}

impl Volumes {
    /// Adds the changes of a network's measurements by hour.
    pub fn add(&mut self, asn: u32, more: &[i64; 24]) {
        let at = match self.0.binary_search_by_key(&asn, |(known, _)| *known) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (asn, Day::default()));
                at
            }
        };
        let counts = self.0.get_mut(at).map(|(_, hours)| hours.iter_mut()).into_iter().flatten();
        for (count, more) in counts.zip(more) {
            *count = u32::try_from((i64::from(*count) + more).max(0)).unwrap_or(u32::MAX);
        }
    }

    /// Counts by hour over all networks.
    pub fn sum(&self) -> Day {
        let mut sum = Day::default();
        for (_, hours) in &self.0 {
            sum.iter_mut().zip(hours).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        }
        sum
    }
}

/// A silence, and what the world says about its source in other countries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SilenceRow {
    pub silence: Silence,
    pub elsewhere: Option<Elsewhere>,
}
impl Row for SilenceRow {
    const VERSION: u8 = 2;
}
