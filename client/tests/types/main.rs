//! The types of the packages for TypeScript and Python are those of Rust: the answers are written from the Rust types, and
//! each call has the same name, options and answer in all three languages.
//!
//! `HELIOGRAPH_UPDATE_GOLDEN=1 cargo test -p heliograph-client --test types` writes the answers again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod rust;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use calls::Call;
use rust::Type;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn in_typescript() -> BTreeMap<String, Call> {
    calls::typescript(&text("js/package/index.d.ts"))
}

fn in_python() -> BTreeMap<String, Call> {
    calls::python(&text("python/heliograph_client/_native.pyi"))
}

/// The types that the calls of TypeScript answer with, and those that these consist of; each after those in it.
fn answers() -> Vec<Type> {
    let all = rust::types();
    let mut ordered = Vec::new();
    let mut wanted: Vec<String> = in_typescript().into_values().map(|call| call.answer).collect();
    wanted.push("Message".to_owned());
    wanted.sort();
    for name in wanted {
        add(&name, &all, &mut ordered);
    }
    ordered
}

fn add(name: &str, all: &BTreeMap<String, Type>, ordered: &mut Vec<Type>) {
    let Some(found) = all.get(name) else { return };
    if ordered.iter().any(|known| known.name == name) {
        return;
    }
    for part in found.parts() {
        add(&part, all, ordered);
    }
    ordered.push(found.clone());
}

#[track_caller]
fn holds(path: &str, expected: &str) {
    if std::env::var_os("HELIOGRAPH_UPDATE_GOLDEN").is_some() {
        std::fs::write(root().join(path), expected).unwrap();
    }
    let found = text(path);
    let line = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "client/{path} differs from the types in Rust (line {}); this writes it again: \
         HELIOGRAPH_UPDATE_GOLDEN=1 cargo test -p heliograph-client --test types",
        line.unwrap_or_else(|| found.lines().count().min(expected.lines().count())) + 1,
    );
}

#[test]
fn answers_in_typescript_are_those_of_rust() {
    let answers = answers();
    assert!(answers.iter().any(|answer| answer.name == "Check"), "the check is an answer");
    holds("js/package/answers.d.ts", &write::typescript(&answers));
}

#[test]
fn answers_in_python_are_those_of_rust() {
    holds("python/heliograph_client/answers.py", &write::python(&answers()));
}

/// Calls whose answer is any JSON, since they lead to any route or to what the caller stored.
const ANY: [&str; 7] = [
    "Agent.read_as_party",
    "Agent.recall",
    "Agent.request",
    "Agent.write",
    "Client.get",
    "Client.post",
    "Client.prove_event",
];

#[test]
fn every_call_has_the_same_name_options_and_answer_in_typescript_and_python() {
    let (typescript, python) = (in_typescript(), in_python());
    assert!(typescript.len() > 50, "{}", typescript.len());
    assert_eq!(typescript.keys().collect::<BTreeSet<_>>(), python.keys().collect::<BTreeSet<_>>());
    for (name, call) in &typescript {
        assert_eq!(call, &python[name], "{name}");
    }
    let any: Vec<&str> =
        typescript.iter().filter(|(_, call)| call.answer == "Json").map(|(name, _)| name.as_str()).collect();
    assert_eq!(any, ANY);
}

#[test]
fn every_call_answers_as_in_rust() {
    let rust = rust::answers();
    for (name, call) in in_typescript() {
        let found = rust.get(&name).unwrap_or_else(|| panic!("{name} is not in Rust"));
        assert_eq!(found, &call.answer, "{name}");
    }
}
