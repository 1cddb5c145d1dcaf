//! What lists and documented facts say is blocked in this country where no measurement decides. Pages show it beside
//! the measured blocks and mark it as listed (decision answers-lead-on).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{self, Listing};
use super::evidence::Surroundings;
use super::tables::{LISTED, LISTS, VERDICTS};
use crate::import::ListKind;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::Direction;
use facts::starter::{Platform, known_blocks};
use facts::subject::Subject;
use facts::verdict::national::{self, Basis, ListEntry};

/// Most blocks that a page shows. `listedCount` gives the total.
const SHOWN: usize = 50;
/// Most list entries that are read for a page. Some are left out, because measurements decide them or they are too old.
const LOOKED_AT: usize = 1_000;

/// A site or a platform that a list names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedBlock {
    /// A domain, or the slug of a platform.
    pub target: String,
    pub label: String,
    /// Always `known_list`: no measurement decides it.
    pub basis: String,
    /// `official`, `court`, `leak` or `documented`.
    pub kind: String,
    /// The date of the list.
    pub date: String,
    /// The source that documents a documented block.
    pub source: Option<String>,
    /// Since when the list has the entry, if the list says so.
    pub since: Option<String>,
}

/// The listed blocks of a country.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ListedBlocks {
    /// Documented ones first, then by domain; at most 50.
    pub shown: Vec<ListedBlock>,
    /// Entries of lists and facts that count, including those about sites that measurements decide.
    pub count: u64,
}

/// Asks for the listed blocks, at a time or now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ListedHere {
    pub at: Option<Timestamp>,
}

impl Query for ListedHere {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "listed_here";
    type Reply = ListedBlocks;

    fn computes(&self) -> bool {
        self.at.is_some()
    }

    fn run(self, view: &View<'_>) -> Result<ListedBlocks> {
        listed_blocks(view, self.at)
    }
}

pub fn listed_blocks(view: &View<'_>, at: Option<Timestamp>) -> Result<ListedBlocks> {
    let when = at.unwrap_or(view.now);
    let mut blocks = ListedBlocks::default();
    let past = at.map(|at| Surroundings::at(view, at)).transpose()?;
    for fact in known_blocks::of_country(&view.actor().name) {
        let entry = ListEntry { kind: national::ListKind::Documented, date: fact.confirmed_on };
        if entry.speaks(when) {
            blocks.count += 1;
            let list = answer::listing("documented", fact.confirmed_on, Some(fact.source.to_owned()));
            blocks.add(view, past.as_ref(), fact.target, list)?;
        }
    }
    let kind_of = |code: u8| ListKind::from_code(code).filter(|kind| kind.sets_status());
    for ((code,), row) in LISTS.scan(view, &LISTS.range(), Direction::Ascending, 16)? {
        let speaks = |kind| ListEntry { kind: answer::weight_of(kind), date: row.date.min(when) }.speaks(when);
        blocks.count += kind_of(code).filter(|kind| speaks(*kind)).map_or(0, |_| row.domains);
    }
    let rows = LISTED.scan(view, &LISTED.range(), Direction::Ascending, LOOKED_AT)?;
    for (key, date) in rows.into_iter().filter(|((_, code), _)| kind_of(*code).is_some()) {
        if let Some((entry, list)) = answer::listed_at(view, &key, date, when)?
            && entry.speaks(when)
        {
            blocks.add(view, past.as_ref(), &key.0, list)?;
        }
    }
    Ok(blocks)
}

impl ListedBlocks {
    fn add(&mut self, view: &View<'_>, past: Option<&Surroundings>, target: &str, list: Listing) -> Result<()> {
        let known = self.shown.iter().any(|block| block.target == target);
        if known || self.shown.len() == SHOWN || is_measured(view, past, target)? {
            return Ok(());
        }
        self.shown.push(ListedBlock {
            target: target.to_owned(),
            label: crate::incidents::label(target),
            basis: Basis::KnownList.as_str().to_owned(),
            kind: list.kind,
            date: list.date,
            source: list.source,
            since: list.since,
        });
        Ok(())
    }
}

/// Whether measurements decide a target, so that no list does.
fn is_measured(view: &View<'_>, past: Option<&Surroundings>, target: &str) -> Result<bool> {
    let subject = Platform::by_slug(target).map_or_else(|| Subject::series(target), Subject::platform);
    if let Some(past) = past {
        return Ok(answer::detect(view, &subject, past, false)?.basis != Basis::KnownList.as_str());
    }
    for role in subject.roles.iter().filter(|role| role.essential) {
        let known = VERDICTS.get(view, &(role.key.clone(),))?;
        if known.is_some_and(|known| known.summary.is_decided() && known.summary.basis == Basis::Measured.as_str()) {
            return Ok(true);
        }
    }
    Ok(false)
}
