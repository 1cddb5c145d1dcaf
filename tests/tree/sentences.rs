//! Checks that every sentence of the table is said somewhere, and that every code in the sources is in the table.

use std::collections::BTreeSet;

use crate::{files, root, shown, text};

/// Codes of the table.
fn table() -> BTreeSet<String> {
    let table = text(&root().join("core/facts/src/sentence/sentences.tsv"));
    let rows = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).skip(1);
    rows.filter_map(|row| Some(row.split_once('\t')?.0.to_owned())).collect()
}

/// What stands in quotation marks behind each of these words.
fn quoted<'t>(text: &'t str, before: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(before).skip(1).filter_map(|rest| rest.split('"').next())
}

#[test]
fn every_sentence_is_said_somewhere_and_every_code_is_in_the_table() {
    let table = table();
    assert!(table.len() > 300, "{}", table.len());
    let mut said: BTreeSet<String> = BTreeSet::new();
    for path in files(&root().join("core"), &[".rs"]) {
        if path.ends_with("sentence/tests.rs") {
            continue;
        }
        let source = text(&path);
        for code in quoted(&source, "Sentence::new(\"").chain(quoted(&source, "Said::new(\"")) {
            assert!(table.contains(code), "{}: {code} is not in the table", shown(&path));
        }
        let words = source.split('"').skip(1);
        said.extend(words.filter(|word| table.contains(*word)).map(str::to_owned));
    }
    let silent: Vec<&String> = table.difference(&said).collect();
    assert!(silent.is_empty(), "nothing says {silent:?}");
}
