//! Layers of the core: each is a package that depends on the packages below it only. So an import that runs upward does
//! not compile, and this test holds the list of what is below what.

use crate::{root, text};

/// A layer, and the layers that its package may depend on.
const LAYERS: [(&str, &[&str]); 7] = [
    ("crypto", &[]),
    ("engine", &["crypto"]),
    ("facts", &["crypto", "engine"]),
    ("relay", &["crypto", "engine", "facts"]),
    ("ledger", &["crypto", "engine", "facts", "relay"]),
    ("intelligence", &["crypto", "engine", "facts", "relay"]),
    ("pages", &["engine", "facts"]),
];

/// The packages of the workspace that a manifest names as a dependency, for the program or for tests.
fn dependencies(manifest: &str) -> Vec<String> {
    let is_ours = |name: &str| name.starts_with("heliograph") || LAYERS.iter().any(|(layer, _)| *layer == name);
    let named = manifest.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
    let mut ours: Vec<String> = named.filter(|name| is_ours(name)).map(str::to_owned).collect();
    ours.sort();
    ours.dedup();
    ours
}

#[test]
fn the_package_of_a_layer_depends_on_those_below_it_only() {
    for (layer, below) in LAYERS {
        let manifest = text(&root().join(format!("core/{layer}/Cargo.toml")));
        assert!(manifest.contains(&format!("name = \"heliograph-{layer}\"")), "{layer}");
        let upward: Vec<String> =
            dependencies(&manifest).into_iter().filter(|name| !below.contains(&name.as_str())).collect();
        assert!(upward.is_empty(), "{layer} depends on {upward:?}");
        // Other forms of a dependency would pass unseen.
        let other_form = ["path =", "path=", "package =", "package=", "dependencies.", "\n\""];
        let used: Vec<&str> = other_form.into_iter().filter(|form| manifest.contains(form)).collect();
        assert!(used.is_empty(), "{layer} writes a dependency as {used:?}");
    }
}

/// What a client needs beyond libraries is the wire format alone, so that it can be built and licensed without the server.
#[test]
fn the_client_library_depends_on_the_wire_format_only() {
    for (folder, allowed) in
        [("client", "crypto"), ("client/js", "heliograph-client"), ("client/python", "heliograph-client")]
    {
        let manifest = text(&root().join(format!("{folder}/Cargo.toml")));
        assert_eq!(dependencies(&manifest), [allowed], "{folder}");
    }
}

#[test]
fn dependencies_are_seen_in_both_forms_that_are_allowed() {
    let manifest = "[dependencies]\nengine.workspace = true\nserde.workspace = true\nledger = { workspace = true }\n\
                    [dev-dependencies]\nheliograph-core = { workspace = true }\n";
    assert_eq!(dependencies(manifest), ["engine", "heliograph-core", "ledger"]);
}
