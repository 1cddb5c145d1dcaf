//! Every operation and query by kind and name.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::{Kind, Operation, Query, Turn, View, decode, encode};
use crate::{Error, Result, engine::small_sort};

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
    crate::relay::agent::record::ENTRIES,
    crate::relay::agent::create::ENTRIES,
    crate::relay::agent::rotate::ENTRIES,
    crate::relay::agent::access::ENTRIES,
    crate::relay::agent::keyed::ENTRIES,
    crate::relay::agent::waiting::ENTRIES,
    crate::relay::agent::proof::ENTRIES,
    crate::relay::agent::prekeys::ENTRIES,
    crate::relay::agent::username::ENTRIES,
    crate::relay::agent::listing::ENTRIES,
    crate::relay::agent::reseal::ENTRIES,
    crate::relay::agent::usage::ENTRIES,
    crate::relay::agent::activity::ENTRIES,
    crate::relay::agent::export::ENTRIES,
    crate::relay::agent::moderation::ENTRIES,
    crate::relay::agent::idempotency::ENTRIES,
    crate::relay::agent::mailbox::ENTRIES,
    crate::relay::agent::pins::ENTRIES,
    crate::relay::agent::continuity::ENTRIES,
    crate::relay::agent::consent::ENTRIES,
    crate::relay::agent::memberships::ENTRIES,
    crate::relay::agent::memory::ENTRIES,
    crate::relay::agent::presence::ENTRIES,
    crate::relay::agent::capabilities::ENTRIES,
    crate::relay::agent::tasks::ENTRIES,
    crate::relay::agent::broadcasts::ENTRIES,
    crate::relay::agent::trust::ENTRIES,
    crate::relay::webhook::ENTRIES,
    crate::intelligence::alert::subscription::ENTRIES,
    crate::intelligence::alert::desk::ENTRIES,
    crate::relay::federation::ENTRIES,
    crate::relay::channel::ENTRIES,
    crate::relay::attestation::ENTRIES,
    crate::intelligence::probe::ENTRIES,
    crate::ledger::ENTRIES,
    crate::ledger::index::ENTRIES,
    crate::relay::directory::ENTRIES,
    crate::relay::directory::search::ENTRIES,
    crate::relay::directory::capabilities::ENTRIES,
    crate::relay::directory::leaderboard::ENTRIES,
    crate::relay::directory::stats::ENTRIES,
    crate::engine::deployment::ENTRIES,
    crate::engine::roster::ENTRIES,
    crate::relay::keys::ENTRIES,
    crate::engine::documents::ENTRIES,
    crate::intelligence::country::ENTRIES,
    crate::intelligence::world::ENTRIES,
    crate::intelligence::analytics::ENTRIES,
    crate::intelligence::reference::ENTRIES,
    crate::intelligence::incidents::ENTRIES,
    crate::intelligence::risk::ENTRIES,
    crate::intelligence::forecast::ENTRIES,
    crate::intelligence::elections::ENTRIES,
    crate::intelligence::sentinel::ENTRIES,
    crate::intelligence::anomaly::ENTRIES,
    crate::intelligence::classifier::ENTRIES,
    #[cfg(any(test, feature = "conformance"))]
    super::host::probe::ENTRIES,
];

fn index() -> &'static BTreeMap<(Kind, &'static str), Run> {
    static INDEX: OnceLock<BTreeMap<(Kind, &'static str), Run>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let entries = MODULES.iter().flat_map(|entries| entries.iter());
        small_sort::gather(entries.map(|entry| ((entry.kind, entry.name), entry.run)))
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
