//! Charts and the map as SVG images, without words, so that one image serves all languages; the page beside says it in
//! words and in a table.
//!
//! | Module | What |
//! |---|---|
//! | [`days`] | a bar for each day: the share of blocked votes |
//! | [`grid`] | networks by days |
//! | [`line`] | the score of a country and its incidents |
//! | [`map`] | the index of all countries |

pub mod days;
pub mod grid;
pub mod line;
pub mod map;

use std::fmt::Write;

use engine::xml::escaped;

/// Colours of all charts, for light and dark. States have a pattern too: dots for blocked, stripes for mixed, none for
/// open, thin lines for not measured. So nothing is said by colour alone.
const STYLE: &str = "\
text{font:11px system-ui,sans-serif;fill:#555}\
.axis{stroke:#8a8f98;fill:none}.none{fill:#e4e7eb}.open{fill:#2f7d5b}.blocked{fill:url(#b)}\
.mixed{fill:url(#m)}.red{fill:#b3261e}.amber{fill:#d98a1f}.sign{fill:#fff}.dot{fill:#333}\
.line{fill:none;stroke:#1f5fa8;stroke-width:2}.mark{fill:#b3261e;opacity:.35}\
.s0{fill:#d9e6f2}.s1{fill:#a9c6e3}.s2{fill:#e6c067}.s3{fill:#d27a3c}.s4{fill:#a3231c}.sx{fill:url(#x)}\
path.c{stroke:#fff;stroke-width:.4}\
@media(prefers-color-scheme:dark){text{fill:#c3c8cf}.none{fill:#3a4049}.open{fill:#5cb58c}.red{fill:#f2766b}\
.amber{fill:#e8ac55}.sign{fill:#14181d}.dot{fill:#eceef1}.line{stroke:#7db4f0}.mark{fill:#f2766b}\
.s0{fill:#274158}.s1{fill:#3f6d99}.s2{fill:#b8913a}\
.s3{fill:#d9824a}.s4{fill:#f0685e}path.c{stroke:#14181d}}";

/// What fills blocked and mixed days: red with dots, amber with stripes.
const PATTERNS: &str = "\
<pattern id=\"b\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">\
<rect class=\"red\" width=\"5\" height=\"5\"/>\
<circle class=\"sign\" cx=\"2.5\" cy=\"2.5\" r=\"1\"/></pattern>\
<pattern id=\"m\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
<rect class=\"amber\" width=\"6\" height=\"6\"/>\
<rect class=\"sign\" y=\"2\" width=\"6\" height=\"1.5\"/></pattern>";

/// An SVG image of this size in its own units.
fn image(width: u32, height: u32, inside: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\"><style>{STYLE}</style><defs><pattern id=\"x\" width=\"6\" height=\"6\" \
         patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect class=\"none\" width=\"6\" height=\"6\"/>\
         <rect width=\"1.5\" height=\"6\" fill=\"#8a8f98\"/></pattern>{PATTERNS}</defs>{inside}</svg>"
    )
}

/// The class of a share of blocked votes; hatched where nobody measured.
const fn class(share: Option<f64>) -> &'static str {
    match share {
        None => "sx",
        Some(share) if share <= 0.0 => "open",
        Some(share) if share < 0.5 => "mixed",
        Some(_) => "blocked",
    }
}

/// A label of an axis.
fn label(out: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    // Writing to a String never fails.
    let _ = write!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(text));
}

/// Which of so many days get a label: at most six, the first and the last among them.
fn labelled(days: usize) -> Vec<usize> {
    let (last, steps) = (days.saturating_sub(1), days.saturating_sub(1).min(5));
    let mut at: Vec<usize> = (0..=steps).map(|step| (step * last).checked_div(steps).unwrap_or(0)).collect();
    at.dedup();
    at
}

/// A label at the first or the last place stays within the image.
const fn anchor(at: usize, last: usize) -> &'static str {
    if at == 0 {
        "start"
    } else if at == last {
        "end"
    } else {
        "middle"
    }
}
