//! Badges: the status of a site in a country as a small image, for pages elsewhere.

use engine::Result;
use engine::http::{Cx, Response, query};
use engine::xml::escaped;
use http::header::CACHE_CONTROL;

use crate::answer;
use crate::country::known;
use crate::image::{name, svg};
use crate::range::Moment;

/// Width of a letter of the badge's font, about.
const LETTER: usize = 7;

pub async fn badge(cx: Cx) -> Result<Response> {
    let (site, code) = (name(&cx)?.to_owned(), known(cx.path("country")?)?);
    let moment = Moment::of(&cx)?;
    let at = moment.as_ref().map(|moment| moment.at.as_str());
    let asked = query(&[("domain", Some(&site)), ("country", Some(code)), ("as_of", at)]);
    let check = answer::ask(&cx, "/v1/accessibility/check", &asked).await?;
    let day = at.and_then(|at| at.get(..10)).map(|day| format!(" · {day}")).unwrap_or_default();
    let badge = svg(&cx, image(&format!("{site} · {code}{day}"), check.text("status")));
    // What is asked of the past is computed anew each time.
    Ok(if moment.is_some() { badge.with(CACHE_CONTROL, "no-store") } else { badge })
}

/// The badge of a label and a status.
fn image(label: &str, status: &str) -> String {
    let (text, colour) = match status {
        "blocked" => ("blocked", "#a3231c"),
        "accessible" => ("accessible", "#22664a"),
        _ => ("not known", "#565c64"),
    };
    let (left, right) = (label.chars().count() * LETTER + 14, text.len() * LETTER + 14);
    let label = escaped(label);
    let width = left + right;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"22\" role=\"img\" \
         aria-label=\"{label}: {text}\"><title>{label}: {text}</title>\
         <rect width=\"{left}\" height=\"22\" fill=\"#2b3036\"/><rect x=\"{left}\" width=\"{right}\" height=\"22\" \
         fill=\"{colour}\"/><g fill=\"#fff\" font-family=\"system-ui,sans-serif\" font-size=\"12\" \
         text-anchor=\"middle\"><text x=\"{}\" y=\"15\">{label}</text><text x=\"{}\" y=\"15\">{text}</text></g></svg>",
        left / 2,
        left + right / 2
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badge_says_its_status_in_words_and_escapes_its_label() {
        let badge = image("a<b · KE", "unknown");
        assert!(badge.contains("not known") && badge.contains("a&lt;b") && !badge.contains("a<b"), "{badge}");
    }
}
