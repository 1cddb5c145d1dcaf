//! Reported events beside measured ones: from stored events to reports, without a runtime.

use std::collections::{BTreeMap, BTreeSet};

use super::super::tables::{CATALOGUE, EVENTS};
use super::tables::{FOUND, SILENCES, SilenceRow};
use super::{FindChanges, draft};
use crate::Timestamp;
use crate::country::Catalogue;
use crate::incidents::{Draft, IncidentType, Severity, Status};
use engine::actor::host::{self, Space};
use engine::actor::{ActorId, Call, Kind, View};
use engine::kv::{MemoryStore, Overlay, Store};
use engine::settings::Settings;
use engine::time::{DAY, HOUR};
use facts::change::combine::{INTERNET, MeasuredEvent, Silence, combine};
use facts::change::merge::{Affected, BlockingEvent};
use facts::reported::{self, Cause, Event, EventKind, Scope};
use facts::source::Source;
use facts::tracked::Tracked;

const NOW: Timestamp = Timestamp(1_767_225_600_000_000);
/// 2025-11-01T00:00:00Z, hours since the epoch.
const START: i64 = 489_648;

fn event(id: &str, kind: EventKind, cause: Cause, from: i64, to: i64) -> Event {
    Event {
        source: Source::Ooni,
        id: id.to_owned(),
        country: "IT".to_owned(),
        kind,
        scope: Scope::National,
        cause,
        start: Timestamp((START + from) * HOUR),
        end: Some(Timestamp((START + to) * HOUR)),
        heard: None,
        days_only: false,
        asns: Vec::new(),
        services: Vec::new(),
        areas: Vec::new(),
        occasion: None,
        score: None,
        url: None,
    }
}

fn silence(from: i64, to: i64) -> Silence {
    Silence {
        start: START + from,
        end: START + to,
        over: true,
        seen: START + to,
        networks: vec![1, 2],
        networks_expected: 3,
        weight: 0.8,
        expected: 50.0,
        observed: 0,
        sources: BTreeSet::from([Source::Ooni.code()]),
    }
}

fn block(subject: &str, from: i64, to: i64, asns: &[u32]) -> MeasuredEvent {
    let networks = asns.iter().map(|asn| Affected {
        asn: *asn,
        first: START + from,
        last: START + to,
        blocked: 9,
        votes: 10,
        probability: 0.95,
        techniques: BTreeMap::from([(facts::verdict::Technique::TlsReset.code(), 9)]),
        targets: BTreeSet::from([subject.to_owned()]),
    });
    let found = BlockingEvent {
        start: START + from,
        end: START + to,
        declared: START + from + 2,
        resolved: Some(START + to + 96),
        last_vote: START + to + 96,
        networks: networks.collect(),
        tested: asns.iter().map(|asn| (*asn, 10)).collect(),
        targets: BTreeSet::from([subject.to_owned()]),
        essential: true,
        sources: BTreeSet::from([Source::Ooni.code()]),
        measurements: 10,
        votes: 10,
        blocked: 9,
        intermittent: false,
        schedule: None,
        start_unknown: false,
    };
    MeasuredEvent { subject: subject.to_owned(), found }
}

fn drafts(measured: &[MeasuredEvent], silences: &[Silence], events: &[Event]) -> Vec<Draft> {
    let (actor, store, settings) = (ActorId::new(Kind::Country, "IT"), MemoryStore::default(), Settings::default());
    let view = View::new(&crate::testing::PROGRAM, &actor, &store, NOW, &settings);
    let mut reversed: Vec<Event> = events.to_vec();
    reversed.reverse();
    let make = |events: &[Event]| -> Vec<Draft> {
        combine(measured, silences, events, &[]).iter().map(|one| draft::draft(&view, one).unwrap()).collect()
    };
    let drafts = make(events);
    assert_eq!(drafts, make(&reversed), "decision order-of-data: the order of reports does not matter");
    drafts
}

/// Decision silence-of-measurements with events of other sources: a nationwide shutdown that is seen as a silence is
/// one incident. It is censorship only if a source says so.
#[test]
fn a_shutdown_seen_as_silence_is_one_incident_with_its_reports() {
    use EventKind::{Outage, Shutdown};
    let seen = [silence(10, 58)];
    let kind = |events: &[Event]| {
        let found = drafts(&[], &seen, events);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0].subject, INTERNET);
        assert_eq!(found[0].start, Timestamp((START + 10) * HOUR));
        (found[0].kind, found[0].status, found[0].severity)
    };
    use IncidentType::{Disruption, Mixed};
    assert_eq!(kind(&[]), (Disruption, Status::Suspected, Severity::High));
    let outage = event("o", Outage, Cause::Unknown, 11, 57);
    assert_eq!(kind(std::slice::from_ref(&outage)), (Disruption, Status::Resolved, Severity::High));
    let ordered = event("s", Shutdown, Cause::Ordered, 0, 72);
    assert_eq!(kind(std::slice::from_ref(&ordered)), (Mixed, Status::Resolved, Severity::Critical));
    assert_eq!(kind(&[outage.clone(), ordered.clone()]), (Mixed, Status::Resolved, Severity::Critical));
    // Without measurements, an outage is censorship only if a source says that it was ordered.
    let alone = |event: &Event| drafts(&[], &[], std::slice::from_ref(event))[0].kind;
    assert_eq!(alone(&outage), Disruption);
    assert_eq!(alone(&ordered), IncidentType::Censorship);
    assert_eq!(alone(&Event { cause: Cause::Ordered, ..outage.clone() }), IncidentType::Censorship);
    // An outage days later is another incident.
    assert_eq!(drafts(&[], &seen, &[event("later", Outage, Cause::Unknown, 200, 210)]).len(), 2);
}

/// A service was slowed for a year, and its source still says so; then it was blocked. These are two incidents, each as
/// its source describes it.
#[test]
fn what_was_slowed_and_what_was_blocked_later_are_two_incidents() {
    let slow = Event {
        services: vec!["twitter".to_owned()],
        heard: Some(Timestamp((START + 9_000) * HOUR)),
        end: None,
        ..event("slow", EventKind::Throttling, Cause::Ordered, 0, 0)
    };
    let block =
        Event { services: slow.services.clone(), ..event("block", EventKind::Block, Cause::Ordered, 8_000, 8_900) };
    let methods = |found: &[Draft]| found.iter().map(|draft| (draft.start, draft.methods.clone())).collect::<Vec<_>>();
    let throttling = vec!["throttling".to_owned()];
    let at = |hour: i64| Timestamp((START + hour) * HOUR);
    let reported = drafts(&[], &[], &[slow.clone(), block.clone()]);
    assert_eq!(methods(&reported), [(at(0), throttling.clone()), (at(8_000), vec![])]);
    // The measured block is the reported block, not the slowing.
    let seen = [self::block("twitter", 8_010, 8_900, &[1, 2])];
    let all = drafts(&seen, &[], &[slow.clone(), block]);
    assert_eq!(methods(&all), [(at(0), throttling), (at(8_010), vec!["tls-reset".to_owned()])]);
    // A slowing that was reported for the days of the measured failures is the measured event.
    let late = Event { start: at(7_960), ..slow };
    assert_eq!(drafts(&seen, &[], &[late]).len(), 1);
}

#[test]
fn reports_about_areas_and_networks_join_only_what_they_are_part_of() {
    let regional = |id: &str, area: &str| regional(id, area, 0, 24);
    let network = |id: &str, asn: u32| Event {
        scope: Scope::Network,
        asns: vec![asn],
        ..event(id, EventKind::Outage, Cause::Unknown, 3, 9)
    };
    let apart = drafts(&[], &[], &[regional("a", "North"), regional("b", "South"), network("c", 7)]);
    let areas: Vec<String> = apart.iter().map(|draft| draft.areas.concat()).collect();
    assert_eq!(areas, ["North", "South", ""], "a network may lie in any area");
    assert_eq!(drafts(&[], &[], &[regional("a", "North"), regional("b", "North")]).len(), 1);
    let national = event("n", EventKind::Shutdown, Cause::Ordered, 0, 24);
    assert_eq!(drafts(&[], &[], &[regional("a", "North"), regional("b", "South"), national, network("c", 7)]).len(), 1);
    let two = drafts(&[], &[], &[network("c", 7), network("d", 8)]);
    assert_eq!(two.len(), 2);
    assert!(two.iter().all(|draft| (draft.status, draft.severity) == (Status::Suspected, Severity::Low)));
}

fn regional(id: &str, area: &str, from: i64, to: i64) -> Event {
    let areas = vec![area.to_owned()];
    Event { scope: Scope::Regional, areas, ..event(id, EventKind::Shutdown, Cause::Ordered, from, to) }
}

/// A shutdown of months in one area has a cause of its own. Neither a short national outage nor shutdowns in other
/// areas during that time become a part of it.
#[test]
fn a_long_shutdown_of_an_area_does_not_swallow_what_happens_elsewhere_meanwhile() {
    let events = [
        regional("long", "North", 0, 900),
        event("outage", EventKind::Outage, Cause::Unknown, 100, 104),
        regional("south", "South", 300, 324),
        regional("north", "North", 500, 524),
        regional("east", "East", 880, 1000),
    ];
    let found = drafts(&[], &[], &events);
    let seen: Vec<(Vec<String>, u64)> = found.iter().map(|d| (d.areas.clone(), d.evidence_total)).collect();
    let area = |name: &str| vec![name.to_owned()];
    assert_eq!(seen, [(area("North"), 2), (vec![], 1), (area("South"), 1), (area("East"), 1)]);
    // A regional event that is given in whole days is a part of a national event on the same days.
    let days = |event: Event| Event { days_only: true, ..event };
    let events = [
        event("n", EventKind::Outage, Cause::Unknown, 110, 130),
        days(regional("a", "North", 96, 144)),
        days(regional("b", "South", 96, 168)),
    ];
    let found = drafts(&[], &[], &events);
    assert_eq!(found.iter().map(|draft| draft.evidence_total).collect::<Vec<_>>(), [2, 1]);
    assert_eq!((found[0].areas.len(), found[1].areas.concat()), (0, "South".to_owned()));
}

/// Words for a whole country are not its areas, but exceptions are. An occasion that says nothing is left out.
#[test]
fn national_reports_name_areas_only_where_something_was_left_out() {
    let named = |area: &str, occasion: &str| Event {
        areas: vec![area.to_owned()],
        occasion: Some(occasion.to_owned()),
        ..event("n", EventKind::Shutdown, Cause::Ordered, 0, 24)
    };
    let draft = drafts(&[], &[], &[named("Nationwide", "Other")]).remove(0);
    assert_eq!((draft.areas, draft.occasion), (vec![], None));
    let draft = drafts(&[], &[], &[named("National except the North", "Elections")]).remove(0);
    assert_eq!((draft.areas, draft.occasion.as_deref()), (vec!["National except the North".into()], Some("Elections")));
}

/// A source that gives days means the whole last day, not the first instant of the next day.
#[test]
fn an_end_in_days_is_the_last_day_itself() {
    let days = Event { days_only: true, ..event("d", EventKind::Shutdown, Cause::Ordered, 0, 24) };
    let draft = drafts(&[], &[], &[days]).remove(0);
    assert_eq!(draft.end.unwrap().to_date_text(), draft.start.to_date_text());
}

#[test]
fn evidence_of_a_source_without_an_address_has_none() {
    let address = |source: Source| {
        let told = Event { source, ..event("a", EventKind::Shutdown, Cause::Ordered, 0, 24) };
        drafts(&[], &[], &[told]).remove(0).evidence.remove(0).source_url
    };
    assert_eq!(address(Source::Outages), None);
    assert!(Source::ALL.into_iter().filter_map(address).all(|url| url.starts_with("https://")));
}

#[test]
fn a_bare_end_is_the_whole_last_day_however_the_beginning_is_written() {
    let (day, noon) = ("2025-11-05", "2025-11-05T12:00:00Z");
    for (start, end, meant) in [
        (day, "2025-11-07", "2025-11-07T23:59:59.000Z"),
        (noon, "2025-11-07", "2025-11-07T23:59:59.000Z"),
        (noon, "20251105", "2025-11-05T23:59:59.000Z"),
        (day, "2025-11-07T00:00:00Z", "2025-11-07T00:00:00.000Z"),
        (noon, "2025-11-07T06:00:00Z", "2025-11-07T06:00:00.000Z"),
    ] {
        let text = format!("country,kind,start,end,cause\nIT,shutdown,{start},{end},ordered\n");
        let (_, told) = reported::read(Source::Outages, &mut text.as_bytes(), u64::MAX, None, NOW).unwrap();
        let draft = drafts(&[], &[], &[told[0].event.clone()]).remove(0);
        assert_eq!(draft.end.unwrap().to_string(), meant, "{start} to {end}");
    }
}

/// Decision incident-grades: a second source makes more of a suspicion, and its words are added.
#[test]
fn reports_corroborate_what_was_measured_at_that_time() {
    let named = |from: i64, to: i64| Event {
        services: vec!["Telegram".to_owned()],
        occasion: Some("exam".to_owned()),
        ..event("b", EventKind::Block, Cause::Ordered, from, to)
    };
    let measured = [block("telegram", 10, 60, &[1])];
    let alone = drafts(&measured, &[], &[]);
    assert_eq!((alone[0].status, alone[0].severity), (Status::Suspected, Severity::Critical));
    let both = drafts(&measured, &[], &[named(0, 48)]);
    assert_eq!(both.len(), 1);
    assert_eq!(
        (both[0].status, both[0].start),
        (Status::Resolved, Timestamp((START + 10) * HOUR)),
        "measured dates stay"
    );
    assert_eq!((both[0].occasion.as_deref(), both[0].evidence_total), (Some("exam"), 10));
    let apart = drafts(&measured, &[], &[named(300, 320)]);
    assert_eq!(apart.len(), 2);
    assert_eq!((apart[1].subject.as_str(), apart[1].services.clone()), ("telegram", vec!["telegram".to_owned()]));
}

fn naming(id: &str, services: &[&str], from: i64, to: i64) -> Event {
    let services = services.iter().map(|service| (*service).to_owned()).collect();
    Event { services, ..event(id, EventKind::Block, Cause::Ordered, from, to) }
}

/// Decision incident-grades: a block of services is no shutdown, whatever the services are, and a domain is not graded
/// as a platform.
#[test]
fn a_block_is_never_a_shutdown() {
    let found = drafts(&[], &[], &[naming("g", &["grindr.com"], 0, 48), naming("s", &["skype.com"], 10, 48)]);
    let seen: Vec<_> = found.iter().map(|draft| (draft.subject.as_str(), draft.severity, draft.kind)).collect();
    let expected = |subject| (subject, Severity::Medium, IncidentType::Censorship);
    assert_eq!(seen, [expected("grindr.com"), expected("skype.com")]);
    assert_eq!((found[0].domains.clone(), found[0].services.len()), (vec!["grindr.com".to_owned()], 0));
    let nameless = drafts(&[], &[], &[naming("n", &[], 0, 48)]).remove(0);
    assert_eq!((nameless.subject.as_str(), nameless.severity), (facts::reported::UNNAMED, Severity::Medium));
    assert!(nameless.services.is_empty(), "{nameless:?}");
    let written = drafts(&[], &[], &[naming("w", &["social media", "blued"], 0, 48)]).remove(0);
    assert_eq!(written.services, ["blued", "social media"]);
    // A platform among the names stands for all of them.
    let mixed = drafts(&[], &[], &[naming("m", &["blued", "facebook"], 0, 48)]).remove(0);
    assert_eq!((mixed.subject.as_str(), mixed.severity), ("facebook", Severity::Critical));
    // A shutdown beside a block is an incident of its own.
    let both = drafts(
        &[],
        &[],
        &[naming("b", &["grindr.com"], 0, 48), event("s", EventKind::Shutdown, Cause::Ordered, 0, 48)],
    );
    assert_eq!(both.len(), 2);
}

/// Decision incident-grades for the platforms of an imported target list: by slug if measured, by slug or host if
/// reported.
#[test]
fn platforms_of_target_lists_are_graded_as_platforms() {
    let (actor, mut store, settings) = (ActorId::new(Kind::Country, "IT"), MemoryStore::default(), Settings::default());
    let role = facts::subject::Role { key: "hub.example".to_owned(), essential: true };
    let hub = Tracked { slug: "hub".to_owned(), label: "Hub".to_owned(), roles: vec![role] };
    let catalogue = Catalogue { platforms: vec![hub], ..Catalogue::default() };
    let mut space = Overlay::new(&store);
    CATALOGUE.put(&mut space, &(), &catalogue).unwrap();
    let batch = space.into_batch();
    store.apply(batch).unwrap();
    let view = View::new(&crate::testing::PROGRAM, &actor, &store, NOW, &settings);
    let graded = |measured: &[MeasuredEvent], events: &[Event]| {
        let all = combine(measured, &[], events, &catalogue.platforms);
        let draft = draft::draft(&view, &all[0]).unwrap();
        (draft.subject, draft.severity)
    };
    let on = |severity| ("hub".to_owned(), severity);
    assert_eq!(graded(&[block("hub", 0, 50, &[1])], &[]), on(Severity::Critical), "of all weight there is");
    let mut part = block("hub", 0, 50, &[1]);
    part.found.tested = BTreeMap::from([(1, 10), (2, 10), (3, 10), (4, 10)]);
    assert_eq!(graded(&[part], &[]), on(Severity::Medium));
    assert_eq!(graded(&[], &[naming("r", &["hub.example"], 0, 48)]), on(Severity::Critical));
}

#[test]
fn services_of_a_report_that_nobody_measured_are_not_lost_beside_one_that_was() {
    let report = naming("r", &["facebook", "telegram", "twitter"], 0, 48);
    let measured = [block("telegram", 10, 60, &[1, 2])];
    let found = drafts(&measured, &[], std::slice::from_ref(&report));
    let seen: Vec<_> = found.iter().map(|draft| (draft.subject.as_str(), draft.services.join(" "))).collect();
    let (platforms, own) = ("facebook twitter".to_owned(), "telegram".to_owned());
    assert_eq!(seen, [("facebook", platforms), ("telegram", own)]);
    // Another report joins only by the services that it shares.
    let other = naming("o", &["twitter", "whatsapp"], 20, 40);
    let found = drafts(&measured, &[], &[report, other]);
    let seen: Vec<_> = found.iter().map(|draft| (draft.services.join(" "), draft.evidence.len())).collect();
    let expected = [("facebook twitter", 2), ("telegram", 1), ("whatsapp", 1)];
    assert_eq!(seen, expected.map(|(services, evidence)| (services.to_owned(), evidence)));
}

/// A block that a table reports as going on corroborates what is measured of it later. Lost connectivity without an end
/// does not join what follows.
#[test]
fn a_block_that_goes_on_is_one_cause_with_what_is_measured_later() {
    let open = Event {
        end: None,
        heard: Some(Timestamp((START + 9_000) * HOUR)),
        source: Source::AccessNow,
        ..naming("open", &["facebook", "instagram"], 0, 0)
    };
    let measured = [block("facebook", 5_000, 5_100, &[1, 2])];
    let found = drafts(&measured, &[], std::slice::from_ref(&open));
    let seen: Vec<_> = found.iter().map(|draft| (draft.subject.as_str(), draft.sources.len())).collect();
    assert_eq!(seen, [("instagram", 1), ("facebook", 2)]);
    let lost = |id: &str, from| Event {
        end: None,
        heard: open.heard,
        ..event(id, EventKind::Shutdown, Cause::Ordered, from, 0)
    };
    assert_eq!(drafts(&[], &[], &[lost("a", 0), lost("b", 300)]).len(), 2);
}

/// Decision incident-grades: a network that is slowed is graded one step lower, until a source says that it was cut
/// off.
#[test]
fn a_slowed_network_is_graded_and_named_as_slowed() {
    let slow = event("t", EventKind::Throttling, Cause::Ordered, 0, 24);
    let draft = drafts(&[], &[], std::slice::from_ref(&slow)).remove(0);
    assert_eq!(
        (draft.subject.as_str(), draft.severity, draft.methods.concat().as_str()),
        (INTERNET, Severity::High, "throttling")
    );
    let shut = event("s", EventKind::Shutdown, Cause::Ordered, 3, 24);
    let draft = drafts(&[], &[], &[slow, shut]).remove(0);
    assert_eq!(
        (draft.severity, draft.methods.len()),
        (Severity::Critical, 0),
        "what was shut down was not only slowed"
    );
}

#[test]
fn single_domains_that_fall_together_are_one_incident_and_others_are_not() {
    let measured = [
        block("a.example", 0, 50, &[1, 2]),
        block("b.example", 20, 70, &[1, 2, 3]),
        // Each of these is apart: too late, on other networks, or a platform.
        block("c.example", 30, 80, &[1, 2]),
        block("d.example", 1, 50, &[7, 8]),
        block("telegram", 2, 50, &[1, 2]),
    ];
    let found = drafts(&measured, &[], &[]);
    let domains: Vec<(String, usize)> =
        found.iter().map(|draft| (draft.subject.clone(), draft.domains.len())).collect();
    let expected = [("a.example", 2), ("d.example", 1), ("telegram", 1), ("c.example", 1)];
    assert_eq!(domains, expected.map(|(subject, count)| (subject.to_owned(), count)));
}

fn told(event: &Event) -> facts::reported::Reported {
    facts::reported::Reported { event: event.clone(), version: 0, leads: true }
}

/// The operation over stored rows: one message to the incidents actor, and none when nothing changed.
#[test]
fn stored_events_are_reported_once() {
    let (actor, mut store, settings) = (ActorId::new(Kind::Country, "IT"), MemoryStore::default(), Settings::default());
    let mut space = Overlay::new(&store);
    let shutdown = event("s", EventKind::Shutdown, Cause::Ordered, 0, 72);
    EVENTS.put(&mut space, &(1, "s".to_owned()), &told(&shutdown)).unwrap();
    let row = SilenceRow {
        silence: silence(10, 58),
        elsewhere: Some(crate::world::Elsewhere { countries: 9, reduced: 1, newest: START + 900 }),
    };
    SILENCES.put(&mut space, &(1, START + 10), &row).unwrap();
    FOUND.put(&mut space, &("telegram".to_owned(), START), &block("telegram", 0, 9, &[1]).found).unwrap();
    super::tables::WORK
        .put(&mut space, &(), &super::tables::ChangeWork { combine: true, ..Default::default() })
        .unwrap();
    let batch = space.into_batch();
    store.apply(batch).unwrap();
    let run = |store: &mut MemoryStore, seed: u8| {
        let call = Call::operation("IT", &FindChanges).unwrap();
        let space = Space {
            program: &crate::testing::PROGRAM,
            actor: &actor,
            rows: &*store,
            now: NOW,
            seed: [seed; 32],
            settings: &settings,
        };
        let outcome = host::perform(&space, &call);
        outcome.reply.unwrap();
        let changes = outcome.batch.len();
        store.apply(outcome.batch).unwrap();
        changes
    };
    assert!(run(&mut store, 1) > 0);
    let reported =
        super::tables::REPORTED.scan(&store, &super::tables::REPORTED.range(), engine::kv::Direction::Ascending, 9);
    let numbers: Vec<u64> = reported.unwrap().into_iter().map(|((number,), _)| number).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(run(&mut store, 2), 0, "nothing is marked any more");
}

/// Decision incident-ids: a number stays with its event when late reports bring another event that began earlier.
#[test]
fn numbers_stay_with_their_areas_when_late_reports_come_between() {
    let mut store = MemoryStore::default();
    let mut report = |area: &str, from: i64| {
        let shutdown = regional(area, area, from, from + 24);
        let mut space = Overlay::new(&store);
        EVENTS.put(&mut space, &(1, area.to_owned()), &told(&shutdown)).unwrap();
        let work = super::tables::WORK.get(&space, &()).unwrap().unwrap_or_default();
        super::tables::WORK.put(&mut space, &(), &super::tables::ChangeWork { combine: true, ..work }).unwrap();
        let batch = space.into_batch();
        store.apply(batch).unwrap();
        find_changes(&mut store);
        let reported = super::tables::REPORTED;
        let rows = reported.scan(&store, &reported.range(), engine::kv::Direction::Ascending, 9).unwrap();
        rows.into_iter().map(|((number,), row)| (number, row.start - START)).collect::<Vec<_>>()
    };
    assert_eq!(report("North", 10), [(1, 10)]);
    assert_eq!(report("South", 15), [(1, 10), (2, 15)]);
    assert_eq!(report("East", 5), [(1, 10), (2, 15), (3, 5)]);
}

#[test]
fn a_report_without_an_end_is_active_only_while_somebody_says_that_it_goes_on() {
    let open = |heard: Option<Timestamp>| Event {
        end: None,
        heard,
        source: Source::AccessNow,
        ..event("open", EventKind::Shutdown, Cause::Ordered, 0, 1)
    };
    let early = |heard: Timestamp| Event { start: heard.plus(-2 * DAY), ..open(Some(heard)) };
    let state = |events: &[Event]| {
        let draft = drafts(&[], &[], events).remove(0);
        (draft.status, draft.end, draft.unknown.end)
    };
    let (lately, long_ago) = (NOW.plus(-90 * DAY + 1), NOW.plus(-90 * DAY));
    assert_eq!(state(&[early(lately)]), (Status::Active, Some(lately), true));
    assert_eq!(state(&[early(long_ago)]), (Status::Resolved, Some(long_ago), true));
    assert_eq!(state(&[open(None)]), (Status::Resolved, Some(Timestamp(START * HOUR)), true));
    // Another source names an end of the same extent. An end of a part does not count.
    let end = NOW.plus(-9 * DAY);
    let other =
        Event { start: lately.plus(-DAY), end: Some(end), ..event("other", EventKind::Shutdown, Cause::Ordered, 0, 1) };
    assert_eq!(state(&[early(lately), other.clone()]), (Status::Resolved, Some(end), false));
    let part = Event { scope: Scope::Regional, ..other };
    let known = Event { end: None, heard: Some(NOW.plus(-9 * DAY)), start: lately.plus(-DAY), ..early(lately) };
    assert_eq!(state(&[known, part]), (Status::Active, Some(end), true));
}

/// Runs one search for changes in the country of a store.
fn find_changes(store: &mut MemoryStore) {
    let (actor, settings) = (ActorId::new(Kind::Country, "IT"), Settings::default());
    let call = Call::operation("IT", &FindChanges).unwrap();
    let space = Space {
        program: &crate::testing::PROGRAM,
        actor: &actor,
        rows: &*store,
        now: NOW,
        seed: [1; 32],
        settings: &settings,
    };
    let outcome = host::perform(&space, &call);
    outcome.reply.unwrap();
    store.apply(outcome.batch).unwrap();
}

/// An earlier version took a report to stand for 400 days, and looked again only then.
#[test]
fn what_an_earlier_program_reported_is_looked_at_again() {
    let mut store = MemoryStore::default();
    let heard = Some(NOW.plus(-200 * DAY));
    let open = Event { end: None, heard, ..event("open", EventKind::Shutdown, Cause::Ordered, -9_000, 0) };
    let subjects = BTreeSet::from([INTERNET.to_owned()]);
    let (start, end) = (START - 9_000, START - 8_976);
    let before = super::tables::ReportedEvent { subjects, start, end, inputs: 0, shape: 0, at: NOW, gone: false };
    let mut space = Overlay::new(&store);
    EVENTS.put(&mut space, &(1, "open".to_owned()), &told(&open)).unwrap();
    super::tables::REPORTED.put(&mut space, &(1,), &before).unwrap();
    super::tables::WORK
        .put(&mut space, &(), &super::tables::ChangeWork { last_event: 1, ..Default::default() })
        .unwrap();
    let batch = space.into_batch();
    store.apply(batch).unwrap();
    find_changes(&mut store);
    let after = super::tables::REPORTED.get(&store, &(1,)).unwrap().unwrap();
    assert_eq!((after.start, after.gone, after.inputs != 0), (start, false, true), "under the same number");
}
