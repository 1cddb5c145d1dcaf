//! The table of all sentences.

use std::sync::OnceLock;

use crate::starter;
use crate::verdict::RULES;

const TEXT: &str = include_str!("sentences.tsv");

/// A row of the table: the code and the English template.
pub type Entry = (&'static str, &'static str);

/// All sentences, ordered by code. What the rules of verdicts mean stands beside the rules.
pub fn all() -> &'static [Entry] {
    static ALL: OnceLock<Vec<Entry>> = OnceLock::new();
    ALL.get_or_init(|| {
        let rules = RULES.iter().map(|rule| (rule.sentence, rule.meaning));
        let mut all: Vec<Entry> = starter::rows::<2>(TEXT).map(|[code, text]| (code, text)).chain(rules).collect();
        all.sort_unstable();
        all
    })
}

fn entry(code: &str) -> Option<&'static Entry> {
    let all = all();
    all.binary_search_by(|(known, _)| (*known).cmp(code)).ok().and_then(|at| all.get(at))
}

/// The English template of a code.
pub fn text(code: &str) -> Option<&'static str> {
    entry(code).map(|(_, text)| *text)
}

/// The code as the table has it, if the table has it.
pub fn known(code: &str) -> Option<&'static str> {
    entry(code).map(|(code, _)| *code)
}

/// The code whose template is this text.
pub fn code_of(english: &str) -> Option<&'static str> {
    all().iter().find(|(_, text)| *text == english).map(|(code, _)| *code)
}
