//! The search for capabilities of all agents, by words of names and descriptions, in the order of trust.
//!
//! Every word of a capability has a row here, in the order of its agent's rank and the capability's age. So a search
//! reads the best capabilities that share a word first. It goes through at most [`LOOKED`] rows of its longest word.
//! When more capabilities share that word, it does not find those behind these rows.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::{Did, fold, search};
use crate::agent::mailbox::Local;
use crate::{Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Direction, Range, Row, Table};

/// Most rows that one search goes through.
const LOOKED: usize = 2_000;
/// Most words by which a capability is found, those of its name first, and most characters of each word.
const MAX_WORDS: usize = 48;
const MAX_WORD: usize = 64;

/// The counts of a capability.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityCounts {
    /// Tasks that named it.
    pub invocations: u64,
    pub ratings: u64,
    /// Sum of the ratings.
    pub stars: u64,
}

impl CapabilityCounts {
    /// Counts a rating of 1 to 5.
    pub fn rate(&mut self, rating: u8) {
        self.ratings += 1;
        self.stars += u64::from(rating);
    }

    /// Mean rating, in hundredths.
    fn hundredths(&self) -> u64 {
        self.stars.saturating_mul(100).checked_div(self.ratings).unwrap_or_default()
    }

    /// Mean rating with two digits; `None` without ratings.
    pub fn mean(&self) -> Option<f64> {
        (self.ratings > 0).then(|| self.hundredths() as f64 / 100.0)
    }
}

/// A capability as a search shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedCapability {
    pub name: String,
    pub description: Option<String>,
    pub version: String,
    /// The agent's trust level; capabilities of higher levels come first.
    pub rank: u8,
    pub since: Timestamp,
    pub counts: CapabilityCounts,
}
impl Row for ListedCapability {}

/// The words of a folded text. They are separated by characters that are neither letters nor digits.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    parts.map(|word| word.chars().take(MAX_WORD).collect())
}

impl ListedCapability {
    /// The texts by which it is found: its words, its whole name after a blank, and the empty text, which finds all.
    fn texts(&self) -> Vec<String> {
        let mut texts = vec![String::new(), whole(&fold(&self.name))];
        let description = fold(self.description.as_deref().unwrap_or_default());
        for word in words(&fold(&self.name)).chain(words(&description)).take(MAX_WORDS) {
            if !texts.contains(&word) {
                texts.push(word);
            }
        }
        texts
    }

    fn standing(&self) -> (u8, Timestamp) {
        (u8::MAX - self.rank, self.since)
    }
}

/// A whole name as a text. The blank keeps it apart from words, which contain no blank.
fn whole(name: &str) -> String {
    format!(" {name}")
}

const LISTED: Table<(Did, Local), ListedCapability> = Table::new(34);
/// By text, then 255 less the rank, then age.
const TEXTS: Table<(String, u8, Timestamp, Did, Local), ()> = Table::new(35);

pub const ENTRIES: &[Entry] =
    &[operation::<ListCapability>(), operation::<UnlistCapability>(), query::<FindCapabilities>()];

fn remove(turn: &mut Turn<'_>, did: Did, local: Local, listed: &ListedCapability) {
    let (behind, since) = listed.standing();
    for text in listed.texts() {
        TEXTS.delete(turn, &(text, behind, since, did, local));
    }
    LISTED.delete(turn, &(did, local));
}

/// Lists a capability, or replaces its entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ListCapability {
    pub did: Did,
    pub local: Local,
    pub listed: ListedCapability,
}

impl Operation for ListCapability {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "list_capability";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let ListCapability { did, local, listed } = self;
        if let Some(before) = LISTED.get(turn, &(did, local))? {
            remove(turn, did, local, &before);
        }
        let (behind, since) = listed.standing();
        for text in listed.texts() {
            TEXTS.put(turn, &(text, behind, since, did, local), &())?;
        }
        Ok(LISTED.put(turn, &(did, local), &listed)?)
    }
}

/// Removes a capability from the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UnlistCapability {
    pub did: Did,
    pub local: Local,
}

impl Operation for UnlistCapability {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "unlist_capability";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if let Some(listed) = LISTED.get(turn, &(self.did, self.local))? {
            remove(turn, self.did, self.local, &listed);
        }
        Ok(())
    }
}

/// Finds capabilities, the best first: those with exactly this name, then with a name that begins with the text, then
/// with all words in the name, then with all words anywhere. Among equals, by rank, mean rating and age.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FindCapabilities {
    /// The beginnings of words; case does not count.
    pub text: Option<String>,
    /// The whole name; case does not count.
    pub name: Option<String>,
    pub limit: u32,
}

/// A capability that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityHit {
    pub did: Did,
    pub agent_name: Option<String>,
    pub local: Local,
    pub listed: ListedCapability,
}

impl Query for FindCapabilities {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "find_capabilities";
    type Reply = Vec<CapabilityHit>;

    fn run(self, view: &View<'_>) -> Result<Vec<CapabilityHit>> {
        let text = fold(self.text.as_deref().unwrap_or_default().trim());
        let name = self.name.as_deref().map(|name| fold(name.trim()));
        let wanted: Vec<String> = words(&text).collect();
        if wanted.is_empty() && !text.is_empty() {
            return Ok(Vec::new());
        }
        let (longest, exact) = match (&name, wanted.iter().max_by_key(|word| word.chars().count())) {
            (Some(name), _) => (whole(name), true),
            (None, Some(word)) => (word.clone(), false),
            (None, None) => (String::new(), true),
        };
        // Rows of the word itself come first in the range, then rows of longer words.
        let start = TEXTS.prefix(&(longest.clone(),));
        let range = if exact { start } else { Range { start: start.start, ..TEXTS.range() } };
        let mut found: Vec<(u8, Did, Local, ListedCapability)> = Vec::new();
        for ((word, _, _, did, local), ()) in TEXTS.scan(view, &range, Direction::Ascending, LOOKED)? {
            if !word.starts_with(&longest) {
                break;
            }
            if found.iter().any(|(_, known, other, _)| (*known, *other) == (did, local)) {
                continue;
            }
            let Some(listed) = LISTED.get(view, &(did, local))? else { continue };
            found.extend(class(&listed, &text, &wanted).map(|class| (class, did, local, listed)));
        }
        found.sort_by_key(|(class, did, local, listed)| {
            let (behind, since) = listed.standing();
            (*class, behind, Reverse(listed.counts.hundredths()), since, *did, *local)
        });
        found.truncate(self.limit as usize);
        let mut answer = Vec::with_capacity(found.len());
        for (_, did, local, listed) in found {
            // The agent's name comes from the search for agents, in the same actor.
            let agent_name = search::name_of(view, did)?;
            answer.push(CapabilityHit { did, agent_name, local, listed });
        }
        Ok(answer)
    }
}

/// The class of a match, the best first; `None` when the capability does not match.
fn class(listed: &ListedCapability, text: &str, wanted: &[String]) -> Option<u8> {
    let name = fold(&listed.name);
    if text.is_empty() || name == *text {
        return Some(0);
    }
    let all_in = |words: &[String]| wanted.iter().all(|start| words.iter().any(|word| word.starts_with(start)));
    let mut known: Vec<String> = words(&name).collect();
    if name.starts_with(text) {
        return Some(1);
    }
    if all_in(&known) {
        return Some(2);
    }
    known.extend(words(&fold(listed.description.as_deref().unwrap_or_default())));
    all_in(&known).then_some(3)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Directory;
    use super::*;

    fn list(directory: &mut Directory, did: u8, name: &str, description: &str, rank: u8, ratings: &[u8]) {
        let mut counts = CapabilityCounts::default();
        ratings.iter().for_each(|rating| counts.rate(*rating));
        let listed = ListedCapability {
            name: name.into(),
            description: Some(description.into()),
            version: "1.0.0".into(),
            rank,
            since: Timestamp::from_seconds(i64::from(did)),
            counts,
        };
        directory.run(&ListCapability { did: [did; 16], local: [did; 12], listed }).unwrap();
    }

    fn found(directory: &Directory, text: &str, name: Option<&str>, limit: u32) -> Vec<u8> {
        let find = FindCapabilities { text: Some(text.into()), name: name.map(Into::into), limit };
        directory.ask(find).into_iter().map(|found| found.did[0]).collect()
    }

    #[test]
    fn the_best_match_comes_first_then_trust_then_rating_then_age() {
        let mut directory = Directory::new();
        list(&mut directory, 1, "summaries", "of texts to translate", 4, &[]);
        list(&mut directory, 2, "text-translate", "", 0, &[]);
        list(&mut directory, 3, "translate-text", "", 0, &[]);
        list(&mut directory, 4, "Translate", "", 0, &[]);
        list(&mut directory, 5, "translate", "", 0, &[3, 4]);
        list(&mut directory, 6, "translate", "", 2, &[]);
        list(&mut directory, 7, "other", "nothing alike", 4, &[]);
        assert_eq!(found(&directory, "TRANSLATE", None, 50), [6, 5, 4, 3, 2, 1]);
        assert_eq!(found(&directory, "transl", None, 50), [6, 5, 3, 4, 2, 1]);
        assert_eq!(found(&directory, "translate text", None, 50), [2, 3, 1]);
        assert_eq!(found(&directory, "", Some("translate"), 50), [6, 5, 4]);
        assert_eq!(found(&directory, "", None, 3), [1, 7, 6]);
        assert!(found(&directory, "--", None, 50).is_empty() && found(&directory, "", Some("transl"), 50).is_empty());
    }

    #[test]
    fn a_new_description_and_the_end_leave_nothing_of_the_old() {
        let mut directory = Directory::new();
        list(&mut directory, 1, "maps", "of rivers", 0, &[]);
        list(&mut directory, 1, "maps", "of roads", 3, &[]);
        assert!(found(&directory, "rivers", None, 5).is_empty());
        assert_eq!(found(&directory, "roads", None, 5), [1]);
        directory.run(&UnlistCapability { did: [1; 16], local: [1; 12] }).unwrap();
        assert!(TEXTS.scan(&directory.rows, &TEXTS.range(), Direction::Ascending, 99).unwrap().is_empty());
        assert!(LISTED.scan(&directory.rows, &LISTED.range(), Direction::Ascending, 99).unwrap().is_empty());
    }

    #[test]
    fn one_word_of_many_capabilities_is_answered_by_the_most_trusted_of_them() {
        let mut directory = Directory::new();
        for n in 0..2_500_u32 {
            let [a, b, ..] = n.to_le_bytes();
            let mut did = [0; 16];
            (did[0], did[1]) = (a, b);
            let listed = ListedCapability {
                name: "chat".into(),
                description: None,
                version: "1.0.0".into(),
                rank: u8::from(n == 2_499),
                since: Timestamp::from_seconds(i64::from(n)),
                counts: CapabilityCounts::default(),
            };
            directory.run(&ListCapability { did, local: [0; 12], listed }).unwrap();
        }
        let first = directory.ask(FindCapabilities { text: Some("chat".into()), name: None, limit: 2 });
        assert_eq!(first.iter().map(|found| found.listed.rank).collect::<Vec<u8>>(), [1, 0]);
        assert_eq!(first[1].listed.since, Timestamp::from_seconds(0));
    }
}
