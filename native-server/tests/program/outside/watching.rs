//! The rules for alarms and the dashboard under `docs/monitoring`, checked by Prometheus' own tool and against what the
//! server says.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use super::program;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/monitoring")
}

/// Names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("heliograph_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn alarms_and_dashboard_ask_for_what_the_server_has() {
    let mut known = named(include_str!("../../../src/metrics/text.rs"));
    known.extend(named(include_str!("../../../src/metrics/text/census.rs")));
    // Prometheus adds these ends to names.
    let ends = ["_total", "_bucket", "_sum", "_count"];
    known.extend(known.clone().iter().flat_map(|name| ends.map(|end| format!("{name}{end}"))));
    for file in ["alerts.yml", "dashboard.json"] {
        let text = std::fs::read_to_string(folder().join(file)).unwrap();
        let asked = named(&text);
        assert!(asked.len() > 5, "{file}: {asked:?}");
        assert_eq!(asked.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "{file}");
    }
    let dashboard = std::fs::read_to_string(folder().join("dashboard.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    assert!(dashboard["panels"].as_array().unwrap().len() >= 8);
}

#[test]
fn prometheus_takes_the_rules_and_they_fire_when_they_should() {
    let Some(promtool) = program("promtool", &["prometheus"]) else { return };
    for arguments in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts-test.yml"]] {
        let done = Command::new(&promtool).args(arguments).current_dir(folder()).output().unwrap();
        let told = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{arguments:?}: {told}");
    }
}
