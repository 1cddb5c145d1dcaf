//! Generates clients from the OpenAPI document in four languages, compiles them, and makes three calls with each
//! (`run.mjs`); and asks the servers what schemathesis makes of the document.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use heliograph_tests::target::{ADMIN_KEY, Kind, Target};
use serde_json::{Value, json};

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

/// What `schemathesis.toml` and `hooks.py` need of those who ask: an agent, an API client, the operator and a probe.
fn callers(target: &Target) -> Vec<(&'static str, String)> {
    let client = target.client();
    let register = || client.post("/v1/agent/register", &json!({})).expect(201);
    let (agent, other) = (register(), register());
    let admin = client.admin();
    let key = admin.post("/v1/admin/keys", &json!({ "tier": "bench", "label": "asked" })).expect(201);
    let account = admin.get("/v1/admin/keys").expect(200)["keys"][0]["account"].clone();
    let node = client.post("/v1/community/register", &json!({ "country": "SE" })).expect(201);
    let text = |of: &Value, name: &str| of[name].as_str().unwrap().to_owned();
    // Nobody has an account of zeros.
    let spared = json!({ (text(&agent, "did")): text(&other, "did"), (account.as_str().unwrap()): "A".repeat(22) });
    vec![
        ("HELIOGRAPH_AGENT_KEY", text(&agent, "api_key")),
        ("HELIOGRAPH_API_KEY", text(&key, "api_key")),
        ("HELIOGRAPH_ADMIN_KEY", ADMIN_KEY.to_owned()),
        ("HELIOGRAPH_NODE", text(&node, "nodeId")),
        ("HELIOGRAPH_NODE_TOKEN", text(&node, "nodeToken")),
        ("HELIOGRAPH_SPARED", spared.to_string()),
    ]
}

/// Operations that refuse everybody who asks at random, each with the reason.
const CLOSED: &[(&str, &str)] =
    &[("deliverMessage", "Only peers deliver, and each signs with the key that it had when the operator added it.")];

/// Operations that answered with nothing but refusals of the caller.
fn refusing(answered: &str) -> Vec<String> {
    let answered: BTreeMap<String, BTreeMap<String, u64>> = serde_json::from_str(answered).unwrap();
    let closed = |statuses: &BTreeMap<String, u64>| statuses.keys().all(|status| status == "401" || status == "403");
    answered.into_iter().filter(|(_, statuses)| closed(statuses)).map(|(name, _)| name).collect()
}

#[test]
fn an_operation_that_only_refuses_its_callers_is_told_from_one_that_answers() {
    let answered = r#"{"one": {"401": 3, "403": 1}, "two": {"401": 3, "404": 1}, "three": {"200": 1}}"#;
    assert_eq!(refusing(answered), ["one"]);
}

/// Settings of a server that is asked as fast as it answers.
const PATIENT: &[(&str, &str)] = &[
    ("forecast_per_minute", "1000000"),
    ("incidents_per_minute", "1000000"),
    ("disputes_per_hour", "1000000"),
    ("reports_per_hour", "1000000"),
    ("probes_per_hour", "1000000"),
    ("registrations_per_hour", "1000000"),
];

/// Decision what-is-asked-at-random.
#[test]
fn what_schemathesis_asks_is_answered_as_the_document_says() {
    if !is_installed() {
        return;
    }
    for kind in servers() {
        let target = Target::start(kind, PATIENT);
        let base = target.base().expect("a server with an address");
        let answered = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("answered-{}.json", kind.name()));
        let mut run = Command::new(tools().join("schemathesis"));
        run.arg("--config-file").arg(folder().join("schemathesis.toml"));
        run.env("SCHEMATHESIS_HOOKS", folder().join("hooks.py"));
        run.arg("run").arg(document()).args(["--url", base]).current_dir(env!("CARGO_TARGET_TMPDIR"));
        run.env("HELIOGRAPH_ANSWERED", &answered).envs(callers(&target));
        let output = run.output().unwrap();
        assert!(output.status.success(), "{}: {}", kind.name(), said(&output));
        let refusing = refusing(&std::fs::read_to_string(&answered).unwrap());
        println!("{}: {} operations refuse everybody: {refusing:?}", kind.name(), refusing.len());
        assert_eq!(refusing, CLOSED.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{}", kind.name());
    }
}
