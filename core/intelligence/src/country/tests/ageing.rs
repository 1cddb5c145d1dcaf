//! Time alone may take an answer away, but it never makes a block.

use super::{HEADER, Server, rows};
use crate::Timestamp;
use crate::import::{ImportKind, Options};
use engine::testing::real_data;
use engine::time::{DAY, HOUR};

fn import(server: &Server, data: &str) {
    server.import(ImportKind::OoniObservations, Options::default(), data.as_bytes());
}

/// The answers about a target every `step`, from the newest measurement on.
fn sweep(server: &Server, country: &str, target: &str, from: &str, step: i64, count: i64) -> Vec<String> {
    let from = Timestamp::parse(from).unwrap();
    let status = |n: i64| {
        let answer = server.detect(country, target, Some(&from.plus(n * step).to_string()));
        answer["status"].as_str().unwrap().to_owned()
    };
    (0..count).map(status).collect()
}

fn assert_never_more_blocked(statuses: &[String], what: &str) {
    let mut later = statuses.iter().skip_while(|status| *status == "blocked");
    assert!(later.all(|status| status != "blocked"), "{what}: {statuses:?}");
    assert_eq!(statuses.last().unwrap(), "unknown", "{what}: everything ages");
}

/// Decisions two-blocked-hours, weight-of-networks and age-limit: clear networks are measured less and age first, so
/// only the blocking network is left.
#[test]
fn ageing_alone_never_makes_a_country_blocked() {
    for (clean_votes, blocking_days) in [(5, 1), (6, 9), (12, 20), (40, 29)] {
        let server = Server::start();
        let mut parts = vec![HEADER.to_owned()];
        let start = Timestamp::parse("2025-06-01").unwrap();
        for asn in 2..6 {
            parts.push(rows("IT", asn, "example.org", &start.to_string(), 0..clean_votes, false));
        }
        let later = start.plus(blocking_days * DAY);
        parts.push(rows("IT", 1, "example.org", &later.to_string(), 0..6, true));
        import(&server, &parts.concat());
        let newest = later.plus(6 * HOUR).to_string();
        let statuses = sweep(&server, "IT", "example.org", &newest, 5 * HOUR, 220);
        assert_eq!(statuses[0], "accessible", "1 of 5 networks blocks");
        assert_never_more_blocked(&statuses, &format!("{clean_votes} clean votes, {blocking_days} days"));
    }
}

/// Decision weight-of-networks: new evidence may decide for a block if its network is the only one that is still
/// measured.
#[test]
fn a_new_vote_decides_by_the_networks_that_have_a_verdict_then() {
    let server = Server::start();
    let clean: String = (2..6).map(|asn| rows("IT", asn, "example.org", "2025-06-01", 0..8, false)).collect();
    let blocked = rows("IT", 1, "example.org", "2025-06-02", 0..8, true);
    import(&server, &format!("{HEADER}{clean}{blocked}"));
    let at = |day: &str| server.detect("IT", "example.org", Some(day))["status"].as_str().unwrap().to_owned();
    assert_eq!(at("2025-07-02T05:30:00Z"), "unknown", "the clean networks have aged");
    import(&server, &format!("{HEADER}{}", rows("IT", 1, "example.org", "2025-07-02T03:00:00Z", 0..1, true)));
    assert_eq!(at("2025-07-02T05:30:00Z"), "blocked");
    // A block that rests on its newest evidence stays until that evidence ages.
    let server = Server::start();
    import(&server, &format!("{HEADER}{}", rows("IT", 1, "example.org", "2025-06-02", 0..8, true)));
    let statuses = sweep(&server, "IT", "example.org", "2025-06-02T08:00:00Z", 12 * HOUR, 70);
    let blocked = statuses.iter().filter(|status| *status == "blocked").count();
    assert!((14..=40).contains(&blocked), "a week, not a month: {statuses:?}");
    assert_never_more_blocked(&statuses, "one network");
}

/// The same on real rows, which are cut off at several days as if measuring had stopped then.
#[test]
fn kenya_cut_off_anywhere_never_becomes_blocked_by_waiting() {
    let Some(telegram) = real_data("ooni/observations_KE_2023_telegram.csv.gz") else { return };
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(telegram.as_slice()), &mut text).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let time = header.iter().position(|name| name == "measurement_start_time").unwrap();
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    for end in ["2023-11-07", "2023-11-10", "2023-11-12", "2023-11-19", "2023-11-27"] {
        let mut cut = csv::Writer::from_writer(Vec::new());
        cut.write_record(&header).unwrap();
        for record in records.iter().filter(|record| &record[time] < end) {
            cut.write_record(record).unwrap();
        }
        let server = Server::start();
        import(&server, &String::from_utf8(cut.into_inner().unwrap()).unwrap());
        for target in ["telegram/pool", "telegram"] {
            let statuses = sweep(&server, "KE", target, &format!("{end}T00:00:00Z"), 8 * HOUR, 60);
            assert_never_more_blocked(&statuses, &format!("{target} until {end}"));
        }
    }
}
