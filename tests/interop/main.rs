//! Agents written in JavaScript on two independent sets of cryptography, against the real servers (`run.mjs`).

use std::path::Path;
use std::process::Command;

use heliograph_tests::target::{Kind, Target};

fn run(kind: Kind) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop");
    assert!(folder.join("node_modules").exists(), "`cargo xtask test` installs what {} needs", folder.display());
    let target = Target::start(kind, &[("allow_outbound", "127.0.0.0/8")]);
    let base = target.base().expect("a server with an address");
    let output = Command::new("node").arg("run.mjs").arg(base).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.lines().filter(|line| line.starts_with("ok ")).count() > 40, "{said}");
    let ran = |what: &str| said.lines().filter(|line| line.starts_with(&format!("ok    {what} "))).count();
    assert_eq!((ran("a task"), ran("a plain box")), (9, 6), "{said}");
}

#[test]
fn agents_on_other_cryptography_are_understood_by_the_native_server() {
    run(Kind::Native);
}

#[test]
fn agents_on_other_cryptography_are_understood_by_the_worker() {
    if Kind::chosen().contains(&Kind::Edge) {
        run(Kind::Edge);
    } else {
        println!("skipped: HELIOGRAPH_TEST_TARGETS does not name edge");
    }
}
