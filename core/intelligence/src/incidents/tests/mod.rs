//! Tests of recording, in a deployment in memory.

mod bounds;
mod merging;
mod past;

use futures_util::FutureExt;

use super::*;
use crate::testing;
use crate::testing::PROGRAM;
use engine::runtime::{call, query};
use engine::testing::START;
use engine::time::{DAY, HOUR};
use relay::testing::TestRuntime;

fn draft(start_hours_ago: i64) -> Draft {
    let start = START.plus(-100 * DAY - start_hours_ago * HOUR);
    let row = |n: u32| EvidenceRow {
        id: EvidenceRow::id_of("ooni", &format!("uid-{n}"), "example.org"),
        source: "ooni".into(),
        kind: "measurement".into(),
        signal_type: Some("dns-blocking".into()),
        source_ref: format!("uid-{n}"),
        permalink: None,
        source_url: None,
        observed_at: start,
        retrieved_at: None,
        confidence: 0.9,
        domain: Some("example.org".into()),
        asn: Some(64_496),
        licence: "CC-BY-4.0".into(),
    };
    Draft {
        severity: Severity::Medium,
        services: Vec::new(),
        domains: vec!["example.org".into()],
        evidence: vec![row(1), row(2)],
        evidence_total: 2,
        ..testing::incident("example.org", start)
    }
}

fn report(runtime: &TestRuntime, reports: Vec<ReportEvent>) {
    let record = Record { country: "KE".into(), reports };
    call(runtime, &actor().name, &record).now_or_never().unwrap().unwrap();
}

fn find(runtime: &TestRuntime, id: &str) -> Option<Incident> {
    query(runtime, &actor().name, &FindIncident { id: id.into(), follow: true }).now_or_never().unwrap().unwrap()
}

fn changes(runtime: &TestRuntime, since: crate::Timestamp, limit: u32) -> Changed {
    query(runtime, &actor().name, &ReadChanges { since, limit }).now_or_never().unwrap().unwrap()
}

const fn seen(event: u64, draft: Draft) -> ReportEvent {
    ReportEvent { event, draft: Some(draft), merged_into: None }
}

#[test]
fn an_incident_keeps_its_ids_and_all_its_versions() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(7, draft(48))]);
    let first = find(&runtime, "KE-2025-0001").unwrap();
    assert_eq!((first.version, first.draft.evidence_ids.len(), first.draft.evidence.len()), (1, 2, 0));
    assert_eq!(find(&runtime, &first.hash.to_uppercase()).as_ref(), Some(&first));
    report(&runtime, vec![seen(7, draft(48))]);
    assert_eq!(find(&runtime, "ke-2025-1").unwrap().version, 1, "the same draft changes nothing");
    let earlier = Draft { start: START.plus(-900 * DAY), ..draft(48) };
    report(&runtime, vec![seen(7, earlier)]);
    let second = find(&runtime, &first.hash).unwrap();
    assert_eq!((second.version, second.id), (2, first.id.clone()), "a start in another year renumbers nothing");
    let version = VersionOf { id: first.id.clone(), version: 1 };
    let past = query(&*runtime, &actor().name, &version).now_or_never().unwrap().unwrap();
    assert_eq!(past, Some(first));
}

/// Numbers are never used again, merged ids lead on, and withdrawn incidents stay in the delta (decision incident-ids).
#[test]
fn merged_ids_lead_on_and_withdrawn_ones_stay_in_the_delta() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, draft(90)), seen(2, draft(50)), seen(3, draft(10))]);
    report(
        &runtime,
        vec![
            ReportEvent { event: 2, draft: None, merged_into: Some(1) },
            ReportEvent { event: 3, draft: None, merged_into: None },
        ],
    );
    assert_eq!(find(&runtime, "KE-2025-0002").unwrap().id.sequence, 1);
    assert!(find(&runtime, "KE-2025-0003").unwrap().retracted.is_some());
    let all = query(&*runtime, &actor().name, &Select::default()).now_or_never().unwrap().unwrap();
    assert_eq!((all.incidents.len(), all.total), (1, 1));
    report(&runtime, vec![seen(4, draft(5))]);
    assert!(find(&runtime, "KE-2025-0004").is_some(), "a number is not given twice");
    let changed = changes(&runtime, crate::Timestamp::MIN, 100);
    let order: Vec<u32> = changed.incidents.iter().map(|incident| incident.id.sequence).collect();
    assert_eq!(order, [1, 2, 3, 4], "each once, in the order of its last change");
    // An incident that the data show again is shown again.
    report(&runtime, vec![seen(3, draft(10))]);
    assert!(find(&runtime, "KE-2025-0003").unwrap().is_shown());
}

#[test]
fn the_delta_in_pages_skips_nothing_and_repeats_nothing() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, (0..10).map(|n| seen(n, draft(n as i64))).collect());
    let (mut since, mut got) = (crate::Timestamp::MIN, Vec::new());
    loop {
        let page = changes(&runtime, since, 3);
        got.extend(page.incidents.iter().map(|incident| incident.id.sequence));
        since = page.next;
        if !page.more {
            break;
        }
    }
    assert_eq!(got, (1..=10).collect::<Vec<u32>>());
    assert!(changes(&runtime, since, 3).incidents.is_empty());
}

/// Two incidents of one operation have different times, so a reader whose cursor is the first time still gets the
/// second.
#[test]
fn what_the_reader_of_the_delta_has_not_seen_was_created_after_its_cursor() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, (0..3).map(|n| seen(n, draft(n as i64))).collect());
    let mut since = crate::Timestamp::MIN;
    for _ in 0..3 {
        let page = changes(&runtime, since, 1);
        assert!(page.incidents[0].created > since, "{page:?}");
        since = page.next;
    }
}

/// A message with as many reports as allowed, each with as much evidence as kept, fits into an operation, both when
/// they are new and when all of it changes. With one report more, the whole message is refused (decision
/// bounded-commits).
#[test]
fn a_full_message_of_reports_fits_and_a_fuller_one_is_refused() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let full = |n: usize, round: usize| {
        let row = |at: usize| EvidenceRow {
            id: EvidenceRow::id_of("ooni", &format!("{round}-{n}-{at}"), "example.org"),
            ..draft(1).evidence[0].clone()
        };
        Draft { evidence: (0..MAX_EVIDENCE).map(row).collect(), ..draft((n + 100 * round) as i64) }
    };
    for round in 0..2 {
        report(&runtime, (0..MAX_REPORTS).map(|n| seen(n as u64, full(n, round))).collect());
        assert_eq!(changes(&runtime, crate::Timestamp::MIN, 100).incidents.len(), MAX_REPORTS, "round {round}");
    }
    let reports = (0..=MAX_REPORTS as u64).map(|n| seen(100 + n, draft(1))).collect();
    let record = Record { country: "UG".into(), reports };
    assert!(call(&*runtime, &actor().name, &record).now_or_never().unwrap().is_err());
    assert!(find(&runtime, "UG-2025-0001").is_none());
}

/// A kept answer is not used after a change.
#[test]
fn a_list_is_never_older_than_the_last_change() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let ask = |offset: u64| {
        let select = Select { filter: Filter { min_sources: 1, ..Filter::default() }, offset, limit: 2 };
        let found = query(&*runtime, &actor().name, &select).now_or_never().unwrap().unwrap();
        (found.total, found.incidents.iter().map(|incident| incident.id.sequence).collect::<Vec<_>>())
    };
    assert_eq!(ask(0), (0, vec![]));
    report(&runtime, (0..5).map(|n| seen(n, draft(10 * n as i64))).collect());
    assert_eq!([ask(0), ask(2), ask(4), ask(5)], [(5, vec![1, 2]), (5, vec![3, 4]), (5, vec![5]), (5, vec![])]);
    operate(&runtime, "KE-2025-0002", operate::Deed::Retract);
    assert_eq!([ask(0), ask(2)], [(4, vec![1, 3]), (4, vec![4, 5])]);
}

fn operate(runtime: &TestRuntime, id: &str, deed: operate::Deed) -> Incident {
    let operate =
        operate::OperateIncident { id: id.into(), version: None, deed, by: "0011aabb".into(), reason: "seen".into() };
    call(runtime, &actor().name, &operate).now_or_never().unwrap().unwrap()
}

/// Amendments of operators take precedence over later data until they are taken back.
#[test]
fn an_operators_word_stands_against_later_data_until_it_is_taken_back() {
    use operate::{Deed, Field};
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, draft(90)), seen(2, draft(50)), seen(3, draft(10))]);
    let patch = Overrides { severity: Some(Severity::Critical), title: Some("By hand".into()), ..Overrides::default() };
    operate(&runtime, "KE-2025-0001", Deed::Amend(Box::new(patch)));
    operate(&runtime, "KE-2025-0002", Deed::Retract);
    operate(&runtime, "KE-2025-0003", Deed::Merge("KE-2025-0001".into()));
    let later = |ago| Draft { severity: Severity::Low, measurements: 99, ..draft(ago) };
    report(&runtime, vec![seen(1, later(90)), seen(2, later(50)), seen(3, later(10))]);
    let first = find(&runtime, "KE-2025-0001").unwrap();
    assert_eq!(
        (first.severity(), first.draft.severity, first.own().measurements),
        (Severity::Critical, Severity::Low, 99)
    );
    assert!(find(&runtime, "KE-2025-0002").unwrap().retracted().is_some(), "data do not bring back what was withdrawn");
    assert_eq!(find(&runtime, "KE-2025-0003").unwrap().id, first.id, "nor part what was merged");
    operate(&runtime, "KE-2025-0001", Deed::Restore(vec![Field::Severity]));
    operate(&runtime, "KE-2025-0002", Deed::Restore(Vec::new()));
    operate(&runtime, "KE-2025-0003", Deed::Restore(vec![Field::Merge]));
    assert_eq!(find(&runtime, "KE-2025-0001").unwrap().severity(), Severity::Low);
    assert!(find(&runtime, "KE-2025-0002").unwrap().is_shown() && find(&runtime, "KE-2025-0003").unwrap().is_shown());
}

/// These documents are not published. They are kept from one reader to the next.
#[test]
fn a_document_about_incidents_is_as_new_as_the_last_change_of_one() {
    let server = crate::country::tests::Server::start();
    let runtime = &*server.0;
    let counted = || {
        let [country, again] = [(); 2].map(|()| server.ok("/v1/atlas/topics/KE"));
        assert_eq!(country, again);
        [country, server.ok("/v1/atlas/topics"), server.ok("/v1/atlas/topics/info")]
            .map(|body| body["n_incidents"].clone())
    };
    assert_eq!(counted(), [0, 0, 0]);
    report(runtime, vec![seen(1, draft(90)), seen(2, draft(50))]);
    assert_eq!(counted(), [2, 2, 2]);
    operate(runtime, "KE-2025-0002", operate::Deed::Retract);
    assert_eq!(counted(), [1, 1, 1]);
    operate(runtime, "KE-2025-0002", operate::Deed::Restore(Vec::new()));
    assert_eq!(counted(), [2, 2, 2]);
}

/// The data of a removed source is removed exactly (decision licence-and-removal).
#[test]
fn a_removed_source_leaves_nothing_of_what_was_measured() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let other = Draft { sources: vec!["ioda".into()], evidence: Vec::new(), evidence_total: 0, ..draft(10) };
    report(&runtime, vec![seen(1, draft(90)), seen(2, other)]);
    // More versions than one step can remove.
    for n in 0..100 {
        report(&runtime, vec![seen(1, Draft { measurements: n, ..draft(90) })]);
    }
    let forget = ForgetSource { country: "KE".into(), source: "ooni".into(), after: None, found: false };
    call(&*runtime, &actor().name, &forget).now_or_never().unwrap().unwrap();
    let gone = find(&runtime, "KE-2025-0001").unwrap();
    assert!(gone.retracted().is_some() && gone.draft.sources.is_empty() && gone.draft.measurements == 0, "{gone:?}");
    let kept = runtime.rows(&actor()).into_iter().filter(|(_, value)| {
        value.windows(4).any(|part| part == b"ooni") || value.windows(4).any(|part| part == b"uid-")
    });
    assert_eq!(kept.count(), 0, "no row names the source");
    assert_eq!(find(&runtime, "KE-2025-0002").unwrap().version, 1);
    // What the country still shows without the source comes back under its old ids.
    let left = Draft { sources: vec!["ioda".into()], evidence: Vec::new(), ..draft(90) };
    report(&runtime, vec![seen(1, left)]);
    let back = find(&runtime, "KE-2025-0001").unwrap();
    assert!(back.is_shown() && back.draft.sources == ["ioda"], "{back:?}");
}

/// An incident is active until its end, even if the end was stated before. When the end comes, lists, feeds, pages of
/// the country and readers of the delta show it without any request.
#[test]
fn an_end_that_lies_ahead_resolves_the_incident_when_its_time_comes() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, draft(90)), seen(2, draft(50))]);
    let ahead = START.plus(3 * DAY);
    let until = |end| operate::Deed::Amend(Box::new(Overrides { end: Some(end), ..Overrides::default() }));
    operate(&runtime, "KE-2025-0001", until(ahead));
    operate(&runtime, "KE-2025-0002", until(ahead));
    let announced = find(&runtime, "KE-2025-0001").unwrap();
    assert_eq!((announced.status(), announced.version), (Status::Active, 2));
    assert!(sentence(&announced).english().contains(" is blocked "), "{}", sentence(&announced).english());
    operate(&runtime, "KE-2025-0002", until(ahead.plus(10 * DAY)));
    let seen_so_far = changes(&runtime, crate::Timestamp::MIN, 10).next;
    runtime.advance(std::time::Duration::from_secs(3 * 86_400 + 60));
    let over = find(&runtime, "KE-2025-0001").unwrap();
    assert_eq!((over.status(), over.version, over.end()), (Status::Resolved, 3, Some(ahead)));
    assert!(over.updated >= ahead && over.change.by.is_none());
    assert!(sentence(&over).english().contains(" was blocked "), "{}", sentence(&over).english());
    let told: Vec<u32> = changes(&runtime, seen_so_far, 10).incidents.iter().map(|i| i.id.sequence).collect();
    assert_eq!(told, [1], "only what ended changed");
    let later = find(&runtime, "KE-2025-0002").unwrap();
    assert_eq!((later.status(), later.version), (Status::Active, 3), "its end was moved");
}

/// An announced incident does not go on yet. It becomes active when its time comes, without any request.
#[test]
fn what_is_announced_is_suspected_until_it_begins() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let (begins, ends) = (START.plus(3 * DAY), START.plus(5 * DAY));
    let announced = Draft { subject: INTERNET.into(), start: begins, end: Some(ends), ..draft(0) };
    report(&runtime, vec![seen(1, announced)]);
    let id = changes(&runtime, crate::Timestamp::MIN, 10).incidents[0].id.to_string();
    let state = |title: &str, says: &str| {
        let incident = find(&runtime, &id).unwrap();
        assert_eq!(text::title(&incident), title);
        assert!(sentence(&incident).english().starts_with(says), "{}", sentence(&incident).english());
        (incident.status(), incident.is_citable(), incident.version)
    };
    let before = ("Internet to be shut down in Kenya (announced)", "Internet access is announced to be shut down in");
    assert_eq!(state(before.0, before.1), (Status::Suspected, false, 1));
    // An operator cannot make it active before that time either.
    let patch = Overrides { status: Some(Status::Active), ..Overrides::default() };
    operate(&runtime, &id, operate::Deed::Amend(Box::new(patch)));
    assert_eq!(state(before.0, before.1), (Status::Suspected, false, 2));
    operate(&runtime, &id, operate::Deed::Restore(Vec::new()));
    runtime.advance(std::time::Duration::from_secs(3 * 86_400 + 60));
    let during = state("Internet shut down in Kenya", "Internet access is shut down in");
    assert_eq!(during, (Status::Active, true, 4));
    runtime.advance(std::time::Duration::from_secs(2 * 86_400 + 60));
    let after = state("Internet shut down in Kenya", "Internet access was shut down in");
    assert_eq!(after, (Status::Resolved, true, 5));
}

#[test]
fn an_operator_can_take_an_end_away() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let over = Draft { status: Status::Resolved, end: Some(START.plus(-DAY)), ..draft(90) };
    report(&runtime, vec![seen(1, over)]);
    let patch = Overrides { end: Some(model::ONGOING), ..Overrides::default() };
    let again = operate(&runtime, "KE-2025-0001", operate::Deed::Amend(Box::new(patch)));
    assert_eq!((again.end(), again.status()), (None, Status::Active));
    let back = operate(&runtime, "KE-2025-0001", operate::Deed::Restore(vec![operate::Field::End]));
    assert_eq!((back.end(), back.status()), (Some(START.plus(-DAY)), Status::Resolved));
}

/// A slowed network is not shut down.
#[test]
fn a_slowed_network_is_not_called_shut_down() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let slowed = Draft { subject: INTERNET.into(), methods: vec!["throttling".into()], ..draft(10) };
    report(&runtime, vec![seen(1, slowed)]);
    let incident = find(&runtime, "KE-2025-0001").unwrap();
    assert_eq!(text::title(&incident), "Internet throttled in Kenya");
}

/// A report may name several services. The title names all of them, or how many more there are.
#[test]
fn a_title_names_every_service_or_says_how_many_more() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let of = |services: &[&str]| Draft {
        subject: services[0].into(),
        services: services.iter().map(|service| (*service).to_owned()).collect(),
        domains: Vec::new(),
        ..draft(10)
    };
    for (services, title, verb) in [
        (&["signal"][..], "Signal blocked in Kenya", "Signal is blocked in Kenya"),
        (&["reddit", "signal"], "Reddit and Signal blocked in Kenya", "Reddit and Signal are blocked in Kenya"),
        (
            &["reddit", "signal", "tiktok"],
            "Reddit, Signal and TikTok blocked in Kenya",
            "Reddit, Signal and TikTok are blocked",
        ),
        (
            &["facebook", "reddit", "signal", "tiktok"],
            "Facebook, Reddit and 2 more services blocked in Kenya",
            "Facebook, Reddit and 2 more services are blocked",
        ),
    ] {
        report(&runtime, vec![seen(1, of(services))]);
        let incident = find(&runtime, "KE-2025-0001").unwrap();
        assert_eq!(text::title(&incident), title);
        assert!(sentence(&incident).english().starts_with(verb), "{}", sentence(&incident).english());
    }
}

/// Figures that nobody measured are not shown as 0.
#[test]
fn a_report_of_what_was_not_measured_has_no_zeros() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let told = Draft { networks_tested: 0, measurements: 0, ..draft(10) };
    report(&runtime, vec![seen(1, told)]);
    let incident = find(&runtime, "KE-2025-0001").unwrap();
    let settings = engine::settings::Settings::default();
    let text = report::report(report::ReportFormat::Markdown, &incident, &[], &settings);
    assert!(
        text.contains("| Networks affected | not measured |") && text.contains("| Measurements | none |"),
        "{text}"
    );
}

fn listing(runtime: &TestRuntime) -> written::Joined {
    let asked = super::query::ReadListing(Select { limit: 100, ..Select::default() });
    engine::runtime::query(runtime, &actor().name, &asked).now_or_never().unwrap().unwrap().incidents
}

/// The written form of an incident equals the incident itself, whoever changed it, and whatever public address the
/// service has later.
#[test]
fn answers_that_are_joined_from_texts_say_what_the_incidents_are() {
    let runtime = TestRuntime::start(&PROGRAM, &[("public_url", "https://one.example")]);
    let held = |runtime: &TestRuntime| {
        let rows = changes(runtime, crate::Timestamp::MIN, 100).incidents;
        assert_eq!(rows.len(), 3);
        let list = listing(runtime);
        assert_eq!(list.count, 2);
        assert_eq!(list.licences, rows.iter().map(|row| row.licence().to_owned()).collect());
        let shown: Vec<&str> = rows.iter().filter(|row| row.is_shown()).map(written::Written::json).collect();
        let text = String::from_utf8(list.json).unwrap();
        assert!(text == shown.join(",") || text == [shown[1], shown[0]].join(","), "{text}");
        for row in rows {
            let find = FindIncident { id: row.id.to_string(), follow: false };
            let incident = query(runtime, &actor().name, &find).now_or_never().unwrap().unwrap().unwrap();
            let settings = &engine::runtime::Runtime::environment(runtime).settings;
            let body = IncidentBody::new(&incident, settings);
            assert_eq!(row.json(), serde_json::to_string(&body).unwrap());
            assert_eq!(
                (row.licence(), &row.summary, &row.description),
                (body.license.as_str(), &body.summary, &body.description)
            );
            assert_eq!((row.created, row.updated), (incident.created, incident.updated));
            assert_eq!(
                (row.is_shown(), row.merged, row.retracted),
                (incident.is_shown(), body.merged_into.is_some(), false)
            );
        }
    };
    report(&runtime, vec![seen(1, draft(90)), seen(2, draft(50)), seen(3, draft(10))]);
    let description = "\"description\":\"none\" ".repeat(40);
    let patch = Overrides { title: Some("\"A\"}".into()), description: Some(description), ..Overrides::default() };
    operate(&runtime, "KE-2025-0001", operate::Deed::Amend(Box::new(patch)));
    operate(&runtime, "KE-2025-0003", operate::Deed::Merge("KE-2025-0001".into()));
    held(&runtime);
    let moved = runtime.restarted(&[("public_url", "https://two.example")]);
    held(&moved);
    assert!(String::from_utf8(listing(&moved).json).unwrap().contains("https://two.example/"));
    report(&moved, vec![seen(2, draft(51))]);
    held(&moved);
}

/// A piece of evidence names the incidents that rest on it now, not those that once did.
#[test]
fn evidence_names_no_incident_that_dropped_it() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, draft(90))]);
    let id = find(&runtime, "KE-2025-0001").unwrap().draft.evidence_ids[0].clone();
    let named = || {
        let asked = query::EvidenceById { id: id.clone() };
        let (found, country) =
            engine::runtime::query(&*runtime, &actor().name, &asked).now_or_never().unwrap().unwrap().unwrap();
        assert_eq!(country, "KE");
        found.incidents.len()
    };
    assert_eq!(named(), 1);
    let without = Draft { evidence: draft(90).evidence.split_off(1), ..draft(90) };
    report(&runtime, vec![seen(1, without)]);
    assert!(!find(&runtime, "KE-2025-0001").unwrap().draft.evidence_ids.contains(&id));
    assert_eq!(named(), 0);
}

/// A line of an older version has no licence, so the licences of its sources count.
#[test]
fn lines_keep_the_strictest_licence_and_old_ones_are_read() {
    use engine::kv::{decode_row, encode_row};
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, draft(90))]);
    let incident = find(&runtime, "KE-2025-0001").unwrap();
    let mut rows = draft(90).evidence;
    rows[0].licence = "LicenseRef-newsroom".into();
    let line = tables::Line::new(&incident, &rows);
    assert_eq!(line.licence, "LicenseRef-newsroom");
    let empty = tables::Line { licence: String::new(), ..line };
    let mut old = encode_row(&empty).unwrap();
    // Version 2 did not say whether the beginning is known, and version 1 had no licence either.
    for version in [2, 1] {
        old[0] = version;
        assert_eq!(old.pop(), Some(0));
        assert_eq!(decode_row::<tables::Line>(&old).unwrap(), empty, "{version}");
    }
}

#[test]
fn a_long_description_ends_in_what_a_search_finds_and_nothing_else_does() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, draft(90))]);
    let description = "é\"\\ \"description\":\"x\" ".repeat(50);
    let patch = Overrides { description: Some(description.clone()), ..Overrides::default() };
    operate(&runtime, "KE-2025-0001", operate::Deed::Amend(Box::new(patch)));
    let row = changes(&runtime, crate::Timestamp::MIN, 100).incidents.remove(0);
    let value = |json: &[u8]| serde_json::from_slice::<serde_json::Value>(json).unwrap();
    let mut expected = value(row.json().as_bytes());
    expected["description"] = description.chars().take(500).collect::<String>().into();
    assert_eq!(value(&row.seen().json_with_description_of(500).unwrap()), expected);
    assert_eq!(*row.seen().json_with_description_of(50_000).unwrap(), *row.json().as_bytes());
}

/// Files keep texts that an older version wrote. A change that makes this test fail must also raise `written::MANNER`.
#[test]
fn another_way_to_write_incidents_has_another_number() {
    use sha2::{Digest, Sha256};
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let network = |asn: u32| AffectedNetwork {
        name: Some("One".into()),
        first: Some(START.plus(-90 * DAY)),
        last: Some(START.plus(-80 * DAY)),
        blocked: 3,
        votes: 4,
        asn,
    };
    let full = Draft {
        services: vec!["telegram".into()],
        networks: vec![network(64_496), network(64_497)],
        areas: vec!["Coast".into()],
        occasion: Some("exams".into()),
        pattern: Some("intermittent".into()),
        schedule: Some("weekdays 04-14 UTC".into()),
        end: Some(START.plus(-80 * DAY)),
        ..draft(0)
    };
    let kinds = [IncidentType::Disruption, IncidentType::Mixed];
    let others = kinds.map(|kind| Draft {
        kind,
        subject: INTERNET.into(),
        unknown: Unknown { end: true, start: false },
        ..full.clone()
    });
    let [disruption, mixed] = others;
    let suspected = Draft { status: Status::Suspected, networks_tested: 0, methods: Vec::new(), ..draft(50) };
    report(&runtime, vec![seen(1, full), seen(2, disruption), seen(3, mixed), seen(4, suspected), seen(5, draft(9))]);
    operate(&runtime, "KE-2025-0005", operate::Deed::Retract);
    let mut digest = Sha256::new();
    changes(&runtime, crate::Timestamp::MIN, 100).incidents.iter().for_each(|row| digest.update(row.json()));
    let digest = crypto::encoding::encode_hex(&digest.finalize());
    assert_eq!((written::MANNER, &digest[..16]), (7, "e533d4ce0fa41e72"));
}
