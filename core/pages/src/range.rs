//! The moment that a page is about, and the days that its charts show.

use engine::http::{Cx, query};
use engine::time::DAY;
use engine::{Error, Result, Timestamp};

use crate::words::Words;

/// Days that charts show at first.
const DAYS: i64 = 90;

/// A moment in the past that the reader asks about.
pub struct Moment {
    /// As the reader wrote it, so that links keep it.
    asked: String,
    /// As routes read it.
    pub at: String,
}

impl Moment {
    /// As the query says in `as_of`.
    pub fn of(cx: &Cx) -> Result<Option<Moment>> {
        let asked = cx.query("as_of")?.filter(|asked| !asked.trim().is_empty());
        let Some(asked) = asked else { return Ok(None) };
        Ok(cx.as_of()?.map(|time| Moment { at: time.to_string(), asked }))
    }

    /// The query of pages about the same moment.
    pub fn query(&self) -> String {
        query(&[("as_of", Some(&self.asked))])
    }

    /// The query of routes about it.
    pub fn route(&self) -> String {
        query(&[("as_of", Some(&self.at))])
    }

    pub fn time(&self) -> Option<Timestamp> {
        Timestamp::parse(&self.at)
    }
}

/// What a page says of the moment that it is about, and what its links carry. All empty on a page about now.
#[derive(Default)]
pub struct Then {
    /// That the page is about this moment.
    pub said: String,
    /// Its day.
    pub day: String,
    /// As the reader wrote it.
    pub asked: String,
    /// The query of links to pages, alone and after others.
    pub link: String,
    pub further: String,
    /// The moment in the query of a route, after others.
    pub at: String,
}

impl Then {
    pub fn new(moment: Option<&Moment>, w: Words) -> Then {
        let Some(moment) = moment else { return Then::default() };
        let query = moment.query();
        Then {
            said: w.with("check.as_of", &[("day", w.day(&moment.at).into())]),
            day: moment.at.get(..10).unwrap_or_default().to_owned(),
            asked: moment.asked.clone(),
            link: format!("?{query}"),
            further: format!("&{query}"),
            at: format!("&{}", moment.route()),
        }
    }

    /// Whether the page is about now.
    pub fn is_now(&self) -> bool {
        self.said.is_empty()
    }

    /// The moment as the only member of the query of a route.
    pub fn alone(&self) -> Option<&str> {
        self.at.strip_prefix('&')
    }
}

/// The days that charts are about.
pub struct Range {
    /// Days, the first included and the last not.
    pub since: Timestamp,
    pub until: Timestamp,
    /// Whether the reader chose dates.
    pub chosen: bool,
}

impl Range {
    /// As the query says: `since` with `to` (the last day) or `until` (the day after it), or `days`, which end at `now`.
    pub fn of(cx: &Cx, now: Timestamp) -> Result<Range> {
        let (since, to, until) = (day(cx, "since")?, day(cx, "to")?, day(cx, "until")?);
        let until = to.map(|to| to.plus(DAY)).or(until);
        let end = until.unwrap_or_else(|| Range::last(1, now).until);
        let days = match cx.query("days")? {
            None => DAYS,
            Some(text) => text
                .parse()
                .ok()
                .filter(|days| (1..=366).contains(days))
                .ok_or_else(|| Error::bad_request("`days` must be a whole number from 1 to 366."))?,
        };
        let begin = since.unwrap_or_else(|| end.plus(-days * DAY));
        if begin >= end || end.since(begin) > 366 * DAY {
            return Err(Error::bad_request("`since` must not lie after `to`, and before it by at most 366 days."));
        }
        Ok(Range { since: begin, until: end, chosen: since.is_some() || until.is_some() })
    }

    /// The last days, today among them.
    pub fn last(days: i64, now: Timestamp) -> Range {
        let end = now.plus(DAY);
        Range::whole(end.plus(-days * DAY), end)
    }

    /// Whole days: from that of the one time to that of the other, which is not in it.
    pub fn whole(since: Timestamp, until: Timestamp) -> Range {
        let day = |time: Timestamp| Timestamp(time.0.div_euclid(DAY) * DAY);
        Range { since: day(since), until: day(until), chosen: false }
    }

    /// What the charts of a page show: what the query says, else the days before the moment; or before the last
    /// measurement, where nothing newer was measured. Nothing after the moment is shown.
    pub fn shown(cx: &Cx, moment: Option<Timestamp>, last: Option<Timestamp>) -> Result<Range> {
        let mut range = Range::of(cx, moment.unwrap_or_else(|| cx.now()))?;
        if let Some(moment) = moment {
            let end = Range::last(1, moment).until;
            let begun = range.since < end;
            range = if begun { Range { until: range.until.min(end), ..range } } else { Range::last(DAYS, moment) };
        }
        match last {
            Some(last) if last < range.since && !range.chosen && cx.query("days")?.is_none() => {
                Ok(Range::last(DAYS, last))
            }
            _ => Ok(range),
        }
    }

    /// The query of routes that answer about the range.
    pub fn query(&self) -> String {
        format!("since={}&until={}", self.since.to_date_text(), self.until.to_date_text())
    }

    pub fn first(&self) -> String {
        self.since.to_date_text()
    }

    /// The last day in it.
    pub fn last_day(&self) -> String {
        self.until.plus(-DAY).to_date_text()
    }

    /// The days as dates, oldest first.
    pub fn dates(&self) -> Vec<String> {
        let days = self.until.since(self.since) / DAY;
        (0..days).map(|day| self.since.plus(day * DAY).to_date_text()).collect()
    }
}

/// A day that the query names.
fn day(cx: &Cx, name: &str) -> Result<Option<Timestamp>> {
    let given = cx.query(name)?.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let time = given.map(|text| {
        Timestamp::parse(&format!("{text}T00:00:00Z"))
            .ok_or_else(|| Error::bad_request(format!("`{name}` must be a day such as 2023-11-08.")))
    });
    time.transpose()
}
