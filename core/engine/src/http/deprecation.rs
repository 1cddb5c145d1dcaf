//! Routes that give way to others (decision routes-that-give-way).

use http::{HeaderMap, HeaderValue, header};

use super::Route;
use super::message::set;
use crate::Timestamp;
use crate::time::{DAY, Date};

/// Months from the day on which a route is called deprecated until the first day on which it may be gone.
const MONTHS: i64 = 12;

/// A route that gives way: since when, until when it is answered at least, and what to use in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deprecated {
    since: Date,
    /// `None` while no end is decided.
    ends: Option<Date>,
    /// Path of the other route, as in the table of routes.
    successor: &'static str,
}

impl Deprecated {
    /// Deprecated since a day: year, month, day.
    pub const fn since(year: i64, month: i64, day: i64, successor: &'static str) -> Self {
        Deprecated { since: Date { year, month, day }, ends: None, successor }
    }

    /// Answered until this day at least.
    pub const fn until(mut self, year: i64, month: i64, day: i64) -> Self {
        self.ends = Some(Date { year, month, day });
        self
    }

    /// The first day, and the last one.
    pub fn days(&self) -> (Date, Option<Date>) {
        (self.since, self.ends)
    }

    /// What the documentation says of it.
    pub fn sentence(&self) -> String {
        let ends = self.ends.map(|day| format!(", which ends on {day}")).unwrap_or_default();
        format!("Deprecated since {}: use `{}` in place of this{ends}.", self.since, self.successor)
    }

    /// Adds the headers that tell programs: RFC 9745, RFC 8594, and RFC 5829 for the link.
    pub(super) fn tell(&self, headers: &mut HeaderMap) {
        let begins = |day: Date| Timestamp(day.days() * DAY);
        set(headers, "deprecation", &format!("@{}", begins(self.since).seconds()));
        if let Some(day) = self.ends {
            set(headers, "sunset", &begins(day).to_http_text());
        }
        // A path with parameters is no address.
        if !self.successor.contains('{')
            && let Ok(link) = HeaderValue::from_str(&format!("<{}>; rel=\"successor-version\"", self.successor))
        {
            headers.append(header::LINK, link);
        }
    }

    /// What is wrong with it, beside the routes of a program.
    pub fn mistake<'r>(&self, mut routes: impl Iterator<Item = &'r Route>) -> Option<String> {
        let is_day = |day: Date| Date::new(day.year, day.month, day.day).is_some();
        if !is_day(self.since) || !self.ends.is_none_or(is_day) {
            return Some("there is no such day".to_owned());
        }
        if self.ends.is_some_and(|ends| ends < self.since.plus_months(MONTHS)) {
            return Some(format!("it must be answered for {MONTHS} months more"));
        }
        match routes.find(|route| route.path == self.successor) {
            None => Some(format!("there is no route {}", self.successor)),
            Some(route) if route.deprecated.is_some() => Some(format!("{} gives way too", self.successor)),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Cx, Response, handler};

    async fn empty(_cx: Cx) -> crate::Result<Response> {
        Ok(Response::json_text("{}"))
    }

    const OLD: Deprecated = Deprecated::since(2026, 11, 30, "/new").until(2027, 11, 30);

    #[test]
    fn programs_are_told_since_when_until_when_and_what_to_use() {
        let mut headers = HeaderMap::new();
        headers.insert(header::LINK, HeaderValue::from_static("</licence>; rel=\"license\""));
        OLD.tell(&mut headers);
        assert_eq!(headers["deprecation"], "@1795996800");
        assert_eq!(headers["sunset"], "Tue, 30 Nov 2027 00:00:00 GMT");
        let links: Vec<_> = headers.get_all(header::LINK).iter().collect();
        assert_eq!(links, ["</licence>; rel=\"license\"", "</new>; rel=\"successor-version\""]);
    }

    #[test]
    fn a_route_gives_way_for_a_year_at_least_and_to_a_route_that_stays() {
        let routes = [Route::get("/new", handler!(empty)), Route::get("/old", handler!(empty)).deprecated(OLD)];
        let mistake = |deprecated: Deprecated| deprecated.mistake(routes.iter()).unwrap_or_default();
        assert_eq!(mistake(OLD), "");
        assert_eq!(mistake(Deprecated::since(2026, 11, 30, "/new")), "");
        assert_eq!(mistake(OLD.until(2027, 11, 29)), "it must be answered for 12 months more");
        assert_eq!(mistake(OLD.until(2027, 11, 31)), "there is no such day");
        assert_eq!(mistake(Deprecated::since(2026, 11, 30, "/nowhere")), "there is no route /nowhere");
        assert_eq!(mistake(Deprecated::since(2026, 11, 30, "/old")), "/old gives way too");
    }
}
