//! Verdicts on claims, from measurements in a deployment in memory: over the endpoint, as somebody asks.

use serde_json::json;

use crate::intelligence::country::tests::{HEADER, Server, rows, shared};
use crate::intelligence::import::{ImportKind, Options};

const SITE: &str = "gazette.example";
/// Twelve days before the present of a deployment in memory.
const FROM: &str = "2025-12-20T00:00:00Z";
const HOURS: i64 = 12 * 24;

/// Six networks that measure each hour, of which the first ones block in some hours.
fn six(country: &str, blocking: u32, blocked: impl Fn(i64) -> bool) -> String {
    let one = |asn: u32, hour: i64| rows(country, asn, SITE, FROM, hour..hour + 1, asn <= blocking && blocked(hour));
    (1..=6).flat_map(|asn| (0..HOURS).map(move |hour| (asn, hour))).map(|(asn, hour)| one(asn, hour)).collect()
}

fn known() -> Server {
    let server = Server::start();
    let four_days = |hour: i64| (24..120).contains(&hour);
    let parts = [
        six("IT", 2, four_days),
        six("FR", 6, four_days),
        // Goes on.
        six("DE", 2, |hour| hour >= 24),
        // Fails once more, days after its end.
        six("ES", 2, |hour| four_days(hour) || hour == 260),
        six("FI", 6, |hour| (0..10).contains(&(hour / 24)) && (18..22).contains(&(hour % 24))),
    ];
    // One network, measured every twelve hours, on which two scattered measurements failed.
    let few = |hour: i64| rows("GR", 1, SITE, FROM, hour..hour + 1, matches!(hour, 228 | 264));
    let scattered: String = (0..HOURS).step_by(12).map(few).collect();
    // It works in most of the world: it is not out of order.
    let clear: String =
        ["AT", "BE", "CZ", "DK", "PL", "PT", "SE"].iter().map(|country| six(country, 0, |_| false)).collect();
    let two = |line: &&str| line.contains(",NO,1,") || line.contains(",NO,2,");
    let of_six = six("NO", 2, four_days);
    let of_two: Vec<&str> = of_six.lines().filter(two).collect();
    let text = format!("{HEADER}{}{clear}{scattered}{}\n", parts.concat(), of_two.join("\n"));
    server.import(ImportKind::OoniObservations, Options::default(), text.as_bytes());
    server
}

#[test]
fn claims_are_compared_with_what_was_measured() {
    let server = known();
    let mut wrong = Vec::new();
    for (claim, expected, says) in [
        ("was blocked in Italy in December 2025", "confirmed", ""),
        ("was blocked nationwide in Italy in December 2025", "unconfirmed contradicted", "2 of 6 networks"),
        ("was blocked across Italy in December 2025", "unconfirmed contradicted", "2 of 6 networks"),
        ("was blocked on all networks in Italy in December 2025", "unconfirmed contradicted", "2 of 6 networks"),
        ("was blocked by all Italian operators in December 2025", "unconfirmed contradicted", "2 of 6 networks"),
        ("was blocked throughout Italy in December 2025", "unconfirmed contradicted", "2 of 6 networks"),
        ("was blocked everywhere in Italy in December 2025", "unconfirmed contradicted", "2 of 6 networks"),
        ("was blocked on some networks in Italy in December 2025", "confirmed", "2 of 6 networks"),
        ("was blocked on AS1 in Italy in December 2025", "confirmed", ""),
        ("was not blocked nationwide in Italy in December 2025", "likely", "2 of 6 networks"),
        ("was not blocked on all networks in Italy in December 2025", "likely", "2 of 6 networks"),
        ("was not blocked nationwide in France in December 2025", "unconfirmed contradicted", ""),
        ("was accessible nationwide in Italy in December 2025", "unconfirmed contradicted", ""),
        ("was blocked in Norway in December 2025", "confirmed", ""),
        ("was blocked nationwide in Norway in December 2025", "unconfirmed", "too few networks"),
        ("was blocked on all networks in Norway in December 2025", "unconfirmed", "too few networks"),
        ("was blocked nationwide in France in December 2025", "confirmed", ""),
        ("was blocked on all networks in France in December 2025", "confirmed", "6 of 6 networks"),
        ("is blocked nationwide in Germany", "unconfirmed contradicted", "2 of 6 networks"),
        ("is still blocked in Germany", "confirmed", ""),
        ("is no longer blocked in Germany", "unconfirmed contradicted", ""),
        ("was blocked in Italy for a month in December 2025", "unconfirmed contradicted", "took 4 days"),
        ("was blocked in Italy by IP blocking in December 2025", "unconfirmed contradicted", "tls-reset"),
        ("was blocked in Italy by TLS resets in December 2025", "confirmed", ""),
        ("was blocked around the clock in Finland in December 2025", "unconfirmed contradicted", "18-22 UTC"),
        ("is still blocked in Italy", "unconfirmed contradicted", ""),
        ("is no longer blocked in Italy", "confirmed", ""),
        ("is not blocked in Italy", "confirmed", ""),
        ("is still blocked in Spain", "unconfirmed contradicted", ""),
        ("was unblocked in Spain on 25 December 2025", "confirmed", ""),
        ("is no longer blocked in Spain", "confirmed", ""),
        ("was blocked in Spain on 22 December 2025", "confirmed", ""),
        ("was blocked in Italy until 24 December 2025", "confirmed", ""),
        ("was blocked in Italy in December 2025 and is still blocked", "unconfirmed contradicted", ""),
        ("was blocked in Italy in December 2025 but is no longer blocked", "confirmed", ""),
        ("has been blocked in Germany for a month", "unconfirmed", "took 11 days"),
        ("has been blocked in Germany for ten days", "confirmed", ""),
        ("is blocked in Greece", "unconfirmed contradicted", ""),
        ("is not blocked in Greece", "confirmed", ""),
        ("is no longer blocked in Greece", "confirmed", ""),
        ("has been blocked in Italy since 21 December 2025", "unconfirmed contradicted", ""),
    ] {
        let (_, body) = server.post("/verify-claim", &json!({ "claim": format!("{SITE} {claim}") }));
        let contradicted = if body["contradicted"] == true { " contradicted" } else { "" };
        let found = format!("{}{contradicted}", body["verdict"].as_str().unwrap_or_default());
        let reason = body["reason"].as_str().unwrap_or_default();
        if found != expected || !reason.contains(says) {
            wrong.push(format!("{claim}: {found} and not {expected}: {reason} {}", body["incidents"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rows of the real shutdown table, where it is at hand.
#[test]
fn claims_are_compared_with_the_shutdown_table() {
    let Some(table) = shared("shutdowns/stop_2016_2024.csv.gz") else { return };
    let server = Server::start();
    server.import(ImportKind::Shutdowns, Options::default(), &table);
    let mut wrong = Vec::new();
    for (claim, expected, says) in [
        ("5000 shutdowns in India in 2021", "unconfirmed contradicted", "105 shutdowns of India"),
        ("India had 106 internet shutdowns in 2021", "confirmed", "Access Now STOP"),
        ("Uganda had more shutdowns than India", "unconfirmed contradicted", "shutdowns of India"),
        ("India had the most internet shutdowns in the world in 2021", "confirmed", "India"),
        ("Uganda's internet shutdown in January 2021 cost 1 billion dollars", "unconfirmed / confirmed", "billion"),
        ("Uganda's internet shutdown in January 2021 killed 50 people", "unconfirmed / confirmed", "killed 50"),
        ("Gabon cut the internet on 26 August 2023", "confirmed", ""),
        ("The internet shutdown in Gabon started on 28 August 2023", "unconfirmed contradicted", "26 Aug 2023"),
        ("The internet shutdown in Gabon started on 26 August 2023", "confirmed", ""),
    ] {
        let (_, body) = server.post("/verify-claim", &json!({ "claim": claim }));
        let contradicted = if body["contradicted"] == true { " contradicted" } else { "" };
        let core = body["core"]["verdict"].as_str().map(|core| format!(" / {core}")).unwrap_or_default();
        let found = format!("{}{contradicted}{core}", body["verdict"].as_str().unwrap_or_default());
        let reason = body["reason"].as_str().unwrap_or_default();
        if found != expected || !reason.contains(says) {
            wrong.push(format!("{claim}: {found} and not {expected}: {reason}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
