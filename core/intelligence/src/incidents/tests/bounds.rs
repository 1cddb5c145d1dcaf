//! Beginnings and ends of which only a bound is known, and amendments of them by operators.

use super::*;
use crate::Timestamp;

const END: Unknown = Unknown { end: true, start: false };
const BEGINNING: Unknown = Unknown { end: false, start: true };

/// An incident that was only reported, without an end. It was last said to go on ten days ago.
fn reported() -> Draft {
    let end = Some(START.plus(-10 * DAY));
    Draft { unknown: END, end, networks_tested: 0, measurements: 0, methods: Vec::new(), ..draft(90) }
}

fn times(incident: &Incident) -> (Status, Option<Timestamp>, Option<Timestamp>) {
    (incident.status(), incident.known_end(), incident.last_confirmed())
}

#[test]
fn an_operators_end_closes_what_had_none_and_goes_on_is_an_operators_word_too() {
    use operate::{Deed, Field};
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, reported())]);
    let id = "KE-2025-0001";
    let last = Some(START.plus(-10 * DAY));
    assert_eq!(times(&find(&runtime, id).unwrap()), (Status::Active, None, last));
    let amend = |overrides: Overrides| operate(&runtime, id, Deed::Amend(Box::new(overrides)));
    let end = Some(START.plus(-5 * DAY));
    assert_eq!(times(&amend(Overrides { end, ..Overrides::default() })), (Status::Resolved, end, None));
    let on = amend(Overrides { end: Some(model::ONGOING), ..Overrides::default() });
    assert_eq!(times(&on), (Status::Active, None, None));
    let back = operate(&runtime, id, Deed::Restore(vec![Field::End]));
    assert_eq!(times(&back), (Status::Active, None, last), "the data say so again");
    report(&runtime, vec![seen(1, Draft { status: Status::Resolved, ..reported() })]);
    let over = find(&runtime, id).unwrap();
    assert_eq!(times(&over), (Status::Resolved, None, last));
    assert!(sentence(&over).english().ends_with("last reported to go on at 22 Dec 2025; when it ended is not known."));
}

#[test]
fn an_operators_beginning_is_a_known_one() {
    use operate::Deed;
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, Draft { unknown: BEGINNING, ..draft(90) })]);
    let id = "KE-2025-0001";
    let unseen = find(&runtime, id).unwrap();
    assert!(
        unseen.is_start_unknown() && sentence(&unseen).english().contains("since before"),
        "{}",
        sentence(&unseen).english()
    );
    let start = Some(START.plus(-300 * DAY));
    let patch = Overrides { start, ..Overrides::default() };
    let known = operate(&runtime, id, Deed::Amend(Box::new(patch)));
    assert!(
        !known.is_start_unknown() && !sentence(&known).english().contains("before"),
        "{}",
        sentence(&known).english()
    );
    assert!(!text::not_known(&known).iter().any(|said| said.english().contains("began")));
}

/// For merged incidents the first beginning and the last end decide what is known of the times.
#[test]
fn what_operators_merge_has_the_bounds_of_its_first_beginning_and_its_last_end() {
    use operate::Deed;
    for (other, start, end) in [
        (Draft { end: Some(START.plus(-9 * DAY)), status: Status::Resolved, ..draft(500) }, false, false),
        (Draft { end: Some(START.plus(-20 * DAY)), status: Status::Resolved, ..draft(500) }, false, true),
        (
            Draft { unknown: BEGINNING, end: Some(START.plus(-9 * DAY)), status: Status::Resolved, ..draft(500) },
            true,
            false,
        ),
        (
            Draft { unknown: BEGINNING, end: Some(START.plus(-9 * DAY)), status: Status::Resolved, ..draft(5) },
            false,
            false,
        ),
    ] {
        let runtime = TestRuntime::start(&PROGRAM, &[]);
        let whole = Draft { status: Status::Resolved, ..reported() };
        report(&runtime, vec![seen(1, whole), seen(2, other)]);
        operate(&runtime, "KE-2025-0002", Deed::Merge("KE-2025-0001".into()));
        let merged = find(&runtime, "KE-2025-0001").unwrap();
        assert_eq!((merged.is_start_unknown(), merged.is_end_unknown()), (start, end), "{:?}", merged.draft);
    }
}

#[test]
fn a_beginning_that_nobody_saw_is_counted_in_no_year() {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    report(&runtime, vec![seen(1, draft(90)), seen(2, Draft { unknown: BEGINNING, ..draft(50) })]);
    let begun = Beginnings { country: "KE".into() };
    assert_eq!(query(&*runtime, &actor().name, &begun).now_or_never().unwrap().unwrap(), [draft(90).start]);
    let since = Densities { began_after: START.plus(-365 * DAY), on_after: START.plus(-DAY) };
    let found = query(&*runtime, &actor().name, &since).now_or_never().unwrap().unwrap();
    assert_eq!(found, [("KE".to_owned(), 1, 2)]);
}
