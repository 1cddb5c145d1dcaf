//! The routes of this layer, by whether answering them computes: whoever adds a route says here what it costs. A route
//! that is on no list, or on two, fails a test.

use crate::engine::http::Computes;

pub const LISTS: &[(Computes, &[&str])] = &[(Computes::Always, ALWAYS), (Computes::Never, NEVER)];

/// Read or compute much, whatever is kept: they wait for room before their handler begins.
const ALWAYS: &[&str] = &["GET /v1/admin/db", "GET /v1/admin/dump", "POST /v1/admin/load"];

/// Read few rows, or write. Lists among them come in pages, and a search reads what it shows. Whatever `/mcp` asks is a
/// request of its own to another route, which computes or not.
const NEVER: &[&str] = &[
    "GET /.well-known/security.txt",
    "GET /favicon.ico",
    "GET /healthz",
    "GET /llms.txt",
    "GET /metrics",
    "GET /openapi.json",
    "GET /readyz",
    "GET /robots.txt",
    "GET /v1/admin/db/backup",
    "GET /v1/admin/dump/header",
    "GET /v1/admin/settings",
    "POST /mcp",
    "POST /v1/admin/load/check",
    "POST /v1/admin/master-key",
    "POST /v1/admin/scrub",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::app::PROGRAM;

    /// Whoever adds a route says here whether it computes.
    #[test]
    fn every_route_says_whether_it_computes() {
        let listed: Vec<&str> = PROGRAM.computing().map(|(route, _)| route).collect();
        let once: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(listed.len(), once.len(), "a route is on two lists");
        let routes: Vec<String> = PROGRAM.interface().map(|route| format!("{} {}", route.method, route.path)).collect();
        for route in &routes {
            assert!(once.contains(route.as_str()), "{route} is on no list of the computing.rs of its layer");
        }
        for route in once {
            assert!(routes.iter().any(|known| known == route), "{route} is listed and does not exist");
        }
    }

    #[test]
    fn whatever_can_be_asked_about_the_past_may_compute() {
        for route in PROGRAM.interface().filter(|route| route.params.iter().any(|param| param.name == "as_of")) {
            assert!(PROGRAM.computes(route) != Computes::Never, "{} {}", route.method, route.path);
        }
    }
}
