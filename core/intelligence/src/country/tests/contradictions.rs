//! No answer says more than its probability, whatever was measured (decision one-probability).

use http::Method;
use serde_json::{Value, json};

use super::{ADMIN, HEADER, Server, json as read, rows};
use crate::import::{ImportKind, ListKind, Options};
use engine::http::Body;
use engine::testing::Dice;

const COUNTRIES: [&str; 3] = ["IT", "FR", "KE"];
const SITES: [&str; 6] =
    ["example.org", "news.example", "telegram.org", "web.telegram.org", "youtube.com", "wikipedia.org"];

/// Sites on some networks, measured often or rarely, that fail now and then, always, in some hours, or until some day.
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

/// Checks what the objects in `body`, which is at `path`, say.
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

/// Routes about agents, money, keys and the server itself. They judge no site.
const OTHERS: [&str; 11] = [
    "/.well-known/",
    "/api/alerts/subscriptions",
    "/health",
    "/openapi.json",
    "/readyz",
    "/v1/admin/",
    "/v1/agent/",
    "/v1/community/",
    "/v1/pay/",
    "/v1/probe/domains",
    "/v1/relay/",
];

/// Routes that have nothing to say about these worlds, because nobody probed and nothing was evaluated.
const NOTHING: [&str; 3] = ["/data/dumps/{file}", "/v1/probe/domain/{domain}", "/v1/probe/domain/{domain}/history"];

/// The parameters that a route requires, and those that make it say more.
fn query(path: &str) -> &'static str {
    match path {
        "/api/v1/aggregation" => "?probe_cc=IT&axis_x=domain",
        "/data/domain/{domain}" => "?explain=1",
        "/data/measurements" => "?country=IT&target=news.example",
        "/v1/accessibility/check" => "?domain=news.example&country=IT&explain=1",
        "/data/incidents/delta" => "?since=2025-01-01",
        "/v1/incidents/similar" => "?query=news",
        "/v1/isp/compare" => "?asns=1,2&country=IT",
        "/v1/isp/index" => "?country=IT",
        "/v1/measurement/intent-profile" => "?country=IT",
        "/v1/measurement/category-leaders" | "/v1/topic-censorship-index" => "?category=NEWS&topic=news",
        "/v1/suggest" => "?q=news",
        "/v1/sentinel/attribute" => "?country=IT&domain=news.example&date=2025-12-20",
        _ => "",
    }
}

/// Every path of a route, with all values that its parameters may have.
fn paths(route: &str, server: &Server) -> Vec<String> {
    let mut paths = vec![format!("{route}{}", query(route))];
    let ids = |path: &str| -> Vec<String> {
        let body = server.ok(path);
        let lists = [&body["incidents"], &body["evidence"]];
        let list: Vec<Value> = lists.into_iter().filter_map(Value::as_array).flatten().cloned().collect();
        list.iter().filter_map(|row| row["id"].as_str().map(str::to_owned)).collect()
    };
    let fixed = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
    for (place, values) in [
        ("{code}", fixed(&COUNTRIES)),
        ("{country}", fixed(&COUNTRIES)),
        ("{domain}", fixed(&SITES)),
        ("{platform}", fixed(&["telegram", "youtube"])),
        ("{service}", fixed(&["telegram", "youtube", "signal"])),
        ("{asn}", fixed(&["1", "2"])),
        ("{file}", fixed(&["incidents.jsonl"])),
    ] {
        if route.contains(place) {
            paths = paths.iter().flat_map(|path| values.iter().map(|value| path.replace(place, value))).collect();
        }
    }
    if route.contains("{id}") {
        let incidents = ids("/data/incidents");
        let ids = match route {
            "/data/evidence/{id}" => {
                incidents.iter().take(3).flat_map(|id| ids(&format!("/data/incidents/{id}/evidence"))).take(9).collect()
            }
            _ => incidents,
        };
        paths = paths.iter().flat_map(|path| ids.iter().map(|id| path.replace("{id}", id))).collect();
    }
    paths
}

/// The questions that need a body.
fn questions() -> Vec<(&'static str, Value)> {
    let targets = json!(SITES.iter().chain(&["telegram", "youtube"]).collect::<Vec<_>>());
    vec![
        ("/hydra/v1/detect/batch", json!({ "country": "IT", "targets": targets })),
        ("/v1/accessibility/batch", json!({ "country": "KE", "domains": SITES })),
        ("/hydra/v1/predict", json!({ "country": "IT", "domain": "news.example" })),
        ("/v1/forecast/batch", json!({ "countries": COUNTRIES })),
        ("/v1/sentinel/current_risk/batch", json!({ "countries": COUNTRIES })),
        ("/v1/incidents/similar", json!({ "query": "news blocked" })),
        ("/verify-claim", json!({ "claim": "Telegram is blocked in Kenya." })),
    ]
}

/// Asks every route that judges sites, and checks the answers.
fn ask_all(server: &Server, wrong: &mut Vec<String>) {
    let mut refused = Vec::new();
    for route in crate::testing::PROGRAM.routes().filter(|route| route.method == Method::GET) {
        if OTHERS.iter().any(|other| route.path.starts_with(other)) || route.streams() {
            continue;
        }
        let mut answered = NOTHING.contains(&route.path);
        for path in paths(route.path, server) {
            let answer = server.request(Method::GET, &path, &[("x-api-key", ADMIN)], b"");
            answered |= answer.status == 200;
            if !matches!(answer.body, Body::Bytes(_)) {
                continue;
            }
            // Feeds and tables are not JSON; they are read as null.
            let (status, body) = read(answer);
            if status != 200 && status != 404 {
                refused.push(format!("{path}: {status} {body}"));
            }
            check(&path, &body, wrong);
        }
        if !answered {
            refused.push(format!("{} says nothing", route.path));
        }
    }
    for (path, question) in questions() {
        let (status, body) = server.post(path, &question);
        if status != 200 {
            refused.push(format!("{path}: {status} {body}"));
        }
        check(path, &body, wrong);
    }
    assert!(refused.is_empty(), "{refused:#?}");
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
        ask_all(&server, &mut wrong);
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
