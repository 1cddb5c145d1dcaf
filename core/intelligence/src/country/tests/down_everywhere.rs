//! A site that fails in most countries at once is down. Nobody blocks it then, whatever the measurements of one country
//! alone say. A block in one country at another time is still found.

use futures_util::FutureExt;
use http::Method;

use super::incidents::{add, asns, incidents, one, server};
use super::{ADMIN, Server, rows};
use crate::Timestamp;
use crate::incidents::{Draft, ReadChanges, actor};
use crate::testing::PROGRAM;
use engine::actor::{ActorId, Kind};
use engine::runtime::query;
use engine::testing::Dice;
use engine::time::HOUR;
use relay::testing::TestRuntime;

/// A service, whose tests have no control, and a site, whose control saw no failure.
const TARGETS: [&str; 2] = ["web.telegram.org", "gazette.example"];
/// The table of rates elsewhere.
const PRIORS: u8 = 28;
const COUNTRIES: [&str; 7] = ["IT", "FR", "DE", "ES", "SE", "FI", "PL"];

/// Hourly measurements on three networks, of which some fail.
fn hourly(country: &str, host: &str, hours: i64, fails: impl Fn(u32, i64) -> bool) -> String {
    let one = |asn, hour| rows(country, asn, host, "2025-11-01", hour..hour + 1, fails(asn, hour));
    (1..=3).flat_map(|asn| (0..hours).map(move |hour| (asn, hour))).map(|(asn, hour)| one(asn, hour)).collect()
}

/// Down everywhere from noon of the sixth day for a day and a half; blocked in Italy from the tenth day on.
fn out_of_order(host: &str, country: &str) -> String {
    hourly(country, host, 400, |_, hour| (132..168).contains(&hour) || (country == "IT" && (240..312).contains(&hour)))
}

/// Names of everything that was ever reported about a country.
fn reported(server: &Server, country: &str) -> Vec<String> {
    let all = ReadChanges { since: Timestamp::MIN, limit: 1_000 };
    let changed = query(&*server.0, &actor().name, &all).now_or_never().unwrap().unwrap();
    let ids = changed.incidents.into_iter().map(|written| written.id.to_string());
    ids.filter(|id| id.starts_with(country)).collect()
}

/// Countries publish some time after an import, as they do outside of tests.
fn unhurried() -> Server {
    Server(TestRuntime::start(&PROGRAM, &[("admin_key", ADMIN), ("publish_interval", "10")]))
}

fn settle(server: &Server) {
    server.0.advance(std::time::Duration::from_secs(7_200));
}

fn dates(draft: &Draft) -> (String, Option<String>) {
    (draft.start.to_string(), draft.end.map(|end| end.to_string()))
}

#[test]
fn what_is_out_of_order_everywhere_is_no_block_anywhere_and_never_reported_as_one() {
    for host in TARGETS {
        let parts: Vec<String> = COUNTRIES.iter().map(|country| out_of_order(host, country)).collect();
        let server = unhurried();
        add(&server, &parts);
        settle(&server);
        for country in &COUNTRIES[1..] {
            assert_eq!(reported(&server, country), Vec::<String>::new(), "{host} {country}");
        }
        let block = one(&server, "IT").draft;
        assert_eq!(
            dates(&block),
            ("2025-11-11T00:00:00.000Z".into(), Some("2025-11-13T23:00:00.000Z".into())),
            "{host}"
        );
        let during = server.detect("FR", host, Some("2025-11-07T06:00:00Z"));
        assert_ne!(during["status"], "blocked", "{during}");
        assert_eq!(server.detect("IT", host, Some("2025-11-12T06:00:00Z"))["status"], "blocked", "{host}");
    }
}

/// Decision order-of-data: the countries may come one after the other. What looked like a block before the other
/// countries came is withdrawn.
#[test]
fn what_turns_out_to_be_out_of_order_everywhere_is_withdrawn_in_any_order() {
    let host = TARGETS[1];
    for order in [[0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0]] {
        let server = Server::start();
        let during = |country| server.detect(country, host, Some("2025-11-07T06:00:00Z"))["status"].clone();
        for (count, at) in order.into_iter().enumerate() {
            add(&server, &[out_of_order(host, COUNTRIES[at])]);
            settle(&server);
            if count == 0 {
                assert!(!incidents(&server, COUNTRIES[at]).is_empty(), "as far as one country tells it is a block");
                assert_eq!(during(COUNTRIES[at]), "blocked");
            }
        }
        // This also holds if nothing was measured since: the earlier answer is not repeated.
        assert_ne!(during(COUNTRIES[order[0]]), "blocked");
        for country in &COUNTRIES[1..] {
            assert_eq!(incidents(&server, country), [], "{country}");
        }
        let block = one(&server, "IT").draft;
        assert_eq!((asns(&block), dates(&block).0), (vec![1, 2, 3], "2025-11-11T00:00:00.000Z".to_owned()));
    }
}

/// Without the measurements of the other countries nobody can tell, so the sites are blocks again.
#[test]
fn a_removed_source_takes_along_what_it_said_of_other_countries() {
    let host = TARGETS[1];
    let parts: Vec<String> = COUNTRIES[1..].iter().map(|country| out_of_order(host, country)).collect();
    let server = server(&parts);
    settle(&server);
    assert_eq!(incidents(&server, "FR"), []);
    let dropped = server.request(Method::DELETE, "/v1/admin/sources/ooni", &[("x-admin-key", ADMIN)], b"");
    assert_eq!(dropped.status, 200);
    settle(&server);
    let of_host = |(key, _): &(Vec<u8>, Vec<u8>)| key.windows(host.len()).any(|part| part == host.as_bytes());
    assert_eq!(server.0.rows(&crate::world::actor()).iter().filter(|row| of_host(row)).count(), 0);
    add(&server, &parts[..1]);
    settle(&server);
    assert_eq!(one(&server, "FR").draft.domains, [host]);
}

/// The order and the splits of imports change nothing, so a rate elsewhere counts however small each of its steps was.
#[test]
fn a_rate_elsewhere_that_came_in_small_steps_counts_like_one_that_came_at_once() {
    let host = TARGETS[1];
    // 11.1% of failures, and 12.7% with the later ones. Votes are weighed with 10% for the one and 15% for the other.
    let part = |country: &&str, hours: std::ops::Range<i64>, every: i64| -> String {
        let one = |asn: u32, hour: i64| {
            let fails = (hour * 3 + i64::from(asn)) % every == 0;
            rows(country, asn, host, "2025-12-10", hour..hour + 1, fails)
        };
        (1..=3).flat_map(|asn| hours.clone().map(move |hour| (asn, hour))).map(|(asn, hour)| one(asn, hour)).collect()
    };
    let early: Vec<String> = COUNTRIES.iter().map(|country| part(country, 0..240, 9)).collect();
    let late: Vec<String> = COUNTRIES.iter().map(|country| part(country, 240..480, 7)).collect();
    let (split, whole) = (server(&early), server(&[early.concat(), late.concat()]));
    settle(&split);
    settle(&whole);
    let rates = |server: &Server| {
        let rows = server.0.rows(&ActorId::new(Kind::Country, "IT"));
        rows.into_iter().filter(|(key, _)| key[0] == PRIORS).collect::<Vec<_>>()
    };
    let before = rates(&split);
    assert_eq!(before.len(), 1);
    add(&split, &late);
    settle(&split);
    assert_ne!(rates(&split), before);
    assert_eq!(rates(&split), rates(&whole));
    let answers = [&split, &whole].map(|server| server.detect("IT", host, Some("2025-12-29T22:00:00Z")));
    assert_eq!(answers[0], answers[1]);
}

/// A site that fails now and then in all countries is not an incident in any of them each time a few failures coincide.
#[test]
fn what_often_fails_everywhere_is_rarely_a_block_anywhere() {
    let host = TARGETS[1];
    let flaky = |country: &str, seed: u64| {
        let mut dice = Dice(seed);
        let fails: Vec<bool> = (0..3 * 720).map(|_| dice.share() < 0.12).collect();
        hourly(country, host, 720, |asn, hour| fails[hour as usize * 3 + asn as usize - 1])
    };
    let mut alone = 0;
    let together = Server::start();
    for (country, seed) in COUNTRIES.into_iter().zip(1..) {
        let part = flaky(country, seed);
        let server = server(std::slice::from_ref(&part));
        settle(&server);
        alone += incidents(&server, country).len();
        add(&together, &[part]);
    }
    settle(&together);
    let all: usize = COUNTRIES.iter().map(|country| incidents(&together, country).len()).sum();
    assert!(all * 4 <= alone, "{all} with the others, {alone} each alone");
}

/// Decision controls-from-peers: the same site on other networks is a control, also in other countries. If the test
/// helpers are blocked, there is no other control.
#[test]
fn a_site_that_all_networks_block_has_a_control_in_other_countries() {
    let host = TARGETS[1];
    let blocked = |country: &str| {
        let part = hourly(country, host, 400, |_, _| true);
        part.replace("http-failure\n", "\n")
    };
    let alone = server(&[blocked("IT")]);
    settle(&alone);
    assert_eq!(incidents(&alone, "IT"), [], "nobody knows whether it works anywhere");
    let others =
        |countries: &[&str]| countries.iter().map(|of| hourly(of, host, 400, |_, _| false)).collect::<String>();
    // One country is not evidence of two networks.
    add(&alone, &[others(&["FR"])]);
    settle(&alone);
    assert_eq!(incidents(&alone, "IT"), []);
    add(&alone, &[others(&["DE"])]);
    settle(&alone);
    let together = server(&[others(&["FR", "DE"]), blocked("IT")]);
    settle(&together);
    for server in [alone, together] {
        let block = one(&server, "IT").draft;
        assert_eq!(dates(&block), ("2025-11-01T00:00:00.000Z".into(), Some("2025-11-17T15:00:00.000Z".into())));
        assert_eq!(server.detect("IT", host, Some("2025-11-12T06:00:00Z"))["status"], "blocked");
    }
}

/// Series are stored in blocks of 30 days. The beginning of such a block (2025-11-08) must not show in answers, nor
/// that a block is young.
#[test]
fn an_outage_over_the_border_of_stored_blocks_or_still_going_on_is_none() {
    const BORDER: i64 = 168;
    for (hours, until) in [
        (BORDER - 2..BORDER + 1, 400),
        (BORDER - 5..BORDER + 30, 400),
        // It goes on, and lasts as long as the stored block.
        (BORDER..BORDER + 60, BORDER + 60),
        (BORDER - 20..BORDER + 150, BORDER + 150),
        (BORDER + 7..BORDER + 150, BORDER + 150),
    ] {
        let part = |country: &&str| hourly(country, TARGETS[1], until, |_, hour| hours.contains(&hour));
        let server = unhurried();
        add(&server, &COUNTRIES.iter().map(part).collect::<Vec<_>>());
        settle(&server);
        let at = Timestamp::parse("2025-11-01").unwrap().plus(until * HOUR).to_string();
        for country in COUNTRIES {
            assert_eq!(reported(&server, country), Vec::<String>::new(), "{hours:?} {country}");
            let now = server.detect(country, TARGETS[1], Some(&at));
            assert_ne!(now["status"], "blocked", "{hours:?} {now}");
        }
    }
}

/// An outage is not reported as a part of a block that began on the same days.
#[test]
fn an_outage_does_not_join_a_block_before_it_was_compared() {
    let (blocked, down) = ("chronicle.example", TARGETS[1]);
    let server = unhurried();
    add(&server, &COUNTRIES.map(|country| hourly(country, blocked, 300, |_, hour| country == "IT" && hour >= 240)));
    settle(&server);
    let before = one(&server, "IT");
    add(&server, &COUNTRIES.map(|country| hourly(country, down, 300, |_, hour| (250..280).contains(&hour))));
    for _ in 0..60 {
        server.0.advance(std::time::Duration::from_secs(10));
        assert_eq!(one(&server, "IT").draft.domains, before.draft.domains);
    }
    settle(&server);
    assert_eq!(one(&server, "IT").version, before.version);
}

/// A country that is asked answers, even about a month in which it measured nothing.
#[test]
fn a_country_that_measured_now_and_then_holds_up_no_answer() {
    let part = |country: &str, start: &str, blocked: bool| -> String {
        let one =
            |asn, hour| rows(country, asn, TARGETS[1], start, hour..hour + 1, blocked && (48..96).contains(&hour));
        (1..=3).flat_map(|asn| (0..120).map(move |hour| one(asn, hour))).collect()
    };
    let server = unhurried();
    let parts = [
        part("IT", "2025-09-12", true),
        part("IT", "2025-11-12", true),
        part("FR", "2025-09-12", false),
        part("FR", "2025-12-10", false),
    ];
    add(&server, &parts);
    // Less time than an answer is waited for.
    server.0.advance(std::time::Duration::from_secs(1_500));
    assert_eq!(incidents(&server, "IT").len(), 2);
}

/// A true block, and then an outage within 30 days. The outage is compared too before it is reported.
#[test]
fn a_second_alarm_waits_for_an_answer_of_its_own() {
    let host = TARGETS[1];
    let server = unhurried();
    let blocked = |country: &str, hour: i64| country == "IT" && (192..216).contains(&hour);
    let early = |country: &&str| hourly(country, host, 290, |_, hour| blocked(country, hour));
    let all =
        |country: &&str| hourly(country, host, 400, |_, hour| blocked(country, hour) || (300..330).contains(&hour));
    add(&server, &COUNTRIES.iter().map(early).collect::<Vec<_>>());
    settle(&server);
    let block = one(&server, "IT").id;
    add(&server, &COUNTRIES.iter().map(all).collect::<Vec<_>>());
    settle(&server);
    for country in COUNTRIES {
        let expected = if country == "IT" { vec![block.to_string()] } else { Vec::new() };
        assert_eq!(reported(&server, country), expected, "{country}");
    }
}
