//! Templates in the manner of ICU messages: `{name}`, `{name, type}`, `{name, type, style}`, and
//! `{count, plural, one {network} other {networks}}` or `{state, select, blocked {...} other {...}}`, which choose a text
//! that may hold further parameters. Braces have no other use in a template.

use super::{Language, Parameter, names};

/// The text of a template of a language, with its parameters filled in.
pub fn fill(language: Language, template: &str, parameters: &[(&'static str, Parameter)]) -> String {
    let mut out = String::with_capacity(template.len() * 2);
    fill_into(&mut out, language, template, parameters);
    out
}

fn fill_into(out: &mut String, language: Language, template: &str, parameters: &[(&'static str, Parameter)]) {
    let mut rest = template;
    while let Some((before, inner, after)) = next(rest) {
        out.push_str(before);
        rest = after;
        let (name, kind, style) = parts(inner);
        let value = parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        debug_assert!(value.is_some(), "{name} is missing in {template}");
        match (value, kind) {
            (Some(value), "plural" | "select") => {
                fill_into(out, language, choose(language, kind, style, value), parameters);
            }
            (Some(value), _) => show(out, language, kind, style, value),
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
fn choose<'t>(language: Language, kind: &str, style: &'t str, value: &Parameter) -> &'t str {
    let of = |key: &str| cases(style).find(|(known, _)| *known == key).map(|(_, text)| text);
    let found = match kind {
        "plural" => {
            let count = value.key();
            let form = |count: u64| language.plural(count);
            of(&format!("={count}")).or_else(|| of(count.parse().map_or("other", form)))
        }
        _ => of(&value.key()),
    };
    found.or_else(|| of("other")).unwrap_or_default()
}

fn show(out: &mut String, language: Language, kind: &str, style: &str, value: &Parameter) {
    let (last_joint, joint) = language.joints();
    match (kind, value) {
        (_, Parameter::None) => {}
        ("country", Parameter::Text(code)) => out.push_str(&language.country_styled(code, style)),
        ("subjects", Parameter::Texts(subjects)) => {
            let name = |subject: &String| language.apart(&names::subject(subject));
            let mut subjects: Vec<String> = subjects.iter().map(name).collect();
            let last = if style == "commas" { None } else { subjects.pop() };
            out.push_str(&subjects.join(joint));
            match last {
                Some(last) if !subjects.is_empty() => out.extend([last_joint, &last]),
                last => out.push_str(&last.unwrap_or_default()),
            }
        }
        (_, Parameter::Sentence(sentence)) => {
            let text = sentence.text_in(language);
            // A clause stands within another sentence.
            out.push_str(if style == "clause" { text.trim_end_matches('.') } else { &text });
        }
        (_, Parameter::Sentences(sentences)) => {
            let texts: Vec<String> = sentences.iter().map(|sentence| sentence.text_in(language)).collect();
            out.push_str(&texts.join(if style == "commas" { joint } else { " " }));
        }
        (_, Parameter::Texts(texts)) => {
            let quote = if style == "quoted" { "\"" } else { "" };
            let texts: Vec<String> =
                texts.iter().map(|text| format!("{quote}{}{quote}", language.apart(text))).collect();
            out.push_str(&texts.join(joint));
        }
        (_, value) => out.push_str(&language.apart(&shown(language, kind, style, value))),
    }
}

/// A single name, date or figure.
fn shown(language: Language, kind: &str, style: &str, value: &Parameter) -> String {
    match (kind, value) {
        ("date", Parameter::Text(date)) if style != "iso" => language.date(date),
        ("subject", Parameter::Text(subject)) => names::subject(subject),
        ("number", value) => language.decimal(&number(style, value.number())),
        ("share", value) => {
            let figure = number(if style.is_empty() { "0" } else { style }, 100.0 * value.number());
            language.percent(&language.decimal(&figure))
        }
        (_, value) => value.key(),
    }
}

/// A number with the digits of the style; `+1` also shows its sign.
fn number(style: &str, number: f64) -> String {
    match style.trim_start_matches('+').parse::<usize>() {
        Ok(digits) if style.starts_with('+') => format!("{number:+.digits$}"),
        Ok(digits) => format!("{number:.digits$}"),
        Err(_) => number.to_string(),
    }
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
