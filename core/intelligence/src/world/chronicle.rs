//! The measured days of every series, as the countries report them. They are late by the publish interval, but one read
//! gives all countries.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::country::{MeasuredDays, SeriesDays, TellAllDays};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Table};

/// By (series, country).
const CHRONICLE: Table<(String, String), MeasuredDays> = Table::derived(70);

/// A country reports the days of series whose days may have changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NoteDays {
    pub country: String,
    pub series: Vec<SeriesDays>,
}

impl Operation for NoteDays {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "note_days";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut unknown = Vec::new();
        for SeriesDays { target, from, days } in self.series {
            let key = (target, self.country.clone());
            let known = CHRONICLE.get(turn, &key)?;
            let now = match &known {
                _ if from == 0 => days,
                Some(known) => known.amended(from, &days),
                None => {
                    unknown.push(key.0);
                    continue;
                }
            };
            if known.as_ref() != Some(&now) {
                CHRONICLE.put(turn, &key, &now)?;
            }
        }
        match unknown.is_empty() {
            true => Ok(()),
            false => turn.send(self.country, &TellAllDays { targets: unknown }),
        }
    }
}

pub(super) fn forget(turn: &mut Turn<'_>, target: &str, country: &str) {
    CHRONICLE.delete(turn, &(target.to_owned(), country.to_owned()));
}

/// Reads the days of a series, by country in the order of the codes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Chronicle {
    pub target: String,
}

impl Query for Chronicle {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "chronicle";
    type Reply = Vec<(String, MeasuredDays)>;

    fn run(self, view: &View<'_>) -> Result<Vec<(String, MeasuredDays)>> {
        let rows = CHRONICLE.scan(view, &CHRONICLE.prefix(&(self.target,)), Direction::Ascending, 300)?;
        Ok(rows.into_iter().map(|((_, country), days)| (country, days)).collect())
    }
}
