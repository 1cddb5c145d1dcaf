//! The search index. It finds agents by the beginning of their name, of a word of it, or of their DID, and by
//! capability, in the order of rank and registration (decision agent-search-order).
//!
//! Every text by which an agent can be found has one row in [`ALPHABETICAL`]. When few agents share a beginning, a
//! search reads their rows there and sorts them. A beginning that more than [`FEW`] agents share is *common*: each of
//! these agents has a row for it in [`RANKED`], in order, so a page costs the same however many agents there are. An
//! operation makes at most [`STEPS`] beginnings common, so a page may find somewhat more than [`FEW`] rows there, but
//! never many.
//!
//! So a name has one row for itself, one for each further word, and one for each common beginning of these. In a
//! million different names, each has two or three common beginnings.

use serde::{Deserialize, Serialize};

use super::{Did, Hold, NAMES, fold};
use crate::{Result, Timestamp};
use crypto::encoding;
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Direction, Read, Row, Table};

/// Most agents that may share a beginning before it becomes common.
const FEW: usize = 128;
/// Most beginnings that one operation makes common. Each costs as many rows as agents share it, and all must fit into
/// one operation.
const STEPS: usize = 2;
/// Most rows of a beginning that is not common; see [`STEPS`].
const MOST: usize = 256;
/// Most rows that a page goes through when a text and a capability are asked for and both are common.
const VISITS: usize = 1_000;

/// The kinds of texts by which an agent is found.
mod kinds {
    /// The beginning of its DID, without `did:<brand>:`. The empty text is the beginning of every DID.
    pub const DID: u8 = 0;
    /// The beginning of its name.
    pub const NAME: u8 = 1;
    /// The beginning of a further word of its name.
    pub const WORD: u8 = 2;
    /// A whole capability.
    pub const CAPABILITY: u8 = 3;
}

/// Classes of matches, best first.
mod classes {
    pub const EXACT: u8 = 0;
    pub const BEGINNING: u8 = 1;
    pub const WORD: u8 = 2;
}

/// An agent as the search shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedAgent {
    pub name: Option<String>,
    pub capabilities: Vec<String>,
    /// Ed25519.
    pub signing: [u8; 32],
    /// X25519.
    pub encryption: [u8; 32],
    /// Trust level; agents of higher levels come first.
    pub rank: u8,
    pub registered: Timestamp,
}
impl Row for ListedAgent {}

/// The order of agents that match equally well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct SearchOrder {
    /// 255 less the rank.
    behind: u8,
    registered: Timestamp,
}
impl Row for SearchOrder {}

impl ListedAgent {
    fn standing(&self) -> SearchOrder {
        SearchOrder { behind: u8::MAX - self.rank, registered: self.registered }
    }

    /// All texts by which it can be found, folded, with their kinds.
    fn texts(&self, did: &Did) -> Vec<(u8, String)> {
        let mut texts = vec![(kinds::DID, fold(&base58(did)))];
        if let Some(name) = self.name.as_deref().map(fold) {
            texts.extend(further_words(&name).map(|word| (kinds::WORD, word.to_owned())));
            texts.push((kinds::NAME, name));
        }
        texts.extend(self.capabilities.iter().map(|name| (kinds::CAPABILITY, fold(name))));
        texts
    }
}

fn base58(did: &Did) -> String {
    let text = encoding::did("", did);
    text.strip_prefix("did::").map(str::to_owned).unwrap_or_default()
}

/// The words of a folded name, except one at its very beginning. Words are separated by characters that are neither
/// letters nor digits.
fn further_words(name: &str) -> impl Iterator<Item = &str> {
    let first = usize::from(name.starts_with(char::is_alphanumeric));
    name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).skip(first)
}

/// The beginnings of a text that can become common, shortest first.
fn beginnings(kind: u8, text: &str) -> impl Iterator<Item = &str> {
    let least = usize::from(kind != kinds::DID);
    let whole = kind == kinds::CAPABILITY;
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]).skip(least);
    ends.filter(move |end| !whole || *end == text.len()).filter_map(|end| text.get(..end))
}

const LISTED: Table<(Did,), ListedAgent> = Table::new(18);
const ALPHABETICAL: Table<(u8, String, Did), SearchOrder> = Table::new(19);
/// For each common beginning, the agents in the order of [`SearchOrder`].
const RANKED: Table<(u8, String, u8, Timestamp, Did), ()> = Table::new(20);
const COMMON: Table<(u8, String), ()> = Table::new(21);

pub const ENTRIES: &[Entry] = &[operation::<Index>(), operation::<UnlistAgent>(), query::<FindAgents>()];

/// The name of a listed agent.
pub(super) fn name_of(view: &(impl Read + ?Sized), did: Did) -> Result<Option<String>> {
    Ok(LISTED.get(view, &(did,))?.and_then(|listed| listed.name))
}

/// When a listed agent registered.
pub(super) fn registered(view: &(impl Read + ?Sized), did: Did) -> Result<Option<Timestamp>> {
    Ok(LISTED.get(view, &(did,))?.map(|listed| listed.registered))
}

/// The directory actor that lists an agent. There is one shard; with more, the results of all would have to be merged.
pub fn shard(_did: &Did) -> &'static str {
    "0"
}

/// Rows of [`ALPHABETICAL`] whose text begins with `beginning`. Only here a text is encoded without its end, so that
/// every text that continues it is in the range.
fn beginning_with(kind: u8, beginning: &str) -> engine::kv::Range {
    let mut start = ALPHABETICAL.prefix(&(kind, beginning.to_owned())).start;
    // The codec ends a text with two bytes.
    start.truncate(start.len().saturating_sub(2));
    engine::kv::Range::prefix(&start)
}

fn is_common(view: &(impl Read + ?Sized), kind: u8, beginning: &str) -> Result<bool> {
    Ok(COMMON.contains(view, &(kind, beginning.to_owned()))?)
}

fn ranked_key(kind: u8, beginning: &str, standing: SearchOrder, did: Did) -> (u8, String, u8, Timestamp, Did) {
    (kind, beginning.to_owned(), standing.behind, standing.registered, did)
}

fn insert(turn: &mut Turn<'_>, kind: u8, text: &str, standing: SearchOrder, did: Did, steps: &mut usize) -> Result<()> {
    ALPHABETICAL.put(turn, &(kind, text.to_owned(), did), &standing)?;
    for beginning in beginnings(kind, text) {
        if is_common(turn, kind, beginning)? {
            RANKED.put(turn, &ranked_key(kind, beginning, standing, did), &())?;
            continue;
        }
        if *steps == 0 {
            break;
        }
        let sharing = sharing(turn, kind, beginning)?;
        if sharing.len() <= FEW {
            break;
        }
        *steps -= 1;
        COMMON.put(turn, &(kind, beginning.to_owned()), &())?;
        for (standing, did) in sharing {
            RANKED.put(turn, &ranked_key(kind, beginning, standing, did), &())?;
        }
    }
    Ok(())
}

/// The agents that share a beginning that is not common. An agent may be there more than once.
fn sharing(view: &(impl Read + ?Sized), kind: u8, beginning: &str) -> Result<Vec<(SearchOrder, Did)>> {
    let range = match kind {
        kinds::CAPABILITY => ALPHABETICAL.prefix(&(kind, beginning.to_owned())),
        _ => beginning_with(kind, beginning),
    };
    let rows = ALPHABETICAL.scan(view, &range, Direction::Ascending, MOST)?;
    Ok(rows.into_iter().map(|((_, _, did), standing)| (standing, did)).collect())
}

fn remove(turn: &mut Turn<'_>, kind: u8, text: &str, standing: SearchOrder, did: Did) -> Result<()> {
    ALPHABETICAL.delete(turn, &(kind, text.to_owned(), did));
    for beginning in beginnings(kind, text) {
        if !is_common(turn, kind, beginning)? {
            break;
        }
        RANKED.delete(turn, &ranked_key(kind, beginning, standing, did));
    }
    Ok(())
}

/// Lists an agent, or replaces its entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Index {
    pub did: Did,
    pub listed: ListedAgent,
}

impl Operation for Index {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "index";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Index { did, listed } = self;
        let before = LISTED.get(turn, &(did,))?;
        if before.as_ref() == Some(&listed) {
            return Ok(());
        }
        let standing = listed.standing();
        let texts = listed.texts(&did);
        let listed_before = before.is_some();
        let known = before.map(|before| (before.standing(), before.texts(&did)));
        LISTED.put(turn, &(did,), &listed)?;
        if let Some((earlier, known)) = known {
            if earlier == standing && known == texts {
                return Ok(());
            }
            // Texts share beginnings, so all earlier texts are removed before new ones are added.
            for (kind, text) in &known {
                remove(turn, *kind, text, earlier, did)?;
            }
        }
        let mut steps = STEPS - usize::from(listed_before);
        for (kind, text) in &texts {
            insert(turn, *kind, text, standing, did, &mut steps)?;
        }
        Ok(())
    }
}

/// Removes an agent from the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UnlistAgent {
    pub did: Did,
}

impl Operation for UnlistAgent {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "unlist";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(listed) = LISTED.get(turn, &(self.did,))? else { return Ok(()) };
        LISTED.delete(turn, &(self.did,));
        for (kind, text) in listed.texts(&self.did) {
            remove(turn, kind, &text, listed.standing(), self.did)?;
        }
        Ok(())
    }
}

/// What a search asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sought {
    Everybody,
    /// The beginning of a name, or of a word of it.
    Name(String),
    /// The beginning of a DID, without `did:<brand>:`.
    Did(String),
}

/// A place in the order of all matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MatchPlace {
    class: u8,
    standing: SearchOrder,
    did: Did,
}

/// Finds agents that match, the best first: exact, by beginning, by word; then by rank; then by registration. Inactive
/// agents are not listed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FindAgents {
    pub sought: Sought,
    pub capability: Option<String>,
    /// At least 1.
    pub limit: usize,
    /// Only matches after this place.
    pub after: Option<MatchPlace>,
}

/// A page of matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPage {
    pub agents: Vec<(Did, ListedAgent)>,
    /// The place to go on after; `None` at the end.
    pub next: Option<MatchPlace>,
}

impl Query for FindAgents {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "find";
    type Reply = AgentPage;

    fn run(self, view: &View<'_>) -> Result<AgentPage> {
        Search::of(self).run(view)
    }
}

/// A search in progress.
struct Search {
    /// Folded text; the capability is folded too.
    text: String,
    capability: Option<String>,
    /// The classes with the kind of text to look for in each.
    stages: Vec<(u8, u8)>,
    exact: Option<Did>,
    after: Option<MatchPlace>,
    limit: usize,
    visits: usize,
    found: Vec<(MatchPlace, ListedAgent)>,
}

impl Search {
    fn of(find: FindAgents) -> Search {
        let (text, stages, exact) = match find.sought {
            Sought::Everybody => (String::new(), vec![(classes::BEGINNING, kinds::DID)], None),
            Sought::Name(text) => {
                (fold(&text), vec![(classes::BEGINNING, kinds::NAME), (classes::WORD, kinds::WORD)], None)
            }
            Sought::Did(text) => {
                let exact = encoding::parse_did("", &format!("did::{text}")).ok();
                (fold(&text), vec![(classes::BEGINNING, kinds::DID)], exact)
            }
        };
        let capability = find.capability.as_deref().map(fold);
        let limit = find.limit.max(1);
        Search { text, capability, stages, exact, after: find.after, limit, visits: VISITS, found: Vec::new() }
    }

    fn run(mut self, view: &View<'_>) -> Result<AgentPage> {
        if self.stages.len() == 2 {
            let holder = NAMES.get(view, &(self.text.clone(),))?.filter(|name| name.hold == Hold::Held);
            self.exact = holder.map(|name| name.did);
        }
        if let Some(did) = self.exact
            && let Some(listed) = LISTED.get(view, &(did,))?
            && self.has_capability(view, listed.standing(), did)?
        {
            let place = MatchPlace { class: classes::EXACT, standing: listed.standing(), did };
            self.found.extend((self.after.is_none_or(|after| after < place)).then_some((place, listed)));
        }
        let mut stopped = None;
        if !self.by_capability(view)? {
            for (class, kind) in std::mem::take(&mut self.stages) {
                stopped = self.stage(view, class, kind)?;
                if stopped.is_some() || self.found.len() > self.limit {
                    break;
                }
            }
        }
        let more = self.found.len() > self.limit;
        self.found.truncate(self.limit);
        let next = if more { self.found.last().map(|(place, _)| *place) } else { stopped };
        Ok(AgentPage { agents: self.found.into_iter().map(|(place, listed)| (place.did, listed)).collect(), next })
    }

    fn has_capability(&self, view: &View<'_>, standing: SearchOrder, did: Did) -> Result<bool> {
        let Some(capability) = &self.capability else { return Ok(true) };
        Ok(match is_common(view, kinds::CAPABILITY, capability)? {
            true => RANKED.contains(view, &ranked_key(kinds::CAPABILITY, capability, standing, did))?,
            false => ALPHABETICAL.contains(view, &(kinds::CAPABILITY, capability.clone(), did))?,
        })
    }

    /// The class in which an agent matches; `None` when it does not match or is the exact match.
    fn class(&self, did: &Did, listed: &ListedAgent) -> Option<u8> {
        if self.exact.as_ref() == Some(did) {
            return None;
        }
        let name = listed.name.as_deref().map(fold).unwrap_or_default();
        let begins = |kind: u8| match kind {
            kinds::DID => fold(&base58(did)).starts_with(&self.text),
            kinds::NAME => !name.is_empty() && name.starts_with(&self.text),
            _ => further_words(&name).any(|word| word.starts_with(&self.text)),
        };
        self.stages.iter().find(|(_, kind)| begins(*kind)).map(|(class, _)| *class)
    }

    /// Answers from the agents that have the capability, when these are few or when nothing else is asked for. True
    /// when it did.
    fn by_capability(&mut self, view: &View<'_>) -> Result<bool> {
        let Some(capability) = self.capability.clone() else { return Ok(false) };
        if is_common(view, kinds::CAPABILITY, &capability)? {
            if self.stages.len() == 1 && self.text.is_empty() {
                self.capability = None;
                self.text = capability;
                self.stages = vec![(classes::BEGINNING, kinds::CAPABILITY)];
            }
            return Ok(false);
        }
        let mut rows = Vec::new();
        for (standing, did) in sharing(view, kinds::CAPABILITY, &capability)? {
            let Some(listed) = LISTED.get(view, &(did,))? else { continue };
            let Some(class) = self.class(&did, &listed) else { continue };
            let place = MatchPlace { class, standing, did };
            if self.after.is_none_or(|after| after < place) {
                rows.push((place, listed));
            }
        }
        rows.sort_by_key(|(place, _)| *place);
        self.found.extend(rows);
        Ok(true)
    }

    /// Adds the agents of one class, until there is one more than asked for. Returns the place where it stopped early,
    /// if it did.
    fn stage(&mut self, view: &View<'_>, class: u8, kind: u8) -> Result<Option<MatchPlace>> {
        if self.after.is_some_and(|after| after.class > class) {
            return Ok(None);
        }
        let after = self.after.filter(|after| after.class == class);
        if !is_common(view, kind, &self.text)? {
            let mut places: Vec<MatchPlace> = sharing(view, kind, &self.text)?
                .into_iter()
                .map(|(standing, did)| MatchPlace { class, standing, did })
                .filter(|place| after.is_none_or(|after| after < *place))
                .collect();
            places.sort_by_key(|place| *place);
            places.dedup();
            for place in places {
                if !self.take(view, place, kind)? {
                    break;
                }
            }
            return Ok(None);
        }
        let mut range = RANKED.prefix(&(kind, self.text.clone()));
        if let Some(MatchPlace { standing, did, .. }) = after {
            range = RANKED.after(range, &ranked_key(kind, &self.text, standing, did));
        }
        let mut stopped = None;
        let page = self.limit.saturating_add(1).clamp(1, 256);
        'pages: loop {
            let rows = RANKED.scan(view, &range, Direction::Ascending, page)?;
            let full = rows.len() == page;
            let Some((last, ())) = rows.last().cloned() else { break };
            for ((_, _, behind, registered, did), ()) in rows {
                let place = MatchPlace { class, standing: SearchOrder { behind, registered }, did };
                if !self.take(view, place, kind)? {
                    break 'pages;
                }
                self.visits = self.visits.saturating_sub(1);
                if self.visits == 0 {
                    stopped = Some(place);
                    break 'pages;
                }
            }
            if !full {
                break;
            }
            range = RANKED.after(range, &last);
        }
        Ok(stopped)
    }

    /// Adds one agent if it matches; false when there are more than asked for.
    fn take(&mut self, view: &View<'_>, place: MatchPlace, kind: u8) -> Result<bool> {
        if self.exact == Some(place.did) || !self.has_capability(view, place.standing, place.did)? {
            return Ok(true);
        }
        if let Some(listed) = LISTED.get(view, &(place.did,))? {
            // An agent whose name begins with the text as well was found before.
            let name = listed.name.as_deref().map(fold).unwrap_or_default();
            if kind != kinds::WORD || !name.starts_with(&self.text) {
                self.found.push((place, listed));
            }
        }
        Ok(self.found.len() <= self.limit)
    }
}

#[cfg(test)]
mod tests;
