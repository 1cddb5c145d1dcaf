//! The front page: the question, the map, the latest incidents, and what was measured by whom.

use askama::Template;
use engine::http::{Cx, Response, encoded};
use engine::{Error, Result};
use facts::folding;
use facts::sentence::Language;
use facts::starter::Country;

use crate::answer;
use crate::chart::map;
use crate::incident::Line;
use crate::page::{Frame, Page};
use crate::range::{Moment, Then};
use crate::words::Words;

/// Incidents and countries that are shown.
const FEW: &str = "8";

#[derive(Template)]
#[template(path = "front.html")]
struct Front {
    frame: Frame,
    w: Words,
    then: Then,
    countries: Vec<(String, String)>,
    scored: Vec<Scored>,
    /// Why no country has a score.
    reason: String,
    incidents: Vec<Line>,
    measured: Measured,
    map: (u32, u32),
    map_alt: String,
    /// What the form begins with: nothing.
    asked: &'static str,
    code: &'static str,
}

struct Scored {
    code: String,
    name: String,
    score: u64,
    interval: String,
    level: String,
}

/// What was measured.
struct Measured {
    totals: String,
    sources: Vec<(String, String, String)>,
}

/// All countries, by their names in the language.
pub fn countries(w: Words) -> Vec<(String, String)> {
    let mut all: Vec<_> =
        Country::all().iter().map(|country| (country.code.to_owned(), w.country(country.code))).collect();
    all.sort_by_key(|(_, name)| folding::fold(name));
    all
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let moment = Moment::of(cx)?;
    let past = moment.as_ref().map(Moment::route).unwrap_or_default();
    let then = Then::new(moment.as_ref(), w);
    let index = answer::ask(cx, "/data/censorship-index.json", &past).await?;
    let incidents = answer::ask(cx, "/data/incidents", &format!("limit={FEW}{}", then.at)).await?;
    let summary = answer::ask(cx, "/v1/measurement/summary", &past).await?;
    let mut scored: Vec<Scored> = index.list("countries").iter().map(|row| scored(row, w)).collect();
    scored.sort_by_key(|row| std::cmp::Reverse(row.score));
    let sources = summary.list("sources");
    let measured = Measured {
        totals: w.with(
            "front.totals",
            &[
                ("n", w.number(summary.count("measurements_total")).into()),
                ("recent", w.number(summary.count("measurements_30d")).into()),
                ("countries", summary.count("countries_measured").into()),
            ],
        ),
        sources: sources
            .iter()
            .map(|row| {
                (w.source(row.text("source")), w.number(row.count("measurements")), w.day(row.text("last_seen")))
            })
            .collect(),
    };
    let feed = (w.t("feed.all").to_owned(), "/data/incidents/feed.atom".to_owned());
    let front = Front {
        frame: Frame::new(cx, w, format!("/{}", then.link), w.t("front.title"))
            .unlisted(moment.is_some())
            .feed(feed.0, feed.1),
        w,
        countries: countries(w),
        reason: answer::for_visitors(&index.said(w.0, "reason")),
        map_alt: w.described(w.count("front.map_alt", scored.len() as u64), !scored.is_empty()),
        scored,
        incidents: incidents.list("incidents").iter().map(|incident| Line::new(incident, &then, w)).collect(),
        then,
        measured,
        map: map::size(),
        asked: "",
        code: "",
    };
    Ok(Page::of(&front)?.computed(moment.is_some()))
}

fn scored(row: &answer::Answer, w: Words) -> Scored {
    let code = row.text("code").to_owned();
    Scored {
        name: w.country(&code),
        score: row.count("score"),
        interval: row.interval(),
        level: w.value("level", row.text("level")),
        code,
    }
}

/// Leads from the form to the page that answers it.
pub async fn question(cx: Cx, language: Language) -> Result<Response> {
    let w = Words(language);
    let text = |name: &str| Ok::<_, Error>(cx.query(name)?.map(|text| text.trim().to_owned()).unwrap_or_default());
    let (site, country) = (text("site")?, text("country")?);
    // A name without a letter or a digit is no part of an address: `..` would lead elsewhere.
    if !site.is_empty() && !bare(&site).contains(char::is_alphanumeric) {
        return Err(Error::bad_request("What was asked about names no site or service."));
    }
    let then = Then::new(Moment::of(&cx)?.as_ref(), w).link;
    let to = match (site.as_str(), country.as_str()) {
        ("", "") => w.to("/"),
        ("", country) => w.to(&format!("/country/{}", encoded(country))),
        (site, "") => w.to(&format!("/site/{}", encoded(bare(site)))),
        (site, country) => w.to(&format!("/site/{}/{}", encoded(bare(site)), encoded(country))),
    };
    Ok(Response::see_other(&format!("{to}{then}")))
}

/// What people paste is often an address: its host is what is asked about.
fn bare(site: &str) -> &str {
    let host = site.split_once("://").map_or(site, |(_, rest)| rest);
    host.split(['/', '?', '#']).next().unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_pasted_is_asked_about_by_its_host() {
        assert_eq!(bare("https://web.telegram.org/k/#@x"), "web.telegram.org");
        assert_eq!(bare("telegram"), "telegram");
        assert_eq!(bare("x.org/path"), "x.org");
    }

    #[test]
    fn countries_are_in_the_order_of_their_names() {
        let french: Vec<String> = countries(Words(Language::French)).into_iter().map(|(code, _)| code).collect();
        let at = |code: &str| french.iter().position(|known| known == code).unwrap();
        assert!(at("EG") < at("ES") && at("ET") < at("FI"), "Égypte stands among those with E");
    }
}
