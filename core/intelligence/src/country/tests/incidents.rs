//! From measurements to incidents, end to end.

use std::fmt::Write;

use futures_util::FutureExt;
use http::Method;

use super::{ADMIN, HEADER, Server, rows};
use crate::Timestamp;
use crate::country::changes::FOUND_ROWS;
use crate::import::{ImportKind, Options};
use crate::incidents::{
    self, Draft, EvidenceOf, EvidenceRow, Filter, FindIncident, Incident, IncidentType, ReadChanges, Select, Severity,
    Status,
};
use engine::actor::{ActorId, Kind};
use engine::kv::decode_row;
use engine::runtime::query;
use engine::testing::Dice;
use engine::testing::real_data;
use engine::time::{DAY, HOUR};
use facts::change::merge::BlockingEvent;

pub(super) fn incidents(server: &Server, country: &str) -> Vec<Incident> {
    let filter = Filter { country: Some(country.to_owned()), ..Filter::default() };
    let all = Select { filter, offset: 0, limit: u32::MAX };
    query(&*server.0, &incidents::actor().name, &all).now_or_never().unwrap().unwrap().incidents
}

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

pub(super) fn add(server: &Server, parts: &[String]) {
    let data = format!("{HEADER}{}", parts.concat());
    let summary = server.import(ImportKind::OoniObservations, Options::default(), data.as_bytes());
    assert!(summary.complete && summary.counts.refused + summary.counts.unusable == 0, "{summary:?}");
}

pub(super) fn server(parts: &[String]) -> Server {
    let server = Server::start();
    add(&server, parts);
    server
}

/// The only incident of a country.
#[track_caller]
pub(super) fn one(server: &Server, country: &str) -> Incident {
    let mut found = incidents(server, country);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

pub(super) fn asns(draft: &Draft) -> Vec<u32> {
    draft.networks.iter().map(|network| network.asn).collect()
}

const TELEGRAM: &str = "ooni/observations_KE_2023_telegram.csv.gz";
const WEB: &str = "ooni/observations_KE_2023_web_connectivity.csv.gz";

fn grade_kenya(server: &Server) -> Incident {
    let one = one(server, "KE");
    let draft = &one.draft;
    assert_eq!(draft.subject, "telegram");
    let asns = asns(draft);
    for asn in [33_771, 12_455, 37_061] {
        assert!(asns.contains(&asn), "AS{asn} is not among {asns:?}");
    }
    assert!(asns.iter().all(|asn| [33_771, 12_455, 37_061, 36_926].contains(asn)), "{asns:?}");
    let near = |at: Timestamp, truth: &str| at.since(time(truth)).abs() <= 48 * HOUR;
    assert!(near(draft.start, "2023-11-08T00:00:00Z"), "{}", draft.start);
    assert!(draft.end.is_some_and(|end| near(end, "2023-11-24T00:00:00Z")), "{:?}", draft.end);
    assert_eq!(
        (draft.kind, draft.status, draft.severity),
        (IncidentType::Censorship, Status::Resolved, Severity::High)
    );
    one
}

/// The events that the country found, before they become reports.
fn found(server: &Server, country: &str) -> Vec<BlockingEvent> {
    let range = FOUND_ROWS.range();
    let rows = server.0.rows(&ActorId::new(Kind::Country, country)).into_iter();
    rows.filter(|(key, _)| range.contains(key)).map(|(_, value)| decode_row(&value).unwrap()).collect()
}

/// Decisions kenya-proof, incident-dates and incident-grades: one incident with its networks and dates, from either of
/// the two files and from both.
#[test]
fn kenya_2023_is_one_incident() {
    let Some(telegram) = real_data(TELEGRAM) else { return };
    let Some(web) = real_data(WEB) else { return };
    let server = Server::start();
    server.import(ImportKind::OoniObservations, Options::default(), &telegram);
    let first = grade_kenya(&server);
    server.import(ImportKind::OoniObservations, Options::default(), &web);
    let both = grade_kenya(&server);
    assert_eq!(first.id, both.id);
    assert!(both.draft.schedule.as_ref().is_some_and(|words| words.starts_with("weekdays 04-")), "{:?}", both.draft);
    let ids = EvidenceOf { ids: both.draft.evidence_ids.clone() };
    let evidence = query(&*server.0, &incidents::actor().name, &ids).now_or_never().unwrap().unwrap();
    assert!(evidence.len() > 20);
    // Each blocked vote counts once, however many of the service's hosts it is about.
    let blocked: u64 = both.draft.networks.iter().map(|network| u64::from(network.blocked)).sum();
    assert_eq!(both.draft.evidence_total, blocked.min(both.draft.measurements), "{:#?}", both.draft.networks);
    let link =
        |row: &EvidenceRow| row.permalink.as_ref().is_some_and(|link| link.starts_with("https://explorer.ooni.org/m"));
    assert!(evidence.iter().all(|row| row.kind == "measurement" && link(row)), "{evidence:#?}");
    // Each row says what its own measurement says, and not what is most common on its network.
    for signal in ["http-blocking-timeout", "dns-blocking"] {
        let says = |row: &&EvidenceRow| row.signal_type.as_deref() == Some(signal);
        assert!(evidence.iter().filter(says).any(|row| row.asn == Some(12_455)), "{signal}");
    }
    assert!(evidence.iter().any(|row| row.observed_at.0 % HOUR != 0), "times are those of the measurements");
    let found = found(&server, "KE");
    let [found] = found.as_slice() else { panic!("{found:?}") };
    let hours = |hour: i64, truth: &str| hour - time(truth).hour();
    let declared = hours(found.declared, "2023-11-08T00:00:00Z");
    let resolved = hours(found.resolved.unwrap(), "2023-11-24T00:00:00Z");
    println!("declared {declared} h after the start, resolved {resolved} h after the end");
    println!("{} - {:?}: {:?} {:#?}", both.draft.start, both.draft.end, both.draft.schedule, both.draft.networks);
    assert!((-48..=120).contains(&declared) && (0..=120).contains(&resolved), "{declared} {resolved}");
    // The vote that resolves the incident is the first one 96 h after the last blocked vote, not the end of some later
    // day.
    let (end, over) = (both.draft.end.unwrap(), both.draft.resolved.unwrap());
    assert!((96 * HOUR..=100 * HOUR).contains(&over.since(end)), "last blocked {end}, resolved {over}");
    assert!(both.draft.declared.unwrap().since(both.draft.start) <= 48 * HOUR, "{:?}", both.draft.declared);
    // The other order, with the first file rolled up before the second comes (decision rollup-after-400-days).
    let other = Server::start();
    other.import(ImportKind::OoniObservations, Options::default(), &web);
    let rolled =
        |server: &Server| server.0.rows(&ActorId::new(Kind::Country, "KE")).iter().any(|(key, _)| key[0] == 35);
    assert!(!rolled(&other));
    other.0.advance(std::time::Duration::from_secs(9 * 86_400));
    assert!(rolled(&other));
    other.import(ImportKind::OoniObservations, Options::default(), &telegram);
    for server in [&server, &other] {
        server.0.advance(std::time::Duration::from_secs(2 * 86_400));
    }
    assert_eq!(grade_kenya(&server).draft, grade_kenya(&other).draft);
}

/// Failures without the client's own comparison. Only peers can tell whether they are blocks.
fn without_control(rows: String) -> String {
    rows.replace("http-failure\n", "\n")
}

/// A made-up country with a platform, flapping, three similar domains, single votes and a broken start.
fn country() -> Vec<String> {
    let mut lines = Vec::new();
    let mut put = |text: String| lines.extend(text.lines().map(|line| format!("{line}\n")));
    for asn in [1, 2, 3, 4] {
        put(rows("IT", asn, "clear.example", "2025-11-10", 0..60, false));
        put(rows("IT", asn, "web.telegram.org", "2025-11-08", 0..20, false));
    }
    for asn in [1, 2] {
        // Clear before, so that each beginning is measured.
        for host in ["flapping.example", "one.example", "two.example", "three.example", "later.example"] {
            put(rows("IT", asn, host, "2025-11-09", 0..2, false));
        }
        // Office hours on ten days.
        for day in 10..20 {
            put(rows("IT", asn, "flapping.example", &format!("2025-11-{day}T08:00:00Z"), 0..4, true));
            put(rows("IT", asn, "flapping.example", &format!("2025-11-{day}T14:00:00Z"), 0..5, false));
        }
        put(without_control(rows("IT", asn, "web.telegram.org", "2025-11-14", 0..30, true)));
        put(rows("IT", 3, "web.telegram.org", "2025-11-14", 0..30, false));
        put(rows("IT", 4, "web.telegram.org", "2025-11-14", 0..30, false));
        for (host, start) in [("one.example", 3), ("two.example", 9), ("three.example", 20)] {
            put(rows("IT", asn, host, &format!("2025-11-20T{start:02}:00:00Z"), 0..12, true));
            put(rows("IT", asn, host, "2025-11-25", 0..12, false));
        }
        put(rows("IT", asn, "later.example", "2025-11-23", 0..12, true));
    }
    put(rows("IT", 1, "lone.example", "2025-11-11", 0..8, false));
    put(rows("IT", 1, "lone.example", "2025-11-12", 0..2, true));
    put(rows("IT", 1, "lone.example", "2025-11-13", 0..8, false));
    lines
}

/// Drafts in the order of their beginning.
fn drafts(server: &Server, country: &str) -> Vec<Draft> {
    server.0.advance(std::time::Duration::from_secs(2 * 86_400));
    let mut drafts: Vec<Draft> = incidents(server, country).into_iter().map(|incident| incident.draft).collect();
    drafts.sort_by(|a, b| (a.start, &a.subject).cmp(&(b.start, &b.subject)));
    drafts
}

/// Decision order-of-data: the order and the pieces of the input change only sequence numbers.
#[test]
fn any_permutation_and_any_split_gives_the_same_incidents() {
    let lines = country();
    let all = server(&[lines.concat()]);
    let expected = drafts(&all, "IT");
    let subjects: Vec<(&str, usize)> = expected.iter().map(|d| (d.subject.as_str(), d.domains.len())).collect();
    assert_eq!(
        subjects,
        [("flapping.example", 1), ("telegram", 1), ("one.example", 3), ("later.example", 1)],
        "{expected:#?}"
    );
    for seed in 1..=8_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut shuffled = lines.clone();
        dice.shuffle(&mut shuffled);
        let pieces = 1 + dice.below(5) as usize;
        let split = Server::start();
        for piece in shuffled.chunks(shuffled.len().div_ceil(pieces)) {
            add(&split, &[piece.concat()]);
            if dice.below(2) == 0 {
                split.0.advance(std::time::Duration::from_secs(3_600));
            }
        }
        assert_eq!(drafts(&split, "IT"), expected, "seed {seed}, {pieces} pieces");
        // The same data again, in another order, do not even make a new version.
        let versions = || incidents(&split, "IT").into_iter().map(|one| (one.id, one.version)).collect::<Vec<_>>();
        let before = versions();
        add(&split, &[shuffled.iter().rev().cloned().collect()]);
        split.0.advance(std::time::Duration::from_secs(2 * 86_400));
        assert_eq!(versions(), before, "seed {seed}, imported again");
    }
}

/// Decision incident-dates: flapping is one incident, and the incident names the pattern.
#[test]
fn flapping_is_one_incident_with_its_hours() {
    let server = server(&country());
    let incident = incidents(&server, "IT").into_iter().find(|i| i.draft.subject == "flapping.example").unwrap();
    let draft = incident.draft;
    assert_eq!((draft.start, asns(&draft)), (time("2025-11-10T08:00:00Z"), vec![1, 2]));
    assert_eq!(draft.pattern.as_deref(), Some("intermittent"));
    assert_eq!(draft.schedule.as_deref(), Some("daily 08-12 UTC"));
    assert_eq!((draft.severity, draft.methods), (Severity::Low, vec!["tls-reset".to_owned()]));
}

/// Decision keys-and-roles: a platform is blocked if a role is blocked that it cannot do without. A blocked host of
/// links is an incident of its own, and joins the platform's incident when the platform's web site is blocked too.
#[test]
fn a_host_that_a_platform_can_do_without_is_not_the_platform() {
    let both = |host: &str, start: &str, blocked: bool| -> String {
        [1, 2].map(|asn| rows("IT", asn, host, start, 0..12, blocked)).concat()
    };
    let server = server(&[
        both("t.co", "2025-11-05", true),
        both("x.com", "2025-11-05", false),
        both("x.com", "2025-11-06", false),
    ]);
    let first = one(&server, "IT");
    assert_eq!((first.draft.subject.as_str(), first.draft.services.as_slice()), ("t.co", [].as_slice()));
    assert_eq!((first.draft.domains.as_slice(), first.draft.severity), (["t.co".to_owned()].as_slice(), Severity::Low));
    add(
        &server,
        &[both("x.com", "2025-11-07", true), both("x.com", "2025-11-08", false), both("t.co", "2025-11-08", false)],
    );
    let joined = one(&server, "IT");
    assert_eq!((&joined.id, joined.draft.subject.as_str()), (&first.id, "twitter"));
    assert_eq!(joined.draft.domains, ["t.co", "x.com"]);
    assert_eq!((joined.draft.start, joined.draft.services), (time("2025-11-05"), vec!["twitter".to_owned()]));
}

fn blocked(asn: u32, start: &str, hours: i64) -> String {
    rows("IT", asn, "news.example", start, 0..hours, true)
}

fn clear(asn: u32, start: &str, hours: i64) -> String {
    rows("IT", asn, "news.example", start, 0..hours, false)
}

/// Decision answers-about-a-time: all that is known today about the country at that time.
#[test]
fn a_page_of_the_past_has_the_incidents_that_went_on_then() {
    let both = |rows: fn(u32, &str, i64) -> String, start: &str, hours: i64| {
        [1, 2].map(|asn| rows(asn, start, hours)).concat()
    };
    let server =
        server(&[both(clear, "2025-11-01", 24), both(blocked, "2025-11-05", 8), both(clear, "2025-11-12", 24)]);
    let id = one(&server, "IT").id.to_string();
    for (at, expected) in [("2025-11-03", vec![]), ("2025-11-05T06:00:00", vec![id.as_str()]), ("2025-11-20", vec![])] {
        let at = if at.contains('T') { format!("{at}Z") } else { format!("{at}T00:00:00Z") };
        let ids = |incidents: &serde_json::Value| -> Vec<String> {
            incidents.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(
            ids(&server.ok(&format!("/data/country/IT?as_of={at}"))["data"]["activeIncidents"]),
            expected,
            "{at}"
        );
        assert_eq!(
            ids(&server.ok(&format!("/v1/censorship-index/IT?as_of={at}"))["activeIncidents"]),
            expected,
            "{at}"
        );
    }
}

/// Decisions order-of-data and incident-ids: late data move a beginning and join two incidents, and the id of the
/// joined one leads to the other.
#[test]
fn late_data_extend_and_join_incidents() {
    let server = server(&[
        clear(1, "2025-11-01", 24),
        blocked(1, "2025-11-05", 8),
        clear(1, "2025-11-06", 24),
        clear(1, "2025-11-12", 12),
        blocked(1, "2025-11-13", 8),
        clear(1, "2025-11-14", 24),
    ]);
    let found = incidents(&server, "IT");
    let [second, first] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!((first.draft.start, second.draft.start), (time("2025-11-05"), time("2025-11-13")));
    assert_eq!(first.draft.status, Status::Suspected, "one source and one network");
    // Earlier votes on another network.
    add(&server, &[blocked(2, "2025-11-04", 8)]);
    let found = incidents(&server, "IT");
    let earlier = found.iter().find(|incident| incident.id == first.id).unwrap();
    assert_eq!((earlier.draft.start, asns(&earlier.draft)), (time("2025-11-04"), vec![1, 2]));
    assert_eq!((found.len(), earlier.draft.status), (2, Status::Resolved));
    // Votes in between: from the 5th to the 13th no gap of 96 h is left.
    add(&server, &[blocked(2, "2025-11-08T20:00:00Z", 20)]);
    let joined = one(&server, "IT");
    assert_eq!((&joined.id, joined.draft.start), (&first.id, time("2025-11-04")));
    let find = FindIncident { id: second.id.to_string(), follow: true };
    let leads = query(&*server.0, &incidents::actor().name, &find).now_or_never().unwrap().unwrap();
    assert_eq!(leads.map(|incident| incident.id), Some(first.id.clone()));
}

/// Decision failing-elsewhere: late measurements of control sites show that the network is broken, so its incident is
/// withdrawn.
#[test]
fn a_broken_network_makes_no_incident_and_takes_back_an_earlier_one() {
    let controlled = || {
        let server = Server::start();
        let list = "url,category_code\nhttps://control.example/,CTRL\n";
        let options = Options { list: Some("global".into()), ..Options::default() };
        server.import(ImportKind::TestList, options, list.as_bytes());
        server
    };
    let failing = || rows("IT", 1, "control.example", "2025-11-05", 0..12, true);
    let server = controlled();
    add(&server, &[blocked(1, "2025-11-05", 8), clear(2, "2025-11-05", 8)]);
    let before = one(&server, "IT");
    add(&server, &[failing()]);
    assert_eq!(incidents(&server, "IT"), []);
    let changes = ReadChanges { since: Timestamp::MIN, limit: 100 };
    let changed = query(&*server.0, &incidents::actor().name, &changes).now_or_never().unwrap().unwrap();
    assert_eq!(changed.incidents.len(), 1);
    assert!(changed.incidents[0].id == before.id && changed.incidents[0].retracted);
    // With both from the start there is no incident at all.
    let fresh = controlled();
    add(&fresh, &[blocked(1, "2025-11-05", 8), failing()]);
    assert_eq!(incidents(&fresh, "IT"), []);
}

/// Decision controls-from-peers: a platform that a rule without a control flags everywhere is no incident. Successes in
/// other countries make it one.
#[test]
fn a_platform_flagged_without_control_is_no_incident() {
    let flagged = |country: &str| -> Vec<String> {
        let networks = (1..=4).map(|asn| rows(country, asn, "web.telegram.org", "2025-11-10", 0..24, true));
        networks.map(without_control).collect()
    };
    let countries = ["IT", "FR", "DE"];
    let server = server(&countries.into_iter().flat_map(flagged).collect::<Vec<_>>());
    for country in countries {
        assert_eq!(incidents(&server, country), [], "{country}");
    }
    add(&server, &[1, 2, 3].map(|asn| rows("SE", asn, "web.telegram.org", "2025-11-10", 0..24, false)));
    server.settle();
    let incident = one(&server, "IT").draft;
    assert_eq!((incident.subject.as_str(), incident.severity), ("telegram", Severity::Critical));
    assert_eq!(incident.networks.len(), 4);
}

/// Decision failing-elsewhere: failures that are as frequent in other countries at that time are the service's own
/// fault.
#[test]
fn a_platform_that_fails_everywhere_half_the_time_is_no_incident() {
    let flaky = |country: &str, asn: u32| {
        let hour = |hour: i64| rows(country, asn, "web.telegram.org", "2025-11-10", hour..hour + 1, hour % 3 < 2);
        without_control((0..120).map(hour).collect())
    };
    let server = Server::start();
    let countries = ["IT", "FR", "DE", "ES", "SE", "NO", "FI"];
    let all = |country: &'static str| (1..=3).map(move |asn| flaky(country, asn));
    add(&server, &countries.into_iter().flat_map(all).collect::<Vec<_>>());
    for country in countries {
        assert_eq!(incidents(&server, country), [], "{country}");
    }
    // Where the platform fails every time, it is blocked all the same.
    add(&server, &[without_control(rows("IT", 9, "web.telegram.org", "2025-11-10", 0..120, true))]);
    assert_eq!(asns(&one(&server, "IT").draft), [9]);
}

/// Failures that follow a software version are faults of the software.
#[test]
fn failures_of_one_software_version_make_no_incident() {
    let header = HEADER.trim_end().to_owned() + ",platform,software_version\n";
    let versioned = |text: String, version: &str| -> String {
        text.lines().map(|line| format!("{line},android,{version}\n")).collect()
    };
    let mut text = header;
    for asn in 1..=4 {
        // The seconds differ, because otherwise they would be one measurement.
        let bad = rows("IT", asn, "signal.example", "2025-11-10T00:00:01Z", 0..24, true);
        let good = rows("IT", asn, "signal.example", "2025-11-10T00:00:02Z", 0..24, false);
        write!(text, "{}{}", versioned(bad, "2.1.0"), versioned(good, "3.0.0")).unwrap();
    }
    let server = Server::start();
    server.import(ImportKind::OoniObservations, Options::default(), text.as_bytes());
    assert_eq!(incidents(&server, "IT"), []);
    let same = text.replace("2.1.0", "3.0.0");
    let server = Server::start();
    server.import(ImportKind::OoniObservations, Options::default(), same.as_bytes());
    assert_eq!(incidents(&server, "IT").len(), 1, "without versions to tell apart it is intermittent blocking");
}

/// Changes of counts alone are reported at most daily, so that there is no version for each measurement.
#[test]
fn counts_alone_are_reported_at_most_daily() {
    let server = server(&[blocked(1, "2025-12-29", 8), blocked(2, "2025-12-29", 8)]);
    let first = one(&server, "IT");
    for hour in 9..15 {
        add(&server, &[blocked(1, &format!("2025-12-29T{hour:02}:00:00Z"), 1)]);
    }
    let same = one(&server, "IT");
    assert_eq!((same.version, same.draft.measurements), (first.version, 16));
    server.0.advance(std::time::Duration::from_secs(86_400));
    let next = one(&server, "IT");
    assert_eq!((next.version, next.draft.measurements), (first.version + 1, 22));
    // What was last measured too long ago is no longer called blocked (decision age-limit).
    assert_eq!((next.draft.status, next.draft.end), (Status::Active, None));
    server.0.advance(std::time::Duration::from_secs(32 * 86_400));
    let old = one(&server, "IT").draft;
    assert_eq!((old.status, old.end), (Status::Resolved, Some(time("2025-12-29T14:00:00Z"))));
}

/// Decision licence-and-removal: incidents that rest on a removed source are removed with it.
#[test]
fn a_removed_source_takes_its_incidents_along() {
    let server = server(&country());
    let before = incidents(&server, "IT");
    assert!(before.len() > 3);
    let response = server.request(Method::DELETE, "/v1/admin/sources/ooni", &[("x-admin-key", ADMIN)], b"");
    assert_eq!(response.status, 200);
    (0..20).for_each(|_| server.settle());
    assert_eq!(incidents(&server, "IT"), []);
    // The same data bring the incidents back under their own ids.
    add(&server, &country());
    let mut ids: Vec<_> = before.iter().map(|incident| &incident.id).collect();
    let again = incidents(&server, "IT");
    let mut now: Vec<_> = again.iter().map(|incident| &incident.id).collect();
    ids.sort();
    now.sort();
    assert_eq!(ids, now);
}

/// One measurement an hour on each of four networks, except in the silent hours.
fn measured(country: &str, silent: std::ops::Range<i64>) -> String {
    let networks = [1, 2, 3, 4].into_iter();
    let on = |asn: u32| {
        let hours = |range: std::ops::Range<i64>| rows(country, asn, "clear.example", "2025-10-01", range, false);
        hours(0..silent.start) + &hours(silent.end..60 * 24)
    };
    networks.map(on).collect()
}

/// Decision silence-of-measurements: a country that falls silent while others do not is a suspected disruption. If all
/// fall silent, the source fell silent.
#[test]
fn a_silent_country_is_a_suspected_disruption_and_a_silent_source_is_nothing() {
    let silent = 50 * 24 + 6..52 * 24;
    let others = ["FR", "DE", "ES", "SE"];
    let server = Server::start();
    add(&server, &[measured("IT", silent.clone())]);
    assert_eq!(incidents(&server, "IT"), [], "nobody knows how it is elsewhere");
    add(&server, &others.map(|country| measured(country, 10..10)));
    server.settle();
    let draft = one(&server, "IT").draft;
    assert_eq!(
        (draft.subject.as_str(), draft.kind, draft.status),
        ("internet", IncidentType::Disruption, Status::Suspected)
    );
    let start = time("2025-10-01");
    assert_eq!(draft.start, start.plus(silent.start * HOUR));
    assert_eq!(draft.end, Some(start.plus(silent.end * HOUR)));
    assert_eq!((asns(&draft), draft.weight), (vec![1, 2, 3, 4], 1.0));
    for country in others {
        assert_eq!(incidents(&server, country), [], "{country}");
    }
    // Late data fill the hours, so only the import was late.
    let late = [1, 2, 3, 4].map(|asn| rows("IT", asn, "clear.example", "2025-10-01", silent.clone(), false));
    add(&server, &late);
    assert_eq!(incidents(&server, "IT"), []);

    let all = Server::start();
    add(&all, &["IT", "FR", "DE", "ES", "SE"].map(|country| measured(country, silent.clone())));
    all.settle();
    for country in ["IT", "FR", "DE", "ES", "SE"] {
        assert_eq!(incidents(&all, country), [], "{country}");
    }
    assert!(start.plus(60 * DAY) < engine::testing::START);
}

/// Decision silence-of-measurements from import to answer: a nationwide shutdown that is seen as a silence and reported
/// by two other sources is one incident, whichever comes first. Importing it again changes nothing.
#[test]
fn a_shutdown_seen_as_silence_and_reported_is_one_incident_in_any_order() {
    let silent = 50 * 24 + 6..52 * 24;
    let measured = |server: &Server| {
        let others = ["FR", "DE", "ES", "SE"].map(|country| measured(country, 10..10));
        add(server, &[&[measured("IT", silent.clone())][..], &others].concat());
    };
    let reports = [
        "country,kind,start,end,id\nIT,shutdown,2025-11-20,2025-11-21,s\n",
        "country,kind,start,end,id\nIT,outage,2025-11-20T07:00:00Z,2025-11-21T22:00:00Z,o\n",
    ];
    let report = |server: &Server, at: usize| {
        server.import(ImportKind::Outages, Options::default(), reports[at].as_bytes());
    };
    let parts: [&dyn Fn(&Server); 3] = [&measured, &|server| report(server, 0), &|server| report(server, 1)];
    let mut all = Vec::new();
    for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
        let server = Server::start();
        for at in order {
            parts[at](&server);
            server.0.advance(std::time::Duration::from_secs(3 * 86_400));
        }
        let incident = one(&server, "IT");
        assert_eq!(incident.draft.subject, "internet");
        assert_eq!((incident.draft.kind, incident.draft.status), (IncidentType::Mixed, Status::Resolved));
        parts.iter().for_each(|part| part(&server));
        server.0.advance(std::time::Duration::from_secs(3 * 86_400));
        assert_eq!(one(&server, "IT").version, incident.version, "{order:?} imported again");
        all.push(incident.draft);
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:#?}");
}

/// Clear networks make no event, even if one vote in forty is wrong.
#[test]
fn stray_failures_on_clean_networks_are_no_incident() {
    let mut text = String::new();
    for asn in 1..=6 {
        for hour in 0..1_000 {
            let failed = (hour * 7 + i64::from(asn) * 11) % 40 == 0;
            text += &rows("IT", asn, "clear.example", "2025-10-01", hour..hour + 1, failed);
        }
    }
    assert_eq!(incidents(&server(&[text]), "IT"), []);
}

/// A network that fails at many sites at once says little about each of them, also if the other sites come later.
#[test]
fn what_a_network_fails_at_other_sites_takes_an_incident_back_in_any_order() {
    let site = |n: u32| -> String {
        let host = format!("site{n}.example");
        let of = |asn: u32, from: i64, to: i64, fails: bool| {
            (from..to)
                .step_by(3)
                .map(|hour| rows("IT", asn, &host, "2025-11-10", hour..hour + 1, fails))
                .collect::<String>()
        };
        [of(1, 0, 120, false), of(1, 120, 138, true), of(1, 138, 300, false), of(2, 0, 300, false)].concat()
    };
    let others: String = (1..=12).map(site).collect();
    let alone = server(&[site(0)]);
    alone.settle();
    assert_eq!(one(&alone, "IT").draft.domains, ["site0.example"]);
    let known = |server: &Server| {
        server.0.advance(std::time::Duration::from_secs(2 * 86_400));
        incidents(server, "IT").len()
    };
    add(&alone, std::slice::from_ref(&others));
    assert_eq!(known(&alone), 0, "the network failed, and nobody blocked");
    let reversed = server(&[others]);
    add(&reversed, &[site(0)]);
    assert_eq!(known(&reversed), 0);
}
