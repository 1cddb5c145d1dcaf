//! One test for each decision that shapes answers.

use serde_json::{Value, json};

use super::{HEADER, Server, rows};
use crate::Timestamp;
use crate::import::{ImportKind, ListKind, Options};
use facts::starter::{self, known_blocks::KnownBlock};

/// The deployment's clock is at 2026-01-01 (plus a few seconds of timers).
const RECENT: &str = "2025-12-30";

fn server(parts: &[String]) -> Server {
    let server = Server::start();
    add(&server, parts);
    server
}

fn add(server: &Server, parts: &[String]) {
    let data = format!("{HEADER}{}", parts.concat());
    let summary = server.import(ImportKind::OoniObservations, Options::default(), data.as_bytes());
    assert!(summary.complete && summary.counts.refused + summary.counts.unusable == 0, "{summary:?}");
}

#[test]
fn the_country_answer_is_weighted_and_names_its_networks() {
    let server = server(&[
        rows("IT", 1, "example.org", RECENT, 0..8, true),
        rows("IT", 2, "example.org", RECENT, 0..8, false),
        rows("IT", 3, "example.org", RECENT, 0..8, false),
    ]);
    let answer = server.detect("IT", "example.org", None);
    assert_eq!((&answer["status"], &answer["scope"]), (&"accessible".into(), &"single".into()), "{answer}");
    assert_eq!((&answer["networksBlocked"], &answer["networksTested"]), (&1.into(), &3.into()));
    // The blocked network has most users: 4 times the addresses of the other networks together.
    let table = "asn,org,cc,ipv4_addresses\n1,Large,IT,16777216\n2,Small,IT,256\n3,Small too,IT,256\n";
    server.import(ImportKind::Asn, Options::default(), table.as_bytes());
    server.settle();
    let answer = server.detect("IT", "example.org", None);
    assert_eq!(answer["status"], "blocked", "{answer}");
    assert!(answer["blockedWeight"].as_f64().unwrap() > 0.9);
    assert_eq!(answer["isps"][0]["name"], "Large");
}

#[test]
fn no_measured_verdict_without_a_vote_in_30_days() {
    let server = server(&[rows("IT", 1, "example.org", "2025-11-01", 0..8, true)]);
    let answer = server.detect("IT", "example.org", None);
    assert_eq!((&answer["status"], &answer["basis"]), (&"unknown".into(), &"unmeasured".into()), "{answer}");
    assert_eq!(answer["lastChecked"], "2025-11-01T07:00:00.000Z");
    assert_eq!(answer["staleSince"], "2025-12-01T07:00:00.000Z");
    assert_eq!(answer["license"], "CC-BY-NC-SA-4.0", "of the measurement whose time it names");
    let then = server.detect("IT", "example.org", Some("2025-11-02"));
    assert_eq!((&then["status"], &then["evidenceCount"]), (&"blocked".into(), &8.into()), "{then}");
}

#[test]
fn as_of_knows_nothing_of_later_and_is_echoed() {
    let server = server(&[
        rows("IT", 1, "example.org", "2025-12-01", 0..8, false),
        rows("IT", 1, "example.org", "2025-12-28", 0..8, true),
    ]);
    let then = server.detect("IT", "example.org", Some("2025-12-10T00:00:00Z"));
    assert_eq!((&then["status"], &then["as_of"]), (&"accessible".into(), &"2025-12-10T00:00:00.000Z".into()));
    assert_eq!(server.detect("IT", "example.org", None)["status"], "blocked");
    for path in [
        "/v1/accessibility/check?country=IT&domain=example.org&as_of=2025-12-10",
        "/v1/accessibility/country/IT/summary?as_of=2025-12-10",
        "/v1/accessibility/service/telegram?as_of=2025-12-10",
        "/data/censorship-index.json?as_of=2025-12-10",
        "/v1/censorship-index?as_of=2025-12-10",
        "/v1/censorship-index/IT?as_of=2025-12-10",
        "/data/country/IT?as_of=2025-12-10",
        "/data/country/IT/isps?as_of=2025-12-10",
        "/data/domain/example.org?as_of=2025-12-10",
        "/data/domain/example.org/history?as_of=2025-12-10",
    ] {
        assert_eq!(server.ok(path)["as_of"], "2025-12-10T23:59:59.999Z", "{path}");
    }
    let (status, _) = server.get("/data/country/IT?as_of=yesterday");
    assert_eq!(status, 400);
}

#[test]
fn confidence_and_counts_mean_what_they_say() {
    let server =
        server(&[rows("IT", 1, "decided.org", RECENT, 0..8, true), rows("IT", 1, "thin.org", RECENT, 0..2, false)]);
    let decided = server.detect("IT", "decided.org", None);
    assert_eq!((&decided["basis"], &decided["evidenceCount"]), (&"measured".into(), &8.into()));
    assert!(decided["confidence"].as_f64().unwrap() > 0.5 && decided["evidenceStrength"].as_f64().unwrap() > 0.0);
    let thin = server.detect("IT", "thin.org", None);
    assert_eq!((&thin["status"], &thin["basis"]), (&"unknown".into(), &"measured".into()), "{thin}");
    assert_eq!((&thin["confidence"], &thin["evidenceCount"]), (&json!(0.0), &2.into()), "{thin}");
    let never = server.detect("IT", "never-measured.org", None);
    assert_eq!((&never["basis"], &never["confidence"]), (&"unmeasured".into(), &json!(0.0)));
    assert!(never["lastChecked"].as_str().unwrap().starts_with("2026-01-01"), "{never}");
}

fn list(server: &Server, kind: ListKind, date: &str, domains: &str) {
    let options = Options {
        country: Some("it".into()),
        list_kind: Some(kind),
        date: Timestamp::parse(date),
        ..Options::default()
    };
    let summary = server.import(ImportKind::Blocklist, options, domains.as_bytes());
    assert!(summary.complete, "{summary:?}");
}

#[test]
fn lists_speak_by_kind_and_age_and_measurements_win() {
    let server =
        server(&[rows("IT", 1, "open.org", RECENT, 0..8, false), rows("IT", 1, "thin.org", RECENT, 0..2, false)]);
    list(&server, ListKind::Official, "2025-06-01", "listed.org\nopen.org\nthin.org\n");
    list(&server, ListKind::Community, "2025-06-01", "community.org\n");
    list(&server, ListKind::Official, "2023-06-01", "expired.org\n");
    let expect = |target: &str, status: &str, basis: &str, listed: bool| {
        let answer = server.detect("IT", target, None);
        assert_eq!(
            (&answer["status"], &answer["basis"], &answer["listed"]),
            (&status.into(), &basis.into(), &listed.into()),
            "{answer}"
        );
        answer
    };
    let listed = expect("listed.org", "blocked", "known_list", true);
    assert_eq!((&listed["evidenceCount"], &listed["sources"]), (&0.into(), &json!(["known_list"])));
    assert!(listed["confidence"].as_f64().unwrap() <= 0.6);
    assert_eq!(listed["license"], "NOASSERTION", "of the list that decided (decision licence-and-removal)");
    assert_eq!(server.detect("IT", "open.org", None)["license"], "CC-BY-NC-SA-4.0", "of the measurements that decided");
    assert_eq!(listed["lastChecked"], "2025-06-01T00:00:00.000Z");
    expect("thin.org", "blocked", "known_list", true);
    expect("open.org", "accessible", "measured", true);
    expect("community.org", "unknown", "unmeasured", true);
    expect("expired.org", "unknown", "unmeasured", true);
    expect("other.org", "unknown", "unmeasured", false);
    let domain = server.ok("/data/domain/listed.org");
    assert_eq!((&domain["status"], &domain["blocked_in"][0]["basis"]), (&"blocked".into(), &"known_list".into()));
    assert_eq!(server.ok("/data/domain/community.org")["status"], "unknown");
    assert_eq!(server.ok("/data/domain/open.org")["status"], "accessible");
    let before = server.detect("IT", "listed.org", Some("2025-05-01"));
    assert_eq!((&before["status"], &before["listed"]), (&"unknown".into(), &false.into()), "{before}");
}

/// Country block lists with dates. The date of a row is since when the entry is in force; the date of the list is until
/// when it is vouched for.
#[test]
fn each_entry_of_a_list_keeps_its_own_date() {
    let server = Server::start();
    let text = "domain;authority;blocked_on\nold.org;x;2015-03-01\nnew.org;x;2025-05-20\nwhenever.org;x;spring\n\
        old.org;x;2016-01-01\n";
    list(&server, ListKind::Official, "2025-06-01", text);
    let at = |target: &str, time: &str| {
        let answer = server.detect("IT", target, Some(time));
        (answer["status"].as_str().unwrap().to_owned(), answer["lists"][0]["since"].clone())
    };
    let blocked = |since: Value| ("blocked".to_owned(), since);
    let unknown = || ("unknown".to_owned(), Value::Null);
    assert_eq!(at("old.org", "2026-01-01"), blocked("2015-03-01".into()), "in force since long ago is in force");
    assert_eq!(at("old.org", "2019-01-01"), blocked("2015-03-01".into()));
    assert_eq!(at("old.org", "2015-02-28"), unknown());
    assert_eq!(at("new.org", "2025-05-21"), blocked("2025-05-20".into()));
    assert_eq!(at("new.org", "2025-05-19"), unknown());
    assert_eq!(at("whenever.org", "2026-01-01"), blocked(Value::Null), "a date that cannot be read is not guessed");
    assert_eq!(at("whenever.org", "2025-05-31"), unknown());
    let now = server.detect("IT", "old.org", None);
    assert_eq!(
        (&now["lastChecked"], &now["lists"][0]["date"]),
        (&"2025-06-01T00:00:00.000Z".into(), &"2025-06-01".into())
    );
    // A later list without dates removes no date.
    list(&server, ListKind::Official, "2025-09-01", "old.org\n");
    assert_eq!(at("old.org", "2019-01-01"), blocked("2015-03-01".into()));
}

#[test]
fn starter_facts_answer_at_first_start_until_they_are_old() {
    let server = Server::start();
    let now = engine::testing::START;
    let known = |block: &&KnownBlock| block.confirmed_on <= now;
    let in_force = starter::known_blocks::all().iter().find(|block| known(block) && block.sets_status(now)).unwrap();
    let answer = server.detect(in_force.country, in_force.target, None);
    assert_eq!((&answer["status"], &answer["basis"]), (&"blocked".into(), &"known_list".into()), "{answer}");
    assert_eq!(answer["lists"][0]["kind"], "documented");
    let old = starter::known_blocks::all().iter().find(|block| !block.sets_status(now)).unwrap();
    let answer = server.detect(old.country, old.target, None);
    assert_eq!((&answer["status"], &answer["listed"]), (&"unknown".into(), &true.into()), "{answer}");
}

#[test]
fn a_service_is_blocked_when_an_essential_role_is() {
    let server = server(&[
        rows("IT", 1, "signal.org", RECENT, 0..8, true),
        rows("IT", 1, "cdn.signal.org", RECENT, 0..8, false),
        rows("IT", 1, "reddit.com", RECENT, 0..8, false),
        rows("IT", 1, "i.redd.it", RECENT, 0..8, true),
    ]);
    assert_eq!(server.detect("IT", "signal", None)["status"], "blocked");
    assert_eq!(server.detect("IT", "reddit", None)["status"], "accessible");
    let roles = server.detect("IT", "reddit", None);
    let media = roles["roles"].as_array().unwrap().iter().find(|role| role["key"] == "i.redd.it").unwrap().clone();
    assert_eq!((&media["status"], &media["essential"]), (&"blocked".into(), &false.into()));
    let service = server.ok("/v1/accessibility/service/signal");
    assert_eq!(service["countriesBlocking"].as_u64().map(|n| n >= 1), Some(true), "{service}");
    for url in ["https://WWW.Signal.org/download", "signal.org.", "www.signal.org"] {
        assert_eq!(server.detect("IT", url, None)["normalizedTarget"], "signal.org", "{url}");
    }
}

/// Telegram pool rows: HTTP over the pool works, or it times out after connecting; the data have no control.
fn pool(country: &str, asn: u32, start: &str, hours: std::ops::Range<i64>, blocked: bool) -> String {
    let start = Timestamp::parse(start).unwrap();
    let mut text = String::new();
    for hour in hours {
        let time = start.plus(hour * engine::time::HOUR);
        for ip in ["149.154.175.50", "149.154.167.51", "149.154.175.100"] {
            let failure = if blocked { "generic_timeout_error" } else { "" };
            text.push_str(&format!(
                "telegram,{country}{asn}{hour},,{time}-{asn},{time},{country},{asn},,{ip},80,1,,,,,http://{ip}:80/,{failure},\n"
            ));
        }
    }
    text
}

#[test]
fn success_in_another_country_is_a_control_and_without_any_a_rule_is_masked() {
    let server = server(&[pool("IT", 1, RECENT, 0..8, true)]);
    let alone = server.detect("IT", "telegram/pool", None);
    assert_eq!((&alone["status"], &alone["basis"]), (&"unknown".into(), &"measured".into()), "{alone}");
    add(&server, &[pool("FR", 7, RECENT, 0..3, false), pool("FR", 8, RECENT, 0..3, false)]);
    server.settle();
    let controlled = server.detect("IT", "telegram/pool", None);
    assert_eq!(controlled["status"], "blocked", "{controlled}");
    assert_eq!(controlled["technique"], "http.timeout");
}

#[test]
fn the_prior_is_the_median_of_at_least_five_other_countries() {
    let mut parts = vec![rows("IT", 1, "down.org", RECENT, 0..8, true)];
    for (asn, country) in (10..).zip(["FR", "DE", "ES", "PT", "GR", "MT"]) {
        parts.push(rows(country, asn, "down.org", RECENT, 0..8, true));
    }
    let server = server(&parts);
    let share = |server: &Server| server.detect("IT", "down.org", None)["isps"][0]["share"].as_f64().unwrap();
    let before = share(&server);
    server.0.advance(std::time::Duration::from_secs(2 * 3600));
    assert!(share(&server) > before + 0.02, "{before} {}", share(&server));
}

#[test]
fn a_site_that_is_down_is_unknown_with_a_reason_and_never_blocked() {
    let down = rows("IT", 1, "down.org", RECENT, 0..8, true).replace(",http-failure\n", ",false\n");
    let answer = server(&[down]).detect("IT", "down.org", None);
    assert_eq!((&answer["status"], &answer["reason"]), (&"unknown".into(), &"site_down".into()), "{answer}");
    assert_eq!((&answer["blocked"], &answer["evidenceCount"]), (&false.into(), &8.into()), "{answer}");
}

#[test]
fn witnesses_are_at_most_three_per_cell_and_lead_to_the_measurement() {
    let server = server(&[rows("IT", 1, "example.org", RECENT, 0..8, true)]);
    let check = server.ok("/v1/accessibility/check?domain=example.org&country=IT&explain=1");
    let role = &check["explanation"]["roles"][0];
    let witnesses = role["witnesses"].as_array().unwrap();
    assert_eq!(witnesses.len(), 3, "{role}");
    assert!(witnesses[0]["link"].as_str().unwrap().starts_with("https://explorer.ooni.org/m/"), "{role}");
    assert_eq!((&role["rules"][0]["rule"], &role["rules"][0]["count"]), (&"tls.reset.control_ok".into(), &8.into()));
    assert_eq!(check["explanation"]["rules_version"], crate::country::RULES_VERSION);
}

#[test]
fn the_sentence_has_numbers() {
    let server =
        server(&[rows("IT", 1, "example.org", RECENT, 0..8, true), rows("IT", 2, "example.org", RECENT, 0..8, false)]);
    let text = server.detect("IT", "example.org", None)["summary"].as_str().unwrap().to_owned();
    assert_eq!(
        text,
        "example.org is blocked in Italy by tls-reset on 1 of 2 networks with enough measurements (50% of them, each \
         weighing the same); newest measurement 30 Dec 2025."
    );
}

#[test]
fn a_withheld_network_counts_for_the_country_and_never_as_a_network() {
    let server = server(&[rows("IT", 0, "example.org", RECENT, 0..8, true)]);
    let answer = server.detect("IT", "example.org", None);
    assert_eq!((&answer["status"], &answer["evidenceCount"]), (&"unknown".into(), &8.into()), "{answer}");
    assert_eq!(answer["isps"], json!([]));
}

#[test]
fn index_and_country_data_are_cc_by_beside_the_licences_of_their_sources() {
    let server = server(&[rows("IT", 1, "example.org", RECENT, 0..8, true)]);
    for path in ["/data/censorship-index.json", "/data/country/IT"] {
        let body = server.ok(path);
        assert_eq!(body["license"], "https://creativecommons.org/licenses/by/4.0/", "{path}");
        assert_eq!(body["effectiveLicense"], "CC-BY-NC-SA-4.0", "{path}");
        let sources: Vec<&Value> = body["sourceLicenses"].as_array().unwrap().iter().collect();
        assert!(sources.iter().any(|row| row["source"] == "ooni"), "{path}");
    }
    assert_eq!(server.detect("IT", "example.org", None)["license"], "CC-BY-NC-SA-4.0");
    assert_eq!(server.detect("IT", "never.org", None)["license"], starter::LICENCE);
}

#[test]
fn a_measured_country_with_little_data_has_a_page_without_a_score() {
    let server = server(&[rows("IT", 1, "example.org", RECENT, 0..8, true)]);
    let page = server.ok("/data/country/IT");
    assert_eq!((&page["score"], &page["data"]["score"]), (&Value::Null, &Value::Null), "{page}");
    assert!(page["reason"].as_str().unwrap().contains("too little data"));
    assert_eq!(page["data"]["components"][3]["name"], "shutdown_load");
    assert!(page["data"]["components"][3]["missing"].is_string());
    let index = server.ok("/data/censorship-index.json");
    assert_eq!((&index["metadata"]["insufficientData"], &index["countries"]), (&1.into(), &json!([])), "{index}");
}

#[test]
fn a_well_measured_country_has_a_score_from_the_imported_global_list() {
    let domains: Vec<String> = (0..30).map(|n| format!("site{n}.org")).collect();
    let parts: Vec<String> =
        domains.iter().zip(0..).map(|(domain, n)| rows("IT", 1 + n % 2, domain, RECENT, 0..10, n < 15)).collect();
    let server = server(&parts);
    let list: String = domains.iter().map(|domain| format!("https://{domain}/,NEWS\n")).collect();
    let list = format!("url,category_code\n{list}");
    server.import(ImportKind::TestList, Options { list: Some("global".into()), ..Options::default() }, list.as_bytes());
    server.settle();
    let page = server.ok("/data/country/IT");
    let score = page["data"]["score"].as_u64().expect("a score");
    assert!((40..100).contains(&score), "{page}");
    assert_eq!(page["data"]["breadthList"], "global_list");
    assert_eq!(page["data"]["grade"], "C");
    let index = server.ok("/data/censorship-index.json");
    assert_eq!((&index["countries"][0]["code"], &index["countries"][0]["score"]), (&"IT".into(), &score.into()));
    assert!(index["countries"][0]["confidenceInterval"].is_array());
}

/// Decision answers-about-a-time: a page without recent data says until when there were data, and does not claim to be
/// of today.
#[test]
fn a_page_without_recent_data_says_since_when() {
    let server = server(&[rows("IT", 1, "example.org", "2025-06-01", 0..8, true)]);
    server.0.advance(std::time::Duration::from_secs(2 * 86_400));
    server.settle();
    let page = server.ok("/data/country/IT");
    assert_eq!(page["data"]["lastChecked"], "2025-06-01T07:00:00.000Z", "{page}");
    assert_eq!(page["staleSince"], "2025-07-01T07:00:00.000Z", "{page}");
    assert_eq!(page["ooni"]["lastUpdated"], "2025-06-01T07:00:00.000Z", "{page}");
    let then = server.ok("/data/country/IT?as_of=2025-06-02");
    assert!(then.get("staleSince").is_none() && then["data"]["domainsBlocked"] == 1, "{then}");
    // Every other answer about the country or the site says the same.
    for path in [
        "/v1/censorship-index/IT",
        "/data/country/IT/isps",
        "/v1/accessibility/country/IT/summary",
        "/v1/accessibility/check?domain=example.org&country=IT",
        "/v1/isp/index?country=IT",
        "/data/domain/example.org",
        "/data/domain/example.org/history",
        "/data/domain/example.org/history?country=IT",
    ] {
        let old = server.ok(path);
        let times = (&old["lastChecked"], &old["staleSince"]);
        assert_eq!(times, (&"2025-06-01T07:00:00.000Z".into(), &"2025-07-01T07:00:00.000Z".into()), "{path}: {old}");
        let mark = if path.contains('?') { '&' } else { '?' };
        let then = server.ok(&format!("{path}{mark}as_of=2025-06-02"));
        assert!(then.get("staleSince").is_none() && then["lastChecked"].is_string(), "{path}: {then}");
    }
    // A target that was never measured has no such time, but it has a licence.
    let never = server.ok("/data/domain/unknown-nowhere.example");
    assert!(never["lastChecked"].is_null() && never.get("staleSince").is_none(), "{never}");
    assert_eq!(never["license"], "CC-BY-4.0", "{never}");
}

/// Decision answers-about-a-time: the same for a platform whose messaging services age sooner.
#[test]
fn a_platform_without_recent_data_says_since_when() {
    let server = server(&[rows("IT", 1, "web.telegram.org", "2025-06-01", 0..8, true)]);
    server.0.advance(std::time::Duration::from_secs(2 * 86_400));
    server.settle();
    let seen = "2025-06-01T07:00:00.000Z";
    let risk = server.ok("/v1/platform/telegram/risk/IT");
    assert_eq!((&risk["lastSeen"], &risk["lastChecked"]), (&seen.into(), &seen.into()), "{risk}");
    assert_eq!(risk["staleSince"], "2025-06-15T07:00:00.000Z", "{risk}");
    let service = server.ok("/v1/accessibility/service/telegram");
    let row = service["countries"].as_array().unwrap().iter().find(|row| row["country"] == "IT").unwrap();
    assert_eq!((&row["lastChecked"], &row["staleSince"]), (&seen.into(), &"2025-06-15T07:00:00.000Z".into()), "{row}");
    assert_eq!(server.ok("/v1/accessibility/service/signal")["license"], "CC-BY-4.0", "of what nobody measured");
}

/// Decision keys-and-roles: among a platform's hosts, each network counts once, with the host that says most. The list
/// of countries and the answer about one of them have the same share.
#[test]
fn a_platform_has_the_same_rate_in_the_list_and_in_the_answer_about_a_country() {
    let both = |asn: u32| {
        [rows("IT", asn, "x.com", RECENT, 0..12, true), rows("IT", asn, "twitter.com", RECENT, 0..12, false)].concat()
    };
    let server = server(&[both(1), both(2), rows("IT", 3, "twitter.com", RECENT, 0..12, false)]);
    let list = server.ok("/v1/platform/twitter/risk");
    let one = server.ok("/v1/platform/twitter/risk/IT");
    assert_eq!(list["blockedIn"][0]["country"], "IT", "{list}");
    assert_eq!((&list["blockedIn"][0]["blockRate"], &one["status"]), (&one["blockRate"], &"blocked".into()), "{one}");
    assert_eq!(one["blockRate"], 0.6667, "{one}");
}
