//! Events and counts that others report: what is stored of them, here and in the world.

use futures_util::FutureExt;

use super::Server;
use crate::actor::{ActorId, Kind};
use crate::country::{DayCountRows, Events};
use crate::event::{EventKind, Scope};
use crate::import::{ImportKind, Options};
use crate::world::{self, EventHistory, EventMark};
use crate::{Timestamp, runtime};

const HEADER: &str = "country,kind,start,end,id,revision,services\n";

fn curated(rows: &[&str]) -> String {
    format!("{HEADER}{}\n", rows.join("\n"))
}

fn history(server: &Server, country: Option<&str>) -> Vec<(String, u8, EventMark)> {
    let query = EventHistory { country: country.map(str::to_owned) };
    runtime::query(&*server.0, world::actor().name, &query).now_or_never().unwrap().unwrap()
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Events and what they gave, of a country and of the world.
fn stored(server: &Server) -> (Rows, Rows) {
    let of = |actor: &ActorId, tables: std::ops::RangeInclusive<u8>| {
        server.0.rows(actor).into_iter().filter(|(key, _)| tables.contains(&key[0])).collect()
    };
    (of(&ActorId::new(Kind::Country, "CU"), 37..=39), of(&world::actor(), 50..=51))
}

/// Ruling intelligence 15: any permutation or split of the input ends in the same rows, and so does a repeat.
#[test]
fn ruling_intelligence_15_any_order_and_split_of_events_ends_in_the_same_rows() {
    let rows = [
        "CU,shutdown,2021-07-11,2021-07-13,a,2,telegram",
        "CU,shutdown,2021-07-11,,a,1,",
        "CU,outage,2022-09-27,2022-09-28,b,,",
        "Cuba; Haiti,block,2021-07-12,,c,,example.org",
        "CU,shutdown,2021-07-11,2021-07-12,a,2,",
    ];
    let import = |parts: &[Vec<&str>]| {
        let server = Server::start();
        for part in parts {
            server.import(ImportKind::Outages, Options::default(), curated(part).as_bytes());
        }
        server.settle();
        server
    };
    let whole = import(&[rows.to_vec()]);
    let expected = stored(&whole);
    assert_eq!((expected.0.len(), expected.1.len()), (4, 6), "three events and their sum; the world has Haiti's too");
    let again = whole.import(ImportKind::Outages, Options::default(), curated(&rows).as_bytes());
    assert_eq!((again.counts.accepted, again.counts.duplicate), (0, 5), "{again:?}");
    whole.settle();
    assert_eq!(stored(&whole), expected);
    for order in [[4, 3, 2, 1, 0], [1, 4, 0, 3, 2], [2, 0, 4, 1, 3]] {
        let parts: Vec<Vec<&str>> = order.iter().map(|at| vec![rows[*at]]).collect();
        assert_eq!(stored(&import(&parts)), expected, "{order:?}");
    }
}

#[test]
fn the_world_has_every_event_in_short_and_a_country_has_it_whole() {
    let server = Server::start();
    let rows = ["CU,shutdown,2021-07-11,2021-07-13,a,2,telegram", "HT,outage,2022-09-27T10:00:00Z,,b,,"];
    server.import(ImportKind::Outages, Options::default(), curated(&rows).as_bytes());
    server.settle();
    let all = history(&server, None);
    assert_eq!(all.iter().map(|(country, ..)| country.as_str()).collect::<Vec<_>>(), ["CU", "HT"]);
    let mark = all[0].2;
    assert_eq!((mark.start, mark.end), (18_819, Some(18_821)), "the last day, not the one after it");
    assert_eq!((mark.kind, mark.scope, all[1].2.end), (EventKind::Shutdown, Scope::National, None));
    assert_eq!(history(&server, Some("HT")), all[1..]);
    let day = |text: &str| Timestamp::parse(text).unwrap();
    let events = |from: &str, until: &str| {
        let query = Events { from: day(from), until: day(until), source: None };
        runtime::query(&*server.0, "CU", &query).now_or_never().unwrap().unwrap()
    };
    assert_eq!(events("2021-07-12", "2021-07-13").len(), 1);
    assert_eq!(events("2021-07-12", "2021-07-13")[0].services, ["telegram"]);
    assert!(events("2021-07-15", "2021-07-16").is_empty() && events("2021-07-01", "2021-07-10").is_empty());
}

/// Of two counts of a day the later one, which has more measurements, stays; order means nothing.
#[test]
fn counts_of_a_day_only_grow() {
    let rows = ["1,0,0,10,9,2024-05-01,CU", "2,0,0,20,18,2024-05-01,CU", "0,0,0,5,5,2024-05-01,CU"];
    let header =
        "anomaly_count,confirmed_count,failure_count,measurement_count,ok_count,measurement_start_day,probe_cc\n";
    let mut found = Vec::new();
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let server = Server::start();
        for at in order {
            let text = format!("{header}{}\n", rows[at]);
            server.import(ImportKind::OoniAggregation, Options::default(), text.as_bytes());
        }
        server.settle();
        let query = DayCountRows { first: 0, last: u32::MAX };
        let days = runtime::query(&*server.0, "CU", &query).now_or_never().unwrap().unwrap();
        assert_eq!((days.len(), days[0].2.measurements, days[0].2.anomalies), (1, 20, 2));
        found.push(stored(&server));
    }
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
}
