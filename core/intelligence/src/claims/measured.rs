//! Verdicts on claims, from measurements in a deployment in memory: over the endpoint, as somebody asks.

use serde_json::json;

use crate::country::tests::{HEADER, Server, rows};
use crate::import::{ImportKind, Options};
use engine::testing::real_data;
use facts::starter;

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

/// Asks for the verdicts of the rows that a deployment is to answer.
fn ask(server: &Server, by: &str) {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for [of, claim, expected, says] in starter::rows::<4>(include_str!("measured.tsv")) {
        if of != by {
            continue;
        }
        let (_, body) = server.post("/verify-claim", &json!({ "claim": claim }));
        let contradicted = if body["contradicted"] == true { " contradicted" } else { "" };
        let core = body["core"]["verdict"].as_str().filter(|_| by == "table");
        let core = core.map(|core| format!(" / {core}")).unwrap_or_default();
        let found = format!("{}{contradicted}{core}", body["verdict"].as_str().unwrap_or_default());
        let reason = body["reason"].as_str().unwrap_or_default();
        if found != expected || !reason.contains(says) {
            wrong.push(format!("{claim}: {found} and not {expected}: {reason} {}", body["incidents"]));
        }
        count += 1;
    }
    assert!(count > 8 && wrong.is_empty(), "{count}: {}", wrong.join("\n"));
}

#[test]
fn claims_are_compared_with_what_was_measured() {
    ask(&known(), "measurements");
}

/// Rows of the real shutdown table, where it is at hand.
#[test]
fn claims_are_compared_with_the_shutdown_table() {
    let Some(table) = real_data("shutdowns/stop_2016_2024.csv.gz") else { return };
    let server = Server::start();
    server.import(ImportKind::Shutdowns, Options::default(), &table);
    ask(&server, "table");
}
