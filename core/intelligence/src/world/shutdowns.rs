//! Tells the measured countries that a shutdown table is imported. A country without a row in it had no shutdown, but
//! the country cannot know by itself that there is a table (decision index-with-little-data).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::imports::newest_of;
use crate::country::SetShutdownTable;
use crate::risk::ReadScores;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Query, Turn};
use engine::kv::{Direction, Table};
use engine::time::SECOND;
use facts::source::Source;

/// The newest time in the table that each country was told.
const TOLD: Table<(String,), Timestamp> = Table::new(38);

/// Schedules a check of the table and the countries after the publish interval. Called when one of them changed.
pub(super) fn soon(turn: &mut Turn<'_>) -> Result<()> {
    if turn.scheduled("shutdowns")?.is_some() {
        return Ok(());
    }
    let due = turn.now.plus(i64::from(turn.settings.publish_interval) * SECOND);
    turn.schedule("shutdowns", due, &TellShutdowns)
}

/// Tells every measured country about changes in the table since it was last told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TellShutdowns;

impl Operation for TellShutdowns {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "tell_shutdowns";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let newest = newest_of(&turn.view(), Source::AccessNow)?;
        let told = TOLD.scan(turn, &TOLD.range(), Direction::Ascending, usize::MAX)?;
        let told: BTreeMap<String, Timestamp> =
            told.into_iter().map(|((country,), newest)| (country, newest)).collect();
        for (country, _) in ReadScores.run(&turn.view())? {
            if told.get(&country).copied() == newest {
                continue;
            }
            match newest {
                Some(newest) => TOLD.put(turn, &(country.clone(),), &newest)?,
                None => TOLD.delete(turn, &(country.clone(),)),
            }
            turn.send(country, &SetShutdownTable { newest })?;
        }
        Ok(())
    }
}
