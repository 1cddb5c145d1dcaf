use super::*;
use engine::actor::host::{self, Space};
use engine::actor::{ActorId, Call, decode};
use engine::kv::{MemoryStore, Read, Store};
use engine::settings::Settings;
use engine::time::SECOND;

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
        let space = Space {
            program: &crate::testing::PROGRAM,
            actor: &actor,
            rows: &self.rows,
            now: self.now,
            seed: [0; 32],
            settings: &settings,
        };
        let outcome = host::perform(&space, &call);
        self.rows.apply(outcome.batch).unwrap();
        outcome.reply.and_then(|reply| decode(&reply))
    }

    /// Runs a query.
    pub fn ask<Q: Query>(&self, query: Q) -> Q::Reply {
        let (actor, settings) = (ActorId::new(Kind::Directory, "0"), Settings::default());
        query.run(&View::new(&crate::testing::PROGRAM, &actor, &self.rows, self.now, &settings)).unwrap()
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
    directory.run(&SweepNames).unwrap();
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
        directory.run(&SweepNames).unwrap();
    }
    assert_eq!(directory.rows.scan(&NAMES.range(), Direction::Ascending, 999).unwrap().len(), 1);
    assert_eq!(directory.holder("kept"), Some(1));
}

#[test]
fn folding_for_searches_is_by_character_and_pinned() {
    assert_eq!(fold("ÄÖÜ Straße ΣΑΣ"), "äöü straße σασ");
    assert_ne!(fold("STRASSE"), fold("straße"));
}

#[test]
fn names_that_look_alike_are_one_name() {
    let mut directory = Directory::new();
    assert!(directory.reserve("Straße", 1) && directory.confirm("Straße", 1));
    for alike in ["STRASSE", "Ｓtraße", "stra\u{DF}e ", "strasse"] {
        assert!(!directory.reserve(alike, 2) && !directory.confirm(alike, 2), "{alike:?}");
        assert_eq!(directory.holder(alike), Some(1));
    }
    let widest = "\u{130}".repeat(MAX_NAME);
    assert!(directory.reserve(&widest, 1));
    assert!(check_name(&widest).is_ok() && check_name(&format!("{widest}x")).is_err());
    assert!(check_name("\u{2800} \u{3000}").is_err());
}

#[test]
fn a_refused_request_gives_back_what_it_reserved_and_nothing_else() {
    let mut directory = Directory::new();
    let give_back =
        |directory: &mut Directory, did| directory.run(&Unreserve { name: "ADA".into(), did: [did; 16] }).unwrap();
    let reserve = |directory: &mut Directory| directory.run(&Reserve { name: "Ada".into(), did: [1; 16] }).unwrap();
    assert!(reserve(&mut directory), "fresh");
    assert!(!reserve(&mut directory), "another request of the same agent has it");
    give_back(&mut directory, 2);
    assert!(!directory.reserve("ada", 2));
    give_back(&mut directory, 1);
    assert!(directory.rows.scan(&ENDS.range(), Direction::Ascending, 9).unwrap().is_empty());
    assert!(directory.reserve("ada", 2) && directory.confirm("ada", 2));
    // A name that is held, or kept from other agents for a time, stays.
    give_back(&mut directory, 2);
    assert_eq!(directory.holder("ada"), Some(2));
    let end = directory.now.plus(QUARANTINE);
    directory.run(&Release { name: "ada".into(), did: [2; 16], free_at: Some(end) }).unwrap();
    assert!(!directory.run(&Reserve { name: "ada".into(), did: [2; 16] }).unwrap());
    give_back(&mut directory, 2);
    directory.now = directory.now.plus(RESERVATION * 2);
    assert!(!directory.reserve("ada", 1), "a failed request shortened the time for which the name is kept from others");
}

/// A directory as the earlier version wrote it: names under their letters in lower case.
fn from_before(names: &[(&str, u8, Hold)]) -> Directory {
    let mut directory = Directory::new();
    for (name, did, hold) in names {
        if *hold != Hold::Held {
            continue;
        }
        let listed = search::ListedAgent {
            name: Some((*name).to_owned()),
            capabilities: Vec::new(),
            signing: [0; 32],
            encryption: [0; 32],
            rank: 0,
            registered: Timestamp(i64::from(*did)),
        };
        directory.run(&search::Index { did: [*did; 16], listed }).unwrap();
    }
    let mut batch = engine::kv::Batch::default();
    batch.put(vec![14], engine::kv::encode_row(&2_u64).unwrap());
    for (name, did, hold) in names {
        let row = Name { shown: (*name).to_owned(), did: [*did; 16], hold: hold.clone() };
        let key = fold(name);
        batch.put(NAMES.prefix(&(key.clone(),)).start, engine::kv::encode_row(&row).unwrap());
        if let Some(end) = hold.ends() {
            batch.put(ENDS.prefix(&(end, key)).start, engine::kv::encode_row(&()).unwrap());
        }
    }
    directory.rows.apply(batch).unwrap();
    directory
}

#[test]
fn stored_names_move_to_their_new_keys_and_the_older_agent_keeps_what_two_hold() {
    let later = Timestamp::from_seconds(2_000_000);
    let many: Vec<String> = (0..250).map(|n| format!("Maße {n}")).collect();
    let mut names = vec![
        ("Straße", 9, Hold::Held),
        ("STRASSE", 3, Hold::Held),
        ("\u{FB01}ne", 4, Hold::Held),
        ("Fine", 5, Hold::Held),
        ("Gro\u{DF}", 6, Hold::Quarantined(later)),
        ("GROSS", 7, Hold::Held),
        ("Fu\u{DF}", 8, Hold::Reserved(Timestamp::from_seconds(1))),
        ("plain", 1, Hold::Held),
        ("\u{1}ada_1", 2, Hold::Held),
    ];
    names.extend(many.iter().map(|name| (name.as_str(), 1, Hold::Held)));
    let mut directory = from_before(&names);
    // The first operation starts the move. A name that has not moved yet is found under its earlier key.
    directory.run(&SweepNames).unwrap();
    assert!(!directory.reserve("maße 17", 2) && !directory.reserve("Fine", 4));
    for _ in 0..5 {
        directory.run(&rekey::Rekey).unwrap();
    }
    for (name, holder) in [("strasse", 3), ("fine", 4), ("gross", 7), ("plain", 1), ("MASSE 249", 1), ("\u{1}ada_1", 2)]
    {
        assert_eq!(directory.holder(name), Some(holder), "{name}");
    }
    assert!(directory.reserve("fuss", 2), "a reservation that had ended");
    let rows = directory.rows.scan(&NAMES.range(), Direction::Ascending, 999).unwrap();
    assert!(rows.iter().all(|(key, row)| {
        let row: Name = engine::kv::decode_row(row).unwrap();
        *key == NAMES.prefix(&(likeness::key(&row.shown),)).start
    }));
    assert_eq!(rows.len(), 250 + 6);
}
