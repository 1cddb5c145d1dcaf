//! Recording, in a deployment in memory.

use futures_util::FutureExt;

use super::*;
use crate::runtime::{call, query};
use crate::testing::{START, TestRuntime};
use crate::time::{DAY, HOUR};

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
        subject: "example.org".into(),
        kind: IncidentType::Censorship,
        severity: Severity::Medium,
        status: Status::Active,
        confidence: 0.8,
        start,
        end: None,
        services: Vec::new(),
        domains: vec!["example.org".into()],
        networks: Vec::new(),
        networks_tested: 3,
        weight: 0.4,
        methods: vec!["dns-poison".into()],
        areas: Vec::new(),
        occasion: None,
        pattern: None,
        schedule: None,
        sources: vec!["ooni".into()],
        measurements: 40,
        anomaly_rate: 0.5,
        evidence: vec![row(1), row(2)],
        evidence_ids: Vec::new(),
        evidence_total: 2,
        licence: "CC-BY-4.0".into(),
    }
}

fn report(runtime: &TestRuntime, reports: Vec<Report>) {
    let record = Record { country: "KE".into(), reports };
    call(runtime, &actor().name, &record).now_or_never().unwrap().unwrap();
}

fn find(runtime: &TestRuntime, id: &str) -> Option<Incident> {
    query(runtime, &actor().name, &Find { id: id.into(), follow: true }).now_or_never().unwrap().unwrap()
}

fn changes(runtime: &TestRuntime, since: crate::Timestamp, limit: u32) -> Changed {
    query(runtime, &actor().name, &Changes { since, limit }).now_or_never().unwrap().unwrap()
}

const fn seen(event: u64, draft: Draft) -> Report {
    Report { event, draft: Some(draft), merged_into: None }
}

#[test]
fn an_incident_keeps_its_ids_and_all_its_versions() {
    let runtime = TestRuntime::start(&[]);
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

/// Ruling intelligence 16: numbers are never used again, merged ids lead on, withdrawn ones stay in the delta.
#[test]
fn ruling_intelligence_16_merged_ids_lead_on_and_withdrawn_ones_stay_in_the_delta() {
    let runtime = TestRuntime::start(&[]);
    report(&runtime, vec![seen(1, draft(90)), seen(2, draft(50)), seen(3, draft(10))]);
    report(
        &runtime,
        vec![
            Report { event: 2, draft: None, merged_into: Some(1) },
            Report { event: 3, draft: None, merged_into: None },
        ],
    );
    assert_eq!(find(&runtime, "KE-2025-0002").unwrap().id.sequence, 1);
    assert!(find(&runtime, "KE-2025-0003").unwrap().retracted.is_some());
    let all = query(&*runtime, &actor().name, &All { country: None }).now_or_never().unwrap().unwrap();
    assert_eq!(all.len(), 1);
    report(&runtime, vec![seen(4, draft(5))]);
    assert!(find(&runtime, "KE-2025-0004").is_some(), "a number is not given twice");
    let changed = changes(&runtime, crate::Timestamp::MIN, 100);
    let order: Vec<u32> = changed.incidents.iter().map(|incident| incident.id.sequence).collect();
    assert_eq!(order, [1, 2, 3, 4], "each once, in the order of its last change");
    // What comes back is shown again.
    report(&runtime, vec![seen(3, draft(10))]);
    assert!(find(&runtime, "KE-2025-0003").unwrap().is_shown());
}

#[test]
fn the_delta_in_pages_skips_nothing_and_repeats_nothing() {
    let runtime = TestRuntime::start(&[]);
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
