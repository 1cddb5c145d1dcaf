//! Tests of the assembled program.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use serde_json::{Value, json};

use crate::ErrorCode;
use crate::app::PROGRAM;
use crate::engine::actor::{ActorId, Kind};
use crate::engine::deployment::{Start, actor};
use crate::engine::http::{
    Body, Cx, Deprecated, MadeKey, Preflight, Request, Response, Route, handed_on, handler, preflight, serve,
};
use crate::engine::program::{Layer, Program};
use crate::engine::runtime::{self, Runtime};
use crate::engine::settings::Settings;
use crate::ledger::envelope::MAX_TEXT;
use crate::ledger::provider::answers::answer;
use crate::relay::testing::TestRuntime;

/// Decision brand-fixed: the word is inside of DIDs and signed bytes.
#[test]
fn the_brand_is_written_at_the_first_start_and_no_later_start_has_another() {
    let rt = TestRuntime::start(&PROGRAM, &[("brand", "acme2")]);
    let start = |brand: &str| {
        let start = Start { brand: brand.to_owned(), key_checks: rt.environment().secrets.key_checks() };
        runtime::call(&*rt, actor().name, &start).now_or_never().expect("nothing waits in tests")
    };
    assert_eq!(start("acme2").unwrap().brand, "acme2");
    assert_eq!(start("svc").unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(start("acme2").unwrap().brand, "acme2");
    let mut settings = Settings::default();
    for bad in ["a", "2acme", "Acme", "ac-me", "acmeacmeacmeacme2", ""] {
        assert!(settings.set("brand", bad).is_err(), "{bad}");
    }
}

/// On the edge the platform keeps the master keys.
#[test]
fn where_the_platform_keeps_the_keys_the_operator_is_told_how_to_change_them() {
    let rt = TestRuntime::start(&PROGRAM, &[("admin_key", "operator-operator")]);
    let mut headers = http::HeaderMap::new();
    headers.insert("x-admin-key", "operator-operator".parse().unwrap());
    let path = "/v1/admin/master-key".to_owned();
    let request = Request { method: http::Method::POST, path, headers, ..Request::default() };
    let response = serve(rt, request).now_or_never().expect("nothing waits in tests");
    assert_eq!(response.status, 404);
    let Body::Bytes(body) = response.body else { panic!("a stream") };
    assert!(String::from_utf8(body.to_vec()).unwrap().contains("HELIOGRAPH_MASTER_KEYS_EARLIER"));
}

/// A layer with a route that gives way.
const OLD: Layer = Layer {
    routes: &[&[
        Route::get("/v1/new", handler!(greet)),
        Route::get("/v1/old", handler!(greet)).deprecated(Deprecated::since(2026, 12, 1, "/v1/new").until(2027, 12, 1)),
        Route::post("/v1/older", handler!(greet)).admin().deprecated(Deprecated::since(2026, 12, 1, "/v1/new")),
    ]],
    ..Layer::EMPTY
};

static WITH_OLD: Program = Program::new(&[&crate::engine::layer::LAYER, &crate::relay::layer::LAYER, &OLD]);

async fn greet(_cx: Cx) -> crate::Result<Response> {
    Ok(Response::json_text("{}"))
}

/// Decision routes-that-give-way.
#[test]
fn every_answer_of_a_route_that_gives_way_says_so_refusals_too() {
    let rt = TestRuntime::start(&WITH_OLD, &[]);
    let ask = |method: &str, path: &str, kind: &str| {
        let mut headers = http::HeaderMap::new();
        headers.insert("content-type", kind.parse().unwrap());
        let body = if method == "POST" { "{}".into() } else { Bytes::new() };
        let method = method.parse().unwrap();
        let request = Request { method, path: path.to_owned(), headers, body, ..Request::default() };
        let response = serve(rt.clone(), request).now_or_never().expect("nothing waits in tests");
        let said = |name: &str| response.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        (response.status.as_u16(), said("deprecation"), said("sunset"), said("link"))
    };
    let since = || Some("@1796083200".to_owned());
    let ends = || Some("Wed, 01 Dec 2027 00:00:00 GMT".to_owned());
    let link = || Some("</v1/new>; rel=\"successor-version\"".to_owned());
    assert_eq!(ask("GET", "/v1/new", "application/json"), (200, None, None, None));
    assert_eq!(ask("GET", "/v1/old", "application/json"), (200, since(), ends(), link()));
    assert_eq!(ask("HEAD", "/v1/old", "application/json"), (200, since(), ends(), link()));
    assert_eq!(ask("POST", "/v1/older", "application/json"), (401, since(), None, link()));
    assert_eq!(ask("POST", "/v1/older", "text/plain"), (415, since(), None, link()));
    assert_eq!(ask("PUT", "/v1/old", "application/json"), (405, None, None, None));
}

/// The Worker hands requests on to objects.
#[test]
fn a_request_of_any_route_that_is_handed_on_arrives_with_its_route_its_parameters_and_its_key() {
    let key = MadeKey { actor: ActorId::new(Kind::Agent, "abc"), secret_hash: [7; 32] };
    let mut headers = http::HeaderMap::new();
    headers.append("accept", "one".parse().unwrap());
    headers.append("accept", http::HeaderValue::from_bytes(b"two \xff").unwrap());
    for route in PROGRAM.routes() {
        // Each parameter has the text of another path, which must not be taken for one.
        let filled =
            |part: &str| if part.starts_with('{') { "a%2F%7Bthing%7D%C3%A4".to_owned() } else { part.to_owned() };
        let path = route.path.split('/').map(filled).collect::<Vec<_>>().join("/");
        let request = Request {
            method: route.method.clone(),
            path,
            query: "q=%20".to_owned(),
            headers: headers.clone(),
            client: Some([192, 0, 2, 1].into()),
            forwarded: true,
            network: Some(64_500),
            key: Some(key.clone()),
            ..Request::default()
        };
        let found = preflight(&PROGRAM, &request.method, &request.path, &request.headers, &Settings::default());
        let Preflight::Read(matched) = found else { panic!("{} is answered at once", route.path) };
        let (there, arrived) = handed_on(&PROGRAM, &matched.hand_on(&request).unwrap()).unwrap();
        assert_eq!((there.path(), there.max_body()), (route.path, route.max_body));
        let expected = route.path.matches('{').map(|_| "a/{thing}ä");
        assert_eq!(there.values().collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{}", route.path);
        assert_eq!(format!("{arrived:?}"), format!("{request:?}"));
    }
    assert!(handed_on(&PROGRAM, b"no request").is_err());
}

/// The provider of the deployment asks the intelligence.
fn ask(capability: &str, input: Option<&str>) -> String {
    let rt: Arc<dyn Runtime> = TestRuntime::start(&PROGRAM, &[]);
    answer(&rt, capability, input).now_or_never().expect("nothing waits in tests").unwrap()
}

/// Decision own-provider.
#[test]
fn what_was_never_measured_is_unknown_and_members_stand_in_the_order_of_existing_providers() {
    let lower = ask("svc.block_check", Some(r#"{"domain":" Example.ORG ","country":" it "}"#));
    assert_eq!(
        lower,
        r#"{"accessible":null,"status":"unknown","domain":"example.org","country":"IT","confidence":0.0,"samples":0}"#
    );
    let risk = ask("svc.risk_forecast", Some(r#"{"country":"ir"}"#));
    let places = ["country", "max_risk", "max_risk_day", "avg_risk", "key_drivers", "confidence", "model"];
    let found: Vec<usize> = places.iter().map(|name| risk.find(&format!("\"{name}\":")).unwrap()).collect();
    assert!(found.is_sorted(), "{risk}");
    let risk: Value = serde_json::from_str(&risk).unwrap();
    assert_eq!((&risk["country"], &risk["key_drivers"], &risk["confidence"]), (&json!("IR"), &json!([]), &json!(0.0)));
    assert!(risk["model"].as_str().is_some_and(|model| !model.is_empty()), "{risk}");
}

#[test]
fn what_is_wrong_with_an_input_is_an_answer() {
    let long = "x".repeat(300);
    for (capability, input, error) in [
        ("svc.block_check", None, "input is not JSON"),
        ("svc.block_check", Some("[1]"), "input is not JSON"),
        ("svc.block_check", Some(r#"{"domain":"a.org"}"#), "domain or country missing"),
        ("svc.block_check", Some(r#"{"domain":"  ","country":"IT"}"#), "domain or country missing"),
        ("svc.block_check", Some(r#"{"domain":"a.org","country":"ITA"}"#), "country must be two letters"),
        ("svc.block_check", Some(r#"{"domain":"a.org","country":"1T"}"#), "country must be two letters"),
        ("svc.block_check", Some(r#"{"domain":"a b","country":"IT"}"#), "HTTP 400 for a b in IT"),
        ("svc.risk_forecast", Some("{}"), "country missing"),
        ("svc.risk_forecast", Some(r#"{"country":"zz"}"#), "HTTP 404 for ZZ"),
        ("svc.other", Some("{}"), "this provider has no such service"),
    ] {
        assert_eq!(ask(capability, input), json!({ "error": error }).to_string(), "{capability} {input:?}");
    }
    let input = json!({ "domain": long, "country": "IT" }).to_string();
    assert!(ask("svc.block_check", Some(&input)).chars().count() <= MAX_TEXT);
}

/// `HELIOGRAPH_UPDATE_GOLDEN=1 cargo test -p heliograph-core code_is_documented` writes the file anew.
#[test]
fn every_code_is_documented() {
    let mut page = String::from(
        "# Error codes\n\nEvery error is JSON: `error` is one of these codes, `message` is a sentence for people. \
         The list is closed.\n\nMessages at `/mcp` are the exception: they are answered in JSON-RPC, and what a tool cannot do \
         is a result with `isError` and these members ([mcp.md](mcp.md)).\n\n| `error` | Status | Meaning |\n|---|---|---|\n",
    );
    for code in ErrorCode::ALL {
        let status = code.status();
        page += &format!("| `{}` | {} | {} |\n", code.as_str(), status.as_u16(), code.meaning().trim());
    }
    page += "\n## Reasons of the ledger\n\nUnder `/v1/pay/` a refusal has a `reason` beside these. What is refused before \
             the ledger is asked (a body that is not JSON, a method, a parameter of a read) has its `error` in small \
             letters there.\n\n| `reason` | Status | Meaning |\n|---|---|---|\n";
    for reason in crate::ledger::reason::Reason::ALL {
        let status = reason.code().status();
        page += &format!("| `{}` | {} | {} |\n", reason.as_str(), status.as_u16(), reason.message());
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/errors.md");
    if std::env::var_os("HELIOGRAPH_UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    assert!(std::fs::read_to_string(path).unwrap() == page, "docs/errors.md is stale");
}

#[test]
fn the_page_of_answers_explains_every_member() {
    let page = include_str!("../../../docs/answers.md");
    let document: serde_json::Value = serde_json::from_str(include_str!("../../openapi.json")).unwrap();
    let answers = |path: &str, method: &str| {
        let content = &document["paths"][path][method]["responses"]["200"]["content"]["application/json"];
        content["schema"]["$ref"].as_str().unwrap().to_owned()
    };
    let mut left = vec![
        answers("/hydra/v1/detect", "post"),
        answers("/v1/accessibility/check", "get"),
        answers("/data/incidents/{id}", "get"),
    ];
    // What an explanation has inside is the method, which has a page of its own.
    let mut seen = BTreeSet::from(["#/components/schemas/RoleExplanation".to_owned()]);
    let mut missing = BTreeSet::new();
    while let Some(name) = left.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let schema = document.pointer(name.trim_start_matches('#')).unwrap();
        for (member, of) in schema["properties"].as_object().into_iter().flatten() {
            if !page.contains(&format!("`{member}`")) {
                missing.insert(format!("{member} of {name}"));
            }
            let inside = [of, &of["items"]].into_iter().chain(of["anyOf"].as_array().into_iter().flatten());
            left.extend(inside.filter_map(|inside| inside["$ref"].as_str().map(str::to_owned)));
        }
    }
    assert!(missing.is_empty() && seen.len() > 10, "docs/answers.md lacks {missing:?}");
}
