//! The calls of the packages, read from their types.

use std::collections::{BTreeMap, BTreeSet};

/// What a call takes and gives, with names as Python writes them.
#[derive(Debug, PartialEq, Eq)]
pub struct Call {
    /// Each with whether it may be left out. Options that TypeScript has in an object are taken one by one.
    pub takes: BTreeSet<(String, bool)>,
    pub answer: String,
}

pub fn snake(name: &str) -> String {
    let mut made = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !made.is_empty() {
            made.push('_');
        }
        made.push(c.to_ascii_lowercase());
    }
    made
}

pub fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |made, word| made + &word[..1].to_ascii_uppercase() + &word[1..])
}

/// Names that Python has to write otherwise: `from` is a word of its own, and its stores are folders.
fn in_python(name: &str) -> String {
    match name {
        "from" => "sender".to_owned(),
        "store" => "folder".to_owned(),
        other => snake(other),
    }
}

/// The parts of a list, without what stands in brackets.
fn parts(list: &str) -> Vec<String> {
    let (mut made, mut depth) = (vec![String::new()], 0);
    for c in list.chars() {
        match c {
            '<' | '[' | '(' | '{' => depth += 1,
            '>' | ']' | ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                made.push(String::new());
                continue;
            }
            _ => {}
        }
        made.last_mut().unwrap().push(c);
    }
    made.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The lines of a class or an interface of TypeScript, without comments.
fn body<'a>(source: &'a str, start: &str) -> Option<Vec<&'a str>> {
    let rest = source.split(&format!("\nexport {start} {{\n")).nth(1)?;
    let lines = rest.split("\n}").next()?.lines().map(str::trim);
    Some(lines.filter(|line| !line.starts_with(['/', '*'])).collect())
}

/// The arguments with their types, and the answer, of `name(arguments): answer`.
fn signature<'a>(line: &'a str, arrow: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let (name, rest) = line.split_once('(')?;
    let (arguments, answer) = rest.rsplit_once(arrow)?;
    Some((name, arguments, answer.trim()))
}

pub fn typescript(source: &str) -> BTreeMap<String, Call> {
    let mut found = BTreeMap::new();
    for class in ["Client", "Agent"] {
        for line in body(source, &format!("class {class}")).expect(class) {
            let line = line.strip_suffix(';').unwrap_or_else(|| panic!("{class}: {line}"));
            if line.starts_with("constructor") {
                continue;
            }
            let property = line.strip_prefix("readonly ").and_then(|line| line.split_once(": "));
            let (name, arguments, answer) = match property {
                Some((name, answer)) => (name, "", answer),
                None => signature(line, "): ").expect(line),
            };
            let takes = parts(arguments).iter().flat_map(|argument| taken(source, argument)).collect();
            let answer = answer.strip_prefix("Promise<").and_then(|text| text.strip_suffix('>')).unwrap_or(answer);
            let answer = match answer {
                "string" => "Text",
                "Uint8Array" => "Bytes",
                "void" => "Nothing",
                named => named,
            };
            found.insert(format!("{class}.{}", snake(name)), Call { takes, answer: answer.to_owned() });
        }
    }
    found
}

/// One argument of TypeScript, or the options in it.
fn taken(source: &str, argument: &str) -> Vec<(String, bool)> {
    let (name, kind) = argument.split_once(": ").expect(argument);
    let options = if kind == "Store" { None } else { body(source, &format!("interface {kind}")) };
    let Some(options) = options else {
        return vec![(in_python(name.trim_end_matches('?')), name.ends_with('?'))];
    };
    let names = options.into_iter().filter_map(|line| line.split_once(": ")).map(|(name, _)| name);
    names.map(|name| (in_python(name.trim_end_matches('?')), name.ends_with('?'))).collect()
}

pub fn python(source: &str) -> BTreeMap<String, Call> {
    let (mut found, mut class, mut lines) = (BTreeMap::new(), "", source.lines());
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("class ") {
            class = name.trim_end_matches(':').split('(').next().unwrap();
        }
        let line = line.trim();
        let Some(start) = line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ") else { continue };
        let mut whole = start.to_owned();
        while !whole.contains(") -> ") {
            whole += lines.next().unwrap().trim();
        }
        let (name, arguments, answer) = signature(&whole, ") -> ").expect(&whole);
        if name.starts_with("__") || !["Client", "Agent"].contains(&class) {
            continue;
        }
        let takes = parts(arguments).into_iter().filter(|argument| argument != "self" && argument != "*");
        let takes = takes.map(|argument| {
            let name = argument.split(':').next().unwrap().to_owned();
            (name, argument.contains(" = "))
        });
        let answer = match answer.trim_end_matches("...").trim_end().trim_end_matches(':') {
            "str" => "Text",
            "bytes" => "Bytes",
            "None" => "Nothing",
            "dict[str, Json]" => "Json",
            named => named,
        };
        let call = Call { takes: takes.collect(), answer: answer.to_owned() };
        found.insert(format!("{class}.{name}"), call);
    }
    found
}
