//! Scores of the days before the server knew a country.

use std::time::Duration;

use http::Method;
use serde_json::Value;

use super::{ADMIN, HEADER, Server, rows};
use crate::Timestamp;
use crate::testing::PROGRAM;
use engine::runtime::Runtime;
use engine::time::{DAY, HOUR};
use facts::starter::basket;
use relay::testing::TestRuntime;

/// Days in a history.
const DAYS: i64 = 30;

/// Measurements of so many sites of the basket on four networks, every three hours, on whole days before the present
/// one. On the first `blocked` sites, half of the networks reset the connection.
fn piece(now: Timestamp, days: std::ops::Range<i64>, sites: usize, blocked: usize) -> String {
    let mut text = HEADER.to_owned();
    let midnight = Timestamp(now.day() * DAY);
    for back in days {
        let start = midnight.plus(-back * DAY);
        for (at, site) in basket::all().iter().take(sites).enumerate() {
            for asn in 1..=4 {
                for time in [0, 3, 6, 9].map(|hour| start.plus(hour * HOUR).to_string()) {
                    text += &rows("IT", asn, site.domain, &time, 0..1, at < blocked && asn <= 2);
                }
            }
        }
    }
    text
}

fn upload(server: &Server, text: &str) {
    let (status, body) = server.upload("ooni-observations", text.as_bytes());
    assert_eq!(status, 200, "{body}");
    for _ in 0..30 {
        server.settle();
    }
}

fn history(server: &Server) -> Vec<(String, Value)> {
    let mut body = server.ok("/hydra/v1/threat-level/it?includeHistory=true");
    let days = body["history"].as_array_mut().unwrap();
    assert_eq!(days.len(), DAYS as usize);
    days.iter_mut().map(|day| (day["date"].as_str().unwrap().to_owned(), day["score"].take())).collect()
}

/// What the page of the country says about the end of each day.
fn pages(server: &Server) -> Vec<(String, Value)> {
    let days = history(server).into_iter().map(|(date, _)| date);
    days.map(|date| {
        let score = server.ok(&format!("/data/country/IT?as_of={date}T23:59:59Z"))["score"].take();
        (date, score)
    })
    .collect()
}

/// 30 days of history, including those that were imported before the server ran.
#[test]
fn the_days_of_an_imported_history_have_the_scores_that_their_pages_have() {
    let server = Server::start();
    let now = server.0.now();
    upload(&server, &piece(now, 1..9, 25, 3));
    let first = history(&server);
    assert_eq!(first, pages(&server));
    let known = first.iter().filter(|(_, score)| !score.is_null()).count();
    assert_eq!(known, 9, "eight days and today: {first:?}");
    // Older days come later, and more of a day that is known. On those days more was blocked.
    upload(&server, &piece(now, 9..20, 25, 12));
    upload(&server, &piece(now, 4..5, 40, 1));
    let all = history(&server);
    assert_eq!(all, pages(&server));
    assert_eq!(all.iter().filter(|(_, score)| !score.is_null()).count(), 20, "{all:?}");
    assert!(all[15].1.as_f64() > all[28].1.as_f64(), "{all:?}");
    assert!(first.iter().zip(&all).any(|(before, after)| !before.1.is_null() && before != after), "{all:?}");
}

/// One late measurement has all targets judged, so a large import must not have them judged while it goes on.
#[test]
fn past_days_of_an_import_in_pieces_are_judged_once_when_all_have_come() {
    let server = Server(TestRuntime::start(&PROGRAM, &[("admin_key", ADMIN), ("publish_interval", "10")]));
    let start = server.0.now();
    let known = || history(&server).iter().filter(|(_, score)| !score.is_null()).count();
    for back in 1..9 {
        let (status, body) = server.upload("ooni-observations", piece(start, back..back + 1, 25, 3).as_bytes());
        assert_eq!(status, 200, "{body}");
        server.0.advance(Duration::from_secs(40));
        assert!(known() <= 1, "after {back} pieces");
    }
    server.0.advance(Duration::from_secs(150));
    assert_eq!(known(), 9);
    server.0.deeds();
    server.0.advance(Duration::from_secs(3_600));
    let judged = server.0.deeds().into_iter().filter(|(_, deed)| deed.contains("past_days")).count();
    assert_eq!(judged, 0);
}

/// Decision order-of-data: the same measurements may come in any pieces.
#[test]
fn past_days_are_the_same_in_whatever_pieces_their_measurements_come() {
    let (whole, split) = (Server::start(), Server::start());
    let now = whole.0.now();
    upload(&whole, &piece(now, 1..7, 25, 5));
    for days in [3..5, 1..3, 5..7, 2..4] {
        upload(&split, &piece(now, days, 25, 5));
    }
    assert_eq!(history(&whole), history(&split));
}

/// Decision licence-and-removal: nothing of a removed source is left in the past days.
#[test]
fn no_past_day_rests_on_a_removed_source() {
    let server = Server::start();
    let now = server.0.now();
    upload(&server, &piece(now, 1..7, 25, 5));
    assert!(history(&server).iter().any(|(_, score)| !score.is_null()));
    let answer = server.request(Method::DELETE, "/v1/admin/sources/ooni", &[("x-admin-key", ADMIN)], b"");
    assert_eq!(answer.status, 200);
    for _ in 0..30 {
        server.settle();
    }
    assert!(history(&server).iter().all(|(_, score)| score.is_null()));
}

/// What the server saw of a day stays, whatever data come later.
#[test]
fn days_that_the_server_saw_keep_the_score_that_it_gave_them() {
    let server = Server::start();
    upload(&server, &piece(server.0.now(), 1..4, 25, 5));
    let today = history(&server).pop().unwrap();
    server.0.advance(std::time::Duration::from_secs(3 * 86_400));
    upload(&server, &piece(server.0.now(), 3..4, 40, 25));
    let later = history(&server);
    assert_eq!(later[26], today, "{later:?}");
    assert_ne!(later[29].1, today.1, "{later:?}");
}

/// The six days of one import, compared with the pages about them.
fn check(server: &Server) {
    let history = history(server);
    assert_eq!(history, pages(server));
    assert!(history.iter().any(|(_, score)| !score.is_null()), "{history:?}");
}

/// The other inputs of a day's verdicts: weights of networks, late rows of known measurements, reported shutdowns.
#[test]
fn past_days_follow_all_that_their_verdicts_rest_on() {
    let server = Server::start();
    let now = server.0.now();
    upload(&server, &piece(now, 1..7, 25, 5));
    check(&server);
    let before = history(&server);
    let weights = "asn,org,cc,ipv4_addresses\n1,One,IT,100000000\n2,Two,IT,10\n3,Three,IT,10\n4,Four,IT,10\n";
    let (status, body) = server.upload("asn", weights.as_bytes());
    assert_eq!(status, 200, "{body}");
    upload(&server, HEADER);
    check(&server);
    assert_ne!(history(&server), before, "one network is nearly all there is");
    // A late row of known measurements says that the connections were reset.
    upload(&server, &piece(now, 3..4, 25, 25));
    check(&server);
    let day = |back: i64| now.plus(-back * DAY).to_date_text();
    let shutdowns = format!(
        "start_date,end_date,country,area_name,geo_scope,shutdown_type,shutdown_extent,actual_cause\n\
         {},{},Italy,,,Shutdown,Full network,Protests\n",
        day(300),
        day(200)
    );
    let before = history(&server);
    let (status, body) = server.upload("shutdowns", shutdowns.as_bytes());
    assert_eq!(status, 200, "{body}");
    upload(&server, HEADER);
    check(&server);
    assert_ne!(history(&server), before, "the index has a part for shutdowns");
}

/// Decision failing-elsewhere: control sites that failed on some days count for the networks on those days only.
#[test]
fn control_sites_that_fail_later_say_nothing_of_earlier_days() {
    let server = Server::start();
    let now = server.0.now();
    let mut list = "url,category_code,category_description,date_added,source,notes\n".to_owned();
    list += "https://control.example/,CTRL,,2024-01-01,,\n";
    basket::all().iter().take(25).for_each(|site| list += &format!("https://{}/,NEWS,,2024-01-01,,\n", site.domain));
    let (status, body) = server.upload("test-list", list.as_bytes());
    assert_eq!(status, 200, "{body}");
    upload(&server, &piece(now, 1..9, 25, 3));
    let mut text = HEADER.to_owned();
    for back in 1..9 {
        let start = Timestamp((now.day() - back) * DAY).to_string();
        (1..=4).for_each(|asn| text += &rows("IT", asn, "control.example", &start, 12..20, back <= 2));
    }
    upload(&server, &text);
    check(&server);
}

/// Decision index-with-little-data: known lists never enter the index.
#[test]
fn a_site_that_only_a_list_decides_counts_on_no_day() {
    let server = Server::start();
    let now = server.0.now();
    let sites: Vec<&str> = basket::all().iter().take(20).map(|site| site.domain).collect();
    let mut text = piece(now, 1..5, 19, 2);
    let start = Timestamp((now.day() - 3) * DAY).to_string();
    text += &rows("IT", 1, sites[19], &start, 0..1, false);
    upload(&server, &text);
    let before = history(&server);
    assert_eq!(before, pages(&server));
    let date = now.plus(-20 * DAY).to_date_text();
    let query = format!("blocklist?country=IT&list_kind=official&date={date}");
    let (status, body) = server.upload(&query, format!("{}\n", sites[19]).as_bytes());
    assert_eq!(status, 200, "{body}");
    upload(&server, HEADER);
    assert_eq!(history(&server), pages(&server));
    let none = |days: &[(String, Value)]| days.iter().all(|(_, score)| score.is_null());
    assert!(none(&before) && none(&history(&server)), "nineteen sites are too few, and the list makes no twentieth");
    upload(&server, &(HEADER.to_owned() + &rows("IT", 2, sites[19], &start, 0..8, false)));
    let after = history(&server);
    assert!(!none(&after), "{after:?}");
    assert_eq!(after, pages(&server));
}

fn trend(server: &Server) -> (Value, Value) {
    let mut body = server.ok("/hydra/v1/threat-level/it");
    (body["trend"].take(), body["trendDelta"].take())
}

/// A list of forty sites of the basket. So many of them are political speech.
fn list(server: &Server, political: usize) {
    let mut list = "url,category_code,category_description,date_added,source,notes\n".to_owned();
    for (at, site) in basket::all().iter().take(40).enumerate() {
        let category = if at < political { "POLR" } else { "SHOP" };
        list += &format!("https://{}/,{category},,2024-01-01,,\n", site.domain);
    }
    let (status, body) = server.upload("test-list", list.as_bytes());
    assert_eq!(status, 200, "{body}");
    upload(server, HEADER);
}

#[test]
fn a_list_with_other_sites_is_no_trend() {
    let server = Server::start();
    let now = server.0.now();
    list(&server, 0);
    upload(&server, &piece(now, 1..20, 40, 20));
    assert_eq!(trend(&server), ("stable".into(), 0.0.into()));
    let before = history(&server);
    // The server saw none of these days, so all of them are judged again with the new list.
    list(&server, 20);
    let after = history(&server);
    assert_eq!(after, pages(&server));
    assert_ne!(before, after, "the list is in the score");
    assert_eq!(trend(&server), ("stable".into(), 0.0.into()));
    // Of the days that it saw, only those with the same list are compared.
    server.0.advance(std::time::Duration::from_secs(86_400));
    list(&server, 40);
    let last = history(&server).pop().unwrap().1;
    assert_ne!(after[29].1, last);
    assert_eq!(trend(&server), ("stable".into(), Value::Null));
}
