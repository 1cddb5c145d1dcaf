//! The types of Rust, read from the source: of answers, and of what each call gives.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{root, text};

/// Types that stand beside their calls and not in a folder `answers`.
const ELSEWHERE: [&str; 2] = ["src/relay/receive.rs", "src/ledger/audit.rs"];

#[derive(Debug, Clone, Default)]
pub struct Type {
    pub name: String,
    pub doc: Vec<String>,
    /// The type whose members it has, too.
    pub base: Option<String>,
    pub members: Vec<Member>,
    /// What it can be, if it is one of some words.
    pub words: Vec<String>,
    /// What it can be, if it is one of some types.
    pub choices: Vec<Kind>,
}

#[derive(Debug, Clone)]
pub struct Member {
    pub name: String,
    pub doc: Vec<String>,
    pub kind: Kind,
    /// Whether the service may leave it out.
    pub may_miss: bool,
}

#[derive(Debug, Clone)]
pub enum Kind {
    Text,
    Whole,
    Number,
    Flag,
    Json,
    Named(String),
    List(Box<Kind>),
    Maybe(Box<Kind>),
}

impl Kind {
    fn of(text: &str) -> Kind {
        let inside = |start: &str| text.strip_prefix(start)?.strip_suffix('>').map(|text| Box::new(Kind::of(text)));
        match text {
            "String" => Kind::Text,
            "i64" | "u64" => Kind::Whole,
            "f64" => Kind::Number,
            "bool" => Kind::Flag,
            "Value" => Kind::Json,
            _ if text.starts_with("Vec<") => Kind::List(inside("Vec<").expect(text)),
            _ if text.starts_with("Option<") => Kind::Maybe(inside("Option<").expect(text)),
            _ => {
                assert!(text.chars().all(|c| c.is_ascii_alphanumeric()), "the type {text} is not known here");
                Kind::Named(text.to_owned())
            }
        }
    }

    fn named(&self) -> Option<&str> {
        match self {
            Kind::Named(name) => Some(name),
            Kind::List(inner) | Kind::Maybe(inner) => inner.named(),
            _ => None,
        }
    }
}

impl Type {
    /// The types that it consists of.
    pub fn parts(&self) -> Vec<String> {
        let members = self.members.iter().filter_map(|member| member.kind.named().map(str::to_owned));
        let choices = self.choices.iter().filter_map(|kind| kind.named().map(str::to_owned));
        self.base.iter().cloned().chain(members).chain(choices).collect()
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Every type that the library answers with, by its name.
pub fn types() -> BTreeMap<String, Type> {
    let mut all = BTreeMap::new();
    for path in sources(&root().join("src")) {
        let source = std::fs::read_to_string(&path).unwrap();
        let elsewhere = ELSEWHERE.iter().any(|known| path.ends_with(known));
        if !elsewhere && !path.parent().unwrap().ends_with("answers") {
            continue;
        }
        for found in parse(&source) {
            assert!(!all.contains_key(&found.name), "two answers have the name {}", found.name);
            all.insert(found.name.clone(), found);
        }
    }
    assert!(all.len() > 100, "{}", all.len());
    all
}

/// Words in the case that `rename_all` names.
fn renamed(name: &str, rule: Option<&str>) -> String {
    match rule {
        None => name.to_owned(),
        Some("camelCase") => super::calls::camel(name),
        Some("snake_case") => super::calls::snake(name),
        Some(rule) => panic!("the rule {rule} is not known here"),
    }
}

/// What stands between quotation marks after `name =`.
fn value_of<'a>(attribute: &'a str, name: &str) -> Option<&'a str> {
    attribute.split(&format!("{name} = \"")).nth(1)?.split('"').next()
}

/// The documentation and the attributes before an item.
#[derive(Default)]
struct Head {
    doc: Vec<String>,
    attributes: Vec<String>,
}

impl Head {
    /// Whether the line belongs to the head.
    fn takes(&mut self, line: &str) -> bool {
        if let Some(doc) = line.strip_prefix("///") {
            self.doc.push(doc.trim().to_owned());
        } else if line.starts_with("#[") {
            self.attributes.push(line.to_owned());
        } else {
            return false;
        }
        true
    }

    fn serde(&self) -> String {
        let all: Vec<&str> =
            self.attributes.iter().filter_map(|text| text.strip_prefix("#[serde(")?.strip_suffix(")]")).collect();
        all.join(", ")
    }

    fn is_answer(&self) -> bool {
        self.attributes.iter().any(|text| text.starts_with("#[derive(") && text.contains(" Serialize"))
    }
}

fn parse(source: &str) -> Vec<Type> {
    let (mut found, mut head) = (Vec::new(), Head::default());
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if head.takes(line) {
            continue;
        }
        let item = std::mem::take(&mut head);
        let start = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "));
        let Some(name) = start.and_then(|rest| rest.strip_suffix(" {")) else { continue };
        let body = lines.by_ref().take_while(|line| *line != "}").map(str::trim);
        if item.is_answer() {
            found.push(parse_type(name, item, body, line.starts_with("pub enum")));
        } else {
            body.for_each(drop);
        }
    }
    found
}

fn parse_type<'a>(name: &str, item: Head, body: impl Iterator<Item = &'a str>, is_enum: bool) -> Type {
    let serde = item.serde();
    let rule = value_of(&serde, "rename_all");
    let mut made = Type { name: name.to_owned(), doc: item.doc, ..Type::default() };
    let mut head = Head::default();
    for line in body {
        if line.is_empty() || head.takes(line) {
            continue;
        }
        let Head { doc, attributes } = std::mem::take(&mut head);
        let serde = Head { doc: Vec::new(), attributes }.serde();
        let line = line.strip_suffix(',').unwrap_or_else(|| panic!("{name}: {line}"));
        if is_enum {
            assert!(serde.is_empty(), "{name}: {serde}");
            match line.strip_suffix(')').and_then(|line| line.split_once('(')) {
                Some((_, kind)) => made.choices.push(Kind::of(kind)),
                None => made.words.push(renamed(line, rule)),
            }
            continue;
        }
        let (member, kind) = line.strip_prefix("pub ").and_then(|line| line.split_once(": ")).expect(line);
        if serde == "flatten" {
            made.base = Some(kind.to_owned());
            continue;
        }
        let rename = value_of(&serde, "rename");
        let rest = serde.replace(&format!("rename = \"{}\"", rename.unwrap_or_default()), "");
        let rest = rest.replace("skip_serializing_if = \"Option::is_none\"", "");
        let may_miss = rest.contains("default");
        assert!(rest.replace("default", "").trim_matches([',', ' ']).is_empty(), "{name}.{member}: {serde}");
        let name = rename.map_or_else(|| renamed(member, rule), str::to_owned);
        made.members.push(Member { name, doc, kind: Kind::of(kind), may_miss });
    }
    made
}

/// What each call of a client or an agent gives, by names such as `Client.check`.
pub fn answers() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in sources(&root().join("src")) {
        let source = text(path.strip_prefix(root()).unwrap().to_str().unwrap());
        let mut class = None;
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            match line {
                "impl Client {" => class = Some("Client"),
                "impl Agent {" => class = Some("Agent"),
                "}" => class = None,
                _ => {}
            }
            let (Some(class), Some(start)) = (class, line.strip_prefix("    pub ")) else { continue };
            let Some(start) = start.strip_prefix("async ").unwrap_or(start).strip_prefix("fn ") else { continue };
            let mut signature = start.to_owned();
            while !signature.ends_with(" {") {
                signature += lines.next().unwrap().trim();
            }
            let name = signature.split('(').next().unwrap().to_owned();
            let answer = signature.split(" -> ").last().unwrap().trim_end_matches(" {");
            found.insert(format!("{class}.{name}"), answer_of(answer));
        }
    }
    found
}

fn answer_of(text: &str) -> String {
    let text = text.strip_prefix("Result<").and_then(|text| text.strip_suffix('>')).unwrap_or(text);
    match text {
        "String" | "ApiKey" => "Text",
        "serde_json::Value" | "Value" | "Option<Value>" => "Json",
        "[u8; 32]" => "Bytes",
        "()" => "Nothing",
        named => named,
    }
    .to_owned()
}
