//! Which shape an actor's rows have, and how older ones get the present one (decision schema-versions).
//!
//! One number counts for all kinds. Each actor stores the number it was written with, with the first row of its own,
//! and moves to the present one in the same batch as its first operation: whatever stops that operation undoes the move
//! too, so each migration happens exactly once. Rows without the number are of version 1, from before there was one.
//!
//! Most changes of a shape need no migration: a single row is read in every version that was ever written
//! ([`Row::upgrade`]). A migration is for what one row cannot say by itself. It changes at most what one operation may;
//! more goes on by a timer that it sets. A data file, or a deployment of the edge, is refused as a whole when
//! `deployment/main` is newer: its operation runs at every start.
//!
//! [`Row::upgrade`]: crate::kv::Row::upgrade

use super::{FIRST_OWN_TABLE, Kind, Turn, View};
use crate::kv::{Direction, Range, Read, Table};
use crate::{Error, ErrorCode, Result, roster};

/// The present version. Raise it with a new migration; never change what one does.
pub const VERSION: u64 = 4;

/// The version without a stored number.
const FIRST: u64 = 1;

pub(super) const SCHEMA: Table<(), u64> = Table::new(14);

/// One step from an earlier version.
pub struct Migration {
    /// The version that it leads to.
    pub to: u64,
    pub concerns: fn(Kind) -> bool,
    /// Queries cannot read the rows from before it; until an operation comes by, each runs it on its own view.
    pub shows: bool,
    pub run: fn(&mut Turn<'_>) -> Result<()>,
}

/// Whether the actor had rows, and so a version, at the beginning of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoredSchema {
    Present,
    /// No row of its own so far.
    Nothing,
}

fn stored(view: &(impl Read + ?Sized)) -> Result<Option<u64>> {
    if let Some(version) = SCHEMA.get(view, &())? {
        return if version > VERSION { Err(newer(version)) } else { Ok(Some(version)) };
    }
    let own = Range { start: vec![FIRST_OWN_TABLE], end: None };
    Ok((!view.scan(&own, Direction::Ascending, 1)?.is_empty()).then_some(FIRST))
}

#[cold]
fn newer(version: u64) -> Error {
    let message = format!(
        "This data was written by a newer version of the program (schema {version}; this one knows {VERSION}). Start it \
         with that version."
    );
    // A message to such an actor waits.
    Error::new(ErrorCode::Unavailable, message).retry_after(60)
}

/// Refuses rows of a newer version, and brings older ones to the present one.
pub(super) fn begin(turn: &mut Turn<'_>) -> Result<StoredSchema> {
    match stored(turn)? {
        None => Ok(StoredSchema::Nothing),
        Some(VERSION) => Ok(StoredSchema::Present),
        Some(version) => {
            migrate(turn, version, |_| true)?;
            SCHEMA.put(turn, &(), &VERSION)?;
            Ok(StoredSchema::Present)
        }
    }
}

/// Stores the version beside the first row of an actor's own, and has the actor listed.
pub(super) fn end(turn: &mut Turn<'_>, found: StoredSchema) -> Result<()> {
    if found == StoredSchema::Nothing && turn.touched(|table| table >= FIRST_OWN_TABLE) {
        SCHEMA.put(turn, &(), &VERSION)?;
        roster::enrol(turn)?;
    }
    Ok(())
}

fn migrate(turn: &mut Turn<'_>, from: u64, wanted: impl Fn(&Migration) -> bool) -> Result<()> {
    let program = turn.program;
    // By their versions, whatever layer they are of.
    for version in from + 1..=VERSION {
        for migration in program.migrations(turn.actor().kind) {
            if migration.to == version && wanted(migration) {
                (migration.run)(turn)?;
            }
        }
    }
    Ok(())
}

/// Runs a query on rows as the present version has them.
pub(super) fn shown<T>(view: &View<'_>, query: impl FnOnce(&View<'_>) -> Result<T>) -> Result<T> {
    if !view.program.migrations(view.actor().kind).any(|migration| migration.shows) {
        return query(view);
    }
    match stored(view)? {
        None | Some(VERSION) => query(view),
        Some(version) => {
            let mut turn = Turn::new(view.program, view.actor, view.base, view.now, [0; 32], view.settings);
            migrate(&mut turn, version, |migration| migration.shows)?;
            query(&turn.view())
        }
    }
}
