//! Generates clients from the OpenAPI document in four languages, compiles them, and makes three calls with each
//! (`run.mjs`); and asks the servers what schemathesis makes of the document.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use heliograph_tests::target::{ADMIN_KEY, Kind, Target};
use serde_json::json;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/openapi.json")
}

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/python/bin")
}

/// Whether there is what `cargo xtask test` installs.
fn is_installed() -> bool {
    let there = tools().join("schemathesis").exists() && folder().join("node_modules").exists();
    if !there {
        println!("skipped: `cargo xtask test` installs what generates clients");
    }
    there
}

/// Real servers among the chosen runtimes.
fn servers() -> impl Iterator<Item = Kind> {
    Kind::chosen().into_iter().filter(|kind| *kind != Kind::Memory)
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

fn calls(language: &str) {
    if !is_installed() {
        return;
    }
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    let targets: Vec<Target> = servers().map(|kind| Target::start(kind, &[])).collect();
    if targets.is_empty() {
        return;
    }
    let mut run = Command::new("node");
    run.arg("run.mjs").arg(document()).arg(&work).arg(language).current_dir(folder());
    run.args(targets.iter().map(|target| target.base().expect("a server with an address")));
    let output = run.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn a_generated_python_client_calls_the_servers() {
    calls("python");
}

#[test]
fn a_generated_typescript_client_calls_the_servers() {
    calls("fetch");
}

#[test]
fn the_types_of_openapi_typescript_fit_the_servers() {
    calls("typed");
}

#[test]
fn a_generated_rust_client_calls_the_servers() {
    calls("rust");
}

#[test]
fn a_generated_go_client_calls_the_servers() {
    calls("go");
}

/// Keys of everybody who may ask: of an agent, of an API client and of the operator.
fn keys(target: &Target) -> [String; 3] {
    let client = target.client();
    let agent = client.post("/v1/agent/register", &json!({})).expect(201);
    let key = client.admin().post("/v1/admin/keys", &json!({ "tier": "bench", "label": "asked" })).expect(201);
    let text = |of: &serde_json::Value| of["api_key"].as_str().unwrap().to_owned();
    [
        format!("X-Agent-Key: {}", text(&agent)),
        format!("X-API-Key: {}", text(&key)),
        format!("X-Admin-Key: {ADMIN_KEY}"),
    ]
}

/// Decision what-is-asked-at-random.
#[test]
fn what_schemathesis_asks_is_answered_as_the_document_says() {
    if !is_installed() {
        return;
    }
    for kind in servers() {
        let target = Target::start(kind, &[("forecast_per_minute", "1000000"), ("incidents_per_minute", "1000000")]);
        let base = target.base().expect("a server with an address");
        let mut run = Command::new(tools().join("schemathesis"));
        run.arg("--config-file").arg(folder().join("schemathesis.toml"));
        run.env("SCHEMATHESIS_HOOKS", folder().join("hooks.py"));
        run.arg("run").arg(document()).args(["--url", base]).current_dir(env!("CARGO_TARGET_TMPDIR"));
        for key in keys(&target) {
            run.args(["-H", &key]);
        }
        let output = run.output().unwrap();
        assert!(output.status.success(), "{}: {}", kind.name(), said(&output));
    }
}
