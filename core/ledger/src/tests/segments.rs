//! Sealed segments (decision ledger-room): old events move, and every question is answered as before.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::log::{busy_on, read};
use super::{Party, SETTINGS, World, hours, minutes, refused, text};
use crate::rows::{EVENT_PARTS, EVENTS};
use crate::segment::{BODIES, RUN, SEALED, SEGMENTS};
use crate::testing::PROGRAM;
use engine::actor::{ActorId, Kind};
use engine::runtime::Runtime;
use relay::testing::TestRuntime;

const DAY: u64 = 24;

/// Two full runs of events and part of a third, some of them long, all of them over.
fn grown(world: World) -> (World, Party, Party) {
    let (world, a, b) = busy_on(world);
    let memo = "a memo of some length, ".repeat(10);
    for n in 0..230 {
        let (from, to) = if n % 3 == 0 { (&b, &a) } else { (&a, &b) };
        let members = json!({ "from_did": from.did(), "to_did": to.did(), "amount_micro": n + 1, "memo": memo });
        world.act(from, "credit-transfer", members).unwrap();
        if n % 50 == 7 {
            // Its signed bytes are longer than a row takes.
            let item = json!({ "to_did": b.did(), "amount_micro": 1, "memo": memo });
            let items = vec![item; 200];
            world.act(&a, "batch-transfer", json!({ "from_did": a.did(), "items": items })).unwrap();
        }
        world.wait(minutes(1));
    }
    world.wait(hours(8 * DAY));
    (world, a, b)
}

fn edge() -> World {
    World::on(TestRuntime::start_sharing(&PROGRAM, SETTINGS))
}

impl World {
    fn storage_counts(&self) -> (u64, u64, u64) {
        let storage = &self.get("/v1/pay/health")["storage"];
        let count = |name: &str| storage[name].as_u64().unwrap_or_else(|| panic!("no {name}: {storage}"));
        (count("events"), count("sealed_events"), count("archived_events"))
    }

    /// Carries out the wishes of the ledger.
    fn grant_wishes(&self) {
        self.rt.reach_out().now_or_never().expect("nothing waits in tests");
    }

    /// All pages of a list.
    fn all_pages(&self, path: &str, list: &str) -> Vec<Value> {
        let (mut all, mut before) = (Vec::new(), String::new());
        loop {
            let page = self.get(&format!("{path}?limit=50{before}"));
            all.extend(page[list].as_array().unwrap().iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => before = format!("&before={next}"),
                None => return all,
            }
        }
    }

    /// The answers to all questions that anybody may ask about events.
    fn answers(&self, parties: [&Party; 2]) -> BTreeMap<String, Value> {
        let mut answers = BTreeMap::new();
        for party in parties {
            let history = self.all_pages(&format!("/v1/pay/history/{}", party.did()), "transfers");
            for row in &history {
                let path = format!("/v1/pay/transfer/{}", text(row, "id"));
                answers.insert(path.clone(), self.get(&path)["transfer"].clone());
            }
            answers.insert(format!("history {}", party.did()), json!(history));
            let statement = self.all_pages(&format!("/v1/pay/statement/{}", party.did()), "lines");
            answers.insert(format!("statement {}", party.did()), json!(statement));
        }
        let log = read(self, Some("operator"));
        let size = log.len();
        for (seq, (form, texts)) in log.into_iter().enumerate() {
            let texts: Vec<&str> = texts.iter().map(|hidden| hidden.text.as_str()).collect();
            answers.insert(format!("event {seq}"), json!([String::from_utf8(form).unwrap(), texts]));
            let path = format!("/v1/pay/audit/proof/{seq}?size={size}");
            let mut proof = self.get(&path);
            proof.as_object_mut().unwrap().retain(|name, _| name != "generated_at");
            answers.insert(path, proof);
        }
        answers.insert("root".to_owned(), self.get("/v1/pay/audit/head")["root"].clone());
        answers
    }
}

#[test]
fn events_move_into_sealed_segments_at_thirty_days_and_everything_answers_as_before() {
    let (world, a, b) = grown(World::new());
    let (events, sealed, _) = world.storage_counts();
    assert!(sealed == 0 && events > 2 * RUN && events < 3 * RUN, "{events} {sealed}");
    let before = world.answers([&a, &b]);
    assert!(before.len() > 1_000, "{}", before.len());
    let (rows, long) = (world.rows(&EVENTS).len(), world.rows(&EVENT_PARTS).len());
    assert!(rows as u64 == events && long > 0);
    world.wait(hours(31 * DAY));
    assert_eq!(world.storage_counts(), (events, 2 * RUN, 0));
    assert_eq!(world.rows(&EVENTS).len() as u64, events - 2 * RUN);
    assert!(world.rows(&EVENT_PARTS).len() < long);
    let after = world.answers([&a, &b]);
    for (question, answer) in &before {
        assert_eq!(&after[question], answer, "{question}");
    }
    assert_eq!(after.len(), before.len());
}

#[test]
fn a_run_is_sealed_when_its_last_event_is_thirty_days_old_and_not_before() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000_000), world.party(2));
    while world.storage_counts().0 < RUN {
        world.pay(&a, &b, 1).unwrap();
    }
    let sealed = |world: &World| {
        world.send("POST", "/v1/pay/escrow/sweep", None, &Value::Null);
        world.storage_counts().1
    };
    // Events of one moment have times of their own, a microsecond apart.
    let last = world.rows(&EVENTS).into_iter().map(|(_, event)| event.at).max().unwrap();
    let due = last.plus(30 * engine::time::DAY);
    world.wait(world.rt.now().until(due) - Duration::from_micros(1));
    assert_eq!(sealed(&world), 0);
    world.wait(Duration::from_micros(1));
    assert_eq!(sealed(&world), RUN);
    // Events are also sealed by the timer, and earlier if the operator says so. An incomplete run stays.
    let world = World::with(&[("ledger_seal_days", "2")]);
    let (a, b) = (world.rich(1, 1_000_000), world.party(2));
    while world.storage_counts().0 < 2 * RUN + 5 {
        world.pay(&a, &b, 1).unwrap();
    }
    world.wait(hours(2 * DAY));
    world.wait(minutes(1));
    assert_eq!(world.storage_counts(), (2 * RUN + 5, 2 * RUN, 0));
    world.wait(hours(99 * DAY));
    assert_eq!(world.storage_counts(), (2 * RUN + 5, 2 * RUN, 0));
}

#[test]
fn the_nonce_of_a_sealed_transfer_is_used_for_ever() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000_000), world.party(2));
    let members = super::with(&world.transfer_of(&a, &b, 7), json!({ "nonce": "the-same-nonce" }));
    world.act(&a, "credit-transfer", members.clone()).unwrap();
    let item = json!([{ "to_did": b.did(), "amount_micro": 1 }]);
    let batch = json!({ "from_did": a.did(), "batch_id": "the-same-batch", "items": item });
    world.act(&a, "batch-transfer", batch.clone()).unwrap();
    while world.storage_counts().0 < RUN {
        world.pay(&a, &b, 1).unwrap();
    }
    let money = world.money(&a);
    world.wait(hours(31 * DAY));
    assert_eq!(world.storage_counts().1, RUN);
    refused(world.act(&a, "credit-transfer", members), "nonce_seen");
    refused(world.act(&a, "batch-transfer", batch), "nonce_seen");
    assert_eq!(world.money(&a), money);
}

#[test]
fn sealed_events_take_less_than_half_the_room() {
    let (world, ..) = grown(World::new());
    let ledger = ActorId::sole(Kind::Ledger);
    let of = |tables: &[u8]| {
        let rows = world.rt.rows(&ledger);
        let of_them = rows.iter().filter(|(key, _)| tables.contains(&key[0]));
        of_them.map(|(key, value)| (key.len() + value.len()) as u64).sum::<u64>()
    };
    // Before there are the rows of events; afterwards there are their places, segments and bodies.
    let before = of(&[19, 29]);
    world.wait(hours(31 * DAY));
    let (left, sealed) = (of(&[19, 29]), of(&[68, 69, 70]));
    assert!(sealed * 2 < before - left, "{before} {left} {sealed}");
}

#[test]
fn where_there_is_an_archive_segments_go_there_and_everything_answers_as_before() {
    let (world, a, b) = grown(edge());
    let before = world.answers([&a, &b]);
    let (events, ..) = world.storage_counts();
    world.wait(hours(31 * DAY));
    // Wishes get lost, and are made again.
    assert!(world.rt.lose_outgoing() > 0);
    assert!(world.rt.archived().is_empty());
    world.wait(minutes(5));
    world.grant_wishes();
    let put = world.rt.archived().len();
    assert_eq!(put, world.rows(&SEGMENTS).len());
    // The segments were put there, and are removed from here only after they were found there.
    assert_eq!(world.storage_counts(), (events, 2 * RUN, 0));
    world.wait(minutes(5));
    world.grant_wishes();
    world.wait(minutes(1));
    assert_eq!(world.storage_counts(), (events, 2 * RUN, 2 * RUN));
    assert!(world.rows(&BODIES).is_empty() && world.rows(&SEALED).len() as u64 == 2 * RUN);
    let after = world.answers([&a, &b]);
    for (question, answer) in &before {
        assert_eq!(&after[question], answer, "{question}");
    }
    // Nothing is left to wish for.
    world.wait(hours(DAY));
    assert_eq!(world.rt.lose_outgoing(), 0);
}

#[test]
fn an_archive_that_loses_or_changes_a_segment_is_no_source() {
    let (world, a, b) = grown(edge());
    world.wait(hours(31 * DAY));
    world.rt.lose_outgoing();
    world.wait(minutes(5));
    world.grant_wishes();
    // The archive has other bytes than were sealed. The segment is put again, and stays here meanwhile.
    for body in world.rt.archived().values_mut() {
        body.pop();
    }
    world.wait(minutes(5));
    world.grant_wishes();
    assert_eq!(world.storage_counts().2, 0);
    world.wait(minutes(5));
    world.grant_wishes();
    world.wait(minutes(1));
    assert_eq!(world.storage_counts().2, 2 * RUN);
    let whole = world.rt.archived().clone();
    let paths = ["/v1/pay/audit/log", "/v1/pay/audit/proof/3", &format!("/v1/pay/statement/{}", a.did())];
    for forged in [true, false] {
        for body in world.rt.archived().values_mut() {
            if forged { body[9] ^= 1 } else { body.clear() }
        }
        if !forged {
            world.rt.archived().clear();
        }
        for path in paths {
            let (status, body) = world.send("GET", &format!("{path}?limit=1000"), None, &Value::Null);
            let newest = path.contains("statement");
            assert!(status == 503 || (newest && status == 200 && body["next_cursor"].is_string()), "{path}: {body}");
        }
    }
    *world.rt.archived() = whole;
    assert_eq!(world.send("GET", paths[1], None, &Value::Null).0, 200);
    // Payments need no segment.
    assert!(world.pay(&a, &b, 1).is_ok());
}
