//! The Kenya proof: from merged measurements to votes to network verdicts (decisions two-blocked-hours, kenya-proof,
//! incident-dates, controls-from-peers, half-of-a-pool and ipv6-and-probe-faults).

use std::collections::{BTreeMap, HashMap};

use super::{LIMIT, sample};
use crate::Timestamp;
use crate::measurement::fingerprints::Fingerprints;
use crate::measurement::ooni_observations;
use crate::measurement::outcome::Entry;
use crate::measurement::types::Parsed;
use crate::verdict::network::{self, NetworkVerdict, NetworkVotes, Status};
use crate::verdict::window::{Ageing, HourVote, Peers, Session, votes};
use engine::testing::Dice;

/// Merged entries of one target by (network, day hour, identity).
pub type Cells = HashMap<(u32, i64, [u8; 8]), Entry>;

/// Does in memory what a fold over cells does: it merges by identity.
pub fn fold(parsed: impl IntoIterator<Item = Parsed>, target: &str) -> Cells {
    let mut cells = Cells::new();
    for p in parsed {
        let Some(asn) = p.asn else { continue };
        for c in &p.contributions {
            if c.target.as_str() != target {
                continue;
            }
            let entry = Entry {
                identity: p.identity,
                form: p.form,
                hour: p.time.hour().rem_euclid(24) as u8,
                vote_key: p.vote_key,
                primary: false,
                outcome: c.outcome,
            };
            cells.entry((asn, p.time.day(), p.identity)).and_modify(|e| *e = e.merge(entry)).or_insert(entry);
        }
    }
    cells
}

pub fn sessions(cells: &Cells) -> Vec<Session> {
    let session = |(key, entry): (&(u32, i64, [u8; 8]), &Entry)| Session {
        asn: Some(key.0),
        hour: key.1 * 24 + i64::from(entry.hour),
        vote_key: entry.vote_key,
        evaluated: Entry::decode(&entry.encode()).unwrap().outcome.evaluate(),
    };
    cells.iter().map(session).collect()
}

pub fn import(name: &str) -> Option<Vec<Parsed>> {
    let bytes = sample(name)?;
    let mut out = Vec::new();
    ooni_observations::import(&mut &*bytes, LIMIT, &Fingerprints::default(), &mut |p| out.push(p)).unwrap();
    Some(out)
}

fn verdicts(sessions: &[Session], now: &str) -> BTreeMap<u32, NetworkVerdict> {
    let peers = Peers::collect(sessions);
    let mut networks: BTreeMap<u32, Vec<Session>> = BTreeMap::new();
    for session in sessions {
        networks.entry(session.asn.unwrap()).or_default().push(*session);
    }
    let now = Timestamp::parse(now).unwrap();
    let votes: Vec<(u32, Vec<HourVote>)> =
        networks.into_iter().map(|(asn, sessions)| (asn, votes(&sessions, &peers))).collect();
    let heard: Vec<NetworkVotes<'_>> =
        votes.iter().map(|(asn, votes)| NetworkVotes { asn: *asn, votes, broken: false }).collect();
    let verdicts = network::verdicts(&heard, now, Ageing::of(true), &|_, _| 0.0);
    heard.iter().map(|heard| heard.asn).zip(verdicts).collect()
}

fn blocked(all: &BTreeMap<u32, NetworkVerdict>) -> Vec<u32> {
    all.iter().filter(|(_, v)| v.status == Status::Blocked).map(|(asn, _)| *asn).collect()
}

#[test]
fn telegram_in_kenya_is_blocked_on_the_named_networks_and_no_other() {
    let Some(parsed) = import("ooni/observations_KE_2023_telegram.csv.gz") else { return };
    let sessions = sessions(&fold(parsed, "telegram/pool"));
    assert_eq!(sessions.len(), 2_344);
    for day in [15, 17, 21, 23, 24] {
        let all = verdicts(&sessions, &format!("2023-11-{day}T12:00:00Z"));
        let mut names = blocked(&all);
        println!("{day} Nov: {names:?}");
        names.retain(|asn| *asn != 36926);
        assert_eq!(names, [12455, 33771, 37061], "{day} Nov");
        for asn in [12455, 33771, 37061] {
            let v = &all[&asn];
            assert!(v.confidence > 0.8 && v.confidence == v.p_blocked, "{asn} {v:?}");
        }
        assert!(all[&33771].intermittent, "a schedule: {:?}", all[&33771]);
    }
    for day in ["06", "28"] {
        let all = verdicts(&sessions, &format!("2023-11-{day}T12:00:00Z"));
        let mut names = blocked(&all);
        names.retain(|asn| *asn != 36926);
        assert_eq!(names, [0_u32; 0], "{day} Nov");
        for asn in [30844, 15399] {
            if let Some(v) = all.get(&asn) {
                assert_ne!(v.status, Status::Blocked);
            }
        }
    }
}

#[test]
fn web_rows_over_dead_ipv6_do_not_convict_clean_networks() {
    let Some(parsed) = import("ooni/observations_KE_2023_web_connectivity.csv.gz") else { return };
    let sessions = sessions(&fold(parsed, "telegram.org"));
    for day in [21, 23, 24] {
        let all = verdicts(&sessions, &format!("2023-11-{day}T12:00:00Z"));
        let names = blocked(&all);
        println!("web {day} Nov: {names:?}");
        for asn in [12455, 33771, 37061] {
            assert!(names.contains(&asn), "{asn} on {day} Nov: {:?}", all.get(&asn));
        }
        for asn in [30844, 15399, 36866] {
            assert!(!names.contains(&asn), "{asn} on {day} Nov");
        }
    }
    for day in ["06", "28"] {
        let mut names = blocked(&verdicts(&sessions, &format!("2023-11-{day}T12:00:00Z")));
        // Without rows from 25 to 27 November AS36926 is not graded (decision kenya-proof).
        names.retain(|asn| *asn != 36926);
        assert_eq!(names, [0_u32; 0], "{day} Nov");
    }
}

#[test]
fn without_peers_a_failing_pool_convicts_nobody() {
    let Some(parsed) = import("ooni/observations_KE_2023_telegram.csv.gz") else { return };
    let alone: Vec<Session> =
        sessions(&fold(parsed, "telegram/pool")).into_iter().filter(|s| s.asn == Some(12455)).collect();
    let all = verdicts(&alone, "2023-11-15T12:00:00Z");
    assert_ne!(all[&12455].status, Status::Blocked);
}

#[test]
fn order_and_chunks_of_rows_change_nothing() {
    let Some(parsed) = import("ooni/observations_KE_2023_telegram.csv.gz") else { return };
    let sample: Vec<Parsed> = parsed.into_iter().step_by(7).take(8_000).collect();
    let expected = fold(sample.clone(), "telegram/pool");
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3 {
        let mut shuffled = sample.clone();
        dice.shuffle(&mut shuffled);
        // Three chunks with an overlap are folded separately and then joined.
        let third = shuffled.len() / 3;
        let mut joined = Cells::new();
        for chunk in [&shuffled[..2 * third], &shuffled[third..], &shuffled[..third]] {
            for (key, entry) in fold(chunk.to_vec(), "telegram/pool") {
                joined.entry(key).and_modify(|e| *e = e.merge(entry)).or_insert(entry);
            }
        }
        assert_eq!(joined, expected);
    }
}
