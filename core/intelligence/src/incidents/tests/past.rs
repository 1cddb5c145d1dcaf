//! Incidents as they were at a moment.

use super::*;
use crate::Timestamp;

/// Begun 100 days before the clock of the tests, and ended ten days before it.
const BEGAN: Timestamp = START.plus(-100 * DAY);
const ENDED: Timestamp = START.plus(-10 * DAY);
/// A moment between the two.
const AMID: Timestamp = START.plus(-50 * DAY);

fn network(asn: u32, first: Timestamp, last: Timestamp) -> AffectedNetwork {
    AffectedNetwork { asn, name: None, first: Some(first), last: Some(last), blocked: 8, votes: 10 }
}

fn ended(status: Status) -> Draft {
    let networks = vec![network(1, BEGAN, ENDED), network(2, AMID.plus(DAY), ENDED)];
    Draft { status, end: Some(ENDED), networks, networks_tested: 5, weight: 0.6, resolved: Some(ENDED), ..draft(0) }
}

/// An incident that was only reported, and last said to go on ten days ago.
fn reported(sources: &[&str], status: Status) -> Draft {
    Draft {
        status,
        end: Some(ENDED),
        unknown: Unknown { end: true, start: false },
        sources: sources.iter().map(|source| (*source).to_owned()).collect(),
        networks_tested: 0,
        measurements: 0,
        ..draft(0)
    }
}

fn recorded(draft: Draft) -> Incident {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, draft)]);
    find(&runtime, "KE-2025-0001").unwrap()
}

/// Status, end, and whether that end is only the last report.
fn at(incident: &Incident, at: Timestamp) -> Option<(Status, Option<Timestamp>, bool)> {
    let then = incident.at(at)?.incident;
    Some((then.status(), then.end(), then.is_end_unknown()))
}

#[test]
fn what_ended_later_goes_on_and_what_had_not_begun_is_not_there() {
    let incident = recorded(ended(Status::Resolved));
    assert_eq!(at(&incident, BEGAN.plus(-1)), None);
    for moment in [BEGAN, AMID, ENDED] {
        assert_eq!(at(&incident, moment), Some((Status::Active, None, false)), "{moment}");
    }
    assert_eq!(at(&incident, ENDED.plus(1)), Some((Status::Resolved, Some(ENDED), false)));
    let suspected = recorded(ended(Status::Suspected));
    assert_eq!(at(&suspected, AMID), Some((Status::Suspected, None, false)), "nothing confirmed it then either");
}

#[test]
fn the_sentence_about_a_moment_has_no_end_and_no_network_from_later() {
    let incident = recorded(ended(Status::Resolved));
    let said = |at: Timestamp| incident.at(at).unwrap().summary.english();
    let (then, later) = (said(AMID), said(ENDED.plus(DAY)));
    assert!(then.contains(" is blocked ") && then.contains("on 1 network, since"), "{then}");
    assert!(!then.contains("60%") && !then.contains("last seen"), "{then}");
    assert_eq!(later, sentence(&incident).english());
    assert!(later.contains(" was blocked ") && later.contains("on 2 of 5 networks"), "{later}");
}

#[test]
fn a_report_without_an_end_is_believed_as_long_in_the_past_as_it_is_now() {
    let table = recorded(reported(&["access-now"], Status::Active));
    assert_eq!(at(&table, AMID), Some((Status::Active, None, false)), "its source said so later");
    assert_eq!(at(&table, ENDED.plus(89 * DAY)), Some((Status::Active, Some(ENDED), true)));
    assert_eq!(at(&table, ENDED.plus(90 * DAY)), Some((Status::Resolved, Some(ENDED), true)));
    let watched = recorded(reported(&["ioda"], Status::Resolved));
    assert_eq!(at(&watched, ENDED.plus(6 * DAY)), Some((Status::Active, Some(ENDED), true)), "it is over since then");
    assert_eq!(at(&watched, ENDED.plus(8 * DAY)), Some((Status::Resolved, Some(ENDED), true)));
    // Measurements showed before the 90 days were over that it had ended.
    let cleared = recorded(reported(&["access-now"], Status::Resolved));
    assert_eq!(at(&cleared, ENDED.plus(6 * DAY)), Some((Status::Resolved, Some(ENDED), true)));
}

#[test]
fn an_operators_end_hides_no_past_in_which_it_went_on() {
    use operate::Deed;
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, draft(0))]);
    let (end, status) = (Some(ENDED), Some(Status::Resolved));
    let patch = Overrides { end, status, ..Overrides::default() };
    let incident = operate(&runtime, "KE-2025-0001", Deed::Amend(Box::new(patch)));
    assert_eq!(at(&incident, AMID), Some((Status::Active, None, false)));
    assert_eq!(at(&incident, ENDED.plus(DAY)), Some((Status::Resolved, Some(ENDED), false)));
}

#[test]
fn what_an_operator_calls_over_without_an_end_is_over_at_every_moment() {
    use operate::Deed;
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, Draft { end: None, ..draft(0) })]);
    let patch = Overrides { status: Some(Status::Resolved), ..Overrides::default() };
    let incident = operate(&runtime, "KE-2025-0001", Deed::Amend(Box::new(patch)));
    assert_eq!(at(&incident, START.plus(DAY)), Some((Status::Resolved, None, false)), "as of now it is as now");
    assert_eq!(at(&incident, AMID), Some((Status::Resolved, None, false)), "nobody knows when it ended");
}

#[test]
fn an_announced_end_is_known_before_it_comes() {
    let ahead = Some(START.plus(20 * DAY));
    let incident = recorded(Draft { end: ahead, ..draft(0) });
    assert_eq!(at(&incident, AMID), Some((Status::Active, ahead, false)));
}
