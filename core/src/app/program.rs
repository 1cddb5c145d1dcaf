//! Heliograph, assembled.

use super::{admin, computing, dump, mcp, openapi, settings, welcome};
use crate::engine::program::{Layer, Program};
use crate::{engine, intelligence, ledger, pages, relay};

/// All layers, from the lowest to the highest. What a layer brings stands in its `layer.rs`.
pub static PROGRAM: Program = Program::new(&[
    &engine::layer::LAYER,
    &relay::layer::LAYER,
    &ledger::layer::LAYER,
    &intelligence::layer::LAYER,
    &pages::layer::LAYER,
    &APP,
]);

/// What belongs to no feature.
const APP: Layer = Layer {
    routes: &[admin::ROUTES, dump::ROUTES, mcp::ROUTES, openapi::ROUTES, settings::ROUTES, welcome::ROUTES],
    computing: computing::LISTS,
    ..Layer::EMPTY
};
#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_operations_share_a_kind_and_a_name() {
        let mut seen = BTreeSet::new();
        for entry in PROGRAM.entries() {
            assert!(seen.insert((entry.kind, entry.name)), "{} of {} twice", entry.name, entry.kind.as_str());
        }
    }

    #[test]
    fn no_two_routes_conflict() {
        let mut router = matchit::Router::new();
        let mut seen = BTreeSet::new();
        for route in PROGRAM.routes() {
            assert!(seen.insert((route.path, route.method.as_str())), "{} {} twice", route.method, route.path);
            let _ = router.insert(route.path, ());
        }
        for route in PROGRAM.routes() {
            assert!(router.at(route.path).is_ok(), "{} is unreachable", route.path);
        }
    }

    /// Decision routes-that-give-way.
    #[test]
    fn a_route_that_gives_way_does_so_for_a_year_and_to_a_route_that_stays() {
        for route in PROGRAM.routes() {
            let mistake = route.deprecated.and_then(|deprecated| deprecated.mistake(PROGRAM.routes()));
            assert_eq!(mistake, None, "{}", route.path);
        }
    }
}
