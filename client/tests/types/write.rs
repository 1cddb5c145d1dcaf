//! The answers as TypeScript and Python write them.

use super::rust::{Kind, Member, Type};

const AGAIN: &str = "HELIOGRAPH_UPDATE_GOLDEN=1 cargo test -p heliograph-client --test types";

/// Words of Python that can be no name.
const RESERVED: [&str; 6] = ["from", "class", "import", "in", "is", "pass"];

/// Documentation for readers of the other languages: without links of Rust and names of decisions.
fn plain(doc: &[String]) -> Vec<String> {
    doc.iter()
        .map(|line| {
            let mut line = line.replace("[`", "`").replace("`]", "`").replace("Agent::", "");
            while let Some((start, rest)) = line.clone().split_once(" (decision ") {
                let end = rest.split_once(')').expect("a decision ends").1;
                line = format!("{start}{end}");
            }
            line
        })
        .collect()
}

pub fn typescript(types: &[Type]) -> String {
    let mut made = format!("/** What the service answers. Written from the types in Rust by a test ({AGAIN}). */\n\n");
    made += "import type { Json } from './index.js';\n";
    for answer in types {
        made += "\n";
        comment(&mut made, "", &answer.doc);
        let words = answer.words.iter().map(|word| format!("'{word}'"));
        let one_of: Vec<String> = words.chain(answer.choices.iter().map(in_typescript)).collect();
        if !one_of.is_empty() {
            made += &format!("export type {} = {};\n", answer.name, one_of.join(" | "));
            continue;
        }
        let base = answer.base.as_ref().map(|base| format!(" extends {base}")).unwrap_or_default();
        made += &format!("export interface {}{base} {{\n", answer.name);
        for member in &answer.members {
            comment(&mut made, "  ", &member.doc);
            let mark = if member.may_miss { "?" } else { "" };
            made += &format!("  {}{mark}: {};\n", member.name, in_typescript(&member.kind));
        }
        made += "}\n";
    }
    made
}

fn comment(made: &mut String, space: &str, doc: &[String]) {
    match plain(doc).as_slice() {
        [] => {}
        [line] => *made += &format!("{space}/** {line} */\n"),
        lines => {
            *made += &format!("{space}/**\n");
            for line in lines {
                *made += format!("{space} * {line}").trim_end();
                *made += "\n";
            }
            *made += &format!("{space} */\n");
        }
    }
}

fn in_typescript(kind: &Kind) -> String {
    match kind {
        Kind::Text => "string".to_owned(),
        Kind::Whole | Kind::Number => "number".to_owned(),
        Kind::Flag => "boolean".to_owned(),
        Kind::Json => "Json".to_owned(),
        Kind::Named(name) => name.clone(),
        Kind::List(inner) => format!("{}[]", in_typescript(inner)),
        Kind::Maybe(inner) => format!("{} | null", in_typescript(inner)),
    }
}

pub fn python(types: &[Type]) -> String {
    let mut made =
        format!("\"\"\"What the service answers. Written from the types in Rust by a test ({AGAIN}).\"\"\"\n\n");
    made += "from typing import Any, Literal, Optional, TypedDict, Union\n\nJson = Any\n";
    for answer in types {
        made += "\n";
        if !answer.words.is_empty() {
            let words: Vec<String> = answer.words.iter().map(|word| format!("\"{word}\"")).collect();
            notes(&mut made, "", &answer.doc);
            made += &format!("{} = Literal[{}]\n", answer.name, words.join(", "));
        } else if !answer.choices.is_empty() {
            let choices: Vec<String> = answer.choices.iter().map(in_python).collect();
            notes(&mut made, "", &answer.doc);
            made += &format!("{} = Union[{}]\n", answer.name, choices.join(", "));
        } else if answer.members.iter().any(|member| RESERVED.contains(&member.name.as_str())) {
            assert!(answer.base.is_none(), "{}", answer.name);
            notes(&mut made, "", &answer.doc);
            made += &format!("{0} = TypedDict(\n    \"{0}\",\n    {{\n", answer.name);
            for member in &answer.members {
                notes(&mut made, "        ", &member.doc);
                made += &format!("        \"{}\": {},\n", member.name, in_python(&member.kind));
            }
            made += "    },\n)\n";
        } else {
            class(&mut made, answer);
        }
    }
    made
}

fn class(made: &mut String, answer: &Type) {
    let base = answer.base.as_deref().unwrap_or("TypedDict");
    *made += &format!("class {}({base}):\n    \"\"\"{}\"\"\"\n", answer.name, plain(&answer.doc).join("\n    "));
    let mut last: Option<&Member> = None;
    for member in &answer.members {
        if last.is_none() || !member.doc.is_empty() {
            *made += "\n";
        }
        notes(made, "    ", &member.doc);
        *made += &format!("    {}: {}\n", member.name, in_python(&member.kind));
        last = Some(member);
    }
}

fn notes(made: &mut String, space: &str, doc: &[String]) {
    for line in plain(doc) {
        *made += format!("{space}# {line}").trim_end();
        *made += "\n";
    }
}

fn in_python(kind: &Kind) -> String {
    match kind {
        Kind::Text => "str".to_owned(),
        Kind::Whole => "int".to_owned(),
        Kind::Number => "float".to_owned(),
        Kind::Flag => "bool".to_owned(),
        Kind::Json => "Json".to_owned(),
        Kind::Named(name) => name.clone(),
        Kind::List(inner) => format!("list[{}]", in_python(inner)),
        Kind::Maybe(inner) => format!("Optional[{}]", in_python(inner)),
    }
}
