//! Badges: the status of a site in a country as a small image, for pages elsewhere.

use engine::Result;
use engine::http::{Cx, Response, query};
use engine::xml::escaped;
use http::header::CACHE_CONTROL;

use crate::answer;
use crate::country::known;
use crate::image::{name, svg};
use crate::range::Moment;
use crate::words::Words;

/// Width of a letter of the badge's font, about.
const LETTER: usize = 7;

pub async fn badge(cx: Cx, w: Words) -> Result<Response> {
    let (site, code) = (name(&cx)?.to_owned(), known(cx.path("country")?)?);
    let moment = Moment::of(&cx)?;
    let at = moment.as_ref().map(|moment| moment.at.as_str());
    let asked = query(&[("domain", Some(&site)), ("country", Some(code)), ("as_of", at)]);
    let check = answer::ask(&cx, "/v1/accessibility/check", &asked).await?;
    let day = at.and_then(|at| at.get(..10)).map(|day| format!(" · {day}")).unwrap_or_default();
    let badge = svg(&cx, image(&format!("{site} · {code}{day}"), check.text("status"), w));
    // What is asked of the past is computed anew each time.
    Ok(if moment.is_some() { badge.with(CACHE_CONTROL, "no-store") } else { badge })
}

/// The badge of a label and a status. The label comes first, in the direction of the language.
fn image(label: &str, status: &str, w: Words) -> String {
    let (status, colour) = match status {
        "blocked" => ("blocked", "#a3231c"),
        "accessible" => ("accessible", "#22664a"),
        _ => ("unknown", "#565c64"),
    };
    let text = w.value("status", status).to_lowercase();
    let [first, second] = [label, &text].map(|text| text.chars().count() * LETTER + 14);
    let width = first + second;
    let (of_label, of_text) = if w.0.direction() == "rtl" { (second, 0) } else { (0, first) };
    let (at_label, at_text) = (of_label + first / 2, of_text + second / 2);
    let (language, label) = (w.0.tag(), escaped(label));
    let said = format!("{}{}{text}", w.apart(&label), w.colon());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"22\" role=\"img\" lang=\"{language}\" \
         aria-label=\"{said}\"><title>{said}</title>\
         <rect x=\"{of_label}\" width=\"{first}\" height=\"22\" fill=\"#2b3036\"/>\
         <rect x=\"{of_text}\" width=\"{second}\" height=\"22\" fill=\"{colour}\"/>\
         <g fill=\"#fff\" font-family=\"system-ui,sans-serif\" font-size=\"12\" text-anchor=\"middle\">\
         <text x=\"{at_label}\" y=\"15\">{label}</text><text x=\"{at_text}\" y=\"15\">{text}</text></g></svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::sentence::Language;

    #[test]
    fn a_badge_says_its_status_in_words_of_its_language_and_escapes_its_label() {
        let badge = |language| image("a<b · KE", "unknown", Words(language));
        let english = badge(Language::English);
        assert!(english.contains("not known") && english.contains("a&lt;b") && !english.contains("a<b"), "{english}");
        assert!(badge(Language::French).contains(">inconnu<"), "{}", badge(Language::French));
        // From right to left, the status stands at the left end.
        let arabic = badge(Language::Arabic);
        assert!(arabic.contains("غير معروف") && arabic.contains("<rect x=\"0\" width=\"77\""), "{arabic}");
    }
}
