use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::*;
use crate::engine::http::Deprecated;

fn each<'a>(value: &'a Value, see: &mut dyn FnMut(&'a serde_json::Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            see(members);
            members.iter().filter(|(name, _)| *name != "example").for_each(|(_, value)| each(value, see));
        }
        Value::Array(all) => all.iter().for_each(|value| each(value, see)),
        _ => {}
    }
}

fn operations(document: &Value) -> impl Iterator<Item = (String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| (format!("{method} {path}"), operation))
    })
}

/// `HELIOGRAPH_UPDATE_GOLDEN=1 cargo test -p heliograph-core openapi` writes the file anew.
#[test]
fn the_committed_document_is_the_route_table() {
    let committed = include_str!("../../../openapi.json");
    let mut generated = serde_json::to_string_pretty(&generate()).unwrap();
    generated.push('\n');
    if std::env::var_os("HELIOGRAPH_UPDATE_GOLDEN").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json"), &generated).unwrap();
    } else {
        assert!(generated == committed, "openapi.json is stale; run with HELIOGRAPH_UPDATE_GOLDEN=1 and review");
    }
}

#[test]
fn the_document_that_is_served_says_what_the_committed_one_says() {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(read(DOCUMENT), read(include_str!("../../../openapi.json")));
    assert!(!DOCUMENT.contains('\n'));
}

#[test]
fn the_document_of_a_server_with_an_address_names_it_and_says_the_same_of_all_else() {
    let address = "https://heliograph.example/a\"b";
    let mut served: Value = serde_json::from_str(&served_at(address)).unwrap();
    assert_eq!(served["servers"][0]["url"], address);
    served["servers"][0]["url"] = "/".into();
    assert_eq!(served, serde_json::from_str::<Value>(DOCUMENT).unwrap());
}

#[test]
fn every_operation_has_a_name_of_its_own_that_begins_with_a_small_letter() {
    let (document, mut seen) = (generate(), BTreeSet::new());
    for (place, operation) in operations(&document) {
        let name = operation["operationId"].as_str().unwrap();
        assert!(name.starts_with(|first: char| first.is_ascii_lowercase()), "{place}: {name}");
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{place}: {name}");
        // Some generators compare names without regard to case.
        assert!(seen.insert(name.to_lowercase()), "{place}: {name} twice");
    }
}

#[test]
fn every_line_of_the_names_and_failures_is_a_route() {
    let routes: BTreeSet<String> =
        crate::app::PROGRAM.interface().map(|route| format!("{} {}", route.method, route.path)).collect();
    for line in include_str!("names.tsv").lines() {
        let (route, name) = line.split_once('\t').unwrap();
        assert!(routes.contains(route), "{name} names {route}, which is no route");
    }
    for line in include_str!("failures.tsv").lines() {
        let (route, statuses) = line.split_once('\t').unwrap();
        assert!(routes.contains(route), "{statuses} is said of {route}, which is no route");
    }
}

#[test]
fn every_status_of_a_failure_that_a_route_adds_is_described() {
    let document = generate();
    for line in include_str!("failures.tsv").lines() {
        let (route, statuses) = line.split_once('\t').unwrap();
        let (method, path) = route.split_once(' ').unwrap();
        let operation = &document["paths"][path.replace("{*", "{")][method.to_lowercase()];
        for status in statuses.split(' ') {
            assert!(operation["responses"][status]["$ref"].is_string(), "{route} {status} has no component");
        }
    }
}

#[test]
fn every_code_of_a_failure_has_one_example_in_the_form_of_its_body() {
    let document = generate();
    let mut seen = BTreeSet::new();
    for (name, answer) in document["components"]["responses"].as_object().unwrap() {
        let examples = answer["content"]["application/json"]["examples"].as_object().unwrap();
        for (code, example) in examples {
            let body = &example["value"];
            assert!(
                body["error"] == **code && body["message"].as_str().is_some_and(|text| text.ends_with('.')),
                "{name}"
            );
            assert!(seen.insert(code.clone()), "{code} stands twice");
        }
    }
    let all = crate::ErrorCode::ALL.iter().map(|code| code.as_str().to_owned()).collect();
    assert_eq!(seen, all);
}

#[test]
fn every_operation_says_what_it_is_for() {
    let document = generate();
    let tags: Vec<&Value> = document["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    for (place, operation) in operations(&document) {
        assert!(tags.contains(&&operation["tags"][0]), "{place}");
        for part in ["summary", "description"] {
            assert!(operation[part].as_str().is_some_and(|text| text.len() > 5), "{place}: {part}");
        }
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        assert!(parameters.into_iter().all(|one| one["schema"].is_object()), "{place}");
    }
}

/// Names that are types of the language, or of what generated code imports, in Python, TypeScript, Rust or Go.
const RESERVED: &str = "Any Arc Array ArrayBuffer BaseModel Blob Body BodyInit Box Callable Clone Context Copy Cow Date Debug \
    Default Dict Document Drop Duration Element Enum Err Error Event Exception Field File FormData Function Generic Hash Headers \
    HeadersInit Image Int Integer Into Iterable Iterator List Literal Location Map Method Model Module None Notification Null \
    Number Object Ok Option Optional Ord Partial Path Pick Promise Range Rc Record Request Required Response Result Self Send \
    Set Some Storage Str String Struct Symbol Sync Text Time Tuple Type Union Url Value Vec Void Window Worker";

#[test]
fn schemas_have_names_that_say_what_they_are() {
    let document = generate();
    let reserved: Vec<&str> = RESERVED.split_whitespace().collect();
    let mut lowered = BTreeSet::new();
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{name} is numbered: rename one of the types");
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{name}");
        assert!(!reserved.contains(&name.as_str()), "{name} is a type of a language");
        assert!(lowered.insert(name.to_lowercase()), "{name} differs from another in case only");
    }
}

#[test]
fn a_member_has_one_spelling() {
    let document = generate();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for member in schema["properties"].as_object().into_iter().flatten().map(|(member, _)| member) {
            let known = seen.insert(member.replace('_', "").to_lowercase(), member);
            assert!(known.is_none(), "{name} has {known:?} and {member}: skip one in the schema");
        }
    }
}

#[test]
fn a_type_that_is_read_and_written_has_one_schema() {
    let document = generate();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let text = schema["description"].as_str().unwrap_or_default();
        assert!(!text.ends_with("is read and written differently"), "{name} needs a type for each direction");
    }
}

#[test]
fn every_schema_is_an_object_and_every_reference_leads_to_one() {
    let document = generate();
    each(&document, &mut |members| {
        for name in ["items", "schema"] {
            assert!(members.get(name).is_none_or(Value::is_object), "{members:?}");
        }
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
        if let Some(properties) = members.get("properties").and_then(Value::as_object) {
            assert!(properties.values().all(Value::is_object), "{properties:?}");
        }
    });
}

/// A meaning that only one schema has stands at its member.
#[test]
fn every_meaning_of_the_table_serves_several_schemas_and_stands_in_the_order_of_names() {
    let document = generate();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let lines: Vec<(&str, &str)> =
        include_str!("members.tsv").lines().map(|line| line.split_once('\t').unwrap()).collect();
    assert!(lines.is_sorted_by(|(a, _), (b, _)| a < b));
    for (name, meaning) in lines {
        let has = |schema: &&Value| schema["properties"][name]["description"] == meaning;
        assert!(schemas.values().filter(has).count() > 1, "{name}");
    }
}

#[test]
fn every_component_is_used() {
    let (document, mut used) = (generate(), BTreeSet::new());
    each(&document, &mut |members| used.extend(members.get("$ref").and_then(Value::as_str)));
    for kind in ["schemas", "responses"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            assert!(used.contains(format!("#/components/{kind}/{name}").as_str()), "{name} is used nowhere");
        }
    }
}

#[test]
fn every_route_that_answers_says_with_what() {
    for (place, operation) in operations(&generate()) {
        let responses = operation["responses"].as_object().unwrap();
        let said = responses.iter().any(|(status, answer)| status == "101" || answer["content"].is_object());
        assert!(said, "{place}: name a type or the media types of the answer");
    }
}

/// Decision routes-that-give-way.
#[test]
fn an_operation_that_gives_way_says_so() {
    async fn nothing(_cx: Cx) -> Result<Response> {
        Ok(Response::json_text("{}"))
    }
    let stays = Route::get("/v1/old", handler!(nothing)).summary("Old.").answers(&["application/json"]);
    let described = |route: &Route| operation::operation(route, &mut generate::Schemas::new());
    for name in ["deprecated", "x-deprecated-since", "x-sunset"] {
        assert!(described(&stays).get(name).is_none(), "{name}");
    }
    let operation = described(&stays.deprecated(Deprecated::since(2026, 12, 1, "/v1/new").until(2027, 12, 1)));
    assert_eq!(operation["deprecated"], true);
    assert_eq!(
        (&operation["x-deprecated-since"], &operation["x-sunset"]),
        (&"2026-12-01".into(), &"2027-12-01".into())
    );
    let about = "Old. Deprecated since 2026-12-01: use `/v1/new` in place of this, which ends on 2027-12-01.";
    assert_eq!(operation["description"], about);
    let headers = operation["responses"]["200"]["headers"].as_object().unwrap();
    assert_eq!(headers.keys().collect::<Vec<_>>(), ["Deprecation", "Sunset"]);
}

/// Decision versions-of-the-interface.
#[test]
fn the_page_of_versions_and_the_changelog_know_the_versions_that_are_served() {
    let page = include_str!("../../../../docs/versions.md");
    let info = &generate()["info"];
    for version in [&info["version"], &info["x-interface-version"]] {
        let row = format!("\n| {} |", version.as_str().unwrap());
        assert!(page.contains(&row), "docs/versions.md has no row {row:?}");
    }
    let changes = include_str!("../../../../CHANGELOG.md");
    let program = format!("\n## [{}]", info["x-program-version"].as_str().unwrap());
    assert!(changes.contains(&program), "CHANGELOG.md has no {program:?}");
}
