//! The rank of a country in the index, for the country's own page. The world knows the rank, the country publishes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::country::documents::COUNTRY;
use crate::world::CountrySummary;
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::{Direction, Table};

/// In the world: the rank that each country was last told.
const TOLD: Table<(String,), u64> = Table::new(66);
/// In a country.
const RANK: Table<(), u64> = Table::derived(52);

/// Sends their new ranks to the countries whose rank changed. Ranks change only when a score does.
pub fn tell(turn: &mut Turn<'_>, summaries: &[CountrySummary]) -> Result<()> {
    let ranks = ranks(summaries);
    let told = TOLD.scan(turn, &TOLD.range(), Direction::Ascending, usize::MAX)?;
    let told: BTreeMap<String, u64> = told.into_iter().map(|((country,), rank)| (country, rank)).collect();
    for country in told.keys().filter(|country| !ranks.contains_key(country.as_str())) {
        TOLD.delete(turn, &(country.clone(),));
        turn.send(country.clone(), &SetRank { rank: None })?;
    }
    for (country, rank) in ranks {
        if told.get(country) != Some(&rank) {
            TOLD.put(turn, &(country.to_owned(),), &rank)?;
            turn.send(country.to_owned(), &SetRank { rank: Some(rank) })?;
        }
    }
    Ok(())
}

/// In the order of the index: the worst first, among equals the first code.
fn ranks(summaries: &[CountrySummary]) -> BTreeMap<&str, u64> {
    let mut scored: Vec<(u32, &str)> =
        summaries.iter().filter_map(|summary| Some((summary.index.score?, summary.country.as_str()))).collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    (1..).zip(scored).map(|(rank, (_, country))| (country, rank)).collect()
}

/// Sets the rank of the country.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetRank {
    /// `None` when the country has no score any more.
    pub rank: Option<u64>,
}

impl Operation for SetRank {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "set_rank";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        match self.rank {
            Some(rank) => RANK.put(turn, &(), &rank)?,
            None => RANK.delete(turn, &()),
        }
        let country = turn.actor().name.clone();
        turn.publish(&format!("{COUNTRY}{country}"))
    }
}

/// The rank of this country, if it has one.
pub fn rank(view: &View<'_>) -> Result<Option<u64>> {
    Ok(RANK.get(view, &())?)
}
