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
    /// Whether the name is a proper one, which is the same in every language.
    proper: bool,
    url: String,
    about: String,
    rows: u64,
    countries: u64,
    last: String,
    freshness: String,
    licence: String,
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let answer = answer::ask(cx, "/data/sources", "").await?;
    let one = |row: &answer::Answer| Source {
        name: w.known(&format!("source_name.{}", row.text("id"))).unwrap_or_else(|| row.text("name")).to_owned(),
        proper: w.known(&format!("source_name.{}", row.text("id"))).is_none(),
        url: web_address(row.text("url")),
        about: about(row, w),
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

/// What a source has. All facts inside the program are of one kind.
fn about(row: &answer::Answer, w: Words) -> String {
    let id = row.text("id").split('/').next().unwrap_or_default();
    let known = w.known(&format!("source_kind.{id}")).map(str::to_owned);
    known.unwrap_or_else(|| w.apart(row.text("kind")))
}

#[cfg(test)]
mod tests {
    use facts::sentence::Language;
    use facts::source::Source;

    use crate::words::Words;

    #[test]
    fn every_source_is_described_in_every_language_and_in_english_as_the_interface_does() {
        for source in Source::ALL {
            let about = |language| Words(language).known(&format!("source_kind.{}", source.id()));
            assert_eq!(about(Language::English), Some(source.kind()), "{}", source.id());
            for language in [Language::French, Language::Arabic] {
                assert!(about(language).is_some_and(|text| text != source.kind()), "{}", source.id());
            }
            let name = Words(Language::English).known(&format!("source_name.{}", source.id()));
            assert!(name.is_none_or(|name| name == source.name()), "{name:?}");
        }
    }
}
