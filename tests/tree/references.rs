//! Checks that decisions named in comments are entries of `docs/decisions`: `decision order-of-data`.

use std::collections::{BTreeMap, BTreeSet};

use crate::{files, root, shown, text};

const ENDINGS: [&str; 5] = [".rs", ".toml", ".tsv", ".md", ".js"];

/// Entries of the pages of decisions, with the page of each.
fn entries() -> BTreeMap<String, String> {
    let mut entries = BTreeMap::new();
    for page in files(&root().join("docs/decisions"), &[".md"]) {
        for line in text(&page).lines() {
            let Some(slug) = line.strip_prefix("### ").filter(|slug| is_slug(slug)) else { continue };
            if let Some(other) = entries.insert(slug.to_owned(), shown(&page)) {
                panic!("{slug} is an entry of {other} and of {}", shown(&page));
            }
        }
    }
    assert!(entries.len() > 100, "{} entries", entries.len());
    entries
}

/// Words in lower case with hyphens, two at least.
fn is_slug(word: &str) -> bool {
    word.contains('-')
        && word.split('-').all(|part| !part.is_empty())
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// The words without comment marks, so that a name may be on the line after the word `decision`.
fn flowing(text: &str) -> Vec<&str> {
    let mark = |word: &&str| !["//", "///", "//!", "#", "*", "|"].contains(word);
    text.split_whitespace().filter(mark).collect()
}

/// The entry named after the word `decision`, or several entries after `decisions`.
fn named(words: &[&str]) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (at, word) in words.iter().enumerate() {
        let word = word.trim_start_matches(['(', '"', '`', '[']).to_ascii_lowercase();
        if word != "decision" && word != "decisions" {
            continue;
        }
        for name in words.iter().skip(at + 1).take(if word == "decision" { 1 } else { 12 }) {
            let bare = name.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
            match is_slug(bare) {
                true => named.insert(bare.to_owned()),
                false if bare == "and" => continue,
                false => break,
            };
            // The last name ends the sentence or the brackets.
            if name.ends_with([')', ';', ':', '.', '"']) {
                break;
            }
        }
    }
    named
}

#[test]
fn every_decision_that_is_named_is_written_down() {
    let entries = entries();
    let mut lost = Vec::new();
    let mut count = 0;
    for file in files(root(), &ENDINGS).iter().filter(|file| !file.starts_with(root().join("tests/tree"))) {
        let text = text(file);
        for name in named(&flowing(&text)) {
            count += 1;
            if !entries.contains_key(&name) {
                lost.push(format!("{}: {name}", shown(file)));
            }
        }
    }
    assert!(lost.is_empty(), "no entry of docs/decisions: {lost:#?}");
    assert!(count > 500, "{count} references");
}

#[test]
fn every_page_that_is_named_is_there() {
    let mut lost = Vec::new();
    for file in files(root(), &[".rs", ".md", ".toml"]) {
        let text = text(&file);
        for word in text.split(|letter: char| letter.is_whitespace() || "()[]`\"'<>,;".contains(letter)) {
            let word = word.trim_end_matches(['.', ':']);
            let path = word.split('#').next().unwrap_or_default();
            let of_tree = ["docs/", "core/", "native-server/src/", "edge-worker/src/", "xtask/src/"];
            // A file of a layer is named by its whole path too.
            let layers = ["crypto/", "engine/", "facts/", "relay/", "ledger/", "intelligence/"];
            let begins = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
            let is_path =
                (begins(&of_tree) || begins(&layers) && path.ends_with(".rs")) && !path.contains(['{', '*', '$', '\\']);
            if is_path && !root().join(path).exists() {
                lost.push(format!("{}: {path}", shown(&file)));
            }
        }
    }
    // A test of `xtask` makes a tree of its own.
    lost.retain(|line| !line.starts_with("xtask/"));
    assert!(lost.is_empty(), "named and not there: {lost:#?}");
}

/// Names of functions that begin with the number of a rule, such as `relay_5_4_a_poll_misses_nothing`.
#[test]
fn no_test_is_named_after_a_number_that_a_reader_does_not_have() {
    let mut numbered = Vec::new();
    for file in files(root(), &[".rs"]) {
        for line in text(&file).lines().map(str::trim) {
            let Some((_, name)) = line.split_once("fn ") else { continue };
            let mut parts = name.split('_');
            let first = parts.next().unwrap_or_default();
            let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let begins =
                ["relay", "spec", "ruling", "rulings", "section", "methods", "interface", "ledger"].contains(&first);
            if begins && parts.take(3).any(is_number) {
                numbered.push(format!("{}: {line}", shown(&file)));
            }
        }
    }
    assert!(numbered.is_empty(), "{numbered:#?}");
}

/// Names of rules and pages that a reader does not have.
#[test]
fn nothing_points_outside_of_the_repository() {
    let mut lost = Vec::new();
    for file in files(root(), &ENDINGS).iter().filter(|file| !file.starts_with(root().join("tests/tree"))) {
        let text = text(file);
        let words = flowing(&text);
        for pair in words.windows(3) {
            let [first, second, third] = pair else { continue };
            let bare =
                |word: &str| word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()).to_ascii_lowercase();
            let number = |word: &str| bare(word).bytes().next().is_some_and(|byte| byte.is_ascii_digit());
            let points = match bare(first).as_str() {
                "ruling" | "rulings" => number(second) || number(third),
                "interface" => bare(second) == "section" && number(third),
                "spec" => ["relay", "intelligence", "ledger"].contains(&bare(second).as_str()) && number(third),
                "methods" => second.contains('.') && number(second),
                "issue" => {
                    first.starts_with("Issue:")
                        || ["relay", "probes"].contains(&bare(second).as_str())
                        || number(second)
                }
                _ => false,
            };
            if points {
                lost.push(format!("{}: {first} {second} {third}", shown(file)));
            }
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
}
