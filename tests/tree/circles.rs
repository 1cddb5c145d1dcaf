//! Circles of modules: top-level modules of one package that import each other, directly or by others. A package cannot
//! be read from below where it has a circle, so none may grow. Between packages the compiler allows none.

use std::collections::{BTreeMap, BTreeSet};

use crate::{files, root, text};

/// The modules of each package that are in circles now. Lower a number when a circle gets smaller.
const IN_CIRCLES: [(&str, usize); 7] =
    [("crypto", 2), ("engine", 10), ("facts", 6), ("relay", 8), ("ledger", 29), ("intelligence", 17), ("pages", 7)];

type Imports = BTreeMap<String, BTreeSet<String>>;

/// The code of a file without its comments and its unit tests.
fn code(file: &str) -> String {
    let product = file.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    product.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The names right after `crate::`, also inside of braces.
fn named(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let mut depth = 0;
        let mut name = String::new();
        let mut begins = true;
        for c in after.chars() {
            match c {
                c if c.is_ascii_alphanumeric() || c == '_' => {
                    if begins {
                        name.push(c);
                    }
                    continue;
                }
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if !name.is_empty() {
                found.insert(std::mem::take(&mut name));
            }
            // Only a name at the beginning of an item of the outer braces is a top-level module.
            begins = depth == 1 && (matches!(c, '{' | ',') || (begins && c.is_whitespace()));
            if depth == 0 {
                break;
            }
        }
    }
    found
}

/// Which top-level modules of a package import which others.
fn imports(package: &str) -> Imports {
    let source = root().join("core").join(package).join("src");
    let mut all = Imports::new();
    for path in files(&source, &[".rs"]) {
        let inside = path.strip_prefix(&source).unwrap().with_extension("").display().to_string();
        let for_tests = inside.split('/').any(|part| part == "tests" || part == "testing" || part.ends_with("_tests"));
        let module = inside.split('/').next().unwrap_or_default().to_owned();
        if !for_tests && module != "lib" {
            // From a module at the top `super` is the package, from one inside of it `super::super`.
            let depth = inside.trim_end_matches("/mod").split('/').count();
            let code = code(&text(&path)).replace(&"super::".repeat(depth), "crate::");
            all.entry(module).or_default().extend(named(&code));
        }
    }
    let modules: BTreeSet<String> = all.keys().cloned().collect();
    for (module, named) in &mut all {
        named.retain(|name| modules.contains(name) && name != module);
    }
    all
}

/// All modules that lead back to themselves.
fn in_circles(imports: &Imports) -> BTreeSet<&str> {
    let leads_back = |start: &&str| {
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![*start]);
        while let Some(module) = waiting.pop() {
            for next in &imports[module] {
                if next == start {
                    return true;
                }
                if seen.insert(next.as_str()) {
                    waiting.push(next);
                }
            }
        }
        false
    };
    imports.keys().map(String::as_str).filter(leads_back).collect()
}

#[test]
fn circles_of_modules_do_not_grow() {
    for (package, most) in IN_CIRCLES {
        let imports = imports(package);
        let found = in_circles(&imports);
        assert!(found.len() <= most, "{package}: {} modules import each other in circles: {found:?}", found.len());
    }
}

#[test]
fn a_circle_is_seen_through_other_modules_and_in_braces() {
    let of = |code: &str| named(&self::code(code));
    let braces = "use crate::{Result, actor::{self, Kind}, kv::Read, time::{\n    DAY,\n    HOUR},\n    web};";
    assert_eq!(of(braces), ["Result", "actor", "kv", "time", "web"].map(str::to_owned).into());
    assert_eq!(of("crate::kv::Table<crate::time::Timestamp> // crate::web"), ["kv", "time"].map(str::to_owned).into());
    let module = |name: &str, named: &[&str]| (name.to_owned(), named.iter().map(|name| (*name).to_owned()).collect());
    let imports = Imports::from([module("a", &["b"]), module("b", &["c"]), module("c", &["b"]), module("d", &["a"])]);
    assert_eq!(in_circles(&imports), ["b", "c"].into());
}
