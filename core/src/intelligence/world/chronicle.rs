//! The measured days of every series, as the countries tell them: late by the publish interval, and read at once.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::engine::actor::{Kind, Operation, Query, Turn, View};
use crate::engine::kv::{Direction, Table};
use crate::intelligence::country::{Days, SeriesDays, TellAllDays};

/// By (series, country).
const CHRONICLE: Table<(String, String), Days> = Table::new(70);

/// A country tells the days of some series that may say something else.
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

/// The days of a series in the countries that told them, in the order of their codes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Chronicle {
    pub target: String,
}

impl Query for Chronicle {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "chronicle";
    type Reply = Vec<(String, Days)>;

    fn run(self, view: &View<'_>) -> Result<Vec<(String, Days)>> {
        let rows = CHRONICLE.scan(view, &CHRONICLE.prefix(&(self.target,)), Direction::Ascending, 300)?;
        Ok(rows.into_iter().map(|((_, country), days)| (country, days)).collect())
    }
}
