//! What this server is: the intelligence, the relay and the ledger, with a first message.

use askama::Template;
use engine::Result;
use engine::http::Cx;

use crate::answer;
use crate::page::{Frame, Page};
use crate::words::Words;

#[derive(Template)]
#[template(path = "about.html")]
struct AboutPage {
    frame: Frame,
    w: Words,
    /// What the relay says of itself.
    version: String,
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let health = answer::ask_if_any(cx, "/health", "").await?;
    let frame = Frame::new(cx, w, "/about", w.t("about.title"));
    Page::of(&AboutPage { frame, w, version: health.text("version").to_owned() })
}
