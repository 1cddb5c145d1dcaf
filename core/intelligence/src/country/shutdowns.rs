//! How much of the last year a country was switched off, for its index. A country knows its own rows of a shutdown
//! table. The world tells it whether a table is imported, because only then no row means no shutdown.

use serde::{Deserialize, Serialize};

use super::past;
use super::refresh;
use super::tables::EVENTS;
use crate::world::index::{LOAD_DAYS, shutdown_load};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::{Direction, Table};
use facts::reported::EventKind;
use facts::sentence::Sentence;
use facts::source::Source;

/// The newest beginning of a shutdown in any country, in the imported table.
const NEWEST: Table<(), Timestamp> = Table::derived(53);
/// Most rows of the table that are read for one country.
const MOST: usize = 20_000;

/// The world tells the country that a shutdown table is imported, or that there is none any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetShutdownTable {
    /// The newest beginning of a shutdown in any country.
    pub newest: Option<Timestamp>,
}

impl Operation for SetShutdownTable {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "set_shutdown_table";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if NEWEST.get(turn, &())? == self.newest {
            return Ok(());
        }
        match self.newest {
            Some(newest) => NEWEST.put(turn, &(), &newest)?,
            None => NEWEST.delete(turn, &()),
        }
        past::changed(turn)?;
        refresh::soon(turn)
    }
}

/// The shutdown load at a time, 0-1, or why there is none. Having no table is not the same as having no shutdown
/// (decision index-with-little-data).
pub(super) fn load(view: &View<'_>, at: Timestamp) -> Result<std::result::Result<f64, Sentence>> {
    let Some(newest) = NEWEST.get(view, &())? else { return Ok(Err(Sentence::new("index.no_table"))) };
    let today = at.day();
    if newest.day() <= today - LOAD_DAYS {
        return Ok(Err(Sentence::new("index.old_table")));
    }
    let mut spans = Vec::new();
    let rows = EVENTS.prefix(&(Source::AccessNow.code(),));
    for (_, told) in EVENTS.scan(view, &rows, Direction::Ascending, MOST)? {
        let event = told.event;
        if event.kind == EventKind::Shutdown {
            // The end is the instant after the last day. A shutdown without an end lasts until its source last spoke of
            // it.
            let last = event.end.or(event.heard).map_or(event.start, |end| Timestamp(end.0 - 1));
            spans.push((event.start.day(), last.max(event.start).day(), event.scope));
        }
    }
    Ok(Ok(shutdown_load(&spans, today)))
}
