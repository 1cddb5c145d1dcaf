//! The words that claims are read by: lists with a name, in one table beside the code.

use std::ops::Deref;
use std::sync::OnceLock;

use crate::facts::starter;

const TEXT: &str = include_str!("lexicon.tsv");

/// The words and phrases of a list; none where the table has no such list.
pub fn list(name: &str) -> impl Iterator<Item = &'static str> {
    let found = starter::rows::<2>(TEXT).find(|[list, _]| *list == name).map(|[_, words]| words);
    debug_assert!(found.is_some(), "no list {name}");
    found.into_iter().flat_map(|words| words.split('|'))
}

/// A list of the table, looked up once.
pub struct Words {
    name: &'static str,
    list: OnceLock<Vec<&'static str>>,
}

impl Words {
    pub const fn of(name: &'static str) -> Words {
        Words { name, list: OnceLock::new() }
    }
}

impl Deref for Words {
    type Target = [&'static str];

    fn deref(&self) -> &Self::Target {
        self.list.get_or_init(|| list(self.name).collect())
    }
}
