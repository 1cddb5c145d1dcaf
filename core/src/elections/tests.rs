//! What is read of calendars, and what the one inside the binary holds.

use super::model::{Election, ElectionType, Precision, Status, When};
use super::{calendar, read, store};
use crate::Timestamp;
use crate::kv::{MemoryStore, Overlay};
use crate::measurement::ImportCounts;
use crate::starter::Country;
use crate::time::Date;

const NOW: &str = "2026-11-20";

fn enter(space: &mut Overlay<'_>, rows: Vec<Election>) {
    assert!(rows.iter().all(|row| store::enter(space, row).unwrap()));
}

fn parsed(text: &str) -> (Vec<Election>, ImportCounts) {
    read(&mut text.as_bytes(), 1 << 20, None, Timestamp::parse(NOW).unwrap()).unwrap()
}

/// Ruling intelligence 38: elections carry the precision of their date, never a guessed day.
#[test]
fn ruling_intelligence_38_a_month_or_a_year_stays_one() {
    for (text, precision) in [("2027-04-25", Precision::Day), ("2028-02", Precision::Month), ("2027", Precision::Year)]
    {
        let when = When::parse(text).unwrap();
        assert_eq!((when.precision(), when.text().as_str()), (precision, text));
        assert_eq!(when.day().is_some(), precision == Precision::Day, "{text}");
    }
    let february = When::parse("2028-02").unwrap();
    assert_eq!(february.last - february.first, 28, "a leap year");
    for text in ["", "27", "2027-4", "2027-13", "2027-02-30", "2027-04-25T00:00", "2027/04/25", "+027-04-25", "2027-"] {
        assert_eq!(When::parse(text), None, "{text}");
    }
}

/// Ruling intelligence 38: elections carry source and status. Every bad row is counted with its line.
#[test]
fn ruling_intelligence_38_rows_without_a_source_are_refused_and_bad_rows_named_by_line() {
    let (rows, counts) = parsed(
        "country,date,type,title,status,source\n\
         Kenya,2022-08-09,presidential,General election,held,IEBC\n\
         KE,2022-08-09,presidential,General election,held,IEBC\n\
         KE,2027-08-10,presidential,,fixed_by_law,\n\
         Atlantis,2027-08-10,presidential,,,IEBC\n\
         KE,2027-08-32,presidential,,,IEBC\n\
         KE,2027-08-33,presidential,,,IEBC\n\
         KE,2027,senatorial,,,IEBC\n\
         KE,2022-08,presidential,,held,IEBC\n\
         KE,1983-09-26,presidential,,held,IEBC\n\
         KE,2027-08-10,presidential,,fixed_by_law,\"Constitution, article 136\"\n",
    );
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].status, rows[0].kind), (Status::Held, ElectionType::Presidential));
    assert_eq!(
        (rows[1].title.as_str(), rows[1].source.as_str()),
        ("Presidential election", "Constitution, article 136")
    );
    assert_eq!((counts.accepted, counts.duplicate, counts.refused, counts.unusable), (2, 1, 4, 3), "{counts:?}");
    let reasons: Vec<&str> = counts.reasons.keys().map(String::as_str).collect();
    assert_eq!(
        reasons,
        [
            "bad_date (line 6)",
            "bad_date (line 7)",
            "bad_type (line 8)",
            "date_out_of_range (line 10)",
            "held_without_a_day (line 9)",
            "no_source (line 4)",
            "unknown_country (line 5)",
        ]
    );
    assert_eq!(counts.reasons.values().sum::<u64>(), 7);
}

#[test]
fn a_file_of_bad_rows_names_only_the_first_lines() {
    let rows: String = (0..100).map(|_| "KE,never,local,,,x\n").collect();
    let (_, counts) = parsed(&format!("country,date,type,title,status,source\n{rows}"));
    assert_eq!((counts.refused, counts.reasons.len(), counts.reasons["bad_date"]), (100, 21, 80));
}

/// Ruling intelligence 38: the calendar inside the binary has a source in every row, and is read whole.
#[test]
fn ruling_intelligence_38_the_calendar_is_read_whole_and_every_row_says_why_its_date_holds() {
    let lines = calendar::TEXT.lines().filter(|line| !line.starts_with('#')).count() - 1;
    assert_eq!(calendar::all().len(), lines, "a row is not read");
    assert!(lines >= 45);
    let today = Timestamp::parse(NOW).unwrap().day();
    for election in calendar::all() {
        assert!(i64::from(election.when.last) >= today, "{election:?} is over");
        assert!(Country::is_valid_code(&election.country));
        assert!(election.source.len() >= 20, "{election:?}");
        match election.status {
            Status::FixedByLaw => assert_ne!(election.when.precision(), Precision::Year, "{election:?}"),
            // Nobody called it: no day is known.
            Status::Expected => assert_ne!(election.when.precision(), Precision::Day, "{election:?}"),
            Status::Announced => {}
            _ => panic!("{election:?}"),
        }
    }
}

/// A law that names a weekday of a month can be checked: the day in the row must be that one.
#[test]
fn days_that_the_law_names_are_those_days() {
    const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    const NUMBERS: [&str; 4] = ["first", "second", "third", "fourth"];
    let mut checked = 0;
    for election in calendar::all() {
        let Some(day) = election.when.day() else { continue };
        let date = Date::from_days(i64::from(day));
        let rule = election.source.rsplit(": ").next().unwrap();
        let named = (0..7).filter_map(|at| Some((rule.find(DAYS[at])?, at))).min();
        let Some((_, weekday)) = named else { continue };
        assert_eq!(date.weekday(), weekday as i64, "{election:?}");
        let last = date.day + 7 > date.last_of_month().day;
        let number = NUMBERS.iter().position(|number| rule.starts_with(&format!("{number} {}", DAYS[weekday])));
        match (number, rule) {
            (_, rule) if rule.starts_with("second last") => assert!(!last && date.day + 14 > date.last_of_month().day),
            (_, rule) if rule.starts_with("last") => assert!(last, "{election:?}"),
            (_, rule) if rule.contains("after the first Monday") => assert!((2..=8).contains(&date.day)),
            (Some(_), rule) if rule.contains(" from the ") => continue,
            (Some(number), _) => assert_eq!((date.day - 1) / 7, number as i64, "{election:?}"),
            (None, _) => continue,
        }
        checked += 1;
    }
    assert!(checked >= 20, "{checked}");
}

#[test]
fn a_new_date_of_the_same_year_replaces_that_of_the_calendar() {
    let base = MemoryStore::default();
    let mut space = Overlay::new(&base);
    let before = store::dates(&space).unwrap();
    assert!(before.contains(&("NG".to_owned(), 20_834)), "16 January 2027");
    enter(&mut space, parsed("country,date,type,source\nNG,2027-02-20,presidential,a postponement\n").0);
    let after = store::dates(&space).unwrap();
    assert!(!after.contains(&("NG".to_owned(), 20_834)) && after.contains(&("NG".to_owned(), 20_869)));
    assert_eq!(after.len(), before.len());
    enter(&mut space, parsed("country,date,type,status,source\nNG,2027-02-20,presidential,cancelled,x\n").0);
    assert_eq!(store::dates(&space).unwrap().len(), before.len() - 1);
    assert!(after.is_sorted_by_key(|(_, day)| *day));
}
