//! Incidents in which words of a query stand (decision words-of-incidents). All of them must; case and accents make no
//! difference.

use serde::{Deserialize, Serialize};

use super::text;
use crate::incidents::body::IncidentBody;
use crate::incidents::model::Incident;
use crate::incidents::query::Filter;
use crate::incidents::shown::{Brief, ShownIncidents};
use crate::incidents::tables::{INCIDENTS, IdKey};
use crate::incidents::written::{self, Joined};
use crate::{Error, Result};
use engine::actor::{Kind, Query, View};
use engine::settings::Settings;
use facts::folding;

/// Characters and words of a query, at most.
pub const MAX_CHARACTERS: usize = 200;
const MAX_WORDS: usize = 10;
/// Incidents that one operation reads.
const READ_AT_ONCE: usize = 2_000;

/// The folded words of a query, each once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words(Vec<String>);

impl Words {
    pub fn parse(text: &str) -> Result<Words> {
        if text.chars().count() > MAX_CHARACTERS {
            return Err(Error::bad_request(format!("`q` has at most {MAX_CHARACTERS} characters.")));
        }
        let mut words = folding::words(text);
        words.sort();
        words.dedup();
        match words.len() {
            0 => Err(Error::bad_request("`q` has no word.")),
            1..=MAX_WORDS => Ok(Words(words)),
            _ => Err(Error::bad_request(format!("`q` has at most {MAX_WORDS} different words."))),
        }
    }

    /// Whether each word is the beginning of a word of a text.
    fn are_in(&self, text: &str) -> bool {
        let known = folding::words(text);
        self.0.iter().all(|word| known.iter().any(|known| known.starts_with(word.as_str())))
    }

    /// Whether the words stand in what an incident says.
    pub fn find(&self, incident: &Incident, settings: &Settings) -> bool {
        let body = IncidentBody::new(incident, settings);
        let names = [&body.readable_id, &body.country, &body.country_name, &body.affected_asns.join(" ")];
        let whole = names.into_iter().chain([&text(&body).text]).map(String::as_str).collect::<Vec<_>>().join("\n");
        self.are_in(&whole)
    }
}

/// Asks for the incidents that pass a filter and hold some words, the one that began last first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Search {
    pub filter: Filter,
    pub words: Words,
    /// Incidents that pass the filter and were read before.
    pub read: u64,
}

/// Keys of incidents, and how many were read up to now; `None` if these were all.
pub type Found = (Vec<IdKey>, Option<u64>);

impl Query for Search {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "search";
    type Reply = Found;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<Found> {
        let shown = ShownIncidents::now(view)?;
        let read = usize::try_from(self.read).unwrap_or(usize::MAX);
        let (page, total) = shown.select(&self.filter, read, READ_AT_ONCE);
        let now = self.read.saturating_add(page.len() as u64);
        let mut found = Vec::new();
        for key in page.into_iter().map(Brief::key) {
            if let Some(incident) = INCIDENTS.get(view, &key)?
                && self.words.find(&incident, view.settings)
            {
                found.push(key);
            }
        }
        Ok((found, (now < total).then_some(now)))
    }
}

/// Asks for incidents by their keys, in this order, as answers contain them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ListingOf {
    pub keys: Vec<IdKey>,
}

impl Query for ListingOf {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "listing_of";
    type Reply = Joined;

    fn run(self, view: &View<'_>) -> Result<Joined> {
        written::join(view, self.keys.into_iter())
    }
}

/// Asks for the same incidents themselves.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SelectedOf {
    pub keys: Vec<IdKey>,
}

impl Query for SelectedOf {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "selected_of";
    type Reply = Vec<Incident>;

    fn run(self, view: &View<'_>) -> Result<Vec<Incident>> {
        let mut found = Vec::with_capacity(self.keys.len());
        for key in self.keys {
            found.extend(INCIDENTS.get(view, &key)?);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_must_begin_a_word_whatever_its_case_and_accents() {
        let text = "Telegram was blocked in Kenya\nÉlections, AS33771";
        for (query, found) in [
            ("telegram", true),
            ("KENYA Telegram", true),
            ("tele elections", true),
            ("as33771 blocked", true),
            ("gram", false),
            ("telegram uganda", false),
        ] {
            assert_eq!(Words::parse(query).unwrap().are_in(text), found, "{query}");
        }
    }

    #[test]
    fn a_query_without_words_or_with_too_many_is_refused() {
        let many = (0..11).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
        for query in ["", " - ", &many, &"x".repeat(201)] {
            assert_eq!(Words::parse(query).unwrap_err().code, engine::ErrorCode::BadRequest, "{query}");
        }
        assert_eq!(Words::parse("a A á b").unwrap(), Words(vec!["a".into(), "b".into()]));
    }
}
