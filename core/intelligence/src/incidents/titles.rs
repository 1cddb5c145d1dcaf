//! Suggestions of incidents for what a reader has typed so far.

use serde::{Deserialize, Serialize};

use super::model::Incident;
use super::query::shown;
use super::tables::{CLOCK, Clock};
use super::text;
use crate::Result;
use engine::actor::{Kind, Query, View, encode};
use facts::folding;

/// Incidents that are suggested: those that began last.
const NEWEST: usize = 2_000;

/// A shown incident, by the names that a reader may type.
#[derive(Debug)]
struct TitledIncident {
    id: String,
    title: String,
    /// Folded.
    words: Vec<String>,
}

impl TitledIncident {
    fn new(incident: &Incident) -> TitledIncident {
        let title = text::title(incident);
        TitledIncident { id: incident.id.to_string(), words: folding::words(&title), title }
    }

    /// Whether the id begins with a text, or each word of the text begins a word of the title.
    fn begins(&self, typed: &str, words: &[String]) -> bool {
        let id = || self.id.get(..typed.len()).is_some_and(|head| head.eq_ignore_ascii_case(typed));
        let title = || words.iter().all(|word| self.words.iter().any(|known| known.starts_with(word.as_str())));
        id() || (!words.is_empty() && title())
    }
}

/// Asks for the newest incidents whose id or title begins with what was typed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Titled {
    pub typed: String,
    pub most: u32,
}

impl Query for Titled {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "titled";
    /// Ids and titles.
    type Reply = Vec<(String, String)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let typed = self.typed.trim();
        let words = folding::words(typed);
        let found = |known: &[TitledIncident]| {
            let begin = known.iter().filter(|incident| incident.begins(typed, &words));
            begin.take(self.most as usize).map(|incident| (incident.id.clone(), incident.title.clone())).collect()
        };
        match view.memo() {
            Some(memo) => {
                let changed = CLOCK.get(view, &())?.map(|Clock(at)| at);
                let known = memo.list("titles", encode(&changed)?, || titles(view))?;
                Ok(found(&known))
            }
            None => Ok(found(&titles(view)?)),
        }
    }
}

fn titles(view: &View<'_>) -> Result<Vec<TitledIncident>> {
    Ok(shown(view, NEWEST)?.iter().map(TitledIncident::new).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_or_words_of_the_title_are_enough() {
        let title = "Telegram blocked in Côte d'Ivoire".to_owned();
        let one = TitledIncident { id: "CI-2023-0004".to_owned(), words: folding::words(&title), title };
        for (typed, found) in [
            ("ci-2023", true),
            ("CI-2023-0004", true),
            ("CI-2023-00041", false),
            ("cote tele", true),
            ("blocked", true),
            ("locked", false),
            ("-", false),
        ] {
            assert_eq!(one.begins(typed, &folding::words(typed)), found, "{typed}");
        }
    }
}
