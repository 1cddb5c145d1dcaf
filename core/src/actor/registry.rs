//! Every operation and query by kind and name.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::{Kind, Operation, Query, Turn, View, decode, encode};
use crate::{Error, Result, order};

/// How to run one operation or query from its encoded arguments.
pub struct Entry {
    pub kind: Kind,
    pub name: &'static str,
    pub run: Run,
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
    Entry { kind: O::ACTOR, name: O::NAME, run: Run::Operation(run::<O>) }
}

/// The entry of a query.
pub const fn query<Q: Query>() -> Entry {
    fn run<Q: Query>(arguments: &[u8], view: &View<'_>) -> Result<Vec<u8>> {
        encode(&decode::<Q>(arguments)?.run(view)?)
    }
    Entry { kind: Q::ACTOR, name: Q::NAME, run: Run::Query(run::<Q>) }
}

/// The modules that define operations.
const MODULES: &[&[Entry]] = &[
    crate::agent::record::ENTRIES,
    crate::agent::create::ENTRIES,
    crate::agent::rotate::ENTRIES,
    crate::agent::access::ENTRIES,
    crate::agent::keyed::ENTRIES,
    crate::agent::waiting::ENTRIES,
    crate::agent::proof::ENTRIES,
    crate::agent::prekeys::ENTRIES,
    crate::agent::username::ENTRIES,
    crate::agent::listing::ENTRIES,
    crate::agent::reseal::ENTRIES,
    crate::agent::usage::ENTRIES,
    crate::agent::activity::ENTRIES,
    crate::agent::export::ENTRIES,
    crate::agent::moderation::ENTRIES,
    crate::agent::idempotency::ENTRIES,
    crate::agent::mailbox::ENTRIES,
    crate::agent::pins::ENTRIES,
    crate::agent::continuity::ENTRIES,
    crate::agent::consent::ENTRIES,
    crate::agent::memberships::ENTRIES,
    crate::agent::memory::ENTRIES,
    crate::agent::presence::ENTRIES,
    crate::agent::capabilities::ENTRIES,
    crate::agent::tasks::ENTRIES,
    crate::agent::broadcasts::ENTRIES,
    crate::agent::trust::ENTRIES,
    crate::webhook::ENTRIES,
    crate::alert::subscription::ENTRIES,
    crate::alert::desk::ENTRIES,
    crate::relay::ENTRIES,
    crate::channel::ENTRIES,
    crate::attestation::ENTRIES,
    crate::probe::ENTRIES,
    crate::ledger::ENTRIES,
    crate::ledger::index::ENTRIES,
    crate::directory::ENTRIES,
    crate::directory::search::ENTRIES,
    crate::directory::capabilities::ENTRIES,
    crate::directory::leaderboard::ENTRIES,
    crate::directory::stats::ENTRIES,
    crate::deployment::ENTRIES,
    crate::roster::ENTRIES,
    crate::keys::ENTRIES,
    crate::documents::ENTRIES,
    crate::country::ENTRIES,
    crate::world::ENTRIES,
    crate::analytics::ENTRIES,
    crate::reference::ENTRIES,
    crate::incidents::ENTRIES,
    crate::outlook::ENTRIES,
    crate::forecast::ENTRIES,
    crate::elections::ENTRIES,
    crate::sentinel::ENTRIES,
    crate::anomaly::ENTRIES,
    crate::classifier::ENTRIES,
    #[cfg(any(test, feature = "conformance"))]
    super::host::probe::ENTRIES,
];

fn index() -> &'static BTreeMap<(Kind, &'static str), Run> {
    static INDEX: OnceLock<BTreeMap<(Kind, &'static str), Run>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let entries = MODULES.iter().flat_map(|entries| entries.iter());
        order::gather(entries.map(|entry| ((entry.kind, entry.name), entry.run)))
    })
}

fn find(kind: Kind, name: &str) -> Result<Run> {
    let general = || super::rows::ENTRIES.iter().find(|(known, _)| *known == name).map(|(_, run)| *run);
    index()
        .get(&(kind, name))
        .copied()
        .or_else(general)
        .ok_or_else(|| Error::internal(format!("no operation {name} on {}", kind.as_str())))
}

/// Runs an operation or query by its name in a turn; the reply is encoded.
pub fn operate(kind: Kind, name: &str, arguments: &[u8], turn: &mut Turn<'_>) -> Result<Vec<u8>> {
    match find(kind, name)? {
        Run::Operation(operation) => operation(arguments, turn),
        Run::Query(query) => query(arguments, &turn.view()),
    }
}

/// Runs a query by its name; the reply is encoded.
pub fn ask(kind: Kind, name: &str, arguments: &[u8], view: &View<'_>) -> Result<Vec<u8>> {
    match find(kind, name)? {
        Run::Query(query) => query(arguments, view),
        Run::Operation(_) => Err(Error::internal(format!("{name} is an operation, not a query"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_operations_share_a_kind_and_a_name() {
        let all: usize = MODULES.iter().map(|entries| entries.len()).sum();
        assert_eq!(index().len(), all);
    }
}
