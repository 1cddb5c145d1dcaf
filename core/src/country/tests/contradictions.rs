//! No answer says more than its probability, whatever was measured (second look T1).

use serde_json::{Value, json};

use super::{HEADER, Server, rows};
use crate::import::{ImportKind, ListKind, Options};
use crate::testing::Dice;

const COUNTRIES: [&str; 3] = ["IT", "FR", "KE"];
const SITES: [&str; 6] =
    ["example.org", "news.example", "telegram.org", "web.telegram.org", "youtube.com", "wikipedia.org"];

/// Sites that fail now and then, always, in some hours or until some day, on some networks, measured often or rarely.
fn world(dice: &mut Dice) -> String {
    let mut text = HEADER.to_owned();
    for country in COUNTRIES {
        for site in SITES {
            let (kind, since) = (dice.below(6), dice.below(480) as i64);
            for asn in 1..=1 + dice.below(5) as u32 {
                let (here, every) = (dice.below(3) > 0, 1 + dice.below(12) as i64);
                for hour in (0..480).step_by(usize::try_from(every).unwrap()) {
                    let blocked = match kind {
                        0 => here && hour > since,
                        1 => here && hour < since,
                        2 => here && (8..17).contains(&(hour % 24)),
                        3 => dice.below(3) == 0,
                        _ => false,
                    };
                    let blocked = blocked != (dice.below(25) == 0);
                    text += &rows(country, asn, site, "2025-12-12", hour..hour + 1, blocked);
                }
            }
        }
    }
    text
}

/// What an object says that stands in `body` at `path`.
fn check(path: &str, body: &Value, wrong: &mut Vec<String>) {
    match body {
        Value::Array(list) => list.iter().for_each(|part| check(path, part, wrong)),
        Value::Object(object) => {
            let says = |status: &str| object.get("status").is_some_and(|told| told == status);
            let blocked = says("blocked") || object.get("blocked") == Some(&json!(true));
            let listed = object.get("basis").is_some_and(|basis| basis == "known_list");
            let mut note = || wrong.push(format!("{path}: {}", body.to_string().chars().take(400).collect::<String>()));
            if let Some(value) = object.get("confidence").and_then(Value::as_f64).filter(|_| !listed) {
                let right = match (blocked, says("accessible"), says("unknown")) {
                    (true, ..) => value >= 0.5,
                    (_, true, _) => value >= 0.8,
                    (.., true) => value == 0.0,
                    _ => true,
                };
                if !right {
                    note();
                }
            }
            for name in ["pBlocked", "p_blocked"] {
                let Some(p) = object.get(name).and_then(Value::as_f64).filter(|_| !listed) else { continue };
                if (blocked && p < 0.5) || (says("accessible") && p > 0.2) {
                    note();
                }
            }
            object.values().for_each(|part| check(path, part, wrong));
        }
        _ => {}
    }
}

/// All that is asked of a world.
fn paths() -> Vec<String> {
    let mut paths: Vec<String> = [
        "/v1/censorship-index",
        "/data/censorship-index.json",
        "/v1/measurement/most-blocked-domains",
        "/v1/measurement/summary",
        "/v1/measurement/techniques",
        "/v1/measurement/by-region",
        "/v1/measurement/co-blocking",
        "/v1/platforms/scores",
        "/v1/isp/worst",
        "/v1/vpn-accessibility",
        "/data/incidents",
        "/data/incidents/stats",
        "/v1/topic-censorship-index?topic=news",
        "/v1/atlas/score-v2",
        "/v1/sentinel/global_heatmap",
    ]
    .map(str::to_owned)
    .into();
    for country in COUNTRIES {
        paths.extend(
            [
                "/data/country/{}",
                "/data/country/{}/isps",
                "/v1/censorship-index/{}",
                "/v1/accessibility/country/{}/summary",
                "/v1/platforms/country/{}",
                "/v1/platform/telegram/risk/{}",
                "/v1/platform/youtube/risk/{}",
                "/v1/measurement/intent-profile?country={}",
                "/v1/isp/index?country={}",
                "/v1/classifier/score/{}",
            ]
            .map(|path| path.replace("{}", country)),
        );
    }
    for site in SITES {
        paths.push(format!("/data/domain/{site}?explain=1"));
        paths.push(format!("/data/domain/{site}/history"));
        for country in COUNTRIES {
            paths.push(format!("/v1/accessibility/check?domain={site}&country={country}&explain=1"));
            paths.push(format!("/data/domain/{site}/history?country={country}"));
        }
    }
    for service in ["telegram", "youtube", "signal"] {
        paths.push(format!("/v1/accessibility/service/{service}"));
        paths.push(format!("/v1/platform/{service}/risk"));
    }
    paths
}

#[test]
fn no_answer_about_random_worlds_says_more_than_its_probability() {
    let mut dice = Dice(21);
    let (mut wrong, mut decided) = (Vec::new(), [0, 0]);
    for round in 0..2 {
        let server = Server::start();
        let list = Options {
            country: Some("FR".to_owned()),
            list_kind: Some(ListKind::Official),
            date: crate::Timestamp::parse("2025-06-01"),
            ..Options::default()
        };
        server.import(ImportKind::Blocklist, list, b"listed.example\nexample.org\n");
        server.import(ImportKind::OoniObservations, Options::default(), world(&mut dice).as_bytes());
        (0..5).for_each(|_| server.settle());
        for path in paths() {
            let (status, body) = server.get(&path);
            assert!(status == 200 || status == 404, "{path}: {status} {body}");
            check(&path, &body, &mut wrong);
        }
        for at in ["2025-12-13T07:00:00Z", "2025-12-20T12:00:00Z", "2025-12-30T23:00:00Z"] {
            for country in COUNTRIES {
                for site in SITES.iter().chain(&["telegram", "youtube", "listed.example"]) {
                    let body = server.detect(country, site, Some(at));
                    let one = server.ok(&format!("/v1/accessibility/check?domain={site}&country={country}&as_of={at}"));
                    if one["status"] != body["status"] {
                        wrong.push(format!("{round} {country} {site} {at}: {} and {}", one["status"], body["status"]));
                    }
                    for (place, status) in ["blocked", "accessible"].into_iter().enumerate() {
                        decided[place] += usize::from(body["status"] == status);
                    }
                    check("detect", &body, &mut wrong);
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} contradictions, such as {:#?}",
        wrong.len(),
        wrong.iter().take(8).collect::<Vec<_>>()
    );
    assert!(decided.iter().all(|count| *count > 20), "{decided:?}");
}
