//! Requests by route and status code.

use std::time::Duration;

use super::{Counter, Times};

/// The status codes of answers.
pub const CODES: [u16; 38] = [
    200, 201, 202, 204, 206, 304, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417,
    421, 422, 425, 426, 428, 429, 431, 451, 500, 501, 502, 503, 504, 507, 101,
];

/// Where a request is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The route of this number.
    Route(usize),
    /// No route: an unknown path or method, `OPTIONS`, a head that was refused.
    None,
}

/// The requests of one route.
#[derive(Debug)]
pub struct RouteCounts {
    pub method: String,
    /// The template; empty for requests of no route.
    pub path: &'static str,
    codes: [Counter; CODES.len()],
    /// Until the answer begins.
    pub times: Times,
}

impl RouteCounts {
    fn new((method, path): (String, &'static str)) -> RouteCounts {
        RouteCounts { method, path, codes: [const { Counter::new() }; CODES.len()], times: Times::default() }
    }

    /// The status codes that there were, each with how often.
    pub fn codes(&self) -> impl Iterator<Item = (u16, u64)> {
        CODES.into_iter().zip(self.codes.iter().map(Counter::get)).filter(|(_, count)| *count > 0)
    }
}

/// All requests.
#[derive(Debug)]
pub struct Requests {
    /// In the order of the route table, with one more at the end for those of no route.
    routes: Box<[RouteCounts]>,
}

impl Requests {
    /// None so far, of routes by method and template.
    pub fn of(routes: impl Iterator<Item = (String, &'static str)>) -> Requests {
        Requests { routes: routes.chain([(String::new(), "")]).map(RouteCounts::new).collect() }
    }

    /// Counts a request.
    pub fn count(&self, slot: Slot, code: u16, time: Duration) {
        let route = match slot {
            Slot::Route(number) => self.routes.get(number),
            Slot::None => self.routes.last(),
        };
        let Some(route) = route else { return };
        if let Some(code) = CODES.iter().position(|known| *known == code).and_then(|at| route.codes.get(at)) {
            code.add(1);
        }
        route.times.took(time);
    }

    /// The routes that were asked for.
    pub fn routes(&self) -> impl Iterator<Item = &RouteCounts> {
        self.routes.iter().filter(|route| route.times.count() > 0)
    }
}

#[cfg(test)]
mod tests {
    use heliograph_core::ErrorCode;

    use super::*;

    #[test]
    fn requests_are_counted_at_their_route_and_others_together() {
        let requests = Requests::of([("GET".to_owned(), "/a/{b}"), ("POST".to_owned(), "/a")].into_iter());
        for (slot, code) in [(Slot::Route(0), 200), (Slot::Route(0), 200), (Slot::Route(0), 503), (Slot::None, 404)] {
            requests.count(slot, code, Duration::from_micros(300));
        }
        let seen: Vec<_> = requests.routes().map(|route| (route.path, route.codes().collect::<Vec<_>>())).collect();
        assert_eq!(seen, [("/a/{b}", vec![(200, 2), (503, 1)]), ("", vec![(404, 1)])]);
    }

    /// A status that is not on the list would be missing among the requests.
    #[test]
    fn every_status_of_an_error_is_counted() {
        for code in ErrorCode::ALL {
            assert!(CODES.contains(&code.status().as_u16()), "{code:?}");
        }
    }
}
