//! Runs agents written in JavaScript, on two independent sets of cryptography, against the real servers (`run.mjs`),
//! and checks that libsodium still makes the recorded vectors.

use std::path::Path;
use std::process::Command;

use heliograph_tests::target::{Kind, Target};
use serde_json::Value;

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

/// Runs an example of the documentation as it is, and returns what it says. It runs from a copy beside the packages of
/// this folder, since the one in the documentation has none.
fn example(name: &str, target: &Target) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("interop/node_modules/.examples");
    std::fs::create_dir_all(&folder).unwrap();
    let copy = folder.join(name);
    std::fs::copy(here.join("../docs/examples").join(name), &copy).unwrap();
    let base = target.base().expect("a server with an address");
    let output = Command::new("node").arg(&copy).arg(base).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said.into_owned()
}

#[test]
fn every_example_of_the_documentation_runs_twice_on_the_same_server() {
    for kind in Kind::chosen().into_iter().filter(|kind| *kind != Kind::Memory) {
        let target = Target::start(kind, &[]);
        for _ in 0..2 {
            for message in ["message.mjs", "encrypted.mjs"] {
                assert_eq!(example(message, &target), "Hello Bob true true\n", "{message}");
            }
            let said = example("pay.mjs", &target);
            assert!(said.contains(" 6250000\n") && said.ends_with(" 3750000\n"), "{said}");
        }
    }
}

/// Decision recorded-vectors: PyNaCl runs if it is installed; other tests compare the core with the recorded vectors in
/// any case.
#[test]
fn what_libsodium_makes_is_what_was_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/nacl");
    let there = Command::new("python3").args(["-c", "import nacl"]).output().is_ok_and(|found| found.status.success());
    if !there {
        println!("skipped: there is no python3 with PyNaCl");
        return;
    }
    for (script, recorded) in [("make.py", "pynacl.json"), ("signatures.py", "signatures.json")] {
        let made = Command::new("python3").arg(script).current_dir(&folder).output().unwrap();
        assert!(made.status.success(), "{script}: {}", String::from_utf8_lossy(&made.stderr));
        let read = |text: &[u8]| {
            let mut vectors: Value = serde_json::from_slice(text).unwrap();
            // Another version makes the same vectors.
            vectors["generator"].take();
            vectors
        };
        let recorded = std::fs::read(folder.join(recorded)).unwrap();
        assert!(read(&made.stdout) == read(&recorded), "{script} makes something else now");
    }
}
