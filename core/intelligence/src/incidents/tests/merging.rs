//! Tests of merging, in a deployment in memory.

use super::*;

/// An incident with merged parts shows what all of them show, in every form and in versions of its own, also when a
/// part changes later. After the parts are separated it is as before.
#[test]
fn a_merged_incident_shows_what_all_its_parts_show() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let network = |asn: u32, blocked: u32| AffectedNetwork {
        asn,
        name: None,
        first: Some(START.plus(-99 * DAY)),
        last: Some(START.plus(-98 * DAY)),
        blocked,
        votes: 10,
    };
    let other = Draft {
        subject: "whatsapp".into(),
        services: vec!["whatsapp".into()],
        domains: vec!["web.whatsapp.com".into()],
        networks: vec![network(36_926, 4), network(33_771, 5)],
        networks_tested: 9,
        severity: Severity::High,
        end: Some(START.plus(-98 * DAY)),
        status: Status::Resolved,
        methods: vec!["tls-reset".into()],
        sources: vec!["access-now".into(), "ooni".into()],
        measurements: 10,
        anomaly_rate: 1.0,
        evidence: vec![
            EvidenceRow { id: "00ff".into(), ..draft(120).evidence.remove(0) },
            draft(90).evidence.remove(1),
        ],
        evidence_total: 7,
        declared: Some(START.plus(-119 * DAY)),
        ..draft(120)
    };
    report(&runtime, vec![seen(1, Draft { networks: vec![network(33_771, 3)], ..draft(90) }), seen(2, other.clone())]);
    let apart = find(&runtime, "KE-2025-0001").unwrap();
    operate(&runtime, "KE-2025-0002", operate::Deed::Merge("KE-2025-0001".into()));
    let whole = find(&runtime, "KE-2025-0002").unwrap();
    let shown = &whole.draft;
    assert_eq!((whole.id.sequence, whole.version), (1, 2));
    assert_eq!(
        (whole.start(), whole.end(), whole.status()),
        (other.start, None, Status::Active),
        "one of them goes on"
    );
    assert_eq!(
        (shown.severity, shown.networks_tested, shown.measurements, shown.anomaly_rate),
        (Severity::High, 9, 50, 0.6)
    );
    assert_eq!((&shown.services, shown.domains.len()), (&other.services, 2));
    assert_eq!(shown.sources, ["access-now", "ooni"]);
    assert_eq!(shown.methods, ["dns-poison", "tls-reset"]);
    let networks: Vec<(u32, u32)> = shown.networks.iter().map(|network| (network.asn, network.blocked)).collect();
    assert_eq!(networks, [(33_771, 8), (36_926, 4)]);
    assert_eq!(title(&whole), "example.org and WhatsApp blocked in Kenya");
    let counts = |runtime: &TestRuntime| {
        let listed = String::from_utf8(listing(runtime).json).unwrap();
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let draft = find(runtime, "KE-2025-0001").unwrap().draft;
        (draft.evidence_total, draft.evidence_ids.len(), listed["evidenceCount"].as_u64().unwrap())
    };
    assert_eq!(counts(&runtime), (8, 3, 8), "a row of both counts once");
    assert_eq!(shown.evidence_ids[0], "00ff", "oldest first");
    let subject = Filter { subject: Some("whatsapp".into()), ..Filter::default() };
    let found = Select { filter: subject, ..Select::default() };
    let found = query(&*runtime, &actor().name, &found).now_or_never().unwrap().unwrap();
    assert_eq!(found.incidents.len(), 1, "found by what its part was about");
    // Later data about the part and about the whole.
    report(&runtime, vec![seen(2, Draft { evidence_total: 9, ..other.clone() })]);
    assert_eq!((counts(&runtime).0, find(&runtime, "KE-2025-0001").unwrap().version), (10, 3));
    report(&runtime, vec![seen(1, Draft { confidence: 0.9, ..draft(200) }), seen(2, other)]);
    let later = find(&runtime, "KE-2025-0001").unwrap();
    assert_eq!((later.start(), later.confidence(), later.draft.services.len()), (draft(200).start, 0.9, 1));
    report(&runtime, vec![seen(1, Draft { networks: vec![network(33_771, 3)], ..draft(90) })]);
    operate(&runtime, "KE-2025-0002", operate::Deed::Restore(Vec::new()));
    let parted = find(&runtime, "KE-2025-0001").unwrap();
    assert_eq!((&parted.draft, parted.alone), (&apart.draft, None));
}

/// Data about an incident that an operator wrote before do not make a second one. The incident stays the same and shows
/// what the data show.
#[test]
fn what_an_operator_wrote_first_and_data_show_later_is_one_incident() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let by_hand = |draft: Draft| {
        let overrides = Overrides { title: Some("By hand".into()), ..Overrides::default() };
        let (by, reason) = ("0011aabb".into(), "reported".into());
        let create = operate::Create { country: "KE".into(), draft, overrides, by, reason };
        call(&*runtime, &actor().name, &create).now_or_never().unwrap().unwrap().id.to_string()
    };
    let written = Draft { networks: Vec::new(), evidence: Vec::new(), evidence_total: 0, measurements: 0, ..draft(90) };
    let written = Draft { end: Some(draft(60).start), status: Status::Resolved, sources: Vec::new(), ..written };
    let id = by_hand(written.clone());
    by_hand(Draft { subject: "other.example".into(), ..written.clone() });
    by_hand(Draft { start: START.plus(-900 * DAY), end: Some(START.plus(-800 * DAY)), ..written });
    report(&runtime, vec![seen(1, draft(70))]);
    let shown = |runtime: &TestRuntime| {
        let all = Select::default();
        query(runtime, &actor().name, &all).now_or_never().unwrap().unwrap().incidents
    };
    assert_eq!(shown(&runtime).len(), 3);
    let one = find(&runtime, "KE-2025-0003").unwrap();
    assert_eq!((one.id.to_string(), title(&one)), (id.clone(), "By hand".into()));
    assert_eq!((one.status(), one.draft.measurements, one.draft.evidence_total), (Status::Active, 40, 2));
    assert_eq!((one.start(), one.end()), (draft(90).start, None), "the data say that it goes on");
    report(&runtime, vec![seen(2, Draft { subject: "third.example".into(), domains: Vec::new(), ..draft(70) })]);
    assert_eq!(shown(&runtime).len(), 4, "something else");
    // An operator separates them.
    operate(&runtime, "KE-2025-0003", operate::Deed::Restore(vec![operate::Field::Merge]));
    assert_eq!((shown(&runtime).len(), find(&runtime, &id).unwrap().draft.measurements), (5, 0));
}

/// Rows of an older version have no `alone`.
#[test]
fn incidents_of_an_earlier_program_are_read() {
    use engine::kv::{decode_row, encode_row};
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, draft(90))]);
    let incident = find(&runtime, "KE-2025-0001").unwrap();
    let mut old = encode_row(&incident).unwrap();
    old[0] = 1;
    assert_eq!((old.pop(), old.pop()), (Some(0), Some(0)));
    assert_eq!(decode_row::<Incident>(&old).unwrap(), incident);
}

/// A removed source leaves nothing in merged incidents either (decision licence-and-removal).
#[test]
fn a_removed_source_leaves_merged_incidents_too() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let other = Draft { sources: vec!["ioda".into()], evidence: Vec::new(), evidence_total: 0, ..draft(10) };
    report(&runtime, vec![seen(1, other.clone()), seen(2, draft(90)), seen(3, other)]);
    operate(&runtime, "KE-2025-0002", operate::Deed::Merge("KE-2025-0001".into()));
    operate(&runtime, "KE-2025-0001", operate::Deed::Merge("KE-2025-0003".into()));
    assert_eq!(find(&runtime, "KE-2025-0003").unwrap().draft.sources, ["ioda", "ooni"]);
    let forget = ForgetSource { country: "KE".into(), source: "ooni".into(), after: None, found: false };
    call(&*runtime, &actor().name, &forget).now_or_never().unwrap().unwrap();
    let kept = runtime.rows(&actor()).into_iter().filter(|(_, value)| value.windows(4).any(|part| part == b"ooni"));
    assert_eq!(kept.count(), 0, "no row names the source");
    assert_eq!(find(&runtime, "KE-2025-0003").unwrap().draft.sources, ["ioda"]);
}

#[test]
fn data_and_operators_that_merge_both_ways_leave_no_circle() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, draft(90)), seen(2, draft(50))]);
    operate(&runtime, "KE-2025-0001", operate::Deed::Merge("KE-2025-0002".into()));
    report(&runtime, vec![ReportEvent { event: 2, draft: None, merged_into: Some(1) }]);
    let whole = find(&runtime, "KE-2025-0002").unwrap();
    assert_eq!(
        (whole.merged_into(), whole.start()),
        (None, draft(90).start),
        "what its part shows, not a part of that"
    );
    assert_eq!(find(&runtime, "KE-2025-0001").unwrap().id.sequence, 2);
}

/// An incident that the data withdraw stays while they show a part of it. Both ids lead to that part.
#[test]
fn a_whole_that_the_data_withdraw_is_what_its_parts_show() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let other = Draft { subject: "part.example".into(), domains: vec!["part.example".into()], ..draft(50) };
    report(&runtime, vec![seen(1, draft(90)), seen(2, other.clone()), seen(3, draft(10))]);
    operate(&runtime, "KE-2025-0002", operate::Deed::Merge("KE-2025-0001".into()));
    let gone = || ReportEvent { event: 1, draft: None, merged_into: None };
    report(&runtime, vec![gone()]);
    let left = find(&runtime, "KE-2025-0002").unwrap();
    assert_eq!((left.id.sequence, left.is_shown(), left.start()), (1, true, other.start));
    assert_eq!((left.draft.subject.as_str(), left.retracted()), ("part.example", None));
    report(&runtime, vec![ReportEvent { event: 2, draft: None, merged_into: None }]);
    assert!(find(&runtime, "KE-2025-0001").unwrap().retracted().is_some(), "nothing is left");
    report(&runtime, vec![seen(1, draft(90)), seen(2, other)]);
    assert_eq!(find(&runtime, "KE-2025-0001").unwrap().draft.domains.len(), 2, "both are back");
    // The data merge the whole into a third incident, and its parts follow.
    report(&runtime, vec![ReportEvent { merged_into: Some(3), ..gone() }]);
    let third = find(&runtime, "KE-2025-0002").unwrap();
    assert_eq!((third.id.sequence, third.draft.domains.len()), (3, 2));
    assert_eq!(find(&runtime, "KE-2025-0001").unwrap().id.sequence, 3);
    // An operator cannot retract an incident that has parts.
    let retract = operate::OperateIncident {
        id: "KE-2025-0003".into(),
        version: None,
        deed: operate::Deed::Retract,
        by: "0011aabb".into(),
        reason: "none".into(),
    };
    assert!(call(&*runtime, &actor().name, &retract).now_or_never().unwrap().is_err());
}

/// Later data that grow towards an incident which an operator wrote become a part of it, unless an operator separated
/// them (decision order-of-data).
#[test]
fn data_that_grow_toward_an_operators_incident_become_a_part_of_it() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let short = Draft { end: Some(draft(80).start), status: Status::Resolved, ..draft(90) };
    report(&runtime, vec![seen(1, short.clone())]);
    let written = Draft {
        subject: "grouped.example".into(),
        start: START.plus(-90 * DAY),
        evidence: Vec::new(),
        evidence_total: 0,
        ..draft(0)
    };
    let (by, reason) = ("0011aabb".into(), "reported".into());
    let create = operate::Create { country: "KE".into(), draft: written, overrides: Overrides::default(), by, reason };
    let id = call(&*runtime, &actor().name, &create).now_or_never().unwrap().unwrap().id;
    assert_eq!(find(&runtime, "KE-2025-0001").unwrap().id.sequence, 1, "days lie between them");
    report(&runtime, vec![seen(1, draft(90))]);
    assert_eq!(find(&runtime, "KE-2025-0001").unwrap().id, id);
    operate(&runtime, "KE-2025-0001", operate::Deed::Restore(vec![operate::Field::Merge]));
    report(&runtime, vec![seen(1, Draft { confidence: 0.7, ..draft(90) })]);
    assert_eq!(find(&runtime, "KE-2025-0001").unwrap().id.sequence, 1);
}
