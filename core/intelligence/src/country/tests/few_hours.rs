//! Blocks of a few hours of the day: one day of it is hardly more than chance, several days are not.

use super::incidents::{add, asns, incidents, one};
use super::{Server, rows};
use crate::Timestamp;
use crate::incidents::{Severity, Status};
use engine::time::HOUR;

const SITE: &str = "gazette.example";
const START: &str = "2025-11-10T00:00:00Z";

/// Hours from one measurement to the next: there are as many measurements a day as votes that count.
const EVERY: usize = 3;

/// Measurements of `days` days on a network. They are blocked in the hours of each day for which `blocked` is true.
fn days(country: &str, asn: u32, days: i64, blocked: impl Fn(i64, i64) -> bool) -> String {
    let hour = |hour: i64| rows(country, asn, SITE, START, hour..hour + 1, blocked(hour / 24, hour % 24));
    (0..days * 24).step_by(EVERY).map(hour).collect()
}

fn hour(hour: i64) -> Timestamp {
    Timestamp::parse(START).unwrap().plus(hour * HOUR)
}

#[test]
fn four_hours_of_every_day_are_one_incident_on_several_networks_and_on_one() {
    let server = Server::start();
    let block = |day: i64, hour: i64| (2..9).contains(&day) && (6..10).contains(&hour);
    let of = |country: &'static str, blocked: u32| -> Vec<String> {
        (1..=6).map(|asn| days(country, asn, 16, |day, hour| asn <= blocked && block(day, hour))).collect()
    };
    add(&server, &[of("IT", 3), of("FR", 1), of("DE", 0)].concat());
    for (country, networks) in [("IT", vec![1, 2, 3]), ("FR", vec![1])] {
        let draft = one(&server, country).draft;
        assert_eq!(asns(&draft), networks, "{country}");
        assert_eq!((draft.start, draft.end), (hour(2 * 24 + 6), Some(hour(8 * 24 + 9))), "{country}");
        assert_eq!(draft.pattern.as_deref(), Some("intermittent"), "{country}");
        assert!(draft.schedule.as_deref().is_some_and(|hours| hours.contains("06-10")), "{:?}", draft.schedule);
        // On several networks a block is declared at once, on one network when it has come back.
        let declared = if networks.len() > 1 { 2 * 24 + 9 } else { 4 * 24 + 9 };
        assert!(draft.declared.is_some_and(|at| at <= hour(declared)), "{country}: {:?}", draft.declared);
    }
    assert_eq!(incidents(&server, "DE"), []);
}

#[test]
fn five_hours_on_all_networks_at_once_are_an_incident_and_on_one_they_are_none() {
    let server = Server::start();
    let of = |country: &'static str, blocked: u32| -> Vec<String> {
        (1..=6).map(|asn| days(country, asn, 9, |day, hour| asn <= blocked && day == 3 && hour < 5)).collect()
    };
    add(&server, &[of("IT", 6), of("FR", 1)].concat());
    let draft = one(&server, "IT").draft;
    assert_eq!((draft.start, draft.end), (hour(72), Some(hour(75))));
    assert_eq!((draft.networks.len(), draft.status, draft.severity), (6, Status::Resolved, Severity::Medium));
    assert_eq!(incidents(&server, "FR"), []);
}

/// Decision order-of-data: the result does not depend on which network comes first, also across the border of the
/// stored blocks (of 30 days).
#[test]
fn blocks_of_few_hours_come_out_the_same_in_any_order() {
    let parts: Vec<String> = (1..=4)
        .map(|asn| days("IT", asn, 44, |day, hour| asn <= 2 && (12..40).contains(&day) && (18..22).contains(&hour)))
        .collect();
    let drafts = |order: &[usize]| {
        let server = Server::start();
        for part in order {
            // Both halves, the later one first.
            let lines: Vec<&str> = parts[*part].lines().collect();
            let (early, late) = lines.split_at(lines.len() / 2);
            for half in [late, early] {
                add(&server, &[half.join("\n") + "\n"]);
                server.settle();
            }
        }
        let draft = one(&server, "IT").draft;
        (draft.start, draft.end, asns(&draft), draft.networks, draft.schedule, draft.declared)
    };
    let first = drafts(&[0, 1, 2, 3]);
    assert_eq!((first.0, first.1), (hour(12 * 24 + 18), Some(hour(39 * 24 + 21))));
    assert_eq!(first, drafts(&[3, 1, 2, 0]));
}
