//! Sentences, and how a careful reader takes them.

use super::lexicon::COMPARED;
use super::parse::{Reading, parse};
use super::route::MOST_CHARACTERS;
use super::subjects::Topic;
use crate::Timestamp;
use facts::starter;

/// At least 60 claims written by hand, each with the parse that a careful reader would make.
#[test]
fn hand_written_claims_are_read_as_a_careful_reader_would() {
    let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
    let text = include_str!("expected.tsv");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).skip(1);
    assert_eq!(starter::rows::<5>(text).count(), lines.count(), "a row has not five columns");
    let mut count = 0;
    for [claim, country, topic, when, stance] in starter::rows::<5>(text) {
        let read = parse(claim, now, &[]);
        let some = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        let found = [
            some(read.country.map_or("", |country| country.code)),
            some(&read.topics.iter().map(Topic::name).collect::<Vec<_>>().join(" ")),
            read.when.map_or("-".to_owned(), |when| match when.is_one_day() {
                true => when.first.to_string(),
                false => format!("{}/{}", when.first, when.last),
            }),
            read.stance.map_or("-".to_owned(), |stance| {
                format!("{}{}", if stance.negated { "not " } else { "" }, stance.kind.as_str())
            }),
        ];
        assert_eq!(found.join(" | "), [country, topic, when, stance].join(" | "), "{claim}");
        count += 1;
    }
    assert!(count >= 60, "{count}");
}

/// What each clause of a claim says, of what a row of the table is about.
fn read(about: &str, text: &str) -> String {
    let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
    let one = |reading: &Reading| {
        let countries: Vec<&str> = reading.countries.iter().map(|country| country.code).collect();
        let topics: Vec<&str> = reading.topics.iter().map(Topic::name).collect();
        let networks: Vec<String> = reading.networks.iter().map(|network| network.said().english()).collect();
        let not = if reading.stance.is_some_and(|stance| stance.negated) { "not " } else { "" };
        match (about, reading.when) {
            ("clauses", _) => format!("{not}{} {}", countries.join("+"), topics.join("+")),
            ("networks", _) => format!("{not}{} {}", countries.join("+"), networks.join("+")),
            _ if reading.unread.is_some() => "unread".to_owned(),
            (_, Some(when)) => format!("{not}{}/{}", when.first, when.last),
            _ if reading.present => format!("{not}now"),
            _ => "-".to_owned(),
        }
    };
    let separator = if about == "dates" { " " } else { "; " };
    parse(text, now, &[]).readings.iter().map(one).collect::<Vec<_>>().join(separator)
}

#[test]
fn each_clause_is_read_for_itself_with_its_dates_and_networks() {
    let (mut count, mut wrong) = (0, Vec::new());
    for [about, text, expected] in starter::rows::<3>(include_str!("readings.tsv")) {
        let found = read(about, text);
        if found.trim_end() != expected.trim_end() {
            wrong.push(format!("{text}: {found} and not {expected}"));
        }
        count += 1;
    }
    assert!(count > 120 && wrong.is_empty(), "{count}: {}", wrong.join("\n"));
}

/// What a claim costs may grow with the square of its length, but not with the cube, for every kind of text: the longest
/// accepted claim must not be costly.
#[test]
fn what_a_claim_costs_grows_with_no_cube_of_its_length() {
    /// The factor between the longest claim and a shorter one.
    const TIMES: usize = 5;
    const MOST_COMPARED: u64 = 10_000_000;
    let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
    let cost = |part: &str, length: usize| {
        let text: String = part.chars().cycle().take(length).collect();
        let before = COMPARED.get();
        parse(&text, now, &[]);
        COMPARED.get() - before
    };
    for part in [
        "Telegram was blocked in Kenya on 15 November 2023. ",
        "Kenya blocked Telegram and Uganda did not, but Signal is slow, ",
        "to stop it because it was blocked since they cut it ",
        "Telegram, WhatsApp and Signal, ",
        "in Kenya, Uganda (UG), like Ghana, ",
        "after Telegram was blocked when Signal ",
        "blocked ",
        "not ",
        "a ",
        "X ",
        "5 May, ",
        "2025? ",
        "for the ",
        "and ",
    ] {
        let (longest, shorter) = (cost(part, MOST_CHARACTERS), cost(part, MOST_CHARACTERS / TIMES));
        // Half of the growth that the cube would have.
        assert!(longest < shorter * TIMES.pow(3) as u64 / 2, "{part}: {shorter} and {longest}");
        assert!(longest < MOST_COMPARED, "{part}: {longest}");
    }
}
