//! A site or a service: where it is blocked, and since when.

use askama::Template;
use engine::Result;
use engine::http::{Cx, encoded};
use facts::sentence::names::subject;

use crate::answer::{self, Answer};
use crate::check::{about, is_measured};
use crate::front::countries;
use crate::incident::Line;
use crate::near;
use crate::page::{Frame, Page};
use crate::range::{Moment, Then};
use crate::words::Words;

#[derive(Template)]
#[template(path = "site.html")]
struct SitePage {
    frame: Frame,
    w: Words,
    then: Then,
    site: String,
    /// As a part of an address.
    address: String,
    platform: Option<(String, String)>,
    /// What may have been meant, of a site that nobody measured.
    meant: Option<(&'static str, String)>,
    countries: Vec<(String, String)>,
    blocked: Vec<Row>,
    /// The other countries that know something: what is so in them, their codes and their names.
    others: Vec<(String, Vec<(String, String)>)>,
    lead: String,
    last: String,
    incidents: Vec<Line>,
    license: String,
}

struct Row {
    code: String,
    name: String,
    summary: String,
    /// The beginning of the newest incident there whose end is not known.
    since: String,
    basis: String,
    confidence: String,
    last: String,
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let site = cx.path("domain")?.to_owned();
    let address = encoded(&site);
    let moment = Moment::of(cx)?;
    let past = moment.as_ref().map(Moment::route).unwrap_or_default();
    let then = Then::new(moment.as_ref(), w);
    let answer = answer::ask(cx, &format!("/data/domain/{address}"), &past).await?;
    let about = about(answer.text("domain"));
    let wanted = format!("{about}={}&limit=20{}", encoded(answer.text("domain")), then.at);
    let incidents = answer::ask_if_any(cx, "/data/incidents", &wanted).await?;
    let platform = answer.has("platform").then(|| {
        let platform = answer.part("platform");
        (platform.text("slug").to_owned(), platform.text("label").to_owned())
    });
    let lines: Vec<Line> = incidents.list("incidents").iter().map(|incident| Line::new(incident, &then, w)).collect();
    let named = [("site", subject(&site).into())];
    let title = w.with("site.title", &named);
    let feed = (w.with("feed.site", &named), format!("/data/incidents/feed.atom?{about}={address}"));
    let counted = ["blocked_in", "accessible_in", "unknown_in"];
    let in_all: u64 = counted.iter().map(|name| answer.count(&format!("/summary/{name}_countries"))).sum();
    let rows = answer.list("blocked_in");
    let page = SitePage {
        frame: Frame::new(cx, w, format!("/site/{}{}", near::usual(&site), then.link), title)
            .unlisted(moment.is_some())
            .feed(feed.0, feed.1),
        w,
        meant: if in_all == 0 { near::lead(&site, "", &then, w) } else { None },
        then,
        platform,
        countries: countries(w),
        blocked: rows.iter().map(|row| one_country(row, &lines, w)).collect(),
        others: ["accessible_in", "unknown_in"].iter().filter_map(|state| others(&answer, state, w)).collect(),
        last: newest(&answer, &rows, w),
        lead: w.with(
            "site.lead",
            &[
                ("all", in_all.into()),
                ("blocked", answer.count("/summary/blocked_in_countries").into()),
                ("open", answer.count("/summary/accessible_in_countries").into()),
                ("unknown", answer.count("/summary/unknown_in_countries").into()),
            ],
        ),
        incidents: lines,
        license: answer.text("license").to_owned(),
        site,
        address,
    };
    Ok(Page::of(&page)?.computed(moment.is_some()))
}

fn one_country(row: &Answer, incidents: &[Line], w: Words) -> Row {
    let code = row.text("country");
    let newest = incidents.iter().find(|line| line.country == code && line.is_open);
    Row {
        code: code.to_owned(),
        name: w.country(code),
        summary: row.said(w.0, "summary"),
        since: newest.map(|line| line.start.clone()).unwrap_or_default(),
        basis: w.value("basis", row.text("basis")),
        confidence: w.percent(row.number("confidence").unwrap_or_default()),
        last: last(row, w),
    }
}

/// The countries in a state, in the order of their names.
fn others(answer: &Answer, state: &str, w: Words) -> Option<(String, Vec<(String, String)>)> {
    let codes = answer.texts(state);
    let countries: Vec<(String, String)> = countries(w).into_iter().filter(|(code, _)| codes.contains(code)).collect();
    let title = w.count(&format!("site.{state}"), countries.len() as u64);
    (!countries.is_empty()).then_some((title, countries))
}

/// When a row was measured, or of which day the list is that it rests on.
fn last(row: &Answer, w: Words) -> String {
    let day = w.day(row.text("last_checked"));
    if is_measured(row) { day } else { format!("{}{}{day}", w.t("check.list_date"), w.colon()) }
}

/// When the site was last measured anywhere. The date of a list that a block rests on is no such day.
fn newest(answer: &Answer, rows: &[Answer], w: Words) -> String {
    let last = answer.text("lastChecked");
    if !rows.iter().any(|row| !is_measured(row) && row.text("last_checked") == last) {
        return w.day(last);
    }
    let measured = rows.iter().filter(|row| is_measured(row)).map(|row| row.text("last_checked"));
    w.day(measured.max().unwrap_or_default())
}
