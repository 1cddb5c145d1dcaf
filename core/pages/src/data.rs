//! Downloads, licences, and how fresh each source is.

use askama::Template;
use engine::Result;
use engine::http::Cx;

use crate::answer::{self, web_address};
use crate::page::{Frame, Page};
use crate::words::Words;

#[derive(Template)]
#[template(path = "data.html")]
struct DataPage {
    frame: Frame,
    w: Words,
    sources: Vec<Source>,
}

struct Source {
    name: String,
    url: String,
    kind: String,
    rows: u64,
    countries: u64,
    last: String,
    freshness: String,
    licence: String,
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let answer = answer::ask(cx, "/data/sources", "").await?;
    let one = |row: &answer::Answer| Source {
        name: row.text("name").to_owned(),
        url: web_address(row.text("url")),
        kind: row.text("kind").to_owned(),
        rows: row.count("rows"),
        countries: row.count("countries"),
        last: w.day(row.text("lastSeen")),
        freshness: w.value("fresh", row.text("freshness")),
        licence: row.text("license").to_owned(),
    };
    let page = DataPage {
        frame: Frame::new(cx, w, "/open-data", w.t("data.title")),
        w,
        sources: answer.list("sources").iter().map(one).collect(),
    };
    Page::of(&page)
}
