//! The data that forecasts rest on, as the world keeps it: starts of events, elections, measurements by day, reports.

use serde::{Deserialize, Serialize};

use super::history::{Beside, History, MeasuredDay, Start, start};
use super::{reports, store};
use crate::world::{CountrySummary, EventHistory};
use crate::{Error, Result, Timestamp, elections};
use engine::actor::{Kind, Query, Turn, View};
use engine::kv::{Direction, Row, Table};
use facts::sentence::Sentence;
use facts::source::Source;

/// By country code: the last measurements by day, oldest first.
const MEASURED: Table<(String,), Days> = Table::new(47);
/// Days that are kept, at most.
const KEPT_DAYS: u32 = 3 * 366;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Days(Vec<MeasuredDay>);
impl Row for Days {}

/// Keeps the day's measurements from a country's summary.
pub fn note(turn: &mut Turn<'_>, summary: &CountrySummary) -> Result<()> {
    let Ok(day) = u32::try_from(summary.at.day()) else { return Ok(()) };
    let key = (summary.country.clone(),);
    let mut days = MEASURED.get(turn, &key)?.unwrap_or_default().0;
    let blocked = (summary.anomaly_rate.clamp(0.0, 1.0) * 10_000.0).round() as u16;
    let row = MeasuredDay { day, blocked, week: u32::try_from(summary.week).unwrap_or(u32::MAX) };
    if days.last() == Some(&row) || (summary.recent == 0 && days.is_empty()) {
        return Ok(());
    }
    days.retain(|of| of.day < day && day - of.day < KEPT_DAYS);
    days.push(row);
    Ok(MEASURED.put(turn, &key, &Days(days))?)
}

/// Forgets the measurements by day after the removal of a source, since they may rest on it, and so may a model
/// (decision licence-and-removal).
pub fn source_dropped(turn: &mut Turn<'_>) -> Result<()> {
    let rows = MEASURED.scan(turn, &MEASURED.range(), Direction::Ascending, usize::MAX)?;
    if rows.is_empty() {
        return Ok(());
    }
    for (key, _) in rows {
        MEASURED.delete(turn, &key);
    }
    store::forgotten(turn)
}

/// Asks for the starts of every country, and the data in addition to them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadStarts;

impl Query for ReadStarts {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forecast_known";
    type Reply = (Vec<(String, Start)>, Beside);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        // A shutdown that is only announced has not happened.
        let today = day(view.now);
        let marks = EventHistory { country: None }.run(view)?;
        let starts = marks.into_iter().filter_map(|(country, source, mark)| {
            let start = start(source, &mark).filter(|start| start.day <= today)?;
            Some((country, source, start))
        });
        let starts: Vec<(String, u8, Start)> = starts.into_iter().collect();
        let listed = starts.iter().filter(|(_, source, _)| *source == Source::AccessNow.code());
        let beside = Beside {
            listed_until: listed.map(|(.., start)| start.day).max(),
            elections: elections::dates(view)?,
            measured: MEASURED
                .scan(view, &MEASURED.range(), Direction::Ascending, usize::MAX)?
                .into_iter()
                .map(|((code,), days)| (code, days.0))
                .collect(),
            reported: reports::outcomes(view)?,
        };
        Ok((starts.into_iter().map(|(country, _, start)| (country, start)).collect(), beside))
    }
}

/// The history up to now; `None` while there is none to learn from.
pub fn history(view: &View<'_>) -> Result<Option<History>> {
    let (starts, beside) = ReadStarts.run(view)?;
    Ok(History::new(starts, day(view.now)).map(|history| history.with(beside)))
}

/// The history to learn from.
///
/// # Errors
///
/// 400 with the reason, when there is none.
pub fn learnable(turn: &Turn<'_>) -> Result<History> {
    let view = turn.view();
    match history(&view)? {
        Some(history) => Ok(history),
        None => Err(Error::bad_request(unlearned(&view)?.english())),
    }
}

/// The code of the reason that is stated before any start is known.
pub const NO_HISTORY: &str = "forecast.no_history";

/// Why no model has learned from the history, where training gave no reason.
pub fn unlearned(view: &View<'_>) -> Result<Sentence> {
    let (starts, _) = ReadStarts.run(view)?;
    Ok(Sentence::new(match (starts.is_empty(), History::new(starts, day(view.now)).is_some()) {
        (true, _) => NO_HISTORY,
        (_, false) => "forecast.small_history",
        (_, true) => "forecast.not_learned_yet",
    }))
}

/// The day of a moment, since the epoch.
pub fn day(now: Timestamp) -> i32 {
    i32::try_from(now.day()).unwrap_or(i32::MAX)
}
