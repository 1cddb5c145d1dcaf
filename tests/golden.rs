//! The golden lists of the interface: `golden/routes.tsv` is the route table, `golden/pending.tsv` lists the routes
//! that the pages ask for and that are not built yet. A change of either shows in the diff.
//!
//! `HELIOGRAPH_UPDATE_GOLDEN=1 cargo test -p heliograph-tests --test golden` writes both again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use heliograph_core::app::PROGRAM;
use heliograph_core::engine::http::{Auth, Route};

/// Method and path without the names of parameters, because the pages name some of them differently.
type MethodPath = (String, String);

fn place(method: &str, path: &str) -> MethodPath {
    let parts = path.split('/').map(|part| match part {
        // A parameter that takes the remaining segments too; the pages have one parameter there.
        part if part.starts_with('{') => "{}",
        part => part,
    });
    (method.to_owned(), parts.collect::<Vec<_>>().join("/"))
}

fn auth(route: &Route) -> &'static str {
    match route.auth {
        Auth::None => "none",
        Auth::Key => "key",
        Auth::Agent => "agent",
        Auth::Admin | Auth::SignedAdmin => "admin",
        Auth::Sentinel => "sentinel",
        Auth::Signed => "signed",
        Auth::SignedOrAdmin => "signed-or-admin",
        Auth::Probe | Auth::Token => "token",
    }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

fn updating() -> bool {
    std::env::var_os("HELIOGRAPH_UPDATE_GOLDEN").is_some()
}

/// Rows without the heading.
fn rows(file: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn compare(name: &str, heading: &str, rows: BTreeSet<String>) {
    // Two tests may write one file.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    let file = golden(name);
    let wanted = format!("{heading}\n{}", rows.iter().map(|row| format!("{row}\n")).collect::<String>());
    if updating() {
        std::fs::write(&file, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap();
    let known: BTreeSet<String> = found.lines().skip(1).map(str::to_owned).collect();
    let missing: Vec<_> = rows.difference(&known).collect();
    let stale: Vec<_> = known.difference(&rows).collect();
    assert!(missing.is_empty() && stale.is_empty(), "{name} lacks {missing:#?} and has too much {stale:#?}");
    assert_eq!(found, wanted, "{name} is not sorted");
}

/// The list of every route that the pages ask for, if the file is available.
fn demanded() -> Option<Vec<Vec<String>>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/spec/endpoints.tsv");
    if !file.exists() {
        eprintln!("skipped: {} is not here", file.display());
        return None;
    }
    Some(rows(&file))
}

fn built() -> BTreeMap<MethodPath, &'static Route> {
    PROGRAM.interface().map(|route| (place(route.method.as_str(), route.path), route)).collect()
}

#[test]
fn the_route_table_is_the_golden_one() {
    let extension = |route: &Route| if route.extension { "yes" } else { "no" };
    let rows = PROGRAM
        .interface()
        .map(|route| format!("{}\t{}\t{}\t{}", route.path, route.method, auth(route), extension(route)));
    compare("routes.tsv", "path\tmethod\tauth\textension", rows.collect());
}

/// The page that names the routes whose answers may be late on the edge.
const LATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/decisions/kept-answers.md");

/// Decision late-answers.
#[test]
fn the_routes_whose_answers_may_be_late_are_those_that_the_decision_names() {
    let page = std::fs::read_to_string(LATE).unwrap();
    let part = page.split("### ").find(|part| part.starts_with("late-answers")).unwrap();
    let named: Vec<&str> = part.lines().filter_map(|line| line.strip_prefix("- `")?.strip_suffix('`')).collect();
    let mut late: Vec<&str> = PROGRAM.interface().filter(|route| route.late).map(|route| route.path).collect();
    late.sort_unstable();
    assert_eq!(named, late);
    assert!(PROGRAM.interface().filter(|route| route.late).all(|route| route.method == "GET" && !route.effectful));
}

/// Decision listed-extensions.
#[test]
fn every_demanded_route_is_built_or_pending() {
    let Some(demanded) = demanded() else { return };
    let built = built();
    let pending = demanded
        .iter()
        .filter(|row| !built.contains_key(&place(&row[0], &row[1])))
        .map(|row| format!("{}\t{}\t{}", row[1], row[0], row[2]));
    compare("pending.tsv", "path\tmethod\tauth", pending.collect());
}

/// Decision listed-extensions.
#[test]
fn a_pending_route_is_in_no_router() {
    if updating() {
        // The list is written first, in whatever order the tests run.
        every_demanded_route_is_built_or_pending();
    }
    let built = built();
    for row in rows(&golden("pending.tsv")) {
        assert!(!built.contains_key(&place(&row[1], &row[0])), "{row:?} is built and still pending");
    }
}

/// Decisions features-dates-retries and listed-extensions: the routes are those of the pages, plus a declared table of
/// extensions, and no others.
#[test]
fn what_the_pages_do_not_ask_for_is_marked_as_an_extension() {
    let Some(demanded) = demanded() else { return };
    let demanded: BTreeMap<MethodPath, String> =
        demanded.into_iter().map(|row| (place(&row[0], &row[1]), row[2].clone())).collect();
    for (place, route) in built() {
        match demanded.get(&place) {
            None => assert!(route.extension, "{place:?} is not asked for and not marked"),
            Some(wanted) => {
                assert!(!route.extension, "{place:?} is asked for and marked as an extension");
                assert_eq!(auth(route), wanted, "{place:?}");
            }
        }
    }
}
