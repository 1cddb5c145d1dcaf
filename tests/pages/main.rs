//! Pages for people on real servers: the same bytes on both runtimes, and what real browsers make of them (`run.mjs`,
//! `firefox.mjs`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Command;

use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{HALF_BLOCKED, INSIDE, SITE, blocked_site};
use heliograph_tests::target::{Kind, Target};
use serde_json::json;

/// Real servers among the chosen runtimes, with data: a made-up site, the real observations of Kenya in November 2023
/// where they are, and an incident.
fn servers() -> Vec<Target> {
    let kinds = Kind::chosen().into_iter().filter(|kind| *kind != Kind::Memory);
    kinds.map(|kind| Target::start(kind, &[])).inspect(|target| fill(&target.client())).collect()
}

fn fill(client: &Client) {
    data::import(&client.admin(), "ooni-observations", "", blocked_site().as_bytes());
    if let Some(kenya) = data::real("ooni/observations_KE_2023_telegram.csv.gz") {
        data::import(&client.admin(), "ooni-observations", "", &kenya);
    }
    let incident = json!({
        "country": "KE", "subject": "telegram.org", "start": "2023-11-08T00:00:00Z", "end": "2023-11-24T00:00:00Z",
        "type": "censorship", "severity": "high", "confidence": 0.8, "reason": "reported",
    });
    client.admin().post("/v1/admin/incidents", &incident).expect(201);
    client.until(|| {
        let history = client.get(&format!("/data/domain/{SITE}/history?as_of={INSIDE}")).json();
        history["timeline"][0]["countries"].as_object().filter(|found| found.len() == 2).map(|_| ())
    });
}

#[test]
fn pages_are_the_same_bytes_on_both_runtimes() {
    let servers = servers();
    let [first, second] = servers.as_slice() else { return };
    let paths = [
        "/method".to_owned(),
        "/about".to_owned(),
        "/docs".to_owned(),
        "/fr/api-key".to_owned(),
        format!("/site/{SITE}/{HALF_BLOCKED}?as_of={INSIDE}&since=2024-03-01&until=2024-03-13"),
        format!("/ar/site/{SITE}/{HALF_BLOCKED}?as_of={INSIDE}&since=2024-03-01&until=2024-03-13"),
        format!("/image/site/{HALF_BLOCKED}/{SITE}.svg?since=2024-03-01&until=2024-03-13"),
        format!("/image/networks/{HALF_BLOCKED}/{SITE}.svg?since=2024-03-01&until=2024-03-13"),
        "/country/SE?as_of=2024-03-12T12:00:00Z".to_owned(),
    ];
    for path in paths {
        let [one, other] = [first, second].map(|target| {
            let answer = target.client().get(&path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            // Each server has an address of its own.
            answer.text().replace(target.base().unwrap(), "")
        });
        assert_eq!(one, other, "{path}");
    }
}

/// A browser: the one that a variable names, else the one that is installed under this name.
fn browser(variable: &str, name: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    Some(named.unwrap_or_else(|| Path::new("/usr/bin").join(name))).filter(|path| path.exists())
}

#[track_caller]
fn run(program: &mut Command) {
    let output = program.current_dir(folder()).output().unwrap();
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat();
    assert!(output.status.success(), "{said}");
    println!("{said}");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pages")
}

#[test]
fn pages_are_right_in_a_real_browser() {
    let Some(browser) = browser("CHROMIUM", "chromium").filter(|_| folder().join("node_modules").exists()) else {
        println!("skipped: there is no Chromium (`CHROMIUM` names it), or `npm ci` was not run in tests/pages");
        return;
    };
    for target in servers() {
        let mut look = Command::new("node");
        look.arg("run.mjs").arg(target.base().unwrap()).env("CHROMIUM", &browser);
        // `HELIOGRAPH_PICTURES=<folder>` keeps a picture of every page.
        run(look.args(std::env::var_os("HELIOGRAPH_PICTURES")));
    }
}

#[test]
fn firefox_shows_pages_whole_also_without_scripts_and_svg() {
    let Some(browser) = browser("FIREFOX", "firefox-esr") else {
        println!("skipped: there is no Firefox (`FIREFOX` names it)");
        return;
    };
    for target in servers() {
        // Before its version 22, Node has WebSockets only when asked.
        let mut look = Command::new("node");
        run(look.args(["--experimental-websocket", "firefox.mjs", target.base().unwrap()]).env("FIREFOX", &browser));
    }
}
