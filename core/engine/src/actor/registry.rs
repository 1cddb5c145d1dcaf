//! Every operation and query by kind and name.

use std::collections::BTreeMap;

use super::{Call, Kind, Operation, Query, Turn, View, decode, encode};
use crate::program::Program;
use crate::{Error, Result};

/// How to run one operation or query from its encoded arguments.
pub struct Entry {
    pub kind: Kind,
    pub name: &'static str,
    pub run: Run,
    /// The reply where it is kept and still the right one; computes nothing. For queries that may take long.
    pub kept: Option<KeptReply>,
}

/// Looks up a reply that is kept.
pub type KeptReply = fn(&View<'_>, &Call) -> Option<Vec<u8>>;

impl Entry {
    /// The same with a look at what is kept.
    pub const fn keeping(self, kept: KeptReply) -> Entry {
        Entry { kept: Some(kept), ..self }
    }
}

#[derive(Clone, Copy)]
pub enum Run {
    Operation(fn(&[u8], &mut Turn<'_>) -> Result<Vec<u8>>),
    Query(fn(&[u8], &View<'_>) -> Result<Vec<u8>>),
}

/// The entry of an operation; a module lists its own in a `pub const ENTRIES`.
pub const fn operation<O: Operation>() -> Entry {
    fn run<O: Operation>(arguments: &[u8], turn: &mut Turn<'_>) -> Result<Vec<u8>> {
        encode(&decode::<O>(arguments)?.run(turn)?)
    }
    Entry { kind: O::ACTOR, name: O::NAME, run: Run::Operation(run::<O>), kept: None }
}

/// The entry of a query.
pub const fn query<Q: Query>() -> Entry {
    fn run<Q: Query>(arguments: &[u8], view: &View<'_>) -> Result<Vec<u8>> {
        encode(&decode::<Q>(arguments)?.run(view)?)
    }
    Entry { kind: Q::ACTOR, name: Q::NAME, run: Run::Query(run::<Q>), kept: None }
}

/// Operations and queries by kind and name.
pub(crate) struct Operations(BTreeMap<(Kind, &'static str), &'static Entry>);

impl Operations {
    pub fn of(entries: impl Iterator<Item = &'static Entry>) -> Self {
        Operations(entries.map(|entry| ((entry.kind, entry.name), entry)).collect())
    }

    pub fn find(&self, kind: Kind, name: &str) -> Option<&'static Entry> {
        self.0.get(&(kind, name)).copied()
    }
}

fn find(program: &'static Program, kind: Kind, name: &str) -> Result<Run> {
    let general = || super::rows::ENTRIES.iter().find(|(known, _)| *known == name).map(|(_, run)| *run);
    let entry = program.operations().find(kind, name);
    entry
        .map(|entry| entry.run)
        .or_else(general)
        .ok_or_else(|| Error::internal(format!("no operation {name} on {}", kind.as_str())))
}

/// Runs an operation or query by its name in a turn; the reply is encoded.
pub fn operate(kind: Kind, name: &str, arguments: &[u8], turn: &mut Turn<'_>) -> Result<Vec<u8>> {
    match find(turn.program, kind, name)? {
        Run::Operation(operation) => operation(arguments, turn),
        Run::Query(query) => query(arguments, &turn.view()),
    }
}

/// Runs a query by its name; the reply is encoded.
pub fn ask(kind: Kind, name: &str, arguments: &[u8], view: &View<'_>) -> Result<Vec<u8>> {
    match find(view.program, kind, name)? {
        Run::Query(query) => query(arguments, view),
        Run::Operation(_) => Err(Error::internal(format!("{name} is an operation, not a query"))),
    }
}
