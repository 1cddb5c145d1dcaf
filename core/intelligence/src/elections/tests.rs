//! How calendars are read, and the content of the calendar inside the binary.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{DateCertainty, Election, ElectionDate, ElectionType, Precision};
use super::{calendar, read, store};
use crate::Timestamp;
use engine::kv::{MemoryStore, Overlay};
use engine::time::Date;
use facts::measurement::ImportCounts;
use facts::starter::Country;

const NOW: &str = "2026-11-20";

fn enter(space: &mut Overlay<'_>, rows: Vec<Election>) {
    assert!(rows.iter().all(|row| store::enter(space, row).unwrap()));
}

fn parsed(text: &str) -> (Vec<Election>, ImportCounts) {
    read(&mut text.as_bytes(), 1 << 20, None, Timestamp::parse(NOW).unwrap()).unwrap()
}

/// Elections carry the precision of their date, never a guessed day (decision features-dates-retries).
#[test]
fn a_month_or_a_year_stays_one() {
    for (text, precision) in [("2027-04-25", Precision::Day), ("2028-02", Precision::Month), ("2027", Precision::Year)]
    {
        let when = ElectionDate::parse(text).unwrap();
        assert_eq!((when.precision(), when.text().as_str()), (precision, text));
        assert_eq!(when.day().is_some(), precision == Precision::Day, "{text}");
    }
    let february = ElectionDate::parse("2028-02").unwrap();
    assert_eq!(february.last - february.first, 28, "a leap year");
    for text in ["", "27", "2027-4", "2027-13", "2027-02-30", "2027-04-25T00:00", "2027/04/25", "+027-04-25", "2027-"] {
        assert_eq!(ElectionDate::parse(text), None, "{text}");
    }
}

/// Elections carry source and status, and every bad row is counted with its line (decision features-dates-retries).
#[test]
fn rows_without_a_source_are_refused_and_bad_rows_named_by_line() {
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
    assert_eq!((rows[0].status, rows[0].kind), (DateCertainty::Held, ElectionType::Presidential));
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

/// Every row of the calendar inside the binary has a source and can be read (decision features-dates-retries).
#[test]
fn the_calendar_is_read_whole_and_every_row_says_why_its_date_holds() {
    let lines = calendar::TEXT.lines().filter(|line| !line.starts_with('#')).count() - 1;
    assert_eq!(calendar::all().len(), lines, "a row is not read");
    assert!(lines >= 50);
    let today = Timestamp::parse(NOW).unwrap().day();
    for election in calendar::all() {
        assert!(i64::from(election.when.last) >= today, "{election:?} is over");
        assert!(Country::is_valid_code(&election.country));
        assert!(election.source.len() >= 20, "{election:?}");
        match election.status {
            DateCertainty::FixedByLaw => assert_ne!(election.when.precision(), Precision::Year, "{election:?}"),
            // The election is not called yet, so no day is known.
            DateCertainty::Expected => assert_ne!(election.when.precision(), Precision::Day, "{election:?}"),
            DateCertainty::Announced => {}
            _ => panic!("{election:?}"),
        }
    }
}

/// The date of a day, and its place among the same weekdays of its month, 0 for the first.
fn placed(day: i32) -> (Date, usize) {
    let date = Date::from_days(i64::from(day));
    (date, (date.day as usize - 1) / 7)
}

/// Whether a day follows a rule such as `fourth Sunday of October`.
fn follows(rule: &str, day: i32) -> bool {
    const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    const NUMBERS: [&str; 4] = ["first", "second", "third", "fourth"];
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let (date, number) = placed(day);
    let weekday = DAYS[date.weekday() as usize];
    let to_end = date.last_of_month().day as usize - date.day as usize;
    let month = MONTHS[date.month as usize - 1];
    let after_monday = (2..=8).contains(&date.day) && weekday == "Tuesday";
    let names = [
        NUMBERS.get(number).map(|number| format!("{number} {weekday} of {month}")),
        (to_end < 7).then(|| format!("last {weekday} of {month}")),
        (7..14).contains(&to_end).then(|| format!("second last {weekday} of {month}")),
        after_monday.then(|| format!("first Tuesday after the first Monday of {month}")),
        after_monday.then(|| format!("Tuesday after the first Monday of {month}")),
    ];
    names.into_iter().flatten().any(|name| name == rule)
}

/// Dates in a text: days, months and years.
fn dates_in(text: &str) -> Vec<ElectionDate> {
    text.split([' ', ',', ';', '.', '(', ')']).filter_map(ElectionDate::parse).collect()
}

/// The number of years between two elections, as a source states it.
fn period(source: &str) -> Option<i64> {
    let (_, rest) = source.split_once("every ").or_else(|| source.split_once("Term of "))?;
    rest.split(' ').next()?.parse().ok()
}

/// Every row of the calendar says how its date is known, and the date follows from that. A rule also gives the earlier
/// days that the row names, and a term leads from the earlier elections to this one.
#[test]
fn the_calendar_follows_from_the_rules_terms_and_days_that_its_sources_name() {
    let mut rules = 0;
    for election in calendar::all() {
        let source = election.known().0;
        let from = match election.status {
            DateCertainty::Announced => {
                assert!(source.starts_with("Announced: "), "{election:?}");
                continue;
            }
            DateCertainty::FixedByLaw => {
                let rule = source.strip_prefix("Rule of ").and_then(|rest| rest.split_once(": ")).unwrap().1;
                let (rule, days) = rule.split_once(", as on ").unwrap_or_else(|| panic!("{election:?}"));
                let rule = rule.split(", ").next().unwrap();
                let days = dates_in(days);
                assert!(!days.is_empty() && days.iter().all(|day| day.day().is_some()), "{election:?}");
                for day in days.iter().chain([&election.when]) {
                    assert!(follows(rule, day.first), "{} is no {rule}", day.text());
                }
                rules += 1;
                days
            }
            _ => {
                let (_, years) = source.split_once(" years: as in ").unwrap_or_else(|| panic!("{election:?}"));
                dates_in(years.split(". ").next().unwrap())
            }
        };
        assert!(!from.is_empty(), "{election:?}");
        for earlier in period(source).into_iter().flat_map(|period| from.iter().map(move |when| (period, when))) {
            let (period, when) = earlier;
            let years = election.when.year() - when.year();
            assert!(years > 0 && years % period == 0, "{years} years from {}: {election:?}", when.text());
            assert!(when.precision() <= election.when.precision(), "{election:?}");
        }
        assert!(period(source).is_some() || election.country == "CA", "{election:?}");
    }
    assert!(rules >= 20, "{rules}");
    assert!(follows("second last Sunday of October", ElectionDate::parse("2027-10-24").unwrap().first));
    assert!(!follows("second Tuesday of August", ElectionDate::parse("2027-08-17").unwrap().first));
}

/// The earlier days that the calendar names are in a table of past elections, where that table covers the year.
#[test]
fn earlier_days_that_the_calendar_names_are_in_a_table_of_past_elections() {
    let Some(text) = engine::testing::real_data("elections/electionlist_3_21.csv") else { return };
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut table: BTreeMap<(String, i64), BTreeSet<(i64, i64)>> = BTreeMap::new();
    for line in text.lines() {
        // ccode, electionnumber, country, year, month, day, sequence, event.
        let fields: Vec<&str> = line.split(',').map(|field| field.trim().trim_matches('"')).collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<i64>().ok());
        let country = fields.get(2).and_then(|name| facts::reported::place::country(name));
        let (Some(country), Some(year), Some(month), Some(day)) = (country, number(3), number(4), number(5)) else {
            continue;
        };
        if fields.get(7).is_some_and(|event| event.starts_with("Vote")) {
            table.entry((country.to_owned(), year)).or_default().insert((month, day));
        }
    }
    let mut found = 0;
    for election in calendar::all() {
        let Some((_, days)) = election.source.split_once(", as on ") else { continue };
        for day in dates_in(days).into_iter().filter_map(ElectionDate::day) {
            let (date, _) = placed(day);
            let Some(known) = table.get(&(election.country.clone(), date.year)) else { continue };
            assert!(known.contains(&(date.month, date.day)), "{date} of {election:?} is none of {known:?}");
            found += 1;
        }
    }
    assert!(found >= 25, "{found}");
}

/// The calendar has local votes for its readers. The forecast uses only votes of the whole country or of its regions.
#[test]
fn the_forecast_hears_of_no_merely_local_election() {
    let base = MemoryStore::default();
    let mut space = Overlay::new(&base);
    let text =
        "country,date,type,source\nKE,2026-12-01,local,x\nKE,2026-12-02,regional,x\nKE,2026-12-03,referendum,x\n";
    enter(&mut space, parsed(text).0);
    let known: Vec<i32> =
        store::dates(&space).unwrap().into_iter().filter(|(code, _)| code == "KE").map(|(_, day)| day).collect();
    let day = |text: &str| ElectionDate::parse(text).unwrap().first;
    assert_eq!(known[..2], [day("2026-12-02"), day("2026-12-03")]);
    assert!(!store::dates(&space).unwrap().iter().any(|(code, _)| code == "TW"), "a local election that ships");
    assert!(calendar::all().iter().any(|election| election.country == "TW" && election.kind == ElectionType::Local));
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

/// The two published tables are read in their own layouts, including steps that are no votes, days left open, formal
/// names and regions.
#[test]
fn the_two_published_tables_are_read_in_their_own_layouts() {
    let reign = "ccode,electionnumber,country,elec_year,elec_month,elec_day,sequence,event,elecnum,type,direct\n\
        1,1,Kenya,2017,8,8,1,\"Vote, As Scheduled\",1,X,Y\n1,2,Kenya,2017,7, ,1,Announced,1,X,Y\n\
        1,3,Albania,2021,4,25,1,\"Upcoming, Scheduled\",1,L,Y\n1,4,Andorra,2023,4, ,1,\"Upcoming, Deadline\",1,L,Y\n\
        1,5,Kyrgyz Republic,2005,2, ,1,\"Vote, Early\",1,R,Y\n1,6,East Germany,1990,3,18,1,\"Vote, Early\",1,L,Y\n\
        1,7,Algeria,1962,9,20,1,\"Vote, As Scheduled\",1,L,Y\n";
    let (found, counts) = parsed(reign);
    assert_eq!((counts.accepted, counts.unsupported, counts.unusable, counts.refused), (3, 1, 2, 1), "{counts:?}");
    let said: Vec<(&str, String, &str, &str)> =
        found.iter().map(|e| (e.country.as_str(), e.when.text(), e.kind.as_str(), e.status.as_str())).collect();
    assert!(said.contains(&("KE", "2017-08-08".to_owned(), "presidential", "held")), "{said:?}");
    assert!(said.contains(&("AL", "2021-04-25".to_owned(), "parliamentary", "announced")), "{said:?}");
    assert!(said.contains(&("AD", "2023-04".to_owned(), "parliamentary", "expected")), "{said:?}");

    let ifes = "date,country,election,status\n\"Dec. 4, 2021\",Republic of The Gambia,Election for President,Confirmed\n\
        \"June 8, 2003\",Hellenic Republic,Election for Vouli ton Ellinon (Greek Parliament),Held\n\
        \"May 6, 2011\",Scotland,Election for Scottish Parliament,Held\n\
        \"May 7, 2011\",Republic of the Sudan,Referendum,Held\n\"May 8, 2011\",Chad,Election for President,Postponed\n\
        None,Italian Republic,Election for Camera dei Deputati,Date not confirmed\n\
        \"May 9, 2011\",European Union,Election for European Parliament,Held\n\
        \"Sept. 30, 2012\",Georgia,Election for Parliament,Cancelled\n";
    let (found, counts) = parsed(ifes);
    assert_eq!((counts.accepted, counts.unusable, counts.refused), (5, 2, 1), "{counts:?}");
    let said: Vec<(&str, String, &str, &str)> =
        found.iter().map(|e| (e.country.as_str(), e.when.text(), e.kind.as_str(), e.status.as_str())).collect();
    for expected in [
        ("GM", "2021-12-04", "presidential", "announced"),
        ("GR", "2003-06-08", "parliamentary", "held"),
        ("GB", "2011-05-06", "regional", "held"),
        ("SD", "2011-05-07", "referendum", "held"),
        ("GE", "2012-09-30", "parliamentary", "cancelled"),
    ] {
        let (country, when, kind, status) = expected;
        assert!(said.contains(&(country, when.to_owned(), kind, status)), "{expected:?} in {said:?}");
    }
}

#[test]
fn the_two_real_tables_are_read_whole() {
    for (name, lines, least, most_refused) in
        [("elections/electionlist_3_21.csv", 4_351, 1_300, 80), ("elections/election_df.csv", 2_410, 2_300, 40)]
    {
        let Some(bytes) = engine::testing::real_data(name) else { return };
        let now = Timestamp::parse("2026-11-26").unwrap();
        let (found, counts) = read(&mut bytes.as_slice(), u64::MAX, None, now).unwrap();
        println!("{name}: {counts:?}");
        assert_eq!(counts.lines(), lines, "{name}");
        assert!(found.len() >= least && counts.refused <= most_refused, "{name}: {} {counts:?}", found.len());
    }
}
