//! Templates in the manner of ICU messages: `{name}`, `{name, type}`, `{name, type, style}`, and
//! `{count, plural, one {network} other {networks}}` or `{state, select, blocked {...} other {...}}`, which choose a text
//! that may hold further parameters. Braces have no other use in a template.

use std::fmt::Write;

use super::{Parameter, names};

/// The text of a template with its parameters filled in.
pub fn fill(template: &str, parameters: &[(&'static str, Parameter)]) -> String {
    let mut out = String::with_capacity(template.len() * 2);
    fill_into(&mut out, template, parameters);
    out
}

fn fill_into(out: &mut String, template: &str, parameters: &[(&'static str, Parameter)]) {
    let mut rest = template;
    while let Some((before, inner, after)) = next(rest) {
        out.push_str(before);
        rest = after;
        let (name, kind, style) = parts(inner);
        let value = parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        debug_assert!(value.is_some(), "{name} is missing in {template}");
        match (value, kind) {
            (Some(value), "plural" | "select") => fill_into(out, choose(kind, style, value), parameters),
            (Some(value), _) => show(out, kind, style, value),
            // Nobody may take it for a text without a gap.
            (None, _) => out.extend(["{", name, "}"]),
        }
    }
    out.push_str(rest);
}

/// The text before the first placeholder, what is between its braces, and the text after it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let open = text.find('{')?;
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return Some((text.get(..open)?, text.get(open + 1..at)?, text.get(at + 1..)?));
        }
    }
    None
}

/// Name, type and style of a placeholder; empty where they are not given.
fn parts(inner: &str) -> (&str, &str, &str) {
    let (name, rest) = inner.split_once(',').unwrap_or((inner, ""));
    let (kind, style) = rest.split_once(',').unwrap_or((rest, ""));
    (name.trim(), kind.trim(), style.trim())
}

/// The cases of a plural or a choice: `one {network} other {networks}`.
fn cases(style: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = style;
    std::iter::from_fn(move || {
        let (key, text, after) = next(rest)?;
        rest = after;
        Some((key.trim(), text))
    })
}

/// The text that is chosen: an exact number (`=0`) before a plural form, and `other` if nothing fits.
fn choose<'t>(kind: &str, style: &'t str, value: &Parameter) -> &'t str {
    let of = |key: &str| cases(style).find(|(known, _)| *known == key).map(|(_, text)| text);
    let found = match kind {
        "plural" => {
            let count = value.key();
            of(&format!("={count}")).or_else(|| of(if count == "1" { "one" } else { "other" }))
        }
        _ => of(&value.key()),
    };
    found.or_else(|| of("other")).unwrap_or_default()
}

fn show(out: &mut String, kind: &str, style: &str, value: &Parameter) {
    match (kind, value) {
        (_, Parameter::None) => {}
        ("date", Parameter::Text(date)) if style != "iso" => out.push_str(&names::plain(date)),
        ("country", Parameter::Text(code)) if style == "the" => out.push_str(&names::the_country(code)),
        ("country", Parameter::Text(code)) => out.push_str(names::country(code)),
        ("subject", Parameter::Text(subject)) => out.push_str(&names::subject(subject)),
        ("subjects", Parameter::Texts(subjects)) => {
            let mut subjects: Vec<String> = subjects.iter().map(|subject| names::subject(subject)).collect();
            let last = if style == "commas" { None } else { subjects.pop() };
            out.push_str(&subjects.join(", "));
            match last {
                Some(last) if !subjects.is_empty() => out.extend([" and ", &last]),
                last => out.push_str(&last.unwrap_or_default()),
            }
        }
        ("number", value) => number(out, style, value.number()),
        ("share", value) => {
            number(out, if style.is_empty() { "0" } else { style }, 100.0 * value.number());
            out.push('%');
        }
        (_, Parameter::Sentence(sentence)) => {
            let english = sentence.english();
            // A clause stands within another sentence.
            out.push_str(if style == "clause" { english.trim_end_matches('.') } else { &english });
        }
        (_, Parameter::Sentences(sentences)) => {
            let english: Vec<String> = sentences.iter().map(super::Sentence::english).collect();
            out.push_str(&english.join(if style == "commas" { ", " } else { " " }));
        }
        (_, Parameter::Texts(texts)) if style == "quoted" => {
            let quoted: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
            out.push_str(&quoted.join(", "));
        }
        (_, Parameter::Texts(texts)) => out.push_str(&texts.join(", ")),
        (_, value) => out.push_str(&value.key()),
    }
}

/// A number with the digits of the style; `+1` also shows its sign.
fn number(out: &mut String, style: &str, number: f64) {
    let digits = style.trim_start_matches('+').parse::<usize>().ok();
    let _ = match digits {
        Some(digits) if style.starts_with('+') => write!(out, "{number:+.digits$}"),
        Some(digits) => write!(out, "{number:.digits$}"),
        None => write!(out, "{number}"),
    };
}

/// A parameter of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    pub name: &'static str,
    /// Its type, as `/data/sentences` explains it.
    pub kind: &'static str,
    /// The values that a choice names.
    pub values: Vec<&'static str>,
}

/// The parameters of a template, each once, in the order in which they stand.
pub fn parameters(template: &'static str) -> Vec<Placeholder> {
    let mut found = Vec::new();
    collect(&mut found, template);
    found
}

fn collect(found: &mut Vec<Placeholder>, template: &'static str) {
    let mut rest = template;
    while let Some((_, inner, after)) = next(rest) {
        rest = after;
        let (name, kind, style) = parts(inner);
        let chooses = matches!(kind, "plural" | "select");
        let mut values: Vec<&'static str> = Vec::new();
        if kind == "select" {
            let is_value = |key: &&str| !matches!(*key, "other" | "null") && key.parse::<u64>().is_err();
            values.extend(cases(style).map(|(key, _)| key).filter(is_value));
        }
        let kind = match kind {
            "" => "text",
            "plural" => "count",
            // It only asks whether there is any.
            "select" if values.is_empty() => "text",
            "select" if values.iter().all(|value| matches!(*value, "true" | "false")) => "flag",
            "select" => "choice",
            kind => kind,
        };
        match found.iter_mut().find(|known| known.name == name) {
            // A plain mention says nothing of its type.
            Some(known) if known.kind == "text" => (known.kind, known.values) = (kind, values),
            Some(_) => {}
            None => found.push(Placeholder { name, kind, values }),
        }
        if chooses {
            cases(style).for_each(|(_, text)| collect(found, text));
        }
    }
}
