//! Layers of the core: each imports only from the layers that [`LAYERS`] names for it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::{files, root, shown, text};

/// A layer, and the layers from which it may import.
const LAYERS: [(&str, &[&str]); 7] = [
    ("crypto", &[]),
    ("engine", &["crypto"]),
    ("facts", &["crypto", "engine"]),
    ("relay", &["crypto", "engine", "facts"]),
    ("ledger", &["crypto", "engine", "facts", "relay"]),
    ("intelligence", &["crypto", "engine", "facts", "relay"]),
    ("app", &["crypto", "engine", "facts", "relay", "ledger", "intelligence"]),
];

/// The layers from which a file imports, without its tests.
fn imports(text: &str) -> BTreeSet<String> {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect();
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code.get(..at).and_then(|before| before.chars().next_back());
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':') {
            continue;
        }
        let rest = code.get(at + "crate::".len()..).unwrap_or_default();
        match rest.strip_prefix('{') {
            Some(group) => found.extend(group_heads(group)),
            None => found.extend(head(rest)),
        }
    }
    found
}

fn head(text: &str) -> Option<String> {
    let name: String =
        text.trim_start().chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
    Some(name).filter(|name| !name.is_empty())
}

/// The first names of the members of a group.
fn group_heads(group: &str) -> Vec<String> {
    let (mut depth, mut heads, mut from) = (0, Vec::new(), 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                heads.extend(head(group.get(from..at).unwrap_or_default()));
                from = at + 1;
                if letter == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    heads
}

fn is_test(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    name == "tests.rs" || name.ends_with("_tests.rs") || path.components().any(|part| part.as_os_str() == "tests")
}

#[test]
fn a_layer_imports_from_those_below_it_only() {
    let source = root().join("core/src");
    let mut upward: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for path in files(&source, &[".rs"]).iter().filter(|path| !is_test(path.strip_prefix(&source).unwrap())) {
        let top = path.strip_prefix(&source).unwrap().components().next().unwrap();
        let Some((layer, below)) = LAYERS.iter().find(|(layer, _)| top.as_os_str() == *layer) else { continue };
        let imports = imports(&text(path));
        for (other, _) in LAYERS.iter().filter(|(other, _)| other != layer && !below.contains(other)) {
            if imports.contains(*other) {
                upward.entry((layer, other)).or_default().push(shown(path));
            }
        }
    }
    assert!(upward.is_empty(), "files import upward: {upward:#?}");
}

#[test]
fn imports_are_seen_in_every_form() {
    let text = "use crate::{Error, engine::{kv, http}, relay::agent};\nfn f() { crate::ledger::start() }\n\
                // crate::app\nfn g() { other_crate::facts() }\n#[cfg(test)]\nmod tests { use crate::intelligence::x; }\n";
    let found: Vec<String> = imports(text).into_iter().collect();
    assert_eq!(found, ["Error", "engine", "ledger", "relay"]);
}
