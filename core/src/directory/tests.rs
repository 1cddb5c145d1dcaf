use super::*;
use crate::actor::host::{self, Space};
use crate::actor::{ActorId, Call, decode};
use crate::kv::{MemoryStore, Read, Store};
use crate::settings::Settings;
use crate::time::SECOND;

pub(super) struct Directory {
    pub rows: MemoryStore,
    pub now: Timestamp,
}

impl Directory {
    pub fn new() -> Directory {
        Directory { rows: MemoryStore::default(), now: Timestamp::from_seconds(1_000_000) }
    }

    pub fn run<O: Operation>(&mut self, operation: &O) -> Result<O::Reply> {
        let (actor, settings) = (ActorId::new(Kind::Directory, "0"), Settings::default());
        let call = Call::operation("0", operation).unwrap();
        let space = Space { actor: &actor, rows: &self.rows, now: self.now, seed: [0; 32], settings: &settings };
        let outcome = host::perform(&space, &call);
        self.rows.apply(outcome.batch).unwrap();
        outcome.reply.and_then(|reply| decode(&reply))
    }

    /// Asks a query.
    pub fn ask<Q: Query>(&self, query: Q) -> Q::Reply {
        let (actor, settings) = (ActorId::new(Kind::Directory, "0"), Settings::default());
        query.run(&View::new(&actor, &self.rows, self.now, &settings)).unwrap()
    }

    pub fn reserve(&mut self, name: &str, did: u8) -> bool {
        self.run(&Reserve { name: name.into(), did: [did; 16] }).is_ok()
    }

    pub fn confirm(&mut self, name: &str, did: u8) -> bool {
        self.run(&Confirm { name: name.into(), did: [did; 16] }).is_ok()
    }

    fn holder(&self, name: &str) -> Option<u8> {
        self.ask(Lookup { name: name.into() }).map(|(_, did)| did[0])
    }
}

#[test]
fn a_reservation_keeps_others_out_until_it_lapses() {
    let mut directory = Directory::new();
    assert!(directory.reserve("Ada", 1) && directory.reserve("ada", 1));
    assert!(!directory.reserve("ADA", 2));
    assert_eq!(directory.holder("ada"), None);
    directory.now = directory.now.plus(RESERVATION);
    assert!(directory.reserve("ADA", 2));
    assert!(!directory.confirm("Ada", 1));
    assert!(directory.confirm("Ada", 2));
    assert_eq!(directory.holder("aDa"), Some(2));
    directory.now = directory.now.plus(RESERVATION * 1_000);
    assert!(!directory.reserve("ada", 1) && directory.reserve("ada", 2));
    assert_eq!(directory.holder("ada"), Some(2));
}

#[test]
fn a_late_confirmation_holds_when_nobody_came_between() {
    let mut directory = Directory::new();
    assert!(directory.reserve("Ada", 1));
    directory.now = directory.now.plus(RESERVATION * 10);
    assert!(directory.confirm("Ada", 1));
    assert!(!directory.reserve("ada", 2));
}

#[test]
fn only_the_holder_releases_and_a_quarantine_ends_by_itself() {
    let mut directory = Directory::new();
    assert!(directory.reserve("Ada", 1) && directory.confirm("Ada", 1));
    let end = directory.now.plus(QUARANTINE);
    let release = |did: u8, free_at| Release { name: "ADA".into(), did: [did; 16], free_at };
    directory.run(&release(2, None)).unwrap();
    assert_eq!(directory.holder("ada"), Some(1));
    directory.run(&release(1, Some(end))).unwrap();
    assert_eq!(directory.holder("ada"), None);
    assert!(!directory.reserve("ada", 2));
    directory.now = end;
    directory.run(&Sweep).unwrap();
    assert!(directory.rows.scan(&NAMES.range(), Direction::Ascending, 9).unwrap().is_empty());
    assert!(directory.rows.scan(&ENDS.range(), Direction::Ascending, 9).unwrap().is_empty());
    assert!(directory.reserve("ada", 2));
}

#[test]
fn sweeping_takes_every_ended_row_and_leaves_the_rest() {
    let mut directory = Directory::new();
    for n in 0..450u32 {
        assert!(directory.reserve(&format!("name{n}"), 1));
    }
    assert!(directory.reserve("kept", 1) && directory.confirm("kept", 1));
    directory.now = directory.now.plus(RESERVATION + SECOND);
    for _ in 0..3 {
        directory.run(&Sweep).unwrap();
    }
    assert_eq!(directory.rows.scan(&NAMES.range(), Direction::Ascending, 999).unwrap().len(), 1);
    assert_eq!(directory.holder("kept"), Some(1));
}

#[test]
fn folding_is_by_character_and_pinned() {
    assert_eq!(fold("ÄÖÜ Straße ΣΑΣ"), "äöü straße σασ");
    assert_ne!(fold("STRASSE"), fold("straße"));
    let widest = "\u{130}".repeat(MAX_NAME);
    let mut directory = Directory::new();
    assert!(directory.reserve(&widest, 1));
    assert!(check_name(&widest).is_ok() && check_name(&format!("{widest}x")).is_err());
}
