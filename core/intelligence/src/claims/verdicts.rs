//! Verdicts on claims, from incidents in a deployment in memory.

use std::collections::BTreeMap;

use futures_util::FutureExt;

use super::parse::{Reading, parse};
use super::subjects::Topic;
use super::{reason, route};
use crate::Timestamp;
use crate::incidents::{AffectedNetwork, Draft, Record, ReportEvent, Status, Unknown, actor};
use crate::testing;
use crate::testing::PROGRAM;
use crate::world::{self, EventMark, GivenEvents, SourceTotal};
use engine::runtime::call;
use engine::testing::START;
use facts::reported::{Cause, EventKind, Scope};
use facts::source::Source;
use facts::starter;
use relay::testing::TestRuntime;

/// Incidents of national scope, unless the table says otherwise.
fn known() -> std::sync::Arc<TestRuntime> {
    let runtime = TestRuntime::start(&PROGRAM, &[]);
    let mut all: BTreeMap<&str, Vec<Draft>> = BTreeMap::new();
    for [country, subject, start, end, more] in starter::rows::<5>(include_str!("known.tsv")) {
        let mut draft = Draft {
            status: if end.is_empty() { Status::Active } else { Status::Resolved },
            confidence: 0.9,
            end: Timestamp::parse(end),
            methods: Vec::new(),
            sources: vec!["curated".into()],
            measurements: 0,
            ..testing::incident(subject, Timestamp::parse(start).unwrap())
        };
        let network = |asn: u32| AffectedNetwork { asn, name: None, first: None, last: None, blocked: 9, votes: 9 };
        let list = |value: &str| value.split(',').map(str::to_owned).collect();
        for (name, value) in more.split('|').filter_map(|part| part.split_once('=')) {
            match name {
                "services" => draft.services = list(value),
                "areas" => draft.areas = list(value),
                "methods" => draft.methods = list(value),
                "networks" => draft.networks = (64_500..64_500 + value.parse::<u32>().unwrap()).map(network).collect(),
                "tested" => draft.networks_tested = value.parse().unwrap(),
                "weight" => draft.weight = value.parse().unwrap(),
                "confidence" => draft.confidence = value.parse().unwrap(),
                "occasion" => draft.occasion = Some(value.to_owned()),
                "schedule" => draft.schedule = Some(value.to_owned()),
                "unknown" => draft.unknown = Unknown { end: value == "end", start: value == "start" },
                other => panic!("{other}"),
            }
        }
        all.entry(country).or_default().push(draft);
    }
    for (country, drafts) in all {
        let seen = |(event, draft): (u64, Draft)| ReportEvent { event, draft: Some(draft), merged_into: None };
        let record = Record { country: country.into(), reports: (1..).zip(drafts).map(seen).collect() };
        call(&*runtime, &actor().name, &record).now_or_never().unwrap().unwrap();
    }
    runtime
}

/// Rows of a shutdown table: 106 of India, 5 of Uganda and 3 of Ethiopia that began in 2021, and some of the years beside it.
fn with_a_shutdown_table(runtime: &TestRuntime) {
    let mark = |start: &str| EventMark {
        start: u32::try_from(Timestamp::parse(start).unwrap().day()).unwrap(),
        end: None,
        kind: EventKind::Shutdown,
        scope: Scope::Regional,
        cause: Cause::Ordered,
        exams: false,
        place: 0,
    };
    let day = |number: u32| format!("2021-{:02}-{:02}", 1 + number / 28 % 12, 1 + number % 28);
    for (country, rows) in [("IN", 106), ("UG", 5), ("ET", 3), ("RU", 0)] {
        let mut marks: Vec<_> = (0..rows).map(|number| (number.to_string(), mark(&day(number)))).collect();
        marks.push(("next".to_owned(), mark("2022-02-01")));
        // What only went on in a year is not of it.
        let before = EventMark { end: Some(mark("2021-03-01").start), ..mark("2020-12-01") };
        marks.extend((0..rows / 5).map(|number| (format!("before {number}"), before)));
        let given = SourceTotal { rows: 1, newest: START };
        let told = GivenEvents { country: country.into(), source: Source::AccessNow.code(), given, marks };
        call(runtime, &world::actor().name, &told).now_or_never().unwrap().unwrap();
    }
}

/// What the endpoint says to a claim: the verdict with that on the rest, and why.
fn verdict(runtime: &TestRuntime, claim: &str) -> (String, String) {
    let read = parse(claim, START, &[]);
    let checked = route::check(runtime, &read, START).now_or_never().unwrap().unwrap();
    let Some(whole) = checked.conclusion(&read) else {
        return ("nothing".to_owned(), reason::missing(&read).english());
    };
    let contradicted = if whole.contradicted { " contradicted" } else { "" };
    let core = whole.core.filter(|core| core.verdict != whole.verdict);
    let core = core.map(|core| format!(" / {}", core.verdict.as_str())).unwrap_or_default();
    (format!("{}{contradicted}{core}", whole.verdict.as_str()), checked.reason(&whole, START).english())
}

/// What a claim is read as: countries, topics, days and stance of its statements.
fn reading(claim: &str) -> String {
    let one = |reading: &Reading| {
        let countries: Vec<&str> = reading.countries.iter().map(|country| country.code).collect();
        let topics: Vec<&str> = reading.topics.iter().map(Topic::name).collect();
        let days = reading.when.map_or("-".to_owned(), |when| match when.is_one_day() {
            true => when.first.to_string(),
            false => format!("{}/{}", when.first, when.last),
        });
        let stance = reading.stance.map_or("-".to_owned(), |stance| {
            format!("{}{}", if stance.negated { "not " } else { "" }, stance.kind.as_str())
        });
        format!("{} {} {days} {stance}", countries.join("+"), topics.join("+"))
    };
    parse(claim, START, &[]).readings.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[test]
fn claims_get_the_verdicts_that_a_careful_reader_would_give() {
    let runtime = known();
    let mut wrong = Vec::new();
    for [claim, expected] in starter::rows::<2>(include_str!("verdicts.tsv")) {
        let (found, said) = verdict(&runtime, claim);
        if found != expected {
            wrong.push(format!("{claim}\t{found}\t{expected}\t{said}"));
        }
    }
    assert!(wrong.is_empty(), "{} claims:\n{}", wrong.len(), wrong.join("\n"));
}

/// No false claim is confirmed or likely; most of the true ones keep their verdict on what was checked.
#[test]
fn claims_of_many_kinds_are_read_and_judged_and_no_false_one_is_supported() {
    let runtime = known();
    with_a_shutdown_table(&runtime);
    let (mut wrong, mut supported, mut truths, mut falsehoods) = (Vec::new(), 0, 0, 0);
    for [truth, claim, read, expected] in starter::rows::<4>(include_str!("claims.tsv")) {
        let (found, said) = verdict(&runtime, claim);
        if (reading(claim).as_str(), found.as_str()) != (read, expected) {
            wrong.push(format!("{truth}\t{claim}\t{}\t{found}\t({expected}: {said})", reading(claim)));
        }
        let supports = |verdict: &str| verdict.starts_with("confirmed") || verdict.starts_with("likely");
        if truth == "false" {
            falsehoods += 1;
            if supports(&found) {
                wrong.push(format!("supported\t{claim}\t{found}\t{said}"));
            }
        } else {
            truths += 1;
            supported += usize::from(supports(found.split(" / ").last().unwrap_or_default()));
        }
    }
    assert!(wrong.is_empty(), "{} claims:\n{}", wrong.len(), wrong.join("\n"));
    assert!(truths + falsehoods >= 150 && falsehoods * 3 >= truths + falsehoods, "{truths} {falsehoods}");
    assert!(supported * 10 >= truths * 8, "{supported} of {truths}");
}

/// A number alone tells no country, unless the name of its network does.
#[test]
fn a_network_of_no_known_country_is_said_to_be_one() {
    let said = reason::missing(&parse("AS64500 blocks Telegram", START, &[])).english();
    assert!(said.contains("AS64500") && said.contains("country"), "{said}");
}

/// An undecided part does not hide what is known of the others; a detail that is not checked is named.
#[test]
fn reasons_tell_what_is_known_and_what_is_not_checked() {
    let runtime = known();
    for [claim, says] in starter::rows::<2>(include_str!("reasons.tsv")) {
        let (_, said) = verdict(&runtime, claim);
        assert!(said.contains(says), "{claim}: {said}");
    }
}
