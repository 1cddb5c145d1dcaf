//! Verdicts on claims, from incidents in a deployment in memory.

use futures_util::FutureExt;

use super::parse::{Reading, parse};
use super::subjects::Topic;
use super::{reason, route};
use crate::app::testing::{self, START, TestRuntime};
use crate::engine::runtime::call;
use crate::facts::reported::{Cause, EventKind, Scope};
use crate::facts::source::Source;
use crate::intelligence::incidents::{AffectedNetwork, Draft, Record, Report, Status, Unknown, actor};
use crate::intelligence::world::{self, EventMark, Given, GivenEvents};
use crate::{Timestamp, facts::starter};

/// An incident of national scope, from one day to another.
fn incident(subject: &str, start: &str, end: &str) -> Draft {
    Draft {
        status: Status::Resolved,
        confidence: 0.9,
        end: Timestamp::parse(end),
        methods: Vec::new(),
        sources: vec!["curated".into()],
        measurements: 0,
        ..testing::incident(subject, Timestamp::parse(start).unwrap())
    }
}

fn report(runtime: &TestRuntime, country: &str, drafts: Vec<Draft>) {
    let seen = |(event, draft): (u64, Draft)| Report { event, draft: Some(draft), merged_into: None };
    let record = Record { country: country.into(), reports: (1..).zip(drafts).map(seen).collect() };
    call(runtime, &actor().name, &record).now_or_never().unwrap().unwrap();
}

/// What is known: a few incidents of several countries.
fn known() -> std::sync::Arc<TestRuntime> {
    let runtime = TestRuntime::start(&[]);
    let several = |names: [&str; 2], draft: Draft| Draft { services: names.map(str::to_owned).to_vec(), ..draft };
    let uganda = [
        incident("internet", "2021-01-13", "2021-01-18"),
        several(["facebook", "twitter"], incident("facebook", "2021-01-12", "2021-02-10")),
    ];
    report(&runtime, "UG", uganda.to_vec());
    report(&runtime, "NG", vec![incident("twitter", "2021-06-05", "2022-01-13")]);
    report(&runtime, "BR", vec![incident("twitter", "2024-08-31", "2024-10-08")]);
    report(&runtime, "KE", vec![incident("telegram", "2023-11-08", "2023-11-24")]);
    report(&runtime, "UA", vec![incident("vkontakte", "2017-05-16", "2017-08-01")]);
    let unknown = Unknown { end: true, start: false };
    let old = Draft { unknown, ..incident("tiktok", "2022-12-16", "2024-02-01") };
    report(&runtime, "JO", vec![old]);
    let delhi =
        Draft { areas: vec!["National Capital Territory".into()], ..incident("internet", "2021-01-26", "2021-01-27") };
    report(&runtime, "IN", vec![delhi]);
    let tigray = Draft { areas: vec!["Tigray".into()], ..incident("internet", "2020-11-04", "2021-02-01") };
    report(&runtime, "ET", vec![tigray]);
    let network = |asn| AffectedNetwork { asn, name: None, first: None, last: None, blocked: 9, votes: 9 };
    let guinea = Draft {
        networks: (64_500..64_503).map(network).collect(),
        methods: vec!["tls-reset".into()],
        ..incident("facebook", "2023-05-17", "2023-08-18")
    };
    report(&runtime, "GN", vec![guinea]);
    let occasion = Some("Exam: National exams".to_owned());
    report(&runtime, "IQ", vec![Draft { occasion, ..incident("internet", "2023-06-04", "2023-06-10") }]);
    // Measured on some networks of those that were tested, for four days.
    let on = |networks: u32, tested: u32, weight: f64| Draft {
        networks: (64_510..64_510 + networks).map(network).collect(),
        networks_tested: tested,
        weight,
        methods: vec!["dns-poison".into(), "tls-reset".into()],
        ..incident("signal", "2024-05-10", "2024-05-14")
    };
    report(&runtime, "TZ", vec![on(2, 6, 0.3)]);
    report(&runtime, "ZM", vec![Draft { schedule: Some("daily 18-22 UTC".into()), ..on(4, 6, 0.5) }]);
    report(&runtime, "GH", vec![on(6, 6, 1.0)]);
    report(&runtime, "RW", vec![on(2, 2, 1.0)]);
    report(&runtime, "SN", vec![Draft { confidence: 0.3, ..on(6, 6, 1.0) }]);
    report(&runtime, "TD", vec![Draft { status: Status::Active, ..incident("signal", "2025-12-28", "goes on") }]);
    report(&runtime, "ML", vec![incident("signal", "2025-12-20", "2025-12-30")]);
    let later = Draft { confidence: 0.8, ..incident("signal", "2022-03-01", "2022-03-09") };
    report(&runtime, "TG", vec![incident("signal", "2019-02-01", "2019-02-20"), later]);
    report(&runtime, "GA", vec![incident("internet", "2023-08-26", "2023-08-30")]);
    let hours = Some("weekdays 04-14 UTC".to_owned());
    report(&runtime, "MZ", vec![Draft { schedule: hours, ..incident("whatsapp", "2024-10-21", "2024-11-20") }]);
    report(&runtime, "MM", vec![Draft { status: Status::Active, ..incident("facebook", "2021-02-04", "goes on") }]);
    report(&runtime, "MR", vec![Draft { status: Status::Active, ..incident("twitter", "2025-12-24", "goes on") }]);
    runtime
}

/// Rows of a shutdown table: 106 of India, 5 of Uganda and 3 of Ethiopia that began in 2021, and one of 2022.
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
        let given = Given { rows: 1, newest: START };
        let told = GivenEvents { country: country.into(), source: Source::AccessNow.code(), given, marks };
        call(runtime, &world::actor().name, &told).now_or_never().unwrap().unwrap();
    }
}

/// What the endpoint says to a claim: the verdict with that on the rest, and why.
fn verdict(runtime: &TestRuntime, claim: &str) -> (String, String) {
    let read = parse(claim, START, &[]);
    let checked = route::check(runtime, &read, START).now_or_never().unwrap().unwrap();
    let Some(whole) = checked.conclusion(&read) else { return ("nothing".to_owned(), reason::missing(&read)) };
    let contradicted = if whole.contradicted { " contradicted" } else { "" };
    let core = whole.core.filter(|core| core.verdict != whole.verdict);
    let core = core.map(|core| format!(" / {}", core.verdict.as_str())).unwrap_or_default();
    (format!("{}{contradicted}{core}", whole.verdict.as_str()), checked.reason(&whole, START))
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
    let said = reason::missing(&parse("AS64500 blocks Telegram", START, &[]));
    assert!(said.contains("AS64500") && said.contains("country"), "{said}");
}

/// An undecided part does not hide what is known of the others; a detail that is not checked is named.
#[test]
fn reasons_tell_what_is_known_and_what_is_not_checked() {
    let runtime = known();
    for (claim, says) in [
        (
            "Kenya blocked Telegram and Signal on 15 November 2023",
            "that Telegram was blocked in Kenya on 15 Nov 2023 is confirmed",
        ),
        ("Kenya blocked Telegram in 2023 and again in 2022", "Telegram was blocked in Kenya between 1 Jan 2023"),
        ("Telegram, not WhatsApp, was blocked in Kenya on 15 November 2023", "that Telegram was blocked in Kenya"),
        ("Telegram was blocked at night in Kenya in November 2023", "which the data do not tell"),
        ("MTN cut the internet in Uganda on 14 January 2021", "names no networks"),
        ("Facebook was blocked in Guinea by DNS poisoning in June 2023", "by which method, and tls-reset is known"),
        ("Twitter was blocked in Nigeria for less than a week in June 2021", "what is recorded took 222 days"),
        ("Iraq cut the internet in June 2023 because of elections", "the occasion on record is \"Exam\""),
        ("Signal was blocked nationwide in Tanzania in May 2024", "2 of 6 networks"),
        ("Signal was blocked on all networks in Tanzania in May 2024", "2 of 6 networks"),
        ("Signal was blocked nationwide in Rwanda in May 2024", "too few networks"),
        ("Signal was blocked in Tanzania for a month in May 2024", "what is recorded took 4 days"),
        ("Signal was blocked around the clock in Zambia in May 2024", "keeps to daily 18-22 UTC"),
        ("Signal was blocked by IP blocking in Tanzania in May 2024", "dns-poison, tls-reset is known"),
        ("Signal was blocked in Senegal in May 2024", "doubtful"),
        ("Signal is still blocked in Mali", "is not any more"),
        // Of all time, and the latest of what is known.
        ("Togo blocked Signal", "from 1 Mar 2022 to 9 Mar 2022"),
        ("Signal was blocked in Togo", "from 1 Mar 2022 to 9 Mar 2022"),
        ("Togo has blocked Signal", "earlier: Signal was blocked in Togo, from 1 Mar 2022"),
        ("Kenya reportedly blocked Telegram on 15 November 2023", "not who says or alleges it"),
    ] {
        let (_, said) = verdict(&runtime, claim);
        assert!(said.contains(says), "{claim}: {said}");
    }
}
